"""What surrounds a comparison of chords, under mir_eval's names: the check of its input and the weighted mean of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import MirflowWarning
from .labels import validate_chord_label

NOTHING_COMPARABLE = "No reference chords were comparable to estimated chords, returning 0."


def validate(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> None:
    """Check two lists of labels that are to be compared.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Raises
    ------
    ValueError
        If one list is longer.
    InvalidChordException
        For a label that does not follow the grammar.

    Warns
    -----
    MirflowWarning
        For each list that is empty.

    Examples
    --------
    >>> validate(["C", "G:7"], ["C", "N"])
    """
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
            warnings.warn(f"{side} labels are empty", MirflowWarning, stacklevel=2)


def weighted_accuracy(comparisons: npt.NDArray[Any], weights: npt.NDArray[Any]) -> float:
    """The weighted mean of those comparisons that are defined.

    Parameters
    ----------
    comparisons : (n,)
        From 0 to 1; less where nothing could be compared.
    weights : (n,)
        For example durations in seconds.

    Returns
    -------
    float
        0 where no weight is left.

    Raises
    ------
    ValueError
        If there are not as many weights, or one is negative.

    Warns
    -----
    MirflowWarning
        If all weights are zero or no comparison is defined.

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
        warnings.warn("No nonzero weights, returning 0", MirflowWarning, stacklevel=2)
        return 0.0
    defined = comparisons >= 0
    if not defined.any():
        warnings.warn(NOTHING_COMPARABLE, MirflowWarning, stacklevel=2)
        return 0.0
    shares = weights[defined] / float(np.sum(weights[defined]))
    return float(np.sum(comparisons[defined] * shares))
