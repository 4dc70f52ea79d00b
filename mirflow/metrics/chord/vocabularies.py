"""Vocabularies: how every chord there is falls into a few named classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...errors import UnknownNameError
from ...ragged import Bool, Int
from ...theory.chords import OCTAVE, QUALITIES, ChordTable

ROOTS = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
NO_CHORD, OTHER = "N", "other"

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
            return (*ROOTS, NO_CHORD, OTHER)
        return (*(f"{root}:{quality}" for quality in self.qualities for root in ROOTS), NO_CHORD, OTHER)

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
