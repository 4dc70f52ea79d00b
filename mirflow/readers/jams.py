"""Annotations from JAMS files, decoded by type and without the jams package.

Only the annotations that are asked for are decoded; the others are skipped over as bytes. The last few files stay
decoded, so that several annotators of one file cost one read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError, UnreadableError
from .content import digest_of, file_stat, read_bytes
from .namespaces import NAMESPACES
from .observations import Observations, number_or_nan
from .options import Reading
from .positions import select_beats
from .selection import Choice, annotator_names, choose, list_choices

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
    """What nearly all observations look like; the others take the slower types below."""

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
        What to call it in messages.
    digest : str
    headers : sequence
    choices : tuple of Choice
        Namespace and annotator of each annotation, in the file's order.
    attrs : mapping
        Of the file: ``source``, ``duration`` [s], ``title``, ``artist``.
    """

    name: str
    digest: str
    headers: Sequence[_Header]
    choices: tuple[Choice, ...]
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
    path : str
    reading : Reading
    annotator : str, int or None
        An annotator's id, a position among the annotations that fit, or None where only one fits.
    name : str
        What to call the file in messages.

    Raises
    ------
    UnreadableError
        If the file is not JSON or not JAMS.
    InvalidAnnotationError
        If it holds no such annotation, or more than one; the message lists what it holds.
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

    Raises
    ------
    UnreadableError
        If the bytes are not JSON, or not JAMS: truncated, too deeply nested, of another shape.

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
        return msgspec.json.encode(json.loads(data, parse_constant=lambda _: None, parse_int=_whole))
    except RecursionError:
        raise UnreadableError("is nested too deeply for JAMS", path=name) from None
    except (UnicodeDecodeError, UnicodeEncodeError) as error:  # encoding meets halves of surrogate pairs
        raise _broken(str(error), data, name) from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg}", path=name, line=error.lineno) from None


def _whole(digits: str) -> int | float:
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
