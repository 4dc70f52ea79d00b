"""Names of columns: numbers that scores depend on are read, or refused with the remedy."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.classes import Classes
from mirflow.cli import cli
from mirflow.errors import InvalidAnnotationError
from mirflow.readers import Reading
from mirflow.readers import read as read_annotation
from mirflow.readers.class_tables import read_classes
from mirflow.readers.tables.table import RowKey, open_table


def read(folder: Path, text: str, task: str = "tagging", key: str = "a", **columns: int | str) -> Annotation:
    """What a table says of one track."""
    (folder / "x.csv").write_text(text)
    return open_table(str(folder / "x.csv"), Reading.of(task, columns=columns), "x.csv").read(RowKey(key))[0]


@pytest.mark.parametrize(
    "name",
    [
        *("value", "affinity", "score", "probability", "prob", "p", "likelihood", "confidence", "activation"),
        *("similarity", "weight", "Degree", "present", "relevant", "rel", "relevance", "grade", "Prob (0-1)"),
    ],
)
@pytest.mark.parametrize("task", ["tagging", "retrieval"])
def test_usual_names_of_numbers_are_read(tmp_path: Path, task: str, name: str) -> None:
    first = {"tagging": "clip,tag", "retrieval": "query,item"}[task]
    found = read(tmp_path, f"{first},{name}\na,slow,0.9\na,loud,0.1\n", task)
    assert found.labels == ["slow", "loud"]
    assert found.columns["value"].tolist() == [0.9, 0.1]


def test_usual_names_are_read_in_a_file_of_one_clip(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tag,prob\nslow,0.9\nloud,0.1\n")
    assert mirflow.load(tmp_path / "a.csv", task="tagging")["value"].values.tolist() == [0.9, 0.1]
    (tmp_path / "a.csv").write_text("tag,loudness\nslow,0.9\nloud,0.1\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.csv:1: the column 'loudness' holds numbers"):
        mirflow.load(tmp_path / "a.csv", task="tagging")


@pytest.mark.parametrize(
    ("task", "header", "cure"),
    [
        (
            "tagging",
            "clip,tag,loudness",
            "if they are the numbers of the tags, declare columns: {track: clip, label: tag, value: loudness}; "
            "if not, declare columns: {track: clip, label: tag}",
        ),
        (
            "retrieval",
            "query,item,my score",
            "if they are the scores or grades of the items, declare "
            "columns: {track: query, label: item, value: 'my score'}; "
            "if not, declare columns: {track: query, label: item}",
        ),
        ("retrieval", "query,item,label", "declare columns: {track: query, label: item, value: label}"),
        ("tagging", "clip,tag,label", "declare columns: {track: clip, label: tag, value: label}"),
        (
            "retrieval",
            "query,item,Distance",
            "smaller numbers are better there, unlike in the scores or grades of the items: write -x, or a column of "
            "ranks, under another name; or, to ignore them, declare columns: {track: query, label: item}",
        ),
        ("tagging", "clip,tag,dist", "write 1 - x under another name"),
    ],
)
def test_other_columns_of_numbers_are_refused_with_the_cure(tmp_path: Path, task: str, header: str, cure: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=re.escape(cure)) as error:
        read(tmp_path, f"{header}\na,x,1\na,y,0\nb,z,\n", task)
    name = header.rpartition(",")[2]
    assert str(error.value).startswith(f"x.csv:1: the column {name!r} holds numbers and would not be read: ")


def test_the_cures_work(tmp_path: Path) -> None:
    text = "clip,tag,loudness\na,x,1\na,y,0\n"
    assert read(tmp_path, text, track="clip", label="tag", value="loudness").columns["value"].tolist() == [1, 0]
    assert "value" not in read(tmp_path, text, track="clip", label="tag").columns


def test_a_reference_beside_a_score_is_not_chosen_from(tmp_path: Path) -> None:
    text = "clip,tag,score,relevant\na,x,0.1,1\na,y,0.9,0\n"
    why = "would not be read: if these are the numbers of the tags, declare columns: {track: clip, label: tag, value: "
    with pytest.raises(InvalidAnnotationError, match=re.escape(why)):
        read(tmp_path, text)
    assert read(tmp_path, text, track="clip", label="tag", value="score").columns["value"].tolist() == [0.1, 0.9]


@pytest.mark.parametrize(
    ("task", "header"),
    [
        ("tagging", "clip,tag,comment"),
        ("tagging", "clip,tag,song_id"),
        ("tagging", "clip,tag,user_id"),
        ("tagging", "clip,tag,Unnamed: 0"),
        ("tagging", "clip,tag,"),
        ("classification", "clip,genre,year"),
        ("similarity", "query,candidate,grader"),
    ],
)
def test_what_does_not_count_is_left_out(tmp_path: Path, task: str, header: str) -> None:
    last = "x" if header.endswith("comment") else "3"
    found = read(tmp_path, f"{header}\na,slow,{last}\na,loud,1\n", task)
    assert (found.labels, "value" in found.columns) == (["slow", "loud"], False)


def test_ranks_say_the_order_so_that_distances_may_stand_beside_them(tmp_path: Path) -> None:
    for rank in ("rank", "position"):
        text = f"query,item,distance,{rank}\na,x,0.5,2\na,y,0.1,1\n"
        assert read(tmp_path, text, "retrieval").labels == ["y", "x"]


def test_a_letter_is_no_header(tmp_path: Path) -> None:
    assert read(tmp_path, "p,jazz\na,rock\n").labels == ["rock"]
    assert read(tmp_path, "p,jazz\na,rock\n", key="p").labels == ["jazz"]


def test_check_reports_it(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("clip,tag,loudness\na,x,1\n")
    shown = CliRunner().invoke(cli, ["check", str(tmp_path / "x.csv"), "--task", "tagging"])
    assert shown.exit_code == 3
    assert "x.csv:1: error: the column 'loudness' holds numbers and would not be read" in shown.output


@pytest.mark.parametrize(
    ("header", "row"), [("clip,tag", "a,"), ("clip,tag,prob", "a,,"), ("clip,tag,prob", "a,"), ("clip,tag", "a")]
)
def test_the_only_row_of_a_clip_may_say_that_it_has_no_tags(tmp_path: Path, header: str, row: str) -> None:
    other = "b,slow,1" if header.endswith("prob") else "b,slow"
    found = read(tmp_path, f"{header}\n{row}\n{other}\n")
    assert found.labels == []
    assert len(read(tmp_path, f"{header}\n{row}\n{other}\n", key="b")) == 1
    np.testing.assert_array_equal(found.columns.get("value", np.zeros(0)), np.zeros(0))


def test_a_row_without_a_tag_among_others_is_none_that_says_so(tmp_path: Path) -> None:
    assert read(tmp_path, "clip,tag\na,slow\na,\n").labels == ["slow", ""]
    assert read(tmp_path, "clip,genre\na,\n", "classification").labels == [""]


def test_clips_without_tags_are_scored_on_either_side(tmp_path: Path) -> None:
    (tmp_path / "reference.csv").write_text("clip,tag\na,slow\nb,\nc,\n")
    (tmp_path / "found.csv").write_text("clip,tag\na,\nb,slow\nc,\n")
    sides, classes = (tmp_path / "reference.csv", tmp_path / "found.csv"), Classes.of(names=["slow", "loud"])
    found = mirflow.evaluate_paths(*sides, "tagging", classes=classes, metrics=["accuracy"])
    assert found.score.values[0, :, 0].tolist() == [0.5, 0.5, 1.0]


WIDE = "clip_id,guitar,slow,loud\na,0,1,1\nb,1,0,0\n"


def test_a_wide_table_of_classes_is_an_error_that_says_so(tmp_path: Path) -> None:
    expected = (
        "x.csv:1: the header has no column label: only 'clip_id' is known, not 'guitar', 'slow', 'loud'; "
        "convert a table with one column per tag to one row per clip and tag; declare "
        "columns: {track: clip_id, label: NAME} ("
    )
    with pytest.raises(InvalidAnnotationError, match=re.escape(expected)):
        read(tmp_path, WIDE, "classification")
    shown = CliRunner().invoke(cli, ["check", str(tmp_path / "x.csv"), "--task", "classification"])
    assert shown.exit_code == 3
    assert "x.csv:1: error: the header has no column label: only 'clip_id' is known" in shown.output


@pytest.mark.parametrize(
    ("suffix", "wide"),
    [
        ("csv", "clip_id,guitar,slow,mp3_path\na,0.5,1,x/a.mp3\nb,0,,x/b.mp3\n"),
        ("csv", ",track_id,guitar,slow\n0,a,0.5,1\n1,b,0,\n"),
        ("tsv", "\tguitar\tslow\na\t0.5\t1\nb\t0\t\n"),
        ("csv", "track,guitar,slow,duration\nfolder/a.wav,.5,1,30.1\nfolder/b.wav,0,,12\n"),
    ],
)
def test_a_table_with_a_column_for_each_tag_is_that_of_a_row_for_each(tmp_path: Path, suffix: str, wide: str) -> None:
    (tmp_path / f"wide.{suffix}").write_text(wide)
    (tmp_path / "long.csv").write_text("clip,tag,value\na,guitar,0.5\na,slow,1\nb,guitar,0\n")
    found, expected = (mirflow.load_collection(tmp_path / name, "tagging") for name in (f"wide.{suffix}", "long.csv"))
    assert found.tracks == expected.tracks == ("a", "b")
    for track in expected.tracks:
        one, other = found.annotation(track), expected.annotation(track)
        assert list(one.labels or ()) == list(other.labels or ())
        assert one.columns["value"].tolist() == other.columns["value"].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clip,guitar,slow,loud\na,1,0,1\nb,1,x,1\n", "x.csv:3: the value of the tag 'slow' is not a number: 'x'"),
        ("clip,guitar,slow\na,1,0\nb,1\n", "x.csv:3: has 2 columns, but the header has 3"),
        ("clip,guitar,guitar\na,1,0\n", "x.csv:1: the header names the tag 'guitar' twice"),
        ("clip,guitar,slow,\na,1,0,1\n", "x.csv:1: the header has an unnamed column of numbers"),
    ],
)
def test_what_is_wrong_with_a_table_of_tags_has_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=re.escape(message)):
        read(tmp_path, text, "tagging")


@pytest.mark.parametrize(
    ("task", "text", "expected"),
    [
        ("tagging", "clip,descriptor\na,slow\n", "declare columns: {track: clip, label: descriptor} ("),
        (
            "classification",
            "name,genre\na,jazz\n",
            "the header has no column track: only 'genre' is known, not 'name'; declare columns: {track: name,",
        ),
        ("retrieval", "query,answered\na,x\n", "declare columns: {track: query, label: answered}"),
        ("similarity", "query,found,fine\na,x,1\n", "declare columns: {track: query, label: found}"),
    ],
)
def test_a_header_of_a_table_names_what_is_needed(tmp_path: Path, task: str, text: str, expected: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=re.escape(expected)):
        read(tmp_path, text, task)


@pytest.mark.parametrize(
    ("task", "text", "expected"),
    [
        (
            "beat",
            "time,frequency\n0.1,440\n",
            "a column 'frequency', which beat does not have; the file looks like melody",
        ),
        ("beat", "start,end,chord\n0,1,C\n", "a column 'end', which beat does not have; the file looks like chord"),
        (
            "melody",
            "onset,offset,pitch\n0,1,440\n",
            "a column 'offset', which melody does not have; the file looks like trans",
        ),
        ("melody", "time,f0,periodicity\n0,440,1\n", "unknown column 'periodicity' in the header, which may be the"),
        ("melody", "time,zz\n0,1\n", "the header has no column frequency: only 'time' is known, not 'zz'"),
        (
            "melody",
            "time,label\n0,1\n",
            "the header has no column frequency: only 'time' is known, not 'label'; the file looks like beat",
        ),
        ("chord", "start,finish,chord\n0,1,C\n", "declare columns: {start: start, end: finish, label: chord}"),
        ("chord", "time,frequency\n0,440\n", "the file looks like melody (time, frequency): use task melody"),
        ("chord", "start,end,symbol\n0,1,C\n", "declare columns: {start: start, end: end, label: symbol}"),
        ("segment", "time,duration,f0\n0,1,440\n", "a column 'f0', which segment does not have"),
        (
            "transcription",
            "start,end,midi_note\n0,1,60\n",
            "declare columns: {start: start, end: end, pitch: midi_note}",
        ),
        ("transcription", "onset,offset,pitch,loudness\n0,1,440,9\n", "which may be the velocity or label: declare"),
        (
            "multipitch",
            "start,end,pitch\n0,1,440\n",
            "'end', which is neither a time nor a pitch; the file looks like transcription",
        ),
        ("score_following", "time,foo,bar\n0,1,60\n", "the header has no column pos"),
    ],
)
def test_a_header_with_unknown_names_is_never_read_by_position(
    tmp_path: Path, task: str, text: str, expected: str
) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InvalidAnnotationError, match=re.escape(expected)):
        mirflow.load(tmp_path / "a.csv", task=task)


@pytest.mark.parametrize(
    ("task", "text", "rows"),
    [
        ("downbeat", "time,beat\n0.5,1\n1.0,2\n1.5,1\n", 2),
        ("beat", "index,time,position,comment\n0,0.5,1,x\n1,1.0,2,y\n", 2),
        ("chord", "start,end,duration,chord,bass\n0,1,1,C:maj,C\n", 1),
        ("melody", "time,frequency,confidence\n0,440,0.9\n", 1),
        ("transcription", "track_id,onset,offset,pitch,velocity,instrument,channel\na,0,1,440,90,Piano,1\n", 1),
        ("multipitch", "time,f0_1,f0_2\n0,220,440\n", 1),
        ("multipitch", "time frequencies\n0 220 440\n", 1),
    ],
)
def test_headers_that_name_what_a_task_has_are_read(tmp_path: Path, task: str, text: str, rows: int) -> None:
    (tmp_path / "a.csv").write_text(text)
    suffix = {"format": "txt"} if "," not in text else {}
    assert len(read_annotation(tmp_path / "a.csv", task=task, **suffix)) == rows


def test_a_row_that_only_looks_like_a_header_can_be_said_to_be_none(tmp_path: Path) -> None:
    text = "c1,beat\nc2,slow\n"
    with pytest.raises(InvalidAnnotationError, match="if the row is not a header, declare header: false"):
        read(tmp_path, text, key="c2")
    (tmp_path / "x.csv").write_text(text)
    table = open_table(str(tmp_path / "x.csv"), Reading.of("tagging", header=False), "x.csv")
    assert table.read(RowKey("c1"))[0].labels == ["beat"]


def test_a_list_of_queries_has_no_header(tmp_path: Path) -> None:
    (tmp_path / "x.lists").write_text("query,item,item\nq1,a,b\n")
    with pytest.raises(InvalidAnnotationError, match=r"x\.lists:1: lists have no header"):
        mirflow.load_collection(tmp_path / "x.lists", "retrieval")


def test_the_head_of_a_column_is_no_class(tmp_path: Path) -> None:
    (tmp_path / "classes.csv").write_text("genre\njazz\nrock\n")
    with pytest.raises(InvalidAnnotationError, match=r"classes\.csv:1: invalid header genre: expected class;"):
        read_classes(tmp_path / "classes.csv")


@pytest.mark.parametrize(
    ("task", "text", "remedy"),
    [
        ("onset", "time (ms)\n500\n", "times are read in s: declare time_unit: ms (--time-unit ms)"),
        ("chord", "start [ms],end [ms],label\n0,500,C\n", "times are read in s: declare time_unit: ms"),
        ("beat", "time (samples),beat\n500,1\n", "declare time_unit: samples@44100, with the rate,"),
        ("onset", "time (min)\n0.5\n", "times are read in s: convert them"),
        ("melody", "time (s),pitch (MIDI)\n0.5,60\n", "pitches are read in Hz: declare pitch_unit: MIDI"),
        ("melody", "time (s),frequency (cents)\n0.5,6000\n", "pitches are read in Hz: convert them"),
        ("score_following", "time (s),position (s)\n0.5,1\n", "times are read in ms: declare time_unit: s"),
    ],
)
def test_units_in_a_header_are_those_that_are_read(tmp_path: Path, task: str, text: str, remedy: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InvalidAnnotationError, match=rf"a\.csv:1: the header has .*{re.escape(remedy)}"):
        read_annotation(path, task=task)


def test_a_unit_that_is_declared_or_unknown_is_not_doubted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time (ms)\n500\n1000\n")
    assert read_annotation(path, task="onset", time_unit="ms").columns["time"].tolist() == [0.5, 1.0]
    path.write_text("Time (in the recording),Pitch [Hz]\n0.5,220\n")
    assert read_annotation(path, task="melody").columns["frequency"].tolist() == [220.0]
