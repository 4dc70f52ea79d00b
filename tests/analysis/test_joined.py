"""Tables of several stores as one: matched by the metric's own names of their dims, or left out."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.engine.runs import run
from mirflow.errors import MirflowWarning

from ..datasets import write_dataset, write_pipeline

ORDERS = pytest.mark.parametrize("order", [("one", "both"), ("both", "one")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one confusion matrix, and one with two, whose dims cannot be called the same."""
    folder = tmp_path_factory.mktemp("tables")
    for name, metrics in {
        "one": "[majmin, confusion@tetrads]",
        "both": "[majmin, confusion, confusion@tetrads]",
    }.items():
        (folder / name).mkdir()
        write_dataset(folder / name, systems=(name,))
        run(write_pipeline(folder / name, metrics=metrics))
    return folder


def store(folder: Path, name: str) -> Path:
    return folder / name / "store.zarr"


def opened(folder: Path, names: tuple[str, ...]) -> xr.DataTree:
    with pytest.warns(MirflowWarning, match="^group 'chord': not in all stores and left out: confusion$"):
        return mirflow.open_store([store(folder, f"{name}") for name in names])


@ORDERS
class TestTablesWhoseDimsAreCalledDifferently:
    """The names of stores are their folders' paths, as all of them are called alike."""

    def test_are_what_each_store_has(self, folder, order):
        ds = opened(folder, order)["chord"].to_dataset()
        assert "confusion_majmin" not in ds
        assert ds["confusion_tetrads"].dims == ("system", "track", "ref_class", "est_class")
        assert "own_dims" not in ds["confusion_tetrads"].attrs
        for name in order:
            own = mirflow.open_store(store(folder, name))["chord"]["confusion_tetrads"]
            np.testing.assert_array_equal(ds["confusion_tetrads"].sel(system=[name]).values, own.values)

    def test_are_asked_for_by_their_own_dims(self, folder, order):
        tree = opened(folder, order)
        question = {"over": {"ref_class": "sum", "est_class": "sum"}}
        answer = tree.mirflow.query("confusion@tetrads", **question)["value"]
        for name in order:
            own = mirflow.open_store(store(folder, name)).mirflow.query("confusion@tetrads", **question)["value"]
            assert answer.sel(system=name).item() == own.item() > 0

    def test_leave_scores_as_they_are(self, folder, order):
        answer = opened(folder, order).mirflow.query("majmin")["value"]
        own = [mirflow.open_store(store(folder, name)).mirflow.query("majmin")["value"].item() for name in order]
        assert answer.values.ravel().tolist() == own


def test_dims_that_both_stores_had_to_rename_keep_their_own_names(folder, tmp_path):
    write_dataset(tmp_path, systems=("third",))
    run(write_pipeline(tmp_path, metrics="[majmin, confusion, confusion@tetrads]"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = mirflow.open_store([store(folder, "both"), tmp_path / "store.zarr"])
    table = tree["chord"]["confusion_tetrads"]
    assert table.dims[2:] == ("confusion_tetrads_ref_class", "confusion_tetrads_est_class")
    assert table.attrs["own_dims"] == ["ref_class", "est_class"]
    assert tree["chord"]["confusion_majmin"].dims[2:] == ("ref_class", "est_class")
    assert tree.mirflow.query("confusion@tetrads", over={"est_class": "sum"})["value"].sizes["system"] == 2
