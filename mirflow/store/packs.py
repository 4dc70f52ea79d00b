"""Annotations of a pack as sources, read wherever files are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ..annotations.annotation import Annotation, Attribute, from_ragged
from ..errors import StoreError, UnreadableError
from .pack import Pack
from .pack_reading import read_pack


@dataclass(frozen=True, slots=True)
class PackSource:
    """The annotation of one track of a pack; immutable, hashable, picklable.

    Parameters
    ----------
    path : str
        The pack; absolute if other processes are to read it.
    track : str
    kind : str
        Kind of the annotations in the pack.
    name : str
        What to call the pack in messages; empty: its path.
    found : (int, int) or None
        What `stat` answers, where the pack was open when the source was made.
    """

    path: str
    track: str
    kind: str
    name: str = ""
    found: tuple[int, int] | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """The pack's name with the track in brackets."""
        return f"{self.name or self.path} [{self.track}]"

    def stat(self) -> tuple[int, int]:
        """Number of items, and a number made from the digest of the contents.

        The second takes the place of a file's time of modification: a track that is the same in a pack that was
        written again counts as unchanged.
        """
        if self.found is not None:
            return self.found
        pack, row = self._row()
        return _fingerprint(pack, row)

    def read(self) -> tuple[Annotation, str]:
        """The annotation and the digest of its contents.

        Raises
        ------
        UnreadableError
            If the pack is gone or damaged, or has lost the track.
        """
        pack, row = self._row()
        known: dict[str, Attribute] = {"source": self.label, "namespace": "", **pack.attrs}
        for name, values in pack.track_attrs.items():
            value = values[row]
            if value is not None and value != "" and value == value:
                known[name] = value
        return from_ragged(pack.kind, pack.row(row), 0, known), pack.digests[row]

    def _row(self) -> tuple[Pack, int]:
        try:
            pack = opened(self.path)
        except StoreError as error:
            raise UnreadableError(str(error)) from None
        if self.track not in pack.row_of:
            raise UnreadableError(f"the track {self.track!r} is not in this pack any more", path=self.name or self.path)
        return pack, pack.row_of[self.track]


def _fingerprint(pack: Pack, row: int) -> tuple[int, int]:
    return int(pack.rows.counts[0][row]), int(pack.digests[row], 16) >> 1


def opened(path: str) -> Pack:
    """A pack, read once per process for as long as it does not change.

    Raises
    ------
    StoreError
        If there is no pack, or a damaged one.
    """
    try:
        status = (Path(path) / "zarr.json").stat()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None
    return _read(path, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=8)
def _read(path: str, _changed: int, _inode: int) -> Pack:
    return read_pack(path)


def open_pack(path: str | Path, name: str = "") -> Mapping[str, PackSource]:
    """The annotations of a pack, by track, in the order of the pack.

    Parameters
    ----------
    path : str or path
    name : str
        What to call the pack in messages, such as its path below a root; empty: its absolute path.

    Raises
    ------
    StoreError
        If there is no pack, or a damaged one.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mirflow.ragged import Ragged
    >>> from mirflow.store import write_pack
    >>> rows = Ragged({"time": np.array([0.5, 1.0, 0.7])}, (np.array([2, 1]),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_pack(f"{folder}/beats.zarr", "events", ["a", "b"], rows)
    ...     annotation, digest = open_pack(f"{folder}/beats.zarr")["b"].read()
    >>> annotation.columns["time"].tolist()
    [0.7]
    """
    where = str(Path(path).absolute())
    pack = opened(where)
    return {
        track: PackSource(where, track, pack.kind, name, _fingerprint(pack, row))
        for row, track in enumerate(pack.tracks)
    }
