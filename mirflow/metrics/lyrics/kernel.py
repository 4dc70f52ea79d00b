"""Edit distances of many pairs of texts: alignments of words, of characters and of all tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from operator import ne

import numpy as np

from ...ragged import Int, Ragged, offsets_of, rows_of
from ..base import Pairs, Shared
from .tokens import TAGS, TEXT, WORD

Spell = Callable[[Sequence[str]], list[str]]
"""Tokens -> their words as they are written in lower and upper case, without what is not compared."""
_SURROGATES, _CHARACTERS = 0xD800, 0x110000 - 0x800
_EQUAL, _REPLACE, _DELETE, _INSERT = "equal", "replace", "delete", "insert"
EDITS = ("hit", "substitution", "deletion", "insertion")
HIT, SUBSTITUTION, DELETION, INSERTION = range(len(EDITS))


def as_string(codes: Int) -> str:
    """Codes as a string of as many characters, which is compared faster than a list of numbers.

    Examples
    --------
    >>> as_string(np.array([97, 98])), len(as_string(np.array([0xD800])))
    ('ab', 1)
    """
    return str((codes + 0x800 * (codes >= _SURROGATES)).astype("<u4").tobytes().decode("utf-32-le"))


@dataclass(frozen=True)
class Strings:
    """Sequences of codes, one for each row, as strings or, where there are too many codes, as lists."""

    flat: str | list[int]
    offsets: list[int]

    @classmethod
    def of(cls, codes: Int, counts: Int, most: int) -> Strings:
        """Of flat codes below `most`."""
        return cls(as_string(codes) if most < _CHARACTERS else codes.tolist(), offsets_of(counts).tolist())

    def row(self, row: int) -> str | list[int]:
        """The sequence of a row."""
        return self.flat[self.offsets[row] : self.offsets[row + 1]]


@dataclass(frozen=True)
class Texts:
    """The tokens of one side, row after row.

    Parameters
    ----------
    words, spelt : Strings
        The words as they are compared (without regard to case, where the convention has none), and as they are spelt.
    tokens : Strings
        All tokens as they are compared beside punctuation, of which they keep what is within them.
    tags : list of bytes
        Places of the tags of these in `TAGS`, by row.
    tagged : int64 (rows, tags)
        Number of tokens of each tag.
    characters : list of str
        The text of each row of which characters are compared.
    """

    words: Strings
    spelt: Strings
    tokens: Strings
    tags: list[bytes]
    tagged: Int
    characters: list[str]


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
    coded = []
    for side in (references, estimates):
        code, tag = side.columns["label"], side.columns["tag"]
        spelt = spell(side.labels)
        own = np.zeros((3, len(TAGS), len(side.labels)), dtype=np.int64)
        met = np.zeros(own.shape[1:], dtype=np.bool_)
        met[tag, code] = True
        for one, place in np.argwhere(met).tolist():
            text = side.labels[place]
            word = spelt[place] if one == WORD else text
            own[0, one, place] = spellings.setdefault(word, len(spellings))
            # A break is no word's equal, whatever the word looks like.
            own[1, one, place] = folds.setdefault((one, word if one == TEXT else fold(word)), len(folds))
            own[2, one, place] = folds.setdefault((one, text if one == TEXT else fold(text)), len(folds))
        coded.append((own[:, tag, code], tag, side.counts[0]))
    texts, most = [text for _, text in folds], max(len(spellings), len(folds))
    found = [_texts(codes, tag, counts, texts, most) for codes, tag, counts in coded]
    return found[0], found[1]


def _texts(codes: Int, tag: Int, counts: Int, texts: Sequence[str], most: int) -> Texts:
    owner = rows_of(counts)
    is_word, is_token, is_text = tag == WORD, tag != TEXT, tag == TEXT
    words, tokens, whole = (
        np.bincount(owner[chosen], minlength=len(counts)).astype(np.int64) for chosen in (is_word, is_token, is_text)
    )
    tags = tag[is_token].astype(np.uint8).tobytes()
    shown = is_text if is_text.any() else is_word
    written = [texts[code] for code in codes[1][shown].tolist()]
    ends = offsets_of(whole if is_text.any() else words).tolist()
    return Texts(
        Strings.of(codes[1][is_word], words, most),
        Strings.of(codes[0][is_word], words, most),
        Strings.of(codes[2][is_token], tokens, most),
        [tags[start:end] for start, end in pairwise(offsets_of(tokens).tolist())],
        np.bincount(owner * len(TAGS) + tag, minlength=len(counts) * len(TAGS)).reshape(-1, len(TAGS)),
        [" ".join(written[start:end]) for start, end in pairwise(ends)],
    )


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
    def of(cls, reference: str | list[int], estimate: str | list[int]) -> Alignment:
        """Of sequences of the same form."""
        from rapidfuzz.distance import Levenshtein

        found = Levenshtein.opcodes(reference, estimate)
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

    def words(self) -> Int:
        """Hits, substitutions, deletions, insertions, and hits whose case differs: int64 (pairs, 5)."""
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
        one, other = self.references.spelt.row(reference), self.estimates.spelt.row(estimate)
        case = 0
        for edit, start, end, first, last in alignment.blocks:
            if edit == _EQUAL and (here := one[start:end]) != (there := other[first:last]):
                case += sum(map(ne, here, there))
        return (*alignment.counts, case)

    def _characters(self, reference: int, estimate: int) -> Sequence[int]:
        from rapidfuzz.distance import Levenshtein

        one = self.references.characters[reference]
        return Levenshtein.distance(one, self.estimates.characters[estimate]), len(one)

    def _marks(self, reference: int, estimate: int) -> Sequence[int]:
        """Edits of each tag: equal tokens are hits, others of one tag a substitution, else a deletion and an insertion.

        Hits are what is left of the reference's tokens.
        """
        alignment = Alignment.of(self.references.tokens.row(reference), self.estimates.tokens.row(estimate))
        one, other = self.references.tags[reference], self.estimates.tags[estimate]
        found = [[0] * len(EDITS) for _ in TAGS]
        for edit, start, end, first, last in alignment.blocks:
            if edit == _EQUAL:
                continue
            for here, there in zip_longest(one[start:end], other[first:last]):
                if here == there:
                    found[here][SUBSTITUTION] += 1
                    continue
                if here is not None:
                    found[here][DELETION] += 1
                if there is not None:
                    found[there][INSERTION] += 1
        for own, total in zip(found, self.references.tagged[reference].tolist(), strict=True):
            own[HIT] = total - own[SUBSTITUTION] - own[DELETION]
        return [count for own in found for count in own]
