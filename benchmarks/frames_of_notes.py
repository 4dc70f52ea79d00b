"""Active pitches of notes beside loops over pitches, and beside mir_eval's frames of Onsets and Frames: numbers first.

Notes are random, over 88 keys. ``python benchmarks/frames_of_notes.py``
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import warnings
from collections.abc import Callable

import mir_eval
import numpy as np
from race import race

from mirflow.metrics.base import Pairs, get_task
from mirflow.metrics.transcription.frames import HOP, decode_rows
from mirflow.ragged import Ragged
from mirflow.theory.pitch import hz_to_midi, midi_to_hz

Side = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Starts, ends and MIDI pitches."""
_SLACK = 1e-8


def make_pair(rng: np.random.Generator, notes: int) -> tuple[Side, Side]:
    start = np.sort(np.round(rng.uniform(0, notes / 10, notes), 3))
    length, pitch = np.round(rng.exponential(0.4, notes) + 0.05, 3), rng.integers(21, 109, notes)
    kept = rng.random(notes) < 0.9
    moved = np.abs(start + rng.normal(0, 0.02, notes))[kept]
    return (start, start + length, pitch), (moved, moved + length[kept] * rng.uniform(0.8, 1.2), pitch[kept])


def cut(side: Side) -> dict[int, list[tuple[float, float]]]:
    """The stretches of each pitch, each cut where the next one starts."""
    found: dict[int, list[tuple[float, float]]] = {}
    for start, end, pitch in sorted(zip(*(column.tolist() for column in side), strict=True)):
        own = found.setdefault(pitch, [])
        if own and own[-1][1] > start:
            own[-1] = own[-1][0], start
        own.append((start, end))
    return found


def loop(reference: Side, estimate: Side) -> float:
    """The F-measure of active pitches, pitch by pitch and stretch by stretch."""
    ours, theirs = cut(reference), cut(estimate)
    shared = 0.0
    for pitch, stretches in ours.items():
        one, other = iter(stretches), iter(theirs.get(pitch, ()))
        left, right = next(one, None), next(other, None)
        while left and right:
            shared += max(0.0, min(left[1], right[1]) - max(left[0], right[0]))
            if left[1] < right[1]:
                left = next(one, None)
            else:
                right = next(other, None)
    whole = sum(end - start for side in (ours, theirs) for own in side.values() for start, end in own)
    return 2 * shared / (whole + _SLACK)


def to_ragged(sides: list[Side]) -> Ragged:
    start, end, pitch = (np.concatenate(columns) for columns in zip(*sides, strict=True))
    counts = np.array([len(side[0]) for side in sides])
    return Ragged({"start": start, "end": end, "pitch": np.asarray(midi_to_hz(pitch.astype(np.float64)))}, (counts,))


def frames(side: Side, size: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """The frames of 32 ms of the notes that are read back from their labels."""
    columns = decode_rows(to_ragged([side])).columns
    roll = np.zeros((size, 128), dtype=bool)
    first, stop = (np.rint(columns[name] / HOP).astype(int) for name in ("start", "end"))
    for one, other, pitch in zip(first, stop, np.rint(hz_to_midi(columns["pitch"])).astype(int), strict=True):
        roll[one:other, pitch] = True
    return np.arange(size) * HOP, [np.asarray(midi_to_hz(np.flatnonzero(row).astype(float))) for row in roll]


def by_mir_eval(reference: Side, estimate: Side) -> float:
    size = int(max(reference[1].max(), estimate[1].max()) / HOP) + 5
    precision, recall, *_ = mir_eval.multipitch.metrics(*frames(reference, size), *frames(estimate, size))
    return 2 * precision * recall / (precision + recall)


def compare(title: str, pairs: list[tuple[Side, Side]], convention: str, peer: Callable[..., float], name: str) -> None:
    rules = get_task("transcription").convention(convention)
    references, estimates = (to_ragged(list(side)) for side in zip(*pairs, strict=True))
    measures = rules.select(["frame_f_measure"])

    def ours() -> np.ndarray:
        rows = Pairs.in_order(rules.clean(references).rows, rules.clean(estimates).rows)
        return rules.score(rows, measures, "union").score[:, 0]

    race(f"{title}, {convention}", ours, lambda: np.array([peer(*pair) for pair in pairs]), name)


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    for number, notes in ((1, 2000), (64, 500)):
        pairs = [make_pair(rng, notes) for _ in range(number)]
        title = f"{number} pairs of {notes} notes"
        compare(title, pairs, "mirex2024", loop, "a loop over pitches")
        compare(title, pairs, "onsets_and_frames", by_mir_eval, "mir_eval on frames")


if __name__ == "__main__":
    main()
