"""Transcription scores beside mir_eval's: the same pairs, the numbers compared first, both sides in one process.

Run it with the folder of real annotations: ``python benchmarks/transcription.py DATA`` (or set MIRFLOW_DATA).
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
from collections.abc import Callable
from pathlib import Path

import mir_eval
import numpy as np
from race import race

from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

Side = np.ndarray
"""Start, end, pitch in Hz and perhaps velocity of each note: (notes, 3 or 4)."""
Pair = tuple[Side, Side]
_VELOCITY = ("precision", "recall", "f_measure", "average_overlap_ratio")


def read(path: Path) -> Side:
    lines = (line.replace(",", " ").partition("#")[0].split() for line in path.read_text().splitlines())
    return np.array([line for line in lines if line], dtype=np.float64)


def su(data: Path) -> list[Pair]:
    """Six systems on ten pieces, against both references."""
    folder = data / "mirex2015-su-transcription"
    pairs = []
    for kind, ending in (("gt_textfrommidi", "_tutti.mid.txt"), ("gt_Note", "_note.txt")):
        for path in sorted((folder / "reference" / kind).iterdir()):
            reference = read(path)
            estimates = sorted((folder / "estimates").glob(f"*/{path.name.removesuffix(ending)}.txt"))
            pairs += [(reference, read(one)) for one in estimates]
    return pairs


def examples(data: Path, folder: str) -> list[Pair]:
    paths = sorted((data / "mir_eval-fixtures" / folder).glob("ref*.txt"))
    return [(read(path), read(path.with_name(path.name.replace("ref", "est")))) for path in paths]


def piano(count: int, notes: int) -> list[Pair]:
    """Made-up pianists: chords on a pulse, estimates late or early, some notes missed and some made up."""
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(count):
        start = np.sort(np.round(rng.integers(0, notes // 3, notes) * 0.15, 3))
        midi = rng.integers(30, 90, notes)
        end = start + rng.uniform(0.1, 1.5, notes)
        reference = np.column_stack([start, end, 440 * 2 ** ((midi - 69) / 12), rng.integers(20, 110, notes)])
        estimate = reference[rng.random(notes) < 0.8].copy()
        estimate[:, :2] += rng.normal(0, 0.02, (len(estimate), 1))
        estimate[:, 3] = 0.8 * estimate[:, 3] + 10 + rng.normal(0, 8, len(estimate))
        extra = reference[rng.random(notes) < 0.2].copy()
        extra[:, 2] *= 2 ** (rng.integers(-12, 13, len(extra)) / 12)
        estimate = np.concatenate([estimate, extra])
        estimate[:, 0] = np.maximum(estimate[:, 0], 0)
        pairs.append((reference, np.maximum(estimate, [0, 0.001, 0, 1])))
    return [(one, other[other[:, 1] > other[:, 0]]) for one, other in pairs]


def to_ragged(side: list[Side]) -> Ragged:
    flat = np.concatenate([notes[:, :4] for notes in side])
    columns = {name: np.ascontiguousarray(flat[:, place]) for place, name in enumerate(("start", "end", "pitch"))}
    if flat.shape[1] > 3:
        columns["velocity"] = np.ascontiguousarray(flat[:, 3])
    return Ragged(columns, (np.array([len(notes) for notes in side], dtype=np.int64),))


def plain(pair: Pair) -> list[float]:
    sides = [argument for notes in pair for argument in (notes[:, :2], np.ascontiguousarray(notes[:, 2]))]
    return list(mir_eval.transcription.evaluate(*sides).values())


def loud(pair: Pair) -> list[float]:
    sides = [part for notes in pair for part in (notes[:, :2], np.ascontiguousarray(notes[:, 2]), notes[:, 3])]
    return list(mir_eval.transcription_velocity.evaluate(*sides).values())


def compare(title: str, pairs: list[Pair], theirs: Callable[[Pair], list[float]] = plain) -> None:
    """All metrics of `theirs` for all pairs."""
    convention, row = get_task("transcription").convention(), np.arange(len(pairs))
    names = [f"velocity_{name}{ending}" for ending in ("", "_no_offset") for name in _VELOCITY]
    measures = convention.select(names if theirs is loud else None)
    references, estimates = (to_ragged(list(side)) for side in zip(*pairs, strict=True))
    notes = len(references.columns["start"]) + len(estimates.columns["start"])
    race(
        f"{title}: {len(pairs)} pairs, {notes} notes",
        lambda: convention.score(Pairs(references, estimates, row, row), measures, "union").score,
        lambda: np.array([theirs(pair) for pair in pairs]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    compare("MIREX 2015, Su", su(Path(data)))
    compare("mir_eval's examples", examples(Path(data), "transcription"))
    compare("mir_eval's examples, with velocity", examples(Path(data), "transcription_velocity"), loud)
    compare("made-up piano", piano(20, 2000))
    compare("made-up piano, with velocity", piano(20, 2000), loud)


if __name__ == "__main__":
    main()
