"""Every scheduler gives the same results, and a dead worker costs a retry, not the run."""

from __future__ import annotations

import functools
import operator
import os
import re
import signal
import socket
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirflow.engine import schedule as execution
from mirflow.engine.block import BlockWork, one_thread, score_block
from mirflow.engine.runs import plan
from mirflow.engine.schedule import Graph, Key, block_graph, choose_scheduler, execute
from mirflow.errors import RunError
from mirflow.store.cells import Cells
from tests.datasets import write_dataset


def graph_of(pipeline: Path) -> Graph:
    (one,) = plan(pipeline).plans
    return block_graph(one, np.ones(one.shape, dtype=np.bool_), uuid.uuid4().hex)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return graph_of(write_dataset(tmp_path_factory.mktemp("data"), tracks=8))


def results(graph: Graph, scheduler: Any, **how: Any) -> dict[Key, Cells]:
    found: dict[Key, Cells] = {}
    execute(graph, scheduler, found.__setitem__, **how)
    return found


@pytest.fixture(scope="module")
def expected(graph: Graph) -> dict[Key, Cells]:
    return results(graph, "serial")


def assert_same(found: dict[Key, Cells], expected: dict[Key, Cells]) -> None:
    assert sorted(found) == sorted(expected)
    for number, cells in expected.items():
        assert found[number].track == cells.track
        np.testing.assert_array_equal(found[number].score, cells.score)
        np.testing.assert_array_equal(found[number].weight, cells.weight)


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_local_schedulers_give_what_serial_gives(scheduler: str, graph: Graph, expected: dict[Key, Cells]) -> None:
    assert_same(results(graph, scheduler, workers=2), expected)


def test_nothing_to_do_starts_nothing() -> None:
    assert results({}, "tcp://127.0.0.1:1") == {}


def test_a_killed_worker_process_costs_a_retry(
    graph: Graph, expected: dict[Key, Cells], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = tmp_path / "killed"
    monkeypatch.setattr("mirflow.engine.schedule.score_block", functools.partial(kill_once_then_score, once))
    assert_same(results(graph, "processes", workers=2), expected)
    assert once.exists()


def kill_once_then_score(marker: Path, work: BlockWork) -> Cells:
    """Stands for `score_block` in a worker: the first one to get here dies as if it had run out of memory."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return score_block(work)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def always_die(work: BlockWork) -> Cells:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def test_workers_that_always_die_end_in_an_error_that_says_so(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirflow.engine.schedule.score_block", always_die)
    with pytest.raises(RunError, match=r"the worker process died \(killed by signal 9\) before it scored anything"):
        results(graph, "processes", workers=2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
    ) as cluster:
        yield cluster


def test_a_cluster_gives_what_serial_gives(cluster: Any, graph: Graph, expected: dict[Key, Cells]) -> None:
    assert_same(results(graph, cluster.scheduler_address), expected)


@pytest.mark.slow
def test_a_cluster_s_killed_worker_costs_a_retry(cluster: Any, graph: Graph, expected: dict[Key, Cells]) -> None:
    found: dict[Key, Cells] = {}
    killed: list[int] = []

    def done(key: Key, cells: Cells) -> None:
        found[key] = cells
        if not killed:
            victim = next(iter(cluster.workers.values()))
            killed.append(victim.process.process.pid)
            os.kill(killed[0], signal.SIGKILL)

    execute(graph, cluster.scheduler_address, done)
    assert killed
    assert_same(found, expected)


def test_two_runs_on_one_cluster_never_share_a_task(
    cluster: Any, graph: Graph, expected: dict[Key, Cells], tmp_path: Path
) -> None:
    others = graph_of(write_dataset(tmp_path, tracks=8, seed=1))
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(results, some, cluster.scheduler_address) for some in (graph, others)]
        found = [one.result() for one in running]
    assert_same(found[0], expected)
    assert_same(found[1], results(others, "serial"))


def test_a_cluster_that_goes_away_ends_in_an_error_that_says_so(cluster: Any, graph: Graph) -> None:
    distributed = pytest.importorskip("distributed")
    gone = pytest.raises(RunError, match=r"the cluster failed .*; computed scores are kept")
    with distributed.Client(cluster, set_as_default=False) as client, gone:

        def cancel_the_rest(key: Key, cells: Cells) -> None:
            client.cancel([distributed.Future(key, client) for key in client.futures])

        execute(graph, client, cancel_the_rest)


def test_workers_with_other_code_are_an_error_that_says_so(
    cluster: Any, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirflow.engine.schedule.score_block", operator.attrgetter("something_new"))
    with pytest.raises(
        RunError, match=r"'something_new'.: its scheduler and workers need the code of this process, mir"
    ):
        results(graph, cluster.scheduler_address)


def test_a_cluster_that_does_not_answer_is_an_error(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(execution, "CONNECT_SECONDS", 0.3)
    with pytest.raises(RunError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:1"):
        results(graph, "tcp://127.0.0.1:1")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", (2**40).to_bytes(8, "little") * 2])
def test_another_program_in_place_of_a_cluster_is_an_error(
    answer: bytes, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(execution, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            link, _ = server.accept()
            with link, suppress(OSError):
                link.sendall(answer)
                while link.recv(2**16):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(RunError, match=rf"no dask scheduler answers at tcp://127\.0\.0\.1:{port}: another program"):
            results(graph, f"tcp://127.0.0.1:{port}")
        thread.join()


def test_a_cluster_without_workers_is_an_error_that_says_so(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(execution, "WORKER_SECONDS", 0.5)
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL") as empty:
        address = re.escape(empty.scheduler_address)
        with pytest.raises(RunError, match=f"no worker joined the dask scheduler at {address} within 0.5 seconds"):
            results(graph, empty.scheduler_address)


def test_auto_starts_workers_only_for_much_work_and_only_where_it_may(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choose_scheduler("auto", graph, guarded=True) == "serial"
    monkeypatch.setattr(execution, "START_SECONDS", 0.0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert choose_scheduler("auto", graph, guarded=True) == "processes"
    assert choose_scheduler("auto", graph, guarded=True, workers=1) == "serial"
    assert choose_scheduler("auto", graph, guarded=False) == "serial"
    assert choose_scheduler("threads", graph, guarded=False) == "threads"


def test_workers_do_linear_algebra_in_one_thread_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    from multiprocessing import forkserver

    noted: dict[str, str | None] = {}
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.setattr(
        forkserver, "ensure_running", lambda: noted.update({name: os.environ.get(name) for name in names})
    )
    execution.start_forkserver()
    assert noted == {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    assert [os.environ.get(name) for name in names] == ["3", None, None]


def test_one_thread_for_linear_algebra_until_the_last_one_leaves() -> None:
    import scipy.linalg  # noqa: F401  # its library too is limited to two threads
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        with one_thread(), ThreadPoolExecutor(1) as pool:

            def inside() -> set[int]:
                with one_thread():
                    return threads()

            assert threads() == pool.submit(inside).result() == {1}
            assert threads() == {1}
        assert threads() == {2}


@pytest.mark.slow
def test_an_error_of_the_receiver_ends_the_run(graph: Graph) -> None:
    def refuse(key: Key, cells: Cells) -> None:
        raise RunError("enough")

    for scheduler in ("serial", "threads", "processes"):
        with pytest.raises(RunError, match="enough"):
            execute(graph, scheduler, refuse)
