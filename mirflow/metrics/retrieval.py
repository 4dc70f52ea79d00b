"""Retrieval: for each query, the estimate is a ranked list of items and the reference the relevant items.

mir_eval does not have this task. Functions take one ranking and its relevant items; `TASK` holds the metrics of whole
datasets, in which each track is a query, with a warning of rankings that are probably by distance.

Conventions
-----------
* ``mirex`` (default): items in listed order (cover songs, query by humming and tapping).
* ``trec_eval``: items by descending score, ties broken by name, as in trec_eval 9.

Metrics
-------
* ``average_precision`` (`average_precision`): mean precision at the ranks of relevant items.
* ``reciprocal_rank``, ``rank_of_first`` (`reciprocal_rank`, `rank_of_first`): of the first relevant item.
* ``precision``, ``recall``, ``hit_rate``, ``covers_in_first`` (`precision`, `recall`, `hit_rate`, `covers_in_first`):
  among the first ten.
* ``r_precision`` (`r_precision`): precision at the number of relevant items.
* ``ndcg`` (`ndcg`): normalized discounted cumulative gain at ten.
* ``f_measure`` (`f_measure`), on request: harmonic mean of precision and recall.

References
----------
Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8; Järvelin and Kekäläinen 2002;
Downie et al. 2010, section 3.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.collection import Collection
from ..errors import refuse_unknown
from ..kernels.ragged_ops import sum_by
from ..kernels.ranking import meet_judged, repeated
from ..kernels.ratios import Scored, divide
from ..ragged import Bool, Column, Float, Int, Ragged, offsets_of, rows_of
from .base import Convention, Doubt, Grid, Pairs, Scores, Shared, Task, by_name, computed_by, read_scores
from .cleaning import Cleaned, Problem, set_aside, usable_pair
from .measures import Measure, Parameter, Weight, family, metric, metrics_in
from .pair import documented

__all__ = ["TASK", "average_precision", "covers_in_first", "evaluate", "f_measure", "hit_rate", "ndcg", "precision"]
__all__ += ["r_precision", "rank_of_first", "recall", "reciprocal_rank", "validate"]


@dataclass(frozen=True, slots=True)
class Hits:
    """The relevant items found in rankings, sorted by pair and rank."""

    pair: Int  # int64 (n,)
    rank: Int  # From 1: int64 (n,)
    number: Int  # int64 (n,): number of relevant items down to this rank: 1, 2, ... in each pair
    relevant: Float  # Number of relevant items to find: float64 (pairs,)
    answerable: Float  # 1 for each pair with relevant items, else 0: float64 (pairs,)

    def count(self, last: Float | int) -> Float:
        """Number of relevant items down to a rank of each hit's ranking; 0: the whole ranking."""
        mask = self.rank <= last if np.any(last) else np.ones(len(self.rank), dtype=np.bool_)
        return np.bincount(self.pair[mask], minlength=len(self.relevant)).astype(np.float64)

    def first(self, absent: float) -> Float:
        """Rank of the first relevant item of each ranking."""
        first, leading = np.full(len(self.relevant), absent), self.number == 1
        first[self.pair[leading]] = self.rank[leading]
        return first


@dataclass(eq=False)
class JudgedRankings(Shared):
    """Judged rankings of pairs."""

    pair: Int
    rank: Int
    """int64 (n,): pair and rank of each item with a positive grade; ranks start at 1 and skip items that are left
    out."""
    grades: Float  # Grades of all items of the references, 0 of those that are left out: float64 (items,)
    item: Int  # Index among these: int64 (n,)
    returned: Int  # Length of each ranking without items that are left out: int64 (pairs,)
    wanted: Ragged  # Column ``grade``: positive grades of each pair in descending order

    @computed_by("level")
    def hits(self, level: float) -> Hits:
        """Items with a positive grade of at least a measure's level."""
        mask, pairs = self.grades[self.item] >= level, len(self.returned)
        pair, rank = self.pair[mask], self.rank[mask]
        counts = np.bincount(pair, minlength=pairs).astype(np.int64)
        number = np.arange(len(pair), dtype=np.int64) - offsets_of(counts)[pair] + 1
        owner = rows_of(self.wanted.counts[0])[self.wanted.columns["grade"] >= level]
        relevant = np.bincount(owner, minlength=pairs).astype(np.float64)
        return Hits(pair, rank, number, relevant, (relevant > 0).astype(np.float64))


def judge(pairs: Pairs) -> JudgedRankings:
    """Judge rankings by references.

    References have a column label and optionally value (the grade, 1 by default) and left_out (1: the item is removed
    from rankings); estimates have a column label, in order of rank.
    """
    (references, reference_row), (estimates, estimate_row) = pairs.sides
    counts, listed_counts = references.counts[0], estimates.counts[0]
    absent = np.full(len(references.columns["label"]), np.nan)
    left_out, grade = references.columns.get("left_out", absent) > 0, references.columns.get("value", absent)
    grade = np.where(left_out, 0.0, np.where(np.isnan(grade), 1.0, grade))
    judged = left_out | (grade > 0)
    of_label = {label: code for code, label in enumerate(references.labels)}
    codes = np.array([*(of_label.get(label, -1) for label in estimates.labels), -1], dtype=np.int64)
    # Only items that are relevant or left out need to be met.
    items = np.flatnonzero(judged)
    labels = references.columns["label"][items]
    wanted_counts = np.bincount(rows_of(counts)[judged], minlength=len(counts)).astype(np.int64)
    listed = codes[estimates.columns["label"]]
    met = meet_judged(labels, wanted_counts, listed, listed_counts, reference_row, estimate_row)
    item = items[met.judged]
    out, pair = left_out[item], met.pair
    gone = np.bincount(pair[out], minlength=len(estimate_row)).astype(np.int64)
    rank = met.place + 1 - (np.cumsum(out) - offsets_of(gone)[pair])
    pair, rank, item = pair[~out], rank[~out], item[~out]
    returned = listed_counts[estimate_row] - gone
    wanted = Ragged({"grade": grade}, references.counts).keep(grade > 0)
    best = wanted.columns["grade"]
    best = best[np.lexsort((-best, rows_of(wanted.counts[0])))]
    wanted = Ragged({"grade": best}, wanted.counts).take(reference_row)
    return JudgedRankings(pair, rank, grade, item, returned, wanted)


def clean(rows: Ragged) -> Cleaned:
    """Clean rankings, keeping their order.

    Flaws are items without a name, repeated items, and values that are NaN or infinite; minus infinity is allowed as
    the lowest score.
    """
    label = rows.columns["label"]
    names = [*rows.labels, ""]
    again, first = repeated(label + 1, rows.counts[0])
    start = rows.offsets[:-1][rows_of(rows.counts[0])] if len(again) else np.zeros(0, dtype=np.int64)
    before = dict(zip(again.tolist(), first.tolist(), strict=True))

    nameless: Bool = np.array([not name for name in names], dtype=np.bool_)[label]  # the last one serves -1
    problems: list[Problem] = [
        (nameless, lambda item: "item without a name"),
        (
            np.isin(np.arange(len(label)), again) & ~nameless,
            lambda item: (
                f"item {names[label[item]]!r} occurs twice: as number {before[item] - start[item] + 1} and number "
                f"{item - start[item] + 1}"
            ),
        ),
    ]
    if "value" in rows.columns:
        value = rows.columns["value"]
        # Values are missing only if other rows have some; otherwise the column is missing.
        absent = np.isnan(value)
        owner = rows_of(rows.counts[0])
        some = np.bincount(owner[~absent], minlength=len(rows)) > 0
        odd = np.isposinf(value) | (absent & some[owner])
        problems.append((odd, lambda item: f"value of item {names[label[item]]!r} is not a number: {value[item]}"))
    return set_aside(rows, problems)


def clean_by_score(rows: Ragged) -> Cleaned:
    """Clean rankings and sort them by score as trec_eval does.

    Scores are compared in single precision. Ties are broken by the column tie or, if there is none, by the UTF-8 bytes
    of the names in descending order. Rows without scores keep their order.
    """
    cleaned = clean(rows)
    rows = cleaned.rows
    if "value" not in rows.columns:
        return cleaned
    value, label = rows.columns["value"], rows.columns["label"]
    late = np.zeros(len(rows.labels), dtype=np.int64)
    late[sorted(range(len(rows.labels)), key=lambda code: rows.labels[code].encode())] = np.arange(len(rows.labels))
    scored = ~np.isnan(value)  # after cleaning, a row has all scores or none
    tie = rows.columns.get("tie", np.full(len(value), np.nan))
    name = np.where(scored, -np.where(np.isnan(tie), late[label], tie), np.arange(len(value)))
    with np.errstate(over="ignore"):
        single = np.where(scored, -value, 0.0).astype(np.float32)
    order = np.lexsort((name, single, rows_of(rows.counts[0])))
    columns = {name: column[order] for name, column in rows.columns.items()}
    return Cleaned(Ragged(columns, rows.counts, rows.labels), cleaned.repairs, cleaned.flaws)


_COVERS = "@mirex2006covers; @downie2008"
_QUERIES = Weight("1 for a query that has relevant items", "queries")
_RELEVANT = Weight("number of relevant items", "items")
_metric = partial(metric, pooling="micro")
_LEVEL = Parameter("level", 0.0, least=0.0, help="lowest grade of relevant items; 0: any positive grade")
_K = Parameter("k", 0, "ranks", help="number of ranks to score; 0: the whole list", least=0)


@_metric(
    "Average precision",
    _RELEVANT,
    aliases=("map", "mean_average_precision"),
    parameters=(_K, _LEVEL),
    literature=f"{_COVERS}; @manning2008, section 8.4",
)
def _average_precision(judged: JudgedRankings, measure: Measure) -> Scored:
    """Precision at the rank of each relevant item (0 if not found), averaged over relevant items."""
    hits = judged.hits(measure)
    inside = hits.rank <= (int(measure["k"]) or np.inf)
    total = sum_by(hits.pair[inside], hits.number[inside] / hits.rank[inside], len(judged.returned))
    return divide(total, hits.relevant), hits.relevant


@_metric(
    "Reciprocal rank",
    _QUERIES,
    aliases=("mrr", "recip_rank", "mean_reciprocal_rank"),
    parameters=(_K, _LEVEL),
    literature="equation 7 of @downie2010; @voorhees1999",
)
def _reciprocal_rank(judged: JudgedRankings, measure: Measure) -> Scored:
    """1 / rank of the first relevant item, 0 if none is found; its mean over queries is MRR."""
    hits = judged.hits(measure)
    first = hits.first(np.inf)
    return np.where(first <= (int(measure["k"]) or np.inf), 1.0 / first, 0.0), hits.answerable


@family(
    {
        "precision": Weight("k, or the length of the list where k is 0", "ranks"),
        "recall": _RELEVANT,
        "f_measure": Weight("mean of k (or the length of the list) and the number of relevant items", "items"),
    },
    {
        "precision": {
            "title": "Precision at k",
            "summary": "share of the first k ranks that are relevant; missing ranks of shorter lists are not",
            "aliases": ("p", "set_p"),
            "literature": "equation 4 of @downie2010; @manning2008, section 8.4",
        },
        "recall": {
            "title": "Recall at k",
            "summary": "share of the relevant items that are in the first k ranks",
            "aliases": ("set_recall",),
            "literature": "equation 5 of @downie2010; @manning2008, section 8.4",
        },
        "f_measure": {
            "title": "F-measure at k",
            "summary": "harmonic mean of precision and recall at k",
            "aliases": ("f1", "set_f"),
            "default": False,
            "literature": "equation 6 of @downie2010",
        },
    },
    pooling="micro",
    perfect=None,
    parameters=(replace(_K, default=10), _LEVEL),
)
def rates(what: str, judged: JudgedRankings, measure: Measure) -> Scored:
    """Precision, recall or F-measure of the first k ranks."""
    hits, k = judged.hits(measure), int(measure["k"])
    # A ranking has k ranks even if it is shorter.
    depth = np.full(len(judged.returned), float(k)) if k else judged.returned.astype(np.float64)
    size = {"precision": depth, "recall": hits.relevant, "f_measure": (depth + hits.relevant) / 2}[what]
    return divide(hits.count(k), size), size * hits.answerable


@_metric("R-precision", _RELEVANT, aliases=("rprec",), parameters=(_LEVEL,), literature="@manning2008, section 8.4")
def _r_precision(judged: JudgedRankings, measure: Measure) -> Scored:
    """Precision at R, where R is the number of relevant items."""
    hits = judged.hits(measure)
    return divide(hits.count(hits.relevant[hits.pair]), hits.relevant), hits.relevant


@_metric(
    "nDCG at k",
    Weight("discounted gain of the ideal ranking", "gain"),
    parameters=(
        replace(_K, default=10),
        Parameter("gain", "linear", choices=("linear", "exp2"), help="the grade, or 2 ** grade - 1"),
    ),
    literature="@jarvelin2002; exp2: @burges2005",
)
def _ndcg(judged: JudgedRankings, measure: Measure) -> Scored:
    """Gain of the first k ranks, discounted by log2(rank + 1), over that of the ideal ranking."""
    last, wanted = int(measure["k"]) or np.inf, judged.wanted

    def discounted(pair: Int, rank: Int, grade: Float) -> Float:
        inside = rank <= last
        gain = np.exp2(grade[inside]) - 1 if measure["gain"] == "exp2" else grade[inside]
        return sum_by(pair[inside], gain / np.log2(rank[inside] + 1.0), len(judged.returned))

    owner = rows_of(wanted.counts[0])
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite gain is refused by its weight
        best = discounted(owner, np.arange(len(owner)) - wanted.offsets[owner] + 1, wanted.columns["grade"])
        return divide(discounted(judged.pair, judged.rank, judged.grades[judged.item]), best), best


@family(
    _QUERIES,
    {
        "hit_rate": {
            "title": "Hit rate at k",
            "summary": "1 if a relevant item is in the first k ranks",
            "aliases": ("success", "top_k"),
            "literature": "top-10 hit rate in @mirex2006singing",
        },
        "covers_in_first": {
            "title": "Covers in the first k",
            "summary": "number of relevant items in the first k ranks",
            "aliases": ("covers_in_top",),
            "range": (0.0, float("inf")),
            "unit": "items",
            "perfect": None,
        },
        "rank_of_first": {
            "title": "Rank of the first cover",
            "summary": "rank of the first relevant item",
            "aliases": ("mr1", "rank_of_first_cover"),
            "range": (1.0, float("inf")),
            "orientation": "lower",
            "unit": "ranks",
            "parameters": (
                Parameter("not_found", 0.0, "ranks", least=0.0, help="rank if no relevant item is found; 0: no score"),
                _LEVEL,
            ),
        },
    },
    pooling="micro",
    parameters=(replace(_K, default=10, help="number of ranks to score", least=1), _LEVEL),
    literature=_COVERS,
)
def first_ranks(name: str, judged: JudgedRankings, measure: Measure) -> Scored:
    """Whether and how many relevant items are in the first ranks, and the rank of the first one."""
    hits = judged.hits(measure)
    if name == "rank_of_first":
        return hits.first(float(measure["not_found"]) or np.nan), hits.answerable  # 0 means no rank
    k = int(measure["k"])
    found = hits.count(k) if name == "covers_in_first" else (hits.first(np.inf) <= k).astype(np.float64)
    return found, hits.answerable


METRICS = metrics_in(globals())


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score rankings; each pair is a query.

    Queries without relevant items score 0 with weight 0. If the gains of the grades overflow, the score is NaN with
    weight 0 and a message in `partly`.
    """
    judged = judge(pairs)
    scores = read_scores(measures, judged, len(pairs))
    vast = np.isinf(scores.weight)
    scores.score[vast], scores.weight[vast] = np.nan, 0.0
    partly = dict.fromkeys(np.flatnonzero(vast.any(axis=1)).tolist(), "the gains of the grades overflow")
    return replace(scores, partly=partly)


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, cleaner: Callable[[Ragged], Cleaned] = clean
) -> dict[str, Column]:
    """Return the relevant items of a query with the rank at which each was found; the measure's ``level`` defines
    relevance.

    Columns are ``item``, ``grade``, ``rank`` (not counting items that are left out; NaN if missed) and ``verdict``
    (``found`` or ``missed``); found items come first, in order of rank.
    """
    references, estimates = usable_pair(reference, estimate, cleaner)
    judged = judge(Pairs.in_order(references, estimates))
    grade, rank = judged.grades, np.full(len(judged.grades), np.nan)
    rank[judged.item] = judged.rank
    wanted = np.flatnonzero((grade > 0) & (grade >= float(measure.parameters.get("level", 0.0))))
    wanted = wanted[np.lexsort((-grade[wanted], rank[wanted]))]
    return {
        "item": np.array([references.labels[code] for code in references.columns["label"][wanted].tolist()], dtype=str),
        "grade": grade[wanted],
        "rank": rank[wanted],
        "verdict": np.where(np.isnan(rank[wanted]), "missed", "found"),
    }


MIREX = Convention(
    "mirex", "rankings in listed order, as in MIREX", METRICS, clean, score, explain=evidence, literature="@downie2010"
)
TREC_EVAL = replace(
    MIREX,
    name="trec_eval",
    summary="trec_eval 9: rankings by descending score, ties by name in descending order",
    clean=clean_by_score,
    explain=partial(evidence, cleaner=clean_by_score),
    literature="",
)

_FEWEST, _WORSE = 3, 3.0
"""Relevant items, and others, by which a ranking is judged, and the standard deviations by which it is worse than a
random one."""


def doubt_order(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report a ranking by numbers that has the relevant items far behind the others: it is of distances."""
    if np.isnan(estimate.columns.get("value", np.full(1, np.nan))).any():
        return ""
    grades = reference.columns.get("value", np.ones(len(reference)))
    wanted = {label for label, grade in zip(reference.labels or (), grades.tolist(), strict=True) if grade > 0}
    mask = np.array([label in wanted for label in estimate.labels or ()], dtype=np.bool_)
    count, relevant = len(mask), int(mask.sum())
    others = count - relevant
    if min(relevant, others) < _FEWEST:
        return ""
    rank = np.flatnonzero(mask) + 1
    late = float(rank.sum()) - relevant * (count + 1) / 2
    if late < _WORSE * np.sqrt(relevant * others * (count + 1) / 12):
        return ""
    return (
        f"all but {int((rank <= count / 2).sum())} of the {relevant} relevant items are in the worse half of {count}: "
        "are the numbers distances? Larger ones rank first"
    )


_MOST = 2000  # Items of a ranking that are looked at, as larger ones take as long as their scores


def suspect_few(references: Collection, estimates: Collection, rows: Int, columns: Int) -> Bool:
    """Mask pairs with enough relevant items and others, and with rankings that are looked at in little time."""
    counts = estimates.rows.counts[0][columns]
    few: Bool = (references.rows.counts[0][rows] >= _FEWEST) & (counts > 2 * _FEWEST) & (counts <= _MOST)
    return few


def suspect_numbers(measures: Sequence[Measure], rankings: Collection) -> Bool:
    """Mask all rankings if they have numbers."""
    mask: Bool = np.full(len(rankings), "value" in rankings.rows.columns, dtype=np.bool_)
    return mask


TASK = Task(
    "retrieval",
    "Retrieval",
    by_name(MIREX, TREC_EVAL),
    ("average_precision",),
    doubts=(
        Doubt(
            "distances",
            f"a ranking by numbers has the relevant items {_WORSE:g} standard deviations behind a random order",
            of_pair=doubt_order,
            suspects=suspect_numbers,
            suspect_pairs=suspect_few,
        ),
    ),
)


Items = Iterable[str] | Mapping[str, float]
"""Names of relevant items, optionally with grades; or a ranking, in order of rank or with scores."""

_documented = documented(
    """
    Parameters
    ----------
    relevant : iterable of str, or mapping of str to float
        Relevant items, optionally with grades.
    ranking : iterable of str, or mapping of str to float
        Items in order of rank, or items with scores, which are ranked as in trec_eval.

    Raises
    ------
    ValueError
        For an item that is repeated or has no name, or a grade that is not a number.
    """,
    METRICS,
)
_RECORDS = {record.name: record for record in METRICS}


def _rows(relevant: Items, ranking: Items) -> Pairs:
    """The pair of both sides, whose order is that of scores where there are any."""
    rows = []
    for name, items in (("relevant", relevant), ("ranking", ranking)):
        if isinstance(items, str):
            raise ValueError(f"{name}: expected a sequence of names, not a single string: {items!r}")
        columns = {"value": np.array(list(items.values()), dtype=np.float64)} if isinstance(items, Mapping) else {}
        for item in np.flatnonzero(np.isnan(columns.get("value", np.zeros(0)))).tolist():
            raise ValueError(f"{name}: value of item {list(items)[item]!r} is not a number: nan")
        annotation = Annotation("ranking", columns, [str(item) for item in items])
        rows.append(clean_by_score(to_ragged([annotation])).checked(name))
    return Pairs.in_order(*rows)


def _scores(relevant: Items, ranking: Items, measures: list[Measure]) -> list[float]:
    bounded = MIREX.select([str(measure) for measure in measures])  # checks bounds of values
    scores = score(_rows(relevant, ranking), bounded)
    for message in scores.partly.values():
        raise ValueError(f"relevant: {message}")
    return [float(value) for value in scores.score[0]]


@_documented
def validate(relevant: Items, ranking: Items) -> None:
    """Check both sides of a query.

    Examples
    --------
    >>> validate(["x"], ["y", "x", "y"])
    Traceback (most recent call last):
        ...
    mirflow.errors.AnnotationError: ranking: item 'y' occurs twice: as number 1 and number 3
    """
    _rows(relevant, ranking)


def _function(name: str, example: str, summary: str = "") -> Callable[..., float]:
    """Make the function of a metric over one query; `summary` is a longer one than that of the metric, if any."""
    record, kind = _RECORDS[name], inspect.Parameter.POSITIONAL_OR_KEYWORD
    arguments = [inspect.Parameter(side, kind, annotation="Items") for side in ("relevant", "ranking")]
    for parameter in record.parameters:
        written = type(parameter.default).__name__
        arguments.append(inspect.Parameter(parameter.name, kind, default=parameter.default, annotation=written))
    signature = inspect.Signature(arguments, return_annotation="float")

    def function(*given: Any, **named: Any) -> float:
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        relevant, ranking, *values = bound.arguments.values()
        return _scores(relevant, ranking, [Measure(record, tuple(values))])[0]

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {argument.name: argument.annotation for argument in arguments} | {"return": "float"}
    summary = summary or f"{record.summary[:1].upper()}{record.summary[1:]}"
    function.__doc__ = f"{summary}.\n\nExamples\n--------\n{example}"
    return _documented(function)


average_precision = _function("average_precision", '>>> average_precision(["x", "y"], ["a", "x", "b", "y"])\n0.5')
reciprocal_rank = _function("reciprocal_rank", '>>> reciprocal_rank(["x"], ["a", "x"])\n0.5')
precision = _function(
    "precision", '>>> precision(["x", "y"], ["a", "x"], k=4), precision(["x", "y"], ["a", "x"], k=0)\n(0.25, 0.5)'
)
recall = _function("recall", '>>> recall(["x", "y"], ["a", "x", "y"], k=2)\n0.5')
f_measure = _function("f_measure", '>>> f_measure(["x", "y"], ["a", "x"], k=2)\n0.5')
r_precision = _function("r_precision", '>>> r_precision(["x", "y"], ["a", "x", "y"])\n0.5')
ndcg = _function("ndcg", '>>> ndcg({"x": 3.0, "y": 1.0}, ["x", "y"])\n1.0')
hit_rate = _function(
    "hit_rate", '>>> hit_rate(["x"], ["a", "x"], k=1)\n0.0', "1 if a relevant item is in the first `k` ranks, else 0"
)
covers_in_first = _function("covers_in_first", '>>> covers_in_first(["x", "y"], ["x", "a", "y"])\n2.0')
rank_of_first = _function(
    "rank_of_first",
    '>>> rank_of_first(["x"], ["a", "x"]), rank_of_first(["x"], ["a"], not_found=101)\n(2.0, 101.0)',
    "Rank of the first relevant item (lower is better); NaN if there is none and `not_found` is not given",
)


@_documented
def evaluate(relevant: Items, ranking: Items, **kwargs: Any) -> OrderedDict[str, float]:
    """All scores of one query, by the names of the metrics.

    Parameters
    ----------
    **kwargs
        ``k``, ``level``, ``gain`` and ``not_found``, passed to every metric that takes them.

    Examples
    --------
    >>> found = evaluate(["x", "y"], ["a", "x", "b", "y"], k=4)
    >>> found["average_precision"], found["precision"], found["hit_rate"], found["rank_of_first"]
    (0.5, 0.5, 1.0, 2.0)
    """
    names = (parameter.name for metric in METRICS for parameter in metric.parameters)
    refuse_unknown("evaluate", kwargs, ("relevant", "ranking", *dict.fromkeys(names)))
    measures = [Measure(metric, tuple(kwargs.get(p.name, p.default) for p in metric.parameters)) for metric in METRICS]
    return OrderedDict(zip(_RECORDS, _scores(relevant, ranking, measures), strict=True))
