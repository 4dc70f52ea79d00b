"""Doubts about downbeats that are all beats: data in memory with positions, and bare times beside downbeats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.collection import AnnotationRows
from ...ragged import Bool, Int
from ..base import Doubt
from ..measures import Measure

_MORE = 2.5
"""How many times as many as the other side's downbeats there have to be for them to be beats."""
_NEAR, _MET = 0.1, 0.6
"""Seconds from a downbeat within which there has to be a beat, and the share of downbeats that have one."""


def doubt_positions(annotation: Annotation) -> str:
    """Report downbeats whose labels are positions in the bar, of which others than 1 count as downbeats, too.

    Examples
    --------
    >>> doubt_positions(Annotation("events", {"time": np.arange(4.0)}, ["1", "2", "3", "1"]))  # doctest: +ELLIPSIS
    "labels such as '2' are positions in the bar, but all 4 beats count as downbeats: keep those at position 1, ..."
    """
    labels = annotation.labels or ()
    known = set(labels)
    if not known or known == {"1"} or "1" not in known or not all(label.isdecimal() for label in known):
        return ""
    other = min(known - {"1"}, key=int)
    return (
        f"labels such as {other!r} are positions in the bar, but all {len(labels)} beats count as downbeats: keep "
        "those at position 1, as is done with files"
    )


def _have_other_positions(measures: Sequence[Measure], annotations: AnnotationRows) -> Bool:
    vocabulary = annotations.ragged.labels or ()
    return np.full(len(annotations), "2" in vocabulary, dtype=np.bool_)


def doubt_beats(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report a side whose times are probably those of all beats: several for each downbeat of the other side.

    Examples
    --------
    >>> beats = Annotation("events", {"time": np.arange(0.5, 40.0, 0.5)})
    >>> doubt_beats([], Annotation("events", {"time": np.arange(0.5, 40.0, 2.0)}), beats)  # doctest: +ELLIPSIS
    'the estimate has 79 times, the reference 20 downbeats, most of which are among them: are they all beats? ...'
    """
    sides = {"reference": reference, "estimate": estimate}
    few, many = sorted(sides, key=lambda side: len(sides[side]))
    if any(sides[many].labels or ()):  # by which they were chosen
        return ""
    beats, downbeats = np.sort(sides[many].columns["time"]), sides[few].columns["time"]
    if len(downbeats) < 2 or len(beats) < _MORE * len(downbeats):
        return ""
    place = np.searchsorted(beats, downbeats).clip(1, len(beats) - 1)
    met = np.minimum(np.abs(beats[place] - downbeats), np.abs(beats[place - 1] - downbeats)) <= _NEAR
    if met.mean() < _MET:
        return ""
    return (
        f"the {many} has {len(beats)} times, the {few} {len(downbeats)} downbeats, most of which are among them: are "
        "they all beats? Without positions in the bar, all times count as downbeats"
    )


def _differ_in_number(references: AnnotationRows, estimates: AnnotationRows, rows: Int, columns: Int) -> Bool:
    one, other = references.ragged.counts[0][rows], estimates.ragged.counts[0][columns]
    found: Bool = np.maximum(one, other) >= _MORE * np.minimum(one, other)
    return found


DOUBTS = (
    Doubt(
        "positions",
        "labels are positions in the bar, of which others than 1 are scored as downbeats: data in memory of all beats",
        of_side=doubt_positions,
        suspects=_have_other_positions,
    ),
    Doubt(
        "positions",
        f"a side has {_MORE:g} times as many times as the other, which has its downbeats among them: all beats, "
        "without positions in the bar",
        of_pair=doubt_beats,
        suspect_pairs=_differ_in_number,
    ),
)
