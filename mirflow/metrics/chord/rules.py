"""Rules over chords: distinct chords of a batch, the twelve comparison rules, and vocabularies of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ...errors import UnknownNameError
from ...ragged import Bool, Float, Int, Ragged
from ...theory.chords import EVERY_SEMITONE, OCTAVE, QUALITIES, ChordTable, encode_vocabulary
from ...theory.harte import NO_CHORD


@dataclass(frozen=True, slots=True)
class Chords:
    """The distinct chords of a batch.

    Parameters
    ----------
    table : ChordTable
        One row a distinct chord, extended chords not reduced, as the comparison rules want them.
    merged : int64 (chords,)
        Chords with equal numbers are the same once extended chords are reduced: neighbours of one run.
    reference, estimate : int64 (intervals + 1,)
        The chord of each flat interval of a side; the last element is no-chord, for the item -1.
    """

    table: ChordTable
    merged: Int
    reference: Int
    estimate: Int

    def __len__(self) -> int:
        return len(self.table)


def encode_sides(references: Ragged, estimates: Ragged) -> Chords:
    """The distinct chords of two sides.

    Labels that cannot be encoded count as no chord: `clean` is where they are found.
    """
    vocabulary = list(dict.fromkeys([NO_CHORD, *references.labels, *estimates.labels]))
    place = {label: index for index, label in enumerate(vocabulary)}
    full, reduced = encode_vocabulary(vocabulary), encode_vocabulary(vocabulary, reduce_extended=True)
    keys = np.column_stack([_packed(full), _packed(reduced)])
    _, row, chord = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    merged = np.unique(keys[row, 1], return_inverse=True)[1]
    chord = chord.reshape(-1).astype(np.int64)

    def of(side: Ragged) -> Int:
        codes: Int = chord[[place[label] for label in side.labels] + [place[NO_CHORD]]]
        items: Int = codes[np.append(side.columns["label"], -1)]
        return items

    return Chords(full.take(row), merged, of(references), of(estimates))


def encode_runs(labels: Sequence[str]) -> Int:
    """Equal numbers for labels that are the same chord once extended chords are reduced: int64 (labels,)."""
    packed = _packed(encode_vocabulary(labels, reduce_extended=True))
    _, runs = np.unique(packed, return_inverse=True)
    return np.asarray(runs, dtype=np.int64)


def _packed(table: ChordTable) -> Int:
    root, bass = table.root.astype(np.int64) + 1, table.bass.astype(np.int64) + 1
    return (root << 4 | bass) << 12 | table.pitches


RIGHT, NOT_COMPARABLE = 1.0, -1.0

_THIRD = np.uint16(1 << 3)  # the minor third's bit alone: a chord without any third passes for one with a major third
_TRIAD = np.uint16((1 << 8) - 1)  # up to the fifth; the augmented fifth lies above, as in mir_eval
_ANY = np.uint16(EVERY_SEMITONE)

_MAJMIN = encode_vocabulary(["C:maj", "C:min"]).pitches
_SEVENTHS_PITCHES = encode_vocabulary(["C:maj", "C:min", "C:maj7", "C:7", "C:min7", "N"]).pitches
_SHARED_PITCHES = 3


def _same(reference: ChordTable, estimate: ChordTable, mask: np.uint16, bass: bool) -> Bool:
    """Whether roots, the masked semitones and, if asked, basses are the same."""
    # An X in the estimate sounds everywhere, so it never equals an N, which has no root either.
    same: Bool = (reference.root == estimate.root) & ((reference.pitches ^ estimate.pitches) & mask == 0)
    if bass:
        same &= reference.bass == estimate.bass
    return same


def _chroma(chords: ChordTable) -> npt.NDArray[np.uint16]:
    """Absolute pitch classes: bit i is i semitones above C."""
    shift = (chords.root % OCTAVE).astype(np.uint16)
    return (chords.pitches << shift | chords.pitches >> (np.uint16(OCTAVE) - shift)) & _ANY


def _mirex(reference: ChordTable, estimate: ChordTable) -> tuple[Bool, Bool]:
    """At least three pitch classes in common; references with one or two have nothing to compare."""
    shared = np.bitwise_count(_chroma(reference) & _chroma(estimate)) >= _SHARED_PITCHES
    both_rootless = (reference.root < 0) & (estimate.root < 0)
    count = np.bitwise_count(reference.pitches)
    return shared | both_rootless, ~reference.undefined & ((count == 0) | (count >= _SHARED_PITCHES))


def _majmin(chords: ChordTable) -> Bool:
    """Major and minor triads, whatever sounds above the fifth, and no-chord."""
    triad = chords.pitches & _TRIAD
    vocabulary: Bool = np.isin(triad, _MAJMIN) | (chords.pitches == 0)
    return vocabulary


def _sevenths(chords: ChordTable) -> Bool:
    return np.isin(chords.pitches, _SEVENTHS_PITCHES)


def _defined(chords: ChordTable) -> Bool:
    return ~chords.undefined


Rule = Callable[[ChordTable, ChordTable], tuple[Bool, Bool]]
"""(reference, estimate) -> (right, comparable)."""


def _rule(mask: np.uint16 | int, comparable: Callable[[ChordTable], Bool], bass: bool = False) -> Rule:
    return lambda reference, estimate: (_same(reference, estimate, np.uint16(mask), bass), comparable(reference))


# A bass always sounds in its own chord once it is encoded, so the rules' condition that it does never excludes one.
_RULES: MappingProxyType[str, Rule] = MappingProxyType(
    {
        "thirds": _rule(_THIRD, _defined),
        "thirds_inv": _rule(_THIRD, _defined, bass=True),
        "triads": _rule(_TRIAD, _defined),
        "triads_inv": _rule(_TRIAD, _defined, bass=True),
        "tetrads": _rule(_ANY, _defined),
        "tetrads_inv": _rule(_ANY, _defined, bass=True),
        "root": _rule(0, _defined),
        "mirex": _mirex,
        "majmin": _rule(_TRIAD, _majmin),
        "majmin_inv": _rule(_TRIAD, _majmin, bass=True),
        "sevenths": _rule(_ANY, _sevenths),
        "sevenths_inv": _rule(_ANY, _sevenths, bass=True),
    }
)

RULES: tuple[str, ...] = tuple(_RULES)
"""Names of the rules, in the order in which mir_eval reports them."""


def compare(reference: ChordTable, estimate: ChordTable, rule: str) -> Float:
    """Compare chords row by row.

    Parameters
    ----------
    reference, estimate : ChordTable
        Encoded without reducing extended chords; the same number of rows.
    rule : str
        One of `RULES`.

    Returns
    -------
    float64 (n,)
        1 where the estimate is right, 0 where it is wrong, -1 where the reference is outside the rule's vocabulary.

    Raises
    ------
    UnknownNameError
        For an unknown rule.

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
    if rule not in _RULES:
        raise UnknownNameError("chord comparison rule", rule, RULES)
    right, comparable = _RULES[rule](reference, estimate)
    return np.where(comparable, right.astype(np.float64), NOT_COMPARABLE)


ROOTS = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
NO_CHORD_CLASS, OTHER = "N", "other"

_TO_FIFTH = (1 << 9) - 1  # root to augmented fifth
_EVERYTHING = (1 << OCTAVE) - 1

_TRIADS = ("maj", "min", "dim", "aug", "sus2", "sus4")
_SEVENTHS = ("maj", "min", "maj7", "7", "min7")
_TETRADS = (*_TRIADS, "maj7", "7", "min7", "minmaj7", "dim7", "hdim7", "maj6", "min6")


def _mask(quality: str) -> int:
    return sum(1 << semitone for semitone, sounds in enumerate(QUALITIES[quality]) if sounds)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A finite set of chord classes, to which every chord belongs.

    Parameters
    ----------
    name : str
    qualities : tuple of str
        Each is a class per root; after all of these come the classes ``N`` and ``other``.
    considered : int
        Bits of the semitones above the root that must be those of the quality; others are not looked at.
    summary : str
    """

    name: str
    qualities: tuple[str, ...]
    considered: int
    summary: str

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes: 12 for each quality, then ``N`` and ``other``."""
        if self.name == "root":
            return (*ROOTS, NO_CHORD_CLASS, OTHER)
        return (*(f"{root}:{quality}" for quality in self.qualities for root in ROOTS), NO_CHORD_CLASS, OTHER)

    @property
    def no_chord(self) -> int:
        """The class of N."""
        return OCTAVE * len(self.qualities)

    @property
    def other(self) -> int:
        """The class of everything else, X included."""
        return self.no_chord + 1

    def quality_of_class(self) -> Int:
        """The quality of each class, ``N`` as the last one, -1 for ``other``: int64 (classes,)."""
        return np.append(np.repeat(np.arange(len(self.qualities) + 1), [OCTAVE] * len(self.qualities) + [1]), -1)

    def classify(self, chords: ChordTable) -> Int:
        """The class of each chord: int64 (n,).

        Examples
        --------
        >>> from mirflow.theory.chords import encode_vocabulary
        >>> majmin = VOCABULARIES["majmin"]
        >>> [majmin.classes[i] for i in majmin.classify(encode_vocabulary(["D:7", "G:min/b3", "C:dim", "N", "X"]))]
        ['D:maj', 'G:min', 'other', 'N', 'other']
        """
        found = np.full(len(chords), self.other, dtype=np.int64)
        root = chords.root.astype(np.int64)
        sounding = root >= 0
        for place, quality in enumerate(self.qualities):
            match: Bool = (chords.pitches & self.considered) == (_mask(quality) & self.considered)
            match &= sounding
            found[match] = place * OCTAVE + root[match]
        found[(chords.pitches == 0) & ~sounding] = self.no_chord
        return found


_UP_TO_FIFTH = (1 << 8) - 1  # as mir_eval's triad rules: the augmented fifth lies above

VOCABULARIES: Mapping[str, Vocabulary] = MappingProxyType(
    {
        vocabulary.name: vocabulary
        for vocabulary in (
            Vocabulary("root", ("1",), 0, "the root alone"),
            Vocabulary("majmin", ("maj", "min"), _UP_TO_FIFTH, "major and minor triads, whatever lies above the fifth"),
            Vocabulary("triads", _TRIADS, _TO_FIFTH, "six triads, whatever lies above the augmented fifth"),
            Vocabulary("sevenths", _SEVENTHS, _EVERYTHING, "major, minor and their three common sevenths, exactly"),
            Vocabulary("tetrads", _TETRADS, _EVERYTHING, "six triads, six sevenths and two sixths, exactly"),
        )
    }
)
"""The vocabularies by name; their classes are disjoint and cover every chord."""


def to_25(chords: ChordTable) -> Int:
    """The class of each chord among 25: 12 major, 12 minor, no chord, in this order: int64 (n,).

    The mapping covers every chord: with a minor third and no major third it is minor, with no root (N, X) it is no
    chord, otherwise major. So diminished chords count as minor; augmented and suspended ones, power chords and single
    notes as major.

    Examples
    --------
    >>> from mirflow.theory.chords import encode_vocabulary
    >>> to_25(encode_vocabulary(["C:maj", "C#:dim7", "D:sus4", "E:5", "X"])).tolist()
    [0, 13, 2, 4, 24]
    """
    minor: Bool = (chords.pitches >> 3 & 1 == 1) & (chords.pitches >> 4 & 1 == 0)
    return np.where(chords.root < 0, 2 * OCTAVE, chords.root + OCTAVE * minor)


def get_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of that name.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    if name not in VOCABULARIES:
        raise UnknownNameError("chord vocabulary", name, VOCABULARIES)
    return VOCABULARIES[name]
