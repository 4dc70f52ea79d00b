"""Lyrics from text, LRC, subtitles, TextGrids and JAMS files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mirflow
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import read

LRC = """[ar:Somebody]
[offset:+500]
[00:01.50]Oh my love
[00:10.5][00:20.00]wait for me

[00:12.00]
[01:00]goodbye
"""
WORDS = "[00:01.00]<00:01.00>Oh <00:01.50>my<00:02.00>\n[00:03.00]<00:03.25>love\n"
SRT = "1\n00:00:01,000 --> 00:00:02,500\n<i>Oh</i> my\nlove\n\n2\n00:00:03,000 --> 00:00:04,000\ngoodbye\n"
TIER = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 3
tiers? <exists>
size = {count}
item []:
"""
INTERVALS = """    item [{number}]:
        class = "IntervalTier"
        name = "{name}"
        xmin = 0
        xmax = 3
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 1
            text = ""
        intervals [2]:
            xmin = 1
            xmax = 2
            text = "{first}"
        intervals [3]:
            xmin = 2
            xmax = 3
            text = "{second}"
"""


def write(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_text_keeps_its_lines_and_the_empty_ones_between(tmp_path: Path) -> None:
    found = read(write(tmp_path, "a.txt", "Oh my\n\n#1 love \n"), task="lyrics", language="de")
    assert list(found.labels or ()) == ["Oh my", "", "#1 love "]
    assert found.columns["language"].tolist() == ["de"] * 3
    assert found.line(2) == 3
    assert len(read(write(tmp_path, "b.txt", ""), task="lyrics")) == 0


def test_lines_of_lrc_repeat_at_their_times_and_end_where_the_next_one_starts(tmp_path: Path) -> None:
    path = write(tmp_path, "a.lrc", LRC)
    found = read(path, task="lyrics")
    assert list(found.labels or ()) == ["Oh my love", "wait for me", "", "wait for me", "goodbye"]
    assert found.columns["start"].tolist() == [1.0, 10.0, 11.5, 19.5, 59.5]
    assert "end" not in found.columns  # that of the last line is not known
    assert [found.line(item) for item in range(5)] == [3, 4, 6, 4, 7]
    assert read(path, kind="intervals").columns["end"].tolist() == [10.0, 11.5, 59.5]
    aligned = mirflow.align(found, {"hop": 10.0})
    assert aligned["label"].values.tolist() == [
        "",
        "wait for me",
        "wait for me",
        "wait for me",
        "wait for me",
        "wait for me",
    ]
    events = read(path, kind="events")
    assert events.columns["time"].tolist() == [1.0, 10.0, 19.5, 59.5]


def test_words_of_lrc_have_their_own_times_and_the_number_of_their_line(tmp_path: Path) -> None:
    found = read(write(tmp_path, "a.lrc", WORDS), task="lyrics")
    assert list(found.labels or ()) == ["Oh", "my", "love"]
    assert found.columns["start"].tolist() == [1.0, 1.5, 3.25]
    assert found.columns["line"].tolist() == [1, 1, 2]


def test_words_of_lrc_may_have_their_times_in_brackets_like_lines(tmp_path: Path) -> None:
    found = read(write(tmp_path, "a.lrc", "[00:01,00]Oh[00:01.50]my[00:02.00]\n[00:03]love\n"), task="lyrics")
    assert list(found.labels or ()) == ["Oh", "my", "love"]
    assert found.columns["start"].tolist() == [1.0, 1.5, 3.0]


@pytest.mark.parametrize("text", ["", "[ti:A song]\n", "[offset:]\n[t_time:(3:20)]\n[x-tool:a]\n"])
def test_lrc_without_lines_is_empty(tmp_path: Path, text: str) -> None:
    assert len(read(write(tmp_path, "a.lrc", text), task="lyrics")) == 0


def test_subtitles_are_in_order_of_time_and_know_their_lines(tmp_path: Path) -> None:
    later = "\ufeff2\r\n00:00:05,000 --> 00:00:06,000\r\nlove\r\n\r\n1\r\n00:00:01.5 --> 00:00:05.500\r\nOh\r\nmy\r\n"
    found = read(write(tmp_path, "a.srt", later), task="lyrics")
    assert list(found.labels or ()) == ["Oh", "my", "love"]
    assert list(found.lines or ()) == [7, 8, 3]


def test_subtitles_are_read_without_marks_of_layout(tmp_path: Path) -> None:
    found = read(write(tmp_path, "a.srt", SRT), task="lyrics")
    assert list(found.labels or ()) == ["Oh my", "love", "goodbye"]
    assert found.columns["start"].tolist() == [1.0, 1.0, 3.0]
    assert found.columns["end"].tolist() == [2.5, 2.5, 4.0]


def test_a_tier_of_words_is_one_line_and_a_tier_of_lines_has_one_in_each_interval(tmp_path: Path) -> None:
    words = INTERVALS.format(number=1, name="words", first="Oh", second="my")
    both = words + INTERVALS.format(number=2, name="lines", first="Oh my", second="love")
    path = write(tmp_path, "a.TextGrid", TIER.format(count=2) + both)
    found = read(path, task="lyrics")
    assert list(found.labels or ()) == ["Oh", "my"]
    assert found.columns["line"].tolist() == [1, 1]
    found = read(path, task="lyrics", tier="lines")
    assert list(found.labels or ()) == ["Oh my", "love"]
    assert "line" not in found.columns
    assert read(path, task="segment", tier="lines").columns["end"].tolist() == [2.0, 3.0]
    with pytest.raises(InvalidAnnotationError, match="has no tier of intervals 'word'; it holds words, lines"):
        read(path, task="lyrics", tier="word")


def test_jams_lyrics_are_words_or_lines(tmp_path: Path) -> None:
    data = [{"time": 1.0, "duration": 0.5, "value": "Oh", "confidence": None}]
    jam = {"annotations": [{"namespace": "lyrics", "data": data}], "file_metadata": {"duration": 3.0}}
    found = read(write(tmp_path, "a.jams", json.dumps(jam)), task="lyrics", language="en")
    assert list(found.labels or ()) == ["Oh"]
    assert found.columns["end"].tolist() == [1.5]
    assert found.columns["language"].tolist() == ["en"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "0.5 1.0 C\n1.0 2.0 G\n2.0 3.0 C\n", r"a.txt:1: not lyrics: '0.5 1.0 C'; .* use task"),
        ("a.lrc", "[00:01.00]Oh\nmy love\n", r"a.lrc:2: no time such as \[00:12.00\] before 'my love'"),
        ("a.lrc", "[offset:soon]\n", r"a.lrc:1: offset is not a number of milliseconds: 'soon'"),
        ("a.lrc", "[offset:nan]\n", r"a.lrc:1: offset is not a number of milliseconds: 'nan'"),
        ("a.srt", "Oh my love\n", r"a.srt: holds no subtitle"),
        (
            "a.srt",
            SRT.replace("\n00:00:03", "\n-00:00:03"),
            r"a.srt:7: invalid times of a subtitle: '-00:00:03,000 -->",
        ),
        ("a.srt", SRT.replace("00:04,", "00:0x,"), r"a.srt:7: invalid times of a subtitle: '00:00:03,000 --> 00:00:0x"),
        ("a.srt", SRT.replace("my", "00:00:01,000 00:00:02,000"), r"a.srt: has 2 lines with --> and two times, but 3"),
    ],
)
def test_what_is_no_such_file_is_refused_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        read(write(tmp_path, name, text), task="lyrics")


def test_what_is_no_textgrid_and_other_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"a.TextGrid: is not a Praat TextGrid, or is truncated"):
        read(write(tmp_path, "a.TextGrid", "Oh my love"), task="lyrics")
    tier = TIER.format(count=1) + INTERVALS.format(number=1, name="words", first="Oh", second="my")
    with pytest.raises(UnreadableError, match=r"a.TextGrid: is truncated: it holds 1 of 3 intervals and points"):
        read(write(tmp_path, "a.TextGrid", tier[: tier.index("        intervals [2]")]), task="lyrics")
    head = 'File type = "ooTextFile"\nObject class = "TextGrid"\n'
    short = f'{head}\n0\n3\n<exists>\n1\n"IntervalTier"\n"words"\n0\n3\n1\n'
    with pytest.raises(InvalidAnnotationError, match=r"a.TextGrid: a time is not a number: 'two'"):
        read(write(tmp_path, "a.TextGrid", f'{short}0\ntwo\n"a"\n'), task="lyrics")
    with pytest.raises(InvalidAnnotationError, match=r"a.TextGrid:4: a time is negative: 'xmin = -1'"):
        read(write(tmp_path, "a.TextGrid", tier.replace("xmin = 0", "xmin = -1")), task="lyrics")
    with pytest.raises(InvalidAnnotationError, match="has 2 tiers of intervals 'words'; names must be unique"):
        read(write(tmp_path, "a.TextGrid", tier + tier[tier.index("    item [1]") :]), task="lyrics")
    with pytest.raises(
        InvalidAnnotationError, match="lrc files can be read as text, events and intervals, not as notes"
    ):
        read(write(tmp_path, "a.lrc", LRC), task="transcription")
    with pytest.raises(AnnotationError, match="language applies to lyrics, not to beat"):
        read(write(tmp_path, "a.txt", "0.5"), task="beat", language="de")


def test_text_without_times_has_no_place_on_a_grid(tmp_path: Path) -> None:
    with pytest.raises(InvalidAnnotationError, match=r"a.txt: text without times has no place on a time axis"):
        mirflow.align(read(write(tmp_path, "a.txt", "Oh my love"), task="lyrics"), {"hop": 1.0})
    with pytest.raises(InvalidAnnotationError, match=r"a.csv: lyrics can be read from text, .* not from csv"):
        read(write(tmp_path, "a.csv", "track,text\na,oh\n"), task="lyrics")


def test_a_file_is_scored_against_text_in_memory(tmp_path: Path) -> None:
    scores = mirflow.evaluate(write(tmp_path, "a.srt", SRT), "oh my\nlove\ngoodbye", task="lyrics")
    assert float(scores["score"].sel(metric="word_error_rate").squeeze()) == 0


def test_a_line_that_nothing_follows_is_no_segment_and_is_told(tmp_path: Path) -> None:
    segments = read(write(tmp_path, "a.lrc", "[00:01.00]Oh my\n[00:03.00]love\n"), task="segment")
    assert segments.labels == ["Oh my"]
    (remark,) = segments.account
    assert (remark.rule, remark.line, remark.message) == (
        "rows",
        2,
        "'love' has no end, since nothing follows it, and is left out",
    )


def test_text_before_the_times_of_subtitles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidAnnotationError, match=r"a\.srt:2: text before the times of the first .*: 'by hand'"):
        read(write(tmp_path, "a.srt", SRT.replace("1\n", "1\nby hand\n", 1)), task="lyrics")
