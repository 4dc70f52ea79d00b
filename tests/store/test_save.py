"""Scores in memory are saved as a store that queries, commands and other stores take."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import MirflowError, MirflowWarning, StoreError

from ..commands import printed, refused
from ..samples import sample

TRACKS = ("a", "b", "c")


def scores(task: str, *systems: str) -> xr.Dataset:
    fixed, rng = np.random.default_rng(3), np.random.default_rng(len(systems))
    references = {track: sample(task, fixed) for track in TRACKS}
    estimates = {name: {track: sample(task, rng) for track in TRACKS if track != name} for name in systems}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)  # of names that do not match
        return mirflow.score(references, estimates, task)


def stored(path: Path, group: str) -> xr.Dataset:
    ds = mirflow.open_store(path)[group].to_dataset().load()
    del ds.attrs["created"]
    return ds


@pytest.mark.parametrize("task", ["chord", "classification", "transcription", "melody"])
def test_what_is_saved_is_what_was_scored(task: str, tmp_path: Path) -> None:
    ds = scores(task, "ours", "b")
    assert mirflow.save(ds, tmp_path / "x.zarr") == tmp_path / "x.zarr"
    found = stored(tmp_path / "x.zarr", task)
    xr.testing.assert_equal(found, ds)
    assert found.attrs == ds.attrs
    part = found.isel(track=[0, 2], metric=[0])
    mirflow.save(part, tmp_path / "x.zarr", "part")
    xr.testing.assert_equal(stored(tmp_path / "x.zarr", "part"), part)
    assert set(mirflow.open_store(tmp_path / "x.zarr").children) == {task, "part"}


def test_a_store_of_a_run_is_saved_as_it_is(demo_store: Path, tmp_path: Path) -> None:
    tree = mirflow.open_store(demo_store)
    mirflow.save(tree, tmp_path / "x.zarr")
    for name in tree.children:
        xr.testing.assert_equal(stored(tmp_path / "x.zarr", name), stored(demo_store, name))


def test_scores_in_memory_take_queries_and_join_stores(tmp_path: Path) -> None:
    one, other = scores("beat", "ours", "theirs"), scores("beat", "third")
    for name, ds in (("one", one), ("other", other)):
        mirflow.save(ds, tmp_path / f"{name}.zarr")
    asked = one.mirflow.query("f_measure", "mean", missing="zero")
    kept = stored(tmp_path / "one.zarr", "beat").mirflow.query("f_measure", "mean", missing="zero")
    np.testing.assert_array_equal(asked["value"].values, kept["value"].values)
    assert one.mirflow.compare("f_measure", missing="zero").other.values.tolist() == ["ours", "theirs"]
    both = mirflow.open_store({"one": tmp_path / "one.zarr", "other": tmp_path / "other.zarr"})
    assert both["beat"].system.values.tolist() == ["one/ours", "one/theirs", "other/third"]


def test_commands_read_it(tmp_path: Path) -> None:
    x, y, page = tmp_path / "x.zarr", tmp_path / "y.zarr", tmp_path / "report.html"
    for path in (x, y):
        mirflow.save(scores("onset", "ours", "theirs"), path)
    for command in (("show",), ("query",), ("compare", "--metric", "f_measure")):
        assert "theirs" in printed(*command, x)
    assert "3 of 3 metrics agree in 6 cells" in printed("diff", x, y)
    printed("report", x, "-o", page)
    assert "theirs" in page.read_text(encoding="utf-8")


def test_groups_are_replaced_only_if_that_is_said(tmp_path: Path) -> None:
    ds = scores("key", "ours")
    mirflow.save(ds, tmp_path / "x.zarr")
    assert "the store was not made by a pipeline" in refused("show", tmp_path / "x.zarr", "--pipeline")
    with pytest.raises(StoreError, match="holds group 'key' already; overwrite=True replaces it"):
        mirflow.save(ds, tmp_path / "x.zarr")
    mirflow.save(ds.isel(track=[0]), tmp_path / "x.zarr", overwrite=True)
    assert stored(tmp_path / "x.zarr", "key").sizes["track"] == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda ds: ds.drop_vars("status"), "not the scores of an evaluation: no status"),
        (lambda ds: ds.isel(system=0), "no system in this dataset"),
        (lambda ds: ds.drop_vars("track"), "no track in this dataset"),
        (lambda ds: ds.assign_attrs(task="no name"), "invalid group name 'no name'"),
        (lambda ds: xr.DataTree(), "the tree has no scores"),
        (lambda ds: ds.score, "not scores: DataArray; save takes the dataset"),
    ],
)
def test_what_is_no_evaluation_is_refused(
    make: Callable[[xr.Dataset], xr.Dataset], message: str, tmp_path: Path
) -> None:
    with pytest.raises(MirflowError, match=message):
        mirflow.save(make(scores("key", "ours")), tmp_path / "x.zarr")
    assert not (tmp_path / "x.zarr").exists()


def test_a_store_of_a_pipeline_is_not_written(demo_store: Path) -> None:
    with pytest.raises(StoreError, match="holds the scores of a pipeline, whose next run would remove"):
        mirflow.save(scores("key", "ours"), demo_store)
