"""Local keys of many pairs in one batch beside one pair at a time, the numbers compared first.

mir_eval has no such task: its scores of single keys are taken frame by frame, of 100 ms each.
Run it with ``python benchmarks/local_key.py [NUMBER OF PAIRS]``.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import sys

import mir_eval
import numpy as np
from race import race

from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

LABELS = tuple(f"{tonic} {mode}" for tonic in ("C", "G", "D", "A", "F", "Bb", "E", "Eb") for mode in ("major", "minor"))
HOP, LENGTH = 0.1, 180.0


def tracks(count: int, rng: np.random.Generator) -> Ragged:
    """Some modulations in three minutes, at whole frames."""
    counts = rng.integers(4, 20, count)
    bounds = [np.append(np.sort(rng.choice(np.arange(1, 1800), size - 1, replace=False)), 1800) for size in counts]
    end = np.concatenate(bounds) * HOP
    start = np.concatenate([np.append(0, one[:-1]) for one in bounds]) * HOP
    return Ragged({"start": start, "end": end, "label": rng.integers(0, len(LABELS), len(end))}, (counts,), LABELS)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rng = np.random.default_rng(8)
    references, estimates = tracks(count, rng), tracks(count, rng)
    convention, row = get_task("local_key").convention("mirex2005"), np.arange(count)
    measures = convention.select(["weighted_score"])
    sides = [[_pair(rows, one) for one in range(count)] for rows in (references, estimates)]

    def alone() -> np.ndarray:
        pairs, grid = Pairs(references, estimates, row, row), convention.grids[0]
        return np.concatenate([convention.score(pairs[one : one + 1], measures, grid).score for one in range(count)])

    def frames() -> np.ndarray:
        found = []
        for one in zip(*sides, strict=True):
            labels = [[names[place] for place in _places(intervals)] for intervals, names in one]
            found.append([np.mean([mir_eval.key.weighted_score(*pair) for pair in zip(*labels, strict=True)])])
        return np.array(found)

    def batch() -> np.ndarray:
        return convention.score(Pairs(references, estimates, row, row), measures, convention.grids[0]).score

    race(f"{count} pairs in one batch, mir_eval frame by frame", batch, frames)
    race("the same pairs one by one", alone, frames)


def _pair(rows: Ragged, row: int) -> tuple[np.ndarray, list[str]]:
    one = rows.take([row])
    intervals = np.column_stack([one.columns["start"], one.columns["end"]])
    return intervals, [LABELS[code] for code in one.columns["label"].tolist()]


def _places(intervals: np.ndarray) -> list[int]:
    """The interval of the middle of each frame."""
    middle = (np.arange(round(LENGTH / HOP)) + 0.5) * HOP
    places: list[int] = np.searchsorted(intervals[:, 1], middle).tolist()
    return places


if __name__ == "__main__":
    main()
