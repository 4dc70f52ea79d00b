"""Files as their formats see them: tables, lines, trees of JSON, elements of XML, and tracks of MIDI."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mido


@dataclass(frozen=True)
class Document:
    """The content of a file."""

    def data(self) -> bytes:
        """The bytes of the file."""
        return self.text().encode()

    def text(self) -> str:
        """The text of the file."""
        raise NotImplementedError


@dataclass(frozen=True)
class Table(Document):
    """Rows of fields, perhaps below a header."""

    rows: tuple[tuple[str, ...], ...]
    separator: str = "\t"
    header: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """What the columns hold, if there is no header either."""
    quoted: bool = False
    """Whether all texts are in quotes."""
    ragged: bool = False
    """Whether an empty field means that nothing is there."""
    unread: tuple[int, ...] = ()
    """Columns that the format leaves out by declaration."""
    usual: int = 0
    """Columns that rows may have; numbers in those without a name are left out by declaration, such as confidences."""

    def text(self) -> str:
        lines = [*([self.header] if self.header else []), *self.rows]
        if self.separator != "," and not self.quoted:
            return "".join(self.separator.join(row) + "\n" for row in lines)
        if self.quoted:
            return "".join(self.separator.join(map(_quoted, row)) + "\n" for row in lines)
        held = io.StringIO()
        csv.writer(held, lineterminator="\n").writerows(lines)
        return held.getvalue()

    def with_column(self, place: int, heading: str, values: Sequence[str]) -> Table:
        """The table with another column."""
        rows = tuple((*row[:place], value, *row[place:]) for row, value in zip(self.rows, values, strict=True))
        names = (*self.names[:place], heading, *self.names[place:])
        header = (*self.header[:place], heading, *self.header[place:]) if self.header else ()
        return replace(self, rows=rows, header=header, names=names)

    def with_value(self, row: int, place: int, value: str) -> Table:
        """The table with another value."""
        fields = (*self.rows[row][:place], value, *self.rows[row][place + 1 :])
        return replace(self, rows=(*self.rows[:row], fields, *self.rows[row + 1 :]))


def _quoted(text: str) -> str:
    return text if is_number(text) else f'"{text}"'


def is_number(text: str) -> bool:
    """True if a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Lines(Document):
    """Lines of any other text."""

    lines: tuple[str, ...]
    item: str = ""
    """Form of the lines that hold items, to repeat one of them; empty: none does by itself."""

    @classmethod
    def of(cls, text: str, item: str = "") -> Lines:
        """The lines of a text."""
        return cls(tuple(text.strip("\n").split("\n")), item)

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(frozen=True)
class Tree(Document):
    """JSON."""

    root: Any
    read: tuple[str, ...] = ("time", "duration", "value")
    """Fields of an observation that its task needs."""

    def text(self) -> str:
        return json.dumps(self.root, ensure_ascii=False)


@dataclass(frozen=True)
class Markup(Document):
    """XML, and the names of the elements that hold its items and their containers."""

    source: str
    item: str
    container: str

    def text(self) -> str:
        return self.source

    def root(self) -> ElementTree.Element:
        """Its elements, to be changed."""
        return ElementTree.fromstring(self.source)

    def changed(self, root: ElementTree.Element) -> Markup:
        """The document of other elements."""
        text = ElementTree.tostring(root, encoding="unicode")
        return replace(self, source=f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


@dataclass(frozen=True)
class Midi(Document):
    """Tracks of messages."""

    tracks: tuple[tuple[Any, ...], ...]
    division: int = 100
    holds_notes: bool = True
    """Whether its notes are read; otherwise its pedals."""
    performed: bool = True
    """Whether pedals may extend its notes, unlike those of a score."""

    def data(self) -> bytes:
        file, held = mido.MidiFile(type=1, ticks_per_beat=self.division), io.BytesIO()
        file.tracks.extend(mido.MidiTrack(message.copy() for message in track) for track in self.tracks)
        file.save(file=held)
        return held.getvalue()


@dataclass(frozen=True)
class Example:
    """A valid file of a task."""

    format: str
    task: str
    document: Document
    options: tuple[tuple[str, Any], ...] = ()
    """Options of reading."""
    name: str = ""
    """What is special about it."""
    keyed: bool = False
    """Whether it is a table of many tracks."""
    suffix: str = ""

    @property
    def id(self) -> str:
        """Its name among all examples."""
        return "-".join(filter(None, (self.format, self.task, self.name)))

    @property
    def reading(self) -> Mapping[str, Any]:
        """The options by name."""
        return dict(self.options)
