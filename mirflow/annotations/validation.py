"""Validation of rows of annotations, for readers, the linter, and the conventions of every task.

How far items are apart says whether their times are in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ..kernels.ratios import divide
from ..ragged import Bool, Float, Ragged, rows_of
from .schema import LATEST, TIMES, Kind


@dataclass(frozen=True, slots=True)
class Finding:
    """Items of ragged rows that violate a rule."""

    rule: str
    items: Bool
    """Flat mask of the items (the innermost depth)."""
    message: str
    """Format string with names of columns as fields."""

    def describe(self, rows: Ragged, item: int) -> str:
        """Describe the error of an item, with its values."""
        values = {name: column[item] for name, column in rows.columns.items() if name in TIMES}
        if item > 0:
            values |= {f"previous_{name}": column[item - 1] for name, column in rows.columns.items() if name in TIMES}
        return self.message.format(**values)


def _after_previous(
    rows: Ragged, compare: Callable[[Float, Float], Bool], previous: str = "", current: str = ""
) -> Bool:
    """Mask of items whose `current` column compares true with the `previous` column of the previous item in the row."""
    onset = "start" if "start" in rows.columns else "time"
    before, after = rows.columns[previous or onset], rows.columns[current or onset]
    mask = np.zeros(len(after), dtype=np.bool_)
    owner = rows_of(rows.counts[-1])
    mask[1:] = compare(before[:-1], after[1:]) & (owner[1:] == owner[:-1])
    return mask


_UNKNOWN = np.array(np.nan)  # in place of ends that are not known, as in lines of lyrics: it compares false
_INTERVAL = "{start} to {end} s"
_LATE = f"time is not in seconds (beyond {LATEST:g}):"
# Rule -> name of its violation, test, and messages for intervals and for events. Tests get rows and all their times,
# float64 (columns, items), and return a mask of items, or one of times.
_RULES: MappingProxyType[str, tuple[str, Callable[[Ragged, Float], Bool], str, str]] = MappingProxyType(
    {
        "finite": (
            "not_finite",
            lambda rows, times: ~np.isfinite(times),
            f"time is not finite: {_INTERVAL}",
            "time is not finite: {time}",
        ),
        "in_seconds": (
            "too_late",
            lambda rows, times: np.isfinite(times) & (np.abs(times) > LATEST),
            f"{_LATE} {{start}} to {{end}}",
            f"{_LATE} {{time}}",
        ),
        "not_negative": (
            "negative",
            lambda rows, times: times < 0,
            f"time is negative: {_INTERVAL}",
            "time is negative: {time} s",
        ),
        "not_reversed": (
            "reversed",
            lambda rows, times: rows.columns.get("end", _UNKNOWN) < rows.columns.get("start", _UNKNOWN),
            f"interval ends before it starts: {_INTERVAL}",
            "",
        ),
        "positive": (
            "zero_length",
            lambda rows, times: rows.columns.get("end", _UNKNOWN) == rows.columns.get("start", _UNKNOWN),
            "interval has no length: {start} s",
            "",
        ),
        "sorted": (
            "unsorted",
            lambda rows, times: _after_previous(rows, np.greater),
            "starts at {start} s, before the row above it ({previous_start} s)",
            "is at {time} s, before the row above it ({previous_time} s)",
        ),
        "distinct": (
            "duplicate",
            lambda rows, times: _after_previous(rows, np.equal),
            "",
            "the same time as the row above it: {time} s",
        ),
        "no_overlap": (
            "overlap",
            lambda rows, times: _after_previous(rows, np.greater, "end", "start") & ~_after_previous(rows, np.greater),
            "overlaps the row above it: {start} s is before {previous_end} s",
            "",
        ),
        "no_gap": (
            "gap",
            lambda rows, times: _after_previous(rows, np.less, "end", "start"),
            "a gap before this row: {previous_end} to {start} s",
            "",
        ),
    }
)


def inspect(kind: Kind, rows: Ragged) -> dict[str, Finding]:
    """Find all items that violate a rule of their kind, by the name of the violation.

    Names are ``not_finite``, ``too_late``, ``negative``, ``reversed``, ``zero_length``, ``unsorted``, ``duplicate``,
    ``overlap`` and ``gap``.
    """
    findings: dict[str, Finding] = {}
    times = np.array([rows.columns[name] for name in TIMES if name in rows.columns])
    if not times.size:
        return findings
    for rule in kind.rules:
        name, test, interval_message, event_message = _RULES[rule]
        mask = test(rows, times)
        items = np.asarray(mask.any(axis=0)) if mask.ndim == 2 else mask
        if items.any():
            message = interval_message if "start" in rows.columns else event_message
            if kind.name == "notes":
                message = message.replace("interval", "note", 1)
            findings[name] = Finding(name, items, message)
    return findings


USUAL = MappingProxyType(
    {
        "beat": (0.2, 2.0, 60.0),
        "downbeat": (0.8, 12.0, 100.0),
        "onset": (0.03, 10.0, 100.0),
        "alignment": (0.03, 10.0, 100.0),
        "drums": (0.02, 5.0, 100.0),
        "transcription": (0.01, 5.0, 30.0),
        "melody": (0.0005, 0.2, 1.0),
        "multipitch": (0.0005, 0.2, 1.0),
        "score_following": (0.01, 5.0, 30.0),
        "pedal": (0.2, 60.0, 300.0),
        "chord": (0.2, 30.0, 300.0),
        "local_key": (2.0, 300.0, 1200.0),
        "segment": (2.0, 120.0, 1200.0),
        "hierarchy": (0.5, 120.0, 1200.0),
    }
)
"""Seconds between two items of a task: the least and the most with which another unit of times is proposed, and those
above which times are reported, as in ms they are as far apart."""
SPACED = 4
"""Items by which that is judged."""
FASTEST, MANY = MappingProxyType({"beat": 0.1, "downbeat": 0.2}), 50
"""Mean seconds between so many items or more of a task below which they are reported as frames: 600 beats a minute."""

_DENSEST = 1 / 30
"""Share of the least usual time between items below which they lie too close for seconds."""
_UNITS = MappingProxyType({"ms": 1e-3, "frames@0.01": 1e-2, "samples@44100": 1 / 44100})
"""Units of times that are proposed, in seconds."""


def extents(kind: Kind, rows: Ragged) -> Float:
    """First and last time [s] and number of times of each row: float64 (rows, 3); NaN without any or if not finite."""
    found = np.full((len(rows), 3), np.nan)
    name = "start" if "start" in rows.columns else "time"
    if not kind.times or name not in rows.columns:
        return found
    first = rows.columns[name]
    last = rows.columns.get("end", first)
    offsets = rows.bounds[rows.depth(name) - 1]
    held = np.flatnonzero(np.diff(offsets))
    if len(held):
        begins = offsets[held]
        found[held, 0] = np.minimum.reduceat(first, begins)
        found[held, 1] = np.maximum.reduceat(last, begins)
        found[held, 2] = np.diff(offsets)[held]
    found[~np.isfinite(found).all(axis=1)] = np.nan
    return found


def odd_spacing(task: str, spans: Float) -> dict[int, str]:
    """The annotations whose items are too far apart or close for seconds, or frames and no beats, each with a doubt.

    `spans` (float64 (annotations, 3)): rows of `extents`.

    Examples
    --------
    >>> odd_spacing("beat", np.array([[0.5, 60.0, 120.0], [500.0, 60000.0, 120.0]]))  # doctest: +ELLIPSIS
    {1: '120 items in 59500 s, one every 500 s: are the times in ms, frames or samples? ...; time_unit: ms reads ...'}
    >>> odd_spacing("beat", np.array([[0.0, 34.99, 3500.0]]))
    {0: '3500 items in 34.99 s, one every 0.01 s: are they frames, as of an activation curve? Beats are expected'}
    >>> odd_spacing("onset", np.array([[0.006, 0.04, 69.0]]))  # doctest: +ELLIPSIS
    {0: '69 items in 0.034 s, one every 0.0005 s: too close for seconds; were seconds read in another time_unit, ...'}
    """
    first, last, count = spans.T
    spacing = divide(last - first, count - 1, where=count >= SPACED)
    close = (count >= MANY) & (spacing < FASTEST.get(task, 0.0))
    least, most, slowest = USUAL.get(task, (0.0, np.inf, np.inf))
    far = spacing > slowest
    tiny = (spacing > 0) & (spacing < least * _DENSEST) & (count >= SPACED)
    found: dict[int, str] = {}
    for row in np.flatnonzero(close | far | tiny).tolist():
        length = last[row] - first[row]
        found[row] = f"{count[row]:.0f} items in {length:.6g} s, one every {spacing[row]:.{4 if far[row] else 2}g} s: "
        if tiny[row]:
            found[row] += "too close for seconds; were seconds read in another time_unit, or divided?"
            continue
        if close[row]:
            found[row] += "are they frames, as of an activation curve? Beats are expected"
            continue
        units = [unit for unit, seconds in _UNITS.items() if least <= spacing[row] * seconds <= most]
        found[row] += "are the times in ms, frames or samples? Seconds are expected"
        if units:
            found[row] += f"; time_unit: {' or '.join(units)} reads such files, arrays have to be divided"
    return found
