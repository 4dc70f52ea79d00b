"""How each beat measure is read off a batch: its score and its weight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ragged import Bool, Float, Int
from ..base.identity import Measure
from .batch import Batch
from .continuity import continuity
from .errors import bin_edges, information_gain
from .gaussian import cemgil
from .goto import goto
from .hits import at_levels
from .impulses import Choices, p_score
from .levels import CHOICES

Reading = Callable[[Batch, Measure], tuple[Float, Float]]
"""Batch and measure -> score and weight, float64 (pairs,) each."""


def choices_of(measure: Measure) -> Choices:
    """The parameters of a P-score."""
    return Choices(
        float(measure["window"]),
        bool(measure["remove_offset"]),
        str(measure["normaliser"]),
        str(measure["rounding"]),
    )


def measurable(batch: Batch, measure: Measure) -> Bool:
    """The pairs of which the P-score can be measured."""
    return _p_score(batch, measure)[2]


def _p_score(batch: Batch, measure: Measure) -> tuple[Float, Float, Bool]:
    choices = choices_of(measure)
    return batch.once(choices, lambda: p_score(batch, choices))


def _best(score: Float, denominator: Float) -> tuple[Float, Float]:
    """The best level's score and its denominator; the first one on ties."""
    chosen = score.argmax(axis=1)[:, np.newaxis]
    return np.take_along_axis(score, chosen, 1)[:, 0], np.take_along_axis(denominator, chosen, 1)[:, 0]


def _annotated(score: Float, denominator: Float) -> tuple[Float, Float]:
    return score[:, 0], denominator[:, 0]


def _f_measure(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    found = at_levels(batch, float(measure["window"]), str(measure["matching"]), ("annotated",))
    return _annotated(*found)


def _f_measure_best(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    levels = CHOICES[str(measure["levels"])]
    return _best(*at_levels(batch, float(measure["window"]), str(measure["matching"]), levels))


def _goto(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    limits = float(measure["threshold"]), float(measure["mu"]), float(measure["sigma"])
    return goto(batch, *limits), np.ones(len(batch.reference))


def _longest(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    longest, _, denominator = continuity(batch, float(measure["phase"]), float(measure["period"]))
    return longest, denominator


def _total(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    _, total, denominator = continuity(batch, float(measure["phase"]), float(measure["period"]))
    return total, denominator


def _information_gain(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    edges = bin_edges(int(measure["bins"]), str(measure["edges"]))
    return information_gain(batch, edges, bool(measure["normalise"])), np.ones(len(batch.reference))


OF_EVENTS: dict[str, Reading] = {
    "f_measure": _f_measure,
    "f_measure_best": _f_measure_best,
    "cemgil": lambda batch, measure: _annotated(*cemgil(batch, float(measure["sigma"]))),
    "cemgil_best": lambda batch, measure: _best(*cemgil(batch, float(measure["sigma"]))),
    "goto": _goto,
}
"""Measures that need one beat on each side."""

OF_INTERVALS: dict[str, Reading] = {
    "p_score": lambda batch, measure: _p_score(batch, measure)[:2],
    "cmlc": lambda batch, measure: _annotated(*_longest(batch, measure)),
    "cmlt": lambda batch, measure: _annotated(*_total(batch, measure)),
    "amlc": lambda batch, measure: _best(*_longest(batch, measure)),
    "amlt": lambda batch, measure: _best(*_total(batch, measure)),
    "information_gain": _information_gain,
}
"""Measures that need two beats on each side, because they use intervals; otherwise they are 0."""


def plain_weight(name: str, references: Int, estimates: Int) -> Float:
    """The weight of a measure that is 0 because there are not enough beats.

    Parameters
    ----------
    name : str
        Of the measure.
    references, estimates : int64 (pairs,)
        Numbers of beats.

    Examples
    --------
    >>> plain_weight("f_measure", np.array([4]), np.array([0])), plain_weight("goto", np.array([4]), np.array([0]))
    (array([2.]), array([1.]))
    """
    if name in ("goto", "information_gain"):
        return (references > 0).astype(np.float64)
    if name in OF_INTERVALS:
        return np.maximum(references, estimates).astype(np.float64)
    return 0.5 * (references + estimates).astype(np.float64)
