"""Beat tracking: reference and estimate are sequences of beat times in seconds.

Beats before 5 s are left out on both sides (``trim``, and `trim_beats` for one pair). Scores are 0 if one side has no
beats. The functions are those of ``mir_eval.beat``, with the same arguments, results and errors; `TASK` holds the
metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2.
* ``mirex``: the Beat Evaluation Toolbox used by MIREX: greedy matching, P-score on frames from 0 s, and information
  gain in bits from a histogram with end bins of half the width.
* ``madmom``: evaluation of madmom, reported for most neural trackers: all beats count, triple metrical levels,
  information gain in bits, and pairs with two empty sides are right. Its functions are in
  `mirflow.metrics.beat.madmom`.

Metrics
-------
* ``f_measure`` (`f_measure`): F-measure of beats matched within 70 ms.
* ``cemgil``, ``cemgil_best`` (`cemgil`): Gaussian error of the nearest estimate, at the annotated and at the best
  metrical level.
* ``goto`` (`goto`): 1 if a long enough section is tracked without errors, else 0.
* ``p_score`` (`p_score`): correlation of both impulse trains within 0.2 median intervals.
* ``cmlc``, ``cmlt``, ``amlc``, ``amlt`` (`continuity`): longest run and number of correct beats, at the annotated
  metrical level and at any of five.
* ``information_gain`` (`information_gain`): distance of the histogram of beat errors from a uniform one.
* In ``madmom``, additionally ``precision``, ``recall`` and ``accuracy``, ``mean_error`` and ``std_error`` of matched
  times, and ``counts``, ``error_moments`` and ``error_histogram``, on request.
* ``f_measure_best``, on request: the largest F-measure over metrical levels.

References
----------
Davies, Degara and Plumbley, Evaluation methods for musical audio beat tracking algorithms, 2009; Cemgil et al. 2001;
Goto and Muraoka 1997; McKinney et al. 2007; Hainsworth 2004; Klapuri et al. 2006; Davies et al. 2011; Nieto et al.
2019.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import warn_caller
from ..events import CHECKS, MAX_TIME, Events, rows_of_times, validate_pair
from ..measures import Measure
from ..pair import PairFunctions, documented
from ..util import Array
from .kernel import TOO_CLOSE, Batch
from .metrics import METRICS, MIR_EVAL, TASK

__all__ = ["MAX_TIME", "TASK", "cemgil", "continuity", "evaluate", "f_measure", "goto", "information_gain", "p_score"]
__all__ += ["trim_beats", "validate"]


_documented = documented(
    f"""
    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds
        In order of time; only `evaluate` trims them.

    {CHECKS}
    """,
    METRICS,
)


def check_pair(reference: Array, estimate: Array, measures: Sequence[Measure]) -> None:
    """Check both sides of a pair, and warn of what measures cannot use."""
    validate(reference, estimate)
    if any(not int(measure["bins"]) % 2 for measure in measures if measure.metric.name == "information_gain"):
        warn_caller("bins parameter is even, so there will not be a bin centered at zero.")
    for side, name in ((reference, "reference"), (estimate, "estimated")):
        if side.size == 1 and any(measure.metric.needs == "intervals" for measure in measures):
            warn_caller(f"Only one {name} beat was provided, so beat intervals cannot be computed.")


def _score(reference: Array, estimate: Array, measures: Sequence[Measure]) -> Iterable[float]:
    if min(len(reference), len(estimate)) < 2:  # some measures cannot be computed
        return MIR_EVAL.score_pair(*rows_of_times(reference, estimate), measures)
    sides = [
        Events(np.asarray(times, dtype=np.float64), np.array([len(times)], dtype=np.int64))
        for times in (reference, estimate)
    ]
    batch = Batch(sides[0], sides[1])
    scores = [measure.read(batch) for measure in measures]
    if not all(measurable.all() for _, _, *others in scores for measurable in others):
        raise ValueError(TOO_CLOSE)
    return [score[0] for score, *_ in scores]


_scores = PairFunctions(METRICS, _score, check_pair, fixed={"trim": -np.inf})


@_documented
def validate(reference_beats: Array, estimated_beats: Array) -> None:
    """Check both sides of a pair."""
    validate_pair(reference_beats, estimated_beats, "beats")


def trim_beats(beats: Array, min_beat_time: float = 5.0) -> Array:
    """Remove beats before a time.

    Parameters
    ----------
    beats : (n,), seconds
    min_beat_time : float, seconds

    Returns
    -------
    (m,), seconds

    Examples
    --------
    >>> trim_beats(np.array([1.0, 5.0, 6.0])).tolist()
    [5.0, 6.0]
    """
    return beats[beats >= min_beat_time]


@_documented
def f_measure(reference_beats: Array, estimated_beats: Array, f_measure_threshold: float = 0.07) -> float:
    """F-measure of the beats that have a match within a window.

    Returns
    -------
    float
        0 if a side is empty.

    Examples
    --------
    >>> f_measure(np.array([1.0, 2.0]), np.array([1.05, 1.5]))
    0.5
    """
    return _scores("f_measure", reference_beats, estimated_beats, window=f_measure_threshold)[0]


@_documented
def cemgil(reference_beats: Array, estimated_beats: Array, cemgil_sigma: float = 0.04) -> tuple[float, float]:
    """Cemgil's score for the annotated beats and for the best metrical level.

    Returns
    -------
    cemgil_score, cemgil_max : float
        0 if a side is empty.

    Examples
    --------
    >>> cemgil(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.5]))[1]
    1.0
    """
    annotated, best = _scores("cemgil", reference_beats, estimated_beats, sigma=cemgil_sigma)
    return annotated, best


@_documented
def goto(
    reference_beats: Array,
    estimated_beats: Array,
    goto_threshold: float = 0.35,
    goto_mu: float = 0.2,
    goto_sigma: float = 0.2,
) -> float:
    """Goto's score: whether a section with at least a quarter of the beats is tracked precisely.

    Returns
    -------
    float
        1 or 0.

    Raises
    ------
    ValueError
        For a threshold that is not below 1.

    Examples
    --------
    >>> goto(np.arange(10.0), np.arange(10.0) + 0.1)
    1.0
    """
    limits = {"threshold": goto_threshold, "mu": goto_mu, "sigma": goto_sigma}
    return _scores("goto", reference_beats, estimated_beats, **limits)[0]


@_documented
def p_score(reference_beats: Array, estimated_beats: Array, p_score_threshold: float = 0.2) -> float:
    """McKinney's P-score: coincidences of impulses within a share of the beat.

    Returns
    -------
    float
        0 if a side has fewer than two beats.

    Raises
    ------
    ValueError
        If all reference beats are in one frame of 10 ms.

    Warns
    -----
    MirflowWarning
        For a side with a single beat.

    Examples
    --------
    >>> p_score(np.arange(5.0), np.arange(5.0) + 0.05)
    1.0
    """
    return _scores("p_score", reference_beats, estimated_beats, window=p_score_threshold)[0]


@_documented
def continuity(
    reference_beats: Array,
    estimated_beats: Array,
    continuity_phase_threshold: float = 0.175,
    continuity_period_threshold: float = 0.175,
) -> tuple[float, float, float, float]:
    """Shares of beats that are correct in phase and period, in the longest run and in total.

    Returns
    -------
    CMLc, CMLt, AMLc, AMLt : float
        At the annotated and at the best metrical level; 0 if a side has fewer than two beats.

    Warns
    -----
    MirflowWarning
        For a side with a single beat.

    Examples
    --------
    >>> continuity(np.arange(4.0), np.array([0.0, 1.0, 2.5, 3.0]))
    (0.5, 0.5, 0.5, 0.5)
    """
    limits = {"phase": continuity_phase_threshold, "period": continuity_period_threshold}
    cmlc, cmlt, amlc, amlt = _scores("continuity", reference_beats, estimated_beats, **limits)
    return cmlc, cmlt, amlc, amlt


@_documented
def information_gain(reference_beats: Array, estimated_beats: Array, bins: int = 41) -> float:
    """Divergence of the histogram of beat errors from a uniform one.

    Returns
    -------
    float
        In [0, 1]; 0 if a side has fewer than two beats, NaN if all estimated beats are at the same time.

    Warns
    -----
    MirflowWarning
        For a side with a single beat, and for an even number of bins, as none is centred at 0.

    Examples
    --------
    >>> information_gain(np.arange(5.0), np.arange(5.0))
    1.0
    """
    return _scores("information_gain", reference_beats, estimated_beats, bins=bins)[0]


@_documented
def evaluate(reference_beats: Array, estimated_beats: Array, **kwargs: Any) -> OrderedDict[str, float]:
    """Compute all beat scores of one estimate, after `trim_beats` of both sides.

    Parameters
    ----------
    **kwargs
        Parameters of the other functions, and ``min_beat_time`` of `trim_beats`.

    Examples
    --------
    >>> scores = evaluate(np.arange(20.0), np.arange(20.0) + 0.05)
    >>> scores["F-measure"], scores["Any Metric Level Total"]
    (1.0, 1.0)
    """
    trimming = {"min_beat_time": kwargs.pop("min_beat_time")} if "min_beat_time" in kwargs else {}
    reference, estimate = (trim_beats(side, **trimming) for side in (reference_beats, estimated_beats))
    return _scores.evaluate(reference, estimate, kwargs, "reference_beats", "estimated_beats", "min_beat_time")


FUNCTIONS = _scores.functions("As for `evaluate`.")  # Functions of the metrics that mir_eval does not have
globals().update(FUNCTIONS)
