"""Tagging: reference and estimate are any number of tags for each clip, perhaps with affinities.

mir_eval has no such task; `evaluate` scores one clip. `TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mirex`` (default and only one): audio tag classification of MIREX (ATC).

Metrics
-------
* ``precision``, ``recall``, ``f_measure``: of the tags of a clip.
* ``accuracy``, ``negative_accuracy``: shares of all tags, and of those that the reference lacks, that are right.
* ``roc_auc``, ``average_precision``: of the order of the tags by affinity.
* ``outcomes``: counts of right and wrong decisions by tag, from which queries derive statistics of each tag.
* ``precision_at``, ``affinities``, on request: precision of the first tags, and areas under the curve by tag.

References
----------
Downie et al., The Music Information Retrieval Evaluation eXchange, 2010, equation 6.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.classes import Classes
from ..errors import AnnotationError, refuse_unknown
from ..kernels.agreement import COUNTED, Outcomes
from ..kernels.ragged_ops import sum_by
from ..kernels.ranking import Ordered
from ..ragged import Bool, Column, Float, Int, Ragged, ranges, rows_of
from .base import Convention, Doubt, Pairs, Shared, Sparse, Task, refuse_unjudged, score_by
from .classification import SPELLING
from .cleaning import Cleaned, label_problems, number_labels, set_aside, usable_pair
from .measures import Measure, Parameter, Value, Weight, metric, metrics_in
from .pair import PairFunctions, documented

__all__ = ["TASK", "evaluate"]


def clean(rows: Ragged, classes: Classes | None = None) -> Cleaned:
    """Keep each tag of a row once.

    A tag that occurs again with the same number is dropped and counted as a repair. Flaws are tags without a name, tags
    that are not among those that there are, tags that occur twice with different numbers, and tags without a number in
    a
    row that has numbers.

    Examples
    --------
    >>> rows = Ragged({"label": np.array([0, 1, 0, 0, 0]), "value": np.array([0.5, 1, 0.5, 0.1, 0.2])},
    ...               (np.array([3, 2]),), ("guitar", "slow"))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([2, 0], [1, 0], "the tag 'guitar' occurs twice, with 0.1 and with 0.2")
    """
    label, texts, owner = rows.columns["label"], [*rows.labels, ""], rows_of(rows.counts[0])
    problems = label_problems(rows, classes, "tag")
    _, leader, place = np.unique(owner * len(texts) + label, return_index=True, return_inverse=True)
    first = leader[place.reshape(-1)]
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


@dataclass(frozen=True, slots=True)
class Decisions:
    """One entry for each tag of each pair: those that the estimate lists in its order, then the others.

    Parameters
    ----------
    tags : tuple of str
        All that there are.
    pair, tag : int64 (n,)
        ``pair`` ascending.
    degree : float64 (n,)
        How strongly the reference has the tag: its number, infinity without one, minus infinity if it does not list it.
    affinity : float64 (n,)
        The same of the estimate.
    pairs : int
    """

    tags: tuple[str, ...]
    pair: Int
    tag: Int
    degree: Float
    affinity: Float
    pairs: int

    @classmethod
    def of(cls, pairs: Pairs, classes: Classes | None) -> Decisions:
        """Of cleaned rows. Without `classes` a pair is about the tags that either side lists."""
        tags, numbers = number_labels(pairs.references, pairs.estimates, classes)
        size = len(tags)
        listed = [_spread(side, number, row, size) for (side, row), number in zip(pairs.sides, numbers, strict=True)]
        every = np.arange(len(pairs) * size)
        if classes is None:
            every = np.unique(np.concatenate([listed[0][0], listed[1][0]]))
        held = np.full((2, len(every)), -np.inf)
        position = np.full(len(every), len(every), dtype=np.int64)
        for side, (key, value) in zip(held, listed, strict=True):
            side[np.searchsorted(every, key)] = value
        position[np.searchsorted(every, listed[1][0])] = np.arange(len(listed[1][0]))
        order = np.lexsort((position, every // max(size, 1)))
        pair, tag = every[order] // max(size, 1), every[order] % max(size, 1)
        return cls(tags, pair, tag, held[0][order], held[1][order], len(pairs))

    def relevant(self, least: float) -> Bool:
        """The tags that the reference has to that degree."""
        return np.asarray(self.degree >= least)

    def assigned(self, least: float) -> Bool:
        """The tags that the estimate has to that degree."""
        return np.asarray(self.affinity >= least)

    def outcomes(self, relevance: float, threshold: float) -> Outcomes:
        """Right and wrong decisions of each pair: float64 (pairs,) each."""
        counts = self.decided(relevance, threshold)
        return Outcomes(*(sum_by(self.pair, one, self.pairs) for one in counts))

    def decided(self, relevance: float, threshold: float) -> tuple[Float, Float, Float, Float]:
        """Indicators of hits, false alarms, misses and rejections: float64 (n,) each."""
        has, given = self.relevant(relevance), self.assigned(threshold)
        hit, alarm, miss, rejection = has & given, ~has & given, has & ~given, ~has & ~given
        return hit.astype(np.float64), alarm.astype(np.float64), miss.astype(np.float64), rejection.astype(np.float64)

    def ordered(self, relevance: float) -> Ordered:
        """The tags of each pair by affinity."""
        return Ordered.of(self.pair, self.relevant(relevance), self.affinity, self.pairs)


def _spread(side: Ragged, number: Int, row: Int, tags: int) -> tuple[Int, Float]:
    """Pair and tag, as one number, and the degree of each item of some rows."""
    counts = side.counts[0][row]
    items = ranges(side.offsets[:-1][row], counts)
    value: Float = side.columns["value"][items] if "value" in side.columns else np.full(len(items), np.nan)
    return rows_of(counts) * tags + number[items], np.where(np.isnan(value), np.inf, value)


SIDES = ("relevance", "affinity")
"""What is kept of each tag, so that the tags can be ordered over the clips."""


class TagPairs(Shared):
    """The decisions on the tags of some pairs, with what several metrics read off them.

    Parameters
    ----------
    decisions : Decisions
    known : bool (pairs,)
        Those with a reference.
    classes : Classes or None
    """

    def __init__(self, decisions: Decisions, known: Bool, classes: Classes | None) -> None:
        super().__init__()
        self.decisions, self.known, self.classes = decisions, known, classes

    def outcomes(self, measure: Measure) -> Outcomes:
        """Right and wrong decisions of each pair."""
        way = float(measure["relevance"]), float(measure["threshold"])
        return self.once(way, lambda: self.decisions.outcomes(*way))

    def order(self, measure: Measure) -> Ordered:
        """The tags of each pair by affinity."""
        relevance = float(measure["relevance"])
        return self.once(relevance, lambda: self.decisions.ordered(relevance))

    def by_tag(self) -> tuple[Bool, Int, tuple[str, ...], Int]:
        """The decisions on pairs with a reference: which they are, their pairs, the tags, the place of each among them.

        Of known tags all, else those that occur.
        """
        chosen, every = self.known[self.decisions.pair], self.decisions.tags
        pair, tag = self.decisions.pair[chosen], self.decisions.tag[chosen]
        if self.classes is not None:
            return chosen, pair, every, tag
        used, place = np.unique(tag, return_inverse=True)
        return chosen, pair, tuple(every[one] for one in used.tolist()), place.reshape(-1)


Read = tuple[Float, Float]
"""Score and weight of each pair, float64 (pairs,) each."""

_RELEVANCE = Parameter("relevance", 0.5, help="smallest number of a tag that a reference has")
_DECIDED = (Parameter("threshold", 0.5, help="smallest affinity of a tag that an estimate assigns"), _RELEVANCE)
_DECISIONS = Weight("number of tags that are decided on", "tags")
_TAGS = Weight("number of the reference's tags", "tags")
_ratio = partial(
    metric,
    itemwise=True,
    parameters=_DECIDED,
    perfect_exceptions="0 where there is none to measure; thresholds that differ decide the same tags differently",
)
_ordered = partial(metric, pooling="micro", parameters=(_RELEVANCE,))
_by_tag = partial(metric, weight=_DECISIONS, orientation="none", perfect=None, literature="@mirex2008tags")


@_ratio(
    "F-measure",
    Weight("mean of the numbers of tags of both sides", "tags"),
    aliases=("f1",),
    literature="equation 6 of @downie2010",
)
def _f_measure(tags: TagPairs, measure: Measure) -> Read:
    """Harmonic mean of precision and recall of the tags of a clip."""
    counts = tags.outcomes(measure)
    return np.nan_to_num(counts.f_measure()), counts.hit + 0.5 * (counts.false_alarm + counts.miss)


@_ratio("Precision", Weight("number of assigned tags", "tags"), literature="equation 4 of @downie2010")
def _precision(tags: TagPairs, measure: Measure) -> Read:
    """Share of the assigned tags that the reference has."""
    counts = tags.outcomes(measure)
    return np.nan_to_num(counts.precision()), counts.hit + counts.false_alarm


@_ratio(
    "Recall",
    _TAGS,
    aliases=("positive_accuracy", "sensitivity"),
    literature="equation 5 of @downie2010; @mirex2008tags",
)
def _recall(tags: TagPairs, measure: Measure) -> Read:
    """Share of the reference's tags that are assigned: accuracy on positive examples."""
    counts = tags.outcomes(measure)
    return np.nan_to_num(counts.recall()), counts.hit + counts.miss


@_ratio("Accuracy", _DECISIONS, literature="@mirex2008tags")
def _accuracy(tags: TagPairs, measure: Measure) -> Read:
    """Share of the tags that are rightly assigned or rightly not."""
    counts = tags.outcomes(measure)
    return np.nan_to_num(counts.accuracy()), counts.hit + counts.false_alarm + counts.miss + counts.rejection


@_ratio(
    "Negative accuracy",
    Weight("number of tags that the reference has not", "tags"),
    aliases=("specificity",),
    literature="@mirex2008tags",
)
def _negative_accuracy(tags: TagPairs, measure: Measure) -> Read:
    """Share of the tags that the reference has not that are not assigned."""
    counts = tags.outcomes(measure)
    return np.nan_to_num(counts.negative_accuracy()), counts.rejection + counts.false_alarm


@_ordered(
    "AUC-ROC",
    Weight("pairs of a tag that the reference has and one that it has not", "pairs"),
    aliases=("auc",),
    perfect_exceptions="NaN where the reference has all tags or none",
    literature="@fawcett2006; @mirex2008tags",
)
def _roc_auc(tags: TagPairs, measure: Measure) -> Read:
    """Chance that a tag of the reference has a higher affinity than one that it has not."""
    order = tags.order(measure)
    return order.roc_auc(), order.positives * (order.counts - order.positives)


@_ordered(
    "Average precision",
    _TAGS,
    perfect_exceptions="NaN where the reference has no tags",
    literature="section 8.4 of @manning2008",
)
def _average_precision(tags: TagPairs, measure: Measure) -> Read:
    """Mean precision at the tags of the reference, in order of affinity."""
    order = tags.order(measure)
    return order.average_precision(), order.positives


@metric(
    "Precision at k",
    Weight("k", "tags"),
    perfect=None,
    parameters=(Parameter("k", 3, least=1, help="how many tags"), _RELEVANCE),
    default=False,
    literature="precision at 3, 6, 9, 12 and 15 in @mirex2009tags",
)
def _precision_at(tags: TagPairs, measure: Measure) -> Read:
    """Share of the reference's tags among the k of highest affinity."""
    order, k = tags.order(measure), int(measure["k"])
    return order.precision_at(k), k * (order.counts > 0).astype(np.float64)


@_by_tag("Outcomes", range=(0.0, float("inf")), parameters=_DECIDED, dims=("tag", "outcome"))
def _outcomes(tags: TagPairs, measure: Measure) -> Sparse:
    """Hits, false alarms, misses and rejections by tag."""
    chosen, pair, names, place = tags.by_tag()
    decided = tags.decisions.decided(float(measure["relevance"]), float(measure["threshold"]))
    index = np.column_stack([pair, place, np.column_stack(decided)[chosen].argmax(axis=1)])
    attrs = {"long_name": "decisions by tag", "units": "1"}
    return Sparse(("tag", "outcome"), (names, COUNTED), index, np.ones(len(index)), attrs)


@_by_tag(
    "Affinities", range=(float("-inf"), float("inf")), parameters=(_RELEVANCE,), dims=("tag", "side"), default=False
)
def _affinities(tags: TagPairs, measure: Measure) -> Sparse:
    """Relevance and affinity by tag, from which the tags' own areas under the ROC curve are computed."""
    chosen, pair, names, place = tags.by_tag()
    has = tags.decisions.relevant(float(measure["relevance"]))[chosen]
    index = np.concatenate(
        [np.column_stack([pair, place, np.full(len(pair), side, dtype=np.int64)]) for side in range(len(SIDES))]
    )
    value = np.concatenate([has.astype(np.float64), tags.decisions.affinity[chosen]])
    attrs = {"long_name": "relevance and affinity by tag", "units": "1"}
    return Sparse(("tag", "side"), (names, SIDES), index, value, attrs, float("nan"))


METRICS = metrics_in(globals())


def compute(classes: Classes | None, pairs: Pairs) -> TagPairs:
    """The tags of some pairs, each of `classes` a decision; None: in each pair those that either side lists."""
    return TagPairs(Decisions.of(pairs, classes), pairs.counts[0] > 0, classes)


_VERDICTS = dict(zip(COUNTED, ("hit", "extra", "missed", "rejected"), strict=True))


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, *, classes: Classes | None = None
) -> dict[str, Column]:
    """The tags that a clip is about, in the estimate's order, with their verdicts.

    Returns
    -------
    dict of str to array
        ``label``, ``affinity`` (minus infinity for a tag that is not listed, infinity for one without a number) and
        ``verdict``: ``hit``, ``extra``, ``missed`` or ``rejected``.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> measure = get_task("tagging").convention().select(["recall"])[0]
    >>> tags = [Annotation("labels", {}, names) for names in (["slow", "guitar"], ["guitar", "loud"])]
    >>> found = evidence(*tags, measure)
    >>> dict(zip(found["label"].tolist(), found["verdict"].tolist()))
    {'guitar': 'hit', 'loud': 'extra', 'slow': 'missed'}
    """
    refuse_unjudged(measure, METRICS, "tags")
    sides = usable_pair(reference, estimate, partial(clean, classes=classes))
    decisions = Decisions.of(Pairs.in_order(*sides), classes)
    flags = np.column_stack(decisions.decided(float(measure["relevance"]), float(measure["threshold"])))
    return {
        "label": np.array([decisions.tags[tag] for tag in decisions.tag.tolist()], dtype=str),
        "affinity": decisions.affinity,
        "verdict": np.array([_VERDICTS[COUNTED[one]] for one in flags.argmax(axis=1).tolist()], dtype=str),
    }


def convention(classes: Classes | None = None) -> Convention:
    """The rules of MIREX for some tags; None: in each clip those that either side lists."""
    return Convention(
        "mirex",
        "MIREX: each tag of a clip is a decision, and all of them have an order",
        METRICS,
        partial(clean, classes=classes),
        partial(score_by, partial(compute, classes), "tags"),
        explain=partial(evidence, classes=classes),
        bind=convention,
        literature="@downie2010",
    )


def doubt_affinities(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report affinities of an estimate outside of 0 to 1, where a threshold between 0 and 1 decides.

    Examples
    --------
    >>> percent = Annotation("labels", {"value": np.array([60.0, 20.0])}, ["rock", "slow"])
    >>> doubt_affinities(convention().select(["f_measure"]), percent, percent)  # doctest: +ELLIPSIS
    'affinities from 20 to 60 are compared with the threshold 0.5: are they percentages? Divide them by 100, or ask ...'
    """
    value = estimate.columns.get("value")
    if value is None or not len(value) or not (np.nanmin(value, initial=0) < 0 or np.nanmax(value, initial=0) > 1):
        return ""
    decided = [one for one in measures if "threshold" in one.parameters and 0 < float(one["threshold"]) < 1]
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
    MappingProxyType({"mirex": convention()}),
    ("f_measure",),
    doubts=(
        Doubt(
            "affinity",
            "affinities of tags are percentages or logits: they are below 0 or above 1, and a metric decides by a "
            "threshold between 0 and 1",
            of_pair=doubt_affinities,
        ),
        SPELLING,
    ),
)

Tags = Iterable[str] | Mapping[str, float]


@documented(
    """
    Parameters
    ----------
    reference, estimate : iterable of str, or mapping of str to float
        Tags, perhaps with degrees and affinities.
    tags : iterable of str or None
        All that there are, each of which is a decision; None: those that either side lists.
    **kwargs
        Not used; other keyword arguments are refused by their names.
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
    """All scores of one clip that are one number.

    Returns
    -------
    OrderedDict of str to float
        By the names of the metrics.

    Raises
    ------
    ValueError
        For a tag without a name, one that is not among `tags`, one whose number is NaN, and one text for tags.

    Examples
    --------
    >>> found = evaluate({"slow", "guitar"}, {"guitar": 0.9, "loud": 0.7, "slow": 0.6, "piano": 0.1})
    >>> round(found["precision"], 4), found["recall"], found["roc_auc"]
    (0.6667, 1.0, 0.75)
    """
    refuse_unknown("evaluate", kwargs, ("reference", "estimate", "tags", "threshold", "relevance"))
    rules = convention(None if tags is None else Classes(tuple(tags)))
    given: dict[str, Value] = {"threshold": threshold, "relevance": relevance}
    measures = [one.measure(**given) for one in METRICS if not one.dims and one.default]
    scores = _score_pair(rules, reference, estimate, measures)
    return OrderedDict((one.metric.name, value) for one, value in zip(measures, scores.tolist(), strict=True))


def _score_pair(rules: Convention, reference: Tags, estimate: Tags, measures: Sequence[Measure]) -> Float:
    return rules.score_pair(_row(rules, reference, "reference"), _row(rules, estimate, "estimate"), measures)


def _row(rules: Convention, tags: Tags, side: str) -> Ragged:
    if isinstance(tags, str):
        raise AnnotationError(f"{side}: tags, not one text: {tags!r}")
    numbers = dict(tags) if isinstance(tags, Mapping) else None
    for tag, number in (numbers or {}).items():
        if number != number:
            raise AnnotationError(f"{side}: the number of {tag!r} is NaN")
    labels = list(tags if numbers is None else numbers)
    columns = {} if numbers is None else {"value": np.array(list(numbers.values()), dtype=np.float64)}
    cleaned = rules.clean(to_ragged([Annotation("labels", columns, labels)]))
    for flaw in cleaned.flaws.values():
        raise AnnotationError(f"{side}: {flaw.message}")
    return cleaned.rows


globals().update(PairFunctions(METRICS, partial(_score_pair, convention())).functions("As `evaluate` takes them."))
