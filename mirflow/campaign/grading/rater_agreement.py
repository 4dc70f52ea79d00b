"""Agreement of graders with each other and with themselves, time on task, and candidates that they do not distinguish.

Also the work of each grader, the progress of a round, and the ranking of systems without the middle category.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ...analysis.inference.resampling import check_level, chunks
from ...analysis.judgements import AllJudged, Judgements, all_judged, read_judgements
from ...annotations.annotation import Annotation
from ...annotations.collection import Collection, collect
from ...errors import AnnotationError, GradingError
from ...kernels.agreement import Ratings, Sums, alpha_sums, cohen_kappa, intraclass_sums, kappa_sums
from ...metrics.similarity import BROAD
from ...ragged import Bool, Float, Int
from .assignment import Pair
from .judgement_tables import GraderJudgement, GradingEvent, latest
from .pool import Pool
from .query_draw import write_table

if TYPE_CHECKING:
    import xarray as xr

REPLICATES = 1000
IDLE = 120.0  # seconds without an event after which a grader counts as absent


class _Measure(NamedTuple):
    of: str
    about: str
    sums: Callable[[Ratings], Sums]


_kappa = partial(kappa_sums, categories=len(BROAD))
_BOTH = "where all graders judged all pairs"
# Measures of agreement in addition to Fleiss's kappa, see :func:`mirflow.analysis.judgements.grader_agreement`.
MEASURES: Mapping[str, _Measure] = {
    "cohen_kappa": _Measure(
        "broad",
        "mean of Cohen's kappa over the pairs of graders, by how much both judged",
        partial(_kappa, weights="nominal"),
    ),
    "weighted_kappa": _Measure(
        "broad",
        "the same with linear weights: NS and VS are twice as far apart as neighbours",
        partial(_kappa, weights="linear"),
    ),
    "quadratic_kappa": _Measure("broad", "the same with quadratic weights", partial(_kappa, weights="quadratic")),
    "alpha_nominal": _Measure(
        "broad", "Krippendorff's alpha of the categories as names", partial(alpha_sums, scale="nominal")
    ),
    "alpha_ordinal": _Measure(
        "broad", "Krippendorff's alpha of the ordered categories", partial(alpha_sums, scale="ordinal")
    ),
    "alpha_interval": _Measure("fine", "Krippendorff's alpha of the numbers", partial(alpha_sums, scale="interval")),
    "icc1": _Measure(
        "fine", "ICC(1,1) of Shrout and Fleiss: one judgement, by any graders", partial(intraclass_sums, form="1,1")
    ),
    "icc1k": _Measure("fine", "ICC(1,k): the mean of the judgements of a pair", partial(intraclass_sums, form="1,k")),
    "icc2": _Measure(
        "fine", f"ICC(2,1): one judgement, absolute agreement, {_BOTH}", partial(intraclass_sums, form="2,1")
    ),
    "icc3": _Measure("fine", f"ICC(3,1): one judgement, consistency, {_BOTH}", partial(intraclass_sums, form="3,1")),
}
# Measures that need to know the grader of each judgement.
_NAMED = frozenset({"cohen_kappa", "weighted_kappa", "quadratic_kappa", "icc2", "icc3"})


def reliability(judgements: Judgements, level: float | None = None, *, seed: int = 0) -> xr.Dataset:
    """Measure the agreement of graders on ordered categories and on numbers.

    `judgements`: see :func:`mirflow.analysis.judgements.fine_within_broad`.
    `level`: level of percentile intervals by a bootstrap over queries with all their pairs; None: no intervals.
    Returns: over ``measure`` (`MEASURES`): ``of`` (broad or fine), ``value`` (NaN if undefined, for example for a
      single grader), ``compared`` (pairs of query and candidate with at least two such judgements), and with a level
      ``low`` and ``high``.
    Raises `AnnotationError`: see :func:`mirflow.analysis.judgements.grader_agreement`.

    References
    ----------
    See `mirflow.kernels.agreement`.
    """
    import xarray as xr

    if level is not None:
        check_level(level)
    judged = all_judged(judgements).once()
    anonymous = bool((judged.grader == "").any())
    tables = {"broad": _ratings(judged, judged.level), "fine": _ratings(judged, judged.fine)}
    if level is None:  # separate sums per query are only needed for the bootstrap
        tables = {name: Ratings.of(table.table) for name, table in tables.items()}
    columns: dict[str, list[float]] = defaultdict(list)
    for name, measure in MEASURES.items():
        ratings = tables[measure.of]
        sums = measure.sums(ratings)
        left_out = anonymous and name in _NAMED
        columns["value"].append(math.nan if left_out else sums.whole())
        columns["compared"].append(len(ratings.table))
        if level is None:
            continue
        # The percentile interval by resampling groups, of which two are needed.
        number, values = len(sums.groups), np.zeros(0)
        if not left_out and number > 1:
            draws = np.random.default_rng(seed).integers(0, number, (REPLICATES, number))
            parts = chunks(REPLICATES, sums.groups.shape[1])
            values = np.concatenate([sums.drawn(draws[part]) for part in parts])
            values = values[~np.isnan(values)]
        ends = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist() if len(values) else [math.nan] * 2
        columns["low"].append(ends[0])
        columns["high"].append(ends[1])
    variables = {name: ("measure", np.array(values)) for name, values in columns.items()}
    of, abouts = (("measure", [getattr(measured, name) for measured in MEASURES.values()]) for name in ("of", "about"))
    attrs = {} if level is None else {"level": level, "replicates": REPLICATES, "unit": "query"}
    return xr.Dataset({"of": of, **variables, "about": abouts}, {"measure": list(MEASURES)}, attrs)


def _ratings(judged: AllJudged, values: Float) -> Ratings:
    mask: Bool = ~np.isnan(values)
    pair, query, values, grader = judged.pair[mask], judged.query[mask], values[mask], judged.grader[mask]
    column: Int = np.unique(grader, return_inverse=True)[1].astype(np.int64)
    if (grader == "").any():  # each unnamed judgement counts as a separate grader
        order = np.argsort(pair, kind="stable")
        column[order] = np.arange(len(pair)) - np.searchsorted(pair[order], pair[order])
    several = np.bincount(pair, minlength=1)[pair] > 1
    rows, row = np.unique(pair[several], return_inverse=True)
    table: Float = np.full((len(rows), int(column.max(initial=-1)) + 1), np.nan)
    table[row, column[several]] = values[several]
    of_row: Int = np.zeros(len(rows), dtype=np.int64)
    of_row[row] = query[several]
    queries, group = np.unique(of_row, return_inverse=True)
    return Ratings(table, group.astype(np.int64), max(len(queries), 1))


def collection_of(judgements: Iterable[GraderJudgement]) -> Collection:
    """Collect the last judgements of graders without repeats, in the form of a table of judgements.

    Raises `AnnotationError`: without judgements.
    """
    rows: dict[str, list[GraderJudgement]] = defaultdict(list)
    for row in latest(judgements):
        if row.counts and not row.repeat:
            rows[row.query].append(row)
    if not rows:
        raise AnnotationError("no judgements yet")
    annotations = {}
    for query, judged in sorted(rows.items()):
        columns = {
            "grader": np.array([row.grader for row in judged], dtype=np.str_),
            "broad": np.array([row.broad for row in judged], dtype=np.str_),
            "value": np.array([np.nan if row.fine is None else row.fine for row in judged]),
        }
        annotations[query] = Annotation("judgements", columns, [row.candidate for row in judged])
    return collect(annotations)


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """Agreement of a grader's judgements with those on hidden repeats."""

    grader: str  # empty: all graders together
    repeats: int  # number of pairs judged twice
    same: float  # share of pairs with the same broad category both times; NaN without any
    weighted_kappa: float  # Cohen's kappa between first and second judgements, with linear weights
    difference: float  # mean absolute difference of the fine judgements


def self_agreement(judgements: Iterable[GraderJudgement]) -> list[SelfAgreement]:
    """Return the self-agreement of each grader, and last that of all together.

    Examples
    --------
    >>> rows = [GraderJudgement("g", "q", "a", "NS", 2.0), GraderJudgement("g", "q", "a", "SS", 4.5, repeat=True)]
    >>> self_agreement(rows)[0].difference
    2.5
    """
    first: dict[tuple[str, Pair], GraderJudgement] = {}
    second: dict[tuple[str, Pair], GraderJudgement] = {}
    for row in latest(judgements):
        if row.counts:
            (second if row.repeat else first)[row.grader, row.pair] = row
    pairs: dict[str, list[tuple[GraderJudgement, GraderJudgement]]] = defaultdict(list)
    for key, repeated in second.items():
        if key in first:
            pairs[key[0]].append((first[key], repeated))
    each = [_self_agreement(grader, judged) for grader, judged in sorted(pairs.items())]
    return [*each, _self_agreement("", [pair for judged in pairs.values() for pair in judged])]


def _self_agreement(grader: str, pairs: Sequence[tuple[GraderJudgement, GraderJudgement]]) -> SelfAgreement:
    levels = np.array([[first.level, second.level] for first, second in pairs]).reshape(-1, 2)
    both = ~np.isnan(levels).any(axis=1)
    fine = [
        abs(first.fine - second.fine) for first, second in pairs if first.fine is not None and second.fine is not None
    ]
    same = float((levels[both, 0] == levels[both, 1]).mean()) if both.any() else float("nan")
    kappa = cohen_kappa(levels[:, 0], levels[:, 1], len(BROAD), "linear")
    return SelfAgreement(grader, len(pairs), same, kappa, float(np.mean(fine)) if fine else float("nan"))


def time_on_task(events: Iterable[GradingEvent], idle: float = IDLE) -> dict[str, dict[Pair, float]]:
    """Compute the seconds that each grader spent on each pair from the log of events.

    The time between two events of a grader counts for the pair of the later one, which it led to playing or judging.
    Gaps of more than `idle` seconds count as absence and are ignored, as is the time before events without a pair.

    Examples
    --------
    >>> from .judgement_tables import to_time
    >>> times = [to_time(f"2027-03-01T12:00:{second:02}Z") for second in (0, 4, 19)]
    >>> log = [GradingEvent(times[0], "g", "came"), *(GradingEvent(one, "g", "judged", "q", "a") for one in times[1:])]
    >>> time_on_task(log)
    {'g': {Pair(query='q', candidate='a'): 19.0}}
    """
    before: dict[str, GradingEvent] = {}
    spent: dict[str, dict[Pair, float]] = defaultdict(lambda: defaultdict(float))
    for event in sorted(events, key=lambda event: event.time):
        if event.grader in before and event.candidate:
            seconds = (event.time - before[event.grader].time).total_seconds()
            if seconds <= idle:
                spent[event.grader][Pair(event.query, event.candidate)] += seconds
        before[event.grader] = event
    return {grader: dict(pairs) for grader, pairs in spent.items()}


def grader_work(
    judgements: Iterable[GraderJudgement], events: Iterable[GradingEvent] = (), graders: Iterable[str] = ()
) -> dict[str, SimpleNamespace]:
    """Compute the work of each grader, and under the empty name that of all together.

    `events`: see `time_on_task`.
    `graders`: graders to list even without judgements.
    Returns: by grader the number of pairs ``judged`` (with a valid judgement, without repeats), the ``agreement`` with
      the own repeats, ``median_seconds`` per pair (NaN without events) and ``total_seconds``, and ``median_heard``, the
      median share of a recording played before its judgement, from 0 to 1 (NaN if unknown).

    Examples
    --------
    >>> found = grader_work([GraderJudgement("g", "q", "a", "NS")], graders=["h"])
    >>> {name: work.judged for name, work in found.items()}
    {'h': 0, 'g': 1, '': 1}
    """
    rows = latest(judgements)
    first = [row for row in rows if row.counts and not row.repeat]
    judged = Counter(row.grader for row in first)
    heard: dict[str, list[float]] = defaultdict(list)
    for row in first:
        if row.heard is not None:
            heard[row.grader].append(row.heard)
            heard[""].append(row.heard)
    agreement = {summary.grader: summary for summary in self_agreement(rows)}
    seconds = {grader: [*spent.values()] for grader, spent in time_on_task(events).items()}
    judged[""], seconds[""] = judged.total(), [value for spent in seconds.values() for value in spent]
    return {
        name: SimpleNamespace(
            judged=judged[name],
            agreement=agreement[name] if name in agreement else _self_agreement(name, ()),
            median_seconds=median(seconds[name]) if seconds.get(name) else float("nan"),
            total_seconds=sum(seconds.get(name, ())),
            median_heard=median(heard[name]) if name in heard else float("nan"),
        )
        for name in dict.fromkeys([*graders, *(row.grader for row in rows), ""])
    }


def progress(
    judgements: Iterable[GraderJudgement], pairs: Iterable[Pair], graders_per_pair: int = 1
) -> SimpleNamespace:
    """Compute the progress of a round.

    Returns: numbers of ``pairs`` in the pool, of ``graders`` with a judgement, of ``wanted`` judgements and of those
      ``judged`` that count towards them, with their ``share`` from 0 to 1; ``by_count``, the number of pairs with 0, 1,
      2, ... judgements; and numbers of judgements of what a grader ``cannot_hear``, of ``known`` pieces, and hidden
      ``repeats``.

    Examples
    --------
    >>> found = progress([GraderJudgement("g", "q", "a", "NS")], [Pair("q", "a"), Pair("q", "b")], 2)
    >>> found.share, found.by_count
    (0.25, {0: 1, 1: 1})
    """
    rows = latest(judgements)
    made = Counter(row.pair for row in rows if row.counts and not row.repeat)
    pairs = list(pairs)
    by_count = dict(sorted(Counter(made[pair] for pair in pairs).items()))
    wanted, judged = len(pairs) * graders_per_pair, sum(min(made[pair], graders_per_pair) for pair in pairs)
    share, graders = judged / wanted if wanted else 1.0, len({row.grader for row in rows if row.counts})
    flags = {"cannot_hear": sum(row.cannot_hear for row in rows), "known": sum(row.known for row in rows)}
    flags["repeats"] = sum(row.repeat and row.counts for row in rows)
    numbers = {"pairs": len(pairs), "graders": graders, "wanted": wanted, "judged": judged}
    return SimpleNamespace(**numbers, share=share, by_count=by_count, **flags)


# Weights of the categories, as in PSum, Greater0 and Greater1; judgements with weight NaN are left out.
_SCHEMES: Mapping[str, tuple[float, float, float]] = {
    "NS, SS, VS": (0.0, 0.5, 1.0),
    "SS as VS": (0.0, 1.0, 1.0),
    "SS as NS": (0.0, 0.0, 1.0),
    "without SS": (0.0, float("nan"), 1.0),
}


def without_middle(judgements: Iterable[GraderJudgement], key: Pool) -> xr.Dataset:
    """Rank the systems with the middle category, with it merged into either neighbour, and without it.

    Returns: over ``scheme`` and ``system``: ``score`` (0 to 1: mean over queries of the mean over a system's candidates
      of the mean over their graders) and ``rank`` (from 1; ties get their mean). Over ``scheme``: ``tau``, Kendall's
      tau-b with the ranking by all three categories; NaN if all systems are tied. Candidates without a valid judgement
      are left out.
    Raises `GradingError`: without broad judgements.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    section 4.3: "consider eliminating the SS BROAD category altogether".
    """
    import xarray as xr
    from scipy import stats

    rows = [row for row in latest(judgements) if row.counts and not row.repeat and row.broad]
    if not rows:
        raise GradingError("no broad judgements yet")
    levels: dict[Pair, list[str]] = defaultdict(list)
    for row in rows:
        levels[row.pair].append(row.broad)
    score = np.full((len(_SCHEMES), len(key.systems)), np.nan)
    for scheme, worth in enumerate(_SCHEMES.values()):
        weight = dict(zip(BROAD, worth, strict=True))
        # By system and query, the means over the graders of the system's candidates.
        queries: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for candidate in key.returned:
            values = [weight[level] for level in levels.get(candidate.pair, ()) if not np.isnan(weight[level])]
            if values:
                queries[candidate.system][candidate.query].append(sum(values) / len(values))
        for system, of_queries in queries.items():
            means = [sum(values) / len(values) for values in of_queries.values()]
            score[scheme, key.systems.index(system)] = sum(means) / len(means)
    # Sums of equal judgements may differ by rounding.
    rank = np.array([stats.rankdata(np.where(np.isnan(row), np.inf, -np.round(row, 9))) for row in score])
    tau = [float(stats.kendalltau(rank[0], row).statistic) for row in rank]
    return xr.Dataset(
        {"score": (("scheme", "system"), score), "rank": (("scheme", "system"), rank), "tau": ("scheme", tau)},
        {"scheme": list(_SCHEMES), "system": key.systems},
    )


By = Literal["fine", "rank", "broad"]
Test = Literal["rank-sum", "signed-rank"]
From = Literal["all", "any", "previous"]


@dataclass(frozen=True, slots=True)
class GroupedCandidate:
    """A candidate in the groups of a query."""

    query: str
    candidate: str
    group: int  # number of the group from 1, the most similar; 0: not similar, and in no group
    # Grade, larger for more similar candidates: the number of groups from this one to the last; 0: not similar.
    grade: int
    median: float  # median of the compared judgements
    graders: int  # number of graders


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """Groups of equally similar candidates for each query."""

    candidates: tuple[GroupedCandidate, ...]  # candidates by query, most similar first
    undecided: tuple[str, ...]  # queries with too few judgements for a test to distinguish two candidates


def group_candidates(
    judgements: Judgements,
    level: float = 0.05,
    *,
    by: By = "fine",
    test: Test = "rank-sum",
    differs_from: From = "all",
    above: float = 0.0,
) -> GroundTruth:
    """Group the candidates of each query that graders did not distinguish.

    Candidates are sorted by the median of their judgements, and ties by the mean. Starting from the most similar, each
    is compared with its predecessors in the group; if it differs, a new group begins.

    `judgements`: judgements of several graders; see :func:`mirflow.analysis.judgements.fine_within_broad`.
    `level`: significance level of the two-sided tests: smaller or equal p-values are differences.
    `by` ("fine", "rank", "broad"): values to compare: fine judgements, the ranks of candidates by each grader's fine
      judgements (as given by the experts of SMS 2005; all graders of a query must have judged the same candidates), or
      levels.
    `test` ("rank-sum", "signed-rank"): Wilcoxon's test of two independent samples, as in the chapter, or of the
      differences of graders who judged both candidates.
    `differs_from` ("all", "any", "previous"): predecessors in the group from which a candidate must differ to start a
      new group. The chapter does not specify this; ``all`` gives the fewest groups.
    `above`: candidates are similar, and in a group, if the median level of their broad judgements is above this
      (default: above NS); without broad judgements, the median of the compared values.

    References
    ----------
    R. Typke et al., "A ground truth for half a million musical incipits", Journal of Digital Information Management
    3(1), 2005: candidates in the order of their median ranks, each compared with its predecessors by Wilcoxon's rank
    sum test; J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and
    insights", 2010, section 3.6.
    """
    check_level(level)
    collection = judgements if isinstance(judgements, Collection) else read_judgements(judgements)
    candidates: list[GroupedCandidate] = []
    undecided = []
    values, levels = _by_query(collection, by)
    for query, judged in values.items():
        numbers = {name: np.array([*scores.values()]) for name, scores in judged.items()}
        median = {name: float(np.median(scores)) for name, scores in numbers.items()}
        # Sums of equal judgements may differ by rounding.
        places = {name: (-round(median[name], 9), -round(float(scores.mean()), 9)) for name, scores in numbers.items()}
        order = sorted(judged, key=lambda name: (places[name], name))
        level_of = {name: float(np.median(of_name)) for name, of_name in levels.get(query, {}).items()}
        worth = {name: level_of.get(name, math.inf if by == "rank" else median[name]) for name in order}
        relevant = [name for name in order if worth[name] > above]
        groups: list[list[str]] = []
        for name in relevant:
            before = groups[-1] if groups else []
            before = before[-1:] if differs_from == "previous" else before
            differ = (_p_value(test, judged[other], judged[name]) <= level for other in before)
            if not groups or (any(differ) if differs_from == "any" else all(differ)):
                groups.append([name])
            else:
                groups[-1].append(name)
        group_of = {name: number for number, group in enumerate(groups, 1) for name in group}
        for name in (*relevant, *(other for other in order if other not in group_of)):
            number = group_of.get(name, 0)
            grade = len(groups) - number + 1 if number else 0
            candidates.append(GroupedCandidate(query, name, number, grade, median[name], len(numbers[name])))
        most = sorted((len(judged[name]) for name in relevant), reverse=True)[:2]
        if len(most) > 1:
            first, second = most
            # The smallest p-value that the test can give for samples of these sizes.
            least = 2 / math.comb(first + second, first) if test == "rank-sum" else 2.0 ** (1 - second)
            if least > level:
                undecided.append(query)
    return GroundTruth(tuple(candidates), tuple(undecided))


_ByGrader = dict[str, dict[str, float]]  # judgements of a query by candidate and grader


def _by_query(collection: Collection, by: By) -> tuple[dict[str, _ByGrader], dict[str, dict[str, list[float]]]]:
    """Judgements of each query by candidate and grader, and the broad levels of each candidate."""
    from scipy import stats

    judged = all_judged(collection)
    compared = judged.level if by == "broad" else judged.fine
    if np.isnan(compared).all():
        raise GradingError(f"no {'broad' if by == 'broad' else 'fine'} judgements to group by")
    names = [collection.rows.labels[code] for code in collection.rows.columns["label"].tolist()]
    values: dict[str, _ByGrader] = {}
    levels: dict[str, dict[str, list[float]]] = {}
    rows = zip(
        judged.query.tolist(), names, judged.grader.tolist(), compared.tolist(), judged.level.tolist(), strict=True
    )
    for number, (query, name, grader, value, level) in enumerate(rows):
        track = collection.tracks[query]
        if not math.isnan(value):
            # Each unnamed judgement counts as a separate grader.
            values.setdefault(track, {}).setdefault(name, {})[grader or f"\0{number}"] = value
        if not math.isnan(level):
            levels.setdefault(track, {}).setdefault(name, []).append(level)
    for track, judged_of in values.items() if by == "rank" else ():
        graders = list(dict.fromkeys(grader for by_grader in judged_of.values() for grader in by_grader))
        for name, by_grader in judged_of.items():
            if len(by_grader) < len(graders):
                message = f"query {track!r}: not all of its graders judged {name!r}, so their ranks cannot be compared"
                raise GradingError(f"{message}; compare the fine judgements (by fine)")
        # The ranks of each grader, negative so that larger is more similar; ties get their mean.
        ranks = -stats.rankdata(
            [[-by_grader[grader] for grader in graders] for by_grader in judged_of.values()], axis=0
        )
        values[track] = {
            name: dict(zip(graders, row, strict=True)) for name, row in zip(judged_of, ranks.tolist(), strict=True)
        }
    return values, levels


def _p_value(test: Test, first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """The two-sided p-value of a test of Wilcoxon's; 1 if nothing differs."""
    from scipy import stats

    if test == "rank-sum":
        left, right = list(first.values()), list(second.values())
        if len(set(left + right)) < 2:
            return 1.0
        return float(stats.mannwhitneyu(left, right, alternative="two-sided").pvalue)
    differences = [round(first[grader] - second[grader], 9) for grader in first if grader in second]
    differences = [difference for difference in differences if difference]
    return float(stats.wilcoxon(differences).pvalue) if differences else 1.0


def write_ground_truth(found: GroundTruth, path: str | os.PathLike[str], notes: Mapping[str, object]) -> None:
    """Write groups as CSV, which ``average_dynamic_recall`` reads with ``by=fine``."""
    rows = (
        (row.query, row.candidate, row.grade, row.group or "", f"{row.median:g}", row.graders)
        for row in found.candidates
    )
    write_table(path, ("query", "candidate", "value", "group", "median", "graders"), rows, notes)
