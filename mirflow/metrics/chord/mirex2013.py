"""Convention mirex2013 of chords: the rules of MIREX in 2013, with vocabularies, cleaning, metrics and evidence.

The rules are described in ``docs/mirex.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from ...annotations.annotation import Annotation
from ...errors import AnnotationError, MetricError
from ...kernels.intervals import batches, merge, rank
from ...kernels.ragged_ops import sum_by
from ...kernels.ratios import Scored, divide
from ...ragged import Float, Int, Ragged, offsets_of, ranges, rows_of
from ...theory.spelling import NONE, encode_spelled
from ..base import Convention, Grid, Pairs, Scores, Shared, computed_once
from ..cleaning import NO_INTERVALS, Cleaned, inspected, set_aside
from ..measures import Measure, Parameter, Weight, family, metrics_in
from .metrics import ERRORS_WITH_GAPS, Evidence, judgeable, split_pairs

RULES = ("root", "majmin", "majmin_inv", "sevenths", "sevenths_inv")
OUTSIDE: Final = -1  # The quality of chords outside the classes of a rule
_TYPES = ("C", "C:min", "C:7", "C:maj7", "C:min7")  # Types of chords that rules compare, triads first


@dataclass(frozen=True, slots=True)
class Mapped:
    """The chords to which a rule maps the labels of one side; an additional last element is for silence."""

    quality: npt.NDArray[np.int16]
    """int16 (labels + 1,): code of the type, and of the bass if the rule compares it; 0 for no chord; `OUTSIDE` if the
    rule has no class."""
    chord: Int  # Index of the mapped chord among the distinct ones of this vocabulary: int64 (labels + 1,)


@dataclass(frozen=True, slots=True)
class SideVocabulary:
    """Labels of one side and silence: roots in semitones above C or `NONE`, and the chords that rules map them to."""

    root: npt.NDArray[np.int8]
    rules: dict[str, Mapped]


def encode(labels: Sequence[str], rules: Sequence[str], *, reference: bool) -> SideVocabulary:
    """Map labels by rules named as in `RULES`; an additional last row is for silence.

    References keep the spelling of their degrees and are restricted to the rule's classes; estimates are not.

    Examples
    --------
    >>> encode(["C", "C:aug", "N"], ["majmin"], reference=True).rules["majmin"].quality.tolist()
    [0, -1, 0, 0]
    """
    table, types = encode_spelled([*labels, "N"], spelled=reference), encode_spelled(_TYPES, spelled=True)
    mapped = {}
    for rule in rules:
        if rule == "root":
            quality = np.where(table.root < NONE, OUTSIDE, 0).astype(np.int16)
        else:
            if rule.startswith("majmin"):
                kind, bass, classes = table.triad.astype(np.int16), table.triad_bass, types.triad[:2]
            else:
                kind, bass, classes = table.tetrad.astype(np.int16), table.tetrad_bass, types.tetrad
            quality = kind * 13 + (bass + 1 if rule.endswith("_inv") else 0)  # one of 12 basses, or none
            quality[~(np.isin(kind, classes) if reference else kind != NONE)] = OUTSIDE
            quality[table.root == NONE] = 0
        chord = np.unique(table.root.astype(np.int64) * 4096 + quality, return_inverse=True)[1]
        mapped[rule] = Mapped(quality, chord.astype(np.int64))
    return SideVocabulary(table.root, mapped)


@dataclass(frozen=True, slots=True)
class SegmentSide:
    """The segments of one side, one row per pair, with ranks instead of times."""

    start: Int
    end: Int  # Positions in the sorted distinct times of both sides: int64 (n,)
    label: Int  # int64 (n,)
    counts: Int
    offsets: Int  # int64 (pairs,), int64 (pairs + 1,)

    @property
    def last_end(self) -> Int:
        """Rank of the end of each pair's last segment; -1 if there is none."""
        return np.where(self.counts > 0, np.append(self.end, -1)[self.offsets[1:] - 1], -1)

    def reached(self, bits: int) -> Int:
        """Latest end up to each segment, as ``pair << bits | rank``, which never decreases."""
        return np.maximum.accumulate(rows_of(self.counts) << bits | self.end)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The stretches of time between consecutive cut points of each pair, in order of time."""

    pair: Int  # int64 (n,)
    start: Float
    end: Float  # float64 (n,), seconds
    reference: Int
    estimate: Int  # int64 (n,): label in force on each side; -1 for none


def rank_times(*sides: Ragged) -> tuple[Float, tuple[SegmentSide, ...]]:
    """Sort the distinct times of both sides, including 0, and replace times by their ranks."""
    # Segments that start at the previous end in the flat column share its rank.
    columns = [(side.columns["start"], side.columns["end"]) for side in sides]
    fresh = [np.append(True, start[1:] != end[:-1])[: len(start)] for start, end in columns]
    starts = [start[new] for new, (start, _) in zip(fresh, columns, strict=True)]
    times, (_, *ranks) = rank(np.zeros(1), *(side.columns["end"] for side in sides), *starts)
    ranked = []
    for side, new, end, fresh_start in zip(sides, fresh, ranks[: len(sides)], ranks[len(sides) :], strict=True):
        start = np.empty_like(end)
        start[1:] = end[:-1]
        start[new] = fresh_start
        ranked.append(SegmentSide(start, end, side.columns["label"], side.counts[0], side.offsets))
    return times, tuple(ranked)


def clean(rows: Ragged) -> Cleaned:
    """Find rows that cannot be scored, and count irregular items in the others.

    Nothing is dropped or moved: `Judged.pieces` defines the meaning of empty segments, gaps, overlaps and unordered
    rows. Flaws are times that are not finite, negative or reversed, and labels that are not chords.
    """
    _, problems, irregular = inspected("intervals", rows, NO_INTERVALS, ("zero_length", "unsorted", "overlap", "gap"))
    label, invalid = rows.columns["label"], encode_spelled(rows.labels, spelled=True).invalid
    if invalid:
        problems.append((np.isin(label, list(invalid)), lambda item: invalid[int(label[item])]))
    problems.append((label < 0, lambda item: "has no label; use N for no chord"))
    return set_aside(rows, problems, irregular)


class Outcome(IntEnum):
    """Outcome of one stretch of time under a rule."""

    left_out = 0
    correct_no_chord = 1
    inserted = 2
    deleted = 3
    all_correct = 4
    root_correct = 5
    type_correct = 6
    all_wrong = 7


RIGHT = [Outcome.all_correct, Outcome.correct_no_chord]


@dataclass(eq=False)
class Judged(Shared):
    """Pairs judged by the rules; each result is computed once."""

    _times: Float  # Distinct times by rank
    _sides: tuple[SegmentSide, ...]
    labels: tuple[SideVocabulary, SideVocabulary]  # Those of references and of estimates

    @cached_property
    def pieces(self) -> Pieces:
        """The stretches between cut points from 0 to the end of the last reference segment."""
        times, (reference, estimate) = self._times, self._sides
        bits = len(times).bit_length()
        zero = np.arange(len(reference.counts), dtype=np.int64) << bits
        sides = []
        for side in (reference, estimate):
            # A segment has been passed once the latest end up to it is reached. Starts that coincide with the end of
            # the previous segment add no cut points.
            owner, reached = rows_of(side.counts) << bits, side.reached(bits)
            start, end = owner | side.start, owner | side.end
            lone = np.ones(len(start), dtype=np.bool_)
            np.not_equal(start[1:], reached[:-1], out=lone[1:])
            keys = np.concatenate([zero << 1, start[lone] << 1, end[end != reached] << 1, reached << 1 | 1])
            keys.sort()
            counts = np.bincount(keys >> (bits + 1), minlength=len(zero)).astype(np.int64)
            sides.append((keys >> 1 & ((1 << bits) - 1), counts, np.cumsum(keys & 1)))
        line = merge(*sides[0][:2], *sides[1][:2])
        pair, rank = rows_of(line.counts), line.rank
        follows = (pair[1:] == pair[:-1]) & (rank[1:] > rank[:-1]) & (rank[1:] <= reference.last_end[pair[:-1]])
        at = np.flatnonzero(follows)
        pair, until = pair[at], rank[at + 1]
        labels = []
        for side, passed in ((reference, sides[0][2][line.left[at]]), (estimate, sides[1][2][line.right[at]])):
            # In force is the first segment that was not passed before the next point, if it has begun by then.
            item = np.minimum(passed, side.offsets[1:][pair] - 1)
            begun = (np.append(side.start, 0)[item] < until) & (until <= side.last_end[pair])
            labels.append(np.where(begun, np.append(side.label, -1)[item], -1))
        return Pieces(pair, times[rank[at]], times[until], labels[0], labels[1])

    @computed_once
    def distances(self) -> tuple[Float, Float, Float]:
        """Under- and over-segmentation of each pair, and the end of its last reference segment: float64 (pairs,) each.

        Under-segmentation is the time that estimated segments share with reference segments other than the one with the
        largest overlap, relative to the end of the last reference segment; over-segmentation is the same with swapped
        roles. A side without segments is treated as one segment up to that end.
        """
        times, (reference, estimate) = self._times, self._sides
        last = np.maximum(reference.last_end, 0)
        whole = times[last]
        sides = []
        for side in (reference, estimate):
            # Neighbours with equal labels are merged, from the first start to the latest end, including gaps.
            columns, lasting = (rows_of(side.counts), side.label, side.start, side.end), side.end > side.start
            owner, label, start, end = (column[lasting] for column in columns)
            opens = np.ones(len(owner), dtype=np.bool_)
            opens[1:] = (label[1:] != label[:-1]) | (owner[1:] != owner[:-1])
            first = np.flatnonzero(opens)
            counts = np.bincount(owner[first], minlength=len(side.counts)).astype(np.int64)
            latest = np.maximum.reduceat(end, first) if len(first) else end
            empty = counts == 0
            at, counts = offsets_of(counts)[:-1][empty], counts + empty
            start, label = np.insert(start[first], at, 0), np.insert(label[first], at, -1)
            sides.append(SegmentSide(start, np.insert(latest, at, last[empty]), label, counts, offsets_of(counts)))
        reference, estimate = sides
        # The latest end so far and the earliest start still to come are monotone even if segments are not sorted, so
        # that two searches bound the reference segments that an estimated one can overlap: exactly those that do if
        # both are sorted.
        bits, row = len(times).bit_length(), rows_of(estimate.counts)
        coming = np.minimum.accumulate(((rows_of(reference.counts) << bits) | reference.start)[::-1])[::-1]
        low = np.searchsorted(reference.reached(bits), row << bits | estimate.start, side="right")
        high = np.searchsorted(coming, row << bits | estimate.end, side="left")
        counts = np.maximum(high - low, 0)
        estimated, referred = np.repeat(np.arange(len(low)), counts), ranges(low, counts)
        pair = row[estimated]
        starts = np.maximum(estimate.start[estimated], reference.start[referred])
        stops = np.minimum(np.minimum(estimate.end[estimated], reference.end[referred]), last[pair])
        shared = np.maximum(times[stops] - times[starts], 0.0)
        total = sum_by(pair, shared, len(whole))
        shares = []
        for side, items in ((estimate, estimated), (reference, referred)):
            largest = np.zeros(len(side.start))
            np.maximum.at(largest, items, shared)
            # Because of rounding, the difference of the sums may be slightly below 0.
            outside = np.maximum(total - sum_by(rows_of(side.counts), largest, len(whole)), 0.0)
            shares.append(divide(outside, whole))
        return shares[0], shares[1], whole

    @cached_property
    def _by_root(self) -> Int:
        """Outcomes if all types were equal; adding 1 turns the outcome of two chords into that of different types."""
        reference, estimate = self.labels[0].root[self.pieces.reference], self.labels[1].root[self.pieces.estimate]
        outcome = np.where(reference == estimate, Outcome.all_correct.value, Outcome.type_correct.value)
        outcome[estimate == NONE] = Outcome.deleted
        outcome[reference == NONE] = Outcome.inserted
        outcome[(reference == NONE) & (estimate == NONE)] = Outcome.correct_no_chord
        return outcome

    @computed_once
    def outcomes(self, rule: str) -> Int:
        """Outcome of each stretch of time under a rule: values of `Outcome`, int64 (stretches,)."""
        quality = self.labels[0].rules[rule].quality[self.pieces.reference]
        other = self.labels[1].rules[rule].quality[self.pieces.estimate]
        outcome: Int = self._by_root + ((self._by_root >= Outcome.all_correct) & (quality != other))
        outcome[quality == OUTSIDE] = Outcome.left_out
        return outcome

    @computed_once
    def seconds(self, rule: str) -> tuple[Float, Float]:
        """Seconds of each outcome under a rule, float64 (pairs, outcomes), and evaluated seconds, float64 (pairs,)."""
        pairs = len(self._sides[0].counts)
        key = self.pieces.pair * len(Outcome) + self.outcomes(rule)
        seconds = sum_by(key, self.pieces.end - self.pieces.start, pairs * len(Outcome)).reshape(pairs, len(Outcome))
        return seconds, seconds[:, 1:].sum(axis=1)


_EVALUATED = Weight("time of the reference segments in the rule's vocabulary", "s")
_RULE = Parameter("rule", "majmin", choices=RULES, help="the rule that maps chords to its vocabulary")
_SHARE = "share of the evaluated time on which"
_ENHARMONIC = "less if its spelling decides its class, as in A:min7(*5,b6): estimates are read by pitch"


@family(
    _EVALUATED,
    {
        rule: {"title": title, "summary": f"{_SHARE} the estimate is right: {right}", "aliases": (title,)}
        for rule, title, right in (
            ("root", "MirexRoot", "same root, or both no chord"),
            ("majmin", "MirexMajMin", "same triad; maj, min and no chord are evaluated"),
            ("majmin_inv", "MirexMajMinBass", "same triad and same bass within the triad"),
            ("sevenths", "MirexSevenths", "same tetrad; maj, min, 7, maj7, min7 and no chord are evaluated"),
            ("sevenths_inv", "MirexSeventhsBass", "same tetrad and same bass within the tetrad"),
        )
    },
    recall=True,
    standard_aggregate="wcsr",
    perfect_exceptions=f"0 if no reference label is in the rule's vocabulary; {_ENHARMONIC}",
    literature="@musoo2013",
)
def recalls(name: str, judged: Judged, measure: Measure) -> Scored:
    """Share of the evaluated time on which the estimate is right, or of one outcome where the rule is a parameter."""
    seconds, whole = judged.seconds(str(measure.parameters.get("rule", name)))
    outcomes = RIGHT if name in RULES else [Outcome[name]]
    return divide(seconds[:, outcomes].sum(axis=1), whole), whole


shares = family(
    _EVALUATED,
    {
        name: {
            "title": title,
            "summary": f"{_SHARE} {what}",
            "orientation": orientation,
            "perfect": perfect,
            "perfect_exceptions": "" if perfect is None else _ENHARMONIC,
        }
        for name, title, orientation, perfect, what in (
            ("all_correct", "All correct", "higher", None, "the reference is a chord and the estimate is right"),
            ("root_correct", "Root correct", "none", 0.0, "both are chords with the same root but not the same type"),
            ("type_correct", "Type correct", "none", 0.0, "both are chords with the same type but not the same root"),
            ("all_wrong", "All wrong", "lower", 0.0, "both are chords with different roots and different types"),
            ("deleted", "Deleted", "lower", 0.0, "the reference is a chord and the estimate is not"),
            ("inserted", "Inserted", "lower", 0.0, "the reference is no chord and the estimate is one"),
            ("correct_no_chord", "Correct no-chord", "none", None, "both are no chord"),
        )
    },
    standard_aggregate="pooled",
    parameters=(_RULE,),
    literature="@musoo2013",
)(recalls.read)


@family(
    _EVALUATED,
    {
        f"n_{side}_chords": {
            "title": f"Unique {side} chords",
            "summary": f"number of different mapped chords of the {side}, over the evaluated time on which both sides "
            "are chords",
        }
        for side in ("reference", "estimate")
    },
    range=(0.0, float("inf")),
    orientation="none",
    unit="chords",
    pooling="none",
    perfect=None,
    parameters=(_RULE,),
    literature="@musoo2013",
)
def chord_counts(name: str, judged: Judged, measure: Measure) -> Scored:
    """Number of different mapped chords of a side in evaluated time with chords on both sides."""
    rule, side, pieces = str(measure["rule"]), int(name == "n_estimate_chords"), judged.pieces
    both = np.flatnonzero(judged.outcomes(rule) >= Outcome.all_correct)
    chord = judged.labels[side].rules[rule].chord
    code = (pieces.reference, pieces.estimate)[side][both]
    _, whole = judged.seconds(rule)
    present = np.zeros((len(whole), int(chord.max()) + 1), dtype=np.bool_)
    present[pieces.pair[both], chord[code]] = True
    return np.asarray(present.sum(axis=1), dtype=np.float64), whole


@family(
    Weight("end of the reference", "s"),
    {
        **{
            f"{kind}segmentation": {
                "title": f"{kind.capitalize()}-segmentation",
                "summary": f"directional Hamming distance: time of each {segments} segment",
                # Between 0 and 1 unless segments of one side overlap each other, which the convention allows.
                "range": (0.0, float("inf")),
                "orientation": "lower",
                "perfect": 0.0,
            }
            for kind, segments in (
                ("under", "estimated segment outside its best reference"),
                ("over", "reference segment outside its best estimated"),
            )
        },
        "hamming_measure": {
            "title": "Directional Hamming measure",
            "summary": "1 - the larger of the two distances",
            "range": (float("-inf"), 1.0),
        },
    },
    pooling="micro",
    perfect_exceptions="segments that overlap each other; nothing to measure gives 0",
    literature="@mauch2010; segmentation Inner of @musoo2013",
)
def segmentation(name: str, judged: Judged, measure: Measure) -> Scored:
    """Directional Hamming distances, and 1 - the larger of them."""
    under, over, end = judged.distances()
    both = np.where(end > 0, 1 - np.maximum(under, over), 0.0)
    return {"undersegmentation": under, "oversegmentation": over, "hamming_measure": both}[name], end


METRICS = metrics_in(globals())


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs by the rules of MIREX 2013: a `Scorer`; repairs count estimates that end too early."""
    asked = {str(measure.parameters.get("rule", measure.metric.name)) for measure in measures}
    rules = [rule for rule in RULES if rule in asked]
    references, estimates = pairs.references.labels, pairs.estimates.labels
    labels = encode(references, rules, reference=True), encode(estimates, rules, reference=False)
    values = np.zeros((2, len(pairs), len(measures)))
    repairs = np.zeros(len(pairs), dtype=np.int64)
    for batch in batches(pairs.sizes, 20_000):  # segments that fit into the cache
        times, sides = rank_times(*pairs[batch].lay_out())
        judged = Judged(times, sides, labels)
        for column, measure in enumerate(measures):
            values[:, batch, column] = measure.read(judged)
        repairs[batch] = (sides[1].counts > 0) & (sides[1].last_end < sides[0].last_end)
    return Scores(values[0], values[1], repairs=repairs)


def evidences(
    references: Sequence[Annotation], estimates: Sequence[Annotation], measure: Measure
) -> list[Evidence | AnnotationError]:
    """Return the stretches between cut points with their verdicts under a rule, for several pairs.

    The measure is one of the five rules, or an outcome of one. Columns are ``start``, ``end`` (seconds), ``reference``,
    ``estimate`` (labels, N for none), ``verdict`` (``right``, ``wrong`` or ``not comparable``) and ``outcome`` (the
    column to which the time is added, or ``left_out``). Pairs that cannot be scored have an AnnotationError.
    """
    rule = str(measure.parameters.get("rule", measure.metric.name))
    if rule not in RULES:
        raise MetricError(f"{measure} does not judge stretches of time; ask for one of the rules, such as majmin")

    left, right, row, errors = judgeable(clean, references, estimates)
    labels = encode(left.labels, [rule], reference=True), encode(right.labels, [rule], reference=False)
    judged = Judged(*rank_times(left.take(row), right), labels)
    pieces, outcome = judged.pieces, judged.outcomes(rule)
    verdict = np.where(np.isin(outcome, RIGHT), "right", "wrong")
    columns = {
        "start": pieces.start,
        "end": pieces.end,
        "reference": np.array([*left.labels, "N"], dtype=str)[pieces.reference],
        "estimate": np.array([*right.labels, "N"], dtype=str)[pieces.estimate],
        "verdict": np.where(outcome == Outcome.left_out, "not comparable", verdict),
        "outcome": np.array([one.name for one in Outcome])[outcome],
    }
    return split_pairs(columns, pieces.pair, len(right), errors)


CONVENTION = Convention(
    name="mirex2013",
    summary="the official scores of MIREX 2013: spelled degrees, a fixed vocabulary per rule, gaps are no chord",
    metrics=METRICS,
    clean=clean,
    score=score,
    grids=("union",),
    default_measures=(
        *(recall.measure() for recall in recalls),
        *(one.measure(rule=rule) for rule in RULES for one in (*shares, *chord_counts)),
        *(record.measure() for record in segmentation),
    ),
    explain_many=evidences,
    literature="@pauwels2013; @musoo2013",
    errors=ERRORS_WITH_GAPS,
)
