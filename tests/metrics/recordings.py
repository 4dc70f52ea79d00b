"""Recordings for tests of source separation."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.audio import HeldSignal, Signal
from mirflow.ragged import Ragged


@dataclass(frozen=True)
class SyntheticSignal:
    """Noise that is never held in memory as a whole: each sample is computed from its number."""

    seed: int
    frames: int
    rate: float = 44100.0
    channels: int = 2

    def read(self, start: int, stop: int) -> np.ndarray:
        place = np.arange(start, stop, dtype=np.uint64) + np.uint64(self.seed * 2**40)
        rows = []
        for channel in range(self.channels):
            bits = (place * np.uint64(2) + np.uint64(channel)) * np.uint64(0x9E3779B97F4A7C15)
            bits ^= bits >> np.uint64(29)
            bits *= np.uint64(0xBF58476D1CE4E5B9)
            bits ^= bits >> np.uint64(32)
            rows.append((bits >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0)
        return np.array(rows).reshape(self.channels, stop - start)


def sources(count: int, frames: int, seed: int = 0, channels: int = 0) -> np.ndarray:
    """Noise with a shape over time: (sources, samples) or (sources, samples, channels)."""
    rng = np.random.default_rng(seed)
    shape = (count, frames, channels) if channels else (count, frames)
    return rng.normal(size=shape)


def mixed(reference: np.ndarray, seed: int = 1, leak: float = 0.2, noise: float = 0.1) -> np.ndarray:
    """Estimates with some of another source, an echo and noise."""
    rng = np.random.default_rng(seed)
    echo = 0.5 * np.roll(reference, 7, axis=1)
    echo[:, :7] = 0
    return reference + echo + leak * reference[::-1] + noise * rng.normal(size=reference.shape)


def row(amplitudes: np.ndarray, names: Sequence[str] = (), rate: float = 8000.0) -> Annotation:
    """Sources (sources, samples) or (sources, samples, channels) as an annotation."""
    stacked = np.atleast_3d(amplitudes).transpose(0, 2, 1)
    return of_signals([HeldSignal(one, rate) for one in stacked], names)


def of_signals(signals: Sequence[Signal], names: Sequence[str] = ()) -> Annotation:
    column = np.empty(len(signals), dtype=object)
    column[:] = list(signals)
    return Annotation("audio", {"signal": column}, list(names) or None)


def rows(*annotations: Annotation) -> Ragged:
    return to_ragged(annotations)


def museval() -> ModuleType:
    """The module of museval that computes; its package wants ffmpeg, which has nothing to do with the numbers."""
    found = importlib.util.find_spec("museval")
    if found is None or found.origin is None:
        pytest.skip("museval is not installed; get it with: pip install --no-deps museval==0.4.1")
    spec = importlib.util.spec_from_file_location("museval_metrics", Path(found.origin).with_name("metrics.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module
