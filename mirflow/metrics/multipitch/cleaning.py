"""What can be scored as multiple F0 estimates: finite times, and frequencies that a pitch may have."""

from __future__ import annotations

import numpy as np

from ...annotations.rules import inspect
from ...annotations.schema import KINDS
from ...ragged import Bool, Ragged, ranges, rows_of
from ..base.flaws import Problem, impossible_times, set_aside
from ..base.nested import drop_items, empty_rows
from ..base.task import Cleaned

MAX_TIME = 30000.0
"""Later times, in seconds, are taken for a wrong unit."""
MAX_FREQ = 5000.0
"""Higher pitches, in Hz, are taken for a wrong unit."""
MIN_FREQ = 20.0
"""Lower pitches, in Hz, are taken for a wrong unit."""

_ACCEPTABLE = ("negative", "unsorted")


def clean(rows: Ragged) -> Cleaned:
    """Make rows of frames fit to be scored.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns time (float64, seconds) of depth 1 and frequency (float64, Hz).

    Returns
    -------
    Cleaned
        Rows in order of time. Flaws, counted in frames, are times that are not finite or later than `MAX_TIME`, and
        frequencies that are not from `MIN_FREQ` to `MAX_FREQ`. Frequencies of 0, which some files use as filling, are
        dropped. Frames with such, and those that are out of order or before 0 s, are counted in `repairs`.

    Examples
    --------
    >>> columns = {"time": np.array([0.0, 0.1, 0.0]), "frequency": np.array([220.0, 0.0, 440.0, 7.0])}
    >>> rows = Ragged(columns, (np.array([2, 1]), np.array([2, 1, 1])), depths={"time": 1})
    >>> cleaned = clean(rows)
    >>> cleaned.rows.columns["frequency"].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([220.0, 440.0], [1, 0], 'frequency is not from 20 to 5000 Hz: 7.0')
    """
    times, frequency = rows.columns["time"], rows.columns["frequency"]
    frames = Ragged({"time": times}, (rows.counts[0],))
    findings = inspect(KINDS["events"], frames)
    filling = frequency == 0
    bad = ~((frequency >= MIN_FREQ) & (frequency <= MAX_FREQ)) & ~filling
    holder = rows_of(rows.counts[1])
    first_bad = {int(holder[item]): float(frequency[item]) for item in np.flatnonzero(bad)[::-1].tolist()}
    problems: list[Problem] = [
        (times > MAX_TIME, lambda item: f"time is later than {MAX_TIME:.0f} s: {times[item]}"),
        (
            _mask(list(first_bad), len(times)),
            lambda item: f"frequency is not from {MIN_FREQ:g} to {MAX_FREQ:g} Hz: {first_bad[item]}",
        ),
    ]
    problems = impossible_times(findings, frames) + problems
    irregular = _mask(holder[filling].tolist(), len(times))
    for name in _ACCEPTABLE:
        if name in findings:
            irregular |= findings[name].items
    cleaned = set_aside(frames, problems, irregular)
    if filling.any():
        rows = drop_items(rows, filling)
    if cleaned.flaws:
        rows = empty_rows(rows, _mask(list(cleaned.flaws), len(rows)))
    return Cleaned(_in_order(rows) if "unsorted" in findings else rows, cleaned.repairs, cleaned.flaws)


def _mask(places: list[int], size: int) -> Bool:
    mask = np.zeros(size, dtype=np.bool_)
    mask[places] = True
    return mask


def _in_order(rows: Ragged) -> Ragged:
    order = np.lexsort((rows.columns["time"], rows_of(rows.counts[0])))
    first = np.cumsum(rows.counts[1]) - rows.counts[1]
    inner = rows.counts[1][order]
    columns = {
        "time": rows.columns["time"][order],
        "frequency": rows.columns["frequency"][ranges(first[order], inner)],
    }
    return Ragged(columns, (rows.counts[0], inner), rows.labels, rows.depths)
