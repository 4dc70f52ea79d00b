"""Literature of metrics and conventions: citations in records, entries of ``literature.bib``, and readable text.

Records cite keys of ``literature.bib`` in Pandoc's syntax: ``"@dixon2007; equation 3 of @downie2010"``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^ +(\w+) = \{(.*)\},$", re.MULTILINE)
_CITATION = re.compile(r"(?<!\w)@(\w+)")
_ACCENT = re.compile(r"\\(['\"`^~v])\{?(\w)\}?")
_COMBINING = {"v": "\u030c", "'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303"}
_VENUES = ("journal", "booktitle", "school", "institution", "howpublished", "publisher")


@cache
def bibliography() -> Mapping[str, Mapping[str, str]]:
    """Return the entries by key: fields as in BibTeX, and the type of the entry as ``type``."""
    text = Path(__file__).with_name("literature.bib").read_text(encoding="utf-8")
    entries = {key: {"type": type, **dict(_FIELD.findall(body))} for type, key, body in _ENTRY.findall(text)}
    return MappingProxyType(entries)


def cited(text: str) -> tuple[str, ...]:
    """Return the keys cited in a text, in order."""
    return tuple(key for key in _CITATION.findall(text) if key in bibliography())


def spell_out(text: str) -> str:
    """Replace the citations in a text by authors, title, venue and year."""
    return _CITATION.sub(lambda match: _reference(match[1]) if match[1] in bibliography() else match[0], text)


@cache
def _reference(key: str) -> str:
    """Authors, title, venue and year of an entry."""
    entry = bibliography()[key]
    names = [author.partition(",")[0] for author in entry["author"].split(" and ")]
    few = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]
    authors = few if len(names) <= 3 else f"{names[0]} et al."
    venue = next((entry[field] for field in _VENUES if field in entry), "")
    text = ", ".join(filter(None, (authors, entry["title"], venue, entry.get("year"))))
    text = _ACCENT.sub(
        lambda match: unicodedata.normalize("NFC", match[2] + _COMBINING[match[1]]), text.replace(r"\ss", "ß")
    )
    return re.sub(r"-{2,3}", "-", re.sub(r"[{}]|\\(?=[&_%])", "", text))


def to_bibtex(key: str, **more: str) -> str:
    """Format an entry as BibTeX, with additional fields at its end."""
    fields = {**bibliography()[key], **more}
    kind = fields.pop("type")
    return f"@{kind}{{{key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}"
