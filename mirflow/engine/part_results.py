"""Results of a run or of its parts, sorted by system on disk: a store is written of them a few systems at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from ..metrics.base import Sparse
from ..pipeline.plan import EvaluationPlan
from ..ragged import Bool, Int
from ..store.cells import Cells, GroupContent, StoredResults, concatenate_cells, no_cells
from ..store.format import TYPES, Array, dense_cells, extra_entries, stored_durations
from ..store.generations import remove, storing
from ..store.journal import CellFile
from ..store.write import Writer

_PER_FILE = 2**16
"""Cells of a file with the results of some systems, which is decoded at once."""
_MOST_WAITING = 2**16
"""Cells in memory until they are written to the files."""


@contextmanager
def sorting_place(writer: Writer) -> Iterator[Path]:
    """A folder for results that are sorted, beside the generations; a process that was killed left one."""
    folder = writer.folder / "sorting"
    with storing(writer.path):
        remove(folder)
    try:
        yield folder
    finally:
        with suppress(OSError):
            remove(folder)


class PartResults:
    """Results of an evaluation that parts, or a run, have computed, over those of the store: they are read as if a
    store had them. `stale` (bool (systems, tracks)): the cells that are out of date in the store. `before`: what stays
    in the store, all of it `stored`. `folder`: for the sorted results."""

    def __init__(self, plan: EvaluationPlan, stale: Bool, before: GroupContent | None, folder: Path) -> None:
        self.tracks = plan.tracks
        self.measures = tuple(str(measure) for measure in plan.measures if not measure.metric.dims)
        self.missing = stale.copy()
        """Cells that are out of date and of which no part has a result: bool (systems, tracks)."""
        self._plan, self._stale = plan, stale
        self._before = {} if before is None else before.stored
        self._names = no_cells(self.measures) if before is None else before.cells
        # Durations that stay: a reference may have changed.
        kept = GroupContent(plan.name, plan.systems, plan.tracks, no_cells(self.measures), stored=self._before)
        self.durations = stored_durations(kept, np.flatnonzero(stale))
        self._size = max(1, _PER_FILE // max(1, len(plan.tracks)))
        numbers = range(-(-len(plan.systems) // self._size))
        self._files = [CellFile(folder / f"{plan.name}-{number}.cells") for number in numbers]
        self._rows = {system: row for row, system in enumerate(plan.systems)}
        self._waiting: list[tuple[int, Int, Cells]] = []
        self._decoded: tuple[int, list[tuple[int, Cells]]] = -1, []
        self._dense: tuple[tuple[str, ...], dict[str, Array]] = (), {}

    @property
    def extras(self) -> Mapping[str, Sparse]:
        """Results with extra dims, without their entries."""
        return self._names.extras

    @property
    def names(self) -> Cells:
        """No cells, with the names and labels of results with extra dims."""
        return self._names

    def stored(self) -> dict[str, StoredResults]:
        """Where results of each system are: in the store alone if none of them is out of date."""
        changed: list[bool] = self._stale.any(axis=1, keepdims=True).ravel().tolist()
        places: dict[str, StoredResults] = {}
        for row, system in enumerate(self._plan.systems):
            places[system] = self if changed[row] or system not in self._before else self._before[system]
        return places

    def add(self, part: int, cells: Cells, place: Int) -> None:
        """Add results of a part, at flat places that are out of date; of several of one part, the last counts. A run
        without parts is a single one."""
        self.missing.ravel()[place] = False
        np.fmax.at(self.durations, place % max(1, len(self.tracks)), cells.duration)
        self._names = concatenate_cells([self._names, cells.take(np.empty(0, dtype=np.int64))])
        self._waiting.append((part, place // max(1, len(self.tracks)) // self._size, cells))
        if sum(len(one) for _, _, one in self._waiting) >= _MOST_WAITING:
            self.write()

    def write(self) -> None:
        """Write what was added and is still in memory."""
        waiting, self._waiting = self._waiting, []
        self._decoded, self._dense = (-1, []), ((), {})
        for number in sorted({number for _, numbers, _ in waiting for number in numbers.tolist()}):
            for part in dict.fromkeys(part for part, _, _ in waiting):
                own = [cells.take(np.flatnonzero(numbers == number)) for one, numbers, cells in waiting if one == part]
                if any(map(len, own)):
                    self._files[number].append(part, concatenate_cells(own))

    def by_part(self, systems: Iterable[str]) -> Iterator[dict[int, Cells]]:
        """For the systems of each file that holds some of these, the results of each part."""
        for number in sorted({self._rows[system] // self._size for system in systems}):
            parts: dict[int, list[Cells]] = {}
            for part, cells in self._read_file(number):
                parts.setdefault(part, []).append(cells)
            yield {part: self._plan.places.each_once(concatenate_cells(blocks)) for part, blocks in parts.items()}

    def read(self, name: str, systems: Sequence[str], measures: Sequence[int] | None = None) -> Array:
        """Values of a variable: (systems, tracks), of scores and weights with the measures, all or at some places."""
        if self._dense[0] != tuple(systems):
            parts = [dense_cells(content, TYPES) for content in self._contents(systems)]
            self._dense = tuple(systems), {name: np.concatenate([part[name] for part in parts]) for name in TYPES}
        values = self._dense[1][name]
        return values if measures is None else values[..., list(measures)]

    def entries(self, name: str, system: str) -> Sparse | None:
        """A result with extra dims of one system, the first index column being the track."""
        (content,) = self._contents([system])
        return extra_entries(content, name) if name in self.extras else None

    def is_blank(self, name: str, system: str) -> bool:
        """True if the texts of a system are all empty."""
        return not (self.read(name, [system]) != "").any()

    def shares(self, other: StoredResults, system: str) -> bool:
        """True if these are the same results."""
        return other is self

    def _contents(self, systems: Sequence[str]) -> Iterator[GroupContent]:
        """Results of systems, in order, of those in one file at a time."""
        start = 0
        while start < len(systems):
            number = self._rows[systems[start]] // self._size
            stop = start
            while stop < len(systems) and self._rows[systems[stop]] // self._size == number:
                stop += 1
            own = tuple(systems[start:stop])
            stored = {system: self._before[system] for system in own if system in self._before}
            cells = [self._names, self._blank(own), *(cells for _, cells in self._read_file(number))]
            whole = GroupContent(self._plan.name, own, self.tracks, concatenate_cells(cells), stored=stored)
            yield whole.part(own)
            start = stop

    def _read_file(self, number: int) -> list[tuple[int, Cells]]:
        if self._decoded[0] != number:
            self._decoded = number, list(self._files[number].read())
        return self._decoded[1]

    def _blank(self, systems: Sequence[str]) -> Cells:
        """Cells without results, in place of those that are out of date in the store."""
        own = [system for system in systems if system in self._before]
        cells = np.argwhere(self.missing[[self._rows[system] for system in own]]) if own else np.empty((0, 2), np.int64)
        rows, columns = cells.T.tolist()
        nothing, none = np.full((len(cells), len(self.measures)), np.nan), np.zeros(len(cells), dtype=np.int64)
        texts = ("",) * len(cells)
        return Cells(
            tuple(own[row] for row in rows),
            tuple(self.tracks[column] for column in columns),
            *(self.measures, nothing, np.zeros_like(nothing), none.astype(np.int8), none.astype(np.int32)),
            *(texts, texts, none, np.full(len(cells), np.nan)),
        )
