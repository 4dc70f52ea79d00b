"""Servers as processes of their own, which are killed without a word and started again at the same address."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from urllib.error import URLError
from urllib.request import urlopen

PATIENCE = 60.0
"""Seconds to wait for a server that starts."""


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Process:
    """A command of mirflow that runs until it is stopped or killed.

    Parameters
    ----------
    words : sequence of str
        Of the command line.
    log : Path
        Where its standard error goes; of all starts one after the other.
    """

    def __init__(self, words: Sequence[str], log: Path) -> None:
        self.words, self.log = list(words), log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again."""
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "mirflow", *self.words]
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
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


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
            except (URLError, ConnectionError, TimeoutError):
                assert self.process is not None
                assert self.process.poll() is None, self.log.read_text()
                assert time.monotonic() < end, self.log.read_text()
                time.sleep(0.05)
            else:
                return

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
