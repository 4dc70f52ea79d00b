"""Whole runs beside a plain mir_eval script: from files in one process, and as commands from start to end.

    python benchmarks/run.py DATA       # the folder of real annotations; default: $MIRFLOW_DATA
    python benchmarks/run.py --large 2000   # so many tracks of ten made-up systems instead, without mir_eval

The numbers are compared first. Times are CPU seconds, of warm files; everything runs on one thread.
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

import large
import numpy as np

import mirflow
from mirflow.engine.runs import plan
from mirflow.engine.schedule import block_graph
from mirflow.pipeline.plan import EvaluationPlan
from mirflow.store.cells import concatenate_cells

REPEATS = 5


def seconds() -> float:
    """CPU time of this process and of those that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def timed(call: Callable[[], object], repeats: int) -> float:
    """The median of some runs, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        began = seconds()
        call()
        times.append(seconds() - began)
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


def files_of(one: EvaluationPlan) -> list[str]:
    """The files of a plan."""
    estimates = [estimate for system in one.estimates for estimate in system if estimate is not None]
    references = [reference.source for track in one.references for reference in track]
    return list(dict.fromkeys(path for source in (*references, *estimates) for path in source.paths))


def read_bytes(paths: list[str]) -> None:
    """Read each file once."""
    for path in paths:
        Path(path).read_bytes()


def read_everything(one: EvaluationPlan) -> None:
    """Read and parse each file of a plan once, one by one."""
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
        began = seconds()
        subprocess.run(plain, check=True)
        seconds_plain = seconds() - began
        seconds_run = timed(lambda: subprocess.run(ours, check=True), REPEATS)
        seconds_import = timed(lambda: subprocess.run([*plain[:1], "-c", "import mir_eval"], check=True), REPEATS)
        print("largest difference of any score of any pair: ", end="")
        print(f"{largest_difference(folder / 'plain.csv', folder / 'one.zarr'):.1e}")

        (one,) = plan(pipeline).plans
        graph = block_graph(one, np.ones(one.shape, dtype=np.bool_), "")
        seconds_blocks = timed(lambda: concatenate_cells(task() for (task,) in graph.values()), REPEATS)
        seconds_files = seconds_plain - seconds_import
        print(f"from files, one process: mir_eval {seconds_files:.2f} s, mirflow {seconds_blocks:.3f} s: ", end="")
        print(f"{seconds_files / seconds_blocks:.0f} times")
        print(f"whole command: script {seconds_plain:.2f} s, mirflow run {seconds_run:.2f} s: ", end="")
        print(f"{seconds_plain / seconds_run:.1f} times")
        show_reading(one, seconds_run)
        show_start()


def show_reading(one: EvaluationPlan, seconds_run: float) -> None:
    """Print how long a run takes, beside only reading its files."""
    paths = files_of(one)
    parsed, read = timed(lambda: read_everything(one), REPEATS), timed(lambda: read_bytes(paths), REPEATS)
    print(
        f"{len(paths)} files: the run takes {seconds_run / parsed:.1f} times reading one by one ({parsed:.3f} s), ",
        end="",
    )
    print(f"{seconds_run / read:.1f} times only the bytes ({read:.3f} s)")


def main_large(tracks: int) -> None:
    """Run over many made-up files."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        large.write_tracks(Path(name), "chord", tracks, 10)
        pipeline = large.write_pipeline(Path(name), ["chord"])
        command = [sys.executable, "-m", "mirflow", "run", str(pipeline), "--force", "-q", "--scheduler"]
        (one,) = plan(pipeline).plans
        for scheduler in ("serial", "processes", "auto"):
            began = time.perf_counter()
            spent = timed(lambda how=scheduler: subprocess.run([*command, how], check=True), 2)
            print(
                f"{scheduler}: {spent:.2f} s of CPU time, {(time.perf_counter() - began) / 3:.2f} s from start to end"
            )
            if scheduler == "serial":
                show_reading(one, spent)


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
        spent = timed(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True), REPEATS)
        print(f"  start: imports of {what}: {spent:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, metavar="TRACKS", help="made-up files of so many tracks")
    parser.add_argument("data", nargs="?", default=os.environ.get("MIRFLOW_DATA"), help="folder of real annotations")
    arguments = parser.parse_args()
    if arguments.large:
        main_large(arguments.large)
        sys.exit()
    if arguments.data is None:
        parser.error("name the folder of real annotations, or set MIRFLOW_DATA")
    main(Path(arguments.data).resolve() / "mirex2013-ace")
