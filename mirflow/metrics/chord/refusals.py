"""Pairs that mir_eval refuses to score because a sequence overlaps itself, and rows that make no sequence at all."""

from __future__ import annotations

import numpy as np

from ...ragged import Bool, Float, Int, Ragged, rows_of


def _within_rows(rows: Ragged) -> Bool:
    """Neighbouring intervals of one row, as a mask over the first of each two."""
    owner = rows_of(rows.counts[0])
    return np.append(owner[1:] == owner[:-1], False) if len(owner) else np.zeros(0, dtype=np.bool_)


def disordered(rows: Ragged) -> Bool:
    """Intervals that end before they start, or after which one starts or ends earlier than they do."""
    start, end = rows.columns["start"], rows.columns["end"]
    wrong = end < start
    wrong[:-1] |= (start[1:] < start[:-1]) | (end[1:] < end[:-1])
    inner = _within_rows(rows)
    return (wrong & inner) | (end < start)


def overlapping(rows: Ragged, run: Int | None) -> Bool:
    """Intervals that end after the next one of their row starts, where the two are not of one run."""
    start, end = rows.columns["start"], rows.columns["end"]
    wrong = np.zeros(len(start), dtype=np.bool_)
    wrong[:-1] = end[:-1] > start[1:]
    if run is not None:
        wrong[:-1] &= run[1:] != run[:-1]
    return wrong & _within_rows(rows)


def refuse(
    references: Ragged, estimates: Ragged, runs: tuple[Int | None, Int | None], reference_row: Int, estimate_row: Int
) -> tuple[dict[int, str], dict[int, str]]:
    """The pairs that cannot be scored, and why.

    Parameters
    ----------
    references, estimates : Ragged
    runs : tuple of int64 (intervals,) or None
        For each side, what makes neighbours one run; None: nothing does.
    reference_row, estimate_row : int64 (pairs,)

    Returns
    -------
    by_reference, by_estimate : dict of int to str
        Pairs whose reference, or else whose estimate, is at fault. An estimate is judged within the reference's span.
    """
    by_reference: dict[int, str] = {}
    by_estimate: dict[int, str] = {}
    faults = _faults(references, runs[0])
    for pair in _pairs_of(faults, reference_row):
        by_reference[pair] = "reference: " + _describe(references, int(faults[int(reference_row[pair])][0]))
    faults = _faults(estimates, runs[1])
    for pair in _pairs_of(faults, estimate_row):
        if pair not in by_reference:
            span = _span(references, int(reference_row[pair]))
            items = [item for item in faults[int(estimate_row[pair])] if _matters(estimates, int(item), span)]
            if items:
                by_estimate[pair] = "estimate: " + _describe(estimates, int(items[0]))
    return by_reference, by_estimate


def _faults(rows: Ragged, run: Int | None) -> dict[int, Int]:
    """The items at fault of each row that has some."""
    items = np.flatnonzero(disordered(rows) | overlapping(rows, run))
    if not len(items):
        return {}
    owner = np.searchsorted(rows.offsets, items, side="right") - 1
    return {int(row): items[owner == row] for row in np.unique(owner)}


def _pairs_of(faults: dict[int, Int], row: Int) -> list[int]:
    if not faults:
        return []
    return np.flatnonzero(np.isin(row, list(faults))).tolist()


def _span(rows: Ragged, row: int) -> tuple[float, float]:
    offsets = rows.offsets
    items = slice(int(offsets[row]), int(offsets[row + 1]))
    start: Float = rows.columns["start"][items]
    return (float(start.min()), float(rows.columns["end"][items].max())) if len(start) else (0.0, 0.0)


def _matters(rows: Ragged, item: int, span: tuple[float, float]) -> bool:
    """Whether a fault is still one after the row was cut to a span."""
    start, end = rows.columns["start"], rows.columns["end"]
    if end[item] < start[item] or start[item + 1] < start[item] or end[item + 1] < end[item]:
        return True
    return bool(min(end[item], span[1]) > max(start[item + 1], span[0]))


def _describe(rows: Ragged, item: int) -> str:
    start, end = rows.columns["start"], rows.columns["end"]
    interval = f"{start[item]} to {end[item]} s"
    if end[item] < start[item]:
        return f"a chord interval ends before it starts: {interval}"
    return f"chord intervals must not overlap, but {interval} is followed by {start[item + 1]} to {end[item + 1]} s"
