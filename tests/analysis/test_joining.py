"""Several stores as one: what is joined, how lazily, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.analysis.aggregation import ask
from mirflow.analysis.inference import friedman
from mirflow.analysis.queries import boards_of
from mirflow.analysis.scoreboard import read_store
from mirflow.analysis.selection import Question
from mirflow.cells import Status
from mirflow.errors import MirflowWarning, QueryError
from mirflow.report.comparisons_tables import friedman_tables
from mirflow.report.layout import readable_table

from ..groups import make_group, random_group, write_store


@pytest.fixture
def whole() -> xr.Dataset:
    """Four systems on six tracks."""
    meta = {"genre": list("ababab"), "year": [1970, 1971, 1972, 1973, 1974, 1975]}
    return random_group(4, 6, 2, track_meta=meta, seed=3)


@pytest.fixture
def stores(tmp_path, whole):
    """Two of the systems in each of two stores."""
    parts = {"one": whole.isel(system=[0, 1]), "two": whole.isel(system=[2, 3])}
    return [write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in parts.items()]


def quiet_open(paths) -> xr.DataTree:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return mirflow.open_store(paths)


def two_stores(folder, one, other):
    return [write_store(folder / f"{name}.zarr", {"chord": ds}) for name, ds in {"a": one, "b": other}.items()]


class TestSystemsOfSeveralStores:
    def test_are_as_if_they_were_in_one(self, stores, whole):
        ds = quiet_open(stores)["chord"].to_dataset()
        for name in ("score", "weight", "status", "repairs", "duration"):
            np.testing.assert_array_equal(ds[name].values, whole[name].values)
        for name in ("genre", "year", "title", "aggregates", "version"):
            np.testing.assert_array_equal(ds[name].values.astype(str), whole[name].values.astype(str))
        assert ds.attrs["stores"] == "one, two"

    def test_answer_as_if_they_were_in_one(self, stores, whole, tmp_path):
        joined = quiet_open(stores).mirflow.query(by="genre", where="year > 1970", sort="majmin")
        path = write_store(tmp_path / "whole.zarr", {"chord": whole})
        alone = mirflow.open_store(path).mirflow.query(by="genre", where="year > 1970", sort="majmin")
        xr.testing.assert_equal(joined["value"].drop_vars("group", errors="ignore"), alone["value"])

    def test_in_any_order_of_selection(self, stores, whole):
        ds = quiet_open(stores)["chord"].to_dataset()
        for key in [(1,), (slice(None), 2), ([3, 0], slice(4, 1, -1)), (-1, [0, 5, 0], 1), (slice(0, 0),)]:
            np.testing.assert_array_equal(ds["score"][key].values, whole["score"][key].values)

    def test_nothing_is_read_before_it_is_asked_for(self, stores):
        tree = quiet_open(stores)
        assert "[48 values with dtype=float64]" in repr(tree["chord"]["score"].variable)

    def test_tracks_say_where_they_are_from(self, stores):
        ds = quiet_open(stores)["chord"].to_dataset()
        assert set(ds["store"].values.tolist()) == {"one + two"}


class TestTracksOfSeveralStores:
    def test_are_groups(self, tmp_path, whole):
        parts = {"y2013": whole.isel(track=[0, 1, 2]), "y2014": whole.isel(track=[3, 4, 5])}
        tree = quiet_open([write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in parts.items()])
        answer = tree.mirflow.query("majmin", by="store")
        assert answer["store"].values.tolist() == ["y2013", "y2014"]
        for name, ds in parts.items():
            np.testing.assert_array_equal(
                answer["value"].sel(store=name).values, ds["score"].weighted(ds["weight"]).mean("track").values[:, :1]
            )

    def test_what_no_store_has_was_not_computed(self, tmp_path, whole):
        parts = [whole.isel(system=[0, 1], track=[0, 1, 2]), whole.isel(system=[1, 2], track=[3, 4, 5])]
        paths = [write_store(tmp_path / f"{number}.zarr", {"chord": ds}) for number, ds in enumerate(parts)]
        tree = quiet_open(paths)
        ds = tree["chord"].to_dataset()
        assert (ds["status"].sel(system="S0").values == [Status.ok] * 3 + [Status.not_computed] * 3).all()
        assert np.isnan(ds["score"].sel(system="S0").values[3:]).all()
        common = tree.mirflow.query("majmin", system=["S0", "S1"])
        assert common["n"].values.ravel().tolist() == [3, 3]
        assert tree.mirflow.query("majmin", missing="skip")["n"].values.ravel().tolist() == [3, 6, 3]
        with pytest.raises(QueryError, match="are in different stores, so that what a missing score would count"):
            tree.mirflow.query("majmin", missing="zero")

    def test_nothing_in_common_is_said(self, tmp_path, whole):
        parts = [whole.isel(system=[0, 1], track=[0, 1, 2]), whole.isel(system=[1, 2], track=[3, 4, 5])]
        paths = [write_store(tmp_path / f"{number}.zarr", {"chord": ds}) for number, ds in enumerate(parts)]
        board = boards_of(quiet_open(paths))["chord"]
        table = readable_table(ask(board, Question(missing="common")))
        assert table.notes[-1].startswith("no track has a score of every system")
        assert table.notes[-1].endswith("or choose missing skip (--missing)")

    def test_without_a_common_track_each_store_has_its_figures(self, tmp_path, whole):
        parts = [whole.isel(system=[0, 1], track=[0, 1, 2]), whole.isel(system=[2, 3], track=[3, 4, 5])]
        paths = [write_store(tmp_path / f"{number}.zarr", {"chord": ds}) for number, ds in enumerate(parts)]
        answer = quiet_open(paths).mirflow.query("majmin", by="store")
        assert answer.attrs["missing"] == "skip"
        for name, ds in zip("01", parts, strict=True):
            own = answer["value"].sel(store=name, metric="majmin")
            expected = ds["score"].weighted(ds["weight"]).mean("track").values[:, 0]
            np.testing.assert_array_equal(own.sel(system=ds["system"].values).values, expected)
            assert np.isnan(own.values).sum() == 2

    def test_ranks_need_common_tracks_all_the_same(self, tmp_path, whole):
        parts = [whole.isel(system=[0, 1], track=[0, 1, 2]), whole.isel(system=[2, 3], track=[3, 4, 5])]
        paths = [write_store(tmp_path / f"{number}.zarr", {"chord": ds}) for number, ds in enumerate(parts)]
        found = friedman(boards_of(quiet_open(paths))["chord"], Question("majmin"))
        assert found.attrs["missing"] == "common"
        assert friedman_tables(found)[0].notes[0].startswith("no track has a score of every system")


class TestTheSameCellTwice:
    def test_is_refused(self, tmp_path, whole):
        paths = [write_store(tmp_path / f"{name}.zarr", {"chord": whole}) for name in "ab"]
        told = r"system 'S0', track 't0' is in a and in b \(24 such cells\).* as in --label a --label b or open_store"
        with pytest.raises(QueryError, match=told):
            mirflow.open_store(paths)

    def test_unless_the_stores_have_labels(self, tmp_path, whole):
        paths = {name: write_store(tmp_path / f"{name}.zarr", {"chord": whole}) for name in "ab"}
        answer = mirflow.open_store(paths).mirflow.query("majmin", system=["a/S1", "b/S1"])
        assert answer["value"].values[0] == answer["value"].values[1]

    def test_or_only_one_of_them_has_it(self, tmp_path, whole):
        half = whole.copy(deep=True)
        half["status"][:, 3:] = Status.not_computed
        half["score"][:, 3:] = np.nan
        rest = whole.copy(deep=True)
        rest["status"][:, :3] = Status.not_computed
        rest["score"][:, :3] = np.nan
        paths = [write_store(tmp_path / f"{n}.zarr", {"chord": ds}) for n, ds in enumerate((half, rest))]
        np.testing.assert_array_equal(quiet_open(paths)["chord"]["score"].values, whole["score"].values)


class TestConflicts:
    def refuse(self, tmp_path, one, other, match):
        paths = [
            write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in zip("ab", (one, other), strict=True)
        ]
        with pytest.raises(QueryError, match=match):
            mirflow.open_store(paths)

    def parts(self, whole):
        return whole.isel(system=[0, 1]), whole.isel(system=[2, 3])

    def test_other_rules(self, tmp_path, whole):
        one, other = self.parts(whole)
        other = other.assign_attrs(convention="mirex2013")
        self.refuse(tmp_path, one, other, "group 'chord': convention is 'mir_eval' in a and 'mirex2013' in b")

    def test_another_version_of_a_metric(self, tmp_path, whole):
        one, other = self.parts(whole)
        other = other.assign_coords(version=("metric", [1, 2]))
        self.refuse(tmp_path, one, other, "metric 'root' has version 1 in a, 2 in b; run the older pipeline again")

    def test_another_genre(self, tmp_path, whole):
        one, other = self.parts(whole)
        other = other.assign_coords(genre=("track", list("ababac")))
        self.refuse(tmp_path, one, other, "track 't5' has genre 'b' in one store and 'c' in b")

    def test_the_same_store_twice(self, stores):
        with pytest.raises(QueryError, match="the same store twice"):
            mirflow.open_store([stores[0], stores[0]])

    def test_no_store(self):
        with pytest.raises(QueryError, match="no store to open"):
            mirflow.open_store([])


class TestWhatOnlySomeHave:
    def test_metrics_are_left_out_and_said(self, tmp_path, whole):
        one, other = whole.isel(system=[0, 1]), whole.isel(system=[2, 3], metric=[0])
        paths = [
            write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in zip("ab", (one, other), strict=True)
        ]
        with pytest.warns(MirflowWarning, match="group 'chord': not in all stores and left out: root"):
            tree = mirflow.open_store(paths)
        assert tree["chord"]["metric"].values.tolist() == ["majmin"]

    def test_metrics_in_another_order(self, tmp_path, whole):
        one, other = whole.isel(system=[0, 1]), whole.isel(system=[2, 3], metric=[1, 0])
        paths = [
            write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in zip("ab", (one, other), strict=True)
        ]
        np.testing.assert_array_equal(quiet_open(paths)["chord"]["score"].values, whole["score"].values)

    def test_groups_stay(self, tmp_path, whole):
        paths = [
            write_store(tmp_path / "a.zarr", {"chord": whole}),
            write_store(tmp_path / "b.zarr", {"chord_mirex2013": whole.assign_attrs(convention="mirex2013")}),
        ]
        assert list(boards_of(quiet_open(paths))) == ["chord", "chord_mirex2013"]

    def test_coordinates_have_gaps(self, tmp_path):
        one = make_group([[[1.0]]], tracks=["x"], systems=["A"], track_meta={"year": [1970], "genre": ["Pop"]})
        other = make_group([[[1.0]]], tracks=["y"], systems=["A"])
        paths = [
            write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in zip("ab", (one, other), strict=True)
        ]
        ds = quiet_open(paths)["chord"].to_dataset()
        assert ds["genre"].values.tolist() == ["Pop", ""]
        np.testing.assert_array_equal(ds["year"].values, [1970, np.nan])


def test_one_store_in_a_list_is_that_store(stores):
    joined, alone = quiet_open(stores[:1])["chord"], mirflow.open_store(stores[0])["chord"]
    np.testing.assert_array_equal(joined["score"].values, alone["score"].values)
    assert read_store(stores[0])["chord"].systems == joined["system"].values.tolist()
