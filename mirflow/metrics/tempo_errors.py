"""Kinds of errors of tempi."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ..ragged import Float, Ragged
from .edits import RIGHT, Edits, ErrorBudget, ErrorKind
from .measures import Measure

_KINDS = (
    ErrorKind("half", "half or a third of the tempo"),
    ErrorKind("double", "twice or three times the tempo"),
    ErrorKind("other", "another tempo"),
    ErrorKind("near", "a tempo within the tolerance that has another value, place or salience"),
    ErrorKind("missing", "a second tempo of the reference without an estimate"),
    ErrorKind("extra", "a second estimate without a tempo of the reference"),
)
_HALF, _DOUBLE, _OTHER, _NEAR, _MISSING, _EXTRA = range(len(_KINDS))
_OCTAVES = ((_HALF, (1 / 2, 1 / 3)), (_DOUBLE, (2.0, 3.0)))
_TOLERANCE = 0.08


def _classify(reference: float, estimate: float, tolerance: float) -> int:
    if abs(reference - estimate) <= tolerance * reference:
        return RIGHT
    for kind, factors in _OCTAVES:
        if any(abs(reference * factor - estimate) <= tolerance * reference * factor for factor in factors):
            return kind
    return _OTHER


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    tolerance = float(measure.parameters.get("tol", _TOLERANCE))
    tempi: list[list[float]] = [rows.columns["tempo"].tolist() for rows in (reference, estimate)]
    kinds = np.full(len(tempi[0]), _MISSING), np.full(len(tempi[1]), _EXTRA)
    size = min(map(len, tempi))
    pairs = (
        [*zip(own, column, strict=True)]
        for own in permutations(range(len(tempi[0])), size)
        for column in permutations(range(len(tempi[1])), size)
    )
    # The pairs with the most right tempi, then with the most octaves.
    ranks = {RIGHT: 0, _HALF: 1, _DOUBLE: 1, _OTHER: 4}
    best = min(pairs, key=lambda each: sum(ranks[_classify(tempi[0][i], tempi[1][j], tolerance)] for i, j in each))
    for row, column in best:
        kind = _classify(tempi[0][row], tempi[1][column], tolerance)
        if exact and kind == RIGHT:
            pairs_of_values = (
                (reference.columns[name][row], estimate.columns[name][column]) for name in reference.columns
            )
            same = all(np.array_equal(*values, equal_nan=True) for values in pairs_of_values)
            kind = RIGHT if row == column and same else _NEAR
        kinds[0][row] = kinds[1][column] = kind
    order: list[Float] = [np.arange(len(side), dtype=np.float64) for side in tempi]
    return Edits(reference, estimate, kinds[0], kinds[1], order=(order[0], order[1]))


TEMPI = ErrorBudget(_KINDS, _align)
