"""Exact pooling: the pooled score of several pairs is that of their joined files, with empty and silent sides too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.metrics.base import Convention, Pairs, Scores, get_task, tasks
from mirflow.metrics.measures import Measure
from mirflow.ragged import Ragged
from tests.samples import empty, sample

LENGTH = 512.0
"""Seconds after which the next pair of events begins in the joined files: no window reaches so far."""
HOP = 1 / 128
"""Distance of frames, whose multiples are exact."""
SHIFTED = ("time", "start", "end", "detected", "position")
"""Columns that grow from pair to pair."""
APART = {
    "classification": "a pair is one item of the collection",
    "tagging": "a pair is one item of the collection",
    "similarity": "a pair is one query of the collection",
    "lyrics": "an alignment of joined texts may cross the songs: below, sums over the pairs are the oracle",
}
"""Tasks whose annotations are not joined in time, and why."""


def exact_measures(rules: Convention) -> tuple[Measure, ...]:
    """A measure of each metric that promises exact pooling; nothing is trimmed, which a joined file does once."""
    measures = rules.select([metric.name for metric in rules.metrics if metric.pooling == "exact" and not metric.dims])
    untrimmed = [name for name in ("trim",) if any(name in measure.parameters for measure in measures)]
    return tuple(
        rules.select(
            [f"{measure.metric.name}({name}=0)" for name in untrimmed if name in measure.parameters] or [measure]
        )[0]
        for measure in measures
    )


def silent(task: str, annotation: Annotation) -> Annotation:
    """The annotation without anything that sounds, as long as it was."""
    columns, labels, counts = dict(annotation.columns), annotation.labels, annotation.inner_counts
    match annotation.kind:
        case "series":
            columns["frequency"] = np.zeros(len(annotation))
        case "multipitch":
            columns["frequency"], counts = np.zeros(0), (np.zeros(len(annotation), dtype=np.int64),)
        case "intervals":
            labels = [{"chord": "N", "local_key": "C major"}.get(task, "silence")] * len(annotation)
        case _:
            return empty(task)
    return replace(annotation, columns=columns, labels=labels, inner_counts=counts)


def joined(parts: Sequence[Annotation]) -> Annotation:
    """One annotation with the items of several, one after the other."""
    counts = tuple(np.concatenate(level) for level in zip(*(part.inner_counts for part in parts), strict=True))
    labels = [label for part in parts for label in part.labels or ()] if parts[0].labels is not None else None
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    return Annotation(parts[0].kind, columns, labels, counts)


def placed(pair: tuple[Annotation, Annotation], number: int, start: float) -> tuple[Annotation, Annotation]:
    """A pair as it stands in the joined files: later, and with names of its own."""
    sides = []
    for side in pair:
        columns = {}
        for name, column in side.columns.items():
            if name in SHIFTED:
                column = column + start
            elif name.endswith("_id"):
                column = np.array([text and f"{number}.{text}" for text in column.tolist()], dtype=np.str_)
            columns[name] = column
        sides.append(replace(side, columns=columns))
    return sides[0], sides[1]


def alike(reference: Annotation, estimate: Annotation, rng: np.random.Generator) -> tuple[Annotation, Annotation]:
    """A pair that begins and ends together, so that nothing happens between it and the next one."""
    if reference.kind == "intervals":
        # Bounds between whole milliseconds, as these may be truncated to another one where they are shifted.
        reference, estimate = (
            replace(side, columns={n: c + 4e-4 for n, c in side.columns.items()}) for side in (reference, estimate)
        )
        end = np.ceil(reference.columns["end"][-1])
        return to_span(reference, end), to_span(estimate, end)
    if reference.kind not in ("series", "multipitch"):
        # Times that are rounded to milliseconds may lie on the end of a window, where the shift moves them out.
        sides = []
        for side in (reference, estimate):
            columns = dict(side.columns)
            for name in {"time", "start"} & columns.keys():
                columns[name] = columns[name] + rng.uniform(0, 1e-4, len(columns[name]))
            sides.append(replace(side, columns=columns))
        return sides[0], sides[1]
    frames = min(len(reference), len(estimate)) // 32 * 32  # whole steps of a grid of 10 ms, too
    sides = []
    for side in (reference, estimate):
        columns = {name: column[:frames] for name, column in side.columns.items()}
        counts = tuple(level[:frames] for level in side.inner_counts)
        if counts:
            columns["frequency"] = side.columns["frequency"][: int(counts[0].sum())]
        sides.append(replace(side, columns={**columns, "time": HOP * np.arange(frames)}, inner_counts=counts))
    return sides[0], sides[1]


def to_span(annotation: Annotation, end: float) -> Annotation:
    """Intervals from 0 to an end: the last one is cut, or lasts until then."""
    kept = annotation.columns["start"] < end
    start, stop = annotation.columns["start"][kept].copy(), np.minimum(annotation.columns["end"][kept], end)
    start[0], stop[-1] = 0.0, end
    labels = [label for label, chosen in zip(annotation.labels or (), kept, strict=True) if chosen]
    return Annotation("intervals", {"start": start, "end": stop}, labels)


def pair_of(task: str, forms: Sequence[str], rng: np.random.Generator) -> tuple[Annotation, Annotation]:
    """A random pair whose sides are full, silent or empty."""
    sides = alike(sample(task, rng), sample(task, rng), rng)
    timed = sides[0].kind in ("intervals", "series", "multipitch")
    made = []
    for side, form in zip(sides, forms, strict=True):
        # Without any frame or interval a file would have no time in the joined one.
        made.append(side if form == "full" else silent(task, side) if form == "silent" or timed else empty(task))
    return made[0], made[1]


def duration(annotation: Annotation) -> float:
    """Seconds until the next pair begins."""
    if annotation.kind == "intervals":
        return float(annotation.columns["end"][-1])
    return HOP * len(annotation) if annotation.kind in ("series", "multipitch") else LENGTH


def score(rules: Convention, pairs: Sequence[tuple[Annotation, Annotation]], measures: Sequence[Measure]) -> Scores:
    sides = [rules.clean(to_ragged([pair[side] for pair in pairs])) for side in (0, 1)]
    assert not sides[0].flaws, sides[0].flaws
    assert not sides[1].flaws, sides[1].flaws
    rows: Ragged = sides[0].rows
    index = np.arange(len(pairs))
    return rules.score(Pairs(rows, sides[1].rows, index, index), measures, rules.grids[0])


def pooled(scores: Scores) -> np.ndarray:
    """Sums of numerators over sums of weights; NaN where nothing weighs."""
    counted = (scores.weight > 0) & ~np.isnan(scores.score)
    above = np.where(counted, scores.score * scores.weight, 0.0).sum(axis=0)
    if len(scores.numerator):
        above += scores.numerator.sum(axis=0)
    below = np.where(counted, scores.weight, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


FORMS = ("full", "silent", "empty")
CASES = [
    (task, name)
    for task in tasks()
    if task not in APART
    for name in get_task(task).conventions
    if exact_measures(get_task(task).convention(name))
]


@pytest.mark.parametrize(("task", "name"), CASES)
def test_pooled_scores_are_those_of_the_joined_files(task: str, name: str) -> None:
    rules = get_task(task).convention(name)
    measures = exact_measures(rules)
    wrong, compared = {}, np.zeros(len(measures), dtype=np.bool_)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        forms = [("full", "full")] * 3 if task == "alignment" else [("full", "full"), *product(FORMS, FORMS)]
        pairs = [pair_of(task, form, rng) for form in forms]
        starts = np.cumsum([0.0, *(duration(pair[0]) for pair in pairs)])
        moved = [
            placed(pair, number, start) for number, (pair, start) in enumerate(zip(pairs, starts[:-1], strict=True))
        ]
        whole = joined([pair[0] for pair in moved]), joined([pair[1] for pair in moved])
        one, many = score(rules, [whole], measures), score(rules, pairs, measures)
        got, want = pooled(many), one.score[0]
        compared |= one.weight[0] > 0
        for column, measure in enumerate(measures):
            # Some programs add 1e-8 s to each denominator, or truncate times to milliseconds, where a shifted bound
            # may be another float.
            slack = {"cut": 1e-8, "ms": 1e-5}.get(
                measure.parameters.get("frames", measure.parameters.get("times")), 1e-9
            )
            if one.weight[0, column] > 0 and not abs(got[column] - want[column]) <= slack:
                wrong[str(measure)] = (got[column], want[column])
    assert not wrong
    assert compared.all()
