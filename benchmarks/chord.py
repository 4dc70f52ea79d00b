"""Chord scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

Run it with the folder of real annotations: ``python benchmarks/chord.py DATA`` (or set MIRFLOW_DATA).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import mir_eval
import numpy as np

from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

Rows = tuple[np.ndarray, list[str]]
"""Intervals, float64 (n, 2), and their labels."""
GivenPairs = tuple[list[Rows], list[Rows], np.ndarray, np.ndarray]
"""References, estimates, and the row of each that a pair consists of."""


def read_lab(path: Path) -> Rows:
    """A lab file without the intervals that mir_eval refuses because they have no length."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        intervals, labels = mir_eval.io.load_labeled_intervals(str(path))
    lasting = intervals[:, 1] > intervals[:, 0]
    return intervals[lasting], list(itertools.compress(labels, lasting))


def read_jams(path: Path) -> list[Rows]:
    rows = [annotation["data"] for annotation in json.loads(path.read_text())["annotations"]]
    return [
        (
            np.array([(float(row["time"]), float(row["time"]) + float(row["duration"])) for row in one]),
            [row["value"] for row in one],
        )
        for one in rows
    ]


def load_pairs(data: Path) -> GivenPairs:
    """MIREX 2013 (217 tracks x 9 systems), the annotators of CASD against each other, mir_eval's own examples."""
    references: list[Rows] = []
    estimates: list[Rows] = []
    pairs: list[tuple[int, int]] = []
    place = {}
    for path in sorted((data / "mirex2013-ace/reference").glob("*.lab")):
        place[path.name] = len(references)
        references.append(read_lab(path))
    for path in sorted((data / "mirex2013-ace/estimates").glob("*/*.lab")):
        pairs.append((place[path.name], len(estimates)))
        estimates.append(read_lab(path))
    for path in sorted((data / "casd").glob("*.jams")):
        annotators = read_jams(path)
        for one, other in itertools.permutations(range(len(annotators)), 2):
            pairs.append((len(references) + one, len(estimates) + other))
        references += annotators
        estimates += annotators
    for path in sorted((data / "mir_eval-fixtures/chord").glob("ref*.lab")):
        pairs.append((len(references), len(estimates)))
        references.append(read_lab(path))
        estimates.append(read_lab(path.with_name(path.name.replace("ref", "est"))))
    reference_row, estimate_row = np.array(pairs, dtype=np.int64).T
    return references, estimates, reference_row, estimate_row


def to_ragged(side: list[Rows]) -> Ragged:
    vocabulary: dict[str, int] = {}
    codes = [vocabulary.setdefault(label, len(vocabulary)) for _, labels in side for label in labels]
    flat = np.concatenate([intervals for intervals, _ in side])
    columns = {"start": flat[:, 0].copy(), "end": flat[:, 1].copy(), "label": np.array(codes, dtype=np.int64)}
    return Ragged(columns, (np.array([len(labels) for _, labels in side], dtype=np.int64),), tuple(vocabulary))


def best_of(repeats: int, call: Callable[[], object]) -> float:
    """Seconds of the fastest of several calls."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def run_mir_eval(pairs: GivenPairs) -> np.ndarray:
    references, estimates, reference_row, estimate_row = pairs
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one, other in zip(reference_row.tolist(), estimate_row.tolist(), strict=True):
            spans, labels = references[one]
            est_spans, est_labels = estimates[other]
            scores.append(list(mir_eval.chord.evaluate(spans, list(labels), est_spans, list(est_labels)).values()))
    return np.array(scores)


def compare_arrays(pairs: GivenPairs) -> None:
    """Arrays in memory to scores: the ratio, and the time of each step."""
    references, estimates = to_ragged(pairs[0]), to_ragged(pairs[1])
    convention = get_task("chord").convention("mir_eval")
    measures = convention.select()

    def ours() -> np.ndarray:
        return convention.score(Pairs(references, estimates, *pairs[2:]), measures, "union").score

    ours()
    start = time.perf_counter()
    theirs = run_mir_eval(pairs)
    slow = time.perf_counter() - start
    fast = best_of(10, ours)
    print(f"arrays in memory, {len(pairs[2])} pairs, {len(measures)} metrics")
    print(f"  largest difference {np.abs(ours() - theirs).max():.1e}")
    print(f"  mir_eval {slow:.2f} s, mirflow {fast * 1e3:.1f} ms: {slow / fast:.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    compare_arrays(load_pairs(Path(data)))


if __name__ == "__main__":
    main()
