"""Snapshots of stores: a store at one generation, read once and shared by all requests."""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, TypeVar

from ...analysis.missing import without_quotes
from ...errors import StoreError, UnknownNameError
from ...store.generations import generation_number, resolve
from ...store.read import read_scores

if TYPE_CHECKING:
    import xarray as xr

T = TypeVar("T")

_ROOT = "zarr.json"
_LOADED = ("score", "weight", "status", "duration", "message")
"""Variables kept in memory for each evaluation; a later run may remove the files of the others."""
MOST_BYTES = 1_000_000_000
"""Limit for the scores in memory, all stores together."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A store at one generation."""

    name: str
    """Name of the store in addresses."""
    folder: Path
    """Folder of the generation, or of a store without generations."""
    number: int
    """Number of the generation; 0 without generations."""
    token: str
    """Identifies the generation, even if the store was removed and created again: ``12-9f3c01ab``."""
    quotes: bool = True
    """Whether messages and warnings may quote references; otherwise they are replaced."""
    _making: defaultdict[str, RLock] = field(default_factory=lambda: defaultdict(RLock), repr=False)

    @cached_property
    def boards(self) -> dict[str, xr.Dataset]:
        """The evaluations by name, with scores, weights, statuses, durations and messages loaded."""
        boards = read_scores(self.folder)
        for ds in boards.values():
            for name in _LOADED:
                if name in ds.variables:
                    ds.variables[name].load()
        return boards if self.quotes else {name: without_quotes(ds) for name, ds in boards.items()}

    @cached_property
    def tree(self) -> xr.DataTree:
        """The evaluations as a tree."""
        import xarray as xr

        return xr.DataTree.from_dict(dict(self.boards))

    @cached_property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """Zarr metadata of groups and arrays by path; the path of the root is empty."""
        try:
            root = json.loads((self.folder / _ROOT).read_bytes())
        except OSError:
            raise StoreError(f"generation {self.token} of {self.name} is gone") from None
        return {"": root, **root.pop("consolidated_metadata", {}).get("metadata", {})}

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(ds.variables[name].nbytes for ds in self.boards.values() for name in _LOADED if name in ds.variables)

    def once(self, what: str, make: Callable[[], T]) -> T:
        """Compute a value from the snapshot once, in one thread for all requests."""
        with self._making[what]:
            if what not in self._made:
                self._made[what] = make()
            value: T = self._made[what]
            return value

    @cached_property
    def _made(self) -> dict[str, Any]:
        return {}

    def is_gone(self) -> bool:
        """True if later runs have removed the generation."""
        return not (self.folder / _ROOT).is_file()


class Stores:
    """The stores of a server by name.

    `paths`: stores, each of which may appear, be published anew or be removed at any time.
    `most_bytes`: limit for the scores in memory, all stores together; at least those of one store are kept.
    `quoteless`: names of the stores whose messages and warnings must not quote references.
    """

    def __init__(
        self, paths: Mapping[str, str | Path], most_bytes: int = MOST_BYTES, quoteless: Collection[str] = ()
    ) -> None:
        self.paths = {name: Path(path) for name, path in paths.items()}
        # As text: joining a Path anew takes longer than the access to the disk.
        self._places = {name: os.path.join(path, _ROOT) for name, path in self.paths.items()}  # noqa: PTH118
        self._most_bytes = most_bytes
        self._quoteless = frozenset(quoteless)
        self._current: dict[str, tuple[tuple[int, ...], Snapshot]] = {}
        self._read: OrderedDict[Snapshot, int] = OrderedDict()
        self._lock, self._finding = Lock(), Lock()

    def __iter__(self) -> Iterator[str]:
        """Names of the stores that currently exist."""
        return (name for name, path in self.paths.items() if (path / _ROOT).is_file())

    def __contains__(self, name: object) -> bool:
        return name in self.paths

    def current(self, name: str) -> Snapshot:
        """Return the snapshot of the current generation."""
        path = self.paths.get(name)
        if path is None:
            raise UnknownNameError("store", name, self.paths)
        signature = _signature(self._places[name])
        current = self._current.get(name)
        if signature is not None and current is not None and current[0] == signature:
            return current[1]
        with self._finding:
            while True:
                folder = resolve(path)
                signature = _signature(folder / _ROOT)
                if signature is not None:
                    break
            current = self._current.get(name)
            if current is None or current[0] != signature:
                current = self._current[name] = signature, self._snapshot(name, folder, signature)
        return current[1]

    def pinned(self, name: str, token: str) -> Snapshot:
        """Return the snapshot of a generation that still exists."""
        current = self.current(name)
        if current.token == token:
            return current
        number = token.partition("-")[0]
        if current.number and number.isdecimal():
            folder = current.folder.with_name(f"generation-{int(number):06d}")
            signature = _signature(folder / _ROOT)
            if signature is not None and (earlier := self._snapshot(name, folder, signature)).token == token:
                return earlier
        raise StoreError(f"generation {token} of {name} is gone; the current one is {current.token}")

    def before(self, snapshot: Snapshot) -> Snapshot | None:
        """Return the previous generation, if it still exists."""
        folder = snapshot.folder.with_name(f"generation-{snapshot.number - 1:06d}")
        signature = _signature(folder / _ROOT) if snapshot.number > 1 else None
        return None if signature is None else self._snapshot(snapshot.name, folder, signature)

    def read(self, snapshot: Snapshot) -> Snapshot:
        """Load the scores of a snapshot, evicting those that were least recently used."""
        with self._lock:
            if snapshot not in self._read:
                self._read[snapshot] = snapshot.size
                for old in [read for read in self._read if read.name == snapshot.name and read is not snapshot]:
                    self._forget(old)
            self._read.move_to_end(snapshot)
            while sum(self._read.values()) > self._most_bytes and len(self._read) > 1:
                self._forget(next(iter(self._read)))
        return snapshot

    def _snapshot(self, name: str, folder: Path, signature: tuple[int, ...]) -> Snapshot:
        number = generation_number(folder) or 0
        digest = hashlib.blake2b(repr(signature).encode(), digest_size=4).hexdigest()
        return Snapshot(name, folder, number, f"{number}-{digest}", name not in self._quoteless)

    def _forget(self, snapshot: Snapshot) -> None:
        del self._read[snapshot]
        for name in ("boards", "tree", "_made"):
            snapshot.__dict__.pop(name, None)

    def ask(self, name: str, question: Callable[[Snapshot], T]) -> T:
        """Apply a function to the current snapshot; retry once if its generation was removed meanwhile."""
        while True:
            snapshot = self.current(name)
            try:
                return question(self.read(snapshot))
            except StoreError:
                if not snapshot.is_gone() or self.current(name) is snapshot:
                    raise


def _signature(file: str | Path) -> tuple[int, ...] | None:
    """Return a value that differs between generations, from a single stat call; None without a store."""
    try:
        stat = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size
