"""Generations of a store: whole folders, one of which the user's path leads to; durable files, one writer at a time."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import StoreError, StoreLockedError


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name and move it into place: readers see all of it or nothing."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write_synced(temporary, data)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the disk has the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Wait until the disk has the names in a folder and in all folders below it."""
    for folder, _, _ in os.walk(path):
        sync_folder(Path(folder))


def remove(path: Path) -> None:
    """Remove whatever is there: a file, a link, or a folder with all that is in it; perhaps it is already gone."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        pass


@contextmanager
def storing(path: str | Path) -> Iterator[None]:
    """Turn the operating system's refusals into one StoreError that names the store and the reason."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"{path}: cannot be written: {reason}; what was there before is untouched") from error


@contextmanager
def locked(folder: Path, store: Path) -> Iterator[None]:
    """Hold the writer's lock in a folder, which the operating system releases when its holder dies, however it dies."""
    from filelock import FileLock, Timeout

    # The note is a file of its own: asking for a lock may empty the lock file.
    lock, note = FileLock(folder / "lock", timeout=0), folder / "writer.json"
    with storing(store):
        try:
            lock.acquire()
        except Timeout:
            raise StoreLockedError(
                f"{store}: {_holder(note)} is writing it; wait until it is done, or name another store"
            ) from None
    try:
        held = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        # On a full disk the lock holds all the same, only without a name.
        with suppress(OSError):
            note.write_text(json.dumps(held), encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            note.unlink()
        lock.release()


def _holder(note: Path) -> str:
    try:
        held = json.loads(note.read_text(encoding="utf-8"))
        return f"process {held['pid']} on {held['host']} (since {held['since']})"
    except (OSError, ValueError, KeyError):
        # The holder is between taking the lock and writing its note, or after removing it.
        return "another process"


_GENERATION = re.compile(r"generation-(\d{6,})")


def generation_number(folder: Path) -> int | None:
    """The number in the name of a generation's folder; None for other folders."""
    match = _GENERATION.fullmatch(folder.name)
    return int(match[1]) if match else None


class Generations:
    """The generations of one store, for its one writer.

    Parameters
    ----------
    path : str or path
        The path that the user names.

    Raises
    ------
    StoreError
        If something that mirflow did not make lies there.
    """

    def __init__(self, path: str | Path) -> None:
        # Not resolved: the last part of the path is the link itself.
        self.path = Path(path).parent.resolve() / Path(path).name
        self.folder = self.path.with_name(f".{self.path.name}.d")
        self.refuse_foreign()

    def refuse_foreign(self) -> None:
        """Raise where the path is taken by something that is not ours to replace."""
        if self.path.is_symlink():
            target = self.path.readlink()
            if target.parent != Path(self.folder.name) or generation_number(target) is None:
                raise StoreError(
                    f"{self.path}: is a link to {target} that mirflow did not make; name the store itself, or remove it"
                )
        elif self.path.exists():
            what = "a folder" if self.path.is_dir() else "a file"
            raise StoreError(
                f"{self.path}: is {what} that mirflow's runs did not make (a copy of a store can be read but not "
                f"written); name another store, or move it away"
            )

    @property
    def current(self) -> int:
        """The number of the generation that the path leads to; 0 before the first."""
        return generation_number(self.path.readlink()) or 0 if self.path.is_symlink() else 0

    def start(self) -> Path:
        """An empty folder to build the next generation in."""
        self._discard(self.folder / "building")
        (self.folder / "building").mkdir()
        return self.folder / "building"

    def publish(self, building: Path) -> Path:
        """Put a built generation in place in one step, remove those before the previous one, and return its folder."""
        numbers = [number for entry in self.folder.iterdir() if (number := generation_number(entry)) is not None]
        target = self.folder / f"generation-{max([self.current, *numbers]) + 1:06d}"
        sync_tree(building)
        building.rename(target)
        sync_folder(self.folder)
        previous = self.current
        self._link(target)
        self.clean(keep=previous)
        return target

    def _link(self, target: Path) -> None:
        temporary = self.folder / "link"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target.relative_to(self.path.parent))
        # Looked at once more, as replacing is the one step that could destroy what somebody put there meanwhile.
        self.refuse_foreign()
        temporary.replace(self.path)
        sync_folder(self.path.parent)

    def clean(self, keep: int = 0) -> None:
        """Remove what no reader needs: half-built generations, unpublished ones, those before the previous one."""
        current = self.current
        numbers = {entry: generation_number(entry) for entry in self.folder.iterdir()}
        older = [number for number in numbers.values() if number is not None and number < current]
        kept = {current, keep or max(older, default=0)}
        for entry, number in numbers.items():
            unfinished = entry.name in ("building", "link") or entry.name.startswith("discarded-")
            if unfinished or (number is not None and number not in kept):
                self._discard(entry)

    def _discard(self, entry: Path) -> None:
        """Remove a folder so that its readers find all of it or, from one moment on, nothing."""
        if entry.is_symlink() or not entry.is_dir():
            remove(entry)
            return
        away = entry if entry.name.startswith("discarded-") else entry.with_name(f"discarded-{entry.name}")
        if away != entry:
            remove(away)
            entry.rename(away)
        remove(away)


def resolve(path: str | Path) -> Path:
    """The folder with the data that a path leads to now: a generation, or a plain copy of one.

    It stays as it is for as long as it exists; later runs make new ones.

    Raises
    ------
    StoreError
        If nothing is there (with the nearest names that are), or not a Zarr folder.
    """
    named = Path(path)
    if not named.is_symlink() and not named.exists():
        raise StoreError(f"{named}: there is no such store{_near(named)}")
    folder = Path(os.path.realpath(named))
    while not folder.exists() and (again := Path(os.path.realpath(named))) != folder:
        # Two runs published between the two looks.
        folder = again
    if not folder.exists():
        raise StoreError(
            f"{named}: leads to {folder}, which is gone; a store is copied with `cp -rL` and moved together with "
            f"its folder .{named.name}.d"
        )
    if not (folder / "zarr.json").is_file():
        raise StoreError(f"{named}: is not a store of mirflow (it has no zarr.json)")
    return folder


def _near(path: Path) -> str:
    """The stores beside a path that does not exist, as the end of a message."""
    folder = path.parent.resolve()
    if not folder.is_dir():
        return f", nor a folder {folder}"
    stores = sorted(e.name for e in folder.iterdir() if not e.name.startswith(".") and (e / "zarr.json").is_file())
    if not stores:
        return f", and no other in {folder}; `mirflow run` makes one"
    near = difflib.get_close_matches(path.name, stores, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {str(path.with_name(near[0]))!r}?"
    return f"; in {folder} there are {', '.join(stores)}"
