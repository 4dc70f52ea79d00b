"""Chord symbols of lead sheets, such as ``Am7``, ``Bb7`` or ``Fmaj7/C``, in Harte's syntax.

A symbol consists of a root, a suffix of `SUFFIXES`, optional alterations and added tones, and an optional bass note
after a slash. Other symbols are refused, because ``C2``, ``C7alt`` or a bare triangle, for example, mean different
chords in different books.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from .harte import NO_CHORD, InvalidChordException, degree_of_note

_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    # Harte's quality and degrees: suffixes of lead sheets.
    "maj": ("", "maj", "Maj", "ma", "M"),
    "min": ("m", "min", "mi", "-"),
    "dim": ("dim", "o", "°"),
    "aug": ("aug", "+"),
    "5": ("5",),
    "sus4": ("sus", "sus4"),
    "sus2": ("sus2",),
    "sus4(2)": ("sus24", "sus2sus4"),
    "maj6": ("6", "maj6", "M6"),
    "min6": ("m6", "min6", "mi6", "-6"),
    "maj6(9)": ("69", "6/9", "6(9)"),
    "min6(9)": ("m69", "m6/9", "-69", "-6/9"),
    "7": ("7",),
    "maj7": ("maj7", "Maj7", "ma7", "M7", "j7", "Δ7", "^7"),
    "min7": ("m7", "min7", "mi7", "-7"),
    "minmaj7": (
        *("mmaj7", "mMaj7", "mM7", "minmaj7", "minMaj7", "m(maj7)", "min(maj7)", "m(Maj7)", "m(M7)"),
        *("-maj7", "-Maj7", "-M7", "-(maj7)", "-Δ7", "-^7"),
    ),
    "dim7": ("dim7", "o7", "°7"),
    "hdim7": ("m7b5", "min7b5", "mi7b5", "-7b5", "m7(b5)", "min7(b5)", "-7(b5)", "ø", "ø7", "h7"),
    "aug7": ("aug7", "+7", "7+", "7#5", "7(#5)"),
    "maj7(*5,#5)": ("augmaj7", "+maj7", "+M7"),
    "sus4(b7)": ("7sus", "sus7", "7sus4", "7(sus4)"),
    "sus4(b7,9)": ("9sus", "9sus4", "9(sus4)"),
    "sus4(b7,9,13)": ("13sus", "13sus4", "13(sus4)"),
    "9": ("9",),
    "maj9": ("maj9", "Maj9", "ma9", "M9", "Δ9", "^9"),
    "min9": ("m9", "min9", "mi9", "-9"),
    "11": ("11",),
    "min11": ("m11", "min11", "mi11", "-11"),
    "13": ("13",),
    "maj13": ("maj13", "Maj13", "ma13", "M13", "Δ13", "^13"),
    "min13": ("m13", "min13", "mi13", "-13"),
}
SUFFIXES = MappingProxyType({suffix: quality for quality, suffixes in _SPELLINGS.items() for suffix in suffixes})
"""Suffix of a symbol -> quality and degrees in Harte's syntax."""
NO_CHORDS = ("N.C.", "NC", "N")  # Symbols of no chord

_LONGEST_SUFFIX = max(map(len, SUFFIXES))
_ALTERED = r"[#b](?:5|9|11|13)|add(?:2|4|9|11|13)"
_SIGNS = str.maketrans({"♭": "b", "♯": "#", "\N{MINUS SIGN}": "-", "\N{EN DASH}": "-"})


def leadsheet_to_harte(symbol: str) -> str:
    """Convert a chord symbol of a lead sheet to Harte's syntax.

    It has a root in capitals, a suffix of `SUFFIXES`, alterations (``b5 #5 b9 #9 #11 b13 add9``, optionally in
    brackets), and an optional bass note.

    Examples
    --------
    >>> [leadsheet_to_harte(symbol) for symbol in ("Am7", "Bb7", "Fmaj7/C", "Cm7b5", "Csus7/G", "G7(b9)", "N.C.")]
    ['A:min7', 'Bb:7', 'F:maj7/5', 'C:hdim7', 'C:sus4(b7)/5', 'G:7(b9)', 'N']
    """
    label = translate_symbol(symbol)
    if label is None:
        raise InvalidChordException(f"not a chord symbol of lead sheets: {symbol!r}", symbol)
    return label


def not_a_chord(label: str) -> str:
    """Message for a label that is not valid in Harte's syntax."""
    remedy = "" if translate_symbol(label) is None else "; for symbols like this one declare notation: leadsheet"
    return f"not a chord: {label!r}; chords are written like C, A:min7/b3, F#:(1,5) or N{remedy}"


@lru_cache(maxsize=1 << 14)
def translate_symbol(symbol: str) -> str | None:
    """Convert a chord symbol to Harte's syntax; None if it is invalid."""
    text = symbol.strip().translate(_SIGNS)
    if text in NO_CHORDS:
        return NO_CHORD
    # With a bass note if there can be one: C6/9 is no chord above a note.
    for body, slash, bass in (text.rpartition("/"), (text, "", "")):
        root = re.match("[A-G][#b]?", body)
        if root is None or (slash and not re.fullmatch("[A-G][#b]?", bass)):
            continue
        rest = body[root.end() :]
        # The longest suffix is used: m7b5 is a suffix, but m7b9 is m7 with an alteration.
        for end in range(min(len(rest), _LONGEST_SUFFIX), -1, -1):
            suffix, altered = rest[:end], rest[end:]
            if altered.startswith("(") and altered.endswith(")"):
                altered = altered[1:-1].replace(")(", "").replace(",", "") or "()"  # empty brackets are invalid
            elif altered and not suffix and not altered.startswith("add"):
                continue  # brackets are required without a suffix: Cb5 is the power chord on C flat
            parts = re.findall(_ALTERED, altered)
            if suffix not in SUFFIXES or "".join(parts) != altered or len(set(parts)) < len(parts):
                continue
            degrees: list[str] = []
            for part in parts:
                if part in ("b5", "#5") and "*5" not in degrees:
                    degrees.append("*5")
                degrees.append(part.removeprefix("add"))
            name, _, listed = SUFFIXES[suffix].partition("(")
            if degrees:
                listed = ",".join([*filter(None, [listed.removesuffix(")")]), *degrees]) + ")"
            quality = f"{name}({listed}" if listed else name
            label = root[0] if quality == "maj" else f"{root[0]}:{quality}"
            below = degree_of_note(root[0], bass) if bass else "1"
            return label if below == "1" else f"{label}/{below}"
    return None
