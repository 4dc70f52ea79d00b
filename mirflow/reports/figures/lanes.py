"""Lanes of a timeline: annotations of each kind, and the evidence for a score, with the entries of the legend."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...annotations.annotation import Annotation, split_levels
from ...ragged import Bool, Column, Float, Int
from ...theory.chords import encode_vocabulary
from ...theory.general_midi import STAFF, staff_row
from ..drawing import (
    BAD,
    BLUE,
    CYCLE,
    GOOD,
    GREY,
    HALF,
    MISSED,
    PALE,
    PURPLE,
    RIGHT,
    TOO_MUCH,
    WRONG,
    form_of,
    sheet_notes,
)
from .canvas import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALL = 6.0
"""Points of the smallest type, which venues ask for."""
_NEUTRAL, _FAINT = "#333333", "#A8A8A8"
"""Notes and curves that are not judged, since blue means a hit; and guesses where nothing is voiced."""
TOP, BOTTOM = 0.4, 0.18
"""Where the annotation stands, in lanes above and below the middle of its lane."""


@dataclass(frozen=True)
class Lanes:
    """Axes with lanes, and the parameters for drawing in them."""

    ax: Axes
    start: float
    end: float
    """Start and end of the shown time: float, seconds."""
    points: float
    """Width on paper."""
    pitches: tuple[float, float]
    """(float, float). The lowest and the highest pitch of all lanes, as logarithms to base 2 of Hz (or as the
    annotations have them); where a score is followed, positions in it."""
    names: Mapping[str, int]
    """Places of the labels, in order of appearance."""
    chords: bool
    """Whether labels are chords."""
    bottom: float = BOTTOM
    """How far below the middle of a lane pitches reach, in lanes."""

    def fits(self, text: str, seconds: float, size: float) -> bool:
        """True if a text has room in so many seconds."""
        return len(text) * size * 0.62 < seconds / (self.end - self.start) * self.points

    def visible(self, start: Float, end: Float) -> list[int]:
        """The items that are shown at least in part."""
        places: list[int] = np.flatnonzero((end > self.start) & (start < self.end)).tolist()
        return places

    def inside(self, time: Float) -> Bool:
        """The moments that are shown."""
        return (time >= self.start) & (time <= self.end)

    def height(self, pitch: Float, at: float) -> Float:
        """Height of pitches in a lane."""
        low, high = self.pitches
        share = np.clip((pitch - low) / (high - low), 0, 1) if high > low else np.full_like(pitch, 0.5)
        return np.asarray(at + self.bottom - 0.03 - share * (TOP + self.bottom - 0.06))


def draw(lanes: Lanes, annotation: Annotation, at: float, colours: Int | None = None) -> None:
    """Draw an annotation in the lane whose middle is at a height; patterns in the colours that `matches` gives."""
    columns, drawer = annotation.columns, _DRAWERS.get(annotation.schema.drawn_as)
    if colours is not None:
        _draw_patterns(lanes, annotation, at, colours)
    elif drawer is not None:
        drawer(lanes, annotation, at)
    else:  # what has no times: tempi, keys
        text = ", ".join(annotation.labels or []) or "nothing"
        if "tempo" in columns:
            tempi = [f"{tempo:g}" for tempo in columns["tempo"].tolist()]
            if (salience := columns.get("salience")) is not None:
                tempi = [f"{tempo} ({share:g})" for tempo, share in zip(tempi, salience.tolist(), strict=True)]
            text = ", ".join(tempi) + " per minute"
        lanes.ax.text(lanes.start, at - 0.1, f" {label(text, 100)}", ha="left", va="center", fontsize=7)


def fill_of(lanes: Lanes, name: str) -> tuple[str | tuple[float, float, float], str]:
    """Colour and hatch of a label: chords by root and third, other labels in the order in which they appear."""
    if lanes.chords:  # roots around the circle of fifths, so that related chords look alike; minor ones are darker
        table = encode_vocabulary([name])
        root, pitches = int(table.root[0]), int(table.pitches[0])
        minor = bool(pitches >> 3 & 1) and not pitches >> 4 & 1
        chord = colorsys.hls_to_rgb(root * 7 % 12 / 12, 0.62 if minor else 0.78, 0.42 if minor else 0.62)
        return PALE if root < 0 else chord, ""
    if not name:
        return PALE, ""
    place = lanes.names[name]
    colour = CYCLE[place % 6]
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return (0.45 * red + 0.55, 0.45 * green + 0.55, 0.45 * blue + 0.55), ("", "....", "////", "xxxx")[place // 6 % 4]


def _draw_intervals(lanes: Lanes, one: Annotation, at: float, room: tuple[float, float] | None = None) -> None:
    start, end = one.columns["start"], one.columns["end"]
    above, height = room or (TOP, TOP + BOTTOM)
    labels = one.labels or [""] * len(start)
    boxes: dict[str, list[tuple[float, float, str | tuple[float, float, float]]]] = {}
    for place in lanes.visible(start, end):
        left, right = max(start[place], lanes.start), min(end[place], lanes.end)
        colour, hatch = fill_of(lanes, labels[place])
        boxes.setdefault(hatch, []).append((left, right - left, colour))
        text = label(labels[place])
        if lanes.fits(text, right - left, _SMALL):
            middle = (left + right) / 2, at - above + height / 2
            drawn = lanes.ax.text(*middle, text, ha="center", va="center", fontsize=_SMALL)
            if hatch:  # which would cross the letters
                drawn.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 0.6})
    for hatch, alike in boxes.items():  # one collection for many boxes, which are slow to add one by one
        spans, colours = [(left, width) for left, width, _ in alike], [colour for _, _, colour in alike]
        bars = lanes.ax.broken_barh(spans, (at - above, height), facecolors=colours, edgecolor="white", hatch=hatch)
        bars.set_linewidth(0.3)


def unwritten(lanes: Lanes, annotations: Sequence[Annotation]) -> set[str]:
    """The labels of segments that are shown, none of which is wide enough to have its label written in it."""
    widths: dict[str, float] = {}
    for one in annotations:
        if one.schema.drawn_as not in ("segments", "levels") or one.labels is None:
            continue
        start, end = (np.clip(one.columns[name], lanes.start, lanes.end) for name in ("start", "end"))
        for place in lanes.visible(start, end):
            name = one.labels[place]
            widths[name] = max(widths.get(name, 0.0), float(end[place] - start[place]))
    return {name for name, width in widths.items() if name and not lanes.fits(label(name), width, _SMALL)}


def draw_octaves(lanes: Lanes, at: float) -> None:
    """Draw the lines of the notes C in a lane of pitches in Hz, and name at most three of them beside it."""
    low, high = lanes.pitches
    lowest = np.log2(440) - 69 / 12  # of MIDI note 0, the C five octaves below middle C
    octaves = np.arange(np.ceil(low - lowest), np.floor(high - lowest) + 1)
    heights = lanes.height(octaves + lowest, at)
    lanes.ax.hlines(heights, lanes.start, lanes.end, color=PALE, linewidth=0.4, zorder=0)
    step = max(1, -(-len(octaves) // 3))
    for octave, height in zip(octaves[::step].tolist(), heights[::step].tolist(), strict=True):
        beside(lanes, f"C{octave - 1:.0f}", height)


def beside(lanes: Lanes, text: str, height: float) -> None:
    """Write a text between the name of a lane and the lane."""
    where: dict[str, Any] = {"xycoords": lanes.ax.get_yaxis_transform(), "textcoords": "offset points"}
    lanes.ax.annotate(text, (0, height), xytext=(-3, 0), ha="right", va="center", fontsize=_SMALL, color=GREY, **where)


def _draw_hierarchy(lanes: Lanes, one: Annotation, at: float) -> None:
    levels = split_levels(one)
    height = (TOP + BOTTOM) / max(1, len(levels))
    for level, part in enumerate(levels):
        _draw_intervals(lanes, part, at, (TOP - level * height, height))
        beside(lanes, str(level + 1), at - TOP + (level + 0.5) * height)


def _draw_events(lanes: Lanes, one: Annotation, at: float) -> None:
    time = one.columns["time"]
    chosen = lanes.visible(time, np.nextafter(time, np.inf))
    lanes.ax.vlines(time[chosen], at - TOP, at + BOTTOM, color="#333333", linewidth=0.6)
    shown = [] if one.labels is None else chosen
    gap = float(np.median(np.diff(time))) if len(time) > 1 else lanes.end - lanes.start
    for place in shown:
        text = label((one.labels or [])[place], 12)
        if lanes.fits(text, gap, _SMALL):
            lanes.ax.text(time[place], at - TOP, f" {text}", va="top", fontsize=_SMALL, color="#555555", clip_on=True)


def _draw_hits(lanes: Lanes, one: Annotation, at: float) -> None:
    """Hits as on a staff: kick, snare, toms, hi-hat, cymbals upwards, and what is none of these on top."""
    inside = lanes.inside(one.columns["time"])
    y = _on_staff(lanes, one.labels or [], at)[inside]
    lanes.ax.plot(one.columns["time"][inside], y, linestyle="", marker="|", markersize=4, color=GREY)


def _on_staff(lanes: Lanes, drums: Sequence[str], at: float) -> Float:
    """Heights of drums in a lane."""
    found = {drum: staff_row(drum) for drum in set(drums)}
    row = np.array([found[drum] for drum in drums], dtype=np.float64)
    return np.asarray(at + lanes.bottom - 0.03 - (row + 0.5) / len(STAFF) * (TOP + lanes.bottom - 0.06))


def _draw_notes(lanes: Lanes, one: Annotation, at: float) -> None:
    """Notes; those of a score by their performed onsets and notated lengths."""
    linear = one.schema.drawn_as == "sheet"
    start, end, pitch = sheet_notes(one) if linear else (one.columns[name] for name in ("start", "end", "pitch"))
    rows = [row for row in lanes.visible(start, end) if linear or pitch[row] > 0]
    y = lanes.height(pitch[rows] if linear else np.log2(pitch[rows]), at)
    left, right = np.maximum(start[rows], lanes.start), np.minimum(end[rows], lanes.end)
    lanes.ax.hlines(y, left, right, color=_NEUTRAL, linewidth=1.3)


def _draw_series(lanes: Lanes, one: Annotation, at: float) -> None:
    """A curve; guesses where nothing is voiced are pale."""
    time, frequency = one.columns["time"], one.columns["frequency"]
    inside = lanes.inside(time)
    for voiced, colour in ((False, _FAINT), (True, _NEUTRAL)):
        chosen = inside & (frequency > 0 if voiced else frequency < 0)
        pitch = np.full(len(time), np.nan)
        pitch[chosen] = np.log2(np.abs(frequency[chosen]))
        lanes.ax.plot(time, lanes.height(pitch, at), color=colour, linewidth=0.8)


def _draw_points(lanes: Lanes, one: Annotation, at: float) -> None:
    """Pitches of frames; where a score is followed, notes by their time and, upwards, their place in it."""
    time, size = one.columns["time"], 2.0
    if one.schema.drawn_as == "frames":
        heard = one.columns["frequency"] > 0
        time, y, size = np.repeat(time, one.inner_counts[0])[heard], np.log2(one.columns["frequency"][heard]), 0.8
    else:
        y = one.columns["position"]
    inside = lanes.inside(time)
    many, y = int(inside.sum()) > 3000, lanes.height(y[inside], at)
    lanes.ax.scatter(time[inside], y, s=size, color=_NEUTRAL, linewidths=0, rasterized=many)


def _draw_patterns(lanes: Lanes, one: Annotation, at: float, colours: Int | None = None) -> None:
    """Draw the notes of patterns, those of unmatched patterns in grey and under the others."""
    occurrences, notes = one.inner_counts
    if colours is None:
        colours = np.arange(len(occurrences))
    colour = np.repeat(np.repeat(colours, occurrences), notes)
    order = np.argsort(colour >= 0, kind="stable")
    shown = [CYCLE[number % len(CYCLE)] if number >= 0 else GREY for number in colour[order].tolist()]
    y = lanes.height(one.columns["pitch"][order], at)
    lanes.ax.scatter(one.columns["onset"][order], y, s=2.5, color=shown, linewidths=0)


_DRAWERS: dict[str, Callable[[Lanes, Annotation, float], None]] = {
    "segments": _draw_intervals,
    "levels": _draw_hierarchy,
    "ticks": _draw_events,
    "drums": _draw_hits,
    "notes": _draw_notes,
    "sheet": _draw_notes,
    "curve": _draw_series,
    "frames": _draw_points,
    "patterns": _draw_patterns,
    "steps": _draw_points,
}

BAND = (BOTTOM + 0.02, 0.14)
"""Where verdicts stand: from so far below the middle of a lane, and how high."""


def _mark(colour: str, marker: str) -> dict[str, Any]:
    style = {"marker": marker, "markersize": 3, "markeredgecolor": colour, "markeredgewidth": 0.8}
    return {"linestyle": "", "markerfacecolor": "none", **style}


_SIDES = {"hit": (GOOD, "estimate"), "extra": (TOO_MUCH, "estimate"), "missed": (MISSED, "reference")}
"""Verdicts on items, and on which side the item is."""
_STYLES: dict[str, dict[str, dict[str, Any]]] = {
    "marks": {"hit": _mark(RIGHT, "|"), "extra": _mark(WRONG, "x"), "missed": _mark(WRONG, "o")},
    # In grey a hit is thick and solid, a false alarm thin and dashed, a miss dotted.
    "notes": {
        "missed": {"color": GREY, "linewidth": 0.7, "linestyle": (0, (1, 0.7))},
        "extra": {"color": WRONG, "linewidth": 0.9, "linestyle": (0, (2.2, 0.8))},
        "hit": {"color": RIGHT, "linewidth": 1.7},
    },
    "pitches": {
        "missed": {"color": GREY, "marker": ".", "s": 0.8, "linewidths": 0},
        "extra": {"color": WRONG, "marker": "x", "s": 2.5, "linewidths": 0.4},
        "hit": {"color": RIGHT, "marker": "s", "s": 0.8, "linewidths": 0},
    },
}
"""How items are drawn by their verdicts, the lowest first."""


def legend_entries(kind: str, evidence: Mapping[str, Column]) -> list[tuple[str, dict[str, Any]]]:
    """Words of a legend, and the lines, markers or (with a ``facecolor``) patches that they explain."""
    octaves = "frequency" in " ".join(evidence)
    entries: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "band": [
            ("right", {"facecolor": RIGHT}),
            *([("octave", {"facecolor": PURPLE, "hatch": ".....", "edgecolor": "white"})] if octaves else []),
            ("wrong", {"facecolor": WRONG, "hatch": "//////", "edgecolor": "white"}),
            ("not judged", {"color": GREY, "linewidth": 1.2}),
            *([("unvoiced guess", {"color": _FAINT, "linewidth": 0.8})] if kind == "series" else []),
        ],
        "notes": [*reversed(_STYLES["notes"].items()), ("reference", {"color": _NEUTRAL, "linewidth": 1.3})],
        "marks": [*_STYLES["marks"].items()],
        "pitches": [("hit", _mark(RIGHT, "s")), ("extra", _mark(WRONG, "x")), ("missed", _mark(GREY, "."))],
        "patterns": [("match: same colour", _mark(BLUE, ".")), ("no match", _mark(GREY, "."))],
    }
    return entries.get(form_of(kind, evidence), [])


def draw_verdicts(lanes: Lanes, kind: str, evidence: Mapping[str, Column], at: float) -> None:
    """Draw the verdicts of a metric on the estimate in the lane with its middle at a height."""
    form, verdict = form_of(kind, evidence), evidence.get("verdict", evidence.get("relation"))
    if verdict is None:
        return
    if form == "words":
        text = label(", ".join(map(str, verdict.tolist())), 100)
        lanes.ax.text(lanes.start, at + 0.22, f" {text}", ha="left", va="center", fontsize=6, color="#444444")
    if form == "band":
        for names, colour, hatch in ((GOOD, RIGHT, ""), (HALF, PURPLE, "....."), (BAD, WRONG, "//////")):
            spans = _spans(lanes, evidence, np.isin(verdict, names))
            bars = lanes.ax.broken_barh(spans, (at + BAND[0], BAND[1]), facecolor=colour)
            bars.set(linewidth=0, hatch=hatch, edgecolor="white")
        spans = _spans(lanes, evidence, ~np.isin(verdict, (*GOOD, *HALF, *BAD)))
        lanes.ax.broken_barh(spans, (at + BAND[0] + 0.05, 0.04), facecolor=GREY).set_linewidth(0)
    for word, style in _STYLES.get(form, {}).items():
        names, side = _SIDES[word]
        chosen = np.isin(verdict, names)
        if form == "marks":
            drums = evidence["class"].tolist() if "class" in evidence else None
            y = np.full(len(verdict), at + BAND[0] + BAND[1] / 2) if drums is None else _on_staff(lanes, drums, at)
            chosen &= lanes.inside(evidence[side])
            lanes.ax.plot(evidence[side][chosen], y[chosen], **style)
        elif form == "notes":
            start, end = evidence[side], evidence[f"{side}_end"]
            rows = [row for row in lanes.visible(start, end) if chosen[row]]
            y = lanes.height(np.log2(evidence[f"{side}_pitch"][rows]), at)
            lanes.ax.hlines(y, np.maximum(start[rows], lanes.start), np.minimum(end[rows], lanes.end), **style)
        else:
            time, frequency = evidence["start"], evidence[f"{side}_frequency"]
            chosen &= lanes.inside(time) & (frequency > 0)
            y = lanes.height(np.log2(frequency[chosen]), at)
            lanes.ax.scatter(time[chosen], y, rasterized=int(chosen.sum()) > 3000, **style)


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
