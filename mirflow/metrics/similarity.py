"""Graded similarity: for each query, the estimate is a list of candidates and the reference the judgements of graders.

Judgements are broad (not, somewhat, very similar) and fine (0 to 10). mir_eval does not have this task. `evaluate`
scores one query; `TASK` holds the metrics of whole datasets, in which each track is a query.

Conventions
-----------
* ``ams`` (default): audio music similarity of MIREX: the first five candidates.
* ``sms``: symbolic melodic similarity of MIREX: average dynamic recall first, the first ten candidates.

Metrics
-------
* ``fine``: mean fine judgement.
* ``psum``, ``wcsum``, ``sdsum``, ``greater0``, ``greater1``: means of the broad judgements, with different credits.
* ``average_dynamic_recall`` (`average_dynamic_recall`): recall of the groups of equally similar candidates, averaged
  over the ranks.

References
----------
Typke, Veltkamp and Wiering, A measure for evaluating retrieval techniques based on partially ordered ground truth
lists, ICME 2006; Downie et al. 2010, table 4, equations 13 and 14.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..kernels.ragged_ops import sum_by
from ..kernels.ranking import Met, meet_judged, repeated
from ..kernels.ratios import divide
from ..ragged import Bool, Column, Float, Int, Ragged, offsets_of, rows_of
from .base import Convention, Grid, Pairs, Scores, Task, by_name
from .cleaning import Cleaned, Problem, set_aside, usable_pair
from .measures import Measure, Parameter, Value, Weight, family, metric, metrics_in
from .pair import documented

__all__ = ["TASK", "average_dynamic_recall", "evaluate"]
BROAD = ("NS", "SS", "VS")  # The broad categories: not similar, somewhat similar, very similar

_LEVELS = MappingProxyType(
    {
        **{name.casefold(): level for level, name in enumerate(BROAD)},
        **{str(level): level for level in range(len(BROAD))},
        **{f"{word} similar": level for level, word in enumerate(("not", "somewhat", "very"))},
    }
)


def clean(rows: Ragged) -> Cleaned:
    """Replace broad categories by levels, and set contradictory rows aside.

    Rows have the columns label, level (float64: 0 for NS, 1 for SS, 2 for VS, NaN for none) and value (float64, NaN for
    none). Flaws are a grader who judged a candidate twice, a candidate that occurs twice in a list, an unknown broad
    category, and judgements that are empty or not finite. Rows with graders or categories are judgements, in which
    candidates may recur.
    """
    label, names, owner = rows.columns["label"], [*rows.labels, ""], rows_of(rows.counts[0])
    grader, broad = (rows.columns.get(name, np.full(len(label), "")) for name in ("grader", "broad"))
    value: Float = rows.columns.get("value", np.full(len(label), np.nan))
    texts, index = np.unique(broad, return_inverse=True)
    words = (" ".join(str(text).replace("_", " ").split()).casefold() for text in texts)
    level = np.array([_LEVELS.get(word, np.nan) for word in words], dtype=np.float64)[index]
    judged = np.bincount(owner, (grader != "") | (broad != ""), minlength=len(rows))[owner] > 0
    silent = judged & np.isnan(level) & np.isnan(value)
    # Judgements without a grader may be repeated. Consecutive codes keep that of grader and candidate small.
    graders, who = np.unique(grader, return_inverse=True)
    key: Int = (label + 1) * max(len(graders), 1) + who
    again, first = repeated(np.unique(key, return_inverse=True)[1].astype(np.int64), rows.counts[0])
    before = np.full(len(label), -1, dtype=np.int64)
    before[again] = first
    twice, start = (before >= 0) & (label >= 0), rows.offsets[:-1][owner] - 1
    problems: list[Problem] = [
        (label < 0, lambda item: "the candidate has no name"),
        (
            (broad != "") & np.isnan(level),
            lambda item: f"not a broad category: {str(broad[item])!r}; known: {', '.join(BROAD)}",
        ),
        (np.isinf(value), lambda item: f"the value of {names[label[item]]!r} is not finite: {value[item]}"),
        (silent, lambda item: f"the judgement of {names[label[item]]!r} has neither a broad nor a fine part"),
        (
            twice & judged & (grader != ""),
            lambda item: f"grader {str(grader[item])!r} judged {names[label[item]]!r} twice",
        ),
        (
            twice & ~judged,
            lambda item: (
                f"candidate {names[label[item]]!r} occurs twice, at ranks {before[item] - start[item]} "
                f"and {item - start[item]}"
            ),
        ),
    ]
    return set_aside(Ragged({"label": label, "level": level, "value": value}, rows.counts, rows.labels), problems)


_DIGITS = 9  # Decimals at which means are compared, as sums of the same judgements may round differently


@dataclass(frozen=True, slots=True)
class JudgedCandidates:
    """The distinct candidates of each query."""

    label: Int  # Codes of their names: int64 (candidates,)
    counts: Int  # Candidates of each query: int64 (rows,)
    chosen: Float  # Numbers of graders who chose NS, SS and VS: float64 (candidates, 3)
    fine: Float  # float64 (candidates,): mean of the fine judgements; NaN if there are none
    lowest: Float
    highest: Float
    """float64 (rows,): bounds of the fine judgements of each query; infinite if there are none."""

    def broad(self, weights: tuple[float, ...]) -> Float:
        """Mean weight of a candidate's categories over graders: float64 (candidates,); NaN without categories."""
        graders = self.chosen.sum(axis=1)
        total = sum(weight * self.chosen[:, level] for level, weight in enumerate(weights))
        return divide(total, graders, np.nan)

    def ahead(self, measure: Measure) -> tuple[Int, Int]:
        """Count the candidates in the groups ahead of each one, and the relevant candidates of each query.

        Groups are of equal means of broad levels or fine judgements; before candidates that are not relevant, -1
        candidates count.
        """
        mean: Float = self.broad((0.0, 1.0, 2.0)) if measure["by"] == "broad" else self.fine
        relevance = np.asarray(np.round(mean, _DIGITS))
        listed = relevance > float(measure["above"])
        relevance = np.where(listed, relevance, -np.inf)
        owner = rows_of(self.counts)
        order = np.lexsort((-relevance, owner))
        fresh = np.ones(len(order), dtype=np.bool_)
        fresh[1:] = (owner[order][1:] != owner[order][:-1]) | (relevance[order][1:] != relevance[order][:-1])
        leader = np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
        ahead = np.full(len(order), -1, dtype=np.int64)
        ahead[order] = leader - offsets_of(self.counts)[owner[order]]
        return np.where(listed, ahead, -1), np.bincount(owner[listed], minlength=len(self.counts)).astype(np.int64)


_NAMED = 3  # Largest number of unjudged candidates listed in a message


@dataclass(frozen=True, slots=True)
class ListPairs:
    """Lists of candidates with their judgements: the query of each pair, and the length of its list."""

    judged: JudgedCandidates
    met: Met
    row: Int
    listed: Int


def judge(pairs: Pairs) -> ListPairs:
    """Collect the judgements of each candidate from clean rows, and find the candidates in the lists of systems."""
    references, lists = pairs.references, pairs.estimates
    label, level, value = (references.columns[name] for name in ("label", "level", "value"))
    owner = rows_of(references.counts[0])
    width = max(len(references.labels), 1)
    keys, index = np.unique(owner * width + label, return_inverse=True)
    mask = ~np.isnan(value)
    with np.errstate(invalid="ignore"):
        fine = sum_by(index[mask], value[mask], len(keys)) / np.bincount(index[mask], minlength=len(keys))
    chosen = np.column_stack([np.bincount(index[level == number], minlength=len(keys)) for number in range(len(BROAD))])
    lowest, highest = np.full(len(references), np.inf), np.full(len(references), -np.inf)
    np.minimum.at(lowest, owner[mask], value[mask])
    np.maximum.at(highest, owner[mask], value[mask])
    counts = np.bincount(keys // width, minlength=len(references)).astype(np.int64)
    judged = JudgedCandidates(keys % width, counts, chosen.astype(np.float64), fine, lowest, highest)
    codes = {name: code for code, name in enumerate(references.labels)}
    numbers = np.array([*(codes.get(name, -1) for name in lists.labels), -1], dtype=np.int64)
    listed = numbers[lists.columns["label"]]
    met = meet_judged(judged.label, counts, listed, lists.counts[0], pairs.reference_row, pairs.estimate_row)
    return ListPairs(judged, met, pairs.reference_row, pairs.counts[1])


Tally = tuple[Float, Int, Int, Bool]
"""Score, number of places and of unjudged candidates among them for each pair; the judged candidates."""


_K = Parameter("k", 5, least=0, help="number of candidates of each list to score; 0: all")
_UNJUDGED = Parameter("unjudged", "refuse", choices=("refuse", "zero", "skip"), help="treatment of unjudged candidates")
_PLACES = Weight("number of candidates that count", "candidates")


_SUMS = {
    "psum": ("PSum", (), (0, 1, 2), ""),
    "wcsum": ("WCsum", ("WCSum",), (0, 1, 3), " ('World Cup')"),
    "sdsum": ("SDsum", ("SDSum",), (0, 1, 4), " ('Stephen Downie')"),
    "greater0": ("Greater0", (), (0, 1, 1), ""),
    "greater1": ("Greater1", (), (0, 0, 1), ""),
}
"""Title, aliases, what NS, SS and VS count, and a nickname, of the means of broad judgements."""


@family(
    _PLACES,
    {
        "fine": {
            "title": "FINE",
            "key": "FINE",
            "aliases": ("Fine",),
            "summary": "mean of the fine judgements of the first candidates, as a share of their scale",
            "needs": "fine",
            "parameters": (
                _K,
                Parameter("scale", 10.0, above=0.0, help="the largest fine judgement; 100 in later years"),
                _UNJUDGED,
            ),
        },
        **{
            name: {
                "title": title,
                "key": title,
                "aliases": aliases,
                "summary": "mean of the broad judgements of the first candidates, "
                f"NS = {low}, SS = {middle}, VS = {high}{nickname}, as a share of the largest",
                "needs": "broad",
                "parameters": (_K, _UNJUDGED),
            }
            for name, (title, aliases, (low, middle, high), nickname) in _SUMS.items()
        },
    },
    perfect=None,
    literature="table 4 of @downie2010",
)
def _means(name: str, lists: ListPairs, measure: Measure) -> Tally:
    """Mean worth of the judgements of the first candidates, in [0, 1]; empty places count as 0."""
    met, listed, judged = lists.met, lists.listed, lists.judged
    if name == "fine":
        worth = judged.fine / float(measure["scale"])
    else:
        worth = judged.broad(_SUMS[name][2]) / max(_SUMS[name][2])
    known_worth = ~np.isnan(worth)
    most = int(measure["k"])
    taken = np.minimum(listed, most) if most else listed
    counted = known_worth[met.judged] & (met.place < taken[met.pair])
    missing = taken - np.bincount(met.pair[counted], minlength=len(listed))
    places = np.full_like(listed, most) if most else listed
    nothing = np.zeros(len(listed))
    if measure["unjudged"] == "skip":
        places = places - missing
        nothing[missing > 0] = np.nan  # undefined if every place was skipped
    total = sum_by(met.pair[counted], worth[met.judged[counted]], len(listed))
    score = divide(total, places, nothing)
    mask = np.bincount(rows_of(judged.counts)[known_worth], minlength=len(judged.counts))[lists.row] > 0
    return np.where(mask, score, np.nan), np.where(mask, places, 0), np.where(mask, missing, 0), known_worth


@metric(
    "Average dynamic recall",
    Weight("number of places of the reference", "places"),
    key="ADR",
    aliases=("adr",),
    pooling="micro",
    perfect_exceptions="judgements are not ordered; candidates ordered from the most to the least similar score 1",
    parameters=(
        Parameter("k", 0, least=0, help="largest number of places; 0: the number of relevant candidates"),
        Parameter("by", "broad", choices=("broad", "fine"), help="judgements that define the groups"),
        Parameter("above", 0.0, help="candidates whose mean judgement is above this are relevant"),
    ),
    literature="@typke2006; equations 13 and 14 of @downie2010",
)
def _average_dynamic_recall(lists: ListPairs, measure: Measure) -> tuple[Float, Float]:
    """Share of candidates that belong at or before a place, averaged over the places of the reference."""
    met, (ahead, total) = lists.met, lists.judged.ahead(measure)
    places = np.minimum(total[lists.row], int(measure["k"]) or np.iinfo(np.int64).max)
    # A candidate counts from its own place on, but not before the first place of its group.
    start = np.maximum(met.place, ahead[met.judged])
    counted = (ahead[met.judged] >= 0) & (start < places[met.pair])
    offsets, pair = offsets_of(places), rows_of(places)
    entering = np.bincount(offsets[met.pair[counted]] + start[counted], minlength=int(offsets[-1]))
    running = np.concatenate([[0], np.cumsum(entering)])
    recall = (running[1:] - running[offsets[pair]]) / (np.arange(offsets[-1]) - offsets[pair] + 1)
    return divide(sum_by(pair, recall, len(places)), places, np.nan), places.astype(np.float64)


METRICS = metrics_in(globals())


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score ranked lists of candidates by the judgements of graders.

    The weight is the number of places. A score is NaN with weight 0 if the query does not have the required sort of
    judgements. Pairs with unjudged candidates are refused unless the measure allows them, and so are fine judgements
    outside the measure's scale.
    """
    lists = judge(pairs)
    judged, met = lists.judged, lists.met
    values = np.zeros((2, len(pairs), len(measures)))
    unknown = np.zeros(len(pairs), dtype=np.int64)
    refused: dict[int, str] = {}
    for column, measure in enumerate(measures):
        values[0, :, column], values[1, :, column], *tally = measure.read(lists)
        if not tally:
            continue
        missing, known = tally
        if measure["unjudged"] == "refuse":
            for pair in np.flatnonzero(missing).tolist():
                ranks = met.place[(met.pair == pair) & known[met.judged]]
                listed = pairs.estimates.take(pairs.estimate_row[pair : pair + 1])
                codes = listed.columns["label"][: int(measure["k"]) or None]
                gaps = np.setdiff1d(np.arange(len(codes)), ranks)
                names = (f"{listed.labels[codes[rank]]!r} (rank {rank + 1})" for rank in gaps[:_NAMED].tolist())
                more = f" and {len(gaps) - _NAMED} more" if len(gaps) > _NAMED else ""
                name, needs = measure.metric.name, measure.metric.needs
                hint = f"{name}(unjudged=zero) counts them as not similar, unjudged=skip leaves them out"
                refused.setdefault(pair, f"no {needs} judgement of {', '.join(names)}{more}; {hint}")
        else:
            unknown = np.maximum(unknown, missing)
        if "scale" in measure.parameters:
            scale = float(measure["scale"])
            for grades, outside in ((judged.lowest, judged.lowest < 0), (judged.highest, judged.highest > scale)):
                for pair in np.flatnonzero((outside & np.isfinite(grades))[pairs.reference_row]).tolist():
                    trouble = f"a fine judgement of {grades[pairs.reference_row[pair]]:g} is not from 0 to {scale:g}"
                    refused.setdefault(pair, f"{trouble}; set the scale, as in fine(scale=100)")
    values[0, list(refused)] = np.nan
    return Scores(values[0], values[1], refused=refused, repairs=unknown)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the scored candidates in order of rank.

    Columns are ``estimate`` (the candidate), ``rank`` (from 1), ``NS``, ``SS`` and ``VS`` (numbers of graders),
    ``fine`` (mean or NaN) and ``verdict`` (``judged`` or ``unjudged``). For the average dynamic recall, ``verdict`` is
    ``relevant`` or ``not relevant``, and ``counts_from`` is the place from which a candidate counts (0: never).
    """
    judgements, lists = usable_pair(reference, estimate, clean)
    judged_lists = judge(Pairs.in_order(judgements, lists))
    judged, met, most = judged_lists.judged, judged_lists.met, int(measure["k"])
    size = min(len(lists.columns["label"]), most or np.iinfo(np.int64).max)
    rank, which = met.place[met.place < size], met.judged[met.place < size]
    columns: dict[str, Column] = {
        "estimate": np.array([lists.labels[code] for code in lists.columns["label"][:size]], dtype=str),
        "rank": np.arange(1, size + 1),
    }
    for level, name in enumerate(BROAD):
        columns[name] = np.zeros(size, dtype=np.int64)
        columns[name][rank] = judged.chosen[which, level]
    columns["fine"] = np.full(size, np.nan)
    columns["fine"][rank] = judged.fine[which]
    if "by" not in measure.parameters:
        mask = np.isin(np.arange(size), rank)
        return {**columns, "verdict": np.where(mask, "judged", "unjudged")}
    ahead, total = judged.ahead(measure)
    places = min(int(total[0]), most or int(total[0]))
    start = np.maximum(rank, ahead[which]) + 1
    counts_from = np.zeros(size, dtype=np.int64)
    counts_from[rank] = np.where((ahead[which] >= 0) & (start <= places), start, 0)
    verdict = np.full(size, "not relevant")
    verdict[rank[ahead[which] >= 0]] = "relevant"
    return {**columns, "counts_from": counts_from, "verdict": verdict}


AMS = Convention(
    "ams",
    "MIREX audio music similarity: the first 5 candidates; ADR over the whole ground truth",
    METRICS,
    clean,
    score,
    explain=evidence,
    literature="@downie2010",
)
SMS = replace(
    AMS,
    name="sms",
    summary="MIREX symbolic melodic similarity: average dynamic recall first, the first 10 candidates",
    metrics=tuple(one.with_defaults(k=10) for one in (METRICS[-1], *METRICS[:-1])),
    literature="@downie2010",
)

TASK = Task(
    "similarity", "Graded similarity", by_name(AMS, SMS), ("fine",), {SMS.name: ("average_dynamic_recall", "fine")}
)


@documented("", METRICS)
def average_dynamic_recall(groups: Sequence[Sequence[str]], results: Sequence[str], k: int = 0) -> float:
    """The average dynamic recall of a list of results.

    Parameters
    ----------
    groups : sequence of sequences of str
        Reference: groups of candidates that are equally similar to the query, the most similar group first.
    results : sequence of str
        Results of a system, best first.
    k : int
        Largest number of places; 0: the number of candidates in the groups.

    Returns
    -------
    float
        In [0, 1]; NaN if the groups are empty.

    Raises
    ------
    AnnotationError
        If a candidate occurs twice in the groups, or in the results.

    Examples
    --------
    The groups of the chapter's example, <(1, 2), (3, 4, 5)>: the recalls are 1/1, 1/2, 2/3, 3/4 and 4/5.

    >>> round(average_dynamic_recall([["1", "2"], ["3", "4", "5"]], ["1", "3", "9", "2", "4"]), 6)
    0.743333
    """
    names = [name for group in groups for name in group]
    value = np.repeat(np.arange(len(groups), 0, -1.0), [len(group) for group in groups])
    judged = Annotation("judgements", {"value": value}, names)
    return float(_scores(judged, results, [METRICS[-1].measure(k=k, by="fine")])[0])


@documented("", METRICS)
def evaluate(
    candidates: Sequence[str],
    results: Sequence[str],
    *,
    broad: Sequence[str] | None = None,
    fine: npt.ArrayLike | None = None,
    graders: Sequence[str] | None = None,
    k: int = 5,
    scale: float = 10.0,
    unjudged: str = "refuse",
) -> OrderedDict[str, float]:
    """All scores of one list of results.

    Parameters
    ----------
    candidates : sequence of str (judgements,)
        Judged candidates, one entry per candidate and grader.
    results : sequence of str
        Results of a system, best first.
    broad : sequence of str (judgements,) or None
        ``NS``, ``SS`` or ``VS``.
    fine : (judgements,) or None
        From 0 to `scale`.
    graders : sequence of str (judgements,) or None
        Names of the graders; None disables the check for repeated judgements.
    k : int
        Number of results to score; 0: all. The average dynamic recall always uses the number of relevant candidates.

    Returns
    -------
    OrderedDict of str to float
        ``FINE``, ``PSum``, ``WCsum``, ``SDsum``, ``Greater0``, ``Greater1`` and ``ADR``; NaN if judgements are missing.

    Raises
    ------
    AnnotationError
        If a grader judged a candidate twice, a result occurs twice, or an unjudged result is refused.
    UnknownNameError
        For an unknown value of `unjudged`.

    Examples
    --------
    >>> found = evaluate(["a", "b", "c"], ["b", "a"], broad=["VS", "SS", "NS"], fine=[9.0, 6.0, 0.0], k=2)
    >>> {name: round(value, 4) for name, value in found.items()}
    {'FINE': 0.75, 'PSum': 0.75, 'WCsum': 0.6667, 'SDsum': 0.625, 'Greater0': 1.0, 'Greater1': 0.5, 'ADR': 0.5}
    """
    columns: dict[str, Column] = {}
    for name, values in (("grader", graders), ("broad", broad)):
        if values is not None:
            columns[name] = np.array(values, dtype=np.str_)
    if fine is not None:
        columns["value"] = np.asarray(fine, dtype=np.float64)
    parameters: dict[str, Value] = {"k": k, "scale": scale, "unjudged": unjudged}
    *means, recall = METRICS
    measures = [*(metric.measure(**parameters) for metric in means), recall.measure()]
    scores = _scores(Annotation("judgements", columns, list(candidates)), results, measures)
    return OrderedDict(zip((metric.key for metric in METRICS), scores.tolist(), strict=True))


def _scores(judged: Annotation, results: Sequence[str], measures: Sequence[Measure]) -> Float:
    judgements, lists = usable_pair(judged, Annotation("judgements", {}, list(results)), clean)
    try:
        return AMS.score_pair(judgements, lists, measures)
    except ValueError as error:
        raise InvalidAnnotationError(str(error)) from None
