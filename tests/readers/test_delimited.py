"""Delimited text: what is read, what is left out, and which line is blamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.arrays import is_number
from mirflow.annotations.labelled import to_dataset
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnknownNameError, UnreadableError
from mirflow.readers import DelimitedOptions, FileSource, Reading, read
from mirflow.readers.delimited import parse_delimited

from ..samples import sample


def intervals(text: str | bytes, format: str = "lab", **options: Any) -> Annotation:
    data = text if isinstance(text, bytes) else text.encode()
    return parse_delimited(data, Reading.of(kind="intervals", **options), format, "a." + format)


def events(text: str, format: str = "txt", **options: Any) -> Annotation:
    return parse_delimited(text.encode(), Reading.of(kind="events", **options), format, "a." + format)


def rows(annotation: Annotation) -> list[tuple[float, float, str]]:
    assert annotation.labels is not None
    columns = annotation.columns
    return list(zip(columns["start"].tolist(), columns["end"].tolist(), annotation.labels, strict=True))


TWO = [(0.0, 1.5, "C:maj"), (1.5, 2.0, "N")]


@pytest.mark.parametrize(
    "text",
    [
        "0.0 1.5 C:maj\n1.5 2.0 N\n",
        "0.0\t1.5\tC:maj\n1.5\t2.0\tN",
        "  0.0\t  1.5\tC:maj\n  1.5\t  2.0\tN  \n\n",
        "0.0 1.5 C:maj\r\n1.5 2.0 N\r\n",
        "0.0 1.5 C:maj\r1.5 2.0 N\r",
        "\ufeff0.0 1.5 C:maj\n1.5 2.0 N\n",
        "\n0.0 1.5 C:maj\n   \n1.5 2.0 N\n",
        "# made by hand\n0.0 1.5 C:maj\n1.5 2.0 N\n",
        "0.0,1.5,C:maj\n1.5,2.0,N\n",
        "0.0;1.5;C:maj\n1.5;2.0;N\n",
        "start end chord\n0.0 1.5 C:maj\n1.5 2.0 N\n",
        "0.0 1.5 C:maj\t\n1.5 2.0 N\t\t\n",
        "0.0,1.5,C:maj,\n1.5,2.0,N,,\n",
        '0.0 1.5 "C:maj"\n1.5 2.0 "N"\n',
        '0.0\t1.5\t"C:maj"\n1.5\t2.0\t"N"\n',
    ],
)
def test_all_these_are_the_same_two_rows(text: str) -> None:
    assert rows(intervals(text)) == TWO


@pytest.mark.parametrize(
    "text",
    [
        "0.0,1.5,C:maj\n1.5,2.0,N\n",
        "start,end,label\n0.0, 1.5, C:maj\n1.5, 2.0, N\n",
        "label,start (s),end (s)\nC:maj,0.0,1.5\nN,1.5,2.0\n",
        "start,duration,value,confidence\n0.0,1.5,C:maj,1\n1.5,0.5,N,1\n",
        '"start","end","label"\n0.0,1.5,"C:maj"\n1.5,2.0,"N"\n',
    ],
)
def test_csv_means_commas_and_its_header_names_the_columns(text: str) -> None:
    assert rows(intervals(text, "csv")) == TWO


def test_the_last_column_takes_the_rest_so_that_labels_keep_blanks_and_commas() -> None:
    assert rows(intervals("0 1 guitar solo (2nd)\n"))[0][2] == "guitar solo (2nd)"
    assert rows(intervals("0,1,C:maj(9,11)\n", "csv"))[0][2] == "C:maj(9,11)"
    assert rows(intervals('0,1,"C:maj(9,11)"\n', "csv"))[0][2] == "C:maj(9,11)"
    assert rows(intervals('0 1 the "A" part\n0 1 "A" and "B"\n'))[0][2] == 'the "A" part'
    assert rows(intervals('0 1 "A" and "B"\n'))[0][2] == '"A" and "B"'


def test_intervals_need_no_labels() -> None:
    assert rows(intervals("0 1\n1 2\n")) == [(0.0, 1.0, ""), (1.0, 2.0, "")]


def test_boundaries_become_intervals_when_columns_say_so() -> None:
    text = "0.0 intro\n8.5 verse\n25.4 end\n"
    assert rows(intervals(text, columns=(("start", 0), ("label", 1)))) == [(0.0, 8.5, "intro"), (8.5, 25.4, "verse")]


def test_columns_by_position_and_by_name() -> None:
    assert rows(intervals("C:maj 0.0 1.5\nN 1.5 2.0\n", columns=(("label", 0), ("start", 1), ("end", 2)))) == TWO
    text = "id,chord,on,off\n1,C:maj,0.0,1.5\n2,N,1.5,2.0\n"
    assert (
        rows(intervals(text, "csv", header=True, columns=(("start", "on"), ("end", "off"), ("label", "chord")))) == TWO
    )


@pytest.mark.parametrize(("unit", "text"), [("ms", "0 1500 a\n"), ("samples@44100", "0 66150 a\n"), ("s", "0 1.5 a\n")])
def test_times_come_in_seconds(unit: str, text: str) -> None:
    assert rows(intervals(text, time_unit=unit)) == [(0.0, 1.5, "a")]


def test_events_with_and_without_labels() -> None:
    plain, numbered = events("0.5\n1.0\n"), events("0.5\t1\t1\n1.0\t2\t1\n")
    assert (plain.columns["time"].tolist(), plain.labels) == ([0.5, 1.0], None)
    assert (numbered.columns["time"].tolist(), numbered.labels) == ([0.5, 1.0], ["1", "2"])


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", " \n# nothing\n", "\ufeff"])
@pytest.mark.parametrize("kind", ["events", "intervals"])
def test_a_file_without_rows_is_an_annotation_without_items(text: str, kind: str) -> None:
    assert len(parse_delimited(text.encode(), Reading.of(kind=kind), "lab")) == 0


def test_numbers_that_are_not_finite_are_left_to_the_conventions() -> None:
    assert np.isnan(intervals("nan 1 C\n").columns["start"][0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 C\n1 x N\n", r"a\.lab:2: end is not a number: 'x'"),
        ("# c\n\n0 1 C\n1,5 2 N\n", r"a\.lab:4: start is not a number: '1,5'"),
        ("0 1 C\n5\n", r"a\.lab:2: has 1 column, needs start, end: '5'"),
        ("0.0 intro\n8.5 verse\n", r"a\.lab:1: end is not a number: 'intro'; .* columns: \{start: 0, label: 1\}"),
        ("0.0 silence\n8.5 verse\n", r"a\.lab:1: end is not a number: 'silence'; .* columns: \{start: 0, label: 1\}"),
        (
            "start end label\n0 1 C\nstart end label\n1 2 N\n",
            r"a\.lab:3: start is not .*; this row is the header again",
        ),
        ("foo bar baz\n0 1 C\n", r"a\.lab:1: the header has no column .*'foo', 'bar', 'baz'; declare columns"),
    ],
)
def test_the_line_and_the_value_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        intervals(text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00\x01\x02", "binary"),
        ("0 1 caf\xe9\n".encode("latin-1"), "byte 0xe9 on line 1 is not utf-8"),
        ("0 1 C\n".encode("utf-32"), "UTF-32"),
    ],
)
def test_what_is_no_text_is_unreadable(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        intervals(data)


def test_another_encoding_can_be_declared() -> None:
    assert rows(intervals("0 1 caf\xe9\n".encode("latin-1"), encoding="latin-1")) == [(0.0, 1.0, "caf\xe9")]


def test_large_and_absent_files_are_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "a.lab"
    file.write_text("0 1 C\n" * 100)
    with pytest.raises(UnreadableError, match=r"a\.lab: too large: .*max_bytes"):
        FileSource(str(file), Reading.of(task="chord", max_bytes=10)).read()
    with pytest.raises(UnreadableError, match=r"b\.lab: cannot be read: No such file"):
        read(tmp_path / "b.lab", task="chord")
    with pytest.raises(UnreadableError, match="Is a directory"):
        read(tmp_path, task="chord")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"delimiter": "ab"}, AnnotationError, "invalid delimiter 'ab'"),
        ({"time_unit": "min"}, AnnotationError, "invalid time_unit 'min'"),
        ({"columns": {"strat": 0}}, UnknownNameError, "did you mean 'start'"),
        ({"columns": {"time": 0}}, InvalidAnnotationError, "intervals have no column 'time'"),
        ({"columns": {"start": "on"}}, InvalidAnnotationError, "no header"),
        ({"columns": {"start": "on"}, "header": True}, InvalidAnnotationError, "no column 'on' for 'start'"),
        ({"delimeter": ","}, AnnotationError, "unknown option of reading 'delimeter'; did you mean 'delimiter'"),
        ({"format": "cvs"}, UnknownNameError, "did you mean 'csv'"),
    ],
)
def test_wrong_options_are_errors(
    options: dict[str, object], error: type[Exception], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.lab"
    file.write_text("0 1 C\n")
    with pytest.raises(error, match=message):
        read(file, task="chord", **options)


TIMES = st.floats(0, 1e4, allow_nan=False).map(lambda time: round(time, 6))
LABELS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp", "Zs"), blacklist_characters='"'), min_size=1
).filter(lambda label: not is_number(label) and not label.endswith(","))  # separators at the end are no field
ROWS = st.lists(st.tuples(TIMES, TIMES, LABELS), min_size=1, max_size=8)


@pytest.mark.parametrize(("format", "separator"), [("lab", " "), ("lab", "\t"), ("csv", ","), ("tsv", "\t")])
@given(table=ROWS)
def test_rows_survive_the_round_trip(format: str, separator: str, table: list[tuple[float, float, str]]) -> None:
    text = "".join(f"{start!r}{separator}{end!r}{separator}{label}\n" for start, end, label in table)
    assert rows(intervals(text, format)) == table


@given(table=ROWS, comment=st.integers(0, 8))
def test_the_two_paths_agree(table: list[tuple[float, float, str]], comment: int) -> None:
    lines = [f"{start!r} {end!r} {label}" for start, end, label in table]
    commented = [*lines[:comment], "# a comment", *lines[comment:]]
    assert rows(intervals("\n".join(lines))) == rows(intervals("\n".join(commented)))


@given(st.binary(max_size=200))
def test_whatever_the_bytes_the_answer_is_an_annotation_or_our_error(data: bytes) -> None:
    try:
        annotation = parse_delimited(data, Reading.of(kind="intervals"), "lab")
    except (UnreadableError, InvalidAnnotationError):
        return
    assert len(annotation.columns["start"]) == len(annotation.columns["end"]) == len(annotation)


@pytest.mark.parametrize("format", ["csv", "txt", "lab"])
@pytest.mark.parametrize(
    "text",
    [
        "0,0;1,5;C:maj\n1,5;2,0;N\n",
        "0;1,5;C:maj\n1,5;2;N\n",
        "# von Hand\n0.0;1.5;C:maj\n1.5;2.0;N\n",
        "start;end;chord\n0,0;1,5;C:maj\n1,5;2,0;N\n",
    ],
)
def test_semicolons_and_decimal_commas_are_found(format: str, text: str) -> None:
    assert rows(intervals(text, format)) == TWO


def test_a_csv_with_semicolons_keeps_its_commas_in_labels() -> None:
    assert rows(intervals("0,0;1,5;C:maj(9,11)\n", "csv")) == [(0.0, 1.5, "C:maj(9,11)")]
    assert rows(intervals("0,1,rock;pop\n", "csv")) == [(0.0, 1.0, "rock;pop")]
    assert events("0,5;kick\n1,25;snare\n", "csv").columns["time"].tolist() == [0.5, 1.25]
    assert rows(intervals("0.0\t1.5\tC:maj\n1.5\t2.0\tN\n", "csv")) == TWO


def test_decimal_commas_are_read_in_every_kind_of_text(tmp_path: Path) -> None:
    def loaded(task: str, text: str, **options: Any) -> dict[str, list[float]]:
        (tmp_path / "a.csv").write_text(text)
        return {
            name: column.tolist() for name, column in read(tmp_path / "a.csv", task=task, **options).columns.items()
        }

    assert loaded("melody", "0,0;440,5\n0,5;0\n") == {"time": [0.0, 0.5], "frequency": [440.5, 0.0]}
    assert loaded("multipitch", "0,0;440,5;220,25\n0,5\n") == {"time": [0.0, 0.5], "frequency": [440.5, 220.25]}
    assert loaded("tagging", "tag;value\nslow;0,5\nloud;0,25\n") == {"value": [0.5, 0.25]}
    assert loaded("tempo", "60,5;120;0,25\n")["tempo"] == [60.5, 120.0]
    assert loaded("beat", "0,5\n0,75\n1,0\n", decimal=",") == {"time": [0.5, 0.75, 1.0]}
    assert loaded("beat", "0,5 1\n1,0 2\n", decimal=",", format="txt") == {"time": [0.5, 1.0]}


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("0,5 1,5 C\n1,5 2,0 N\n", "lab", r"a\.lab:1: start is not a number: '0,5'; if commas .* declare decimal: ','"),
        ("0,5\t1,5\tC\n", "tsv", r"a\.tsv:1: start is not a number: '0,5'; if commas .* declare decimal: ','"),
    ],
)
def test_the_option_for_decimal_commas_is_named(text: str, format: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        intervals(text, format)
    assert rows(intervals(text, format, decimal=","))[0] == (0.5, 1.5, "C")


def test_commas_that_may_be_of_decimals_are_not_guessed_at() -> None:
    text = "0,5\n0,75\n1,25\n"
    for format in ("csv", "txt"):
        with pytest.raises(
            InvalidAnnotationError,
            match=rf"a\.{format}:1: commas may .* declare decimal: ',' .*; if they .* delimiter: comma",
        ):
            events(text, format)
        assert events(text, format, decimal=",").columns["time"].tolist() == [0.5, 0.75, 1.25]
        assert events(text, format, delimiter="comma").labels == ["5", "75", "25"]
    assert events("0,1\n1,2\n2,3\n", "csv").labels == ["1", "2", "3"]


def test_points_and_commas_before_decimals_are_not_mixed() -> None:
    with pytest.raises(InvalidAnnotationError, match=r"a\.csv:2: .*declare decimal"):
        intervals("0,0;1,5;C:maj\n1.5;2.0;N\n", "csv")
    with pytest.raises(AnnotationError, match="commas cannot be both column and decimal separators"):
        DelimitedOptions(delimiter=",", decimal=",")
    with pytest.raises(AnnotationError, match="invalid decimal ';'"):
        DelimitedOptions(decimal=";")  # type: ignore[arg-type]


class TestWriting:
    """What is written is read back, to the bit."""

    @pytest.mark.parametrize("task", ["beat", "onset", "segment", "chord", "transcription", "melody", "multipitch"])
    @pytest.mark.parametrize("seed", range(5))
    def test_text_is_read_back(self, tmp_path, task, seed):
        given = to_dataset(sample(task, np.random.default_rng(seed)))
        for write, suffix in ((mirflow.to_lab, "txt"), (mirflow.to_csv, "csv")):
            path = tmp_path / f"a.{suffix}"
            write(given, path)
            found = mirflow.load(path, task)
            assert set(found.data_vars) <= set(given.data_vars)
            for name in given.data_vars if any(given.get("label", ["x"])) else given.drop_vars("label").data_vars:
                assert found[name].values.tolist() == given[name].values.tolist()

    def test_frames_of_several_pitches_have_no_header(self, tmp_path):
        columns = {"time": np.zeros(1), "frequency": np.array([220.0, 440.0])}
        mirflow.to_csv(Annotation("multipitch", columns, inner_counts=(np.array([2]),)), tmp_path / "a.csv")
        assert (tmp_path / "a.csv").read_text() == "0.0,220.0,440.0\n"

    def test_labels_may_hold_anything_and_other_columns_have_a_header(self, tmp_path):
        labels = ["verse one", 'a "b"', "x, y; z"]
        spans = {"start": np.array([0.0, 1.0, 2.0]), "end": np.array([1.0, 2.0, 3.0])}
        for write, name in ((mirflow.to_lab, "a.lab"), (mirflow.to_csv, "a.csv")):
            write(Annotation("intervals", spans, labels), tmp_path / name)
            assert mirflow.load(tmp_path / name, "segment").label.values.tolist() == labels
        mirflow.to_lab(
            Annotation("notes", {**spans, "pitch": spans["end"] * 220, "velocity": spans["start"]}), tmp_path / "n.tsv"
        )
        assert (tmp_path / "n.tsv").read_text().splitlines()[0] == "start\tend\tpitch\tvelocity"
        assert mirflow.load(tmp_path / "n.tsv", "transcription").velocity.values.tolist() == [0.0, 1.0, 2.0]

    def test_other_kinds_are_refused(self, tmp_path):
        with pytest.raises(AnnotationError, match="cannot write ranking as a table"):
            mirflow.to_lab(Annotation("ranking", {}, ["a"]), tmp_path / "a.txt")
        with pytest.raises(AnnotationError, match="label with a tab or a line break"):
            mirflow.to_lab(Annotation("events", {"time": np.array([1.0])}, ["a\tb"]), tmp_path / "a.txt")
        with pytest.raises(AnnotationError, match="cannot write ranking as a table"):
            mirflow.to_csv(Annotation("ranking", {}, ["a"]), tmp_path / "a.csv")


class TestForeignFiles:
    """Files of other programs, and what their messages say to do."""

    MILLISECONDS = b"idx,beat_ms,conf\n0,6000,0.9\n1,6500,0.8\n"

    def test_columns_that_are_declared_by_name_have_a_header(self) -> None:
        reading = Reading.of("beat", columns={"time": "beat_ms"}, time_unit="ms")
        assert parse_delimited(self.MILLISECONDS, reading, "csv", "a.csv").columns["time"].tolist() == [6.0, 6.5]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, r"a.csv:1: the header has no column time: unknown names .*'beat_ms', 'conf'; declare columns"),
            ({"columns": {"time": "beats_ms"}}, "a.csv:1: no column 'beats_ms' for 'time'; did you mean 'beat_ms'"),
            ({"columns": {"time": 1}}, "'beat_ms'; if this row is a header, declare header: true"),
        ],
    )
    def test_a_header_that_is_not_known_is_named(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidAnnotationError, match=message):
            parse_delimited(self.MILLISECONDS, Reading.of("beat", **options), "csv", "a.csv")

    def test_point_labels_of_audacity(self) -> None:
        labels = b"1.0\t1.0\tbeat\n1.5\t1.5\tbeat\n"
        with pytest.raises(InvalidAnnotationError, match=r"of Audacity, declare columns: \{time: 0, label: 2\}"):
            parse_delimited(labels, Reading.of("beat"), "txt", "a.txt")
        reading = Reading.of("beat", columns={"time": 0, "label": 2})
        assert parse_delimited(labels, reading, "txt", "a.txt").columns["time"].tolist() == [1.0, 1.5]

    def test_ranges_of_frequencies_of_audacity_are_skipped(self) -> None:
        labels = b"0.0\t1.5\tverse 1\n\\\t100.5\t220.0\n1.5\t2.0\tsolo\n"
        found = parse_delimited(labels, Reading.of("segment"), "txt", "a.txt")
        assert (found.columns["end"].tolist(), found.labels, found.line(1)) == ([1.5, 2.0], ["verse 1", "solo"], 3)

    def test_decimal_commas_are_no_header(self) -> None:
        with pytest.raises(InvalidAnnotationError, match=r"'1,5'; if commas are decimal separators, declare decimal"):
            parse_delimited(b"1,5\t1,5\tbeat\n", Reading.of("beat"), "txt", "a.txt")

    def test_files_of_matlab(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        for data, remedy in ((b"MATLAB 5.0 MAT-file, \0", "scipy.io.loadmat"), (b"\x89HDF\r\n\x1a\n", "h5py")):
            path.write_bytes(data)
            with pytest.raises(UnreadableError, match=remedy):
                read(path, task="beat")


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("onset", "time\n0.5\n1.0\tfine\n"),
        ("melody", "time,frequency\n0.5,220,fine\n1.0,221\n"),
        ("melody", "time frequency\n0.5 220\n1.0 221 fine\n"),
        ("transcription", "0.5,1.0,220,fine\n1.0,1.5,230,fine\n"),
    ],
)
def test_fields_beside_numbers_are_told(tmp_path: Path, task: str, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    found = read(tmp_path / "a.txt", task=task)
    assert [remark.rule for remark in found.account] == ["columns"]
    assert "fine" in found.account[0].message


@pytest.mark.parametrize("instrument", ["", " piano"])
def test_velocities_of_rows_without_a_header_are_told_and_instruments_are_not(tmp_path: Path, instrument: str) -> None:
    (tmp_path / "a.txt").write_text(f"0.5 1.0 220 80{instrument}\n1.0 1.5 230 90{instrument}\n")
    (remark,) = read(tmp_path / "a.txt", task="transcription").account
    assert (remark.rule, "name it in columns (velocity: 3)" in remark.message) == ("columns", True)
    columns = {"start": 0, "end": 1, "pitch": 2, "velocity": 3}
    found = read(tmp_path / "a.txt", task="transcription", columns=columns)
    assert (found.columns["velocity"].tolist(), found.account) == ([80.0, 90.0], ())


COLUMNS = (("start", 0), ("label", 1))
SONG = "0.0\tSilence\n0.5\tVerse 1\n9.0\tSilence\n10.0\tEnd\n"


def segments(text: str, **options: Any) -> Annotation:
    return parse_delimited(text.encode(), Reading.of(kind="intervals", **{"columns": COLUMNS, **options}), "txt")


def test_the_last_row_closes_whatever_its_label() -> None:
    assert rows(segments(SONG)) == [(0.0, 0.5, "Silence"), (0.5, 9.0, "Verse 1"), (9.0, 10.0, "Silence")]
    assert rows(segments("0\tA\n4\tSilence\n")) == [(0.0, 4.0, "A")]
    assert rows(segments("0 A\n")) == []


def test_the_last_row_can_be_kept_as_a_segment_without_length() -> None:
    assert rows(segments("0\tA\n4\tSilence\n", last="keep")) == [(0.0, 4.0, "A"), (4.0, 4.0, "Silence")]
    assert rows(segments("# slow\n0\tA\n4\tSilence\n", last="keep")) == [(0.0, 4.0, "A"), (4.0, 4.0, "Silence")]
    with pytest.raises(AnnotationError, match="invalid last 'drop': expected end or keep"):
        segments(SONG, last="drop")


def test_repeated_times_stay_as_segments_without_length() -> None:
    assert rows(segments("0 A\n2 B\n2 C\n5 end\n")) == [(0.0, 2.0, "A"), (2.0, 2.0, "B"), (2.0, 5.0, "C")]


def test_items_know_their_lines() -> None:
    assert [segments(SONG).line(item) for item in range(3)] == [1, 2, 3]
    assert [segments("# x\n" + SONG).line(item) for item in range(3)] == [2, 3, 4]


WORDS = st.text(st.characters(categories=("L", "N"), exclude_characters='"'), min_size=1, max_size=5)


@given(
    st.lists(st.tuples(st.floats(0, 1000), WORDS), max_size=8),
    st.sampled_from("\t ,"),
    st.sampled_from(["end", "keep"]),
)
def test_the_fast_path_and_the_slow_one_agree(table: list[tuple[float, str]], separator: str, last: str) -> None:
    lines = [f"{time!r}{separator}{word}" for time, word in table]
    fast, slow = segments("\n".join(lines), last=last), segments("\n".join(["# x", *lines]), last=last)
    assert rows(fast) == rows(slow)
    assert [fast.line(item) for item in range(len(fast))] == [slow.line(item) - 1 for item in range(len(slow))]


def test_every_file_of_salami(shared_data: Path) -> None:
    files = sorted((shared_data / "salami").glob("*/textfile*.txt"))
    assert len(files) == 720
    columns = {"start": 0, "label": 1}
    kept = [read(file, task="segment", columns=columns, last="keep") for file in files]
    closed = [read(file, task="segment", columns=columns) for file in files]
    last = [(one.labels or [""])[-1].lower() for one in kept]
    assert (last.count("end"), last.count("silence")) == (713, 7)
    assert [len(one) - 1 for one in kept] == [len(one) for one in closed]
    without_length = sum(int((one.columns["start"] == one.columns["end"]).sum()) for one in closed)
    assert without_length == 87
