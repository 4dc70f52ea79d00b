"""Validation of rows of annotations, for readers, the linter, and the conventions of every task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

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


def _times(rows: Ragged) -> list[Float]:
    return [rows.columns[name] for name in TIMES if name in rows.columns]


def _any(rows: Ragged, test: Callable[[Float], Bool]) -> Bool:
    """Mask of items with any time that passes a test."""
    return np.asarray(np.logical_or.reduce([test(time) for time in _times(rows)]))


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


def _ends(rows: Ragged, compare: Callable[[Float, Float], Bool]) -> Bool:
    """Mask of items whose end compares true with their start; False if the end is unknown, as in lines of lyrics."""
    if "end" not in rows.columns or "start" not in rows.columns:
        return np.zeros(len(_times(rows)[0]), dtype=np.bool_)
    return compare(rows.columns["end"], rows.columns["start"])


_INTERVAL = "{start} to {end} s"
_LATE = f"time is not in seconds (beyond {LATEST:g}):"
# Rule -> name of its violation, test, and messages for intervals and for events.
_RULES: MappingProxyType[str, tuple[str, Callable[[Ragged], Bool], str, str]] = MappingProxyType(
    {
        "finite": (
            "not_finite",
            lambda rows: _any(rows, lambda time: ~np.isfinite(time)),
            f"time is not finite: {_INTERVAL}",
            "time is not finite: {time}",
        ),
        "in_seconds": (
            "too_late",
            lambda rows: _any(rows, lambda time: np.isfinite(time) & (np.abs(time) > LATEST)),
            f"{_LATE} {{start}} to {{end}}",
            f"{_LATE} {{time}}",
        ),
        "not_negative": (
            "negative",
            lambda rows: _any(rows, lambda time: time < 0),
            f"time is negative: {_INTERVAL}",
            "time is negative: {time} s",
        ),
        "not_reversed": (
            "reversed",
            lambda rows: _ends(rows, np.less),
            f"interval ends before it starts: {_INTERVAL}",
            "",
        ),
        "positive": ("zero_length", lambda rows: _ends(rows, np.equal), "interval has no length: {start} s", ""),
        "sorted": (
            "unsorted",
            lambda rows: _after_previous(rows, np.greater),
            "starts at {start} s, before the row above it ({previous_start} s)",
            "is at {time} s, before the row above it ({previous_time} s)",
        ),
        "distinct": (
            "duplicate",
            lambda rows: _after_previous(rows, np.equal),
            "",
            "the same time as the row above it: {time} s",
        ),
        "no_overlap": (
            "overlap",
            lambda rows: _after_previous(rows, np.greater, "end", "start") & ~_after_previous(rows, np.greater),
            "overlaps the row above it: {start} s is before {previous_end} s",
            "",
        ),
        "no_gap": (
            "gap",
            lambda rows: _after_previous(rows, np.less, "end", "start"),
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
    times = _times(rows)
    if not times or not len(times[0]):
        return findings
    for rule in kind.rules:
        name, test, interval_message, event_message = _RULES[rule]
        items = np.asarray(test(rows))
        if items.any():
            message = interval_message if "start" in rows.columns else event_message
            if kind.name == "notes":
                message = message.replace("interval", "note", 1)
            findings[name] = Finding(name, items, message)
    return findings
