"""Positions in the bar: which beats of a file are taken, from text and from JAMS."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow import load_collection
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnknownNameError
from mirflow.readers import DelimitedOptions, Reading, read
from mirflow.readers.delimited import parse_delimited

BARS = "0.0\t3\t1\n0.5\t1\t2\n1.0\t2\t2\n1.5\t3\t2\n2.0\t1\t3\n2.5\t2\t3\n"


def read_back(text: str, **asked: Any) -> Annotation:
    return parse_delimited(text.encode(), Reading.of(**{"task": "beat", **asked}), "txt", "a.txt")


def times(text: str, **asked: Any) -> list[float]:
    return [float(time) for time in read_back(text, **asked).columns["time"]]


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("all", [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]),
        ("downbeat", [0.5, 2.0]),
        ("bar_start", [0.0, 0.5, 2.0]),
        ("bar_end", [0.0, 0.0, 1.5]),
    ],
)
@pytest.mark.parametrize("separator", ["\t", " ", "  \t", ","])
def test_what_is_taken(select: str, expected: list[float], separator: str) -> None:
    assert times(BARS.replace("\t", separator), select=select) == expected


@pytest.mark.parametrize("select", ["all", "downbeat", "bar_start", "bar_end"])
def test_a_header_and_comments_make_no_difference(select: str) -> None:
    expected = times(BARS, select=select)
    assert times("# made by hand\n" + BARS, select=select) == expected
    swapped = "".join(f"{b}\t{t}\t{p}\n" for t, p, b in (line.split("\t") for line in BARS.splitlines()))
    assert times("bar\ttime\tposition\n" + swapped, select=select) == expected
    columns = (("bar", 0), ("time", 1), ("label", 2))
    assert times(swapped, select=select, delimited=DelimitedOptions(columns=columns)) == expected


def test_the_first_beat_counts_as_the_end_of_a_bar_only_in_bar_1() -> None:
    assert times("0\t4\t0\n1\t1\t1\n2\t2\t1\n3\t1\t2\n", select="bar_end") == [0.0, 2.0]
    assert times("0\t1\t1\n1\t2\t1\n2\t1\t2\n", select="bar_end") == [0.0, 1.0]


def test_the_task_downbeat_takes_the_downbeats_where_there_are_positions() -> None:
    assert times(BARS, task="downbeat") == [0.5, 2.0]
    assert times(BARS, task="downbeat", select="all") == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert times("0.5\n2.0\n", task="downbeat") == [0.5, 2.0]
    assert times("", task="downbeat") == []


def test_items_know_their_lines_after_the_selection() -> None:
    reading = Reading.of(task="beat", select="downbeat")
    plain = parse_delimited(BARS.encode(), reading, "txt")
    commented = parse_delimited(b"# x\n" + BARS.encode(), reading, "txt")
    assert [plain.line(0), plain.line(1)] == [2, 5]
    assert [commented.line(0), commented.line(1)] == [3, 6]
    assert plain.labels == ["1", "1"]


@pytest.mark.parametrize(
    ("text", "select", "message"),
    [
        (
            "0.5 1\n1.0 x\n",
            "downbeat",
            r"a\.txt:2: position in the bar is not a whole number: 'x'; write the position in the bar",
        ),
        ("0.5 1.1\n", "downbeat", r"not a whole number: '1\.1'"),
        ("0.5 1.0\n1.0 1.4\n1.5 2.9\n", "downbeat", r"not a whole number: '1\.4'"),
        ("0.5 db,4/4\n1.0 b\n1.5 db\n", "downbeat", r"'db,4/4'; if 'db' marks the downbeats, .*--downbeat db"),
        ("0.5\n", "downbeat", r"a\.txt: has no positions in the bar, by which downbeats are chosen"),
        ("0.5\t1\n", "bar_end", r"a\.txt:1: has 2 columns, needs time, bar"),
        ("0.5\t1\tx\n", "bar_end", r"a\.txt:1: bar is not a number: 'x'"),
    ],
)
def test_positions_that_cannot_be_used(text: str, select: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        times(text, select=select)


@pytest.mark.parametrize("mark", ["new", "one", "start", "first", "tick", "strong", "accent", "bar"])
def test_of_two_marks_of_a_downbeat_the_first_is_proposed(mark: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=f"if '{mark}' marks the downbeats"):
        read_back(f"0.5\t{mark};other\n1.0\tb\n1.5\t{mark};other\n", select="downbeat")


def test_selections_that_make_no_sense() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'downbeat'"):
        Reading.of(task="beat", select="downbeats")
    with pytest.raises(AnnotationError, match="select applies to beats, not to intervals"):
        Reading.of(task="chord", select="all")


POSITIONS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=12)


@given(POSITIONS)
def test_every_layout_gives_the_same(rows: list[tuple[int, int]]) -> None:
    lines = [f"{0.5 * number}\t{position}\t{bar}" for number, (position, bar) in enumerate(rows)]
    for select in ("downbeat", "bar_start", "bar_end"):
        plain = times("\n".join(lines), select=select)
        assert plain == times("\n".join(["# slow", *lines]), select=select)
        assert plain == times("\n".join(line.replace("\t", " ") for line in lines), select=select)


@pytest.mark.parametrize("task", ["beat", "downbeat"])
@pytest.mark.parametrize("select", [None, "all", "downbeat", "bar_start", "bar_end"])
def test_a_table_of_many_tracks_gives_what_a_file_of_each_gives(tmp_path: Path, task: str, select: str | None) -> None:
    others = BARS.replace("3\n", "4\n")
    rows = [f"{track}\t{line}" for track, text in (("a", BARS), ("b", others)) for line in text.splitlines()]
    (tmp_path / "beats.tsv").write_text("\n".join(rows))
    columns = {"track": 0, "time": 1, "label": 2, "bar": 3}
    table = load_collection(str(tmp_path / "beats.tsv"), task=task, select=select, columns=columns)
    for track, text in (("a", BARS), ("b", others)):
        assert table[track].time.values.tolist() == times(text, task=task, select=select)


def test_a_table_without_positions_has_no_beats_of_a_position(tmp_path: Path) -> None:
    (tmp_path / "beats.csv").write_text("a,0.5\nb,1.5\n")
    columns = {"track": 0, "time": 1}
    with pytest.raises(AnnotationError, match=r"beats\.csv: has no positions in the bar"):
        load_collection(str(tmp_path / "beats.csv"), task="beat", select="downbeat", columns=columns)


def beats_in_jams(folder: Path, namespace: str, values: list[Any]) -> Path:
    rows = [{"time": float(n), "duration": 0.0, "value": value, "confidence": None} for n, value in enumerate(values)]
    path = folder / "a.jams"
    path.write_text(json.dumps({"annotations": [{"namespace": namespace, "data": rows}]}))
    return path


def test_jams_has_them_as_values_or_as_positions(tmp_path: Path) -> None:
    beats = beats_in_jams(tmp_path, "beat", [4, 1, 2, 1.0])
    assert read(beats, task="downbeat").columns["time"].tolist() == [1.0, 3.0]
    with pytest.raises(InvalidAnnotationError, match="no bar numbers"):
        read(beats, task="downbeat", select="bar_start")
    values = [
        {"position": p, "measure": m, "num_beats": 4, "beat_units": 4} for p, m in [(4, 0), (1, 1), (2, 1), (1, 2)]
    ]
    positions = beats_in_jams(tmp_path, "beat_position", values)
    assert read(positions, task="downbeat").columns["time"].tolist() == [1.0, 3.0]
    assert read(positions, task="downbeat", select="bar_start").columns["time"].tolist() == [0.0, 1.0, 3.0]
    assert set(read(positions, task="beat").columns) == {"time"}


def test_the_downbeats_of_harmonix_are_the_same_in_text_and_jams(shared_data: Path) -> None:
    folder = shared_data / "harmonix" / "reference"
    for text in sorted((folder / "beats_and_downbeats").glob("*.txt"))[::25]:
        own, jams = read(text, task="downbeat"), read(folder / "jams" / f"{text.stem}.jams", task="downbeat")
        assert np.abs(own.columns["time"] - jams.columns["time"]).max() <= 0.00051


@pytest.mark.parametrize(
    "labels",
    [
        ("1.1", "1.2", "1.3", "2.1", "2.2", "3.1"),
        ("1.3", "2.1", "2.2", "2.3", "2.4", "3.1"),
        ("1.000", "1.250", "1.500", "2.000", "2.250", "3.000"),
        ("1", "1.25", "1.5", "2", "2.25", "3"),
        ("1.1", "1.2", "2.1", "4.1", "4.2", "5.1"),
    ],
)
def test_positions_may_be_numbers_of_bar_and_beat_or_fractions_of_bars(labels: tuple[str, ...]) -> None:
    rows = "".join(f"{beat / 2}\t{label}\n" for beat, label in enumerate(labels))
    first = [beat / 2 for beat, label in enumerate(labels) if re.fullmatch(r"\d+(\.1|\.0+)?", label)]
    found = read_back(rows, task="downbeat")
    assert (found.columns["time"].tolist(), set(found.labels or ()), found.account) == (first, {"1"}, ())
    assert times(rows, task="beat") == [beat / 2 for beat in range(6)]


@pytest.mark.parametrize(
    ("labels", "marks"),
    [
        (("db,4/4,0", "b", "b", "db", "b", "b"), ["db"]),
        (("384", "96", "192", "384", "96", "192"), ["384"]),
        (("x;down", "y", "y", "down", "y", "y"), ["x", "down"]),
    ],
)
def test_marks_of_downbeats_in_labels_are_declared(labels: tuple[str, ...], marks: list[str]) -> None:
    rows = "".join(f"{beat / 2}\t{beat / 2}\t{label}\n" for beat, label in enumerate(labels))
    columns = {"time": 0, "label": 2}
    assert times(rows, task="downbeat", columns=columns, downbeat=marks) == [0.0, 1.5]
    nothing = read_back(rows, task="downbeat", columns=columns, downbeat=["zz"])
    assert len(nothing) == 0
    assert "no label has the mark 'zz'" in nothing.account[0].message
    with pytest.raises(AnnotationError, match="downbeat applies to beats"):
        Reading.of("chord", downbeat=marks)


def test_a_map_of_labels_applies_before_positions(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("contain: {db: '1'}\n")
    rows = "0.0 db,4/4\n0.5 b\n1.0 b\n1.5 db\n"
    assert times(rows, task="downbeat", labels=str(tmp_path / "own.yaml")) == [0.0, 1.5]


def test_positions_without_a_downbeat_and_those_that_do_not_count_up_are_told() -> None:
    found = read_back("0.5 384\n1.0 96\n1.5 192\n2.0 288\n", task="downbeat")
    assert "downbeat: ['384'] (--downbeat 384)" in found.account[0].message
    told = read_back("0.5 1\n1.0 2\n1.5 2\n2.0 2\n2.5 1\n3.0 2\n", task="downbeat")
    assert told.columns["time"].tolist() == [0.5, 2.5]
    assert [(remark.rule, remark.line, remark.count) for remark in told.account] == [("positions", 3, 2)]
    assert read_back("0.5 3\n1.0 4\n1.5 1\n2.0 2\n2.5 3\n3.0 1\n", task="downbeat").account == ()
    flags = read_back("0.5 1\n1.0 0\n1.5 0\n2.0 1\n", task="downbeat")
    assert (flags.columns["time"].tolist(), flags.account) == ([0.5, 2.0], ())


def test_a_first_position_that_no_bar_has_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0.5\t12345678901234567890\n1.0\t1\n1.5\t2\n")
    (remark,) = read(tmp_path / "a.txt", task="downbeat").account
    assert (remark.rule, remark.line) == ("positions", 1)
