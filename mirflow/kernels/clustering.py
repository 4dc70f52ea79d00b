"""Agreement of labellings: contingency tables of many pairs, and the mutual information expected by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..ragged import Bool, Float, Int, rows_of
from .intervals import Runs, batches, merge
from .ragged_ops import sum_by


@dataclass(frozen=True, slots=True)
class FrameLabels:
    """The labels of one side of all pairs that occur in at least one frame."""

    pair: Int
    code: Int
    """Pair and label, sorted by both: int64 (classes,)."""
    frames: Float  # Number of frames, at least 1, or seconds if durations were tabulated: float64 (classes,)
    counts: Int  # Numbers of classes: int64 (pairs,)


@dataclass(frozen=True, slots=True)
class ContingencyTables:
    """Contingency tables of many pairs, without empty cells."""

    frames: Float  # Sum of each table, in frames or seconds like all counts here: float64 (pairs,)
    left: FrameLabels
    right: FrameLabels
    """Rows and columns."""
    pair: Int
    row: Int
    column: Int
    """Pair of each nonempty cell, and its indices in `left` and `right`: int64 (cells,)."""
    count: Float  # float64 (cells,)


def tabulate(left: Runs, right: Runs, times: Float | None = None) -> ContingencyTables:
    """Count the frames of all pairs by their labels on both sides; both sides of a pair have the same number of frames.

    With ascending times of frames, durations between them are summed instead.
    """
    line = merge(left.first, left.counts, right.first, right.counts)
    until = np.empty_like(line.rank)
    until[:-1] = line.rank[1:]
    until[np.cumsum(line.counts) - 1] = left.frames
    frames = until - line.rank if times is None else times[until] - times[line.rank]
    filled = np.flatnonzero(frames)
    pair, count = rows_of(line.counts)[filled], frames[filled]
    pairs = len(line.counts)
    rows, row = _classes(pair, left.code[line.left[filled]], count, pairs)
    columns, column = _classes(pair, right.code[line.right[filled]], count, pairs)
    # Indices of rows ascend with the pair, so these keys also sort the cells by pair.
    size = len(columns.pair) + 1
    key, cell = _distinct(row * size + column)
    place = key // size
    return ContingencyTables(
        sum_by(pair, count.astype(np.float64), pairs),
        rows,
        columns,
        rows.pair[place],
        place,
        key - place * size,
        sum_by(cell, count.astype(np.float64), len(key)),
    )


_MARKED = 8  # Largest ratio of the range of keys to their number for which keys are marked instead of sorted


def _distinct(keys: Int) -> tuple[Int, Int]:
    """Sort distinct numbers from 0, and return the index of each number among them: int64."""
    size = int(keys.max(initial=-1)) + 1
    if size > _MARKED * len(keys):
        return np.unique(keys, return_inverse=True)
    mask = np.zeros(size, dtype=np.bool_)
    mask[keys] = True
    return mask.nonzero()[0], (mask.cumsum() - 1)[keys]


def _classes(pair: Int, code: Int, count: Int | Float, pairs: int) -> tuple[FrameLabels, Int]:
    """Classes of one side, and the index of the class of each stretch."""
    size = int(code.max(initial=0)) + 1
    key, index = _distinct(pair * size + code)
    owner = key // size
    of_pair = np.bincount(owner, minlength=pairs).astype(np.int64)
    return FrameLabels(owner, key - owner * size, sum_by(index, count.astype(np.float64), len(key)), of_pair), index


def restrict(table: ContingencyTables, kept: Bool) -> ContingencyTables:
    """Keep only some cells of the tables, dropping classes without frames."""
    pairs = len(table.frames)
    pair, count = table.pair[kept], table.count[kept]
    rows, row = _classes(pair, table.left.code[table.row[kept]], count, pairs)
    columns, column = _classes(pair, table.right.code[table.column[kept]], count, pairs)
    return ContingencyTables(sum_by(pair, count, pairs), rows, columns, pair, row, column, count)


_NEGLIGIBLE = 37.0  # Terms are omitted if their total probability is below ``exp(-37)``, or 1e-16
_AT_ONCE = 1 << 15  # Terms processed at once, so that they fit into the cache
_CELLS_AT_ONCE = 1 << 20
_MANY_CELLS = 1 << 22  # Number of cells (2,000 classes on each side) above which they are grouped by their two sums
_TABULATED = 1 << 20  # Number of counts whose ``n * log(n)`` is tabulated


def expected_mutual_information(table: ContingencyTables) -> Float:
    """Expected mutual information of labellings with the same classes and shuffled frames: float64 (pairs,), nats.

    In a table with row sums a and column sums b, the count n of a cell is hypergeometric. The expectation is the sum
    over all cells of ``E[n / N * log(N * n / (a * b))]``. As ``E[n]`` is ``a * b / N``, only ``E[n * log(n)]`` has to
    be summed. The probabilities of a cell are computed recursively by their ratios and normalised at the end, so no
    factorials are needed; those far from the mean, by Bernstein's inequality, are omitted.
    Source: N. X. Vinh, J. Epps and J. Bailey, JMLR 11, 2010.
    """
    cells = table.left.counts * table.right.counts
    information = np.zeros(len(cells))
    for part in batches(cells, _CELLS_AT_ONCE):
        if cells[part].max(initial=0) > _MANY_CELLS:  # which is then a single pair
            # For N frames, there are at most 2 * N distinct pairs of row and column sums.
            sides = (side.frames[side.pair == part.start] for side in (table.left, table.right))
            (rows, row_times), (columns, column_times) = (np.unique(side, return_counts=True) for side in sides)
            frames, total = np.full(len(columns), float(table.frames[part.start])), 0.0
            for row_sum, times in zip(rows.tolist(), row_times.tolist(), strict=True):
                expected = _of_parts(np.full(len(columns), row_sum), columns, frames)
                total += times * float((column_times * expected).sum())
            information[part] = total
        else:
            # Pair, row and column of all cells, including empty ones
            first, last = np.searchsorted(table.left.pair, [part.start, part.stop])
            pair = table.left.pair[first:last]
            columns = table.right.counts[pair]
            row = rows_of(columns)
            offset = np.cumsum(columns) - columns
            start = (np.cumsum(table.right.counts) - table.right.counts)[pair]
            column = np.arange(len(row)) - np.repeat(offset - start, columns)
            pair, row = pair[row], row + first
            expected = _of_parts(table.left.frames[row], table.right.frames[column], table.frames[pair])
            information[part] = sum_by(pair - part.start, expected, part.stop - part.start)
    return information


def _of_parts(left: Float, right: Float, frames: Float) -> Float:
    """Expectations of many cells, each of which depends only on its three numbers."""
    result = np.zeros(len(frames))
    for first in range(0, len(frames), _CELLS_AT_ONCE):
        cells = slice(first, first + _CELLS_AT_ONCE)
        small, large = np.minimum(left[cells], right[cells]), np.maximum(left[cells], right[cells])
        whole = frames[cells]
        mean = small * large / whole
        # Smallest count to include, and number of counts from there on
        spread = mean * (whole - small) * (whole - large) / (whole * np.maximum(whole - 1, 1))
        reach = _NEGLIGIBLE / 3 + np.sqrt((_NEGLIGIBLE / 3) ** 2 + 2 * _NEGLIGIBLE * spread)
        lowest = np.maximum(np.maximum(small + large - whole, 0.0), np.floor(mean - reach))
        highest = np.minimum(small, np.ceil(mean + reach))
        least, width = lowest.astype(np.int64), (highest - lowest).astype(np.int64) + 1
        logarithm = np.log(whole) - np.log(small) - np.log(large)
        expected = np.zeros(len(mean))
        # Cells of similar width are processed at once, padded to a size that depends only on the cell, as does the
        # order of summation. The sizes are powers of two, or one and a half times powers of two.
        power = np.int64(1) << np.frexp(width - 0.5)[1].astype(np.int64)
        three_quarters = power // 4 * 3
        sizes: Int = np.where((width <= three_quarters) & (power >= 4), three_quarters, power)
        most = int((least + sizes).max(initial=1))
        tabulated = np.arange(most if most <= _TABULATED else 0, dtype=np.float64)
        information = tabulated * np.log(np.maximum(tabulated, 1.0))
        for size in np.unique(sizes).tolist():
            members = np.flatnonzero(sizes == size)
            for start in range(0, len(members), step := max(_AT_ONCE // size, 1)):
                part = members[start : start + step]
                if most <= _TABULATED:
                    terms = sliding_window_view(information, size)[least[part]]
                else:
                    number = lowest[part][:, None] + np.arange(size)
                    terms = number * np.log(np.maximum(number, 1.0))
                expected[part] = _expected(small[part], large[part], whole[part], least[part], terms)
        result[cells] = (mean * logarithm + expected) / whole
    return result


def _expected(small: Float, large: Float, frames: Float, least: Int, information: Float) -> Float:
    """``E[n * log(n)]``, from the values of ``n * log(n)`` for n from the least on: float64 (cells, counts)."""
    step = np.arange(information.shape[1] - 1, dtype=np.float64)
    lowest = least.astype(np.float64)
    # Probability of n + 1 over that of n, which is 0 from the smaller sum on.
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
