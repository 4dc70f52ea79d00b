"""Files of the McGill Billboard project: phrases to chords, sections, beats and bars."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.errors import AnnotationError, InvalidAnnotationError
from mirflow.readers.billboard import parse_billboard
from mirflow.readers.options import Reading

from ..commands import invoke

SONG = """# title: A Song
# artist: Nobody
# metre: 4/4
# tonic: C

0.0\tsilence
1.0\tA, intro, | C:maj | F:maj G:7 |, (guitar
5.0\tB, verse, | A:min . F:maj . | (2/4) G:maj | x2, guitar)
# metre: 6/8
11.0\t| D:min | G:7 . |, ->
13.0\tZ, noise
14.0\tA', outro, | C:maj * |, (voice)
16.0\tend
"""


def read(text: str, task: str, **options: object) -> tuple[list[float], list[str]]:
    found = parse_billboard(text.encode(), Reading.of(task, **options), name="salami_chords.txt")
    return found.columns["time" if "time" in found.columns else "start"].tolist(), list(found.labels or ())


def refusal(*lines: str, task: str = "chord") -> str:
    with pytest.raises(InvalidAnnotationError) as raised:
        read("\n".join(lines), task)
    return str(raised.value)


def test_chords_last_until_the_next_one() -> None:
    times, labels = read(SONG, "chord")
    assert times == [0.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]
    verse = ["A:min", "F:maj", "G:maj"]
    assert labels == ["N", "C:maj", "F:maj", "G:7", *verse, *verse, "D:min", "G:7", "N", "C:maj", "X"]


def test_sections_have_letters_or_functions() -> None:
    assert read(SONG, "segment") == ([0.0, 1.0, 5.0, 13.0, 14.0], ["silence", "A", "B", "Z", "A'"])
    _, labels = read(SONG, "segment", columns={"label": "function"})
    assert labels == ["silence", "intro", "verse", "noise", "outro"]


def test_a_phrase_without_a_length_is_told() -> None:
    text = SONG.replace("13.0\tZ", "11.0\t| D:min | G:7 . |, ->\n13.0\tZ")
    for task in ("chord", "segment", "beat"):
        (remark,) = parse_billboard(text.encode(), Reading.of(task), name="salami_chords.txt").account
        assert (remark.rule, remark.line) == ("repeated_rows", 10)


def test_beats_have_positions_and_bars_have_downbeats() -> None:
    times, positions = read(SONG, "beat")
    assert positions == [*"1234", *"1234", *"1234", *"12", *"1234", *"12", *"12", *"12", *"12"]
    assert times[8:14] == [5.0, 5.5, 6.0, 6.5, 7.0, 7.5]  # four beats and two share three seconds
    downbeats, _ = read(SONG, "downbeat")
    assert downbeats == [1.0, 3.0, 5.0, 7.0, 8.0, 10.0, 11.0, 12.0, 14.0]


def test_a_period_carries_a_chord_over_a_bar_line_and_a_pause_is_a_beat_more() -> None:
    song = "# metre: 4/4\n0\tA, | C:maj | . . F:maj . &pause | G:7 |\n13\tend"
    assert read(song, "chord") == ([0.0, 6.0, 8.0, 9.0], ["C:maj", "F:maj", "X", "G:7"])


def test_two_chords_share_a_bar_of_evenly_many_beats() -> None:
    for metre in ("2/4", "4/4", "6/4", "6/8", "12/8"):
        song = f"# metre: {metre}\n0\tA, | C:maj F:maj |\n4\tend"
        assert read(song, "chord") == ([0.0, 2.0], ["C:maj", "F:maj"])


def test_what_is_no_music_has_no_chord_with_or_without_its_letter() -> None:
    song = "# metre: 4/4\n0\tnoise\n1\tA, | C:maj |\n3\tZ', applause\n4\tfadeout\n5\tB, bridge\n6\tend"
    assert read(song, "chord") == ([0.0, 1.0, 3.0, 4.0, 5.0], ["N", "C:maj", "N", "N", "X"])


chords = st.sampled_from(("C:maj", "A:min/b3", "G:7", "N"))


@st.composite
def phrases(draw: st.DrawFn) -> list[list[list[str]]]:
    """Phrases of bars of three beats with a chord or a period each; the first is a chord."""
    bars = st.lists(st.lists(chords | st.just("."), min_size=3, max_size=3), min_size=1, max_size=4)
    found = draw(st.lists(bars, min_size=1, max_size=4))
    return [[[draw(chords), *bars[0][1:]], *bars[1:]] for bars in found]


@given(phrases(), st.integers(1, 3))
def test_chords_equal_those_of_a_walk_beat_by_beat(song: list[list[list[str]]], times: int) -> None:
    lines, expected, begin = ["# metre: 3/4"], [], 0
    for bars in song:
        lines.append(f"{begin}\tA, | {' | '.join(' '.join(bar) for bar in bars)} | x{times}")
        beats = [token for _ in range(times) for bar in bars for token in bar]
        seconds = len(bars)  # any length: the beats share it
        for place, token in enumerate(beats):
            if token != ".":
                expected.append((begin + seconds * place / len(beats), token))
        begin += seconds
    found = read("\n".join([*lines, f"{begin}\tend"]), "chord")
    assert found[1] == [label for _, label in expected]
    assert found[0] == pytest.approx([time for time, _ in expected], abs=1e-9)


def test_sections_begin_where_the_datasets_own_loader_has_them(tmp_path: Path) -> None:
    from mirdata.datasets.billboard import _load_sections  # of sections only; takes a second to import

    (tmp_path / "salami_chords.txt").write_text(SONG)
    times, labels = read(SONG, "segment")
    theirs = _load_sections(str(tmp_path / "salami_chords.txt"), "letter")
    named = [(time, label) for time, label in zip(times, labels, strict=True) if label != "silence"]
    both = zip(theirs.intervals[:, 0].tolist(), theirs.labels, strict=True)
    assert [one for one in both if one[1] not in ("silence", "end")] == named


def test_the_name_of_a_file_is_its_format(tmp_path: Path) -> None:
    for folder in ("0003", "0004"):
        (tmp_path / "ref" / folder).mkdir(parents=True)
        (tmp_path / "ref" / folder / "salami_chords.txt").write_text(SONG)
    found = mirflow.load_collection(tmp_path / "ref/{track}/salami_chords.txt", task="chord")
    assert found.tracks == ("0003", "0004")
    path = tmp_path / "song.txt"
    path.write_text(SONG)
    chords = mirflow.load(path, task="chord", format="billboard")
    scores = mirflow.evaluate(path, path, "chord", format="billboard", metrics=["majmin"])
    assert scores.score.values.tolist() == [1.0]
    assert np.diff(chords.start.values).min() > 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["# metre: 4/4", "0\tA, | C:maj |"], "salami_chords.txt:2: the last line must be 'end' or 'silence'"),
        (["0\tA, | C:maj |", "1\tend"], ":1: no line '# metre: 4/4' precedes the first bar"),
        (["# metre: four", "0\tend"], ":1: invalid metre 'four'"),
        (["# metre: 3/4", "0\tA, | C:maj G:7 |", "1\tend"], ":2: a bar of 3/4 has 2 chords and periods: 'C:maj G:7'"),
        (["# metre: 4/4", "0\tA, | . . . . |", "1\tend"], ":2: the phrase begins with a period"),
        (["# metre: 4/4", "0\tA, | C:maj | |", "1\tend"], ":2: a bar is empty"),
        (["# metre: 4/4", "0\tA, C:maj | G:7", "1\tend"], ":2: bar lines do not enclose the chords"),
        (["# metre: 4/4", "0\tA, | C:maj | x0", "1\tend"], ":2: 1 bars are repeated 0 times"),
        (["5\tsilence", "1\tend"], ":2: is at 1 s, before the line above it"),
        (["silence"], ":1: expected a time and a tab, not 'silence'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(lines: list[str], message: str) -> None:
    assert message in refusal(*lines)


@pytest.mark.parametrize("task", ["key", "local_key", "transcription"])
def test_what_it_does_not_hold_is_refused(task: str) -> None:
    assert f"Billboard files hold chords, segments, beats and downbeats, not {task}" in refusal(SONG, task=task)


pieces = st.sampled_from(
    [
        *(
            "# metre: 4/4\n",
            "# metre: 0/4",
            "0\t",
            "1.5\tA, ",
            "1e400\t",
            "| C:maj ",
            "|",
            ". ",
            "*",
            "&pause",
            "(3/8)",
        ),
        *("x3", "Z", "end\n", "silence\n", "\n", "\t", ", ", "->", "A'", "verse", "é", "\0"),
    ]
)


@given(st.lists(pieces, max_size=25).map("".join), st.sampled_from(("chord", "segment", "beat")))
def test_any_text_is_read_or_refused(text: str, task: str) -> None:
    with suppress(AnnotationError):
        times, labels = read(text, task)
        assert len(times) == len(labels)
        assert times == sorted(times)


def test_a_file_without_lines_is_empty() -> None:
    assert read("", "chord") == ([], [])


@pytest.mark.parametrize("task", ["chord", "segment"])
@pytest.mark.parametrize("first", ["0.0\tsilence\n", ""])
def test_a_file_of_another_name_says_which_format_to_declare(tmp_path: Path, task: str, first: str) -> None:
    path = tmp_path / "0003.txt"
    path.write_text(f"# metre: 4/4\n\n{first}0.07\tA, intro, | A:min | C:maj |\n8.7\tend\n")
    found = invoke("check", path, "--task", task)
    assert found.exit_code == 3
    assert "declare format: billboard (--input-format billboard)" in found.output
    assert invoke("check", path, "--task", task, "--input-format", "billboard").exit_code == 0
