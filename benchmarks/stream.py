"""Pairs streamed through `mirflow.score`: seconds and memory at sizes that grow, beside `metrics.onset` pair by pair.

    python benchmarks/stream.py [pairs ...]

Each size runs in a process of its own. Memory is the peak of the process above that before scoring: it holds scores of
all pairs, and annotations of one block.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

EVENTS = 100
Pair = tuple[str, np.ndarray, np.ndarray]


def pairs(count: int) -> Iterator[Pair]:
    rng = np.random.default_rng(0)
    for number in range(count):
        reference = np.cumsum(rng.uniform(0.2, 0.6, EVENTS))
        yield f"track{number:07d}", reference, reference + rng.normal(0, 0.03, EVENTS)


def peak() -> float:
    """MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(count: int) -> None:
    import mirflow
    from mirflow.metrics import onset

    mirflow.score(pairs(64), task="onset", metrics=["f_measure"])
    began, before = time.perf_counter(), peak()
    for _ in pairs(count):
        pass
    making = time.perf_counter() - began
    began = time.perf_counter()
    scores = mirflow.score(pairs(count), task="onset", metrics=["f_measure"], progress=True)
    seconds = time.perf_counter() - began - making
    few = list(pairs(min(count, 2000)))
    began = time.perf_counter()
    expected = [onset.f_measure(reference, estimate)[0] for _, reference, estimate in few]
    alone = (time.perf_counter() - began) / len(few) * count
    assert scores.score.values[0, : len(few), 0].tolist() == expected
    held = count * EVENTS * 2 * 8 / 2**20
    print(
        f"{count} pairs: {seconds:.1f} s ({count / seconds:.0f}/s), pair by pair {alone:.1f} s; "
        f"{peak() - before:.0f} MB more, annotations alone would be {held:.0f} MB"
    )


if __name__ == "__main__":
    for count in [int(word) for word in sys.argv[1:]] or [20_000, 200_000]:
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(count,))
        process.start()
        process.join()
