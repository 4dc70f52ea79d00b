"""A large synthetic collection: peak memory and rate over the course of a run.

    python benchmarks/large.py [--tracks 20000] [--systems 10] [--scheduler processes] [--folder FOLDER]

Writes tracks x (systems + 1) lab files of about 80 chords each below the folder, unless they are there already.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

import mirflow
from mirflow.progress import Progress

ROOTS = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
QUALITIES = ("maj", "min", "7", "maj7", "min7", "sus4", "dim", "hdim7", "maj/3", "min/5")
SEGMENTS = 80
SHARES = 8


def write_tracks(folder: Path, tracks: int, systems: int) -> None:
    """Random chord sequences: the systems' boundaries and labels differ from the reference's now and then."""
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"{root}:{quality}" for root in ROOTS for quality in QUALITIES] + ["N"])
    sides = ["ref", *(f"est/s{number}" for number in range(systems))]
    for side in sides:
        (folder / side).mkdir(parents=True, exist_ok=True)
    for track in range(tracks):
        bounds = np.cumsum(rng.uniform(0.5, 4.5, SEGMENTS + 1))
        labels = rng.integers(len(vocabulary), size=SEGMENTS)
        for place, side in enumerate(sides):
            moved = np.sort(bounds + rng.normal(0, 0.1, len(bounds)) * (place > 0)) - bounds[0]
            moved[0] = 0.0
            changed = np.where(
                rng.random(SEGMENTS) < 0.3 * (place > 0), rng.integers(len(vocabulary), size=SEGMENTS), labels
            )
            rows = zip(moved[:-1], moved[1:], vocabulary[changed], strict=True)
            text = "".join(f"{start:.6f}\t{end:.6f}\t{label}\n" for start, end, label in rows)
            (folder / side / f"t{track:05d}.lab").write_text(text)


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


def main(folder: Path, tracks: int, systems: int, scheduler: str) -> None:
    """Write the files, run, print."""
    if not (folder / f"ref/t{tracks - 1:05d}.lab").exists():
        began = time.perf_counter()
        write_tracks(folder, tracks, systems)
        print(f"wrote {tracks * (systems + 1)} files in {time.perf_counter() - began:.0f} s")
    pipeline = folder / "large.yaml"
    pipeline.write_text(
        f"name: large\nstore: {folder}/large.zarr\nevaluations:\n  - task: chord\n"
        "    reference: ref/{track}.lab\n    estimates: est/{system}/{track}.lab\n"
    )
    clock = Clock()
    report = mirflow.run(pipeline, scheduler=scheduler, progress=clock, guarded=True, force=True)
    seconds = clock.notes[-1][0]
    print(f"{tracks} tracks x {systems} systems, {report.scheduler}: {report.seconds:.1f} s, scoring {seconds:.1f} s")
    edges = np.linspace(0, tracks, SHARES + 1)
    done = np.array([count for _, count in clock.notes])
    at = np.interp(edges, done, [moment for moment, _ in clock.notes])
    rates = np.diff(edges) / np.diff(at)
    print("tracks/s in each eighth of the run: " + " ".join(f"{rate:.0f}" for rate in rates))
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory: this process {own:.0f} MB, largest worker {clock.worker / 2**20:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tracks", type=int, default=20_000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--scheduler", default="processes")
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        main(arguments.folder or Path(scratch), arguments.tracks, arguments.systems, arguments.scheduler)
