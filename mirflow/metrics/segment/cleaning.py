"""What convention mir_eval takes: intervals with some length and finite times, in any order, overlapping or not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ...annotations.rules import inspect
from ...annotations.schema import KINDS
from ...ragged import Ragged
from ..base.flaws import set_aside
from ..base.task import Cleaned

_IMPOSSIBLE = ("not_finite", "too_late", "reversed")
_IRREGULAR = ("zero_length", "negative", "unsorted", "overlap", "gap")


def clean(rows: Ragged) -> Cleaned:
    """Make rows fit for mir_eval's rules.

    Intervals without length are dropped, and those before time 0 cut; both are counted, and so are intervals out of
    order, overlaps and gaps, which stay as they are: of intervals that overlap, the later row counts.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds) and label.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, and intervals that end before they start.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([-1.0, 2.0, 2.0]), "end": np.array([2.0, 2.0, 3.0]),
    ...                "label": np.array([0, 0, 0])}, (np.array([3]),), ("A",))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.columns["start"].tolist(), cleaned.repairs.tolist()
    ([0.0, 2.0], [2])
    """
    cleaned = _look_through(rows)
    start, end = (np.maximum(cleaned.rows.columns[name], 0.0) for name in ("start", "end"))
    if (end > start).all() and (start == cleaned.rows.columns["start"]).all():
        return cleaned
    cut = Ragged({**cleaned.rows.columns, "start": start, "end": end}, cleaned.rows.counts, rows.labels)
    return replace(cleaned, rows=cut.keep(end > start))


def clean_as_given(rows: Ragged) -> Cleaned:
    """The same for convention mirex, which takes all other intervals as they are.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 2.0]), "end": np.array([2.0, 1.0]), "label": np.array([0, 0])},
    ...               (np.array([2]),), ("A",))
    >>> clean_as_given(rows).flaws[0].message
    'interval ends before it starts: 2.0 to 1.0 s'
    """
    return _look_through(rows)


def _look_through(rows: Ragged) -> Cleaned:
    """Rows with impossible times set aside, and what is irregular counted."""
    findings = inspect(KINDS["intervals"], rows)
    irregular = np.zeros(len(rows.columns["start"]), dtype=np.bool_)
    for name in findings.keys() & set(_IRREGULAR):
        irregular |= findings[name].items
    found = [findings[name] for name in _IMPOSSIBLE if name in findings]
    return set_aside(rows, [(one.items, partial(one.describe, rows)) for one in found], irregular)
