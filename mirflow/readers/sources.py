"""Sources: where an annotation comes from, small enough to be sent to a worker and read there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from ..annotations.annotation import Annotation, stack_levels
from ..errors import InvalidAnnotationError
from .columns import (
    demand_tag_numbers,
    has_numbers,
    parse_key,
    parse_listed,
    parse_motifs,
    parse_multipitch,
    parse_pitched,
    parse_tempo,
)
from .content import decode, demand_no_json, digest_of, file_stat, read_bytes
from .delimited import find_separator, parse_delimited, parse_rows
from .options import TABLES, Reading, Select
from .positions import select_beats
from .tables.rankings import parse_ranking


@dataclass(frozen=True, eq=False)
class HeldSource:
    """A source whose annotation needs no reading.

    Parameters
    ----------
    annotation : Annotation
    label : str
        What to call it in messages.

    Examples
    --------
    >>> import numpy as np
    >>> source = HeldSource(Annotation("events", {"time": np.array([0.5])}), "reference")
    >>> source.read()[0].columns["time"].tolist()
    [0.5]
    """

    annotation: Annotation
    label: str

    def stat(self) -> tuple[int, int]:
        """Nothing is known of its age."""
        return 0, 0

    def read(self) -> tuple[Annotation, str]:
        """The annotation; it has no bytes to digest."""
        return self.annotation, ""


_LAYOUTS = {"all": "", "bar_start": "bars", "bar_end": "bars"}


def parse_file(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """An annotation from the bytes of a file of any format but JAMS.

    Raises
    ------
    UnreadableError
        If the bytes are not of the format.
    InvalidAnnotationError
        If they cannot be understood, or hold something else than what is to be read.
    """
    if format in TABLES:
        raise InvalidAnnotationError(f"{format} files hold many tracks: load_collection reads them", path=name)
    if format == "midi":
        from .midi import parse_midi

        return parse_midi(data, reading, name)
    if format == "svl":
        from .sonic_visualiser import parse_svl

        return parse_svl(data, reading, name)
    return parse_text(data, reading, format, name)


def parse_text(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """An annotation from the bytes of a text file.

    Parameters
    ----------
    data : bytes
    reading : Reading
    format : {"lab", "txt", "csv", "tsv"}
    name : path
        What to call the file in messages, and its ``source``.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        If they cannot be understood, with the line.
    """
    options = reading.delimited
    demand_no_json(data, name)
    if reading.kind == "intervals":
        return parse_delimited(data, "intervals", format, options, name, task=reading.task)
    if reading.kind == "events":
        layout = _LAYOUTS.get(reading.selection or "", "positions") if not options.columns else ""
        layout = "bars" if "bar" in dict(options.columns) else layout
        beats = parse_delimited(data, "events", format, options, name, layout=layout, task=reading.task)
        return select_beats(beats, reading.selection, name)
    if reading.kind in ("notes", "series"):
        return parse_pitched(data, reading.kind, format, options, name, task=reading.task)
    if reading.kind in ("judgements", "following"):
        return parse_listed(data, reading.kind, format, options, name)
    if reading.kind == "ranking":
        return parse_ranking(data, format, options, name)
    if reading.kind == "labels":
        text = decode(data, name, options.encoding)
        separator, attrs = find_separator(text, format, options), {"source": str(name)}
        numbered = has_numbers(reading)
        labels = parse_rows(text, "labels", separator, options, attrs, name, task=reading.task, numbered=numbered)
        return demand_tag_numbers(labels, name)
    if reading.kind == "multipitch":
        return parse_multipitch(data, format, options, name)
    if reading.kind == "patterns":
        return parse_motifs(data, options, name)
    if reading.kind == "hierarchy":
        return stack_levels([parse_delimited(data, "intervals", format, options, name, task=reading.task)])
    return parse_key(data, options, name) if reading.kind == "key" else parse_tempo(data, options, name)


@runtime_checkable
class Source(Protocol):
    """One annotation that can be read: a file, an annotator of a file, an entry of a pack.

    Sources are immutable, hashable and picklable.
    """

    @property
    def label(self) -> str:
        """What to call it in messages; equal for two sources exactly if they are the same annotation."""
        ...

    def stat(self) -> tuple[int, int]:
        """Size in bytes and time of modification in ns, as they were when it was found.

        Raises :class:`mirflow.errors.UnreadableError` if it is gone.
        """
        ...

    def read(self) -> tuple[Annotation, str]:
        """The annotation, and the digest of the bytes that it was read from.

        Raises :class:`mirflow.errors.UnreadableError` or :class:`mirflow.errors.InvalidAnnotationError`.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileSource:
    """An annotation in a file.

    Parameters
    ----------
    path : str
        Where it is; absolute if other processes are to read it.
    reading : Reading
    annotator : str, int or None
        Which annotation of a JAMS file: an annotator's id, a position among those that fit, or None where one fits.
    name : str
        What to call the file in messages; empty: its path.
    found : (int, int) or None
        Size and time of modification, where the listing of its folder told them.

    Examples
    --------
    >>> source = FileSource("/data/refs/a.lab", Reading.of(task="chord"), name="refs/a.lab")
    >>> source.label
    'refs/a.lab'
    """

    path: str
    reading: Reading
    annotator: str | int | None = None
    name: str = ""
    found: tuple[int, int] | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """The file's name, with the annotator in brackets."""
        name = self.name or self.path
        return name if self.annotator is None else f"{name} [{self.annotator}]"

    def stat(self) -> tuple[int, int]:
        """Size in bytes and time of modification in ns, as they were when it was found."""
        if self.found is not None:
            return self.found
        return file_stat(self.path, self.name)

    def read(self) -> tuple[Annotation, str]:
        """The annotation and the digest of the file's bytes, which are read once."""
        name = self.name or self.path
        format = self.reading.format_of(self.path.rpartition(".")[2])
        if format == "jams":
            from .jams import read_jams

            return read_jams(self.path, self.reading, self.annotator, name)
        data = read_bytes(self.path, self.reading.max_bytes, name)
        return parse_file(data, self.reading, format, name), digest_of(data)


@dataclass(frozen=True, slots=True)
class SelectedSource:
    """Some of the beats of another source, such as an entry of a pack.

    Parameters
    ----------
    source : Source
    select : {"downbeat", "bar_start", "bar_end"} or None
        See :mod:`mirflow.readers.positions`.
    """

    source: Source
    select: Select | None

    @property
    def label(self) -> str:
        """The name of the other source."""
        return self.source.label

    def stat(self) -> tuple[int, int]:
        """That of the other source."""
        return self.source.stat()

    def read(self) -> tuple[Annotation, str]:
        """The beats that are meant, and the digest of all."""
        annotation, digest = self.source.read()
        return select_beats(annotation, self.select, self.label), digest


def as_asked(source: Source, reading: Reading) -> Source:
    """A source of whole annotations as one of what is to be read: of the selected beats, where some are."""
    if reading.kind != "events" or reading.selection == "all":
        return source
    return SelectedSource(source, reading.selection)
