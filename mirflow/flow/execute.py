"""Blocks of work through a scheduler: in this process, in worker processes, in threads or on a cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from ..cells import Cells
from ..errors import RunError
from .block import score_block
from .work import BlockWork

Done = Callable[[int, Cells], None]
"""Called in the process that started the run with the number of a block and its results, as they come back."""

CELL_SECONDS = 2e-4
"""About what one cell takes on one core; it only decides whether starting workers pays."""

SMALL_SECONDS = 3.0
FRUITLESS_TRIES = 3
CONNECT_SECONDS = 10
_PRELOAD = ("mirflow.flow.block", "mirflow.metrics.chord", "mirflow.readers")


def choose_scheduler(scheduler: str, works: Sequence[BlockWork], guarded: bool) -> str:
    """What ``auto`` stands for.

    Parameters
    ----------
    scheduler : str
        Anything but ``auto`` is returned as it is.
    works : sequence of BlockWork
    guarded : bool
        Whether worker processes may be started: True from the command line. A script that calls us may lack the
        ``if __name__ == "__main__"`` guard, without which its workers would run it again.

    Examples
    --------
    >>> choose_scheduler("auto", [], guarded=True), choose_scheduler("threads", [], guarded=False)
    ('serial', 'threads')
    """
    if scheduler != "auto":
        return scheduler
    small = sum(map(len, works)) * CELL_SECONDS < SMALL_SECONDS
    return "serial" if small or not guarded or (os.cpu_count() or 1) < 2 else "processes"


def execute(works: Sequence[BlockWork], scheduler: Any, done: Done, workers: int | None = None) -> None:
    """Score blocks and hand over each result as it comes back.

    Parameters
    ----------
    works : sequence of BlockWork
    scheduler : str or distributed.Client
        ``serial``, ``threads``, ``processes``, ``tcp://host:port`` or a client.
    done : callable
    workers : int or None
        How many threads or processes; None: one a core.

    Raises
    ------
    RunError
        If worker processes die again and again, or the cluster cannot be reached.
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
    else:
        _execute_on_cluster(works, scheduler, done)


def _execute_locally(works: Sequence[BlockWork], todo: Sequence[int], scheduler: str, done: Done, **how: Any) -> None:
    """Through one of dask's local schedulers, whose callbacks run in this process."""
    import dask
    from dask.callbacks import Callback

    from .graph import lazy_blocks

    blocks = lazy_blocks([works[number] for number in todo])
    number_of = {block.key: number for block, number in zip(blocks, todo, strict=True)}

    def report(key: str, result: Cells, *_: object) -> None:
        if key in number_of:
            done(number_of[key], result)

    with Callback(posttask=report):
        dask.compute(*blocks, scheduler=scheduler, optimize_graph=False, **how)


def _execute_in_processes(works: Sequence[BlockWork], done: Done, workers: int) -> None:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOAD))
    finished: set[int] = set()

    def note(number: int, cells: Cells) -> None:
        finished.add(number)
        done(number, cells)

    fruitless = 0
    while fruitless < FRUITLESS_TRIES and len(finished) < len(works):
        todo = [number for number in range(len(works)) if number not in finished]
        before = len(finished)
        pool = ProcessPoolExecutor(min(workers, len(todo)), mp_context=context, initializer=_ignore_interrupt)
        try:
            _execute_locally(works, todo, "processes", note, pool=pool, chunksize=1)
        except BrokenProcessPool:
            # A killed worker breaks the whole pool; what had come back is kept, the rest is tried in a new one.
            fruitless = fruitless + 1 if len(finished) == before else 0
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    if len(finished) < len(works):
        left = len(works) - len(finished)
        raise RunError(
            f"worker processes died {FRUITLESS_TRIES} times without finishing a block ({left} blocks left); "
            "what was computed is kept: run again, perhaps with a smaller block or scheduler: serial"
        )


def _ignore_interrupt() -> None:
    """Ctrl-C reaches every process of the terminal; only the one that was started answers to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _execute_on_cluster(works: Sequence[BlockWork], scheduler: Any, done: Done) -> None:
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise RunError("a cluster needs distributed: pip install 'mirflow[distributed]'") from None
    from .graph import lazy_blocks

    client = scheduler
    if isinstance(scheduler, str):
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise RunError(f"no dask scheduler answers at {scheduler}: {error}") from None
    try:
        blocks = lazy_blocks(works)
        futures = client.compute(blocks, optimize_graph=False, retries=2)
        number_of = {future.key: number for number, future in enumerate(futures)}
        for future, cells in as_completed(futures, with_results=True):
            done(number_of[future.key], cells)
            future.release()
    finally:
        if isinstance(scheduler, str):
            client.close()
