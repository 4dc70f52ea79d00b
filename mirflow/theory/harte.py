"""Chord labels ``root:quality(degrees)/bass`` after Harte et al. (2005): grammar, parser, semitones of their parts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ..errors import MirflowError

NO_CHORD = "N"
X_CHORD = "X"

PITCH_CLASSES: dict[str, int] = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
"""Natural pitch class -> semitones above C."""

_STEPS = (0, 2, 4, 5, 7, 9, 11, 12, 14, 16, 17, 19, 21)
SCALE_DEGREES: dict[str, int] = {str(number): semitones for number, semitones in enumerate(_STEPS, start=1)}
"""Degree of the major scale -> semitones above the root, up to the thirteenth."""

_DEGREES_OF_QUALITIES = """
    maj: 1 3 5, min: 1 b3 5, aug: 1 3 #5, dim: 1 b3 b5, 1: 1, 5: 1 5, sus2: 1 2 5, sus4: 1 4 5,
    maj6: 1 3 5 6, min6: 1 b3 5 6, 7: 1 3 5 b7, maj7: 1 3 5 7, min7: 1 b3 5 b7,
    dim7: 1 b3 b5 bb7, hdim7: 1 b3 b5 b7, minmaj7: 1 b3 5 7, aug7: 1 3 #5 b7,
    9: 1 3 5 b7 9, maj9: 1 3 5 7 9, min9: 1 b3 5 b7 9, 11: 1 3 5 b7 9 11, maj11: 1 3 5 7 9 11, min11: 1 b3 5 b7 9 11,
    13: 1 3 5 b7 9 11 13, maj13: 1 3 5 7 9 11 13, min13: 1 b3 5 b7 9 11 13
"""
QUALITY_DEGREES: dict[str, tuple[str, ...]] = {
    name: tuple(degrees.split())
    for name, degrees in (quality.strip().split(":") for quality in _DEGREES_OF_QUALITIES.split(","))
}
"""Spelled degrees of the qualities; `maj11` has no agreed meaning and cannot be encoded as semitones."""
QUALITY_NAMES = tuple(QUALITY_DEGREES)

# The grammar is unambiguous without backtracking, so labels are parsed in linear time.
_ACCIDENTALS = "(?:b++|#++)?+"
_DEGREE = rf"{_ACCIDENTALS}(?:1[0-3]?+|[2-9])"
_DEGREES = rf"\(\*?+{_DEGREE}(?:,\*?+{_DEGREE})*+\)"
CHORD_RE = re.compile(
    r"(?:(?P<no_root>[NX])"
    rf"|(?P<root>[A-G]{_ACCIDENTALS})"
    rf"(?::(?!/|\Z)(?P<quality>{'|'.join(QUALITY_NAMES)})?(?P<degrees>{_DEGREES})?)?"
    rf"(?:/(?P<bass>{_DEGREE}))?)\Z"
)
"""Regular expression of chord labels; use its `match`."""


class InvalidChordException(MirflowError):
    """An invalid chord label or part of one, with the label if it is known."""

    def __init__(self, message: str = "", chord_label: str | None = None) -> None:
        self.message = message
        self.chord_label = chord_label
        self.name = type(self).__name__
        super().__init__(message)


class ChordParts(NamedTuple):
    """The parts of a chord label, with defaults for missing ones."""

    root: str
    quality: str
    degrees: frozenset[str]
    bass: str


def pitch_class_to_semitone(pitch_class: str) -> int:
    """Convert a spelled pitch class to semitones above C.

    Parameters
    ----------
    pitch_class : str
        A letter and its accidentals, such as ``C#`` or ``Gbb``; the empty string counts as C.

    Returns
    -------
    int
        0 to 11.

    Raises
    ------
    InvalidChordException
        For anything else.

    Examples
    --------
    >>> pitch_class_to_semitone("Gbb"), pitch_class_to_semitone("Cb")
    (5, 11)
    """
    letter, accidentals = pitch_class[:1], pitch_class[1:]
    if (letter and letter not in PITCH_CLASSES) or accidentals.strip("#b"):
        raise InvalidChordException(f"Pitch class improperly formed: {pitch_class}")
    return (PITCH_CLASSES.get(letter, 0) + accidentals.count("#") - accidentals.count("b")) % 12


def scale_degree_to_semitone(scale_degree: str) -> int:
    """Convert a scale degree to semitones above the root, not wrapped into the octave.

    Parameters
    ----------
    scale_degree : str
        A degree of the major scale from 1 to 13 with leading accidentals, such as ``b3`` or ``#11``.

    Returns
    -------
    int
        Negative for a flattened root.

    Raises
    ------
    InvalidChordException
        For anything else.

    Examples
    --------
    >>> scale_degree_to_semitone("b7"), scale_degree_to_semitone("#13"), scale_degree_to_semitone("b1")
    (10, 22, -1)
    """
    sign = scale_degree[:1]
    number, shift = scale_degree, 0
    if sign and sign in "#b":
        shift = scale_degree.count(sign) * (1 if sign == "#" else -1)
        number = scale_degree.strip(sign)
    if number not in SCALE_DEGREES:
        raise InvalidChordException(f"Scale degree improperly formed: {number}, expected one of {list(SCALE_DEGREES)}.")
    return SCALE_DEGREES[number] + shift


def degree_of_note(root: str, note: str) -> str:
    """Degree of a note in the major scale on a root, according to the spelling of both."""
    letters = list(PITCH_CLASSES)
    steps = (letters.index(note[0]) - letters.index(root[0])) % 7
    above = pitch_class_to_semitone(note) - pitch_class_to_semitone(root)
    shift = (above - _STEPS[steps] + 6) % 12 - 6
    return ("b" * -shift if shift < 0 else "#" * shift) + str(steps + 1)


@lru_cache(maxsize=1 << 16)
def parse_chord(label: str) -> ChordParts:
    """Parse the parts of a chord label, or raise an InvalidChordException.

    The quality is ``maj`` if nothing follows the root, and empty if only degrees do. ``N`` has no parts except its
    root; ``X`` has those of a major chord.

    Examples
    --------
    >>> parse_chord("G#:min(*b3)/5")
    ChordParts(root='G#', quality='min', degrees=frozenset({'*b3'}), bass='5')
    """
    match = CHORD_RE.match(label)
    if match is None:
        raise InvalidChordException(f"Invalid chord label: {label}", label)
    if label == NO_CHORD:
        return ChordParts(NO_CHORD, "", frozenset(), "")
    degrees = frozenset(match["degrees"][1:-1].split(",")) if match["degrees"] else frozenset()
    quality = match["quality"] or ("" if degrees else "maj")
    return ChordParts(match["root"] or X_CHORD, quality, degrees, match["bass"] or "1")
