"""Onset scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

There is no large collection of onsets at hand, so beats and downbeats of the Harmonix set are used instead, beside
mir_eval's own examples. Run it with the folder of real annotations: ``python benchmarks/onset.py DATA`` (or set
MIRFLOW_DATA).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
from pathlib import Path

import mir_eval
import numpy as np
from race import race

from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

Pair = tuple[np.ndarray, np.ndarray]


def read_times(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The times of a file, and those in the first position of the bar, if it has positions."""
    rows = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    first = [float(row[0]) for row in rows if len(row) > 1 and row[1] == "1"]
    return np.array([float(row[0]) for row in rows]), np.array(first)


def harmonix(data: Path, kind: str) -> list[Pair]:
    """Every system of every track, against the beats or the downbeats."""
    folder = data / "harmonix"
    pairs = []
    for path in sorted((folder / "estimates" / kind).glob("*/*.txt")):
        beats, downbeats = read_times(folder / "reference/beats_and_downbeats" / path.name)
        pairs.append((beats if kind == "beats" else downbeats, read_times(path)[0]))
    return pairs


def examples(data: Path) -> list[Pair]:
    paths = sorted((data / "mir_eval-fixtures/onset").glob("ref*.txt"))
    return [(read_times(path)[0], read_times(path.with_name(path.name.replace("ref", "est")))[0]) for path in paths]


def to_ragged(side: list[np.ndarray]) -> Ragged:
    return Ragged({"time": np.concatenate(side)}, (np.array([len(times) for times in side], dtype=np.int64),))


def compare(title: str, pairs: list[Pair]) -> None:
    """All three metrics of all pairs."""
    convention, row = get_task("onset").convention(), np.arange(len(pairs))
    measures = convention.select()
    references, estimates = (to_ragged(list(side)) for side in zip(*pairs, strict=True))
    events = len(references.columns["time"]) + len(estimates.columns["time"])
    race(
        f"{title}: {len(pairs)} pairs, {events} events",
        lambda: convention.score(Pairs(references, estimates, row, row), measures, "union").score,
        lambda: np.array([list(mir_eval.onset.evaluate(*pair).values()) for pair in pairs]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    beats, downbeats, own = harmonix(Path(data), "beats"), harmonix(Path(data), "downbeats"), examples(Path(data))
    compare("beats as onsets", beats)
    compare("downbeats as onsets", downbeats)
    compare("mir_eval's examples", own)
    compare("all of them", beats + downbeats + own)


if __name__ == "__main__":
    main()
