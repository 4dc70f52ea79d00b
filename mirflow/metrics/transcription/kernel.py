"""Kernels of note transcription: matching of notes and velocities, scores, notes by instrument or program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ...kernels.matching import match_heaviest, match_in_order, match_ranges
from ...kernels.ratios import divide, rate
from ...ragged import Bool, Column, Float, Int, Ragged, offsets_of, ranges, rows_of
from ...theory.general_midi import DRUMS as PERCUSSION
from ...theory.general_midi import FAMILIES, PROGRAMS
from ..base import Shared, Sparse, computed_once
from ..events import ClassCounts, count_keys
from ..measures import LABELS, Measure

N_DECIMALS = 4  # Decimals to which distances in seconds are rounded before they are compared with a tolerance
STEP = 0.01  # Step in seconds to which times are rounded down instead
VELOCITY, INSTRUMENT, PROGRAM = "velocity", LABELS, "program"
"""The `needs` of metrics: equal velocities, notes by instrument, or notes by program."""
PITCHED, DRUMS, LENGTHENED = "pitched", "drums", "lengthened"
"""Parts of the notes as `needs` of metrics: without percussion, only percussion, and sufficiently long notes without
percussion.
"""
OF_PROGRAMS = MappingProxyType({PROGRAM: (PITCHED, DRUMS), PITCHED: (PITCHED,), DRUMS: (DRUMS,)})
"""Parts of the notes used by metrics of programs, by their `needs`."""
SHORTEST = 0.05  # Minimum length of the notes of `LENGTHENED`, in seconds; only this part includes notes of zero length
FLAT, FULL = "flat", "full"
GRANULARITIES = (FLAT, "midi_class", FULL)
"""Programs that count as equal: all, those of a General MIDI family, or only identical ones."""
NO_OFFSET = "_no_offset"  # Suffix of the names of metrics that ignore the ends of notes


class Rule(NamedTuple):
    """Conditions under which two notes may be matched; None disables a condition.

    Results are looked up by rules dozens of times a pair, so that they are tuples, which are hashed fast.
    """

    onset: float | None = None  # Largest distance of the onsets: float or None, seconds
    pitch: float | None = None  # Largest distance of the pitches
    ratio: float | None = None  # Largest distance of the ends as a share of the reference note's duration
    least: float = 0.0  # Minimum of the tolerance of the ends: float, seconds
    strict: bool = False  # Whether distances must be smaller than their tolerance
    chroma: bool = False  # Whether octaves are ignored
    by: str = ""  # Property that must be equal: ``label`` or a granularity of programs; empty: none
    floored: bool = False
    """Whether to round times down to multiples of `STEP`, instead of rounding distances to `N_DECIMALS`."""
    velocity: float | None = None
    """Largest distance of scaled velocities, see `agree`, by which notes that are matched without it are selected."""
    scale: float = 1.0  # Divisor of velocities before they are scaled


Parts = tuple[tuple[str, Rule], ...]  # Parts of the notes with their conditions


def parts_of(measure: Measure, part: str = "") -> Parts:
    """Parts of the notes used by a measure, with its conditions; `part` is the default part, empty: all notes."""
    parts: Parts | None = measure.derived.get(part)
    if parts is None:
        parameters, needs = measure.parameters, measure.metric.needs
        numbers = {name: float(value) for name, value in parameters.items() if not isinstance(value, str)}
        both = numbers.get("tolerance")  # for onsets and, as a minimum, for ends
        rule = Rule(
            numbers.get("onset_tolerance", both),
            numbers.get("pitch_tolerance"),
            numbers.get("offset_ratio"),
            numbers.get("offset_min_tolerance", both or 0.0),
            bool(parameters["strict"]),
            bool(parameters.get("chroma", False)),
            "label" if needs == INSTRUMENT else str(parameters.get("granularity", "")).replace(FLAT, ""),
            parameters["rounding"] == "times",
            numbers.get("velocity_tolerance"),
            numbers.get("velocity_scale", 1.0),
        )
        if needs in OF_PROGRAMS:
            # The ends of percussion are ignored, and each of its programs is another kit.
            rules = {PITCHED: rule, DRUMS: rule._replace(ratio=None, least=0.0, by=FULL)}
            parts = tuple((name, rules[name]) for name in OF_PROGRAMS[needs])
        else:
            parts = ((LENGTHENED if needs == LENGTHENED else part, rule),)
        measure.derived[part] = parts
    return parts


_CENTS = 1200
_SLACK = 10.0**-N_DECIMALS
"""Upper bound of the increase of a tolerance by rounding, in seconds."""

_STEP, _STEPS = 2.0**-10, 2.0**36
"""Resolution of times represented as integers, in seconds, and the largest of these integers."""

Edges = tuple[Int, Int]  # Indices of reference and estimated notes that may be matched, ordered by the former


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of one side of pairs, concatenated."""

    start: Float
    end: Float
    """float64 (notes,), seconds."""
    octave: Float  # Base-2 logarithm of the pitch: float64 (notes,)
    counts: Int  # int64 (pairs,)
    extra: dict[str, Column] = field(default_factory=dict)
    """``velocity`` (float64), ``label`` and `GRANULARITIES` (int64) and ``drum`` (bool), if needed."""

    @property
    def pair(self) -> Int:
        """The pair of each note: int64 (notes,)."""
        return rows_of(self.counts)

    def part(self, name: str) -> Notes:
        """Select a part of the notes, which requires ``drum``."""
        items = self.places(name)
        counts = np.bincount(self.pair[items], minlength=len(self.counts)).astype(np.int64)
        start, end, octave = (column[items] for column in (self.start, self.end, self.octave))
        if name == LENGTHENED:
            end = np.where(end - start < SHORTEST, start + SHORTEST, end)
        return Notes(start, end, octave, counts, {key: column[items] for key, column in self.extra.items()})

    def places(self, name: str) -> Int:
        """Indices of the notes of a part; of all notes if the name is empty."""
        if not name:
            return np.arange(len(self.start))
        some = (self.end > self.start) | (name == LENGTHENED)
        return np.flatnonzero(some & (self.extra["drum"] == (name == DRUMS)))

    @classmethod
    def of(cls, rows: Ragged, chosen: Int) -> Notes:
        """Take the notes of rows, whose pitch is given as ``octave``."""
        counts, offsets = rows.counts[0][chosen], rows.offsets
        neighbours = len(chosen) > 0 and bool((chosen[1:] - chosen[:-1] == 1).all())
        items = slice(offsets[chosen[0]], offsets[chosen[-1] + 1]) if neighbours else ranges(offsets[chosen], counts)
        columns = {name: column[items] for name, column in rows.columns.items()}
        own = [columns.pop(name) for name in ("start", "end", "octave")]
        return cls(own[0], own[1], own[2], counts, columns)


@dataclass(frozen=True, slots=True)
class Matches:
    """Matched notes, ordered by the reference: indices into the notes of each side, and the pair of each."""

    reference: Int
    estimate: Int
    pair: Int

    def keep(self, mask: Bool) -> Matches:
        """Select matches by a mask."""
        return Matches(self.reference[mask], self.estimate[mask], self.pair[mask])


@dataclass(eq=False)
class NoteBatch(Shared):
    """Pairs of transcriptions with cached results."""

    reference: Notes
    estimate: Notes
    with_velocity: Bool | None = None  # Mask of the pairs whose velocities are all known; None: all
    usual: str = ""  # Default part of the notes

    def __len__(self) -> int:
        return len(self.reference.counts)

    @computed_once
    def _sides(self, floored: bool) -> tuple[Notes, Notes]:
        """Both sides, with times rounded down if `floored`."""
        if not floored:
            return self.reference, self.estimate
        rate = round(1 / STEP)  # decides which distances exactly equal the tolerance
        left, right = (
            replace(notes, start=STEP * np.floor(notes.start * rate), end=STEP * np.floor(notes.end * rate))
            for notes in (self.reference, self.estimate)
        )
        return left, right

    def part(self, name: str) -> NoteBatch:
        """Select a part of the notes of all pairs; all notes if the name is empty."""
        if not name:
            return self
        return self.once(
            ("part", name), lambda: NoteBatch(self.reference.part(name), self.estimate.part(name), self.with_velocity)
        )

    @computed_once
    def matches(self, rule: Rule, heaviest: bool) -> Matches:
        """The largest matching of each pair: that of mir_eval, or the one with the largest sum of overlap ratios."""
        if rule.velocity is not None:
            matches = self.matches(rule._replace(velocity=None, scale=1.0), heaviest)
            if self.with_velocity is not None:
                matches = matches.keep(self.with_velocity[matches.pair])
            return matches.keep(agree(self.reference, self.estimate, matches, rule.velocity, rule.scale))
        reference, estimate = self.edges(rule)
        # mir_eval processes edges note by note.
        key = reference * len(self.estimate.start) + estimate
        if not (key[1:] > key[:-1]).all():
            order = np.argsort(key)
            reference, estimate = reference[order], estimate[order]
        if heaviest:
            edge = match_heaviest(reference, estimate, self.overlap_ratios(reference, estimate, rule.floored))
        else:
            edge = match_in_order(estimate, reference, len(self.estimate.start), len(self.reference.start))
        reference, estimate = reference[edge], estimate[edge]
        order = np.argsort(reference, kind="stable")
        return Matches(reference[order], estimate[order], self.reference.pair[reference[order]])

    @computed_once
    def count(self, rule: Rule) -> Int:
        """Numbers of matched notes: int64 (pairs,)."""
        if rule.pitch is not None:
            return np.bincount(self.matches(rule, False).pair, minlength=len(self)).astype(np.int64)
        # If only onsets or only ends are compared, there are many edges, of which only the number of matches is needed.
        # In order of time, the candidates of a reference note are consecutive.
        reference, estimate = self.edges(rule)
        if not len(reference):
            return np.zeros(len(self), dtype=np.int64)
        times = self.estimate.end if rule.onset is None else self.estimate.start
        rank = np.empty(len(times), dtype=np.int64)
        alone = len(self) == 1
        order = times.argsort(kind="stable") if alone else np.lexsort((times, self.estimate.pair))
        rank[order] = np.arange(len(times))
        fresh = np.ones(len(reference), dtype=np.bool_)
        np.not_equal(reference[1:], reference[:-1], out=fresh[1:])
        begins = fresh.nonzero()[0]
        first, last = (end.reduceat(rank[estimate], begins) for end in (np.minimum, np.maximum))
        pair = self.reference.pair[reference[begins[match_ranges(first, last + 1)]]]
        return np.bincount(pair, minlength=len(self)).astype(np.int64)

    def overlap_ratios(self, reference: Int, estimate: Int, floored: bool) -> Float:
        """Overlap of two notes over the time from the first start to the last end.

        Negative if they do not overlap: minus the gap over the whole time. Two notes that rounding has reduced to the
        same instant have ratio 1.
        """
        one, other = self._sides(floored)
        starts, ends = (one.start[reference], other.start[estimate]), (one.end[reference], other.end[estimate])
        whole = np.maximum(*ends) - np.minimum(*starts)
        shared = np.minimum(*ends) - np.maximum(*starts)
        return divide(shared, whole, 1.0)

    def most_edges(self, rule: Rule) -> int:
        """Number of pairs of notes that are close in time, ignoring pitch, which determines the memory needed."""
        one, other = self._sides(rule.floored)
        times, other_times, tolerance = _times_of(rule, one, other, rule.onset is None)
        return int(_reach(times, one.counts, other_times, other.counts, tolerance)[2].sum())

    @computed_once
    def edges(self, rule: Rule) -> Edges:
        """The notes that may be matched under a rule; conditions are added in turn, so that rules share results."""
        one, other = self._sides(rule.floored)
        tolerance: Float | float
        if rule.by:
            reference, estimate = self.edges(rule._replace(by=""))
            kept: Bool = one.extra[rule.by][reference] == other.extra[rule.by][estimate]
            return reference[kept], estimate[kept]
        if rule.pitch is not None and rule.ratio is None:
            reference, estimate = self.edges(rule._replace(pitch=None, chroma=False))
            distance: Float = np.abs(_CENTS * (one.octave[reference] - other.octave[estimate]))
            if rule.chroma:
                distance = distance % _CENTS
                distance = np.minimum(distance, _CENTS - distance)
            tolerance = rule.pitch
        else:
            times, other_times, reach = _times_of(rule, one, other, rule.ratio is not None)
            if rule.ratio is not None and (rule.onset is not None or rule.pitch is not None):
                reference, estimate = self.edges(rule._replace(ratio=None, least=0.0))
            else:  # candidates are a superset of the times of each pair that are within the tolerance
                if len(self) == 1:  # a single pair needs no keys
                    order = other_times.argsort(kind="stable")
                    ascending, farthest = other_times[order], reach + _SLACK + 4 * np.spacing(times + reach)
                    first = ascending.searchsorted(times - farthest)
                    number = np.maximum(ascending.searchsorted(times + farthest, side="right") - first, 0)
                else:
                    order, first, number = _reach(times, one.counts, other_times, other.counts, reach)
                reference, estimate = rows_of(number), order[ranges(first, number)]
            distance, tolerance = np.abs(times[reference] - other_times[estimate]), reach[reference]
            if not rule.floored:  # rounded, so that equal distances compare equally wherever the times are
                np.around(distance, N_DECIMALS, out=distance)
        kept = distance < tolerance if rule.strict else distance <= tolerance
        return reference[kept], estimate[kept]


def _times_of(rule: Rule, one: Notes, other: Notes, ends: bool) -> tuple[Float, Float, Float]:
    """Onsets or ends of both sides, and the tolerance of each of the reference."""
    if not ends:
        return one.start, other.start, np.full(len(one.start), rule.onset)
    return one.end, other.end, np.maximum((rule.ratio or 0.0) * np.abs(one.end - one.start), rule.least)


def _reach(
    reference: Float, reference_counts: Int, estimate: Float, estimate_counts: Int, tolerance: Float
) -> tuple[Int, Int, Int]:
    """Sort the estimates, and find the first candidate of each reference and the number of candidates.

    Times are compared as integers, so that all pairs can be searched at once; `NoteBatch.edges` makes the decision.
    """
    if not (len(reference) and len(estimate)):
        none = np.zeros(len(reference), dtype=np.int64)
        return none[:0], none, none
    low, high = float(estimate.min()), float(estimate.max())
    step = max(_STEP, (high - low) / _STEPS)
    row = int((high - low) / step) + 1
    # Distance that includes all times that are within the tolerance after rounding.
    reach = tolerance + _SLACK + 4 * np.spacing(reference + tolerance)
    sides = (estimate, estimate_counts), (reference - reach, reference_counts), (reference + reach, reference_counts)
    keys, earliest, latest = (
        rows_of(counts) * row + ((np.clip(times, low, high) - low) / step).astype(np.int64) for times, counts in sides
    )
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first, last = np.searchsorted(keys, earliest), np.searchsorted(keys, latest, side="right")
    return order, first, np.maximum(last - first, 0)


def agree(reference: Notes, estimate: Notes, matches: Matches, tolerance: float, scale: float = 1.0) -> Bool:
    """Mask of matched notes whose velocities agree: bool (matches,).

    Velocities are divided by a scale. Those of the reference are then scaled to [0, 1] for each pair (unless they
    differ by less than 1), and those of the estimate are mapped to them by a line fitted to the matched notes by least
    squares. The results must differ by less than the tolerance.
    Source: C. Hawthorne et al., "Onsets and frames: dual-objective piano transcription", ISMIR 2018.
    """
    velocity, filled = reference.extra["velocity"] / scale, reference.counts > 0
    if filled.any():
        starts, number = offsets_of(reference.counts)[:-1][filled], reference.counts[filled]
        low, high = np.minimum.reduceat(velocity, starts), np.maximum.reduceat(velocity, starts)
        with np.errstate(invalid="ignore"):  # velocities of refused rows are NaN
            velocity = (velocity - np.repeat(low, number)) / np.repeat(np.maximum(1, high - low), number)
    wanted = velocity[matches.reference]
    scaled = estimate.extra["velocity"][matches.estimate] / scale
    near = np.zeros(len(wanted), dtype=np.bool_)
    ends = offsets_of(np.bincount(matches.pair, minlength=len(reference.counts)))
    for begin, end in pairwise(ends.tolist()):
        if begin < end:
            # Distances of exactly the tolerance are common because velocities are small integers. How they are rounded
            # depends on the computation of the line, so the solver is the same as in mir_eval and not vectorised over
            # pairs.
            design = np.vstack([scaled[begin:end], np.ones(end - begin)]).T
            slope, intercept = np.linalg.lstsq(design, wanted[begin:end], rcond=None)[0]
            near[begin:end] = np.abs(slope * scaled[begin:end] + intercept - wanted[begin:end]) < tolerance
    return near


SHOWN: Mapping[str, str] = MappingProxyType({"": "start", "_end": "end", "_pitch": "pitch"})
"""Suffixes of columns of evidence, and the columns of notes that they show."""


def show_notes(
    rows: tuple[Ragged, Ragged], matched: Sequence[Int], compared: Sequence[Int], shown_as: Mapping[str, str] = SHOWN
) -> dict[str, Column]:
    """Tabulate the notes of a pair with verdicts; see :func:`mirflow.metrics.transcription.metrics.evidence`.

    Both sides have a single row. Indices of both sides are those of matched notes, and of all that are compared.
    """
    hits, right = matched
    missed, extra = (np.setdiff1d(notes, taken) for notes, taken in zip(compared, matched, strict=True))
    shown: dict[str, Column] = {}
    no_reference, no_estimate = np.full(len(extra), np.nan), np.full(len(missed), np.nan)
    for ending, name in shown_as.items():
        one, other = (side.columns[name] for side in rows)
        shown[f"reference{ending}"] = np.concatenate([one[hits], one[missed], no_reference])
        shown[f"estimate{ending}"] = np.concatenate([other[right], no_estimate, other[extra]])
    shown["verdict"] = np.repeat(["hit", "missed", "extra"], [len(hits), len(missed), len(extra)])
    order = np.argsort(np.where(np.isnan(shown["reference"]), shown["estimate"], shown["reference"]), kind="stable")
    return {name: column[order] for name, column in shown.items()}


UNNAMED = ""  # Instrument of notes without a label
Counted = tuple[ClassCounts, tuple[str, ...]]  # Counts by instrument, and the names of all instruments


def count_instruments(block: NoteBatch, parts: Parts, first: int) -> ClassCounts:
    """Match the notes of each instrument of each pair of a block, in some parts of the notes.

    `first` is the index of the block's first pair in the whole call.
    """
    blocks = []
    for part, rule in parts:
        notes = block.part(part)
        matches = notes.matches(rule, False)
        sides = notes.reference, notes.estimate
        numbers = [side.extra[rule.by or FLAT] for side in sides]
        names = 1 + max(int(number.max(initial=0)) for number in numbers)
        keys = [side.pair * names + number for side, number in zip(sides, numbers, strict=True)]
        distinct, counted = count_keys([keys[0][matches.reference], *keys])
        blocks.append(ClassCounts(distinct // names + first, distinct % names, *counted))
    counts = ClassCounts.join(blocks)
    return counts if len(parts) == 1 else counts.take(np.lexsort((counts.number, counts.pair)))


def number_programs(rows: Ragged) -> dict[str, Column]:
    """Number the programs of notes under each granularity, int64, and mark percussion (``drum``).

    Programs of percussion, which are kits, follow all others. Invalid programs are 0.
    """
    drum = column_of(rows, "drum") > 0
    program = np.clip(np.nan_to_num(column_of(rows, "program")), 0, len(PROGRAMS) - 1).astype(np.int64)
    size = len(PROGRAMS) // len(FAMILIES)
    numbers = dict(zip(GRANULARITIES, (np.zeros_like(program), size * (program // size), program), strict=True))
    columns: dict[str, Column] = {
        name: np.where(drum, len(PROGRAMS) + program, number) for name, number in numbers.items()
    }
    return columns | {"drum": drum}


def column_of(rows: Ragged, name: str) -> Float:
    """A column of notes; NaN where it is missing."""
    column: Float = rows.columns.get(name, np.full(len(rows.columns["start"]), np.nan))
    return column


_KITS = (PERCUSSION, *(f"{PERCUSSION} (program {kit})" for kit in range(1, len(PROGRAMS))))
_FAMILY_NAMES = [FAMILIES[program // 8] for program in range(len(PROGRAMS))]
PROGRAM_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        granularity: (*pitched, *_KITS)
        for granularity, pitched in zip(
            GRANULARITIES, (["Pitched"] * len(PROGRAMS), _FAMILY_NAMES, PROGRAMS), strict=True
        )
    }
)
"""Names of the numbers of `number_programs` by granularity."""


def read_instruments(what: str, counted: Counted, measure: Measure) -> Sparse:
    """Score of each instrument along the dim ``instrument``, NaN without notes to score, or ``counts`` of notes."""
    counts, names = counted
    if what == "counts":  # numbers of matched, reference and estimated notes
        return counts.tabulate(names, "instrument", "notes")
    beta = float(measure.parameters.get("beta", 1.0))
    score, weight = rate(what, counts.matched, counts.reference, counts.estimate, beta=beta)
    number, labels = counts.used(names)
    mask = weight > 0
    attrs = {"long_name": "score by instrument", "units": "1"}
    index = np.column_stack([counts.pair, number])[mask]
    return Sparse(("instrument",), (labels,), index, score[mask], attrs, float("nan"))
