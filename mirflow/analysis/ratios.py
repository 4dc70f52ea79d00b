"""Figures that are no means over tracks: precision, recall and the like of classes and tags, from what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import QueryError
from ..kernels.affinities import Ordered
from ..kernels.outcomes import COUNTED, NONE, RATIOS, Outcomes
from ..ragged import Float, Int

CONFUSED = ("ref_class", "est_class")
OUTCOME, SIDE, CLASS, COUNT = "outcome", "side", "class", "count"

Labels = Mapping[str, tuple[str, ...]]


def rate(kind: str, outcomes: Float) -> Float:
    """A ratio of each class or tag from outcomes that were added up over tracks.

    Parameters
    ----------
    kind : str
        A name of :data:`mirflow.kernels.outcomes.RATIOS`.
    outcomes : float64 (..., 4)
        As :func:`tell_outcomes` gives them, or sums of these.

    Returns
    -------
    float64 (...)
        NaN where there is nothing to measure.
    """
    return RATIOS[kind](Outcomes.of_counts(outcomes, outcomes.ndim - 1))


def tell_outcomes(
    kind: str, metric: str, counts: Float, labels: Labels, own: Mapping[str, str]
) -> tuple[Float, Labels]:
    """What the ratios of classes or tags are read off: far less than a confusion matrix, and it adds up like it.

    Parameters
    ----------
    kind, metric : str
        For messages.
    counts : float64 (n, dims)
        Of single tracks, or sums over tracks.
    labels : mapping of str to tuple of str
        The dims that are left, in order.
    own : mapping of str to str
        The metric's own names of the dims, by the names that they have in the store.

    Returns
    -------
    outcomes : float64 (n, dims that are left, 4)
        In the order of :data:`mirflow.kernels.outcomes.COUNTED`.
    labels : mapping of str to tuple of str
        Confusions are left with the dim ``class``, outcomes without their own.

    Raises
    ------
    QueryError
        If a dim that the ratio is read off was reduced.
    """
    names = [own.get(dim, dim) for dim in labels]
    if OUTCOME in names:
        axis = names.index(OUTCOME)
        place = list(labels.values())[axis]
        counts = np.take(counts, [place.index(one) for one in COUNTED], axis=1 + axis)
        kept = {dim: one for dim, one in labels.items() if own.get(dim, dim) != OUTCOME}
        return np.moveaxis(counts, 1 + axis, -1), kept
    if COUNT in names:
        return _of_matches(counts, labels, names.index(COUNT))
    if names != list(CONFUSED):
        raise QueryError(f"aggregate {kind!r} is read off all of {metric}: reduce none of its classes or outcomes")
    classes, square = _square(counts, *labels.values())
    found = Outcomes.of_confusion(square)
    named = [place for place, name in enumerate(classes) if name != NONE]
    told = np.stack([found.hit, found.false_alarm, found.miss, found.rejection], axis=-1)[:, named]
    return told, {CLASS: tuple(classes[place] for place in named)}


def _of_matches(counts: Float, labels: Labels, axis: int) -> tuple[Float, Labels]:
    """Outcomes of events or notes: what was matched, and what each side has; nothing is rightly left out."""
    dim = list(labels)[axis]
    matched, reference, estimate = (
        np.take(counts, labels[dim].index(name), axis=1 + axis) for name in ("matched", "reference", "estimate")
    )
    found = {"hit": matched, "false_alarm": estimate - matched, "miss": reference - matched}
    outcomes = [found.get(name, np.zeros_like(matched)) for name in COUNTED]
    return np.stack(outcomes, axis=-1), {name: one for name, one in labels.items() if name != dim}


def _square(counts: Float, reference: Sequence[str], estimate: Sequence[str]) -> tuple[list[str], Float]:
    """A confusion over the same classes on both sides."""
    classes = list(dict.fromkeys([*reference, *estimate]))
    square = np.zeros((len(counts), len(classes), len(classes)))
    rows, columns = ([classes.index(name) for name in side] for side in (reference, estimate))
    square[:, np.array(rows, dtype=np.int64)[:, np.newaxis], columns] = counts
    return classes, square


def order(kind: str, values: Float, side: int) -> tuple[Float, Int]:
    """A figure of each tag over some clips, by relevance and affinity.

    Parameters
    ----------
    kind : {"roc_auc", "average_precision"}
    values : float64 (tracks, dims)
        NaN where a track is not about a tag.
    side : int
        The axis that holds relevance and affinity.

    Returns
    -------
    value : float64 (tags,)
        NaN where there is nothing to order.
    number : int64 (tags,)
        How many tracks are about the tag.
    """
    relevance, affinity = np.moveaxis(values, side, 0)
    tags = relevance.shape[1]
    there = ~np.isnan(relevance)
    row = np.broadcast_to(np.arange(tags), relevance.shape)[there]
    ordered = Ordered.of(row, relevance[there] > 0, affinity[there], tags)
    found = ordered.roc_auc() if kind == "roc_auc" else ordered.average_precision()
    return found, there.sum(axis=0).astype(np.int64)
