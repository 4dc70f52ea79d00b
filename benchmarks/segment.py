"""Segment scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

Run it with the folder of real annotations: ``python benchmarks/segment.py DATA`` (or set MIRFLOW_DATA).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import itertools
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import mir_eval
import numpy as np

from mirflow.engine.block import Works, score_block
from mirflow.engine.runs import plan
from mirflow.metrics.base import Pairs, get_task
from mirflow.pipeline.plan import Stale
from mirflow.ragged import Ragged

Rows = tuple[np.ndarray, list[str]]
"""Intervals, float64 (n, 2), and their labels."""
Pair = tuple[Rows, Rows]

LAYERS = ("functions", "uppercase", "lowercase")
NORMALIZED = "Normalized Mutual Information"
SINGLE_LABEL = 1e-4
"""What mir_eval may return for 0: it divides a rounding error by 1e-10 where a side has a single label."""

PIPELINE = """\
name: salami
root: {root}
store: {folder}/salami.zarr
evaluations:
"""
EVALUATION = """\
  - task: segment
    name: {layer}
    reference: {{path: "{{track}}/textfile1_{layer}.txt", columns: {{start: 0, label: 1}}}}
    estimates: {{path: "{{track}}/textfile2_{layer}.txt", columns: {{start: 0, label: 1}}}}
    systems: [annotator_2]
"""


def read_boundaries(path: Path) -> Rows:
    """A list of boundaries, the last of which ends the last segment; mir_eval refuses segments without length."""
    times, labels = mir_eval.io.load_labeled_events(str(path), delimiter="\t")
    intervals = np.column_stack([times[:-1], times[1:]])
    lasting = intervals[:, 1] > intervals[:, 0]
    return intervals[lasting], list(itertools.compress(labels, lasting))


def read_lab(path: Path) -> Rows:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        intervals, labels = mir_eval.io.load_labeled_intervals(str(path))
    return intervals, labels


def songs(data: Path) -> list[Path]:
    return sorted(path for path in (data / "salami").iterdir() if path.is_dir())


def read_salami(data: Path) -> list[Pair]:
    """Annotator 2 against annotator 1, layer by layer."""
    return [
        (read_boundaries(song / f"textfile1_{layer}.txt"), read_boundaries(song / f"textfile2_{layer}.txt"))
        for layer in LAYERS
        for song in songs(data)
    ]


def load_pairs(data: Path) -> list[Pair]:
    """SALAMI's annotators against each other, both ways, on three layers, and mir_eval's own examples."""
    pairs = read_salami(data)
    pairs += [(estimate, reference) for reference, estimate in pairs]
    for path in sorted((data / "mir_eval-fixtures/segment").glob("ref*.lab")):
        pairs.append((read_lab(path), read_lab(path.with_name(path.name.replace("ref", "est")))))
    return pairs


def to_ragged(side: list[Rows]) -> Ragged:
    vocabulary: dict[str, int] = {}
    codes = [vocabulary.setdefault(label, len(vocabulary)) for _, labels in side for label in labels]
    flat = np.concatenate([intervals for intervals, _ in side])
    columns = {"start": flat[:, 0].copy(), "end": flat[:, 1].copy(), "label": np.array(codes, dtype=np.int64)}
    return Ragged(columns, (np.array([len(labels) for _, labels in side], dtype=np.int64),), tuple(vocabulary))


def run_mir_eval(pairs: list[Pair]) -> np.ndarray:
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (spans, labels), (est_spans, est_labels) in pairs:
            found = mir_eval.segment.evaluate(spans, list(labels), est_spans, list(est_labels))
            scores.append(list(found.values()))
    return np.array(scores)


def best_of(repeats: int, call: Callable[[], object]) -> float:
    """Seconds of the fastest of several calls."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def show_difference(found: np.ndarray, expected: np.ndarray) -> None:
    """Print the largest differences; those of a mutual information of 0 separately."""
    column = [measure.metric.key for measure in get_task("segment").convention().select()].index(NORMALIZED)
    noise = (found[:, column] == 0) & (np.abs(expected[:, column]) < SINGLE_LABEL)
    others = expected.copy()
    others[noise, column] = 0.0
    print(f"  largest difference {np.nanmax(np.abs(found - others)):.1e}")
    if noise.any():
        print(f"  besides, in {noise.sum()} pairs with a single label mir_eval has up to ", end="")
        print(f"{np.abs(expected[noise, column]).max():.0e} for a normalized mutual information of 0")


def compare_arrays(pairs: list[Pair]) -> None:
    """Arrays in memory to scores: the ratio, and the time of each step."""
    convention = get_task("segment").convention("mir_eval")
    measures = convention.select()
    references, estimates = (to_ragged(list(side)) for side in zip(*pairs, strict=True))
    row = np.arange(len(pairs))

    def ours() -> np.ndarray:
        return convention.score(Pairs(references, estimates, row, row), measures, "union").score

    ours()
    start = time.perf_counter()
    theirs = run_mir_eval(pairs)
    slow = time.perf_counter() - start
    fast = best_of(10, ours)
    print(f"arrays in memory, {len(pairs)} pairs, {len(measures)} metrics")
    show_difference(ours(), theirs)
    print(f"  mir_eval {slow:.2f} s, mirflow {fast * 1e3:.1f} ms: {slow / fast:.0f} times")


def compare_files(data: Path) -> None:
    """Files to scores, one process: SALAMI, annotator 2 against annotator 1 on three layers."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "salami.yaml"
        text = PIPELINE.format(root=(data / "salami").resolve(), folder=name)
        path.write_text(text + "".join(EVALUATION.format(layer=layer) for layer in LAYERS))
        plans = plan(path).plans

    def ours() -> np.ndarray:
        works = [work for one in plans for work in Works(one, Stale(np.ones(one.shape, dtype=np.bool_)))]
        return np.concatenate([score_block(work).score for work in works])

    start = time.perf_counter()
    theirs = run_mir_eval(read_salami(data))
    slow = time.perf_counter() - start
    found = ours()
    print(f"from files, {len(found)} pairs")
    show_difference(found, theirs)
    fast = best_of(5, ours)
    print(f"  mir_eval {slow:.2f} s, mirflow {fast * 1e3:.1f} ms: {slow / fast:.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    compare_arrays(load_pairs(Path(data)))
    compare_files(Path(data))


if __name__ == "__main__":
    main()
