"""A large synthetic collection: peak memory and rate over the course of a run, and the cost of a killed run.

    python benchmarks/large.py [--tracks 20000] [--systems 10] [--tasks chord] [--scheduler processes] [--kill]
                               [--folder FOLDER]

Writes tracks x (systems + 1) files of each task below the folder, unless they are there already. With --kill the run
is killed (SIGKILL) once a third of it is in the journal, and run again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

import mirflow
from mirflow.progress import Progress

ROOTS = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
QUALITIES = ("maj", "min", "7", "maj7", "min7", "sus4", "dim", "hdim7", "maj/3", "min/5")
CHORDS = np.array([f"{root}:{quality}" for root in ROOTS for quality in QUALITIES] + ["N"])
SECTIONS = np.array(["intro", "verse", "chorus", "bridge", "solo", "outro"])
SHARES = 8

Writer = Callable[[np.random.Generator, int], list[str]]


def labelled(rng: np.random.Generator, sides: int, count: int, longest: float, vocabulary: np.ndarray) -> list[str]:
    """A reference and estimates that move its boundaries and change its labels now and then."""
    bounds = np.cumsum(rng.uniform(longest / 10, longest, count + 1))
    labels = rng.integers(len(vocabulary), size=count)
    texts = []
    for side in range(sides):
        moved = np.sort(bounds + rng.normal(0, 0.1, len(bounds)) * (side > 0)) - bounds[0]
        moved[0] = 0.0
        other = rng.integers(len(vocabulary), size=count)
        changed = np.where(rng.random(count) < 0.3 * (side > 0), other, labels)
        rows = zip(moved[:-1], moved[1:], vocabulary[changed], strict=True)
        texts.append("".join(f"{start:.6f}\t{end:.6f}\t{label}\n" for start, end, label in rows))
    return texts


def chords(rng: np.random.Generator, sides: int) -> list[str]:
    """Chords of one track."""
    return labelled(rng, sides, 80, 4.5, CHORDS)


def segments(rng: np.random.Generator, sides: int) -> list[str]:
    """Sections of one track."""
    return labelled(rng, sides, 12, 30.0, SECTIONS)


def beats(rng: np.random.Generator, sides: int) -> list[str]:
    """Beats of one track."""
    times = 0.3 + np.cumsum(np.full(400, rng.uniform(0.35, 0.7)))
    return [
        "".join(f"{time:.6f}\n" for time in np.sort(times + rng.normal(0, 0.03, len(times)) * (side > 0)))
        for side in range(sides)
    ]


WRITERS: dict[str, Writer] = {"chord": chords, "segment": segments, "beat": beats}


def write_tracks(folder: Path, task: str, tracks: int, systems: int) -> None:
    """The files of one task."""
    rng = np.random.default_rng(0)
    sides = [folder / task / "ref", *(folder / task / "est" / f"s{number}" for number in range(systems))]
    for side in sides:
        side.mkdir(parents=True, exist_ok=True)
    for track in range(tracks):
        for side, text in zip(sides, WRITERS[task](rng, len(sides)), strict=True):
            (side / f"t{track:05d}.lab").write_text(text)


class Clock(Progress):
    """Notes when each block came back, and the largest worker so far."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[float, int]] = []
        self.worker = 0

    def show(self, seconds: float) -> None:
        """Note the state after so many seconds."""
        self.notes.append((seconds, self.done))
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                self.worker = max(self.worker, child.memory_info().rss)


def write_pipeline(folder: Path, tasks: list[str]) -> Path:
    """One evaluation a task."""
    pipeline = folder / "large.yaml"
    evaluations = "".join(
        f"  - task: {task}\n"
        f"    reference: {task}/ref/{{track}}.lab\n"
        f"    estimates: {task}/est/{{system}}/{{track}}.lab\n"
        for task in tasks
    )
    pipeline.write_text(f"name: large\nstore: {folder}/large.zarr\nevaluations:\n{evaluations}")
    return pipeline


def kill_once(pipeline: Path, scheduler: str, blocks: int) -> None:
    """Start a run, and kill it and its workers once some blocks are in the journal."""
    command = [sys.executable, "-m", "mirflow", "run", str(pipeline), "--force", "-q", "--scheduler", scheduler]
    process = subprocess.Popen(command, start_new_session=True)
    journal = pipeline.parent / ".large.zarr.d"
    while process.poll() is None and len(list(journal.glob("journal-*/*.cells"))) < blocks:
        time.sleep(0.02)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    print(f"killed with {len(list(journal.glob('journal-*/*.cells')))} blocks in the journal")


def main(folder: Path, tracks: int, systems: int, tasks: list[str], scheduler: str, kill: bool) -> None:
    """Write the files, run, print."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        if not (folder / task / f"ref/t{tracks - 1:05d}.lab").exists():
            began = time.perf_counter()
            write_tracks(folder, task, tracks, systems)
            print(f"wrote {tracks * (systems + 1)} files of {task} in {time.perf_counter() - began:.0f} s")
    pipeline = write_pipeline(folder, tasks)
    if kill:
        kill_once(pipeline, scheduler, tracks * len(tasks) // 64 // 3)
    clock = Clock()
    report = mirflow.run(pipeline, scheduler=scheduler, progress=clock, guarded=True, force=not kill)
    for evaluation in report.evaluations:
        print(
            f"{evaluation.plan.name}: "
            + ", ".join(f"{count} {name}" for name, count in evaluation.counts.items() if count)
        )
    print(
        f"{tracks} tracks x {systems} systems, {report.scheduler}: {report.seconds:.1f} s, "
        f"scoring {clock.notes[-1][0]:.1f} s"
    )
    edges = np.linspace(0, clock.total, SHARES + 1)
    done = np.array([0, *(count for _, count in clock.notes)])
    at = np.interp(edges, done, [0.0, *(moment for moment, _ in clock.notes)])
    print("tracks/s in each eighth of the run: " + " ".join(f"{rate:.0f}" for rate in np.diff(edges) / np.diff(at)))
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory: this process {own:.0f} MB, largest worker {clock.worker / 2**20:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tracks", type=int, default=20_000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--tasks", nargs="+", default=["chord"], choices=sorted(WRITERS))
    parser.add_argument("--scheduler", default="processes")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        main(
            arguments.folder or Path(scratch),
            arguments.tracks,
            arguments.systems,
            arguments.tasks,
            arguments.scheduler,
            arguments.kill,
        )
