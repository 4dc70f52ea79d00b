"""Chords as sets of spelled degrees: parsed from labels, written as such, reduced to triads and tetrads, and in tables.

A degree is its position on the line of fifths, counted from the root: 1 is 0, 5 is 1, 2 is 2, 4 is -1; a sharp adds 7,
a flat subtracts 7. Octaves are ignored (9 is 2). Thus, #4 (6) and b5 (-6) are different degrees, but equal modulo 12 if
spelling is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidAnnotationError
from .harte import QUALITY_DEGREES, pitch_class_to_semitone
from .leadsheet import not_a_chord

_NATURALS = MappingProxyType({1: 0, 2: 2, 3: 4, 4: -1, 5: 1, 6: 3, 7: 5})
_DEGREE = r"[b#]*(?:1[0-3]|[1-9])"
_CHORD = re.compile(
    rf"(?P<root>[A-G][b#]*)"
    rf"(?::(?=[^/])(?P<shorthand>{'|'.join(sorted(QUALITY_DEGREES, key=len, reverse=True))})?"
    rf"(?:\((?P<list>\*?{_DEGREE}(?:,\*?{_DEGREE})*)\))?)?(?:/(?P<bass>{_DEGREE}))?"
)

NONE: Final = -1  # Code of no chord as a root, and of none as a triad, tetrad or bass
UNDEFINED: Final = -2  # Root code of labels for chords outside every vocabulary
_OF_DEGREES = {frozenset(degrees): name for name, degrees in QUALITY_DEGREES.items() if name != "maj11"}
"""Shorthands by their degrees, except one without an agreed meaning."""


def label_of_degrees(root: str, degrees: Iterable[str], bass: str = "1") -> str:
    """Make a label in Harte's syntax from spelled degrees other than the root, with a shorthand if one matches."""
    listed = list(dict.fromkeys(degrees))
    name = _OF_DEGREES.get(frozenset(["1", *listed]))
    quality = f"({','.join(listed)})" if name is None else name
    label = root if quality == "maj" else f"{root}:{quality}"
    return label if bass == "1" else f"{label}/{bass}"


def position(degree: str) -> int:
    """Position of a degree such as ``b7`` or ``#11`` on the line of fifths, counted from the root."""
    number = int(degree.lstrip("b#"))
    return _NATURALS[(number - 1) % 7 + 1] + 7 * (degree.count("#") - degree.count("b"))


@dataclass(frozen=True, slots=True)
class SpelledChord:
    """A chord as spelled in its label."""

    root: int  # Semitones above C, 0 to 11; `NONE` for no chord, `UNDEFINED` for an undefined one
    degrees: frozenset[int] = frozenset()  # Positions on the line of fifths, including the bass
    bass: int | None = None  # Position of the bass; None if the label has no bass


def parse_spelled(label: str) -> SpelledChord:
    """Read a label in Harte's syntax.

    ``N`` or ``S`` (silence) at the start means no chord, ``X`` or ``U`` an undefined one. The 9th, 11th and 13th
    implied by a shorthand do not count as a 2nd, 4th and 6th, unlike those that are listed or in the bass.

    Examples
    --------
    >>> chord = parse_spelled("D:min7(*5)/b3")
    >>> chord.root, sorted(chord.degrees), chord.bass
    (2, [-3, -2, 0], -3)
    """
    if label[:1] in ("N", "S"):
        return SpelledChord(NONE)
    if label[:1] in ("X", "U"):
        return SpelledChord(UNDEFINED)
    form = _CHORD.fullmatch(label)
    if form is None:
        raise InvalidAnnotationError(not_a_chord(label))
    root = pitch_class_to_semitone(form["root"])
    shorthand = form["shorthand"] or ("" if form["list"] else "maj")
    members = QUALITY_DEGREES.get(shorthand, ())
    degrees = {position(degree) for degree in members if int(degree.lstrip("b#")) < 8}
    implied = {position(degree) for degree in members} - degrees
    for item in form["list"].split(",") if form["list"] else ():
        degree = position(item.lstrip("*"))
        if not item.startswith("*"):
            degrees.add(degree)
        elif degree in degrees or degree in implied:
            degrees.discard(degree)
            implied.discard(degree)
        else:
            raise InvalidAnnotationError(f"not a chord: {label!r} omits the degree {item[1:]}, which it does not have")
    bass = None if form["bass"] is None else position(form["bass"])
    return SpelledChord(root, frozenset(degrees if bass is None else degrees | {bass}), bass)


# Positions on the line of fifths of 3, b3, 4, 2; of 5, #5, b5; and of b7, 7, 6, bb7.
_THIRDS = _MAJOR, _MINOR, _FOURTH, _SECOND = 4, -3, -1, 2
_FIFTHS = _PERFECT, _AUGMENTED, _DIMINISHED = 1, 8, -6
_SEVENTHS = _, _FLAT_SEVENTH, _SEVENTH, _SIXTH, _DOUBLE_FLAT_SEVENTH = None, -2, 5, 3, -9


@dataclass(frozen=True, slots=True)
class Degrees:
    """Positions of the degrees of a chord; if `spelled`, enharmonic degrees (#4 and b5) are different."""

    positions: frozenset[int]
    spelled: bool

    def __contains__(self, degree: int | None) -> bool:
        if degree is None or self.spelled:
            return degree in self.positions
        return any((degree - position) % 12 == 0 for position in self.positions)


def reduce_to_triad(degrees: Degrees) -> tuple[int, int] | None:
    """Reduce a chord to its third (or 4th or 2nd) and fifth; None if it has no triad.

    A major third takes precedence over a minor one. Without a third, the chord is suspended if it has exactly one of 4
    and 2. The fifth above a third is altered only if the chord has an altered and no perfect fifth.
    """
    if _MAJOR not in degrees and _MINOR not in degrees:
        if (_FOURTH in degrees) == (_SECOND in degrees):
            return None
        return (_FOURTH if _FOURTH in degrees else _SECOND), _PERFECT
    third = _MAJOR if _MAJOR in degrees else _MINOR
    if _PERFECT in degrees:
        return third, _PERFECT
    altered = (_AUGMENTED, _DIMINISHED) if third == _MAJOR else (_DIMINISHED, _AUGMENTED)
    return third, next((fifth for fifth in altered if fifth in degrees), _PERFECT)


def reduce_to_seventh(degrees: Degrees, triad: tuple[int, int]) -> int | None:
    """Degree that extends a triad to a tetrad: b7, 7, 6, or bb7 over a diminished triad; None for a triad."""
    if triad == (_MINOR, _DIMINISHED):
        candidates: tuple[int, ...] = (_FLAT_SEVENTH, _DOUBLE_FLAT_SEVENTH)
    elif triad[1] != _PERFECT:
        candidates = (_FLAT_SEVENTH, _SEVENTH)
    else:
        candidates = (_FLAT_SEVENTH, _SEVENTH, _SIXTH)
    return next((degree for degree in candidates if degree in degrees), None)


@dataclass(frozen=True, slots=True)
class SpelledTable:
    """Reduced chords of labels, one row each."""

    root: npt.NDArray[np.int8]  # Semitones above C, `NONE` or `UNDEFINED`: int8 (n,)
    triad: npt.NDArray[np.int8]
    tetrad: npt.NDArray[np.int8]  # int8 (n,): codes of third, fifth and seventh; `NONE` for a chord without a triad
    triad_bass: npt.NDArray[np.int8]
    tetrad_bass: npt.NDArray[np.int8]
    """Semitones of the bass above the root if it belongs to the reduced chord, else `NONE`: int8 (n,)."""
    invalid: dict[int, str]  # Reasons why labels are not chords, by row; these rows count as no chord


_NO_CHORD = (NONE, NONE, NONE, NONE, NONE)


@lru_cache(maxsize=65536)
def _reduced(label: str, spelled: bool) -> tuple[int, ...]:
    """Root, triad, tetrad, bass within the triad, bass within the tetrad, as the codes of a table."""
    chord = parse_spelled(label)
    degrees = Degrees(chord.degrees, spelled)
    triad = reduce_to_triad(degrees) if chord.root >= 0 else None
    if triad is None:
        return (chord.root, *_NO_CHORD[1:])
    seventh = reduce_to_seventh(degrees, triad)
    triad_index = _THIRDS.index(triad[0]) * len(_FIFTHS) + _FIFTHS.index(triad[1])
    triad_bass = tetrad_bass = NONE
    if chord.bass is not None:
        semitones = chord.bass * 7 % 12
        triad_bass = semitones if chord.bass in Degrees(frozenset({0, *triad}), spelled) else NONE
        tetrad_bass = semitones if chord.bass in Degrees(frozenset({seventh or 0}), spelled) else triad_bass
    return chord.root, triad_index, triad_index * len(_SEVENTHS) + _SEVENTHS.index(seventh), triad_bass, tetrad_bass


def encode_spelled(labels: Sequence[str], spelled: bool) -> SpelledTable:
    """Encode reduced chords of labels, whose degrees are compared by spelling (#4 is not b5) or by pitch.

    Examples
    --------
    >>> table = encode_spelled(["C/b7", "N", "H"], spelled=True)
    >>> table.root.tolist(), table.tetrad.tolist(), table.tetrad_bass.tolist(), table.triad_bass.tolist()
    ([0, -1, -1], [1, -1, -1], [10, -1, -1], [-1, -1, -1])
    >>> list(table.invalid)
    [2]
    """
    rows, invalid = [], {}
    for index, label in enumerate(labels):
        try:
            rows.append(_reduced(label, spelled))
        except InvalidAnnotationError as error:
            invalid[index] = error.message
            rows.append(_NO_CHORD)
    root, triad, tetrad, triad_bass, tetrad_bass = np.array(rows, dtype=np.int8).reshape(-1, 5).T
    return SpelledTable(root, triad, tetrad, triad_bass, tetrad_bass, invalid)
