"""User-defined formats: functions from the bytes of a file to an annotation."""

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
    """Declare a function that reads files of a format, for use in pipelines, Python and commands.

    The function takes the bytes of a file. It returns an `Annotation` or an argument of :func:`mirflow.annotation`: the
    arrays of one side in mir_eval's order, as a tuple if there are several, or columns by name, such as
    ``{"time": [0.5, 1.0]}``.

    Parameters
    ----------
    format : str
        Name of the format, which must differ from those of mirflow.

    Returns
    -------
    callable
        Decorator that returns the function unchanged.

    Raises
    ------
    PluginError
        If mirflow has a format of that name.

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
        raise PluginError(f"mirflow already has a format {format!r}; choose another name")

    def declare_function(function: _Function) -> _Function:
        declare(READERS, format, function)
        return function

    return declare_function


def parse_user_format(data: bytes, reading: Any, name: str | Path) -> Annotation:
    """Parse the bytes of a file with the declared reader of its format."""
    reader = find(READERS, reading.format)
    try:
        found = reader(data)
        columns = found.values() if isinstance(found, Mapping) else found if isinstance(found, tuple) else (found,)
        items = max((length_hint(column, 0) for column in columns), default=0)
        if 8 * items > reading.max_bytes:
            what = f"its reader returned {items:,} items, which take more than {reading.max_bytes:,} bytes"
            raise InvalidAnnotationError(f"format {reading.format!r}: {what} (max_bytes raises this limit)")
        if isinstance(found, Mapping):
            found = from_columns(KINDS[reading.kind], found)
        elif not isinstance(found, Annotation):
            found = from_arguments(KINDS[reading.kind], found if isinstance(found, tuple) else (found,))
    except AnnotationError as error:
        message = shorten(error.message, LONGEST)
        raise InvalidAnnotationError(message, path=error.path or name, line=error.line) from error
    except MemoryError:  # the file is too large, not invalid
        raise
    except BaseException as error:  # an error in the user's code affects the file, not the run
        if is_stop(error):
            raise
        raise InvalidAnnotationError(f"format {reading.format!r}: {describe_error(error)}", path=name) from error
    if found.kind != reading.kind:
        message = f"format {reading.format!r}: its reader returned {found.kind}, not {reading.kind}"
        raise InvalidAnnotationError(message, path=name)
    return found
