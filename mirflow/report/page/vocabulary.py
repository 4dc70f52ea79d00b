"""The labels of a page, each once, with what they sound like."""

from __future__ import annotations

from collections.abc import Sequence

from ...theory.chords import encode_vocabulary
from ...theory.keys import MODES, UNNAMED, parse_key

_TRIADS = {"major": 0b10010001, "minor": 0b10001001}
# The tonic triad of a church mode is minor where its third is.
_TRIADS |= dict.fromkeys(("lydian", "mixolydian"), _TRIADS["major"])
_TRIADS |= dict.fromkeys(("dorian", "phrygian"), _TRIADS["minor"]) | {"locrian": 0b1001001}
Entry = list[str | int]
LONGEST = 300
"""Characters of a label that the page shows."""


def shorten(text: str, longest: int) -> str:
    """A text, cut where it is too long to be looked at.

    Examples
    --------
    >>> shorten("verse", 5), shorten("chorus", 5)
    ('verse', 'chor\N{HORIZONTAL ELLIPSIS}')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


class Vocabulary:
    """Labels by number: ``[text]``, or for chords and keys ``[text, root, semitones above it as bits, bass]``.

    Examples
    --------
    >>> vocabulary = Vocabulary()
    >>> vocabulary.codes(["C", "N", "C"], "chord"), vocabulary.codes(["verse"], "segment")
    ([0, 1, 0], [2])
    >>> vocabulary.entries()
    [['C', 0, 145, 0], ['N', -1, 0, -1], ['verse']]
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], int] = {}

    def codes(self, labels: Sequence[str], task: str) -> list[int]:
        """Numbers of labels, which belong to a task."""
        family = task if task in ("chord", "key") else ""
        return [self._places.setdefault((family, label), len(self._places)) for label in labels]

    def entries(self) -> list[Entry]:
        """All labels in the order of their numbers."""
        chords = [label for family, label in self._places if family == "chord"]
        table = encode_vocabulary(chords)
        numbers = zip(table.root.tolist(), table.pitches.tolist(), table.bass.tolist(), strict=True)
        sounding = dict(zip(chords, numbers, strict=True))
        return [[shorten(label, LONGEST), *_numbers(family, label, sounding)] for family, label in self._places]


def _numbers(family: str, label: str, chords: dict[str, tuple[int, int, int]]) -> tuple[int, ...]:
    if family == "chord":
        return chords[label]
    if family != "key":
        return ()
    key = parse_key(label)
    if key is None or key is UNNAMED:
        return -1, 0, -1
    return key.tonic, _TRIADS.get(MODES[key.mode], 0b1), 0
