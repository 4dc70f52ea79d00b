"""A dask scheduler and its workers as processes, as users start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from .waiting import until


class DaskCluster:
    """``dask scheduler`` at a free port of this machine; workers join it when they are started.

    Parameters
    ----------
    folder : Path
        For logs and the files of the workers.
    environment : mapping of str to str
        For the scheduler.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.environment = folder, dict(environment or {})
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        file = self.folder / "scheduler.json"
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file, **self.environment)
        until(lambda: file.exists() and file.read_text().endswith("}"), self.log)
        self.address: str = json.loads(file.read_text())["address"]
        return self

    def worker(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker with one thread."""
        words = self.address, "--nthreads", "1", "--local-directory", self.folder, *options
        return self._start("worker", *words, **environment)

    def log(self) -> str:
        """Everything that the processes have written so far."""
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def _start(self, command: str, *words: object, **environment: str) -> subprocess.Popen[bytes]:
        words = "dask", command, "--no-dashboard", *words
        with (self.folder / f"{command}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
                cwd=self.folder,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self.processes:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was started here, with the processes that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
