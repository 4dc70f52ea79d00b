"""Files that hold many tracks: layouts, keys, stamps, what is wrong, and what is kept."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirflow import load_collection
from mirflow.annotations.collection import Collection
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers.options import DelimitedOptions, Reading
from mirflow.readers.patterns import Pattern
from mirflow.readers.tables import table as tables
from mirflow.readers.tables.table import RowKey, TableSource, holds_tracks, open_table, spread_table


def reading(task: str = "tagging", **options: Any) -> Reading:
    columns = tuple(options.pop("columns", {}).items())
    return Reading.of(task=task, delimited=DelimitedOptions(columns=columns, **options))


def sources(path: Path, how: Reading) -> list[TableSource]:
    (match,) = Pattern(path.name).find(path.parent)
    return spread_table(match, how)


def read(path: Path, text: str | bytes, **options: Any) -> dict[str, dict[str, float | None]]:
    """Labels with their values, by track."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found: dict[str, dict[str, float | None]] = {}
    for source in sources(path, reading(**options)):
        annotation, _ = source.read()
        values = annotation.columns.get("value", np.full(len(annotation), np.nan)).tolist()
        named = zip(annotation.labels or [], values, strict=True)
        found[source.track] = {label: None if value != value else value for label, value in named}
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "x\tHip Hop\t0.5\nx\tjazz\t1\ny\tjazz\t0\n"),
        ("a.csv", "x,Hip Hop,0.5\nx,jazz,1\ny,jazz,0\n"),
        ("a.txt", "x\tHip Hop\t0.5\nx\tjazz\t1\n\n# a comment\ny\tjazz\t0\n"),
        ("a.lab", 'x;"Hip Hop";0.5\nx;jazz;1\ny;jazz;0\n'),
        ("a.csv", "genre,clip_id,affinity\r\nHip Hop,x,0.5\r\njazz,x,1\r\njazz,y,0\r\n"),
        ("a.tsv", "\ufefftrack\ttag\tconfidence\nx\tHip Hop\t0.5\ny\tjazz\t0\nx\tjazz\t1\n"),
    ],
)
def test_layouts_of_the_same_rows(tmp_path: Path, name: str, text: str) -> None:
    expected = {"x": {"Hip Hop": 0.5, "jazz": 1.0}, "y": {"jazz": 0.0}}
    assert read(tmp_path / name, text) == expected


def test_paths_of_tracks_lose_folder_and_suffix_unless_two_are_alike_then(tmp_path: Path) -> None:
    assert list(read(tmp_path / "a.tsv", "/audio/x.wav\tjazz\n/audio/y.v2.mp3\trock\n")) == ["x", "y.v2"]
    assert list(read(tmp_path / "b.tsv", "C:\\audio\\x.wav\tjazz\n")) == ["x"]
    assert list(read(tmp_path / "c.tsv", "a/x.wav\tjazz\nb/x.wav\trock\n")) == ["a/x.wav", "b/x.wav"]
    assert list(read(tmp_path / "d.tsv", "x.wav\tjazz\n")) == ["x.wav"]


def test_columns_are_declared_by_place_or_name(tmp_path: Path) -> None:
    text = "0.25 rock a.wav\n0.5 folk a.wav\n"
    expected = {"a.wav": {"rock": 0.25, "folk": 0.5}}
    assert read(tmp_path / "a.txt", text, columns={"track": 2, "label": 1, "value": 0}) == expected
    text = "score,what,file\n0.25,rock,a.wav\n0.5,folk,a.wav\n"
    columns = {"track": "file", "label": "what", "value": "score"}
    assert read(tmp_path / "a.csv", text, columns=columns, header=True) == expected


def test_labels_alone_have_no_values(tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt", "x jazz\ny rock\n") == {"x": {"jazz": None}, "y": {"rock": None}}


def test_other_kinds_can_stand_in_one_file_too(tmp_path: Path) -> None:
    path = tmp_path / "chords.csv"
    path.write_text("track,start,end,chord\na,0,1.5,C\na,1.5,2,G\nb,0,1,N\n")
    how = reading("chord", columns={"track": "track", "start": "start", "end": "end", "label": "chord"})
    first, second = (source.read()[0] for source in sources(path, how))
    assert first.columns["end"].tolist() == [1.5, 2.0]
    assert (second.labels, second.line(0)) == (["N"], 4)


def test_systems_and_annotators_are_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("who,clip,tag,by\nX,a,slow,p1\nX,a,loud,p2\nY,a,slow,p1\nX,a,sad,p1\n")
    how = reading(columns={"system": "who", "track": "clip", "label": "tag", "annotator": "by"}, header=True)
    found = sources(path, how)
    assert [source.key for source in found] == [RowKey("a", "X", "p1"), RowKey("a", "X", "p2"), RowKey("a", "Y", "p1")]
    assert found[0].read()[0].labels == ["slow", "sad"]
    assert found[0].label == "a.csv [a, X, p1]"
    assert (found[0].annotator, found[0].track) == ("p1", "a/X/p1")


def test_only_what_changed_has_another_stamp_and_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x\tjazz\ny\trock\nz\tfolk\n")
    before = {source.track: (source.stat(), source.read()[1]) for source in sources(path, reading())}
    path.write_text("z\tfolk\nx\tjazz\n\n# new\ny\tmetal\n")
    after = {source.track: (source.stat(), source.read()[1]) for source in sources(path, reading())}
    assert [name for name in before if before[name] != after[name]] == ["y"]
    assert all(0 <= stamp < 2**63 for (_, stamp), _ in after.values())
    path.write_text("track\tlabel\nz\tfolk\nx\tjazz\ny\tmetal\n")
    headed = {source.track: source.stat() for source in sources(path, reading())}
    assert not any(headed[name] == after[name][0] for name in after)


def test_sources_travel_and_read_what_is_there_now(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x\tjazz\ny\trock\n")
    first, second = pickle.loads(pickle.dumps(sources(path, reading())))
    assert first.read()[0].labels == ["jazz"]
    path.write_text("x\tfolk!\n")
    assert first.read()[0].labels == ["folk!"]
    with pytest.raises(UnreadableError, match=r"a\.tsv: has no rows of 'y'"):
        second.read()
    path.unlink()
    with pytest.raises(UnreadableError, match="cannot be read"):
        first.read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\tjazz\t0.5\nx\trock\tmuch\n", r"a\.tsv:2: value is not a number: 'much'"),
        ("x\tjazz\t0.5\nx\trock\tnan\n", r"a\.tsv:2: the number of 'rock' is NaN"),
        ("x\tjazz\t0.5\nx\trock\n", r"a\.tsv:2: has 2 columns, needs track, value: 'x rock'"),
    ],
)
def test_a_wrong_row_spoils_its_track_and_no_other(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(text + "y\tfolk\t1\n")
    bad, good = sources(path, reading())
    assert good.read()[0].labels == ["folk"]
    with pytest.raises(InvalidAnnotationError, match=message):
        bad.read()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (b"x\tjazz\n\tjazz\n", {}, r"a\.tsv:2: the row has no track"),
        (b"track,time\nx,2\ny,3\n", {}, r"a\.tsv:1: the header has no column label: only 'track' is known"),
        (b"x\tj\xffzz\n", {}, "cannot be decoded"),
        (b"track\tlabel\nx\tjazz\n", {"columns": {"track": "trck", "label": "label"}}, "did you mean 'track'"),
        (b"x\tjazz\n", {"columns": {"track": 0, "label": 1, "pitch": 2}}, "labels have no column 'pitch'"),
        (b"x\tjazz\n", {"columns": {"track": 0}}, "no column holds 'label'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_as_a_whole(
    tmp_path: Path, text: bytes, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(AnnotationError, match=message):
        read(tmp_path / "a.tsv", text, **options)


def test_keys_need_a_track() -> None:
    with pytest.raises(AnnotationError, match="columns has system, but not the track"):
        DelimitedOptions(columns=(("system", 0), ("label", 1)))


def test_which_files_hold_many_tracks() -> None:
    assert holds_tracks("genres.tsv", reading("classification"))
    assert holds_tracks("{system}/genres.tsv", reading("classification"))
    assert not holds_tracks("{system}/{track}.txt", reading("classification"))
    assert not holds_tracks("refs.jams", reading("classification"))
    assert not holds_tracks("refs.zarr", reading("classification"))
    assert not holds_tracks("chords.csv", reading("chord"))
    assert holds_tracks("chords.csv", reading("chord", columns={"track": 0, "start": 1, "end": 2, "label": 3}))


@pytest.mark.slow
def test_an_opened_table_is_kept_until_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x\tjazz\n")
    first = open_table(str(path), reading(), "a.tsv")
    assert open_table(str(path), reading(), "a.tsv") is first
    os.utime(path, ns=(1, 1))
    assert open_table(str(path), reading(), "a.tsv") is not first
    monkeypatch.setattr(tables, "HELD", 0)
    other = tmp_path / "b.tsv"
    other.write_text("x\tjazz\n")
    second = open_table(str(other), reading(), "b.tsv")
    assert open_table(str(other), reading(), "b.tsv") is second
    open_table(str(path), reading(), "a.tsv")
    assert open_table(str(other), reading(), "b.tsv") is not second


def test_a_collection_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\tjazz\t1\nx\trock\t0.5\ny\tfolk\t0\n")
    whole = load_collection(tmp_path / "a.tsv", "tagging")
    assert isinstance(whole, Collection)
    assert list(whole.tracks) == ["x", "y"]
    assert whole.annotation("x").labels == ["jazz", "rock"]
    (tmp_path / "b.tsv").write_text("x\tjazz\t1\n")
    with pytest.raises(AnnotationError, match="track 'x' has two annotations"):
        load_collection(tmp_path / "{part}.tsv", "tagging")
    with pytest.raises(AnnotationError, match="matches nothing"):
        load_collection(tmp_path / "c.tsv", "tagging")


def test_rows_of_several_systems_are_not_read_as_those_of_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,system,tag\nx,oak,slow\nx,elm,loud\ny,oak,loud\n")
    message = r"a\.csv:3: rows of track 'x' are of system 'oak' and 'elm'; keep one of them, or declare columns: \{"
    with pytest.raises(InvalidAnnotationError, match=message):
        load_collection(tmp_path / "a.csv", task="tagging")
    (tmp_path / "a.csv").write_text("id,system,tag\nx,oak,slow\nx,oak,loud\ny,elm,loud\n")
    assert list(load_collection(tmp_path / "a.csv", task="tagging")) == ["x", "y"]
    table = pytest.importorskip("pyarrow").table({"track": ["x", "x"], "annotator": ["A", "B"], "time": [1.0, 2.0]})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InvalidAnnotationError, match=r"a\.parquet:2: rows of track 'x' are of annotator 'A' and 'B'"):
        load_collection(tmp_path / "a.parquet", task="beat")
