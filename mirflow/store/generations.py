"""Generations of a store: folders, one of which the user's path leads to; the writer's lock, the run's signature.

Here are also functions for files that must survive crashes and other processes (synced and atomic writes, removal), the
errors of damaged stores, and the names and numbers of the files of chunks.
"""

from __future__ import annotations

import difflib
import hmac
import json
import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import DamagedError, StoreError, StoreLockedError, UnknownNameError, UnreadableError
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
        move(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


WINDOWS = os.name == "nt"
"""Where folders cannot be opened, signals not be sent to ask for a process, and files not be removed while read."""


_PATIENCE = 2.0  # seconds that a file is waited for which another process is reading


def move(temporary: Path, path: Path) -> None:
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


REPLACED = "was replaced by later runs while it was open; open the store again"
"""What is said of a generation that was removed while it was read."""


@contextmanager
def unless_replaced(generation: Path) -> Iterator[None]:
    """Say that a generation was replaced, where something lacks in it that went with the whole. Whether it is still
    there is asked after the miss: removing it begins by renaming it."""
    try:
        yield
    except (DamagedError, OSError, ValueError) as error:
        if generation.exists():
            raise
        raise StoreError(f"{generation}: {REPLACED}") from error


@contextmanager
def reading(
    path: str | Path, remedy: str = "remove it and run the pipeline again", generation: Path | None = None
) -> Iterator[None]:
    """Turn whatever damaged data makes zarr raise into one StoreError that names the store.

    `generation`: what is read, as for :func:`unless_replaced`, where it is known.
    """
    try:
        yield
    except (DamagedError, *_DAMAGE) as error:
        if generation is None and isinstance(error, FileNotFoundError) and generation_number(Path(path)):
            generation = Path(path)
        if generation is not None and not generation.exists():
            raise StoreError(f"{path}: {REPLACED}") from error
        if isinstance(error, DamagedError):
            raise DamagedError(path, error.what, remedy) from error
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
            try:
                held = json.loads(note.read_text(encoding="utf-8"))
                holder = f"process {held['pid']} on {held['host']} (since {held['since']})"
            except (OSError, ValueError, KeyError):  # it has not written its note yet, or has removed it
                holder = "another process"
            raise StoreLockedError(
                f"{store}: {holder} is writing it; wait until it is done, or name another store{left}"
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


class HeldStore:
    """A store that is held by its writer until the end of a ``with``."""

    _stack: ExitStack

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._stack.close()


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


POINTER = "mirflow store: "


def target_of(path: Path) -> Path | None:
    """What the path of a store leads to, relative to its folder; None if it leads nowhere. It is a link or, where links
    cannot be made, a small file that says what a link would."""
    if path.is_symlink():
        return path.readlink()
    if not path.is_file():
        return None
    with path.open("rb") as file:
        text = file.read(4096).decode("utf-8", "replace")
    return Path(text.removeprefix(POINTER).rstrip("\n")) if text.startswith(POINTER) else None


def resolve(path: str | Path) -> Path:
    """The folder with the data that a path leads to now: a generation, or a plain copy of one.

    It is immutable; later runs make new ones.

    Raises `StoreError` if nothing is there (with the nearest names that are), or not a Zarr folder.
    """
    named = demand_path(path)
    if not named.is_symlink() and not named.exists():
        beside = named.parent.resolve()
        entries = [entry for entry in beside.iterdir() if entry.name[0] != "."] if beside.is_dir() else []
        targets = {entry.name: beside / (target_of(entry) or entry) for entry in entries}
        stores = sorted(name for name, target in targets.items() if (target / "zarr.json").is_file())
        if not beside.is_dir():
            others = f", nor a folder {beside}"
        elif not stores:
            others = f", and no other in {beside}; `mirflow run` makes one"
        elif near := difflib.get_close_matches(named.name, stores, n=1, cutoff=0.6):
            others = f"; did you mean {str(named.with_name(near[0]))!r}?"
        else:
            others = f"; in {beside} there are {', '.join(stores)}"
        raise StoreError(f"{named}: no such store{others}")
    folder: Path | None = None
    while folder is None or not (folder / "zarr.json").is_file():
        earlier, target = folder, None if named.is_symlink() else target_of(named)
        folder = Path(os.path.realpath(named if target is None else named.parent / target))
        if folder == earlier:  # otherwise two runs published between the two looks
            break
    if not folder.exists():
        raise StoreError(
            f"{named}: leads to {folder}, which is gone; a store is copied with `cp -rL` and moved together with "
            f"its folder .{named.name}.d"
        )
    if not (folder / "zarr.json").is_file():
        raise StoreError(f"{named}: is not a store of mirflow (it has no zarr.json)")
    return folder


# A store contains the pipeline that made it and the folder of the annotations. The author of a store controls this
# text, so that following it would let a stranger's store read any file and environment variable of its reader. A run
# therefore signs both with a key that never leaves the user's account; the signature is beside the store, not in it.
_SIGNATURE = "signature"
_BYTES = 32


def sign_run(folder: Path, pipeline: str, root: str) -> None:
    """Sign the pipeline and the root, as stored, of a store that a run has just written to the folder of its
    generations. Without a home folder, or on a full disk, no signature is written, and reports ask for ``--root``."""
    with suppress(OSError, RuntimeError):
        file = state_folder() / "key"
        if not file.exists():
            from filelock import FileLock

            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(file.with_name("key.lock")):  # of several first runs at the same time, only one makes it
                if not file.exists():
                    write_atomically(file, secrets.token_bytes(_BYTES))
        key = _read(file)
        signature = _sign(key, folder, pipeline, root)
        if key and _read(folder / _SIGNATURE) != signature:
            write_atomically(folder / _SIGNATURE, signature)


def is_own_run(folder: Path, pipeline: str, root: str) -> bool:
    """True if a run of this user wrote a store of this pipeline and root in this very folder."""
    try:
        key = _read(state_folder() / "key")
    except RuntimeError:  # there is no home folder
        return False
    return bool(key) and hmac.compare_digest(_read(folder / _SIGNATURE), _sign(key, folder, pipeline, root))


def state_folder() -> Path:
    """The folder of this account for what lasts from run to run; raises a RuntimeError if there is no home folder."""
    state = os.environ.get("XDG_STATE_HOME", "")
    return Path(state if Path(state).is_absolute() else Path.home() / ".local" / "state", "mirflow")


def _read(path: Path) -> bytes:
    """A key or a signature; empty if it is missing or incomplete."""
    from ..readers.content import read_within  # which queries do not import

    try:
        data, size = read_within(path, _BYTES)
    except UnreadableError:
        return b""
    return data if size == _BYTES else b""


def _sign(key: bytes, folder: Path, pipeline: str, root: str) -> bytes:
    # Lengths keep two texts from trading their ends.
    texts = [os.fsencode(os.path.realpath(folder)), *(one.encode("utf-8", "surrogatepass") for one in (pipeline, root))]
    return hmac.digest(key, b"".join(b"%d:%s" % (len(text), text) for text in texts), "sha256")


# Stores join indices by dots (``c.5.0.0``), so that an array is one folder: in a store of a thousand systems, making
# and removing a folder for each of their chunks takes ten times as long as linking the files. Repositories join them
# by slashes (``c/5/0/0``). The bytes are the same.
SEPARATOR = "."  # of indices in the names of files
CHUNK = re.compile(r"(?P<array>.*)/c(?:[/.]\d+)*")  # keys of chunks in a store, of both kinds


def chunk_key(metadata: Mapping[str, Any], place: Sequence[int]) -> str:
    """The key of a chunk in its array, by the metadata of the array."""
    separator = metadata["chunk_key_encoding"].get("configuration", {}).get("separator", "/")
    return str(separator).join(["c", *map(str, place)])


def chunk_files(array: Path) -> Mapping[int, Mapping[str, str]]:
    """The files of chunks in the folder of an array, by the first index, then by the others joined by dots."""
    found = array.stat()  # a store that is made anew may get the inodes of the one that was removed
    return _listed(array, found.st_ino, found.st_ctime_ns)


@lru_cache(maxsize=64)
def _listed(array: Path, _inode: int, _changed: int) -> dict[int, dict[str, str]]:
    """Published arrays do not change, so they are listed once."""
    folder, rows = str(array), dict[int, dict[str, str]]()
    for file in os.listdir(folder):  # noqa: PTH208, a path for each of thousands of files takes longer
        first, _, place = file.partition(".")
        row, _, rest = place.partition(".")
        if first == "c" and (row or "0").isdecimal():
            rows.setdefault(int(row or 0), {})[rest] = f"{folder}{os.sep}{file}"
    return rows
