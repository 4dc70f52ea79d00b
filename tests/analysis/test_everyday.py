"""Datasets of scores under the everyday operations of xarray and pandas: nothing raises, nothing loses its labels."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import QueryError

ROOT = Path(__file__).parents[2]
PIPELINE = ROOT / "pipelines" / "tunes.yaml"
PER_TRACK = {"meta_title", "meter", "origin", "tempo"}
PER_SYSTEM = {"style"}
PER_METRIC = {"title", "unit", "orientation", "pooling", "standard_aggregate", "aggregates", "version", "weight_unit"}


@pytest.fixture
def stored(demo_store: Path) -> xr.Dataset:
    return mirflow.open_store(demo_store).chord.to_dataset()


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    """What `evaluate` gives: six tracks of one system, of which no coordinate but their names is known."""
    reference = mirflow.load_collection(ROOT / "pipelines/tunes/reference/{track}.jams", task="chord")
    estimate = mirflow.load_collection(ROOT / "pipelines/tunes/estimates/oak/{track}.lab", task="chord")
    return mirflow.evaluate(reference, estimate, "chord")


Operation = Callable[[xr.Dataset], xr.Dataset]

# Each gives scores again, of which the accessor is asked.
OPERATIONS: dict[str, Operation] = {
    "isel": lambda ds: ds.isel(track=[0, 3]),
    "sel": lambda ds: ds.sel(system=["oak", "elm"]),
    "sel of one": lambda ds: ds.sel(metric=["majmin"]),
    "boolean index": lambda ds: ds.isel(track=np.flatnonzero(ds.meter == "3/4")),
    "where drop by text": lambda ds: ds.where(ds.meter == "3/4", drop=True),
    "where drop by number": lambda ds: ds.where(ds.tempo > 80, drop=True),
    "where drop systems": lambda ds: ds.where(ds.style != "hasty", drop=True),
    "where": lambda ds: ds.where(ds.tempo > 80),
    "where other": lambda ds: ds[["score", "weight", "status"]].where(ds.status == 1, 0),
    "drop_sel": lambda ds: ds.drop_sel(track="greensleeves"),
    "drop_vars": lambda ds: ds.drop_vars(["message", "digest", "duration"]),
    "head": lambda ds: ds.head(track=4),
    "sortby label": lambda ds: ds.sortby("track", ascending=False),
    "sortby coordinate": lambda ds: ds.sortby("meter"),
    "sortby score": lambda ds: ds.sortby(ds.score.sel(metric="majmin").mean("track")),
    "transpose": lambda ds: ds.transpose("metric", "track", "system"),
    "reindex": lambda ds: ds.reindex(track=[*ds.track.values, "another"]),
    "roll": lambda ds: ds.roll(track=2, roll_coords=True),
    "pad": lambda ds: ds[["score", "weight", "status"]].pad(track=(0, 1)),
    "concat tracks": lambda ds: xr.concat([ds.isel(track=[0, 1]), ds.isel(track=[2, 3])], "track", data_vars="minimal"),
    "concat systems": lambda ds: xr.concat(
        [ds.sel(system=["oak"]), ds.sel(system=["ash"])], "system", data_vars="minimal", join="outer"
    ),
    "merge": lambda ds: xr.merge([ds[["score", "weight"]], ds[["status"]]], join="exact", compat="no_conflicts"),
    "assign_coords": lambda ds: ds.assign_coords(decade=("track", ["60s"] * ds.sizes["track"])),
    "assign_attrs": lambda ds: ds.assign_attrs(note="mine"),
    "rename": lambda ds: ds.rename(origin="source"),
    "fillna": lambda ds: ds[["score", "weight", "status"]].fillna(0),
    "astype": lambda ds: ds[["score", "weight", "status"]].astype("float32"),
    "copy": lambda ds: ds.copy(deep=True),
    "deepcopy": copy.deepcopy,
    "pickle": lambda ds: pickle.loads(pickle.dumps(ds)),
    "load": lambda ds: ds.load(),
    "chunk": lambda ds: ds.chunk(track=2),
    "map": lambda ds: ds.map(lambda one: one, keep_attrs=True),
    "to_dict": lambda ds: xr.Dataset.from_dict(ds.to_dict()),
    "as a tree": lambda ds: xr.DataTree.from_dict({"/chord": ds}).chord.to_dataset(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_coordinates_and_attributes_survive_and_the_accessor_answers_for_what_is_left(
    stored: xr.Dataset, name: str
) -> None:
    done = OPERATIONS[name](stored)
    along = {
        "system": PER_SYSTEM,
        "track": PER_TRACK - ({"origin"} if name == "rename" else set()),
        "metric": PER_METRIC,
    }
    for dim, names in along.items():
        assert {key for key in names if done[key].dims == (dim,)} == names
    assert {key: done.attrs.get(key) for key in stored.attrs} == stored.attrs
    for system in done.system.values.tolist():
        assert done.style.sel(system=system) == stored.style.sel(system=system)
    for track in set(done.track.values.tolist()) & set(stored.track.values.tolist()):
        assert done.meter.sel(track=track) == stored.meter.sel(track=track)
    answer = done.mirflow.query("majmin", "mean", missing="skip").value.sel(metric="majmin")
    expected = done.score.sel(metric="majmin").where(done.status.isin([1, 4, 5])).mean("track")
    precision = 1e-6 if name == "astype" else 1e-15
    np.testing.assert_allclose(answer.values, expected.sel(system=answer.system).values, rtol=0, atol=precision)


def through_netcdf(ds: xr.Dataset, path: Path) -> xr.Dataset:
    ds.to_netcdf(path)
    return xr.load_dataset(path)


def through_zarr(ds: xr.Dataset, path: Path) -> xr.Dataset:
    ds.to_zarr(path, consolidated=False)
    return xr.open_zarr(path, consolidated=False, chunks=None)


@pytest.mark.parametrize("through", [through_netcdf, through_zarr])
def test_saved_and_opened_again_it_is_the_same(
    stored: xr.Dataset, tmp_path: Path, through: Callable[[xr.Dataset, Path], xr.Dataset]
) -> None:
    back = through(stored, tmp_path / "scores")
    assert set(back.coords) == set(stored.coords)
    assert set(back.data_vars) == set(stored.data_vars)
    assert back.attrs == stored.attrs
    for key in stored.variables:
        np.testing.assert_array_equal(back[key].values.astype(stored[key].dtype), stored[key].values, err_msg=str(key))
    np.testing.assert_array_equal(back.mirflow.query("majmin").value, stored.mirflow.query("majmin").value)


def test_a_result_is_joined_with_a_store(stored: xr.Dataset, result: xr.Dataset) -> None:
    mine = result.expand_dims(system=["mine"])
    both = xr.concat([stored.drop_vars(PER_SYSTEM), mine], "system", join="outer")
    assert both.sizes == {"system": 4, "track": 7, "metric": 15}
    assert set(both.coords) > PER_TRACK | PER_METRIC
    answer = both.mirflow.query("majmin", missing="skip")
    np.testing.assert_array_equal(answer.value[:3], stored.mirflow.query("majmin", missing="skip").value)
    assert answer.n_missing.sel(system="mine") == 1
    assert answer.value.sel(system="mine").item() == pytest.approx(mine.mirflow.query("majmin").value.item(), abs=1e-15)


def test_a_result_with_a_name_is_asked_as_a_store_is(stored: xr.Dataset, result: xr.Dataset) -> None:
    asked = {"metric": ["majmin", "seg"], "missing": "skip"}
    answer = result.expand_dims(system=["oak"]).mirflow.query(**asked)
    of_store = stored.sel(system=["oak"]).mirflow.query(**asked)
    np.testing.assert_allclose(answer.value, of_store.value, rtol=1e-15)  # sums of six tracks, and of seven


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda stored, result: result, r"no dim 'system': expand_dims\(system=\['x'\]\) gives them one"),
        (lambda stored, result: stored.sel(system="oak"), r"no dim 'system': choose it with a list, sel\(system=\['x'"),
        (lambda stored, result: stored.sel(metric="seg"), r"no dim 'metric': choose it with a list, sel\(metric=\['x'"),
    ],
)
def test_scores_without_a_dim_say_how_to_give_them_one(stored: xr.Dataset, result: xr.Dataset, cut, message) -> None:
    with pytest.raises(QueryError, match=message):
        cut(stored, result).mirflow.query()


def test_lazy_scores_of_a_pipeline_are_filtered_and_joined(stored: xr.Dataset, result: xr.Dataset) -> None:
    lazy = mirflow.open_pipeline(PIPELINE).chord.to_dataset()
    kept = lazy.where(lazy.meter == "3/4", drop=True)
    assert kept.score.chunks is not None
    xr.testing.assert_equal(kept.score.compute(), stored.where(stored.meter == "3/4", drop=True).score.load())
    mine = result.expand_dims(system=["mine"]).chunk()
    both = xr.concat([lazy.drop_vars(PER_SYSTEM), mine], "system", join="outer")
    assert both.mirflow.query("majmin", missing="skip").value.sizes["system"] == 4
