"""How mir_eval's functions for one pair reach the batched kernel: a batch of one, of beats that are trimmed already."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from ...errors import MirflowWarning
from ...ragged import Float
from ..base.identity import Measure
from ..base.record import Value
from ..checks import Array
from ..events import one_row
from .records import MIR_EVAL
from .scoring import score

OF_FUNCTION = {"cemgil": ("cemgil", "cemgil_best"), "continuity": ("cmlc", "cmlt", "amlc", "amlt")}
"""Functions of mir_eval with several results -> the measures they return."""

MEASURES = {measure.metric.name: measure for measure in MIR_EVAL.select()}
"""The default measures by name."""


def measures_of(function: str, given: Mapping[str, Value]) -> list[Measure]:
    """The measures that a function of mir_eval computes, with some parameters set."""
    found = []
    for name in OF_FUNCTION.get(function, (function,)):
        values = {**MEASURES[name].parameters, **given, "trim": -np.inf}
        found.append(Measure(MEASURES[name].metric, tuple(values.values())))
    return found


def scores_of(function: str, reference: Array, estimate: Array, **given: Value) -> list[float]:
    """The results of a function of mir_eval."""
    return [float(value) for value in score_pair(reference, estimate, measures_of(function, given))]


def score_pair(reference: Array, estimate: Array, measures: list[Measure]) -> Float:
    """Scores of one pair: float64 (measures,)."""
    only = np.zeros(1, dtype=np.int64)
    scores = score(one_row(reference), one_row(estimate), only, only, measures)
    if scores.refused:
        raise ValueError(scores.refused[0])
    found: Float = scores.score[0]
    return found


def warn_of_single_beats(reference: Array, estimate: Array) -> None:
    """Warn of a side that has a single beat."""
    for side, name in ((reference, "reference"), (estimate, "estimated")):
        if side.size == 1:
            text = f"Only one {name} beat was provided, so beat intervals cannot be computed."
            warnings.warn(text, MirflowWarning, stacklevel=3)


def warn_of_even_bins(bins: int) -> None:
    """Warn of an even number of bins."""
    if not bins % 2:
        text = "bins parameter is even, so there will not be a bin centered at zero."
        warnings.warn(text, MirflowWarning, stacklevel=3)
