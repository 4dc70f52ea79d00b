"""Selected scores read a block of systems at a time: what is read, and that blocks change no number."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
import xarray as xr

from mirflow.analysis import selection
from mirflow.analysis.aggregation import aggregate_query
from mirflow.analysis.queries import query_content
from mirflow.analysis.query_options import Query
from mirflow.analysis.selection import count_unscored
from mirflow.errors import QueryError
from mirflow.lazy_array import lazy_variable
from mirflow.store.read import content_of, open_groups, read_scores

from ..groups import STATUSES, make_group, random_group, write_store


def incomplete_group(systems: int = 5, tracks: int = 40, metrics: int = 3, seed: int = 0) -> xr.Dataset:
    """Scores with all that can lack: cells, scores of single metrics, weights and durations."""
    rng = np.random.default_rng(seed)
    shape = (systems, tracks, metrics)
    score, weight = rng.random(shape), rng.choice([0.0, 1.0, 2.5, 33.3], shape)
    score[rng.random(shape) < 0.03] = np.nan
    status = rng.choice([*["ok"] * 60, *STATUSES], shape[:2])
    score[~np.isin(status, ["ok", "empty_reference", "empty_estimate"])] = np.nan
    duration = rng.choice([0.0, 60.0, 80.5], tracks)
    genre = {"genre": [["jazz", "rock", ""][track % 3] for track in range(tracks)]}
    return make_group(
        score, weight, status=status, duration=duration, standard=["wcsr", "median", "mean"], track_meta=genre
    )


def shrink_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks as small as can be: of two systems."""
    for name in ("_BLOCK", "_BLOCK_PER_GROUP", "_LARGEST"):
        monkeypatch.setattr(selection, name, 1)


def answer(ds: xr.Dataset, query: Query) -> xr.Dataset | str:
    try:
        return aggregate_query(ds, query)
    except QueryError as error:
        return str(error)


QUESTIONS = [
    Query(metric, by=by, missing=missing, undefined=undefined, sort=sort)
    for metric, by, missing, undefined, sort in product(
        (None, "root"), (None, "genre"), (None, "common", "skip", "zero", "raise"), ("keep", "skip"), (None, "best")
    )
]


class TestBlocks:
    @pytest.mark.slow
    @pytest.mark.parametrize("tracks", [40, 9000], ids=["few tracks", "many tracks"])
    def test_change_nothing(self, monkeypatch, tracks):
        ds = incomplete_group(tracks=tracks)
        for query in QUESTIONS:
            monkeypatch.undo()
            whole = answer(ds, query)
            shrink_blocks(monkeypatch)
            again = answer(ds, query)
            assert whole == again if isinstance(whole, str) else whole.identical(again), query

    def test_share_the_tracks_that_all_systems_have_by_each_metric(self, monkeypatch):
        score = np.arange(12.0).reshape(3, 4, 1)
        score[2, 1] = np.nan  # of a cell that has the status ok
        shrink_blocks(monkeypatch)
        assert aggregate_query(make_group(score), Query(missing="common"))["n"].values.ravel().tolist() == [3, 3, 3]

    def test_of_results_in_memory(self, monkeypatch):
        content = content_of(incomplete_group())
        metrics = content.measures[1:]
        whole = query_content(content, metrics)
        shrink_blocks(monkeypatch)
        again = query_content(content, metrics)
        for name, variable in whole.items():
            np.testing.assert_array_equal(again[name].values, variable.values)
        assert again.attrs == whole.attrs

    def test_count_cells_without_any_score(self, monkeypatch):
        ds = incomplete_group()
        score, weight = ds["score"].values, ds["weight"].values
        scored = np.isin(ds["status"].values, [1, *(STATUSES.index(name) for name in STATUSES if "empty" in name)])
        shrink_blocks(monkeypatch)
        assert count_unscored(ds) == (~scored | (np.isnan(score) & (weight != 0)).all(axis=2)).sum()


def test_a_system_has_the_same_value_whatever_others_are_asked():
    ds = random_group(5, 20_000, 1)
    alone = [aggregate_query(ds, Query(system=name))["value"].item() for name in ds["system"].values]
    assert aggregate_query(ds, Query())["value"].values.ravel().tolist() == alone


class TestReading:
    """A question reads the scores of its own metrics."""

    @staticmethod
    def recorded(ds: xr.Dataset) -> tuple[xr.Dataset, list[tuple[str, tuple[int, ...]]]]:
        """The same scores, and a list of what is read of them: the variable and the metrics."""
        reads: list[tuple[str, tuple[int, ...]]] = []

        def lazy(name: str) -> xr.Variable:
            values = ds[name].values

            def read(key):
                reads.append((name, tuple(np.atleast_1d(np.arange(values.shape[2])[key[2]]).tolist())))
                return values[np.ix_(*(np.arange(size)[one] for size, one in zip(values.shape, key, strict=True)))]

            return lazy_variable(ds[name].dims, values.shape, np.float64, read)

        return ds.assign({name: lazy(name) for name in ("score", "weight")}), reads

    @pytest.mark.parametrize("query", [Query("root"), Query("root", missing="zero"), Query("root", by="genre")])
    def test_of_one_metric(self, query):
        ds = random_group(3, 20, 3, track_meta={"genre": ["jazz"] * 20})
        lazy, reads = self.recorded(ds)
        assert aggregate_query(lazy, query).identical(aggregate_query(ds, query))
        assert reads == [("score", (1,)), ("weight", (1,))]

    def test_weights_of_others_only_for_systems_with_cells_without_a_reference(self, monkeypatch):
        weight = np.ones((3, 4, 3))
        weight[1, 2] = 0
        ds = make_group(np.full((3, 4, 3), 0.5), weight, duration=[60, 60, np.nan, 60], status=[["ok"] * 4] * 3)
        ds["status"][1, 2], ds["score"][1, 2] = STATUSES.index("unreadable"), np.nan
        lazy, reads = self.recorded(ds)
        query = Query("root", missing="zero")
        assert aggregate_query(lazy, query)["n"].values.ravel().tolist() == [4, 3, 4]
        assert [metrics for name, metrics in reads if metrics != (1,)] == [(0, 1, 2)] * 2


@pytest.mark.slow
def test_memory_follows_what_is_asked(tmp_path):
    """One of 12 metrics of 30 systems and 20,000 tracks, whose scores and weights take 115 MB."""
    ds = random_group(30, 20_000, 12, metrics=[f"metric_{number}" for number in range(12)])
    path = write_store(tmp_path / "x.zarr", {"chord": ds})
    everything = ds["score"].nbytes + ds["weight"].nbytes
    ways = {
        "query": lambda: aggregate_query(read_scores(path)["chord"], Query("metric_3", exact=True)),
        "run": lambda: query_content(open_groups(path)["chord"], ["metric_3"]),
    }
    for way in ways.values():
        way()  # imports
        tracemalloc.start()
        try:
            way()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < everything / 3
