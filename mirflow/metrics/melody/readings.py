"""The five measures and their weights, read off the tally of frames."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from ...ragged import Bool, Float
from .frames import CHROMA, PITCH, VOICED, Tally

Reading = tuple[Float, Float]
"""Scores, and their denominators in frames."""


def voicing_recall(tally: Tally) -> Reading:
    """Voicing of the estimate on voiced frames of the reference; 1 where there are none."""
    voiced = tally.sum(tally.frames, VOICED)
    return _ratio(tally.sum(tally.estimate, VOICED), voiced, np.where(_filled(tally), 1.0, 0.0)), voiced


def voicing_false_alarm(tally: Tally, of_none: float = 0.0) -> Reading:
    """Voicing of the estimate on unvoiced frames of the reference; where there are none a value that is given."""
    unvoiced = tally.sum(tally.frames, unset=VOICED)
    fill = np.where(_filled(tally), of_none, 0.0)
    return _ratio(tally.sum(tally.estimate, unset=VOICED), unvoiced, fill), unvoiced


def raw_pitch_accuracy(tally: Tally) -> Reading:
    """Share of the reference's voicing on frames with the right pitch."""
    return _share(tally, PITCH)


def raw_chroma_accuracy(tally: Tally) -> Reading:
    """Share of the reference's voicing on frames with the right chroma."""
    return _share(tally, CHROMA)


def overall_accuracy(tally: Tally) -> Reading:
    """Share of all frames that are right in voicing and pitch."""
    frames, voiced, reward = (
        tally.sum(tally.frames),
        tally.sum(tally.frames, VOICED),
        tally.sum(tally.reference),
    )
    right = _ratio(voiced * tally.sum(tally.both, PITCH), reward, np.zeros(len(voiced)))
    silent = tally.sum(tally.frames, unset=VOICED) - tally.sum(tally.estimate, unset=VOICED)
    return _ratio(right + silent, frames, np.zeros(len(voiced))), frames


def _share(tally: Tally, bit: int) -> Reading:
    reward = tally.sum(tally.reference)
    return _ratio(tally.sum(tally.reference, bit), reward, np.zeros(len(reward))), reward


def _filled(tally: Tally) -> Bool:
    return np.asarray(tally.sum(tally.frames) > 0)


def _ratio(part: Float, whole: Float, fill: Float) -> Float:
    return np.divide(part, whole, out=fill.astype(np.float64), where=whole != 0)


READINGS: MappingProxyType[str, Callable[[Tally], Reading]] = MappingProxyType(
    {
        "voicing_recall": voicing_recall,
        "voicing_false_alarm": voicing_false_alarm,
        "raw_pitch_accuracy": raw_pitch_accuracy,
        "raw_chroma_accuracy": raw_chroma_accuracy,
        "overall_accuracy": overall_accuracy,
    }
)
