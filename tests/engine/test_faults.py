"""What readers, metrics and a lack of memory may do to a run: a cell has failed, and all others are scored."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.interruption import CtrlC, is_stop, recognized_interrupts
from mirflow.store.cells import Status, text_of
from tests.clusters import DaskCluster

OWN = '''import os, signal, sys
import mirflow

@mirflow.declare_reader("ticks")
def read_ticks(data):
    """Milliseconds; a word instead makes it do something else."""
    word = data.decode().split()[0]
    if word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "exit":
        sys.exit(3)
    if word == "interrupt":
        raise KeyboardInterrupt
    if word == "stop":
        raise GeneratorExit
    if word == "memory":
        raise MemoryError
    if word == "long":
        raise ValueError("x" * 100_000)
    if word == "range":
        return range(10**8)
    return {"time": [int(word) / 1000 for word in data.split()]}


@mirflow.pair_metric(range=(0, 1))
def fraction(reference, estimate):
    """Something else for each number of beats."""
    if len(estimate) == 21:
        sys.exit("enough")
    if len(estimate) == 22:
        raise KeyboardInterrupt
    if len(estimate) == 23:
        raise BaseException("neither")
    if len(estimate) == 24:
        raise MemoryError
    return 5.0 if len(estimate) == 25 else 1 + 1e-12
'''
WORDS = ["exit", "interrupt", "stop", "memory", "long", "range", "kill"]
COUNTS = [21, 22, 23, 24, 25]


def write_ticks(path: Path, count: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(" ".join(str(6000 + 500 * beat) for beat in range(count)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Seven tracks of beats: one system whose reader fails, one whose metric does, and one of which nothing fails."""
    for track, word in enumerate(WORDS):
        write_ticks(tmp_path / "ref" / f"t{track}.ticks", 20)
        write_ticks(tmp_path / "est/fine" / f"t{track}.ticks", 20)
        write_ticks(tmp_path / "est/counts" / f"t{track}.ticks", [*COUNTS, 20, 20][track])
        write_ticks(tmp_path / "est/words" / f"t{track}.ticks", 20)
        (tmp_path / "est/words" / f"t{track}.ticks").write_text(word)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "run.yaml").write_text(
        "plugins: [own.py]\n"
        "evaluations:\n"
        "  - task: beat\n"
        "    reference: {path: 'ref/{track}.ticks', format: ticks}\n"
        "    estimates: {path: 'est/{system}/{track}.ticks', format: ticks}\n"
        "    metrics: [f_measure, 'own.py:fraction']\n"
        "    on_error: ignore\n"
        f"store: {tmp_path / 's.zarr'}\n"
    )
    return tmp_path


def run_command(folder: Path, *words: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mirflow", "run", str(folder / "run.yaml"), "-q", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=folder, **keywords)


def scores(folder: Path) -> xr.Dataset:
    return mirflow.open_store(folder / "s.zarr")["beat"].to_dataset().load()


def message(ds: xr.Dataset, system: str, track: int) -> str:
    return text_of(str(ds.message.sel(system=system, track=f"t{track}").item()))


@pytest.mark.parametrize(
    "scheduler", ["serial", "threads", "processes", pytest.param("cluster", marks=pytest.mark.slow)]
)
def test_code_of_users_costs_the_cells_that_it_fails_on(folder: Path, scheduler: str) -> None:
    deadly = scheduler in ("processes", "cluster")
    if not deadly:
        write_ticks(folder / "est/words/t6.ticks", 20)
    with ExitStack() as stack:
        if scheduler == "cluster":
            pytest.importorskip("distributed")
            environment = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
            cluster = stack.enter_context(DaskCluster(folder / "cluster", environment))
            cluster.worker()
            scheduler = cluster.address
        done = run_command(folder, "--scheduler", scheduler)
    assert done.returncode == 0, done.stderr
    assert len(done.stderr) < 10_000
    ds = scores(folder)
    assert (ds.status.sel(system="fine") == Status.ok).all()
    assert (ds.score.sel(system="fine", metric="f_measure") == 1).all()
    assert message(ds, "words", 0).endswith("'ticks': SystemExit: 3 (own.py:11)")
    assert message(ds, "words", 1).endswith("'ticks': KeyboardInterrupt (own.py:13)")
    assert message(ds, "words", 2).endswith("'ticks': GeneratorExit (own.py:15)")
    assert message(ds, "words", 3).endswith("t3.ticks: too large: memory ran out while it was read")
    assert message(ds, "words", 4).endswith("x... (own.py:19)")
    assert "its reader returned 100,000,000 items, which take more than" in message(ds, "words", 5)
    invalid, unreadable = int(Status.invalid), int(Status.unreadable)
    expected = [invalid, invalid, invalid, unreadable, invalid, invalid, int(Status.failed if deadly else Status.ok)]
    assert ds.status.sel(system="words").values.tolist() == expected
    if deadly:
        assert "t6.ticks: system 'words', track 't6': the worker process died (" in message(ds, "words", 6)
        assert message(ds, "words", 6).endswith(") while it scored this cell alone; perhaps memory ran out")
    if scheduler == "processes":
        assert "(killed by signal 9)" in message(ds, "words", 6)
    for track, (error, line) in enumerate(
        [("SystemExit: enough", 29), ("KeyboardInterrupt", 31), ("BaseException: neither", 33), ("MemoryError", 35)]
    ):
        assert message(ds, "counts", track) == f"the metric failed: fraction: {error} (own.py:{line})"
    assert message(ds, "counts", 4) == "the metric failed: fraction returned 5, outside of its range of 0 to 1"
    own = ds.score.sel(system="counts", metric="fraction")
    assert own.isnull().values.tolist() == [True] * 5 + [False] * 2
    assert ds.score.sel(system="counts", metric="f_measure").notnull().all()


@pytest.mark.slow
def test_a_run_goes_on_after_a_deadly_cell_and_tries_it_again(folder: Path) -> None:
    assert run_command(folder, "--scheduler", "processes").returncode == 0
    write_ticks(folder / "est/words/t6.ticks", 19)
    done = run_command(folder, "--scheduler", "processes")
    assert done.returncode == 0, done.stderr
    assert int(scores(folder).status.sel(system="words", track="t6")) == Status.ok


@pytest.mark.slow
def test_a_file_too_large_for_memory_is_unreadable(tmp_path: Path) -> None:
    for name in ("ref/a.txt", "ref/b.txt", "est/x/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("".join(f"{6 + beat / 2}\n" for beat in range(20)))
    with (tmp_path / "est/x/b.txt").open("w") as large:
        for start in range(0, 6_000_000, 100_000):
            large.write("".join(f"{beat}.5\n" for beat in range(start, start + 100_000)))
    (tmp_path / "run.yaml").write_text(
        "evaluations:\n- {task: beat, reference: 'ref/{track}.txt', estimates: 'est/{system}/{track}.txt'}\n"
        f"store: {tmp_path / 's.zarr'}\n"
    )
    most = 700 * 2**20

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    env = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = run_command(tmp_path, "--scheduler", "serial", preexec_fn=limit, env=env)
    assert done.returncode == 3, done.stderr
    ds = scores(tmp_path)
    assert ds.status.values.tolist() == [[int(Status.ok), int(Status.unreadable)]]
    assert str(ds.message[0, 1].item()) == "reason (estimate): est/x/b.txt: too large: memory ran out while it was read"
    command = [sys.executable, "-m", "mirflow", "check", str(tmp_path / "est/x/b.txt"), "--task", "beat"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit, env=env)
    assert (done.returncode, done.stderr) == (2, "error: out of memory: a file is too large for this process\n")


@pytest.mark.slow
def test_a_thread_that_a_metric_leaves_running_does_not_keep_the_command(folder: Path) -> None:
    (folder / "own.py").write_text(
        OWN.replace(
            "    return 5.0", "    threading.Thread(target=threading.Event().wait).start()\n    return 5.0"
        ).replace("import os,", "import os, threading,")
    )
    shutil.rmtree(folder / "est/words")
    for scheduler in ("serial", "processes"):
        done = run_command(folder, "--scheduler", scheduler, "--force")
        assert done.returncode == 0, done.stderr
        assert ("they are abandoned" in done.stderr) == (scheduler == "serial")


@pytest.mark.parametrize(
    "handler", [signal.default_int_handler, signal.SIG_IGN, lambda number, frame: None], ids=["usual", "ignored", "own"]
)
def test_an_interrupt_ends_a_run_only_where_a_signal_raised_it(handler: Callable[..., Any] | signal.Handlers) -> None:
    before = signal.signal(signal.SIGINT, handler)
    try:
        with recognized_interrupts():
            # With a handler that is not known, a KeyboardInterrupt may have been raised by it.
            assert is_stop(KeyboardInterrupt()) == (handler not in (signal.default_int_handler, signal.SIG_IGN))
            if handler is signal.default_int_handler:
                with pytest.raises(CtrlC) as came:
                    signal.raise_signal(signal.SIGINT)
                assert is_stop(came.value)
            assert not is_stop(SystemExit())
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_where_memory_runs_out_for_a_block_its_halves_are_scored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mirflow.engine import block

    score_pairs = block.score_pairs

    def need_memory(convention: Any, pairs: Any, *rest: Any) -> Any:
        if len(pairs) > 1 or (pairs.counts[1] == 25).any():
            raise MemoryError
        return score_pairs(convention, pairs, *rest)

    monkeypatch.setattr(block, "score_pairs", need_memory)
    shutil.rmtree(folder / "est/words")
    mirflow.run(folder / "run.yaml", scheduler="serial")
    ds = scores(folder)
    failed = ds.status == Status.failed
    assert int(failed.sum()) == 1
    assert "memory ran out while the cell was scored" in message(ds, "counts", 4)
    weights = ds.weight.sel(system="counts", track="t4", metric="f_measure"), ds.weight.sel(metric="f_measure").max()
    assert 0 < float(weights[0]) < float(weights[1])  # as an empty estimate weighs
    np.testing.assert_array_equal(ds.score.isnull().all("metric"), failed)
