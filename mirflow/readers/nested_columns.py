"""Columns of Arrow tables and data frames with lists and structs, by paths such as ``chords.start``.

A path is the name of a column, followed by the names of fields of structs, inside of lists or around them; a last step
that is a number chooses an item of the innermost list (``intervals.0``). The depth of a path is the number of lists
around each of its values: 0 in tables with one row per item, 1 in tables with one row per track. The columns of a kind
are found by their usual names; dictionaries and numbers of classes are replaced by their values and names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from ..annotations.schema import HEADINGS, Kind
from ..errors import AnnotationError, InvalidAnnotationError, suggest
from ..ragged import Int, offsets_of
from .layouts import find_columns, heading


def import_arrow(what: str) -> Any:
    """Import pyarrow with its modules, or raise if it is not installed; `what` needs it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        message = f"{what} needs pyarrow: pip install 'mirflow[parquet]', or '.[parquet]' in a checkout"
        raise AnnotationError(message) from None
    return pyarrow


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column of values in a nested table."""

    path: str
    depth: int
    """Number of lists around each value."""
    parent: str = ""
    """Path of the struct that it is a field of; empty for a column."""
    type: Any = None
    """Arrow type of its values."""
    alias: str = ""
    """Name of a part of pairs: start or end."""

    @property
    def name(self) -> str:
        """Its name in the struct, or the column's."""
        return self.alias or (self.path.removeprefix(f"{self.parent}.") if self.parent else self.path)


def leaves_of(kind: Any, path: str = "", depth: int = 0, parent: str = "") -> Iterator[Leaf]:
    """The columns of values of a schema, or of a type at a path, in the order in which Parquet files store them."""
    arrow = import_arrow("nested columns")
    kind = getattr(kind, "storage_type", kind)
    if isinstance(kind, arrow.Schema | arrow.StructType):
        for field in kind:
            yield from leaves_of(field.type, f"{path}.{field.name}" if path else field.name, depth, path)
    elif hasattr(kind, "item_field"):  # a map: a list of keys and items
        yield from (Leaf(f"{path}.{name}", depth + 1, path) for name in ("key", "value"))
    elif hasattr(kind, "value_field"):
        yield from leaves_of(kind.value_type, path, depth + 1, parent)
    else:
        yield Leaf(path, depth, parent, getattr(kind, "value_type", kind))  # of a dictionary


def find_path(path: str, leaves: Sequence[Leaf]) -> Leaf:
    """The leaf that a path names, or a part of its items; raise if there is none.

    Examples
    --------
    >>> find_path("beats.tme", [Leaf("beats.time", 1, "beats"), Leaf("beats.label", 1, "beats")])
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: no column 'beats.tme'; did you mean 'beats.time'?
    """
    outer, _, item = path.rpartition(".")
    for leaf in leaves:
        if path == leaf.path:
            return leaf
        if outer == leaf.path and item.isdecimal() and leaf.depth:
            return Leaf(path, leaf.depth - 1, leaf.parent, leaf.type)
    inside = [leaf.path for leaf in leaves if leaf.path.startswith(f"{path}.")]
    hint = f"choose from {', '.join(inside)}" if inside else suggest(path, [leaf.path for leaf in leaves])
    raise InvalidAnnotationError(f"no column {path!r}; {hint}")


def follow(table: Any, path: str) -> Any:
    """The values at a path as an Arrow array, with one value or list for each row."""
    column = max((one for one in table.column_names if f"{path}.".startswith(f"{one}.")), key=len)
    array = table[column].combine_chunks()
    return _follow(getattr(array, "storage", array), path[len(column) + 1 :].split(".") if path != column else [])


def _follow(array: Any, steps: Sequence[str]) -> Any:
    if not steps:
        return array
    arrow = import_arrow("nested columns")
    if not hasattr(array.type, "value_field"):
        return _follow(arrow.compute.struct_field(array, steps[0]), steps[1:])
    if hasattr(array.type.value_type, "value_field") or not (len(steps) == 1 and steps[0].isdecimal()):
        return _with_items(array, lambda items: _follow(items, steps))
    (items, sizes), item = _items_of(array), int(steps[0])
    return items.take(arrow.array(offsets_of(sizes)[:-1] + item, arrow.int64(), mask=sizes <= item))


def _with_items(array: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert the items of an array of lists, which keep their lists."""
    arrow, (items, sizes) = import_arrow("nested columns"), _items_of(array)
    mask = array.is_null() if array.null_count else None
    offsets = arrow.array(offsets_of(sizes), arrow.int64())
    return arrow.LargeListArray.from_arrays(offsets, convert(items), mask=mask)


def _items_of(array: Any) -> tuple[Any, Int]:
    """The items of an array of lists, and their number in each."""
    compute = import_arrow("nested columns").compute
    sizes = compute.fill_null(compute.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    return compute.list_flatten(array), sizes.astype(np.int64)


_PAIRS = ("intervals", "interval")
"""Names of columns of pairs of a start and an end."""


def infer_paths(kind: Kind, leaves: Sequence[Leaf]) -> dict[str, Leaf]:
    """The leaves that hold the columns of a kind, by their usual names.

    They are columns, or else the fields of the only struct that has all that are needed, at the same depth; lists are
    preferred to single values.

    Raises `InvalidAnnotationError`: no columns, or several structs, have the names.
    """
    groups: dict[tuple[bool, int, str], list[Leaf]] = {}
    for leaf in leaves:
        parts = [leaf]
        if leaf.name in _PAIRS and leaf.depth and "end" in kind.columns:
            parts = [
                Leaf(f"{leaf.path}.{place}", leaf.depth - 1, leaf.parent, leaf.type, part)
                for place, part in enumerate(("start", "end"))
            ]
        for one in parts:
            groups.setdefault((leaf.parent != "", -one.depth, leaf.parent), []).append(one)
    found: dict[tuple[bool, int], list[dict[str, Leaf]]] = {}
    for (nested, depth, _), own in sorted(groups.items()):
        places = find_columns(kind, [leaf.name for leaf in own])
        if depth >= -1 and any(set(way) <= places.keys() for way in kind.needed):
            found.setdefault((nested, depth), []).append({name: own[place] for name, place in places.items()})
    best = next(iter(found.values()), [])
    named = best[0] if best else dict.fromkeys(kind.needed[0], Leaf("NAME", 0))
    declare = f"declare columns: {{track: NAME, {', '.join(f'{name}: {leaf.path}' for name, leaf in named.items())}}}"
    if not best:
        listed = ", ".join(leaf.path for leaf in leaves)
        raise InvalidAnnotationError(f"no column holds {' and '.join(kind.needed[0])} ({listed}); {declare}")
    if len(best) > 1:
        parents = ", ".join(next(iter(one.values())).parent for one in best)
        raise InvalidAnnotationError(f"several columns hold {kind.name} ({parents}); {declare}")
    headings = {name for column in kind.columns for name in kind.headings.get(column, HEADINGS.get(column, ()))}
    beside = {(one.parent, one.depth) for one in best[0].values()}
    for leaf in leaves:
        if (leaf.parent, leaf.depth) in beside and heading(leaf.name) in _OF_KINDS - headings:
            message = f"the column {leaf.path!r} does not belong to {kind.name}; choose another task, or {declare}"
            raise InvalidAnnotationError(message)
    return best[0]


_OF_KINDS = frozenset(name for column in ("end", "frequency", "pitch") for name in HEADINGS[column])
"""Names of columns without which times would be read as annotations of another kind."""


def bytes_of_texts(array: Any) -> int:
    """Bytes of the texts of an Arrow array of dictionaries, or of lists of these, outside of the dictionaries."""
    compute = import_arrow("nested columns").compute
    while hasattr(array.type, "value_field"):
        array = compute.list_flatten(array)
    if not hasattr(array, "dictionary") or not hasattr(array.dictionary, "buffers"):
        return 0
    return int(compute.sum(compute.binary_length(array.dictionary).take(array.indices)).as_py() or 0)


def without_dictionaries(array: Any) -> Any:
    """Replace the dictionaries of an Arrow array, or in its lists, by their values."""
    if hasattr(array.type, "value_field"):
        return _with_items(array, without_dictionaries)
    return array.dictionary_decode() if hasattr(array, "dictionary") else array


def class_names(schema: Any) -> dict[str, list[str]]:
    """Names of the classes of columns that hold their numbers, by the metadata of data sets of Hugging Face."""
    try:
        declared = msgspec.json.decode((getattr(schema, "metadata", None) or {})[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, msgspec.DecodeError):
        return {}
    names: dict[str, list[str]] = {}
    for column, feature in declared.items() if isinstance(declared, dict) else ():
        inner = feature.get("feature", feature) if isinstance(feature, dict) else {}
        if isinstance(inner, dict) and inner.get("_type") == "ClassLabel" and isinstance(inner.get("names"), list):
            names[column] = list(map(str, inner["names"]))
    return names


def name_classes(array: Any, names: Sequence[str] | None) -> Any:
    """Replace numbers of classes in an Arrow array, or in its lists, by their names; others become null.

    Examples
    --------
    >>> import pyarrow
    >>> name_classes(pyarrow.array([[1, 0], [-1]]), ["blues", "rock"]).to_pylist()
    [['rock', 'blues'], [None]]
    """
    if names is None:
        return array
    arrow = import_arrow("nested columns")
    if hasattr(array.type, "value_field"):
        return _with_items(array, lambda items: name_classes(items, names))
    compute = arrow.compute
    if not arrow.types.is_integer(array.type):
        return array
    known = compute.and_(compute.greater_equal(array, 0), compute.less(array, len(names)))
    return arrow.array(names).take(compute.if_else(known, array, None))


def struct_columns(name: str, column: Any) -> dict[str, list[Any]]:
    """The fields of a column of structs, or of lists of them, by their paths; empty for other columns.

    The column is that of an Arrow table or a data frame of pandas or polars.
    """
    if not hasattr(column, "type") and hasattr(column, "to_arrow"):  # polars
        if not column.dtype.is_nested():
            return {}
        column = column.to_arrow()
    elif not hasattr(column, "type"):
        values = column if isinstance(column, list) else np.asarray(column)
        if not isinstance(values, list) and values.dtype != object:
            return {}
        item: Any = next((one for one in values if one is not None and (not hasattr(one, "__len__") or len(one))), None)
        inner = item[0] if isinstance(item, list) or getattr(item, "ndim", False) else item
        if not isinstance(inner, dict):
            return {}
        arrow = import_arrow("a column of dicts")
        try:
            column = arrow.array(list(values), from_pandas=True)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError):
            return {}  # mixed: not a column of annotations
    table = import_arrow(f"the column {name!r} of structs").table({name: column})
    leaves = [leaf for leaf in leaves_of(table.schema) if leaf.parent]
    return {leaf.path: follow(table, leaf.path).to_pylist() for leaf in leaves}
