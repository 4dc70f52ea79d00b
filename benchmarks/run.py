"""Whole runs beside a plain mir_eval script: from files in one process, and as commands from start to end.

    python benchmarks/run.py DATA       # the folder of real annotations; default: $MIRFLOW_DATA

The numbers are compared first. Times are of warm files; everything runs on one thread.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mirflow
from mirflow.engine.block import score_block, works_of
from mirflow.engine.runs import plan
from mirflow.pipeline.plan import EvaluationPlan, Stale
from mirflow.store.cells import concatenate_cells

REPEATS = 5


def timed(call: Callable[[], object], repeats: int) -> float:
    """The median of some runs, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def write_pipeline(folder: Path, data: Path) -> Path:
    """A pipeline with one evaluation of all nine systems."""
    path = folder / "one.yaml"
    path.write_text(
        f"name: one\nroot: {data}\nstore: {folder}/one.zarr\nevaluations:\n  - task: chord\n"
        "    reference: reference/{track}.lab\n    estimates: estimates/{system}/{track}.lab\n"
    )
    return path


def largest_difference(scores: Path, store: Path) -> float:
    """Between the csv of the plain script and the store."""
    ds = mirflow.open_store(store)["chord"].to_dataset().load()
    worst = 0.0
    with scores.open() as file:
        for row in csv.DictReader(file):
            ours = ds.score.sel(system=row["system"], track=row["track"])
            theirs = [float(row[name]) for name in ds.metric.values.tolist()]
            worst = max(worst, float(np.abs(ours.values - theirs).max()))
    return worst


def read_everything(one: EvaluationPlan) -> None:
    """Read each file of a plan once."""
    for references in one.references:
        for reference in references:
            reference.source.read()
    for estimates in one.estimates:
        for estimate in estimates:
            if estimate is not None:
                estimate.read()


def main(data: Path) -> None:
    """Compare, time, print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pipeline = write_pipeline(folder, data)
        plain = [sys.executable, str(Path(__file__).with_name("plain_mir_eval.py")), str(data), f"{folder}/plain.csv"]
        ours = [sys.executable, "-m", "mirflow", "run", str(pipeline), "--force", "-q"]
        began = time.perf_counter()
        subprocess.run(plain, check=True)
        seconds_plain = time.perf_counter() - began
        seconds_run = timed(lambda: subprocess.run(ours, check=True), REPEATS)
        seconds_import = timed(lambda: subprocess.run([*plain[:1], "-c", "import mir_eval"], check=True), REPEATS)
        print("largest difference of any score of any pair: ", end="")
        print(f"{largest_difference(folder / 'plain.csv', folder / 'one.zarr'):.1e}")

        (one,) = plan(pipeline).plans
        works = works_of(one, Stale(np.ones(one.shape, dtype=np.bool_)))
        seconds_blocks = timed(lambda: concatenate_cells(map(score_block, works)), REPEATS)
        seconds_read = timed(lambda: read_everything(one), REPEATS)
        seconds_files = seconds_plain - seconds_import
        print(f"from files, one process: mir_eval {seconds_files:.2f} s, mirflow {seconds_blocks:.3f} s: ", end="")
        print(f"{seconds_files / seconds_blocks:.0f} times; of it reading {seconds_read:.3f} s")
        print(f"whole command: script {seconds_plain:.2f} s, mirflow run {seconds_run:.2f} s: ", end="")
        print(f"{seconds_plain / seconds_run:.1f} times; {seconds_run / seconds_read:.1f} times only reading the files")
        show_start()


def show_start() -> None:
    """Print the fixed costs of a run."""
    lines = {
        "python": "pass",
        "the command's help": "from mirflow.cli import cli",
        "planning and scoring": "import mirflow.engine.runs, mirflow.metrics.chord",
        "and the store": "import mirflow.engine.runs, mirflow.metrics.chord, zarr",
        "and xarray": "import mirflow.engine.runs, mirflow.metrics.chord, zarr, xarray",
    }
    for what, code in lines.items():
        seconds = timed(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True), REPEATS)
        print(f"  start: imports of {what}: {seconds:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=os.environ.get("MIRFLOW_DATA"), help="folder of real annotations")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("name the folder of real annotations, or set MIRFLOW_DATA")
    main(Path(arguments.data).resolve() / "mirex2013-ace")
