"""Names of the files of chunks in a folder, which are the keys of Zarr.

Stores join indices by dots (``c.5.0.0``), so that an array is one folder: in a store of a thousand systems, making
and removing a folder for each of their chunks takes ten times as long as linking the files. Repositories join them by
slashes (``c/5/0/0``). The bytes are the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

SEPARATOR = "."  # of indices in the names of files
CHUNK = re.compile(r"(?P<array>.*)/c(?:[/.]\d+)*")  # keys of chunks in a store, of both kinds


def chunk_key(metadata: Mapping[str, Any], place: Sequence[int]) -> str:
    """The key of a chunk in its array, by the metadata of the array."""
    separator = metadata["chunk_key_encoding"].get("configuration", {}).get("separator", "/")
    return str(separator).join(["c", *map(str, place)])


def chunk_encoding(separator: str) -> dict[str, Any]:
    """The metadata of an array that say how indices are joined."""
    return {"name": "default", "configuration": {"separator": separator}}


def folder_identity(folder: Path) -> tuple[int, int]:
    """Inode and time of change: a store that is made anew may get the inodes of the one that was removed."""
    found = folder.stat()
    return found.st_ino, found.st_ctime_ns


def chunk_files(array: Path) -> Mapping[int, Mapping[str, str]]:
    """The files of chunks in the folder of an array, by the first index, then by the others joined by dots."""
    return _listed(array, folder_identity(array))


def count_chunks(array: Path) -> int:
    """Number of files of chunks in the folder of an array."""
    return sum(map(len, chunk_files(array).values()))


@lru_cache(maxsize=64)
def _listed(array: Path, _made: tuple[int, int]) -> dict[int, dict[str, str]]:
    """Published arrays do not change, so they are listed once."""
    folder, rows = str(array), dict[int, dict[str, str]]()
    for file in os.listdir(folder):  # noqa: PTH208, a path for each of thousands of files takes longer
        first, _, place = file.partition(".")
        row, _, rest = place.partition(".")
        if first == "c" and (row or "0").isdecimal():
            rows.setdefault(int(row or 0), {})[rest] = f"{folder}{os.sep}{file}"
    return rows
