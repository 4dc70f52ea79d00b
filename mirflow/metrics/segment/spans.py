"""Rows of labelled intervals, one a pair, and how mir_eval fits them to the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.runs import NOTHING
from ...ragged import Bool, Float, Int, Ragged, offsets_of, ranges, rows_of

GAP, BEFORE, AFTER = "none", "__t_min", "__t_max"
"""Labels of frames that no interval covers, and of what is put before and after the intervals."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Labelled intervals of many pairs.

    Parameters
    ----------
    start, end : float64 (intervals,), seconds
    code : int64 (intervals,)
        Labels as numbers, in the order of the labels within each pair.
    counts : int64 (pairs,)
    """

    start: Float
    end: Float
    code: Int
    counts: Int

    def latest(self) -> Float:
        """The latest end of each pair, 0 for a pair without intervals: float64 (pairs,), seconds."""
        return extreme(np.maximum, self.end, self.counts, 0.0)


def extreme(ufunc: np.ufunc, values: Float | Int, counts: Int, empty: float) -> Float:
    """The smallest or largest value of each row, `empty` for a row without values."""
    result = np.full(len(counts), empty)
    filled = counts > 0
    if len(values):
        result[filled] = ufunc.reduceat(values, offsets_of(counts)[:-1][filled])
    return result


@dataclass(frozen=True, slots=True)
class Codes:
    """Numbers for labels whatever their case; `NOTHING` is that of frames without a label.

    Parameters
    ----------
    of_label : int64 (labels + 1,)
        The number of each label of a vocabulary; the last element is that of no label at all.
    before, after : int
    """

    of_label: Int
    before: int
    after: int


def encode(labels: tuple[str, ...]) -> Codes:
    """Number the labels of one side in their order, as mir_eval compares them: without regard to case.

    A gap is labelled ``none``, so an interval with such a label is of the same class as the gaps.
    """
    lowered = [label.lower() for label in (*labels, "")]
    others = sorted({*lowered, BEFORE, AFTER} - {GAP})
    number = {GAP: NOTHING, **{label: place for place, label in enumerate(others, NOTHING + 1)}}
    return Codes(np.array([number[label] for label in lowered], dtype=np.int64), number[BEFORE], number[AFTER])


def take(rows: Ragged, chosen: Int, of_label: Int) -> Spans:
    """The intervals of the chosen rows as they are, one row a pair."""
    counts = rows.counts[0][chosen]
    source = ranges(rows.offsets[chosen], counts)
    start, end = rows.columns["start"][source], rows.columns["end"][source]
    return Spans(start, end, of_label[rows.columns["label"][source]], counts)


def fit_reference(given: Spans, codes: Codes) -> Spans:
    """The references, with an interval from 0 put before those that start later."""
    lead = extreme(np.minimum, given.start, given.counts, 0.0)
    every, none = np.ones(len(given.start), dtype=np.bool_), np.zeros(len(lead))
    return _extend(given, every, codes, np.maximum(lead, 0.0), none, none)


def fit_estimate(given: Spans, codes: Codes, limit: Float) -> Spans:
    """The estimates cut and filled up to span the time from 0 to the end of their reference.

    An interval that starts after that end is left out, and so are all that are written after it; one that starts just
    there is left out by itself. An estimate without intervals becomes a single one.

    Parameters
    ----------
    given : Spans
    codes : Codes
    limit : float64 (pairs,), seconds
        The reference's end, above 0.
    """
    owner = rows_of(given.counts)
    item = np.arange(len(owner))
    late = given.start > limit[owner]
    stop = extreme(np.minimum, np.where(late, item, len(item)), given.counts, len(item))
    kept = (item < stop[owner]) & (given.start < limit[owner])
    cut = Spans(given.start, np.minimum(given.end, limit[owner]), given.code, given.counts)
    remaining = np.bincount(owner[kept], minlength=len(limit))
    lead = np.minimum(extreme(np.minimum, given.start, given.counts, np.inf), limit)
    lead = np.where((remaining == 0) & (lead <= 0), limit, np.maximum(lead, 0.0))
    last = np.maximum(extreme(np.maximum, np.where(kept, cut.end, 0.0), given.counts, 0.0), lead)
    return _extend(cut, kept, codes, lead, last, np.where(last < limit, limit, 0.0))


def _extend(given: Spans, kept: Bool, codes: Codes, lead: Float, last: Float, end: Float) -> Spans:
    """The kept intervals, one from 0 to `lead` put before and one from `last` to `end` after, where above 0."""
    owner = rows_of(given.counts)[kept]
    before, after = lead > 0, end > 0
    counts = np.bincount(owner, minlength=len(lead)).astype(np.int64)
    total = counts + before + after
    offsets = offsets_of(total)
    size = int(offsets[-1])
    start, stop, code = np.zeros(size), np.empty(size), np.empty(size, dtype=np.int64)
    place = ranges(offsets[:-1] + before, counts)
    start[place], stop[place], code[place] = given.start[kept], given.end[kept], given.code[kept]
    front, back = offsets[:-1][before], offsets[1:][after] - 1
    stop[front], code[front] = lead[before], codes.before
    start[back], stop[back], code[back] = last[after], end[after], codes.after
    return Spans(start, stop, code, total)


def count_misfits(references: Spans, estimates: Spans, limit: Float) -> Int:
    """How many ends have to be mended: late starts, and estimates that end before or after their limit, int64 (pairs,).

    An estimate without intervals has none.
    """
    late = [extreme(np.minimum, side.start, side.counts, 0.0) > 0 for side in (references, estimates)]
    other_end = (estimates.latest() != limit) & (estimates.counts > 0)
    misfits: Int = late[0].astype(np.int64) + late[1] + other_end
    return misfits
