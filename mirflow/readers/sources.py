"""Sources: where an annotation comes from, small enough to be sent to a worker and read there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from .content import demand_no_json, digest_of, file_stat, read_bytes
from .delimited import parse_delimited
from .options import TABLES, Reading, Select
from .positions import select_beats
from .single_layout import PARSERS


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


def parse_file(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """An annotation from the bytes of a file of any format but JAMS.

    Raises
    ------
    UnreadableError
        If the bytes are not of the format.
    InvalidAnnotationError
        If they cannot be understood, or hold something else than what is to be read; of text with the line.
    """
    if format in TABLES:
        raise InvalidAnnotationError(f"{format} files hold many tracks: load_collection reads them", path=name)
    if format == "midi":
        from .midi import parse_midi

        return parse_midi(data, reading, name)
    if format == "svl":
        from .sonic_visualiser import parse_svl

        return parse_svl(data, reading, name)
    demand_no_json(data, name)
    return PARSERS.get(reading.kind, parse_delimited)(data, reading, format, name)


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
