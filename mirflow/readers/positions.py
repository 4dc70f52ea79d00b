"""Selection of beats by position: all, the downbeats, or the first or last beats of numbered bars.

``downbeat``
    Beats whose position in the bar (their label) is 1.
``bar_start``
    The first beat of the file, and each beat after a change of the bar number.
``bar_end``
    Each beat before a change of the bar number, preceded by the first beat of the file if it lies in bar 1. That beat
    occurs twice if bar 1 has a single beat.

The published scores of the Harmonix Set index downbeats in the last two ways (``bar_end`` for madmom, ``bar_start`` for
Durand's system); the annotated downbeats are ``downbeat``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..annotations.account import Remark
from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..ragged import Column, Float, Int
from .options import Select

_ENOUGH = 4
"""Minimum number of beats to judge the order of columns."""
_MOST = 32
"""Positions from here on are implausible in a bar."""


def select_beats(annotation: Annotation, select: Select | None, name: str | Path) -> Annotation:
    """Select beats of a file, and drop the column ``bar``.

    Events have positions in the bar as labels, and perhaps a column ``bar`` with bar numbers. None selects the
    downbeats if there are positions, otherwise all.

    Examples
    --------
    >>> beats = Annotation("events", {"time": np.array([0.0, 0.5, 1.0])}, ["1", "2", "1"])
    >>> select_beats(beats, "downbeat", "a.txt").columns["time"].tolist()
    [0.0, 1.0]
    """
    if not len(annotation):
        return _taken(annotation, slice(None))
    annotation = _with_doubt(annotation, _swapped(annotation))
    if select is None:
        select = "downbeat" if annotation.labels is not None else "all"
    if select == "all":
        return _taken(annotation, slice(None))
    if select == "downbeat":
        position = _positions(annotation, name)
        return _taken(_with_doubt(annotation, _without_bars(position)), np.flatnonzero(position == 1))
    bar = annotation.columns.get("bar")
    if bar is None:
        raise InvalidAnnotationError(f"has no bar numbers, which select: {select} needs", path=name)
    change = np.flatnonzero(bar[1:] != bar[:-1])
    if select == "bar_start":
        return _taken(annotation, np.append(0, change + 1))
    return _taken(annotation, np.append(0, change) if bar[0] == 1 else change)


def _with_doubt(annotation: Annotation, doubt: str) -> Annotation:
    """Add a remark if the columns are implausible."""
    account = (*annotation.account, Remark("odd_columns", doubt))
    return replace(annotation, account=account) if doubt else annotation


def _swapped(annotation: Annotation) -> str:
    time, labels = annotation.columns.get("time"), annotation.labels
    if time is None or labels is None or len(time) < _ENOUGH or time[0] not in (0, 1) or (np.diff(time) != 1).any():
        return ""
    try:
        second = np.array(list(map(float, labels)), dtype=np.float64)
    except ValueError:
        return ""
    if not (np.isfinite(second).all() and (np.diff(second) > 0).all() and (second != second.round()).any()):
        return ""
    return (
        f"the times are {time[0]:.0f}, {time[1]:.0f}, ... {time[-1]:.0f} and the second column grows from {labels[0]} "
        f"to {labels[-1]}; if the first column numbers the rows, declare columns: {{time: 1}} (--columns time=1)"
    )


def _without_bars(position: Float) -> str:
    hint = "downbeats have position 1"
    if position.min() == 0 and position.max() < _MOST:
        return f"positions in the bar from 0 to {position.max():.0f}: {hint}; count from 1, or declare the column"
    steps = np.diff(position)
    repeated = position[-1] > position[0] and (steps == 0).any()
    if len(position) >= _ENOUGH and (steps >= 0).all() and (repeated or position[-1] >= _MOST):
        return (
            f"positions in the bar only grow, from {position[0]:.0f} to {position[-1]:.0f}: {hint}; if they are bar "
            "numbers, declare the column of positions: columns: {time: 0, label: 2} (--columns time=0,label=2)"
        )
    return ""


def _positions(annotation: Annotation, name: str | Path) -> Float:
    if annotation.labels is None:
        raise InvalidAnnotationError("has no positions in the bar, which select: downbeat needs", path=name)
    # Files have few distinct positions, so few texts are converted.
    number = {label: _whole(label) for label in dict.fromkeys(annotation.labels)}
    if None in number.values():
        item = next(item for item, label in enumerate(annotation.labels) if number[label] is None)
        message = f"position in the bar is not a whole number: {annotation.labels[item]!r}; or declare select: all"
        raise InvalidAnnotationError(message, path=name, line=annotation.line(item))
    return np.array([number[label] for label in annotation.labels], dtype=np.float64)


def _whole(label: str) -> float | None:
    try:
        number = float(label)
    except ValueError:
        return None
    return number if number.is_integer() else None


def _taken(annotation: Annotation, items: Int | slice) -> Annotation:
    times: dict[str, Column] = {"time": annotation.columns["time"][items]}
    if isinstance(items, slice):
        return annotation if "bar" not in annotation.columns else replace(annotation, columns=times)
    chosen = items.tolist()
    labels = None if annotation.labels is None else [annotation.labels[item] for item in chosen]
    lines: Sequence[int] | None = None
    if annotation.line(0) is not None:
        lines = [annotation.line(item) or 0 for item in chosen]
    return replace(annotation, columns=times, labels=labels, lines=lines)
