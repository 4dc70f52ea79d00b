"""Convention madmom of chords: five rules on chords reduced to triads or tetrads, and segmentation of merged chords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation
from ...errors import AnnotationError, MetricError
from ...kernels.ragged_ops import sum_by
from ...kernels.ratios import Scored, divide
from ...ragged import Column, Float, Int, Ragged
from ...theory.chords import OCTAVE, encode_vocabulary, quality_semitones
from ...theory.harte import (
    CHORD_RE,
    NO_CHORD,
    X_CHORD,
    InvalidChordException,
    pitch_class_to_semitone,
    scale_degree_to_semitone,
)
from ..base import Convention, Grid, Pairs, Scores
from ..cleaning import NO_TIMES
from ..measures import Measure, Weight, family, metrics_in
from .kernel import Totals, cut, fragmented, lay_out
from .metrics import Evidence, clean, judgeable, segmentation, segments_of, sort_out
from .rules import Chords

_EXTENDED: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"9": (2,), "maj9": (2,), "min9": (2,), "11": (2, 5), "min11": (2, 5), "13": (9,), "maj13": (9,), "min13": (9,)}
)
"""Semitones of extended qualities in addition to :data:`mirflow.theory.chords.QUALITIES`; a thirteenth has no ninth."""

_NOTHING, _EVERYTHING = (0,) * OCTAVE, (1,) * OCTAVE


@dataclass(frozen=True, slots=True)
class Chord:
    """A chord: root above C (-1: none), bass above the root (-1: none), and 1 for each sounding semitone."""

    root: int
    bass: int
    sounding: tuple[int, ...]


NO_CHORD_CODE, X_CHORD_CODE = Chord(-1, -1, _NOTHING), Chord(-1, -1, _EVERYTHING)


@lru_cache(maxsize=1 << 16)
def encode(label: str) -> Chord:
    """Encode a chord label as madmom does; invalid labels are no chord.

    Degrees are added and removed in written order, within the octave, and the bass is one of the sounding tones.

    Examples
    --------
    >>> encode("C:maj(*3)/5")
    Chord(root=0, bass=7, sounding=(1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0))
    """
    if label == X_CHORD:
        return X_CHORD_CODE
    match = CHORD_RE.match(label)
    if match is None or label == NO_CHORD:
        return NO_CHORD_CODE
    quality, degrees = match["quality"] or "", (match["degrees"] or "")[1:-1]
    if not quality and not degrees:
        quality = "maj"
    try:
        sounding = quality_semitones(quality)
    except InvalidChordException:
        return NO_CHORD_CODE
    for semitone in _EXTENDED.get(quality, ()):
        sounding[semitone] = 1
    for degree in filter(None, degrees.split(",")):
        sounding[scale_degree_to_semitone(degree.removeprefix("*")) % OCTAVE] = int(not degree.startswith("*"))
    bass = scale_degree_to_semitone(match["bass"] or "1") % OCTAVE
    sounding[bass] = 1
    return Chord(pitch_class_to_semitone(match["root"]), bass, tuple(sounding))


_MINOR, _MAJOR, _SECOND, _FOURTH = 3, 4, 2, 5


def reduce(chord: Chord, tetrads: bool, with_bass: bool) -> Chord:
    """Reduce a chord to its third (or second or fourth), fifth and, for tetrads, sixth or seventh.

    A major third takes precedence over a minor one, and a third over a second or fourth, of which only one is kept. A
    perfect fifth takes precedence over altered ones, an augmented over a diminished one above a major third, and vice
    versa above a minor third; a missing fifth is perfect. A minor seventh takes precedence over a major one, and that
    over a sixth. If all tones are unknown (X), the result is a major triad or a dominant seventh chord without a root.
    """
    on = chord.sounding
    tops: tuple[int, ...] = ()
    if on == _NOTHING:
        return chord
    if on[_MAJOR] or on[_MINOR]:
        third, first, second = (_MAJOR, 8, 6) if on[_MAJOR] else (_MINOR, 6, 8)
        altered = 0 if on[7] else first if on[first] else second if on[second] else 0
        tones = [0, third, altered or 7]
        diminished = third == _MINOR and altered == 6
        tops = (10, 9) if diminished else (10, 11) if altered else (10, 11, 9)
    elif on[_SECOND] != on[_FOURTH]:
        tones, tops = [0, _SECOND if on[_SECOND] else _FOURTH, 7], (10, 11, 9)
    else:
        tones = [0, 7] if on[0] and on[7] else [0]
    if tetrads:
        tones += [top for top in tops if on[top]][:1]
    sounding = tuple(int(semitone in tones) for semitone in range(OCTAVE))
    keeps = with_bass and chord.bass >= 0 and sounding[chord.bass]
    return Chord(chord.root, chord.bass if keeps else 0, sounding)


_TRIADS = ("maj", "min")
_SEVENTHS = (*_TRIADS, "7", "min7", "maj7")
_VOCABULARIES: Mapping[bool, frozenset[tuple[int, ...]]] = MappingProxyType(
    {
        tetrads: frozenset([_NOTHING, *(tuple(quality_semitones(name)) for name in names)])
        for tetrads, names in ((False, _TRIADS), (True, _SEVENTHS))
    }
)
"""Vocabularies of compared references, by whether chords are tetrads."""

_FORMS = {f"{name}{bass}": (name == "sevenths", bool(bass)) for name in ("majmin", "sevenths") for bass in ("", "_inv")}
RULES: Mapping[str, tuple[bool, bool] | None] = MappingProxyType({"root": None, **_FORMS})
"""Whether chords are reduced to tetrads, and keep their bass; None: roots are compared."""


def _numbered(chords: Iterable[Chord]) -> Int:
    numbers: dict[Chord, int] = {}
    return np.array([numbers.setdefault(chord, len(numbers)) for chord in chords], dtype=np.int64)


class Distinct:
    """The distinct chords of two sides."""

    def __init__(self, references: Ragged, estimates: Ragged) -> None:
        vocabulary = list(dict.fromkeys([NO_CHORD, *references.labels, *estimates.labels]))
        index = {label: number for number, label in enumerate(vocabulary)}
        self._chords = [encode(label) for label in vocabulary]
        sides = [
            np.array([index[label] for label in (*side.labels, NO_CHORD)])[np.append(side.columns["label"], -1)]
            for side in (references, estimates)
        ]
        self.chords = Chords(encode_vocabulary([NO_CHORD] * len(vocabulary)), _numbered(self._chords), *sides)
        self._rules: dict[str, tuple[Int, Column]] = {}

    def judge(self, rule: str, reference: Int, estimate: Int) -> Int:
        """1 if an estimate is right, 0 if it is wrong, -1 if the reference is not compared: int64 (n,)."""
        if rule not in self._rules:
            form = RULES[rule]
            roots = np.array([chord.root for chord in self._chords], dtype=np.int64)
            self._rules[rule] = roots, np.ones(len(roots), dtype=np.bool_)
            if form is not None:
                reduced = [reduce(chord, *form) for chord in self._chords]
                compared = [chord.sounding in _VOCABULARIES[form[0]] for chord in reduced]
                self._rules[rule] = _numbered(reduced), np.array(compared, dtype=np.bool_)
        code, compared_chords = self._rules[rule]
        return np.where(compared_chords[reference], (code[reference] == code[estimate]).astype(np.int64), -1)


@family(
    Weight("comparable seconds: reference segments inside the rule's vocabulary", "s"),
    {
        rule: {"title": title, "summary": f"share of the comparable time on which {right}", "aliases": aliases}
        for rule, title, right, aliases in (
            ("root", "Root", "roots are equal; N and X both have none", ()),
            ("majmin", "Major/minor", "the triads are equal; references are major, minor or N", ("MajMin",)),
            ("majmin_inv", "Major/minor with bass", "triads are equal, and so is a bass in them", ("majminbass",)),
            ("sevenths", "Sevenths", "tetrads are equal, where the reference is maj, min, 7, min7, maj7 or N", ()),
            ("sevenths_inv", "Sevenths with bass", "tetrads are equal, and so is a bass in them", ("seventhsbass",)),
        )
    },
    standard_aggregate="wcsr",
    recall=True,
    perfect_exceptions="NaN if no reference label is in the rule's vocabulary",
    literature="@bock2016madmom; @pauwels2013",
)
def recalls(rule: str, totals: Totals, measure: Measure) -> Scored:
    """Right seconds over comparable seconds under one rule."""
    right, comparable = totals.rules[rule]
    return divide(right, comparable, np.nan), comparable


_PIECES = family(
    Weight("length of the reference", "s"),
    {
        name: {"name": f"{title.replace('-', '').lower()}", "title": title, "summary": summary, "aliases": (name,)}
        for name, title, summary in (
            ("underseg", "Under-segmentation", "1 - share of the estimate's runs outside their largest pieces"),
            ("overseg", "Over-segmentation", "1 - share of the reference's runs outside their largest pieces"),
            ("seg", "Segmentation", "the smaller of over-segmentation and under-segmentation"),
        )
    },
    pooling="micro",
    literature="@bock2016madmom; section 8.3.2 of @harte2010",
)(segmentation.read)

METRICS = metrics_in({"recalls": recalls, "pieces": _PIECES})
OUTSIDE = "the reference has no chord in the rule's vocabulary, so there is nothing to compare"


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs by madmom's rules: a `Scorer`.

    An empty estimate is no chord throughout; an empty reference has score 0 and weight 0. The score is NaN if no chord
    of the reference can be compared.
    """
    distinct = Distinct(pairs.references, pairs.estimates)
    refused, scorable, sides, rows = sort_out(pairs, distinct.chords, merging=True)
    axis = replace(lay_out(sides, *rows, distinct.chords.merged), stretched=True)
    rules = [measure.metric.name for measure in measures if measure.metric.recall]
    sums: dict[str, list[tuple[Float, Float]]] = {name: [(np.zeros(0), np.zeros(0))] for name in (*rules, "pieces")}
    for batch in cut(axis):
        sums["pieces"].append(fragmented(batch))
        for rule in rules:
            verdict = distinct.judge(rule, batch.reference_chord, batch.estimate_chord)
            right, compared = (np.where(mask, batch.seconds, 0.0) for mask in (verdict == 1, verdict >= 0))
            sums[rule].append((sum_by(batch.pair, right, batch.size), sum_by(batch.pair, compared, batch.size)))
    joined: dict[str, Any] = {name: (*map(np.concatenate, zip(*parts, strict=True)),) for name, parts in sums.items()}
    totals = Totals(axis.span, axis.span, joined, joined["pieces"], {})
    values = np.zeros((2, len(pairs), len(measures)))
    for column, measure in enumerate(measures):
        values[:, scorable, column] = measure.read(totals)
    values[0, list(refused)] = np.nan
    nothing = np.isnan(values[0]).any(axis=1)
    nothing[list(refused)] = False
    repairs = np.zeros(len(pairs), dtype=np.int64)
    repairs[scorable] = axis.ragged_ends
    partly = dict.fromkeys(np.flatnonzero(nothing).tolist(), OUTSIDE)
    return Scores(values[0], values[1], refused=refused, repairs=repairs, partly=partly)


def evidences(
    references: Sequence[Annotation], estimates: Sequence[Annotation], measure: Measure
) -> list[Evidence | AnnotationError]:
    """Return the segments judged by a rule with their verdicts, for several pairs: a `ManyExplainer`."""
    rule = measure.metric.name
    if rule not in RULES:
        raise MetricError(f"{measure} does not judge segments one by one; ask for one of {', '.join(RULES)}")

    *sides, row, errors = judgeable(_clean, references, estimates)
    distinct = Distinct(*sides)
    return segments_of(
        sides,
        row,
        errors,
        distinct.chords,
        lambda batch: distinct.judge(rule, batch.reference_chord, batch.estimate_chord),
        stretched=True,
    )


_clean = partial(clean, refused=(*NO_TIMES, "reversed"))
CONVENTION = Convention(
    "madmom",
    "madmom's evaluation: chords are reduced to triads and tetrads; X is only right if both sides have it",
    METRICS,
    _clean,
    score,
    explain_many=evidences,
    literature="@bock2016madmom",
)
