"""The tracks with the worst and the best scores."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from mirflow.errors import QueryError

from ..commands import printed, rows
from ..groups import make_group, random_group, write_store

SCORES = [[[0.9], [0.1], [0.5], [0.4]], [[0.2], [0.8], [0.3], [0.6]]]


def group(**more) -> xr.Dataset:
    return make_group(SCORES, track_meta={"genre": list("abab")}, **more)


def worst(ds: xr.Dataset, n: int, *, best: bool = False, **options) -> list[list[str]]:
    """Names of the tracks of each system."""
    ask = ds.mirflow.best if best else ds.mirflow.worst
    found = ask("majmin", n=n, **options)["track"].values
    return [[name for name in names if name] for names in np.atleast_2d(found).tolist()]


class TestEachSystem:
    def test_its_worst_tracks(self):
        found = group().mirflow.worst("majmin", n=2)
        assert found["track"].dims == ("system", "rank")
        assert found["track"].values.tolist() == [["t1", "t3"], ["t0", "t2"]]
        assert found["value"].values.tolist() == [[0.1, 0.4], [0.2, 0.3]]
        assert found["value"].sel(system="S1", rank=1).item() == 0.2
        assert found.attrs["order"] == "worst"

    def test_the_best(self):
        assert worst(group(), 1, best=True) == [["t0"], ["t1"]]

    def test_lower_is_better(self):
        assert worst(group(orientation=["lower"]), 1) == [["t0"], ["t1"]]

    @given(st.integers(1, 12), st.booleans(), st.integers(0, 5))
    def test_order_equals_that_of_pandas(self, count, best, seed):
        ds = random_group(3, 8, 1, seed=seed)
        for system, names in zip(ds["score"], worst(ds, count, best=best), strict=True):
            series = system[:, 0].to_series().sort_values(ascending=not best)
            assert names == series.index[:count].tolist()

    def test_equal_scores_keep_the_order_of_the_tracks(self):
        assert worst(make_group(np.zeros((1, 4, 1))), 3) == [["t0", "t1", "t2"]]

    def test_a_missing_score_is_not_a_bad_score(self):
        scores = np.array(SCORES)
        scores[0, 1] = np.nan
        ds = make_group(scores, status=[["ok", "failed", "ok", "ok"], ["ok"] * 4])
        found = ds.mirflow.worst("majmin", n=4)
        assert found["track"].values.tolist() == [["t3", "t2", "t0", ""], ["t0", "t2", "t3", "t1"]]
        assert np.isnan(found["value"].values[0, 3])
        assert (found.attrs["left_out"], found.attrs["missing"]) == ("1", "skip")

    def test_scores_with_nothing_to_measure_are_left_out_unless_kept(self):
        weight = np.ones((2, 4, 1))
        weight[0, 1] = 0
        ds = make_group(SCORES, weight)
        assert worst(ds, 1)[0] == worst(ds, 1, undefined="skip")[0] == ["t3"]
        assert worst(ds, 1, undefined="keep")[0] == ["t1"]

    def test_of_some_tracks_and_systems(self):
        found = group().mirflow.worst("majmin", n=1, system="S1", where="genre == 'b'")
        assert (found["system"].values.tolist(), found["track"].values.tolist()) == (["S1"], [["t3"]])


class TestOverall:
    def test_by_the_mean_over_the_systems(self):
        found = group().mirflow.worst("majmin", n=2, overall=True)
        assert found["track"].values.tolist() == ["t2", "t1"]
        assert found["value"].values.tolist() == [0.4, 0.45]
        assert found["score"].values.tolist() == [[0.5, 0.1], [0.3, 0.8]]
        assert worst(group(), 2, overall=True, best=True) == [["t0", "t3"]]

    def test_only_tracks_that_all_have(self):
        ds = make_group(SCORES, status=[["ok", "ok", "failed", "ok"], ["ok"] * 4])
        found = ds.mirflow.worst("majmin", n=9, overall=True)
        assert sorted(found["track"].values.tolist()) == ["t0", "t1", "t3"]
        assert found.attrs["missing"] == "common"


class TestAgainstABaseline:
    @given(st.sampled_from(["higher", "lower"]), st.booleans(), st.integers(0, 5))
    def test_lists_the_largest_changes_towards_better_or_worse(self, way, best, seed):
        ds = random_group(3, 12, 1, seed=seed, orientation=[way])
        found = ds.mirflow.changes("majmin", n=4, gains=best, baseline="S1")
        assert found["system"].values.tolist() == ["S0", "S2"]
        for row, system in enumerate(["S0", "S2"]):
            change = (ds.score.sel(system=system) - ds.score.sel(system="S1"))[:, 0].to_series()
            gain = change if way == "higher" else -change
            listed = (gain[gain > 0] if best else gain[gain < 0]).sort_values(ascending=not best)[:4]
            names = [name for name in found["track"].values[row].tolist() if name]
            assert names == listed.index.tolist()
            assert found["gain"].values[row, : len(names)].tolist() == listed.tolist()
            assert found["better"].values[row] == (gain > 0).sum()

    def test_each_system_has_its_own_tracks_in_common_with_it(self):
        ds = make_group([*SCORES, SCORES[0]], status=[["ok"] * 4, ["ok"] * 4, ["failed", "ok", "ok", "ok"]])
        found = ds.mirflow.changes("majmin", n=9, baseline="S1")
        assert [[name for name in row if name] for row in found["track"].values.tolist()] == [["t1", "t3"]] * 2
        assert found["n"].values.tolist() == [4, 3]

    def test_what_did_not_change_is_not_listed(self):
        ds = make_group([*SCORES, SCORES[0]])
        found = ds.mirflow.changes("majmin", n=9, gains=True, system="S2", baseline="S0")
        assert (found["track"].values.size, found["better"].item(), found["n"].item()) == (0, 0, 4)

    def test_the_table_counts_them_and_programs_get_the_coordinates(self, tmp_path):
        store = write_store(tmp_path / "s.zarr", {"chord": group()})
        words = ("changes", store, "-m", "majmin", "--baseline", "S0")
        lines = printed(*words, "-n", 1, "--percent").splitlines()
        assert "chord: task chord, convention mir_eval; tracks that lose most against S0, majmin" in lines
        assert "tracks: S1 gains on 2 of 4" in printed(*words, "--gains").splitlines()
        listed = [(row["order"], row["track"], row["gain"], row["genre"]) for row in rows(*words, "--gains")]
        assert listed == [("best", "t1", pytest.approx(0.7), "b"), ("best", "t3", pytest.approx(0.2), "b")]


class TestRefused:
    def test_several_metrics(self):
        with pytest.raises(QueryError, match="tracks are listed by one metric; name one of: majmin, root"):
            random_group(2, 3, 2).mirflow.worst(["majmin", "root"])

    def test_neither_way_is_better(self):
        with pytest.raises(QueryError, match="neither high nor low"):
            group(orientation=["none"]).mirflow.worst("majmin")

    @pytest.mark.parametrize("option", [{"aggregate": "median"}, {"by": "genre"}, {"across": {"genre": "mean"}}])
    def test_options_of_aggregation(self, option):
        with pytest.raises(QueryError, match=f"'best' takes no '{next(iter(option))}'; it takes metric, system"):
            group().mirflow.best("majmin", **option)

    def test_no_tracks(self):
        with pytest.raises(QueryError, match="expected at least one"):
            group().mirflow.worst("majmin", n=0)


class TestTables:
    @pytest.fixture
    def store(self, tmp_path):
        return write_store(tmp_path / "s.zarr", {"chord": group()})

    def test_a_row_for_each_track(self, store):
        lines = printed("worst", store, "-m", "majmin", "-n", 1, "--percent").splitlines()
        assert lines[1].split() == ["system", "rank", "track", "majmin", "weight"]
        assert [line.split() for line in lines[3:5]] == [
            ["S0", "1", "t1", "10.00", "1"],
            ["S1", "1", "t0", "20.00", "1"],
        ]
        assert "worst tracks of each system; higher is better" in lines

    def test_overall_every_system_has_a_column(self, store):
        lines = printed("worst", store, "-m", "majmin", "-n", 1, "--overall").splitlines()
        assert lines[1].split() == ["rank", "track", "mean", "S0", "S1"]
        assert lines[3].split() == ["1", "t2", "0.4000", "0.5000", "0.3000"]

    @pytest.mark.parametrize("overall", [[], ["--overall"]])
    def test_programs_get_the_coordinates_too(self, store, overall):
        listed = rows("worst", store, "-m", "majmin", "-n", 2, *overall)
        assert len(listed) == 4
        wanted = {"t0": "a", "t1": "b", "t2": "a", "t3": "b"}
        assert all(row["genre"] == wanted[row["track"]] for row in listed)
        assert all(row["order"] == "worst" and row["metric"] == "majmin" for row in listed)
