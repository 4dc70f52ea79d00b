"""Evidence for a multiple F0 score: the pitches that found each other, the missed ones, and the extra ones."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError
from ...ragged import Column, Int, ranges, rows_of
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean
from .frames import Pitches, beside, frame_of_estimate, matched, pitches_of
from .readings import CHROMA


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The pitches of both sides at the times of the reference, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind multipitch.
    measure : Measure
        Any of the metrics; those of chroma leave octaves aside.

    Returns
    -------
    dict of str to array
        ``start`` and ``end`` of the frame (float64, seconds), ``reference_frequency`` and ``estimate_frequency``
        (float64, Hz; NaN where the other side has no match), and ``verdict``: ``hit``, ``missed`` or ``extra``. Frames
        without any pitch are left out.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def frames(*frequencies):
    ...     columns = {"time": np.array([0.0]), "frequency": np.array(frequencies)}
    ...     return Annotation("multipitch", columns, None, (np.array([len(frequencies)]),))
    >>> measure = get_task("multipitch").convention().select(["accuracy"])[0]
    >>> evidence(frames(220.0, 330.0), frames(221.0, 880.0), measure)["verdict"].tolist()
    ['hit', 'missed', 'extra']
    """
    sides = [
        usable(annotation, clean(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    if not sides[0].counts[0][0]:
        raise AnnotationError("the reference is empty, so there is nothing to explain")
    only = np.zeros(1, dtype=np.int64)
    ours = pitches_of(sides[0])
    theirs = beside(pitches_of(sides[1]), frame_of_estimate(sides[0], sides[1], only, only))
    way = float(measure["window"]), measure.metric.name.startswith(CHROMA)
    none = np.zeros((0, 3), dtype=np.int64)
    frame, one, other = np.vstack([none, *(np.column_stack(found) for _, found in matched(ours, theirs, [way]))]).T
    missed, extra = _others(ours, frame, one), _others(theirs, frame, other)
    nothing = -np.ones(max(len(missed[0]), len(extra[0])), dtype=np.int64)
    frames = np.concatenate([frame, missed[0], extra[0]])
    at_reference = np.concatenate([one, missed[1], nothing[: len(extra[0])]])
    at_estimate = np.concatenate([other, nothing[: len(missed[0])], extra[1]])
    verdict = np.repeat(["hit", "missed", "extra"], [len(frame), len(missed[0]), len(extra[0])])
    order = np.argsort(frames, kind="stable")
    times = sides[0].columns["time"]
    ends = np.append(times[1:], times[-1] + np.median(np.diff(times)) if len(times) > 1 else times[-1])
    return {
        "start": times[frames[order]],
        "end": ends[frames[order]],
        "reference_frequency": np.append(sides[0].columns["frequency"], np.nan)[at_reference[order]],
        "estimate_frequency": np.append(sides[1].columns["frequency"], np.nan)[at_estimate[order]],
        "verdict": verdict[order],
    }


def _others(side: Pitches, frame: Int, taken: Int) -> tuple[Int, Int]:
    """Frame and place of the pitches that found none. A frame of an estimate may stand beside several."""
    frames, place = rows_of(side.counts), ranges(side.first, side.counts)
    size = len(side.midi) + 1
    left = ~np.isin(frames * size + place, frame * size + taken)
    return frames[left], place[left]
