"""Tagging, any number of tags a clip, perhaps with affinities: one clip's figures, and the convention in `TASK`."""

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
from ..errors import AnnotationError, MetricError
from ..kernels.agreement import COUNTED, RATIOS, Outcomes
from ..kernels.ragged_ops import sum_by
from ..kernels.ranking import Ordered
from ..ragged import Bool, Column, Float, Int, Ragged, ranges, rows_of
from .base import (
    Cleaned,
    Convention,
    Grid,
    Measure,
    Metric,
    Parameter,
    Scores,
    Sparse,
    Task,
    refuse_grid,
    refuse_unknown,
)
from .categories import label_problems, number_labels
from .cleaning import set_aside, usable

__all__ = [
    "TASK",
    "evaluate",
]


def clean(rows: Ragged, classes: Classes | None = None) -> Cleaned:
    """Keep each tag of a row once.

    A tag that is merely told again is dropped and counted as a repair.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: column label, and perhaps value (affinity or degree, NaN for none).
    classes : Classes or None
        The tags that there are; None: any.

    Returns
    -------
    Cleaned
        Flaws are tags without a name, tags that are not among those that there are, tags that stand twice with
        different numbers, and tags without a number in a row that has numbers.

    Examples
    --------
    >>> rows = Ragged({"label": np.array([0, 1, 0, 0, 0]), "value": np.array([0.5, 1, 0.5, 0.1, 0.2])},
    ...               (np.array([3, 2]),), ("guitar", "slow"))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([2, 0], [1, 0], "the tag 'guitar' stands twice, with 0.1 and with 0.2")
    """
    label, texts, owner = rows.columns["label"], [*rows.labels, ""], rows_of(rows.counts[0])
    problems = label_problems(rows, classes, "tag")
    first = np.arange(len(label))
    key = owner * len(texts) + label
    _, leader, place = np.unique(key, return_index=True, return_inverse=True)
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
                    f"the tag {texts[label[item]]!r} stands twice, with {value[first[item]]:g} and with {value[item]:g}"
                ),
            ),
        ]
    repeated = first != np.arange(len(label))
    cleaned = set_aside(rows, problems, repeated)
    if not repeated.any():
        return cleaned
    spared = ~np.isin(owner, list(cleaned.flaws))
    return Cleaned(cleaned.rows.keep(~repeated[spared]), cleaned.repairs, cleaned.flaws)


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
    def of(
        cls, references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, classes: Classes | None
    ) -> Decisions:
        """Of cleaned rows. Without `classes` a pair is about the tags that either side lists."""
        tags, numbers = number_labels(references, estimates, classes)
        size, pairs = len(tags), len(reference_row)
        listed = [
            _spread(side, number, row, size)
            for side, number, row in zip((references, estimates), numbers, (reference_row, estimate_row), strict=True)
        ]
        told = np.concatenate([listed[0][0], listed[1][0]])
        every = np.unique(told) if classes is None else np.arange(pairs * size)
        held = np.full((2, len(every)), -np.inf)
        position = np.full(len(every), len(every), dtype=np.int64)
        for side, (key, value) in zip(held, listed, strict=True):
            side[np.searchsorted(every, key)] = value
        position[np.searchsorted(every, listed[1][0])] = np.arange(len(listed[1][0]))
        order = np.lexsort((position, every // max(size, 1)))
        pair, tag = every[order] // max(size, 1), every[order] % max(size, 1)
        return cls(tags, pair, tag, held[0][order], held[1][order], pairs)

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
        """Which decision is a hit, a false alarm, a miss, a rejection: float64 (n,) each."""
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


_VERDICTS = dict(zip(COUNTED, ("hit", "extra", "missed", "rejected"), strict=True))


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, *, classes: Classes | None = None
) -> dict[str, Column]:
    """The tags that a clip is about, in the estimate's order, with their verdicts.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind labels.
    measure : Measure
        One that decides on each tag: ``f_measure``, ``precision``, ``recall``, ``accuracy``, ``negative_accuracy``.
    classes : Classes or None

    Returns
    -------
    dict of str to array
        ``label``, ``affinity`` (minus infinity for a tag that is not listed, infinity for one without a number) and
        ``verdict``: ``hit``, ``extra``, ``missed`` or ``rejected``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.
    MetricError
        If the measure does not decide on tags one by one.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> measure = get_task("tagging").convention().select(["recall"])[0]
    >>> tags = [Annotation("labels", {}, names) for names in (["slow", "guitar"], ["guitar", "loud"])]
    >>> found = evidence(*tags, measure)
    >>> dict(zip(found["label"].tolist(), found["verdict"].tolist()))
    {'guitar': 'hit', 'loud': 'extra', 'slow': 'missed'}
    """
    if measure.metric.name not in RATIOS:
        raise MetricError(f"{measure} does not judge tags one by one; ask for one of {', '.join(RATIOS)}")
    sides = [
        usable(annotation, clean(to_ragged([annotation]), classes), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    only = np.zeros(1, dtype=np.int64)
    decisions = Decisions.of(sides[0], sides[1], only, only, classes)
    flags = np.column_stack(decisions.decided(float(measure["relevance"]), float(measure["threshold"])))
    return {
        "label": np.array([decisions.tags[tag] for tag in decisions.tag.tolist()], dtype=str),
        "affinity": decisions.affinity,
        "verdict": np.array([_VERDICTS[COUNTED[one]] for one in flags.argmax(axis=1).tolist()], dtype=str),
    }


SIDES = ("relevance", "affinity")
"""What is kept of each tag, so that the tags can be ordered over the clips."""


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
    *,
    classes: Classes | None = None,
) -> Scores:
    """Scores of pairs of tag lists.

    Parameters
    ----------
    references, estimates : Ragged
        Column label and perhaps value; rows as :func:`mirflow.metrics.tagging.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Tags of a whole clip have no time, so there is nothing to choose.
    classes : Classes or None
        The tags that there are, each of which is a decision; None: in each pair those that either side lists.

    Returns
    -------
    Scores
        0 with weight 0 where a ratio has nothing below the line; NaN with weight 0 where there is nothing to order.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    equations 4 to 6.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> rows = Ragged({"label": np.array([0, 1, 1, 2])}, (np.array([2, 2]),), ("guitar", "slow", "loud"))
    >>> wanted = get_task("tagging").convention().select(["precision", "recall"])
    >>> score(rows, rows, np.array([0]), np.array([1]), wanted).score.tolist()
    [[0.5, 0.5]]
    """
    refuse_grid(grid, "tags")
    decisions = Decisions.of(references, estimates, reference_row, estimate_row, classes)
    known = references.counts[0][reference_row] > 0
    scalars = [measure for measure in measures if not measure.metric.dims]
    found = np.zeros((2, len(known), len(scalars)))
    held = _Held(decisions)
    for column, measure in enumerate(scalars):
        found[:, :, column] = _read(measure, held)
    extras: dict[str, Sparse] = {}
    for measure in measures:
        if measure.metric.dims:
            make = _count if measure.metric.name == "outcomes" else _keep
            extras[measure.variable] = make(decisions, measure, known, classes)
    return Scores(found[0], found[1], extras)


class _Held:
    """Outcomes and orders of one call, each made once."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions
        self._outcomes: dict[tuple[float, float], Outcomes] = {}
        self._orders: dict[float, Ordered] = {}

    def outcomes(self, measure: Measure) -> Outcomes:
        way = float(measure["relevance"]), float(measure["threshold"])
        if way not in self._outcomes:
            self._outcomes[way] = self._decisions.outcomes(*way)
        return self._outcomes[way]

    def order(self, measure: Measure) -> Ordered:
        relevance = float(measure["relevance"])
        if relevance not in self._orders:
            self._orders[relevance] = self._decisions.ordered(relevance)
        return self._orders[relevance]


def _read(measure: Measure, held: _Held) -> tuple[Float, Float]:
    """Score and weight of each pair."""
    name = measure.metric.name
    if name in RATIOS:
        outcomes = held.outcomes(measure)
        return np.nan_to_num(RATIOS[name](outcomes), nan=0.0), _BELOW[name](outcomes)
    order = held.order(measure)
    positive = order.positives
    if name == "roc_auc":
        return order.roc_auc(), positive * (order.counts - positive)
    if name == "average_precision":
        return order.average_precision(), positive
    k = int(measure["k"])
    some = (order.counts > 0).astype(np.float64)
    return order.precision_at(k), k * some


_BELOW = {
    "precision": lambda counts: counts.hit + counts.false_alarm,
    "recall": lambda counts: counts.hit + counts.miss,
    "f_measure": lambda counts: counts.hit + 0.5 * (counts.false_alarm + counts.miss),
    "accuracy": lambda counts: counts.hit + counts.false_alarm + counts.miss + counts.rejection,
    "negative_accuracy": lambda counts: counts.rejection + counts.false_alarm,
}
"""What stands below the line of each ratio."""


def _tags(decisions: Decisions, chosen: Bool, classes: Classes | None) -> tuple[tuple[str, ...], Int]:
    """The tags of some decisions, and the place of each among them; of known tags all."""
    if classes is not None:
        return decisions.tags, decisions.tag[chosen]
    used, place = np.unique(decisions.tag[chosen], return_inverse=True)
    return tuple(decisions.tags[one] for one in used.tolist()), place.reshape(-1)


def _count(decisions: Decisions, measure: Measure, known: Bool, classes: Classes | None) -> Sparse:
    """Which decisions were right and wrong, by tag."""
    chosen = known[decisions.pair]
    tags, place = _tags(decisions, chosen, classes)
    flags = np.column_stack(decisions.decided(float(measure["relevance"]), float(measure["threshold"])))[chosen]
    index = np.column_stack([decisions.pair[chosen], place, flags.argmax(axis=1)])
    attrs = {"long_name": "decisions by tag", "units": "1"}
    return Sparse(("tag", "outcome"), (tags, COUNTED), index, np.ones(len(index)), attrs)


def _keep(decisions: Decisions, measure: Measure, known: Bool, classes: Classes | None) -> Sparse:
    """Relevance and affinity by tag; NaN where a clip is not about a tag."""
    chosen = known[decisions.pair]
    tags, place = _tags(decisions, chosen, classes)
    pair, has = decisions.pair[chosen], decisions.relevant(float(measure["relevance"]))[chosen]
    index = np.concatenate(
        [np.column_stack([pair, place, np.full(len(pair), side, dtype=np.int64)]) for side in range(len(SIDES))]
    )
    value = np.concatenate([has.astype(np.float64), decisions.affinity[chosen]])
    attrs = {"long_name": "relevance and affinity by tag", "units": "1"}
    return Sparse(("tag", "side"), (tags, SIDES), index, value, attrs, float("nan"))


_DOWNIE = "Downie et al., The Music Information Retrieval Evaluation eXchange, 2010"
_ATC = "MIREX 2008, Audio Tag Classification"
_THRESHOLD = Parameter("threshold", 0.5, help="smallest affinity of a tag that an estimate assigns")
_RELEVANCE = Parameter("relevance", 0.5, help="smallest number of a tag that a reference has")
_DECIDED = (_THRESHOLD, _RELEVANCE)
_NOTHING = "0 where there is none to measure; thresholds that differ decide the same tags differently"


def _ratio(
    name: str, title: str, summary: str, weight: str, literature: str, aliases: tuple[str, ...] = (), pooling: str = ""
) -> Metric:
    return Metric(
        name,
        title,
        summary,
        weight,
        "tags",
        aliases=aliases,
        pooling="micro" if pooling == "micro" else "exact",
        perfect_exceptions=_NOTHING,
        parameters=_DECIDED,
        literature=literature,
    )


_RATIOS = (
    _ratio(
        "f_measure",
        "F-measure",
        "harmonic mean of precision and recall of the tags of a clip",
        "mean of the numbers of tags of both sides",
        f"equation 6 of {_DOWNIE}",
        ("f1",),
    ),
    _ratio(
        "precision",
        "Precision",
        "share of the assigned tags that the reference has",
        "number of assigned tags",
        f"equation 4 of {_DOWNIE}",
    ),
    _ratio(
        "recall",
        "Recall",
        "share of the reference's tags that are assigned: accuracy on positive examples",
        "number of the reference's tags",
        f"equation 5 of {_DOWNIE}; {_ATC}",
        ("positive_accuracy", "sensitivity"),
    ),
    _ratio(
        "accuracy",
        "Accuracy",
        "share of the tags that are rightly assigned or rightly not",
        "number of tags that are decided on",
        _ATC,
    ),
    _ratio(
        "negative_accuracy",
        "Negative accuracy",
        "share of the tags that the reference has not that are not assigned",
        "number of tags that the reference has not",
        _ATC,
        ("specificity",),
    ),
)
_ORDERED = (
    Metric(
        "roc_auc",
        "AUC-ROC",
        "chance that a tag of the reference has a higher affinity than one that it has not",
        "pairs of a tag that the reference has and one that it has not",
        "pairs",
        aliases=("auc",),
        pooling="micro",
        perfect_exceptions="NaN where the reference has all tags or none",
        parameters=(_RELEVANCE,),
        literature=f"Fawcett, An introduction to ROC analysis, 2006; {_ATC}",
    ),
    Metric(
        "average_precision",
        "Average precision",
        "mean precision at the tags of the reference, in order of affinity",
        "number of the reference's tags",
        "tags",
        pooling="micro",
        perfect_exceptions="NaN where the reference has no tags",
        parameters=(_RELEVANCE,),
        literature="Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4",
    ),
    Metric(
        "precision_at",
        "Precision at k",
        "share of the reference's tags among the k of highest affinity",
        "k",
        "tags",
        pooling="exact",
        perfect=None,
        parameters=(Parameter("k", 3, least=1, help="how many tags"), _RELEVANCE),
        default=False,
        literature="MIREX 2009, Audio Tag Classification: precision at 3, 6, 9, 12 and 15",
    ),
)
_EXTRA = (
    Metric(
        "outcomes",
        "Outcomes",
        "hits, false alarms, misses and rejections by tag",
        "number of tags that are decided on",
        "tags",
        orientation="none",
        range=(0.0, float("inf")),
        perfect=None,
        parameters=_DECIDED,
        dims=("tag", "outcome"),
        literature=_ATC,
    ),
    Metric(
        "affinities",
        "Affinities",
        "relevance and affinity by tag, from which the tags' own areas under the ROC curve are computed",
        "number of tags that are decided on",
        "tags",
        orientation="none",
        range=(float("-inf"), float("inf")),
        perfect=None,
        parameters=(_RELEVANCE,),
        dims=("tag", "side"),
        default=False,
        literature=_ATC,
    ),
)


def convention(classes: Classes | None = None) -> Convention:
    """The rules of MIREX for some tags; None: in each clip those that either side lists."""
    return Convention(
        "mirex",
        "MIREX: each tag of a clip is a decision, and all of them have an order",
        (*_RATIOS, *_ORDERED, *_EXTRA),
        partial(clean, classes=classes),
        partial(score, classes=classes),
        explain=partial(evidence, classes=classes),
        bind=convention,
    )


TASK = Task("tagging", "Tagging", MappingProxyType({"mirex": convention()}), ("f_measure",))

Tags = Iterable[str] | Mapping[str, float]


def evaluate(
    reference: Tags,
    estimate: Tags,
    tags: Iterable[str] | None = None,
    threshold: float = 0.5,
    relevance: float = 0.5,
    **kwargs: Any,
) -> dict[str, float]:
    """All figures of one clip that are one number.

    Parameters
    ----------
    reference, estimate : iterable of str, or mapping of str to float
        Tags, perhaps with degrees and affinities.
    tags : iterable of str or None
        All that there are, each of which is a decision; None: those that either side lists.
    threshold, relevance : float
        Smallest number of a tag that the estimate assigns, and that the reference has.
    **kwargs
        There are none; they are only named to say so.

    Returns
    -------
    OrderedDict of str to float
        By the names of the metrics.

    Raises
    ------
    TypeError
        For any other keyword argument.
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
    sides = _row(rules, reference, "reference"), _row(rules, estimate, "estimate")
    given: dict[str, float] = {"threshold": threshold, "relevance": relevance}
    wanted = [
        f"{metric.name}({','.join(f'{p.name}={given[p.name]!r}' for p in metric.parameters if p.name in given)})"
        for metric in rules.metrics
        if not metric.dims and metric.default
    ]
    measures, only = rules.select(wanted), np.zeros(1, dtype=np.int64)
    found = rules.score(*sides, only, only, measures, "union").score[0]
    return OrderedDict((measure.metric.name, value) for measure, value in zip(measures, found.tolist(), strict=True))


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
