"""How the evidence for a score is drawn in a lane: by its columns, whatever the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ragged import Bool, Column
from ..leanings import BAD, GOOD, HALF
from .canvas import label
from .lanes import BOTTOM, Lanes
from .palette import BLUE, GREY, ORANGE, PURPLE, RED

BAND = (BOTTOM + 0.02, 0.14)
"""Where verdicts stand: from so far below the middle of a lane, and how high."""
MISSED = ("missed",)
TOO_MUCH = tuple(word for word in BAD if word not in MISSED)
_MEANINGS = {
    "band": "right (blue), wrong (orange, hatched), thin where nothing is judged",
    "octaves": "right (blue), wrong (orange, hatched), an octave off (purple, dotted), thin where nothing is judged",
    "marks": "hits (blue), extra (vermilion crosses), missed (vermilion circles)",
    "reports": "aligned (blue), misaligned or of no note (vermilion crosses), missed (circles); upwards: the score",
    "notes": "hits (blue), extra (vermilion), missed (grey, dotted)",
    "pitches": "hits (blue), extra (vermilion), missed (grey)",
    "words": "",
    "nothing": "",
}


def form_of(kind: str, evidence: Mapping[str, Column]) -> str:
    """How the evidence for an annotation of a kind is drawn."""
    names = set(evidence)
    if kind in ("tempo", "key", "labels"):
        return "words"
    if "verdict" not in names:
        return "nothing"
    if {"estimate_end", "estimate_pitch"} <= names:
        return "notes"
    if kind == "multipitch" and "estimate_frequency" in names:
        return "pitches"
    if {"start", "end"} <= names:
        return "band"
    moments = {"reference", "estimate"} <= names and evidence["estimate"].dtype.kind == "f"
    return "marks" if moments else "nothing"


def explained(kind: str, evidence: Mapping[str, Column]) -> str:
    """What the colours mean; empty where there are none."""
    form = form_of(kind, evidence)
    if form == "band" and "frequency" in " ".join(evidence):  # where there are pitches, there are octaves
        form = "octaves"
    if form == "marks" and kind == "following":
        form = "reports"
    return _MEANINGS[form]


def draw_verdicts(lanes: Lanes, kind: str, evidence: Mapping[str, Column], at: float) -> None:
    """What a rule says of the estimate in the lane whose middle is at a height."""
    form = form_of(kind, evidence)
    if form != "nothing":
        {"band": _band, "marks": _marks, "notes": _notes, "pitches": _pitches, "words": _words}[form](
            lanes, evidence, at
        )


def _is(evidence: Mapping[str, Column], names: tuple[str, ...]) -> Bool:
    return np.isin(evidence["verdict"], names)


def _band(lanes: Lanes, evidence: Mapping[str, Column], at: float) -> None:
    """Stretches of time; neighbours with the same verdict in one."""
    verdict = evidence["verdict"]
    shown = [(GOOD, BLUE, ""), (HALF, PURPLE, "....."), (BAD, ORANGE, "//////")]
    left = ~_is(evidence, (*GOOD, *HALF, *BAD))
    for names, colour, hatch in shown:
        spans = _spans(lanes, evidence, np.isin(verdict, names))
        bars = lanes.ax.broken_barh(spans, (at + BAND[0], BAND[1]), facecolor=colour)
        bars.set(linewidth=0, hatch=hatch, edgecolor="white")
    thin = (at + BAND[0] + 0.05, 0.04)
    lanes.ax.broken_barh(_spans(lanes, evidence, left), thin, facecolor=GREY).set_linewidth(0)


def _spans(lanes: Lanes, evidence: Mapping[str, Column], chosen: Bool) -> list[tuple[float, float]]:
    """Start and length of the chosen stretches that are shown, joined where they touch."""
    places = [place for place in lanes.visible(evidence["start"], evidence["end"]) if chosen[place]]
    joined: list[list[float]] = []
    for place in places:
        left, right = max(evidence["start"][place], lanes.start), min(evidence["end"][place], lanes.end)
        if joined and left <= joined[-1][1]:
            joined[-1][1] = max(right, joined[-1][1])
        else:
            joined.append([left, right])
    return [(left, right - left) for left, right in joined]


def _marks(lanes: Lanes, evidence: Mapping[str, Column], at: float) -> None:
    """Hits and false alarms where the estimate has them, what is missed where the reference has it."""
    middle = at + BAND[0] + BAND[1] / 2
    shown: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
        (GOOD, "estimate", BLUE, "|"),
        (TOO_MUCH, "estimate", RED, "x"),
        (MISSED, "reference", RED, "o"),
    )
    for names, side, colour, marker in shown:
        time = evidence[side][_is(evidence, names)]
        time = time[lanes.inside(time)]
        style: dict[str, Any] = {"marker": marker, "markersize": 3, "markeredgecolor": colour, "markeredgewidth": 0.8}
        lanes.ax.plot(time, np.full(len(time), middle), linestyle="", markerfacecolor="none", **style)


def _notes(lanes: Lanes, evidence: Mapping[str, Column], at: float) -> None:
    """Notes over those of the estimate, and the missed ones where the reference has them.

    In grey a hit is thick and whole, what is too much thin and dashed, what is missed dotted.
    """
    for names, side, colour, style, width in (
        (MISSED, "reference", GREY, (0, (1, 0.7)), 1.3),
        (TOO_MUCH, "estimate", RED, (0, (2.2, 0.8)), 0.9),
        (GOOD, "estimate", BLUE, "-", 1.7),
    ):
        start, end = evidence[side], evidence[f"{side}_end"]
        chosen = [place for place in lanes.visible(start, end) if evidence["verdict"][place] in names]
        y = lanes.height(np.log2(evidence[f"{side}_pitch"][chosen]), at)
        left, right = np.maximum(start[chosen], lanes.start), np.minimum(end[chosen], lanes.end)
        lanes.ax.hlines(y, left, right, color=colour, linestyle=style, linewidth=width)


def _pitches(lanes: Lanes, evidence: Mapping[str, Column], at: float) -> None:
    """Pitches of frames over those of the estimate, and the missed ones where the reference has them."""
    time = evidence["start"]
    for names, side, colour, marker in (
        (MISSED, "reference", GREY, "."),
        (TOO_MUCH, "estimate", RED, "x"),
        (GOOD, "estimate", BLUE, "s"),
    ):
        frequency = evidence[f"{side}_frequency"]
        chosen = _is(evidence, names) & lanes.inside(time) & (frequency > 0)
        y = lanes.height(np.log2(frequency[chosen]), at)
        many = int(chosen.sum()) > 3000
        width = 0.4 if marker == "x" else 0
        size = 2.5 if marker == "x" else 0.8
        lanes.ax.scatter(time[chosen], y, s=size, color=colour, marker=marker, linewidths=width, rasterized=many)


def _words(lanes: Lanes, evidence: Mapping[str, Column], at: float) -> None:
    """The verdicts as text, for what has no times."""
    said = evidence.get("verdict", evidence.get("relation"))
    if said is not None:
        text = label(", ".join(map(str, said.tolist())), 100)
        lanes.ax.text(lanes.start, at + 0.22, f" {text}", ha="left", va="center", fontsize=6, color="#444444")
