"""Contingency tables of many pairs of labellings: how many frames carry which two labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ragged import Bool, Float, Int, rows_of
from .runs import Runs
from .sums import sum_by
from .timeline import merge


@dataclass(frozen=True, slots=True)
class Classes:
    """The labels of one side of all pairs that at least one frame carries.

    Parameters
    ----------
    pair : int64 (classes,)
        Ascending.
    code : int64 (classes,)
        The label, ascending within a pair.
    frames : float64 (classes,)
        Whole numbers, at least 1.
    counts : int64 (pairs,)
        How many classes each pair has.
    """

    pair: Int
    code: Int
    frames: Float
    counts: Int


@dataclass(frozen=True, slots=True)
class Table:
    """The contingency tables of many pairs, without their empty cells.

    Parameters
    ----------
    frames : float64 (pairs,)
        The sum of each table; whole numbers, as all counts here.
    left, right : Classes
        Rows and columns.
    pair, row, column : int64 (cells,)
        Of each cell that is not empty its pair, and its places in `left` and `right`.
    count : float64 (cells,)
    """

    frames: Float
    left: Classes
    right: Classes
    pair: Int
    row: Int
    column: Int
    count: Float

    def sum_cells(self, values: Float) -> Float:
        """Sums over the cells of each pair: float64 (pairs,)."""
        return sum_by(self.pair, values, len(self.frames))


def tabulate(left: Runs, right: Runs) -> Table:
    """Count the frames of all pairs by their labels on both sides.

    Parameters
    ----------
    left, right : Runs
        One row a pair. Both sides of a pair have the same number of frames.

    Returns
    -------
    Table

    Examples
    --------
    Four frames, 1 1 2 2 against 5 5 5 6.

    >>> one, four = np.array([2]), np.array([4])
    >>> left = Runs(np.array([0, 2]), np.array([1, 2]), one, four)
    >>> right = Runs(np.array([0, 3]), np.array([5, 6]), one, four)
    >>> table = tabulate(left, right)
    >>> table.count.tolist(), table.left.code[table.row].tolist(), table.right.code[table.column].tolist()
    ([2.0, 1.0, 1.0], [1, 2, 2], [5, 5, 6])
    """
    line = merge(left.first, left.counts, right.first, right.counts)
    frames = np.empty_like(line.rank)
    np.subtract(line.rank[1:], line.rank[:-1], out=frames[:-1])
    last = np.cumsum(line.counts) - 1
    frames[last] = left.frames - line.rank[last]
    kept = np.flatnonzero(frames)
    pair, count = line.pair[kept], frames[kept]
    pairs = len(line.counts)
    rows, row = _classes(pair, left.code[line.left[kept]], count, pairs)
    columns, column = _classes(pair, right.code[line.right[kept]], count, pairs)
    # The places of rows ascend with the pair, so that these keys order the cells by pair as well.
    size = len(columns.pair) + 1
    key, cell = np.unique(row * size + column, return_inverse=True)
    place = key // size
    return Table(
        sum_by(pair, count.astype(np.float64), pairs),
        rows,
        columns,
        rows.pair[place],
        place,
        key - place * size,
        sum_by(cell, count.astype(np.float64), len(key)),
    )


def _classes(pair: Int, code: Int, count: Int | Float, pairs: int) -> tuple[Classes, Int]:
    """The classes of one side, and the place of each stretch among them."""
    size = int(code.max(initial=0)) + 1
    key, place = np.unique(pair * size + code, return_inverse=True)
    owner = key // size
    of_pair = np.bincount(owner, minlength=pairs).astype(np.int64)
    return Classes(owner, key - owner * size, sum_by(place, count.astype(np.float64), len(key)), of_pair), place


def cross(table: Table, pairs: slice) -> tuple[Int, Int, Int]:
    """All cells of the tables of some neighbouring pairs, empty ones too.

    Returns
    -------
    pair, row, column : int64 (cells,)
    """
    first, last = np.searchsorted(table.left.pair, [pairs.start, pairs.stop])
    pair = table.left.pair[first:last]
    columns = table.right.counts[pair]
    row = rows_of(columns)
    start = (np.cumsum(table.right.counts) - table.right.counts)[pair]
    offset = np.cumsum(columns) - columns
    column = np.arange(len(row)) - np.repeat(offset - start, columns)
    return pair[row], row + first, column


def restrict(table: Table, kept: Bool) -> Table:
    """The tables with only some of their cells; classes that are left without a frame vanish.

    Parameters
    ----------
    table : Table
    kept : bool (cells,)
    """
    pairs = len(table.frames)
    pair, count = table.pair[kept], table.count[kept]
    rows, row = _classes(pair, table.left.code[table.row[kept]], count, pairs)
    columns, column = _classes(pair, table.right.code[table.column[kept]], count, pairs)
    return Table(sum_by(pair, count, pairs), rows, columns, pair, row, column, count)
