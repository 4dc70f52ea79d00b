"""Pictures of tracks and standings, drawn when they are first asked for and kept in a temporary folder."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock

from starlette.exceptions import HTTPException

MOST_BYTES = 200_000_000
"""Size of all pictures that are kept, in bytes."""
WAITING = 20
"""Pictures that may wait to be drawn; further ones are refused."""


class Pictures:
    """Pictures by keys that name all that a picture depends on.

    One picture is drawn at a time, and one that several requests wait for is drawn once. They are kept until the
    server ends, and never beside a campaign, so that no file there shows a system that was withdrawn since.

    Parameters
    ----------
    most_bytes : int
        Pictures that were asked for least recently are removed beyond this size.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mirflow-pictures-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._most_bytes = most_bytes
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._lock = Lock()
        self._drawing = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._under_way: dict[str, asyncio.Future[bytes | None]] = {}

    def find(self, key: str) -> bytes | None:
        """Read a picture that is kept; None if there is none."""
        with self._lock:
            if key not in self._sizes:
                return None
            self._sizes.move_to_end(key)
        try:
            return self._path(key).read_bytes()
        except OSError:  # just removed
            return None

    async def draw(self, key: str, make: Callable[[], bytes | None]) -> bytes | None:
        """Draw a picture and keep it; None if there is nothing to draw.

        Raises
        ------
        HTTPException
            503, if too many pictures are waiting.
        """
        under_way = self._under_way.get(key)
        if under_way is None:
            if len(self._under_way) >= WAITING:
                raise HTTPException(503, "The server is busy. Try again in a moment.", {"Retry-After": "5"})
            drawn = asyncio.get_running_loop().run_in_executor(self._drawing, self._make, key, make)
            under_way = self._under_way[key] = asyncio.ensure_future(drawn)
            under_way.add_done_callback(lambda done: self._forget(key, done))
        # A visitor who leaves must not stop what others wait for.
        return await asyncio.shield(under_way)

    def _forget(self, key: str, done: asyncio.Future[bytes | None]) -> None:
        self._under_way.pop(key, None)
        if not done.cancelled():
            done.exception()  # noted, even if all who waited have left

    def _make(self, key: str, make: Callable[[], bytes | None]) -> bytes | None:
        data = make()
        if data is not None:
            with suppress(OSError):  # a full disk is no reason to refuse a picture
                self._path(key).write_bytes(data)
                with self._lock:
                    self._sizes[key] = len(data)
                    while sum(self._sizes.values()) > self._most_bytes and len(self._sizes) > 1:
                        old, _ = self._sizes.popitem(last=False)
                        self._path(old).unlink(missing_ok=True)
        return data

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.png"
