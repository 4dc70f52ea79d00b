"""Child processes for untrusted files: limited in memory, time, files and folders, and without network access.

A server process starts once with an empty environment and mirflow imported, and forks a child for each of `JOBS`, those
of submissions and of graders' pools, so no job sees data of another one. Jobs and the messages returned through a pipe
are JSON. Resources and the network are limited here, folders and system calls in `sandbox.py`. One job tests the
confinement: it tries to escape.
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
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ....errors import MirflowError, PipelineError, PluginError, RunError, SchedulerError, StoreError, UnknownNameError
from ....metrics.base import get_task
from ....plugins import import_module as import_plugin
from .sandbox import Allowed, libraries, restrict

# Modules and functions of jobs, by name.
JOBS: Mapping[str, str] = {
    "hold": ".confinement:hold_job",
    "tracks": ".scoring:tracks_job",
    "check": ".checking:check_job",
    "names": ".checking:names_job",
    "read": ".checking:read_job",
    "score": ".scoring:score_job",
    "release": ".scoring:release_job",
    "publish": ".scoring:publish_job",
    "lists": ".archives:lists_job",
    "pool": ".archives:pool_job",
}
# Modules that jobs of submissions need, imported once.
PRELOADED = (
    ".checking", ".scoring", "mirflow.store.zarr_io", "mirflow.evaluation.linter", "mirflow.campaign.site.changes",
    "xarray", "pandas", "scipy.stats", "dask.array", "filelock",
)  # fmt: skip
MAX_MESSAGES = 64 * 2**20  # limit for the messages of a job, in bytes
_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
_LOOK = 0.25  # seconds between two looks at what a job has written
_ENTRY = 4096  # bytes that a file or folder counts at least
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})  # errno values of disk errors
_HELD: list[str] = []  # restrictions in force in this process
# Missing restrictions of a host, and what a compromised parser could then do.
LACKS: Mapping[str, str] = {
    "folders": "no Landlock: all files of this account can be read and written",
    "signals": "Landlock is older than version 6 and system calls are not filtered on this machine: processes of this "
    "account can be terminated",
    "calls": "no filter of system calls: programs can be started, sockets of this host connected to, and modes and "
    "times of files changed",
    "network": "no network namespace and no filter of system calls: the network can be reached",
    "memory": "memory is not limited",
}

SendMessage = Callable[[Mapping[str, Any]], None]  # sends a message from a job


@dataclass(frozen=True)
class Confines:
    """Limits of a job."""

    seconds: float  # wall time after which the job is killed; also the limit of its CPU time
    memory: int | None = None  # bytes of address space beyond those used by Python and its libraries
    file_size: int | None = None  # largest file that it may write, in bytes
    # Bytes that it may write in all; it is killed a fraction of a second after it has written more.
    written: int | None = None
    files: int = 256  # most open files
    network: bool = False
    alone: bool = True  # whether it is prevented from starting processes
    threads: bool = False  # whether it may start threads
    writable: tuple[str, ...] = ()  # folders in which it may write; empty: any
    # Files and folders that it may read in addition to these and Python's own; empty: any.
    readable: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)  # its environment


class JobError(MirflowError):
    """A job ended without a result."""


class JobLimitError(JobError):
    """A job exceeded a limit."""


class JobTimeoutError(JobLimitError):
    """A job exceeded its time limit."""


class JobMemoryError(JobLimitError):
    """A job exceeded its memory limit."""


class JobDiskError(JobLimitError):
    """A job wrote more than it may."""


class JobRefusedError(JobError):
    """A job rejects its input; the message gives the reason."""


class SystemTroubleError(JobError):
    """A job cannot run now whatever its input: the disk is full, the store is damaged, references are missing."""


class StoppedError(JobError):
    """A job was stopped by its caller."""


class Confinement(contextlib.AbstractContextManager["Confinement"]):
    """A process that runs confined jobs, one at a time.

    Use it as a context manager, in one thread.

    `tasks`: tasks whose metrics are imported once for all jobs.
    `modules`: modules imported once for all jobs.
    `plugins`: the organiser's Python files and modules with tasks and readers, imported once for all jobs.
    """

    def __init__(
        self, tasks: Iterable[str] = (), modules: Sequence[str] = PRELOADED, plugins: Sequence[str] = ()
    ) -> None:
        if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
            message = "cannot confine checks of submissions on this system: run the worker on Linux, macOS or BSD"
            raise MirflowError(message)
        self._tasks, self._modules, self._plugins = list(tasks), list(modules), list(plugins)
        self._process: subprocess.Popen[bytes] | None = None
        # The end of a pair of sockets on which the process gets orders, and its answers, which are lines of JSON.
        self._control: tuple[socket.socket, IO[bytes]] | None = None

    def close(self, *_: object) -> None:
        """Stop the process."""
        for end in self._control or ():
            end.close()
        self._control = None
        if self._process is not None:
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    __exit__ = close

    def run(
        self,
        job: str,
        task: Mapping[str, Any],
        confines: Confines,
        progress: Callable[[Mapping[str, Any]], None] | None = None,
        beat: Callable[[], bool] | None = None,
    ) -> dict[str, Any]:
        """Run a job until it ends. `task`: input of the job, as JSON. `progress`: receives all messages but the last.
        `beat`: called several times a second; returns False to stop the job.
        """
        control, answers = self._start()
        reading, writing = os.pipe()
        try:
            data = json.dumps({"job": job, "task": task, "confines": asdict(confines)}).encode()
            try:
                socket.send_fds(control, [b"\n"], [writing])
                control.sendall(data + b"\n")
                pid = int(json.loads(answers.readline())["pid"])
            except (OSError, ValueError):
                self.close()
                raise JobError("the process for checks of submissions has ended") from None
            finally:
                os.close(writing)
            try:
                return _follow(reading, pid, confines, progress, beat)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                try:
                    json.loads(answers.readline())  # wait for the end of the child
                except (OSError, ValueError):
                    self.close()
        finally:
            os.close(reading)

    def _start(self) -> tuple[socket.socket, IO[bytes]]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._control is None:
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
                # Signals of the terminal are meant for the worker, which ends its jobs itself.
                start_new_session=True,
            )
            theirs.close()
            self._control = ours, ours.makefile("rb")
        return self._control


def _follow(
    reading: int,
    pid: int,
    confines: Confines,
    progress: Callable[[Mapping[str, Any]], None] | None,
    beat: Callable[[], bool] | None,
) -> dict[str, Any]:
    """Read the messages of a job until it closes its pipe; the last one is the result."""
    deadline, looked, total, rest, last = time.monotonic() + confines.seconds, 0.0, 0, b"", None
    most = confines.written
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            if now > deadline:
                raise JobTimeoutError(f"took longer than {confines.seconds:g} seconds")
            if most is not None and now > looked + _LOOK:
                looked = now
                _demand_space(pid, confines.writable, most)
            if beat is not None and not beat():
                raise StoppedError("was stopped")
            if not selector.select(0.2):
                continue
            piece = os.read(reading, 2**16)
            if not piece:
                break
            total += len(piece)
            if total > MAX_MESSAGES:
                raise JobError("sent too many messages")
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                message = _parse(line)
                if "progress" not in message:
                    last = message
                elif progress is not None:
                    progress(message)
    if most is not None:
        _demand_space(pid, confines.writable, most)
    if last is None:
        raise JobError("ended without a result: it was killed, or used up its processor time")
    if last.get("error") == "memory":
        raise JobMemoryError("needed more memory than it may have")
    if "error" in last:
        kind = SystemTroubleError if last.get("system") else JobRefusedError if last.get("refused") else JobError
        raise kind(str(last["error"])[:2000])
    return last


def _demand_space(pid: int, folders: Iterable[str], most: int) -> None:
    try:
        # What the process has written to disks, also of files without a name, if the system reports it.
        fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        written = int(fields["write_bytes"])
    except (OSError, ValueError, KeyError):
        written = 0
    for folder in folders:
        size, left = 0, [folder]
        while left and max(written, size) <= most:
            try:
                with os.scandir(left.pop()) as entries:
                    for entry in entries:
                        with contextlib.suppress(FileNotFoundError):
                            size += max(_ENTRY, 512 * entry.stat(follow_symlinks=False).st_blocks)
                            if size > most:
                                break
                            if entry.is_dir(follow_symlinks=False):
                                left.append(entry.path)
            except FileNotFoundError:
                continue  # it was removed
            except OSError:  # too deep to be looked at
                written = most + 1
        written = max(written, size)
    if written > most:
        raise JobDiskError(f"wrote more than {most / 10**6:.10g} MB")


def _parse(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise JobError("sent something that is not JSON") from None
    if not isinstance(message, dict):
        raise JobError("sent an invalid message")
    return message


def main(descriptor: int, tasks: Sequence[str] = (), modules: Sequence[str] = (), plugins: Sequence[str] = ()) -> None:
    """Fork a child for every job received through a socket, until it is closed."""
    _die_with_parent()
    control = socket.socket(fileno=descriptor)
    orders = control.makefile("rb")
    for name in modules:
        import_module(name, __package__)
    broken = ""
    try:
        for name in plugins:
            import_plugin(name)
        for name in tasks:
            get_task(name)
    except (PluginError, UnknownNameError) as error:
        broken = str(error)  # applies to every job
    while True:
        try:
            data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not data:
                return
            order = json.loads(orders.readline())
        except (OSError, ValueError):
            return  # the caller is gone
        (writing,) = descriptors
        pid = os.fork()
        if pid == 0:
            orders.close()
            control.close()
            _child(order, writing, broken)
        os.close(writing)
        try:
            control.sendall(json.dumps({"pid": pid}).encode() + b"\n")
            _, status = os.waitpid(pid, 0)
            control.sendall(json.dumps({"status": status}).encode() + b"\n")
        except OSError:
            return  # the caller is gone


def _child(order: Mapping[str, Any], writing: int, broken: str) -> None:
    code = 1
    try:
        fields = dict(order["confines"])
        fields |= {name: tuple(fields[name]) for name in ("writable", "readable")}
        _HELD.extend(confine(Confines(**fields)))
        _die_with_parent()  # lost on entering a namespace

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
        except RunError as error:  # processes or a cluster died, by chance or because of the input
            result = {"error": f"could not be scored: {error}"}
        except MirflowError as error:
            result = {"error": str(error), "refused": True}
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            # Submitted files may cause any other error, which must not stop the queue.
            result = {"error": what, "system": order["job"] != "check" or error.errno in _FULL}
        send(result)
        code = 0
    except BrokenPipeError:
        pass  # the caller is gone
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            import traceback

            traceback.print_exc()
    finally:
        os._exit(code)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def confine(confines: Confines) -> list[str]:
    """Confine this process permanently.

    Returns: the restrictions in force: network, folders, signals, calls, and the limits by name.
    """
    import resource

    os.environ.clear()
    os.environ.update(confines.environment)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    alone = not confines.network and _without_network()
    allowed = Allowed(confines.writable, confines.readable, confines.network, processes=not confines.alone)
    limits = []  # before calls are filtered
    seconds = (int(confines.seconds) + 1) * (1 if confines.alone and not confines.threads else os.cpu_count() or 1)
    wanted = [("files", resource.RLIMIT_NOFILE, confines.files), ("time", resource.RLIMIT_CPU, seconds)]
    wanted += [("core", resource.RLIMIT_CORE, 0)]
    if confines.memory is not None:
        try:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            used = 0  # the system does not report it
        wanted.append(("memory", resource.RLIMIT_AS, used + confines.memory))
    if confines.file_size is not None:
        wanted.append(("sizes", resource.RLIMIT_FSIZE, confines.file_size))
    if confines.alone and not confines.threads:
        wanted.append(("processes", resource.RLIMIT_NPROC, 0))
    for name, which, most in wanted:
        _, hard = resource.getrlimit(which)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(which, (most, most))
            limits.append(name)
    held = [*restrict(allowed)] if confines.writable else []
    if "calls" in held and confines.alone:
        held += [] if "signals" in held else ["signals"]
        alone = alone or not confines.network  # sockets are not needed
    return [*(["network"] if alone else []), *held, *limits]


def lacks(held: Collection[str]) -> list[str]:
    """Describe the restrictions that this host lacks."""
    return [why for name, why in LACKS.items() if name not in held]


def _without_network() -> bool:
    """Leave the network by entering a new user namespace, which needs no privilege."""
    if sys.platform != "linux":
        return False
    unshare = ctypes.CDLL(None, use_errno=True).unshare
    apart = _CLONE_NEWNET | _CLONE_NEWIPC
    return bool(unshare(_CLONE_NEWUSER | apart) == 0 or unshare(apart) == 0)


def hold_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Try to escape the confinement (except into the folder ``inside``), and report the result.

    `task`: ``inside``, ``port`` of a server of this host, and ``secrets``: pairs of words and a path.
    Returns: ``held``: the restrictions in force; ``opened``: words, path and the readable folder or file around it, of
      each secret that could be opened; and what else was reached.
    """
    reached: dict[str, Any] = {"held": _HELD, "environment": len(os.environ), "opened": []}
    for words, path in task.get("secrets", ()):
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        except OSError:
            continue
        real = Path(path).resolve()
        around = (library for library in libraries() if real.is_relative_to(Path(library).resolve()))
        reached["opened"].append([words, path, next(around, "")])
    for name, path in (("inside", Path(task["inside"], "written")), ("outside", Path(task["inside"]).with_name("out"))):
        try:
            path.write_bytes(b"")
            path.unlink()
            reached[name] = "written"
        except OSError:
            reached[name] = "refused"
    try:
        socket.create_connection(("127.0.0.1", int(task.get("port", 9))), 1).close()
        reached["network"] = "connected"
    except OSError as error:
        reached["network"] = str(error.strerror)
    try:
        mmap.mmap(-1, 2**36).close()  # reserved, but never touched
        reached["memory"] = "given"
    except (MemoryError, OSError):
        reached["memory"] = "refused"
    return reached
