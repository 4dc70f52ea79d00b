"""Quotients with denominators that may be 0: shares, rates of matched events, and standard deviations from sums.

The information gain of histograms, which are divided by their sums, is here, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ragged import Bool, Float, Int

Scored = tuple[Float, Float]  # Score and weight of each pair: float64 (pairs,) each


def divide(part: Any, whole: Any, otherwise: float | Float = 0.0, *, where: Bool | None = None) -> Float:
    """Divide arrays of shapes that broadcast; the result is `otherwise` where `whole` is not positive (or NaN).

    If given, `where` says instead which elements are divided, as in `numpy.divide`.
    """
    part, whole = np.asarray(part), np.asarray(whole)
    shape = whole.shape if part.shape == whole.shape else np.broadcast_shapes(part.shape, whole.shape)
    result: Float = np.empty(shape)
    result[...] = otherwise  # half the time of np.full, which counts where arrays have one item
    np.divide(part, whole, out=result, where=whole > 0 if where is None else where)
    return result


def harmonic_mean(precision: Float, recall: Float, beta: float = 1.0) -> Float:
    """Weighted harmonic mean of precision and recall: 0 if both are 0, NaN if one is NaN.

    `beta` is the weight of recall relative to precision.
    """
    # The order of operations is that of mir_eval, so that results are equal to the bit.
    whole = (precision if beta == 1 else beta**2 * precision) + recall
    return divide((1 + beta**2) * precision * recall, whole, where=np.not_equal(whole, 0))


def share(part: Any, whole: Any, otherwise: float | Float = 0.0) -> Scored:
    """Divide as `divide` does, with the denominator as weight."""
    weight = np.asarray(whole, dtype=np.float64)
    return divide(part, weight, otherwise), weight


def open_share(part: Any, whole: Any, otherwise: float | Float = 0.0) -> Scored:
    """Divide as `share` does; where the denominator is 0, the weight is minus the numerator, which is so kept.

    Errors may be counted where nothing is there to count them against: words that were estimated where none is sung.
    """
    score, weight = share(part, whole, otherwise)
    return score, np.where(weight > 0, weight, 0.0 - np.maximum(part, 0))


def rate(what: str, hits: Int, references: Int, estimates: Int, *, otherwise: float = 0.0, beta: float = 1.0) -> Scored:
    """Precision, recall or F-measure from numbers of matched events and of the events of either side, with its weight.

    `otherwise` is the precision without estimates and the recall without references.
    """
    rates: list[Scored] = []
    for name, whole in (("precision", estimates), ("recall", references)):
        if what in (name, "f_measure"):  # as `share`, but faster, as there are no hits among no events
            score = hits / np.maximum(whole, 1)
            rates.append((np.where(whole > 0, score, otherwise) if otherwise else score, whole.astype(np.float64)))
    return f_measure(rates[0], rates[1], beta) if what == "f_measure" else rates[0]


def f_measure(precision: tuple[Any, Any], recall: tuple[Any, Any], beta: float = 1.0) -> Scored:
    """F-measure of precision and recall; its weight is its denominator if both have the same numerator."""
    weight = ((recall[1] if beta == 1 else beta**2 * recall[1]) + precision[1]) / (1 + beta**2)
    return harmonic_mean(precision[0], recall[0], beta), weight


def information_gain(histogram: Float) -> Float:
    """Distance of histograms from uniform ones: log2 of the number of bins minus the entropy, in bits.

    It is log2 of the number of bins for a histogram without counts.

    References
    ----------
    M. E. P. Davies, N. Degara and M. D. Plumbley, "Measuring the performance of beat tracking algorithms using a beat
    error histogram", IEEE Signal Processing Letters 18, 2011.

    Examples
    --------
    >>> information_gain(np.array([[4.0, 0.0], [1.0, 1.0], [0.0, 0.0]])).tolist()
    [1.0, 0.0, 1.0]
    """
    total = histogram.sum(axis=-1, keepdims=True)
    part = divide(histogram, total, 1.0, where=(histogram != 0) & (total != 0))
    gain: Float = np.log2(histogram.shape[-1]) + (part * np.log2(part)).sum(axis=-1)
    return gain


def standard_deviation(moments: Float) -> Float:
    """Standard deviations from numbers, sums and sums of squares of values, float64 (..., 3): NaN without values."""
    count, total, squares = np.moveaxis(moments, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0.0)))
