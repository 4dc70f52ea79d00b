"""Precision and recall of the order in which one hierarchy ranks frames, against another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...errors import MetricError
from ...kernels.meets import agreement, compare, edges_of
from .layers import Hierarchy

DIFFERENT_SHAPES = "Estimated and reference hierarchies must have the same shape."


@dataclass(frozen=True, slots=True)
class Ranking:
    """What ranks the frames, around which frame, and which pairs of them are compared.

    Parameters
    ----------
    labelled : bool
        Whether frames are close that share a label, or only those that share a segment.
    transitive : bool
        Whether pairs of any two different ranks are compared, or only of neighbouring ranks.
    window : float, seconds
        Infinity for all frames.
    frame_size : float, seconds
    """

    labelled: bool
    transitive: bool
    window: float
    frame_size: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Sums over frames for one side, and how many frames they are over; see `mirflow.kernels.meets.agreement`."""

    agreed: float
    frames: float

    @property
    def score(self) -> float:
        """The mean over frames; 0 where no frame has anything to compare."""
        return self.agreed / self.frames if self.frames else 0.0


def check_frame_size(frame_size: float, window: float) -> None:
    """Raise a MetricError unless frames have a length and the window holds at least one."""
    if not frame_size > 0:
        raise MetricError(f"frame_size ({frame_size:.2f}) must be a positive number.")
    if frame_size > window:
        raise MetricError(f"frame_size ({frame_size:.2f}) cannot exceed window ({window:.2f})")


def agreements(
    reference: Hierarchy, estimate: Hierarchy, rankings: Iterable[Ranking]
) -> dict[Ranking, tuple[Agreement, Agreement]]:
    """Precision and recall for some rankings, in sums.

    Parameters
    ----------
    reference, estimate : Hierarchy
        Of the same number of frames.
    rankings : iterable of Ranking

    Returns
    -------
    dict of Ranking to (Agreement, Agreement)
        How well the reference orders what the estimate orders (precision), and the other way round (recall).

    Raises
    ------
    ValueError
        If the two differ in their number of frames.

    Examples
    --------
    >>> def halves(middle):
    ...     level = np.array([0, 0])
    ...     return Hierarchy(np.array([0.0, middle]), np.array([middle, 4.0]), level, level, 1)
    >>> ranking = Ranking(False, True, float("inf"), 1.0)
    >>> precision, recall = agreements(halves(2.0), halves(3.0), [ranking])[ranking]
    >>> precision.score, recall.score
    (0.3333333333333333, 0.25)
    """
    found: dict[Ranking, tuple[Agreement, Agreement]] = {}
    shared: dict[tuple[bool, float, float], list[Ranking]] = {}
    for ranking in rankings:
        shared.setdefault((ranking.labelled, ranking.window, ranking.frame_size), []).append(ranking)
    for (labelled, window, frame_size), same in shared.items():
        begin, end, frames = reference.frames(frame_size)
        other_begin, other_end, other_frames = estimate.frames(frame_size)
        if frames != other_frames:
            raise ValueError(DIFFERENT_SHAPES)
        edges = edges_of(frames, begin, end, other_begin, other_end)
        left = reference.levels(begin, end, edges, labelled)
        right = estimate.levels(other_begin, other_end, edges, labelled)
        sums = np.zeros((len(same), 2, 2))
        for tables in compare(left, right, edges, window_frames(window, frame_size, frames)):
            for place, ranking in enumerate(same):
                for side, one in enumerate((tables.swapped, tables)):
                    sums[place, side] += agreement(one, ranking.transitive)
        for ranking, (precision, recall) in zip(same, sums.tolist(), strict=True):
            found[ranking] = Agreement(*precision), Agreement(*recall)
    return found


def window_frames(window: float, frame_size: float, frames: int) -> int:
    """The window in frames, rounded down; all frames for an infinite one.

    Examples
    --------
    >>> window_frames(15.0, 0.1, 3000), window_frames(float("inf"), 0.1, 3000)
    (149, 3000)
    """
    if np.isinf(window):
        return frames
    return int((window - np.mod(window, frame_size)) / frame_size)
