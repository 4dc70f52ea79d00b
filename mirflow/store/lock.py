"""One writer at a time."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..errors import StoreLockedError
from .files import storing


class WriterLock:
    """A lock that the operating system releases when its holder dies, however it dies.

    Parameters
    ----------
    folder : Path
        Where the lock file and the note about its holder lie; it exists.
    store : Path
        The store that it guards, for messages.
    """

    def __init__(self, folder: Path, store: Path) -> None:
        from filelock import FileLock

        self._store = store
        # The note is a file of its own: asking for a lock may empty the lock file.
        self._note = folder / "writer.json"
        self._lock = FileLock(folder / "lock", timeout=0)

    def __enter__(self) -> WriterLock:
        from filelock import Timeout

        with storing(self._store):
            try:
                self._lock.acquire()
            except Timeout:
                raise StoreLockedError(
                    f"{self._store}: {self._holder()} is writing it; wait until it is done, or name another store"
                ) from None
        note = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        # On a full disk the lock holds all the same, only without a name.
        with suppress(OSError):
            self._note.write_text(json.dumps(note), encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        with suppress(OSError):
            self._note.unlink()
        self._lock.release()

    def _holder(self) -> str:
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            return f"process {note['pid']} on {note['host']} (since {note['since']})"
        except (OSError, ValueError, KeyError):
            # The holder is between taking the lock and writing its note, or after removing it.
            return "another process"
