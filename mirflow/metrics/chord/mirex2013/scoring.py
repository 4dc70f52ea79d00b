"""The batched kernel of convention mirex2013: pairs of label sequences in, scores and weights out."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ....errors import MetricError
from ....kernels.timeline import batches
from ....ragged import Float, Int, Ragged
from ....theory.spelling import NONE
from ...base.identity import Measure
from ...base.task import Grid, Scores
from .records import COUNTS, HAMMING
from .segmentation import Distances, distances
from .timeline import Pieces, Side, rank_times, seconds_by, share_of, walk
from .vocabulary import OUTSIDE, RULES, Mapped, Vocabulary, encode

_BATCH_SEGMENTS = 20_000
"""Segments that are worked on at once: more would fall out of the cache."""


class Outcome(IntEnum):
    """What becomes of one stretch of time under a rule."""

    left_out = 0
    correct_no_chord = 1
    inserted = 2
    deleted = 3
    all_correct = 4
    root_correct = 5
    type_correct = 6
    all_wrong = 7


RIGHT = [Outcome.all_correct, Outcome.correct_no_chord]


@dataclass(frozen=True, slots=True)
class Tally:
    """What one rule finds in each pair.

    Parameters
    ----------
    seconds : float64 (pairs, outcomes)
    weight : float64 (pairs,)
        Seconds in the rule's vocabulary.
    reference_chords, estimate_chords : int64 (pairs,)
        Different mapped chords over the evaluated time on which both sides are chords.
    """

    seconds: Float
    weight: Float
    reference_chords: Int
    estimate_chords: Int

    def column(self, name: str) -> Float:
        """Scores by the metric of that name; the name of a rule stands for the share that is right."""
        if name == "n_reference_chords":
            return self.reference_chords.astype(np.float64)
        if name == "n_estimate_chords":
            return self.estimate_chords.astype(np.float64)
        chosen = RIGHT if name in RULES else [Outcome[name]]
        return share_of(self.seconds[:, chosen].sum(axis=1), self.weight)


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Score pairs of chord sequences by the rules of MIREX 2013.

    Parameters
    ----------
    references, estimates : Ragged
        Cleaned rows: columns start, end (float64, seconds) and label.
    reference_row, estimate_row : int64 (pairs,)
        The rows that make each pair.
    measures : sequence of Measure
        Out of the metrics of the convention.
    grid : str
        ``union``, the only one that the convention is defined on.

    Returns
    -------
    Scores
        Repairs count estimates that end before their reference.

    Raises
    ------
    MetricError
        For another grid.
    """
    if grid != "union":
        raise MetricError(f"convention mirex2013 is defined on grid union, not on {grid!r}")
    rules = tuple(dict.fromkeys(rule for rule in map(rule_of, measures) if rule))
    sides = (
        encode(references.labels, rules, reference=True),
        encode(estimates.labels, rules, reference=False),
    )
    shape = (len(reference_row), len(measures))
    result = Scores(np.zeros(shape), np.zeros(shape), repairs=np.zeros(shape[0], dtype=np.int64))
    segments = references.counts[0][reference_row] + estimates.counts[0][estimate_row]
    for batch in batches(segments, _BATCH_SEGMENTS):
        times, *pair = rank_times(references.take(reference_row[batch]), estimates.take(estimate_row[batch]))
        result.score[batch], result.weight[batch] = _score_batch(times, pair[0], pair[1], sides, measures)
        result.repairs[batch] = (pair[1].counts > 0) & (pair[1].last_end < pair[0].last_end)
    return result


def rule_of(measure: Measure) -> str:
    """The rule that a measure needs; empty for segmentation."""
    if measure.metric.name in HAMMING:
        return ""
    return measure.metric.name if measure.metric.name in RULES else str(measure["rule"])


def _score_batch(
    times: Float, reference: Side, estimate: Side, sides: tuple[Vocabulary, Vocabulary], measures: Sequence[Measure]
) -> tuple[Float, Float]:
    """Scores and weights of some pairs: float64 (pairs, measures) each."""
    keys = [(rule_of(measure), measure.metric.name) for measure in measures]
    found: dict[str, Tally | Distances] = {}
    if sides[0].rules:
        counted = {rule for rule, name in keys if name in COUNTS}
        found |= _tally(walk(times, reference, estimate), len(reference.counts), sides, counted)
    if any(name in HAMMING for _, name in keys):
        found[""] = distances(times, reference, estimate)
    shape = (len(keys), len(reference.counts))
    scores = np.reshape([found[rule].column(name) for rule, name in keys], shape)
    return scores.T, np.reshape([found[rule].weight for rule, _ in keys], shape).T


def _tally(
    pieces: Pieces, pairs: int, sides: tuple[Vocabulary, Vocabulary], counted: Container[str]
) -> dict[str, Tally]:
    """What each rule finds; different chords are counted for the rules in `counted` only."""
    seconds = pieces.end - pieces.start
    tallies = {}
    for rule, outcome in outcomes(pieces, *sides).items():
        spent = seconds_by(pieces.pair * len(Outcome) + outcome, seconds, pairs * len(Outcome))
        spent = spent.reshape(pairs, len(Outcome))
        different = np.zeros((2, pairs), dtype=np.int64)
        if rule in counted:
            both = np.flatnonzero(outcome >= Outcome.all_correct)
            codes = pieces.reference[both], pieces.estimate[both]
            different[:] = [
                _distinct(pieces.pair[both], side.rules[rule], code, pairs)
                for side, code in zip(sides, codes, strict=True)
            ]
        tallies[rule] = Tally(spent, spent[:, 1:].sum(axis=1), *different)
    return tallies


def outcomes(pieces: Pieces, reference: Vocabulary, estimate: Vocabulary) -> dict[str, Int]:
    """What becomes of each stretch of time under each rule: values of `Outcome`, int64 (stretches,)."""
    base = _outcome_but_for_type(reference.root[pieces.reference], estimate.root[pieces.estimate])
    chords = base >= Outcome.all_correct
    found = {}
    for rule, ours in reference.rules.items():
        quality = ours.quality[pieces.reference]
        outcome = base + (chords & (quality != estimate.rules[rule].quality[pieces.estimate]))
        outcome[quality == OUTSIDE] = Outcome.left_out
        found[rule] = outcome
    return found


def _outcome_but_for_type(reference: npt.NDArray[np.int8], estimate: npt.NDArray[np.int8]) -> Int:
    """What the roots alone decide, as if all types were equal; a different type is the next outcome for two chords."""
    outcome = np.where(reference == estimate, Outcome.all_correct.value, Outcome.type_correct.value)
    reference_silent, estimate_silent = reference == NONE, estimate == NONE
    outcome[estimate_silent] = Outcome.deleted
    outcome[reference_silent] = Outcome.inserted
    outcome[reference_silent & estimate_silent] = Outcome.correct_no_chord
    return outcome


def _distinct(pair: Int, mapped: Mapped, code: Int, pairs: int) -> Int:
    """How many different chords each pair has among labels of the given codes."""
    present: npt.NDArray[np.bool_] = np.zeros((pairs, mapped.chords), dtype=np.bool_)
    present[pair, mapped.chord[code]] = True
    return np.asarray(present.sum(axis=1), dtype=np.int64)
