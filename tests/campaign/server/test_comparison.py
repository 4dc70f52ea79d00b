"""The second from which two estimates of a track differ, for annotations of all forms."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.campaign.server.submissions.releases import first_difference


def beats(*times: float) -> Annotation:
    return Annotation("events", {"time": np.array(times)})


def chords(*ends: float, labels: str = "CG") -> Annotation:
    starts = np.array([0.0, *ends[:-1]])
    return Annotation("intervals", {"start": starts, "end": np.array(ends)}, [*labels])


def frames(*pitches: list[float]) -> Annotation:
    times, flat = np.arange(len(pitches)) / 2, np.array([one for own in pitches for one in own])
    return Annotation("multipitch", {"time": times, "frequency": flat}, None, (np.array([*map(len, pitches)]),))


def tempi(*bpm: float) -> Annotation:
    return Annotation("tempo", {"tempo": np.array(bpm), "salience": np.array([0.5, 0.5])})


@pytest.mark.parametrize(
    ("one", "other", "second"),
    [
        (beats(1, 2, 3), beats(1, 2.25, 3), 2.0),
        (beats(1, 2), beats(1, 2, 2.5), 2.5),
        (beats(), beats(), None),
        (chords(1, 4), chords(1, 3), 3.0),
        (chords(1, 4), chords(1, 4, labels="CA"), 1.0),
        (chords(1, 4), chords(2, 4), 1.0),
        (frames([440], [220]), frames([440], [220, 330]), 0.5),
        (frames([440], []), frames([440], []), None),
        (tempi(60, 120), tempi(60, 121), None),  # nothing that has a time
    ],
)
def test_estimates_differ_from_a_second_on(one: Annotation, other: Annotation, second: float | None) -> None:
    assert first_difference(one, other) == second
    assert first_difference(other, one) == second
    assert first_difference(one, one) is None
