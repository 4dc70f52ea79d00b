"""Rankings in text: lists of items, and runs and relevance judgements of TREC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedReader

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.schema import KINDS
from ...errors import InvalidAnnotationError, UnreadableError
from ...theory.text_form import normal_form
from ..content import decode, open_file, unreadable
from ..delimited import find_separator, split_line
from ..layouts import is_known
from ..options import Reading
from ..ranks import demand_numbers, order_by_score
from .table import RowKey, SameLine, SpanTable, index_rows

_NAMED = re.compile(r"(\S+):\s+(.*)")


@dataclass(frozen=True)
class ListTable(SpanTable):
    """A file with a list of items for each query, one per line."""

    delimiter: str | None

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The list of a query."""
        rows = [(number, line) for number, line in self.numbered(key, self.text(data)) if line.strip()]
        (line, text), others = rows[0], rows[1:]
        if others:
            message = f"query {key.track!r} occurs twice, first on line {line}"
            raise InvalidAnnotationError(message, path=self.name, line=others[0][0])
        items = split_list(text, self.delimiter)[1:]
        return Annotation("ranking", {}, items, lines=SameLine(line, len(items)), attrs={"source": self.name})


def open_lists(path: str, reading: Reading, name: str) -> ListTable:
    """Open a file of the format ``lists``: each line has a query and its items, by rank."""
    options, delimiter = reading.delimited, reading.delimited.separator
    format = path.rpartition(".")[2].lower()
    if delimiter is None and format in ("csv", "tsv"):  # of other files it is found for each line
        try:
            with BufferedReader(open_file(path, name)) as file:
                first = next((line for line in file if line.strip()), b"")
        except OSError as error:
            raise unreadable(path, error, name) from None
        delimiter = find_separator(first.decode(options.encoding, "replace"), format, options)
    comment = options.comment.encode()

    def key_of(line: bytes, number: int) -> RowKey | None:
        if not line.strip() or (comment and line.lstrip().startswith(comment)):
            return None
        try:
            text = line.decode(options.encoding).removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise UnreadableError(f"line {number} is not {options.encoding}; declare its encoding", path=name) from None
        query, *items = split_list(text, delimiter)
        kind = KINDS[reading.kind]
        if number == 1 and items and all(is_known(field, kind, keyed=True) for field in (query, items[0])):
            message = f"lists have no header: remove it, or declare another format: {text.strip()!r}"
            raise InvalidAnnotationError(message, path=name, line=number)
        return RowKey(normal_form(query))

    found = index_rows(path, name, key_of)
    return ListTable(path, name, reading, found, delimiter)


def split_list(line: str, delimiter: str | None) -> list[str]:
    """Split a line into a query and its items.

    Without a delimiter, the query ends at a colon and a blank, at the only tab, or as items do. Items are separated by
    the first of tabs, commas, semicolons and blanks that occurs.
    """
    line = line.strip()
    named = _NAMED.fullmatch(line)
    if delimiter is not None:
        fields = _split(line, delimiter)
    elif named is not None:
        fields = [named[1], *_split(named[2], _separator(named[2]))]
    elif line.count("\t") == 1:
        query, items = line.split("\t")
        fields = [query, *_split(items, _separator(items))]
    else:
        fields = _split(line, _separator(line))
    return [fields[0].strip('"').removesuffix(":").rstrip(), *fields[1:]]


def _separator(text: str) -> str:
    return next((one for one in "\t,;" if one in text), "whitespace")


def _split(text: str, delimiter: str) -> list[str]:
    fields = split_line(text, delimiter)
    return fields[: len(fields) - (len(fields) > 1 and not fields[-1])]


@dataclass(frozen=True)
class TrecTable(SpanTable):
    """A run or the judgements of many queries."""

    columns: tuple[str, ...]
    """Names of the columns of the format; ``_`` for ignored columns."""

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The ranking or the judgements of a query."""
        text = self.text(data)
        if (plain := self._plain(key, text)) is not None:
            items, values, lines = plain
        else:
            rows = [(number, line.split()) for number, line in self.numbered(key, text)]
            rows = [(number, fields) for number, fields in rows if fields and not fields[0].startswith("#")]
            items = [self._field(number, fields, "item") for number, fields in rows]
            values, lines = [self._number(number, fields) for number, fields in rows], [number for number, _ in rows]
        columns = {"value": np.array(values, dtype=np.float64)}
        found = Annotation("ranking", columns, items, lines=lines, attrs={"source": self.name})
        demand_numbers(found, self.name)
        return order_by_score(found) if "score" in self.columns else found

    def _plain(self, key: RowKey, text: str) -> tuple[list[str], list[float], Sequence[int]] | None:
        """Parse all rows at once, if they are regular."""
        (first, *others), width = self.of_key[key], len(self.columns)
        fields = text.split()
        # Every `width`th field is the query only if all rows have that width.
        if others or len(fields) != width * first.lines or fields[::width].count(key.track) != first.lines:
            return None
        place = {name: number for number, name in enumerate(self.columns)}
        try:
            values = list(map(float, fields[place.get("score", width - 1) :: width]))
        except ValueError:
            return None
        return fields[place["item"] :: width], values, range(first.line, first.line + first.lines)

    def _field(self, line: int, fields: Sequence[str], column: str) -> str:
        place = self.columns.index(column)
        if place >= len(fields):
            needed = ", ".join(name for name in self.columns if name != "_")
            message = f"has {len(fields)} columns, needs {needed}: {' '.join(fields)!r}"
            raise InvalidAnnotationError(message, path=self.name, line=line)
        if len(fields) > len(self.columns):
            message = f"has {len(fields)} columns, not {len(self.columns)}: {' '.join(fields)!r}"
            message += "; if it is a run, declare format: run" if "grade" in self.columns else ""
            raise InvalidAnnotationError(message, path=self.name, line=line)
        return fields[place]

    def _number(self, line: int, fields: Sequence[str]) -> float:
        column = "score" if "score" in self.columns else "grade"
        text = self._field(line, fields, column)
        try:
            return float(text)
        except ValueError:
            message = f"{column} is not a number: {text!r}"
            raise InvalidAnnotationError(message, path=self.name, line=line) from None


def _open(path: str, reading: Reading, name: str, columns: tuple[str, ...]) -> TrecTable:
    encoding = reading.delimited.encoding
    known: dict[bytes, RowKey] = {}

    def key_of(line: bytes, number: int) -> RowKey | None:
        start = line.split(None, 1)
        if not start or start[0].startswith(b"#"):
            return None
        if start[0] not in known:
            known[start[0]] = RowKey(normal_form(decode(start[0], name, encoding)))
        return known[start[0]]

    return TrecTable(path, name, reading, index_rows(path, name, key_of), columns)


open_run = partial(_open, columns=("query", "_", "item", "_", "score", "_"))
"""Open a run; as in trec_eval, scores give the order and ranks are ignored."""
open_qrels = partial(_open, columns=("query", "_", "item", "grade"))
"""Open a file of relevance judgements."""
