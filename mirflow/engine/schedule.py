"""Blocks of work through a scheduler: in this process, in worker processes, in threads or on a cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from ..annotations.schema import kind_of
from ..annotations.source import Source
from ..cells import Cells
from ..errors import RunError, SchedulerError, UnreadableError
from ..interruption import deferred
from .block import BlockWork, score_block

Done = Callable[[int, Cells], None]
"""Called in the process that started the run with the number of a block and its results, as they come back."""

CELL_SECONDS = 1.3e-4
"""About what one cell takes on one core; it only decides whether starting workers pays."""

AUDIO_BYTE_SECONDS = 1e-7
"""The same for a byte of an estimate's audio; a cell of four stereo sources of ten minutes has 423 MB."""

SMALL_SECONDS = 3.0
LOCAL = ("serial", "threads", "processes")
FRUITLESS_TRIES = 3
CONNECT_SECONDS = 10
WORKER_SECONDS = 60
"""How long a cluster may have no worker before a run that has its address gives up."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PRELOAD = ("mirflow.engine.block", "mirflow.metrics.chord", "mirflow.readers")


def choose_scheduler(scheduler: str, works: Sequence[BlockWork], guarded: bool) -> str:
    """Resolve ``auto``; other schedulers are returned as they are.

    Worker processes are started only where that is `guarded`: from the command line. A script that calls us may lack
    the ``if __name__ == "__main__"`` guard, without which its workers would run it again.

    Examples
    --------
    >>> choose_scheduler("auto", [], guarded=True), choose_scheduler("threads", [], guarded=False)
    ('serial', 'threads')
    """
    if scheduler != "auto":
        return scheduler
    small = sum(map(estimate_seconds, works)) < SMALL_SECONDS
    return "serial" if small or not guarded or (os.cpu_count() or 1) < 2 else "processes"


def estimate_seconds(work: BlockWork) -> float:
    """About what a block takes on one core; of audio it depends on how much there is of it."""
    if kind_of(work.task).name != "audio":
        return len(work) * CELL_SECONDS
    sizes = [_size(estimate) for track in work.tracks for estimate in track.estimates if estimate is not None]
    return sum(sizes) * AUDIO_BYTE_SECONDS


def _size(source: Source) -> int:
    try:
        return max(source.stat()[0], 0)
    except UnreadableError:  # it is reported where it is read
        return 0


def execute(works: Sequence[BlockWork], scheduler: Any, done: Done, workers: int | None = None) -> None:
    """Score blocks and hand over each result as it comes back.

    Parameters
    ----------
    works : sequence of BlockWork
    scheduler : str or distributed.Client
        ``serial``, ``threads``, ``processes``, ``tcp://host:port`` or a client.
    done : callable
    workers : int or None
        Number of threads or processes; None: one a core.

    Raises
    ------
    SchedulerError
        If there is no such scheduler, or it does not answer.
    RunError
        If workers die again and again, or the cluster goes away.
    """
    if not works:
        return
    if scheduler == "serial":
        for number, work in enumerate(works):
            done(number, score_block(work))
    elif scheduler == "threads":
        _execute_locally(works, range(len(works)), "threads", done, num_workers=workers or os.cpu_count())
    elif scheduler == "processes":
        _execute_in_processes(works, done, workers or os.cpu_count() or 1)
    elif isinstance(scheduler, str) and "://" not in scheduler:
        raise SchedulerError(f"unknown scheduler {scheduler!r}; known: auto, {', '.join(LOCAL)}, tcp://host:port")
    else:
        _execute_on_cluster(works, scheduler, done)


def _execute_locally(works: Sequence[BlockWork], todo: Sequence[int], scheduler: str, done: Done, **how: Any) -> None:
    """Through one of dask's local schedulers, whose callbacks run in this process."""
    import dask
    from dask.callbacks import Callback

    from .lazy import lazy_blocks

    blocks = lazy_blocks([works[number] for number in todo])
    number_of = {block.key: number for block, number in zip(blocks, todo, strict=True)}

    def report(key: str, result: Cells, *_: object) -> None:
        if key in number_of:
            done(number_of[key], result)

    with Callback(posttask=report):
        dask.compute(*blocks, scheduler=scheduler, optimize_graph=False, **how)


class _Pool(ProcessPoolExecutor):
    """Worker processes, which are started when blocks are submitted: none may be left half started."""

    def submit(self, *args: Any, **keywords: Any) -> Any:
        """Give a task to a worker."""
        with deferred():
            return super().submit(*args, **keywords)


def _execute_in_processes(works: Sequence[BlockWork], done: Done, workers: int) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOAD))
    _start_forkserver()
    finished: set[int] = set()

    def note(number: int, cells: Cells) -> None:
        finished.add(number)
        done(number, cells)

    fruitless = 0
    while fruitless < FRUITLESS_TRIES and len(finished) < len(works):
        todo = [number for number in range(len(works)) if number not in finished]
        before = len(finished)
        # The workers live as long as this end of the pipe is open, however this process ends.
        theirs, ours = context.Pipe(duplex=False)
        pool = _Pool(min(workers, len(todo)), context, _work_as_long_as, (theirs,))
        try:
            _execute_locally(works, todo, "processes", note, pool=pool, chunksize=1)
        except BrokenProcessPool:
            # A killed worker breaks the whole pool; what had come back is kept, the rest is tried in a new one.
            fruitless = fruitless + 1 if len(finished) == before else 0
        finally:
            with deferred():
                ours.close()
                pool.shutdown(cancel_futures=True)
                theirs.close()
    if len(finished) < len(works):
        left = len(works) - len(finished)
        raise RunError(
            f"worker processes died {FRUITLESS_TRIES} times without finishing a block ({left} blocks left); "
            "what was computed is kept: run again, perhaps with a smaller block or scheduler: serial"
        )


def _work_as_long_as(theirs: Connection) -> None:
    """Initialise a worker: leave Ctrl-C to the parent process, and end with it."""

    def end() -> None:
        # Nobody writes to the pipe: it ends with the process at its other end, and this one with it.
        with contextlib.suppress(EOFError, OSError):
            theirs.recv_bytes()
        os._exit(0)

    # It reaches every process of the terminal; only the one that was started answers to it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end, daemon=True).start()


def _start_forkserver() -> None:
    """Start the server of workers so that no signal that reaches every process of the terminal hits it.

    They are blocked, which processes inherit, and not ignored: this process answers to them afterwards. Starting the
    tracker of resources unblocks Ctrl-C, to which the tracker itself does not answer.

    Workers do linear algebra in one thread, unless the user has said how many: there is a worker for each core, and
    threads of their own would wait for each other ten times as long as they work.
    """
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        with deferred():
            before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
            try:
                resource_tracker.ensure_running()
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
                forkserver.ensure_running()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        for name in added:
            del os.environ[name]


def _demand_worker(client: Any, address: str) -> None:
    """Wait until a cluster has a worker, without which it would be waited for without end."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise SchedulerError(
            f"no worker joined the dask scheduler at {address} within {WORKER_SECONDS} seconds: start some "
            f"(dask worker {address}), and run again"
        ) from None


def _execute_on_cluster(works: Sequence[BlockWork], scheduler: Any, done: Done) -> None:
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed
    except ImportError:
        message = "a cluster needs distributed: pip install 'mirflow[distributed]', or '.[distributed]' in a checkout"
        raise SchedulerError(message) from None
    from .lazy import lazy_blocks

    client = scheduler
    if isinstance(scheduler, str):
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise SchedulerError(f"no dask scheduler answers at {scheduler}: {error}") from None
    try:
        if isinstance(scheduler, str):
            _demand_worker(client, scheduler)
        # Never the default or current client: that would turn other computations of this process to the cluster.
        futures = client.compute(lazy_blocks(works), optimize_graph=False, retries=2)
        number_of = {future.key: number for number, future in enumerate(futures)}
        for future in as_completed(futures, loop=client.loop):
            try:
                cells: Cells = future.result()
            except (CancelledError, KilledWorker, OSError) as error:  # a cluster that has lost it says so in many ways
                why = f"{type(error).__name__}: {error}"
                raise RunError(f"the cluster failed ({why}); what was computed is kept: run again") from None
            done(number_of[future.key], cells)
            future.release()
    finally:
        if isinstance(scheduler, str):
            client.close()
