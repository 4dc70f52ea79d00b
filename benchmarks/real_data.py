"""Real data sets beside mir_eval, evaluation by evaluation: the numbers compared first, then both timed.

    python benchmarks/real_data.py --data DATA [--pairs 200] [PIPELINE ...]

DATA is the folder of real annotations. The evaluations of shipped pipelines that follow
mir_eval are read and cleaned once. CPU time on one thread: of all pairs by mirflow, from rows and from files, and of so
many pairs, spread over the evaluation, by mir_eval's `evaluate`, from arrays. A difference above 1e-9 is an error.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from mirflow.annotations.annotation import Annotation, from_ragged
from mirflow.annotations.schema import TASK_KINDS
from mirflow.engine.block import clean_sides, pair_up, read_sides
from mirflow.engine.runs import plan
from mirflow.engine.schedule import block_graph
from mirflow.metrics.base import Pairs
from mirflow.pipeline.plan import EvaluationPlan
from tests.forms import arguments

PIPELINES = {
    "mirex2013-ace": "mirex2013-ace",
    "harmonix": "harmonix",
    "salami": "salami",
    "giantsteps-key": "giantsteps-key",
    "jku-patterns": "jku-patterns",
    "adc2004-melody": "adc2004-melody",
    "mirex2015-transcription": "mirex2015-su-transcription",
    "mir_eval-fixtures": "mir_eval-fixtures",
}
"""Pipelines, and the folders of their data."""
RATES = ("precision", "recall", "f_measure", "average_overlap_ratio")
VELOCITIES = [f"velocity_{rate}{ends}" for ends in ("", "_no_offset") for rate in RATES]
TASKS = (
    "alignment",
    "beat",
    "chord",
    "hierarchy",
    "key",
    "melody",
    "multipitch",
    "onset",
    "pattern",
    "segment",
    "tempo",
)
"""Tasks whose metrics are, in order, those of mir_eval's `evaluate`; transcription has two such functions."""


def seconds(call: Callable[[], object], turns: int) -> float:
    """CPU time of the fastest of some calls."""
    times = []
    for _ in range(turns):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def by_mir_eval(module: str, reference: Annotation, estimate: Annotation) -> list[float]:
    """The scores of one pair, in the order of `evaluate`."""
    evaluate = import_module(f"mir_eval.{module}").evaluate
    if module == "tempo":
        tempi, share = arguments(reference)
        return list(evaluate(tempi, share, estimate.columns["tempo"]).values())
    sides = [arguments(side) for side in (reference, estimate)]
    taken = {"beat": 1, "onset": 1, "alignment": 1, "transcription": 2, "transcription_velocity": 3}.get(module)
    sides = [side[:taken] for side in sides]
    if module == "key":
        sides = [[label.replace(":", " ") for label in side[0]] for side in sides]
    if module == "hierarchy":  # which refuses segments that begin where the reference ends
        end = reference.columns["end"].max()
        levels = [[index for index, row in enumerate(level) if row[0] < end] for level in sides[1][0]]
        sides[1] = (
            [level[rows] for level, rows in zip(sides[1][0], levels, strict=True)],
            [[names[row] for row in rows] for names, rows in zip(sides[1][1], levels, strict=True)],
        )
    return list(evaluate(*sides[0], *sides[1]).values())


def measure(title: str, evaluation: EvaluationPlan, most: int) -> None:
    """Compare the scores of an evaluation, and print its line."""
    graph = block_graph(evaluation, np.ones(evaluation.shape, dtype=np.bool_), "")
    works = [task.work for (task,) in graph.values()]
    blocks = [clean_sides(read_sides(work)) for work in works]
    convention, module, chosen = blocks[0].convention, evaluation.task, None
    if module == "transcription" and any(str(chosen).startswith("velocity") for chosen in evaluation.measures):
        module, chosen = "transcription_velocity", VELOCITIES
    measures = convention.select(chosen)
    if module == "pattern":  # whose `evaluate` computes the occurrence scores at .75 twice, by a misspelt parameter
        measures = [convention.select([str(name).replace("@0.5", "@0.75")])[0] for name in measures]
    pairs = []
    for block in blocks:
        matched = pair_up(block)
        pairs.append(Pairs(*(side.rows for side in block.cleaned), matched.reference.rows, matched.estimate.rows))

    def from_rows() -> np.ndarray:
        return np.concatenate([convention.score(some, measures, convention.grids[0]).score for some in pairs])

    def from_files() -> None:
        for work in works:
            clean_sides(read_sides(work))

    scores, kind = from_rows(), TASK_KINDS[evaluation.task]
    numbered = [(some, row) for some in pairs for row in range(len(some))]
    index = np.unique(np.linspace(0, len(numbered) - 1, most).astype(int))
    sides = [
        (
            from_ragged(kind, some.references, int(some.reference_row[row])),
            from_ragged(kind, some.estimates, int(some.estimate_row[row])),
        )
        for some, row in (numbered[number] for number in index.tolist())
    ]
    by_mir_eval(module, *sides[0])  # which imports it
    expected: list[list[float]] = []
    theirs = seconds(lambda: expected.extend(by_mir_eval(module, *pair) for pair in sides), 1) / len(sides)
    difference = np.abs(scores[index] - expected)
    # Of one label on a side mir_eval computes a mutual information of about 1e-16 over itself: docs/divergences.md.
    noise = np.isclose(scores[index], 0) & (np.abs(expected) < 1e-6)
    if not (difference[~noise] <= 1e-9).all():
        sys.exit(f"{title}: the largest difference is {np.nanmax(difference[~noise])}")
    ours, reading = seconds(from_rows, 5) / len(scores), seconds(from_files, 3) / len(scores)
    print(
        f"{title:40}{len(scores):8}{np.max(difference, where=~noise, initial=0):10.1e}{ours * 1e6:10.1f}"
        f"{(ours + reading) * 1e6:10.1f}{theirs * 1e6:12.1f}{theirs / ours:9.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MIRFLOW_DATA"), help="default: $MIRFLOW_DATA")
    parser.add_argument("pipelines", nargs="*", default=list(PIPELINES), metavar="PIPELINE")
    parser.add_argument("--pairs", type=int, default=200, help="pairs that mir_eval scores")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of real annotations by --data or MIRFLOW_DATA")
    warnings.simplefilter("ignore")
    print(f"us a pair{'':31}{'pairs':>8}{'differ':>10}{'rows':>10}{'files':>10}{'mir_eval':>12}{'ratio':>9}")
    for name in options.pipelines:
        path = Path(__file__).parents[1] / "pipelines" / f"{name}.yaml"
        for evaluation in plan(path, root=Path(options.data) / PIPELINES[name]).plans:
            if evaluation.convention == "mir_eval" and evaluation.task in (*TASKS, "transcription"):
                measure(f"{name} {evaluation.name}", evaluation, options.pairs)


if __name__ == "__main__":
    main()
