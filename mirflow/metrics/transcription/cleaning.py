"""What makes rows of notes fit to be scored."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...annotations.rules import inspect
from ...annotations.schema import KINDS
from ...ragged import Ragged
from ..base.flaws import Problem, set_aside
from ..base.task import Cleaned

_IMPOSSIBLE = ("not_finite", "too_late", "reversed", "negative")


def clean(rows: Ragged) -> Cleaned:
    """Make rows of notes fit to be scored.

    Notes without length are dropped and counted in `repairs`; their order is kept, which carries no meaning.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds), pitch (float64, Hz), perhaps velocity and label.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, negative or hardly in seconds, notes that end before they start, and
        pitches that are not finite or not above 0. Velocities are looked at only by the metrics that need them.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0, 2.0]), "end": np.array([1.0, 1.0, 3.0]),
    ...                "pitch": np.array([440.0, 440.0, 0.0])}, (np.array([2, 1]),))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([1, 0], [1, 0], 'pitch is not above 0 Hz: 0.0')
    """
    findings, pitch = inspect(KINDS["notes"], rows), rows.columns["pitch"]
    found = [findings[name] for name in _IMPOSSIBLE if name in findings]
    problems: list[Problem] = [(one.items, partial(one.describe, rows)) for one in found]
    problems.append((~np.isfinite(pitch), lambda item: f"pitch is not finite: {pitch[item]}"))
    problems.append((pitch <= 0, lambda item: f"pitch is not above 0 Hz: {pitch[item]}"))
    if "zero_length" not in findings:
        return set_aside(rows, problems)
    cleaned = set_aside(rows, problems, findings["zero_length"].items)
    kept = cleaned.rows.columns["end"] > cleaned.rows.columns["start"]
    return Cleaned(cleaned.rows.keep(kept), cleaned.repairs, cleaned.flaws)
