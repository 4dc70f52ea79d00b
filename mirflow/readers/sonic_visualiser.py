"""Layers of Sonic Visualiser: notes, pitch over time, and instants, from ``.svl`` files and compressed sessions.

The XML is parsed as a stream of elements. Documents that declare entities are refused, and external resources are never
loaded.
"""

from __future__ import annotations

import bz2
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from xml.parsers import expat

import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError, UnreadableError, counted
from ..ragged import Column
from ..theory.pitch import to_hertz
from .formats import FORMATS
from .options import Reading

_KINDS = {"events": "instants", "series": "values over time", "notes": "notes"}
_DIMENSIONS = {"1": "events", "2": "series", "3": "notes"}
"""The kind of layers by their dimensions; others, such as regions and images, are not supported."""
_NEEDED = {"events": ("frame",), "series": ("frame", "value"), "notes": ("frame", "value", "duration")}
"""Attributes of points that are numbers."""
_LOUDEST = 127.0  # a level of 1 is this MIDI velocity
MOST_TIMES = 100
"""Largest ratio of a decompressed layer to its file; it is 10 for layers of random points."""
_SMALL = 2**20
_Point = tuple[dict[str, str], int]
"""The attributes of a point, and its line."""


def parse_svl(data: bytes, reading: Reading, format: str = "svl", name: str | Path = "<bytes>") -> Annotation:
    """Read the layer in the bytes of a Sonic Visualiser file, perhaps compressed with bzip2 as sessions are.

    Kinds are ``events`` (instants), ``series`` (values over time, in Hz) and ``notes``, sorted by time. Gaps in a pitch
    track on a grid are unvoiced: a 0 is inserted one step after the point before the gap and one step before the point
    after it. Levels of notes become velocities from 0 to 127.
    """
    if reading.kind not in _KINDS:
        held = ", ".join(_KINDS)
        raise InvalidAnnotationError(f"Sonic Visualiser layers can be read as {held}, not as {reading.kind}", path=name)
    if data.startswith(b"BZh"):
        stream = bz2.BZ2Decompressor()
        most = min(reading.max_bytes, max(MOST_TIMES * len(data), _SMALL))
        try:
            data = stream.decompress(data, max_length=most)
        except (OSError, ValueError) as error:
            raise UnreadableError(f"cannot be decompressed: {error}", path=name) from None
        if not stream.eof:
            reason = " (max_bytes raises the limit)" if most == reading.max_bytes else f", {MOST_TIMES} times its size"
            limit = f"too large: more than {most / 2**20:.0f} MB when decompressed{reason}"
            raise UnreadableError(limit if len(data) >= most else "is truncated", path=name)
    layers, loose = _parse(data, name)
    fitting = [layer for layer in layers if layer.kind == reading.kind]
    if len(fitting) != 1:
        what = _KINDS[reading.kind]
        named = (f"{_KINDS[layer.kind]} {layer.model.get('name', '')!r}" for layer in layers)
        there = ", ".join(named) or "no supported layer"
        raise InvalidAnnotationError(f"holds {len(fitting)} layers of {what}, not one; it holds {there}", path=name)
    layer, account = fitting[0], Account(str(name), FORMATS["svl"].silent)
    if loose:
        lines = [line for _, line in loose]
        message = f"{counted(len(lines), 'point')} of no layer not read"
        account.add("rows", message, line=lines[0], count=len(lines))
    levels = [line for point, line in layer.points if "level" in point]
    if reading.kind == "notes" and 0 < len(levels) < len(layer.points):
        message = "levels are not read as velocities, since not all notes have one"
        account.add("columns", message, line=levels[0], count=len(levels))
    with np.errstate(over="ignore"):  # infinite times are reported when they are scored
        return replace(layer.annotation(reading.kind, name), account=account.remarks)


@dataclass
class _Layer:
    """One model of a document and the points of its dataset, each with its line."""

    kind: str
    model: Mapping[str, str]
    points: list[_Point]

    def annotation(self, kind: str, name: str | Path) -> Annotation:
        """Its points, sorted by time."""
        rate = _number(self.model, "sampleRate", None, name)
        if rate <= 0:
            raise InvalidAnnotationError(f"sampleRate is not above 0: {rate:g}", path=name)
        self.points.sort(key=lambda point: _number(point[0], "frame", point[1], name))
        lines = [line for _, line in self.points]
        numbers = {
            key: np.array([_number(point, key, line, name) for point, line in self.points], dtype=np.float64)
            for key in _NEEDED[kind]
        }
        frame = numbers["frame"]
        attrs: dict[str, Attribute] = {"source": str(name)}
        labels = [point.get("label", "") for point, _ in self.points]
        if kind == "events":
            return Annotation(kind, {"time": frame / rate}, labels if any(labels) else None, lines=lines, attrs=attrs)
        value = numbers["value"]
        if kind == "series":
            resolution = _number({"resolution": "1", **self.model}, "resolution", None, name)
            # Zeros where the grid of a series has no points; a resolution of 1 means no grid.
            before = np.flatnonzero(np.diff(frame) > 1.5 * resolution) if resolution > 1 else np.zeros(0, np.int64)
            leaving, entering = frame[before] + resolution, frame[before + 1] - resolution
            wide = entering > leaving
            place, added = np.append(before, before[wide]) + 1, np.append(leaving, entering[wide])
            order = np.argsort(added, kind="stable")
            place = place[order]
            lines = np.insert(lines, place, np.array(lines, dtype=np.int64)[place - 1]).tolist()
            frame, value = np.insert(frame, place, added[order]), np.insert(value, place, 0.0)
            return Annotation(kind, {"time": frame / rate, "frequency": value}, lines=lines, attrs=attrs)
        unit = "Hz" if self.model.get("units", "").lower() == "hz" else "MIDI"
        columns: dict[str, Column] = {
            "start": frame / rate,
            "end": (frame + numbers["duration"]) / rate,
            "pitch": to_hertz(value, "notes", unit),
        }
        if self.points and all("level" in point for point, _ in self.points):
            levels = [_number(point, "level", line, name) for point, line in self.points]
            columns["velocity"] = np.array(levels, dtype=np.float64) * _LOUDEST
        return Annotation(kind, columns, labels if any(labels) else None, lines=lines, attrs=attrs)


def _number(attributes: Mapping[str, str], key: str, line: int | None, name: str | Path) -> float:
    text = attributes.get(key)
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return number
    what = "missing" if text is None else f"not a number: {text!r}"
    raise InvalidAnnotationError(f"{key} is {what}", path=name, line=line)


def _parse(text: bytes, name: str | Path) -> tuple[list[_Layer], list[_Point]]:
    """The layers of XML that can be read, and the points that no model refers to."""
    models: list[dict[str, str]] = []
    points: dict[str, list[_Point]] = {}
    current = points.setdefault("", [])  # of no dataset
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal current
        if tag == "point":
            current.append((attributes, parser.CurrentLineNumber))
        elif tag == "model":
            models.append(attributes)
        elif tag == "dataset":
            current = points.setdefault(attributes.get("id", ""), [])

    def refuse(*_: object) -> None:
        raise UnreadableError("declares XML entities, which Sonic Visualiser files do not need", path=name)

    parser.StartElementHandler = start
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise UnreadableError(f"is not a Sonic Visualiser file: {what}", path=name, line=error.lineno) from None
    except (LookupError, ValueError) as error:  # raised for the declared encoding
        raise UnreadableError(f"cannot be decoded: {error}", path=name) from None
    layers = [
        _Layer(_DIMENSIONS[model.get("dimensions", "")], model, points.get(model.get("dataset", ""), []))
        for model in models
        if model.get("subtype", "note") in ("note", "flexinote") and model.get("dimensions", "") in _DIMENSIONS
    ]
    used = {model.get("dataset", "") for model in models}
    loose = [point for dataset, several in points.items() if dataset not in used for point in several]
    return layers, loose
