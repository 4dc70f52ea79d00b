"""Servers as processes of their own, which are killed without a word and started again at the same address."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from ...waiting import PATIENCE

# Below those that systems give to clients, one of which would have a server's port while it is killed.
_PORTS = range(24_000, 32_000)
_SHARE = 500
_taken = count(os.getpid())


def free_port() -> int:
    """A port of this machine that nobody listens on, and that no other process of the tests is told."""
    share = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % (len(_PORTS) // _SHARE)
    for _ in range(_SHARE):
        port = _PORTS[_SHARE * share + next(_taken) % _SHARE]
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"no port of {_PORTS} is free")


class Process:
    """A command of mirflow that runs until it is stopped or killed.

    Parameters
    ----------
    words : sequence of str
        Of the command line.
    log : Path
        Where its standard error goes; of all starts one after the other.
    module : str
        Of another command.
    """

    def __init__(self, words: Sequence[str], log: Path, module: str = "mirflow") -> None:
        self.words, self.log, self.module = list(words), log, module
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again."""
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", self.module, *self.words]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self) -> None:
        """End it at once, whatever it does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Server(Process):
    """``mirflow serve`` at an address that stays the same.

    Parameters
    ----------
    path : Path
        The campaign file, or a store.
    log : Path
    *options : str
        More words of the command line.
    """

    def __init__(self, path: Path, log: Path, *options: str) -> None:
        self.port = free_port()
        super().__init__(["serve", str(path), "--port", str(self.port), *options], log)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        super().start()
        end = time.monotonic() + PATIENCE
        while True:
            try:
                urlopen(f"{self.address}/health", timeout=5).close()
            except HTTPError:  # it answers, and says that something is wrong
                return
            except (URLError, HTTPException, ConnectionError, TimeoutError):
                assert self.process is not None
                assert self.process.poll() is None, self.log.read_text()
                assert time.monotonic() < end, self.log.read_text()
                time.sleep(0.05)
            else:
                return


class Killer:
    """Kills one of some processes at random moments, and starts it again, from a thread of its own.

    Use it as a context manager.

    Parameters
    ----------
    processes : sequence of Process
    kills : int
    seconds : tuple of float
        Least and most between two kills.
    seed : int
    """

    def __init__(
        self, processes: Sequence[Process], kills: int, seconds: tuple[float, float] = (0.3, 4.0), seed: int = 7
    ) -> None:
        self.processes, self.kills, self.seconds, self.killed = list(processes), kills, seconds, 0
        self._random = random.Random(seed)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def done(self) -> bool:
        """True if all kills are over."""
        return not self._thread.is_alive()

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while self.killed < self.kills and not self._ended.wait(self._random.uniform(*self.seconds)):
            one = self._random.choice(self.processes)
            one.kill()
            self.killed += 1
            one.start()
