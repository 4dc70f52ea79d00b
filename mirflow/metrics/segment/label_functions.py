"""The label scores of one pair under mir_eval's names: its checks, then the batched kernel with a batch of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...kernels.contingency import tabulate
from ..checks import Array
from . import agreement as of
from .agreement import Agreement, Three
from .boundaries import Scored
from .boundary_functions import only, spans_of
from .checks import validate_structure
from .sampling import MOST_FRAMES, sample, too_long
from .spans import encode

Labels = Sequence[Any]


def _agreement(
    reference_intervals: Array,
    reference_labels: Labels,
    estimated_intervals: Array,
    estimated_labels: Labels,
    frame_size: float,
) -> Agreement | None:
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
    return Agreement(tabulate(*sampled), frame_size)


def _one(agreement: Agreement | None, score: Callable[[Agreement], Scored]) -> float:
    return 0.0 if agreement is None else only(score(agreement))


def _three(agreement: Agreement | None, score: Callable[[Agreement], Three]) -> tuple[float, float, float]:
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
