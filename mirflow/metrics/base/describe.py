"""What a stored score says about its metric: coordinates along the dim ``metric``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ragged import Column
from .identity import Measure

DESCRIBED = ("title", "unit", "orientation", "pooling", "standard_aggregate", "aggregates", "version", "weight_unit")
STORED = frozenset(
    {"system", "track", "score", "weight", "status", "repairs", "message", "digest", "stamp", "duration"}
)
"""Names that a store gives to its own dims and variables."""


def describe(measures: Sequence[Measure]) -> dict[str, Column]:
    """Coordinates along ``metric`` for some measures.

    Parameters
    ----------
    measures : sequence of Measure

    Returns
    -------
    dict of str to array (measures,)
        ``metric`` (identity strings), the fields of the records named in ``DESCRIBED`` (``aggregates`` separated by
        blanks), and one coordinate for each parameter that any of the measures has: NaN for numbers and an empty
        string for names where a measure lacks it.

    Examples
    --------
    >>> from mirflow.metrics.base import Metric
    >>> describe([Measure(Metric("majmin", "MajMin", "", "seconds"))])["aggregates"].tolist()
    ['mean median pooled']
    """
    columns: dict[str, Column] = {"metric": np.array([str(measure) for measure in measures], dtype=str)}
    for name in DESCRIBED:
        values = [getattr(measure.metric, name) for measure in measures]
        columns[name] = np.array([" ".join(value) if isinstance(value, tuple) else value for value in values])
    for name in dict.fromkeys(name for measure in measures for name in measure.parameters):
        column = _parameter(name, measures)
        # A parameter must not shadow a dim or variable of the store, or a field of the record.
        columns[f"parameter_{name}" if name in columns or name in STORED else name] = column
    return columns


def _parameter(name: str, measures: Sequence[Measure]) -> Column:
    values = [measure.parameters.get(name) for measure in measures]
    numbers = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
    if numbers:
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array(["" if value is None else str(value) for value in values], dtype=str)
