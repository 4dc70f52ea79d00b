"""Parts of a run: shares of its cells that processes score apart, each in a folder beside the store, to be published.

No state says which cells a part has: its journal does. So a killed part continues, and nothing can contradict it. To be
published, results are sorted by system, in files, and read over those of the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from ..errors import RunError, StoreError, StoreLockedError, warn_caller
from ..metrics.base import Sparse
from ..pipeline.plan import EvaluationPlan, fingerprint
from ..ragged import Bool, Int
from ..store.cells import Cells, GroupContent, StoredResults, concatenate_cells, no_cells
from ..store.format import TYPES, Array, dense_cells, extra_entries, stored_durations
from ..store.generations import locked, remove, storing, write_atomically
from ..store.journal import CellFile, Journal
from ..store.write import Writer, software_versions

_LAYOUT = 1
_SCORING = ("mirflow", "numpy")  # the software of which parts of one store must have the same version


@dataclass(frozen=True, order=True)
class Part:
    """One of several parts of a run. `number`: number of this part, from 1."""

    of: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Read a part as it is typed; raises a RunError where it is none."""
        match = re.fullmatch(r"0*(\d{1,9})/0*(\d{1,9})", text, re.ASCII)
        number, of = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= of:
            raise RunError(f"invalid part {text!r}: expected its number and how many there are, from 1/N to N/N")
        return cls(of, number)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, shape: tuple[int, int]) -> Bool:
        """The cells of an evaluation that belong to this part: bool (systems, tracks)."""
        mask: Bool = numbers_of_parts(shape, self.of) == self.number
        return mask


def numbers_of_parts(shape: tuple[int, int], of: int) -> npt.NDArray[np.int32]:
    """The number of the part that each cell belongs to: int32 (systems, tracks). Tracks are dealt out in turn, so that
    each reference is read once, and parts take about the same time if long tracks stand together. Of fewer tracks than
    parts, the systems of each are dealt out to several parts."""
    systems, tracks = (np.arange(size, dtype=np.int32) for size in shape)
    sharing = np.maximum(1, -(-(of - tracks) // max(1, len(tracks))))
    return np.asarray(1 + tracks % of + len(tracks) * (systems[:, np.newaxis] % sharing), dtype=np.int32)


class _Layout(msgspec.Struct):
    mirflow_part: int


class _PartNote(msgspec.Struct):
    mirflow_part: int
    versions: dict[str, str]
    pipeline: str


class PartFolder:
    """Where one part of a store's run is kept: its journal, and a note on what it was computed with."""

    def __init__(self, folder: Path, store: Path, part: Part) -> None:
        self.part, self.store = part, store
        self.name = f"part {part}"
        self.path = folder / "parts" / f"{part.number}-of-{part.of}"
        self._note = self.path / "part.json"
        self.journal = Journal(self.path)

    @contextmanager
    def computing(self, pipeline: str) -> Iterator[Journal]:
        """Hold the part for computing it by a pipeline; its results of other versions of mirflow are removed."""
        with storing(self.store):
            self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.path, f"{self.store}, {self.name}"):
            versions = {name: software_versions()[name] for name in _SCORING}
            before, now = self._read(), _PartNote(_LAYOUT, versions, fingerprint(pipeline))
            if before is not None and before.versions != now.versions:
                warn_caller(f"{self.name} is computed anew, as it was begun with {_named(before.versions)}")
                self.journal.clear()
            if before != now:
                with storing(self.store):
                    write_atomically(self._note, msgspec.json.encode(now))
            yield self.journal

    def flaw(self, pipeline: str) -> str:
        """Why its results cannot be published with this pipeline and this version of mirflow; empty if they can."""
        note, now = self._read(), {name: software_versions()[name] for name in _SCORING}
        if note is None:
            return ""
        again = f"compute it again, or remove {self.path}"
        if note.versions != now:
            return f"{self.name} was computed with {_named(note.versions)}, and this process has {_named(now)}: {again}"
        if note.pipeline != fingerprint(pipeline):
            return f"{self.name} was computed with another pipeline, or the file has changed since: {again}"
        return ""

    def _read(self) -> _PartNote | None:
        """The note; None before the part has begun."""
        try:
            data = self._note.read_bytes()
            layout = msgspec.json.decode(data, type=_Layout).mirflow_part
            if layout > _LAYOUT:
                raise StoreError(
                    f"{self.store}: {self.name} was written by a newer version of mirflow (layout {layout}); use that"
                )
            return msgspec.json.decode(data, type=_PartNote)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self.store}: {self.name} is damaged ({error}): remove {self.path} and compute it again"
            ) from None

    def holder(self) -> str:
        """The process that computes the part now, in words; empty if none does."""
        try:
            with locked(self.path, self.name):
                return ""
        except StoreLockedError as error:
            return str(error).partition(";")[0]

    def remove(self) -> None:
        """Forget the part, which has been published, unless a process computes it again."""
        away = self.path.with_name(f"published-{self.path.name}")
        with suppress(StoreLockedError), storing(self.store), locked(self.path, self.name):
            remove(away)
            self.path.rename(away)
            remove(away)


def _named(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {version}" for name, version in versions.items())


def parts_of(folder: Path, store: Path) -> list[PartFolder]:
    """All parts of a store, in order; `folder` is that of its generations."""
    parts = []
    for path in (folder / "parts").glob("*-of-*"):
        match = re.fullmatch(r"([1-9]\d{0,8})-of-([1-9]\d{0,8})", path.name, re.ASCII)
        if match is not None:
            parts.append(PartFolder(folder, store, Part(int(match[2]), int(match[1]))))
        elif path.name.startswith("published-"):  # by a process that was killed then
            remove(path)
    return sorted(parts, key=lambda part: part.part)


_PER_FILE = 2**16  # cells of a file with the results of some systems, which is decoded at once
_MOST_WAITING = 2**16  # cells in memory until they are written to the files


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


class PartResults(StoredResults):
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
        self.names = no_cells(self.measures) if before is None else before.cells
        """No cells, with the names and labels of results with extra dims."""
        # Durations that stay: a reference may have changed.
        stored = GroupContent(plan.name, plan.systems, plan.tracks, no_cells(self.measures), stored=self._before)
        self.durations = stored_durations(stored, np.flatnonzero(stale))
        self._size = max(1, _PER_FILE // max(1, len(plan.tracks)))
        numbers = range(-(-len(plan.systems) // self._size))
        self._files = [CellFile(folder / f"{plan.name}-{number}.cells") for number in numbers]
        self._rows = {system: row for row, system in enumerate(plan.systems)}
        self._waiting: list[tuple[int, Int, Cells]] = []
        self._decoded: tuple[int, list[tuple[int, Cells]]] = -1, []
        self._dense: tuple[tuple[str, ...], dict[str, Array]] = (), {}

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
        self.names = concatenate_cells([self.names, cells.take(np.empty(0, dtype=np.int64))])
        self._waiting.append((part, place // max(1, len(self.tracks)) // self._size, cells))
        if sum(len(waiting) for _, _, waiting in self._waiting) >= _MOST_WAITING:
            self.write()

    def write(self) -> None:
        """Write what was added and is still in memory."""
        waiting, self._waiting = self._waiting, []
        self._decoded, self._dense = (-1, []), ((), {})
        for number in sorted({number for _, numbers, _ in waiting for number in numbers.tolist()}):
            for part in dict.fromkeys(part for part, _, _ in waiting):
                selected = [
                    cells.take(np.flatnonzero(numbers == number))
                    for of_part, numbers, cells in waiting
                    if of_part == part
                ]
                if any(map(len, selected)):
                    self._files[number].append(part, concatenate_cells(selected))

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
        return extra_entries(content, name) if name in self.names.extras else None

    def _contents(self, systems: Sequence[str]) -> Iterator[GroupContent]:
        start = 0
        while start < len(systems):
            number = self._rows[systems[start]] // self._size
            stop = start
            while stop < len(systems) and self._rows[systems[stop]] // self._size == number:
                stop += 1
            chosen = tuple(systems[start:stop])
            stored = {system: self._before[system] for system in chosen if system in self._before}
            # Without results, in place of those that are out of date in the store.
            lacking = [
                (system, self.tracks[column])
                for system in stored
                for column in np.flatnonzero(self.missing[self._rows[system]]).tolist()
            ]
            blank = no_cells(self.measures, *(tuple(names) for names in zip(*lacking, strict=True)))
            cells = [self.names, blank, *(cells for _, cells in self._read_file(number))]
            whole = GroupContent(self._plan.name, chosen, self.tracks, concatenate_cells(cells), stored=stored)
            yield whole.part(chosen)
            start = stop

    def _read_file(self, number: int) -> list[tuple[int, Cells]]:
        if self._decoded[0] != number:
            self._decoded = number, list(self._files[number].read())
        return self._decoded[1]
