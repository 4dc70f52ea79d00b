"""Tempo scores beside mir_eval's: generated pairs, the numbers compared first, both sides in one process.

Run it with ``python benchmarks/tempo.py [NUMBER OF PAIRS]``.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import sys

import mir_eval
import numpy as np
from race import race

from mirflow.metrics import tempo
from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

Sides = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Tempi of the references, float64 (n, 2), share of the first of them, tempi of the estimates."""


def generate(count: int) -> Sides:
    """References of a tempo and its double; estimates that are near, an octave off, or far off."""
    rng = np.random.default_rng(7)
    slow = rng.uniform(40, 120, count)
    reference = np.column_stack((slow, 2 * slow))
    estimate = reference * rng.choice([0.5, 1.0, 1.0, 2.0, 1.3], (count, 1)) * rng.normal(1, 0.04, (count, 2))
    return reference, rng.random(count), estimate


def to_ragged(tempi: np.ndarray, share: np.ndarray | None = None) -> Ragged:
    columns = {"tempo": tempi.ravel()}
    if share is not None:
        columns["salience"] = np.column_stack((share, 1 - share)).ravel()
    return Ragged(columns, (np.full(len(tempi), 2, dtype=np.int64),))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    sides = generate(count)
    references, estimates = to_ragged(*sides[:2]), to_ragged(sides[2])
    convention = get_task("tempo").convention()
    measures, row = convention.select(), np.arange(count)

    def loop(evaluate: object) -> np.ndarray:
        return np.array([list(evaluate(*pair).values()) for pair in zip(*sides, strict=True)])  # type: ignore[operator]

    race(
        f"arrays in memory, {count} pairs, {len(measures)} metrics",
        lambda: convention.score(Pairs(references, estimates, row, row), measures).score,
        lambda: loop(mir_eval.tempo.evaluate),
    )
    race("the same pairs one by one", lambda: loop(tempo.evaluate), lambda: loop(mir_eval.tempo.evaluate))


if __name__ == "__main__":
    main()
