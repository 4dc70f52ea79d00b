"""What can be scored as a tempo: one or two numbers that are finite and not negative, and saliences like that."""

from __future__ import annotations

import numpy as np

from ...ragged import Ragged, rows_of
from ..base.flaws import Problem, set_aside
from ..base.task import Cleaned


def clean(rows: Ragged) -> Cleaned:
    """Find the rows that are no tempo annotations; nothing is mended.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns tempo (float64, beats per minute) and perhaps salience.

    Returns
    -------
    Cleaned
        Flaws are a third tempo, tempi that are negative or not finite, and saliences that are negative or infinite;
        a salience of NaN is one that is not given.

    Examples
    --------
    >>> cleaned = clean(Ragged({"tempo": np.array([60.0, -1.0])}, (np.array([1, 1]),)))
    >>> cleaned.flaws[1].message
    'tempo is negative: -1.0 beats per minute'
    """
    tempo = rows.columns["tempo"]
    owner = rows_of(rows.counts[0])
    place = np.arange(len(owner)) - rows.offsets[:-1][owner]
    problems: list[Problem] = [
        (~np.isfinite(tempo), lambda item: f"tempo is not finite: {tempo[item]}"),
        (tempo < 0, lambda item: f"tempo is negative: {tempo[item]} beats per minute"),
        (place > 1, lambda item: f"a track has one or two tempi, and this is one more: {tempo[item]}"),
    ]
    if "salience" in rows.columns:
        salience = rows.columns["salience"]
        problems.append(
            ((salience < 0) | np.isinf(salience), lambda item: f"salience must be 0 or more, but is {salience[item]}")
        )
    return set_aside(rows, problems)
