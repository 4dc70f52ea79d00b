"""Formats of users: functions from the bytes of a file to an annotation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.schema import KINDS
from ..errors import AnnotationError, InvalidAnnotationError, PluginError, suggest
from ..plugins import READERS, declare, describe_error, find
from .options import FORMATS

_Function = TypeVar("_Function", bound=Callable[[bytes], Any])


def declare_reader(format: str) -> Callable[[_Function], _Function]:
    """Declare a function that reads files of a format, which then has a name in pipelines, Python and commands.

    The function takes the bytes of a file. It returns an `Annotation`, or columns by the names of the variables of the
    kind: ``{"time": [0.5, 1.0]}`` of events, ``{"start": ..., "end": ..., "label": ...}`` of intervals.

    Parameters
    ----------
    format : str
        Name of the format, which is none of mirflow's.

    Returns
    -------
    callable
        Takes the function and returns it as it is.

    Raises
    ------
    PluginError
        For the name of a format of mirflow.

    Examples
    --------
    >>> @declare_reader("milliseconds")
    ... def read_milliseconds(data):
    ...     return {"time": [int(line) / 1000 for line in data.split()]}
    >>> from mirflow.readers.options import Reading
    >>> parse_user_format(b"500 1000", Reading.of("beat", format="milliseconds"), "a.ms").columns["time"].tolist()
    [0.5, 1.0]
    """
    if format in FORMATS:
        raise PluginError(f"format {format!r}: mirflow has a format of this name; choose another")

    def declare_function(function: _Function) -> _Function:
        declare(READERS, format, function)
        return function

    return declare_function


def parse_user_format(data: bytes, reading: Any, name: str | Path) -> Annotation:
    """An annotation from the bytes of a file, by the reader of the format that is declared.

    Raises
    ------
    InvalidAnnotationError
        If the reader raises an error or returns no annotation of the kind.
    """
    reader = find(READERS, reading.format)
    try:
        found = reader(data)
        if isinstance(found, Mapping):
            found = _from_columns(reading.kind, found)
    except AnnotationError as error:
        raise InvalidAnnotationError(error.message, path=error.path or name, line=error.line) from error
    except Exception as error:  # of whoever wrote the reader: it may cost the file, not the run
        raise InvalidAnnotationError(f"format {reading.format!r}: {describe_error(error)}", path=name) from error
    if not isinstance(found, Annotation) or found.kind != reading.kind:
        what = f"{found.kind}" if isinstance(found, Annotation) else f"a {type(found).__name__}"
        message = f"format {reading.format!r}: its reader returned {what}, not {reading.kind}"
        raise InvalidAnnotationError(message, path=name)
    return found


def _from_columns(kind: str, given: Mapping[str, Any]) -> Annotation:
    schema = KINDS[kind]
    known = [one.name for one in schema.variables]
    if len(schema.dims) > 1:
        raise InvalidAnnotationError(f"{kind} have several dims: return an Annotation")
    for name in given:
        if name not in known:
            raise InvalidAnnotationError(f"{kind} have no column {name!r}; {suggest(str(name), known)}")
    missing = [name for name in schema.required if name not in given]
    sizes = {name: len(column) for name, column in given.items()}
    if missing or len(set(sizes.values())) > 1:
        what = f"lack {', '.join(missing)}" if missing else f"differ in length: {sizes}"
        raise InvalidAnnotationError(f"columns of {kind} {what}")
    labels = [str(label) for label in given["label"]] if "label" in given else None
    numbers = {name: np.asarray(column, dtype=np.float64) for name, column in given.items() if name != "label"}
    return Annotation(kind, numbers, labels)
