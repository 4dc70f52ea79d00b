"""Selection of beats by position: all, the downbeats, or the first or last beats of numbered bars.

``downbeat``
    Beats whose position in the bar (their label) is 1.
``bar_start``
    The first beat of the file, and each beat after a change of the bar's number.
``bar_end``
    Each beat before a change of the bar's number; and, put in front of them, the first beat of the file where it lies
    in bar 1. It occurs twice where bar 1 has one beat.

The last two are how the downbeats of the Harmonix Set were indexed when its published scores were computed (``bar_end``
for madmom, ``bar_start`` for Durand's system); the annotated downbeats are ``downbeat``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..ragged import Column, Float, Int
from .options import Select


def select_beats(annotation: Annotation, select: Select | None, name: str | Path) -> Annotation:
    """Some of the beats of a file.

    Parameters
    ----------
    annotation : Annotation
        Events with positions in the bar as labels, and perhaps a column ``bar`` with the bars' numbers.
    select : {"all", "downbeat", "bar_start", "bar_end"} or None
        None: the downbeats if there are positions, else all.
    name : path
        Name of the file in messages.

    Returns
    -------
    Annotation
        Without the column ``bar``.

    Examples
    --------
    >>> beats = Annotation("events", {"time": np.array([0.0, 0.5, 1.0])}, ["1", "2", "1"])
    >>> select_beats(beats, "downbeat", "a.txt").columns["time"].tolist()
    [0.0, 1.0]
    """
    if not len(annotation):
        return _taken(annotation, slice(None))
    if select is None:
        select = "downbeat" if annotation.labels is not None else "all"
    if select == "all":
        return _taken(annotation, slice(None))
    if select == "downbeat":
        return _taken(annotation, np.flatnonzero(_positions(annotation, name) == 1))
    bar = annotation.columns.get("bar")
    if bar is None:
        raise InvalidAnnotationError(f"has no numbers of bars, which select: {select} needs", path=name)
    change = np.flatnonzero(bar[1:] != bar[:-1])
    if select == "bar_start":
        return _taken(annotation, np.append(0, change + 1))
    return _taken(annotation, np.append(0, change) if bar[0] == 1 else change)


def _positions(annotation: Annotation, name: str | Path) -> Float:
    if annotation.labels is None:
        raise InvalidAnnotationError("has no positions in the bar, which select: downbeat needs", path=name)
    # A file has a handful of distinct positions, so few texts are converted.
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
