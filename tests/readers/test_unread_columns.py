"""Columns and fields of text that are not read or hold implausible numbers: errors, remarks, or left out."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.errors import InvalidAnnotationError
from mirflow.readers.blocks import parse_files
from mirflow.readers.options import Reading
from mirflow.readers.sources import parse_file

ROWS = {
    "chord": "0\t1\tC:maj{}\n1\t2\tN\n",
    "segment": "0\t1\tverse{}\n1\t2\tcoda\n",
    "local_key": "0\t1\tA minor{}\n1\t2\tE minor\n",
    "drums": "0.5\tkick{}\n1.5\tsnare\n",
    "onset": "0.5\tkick{}\n1.5\tsnare\n",
    "alignment": "0.5\toh{}\n1.5\tmy\n",
    "pedal": "0\t1\tsustain{}\n1\t2\tsustain\n",
    "hierarchy": "0\t1\tA{}\n1\t2\tB\n",
}


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
@pytest.mark.parametrize("task", ROWS)
def test_a_separator_at_the_end_is_no_field(task: str, separator: str) -> None:
    plain, ended = (ROWS[task].format(end).replace("\t", separator) for end in ("", "\t"))
    format = "csv" if separator == "," else "txt"
    assert parsed(ended, task, format).labels == parsed(plain, task, format).labels


@pytest.mark.parametrize("task", ROWS)
def test_text_after_the_label_is_refused_with_the_columns_that_leave_it_out(task: str) -> None:
    text = ROWS[task].format("\tsomething")
    with pytest.raises(InvalidAnnotationError, match=r"a.txt:1: a field after the label .* 'something'; .*columns:"):
        parsed(text, task)
    places = ("time", "label") if text.startswith("0.5") else ("start", "end", "label")
    chosen = parsed(text, task, columns={name: place for place, name in enumerate(places)})
    assert chosen.labels == parsed(ROWS[task].format(""), task).labels
    assert chosen.account == ()


@pytest.mark.parametrize("task", ROWS)
def test_a_number_after_the_label_is_told(task: str) -> None:
    found = parsed(ROWS[task].format("\t0.5"), task)
    if task == "local_key":  # the confidence of a key
        assert found.account == ()
        return
    assert [(remark.rule, remark.line, remark.count) for remark in found.account] == [("columns", 1, 1)]
    assert found.labels == parsed(ROWS[task].format(""), task).labels


@pytest.mark.parametrize(
    ("header", "row", "unread"),
    [
        ("start,end,label,title", "0,1,A,x", "'title'"),
        ("start,end,label,confidence,comment", "0,1,A,0.5,x", ""),
        ("start,end,duration,label", "0,1,1,A", ""),
        ("start,end,label,title", "0,1,A,", ""),
        ("start,end,label", "0,1,A,x", ""),  # which is part of the label
        ("start,end,label,a,b,c,d,e", "0,1,A,1,2,3,4,5", "'a', 'b', 'c' and 2 more"),
    ],
)
def test_columns_of_a_header_are_told_unless_they_are_left_out_by_declaration(
    header: str, row: str, unread: str
) -> None:
    found = parsed(f"{header}\n{row}\n", "segment", "csv")
    assert [remark.rule for remark in found.account] == ["columns"] * bool(unread)
    assert all(unread in remark.message for remark in found.account)


def test_a_column_without_which_labels_mean_something_else_is_refused() -> None:
    text = "start,end,label,quality\n0,1,{},min\n"
    with pytest.raises(InvalidAnnotationError, match=r"a.txt:2: the column 'quality' .*'C' may mean something else"):
        parsed(text.format("C"), "chord", "csv")
    found = parsed(text.format("C:min"), "chord", "csv")
    assert [remark.message for remark in found.account] == [
        "the column 'quality' is not read; to read one, name it in columns"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "0\t10\tA\tminor\n10\t20\tBb\n",
        "0 10 A minor\n10 20 Bb\n",
        "0\t10\tKey\tA minor\n10\t20\tKey\tBb\n",
        "0 10 Key A minor\n10 20 Key Bb\n",
        "0,10,A,minor\n10,20,Bb,\n",
        "start,end,key,mode\n0,10,A,minor\n10,20,Bb,\n",
        "start,end,key,scale\n0,10,A,minor\n10,20,Bb,\n",
        "0\t10\tA minor\t0.9\n10\t20\tBb\t0.8\n",
    ],
)
def test_local_keys_may_have_the_mode_in_a_column_or_the_form_of_isophonics(text: str) -> None:
    found = parsed(text, "local_key", "csv" if "," in text else "txt")
    assert (found.labels, found.account) == (["A minor", "Bb"], ())


def test_silence_in_keys_of_isophonics_is_no_key() -> None:
    assert parsed("0\t1\tSilence\n1\t2\tKey\tC\n", "local_key").labels == ["N", "C"]


def test_regions_of_sonic_visualiser_are_refused_with_their_columns() -> None:
    text = "0.2{0}5{0}57.0{0}Theme\n57.2{0}6{0}30.5{0}Coda\n"
    for separator in ("\t", " ", ","):
        with pytest.raises(InvalidAnnotationError, match=r"columns: \{start: 0, duration: 2, label: 3\}"):
            parsed(text.format(separator), "segment", "csv" if separator == "," else "txt")
    found = parsed(text.format("\t"), "segment", columns={"start": 0, "duration": 2, "label": 3})
    assert (found.columns["end"].tolist(), found.labels) == ([57.2, 87.7], ["Theme", "Coda"])
    with pytest.raises(InvalidAnnotationError) as caught:
        parsed("0.2\t5\t90.0\tTheme\n57.2\t6\t30.5\tCoda\n", "segment")
    assert "Sonic Visualiser" not in str(caught.value)


def parsed(text: str, task: str, format: str = "txt", **options: object) -> Annotation:
    return parse_file(text.encode(), Reading.of(task, **options), format, "a.txt")


def told(annotation: Annotation) -> list[str]:
    return [remark.message for remark in annotation.account if remark.rule == "odd_columns"]


def test_notes_of_start_pitch_and_duration_are_told_with_columns_that_read_them() -> None:
    text = "0.66,220.0,0.29\n1.01,246.94,0.30\n"
    (message,) = told(parsed(text, "transcription", "csv"))
    assert "pitches of 0.29 to 0.3 Hz" in message
    assert "columns: {start: 0, pitch: 1, duration: 2} (--columns start=0,pitch=1,duration=2)" in message
    columns = {"start": 0, "pitch": 1, "duration": 2}
    right = parsed(text, "transcription", "csv", columns=columns)
    assert (right.columns["pitch"].tolist(), told(right)) == ([220.0, 246.94], [])
    (message,) = told(parsed("0 1 7.8\n1 2 7.9\n", "transcription"))  # octaves, for which no columns are right
    assert "declare" not in message


def test_frames_at_one_frequency_that_is_no_pitch_may_be_unvoiced() -> None:
    text = "".join(f"{frame / 100} {220 if frame % 3 else 1}\n" for frame in range(9))
    assert told(parsed(text, "melody")) == ["3 frames at 1 Hz count as voiced; if they are unvoiced, write 0 for them"]
    assert told(parsed("0 220\n0.01 1\n0.02 2\n", "melody")) == told(parsed("0 220\n0.01 0\n", "melody")) == []


@pytest.mark.parametrize(
    ("task", "text", "last"),
    [
        ("transcription", "0.66\t0.29\t220\n1.01\t0.30\t247\n1.5\t0.2\t330\n", "pitch"),
        ("segment", "0\t10.5\tA\n10.5\t8.0\tB\n18.5\t4.0\tC\n", "label"),
        ("chord", "0.5 1.5 C:maj\n2.0 0.5 N\n2.5 0.5 G:7\n", "label"),
    ],
)
def test_durations_in_place_of_ends_are_told_with_columns_that_read_them(task: str, text: str, last: str) -> None:
    (message,) = told(parsed(text, task))
    columns = {"start": 0, "duration": 1, last: 2}
    assert ", ".join(f"{name}: {place}" for name, place in columns.items()) in message
    right = parsed(text, task, columns=columns)
    assert (right.columns["end"] > right.columns["start"]).all()
    assert told(right) == []


def test_reversed_rows_that_are_no_durations_are_told_without_columns() -> None:
    (message,) = told(parsed("5 1 A\n6 5 B\n7 6.5 C\n", "segment"))
    assert "declare" not in message
    assert not told(parsed("0 1 A\n1 2 B\n2 1.5 C\n3 4 D\n", "segment"))


def test_a_block_of_files_is_read_as_each_by_itself() -> None:
    texts = ["0.5 1.5 C:maj\n2.0 0.5 N\n2.5 0.5 G:7\n", *["0 1 C:maj\n1 2 N\n"] * 4]
    rows, single = parse_files([text.encode() for text in texts], Reading.of("chord"), list("abcde"))
    whole = {int(place) for places, _ in rows for place in places} | set(single)
    assert whole == set(range(5))
    assert told(single[0]) == told(parsed(texts[0], "chord"))


def test_frequencies_too_low_for_pitches_are_told() -> None:
    (message,) = told(parsed("0.0,7.8\n0.01,7.8\n0.02,7.81\n", "melody", "csv"))
    assert "frequencies of 7.8 to 7.81 Hz" in message
    assert not told(parsed("0.0 0\n0.01 0\n0.02 220\n", "melody"))


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("txt", " ")])
def test_nan_is_unvoiced_and_told_beside_other_marks(format: str, separator: str) -> None:
    text = f"0.0{separator}nan\n0.01{separator}220\n0.02{separator}NaN\n"
    assert not parsed(text, "melody", format).account
    text += f"0.03{separator}0\n"
    for found in (
        parsed(text, "melody", format),
        parsed(text.replace("220", "57"), "melody", format, pitch_unit="MIDI"),
    ):
        assert np.allclose(found.columns["frequency"], [0, 220, 0, 0])
        assert [(remark.rule, remark.line, remark.count) for remark in found.account] == [("unvoiced", 1, 2)]


@pytest.mark.parametrize("header", ["", "start,end,pitch\n"])
def test_pitches_may_be_names_of_notes(header: str) -> None:
    text = f"{header}0.5,1.0,A3\n1.0,1.5,G#1\n1.5,2.0,Bb4\n2.0,2.5,220\n"
    pitches = parsed(text, "transcription", "csv").columns["pitch"]
    assert np.allclose(pitches, [220.0, 51.9130872, 466.1637615, 220.0])
    midi = parsed(text.replace("220", "57"), "transcription", "csv", pitch_unit="MIDI").columns["pitch"]
    assert np.allclose(midi, pitches)
    assert np.allclose(parsed(text.replace(",", "\t"), "transcription", "tsv").columns["pitch"], pitches)


def test_frames_may_begin_after_0() -> None:
    columns = {"frequency": 0}
    found = parsed("220\n0\n221\n", "melody", columns=columns, time_unit="frames@0.02+0.01")
    assert np.allclose(found.columns["time"], [0.01, 0.03, 0.05])
    spans = parsed(
        "0\t2\tA\n2\t3\tB\n", "segment", time_unit="frames@0.5+0.25", columns={"start": 0, "duration": 1, "label": 2}
    )
    assert (spans.columns["start"].tolist(), spans.columns["end"].tolist()) == ([0.25, 1.25], [1.25, 2.75])


def test_confidences_of_pitches_are_told_with_the_column_of_voicing() -> None:
    text = "time,frequency,confidence\n0.0,220,0.9\n0.01,220,0.1\n"
    (remark,) = parsed(text, "melody", "csv").account
    assert "columns: {time: time, frequency: frequency, voicing: confidence}" in remark.message
    columns = {"time": "time", "frequency": "frequency", "voicing": "confidence"}
    assert parsed(text, "melody", "csv", columns=columns).columns["voicing"].tolist() == [0.9, 0.1]


def test_numbers_before_times_of_beats_are_told() -> None:
    text = "1 5.000\n2 5.5\n3 6.0\n1 6.5\n2 7.0\n"
    (message,) = told(parsed(text, "beat"))
    assert "declare columns: {time: 1, label: 0}" in message
    right = parsed(text, "beat", columns={"time": 1, "label": 0})
    assert (right.columns["time"].tolist(), told(right)) == ([5.0, 5.5, 6.0, 6.5, 7.0], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("27 232 JUST\n233 400 A\n", r"not lyrics: '27 232 JUST'; remove the times"),
        ("1\n00:00:01,000 --> 00:00:02,000\nhello\n", r"a.txt:2: is subtitles, .*--input-format srt"),
    ],
)
def test_times_are_no_lyrics(text: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        parsed(text, "lyrics")


@pytest.mark.parametrize("text", ["99 red balloons\n", "1 2 step\n", "1 2 3\n4 5 6\n", "1999 party\n"])
def test_numbers_may_be_lyrics(text: str) -> None:
    assert parsed(text, "lyrics").labels == text.splitlines()


@pytest.mark.parametrize(
    ("task", "rows"),
    [
        ("onset", ["0.5", "1.0", "1.5"]),
        ("beat", ["0.5 1", "1.0 2"]),
        ("drums", ["0.5 kick", "0.5 snare", "1.0 kick"]),
        ("segment", ["0 1 A", "1 2 B"]),
        ("transcription", ["0 1 440", "1 2 220"]),
    ],
)
def test_a_file_that_holds_everything_twice_is_told(task: str, rows: list[str]) -> None:
    joined, doubled = rows * 2, [row for row in rows for _ in range(2)]
    for text, line in ((joined, len(rows) + 1), (doubled, 2)):
        (remark,) = [one for one in parsed("\n".join(text), task).account if one.rule == "repeated_rows"]
        assert (remark.message, remark.line) == (f"all {len(rows)} rows are there twice", line)
    for other in (rows, [*rows * 2, rows[0]], [*rows * 2][:-1]):
        assert not [one for one in parsed("\n".join(other), task).account if one.rule == "repeated_rows"]


def test_a_first_row_that_is_the_number_of_the_others_is_told() -> None:
    rows = [f"{0.5 * row + 0.25}" for row in range(6)]
    (remark,) = parsed("\n".join(["6", *rows]), "onset").account
    assert (remark.rule, remark.line) == ("leading_count", 1)
    assert remark.message == "the first row may be the number of the others, 6, and no time: remove it if it is"
    for others in (["7", *rows], rows, ["3", "4.5", "5.5"], [str(row) for row in (6, 7, 8, 9, 10, 11, 12)]):
        assert not parsed("\n".join(others), "onset").account
