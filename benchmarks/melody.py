"""Melody scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

There is one system for the 20 tracks of ADC 2004, so a larger collection is made of it: the same estimate out of tune
by a few cents, as if of ten systems, against the same 20 references. Run it with the folder of real annotations:
``python benchmarks/melody.py DATA`` (or set MIRFLOW_DATA).
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
from mirflow.metrics.melody.mir_eval import KINDS
from mirflow.ragged import Ragged

Pair = tuple[np.ndarray, np.ndarray]
"""Times and frequencies of the reference and of the estimate: float64 (n, 2) each."""


def adc2004(data: Path) -> list[Pair]:
    folder = data / "adc2004-melody"
    return [
        (np.loadtxt(path), np.loadtxt(folder / "estimates/SG2" / path.name))
        for path in sorted((folder / "reference").glob("*.txt"))
    ]


def examples(data: Path) -> list[Pair]:
    paths = sorted((data / "mir_eval-fixtures/melody").glob("ref*.txt"))
    return [(np.loadtxt(path), np.loadtxt(path.with_name(path.name.replace("ref", "est")))) for path in paths]


def out_of_tune(pairs: list[Pair], systems: int) -> list[Pair]:
    """Every estimate again and again, each time a few cents higher; the references are the same objects."""
    return [
        (reference, estimate * [1.0, 2.0 ** (5 * number / 1200)])
        for number in range(systems)
        for reference, estimate in pairs
    ]


def to_rows(side: list[np.ndarray]) -> tuple[Ragged, np.ndarray]:
    """Each array once, and the row of each pair."""
    once = {id(one): one for one in side}
    place = {identity: number for number, identity in enumerate(once)}
    return to_ragged(list(once.values())), np.array([place[id(one)] for one in side])


def to_ragged(side: list[np.ndarray]) -> Ragged:
    every = np.concatenate(side)
    columns = {"time": every[:, 0].copy(), "frequency": every[:, 1].copy()}
    return Ragged(columns, (np.array([len(one) for one in side], dtype=np.int64),))


def compare(title: str, pairs: list[Pair], kind: str = "linear", hop: float | None = None) -> None:
    """All five metrics of all pairs."""
    convention = get_task("melody").convention()
    resampling = KINDS[kind]
    pitched = (f"{name}(resampling={resampling})" for name in ("raw_pitch_accuracy", "raw_chroma_accuracy", "OA"))
    measures = convention.select([f"{name}@{resampling}" for name in ("voicing_recall", "VFA")] + list(pitched))
    (references, reference_row), (estimates, row) = (to_rows(list(side)) for side in zip(*pairs, strict=True))
    options = {"kind": kind, "hop": hop}
    race(
        f"{title}, {kind}, {'grid of the reference' if hop is None else f'frames of {hop} s'}: {len(pairs)} pairs",
        lambda: convention.score(Pairs(references, estimates, reference_row, row), measures, hop or "reference").score,
        lambda: np.array(
            [list(mir_eval.melody.evaluate(*one.T, *other.T, **options).values()) for one, other in pairs]
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    warnings.simplefilter("ignore")
    tracks, own = adc2004(Path(data)), examples(Path(data))
    compare("ADC 2004", tracks)
    compare("mir_eval's examples", own)
    many = out_of_tune(tracks, 10)
    compare("ADC 2004 ten times", many)
    compare("ADC 2004 ten times", many, "nearest", 0.01)
    compare("ADC 2004 ten times", many, "zero", 0.01)


if __name__ == "__main__":
    main()
