"""Notes of many pairs, and which of them lie within the tolerances of each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...kernels.heaviest import match_heaviest
from ...kernels.matching import match_ranges
from ...kernels.ordered import match_in_order
from ...kernels.sums import sum_by
from ...ragged import Bool, Column, Float, Int, Ragged, ranges, rows_of
from .rules import N_DECIMALS, STEP, Rule

_CENTS = 1200
_SLACK = 10.0**-N_DECIMALS
"""What rounding may add to a tolerance, in seconds, and more."""

_STEP, _STEPS = 2.0**-10, 2.0**36
"""The distance of whole numbers that stand for times, in seconds, and the largest of these numbers."""

Edges = tuple[Int, Int]
"""Reference and estimated notes that may be matched, as indices, ordered by the former."""


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of one side of some pairs, one pair after the other.

    Parameters
    ----------
    start, end : float64 (notes,), seconds
    octave : float64 (notes,)
        Logarithm of the pitch to base 2.
    counts : int64 (pairs,)
    extra : mapping of str to array (notes,)
        ``velocity`` (float64) and ``label`` (int64), as far as they are needed.
    """

    start: Float
    end: Float
    octave: Float
    counts: Int
    extra: dict[str, Column] = field(default_factory=dict)

    @property
    def pair(self) -> Int:
        """The pair of each note: int64 (notes,)."""
        return rows_of(self.counts)

    def floored(self) -> Notes:
        """The same with times rounded down; how they are computed decides which distances are just the tolerance."""
        start, end = (STEP * np.floor(times * round(1 / STEP)) for times in (self.start, self.end))
        return replace(self, start=start, end=end)

    @classmethod
    def of(cls, rows: Ragged, chosen: Int) -> Notes:
        """The notes of the chosen rows, whose pitch is given as ``octave``."""
        counts = rows.counts[0][chosen]
        items = ranges(rows.offsets[chosen], counts)
        columns = {name: column[items] for name, column in rows.columns.items()}
        own = [columns.pop(name) for name in ("start", "end", "octave")]
        return cls(own[0], own[1], own[2], counts, columns)


@dataclass(frozen=True, slots=True)
class Matches:
    """Matched notes, ordered by the reference's.

    Parameters
    ----------
    reference, estimate : int64 (matches,)
        Indices into the notes of each side.
    pair : int64 (matches,)
    """

    reference: Int
    estimate: Int
    pair: Int

    def keep(self, mask: Bool) -> Matches:
        """Those where `mask` holds."""
        return Matches(self.reference[mask], self.estimate[mask], self.pair[mask])


class Block:
    """Some pairs of transcriptions; everything that is asked for is computed once.

    Parameters
    ----------
    reference, estimate : Notes
        Of the same pairs.
    """

    def __init__(self, reference: Notes, estimate: Notes) -> None:
        self.reference, self.estimate = reference, estimate
        self._edges: dict[Rule, Edges] = {}
        self._matches: dict[Rule, Matches] = {}
        self._counts: dict[Rule, Int] = {}

    def __len__(self) -> int:
        return len(self.reference.counts)

    @cached_property
    def _floored(self) -> tuple[Notes, Notes]:
        return self.reference.floored(), self.estimate.floored()

    def edges(self, rule: Rule) -> Edges:
        """The notes that may be matched under a rule."""
        if rule not in self._edges:
            self._edges[rule] = self._find_edges(rule)
        return self._edges[rule]

    def matches(self, rule: Rule) -> Matches:
        """The largest matching of each pair that mir_eval finds: it goes through the edges note by note."""
        if rule not in self._matches:
            reference, estimate = self._edges_in_order(rule)
            found = match_in_order(estimate, reference, len(self.estimate.start), len(self.reference.start))
            self._matches[rule] = self._to_matches(reference[found], estimate[found])
        return self._matches[rule]

    def heaviest(self, rule: Rule) -> Matches:
        """The largest matching of each pair with the largest sum of overlap ratios."""
        reference, estimate = self._edges_in_order(rule)
        found = match_heaviest(reference, estimate, self.overlap_ratios(reference, estimate, rule.floored))
        return self._to_matches(reference[found], estimate[found])

    def count(self, rule: Rule) -> Int:
        """How many notes of each pair are matched: int64 (pairs,)."""
        if rule not in self._counts:
            self._counts[rule] = self._count(rule)
        return self._counts[rule]

    def _count(self, rule: Rule) -> Int:
        pair = self.matches(rule).pair if rule.pitch is not None else self._count_by_time(rule)
        return np.bincount(pair, minlength=len(self)).astype(np.int64)

    def _count_by_time(self, rule: Rule) -> Int:
        """The pairs of the reference notes that are matched where onsets or ends alone decide.

        There are many edges then, and only the number of matches is ever asked for. In order of time, the estimated
        notes that a reference note may be matched with stand side by side.
        """
        reference, estimate = self.edges(rule)
        if not len(reference):
            return reference
        times = self.estimate.end if rule.onset is None else self.estimate.start
        place = np.empty(len(times), dtype=np.int64)
        place[np.lexsort((times, self.estimate.pair))] = np.arange(len(times))
        begins = np.flatnonzero(np.append(True, reference[1:] != reference[:-1]))
        first, last = (end.reduceat(place[estimate], begins) for end in (np.minimum, np.maximum))
        return self.reference.pair[reference[begins[match_ranges(first, last + 1)]]]

    def overlap_ratios(self, reference: Int, estimate: Int, floored: bool) -> Float:
        """The time that two notes share over the time from the start of the first to the end of the last of them.

        Negative if they do not overlap: the gap over the whole time. Notes that rounding has made one and the same
        instant have ratio 1.
        """
        one, other = self._floored if floored else (self.reference, self.estimate)
        starts, ends = (one.start[reference], other.start[estimate]), (one.end[reference], other.end[estimate])
        whole = np.maximum(*ends) - np.minimum(*starts)
        shared = np.minimum(*ends) - np.maximum(*starts)
        return np.asarray(np.divide(shared, whole, out=np.ones(len(whole)), where=whole > 0))

    def sum_overlaps(self, matches: Matches, floored: bool) -> Float:
        """The sum of the overlap ratios of each pair's matched notes: float64 (pairs,)."""
        return sum_by(matches.pair, self.overlap_ratios(matches.reference, matches.estimate, floored), len(self))

    def _to_matches(self, reference: Int, estimate: Int) -> Matches:
        order = np.argsort(reference, kind="stable")
        return Matches(reference[order], estimate[order], self.reference.pair[reference[order]])

    def _edges_in_order(self, rule: Rule) -> Edges:
        """Ordered by the estimated notes too, among those of one reference note."""
        reference, estimate = self.edges(rule)
        key = reference * len(self.estimate.start) + estimate
        if (key[1:] > key[:-1]).all():
            return reference, estimate
        order = np.argsort(key)
        return reference[order], estimate[order]

    def most_edges(self, rule: Rule) -> int:
        """How many notes may lie near each other in time, before pitches are looked at: what is needed of memory."""
        one, other = self._floored if rule.floored else (self.reference, self.estimate)
        if rule.onset is not None:
            near = one.start, one.counts, other.start, other.counts, np.full(len(one.start), rule.onset)
        else:
            near = one.end, one.counts, other.end, other.counts, _of_ends(one, rule)
        return int(_reach(*near)[2].sum())

    def _find_edges(self, rule: Rule) -> Edges:
        """Conditions are added one after the other, so that rules share what they have in common."""
        one, other = self._floored if rule.floored else (self.reference, self.estimate)
        if rule.by_label:
            reference, estimate = self.edges(replace(rule, by_label=False))
            kept = one.extra["label"][reference] == other.extra["label"][estimate]
        elif rule.ratio is not None:
            tolerance = _of_ends(one, rule)
            if rule.onset is None and rule.pitch is None:
                reference, estimate = _near(one.end, one.counts, other.end, other.counts, tolerance)
            else:
                reference, estimate = self.edges(replace(rule, ratio=None, least=0.0))
            kept = _within(one.end[reference], other.end[estimate], tolerance[reference], rule)
        elif rule.pitch is not None:
            reference, estimate = self.edges(replace(rule, pitch=None, chroma=False))
            distance = np.abs(_CENTS * (one.octave[reference] - other.octave[estimate]))
            if rule.chroma:
                distance = distance % _CENTS
                distance = np.minimum(distance, _CENTS - distance)
            kept = _compare(distance, rule.pitch, rule.strict)
        else:
            tolerance = np.full(len(one.start), rule.onset)
            reference, estimate = _near(one.start, one.counts, other.start, other.counts, tolerance)
            kept = _within(one.start[reference], other.start[estimate], tolerance[reference], rule)
        return reference[kept], estimate[kept]


def _of_ends(notes: Notes, rule: Rule) -> Float:
    """The tolerance of the end of each reference note."""
    return np.asarray(np.maximum((rule.ratio or 0.0) * np.abs(notes.end - notes.start), rule.least))


def _compare(distance: Float, tolerance: Float | float, strict: bool) -> Bool:
    return np.asarray(distance < tolerance if strict else distance <= tolerance)


def _within(one: Float, other: Float, tolerance: Float, rule: Rule) -> Bool:
    """Whether times are near enough; rounded, a distance of 50 ms is one whatever the times are."""
    distance = np.abs(one - other)
    return _compare(distance if rule.floored else _rounded(distance), tolerance, rule.strict)


def _rounded(distance: Float) -> Float:
    return np.asarray(np.around(distance, N_DECIMALS), dtype=np.float64)


def _near(reference: Float, reference_counts: Int, estimate: Float, estimate_counts: Int, tolerance: Float) -> Edges:
    """All times of each pair that may lie within the tolerance of each other, and some more."""
    order, first, number = _reach(reference, reference_counts, estimate, estimate_counts, tolerance)
    return rows_of(number), order[ranges(first, number)]


def _reach(
    reference: Float, reference_counts: Int, estimate: Float, estimate_counts: Int, tolerance: Float
) -> tuple[Int, Int, Int]:
    """The same as an order of the estimates, and where in it those of each reference start and how many they are.

    They are found as integers, so that the rows of all pairs can be searched at once; others decide what is near.
    """
    if not (len(reference) and len(estimate)):
        none = np.zeros(len(reference), dtype=np.int64)
        return none[:0], none, none
    low, high = float(estimate.min()), float(estimate.max())
    step = max(_STEP, (high - low) / _STEPS)
    row = int((high - low) / step) + 1

    def key(times: Float, counts: Int) -> Int:
        return rows_of(counts) * row + ((np.clip(times, low, high) - low) / step).astype(np.int64)

    keys = key(estimate, estimate_counts)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    reach = tolerance + _SLACK + 4 * np.spacing(reference + tolerance)
    first = np.searchsorted(keys, key(reference - reach, reference_counts))
    last = np.searchsorted(keys, key(reference + reach, reference_counts), side="right")
    return order, first, np.maximum(last - first, 0)
