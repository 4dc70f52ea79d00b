"""Alignments of notes, scored and read: against parangonar and partitura, on a real match file and at random."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.errors import InvalidAnnotationError, MirflowError, MirflowWarning
from mirflow.metrics import note_alignment
from mirflow.readers import Reading
from mirflow.readers.match_files import parse_match
from tests.commands import invoke, rows

TYPES = ("match", "insertion", "deletion")
SPELLED = """info(matchFileVersion,5.0).
info(midiClockUnits,480).
info(midiClockRate,600000).
snote(n1,[C,n],4,1:1,0,1/4,0.0,1.0,[staff1])-note(7,[C,n],4,480,960,1000,70).
snote(n2,[E,b],4,1:2,0,1/4,1.0,2.0,[])-note(n8,[D,#],4,960,1440,1500,71).
trill(n2)-note(9,[E,n],4,1000,1040,1040,50).
snote(n3,[E,b],4,1:3,0,1/4,2.0,3.0,[leftOutTied])-deletion.
snote(n4,[G,n],4,1:4,0,1/4,3.0,4.0,[])-no_played_note.
insertion-note(10,[F,x],4,1440,1500,1500,40).
hammer_bounce-note(11,[C,n],4,1500,1510,1510,12).
sustain(900,127).
sustain(2000,0).
"""
NUMBERED = """info(matchFileVersion,1.0.0).
info(midiClockUnits,480).
info(midiClockRate,500000).
scoreprop(timeSignature,3/4,0:2,1/8,-0.5000).
section(-0.5000,2.0,-0.5000,2.0,[end]).
stime(0:2,1/8,-0.5000,[beat])-ptime([39940]).
snote(n1,[B,n],3,0:2,1/8,1/8,-0.5000,0.0000,[v1])-note(0,59,480,960,44,0,0).
snote(n1,[B,n],3,0:2,1/8,1/8,-0.5000,0.0000,[v1])-note(1,59,970,980,30,0,0).
ornament(n1,[trill])-note(2,61,960,970,44,0,0).
snote(n2,[D,n],4,1:1,0,1/8,0.0000,0.5000,[v1,staccato])-deletion.
insertion-note(3,62,990,1000,44,0,0).
"""


def parangonar() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("parangonar.evaluate").fscore_alignments


def partitura() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("partitura")


def real_match_file() -> Path:
    parangonar()
    return Path(sys.modules["parangonar"].__file__ or "").parent / "assets" / "mozart_k265_var1.match"


def entry(label: str, score: str = "", performance: str = "") -> dict[str, str]:
    named = {"score_id": score, "performance_id": performance}
    return {"label": label, **{name: text for name, text in named.items() if text}}


def entries_of(path: Path) -> list[dict[str, str]]:
    found = mirflow.load(path, task="note_alignment")
    columns = (found[name].values.tolist() for name in ("label", "score_id", "performance_id"))
    return [entry(*row) for row in zip(*columns, strict=True)]


@st.composite
def alignments(draw: st.DrawFn) -> list[dict[str, str]]:
    """Notes of a score with none, one or several of a performance, and the other way round; some contradict others."""
    pairs = draw(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14))
    found = [entry("match", f"n{one}", f"p{other}") for one, other in pairs if one and other]
    found += [entry("deletion", f"n{one}") for one, other in pairs if one and not other]
    return found + [entry("insertion", "", f"p{other}") for one, other in pairs if other and not one]


@given(alignments(), alignments())
@settings(deadline=None, max_examples=60)
def test_scores_are_those_of_parangonar(reference: list[dict[str, str]], estimate: list[dict[str, str]]) -> None:
    oracle = parangonar()
    for chosen in (*TYPES, "all"):
        expected = oracle(estimate, reference, list(TYPES) if chosen == "all" else [chosen])
        found = [
            getattr(note_alignment, name)(reference, estimate, entries=chosen)
            for name in ("precision", "recall", "f_measure")
        ]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_real_match_file_and_a_poor_alignment_of_it_score_as_in_parangonar(tmp_path: Path) -> None:
    path, other = real_match_file(), tmp_path / "estimate.match"
    lines = path.read_text().splitlines()
    score, played = zip(*(line.split("-note") for line in lines if line.startswith("snote")), strict=True)
    partners = {place: place + place % 3 for place in range(0, len(score) - 2, 2)}
    wrong = [f"{score[one]}-note{played[other]}" for one, other in partners.items()]
    unplayed = sorted(set(range(150, len(played))) - {*partners.values()})
    lost = [f"{one}-deletion." for one in score[1:40:2]] + [f"insertion-note{played[one]}" for one in unplayed]
    kept = [line for line in lines if line.startswith("insertion")]
    other.write_text("\n".join([*lines[:5], *wrong, *lost, *kept, ""]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sides = [partitura().load_match(str(one))[1] for one in (path, other)]
    assert entries_of(path) == sides[0]
    found = mirflow.evaluate(path, other, "note_alignment").score
    for chosen in TYPES:
        expected = parangonar()(sides[1], sides[0], [chosen])[2]
        name = "f_measure" if chosen == "match" else f"f_measure@{chosen}"
        assert found.sel(metric=name).item() == pytest.approx(expected, abs=1e-12)
    assert 0 < found.sel(metric="f_measure@insertion").item() < 1


@pytest.mark.filterwarnings("ignore:.*has a sustain pedal:mirflow.errors.MirflowWarning")
@pytest.mark.parametrize("text", [SPELLED, NUMBERED], ids=["0.5.0", "1.0.0"])
def test_match_files_are_read_as_partitura_reads_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.match"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        performance, alignment = partitura().load_match(str(path))
    for one in alignment:
        one.pop("type", None)
    assert entries_of(path) == alignment
    notes = mirflow.load(path, task="transcription")
    played = {(n["note_on"], n["note_off"], n["midi_pitch"], n["velocity"]) for n in performance[0].notes}
    midi = 69 + 12 * np.log2(notes.pitch.values / 440)
    read = zip(notes.start.values, notes.end.values, midi.round(6), notes.velocity.values, strict=True)
    ornaments = 1  # partitura leaves the notes of ornaments out of the performance
    found = {tuple(map(float, note)) for note in read}
    assert played <= found
    assert len(found) == len(played) + ornaments


@pytest.mark.parametrize(
    "line",
    [
        "virtualSnote(a,b)-note(12,[C,n],4,1600,1610,1610,12).",
        "snote(n9,[C,n],4,1:1,0,1/4,0.0,1.0,[staff1])-virtualPnote(a).",
        "virtualSnote(a)-virtualPnote(b)",
    ],
)
def test_lines_with_virtual_notes_are_left_out(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.match"
    path.write_text(SPELLED)
    expected = entries_of(path)
    path.write_text(f"{SPELLED}{line}\n")
    assert entries_of(path) == expected
    path.write_text(f"{SPELLED}\n{line})-virtualPnote(\n")
    with pytest.raises(MirflowError, match=r"a\.match:14: not a line of a match file"):
        entries_of(path)


def test_the_sustain_pedal_of_a_match_file_extends_notes_and_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.match"
    path.write_text(SPELLED)
    first = mirflow.load(path, task="transcription", pedal="extend")
    assert first.end.values[0] == pytest.approx(0.6 * 1500 / 480)  # the next note of its pitch
    held = mirflow.load(path, task="pedal")
    assert np.column_stack([held.start, held.end]).ravel().tolist() == pytest.approx(
        [0.6 * 900 / 480, 0.6 * 2000 / 480]
    )


def test_alignments_in_tables_and_in_memory_are_those_of_match_files(tmp_path: Path) -> None:
    (tmp_path / "a.match").write_text(SPELLED.replace("trill(n2)", "insertion"))
    expected = mirflow.load(tmp_path / "a.match", task="note_alignment")
    pairs = list(zip(expected.score_id.values.tolist(), expected.performance_id.values.tolist(), strict=True))
    texts = {
        "a.csv": "score,performance\n" + "".join(f"{one},{other}\n" for one, other in pairs),
        "asap.tsv": "".join(f"{one or 'insertion'}\t{other or 'deletion'}\n" for one, other in pairs),
        "parangonada.csv": "idx,matchtype,partid,ppartid\n"
        + "".join(
            f"{index},{0 if one and other else 1 if one else 2},{one or 'undefined'},{other or 'undefined'}\n"
            for index, (one, other) in enumerate(pairs)
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        found = mirflow.evaluate(tmp_path / "a.match", tmp_path / name, "note_alignment")
        assert found.score.values.tolist() == [1.0] * 5
        assert found.weight.values.tolist() == [2, 2, 2, 3, 1]
    memory = [entry(label, *notes) for label, notes in zip(expected.label.values.tolist(), pairs, strict=True)]
    assert mirflow.evaluate(memory, tmp_path / "a.match", "note_alignment").score.values.tolist() == [1.0] * 5


def test_repeated_entries_count_once() -> None:
    reference = [entry("match", "n1", "p1"), entry("deletion", "n2")]
    scores = mirflow.score({"a": reference}, {"s": {"a": [*reference, entry("match", "n1", "p1")]}}, "note_alignment")
    assert scores.score.values.ravel().tolist() == [1.0] * 5
    assert scores.repairs.item() == 1


def test_contradictory_entries_count_as_in_parangonar_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("score,performance\nn1,p1\nn1,\n,p2\n")
    with pytest.warns(MirflowWarning, match="'n1' of the score is part of a deletion and of a match on lines 3 and 2"):
        found = mirflow.evaluate([entry("match", "n1", "p1")], tmp_path / "a.csv", "note_alignment").score
    assert found.sel(metric="f_measure").item() == 1.0
    assert found.sel(metric="f_measure@deletion").item() == 0.0


def test_ornaments_are_scored_on_request() -> None:
    reference = [entry("match", "n1", "p1"), entry("ornament", "n1", "p2"), entry("ornament", "n1", "p3")]
    assert note_alignment.recall(reference, reference[:2], entries="ornament") == 0.5
    assert note_alignment.f_measure(reference, reference[:2]) == 1.0


def test_evidence_has_the_entries_of_both_sides() -> None:
    reference = [entry("match", "n1", "p1"), entry("match", "n2", "p2"), entry("deletion", "n3")]
    found = mirflow.explain(
        reference, [entry("match", "n1", "p1"), entry("match", "n3", "p2")], "f_measure", task="note_alignment"
    )
    seen = zip(*(found[name].values.tolist() for name in ("score_id", "performance_id", "verdict")), strict=True)
    assert list(seen) == [("n1", "p1", "hit"), ("n2", "p2", "missed"), ("n3", "p2", "extra")]


def test_names_of_other_files_are_doubted() -> None:
    with pytest.warns(MirflowWarning, match=r"no note of the score has the same name on both sides \('n1', 'P1'\)"):
        mirflow.evaluate([entry("match", "n1", "p1")], [entry("match", "P1", "p1")], "note_alignment")


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (entry("match", "n1"), "a match has a note of the score and one of the performance, not 'n1' and ''"),
        (entry("insertion", "n1", "p1"), "an insertion has only a note of the performance, not 'n1' and 'p1'"),
        (entry("deletion", "n1", "p1"), "a deletion has only a note of the score, not 'n1' and 'p1'"),
        (
            entry("mach", "n1", "p1"),
            "unknown type 'mach' of an entry: choose from match, insertion, deletion, ornament",
        ),
        (entry(""), "the entry has neither a note of the score nor one of the performance"),
    ],
)
def test_entries_without_the_notes_of_their_type_are_refused(one: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=f"estimate: {message}"):
        note_alignment.evaluate([entry("match", "n1", "p1")], [one])


@pytest.mark.parametrize("entries", [["n1"], [1], [None], [entry("deletion", "n1"), "n2"]])
def test_lists_of_anything_but_entries_are_refused(entries: list[Any]) -> None:
    with pytest.raises(InvalidAnnotationError, match=r"invalid entry .*: expected mappings with score_id and"):
        mirflow.evaluate([entry("deletion", "n1")], entries, "note_alignment")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPELLED.replace("5.0", "2.0.0"), "a.match:1: unknown version '2.0.0' of match files"),
        (SPELLED[: SPELLED.index(",71)")], "a.match:5: not a line of a match file: 'snote(n2,[E,b],4,1:2"),
        (SPELLED.replace("960,1000,70", "1000,70,7,7,7"), "a.match:4: not a note of a match file: '7,[C,n],4,480"),
        (
            SPELLED.replace("note(9,", "note(7,"),
            "a.match:6: the note '7' of the performance has other values on line 4",
        ),
        (re.sub(r"(?<=-note\()7,[^)]*", "", SPELLED), "a.match:4: not a note of a match file: ''"),
        (SPELLED.replace("4,480", "4,4x0"), "a.match:4: not a number, or too large: '4x0'"),
        (SPELLED.replace("sustain(900", "sustain(nan"), "a.match:11: not a number, or too large: 'nan'"),
        (SPELLED.replace("note(7,[C,n],4", "note(7,[C,n],40"), "a.match:4: not a MIDI number from 0 to 127: 492"),
        (SPELLED.replace("snote(n4", "insertion(n4"), "a.match:8: not a line of a match file"),
        (
            SPELLED.replace("insertion-note(10,[F,x],4,1440,1500,1500,40)", "insertion-deletion"),
            "a.match:9: a line of a",
        ),
        (SPELLED.replace("info(midiClockRate,600000).\n", ""), "a.match: no info(midiClockRate,...), so times"),
        (SPELLED.replace("Units,480", "Units,0"), "a.match:2: invalid midiClockUnits 0: expected a positive number"),
    ],
)
def test_broken_match_files_are_named_with_their_line_by_the_command(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.match").write_text(text)
    with pytest.raises(mirflow.errors.AnnotationError) as raised:
        mirflow.load(tmp_path / "a.match", task="transcription")
    assert message in str(raised.value)


def test_match_files_hold_no_chords(tmp_path: Path) -> None:
    (tmp_path / "a.match").write_text(SPELLED)
    with pytest.raises(InvalidAnnotationError, match=r"match files hold alignments of notes, .* its pedals, not chord"):
        mirflow.load(tmp_path / "a.match", task="chord")


def test_commands_score_and_check_match_files(tmp_path: Path) -> None:
    (tmp_path / "a.match").write_text(NUMBERED)
    (tmp_path / "b.match").write_text(NUMBERED[: NUMBERED.index(",44,0,0).\n")])
    scores = rows("evaluate", tmp_path / "a.match", tmp_path / "a.match", "--task", "note_alignment")
    assert [row["score"] for row in scores] == [1.0] * 5
    checked = invoke("check", tmp_path / "b.match", "--task", "note_alignment", code=3).output
    assert "b.match:7: error: not a line of a match file" in checked


def test_a_note_on_two_lines_is_one_note_and_is_told() -> None:
    line = "insertion-note(n19,[G,n],4,1440,1920,1920,64)."
    notes = parse_match(f"{SPELLED}{line}\n{line}\n".encode(), Reading.of("transcription"), "match", "a.match")
    remark = next(one for one in notes.account if one.rule == "repeated_rows")
    assert (remark.rule, remark.message) == ("repeated_rows", "repeats 1 line of notes, each of which is read once")


def test_frames_need_no_types_of_entries() -> None:
    import pandas as pd

    columns = {"score_id": ["n1", "n2"], "performance_id": ["p1", None]}
    scores = mirflow.evaluate(pd.DataFrame(columns), columns, task="note_alignment", metrics="f_measure")
    assert scores.score.item() == 1
