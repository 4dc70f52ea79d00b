"""The command ``mirflow run --scheduler tcp://...`` with a scheduler and workers that run as processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import dask.utils
import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.engine import schedule
from mirflow.engine.runs import plan
from mirflow.engine.schedule import Graph, Key, block_graph
from mirflow.errors import RunError, SchedulerError
from mirflow.store.cells import Cells
from tests.clusters import DaskCluster, kill
from tests.datasets import write_dataset
from tests.waiting import PATIENCE, until

distributed = pytest.importorskip("distributed")
Client = distributed.Client
pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with DaskCluster(tmp_path / "cluster") as cluster:
        yield cluster


def run_command(pipeline: Path, store: Path, scheduler: str) -> subprocess.CompletedProcess[str]:
    words = ["run", str(pipeline), "--store", str(store), "--scheduler", scheduler, "--quiet"]
    command = [sys.executable, "-m", "mirflow", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_scores_on_a_cluster_what_it_scores_alone(tmp_path: Path, cluster: DaskCluster) -> None:
    pipeline = write_dataset(tmp_path, tracks=8)
    stores = {}
    cluster.worker("--no-nanny")
    for name, scheduler in (("cluster", cluster.address), ("serial", "serial")):
        stores[name] = tmp_path / f"{name}.zarr"
        done = run_command(pipeline, stores[name], scheduler)
        assert (done.returncode, done.stderr) == (0, ""), cluster.log()
    one, other = (mirflow.open_store(store)["chord"].to_dataset() for store in stores.values())
    xr.testing.assert_equal(one, other)


def graph_of_chords(folder: Path, tracks: int, **settings: object) -> Graph:
    (evaluation,) = plan(write_dataset(folder, tracks=tracks)).plans
    every = np.ones(evaluation.shape, dtype=np.bool_)
    return block_graph(replace(evaluation, **settings), every, folder.name)


@pytest.mark.parametrize("given", ["address", "client"])
def test_a_run_whose_cluster_loses_its_workers_ends_with_a_message(
    tmp_path: Path, cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setattr(schedule, "CHECK_SECONDS", 0.2)
    graph = graph_of_chords(tmp_path, 40)
    worker = cluster.worker("--no-nanny")
    came: list[Key] = []

    def kill_the_worker(key: Key, cells: Cells) -> None:
        came.append(key)
        monkeypatch.setattr(schedule, "WORKER_SECONDS", 0.5)  # not before a worker has joined
        kill(worker)

    none = f"the dask scheduler at {cluster.address} has no workers, and none joined it within 0.5 seconds; "
    ends = pytest.raises(
        RunError, match=f"{none}computed scores are kept: start some .dask worker {cluster.address}., and run"
    )
    with Client(cluster.address, set_as_default=False) as client, ends:
        schedule.execute(graph, client if given == "client" else cluster.address, kill_the_worker)
    assert 0 < len(came) < len(graph)


def test_a_client_gets_the_blocks_before_a_worker_has_joined(tmp_path: Path, cluster: DaskCluster) -> None:
    graph = graph_of_chords(tmp_path, 4)
    came: list[Key] = []
    with Client(cluster.address, set_as_default=False) as client, ThreadPoolExecutor(1) as pool:
        running = pool.submit(schedule.execute, graph, client, lambda key, cells: came.append(key))
        until(lambda: client.futures or running.done(), cluster.log)
        cluster.worker("--no-nanny")
        running.result(PATIENCE)
    assert sorted(came) == sorted(graph)


def test_workers_that_the_cluster_of_a_client_has_requested_are_waited_for(
    tmp_path: Path, cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in ("CHECK_SECONDS", "WORKER_SECONDS"):
        monkeypatch.setattr(schedule, seconds, 0.1)
    graph = graph_of_chords(tmp_path, 4)
    came: list[Key] = []
    waits: list[int] = []

    class Queue:
        """A cluster whose workers wait in the queue of a batch system; the third time it is asked, one starts."""

        @property
        def requested(self) -> set[int]:
            waits.append(len(waits))
            if len(waits) == 3:
                cluster.worker("--no-nanny")
            return {0}

    with Client(cluster.address, set_as_default=False) as client:
        monkeypatch.setattr(client, "cluster", Queue())
        schedule.execute(graph, client, lambda key, cells: came.append(key))
    assert sorted(came) == sorted(graph)
    assert len(waits) >= 3


def test_a_worker_with_another_version_is_named_with_both_versions(tmp_path: Path, cluster: DaskCluster) -> None:
    other = tmp_path / "other/mirflow-0.0.1.dist-info/METADATA"
    other.parent.mkdir(parents=True)
    other.write_text("Metadata-Version: 2.1\nName: mirflow\nVersion: 0.0.1\n")
    cluster.worker("--no-nanny", PYTHONPATH=str(other.parents[1]))
    done = run_command(write_dataset(tmp_path, tracks=2), tmp_path / "s.zarr", cluster.address)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the worker tcp://127.0.0.1:")
    assert f" has mirflow 0.0.1, and this process mirflow {mirflow.__version__}: install the same" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_worker_that_the_scheduler_cannot_reach_is_named_after_a_line_of_waiting(
    tmp_path: Path, cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = "tcp://127.0.0.1:9"
    cluster.worker("--no-nanny", "--listen-address", "tcp://127.0.0.1:0", "--contact-address", nowhere)
    words: list[str] = []
    how = "start the worker with an address of its machine .*, and run again"
    with pytest.raises(SchedulerError, match=f"cannot reach the worker {nowhere}: {how}"):
        schedule.execute(graph_of_chords(tmp_path, 2), cluster.address, fail, waiting=words.append)
    assert f"waiting for the workers of the dask scheduler at {cluster.address}" in words


def fail(key: Key, cells: Cells) -> None:
    pytest.fail(f"block {key} was scored")


def test_workers_are_asked_for_plug_ins_and_folders_before_blocks_are_sent(
    tmp_path: Path, cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.worker("--no-nanny")
    graph = graph_of_chords(tmp_path, 2)
    with pytest.raises(SchedulerError, match=r"^the worker tcp://\S+ cannot score this: no module 'absent'; a file"):
        schedule.execute(graph_of_chords(tmp_path, 2, plugins=("absent",)), cluster.address, fail)
    monkeypatch.setattr(Path, "is_dir", lambda path: True)  # here, not in the worker
    (tmp_path / "est").rename(tmp_path / "elsewhere")
    with pytest.raises(
        SchedulerError, match=r"cannot score this: it does not see the folder \S+est/ada and 1 other; mo"
    ):
        schedule.execute(graph, cluster.address, fail)


def test_a_report_of_the_cluster_shows_evaluations_and_blocks(tmp_path: Path, cluster: DaskCluster) -> None:
    cluster.worker("--no-nanny")
    with Client(cluster.address, set_as_default=False) as client:
        client.get_task_stream()
        schedule.execute(graph_of_chords(tmp_path, 2), client, lambda key, cells: None)
        keys = [task["key"] for task in client.get_task_stream()]
    assert [key.rpartition("-")[0] for key in keys] == ["chord-block-0"]
    assert dask.utils.key_split(keys[0]) == "chord-block"
