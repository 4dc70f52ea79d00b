"""Reference of average dynamic recall: groups of equally similar candidates, by tests of graders' judgements."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...analysis.inference.resampling import check_level
from ...analysis.judgements import Judgements, all_judged, read_judgements
from ...annotations.collection import Collection
from ...errors import GradingError
from ...ragged import Float
from .csv_tables import write_table

By = Literal["fine", "rank", "broad"]
Test = Literal["rank-sum", "signed-rank"]
From = Literal["all", "any", "previous"]


@dataclass(frozen=True, slots=True)
class GroupedCandidate:
    """A candidate in the groups of a query."""

    query: str
    candidate: str
    group: int
    """Number of the group from 1, the most similar; 0: not similar, and in no group."""
    grade: int
    """Grade, larger for more similar candidates: the number of groups from this one to the last; 0: not similar."""
    median: float
    """Median of the compared judgements."""
    graders: int
    """Number of graders."""


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """Groups of equally similar candidates for each query."""

    candidates: tuple[GroupedCandidate, ...]
    """Candidates by query, most similar first."""
    undecided: tuple[str, ...]
    """Queries with too few judgements for a test to distinguish two candidates."""

    def groups(self, query: str) -> list[list[str]]:
        """Return the groups of a query, most similar first."""
        groups: dict[int, list[str]] = defaultdict(list)
        for candidate in self.candidates:
            if candidate.query == query and candidate.group:
                groups[candidate.group].append(candidate.candidate)
        return list(groups.values())


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
    for query, sample in _by_query(collection, by).items():
        relevant, others = _in_order(sample, by, above)
        groups = _cut(relevant, sample, level, _TESTS[test], differs_from)
        grade = len(groups)
        for number, group in enumerate(groups, 1):
            candidates += [sample.grouped(query, name, number, grade - number + 1) for name in group]
        candidates += [sample.grouped(query, name, 0, 0) for name in others]
        most = sorted((len(sample.values[name]) for name in relevant), reverse=True)[:2]
        if len(most) > 1:
            first, second = most
            # The smallest p-value that the test can give for samples of these sizes.
            least = 2 / math.comb(first + second, first) if test == "rank-sum" else 2.0 ** (1 - second)
            if least > level:
                undecided.append(query)
    return GroundTruth(tuple(candidates), tuple(undecided))


@dataclass(frozen=True, slots=True)
class _Sample:
    """The judgements of a query by candidate and grader, and the broad levels of each candidate."""

    values: Mapping[str, Mapping[str, float]]
    levels: Mapping[str, Sequence[float]]

    def numbers(self, name: str) -> Float:
        return np.array(list(self.values[name].values()))

    def grouped(self, query: str, name: str, group: int, grade: int) -> GroupedCandidate:
        return GroupedCandidate(query, name, group, grade, float(np.median(self.numbers(name))), len(self.values[name]))


def _by_query(collection: Collection, by: By) -> dict[str, _Sample]:
    judged = all_judged(collection)
    compared = judged.level if by == "broad" else judged.fine
    if np.isnan(compared).all():
        raise GradingError(f"no {'broad' if by == 'broad' else 'fine'} judgements to group by")
    names = [collection.rows.labels[code] for code in collection.rows.columns["label"].tolist()]
    values: dict[str, dict[str, dict[str, float]]] = {}
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
    if by == "rank":
        values = {query: _ranks(query, judged_of) for query, judged_of in values.items()}
    return {query: _Sample(judged_of, levels.get(query, {})) for query, judged_of in values.items()}


def _ranks(query: str, values: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Rank candidates for each grader, negative so that larger is more similar; ties get their mean."""
    from scipy import stats

    names = list(values)
    graders = list(dict.fromkeys(grader for row in values.values() for grader in row))
    for name in names:
        lacking = [grader for grader in graders if grader not in values[name]]
        if lacking:
            message = f"query {query!r}: not all of its graders judged {name!r}, so their ranks cannot be compared"
            raise GradingError(f"{message}; compare the fine judgements (by fine)")
    table = np.array([[values[name][grader] for grader in graders] for name in names])
    ranks = stats.rankdata(-table, axis=0)
    return {name: dict(zip(graders, (-row).tolist(), strict=True)) for name, row in zip(names, ranks, strict=True)}


def _in_order(sample: _Sample, by: By, above: float) -> tuple[list[str], list[str]]:

    def place(name: str) -> tuple[float, float, str]:
        numbers = sample.numbers(name)
        # Sums of equal judgements may differ by rounding.
        return -round(float(np.median(numbers)), 9), -round(float(numbers.mean()), 9), name

    def similar(name: str) -> bool:
        if sample.levels.get(name):
            return float(np.median(sample.levels[name])) > above
        return by == "rank" or float(np.median(sample.numbers(name))) > above

    names = sorted(sample.values, key=place)
    return [name for name in names if similar(name)], [name for name in names if not similar(name)]


def _cut(
    names: Sequence[str],
    sample: _Sample,
    level: float,
    test: Callable[[Mapping[str, float], Mapping[str, float]], float],
    differs_from: From,
) -> list[list[str]]:

    def differ(first: str, other: str) -> bool:
        return test(sample.values[first], sample.values[other]) <= level

    groups: list[list[str]] = []
    for name in names:
        if groups:
            before = groups[-1][-1:] if differs_from == "previous" else groups[-1]
            some = any if differs_from == "any" else all
            if not some(differ(first, name) for first in before):
                groups[-1].append(name)
                continue
        groups.append([name])
    return groups


def _rank_sum(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Return the two-sided p-value of Wilcoxon's rank sum test; 1 if nothing differs."""
    from scipy import stats

    left, right = list(first.values()), list(second.values())
    if len(set(left + right)) < 2:
        return 1.0
    return float(stats.mannwhitneyu(left, right, alternative="two-sided").pvalue)


def _signed_rank(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test for graders of both; 1 if nothing differs."""
    from scipy import stats

    differences = [round(first[grader] - second[grader], 9) for grader in first if grader in second]
    differences = [difference for difference in differences if difference]
    return float(stats.wilcoxon(differences).pvalue) if differences else 1.0


_TESTS: Mapping[str, Callable[[Mapping[str, float], Mapping[str, float]], float]] = {
    "rank-sum": _rank_sum,
    "signed-rank": _signed_rank,
}


def write_ground_truth(found: GroundTruth, path: str | os.PathLike[str], notes: Mapping[str, object]) -> None:
    """Write groups as CSV, which ``average_dynamic_recall`` reads with ``by=fine``."""
    rows = (
        (row.query, row.candidate, row.grade, row.group or "", f"{row.median:g}", row.graders)
        for row in found.candidates
    )
    write_table(path, ("query", "candidate", "value", "group", "median", "graders"), rows, notes)
