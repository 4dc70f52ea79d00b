"""The figures of one clip from plain mappings."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.classes import Classes
from ...errors import AnnotationError
from ...ragged import Ragged
from ..base.arguments import refuse_unknown
from ..base.task import Convention
from .records import convention

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
