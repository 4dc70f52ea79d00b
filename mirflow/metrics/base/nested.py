"""Nested rows without the ones that cannot be scored, and without items that are to be dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ragged import Bool, Int, Ragged, rows_of
from .flaws import Problem
from .task import Cleaned, Flaw


def row_of_items(rows: Ragged) -> Int:
    """The row of each innermost item.

    Examples
    --------
    >>> row_of_items(Ragged({}, (np.array([1, 2]), np.array([2, 0, 1])))).tolist()
    [0, 0, 1]
    """
    owner = rows_of(rows.counts[0])
    for inner in rows.counts[1:]:
        owner = np.repeat(owner, inner)
    return owner


def emptied(given: Ragged, cleaned: Ragged) -> Bool:
    """The rows that held something before they were cleaned and hold nothing now: bool (rows,).

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0])}, (np.array([1, 1, 0]),))
    >>> emptied(rows, rows.keep(np.array([True, False]))).tolist()
    [False, True, False]
    """
    before, now = (np.bincount(row_of_items(rows), minlength=len(rows)) for rows in (given, cleaned))
    gone: Bool = (before > 0) & (now == 0)
    return gone


def drop_items(rows: Ragged, dropped: Bool) -> Ragged:
    """Nested rows without some innermost items; what held them stays, perhaps empty.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0])}, (np.array([1]), np.array([2])))
    >>> drop_items(rows, np.array([True, False])).columns["start"].tolist()
    [1.0]
    """
    holder = rows_of(rows.counts[-1])[~dropped]
    counts = np.bincount(holder, minlength=len(rows.counts[-1])).astype(np.int64)
    innermost = len(rows.counts)
    columns = {name: c[~dropped] if rows.depth(name) == innermost else c for name, c in rows.columns.items()}
    return Ragged(columns, (*rows.counts[:-1], counts), rows.labels, rows.depths)


def empty_rows(rows: Ragged, emptied: Bool) -> Ragged:
    """Nested rows of which some lose all they hold.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0])}, (np.array([1, 1]), np.array([1, 1])))
    >>> empty_rows(rows, np.array([True, False])).counts
    (array([0, 1]), array([1]))
    """
    counts = [np.where(emptied, 0, rows.counts[0])]
    kept = np.repeat(~emptied, rows.counts[0])
    masks = [kept]
    for inner in rows.counts[1:]:
        counts.append(inner[kept])
        kept = np.repeat(kept, inner)
        masks.append(kept)
    columns = {name: column[masks[rows.depth(name) - 1]] for name, column in rows.columns.items()}
    return Ragged(columns, tuple(counts), rows.labels, rows.depths)


def set_aside_nested(rows: Ragged, problems: Sequence[Problem], dropped: Bool) -> Cleaned:
    """Empty the rows that hold a flawed item, tell why, and drop items from the others.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs, two or more levels deep.
    problems : sequence of (bool (items,), callable)
        Where innermost items are flawed, and the message for one, given its place among all items.
    dropped : bool (items,)
        Items to drop; they are counted in `repairs`.

    Returns
    -------
    Cleaned

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, -1.0, 2.0])}, (np.array([1, 1]), np.array([2, 1])))
    >>> none = np.zeros(3, dtype=bool)
    >>> set_aside_nested(rows, [(rows.columns["start"] < 0, "item {} is negative".format)], none).flaws
    {0: Flaw(item=1, message='item 1 is negative')}
    """
    owner = row_of_items(rows)
    first = np.searchsorted(owner, np.arange(len(rows)))
    found: dict[int, Flaw] = {}
    for mask, describe in problems:
        for item in np.flatnonzero(mask).tolist():
            row = int(owner[item])
            place = item - int(first[row])
            if row not in found or place < found[row].item:
                found[row] = Flaw(place, describe(item))
    flawed = np.zeros(len(rows), dtype=np.bool_)
    flawed[list(found)] = True
    repairs = np.bincount(owner[dropped & ~flawed[owner]], minlength=len(rows)).astype(np.int64)
    if found:
        dropped = dropped[~flawed[owner]]
        rows = empty_rows(rows, flawed)
    return Cleaned(drop_items(rows, dropped) if dropped.any() else rows, repairs, dict(sorted(found.items())))
