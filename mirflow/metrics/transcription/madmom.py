"""Convention madmom of note transcription: onsets within 25 ms and equal pitch; ends are ignored.

Functions over one pair are `evaluate` and one for each metric that is a single number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...annotations.annotation import Annotation
from ...kernels.intervals import batches
from ...ragged import Column, Float, Int, Ragged, rows_of
from ..base import Convention, Grid, Pairs, Scores, Shared, computed_by, read_scores, refuse_unjudged
from ..cleaning import NO_TIMES, usable_pair
from ..events import MADMOM, MATCHINGS, Detected, metrics_of_detections
from ..measures import Measure, Parameter, Value
from ..pair import EVERY, PairFunctions, documented
from ..util import Array
from .kernel import show_notes
from .metrics import clean as clean_notes

REPEATED = "{}: a note at {} s occurs several times, but only some are matched, which madmom refuses; write it once"


clean = partial(clean_notes, drop=False, refused=NO_TIMES, counted=("negative", "reversed", "zero_length"))
"""Clean rows of notes, keeping those that end early or have zero length."""


@dataclass(frozen=True, slots=True)
class Side:
    """The notes of one side of pairs, sorted by pair, pitch and onset."""

    onset: Float  # float64 (notes,), seconds
    pitch: Float  # float64 (notes,), Hz
    pair: Int  # int64 (notes,)
    item: Int  # Original index of each note: int64 (notes,)
    counts: Int  # int64 (pairs,)

    @classmethod
    def of(cls, rows: Ragged, chosen: Int, delay: float = 0.0) -> Side:
        """Take the notes of rows, delayed by some seconds."""
        notes = rows.take(chosen)
        pair, counts = rows_of(notes.counts[0]), notes.counts[0]
        onset, pitch = notes.columns["start"] + delay, notes.columns["pitch"]
        order = np.lexsort((onset, pitch, pair))
        return cls(onset[order], pitch[order], pair[order], order, counts)


def match_notes(reference: Side, estimate: Side, window: float) -> tuple[Detected, Int, Int, dict[int, str]]:
    """Match the notes of each pitch of each pair.

    Returns detections, indices of the matched notes on both sides, and reasons for pairs that madmom refuses: a note
    occurs several times, and only some of these are matched.
    """
    pitches, code = np.unique(np.concatenate([reference.pitch, estimate.pitch]), return_inverse=True)
    group = np.concatenate([reference.pair, estimate.pair]) * len(pitches) + code.reshape(-1)
    distinct, group = np.unique(group, return_inverse=True)
    sides = np.split(group.reshape(-1), [len(reference.pair)])
    counts = [np.bincount(keys, minlength=len(distinct)).astype(np.int64, copy=False) for keys in sides]
    matching = MATCHINGS[MADMOM](reference.onset, counts[0], estimate.onset, counts[1], window)
    errors = estimate.onset[matching.estimate] - reference.onset[matching.reference]
    pair = reference.pair[matching.reference]
    hits = np.bincount(pair, minlength=len(reference.counts)).astype(np.int64, copy=False)
    detections = Detected.of_errors(errors, hits, reference.counts, estimate.counts)
    refused: dict[int, str] = {}
    for side, name, places in ((reference, "reference", matching.reference), (estimate, "estimate", matching.estimate)):
        matched = np.zeros(len(side.onset), dtype=np.bool_)
        matched[places] = True
        same = (np.diff(side.onset) == 0) & (np.diff(side.pitch) == 0) & (np.diff(side.pair) == 0)
        for note in (np.flatnonzero(same & (matched[1:] != matched[:-1])) + 1).tolist():
            refused.setdefault(int(side.pair[note]), REPEATED.format(name, side.onset[note]))
    return detections, reference.item[matching.reference], estimate.item[matching.estimate], refused


_BATCH = 2**14  # Notes of both sides processed at once, so that results fit into the cache


@dataclass(eq=False)
class NotePairs(Shared):
    """The notes of pairs, matched once for all measures with the same parameters."""

    pairs: Pairs

    @computed_by("window", "delay")
    def matched(self, window: float, delay: float) -> tuple[Detected, dict[int, str]]:
        """Detections of notes, and refused pairs."""
        parts: list[Detected] = []
        refused: dict[int, str] = {}
        for part in list(batches(self.pairs.sizes, _BATCH)) or [slice(0, 0)]:
            (references, row), (estimates, other) = self.pairs[part].sides
            found, _, _, reasons = match_notes(Side.of(references, row), Side.of(estimates, other, delay), window)
            parts.append(found)
            refused |= {part.start + pair: reason for pair, reason in reasons.items()}
        return Detected.join(parts), refused


def detected(notes: NotePairs, measure: Measure) -> Detected:
    """Detections of notes under a measure's parameters."""
    return notes.matched(measure)[0]


METRICS = metrics_of_detections(
    detected,
    "notes",
    (
        Parameter("window", 0.025, "s", help="largest distance of the onsets of matched notes", least=0.0),
        Parameter("delay", 0.0, "s", help="added to the onsets of the estimate"),
    ),
    "@bock2016madmom; @bock2012polyphonic",
)


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs of transcriptions by madmom's rules: a `Scorer`.

    A pair is not scored if a note occurs several times on one side and only some of these are matched.
    """
    notes = NotePairs(pairs)
    scores = read_scores(measures, notes, len(pairs))
    extras, columns = dict(scores.extras), iter(range(len(measures)))
    every: dict[int, str] = {}
    for measure in reversed(measures):
        every |= notes.matched(measure)[1]
    whole = set(every)
    for measure in measures:
        reasons = list(notes.matched(measure)[1])
        whole &= set(reasons)
        if not measure.metric.dims:
            scores.score[reasons, next(columns)] = np.nan
            continue
        table = extras[measure.variable]
        mask = ~np.isin(table.index[:, 0], reasons)
        extras[measure.variable] = replace(table, index=table.index[mask], value=table.value[mask])
    refused, partly = dict[int, str](), dict[int, str]()
    for pair, reason in sorted(every.items()):
        (refused if pair in whole else partly)[pair] = reason
    return Scores(scores.score, scores.weight, extras, refused=refused, partly=partly)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the notes of both sides with verdicts, with the columns of the default convention's evidence."""
    refuse_unjudged(measure, METRICS, "notes")
    rows = usable_pair(reference, estimate, clean)
    row = np.zeros(1, dtype=np.int64)
    sides = Side.of(rows[0], row), Side.of(rows[1], row, float(measure["delay"]))
    matched = match_notes(*sides, float(measure["window"]))[1:3]
    return show_notes(rows, matched, [np.arange(len(notes.onset)) for notes in sides])


CONVENTION = Convention(
    "madmom",
    "madmom's evaluation: onsets within 25 ms and equal pitch; two empty sides are right",
    METRICS,
    clean,
    score,
    explain=evidence,
    literature="@bock2016madmom",
)


def row_of(side: str, notes: tuple[Array, Array]) -> Ragged:
    """Make a clean row of onsets and pitches."""
    onsets, pitches = (np.asarray(column, dtype=np.float64) for column in notes)
    if onsets.shape != pitches.shape or onsets.ndim != 1:
        raise ValueError(f"expected onsets and pitches of equal shape (n,), got {onsets.shape} and {pitches.shape}")
    columns = {"start": onsets, "end": onsets, "pitch": pitches}
    return clean(Ragged(columns, (np.array([len(onsets)], dtype=np.int64),))).checked(side)


_scores = PairFunctions(METRICS, partial(CONVENTION.score_arrays, row_of))


@documented(EVERY)
def evaluate(reference: tuple[Array, Array], estimate: tuple[Array, Array], **parameters: Value) -> dict[str, float]:
    """Compute all scores of one estimate.

    Parameters
    ----------
    reference, estimate : tuple of (n,)
        Onsets in seconds and pitches in Hz, in any order.
    **parameters
        ``window`` and ``delay``, in seconds.

    Raises
    ------
    ValueError
        For values that are not finite, and if a note occurs several times and only some of these are matched.

    Examples
    --------
    >>> evaluate(([0.0, 1.0], [440.0, 220.0]), ([0.02, 1.0], [440.0, 221.0]))["f_measure"]
    0.5
    """
    return _scores.every(reference, estimate, parameters)


globals().update(_scores.functions("Tuple of onsets in seconds and pitches in Hz."))
