"""Annotations as the observations that JAMS holds: time, duration, value and confidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..ragged import Float, offsets_of, rows_of
from ..theory.pitch import hz_to_midi
from .namespaces import NAMESPACES
from .options import PITCHED

Observation = tuple[float, float, Any, float | None]


def observations_of(annotation: Annotation, namespace: str, duration: float) -> list[Observation]:
    """The observations of an annotation.

    Parameters
    ----------
    annotation : Annotation
    namespace : str
    duration : float, seconds
        Of the track, for what holds throughout: a key, a tempo.

    Examples
    --------
    >>> observations_of(Annotation("key", {}, ["C minor"]), "key_mode", 120.0)
    [(0.0, 120.0, 'C:minor', None)]
    """
    kind = annotation.kind
    if kind == "patterns":
        return list(_notes(annotation))
    if kind == "tempo":
        tempi = annotation.columns["tempo"].tolist()
        strengths = annotation.columns.get("salience", np.full(len(tempi), np.nan)).tolist()
        return [(0.0, duration, tempo, None if x != x else x) for tempo, x in zip(tempi, strengths, strict=True)]
    if kind == "key":
        return [(0.0, duration, label.replace(" ", ":", 1), None) for label in annotation.labels or ()]
    if kind == "labels":
        texts = annotation.labels or []
        degrees = annotation.columns.get("value", np.full(len(texts), np.nan)).tolist()
        return [(0.0, duration, text, None if x != x else x) for text, x in zip(texts, degrees, strict=True)]
    if kind in PITCHED:
        return list(_pitches(annotation, NAMESPACES[namespace].value))
    times = annotation.columns["time" if kind == "events" else "start"]
    texts = annotation.labels if annotation.labels is not None else [""] * len(times)
    if kind == "events":
        values: list[Any] = list(map(_number, texts)) if NAMESPACES[namespace].value == "number" else list(texts)
        return [(time, 0.0, value, None) for time, value in zip(times.tolist(), values, strict=True)]
    lengths = (annotation.columns["end"] - times).tolist()
    rows = list(zip(times.tolist(), lengths, texts, strict=True))
    if kind == "hierarchy":
        levels = rows_of(annotation.inner_counts[0]).tolist()
        return [
            (start, length, {"label": text, "level": level}, None)
            for (start, length, text), level in zip(rows, levels, strict=True)
        ]
    return [(start, length, text, None) for start, length, text in rows]


def _pitches(annotation: Annotation, form: str) -> Iterator[Observation]:
    """Notes, or points of a pitch contour; a frame in which nothing sounds is a point that is not voiced."""
    columns = annotation.columns
    if annotation.kind == "notes":
        pitch: Float = np.asarray(hz_to_midi(columns["pitch"])) if form == "midi" else columns["pitch"]
        lengths = columns["end"] - columns["start"]
        for start, length, value in zip(columns["start"].tolist(), lengths.tolist(), pitch.tolist(), strict=True):
            yield start, length, value, None
        return
    time, frequency = columns["time"], columns["frequency"]
    if annotation.kind == "multipitch":
        counts = annotation.inner_counts[0]
        held = np.zeros(int(np.maximum(counts, 1).sum()))
        held[np.repeat(counts > 0, np.maximum(counts, 1))] = frequency
        time, frequency = np.repeat(time, np.maximum(counts, 1)), held
    for moment, hertz in zip(time.tolist(), frequency.tolist(), strict=True):
        yield moment, 0.0, {"index": 0, "frequency": abs(hertz), "voiced": hertz > 0}, None


def _notes(annotation: Annotation) -> Iterator[Observation]:
    """Notes of patterns; what the namespace demands and we do not know, the morphetic pitch and the staff, is 0."""
    occurrences, notes = annotation.inner_counts
    pattern, owner = rows_of(occurrences), rows_of(notes)
    number = np.arange(len(notes)) - np.repeat(offsets_of(occurrences)[:-1], occurrences)
    onsets, pitches = annotation.columns["onset"].tolist(), annotation.columns["pitch"].tolist()
    for onset, pitch, p, o in zip(onsets, pitches, pattern[owner].tolist(), number[owner].tolist(), strict=True):
        ids = {"pattern_id": p + 1, "occurrence_id": o + 1}
        yield onset, 0.0, {"midi_pitch": pitch, "morph_pitch": 0, "staff": 0, **ids}, None


def _number(label: str) -> float | str | None:
    """A label as the number that it stands for, null where it is empty."""
    if not label:
        return None
    try:
        number = float(label)
    except ValueError:
        return label
    return int(number) if number.is_integer() else number
