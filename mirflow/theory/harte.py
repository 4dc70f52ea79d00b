"""The grammar of chord labels, ``root:quality(degrees)/bass``, after Harte et al. (2005)."""

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

QUALITY_NAMES = (
    *("maj", "min", "aug", "dim", "1", "5", "sus2", "sus4", "maj6", "min6"),
    *("7", "maj7", "min7", "dim7", "hdim7", "minmaj7", "aug7"),
    *("9", "maj9", "min9", "11", "maj11", "min11", "13", "maj13", "min13"),
)
"""Every quality that may be written; `maj11` has no agreed meaning and is refused when it is encoded."""

# Each character can be read in one way only, and is never read again: a label is parsed in time linear in its length.
_ACCIDENTALS = "(?:b++|#++)?+"
_DEGREE = rf"{_ACCIDENTALS}(?:1[0-3]?+|[2-9])"
_DEGREES = rf"\(\*?+{_DEGREE}(?:,\*?+{_DEGREE})*+\)"
CHORD_RE = re.compile(
    r"(?:(?P<no_root>[NX])"
    rf"|(?P<root>[A-G]{_ACCIDENTALS})"
    rf"(?::(?!/|\Z)(?P<quality>{'|'.join(QUALITY_NAMES)})?(?P<degrees>{_DEGREES})?)?"
    rf"(?:/(?P<bass>{_DEGREE}))?)\Z"
)
"""The form of a chord label; use its `match`."""


class InvalidChordException(MirflowError):
    """A chord label, or a part of one, that cannot be understood; with the label, where it is known."""

    def __init__(self, message: str = "", chord_label: str | None = None) -> None:
        self.message = message
        self.chord_label = chord_label
        self.name = type(self).__name__
        super().__init__(message)


class ChordParts(NamedTuple):
    """The written parts of a chord label; a part that is not written has its default."""

    root: str
    quality: str
    degrees: frozenset[str]
    bass: str


def pitch_class_to_semitone(pitch_class: str) -> int:
    """Semitones above C of a spelled pitch class.

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
    """Semitones above the root of a scale degree, not wrapped into the octave.

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
        If it is no degree.

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
    """The degree of the major scale on a root that a note is, as both are spelled.

    Examples
    --------
    >>> degree_of_note("F", "C"), degree_of_note("C", "Bb"), degree_of_note("C", "F#"), degree_of_note("C", "Gb")
    ('5', 'b7', '#4', 'b5')
    """
    letters = list(PITCH_CLASSES)
    steps = (letters.index(note[0]) - letters.index(root[0])) % 7
    above = pitch_class_to_semitone(note) - pitch_class_to_semitone(root)
    shift = (above - _STEPS[steps] + 6) % 12 - 6
    return ("b" * -shift if shift < 0 else "#" * shift) + str(steps + 1)


@lru_cache(maxsize=1 << 16)
def parse_chord(label: str) -> ChordParts:
    """The written parts of a chord label.

    The quality is ``maj`` where nothing is written after the root, and empty where only degrees are. ``N`` has no parts
    but its root, ``X`` those of a major chord.

    Raises
    ------
    InvalidChordException
        If the label does not follow the grammar.

    Examples
    --------
    >>> parse_chord("G#:min(*b3)/5")
    ChordParts(root='G#', quality='min', degrees=frozenset({'*b3'}), bass='5')
    """
    found = CHORD_RE.match(label)
    if found is None:
        raise InvalidChordException(f"Invalid chord label: {label}", label)
    if label == NO_CHORD:
        return ChordParts(NO_CHORD, "", frozenset(), "")
    degrees = frozenset(found["degrees"][1:-1].split(",")) if found["degrees"] else frozenset()
    quality = found["quality"] or ("" if degrees else "maj")
    return ChordParts(found["root"] or X_CHORD, quality, degrees, found["bass"] or "1")
