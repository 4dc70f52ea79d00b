"""Generations of a store: whole folders, one of which the user's path leads to; durable files, the writer's lock."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import DamagedError, StoreError, StoreLockedError, UnknownNameError
from ..remote import as_given, parse_address, store_flaw


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
        _move(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


WINDOWS = os.name == "nt"
"""Where folders cannot be opened, signals not be sent to ask for a process, and files not be removed while read."""


_PATIENCE = 2.0  # seconds that a file is waited for which another process is reading


def _move(temporary: Path, path: Path) -> None:
    """Replace a file; Windows refuses that for as long as a reader has it open, which is a moment."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            temporary.replace(path)
            return
        except PermissionError:
            if not WINDOWS or time.monotonic() > until:
                raise
            time.sleep(0.01)


def sync_folder(path: Path) -> None:
    """Wait until the disk has the names in a folder; Windows writes them without being asked."""
    if WINDOWS:
        return
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


def is_alive(pid: int) -> bool:
    """True if this machine has such a process."""
    if sys.platform == "win32":  # where os.kill would end it
        import _winapi

        try:
            _winapi.CloseHandle(_winapi.OpenProcess(0x1000, False, pid))  # to query limited information
        except OSError as error:
            return error.winerror == 5  # access is denied
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # of another user
    return True


def remove_left(path: Path, what: str) -> None:
    """Remove the folders ``.NAME.PID.WHAT`` beside a path that processes left which were killed."""
    for left in path.parent.glob(f".*.{what}"):
        match = re.fullmatch(rf"\.{re.escape(path.name)}\.(\d+)\.{what}", left.name)
        if match is not None and not is_alive(int(match[1])):
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def storing(path: str | Path) -> Iterator[None]:
    """Turn the operating system's refusals into one StoreError that names the store and the reason."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"{path}: cannot be written: {reason}; the previous contents are untouched") from error


_DAMAGE = (
    OSError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    EOFError,
)
"""What zarr, its codecs and JSON raise for files that are not as they were written."""


def replaced(generation: str | Path) -> StoreError:
    """The error for a generation that was removed while it was read."""
    return StoreError(f"{generation}: was replaced by later runs while it was open; open the store again")


@contextmanager
def unless_replaced(generation: Path) -> Iterator[None]:
    """Say that a generation was replaced, where something lacks in it that went with the whole. Whether it is still
    there is asked after the miss: removing it begins by renaming it."""
    try:
        yield
    except (DamagedError, OSError, ValueError) as error:
        if generation.exists():
            raise
        raise replaced(generation) from error


@contextmanager
def reading(path: str | Path, remedy: str = "remove it and run the pipeline again") -> Iterator[None]:
    """Turn whatever damaged data makes zarr raise into one StoreError that names the store."""
    try:
        yield
    except DamagedError as error:
        raise DamagedError(path, error.what, remedy) from error
    except _DAMAGE as error:
        if isinstance(error, FileNotFoundError) and generation_number(Path(path)) and not Path(path).exists():
            raise replaced(path) from error
        # Codecs, JSON and metadata of damaged files raise various errors; mirflow's errors are passed on.
        if isinstance(error, UnknownNameError):
            raise
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise DamagedError(path, f"{kind}{error}"[:300], remedy) from error


@contextmanager
def locked(folder: Path, store: Path | str, patience: float = 0.0) -> Iterator[None]:
    """Hold the writer's lock in a folder, which the operating system releases when its holder dies, however it dies.
    Another one who holds it is waited for, as many seconds as there is `patience`."""
    from filelock import FileLock, Timeout

    # The note is a separate file, as acquiring a lock may truncate the lock file.
    lock, note = FileLock(folder / "lock", timeout=patience), folder / "writer.json"
    with storing(store):
        try:
            lock.acquire()
        except Timeout:
            # Where the file system has no locks, a file that was left or copied counts as one.
            left = "" if note.exists() else f"; if no process is, remove {folder / 'lock'}"
            raise StoreLockedError(
                f"{store}: {_holder(note)} is writing it; wait until it is done, or name another store{left}"
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


def demand_path(path: str | Path) -> Path:
    """Raise a StoreError for an impossible path of a store, such as a URL, and for an address of a repository."""
    flaw = store_flaw(path)
    if not flaw and parse_address(path) is not None:
        flaw = "is the address of a repository; here only a folder will do, such as stores/x.zarr"
    if flaw:
        raise StoreError(f"{as_given(path)}: {flaw}")
    return Path(path)


_POINTER = "mirflow store: "


def target_of(path: Path) -> Path | None:
    """What the path of a store leads to, relative to its folder; None if it leads nowhere. It is a link or, where links
    cannot be made, a small file that says what a link would."""
    if path.is_symlink():
        return path.readlink()
    if not path.is_file():
        return None
    with path.open("rb") as file:
        text = file.read(4096).decode("utf-8", "replace")
    return Path(text.removeprefix(_POINTER).rstrip("\n")) if text.startswith(_POINTER) else None


def lead_to(path: Path, target: Path, temporary: Path, demand_own: Callable[[], None]) -> None:
    """Let a path lead to a target from one moment on, if what is there before then is still one's own. Windows replaces
    no links to folders, and makes none outside of its developer mode; some file systems make none."""
    temporary.unlink(missing_ok=True)
    try:
        if WINDOWS:
            raise NotImplementedError
        temporary.symlink_to(target)
    except (OSError, NotImplementedError):
        write_synced(temporary, f"{_POINTER}{target.as_posix()}\n".encode())
    demand_own()
    _move(temporary, path)
    sync_folder(path.parent)


def _followed(path: Path) -> Path:
    target = None if path.is_symlink() else target_of(path)
    return Path(os.path.realpath(path if target is None else path.parent / target))


def resolve(path: str | Path) -> Path:
    """The folder with the data that a path leads to now: a generation, or a plain copy of one.

    It is immutable; later runs make new ones.

    Raises `StoreError` if nothing is there (with the nearest names that are), or not a Zarr folder.
    """
    named = demand_path(path)
    if not named.is_symlink() and not named.exists():
        raise StoreError(f"{named}: no such store{_near(named)}")
    folder = _followed(named)
    while not (folder / "zarr.json").is_file() and (again := _followed(named)) != folder:
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
    stores = sorted(
        e.name for e in folder.iterdir() if not e.name.startswith(".") and (_followed(e) / "zarr.json").is_file()
    )
    if not stores:
        return f", and no other in {folder}; `mirflow run` makes one"
    near = difflib.get_close_matches(path.name, stores, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {str(path.with_name(near[0]))!r}?"
    return f"; in {folder} there are {', '.join(stores)}"
