"""McKinney's P-score: how many impulses of both sides coincide within a share of the beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.searching import search_rows
from ...ragged import Bool, Float
from ..events import Events
from .batch import Batch

RATE = 100
"""Frames per second of the impulse trains."""

TOO_CLOSE = "all reference beats fall into one frame of 10 ms, so there is no beat interval to measure with"


@dataclass(frozen=True, slots=True)
class Choices:
    """How the P-score is computed.

    Parameters
    ----------
    window : float
        Half width of the window, as a share of the reference's median interval.
    remove_offset : bool
        Whether the trains start at the first beat of either side; else at 0 s.
    normaliser : {"beats", "impulses"}
        What the coincidences are divided by the larger number of.
    rounding : {"half_even", "half_up"}
        How a window of half a frame more is rounded.
    """

    window: float
    remove_offset: bool
    normaliser: str
    rounding: str


def p_score(batch: Batch, choices: Choices) -> tuple[Float, Float, Bool]:
    """The P-score.

    Parameters
    ----------
    batch : Batch
        At least two beats on each side of every pair.
    choices : Choices

    Returns
    -------
    score, denominator : float64 (pairs,)
    measurable : bool (pairs,)
        False where all reference beats fall into one frame; the score is 0 there.
    """
    reference, estimate = batch.reference, batch.estimate
    offset = np.zeros(len(reference))
    if choices.remove_offset:
        offset = np.minimum(reference.times[reference.offsets[:-1]], estimate.times[estimate.offsets[:-1]])
    trains = impulses(reference, offset), impulses(estimate, offset)
    median = _median_steps(trains[0])
    width = median * choices.window
    width = np.floor(width + 0.5) if choices.rounding == "half_up" else np.round(width)
    measurable = trains[0].counts > 1
    coincidences = _coincidences(*trains, np.where(measurable, width, -1.0))
    beats = (reference, estimate) if choices.normaliser == "beats" else trains
    denominator = np.maximum(beats[0].counts, beats[1].counts).astype(np.float64)
    return coincidences / denominator, denominator, measurable


def impulses(events: Events, offset: Float) -> Events:
    """The distinct frames that the events fall into, as whole numbers."""
    frames = np.ceil((events.times - np.repeat(offset, events.counts)) * RATE)
    fresh = np.ones(len(frames), dtype=np.bool_)
    np.not_equal(frames[1:], frames[:-1], out=fresh[1:])
    fresh[events.offsets[:-1][events.counts > 0]] = True
    counts = np.bincount(events.pair[fresh], minlength=len(events)).astype(np.int64, copy=False)
    return Events(frames[fresh], counts)


def _median_steps(train: Events) -> Float:
    """The median distance of neighbouring impulses; 0 where there is only one."""
    steps = np.empty(len(train.times))
    steps[:-1] = train.times[1:] - train.times[:-1]
    # A pair's last impulse has no successor: it is sorted behind all steps.
    steps[train.offsets[1:] - 1] = np.inf
    ordered = steps[np.lexsort((steps, train.pair))]
    upper = train.offsets[:-1] + (train.counts - 1) // 2
    lower = train.offsets[:-1] + np.maximum(train.counts - 2, 0) // 2
    return np.where(train.counts > 1, (ordered[lower] + ordered[upper]) / 2, 0.0)


def _coincidences(reference: Events, estimate: Events, width: Float) -> Float:
    """How many pairs of impulses are at most `width` frames apart; none where the width is negative."""
    wide = np.maximum(width, 0.0)[estimate.pair]
    low = search_rows(reference.times, reference.counts, estimate.times - wide, estimate.counts)
    high = search_rows(reference.times, reference.counts, estimate.times + wide, estimate.counts, "right")
    found = np.bincount(estimate.pair, high - low, minlength=len(estimate))
    return np.where(width >= 0, found, 0.0)
