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
    """The items of ragged rows that break one rule.

    Parameters
    ----------
    items : Bool
        Flat mask over the items (the innermost depth).
    message : str
        A format string with the columns' names as fields.
    """

    rule: str
    items: Bool
    message: str

    def describe(self, rows: Ragged, item: int) -> str:
        """The error of one item, with its values."""
        values = {name: column[item] for name, column in rows.columns.items() if name in TIMES}
        if item > 0:
            values |= {f"previous_{name}": column[item - 1] for name, column in rows.columns.items() if name in TIMES}
        return self.message.format(**values)


def _first_of_row(rows: Ragged) -> Bool:
    first = np.zeros(int(rows.counts[-1].sum()), dtype=np.bool_)
    owner = rows_of(rows.counts[-1])
    first[:1] = True
    first[1:] = owner[1:] != owner[:-1]
    return first


def _after_previous(rows: Ragged, compare: Callable[[Float, Float], Bool], previous: str, current: str) -> Bool:
    """Items whose `current` column compares so to the `previous` column of the item before them in their row."""
    found = np.zeros(len(rows.columns[current]), dtype=np.bool_)
    found[1:] = compare(rows.columns[previous][:-1], rows.columns[current][1:])
    found &= ~_first_of_row(rows)
    return found


def _times(rows: Ragged) -> list[Float]:
    return [rows.columns[name] for name in TIMES if name in rows.columns]


def _any(masks: list[Bool], size: int) -> Bool:
    found = np.zeros(size, dtype=np.bool_)
    for mask in masks:
        found |= mask
    return found


def _onset(rows: Ragged) -> str:
    return "start" if "start" in rows.columns else "time"


def _not_finite(rows: Ragged) -> Bool:
    times = _times(rows)
    return _any([~np.isfinite(time) for time in times], len(times[0]))


def _too_late(rows: Ragged) -> Bool:
    times = _times(rows)
    return _any([np.isfinite(time) & (np.abs(time) > LATEST) for time in times], len(times[0]))


def _negative(rows: Ragged) -> Bool:
    times = _times(rows)
    return _any([time < 0 for time in times], len(times[0]))


def _reversed(rows: Ragged) -> Bool:
    return np.asarray(rows.columns["end"] < rows.columns["start"])


def _zero_length(rows: Ragged) -> Bool:
    return np.asarray(rows.columns["end"] == rows.columns["start"])


def _unsorted(rows: Ragged) -> Bool:
    return _after_previous(rows, np.greater, _onset(rows), _onset(rows))


def _duplicate(rows: Ragged) -> Bool:
    return _after_previous(rows, np.equal, "time", "time")


def _overlap(rows: Ragged) -> Bool:
    return _after_previous(rows, np.greater, "end", "start") & ~_unsorted(rows)


def _gap(rows: Ragged) -> Bool:
    return _after_previous(rows, np.less, "end", "start")


_INTERVAL = "{start} to {end} s"
_RULES: MappingProxyType[str, tuple[str, Callable[[Ragged], Bool], str, str]] = MappingProxyType(
    {
        "finite": ("not_finite", _not_finite, f"time is not finite: {_INTERVAL}", "time is not finite: {time}"),
        "in_seconds": (
            "too_late",
            _too_late,
            f"time is not in seconds, as it is beyond {LATEST:g}: {{start}} to {{end}}",
            f"time is not in seconds, as it is beyond {LATEST:g}: {{time}}",
        ),
        "not_negative": ("negative", _negative, f"time is negative: {_INTERVAL}", "time is negative: {time} s"),
        "not_reversed": ("reversed", _reversed, f"interval ends before it starts: {_INTERVAL}", ""),
        "positive": ("zero_length", _zero_length, "interval has no length: {start} s", ""),
        "sorted": (
            "unsorted",
            _unsorted,
            "starts at {start} s, before the row above it ({previous_start} s)",
            "is at {time} s, before the row above it ({previous_time} s)",
        ),
        "distinct": ("duplicate", _duplicate, "", "the same time as the row above it: {time} s"),
        "no_overlap": ("overlap", _overlap, "overlaps the row above it: {start} s is before {previous_end} s", ""),
        "no_gap": ("gap", _gap, "a gap before this row: {previous_end} to {start} s", ""),
    }
)


def inspect(kind: Kind, rows: Ragged) -> dict[str, Finding]:
    """All items that break a rule of their kind, by the name of what is wrong.

    Returns
    -------
    dict of str to Finding
        Only what was found: ``not_finite``, ``too_late``, ``negative``, ``reversed``, ``zero_length``, ``unsorted``,
        ``duplicate``, ``overlap``, ``gap``.

    Examples
    --------
    >>> from mirflow.annotations.schema import KINDS
    >>> rows = Ragged({"start": np.array([0.0, 1.0]), "end": np.array([1.0, 1.0]), "label": np.array([0, 0])},
    ...               (np.array([2]),), ("C",))
    >>> list(inspect(KINDS["intervals"], rows))
    ['zero_length']
    """
    findings = {}
    for rule in kind.rules:
        name, test, interval_message, event_message = _RULES[rule]
        if not _times(rows) or not len(_times(rows)[0]):
            continue
        items = test(rows)
        if items.any():
            message = interval_message if "start" in rows.columns else event_message
            if kind.name == "notes":
                message = message.replace("interval", "note", 1)
            findings[name] = Finding(name, items, message)
    return findings
