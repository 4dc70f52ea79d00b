"""Data as text that stands in a page and cannot be anything but data."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

LEVEL = 6


def to_json(value: Any) -> str:
    r"""JSON that no tag can be hidden in: nothing in it ends a script or starts a comment.

    Examples
    --------
    >>> to_json(["</script>", float("nan")])
    '["\\u003c/script\\u003e",null]'
    """
    try:
        text = _dump(value)
    except (TypeError, ValueError):
        text = _dump(_plain(value))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Only what JSON has: what is not finite is null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not np.isfinite(value) else value


class Blocks:
    """The compressed parts of a page, each of which is unpacked when it is looked at; equal ones stand once.

    Examples
    --------
    >>> blocks = Blocks()
    >>> blocks.add_json([1, 2]), blocks.add_json([3]), blocks.add_json([1, 2])
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def add_json(self, value: Any) -> int:
        """A value as JSON; the number of its block."""
        return self._add(to_json(value).encode())

    def add_floats(self, values: npt.NDArray[np.float64]) -> int:
        """Numbers, exact to the bit; the number of their block.

        The first bytes of all numbers stand together, then the second ones, and so on: signs and exponents of
        neighbours are alike, so that the block is much smaller.
        """
        plain = np.ascontiguousarray(values, dtype="<f8").ravel()
        return self._add(plain.view(np.uint8).reshape(-1, 8).T.tobytes())

    def add_bytes(self, values: npt.NDArray[np.uint8]) -> int:
        """Small numbers, one byte each; the number of their block."""
        return self._add(np.ascontiguousarray(values, dtype=np.uint8).tobytes())

    def _add(self, data: bytes) -> int:
        text = base64.b64encode(zlib.compress(data, LEVEL)).decode()
        return self._places.setdefault(text, len(self._places))

    def add_new_json(self, value: Any) -> tuple[int, int]:
        """A value as JSON; the number of its block, and how many characters it adds: none if it stood there before."""
        before = len(self._places)
        number = self.add_json(value)
        return number, len(next(reversed(self._places))) if len(self._places) > before else 0

    def drop_newest(self) -> None:
        """Leave out the block that was added last."""
        self._places.popitem()

    @property
    def texts(self) -> list[str]:
        """The blocks in the order of their numbers."""
        return list(self._places)
