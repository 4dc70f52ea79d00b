"""Readers: from files to annotations, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..annotations.annotation import Annotation
from ..errors import AnnotationError, InvalidAnnotationError, suggest
from .audio_files import StemsSource, stems_in
from .hierarchies import LevelsSource, has_levels, levels_at
from .jams import annotators_of, list_choices, open_jams
from .jams_objects import all_from_jams, from_jams, is_jams, schema_problems, to_jams
from .namespaces import NAMESPACES, Namespace
from .options import FORMATS, MAX_BYTES, DelimitedOptions, Exclude, Instrument, Reading, Select
from .patterns import Pattern
from .sources import FileSource, Source

__all__ = [
    "FORMATS",
    "NAMESPACES",
    "DelimitedOptions",
    "FileSource",
    "LevelsSource",
    "Namespace",
    "Pattern",
    "Reading",
    "Source",
    "StemsSource",
    "from_jams",
    "is_jams",
    "list_annotators",
    "read",
    "read_all",
    "schema_problems",
    "to_jams",
]

_DELIMITED = tuple(field.name for field in fields(DelimitedOptions))
_OPTIONS = (
    *("format", "namespace", "max_bytes", "select", "levels", "drums", "instrument", "sources", "exclude"),
    *("exclude_same", *_DELIMITED),
)
_BESIDE = (
    "annotator",
    "annotators",
    "classes",
    "convention",
    "grid",
    "kind",
    "metrics",
    "overwrite",
    "task",
    "validate",
)
"""What else those take that pass options of reading on, so that a misspelt one may be meant."""


def read(
    source: str | os.PathLike[str] | Any,
    *,
    task: str | None = None,
    kind: str | None = None,
    namespace: str | None = None,
    annotator: str | int | None = None,
    format: str | None = None,
    validate: bool = False,
    max_bytes: int = MAX_BYTES,
    columns: Mapping[str, int | str] | None = None,
    select: Select | None = None,
    levels: Sequence[str] = (),
    drums: bool = False,
    instrument: Instrument = "program",
    sources: Sequence[str] = (),
    exclude: Exclude = "self",
    exclude_same: str | int | None = None,
    **delimited: Any,
) -> Annotation:
    """One annotation from a file or a jams object.

    Parameters
    ----------
    source : path, list of paths, jams.JAMS or jams.Annotation
        A path with ``{level}`` stands for one file for each of `levels`. Of audio also a path with ``{source}``, a
        folder or a list of files: one for each source.
    task, kind, namespace : str or None
        What it holds; one of them is needed. A task chooses among the namespaces that serve it.
    annotator : str, int or None
        Which annotation of a JAMS file: an annotator's id, a position among those that fit, or None where one fits.
    format : str or None
        ``jams``, ``lab``, ``txt``, ``csv``, ``tsv``, ``svl`` or ``midi``; None: from the suffix.
    validate : bool
        Check a JAMS file against the schemas of the jams package first.
    max_bytes : int
        Larger files are refused.
    select : {"all", "downbeat", "bar_start", "bar_end"} or None
        Which of the beats of a file to take: see :mod:`mirflow.readers.positions`.
    levels : sequence of str
        Of a hierarchy, from the coarsest to the finest.
    drums : bool
        Whether the notes of a MIDI file's percussion are taken too.
    instrument : {"program", "track"}
        What labels the notes of a MIDI file.
    sources : sequence of str
        Of audio, the sources to take from several files, in this order; empty: all, sorted by name.
    exclude : {"self", "none"}
        Of matrices and groups of a retrieval task, whether the query itself is left out of its ranking.
    exclude_same : str, int or None
        Of groups, the column of which items that agree with the query's own are left out of its ranking.
    columns, **delimited
        Layout of delimited text: see :class:`mirflow.readers.DelimitedOptions`.

    Returns
    -------
    Annotation

    Raises
    ------
    UnreadableError
        If there is no such file, or it is not in its format.
    InvalidAnnotationError
        If its rows cannot be understood, or it holds no (or more than one) such annotation.
    """
    options: dict[str, Any] = {
        "columns": columns,
        "select": select,
        "levels": levels,
        "drums": drums,
        "instrument": instrument,
    }
    options |= {"sources": sources, "exclude": exclude, "exclude_same": exclude_same, **delimited}
    reading = make_reading(task, kind=kind, namespace=namespace, format=format, max_bytes=max_bytes, **options)
    if is_jams(source):
        return from_jams(source, reading, annotator)
    if reading.kind == "audio":
        return stems_in(source, reading).open()
    path = os.fspath(source)
    if has_levels(path, reading):
        return levels_at(path, reading).read()[0]
    if validate and _is_jams_file(path, reading):
        _demand_valid(path, max_bytes)
    annotation, _ = FileSource(path, reading, annotator).read()
    return annotation


def read_all(
    source: str | os.PathLike[str] | Any,
    *,
    task: str | None = None,
    kind: str | None = None,
    namespace: str | None = None,
    format: str | None = None,
    max_bytes: int = MAX_BYTES,
    **options: Any,
) -> list[Annotation]:
    """Every annotation of a file that fits, in its order; their ``annotator`` and ``namespace`` tell them apart.

    Takes the parameters of :func:`read`. A delimited file holds exactly one.
    """
    reading = make_reading(task, kind=kind, namespace=namespace, format=format, max_bytes=max_bytes, **options)
    if is_jams(source):
        return all_from_jams(source, reading)
    if reading.kind == "audio":
        return [stems_in(source, reading).open()]
    path = os.fspath(source)
    if has_levels(path, reading):
        return [levels_at(path, reading).read()[0]]
    if not _is_jams_file(path, reading):
        return [FileSource(path, reading).read()[0]]
    file = open_jams(path, reading.max_bytes, path)
    return [file.annotation(place, reading) for place in list_choices(file.choices, reading)]


def list_annotators(
    path: str | os.PathLike[str], *, task: str | None = None, namespace: str | None = None
) -> list[str]:
    """Names of the annotators of a JAMS file for a task or namespace, in the file's order."""
    return annotators_of(os.fspath(path), Reading.of(task=task, namespace=namespace), os.fspath(path))


def make_reading(
    task: str | None = None,
    *,
    kind: str | None = None,
    namespace: str | None = None,
    format: str | None = None,
    max_bytes: int = MAX_BYTES,
    columns: Mapping[str, int | str] | None = None,
    select: Select | None = None,
    levels: Sequence[str] = (),
    drums: bool = False,
    instrument: Instrument = "program",
    sources: Sequence[str] = (),
    exclude: Exclude = "self",
    exclude_same: str | int | None = None,
    **delimited: Any,
) -> Reading:
    """A reading from the options of `read`.

    Raises
    ------
    AnnotationError
        For an option that there is not.
    """
    for name in delimited:
        if name not in _DELIMITED:
            phrase = suggest(name, [*_OPTIONS, *_BESIDE])
            raise AnnotationError(
                f"not an option of reading: {name!r}; {phrase if phrase.endswith('?') else suggest(name, _OPTIONS)}"
            )
    layout = DelimitedOptions(columns=tuple((columns or {}).items()), **delimited)
    return Reading.of(
        task=task,
        kind=kind,
        namespace=namespace,
        format=format,
        delimited=layout,
        max_bytes=max_bytes,
        select=select,
        levels=levels,
        drums=drums,
        instrument=instrument,
        sources=sources,
        exclude=exclude,
        exclude_same=exclude_same,
    )


def _is_jams_file(path: str, reading: Reading) -> bool:
    return reading.format_of(Path(path).suffix) == "jams"


def _demand_valid(path: str, max_bytes: int) -> None:
    problems = schema_problems(path, max_bytes)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InvalidAnnotationError(f"breaks its JAMS schema: {problems[0]}{more}", path=path)
