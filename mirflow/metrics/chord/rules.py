"""Rules over chords: distinct chords of a batch, the twelve comparison rules, and vocabularies of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from ...errors import UnknownNameError
from ...ragged import Bool, Float, Int, Ragged
from ...theory.chords import EVERY_SEMITONE, OCTAVE, QUALITIES, ChordTable, encode_vocabulary
from ...theory.harte import NO_CHORD


@dataclass(frozen=True, slots=True)
class Chords:
    """The distinct chords of a batch."""

    table: ChordTable
    """One row per distinct chord, without reducing extended chords, as required by the comparison rules."""
    merged: Int  # Chords with equal numbers are equal once extended chords are reduced, and form runs: int64 (chords,)
    reference: Int
    estimate: Int
    """int64 (intervals + 1,): chord of each flat interval of a side; the last element, for the item -1, is no chord."""


def encode_sides(references: Ragged, estimates: Ragged) -> Chords:
    """Collect the distinct chords of two sides; labels that cannot be encoded count as no chord."""
    table, merged, *codes = _encode_labels(references.labels, estimates.labels)
    sides = zip((references, estimates), codes, strict=True)
    return Chords(table, merged, *(own[np.append(side.columns["label"], -1)] for side, own in sides))


@lru_cache(maxsize=4)
def _encode_labels(*sides: tuple[str, ...]) -> tuple[ChordTable, Int, Int, Int]:
    """Distinct chords, their classes once extended chords are reduced, and those of the labels of either side.

    Single pairs are encoded one after the other with the vocabulary of all, which is why it remembers the last ones.
    """
    vocabulary = list(dict.fromkeys([NO_CHORD, *sides[0], *sides[1]]))
    number = {label: index for index, label in enumerate(vocabulary)}
    full, reduced = encode_vocabulary(vocabulary), encode_vocabulary(vocabulary, reduce_extended=True)
    keys = np.column_stack([_packed(full), _packed(reduced)])
    _, row, chord = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    merged = np.unique(keys[row, 1], return_inverse=True)[1]
    chord = chord.reshape(-1).astype(np.int64)
    one, other = (chord[[number[label] for label in (*labels, NO_CHORD)]] for labels in sides)
    return full.take(row), merged, one, other


def number_chords(labels: Sequence[str], forms: Sequence[bool] = (False, True)) -> Int:
    """Number labels, with equal numbers for spellings of the same chord, extensions included: int64 (labels,).

    `forms`: whether extended chords are reduced in each of the forms that must be equal.
    """
    each = [_packed(encode_vocabulary(labels, reduce_extended=reduced)) for reduced in forms]
    return np.asarray(np.unique(np.column_stack(each), axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _packed(table: ChordTable) -> Int:
    root, bass = table.root.astype(np.int64) + 1, table.bass.astype(np.int64) + 1
    return (root << 4 | bass) << 12 | table.pitches


_UP_TO_FIFTH = (1 << 8) - 1  # Semitones up to the perfect fifth, as in mir_eval's triads
_SEVENTHS = ("maj", "min", "maj7", "7", "min7")
_SHARED_PITCHES = 3

_MASKS = MappingProxyType(
    {
        "thirds": 1 << 3,  # the minor third only: a chord without third counts as major
        "triads": _UP_TO_FIFTH,
        "tetrads": EVERY_SEMITONE,
        "root": 0,
        "majmin": _UP_TO_FIFTH,
        "sevenths": EVERY_SEMITONE,
    }
)
"""The semitones above the root that have to be equal."""

RULES = (
    *("thirds", "thirds_inv", "triads", "triads_inv", "tetrads", "tetrads_inv", "root", "mirex"),
    *("majmin", "majmin_inv", "sevenths", "sevenths_inv"),
)
"""Names of the rules, in the order in which mir_eval reports them; those that end with ``_inv`` compare the bass."""


def compare(reference: ChordTable, estimate: ChordTable, rule: str) -> Float:
    """Compare chords row by row: 1 if the estimate is right, 0 if it is wrong, -1 if the reference is not in the
    vocabulary.

    Chords are encoded without reducing extended ones; `rule` is one of `RULES`.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014; J. Pauwels and
    G. Peeters, "Evaluating automatically estimated chord sequences", ICASSP 2013.

    Examples
    --------
    >>> reference = encode_vocabulary(["C:7", "C:sus4", "N"])
    >>> estimate = encode_vocabulary(["C", "C:sus4", "A:min"])
    >>> compare(reference, estimate, "majmin").tolist()
    [1.0, -1.0, 0.0]
    """
    if rule not in RULES:
        raise UnknownNameError("chord comparison rule", rule, RULES)
    kind = rule.removesuffix("_inv")
    if kind == "mirex":
        left, other = (  # pitch classes: bit i is i semitones above C
            (chords.pitches << shift | chords.pitches >> (np.uint16(OCTAVE) - shift)) & np.uint16(EVERY_SEMITONE)
            for chords in (reference, estimate)
            for shift in [(chords.root % OCTAVE).astype(np.uint16)]
        )
        right = np.bitwise_count(left & other) >= _SHARED_PITCHES
        right |= (reference.root < 0) & (estimate.root < 0)
    else:
        # An X in the estimate has all semitones, so it never equals an N, which has no root either.
        differing = (reference.pitches ^ estimate.pitches) & np.uint16(_MASKS[kind])
        right = (reference.root == estimate.root) & (differing == 0)
    if rule.endswith("_inv"):  # a bass is always one of the semitones of its chord
        right &= reference.bass == estimate.bass
    comparable: Bool = ~reference.undefined
    if kind in _COMPARABLE:
        comparable = _COMPARABLE[kind][reference.pitches]
    elif kind == "mirex":
        count = np.bitwise_count(reference.pitches)
        comparable &= (count == 0) | (count >= _SHARED_PITCHES)
    return np.where(comparable, right.astype(np.float64), -1.0)


_SOUNDING = {
    quality: sum(int(sounds) << semitone for semitone, sounds in enumerate(semitones))
    for quality, semitones in QUALITIES.items()
}
"""The semitones of qualities as bits."""
_PITCHES = np.arange(1 << OCTAVE)
_COMPARABLE: dict[str, Bool] = {
    kind: (_PITCHES == 0) | np.isin(_PITCHES & _MASKS[kind], [_SOUNDING[quality] for quality in qualities])
    for kind, qualities in (("majmin", ("maj", "min")), ("sevenths", _SEVENTHS))
}
"""Whether rules with a vocabulary compare each set of semitones, of which majmin ignores those above the fifth."""


ROOTS = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
NO_CHORD_CLASS, OTHER = "N", "other"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A finite set of classes that covers all chords."""

    qualities: tuple[str, ...]  # Each has a class per root; the classes `N` and `other` come last
    considered: int  # Bits of the semitones above the root that must match the quality; others are ignored

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes: 12 for each quality, then ``N`` and ``other``."""
        endings = [f":{quality}" for quality in self.qualities] if self.considered else [""]
        return (*(f"{root}{ending}" for ending in endings for root in ROOTS), NO_CHORD_CLASS, OTHER)

    def classify(self, chords: ChordTable) -> Int:
        """The class of each chord: int64 (n,)."""
        no_chord = OCTAVE * len(self.qualities)
        classes = np.full(len(chords.root), no_chord + 1, dtype=np.int64)
        root = chords.root.astype(np.int64)
        for quality, name in enumerate(self.qualities):
            differing = (chords.pitches ^ np.uint16(_SOUNDING[name])) & np.uint16(self.considered)
            match: Bool = (differing == 0) & (root >= 0)
            classes[match] = quality * OCTAVE + root[match]
        classes[(chords.pitches == 0) & (root < 0)] = no_chord
        return classes


_TRIADS = ("maj", "min", "dim", "aug", "sus2", "sus4")
_TETRADS = (*_TRIADS, "maj7", "7", "min7", "minmaj7", "dim7", "hdim7", "maj6", "min6")

VOCABULARIES: Mapping[str, Vocabulary] = MappingProxyType(
    {
        "root": Vocabulary(("1",), 0),
        "majmin": Vocabulary(("maj", "min"), _UP_TO_FIFTH),
        "triads": Vocabulary(_TRIADS, (1 << 9) - 1),  # up to the augmented fifth
        "sevenths": Vocabulary(_SEVENTHS, EVERY_SEMITONE),
        "tetrads": Vocabulary(_TETRADS, EVERY_SEMITONE),
    }
)
"""The vocabularies by name; their classes are disjoint and cover every chord."""


def to_25(chords: ChordTable) -> Int:
    """The class of each chord among 25: 12 major, 12 minor, no chord, in this order: int64 (n,).

    Chords with a minor but no major third are minor, chords without root (N, X) are no chord, and all others are major.
    Thus, diminished chords count as minor; augmented and suspended chords, power chords and single notes as major.
    """
    minor: Bool = (chords.pitches >> 3 & 1 == 1) & (chords.pitches >> 4 & 1 == 0)
    return np.where(chords.root < 0, 2 * OCTAVE, chords.root + OCTAVE * minor)
