"""Shares of errors of every task, convention and metric: they sum to the loss, however annotations are written."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import MetricError
from mirflow.metrics.base import get_task, tasks

from ..samples import sample

SPLIT = [
    (task, name)
    for task in tasks()
    for name in get_task(task).conventions
    if get_task(task).convention(name).errors is not None
]
WRITTEN_AS_ROWS = {"chord": {"C:maj": "C", "A:min": "A:min", "F:maj7": "F:maj7"}, "local_key": {}, "segment": {}}
"""Tasks of intervals with labels, and other spellings of some."""


SOME = [pytest.param(5), pytest.param(None, marks=pytest.mark.slow)]
"""How many metrics of each convention are split; None: all."""


def split_metrics(task: str, convention: str, most: int | None) -> list[str]:
    """The metrics of a convention whose loss can be split, or so many of them."""
    rules = get_task(task).convention(convention)
    assert rules.errors is not None
    found = []
    for metric in rules.metrics:
        with suppress(MetricError):
            rules.errors.losses(metric.measure())
            found.append(metric.name)
    return found[:: max(1, -(-len(found) // (most or len(found))))]


def shortened(whole: Annotation, count: int) -> Annotation:
    """The first items of an annotation; all of one that is no list of items."""
    if whole.inner_counts or len({len(values) for values in whole.columns.values()}) > 1:
        return whole
    return replace(
        whole,
        columns={name: values[:count] for name, values in whole.columns.items()},
        labels=None if whole.labels is None else list(whole.labels[:count]),
    )


def moved(whole: Annotation, seconds: float) -> Annotation:
    """An annotation whose events or intervals are later."""
    late = {name: whole.columns[name] + seconds for name in ("time", "start", "end") if name in whole.columns}
    return whole if whole.inner_counts else replace(whole, columns={**whole.columns, **late})


def halved(whole: Annotation, spellings: dict[str, str], share: float = 0.4) -> Annotation:
    """Intervals in two parts each, the second perhaps with another spelling of the label."""
    start, end = whole.columns["start"], whole.columns["end"]
    middle = start + share * (end - start)
    columns = {"start": np.column_stack([start, middle]).ravel(), "end": np.column_stack([middle, end]).ravel()}
    return replace(
        whole, columns=columns, labels=[one for label in whole.labels for one in (label, spellings.get(label, label))]
    )


def shares_of(pairs: list[tuple[Annotation, Annotation]], task: str, convention: str, metric: str) -> np.ndarray:
    """The score of the reference by itself, that of the estimate, and the shares of each pair: (pairs, 2 + kinds)."""
    tracks = [f"p{number}" for number in range(len(pairs))]
    references = {track: reference for track, (reference, _) in zip(tracks, pairs, strict=True)}
    estimates = {track: estimate for track, (_, estimate) in zip(tracks, pairs, strict=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mirflow.errors.MirflowWarning)
        found = mirflow.losses(
            references,
            {"own": references, "est": estimates},
            task,
            metric=metric,
            convention=convention,
            progress=False,
        )
    sign = -1.0 if found["orientation"].values[0] == "lower" else 1.0
    both = found["score"].sel(system=["own", "est"]).values
    return np.column_stack([sign * both[0, :, 0], sign * both[1, :, 0], both[1, :, 1:]])


@pytest.mark.parametrize("most", SOME)
@pytest.mark.parametrize(("task", "convention"), SPLIT)
def test_shares_of_hostile_pairs_sum_to_the_loss(task: str, convention: str, most: int | None) -> None:
    rng = np.random.default_rng(11)
    first, second = sample(task, rng), sample(task, rng)
    single = shortened(first, 1)
    pairs = [
        *((first, second), (first, moved(first, 0.03)), (first, shortened(first, 3)), (single, moved(single, 0.03))),
        *(
            (single, moved(single, -0.03)),
            (single, first),
            (first, single),
            (shortened(first, 2), shortened(second, 2)),
        ),
        (shortened(first, 2), moved(shortened(first, 2), 0.2)),
    ]
    summed = 0
    for metric in split_metrics(task, convention, most):
        best, score, *shares = shares_of(pairs, task, convention, metric).T
        known = np.isfinite(best) & np.isfinite(score)
        np.testing.assert_allclose(sum(shares)[known], (best - score)[known], rtol=0, atol=1e-12, err_msg=metric)
        summed += int(known.sum())
    assert summed


@pytest.mark.parametrize("most", SOME)
@pytest.mark.parametrize(("task", "convention"), [one for one in SPLIT if one[0] in WRITTEN_AS_ROWS])
def test_shares_do_not_depend_on_how_intervals_are_written(task: str, convention: str, most: int | None) -> None:
    """Wherever the score does not: some metrics of segments see each boundary."""
    rng = np.random.default_rng(5)
    blind = 0
    for metric in split_metrics(task, convention, most):
        for _ in range(2):
            first, second = sample(task, rng), sample(task, rng)
            estimate = replace(second, columns={name: values * 0.9 for name, values in second.columns.items()})
            spell = WRITTEN_AS_ROWS[task]
            written = [(first, estimate), (halved(first, {}), estimate), (first, halved(estimate, {}))]
            written += [(halved(first, {}, 0.7), halved(halved(estimate, {}), {}))]
            written += [(halved(first, spell), halved(estimate, spell))] if convention == "mir_eval" else []
            found = shares_of(written, task, convention, metric)
            if np.ptp(found[:, :2], axis=0).max() > 1e-9:
                continue
            blind += 1
            np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), rtol=0, atol=1e-9, err_msg=metric)
    assert blind or convention == "decibel"


def test_a_beat_at_the_time_before_which_beats_are_left_out_can_be_missing() -> None:
    beats = np.arange(5.0, 15.0)
    pair = Annotation("events", {"time": beats}), Annotation("events", {"time": beats[1:]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mirflow.errors.MirflowWarning)
        split = mirflow.losses(*pair, "beat", metric="f_measure", progress=False)
    assert split["score"].sel(metric="lost@missing").item() == pytest.approx(1 - 18 / 19)
