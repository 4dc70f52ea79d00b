"""Plain objects of a block converted at once: arrays and lists are joined, and checked as one array of many tracks.

Only regular objects are converted here: arrays of numbers, lists of float and int, and lists of str, by themselves, in
a tuple or in a dict, of kinds with one row per item. All others, such as those with an error, are left to
`to_annotation`, which returns the same annotation for regular objects and describes the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, encode
from ..annotations.schema import TASK_KINDS, Kind
from ..annotations.source import Source
from ..errors import AnnotationError
from ..ragged import Bool, Column, Float, Int, Ragged, rows_of
from ..theory.text_form import are_normal
from .label_maps import in_normal_form
from .objects import VOCABULARY, ObjectSource, is_path, kind_named

_FLAT = frozenset({"events", "intervals", "notes", "hits", "pedals", "series", "tempo"})
"""Kinds with one row per item."""
_NUMBERS = frozenset({float, int, np.float64, np.float32, np.int64, np.int32})
"""Types of items of lists that are converted at once."""

Regular = tuple[Bool, Column, Int]
"""Which values are regular, the items of those, joined, and their counts."""


def read_objects(sources: Sequence[Source]) -> tuple[list[tuple[Int, Ragged]], dict[int, Annotation]]:
    """Convert plain objects among the sources of a task at once, as their ``read`` would.

    Returns `rows` (list of (int64 (rows,), Ragged)): places of sources, and their annotations as rows of common
    columns. `single`: other annotations by the place of their source. Equal texts are the same annotation.
    """
    every = [(place, source) for place, source in enumerate(sources) if type(source) is ObjectSource]
    objects = [(place, one) for place, one in every if not (one.options and one.options.keys() & VOCABULARY)]
    if not objects or objects[0][1].task not in TASK_KINDS:
        return [], {}
    kind = kind_named(objects[0][1].task)
    single: dict[int, Annotation] = {}
    texts: dict[str, Annotation | None] = {}
    forms: dict[tuple[Any, ...], list[int]] = {}
    for place, source in objects:
        thing = source.thing
        form = type(thing)
        if form is np.ndarray or form is list:
            forms.setdefault((form,), []).append(place)
        elif form is tuple:
            forms.setdefault((form, *map(type, thing)), []).append(place)
        elif form is dict:
            forms.setdefault((form, *thing, *map(type, thing.values())), []).append(place)
        elif form is str:
            if thing not in texts:  # a path, or what has an error, is None
                texts[thing] = None
                if kind.written and not is_path(thing, kind):
                    with suppress(AnnotationError):
                        texts[thing] = source.read()[0]
            if (annotation := texts[thing]) is not None:
                single[place] = annotation
        elif form is Annotation and thing.kind == kind.name:
            single[place] = in_normal_form(thing)
    rows: list[tuple[Int, Ragged]] = []
    for places in forms.values() if kind.name in _FLAT else ():
        things = [sources[place].thing for place in places]  # type: ignore[attr-defined]
        first = things[0]
        given: dict[str, Sequence[Any]] = {}
        if isinstance(first, dict):
            given = dict(zip(first, zip(*(thing.values() for thing in things), strict=True), strict=True))
        elif not isinstance(first, tuple):
            given = {kind.arguments[0]: things}
        elif first and type(first[0]) in (np.ndarray, list) and len(first) <= len(kind.arguments):
            given = dict(zip(kind.arguments, zip(*things, strict=True), strict=False))
        # A tuple of numbers is itself the first argument, and left out.
        if isinstance(first, tuple | dict):
            given = {name: values for name, values in given.items() if values[0] is not None}
        converted = _rows_of(kind, given)
        if converted is not None:
            regular, joined = converted
            rows.append((np.array(places, dtype=np.int64)[regular], joined))
    return rows, single


def _rows_of(kind: Kind, given: dict[str, Sequence[Any]]) -> tuple[Bool, Ragged] | None:
    """Which objects are regular, and rows of those; None if none is."""
    weight = given.pop("weight", None) if kind.name == "tempo" else None
    numbers = {one.name for one in kind.variables} - kind.texts - kind.flags
    columns: dict[str, Regular] = {}
    for name, held in given.items():
        if name == "label":
            found = _texts(held)
        elif name == "intervals" and "intervals" in kind.arguments:
            found = _pairs(held)
        else:
            found = _numbers(held) if name in numbers else None
        if found is None:
            return None
        columns[name] = found
    if not columns:
        return None
    first = next(iter(columns.values()))
    regular, size = first[0].copy(), _sizes(first)
    for one in columns.values():
        regular &= one[0] & (_sizes(one) == size)
    if weight is not None:
        # The share of the first of two tempi in their salience.
        regular &= [type(share) is float and 0 <= share <= 1 for share in weight]
        regular &= size == 2
    if not regular.any():
        return None
    parts: dict[str, Column] = {}
    for name, (known, items, counts) in columns.items():
        kept = items if regular[known].all() else items[np.repeat(regular[known], counts)]
        parts |= {"start": kept[:, 0].copy(), "end": kept[:, 1].copy()} if name == "intervals" else {name: kept}
    if set(kind.required) - parts.keys() or len(parts) != len(columns) + ("intervals" in columns):
        return None
    if weight is not None:
        share = np.array([share for share, kept in zip(weight, regular.tolist(), strict=True) if kept])
        parts["salience"] = np.column_stack([share, 1 - share]).ravel()
    labels: dict[str, int] = {}
    if "label" in parts:
        parts["label"] = encode([parts["label"].tolist()], labels)
        if not are_normal([*labels]):
            return None
    rows = Ragged(parts, (size[regular],), tuple(labels))
    if kind.arguments[:2] == ("time", "frequency"):
        # Rows whose times decrease may be frequencies and times in the wrong order.
        time, owner = rows.columns["time"], rows_of(rows.counts[0])
        ordered = np.ones(len(rows), dtype=np.bool_)
        ordered[owner[1:][(time[1:] < time[:-1]) & (owner[1:] == owner[:-1])]] = False
        if not ordered.all():
            regular[np.flatnonzero(regular)[~ordered]] = False
            rows = rows.take(np.flatnonzero(ordered))
    return regular, rows


def _sizes(values: Regular) -> Int:
    """Number of items of each value; -1 for irregular ones."""
    regular, _, counts = values
    if len(counts) == len(regular):
        return counts
    sizes = np.full(len(regular), -1, dtype=np.int64)
    sizes[regular] = counts
    return sizes


def _mask(values: Sequence[bool]) -> Bool:
    return np.array(values, dtype=np.bool_)


def _numbers(values: Sequence[Any]) -> Regular | None:
    """Arrays with one dim, or lists of numbers, as one array of float64."""
    if type(values[0]) is np.ndarray:
        regular = _mask([value.ndim == 1 and value.dtype.kind in "iuf" for value in values])
        return _joined_arrays(values, regular, (0,))
    if type(values[0]) is list:
        regular = np.ones(len(values), dtype=np.bool_)
        if not set(map(type, chain.from_iterable(values))) <= _NUMBERS:
            regular = _mask([set(map(type, value)) <= _NUMBERS for value in values])
        return _joined_lists(values, regular)
    return None


def _pairs(values: Sequence[Any]) -> Regular | None:
    """Arrays (n, 2), or lists of lists or tuples of two numbers, as one array of float64."""
    if type(values[0]) is np.ndarray:
        regular = _mask([value.ndim == 2 and value.shape[1] == 2 and value.dtype.kind in "iuf" for value in values])
        return _joined_arrays(values, regular, (0, 2))
    if type(values[0]) is list:
        pairs = [{*map(type, value)} <= {list, tuple} and {*map(len, value)} <= {2} for value in values]
        flat = [list(chain.from_iterable(value)) if pair else [] for value, pair in zip(values, pairs, strict=True)]
        regular = _mask([pair and {*map(type, own)} <= _NUMBERS for own, pair in zip(flat, pairs, strict=True)])
        found = _joined_lists(flat, regular)
        return None if found is None else (regular, found[1].reshape(-1, 2), found[2] // 2)
    return None


def _kept(values: Sequence[Any], regular: Bool) -> tuple[Sequence[Any], Int]:
    """The regular values, and their number of items."""
    kept = values if regular.all() else [value for value, held in zip(values, regular.tolist(), strict=True) if held]
    return kept, np.fromiter(map(len, kept), dtype=np.int64, count=len(kept))


def _joined_arrays(values: Sequence[Column], regular: Bool, empty: tuple[int, ...]) -> Regular:
    kept, counts = _kept(values, regular)
    joined: Float = np.concatenate(kept, dtype=np.float64, casting="unsafe") if kept else np.zeros(empty)
    return regular, joined, counts


def _joined_lists(values: Sequence[list[Any]], regular: Bool) -> Regular | None:
    kept, counts = _kept(values, regular)
    try:
        return regular, np.array(list(chain.from_iterable(kept)), dtype=np.float64), counts
    except OverflowError:
        return None


def _texts(values: Sequence[Any]) -> Regular | None:
    """Lists of text, as one array of objects."""
    if type(values[0]) is not list:
        return None
    regular = np.ones(len(values), dtype=np.bool_)
    if not set(map(type, chain.from_iterable(values))) <= {str}:
        regular = _mask([set(map(type, value)) <= {str} for value in values])
    kept, counts = _kept(values, regular)
    joined = np.empty(int(counts.sum()), dtype=object)
    joined[:] = list(chain.from_iterable(kept))
    return regular, joined, counts
