"""Snapshots of stores: each is a store at one generation, read once and shared by all requests."""

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
from ...analysis.scores import read_store
from ...errors import StoreError, UnknownNameError
from ...store.generations import generation_number, resolve

if TYPE_CHECKING:
    import xarray as xr

T = TypeVar("T")

_ROOT = "zarr.json"
_LOADED = ("score", "weight", "status", "duration", "message")
"""What is in memory of each evaluation; a later run may remove the files of the rest."""
MOST_BYTES = 1_000_000_000
"""Scores kept in memory, of all stores together."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A store at one generation."""

    name: str
    """Of the store, in addresses."""
    folder: Path
    """The generation, or the folder of a store that has none."""
    number: int
    """Of the generation; 0 where there is none."""
    token: str
    """Tells the generation from all others, also from those of a store that was removed and made again:
    ``12-9f3c01ab``.
    """
    quotes: bool = True
    """Whether messages and warnings may quote a reference; if not, they are replaced."""
    _making: defaultdict[str, RLock] = field(default_factory=lambda: defaultdict(RLock), repr=False)

    @cached_property
    def boards(self) -> dict[str, xr.Dataset]:
        """The evaluations by name, with scores, weights, statuses, durations and messages in memory."""
        boards = read_store(self.folder)
        for ds in boards.values():
            for name in _LOADED:
                if name in ds.variables:
                    ds.variables[name].load()
        return boards if self.quotes else {name: without_quotes(ds) for name, ds in boards.items()}

    @cached_property
    def tree(self) -> xr.DataTree:
        """The evaluations as one tree."""
        import xarray as xr

        return xr.DataTree.from_dict(dict(self.boards))

    @cached_property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """Metadata of groups and arrays by their paths, as Zarr has them; the root's path is empty."""
        try:
            root = json.loads((self.folder / _ROOT).read_bytes())
        except OSError:
            raise StoreError(f"generation {self.token} of {self.name} is gone") from None
        return {"": root, **root.pop("consolidated_metadata", {}).get("metadata", {})}

    @property
    def size(self) -> int:
        """Bytes that are in memory."""
        return sum(ds.variables[name].nbytes for ds in self.boards.values() for name in _LOADED if name in ds.variables)

    def once(self, what: str, make: Callable[[], T]) -> T:
        """A value that is computed from the snapshot once, by one thread for all; others are computed meanwhile."""
        with self._making[what]:
            made = self._made
            if what not in made:
                made[what] = make()
            found: T = made[what]
            return found

    @cached_property
    def _made(self) -> dict[str, Any]:
        return {}

    def is_gone(self) -> bool:
        """True if later runs removed the generation."""
        return not (self.folder / _ROOT).is_file()


class Stores:
    """The stores of a server by the names that they have in addresses.

    Parameters
    ----------
    paths : mapping of str to path
        Stores, which may be published anew at any moment, may appear later, and may be removed.
    most_bytes : int
        Scores that are kept in memory, of all stores together; at least those of one store are.
    quoteless : collection of str
        Stores whose messages and warnings may not quote a reference.
    """

    def __init__(
        self, paths: Mapping[str, str | Path], most_bytes: int = MOST_BYTES, quoteless: Collection[str] = ()
    ) -> None:
        self.paths = {name: Path(path) for name, path in paths.items()}
        # As text: a path that is joined anew takes longer than the look at the disk.
        self._places = {name: os.path.join(path, _ROOT) for name, path in self.paths.items()}  # noqa: PTH118
        self._most_bytes = most_bytes
        self._quoteless = frozenset(quoteless)
        self._current: dict[str, tuple[tuple[int, ...], Snapshot]] = {}
        self._read: OrderedDict[Snapshot, int] = OrderedDict()
        self._lock, self._finding = Lock(), Lock()

    def __iter__(self) -> Iterator[str]:
        """Names of the stores that are there now."""
        return (name for name, path in self.paths.items() if (path / _ROOT).is_file())

    def __contains__(self, name: object) -> bool:
        return name in self.paths

    def current(self, name: str) -> Snapshot:
        """The snapshot of the generation that is published now."""
        path = self.paths.get(name)
        if path is None:
            raise UnknownNameError("store", name, self.paths)
        signature = _signature(self._places[name])
        known = self._current.get(name)
        if signature is not None and known is not None and known[0] == signature:
            return known[1]
        with self._finding:
            while True:
                folder = resolve(path)
                signature = _signature(folder / _ROOT)
                if signature is not None:
                    break
            known = self._current.get(name)
            if known is None or known[0] != signature:
                known = self._current[name] = signature, self._snapshot(name, folder, signature)
        return known[1]

    def pinned(self, name: str, token: str) -> Snapshot:
        """The snapshot of a generation that is still there."""
        current = self.current(name)
        if current.token == token:
            return current
        number = token.partition("-")[0]
        if current.number and number.isdecimal():
            folder = current.folder.with_name(f"generation-{int(number):06d}")
            signature = _signature(folder / _ROOT)
            if signature is not None and (found := self._snapshot(name, folder, signature)).token == token:
                return found
        raise StoreError(f"generation {token} of {name} is gone; the current one is {current.token}")

    def before(self, snapshot: Snapshot) -> Snapshot | None:
        """The generation before another one, as far as it is still there."""
        folder = snapshot.folder.with_name(f"generation-{snapshot.number - 1:06d}")
        signature = _signature(folder / _ROOT) if snapshot.number > 1 else None
        return None if signature is None else self._snapshot(snapshot.name, folder, signature)

    def read(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with its scores in memory; those that were not asked for longest make room."""
        with self._lock:
            if snapshot not in self._read:
                self._read[snapshot] = snapshot.size
                for old in [one for one in self._read if one.name == snapshot.name and one is not snapshot]:
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
        """Let go of scores; requests that look at them keep them until they are answered."""
        del self._read[snapshot]
        for name in ("boards", "tree", "_made"):
            snapshot.__dict__.pop(name, None)

    def ask(self, name: str, question: Callable[[Snapshot], T]) -> T:
        """The answer of a function of the current snapshot; once more where its generation was removed meanwhile."""
        while True:
            snapshot = self.current(name)
            try:
                return question(self.read(snapshot))
            except StoreError:
                if not snapshot.is_gone() or self.current(name) is snapshot:
                    raise


def _signature(file: str | Path) -> tuple[int, ...] | None:
    """A mark that differs between generations, by a single look at the disk; None where there is no store."""
    try:
        found = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
