"""Edit distances of many pairs of texts: alignments of words, characters and all tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from operator import ne
from typing import Any

import numpy as np

from ...ragged import Bool, Int, Ragged, offsets_of, rows_of
from ..base import Pairs, Shared
from .tokens import TAGS, TEXT, WORD

Spell = Callable[[Sequence[str]], list[str]]
"""Tokens -> words in their original case, without parts that are not compared."""
_SURROGATES, _CHARACTERS = 0xD800, 0x110000 - 0x800
_EQUAL, _REPLACE, _DELETE, _INSERT = "equal", "replace", "delete", "insert"
EDITS = ("hit", "substitution", "deletion", "insertion")
HIT, SUBSTITUTION, DELETION, INSERTION = range(len(EDITS))


@dataclass(frozen=True)
class Strings:
    """Sequences of codes, one per row, as strings or, if there are too many codes, as lists."""

    flat: str | list[int]
    offsets: list[int]

    def row(self, row: int) -> str | list[int]:
        """Sequence of a row."""
        return self.flat[self.offsets[row] : self.offsets[row + 1]]


@dataclass(frozen=True)
class Texts:
    """Tokens of one side, with forms that are computed on first use."""

    codes: Int
    """int64 (3, tokens): codes of words as spelt; of words as compared (ignoring case if the convention does); and of
    all tokens as compared together with punctuation, keeping punctuation within words."""
    tag: Int  # Index of the tag in `TAGS`: int64 (tokens,)
    counts: Int  # int64 (rows,)
    names: Sequence[str]  # Compared strings, by code
    most: int  # Number of codes

    def _offsets(self, chosen: Bool) -> list[int]:
        counts = np.bincount(rows_of(self.counts)[chosen], minlength=len(self.counts))
        offsets: list[int] = offsets_of(counts.astype(np.int64)).tolist()
        return offsets

    def _strings(self, form: int, chosen: Bool) -> Strings:
        codes = self.codes[form][chosen]
        # One character for each code is compared faster than a list of numbers.
        characters = (codes + 0x800 * (codes >= _SURROGATES)).astype("<u4") if self.most < _CHARACTERS else None
        flat = codes.tolist() if characters is None else characters.tobytes().decode("utf-32-le")
        return Strings(flat, self._offsets(chosen))

    @cached_property
    def words(self) -> Strings:
        """Words as compared."""
        return self._strings(1, self.tag == WORD)

    @cached_property
    def spelt(self) -> Strings:
        """Words as spelt."""
        return self._strings(0, self.tag == WORD)

    @cached_property
    def tokens(self) -> Strings:
        """All tokens."""
        return self._strings(2, self.tag != TEXT)

    @cached_property
    def tags(self) -> list[bytes]:
        """Indices of the tags of all tokens in `TAGS`, by row."""
        chosen = self.tag != TEXT
        flat = self.tag[chosen].astype(np.uint8).tobytes()
        return [flat[start:end] for start, end in pairwise(self._offsets(chosen))]

    @cached_property
    def characters(self) -> list[str]:
        """Text of each row for comparing characters: that of a text token if there is one, else the joined words."""
        whole = self.tag == TEXT
        chosen = whole if whole.any() else self.tag == WORD
        written = [self.names[code] for code in self.codes[1][chosen].tolist()]
        return [" ".join(written[start:end]) for start, end in pairwise(self._offsets(chosen))]


def texts_of(references: Ragged, estimates: Ragged, spell: Spell, fold: Callable[[str], str]) -> tuple[Texts, Texts]:
    """Make the tokens of both sides with common codes, with words as spelt and as folded for comparison."""
    spellings: dict[str, int] = {}
    folds: dict[tuple[int, str], int] = {}
    coded = []
    for side in (references, estimates):
        code, tag = side.columns["label"], side.columns["tag"]
        spelt = spell(side.labels)
        of_label = np.zeros((3, len(TAGS), len(side.labels)), dtype=np.int64)
        met = np.zeros(of_label.shape[1:], dtype=np.bool_)
        met[tag, code] = True
        for tag_number in np.flatnonzero(met.any(axis=1)).tolist():
            places = np.flatnonzero(met[tag_number])
            texts = [side.labels[index] for index in places.tolist()]
            words = [spelt[index] for index in places.tolist()] if tag_number == WORD else texts
            # A break never equals a word, whatever its text.
            of_label[1, tag_number, places] = [
                folds.setdefault((tag_number, word if tag_number == TEXT else fold(word)), len(folds)) for word in words
            ]
            of_label[0, tag_number, places] = of_label[2, tag_number, places] = of_label[1, tag_number, places]
            if fold is not str and tag_number == WORD:
                of_label[0, tag_number, places] = [spellings.setdefault(word, len(spellings)) for word in words]
            if words != texts:
                of_label[2, tag_number, places] = [
                    folds.setdefault((tag_number, fold(text)), len(folds)) for text in texts
                ]
        coded.append((of_label[:, tag, code], tag, side.counts[0]))
    names, most = [text for _, text in folds], max(len(spellings), len(folds))
    found = [Texts(codes, tag, counts, names, most) for codes, tag, counts in coded]
    return found[0], found[1]


@dataclass(frozen=True)
class Alignment:
    """The best alignment of two sequences; among several, the one found by rapidfuzz, as in jiwer."""

    blocks: Sequence[tuple[str, int, int, int, int]]
    """``equal``, ``replace``, ``delete`` or ``insert``, with start and stop in reference and estimate."""

    @classmethod
    def of(cls, reference: str | list[int], estimate: str | list[int]) -> Alignment:
        """Align two sequences of the same type."""
        from rapidfuzz.distance import Levenshtein

        edits: Any = Levenshtein.opcodes(reference, estimate)  # the list contains tuples, unlike its stub says
        return cls(edits.as_list())

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Hits, substitutions, deletions and insertions."""
        counts = {_EQUAL: 0, _REPLACE: 0, _DELETE: 0, _INSERT: 0}
        for edit, start, end, first, last in self.blocks:
            counts[edit] += (last - first) if edit == _INSERT else (end - start)
        return counts[_EQUAL], counts[_REPLACE], counts[_DELETE], counts[_INSERT]

    @property
    def pairs(self) -> tuple[Int, Int]:
        """Indices of aligned items on both sides, -1 for none: int64 (n,) each."""
        one: list[int] = []
        other: list[int] = []
        for edit, start, end, first, last in self.blocks:
            size = max(end - start, last - first)
            one.extend([-1] * size if edit == _INSERT else range(start, end))
            other.extend([-1] * size if edit == _DELETE else range(first, last))
        return np.array(one, dtype=np.int64), np.array(other, dtype=np.int64)


class TextPairs(Shared):
    """Edits between the texts of pairs; alignments are computed once for all metrics."""

    def __init__(self, pairs: Pairs, spell: Spell, fold: Callable[[str], str], *, silence: bool = False) -> None:
        super().__init__()
        self.silence = silence
        """Whether texts without words are scored."""
        self.cased = fold is not str
        self.references, self.estimates = texts_of(pairs.references, pairs.estimates, spell, fold)
        self.rows = list(zip(pairs.reference_row.tolist(), pairs.estimate_row.tolist(), strict=True))

    def words(self) -> Int:
        """Hits, substitutions, deletions, insertions, and hits with different case: int64 (pairs, 5)."""
        return self.once("words", lambda: self._each(self._words, 5))

    def characters(self) -> Int:
        """Edits of characters, and characters of the reference: int64 (pairs, 2)."""
        return self.once("characters", lambda: self._each(self._characters, 2))

    def marks(self) -> Int:
        """Edits by tag, from one alignment of all tokens: int64 (pairs, tags, 4)."""
        flat = self.once("marks", lambda: self._each(self._marks, len(TAGS) * len(EDITS)))
        return flat.reshape(-1, len(TAGS), len(EDITS))

    def _each(self, compute: Callable[[int, int], Sequence[int]], width: int) -> Int:
        return np.array([compute(*pair) for pair in self.rows], dtype=np.int64).reshape(-1, width)

    def _words(self, reference: int, estimate: int) -> Sequence[int]:
        alignment = Alignment.of(self.references.words.row(reference), self.estimates.words.row(estimate))
        if not self.cased:
            return (*alignment.counts, 0)
        case, one, other = 0, self.references.spelt.row(reference), self.estimates.spelt.row(estimate)
        for edit, start, end, first, last in alignment.blocks:
            if edit == _EQUAL and (here := one[start:end]) != (there := other[first:last]):
                case += sum(map(ne, here, there))
        return (*alignment.counts, case)

    def _characters(self, reference: int, estimate: int) -> Sequence[int]:
        from rapidfuzz.distance import Levenshtein

        one = self.references.characters[reference]
        return Levenshtein.distance(one, self.estimates.characters[estimate]), len(one)

    def _marks(self, reference: int, estimate: int) -> Sequence[int]:
        """Edits of each tag: equal tokens are hits, others with the same tag substitutions, else a deletion and an
        insertion.

        Hits are the remaining tokens of the reference.
        """
        alignment = Alignment.of(self.references.tokens.row(reference), self.estimates.tokens.row(estimate))
        one, other = self.references.tags[reference], self.estimates.tags[estimate]
        counted = [[0] * len(EDITS) for _ in TAGS]
        for edit, start, end, first, last in alignment.blocks:
            if edit == _EQUAL:
                continue
            for here, there in zip_longest(one[start:end], other[first:last]):
                if here == there:
                    counted[here][SUBSTITUTION] += 1
                    continue
                if here is not None:
                    counted[here][DELETION] += 1
                if there is not None:
                    counted[there][INSERTION] += 1
        for tag, own in enumerate(counted):
            own[HIT] = one.count(tag) - own[SUBSTITUTION] - own[DELETION]
        return [count for own in counted for count in own]
