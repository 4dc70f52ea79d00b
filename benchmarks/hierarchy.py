"""Hierarchy scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

Run it with the folder of real annotations: ``python benchmarks/hierarchy.py DATA`` (or set MIRFLOW_DATA). mir_eval
takes about 3 s a pair, so it runs once; ``--pairs 20`` takes 20 pairs, spread over the collection. Times are processor
time, because minutes on a busy machine cannot be compared with the best of a few short runs.
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

Hierarchy = tuple[list[np.ndarray], list[list[str]]]
"""For each level its intervals, float64 (n, 2), and their labels."""
Pair = tuple[Hierarchy, Hierarchy]


def read_boundaries(path: Path) -> tuple[np.ndarray, list[str]]:
    """Segments from a list of starts of which the last is the end, without those that have no length."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line.strip()]
    times = np.array([float(row[0]) for row in rows])
    lasting = times[1:] > times[:-1]
    labels = [row[1].strip() for row, kept in zip(rows, lasting, strict=False) if kept]
    return np.column_stack([times[:-1], times[1:]])[lasting], labels


def read(paths: list[Path]) -> Hierarchy:
    is_lab = all(path.suffix == ".lab" for path in paths)
    levels = [mir_eval.io.load_labeled_intervals(str(path)) if is_lab else read_boundaries(path) for path in paths]
    return [times for times, _ in levels], [labels for _, labels in levels]


def load_pairs(data: Path) -> list[Pair]:
    """The two listeners of each SALAMI song in three layers, and mir_eval's own example."""
    pairs = []
    for song in sorted(path for path in (data / "salami").iterdir() if path.is_dir()):
        layers = ("functions", "uppercase", "lowercase")
        sides = [read([song / f"textfile{listener}_{layer}.txt" for layer in layers]) for listener in (1, 2)]
        pairs.append((sides[0], sides[1]))
    folder = data / "mir_eval-fixtures/hierarchy"
    pairs.append((read(sorted(folder.glob("ref*.lab"))), read(sorted(folder.glob("est*.lab")))))
    return pairs


def to_ragged(side: list[Hierarchy]) -> Ragged:
    vocabulary: dict[str, int] = {}
    codes = [vocabulary.setdefault(name, len(vocabulary)) for _, labels in side for one in labels for name in one]
    flat = np.concatenate([times for levels, _ in side for times in levels])
    levels = np.array([len(one) for one, _ in side], dtype=np.int64)
    segments = np.array([len(times) for one, _ in side for times in one], dtype=np.int64)
    columns = {"start": flat[:, 0].copy(), "end": flat[:, 1].copy(), "label": np.array(codes, dtype=np.int64)}
    return Ragged(columns, (levels, segments), tuple(vocabulary))


def run_mir_eval(pairs: list[Pair]) -> np.ndarray:
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (times, labels), (est_times, est_labels) in pairs:
            copies = [[list(level) for level in one] for one in (labels, est_labels)]
            found = mir_eval.hierarchy.evaluate(times, copies[0], _inside(times, est_times, copies[1]), copies[1])
            scores.append(list(found.values()))
    return np.array(scores)


def _inside(times: list[np.ndarray], est_times: list[np.ndarray], labels: list[list[str]]) -> list[np.ndarray]:
    """The estimate without segments that begin where the reference ends, which mir_eval refuses; labels in place."""
    end = max(level.max() for level in times)
    for place, level in enumerate(est_times):
        labels[place] = [name for name, start in zip(labels[place], level[:, 0], strict=True) if start < end]
    return [level[level[:, 0] < end] for level in est_times]


def compare(pairs: list[Pair]) -> None:
    references, estimates = to_ragged([one for one, _ in pairs]), to_ragged([other for _, other in pairs])
    convention, row = get_task("hierarchy").convention("mir_eval"), np.arange(len(pairs))
    measures = convention.select()
    seconds = []
    for _ in range(6):
        start = time.process_time()
        found = convention.score(Pairs(references, estimates, row, row), measures, "union").score
        seconds.append(time.process_time() - start)
    start = time.process_time()
    theirs = run_mir_eval(pairs)
    slow = time.process_time() - start
    fast = min(seconds)
    print(f"arrays in memory, {len(pairs)} pairs, {len(measures)} metrics")
    print(f"  largest difference {np.abs(found - theirs).max():.1e}")
    print(f"  processor time: mir_eval {slow:.1f} s, mirflow {fast * 1e3:.0f} ms: {slow / fast:.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    parser.add_argument("--pairs", type=int, default=0, help="how many pairs to take; 0: all")
    given = parser.parse_args()
    if given.data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    pairs = load_pairs(Path(given.data))
    if given.pairs:
        pairs = [pairs[place] for place in np.linspace(0, len(pairs) - 1, given.pairs).astype(int)]
    compare(pairs)


if __name__ == "__main__":
    main()
