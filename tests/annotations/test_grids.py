"""Common time grids: the union of boundaries, frames, and the reference's own boundaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.collection import collect
from mirflow.annotations.grids import codes_at
from mirflow.annotations.labelled import to_dataset
from mirflow.errors import AnnotationError


def chords(*rows: tuple[float, float, str], **attrs: str) -> Annotation:
    start, end = np.array([[a, b] for a, b, _ in rows], dtype=np.float64).reshape(-1, 2).T
    return Annotation("intervals", {"start": start, "end": end}, [label for _, _, label in rows], attrs=attrs)


def _notes(*rows: tuple[float, float, float, float]) -> Annotation:
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return Annotation("notes", dict(zip(("start", "end", "pitch", "velocity"), columns, strict=True)))


REFERENCE = chords((0, 1, "C"), (1, 3, "G"), annotator="A1")
ESTIMATE = chords((0.5, 2, "C"), (2, 4, "G"), annotator="A2")


def test_the_union_holds_every_boundary_of_both() -> None:
    both = mirflow.align([REFERENCE, ESTIMATE])
    assert both.annotation.values.tolist() == ["A1", "A2"]
    assert both.time.values.tolist() == [0, 0.5, 1, 2, 3]
    assert both.end.values.tolist() == [0.5, 1, 2, 3, 4]
    assert both.label.values.tolist() == [["C", "C", "G", "G", ""], ["", "C", "C", "G", "G"]]
    np.testing.assert_array_equal(both.covered, both.label != "")
    assert both.time.attrs["units"] == "s"
    assert both.attrs["grid"] == "union"


def test_frames_start_at_zero_and_end_before_the_last_end() -> None:
    both = mirflow.align([REFERENCE, ESTIMATE], {"hop": 0.5})
    np.testing.assert_allclose(both.time, np.arange(8) * 0.5)
    assert both.label.sel(annotation="A1").values.tolist() == ["C", "C", "G", "G", "G", "G", "", ""]
    assert both.attrs["grid"] == "hop 0.5 s"


def test_on_the_reference_s_grid_the_label_at_the_middle_counts() -> None:
    both = mirflow.align([REFERENCE, ESTIMATE], "reference")
    assert both.time.values.tolist() == [0, 1]
    assert both.label.values.tolist() == [["C", "G"], ["C", "G"]]


def test_events_are_counted() -> None:
    beats = [Annotation("events", {"time": np.array(times)}) for times in ([0.0, 0.5, 1.0], [0.1, 0.5, 0.5])]
    union = mirflow.align(beats)
    assert union.time.values.tolist() == [0.0, 0.1, 0.5, 1.0]
    assert union["count"].values.tolist() == [[1, 0, 1, 1], [0, 1, 2, 0]]
    frames = mirflow.align(beats, {"hop": 0.5}, names=["x", "y"])
    assert frames["count"].sel(annotation="y").values.tolist() == [1, 2, 0]
    assert int(frames["count"].sum()) == 6


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6),
    st.lists(st.integers(-2, 22), min_size=1, max_size=6).map(sorted),
)
def test_the_label_in_force_is_that_of_the_last_interval_to_start(
    spans: list[tuple[int, int]], times: list[int]
) -> None:
    rows = [(min(span), max(span), f"label{number}") for number, span in enumerate(spans)]
    found = codes_at(to_ragged([chords(*rows)]), np.array(times, dtype=np.float64))[0]
    for time, code in zip(times, found, strict=True):
        candidates = [row for row in rows if row[0] < row[1] and row[0] <= time]
        latest = max(candidates, key=lambda row: (row[0], rows.index(row)), default=None)
        expected = latest[2] if latest is not None and time < latest[1] else None
        assert (f"label{code}" if code >= 0 else None) == expected


@pytest.mark.parametrize(
    "grid",
    [
        "unin",
        {"hop": 0},
        {"hop": -1},
        {"hop": np.inf},
        {"hop": "x"},
        {"step": 1},
        3,
        [0.5],
        [[0, 1], [1, 2]],
        ["a", "b"],
    ],
)
def test_what_is_no_grid_is_refused(grid: object) -> None:
    with pytest.raises(AnnotationError, match="invalid grid"):
        mirflow.align([REFERENCE], grid)  # type: ignore[arg-type]


def test_a_mapping_names_the_annotations_and_one_alone_has_no_name() -> None:
    both = mirflow.align({"ref": REFERENCE, "est": ESTIMATE}, {"hop": 0.5})
    assert both.annotation.values.tolist() == ["ref", "est"]
    alone = mirflow.align(to_dataset(REFERENCE), {"hop": 0.5})
    assert alone.label.dims == ("time",)
    assert alone.label.values.tolist() == both.label.values[0, :6].tolist()


def test_only_like_with_like() -> None:
    beats = Annotation("events", {"time": np.zeros(1)})
    with pytest.raises(AnnotationError, match="not events, intervals"):
        mirflow.align([REFERENCE, beats])
    with pytest.raises(AnnotationError, match="nothing to align"):
        mirflow.align([])
    with pytest.raises(AnnotationError, match="nothing to align: the collection has no tracks"):
        mirflow.align(collect({"x": REFERENCE}).isel(track=[]), {"hop": 1.0})
    with pytest.raises(AnnotationError, match="not an annotation: NoneType; "):
        mirflow.align(None, "union")  # type: ignore[arg-type]
    with pytest.raises(AnnotationError, match="not an annotation: str; "):
        mirflow.align("chords.lab")
    with pytest.raises(AnnotationError, match="the grid union or"):
        mirflow.align([beats, beats], "reference")
    with pytest.raises(AnnotationError, match=r"of kind events, .*, not key"):
        mirflow.align(Annotation("key", {}, ["C major"]))
    with pytest.raises(AnnotationError, match="width is that of events, and intervals have none"):
        mirflow.align(REFERENCE, {"hop": 1.0}, width=2)
    with pytest.raises(AnnotationError, match="resampling is that of series, not of events"):
        mirflow.align(beats, {"hop": 1.0}, resampling="hold")
    with pytest.raises(AnnotationError, match="1 names for 2 annotations"):
        mirflow.align([beats, beats], names=["x"])


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (chords((0, np.nan, "C")), "time is not finite: 0.0 to nan s"),
        (Annotation("events", {"time": np.array([0.0, np.inf])}), "line 2: .*time is not finite: inf"),
        (_notes((0.0, 1.0, 1.0, 60.0)), "pitch is not from MIDI 0 to 127: 1.0 Hz"),
        (_notes((1.0, 0.5, 440.0, 60.0)), "ends before it starts"),
        (_notes((0.0, 4e6, 440.0, 60.0)), "are more than"),
    ],
)
def test_values_that_do_not_fit_are_refused(annotation: Annotation, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        mirflow.align(annotation, {"hop": 1.0})


def test_one_long_label_among_many_takes_no_more_than_itself() -> None:
    rows = [(float(one), one + 1.0, "A" * 10**6 if one == 7 else f"s{one}") for one in range(3000)]
    both = mirflow.align([chords(*rows, annotator="A1"), chords(*rows, annotator="A2")])
    assert both.label.dtype == object  # as texts of one width they would take 24 GB
    assert both.label.values[0, [6, 7, 8]].tolist() == ["s6", "A" * 10**6, "s8"]
    dataset = to_dataset(chords(*rows))
    assert dataset.label.values[7] == "A" * 10**6
