"""Scores of the conventions madmom beside madmom's own: the same pairs, the numbers compared first, in one process.

madmom need not be installed, but its source has to be there, of which the modules of its evaluation are imported
unchanged: ``python benchmarks/madmom.py DATA SOURCE`` with the folder of real annotations and that of the source.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
from race import best_of, race

from mirflow.metrics import onset, tempo
from mirflow.metrics.base import Pairs, get_task
from mirflow.metrics.beat import madmom
from mirflow.ragged import Ragged

BEATS = {
    "f_measure": "fmeasure",
    "p_score": "pscore",
    **{name: name for name in ("cemgil", "goto", "cmlc", "cmlt", "amlc", "amlt", "information_gain")},
}
ONSETS = {"f_measure": "fmeasure", "precision": "precision", "recall": "recall", "accuracy": "accuracy"}
TEMPI = {"p_score": "pscore", "any_correct": "any", "all_correct": "all", "accuracy1": "acc1", "accuracy2": "acc2"}
Pair = tuple[np.ndarray, np.ndarray]


def harmonix(data: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """The beats of every system of every track, against those of the reference."""
    folder = data / "harmonix"

    def read(path: Path) -> np.ndarray:
        return np.loadtxt(path, usecols=0, ndmin=1)

    estimates = sorted((folder / "estimates/beats").glob("*/*.txt"))
    return [(read(folder / "reference/beats_and_downbeats" / path.name), read(path)) for path in estimates]


def to_ragged(side: list[np.ndarray]) -> Ragged:
    return Ragged({"time": np.concatenate(side)}, (np.array([len(times) for times in side], dtype=np.int64),))


def load(source: Path) -> Callable[[str], ModuleType]:
    """The modules of madmom's evaluation, without what has to be compiled."""
    for kind in (float, int, bool):  # names that numpy had when madmom was written
        if kind.__name__ not in np.__dict__:
            setattr(np, kind.__name__, kind)
    package = ModuleType("madmom")
    package.__path__ = [str(source / "madmom")]
    sys.modules["madmom"] = package
    for name in ("madmom.io.audio", "madmom.io.midi"):  # what reads sounds
        stub = ModuleType(name)
        stub.__getattr__ = lambda _: None  # type: ignore[method-assign]
        sys.modules[name] = stub
    return lambda name: importlib.import_module(f"madmom.evaluation.{name}")


Evaluate = Callable[..., object]


def compare(title: str, task: str, pairs: list[Pair], names: Mapping[str, str], evaluate: Evaluate) -> None:
    """All scores of all pairs in a batch."""
    convention, row = get_task(task).convention("madmom"), np.arange(len(pairs))
    measures = convention.select(list(names))
    references, estimates = (to_ragged(list(side)) for side in zip(*pairs, strict=True))

    def theirs() -> np.ndarray:
        found = (evaluate(estimate, reference) for reference, estimate in pairs)
        return np.array([[getattr(one, name) for name in names.values()] for one in found])

    race(
        f"{title}: {len(pairs)} pairs in a batch",
        lambda: convention.score(Pairs(references, estimates, row, row), measures, "union").score,
        theirs,
        "madmom",
    )


def compare_tempi(evaluate: Evaluate, number: int = 2000) -> None:
    """Two random tempi a side, some of them multiples and near ones."""
    rng = np.random.default_rng(0)
    references = rng.uniform(50, 200, (number, 2))
    estimates = references * rng.choice([1, 2, 0.5, 1.03, 1.06], (number, 2))
    strength = rng.uniform(0.1, 1, (number, 2))
    convention, row = get_task("tempo").convention("madmom"), np.arange(number)
    columns = ({"tempo": side.ravel(), "salience": strength.ravel()} for side in (references, estimates))
    sides = [Ragged(one, (np.full(number, 2),)) for one in columns]

    def theirs() -> np.ndarray:
        pairs = zip(references, estimates, strength, strict=True)
        found = [evaluate(np.column_stack([other, own]), np.column_stack([one, own])) for one, other, own in pairs]
        return np.array([[getattr(one, name) for name in TEMPI.values()] for one in found], dtype=np.float64)

    race(
        f"tempi: {number} pairs in a batch",
        lambda: convention.score(Pairs(sides[0], sides[1], row, row), convention.select(), "union").score,
        theirs,
        "madmom",
    )


def alone(title: str, pairs: list[Pair], names: Mapping[str, str], ours: Evaluate, evaluate: Evaluate) -> None:
    """The same, one call a pair."""

    def theirs(reference: np.ndarray, estimate: np.ndarray) -> list[float]:
        found = evaluate(estimate, reference)
        return [getattr(found, name) for name in names.values()]

    slow = best_of(3, lambda: [theirs(*pair) for pair in pairs]) / len(pairs)
    fast = best_of(3, lambda: [ours(*pair) for pair in pairs]) / len(pairs)
    print(f"{title}, one pair a call: madmom {slow * 1e6:.0f} us, mirflow {fast * 1e6:.0f} us: {slow / fast:.1f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("source", type=Path)
    given = parser.parse_args()
    module = load(given.source)
    beats, onsets, tempi = module("beats"), module("onsets"), module("tempo")
    pairs = harmonix(given.data)
    compare("beats", "beat", pairs, BEATS, beats.BeatEvaluation)
    compare("beats as onsets", "onset", pairs, ONSETS, onsets.OnsetEvaluation)

    warnings.simplefilter("ignore")  # about strengths
    compare_tempi(tempi.TempoEvaluation)
    alone("beats", pairs[::10], BEATS, madmom.evaluate, beats.BeatEvaluation)
    alone("onsets", pairs[::10], ONSETS, onset.madmom.evaluate, onsets.OnsetEvaluation)
    two = [(np.array([[60.0, 0.6], [120.0, 0.4]]), np.array([[121.0, 0.7], [61.0, 0.3]]))] * 200
    alone("tempi", two, TEMPI, tempo.madmom.evaluate, tempi.TempoEvaluation)


if __name__ == "__main__":
    main()
