"""Drum scores beside a loop over classes with mir_eval's matching, as ADTOF's evaluation does it: the numbers first.

Tracks are random: four bars of sixteenth notes again and again, with hits moved, left out and added.
``python benchmarks/drums.py``
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import mir_eval
import numpy as np
from race import race

from mirflow.metrics import drums
from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged
from mirflow.theory.general_midi import DRUM_MAPS

Hits = tuple[np.ndarray, np.ndarray]
"""Times and pitches."""
_CLASSES = DRUM_MAPS["adtof5"].classes


def make_pair(rng: np.random.Generator, hits: int) -> tuple[Hits, Hits]:
    pitch = rng.choice([36, 36, 38, 42, 42, 42, 46, 49, 51, 45], hits)
    time = np.round(np.sort(rng.integers(0, hits, hits)) * 0.125, 4)
    kept = rng.random(hits) < 0.85
    moved = np.abs(time + np.round(rng.normal(0, 0.02, hits), 4))[kept]
    more = rng.uniform(0, time[-1], hits // 10)
    times = np.concatenate([moved, more])
    order = np.argsort(times, kind="stable")
    return (time, pitch), (times[order], np.concatenate([pitch[kept], rng.choice([36, 38, 42], len(more))])[order])


def loop(reference: Hits, estimate: Hits, window: float = 0.05) -> list[float]:
    """Sum F and mean F of a track, class by class."""
    counts, single = np.zeros(3), []
    for pitches in _CLASSES.values():
        sides = [time[np.isin(pitch, pitches)] for time, pitch in (reference, estimate)]
        hits = len(mir_eval.util.match_events(*sides, window)) if min(map(len, sides)) else 0
        single.append(f_measure(hits, len(sides[1]) - hits, len(sides[0]) - hits))
        counts += hits, len(sides[1]) - hits, len(sides[0]) - hits
    return [f_measure(*counts), float(np.mean(single))]


def f_measure(hits: float, extra: float, missed: float) -> float:
    precision = hits / (hits + extra) if hits + extra else 1.0
    recall = hits / (hits + missed) if hits + missed else 1.0
    return 2 * precision * recall / (precision + recall) if precision * recall else 0.0


def to_ragged(side: list[Hits]) -> Ragged:
    labels = tuple(str(pitch) for pitch in range(128))
    columns = {
        "time": np.concatenate([time for time, _ in side]),
        "label": np.concatenate([pitch for _, pitch in side]).astype(np.int64),
    }
    return Ragged(columns, (np.array([len(time) for time, _ in side], dtype=np.int64),), labels)


def main() -> None:
    rng = np.random.default_rng(0)
    rules = get_task("drums").convention("adtof")
    measures = rules.select(["f_measure", "mean_f_measure"])
    for number, hits in ((1, 300), (1, 2000), (200, 300), (100, 2000)):
        pairs = [make_pair(rng, hits) for _ in range(number)]
        references, estimates = (to_ragged(list(side)) for side in zip(*pairs, strict=True))
        race(
            f"{number} pairs of {hits} hits, as a batch",
            lambda sides=(references, estimates): (
                rules.score(Pairs.in_order(*(rules.clean(side).rows for side in sides)), measures, "union").score
            ),
            lambda pairs=pairs: np.array([loop(*pair) for pair in pairs]),
            "the loop",
        )
    pairs = [make_pair(rng, 300) for _ in range(50)]
    names = "f_measure", "mean_f_measure"
    race(
        "50 pairs of 300 hits, one after the other by evaluate (all six scores)",
        lambda: np.array(
            [[found[name] for name in names] for found in (drums.evaluate(*p[0], *p[1], "adtof") for p in pairs)]
        ),
        lambda: np.array([loop(*pair) for pair in pairs]),
        "the loop",
    )


if __name__ == "__main__":
    main()
