"""Plain values as arrays that any Zarr reader understands, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .content import Entry

Array = npt.NDArray[Any]


def strings(values: Iterable[str]) -> Array:
    """Text as variable-length strings; what is not valid UTF-8 (a file name's stray bytes) is written as escapes."""
    values = list(values)
    try:
        return np.array(values, dtype=np.dtypes.StringDType())
    except UnicodeEncodeError:
        escaped = [value.encode("utf-8", "backslashreplace").decode("utf-8") for value in values]
        return np.array(escaped, dtype=np.dtypes.StringDType())


def column(values: Sequence[Entry]) -> Array:
    """Entries of a coordinate as one array.

    All bool: bool. All int: int64. Numbers with floats or gaps: float64, gaps NaN. Everything else: text, gaps
    empty.

    Examples
    --------
    >>> column([1984, None]).tolist(), column(["rock", None]).tolist(), column([True, None]).tolist()
    ([1984.0, nan], ['rock', ''], ['true', ''])
    """
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    whole = len(present) == len(values) and bool(present)
    if kinds == {bool} and whole:
        return np.array(values, dtype=np.bool_)
    if kinds == {int} and whole and all(-(2**63) <= int(value) < 2**63 for value in present):
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= {int, float}:
        return np.array([np.nan if value is None else float(value) for value in values])
    return strings(_text(value) for value in values)


def usable_text(array: Array) -> Array:
    """Text of a store as objects, which have a common type with NaN and with other text; other arrays as they are."""
    return array.astype(object) if array.dtype.kind == "T" else array


def _text(value: Entry) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def entries(array: Array) -> tuple[Entry, ...]:
    """A coordinate's array as plain values; NaN and empty text stay what they are."""
    return tuple(array.tolist())


_UNSAFE = re.compile(r"[\s/\\\x00-\x1f]+")


def safe_name(name: str) -> str:
    """A name that can be a variable: no blanks (the CF attribute ``coordinates`` separates by them), no slashes.

    Examples
    --------
    >>> safe_name("release year"), safe_name("__x"), safe_name("..")
    ('release_year', 'x', 'unnamed')
    """
    return _UNSAFE.sub("_", name.strip()).lstrip("_.") or "unnamed"


NESTED = "json"
"""The attribute that names those of the others that hold JSON."""


def plain_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that every format takes: what is nested as JSON, and in ``json`` the names of what is so.

    Examples
    --------
    >>> plain_attrs({"task": "chord", "versions": {"numpy": "2.4"}})
    {'task': 'chord', 'versions': '{"numpy": "2.4"}', 'json': 'versions'}
    """
    nested = [name for name, value in attrs.items() if _is_nested(value)]
    plain = {name: json.dumps(value) if name in nested else value for name, value in attrs.items()}
    return {**plain, NESTED: " ".join(nested)} if nested else plain


def _is_nested(value: object) -> bool:
    deep = isinstance(value, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in value)
    return value is None or isinstance(value, Mapping | bool) or deep


def nested_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that :func:`plain_attrs` made plain.

    Examples
    --------
    >>> nested_attrs(plain_attrs({"versions": {"numpy": "2.4"}}))
    {'versions': {'numpy': '2.4'}}
    """
    nested = str(attrs.get(NESTED, "")).split()
    return {name: json.loads(v) if name in nested else v for name, v in attrs.items() if name != NESTED}
