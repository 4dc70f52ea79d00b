"""Text as tokens by the rules of each convention, and alignments of words, characters and all tokens of many pairs."""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, zip_longest
from operator import ne
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from ...errors import MetricError
from ...ragged import Bool, Int, Ragged, offsets_of, rows_of
from ..base import Pairs, Shared, computed_once

Spell = Callable[[Sequence[str]], list[str]]
"""Tokens -> words in their original case, without parts that are not compared."""
_SURROGATES, _CHARACTERS = 0xD800, 0x110000 - 0x800
_EQUAL, _REPLACE, _DELETE, _INSERT = "equal", "replace", "delete", "insert"
EDITS = ("hit", "substitution", "deletion", "insertion")
HIT, SUBSTITUTION, DELETION, INSERTION = range(len(EDITS))
SPELT, COMPARED, TOKENS = range(3)  # Forms of texts: words as spelt or as compared, and all tokens
_Flat = TypeVar("_Flat", str, bytes, list[int], list[str])
Block = tuple[str, int, int, int, int]
"""``equal``, ``replace``, ``delete`` or ``insert``, with start and stop in reference and estimate."""


@dataclass(frozen=True)
class Texts:
    """Tokens of one side."""

    codes: Int
    """int64 (3, tokens): codes of words as spelt; of words as compared (ignoring case if the convention does); and of
    all tokens as compared together with punctuation, keeping punctuation within words."""
    tag: Int  # Index of the tag in `TAGS`: int64 (tokens,)
    counts: Int  # int64 (rows,)
    names: Sequence[str]  # Compared strings, by code
    most: int  # Number of codes

    def split(self, flat: _Flat, chosen: Bool) -> list[_Flat]:
        """Split a sequence with one item for each chosen token by row."""
        counts = np.bincount(rows_of(self.counts)[chosen], minlength=len(self.counts)).astype(np.int64)
        return [flat[start:end] for start, end in pairwise(offsets_of(counts).tolist())]

    def strings(self, form: int) -> list[str] | list[list[int]]:
        """Sequences of codes of each row in a form, as strings or, if there are too many codes, as lists."""
        chosen = self.tag != TEXT if form == TOKENS else self.tag == WORD
        codes = self.codes[form][chosen]
        if self.most >= _CHARACTERS:
            return self.split(codes.tolist(), chosen)
        # One character for each code is compared faster than a list of numbers.
        characters = (codes + 0x800 * (codes >= _SURROGATES)).astype("<u4")
        return self.split(characters.tobytes().decode("utf-32-le"), chosen)


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
            of_label[COMPARED, tag_number, places] = [
                folds.setdefault((tag_number, word if tag_number == TEXT else fold(word)), len(folds)) for word in words
            ]
            codes = of_label[COMPARED, tag_number, places]
            of_label[SPELT, tag_number, places] = of_label[TOKENS, tag_number, places] = codes
            if fold is not str and tag_number == WORD:
                of_label[SPELT, tag_number, places] = [spellings.setdefault(word, len(spellings)) for word in words]
            if words != texts:
                of_label[TOKENS, tag_number, places] = [
                    folds.setdefault((tag_number, fold(text)), len(folds)) for text in texts
                ]
        coded.append((of_label[:, tag, code], tag, side.counts[0]))
    names, most = [text for _, text in folds], max(len(spellings), len(folds))
    found = [Texts(codes, tag, counts, names, most) for codes, tag, counts in coded]
    return found[0], found[1]


class TextPairs(Shared):
    """Edits between the texts of pairs; alignments are computed once for all metrics."""

    def __init__(self, pairs: Pairs, spell: Spell, fold: Callable[[str], str], *, silence: bool = False) -> None:
        self.silence = silence
        """Whether texts without words are scored."""
        self.cased = fold is not str
        self.sides = texts_of(pairs.references, pairs.estimates, spell, fold)
        self.rows = list(zip(pairs.reference_row.tolist(), pairs.estimate_row.tolist(), strict=True))

    def aligned(self, form: int) -> Iterator[Sequence[Block]]:
        """The best alignment of each pair in a form; among several, the one found by rapidfuzz, as in jiwer."""
        from rapidfuzz.distance import Levenshtein

        references, estimates = (side.strings(form) for side in self.sides)
        for reference, estimate in self.rows:
            edits: Any = Levenshtein.opcodes(references[reference], estimates[estimate])
            yield edits.as_list()  # contains tuples, unlike its stub says

    @computed_once
    def words(self) -> Int:
        """Hits, substitutions, deletions, insertions, and hits with different case: int64 (pairs, 5)."""
        counts = np.zeros((len(self.rows), len(EDITS) + 1), dtype=np.int64)
        spelt = [side.strings(SPELT) for side in self.sides] if self.cased else []
        for pair, blocks in enumerate(self.aligned(COMPARED)):
            number = dict.fromkeys((_EQUAL, _REPLACE, _DELETE, _INSERT), 0)
            case = 0
            if spelt:
                one, other = (side[row] for side, row in zip(spelt, self.rows[pair], strict=True))
            for edit, start, end, first, last in blocks:
                number[edit] += (last - first) if edit == _INSERT else (end - start)
                if spelt and edit == _EQUAL and (here := one[start:end]) != (there := other[first:last]):
                    case += sum(map(ne, here, there))
            counts[pair] = *number.values(), case
        return counts

    @computed_once
    def characters(self) -> Int:
        """Edits of characters, and characters of the reference: int64 (pairs, 2)."""
        from rapidfuzz.distance import Levenshtein

        texts_of_sides: list[list[str]] = []
        for side in self.sides:  # a text is that of a text token if there is one, else the joined words
            whole = side.tag == TEXT
            chosen = whole if whole.any() else side.tag == WORD
            names = [side.names[code] for code in side.codes[COMPARED][chosen].tolist()]
            words: list[list[str]] = side.split(names, chosen)
            texts_of_sides.append([" ".join(of_row) for of_row in words])
        references, estimates = texts_of_sides
        texts = ((references[one], estimates[other]) for one, other in self.rows)
        counts = [(Levenshtein.distance(one, other), len(one)) for one, other in texts]
        return np.array(counts, dtype=np.int64).reshape(-1, 2)

    @computed_once
    def marks(self) -> Int:
        """Edits by tag, from one alignment of all tokens: int64 (pairs, tags, 4).

        Equal tokens are hits, others with the same tag substitutions, else a deletion and an insertion.
        """
        counts = np.zeros((len(self.rows), len(TAGS), len(EDITS)), dtype=np.int64)
        # Indices of the tags of all tokens in `TAGS`, by row.
        references, estimates = (
            side.split(side.tag[chosen].astype(np.uint8).tobytes(), chosen)
            for side, chosen in ((side, side.tag != TEXT) for side in self.sides)
        )
        for pair, blocks in enumerate(self.aligned(TOKENS)):
            one, other = (tags[row] for tags, row in zip((references, estimates), self.rows[pair], strict=True))
            counted = [[0] * len(EDITS) for _ in TAGS]
            for edit, start, end, first, last in blocks:
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
            for tag, own in enumerate(counted):  # hits are the remaining tokens of the reference
                own[HIT] = one.count(tag) - own[SUBSTITUTION] - own[DELETION]
            counts[pair] = counted
        return counts


TAGS = ("word", "punctuation", "parenthesis", "line_break", "section_break", "text")
"""Kinds of tokens; ``text`` is the whole text, if characters are compared in that."""
WORD, PUNCTUATION, PARENTHESIS, LINE, SECTION, TEXT = range(len(TAGS))
LINE_BREAK, SECTION_BREAK = "<L>", "<S>"
Tokens = tuple[Sequence[str], Sequence[int]]
"""Texts, and indices of their tags in `TAGS`."""
Tokeniser = Callable[[str, str], Tokens]  # (text, language) -> tokens
DEFAULT_LANGUAGE = "en"
TWO_LETTERS: Mapping[str, str] = MappingProxyType(
    {
        name: code
        for code, names in {
            "en": "eng english",
            "fr": "fra fre french",
            "it": "ita italian",
            "de": "deu ger german",
            "es": "spa spanish",
            "pt": "por portuguese",
            "nl": "nld dut dutch",
            "ru": "rus russian",
            "ja": "jpn japanese",
            "zh": "zho chi cmn chinese",
            "ko": "kor korean",
        }.items()
        for name in names.split()
    }
)
"""Codes of languages with specific rules by alternative names."""


def plain_tokens(text: str, language: str = "") -> Tokens:
    """Split text in Unicode's form NFC into words at whitespace, and breaks of lines and, at empty lines, sections."""
    texts: list[str] = []
    tags: list[int] = []
    empty = False
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    for line in text.split("\n"):
        words = line.split()
        if words and texts:
            texts += [LINE_BREAK, SECTION_BREAK][: 1 + empty]
            tags += [LINE, SECTION][: 1 + empty]
        texts += words
        tags += [WORD] * len(words)
        empty = not words
    return texts, tags


def jiwer_tokens(text: str, language: str = "") -> Tokens:
    """Split text into words at spaces only, as jiwer does by default, followed by the text itself."""
    stripped = text.strip()
    if not stripped:
        return [], []
    words = [word for word in re.sub(r"\s\s+", " ", stripped).split(" ") if word]
    return [*words, stripped], [*[WORD] * len(words), TEXT]


def moses_tokens(text: str, language: str = DEFAULT_LANGUAGE) -> Tokens:
    """Split text into Moses tokens, with the rules of alt-eval 1.2.0 for lyrics."""
    expressions = _expressions()
    plain = unicodedata.normalize("NFC", expressions["symbol"].sub(" ", text.replace("\r\n", "\n").replace("\r", "")))
    texts: list[str] = []
    tags: list[int] = []
    for part in re.split(r"(\n+)", expressions["blank_line"].sub("\n\n", plain.rstrip("\n"))):
        if part.startswith("\n"):
            texts += [LINE_BREAK, SECTION_BREAK][: len(part)]
            tags += [LINE, SECTION][: len(part)]
        else:
            tokens = _line_tokens(part, language)
            texts += tokens[0]
            tags += tokens[1]
    return texts, tags


_APOSTROPHE, _ASTERISK = "\u02bc\u0be7", "\u02bd\u0be7"
"""Placeholders for characters at which Moses must not split: a letter and a digit without rules in Moses."""
_WITHOUT_BLANKS = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Myanmar", "Khmer", "Tibetan")
_WITH_BLANKS = (
    *("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Hangul", "Armenian", "Georgian", "Bengali"),
    *("Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Ethiopic", "Cherokee"),
    *("Mongolian", "Bopomofo", "Syriac", "Thaana"),
)
"""Unicode scripts; words end between letters of two scripts."""
_ELIDING = ("en", "fr", "it")  # Languages in which Moses splits words at apostrophes


@lru_cache(1)
def _expressions() -> Mapping[str, Any]:
    try:
        regex: Any = importlib.import_module("regex")
        importlib.import_module("sacremoses")  # of which `_moses_of` makes use
    except ModuleNotFoundError:
        message = "convention 'alt_eval' needs sacremoses: pip install 'mirflow[lyrics]'; or choose another convention"
        raise MetricError(message) from None
    single = "".join(rf"\p{{{script}}}" for script in _WITHOUT_BLANKS)
    borders = (rf"(?<=[\p{{{blank}}}&&\p{{L}}])(?=[\p{{L}}--\p{{{blank}}}])" for blank in _WITH_BLANKS)
    return {
        "symbol": regex.compile(r"[^\w\s\p{P}]"),
        "blank_line": regex.compile(r"\n[^\S\n]+\n"),
        "border": regex.compile("|".join([*borders, rf"(?<=[{single}])(?=.)|(?<=.)(?=[{single}])"]), regex.V1),
        "edge_apostrophe": regex.compile(r"(?<=\w)'(?!\w)|(?<!\w)'(?=\w)"),
        "last_apostrophe": regex.compile(r"(?<=\S)'$"),
        "german_clitic": regex.compile(r"(?<=\S)'(?=s\b)|\b(für|wie)\K'(?=n\b)", regex.I),
        "letter": regex.compile(r"\w"),
        "spelling": regex.compile(r"[^\w']"),
    }


@lru_cache
def _moses_of(language: str) -> tuple[Any, Any]:
    """Make the punctuation normaliser and the tokeniser of a language."""
    sacremoses: Any = importlib.import_module("sacremoses")
    return sacremoses.MosesPunctNormalizer(lang=language), sacremoses.MosesTokenizer(lang=language)


@lru_cache(1 << 16)
def _line_tokens(line: str, language: str) -> Tokens:
    """Split a line of letters, digits and punctuation into tokens; cached because of refrains."""
    if not line.strip():
        return (), ()
    expressions = _expressions()
    normaliser, tokeniser = _moses_of(language)
    text = normaliser.normalize(f"{line} ")
    if language in _ELIDING:
        text = expressions["edge_apostrophe"].sub(_APOSTROPHE, text)
        if not line[-1].isspace():
            text = expressions["last_apostrophe"].sub(" '", text)
    else:
        if language == "de":
            text = expressions["german_clitic"].sub(" '", text)
        text = text.replace("'", _APOSTROPHE)
    tokens = tokeniser.tokenize(text.replace("*", _ASTERISK), aggressive_dash_splits=True, escape=False)
    plain = ("-" if token == "@-@" else token.replace(_APOSTROPHE, "'").replace(_ASTERISK, "*") for token in tokens)
    texts = tuple(part for token in plain for part in expressions["border"].split(token) if part)
    return texts, tuple(
        PARENTHESIS if text in ("(", ")") else WORD if expressions["letter"].search(text) else PUNCTUATION
        for text in texts
    )


def moses_spellings(tokens: Sequence[str]) -> list[str]:
    """Return the words of Moses tokens as compared: letters, digits and apostrophes."""
    spelling = _expressions()["spelling"]
    return [spelling.sub("", token) for token in tokens]
