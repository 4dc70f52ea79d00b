"""Square matrices of distances in numpy's files, mapped into memory row by row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError, UnreadableError
from .content import decode, digest_of, open_file, read_bytes
from .options import Reading
from .ranker import Ranker
from .tables import Key, demand, name_files


@dataclass(frozen=True)
class ArrayMatrix:
    """A matrix in an ``.npy`` file; see :class:`mirflow.readers.tables.Table`."""

    name: str
    ranker: Ranker
    distances: npt.NDArray[np.float64]
    places: Mapping[Key, int]
    head: bytes

    @property
    def keys(self) -> Collection[Key]:
        """The queries: all items."""
        return self.places.keys()

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes; what is mapped does not count."""
        return 500 * len(self.places)

    def stamp(self, key: Key) -> tuple[int, int]:
        """Size and fingerprint of a row and of the names of the items."""
        data = self._row(key)
        return len(data), int(digest_of(self.head + data), 16) >> 1

    def read(self, key: Key) -> tuple[Annotation, str]:
        """The ranking that a row makes, and the digest of the row and of the names of the items."""
        data = self._row(key)
        row = np.asarray(self.distances[self.places[key]], dtype=np.float64)
        return self.ranker.rank(key.track, row, 0, self.name), digest_of(self.head + data)

    def _row(self, key: Key) -> bytes:
        demand(self, key, self.name)
        return bytes(self.distances[self.places[key]].tobytes())


def open_array(path: str, reading: Reading, name: str) -> ArrayMatrix:
    """The table in an ``.npy`` file that holds a square of distances.

    The names of the items stand one a line in a file beside it: ``x.txt`` for ``x.npy``, or ``items.txt`` for all.

    Raises
    ------
    UnreadableError
        If a file is not there, or is no array of numbers.
    InvalidAnnotationError
        If it is not square, or there are not as many names.
    """
    open_file(path, name).close()
    try:
        distances = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UnreadableError(f"is no array that can be read: {error}", path=name) from None
    if not isinstance(distances, np.ndarray):
        distances.close()
        raise UnreadableError("is an archive of arrays, not one array; save the matrix with numpy.save", path=name)
    if distances.dtype.kind not in "fiu":
        raise UnreadableError(f"is an array of {distances.dtype}, not of numbers", path=name)
    own, common = name_files(path)
    beside = [file for file in (own, common) if file.exists()]
    if not beside:
        message = f"names no items: write them one a line into {own.name} or {common.name} beside it"
        raise UnreadableError(message, path=name)
    listed = str(Path(name).with_name(beside[0].name))
    text = decode(read_bytes(beside[0], reading.max_bytes, listed), listed, reading.delimited.encoding)
    items = tuple(filter(None, map(str.strip, text.split("\n"))))
    if distances.shape != (len(items), len(items)):
        shape = " x ".join(map(str, distances.shape)) or "one number"
        raise InvalidAnnotationError(f"is {shape}, and {listed} names {len(items)} items", path=name)
    places = {Key(item): place for place, item in enumerate(items)}
    if len(places) < len(items):
        twice = next(item for place, item in enumerate(items) if places[Key(item)] != place)
        raise InvalidAnnotationError(f"names {twice!r} twice", path=listed)
    head = digest_of("\0".join(items).encode()).encode()
    return ArrayMatrix(name, Ranker(items, reading.exclude == "self"), distances, places, head)
