"""Notes by program beside mir_eval called for the notes of each program, as MT3 does: numbers first, in one process.

``python benchmarks/transcription_programs.py``
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import mir_eval
import numpy as np
from race import race

from mirflow.metrics import transcription_programs
from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

Side = np.ndarray
"""Start, end, pitch in Hz, program, percussion and velocity of each note: (notes, 6)."""
Pair = tuple[Side, Side]
GRANULARITIES = ("flat", "midi_class", "full")
TOLERANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_COLUMNS = ("start", "end", "pitch", "program", "drum")


def bands(count: int, notes: int) -> list[Pair]:
    """Made-up pieces of eight instruments and percussion; of the estimate some notes are missed, some misattributed."""
    rng, pairs = np.random.default_rng(0), []
    programs = np.array([0, 4, 24, 33, 40, 48, 56, 73])
    for _ in range(count):
        start = np.sort(np.round(rng.uniform(0, notes / 12, notes), 3))
        drum = (rng.random(notes) < 0.25).astype(float)
        midi = np.where(drum > 0, rng.integers(35, 50, notes), rng.integers(30, 90, notes))
        program = np.where(drum > 0, 0, rng.choice(programs, notes))
        end = start + np.where(drum > 0, 0.05, rng.uniform(0.1, 1.5, notes))
        velocity = rng.integers(20, 110, notes)
        reference = np.column_stack([start, end, 440 * 2 ** ((midi - 69) / 12), program, drum, velocity])
        estimate = reference[rng.random(notes) < 0.85].copy()
        estimate[:, :2] += rng.normal(0, 0.02, (len(estimate), 1))
        wrong = (rng.random(len(estimate)) < 0.1) & (estimate[:, 4] == 0)
        estimate[wrong, 3] = rng.choice(programs, int(wrong.sum()))
        estimate[:, 0] = np.maximum(estimate[:, 0], 0)
        pairs.append((reference, estimate[estimate[:, 1] > estimate[:, 0]]))
    return pairs


def by_group(pair: Pair) -> list[float]:
    """F-measures under each granularity and of percussion, by mir_eval's function for the notes of each group."""
    found = []
    for granularity in GRANULARITIES:
        groups = []
        for side in pair:
            mapped = {"flat": 0 * side[:, 3], "midi_class": side[:, 3] // 8, "full": side[:, 3]}[granularity]
            groups.append(np.where(side[:, 4] > 0, 1000 + side[:, 3], mapped))
        sums = np.zeros((2, 2, 2))
        for group in np.union1d(*groups):
            own = [side[mask == group] for side, mask in zip(pair, groups, strict=True)]
            sides = [one for side in own for one in (side[:, :2], side[:, 2])]
            ratio = {"offset_ratio": None} if group >= 1000 else {}
            precision, recall, *_ = mir_eval.transcription.precision_recall_f1_overlap(*sides, **ratio)
            part = int(group >= 1000)
            sums[part] += [[precision * len(own[1]), len(own[1])], [recall * len(own[0]), len(own[0])]]
        for total in (sums.sum(axis=0), sums[1]):
            found.append(mir_eval.util.f_measure(*(top / below if below else 0.0 for top, below in total)))
    return [found[0], found[2], found[4], found[5]]


def to_ragged(side: list[Side]) -> Ragged:
    flat = np.concatenate(side)
    columns = {name: np.ascontiguousarray(flat[:, place]) for place, name in enumerate(_COLUMNS)}
    return Ragged(columns, (np.array([len(notes) for notes in side], dtype=np.int64),))


def columns(pair: Pair) -> list[float]:
    """All F-measures of MT3 but those of frames, by mir_eval's functions."""
    pitched = [side[side[:, 4] == 0] for side in pair]
    plain = [part for side in pitched for part in (side[:, :2], side[:, 2])]
    loud = [part for side in pitched for part in (side[:, :2], side[:, 2], side[:, 5])]
    longer = [np.column_stack([s[:, 0], np.where(s[:, 1] - s[:, 0] < 0.05, s[:, 0] + 0.05, s[:, 1])]) for s in pitched]
    swept = [part for side, own in zip(longer, pitched, strict=True) for part in (side, own[:, 2])]
    with_velocity = mir_eval.transcription_velocity.precision_recall_f1_overlap
    without = mir_eval.transcription.precision_recall_f1_overlap
    found = [without(*plain, offset_ratio=None)[2], without(*plain)[2]]
    found += [with_velocity(*loud, offset_ratio=None)[2], with_velocity(*loud)[2], *by_group(pair)]
    return [*found, *(without(*swept, onset_tolerance=one, offset_min_tolerance=one)[2] for one in TOLERANCES)]


def alone(pair: Pair) -> list[float]:
    """The same by the function of one pair, which gives precision and recall and the parts as well."""
    reference, estimate = ((side[:, :2], side[:, 2], side[:, 5], side[:, 3], side[:, 4]) for side in pair)
    found = transcription_programs.evaluate(reference, estimate)
    names = ["Onset", "Onset + offset", "Onset + velocity", "Onset + offset + velocity"]
    return [
        *(found[f"{name} F1"] for name in names),
        *(found[f"Onset + offset + program F1 ({name})"] for name in GRANULARITIES),
        found["Drum onset F1 (full)"],
        *(found[f"Onset + offset F1 ({one})"] for one in TOLERANCES),
    ]


def compare(title: str, pairs: list[Pair]) -> None:
    convention, row = get_task("transcription").convention("mt3"), np.arange(len(pairs))
    measures = convention.select(["program_f_measure@[flat,midi_class,full]", "drum_f_measure"])
    references, estimates = (to_ragged(list(side)) for side in zip(*pairs, strict=True))
    notes = len(references.columns["start"]) + len(estimates.columns["start"])

    def theirs() -> np.ndarray:
        return np.array([by_group(pair) for pair in pairs])

    race(
        f"{title}: {len(pairs)} pairs, {notes} notes",
        lambda: convention.score(Pairs(references, estimates, row, row), measures, "union").score,
        theirs,
    )
    race(
        f"{title}, all columns, one pair at a time",
        lambda: np.array([alone(pair) for pair in pairs]),
        lambda: np.array([columns(pair) for pair in pairs]),
    )


def main() -> None:
    compare("short pieces", bands(100, 100))
    compare("songs", bands(6, 2000))


if __name__ == "__main__":
    main()
