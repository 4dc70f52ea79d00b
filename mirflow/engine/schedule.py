"""The graph of blocks, and its execution: one by one in this process, or by dask in threads, processes or a cluster.

Blocks whose worker died are scored again, alone. A cluster is refused if a worker has another version of mirflow, lacks
a plug-in, or does not see the files. ``auto`` starts worker processes only if they are estimated to save time.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapreplace
from importlib.metadata import version
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from pickle import PickleError
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

import numpy as np

from ..annotations.schema import kind_of
from ..errors import MirflowError, PluginError, RunError, SchedulerError, UnreadableError, counted
from ..interruption import deferred
from ..pipeline.plan import EvaluationPlan
from ..plugins import import_module
from ..ragged import Bool, Int
from ..store.cells import Cells, concatenate_cells
from .block import BlockWork, TrackWork, block_size, failed_cells, score_block

Key: TypeAlias = str
"""Of a block: its evaluation and number, and what tells one graph from all others: ``chord-block-7-...``."""


@dataclass(eq=False)
class BlockTask:
    """The task of a block: some tracks of a plan with cells to score. Its work is made where it is called or sent, so
    that a graph holds a plan and no work."""

    plan: EvaluationPlan
    cells: Bool  # of the plan, over systems and tracks: those to score
    number: int
    columns: Int  # places of its tracks in the plan
    by_annotator: bool

    @property
    def work(self) -> BlockWork:
        """What is read and scored."""
        plan = self.plan
        tracks: list[TrackWork] = []
        for column in self.columns.tolist():
            rows = np.flatnonzero(self.cells[:, column]).tolist()
            systems = tuple([plan.systems[row] for row in rows])
            estimates = tuple([plan.estimates[row][column] for row in rows])
            stamps = tuple(plan.stamps[rows, column].tolist())
            tracks.append(TrackWork(plan.tracks[column], plan.references[column], systems, estimates, stamps))
        rules = plan.name, plan.task, plan.convention, plan.grid, plan.measures, plan.combine
        return BlockWork(*rules, tuple(tracks), self.by_annotator, plan.classes, plan.plugins)

    def __call__(self) -> Cells:
        """Read and score the block."""
        return score_block(self.work)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial, (score_block, self.work)


Graph: TypeAlias = Mapping[Key, tuple[BlockTask]]


def block_graph(plan: EvaluationPlan, cells: Bool, token: str) -> dict[Key, tuple[BlockTask]]:
    """A dask graph with a task for each block of some cells of a plan, in the order of the tracks. Two graphs, on one
    cluster or in one expression, must never share a task, as their files may differ although their names do not: the
    `token` tells them apart."""
    columns = np.flatnonzero(cells.any(axis=0))
    # Where annotators are distinguished, none may be scored against itself.
    by_annotator = not plan.allows_itself and any(
        reference.annotator or getattr(reference.source, "annotator", None) is not None
        for references in plan.references
        for reference in references
    )
    size = block_size(plan.task, plan.max_block)
    # A task is called without arguments: dask would search them, with all their sources, for keys.
    return {
        f"{plan.name}-block-{number}-{token}": (
            BlockTask(plan, cells, number, columns[start : start + size], by_annotator),
        )
        for number, start in enumerate(range(0, len(columns), size))
    }


def graph_of_one(work: BlockWork) -> dict[Key, tuple[Any]]:
    """A dask graph of one block that is scored alone."""
    return {f"{work.evaluation}-alone-{uuid.uuid4().hex}": (partial(score_block, work),)}


Done = Callable[[Key, Cells], None]
"""Called in the process of the run with the key of a block and its results, as they arrive."""

FILE_SECONDS = 3e-5
BYTE_SECONDS = 3e-8
"""About what reading and scoring a file and one of its bytes takes on one core, within a factor of 2.5 for the tasks
that were measured; it only decides whether starting workers pays."""

JAMS_BYTE_SECONDS = 1.5e-8
HIERARCHY_FACTOR = 7
AUDIO_BYTE_SECONDS = 1e-7
"""The same for a byte of an estimate's audio; a cell of four stereo sources of ten minutes has 423 MB."""

START_SECONDS = 0.8  # about what starting workers takes

WORKER_FACTOR = 1.2  # how much longer blocks take in workers, which send the results

LOCAL = ("serial", "threads", "processes")
CONNECT_SECONDS = 10
WORKER_SECONDS = 60  # how long a cluster may have no worker, at the start or later, before a run gives up

CHECK_SECONDS = 5  # after how many seconds without a result a run asks whether its cluster still has workers

_MOST_FOLDERS = 100  # about how many folders of files workers are asked for

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PRELOAD = ("mirflow.engine.block", "mirflow.metrics.chord", "mirflow.readers")


def choose_scheduler(scheduler: str, graph: Graph, guarded: bool, workers: int | None = None) -> str:
    """Resolve ``auto``; other schedulers are returned unchanged. Worker processes are started only if `guarded`, as on
    the command line: a script may lack the ``if __name__ == "__main__"`` guard, and its workers would run it again."""
    if scheduler != "auto":
        return scheduler
    workers = workers or os.cpu_count() or 1
    if not guarded or workers < 2:
        return "serial"
    # Each block goes to the worker that is free first, so that one long block saves nothing.
    alone, loads = 0.0, [0.0] * min(workers, max(1, len(graph)))
    for (task,) in graph.values():
        seconds = estimate_seconds(task.work)
        alone += seconds
        heapreplace(loads, loads[0] + WORKER_FACTOR * seconds)
        if alone - max(loads) > START_SECONDS:
            return "processes"
    return "serial"


def estimate_seconds(work: BlockWork) -> float:
    """Estimate the seconds that a block takes on one core, from the sizes of its files."""
    kind = kind_of(work.task)
    sources = [estimate for track in work.tracks for estimate in track.estimates if estimate is not None]
    if kind.name != "audio":
        references = [reference.source for track in work.tracks for reference in track.references]
        sources = [*{source.label: source for source in (*references, *sources)}.values()]
    total, seconds = 0, 0.0
    for source in sources:
        size = 0
        with suppress(UnreadableError):  # it is reported where it is read
            size = max(source.stat()[0], 0)
        total += size
        jams = all(path.endswith(".jams") for path in source.paths)
        seconds += FILE_SECONDS + size * (JAMS_BYTE_SECONDS if jams else BYTE_SECONDS)
    if kind.name == "audio":
        return total * AUDIO_BYTE_SECONDS
    return seconds * HIERARCHY_FACTOR if kind.level else seconds


def execute(
    graph: Graph,
    scheduler: Any,
    done: Done,
    workers: int | None = None,
    waiting: Callable[[str], None] = lambda _: None,
) -> None:
    """Score the blocks of a graph, and pass each result to `done` when it arrives. `workers`: number of threads or
    processes; None: one a core. `waiting`: called with what a cluster is waited for, and with an empty text when that
    has come."""
    if not graph:
        return
    if scheduler == "serial":
        for key, (task,) in graph.items():
            done(key, task())
    elif scheduler == "threads":
        _execute_locally(graph, "threads", done, num_workers=workers or os.cpu_count())
    elif scheduler == "processes":
        start_forkserver()
        left, most = dict(graph), workers or os.cpu_count() or 1

        def note(key: Key, cells: Cells) -> None:
            del left[key]
            done(key, cells)

        while left:
            started: set[Key] = set()
            with worker_pool(min(most, len(left))) as pool, suppress(BrokenProcessPool):
                _execute_locally(dict(left), "processes", note, started, pool=pool, chunksize=1, optimize_graph=False)
            # Blocks that were being scored when a worker died are scored alone, one by one.
            for key in [key for key in left if key in started]:
                note(key, _score_alone(graph[key][0].work, _score_in_a_process))
    elif isinstance(scheduler, str) and "://" not in scheduler:
        raise SchedulerError(f"unknown scheduler {scheduler!r}; known: auto, {', '.join(LOCAL)}, tcp://host:port")
    else:
        _execute_on_cluster(graph, scheduler, done, waiting)


def _execute_locally(
    graph: Mapping[Key, Any], scheduler: str, done: Done, started: set[Key] | None = None, **how: Any
) -> None:
    """By one of dask's local schedulers, whose callbacks run in this process; note which blocks were started."""
    from dask.base import named_schedulers
    from dask.callbacks import Callback

    position = {key: number for number, key in enumerate(graph)}

    def arrange(_: object, state: Any) -> None:
        # As in the plan; dask takes tasks that do not depend on each other by their names, from the last.
        state["ready"].sort(key=lambda key: position.get(key, 0), reverse=True)

    def start(key: Key, *_: object) -> None:
        if started is not None and key in graph:
            started.add(key)

    def report(key: Key, result: Cells, _: object, state: Any, __: object) -> None:
        if key in graph:
            state["cache"][key] = None  # of a large run, results are not held until its end
            done(key, result)

    with Callback(start_state=arrange, pretask=start, posttask=report):
        named_schedulers[scheduler](graph, [*graph], **how)


class _Pool(ProcessPoolExecutor):
    """Worker processes, which are started when blocks are submitted: none may be left half started."""

    only_worker: BaseProcess | None = None  # the process of a pool of one, once it has been started

    def submit(self, *args: Any, **keywords: Any) -> Any:
        """Give a task to a worker."""
        with deferred():
            before = multiprocessing.active_children()
            future = super().submit(*args, **keywords)
            if self.only_worker is None:
                started = [child for child in multiprocessing.active_children() if child not in before]
                self.only_worker = started[0] if started else None
            return future


@contextmanager
def worker_pool(workers: int) -> Iterator[_Pool]:
    """Worker processes, which end with this one; call `start_forkserver` before."""
    context: Any = multiprocessing.get_context("forkserver" if _HAS_FORKSERVER else "spawn")
    # The workers live as long as this end of the pipe is open, however this process ends.
    theirs, ours = context.Pipe(duplex=False)
    pool = _Pool(workers, context, _work_as_long_as, (theirs,))
    try:
        yield pool
    finally:
        with deferred():
            ours.close()
            pool.shutdown(cancel_futures=True)
            theirs.close()


def _score_in_a_process(work: BlockWork) -> Cells | str:
    """Score a block in a worker process that does nothing else; return how the process ended if it died."""
    results: list[Cells] = []
    with worker_pool(1) as pool, suppress(BrokenProcessPool):
        _execute_locally(
            graph_of_one(work), "processes", lambda _, cells: results.append(cells), pool=pool, chunksize=1
        )
    if results:
        return results[0]
    code = None if pool.only_worker is None else pool.only_worker.exitcode
    how = f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return f"the worker process died ({how})"


def _score_alone(work: BlockWork, score: Callable[[BlockWork], Cells | str], deaths: int = 0) -> Cells:
    """Score a block in halves of halves where its worker dies; a cell whose worker died twice alone has failed.
    `score`: scores a block while nothing else is being scored; returns how its worker died if it did. `deaths`: how
    often a worker has died that scored these cells, with or without others of the block."""
    result = score(work)
    if isinstance(result, Cells):
        return result
    if len(work) > 1:
        return concatenate_cells(_score_alone(half, score, deaths + 1) for half in work.halves())
    if not deaths:
        return _score_alone(work, score, deaths + 1)
    # Where a worker dies of nothing at all, as in a script without a guard, this cell is not the reason.
    nothing = score(replace(work, tracks=()))
    if isinstance(nothing, str):
        raise RunError(
            f"{nothing} before it scored anything, and so did others; computed scores are kept: run again, perhaps "
            "with scheduler: serial"
        )
    blank = score(work.without_estimates())
    why = f"{result} while it scored this cell alone; perhaps memory ran out"
    return failed_cells(work, why, blank if isinstance(blank, Cells) else None)


def _work_as_long_as(theirs: Connection) -> None:
    """Initialise a worker: leave Ctrl-C to the parent process, and end with it."""

    def end() -> None:
        # Nothing is written to the pipe: it closes when the parent process ends, which ends this one.
        with suppress(EOFError, OSError):
            theirs.recv_bytes()
        os._exit(0)

    # It reaches every process of the terminal; only the one that was started answers to it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end, daemon=True).start()


_HAS_FORKSERVER = "forkserver" in multiprocessing.get_all_start_methods()


def start_forkserver() -> None:
    """Start the server of workers so that no signal that reaches every process of the terminal hits it. It imports what
    workers need meanwhile; a run that knows that it needs workers starts it before it looks for files. They are
    blocked, which processes inherit, and not ignored: this process answers to them afterwards. Starting the tracker of
    resources unblocks Ctrl-C, to which the tracker itself does not answer. Workers do linear algebra in one thread,
    unless the user has said how many: there is a worker for each core, and separate threads would wait for each other
    ten times as long as they work. Windows has no such server."""
    if not _HAS_FORKSERVER:
        return
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(_PRELOAD))
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


def _execute_on_cluster(graph: Graph, scheduler: Any, done: Done, waiting: Callable[[str], None]) -> None:
    try:
        from distributed import Client, Security
        from distributed.comm import connect
    except ImportError:
        message = "a cluster needs distributed: pip install 'mirflow[distributed]', or '.[distributed]' in a checkout"
        raise SchedulerError(message) from None

    if not isinstance(scheduler, str):
        _Cluster(scheduler, waiting, own=False).execute(graph, done)
        return
    waiting(f"waiting for the dask scheduler at {scheduler}")

    async def reach() -> None:
        how = Security().get_connection_args("client")
        link = await asyncio.wait_for(connect(scheduler, timeout=CONNECT_SECONDS, **how), 1.1 * CONNECT_SECONDS)
        await link.close()

    try:
        # A client waits without end for another program, such as the dashboard, or takes its answer for a length that
        # no memory holds. In a thread, as a notebook has a loop of its own.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, reach()).result()
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, MemoryError) as error:
        other = isinstance(error, MemoryError) or not str(error)
        what = "another program does; is this the port of its dashboard?" if other else error
        raise SchedulerError(f"no dask scheduler answers at {scheduler}: {what}") from None
    # Distributed logs, in many lines, the loss of its scheduler, which ends the run with a message.
    logger = logging.getLogger("distributed.client")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with closing(client):
            _Cluster(client, waiting, own=True).execute(graph, done)
    finally:
        logger.setLevel(level)


class _Cluster:
    """The workers of a dask scheduler. `waiting`: called with what is waited for, and with an empty text when that has
    come. `own`: whether the client was made for this run. A user's client may belong to a cluster that starts workers
    only when it has tasks: it gets the blocks before it needs a worker."""

    def __init__(self, client: Any, waiting: Callable[[str], None], *, own: bool) -> None:
        self.client, self.waiting, self.own = client, waiting, own
        self.address = str(client.scheduler.address)

    def execute(self, graph: Graph, done: Done) -> None:
        """Score blocks; those that workers died of are then scored alone, one by one."""
        if self.own:
            self._demand_worker(SchedulerError)
        # Workers that cannot be reached, have another version, lack a plug-in or do not see the files are refused.
        plugins: dict[str, None] = {}
        folders: dict[str, None] = {}
        for (task,) in graph.values():
            work = task.work
            plugins |= dict.fromkeys(work.plugins)
            if len(folders) <= _MOST_FOLDERS:
                track = work.tracks[0]
                sources = [*(reference.source for reference in track.references), *filter(None, track.estimates)]
                folders |= {str(Path(path).parent): None for source in sources for path in source.paths}
        self.waiting(f"waiting for the workers of the dask scheduler at {self.address}")
        lacks = self._ask_workers([*plugins], [folder for folder in folders if Path(folder).is_dir()], SchedulerError)
        self._demand_same_version()
        self.waiting("")
        for address, lack in lacks.items():
            raise SchedulerError(f"the worker {address} cannot score this: {lack}")
        killed = []
        for key, result in self._results(graph):
            if isinstance(result, str):
                killed.append(key)
            else:
                done(key, result)
        for key in killed:
            done(key, _score_alone(graph[key][0].work, lambda work: next(self._results(graph_of_one(work)))[1]))

    def _results(self, graph: Mapping[Key, Any]) -> Iterator[tuple[Key, Cells | str]]:
        """Keys of blocks with their results, or how workers died of them, as they come back."""
        # Never the default or current client: that would turn other computations of this process to the cluster.
        futures = self.client.get(graph, [*graph], sync=False, optimize_graph=False, retries=2)
        left = set(graph)
        finished: SimpleQueue[Any] = SimpleQueue()
        for future in futures:
            future.add_done_callback(finished.put)
        del futures
        while left:
            try:
                future = finished.get(timeout=CHECK_SECONDS)
            except Empty:
                self._demand_worker()
                continue
            left.remove(future.key)
            yield future.key, self._result(future)
            future.release()

    def _result(self, future: Any) -> Cells | str:
        from distributed import CancelledError, KilledWorker

        checks = 0
        try:
            while True:
                try:
                    cells: Cells = future.result(timeout=CHECK_SECONDS)
                    return cells
                except TimeoutError:
                    if future.status == "error":  # the block's own
                        raise
                    # The worker that had the result is gone, and it is computed again, or it cannot be reached.
                    self._demand_worker()
                    checks += 1
                    if not checks % round(WORKER_SECONDS / CHECK_SECONDS):
                        self._ask_workers((), (), RunError)
        except KilledWorker as error:
            times = "once" if not error.allowed_failures else f"{error.allowed_failures + 1} times"
            return f"the worker process died ({times}, last {error.last_worker.address})"
        except (CancelledError, OSError) as error:  # a cluster that has lost a block says so in many ways
            raise _cluster_failure(error) from None
        except MirflowError:
            raise
        except Exception as error:
            self._demand_same_version()
            if isinstance(error, AttributeError | ImportError | PickleError):
                raise RunError(
                    f"the cluster failed ({type(error).__name__}: {error}): its scheduler and workers need the code of "
                    f"this process, mirflow {version('mirflow')}; computed scores are kept: install it, start them "
                    "anew and run again"
                ) from None
            raise

    def _demand_worker(self, error: type[RunError] = RunError) -> None:
        """Wait until there is a worker; without any, a block is waited for without end. A SchedulerError is one of a
        run that has not begun."""
        while True:
            try:
                if self.client.nthreads():
                    return
                self.waiting(f"waiting for a worker of the dask scheduler at {self.address}")
                self.client.wait_for_workers(1, timeout=WORKER_SECONDS)
                self.waiting("")
                return
            except TimeoutError:
                # A cluster may have asked for workers that still wait in the queue of a batch system.
                if not getattr(self.client.cluster, "requested", None):
                    break
            except OSError as lost:
                raise _cluster_failure(lost) from None
        missing, hint = f"no worker joined the dask scheduler at {self.address} within", ""
        if error is not SchedulerError:
            missing = f"the dask scheduler at {self.address} has no workers, and none joined it within"
            hint = "; computed scores are kept"
        how = f"dask worker {self.address}" if self.client.cluster is None else "client.cluster.scale(2)"
        raise error(f"{missing} {WORKER_SECONDS} seconds{hint}: start some ({how}), and run again")

    def _ask_workers(
        self, plugins: Sequence[str], folders: Sequence[str], error: type[RunError]
    ) -> dict[str, str | Exception]:
        """What each worker lacks, which is told by the worker or by the failure of the question. The scheduler may know
        a worker that it cannot reach: blocks would be sent to it, and no result would ever come."""
        answers = self.client.run(_lack_of, plugins, folders, on_error="return")
        left = self.client.nthreads()  # a worker that has ended meanwhile has not to be reached
        for address, answer in answers.items():
            if isinstance(answer, OSError) and address in left:
                hint = "" if error is SchedulerError else "; computed scores are kept"
                raise error(
                    f"the dask scheduler at {self.address} cannot reach the worker {address}{hint}: start the worker "
                    "with an address of its machine that the scheduler can reach (dask worker --host ADDRESS), and run "
                    "again"
                )
        return {address: answer for address, answer in answers.items() if answer and address in left}

    def _demand_same_version(self) -> None:
        """Refuse a cluster on which mirflow is not installed, or in another version: dask would lose its workers."""
        known = self.client.get_versions(packages=["mirflow"])
        here = known["client"]["packages"]["mirflow"]
        others = {"the scheduler": known["scheduler"]} | {
            f"the worker {address}": info for address, info in known["workers"].items()
        }
        for name, info in others.items():
            other = info["packages"]["mirflow"] if isinstance(info, dict) else here
            if other != here and here is not None:
                has = f"mirflow {other}" if other else "no mirflow"
                raise SchedulerError(
                    f"{name} has {has}, and this process mirflow {here}: install the same version for the scheduler "
                    "and all workers, start them anew and run again"
                )


def _lack_of(plugins: Sequence[str], folders: Sequence[str]) -> str:
    """What this worker lacks for blocks that import these plug-ins and read files of these folders."""
    for plugin in plugins:
        try:
            import_module(plugin)
        except PluginError as error:
            return str(error)
    missing = [folder for folder in folders if not Path(folder).is_dir()]
    more = f" and {counted(len(missing) - 1, 'other')}" if len(missing) > 1 else ""
    return f"it does not see the folder {missing[0]}{more}; mount it there under the same path" if missing else ""


def _cluster_failure(error: BaseException) -> RunError:
    what = " ".join(str(error).split())  # of several lines
    return RunError(f"the cluster failed ({type(error).__name__}: {what}); computed scores are kept: run again")
