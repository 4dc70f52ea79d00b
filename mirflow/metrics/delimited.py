"""Delimited text: files to columns, as mir_eval reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any, cast

File = str | PathLike[str] | IO[str]

BLANKS = r"\s+"


@contextmanager
def opened(file: File) -> Iterator[IO[str]]:
    """The file as lines; one that is open already stays open."""
    if hasattr(file, "read"):
        yield cast(IO[str], file)
        return
    try:
        path = Path(cast(str, file))
    except TypeError as error:
        raise OSError(f"Invalid file-or-path object: {file}") from error
    with path.open(encoding="utf-8") as lines:
        yield lines


def splitter(delimiter: str, cuts: int) -> Callable[[str], list[str]]:
    """How a stripped line is cut, in at most so many places; 0: in all."""
    if delimiter == BLANKS:  # the same cuts as the expression makes, several times faster
        return lambda line: line.split(maxsplit=cuts or -1) or [""]
    split = re.compile(delimiter).split
    return lambda line: split(line, maxsplit=cuts)


def read_lines(lines: IO[str], comment: str | None, header: bool = False) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without the comments and the header."""
    is_comment = (lambda line: None) if comment is None else re.compile(f"^{comment}").match
    first = 1 + header
    return ((number, line) for number, line in enumerate(islice(lines, first - 1, None), first) if not is_comment(line))


def load_delimited(
    filename: File,
    converters: Sequence[Callable[[str], Any]],
    delimiter: str = BLANKS,
    comment: str | None = "#",
) -> Any:
    r"""Columns of a delimited text file.

    Parameters
    ----------
    filename : path or open file
    converters : sequence of callables
        One for each column. The last of several columns takes the rest of the line, delimiters included.
    delimiter : str
        Regular expression.
    comment : str or None
        Regular expression; lines that begin with it are skipped. None: no line is a comment.

    Returns
    -------
    tuple of lists
        One list a column; with one converter the list itself.

    Raises
    ------
    ValueError
        For a line with another number of columns or a value that a converter refuses, with file and line.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> from io import StringIO
    >>> load_delimited(StringIO("# a comment\n0.5 one\n1.0 and two"), [float, str])
    ([0.5, 1.0], ['one', 'and two'])
    """
    count = len(converters)
    split = splitter(delimiter, count - 1)
    rows: list[list[str]] = []
    places: list[tuple[int, str]] = []
    with opened(filename) as file:
        for number, line in read_lines(file, comment):
            row = split(line.strip())
            if len(row) != count:
                raise ValueError(f"Expected {count} columns, got {len(row)} at {filename}:{number:d}:\n\t{line}")
            rows.append(row)
            places.append((number, line))
    texts = zip(*rows, strict=True) if rows else [()] * count
    columns = tuple(
        _converted(column, converter, filename, places) for column, converter in zip(texts, converters, strict=True)
    )
    return columns[0] if count == 1 else columns


def _converted(
    column: Sequence[str], converter: Callable[[str], Any], filename: File, places: Sequence[tuple[int, str]]
) -> list[Any]:
    """A column through its converter; an error names the place."""
    values: list[Any] = []
    try:
        values.extend(map(converter, column))  # what came before a failure stays in the list and tells its row
    except Exception as error:  # the converter is the caller's and may raise anything
        number, line = places[len(values)]
        name = getattr(converter, "__name__", repr(converter))
        raise ValueError(
            f"Couldn't convert value {column[len(values)]} using {name} found at {filename}:{number:d}:\n\t{line}"
        ) from error
    return values
