"""mir_eval's functions for one pair of hierarchies: its checks, then the kernel that scores batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import refuse_unknown, warn_caller
from ..pair import PairFunctions, are_close, documented
from ..util import BOUNDED, Array, adjust_intervals, are_times, f_measure, intervals_to_boundaries, validate_intervals
from .kernel import HierarchySide, Ranking, agreements, read_frame_size, to_rows
from .metrics import METRICS, MIR_EVAL

_scores = PairFunctions(METRICS, MIR_EVAL.score_pair)

Levels = Sequence[Array]
Labels = Sequence[Sequence[Any]]

_documented = documented(
    """
    Parameters
    ----------
    intervals_hier : sequence of (n, 2) arrays, seconds
        From the top, with few segments, to the bottom.
    reference_intervals_hier, estimated_intervals_hier : sequence of (n, 2) arrays, seconds
        Levels from the top, with few segments, to the bottom; all with the same span, starting at 0.
    ref_intervals_hier, est_intervals_hier : sequence of (n, 2) arrays, seconds
        From the top, with few segments, to the bottom. All levels are padded to begin at 0, and those of the estimate
        cropped and padded to the end of the reference.
    ref_labels_hier, est_labels_hier : sequence of sequences of str
        One label per segment for each level; case is ignored.
    reference_labels_hier, estimated_labels_hier : sequence of sequences of str
        One label per segment for each level; case is ignored.
    frame_size : float, seconds, or "exact"
        Length of the frames, at most the window; ``"exact"``: durations instead of frames.
    transitive : bool
        Whether to compare pairs of frames of any two different ranks, instead of neighbouring ranks only.
    window : float or None, seconds
        Distance around a frame in which others are compared; None: the whole track.

    Raises
    ------
    ValueError
        For levels that have negative times or empty segments, do not start at 0 or do not end with the first one (a
        single level only needs nonnegative and finite times), different spans, different numbers of labels and
        intervals, and frame sizes that are not positive or exceed the window.

    Warns
    -----
    MirflowWarning
        For each level that lacks a boundary of a higher one.
    """,
    METRICS,
)


@_documented
def validate_hier_intervals(intervals_hier: Levels) -> None:
    """Check a hierarchy of segments.

    Examples
    --------
    >>> validate_hier_intervals([np.array([[0, 30]]), np.array([[0, 15], [15, 30]])])
    """
    top, *others = (np.asarray(intervals) for intervals in intervals_hier)
    if not are_times(top):
        raise ValueError(f"Interval times {BOUNDED}")
    if (top < 0).any():
        raise ValueError("Negative interval times found")
    boundaries = set(intervals_to_boundaries(top).tolist())
    for level, intervals in enumerate(others, 1):
        for one in (top, intervals):
            validate_intervals(one)
            if not are_times(one):
                raise ValueError(f"Interval times {BOUNDED}")
            if one.size and not are_close(one.min(), 0.0):
                raise ValueError("Segment intervals do not start at 0")
        for side, one in (("Reference", top), ("Estimated", intervals)):
            if one.size == 0:
                warn_caller(f"{side} intervals are empty.")
        if top.size and intervals.size and not are_close(top.max(), intervals.max()):
            raise ValueError("End times do not match")
        own = set(intervals_to_boundaries(intervals).tolist())
        if boundaries - own:
            warn_caller(f"Segment hierarchy is inconsistent at level {level:d}")
        boundaries |= own


@_documented
def tmeasure(
    reference_intervals_hier: Levels,
    estimated_intervals_hier: Levels,
    transitive: bool = False,
    window: float | None = 15.0,
    frame_size: float | str = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Agreement of two hierarchies on which frames share deep segments.

    Returns
    -------
    t_precision, t_recall, t_measure : float

    References
    ----------
    B. McFee, O. Nieto and J. P. Bello, "Hierarchical evaluation of segment boundary detection", ISMIR 2015.

    Examples
    --------
    >>> levels = [np.array([[0, 30]]), np.array([[0, 15], [15, 30]])]
    >>> tmeasure(levels, levels), tmeasure(levels, levels[:1])
    ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    """
    reach = np.inf if window is None else float(window)
    ranking = Ranking(False, transitive, reach, read_frame_size(frame_size, reach))
    return _measure(ranking, (reference_intervals_hier, None), (estimated_intervals_hier, None), beta)


@_documented
def lmeasure(
    reference_intervals_hier: Levels,
    reference_labels_hier: Labels,
    estimated_intervals_hier: Levels,
    estimated_labels_hier: Labels,
    frame_size: float | str = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Agreement of two hierarchies on which frames share labels on deep levels.

    Returns
    -------
    l_precision, l_recall, l_measure : float

    References
    ----------
    B. McFee, O. Nieto, M. Farbood and J. P. Bello, "Evaluating hierarchical structure in music annotations",
    Frontiers in Psychology, 2017.

    Examples
    --------
    >>> levels, labels = [np.array([[0, 30]]), np.array([[0, 15], [15, 30]])], [["A"], ["a", "b"]]
    >>> lmeasure(levels, labels, levels, [["A"], ["b", "a"]])
    (1.0, 1.0, 1.0)
    """
    reference = reference_intervals_hier, reference_labels_hier
    estimate = estimated_intervals_hier, estimated_labels_hier
    return _measure(Ranking(True, True, np.inf, read_frame_size(frame_size, np.inf)), reference, estimate, beta)


def _measure(
    ranking: Ranking, reference: tuple[Levels, Labels | None], estimate: tuple[Levels, Labels | None], beta: float
) -> tuple[float, float, float]:
    hierarchies = []
    for intervals, labels in (reference, estimate):
        validate_hier_intervals(intervals)
        if labels is not None:
            _check_labels(intervals, labels)
        hierarchies.append(HierarchySide(to_rows(intervals, labels))[0])
    precision, recall = (one.score for one in agreements(hierarchies[0], hierarchies[1], [ranking])[ranking])
    return precision, recall, f_measure(precision, recall, beta)


def _check_labels(intervals: Levels, labels: Labels) -> None:
    if len(intervals) != len(labels):
        raise ValueError(f"expected {len(intervals)} levels of labels, one per level of intervals, got {len(labels)}")
    for level, (spans, names) in enumerate(zip(intervals, labels, strict=True), 1):
        if len(spans) != len(names):
            raise ValueError(f"level {level}: expected {len(spans)} labels, one per interval, got {len(names)}")


@_documented
def evaluate(
    ref_intervals_hier: Levels,
    ref_labels_hier: Labels,
    est_intervals_hier: Levels,
    est_labels_hier: Labels,
    **kwargs: Any,
) -> OrderedDict[str, float]:
    """Compute all hierarchy scores of one estimate.

    Examples
    --------
    >>> reference = [[[0, 30], [30, 60]], [[0, 15], [15, 30], [30, 45], [45, 60]]]
    >>> estimate = [[[0, 45], [45, 60]], [[0, 15], [15, 30], [30, 45], [45, 60]]]
    >>> scores = evaluate(reference, [["A", "B"], ["a", "b", "a", "c"]], estimate, [["A", "B"], ["a", "a", "b", "b"]])
    >>> round(scores["T-Recall full"], 3), round(scores["L-Measure"], 3)
    (0.931, 0.686)
    """
    refuse_unknown("evaluate", kwargs, _scores.parameters)
    sides: list[tuple[list[Array], list[Labels]]] = []
    for given, given_labels in ((ref_intervals_hier, ref_labels_hier), (est_intervals_hier, est_labels_hier)):
        if not len(given):
            raise ValueError("A hierarchy needs at least one level")
        _check_labels(given, given_labels)
        # All levels start at 0, and those of the estimate stop at the end of the reference.
        end = max(float(one.max()) for one in sides[0][0]) if sides else None
        sides.append(([], []))
        for intervals, labels in zip(given, given_labels, strict=True):
            times = np.asarray(intervals, dtype=np.float64)
            if np.isnan(times).any():
                raise ValueError(f"Interval times {BOUNDED}")
            fitted, names = adjust_intervals(times, labels, 0.0, end)
            sides[-1][0].append(fitted)
            sides[-1][1].append(names or [])
    values = {name: np.inf if value is None else value for name, value in kwargs.items()}
    read_frame_size(values.get("frame_size", 0.1), values.get("window", 15.0))
    for levels, _ in sides:
        validate_hier_intervals(levels)
    return _scores.evaluate(to_rows(*sides[0]), to_rows(*sides[1]), values)
