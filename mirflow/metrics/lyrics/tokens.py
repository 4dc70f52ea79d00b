"""Text as tokens: words, punctuation, parentheses, breaks of lines and sections, by the rules of each convention."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ...errors import MetricError

TAGS = ("word", "punctuation", "parenthesis", "line_break", "section_break", "text")
"""Kinds of tokens; ``text`` is the whole text, if characters are compared in that."""
WORD, PUNCTUATION, PARENTHESIS, LINE, SECTION, TEXT = range(len(TAGS))
LINE_BREAK, SECTION_BREAK = "<L>", "<S>"
Tokens = tuple[Sequence[str], Sequence[int]]
"""Texts, and indices of their tags in `TAGS`."""
Tokeniser = Callable[[str, str], Tokens]  # (text, language) -> tokens
DEFAULT_LANGUAGE = "en"
_TWO_LETTERS: Mapping[str, str] = MappingProxyType(
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


def language_code(language: str) -> str:
    """Return the code by which the rules of a language are found, with two letters if possible."""
    code = language.strip().lower().replace("_", "-").partition("-")[0]
    return _TWO_LETTERS.get(code, code) or DEFAULT_LANGUAGE


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
    regex = _moses("regex")
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


def _moses(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        message = "convention 'alt_eval' needs sacremoses: pip install 'mirflow[lyrics]'; or choose another convention"
        raise MetricError(message) from None


@lru_cache
def _moses_of(language: str) -> tuple[Callable[[str], str], Callable[..., list[str]]]:
    """Make the punctuation normaliser and the tokeniser of a language."""
    sacremoses = _moses("sacremoses")
    return sacremoses.MosesPunctNormalizer(lang=language).normalize, sacremoses.MosesTokenizer(lang=language).tokenize


@lru_cache(1 << 16)
def _line_tokens(line: str, language: str) -> Tokens:
    """Split a line of letters, digits and punctuation into tokens; cached because of refrains."""
    if not line.strip():
        return (), ()
    expressions = _expressions()
    normalise, tokenise = _moses_of(language)
    text = normalise(f"{line} ")
    if language in _ELIDING:
        text = expressions["edge_apostrophe"].sub(_APOSTROPHE, text)
        if not line[-1].isspace():
            text = expressions["last_apostrophe"].sub(" '", text)
    else:
        if language == "de":
            text = expressions["german_clitic"].sub(" '", text)
        text = text.replace("'", _APOSTROPHE)
    tokens = tokenise(text.replace("*", _ASTERISK), aggressive_dash_splits=True, escape=False)
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
