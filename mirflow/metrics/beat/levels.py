"""The beats of a reference at other metrical levels."""

from __future__ import annotations

import numpy as np

from ...ragged import Int, offsets_of
from ..events import Events

LEVELS = ("annotated", "off_beat", "double", "half_odd", "half_even")
"""All variations, the annotated one first; as in the Beat Evaluation Toolbox and mir_eval."""

CHOICES = {"mir_eval": LEVELS, "harmonix": ("annotated", "double", "half_odd", "half_even")}
"""Sets of variations that a best score may be taken over."""


def variations(beats: Events) -> dict[str, Events]:
    """Every variation of some sequences of beats.

    Parameters
    ----------
    beats : Events
        At least one beat in each.

    Returns
    -------
    dict of str to Events
        ``annotated``; ``off_beat``, half way between neighbours; ``double``, both of them; ``half_odd`` and
        ``half_even``, every second beat from the first or from the second.

    Examples
    --------
    >>> found = variations(Events(np.array([0.0, 1.0, 3.0]), np.array([3])))
    >>> found["double"].times.tolist(), found["half_even"].times.tolist()
    ([0.0, 0.5, 1.0, 2.0, 3.0], [1.0])
    """
    times, counts, place = beats.times, beats.counts, place_in(beats)
    inner = np.ones(len(times), dtype=np.bool_)
    inner[beats.offsets[1:] - 1] = False
    first = np.flatnonzero(inner)
    # Half the step is added to the beat, as linear interpolation does it, so that the times are equal to the bit.
    off_beat = (times[first + 1] - times[first]) * 0.5 + times[first]
    double = np.empty(2 * len(times) - len(counts))
    at = 2 * np.arange(len(times), dtype=np.int64) - beats.pair
    double[at] = times
    double[at[first] + 1] = off_beat
    odd = place % 2 == 0
    return {
        "annotated": beats,
        "off_beat": Events(off_beat, counts - 1),
        "double": Events(double, 2 * counts - 1),
        "half_odd": Events(times[odd], (counts + 1) // 2),
        "half_even": Events(times[~odd], counts // 2),
    }


def place_in(events: Events) -> Int:
    """The number of each event within its pair, from 0: int64 (events,)."""
    return np.arange(len(events.times), dtype=np.int64) - events.offsets[:-1][events.pair]


def places_from_double(place: Int, pair: Int, levels: dict[str, Events]) -> dict[str, Int]:
    """Where times belong at every level, from where they belong among the doubled beats.

    Parameters
    ----------
    place : int64 (n,)
        Index into the flat doubled beats: how many of them come before each time, plus those of earlier pairs.
    pair : int64 (n,)
        The pair of each time.
    levels : dict of str to Events
        Of `variations`.

    Returns
    -------
    dict of str to int64 (n,)
        The same for every level.
    """
    before = place - levels["double"].offsets[:-1][pair]
    annotated = (before + 1) >> 1
    inside = {
        "annotated": annotated,
        "off_beat": before >> 1,
        "half_odd": (annotated + 1) >> 1,
        "half_even": annotated >> 1,
    }
    found = {name: number + offsets_of(levels[name].counts)[:-1][pair] for name, number in inside.items()}
    return found | {"double": place}
