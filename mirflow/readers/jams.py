"""JAMS: read files without the jams package, convert from its objects, and validate files, for which it is imported.

Annotations are chosen by task or namespace and annotator, and their observations converted to the kinds of mirflow.
"""

from __future__ import annotations

import codecs
import difflib
import json
import math
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from numbers import Real
from pathlib import Path
from types import GenericAlias
from typing import Any

import msgspec
import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError, Problem, UnreadableError, counted, suggest
from ..ragged import Column, Float, Int
from ..theory.pitch import to_hertz
from .content import decode, digest_of, file_stat, read_bytes
from .formats import FORMATS
from .label_maps import in_harte, in_normal_form
from .lyrics import as_declared, columns_of, pieces_of
from .namespaces import NAMESPACES, OTHERS, wanted_namespaces
from .options import HARTE, MAX_BYTES, PITCHED, Reading
from .positions import select_beats
from .remedies import read_advised

_SHOWN = 8
# Ends closer than this to the next start differ from it only by the rounding of start + duration.
_ROUNDING = 1e-9
_MOST_DIGITS = 308  # of a double
_MISSING = "missing, null or not a number"
_ALIKE = 0.8
"""Least similarity of an unknown namespace to one that is read."""
_BYTE = re.compile(r"\(byte (\d+)\)")
_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<where>.*)`)?$")


@dataclass(frozen=True, slots=True)
class AnnotationChoice:
    """An annotation in a file: its namespace, and the name of its annotator, unique in the namespace."""

    namespace: str
    annotator: str
    named: bool = True
    """Whether the file names the annotator, which otherwise is a position in the namespace."""

    def __str__(self) -> str:
        whose = f"by {self.annotator}" if self.named else f"without an annotator (number {self.annotator})"
        return f"{self.namespace} {whose}"


def describe_absent(choices: Sequence[AnnotationChoice], what: str) -> str:
    """The error for a file without an annotation for a task or in a namespace, with the remedy.

    Examples
    --------
    >>> describe_absent([AnnotationChoice("chord", "A1")], "beat")
    "holds no annotation for 'beat'; it holds chord by A1: use task chord"
    """
    message = f"holds no annotation for {what!r}; it holds {', '.join(map(str, choices)) or 'no annotation at all'}"
    known = [NAMESPACES[choice.namespace] for choice in choices if choice.namespace in NAMESPACES.keys() - OTHERS]
    tasks = dict.fromkeys(task for namespace in known for task in namespace.tasks[:1] if task != what)
    if tasks:
        return f"{message}: use task {' or '.join(tasks)}"
    if known:
        names = dict.fromkeys(namespace.name for namespace in known)
        return f"{message}: {'; or '.join(f'declare namespace: {name} (--namespace {name})' for name in names)}"
    others = dict.fromkeys(choice.namespace for choice in choices if choice.namespace in OTHERS)
    message += "".join(f"; {name} holds {OTHERS[name]}, which no task reads" for name in others)
    read = [namespace.name for namespace in NAMESPACES.values() if what in (*namespace.tasks, *namespace.kinds)] or [
        what
    ]
    shown = ", ".join([*read[:_SHOWN], *["..."] * (len(read) > _SHOWN)])
    return f"{message}; {what!r} is read from {shown}" if choices else message


@dataclass(frozen=True)
class JamsFile:
    """The annotations of a JAMS file or object, not yet decoded."""

    name: str
    """Name in messages."""
    digest: str
    """Digest of the file's bytes."""
    choices: tuple[AnnotationChoice, ...]
    """Namespace and annotator of each annotation, in the file's order."""
    observations: Sequence[Callable[[], Observations]]
    """Decoders of the contents of each annotation."""
    attrs: Mapping[str, Attribute]
    """Attributes of the file: ``source``, ``duration`` [s], ``title``, ``artist``."""

    @classmethod
    def of(
        cls,
        name: str,
        digest: str,
        annotations: Sequence[Any],
        metadata: Sequence[Any],
        about: Any,
        decode: Callable[[Any, str, Any], Observations],
    ) -> JamsFile:
        """The annotations, with what the file holds about each of them and about the track; objects have no digest.

        Annotators are named by id, otherwise by name, otherwise by the position in their namespace. A repeated name in
        a namespace gets a number, from the second occurrence on. `decode` takes an annotation, its path within the
        file, and the length of the track.
        """
        positions: dict[str, int] = {}
        seen: dict[tuple[str, str], int] = {}
        choices = []
        for namespace, one in zip((annotation.namespace for annotation in annotations), metadata, strict=True):
            position = positions.get(namespace, 0)
            positions[namespace] = position + 1
            annotator = one.get("annotator") if isinstance(one, dict) else None
            if isinstance(annotator, dict):
                annotator = next((annotator[key] for key in ("id", "name") if annotator.get(key) not in (None, "")), "")
            who = str(annotator).strip() if isinstance(annotator, (str, int)) else ""
            named, who = bool(who), who or str(position)
            seen[namespace, who] = count = seen.get((namespace, who), 0) + 1
            choices.append(AnnotationChoice(namespace, who if count == 1 else f"{who} ({count})", named))
        held = about if isinstance(about, dict) else {}
        attrs: dict[str, Attribute] = {"source": name} if digest else {}
        duration = _number_or_nan(held.get("duration"))
        attrs |= {"duration": duration} if math.isfinite(duration) else {}
        attrs |= {key: held[key] for key in ("title", "artist") if isinstance(held.get(key), str) and held[key]}
        observations = [
            partial(decode, annotation, f"annotations[{index}].data", held.get("duration"))
            for index, annotation in enumerate(annotations)
        ]
        return cls(name, digest, tuple(choices), observations, attrs)

    def fitting(self, reading: Reading) -> list[int]:
        """Positions of the annotations that match the reading."""
        wanted = wanted_namespaces(reading.kind, reading.task, reading.namespace)
        return [index for index, choice in enumerate(self.choices) if choice.namespace in wanted]

    def annotation(self, place: int, reading: Reading) -> Annotation:
        """One annotation, by its position in the file."""
        choice = self.choices[place]
        attrs = {**self.attrs, "namespace": choice.namespace, "annotator": choice.annotator}
        account = Account(self.name, FORMATS["jams"].silent)
        annotation = self.observations[place]().annotation(reading.kind, choice.namespace, attrs, account)
        unknown = {other.namespace for other in self.choices if other.namespace not in NAMESPACES}
        for namespace in sorted(unknown):
            wanted = wanted_namespaces(reading.kind, reading.task, reading.namespace)
            if difflib.get_close_matches(namespace, wanted, 1, _ALIKE):
                account.add("namespaces", f"the annotation in the unknown namespace {namespace!r} is not read")
        if account.remarks:
            annotation = replace(annotation, account=account.remarks)
        if reading.kind == "events":
            if reading.selection is None and annotation.labels and not any(annotation.labels):
                reading = replace(reading, select="downbeat")  # null positions are unknown ones
            annotation = select_beats(annotation, reading, self.name)
        elif reading.kind == "text":
            annotation = as_declared(annotation, reading)
        elif choice.namespace in OTHERS:
            return annotation
        elif reading.notation != HARTE:
            annotation = in_harte(annotation, self.name)
        return in_normal_form(annotation, reading.labels)

    def select(self, reading: Reading, annotator: str | int | None = None) -> Annotation:
        """One annotation: by the annotator's id, by its position among the matching ones, or the only match.

        Remedies in messages are those that work.
        """
        return read_advised(partial(self.select_as, annotator=annotator), reading)[0]

    def sole_namespace(self, annotator: str | int | None = None) -> str:
        """The namespace that is meant where none is named: the only one, or the only one that a task reads."""
        chosen = [
            choice
            for choice in self.choices
            if not isinstance(annotator, str) or annotator in ("all", choice.annotator)
        ]
        names = list(dict.fromkeys(choice.namespace for choice in chosen if choice.namespace in NAMESPACES))
        for candidates in (names, [name for name in names if name not in OTHERS]):
            if len(candidates) == 1:
                return candidates[0]
        held = ", ".join(map(str, self.choices))
        if not names:
            message = f"holds no annotation in a namespace that is read; it holds {held or 'none at all'}"
            raise InvalidAnnotationError(message, path=self.name)
        tasks = dict.fromkeys(task for name in names for task in NAMESPACES[name].meant)
        way = f"a task ({', '.join(tasks)}) or " if tasks else ""
        raise InvalidAnnotationError(f"holds {held}: choose {way}a namespace", path=self.name)

    def select_as(self, reading: Reading, annotator: str | int | None = None) -> tuple[Annotation, str]:
        """As `select`, with all remedies in messages, and the digest of the file."""
        fitting = self.fitting(reading)
        what = reading.namespace or reading.task or reading.kind
        if not fitting:
            raise InvalidAnnotationError(describe_absent(self.choices, what), path=self.name)
        chosen = fitting
        if isinstance(annotator, int):
            chosen = fitting[annotator : annotator + 1] if annotator >= 0 else []
        elif annotator is not None:
            chosen = [place for place in fitting if self.choices[place].annotator == annotator]
        if len(chosen) == 1:
            return self.annotation(chosen[0], reading), self.digest
        held = ", ".join(str(self.choices[place]) for place in chosen or fitting)
        if chosen:
            way = "a namespace" if annotator is not None else "an annotator or a namespace"
            message = f"holds {len(chosen)} annotations for {what!r}: {held}; choose {way}"
        elif isinstance(annotator, int):
            message = f"holds no annotation number {annotator}; it holds {held}"
        else:
            known = [self.choices[place].annotator for place in fitting]
            message = f"has no annotator {annotator!r} for {what!r}; {suggest(str(annotator), known)}"
            if annotator == "all":
                message += "; to score all of them, write a pipeline with combine: each, mean or max"
            message += f"{'' if message.endswith('?') else '.'} It holds {held}"
        raise InvalidAnnotationError(message, path=self.name)


@dataclass(frozen=True)
class Observations:
    """Observations of one JAMS annotation as parallel sequences; `confidence` only if needed."""

    time: Float
    duration: Float
    """NaN if missing."""
    values: Sequence[Any]
    confidence: Sequence[Any] = ()
    name: str = "<jams>"
    where: str = "data"
    """Path of the annotation within the file, in messages."""
    extent: tuple[Any, Any, Any] = (None, None, None)
    """Time and duration of the annotation, and length of the track, as they are written."""
    written: Sequence[int] = ()
    """Numbers of the observations in the file; empty: in this order."""
    complete: bool = False
    """True if no duration is missing; False: some may be."""

    def _at(self, item: int) -> str:
        """Path of an observation within the file."""
        return f"{self.where}[{self.written[item] if self.written else item}]"

    def annotation(self, kind: str, namespace: str, attrs: Mapping[str, Attribute], account: Account) -> Annotation:
        """Convert to an annotation of a kind that the namespace can be read as."""
        if kind == "hierarchy":
            return self._hierarchy(attrs, account)
        if kind == "patterns":  # notes by pattern and occurrence, in the order of their numbers
            pattern, occurrence = (self._numbers(f"{key}_id") for key in ("pattern", "occurrence"))
            pitch, order = self._numbers("midi_pitch"), np.lexsort((occurrence, pattern))
            pairs, notes = np.unique(np.column_stack((pattern, occurrence)), axis=0, return_counts=True)
            _, occurrences = np.unique(pairs[:, 0], return_counts=True)
            counts: tuple[Int, Int] = occurrences.astype(np.int64), notes.astype(np.int64)
            onsets: dict[str, Column] = {"onset": self.time[order], "pitch": pitch[order]}
            return Annotation("patterns", onsets, inner_counts=counts, attrs=attrs)
        if kind == "tempo":  # one that is null or NaN is none, as 0 in text
            tempi = [0.0 if value is None or value != value else value for value in self.values]
            tempo: dict[str, Column] = {"tempo": np.array(self._each(tempi, "value"))}
            return Annotation("tempo", {**tempo, **self._strengths("salience", account)}, attrs=attrs)
        if kind in PITCHED:
            return self._pitched(kind, namespace, attrs)
        labels = self._texts(namespace)
        if kind == "labels":
            return Annotation(kind, self._strengths("value", account), labels, attrs=attrs)
        if kind == "key":
            return Annotation(kind, {}, labels, attrs=attrs)
        if kind == "text":
            only_starts = bool(np.isnan(self.duration).all())
            lengths = self.duration if only_starts else self._lengths(np.zeros(len(self.time)), account)
            return Annotation(kind, columns_of(pieces_of(labels, self.time, self.time + lengths)), labels, attrs=attrs)
        columns: dict[str, Column] = {"time": self.time}
        if kind == "intervals":
            lengths = self.duration if self.complete else self._lengths(np.zeros(len(self.time)), account)
            columns = {"start": self.time, "end": _ends_of(self.time, lengths)}
        elif namespace == "beat_position" and self.values:
            held = [value.get("measure") if isinstance(value, Mapping) else None for value in self.values]
            bars = np.array([_number_or_nan(value) for value in held], dtype=np.float64)
            columns |= {} if np.isnan(bars).any() else {"bar": bars}
        return Annotation(kind, columns, labels, attrs=attrs)

    def _texts(self, namespace: str) -> list[str]:
        """The values as labels."""
        values = self.values
        if NAMESPACES[namespace].value == "json":
            texts: list[Any] = []
            for item, value in enumerate(values):
                try:
                    texts.append(msgspec.json.encode(value).decode())
                except (TypeError, ValueError, OverflowError, RecursionError) as error:
                    message = f"{self._at(item)}.value: cannot be written as JSON: {error}"
                    raise InvalidAnnotationError(message, path=self.name) from None
            return texts
        if NAMESPACES[namespace].value == "position":
            values = [value.get("position") if isinstance(value, Mapping) else value for value in values]
        types = set(map(type, values))
        if types == {str}:
            return list(values)
        if types == {int}:  # positions of beats, the most frequent values that are not text
            return list(map(str, values))
        texts = []
        for item, value in enumerate(values):
            if not (value is None or isinstance(value, str | Real)):
                message = f"{self._at(item)}.value: neither a text nor a number: {_shown(value)}"
                raise InvalidAnnotationError(message, path=self.name)
            value = int(value) if isinstance(value, float) and value.is_integer() else value
            texts.append("" if value is None else str(value))
        return texts

    def _lengths(self, level: Float, account: Account) -> Float:
        """The durations; those that are missing last until the next observation of their level, or until the end."""
        missing = np.flatnonzero(np.isnan(self.duration))
        if not len(missing):
            return self.duration
        lengths = self.duration.copy()
        # The end of the annotation, otherwise of the track; NaN if unknown.
        start, duration, last = map(_number_or_nan, self.extent)
        if math.isfinite(own := (0.0 if math.isnan(start) else start) + duration):
            last = own
        for item in missing.tolist():
            later = self.time[(level == level[item]) & (self.time > self.time[item])]
            lengths[item] = (later.min() if len(later) else last) - self.time[item]
            if not lengths[item] > 0:
                message = f"{_MISSING}, and no later observation or end of the annotation says how long it lasts"
                raise InvalidAnnotationError(f"{self._at(item)}.duration: {message}", path=self.name)
        first = f"{self._at(missing[0])}.duration"
        message = f"{counted(len(missing), 'observation')} without a duration (first {first}): until the next one"
        account.add("durations", message, count=len(missing))
        return lengths

    def _hierarchy(self, attrs: Mapping[str, Attribute], account: Account) -> Annotation:
        """Segments grouped by their level, the lowest number first."""
        level = self._numbers("level")
        texts = [value.get("label") for value in self.values]
        order = np.argsort(level, kind="stable")
        _, counts = np.unique(level, return_counts=True)
        time, duration = self.time[order], self._lengths(level, account)[order]
        parts = np.split(np.arange(len(order)), np.cumsum(counts)[:-1]) if len(order) else []
        end = np.concatenate([_ends_of(time[part], duration[part]) for part in parts] or [np.zeros(0)])
        labels = ["" if texts[item] is None else str(texts[item]) for item in order.tolist()]
        return Annotation("hierarchy", {"start": time, "end": end}, labels, (counts.astype(np.int64),), attrs=attrs)

    def _strengths(self, column: str, account: Account) -> dict[str, Column]:
        """The confidences as a column, if every observation has one."""
        strengths = [_number_or_nan(value) for value in self.confidence]
        complete = len(strengths) == len(self.values) and not np.isnan(strengths).any()
        count = int((~np.isnan(strengths)).sum())
        if count and not complete:
            message = f"{counted(count, 'confidence')} not read, since only some observations have one"
            account.add("columns", message, count=count)
        return {column: np.array(strengths, dtype=np.float64)} if complete else {}

    def _pitched(self, kind: str, namespace: str, attrs: Mapping[str, Attribute]) -> Annotation:
        """Notes; one or multiple pitches over time."""
        unit = "MIDI" if NAMESPACES[namespace].value == "midi" else "Hz"
        values = list(self.values)
        for item, value in enumerate(values):
            if isinstance(value, Mapping):  # a point of a contour as one number, negative if unvoiced
                frequency, voiced = value.get("frequency"), value.get("voiced")
                values[item] = number = _number_or_nan(frequency)
                if voiced is False:  # unvoiced points need no frequency, and some trackers write NaN
                    values[item] = 0.0 if frequency is None else -abs(number)
        pitch = np.array(self._each(values, "value"), dtype=np.float64)
        pitch = to_hertz(pitch, kind, unit) + 0.0  # no negative zeros
        if kind == "notes":
            missing = np.flatnonzero(np.isnan(self.duration))
            if len(missing):
                message = f"{self._at(int(missing[0]))}.duration: {_MISSING}, so the note has no end"
                raise InvalidAnnotationError(message, path=self.name)
            columns = {"start": self.time, "end": self.time + self.duration, "pitch": pitch}
            return Annotation(kind, columns, attrs=attrs)
        if kind == "series":
            return Annotation(kind, {"time": self.time, "frequency": pitch}, attrs=attrs)
        frames, owner = np.unique(self.time, return_inverse=True)
        sounding = pitch > 0
        counts = np.bincount(owner[sounding], minlength=len(frames)).astype(np.int64)
        columns = {"time": frames, "frequency": pitch[sounding]}
        return Annotation(kind, columns, inner_counts=(counts,), attrs=attrs)

    def _numbers(self, key: str) -> Float:
        """One field of all values, which are objects."""
        values = [value.get(key) if isinstance(value, Mapping) else None for value in self.values]
        return np.array(self._each(values, f"value.{key}"), dtype=np.float64)

    def _each(self, values: Sequence[Any], what: str) -> list[float]:
        numbers = [_number_or_nan(value) for value in values]
        for item, (number, value) in enumerate(zip(numbers, values, strict=True)):
            if math.isnan(number):
                raise InvalidAnnotationError(f"{self._at(item)}.{what}: not a number: {_shown(value)}", path=self.name)
        return numbers


def _shown(value: Any) -> str:
    """A value for a message: long texts are shortened, integers of many digits are only described.

    Examples
    --------
    >>> _shown("C:maj"), _shown(10**5000)
    ("'C:maj'", 'an integer of more than 4,000 digits')
    """
    try:
        return reprlib.repr(value)
    except ValueError:
        return "an integer of more than 4,000 digits"


def _number_or_nan(value: Any) -> float:
    """A value as a float; NaN if it is not a number or is too large.

    Examples
    --------
    >>> _number_or_nan(3), _number_or_nan("3"), _number_or_nan(10**400)
    (3.0, nan, nan)
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _ends_of(time: Float, duration: Float) -> Float:
    """Ends of observations; an end that differs from the next start only by rounding is set to it."""
    end = time + duration
    touching = np.abs(end[:-1] - time[1:]) < _ROUNDING
    end[:-1][touching] = time[1:][touching]
    return end


class _Header(msgspec.Struct):
    namespace: str = ""
    data: msgspec.Raw = msgspec.Raw(b"")
    annotation_metadata: Any = None
    time: Any = None
    duration: Any = None


class _File(msgspec.Struct):
    annotations: list[_Header]
    file_metadata: Any = None


class _Contour(msgspec.Struct, gc=False):
    frequency: float
    voiced: bool


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


_FILES = msgspec.json.Decoder(_File)
_TIMES = (("time", float), ("duration", float))
# The forms of nearly all observations, of which files hold tens of thousands; others are decoded as `_Observation`.
_TEXTS, _NUMBERS, _CONTOURS = (
    msgspec.json.Decoder(GenericAlias(list, (msgspec.defstruct("Row", [*_TIMES, ("value", type_)], gc=False),)))
    for type_ in (str, float, _Contour)
)
_OBSERVATIONS = msgspec.json.Decoder(list[_Observation] | _Columns)


def _decode_observations(name: str, header: _Header, where: str, length: Any) -> Observations:
    """The observations by time, as the jams package keeps them; those of one time in the order of the file."""
    if not header.data:
        raise InvalidAnnotationError(f"{where}: missing", path=name)
    namespace = NAMESPACES[header.namespace]
    rows: Any = None
    try:
        if namespace.value not in ("tag", "json"):  # the confidence of a tag is its affinity
            numeric = _NUMBERS if namespace.value in ("hz", "midi") else _TEXTS
            with suppress(msgspec.ValidationError):
                rows = (_CONTOURS if namespace.value == "contour" else numeric).decode(header.data)
        complete = rows is not None
        rows = rows if complete else _OBSERVATIONS.decode(header.data)
    except msgspec.ValidationError as error:
        found = _PLACE.match(str(error))
        what, at = (found["what"], found["where"] or "") if found else (str(error), "")
        raise InvalidAnnotationError(f"{where}{at}: {what}", path=name) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # skipped values have not been validated yet
        raise UnreadableError(f"{where}: is not JSON: {error}", path=name) from None
    confidence: Sequence[Any] = ()
    if isinstance(rows, _Columns):
        times, durations, values, confidence = rows.time, rows.duration, rows.value, rows.confidence
    else:
        times, durations, values = ([getattr(row, field) for row in rows] for field in ("time", "duration", "value"))
        if complete and namespace.value == "contour":  # unvoiced points have a negative frequency
            values = [point.frequency if point.voiced else -abs(point.frequency) for point in values]
        if not complete and not {"labels", "tempo"}.isdisjoint(namespace.kinds):
            confidence = [row.confidence for row in rows]
    durations, values = durations or [None] * len(times), values or [None] * len(times)
    if not len(times) == len(durations) == len(values) or len(confidence) not in (0, len(times)):
        sizes = f"{len(times)} times, {len(durations)} durations, {len(values)} values, {len(confidence)} confidences"
        raise InvalidAnnotationError(f"{where}: columns of different lengths: {sizes}", path=name)
    if not complete and None in times:
        raise InvalidAnnotationError(f"{where}[{times.index(None)}].time: {_MISSING}", path=name)
    time, duration = (np.array(column, dtype=np.float64) for column in (times, durations))
    written: list[int] = []
    if (time[1:] < time[:-1]).any():
        order = np.argsort(time, kind="stable")
        time, duration, written = time[order], duration[order], order.tolist()
        values, confidence = ([column[item] for item in written if column] for column in (values, confidence))
    extent = header.time, header.duration, length
    return Observations(time, duration, values, confidence, name, where, extent, written, complete)


def annotators_of(path: str, reading: Reading, name: str) -> list[str]:
    """The annotators of the matching annotations in a JAMS file, in file order."""
    file = open_jams(path, reading.max_bytes, name)
    return [file.choices[place].annotator for place in file.fitting(reading)]


def open_jams(path: str, max_bytes: int, name: str) -> JamsFile:
    """Decode the frame of a JAMS file; the last few files are cached until they change on disk."""
    return _open(path, max_bytes, name, file_stat(path, name))


_open = lru_cache(maxsize=4)(lambda path, max_bytes, name, _: decode_jams(read_bytes(path, max_bytes, name), name))


def decode_jams(data: bytes, name: str) -> JamsFile:
    """Decode the frame of a JAMS file from its bytes."""
    plain, before = data, b""
    if data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        plain = decode(data, name, "utf-8" if data.startswith(codecs.BOM_UTF8) else "utf-16").encode()
    file, reason = None, ""
    while file is None and plain != before:
        before = plain
        try:
            file = _FILES.decode(plain)
        except RecursionError:
            raise UnreadableError("is nested too deeply for JAMS", path=name) from None
        except msgspec.ValidationError as error:
            raise UnreadableError(f"is not a JAMS file: {error}", path=name) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            reason = str(error)
            if b"NaN" in plain or b"Infinity" in plain:  # which Python writes although JSON lacks them, become null
                try:
                    plain = msgspec.json.encode(_load_json(plain, name, parse_constant=lambda _: None))
                except (UnicodeDecodeError, UnicodeEncodeError) as odd:  # lone surrogates cannot be encoded
                    reason = str(odd)
                except RecursionError:
                    raise UnreadableError("is nested too deeply for JAMS", path=name) from None
    if file is None:
        found = _BYTE.search(reason)
        line = plain.count(b"\n", 0, int(found[1]) if found else None) + 1
        if not plain.strip():
            raise UnreadableError("is empty, not JSON", path=name)
        reason = "it ends in the middle" if "truncated" in reason else reason
        raise UnreadableError(f"is not JSON: {reason}", path=name, line=line)
    metadata = [header.annotation_metadata for header in file.annotations]
    decode_header = partial(_decode_observations, name)
    return JamsFile.of(name, digest_of(data), file.annotations, metadata, file.file_metadata, decode_header)


def _load_json(data: bytes, name: str | Path, **options: Any) -> Any:
    """Parse JSON; integers beyond the range of doubles are infinite, as numbers with a fraction are."""
    try:
        return json.loads(data, parse_int=lambda text: (int if len(text) <= _MOST_DIGITS else float)(text), **options)
    except RecursionError:
        raise UnreadableError("is nested too deeply for JAMS", path=name) from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg}", path=name, line=error.lineno) from None


def is_jams(thing: object) -> bool:
    """True for a ``jams.JAMS`` or ``jams.Annotation``, without importing jams.

    Examples
    --------
    >>> is_jams("a.jams")
    False
    """
    names = [(kind.__module__, kind.__name__) for kind in type(thing).__mro__]
    return ("jams.core", "JAMS") in names or ("jams.core", "Annotation") in names


def open_objects(thing: Any) -> JamsFile:
    """The annotations of a ``jams.JAMS`` object, or of a ``jams.Annotation``."""
    annotations = [thing] if hasattr(thing, "namespace") else list(thing.annotations)
    annotators = [annotation.annotation_metadata.annotator for annotation in annotations]
    metadata = [{"annotator": {key: who[key] for key in ("id", "name") if key in who}} for who in annotators]
    about = getattr(thing, "file_metadata", None)
    held = None if about is None else vars(about)
    return JamsFile.of("<jams>", "", annotations, metadata, held, _observations_in)


def _observations_in(annotation: Any, where: str, length: Any) -> Observations:
    rows = list(annotation.data)
    for name in ("time", "duration"):
        for item, row in enumerate(rows):
            value = getattr(row, name)
            missing = value is None or value != value
            if not (isinstance(value, Real) or value is None) or (missing and name == "time"):
                message = f"{where}[{item}].{name}: {_MISSING}: {_shown(value)}"
                raise InvalidAnnotationError(message, path="<jams>")
    time = np.array([row.time for row in rows], dtype=np.float64)
    duration = np.array([row.duration for row in rows], dtype=np.float64)
    values, confidence = [row.value for row in rows], [row.confidence for row in rows]
    extent = annotation.time, annotation.duration, length
    return Observations(time, duration, values, confidence, where=where, extent=extent)


def schema_problems(path: str | Path, max_bytes: int = MAX_BYTES) -> list[Problem]:
    """Violations of the JAMS schema or of the schemas of namespaces, such as at ``annotations[0].data[12].value``."""
    try:
        document = _load_json(read_bytes(path, max_bytes), path)
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not JSON: {error}", path=path) from None
    import jams  # takes seconds, and reports nothing of what is no JSON

    annotations = document.get("annotations") if isinstance(document, Mapping) else None
    held = annotations if isinstance(annotations, list) else []
    # Observations are checked against their namespace below; here a single message would list all of them.
    frame = [
        {**annotation, "data": []} if isinstance(annotation, Mapping) and "data" in annotation else annotation
        for annotation in held
    ]
    document = {**document, "annotations": frame} if held else document
    checks: list[tuple[Any, Any, str]] = [(document, jams.schema.JAMS_SCHEMA, "")]
    for index, one in enumerate(held):
        if not isinstance(one, Mapping) or "data" not in one or not isinstance(one.get("namespace"), str):
            continue
        data = one["data"]
        if isinstance(data, Mapping) and all(isinstance(column, list) for column in data.values()):
            data = [dict(zip(data, values, strict=False)) for values in zip(*data.values(), strict=False)]
        checks.append((data, one["namespace"], f"annotations[{index}]"))
    problems = []
    for instance, schema, where in checks:
        if isinstance(schema, str):
            try:
                schema, where = jams.schema.namespace_array(schema), f"{where}.data"
            except jams.NamespaceError:
                problems.append(Problem(f"{where}.namespace", f"unknown to JAMS: {schema!r}"))
                continue
        for breach in jams.schema.VALIDATOR.evolve(schema=schema).iter_errors(instance):
            place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in breach.absolute_path)
            text = breach.message if len(breach.message) < 200 else f"violates the rule {breach.validator!r}"
            text = f"not a valid value: {breach.instance!r}" if breach.validator == "pattern" else text
            problems.append(Problem((where + place).lstrip("."), text))
    return problems
