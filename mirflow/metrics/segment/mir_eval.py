"""mir_eval's segment functions for one pair: its checks, then a batch of one."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence, Sized
from typing import Any

import numpy as np

from ...errors import MirflowWarning, refuse_unknown
from ...kernels.clustering import tabulate
from ...ragged import Int, Ragged
from ..base import Measure
from ..pair import PairFunctions
from ..util import BOUNDED, Array, adjust_intervals, are_times, validate_intervals
from . import kernel as of
from .kernel import (
    MOST_FRAMES,
    Boundaries,
    LabelAgreement,
    LabelledSpans,
    Scored,
    Three,
    detect,
    deviate,
    encode,
    find_boundaries,
    sample,
    too_long,
)
from .metrics import METRICS, MIR_EVAL


def _warn_empty(reference: Sized, estimate: Sized, least: int = 1) -> None:
    for side, intervals in (("Reference", reference), ("Estimated", estimate)):
        if len(intervals) < least:
            warnings.warn(f"{side} intervals are empty.", MirflowWarning, stacklevel=4)


def validate_boundary(reference_intervals: Array, estimated_intervals: Array, trim: bool) -> None:
    """Check two sequences of segments whose boundaries are to be compared.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
    trim : bool
        Whether the first and the last boundary will be left out.

    Raises
    ------
    ValueError
        If either is no valid array of intervals.

    Warns
    -----
    MirflowWarning
        For each side with too few intervals to leave a boundary.

    Examples
    --------
    >>> validate_boundary(np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]]), trim=False)
    """
    _warn_empty(reference_intervals, estimated_intervals, 2 if trim else 1)
    for intervals in (reference_intervals, estimated_intervals):
        validate_intervals(intervals)


def validate_structure(
    reference_intervals: Array,
    reference_labels: Sequence[Any],
    estimated_intervals: Array,
    estimated_labels: Sequence[Any],
) -> None:
    """Check two sequences of labelled segments that are to be compared.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
        Both from time 0 to the same end.
    reference_labels, estimated_labels : sequence
        One for each interval.

    Raises
    ------
    ValueError
        If either is no valid array of intervals, labels and intervals differ in number, a side does not start at 0,
        or the two end at different times.

    Warns
    -----
    MirflowWarning
        For each side that is empty.

    Examples
    --------
    >>> validate_structure(np.array([[0.0, 4.0]]), ["a"], np.array([[0.0, 1.0], [1.0, 4.0]]), ["x", "y"])
    """
    for intervals, labels in ((reference_intervals, reference_labels), (estimated_intervals, estimated_labels)):
        validate_intervals(intervals)
        if len(intervals) != len(labels):
            raise ValueError("Number of intervals does not match number of labels")
        if intervals.size and not np.allclose(intervals.min(), 0.0):
            raise ValueError("Segment intervals do not start at 0")
    _warn_empty(reference_intervals, estimated_intervals)
    ends = [intervals.max() for intervals in (reference_intervals, estimated_intervals) if intervals.size]
    if len(ends) == 2 and not np.allclose(*ends):
        raise ValueError("End times do not match")


def detection(
    reference_intervals: Array,
    estimated_intervals: Array,
    window: float = 0.5,
    beta: float = 1.0,
    trim: bool = False,
) -> tuple[float, float, float]:
    """How many boundaries are found within a window.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
    window : float, seconds
        Largest distance of boundaries that match; each matches at most one of the other side.
    beta : float
        How many times as much recall counts as precision.
    trim : bool
        Leave out the first and the last boundary of each side.

    Returns
    -------
    precision, recall, f_measure : float
        All 0 where a side has no boundary.

    Raises
    ------
    ValueError
        See `validate_boundary`.

    Warns
    -----
    MirflowWarning
        For each side without a boundary.

    References
    ----------
    D. Turnbull et al., "A supervised approach for detecting boundaries in music using difference features and
    boosting", ISMIR 2007.

    Examples
    --------
    >>> precision, recall, f = detection(np.array([[0.0, 9.0], [9.0, 20.0]]), np.array([[0.0, 20.0]]))
    >>> precision, round(recall, 3), f
    (1.0, 0.667, 0.8)
    """
    validate_boundary(reference_intervals, estimated_intervals, trim)
    sides = _boundaries(reference_intervals, trim), _boundaries(estimated_intervals, trim)
    precision, recall, f = (only(one) for one in detect(*sides, window, beta, "optimal"))
    return precision, recall, f


def deviation(reference_intervals: Array, estimated_intervals: Array, trim: bool = False) -> tuple[float, float]:
    """How far boundaries are from the nearest of the other side.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
    trim : bool
        Leave out the first and the last boundary of each side.

    Returns
    -------
    reference_to_estimated, estimated_to_reference : float, seconds
        Medians over the boundaries of the first; NaN where a side has no boundary.

    Raises
    ------
    ValueError
        See `validate_boundary`.

    Warns
    -----
    MirflowWarning
        For each side without a boundary.

    Examples
    --------
    >>> deviation(np.array([[0.0, 9.0], [9.0, 20.0]]), np.array([[0.0, 8.0], [8.0, 20.0]]))
    (0.0, 0.0)
    """
    validate_boundary(reference_intervals, estimated_intervals, trim)
    sides = _boundaries(reference_intervals, trim), _boundaries(estimated_intervals, trim)
    to_estimate, to_reference = (only(one) for one in deviate(*sides, "middle"))
    return to_estimate, to_reference


def _boundaries(intervals: Array, trim: bool) -> Boundaries:
    found = find_boundaries(spans_of(intervals, np.zeros(len(intervals), dtype=np.int64)))
    return found.trim() if trim else found


def spans_of(intervals: Array, code: Int) -> LabelledSpans:
    """One row of intervals."""
    start, end = np.asarray(intervals, dtype=np.float64).T
    return LabelledSpans(start, end, code, np.array([len(start)]))


def only(scored: Scored) -> float:
    """The score of the only pair."""
    return float(scored[0][0])


Labels = Sequence[Any]


def _agreement(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float,
) -> LabelAgreement | None:
    """What is known of the labels of frames, once the input is checked; None where a side is empty."""
    validate_structure(reference_intervals, reference_labels, estimated_intervals, estimated_labels)
    if not frame_size > 0:
        raise ValueError(f"a frame size has to be above 0: {frame_size!r}")
    if not (reference_intervals.size and estimated_intervals.size):
        return None
    sampled = []
    for intervals, labels in ((reference_intervals, reference_labels), (estimated_intervals, estimated_labels)):
        vocabulary = {label: place for place, label in enumerate(dict.fromkeys(str(label) for label in labels))}
        codes = encode(tuple(vocabulary)).of_label[[vocabulary[str(label)] for label in labels]]
        spans = spans_of(intervals, codes)
        end = spans.latest()
        if too_long(end, frame_size)[0]:
            raise ValueError(f"{end[0]} s make more than {MOST_FRAMES} frames of {frame_size} s")
        sampled.append(sample(spans, end, float(frame_size)))
    if (sampled[0].frames != sampled[1].frames).any():
        raise ValueError(f"the two sides have {sampled[0].frames[0]} and {sampled[1].frames[0]} frames")
    return LabelAgreement(tabulate(*sampled), frame_size)


def _one(agreement: LabelAgreement | None, score: Callable[[LabelAgreement], Scored]) -> float:
    return 0.0 if agreement is None else only(score(agreement))


def _three(agreement: LabelAgreement | None, score: Callable[[LabelAgreement], Three]) -> tuple[float, float, float]:
    if agreement is None:
        return 0.0, 0.0, 0.0
    first, second, third = (only(one) for one in score(agreement))
    return first, second, third


def pairwise(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Which pairs of frames have the same label.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
        Both from time 0 to the same end.
    reference_labels, estimated_labels : sequence
        One for each interval; upper and lower case are the same.
    frame_size : float, seconds
    beta : float
        How many times as much recall counts as precision.

    Returns
    -------
    precision, recall, f_measure : float
        0 where a side is empty, NaN where it has no two frames with the same label.

    Raises
    ------
    ValueError
        See `validate_structure`; also if `frame_size` is not above 0 or the sides differ in their number of frames.

    Warns
    -----
    MirflowWarning
        For each side that is empty.

    References
    ----------
    M. Levy and M. Sandler, "Structural segmentation of musical audio by constrained clustering", IEEE Transactions on
    Audio, Speech and Language Processing 16(2), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> pairwise(halves, ["a", "b"], halves, ["x", "y"])
    (1.0, 1.0, 1.0)
    """
    sides = reference_intervals, reference_labels, estimated_intervals, estimated_labels
    return _three(_agreement(*sides, frame_size), lambda agreement: of.pairwise(agreement, beta))


def rand_index(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
    beta: float = 1.0,
) -> float:
    """The share of pairs of frames on which both sides agree whether their labels are the same.

    Parameters
    ----------
    reference_intervals, reference_labels, estimated_intervals, estimated_labels, frame_size
        See `pairwise`.
    beta : float
        Not used; it is there as in mir_eval.

    Returns
    -------
    float
        0 where a side is empty, NaN where there are less than two frames.

    Raises
    ------
    ValueError
        See `pairwise`.

    References
    ----------
    W. M. Rand, "Objective criteria for the evaluation of clustering methods", JASA 66, 1971.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> round(rand_index(halves, ["a", "b"], halves, ["x", "x"]), 4)
    0.4737
    """
    sides = reference_intervals, reference_labels, estimated_intervals, estimated_labels
    return _one(_agreement(*sides, frame_size), of.rand)


def ari(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
) -> float:
    """The Rand index with what chance gives taken off.

    Parameters
    ----------
    reference_intervals, reference_labels, estimated_intervals, estimated_labels, frame_size
        See `pairwise`.

    Returns
    -------
    float
        0 where a side is empty.

    Raises
    ------
    ValueError
        See `pairwise`.

    References
    ----------
    L. Hubert and P. Arabie, "Comparing partitions", Journal of Classification 2, 1985.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> ari(halves, ["a", "b"], halves, ["x", "x"])
    0.0
    """
    sides = reference_intervals, reference_labels, estimated_intervals, estimated_labels
    return _one(_agreement(*sides, frame_size), of.adjusted_rand)


def mutual_information(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
) -> tuple[float, float, float]:
    """What the labels of one side tell about those of the other.

    Parameters
    ----------
    reference_intervals, reference_labels, estimated_intervals, estimated_labels, frame_size
        See `pairwise`.

    Returns
    -------
    mutual_information : float, nats
    adjusted : float
        With what chance gives taken off, over the most it can be.
    normalized : float
        Over the geometric mean of both entropies.

    Raises
    ------
    ValueError
        See `pairwise`.

    References
    ----------
    N. X. Vinh, J. Epps and J. Bailey, "Information theoretic measures for clusterings comparison", JMLR 11, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> [round(score, 4) for score in mutual_information(halves, ["a", "b"], halves, ["x", "y"])]
    [0.6931, 1.0, 1.0]
    """
    sides = reference_intervals, reference_labels, estimated_intervals, estimated_labels
    return _three(
        _agreement(*sides, frame_size),
        lambda agreement: (
            of.information(agreement),
            of.adjusted_information(agreement),
            of.normalized_information(agreement),
        ),
    )


def nce(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
    beta: float = 1.0,
    marginal: bool = False,
) -> tuple[float, float, float]:
    """Normalised conditional entropy: how much is known of the labels of one side by those of the other.

    Parameters
    ----------
    reference_intervals, reference_labels, estimated_intervals, estimated_labels, frame_size
        See `pairwise`.
    beta : float
        How many times as much the under-segmentation score counts as the over-segmentation score.
    marginal : bool
        Normalise by the entropy of the labels, and not by that of as many equally frequent ones.

    Returns
    -------
    over, under, f_measure : float
        Over-segmentation (1 where the reference's labels tell those of the estimate), under-segmentation, and both
        together. 0 for a side with a single label.

    Raises
    ------
    ValueError
        See `pairwise`.

    References
    ----------
    H. Lukashevich, "Towards quantitative measures of evaluating song segmentation", ISMIR 2008.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> nce(halves, ["a", "b"], halves, ["x", "x"])
    (0.0, 0.0, 0.0)
    """
    sides = reference_intervals, reference_labels, estimated_intervals, estimated_labels
    return _three(
        _agreement(*sides, frame_size), lambda agreement: of.conditional_entropy(agreement, beta, marginal, 0.0)
    )


def vmeasure(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """`nce` with ``marginal=True``.

    Parameters
    ----------
    reference_intervals, reference_labels, estimated_intervals, estimated_labels, frame_size, beta
        See `nce`.

    Returns
    -------
    precision, recall, f_measure : float
        0 for a side with a single label.

    Raises
    ------
    ValueError
        See `pairwise`.

    References
    ----------
    A. Rosenberg and J. Hirschberg, "V-measure: a conditional entropy-based external cluster evaluation measure",
    EMNLP-CoNLL 2007.

    Examples
    --------
    >>> import numpy as np
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> vmeasure(halves, ["a", "b"], halves, ["x", "y"])
    (1.0, 1.0, 1.0)
    """
    sides = reference_intervals, reference_labels, estimated_intervals, estimated_labels
    return nce(*sides, frame_size=frame_size, beta=beta, marginal=True)


_scores = PairFunctions(METRICS, MIR_EVAL.score_pair)


def evaluate(
    ref_intervals: Array, ref_labels: Sequence[Any], est_intervals: Array, est_labels: Sequence[Any], **kwargs: Any
) -> OrderedDict[str, float]:
    """All segment scores of one estimate.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        The reference is extended to time 0, the estimate cut and filled up to the reference's span.
    ref_labels, est_labels : sequence
        One for each interval.
    **kwargs
        ``frame_size``, ``beta``, ``trim`` and ``marginal``, as in the functions for single scores. Not ``window``:
        boundaries are always scored within 0.5 and 3 seconds.

    Returns
    -------
    OrderedDict of str to float
        22 scores.

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        For an empty reference, labels and intervals that differ in number, times that are not finite, and intervals
        without length, also after the estimate is cut.

    Warns
    -----
    MirflowWarning
        For each side of which trimming leaves no boundary.

    Examples
    --------
    >>> times = np.array([[0.0, 9.0], [9.0, 20.0]])
    >>> scores = evaluate(times, ["verse", "chorus"], np.array([[0.0, 20.0]]), ["A"])
    >>> len(scores), scores["F-measure@3.0"], scores["NCE Over"]
    (22, 0.8, 0.0)
    """
    refuse_unknown("evaluate", kwargs, _scores.parameters)
    if np.isnan(est_intervals).any() or not are_times(ref_intervals):
        raise ValueError(f"Interval times {BOUNDED}")
    ref_intervals, fitted_ref = adjust_intervals(ref_intervals, ref_labels, 0.0)
    end = ref_intervals.max()
    est_intervals, fitted_est = adjust_intervals(est_intervals, est_labels, 0.0, end)
    ref_labels, est_labels = fitted_ref or [], fitted_est or []
    validate_structure(ref_intervals, ref_labels, est_intervals, est_labels)
    trim = bool(kwargs.get("trim", False))
    for side, intervals in (("Reference", ref_intervals), ("Estimated", est_intervals)):
        if trim and len(intervals) < 2:
            warnings.warn(f"{side} intervals are empty.", MirflowWarning, stacklevel=2)
    wanted = [
        Measure(one.metric, tuple(kwargs.get(p.mir_eval, one[p.name]) for p in one.metric.parameters))
        for one in MIR_EVAL.select()
    ]
    found = MIR_EVAL.score_pair(_row(ref_intervals, ref_labels), _row(est_intervals, est_labels), wanted)
    return OrderedDict((_key(measure), float(value)) for measure, value in zip(wanted, found, strict=True))


def _key(measure: Measure) -> str:
    return f"{measure.metric.key}@{measure['window']}" if "window" in measure.parameters else measure.metric.key


def _row(intervals: Array, labels: Sequence[Any]) -> Ragged:
    """One row of labelled intervals."""
    named = [str(label) for label in labels]
    vocabulary = {label: code for code, label in enumerate(dict.fromkeys(named))}
    start, end = np.asarray(intervals, dtype=np.float64).T
    codes = np.array([vocabulary[label] for label in named], dtype=np.int64)
    return Ragged({"start": start, "end": end, "label": codes}, (np.array([len(named)]),), tuple(vocabulary))
