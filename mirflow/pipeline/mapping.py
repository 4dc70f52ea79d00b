"""What a mapping file may say: which scores the tables of others hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, PlainValidator, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from ..errors import AnnotationError
from ..readers.patterns import Pattern
from ..readers.scoretables import TableLayout
from .model import IndexOrName, Tracks, identifier
from .strict import Strict

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "whitespace": None}


def _scale(value: Any) -> float:
    if value in ("ratio", "percent") and isinstance(value, str):
        return 1.0 if value == "ratio" else 0.01
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ValueError(f"must be ratio, percent or a number above 0 to multiply by, not {value!r}")
    return float(value)


def _pattern(text: str) -> str:
    try:
        Pattern(text)
    except AnnotationError as error:
        raise ValueError(str(error)) from None
    return text


def _column(data: Any) -> Any:
    """A column's name or number alone stands for the whole."""
    return {"column": data} if isinstance(data, (str, int)) and not isinstance(data, bool) else data


def _or_column(schema: JsonSchemaValue) -> JsonSchemaValue:
    return {"anyOf": [{"type": ["string", "integer"], "description": "A column."}, schema]}


Scale = Annotated[
    float,
    PlainValidator(_scale),
    WithJsonSchema({"anyOf": [{"enum": ["ratio", "percent"]}, {"type": "number", "exclusiveMinimum": 0}]}),
]
PathPattern = Annotated[str, AfterValidator(_pattern)]
Decision = Literal["missing", "zero"]


class Names(Strict):
    """Where the names of tracks or of systems are, and what becomes of them; just a column's name, or an object."""

    column: IndexOrName | None = None
    """The column that holds them, by its name or counted from 0; default: a placeholder of path or headings does."""
    name: str | None = None
    """One name for the whole table."""
    pattern: PathPattern | None = None
    """How the table writes them, '{track}_tutti.mid': the placeholder is the name."""
    rename: dict[str, str] = Field(default_factory=dict)
    """The table's names to those of the store."""

    @model_validator(mode="before")
    @classmethod
    def _from_column(cls, data: Any) -> Any:
        return _column(data)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return _or_column(handler.resolve_ref_schema(handler(schema)))

    @model_validator(mode="after")
    def _check(self) -> Names:
        if self.column is not None and self.name is not None:
            raise ValueError("gives a column and a name; one of them is enough")
        if self.pattern is not None and len(Pattern(self.pattern).names) != 1:
            raise ValueError(f"pattern needs one placeholder: {self.pattern!r}")
        return self


class ScoreColumn(Strict):
    """A metric in a table: just its column, or an object. A metric of no task of mirflow declares its orientation."""

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

    @model_validator(mode="before")
    @classmethod
    def _from_column(cls, data: Any) -> Any:
        return _column(data)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return _or_column(handler.resolve_ref_schema(handler(schema)))


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
    delimiter: str = "comma"
    """A character, or comma, semicolon, tab, whitespace."""
    skip: int = Field(default=0, ge=0)
    """Lines above the table."""
    header: bool | list[str] = True
    """Whether the first row names the columns, or the names where no row holds them."""
    comment: str = ""
    """Lines that begin with it are left out."""
    headings: list[PathPattern] = Field(default_factory=list)
    """Lines that say what the rows below them are about, 'Algorithm {system}'."""
    encoding: str = "utf-8"
    track: Names = Names()
    """Where the names of the tracks are."""
    system: Names = Names()
    """Where the names of the systems are."""
    where: dict[str, str] = Field(default_factory=dict)
    """Only rows in which these columns or placeholders hold these texts."""
    leave_out: list[str] = Field(default_factory=list)
    """Rows with these names of tracks, as the table writes them: averages."""
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
            raise ValueError(f"delimiter must be a character or one of {', '.join(_DELIMITERS)}: {self.delimiter!r}")
        if bool(self.metrics) == (self.wide is not None):
            raise ValueError("needs metrics (columns of metrics) or wide (columns of systems), and one of them only")
        for key, side in (("track", self.track), ("system", self.system)):
            said = [side.column is not None, side.name is not None, key in self.placeholders]
            if key == "system" and self.wide is not None:
                said.append(True)
            if sum(said) != 1:
                how = "nowhere" if not any(said) else "in two ways"
                raise ValueError(
                    f"names its {key}s {how}: write {{{key}}} in path or headings, or a column under {key!r}"
                )
        return self

    @property
    def placeholders(self) -> tuple[str, ...]:
        """Those of the path and of the headings, each once."""
        return tuple(dict.fromkeys(name for one in (self.path, *self.headings) for name in Pattern(one).names))

    def layout(self) -> TableLayout:
        """How the table is written."""
        return TableLayout(
            _DELIMITERS.get(self.delimiter, self.delimiter),
            self.skip,
            tuple(self.header) if isinstance(self.header, list) else self.header,
            self.comment,
            tuple(map(Pattern, self.headings)),
        )

    def declared(self) -> Iterable[tuple[str, ScoreColumn | Wide]]:
        """Every metric with what the mapping says of it."""
        return self.metrics.items() if self.wide is None else [(self.wide.metric, self.wide)]


class ScoreGroup(Strict):
    """Scores by the same rules: one group in a store."""

    task: str | None = None
    """What was compared; None: nothing that mirflow knows, so that every metric has to declare itself."""
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
    """A mapping file: which metric stands in which column of which table."""

    name: str
    """For people."""
    root: str = "."
    """Folder that the paths below are relative to, itself relative to the file's folder."""
    groups: list[ScoreGroup] = Field(min_length=1)
    """What the tables hold."""
