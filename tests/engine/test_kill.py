"""A run that is killed at any moment leaves nothing wrong behind, and running again ends where it would have ended."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import dask
import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.engine import schedule
from tests.datasets import write_dataset, write_lab

from ..groups import CODES
from ..store.crashing import in_fork, kill_at

TRACKS = 150
Write: TypeAlias = Callable[[Path, Path], None]


def contents(store: Path) -> dict[str, Any]:
    """Every file of a store, without the times of creation."""
    files: dict[str, Any] = {}
    root = store.resolve()
    for path in sorted(root.rglob("*")):
        if path.name == "zarr.json":
            files[str(path.relative_to(root))] = without_created(json.loads(path.read_text()))
        elif path.is_file():
            files[str(path.relative_to(root))] = path.read_bytes()
    return files


def without_created(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_created(inner) for key, inner in value.items() if key != "created"}
    return [without_created(inner) for inner in value] if isinstance(value, list) else value


def assert_no_wrong_number(store: Path, expected: xr.Dataset) -> None:
    """Whatever is published holds right scores, or none."""
    if not store.exists():
        return
    found = mirflow.open_store(store)["chord"].to_dataset().load()
    computed = found.status != CODES["not_computed"]
    np.testing.assert_array_equal(found.score.where(computed), expected.score.where(computed))
    np.testing.assert_array_equal(found.weight.where(computed), expected.weight.where(computed))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("scheduler", "most"), [("serial", 20), ("threads", 4), ("processes", 4)])
def test_killed_again_and_again_the_store_ends_as_if_undisturbed(tmp_path: Path, scheduler: str, most: int) -> None:
    pipeline = write_dataset(tmp_path, tracks=TRACKS)
    pipeline.write_text(pipeline.read_text().replace("block: 2", "block: 1"))
    undisturbed, store = tmp_path / "undisturbed.zarr", tmp_path / "store.zarr"
    began = time.monotonic()
    subprocess.run(command(pipeline, undisturbed, scheduler), check=True, capture_output=True)
    whole = time.monotonic() - began
    expected = mirflow.open_store(undisturbed)["chord"].to_dataset().load()
    random_moment = random.Random(7)
    kills = 0
    while kills < most:
        began = time.monotonic()
        process = subprocess.Popen(
            command(pipeline, store, scheduler), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(random_moment.uniform(0.2 * whole, whole))
        except subprocess.TimeoutExpired:
            process.kill()
        kills += process.wait() == -signal.SIGKILL
        assert_no_wrong_number(store, expected)
        if process.returncode == 0:  # it got through: start afresh, so that there is something to disturb
            whole = min(whole, time.monotonic() - began)  # the first one may have been slow for other reasons
            assert contents(store) == contents(undisturbed)
            store.unlink()
            shutil.rmtree(tmp_path / ".store.zarr.d")
    subprocess.run(command(pipeline, store, scheduler), check=True, capture_output=True)
    assert contents(store) == contents(undisturbed)


def save(pipeline: Path, store: Path) -> None:
    with dask.config.set(scheduler="synchronous"):
        mirflow.save(mirflow.open_pipeline(pipeline), store, overwrite=True)


def compute_part(pipeline: Path, store: Path) -> None:
    mirflow.run(pipeline, store=store, scheduler="serial", part="1/2")


def publish(pipeline: Path, store: Path) -> None:
    mirflow.publish(pipeline, store=store)


@pytest.mark.slow
def test_whatever_writes_is_killed_the_store_is_that_of_before_or_after(tmp_path: Path) -> None:
    pipeline = write_dataset(tmp_path)
    stores = {name: tmp_path / name / "before" / "x.zarr" for name in ("save", "compute_part", "publish")}
    save(pipeline, stores["save"])
    for name in ("compute_part", "publish"):
        mirflow.run(pipeline, store=stores[name])
    for number in range(6):
        write_lab(tmp_path / f"est/bob/t{number:02d}.lab", np.random.default_rng(99))
    for name, part in (("compute_part", "2/2"), ("publish", "1/2"), ("publish", "2/2")):
        mirflow.run(pipeline, store=stores[name], part=part)
    # Threads do not survive a fork, so that a process that has opened no store starts those which are killed.
    process = multiprocessing.get_context("spawn").Process(target=kill_writers, args=(pipeline,))
    process.start()
    process.join()
    assert process.exitcode == 0


def kill_writers(pipeline: Path) -> None:
    for module in ("dask.array", "mirflow.engine.lazy_scores", "mirflow.engine.publishing", "mirflow.store.zarr_io"):
        importlib.import_module(module)  # once, not in each fork
    assert read_by_killed(pipeline, save, (save,), (0, *range(1, 1000, 120))) == ["before", "after"]
    assert read_by_killed(pipeline, compute_part, (compute_part, publish), range(0, 1000, 11)) == ["before"]
    assert read_by_killed(pipeline, publish, (publish,), range(1, 1000, 60)) == ["before", "after"]


def read_by_killed(pipeline: Path, write: Write, finish: tuple[Write, ...], moments: Iterable[int]) -> list[str]:
    """Which stores are read after a writer was killed, sooner and later; to `finish` gives the last of them."""
    folder = pipeline.parent / write.__name__

    def copy(name: str) -> Path:
        shutil.copytree(folder / "before", folder / name, symlinks=True)
        return folder / name / "x.zarr"

    def write_whole(store: Path) -> dict[str, Any]:
        for step in finish:
            assert in_fork(step, pipeline, store) == 0
        assert not [*store.parent.glob(".x.zarr.d/parts/*")]
        return contents(store)

    states = {"before": contents(folder / "before" / "x.zarr"), "after": write_whole(copy("whole"))}
    assert states["before"] != states["after"]
    read = list[str]()
    for moment in moments:
        store = copy(f"killed-{moment}")
        code = in_fork(write_and_die, write, pipeline, store, moment)
        assert code in (0, -signal.SIGKILL), f"moment {moment}"
        (state,) = [name for name, files in states.items() if contents(store) == files]
        read.append(state)
        if code == 0:
            break
        assert write_whole(store) == states["after"], f"moment {moment}"
    assert len(read) > 2, "a writer that is killed at some moments"
    assert read == sorted(read, reverse=True), "the store before, and from some moment on the store after"
    return [*dict.fromkeys(read)]


def write_and_die(write: Write, pipeline: Path, store: Path, moment: int) -> None:
    """Write a store; be killed when the second block is scored, or at a step of writing."""
    if moment:
        kill_at(moment, store.parent)
    else:
        scored = schedule.score_block
        left = iter([scored])
        schedule.score_block = lambda work: next(left, lambda _: os.kill(os.getpid(), signal.SIGKILL))(work)
    write(pipeline, store)


def command(pipeline: Path, store: Path, scheduler: str) -> list[str]:
    words = ["run", str(pipeline), "--store", str(store), "--scheduler", scheduler, "--quiet"]
    return [sys.executable, "-m", "mirflow", *words]
