"""Observations of a JAMS annotation (time, duration, value, confidence) as columns, for each kind of annotation."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError
from ..ragged import Column, Float, Int
from .hertz import to_hertz
from .namespaces import NAMESPACES
from .options import PITCHED

# Ends that miss the next start by less than this are equal to it but for the rounding of start + duration.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Observations:
    """What one JAMS annotation holds, in parallel sequences; `confidence` only where it is needed."""

    time: Float
    duration: Float
    values: Sequence[Any]
    confidence: Sequence[Any] = field(default=())

    def annotation(
        self, kind: str, namespace: str, attrs: Mapping[str, Attribute], name: str, where: str = "data"
    ) -> Annotation:
        """As an annotation of a kind that the namespace can be read as.

        Raises
        ------
        InvalidAnnotationError
            For a value that is not of its namespace's form, with its place.
        """
        if kind == "hierarchy":
            return self._hierarchy(attrs, name, where)
        if kind == "patterns":
            return self._patterns(attrs, name, where)
        if kind == "tempo":
            return self._tempo(attrs, name, where)
        if kind in PITCHED:
            return self._pitched(kind, namespace, attrs, name, where)
        labels = value_texts(self.values, namespace)
        if kind == "labels":
            return Annotation(kind, self._strengths("value"), labels, attrs=attrs)
        if kind == "key":
            return Annotation(kind, {}, labels, attrs=attrs)
        columns: dict[str, Column] = {"time": self.time}
        if kind == "intervals":
            columns = {"start": self.time, "end": ends_of(self.time, self.duration)}
        elif namespace == "beat_position" and self.values:
            held = [value.get("measure") if isinstance(value, Mapping) else None for value in self.values]
            bars = np.array([number_or_nan(value) for value in held], dtype=np.float64)
            columns |= {} if np.isnan(bars).any() else {"bar": bars}
        return Annotation(kind, columns, labels, attrs=attrs)

    def _hierarchy(self, attrs: Mapping[str, Attribute], name: str, where: str) -> Annotation:
        """Segments grouped by their level, the lowest number first."""
        level = self._numbers("level", name, where)
        texts = [value.get("label") for value in self.values]
        order = np.argsort(level, kind="stable")
        _, counts = np.unique(level, return_counts=True)
        time, duration = self.time[order], self.duration[order]
        parts = np.split(np.arange(len(order)), np.cumsum(counts)[:-1]) if len(order) else []
        end = np.concatenate([ends_of(time[part], duration[part]) for part in parts] or [np.zeros(0)])
        labels = ["" if texts[item] is None else str(texts[item]) for item in order.tolist()]
        return Annotation("hierarchy", {"start": time, "end": end}, labels, (counts.astype(np.int64),), attrs=attrs)

    def _patterns(self, attrs: Mapping[str, Attribute], name: str, where: str) -> Annotation:
        """Notes grouped by pattern and occurrence, in the order of their numbers."""
        pattern, occurrence = (self._numbers(f"{key}_id", name, where) for key in ("pattern", "occurrence"))
        pitch = self._numbers("midi_pitch", name, where)
        order = np.lexsort((occurrence, pattern))
        pairs, notes = np.unique(np.column_stack((pattern, occurrence)), axis=0, return_counts=True)
        _, occurrences = np.unique(pairs[:, 0], return_counts=True)
        counts: tuple[Int, Int] = occurrences.astype(np.int64), notes.astype(np.int64)
        columns = {"onset": self.time[order], "pitch": pitch[order]}
        return Annotation("patterns", columns, inner_counts=counts, attrs=attrs)

    def _tempo(self, attrs: Mapping[str, Attribute], name: str, where: str) -> Annotation:
        columns: dict[str, Column] = {"tempo": np.array(self._each(self.values, "value", name, where))}
        return Annotation("tempo", {**columns, **self._strengths("salience")}, attrs=attrs)

    def _strengths(self, column: str) -> dict[str, Column]:
        """The confidences as a column of that name, if every observation has one."""
        strengths = [number_or_nan(value) for value in self.confidence]
        told = len(strengths) == len(self.values) and not np.isnan(strengths).any()
        return {column: np.array(strengths, dtype=np.float64)} if told else {}

    def _pitched(self, kind: str, namespace: str, attrs: Mapping[str, Attribute], name: str, where: str) -> Annotation:
        """Notes as they stand; a pitch over time, or several, in order of time."""
        unit = "MIDI" if NAMESPACES[namespace].value == "midi" else "Hz"
        pitch = np.array(self._each(list(map(signed_frequency, self.values)), "value", name, where), dtype=np.float64)
        pitch = to_hertz(pitch, kind, unit) + 0.0  # no negative zeros
        if kind == "notes":
            columns = {"start": self.time, "end": self.time + self.duration, "pitch": pitch}
            return Annotation(kind, columns, attrs=attrs)
        order = np.argsort(self.time, kind="stable")
        time, frequency = self.time[order], pitch[order]
        if kind == "series":
            return Annotation(kind, {"time": time, "frequency": frequency}, attrs=attrs)
        frames, owner = np.unique(time, return_inverse=True)
        sounding = frequency > 0
        counts = np.bincount(owner[sounding], minlength=len(frames)).astype(np.int64)
        columns = {"time": frames, "frequency": frequency[sounding]}
        return Annotation(kind, columns, inner_counts=(counts,), attrs=attrs)

    def _numbers(self, key: str, name: str, where: str) -> Float:
        """One field of all values, which are objects."""
        values = [value.get(key) if isinstance(value, Mapping) else None for value in self.values]
        return np.array(self._each(values, f"value.{key}", name, where), dtype=np.float64)

    def _each(self, values: Sequence[Any], what: str, name: str, where: str) -> list[float]:
        numbers = [number_or_nan(value) for value in values]
        for item, (number, value) in enumerate(zip(numbers, values, strict=True)):
            if math.isnan(number):
                raise InvalidAnnotationError(f"{where}[{item}].{what}: not a number: {shown(value)}", path=name)
        return numbers


def signed_frequency(value: Any) -> Any:
    """A point of a pitch contour as one number, negative where it is not voiced; other values as they are."""
    if not isinstance(value, Mapping):
        return value
    frequency, voiced = value.get("frequency"), value.get("voiced")
    if isinstance(voiced, bool) and not voiced and frequency is None:
        return 0.0  # what is not voiced needs no frequency, and some trackers write NaN
    number = number_or_nan(frequency)
    return -abs(number) if voiced is False else number


def shown(value: Any) -> str:
    """A value as a message shows it: of long ones the two ends, of whole numbers of many digits no digit.

    Examples
    --------
    >>> shown("C:maj"), shown(10**5000)
    ("'C:maj'", 'an integer of more than 4,000 digits')
    """
    try:
        return reprlib.repr(value)
    except ValueError:
        return "an integer of more than 4,000 digits"


def number_or_nan(value: Any) -> float:
    """A value as a number; NaN for what is none, or too large to be one.

    Examples
    --------
    >>> number_or_nan(3), number_or_nan("3"), number_or_nan(10**400)
    (3.0, nan, nan)
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def ends_of(time: Float, duration: Float) -> Float:
    """Ends of observations; one that misses the next start by rounding only is set to it."""
    end = time + duration
    touching = np.abs(end[:-1] - time[1:]) < ROUNDING
    end[:-1][touching] = time[1:][touching]
    return end


def value_texts(values: Sequence[Any], namespace: str) -> list[str]:
    """Values of observations as labels: a beat's position as its number, null as nothing."""
    form = NAMESPACES[namespace].value if namespace in NAMESPACES else "text"
    if form == "position":
        values = [value.get("position") if isinstance(value, Mapping) else value for value in values]
    # Positions of beats, the most frequent values that are no text, are whole numbers.
    return [value if isinstance(value, str) else str(value) if type(value) is int else _text(value) for value in values]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, (int, float)) else json.dumps(value)
