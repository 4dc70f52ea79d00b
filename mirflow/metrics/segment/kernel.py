"""Kernels of the segment metrics: intervals sampled at frames, contingency tables, boundaries, and MIREX's scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.clustering import ContingencyTables, restrict, tabulate
from ...kernels.intervals import NOTHING, Runs, batches, merge, paint, rank, single_frames_before
from ...kernels.matching import nearest
from ...kernels.ragged_ops import medians, sum_by
from ...kernels.ratios import Scored, divide, f_measure, share
from ...ragged import Bool, Float, Int, Ragged, offsets_of, ranges, rows_of
from ..base import Grid, Pairs, Scores, Shared, computed_once
from ..events import MATCHINGS
from ..measures import Measure, Value

GAP, BEFORE, AFTER = "none", "__t_min", "__t_max"
"""Labels of frames outside all intervals, and of padding before and after the intervals."""


@dataclass(frozen=True, slots=True)
class LabelledSpans:
    """Labelled intervals of many pairs."""

    start: Float
    end: Float  # float64 (intervals,), seconds
    code: Int  # Numbers of labels, in the order of the labels within each pair: int64 (intervals,)
    counts: Int  # int64 (pairs,)

    def latest(self) -> Float:
        """Latest end of each pair, 0 without intervals: float64 (pairs,), seconds."""
        return extreme(np.maximum, self.end, self.counts, 0.0)


def extreme(ufunc: np.ufunc, values: Float | Int, counts: Int, empty: float) -> Float:
    """Smallest or largest value of each row; `empty` without values."""
    if len(counts) == 1 and len(values):  # a single pair, for which calls of numpy dominate
        return np.array([ufunc.reduce(values)], dtype=np.float64)
    result = np.full(len(counts), empty)
    filled = counts > 0
    if len(values):
        result[filled] = ufunc.reduceat(values, offsets_of(counts)[:-1][filled])
    return result


@dataclass(frozen=True, slots=True)
class Codes:
    """Numbers of labels, ignoring case; `NOTHING` is the number of frames without a label."""

    of_label: Int  # int64 (labels + 1,): number of each label of a vocabulary; the last element is for missing labels
    before: int
    after: int


def encode(labels: tuple[str, ...], fold: Callable[[str], str] = str.lower) -> Codes:
    """Number the labels of one side in order, ignoring case as in mir_eval.

    Gaps are labelled ``none``, so intervals with this label belong to the same class as gaps. With ``fold=str``, labels
    are case-sensitive.
    """
    folded = [fold(label) for label in (*labels, "")]
    others = sorted({*folded, BEFORE, AFTER} - {GAP})
    number = {GAP: NOTHING, **{label: code for code, label in enumerate(others, NOTHING + 1)}}
    return Codes(np.array([number[label] for label in folded], dtype=np.int64), number[BEFORE], number[AFTER])


def take(rows: Ragged, chosen: Int, of_label: Int) -> LabelledSpans:
    """Take the intervals of rows, one row per pair."""
    counts = rows.counts[0][chosen]
    source = ranges(rows.offsets[chosen], counts)
    start, end = rows.columns["start"][source], rows.columns["end"][source]
    return LabelledSpans(start, end, of_label[rows.columns["label"][source]], counts)


def fit(sides: Sequence[LabelledSpans], codes: Sequence[Codes], limit: Float) -> tuple[LabelledSpans, LabelledSpans]:
    """Pad references to begin at 0, and crop and pad estimates to the time from 0 to a limit, which is above 0.

    An interval that starts after the limit is dropped together with all later rows; one that starts exactly at the
    limit is dropped alone. An estimate without intervals is replaced by a single one.
    """
    references, given = sides
    lead = extreme(np.minimum, references.start, references.counts, 0.0)
    every, none = np.ones(len(references.start), dtype=np.bool_), np.zeros(len(lead))
    fitted = _extend(references, every, codes[0], np.maximum(lead, 0.0), none, none)
    owner = rows_of(given.counts)
    item = np.arange(len(owner))
    late = given.start > limit[owner]
    stop = extreme(np.minimum, np.where(late, item, len(item)), given.counts, len(item))
    mask = (item < stop[owner]) & (given.start < limit[owner])
    cut = LabelledSpans(given.start, np.minimum(given.end, limit[owner]), given.code, given.counts)
    remaining = np.bincount(owner[mask], minlength=len(limit))
    lead = np.minimum(extreme(np.minimum, given.start, given.counts, np.inf), limit)
    lead = np.where((remaining == 0) & (lead <= 0), limit, np.maximum(lead, 0.0))
    last = np.maximum(extreme(np.maximum, np.where(mask, cut.end, 0.0), given.counts, 0.0), lead)
    return fitted, _extend(cut, mask, codes[1], lead, last, np.where(last < limit, limit, 0.0))


def _extend(given: LabelledSpans, kept: Bool, codes: Codes, lead: Float, last: Float, end: Float) -> LabelledSpans:
    """Keep intervals, prepending one from 0 to `lead` and appending one from `last` to `end` if not empty."""
    owner = rows_of(given.counts)[kept]
    before, after = lead > 0, end > 0
    counts = np.bincount(owner, minlength=len(lead)).astype(np.int64)
    total = counts + before + after
    offsets = offsets_of(total)
    size = int(offsets[-1])
    start, stop, code = np.zeros(size), np.empty(size), np.empty(size, dtype=np.int64)
    position = ranges(offsets[:-1] + before, counts)
    start[position], stop[position], code[position] = given.start[kept], given.end[kept], given.code[kept]
    front, back = offsets[:-1][before], offsets[1:][after] - 1
    stop[front], code[front] = lead[before], codes.before
    start[back], stop[back], code[back] = last[after], end[after], codes.after
    return LabelledSpans(start, stop, code, total)


MOST_FRAMES = 1 << 24  # Largest number of frames, up to which all integers are exact in single precision


def sample(spans: LabelledSpans, end: Float, frame_size: float) -> Runs:
    """Sample labels at frames as in mir_eval, up to an end in seconds.

    Frame k is at ``k * frame_size`` in single precision; only whole frames before the end are used. An interval
    includes the frames at its start and end, and later intervals take precedence over earlier ones.
    """
    frames = np.floor(end / frame_size).astype(np.int64)
    limit = np.repeat(end, spans.counts)
    first = single_frames_before(np.minimum(spans.start, limit), frame_size, including=False)
    stop = single_frames_before(np.minimum(spans.end, limit), frame_size, including=True)
    return paint(first, stop, spans.code, spans.counts, frames)


EXACT = "exact"  # Used instead of a frame size: durations between all boundaries of both sides


@dataclass(frozen=True, slots=True)
class Stretches:
    """The stretches between the boundaries of both sides of many pairs, in order of time."""

    pair: Int  # int64 (stretches,)
    start: Float
    end: Float  # float64 (stretches,)
    left: Int
    right: Int  # int64 (stretches,): codes of both sides; `NOTHING` outside all intervals


def find_stretches(left: LabelledSpans, right: LabelledSpans, end: Float) -> Stretches:
    """Find the stretches from 0 to the end of each pair on which either side has a label."""
    (one, other), times = paint_exactly(left, right, end)
    line = merge(one.first, one.counts, other.first, other.counts)
    until = np.empty_like(line.rank)
    until[:-1] = line.rank[1:]
    until[np.cumsum(line.counts) - 1] = one.frames
    codes = one.code[line.left], other.code[line.right]
    items = np.flatnonzero((until > line.rank) & ((codes[0] != NOTHING) | (codes[1] != NOTHING)))
    return Stretches(
        rows_of(line.counts)[items], times[line.rank[items]], times[until[items]], codes[0][items], codes[1][items]
    )


def paint_exactly(left: LabelledSpans, right: LabelledSpans, end: Float) -> tuple[tuple[Runs, Runs], Float]:
    """Visible spans of both sides up to an end, as indices into the axis of all times, and that axis.

    As with frames, later intervals take precedence over earlier ones, and times outside all intervals have the code
    `NOTHING`.
    """
    times, (*bounds, stop, _) = rank(left.start, left.end, right.start, right.end, end, np.zeros(1))
    reference = paint(bounds[0], bounds[1], left.code, left.counts, stop)
    estimate = paint(bounds[2], bounds[3], right.code, right.counts, stop)
    return (reference, estimate), times


DECIMALS = 5


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Boundaries of many pairs: distinct times in seconds, flat and ascending within a pair."""

    time: Float
    counts: Int

    def trim(self) -> Boundaries:
        """Remove the first and the last boundary of each pair."""
        counts = np.maximum(self.counts - 2, 0)
        return Boundaries(self.time[ranges(offsets_of(self.counts)[:-1] + 1, counts)], counts)


def find_boundaries(spans: LabelledSpans, decimals: int | None = DECIMALS) -> Boundaries:
    """Find the distinct times at which intervals start or end, rounded first unless `decimals` is None."""
    time = np.array([spans.start, spans.end]).ravel("F")
    if decimals is not None:
        time = time.round(decimals)
    fresh = np.ones(len(time), dtype=np.bool_)
    if len(spans.counts) == 1:  # a single pair, for which calls of numpy dominate
        if (time[1:] < time[:-1]).any():
            time.sort(kind="stable")
        np.not_equal(time[1:], time[:-1], out=fresh[1:])
        time = time[fresh]
        return Boundaries(time, np.array([len(time)], dtype=np.int64))
    pair = rows_of(2 * spans.counts)
    if ((time[1:] < time[:-1]) & (pair[1:] == pair[:-1])).any():
        time = time[np.lexsort((time, pair))]
    fresh[1:] = (time[1:] != time[:-1]) | (pair[1:] != pair[:-1])
    return Boundaries(time[fresh], np.bincount(pair[fresh], minlength=len(spans.counts)).astype(np.int64))


Three = tuple[Scored, Scored, Scored]
Given = Mapping[str, Value]  # Parameters of a measure
Both = tuple[Boundaries, Boundaries]


class PairScores(Shared):
    """Scores of pairs that several measures share, from boundaries and labels as conventions see them.

    `undefined`: agreement on pairs of frames where a side has none.
    """

    undefined = np.nan
    boundaries: Callable[[Given], Both]
    """Boundaries of both sides; a method of the rules' own class, like the next."""
    compare_labels: Callable[..., LabelAgreement]
    """Agreement of the labels of frames, or of all moments, from the values of the parameters `of_labels`."""
    of_labels: tuple[str, ...]

    def agreement(self, given: Given | Measure) -> LabelAgreement:
        """Agreement of the labels with the parameters of a measure, cached."""
        values = tuple(given[name] for name in self.of_labels)
        return self.once(("agreement", *values), lambda: self.compare_labels(*values))

    def detection(self, given: Given) -> Three:
        """Precision, recall and F-measure of boundaries, with their weights."""
        references, estimates = self.boundaries(given)
        match = MATCHINGS[str(given["matching"])]
        sides = references.time, references.counts, estimates.time, estimates.counts
        hits = match(*sides, float(given["window"])).counts
        precision, recall = share(hits, estimates.counts), share(hits, references.counts)
        return precision, recall, f_measure(precision, recall, float(given["beta"]))

    def deviation(self, given: Given) -> list[Scored]:
        """Median distances of the boundaries of each side to the nearest of the other, with their weights."""
        references, estimates = self.boundaries(given)
        sides = []
        for side, against in ((references, estimates), (estimates, references)):
            answered, time = side.counts, side.time
            if not against.counts.all():
                answered = np.where(against.counts > 0, answered, 0)
                time = time[np.repeat(against.counts > 0, side.counts)]
            distance = np.abs(time - against.time[nearest(against.time, against.counts, time, answered)])
            sides.append((medians(distance, answered, given["median"] == "upper"), side.counts.astype(np.float64)))
        return sides

    def pairwise(self, given: Given) -> Three:
        """Precision, recall and F-measure of pairs of frames of one class."""
        both, reference, estimate, _ = self.agreement(given).pairs
        precision, recall = share(both, estimate, self.undefined), share(both, reference, self.undefined)
        return precision, recall, f_measure(precision, recall, float(given["beta"]))


@dataclass(eq=False)
class LabelAgreement:
    """Sums over the contingency tables of pairs (references in the rows), computed on first use."""

    table: ContingencyTables
    hop: Float | float  # Length of a frame in seconds, for weights; 1 for tables of seconds
    exact: bool = False  # Whether the table is one of seconds: pairs of moments include pairs of a moment with itself

    @cached_property
    def squares(self) -> tuple[Float, Float, Float]:
        """Sums of squares of the cells, of the reference's classes and of the estimate's."""
        table = self.table
        left, right = (sum_by(side.pair, side.frames**2, len(table.frames)) for side in (table.left, table.right))
        return sum_by(table.pair, table.count**2, len(table.frames)), left, right

    @cached_property
    def pairs(self) -> tuple[Float, Float, Float, Float]:
        """Pairs of frames of one class on both sides, in the reference and in the estimate, and all pairs."""
        frames = self.table.frames
        if self.exact:
            both, reference, estimate = self.squares
            return both, reference, estimate, frames**2
        both, reference, estimate = ((squares - frames) / 2 for squares in self.squares)
        return both, reference, estimate, frames * (frames - 1) / 2

    @cached_property
    def information(self) -> Float:
        """Mutual information, nats."""
        table = self.table
        rows, columns = table.left.frames[table.row], table.right.frames[table.column]
        # Grouped so that a side with one class gives exactly 0 despite rounding.
        frames = np.log(table.frames[table.pair])
        gain = (np.log(table.count) - np.log(rows)) + (frames - np.log(columns))
        return np.maximum(divide(sum_by(table.pair, table.count * gain, len(table.frames)), table.frames), 0.0)

    @cached_property
    def entropies(self) -> tuple[Float, Float]:
        """Entropy of the reference's classes and of the estimate's, nats."""
        entropies, frames = [], self.table.frames
        for side in (self.table.left, self.table.right):
            surprise = np.log(frames[side.pair]) - np.log(side.frames)
            entropies.append(divide(sum_by(side.pair, side.frames * surprise, len(frames)), frames, 0.0))
        return entropies[0], entropies[1]

    @cached_property
    def conditional(self) -> tuple[Float, Float]:
        """Entropy of the reference's classes given the estimate's, and vice versa, bits."""
        table = self.table
        rows, columns = table.left.frames[table.row], table.right.frames[table.column]
        cells = np.log2(table.count)
        under, over = (
            divide(sum_by(table.pair, table.count * (np.log2(of) - cells), len(table.frames)), table.frames)
            for of in (columns, rows)
        )
        return under, over


def conditional_entropy(
    agreement: LabelAgreement,
    beta: float,
    marginal: bool,
    single_label: float,
    labels: tuple[Float, Float] | None = None,
) -> Three:
    """Over-, under-segmentation and their F-measure: 1 - conditional entropy over its maximum.

    With `marginal`, the maximum is the entropy of the classes. Otherwise it is that of equally frequent classes, whose
    number is that of the classes in use or given by `labels`. If it is 0, the score is `single_label`.
    """
    if marginal:
        most = [entropy / np.log(2) for entropy in agreement.entropies]
    else:
        sides = (agreement.table.left, agreement.table.right)
        counts = [side.counts.astype(np.float64) for side in sides] if labels is None else list(labels)
        most = [np.log2(np.maximum(count, 1.0)) for count in counts]
    under, over = (
        np.where(bits > 0, np.maximum(1 - divide(given, bits, 0.0), 0.0), single_label)
        for given, bits in zip(agreement.conditional, most, strict=True)
    )
    seconds = agreement.table.frames * agreement.hop
    precision, recall = (over, most[1] * seconds), (under, most[0] * seconds)
    return precision, recall, f_measure(precision, recall, beta)


SILENCE = ("sil", "silence", "silece", "si")  # Labels (case-sensitive) whose intervals have no boundaries


def score_as_mirex(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs by MIREX's rules: a `Scorer`. With an empty side, scores are 0 and deviations NaN.

    They are those of the tool that MIREX used, J. Paulus's MATLAB functions of 2008 and 2009, which do not pad or crop
    annotations, and sample them at a fixed number of points regardless of the length of the track.
    """
    values = np.zeros((2, len(pairs), len(measures)))
    labels = pairs.references.labels, pairs.estimates.labels
    codes = []
    for names in labels:  # in order and case-sensitively; 0 is for no label
        number = {label: code for code, label in enumerate(sorted({*names, ""}), NOTHING + 1)}
        of_label = np.array([number[label] for label in (*names, "")], dtype=np.int64)
        codes.append(Codes(of_label, len(number) + 1, len(number) + 2))
    for part in batches(pairs.sizes + 2, 1 << 13):
        (references, row), (estimates, other) = pairs[part].sides
        sides = take(references, row, codes[0].of_label), take(estimates, other, codes[1].of_label)
        scores = _MirexScores(sides, codes, labels)
        for column, measure in enumerate(measures):
            values[:, part, column] = measure.read(scores)
    return Scores(values[0], values[1])


@dataclass(eq=False)
class _MirexScores(PairScores):
    given: tuple[LabelledSpans, LabelledSpans]
    codes: Sequence[Codes]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    undefined = 0.0
    of_labels = ("extent", "points")

    def entropy(self, given: Given) -> tuple[Scored, ...]:
        """Conditional entropies over frames covered by both sides, normalised by all labels of a side."""
        agreement = self.agreement(given)
        table = agreement.table
        covered = restrict(table, (table.left.code[table.row] != NOTHING) & (table.right.code[table.column] != NOTHING))
        labels = []
        for side in self._fitted(str(given["extent"])):
            size = int(side.code.max(initial=0)) + 1
            distinct = np.unique(rows_of(side.counts) * size + side.code) // size
            labels.append(np.bincount(distinct, minlength=len(side.counts)).astype(np.float64))
        agreement, single = LabelAgreement(covered, agreement.hop), float(given["single_label"])
        scored = conditional_entropy(agreement, 1.0, False, single, (labels[0], labels[1]))
        return tuple((np.where(covered.frames == 0, 0.0, score), weight) for score, weight in scored)

    @computed_once
    def _fitted(self, extent: str) -> tuple[LabelledSpans, LabelledSpans]:
        if extent == "given":
            return self.given
        end = self.given[0].latest()
        # An estimate is not cropped to a reference of zero length.
        return fit(self.given, self.codes, np.where(end > 0, end, self.given[1].latest()))

    def boundaries(self, given: Given) -> Both:
        """Boundaries of both sides, with or without those of silence."""
        sides = []
        for side, codes, labels in zip(self._fitted(str(given["extent"])), self.codes, self.labels, strict=True):
            if given["silence"] == "ignored":
                silent = codes.of_label[:-1][[label in SILENCE for label in labels]]
                mask = ~np.isin(side.code, silent)
                counts = np.bincount(rows_of(side.counts)[mask], minlength=len(side.counts)).astype(np.int64)
                side = LabelledSpans(side.start[mask], side.end[mask], side.code[mask], counts)
            sides.append(find_boundaries(side, None))
        return sides[0], sides[1]

    def compare_labels(self, extent: str, points: int) -> LabelAgreement:
        """Agreement of the labels of points, with a class for times outside all intervals."""
        sides = self._fitted(extent)
        # Earliest and latest time of both sides, both 0 if either side is empty.
        filled = (sides[0].counts > 0) & (sides[1].counts > 0)
        first = (extreme(np.minimum, np.minimum(side.start, side.end), side.counts, 0.0) for side in sides)
        last = (extreme(np.maximum, np.maximum(side.start, side.end), side.counts, 0.0) for side in sides)
        low, high = np.where(filled, np.minimum(*first), 0.0), np.where(filled, np.maximum(*last), 0.0)
        left, right = (sample_points(side, low, high, points) for side in sides)
        return LabelAgreement(tabulate(left, right), (high - low) / (points - 1))


def sample_points(spans: LabelledSpans, first: Float, last: Float, points: int) -> Runs:
    """Sample labels between equally spaced points; an interval covers those between the points nearest to its ends.

    There is one frame less than points (at least 2), and none if the first and last point coincide. In overlaps,
    intervals whose label first occurs later in the row take precedence.
    """
    low, high = np.repeat(first, spans.counts), np.repeat(last, spans.counts)
    reach, bounds = high - low, list[Int]()
    for time in (spans.start, spans.end):
        # The earlier of two equally near points
        centre = np.clip(np.rint(divide((time - low) * (points - 1), reach)), 0, points - 1)
        candidates = np.clip(centre + np.array([[-1.0], [0.0], [1.0]]), 0, points - 1)
        distance = np.abs(low + candidates * reach / (points - 1) - time)
        bounds.append(candidates[distance.argmin(axis=0), np.arange(len(time))].astype(np.int64))
    start, stop = bounds
    owner = rows_of(spans.counts)
    over = np.zeros(len(owner), dtype=np.bool_)
    over[1:] = (start[1:] < np.maximum(stop[:-1], start[:-1])) & (owner[1:] == owner[:-1])
    code = spans.code
    if over.any():
        # In rows with overlaps, intervals are grouped by label, in order of first occurrence.
        size = int(code.max(initial=0)) + 1
        _, occurrence, label = np.unique(owner * size + code, return_index=True, return_inverse=True)
        chosen = np.isin(owner, owner[over])
        order = np.argsort(np.where(chosen, occurrence[label], np.arange(len(owner))), kind="stable")
        start, stop, code = start[order], stop[order], code[order]
    frames = np.where(last > first, points - 1, 0)
    return paint(start, np.maximum(stop, start), code, spans.counts, frames)
