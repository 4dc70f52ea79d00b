"""Pedals in MIDI: extend notes that end under the sustain pedal, and find when pedals are down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..annotations.account import Remark
from ..ragged import Float, Int

DOWN = 64
"""Minimum value of a controller whose pedal is down."""


UNUSED = "has a sustain pedal (controller 64), which is ignored: its notes end with their keys (pedal: extend)"


def told_pedal(presses: Sequence[tuple[float, int, int]], *, extended: bool) -> tuple[dict[str, str], list[Remark]]:
    """The attribute of notes whose ends a sustain pedal extends, or a remark if it is ignored."""
    if all(value < DOWN for _, _, value in presses):
        return {}, []
    return ({"pedal": "extended"}, []) if extended else ({}, [Remark("pedal", UNUSED)])


def extend_ends(
    start: Float, end: Float, voice: Int, channel: Int, presses: Sequence[tuple[float, int, int]], last: float
) -> Float:
    """Return the ends of notes under the sustain pedal, in ticks or seconds.

    A note that ends while the pedal of its channel is down sounds until the pedal is released or the next note of its
    pitch starts, whichever comes first, or until the last event if the pedal stays down. Notes are never shortened. A
    voice is one number for each channel and pitch. Events of the pedal are in file order; at the same time, the last
    event of a channel counts.

    References
    ----------
    MIREX 2024, polyphonic transcription.
    """
    found = end.copy()
    for one in {channel for _, channel, _ in presses}:
        times = np.array([time for time, own, _ in presses if own == one], dtype=np.float64)
        down = np.array([value >= DOWN for _, own, value in presses if own == one], dtype=np.bool_)
        order = np.argsort(times, kind="stable")
        times, down = times[order], down[order]
        # Next release of the pedal after each event; without one, the pedal is down until the last event.
        release = np.minimum.accumulate(np.append(np.where(down, np.inf, times), last)[::-1])[::-1]
        own = np.flatnonzero(channel == one)
        state = np.searchsorted(times, end[own], side="right") - 1
        held = (state >= 0) & down[state]
        until = np.where(held, release[state], end[own])
        # The next start of a note of the same voice after a note's start and not before its end; infinite if none.
        following = np.full(len(own), np.inf)
        by_voice = np.lexsort((start[own], voice[own]))
        for notes in np.split(by_voice, np.flatnonzero(np.diff(voice[own][by_voice])) + 1):
            begins, ends = np.append(start[own[notes]], np.inf), end[own[notes]]
            later = np.searchsorted(begins, begins[:-1], side="right")
            following[notes] = begins[np.maximum(np.searchsorted(begins, ends, side="left"), later)]
        found[own] = np.maximum(end[own], np.minimum(until, following))
    return found


def stretches(presses: Sequence[tuple[int, int, int]], last: int) -> list[tuple[int, int]]:
    """Starts and ends of the intervals in which a pedal is down, per channel.

    `presses` are (tick, channel, value), in file order; pedals that are never released end at `last`.
    """
    found = []
    begun: dict[int, int] = {}
    for tick, channel, value in sorted(presses, key=lambda press: press[0]):
        if value >= DOWN:
            begun.setdefault(channel, tick)
        elif channel in begun:
            found.append((begun.pop(channel), tick))
    return sorted([*found, *((tick, max(last, tick)) for tick in begun.values())])
