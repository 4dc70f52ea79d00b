"""Kinds of errors of beats (also at another tempo or off-beat), onsets and drums, and how they are found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..kernels.matching import Matching, match, match_nearest_first
from ..ragged import Bool, Float, Int, Ragged
from .edits import RIGHT, Edits, ErrorBudget, ErrorKind
from .measures import Measure

_MIDDLE = 0.35
"""Largest deviation of a beat from the place where another tempo or phase has it, in intervals of that tempo: twice the
share of the interval of the continuity measures, as these intervals are halves."""
_MOST_BETWEEN = 3
"""Most beats between two at another tempo: half, a third or a quarter of it, or twice, three or four times."""
_OFFSET_RUN = 3  # Fewest consecutive beats with the same deviation

_BEATS = (
    ErrorKind("half_tempo", "beats left out over a stretch at half, a third or a quarter of the tempo"),
    ErrorKind("double_tempo", "beats added over a stretch at two, three or four times the tempo"),
    ErrorKind("off_beat", "a stretch of beats midway between those of the reference"),
    ErrorKind("offset", "a stretch of at least three beats that are all early, or all late, by the same time"),
    ErrorKind("late", "single beats that are early or late by less than half a beat"),
    ErrorKind("missing", "beats of the reference without an estimate"),
    ErrorKind("extra", "estimates without a beat of the reference"),
)
_HALF, _DOUBLE, _OFF, _OFFSET, _LATE, _MISSING, _EXTRA = range(len(_BEATS))
Find = Callable[[Float, Int, Float, Int, float], Matching]


def _window(measure: Measure, default: float) -> float:
    """The window of a measure in seconds, or a usual one for measures without."""
    timed = any(parameter.name == "window" and parameter.unit == "s" for parameter in measure.metric.parameters)
    return float(measure["window"]) if timed else default


def pair_up(references: Float, estimates: Float, window: float, find: Find = match) -> tuple[Int, Int]:
    """Match the times of a single pair: indices of the matches on both sides."""
    pairs = find(references, np.array([len(references)]), estimates, np.array([len(estimates)]), window)
    return pairs.reference, pairs.estimate


def _runs(some: Bool, least: int) -> Bool:
    """Keep the True values that are in runs of at least so many."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], some, [False]]).astype(np.int8)))
    mask = np.zeros(len(some), dtype=np.bool_)
    for start, end in edges.reshape(-1, 2).tolist():
        mask[start:end] = end - start >= least
    return mask


def align_beats(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    """Find the errors of beats; if `exact`, matched beats with another time are errors as well."""
    trim, window = float(measure.parameters.get("trim", -np.inf)), _window(measure, 0.07)
    every = [rows.columns["time"] for rows in (reference, estimate)]
    late = [times >= trim for times in every]
    references, estimates = every[0][late[0]], every[1][late[1]]
    kinds = np.full(len(references), _MISSING), np.full(len(estimates), _EXTRA)
    hit = pair_up(references, estimates, window)
    for kind, indices in zip(kinds, hit, strict=True):
        kind[indices] = RIGHT
    half = 0.0  # of an interval, which a single beat does not have
    if len(references) > 1:
        _find_tempo(references, estimates, *kinds)
        half = float(np.median(np.diff(references))) / 2
    left = np.flatnonzero(kinds[0] == _MISSING), np.flatnonzero(kinds[1] == _EXTRA)
    near = pair_up(references[left[0]], estimates[left[1]], half, match_nearest_first)
    pairs = left[0][near[0]], left[1][near[1]]
    if exact:
        pairs = np.concatenate([hit[0], pairs[0]]), np.concatenate([hit[1], pairs[1]])
        order = np.argsort(pairs[0], kind="stable")
        pairs = pairs[0][order], pairs[1][order]
    # Pairs that are apart are single deviations, or offsets where neighbours deviate alike.
    apart = estimates[pairs[1]] - references[pairs[0]]
    far = np.abs(apart) > window / 2
    beside = (np.diff(pairs[0]) == 1) & (np.abs(np.diff(apart)) <= window / 2) & (apart[1:] * apart[:-1] > 0)
    alike = _runs(beside & far[1:] & far[:-1], _OFFSET_RUN - 1)
    shifted = np.append(alike, False) | np.insert(alike, 0, False) if len(apart) else far
    for kind, beats in zip(kinds, pairs, strict=True):
        kind[beats[apart != 0]] = np.where(shifted, _OFFSET, _LATE)[apart != 0]
    # Beats that are left out have no errors.
    sides = [np.full(len(times), RIGHT, dtype=np.int64) for times in every]
    for side, mask, kind in zip(sides, late, kinds, strict=True):
        side[mask] = kind
    return Edits(reference, estimate, sides[0], sides[1])


def _find_tempo(reference: Float, estimate: Float, own: Int, other: Int) -> None:
    """Mark stretches at another tempo, and off-beat ones, among beats that are missing and extra."""
    # Intervals between beats of the reference, with one more at both ends: interval i ends at beat i.
    gaps = np.diff(reference)
    ends = np.concatenate([[reference[0] - gaps[0]], reference, [reference[-1] + gaps[-1]]])
    free = np.flatnonzero(other == _EXTRA)
    interval = np.searchsorted(ends, estimate[free], side="right") - 1
    inside = (interval >= 0) & (interval < len(ends) - 1)
    free, interval = free[inside], interval[inside]
    count = np.bincount(interval, minlength=len(ends) - 1)
    rank = np.arange(len(interval)) - np.searchsorted(interval, interval)
    width = np.maximum(np.diff(ends), np.finfo(np.float64).tiny)
    parts = count[interval] + 1
    uneven = np.abs((estimate[free] - ends[interval]) / width[interval] * parts - rank - 1) > _MIDDLE
    even = (count > 0) & (count <= _MOST_BETWEEN) & (np.bincount(interval, uneven, len(count)) == 0)
    right = np.concatenate([[own[0]], own, own[-1:]]) == RIGHT  # the ends are as the beats beside them
    double = _runs(even & right[1:] & right[:-1], 2)
    other[free[double[interval]]] = _DOUBLE
    off = _runs(even & (count == 1) & ~right[1:] & ~right[:-1], 2)
    other[free[off[interval]]] = _OFF
    own[(off[1:] | off[:-1]) & (own == _MISSING)] = _OFF
    # Beats that are left out regularly: the same number of them between each two that are there.
    hits = np.flatnonzero(own == RIGHT)
    if len(hits) < 2:
        return
    silent = np.concatenate([[0], np.cumsum(count > 0)])
    between = np.diff(hits) - 1
    # Interval i ends at beat i, so that those between beats a and b are a + 1 ... b.
    clean = (silent[hits[1:] + 1] == silent[hits[:-1] + 1]) & (between >= 1) & (between <= _MOST_BETWEEN)
    same = clean[1:] & clean[:-1] & (between[1:] == between[:-1])
    regular = np.append(same, False) | np.insert(same, 0, False)
    for index in np.flatnonzero(regular).tolist():
        own[hits[index] + 1 : hits[index + 1]] = _HALF
    if regular[-1] and len(own) - 1 - hits[-1] <= between[-1]:
        own[hits[-1] + 1 :] = _HALF
    if regular[0] and hits[0] <= between[0]:
        own[: hits[0]] = _HALF


_ONSETS = (
    ErrorKind("merged", "onsets of the reference that share an estimate with one beside them"),
    ErrorKind("doubled", "estimates beside another one of the same onset"),
    ErrorKind("late", "estimates that are early or late by up to three windows"),
    ErrorKind("missing", "onsets of the reference without an estimate"),
    ErrorKind("extra", "estimates without an onset of the reference"),
)
_NEAR = 3  # Windows within which an onset is late, and not missing


def align_onsets(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    """Find the errors of onsets; if `exact`, matched onsets with another time are errors as well."""
    merged, doubled, late, missing, extra = range(len(_ONSETS))
    references, estimates = reference.columns["time"], estimate.columns["time"]
    window = _window(measure, 0.05)
    own, other = np.full(len(references), missing), np.full(len(estimates), extra)
    hit = pair_up(references, estimates, window)
    own[hit[0]] = other[hit[1]] = RIGHT
    if exact:
        moved = references[hit[0]] != estimates[hit[1]]
        own[hit[0][moved]] = other[hit[1][moved]] = late
    left = np.flatnonzero(own == missing), np.flatnonzero(other == extra)
    near = pair_up(references[left[0]], estimates[left[1]], _NEAR * window, match_nearest_first)
    own[left[0][near[0]]] = other[left[1][near[1]]] = late
    for kinds, times, lone, kind, partners in (
        (own, references, missing, merged, references[hit[0]]),
        (other, estimates, extra, doubled, estimates[hit[1]]),
    ):
        if len(partners):
            alone = np.flatnonzero(kinds == lone)
            index = np.searchsorted(partners, times[alone])
            neighbours = partners[np.maximum(index - 1, 0)], partners[np.minimum(index, len(partners) - 1)]
            distance = np.minimum(*(np.abs(times[alone] - partner) for partner in neighbours))
            kinds[alone[distance <= 2 * window]] = kind  # beside an onset that is matched
    return Edits(reference, estimate, own, other)


HITS = (
    ErrorKind("drum", "a hit of another drum"),
    ErrorKind("late", "hits that are early or late by up to three windows"),
    ErrorKind("missing", "hits of the reference without an estimate"),
    ErrorKind("extra", "estimated hits without one of the reference"),
)


def align_hits(
    classes_of: Callable[[Ragged, Measure], Int], reference: Ragged, estimate: Ragged, measure: Measure, exact: bool
) -> Edits:
    """Find the errors of drums; `classes_of` gives the class of each hit under a measure, -1 for none."""
    drum, late, missing, extra = range(len(HITS))
    window = _window(measure, 0.05)
    sides = [(rows.columns["time"], classes_of(rows, measure)) for rows in (reference, estimate)]
    own, other = np.where(sides[0][1] >= 0, missing, RIGHT), np.where(sides[1][1] >= 0, extra, RIGHT)
    for kind, reach, of_class in ((RIGHT, window, True), (late, _NEAR * window, True), (drum, window, False)):
        numbers = np.unique(sides[0][1][own == missing]) if of_class else np.zeros(1, dtype=np.int64)
        for number in numbers.tolist():
            left = [
                np.flatnonzero((kinds == lone) & ((classes == number) | (not of_class)))
                for (_, classes), kinds, lone in zip(sides, (own, other), (missing, extra), strict=True)
            ]
            find = match if kind == RIGHT else match_nearest_first
            pairs = pair_up(sides[0][0][left[0]], sides[1][0][left[1]], reach, find)
            own[left[0][pairs[0]]] = other[left[1][pairs[1]]] = kind
    return Edits(reference, estimate, own, other)


BEATS = ErrorBudget(_BEATS, align_beats, version=2)
ONSETS = ErrorBudget(_ONSETS, align_onsets)
