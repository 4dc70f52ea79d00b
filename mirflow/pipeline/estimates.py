"""The estimates of an evaluation by system and track: of a million files, only their places in lists are kept."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from ..annotations.source import Source
from ..ragged import Int


class EstimateRow(Sequence[Source | None]):
    """The sources of the estimates of one system, one for each track or None, which are made on access."""

    __slots__ = ("_found", "_places", "_replaced")

    def __init__(
        self, found: Sequence[tuple[Source, Any]], places: Int, replaced: Mapping[int, Source] | None = None
    ) -> None:
        self._found, self._places, self._replaced = found, places, replaced or {}

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, track: int) -> Source | None: ...
    @overload
    def __getitem__(self, track: slice) -> Sequence[Source | None]: ...
    def __getitem__(self, track: int | slice) -> Source | Sequence[Source | None] | None:
        if isinstance(track, slice):
            return tuple(self[place] for place in range(len(self))[track])
        place = int(self._places[track])
        if place < 0:
            return None
        if self._replaced and place in self._replaced:
            return self._replaced[place]
        return self._found[place][0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        if isinstance(other, EstimateRow) and not self._replaced and not other._replaced:
            same = np.array_equal(self._places, other._places) and self._found == other._found
            if same:  # without making sources
                return True
        return all(one == another for one, another in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))


class EstimateTable:
    """Places of the estimates of systems and tracks in what was found."""

    def __init__(self, found: Sequence[tuple[Source, Any]] = ()) -> None:
        self._found = found
        self._columns: dict[str, int] = {}
        self._rows: dict[str, array[int]] = {}
        self._replaced: dict[int, Source] = {}

    def add(self, system: str, track: str, place: int) -> bool:
        """Note the place of an estimate, unless the system has one of the track."""
        column = self._columns.setdefault(track, len(self._columns))
        row = self._rows.get(system)
        if row is None:
            row = self._rows[system] = array("q")
        if column == len(row):  # as nearly always, since systems have the tracks in one order
            row.append(place)
            return True
        if column > len(row):
            row.extend([-1] * (len(self._columns) - len(row)))
        if row[column] >= 0:
            return False
        row[column] = place
        return True

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order of their first estimates."""
        return [*self._rows]

    @property
    def tracks(self) -> list[str]:
        """Names of the tracks of which any system has an estimate, in the order of the first."""
        held = np.zeros(len(self._columns), dtype=np.bool_)
        for row in self._rows.values():
            held[: len(row)] |= np.frombuffer(row, dtype=np.int64) >= 0
        return [track for track, given in zip(self._columns, held.tolist(), strict=True) if given]

    def tracks_of(self, system: str) -> list[str]:
        """Names of the tracks of which a system has an estimate."""
        return [track for track, place in zip(self._columns, self._rows[system], strict=False) if place >= 0]

    def get(self, system: str, track: str) -> Source | None:
        """The estimate of a track by a system, if there is one."""
        return self.row(system, [track])[0]

    def of(self, system: str) -> Iterator[tuple[str, Source]]:
        """Tracks and estimates of a system."""
        tracks = self.tracks_of(system)
        for track, source in zip(tracks, self.row(system, tracks), strict=True):
            if source is not None:
                yield track, source

    def replace(self, system: str, sources: Mapping[str, Source]) -> None:
        """Put other sources in the place of those of some tracks."""
        row = self._rows[system]
        self._replaced |= {row[self._columns[track]]: source for track, source in sources.items()}

    def rename(self, system: str, name: str) -> None:
        """Call a system by another name."""
        self._rows = {name if one == system else one: row for one, row in self._rows.items()}

    def keep(self, systems: Iterable[str]) -> None:
        """Remove the estimates of all other systems."""
        chosen = {*systems}
        self._rows = {name: row for name, row in self._rows.items() if name in chosen}

    def row(self, system: str, tracks: Sequence[str]) -> EstimateRow:
        """The estimates of a system of some tracks."""
        places = np.append(np.frombuffer(self._rows.get(system, array("q")), dtype=np.int64), -1)
        columns = np.array([self._columns.get(track, -1) for track in tracks], dtype=np.int64)
        columns[columns >= len(places) - 1] = -1
        return EstimateRow(self._found, places[columns], self._replaced)
