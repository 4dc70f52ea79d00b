"""Small sound files, and a room that scores them at once: runs over sound are tested without separation's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from mirflow.annotations.audio import Signal
from mirflow.metrics.base import Convention, Pairs, Scores, Task
from mirflow.metrics.cleaning import Cleaned
from mirflow.metrics.measures import Measure, Metric
from mirflow.ragged import Float, Ragged

RATE = 8000
PIECE = 1000


def noise(seed: int, frames: int = 4000, channels: int = 1) -> Float:
    """Samples (frames, channels) that 16 bits hold exactly."""
    return np.random.default_rng(seed).integers(-8000, 8000, (frames, channels)) / 2**15


def write(path: Path, samples: Float, rate: int = RATE, subtype: str | None = None) -> Path:
    """A sound file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate, subtype=subtype)
    return path


def write_stems(folder: Path, names: Sequence[str] = ("bass", "voice"), seed: int = 0, leak: float = 0.0) -> Path:
    """One wav a source; each hears a little of the next."""
    clean = [noise(100 * seed + place) for place in range(len(names))]
    for place, name in enumerate(names):
        write(folder / f"{name}.wav", clean[place] + leak * clean[(place + 1) % len(names)])
    return folder


def cut(path: Path, share: float = 0.6) -> Path:
    """Only the first part of a file's bytes."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


def _clean(rows: Ragged) -> Cleaned:
    return Cleaned(rows, np.zeros(len(rows), dtype=np.int64))


def _score(pairs: Pairs, measures: Sequence[Measure], grid: str | float) -> Scores:
    """Energy of the error over that of the reference, the mean over sources; 1 without an estimate, as if silent."""
    score = np.full((len(pairs), len(measures)), np.nan)
    refused: dict[int, str] = {}
    for pair in range(len(pairs)):
        one, two = (side.columns["signal"] for side in pairs[pair : pair + 1].lay_out())
        if len(two) and [_form(signal) for signal in one] != [_form(signal) for signal in two]:
            refused[pair] = "lengths, rates or channels differ"
        else:
            score[pair] = np.mean([_error(*both) for both in zip(one, two, strict=True)]) if len(two) else 1.0
    return Scores(score, np.where(np.isnan(score), 0.0, 1.0), refused=refused)


def _form(signal: Signal) -> tuple[float, int, int]:
    return signal.rate, signal.channels, signal.frames


def _error(reference: Signal, estimate: Signal) -> float:
    error = whole = 0.0
    for start in range(0, reference.frames, PIECE):
        stop = min(start + PIECE, reference.frames)
        one, two = reference.read(start, stop), estimate.read(start, stop)
        error, whole = error + float(((one - two) ** 2).sum()), whole + float((one**2).sum())
    return error / whole


ERROR = Metric(
    "error", "Error", "energy of the error over that of the reference", "1", orientation="lower", perfect=0.0
)
TASK = Task(
    "separation", "Rehearsal", {"mir_eval": Convention("mir_eval", "", (ERROR,), _clean, _score)}, (ERROR.name,)
)


@pytest.fixture
def rehearsal(monkeypatch: pytest.MonkeyPatch) -> Task:
    """The task above in place of separation."""
    monkeypatch.setattr("mirflow.metrics.separation.TASK", TASK)
    return TASK
