"""Data frames, tables and Parquet files: no column, row or value is left out in silence, in any library."""

from __future__ import annotations

import string
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.schema import KINDS
from mirflow.errors import AnnotationError, InvalidAnnotationError, MirflowWarning
from mirflow.readers import Reading
from mirflow.readers.doubts import CONTENT, unread_places
from mirflow.readers.layouts import SEPARATING, heading, is_beside
from mirflow.readers.objects import to_annotation
from mirflow.readers.tables.parquet import parse_parquet

arrow = pytest.importorskip("pyarrow")
CHORDS: dict[str, list[Any]] = {"start": [0.0, 1.0, 2.0], "end": [1.0, 2.0, 3.0], "label": ["C", "G", "F#"]}
BEATS: dict[str, list[Any]] = {"time": [6.0, 6.5, 7.0]}


def _of_parquet(columns: dict[str, list[Any]], task: str) -> Annotation:
    held = BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), held)
    return parse_parquet(held.getvalue(), Reading.of(task), "parquet", "a.parquet")


def _of_hugging_face(columns: dict[str, list[Any]], task: str) -> Annotation:
    return to_annotation(pytest.importorskip("datasets").Dataset.from_dict(columns), task)


LIBRARIES: dict[str, Callable[[dict[str, list[Any]], str], Annotation]] = {
    "pandas": lambda columns, task: to_annotation(pd.DataFrame(columns), task),
    "arrow": lambda columns, task: to_annotation(arrow.table(columns), task),
    "polars": lambda columns, task: to_annotation(pytest.importorskip("polars").DataFrame(columns), task),
    "datasets": _of_hugging_face,
    "parquet": _of_parquet,
}
library = pytest.mark.parametrize("read", LIBRARIES.values(), ids=LIBRARIES)


def values(annotation: Annotation) -> dict[str, list[Any]]:
    columns = {name: column.tolist() for name, column in annotation.columns.items()}
    return columns | {"label": [*(annotation.labels or ())]}


@library
def test_a_column_beside_the_annotation_is_reported(read: Callable[..., Annotation]) -> None:
    whole = read(CHORDS, "chord")
    assert whole.account == ()
    found = read({**CHORDS, "loudness_of_it": ["x", "y", "z"]}, "chord")
    assert values(found) == values(whole)
    assert [(remark.rule, remark.count) for remark in found.account] == [("columns", 1)]
    assert found.account[0].message.startswith("the column 'loudness_of_it' is not read")


@library
@pytest.mark.parametrize("name", ["confidence", "comment", "index", "song_id", "duration"])
def test_usual_columns_are_left_out_by_declaration(read: Callable[..., Annotation], name: str) -> None:
    assert read({**CHORDS, name: [1.0, 1.0, 1.0]}, "chord").account == ()


@library
@pytest.mark.parametrize("name", sorted(CONTENT))
def test_a_column_without_which_labels_mean_something_else_is_refused(
    read: Callable[..., Annotation], name: str
) -> None:
    with pytest.raises(InvalidAnnotationError, match=f"the column '{name}' is not read, and 'C' may mean something"):
        read({**CHORDS, name: ["min", "min", "min"]}, "local_key" if name == "degree" else "chord")


@library
@pytest.mark.parametrize("name", sorted(SEPARATING))
def test_rows_of_several_annotations_are_not_merged(read: Callable[..., Annotation], name: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=f"rows are of {name} 'a' and 'b'; keep one of them"):
        read({**BEATS, name: ["a", "a", "b"]}, "beat")
    assert values(read({**BEATS, name: ["a", "a", "a"]}, "beat")) == values(read(BEATS, "beat"))


@pytest.mark.parametrize("name", sorted({*SEPARATING} - {"system"}))
def test_rows_of_a_track_in_a_long_table_are_not_merged(name: str, tmp_path: Path) -> None:
    both = pd.DataFrame({"track": ["x"] * 4, name: ["a", "a", "b", "b"], "time": [6.0, 7.0, 6.5, 7.5]})
    one = both[both[name] == "a"].drop(columns=name)
    how = "keep one of them" + (", or rename the column to 'system'" if SEPARATING[name] == "system" else "")
    message = f"the table:3: rows of track 'x' are of {name} 'a' and 'b'; {how}"
    for sides in ((one, both), (both, one)):
        with pytest.raises(InvalidAnnotationError, match=message):
            mirflow.score(*sides, "beat")
    both.rename(columns={"time": "tag"}).to_csv(tmp_path / "tags.csv", index=False)
    both.to_parquet(tmp_path / "a.parquet")
    for path, task in (("tags.csv", "tagging"), ("a.parquet", "beat")):
        with pytest.raises(InvalidAnnotationError, match=rf"{path}:\d: rows of track 'x' are of {name} 'a' and 'b'"):
            mirflow.load_collection(tmp_path / path, task)
    both.drop(columns="track").to_csv(tmp_path / "beats.csv", index=False)
    with pytest.raises(InvalidAnnotationError, match=rf"beats\.csv:4: the rows are of {name} 'a' and 'b'; keep one"):
        mirflow.load(tmp_path / "beats.csv", "beat")
    apart = both.assign(track=both["track"] + both[name])
    assert mirflow.score(apart, apart, "beat", metrics=["f_measure"]).score.values.ravel().tolist() == [1.0, 1.0]


def test_the_remedy_for_several_systems_works() -> None:
    both = pd.DataFrame({"track": ["x"] * 4, "model": ["a", "a", "b", "b"], "time": [6.0, 7.0, 6.5, 7.5]})
    reference = pd.DataFrame({"track": ["x", "x"], "time": [6.0, 7.0]})
    scores = mirflow.score(reference, both.rename(columns={"model": "system"}), "beat", metrics=["f_measure"])
    assert scores.score.values.ravel().tolist() == [1.0, 0.0]


def test_a_column_beside_a_long_table_is_warned_of_once() -> None:
    table = pd.DataFrame({"track": ["x", "y"], "time": [6.0, 7.0]})
    with pytest.warns(MirflowWarning, match="the table: the column 'mood' is not read") as warned:
        mirflow.score(table, table.assign(mood="x"), "beat")
    assert len(warned) == 1


def test_a_duration_in_the_place_of_an_end_is_not_renamed() -> None:
    frame = pd.DataFrame({"start": [0.0, 1.0], "duration": [1.0, np.nan], "label": ["C", "G"]})
    with pytest.raises(InvalidAnnotationError, match=r"add a column 'end', which is start \+ duration"):
        to_annotation(frame, "chord")
    added = to_annotation(frame.assign(end=frame.start + frame.duration), "chord")
    with pytest.raises(AnnotationError, match=r"not finite: 1\.0 to nan"):
        mirflow.evaluate(added, added, "chord")


def test_labels_of_several_types_are_reported() -> None:
    found = to_annotation(pd.DataFrame({**CHORDS, "label": ["intro", 3, "4"]}), "segment")
    assert (found.labels, [remark.rule for remark in found.account]) == (["intro", "3", "4"], ["mixed_columns"])
    assert to_annotation(pd.DataFrame({**CHORDS, "label": ["intro", None, "4"]}), "segment").account == ()
    with pytest.raises(InvalidAnnotationError, match="time is not a number: 'x'"):
        to_annotation(pd.DataFrame({"time": [1.0, "x"]}), "beat")


def test_a_named_index_is_a_column() -> None:
    index = pd.Index(["a", "b"], name="model")
    with pytest.raises(InvalidAnnotationError, match="the rows are of model 'a' and 'b'; keep one of them"):
        to_annotation(pd.DataFrame({"time": [1.0, 2.0]}, index), "beat")
    tracks = pd.DataFrame({"time": [6.0, 7.0]}, pd.Index(["x", "y"], name="track"))
    with pytest.raises(InvalidAnnotationError, match="the table has a column 'track': select one track"):
        to_annotation(tracks, "beat")
    assert to_annotation(tracks.loc[["x"]], "beat").columns["time"].tolist() == [6.0]
    assert list(mirflow.score(tracks, tracks, "beat", metrics=["f_measure"]).track.values) == ["x", "y"]
    times = pd.DataFrame({"label": ["1", "2"]}, pd.Index([0.5, 1.5], name="time"))
    assert to_annotation(times, "beat").columns["time"].tolist() == [0.5, 1.5]


def test_variables_beside_those_of_a_dataset_are_treated_as_columns() -> None:
    chords = mirflow.annotation("chord", [[0.0, 1.0], [1.0, 2.0]], ["C", "G"])
    found = to_annotation(chords.assign(mood=("segment", ["x", "y"])), "chord")
    assert [remark.message for remark in found.account] == ["the column 'mood' is not read"]
    for name, message in (("mode", "the column 'mode' is not read"), ("model", "the rows are of model 'x' and 'y'")):
        with pytest.raises(InvalidAnnotationError, match=message):
            to_annotation(chords.assign({name: ("segment", ["x", "y"])}), "chord")
    assert to_annotation(chords.assign_coords(model="x", confidence=("segment", [0.1, 0.2])), "chord").account == ()


FLAT = [
    ("beat", BEATS),
    ("chord", {**CHORDS, "label": ["C:maj", "G:min", "N"]}),
    ("transcription", {"start": [0.0, 1.0], "end": [1.0, 2.0], "pitch": [220.0, 440.0]}),
    ("melody", {"time": [0.0, 0.1], "frequency": [220.0, 0.0]}),
]
names = st.sampled_from([*CONTENT, *SEPARATING, "confidence", "track_id", "title"]) | st.text(
    string.ascii_lowercase + "_", min_size=1, max_size=8
)


@library
@pytest.mark.parametrize(("task", "columns"), FLAT)
@given(name=names, distinct=st.booleans())
def test_content_that_is_added_is_taken_declared_or_reported(
    read: Callable[..., Annotation], task: str, columns: dict[str, list[Any]], name: str, distinct: bool
) -> None:
    kind = KINDS[Reading.of(task).kind]
    if name in columns or name in kind.given_as:
        return
    size = len(next(iter(columns.values())))
    added = {**columns, name: [f"x{row}" if distinct else "x" for row in range(size)]}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = read(added, task)
        except AnnotationError as error:
            said = str(error)
        else:
            said = " ".join([*(remark.message for remark in found.account), *(str(one.message) for one in warned)])
    if repr(name) in said or f"of {name} " in said or values(found) != values(read(columns, task)):
        return
    places = {column: place for place, column in enumerate(columns)}
    declared = not unread_places(kind, list(added), places, task) or is_beside(heading(name))
    assert declared or (name in SEPARATING and not distinct)
