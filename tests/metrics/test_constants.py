"""Constant estimates: which metrics they win, over random references of every task, is what the table says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.schema import TASK_KINDS
from mirflow.metrics.base import Pairs, get_task, tasks
from mirflow.metrics.constants import CONSTANTS, WINS
from tests.samples import TAGS, empty, sample

UNTRIED = {
    "separation": "an estimate of audio is never constant and of use",
    "alignment": "an estimate has the events of its reference, in time",
    "key": "a key is one label, right or wrong",
    "classification": "a class is one label, right or wrong",
    "tempo": "a tempo is one number, right or wrong",
    "pattern": "random patterns are too alike",
    "retrieval": "a ranking of all items is what is scored",
    "similarity": "a list is judged item by item",
    "note_alignment": "an alignment of everything is no alignment",
    "audio_to_score": "notes without time, pitch or voice cannot be written",
}
PITCHES = 440 * 2 ** ((np.arange(36, 97) - 69) / 12)


def constants(task: str, reference: Annotation) -> Iterator[tuple[str, Annotation]]:
    """Constant estimates of a reference, by their names in the table."""
    kind, columns = reference.kind, reference.columns
    end = max((float(columns[name].max()) for name in ("end", "time") if name in columns), default=0.0)
    yield "empty", empty(task)
    if kind == "intervals":
        labels = {"chord": ("X", "N", "C:maj"), "local_key": ("C major",)}.get(task, ("verse",))
        for label in labels:
            whole = Annotation("intervals", {"start": np.zeros(1), "end": np.full(1, end)}, [label])
            yield "X" if label == "X" else "one label", whole
        if task == "segment":
            bounds = np.linspace(0, end, max(2, int(end)) + 1)
            numbers = [str(number) for number in range(len(bounds) - 1)]
            yield "everything", Annotation("intervals", {"start": bounds[:-1], "end": bounds[1:]}, numbers)
    elif kind == "hierarchy":
        whole_level = {"start": np.zeros(1), "end": np.full(1, end)}
        yield "one label", Annotation("hierarchy", whole_level, ["A"], (np.array([1]),))
    elif kind == "events":
        times = np.arange(0, end, 0.05)
        yield "everything", Annotation("events", {"time": times}, [""] * len(times))
    elif kind == "hits":
        times, classes = np.arange(0, end, 0.05), sorted(set(reference.labels or ()))
        yield "everything", Annotation("hits", {"time": np.repeat(times, len(classes))}, classes * len(times))
    elif kind == "series":
        yield "empty", replace(reference, columns={**columns, "frequency": np.zeros(len(reference))})
        yield "everything", replace(reference, columns={**columns, "frequency": np.full(len(reference), 220.0)})
    elif kind == "multipitch":
        count = len(reference)
        frames = {"time": columns["time"], "frequency": np.tile(PITCHES, count)}
        yield "everything", Annotation("multipitch", frames, None, (np.full(count, len(PITCHES)),))
    elif kind == "notes":
        start = np.zeros(len(PITCHES))
        yield "everything", Annotation("notes", {"start": start, "end": start + end, "pitch": PITCHES})
    elif kind == "pedals":
        yield "everything", Annotation("pedals", {"start": np.zeros(1), "end": np.full(1, end)}, ["sustain"])
    elif task == "tagging":
        yield "everything", Annotation("labels", {"value": np.ones(len(TAGS))}, list(TAGS))


def winners(task: str) -> set[tuple[str, str]]:
    """(constant, metric) whose mean score is within a tenth of the perfect one, under any convention."""
    rng = np.random.default_rng(5)
    references = [sample(task, rng) for _ in range(8)]
    pairs: dict[str, list[tuple[Annotation, Annotation]]] = {}
    for number, reference in enumerate(references):
        for place, (name, estimate) in enumerate(constants(task, reference)):
            pairs.setdefault(f"{name} {place}", []).append((references[number], estimate))
    found = set()
    for rules in get_task(task).conventions.values():
        scored = [m for m in rules.metrics if not m.dims and m.orientation != "none" and m.perfect is not None]
        measures = rules.select([metric.name for metric in scored])
        for name, some in pairs.items():
            sides = [rules.clean(to_ragged([*(pair[side] for pair in some), empty(task)])) for side in (0, 1)]
            rows = np.array([row for row in range(len(some)) if not any(row in side.flaws for side in sides)])
            if not len(rows):
                continue
            scores = rules.score(Pairs(sides[0].rows, sides[1].rows, rows, rows), measures, rules.grids[0])
            for column, measure in enumerate(measures):
                counted = (scores.weight[:, column] > 0) & ~np.isnan(scores.score[:, column])
                if not counted.any():
                    continue
                mean, metric = scores.score[counted, column].mean(), measure.metric
                assert metric.perfect is not None
                least = 0.9 * metric.perfect if metric.orientation == "higher" else -np.inf
                most = np.inf if metric.orientation == "higher" else metric.perfect + 0.1
                unit = metric.unit or np.isinf(metric.range[1])
                most = metric.perfect + 1e-6 if unit and metric.orientation == "lower" else most
                if least <= mean <= most:
                    found.add((name.rpartition(" ")[0], metric.name))
    return found


@pytest.mark.parametrize("task", [task for task in tasks() if task not in UNTRIED])
def test_constant_estimates_win_the_metrics_of_the_table(task: str) -> None:
    expected = {(constant, metric) for constant, metrics in WINS.get(task, {}).items() for metric in metrics}
    # X is one label, too.
    expected |= {("X", metric) for constant, metric in expected if task == "chord" and constant == "one label"}
    assert winners(task) - {("X", "all_wrong")} == expected - {("X", "all_wrong")}


def test_each_task_is_tried_or_has_a_reason() -> None:
    assert not UNTRIED.keys() - set(tasks())
    assert not WINS.keys() & UNTRIED.keys()
    assert {name for metrics in WINS.values() for name in metrics} <= CONSTANTS.keys()
    assert TASK_KINDS.keys() >= WINS.keys()
