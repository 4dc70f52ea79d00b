"""Key scores beside mir_eval's: generated pairs, the numbers compared first, both sides in one process.

Run it with ``python benchmarks/key.py [NUMBER OF PAIRS]``.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import itertools
import sys

import mir_eval
import numpy as np
from race import race

from mirflow.metrics import key
from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

LABELS = [*(" ".join(pair) for pair in itertools.product(list(key.KEY_TO_SEMITONE)[:-1], ("major", "minor"))), "X"]


def to_ragged(codes: np.ndarray) -> Ragged:
    return Ragged({"label": codes}, (np.ones(len(codes), dtype=np.int64),), tuple(LABELS))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    reference, estimate = np.random.default_rng(8).integers(0, len(LABELS), (2, count))
    references, estimates = to_ragged(reference), to_ragged(estimate)
    convention = get_task("key").convention()
    measures, row = convention.select(), np.arange(count)
    pairs = [(LABELS[one], LABELS[other]) for one, other in zip(reference.tolist(), estimate.tolist(), strict=True)]

    def loop(evaluate: object) -> np.ndarray:
        return np.array([list(evaluate(*pair).values()) for pair in pairs])  # type: ignore[operator]

    race(
        f"arrays in memory, {count} pairs, {len(measures)} metric",
        lambda: convention.score(Pairs(references, estimates, row, row), measures).score,
        lambda: loop(mir_eval.key.evaluate),
    )
    race("the same pairs one by one", lambda: loop(key.evaluate), lambda: loop(mir_eval.key.evaluate))


if __name__ == "__main__":
    main()
