"""TREC's files: runs (query, Q0, item, rank, score, tag) and relevance judgements (query, iteration, item, grade)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..ragged import Float
from .content import decode, digest_of
from .options import Reading
from .rankings import reorder
from .spans import Spans, index_rows
from .tables import Key
from .tags import demand_numbers


@dataclass(frozen=True)
class TrecTable:
    """A run or the judgements of many queries; see :class:`mirflow.readers.tables.Table`.

    Parameters
    ----------
    spans : Spans
    columns : tuple of str
        What the columns of the format are called; ``_`` stands for those that are left alone.
    """

    spans: Spans
    columns: tuple[str, ...]

    @property
    def keys(self) -> Collection[Key]:
        """The queries."""
        return self.spans.keys

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return self.spans.held

    def stamp(self, key: Key) -> tuple[int, int]:
        """Size and fingerprint of a query's rows."""
        return self.spans.stamp(key)

    def read(self, key: Key) -> tuple[Annotation, str]:
        """The ranking or the judgements of a query, and the digest of its rows."""
        data = self.spans.data(key)
        text = self.spans.text(data)
        items, values, lines = self._plain(key, text) or self._by_row(key, text)
        attrs = {"source": self.spans.name}
        found = Annotation("ranking", {"value": np.array(values, dtype=np.float64)}, items, lines=lines, attrs=attrs)
        demand_numbers(found, self.spans.name)
        return by_score(found) if "score" in self.columns else found, digest_of(data)

    def _plain(self, key: Key, text: str) -> tuple[list[str], list[float], Sequence[int]] | None:
        """All rows at once, if they are what they should be."""
        (first, *others), width = self.spans.of_key[key], len(self.columns)
        fields = text.split()
        # The query stands in every row, and so at every `width`th place, only if all rows are of that width.
        if others or len(fields) != width * first.lines or fields[::width].count(key.track) != first.lines:
            return None
        place = {name: number for number, name in enumerate(self.columns)}
        try:
            values = list(map(float, fields[place.get("score", width - 1) :: width]))
        except ValueError:
            return None
        return fields[place["item"] :: width], values, range(first.line, first.line + first.lines)

    def _by_row(self, key: Key, text: str) -> tuple[list[str], list[float], Sequence[int]]:
        rows = [(number, line.split()) for number, line in self.spans.numbered(key, text)]
        rows = [(number, fields) for number, fields in rows if fields and not fields[0].startswith("#")]
        return (
            [self._field(number, fields, "item") for number, fields in rows],
            [self._number(number, fields) for number, fields in rows],
            [number for number, _ in rows],
        )

    def _field(self, line: int, fields: Sequence[str], column: str) -> str:
        place = self.columns.index(column)
        if place >= len(fields):
            needed = ", ".join(name for name in self.columns if name != "_")
            message = f"has {len(fields)} columns, needs {needed}: {' '.join(fields)!r}"
            raise InvalidAnnotationError(message, path=self.spans.name, line=line)
        if len(fields) > len(self.columns) and "grade" in self.columns:
            message = f"has {len(fields)} columns, not {len(self.columns)}: {' '.join(fields)!r}"
            message += "; if it is a run, declare format: run"
            raise InvalidAnnotationError(message, path=self.spans.name, line=line)
        return fields[place]

    def _number(self, line: int, fields: Sequence[str]) -> float:
        column = "score" if "score" in self.columns else "grade"
        text = self._field(line, fields, column)
        try:
            return float(text)
        except ValueError:
            message = f"{column} is not a number: {text!r}"
            raise InvalidAnnotationError(message, path=self.spans.name, line=line) from None


def by_score(annotation: Annotation) -> Annotation:
    """A ranking in the order of its scores; of equal ones the item with the later name is ahead, as in trec_eval.

    Examples
    --------
    >>> run = Annotation("ranking", {"value": np.array([0.5, 0.5, 0.9])}, ["x", "y", "z"], lines=[1, 2, 3])
    >>> by_score(run).labels
    ['z', 'y', 'x']
    """
    labels = list(annotation.labels or ())
    value: Float = annotation.columns["value"]
    named = np.array(sorted(range(len(labels)), key=lambda item: labels[item].encode(), reverse=True), dtype=np.int64)
    order = named[np.argsort(-value[named], kind="stable")]
    return reorder(annotation, {"value": value[order]}, order.tolist())


def open_run(path: str, reading: Reading, name: str) -> TrecTable:
    """The table in a run; its ranks are left alone, as by trec_eval, for the scores say the order.

    Raises
    ------
    UnreadableError
        If the file is not there or not text.
    """
    return _open(path, reading, name, ("query", "_", "item", "_", "score", "_"))


def open_qrels(path: str, reading: Reading, name: str) -> TrecTable:
    """The table in a file of relevance judgements.

    Raises
    ------
    UnreadableError
        If the file is not there or not text.
    """
    return _open(path, reading, name, ("query", "_", "item", "grade"))


def _open(path: str, reading: Reading, name: str, columns: tuple[str, ...]) -> TrecTable:
    encoding = reading.delimited.encoding
    known: dict[bytes, Key] = {}

    def key_of(line: bytes, number: int) -> Key | None:
        start = line.split(None, 1)
        if not start or start[0].startswith(b"#"):
            return None
        if start[0] not in known:
            known[start[0]] = Key(decode(start[0], name, encoding))
        return known[start[0]]

    return TrecTable(Spans(path, name, encoding, reading.max_bytes, index_rows(path, name, key_of)), columns)
