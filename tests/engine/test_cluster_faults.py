"""Whatever befalls a cluster, a run ends right or with one message, and a run after it ends right."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import xarray as xr

import mirflow
from tests.clusters import DaskCluster, kill
from tests.datasets import write_dataset
from tests.waiting import until

from ..groups import CODES

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

METRIC = """
import time
import mirflow
import numpy as np

@mirflow.pair_metric(weight="number of pairs", weight_unit="pairs")
def slow(reference_intervals, estimated_intervals):
    time.sleep(0.1)
    if len(reference_intervals) == 3:  # more than a worker may have
        taken = [np.ones(2**24) for _ in range(8)]
        time.sleep(5)
    return 1.0, 1
"""
SETTINGS = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "4s", "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
"""Of the scheduler: how long it waits for a silent worker (by default 5 minutes), and deaths that a block may cause."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with DaskCluster(tmp_path / "cluster", SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    pipeline = write_dataset(tmp_path, tracks=30)
    (tmp_path / "slow.py").write_text(METRIC)
    pipeline.write_text(pipeline.read_text().replace("store:", "    metrics: [majmin, 'slow.py:slow']\nstore:"))
    return pipeline


def run(pipeline: Path, cluster: DaskCluster, during: Callable[[], object] = lambda: None) -> tuple[int, str]:
    """The exit code and the messages of a run in which something happens after its first blocks."""
    words = [sys.executable, "-m", "mirflow", "run", pipeline, "--scheduler", cluster.address, "--quiet"]
    journal = pipeline.parent / ".store.zarr.d"
    process = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: [*journal.glob("journal-*/*.cells")] or process.poll() is not None, cluster.log)
        during()
        _, messages = process.communicate(timeout=200)
    finally:
        process.kill()
    return process.returncode, messages


def resumed(pipeline: Path) -> int:
    """How many cells a run without a cluster takes from the journal; its store is that of one run."""
    report = mirflow.run(pipeline, scheduler="serial")
    whole = mirflow.run(pipeline, store=pipeline.parent / "whole.zarr", scheduler="serial").store
    found, expected = (mirflow.open_store(one)["chord"].to_dataset() for one in (report.store, whole))
    xr.testing.assert_equal(found, expected)
    return report.evaluations[0].counts["resumed"]


def test_a_worker_is_killed(pipeline: Path, cluster: DaskCluster) -> None:
    workers = [cluster.worker("--no-nanny") for _ in range(2)]
    assert run(pipeline, cluster, lambda: kill(workers[0])) == (0, ""), cluster.log()
    assert resumed(pipeline) == 0


def test_a_worker_is_paused(pipeline: Path, cluster: DaskCluster) -> None:
    workers = [cluster.worker("--no-nanny") for _ in range(2)]
    assert run(pipeline, cluster, lambda: workers[0].send_signal(signal.SIGSTOP)) == (0, ""), cluster.log()
    assert resumed(pipeline) == 0


def test_a_worker_is_paused_and_goes_on(pipeline: Path, cluster: DaskCluster) -> None:
    workers = [cluster.worker("--no-nanny") for _ in range(2)]

    def pause() -> None:
        workers[0].send_signal(signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            workers[0].wait(8)
        workers[0].send_signal(signal.SIGCONT)

    assert run(pipeline, cluster, pause) == (0, ""), cluster.log()
    assert resumed(pipeline) == 0


def test_the_scheduler_is_killed(pipeline: Path, cluster: DaskCluster) -> None:
    cluster.worker("--no-nanny")
    code, messages = run(pipeline, cluster, lambda: kill(cluster.processes[0]))
    assert code == 3
    assert messages.startswith("error: the cluster failed (")
    assert messages.endswith("; computed scores are kept: run again\n")
    assert messages.count("\n") == 1
    assert not (pipeline.parent / "store.zarr").exists()
    assert resumed(pipeline) > 0


def test_a_worker_does_not_see_the_files(pipeline: Path, cluster: DaskCluster) -> None:
    folder, away = pipeline.parent / "est", pipeline.parent / "elsewhere"
    cluster.worker("--no-nanny")
    code, messages = run(pipeline, cluster, lambda: folder.rename(away))
    assert code == 3
    assert ": unreadable: such as est/" in messages
    assert "internal error" not in messages
    away.rename(folder)
    found = mirflow.open_store(pipeline.parent / "store.zarr")["chord"].status
    unreadable = int((found == CODES["unreadable"]).sum())
    assert 0 < unreadable < 60
    assert mirflow.run(pipeline, scheduler="serial").evaluations[0].counts["retried"] == unreadable
    resumed(pipeline)


def test_one_cell_needs_more_memory_than_a_worker_has(pipeline: Path, cluster: DaskCluster) -> None:
    (pipeline.parent / "ref/t29.lab").write_text("0 1 C:maj\n1 2 A:min\n2 3 N\n")
    cluster.worker("--nanny", "--memory-limit", "600MB")
    code, messages = run(pipeline, cluster)
    assert code == 3
    assert "2 cells: failed: such as est/ada/t29.lab: system 'ada', track 't29': the worker process died" in messages
    found = mirflow.open_store(pipeline.parent / "store.zarr")["chord"]
    assert found.track.values[(found.status == CODES["failed"]).any("system")].tolist() == ["t29"]
    assert found.message.sel(system="ada", track="t29").item().endswith("perhaps memory ran out")
    assert mirflow.run(pipeline, scheduler="serial").evaluations[0].counts["retried"] == 2
    resumed(pipeline)
