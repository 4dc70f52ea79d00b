"""CPU time and memory of questions to a large store: about one metric, all of them, with intervals, compared.

    python benchmarks/scale.py [--systems 20] [--tracks 5000] [--metrics 15] [--only NAME ...] [--beside PYTHON]
                               [--folder FOLDER]

The store is synthetic, written through the store's writer, and removed at the end. Each command is a process of its
own; its CPU seconds and peak memory are those that the operating system counted. `--beside` measures the mirflow of
another interpreter, such as that of another commit, on the same store and prints the ratios.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mirflow.metrics.base import get_task
from mirflow.metrics.measures import select
from mirflow.store import StoreWriter
from mirflow.store.cells import Cells, GroupContent, Status

_CELLS_AT_ONCE = 200_000
_MISSING = 0.01
"""Share of cells without an estimate."""


def write_store(path: Path, systems: int, tracks: int, metrics: int) -> None:
    """A store of random scores, written by as many runs as keep the memory bounded."""
    scalars = [metric for metric in get_task("chord").convention("mir_eval").metrics if not metric.dims]
    names_of_metrics = list(dict.fromkeys(["majmin", *(metric.name for metric in scalars)]))
    measures = select(names_of_metrics[:metrics], scalars)
    along = {
        "title": [measure.metric.title for measure in measures],
        "unit": ["%" for _ in measures],
        "orientation": [measure.metric.orientation for measure in measures],
        "aggregates": ["mean median wcsr" for _ in measures],
        "standard_aggregate": ["wcsr" for _ in measures],
    }
    attrs = {"task": "chord", "convention": "mir_eval", "grid": "union"}
    names = tuple(f"system {number:04d}" for number in range(systems))
    step = max(1, _CELLS_AT_ONCE // tracks)
    rng = np.random.default_rng(0)
    duration = rng.uniform(100, 300, tracks)
    for start in range(0, systems, step):
        own = names[start : start + step]
        cells = results(rng, own, duration, tuple(map(str, measures)))
        with StoreWriter(path) as writer:
            before = writer.contents().get("chord")
            stored = dict(before.stored) if before else {}
            content = GroupContent(
                "chord", names[: start + step], tracks_of(tracks), cells, along, {}, {}, attrs, stored
            )
            writer.publish([content], {"name": "scale"})
            writer.forget()


def tracks_of(number: int) -> tuple[str, ...]:
    """Names of tracks."""
    return tuple(f"track {index:06d}" for index in range(number))


def results(
    rng: np.random.Generator, systems: tuple[str, ...], duration: np.ndarray, measures: tuple[str, ...]
) -> Cells:
    """Random results of some systems, some of which lack estimates."""
    tracks, count = len(duration), len(systems) * len(duration)
    lacking = rng.random(count) < _MISSING
    score = rng.random((count, len(measures)))
    score[lacking] = np.nan
    return Cells(
        tuple(system for system in systems for _ in range(tracks)),
        tracks_of(tracks) * len(systems),
        measures,
        score,
        np.repeat(np.tile(duration, len(systems))[:, np.newaxis], len(measures), axis=1),
        np.where(lacking, Status.missing_estimate, Status.ok).astype(np.int8),
        np.zeros(count, dtype=np.int32),
        ("",) * count,
        ("",) * count,
        np.zeros(count, dtype=np.int64),
        np.tile(duration, len(systems)),
    )


class Cost(NamedTuple):
    """What a process took."""

    cpu: float
    wall: float
    peak: float
    """MB."""


def cost(command: list[str]) -> Cost:
    """Run a command, and ask the operating system what it took."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)}: {said.read().decode()}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024)


_TAKEN = ["one metric", "median", "all metrics", "intervals"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--tracks", type=int, default=5000)
    parser.add_argument("--metrics", type=int, default=15)
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"default: {', '.join(_TAKEN)}")
    parser.add_argument("--beside", metavar="PYTHON", help="another interpreter, with another mirflow")
    parser.add_argument("--folder", type=Path, help="where the store is made")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_store(options.write, options.systems, options.tracks, options.metrics)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        store = Path(folder, "scale.zarr")
        # The peak of a process counts the memory of the one that started it, so that this one stays small.
        subprocess.run([sys.executable, *sys.argv, "--write", str(store)], check=True)
        size = sum(file.stat().st_size for file in store.resolve().rglob("*") if file.is_file()) / 1e6
        print(f"{options.systems} systems x {options.tracks} tracks x {options.metrics} metrics, {size:.0f} MB on disk")
        print("                 CPU s   wall s  peak MB  above import")
        commands = commands_about(str(store))
        bare = cost([sys.executable, "-P", "-c", "import mirflow"]).peak
        for name in options.only or _TAKEN:
            run = ["-P", "-m", "mirflow", *commands[name]]  # not the mirflow of the current folder
            mine = cost([sys.executable, *run])
            line = f"{name:14s} {mine.cpu:7.2f} {mine.wall:8.2f} {mine.peak:8.0f} {mine.peak - bare:13.0f}"
            if options.beside:
                other = cost([options.beside, *run])
                line += f"   beside: {other.cpu:.2f} s, {other.peak:.0f} MB; "
                line += f"ratios {mine.cpu / other.cpu:.2f}, {mine.peak / other.peak:.2f}"
            print(line, flush=True)


def commands_about(store: str) -> dict[str, list[str]]:
    """Commands about a store, by name."""
    one = ["query", store, "-m", "majmin"]
    return {
        "one metric": one,
        "median": [*one, "--aggregate", "median"],
        "skip": [*one, "--missing", "skip"],
        "all metrics": ["query", store],
        "intervals": [*one, "--ci"],
        "significance": [*one, "--significance"],
        "compare": ["compare", store, "-m", "majmin"],
        "report": ["report", store, "-o", f"{store}.html"],
    }


if __name__ == "__main__":
    main()
