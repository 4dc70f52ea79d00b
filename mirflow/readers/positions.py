"""Selection of beats by position: all, the downbeats, or the first or last beats of numbered bars.

``downbeat``
    Beats whose position in the bar (their label) is 1, or whose label has one of the marks that are declared.
    Positions may also hold the number of the bar: ``3.1`` is the first beat of bar 3, or, if others are ``3.0``,
    ``3.1`` is a tenth of a bar after its start.
``bar_start``
    The first beat of the file, and each beat after a change of the bar number.
``bar_end``
    Each beat before a change of the bar number, preceded by the first beat of the file if it lies in bar 1. That beat
    occurs twice if bar 1 has a single beat.

Columns that may be exchanged, and positions by which downbeats may be missed, get a remark. The published scores of the
Harmonix Set index downbeats in the last two ways (``bar_end`` for madmom, ``bar_start`` for Durand's system); the
annotated downbeats are ``downbeat``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..annotations.account import Remark
from ..annotations.annotation import Annotation
from ..annotations.arrays import is_number
from ..errors import InvalidAnnotationError
from ..ragged import Column, Float, Int
from .options import Reading

_ENOUGH = 4
"""Minimum number of beats to judge the order of columns."""
_MOST = 32
"""Positions from here on are implausible in a bar."""


def select_beats(annotation: Annotation, reading: Reading, name: str | Path) -> Annotation:
    """Select beats of a file, and drop the column ``bar``.

    Events have positions in the bar as labels, and perhaps a column ``bar`` with bar numbers. Without a selection, the
    downbeats are selected if there are positions, otherwise all. A map of labels applies to positions first.
    """
    if annotation.labels is not None and not any(annotation.labels):
        annotation = replace(annotation, labels=None)
    empty = not len(annotation)
    doubt = "" if empty else _swapped(annotation)
    if doubt:
        annotation = replace(annotation, account=(*annotation.account, Remark("odd_columns", doubt)))
    select = reading.selection or ("all" if annotation.labels is None else "downbeat")
    if empty or select == "all":
        times: dict[str, Column] = {"time": annotation.columns["time"]}
        return annotation if "bar" not in annotation.columns else replace(annotation, columns=times)
    if select == "downbeat":
        annotation, chosen = _downbeats(annotation, reading, name)
    elif (bar := annotation.columns.get("bar")) is None:
        raise InvalidAnnotationError(f"has no bar numbers, which select: {select} needs", path=name)
    else:
        chosen = np.flatnonzero(bar[1:] != bar[:-1])
        if select == "bar_start":
            chosen = np.append(0, chosen + 1)
        elif bar[0] == 1:
            chosen = np.append(0, chosen)
    times, items = {"time": annotation.columns["time"][chosen]}, chosen.tolist()
    labels = None if annotation.labels is None else [annotation.labels[item] for item in items]
    lines = None if annotation.line(0) is None else [annotation.line(item) or 0 for item in items]
    return replace(annotation, columns=times, labels=labels, lines=lines)


def _downbeats(annotation: Annotation, reading: Reading, name: str | Path) -> tuple[Annotation, Int]:
    """The beats with their positions, and which of them are downbeats."""
    labels, marks = annotation.labels, reading.downbeat
    if labels is None:
        message = "has no positions in the bar, by which downbeats are chosen; if all its times are downbeats, "
        raise InvalidAnnotationError(f"{message}declare select: all (--select all)", path=name)
    if marks:
        marked = {label: not {label, *_PARTS.split(label)}.isdisjoint(marks) for label in dict.fromkeys(labels)}
        if not any(marked.values()):
            doubt = f"no label has the mark {' or '.join(map(repr, marks))} of downbeats; labels are "
            doubt += ", ".join(map(repr, [*marked][:3]))
            annotation = replace(annotation, account=(*annotation.account, Remark("odd_columns", doubt)))
        return annotation, np.flatnonzero([marked[label] for label in labels])
    if reading.labels is not None:
        annotation = reading.labels.apply(annotation)
    position, within = _positions(annotation, name, mapped=reading.labels is not None)
    chosen = np.flatnonzero(position == 1)
    if within:  # numbers of bars are no positions
        return replace(annotation, labels=[f"{number:g}" for number in position]), chosen
    if np.isin(position, (0, 1)).all() and len(chosen) and (position[1:] + position[:-1] == 0).any():
        return annotation, chosen  # flags, 1 at downbeats and 0 at all other beats, do not count up
    account = annotation.account
    if doubt := _without_bars(position):
        account = (*account, Remark("odd_columns", doubt))
    # Positions that neither count up nor begin a bar, by which downbeats may be missed.
    mask, after_first = position >= _MOST, position[1:]
    mask[1:] |= (np.diff(position) != 1) & (after_first != 1) & ~np.isnan(after_first)
    odd = np.flatnonzero(mask).tolist()
    if odd and all(remark.rule != "odd_columns" for remark in account):
        after = f"follows position {position[odd[0] - 1]:g}" if odd[0] else "is implausible"
        message = f"position {position[odd[0]]:g} in the bar {after}"
        account = (*account, Remark("positions", message, annotation.line(odd[0]), len(odd)))
    return replace(annotation, account=account), chosen


def _swapped(annotation: Annotation) -> str:
    time, labels = annotation.columns.get("time"), annotation.labels
    if time is None or labels is None or len(time) < _ENOUGH:
        return ""
    descends = bool((time[1:] < time[:-1]).any())
    if not descends and (time[0] not in (0, 1) or (np.diff(time) != 1).any()):
        return ""
    try:
        second = np.array(list(map(float, labels)), dtype=np.float64)
    except ValueError:
        return ""
    if descends:
        if (time != time.round()).any() or not (np.diff(second) > 0).all():
            return ""
        return (
            f"the times descend, and the second column grows from {labels[0]} to {labels[-1]}; if it holds the times, "
            "declare columns: {time: 1, label: 0} (--columns time=1,label=0)"
        )
    if not (np.isfinite(second).all() and (np.diff(second) > 0).all() and (second != second.round()).any()):
        return ""
    return (
        f"the times are {time[0]:.0f}, {time[1]:.0f}, ... {time[-1]:.0f} and the second column grows from {labels[0]} "
        f"to {labels[-1]}; if the first column numbers the rows, declare columns: {{time: 1}} (--columns time=1)"
    )


def _without_bars(position: Float) -> str:
    hint = "downbeats have position 1"
    known = position[~np.isnan(position)]
    if not len(known):
        return ""
    if known.min() == 0 and known.max() < _MOST:
        return f"positions in the bar from 0 to {known.max():.0f}: {hint}; count from 1, or declare the column"
    steps = np.diff(known)
    repeated = known[-1] > known[0] and (steps == 0).any()
    if len(known) >= _ENOUGH and (steps >= 0).all() and (repeated or known[-1] >= _MOST):
        return (
            f"positions in the bar only grow, from {known[0]:.0f} to {known[-1]:.0f}: {hint}; if they are bar "
            "numbers, declare the column of positions: columns: {time: 0, label: 2} (--columns time=0,label=2)"
        )
    if len(known) >= _ENOUGH and not (known == 1).any():
        texts = [f"{number:g}" for number in np.unique(known)]
        return (
            f"no position in the bar is 1: they are {', '.join(texts[:_ENOUGH])}; if one of them marks the downbeats, "
            f"declare it, such as downbeat: ['{texts[-1]}'] (--downbeat {texts[-1]})"
        )
    return ""


def _positions(annotation: Annotation, name: str | Path, *, mapped: bool) -> tuple[Float, bool]:
    """The position of each beat in its bar, NaN for labels that a map leaves without a number; and whether the labels
    have the number of the bar, too.
    """
    labels = annotation.labels or ()
    # Files have few distinct positions, so few texts are converted.
    number = {label: float(label) if is_number(label) else np.nan for label in dict.fromkeys(labels)}
    number = {label: value if value.is_integer() else np.nan for label, value in number.items()}
    position = np.array([number[label] for label in labels], dtype=np.float64)
    odd = np.flatnonzero(np.isnan(position)).tolist()
    if odd:
        parts = [match for label in labels if (match := _BAR_AND_BEAT.fullmatch(label))]
        if len(parts) == len(labels) > 1:  # numbers of bar and beat, such as 3.1, or of bars and fractions, as 3.25
            bar = np.array([int(part[1]) for part in parts])
            starts = np.array([not (part[2] or "").strip("0") for part in parts])
            fractions = bool(starts.any())
            texts = [part[2] or "0" for part in parts]
            within = np.array([float(f"0.{text}") if fractions else int(text) for text in texts])
            if fractions:
                within = np.where(starts, 1.0, 1 + within)
            # Beats are counted within bars, of which each begins with its first beat.
            counted = np.diff(within) > 0 if fractions else np.diff(within) == 1
            step = np.diff(bar)
            if (((step == 0) & counted) | ((step > 0) & (within[1:] == 1))).all():
                return within, True
        if not mapped or len(odd) == len(labels):
            # A mark of downbeats is a part of labels that regularly occurs, but not in most of them.
            counts = Counter(part for label in labels for part in dict.fromkeys(_PARTS.split(label)) if part)
            every = {mark: [at for at, label in enumerate(labels) if mark in _PARTS.split(label)] for mark in counts}
            fitting = [
                mark
                for mark, places in every.items()
                if 1 < len(places) <= len(labels) / 2 + 1 and max(np.diff(places)) <= _LONGEST and not mark[0].isdigit()
            ]
            remedy = "write the position in the bar, counted from 1"
            if fitting:
                mark = max(fitting, key=lambda part: (part.lower().startswith("d"), counts[part]))
                remedy = f"if {mark!r} marks the downbeats, declare downbeat: [{mark}] (--downbeat {mark})"
            message = f"position in the bar is not a whole number: {labels[odd[0]]!r}; {remedy}"
            raise InvalidAnnotationError(message, path=name, line=annotation.line(odd[0]))
    return position, False


_PARTS = re.compile(r"[\s,;]+")
_BAR_AND_BEAT = re.compile(r"(\d+)(?:\.(\d+))?")
_LONGEST = 16
"""Most beats from one downbeat to the next for which a mark is proposed."""
