"""Plain values as arrays that any Zarr reader understands, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
