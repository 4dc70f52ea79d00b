"""What can be scored as notes of a score with their onsets in a performance."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...annotations.rules import inspect
from ...annotations.schema import KINDS, LATEST
from ...ragged import Float, Ragged
from ..base.flaws import Problem, set_aside
from ..base.task import Cleaned


def clean(rows: Ragged) -> Cleaned:
    """Find the rows with impossible times; nothing is mended, and the order stays: the first report of a note counts.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns time, position (float64, seconds), perhaps detected (seconds) and pitch (MIDI).

    Returns
    -------
    Cleaned
        All four columns; what is absent is NaN. Flaws are onsets that are negative, not finite or hardly in
        seconds, positions and times of detection likewise (which may be negative), and infinite pitches.

    Examples
    --------
    >>> cleaned = clean(Ragged({"time": np.array([1.0, -0.5]), "position": np.array([0.0, 0.5])}, (np.array([1, 1]),)))
    >>> cleaned.rows.counts[0].tolist(), cleaned.flaws[1].message
    ([1, 0], 'time is negative: -0.5 s')
    """
    findings = inspect(KINDS["following"], rows)
    problems: list[Problem] = [(finding.items, partial(finding.describe, rows)) for finding in findings.values()]
    nothing = np.full(len(rows.columns["time"]), np.nan)
    columns: dict[str, Float] = {
        name: rows.columns.get(name, nothing) for name in ("time", "detected", "position", "pitch")
    }
    position, detected, pitch = columns["position"], columns["detected"], columns["pitch"]
    problems += [
        (~np.isfinite(position), lambda item: f"the position in the score is not finite: {position[item]}"),
        (np.abs(position) > LATEST, lambda item: f"the position in the score is not in seconds: {position[item]}"),
        (np.isinf(detected), lambda item: f"the time of detection is not finite: {detected[item]}"),
        (np.abs(detected) > LATEST, lambda item: f"the time of detection is not in seconds: {detected[item]}"),
        (np.isinf(pitch), lambda item: f"the pitch is not finite: {pitch[item]}"),
    ]
    return set_aside(Ragged(columns, rows.counts), problems)
