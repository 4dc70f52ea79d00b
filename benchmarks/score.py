"""Scores of data in memory: microseconds a cell of `mirflow.score` for small annotations, and of a call with one cell.

    python benchmarks/score.py [--tracks 500] [--systems 100]

To compare two commits, run it in both by turns, with the other's folder in PYTHONPATH.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mirflow

KEYS = [f"{root} {mode}" for root in "CDEFGAB" for mode in ("major", "minor")]
MAKERS: dict[str, Callable[[np.random.Generator], Any]] = {
    "key": lambda rng: KEYS[rng.integers(len(KEYS))],
    "onset": lambda rng: np.sort(rng.uniform(0, 10, 20)),
}


def seconds(repeats: int, task: str, references: Any, estimates: Any) -> float:
    """CPU time of the fastest of several calls."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        mirflow.score(references, estimates, task)
        found.append(time.process_time() - began)
    return min(found)


def main(tracks: int, systems: int) -> None:
    """Time both tasks, print."""
    print(mirflow.__file__)
    for task, make in MAKERS.items():
        rng = np.random.default_rng(0)
        references = {f"t{track}": make(rng) for track in range(tracks)}
        estimates = {f"s{system}": {track: make(rng) for track in references} for system in range(systems)}
        one = {"t0": references["t0"]}
        call = seconds(30, task, one, {"s0": one})
        cell = seconds(3, task, references, estimates) / (tracks * systems)
        print(f"{task}: {cell * 1e6:.1f} us a cell, a call with one cell {call * 1e3:.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=500)
    parser.add_argument("--systems", type=int, default=100)
    arguments = parser.parse_args()
    main(arguments.tracks, arguments.systems)
