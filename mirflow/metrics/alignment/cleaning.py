"""What can be scored as an alignment: times in order, finite and not negative."""

from __future__ import annotations

from collections.abc import Callable

from ...annotations.rules import Finding, inspect
from ...annotations.schema import KINDS
from ...ragged import Ragged
from ..base.flaws import Problem, set_aside
from ..base.task import Cleaned

_FLAWS = ("not_finite", "too_late", "negative", "unsorted")


def clean(rows: Ragged) -> Cleaned:
    """Find the rows that cannot be aligned event by event; nothing is mended, because the order says which is which.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: column time (float64, seconds).

    Returns
    -------
    Cleaned
        Flaws are times that are negative, not finite or out of order. Times that repeat are counted in `repairs`.

    Examples
    --------
    >>> import numpy as np
    >>> cleaned = clean(Ragged({"time": np.array([1.0, 1.0, 2.0, 1.5])}, (np.array([2, 2]),)))
    >>> cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([1, 0], 'is at 1.5 s, before the row above it (2.0 s)')
    """
    findings = inspect(KINDS["events"], rows)
    problems: list[Problem] = [
        (findings[name].items, _describe(findings[name], rows)) for name in _FLAWS if name in findings
    ]
    repeated = findings.get("duplicate")
    return set_aside(rows, problems, None if repeated is None else repeated.items)


def _describe(finding: Finding, rows: Ragged) -> Callable[[int], str]:
    return lambda item: finding.describe(rows, item)
