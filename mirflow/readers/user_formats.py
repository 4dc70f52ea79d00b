"""Formats of users: functions from the bytes of a file to an annotation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import length_hint
from pathlib import Path
from typing import Any, TypeVar

from ..annotations.annotation import Annotation
from ..annotations.arrays import from_arguments, from_columns
from ..annotations.schema import KINDS
from ..errors import AnnotationError, InvalidAnnotationError, PluginError, shorten
from ..interruption import is_stop
from ..plugins import LONGEST, READERS, declare, describe_error, find
from .formats import FORMATS

_Function = TypeVar("_Function", bound=Callable[[bytes], Any])


def declare_reader(format: str) -> Callable[[_Function], _Function]:
    """Declare a function that reads files of a format, which then has a name in pipelines, Python and commands.

    The function takes the bytes of a file. It returns what :func:`mirflow.annotation` takes: the arrays of one side in
    mir_eval's order, a tuple where there are several, or columns by name, such as ``{"time": [0.5, 1.0]}``; or an
    `Annotation`.

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
        If the reader raises an error, or returns no annotation of the kind, or arrays larger than ``max_bytes``.
    """
    reader = find(READERS, reading.format)
    try:
        found = reader(data)
        _demand_size(found, reading)
        if isinstance(found, Mapping):
            found = from_columns(KINDS[reading.kind], found)
        elif not isinstance(found, Annotation):
            found = from_arguments(KINDS[reading.kind], found if isinstance(found, tuple) else (found,))
    except AnnotationError as error:
        raise InvalidAnnotationError(
            shorten(error.message, LONGEST), path=error.path or name, line=error.line
        ) from error
    except MemoryError:  # the file is too large, not invalid
        raise
    except BaseException as error:  # whatever the user's code raises costs the file, not the run
        if is_stop(error):
            raise
        raise InvalidAnnotationError(f"format {reading.format!r}: {describe_error(error)}", path=name) from error
    if found.kind != reading.kind:
        message = f"format {reading.format!r}: its reader returned {found.kind}, not {reading.kind}"
        raise InvalidAnnotationError(message, path=name)
    return found


def _demand_size(found: Any, reading: Any) -> None:
    """Refuse arrays that take more bytes than a file may have, before numpy makes them of a range or a list."""
    columns = found.values() if isinstance(found, Mapping) else found if isinstance(found, tuple) else (found,)
    items = max((length_hint(column, 0) for column in columns), default=0)
    if 8 * items > reading.max_bytes:
        what = f"its reader returned {items:,} items, which take more than {reading.max_bytes:,} bytes"
        raise InvalidAnnotationError(f"format {reading.format!r}: {what} (max_bytes raises this limit)")
