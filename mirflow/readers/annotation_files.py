"""Annotations read from files and jams objects: one, or all that match; and the annotators and tasks of JAMS files.

A JAMS file can be validated before it is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from .formats import format_named
from .jams import JamsFile, annotators_of, is_jams, open_jams, open_objects, schema_problems
from .namespaces import NAMESPACES
from .options import MAX_BYTES, Reading, describe_options
from .sources import FileSource, source_at


@describe_options
def read(
    source: str | os.PathLike[str] | Any,
    *,
    task: str | None = None,
    kind: str | None = None,
    annotator: str | int | None = None,
    validate: bool = False,
    **options: Any,
) -> Annotation:
    """One annotation from a file or a jams object.

    Parameters
    ----------
    source : path, list of paths, jams.JAMS or jams.Annotation
        A path with ``{level}`` names one file for each of `levels`. For audio, a path with ``{source}``, a folder or
        a list of files gives one file for each source.
    task, kind : str or None
        Contents of the file; a task selects the namespaces that it can read. Required unless a namespace is given, or
        JAMS has a single namespace, or a single one that a task reads.
    annotator : str, int or None
        Annotation of a JAMS file: an annotator's id, a position among the matching annotations, or None if only one
        matches.
    validate : bool
        Check a JAMS file against the schemas of the jams package first.
    {options}

    Returns
    -------
    Annotation

    Raises
    ------
    UnreadableError
        If the file does not exist or is not in the expected format.
    InvalidAnnotationError
        If its rows are invalid, or it does not hold exactly one matching annotation.
    """
    reading = _reading(source, task, kind, options, annotator)
    if is_jams(source):
        return open_objects(source).select(reading, annotator)
    found = source_at(source, reading, annotator)
    if validate and isinstance(found, FileSource) and reading.format_of(found.path) == "jams":
        problems = schema_problems(found.path, reading.max_bytes)
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise InvalidAnnotationError(f"does not match its JAMS schema: {problems[0]}{more}", path=found.path)
    return found.open()


def read_all(
    source: str | os.PathLike[str] | Any, *, task: str | None = None, kind: str | None = None, **options: Any
) -> list[Annotation]:
    """All matching annotations of a file, in file order, with the attributes ``annotator`` and ``namespace``.

    The parameters are those of :func:`read`. A delimited file holds exactly one annotation.
    """
    reading = _reading(source, task, kind, options)
    if is_jams(source):
        file = open_objects(source)
    else:
        found = source_at(source, reading)
        if not (isinstance(found, FileSource) and reading.format_of(found.path) == "jams"):
            return [found.open()]
        file = open_jams(found.path, reading.max_bytes, found.path)
    return [file.annotation(place, reading) for place in file.fitting(reading)]


def list_annotators(
    path: str | os.PathLike[str], *, task: str | None = None, namespace: str | None = None
) -> list[str]:
    """Names of the annotators in a JAMS file for a task or namespace, in file order."""
    return annotators_of(os.fspath(path), Reading.of(task=task, namespace=namespace), os.fspath(path))


def _reading(
    source: Any, task: str | None, kind: str | None, options: dict[str, Any], annotator: str | int | None = None
) -> Reading:
    """The options of reading; of JAMS the namespace that is meant if nothing is named."""
    if task is None and kind is None and options.get("namespace") is None and says_namespace(source, options):
        options = {**options, "namespace": _opened(source, options).sole_namespace(annotator)}
    return Reading.of(task, kind=kind, **options)


def says_namespace(source: object, options: Mapping[str, Any] = MappingProxyType({})) -> bool:
    """True for a jams object and for the path of a JAMS file, whose annotations name their namespaces."""
    if isinstance(source, str | os.PathLike):
        return (options.get("format") or format_named(os.fspath(source))) == "jams"
    return is_jams(source)


def _opened(source: Any, options: Mapping[str, Any]) -> JamsFile:
    if is_jams(source):
        return open_objects(source)
    return open_jams(os.fspath(source), options.get("max_bytes", MAX_BYTES), os.fspath(source))


def tasks_meant(sources: Iterable[Any]) -> tuple[list[str], str]:
    """The tasks that JAMS files or objects all may mean, and what they hold, for messages.

    A namespace with the name of a task means this one.
    """
    files = [_opened(source, {}) for source in sources]
    meant = []
    for file in files:
        names = [choice.namespace for choice in file.choices if choice.namespace in NAMESPACES]
        meant.append(dict.fromkeys(task for name in names for task in NAMESPACES[name].meant))
    held = (f"{file.name} holds {', '.join(map(str, file.choices)) or 'no annotation'}" for file in files)
    tasks = [task for task in meant[0] if all(task in other for other in meant)] if meant else []
    return tasks, "; ".join(dict.fromkeys(held))
