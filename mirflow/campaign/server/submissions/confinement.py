"""Child processes that read what strangers sent: limited in memory, time, files and folders, and without network.

A process is started once with an empty environment and mirflow imported, and makes a child for each job by forking, so
that no job sees anything of another one. A job is JSON, and so are the messages that come back through a pipe.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import mmap
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ....errors import (
    MirflowError,
    PipelineError,
    PluginError,
    RunError,
    SchedulerError,
    StoreError,
    UnknownNameError,
)
from ....metrics.base import get_task
from ....plugins import import_module as import_plugin
from .sandbox import Allowed, restrict

JOBS: Mapping[str, str] = {
    "hold": ".confinement:hold_job",
    "tracks": ".scoring:tracks_job",
    "check": ".checking:check_job",
    "read": ".reading:read_job",
    "score": ".scoring:score_job",
    "release": ".scoring:release_job",
    "publish": ".scoring:publish_job",
    "recall": ".scoring:recall_job",
    "lists": "..graders.pooling:lists_job",
    "pool": "..graders.pooling:pool_job",
}
"""Jobs by name: modules of this package, and their functions."""
PRELOADED = (
    ".checking", ".reading", ".scoring", "mirflow.store.zarr_io", "mirflow.linter", "mirflow.campaign.site.changes",
    "xarray", "pandas", "scipy.stats", "dask.array", "filelock",
)  # fmt: skip
"""Modules that jobs of submissions need, imported once for all of them."""
MAX_MESSAGES = 64 * 2**20
"""Bytes that a job may send."""
_HEAD = struct.Struct("!Q")
_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})
"""Numbers of errors of a disk."""
_HELD: list[str] = []
"""What confines this process."""
LACKS: Mapping[str, str] = {
    "folders": "no Landlock: every file of this account can be read and written",
    "signals": "Landlock is older than its version 6 and the system calls of this machine are not filtered: processes "
    "of this account can be ended",
    "calls": "no filter of system calls: programs can be started, sockets of this host connected to, modes and times "
    "of files changed",
    "network": "no network namespace and no filter of system calls: the network can be reached",
    "memory": "memory is not limited",
}
"""What a host may lack, and what a parser that was taken over could then do."""

SendMessage = Callable[[Mapping[str, Any]], None]
"""Sends a message from a job."""


@dataclass(frozen=True)
class Confines:
    """Limits of a job."""

    seconds: float
    """Wall time; the job is killed then. Also its CPU time."""
    memory: int | None = None
    """Bytes of address space beside what Python and its libraries take."""
    file_size: int | None = None
    """Bytes of a file that it writes."""
    files: int = 256
    """Files open at once."""
    network: bool = False
    alone: bool = True
    """Whether it can make no process."""
    threads: bool = False
    """Whether it can make threads."""
    links: bool = False
    """Whether it can make symbolic links where it writes."""
    writable: tuple[str, ...] = ()
    """The only folders in which it can write; empty: any."""
    readable: tuple[str, ...] = ()
    """The only folders and files that it can read beside those, and Python's own; empty: any."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Its environment."""


class JobError(MirflowError):
    """A job ended without a result."""


class JobTimeoutError(JobError):
    """A job took too long."""


class JobMemoryError(JobError):
    """A job needed more memory than it may have."""


class JobRefusedError(JobError):
    """A job cannot be done with what it was given; the message says why."""


class SystemTroubleError(JobError):
    """A job cannot be done now, whatever it is given: a full disk, a broken store, references that are gone."""


class StoppedError(JobError):
    """A job was ended because whoever asked for it has to stop."""


class Confinement:
    """A process that makes confined children, one at a time.

    Use it as a context manager, in one thread.

    Parameters
    ----------
    tasks : iterable of str
        Tasks whose metrics are imported once for all jobs.
    modules : sequence of str
        Modules that are imported once for all jobs.
    plugins : sequence of str
        Python files and modules of the organiser's that declare tasks and readers, imported once for all jobs.
    """

    def __init__(
        self, tasks: Iterable[str] = (), modules: Sequence[str] = PRELOADED, plugins: Sequence[str] = ()
    ) -> None:
        if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
            raise MirflowError("submissions are checked in processes that only Linux, macOS and BSD have: run it there")
        self._tasks, self._modules, self._plugins = list(tasks), list(modules), list(plugins)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def __enter__(self) -> Confinement:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def run(
        self,
        job: str,
        task: Mapping[str, Any],
        confines: Confines,
        progress: Callable[[Mapping[str, Any]], None] | None = None,
        beat: Callable[[], bool] | None = None,
    ) -> dict[str, Any]:
        """Run a job to its end.

        Parameters
        ----------
        job : str
            A name of :data:`JOBS`.
        task : mapping
            What it is given, as JSON.
        progress : callable or None
            Gets its messages but the last.
        beat : callable or None
            Called several times a second; False ends the job.

        Returns
        -------
        dict
            Its last message.
        """
        control = self._start()
        reading, writing = os.pipe()
        try:
            data = json.dumps({"job": job, "task": task, "confines": asdict(confines)}).encode()
            try:
                socket.send_fds(control, [_HEAD.pack(len(data))], [writing])
                control.sendall(data)
                pid = int(_receive(control)["pid"])
            except (OSError, EOFError, ValueError):
                self.close()
                raise JobError("the process that checks submissions has ended") from None
            finally:
                os.close(writing)
            try:
                return _follow(reading, pid, confines.seconds, progress, beat)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                try:
                    _receive(control)  # it is gone
                except (OSError, EOFError, ValueError):
                    self.close()
        finally:
            os.close(reading)

    def _start(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._socket is None:
            ours, theirs = socket.socketpair()
            package = str(Path(__file__).resolve().parents[4])
            command = f"import sys; sys.path.append({package!r}); from {__name__} import main; "
            command += f"main({theirs.fileno()}, {self._tasks!r}, {self._modules!r}, {self._plugins!r})"
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", command],
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # A signal of the terminal is for the worker, which then ends its jobs itself.
                start_new_session=True,
            )
            theirs.close()
            self._socket = ours
        return self._socket


def _follow(
    reading: int,
    pid: int,
    seconds: float,
    progress: Callable[[Mapping[str, Any]], None] | None,
    beat: Callable[[], bool] | None,
) -> dict[str, Any]:
    """Read the messages of a job until it closes its pipe; the last one is its result."""
    deadline, total, rest, last = time.monotonic() + seconds, 0, b"", None
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while True:
            if time.monotonic() > deadline:
                raise JobTimeoutError(f"took longer than {seconds:g} seconds")
            if beat is not None and not beat():
                raise StoppedError("was stopped")
            if not selector.select(0.2):
                continue
            piece = os.read(reading, 2**16)
            if not piece:
                break
            total += len(piece)
            if total > MAX_MESSAGES:
                raise JobError("sent too much")
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                message = _parse(line)
                if "progress" not in message:
                    last = message
                elif progress is not None:
                    progress(message)
    if last is None:
        raise JobError("ended without a result: it was killed, or used up its processor time")
    if last.get("error") == "memory":
        raise JobMemoryError("needed more memory than it may have")
    if "error" in last:
        kind = SystemTroubleError if last.get("system") else JobRefusedError if last.get("refused") else JobError
        raise kind(str(last["error"])[:2000])
    return last


def _parse(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise JobError("sent something that is not JSON") from None
    if not isinstance(message, dict):
        raise JobError("sent something that is not a message")
    return message


def _receive(control: socket.socket) -> dict[str, Any]:
    size = _HEAD.unpack(_exactly(control, _HEAD.size))[0]
    return _parse(_exactly(control, min(size, 2**16)))


def _exactly(control: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = control.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _send(control: socket.socket, message: Mapping[str, Any]) -> None:
    data = json.dumps(message).encode()
    control.sendall(_HEAD.pack(len(data)) + data)


def main(descriptor: int, tasks: Sequence[str] = (), modules: Sequence[str] = (), plugins: Sequence[str] = ()) -> None:
    """Make a child for every job that comes through a socket, until it is closed."""
    _die_with_parent()
    control = socket.socket(fileno=descriptor)
    for name in modules:
        import_module(name, __package__)
    broken = _import_all(plugins, tasks)
    while True:
        try:
            data, descriptors, _, _ = socket.recv_fds(control, _HEAD.size, 1)
            if not data:
                return
            data += _exactly(control, _HEAD.size - len(data))
            order = json.loads(_exactly(control, _HEAD.unpack(data)[0]))
        except (EOFError, OSError):
            return
        (writing,) = descriptors
        pid = os.fork()
        if pid == 0:
            control.close()
            _child(order, writing, broken)
        os.close(writing)
        try:
            _send(control, {"pid": pid})
            _, status = os.waitpid(pid, 0)
            _send(control, {"status": status})
        except OSError:
            return  # whoever asked is gone


def _import_all(plugins: Sequence[str], tasks: Sequence[str]) -> str:
    """Import plugins and the metrics of tasks; the reason where that cannot be done, for which no job can be either."""
    try:
        for name in plugins:
            import_plugin(name)
        for name in tasks:
            get_task(name)
    except (PluginError, UnknownNameError) as error:
        return str(error)
    return ""


def _child(order: Mapping[str, Any], writing: int, broken: str) -> None:
    """Do one job and end the process, whatever happens."""
    code = 1
    try:
        given = dict(order["confines"])
        given |= {name: tuple(given[name]) for name in ("writable", "readable")}
        _HELD.extend(confine(Confines(**given)))
        _die_with_parent()  # a namespace of one's own forgets it

        def send(message: Mapping[str, Any]) -> None:
            data = json.dumps(message).encode() + b"\n"
            while data:
                data = data[os.write(writing, data) :]

        try:
            if broken:
                raise PluginError(broken)
            module, _, name = JOBS[order["job"]].partition(":")
            result = getattr(import_module(module, __package__), name)(order["task"], send)
        except MemoryError:
            result = {"error": "memory"}
        except (StoreError, PipelineError, PluginError, SchedulerError) as error:
            result = {"error": str(error), "system": True}
        except RunError as error:  # processes or a cluster that died: by chance, or of what was sent
            result = {"error": f"could not be scored: {error}"}
        except MirflowError as error:
            result = {"error": str(error), "refused": True}
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            # What was sent may make others of these, and must not stop the queue.
            result = {"error": what, "system": order["job"] != "check" or error.errno in _FULL}
        send(result)
        code = 0
    except BrokenPipeError:
        pass  # whoever asked is gone
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            import traceback

            traceback.print_exc()
    finally:
        os._exit(code)


def _die_with_parent() -> None:
    """End when the parent does, where the system can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def confine(confines: Confines) -> list[str]:
    """Confine this process for good.

    Returns
    -------
    list of str
        What held: network, folders, signals, calls, and the limits by name.
    """
    os.environ.clear()
    os.environ.update(confines.environment)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    alone = not confines.network and _without_network()
    allowed = Allowed(
        confines.writable, confines.readable, confines.network, processes=not confines.alone, links=confines.links
    )
    limits = [*_limit(confines)]  # before calls are refused
    held = [*restrict(allowed)] if confines.writable else []
    if "calls" in held and confines.alone:
        held += [] if "signals" in held else ["signals"]
        alone = alone or not confines.network  # there are no sockets
    return [*(["network"] if alone else []), *held, *limits]


def lacks(held: Collection[str]) -> list[str]:
    """What does not confine checks on this host, in words."""
    return [why for name, why in LACKS.items() if name not in held]


def _limit(confines: Confines) -> Iterator[str]:
    import resource

    seconds = (int(confines.seconds) + 1) * (1 if confines.alone and not confines.threads else os.cpu_count() or 1)
    wanted = [("files", resource.RLIMIT_NOFILE, confines.files), ("time", resource.RLIMIT_CPU, seconds)]
    wanted += [("core", resource.RLIMIT_CORE, 0)]
    if confines.memory is not None:
        wanted.append(("memory", resource.RLIMIT_AS, _address_space() + confines.memory))
    if confines.file_size is not None:
        wanted.append(("sizes", resource.RLIMIT_FSIZE, confines.file_size))
    if confines.alone and not confines.threads:
        wanted.append(("processes", resource.RLIMIT_NPROC, 0))
    for name, which, most in wanted:
        _, hard = resource.getrlimit(which)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(which, (most, most))
            yield name


def _address_space() -> int:
    """Bytes of address space that Python and its libraries have taken already; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _without_network() -> bool:
    """Leave the network, which an ordinary user may do in a namespace of users of its own."""
    if sys.platform != "linux":
        return False
    unshare = ctypes.CDLL(None, use_errno=True).unshare
    apart = _CLONE_NEWNET | _CLONE_NEWIPC
    return bool(unshare(_CLONE_NEWUSER | apart) == 0 or unshare(apart) == 0)


def hold_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Try to leave the confines (but for the folder ``inside``), and report what came of it."""
    found: dict[str, Any] = {"held": _HELD, "environment": len(os.environ)}
    for name, path in (("inside", Path(task["inside"], "written")), ("outside", Path(task["inside"]).with_name("out"))):
        try:
            path.write_bytes(b"")
            path.unlink()
            found[name] = "written"
        except OSError:
            found[name] = "refused"
    try:
        socket.create_connection(("127.0.0.1", int(task.get("port", 9))), 1).close()
        found["network"] = "connected"
    except OSError as error:
        found["network"] = str(error.strerror)
    try:
        mmap.mmap(-1, 2**36).close()  # asked for, and never touched
        found["memory"] = "given"
    except (MemoryError, OSError):
        found["memory"] = "refused"
    return found
