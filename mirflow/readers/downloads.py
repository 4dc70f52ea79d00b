"""Files on HTTP servers and in object stores: their stamped addresses, and copies of them in a folder of the account.

A stamp is the digest of ETag and size of the contents, or of the time of modification where a server gives no ETag.
Each contents are downloaded once for all runs. Requests are made by obstore, and repeated where a service throttles;
files and hosts that failed are asked again after 30 s. The oldest copies are removed when they take too much space.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import unquote

from .. import remote
from ..errors import UnreadableError
from ..remote import NEEDED, SILENCES, SLOWEST, TOO_SLOW, client_of, reason_of, status_of

if TYPE_CHECKING:
    from obstore import BytesStream, ObjectMeta

T = TypeVar("T")

_URL = re.compile(r"(?P<kind>s3|gs|az|https?)://(?P<host>[^/]*)/*(?P<key>.*)", re.DOTALL | re.IGNORECASE)
_STAMPED = re.compile(r"(?P<kind>s3|gs|az|https?)\+(?P<stamp>[0-9a-f]{16})://(?P<host>[^/]+)/(?P<key>.+)", re.DOTALL)
AT_ONCE = 16
"""Requests at the same time, of one process."""
_BREAKS = 3
"""How often a download that breaks off is begun."""
_THROTTLED = ("429", "503")
_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds before a service that throttles is asked again, after the repetitions of the library."""
_MOST_KEPT = 20 * 2**30
"""Bytes of copies; those that were not read for the longest time go first."""
_PAUSE = 30.0
"""Seconds until a file or a host that failed is asked again."""
_UNREAD = "cannot be read: "
_SWEEP_EVERY = 2**30
"""Bytes of downloads after which copies are removed, of all processes together: each begins to count anywhere."""
_RECENT = 2_000_000_000
_DAY = 86_400.0


class RemoteFile(NamedTuple):
    """A file at a URL, with certain contents."""

    kind: str
    """``s3``, ``gs``, ``az``, ``http`` or ``https``."""
    host: str
    """The bucket, the container, or the host of a server with its port."""
    key: str
    """Its path, without what URLs quote."""
    stamp: str
    """16 hexadecimal digits that depend on its contents."""

    @property
    def path(self) -> str:
        """The path of a source; only what lists files makes it, so that no text of a file leads to a URL."""
        return f"{self.kind}+{self.stamp}://{self.host}/{self.key}"

    @property
    def url(self) -> str:
        """For messages."""
        return f"{self.kind}://{self.host}/{self.key}"


def parse_url(text: str) -> RemoteFile | None:
    """The URL of files that a text is, perhaps with placeholders, without a stamp; None for paths of this machine."""
    found = _URL.fullmatch(text)
    if found is None:
        return None
    kind = found["kind"].lower()
    return RemoteFile(kind, found["host"], unquote(found["key"]) if kind.startswith("http") else found["key"], "")


def stamp_of(meta: ObjectMeta) -> str:
    """The stamp of a file, from what a service says about it."""
    tag = meta.get("e_tag")
    if not tag:
        changed = int(meta["last_modified"].timestamp() * 1e9)
        # Servers tell seconds: what is so new may change within the same one, so that it is read again next time.
        if changed <= 0 or abs(time.time_ns() - changed) < _RECENT:
            return new_stamp()
        tag = str(changed)
    return "0" + hashlib.blake2b(f"{tag}\0{meta['size']}".encode(), digest_size=8).hexdigest()[1:]


def new_stamp() -> str:
    """A stamp that no contents have, for a file whose changes cannot be noticed."""
    return _UNKNOWN + os.urandom(8).hex()[1:]


def patiently(ask: Callable[[], T]) -> T:
    """What a request gives; it is repeated later as long as the service throttles."""
    for wait in (*_WAITS, 0.0):
        try:
            return ask()
        except Exception as error:
            if not wait or status_of(error) not in _THROTTLED:
                raise
        time.sleep(wait)
    raise AssertionError


def cache_folder() -> Path:
    """The folder of copies: that of ``MIRFLOW_CACHE``, or where this system keeps what can be fetched again.

    Raises a RuntimeError if there is no home folder.
    """
    if chosen := os.environ.get("MIRFLOW_CACHE"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "mirflow", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mirflow"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if Path(base).is_absolute() else Path.home() / ".cache", "mirflow")


def local_path(path: str | Path, name: str | None = None) -> str | Path:
    """The path of a file on this machine: its own, or that of a copy, which is downloaded if there is none.

    Raises :class:`mirflow.errors.UnreadableError` if it cannot be downloaded; `name` is its name in messages.
    """
    stamped = _STAMPED.fullmatch(path) if isinstance(path, str) and "://" in path else None
    if stamped is None:
        return path
    file = RemoteFile(stamped["kind"], stamped["host"], stamped["key"], stamped["stamp"])
    try:
        copy = _other_stamps.get(file) or _copy_of(file)
        if not copy.is_file():
            return _download(file)
        if time.time() - copy.stat().st_mtime > _DAY:
            os.utime(copy)
        return copy
    except UnreadableError as error:
        raise UnreadableError(error.message, path=name or file.url) from None
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"cannot be kept in the folder of copies ({reason}); set MIRFLOW_CACHE to another folder"
        raise UnreadableError(message, path=name or file.url) from None


def download(paths: Iterable[str]) -> None:
    """Download those of some files that are at URLs, several at once; the errors are raised when they are read."""

    def keep(path: str) -> None:
        with suppress(UnreadableError):
            local_path(path)

    addressed = [path for path in dict.fromkeys(paths) if "://" in path and _STAMPED.fullmatch(path)]
    if len(addressed) > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(AT_ONCE, len(addressed))) as pool:
            list(pool.map(keep, addressed))  # which cancels those that have not begun, if the run is interrupted


def _copy_of(file: RemoteFile) -> Path:
    digest = hashlib.blake2b("\0".join(file).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return cache_folder() / "files" / digest[:2] / digest


_sweeping = threading.Lock()
_UNKNOWN = "f"
"""First digit of the stamps of unknown contents."""
_other_stamps: dict[RemoteFile, Path] = {}
"""Copies of files of unknown contents."""
_MOST_OTHERS = 100_000
_written = int.from_bytes(os.urandom(8), "little") % _SWEEP_EVERY


failures: dict[tuple[str, ...], tuple[float, str]] = {}
"""Until when, and why, a file is not asked for again, or nothing on a host that gives no answer."""


def _download(file: RemoteFile) -> Path:
    """Copy a file, under the stamp that it has now; a file that has just failed fails at once."""
    host = file.kind, file.host
    for key in (file, host):
        until, message = failures.get(key, (0.0, ""))
        if time.monotonic() < until:
            raise UnreadableError(message)
    try:
        try:
            import obstore

            client = client_of(file.kind, file.host)
        except ImportError:
            raise UnreadableError(NEEDED) from None
        for attempt in range(1, _BREAKS + 1):
            try:
                answer = patiently(lambda: obstore.get(client, file.key))
                now = file._replace(stamp=stamp_of(answer.meta))
                copy = _copy_of(now)
                _keep(copy, answer.stream(min_chunk_size=1))
                if now != file and file.stamp.startswith(_UNKNOWN):
                    _other_stamps[file] = copy
                    while len(_other_stamps) > _MOST_OTHERS:
                        _other_stamps.pop(next(iter(_other_stamps)), None)
                return copy
            except FileNotFoundError:
                raise UnreadableError(f"{_UNREAD}it is gone") from None
            except (OSError, UnreadableError):
                raise
            except Exception as error:
                if attempt == _BREAKS or "body error" not in str(error):
                    raise UnreadableError(f"{_UNREAD}{reason_of(error)}") from None
        raise AssertionError
    except UnreadableError as error:
        failed = time.monotonic() + _PAUSE, error.message
        failures[file] = failed
        if error.message.removeprefix(_UNREAD) in SILENCES:
            failures[host] = failed
        raise


def _keep(copy: Path, chunks: BytesStream) -> None:
    """Write a copy, of which other processes see all or nothing.

    Bytes that come too slowly are refused; a pause is an error of the library.
    """
    global _written
    end_of_patience = time.monotonic() + remote.PATIENCE
    cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    copy.parent.mkdir(parents=True, exist_ok=True)
    partial = copy.with_name(f"{copy.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        with partial.open("wb") as file:
            for chunk in map(bytes, chunks):
                end_of_patience += len(chunk) / SLOWEST
                if time.monotonic() > end_of_patience:
                    raise UnreadableError(f"{_UNREAD}{TOO_SLOW}")
                _written += file.write(chunk)
        partial.replace(copy)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    if _written > _SWEEP_EVERY and _sweeping.acquire(blocking=False):
        try:
            _written = 0
            _sweep(copy.parents[1], _MOST_KEPT)
        finally:
            _sweeping.release()


def _sweep(folder: Path, most: int) -> None:
    """Remove the copies that were not read for the longest time, until at most so many bytes are left."""
    entries, now = [], time.time()
    for path in folder.rglob("*"):
        with suppress(OSError):
            status = path.stat()
            if path.is_file():
                old = path.suffix == ".part" and now - status.st_mtime > _DAY  # of a process that was killed
                entries.append((0.0 if old else status.st_mtime, status.st_size, path))
    held = sum(size for _, size, _ in entries)
    for modified, size, path in sorted(entries):
        if held <= most and modified:
            return
        with suppress(OSError):
            path.unlink()
            held -= size
