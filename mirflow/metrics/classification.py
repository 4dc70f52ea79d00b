"""Classification: reference and estimate are one class for each track, such as a genre or a composer.

mir_eval does not have this task. Functions take lists of classes, one entry per track; `TASK` holds the metrics of
whole datasets.

Conventions
-----------
* ``mirex`` (default and only one): the classification tasks of MIREX (AAI, ACC, AGC, AMC, SGC).

Metrics
-------
* ``accuracy`` (`accuracy`): share of the tracks with the right class.
* ``confusion`` (`confusion_matrix`): tracks by class of the reference and of the estimate, from which queries derive
  `precision`, `recall`, `f_measure`, `normalised_accuracy` and the `matthews_correlation`.
* ``hierarchical_accuracy`` (`hierarchical_accuracy`), on request: with credits for similar classes.

References
----------
Downie et al., The Music Information Retrieval Evaluation eXchange, 2010, equations 1 to 3.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.classes import Classes
from ..errors import AnnotationError, MetricError, refuse_unknown
from ..kernels import outcomes
from ..kernels.outcomes import NONE, Outcomes
from ..ragged import Bool, Column, Float, Int, Ragged
from .base import Convention, Pairs, Scores, Sparse, Task, by_name, score_by
from .cleaning import Cleaned, keep_first, label_problems, number_labels, usable_pair
from .measures import Measure, Weight, family, metric, metrics_in
from .pair import documented

__all__ = ["TASK", "accuracy", "confusion_matrix", "evaluate", "f_measure", "hierarchical_accuracy"]
__all__ += ["matthews_correlation", "normalised_accuracy", "precision", "recall"]


def clean(rows: Ragged, classes: Classes | None = None) -> Cleaned:
    """Keep one class per row.

    Repeated labels are dropped and counted as repairs. Flaws are a second class, an empty name, and an unknown class.
    """
    label, texts = rows.columns["label"], [*rows.labels, ""]
    first = np.repeat(label[rows.offsets[:-1][rows.counts[0] > 0]], rows.counts[0][rows.counts[0] > 0])
    another = "a track has one class, and this is another one"
    problems = label_problems(rows, classes, "class")
    problems.append(
        (label != first, lambda item: f"{another}: {texts[label[item]]!r}; the first is {texts[first[item]]!r}")
    )
    cleaned = keep_first(rows, problems)
    # Messages about a second class end with the first class, so that its line can be appended.
    flaws = {
        row: replace(flaw, first=0) if flaw.message.startswith(another) else flaw for row, flaw in cleaned.flaws.items()
    }
    return Cleaned(cleaned.rows, cleaned.repairs, flaws)


@dataclass(frozen=True, slots=True)
class ClassPairs:
    """The classes of both sides of pairs, as numbers (-1 for none), and the credits of errors."""

    names: tuple[str, ...]
    reference: Int
    estimate: Int
    classes: Classes | None
    known: Bool  # Pairs with a reference


def compute(classes: Classes | None, pairs: Pairs) -> ClassPairs:
    """Number the classes of pairs; without `classes`, those that occur are used, and errors earn no credit."""
    names, numbers = number_labels(pairs.references, pairs.estimates, classes)
    codes = []
    for (rows, row), number in zip(pairs.sides, numbers, strict=True):
        filled = rows.counts[0][row] > 0
        codes.append(np.full(len(row), -1, dtype=np.int64))
        codes[-1][filled] = number[rows.offsets[:-1][row[filled]]]
    return ClassPairs(names, codes[0], codes[1], classes, codes[0] >= 0)


_TRACKS = Weight("number of tracks with a class", "tracks")


@family(
    _TRACKS,
    {
        "accuracy": {
            "title": "Accuracy",
            "summary": "1 if the estimate is the class of the reference",
            "aliases": ("average_accuracy", "correct"),
            "literature": "equation 1 of @downie2010",
        },
        "hierarchical_accuracy": {
            "title": "Hierarchical accuracy",
            "summary": "1 for the right class, or the credit defined by `classes` for a similar one",
            "aliases": ("discounted_accuracy",),
            "default": False,
            "literature": "equation 3 of @downie2010",
        },
    },
)
def _accuracies(name: str, pairs: ClassPairs, measure: Measure) -> tuple[Float | Bool, Bool]:
    """1 for the right class, and maybe a credit for a similar one."""
    if name == "accuracy" or pairs.classes is None:
        return pairs.known & (pairs.reference == pairs.estimate), pairs.known
    worth = np.zeros((len(pairs.names) + 1, len(pairs.names) + 1))  # the last row and column are for no class
    worth[:-1, :-1] = pairs.classes.table
    return worth[pairs.reference, pairs.estimate], pairs.known


@metric(
    "Confusion",
    _TRACKS,
    orientation="none",
    range=(0.0, float("inf")),
    perfect=None,
    dims=("ref_class", "est_class"),
    literature="@kohavi1998",
)
def _confusion(pairs: ClassPairs, measure: Measure) -> Sparse:
    """Number of tracks by class of the reference and class of the estimate."""
    pair, names = np.flatnonzero(pairs.known), pairs.names
    estimated = pairs.estimate[pair]
    shown = (*names, NONE) if pairs.classes is not None or (estimated < 0).any() else names
    index = np.column_stack([pair, pairs.reference[pair], np.where(estimated < 0, len(names), estimated)])
    attrs = {"long_name": "tracks by class of the reference and of the estimate", "units": "1"}
    return Sparse(("ref_class", "est_class"), (names, shown), index, np.ones(len(pair)), attrs)


METRICS = metrics_in(globals())


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, *, classes: Classes | None = None
) -> dict[str, Column]:
    """Return the two classes and the verdict, for a measure that judges single tracks.

    Columns are ``reference``, ``estimate`` (classes), ``verdict``: ``right``, ``near`` (earns a credit) or ``wrong``,
    and ``credit``.
    """
    if measure.metric.dims:
        raise MetricError(f"{measure} does not judge single tracks; ask for accuracy or hierarchical_accuracy")
    names = []
    sides = usable_pair(reference, estimate, partial(clean, classes=classes))
    for rows, side in zip(sides, ("reference", "estimate"), strict=True):
        if not len(rows.columns["label"]):
            raise AnnotationError(f"the {side} is empty, so there is nothing to explain")
        names.append(rows.labels[int(rows.columns["label"][0])])
    credit = float(names[0] == names[1])
    if classes is not None and measure.metric.name == "hierarchical_accuracy":
        credit = float(classes.table[classes.names.index(names[0]), classes.names.index(names[1])])
    verdict = "right" if names[0] == names[1] else "near" if credit else "wrong"
    return {
        "reference": np.array(names[:1], dtype=str),
        "estimate": np.array(names[1:], dtype=str),
        "verdict": np.array([verdict], dtype=str),
        "credit": np.array([credit]),
    }


def convention(classes: Classes | None = None) -> Convention:
    """Make the rules of MIREX for classes; None: any class, without credits for errors."""
    credited = classes is not None and bool(classes.credits)
    return Convention(
        "mirex",
        "MIREX: share of the tracks with the right class",
        METRICS,
        partial(clean, classes=classes),
        partial(score_by, partial(compute, classes)),
        default_measures=tuple(metric.measure() for metric in METRICS) if credited else (),
        explain=partial(evidence, classes=classes),
        bind=convention,
        unbound=() if credited else ("hierarchical_accuracy",),
        literature="@downie2010",
    )


TASK = Task("classification", "Classification", by_name(convention()), ("hierarchical_accuracy", "accuracy"))

Labels = Sequence[str]


def _score(references: Labels, estimates: Labels, metric: str, classes: Classes | None) -> Scores:
    """Score all tracks, each a row with one label."""
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
    return rules.score(Pairs.in_order(sides[0], sides[1]), rules.select([metric]), "union")


_documented = documented(
    """
    Parameters
    ----------
    references, estimates : sequence of str
        The class of each track.
    classes : Classes or None
        Credits of errors; None: hierarchical accuracy is not computed.
    **kwargs
        Not used; other keyword arguments are refused.

    Raises
    ------
    ValueError
        For lists that are empty or differ in length, an empty class name, or one that is not in `classes`.

    References
    ----------
    Downie et al., The Music Information Retrieval Evaluation eXchange, 2010, equations 1 to 3
    """
)


@_documented
def accuracy(references: Labels, estimates: Labels) -> float:
    """Share of the tracks with the right class.

    Examples
    --------
    >>> accuracy(["jazz", "rock", "rock", "folk"], ["jazz", "rock", "folk", "rock"])
    0.5
    """
    return float(_score(references, estimates, "accuracy", None).score.mean())


@_documented
def hierarchical_accuracy(references: Labels, estimates: Labels, classes: Classes) -> float:
    """Mean credit over the tracks, 1 for the right class.

    Examples
    --------
    >>> genres = Classes.of(tree={"Jazz & Blues": ["jazz", "blues"], "Rock": ["punk", "metal"]})
    >>> hierarchical_accuracy(["jazz", "jazz", "punk"], ["jazz", "blues", "jazz"], genres)
    0.5
    """
    return float(_score(references, estimates, "hierarchical_accuracy", classes).score.mean())


@_documented
def confusion_matrix(references: Labels, estimates: Labels) -> tuple[Float, tuple[str, ...]]:
    """Tracks by class of the reference and class of the estimate.

    Returns
    -------
    matrix : float64 (classes, classes)
        Indexed by the reference's class, then the estimate's.
    classes : tuple of str
        Classes of either side, sorted.

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


def _by_class(ratio: str, what: str, example: str) -> Callable[..., dict[str, float]]:
    """Make the function of a ratio of each class."""

    def function(references: Labels, estimates: Labels) -> dict[str, float]:
        matrix, classes = confusion_matrix(references, estimates)
        return dict(zip(classes, Outcomes.of_confusion(matrix).ratio(ratio).tolist(), strict=True))

    function.__name__ = function.__qualname__ = ratio
    function.__doc__ = f"{what}.\n\nReturns\n-------\ndict of str to float\n\nExamples\n--------\n{example}"
    return _documented(function)


precision = _by_class(
    "precision",
    "Precision of each class; NaN if it is never estimated",
    ">>> precision(['jazz', 'rock', 'rock'], ['jazz', 'jazz', 'rock'])\n{'jazz': 0.5, 'rock': 1.0}",
)
recall = _by_class(
    "recall",
    "Recall of each class; NaN if it is not in the references",
    ">>> recall(['jazz', 'rock', 'rock'], ['jazz', 'jazz', 'rock'])\n{'jazz': 1.0, 'rock': 0.5}",
)
f_measure = _by_class(
    "f_measure",
    "F-measure of each class that occurs",
    ">>> f_measure(['a', 'b', 'b', 'b'], ['a', 'a', 'b', 'a'])\n{'a': 0.5, 'b': 0.5}",
)


@_documented
def normalised_accuracy(references: Labels, estimates: Labels) -> float:
    """Recall averaged over the references' classes, so that all classes have equal weight.

    Examples
    --------
    >>> normalised_accuracy(["jazz", "rock", "rock", "rock"], ["jazz", "rock", "jazz", "jazz"])
    0.6666666666666666
    """
    return float(np.nanmean(list(recall(references, estimates).values())))


@_documented
def matthews_correlation(references: Labels, estimates: Labels) -> float:
    """Correlation of the classes of both sides (MCC); about 0 for guesses, even if class sizes differ.

    Matthews's coefficient for two classes, R_K of Gorodkin (2004) for more; 0 if a side has only one class.

    Examples
    --------
    >>> round(matthews_correlation(["jazz", "rock", "rock", "rock"], ["jazz", "rock", "rock", "jazz"]), 4)
    0.5774
    """
    matrix, _ = confusion_matrix(references, estimates)
    return float(outcomes.matthews_correlation(outcomes.margins(matrix)))


@_documented
def evaluate(references: Labels, estimates: Labels, classes: Classes | None = None, **kwargs: Any) -> dict[str, float]:
    """All scores that are one number.

    Returns
    -------
    OrderedDict of str to float
        ``Accuracy``, ``Normalised Accuracy`` and, if `classes` are given, ``Hierarchical Accuracy``.

    Examples
    --------
    >>> evaluate(["jazz", "rock"], ["jazz", "jazz"])["Accuracy"]
    0.5
    """
    refuse_unknown("evaluate", kwargs, ("references", "estimates", "classes"))
    scores = OrderedDict({"Accuracy": accuracy(references, estimates)})
    scores["Normalised Accuracy"] = normalised_accuracy(references, estimates)
    if classes is not None:
        scores["Hierarchical Accuracy"] = hierarchical_accuracy(references, estimates, classes)
    return scores
