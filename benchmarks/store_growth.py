"""The cost of one more system in stores of none, some and many others: time, memory, bytes written and read.

    python benchmarks/store_growth.py [--systems 0 10 100] [--tracks 20000] [--metrics 15] [--folder FOLDER]

Each line is a process of its own that does what a run does around its computing: it finds the stale cells by the stamps
of the store, publishes the new results and counts the outcomes. The plan and the new results are made before the clock
starts. Bytes are those that the process passed to the file system, whether or not a disk took them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from mirflow.engine import runs
from mirflow.metrics.base import get_task
from mirflow.metrics.measures import select
from mirflow.pipeline.plan import EvaluationPlan, fingerprint
from mirflow.store import StoreWriter
from mirflow.store.cells import Cells, Status


def plan_of(systems: int, tracks: int, metrics: int) -> EvaluationPlan:
    """A plan of systems whose files do not change, as far as a run looks at it after its computing."""
    scalars = [metric for metric in get_task("chord").convention("mir_eval").metrics if not metric.dims]
    measures = select([metric.name for metric in scalars[:metrics]], scalars)
    return EvaluationPlan(
        name="chord",
        task="chord",
        convention="mir_eval",
        systems=tuple(f"system {number:04d}" for number in range(systems)),
        tracks=tuple(f"track {number:06d}" for number in range(tracks)),
        references=((),) * tracks,
        estimates=((None,) * tracks,) * systems,
        grid="union",
        measures=measures,
        combine="",
        track_meta={},
        system_meta={},
        stamps=np.arange(1, 1 + systems * tracks, dtype=np.int64).reshape(systems, tracks),
        signatures={str(measure): fingerprint(str(measure)) for measure in measures},
    )


def results(plan: EvaluationPlan, first: int) -> Cells:
    """Results of all tracks of the systems from `first` on."""
    rng, tracks = np.random.default_rng(first), len(plan.tracks)
    systems = plan.systems[first:]
    count = len(systems) * tracks
    score = rng.random((count, len(plan.measures)))
    return Cells(
        tuple(system for system in systems for _ in range(tracks)),
        plan.tracks * len(systems),
        tuple(map(str, plan.measures)),
        score,
        np.repeat(rng.uniform(100, 300, (count, 1)), len(plan.measures), axis=1),
        np.full(count, Status.ok, dtype=np.int8),
        np.zeros(count, dtype=np.int32),
        ("",) * count,
        tuple(f"{number:032x}:{number:032x}" for number in range(first * tracks, first * tracks + count)),
        plan.stamps[first:].ravel(),
        np.full(count, 240.0),
    )


def add(path: Path, systems: int, tracks: int, metrics: int, new: int = 1) -> dict[str, Any]:
    """Publish the last `new` of some systems, all others being in the store."""
    plan = plan_of(systems, tracks, metrics)
    cells = results(plan, systems - new)
    planned: Any = SimpleNamespace(text="", root="", pipeline=SimpleNamespace(name="growth"))
    memory, began, used, io = peak(), time.perf_counter(), time.process_time(), transferred()
    with StoreWriter(path) as writer:
        before = writer.contents()
        job = runs.start_job(plan, before.get("chord"), writer.journal)
        assert len(job.stale) == new * tracks
        job.done.append(cells)
        runs.publish_jobs([job], before, writer, planned)
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    read, written = (now - before for now, before in zip(transferred(), io, strict=True))
    return {"s": seconds, "cpu": cpu, "above": peak() - memory, "peak": peak(), "read": read, "written": written}


def peak() -> float:
    """Most memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def transferred() -> tuple[float, float]:
    """MB that this process has read from files and written to files."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"]) / 1e6, int(counts["wchar"]) / 1e6


def measured(*arguments: Any) -> dict[str, Any]:
    """The figures of a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--add", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, nargs="+", default=[0, 10, 100])
    parser.add_argument("--tracks", type=int, default=20_000)
    parser.add_argument("--metrics", type=int, default=15)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--add", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.add:
        path, *numbers = options.add
        print(json.dumps(add(Path(path), *map(int, numbers))))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        alone = 0.0
        print("systems   wall s    CPU s    ratio   peak MB   (above)   read MB   written MB")
        for systems in options.systems:
            path, size = Path(folder, f"{systems}.zarr"), (options.tracks, options.metrics)
            for have in range(min(10, systems), systems + 1, 10):
                measured(path, have, *size, min(10, have)) if have else None
            one = measured(path, systems + 1, *size, 1)
            alone = alone or one["cpu"]
            print(
                f"{systems:7d} {one['s']:8.2f} {one['cpu']:8.2f} {one['cpu'] / alone:8.2f} {one['peak']:9.0f} "
                f"{one['above']:9.0f} {one['read']:9.1f} {one['written']:12.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
