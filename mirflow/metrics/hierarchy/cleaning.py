"""What the hierarchy metrics take: segments with some length, and possible times."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...annotations.rules import inspect
from ...annotations.schema import KINDS
from ...ragged import Ragged
from ..base.nested import set_aside_nested
from ..base.task import Cleaned

_IMPOSSIBLE = ("not_finite", "too_late", "negative", "reversed")


def clean(rows: Ragged) -> Cleaned:
    """Make rows fit for scoring: segments without length are dropped and counted.

    Levels that do not nest, gaps, overlaps and segments out of order mean something to the metrics and stay.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds) and label; counts of levels and of segments.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, negative or reversed.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 0.0, 3.0]), "end": np.array([9.0, 3.0, 3.0]),
    ...                "label": np.array([0, 1, 2])}, (np.array([2]), np.array([1, 2])), ("A", "a", "b"))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[1].tolist(), cleaned.repairs.tolist()
    ([1, 1], [1])
    """
    findings = inspect(KINDS["hierarchy"], rows)
    problems = [
        (findings[name].items, partial(findings[name].describe, rows)) for name in _IMPOSSIBLE if name in findings
    ]
    nothing = np.zeros(len(rows.columns["start"]), dtype=np.bool_)
    return set_aside_nested(rows, problems, findings["zero_length"].items if "zero_length" in findings else nothing)
