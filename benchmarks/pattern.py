"""Pattern scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

Run it with the folder of real annotations: ``python benchmarks/pattern.py DATA`` (or set MIRFLOW_DATA).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import time
import warnings
from pathlib import Path

import mir_eval
import numpy as np

from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

Patterns = list[list[list[tuple[float, float]]]]


def load_pairs(data: Path) -> list[tuple[Patterns, Patterns]]:
    """The JKU pieces with four algorithms, and mir_eval's own examples."""
    files = []
    for path in sorted((data / "jku-patterns").glob("*/estimates/*/*.txt")):
        files.append((path.parents[2] / "reference" / path.name, path))
    for path in sorted((data / "mir_eval-fixtures/pattern").glob("ref*.txt")):
        files.append((path, path.with_name(path.name.replace("ref", "est"))))
    return [(mir_eval.io.load_patterns(str(one)), mir_eval.io.load_patterns(str(other))) for one, other in files]


def to_ragged(side: list[Patterns]) -> Ragged:
    patterns = [pattern for one in side for pattern in one]
    occurrences = [occurrence for pattern in patterns for occurrence in pattern]
    flat = np.array([note for occurrence in occurrences for note in occurrence])
    counts = [np.array([len(one) for one in level], dtype=np.int64) for level in (side, patterns, occurrences)]
    return Ragged({"onset": flat[:, 0].copy(), "pitch": flat[:, 1].copy()}, tuple(counts))


def run_mir_eval(pairs: list[tuple[Patterns, Patterns]]) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([list(mir_eval.pattern.evaluate(*pair).values()) for pair in pairs], dtype=np.float64)


def compare(pairs: list[tuple[Patterns, Patterns]]) -> None:
    references, estimates = to_ragged([one for one, _ in pairs]), to_ragged([other for _, other in pairs])
    convention, row = get_task("pattern").convention("mir_eval"), np.arange(len(pairs))
    # mir_eval's evaluate computes the occurrence scores at .75 twice, through a misspelt parameter; so does this.
    names = [str(measure).replace("@0.5", "@0.75") for measure in convention.select()]
    measures = [convention.select([name])[0] for name in names]
    seconds = []
    for _ in range(11):
        start = time.perf_counter()
        found = convention.score(Pairs(references, estimates, row, row), measures, "union").score
        seconds.append(time.perf_counter() - start)
    slow = []
    for _ in range(3):
        start = time.perf_counter()
        theirs = run_mir_eval(pairs)
        slow.append(time.perf_counter() - start)
    print(f"arrays in memory, {len(pairs)} pairs, {len(measures)} metrics")
    print(f"  largest difference {np.abs(found - theirs).max():.1e}")
    print(f"  mir_eval {min(slow):.2f} s, mirflow {min(seconds) * 1e3:.1f} ms: {min(slow) / min(seconds):.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    compare(load_pairs(Path(data)))


if __name__ == "__main__":
    main()
