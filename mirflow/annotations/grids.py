"""Annotations on a common time grid: the union of all boundaries, frames of one hop, or the reference's own times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import AnnotationError
from ..kernels.intervals import frame_times, grid_frames, sample
from ..ragged import Bool, Column, Float, Int, Ragged, rows_of
from .annotation import Annotation, texts_at, to_ragged
from .schema import LATEST

if TYPE_CHECKING:
    import xarray as xr

GridSpec = str | Mapping[str, float]
NOTHING = ""


def hop_of(grid: GridSpec) -> float | None:
    """The hop of a grid of frames in seconds; None for ``union`` and ``reference``.

    Examples
    --------
    >>> hop_of({"hop": 0.01}), hop_of("union")
    (0.01, None)
    """
    if grid in ("union", "reference"):
        return None
    if isinstance(grid, Mapping) and set(grid) == {"hop"}:
        hop = float(grid["hop"])
        if np.isfinite(hop) and hop > 0:
            return hop
    raise AnnotationError(f"not a grid: {grid!r}; write union, reference or {{hop: seconds}}")


def grid_attr(grid: GridSpec) -> str:
    """A grid as the attribute of a dataset.

    Examples
    --------
    >>> grid_attr("union"), grid_attr({"hop": 0.01})
    ('union', 'hop 0.01 s')
    """
    hop = hop_of(grid)
    return str(grid) if hop is None else f"hop {hop:g} s"


def align(
    annotations: Sequence[Annotation], grid: GridSpec = "union", names: Sequence[str] | None = None
) -> xr.Dataset:
    """A handful of annotations of one kind on one time grid.

    Parameters
    ----------
    annotations : sequence of Annotation
        Intervals or events; the first is the reference.
    grid : {"union", "reference"} or {"hop": seconds}
        ``union``: all distinct boundaries (or event times). ``reference``: the first annotation's. ``hop``: frames at
        k * hop from 0 to before the last end.
    names : sequence of str or None
        Values of the coordinate ``annotation``; None: the annotators, systems or file names, else numbers.

    Returns
    -------
    xr.Dataset
        Intervals: ``label(annotation, time)`` and ``covered(annotation, time)``, the label in force in each stretch
        from ``time`` to ``end`` (on the grid ``reference``: at its middle), "" where nothing is. Events:
        ``count(annotation, time)``, how many fall on each time (into each frame).

    Raises
    ------
    AnnotationError
        If there is none, or they differ in kind, or the grid does not suit them.

    Examples
    --------
    >>> a = Annotation("intervals", {"start": np.array([0.0, 1.0]), "end": np.array([1.0, 3.0])}, ["C", "G"])
    >>> b = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([2.0])}, ["C"])
    >>> both = align([a, b]); both.time.values.tolist(), both.label.values.tolist()
    ([0.0, 1.0, 2.0], [['C', 'G', 'G'], ['C', 'C', '']])
    """
    import xarray as xr

    hop = hop_of(grid)
    if not annotations:
        raise AnnotationError("nothing to align")
    kinds = sorted({annotation.kind for annotation in annotations})
    if len(kinds) > 1 or kinds[0] not in ("intervals", "events"):
        raise AnnotationError(
            "only intervals with intervals, events with events, or series with series share a grid, "
            f"not {', '.join(kinds)}; mirflow.explain compares two annotations of other kinds"
        )
    rows = to_ragged(annotations)
    labels = names_of(annotations) if names is None else list(names)
    coords: dict[str, Any] = {"annotation": labels}
    variables: dict[str, Any]
    if kinds[0] == "events":
        times = _event_grid(rows, grid, hop)
        variables = {"count": (("annotation", "time"), _counts(rows, times), {"long_name": "number of events"})}
    else:
        times, ends = _interval_grid(rows, grid, hop)
        points = (times + ends) / 2 if grid == "reference" else times
        codes = codes_at(rows, points)
        texts = texts_at([*rows.labels, NOTHING], codes)
        variables = {
            "label": (("annotation", "time"), texts, {"long_name": "label in force"}),
            "covered": (("annotation", "time"), codes >= 0, {"long_name": "whether a label is in force"}),
        }
        coords["end"] = ("time", ends, {"long_name": "end of the stretch", "units": "s"})
    coords["time"] = ("time", times, {"long_name": "start of the stretch", "units": "s"})
    return xr.Dataset(variables, coords, {"kind": kinds[0], "grid": grid_attr(grid)})


def names_of(annotations: Sequence[Annotation]) -> list[str]:
    """Distinct names of the annotations, or numbers."""
    for key in ("annotator", "system", "source"):
        names = [str(annotation.attrs.get(key, "")) for annotation in annotations]
        if all(names) and len(set(names)) == len(names):
            return names
    return [str(number) for number in range(len(annotations))]


def _interval_grid(rows: Ragged, grid: GridSpec, hop: float | None) -> tuple[Float, Float]:
    """Starts and ends of the grid's stretches."""
    start, end = rows.columns["start"], rows.columns["end"]
    if hop is not None:
        times = _frames(float(end.max(initial=0.0)), hop)
        return times, times + hop
    if grid == "reference":
        own = slice(0, int(rows.counts[0][0]))
        start, end = start[own], end[own]
    bounds = np.unique(np.concatenate([start, end]))
    return bounds[:-1], bounds[1:]


def _frames(end: float, hop: float) -> Float:
    zero = np.zeros(1)
    return frame_times(zero, hop, np.array([grid_frames(end, hop)]))


def _event_grid(rows: Ragged, grid: GridSpec, hop: float | None) -> Float:
    time = rows.columns["time"]
    if grid == "reference":
        raise AnnotationError(
            "events meet on the grid union or {hop: seconds}; the reference's times hold only its own"
        )
    if hop is None:
        return np.unique(time)
    # The last event needs a frame of its own, hence the nudge past it.
    last = min(float(time.max(initial=0.0)), 2 * LATEST)
    return _frames(float(np.nextafter(last, np.inf)), hop)


def _counts(rows: Ragged, times: Float) -> Int:
    place = np.searchsorted(times, rows.columns["time"], side="right") - 1
    counts = np.zeros((len(rows), len(times)), dtype=np.int64)
    np.add.at(counts, (rows_of(rows.counts[0]), place), 1)
    return counts


def codes_at(rows: Ragged, times: Float) -> Int:
    """The label codes in force at some times, for every row: int64 (rows, times), -1 where nothing is.

    Parameters
    ----------
    rows : Ragged
        Intervals in any order; zero-length ones have no effect, of overlapping ones the one that starts last counts.
    times : float64 (n,), seconds
    """
    ordered = _by_start(rows)
    start, end = ordered.columns["start"], ordered.columns["end"]
    counts = np.full(len(rows), len(times), dtype=np.int64)
    found = sample(start, end, ordered.counts[0], np.tile(times, len(rows)), counts)
    codes = np.append(ordered.columns["label"], -1)[found]
    return np.asarray(codes.reshape(len(rows), len(times)), dtype=np.int64)


def _by_start(rows: Ragged) -> Ragged:
    kept = rows.keep(rows.columns["end"] > rows.columns["start"])
    order = np.lexsort((kept.columns["start"], rows_of(kept.counts[0])))
    columns: dict[str, Column] = {name: column[order] for name, column in kept.columns.items()}
    return Ragged(columns, kept.counts, kept.labels)


def frame_codes(rows: Ragged, hop: float, frames: int, vocabulary: Sequence[str]) -> tuple[npt.NDArray[np.int32], Bool]:
    """Label codes of many tracks on frames of one hop.

    Parameters
    ----------
    rows : Ragged
        Intervals, one row per track.
    hop : float, seconds
    frames : int
        Length of the grid, which starts at 0.
    vocabulary : sequence of str
        What the codes point into; it holds all labels of the rows.

    Returns
    -------
    code : int32 (rows, frames)
        -1 where no label is in force.
    valid : bool (rows, frames)
        Whether the frame lies before the end of the row's annotation.
    """
    place = {label: code for code, label in enumerate(vocabulary)}
    recode = np.array([*(place[label] for label in rows.labels), -1], dtype=np.int32)
    times = frame_times(np.zeros(1), hop, np.array([frames], dtype=np.int64))
    return recode[codes_at(rows, times)], times[np.newaxis, :] < ends_of(rows)[:, np.newaxis]


def ends_of(rows: Ragged) -> Float:
    """The last end of each row, 0 for empty ones: float64 (rows,), seconds."""
    ends = np.zeros(len(rows))
    np.maximum.at(ends, rows_of(rows.counts[0]), rows.columns["end"])
    return ends
