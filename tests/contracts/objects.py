"""Annotations in memory, and tables of Parquet: columns by name in each form that is read, and changes of them."""

from __future__ import annotations

import importlib.util
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet

from mirflow.annotations.schema import kind_of
from mirflow.errors import MirflowError, MirflowWarning
from mirflow.readers import read
from mirflow.readers.objects import to_annotation

from .changes import WORD, Effect
from .documents import is_number
from .examples import TABLES
from .verdicts import Outcome

Values = dict[str, list[Any]]
_SCHEMA = {
    **dict.fromkeys(("chord", "key", "pedal", "beat", "drum", "tag", "item", "candidate"), "label"),
    **dict.fromkeys(("score", "fine"), "value"),
}


@cache
def columns_of(task: str) -> Mapping[str, tuple[Any, ...]]:
    """The columns of a small annotation of a task, by their names in memory."""
    held = {_SCHEMA.get(name, name): values for name, values in TABLES[task].items()}
    if task == "hierarchy":
        held["level"] = ("upper", "lower", "lower")
    numbers = {one.name for one in kind_of(task).variables if one.dtype == "float64"}
    return {name: tuple(map(float, values)) if name in numbers else values for name, values in held.items()}


@dataclass(frozen=True)
class Form:
    """One way to hand over columns."""

    make: Callable[[Values, Path], Any]
    frame: bool = True
    """Whether columns that the task does not have may be there."""


def _parquet(values: Values, folder: Path) -> Path:
    path = folder / "a.parquet"
    parquet.write_table(arrow.table(values), path)
    return path


def _arrays(values: Values, folder: Path) -> dict[str, Any]:
    return {name: np.array(held) for name, held in values.items()}


FORMS: dict[str, Form] = {
    "dict": Form(lambda values, folder: dict(values), frame=False),
    "arrays": Form(_arrays, frame=False),
    "pandas": Form(lambda values, folder: pd.DataFrame(values)),
    "arrow": Form(lambda values, folder: arrow.table(values)),
    "parquet": Form(_parquet),
}
if importlib.util.find_spec("polars") is not None:
    import polars

    FORMS["polars"] = Form(lambda values, folder: polars.DataFrame(values, strict=False))


def outcome_of_object(form: str, task: str, values: Values, folder: Path) -> Outcome | None:
    """What becomes of columns in a form; None if the library of the form cannot hold them."""
    try:
        thing = FORMS[form].make(values, folder)
    except (TypeError, ValueError, OverflowError, arrow.ArrowException):
        return None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MirflowWarning)
        try:
            annotation = read(thing, task=task) if isinstance(thing, Path) else to_annotation(thing, task)
        except MirflowError as error:
            return Outcome({}, frozenset(), error)
    remarks = {(one.rule, one.message) for one in annotation.account}
    remarks |= {("warning", str(one.message)) for one in caught if issubclass(one.category, MirflowWarning)}
    return Outcome({"": annotation}, frozenset(remarks))


@dataclass(frozen=True)
class ColumnChange:
    """One change of columns."""

    name: str
    effect: Effect
    make: Callable[[Values, Random], Values | None]
    mark: str = ""
    one_line: bool = False
    rules: tuple[str, ...] = ()


CHANGES: list[ColumnChange] = []


def _change(effect: Effect, *, mark: str = "", rules: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        name = make.__name__.strip("_").replace("_", " ")
        CHANGES.append(ColumnChange(name, effect, make, mark, rules=tuple(rules.split())))
        return make

    return register


def _size(values: Values) -> int:
    return len(next(iter(values.values())))


_SEPARATING = ("model", "run", "split")
"""Columns of which one value is no content."""
_HEADINGS = ("mode", "quality", "inversion", "loudness", "weight2")


def _heading(values: Values, random: Random) -> str:
    return random.choice((*_HEADINGS, *_SEPARATING) if _size(values) > 1 else _HEADINGS)


@_change("more")
def _column_of_words(values: Values, random: Random) -> Values:
    return {**values, _heading(values, random): [f"{WORD}{row % 2}" for row in range(_size(values))]}


@_change("more")
def _column_of_numbers(values: Values, random: Random) -> Values:
    added = {_heading(values, random): [7.25 + row % 2 for row in range(_size(values))]}
    return {**added, **values} if random.random() < 0.5 else {**values, **added}


@_change("more")
def _row_twice(values: Values, random: Random) -> Values:
    row, place = random.randrange(_size(values)), random.randrange(_size(values) + 1)
    return {name: [*held[:place], held[row], *held[place:]] for name, held in values.items()}


@_change("more")
def _all_rows_twice(values: Values, random: Random) -> Values:
    return {name: [*held, *held] for name, held in values.items()}


@_change("order")
def _rows_in_another_order(values: Values, random: Random) -> Values:
    order = random.sample(range(_size(values)), _size(values))
    return {name: [held[row] for row in order] for name, held in values.items()}


@_change("none")
def _columns_in_another_order(values: Values, random: Random) -> Values:
    return {name: values[name] for name in random.sample(list(values), len(values))}


@_change("other")
def _value_that_is_none(values: Values, random: Random) -> Values:
    name, row = random.choice(list(values)), random.randrange(_size(values))
    numbers = (None, float("nan"), float("inf"), 12345678901234567890.0)
    value = random.choice(numbers if isinstance(values[name][row], float) else (None, ""))
    return {**values, name: [*values[name][:row], value, *values[name][row + 1 :]]}


@_change("none")
def _other_form_of_texts(values: Values, random: Random) -> Values | None:
    names = [name for name, held in values.items() if isinstance(held[0], str) and not is_number(held[0])]
    if not names:
        return None
    name = random.choice(names)
    forms: tuple[Callable[[str], str], ...] = (
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: f" {text}",
        lambda text: f"{text}\u00a0",
        lambda text: text.replace(" ", "  "),
    )
    return {**values, name: list(map(random.choice(forms), values[name]))}


@_change("other")
def _time_in_another_unit(values: Values, random: Random) -> Values | None:
    name = next((name for name in ("time", "start") if name in values and "detected" not in values), None)
    return (
        None if name is None else {f"{name} (ms)" if name == other else other: held for other, held in values.items()}
    )


@_change("none")
def _numbers_of_other_types(values: Values, random: Random) -> Values:
    def whole(held: list[Any]) -> list[Any]:
        fits = all(isinstance(value, float) and value.is_integer() for value in held)
        return list(map(int, held)) if fits else held

    return {name: whole(held) for name, held in values.items()}


def cases() -> Iterator[tuple[str, str]]:
    """Each form with each task that it can hold."""
    for form in FORMS:
        for task in TABLES:
            yield form, task


def values_of(task: str, form: str = "") -> Values:
    """The columns of a task, to be changed; a file has one level of a hierarchy."""
    return {name: list(held) for name, held in columns_of(task).items() if (name, form) != ("level", "parquet")}
