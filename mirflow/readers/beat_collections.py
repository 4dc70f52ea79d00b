"""Collections of beats, in some of whose files beats have positions in the bar and in others not.

Without a selection, the task downbeat reads the downbeats of a file with positions, and all times of one without. In a
collection in which others have positions, those times are beats of which nothing is known, and the file is refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import TypeVar

from ..annotations.source import Source
from ..errors import AnnotationError
from .content import decode, open_file
from .delimited import find_layout, find_separator, first_row
from .formats import FORMATS
from .objects import ObjectSource
from .options import Reading
from .sources import FileSource, SelectedSource, source_at
from .tables.table import TableSource

_HEAD = 4096
"""Bytes of the beginning of a file that hold its first row."""
_Place = TypeVar("_Place", bound=Hashable)


def without_positions(sources: Iterable[tuple[_Place, Source]]) -> dict[_Place, Source]:
    """The sources without positions among those of which others have them, as sources that refuse to be read.

    They are text files (also as paths among objects), tracks of tables and entries of packs; JAMS files without
    positions are refused anyway.

    `sources` (iterable of (place, Source)): the references, or the estimates of one system. Returns empty unless
    downbeats are chosen by positions where a file has them, and some files have them.
    """
    bare: dict[_Place, Source] = {}
    some = False
    for place, source in sources:
        if isinstance(source, ObjectSource) and isinstance(source.thing, str | PathLike):
            source = source_at(source.thing, Reading.of(source.task, **(source.options or {})))
        if not isinstance(source, FileSource | TableSource | SelectedSource) or source.reading.selection is not None:
            continue
        if isinstance(source, FileSource):
            # Whether the first row has a position; None for other formats and files that cannot be read.
            held: bool | None = None
            reading, format = source.reading, source.reading.format_of(source.path)
            if reading.kind != "events" or format not in FORMATS or FORMATS[format].parser or format == "jams":
                continue
            with suppress(AnnotationError, OSError):
                with open_file(source.path, source.name) as file:
                    data = file.read(_HEAD) or b""
                data = data[: data.rfind(b"\n")] if len(data) == _HEAD else data
                text = decode(data, source.path, reading.delimited.encoding)
                lines = text.split("\n")
                start = first_row(lines, reading.delimited.comment)
                if start < len(lines):
                    separator = find_separator(text, format, reading.delimited)
                    layout = find_layout(lines[start], start + 1, reading, separator, source.path)
                    column, header = layout.places.get("label", -1), layout.header
                    held = column >= 0 and (header is not None or column < len(layout.split(lines[start])))
        else:
            try:
                every = replace(source, reading=replace(source.reading, select="all"))
                annotation = every.read()[0] if source.reading.kind == "events" else None
            except (AnnotationError, OSError):
                annotation = None
            held = any(annotation.labels or ()) if annotation is not None and len(annotation) else None
        some |= held is True
        if held is False:
            bare[place] = replace(source, reading=replace(source.reading, select="downbeat"))
    return bare if some else {}
