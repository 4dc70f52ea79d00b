"""Chords as numbers: root, sounding semitones and bass of a label, and tables of them over a vocabulary.

Constants list the semitones of each quality, and the simpler quality and added degrees of each extended one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..ragged import Bool, Int
from .harte import (
    NO_CHORD,
    QUALITY_DEGREES,
    X_CHORD,
    InvalidChordException,
    parse_chord,
    pitch_class_to_semitone,
    scale_degree_to_semitone,
)

OCTAVE = 12
EVERY_SEMITONE = (1 << OCTAVE) - 1

QUALITIES: dict[str, list[int]] = {
    quality: [int(semitone in map(scale_degree_to_semitone, degrees)) for semitone in range(OCTAVE)]
    for quality, degrees in {**QUALITY_DEGREES, "": ()}.items()
    if quality != "maj11"
}
"""Quality -> sounding semitones of the 12 above the root, without those above the octave."""

_REDUCED = """
    minmaj7: min 7, maj9: maj7 9, min9: min7 9, 9: 7 9, b9: 7 b9, #9: 7 #9, 11: 7 9 11, #11: 7 9 #11, 13: 7 9 11 13,
    b13: 7 9 11 b13, min11: min7 9 11, maj13: maj7 9 11 13, min13: min7 9 11 13
"""
EXTENDED_QUALITY_REDUX: dict[str, tuple[str, set[str]]] = {
    name: (simpler, set(added))
    for name, simpler, *added in (quality.replace(":", "").split() for quality in _REDUCED.split(","))
}
"""Extended quality -> the simpler quality and the added degrees."""


class ChordCode(NamedTuple):
    """One chord as numbers: root above C (-1: none), bit mask of semitones above the root, bass above the root."""

    root: int
    pitches: int
    bass: int


NO_CHORD_CODE = ChordCode(-1, 0, -1)
X_CHORD_CODE = ChordCode(-1, EVERY_SEMITONE, -1)


def quality_semitones(quality: str) -> list[int]:
    """Sounding semitones of a quality as 12 numbers; raises an InvalidChordException for ``maj11``."""
    if quality not in QUALITIES:
        remedy = "Did you mean to reduce extended chords?"
        raise InvalidChordException(f"Unsupported chord quality shorthand: '{quality}' {remedy}")
    return list(QUALITIES[quality])


@lru_cache(maxsize=1 << 16)
def encode_chord(label: str, reduce_extended: bool = False, strict_bass: bool = False) -> ChordCode:
    """Encode a chord label as numbers.

    Degrees above the octave, including those of extended qualities, are reduced to their octave equivalents if
    `reduce_extended`, and otherwise left out. A bass outside the chord is an error if `strict_bass`, and otherwise
    added to the chord. ``X`` has no root and all twelve semitones, so that it never equals a chord with a root.

    Examples
    --------
    >>> encode_chord("G:min/b3")
    ChordCode(root=7, pitches=137, bass=3)
    """
    if label == NO_CHORD:
        return NO_CHORD_CODE
    if label == X_CHORD:
        return X_CHORD_CODE
    parts, added = parse_chord(label), set[str]()
    quality = parts.quality
    if reduce_extended:
        quality, added = EXTENDED_QUALITY_REDUX.get(quality, (quality, added))
    votes = quality_semitones(quality)
    votes[0] = 1
    for degree in parts.degrees | added:
        semitone = scale_degree_to_semitone(degree.removeprefix("*"))
        if semitone < OCTAVE or reduce_extended:
            votes[semitone % OCTAVE] += -1 if degree.startswith("*") else 1
    bass = scale_degree_to_semitone(parts.bass) % OCTAVE
    if strict_bass and votes[bass] <= 0:
        raise InvalidChordException(f"Given bass scale degree is absent from this chord: {label}", label)
    pitches = sum(1 << semitone for semitone, vote in enumerate(votes) if vote > 0)
    return ChordCode(pitch_class_to_semitone(parts.root), pitches | 1 << bass, bass)


@dataclass(frozen=True, slots=True)
class ChordTable:
    """Chords as columns, one row each."""

    root: npt.NDArray[np.int8]
    pitches: npt.NDArray[np.uint16]
    """uint16 (n,): bit i is set if the semitone i above the root sounds, including the bass; none for N, all twelve for
    X."""
    bass: npt.NDArray[np.int8]  # int8 (n,): semitones above C, and above the root; -1 for N and X
    undefined: Bool  # Whether the label is X: bool (n,)
    invalid: Mapping[int, str] = field(default_factory=dict)
    """Reasons why labels cannot be encoded, by row; these rows have the codes of N."""

    def take(self, index: Sequence[int] | Int) -> ChordTable:
        """Take rows in the given order, possibly repeated."""
        rows = np.asarray(index, dtype=np.int64)
        invalid: dict[int, str] = {}
        if self.invalid:
            wrong = np.flatnonzero(np.isin(rows, list(self.invalid)))
            invalid = {int(row): self.invalid[int(rows[row])] for row in wrong}
        return ChordTable(self.root[rows], self.pitches[rows], self.bass[rows], self.undefined[rows], invalid)


def encode_vocabulary(labels: Sequence[str], reduce_extended: bool = False) -> ChordTable:
    """Encode chord labels as columns of numbers, see `encode_chord`; each chord is parsed once per process.

    Labels that cannot be encoded are listed in `invalid` instead of raising errors.

    Examples
    --------
    >>> table = encode_vocabulary(["C", "N", "X", "H:maj"])
    >>> table.root.tolist(), table.pitches.tolist(), table.undefined.tolist()
    ([0, -1, -1, -1], [145, 0, 4095, 0], [False, False, True, False])
    >>> table.invalid
    {3: 'Invalid chord label: H:maj'}
    """
    codes, invalid = [NO_CHORD_CODE] * len(labels), {}
    for row, label in enumerate(labels):
        try:
            codes[row] = encode_chord(label, reduce_extended)
        except InvalidChordException as error:
            invalid[row] = error.message
    root, pitches, bass = np.array(codes, dtype=np.int16).reshape(-1, 3).T
    undefined = (root < 0) & (pitches > 0)
    return ChordTable(root.astype(np.int8), pitches.astype(np.uint16), bass.astype(np.int8), undefined, invalid)
