"""Annotations from JAMS files, decoded by type and without the jams package."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError, UnreadableError, suggest
from ..ragged import Column, Float, Int
from ..theory.pitch import to_hertz
from .content import digest_of, file_stat, read_bytes
from .namespaces import NAMESPACES, wanted_namespaces
from .options import PITCHED, Reading
from .positions import select_beats

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class AnnotationChoice:
    """One annotation that may be chosen: its namespace, and the name of its annotator, unique in the namespace."""

    namespace: str
    annotator: str

    def __str__(self) -> str:
        return f"{self.namespace} by {self.annotator}"


def annotator_names(namespaces: Sequence[str], metadata: Sequence[Any]) -> tuple[AnnotationChoice, ...]:
    """A name for the annotator of every annotation: the id, else the name, else the position in its namespace.

    Names that would occur twice in a namespace get a number, from the second on.

    Examples
    --------
    >>> [str(c) for c in annotator_names(["chord"] * 3, [{"annotator": {"id": "A1"}}] * 2 + [None])]
    ['chord by A1', 'chord by A1 (2)', 'chord by 2']
    """
    positions: Counter[str] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    choices = []
    for namespace, one in zip(namespaces, metadata, strict=True):
        name = _annotator(one) or str(positions[namespace])
        positions[namespace] += 1
        seen[namespace, name] += 1
        count = seen[namespace, name]
        choices.append(AnnotationChoice(namespace, name if count == 1 else f"{name} ({count})"))
    return tuple(choices)


def _annotator(metadata: Any) -> str:
    annotator = metadata.get("annotator") if isinstance(metadata, Mapping) else None
    if isinstance(annotator, Mapping):
        annotator = next((annotator[key] for key in ("id", "name") if annotator.get(key) not in (None, "")), "")
    return str(annotator).strip() if isinstance(annotator, (str, int)) else ""


def list_choices(choices: Sequence[AnnotationChoice], reading: Reading) -> list[int]:
    """Positions of the annotations that fit what is to be read."""
    wanted = wanted_namespaces(reading.kind, reading.task, reading.namespace)
    return [place for place, choice in enumerate(choices) if choice.namespace in wanted]


def describe_absent(choices: Sequence[AnnotationChoice], what: str) -> str:
    """The error for a file without an annotation of a namespace, or for a task, with the remedy.

    Examples
    --------
    >>> describe_absent([AnnotationChoice("chord", "A1")], "beat")
    "holds no annotation for 'beat'; it holds chord by A1: say task chord"
    """
    message = f"holds no annotation for {what!r}; it holds {', '.join(map(str, choices)) or 'no annotation at all'}"
    known = [NAMESPACES[choice.namespace] for choice in choices if choice.namespace in NAMESPACES]
    tasks = dict.fromkeys(task for namespace in known for task in namespace.tasks[:1] if task != what)
    if tasks:
        return f"{message}: say task {' or '.join(tasks)}"
    if known:
        names = dict.fromkeys(namespace.name for namespace in known)
        return f"{message}: declare namespace: {' or '.join(names)}"
    return f"{message}; {what!r} is read from {', '.join(_read_for(what))}" if choices else message


def _read_for(what: str) -> Iterable[str]:
    names = [one.name for one in NAMESPACES.values() if what in (*one.tasks, *one.kinds)] or [what]
    return [*names[:_SHOWN], "..."] if len(names) > _SHOWN else names


def choose(choices: Sequence[AnnotationChoice], reading: Reading, annotator: str | int | None, name: str) -> int:
    """The position of the one annotation that is meant.

    Parameters
    ----------
    annotator : str, int or None
        A name, a position among those that fit, or None where only one fits.
    name : str
        Name of the file in messages.
    """
    fitting = list_choices(choices, reading)
    what = reading.namespace or reading.task or reading.kind
    if not fitting:
        raise InvalidAnnotationError(describe_absent(choices, what), path=name)
    held = ", ".join(str(choices[place]) for place in fitting)
    if isinstance(annotator, int):
        if not 0 <= annotator < len(fitting):
            raise InvalidAnnotationError(f"holds no annotation number {annotator}; it holds {held}", path=name)
        return fitting[annotator]
    if annotator is not None:
        known = [choices[place].annotator for place in fitting]
        fitting = [place for place in fitting if choices[place].annotator == annotator]
        if not fitting:
            message = f"has no annotator {annotator!r} for {what!r}; {suggest(annotator, known)}"
            stop = "" if message.endswith("?") else "."
            raise InvalidAnnotationError(f"{message}{stop} It holds {held}", path=name)
    if len(fitting) > 1:
        way = "a namespace" if annotator is not None else "an annotator or a namespace"
        held = ", ".join(str(choices[place]) for place in fitting)
        raise InvalidAnnotationError(f"holds {len(fitting)} annotations for {what!r}: {held}; choose {way}", path=name)
    return fitting[0]


# Ends that miss the next start by less than this are equal to it but for the rounding of start + duration.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Observations:
    """Observations of one JAMS annotation in parallel sequences; `confidence` only where it is needed."""

    time: Float
    duration: Float
    values: Sequence[Any]
    confidence: Sequence[Any] = field(default=())

    def annotation(
        self, kind: str, namespace: str, attrs: Mapping[str, Attribute], name: str, where: str = "data"
    ) -> Annotation:
        """As an annotation of a kind that the namespace can be read as."""
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
        complete = len(strengths) == len(self.values) and not np.isnan(strengths).any()
        return {column: np.array(strengths, dtype=np.float64)} if complete else {}

    def _pitched(self, kind: str, namespace: str, attrs: Mapping[str, Attribute], name: str, where: str) -> Annotation:
        """Notes in their order; a pitch over time, or several, in order of time."""
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


_BYTE = re.compile(r"\(byte (\d+)\)")
_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<where>.*)`)?$")


class _Header(msgspec.Struct):
    """One annotation of a file, its observations still undecoded."""

    namespace: str = ""
    data: msgspec.Raw = msgspec.Raw(b"[]")
    annotation_metadata: Any = None


class _File(msgspec.Struct):
    annotations: list[_Header]
    file_metadata: Any = None


class _TextObservation(msgspec.Struct, gc=False):
    """The form of nearly all observations; the others take the slower types below."""

    time: float
    duration: float
    value: str


class _NumberObservation(msgspec.Struct, gc=False):
    time: float
    duration: float
    value: float


class _Contour(msgspec.Struct, gc=False):
    frequency: float
    voiced: bool


class _ContourObservation(msgspec.Struct, gc=False):
    """A point of a pitch contour; there are ten thousands in a file."""

    time: float
    duration: float
    value: _Contour


class _Observation(msgspec.Struct):
    time: float | None = None
    duration: float | None = None
    value: Any = None
    confidence: Any = None


class _Columns(msgspec.Struct):
    """The layout of JAMS before 0.3: one list for each field."""

    time: list[float | None]
    duration: list[float | None] = msgspec.field(default_factory=list)
    value: list[Any] = msgspec.field(default_factory=list)
    confidence: list[Any] = msgspec.field(default_factory=list)


_MOST_DIGITS = 308  # of a double
_FILES = msgspec.json.Decoder(_File)
_TEXTS = msgspec.json.Decoder(list[_TextObservation])
_NUMBERS = msgspec.json.Decoder(list[_NumberObservation])
_CONTOURS = msgspec.json.Decoder(list[_ContourObservation])
_OBSERVATIONS = msgspec.json.Decoder(list[_Observation] | _Columns)


@dataclass(frozen=True)
class JamsFile:
    """The decoded frame of a JAMS file.

    Parameters
    ----------
    name : str
        Name in messages.
    choices : tuple of AnnotationChoice
        Namespace and annotator of each annotation, in the file's order.
    attrs : mapping
        Of the file: ``source``, ``duration`` [s], ``title``, ``artist``.
    """

    name: str
    digest: str
    headers: Sequence[_Header]
    choices: tuple[AnnotationChoice, ...]
    attrs: Mapping[str, Attribute] = field(default_factory=dict)

    def annotation(self, place: int, reading: Reading) -> Annotation:
        """One annotation, by its position in the file."""
        where = f"annotations[{place}].data"
        choice = self.choices[place]
        attrs = {**self.attrs, "namespace": choice.namespace, "annotator": choice.annotator}
        try:
            held = self._observations(self.headers[place], where)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:  # what is skipped over is not looked into
            raise UnreadableError(f"{where}: is not JSON: {error}", path=self.name) from None
        annotation = held.annotation(reading.kind, choice.namespace, attrs, self.name, where)
        return select_beats(annotation, reading.selection, self.name) if reading.kind == "events" else annotation

    def _observations(self, header: _Header, where: str) -> Observations:
        form = NAMESPACES[header.namespace].value if header.namespace in NAMESPACES else "text"
        if form == "tag":  # its confidence is an affinity
            return self._odd_observations(header, where)
        try:
            if form == "contour":
                return _contours(_CONTOURS.decode(header.data))
            rows: Sequence[_TextObservation | _NumberObservation]
            rows = _NUMBERS.decode(header.data) if form in ("hz", "midi") else _TEXTS.decode(header.data)
        except msgspec.ValidationError:
            return self._odd_observations(header, where)
        time = np.array([row.time for row in rows], dtype=np.float64)
        duration = np.array([row.duration for row in rows], dtype=np.float64)
        return Observations(time, duration, [row.value for row in rows])

    def _odd_observations(self, header: _Header, where: str) -> Observations:
        """Values that are no text, missing fields, and data in columns."""
        try:
            rows = _OBSERVATIONS.decode(header.data)
        except msgspec.ValidationError as error:
            found = _PLACE.match(str(error))
            what, at = (found["what"], found["where"] or "") if found else (str(error), "")
            raise InvalidAnnotationError(f"{where}{at}: {what}", path=self.name) from None
        if isinstance(rows, _Columns):
            times, durations, values, confidence = rows.time, rows.duration, rows.value, rows.confidence
        else:
            times, durations = [row.time for row in rows], [row.duration for row in rows]
            values, confidence = [row.value for row in rows], [row.confidence for row in rows]
        durations, values = durations or [None] * len(times), values or [None] * len(times)
        if not len(times) == len(durations) == len(values):
            counted = f"{len(times)} times, {len(durations)} durations, {len(values)} values"
            raise InvalidAnnotationError(f"{where}: columns of different lengths: {counted}", path=self.name)
        if None in times:
            message = f"{where}[{times.index(None)}].time: missing, null or not a number"
            raise InvalidAnnotationError(message, path=self.name)
        lengths = [0.0 if duration is None else duration for duration in durations]
        time, duration = (np.array(column, dtype=np.float64) for column in (times, lengths))
        return Observations(time, duration, values, confidence)


def _contours(rows: Sequence[_ContourObservation]) -> Observations:
    """Points of contours, those that are not voiced with a negative frequency."""
    time = np.array([row.time for row in rows], dtype=np.float64)
    duration = np.array([row.duration for row in rows], dtype=np.float64)
    points = [row.value for row in rows]
    return Observations(time, duration, [p.frequency if p.voiced else -abs(p.frequency) for p in points])


def read_jams(path: str, reading: Reading, annotator: str | int | None, name: str) -> tuple[Annotation, str]:
    """One annotation of a JAMS file, and the digest of the file's bytes.

    Parameters
    ----------
    annotator : str, int or None
        An annotator's id, a position among the annotations that fit, or None where only one fits.
    name : str
        Name of the file in messages.
    """
    file = open_jams(path, reading.max_bytes, name)
    return file.annotation(choose(file.choices, reading, annotator, name), reading), file.digest


def annotators_of(path: str, reading: Reading, name: str) -> list[str]:
    """The annotators of a JAMS file's annotations that fit, in the file's order."""
    file = open_jams(path, reading.max_bytes, name)
    return [file.choices[place].annotator for place in list_choices(file.choices, reading)]


def open_jams(path: str, max_bytes: int, name: str) -> JamsFile:
    """The decoded frame of a JAMS file; the last few are remembered until they change on disk."""
    return _open(path, max_bytes, name, file_stat(path, name))


@lru_cache(maxsize=4)
def _open(path: str, max_bytes: int, name: str, stat: tuple[int, int]) -> JamsFile:
    return decode_jams(read_bytes(path, max_bytes, name), name)


def decode_jams(data: bytes, name: str) -> JamsFile:
    """The decoded frame of a JAMS file from its bytes.

    Examples
    --------
    >>> decode_jams(b'{"annotations": [{"namespace": "chord", "data": []}]}', "a.jams").choices[0].namespace
    'chord'
    """
    file = _decode_file(data, name)
    metadata = [header.annotation_metadata for header in file.annotations]
    choices = annotator_names([header.namespace for header in file.annotations], metadata)
    return JamsFile(
        name, digest_of(data), file.annotations, choices, {"source": name, **file_attrs(file.file_metadata)}
    )


def _decode_file(data: bytes, name: str) -> _File:
    try:
        return _FILES.decode(data)
    except RecursionError:
        raise UnreadableError("is nested too deeply for JAMS", path=name) from None
    except msgspec.ValidationError as error:
        raise UnreadableError(f"is not a JAMS file: {error}", path=name) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        plain = _without_constants(data, name) if b"NaN" in data or b"Infinity" in data else data
        if plain == data:
            raise _broken(str(error), data, name) from None
        return _decode_file(plain, name)


def _without_constants(data: bytes, name: str) -> bytes:
    """JSON with null for NaN and infinities, which Python's own encoder writes although JSON has none."""
    try:
        return msgspec.json.encode(json.loads(data, parse_constant=lambda _: None, parse_int=parse_whole))
    except RecursionError:
        raise UnreadableError("is nested too deeply for JAMS", path=name) from None
    except (UnicodeDecodeError, UnicodeEncodeError) as error:  # halves of surrogate pairs cannot be encoded
        raise _broken(str(error), data, name) from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg}", path=name, line=error.lineno) from None


def parse_whole(digits: str) -> int | float:
    """A number without a fraction; one that is larger than any double is infinite, as with one."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _broken(reason: str, data: bytes, name: str) -> UnreadableError:
    found = _BYTE.search(reason)
    line = data.count(b"\n", 0, int(found[1])) + 1 if found else data.count(b"\n") + 1
    if not data.strip():
        return UnreadableError("is empty, not JSON", path=name)
    if "truncated" in reason:
        reason = "it ends in the middle"
    return UnreadableError(f"is not JSON: {reason}", path=name, line=line)


def file_attrs(metadata: Any) -> dict[str, Attribute]:
    """Duration, title and artist from a file's metadata, where they are given."""
    attrs: dict[str, Attribute] = {}
    if not isinstance(metadata, Mapping):
        return attrs
    duration = number_or_nan(metadata.get("duration"))
    if math.isfinite(duration):
        attrs["duration"] = duration
    for key in ("title", "artist"):
        if isinstance(metadata.get(key), str) and metadata[key]:
            attrs[key] = metadata[key]
    return attrs
