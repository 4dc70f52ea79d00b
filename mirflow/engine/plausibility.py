"""Warnings of implausible estimates: times in another unit, of another recording, cut short; labels of another list.

What is told here is scored as everything else is. The limits are far from what a poor system does: wrong units are off
by 10 (frames of 0.1 s) to 48,000 (samples), while a tracker that finds little, or goes on after the end, stays within
them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..annotations.annotation import Annotation
from ..ragged import Bool, Float

RATIO = 10.0
"""How many times as late as the other side ends one must end, to be told."""
SECONDS = 30.0
"""How much later it must end besides: short excerpts have large ratios."""
GAP = 1.0
"""How far apart, in seconds, sides are told that have no time in common."""
SHARE = 0.25
"""How many items an estimate of single events has at least, as a share of the reference's, if it is told to end too
early or before the reference begins: with fewer it has only missed what came later."""

LABELLED = 5
"""How many labelled items each side has at least, if labels that never meet are told."""
MET = 0.1
"""The share of labelled items of an estimate whose labels the reference must have, if nothing is told."""

_SINGLE = ("events", "notes", "following")
"""Kinds whose items stand for themselves; others say something of every moment up to their end."""


def extents(annotations: Sequence[Annotation]) -> Float:
    """First time, last time and number of items of annotations.

    Parameters
    ----------
    annotations : sequence of Annotation

    Returns
    -------
    float64 (annotations, 3)
        Seconds, seconds and a number; NaN for what has no times, none that are finite, or no items.

    Examples
    --------
    >>> extents([Annotation("events", {"time": np.array([0.5, 2.0])}), Annotation("key", {}, ["C major"])]).tolist()
    [[0.5, 2.0, 2.0], [nan, nan, nan]]
    """
    found = np.full((len(annotations), 3), np.nan)
    for row, annotation in enumerate(annotations):
        first = annotation.columns.get("start", annotation.columns.get("time"))
        last = annotation.columns.get("end", first)
        if first is not None and last is not None and len(first):
            found[row] = first.min(), last.max(), len(first)
    found[~np.isfinite(found).all(axis=1)] = np.nan
    return found


def implausible(kind: str, reference: Float, estimate: Float) -> dict[int, str]:
    """The pairs whose two sides can hardly be of one recording in one unit, and what is odd about each.

    Parameters
    ----------
    kind : str
        Of the annotations.
    reference, estimate : float64 (pairs, 3)
        Rows of `extents`.

    Returns
    -------
    dict of int to str

    Examples
    --------
    >>> beats, milliseconds = np.array([[0.5, 180.0, 360.0]]), np.array([[500.0, 180000.0, 360.0]])
    >>> implausible("events", beats, milliseconds)[0]
    'the estimate ends at 180000 s, the reference at 180 s: are both in seconds, and of the same recording?'
    """
    (begins, ends, count), (est_begins, est_ends, est_count) = reference.T, estimate.T
    many: Bool = (est_count >= SHARE * count) | (kind not in _SINGLE)
    with np.errstate(over="ignore"):  # what ends beyond all numbers ends too late
        long = (est_ends > RATIO * ends) & (est_ends - ends > SECONDS)
        short = (ends > RATIO * est_ends) & (ends - est_ends > SECONDS) & many
        after, before = est_begins > ends + GAP, (est_ends < begins - GAP) & many
    told: dict[int, str] = {}
    for pair in np.flatnonzero(long | short | after | before).tolist():
        if long[pair] or short[pair]:
            told[pair] = (
                f"the estimate ends at {est_ends[pair]:.10g} s, the reference at {ends[pair]:.10g} s: "
                "are both in seconds, and of the same recording?"
            )
        else:
            where = f"after the reference ends ({ends[pair]:.10g} s)"
            if before[pair]:
                where = f"before the reference begins ({begins[pair]:.10g} s)"
            told[pair] = (
                f"all of the estimate, from {est_begins[pair]:.10g} to {est_ends[pair]:.10g} s, is {where}: "
                "are both of the same recording?"
            )
    return told


def unmatched_labels(reference: Annotation, estimate: Annotation) -> str | None:
    """What is odd about labels of an estimate of which hardly any is one of its reference.

    Parameters
    ----------
    reference, estimate : Annotation

    Returns
    -------
    str or None
        None where labels meet, and where a side has fewer than `LABELLED`.

    Examples
    --------
    >>> reference = Annotation("events", {"time": np.arange(6.0)}, ["kick", "snare"] * 3)
    >>> unmatched_labels(reference, Annotation("events", {"time": np.arange(6.0)}, ["36", "38"] * 3))
    "6 of 6 labels of the estimate ('36', '38') are none of the reference ('kick', 'snare'): are both of one list?"
    >>> unmatched_labels(reference, reference)
    """
    wanted, given = ([one for one in side.labels or () if one] for side in (reference, estimate))
    if min(len(wanted), len(given)) < LABELLED:
        return None
    known = set(wanted)
    lost = sum(label not in known for label in given)
    if len(given) - lost >= MET * len(given):
        return None
    shown = [", ".join(repr(one) for one in sorted(set(side))[:3]) for side in (given, wanted)]
    return (
        f"{lost} of {len(given)} labels of the estimate ({shown[0]}) are none of the reference ({shown[1]}): "
        "are both of one list?"
    )
