"""The batched kernel of tagging."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...annotations.classes import Classes
from ...kernels.affinities import Ordered
from ...kernels.outcomes import COUNTED, RATIOS, Outcomes
from ...ragged import Bool, Float, Int, Ragged
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores, Sparse
from .decisions import Decisions

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
        Column label and perhaps value; rows as :func:`mirflow.metrics.tagging.cleaning.clean` leaves them.
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
