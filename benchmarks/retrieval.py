"""Retrieval at the size of MIREX's audio music similarity: matrices of 7,000 x 7,000 distances, ten systems.

    python benchmarks/retrieval.py [--items 7000] [--systems 10] [--groups 700] [--folder FOLDER]
                                   [--scheduler processes] [--ranks 1000] [--only run|ranks|ranx|trec_eval]

``run`` evaluates matrices in text files as a pipeline does and tells time and peak memory of all processes; ``ranks``
scores all ranks of one system in memory; ``ranx`` and ``trec_eval`` score its first ranks beside those packages, the
numbers compared first. The packages are needed for nothing else: pip install ranx pytrec_eval-terrier.

The matrices are distances between random points that lie around the centre of their group, so that relevant items come
early and late. They are written below the folder, unless they are there already (8 MB for a million distances).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import json
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
from race import best_of

import mirflow
from mirflow.annotations.annotation import Annotation, CodedLabels, to_ragged
from mirflow.kernels.ragged_ops import ascending
from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

MEASURES = {"map": "average_precision", "mrr": "reciprocal_rank", "precision@10": "precision", "recall@10": "recall"}
MEASURES |= {"r-precision": "r_precision", "ndcg@10": "ndcg", "hit_rate@10": "hit_rate"}
TREC = {"map": "average_precision", "recip_rank": "reciprocal_rank", "P_10": "precision", "recall_10": "recall"}
TREC |= {"Rprec": "r_precision", "ndcg_cut_10": "ndcg", "success_10": "hit_rate"}


class Peak:
    """The largest memory that this process and those it started take together, sampled."""

    def __init__(self) -> None:
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        own = psutil.Process()
        while not self._stop.wait(0.05):
            total = 0
            for process in (own, *own.children(recursive=True)):
                try:
                    total += process.memory_info().rss  # what processes share counts for each of them
                except psutil.Error:
                    continue
            self.bytes = max(self.bytes, total)


def distances(items: int, groups: int, seed: int) -> np.ndarray:
    """Distances of items around the centres of groups, more or less far by system."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(groups, 8))
    points = (centres[np.arange(items) % groups] + rng.normal(scale=0.5 + 0.1 * seed, size=(items, 8))).astype(
        np.float32
    )
    square = (points**2).sum(1)
    return np.sqrt(np.maximum(square[:, None] + square - 2 * points @ points.T, 0))


def write(folder: Path, items: int, systems: int, groups: int) -> None:
    """MIREX's text files, and the list of groups."""
    names = [f"t{number:05d}" for number in range(items)]
    (folder / "groups.tsv").write_text("".join(f"{name}\tg{number % groups}\n" for number, name in enumerate(names)))
    for system in range(systems):
        path = folder / f"s{system:02d}.txt"
        if path.exists():
            continue
        with path.with_suffix(".part").open("w") as file:
            file.write(f"system {system}\n" + "".join(f"{n}\t/audio/{name}.wav\n" for n, name in enumerate(names, 1)))
            file.write("Q/R\t" + "\t".join(map(str, range(1, items + 1))) + "\n")
            for number, row in enumerate(distances(items, groups, system), 1):
                file.write(f"{number}\t" + "\t".join(np.char.mod("%.5f", row)) + "\n")
        path.with_suffix(".part").rename(path)


def run(folder: Path, items: int, systems: int, scheduler: str) -> None:
    evaluation = {
        "task": "retrieval",
        "reference": {"path": "groups.tsv", "format": "groups"},
        "estimates": {"path": "s{system}.txt", "format": "matrix"},
    }
    document = {
        "name": "retrieval",
        "root": str(folder),
        "store": str(folder / "out.zarr"),
        "evaluations": [evaluation],
    }
    (folder / "pipeline.yaml").write_text(json.dumps(document))
    size = sum(path.stat().st_size for path in folder.glob("s*.txt"))
    start = time.perf_counter()
    with Peak() as peak:
        mirflow.run(folder / "pipeline.yaml", scheduler=scheduler, force=True)
    took = time.perf_counter() - start
    print(f"run: {systems} matrices of {items} x {items} in text, {size / 1e9:.2f} GB, scheduler {scheduler}")
    print(f"  {took:.1f} s, {systems * items**2 / took / 1e6:.1f} million distances a second")
    print(f"  largest memory of all processes together {peak.bytes / 2**20:.0f} MB")
    group = mirflow.open_store(folder / "out.zarr")["retrieval"].to_dataset()
    print(
        "  mean average precision", group.score.sel(metric="average_precision").mean("track").values.round(4).tolist()
    )


def rankings(items: int, groups: int, most: int) -> tuple[Ragged, Ragged, np.ndarray]:
    """Relevant items, and the first ranks of every query by one system; its codes too."""
    square = distances(items, groups, 3)
    np.fill_diagonal(square, np.inf)
    codes = np.stack([ascending(row.astype(np.float64))[:most] for row in square])
    names = tuple(f"t{number:05d}" for number in range(items))
    group = np.arange(items) % groups
    relevant = [np.flatnonzero((group == group[query]) & (np.arange(items) != query)) for query in range(items)]
    sides = [[Annotation("ranking", {}, CodedLabels(names, row)) for row in side] for side in (relevant, codes)]
    return to_ragged(sides[0]), to_ragged(sides[1]), codes


def score(references: Ragged, estimates: Ragged, names: list[str]) -> np.ndarray:
    convention = get_task("retrieval").convention()
    return convention.score(Pairs.in_order(references, estimates), convention.select(names)).score


def compare(title: str, found: np.ndarray, expected: np.ndarray, fast: float, slow: float, made: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    print(f"  largest difference {np.abs(found - expected).max():.1e}")
    print(
        f"  {title} {slow * 1e3:.0f} ms (and {made:.1f} s to make its objects), mirflow {fast * 1e3:.0f} ms: ", end=""
    )
    print(f"{slow / fast:.1f} times")


def beside_ranx(references: Ragged, estimates: Ragged) -> None:
    from ranx import Qrels, Run
    from ranx import evaluate as ranx_evaluate

    start = time.perf_counter()
    judgements, runs = as_dicts(references, estimates)
    qrels, run = Qrels(judgements), Run(runs)
    made = time.perf_counter() - start
    order = list(qrels.keys())

    def theirs() -> np.ndarray:
        found = ranx_evaluate(qrels, run, list(MEASURES), return_mean=False)
        return np.stack([found[name] for name in MEASURES], axis=1)

    expected = theirs()  # compiled now
    names = list(MEASURES.values())
    found = score(references, estimates, names)[[int(query) for query in order]]
    slow, fast = best_of(2, theirs), best_of(3, lambda: score(references, estimates, names))
    compare("ranx", found, expected, fast, slow, made)


def beside_trec_eval(references: Ragged, estimates: Ragged) -> None:
    import pytrec_eval

    start = time.perf_counter()
    judgements, runs = as_dicts(references, estimates)
    evaluator = pytrec_eval.RelevanceEvaluator(judgements, set(TREC))
    made = time.perf_counter() - start

    def theirs() -> np.ndarray:
        found = evaluator.evaluate(runs)
        return np.array([[found[query][name] for name in TREC] for query in judgements])

    names = list(TREC.values())
    found = score(references, estimates, names)
    slow, fast = best_of(2, theirs), best_of(3, lambda: score(references, estimates, names))
    compare("trec_eval", found, theirs(), fast, slow, made)


def as_dicts(references: Ragged, estimates: Ragged) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Convert to the input of the other packages: scores that fall with the rank."""
    sides: list[dict[str, dict]] = []
    for rows in (references, estimates):
        offsets, label = rows.offsets, rows.columns["label"]
        items = [[rows.labels[code] for code in label[a:b].tolist()] for a, b in pairwise(offsets.tolist())]
        sides.append(dict(enumerate(items)))
    judgements = {str(query): dict.fromkeys(items, 1) for query, items in sides[0].items()}
    runs = {str(q): {item: float(-rank) for rank, item in enumerate(items)} for q, items in sides[1].items()}
    return judgements, runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=7000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--groups", type=int, default=700)
    parser.add_argument(
        "--ranks", type=int, default=1000, help="of each query beside ranx, which takes them as objects"
    )
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--scheduler", default="processes")
    parser.add_argument("--only", choices=["run", "ranks", "ranx", "trec_eval"])
    asked = parser.parse_args()
    parts = [asked.only] if asked.only else ["run", "ranks", "ranx", "trec_eval"]
    if "run" in parts:
        with tempfile.TemporaryDirectory() as temporary:
            folder = asked.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            write(folder, asked.items, asked.systems, asked.groups)
            run(folder, asked.items, asked.systems, asked.scheduler)
    if "ranks" in parts:
        references, estimates, _ = rankings(asked.items, asked.groups, asked.items - 1)
        took = best_of(3, lambda: score(references, estimates, list(MEASURES.values())))
        print(f"ranks: {asked.items} queries, all {asked.items - 1} ranks of each, 7 metrics: {took:.2f} s")
        del references, estimates
    for part, call in (("ranx", beside_ranx), ("trec_eval", beside_trec_eval)):
        if part in parts:
            references, estimates, _ = rankings(asked.items, asked.groups, asked.ranks)
            print(f"{part}: {asked.items} queries, the first {asked.ranks} ranks of each, 7 metrics")
            call(references, estimates)


if __name__ == "__main__":
    main()
