"""Intervals sampled at frames, and both sides counted in contingency tables."""

from __future__ import annotations

import numpy as np

from ...kernels.contingency import Table, tabulate
from ...kernels.runs import Runs, paint, single_frames_before
from ...ragged import Bool, Float
from .spans import Spans

MOST_FRAMES = 1 << 24
"""The number up to which single precision counts without gaps."""


def too_long(end: Float, frame_size: float) -> Bool:
    """Pairs that would take more frames than there are numbers for them."""
    return ~(end / frame_size < MOST_FRAMES + 1)


def sample(spans: Spans, end: Float, frame_size: float) -> Runs:
    """The labels at frames, as mir_eval takes them.

    Frame k is at ``k * frame_size``, in single precision. There are as many as whole ones fit before the end. An
    interval holds the frames from its start to its end, both included, and a later interval takes over from an
    earlier one.

    Parameters
    ----------
    spans : Spans
    end : float64 (pairs,), seconds
        The end of the last frame.
    frame_size : float, seconds

    Returns
    -------
    Runs
    """
    frames = np.floor(end / frame_size).astype(np.int64)
    limit = np.repeat(end, spans.counts)
    first = single_frames_before(np.minimum(spans.start, limit), frame_size, including=False)
    stop = single_frames_before(np.minimum(spans.end, limit), frame_size, including=True)
    return paint(first, stop, spans.code, spans.counts, frames)


def tabulate_sides(references: Spans, estimates: Spans, end: Float, frame_size: float) -> Table:
    """The contingency tables of pairs whose sides end together."""
    return tabulate(sample(references, end, frame_size), sample(estimates, end, frame_size))
