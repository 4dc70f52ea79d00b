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
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.engine import graph
from tests.datasets import write_dataset, write_lab

from ..groups import CODES
from ..store.crashing import in_fork, kill_at

TRACKS = 150


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


def test_a_lazy_tree_whose_saving_is_killed_leaves_the_store_before_or_after(tmp_path: Path) -> None:
    pipeline = write_dataset(tmp_path)
    for name in ("before", "after"):
        mirflow.save(mirflow.open_pipeline(pipeline), tmp_path / name / "x.zarr")
        write_lab(tmp_path / "est" / "bob" / "t03.lab", np.random.default_rng(99))
    # Threads do not survive a fork, so that a process that has opened no store starts those which are killed.
    process = multiprocessing.get_context("spawn").Process(target=kill_saves, args=(pipeline,))
    process.start()
    process.join()
    assert process.exitcode == 0


def kill_saves(pipeline: Path) -> None:
    for module in ("dask.array", "mirflow.engine.lazy_scores", "mirflow.store.zarr_io"):
        importlib.import_module(module)  # once, not in each fork
    folder = pipeline.parent
    states = {name: contents(folder / name / "x.zarr") for name in ("before", "after")}
    assert states["before"] != states["after"]
    read = list[str]()
    for moment in (0, *range(1, 1000, 120)):
        store = folder / f"killed-{moment}" / "x.zarr"
        shutil.copytree(folder / "before", store.parent, symlinks=True)
        code = in_fork(save_and_die, pipeline, store, moment)
        assert code in (0, -signal.SIGKILL), f"moment {moment}"
        read += [name for name, state in states.items() if contents(store) == state]
        if code == 0:
            break
        assert in_fork(save_and_die, pipeline, store, None) == 0, f"moment {moment}"
        assert contents(store) == states["after"]
    assert len(read) > 2, "a save that is killed at some moments"
    assert read == sorted(read, reverse=True), "the store before, and from some moment on the store after"
    assert (read[0], read[-1], len(read)) == ("before", "after", len([*folder.glob("killed-*")]))


def save_and_die(pipeline: Path, store: Path, moment: int | None) -> None:
    """Save a lazy tree; be killed when its second block is scored, or at a step of writing."""
    if moment == 0:
        scored = graph.score_block
        left = iter([scored])
        graph.score_block = lambda work: next(left, lambda _: os.kill(os.getpid(), signal.SIGKILL))(work)
    elif moment is not None:
        kill_at(moment, store.parent)
    with dask.config.set(scheduler="synchronous"):
        mirflow.save(mirflow.open_pipeline(pipeline), store, overwrite=True)


def command(pipeline: Path, store: Path, scheduler: str) -> list[str]:
    words = ["run", str(pipeline), "--store", str(store), "--scheduler", scheduler, "--quiet"]
    return [sys.executable, "-m", "mirflow", *words]
