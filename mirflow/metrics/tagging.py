"""Tagging: reference and estimate are any number of tags for each clip, optionally with affinities.

mir_eval does not have this task. `evaluate` scores one clip; `TASK` holds the metrics of whole datasets, with
verdicts on tags and a warning of affinities outside [0, 1].

Conventions
-----------
* ``mirex`` (default and only one): audio tag classification of MIREX (ATC).

Metrics
-------
* ``precision``, ``recall``, ``f_measure``: tags of a clip.
* ``accuracy``, ``negative_accuracy``: shares of right decisions on all tags, and on those that the reference does not
  have.
* ``roc_auc``, ``average_precision``: ranking of the tags by affinity.
* ``outcomes``: counts of right and wrong decisions by tag, from which queries derive statistics of each tag.
* ``precision_at``, ``affinities``, on request: precision of the first tags, and areas under the curve by tag.

References
----------
Downie et al., The Music Information Retrieval Evaluation eXchange, 2010, equation 6.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.classes import Classes
from ..errors import AnnotationError, refuse_unknown
from ..kernels.outcomes import COUNTED, Outcomes
from ..kernels.ragged_ops import sum_by
from ..kernels.ranking import Ordered
from ..kernels.ratios import Scored, divide
from ..ragged import Bool, Column, Float, Int, Ragged, ranges, rows_of
from .base import Convention, Doubt, Pairs, Shared, Sparse, Task, by_name, computed_by, refuse_unjudged, score_by
from .cleaning import Cleaned, label_problems, number_labels, set_aside, usable_pair
from .measures import Measure, Parameter, Value, Weight, family, metrics_in
from .pair import PairFunctions, documented

__all__ = ["TASK", "evaluate"]


def clean(rows: Ragged, classes: Classes | None = None) -> Cleaned:
    """Keep each tag of a row once.

    Repeated tags with equal numbers are dropped and counted as repairs. Flaws are tags without a name, unknown tags,
    repeated tags with different numbers, and tags without a number in a row with numbers.
    """
    label, texts, owner = rows.columns["label"], [*rows.labels, ""], rows_of(rows.counts[0])
    problems = label_problems(rows, classes, "tag")
    _, leader, index = np.unique(owner * len(texts) + label, return_index=True, return_inverse=True)
    first = leader[index.reshape(-1)]
    if "value" in rows.columns:
        value = rows.columns["value"]
        absent = np.isnan(value)
        mixed = absent & (np.bincount(owner[~absent], minlength=len(rows))[owner] > 0)
        differs = ~((value == value[first]) | (absent & absent[first]))
        problems += [
            (mixed, lambda item: f"the tag {texts[label[item]]!r} has no number, but others have"),
            (
                differs,
                lambda item: (
                    f"the tag {texts[label[item]]!r} occurs twice, with {value[first[item]]:g} and with {value[item]:g}"
                ),
            ),
        ]
    return set_aside(rows, problems, first != np.arange(len(label)), drop=True)


SIDES = ("relevance", "affinity")  # Columns kept for each tag, so that clips can be ranked for each tag


class TagPairs(Shared):
    """The tags of pairs of clean rows, with results that metrics share.

    There is one decision for each tag of each pair: listed tags of the estimate in order, then the others. Without
    `classes`, the tags of a pair are those listed on either side. `degree` and `affinity` are the numbers of the tag in
    the reference and in the estimate: infinity without a number, minus infinity if it is not listed.
    """

    def __init__(self, classes: Classes | None, pairs: Pairs) -> None:
        self.pairs, self.classes = len(pairs), classes
        self.known = pairs.counts[0] > 0  # Whether a pair has a reference
        self.tags, numbers = number_labels(pairs.references, pairs.estimates, classes)  # All tags
        size = max(len(self.tags), 1)
        listed: list[tuple[Int, Float]] = []  # pair and tag as one number, and degree
        for (side, row), number in zip(pairs.sides, numbers, strict=True):
            counts = side.counts[0][row]
            items = ranges(side.offsets[:-1][row], counts)
            value: Float = side.columns["value"][items] if "value" in side.columns else np.full(len(items), np.nan)
            listed.append((rows_of(counts) * size + number[items], np.where(np.isnan(value), np.inf, value)))
        every = np.arange(len(pairs) * len(self.tags))
        if classes is None:
            every = np.unique(np.concatenate([listed[0][0], listed[1][0]]))
        held = np.full((2, len(every)), -np.inf)
        position = np.full(len(every), len(every), dtype=np.int64)
        for side_held, (key, value) in zip(held, listed, strict=True):
            side_held[np.searchsorted(every, key)] = value
        position[np.searchsorted(every, listed[1][0])] = np.arange(len(listed[1][0]))
        order = np.lexsort((position, every // size))
        self.pair, self.tag = every[order] // size, every[order] % size  # Of each decision, pairs ascending
        self.degree, self.affinity = held[0][order], held[1][order]

    def decided(self, relevance: float, threshold: float) -> Bool:
        """Masks of hits, false alarms, misses and rejections: bool (4, n)."""
        has, assigned = self.degree >= relevance, self.affinity >= threshold
        return np.array([has & assigned, ~has & assigned, has & ~assigned, ~has & ~assigned])

    @computed_by("relevance", "threshold")
    def outcomes(self, relevance: float, threshold: float) -> Outcomes:
        """Right and wrong decisions of each pair: float64 (pairs,) each."""
        masks = self.decided(relevance, threshold)
        return Outcomes(*(sum_by(self.pair, mask.astype(np.float64), self.pairs) for mask in masks))

    @computed_by("relevance")
    def order(self, relevance: float) -> Ordered:
        """The tags of each pair by affinity."""
        return Ordered.of(self.pair, self.degree >= relevance, self.affinity, self.pairs)


_RELEVANCE = Parameter("relevance", 0.5, help="smallest number of relevant tags in the reference")
_DECIDED = (Parameter("threshold", 0.5, help="smallest affinity of assigned tags in the estimate"), _RELEVANCE)
_DECISIONS = Weight("number of decided tags", "tags")
_TAGS = Weight("number of the reference's tags", "tags")


@family(
    {
        "f_measure": Weight("mean of the numbers of tags of both sides", "tags"),
        "precision": Weight("number of assigned tags", "tags"),
        "recall": _TAGS,
        "accuracy": _DECISIONS,
        "negative_accuracy": Weight("number of tags that are not in the reference", "tags"),
    },
    {
        "f_measure": {
            "title": "F-measure",
            "summary": "harmonic mean of precision and recall of the tags of a clip",
            "aliases": ("f1",),
            "literature": "equation 6 of @downie2010",
        },
        "precision": {
            "title": "Precision",
            "summary": "share of the assigned tags that are in the reference",
            "literature": "equation 4 of @downie2010",
        },
        "recall": {
            "title": "Recall",
            "summary": "share of the reference's tags that are assigned: accuracy on positive examples",
            "aliases": ("positive_accuracy", "sensitivity"),
            "literature": "equation 5 of @downie2010; @mirex2008tags",
        },
        "accuracy": {
            "title": "Accuracy",
            "summary": "share of the tags that are correctly assigned or not assigned",
            "literature": "@mirex2008tags",
        },
        "negative_accuracy": {
            "title": "Negative accuracy",
            "summary": "share of the tags outside the reference that are not assigned",
            "aliases": ("specificity",),
            "literature": "@mirex2008tags",
        },
    },
    itemwise=True,
    parameters=_DECIDED,
    perfect_exceptions="0 if there is nothing to measure; different thresholds decide the same tags differently",
)
def _ratios(what: str, tags: TagPairs, measure: Measure) -> Scored:
    part, whole = tags.outcomes(measure).parts(what)
    return divide(part, whole), whole / 2 if what == "f_measure" else whole


@family(
    {
        "roc_auc": Weight("pairs of a tag in the reference and one outside of it", "pairs"),
        "average_precision": _TAGS,
        "precision_at": Weight("k", "tags"),
    },
    {
        "roc_auc": {
            "title": "AUC-ROC",
            "summary": "probability that a tag of the reference has a higher affinity than one outside of it",
            "aliases": ("auc",),
            "pooling": "micro",
            "perfect_exceptions": "NaN if the reference has all tags or none",
            "literature": "@fawcett2006; @mirex2008tags",
        },
        "average_precision": {
            "title": "Average precision",
            "summary": "mean precision at the tags of the reference, in order of affinity",
            "pooling": "micro",
            "perfect_exceptions": "NaN if the reference has no tags",
            "literature": "section 8.4 of @manning2008",
        },
        "precision_at": {
            "title": "Precision at k",
            "summary": "share of reference tags among the k tags with the highest affinity",
            "perfect": None,
            "parameters": (Parameter("k", 3, least=1, help="number of tags"), _RELEVANCE),
            "default": False,
            "literature": "precision at 3, 6, 9, 12 and 15 in @mirex2009tags",
        },
    },
    parameters=(_RELEVANCE,),
)
def _rankings(what: str, tags: TagPairs, measure: Measure) -> Scored:
    order = tags.order(measure)
    if what == "roc_auc":
        return order.roc_auc(), order.positives * (order.counts - order.positives)
    if what == "average_precision":
        return order.average_precision(), order.positives
    k = int(measure["k"])
    return order.precision_at(k), k * (order.counts > 0).astype(np.float64)


@family(
    _DECISIONS,
    {
        "outcomes": {
            "title": "Outcomes",
            "summary": "hits, false alarms, misses and rejections by tag",
            "range": (0.0, float("inf")),
            "parameters": _DECIDED,
            "dims": ("tag", "outcome"),
        },
        "affinities": {
            "title": "Affinities",
            "summary": "relevance and affinity by tag, from which areas under the ROC curve by tag are computed",
            "range": (float("-inf"), float("inf")),
            "parameters": (_RELEVANCE,),
            "dims": ("tag", "side"),
            "default": False,
        },
    },
    orientation="none",
    perfect=None,
    literature="@mirex2008tags",
)
def _by_tag(name: str, tags: TagPairs, measure: Measure) -> Sparse:
    """Tables of the decisions on pairs with a reference; without `classes`, of the tags of either side of these."""
    chosen, names = tags.known[tags.pair], tags.tags
    pair, number = tags.pair[chosen], tags.tag[chosen]
    if tags.classes is None:
        used, number = np.unique(number, return_inverse=True)
        names, number = tuple(names[code] for code in used.tolist()), number.reshape(-1)
    if name == "outcomes":
        decided = tags.decided(float(measure["relevance"]), float(measure["threshold"]))
        index = np.column_stack([pair, number, decided[:, chosen].argmax(axis=0)])
        attrs = {"long_name": "decisions by tag", "units": "1"}
        return Sparse(("tag", "outcome"), (names, COUNTED), index, np.ones(len(index)), attrs)
    has = tags.degree[chosen] >= float(measure["relevance"])
    index = np.concatenate(
        [np.column_stack([pair, number, np.full(len(pair), side, dtype=np.int64)]) for side in range(len(SIDES))]
    )
    value = np.concatenate([has.astype(np.float64), tags.affinity[chosen]])
    attrs = {"long_name": "relevance and affinity by tag", "units": "1"}
    return Sparse(("tag", "side"), (names, SIDES), index, value, attrs, float("nan"))


METRICS = metrics_in(globals())


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, *, classes: Classes | None = None
) -> dict[str, Column]:
    """Return the tags of a clip, in the estimate's order, with verdicts.

    Columns are ``label``, ``affinity`` (minus infinity for tags that are not listed, infinity for tags without a
    number) and ``verdict``: ``hit``, ``extra``, ``missed`` or ``rejected``.
    """
    refuse_unjudged(measure, METRICS, "tags")
    sides = usable_pair(reference, estimate, partial(clean, classes=classes))
    decisions = TagPairs(classes, Pairs.in_order(*sides))
    outcome = decisions.decided(float(measure["relevance"]), float(measure["threshold"])).argmax(axis=0)
    return {
        "label": np.array([decisions.tags[tag] for tag in decisions.tag.tolist()], dtype=str),
        "affinity": decisions.affinity,
        "verdict": np.array(("hit", "extra", "missed", "rejected"), dtype=str)[outcome],
    }


def convention(classes: Classes | None = None) -> Convention:
    """Make the rules of MIREX for tags; None: the tags listed on either side of each clip."""
    return Convention(
        "mirex",
        "MIREX: decisions on each tag of a clip, and the ranking of the tags",
        METRICS,
        partial(clean, classes=classes),
        partial(score_by, partial(TagPairs, classes)),
        explain=partial(evidence, classes=classes),
        bind=convention,
        literature="@downie2010",
    )


def doubt_affinities(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report affinities of an estimate outside [0, 1] if they are compared with a threshold between 0 and 1."""
    value = estimate.columns.get("value")
    if value is None or not len(value) or not (np.nanmin(value, initial=0) < 0 or np.nanmax(value, initial=0) > 1):
        return ""
    decided = [
        measure for measure in measures if "threshold" in measure.parameters and 0 < float(measure["threshold"]) < 1
    ]
    if not decided:
        return ""
    lowest, highest = np.nanmin(value), np.nanmax(value)
    what, remedy = ("percentages", "Divide them by 100") if lowest >= 0 else ("logits", "Take their logistic function")
    return (
        f"affinities from {lowest:g} to {highest:g} are compared with the threshold {decided[0]['threshold']:g}: are "
        f"they {what}? {remedy}, or ask for {decided[0].metric.name}(threshold={'50' if lowest >= 0 else '0'})"
    )


TASK = Task(
    "tagging",
    "Tagging",
    by_name(convention()),
    ("f_measure",),
    doubts=(
        Doubt(
            "affinity",
            "affinities of tags are percentages or logits: they are below 0 or above 1, and a metric decides by a "
            "threshold between 0 and 1",
            of_pair=doubt_affinities,
        ),
    ),
)

Tags = Iterable[str] | Mapping[str, float]


@documented(
    """
    Parameters
    ----------
    reference, estimate : iterable of str, or mapping of str to float
        Tags, optionally with degrees or affinities.
    tags : iterable of str or None
        All tags, each of which is a decision; None: those listed on either side.
    **kwargs
        Not used; other keyword arguments are refused.
    """,
    METRICS,
)
def evaluate(
    reference: Tags,
    estimate: Tags,
    tags: Iterable[str] | None = None,
    threshold: float = 0.5,
    relevance: float = 0.5,
    **kwargs: Any,
) -> dict[str, float]:
    """Compute all scalar scores of one clip.

    Returns
    -------
    OrderedDict of str to float
        Scores by metric.

    Raises
    ------
    ValueError
        For a tag without a name, one that is not in `tags`, one whose number is NaN, and a single string instead of
        tags.

    Examples
    --------
    >>> found = evaluate({"slow", "guitar"}, {"guitar": 0.9, "loud": 0.7, "slow": 0.6, "piano": 0.1})
    >>> round(found["precision"], 4), found["recall"], found["roc_auc"]
    (0.6667, 1.0, 0.75)
    """
    refuse_unknown("evaluate", kwargs, ("reference", "estimate", "tags", "threshold", "relevance"))
    rules = convention(None if tags is None else Classes(tuple(tags)))
    parameters: dict[str, Value] = {"threshold": threshold, "relevance": relevance}
    measures = [measure.measure(**parameters) for measure in METRICS if not measure.dims and measure.default]
    scores = rules.score_arrays(partial(_row, rules), reference, estimate, measures)
    return OrderedDict((measure.metric.name, value) for measure, value in zip(measures, scores.tolist(), strict=True))


def _row(rules: Convention, side: str, tags: Tags) -> Ragged:
    """Make a clean row of tags."""
    if isinstance(tags, str):
        raise AnnotationError(f"{side}: expected a sequence of tags, not a single string: {tags!r}")
    numbers = dict(tags) if isinstance(tags, Mapping) else None
    for tag, number in (numbers or {}).items():
        if number != number:
            raise AnnotationError(f"{side}: the number of {tag!r} is NaN")
    columns = {} if numbers is None else {"value": np.array(list(numbers.values()), dtype=np.float64)}
    labels = list(tags if numbers is None else numbers)
    return rules.clean(to_ragged([Annotation("labels", columns, labels)])).checked(side)


_MIREX = convention()
globals().update(
    PairFunctions(METRICS, partial(_MIREX.score_arrays, partial(_row, _MIREX))).functions("As for `evaluate`.")
)
