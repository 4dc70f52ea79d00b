"""Keys: parsing of labels such as ``C# minor`` or ``X``, their other forms in files, and relations of two keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from .harte import pitch_class_to_semitone
from .leadsheet import translate_symbol

MODES: Final = ("major", "minor", "other", "dorian", "phrygian", "lydian", "mixolydian", "locrian")
"""Modes in the order of their codes; ``other`` is any mode except major and minor."""
_MAJOR, _MINOR, _OTHER = range(3)
# Ionian and aeolian have the notes of major and natural minor, so they are scored as these.
_SPELLINGS = MappingProxyType({"maj": _MAJOR, "ionian": _MAJOR, "min": _MINOR, "aeolian": _MINOR})
_CODES = MappingProxyType({mode: code for code, mode in enumerate(MODES)} | _SPELLINGS)
_LABEL = re.compile(rf"(?P<letter>[a-g])(?P<accidentals>#*|b*)(?:(?:\s*:\s*|\s+)(?P<mode>{'|'.join(_CODES)}))?")
_BETWEEN = re.compile(r"[\s,;]+")
_NUMBER = re.compile(r"\d*\.?\d+")

RELATIONS: Final = (
    *("same", "fifth_up", "fifth_down", "relative", "parallel", "other"),
    *("relative_of_fifth_up", "relative_of_fifth_down"),
)
"""Relations of an estimated key to a reference, which are mutually exclusive and exhaustive."""
SAME, FIFTH_UP, FIFTH_DOWN, RELATIVE, PARALLEL, OTHER, RELATIVE_OF_FIFTH_UP, RELATIVE_OF_FIFTH_DOWN = range(8)


@dataclass(frozen=True, slots=True)
class Key:
    """A key: semitones of its tonic above C, 0 to 11, and its mode as an index into `MODES`."""

    tonic: int
    mode: int

    @property
    def code(self) -> int:
        """Index in `relation_table`."""
        return self.tonic * len(MODES) + self.mode


UNNAMED: Final = Key(12, 0)  # A key that cannot be named


@lru_cache(maxsize=4096)
def parse_key(label: str) -> Key | None:
    """Parse the label of a key; None if it is invalid.

    Tonics may have any spelling, and tonic and mode any case; they are separated by spaces or a colon. A tonic without
    mode is major, as in Harte's syntax. ``X`` and ``N`` are keys that cannot be named.

    Examples
    --------
    >>> parse_key("Db minor") == parse_key("c#:min") == Key(1, 1)
    True
    >>> parse_key("X") is UNNAMED, parse_key("C:blues")
    (True, None)
    """
    text = label.strip().lower()
    if text in ("x", "n"):
        return UNNAMED
    form = _LABEL.fullmatch(text)
    if form is None:
        return None
    tonic = pitch_class_to_semitone(form["letter"].upper() + form["accidentals"])
    return Key(tonic, _CODES[form["mode"] or "major"])


def key_codes(labels: Iterable[str]) -> npt.NDArray[np.int64]:
    """Codes of the keys of labels: int64 (labels,); other labels count as keys that cannot be named."""
    return np.array([(parse_key(label) or UNNAMED).code for label in labels], dtype=np.int64)


@lru_cache(maxsize=4096)
def key_in_row(text: str) -> str:
    """The label of a key in a row of another form; any other text is unchanged.

    Forms are tonic and mode in two columns, a key with its confidence, and the rows of Isophonics, which begin with the
    word Key.
    """
    if parse_key(text) is not None:
        return " ".join(text.split())
    words = _BETWEEN.split(text.strip(" \t,;"))
    if len(words) > 1 and words[0].lower() == "key":
        words = words[1:]
    if len(words) > 1 and _NUMBER.fullmatch(words[-1]):
        words = words[:-1]
    key = " ".join(words)
    return key if parse_key(key) is not None else text


def not_a_key(label: str) -> str:
    """Message for a label that is not a key."""
    message = f"not a key: {label!r}; keys are written like C, A minor, F#:maj or X"
    chord = translate_symbol(label)
    key = chord and parse_key(chord)
    if key:
        return f"{message}; for {label[:-1]} {MODES[key.mode]} write {chord}"
    return f"{message}; this is a chord; use task chord for chords" if chord else message


@cache
def relation_table() -> npt.NDArray[np.int8]:
    """Relations of all pairs of keys: int8 (97, 97), indices into `RELATIONS` by the codes of both.

    ``fifth_up``: the estimate's tonic is a fifth above the reference's, in the same mode. ``relative``: the estimate is
    in another mode, nine semitones above a major or three above a minor reference. ``parallel``: the same tonic in
    another mode. ``relative_of_fifth_up``: the relative of the key a fifth above the reference, such as E minor for C
    major. The mode ``other`` covers all church modes. A key that cannot be named is related only to itself.

    Examples
    --------
    >>> codes = [parse_key(label).code for label in ("C major", "G major", "F major", "A minor", "C minor", "D major")]
    >>> [RELATIONS[relation] for relation in relation_table()[codes[0], codes].tolist()]
    ['same', 'fifth_up', 'fifth_down', 'relative', 'parallel', 'other']
    """
    tonic, mode = np.divmod(np.arange(12 * len(MODES)), len(MODES))
    step = (tonic[np.newaxis, :] - tonic[:, np.newaxis]) % 12
    lowest, highest = np.minimum.outer(mode, mode), np.maximum.outer(mode, mode)
    alike = (lowest == highest) | ((lowest == _OTHER) & (highest > _OTHER))
    reference = mode[:, np.newaxis]
    # Estimates that are the relative of the key 0, 7 or 5 semitones above the reference.
    relative_of, relative_of_fifth_up, relative_of_fifth_down = (
        ~alike & (((reference == _MAJOR) & (step == (9 + up) % 12)) | ((reference == _MINOR) & (step == (3 + up) % 12)))
        for up in (0, 7, 5)
    )
    conditions = {
        SAME: alike & (step == 0),
        FIFTH_UP: alike & (step == 7),
        FIFTH_DOWN: alike & (step == 5),
        RELATIVE: relative_of,
        PARALLEL: ~alike & (step == 0),
        RELATIVE_OF_FIFTH_UP: relative_of_fifth_up,
        RELATIVE_OF_FIFTH_DOWN: relative_of_fifth_down,
    }
    table = np.full((len(tonic) + 1, len(tonic) + 1), OTHER, dtype=np.int8)
    table[:-1, :-1] = np.select(list(conditions.values()), list(conditions), OTHER)
    table[UNNAMED.code, UNNAMED.code] = SAME
    table.flags.writeable = False
    return table
