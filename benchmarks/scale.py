"""CPU time and memory of questions to a large store: about one metric, all of them, with intervals, compared.

    python benchmarks/scale.py [--systems 20] [--tracks 5000] [--metrics 15] [--parts 1] [--only NAME ...]
                               [--beside PYTHON] [--folder FOLDER] [--store STORE]

The store is synthetic, written through the store's writer, and removed at the end; `--store` keeps it at a path, where
it is measured again if it is there. With `--parts` so many processes
write it, each the systems of its part; the first one is killed in the middle and started again. Each command is a
process of its own; its CPU seconds and peak memory are those that the operating system counted. `--beside` measures the
mirflow of another interpreter, such as that of another commit, on the same store and prints the ratios.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mirflow.metrics.base import get_task
from mirflow.metrics.measures import select
from mirflow.store import StoreWriter
from mirflow.store.cells import Cells, GroupContent, Status
from mirflow.store.read import open_groups

_CELLS_AT_ONCE = 1_000_000
_MISSING = 0.01
"""Share of cells without an estimate."""
_PATIENCE = 600.0
"""Seconds that a process waits for others that write."""


def write_systems(path: Path, systems: Sequence[int], tracks: int, metrics: int, missing: float) -> None:
    """Add systems with random scores to a store, by as many runs as keep the memory bounded; those there stay."""
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
    step = max(1, _CELLS_AT_ONCE // tracks)
    for start in range(0, len(systems), step):
        parts = {name_of(number): number for number in systems[start : start + step]}
        there = systems_of(path) if path.is_symlink() else []
        parts = {name: number for name, number in parts.items() if name not in there}
        if not parts:
            continue
        cells = results(parts, tracks, tuple(map(str, measures)), missing)
        with StoreWriter(path, _PATIENCE) as writer:
            before = writer.contents().get("chord")
            stored = dict(before.stored) if before else {}
            names = tuple(sorted({*parts, *(before.systems if before else ())}))
            content = GroupContent("chord", names, tracks_of(tracks), cells, along, {}, {}, attrs, stored)
            writer.publish([content], {"name": "scale"})
            writer.forget()


def name_of(number: int) -> str:
    """The name of a system."""
    return f"system {number:04d}"


def tracks_of(number: int) -> tuple[str, ...]:
    """Names of tracks."""
    return tuple(f"track {index:06d}" for index in range(number))


def results(systems: dict[str, int], tracks: int, measures: tuple[str, ...], missing: float) -> Cells:
    """Random results of some systems, some of which lack estimates; those of a system are always the same."""
    duration = np.random.default_rng(0).uniform(100, 300, tracks)
    difficulty = np.random.default_rng(1).uniform(0, 0.6, (tracks, 1))
    count = len(systems) * tracks
    score, lacking = np.empty((len(systems), tracks, len(measures))), np.empty((len(systems), tracks), dtype=bool)
    for row, number in enumerate(systems.values()):
        rng = np.random.default_rng([2, number])
        # A hard track is hard for all systems, and some systems are a little better than others.
        score[row] = np.clip(1 - difficulty + rng.normal(rng.normal(0, 0.005), 0.15, score[row].shape), 0, 1)
        lacking[row] = rng.random(tracks) < missing
    score[lacking] = np.nan
    lacking = lacking.ravel()
    return Cells(
        tuple(system for system in systems for _ in range(tracks)),
        tracks_of(tracks) * len(systems),
        measures,
        score.reshape(count, -1),
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


_TAKEN = ["one metric", "median", "all metrics", "intervals", "gate"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--tracks", type=int, default=5000)
    parser.add_argument("--metrics", type=int, default=15)
    parser.add_argument("--missing", type=float, default=_MISSING, help="share of cells without an estimate")
    parser.add_argument("--parts", type=int, default=1, help="processes that write the store")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"default: {', '.join(_TAKEN)}")
    parser.add_argument("--beside", metavar="PYTHON", help="another interpreter, with another mirflow")
    parser.add_argument("--folder", type=Path, help="where the store is made")
    parser.add_argument("--store", type=Path, help="where it is kept, or was")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        numbers = range(options.first, options.systems, options.parts)
        write_systems(options.write, numbers, options.tracks, options.metrics, options.missing)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        measure(options, options.store or Path(folder, "scale.zarr"), Path(folder))


def measure(options: argparse.Namespace, store: Path, folder: Path) -> None:
    """Write a store, and print what questions to it cost."""
    began, there = time.perf_counter(), store.is_symlink()
    if not there:
        write_in_parts(options.parts, store)
    size = sum(file.stat().st_size for file in store.resolve().rglob("*") if file.is_file()) / 1e6
    print(f"{options.systems} systems x {options.tracks} tracks x {options.metrics} metrics, {size:.0f} MB on disk")
    if not there:
        print(f"written by {options.parts} processes in {time.perf_counter() - began:.0f} s", flush=True)
    if options.parts > 1:
        print_addition(options, store, folder)
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


def writing(store: Path, *more: str) -> list[str]:
    """The command that writes systems; the peak of a process counts the memory of the one that started it."""
    return [sys.executable, *sys.argv, "--write", str(store), *more]


def write_in_parts(parts: int, store: Path) -> None:
    """Write a store by processes, of which the first is killed when it has begun, and started again."""
    processes = [subprocess.Popen(writing(store, "--first", str(part))) for part in range(parts)]
    if parts > 1:
        while processes[0].poll() is None and not (store.is_symlink() and len(systems_of(store)) > parts):
            time.sleep(0.1)
        time.sleep(1)
        processes[0].send_signal(signal.SIGKILL)
        print(f"process 1 of {parts} ended with {processes[0].wait()}; {len(systems_of(store))} systems are there")
        processes[0] = subprocess.Popen(writing(store, "--first", "0"))
    for process in processes:
        if process.wait():
            sys.exit(f"{process.args}: exit code {process.returncode}")


def systems_of(store: Path) -> list[str]:
    """Names of the systems that a store has now."""
    return list(open_groups(store)["chord"].systems)


def print_addition(options: argparse.Namespace, store: Path, folder: Path) -> None:
    """Compare adding a system to the store with adding it to none."""
    alone, added = [], []
    for number in range(len(systems_of(store)), len(systems_of(store)) + 3):
        one = ("--parts", "1", "--first", str(number), "--systems", str(number + 1))
        alone.append(cost(writing(folder / f"alone {number}.zarr", *one)))
        added.append(cost(writing(store, *one)))
    median = [sorted(each, key=lambda one: one.cpu)[1] for each in (alone, added)]
    print(f"one system alone: {median[0].cpu:.2f} s CPU, {median[0].wall:.2f} s wall, {median[0].peak:.0f} MB")
    print(f"added to all: {median[1].cpu:.2f} s CPU, {median[1].wall:.2f} s wall, {median[1].peak:.0f} MB; ", end="")
    print(f"ratios {median[1].cpu / median[0].cpu:.2f}, {median[1].wall / median[0].wall:.2f}")


def commands_about(store: str) -> dict[str, list[str]]:
    """Commands about a store, by name."""
    one = ["query", store, "-m", "majmin"]
    compare = ["compare", store, "-m", "majmin"]
    return {
        "one metric": one,
        "median": [*one, "--aggregate", "median"],
        "skip": [*one, "--missing", "skip"],
        "all metrics": ["query", store],
        "intervals": [*one, "--ci"],
        "skip intervals": [*one, "--missing", "skip", "--ci"],
        "bootstrap": [*one, "--ci", "--method", "bca"],
        "significance": [*one, "--significance"],
        "compare": compare,
        "all pairs": [*compare, "--all-pairs"],
        "gate": [*compare, "--baseline", name_of(0)],
        "bootstrap gate": [*compare, "--baseline", name_of(0), "--method", "bca"],
        "report": ["report", store, "-o", f"{store}.html"],
    }


if __name__ == "__main__":
    main()
