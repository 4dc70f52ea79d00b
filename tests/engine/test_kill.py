"""A run that is killed at any moment leaves nothing wrong behind, and running again ends where it would have ended."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from tests.datasets import write_dataset

from ..groups import CODES

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


def command(pipeline: Path, store: Path, scheduler: str) -> list[str]:
    words = ["run", str(pipeline), "--store", str(store), "--scheduler", scheduler, "--quiet"]
    return [sys.executable, "-m", "mirflow", *words]
