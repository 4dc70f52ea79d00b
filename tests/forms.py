"""The forms in which one annotation may be given: arguments of mir_eval's functions, columns, data frames, datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import mirflow
from mirflow.annotations.annotation import Annotation


def parts(values: Sequence[Any], counts: Sequence[int]) -> list[Any]:
    """Consecutive parts of a sequence."""
    ends = np.cumsum(counts, dtype=int)
    return [values[end - count : end] for count, end in zip(counts, ends, strict=True)]


def arguments(one: Annotation) -> tuple[Any, ...] | dict[str, Any]:
    """What mir_eval's functions take of one side, which of tempi is no more than a share; else columns."""
    columns, labels = one.columns, one.labels
    if one.kind == "tempo":
        share = columns.get("salience", np.zeros(0)).tolist()
        if len(share) == 2 and 0 <= share[0] <= 1 and share[1] == 1 - share[0]:
            return columns["tempo"], share[0]
        return dict(columns) if "salience" in columns else (columns["tempo"],)
    if one.kind in ("intervals", "pedals", "notes"):
        intervals = np.column_stack([columns["start"], columns["end"]])
        found = (intervals, labels) if one.kind != "notes" else (intervals, columns["pitch"])
        more = (columns.get("velocity"), labels) if one.kind == "notes" else ()
        return found if not any(value is not None for value in more) else (*found, *more)
    if one.kind == "hierarchy":
        intervals = np.column_stack([columns["start"], columns["end"]])
        counts = one.inner_counts[0].tolist()
        return parts(intervals, counts), parts(list(labels or ()), counts)
    if one.kind == "multipitch":
        return columns["time"], parts(columns["frequency"], one.inner_counts[0].tolist())
    if one.kind == "patterns":
        notes = list(zip(columns["onset"].tolist(), columns["pitch"].tolist(), strict=True))
        return (parts(parts(notes, one.inner_counts[1].tolist()), one.inner_counts[0].tolist()),)
    if one.kind == "following":
        names = ("time", "detected", "position", "pitch") if "detected" in columns else ("time", "position", "pitch")
        return (np.column_stack([columns[name] for name in names]),)
    if one.kind == "sheet_music":
        return *(columns[name] for name in ("time", "notated_start", "notated_end", "pitch", "voice")), labels
    if one.kind == "audio":
        signals = list(columns["signal"])
        return np.concatenate([signal.amplitude for signal in signals]), signals[0].rate, labels
    if one.kind == "note_alignment":
        return columns["score_id"], columns["performance_id"], labels
    if one.kind == "judgements":
        return labels, columns["broad"], columns["value"], columns["grader"]
    if one.kind in ("labels", "ranking"):
        return (labels, columns["value"]) if "value" in columns else (labels,)
    if one.kind == "series":
        return tuple(columns[name] for name in ("time", "frequency", "voicing") if name in columns)
    if one.kind == "text":
        return (labels, *(columns.get(name) for name in ("start", "end", "line", "language")))
    return (labels,) if one.kind == "key" else (columns["time"], labels)


def columns(one: Annotation) -> Any:
    """Columns by name, of nested kinds with the numbers of items; arguments where an item has no row."""
    if one.schema.dims[1:] and not in_rows(one):
        return arguments(one)
    named: dict[str, Any] = dict(one.columns) | ({} if one.labels is None else {"label": list(one.labels)})
    if one.kind == "audio":
        return dict(zip(("sources", "rate", "label"), arguments(one), strict=True))
    if one.kind == "multipitch":
        counts = one.inner_counts[0]
        rows = np.maximum(counts, 1)
        frequency = np.full(rows.sum(), np.nan)
        frequency[np.repeat(counts > 0, rows)] = named["frequency"]
        return {"time": np.repeat(named["time"], rows), "frequency": frequency}
    outer = one.schema.dims[:-1]
    if len(outer) == 2:
        counts = one.inner_counts[0]
        numbers = np.concatenate([np.zeros(0, int), *(np.arange(count) for count in counts)])
        named |= {"pattern": np.repeat(np.repeat(np.arange(len(counts)), counts), one.inner_counts[1])}
        named |= {"occurrence": np.repeat(numbers, one.inner_counts[1])}
    elif outer:
        named["level"] = np.repeat(np.arange(len(one.inner_counts[0])), one.inner_counts[0])
    return named


def as_read(one: Annotation) -> Annotation:
    """An annotation as readers give it: audio has no lines, a ranking is in the order of its scores."""
    if one.kind == "audio":
        return replace(one, lines=())
    if one.kind != "ranking" or "value" not in one.columns:
        return one
    order = np.argsort(-one.columns["value"], kind="stable")
    return replace(one, columns={"value": one.columns["value"][order]}, labels=[(one.labels or [])[i] for i in order])


def in_rows(one: Annotation) -> bool:
    """Whether rows of a table can hold all of an annotation: no item without any row, and no audio."""
    return one.kind != "audio" and len(one) > 0 and all((counts > 0).all() for counts in one.inner_counts)


def table(annotations: Mapping[str, Annotation], system: str = "") -> pd.DataFrame:
    """The annotations of many tracks as one long table."""
    named = {"system": system} if system else {}
    return pd.concat(
        [pd.DataFrame({"track": track, **named, **columns(one)}) for track, one in annotations.items()],
        ignore_index=True,
    )


def dataset(one: Annotation, task: str) -> xr.Dataset:
    """A labelled dataset."""
    return mirflow.annotation(task, one)
