"""Results of cells (one system's estimate of one track): status, messages, and scores as plain arrays.

`Cells` are some cells of an evaluation, to be joined and selected; `GroupContent` is a whole evaluation, with its
coordinates, attributes, and the systems whose results are still in a store. Remarks on cells are written as messages
and read back. Limits of names are here, too, such as those of folders on Windows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import cached_property
from itertools import chain
from typing import Any, Literal, Protocol, cast

import numpy as np
import numpy.typing as npt

from ..annotations.account import one_line, whole_text
from ..kernels.outcomes import NONE
from ..metrics.base import Sparse
from ..ragged import Bool, Float, Int


class Status(IntEnum):
    """Outcome of scoring one (system, track) cell, as stored. ``not_computed`` is 0 because unwritten cells of an
    integer array read as 0."""

    not_computed = 0
    ok = 1
    missing_estimate = 2
    missing_reference = 3
    empty_reference = 4
    empty_estimate = 5
    unreadable = 6
    invalid = 7
    failed = 8


EMPTY = frozenset({Status.empty_reference, Status.empty_estimate})
SCORED = frozenset({Status.ok, *EMPTY})
"""Statuses of cells with a score that a mean may use."""
MISSING = frozenset({Status.missing_estimate, Status.missing_reference})
QUOTES_NOTHING = EMPTY | MISSING | {Status.not_computed}
"""Statuses whose messages name files; messages of other statuses may quote an annotation."""
FAILED = MISSING | {Status.unreadable, Status.invalid, Status.failed}

MAX_LABEL = 10_000  # characters of the name of a system, track or metric
MAX_NAME = 240
"""Most bytes of the name of an evaluation or a coordinate, each a folder of a store: file systems take 255."""
DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in range(10))))
"""Names that no file or folder can have on Windows, in lower case."""


def is_device(name: str) -> bool:
    """True for the names of devices of Windows, with or without a suffix.

    Examples
    --------
    >>> is_device("Aux"), is_device("lpt1.csv"), is_device("auxiliary")
    (True, True, False)
    """
    return name.partition(".")[0].lower() in DEVICES


CELL_ATTRS: Mapping[str, Mapping[str, Any]] = {
    "score": {"long_name": "score; NaN where the cell was not scored"},
    "weight": {"long_name": "weight of the score, its own denominator, in the unit that weight_unit gives"},
    "status": {
        "long_name": "what became of the cell",
        "flag_values": [int(status) for status in Status],
        "flag_meanings": " ".join(status.name for status in Status),
    },
    "repairs": {"long_name": "number of irregularities that were accepted"},
    "message": {"long_name": "remarks, one on each line: KIND (SIDE): TEXT; KIND is reason, warning, repair or note"},
    "digest": {"long_name": "digests of the reference and the estimate that were scored"},
    "stamp": {"long_name": "fingerprint of the sizes and modification times of the input files"},
    "duration": {"long_name": "duration of the reference", "units": "s"},
}
"""Attributes of the variables of a dataset of cells."""

FAILED_METRICS, FAILED_METRIC = "failed_metrics", "failed_metric"
"""Result with an extra dim of cells of which some metrics failed: 1 for each of these metrics, by its identity."""

NUMERATOR = "numerator"
"""Result along the metrics: numerators of the scores whose weight is 0, where a metric has any."""

RemarkKind = Literal["reason", "warning", "repair", "note"]
RemarkSide = Literal["reference", "estimate", "pair"]


@dataclass(frozen=True, slots=True)
class CellRemark:
    """What is said about a cell. ``reason``: why the cell, or some of its metrics, have no score, or which of its sides
    is empty. ``warning``: its scores are in doubt. ``repair`` and ``note``: what was changed in an annotation, or not
    read of its file."""

    kind: RemarkKind
    side: RemarkSide  # the annotation that it is about; ``pair`` if both, or the cell itself
    text: str  # with the name of the file and the line, if it has one


_REMARK = re.compile(r"(reason|warning|repair|note) \((reference|estimate|pair)\): (.*)", re.DOTALL)


def write_message(remarks: Iterable[CellRemark]) -> str:
    """The message of a cell: a line for each remark, as ``warning (estimate): a.txt: ...``."""
    return "\n".join(f"{one.kind} ({one.side}): {one_line(one.text)}" for one in remarks)


def read_message(message: str) -> tuple[CellRemark, ...]:
    """The remarks in the message of a cell; lines of another form are reasons."""
    remarks = []
    for line in message.split("\n") if message else ():
        found = _REMARK.fullmatch(line)
        kind, side, text = ("reason", "pair", line) if found is None else found.groups()
        remarks.append(CellRemark(cast(RemarkKind, kind), cast(RemarkSide, side), whole_text(text)))
    return tuple(remarks)


def text_of(message: str, kind: RemarkKind = "reason") -> str:
    """What the remarks of a kind in the message of a cell say, for people; empty without any."""
    return "; ".join(one.text for one in read_message(message) if one.kind == kind)


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning of a plan that concerns the meaning of scores: those of a system, or of all where it is empty."""

    text: str
    system: str = ""


@dataclass(frozen=True)
class Cells:
    """Results of some (system, track) cells of one evaluation."""

    system: tuple[str, ...]
    track: tuple[str, ...]
    measures: tuple[str, ...]  # identities of the scalar measures, the columns of `score` and `weight`
    score: Float
    weight: Float
    status: npt.NDArray[np.int8]  # values of `Status`
    repairs: npt.NDArray[np.int32]
    message: tuple[str, ...]  # remarks in the form of `write_message`; empty without any
    digest: tuple[str, ...]  # ``reference:estimate`` digests of the bytes that were scored
    stamp: Int  # fingerprint of the input files' sizes and modification times
    duration: Float  # duration of the reference
    extras: Mapping[str, Sparse] = field(default_factory=dict)
    """Results with extra dims; the first index column is the cell."""

    def __len__(self) -> int:
        return len(self.system)

    @property
    def failed_metrics(self) -> Mapping[int, tuple[str, ...]]:
        """Identities of the metrics that failed on a cell of which others have a score, for each such cell."""
        sparse = self.extras.get(FAILED_METRICS)
        if sparse is None:
            return {}
        found: dict[int, tuple[str, ...]] = {}
        for cell, place in sorted(sparse.index.tolist()):
            found[cell] = (*found.get(cell, ()), sparse.coords[0][place])
        return found

    def take(self, cells: Int) -> Cells:
        """Select cells, in the given order, each at most once."""
        place = np.full(len(self), -1, dtype=np.int64)
        place[cells] = np.arange(len(cells))
        extras = {}
        for name, sparse in self.extras.items():
            cell = place[sparse.index[:, 0]]
            index = np.column_stack([cell, sparse.index[:, 1:]])[cell >= 0]
            extras[name] = replace(sparse, index=index, value=sparse.value[cell >= 0])
        columns: dict[str, Any] = {}
        for column in fields(self):
            if column.name not in ("measures", "extras"):
                values = getattr(self, column.name)
                texts = isinstance(values, tuple)
                columns[column.name] = tuple(values[cell] for cell in cells.tolist()) if texts else values[cells]
        return Cells(measures=self.measures, extras=extras, **columns)


Entry = str | int | float | bool | None
Coords = Mapping[str, Sequence[Entry]]


class StoredResults(Protocol):
    """Results of an evaluation in a generation of a store, which are read system by system."""

    tracks: tuple[str, ...]
    """Tracks, in the order of the arrays."""
    measures: tuple[str, ...]
    """Identities of the scalar measures."""
    durations: Float
    """Duration of the reference of each track."""

    def read(self, name: str, systems: Sequence[str], measures: Sequence[int] | None = None) -> npt.NDArray[Any]:
        """Values of a variable: (systems, tracks), of scores and weights with the measures, all or at some places."""

    def entries(self, name: str, system: str) -> Sparse | None:
        """A result with extra dims of one system, the first index column being the track; None if there is none."""

    def is_blank(self, name: str, system: str) -> bool:
        """True if the texts of a system are all empty."""
        return not (self.read(name, [system]) != "").any()

    def shares(self, other: StoredResults, system: str) -> bool:
        """True if all results of a system are the same in both, which files show; labels may differ."""
        return other is self


@dataclass(frozen=True)
class GroupContent:
    """The results of one evaluation, as a store holds them."""

    name: str
    """Name of the group, an identifier."""
    systems: tuple[str, ...]
    tracks: tuple[str, ...]
    cells: Cells
    """Results of any (system, track) cells, in any order; the rest is ``not_computed``. Cells of other systems and
    tracks are ignored; of repeated cells, the last one counts."""
    metric_coords: Coords = field(default_factory=dict)
    system_coords: Coords = field(default_factory=dict)
    track_coords: Coords = field(default_factory=dict)
    """Further coordinates along each dim: str, float, int, bool, or None if missing; those along ``metric`` describe
    the metrics."""
    attrs: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the group, as JSON: task, convention, grid, parameters, pipeline, versions, signature, ..."""
    stored: Mapping[str, StoredResults] = field(default_factory=dict)
    """For each system whose results stay as a store has them, where they are. `cells` replace single ones of them; of
    its results with extra dims, those that `cells` name as well belong to the evaluation, perhaps without entries."""

    @cached_property
    def silent(self) -> frozenset[str]:
        """Systems whose results are stored, of which none is replaced, and none has a message."""
        unchanged = self.stored.keys() - set(self.cells.system)
        return frozenset(system for system in unchanged if self.stored[system].is_blank("message", system))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of systems and of tracks."""
        return len(self.systems), len(self.tracks)

    @property
    def measures(self) -> tuple[str, ...]:
        """Identities of the scalar measures."""
        return self.cells.measures

    @cached_property
    def places(self) -> Int:
        """The flat (system, track) place of each cell; see :meth:`CellPlaces.of`."""
        if not len(self.cells):
            return np.empty(0, dtype=np.int64)
        return CellPlaces(self.systems, self.tracks).of(self.cells)

    def part(self, systems: Sequence[str]) -> GroupContent:
        """The results of some systems, without coordinates along them."""
        chosen = set(systems)
        rows = np.flatnonzero([name in chosen for name in self.cells.system])
        cells = self.cells if len(rows) == len(self.cells) else self.cells.take(rows)
        stored = {name: self.stored[name] for name in systems if name in self.stored}
        return replace(self, systems=tuple(systems), cells=cells, system_coords={}, stored=stored)

    def blocks(self, most: int = 2**16) -> Iterator[GroupContent]:
        """Divide the systems, in order, into parts of few cells: at most so many, at least one system."""
        size = max(1, most // max(1, len(self.tracks)))
        for start in range(0, len(self.systems), size):
            yield self.part(self.systems[start : start + size])


class CellPlaces:
    """The places of cells in an array over systems and tracks, whose names are looked up many times."""

    def __init__(self, systems: Sequence[str], tracks: Sequence[str]) -> None:
        self._rows = {name: row for row, name in enumerate(systems)}
        self._columns = {name: column for column, name in enumerate(tracks)}
        self._width = len(tracks)

    def of(self, cells: Cells) -> Int:
        """The flat (system, track) place of each cell; -1 for other systems and tracks, and for replaced cells."""
        rows = np.fromiter((self._rows.get(name, -1) for name in cells.system), dtype=np.int64, count=len(cells))
        columns = np.fromiter((self._columns.get(name, -1) for name in cells.track), dtype=np.int64, count=len(cells))
        place = np.where((rows < 0) | (columns < 0), -1, rows * self._width + columns)
        # Not an array over all places: of a large store, a run has few cells.
        order = np.argsort(place, kind="stable")
        replaced = order[:-1][place[order[:-1]] == place[order[1:]]]
        place[replaced] = -1
        return place

    def each_once(self, cells: Cells, mask: Bool | None = None) -> Cells:
        """The last of the cells at each place, or at those of a mask over (systems, tracks), in order of the places."""
        place = self.of(cells)
        if mask is not None:
            place = np.where(np.append(mask.ravel(), False)[place], place, -1)
        return cells.take(np.argsort(place)[np.count_nonzero(place < 0) :])


def no_cells(measures: tuple[str, ...], systems: tuple[str, ...] = (), tracks: tuple[str, ...] = ()) -> Cells:
    """Cells without results, with columns for measures: none, or those of systems and tracks in parallel."""
    count, width = len(systems), len(measures)
    none, texts = np.zeros(count, dtype=np.int64), ("",) * count
    scores = np.full((count, width), np.nan), np.zeros((count, width))
    numbers = none.astype(np.int8), none.astype(np.int32)
    return Cells(systems, tracks, measures, *scores, *numbers, texts, texts, none, np.full(count, np.nan))


def concatenate_cells(parts: Iterable[Cells]) -> Cells:
    """Cells of several blocks of one evaluation, in order."""
    parts = list(parts)
    if not parts:
        raise ValueError("nothing to concatenate")
    if len({part.measures for part in parts}) > 1:
        raise ValueError(f"cells of different measures: {sorted({part.measures for part in parts})}")
    columns: dict[str, Any] = {}
    for column in fields(Cells):
        if column.name not in ("measures", "extras"):
            values = [getattr(part, column.name) for part in parts]
            columns[column.name] = tuple(chain(*values)) if isinstance(values[0], tuple) else np.concatenate(values)
    starts = np.cumsum([0, *map(len, parts[:-1])]).tolist()
    extras: dict[str, Sparse] = {}
    for name in dict.fromkeys(name for part in parts for name in part.extras):
        pieces = [(start, part.extras[name]) for start, part in zip(starts, parts, strict=True) if name in part.extras]
        # Labels that differ between parts are merged and sorted, not in order of appearance, so that a resumed run
        # gives the same store. No class comes last, as in the kernels.
        coords = tuple(
            labels[0] if len({*labels}) == 1 else tuple(sorted({*chain(*labels)}, key=lambda one: (one == NONE, one)))
            for labels in zip(*(piece.coords for _, piece in pieces), strict=True)
        )
        index = np.concatenate([relabel(piece, coords).index for _, piece in pieces])
        index[:, 0] += np.repeat([start for start, _ in pieces], [len(piece.index) for _, piece in pieces])
        value = np.concatenate([piece.value for _, piece in pieces])
        extras[name] = replace(pieces[0][1], coords=coords, index=index, value=value)
    return Cells(measures=parts[0].measures, extras=extras, **columns)


def with_measures(cells: Cells, measures: tuple[str, ...]) -> Cells:
    """Cells with columns for these measures; where they lack one, scores are NaN and weights 0."""
    place = {name: column for column, name in enumerate(cells.measures)}
    known = [column for column, name in enumerate(measures) if name in place]
    score, weight = np.full((len(cells), len(measures)), np.nan), np.zeros((len(cells), len(measures)))
    columns = [place[measures[column]] for column in known]
    score[:, known], weight[:, known] = cells.score[:, columns], cells.weight[:, columns]
    return replace(cells, measures=measures, score=score, weight=weight)


def mark_failed_metrics(failures: Iterable[tuple[int, int]], metrics: tuple[str, ...]) -> dict[str, Sparse]:
    """Return the result that says which metrics failed on which cells; nothing without failures (cell, index of the
    metric)."""
    index = np.array(sorted(set(failures)), dtype=np.int64).reshape(-1, 2)
    about = {"long_name": "1 where the metric failed and others have a score of the cell"}
    marked = Sparse((FAILED_METRIC,), (metrics,), index, np.ones(len(index)), about)
    return {FAILED_METRICS: marked} if len(index) else {}


def no_numerators(metrics: tuple[str, ...]) -> Sparse:
    """Return the result that keeps the numerators of scores whose weight is 0, without any."""
    about = {"long_name": "numerator of the score where its weight, the denominator, is 0"}
    return Sparse(("metric",), (metrics,), np.zeros((0, 2), dtype=np.int64), np.zeros(0), about)


def relabel(sparse: Sparse, coords: tuple[tuple[str, ...], ...]) -> Sparse:
    """Map the entries of a result to other labels, dropping those of missing labels."""
    index = [sparse.index[:, 0]]
    for axis, (labels, whole) in enumerate(zip(sparse.coords, coords, strict=True)):
        place = {label: number for number, label in enumerate(whole)}
        index.append(np.array([place.get(label, -1) for label in labels], dtype=np.int64)[sparse.index[:, 1 + axis]])
    table = np.column_stack(index)
    kept = (table >= 0).all(axis=1)
    return replace(sparse, coords=coords, index=table[kept], value=sparse.value[kept])
