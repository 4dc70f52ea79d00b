"""MV2H: its program's numbers, its definitions on small pieces, and what holds of any pair."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mido import Message, MetaMessage, MidiFile, MidiTrack

import mirflow
from mirflow.errors import InvalidAnnotationError, MetricError, MirflowWarning
from mirflow.metrics import audio_to_score
from mirflow.metrics.audio_to_score.kernel import (
    NotatedNote,
    Notation,
    Tolerances,
    alignments,
    converter,
    judge,
    judge_unaligned,
    match_notes,
)

from ..commands import invoke

ORACLE = "10_mv2h"
SCORES = ("multipitch", "voice", "meter", "value", "harmony", "mv2h")
COLUMNS = ("time", "notated_start", "notated_end", "pitch", "voice")
ORACLE_NAMES = ("Multi-pitch", "Voice", "Meter", "Value", "Harmony", "MV2H")
Row = tuple[float, float, float, float, int]


def piece(notes: list[Row], *others: tuple[float, str]) -> dict[str, Any]:
    """Columns of notes, as onset, notated start, end, pitch and voice, and of other rows by time and label."""
    nothing = (float("nan"),) * 4
    rows = [*notes, *((time, *nothing) for time, _ in others)]
    columns = (
        dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)) if rows else {name: [] for name in COLUMNS}
    )
    return {**columns, "label": ["note"] * len(notes) + [label for _, label in others]}


def melody(*pitches: float, voice: int = 0, step: float = 1.0) -> list[Row]:
    return [(step * at, step * at, step * (at + 1), pitch, voice) for at, pitch in enumerate(pitches)]


def score(reference: dict[str, Any], estimate: dict[str, Any], **given: float) -> dict[str, float]:
    return dict(audio_to_score.evaluate(reference, estimate, **given))


def score_files(reference: Path, estimate: Path, convention: str) -> list[float]:
    found = mirflow.evaluate(str(reference), str(estimate), "audio_to_score", convention=convention)
    return [float(found["score"].sel(metric=name)) for name in SCORES]


class TestTheProgram:
    """The numbers of MV2H 2.2 for its example and variants of it."""

    def cases(self, oracle: Path, known: dict[str, Any]) -> Iterator[tuple[Path, Path, dict[str, Any]]]:
        truth = oracle / "inputs" / "GroundTruth.txt"
        for name, one in known["examples"].items():
            reference, estimate = (oracle / "inputs" / f"{part[2:]}.txt" for part in name.split())
            yield reference, estimate, one
        for one in known["variants(ground truth = GroundTruth.txt)"].values():
            yield truth, oracle / one["t"], one
        for one in known["variants_swapped(ground truth = variant, transcription = GroundTruth.txt)"].values():
            yield oracle / one["g"], truth, one

    @pytest.mark.filterwarnings("ignore::mirflow.errors.MirflowWarning")  # of sides without harmony, or without notes
    @pytest.mark.parametrize(("convention", "key"), [("mv2h", "aligned"), ("mv2h_program", "-a")])
    def test_every_number(self, oracle: Path, expected: dict[str, Any], convention: str, key: str) -> None:
        compared = 0
        for reference, estimate, known in self.cases(oracle, expected):
            if key in known:
                found = score_files(reference, estimate, convention)
                wanted = [known[key][name] for name in ORACLE_NAMES]
                np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12, err_msg=f"{reference} {estimate}")
                compared += 1
        assert compared >= 40

    def test_without_what_depends_on_the_order_of_alignments_a_score_equals_itself(self, oracle: Path) -> None:
        truth = oracle / "inputs" / "GroundTruth.txt"
        assert score_files(truth, truth, "mv2h_program")[2] == pytest.approx(2 / 3)
        assert score_files(truth, truth, "mv2h_unaligned") == [1.0] * 6


class TestDefinitions:
    def test_notes_match_by_pitch_and_onset_and_the_tolerance_is_inclusive(self) -> None:
        reference = piece(melody(60, 62))
        for late, hits in ((0.05, 1.0), (0.051, 0.0)):
            estimate = piece(
                [(onset + late, start, end, pitch, voice) for onset, start, end, pitch, voice in melody(60, 62)]
            )
            assert score(reference, estimate)["multipitch"] == hits
        assert score(reference, piece(melody(60, 63)))["multipitch"] == 0.5
        assert score(reference, estimate, onset_tolerance=0.06)["multipitch"] == 1.0

    def test_values_lose_what_they_differ_by_as_a_share_of_the_reference(self) -> None:
        long = [(0.0, 0.0, 1.25, 60, 0), (1.0, 1.0, 2.0, 62, 0)]
        assert score(piece(melody(60, 62)), piece(long[:1]))["value"] == 0.0  # the note that follows is missing
        assert score(piece(melody(60)), piece(long[:1]))["value"] == 0.75
        assert score(piece(melody(60)), piece(long[:1]), value_tolerance=0.25)["value"] == 1.0

    def test_voices_are_judged_by_the_notes_that_follow(self) -> None:
        two = [*melody(60, 62, 64), *melody(48, 50, 52, voice=1)]
        assert score(piece(two), piece([(*row[:4], 1 - row[4]) for row in two]))["voice"] == 1.0
        crossed = [(*row[:4], int(row[4] != (row[0] >= 1))) for row in two]
        assert score(piece(two), piece(crossed))["voice"] == 0.5

    def test_links_go_to_what_begins_at_the_end_or_else_to_what_begins_next(self) -> None:
        rest = [(0.0, 0.0, 0.5, 60, 0), (1.0, 1.0, 2.0, 62, 0), (1.0, 1.0, 2.0, 64, 0)]
        assert score(piece(rest), piece(rest))["voice"] == 1.0
        apart = [*rest[:2], (1.0, 1.0, 2.0, 64, 1)]
        assert score(piece(rest), piece(apart))["voice"] == pytest.approx(2 / 3)

    def test_bars_beats_and_sub_beats_have_to_agree_at_both_ends(self) -> None:
        tatums = [(0.5 * at, "tatum") for at in range(13)]
        waltz, march = ([*tatums, (0.0, f"meter {beats} 2 1 0")] for beats in (3, 2))
        assert score(piece([], *waltz), piece([], *waltz))["meter"] == 1.0
        # 12 sub-beats and 6 beats of both, 2 bars of three and 3 of two
        assert score(piece([], *waltz), piece([], *march))["meter"] == pytest.approx(36 / 41)
        pickup = [*tatums, (0.0, "meter 3 2 1 2")]
        assert score(piece([], *waltz), piece([], *pickup))["meter"] == pytest.approx(36 / 39)

    def test_a_meter_holds_from_the_first_tatum_at_or_after_it(self) -> None:
        tatums = [(0.5 * at, "tatum") for at in range(13)]
        early = piece([], *tatums, (0.0, "meter 2 1 1 0"), (2.9, "meter 3 1 1 0"))
        late = piece([], *tatums, (0.0, "meter 2 1 1 0"), (3.0, "meter 3 1 1 0"))
        assert score(early, late)["meter"] == 1.0

    @pytest.mark.parametrize(
        ("label", "expected"),
        [("key 7 major", 1), ("key 2 major", 0.5), ("key 0 major", 0.5), ("key 4 minor", 0.3), ("key 7 minor", 0.2)],
    )
    def test_keys_near_that_of_the_reference_count_in_part(self, label: str, expected: float) -> None:
        reference = piece(melody(60, 62), (0.0, "key 7 major"))
        assert score(reference, piece(melody(60, 62), (0.0, label)))["harmony"] == pytest.approx(expected)
        assert score(reference, piece(melody(60, 62), (0.0, "key 7 major"), (1.0, label)))["harmony"] == pytest.approx(
            (1 + expected) / 2
        )

    def test_harmony_is_that_of_keys_and_chords_as_far_as_the_reference_has_them(self) -> None:
        key, chord = (0.0, "key 7 major"), (0.0, "chord G")
        assert score(piece(melody(60), key, chord), piece(melody(60), chord))["harmony"] == 0.5
        assert score(piece(melody(60), chord), piece(melody(60), key, chord))["harmony"] == 1.0
        assert score(piece(melody(60), chord), piece(melody(60), (0.0, "chord g")))["harmony"] == 0.0
        assert score(piece(melody(60)), piece(melody(60), key))["harmony"] == 0.0

    def test_mv2h_is_the_mean(self) -> None:
        found = score(piece(melody(60, 62), (0.0, "key 0 major")), piece(melody(60, 64), (0.0, "key 7 major")))
        assert found["mv2h"] == pytest.approx(np.mean([found[name] for name in SCORES[:5]]))

    def test_a_score_in_another_tempo_is_aligned(self) -> None:
        tatums = [(0.5 * at, "tatum") for at in range(9)]
        slow = piece(
            melody(60, 62, 64, 65, step=1.3), *((1.3 * time, label) for time, label in tatums), (0.0, "chord C")
        )
        fast = piece(melody(60, 62, 64, 65), *tatums, (0.0, "chord C"))
        sides = [mirflow.annotation("audio_to_score", one) for one in (fast, slow)]
        found = mirflow.evaluate(*sides, "audio_to_score", convention="mv2h_unaligned")
        assert found["score"].values.ravel().tolist() == pytest.approx([1.0] * 6)
        assert float(mirflow.evaluate(*sides, "audio_to_score")["score"].sel(metric="multipitch")) == 0.25

    def test_the_evidence_names_the_notes(self) -> None:
        sides = [mirflow.annotation("audio_to_score", piece(melody(*pitches))) for pitches in ((60, 62), (60, 64))]
        rows = mirflow.explain(*sides, "multipitch", "audio_to_score")
        assert rows["verdict"].values.tolist() == ["hit", "missed", "extra"]
        assert rows["pitch"].values.tolist() == [60, 62, 64]


class TestBadInput:
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"label": ["note", "bar"]}, "neither note, tatum, meter, key nor chord: 'bar'"),
            ({"label": ["note", "meter 0 2 1 0"]}, "neither note, .*: 'meter 0 2 1 0'"),
            ({"label": ["note", "key 12 major"]}, "neither note, .*: 'key 12 major'"),
            ({"label": ["note", f"key {'9' * 5000} major"]}, "neither note, .*: 'key 999"),
            ({"time": [0.0, float("nan")]}, "time is not finite: nan"),
            ({"pitch": [60, float("nan")]}, "a note without a pitch: nan"),
            ({"notated_end": [1.0, 0.5]}, "a note ends before it starts: 1.0 to 0.5 s"),
            ({"voice": [0]}, "columns differ in length"),
            ({"voices": [0, 0]}, "have no column 'voices'; did you mean 'voice'?"),
        ],
    )
    def test_a_flaw_names_its_side(self, changed: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidAnnotationError, match=f"estimate: .*{message}"):
            score(piece(melody(60, 62)), {**piece(melody(60, 62)), **changed})

    def test_tolerances_are_not_negative(self) -> None:
        with pytest.raises(MetricError, match="onset_tolerance"):
            score(piece([]), piece([]), onset_tolerance=-1.0)


small = st.integers(0, 4)
notes = st.lists(st.builds(NotatedNote, small, st.integers(0, 1), small, small, st.integers(4, 6)), max_size=7)
notations = st.builds(
    lambda found, tatums: Notation(tuple(sorted(found)), tuple(sorted(tatums)), chords={0: "C"}),
    notes,
    st.sets(st.integers(0, 12), max_size=13),
)


class TestAnyPair:
    @given(notations, notations)
    def test_the_programs_matching_loses_notes_only_where_they_are_played_in_another_order(
        self, reference: Notation, estimate: Notation
    ) -> None:
        as_program, whole = (match_notes(reference, estimate, 1, flag) for flag in (True, False))
        assert len(as_program) <= len(whole)
        ordered = [
            replace(one, notes=tuple(sorted(note._replace(onset=note.start) for note in one.notes)))
            for one in (reference, estimate)
        ]
        assert match_notes(*ordered, 0, True) == match_notes(*ordered, 0, False)

    @given(notations, notations)
    def test_scores_are_ratios_and_equal_sides_are_perfect_as_far_as_they_have_anything(
        self, reference: Notation, estimate: Notation
    ) -> None:
        within = Tolerances(0, 0, 0)
        for found in (judge(reference, estimate, within), judge_unaligned(reference, estimate, within, 1.0, 50, False)):
            assert all(0 <= one <= 1 for one in found[:5])
        itself = judge(reference, reference, within, as_program=False)
        assert itself.multipitch == (1.0 if reference.notes else 0.0)
        assert itself.meter in (0.0, 1.0)
        assert itself.harmony == (1.0 if reference.end else 0.0)

    @given(notations, notations, st.sampled_from((0.25, 0.75, 1.0, 2.0)))
    def test_alignments_are_all_that_cost_least(self, reference: Notation, estimate: Notation, penalty: float) -> None:
        found = list(alignments(reference, estimate, penalty, 10**6))
        if not reference.notes or not estimate.notes:
            assert found == []
            return

        def cost(one: tuple[int, ...]) -> float:
            total = penalty * (len(estimate.chordal) - sum(place >= 0 for place in one))
            for at, place in enumerate(one):
                ours = sorted(note.pitch for note in reference.chordal[at])
                theirs = sorted(note.pitch for note in estimate.chordal[place]) if place >= 0 else []
                hits = sum(min(ours.count(pitch), theirs.count(pitch)) for pitch in set(ours))
                total += penalty if place < 0 else 1 - 2 * hits / (len(ours) + len(theirs))
            return total

        # The first times of both sides are aligned: nothing can be left out before them.
        every = [
            one
            for one in product(range(-1, len(estimate.chordal)), repeat=len(reference.chordal))
            if one[0] == 0 and [place for place in one if place >= 0] == sorted({place for place in one if place >= 0})
        ]
        least = min(map(cost, every))
        assert all(cost(one) == pytest.approx(least) for one in found)
        assert {one for one in every if cost(one) < least + 1e-9} >= set(found)

    @given(notations, notations)
    def test_aligned_times_fall_on_those_of_the_reference_and_order_stays(
        self, reference: Notation, estimate: Notation
    ) -> None:
        for alignment in alignments(reference, estimate, 1.0, 20):
            convert = converter(reference, estimate, alignment)
            for at, place in enumerate(alignment):
                if place >= 0:
                    assert convert(estimate.chordal[place][0].start) == reference.chordal[at][0].start
            moved = [convert(time) for time in range(-2, 15)]
            assert moved == sorted(moved)


def test_annotations_of_files_and_columns_are_scored_alike(tmp_path: Path) -> None:
    text = "Note 60 0 0 1000 0\nNote 62 1010 1000 2000 0\nTatum 0\nTatum 500\nKey 7 Maj\nChord 0 G\n"
    (tmp_path / "a.txt").write_text(text)
    columns = piece(
        [(0.0, 0.0, 1.0, 60, 0), (1.01, 1.0, 2.0, 62, 0)],
        (0.0, "tatum"),
        (0.5, "tatum"),
        (0.0, "key 7 major"),
        (0.0, "chord G"),
    )
    held = mirflow.annotation("audio_to_score", columns)
    found = mirflow.evaluate(str(tmp_path / "a.txt"), held, "audio_to_score")
    assert found["score"].sel(metric=["multipitch", "voice", "value", "harmony"]).values.ravel().tolist() == [1.0] * 4


KEY, CHORD = (0.0, "key 7 major"), (0.0, "chord G:maj")
NEITHER = "has neither keys nor chords, as MIDI files without key signatures: harmony is 0, and mv2h at most 0.8"


class TestNothingOfHarmony:
    """Where a side writes nothing of which harmony could be scored it is 0, as in the program, with a warning."""

    @pytest.mark.parametrize(
        ("reference", "estimate", "said"),
        [
            ([], [KEY], f"the reference {NEITHER}"),
            ([], [], f"the reference {NEITHER}"),
            ([KEY, CHORD], [], f"the estimate {NEITHER}"),
            ([KEY], [CHORD], "the estimate has no keys, the only harmony of the reference: harmony is 0"),
            ([CHORD], [KEY], "the estimate has no chords, the only harmony of the reference: harmony is 0"),
        ],
    )
    def test_is_warned_of(
        self, reference: list[tuple[float, str]], estimate: list[tuple[float, str]], said: str
    ) -> None:
        sides = [annotated(*rows) for rows in (reference, estimate)]
        for convention in ("mv2h", "mv2h_unaligned", "mv2h_program"):
            with pytest.warns(MirflowWarning, match=re.escape(said)):
                found = mirflow.evaluate(*sides, "audio_to_score", convention=convention)
            assert said in str(found["message"].item())
            assert found["score"].sel(metric="harmony") == 0
            assert found["score"].sel(metric="mv2h") <= 0.8
        with pytest.warns(MirflowWarning, match=re.escape(said)):
            mirflow.score({"a": sides[0]}, {"one": {"a": sides[1]}}, "audio_to_score")

    def test_not_where_there_is_something_to_compare_or_harmony_is_not_asked_for(self) -> None:
        plain, keyed, both = annotated(), annotated(KEY), annotated(KEY, CHORD)
        for sides in ((both, keyed), (keyed, both), (keyed, keyed)):
            assert not mirflow.evaluate(*sides, "audio_to_score")["message"].item()
        found = mirflow.evaluate(plain, plain, "audio_to_score", metrics=["multipitch", "meter"])
        assert not found["message"].item()

    def test_of_midi_files_on_the_command_line_and_in_stores(self, tmp_path: Path) -> None:
        for name, key in (("plain", ""), ("keyed", "G")):
            track = MidiTrack([MetaMessage("key_signature", key=key)] if key else [])
            track += [Message("note_on", note=60, velocity=64), Message("note_off", note=60, time=480)]
            MidiFile(tracks=[track], ticks_per_beat=480).save(tmp_path / f"{name}.mid")
        plain, keyed = tmp_path / "plain.mid", tmp_path / "keyed.mid"
        said = invoke("evaluate", plain, keyed, "--task", "audio_to_score", code=0).stderr
        assert f"the reference {NEITHER}" in " ".join(said.split())
        assert not invoke("evaluate", keyed, keyed, "--task", "audio_to_score", code=0).stderr
        (tmp_path / "systems").mkdir()
        plain.rename(tmp_path / "systems/plain.mid")
        (tmp_path / "p.yaml").write_text(
            "evaluations: [{task: audio_to_score, reference: keyed.mid, estimates: 'systems/{system}.mid'}]\n"
            "store: p.zarr\n"
        )
        invoke("run", tmp_path / "p.yaml", "--store", tmp_path / "p.zarr", code=0)
        messages = mirflow.open_store(tmp_path / "p.zarr")["audio_to_score"].ds.message.sel(system="plain")
        assert "plain.mid: the estimate has no keys, the only harmony of the reference" in str(messages.item())


def annotated(*rows: tuple[float, str]) -> mirflow.Annotation:
    columns = piece(melody(60, 62, 64), *((0.5 * at, "tatum") for at in range(7)), *rows)
    return mirflow.annotation("audio_to_score", columns)
