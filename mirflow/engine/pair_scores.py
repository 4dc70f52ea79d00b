"""Scores of the pairs of a block, and of its cells, which may have several references.

A metric that fails on a pair costs that score alone, as does one from outside of mirflow that leaves its range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import UnreadableError
from ..interruption import is_stop
from ..metrics.base import Convention, Grid, Pairs, Scores, Sparse
from ..metrics.losses import score_losses
from ..metrics.measures import Measure
from ..metrics.pair_metrics import describe_failure, function_of, layout_of, read_result
from ..pipeline.plan import Combine
from ..ragged import Float, Int

BROKEN = "the metric failed: "
LOST = "lost while it was read: "
ROUNDING = 1e-9  # how far a score may be outside of its metric's range, as sums of floats are


def score_safely(convention: Convention, pairs: Pairs, measures: Sequence[Measure], grid: Grid) -> Scores:
    """Score all pairs at once; if the kernel breaks on one, find it by scoring them one by one."""
    # A kernel must never break on rows that passed `clean`. If it does, that is a defect of ours, or of a metric of the
    # user, and it may cost the pair that shows it, not the run: hence the broad catches. It may call sys.exit(), too.
    try:
        return convention.score(pairs, measures, grid)
    except BaseException as error:
        if is_stop(error):
            raise
    shape = len(pairs), sum(not measure.metric.dims for measure in measures)
    scored = Scores(np.full(shape, np.nan), np.zeros(shape))
    refused: dict[int, str] = {}
    partly: dict[int, str] = {}
    repairs = np.zeros(len(pairs), dtype=np.int64)
    extras: dict[str, list[Sparse]] = {}
    for pair in range(len(pairs)):
        try:
            result = convention.score(pairs[pair : pair + 1], measures, grid)
        except UnreadableError as error:  # a signal, whose samples are read only now
            refused[pair] = f"{LOST}{error}"
            continue
        except BaseException as error:
            if is_stop(error):
                raise
            refused[pair] = f"{BROKEN}{describe_failure(error, measures)}"
            continue
        weight = result.weight[0] - (result.numerator[0] if len(result.numerator) else 0.0)
        scored.score[pair], scored.weight[pair] = result.score[0], weight
        for notes, of_pair in ((refused, result.refused), (partly, result.partly)):
            notes.update((pair, message) for message in of_pair.values())
        repairs[pair] = result.repairs.sum()
        for name, sparse in result.extras.items():
            index = sparse.index.copy()
            index[:, 0] = pair
            extras.setdefault(name, []).append(replace(sparse, index=index))
    joined = {}
    for name, parts in extras.items():
        index = np.concatenate([part.index for part in parts])
        joined[name] = replace(parts[0], index=index, value=np.concatenate([part.value for part in parts]))
    return Scores(scored.score, scored.weight, joined, refused, repairs, partly)


def _call(task: str, pair: Pairs, measures: Sequence[Measure]) -> list[tuple[float, float] | str]:
    """Score and weight of one pair by functions, or why there is none; a function of several values is called once."""
    empty = any(counts[0] == 0 for counts in pair.counts)
    results: dict[Any, Any] = {}
    scores: list[tuple[float, float] | str] = []
    for measure in measures:
        metric = measure.metric
        if empty and metric.empty is not None:
            scores.append((metric.empty, 1.0))
            continue
        key = id(metric.pair), measure.values
        try:
            if key not in results:
                assert metric.pair is not None
                function = function_of(metric.pair)
                arguments = layout_of(function, task, metric.origin).arguments(*pair.lay_out())
                results[key] = function(*arguments, **measure.parameters)
            scores.append(read_result(results[key], metric.value))
        except BaseException as error:
            if is_stop(error):
                raise
            scores.append(describe_failure(error, [measure]))
    return scores


@dataclass
class _Table:
    measures: Sequence[Measure]
    pairs: int
    extras: dict[str, Sparse] = field(default_factory=dict)
    broken: dict[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scalars = [measure for measure in self.measures if not measure.metric.dims]
        self.place = {measure: index for index, measure in enumerate(self.measures)}
        self.column = {measure: place for place, measure in enumerate(self.scalars)}
        self.score: Float = np.full((self.pairs, len(self.scalars)), np.nan)
        self.weight: Float = np.zeros((self.pairs, len(self.scalars)))

    def put(self, measures: Sequence[Measure], part: Scores) -> None:
        """Enter the scores of some measures."""
        columns = [self.column[measure] for measure in measures if not measure.metric.dims]
        weight = part.weight - part.numerator if len(part.numerator) else part.weight
        self.score[:, columns], self.weight[:, columns] = part.score, weight
        self.extras |= part.extras

    def fail(self, pair: int, measure: Measure, why: str) -> None:
        """Enter a failure. Its weight is above 0, as the score is missing rather than undefined."""
        self.broken[pair, self.place[measure]] = why
        if measure in self.column:
            column = self.column[measure]
            self.score[pair, column], self.weight[pair, column] = np.nan, 1.0

    def scores(self, kernel: Scores) -> Scores:
        """All scores, with the kernel's notes about pairs; a pair on which all metrics failed is refused."""
        for measure in self.scalars:  # of user-defined metrics, those outside of their declared ranges are failures
            low, high = measure.metric.range
            score = self.score[:, self.column[measure]]
            outside = (score < low - ROUNDING) | (score > high + ROUNDING)
            for pair in np.flatnonzero(outside).tolist() if measure.metric.origin else ():
                what = f"{measure.metric.name} returned {score[pair]:g}, outside of its range of {low:g} to {high:g}"
                self.fail(pair, measure, what)
        numbers = Counter(pair for pair, _ in self.broken)
        lost = {pair for pair, number in numbers.items() if number == len(self.measures)}
        refused = {pair: f"{BROKEN}{next(t for (p, _), t in self.broken.items() if p == pair)}" for pair in lost}
        return replace(
            kernel,
            score=self.score,
            weight=self.weight,
            extras=self.extras,
            refused={**refused, **kernel.refused},
            broken={index: f"{BROKEN}{text}" for index, text in self.broken.items() if index[0] not in lost},
        )


def score_pairs(convention: Convention, pairs: Pairs, measures: Sequence[Measure], grid: Grid) -> Scores:
    """Score pairs by the kernel of their convention, and by metrics from outside of mirflow. Returns ``refused`` names
    the pairs of which no metric has a score, and ``broken`` those of which some metrics from outside have none, because
    they raised an error or returned something else than scores."""
    losses = [measure for measure in measures if measure.metric.error]
    batched = [measure for measure in measures if measure.metric.pair is None and not measure.metric.error]
    foreign = [measure for measure in batched if measure.metric.origin]
    functions = [measure for measure in measures if measure.metric.pair is not None]
    if not functions and not foreign and not losses:
        return score_safely(convention, pairs, measures, grid)
    table = _Table(measures, len(pairs))
    try:
        kernel = convention.score(pairs, batched, grid)
        table.put(batched, kernel)
    except BaseException as error:
        if is_stop(error):
            raise
        native = [measure for measure in batched if not measure.metric.origin]
        kernel = score_safely(convention, pairs, native, grid)
        table.put(native, kernel)
        for measure in foreign:
            part = score_safely(convention, pairs, [measure], grid)
            table.put([measure], part)
            for pair, why in part.refused.items():
                if pair not in kernel.refused:
                    table.fail(pair, measure, why.removeprefix(BROKEN))
    if losses:
        table.put(
            losses, score_safely(replace(convention, score=partial(score_losses, convention)), pairs, losses, grid)
        )
    for pair in range(len(pairs)) if functions else ():
        if pair in kernel.refused:
            continue
        results = _call(convention.task, pairs[pair : pair + 1], functions)
        for measure, result in zip(functions, results, strict=True):
            if isinstance(result, str):
                table.fail(pair, measure, result)
            else:
                column = table.column[measure]
                table.score[pair, column], table.weight[pair, column] = result
    return table.scores(kernel)


EACH = EACH_SCORE, EACH_WEIGHT = "score_by_annotator", "weight_by_annotator"
"""Variables that keep every annotator's scores."""


def combine_references(
    how: Combine, measures: Sequence[Measure], scores: Scores, cell: Int, annotator: Sequence[str], count: int
) -> tuple[Float, Float, dict[str, Sparse]]:
    """Scores of cells from the scores of their pairs. `how` ({"", "mean", "max", "each"}): ``mean``: the plain means of
    score and weight over the annotators whose references have something to measure (weight above 0; all, if none has).
    ``max``: the best score, by the metric's orientation, with its own weight. ``each``: as ``mean``, and every
    annotator's score and weight as well. `cell` (int64 (pairs,)), `count`: number of cells; a cell without a pair gets
    score NaN and weight 0. Returns `score, weight` (float64 (cells, measures)), `extras`: over cells; seconds and
    counts are means over the annotators, scores over those that have the entry."""
    pairs_per_cell = np.bincount(cell, minlength=count)
    extras: dict[str, Sparse] = {}
    for name, sparse in scores.extras.items():
        index = sparse.index.copy()
        index[:, 0] = cell[index[:, 0]]
        value = sparse.value
        if (pairs_per_cell > 1).any():
            # Of all pairs where an absent entry is 0, else of those that have it.
            index, entry = np.unique(index, axis=0, return_inverse=True)
            entries = np.bincount(entry.ravel(), minlength=len(index))
            among = entries if np.isnan(sparse.fill) else pairs_per_cell[index[:, 0]]
            value = np.bincount(entry.ravel(), weights=value, minlength=len(index)) / among
        extras[name] = replace(sparse, index=index, value=value)
    if how == "each":
        extras |= extras_by_annotator(measures, tuple(sorted(set(annotator))), scores, cell, annotator)
    score = np.full((count, len(measures)), np.nan)
    weight = np.zeros((count, len(measures)))
    if pairs_per_cell.max(initial=0) <= 1:
        score[cell], weight[cell] = scores.score, scores.weight
        return score, weight, extras
    sign = np.array([-1.0 if measure.metric.orientation == "lower" else 1.0 for measure in measures])
    columns = np.arange(len(measures))
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(count))
    for number in np.flatnonzero(pairs_per_cell):
        rows = order[starts[number] : starts[number] + pairs_per_cell[number]]
        scored, weighed = scores.score[rows], scores.weight[rows]
        # An annotator with nothing to measure scores 0 by convention, which must not be the smallest error.
        counted = (weighed > 0) | ~(weighed > 0).any(axis=0)
        # A reference without velocities gives no score where they are compared; the others do, and count.
        present = counted & ~np.isnan(scored)
        if how == "max":  # of the first on ties
            best = np.where(present, scored * sign, -np.inf).argmax(axis=0)
            score[number], weight[number] = scored[best, columns], weighed[best, columns]
            continue
        counted = np.where(present.any(axis=0), present, counted)
        score[number] = np.mean(scored, axis=0, where=counted)
        weight[number] = np.mean(weighed, axis=0, where=counted)
    return score, weight, extras


def name_extras(extras: Mapping[str, Sparse], measures: Sequence[Measure]) -> dict[str, Sparse]:
    """Add the identity of the measure to results with extra dims, for queries of the store."""
    identity = {measure.variable: str(measure) for measure in measures if measure.metric.dims}
    return {name: replace(sparse, attrs={**sparse.attrs, "metric": identity[name]}) for name, sparse in extras.items()}


def extras_by_annotator(
    measures: Sequence[Measure], names: tuple[str, ...], scores: Scores, cell: Int, annotator: Sequence[str]
) -> dict[str, Sparse]:
    """Every annotator's scores and weights as results with extra dims; `names` are those of all annotators."""
    column = np.array([names.index(name) for name in annotator], dtype=np.int64)
    metric = tuple(str(measure) for measure in measures)
    columns = np.arange(len(metric), dtype=np.int64)
    index = np.column_stack(
        [np.repeat(cell, len(metric)), np.repeat(column, len(metric)), np.tile(columns, len(cell))]
    ).astype(np.int64)
    dims, coords = ("annotator", "metric"), (names, metric)
    return {
        EACH_SCORE: Sparse(dims, coords, index, scores.score.ravel(), {"long_name": "score by annotator"}, np.nan),
        EACH_WEIGHT: Sparse(dims, coords, index, scores.weight.ravel(), {"long_name": "weight by annotator"}),
    }
