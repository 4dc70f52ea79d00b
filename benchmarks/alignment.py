"""Alignment scores beside mir_eval's: generated pairs, the numbers compared first, both sides in one process.

Run it with ``python benchmarks/alignment.py [NUMBER OF PAIRS]``.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import sys

import mir_eval
import numpy as np
from race import best_of, race

from mirflow.metrics import alignment
from mirflow.metrics import alignment as scoring
from mirflow.metrics import alignment as timing
from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

GivenPairs = list[tuple[np.ndarray, np.ndarray]]


def generate(count: int) -> GivenPairs:
    """Songs of 100 to 500 sung words, and estimates that are off by about 0.2 s."""
    rng = np.random.default_rng(9)
    pairs = []
    for size in rng.integers(100, 500, count):
        reference = np.cumsum(rng.exponential(0.5, size))
        pairs.append((reference, np.sort(np.maximum(reference + rng.normal(0, 0.2, size), 0))))
    return pairs


def to_ragged(side: list[np.ndarray]) -> Ragged:
    return Ragged({"time": np.concatenate(side)}, (np.array([len(times) for times in side], dtype=np.int64),))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000
    pairs = generate(count)
    references, estimates = (to_ragged([pair[side] for pair in pairs]) for side in (0, 1))
    convention = get_task("alignment").convention()
    measures, row = convention.select(), np.arange(count)

    def ours() -> np.ndarray:
        return convention.score(Pairs(references, estimates, row, row), measures).score

    def loop(evaluate: object) -> np.ndarray:
        return np.array([list(evaluate(*pair).values()) for pair in pairs])  # type: ignore[operator]

    title = f"arrays in memory, {count} pairs of {references.counts[0].sum()} events, {len(measures)} metrics"
    race(title, ours, lambda: loop(mir_eval.alignment.evaluate))
    batches = [stamps for _, stamps in scoring._lay_out(references, estimates, row, row, row)]
    whole = best_of(5, ours)
    for part in (
        timing.share_correct,
        timing.median_error,
        timing.mean_error,
        timing.segments,
        timing.perceived_synchrony,
    ):
        arguments = (0.3,) if part is timing.share_correct else ()
        seconds = best_of(5, lambda part=part, arguments=arguments: [part(one, *arguments) for one in batches])
        print(f"    {part.__name__:<24}{seconds * 1e3:7.1f} ms {seconds / whole:6.0%}")
    race("the same pairs one by one", lambda: loop(alignment.evaluate), lambda: loop(mir_eval.alignment.evaluate))


if __name__ == "__main__":
    main()
