"""The mutual information that two labellings share by chance alone."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..ragged import Float, Int
from .contingency import Table, cross
from .sums import sum_by
from .timeline import batches

_NEGLIGIBLE = 37.0
"""Terms are left out where all of them together have a probability below ``exp(-37)``, or 1e-16."""

_AT_ONCE = 1 << 15
"""How many terms are worked on at once: what stays in the cache."""

_CELLS_AT_ONCE = 1 << 20

_MANY_CELLS = 1 << 22
"""Of a larger table cells are grouped by their two sums: 2,000 classes against as many."""

_TABULATED = 1 << 20
"""Counts whose ``n * log(n)`` is looked up."""


def expected_mutual_information(table: Table) -> Float:
    """The expected mutual information of labellings with the same classes, their frames shuffled.

    In a table with row sums a and column sums b the count n of a cell is hypergeometric. The expectation is the sum
    over all cells of ``E[n / N * log(N * n / (a * b))]``. As ``E[n]`` is ``a * b / N``, what has to be summed up is
    ``E[n * log(n)]`` alone. The probabilities of a cell follow from one another by a ratio, and are normalised at the
    end, so no factorials are needed; those far from the mean, by Bernstein's inequality, are left out.

    Parameters
    ----------
    table : Table

    Returns
    -------
    float64 (pairs,), nats

    References
    ----------
    N. X. Vinh, J. Epps and J. Bailey, "Information theoretic measures for clusterings comparison", JMLR 11, 2010.

    Examples
    --------
    >>> from mirflow.kernels.contingency import tabulate
    >>> from mirflow.kernels.runs import Runs
    >>> side = Runs(np.array([0, 1]), np.array([0, 1]), np.array([2]), np.array([2]))
    >>> bool(np.isclose(expected_mutual_information(tabulate(side, side))[0], np.log(2)))
    True
    """
    cells = table.left.counts * table.right.counts
    found = np.zeros(len(cells))
    for part in batches(cells, _CELLS_AT_ONCE):
        if cells[part].max(initial=0) > _MANY_CELLS:  # and then it is a pair alone
            left, right = (side.frames[side.pair == part.start] for side in (table.left, table.right))
            found[part] = _of_many(left, right, float(table.frames[part.start]))
        else:
            pair, row, column = cross(table, part)
            expected = _of_parts(table.left.frames[row], table.right.frames[column], table.frames[pair])
            found[part] = sum_by(pair - part.start, expected, part.stop - part.start)
    return found


def _of_parts(left: Float, right: Float, frames: Float) -> Float:
    """The expectations of many cells."""
    result = np.zeros(len(frames))
    for start in range(0, len(frames), _CELLS_AT_ONCE):
        part = slice(start, start + _CELLS_AT_ONCE)
        result[part] = _of_cells(left[part], right[part], frames[part])
    return result


def _of_many(left: Float, right: Float, frames: float) -> float:
    """The expectation of one table with millions of cells, from the distinct pairs of a row's and a column's sum.

    Classes of different sizes take frames: among N of them there are at most ``2 * N`` such pairs.
    """
    (rows, row_times), (columns, column_times) = (np.unique(side, return_counts=True) for side in (left, right))
    every, found = np.full(len(columns), frames), 0.0
    for row, times in zip(rows.tolist(), row_times.tolist(), strict=True):
        expected = _of_parts(np.full(len(columns), row), columns, every)
        found += times * float((column_times * expected).sum())
    return found


def _of_cells(left: Float, right: Float, frames: Float) -> Float:
    """The expectations of single cells; each depends on nothing but its own three numbers."""
    small, large = np.minimum(left, right), np.maximum(left, right)
    mean = small * large / frames
    least, width = _support(small, large, frames, mean)
    logarithm = np.log(frames) - np.log(small) - np.log(large)
    expected = np.zeros(len(mean))
    # Cells of about equal width at once, padded to a size that each cell has by itself: so each sum's order is its own.
    sizes = _padded(width)
    most = int((least + sizes).max(initial=1))
    information = _information(np.arange(most if most <= _TABULATED else 0))
    for size in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == size)
        for start in range(0, len(members), step := max(_AT_ONCE // size, 1)):
            part = members[start : start + step]
            if most <= _TABULATED:
                known = sliding_window_view(information, size)[least[part]]
            else:
                known = _information(least[part][:, None] + np.arange(size))
            expected[part] = _expected(small[part], large[part], frames[part], least[part], known)
    result: Float = (mean * logarithm + expected) / frames
    return result


def _support(small: Float, large: Float, frames: Float, mean: Float) -> tuple[Int, Int]:
    """The least count that has to be looked at, and how many from there on."""
    spread = mean * (frames - small) * (frames - large) / (frames * np.maximum(frames - 1, 1))
    reach = _NEGLIGIBLE / 3 + np.sqrt((_NEGLIGIBLE / 3) ** 2 + 2 * _NEGLIGIBLE * spread)
    least = np.maximum(np.maximum(small + large - frames, 0.0), np.floor(mean - reach))
    most = np.minimum(small, np.ceil(mean + reach))
    return least.astype(np.int64), (most - least).astype(np.int64) + 1


def _padded(width: Int) -> Int:
    """The next number that is a power of two, or one and a half times such a number."""
    whole = np.int64(1) << np.frexp(width - 0.5)[1].astype(np.int64)
    three_quarters = whole // 4 * 3
    padded: Int = np.where((width <= three_quarters) & (whole >= 4), three_quarters, whole)
    return padded


def _information(count: Int) -> Float:
    """``n * log(n)``."""
    number = count.astype(np.float64)
    return number * np.log(np.maximum(number, 1.0))


def _expected(small: Float, large: Float, frames: Float, least: Int, information: Float) -> Float:
    """``E[n * log(n)]``, from the values of ``n * log(n)`` for n from the least on: float64 (cells, counts)."""
    step = np.arange(information.shape[1] - 1, dtype=np.float64)
    lowest = least.astype(np.float64)
    # The chance of n + 1 over that of n. Above the smaller sum it is 0, and so are all chances after it.
    odds = (small - lowest)[:, None] - step
    odds *= (large - lowest)[:, None] - step
    below = (lowest + 1)[:, None] + step
    below *= (frames - small - large + lowest + 1)[:, None] + step
    odds /= below
    chance = np.ones_like(information)
    np.multiply.accumulate(odds, axis=1, out=chance[:, 1:])
    information *= chance
    expected: Float = information.sum(axis=1) / chance.sum(axis=1)
    return expected
