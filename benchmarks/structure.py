"""Functional labels and exact metrics: numbers compared with plain Python and with mir_eval's frames, then speed.

Run it with the folder of real annotations: ``python benchmarks/structure.py DATA`` (or set MIRFLOW_DATA): the two
listeners of each song of SALAMI. The peers are, for the accuracy and IoU of functional labels, the definition in plain
Python, a song at a time; for exact metrics of labels, a table over the common boundaries in plain numpy, a song at a
time, and mir_eval's frames of 0.1 s; for exact hierarchies mir_eval's frames of 0.1 s, of some songs.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

import mir_eval
import numpy as np
from race import best_of

from mirflow.metrics import hierarchy, segment
from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged
from mirflow.readers.label_maps import read_label_map

Rows = tuple[np.ndarray, list[str]]
"""Intervals, float64 (n, 2), and their labels."""
Pair = tuple[Rows, Rows]

EXACT = ("pairwise_precision", "pairwise_recall", "pairwise_f_measure", "v_precision", "v_recall", "v_measure")


def songs(data: Path) -> list[Path]:
    return sorted(path for path in (data / "salami").iterdir() if path.is_dir())


def read_boundaries(path: Path) -> Rows:
    """Segments from a list of starts of which the last is the end, without those that have no length."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line.strip()]
    times = np.array([float(row[0]) for row in rows])
    lasting = times[1:] > times[:-1]
    labels = [row[1].strip() for row, lasts in zip(rows, lasting, strict=False) if lasts]
    return np.column_stack([times[:-1], times[1:]])[lasting], labels


def to_ragged(levels: list[Rows], songs: list[int] | None = None) -> Ragged:
    """Rows of segments; with the numbers of levels of songs, hierarchies."""
    vocabulary: dict[str, int] = {}
    codes = [vocabulary.setdefault(label, len(vocabulary)) for _, labels in levels for label in labels]
    flat = np.concatenate([intervals for intervals, _ in levels])
    columns = {"start": flat[:, 0].copy(), "end": flat[:, 1].copy(), "label": np.array(codes, dtype=np.int64)}
    counts = [np.array([len(labels) for _, labels in levels], dtype=np.int64)]
    return Ragged(columns, (*([] if songs is None else [np.array(songs)]), *counts), tuple(vocabulary))


def read_pairs(data: Path, layer: str) -> list[Pair]:
    folders = songs(data)
    return [tuple(read_boundaries(song / f"textfile{who}_{layer}.txt") for who in (1, 2)) for song in folders]


def plain_labels(reference: Rows, estimate: Rows) -> tuple[float, float]:
    """Accuracy in milliseconds of the common time, and intersection over union, of contiguous segments."""
    sides = [
        [(int(round(a, 3) * 1000), int(round(b, 3) * 1000), label) for (a, b), label in zip(*side, strict=True)]
        for side in (reference, estimate)
    ]
    low, high = max(side[0][0] for side in sides), min(side[-1][1] for side in sides)
    bounds = sorted({t for side in sides for a, b, _ in side for t in (a, b) if low <= t <= high})
    right = places = 0
    at = [0, 0]
    for first, last in pairwise(bounds):
        for place, side in enumerate(sides):
            while side[at[place]][1] <= first:
                at[place] += 1
        right += (last - first) * (sides[0][at[0]][2] == sides[1][at[1]][2])
        places += last - first
    both, left, other = 0.0, Counter(), Counter()
    for (a, b), label in zip(*reference, strict=True):
        left[label] += b - a
        both += sum(max(min(b, d) - max(a, c), 0.0) for (c, d), named in zip(*estimate, strict=True) if named == label)
    for (a, b), label in zip(*estimate, strict=True):
        other[label] += b - a
    return right / places, both / (left.total() + other.total() - both)


def plain_exact(reference: Rows, estimate: Rows) -> list[float]:
    """Pairwise and V-measures from a table of seconds over the common boundaries."""
    end = reference[0].max()
    estimate = mir_eval.util.adjust_intervals(estimate[0], list(estimate[1]), 0.0, end)
    reference = mir_eval.util.adjust_intervals(reference[0], list(reference[1]), 0.0)
    bounds = np.unique(np.concatenate([reference[0].ravel(), estimate[0].ravel()]))
    codes = []
    for times, labels in (reference, estimate):
        number = {label: code for code, label in enumerate(dict.fromkeys(label.lower() for label in labels))}
        place = np.searchsorted(times[:, 0], bounds[:-1], side="right") - 1
        codes.append(np.array([number[label.lower()] for label in labels])[place])
    table = np.zeros((codes[0].max() + 1, codes[1].max() + 1))
    np.add.at(table, tuple(codes), np.diff(bounds))
    rows, columns, whole = table.sum(axis=1), table.sum(axis=0), table.sum()
    precision, recall = (table**2).sum() / (columns**2).sum(), (table**2).sum() / (rows**2).sum()

    def entropy(seconds: np.ndarray) -> float:
        share = seconds[seconds > 0] / whole
        return float(-(share * np.log2(share)).sum())

    joint, left, right = entropy(table.ravel()), entropy(rows), entropy(columns)
    v_precision, v_recall = (
        max(1 - given / most, 0.0) if most > 1e-12 else 0.0
        for given, most in ((joint - left, right), (joint - right, left))
    )
    measures = (mir_eval.util.f_measure(*two) for two in ((precision, recall), (v_precision, v_recall)))
    f_measure, v_measure = measures
    return [precision, recall, f_measure, v_precision, v_recall, v_measure]


def report(name: str, found: np.ndarray, expected: np.ndarray, slow: float, alone: float, fast: float) -> None:
    print(f"{name}: largest difference {np.nanmax(np.abs(found - expected)):.1e}")
    print(f"  peer {slow * 1e3:.1f} ms; one pair at a time {alone * 1e3:.1f} ms: {slow / alone:.1f} times;", end=" ")
    print(f"in a batch {fast * 1e3:.2f} ms: {slow / fast:.0f} times")


def compare_labels(data: Path) -> None:
    functions = read_label_map("functions7")
    pairs = [tuple((times, functions.map(labels)) for times, labels in pair) for pair in read_pairs(data, "functions")]
    rules = get_task("segment").convention("mirex2025_structure")
    sides = [to_ragged(list(side)) for side in zip(*pairs, strict=True)]
    measures = rules.select(["label_accuracy", "iou"])

    def ours() -> np.ndarray:
        return rules.score(Pairs.in_order(*sides), measures, "union").score

    def alone() -> list[tuple[float, float]]:
        return [
            (
                segment.label_accuracy(*one, *other, extent="common", times="ms"),
                segment.iou(*one, *other, extent="given"),
            )
            for one, other in pairs
        ]

    def peer() -> list[tuple[float, float]]:
        return [plain_labels(*pair) for pair in pairs]

    expected = np.array(peer())
    np.testing.assert_allclose(np.array(alone()), expected, rtol=0, atol=1e-9)
    times = best_of(3, peer), best_of(3, alone), best_of(10, ours)
    report(f"accuracy and IoU of functional labels, {len(pairs)} pairs, plain Python", ours(), expected, *times)


def compare_exact(data: Path) -> None:
    pairs = read_pairs(data, "uppercase")
    rules = get_task("segment").convention()
    sides = [to_ragged(list(side)) for side in zip(*pairs, strict=True)]
    measures = rules.select([f"{name}@exact" for name in EXACT])
    fitted = []
    for (times, labels), (est_times, est_labels) in pairs:
        reference = mir_eval.util.adjust_intervals(times, list(labels), 0.0)
        fitted.append((*reference, *mir_eval.util.adjust_intervals(est_times, list(est_labels), 0.0, times.max())))

    def ours() -> np.ndarray:
        return rules.score(Pairs.in_order(*sides), measures, "union").score

    def alone() -> np.ndarray:
        given = [(*segment.pairwise(*one, "exact"), *segment.vmeasure(*one, "exact")) for one in fitted]
        return np.array(given)

    def frames() -> np.ndarray:
        return np.array([(*mir_eval.segment.pairwise(*one), *mir_eval.segment.vmeasure(*one)) for one in fitted])

    def peer() -> np.ndarray:
        return np.array([plain_exact(*pair) for pair in pairs])

    single, batch = best_of(3, alone), best_of(10, ours)
    np.testing.assert_allclose(alone(), peer(), rtol=0, atol=1e-9)
    what = f"exact pairwise and V-measures, {len(pairs)} pairs"
    report(f"{what}, plain numpy", ours(), peer(), best_of(3, peer), single, batch)
    report(f"{what}, mir_eval's frames", ours(), frames(), best_of(1, frames), single, batch)


def compare_hierarchies(data: Path, count: int) -> None:
    pairs = []
    for song in songs(data)[:: max(len(songs(data)) // count, 1)][:count]:
        layers = ("functions", "uppercase", "lowercase")
        levels = [[read_boundaries(song / f"textfile{who}_{layer}.txt") for layer in layers] for who in (1, 2)]
        pairs.append([tuple(zip(*side, strict=True)) for side in levels])
    rules = get_task("hierarchy").convention()
    sides = [
        to_ragged([level for pair in pairs for level in zip(*pair[side], strict=True)], [3] * len(pairs))
        for side in (0, 1)
    ]
    names = ("t_precision_full", "t_recall_full", "l_precision", "l_recall")
    measures = rules.select([f"{name}(frame_size=exact)" for name in names])
    fitted = []
    for (levels, labels), (est_levels, est_labels) in pairs:
        end = max(times.max() for times in levels)
        reference = [mir_eval.util.adjust_intervals(*one, 0.0) for one in zip(levels, map(list, labels), strict=True)]
        estimate = [
            mir_eval.util.adjust_intervals(*one, 0.0, end)
            for one in zip(est_levels, map(list, est_labels), strict=True)
        ]
        fitted.append([[one[place] for one in side] for side in (reference, estimate) for place in (0, 1)])

    def ours() -> np.ndarray:
        return rules.score(Pairs.in_order(*sides), measures, "union").score

    def alone() -> np.ndarray:
        return np.array(
            [
                (
                    *hierarchy.tmeasure(one[0], one[2], transitive=True, frame_size="exact")[:2],
                    *hierarchy.lmeasure(*one, frame_size="exact")[:2],
                )
                for one in fitted
            ]
        )

    def peer() -> np.ndarray:
        return np.array(
            [
                (
                    *mir_eval.hierarchy.tmeasure(one[0], one[2], transitive=True)[:2],
                    *mir_eval.hierarchy.lmeasure(one[0], list(map(list, one[1])), one[2], list(map(list, one[3])))[:2],
                )
                for one in fitted
            ]
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, slow = peer(), best_of(1, peer)
        times = best_of(1, alone), best_of(3, ours)
    report(f"exact T- and L-measures, {len(pairs)} pairs, mir_eval's frames", ours(), expected, slow, *times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    parser.add_argument("--hierarchies", type=int, default=4, help="pairs of hierarchies; mir_eval takes 3 s for one")
    given = parser.parse_args()
    if given.data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    compare_labels(Path(given.data))
    compare_exact(Path(given.data))
    compare_hierarchies(Path(given.data), given.hierarchies)


if __name__ == "__main__":
    main()
