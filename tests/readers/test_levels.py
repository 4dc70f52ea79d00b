"""Hierarchies: one file for each level, one file with one level, and JAMS."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import Pattern, Reading, Source, read, schema_problems, to_jams
from mirflow.readers.objects import to_annotation
from mirflow.readers.sources import gather, source_at

# jams itself calls jsonschema in a way that is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Passing a schema to Validator:DeprecationWarning")

ORDER = ["upper", "lower"]


def levels(annotation: Annotation) -> list[list[tuple[float, float, str]]]:
    (counts,) = annotation.inner_counts
    columns = annotation.columns["start"].tolist(), annotation.columns["end"].tolist(), annotation.labels or []
    rows = iter(zip(*columns, strict=True))
    return [[next(rows) for _ in range(count)] for count in counts.tolist()]


TWO = [[(0.0, 8.0, "A")], [(0.0, 3.0, "a"), (3.0, 8.0, "b")]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for track in ("x", "y"):
        (tmp_path / f"{track}_upper.lab").write_text("0 8 A\n")
        (tmp_path / f"{track}_lower.lab").write_text("# fine\n0 3 a\n3 8 b\n")
    return tmp_path


def test_one_file_for_each_level_in_the_declared_order(folder: Path) -> None:
    whole = read(folder / "x_{level}.lab", task="hierarchy", levels=ORDER)
    assert levels(whole) == TWO
    assert levels(read(folder / "x_{level}.lab", task="hierarchy", levels=["lower", "upper"])) == TWO[::-1]
    assert [whole.line(item) for item in range(3)] == [1, 2, 3]
    assert [Path(whole.file(item) or "").name for item in range(3)] == ["x_upper.lab", "x_lower.lab", "x_lower.lab"]


def test_one_file_is_one_level(folder: Path) -> None:
    assert levels(read(folder / "x_upper.lab", task="hierarchy")) == TWO[:1]


def test_boundary_lists_as_levels(tmp_path: Path) -> None:
    (tmp_path / "upper.txt").write_text("0\tA\n8\tEnd\n")
    (tmp_path / "lower.txt").write_text("0\ta\n3\tb\n8\tEnd\n")
    asked: dict[str, Any] = {"levels": ORDER, "columns": {"start": 0, "label": 1}}
    assert levels(read(tmp_path / "{level}.txt", task="hierarchy", **asked)) == TWO


def test_empty_levels(folder: Path) -> None:
    (folder / "x_lower.lab").write_text("")
    assert levels(read(folder / "x_{level}.lab", task="hierarchy", levels=ORDER)) == [TWO[0], []]
    (folder / "x_upper.lab").write_text("")
    assert len(read(folder / "x_{level}.lab", task="hierarchy", levels=ORDER)) == 0


def test_what_can_be_wrong(folder: Path) -> None:
    path = folder / "x_{level}.lab"
    with pytest.raises(AnnotationError, match=r"needs the levels, from the coarsest to the finest: levels="):
        read(path, task="hierarchy")
    with pytest.raises(UnreadableError, match=r"x_middle\.lab: cannot be read"):
        read(path, task="hierarchy", levels=["upper", "middle"])
    (folder / "x_lower.lab").write_text("0 3 a\n3 z b\n")
    with pytest.raises(InvalidAnnotationError, match=r"x_lower\.lab:2: end is not a number: 'z'"):
        read(path, task="hierarchy", levels=ORDER)
    with pytest.raises(AnnotationError, match="levels apply to hierarchies, which chord does not have"):
        read(folder / "x_upper.lab", task="chord", levels=ORDER)
    with pytest.raises(AnnotationError, match="a level occurs twice"):
        read(path, task="hierarchy", levels=["upper", "upper"])


def gathered(folder: Path, **asked: Any) -> dict[str, Source]:
    pattern = Pattern("{track}_{level}.lab")
    reading = Reading.of(task="hierarchy", **{"levels": ORDER, **asked})
    found = gather(pattern.find(folder), pattern.text, pattern.names, reading)
    return {values["track"]: source for source, values in found}


def test_sources_of_a_folder(folder: Path) -> None:
    sources = gathered(folder)
    assert list(sources) == ["x", "y"]
    source = sources["x"]
    assert isinstance(source, Source)
    assert source.label == "x_{level}.lab"
    assert pickle.loads(pickle.dumps(source)) == source
    annotation, digest = source.read()
    assert (levels(annotation), annotation.attrs["source"]) == (TWO, "x_{level}.lab")
    assert digest == sources["y"].read()[1]
    assert annotation.file(2) == "x_lower.lab"


def test_a_change_of_any_file_is_noticed(folder: Path) -> None:
    before, (_, digest) = gathered(folder)["x"].stat(), gathered(folder)["x"].read()
    os.utime(folder / "x_lower.lab", ns=(5, 5))
    touched = gathered(folder)["x"]
    assert touched.stat() != before
    assert touched.read()[1] == digest
    (folder / "x_lower.lab").write_text("0 8 c\n")
    assert gathered(folder)["x"].read()[1] != digest


def test_a_level_that_one_track_lacks_is_its_own_trouble(folder: Path) -> None:
    (folder / "y_lower.lab").unlink()
    sources = gathered(folder)
    assert levels(sources["x"].read()[0]) == TWO
    with pytest.raises(UnreadableError, match=r"y_\{level\}\.lab: the level 'lower' has no file"):
        sources["y"].read()
    assert isinstance(sources["y"].stat()[0], int)


def test_levels_are_declared_and_all_found(folder: Path) -> None:
    with pytest.raises(AnnotationError, match=r"declare the levels, .*: lower, upper"):
        gathered(folder, levels=[])
    with pytest.raises(AnnotationError, match=r"no file for the level 'middle'; found: lower, upper"):
        gathered(folder, levels=["upper", "middle"])


def test_levels_in_jams(tmp_path: Path) -> None:
    rows = [
        {"time": time, "duration": end - time, "value": {"label": label, "level": level}, "confidence": None}
        for time, end, label, level in [(0.0, 3.0, "a", 1), (0.0, 8.0, "A", 0), (3.0, 8.0, "b", 1)]
    ]
    file = tmp_path / "a.jams"
    file.write_text(json.dumps({"annotations": [{"namespace": "multi_segment", "data": rows}]}))
    assert levels(read(file, task="hierarchy")) == TWO
    rows[0]["value"] = "a"
    file.write_text(json.dumps({"annotations": [{"namespace": "multi_segment", "data": rows}]}))
    with pytest.raises(InvalidAnnotationError, match=r"data\[0\]\.value\.level: not a number: None"):
        read(file, task="hierarchy")
    file.write_text(json.dumps({"annotations": [{"namespace": "multi_segment", "data": []}]}))
    assert len(read(file, task="hierarchy")) == 0


def test_written_jams_follows_its_schema_and_is_read_back(folder: Path, tmp_path: Path) -> None:
    whole = read(folder / "x_{level}.lab", task="hierarchy", levels=ORDER)
    to_jams(whole, task="hierarchy").save(str(tmp_path / "a.jams"))
    assert schema_problems(tmp_path / "a.jams") == []
    assert levels(read(tmp_path / "a.jams", task="hierarchy")) == TWO


def test_a_path_stands_for_the_files_of_its_levels(folder: Path) -> None:
    reading = Reading.of(task="hierarchy", levels=ORDER)
    assert levels(source_at(str(folder / "y_{level}.lab"), reading).read()[0]) == TWO


def test_every_song_of_salami(shared_data: Path) -> None:
    folders = sorted(path for path in (shared_data / "salami").iterdir() if path.is_dir())
    assert len(folders) == 120
    asked: dict[str, Any] = {"levels": ["uppercase", "lowercase"], "columns": {"start": 0, "label": 1}}
    for folder in folders:
        whole = read(folder / "textfile1_{level}.txt", task="hierarchy", **asked)
        assert [len(level) > 0 for level in levels(whole)] == [True, True]


def test_the_fixtures_of_mir_eval(shared_data: Path) -> None:
    path = shared_data / "mir_eval-fixtures" / "hierarchy"
    whole = read(path / "ref{level}.lab", task="hierarchy", levels=["00", "01"])
    theirs = [mir_eval.io.load_labeled_intervals(str(path / f"ref{level}.lab")) for level in ("00", "01")]
    assert levels(whole) == [
        [(start, end, label) for (start, end), label in zip(times.tolist(), labels, strict=True)]
        for times, labels in theirs
    ]


@pytest.mark.parametrize("given", [["upper", "", "lower"], ["upper", None, "lower"], [0.0, np.nan, 1.0]])
def test_a_row_without_a_level_is_refused(given: list[object]) -> None:
    rows = {"level": given, "start": [0.0, 0.0, 1.0], "end": [2.0, 1.0, 2.0], "label": ["A", "a", "b"]}
    with pytest.raises(InvalidAnnotationError, match="row 2 has no level"):
        to_annotation(rows, "hierarchy")


def test_a_column_of_levels_in_a_file_of_one_level_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("start,end,label,level\n0,2,A,0\n0,1,a,1\n1,2,b,1\n")
    for task in ("hierarchy", "segment"):
        with pytest.raises(InvalidAnnotationError, match=r"a\.csv:3: the rows are of level '0' and '1'; keep one"):
            read(tmp_path / "a.csv", task=task)
