"""Labelled intervals as runs of frames: which frames each interval covers, and what stays of it under later ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ragged import Float, Int, offsets_of, rows_of

NOTHING = 0
"""The code of frames that no interval covers; give intervals codes above it, or the same one to mean the same."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The frames of many rows as runs of one code each.

    Parameters
    ----------
    first : int64 (runs,)
        The first frame of each run, not descending within a row, from 0; runs may be empty.
    code : int64 (runs,)
    counts : int64 (rows,)
        How many runs each row has: at least one.
    frames : int64 (rows,)
        How many frames each row has; the last run lasts until there.
    """

    first: Int
    code: Int
    counts: Int
    frames: Int


def single_frames_before(time: Float, hop: float, including: bool) -> Int:
    """How many frames lie before a time, where frame k is at ``k * hop`` in single precision.

    Parameters
    ----------
    time : float64 (n,), seconds
        Finite, from 0 to about 2**24 hops, which is how far single precision counts.
    hop : float, seconds
        Distance of the frames, above 0.
    including : bool
        Whether a frame just at the time is counted as well.

    Returns
    -------
    int64 (n,)

    Examples
    --------
    >>> single_frames_before(np.array([0.0, 0.25, 0.5]), 0.25, False).tolist()
    [0, 1, 2]
    >>> single_frames_before(np.array([0.0, 0.25, 0.5]), 0.25, True).tolist()
    [1, 2, 3]
    """
    step = np.float32(hop)
    before = np.less_equal if including else np.less

    def at(frame: Float) -> Float:
        return (frame.astype(np.float32) * step).astype(np.float64)

    # The quotient is exact to a few frames at most; what decides is the frame's own time.
    frame = np.floor(time / hop)
    while (short := before(at(frame), time)).any():
        frame += short
    while (beyond := (frame > 0) & ~before(at(frame - 1), time)).any():
        frame -= beyond
    return frame.astype(np.int64)


def paint(first: Int, stop: Int, code: Int, counts: Int, frames: Int) -> Runs:
    """What is seen of each row when its intervals are painted one over the other, in the order given.

    Parameters
    ----------
    first, stop : int64 (intervals,)
        The frames that each interval covers, `stop` excluded.
    code : int64 (intervals,)
    counts : int64 (rows,)
        How many intervals each row has.
    frames : int64 (rows,)
        How many frames each row has; what lies beyond is cut off.

    Returns
    -------
    Runs
        Frames that no interval covers have the code `NOTHING`.

    Examples
    --------
    The second interval covers the end of the first; nothing covers frame 6.

    >>> two = np.array([2])
    >>> seen = paint(np.array([0, 2]), np.array([4, 6]), np.array([1, 2]), two, np.array([7]))
    >>> seen.first.tolist(), seen.code.tolist()
    ([0, 2, 6], [1, 2, 0])
    """
    limit = np.repeat(frames, counts)
    first, stop = np.minimum(first, limit), np.minimum(stop, limit)
    owner = rows_of(counts)
    inner = np.zeros(len(first), dtype=np.bool_)
    np.equal(owner[1:], owner[:-1], out=inner[:-1])
    crossing = stop < first
    crossing[:-1] |= inner[:-1] & ((first[1:] < first[:-1]) | (stop[1:] < stop[:-1]))
    if crossing.any():
        first, stop, code, counts = _flatten(first, stop, code, counts, np.unique(owner[crossing]))
    return _join(first, stop, code, counts, frames)


def _join(first: Int, stop: Int, code: Int, counts: Int, frames: Int) -> Runs:
    """Runs of intervals none of which begins or stops before the one before it; the spaces between them are filled."""
    offsets = offsets_of(counts)
    after = np.empty_like(stop)
    after[:-1] = first[1:]
    filled = counts > 0
    after[offsets[1:][filled] - 1] = frames[filled]
    gap = stop < after
    lead = np.ones(len(counts), dtype=np.bool_)
    lead[filled] = first[offsets[:-1][filled]] > 0
    gaps = offsets_of(gap.astype(np.int64))
    place = np.arange(len(first)) + gaps[:-1] + np.repeat(np.cumsum(lead), counts)
    total = len(first) + int(gaps[-1]) + int(lead.sum())
    run_first, run_code = np.zeros(total, dtype=np.int64), np.full(total, NOTHING, dtype=np.int64)
    run_first[place], run_code[place] = first, code
    run_first[place[gap] + 1] = stop[gap]
    return Runs(run_first, run_code, counts + lead + gaps[offsets[1:]] - gaps[offsets[:-1]], frames)


def _flatten(first: Int, stop: Int, code: Int, counts: Int, rows: Int) -> tuple[Int, Int, Int, Int]:
    """The same with the intervals of some rows replaced by what is seen of them; these rows are painted one by one."""
    offsets = offsets_of(counts)
    pieces: list[tuple[Int, Int, Int]] = []
    sizes = counts.copy()
    done = 0
    for row in rows.tolist():
        own = slice(offsets[row], offsets[row + 1])
        pieces.append((first[done : own.start], stop[done : own.start], code[done : own.start]))
        bounds = np.unique(np.concatenate([first[own], stop[own]]))
        begin, end = np.searchsorted(bounds, first[own]), np.searchsorted(bounds, stop[own])
        seen = np.full(max(len(bounds) - 1, 0), -1, dtype=np.int64)
        for interval, (a, b) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
            seen[a:b] = interval
        covered = seen >= 0
        pieces.append((bounds[:-1][covered], bounds[1:][covered], code[own][seen[covered]]))
        sizes[row] = np.count_nonzero(covered)
        done = own.stop
    pieces.append((first[done:], stop[done:], code[done:]))
    starts, stops, codes = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return starts, stops, codes, sizes


def lengths(runs: Runs) -> Int:
    """Frames of each run: int64 (runs,)."""
    steps = np.zeros(len(runs.first), dtype=np.int64)
    np.subtract(runs.first[1:], runs.first[:-1], out=steps[:-1])
    last = np.cumsum(runs.counts) - 1
    steps[last] = runs.frames - runs.first[last]
    return steps
