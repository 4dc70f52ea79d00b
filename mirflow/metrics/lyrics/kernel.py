"""Edit distances of many pairs of texts: alignments of words, of characters and of all tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...ragged import Column, Int, Ragged, offsets_of
from ..base import Pairs, Shared
from .tokens import TAGS, TEXT, WORD

Spell = Callable[[Sequence[str]], list[str]]
"""Tokens -> their words as they are written in lower and upper case, without what is not compared."""
_SURROGATES, _CHARACTERS = 0xD800, 0x110000 - 0x800
_EQUAL, _REPLACE, _DELETE, _INSERT = "equal", "replace", "delete", "insert"
EDITS = ("hit", "substitution", "deletion", "insertion")
HIT, SUBSTITUTION, DELETION, INSERTION = range(len(EDITS))


def as_string(codes: Int) -> str | list[int]:
    """Codes as a string of as many characters, which is compared faster than a list of numbers.

    Examples
    --------
    >>> as_string(np.array([97, 98])), len(as_string(np.array([0xD800])))
    ('ab', 1)
    """
    if codes.size and codes.max() >= _CHARACTERS:
        return [int(code) for code in codes]
    return (codes + 0x800 * (codes >= _SURROGATES)).astype("<u4").tobytes().decode("utf-32-le")


@dataclass(frozen=True)
class Texts:
    """The tokens of one side, row after row.

    Parameters
    ----------
    spelling, folded, token : int64 (tokens,)
        Codes of the words as they are spelt, as they are compared (without regard to case, where the convention has
        none), and as they are compared beside punctuation, of which they keep what is within them.
    tag : int64 (tokens,)
        Places in `TAGS`.
    counts : int64 (rows,)
    texts : sequence of str
        What is compared, by `folded`.
    whole : bool
        Whether a token holds the text of which characters are compared; else these are the words with blanks between.
    """

    spelling: Int
    folded: Int
    token: Int
    tag: Int
    counts: Int
    texts: Sequence[str]
    whole: bool

    @cached_property
    def offsets(self) -> Int:
        """Start of each row."""
        return offsets_of(self.counts)

    def row(self, row: int) -> slice:
        """The tokens of a row."""
        return slice(int(self.offsets[row]), int(self.offsets[row + 1]))

    def words(self, row: int) -> tuple[Int, Int]:
        """The words of a row as they are compared, and as they are spelt: int64 (words,) each."""
        inside = self.row(row)
        chosen = self.tag[inside] == WORD
        return self.folded[inside][chosen], self.spelling[inside][chosen]

    def marks(self, row: int) -> tuple[Int, Int]:
        """All tokens of a row as they are compared, and their tags: int64 (tokens,) each."""
        inside = self.row(row)
        chosen = self.tag[inside] != TEXT
        return self.token[inside][chosen], self.tag[inside][chosen]

    def characters(self, row: int) -> str:
        """The text of a row of which characters are compared."""
        inside = self.row(row)
        chosen = self.tag[inside] == (TEXT if self.whole else WORD)
        return " ".join(self.texts[code] for code in self.folded[inside][chosen].tolist())


def texts_of(references: Ragged, estimates: Ragged, spell: Spell, fold: Callable[[str], str]) -> tuple[Texts, Texts]:
    """Tokens of both sides under common codes.

    Parameters
    ----------
    references, estimates : Ragged
        As `clean` of a convention leaves them.
    spell : callable
        Tokens -> words as they are written.
    fold : callable
        Word -> word as it is compared.
    """
    spellings: dict[str, int] = {}
    folds: dict[tuple[int, str], int] = {}
    found = []
    for side in (references, estimates):
        code, tag = side.columns["label"], side.columns["tag"]
        spelt = spell(side.labels)
        own = np.zeros((3, len(TAGS), len(side.labels)), dtype=np.int64)
        for one, place in np.unique(np.column_stack([tag, code]), axis=0).tolist():
            word = spelt[place] if one == WORD else side.labels[place]
            # A break is no word's equal, whatever the word looks like.
            keys = [(one, text if one == TEXT else fold(text)) for text in (word, side.labels[place])]
            own[0, one, place] = spellings.setdefault(word, len(spellings))
            own[1:, one, place] = [folds.setdefault(key, len(folds)) for key in keys]
        found.append((own[:, tag, code], tag, side.counts[0]))
    texts, whole = [text for _, text in folds], any((tag == TEXT).any() for _, tag, _ in found)
    one, other = (Texts(codes[0], codes[1], codes[2], tag, counts, texts, whole) for codes, tag, counts in found)
    return one, other


@dataclass(frozen=True)
class Alignment:
    """The best alignment of two sequences, of several the one that rapidfuzz finds, as jiwer takes it.

    Parameters
    ----------
    blocks : sequence of (str, int, int, int, int)
        ``equal``, ``replace``, ``delete`` or ``insert``, and the stretches of reference and estimate.
    """

    blocks: Sequence[tuple[str, int, int, int, int]]

    @classmethod
    def of(cls, reference: Int, estimate: Int) -> Alignment:
        """Of codes."""
        from rapidfuzz.distance import Levenshtein

        one, other = as_string(reference), as_string(estimate)
        if type(one) is not type(other):
            one, other = [int(code) for code in reference], [int(code) for code in estimate]
        found = Levenshtein.opcodes(one, other)
        return cls([(op.tag, op.src_start, op.src_end, op.dest_start, op.dest_end) for op in found])

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Hits, substitutions, deletions and insertions."""
        found = dict.fromkeys((_EQUAL, _REPLACE, _DELETE, _INSERT), 0)
        for edit, start, end, first, last in self.blocks:
            found[edit] += max(end - start, last - first)
        return found[_EQUAL], found[_REPLACE], found[_DELETE], found[_INSERT]

    @property
    def pairs(self) -> tuple[Int, Int]:
        """Places of aligned items on both sides, -1 where there is none: int64 (n,) each."""
        one: list[int] = []
        other: list[int] = []
        for edit, start, end, first, last in self.blocks:
            size = max(end - start, last - first)
            one.extend([-1] * size if edit == _INSERT else range(start, end))
            other.extend([-1] * size if edit == _DELETE else range(first, last))
        return np.array(one, dtype=np.int64), np.array(other, dtype=np.int64)


def edits_by_tag(alignment: Alignment, tags: tuple[Int, Int]) -> Int:
    """Hits, substitutions, deletions and insertions of the tokens of each tag: int64 (tags, 4).

    Two tokens of one tag that are not equal are a substitution; of different tags a deletion and an insertion.
    """
    found = np.zeros((len(TAGS), len(EDITS)), dtype=np.int64)
    for edit, start, end, first, last in alignment.blocks:
        here, there = tags[0][start:end], tags[1][first:last]
        if edit == _EQUAL:
            found[:, HIT] += np.bincount(here, minlength=len(TAGS))
            continue
        alike = here == there if edit == _REPLACE else np.zeros(0, dtype=np.bool_)
        found[:, SUBSTITUTION] += np.bincount(here[alike] if alike.size else here[:0], minlength=len(TAGS))
        for side, column in ((here, DELETION), (there, INSERTION)):
            found[:, column] += np.bincount(side[~alike] if alike.size else side, minlength=len(TAGS))
    return found


class TextPairs(Shared):
    """The edits between the texts of some pairs, each alignment made once for all metrics that read it.

    Parameters
    ----------
    pairs : Pairs
    spell, fold : callable
        See `texts_of`.
    """

    def __init__(self, pairs: Pairs, spell: Spell, fold: Callable[[str], str]) -> None:
        super().__init__()
        self.references, self.estimates = texts_of(pairs.references, pairs.estimates, spell, fold)
        self.rows = list(zip(pairs.reference_row.tolist(), pairs.estimate_row.tolist(), strict=True))

    def _each(self, compute: Callable[[int, int], Any], width: tuple[int, ...]) -> Column:
        found = np.zeros((len(self.rows), *width), dtype=np.int64)
        for place, (reference, estimate) in enumerate(self.rows):
            found[place] = compute(reference, estimate)
        return found

    def words(self) -> Int:
        """Hits, substitutions, deletions, insertions, and hits whose case differs: int64 (pairs, 5)."""
        return self.once("words", lambda: self._each(self._words, (5,)))

    def _words(self, reference: int, estimate: int) -> tuple[int, ...]:
        (one, spelt), (other, spelt_other) = self.references.words(reference), self.estimates.words(estimate)
        alignment = Alignment.of(one, other)
        case = sum(
            int((spelt[start:end] != spelt_other[first:last]).sum())
            for edit, start, end, first, last in alignment.blocks
            if edit == _EQUAL
        )
        return (*alignment.counts, case)

    def characters(self) -> Int:
        """Edits of characters, and characters of the reference: int64 (pairs, 2)."""

        def compute(reference: int, estimate: int) -> tuple[int, int]:
            from rapidfuzz.distance import Levenshtein

            own = strings[0].setdefault(reference, self.references.characters(reference))
            other = strings[1].setdefault(estimate, self.estimates.characters(estimate))
            return Levenshtein.distance(own, other), len(own)

        strings: tuple[dict[int, str], dict[int, str]] = ({}, {})
        return self.once("characters", lambda: self._each(compute, (2,)))

    def marks(self) -> Int:
        """Edits by tag, from one alignment of all tokens: int64 (pairs, tags, 4)."""
        return self.once("marks", lambda: self._each(self._marks, (len(TAGS), len(EDITS))))

    def _marks(self, reference: int, estimate: int) -> Int:
        (one, tags), (other, tags_other) = self.references.marks(reference), self.estimates.marks(estimate)
        return edits_by_tag(Alignment.of(one, other), (tags, tags_other))
