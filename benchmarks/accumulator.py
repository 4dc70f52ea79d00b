"""Updates of an Accumulator beside calls of mir_eval's ``evaluate``, one pair of a four-minute track after the other.

Run it with ``python benchmarks/accumulator.py [NUMBER OF UPDATES] [TASK ...]``. The numbers of all pairs are compared
first. mir_eval, updates with one pair and updates with 64 pairs run in turns in one process, and times are those of its
processor; of tasks in which a call of mir_eval takes long there are fewer, and no more calls than fit into a second.
Audio is ten seconds long, as mir_eval would take minutes; of it mir_eval also computes scores of images and frames.
``compute`` is part of the time. Pairs of keys are drawn from all 24, and those of the first epoch are known in the
others.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import mir_eval
import numpy as np

import mirflow

LENGTH = 240.0
PAIRS, REPEATS, BATCH = 8, 3, 64
Side = tuple[Any, ...]
Draw = Callable[[np.random.Generator], tuple[Side, Side]]
CHORDS = [f"{root}:{quality}" for root in ("C", "F#", "Bb", "E") for quality in ("maj", "min7", "7", "sus4", "maj/3")]


def _beats(rng: np.random.Generator) -> tuple[Side, Side]:
    times = np.arange(0.3, LENGTH, 0.5)
    return (times + rng.normal(0, 0.02, len(times)),), (times[rng.random(len(times)) < 0.9] + 0.02,)


def _onsets(rng: np.random.Generator) -> tuple[Side, Side]:
    times = np.sort(rng.uniform(0, LENGTH, 1000))
    return (times,), (np.sort(np.concatenate([times[:900] + rng.normal(0, 0.02, 900), rng.uniform(0, LENGTH, 80)])),)


def _segments(labels: list[str], count: int) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Side, Side]:
        bounds = np.concatenate([[0.0], np.sort(rng.uniform(1, LENGTH - 1, count - 1)).round(3), [LENGTH]])
        moved = np.unique(np.clip(bounds + rng.normal(0, 0.2, count + 1).round(3), 0, LENGTH))
        moved[[0, -1]] = 0.0, LENGTH
        sides = (np.column_stack([one[:-1], one[1:]]) for one in (bounds, moved))
        reference, estimate = ((one, rng.choice(labels, len(one)).tolist()) for one in sides)
        return reference, estimate

    return draw


def _hierarchy(rng: np.random.Generator) -> tuple[Side, Side]:
    levels = [_segments(["A", "B", "C", "D"], count)(rng) for count in (4, 10)]
    sides = [tuple(map(list, zip(*(level[place] for level in levels), strict=True))) for place in (0, 1)]
    return sides[0], sides[1]


def _key(rng: np.random.Generator) -> tuple[Side, Side]:
    names = [
        f"{root} {mode}"
        for root in ["C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B"]
        for mode in ("major", "minor")
    ]
    return (str(rng.choice(names)),), (str(rng.choice(names)),)


def _tempo(rng: np.random.Generator) -> tuple[Side, Side]:
    slow = rng.uniform(50, 90)
    return (np.array([slow, 2 * slow]), float(rng.random())), (np.array([slow * 1.01, 3 * slow]),)


def _alignment(rng: np.random.Generator) -> tuple[Side, Side]:
    times = np.sort(rng.uniform(0, LENGTH, 300))
    return (times,), (np.sort(times + rng.normal(0, 0.1, 300)).clip(0),)


def _melody(rng: np.random.Generator) -> tuple[Side, Side]:
    time = np.arange(0, LENGTH, 0.01)
    pitch = 220 * 2 ** (np.repeat(rng.integers(0, 24, len(time) // 50 + 1), 50)[: len(time)] / 12)
    voiced = np.repeat(rng.random(len(time) // 50 + 1) < 0.7, 50)[: len(time)]
    other = np.where(rng.random(len(time)) < 0.9, pitch, 2 * pitch)
    return (time, pitch * voiced), (time, other * np.where(rng.random(len(time)) < 0.9, voiced, ~voiced))


def _multipitch(rng: np.random.Generator) -> tuple[Side, Side]:
    time = np.arange(0, LENGTH, 0.01)
    notes = [220 * 2 ** (rng.choice(24, int(count), replace=False) / 12) for count in rng.integers(0, 5, len(time))]
    return (time, notes), (time, [one[rng.random(len(one)) < 0.8] for one in notes])


def _notes(rng: np.random.Generator) -> tuple[Side, Side]:
    start = np.sort(rng.uniform(0, LENGTH, 1000))
    reference = (
        np.column_stack([start, start + rng.uniform(0.1, 0.6, 1000)]),
        220 * 2 ** (rng.integers(0, 30, 1000) / 12),
    )
    kept = rng.random(1000) < 0.85
    return reference, (reference[0][kept] + rng.normal(0, 0.02, (int(kept.sum()), 1)), reference[1][kept])


def _patterns(rng: np.random.Generator) -> tuple[Side, Side]:
    motif = [[(float(note), 60.0 + note % 5) for note in range(8 + size)] for size in range(4)]
    sides = [
        [[[(on + 30.0 * at, p) for on, p in one] for at in range(4)] for one in motif[: 2 + more]] for more in (2, 1)
    ]
    return (sides[0],), (sides[1],)


def _audio(rng: np.random.Generator) -> tuple[Side, Side]:
    sources = rng.normal(size=(2, 80_000))
    return (sources, 8000), (sources + 0.2 * sources[::-1] + 0.1 * rng.normal(size=sources.shape), 8000)


TASKS: dict[str, Draw] = {
    "alignment": _alignment,
    "beat": _beats,
    "chord": _segments(CHORDS, 120),
    "hierarchy": _hierarchy,
    "key": _key,
    "melody": _melody,
    "multipitch": _multipitch,
    "onset": _onsets,
    "pattern": _patterns,
    "segment": _segments(["intro", "verse", "chorus", "bridge"], 12),
    "separation": _audio,
    "tempo": _tempo,
    "transcription": _notes,
}


PARTS = {"Source to Distortion": "sdr", "Source to Interference": "sir", "Source to Artifact": "sar"}
SEPARATION = {f"Sources - {key}": name for key, name in PARTS.items()}
"""Means over the sources of a track."""


def arguments(task: str, reference: Side, estimate: Side) -> Side:
    """The arguments of mir_eval's function for a pair."""
    if task == "separation":
        return reference[0], estimate[0]
    return (*reference, estimate[0]) if task == "tempo" else (*reference, *estimate)


def seconds(call: Callable[[Any], object], items: list[Any]) -> float:
    """Seconds of one call, on average over calls with each item."""
    began = time.process_time()
    for item in items:
        call(item)
    return (time.process_time() - began) / len(items)


def compare(task: str, updates: int) -> tuple[float, float]:
    """Compare the numbers, time both sides, print a line; the ratios of the times."""
    rng = np.random.default_rng(5)
    pairs = [TASKS[task](rng) for _ in range(updates if task in ("key", "tempo") else PAIRS)]
    evaluate = getattr(mir_eval, task).evaluate
    expected = [evaluate(*arguments(task, *pair)) for pair in pairs]
    every = import_module(f"mirflow.metrics.{task}").TASK.convention().select()
    names = {one.metric.key or one.metric.name: str(one) for one in every}
    names = SEPARATION if task == "separation" else {key: name for key, name in names.items() if key in expected[0]}

    # Patterns are lists of lists themselves, and need their name in a list of many.
    held = (lambda one: {"patterns": one[0]}) if task == "pattern" else (lambda one: one[0] if len(one) == 1 else one)
    sides = [[held(one) for one in pair] for pair in pairs]
    scores = mirflow.Accumulator(task, metrics=list(names.values()))
    for reference, estimate in sides:
        scores.update(reference, estimate)
    found = scores.dataset().score.sel(metric=list(names.values())).values[0]
    theirs = np.array([[np.mean(one[key]) for key in names] for one in expected])
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-9)

    once = seconds(lambda pair: evaluate(*arguments(task, *pair)), pairs)
    count = min(updates, max(PAIRS, int(1 / once)))
    ours_count = PAIRS if task == "separation" else min(updates, max(64, int(20 / once)))
    ours = [sides[place % len(sides)] for place in range(ours_count)]
    batches = [tuple(map(list, zip(*ours[at : at + BATCH], strict=True))) for at in range(0, ours_count, BATCH)]
    times = []
    for _ in range(REPEATS):
        slow = seconds(lambda pair: evaluate(*arguments(task, *pair)), (pairs * (count // len(pairs) + 1))[:count])
        times.append((slow, *(_updates(scores, updates, ours_count) for updates in (ours, batches))))
    slow, fast, batched = np.median(times, axis=0) * 1e6
    one, many = np.median([(slow / fast, slow / batched) for slow, fast, batched in times], axis=0)
    worst = np.abs(found - theirs).max()
    print(f"{task:14} {len(names):2d} of {len(expected[0]):2d} scores, largest difference {worst:.0e}", end="; ")
    print(f"mir_eval {slow:7.0f} us, an update {fast:5.0f} us: {one:5.1f} times", end="; ")
    print(f"{BATCH} pairs an update {batched:5.0f} us a pair: {many:5.1f} times")
    return float(one), float(many)


def _updates(scores: mirflow.Accumulator, updates: Sequence[Sequence[Any]], count: int) -> float:
    """Seconds a pair of some updates and the scores of all their pairs."""
    scores.reset()
    began = time.process_time()
    for references, estimates in updates:
        scores.update(references, estimates)
    scores.compute()
    return (time.process_time() - began) / count


def main() -> None:
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    warnings.simplefilter("ignore")
    ratios = np.array([compare(task, updates) for task in sys.argv[2:] or TASKS])
    for what, column in (("one pair", ratios[:, 0]), (f"{BATCH} pairs", ratios[:, 1])):
        print(f"{what} an update: worst task {min(column):.1f} times as fast, median {np.median(column):.1f} times")


if __name__ == "__main__":
    main()
