"""The model of mapping files, and the tables of scores that they name, which are parsed from delimited text or JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema, model_validator

from ..errors import AnnotationError, InvalidAnnotationError, suggest
from ..pipeline.model import IndexOrName, Shorthand, Strict, Tracks, identifier
from ..readers.patterns import Pattern

ColumnName = str | int

_OTHERS = {";": "semicolon", "\t": "tab", ",": "comma"}
NO_NUMBER = frozenset({"", "-", "--", "nan", "na", "n/a", "none", "null"})
"""Texts of missing numbers, in any case."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its line, counted from 1, its fields without blanks around them, and what the headings above it, or its
    own key, say."""

    line: int
    fields: list[str]
    values: Mapping[str, str]


@dataclass(frozen=True)
class ScoreTable:
    """Rows under columns, which may have no names; the file's name is for messages."""

    name: str
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)

    def place(self, column: ColumnName) -> int:
        """The position of a column, counted from 0; raises where there is none, or several of that name."""
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
        """The text in a column of a row; raises where the row ends before it."""
        if not -len(row.fields) <= place < len(row.fields):
            count = f"{len(row.fields)} field{'s' if len(row.fields) != 1 else ''}"
            named = f" {self.columns[place]!r}" if 0 <= place < len(self.columns) else ""
            message = f"a row of {count} has no column {place}{named} (counted from 0): {','.join(row.fields)!r}"
            raise InvalidAnnotationError(message, path=self.name, line=row.line)
        return row.fields[place]


def parse_table(
    text: str,
    name: str | Path,
    *,
    delimiter: str | None = ",",
    skip: int = 0,
    header: bool | Sequence[str] = True,
    comment: str = "",
    headings: Sequence[Pattern] = (),
) -> ScoreTable:
    """Parse the text of a table; repetitions of the header are skipped.

    `delimiter`: a character; None: blanks of any length. `skip`: lines above the table. `header`: whether the first row
    names the columns, or what they are called where no row does. `comment`: lines that begin with it are left out;
    empty: none are. `headings`: lines between the rows that say what the rows below are about: ``Algorithm {system}``.

    Examples
    --------
    >>> text = "Algorithm KO1\\ntrack, majmin\\na, 0.5\\n"
    >>> table = parse_table(text, "x.txt", headings=[Pattern("Algorithm {system}")])
    >>> table.columns, table.rows[0].fields, table.rows[0].values["system"]
    (('track', 'majmin'), ['a', '0.5'], 'KO1')
    """
    columns = None if header is True else tuple(header or ())
    # Only line ends split lines: other separators, such as U+2028, are part of a name.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    number, above = skip, dict[str, str]()

    def table_lines() -> Iterator[str]:
        nonlocal number, above
        for line in lines[skip:]:
            number += 1
            plain = line.strip()
            heading = next(filter(None, (pattern.match(plain) for pattern in headings)), None)
            if heading is not None:
                above = {**above, **heading}
            elif plain and not (comment and plain.startswith(comment)):
                yield line

    # A reader takes a line only when it needs one, so that the number and the headings are those of its row.
    split = (
        map(str.split, table_lines())
        if delimiter is None
        else csv.reader(table_lines(), delimiter=delimiter, skipinitialspace=True)
    )
    rows = []
    for fields in split:
        row = Row(number, [part.strip() for part in fields], above)
        if columns is None:
            columns = tuple(row.fields)
        elif tuple(row.fields) != columns:
            rows.append(row)
    return ScoreTable(str(name), columns or (), rows)


def parse_json_table(text: str, path: str, key: Pattern, name: str | Path, left_out: Sequence[str] = ()) -> ScoreTable:
    """Make a table from JSON: a row for each member of an object, and a column for each number or text in it.

    `path` are the keys that lead to the object, divided by ``/`` (empty: the whole document), `key` the form of the
    members' keys, and `left_out` the keys of members that are not rows, in which ``*`` matches anything. Columns are
    the paths within a member, divided by ``/``; items of lists are counted from 0. Absent values are empty.

    Examples
    --------
    >>> text = '{"beat": {"a.KO1": {"f": [0.5, 1]}, "b.KO1": {"f": [0.25, "NaN"]}}}'
    >>> table = parse_json_table(text, "beat", Pattern("{track}.{system}"), "x.json")
    >>> table.columns, table.rows[0].fields[0], table.rows[1].values
    (('f/0', 'f/1'), '5.00000000000000000e-01', {'track': 'b', 'system': 'KO1'})
    """
    try:
        inner = json.loads(text)
    except ValueError as error:
        raise InvalidAnnotationError(f"is not JSON: {error}", path=name) from None
    for part in filter(None, path.split("/")):
        inner = inner.get(part) if isinstance(inner, dict) else None
    if not isinstance(inner, dict):
        raise InvalidAnnotationError(f"no object at rows: {path!r}", path=name)
    kept = {name: value for name, value in inner.items() if not any(fnmatchcase(name, pattern) for pattern in left_out)}
    members = {member: dict(_leaves(value)) for member, value in kept.items()}
    columns = tuple(dict.fromkeys(column for leaves in members.values() for column in leaves))
    rows, after = [], 0
    for member, leaves in members.items():
        after = max(text.find(json.dumps(member), after), after)
        line = text.count("\n", 0, after) + 1
        values = key.match(member)
        if values is None:
            raise InvalidAnnotationError(
                f"key {member!r} is not written as {key.text!r}; leave_out leaves rows out", path=name, line=line
            )
        rows.append(Row(line, [leaves.get(column, "") for column in columns], values))
    return ScoreTable(str(name), columns, rows)


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every number and text in a value of JSON with its place; numbers are written as doubles, in full."""
    if isinstance(value, (dict, list)):
        for part, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, f"{place}/{part}" if place else str(part))
    else:
        yield (
            place or "value",
            "" if value is None else value.strip() if isinstance(value, str) else f"{float(value):.17e}",
        )


def read_number(text: str) -> tuple[float, int]:
    """A number and its printed decimals; NaN and 0 for missing numbers."""
    if text.lower() in NO_NUMBER:
        return float("nan"), 0
    value = float(text)
    try:
        exponent = Decimal(text).as_tuple().exponent
    except InvalidOperation:
        # What float takes and decimals do not.
        exponent = 0
    return value, max(0, -exponent) if isinstance(exponent, int) else 0


_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "whitespace": None}


def _scale(value: Any) -> float:
    if value in ("ratio", "percent") and isinstance(value, str):
        return 1.0 if value == "ratio" else 0.01
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ValueError(f"invalid scale {value!r}: expected ratio, percent or a number above 0")
    return float(value)


def _pattern(text: str) -> str:
    try:
        Pattern(text)
    except AnnotationError as error:
        raise ValueError(str(error)) from None
    return text


_COLUMN = (((str, int), "column", {"type": ["string", "integer"], "description": "A column."}),)


Scale = Annotated[
    float,
    PlainValidator(_scale),
    WithJsonSchema({"anyOf": [{"enum": ["ratio", "percent"]}, {"type": "number", "exclusiveMinimum": 0}]}),
]
PathPattern = Annotated[str, AfterValidator(_pattern)]
Decision = Literal["missing", "zero"]


class Names(Shorthand):
    """Names of tracks or of systems: a column's name, or an object."""

    short = _COLUMN

    column: IndexOrName | None = None
    """The column that holds them, by its name or counted from 0; default: a placeholder of path or headings does."""
    name: str | None = None
    """One name for the whole table."""
    pattern: PathPattern | None = None
    """How the table writes them, '{track}_tutti.mid': the placeholder is the name."""
    rename: dict[str, str] = Field(default_factory=dict)
    """The table's names to those of the store."""

    @model_validator(mode="after")
    def _check(self) -> Names:
        if self.column is not None and self.name is not None:
            raise ValueError("expected either a column or a name")
        if self.pattern is not None and len(Pattern(self.pattern).names) != 1:
            raise ValueError(f"invalid pattern {self.pattern!r}: expected one placeholder")
        return self


class ScoreColumn(Shorthand):
    """A metric in a table: just its column, or an object. A metric of no task of mirflow declares its orientation."""

    short = _COLUMN

    column: IndexOrName
    """By its name or counted from 0."""
    scale: Scale | None = None
    """ratio, percent, or a number to multiply by; default: the table's."""
    weight: IndexOrName | None = None
    """The column of the score's weight; default: the table's."""
    orientation: Literal["higher", "lower", "none"] | None = None
    """Which way is better, of a metric that mirflow does not know."""
    title: str | None = None
    """For tables and figures, of a metric that mirflow does not know."""
    unit: str | None = None
    """Of a metric that mirflow does not know; default: a ratio."""


class Wide(Strict):
    """A table of one metric with a column for each system."""

    metric: str
    """An identity string."""
    systems: dict[str, IndexOrName] | None = None
    """Name of each system to its column; default: every column but that of the tracks."""
    orientation: Literal["higher", "lower", "none"] | None = None
    """Which way is better, of a metric that mirflow does not know."""
    title: str | None = None
    """For tables and figures, of a metric that mirflow does not know."""
    unit: str | None = None
    """Of a metric that mirflow does not know; default: a ratio."""


class ScoreFile(Strict):
    """One table, or all that a pattern names."""

    path: PathPattern
    """Pattern with {system}, {track} or other placeholders, relative to root."""
    format: Literal["table", "museval"] = "table"
    """museval: JSON files of museval, one a track, with scores by source and frame; they need nothing but path."""
    delimiter: str = "comma"
    """A character, or comma, semicolon, tab, whitespace."""
    skip: int = Field(default=0, ge=0)
    """Lines above the table."""
    header: bool | list[str] = True
    """True if the first row names the columns, or the names where no row holds them."""
    comment: str = ""
    """Lines that begin with it are left out."""
    headings: list[PathPattern] = Field(default_factory=list)
    """Lines that say what the rows below them are about, 'Algorithm {system}'."""
    rows: str | None = None
    """For JSON: where the object with a member for each row is, its keys divided by /; empty: the whole document."""
    key: PathPattern | None = None
    """For JSON: how the members' keys are written, '{track}.{system}'; default: '{track}'."""
    encoding: str = "utf-8"
    track: Names = Names()
    """Where the names of the tracks are."""
    system: Names = Names()
    """Where the names of the systems are."""
    where: dict[str, str] = Field(default_factory=dict)
    """Only rows in which these columns or placeholders hold these texts."""
    leave_out: list[str] = Field(default_factory=list)
    """Rows with these names of tracks, as the table writes them: averages; for JSON also keys, where * is anything."""
    nan: Decision = "missing"
    """What NaN, an empty field, '-' and the like mean: no score, or 0."""
    scale: Scale = 1.0
    """ratio, percent, or a number to multiply by."""
    weight: IndexOrName | None = None
    """The column of the scores' weights; default: every score weighs the same."""
    metrics: dict[str, ScoreColumn] = Field(default_factory=dict)
    """Identity strings to columns."""
    wide: Wide | None = None
    """Instead of metrics, in a table with a column for each system."""

    @model_validator(mode="after")
    def _check(self) -> ScoreFile:
        if len(self.delimiter) != 1 and self.delimiter not in _DELIMITERS:
            expected = f"a character or one of {', '.join(_DELIMITERS)}"
            raise ValueError(f"invalid delimiter {self.delimiter!r}: expected {expected}")
        if self.format == "museval":
            lacking = [f"{{{key}}}" for key in ("system", "track") if key not in self.placeholders]
            changed = sorted(self.model_fields_set - {"path", "format"})
            if lacking:
                raise ValueError(f"write {' and '.join(lacking)} in the path of files of museval")
            if changed:
                raise ValueError(f"files of museval need nothing but path: leave out {', '.join(changed)}")
            return self
        if bool(self.metrics) == (self.wide is not None):
            raise ValueError("expected either metrics (columns of metrics) or wide (columns of systems)")
        if self.key is not None and self.rows is None:
            raise ValueError("key applies only to JSON: name the place of its rows under rows")
        for key, side in (("track", self.track), ("system", self.system)):
            sources = [side.column is not None, side.name is not None, key in self.placeholders]
            if key == "system" and self.wide is not None:
                sources.append(True)
            if sum(sources) != 1:
                how = "nowhere" if not any(sources) else "in two ways"
                raise ValueError(
                    f"names its {key}s {how}: write {{{key}}} in path, headings or key, or a column under {key!r}"
                )
        return self

    @property
    def placeholders(self) -> tuple[str, ...]:
        """Those of the path, of the headings and of the keys, each once."""
        keys = () if self.rows is None else ("{track}" if self.key is None else self.key,)
        return tuple(dict.fromkeys(name for text in (self.path, *self.headings, *keys) for name in Pattern(text).names))

    def parse(self, text: str, name: str | Path) -> ScoreTable:
        """The table in a file's text."""
        if self.rows is not None:
            key = Pattern("{track}" if self.key is None else self.key)
            return parse_json_table(text, self.rows, key, name, self.leave_out)
        return parse_table(
            text,
            name,
            delimiter=_DELIMITERS.get(self.delimiter, self.delimiter),
            skip=self.skip,
            header=self.header,
            comment=self.comment,
            headings=[*map(Pattern, self.headings)],
        )

    def declared(self) -> Iterable[tuple[str, ScoreColumn | Wide]]:
        """Every metric with its declaration in the mapping."""
        if self.format == "museval":
            return ()
        return self.metrics.items() if self.wide is None else [(self.wide.metric, self.wide)]


class ScoreGroup(Strict):
    """Scores by the same rules: one group in a store."""

    task: str | None = None
    """Task of mirflow; None: another one, so that every metric has to declare itself."""
    name: Annotated[str, AfterValidator(identifier)] = ""
    """Name of the group in the store; default: the task."""
    convention: str | None = None
    """Rules and parameters; default: those of mir_eval."""
    tables: list[ScoreFile] = Field(min_length=1)
    """Where the scores are."""
    tracks: Tracks | None = None
    """Metadata of the tracks, as in a pipeline."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if isinstance(data, dict) and "name" not in data:
            return {**data, "name": data["task"] if isinstance(data.get("task"), str) else "scores"}
        return data


class TableMapping(Strict):
    """A mapping file: which metric is in which column of which table."""

    name: str
    """For people."""
    root: str = "."
    """Folder that the paths below are relative to, itself relative to the file's folder."""
    groups: list[ScoreGroup] = Field(min_length=1)
    """What the tables hold."""
