"""Reading one file, or everything that fits in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..annotations.annotation import Annotation
from ..errors import AnnotationError, InvalidAnnotationError
from .jams import annotators_of, open_jams
from .jams_objects import all_from_jams, from_jams, is_jams
from .options import MAX_BYTES, DelimitedOptions, Reading
from .selection import list_choices
from .sources import FileSource
from .validate_jams import schema_problems


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
    **delimited: Any,
) -> Annotation:
    """One annotation from a file or a jams object.

    Parameters
    ----------
    source : path, jams.JAMS or jams.Annotation
    task, kind, namespace : str or None
        What it holds; one of them is needed. A task chooses among the namespaces that serve it.
    annotator : str, int or None
        Which annotation of a JAMS file: an annotator's id, a position among those that fit, or None where one fits.
    format : str or None
        ``jams``, ``lab``, ``txt``, ``csv`` or ``tsv``; None: from the suffix.
    validate : bool
        Check a JAMS file against the schemas of the jams package first.
    max_bytes : int
        Larger files are refused.
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
    reading = _reading(task, kind, namespace, format, max_bytes, columns, delimited)
    if is_jams(source):
        return from_jams(source, reading, annotator)
    path = os.fspath(source)
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
    columns: Mapping[str, int | str] | None = None,
    **delimited: Any,
) -> list[Annotation]:
    """Every annotation of a file that fits, in its order; their ``annotator`` and ``namespace`` tell them apart.

    Takes the parameters of :func:`read`. A delimited file holds exactly one.
    """
    reading = _reading(task, kind, namespace, format, max_bytes, columns, delimited)
    if is_jams(source):
        return all_from_jams(source, reading)
    path = os.fspath(source)
    if not _is_jams_file(path, reading):
        return [FileSource(path, reading).read()[0]]
    file = open_jams(path, reading.max_bytes, path)
    return [file.annotation(place, reading.kind) for place in list_choices(file.choices, reading)]


def list_annotators(
    path: str | os.PathLike[str], *, task: str | None = None, namespace: str | None = None
) -> list[str]:
    """Names of the annotators of a JAMS file for a task or namespace, in the file's order."""
    return annotators_of(os.fspath(path), Reading.of(task=task, namespace=namespace), os.fspath(path))


def _reading(
    task: str | None,
    kind: str | None,
    namespace: str | None,
    format: str | None,
    max_bytes: int,
    columns: Mapping[str, int | str] | None,
    delimited: Mapping[str, Any],
) -> Reading:
    try:
        options = DelimitedOptions(columns=tuple((columns or {}).items()), **delimited)
    except TypeError as error:
        raise AnnotationError(f"not an option of delimited text: {str(error).rpartition(' ')[2]}") from None
    return Reading.of(task=task, kind=kind, namespace=namespace, format=format, delimited=options, max_bytes=max_bytes)


def _is_jams_file(path: str, reading: Reading) -> bool:
    return reading.format_of(Path(path).suffix) == "jams"


def _demand_valid(path: str, max_bytes: int) -> None:
    problems = schema_problems(path, max_bytes)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InvalidAnnotationError(f"breaks its JAMS schema: {problems[0]}{more}", path=path)
