"""Beat scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

Run it with the folder of real annotations: ``python benchmarks/beat.py DATA`` (or set MIRFLOW_DATA).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import mir_eval
import numpy as np
from race import best_of

from mirflow.engine.block import Works, score_block
from mirflow.engine.runs import plan
from mirflow.metrics.base import Pairs, get_task
from mirflow.pipeline.plan import Stale
from mirflow.ragged import Ragged

SYSTEMS = ("Bock_1", "Ellis", "Krebs")
GivenPairs = tuple[list[np.ndarray], list[np.ndarray], np.ndarray, np.ndarray]
"""References, estimates, and the row of each that a pair consists of."""

PIPELINE = """\
name: harmonix
root: {root}
store: {folder}/harmonix.zarr
evaluations:
  - task: beat
    reference: reference/beats_and_downbeats/{{track}}.txt
    estimates: estimates/beats/{{system}}/{{track}}.txt
"""


def read_times(path: Path) -> np.ndarray:
    rows = [line.split(None, 1) for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return np.array([float(row[0]) for row in rows])


def load_pairs(data: Path) -> GivenPairs:
    """The Harmonix set (250 tracks x 3 systems) and mir_eval's own examples."""
    folder = data / "harmonix"
    references, estimates, pairs = [], [], []
    tracks = sorted((folder / "reference/beats_and_downbeats").glob("*.txt"))
    references += [read_times(path) for path in tracks]
    for system in SYSTEMS:
        for row, path in enumerate(tracks):
            pairs.append((row, len(estimates)))
            estimates.append(read_times(folder / "estimates/beats" / system / path.name))
    for path in sorted((data / "mir_eval-fixtures/beat").glob("ref*.txt")):
        pairs.append((len(references), len(estimates)))
        references.append(read_times(path))
        estimates.append(read_times(path.with_name(path.name.replace("ref", "est"))))
    reference_row, estimate_row = np.array(pairs, dtype=np.int64).T
    return references, estimates, reference_row, estimate_row


def to_ragged(side: list[np.ndarray]) -> Ragged:
    return Ragged({"time": np.concatenate(side)}, (np.array([len(times) for times in side], dtype=np.int64),))


def run_mir_eval(pairs: GivenPairs) -> np.ndarray:
    references, estimates, reference_row, estimate_row = pairs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(
            [
                list(mir_eval.beat.evaluate(references[one], estimates[other]).values())
                for one, other in zip(reference_row.tolist(), estimate_row.tolist(), strict=True)
            ]
        )


def compare_arrays(pairs: GivenPairs) -> None:
    """Arrays in memory to scores: the ratio, and the time of each metric on its own."""
    references, estimates = to_ragged(pairs[0]), to_ragged(pairs[1])
    convention = get_task("beat").convention()
    measures = convention.select()

    def ours(chosen: object = measures) -> np.ndarray:
        return convention.score(Pairs(references, estimates, *pairs[2:]), chosen, "union").score

    found = ours()
    start = time.perf_counter()
    theirs = run_mir_eval(pairs)
    slow = time.perf_counter() - start
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-9)
    fast = best_of(10, ours)
    print(f"arrays in memory, {len(pairs[2])} pairs, {len(measures)} metrics")
    print(f"  largest difference {np.abs(found - theirs).max():.1e}")
    print(f"  mir_eval {slow:.2f} s, mirflow {fast * 1e3:.1f} ms: {slow / fast:.0f} times")
    print("  metrics on their own:")
    for measure in measures:
        seconds = best_of(5, lambda measure=measure: ours([measure]))
        print(f"    {measure.metric.name:<20}{seconds * 1e3:7.1f} ms")


def compare_files(data: Path) -> None:
    """Files to scores: the readers, the block function and the kernel against mir_eval's loader and functions."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.yaml"
        path.write_text(PIPELINE.format(root=data / "harmonix", folder=folder))
        (one,) = plan(path).plans
        works = Works(one, Stale(np.ones(one.shape, dtype=np.bool_)))

        def ours() -> list[np.ndarray]:
            return [score_block(work).score for work in works]

        ours()
        fast = best_of(5, ours)
    cells = int(np.prod(one.shape))
    tracks = sorted((data / "harmonix/reference/beats_and_downbeats").glob("*.txt"))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in tracks:
            reference = np.array(mir_eval.io.load_delimited(str(path), [float, int, int])[0])
            for system in SYSTEMS:
                estimate = mir_eval.io.load_events(str(data / "harmonix/estimates/beats" / system / path.name))
                mir_eval.beat.evaluate(reference, estimate)
    slow = time.perf_counter() - start
    print(f"files to scores, {cells} pairs, one process")
    print(f"  mir_eval {slow:.2f} s, mirflow {fast * 1e3:.1f} ms: {slow / fast:.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    data = Path(data).resolve()
    compare_arrays(load_pairs(data))
    compare_files(data)


if __name__ == "__main__":
    main()
