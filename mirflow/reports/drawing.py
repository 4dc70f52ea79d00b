"""What pages, sites and figures draw alike: colours and rules of style, verdicts by sign, small pages, short names.

A page has the colours as custom properties of CSS; figures take them from the scheme of a light ground. Text has a
contrast of at least 4.5 to 1 with every ground (WCAG 2.2, 1.4.3), and verdicts differ for colour-blind readers. Some
functions prepare annotations and evidence for drawing: the form of evidence, matched patterns, notes of a score, and
the second at which an estimate is worst.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.schema import KINDS
from ..ragged import Column, Float, Int

_GROUNDS = {
    "paper": ("#fcfcfa", "#14171a", "#fff"),
    "card": ("#ffffff", "#1b1f23", "#fff"),
    "ink": ("#1c2126", "#e6e9ec", "#000"),
    "quiet": ("#5c6670", "#9ba6b0", "#444"),
    "faint": ("#b9c0c7", "#59636c", "#999"),
    "line": ("#e3e6e9", "#2c3238", "#ccc"),
    "accent": ("#0067a3", "#6bb8ea", "#00507f"),
    "curve": ("#0067a3", "#6bb8ea", "#0067a3"),
    "good": ("#0072b2", "#56b4e9", "#0072b2"),
    "bad": ("#b84508", "#f08a4b", "#b84508"),
    "none": ("#66707a", "#8a949d", "#66707a"),
    "nothing": ("#d9d9de", "#3a3f45", "#ddd"),
    "row-hover": ("#eef4f8", "#222a31", "#eef4f8"),
    "shape": ("#cfe1ee", "#24445a", "#cfe1ee"),
    "edge": ("rgb(28 33 38 / 0.22)", "rgb(0 0 0 / 0.65)", "rgb(28 33 38 / 0.22)"),
}
"""Colours on a light ground, on a dark one, and on paper: the ground, that of controls, text, text beside it, faint
lines, lines of tables, what can be clicked, curves; right, wrong and unjudged; no score; rows under the pointer,
shapes, and shadows."""
LIGHT, DARK, PAPER = (
    MappingProxyType({name: colours[ground] for name, colours in _GROUNDS.items()}) for ground in range(3)
)


def style_sheet(own: str) -> str:
    """The style of a page: the colours, the shared rules, and those of its own."""
    shared = files(__package__).joinpath("page", "assets", "shared.css").read_text(encoding="utf-8")
    light, dark, paper = (
        f":root {{ {' '.join(f'--{name}: {value};' for name, value in colours.items())} color-scheme: {scheme}; }}"
        for colours, scheme in ((LIGHT, "light dark"), (DARK, "light dark"), (PAPER, "light"))
    )
    grounds = light, f"@media (prefers-color-scheme: dark) {{ {dark} }}", f"@media print {{ {paper} }}"
    return "\n".join([*grounds, shared.rstrip("\n"), own])


def small_page(title: str, main: str) -> str:
    """A page without scripts, to be shown inside of another one.

    `main`: its contents, in HTML; pictures are part of it as ``data:``.
    """
    style = style_sheet(_SMALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<main>{main}</main>\n</body>\n</html>\n"
    )


_SMALL = """body { padding: 4px 12px; } h2 { font-size: 1rem; margin: 10px 0 4px; } figure { margin: 0; }
img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
figcaption { font-size: 0.9rem; color: var(--quiet); margin: 0 0 8px; max-width: 54em; }
"""


# The palette of Okabe and Ito (2008).
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00"),
    *("#56B4E9", "#CC79A7", "#000000"),
)
YELLOW = "#F0E442"  # too light for lines on white paper
CYCLE = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK)
GREY, PALE = "#767676", "#D9D9D9"
RIGHT, WRONG = LIGHT["good"], LIGHT["bad"]
"""Verdicts, as on pages: BLUE, and a colour that is darker than RED, so that text in it is legible."""

SIGNS = MappingProxyType(
    {
        "good": ("right", "hit", "aligned", "found", "relevant", "rejected", "rightly unvoiced"),
        "half": ("octave", "near", "case"),
        "bad": ("wrong", "extra", "missed", "misaligned", "false alarm", "substitution", "deletion", "insertion"),
        "none": ("not comparable", "not relevant", "judged", "unjudged"),
    }
)
"""The verdicts of all metrics by their sign; an unknown word has none."""
GOOD, HALF, BAD = (SIGNS[name] for name in ("good", "half", "bad"))
MISSED = ("missed",)
TOO_MUCH = tuple(word for word in BAD if word not in MISSED)
_MEANINGS = {
    "band": "right (blue), wrong (vermilion, hatched), thin where nothing is judged",
    "octaves": "right (blue), wrong (vermilion, hatched), an octave off (purple, dotted), thin where nothing is judged",
    "marks": "hits (blue), extra (vermilion crosses), missed (vermilion circles)",
    "drums": "hits (blue), extra (vermilion crosses), missed (vermilion circles); upwards: kick, snare, toms, hi-hat, "
    "cymbals, others",
    "reports": "aligned (blue), misaligned or of no note (vermilion crosses), missed (circles); upwards: the score",
    "notes": "hits (blue), extra (vermilion), missed (grey, dotted)",
    "pitches": "hits (blue), extra (vermilion), missed (grey)",
    "patterns": "matched patterns in the colour of the reference's pattern, unmatched ones grey",
    "words": "",
    "nothing": "",
}


def form_of(kind: str, evidence: Mapping[str, Column]) -> str:
    """Form of the evidence for an annotation of a kind."""
    names = set(evidence)
    if KINDS[kind].drawn_as == "text":
        return "words"
    if "verdict" not in names:
        return "nothing"
    if KINDS[kind].drawn_as == "patterns":
        return "patterns"
    if {"estimate_end", "estimate_pitch"} <= names:
        return "notes"
    if KINDS[kind].drawn_as == "frames" and "estimate_frequency" in names:
        return "pitches"
    if {"start", "end"} <= names:
        return "band"
    moments = {"reference", "estimate"} <= names and evidence["estimate"].dtype.kind == "f"
    return "marks" if moments else "nothing"


def explained(kind: str, evidence: Mapping[str, Column]) -> str:
    """Explanation of the colours; empty if there are none."""
    form = form_of(kind, evidence)
    if form == "band" and "frequency" in " ".join(evidence):  # where there are pitches, there are octaves
        form = "octaves"
    if form == "marks" and KINDS[kind].drawn_as == "drums":
        form = "drums"
    if form == "marks" and KINDS[kind].drawn_as == "steps":
        form = "reports"
    return _MEANINGS[form]


def worst_second(kind: str, evidence: Mapping[str, Column]) -> float | None:
    """When an estimate is worst: where its longest wrong stretch, or the second with the most wrong events, begins.

    Returns in seconds, as in the timelines of reports; None where nothing is wrong, or nothing judged.

    Examples
    --------
    >>> verdicts = np.array(["hit", "missed", "extra", "extra"])
    >>> reference, estimate = np.array([1.0, 2.0, np.nan, np.nan]), np.array([1.0, np.nan, 7.5, 8.1])
    >>> worst_second("events", {"reference": reference, "estimate": estimate, "verdict": verdicts})
    7.5
    >>> start, words = np.array([0.0, 2.0, 3.0, 4.0]), np.array(["wrong", "right", "wrong", "wrong"])
    >>> worst_second("intervals", {"start": start, "end": np.array([1.5, 3.0, 4.0, 5.0]), "verdict": words})
    3.0
    """
    form = form_of(kind, evidence)
    wrong = np.isin(evidence["verdict"], (*HALF, *BAD)) if "verdict" in evidence else np.zeros(0, np.bool_)
    if form in ("nothing", "words", "patterns") or not wrong.any():
        return None
    if {"start", "end"} <= set(evidence):
        start, end = evidence["start"][wrong], evidence["end"][wrong]
        rows = np.flatnonzero(wrong)
        begins = np.r_[True, (np.diff(rows) > 1) | (start[1:] - end[:-1] > 1e-6)]
        first = np.flatnonzero(begins)
        longest = int(np.argmax(np.maximum.reduceat(end, first) - start[first]))
        return float(start[first[longest]])
    times = np.where(np.isnan(evidence["estimate"]), evidence["reference"], evidence["estimate"])[wrong]
    times = np.sort(times[~np.isnan(times)])
    counts = np.searchsorted(times, times + 1.0) - np.arange(len(times))
    return float(times[np.argmax(counts)]) if len(times) else None


def matches(evidence: Mapping[str, Column]) -> Int:
    """The place of the reference pattern that each estimated one matches; -1 for none: int64 (estimated patterns,)."""
    return np.asarray(np.nan_to_num(evidence["reference"][np.isfinite(evidence["estimate"])], nan=0.0), np.int64) - 1


def sheet_notes(one: Annotation) -> tuple[Float, Float, Float]:
    """Performed onsets of the notes of a score, when they would end by their notated lengths, and their pitches."""
    columns = {name: one.columns.get(name, np.full(len(one.columns["time"]), np.nan)) for name in _OF_NOTES}
    notes = np.array([label == "note" for label in one.labels or ()], dtype=np.bool_)
    start, first, last, pitch = (columns[name][notes] for name in _OF_NOTES)
    length = np.nan_to_num(last - first)
    return start, start + np.maximum(length, 0.0), pitch


_OF_NOTES = ("time", "notated_start", "notated_end", "pitch")


LONGEST = 18
"""Characters of a name for which lanes and charts have room."""
_PREFIX = 6
"""Characters of a common beginning below which it stays."""


def cut(text: str, most: int = LONGEST) -> str:
    """A long text without its middle: names differ at their ends."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[len(text) - (most - 1 - most // 2) :]}"


def short_names(names: Sequence[str]) -> list[str]:
    """Names without their common beginning, each cut in the middle; no two become the same.

    Examples
    --------
    >>> short_names(["chord_mrx_09_000056", "chord_mrx_09_000151"])
    ['000056', '000151']
    >>> short_names(["oak", "elm"])
    ['oak', 'elm']
    """
    # The first and the last name in alphabetic order differ as early as any two.
    least, last = (min(names), max(names)) if len(names) > 1 else ("", "")
    pairs = zip(least, last, strict=False)
    same = next((count for count, (left, right) in enumerate(pairs) if left != right), len(least))
    common = re.match(r"(?s).*[_\-./ ]", least[:same])
    start = common.end() if common and common.end() >= _PREFIX else 0
    bare = [name[start:] for name in names] if all(len(name) > start for name in names) else list(names)
    short = [cut(name) for name in bare]
    return short if len(set(short)) == len(set(names)) else bare
