"""Retrieval for one query, in plain Python values: the batched kernel with a batch of one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import refuse_unknown
from ...ragged import Ragged
from ..base import Measure
from .metrics import METRICS, MIREX, clean_by_score, score

Items = Iterable[str] | Mapping[str, float]
"""Names of items: relevant ones, perhaps with their grades; or a ranking, in the order of rank or with its scores."""

_RECORDS = {metric.name: metric for metric in METRICS}
_PARAMETERS = tuple(dict.fromkeys(one.name for metric in METRICS for one in metric.parameters))


def validate(relevant: Items, ranking: Items) -> None:
    """Check both sides of a query.

    Parameters
    ----------
    relevant : iterable of str, or mapping of str to float
        The relevant items, perhaps with their grades.
    ranking : iterable of str, or mapping of str to float
        In the order of rank; or items with scores, which are then in the order of the scores, ties as in trec_eval.

    Raises
    ------
    ValueError
        For an item that occurs twice or has no name, and a grade that is not a number.

    Examples
    --------
    >>> validate(["x"], ["y", "x", "y"])
    Traceback (most recent call last):
        ...
    ValueError: ranking: item 'y' occurs twice: as number 1 and number 3
    """
    _side(relevant, "relevant")
    _side(ranking, "ranking")


def average_precision(relevant: Items, ranking: Items, k: int = 0, level: float = 0.0) -> float:
    """Mean over the relevant items of the precision down to the rank of each; 0 for one that is not found.

    Parameters
    ----------
    relevant : iterable of str, or mapping of str to float
        The relevant items, perhaps with their grades.
    ranking : iterable of str, or mapping of str to float
        In the order of rank; or items with scores, which are then in the order of the scores, ties as in trec_eval.
    k : int
        How many ranks are looked at; 0: all.
    level : float
        Grade from which an item is relevant; 0: any positive grade.

    Returns
    -------
    float
        From 0 to 1; 0 without relevant items.

    Raises
    ------
    ValueError
        As `validate`.

    References
    ----------
    C. D. Manning, P. Raghavan and H. Schütze, *Introduction to Information Retrieval*, 2008, section 8.4.

    Examples
    --------
    >>> average_precision(["x", "y"], ["a", "x", "b", "y"])
    0.5
    """
    return _single("average_precision", relevant, ranking, k, level)


def reciprocal_rank(relevant: Items, ranking: Items, k: int = 0, level: float = 0.0) -> float:
    """1 / rank of the first relevant item, 0 if the ranking has none; parameters as for `average_precision`.

    References
    ----------
    Equation 7 of J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange", 2010.

    Examples
    --------
    >>> reciprocal_rank(["x"], ["a", "x"])
    0.5
    """
    return _single("reciprocal_rank", relevant, ranking, k, level)


def precision(relevant: Items, ranking: Items, k: int = 10, level: float = 0.0) -> float:
    """Share of the first `k` ranks that hold a relevant item; parameters as for `average_precision`.

    A ranking that is shorter than `k` is not spared: its further ranks are empty. With ``k=0`` it is the share of the
    items that are listed.

    Examples
    --------
    >>> precision(["x", "y"], ["a", "x"], k=4), precision(["x", "y"], ["a", "x"], k=0)
    (0.25, 0.5)
    """
    return _single("precision", relevant, ranking, k, level)


def recall(relevant: Items, ranking: Items, k: int = 10, level: float = 0.0) -> float:
    """Share of the relevant items in the first `k` ranks; parameters as for `average_precision`.

    Examples
    --------
    >>> recall(["x", "y"], ["a", "x", "y"], k=2)
    0.5
    """
    return _single("recall", relevant, ranking, k, level)


def f_measure(relevant: Items, ranking: Items, k: int = 10, level: float = 0.0) -> float:
    """Harmonic mean of `precision` and `recall`; parameters as for `average_precision`.

    Examples
    --------
    >>> f_measure(["x", "y"], ["a", "x"], k=2)
    0.5
    """
    return _single("f_measure", relevant, ranking, k, level)


def r_precision(relevant: Items, ranking: Items, level: float = 0.0) -> float:
    """Precision at the rank that is the number of relevant items; parameters as for `average_precision`.

    Examples
    --------
    >>> r_precision(["x", "y"], ["a", "x", "y"])
    0.5
    """
    return _single("r_precision", relevant, ranking, level)


def ndcg(relevant: Items, ranking: Items, k: int = 10, gain: str = "linear") -> float:
    """Gain of the first `k` ranks, discounted by log2(rank + 1), over that of the ideal ranking.

    Parameters
    ----------
    relevant, ranking, k
        As for `average_precision`.
    gain : {"linear", "exp2"}
        What an item is worth: its grade, or 2 ** grade - 1.

    References
    ----------
    K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002; for exp2
    C. Burges et al., "Learning to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> ndcg({"x": 3.0, "y": 1.0}, ["x", "y"])
    1.0
    """
    return _single("ndcg", relevant, ranking, k, gain)


def hit_rate(relevant: Items, ranking: Items, k: int = 10, level: float = 0.0) -> float:
    """1 if a relevant item stands in the first `k` ranks, else 0; parameters as for `average_precision`.

    Examples
    --------
    >>> hit_rate(["x"], ["a", "x"], k=1)
    0.0
    """
    return _single("hit_rate", relevant, ranking, k, level)


def covers_in_first(relevant: Items, ranking: Items, k: int = 10, level: float = 0.0) -> float:
    """Number of relevant items in the first `k` ranks; parameters as for `average_precision`.

    Examples
    --------
    >>> covers_in_first(["x", "y"], ["x", "a", "y"])
    2.0
    """
    return _single("covers_in_first", relevant, ranking, k, level)


def rank_of_first(relevant: Items, ranking: Items, not_found: float = 0.0, level: float = 0.0) -> float:
    """The rank of the first relevant item; lower is better.

    Parameters
    ----------
    relevant, ranking, level
        As for `average_precision`.
    not_found : float
        The rank to give where the ranking has no relevant item; 0: it has no score, and NaN is returned.

    Examples
    --------
    >>> rank_of_first(["x"], ["a", "x"]), rank_of_first(["x"], ["a"], not_found=101)
    (2.0, 101.0)
    """
    return _single("rank_of_first", relevant, ranking, not_found, level)


def evaluate(relevant: Items, ranking: Items, **kwargs: Any) -> OrderedDict[str, float]:
    """All scores of one query.

    Parameters
    ----------
    relevant : iterable of str, or mapping of str to float
        The relevant items, perhaps with their grades.
    ranking : iterable of str, or mapping of str to float
        In the order of rank; or items with scores, which are then in the order of the scores, ties as in trec_eval.
    **kwargs
        ``k``, ``level``, ``gain`` and ``not_found``, each for every metric that has it.

    Returns
    -------
    OrderedDict of str to float
        By the names of the records.

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `validate`.

    Examples
    --------
    >>> found = evaluate(["x", "y"], ["a", "x", "b", "y"], k=4)
    >>> found["average_precision"], found["precision"], found["hit_rate"], found["rank_of_first"]
    (0.5, 0.5, 1.0, 2.0)
    """
    refuse_unknown("evaluate", kwargs, ("relevant", "ranking", *_PARAMETERS))
    measures = [
        Measure(metric, tuple(kwargs.get(one.name, one.default) for one in metric.parameters)) for metric in METRICS
    ]
    return OrderedDict(zip(_RECORDS, _scores(relevant, ranking, measures), strict=True))


def _single(name: str, relevant: Items, ranking: Items, *values: float | str) -> float:
    return _scores(relevant, ranking, [Measure(_RECORDS[name], values)])[0]


def _scores(relevant: Items, ranking: Items, measures: list[Measure]) -> list[float]:
    bounded = MIREX.select([str(measure) for measure in measures])  # refuses values that are out of bounds
    only = np.zeros(1, dtype=np.int64)
    found = score(_side(relevant, "relevant"), _side(ranking, "ranking"), only, only, bounded)
    for message in found.partly.values():
        raise ValueError(f"relevant: {message}")
    return [float(one) for one in found.score[0]]


def _side(items: Items, name: str) -> Ragged:
    if isinstance(items, str):
        raise ValueError(f"{name}: names of items, not one text: {items!r}")
    columns = {"value": np.array(list(items.values()), dtype=np.float64)} if isinstance(items, Mapping) else {}
    for item in np.flatnonzero(np.isnan(columns.get("value", np.zeros(0)))).tolist():
        raise ValueError(f"{name}: value of item {list(items)[item]!r} is no number: nan")
    cleaned = clean_by_score(to_ragged([Annotation("ranking", columns, [str(item) for item in items])]))
    for flaw in cleaned.flaws.values():
        raise ValueError(f"{name}: {flaw.message}")
    return cleaned.rows
