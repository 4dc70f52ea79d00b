"""What can be scored as a melody: finite times and frequencies, and degrees of voicing from 0 to 1."""

from __future__ import annotations

import numpy as np

from ...annotations.rules import inspect
from ...annotations.schema import KINDS
from ...ragged import Bool, Float, Ragged, rows_of
from ..base.flaws import Problem, impossible_times, set_aside
from ..base.task import Cleaned

MIN_FREQUENCY, MAX_FREQUENCY = 1e-9, 1e9
"""Other frequencies, in Hz, are those of no pitch; cents would overflow."""

_ACCEPTABLE = ("negative", "unsorted", "duplicate")


def clean(rows: Ragged) -> Cleaned:
    """Make rows of melodies fit to be scored.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns time (float64, seconds), frequency (float64, Hz) and perhaps voicing, which is
        NaN throughout a row that has none.

    Returns
    -------
    Cleaned
        Rows in order of time. Flaws are times and frequencies that are not finite or hardly in seconds and Hz, and
        voicing that is not from 0 to 1. Samples that are out of order, before 0 s or at the time of the one before them
        are counted in `repairs`; all of them are kept, and of several at one time the last one holds.

    Examples
    --------
    >>> columns = {"time": np.array([0.1, 0.0, 0.0]), "frequency": np.array([220.0, 0.0, np.nan])}
    >>> cleaned = clean(Ragged(columns, (np.array([2, 1]),)))
    >>> cleaned.rows.columns["time"].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([0.0, 0.1], [1, 0], 'frequency is not finite: nan')
    """
    times, frequency = rows.columns["time"], rows.columns["frequency"]
    findings = inspect(KINDS["events"], rows)  # whose rules also name times that repeat
    problems: list[Problem] = [
        (~np.isfinite(frequency), lambda item: f"frequency is not finite: {frequency[item]}"),
        (_is_no_pitch(frequency), lambda item: f"frequency is not in Hz: {frequency[item]}"),
    ]
    problems = impossible_times(findings, rows) + problems
    if "voicing" in rows.columns:
        problems.append(_voicing_problem(rows))
    irregular = np.zeros(len(times), dtype=np.bool_)
    for name in _ACCEPTABLE:
        if name in findings:
            irregular |= findings[name].items
    cleaned = set_aside(rows, problems, irregular)
    if "unsorted" not in findings:
        return cleaned
    kept = cleaned.rows
    order = np.lexsort((kept.columns["time"], rows_of(kept.counts[0])))
    columns = {name: column[order] for name, column in kept.columns.items()}
    return Cleaned(Ragged(columns, kept.counts, kept.labels), cleaned.repairs, cleaned.flaws)


def _is_no_pitch(frequency: Float) -> Bool:
    size = np.abs(frequency)
    return np.asarray((size > MAX_FREQUENCY) | ((size < MIN_FREQUENCY) & (size > 0)))


def _voicing_problem(rows: Ragged) -> Problem:
    voicing, owner = rows.columns["voicing"], rows_of(rows.counts[0])
    given = np.zeros(len(rows), dtype=np.bool_)
    given[owner[~np.isnan(voicing)]] = True
    outside = ~((voicing >= 0) & (voicing <= 1)) & given[owner]
    return outside, lambda item: f"voicing is not from 0 to 1: {voicing[item]}"
