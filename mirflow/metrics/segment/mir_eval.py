"""mir_eval's segment functions for one pair: its checks, then a batch of one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import warn_caller
from ..base import read_pair
from ..measures import Measure
from ..pair import PairFunctions, are_close, documented, row_of_intervals
from ..util import BOUNDED, Array, adjust_intervals, are_times, validate_intervals
from .kernel import EXACT, MOST_FRAMES, LabelledSpans, encode
from .metrics import METRICS, MIR_EVAL, FittedScores

Labels = Sequence[Any]
_Side = tuple[Array, Labels | None]

_documented = documented(
    """
    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
    window : float, seconds
        Largest distance of matched boundaries; each matches at most one of the other side.
    beta : float
        Weight of recall, or of the under-segmentation score, relative to its counterpart.
    trim : bool
        Leave out the first and the last boundary of each side.

    Raises
    ------
    ValueError
        If either side is not a valid array of intervals.

    Warns
    -----
    MirflowWarning
        For each side with too few intervals to leave a boundary.
    """,
    METRICS,
)
_of_labels = documented(
    """
    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
        Both from time 0 to the same end.
    reference_labels, estimated_labels : sequence
        One per interval; case is ignored.
    frame_size : float, seconds, or "exact"
        Distance of the frames. `pairwise`, `nce` and `vmeasure` accept ``"exact"``: durations instead of frames.
    beta : float
        Weight of recall, or of the under-segmentation score, relative to its counterpart.

    Raises
    ------
    ValueError
        If either side is not a valid array of intervals, the numbers of labels and intervals differ, a side does not
        start at 0, ends or numbers of frames differ, or `frame_size` is neither positive nor ``"exact"``.

    Warns
    -----
    MirflowWarning
        For each empty side.
    """,
    METRICS,
)


def _warn_empty(reference: Array, estimate: Array, least: int = 1) -> None:
    for side, intervals in (("Reference", reference), ("Estimated", estimate)):
        if len(intervals) < least:
            warn_caller(f"{side} intervals are empty.")


@_documented
def validate_boundary(reference_intervals: Array, estimated_intervals: Array, trim: bool) -> None:
    """Check two sequences of segments before their boundaries are compared.

    Examples
    --------
    >>> validate_boundary(np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]]), trim=False)
    """
    _warn_empty(reference_intervals, estimated_intervals, 2 if trim else 1)
    for intervals in (reference_intervals, estimated_intervals):
        validate_intervals(intervals)


@_of_labels
def validate_structure(
    reference_intervals: Array, reference_labels: Labels, estimated_intervals: Array, estimated_labels: Labels
) -> None:
    """Check two sequences of labelled segments before they are compared.

    Examples
    --------
    >>> validate_structure(np.array([[0.0, 4.0]]), ["a"], np.array([[0.0, 1.0], [1.0, 4.0]]), ["x", "y"])
    """
    for intervals, labels in ((reference_intervals, reference_labels), (estimated_intervals, estimated_labels)):
        validate_intervals(intervals)
        if len(intervals) != len(labels):
            raise ValueError("Number of intervals does not match number of labels")
        if intervals.size and not are_close(intervals.min(), 0.0):
            raise ValueError("Segment intervals do not start at 0")
    _warn_empty(reference_intervals, estimated_intervals)
    ends = [intervals.max() for intervals in (reference_intervals, estimated_intervals) if intervals.size]
    if len(ends) == 2 and not are_close(*ends):
        raise ValueError("End times do not match")


def check_pair(reference: _Side, estimate: _Side, measures: Sequence[Measure]) -> None:
    """Check both sides of a pair for measures."""
    (intervals, labels), (estimated_intervals, estimated_labels) = reference, estimate
    if labels is None or estimated_labels is None:
        validate_boundary(intervals, estimated_intervals, bool(measures[0]["trim"]))
        return
    validate_structure(intervals, labels, estimated_intervals, estimated_labels)
    frame_size, words = measures[0]["frame_size"], measures[0].metric.parameters[0].words
    if frame_size not in words and (isinstance(frame_size, str) or not float(frame_size) > 0):
        raise ValueError(f"the frame size must be greater than 0, got {frame_size!r}")


def score_pair(reference: _Side, estimate: _Side, measures: Sequence[Measure]) -> list[float]:
    """Score unmodified sides; scores of labels are 0 if a side is empty."""
    if reference[1] is not None and not (reference[0].size and estimate[0].size):
        return [0.0] * len(measures)
    sides, ends = [], []
    for intervals, labels in (reference, estimate):
        if labels is None:
            start, end = np.asarray(intervals, dtype=np.float64).reshape(-1, 2).T
            number = np.array([len(start)], dtype=np.int64)
            sides.append(LabelledSpans(start, end, np.zeros(len(start), dtype=np.int64), number))
            ends.append(np.zeros(1))  # boundaries have no frames
            continue
        row = row_of_intervals(intervals, labels)
        code = encode(row.labels).of_label[row.columns["label"]]
        sides.append(LabelledSpans(row.columns["start"], row.columns["end"], code, row.counts[0]))
        ends.append(sides[-1].latest())
        frame_size = measures[0]["frame_size"]
        if frame_size != EXACT and not ends[-1][0] / float(frame_size) < MOST_FRAMES + 1:
            raise ValueError(f"{ends[-1][0]} s make more than {MOST_FRAMES} frames of {float(frame_size)} s")
    return read_pair(measures, FittedScores((sides[0], sides[1]), (ends[0], ends[1])))


_scores = PairFunctions(METRICS, score_pair, check_pair)


@_documented
def detection(
    reference_intervals: Array, estimated_intervals: Array, window: float = 0.5, beta: float = 1.0, trim: bool = False
) -> tuple[float, float, float]:
    """Precision, recall and F-measure of boundaries within a window.

    Returns
    -------
    precision, recall, f_measure : float
        All 0 if a side has no boundary.

    Examples
    --------
    >>> precision, recall, f = detection(np.array([[0.0, 9.0], [9.0, 20.0]]), np.array([[0.0, 20.0]]))
    >>> precision, round(recall, 3), f
    (1.0, 0.667, 0.8)
    """
    sides = (reference_intervals, None), (estimated_intervals, None)
    precision, recall, f = _scores("detection", *sides, window=window, beta=beta, trim=trim)
    return precision, recall, f


@_documented
def deviation(reference_intervals: Array, estimated_intervals: Array, trim: bool = False) -> tuple[float, float]:
    """Median distances of boundaries to the nearest of the other side.

    Returns
    -------
    reference_to_estimated, estimated_to_reference : float, seconds
        Medians over the boundaries of the first side; NaN if a side has no boundary.

    Examples
    --------
    >>> deviation(np.array([[0.0, 9.0], [9.0, 20.0]]), np.array([[0.0, 8.0], [8.0, 20.0]]))
    (0.0, 0.0)
    """
    sides = (reference_intervals, None), (estimated_intervals, None)
    to_estimate, to_reference = _scores("deviation", *sides, trim=trim)
    return to_estimate, to_reference


@_of_labels
def pairwise(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float | str = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Agreement on pairs of frames with the same label; if exact, on pairs of moments, including identical ones.

    Returns
    -------
    precision, recall, f_measure : float
        0 if a side is empty, NaN if it has no two frames with the same label.

    Examples
    --------
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> pairwise(halves, ["a", "b"], halves, ["x", "y"])
    (1.0, 1.0, 1.0)
    """
    sides = (reference_intervals, reference_labels), (estimated_intervals, estimated_labels)
    precision, recall, f = _scores("pairwise", *sides, frame_size=frame_size, beta=beta)
    return precision, recall, f


@_of_labels
def rand_index(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
    beta: float = 1.0,
) -> float:
    """Share of the pairs of frames on which both sides agree whether their labels are equal.

    Parameters
    ----------
    beta : float
        Not used, as in mir_eval.

    Returns
    -------
    float
        0 if a side is empty, NaN if there are fewer than two frames.

    References
    ----------
    W. M. Rand, "Objective criteria for the evaluation of clustering methods", JASA 66, 1971.

    Examples
    --------
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> round(rand_index(halves, ["a", "b"], halves, ["x", "x"]), 4)
    0.4737
    """
    sides = (reference_intervals, reference_labels), (estimated_intervals, estimated_labels)
    return _scores("rand_index", *sides, frame_size=frame_size)[0]


@_of_labels
def ari(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
) -> float:
    """Rand index adjusted for chance.

    Returns
    -------
    float
        0 if a side is empty.

    Examples
    --------
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> ari(halves, ["a", "b"], halves, ["x", "x"])
    0.0
    """
    sides = (reference_intervals, reference_labels), (estimated_intervals, estimated_labels)
    return _scores("ari", *sides, frame_size=frame_size)[0]


@_of_labels
def mutual_information(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float = 0.1,
) -> tuple[float, float, float]:
    """Mutual information of the labels of both sides.

    Returns
    -------
    mutual_information : float, nats
    adjusted : float
        Adjusted for chance, over its largest possible value.
    normalized : float
        Divided by the geometric mean of both entropies.

    Examples
    --------
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> [round(score, 4) for score in mutual_information(halves, ["a", "b"], halves, ["x", "y"])]
    [0.6931, 1.0, 1.0]
    """
    sides = (reference_intervals, reference_labels), (estimated_intervals, estimated_labels)
    information, adjusted, normalized = _scores("mutual_information", *sides, frame_size=frame_size)
    return information, adjusted, normalized


@_of_labels
def nce(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float | str = 0.1,
    beta: float = 1.0,
    marginal: bool = False,
) -> tuple[float, float, float]:
    """Normalised conditional entropies of the labels of one side given those of the other.

    Returns
    -------
    over, under, f_measure : float
        Over-segmentation (1 if the reference's labels determine those of the estimate), under-segmentation, and their
        harmonic mean. 0 for a side with a single label.

    Examples
    --------
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> nce(halves, ["a", "b"], halves, ["x", "x"])
    (0.0, 0.0, 0.0)
    """
    sides = (reference_intervals, reference_labels), (estimated_intervals, estimated_labels)
    over, under, f = _scores("nce", *sides, frame_size=frame_size, beta=beta, marginal=marginal)
    return over, under, f


@_of_labels
def vmeasure(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float | str = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """V-measure with its precision and recall: `nce` with ``marginal=True``.

    Returns
    -------
    precision, recall, f_measure : float
        0 for a side with a single label.

    Examples
    --------
    >>> halves = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> vmeasure(halves, ["a", "b"], halves, ["x", "y"])
    (1.0, 1.0, 1.0)
    """
    sides = (reference_intervals, reference_labels), (estimated_intervals, estimated_labels)
    precision, recall, f = _scores("vmeasure", *sides, frame_size=frame_size, beta=beta)
    return precision, recall, f


@documented("")
def evaluate(
    ref_intervals: Array, ref_labels: Labels, est_intervals: Array, est_labels: Labels, **kwargs: Any
) -> OrderedDict[str, float]:
    """All 22 segment scores of one estimate.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        The reference is extended to time 0, and the estimate cropped and padded to the reference's span.
    ref_labels, est_labels : sequence
        One for each interval.
    **kwargs
        ``frame_size``, ``beta``, ``trim`` and ``marginal``, as in the functions for single scores. Not ``window``:
        boundaries are always scored within 0.5 and 3 seconds.

    Raises
    ------
    ValueError
        For an empty reference, different numbers of labels and intervals, times that are not finite, and empty
        intervals, even if only after the estimate is cropped.

    Warns
    -----
    MirflowWarning
        For each side without boundaries after trimming.

    Examples
    --------
    >>> times = np.array([[0.0, 9.0], [9.0, 20.0]])
    >>> scores = evaluate(times, ["verse", "chorus"], np.array([[0.0, 20.0]]), ["A"])
    >>> len(scores), scores["F-measure@3.0"], scores["NCE Over"]
    (22, 0.8, 0.0)
    """
    given = {one.metric.name: one for one in _scores.measures(kwargs)}
    if np.isnan(est_intervals).any() or not are_times(ref_intervals):
        raise ValueError(f"Interval times {BOUNDED}")
    ref_intervals, fitted_ref = adjust_intervals(ref_intervals, ref_labels, 0.0)
    end = ref_intervals.max()
    est_intervals, fitted_est = adjust_intervals(est_intervals, est_labels, 0.0, end)
    ref_labels, est_labels = fitted_ref or [], fitted_est or []
    validate_structure(ref_intervals, ref_labels, est_intervals, est_labels)
    if kwargs.get("trim"):
        _warn_empty(ref_intervals, est_intervals, 2)
    wanted = {}
    for one in MIR_EVAL.select():
        metric, values = one.metric, given[one.metric.name].values
        windowed = "window" in one.parameters  # the first one, which is not among the given parameters
        key = f"{metric.key}@{one['window']}" if windowed else metric.key
        wanted[key] = Measure(metric, (*one.values[:1], *values[1:])) if windowed else Measure(metric, values)
    sides = row_of_intervals(ref_intervals, ref_labels), row_of_intervals(est_intervals, est_labels)
    scores = MIR_EVAL.score_pair(*sides, tuple(wanted.values()))
    return OrderedDict((key, float(value)) for key, value in zip(wanted, scores, strict=True))
