"""Writers are killed with SIGKILL; nobody ever sees a wrong number, and running again completes the store."""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

from mirflow.errors import StoreError
from mirflow.store import StoreWriter, read_group, read_tree
from mirflow.store.cells import Status

from ..waiting import PATIENCE
from .crashing import TRACKS, add_system, kill_at_calls, killed_at, publish_forever, run_once
from .example import CREATED, SYSTEMS, all_pairs, files_of, make_cells, make_content, value_of

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["zarr", "tests.store.crashing"])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that nobody killed."""
    path = tmp_path_factory.mktemp("undisturbed") / "x.zarr"
    run_once(path)
    return files_of(path.resolve())


def start(target, *args) -> BaseProcess:
    process = _CONTEXT.Process(target=target, args=args)
    process.start()
    return process


def assert_no_wrong_number(path: Path) -> None:
    """What can be read is whole: every cell with a status has its own score."""
    if not path.is_symlink():
        return
    group = read_group(path, "chord")
    for cell, (system, track) in enumerate(zip(group.cells.system, group.cells.track, strict=True)):
        expected = [value_of(system, track, measure) for measure in group.cells.measures]
        assert group.cells.score[cell].tolist() == expected
    assert group.cells.status.tolist() == [Status.ok] * len(group.cells)


@pytest.mark.slow
def test_runs_that_are_killed_at_random_come_to_the_same_store(tmp_path, undisturbed):
    rng = random.Random(20130914)
    path, kills = tmp_path / "x.zarr", 0
    begun = time.monotonic()
    while kills < 24:
        process = start(run_once, path, 0.01)
        process.join(rng.uniform(0.02, 0.4))
        if process.is_alive():
            process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        kills += process.exitcode == -signal.SIGKILL
        assert_no_wrong_number(path)
        if process.exitcode == 0:
            assert files_of(path.resolve()) == undisturbed
            path = tmp_path / f"x{kills}.zarr"
        assert time.monotonic() - begun < 4 * PATIENCE
    run_once(path)
    assert files_of(path.resolve()) == undisturbed


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("step", ["start", "rename", "link", "replace", "clean", "discard"])
@pytest.mark.parametrize("stores", [0, 2], ids=["first", "third"])
def test_a_kill_at_any_step_of_a_publish_loses_nothing(tmp_path, undisturbed, step, before, stores):
    path = tmp_path / "x.zarr"
    for _ in range(stores):
        run_once(path)
    process = start(killed_at, path, step, before)
    process.join()
    if process.exitcode == 0:
        assert (step, stores) == ("discard", 0), "a first publish has nothing to discard"
    else:
        assert process.exitcode == -signal.SIGKILL
    assert_no_wrong_number(path)
    run_once(path)
    assert files_of(path.resolve()) == undisturbed
    names = {entry.name for entry in (tmp_path / ".x.zarr.d").iterdir()}
    assert {name for name in names if not name.startswith("generation-")} == {"lock"}
    assert len(names) <= 3


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_at_any_call_of_a_publish_with_links_loses_nothing(tmp_path, step):
    systems, tracks = SYSTEMS[:1], TRACKS[:2]
    content = make_content(make_cells(all_pairs(systems, tracks), extras=True), systems=systems, tracks=tracks)
    for name in ("x.zarr", "done.zarr"):
        with StoreWriter(tmp_path / name) as writer:
            writer.publish([content], created=CREATED)
    add_system(tmp_path / "done.zarr")
    expected = {folder.name: files_of(folder) for folder in (tmp_path / ".done.zarr.d").glob("generation-*")}
    process = start(kill_at_calls, tmp_path, expected, step)
    process.join()
    assert process.exitcode == 0


def read_twice(path: Path) -> int:
    """Open the store, read one half, wait, read the other; the generation's number, which all values must equal."""
    tree = read_tree(path)["chord"]
    first = tree.score.isel(system=0).values
    time.sleep(0.01)
    rest = tree.score.isel(system=slice(1, None)).values
    weight, status = tree.weight.values, tree.status.values
    number = int(tree.attrs["number"])
    assert all(np.all(values == number) for values in (first, rest, weight))
    assert np.all(status == Status.ok)
    assert status.shape == (len(SYSTEMS), len(TRACKS))
    return number


@pytest.mark.slow
def test_readers_beside_a_writer_that_is_killed_never_see_a_mixture(tmp_path):
    path = tmp_path / "x.zarr"
    for _ in range(3):
        process, seen, until = start(publish_forever, path), set(), time.monotonic() + PATIENCE
        while len(seen) < 5:
            assert time.monotonic() < until, f"only {len(seen)} generations were read"
            if not path.is_symlink():
                continue
            try:
                seen.add(read_twice(path))
            except StoreError as error:
                if "was replaced by later runs" not in str(error):
                    raise
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
