"""Rows without the ones that cannot be scored: the first flaw of each, and the irregularities of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.rules import Finding
from ...errors import AnnotationError
from ...ragged import Bool, Ragged, rows_of
from .task import Cleaned, Flaw

Problem = tuple[Bool, Callable[[int], str]]
"""A mask over the items, and what is wrong with one of them, given its place among all items."""


def set_aside(rows: Ragged, problems: Sequence[Problem], irregular: Bool | None = None) -> Cleaned:
    """Empty the rows that hold a flawed item and tell why.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs, one level deep.
    problems : sequence of (bool (items,), callable)
        Where items are flawed, and the message for one. If an item has several flaws, the first of this order is told.
    irregular : bool (items,) or None
        Items that are acceptable and counted in `repairs`.

    Returns
    -------
    Cleaned
        The same rows if there is no flaw.

    Examples
    --------
    >>> rows = Ragged({"time": np.array([0.5, -1.0, 2.0])}, (np.array([2, 1]),))
    >>> cleaned = set_aside(rows, [(rows.columns["time"] < 0, lambda item: f"item {item} is negative")])
    >>> cleaned.rows.counts[0].tolist(), cleaned.flaws
    ([0, 1], {0: Flaw(item=1, message='item 1 is negative')})
    """
    owner = rows_of(rows.counts[0])
    first: dict[int, int] = {}
    message: dict[int, str] = {}
    for mask, describe in problems:
        for item in np.flatnonzero(mask).tolist():
            row = int(owner[item])
            if row not in first or item < first[row]:
                first[row], message[row] = item, describe(item)
    offsets = rows.offsets
    flaws = {row: Flaw(item - int(offsets[row]), message[row]) for row, item in sorted(first.items())}
    spared = ~np.isin(owner, list(flaws))
    counted = spared & irregular if irregular is not None else np.zeros(len(owner), dtype=np.bool_)
    repairs = np.bincount(owner[counted], minlength=len(rows)).astype(np.int64)
    return Cleaned(rows.keep(spared) if flaws else rows, repairs, flaws)


def impossible_times(findings: Mapping[str, Finding], rows: Ragged) -> list[Problem]:
    """What :func:`mirflow.annotations.rules.inspect` found that is no time at all, as problems.

    Examples
    --------
    >>> from mirflow.annotations.rules import inspect
    >>> from mirflow.annotations.schema import KINDS
    >>> rows = Ragged({"time": np.array([0.5, 1e300])}, (np.array([2]),))
    >>> ((mask, describe),) = impossible_times(inspect(KINDS["events"], rows), rows)
    >>> mask.tolist(), describe(1)
    ([False, True], 'time is not in seconds, as it is beyond 1e+09: 1e+300')
    """
    found = (findings[name] for name in ("not_finite", "too_late") if name in findings)
    return [(finding.items, partial(finding.describe, rows)) for finding in found]


def usable(annotation: Annotation, cleaned: Cleaned, side: str) -> Ragged:
    """The only row of a cleaned annotation; its flaw is an error that names the file and the line.

    Raises
    ------
    AnnotationError
        If the row has a flaw.
    """
    for flaw in cleaned.flaws.values():
        path = annotation.file(flaw.item) or annotation.attrs.get("source")
        raise AnnotationError(
            f"{side}: {flaw.told(annotation)}",
            path=None if path is None else str(path),
            line=annotation.line(flaw.item),
        )
    return cleaned.rows
