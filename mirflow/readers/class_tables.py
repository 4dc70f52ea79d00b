"""Tables of classes or tags: a list of names, a tree, or partial credits for errors."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence

from ..annotations.arrays import is_number
from ..annotations.classes import Classes, Tree
from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError
from .content import decode, read_bytes
from .delimited import find_separator
from .options import MAX_BYTES, DelimitedOptions

_FORMS = "class; class,parent; or from,to,credit"
_NO_CLASSES = ("tag", "tags", "classes", "labels", "genre", "genres", "name", "category")
"""Headings of a column; they do not name a class."""
_Row = tuple[int, list[str]]
_DEEPEST = 100
"""Levels of a tree."""


def read_classes(path: str | os.PathLike[str], name: str = "") -> Classes:
    """Read the classes in a file.

    It is a table with a header, separated by commas, or by tabs if the name ends in ``.tsv``: a column ``class`` for
    names; ``class`` and ``parent`` for a tree, whose top classes have no parent; or ``from``, ``to`` and ``credit`` for
    the credit of an estimate ``to`` if the reference is ``from``. A file without such a header holds one name per line.
    """
    where = os.fspath(path)
    name = name or where
    text = decode(read_bytes(where, MAX_BYTES, name), name)
    separator = find_separator(text, "tsv" if where.endswith(".tsv") else "csv", DelimitedOptions()) or ","
    return parse_classes(text, name, separator)


def parse_classes(text: str, name: str, separator: str = ",") -> Classes:
    """Parse the text of a table of classes; see `read_classes`."""
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [(reader.line_num, [field.strip() for field in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise UnreadableError(f"is not a table: {error}", path=name) from None
    header = [field.lower() for field in rows[0][1]] if rows else []
    if header[:1] == ["label"] or (len(header) == 1 and header[0] in _NO_CLASSES):
        raise InvalidAnnotationError(f"invalid header {', '.join(header)}: expected {_FORMS}", path=name, line=1)
    try:
        if header[:1] != ["class"] and header[:1] != ["from"]:
            return Classes.of(names=[field for _, (field,) in _of_width(rows, 1, name)])
        if header == ["class"]:
            return Classes.of(names=[field for _, (field,) in _of_width(rows[1:], 1, name)])
        if header == ["class", "parent"]:
            parents: dict[str, str] = {}
            below: dict[str, dict[str, Tree]] = {}  # each level is in file order
            for line, (child, parent) in _of_width(rows[1:], 2, name):
                if not child:
                    raise InvalidAnnotationError("a class without a name", path=name, line=line)
                if child in parents:
                    raise InvalidAnnotationError(f"the class {child!r} occurs twice", path=name, line=line)
                parents[child] = parent
                below.setdefault(parent, {})[child] = below.setdefault(child, {})
            unlisted = [parent for parent in parents.values() if parent and parent not in parents]
            tops = dict.fromkeys([*unlisted, *below.get("", ())])
            for child in parents:
                passed = {child}
                while parents.get(child):
                    child = parents[child]
                    if child in passed:
                        raise InvalidAnnotationError(f"the class {child!r} is its own ancestor", path=name)
                    passed.add(child)
                    if len(passed) > _DEEPEST:
                        raise InvalidAnnotationError(f"has more than {_DEEPEST} levels below {child!r}", path=name)
            return Classes.of(tree={top: below[top] for top in tops})
        if header == ["from", "to", "credit"]:
            table: dict[str, dict[str, float]] = {}
            for line, (reference, estimate, worth) in _of_width(rows[1:], 3, name):
                if not is_number(worth):
                    raise InvalidAnnotationError(f"credit is not a number: {worth!r}", path=name, line=line)
                if estimate in table.setdefault(reference, {}):
                    message = f"the pair {reference!r}, {estimate!r} occurs twice"
                    raise InvalidAnnotationError(message, path=name, line=line)
                table[reference][estimate] = float(worth)
            return Classes.of(credit=table)
    except AnnotationError as error:
        raise error if error.path is not None else InvalidAnnotationError(str(error), path=name) from None
    raise InvalidAnnotationError(f"invalid columns {', '.join(header)}: expected {_FORMS}", path=name, line=1)


def _of_width(rows: Sequence[_Row], width: int, name: str) -> Sequence[_Row]:
    for line, row in rows:
        if len(row) != width:
            message = f"has {len(row)} columns, not {width}: {', '.join(row)!r}; the header must be {_FORMS}"
            raise InvalidAnnotationError(message, path=name, line=line)
    return rows
