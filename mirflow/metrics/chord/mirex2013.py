"""The rules by which MIREX scored chord estimation in 2013; ``docs/mirex2013.md`` writes them down."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.schema import KINDS
from ...annotations.validation import inspect
from ...errors import AnnotationError, InvalidAnnotationError, MetricError
from ...kernels.intervals import batches, merge, rank
from ...ragged import Bool, Column, Float, Int, Ragged, offsets_of, ranges, rows_of
from ...theory.spelling import NONE, SpelledTable, encode_spelled, tetrad_code, triad_code
from ..base import Cleaned, Convention, Flaw, Grid, Measure, Metric, Parameter, Scores

__all__ = [
    "CONVENTION",
    "DEFAULT_MEASURES",
    "METRICS",
    "clean",
    "evidence",
    "score",
]

RULES = ("root", "majmin", "majmin_inv", "sevenths", "sevenths_inv")
OUTSIDE: Final = -1
"""The quality of a chord that a rule has no class for."""

_MAJOR_MINOR = (triad_code("3", "5"), triad_code("b3", "5"))
_SEVENTHS = (
    tetrad_code("3", "5", None),
    tetrad_code("b3", "5", None),
    tetrad_code("3", "5", "b7"),
    tetrad_code("3", "5", "7"),
    tetrad_code("b3", "5", "b7"),
)
_BASSES = 13


@dataclass(frozen=True, slots=True)
class Mapped:
    """What one rule maps the labels of one side to.

    Parameters
    ----------
    quality : int16 (labels + 1,)
        Type, and bass where the rule has one, as one number; 0 for no chord; `OUTSIDE` where the rule has no class.
    chord : int64 (labels + 1,)
        Number of the mapped chord among the different ones of this vocabulary.
    chords : int
        How many different ones there are.
    """

    quality: npt.NDArray[np.int16]
    chord: Int
    chords: int


@dataclass(frozen=True, slots=True)
class SideVocabulary:
    """The labels of one side, ready to be compared; one more row stands for silence.

    Parameters
    ----------
    root : int8 (labels + 1,)
        Semitones above C, `NONE` for no chord.
    rules : mapping of str to Mapped
    """

    root: npt.NDArray[np.int8]
    rules: dict[str, Mapped]


def encode(labels: Sequence[str], rules: Sequence[str], *, reference: bool) -> SideVocabulary:
    """Map labels by each of the rules.

    Parameters
    ----------
    labels : sequence of str
        The last row of the result, beyond them, stands for silence.
    rules : sequence of str
        Names out of `RULES`.
    reference : bool
        A reference keeps the spelling of its degrees and is confined to the rule's classes; an estimate is neither.

    Examples
    --------
    >>> encode(["C", "C:aug", "N"], ["majmin"], reference=True).rules["majmin"].quality.tolist()
    [0, -1, 0, 0]
    """
    table = encode_spelled([*labels, "N"], spelled=reference)
    mapped = {}
    for rule in rules:
        quality = _quality(table, rule, reference)
        different, chord = np.unique(table.root.astype(np.int64) * 4096 + quality, return_inverse=True)
        mapped[rule] = Mapped(quality, chord.astype(np.int64), len(different))
    return SideVocabulary(table.root, mapped)


def _quality(table: SpelledTable, rule: str, reference: bool) -> npt.NDArray[np.int16]:
    if rule == "root":
        return np.where(table.root < NONE, OUTSIDE, 0).astype(np.int16)
    thirds = rule.startswith("majmin")
    kind = (table.triad if thirds else table.tetrad).astype(np.int16)
    quality = kind * _BASSES
    if rule.endswith("_inv"):
        quality += (table.triad_bass if thirds else table.tetrad_bass) + 1
    known = np.isin(kind, _MAJOR_MINOR if thirds else _SEVENTHS) if reference else kind != NONE
    quality[~known] = OUTSIDE
    quality[table.root == NONE] = 0
    return quality


@dataclass(frozen=True, slots=True)
class SegmentSide:
    """The segments of one side, one row a pair, with ranks of times for times.

    Parameters
    ----------
    start, end : int64 (n,)
        Positions in the sorted distinct times of both sides.
    label : int64 (n,)
    counts, offsets : int64 (pairs,), int64 (pairs + 1,)
    """

    start: Int
    end: Int
    label: Int
    counts: Int
    offsets: Int

    @property
    def last_end(self) -> Int:
        """Rank of the end of each pair's last segment; -1 for a pair without one."""
        last = np.full(len(self.counts), -1, dtype=np.int64)
        some = self.counts > 0
        last[some] = self.end[self.offsets[1:][some] - 1]
        return last

    def reached(self, bits: int) -> Int:
        """The latest end up to each segment, as ``pair << bits | rank``, which never falls along the whole array."""
        return np.maximum.accumulate(rows_of(self.counts) << bits | self.end)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The stretches of time between consecutive cut points of each pair, in order.

    Parameters
    ----------
    pair : int64 (n,)
    start, end : float64 (n,), seconds
    reference, estimate : int64 (n,)
        The label in force on each side; -1 where there is none.
    """

    pair: Int
    start: Float
    end: Float
    reference: Int
    estimate: Int


def rank_times(reference: Ragged, estimate: Ragged) -> tuple[Float, SegmentSide, SegmentSide]:
    """The sorted distinct times of both sides, 0 among them, and the sides with ranks instead of times.

    Parameters
    ----------
    reference, estimate : Ragged
        One row a pair; columns start, end (float64, seconds, not negative) and label.
    """
    fresh = _fresh_starts(reference), _fresh_starts(estimate)
    starts = (rows.columns["start"][new] for rows, new in zip((reference, estimate), fresh, strict=True))
    times, ranks = rank(np.zeros(1), reference.columns["end"], estimate.columns["end"], *starts)
    return times, _side(reference, ranks[1], ranks[3], fresh[0]), _side(estimate, ranks[2], ranks[4], fresh[1])


def _fresh_starts(rows: Ragged) -> Bool:
    """Segments that do not start at the end before them in the flat column; the others need no rank of their own."""
    start, end = rows.columns["start"], rows.columns["end"]
    fresh = np.ones(len(start), dtype=np.bool_)
    np.not_equal(start[1:], end[:-1], out=fresh[1:])
    return fresh


def _side(rows: Ragged, end: Int, fresh_start: Int, fresh: Bool) -> SegmentSide:
    start = np.empty_like(end)
    start[1:] = end[:-1]
    start[fresh] = fresh_start
    return SegmentSide(start, end, rows.columns["label"], rows.counts[0], rows.offsets)


def seconds_by(group: Int, seconds: Float, groups: int) -> Float:
    """Seconds summed in each group, one after the other in the order given: float64 (groups,)."""
    return np.asarray(np.bincount(group, weights=seconds, minlength=groups), dtype=np.float64)


def share_of(part: Float, whole: Float) -> Float:
    """The ratio of two times; 0 where there is nothing to have a share of."""
    return np.asarray(np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0))


def walk(times: Float, reference: SegmentSide, estimate: SegmentSide) -> Pieces:
    """The stretches between cut points from 0 to the end of the last reference segment, with the labels in force.

    Parameters
    ----------
    times : float64 (n,), seconds
        What the ranks stand for.
    reference, estimate : SegmentSide

    Returns
    -------
    Pieces
        Pairs without a reference have none.
    """
    bits = len(times).bit_length()
    left, left_counts, left_passed = _points(bits, reference)
    right, right_counts, right_passed = _points(bits, estimate)
    line = merge(left, left_counts, right, right_counts)
    pair, here = line.pair, line.rank
    follows = (pair[1:] == pair[:-1]) & (here[1:] > here[:-1]) & (here[1:] <= reference.last_end[pair[:-1]])
    at = np.flatnonzero(follows)
    pair, until = pair[at], here[at + 1]
    labels = (
        _in_force(reference, pair, until, left_passed[line.left[at]]),
        _in_force(estimate, pair, until, right_passed[line.right[at]]),
    )
    return Pieces(pair, times[here[at]], times[until], *labels)


def _points(bits: int, side: SegmentSide) -> tuple[Int, Int, Int]:
    """Cut points of one side: their ranks, how many each pair has, and how many segments are passed beyond each.

    A segment is passed, for good, at the latest end up to it. Starts at which the segment before has just been passed
    add nothing.
    """
    owner = rows_of(side.counts) << bits
    start, end, reached = owner | side.start, owner | side.end, side.reached(bits)
    lone = np.ones(len(start), dtype=np.bool_)
    np.not_equal(start[1:], reached[:-1], out=lone[1:])
    zero = np.arange(len(side.counts), dtype=np.int64) << bits
    keys = np.concatenate([zero << 1, start[lone] << 1, end[end != reached] << 1, reached << 1 | 1])
    keys.sort()
    counts = np.bincount(keys >> (bits + 1), minlength=len(zero)).astype(np.int64)
    return keys >> 1 & ((1 << bits) - 1), counts, np.cumsum(keys & 1)


def _in_force(side: SegmentSide, pair: Int, until: Int, passed: Int) -> Int:
    """The label up to a moment: that of the first segment not passed before it, if that has begun by then; else -1."""
    if not len(side.label):
        return np.full(len(pair), -1, dtype=np.int64)
    item = np.minimum(passed, side.offsets[1:][pair] - 1)
    return np.where((side.start[item] < until) & (until <= side.last_end[pair]), side.label[item], -1)


@dataclass(frozen=True, slots=True)
class Distances:
    """Directional Hamming distances of pairs.

    Parameters
    ----------
    under, over : float64 (pairs,)
    weight : float64 (pairs,), seconds
        What they are normalised by: the end of the last reference segment, 0 where there is none.
    """

    under: Float
    over: Float
    weight: Float

    def column(self, name: str) -> Float:
        """Scores by the metric of that name; 0 where there is no reference."""
        if name == "undersegmentation":
            return self.under
        if name == "oversegmentation":
            return self.over
        return np.where(self.weight > 0, 1 - np.maximum(self.under, self.over), 0.0)


def merge_equal(side: SegmentSide) -> SegmentSide:
    """Neighbouring segments with equal labels as one, from the first's start to the latest end, gaps included.

    Segments without length are passed over.
    """
    lasting = side.end > side.start
    owner, label, start, end = (column[lasting] for column in (rows_of(side.counts), side.label, side.start, side.end))
    opens = np.ones(len(owner), dtype=np.bool_)
    opens[1:] = (label[1:] != label[:-1]) | (owner[1:] != owner[:-1])
    first = np.flatnonzero(opens)
    counts = np.bincount(owner[first], minlength=len(side.counts)).astype(np.int64)
    latest = np.maximum.reduceat(end, first) if len(first) else end
    return SegmentSide(start[first], latest, label[first], counts, offsets_of(counts))


def silence_where_empty(side: SegmentSide, last: Int) -> SegmentSide:
    """One segment up to `last` (rank per pair) in the rows that have none."""
    empty = side.counts == 0
    if not empty.any():
        return side
    at = side.offsets[:-1][empty]
    counts = side.counts + empty
    start, end, label = (
        np.insert(side.start, at, 0),
        np.insert(side.end, at, last[empty]),
        np.insert(side.label, at, -1),
    )
    return SegmentSide(start, end, label, counts, offsets_of(counts))


def distances(times: Float, reference: SegmentSide, estimate: SegmentSide) -> Distances:
    """Under- and over-segmentation of each pair.

    Under-segmentation is the time that estimated segments share with reference segments, but for the largest share of
    each estimated segment; over-segmentation the same with the roles swapped; both up to the end of the last reference
    segment, and over it. A side without segments counts as one up to that end.

    Parameters
    ----------
    times : float64 (n,), seconds
        What the ranks stand for.
    reference, estimate : SegmentSide
    """
    last = np.maximum(reference.last_end, 0)
    end = times[last]
    reference, estimate = (silence_where_empty(merge_equal(side), last) for side in (reference, estimate))
    here, there = _neighbours(len(times).bit_length(), reference, estimate)
    pair = rows_of(estimate.counts)[here]
    starts = np.maximum(estimate.start[here], reference.start[there])
    stops = np.minimum(np.minimum(estimate.end[here], reference.end[there]), last[pair])
    shared = np.maximum(times[stops] - times[starts], 0.0)
    total = seconds_by(pair, shared, len(end))
    # Both sums round, so that their difference may fall below 0 by a unit in the last place.
    under = share_of(np.maximum(total - _largest(estimate, here, shared), 0.0), end)
    over = share_of(np.maximum(total - _largest(reference, there, shared), 0.0), end)
    return Distances(under, over, end)


def _largest(side: SegmentSide, items: Int, shared: Float) -> Float:
    """Sum over each pair's segments of the largest share that a segment has with one of the other side."""
    largest = np.zeros(len(side.start))
    np.maximum.at(largest, items, shared)
    return seconds_by(rows_of(side.counts), largest, len(side.counts))


def _neighbours(bits: int, reference: SegmentSide, estimate: SegmentSide) -> tuple[Int, Int]:
    """All (estimated, reference) segments of the same pair that may overlap; exactly those where both are in order.

    The latest end so far and the earliest start still to come are monotone even where segments are not, so that two
    searches bound the reference segments that an estimated one can meet.
    """
    reached = reference.reached(bits)
    owner = rows_of(reference.counts) << bits
    coming = np.minimum.accumulate((owner | reference.start)[::-1])[::-1]
    base = rows_of(estimate.counts) << bits
    low = np.searchsorted(reached, base | estimate.start, side="right")
    high = np.searchsorted(coming, base | estimate.end, side="left")
    counts = np.maximum(high - low, 0)
    return np.repeat(np.arange(len(low)), counts), ranges(low, counts)


_REFUSED = ("not_finite", "too_late", "negative", "reversed")
_ACCEPTED = ("zero_length", "unsorted", "overlap", "gap")


def clean(rows: Ragged) -> Cleaned:
    """Find the rows that cannot be scored, and count what is irregular in the others.

    Nothing is dropped or moved: a zero-length segment, a gap, an overlap or a row out of order means what it means to
    the walk along the timeline.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds) and label.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, negative or reversed, and labels that are not chords.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 2.0]), "end": np.array([1.0, 3.0]), "label": np.array([0, 1])},
    ...               (np.array([2]),), ("C", "G:min"))
    >>> clean(rows).repairs.tolist()
    [1]
    """
    findings = inspect(KINDS["intervals"], rows)
    owner = rows_of(rows.counts[0])
    messages: dict[int, str] = {}
    for rule in _REFUSED:
        if rule in findings:
            for item in np.flatnonzero(findings[rule].items).tolist():
                messages.setdefault(item, findings[rule].describe(rows, item))
    messages = _invalid_labels(rows) | messages
    irregular = np.zeros(len(owner), dtype=np.bool_)
    for rule in _ACCEPTED:
        if rule in findings:
            irregular |= findings[rule].items
    return _without_flawed(rows, owner, messages, irregular)


def _invalid_labels(rows: Ragged) -> dict[int, str]:
    invalid = encode_spelled(rows.labels, spelled=True).invalid
    codes = rows.columns["label"]
    missing = dict.fromkeys(np.flatnonzero(codes < 0).tolist(), "has no label; write N where there is no chord")
    if not invalid:
        return missing
    items = np.flatnonzero(np.isin(codes, list(invalid)))
    return missing | {item: invalid[code] for item, code in zip(items.tolist(), codes[items].tolist(), strict=True)}


def _without_flawed(rows: Ragged, owner: Int, messages: dict[int, str], irregular: Bool) -> Cleaned:
    """Rows with a flaw are emptied; each names its first one."""
    repairs = np.bincount(owner[irregular], minlength=len(rows)).astype(np.int64)
    if not messages:
        return Cleaned(rows, repairs)
    flaws: dict[int, Flaw] = {}
    for item in sorted(messages):
        row = int(owner[item])
        flaws.setdefault(row, Flaw(item - int(rows.offsets[row]), messages[item]))
    flawed = np.zeros(len(rows), dtype=np.bool_)
    flawed[list(flaws)] = True
    repairs[flawed] = 0
    return Cleaned(rows.keep(~flawed[owner]), repairs, flaws)


_TOOL = "MusOOEvaluator as run for MIREX 2013"
_LEFT_OUT = "0 where no reference label is in the rule's vocabulary"
_ENHARMONIC = "less where its spelling decides its class, as of A:min7(*5,b6): an estimate is read by pitch"


def _rule(name: str, alias: str, summary: str) -> Metric:
    return Metric(
        name,
        alias,
        f"share of the evaluated time on which the estimate is right: {summary}",
        "time of the reference segments in the rule's vocabulary",
        aliases=(alias,),
        recall=True,
        standard_aggregate="wcsr",
        perfect_exceptions=f"{_LEFT_OUT}; {_ENHARMONIC}",
        literature=_TOOL,
    )


_RULE_METRICS = (
    _rule("root", "MirexRoot", "same root, or both no chord"),
    _rule("majmin", "MirexMajMin", "same triad; maj, min and no chord are evaluated"),
    _rule("majmin_inv", "MirexMajMinBass", "same triad and same bass within the triad"),
    _rule("sevenths", "MirexSevenths", "same tetrad; maj, min, 7, maj7, min7 and no chord are evaluated"),
    _rule("sevenths_inv", "MirexSeventhsBass", "same tetrad and same bass within the tetrad"),
)
_RULE = Parameter("rule", "majmin", choices=RULES, help="the rule that maps chords to its vocabulary")

Orientation = Literal["higher", "lower", "none"]


def _share(name: str, title: str, orientation: Orientation, perfect: float | None, summary: str) -> Metric:
    return Metric(
        name,
        title,
        f"share of the evaluated time on which {summary}",
        "time of the reference segments in the rule's vocabulary",
        orientation=orientation,
        standard_aggregate="pooled",
        perfect=perfect,
        perfect_exceptions="" if perfect is None else _ENHARMONIC,
        parameters=(_RULE,),
        literature=_TOOL,
    )


_SHARES = (
    _share("all_correct", "All correct", "higher", None, "the reference is a chord and the estimate is right"),
    _share("root_correct", "Root correct", "none", 0.0, "both are chords with the same root but not the same type"),
    _share("type_correct", "Type correct", "none", 0.0, "both are chords with the same type but not the same root"),
    _share("all_wrong", "All wrong", "lower", 0.0, "both are chords with different roots and different types"),
    _share("deleted", "Deleted", "lower", 0.0, "the reference is a chord and the estimate is none"),
    _share("inserted", "Inserted", "lower", 0.0, "the reference is no chord and the estimate is one"),
    _share("correct_no_chord", "Correct no-chord", "none", None, "both are no chord"),
)


def _count(name: str, title: str, side: str) -> Metric:
    return Metric(
        name,
        title,
        f"number of different mapped chords of the {side}, over the evaluated time on which both sides are chords",
        "time of the reference segments in the rule's vocabulary",
        range=(0.0, float("inf")),
        orientation="none",
        unit="chords",
        pooling="none",
        perfect=None,
        parameters=(_RULE,),
        literature=_TOOL,
    )


_COUNTS = (
    _count("n_reference_chords", "Unique reference chords", "reference"),
    _count("n_estimate_chords", "Unique estimate chords", "estimate"),
)


def _hamming(name: str, title: str, orientation: Orientation, perfect: float, summary: str) -> Metric:
    # Between 0 and 1 unless segments of one side overlap each other, which the convention takes.
    return Metric(
        name,
        title,
        summary,
        "end of the reference",
        range=(0.0, float("inf")) if orientation == "lower" else (float("-inf"), 1.0),
        orientation=orientation,
        pooling="micro",
        perfect=perfect,
        perfect_exceptions="segments that overlap each other; nothing to measure gives 0",
        literature="Mauch and Dixon 2010; MusOOEvaluator, segmentation Inner, as run for MIREX 2013",
    )


_HAMMING = (
    _hamming(
        "undersegmentation",
        "Under-segmentation",
        "lower",
        0.0,
        "directional Hamming distance: time of each estimated segment outside its best reference segment",
    ),
    _hamming(
        "oversegmentation",
        "Over-segmentation",
        "lower",
        0.0,
        "directional Hamming distance: time of each reference segment outside its best estimated segment",
    ),
    _hamming("hamming_measure", "Directional Hamming measure", "higher", 1.0, "1 - the larger of the two distances"),
)

METRICS = (*_RULE_METRICS, *_SHARES, *_COUNTS, *_HAMMING)
SHARES = tuple(metric.name for metric in _SHARES)
COUNTS = tuple(metric.name for metric in _COUNTS)
HAMMING = tuple(metric.name for metric in _HAMMING)
DEFAULT_MEASURES = (
    *RULES,
    *(f"{column}@{rule}" for rule in RULES for column in (*SHARES, *COUNTS)),
    *HAMMING,
)

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
class RuleTally:
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
    times: Float,
    reference: SegmentSide,
    estimate: SegmentSide,
    sides: tuple[SideVocabulary, SideVocabulary],
    measures: Sequence[Measure],
) -> tuple[Float, Float]:
    """Scores and weights of some pairs: float64 (pairs, measures) each."""
    keys = [(rule_of(measure), measure.metric.name) for measure in measures]
    found: dict[str, RuleTally | Distances] = {}
    if sides[0].rules:
        counted = {rule for rule, name in keys if name in COUNTS}
        found |= _tally(walk(times, reference, estimate), len(reference.counts), sides, counted)
    if any(name in HAMMING for _, name in keys):
        found[""] = distances(times, reference, estimate)
    shape = (len(keys), len(reference.counts))
    scores = np.reshape([found[rule].column(name) for rule, name in keys], shape)
    return scores.T, np.reshape([found[rule].weight for rule, _ in keys], shape).T


def _tally(
    pieces: Pieces, pairs: int, sides: tuple[SideVocabulary, SideVocabulary], counted: Container[str]
) -> dict[str, RuleTally]:
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
        tallies[rule] = RuleTally(spent, spent[:, 1:].sum(axis=1), *different)
    return tallies


def outcomes(pieces: Pieces, reference: SideVocabulary, estimate: SideVocabulary) -> dict[str, Int]:
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


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The stretches between cut points that a rule judges, with the verdict on each.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind intervals.
    measure : Measure
        One of the five rules, or a column of one.

    Returns
    -------
    dict of str to array (stretches,)
        ``start``, ``end`` (float64, seconds), ``reference``, ``estimate`` (labels, N where there is none), ``verdict``
        (``right``, ``wrong`` or ``not comparable``) and ``outcome`` (the column that the time is counted in, or
        ``left_out``).

    Raises
    ------
    InvalidAnnotationError
        If a side cannot be scored or the reference is empty.
    MetricError
        If the measure compares segmentations, which have no verdict on a stretch of time.

    Examples
    --------
    >>> from mirflow.metrics.chord.mirex2013 import CONVENTION
    >>> def chords(end, label):
    ...     return Annotation("intervals", {"start": np.array([0.0]), "end": np.array([end])}, [label])
    >>> found = evidence(chords(4.0, "C:7"), chords(3.0, "C"), CONVENTION.select(["majmin"])[0])
    >>> found["end"].tolist(), found["estimate"].tolist(), found["outcome"].tolist()
    ([3.0, 4.0], ['C', 'N'], ['all_correct', 'deleted'])
    """
    (found,) = evidences(reference, [estimate], measure)
    if isinstance(found, AnnotationError):
        raise found
    return found


def evidences(
    reference: Annotation, estimates: Sequence[Annotation], measure: Measure
) -> list[dict[str, Column] | AnnotationError]:
    """What :func:`evidence` says of several estimates of a track, computed together.

    Returns
    -------
    list of dict or AnnotationError
        An error, which is not raised, stands for an estimate that cannot be scored.
    """
    rule = rule_of(measure)
    if not rule:
        raise MetricError(f"{measure} does not judge stretches of time; ask for one of the rules, such as majmin")
    cleaned = clean(to_ragged([reference]))
    for flaw in cleaned.flaws.values():
        raise _error(reference, flaw, "reference")
    if not len(cleaned.rows.columns["label"]):
        raise InvalidAnnotationError("the reference is empty, so there is nothing to explain")
    others = clean(to_ragged(estimates))
    references = cleaned.rows.take(np.zeros(len(estimates), dtype=np.int64))
    pieces = walk(*rank_times(references, others.rows))
    sides = encode(references.labels, [rule], reference=True), encode(others.rows.labels, [rule], reference=False)
    columns = _columns(pieces, outcomes(pieces, *sides)[rule], references, others.rows)
    bounds = np.searchsorted(pieces.pair, np.arange(len(estimates) + 1)).tolist()
    found: list[dict[str, Column] | AnnotationError] = [
        {name: column[first:end] for name, column in columns.items()} for first, end in pairwise(bounds)
    ]
    for place, flaw in others.flaws.items():
        found[place] = _error(estimates[place], flaw, "estimate")
    return found


def _columns(pieces: Pieces, outcome: Int, references: Ragged, estimates: Ragged) -> dict[str, Column]:
    """The evidence of all pairs, one after the other."""
    verdict = np.where(np.isin(outcome, RIGHT), "right", "wrong")
    return {
        "start": pieces.start,
        "end": pieces.end,
        "reference": _texts(references, pieces.reference),
        "estimate": _texts(estimates, pieces.estimate),
        "verdict": np.where(outcome == Outcome.left_out, "not comparable", verdict),
        "outcome": np.array([one.name for one in Outcome])[outcome],
    }


def _error(annotation: Annotation, flaw: Flaw, side: str) -> AnnotationError:
    path = annotation.attrs.get("source")
    line = annotation.line(flaw.item)
    return InvalidAnnotationError(f"{side}: {flaw.message}", path=None if path is None else str(path), line=line)


def _texts(rows: Ragged, codes: Int) -> Column:
    return np.array([*rows.labels, "N"], dtype=str)[codes]


CONVENTION = Convention(
    name="mirex2013",
    summary="the official scores of MIREX 2013: spelled degrees, a fixed vocabulary per rule, gaps are no chord",
    metrics=METRICS,
    clean=clean,
    score=score,
    grids=("union",),
    default_measures=DEFAULT_MEASURES,
    explain=evidence,
    explain_many=evidences,
)
