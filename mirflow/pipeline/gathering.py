"""The rows of score tables to scores of systems on tracks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from ..errors import InvalidAnnotationError, place_of
from ..metrics.base import Measure
from ..readers.patterns import Pattern
from ..readers.scoretables import Row, ScoreTable, read_number
from .mapping import Names, ScoreFile

_DECIMAL = re.compile(r"[+-]?\d+,\d+")

Find = Callable[[Row], str]
Column = tuple[str, str, int, float, int | None]
"""System (empty: the row's own), measure, column, scale, and the weight's column."""


@dataclass
class Gathered:
    """The scores of a group while its tables are read.

    Parameters
    ----------
    cells : dict
        (system, track) to, for each measure, the score, its weight, and where it stands.
    digests : dict
        (system, track) to the fingerprints of the tables.
    steps : dict
        For each measure the smallest difference that its printed digits show.
    unweighted : set of str
        Measures that some table has no weights of.
    """

    cells: dict[tuple[str, str], dict[str, tuple[float, float, str]]] = field(default_factory=dict)
    digests: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)
    unweighted: set[str] = field(default_factory=set)


def gather(
    asked: ScoreFile,
    measures: Mapping[str, Measure],
    table: ScoreTable,
    values: Mapping[str, str],
    gathered: Gathered,
    digest: str,
) -> None:
    """Add the scores of one table.

    Parameters
    ----------
    asked : ScoreFile
        What the mapping says of it.
    measures : mapping of str to Measure
        What its names of metrics mean.
    table : ScoreTable
    values : mapping of str to str
        Of the placeholders in its path.
    gathered : Gathered
    digest : str
        Fingerprint of its bytes.

    Raises
    ------
    InvalidAnnotationError
        For the first row that is not as the mapping says.
    """
    _Reader(asked, measures, table, values, gathered).read(digest)


@dataclass(frozen=True)
class _Reader:
    """One file's rows to scores."""

    asked: ScoreFile
    measures: Mapping[str, Measure]
    table: ScoreTable
    values: Mapping[str, str]
    gathered: Gathered

    def read(self, digest: str) -> None:
        """Gather the scores of all rows."""
        columns = list(self._columns())
        conditions = [(name, self._finder(name), text) for name, text in self.asked.where.items()]
        track, system = self._names("track", self.asked.track), self._names("system", self.asked.system)
        for row in self.table.rows:
            if any(find(row) != text for _, find, text in conditions):
                continue
            name = track(row)
            if name in self.asked.leave_out:
                continue
            name = self._renamed(name, "track", self.asked.track, row)
            for of, measure, column, scale, weight in columns:
                owner = of or self._renamed(system(row), "system", self.asked.system, row)
                self.gathered.digests.setdefault((owner, name), {})[digest] = None
                self._put(owner, name, measure, row, column, scale, weight)

    def _columns(self) -> Iterator[Column]:
        """Every score that stands in a row."""
        asked, place = self.asked, self.table.place
        shared = None if asked.weight is None else place(asked.weight)
        for text, one in asked.metrics.items():
            own = shared if one.weight is None else place(one.weight)
            scale = asked.scale if one.scale is None else one.scale
            yield "", str(self.measures[text]), place(one.column), scale, own
        if asked.wide is not None:
            taken = {asked.track.column, asked.weight}
            systems = asked.wide.systems or {name: name for name in self.table.columns if name and name not in taken}
            for system, column in systems.items():
                renamed = asked.system.rename.get(system, system)
                yield renamed, str(self.measures[asked.wide.metric]), place(column), asked.scale, shared

    def _finder(self, name: str) -> Find:
        """What stands in a row under a placeholder or column."""
        if name in self.asked.placeholders:
            return lambda row: {**self.values, **row.values}.get(name, "")
        place = self.table.place(name)
        return lambda row: self.table.text(row, place)

    def _names(self, key: str, side: Names) -> Find:
        """Which track or system a row is about, as the table writes it."""
        if side.name is not None:
            fixed = side.name
            return lambda row: fixed
        if side.column is not None:
            place = self.table.place(side.column)
            return lambda row: self.table.text(row, place)
        if key in self.asked.placeholders:
            return self._finder(key)
        return lambda row: ""

    def _renamed(self, name: str, key: str, side: Names, row: Row) -> str:
        plain = name
        if side.pattern is not None:
            found = Pattern(side.pattern).match(name)
            if found is None:
                self._refuse(row, f"{key} {name!r} is not written as {side.pattern!r} says; leave_out leaves rows out")
            plain = next(iter(found.values()))
        plain = side.rename.get(name, side.rename.get(plain, plain))
        if not plain:
            self._refuse(row, f"the row names no {key}; leave_out: [''] leaves such rows out")
        return plain

    def _put(self, system: str, track: str, name: str, row: Row, column: int, scale: float, weight: int | None) -> None:
        """Gather one score."""
        heavy = 1.0
        value, decimals = self._number(row, column)
        if np.isnan(value) and self.asked.nan == "zero":
            value = 0.0
        if weight is None:
            self.gathered.unweighted.add(name)
        else:
            heavy = self._number(row, weight)[0]
            if not 0 <= heavy < np.inf:
                self._refuse(row, f"a weight must be a number that is not negative, not {row.fields[weight]!r}")
        here = place_of(self.table.name, row.line)
        others = self.gathered.cells.setdefault((system, track), {})
        if name in others:
            self._refuse(row, f"system {system!r}, track {track!r}, {name} stands also in {others[name][2]}")
        others[name] = (_scaled(value, scale), heavy, here)
        step = 10.0**-decimals * scale
        self.gathered.steps[name] = min(step, self.gathered.steps.get(name, np.inf))

    def _number(self, row: Row, place: int) -> tuple[float, int]:
        text = self.table.text(row, place)
        try:
            return read_number(text)
        except ValueError:
            column = repr(self.table.columns[place]) if 0 <= place < len(self.table.columns) else str(place)
            hint = "; write points before decimals" if _DECIMAL.fullmatch(text) else ""
            self._refuse(row, f"column {column} is not a number: {text!r}{hint}")

    def _refuse(self, row: Row, message: str) -> NoReturn:
        raise InvalidAnnotationError(message, path=self.table.name, line=row.line)


def _scaled(value: float, scale: float) -> float:
    """A number in the unit of the metric; percentages are divided by 100, which is exact where 0.01 is not."""
    divisor = round(1 / scale, 6)
    return value / divisor if divisor.is_integer() and divisor > 1 else value * scale
