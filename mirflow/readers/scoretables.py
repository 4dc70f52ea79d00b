"""Tables of scores as others publish them: text -> rows under named columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path

from ..errors import InvalidAnnotationError, suggest
from .patterns import Pattern

ColumnName = str | int

_OTHERS = {";": "semicolon", "\t": "tab", ",": "comma"}
NO_NUMBER = frozenset({"", "-", "--", "nan", "na", "n/a", "none", "null"})
"""What stands where there is no number, in any case."""


@dataclass(frozen=True)
class TableLayout:
    """How a table is written.

    Parameters
    ----------
    delimiter : str or None
        A character; None: blanks of any length.
    skip : int
        Lines above the table.
    header : bool or tuple of str
        Whether the first row names the columns, or what they are called where no row does.
    comment : str
        Lines that begin with it are left out; empty: none are.
    headings : tuple of Pattern
        Lines between the rows that say what the rows below are about: ``Algorithm {system}``.
    """

    delimiter: str | None = ","
    skip: int = 0
    header: bool | tuple[str, ...] = True
    comment: str = ""
    headings: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Parameters
    ----------
    line : int
        Counted from 1.
    fields : list of str
        Without the blanks around them.
    values : mapping of str to str
        What the headings above it say.
    """

    line: int
    fields: list[str]
    values: Mapping[str, str]


@dataclass(frozen=True)
class ScoreTable:
    """Rows under columns.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    columns : tuple of str
        Empty where columns have no names.
    rows : list of Row
    """

    name: str
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)

    def place(self, column: ColumnName) -> int:
        """The position of a column, counted from 0.

        Raises
        ------
        InvalidAnnotationError
            If there is no such column, or there are several of that name.
        """
        if isinstance(column, int):
            return column
        if column not in self.columns:
            known = suggest(column, filter(None, self.columns)) if self.columns else "its columns have no names"
            only = self.columns[0] if len(self.columns) == 1 else ""
            other = next((word for sign, word in _OTHERS.items() if sign in only), "")
            known += f"; or declare delimiter: {other}" if other else ""
            raise InvalidAnnotationError(f"no column {column!r}; {known}", path=self.name)
        if self.columns.count(column) > 1:
            raise InvalidAnnotationError(f"several columns are called {column!r}; give a position", path=self.name)
        return self.columns.index(column)

    def text(self, row: Row, place: int) -> str:
        """What stands in a column of a row.

        Raises
        ------
        InvalidAnnotationError
            If the row ends before it.
        """
        if not -len(row.fields) <= place < len(row.fields):
            count = f"{len(row.fields)} field{'s' if len(row.fields) != 1 else ''}"
            named = f" {self.columns[place]!r}" if 0 <= place < len(self.columns) else ""
            message = f"a row of {count} has no column {place}{named} (counted from 0): {','.join(row.fields)!r}"
            raise InvalidAnnotationError(message, path=self.name, line=row.line)
        return row.fields[place]


def parse_table(text: str, layout: TableLayout, name: str | Path) -> ScoreTable:
    """A table from its text; a header that stands again among the rows is no row.

    Examples
    --------
    >>> layout = TableLayout(headings=(Pattern("Algorithm {system}"),))
    >>> table = parse_table("Algorithm KO1\\ntrack, majmin\\na, 0.5\\n", layout, "x.txt")
    >>> table.columns, table.rows[0].fields, table.rows[0].values["system"]
    (('track', 'majmin'), ['a', '0.5'], 'KO1')
    """
    columns: tuple[str, ...] | None = None if layout.header is True else layout.header or ()
    rows = []
    # Only line ends split lines: other separators, such as U+2028, are part of a name.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for row in _rows(lines, layout):
        if columns is None:
            columns = tuple(row.fields)
        elif tuple(row.fields) != columns:
            rows.append(row)
    return ScoreTable(str(name), columns or (), rows)


def _rows(lines: Sequence[str], layout: TableLayout) -> Iterator[Row]:
    """The rows, each with its line and what the headings above it say."""
    number = layout.skip
    above: dict[str, str] = {}

    def table_lines() -> Iterator[str]:
        nonlocal number, above
        for line in lines[layout.skip :]:
            number += 1
            plain = line.strip()
            heading = next(filter(None, (one.match(plain) for one in layout.headings)), None)
            if heading is not None:
                above = {**above, **heading}
            elif plain and not (layout.comment and plain.startswith(layout.comment)):
                yield line

    # A reader takes a line only when it needs one, so that the number and the headings are those of its row.
    split = _blanks(table_lines()) if layout.delimiter is None else _delimited(table_lines(), layout.delimiter)
    for fields in split:
        yield Row(number, [one.strip() for one in fields], above)


def _blanks(lines: Iterable[str]) -> Iterator[list[str]]:
    return (line.split() for line in lines)


def _delimited(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    return iter(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))


def read_number(text: str) -> tuple[float, int]:
    """A number and how many decimals it is printed with; NaN and 0 for what says that there is none.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> read_number("78.250"), read_number("1e-3"), read_number("NaN")
    ((78.25, 3), (0.001, 3), (nan, 0))
    """
    if text.lower() in NO_NUMBER:
        return float("nan"), 0
    value = float(text)
    try:
        exponent = Decimal(text).as_tuple().exponent
    except InvalidOperation:
        # What float takes and decimals do not.
        exponent = 0
    return value, max(0, -exponent) if isinstance(exponent, int) else 0
