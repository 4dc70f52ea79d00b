"""Figures of lists of classes, one entry a track: what a store's query gives, from plain lists."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.classes import Classes
from ...errors import AnnotationError
from ...kernels.outcomes import RATIOS, Outcomes
from ...ragged import Float
from ..base.arguments import refuse_unknown
from ..base.identity import select
from ..base.task import Scores
from .records import convention

Labels = Sequence[str]


def _score(references: Labels, estimates: Labels, metric: str, classes: Classes | None) -> Scores:
    """Scores of all tracks, each a row of one label."""
    if len(references) != len(estimates):
        raise ValueError(f"lists of different lengths: {len(references)} references, {len(estimates)} estimates")
    if not references:
        raise ValueError("no tracks")
    rules = convention(classes)
    sides = []
    for side, labels in (("reference", references), ("estimate", estimates)):
        cleaned = rules.clean(to_ragged([Annotation("labels", {}, [label]) for label in labels]))
        for row, flaw in cleaned.flaws.items():
            raise AnnotationError(f"{side} {row}: {flaw.message}")
        sides.append(cleaned.rows)
    rows = np.arange(len(references))
    return rules.score(sides[0], sides[1], rows, rows, select([metric], rules.metrics), "union")


def accuracy(references: Labels, estimates: Labels) -> float:
    """Share of the tracks that are given the right class (equation 1 of the MIREX chapter).

    Parameters
    ----------
    references, estimates : sequence of str
        The class of each track.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For lists of different lengths or without entries, or a class without a name.

    Examples
    --------
    >>> accuracy(["jazz", "rock", "rock", "folk"], ["jazz", "rock", "folk", "rock"])
    0.5
    """
    return float(_score(references, estimates, "accuracy", None).score.mean())


def hierarchical_accuracy(references: Labels, estimates: Labels, classes: Classes) -> float:
    """Mean credit over the tracks, 1 for the right class (the idea of equation 3 of the MIREX chapter).

    Parameters
    ----------
    references, estimates : sequence of str
    classes : Classes
        What an error is worth.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `accuracy`, and for a class that is not among `classes`.

    Examples
    --------
    >>> genres = Classes.of(tree={"Jazz & Blues": ["jazz", "blues"], "Rock": ["punk", "metal"]})
    >>> hierarchical_accuracy(["jazz", "jazz", "punk"], ["jazz", "blues", "jazz"], genres)
    0.5
    """
    return float(_score(references, estimates, "hierarchical_accuracy", classes).score.mean())


def confusion_matrix(references: Labels, estimates: Labels) -> tuple[Float, tuple[str, ...]]:
    """Tracks by class of the reference and class of the estimate.

    Parameters
    ----------
    references, estimates : sequence of str

    Returns
    -------
    matrix : float64 (classes, classes)
        The reference's class first.
    classes : tuple of str
        Those that occur on either side, sorted.

    Raises
    ------
    ValueError
        As `accuracy`.

    Examples
    --------
    >>> matrix, classes = confusion_matrix(["jazz", "rock", "rock"], ["jazz", "jazz", "rock"])
    >>> classes, matrix.tolist()
    (('jazz', 'rock'), [[1.0, 0.0], [1.0, 1.0]])
    """
    (sparse,) = _score(references, estimates, "confusion", None).extras.values()
    matrix = np.zeros((len(sparse.coords[0]), len(sparse.coords[1])))
    np.add.at(matrix, (sparse.index[:, 1], sparse.index[:, 2]), sparse.value)
    return matrix, sparse.coords[0]


def _by_class(kind: str, references: Labels, estimates: Labels) -> dict[str, float]:
    matrix, classes = confusion_matrix(references, estimates)
    return dict(zip(classes, RATIOS[kind](Outcomes.of_confusion(matrix)).tolist(), strict=True))


def precision(references: Labels, estimates: Labels) -> dict[str, float]:
    """Precision of each class; NaN for one that no estimate has.

    Parameters
    ----------
    references, estimates : sequence of str

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> precision(["jazz", "rock", "rock"], ["jazz", "jazz", "rock"])
    {'jazz': 0.5, 'rock': 1.0}
    """
    return _by_class("precision", references, estimates)


def recall(references: Labels, estimates: Labels) -> dict[str, float]:
    """Recall of each class; NaN for one that no reference has.

    Parameters
    ----------
    references, estimates : sequence of str

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> recall(["jazz", "rock", "rock"], ["jazz", "jazz", "rock"])
    {'jazz': 1.0, 'rock': 0.5}
    """
    return _by_class("recall", references, estimates)


def f_measure(references: Labels, estimates: Labels) -> dict[str, float]:
    """F-measure of each class that occurs.

    Parameters
    ----------
    references, estimates : sequence of str

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> {name: round(value, 4) for name, value in f_measure(["a", "b", "b"], ["a", "a", "b"]).items()}
    {'a': 0.6667, 'b': 0.6667}
    """
    return _by_class("f_measure", references, estimates)


def normalised_accuracy(references: Labels, estimates: Labels) -> float:
    """Mean over the references' classes of the share that is given the right class, so that large ones count no more.

    Parameters
    ----------
    references, estimates : sequence of str

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `accuracy`.

    Examples
    --------
    >>> normalised_accuracy(["jazz", "rock", "rock", "rock"], ["jazz", "rock", "jazz", "jazz"])
    0.6666666666666666
    """
    return float(np.nanmean(list(recall(references, estimates).values())))


def evaluate(references: Labels, estimates: Labels, classes: Classes | None = None, **kwargs: Any) -> dict[str, float]:
    """All figures that are one number.

    Parameters
    ----------
    references, estimates : sequence of str
    classes : Classes or None
        What errors are worth; None: the hierarchical accuracy is left out.
    **kwargs
        There are none; they are only named to say so.

    Returns
    -------
    OrderedDict of str to float
        ``Accuracy``, ``Normalised Accuracy`` and perhaps ``Hierarchical Accuracy``.

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `accuracy`.

    Examples
    --------
    >>> evaluate(["jazz", "rock"], ["jazz", "jazz"])["Accuracy"]
    0.5
    """
    refuse_unknown("evaluate", kwargs, ("references", "estimates", "classes"))
    found = OrderedDict({"Accuracy": accuracy(references, estimates)})
    found["Normalised Accuracy"] = normalised_accuracy(references, estimates)
    if classes is not None:
        found["Hierarchical Accuracy"] = hierarchical_accuracy(references, estimates, classes)
    return found
