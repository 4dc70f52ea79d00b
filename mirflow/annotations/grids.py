"""Time grids (all times, frames, the reference's times, or any others), and conversion to and from them.

A `GridForm` holds both conversions of a kind. Those of events, labelled intervals and hierarchies are here, and series
are made from grids; those of notes and pedals are in `mirflow.annotations.rolls`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import AnnotationError
from ..kernels.intervals import MOST_FRAMES, frames_before
from ..ragged import Bool, Column, Float, Int, Ragged, concatenate, offsets_of, ranges, row_of_items, rows_of
from .annotation import Annotation
from .schema import LATEST, Kind

GridSpec = str | Mapping[str, float] | npt.ArrayLike
"""``union``, ``reference``, ``{"hop": seconds}``, or times."""
Variables = dict[str, tuple[tuple[str, ...], Column, dict[str, str]]]
"""Name -> dims after that of the rows, values (rows, ...), attributes."""
NOTHING = ""
_ROUNDING = 1e-9
"""Seconds by which a time may differ from its frame because of rounding, as 0.3 s from ``3 * 0.1``."""


def hop_of(grid: GridSpec) -> float | None:
    """Return the hop of a grid of frames in seconds; None for ``union`` and ``reference``."""
    if isinstance(grid, str) and grid in ("union", "reference"):
        return None
    if isinstance(grid, Mapping) and set(grid) == {"hop"}:
        hop = grid["hop"]
        if isinstance(hop, Real) and np.isfinite(hop) and hop > 0:
            return float(hop)
    raise AnnotationError(f"invalid grid {grid!r}: expected union, reference, {{hop: seconds}} or an array of times")


@dataclass(frozen=True, eq=False)
class TimeGrid:
    """Consecutive stretches of time."""

    name: str
    """Name in attributes of datasets."""
    times: Float
    """Ascending starts of the stretches: float64 (n,), seconds."""
    end: float
    """End of the last stretch: float, seconds."""
    rounding: float = 0.0
    """Largest difference by which a time may precede a start and still count as that start: float, seconds."""
    hop: float = 0.0
    """Length of all stretches: float, seconds; 0 if they differ."""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def ends(self) -> Float:
        """Ends of the stretches: float64 (n,), seconds."""
        return np.append(self.times[1:], self.end)[: len(self)]

    @property
    def points(self) -> Float:
        """Times at which labels are looked up: starts, or middles for the reference's stretches."""
        return (self.times + self.ends) / 2 if self.name == "reference" else self.times

    def frame_of(self, times: Float) -> Int:
        """Stretch of each time: int64 (n,), -1 before the first one, `len` after the last one."""
        starts = np.append(self.times, self.end)[: len(self) + (len(self) > 0)]
        return np.searchsorted(starts - self.rounding, times, side="right") - 1


@dataclass(frozen=True)
class GridOptions:
    """Options of forms: the resampling of series, the width of events, and the size of an inner dim."""

    resampling: str = "linear"
    width: int = 0
    size: int = 0
    """Number of levels of hierarchies, or largest number of simultaneous pitches."""


@dataclass(frozen=True, eq=False)
class GridForm:
    """The form of a kind on a grid."""

    to_grid: Callable[[Ragged, TimeGrid, GridOptions], Variables]
    """Clean rows, a grid and options -> variables."""
    to_rows: Callable[[GridArrays], Ragged]
    """Arrays on a grid -> rows."""
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    """Variables that `to_rows` reads."""
    dims: tuple[str, ...] = ("time",)
    """Theirs, behind that of the rows."""
    other_dims: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"valid": ("time",)})
    """Dims of variables that have others."""
    task: str = ""
    """The task whose first convention cleans rows; empty: times are only checked."""
    decimals: int | None = None
    """Of the times of a union."""
    sized: int | None = None
    """Depth of the counts whose maximum is the size of an inner dim; None: there is no such dim."""

    def size(self, rows: Ragged) -> int:
        """Size of the inner dim that holds all items of each row."""
        return 0 if self.sized is None else int(rows.counts[self.sized].max(initial=0))

    def sample(self, kind: Kind, rows: Ragged, hop: float) -> Ragged:
        """Rows as frames of `hop` seconds show them, with the numbers of frames as times; empty if they end too late.

        Examples
        --------
        >>> from .schema import KINDS
        >>> columns = {"start": np.array([0.0, 0.26]), "end": np.array([0.26, 0.9]), "label": np.array([0, 1])}
        >>> found = LABELS.sample(KINDS["intervals"], Ragged(columns, (np.array([2]),), ("A", "B")), 0.1)
        >>> found.columns["start"].tolist(), found.columns["end"].tolist()
        ([0.0, 3.0], [3.0, 9.0])
        """
        ends, options = np.maximum(extents(kind, rows), 0.0), GridOptions(size=self.size(rows))
        order, fitting = np.argsort(ends, kind="stable"), int((~too_late(kind, rows, hop)).sum())
        sizes = {"pitch": MIDI_NUMBERS, "level": max(options.size, 1)}
        inner = math.prod(sizes.get(dim, 1) for dim in self.dims)
        parts: list[Ragged] = []
        start = 0
        while start < fitting or not parts:  # of rows that end at about the same time
            values = np.arange(1, fitting - start + 1) * (ends[order[start:fitting]] / hop + 2.0) * inner
            some = order[start : min(start + max(int((values <= _AT_ONCE).sum()), 1), fitting)]
            grid = frame_grid(kind, float(ends[some].max(initial=0.0)), hop)
            part = rows.take(some)
            arrays = {name: values for name, (_, values, _) in self.to_grid(part, grid, options).items()}
            arrays["valid"] = valid_frames(kind, extents(kind, part), grid)
            number = np.arange(len(grid) + 1, dtype=np.float64)
            pitches = np.arange(MIDI_NUMBERS, dtype=np.float64)
            parts.append(self.to_rows(GridArrays(arrays, number[:-1], number[1:], rows.labels, pitches)))
            start += len(some)
        none, late = parts[0].take([]), np.zeros(len(rows) - fitting, dtype=np.int64)
        parts.append(Ragged(none.columns, (late, *none.counts[1:]), none.labels, none.depths))
        place = np.empty(len(rows), dtype=np.int64)
        place[order] = np.arange(len(rows))
        return concatenate(parts).take(place)


_AT_ONCE = 1 << 22
"""Values of the largest variable that are laid out at once."""
MIDI_NUMBERS = 128


def make_grid(kind: Kind, rows: Ragged, spec: GridSpec, decimals: int | None = None) -> TimeGrid:
    """Make the grid of a specification for annotations of a kind.

    The first row is the reference. Times are rounded to `decimals`, to merge times that hardly differ.
    """
    times: Float
    if not isinstance(spec, str | Mapping):
        try:
            times = np.asarray(spec, dtype=np.float64)
        except (TypeError, ValueError):
            times = np.zeros(0)
        if times.ndim != 1 or len(times) < 2:
            known = "union, reference, {hop: seconds} or an array of at least two times"
            raise AnnotationError(f"invalid grid {spec!r}: expected {known}")
        wrong = ~np.isfinite(times)
        wrong[1:] |= times[1:] <= times[:-1]
        if wrong.any():
            where = f"number {int(wrong.argmax())} is {times[wrong.argmax()]} s"
            raise AnnotationError(f"times of a grid must be finite and ascending, but {where}")
        # The last stretch is as long as the one before.
        return TimeGrid("times", times, float(2 * times[-1] - times[-2]))
    hop = hop_of(spec)
    if hop is not None:
        return frame_grid(kind, float(extents(kind, rows).max(initial=0.0)), hop)
    if spec == "reference" and kind.gridded_as == "events":
        message = "use the grid union or {hop: seconds} for events; the reference's times contain only its own events"
        raise AnnotationError(message)
    if spec == "reference":
        rows = rows.take([0])
    times = np.concatenate([rows.columns[name] for name in kind.times])
    times = np.unique(times) if decimals is None else np.unique(np.round(times, decimals)).astype(np.float64)
    if "end" not in kind.times:
        return TimeGrid(str(spec), times, np.inf)
    return TimeGrid(str(spec), times[:-1], float(times[-1]) if len(times) else 0.0)


def frame_grid(kind: Kind, end: float, hop: float) -> TimeGrid:
    """Make frames at ``k * hop`` from 0 s to before an end or, for kinds without ends, to the last time."""
    rounding = min(_ROUNDING, hop / 4)
    if "end" not in kind.times:  # the last item needs another frame
        end = float(np.nextafter(min(max(end, 0.0), 2 * LATEST) + rounding, np.inf))
    if not end <= MOST_FRAMES * hop:
        message = f"{end / hop:.0f} frames of {hop:g} s are more than {MOST_FRAMES}"
        raise AnnotationError(f"{message}; choose a longer hop, or check whether {end:g} is in seconds")
    frames = int(frames_before(np.zeros(1), hop, np.array([end]))[0])
    times: Float = np.arange(frames, dtype=np.float64) * hop
    return TimeGrid(f"hop {hop:g} s", times, frames * hop, rounding, hop)


def extents(kind: Kind, rows: Ragged) -> Float:
    """Last end or time of each row: float64 (rows,), seconds; minus infinity for empty rows."""
    name = kind.times[-1]
    ends = np.full(len(rows), -np.inf)
    np.maximum.at(ends, rows_of(rows.counts[0]) if rows.depth(name) == 1 else row_of_items(rows), rows.columns[name])
    return ends


def too_late(kind: Kind, rows: Ragged, hop: float) -> Bool:
    """Mask of rows that would take too many frames."""
    return extents(kind, rows) > (MOST_FRAMES - 1) * hop


def valid_frames(kind: Kind, ends: Float, grid: TimeGrid) -> Bool:
    """Mask of stretches that begin before the end of each row (`extents`) or contain its last time: bool (rows, n)."""
    if "end" in kind.times:
        return grid.times < ends[:, np.newaxis]
    return np.arange(len(grid)) <= grid.frame_of(ends)[:, np.newaxis]


def names_of(annotations: Sequence[Annotation]) -> list[str]:
    """Distinct names of the annotations, otherwise numbers."""
    for key in ("annotator", "system", "source"):
        names = [str(annotation.attrs.get(key, "")) for annotation in annotations]
        if all(names) and len(set(names)) == len(names):
            return names
    return [str(number) for number in range(len(annotations))]


def codes_at(rows: Ragged, times: Float) -> npt.NDArray[np.int32]:
    """Find the label codes in force at ascending times for each row: int32 (rows, times), -1 for none.

    Intervals may be in any order; empty ones have no effect, and those that start last take precedence in overlaps.
    """
    kept = rows.keep(rows.columns["end"] > rows.columns["start"])
    row = rows_of(kept.counts[0])
    order = np.lexsort((kept.columns["start"], row))
    first, end = (np.searchsorted(times, kept.columns[name][order]) for name in ("start", "end"))
    # Each interval is in force until it ends or the next one starts.
    until = np.where(_is_last(row), len(times), np.append(first[1:], 0)[: len(first)])
    end = np.minimum(end, until)
    codes = np.full((len(rows), len(times)), -1, dtype=np.int32)
    codes.reshape(-1)[ranges(row * len(times) + first, end - first)] = np.repeat(
        kept.columns["label"][order].astype(np.int32), end - first
    )
    return codes


_CODE = {"long_name": "code of the label in force, -1 for none"}


def labels_on_grid(rows: Ragged, grid: TimeGrid, options: GridOptions) -> Variables:
    """Convert intervals to ``code`` int32 (rows, n), the label in force at the start of each stretch.

    Hierarchies become (rows, levels, n). Their size is at least the maximum over rows; missing levels have no labels.
    """
    if len(rows.counts) == 1:
        return {"code": (("time",), codes_at(rows, grid.points), _CODE)}
    codes = np.full((len(rows), options.size, len(grid)), -1, dtype=np.int32)
    owner = rows_of(rows.counts[0])
    level = np.arange(len(owner)) - rows.offsets[:-1][owner]
    flat = Ragged(rows.columns, (rows.counts[1],), rows.labels)
    codes[owner, level] = codes_at(flat, grid.points)
    return {"code": (("level", "time"), codes, _CODE)}


def events_on_grid(rows: Ragged, grid: TimeGrid, options: GridOptions) -> Variables:
    """Convert events to counts and activations on a grid.

    Variables are ``count`` int64 (rows, n), the number of events in each stretch; ``activation`` float32 (rows, n), ``1
    - d / (width + 1)`` at a distance of d stretches from the nearest event; and, for labelled events, ``code`` int32
    (rows, n), the label of the last one in each stretch.
    """
    width, frame, row = options.width, grid.frame_of(rows.columns["time"]), rows_of(rows.counts[0])
    inside = (frame >= 0) & (frame < len(grid))
    order = np.lexsort((rows.columns["time"][inside], row[inside]))
    row, frame = row[inside][order], frame[inside][order]
    shape = len(rows), len(grid)
    counts: Int = np.bincount(row * len(grid) + frame, minlength=len(rows) * len(grid)).reshape(shape)
    activation = (counts > 0).astype(np.float32)
    for distance in range(1, min(width, len(grid) - 1) + 1):
        level = np.float32(1 - distance / (width + 1)) * (counts > 0)
        np.maximum(activation[:, distance:], level[:, :-distance], out=activation[:, distance:])
        np.maximum(activation[:, :-distance], level[:, distance:], out=activation[:, :-distance])
    variables: Variables = {
        "count": (("time",), counts, {"long_name": "number of events"}),
        "activation": (("time",), activation, {"long_name": "activation of events"}),
    }
    if "label" in rows.columns:
        codes = np.full(counts.shape, -1, dtype=np.int32)
        last = _is_last(row) | _is_last(frame)
        codes[row[last], frame[last]] = rows.columns["label"][inside][order][last]
        variables["code"] = (("time",), codes, {"long_name": "code of the last event's label, -1 for none"})
    return variables


def _is_last(values: Int) -> Bool:
    return np.append(values[1:] != values[:-1], True)[: len(values)]


@dataclass(frozen=True, eq=False)
class GridArrays:
    """Arrays on a grid, from which rows are made."""

    values: Mapping[str, npt.NDArray[Any]]
    """Variables by name: (rows, n), (rows, levels, n) or (rows, n, pitches)."""
    times: Float
    ends: Float
    """Starts and ends of the stretches: float64 (n,), seconds."""
    labels: tuple[str, ...] = ()
    """Vocabulary of codes."""
    pitches: Float = field(default_factory=lambda: np.zeros(0))
    """MIDI numbers: float64 (pitches,)."""


def intervals_from_grid(arrays: GridArrays) -> Ragged:
    """Convert runs of equal ``code`` to intervals, or of each level to hierarchies; negative codes mean no label.

    Hierarchies have no empty levels below the last one with labels.
    """
    given = arrays.values["code"]
    codes = given.reshape(math.prod(given.shape[:-1]), given.shape[-1])
    first = np.ones(codes.shape, dtype=np.bool_)
    first[:, 1:] = codes[:, 1:] != codes[:, :-1]
    row, start = np.nonzero(first)
    stop = np.where(_is_last(row), codes.shape[1], np.append(start[1:], 0)[: len(start)])
    held = codes[row, start] >= 0
    row, start, stop = row[held], start[held], stop[held]
    columns: dict[str, Column] = {
        "start": arrays.times[start],
        "end": arrays.ends[stop - 1],
        "label": codes[row, start].astype(np.int64),
    }
    counts = np.bincount(row, minlength=len(codes)).astype(np.int64)
    if given.ndim == 2:
        return Ragged(columns, (counts,), arrays.labels)
    rows, levels, _ = given.shape
    deep = (np.arange(1, levels + 1) * (counts.reshape(rows, levels) > 0)).max(axis=1, initial=0)
    inner = counts[(np.arange(levels) < deep[:, np.newaxis]).ravel()]
    return Ragged(columns, (deep.astype(np.int64), inner), arrays.labels)


def events_from_grid(arrays: GridArrays) -> Ragged:
    """Convert ``count`` to events at the starts of the stretches, labelled if there is a ``code``."""
    counts = arrays.values["count"].astype(np.int64)
    row, frame = np.nonzero(counts > 0)
    number = counts[row, frame]
    columns: dict[str, Column] = {"time": np.repeat(arrays.times[frame], number)}
    if "code" in arrays.values:
        columns["label"] = np.repeat(arrays.values["code"][row, frame].astype(np.int64), number)
    sizes = np.diff(offsets_of(number)[np.searchsorted(row, np.arange(len(counts) + 1))])
    return Ragged(columns, (sizes,), arrays.labels)


def series_from_grid(arrays: GridArrays) -> Ragged:
    """Convert ``frequency`` and ``voicing`` at ``valid`` times to series.

    If voicing is binary, unvoiced frequencies are negative; otherwise there is a column of voicing.
    """
    valid = arrays.values["valid"].astype(np.bool_)
    row, frame = np.nonzero(valid)
    frequency, voicing = (arrays.values[name][row, frame].astype(np.float64) for name in ("frequency", "voicing"))
    columns: dict[str, Column] = {"time": arrays.times[frame], "frequency": frequency}
    if ((voicing != 0) & (voicing != 1)).any():
        columns["voicing"] = voicing
    else:
        columns["frequency"] = np.where((voicing > 0) | (frequency == 0), frequency, -frequency)
    return Ragged(columns, (valid.sum(axis=1),))


EVENTS = GridForm(events_on_grid, events_from_grid, ("count",), ("code",))
LABELS = GridForm(labels_on_grid, intervals_from_grid, ("code",))
LEVELS = GridForm(labels_on_grid, intervals_from_grid, ("code",), dims=("level", "time"), task="hierarchy", sized=0)
