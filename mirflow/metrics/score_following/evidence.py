"""Evidence for a score of a follower: every note with its report and the verdict on it."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean
from .matching import follow
from .scoring import Judged


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The notes of the score, and reports that are of none of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind following.
    measure : Measure
        Any; all are read off the same verdicts.

    Returns
    -------
    dict of str to array
        In order of time: ``reference``, ``estimate``, ``detected`` and ``position`` (float64, seconds; NaN for none),
        ``pitch`` (MIDI number) and ``verdict``: ``aligned``, ``misaligned``, ``missed``, or ``extra`` for a report of
        no note or of one that was reported before.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def notes(*times):
    ...     return Annotation("following", {"time": np.array(times), "position": np.array([0.0, 1.0])})
    >>> measure = get_task("score_following").convention().select(["overall_precision"])[0]
    >>> evidence(notes(0.5, 1.5), notes(0.75, 9.0), measure)["verdict"].tolist()
    ['aligned', 'misaligned']
    """
    own, heard = (
        usable(annotation, clean(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    )
    only = np.zeros(1, dtype=np.int64)
    notes = follow(own, heard, only, only, float(measure["tolerance"]))
    judged = Judged(notes, float(measure["threshold"]), str(measure["by"]))
    verdict = np.where(judged.aligned, "aligned", np.where(judged.reported, "misaligned", "missed"))
    left = {name: column[notes.unknown] for name, column in notes.reports.columns.items()}
    nothing = np.full(len(notes.unknown), np.nan)
    columns = {
        "reference": np.concatenate([notes.time, nothing]),
        "estimate": np.concatenate([notes.estimated, left["time"]]),
        "detected": np.concatenate([notes.detected, left["detected"]]),
        "position": np.concatenate([notes.position, left["position"]]),
        "pitch": np.concatenate([notes.pitch, left["pitch"]]),
        "verdict": np.concatenate([verdict, np.full(len(nothing), "extra")]),
    }
    moment = np.where(np.isnan(columns["reference"]), columns["estimate"], columns["reference"])
    order = np.argsort(moment, kind="stable")
    return {name: column[order] for name, column in columns.items()}
