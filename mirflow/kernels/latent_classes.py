"""True classes of items that several observers classify with errors: the model of Dawid and Skene, fitted by EM.

A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm", Journal of
the Royal Statistical Society C 28(1), 1979.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..ragged import Float, Int

if TYPE_CHECKING:
    from scipy import sparse

ITERATIONS = 100
TOLERANCE = 1e-6
"""Change of the mean log likelihood of an item from which iterations end."""
_SMALLEST = 1e-10
"""Smallest probability of a confusion."""


class LatentClasses(NamedTuple):
    """The fitted model."""

    posterior: Float
    """Probability of each class for each item: float64 (items, classes)."""
    confusion: Float
    """Probability that an observer says a class, given the true one: float64 (observers, true, said)."""
    prior: Float
    """Probability of each true class: float64 (classes,)."""


def fit_latent_classes(
    codes: Int, weight: Float, classes: int, iterations: int = ITERATIONS, tolerance: float = TOLERANCE
) -> LatentClasses:
    """Fit the model of Dawid and Skene to weighted items, from the shares of votes on.

    Items that all observers classify alike are one item with their weight, so that long annotations cost little.

    Parameters
    ----------
    codes : int64 (observers, items)
        Class that each observer says, from 0 on; -1 where an observer says nothing.
    weight : float64 (items,)
        How much each item counts, such as its seconds.
    classes : int
    iterations : int
        Most steps of the EM algorithm.
    tolerance : float
        Change of the mean log likelihood from which iterations end.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1, 0], [0, 0, 1, 1, 1], [1, 0, 1, 0, 0]])
    >>> fit_latent_classes(codes, np.ones(5), 2).posterior.argmax(axis=1).tolist()
    [0, 0, 1, 1, 0]
    """
    from scipy import sparse

    patterns, index = np.unique(codes, axis=1, return_inverse=True)
    index = index.ravel()
    total: Float = np.bincount(index, weights=weight, minlength=patterns.shape[1]).astype(np.float64)
    # 1 where an observer says a class of an item; a dense array would take many times as long to multiply.
    observer, item = np.nonzero(patterns >= 0)
    rows = observer * classes + patterns[observer, item]
    shape = len(patterns) * classes, patterns.shape[1]
    says = sparse.csr_array((np.ones(len(item)), (rows, item)), shape=shape)
    votes = np.asarray(says.T @ np.tile(np.eye(classes), (len(codes), 1)))
    count = votes.sum(axis=1, keepdims=True)
    posterior = np.divide(votes, count, out=np.full(votes.shape, 1 / classes), where=count > 0)
    likelihood = -np.inf
    for _ in range(iterations):
        confusion, prior = _maximise(posterior, says, total)
        joint = np.log(prior) + says.T @ np.log(confusion).transpose(0, 2, 1).reshape(-1, classes)
        highest = joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint - highest)
        evidence = posterior.sum(axis=1, keepdims=True)
        posterior /= evidence
        before, likelihood = likelihood, float(total @ (highest + np.log(evidence)).ravel() / total.sum())
        if likelihood - before < tolerance:
            break
    confusion, prior = _maximise(posterior, says, total)
    return LatentClasses(posterior[index], confusion, prior)


def _maximise(posterior: Float, says: sparse.csr_array, total: Float) -> tuple[Float, Float]:
    """Confusions and priors that make the classifications most probable."""
    weighted, classes = posterior * total[:, np.newaxis], posterior.shape[1]
    counts = (says @ weighted).reshape(-1, classes, classes).transpose(0, 2, 1)
    sums = counts.sum(axis=2, keepdims=True)
    shares = np.divide(counts, sums, out=np.zeros(counts.shape), where=sums > 0)
    prior = weighted.sum(axis=0) / weighted.sum()
    return np.maximum(shares, _SMALLEST), np.maximum(prior, _SMALLEST)
