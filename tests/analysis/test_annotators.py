from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from mirflow.analysis.inference import resampling
from mirflow.errors import QueryError

from ..commands import printed
from ..groups import make_group, write_store

NAN = np.nan
SCORE = [  # system, track, annotator: A2 did not annotate t1, and S1 lacks t2
    [[0.8, 0.6], [0.4, NAN], [0.2, 0.1]],
    [[0.7, 0.5], [0.3, NAN], [NAN, NAN]],
]
WEIGHT = [[[10, 30], [20, 0], [40, 50]], [[10, 30], [20, 0], [0, 0]]]


@pytest.fixture
def group() -> xr.Dataset:
    status = [[1, 1, 1], [1, 1, "missing_estimate"]]
    mean = [[[0.7], [0.4], [0.15]], [[0.6], [0.3], [NAN]]]
    ds = make_group(mean, status=status, track_meta={"genre": ["a", "b", "b"]})
    dims = ("system", "track", "annotator", "metric")
    ds["score_by_annotator"] = (dims, np.array(SCORE)[..., np.newaxis])
    ds["weight_by_annotator"] = (dims, np.array(WEIGHT, dtype=float)[..., np.newaxis])
    return ds.assign_coords(annotator=["A1", "A2"])


def test_each_annotator_is_a_group_of_the_tracks_that_they_annotated(group):
    answer = group.mirflow.query("majmin", "mean", "annotator", system="S0")
    assert answer["value"].dims == ("system", "metric", "annotator")
    assert answer["annotator"].values.tolist() == ["A1", "A2"]
    np.testing.assert_allclose(answer["value"].values.ravel(), [1.4 / 3, 0.35], rtol=1e-15)
    assert answer["n_tracks"].values.tolist() == [3, 2]
    assert answer["n"].values.ravel().tolist() == [3, 2]


def test_weights_are_those_against_that_annotator(group):
    answer = group.mirflow.query("majmin", "pooled", "annotator", system="S0")
    np.testing.assert_allclose(answer["value"].values.ravel(), [(8 + 8 + 8) / 70, (18 + 5) / 80], rtol=1e-15)


def test_missing_estimates_are_missing_for_every_annotator(group):
    answer = group.mirflow.query("majmin", "mean", "annotator")
    assert answer.attrs["missing"] == "common"
    assert answer["n_missing"].values[1].ravel().tolist() == [1, 1]
    np.testing.assert_allclose(answer["value"].values[:, 0], [[0.6, 0.6], [0.5, 0.5]], rtol=1e-15)


def test_together_with_other_coordinates_and_some_tracks(group):
    answer = group.mirflow.query("majmin", "mean", ["annotator", "genre"], system="S0", tracks=["t1", "t2"])
    np.testing.assert_allclose(answer["value"].sel(annotator="A1", genre="b").item(), 0.3, rtol=1e-15)
    np.testing.assert_allclose(answer["value"].sel(annotator="A2", genre="b").item(), 0.1, rtol=1e-15)
    assert answer["genre"].values.tolist() == ["b"]


def test_their_scores_are_no_metric_of_their_own(group):
    assert group.mirflow.query()["metric"].values.tolist() == ["majmin"]


def test_zero_is_refused(group):
    with pytest.raises(QueryError, match="a missing score cannot count as 0, as the weights of empty estimates are"):
        group.mirflow.query(by="annotator", missing="zero")


def test_an_evaluation_without_annotators_says_what_to_do(group):
    with pytest.raises(QueryError, match="keeps no scores by annotator; run it with combine: each"):
        group.drop_vars(["score_by_annotator", "weight_by_annotator"]).mirflow.query(by="annotator")


def test_a_coordinate_of_the_tracks_with_that_name_comes_first(group):
    ds = group.drop_vars(["score_by_annotator", "weight_by_annotator", "annotator"])
    answer = ds.assign_coords(annotator=("track", ["x", "y", "y"])).mirflow.query("majmin", "mean", "annotator")
    assert answer["annotator"].values.tolist() == ["x", "y"]


def test_what_several_have_of_a_track_is_drawn_and_swapped_together(group, monkeypatch):
    monkeypatch.setattr(resampling, "least_units", lambda level: 2)
    two = group.isel(track=[0, 1])
    both = {"metric": "majmin", "aggregate": "mean", "annotator": ["A1", "A2"]}
    found = two.mirflow.query(**both, replicates=500, ci=0.95)
    by_hand = two.mirflow.query(**both, replicates=500, cluster="track", ci=0.95)
    alone = two.mirflow.query("majmin", "mean", annotator="A1", replicates=500, ci=0.95)
    assert found["n"].values.ravel().tolist() == [3, 3]
    assert [found.attrs["cluster"], alone.attrs["cluster"]] == ["track", ""]
    np.testing.assert_array_equal(found["low"], by_hand["low"])
    # Of two tracks, every replicate has one of three values: those of either track alone, or the whole.
    assert found["low"].values[0].item() == pytest.approx(0.4)
    pairs = two.mirflow.compare(**both, replicates=500)
    assert [pairs["n"].values[0, 1, 0], pairs["p"].values[0, 1, 0]] == [3, 0.5]
    with pytest.raises(QueryError, match="takes all tracks as independent"):
        two.mirflow.compare(**both, test="t")
    assert two.mirflow.compare(**both, friedman=True)["n"].values.tolist() == [2]


def test_listed_tracks_name_their_annotators(group, tmp_path):
    found = group.mirflow.worst("majmin", n=2, annotator=["A1", "A2"])
    assert found["track"].values[0].tolist() == ["t2", "t2"]
    assert found["annotator"].sel(system="S0").values.tolist() == ["A2", "A1"]
    overall = group.mirflow.worst("majmin", n=1, annotator=["A1", "A2"], overall=True)
    assert (overall["track"].values.tolist(), overall["annotator"].values.tolist()) == (["t1"], ["A1"])
    assert overall["n"].item() == 3
    store = write_store(tmp_path / "s.zarr", {"chord": group})
    lines = printed("worst", store, "-m", "majmin", "-n", 2, "--annotator", "A1", "--annotator", "A2").splitlines()
    assert lines[1].split()[:4] == ["system", "rank", "track", "annotator"]
    assert [line.split()[:4] for line in lines[3:5]] == [["S0", "1", "t2", "A2"], ["S0", "2", "t2", "A1"]]
