"""Multiple F0 scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

Run it with the folder of real annotations: ``python benchmarks/multipitch.py DATA`` (or set MIRFLOW_DATA).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import warnings
from pathlib import Path

import mir_eval
import numpy as np
from race import race

from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

Side = tuple[np.ndarray, list[np.ndarray]]


def examples(data: Path) -> list[tuple[Side, Side]]:
    """mir_eval's own pairs."""
    load = mir_eval.io.load_ragged_time_series
    paths = sorted((data / "mir_eval-fixtures/multipitch").glob("ref*.txt"))
    return [(load(str(path)), load(str(path.with_name(path.name.replace("ref", "est"))))) for path in paths]


def to_ragged(side: list[Side]) -> Ragged:
    frames = [frame for _, row in side for frame in row]
    columns = {"time": np.concatenate([times for times, _ in side]), "frequency": np.concatenate(frames)}
    counts = (np.array([len(times) for times, _ in side]), np.array([len(frame) for frame in frames]))
    return Ragged(columns, counts, depths={"time": 1})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    warnings.simplefilter("ignore")
    pairs = examples(Path(data))
    convention, row = get_task("multipitch").convention(), np.arange(len(pairs))
    references, estimates = (to_ragged(list(side)) for side in zip(*pairs, strict=True))
    frames, pitches = len(references.columns["time"]), len(references.columns["frequency"])
    race(
        f"mir_eval's examples: {len(pairs)} pairs, {frames} frames, {pitches} pitches in the references",
        lambda: convention.score(Pairs(references, estimates, row, row), convention.select(), "reference").score,
        lambda: np.array([list(mir_eval.multipitch.evaluate(*one, *other).values()) for one, other in pairs]),
    )


if __name__ == "__main__":
    main()
