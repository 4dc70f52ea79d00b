"""mir_eval's chord functions for one pair: its checks, rules on labels, weighted accuracy, and segmentation.

Only `evaluate` scores the pair as a batch of one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...errors import refuse_unknown, warn_caller
from ...kernels.intervals import directional_hamming
from ...ragged import Float, Int
from ...theory.harte import NO_CHORD
from ..base import Pairs
from ..pair import documented, row_of_intervals
from ..util import BOUNDED, Array, adjust_intervals, are_times, check_aligned, validate_intervals
from .labels import encode_table, validate_chord_label
from .metrics import MIR_EVAL
from .rules import compare

NOTHING_COMPARABLE = "No reference chords were comparable to estimated chords, returning 0."


_of_labels = documented(
    """
    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Raises
    ------
    ValueError
        If the lists differ in length.
    InvalidChordException
        For a label that does not follow the grammar.

    Warns
    -----
    MirflowWarning
        For each empty list.
    """,
    MIR_EVAL.metrics,
)
_of_intervals = documented(
    """
    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
        In order of time and without overlap; neighbours with the same chord should be merged.

    Raises
    ------
    ValueError
        If either side is not a valid array of intervals, or the side to be cut is empty or overlaps itself.

    References
    ----------
    C. Harte, "Towards automatic extraction of harmony information from music signals", PhD thesis, 2010.
    """
)


@_of_labels
def validate(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> None:
    """Check two lists of labels before they are compared."""
    if len(reference_labels) != len(estimated_labels):
        raise ValueError(
            "Chord comparison received different length lists: "
            f"len(reference)={len(reference_labels)}\tlen(estimates)={len(estimated_labels)}"
        )
    for labels in (reference_labels, estimated_labels):
        for label in dict.fromkeys(labels):
            validate_chord_label(label)
    for side, labels in (("Reference", reference_labels), ("Estimated", estimated_labels)):
        if len(labels) == 0:
            warn_caller(f"{side} labels are empty")


@documented("")
def weighted_accuracy(comparisons: npt.NDArray[Any], weights: npt.NDArray[Any]) -> float:
    """Weighted mean of the defined comparisons.

    Parameters
    ----------
    comparisons : (n,)
        In [0, 1]; negative if not comparable.
    weights : (n,)
        Durations in seconds, for example.

    Returns
    -------
    float
        0 if the total weight is 0.

    Raises
    ------
    ValueError
        If the lengths differ or a weight is negative.

    Warns
    -----
    MirflowWarning
        If all weights are zero or no comparison is defined.

    References
    ----------
    equation 1 of @raffel2014; @pauwels2013

    Examples
    --------
    >>> weighted_accuracy(np.array([1.0, 0.0, -1.0]), np.array([3.0, 1.0, 5.0]))
    0.75
    """
    if len(weights) != len(comparisons):
        raise ValueError(
            "weights and comparisons should be of the same length. "
            f"len(weights) = {len(weights)} but len(comparisons) = {len(comparisons)}"
        )
    if (weights < 0).any():
        raise ValueError("Weights should all be positive.")
    if np.sum(weights) == 0:
        warn_caller("No nonzero weights, returning 0")
        return 0.0
    defined = comparisons >= 0
    if not defined.any():
        warn_caller(NOTHING_COMPARABLE)
        return 0.0
    shares = weights[defined] / float(np.sum(weights[defined]))
    return float(np.sum(comparisons[defined] * shares))


class ChordRule(Protocol):
    """A rule over two aligned sequences of labels."""

    def __call__(self, reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
        """Compare the labels of each segment: float64 (n,)."""


_LEFT_OUT = {
    "mirex": "references of X and of one or two pitch classes",
    "majmin": "references other than major, minor and N up to the fifth",
    "sevenths": "references other than maj, min, maj7, 7, min7 and N",
}


def _rule(rule: str, what: str, reference: str, estimate: str, verdicts: list[float]) -> ChordRule:
    """Make the function of a rule, with the given labels as example."""

    def compared(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
        validate(reference_labels, estimated_labels)
        return compare(encode_table(reference_labels), encode_table(estimated_labels), rule)

    compared.__name__ = compared.__qualname__ = rule
    compared.__doc__ = f"""True if {what} are right.

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: {_LEFT_OUT.get(rule.removesuffix("_inv"), "references of X")}.

    Raises
    ------
    InvalidChordException
        For an unsupported quality.

    Examples
    --------
    >>> {rule}({reference.split()}, {estimate.split()}).tolist()
    {verdicts}
    """
    return _of_labels(compared)


_TRIAD, _SEVENTH = "if the reference is a major or minor one", "if the reference is in the vocabulary"

thirds = _rule("thirds", "root and third (minor or not)", "A:7 C:min", "A:aug C", [1.0, 0.0])
thirds_inv = _rule("thirds_inv", "root, third and bass", "A:7/3 C:min", "A/3 C:min/5", [1.0, 0.0])
triads = _rule("triads", "root and all semitones up to the fifth", "A:7 C", "A C:aug", [1.0, 0.0])
triads_inv = _rule("triads_inv", "root, all semitones up to the fifth and bass", "A:7/3 C", "A/3 C/5", [1.0, 0.0])
tetrads = _rule("tetrads", "root and all semitones within the octave", "A:7 A:7", "A:9 A:maj7", [1.0, 0.0])
tetrads_inv = _rule("tetrads_inv", "root, semitones within the octave and bass", "A:7/3 A:7", "A:9/3 A:7/3", [1.0, 0.0])
root = _rule("root", "the roots", "A:7 N X", "A:dim C N", [1.0, 0.0, -1.0])
mirex = _rule("mirex", "at least three pitch classes", "C:maj6 C:min C:5", "A:min7 C C", [1.0, 0.0, -1.0])
majmin = _rule("majmin", f"root and triad, {_TRIAD},", "C:7 C:aug", "C C:aug", [1.0, -1.0])
majmin_inv = _rule("majmin_inv", f"root, triad and bass, {_TRIAD},", "C:7/5 C", "C/5 C/3", [1.0, 0.0])
sevenths = _rule("sevenths", f"root and chord, {_SEVENTH},", "C:7 C:min7 C:maj6", "C:9 C:min C", [1.0, 0.0, -1.0])
sevenths_inv = _rule("sevenths_inv", f"root, chord and bass, {_SEVENTH},", "C:7/b7 C:7", "C:9/b7 C:7/3", [1.0, 0.0])

OVERLAP = "Chord Intervals must not overlap"


@_of_intervals
def directional_hamming_distance(reference_intervals: Array, estimated_intervals: Array) -> float:
    """Share of time outside the largest pieces into which the estimate cuts the reference's intervals.

    Returns
    -------
    float
        0 if no interval of the reference is cut.

    Examples
    --------
    >>> directional_hamming_distance(np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]]))
    0.25
    """
    validate_intervals(estimated_intervals)
    validate_intervals(reference_intervals)
    if (reference_intervals[:-1, 1] > reference_intervals[1:, 0]).any():
        raise ValueError(OVERLAP)
    if len(reference_intervals) == 0:
        raise ValueError("the directional Hamming distance is undefined without intervals")
    rows = [row_of_intervals(side) for side in (reference_intervals, estimated_intervals)]
    cut, by = ((side.columns["start"], side.columns["end"], side.counts[0]) for side in rows)
    return float(directional_hamming(*cut, *by)[0])


@_of_intervals
def overseg(reference_intervals: Array, estimated_intervals: Array) -> float:
    """One minus the directional Hamming distance from the reference's intervals to the estimate's.

    Returns
    -------
    float
        1 if no interval of the reference is cut.

    Examples
    --------
    >>> overseg(np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]]))
    0.75
    """
    return 1 - directional_hamming_distance(reference_intervals, estimated_intervals)


@_of_intervals
def underseg(reference_intervals: Array, estimated_intervals: Array) -> float:
    """One minus the directional Hamming distance from the estimate's intervals to the reference's.

    Returns
    -------
    float
        1 if no interval of the estimate is cut.

    Examples
    --------
    >>> underseg(np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]]))
    1.0
    """
    return 1 - directional_hamming_distance(estimated_intervals, reference_intervals)


@_of_intervals
def seg(reference_intervals: Array, estimated_intervals: Array) -> float:
    """The smaller of `overseg` and `underseg`.

    Returns
    -------
    float
        1 if all boundaries are equal.

    Examples
    --------
    >>> seg(np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]]))
    0.75
    """
    sides = reference_intervals, estimated_intervals
    return min(underseg(*sides), overseg(*sides))


def merge_chord_intervals(intervals: Array, labels: Sequence[str]) -> Array:
    """Join neighbouring intervals of the same chord, ignoring gaps between them.

    Parameters
    ----------
    intervals : (n, 2), seconds
    labels : sequence of str, n items
        Chords are equal if root, bass and semitones are, including upper voices of extended chords.

    Returns
    -------
    (k, 2), seconds
        From the start of the first to the end of the last interval of each run.

    Raises
    ------
    ValueError
        If the numbers of labels and intervals differ.
    InvalidChordException
        For a label that cannot be encoded.

    Examples
    --------
    >>> times = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    >>> merge_chord_intervals(times, ["C", "C:(1,3,5)", "C/3"]).tolist()
    [[0.0, 2.0], [2.0, 3.0]]
    """
    if len(intervals) != len(labels):
        raise ValueError(f"{len(intervals)} intervals need as many labels, got {len(labels)}")
    chords = encode_table(labels, reduce_extended_chords=True)
    codes: Int = np.column_stack((chords.root, chords.pitches, chords.bass)).astype(np.int64)
    begins = np.ones(len(labels), dtype=np.bool_)
    begins[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(labels))[: len(first)] - 1
    return np.column_stack((intervals[first, 0], intervals[last, 1]))


@documented("")
def evaluate(
    ref_intervals: Array, ref_labels: Sequence[str], est_intervals: Array, est_labels: Sequence[str], **kwargs: Any
) -> OrderedDict[str, float]:
    """Compute all chord scores of one estimate: twelve chord symbol recalls, then underseg, overseg and seg.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        In order of time and without overlap. The estimate is cropped and padded to the reference's span.
    ref_labels, est_labels : sequence of str
        One for each interval.
    **kwargs
        Not used.

    Raises
    ------
    ValueError
        For an empty reference, different numbers of labels and intervals, and intervals that are negative, empty, not
        finite, unordered or overlapping, even if only after the estimate is cropped.
    InvalidChordException
        For a label that cannot be encoded.

    Warns
    -----
    MirflowWarning
        For each recall without comparable chords; it is 0.

    Examples
    --------
    >>> times = np.array([[0.0, 1.0], [1.0, 4.0]])
    >>> scores = evaluate(times, ["C", "G:7"], times, ["C", "G"])
    >>> scores["majmin"], scores["sevenths"], scores["seg"]
    (1.0, 0.25, 1.0)
    """
    refuse_unknown("evaluate", kwargs, ("ref_intervals", "ref_labels", "est_intervals", "est_labels"))
    low, high = ref_intervals.min(), ref_intervals.max()
    # The estimate may end at infinity because it is cropped.
    if not are_times([low, high]) or np.isnan(est_intervals).any():
        raise ValueError(f"Interval times {BOUNDED}")
    est_intervals, fitted = adjust_intervals(est_intervals, est_labels, low, high, NO_CHORD, NO_CHORD)
    est_labels = fitted or []
    check_aligned(ref_intervals, est_intervals)
    for intervals, labels in ((ref_intervals, ref_labels), (est_intervals, est_labels)):
        merged = merge_chord_intervals(intervals, labels)
        validate_intervals(merged)
        # Also within a run of one chord, which merging would hide.
        if (merged[:-1, 1] > merged[1:, 0]).any() or (np.diff(intervals, axis=0) < 0).any():
            raise ValueError(OVERLAP)
    measures = MIR_EVAL.select()
    sides = row_of_intervals(ref_intervals, ref_labels), row_of_intervals(est_intervals, est_labels)
    scores = MIR_EVAL.score(Pairs.in_order(*sides), measures, "union")
    if scores.refused:
        raise ValueError(scores.refused[0])
    for measure, weight in zip(measures, scores.weight[0], strict=True):
        if measure.metric.recall and weight == 0:
            warn_caller(NOTHING_COMPARABLE)
    return OrderedDict((m.metric.key, float(score)) for m, score in zip(measures, scores.score[0], strict=True))
