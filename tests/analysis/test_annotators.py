from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from mirflow.analysis.inference import compare, friedman, intervals, resampling
from mirflow.analysis.queries import aggregate, answers
from mirflow.analysis.scoreboard import from_dataset
from mirflow.analysis.selection import Question
from mirflow.analysis.worst import extremes
from mirflow.cells import Status
from mirflow.errors import QueryError
from mirflow.report.summaries import extremes_table

from ..groups import make_group

NAN = np.nan
SCORE = [  # system, track, annotator: A2 did not annotate t1, and S1 lacks t2
    [[0.8, 0.6], [0.4, NAN], [0.2, 0.1]],
    [[0.7, 0.5], [0.3, NAN], [NAN, NAN]],
]
WEIGHT = [[[10, 30], [20, 0], [40, 50]], [[10, 30], [20, 0], [0, 0]]]


@pytest.fixture
def group() -> xr.Dataset:
    status = [[1, 1, 1], [1, 1, Status.missing_estimate]]
    mean = [[[0.7], [0.4], [0.15]], [[0.6], [0.3], [NAN]]]
    ds = make_group(mean, status=status, track_meta={"genre": ["a", "b", "b"]})
    dims = ("system", "track", "annotator", "metric")
    ds["score_by_annotator"] = (dims, np.array(SCORE)[..., np.newaxis])
    ds["weight_by_annotator"] = (dims, np.array(WEIGHT, dtype=float)[..., np.newaxis])
    return ds.assign_coords(annotator=["A1", "A2"])


def test_each_annotator_is_a_group_of_the_tracks_that_they_annotated(group):
    answer = aggregate(group, "majmin", "mean", "annotator", system="S0")
    assert answer["value"].dims == ("system", "metric", "annotator")
    assert answer["annotator"].values.tolist() == ["A1", "A2"]
    np.testing.assert_allclose(answer["value"].values.ravel(), [1.4 / 3, 0.35], rtol=1e-15)
    assert answer["n_tracks"].values.tolist() == [3, 2]
    assert answer["n"].values.ravel().tolist() == [3, 2]


def test_weights_are_those_against_that_annotator(group):
    answer = aggregate(group, "majmin", "pooled", "annotator", system="S0")
    np.testing.assert_allclose(answer["value"].values.ravel(), [(8 + 8 + 8) / 70, (18 + 5) / 80], rtol=1e-15)


def test_missing_estimates_are_missing_for_every_annotator(group):
    answer = aggregate(group, "majmin", "mean", "annotator")
    assert answer.attrs["missing"] == "common"
    assert answer["n_missing"].values[1].ravel().tolist() == [1, 1]
    np.testing.assert_allclose(answer["value"].values[:, 0], [[0.6, 0.6], [0.5, 0.5]], rtol=1e-15)


def test_together_with_other_coordinates_and_some_tracks(group):
    answer = aggregate(group, "majmin", "mean", ["annotator", "genre"], system="S0", tracks=["t1", "t2"])
    np.testing.assert_allclose(answer["value"].sel(annotator="A1", genre="b").item(), 0.3, rtol=1e-15)
    np.testing.assert_allclose(answer["value"].sel(annotator="A2", genre="b").item(), 0.1, rtol=1e-15)
    assert answer["genre"].values.tolist() == ["b"]


def test_their_scores_are_no_metric_of_their_own(group):
    (answer,) = answers(from_dataset(group), Question())
    assert answer.metrics == ["majmin"]


def test_zero_is_refused(group):
    with pytest.raises(QueryError, match="a missing score cannot count as 0, as the weights of empty estimates are"):
        aggregate(group, by="annotator", missing="zero")


def test_an_evaluation_without_annotators_says_what_to_do(group):
    with pytest.raises(QueryError, match="keeps no scores by annotator; run it with combine: each"):
        aggregate(group.drop_vars(["score_by_annotator", "weight_by_annotator"]), by="annotator")


def test_a_coordinate_of_the_tracks_with_that_name_comes_first(group):
    ds = group.drop_vars(["score_by_annotator", "weight_by_annotator", "annotator"])
    answer = aggregate(ds.assign_coords(annotator=("track", ["x", "y", "y"])), "majmin", "mean", "annotator")
    assert answer["annotator"].values.tolist() == ["x", "y"]


def test_what_several_have_of_a_track_is_drawn_and_swapped_together(group, monkeypatch):
    monkeypatch.setattr(resampling, "least_units", lambda level: 2)
    board = from_dataset(group.isel(track=[0, 1]))
    both, question = ["A1", "A2"], Question("majmin", "mean")
    found = intervals(board, replace(question, annotator=both), replicates=500)
    by_hand = intervals(board, replace(question, annotator=both), replicates=500, cluster="track")
    alone = intervals(board, replace(question, annotator="A1"), replicates=500)
    assert found.counts["n"].ravel().tolist() == [3, 3]
    assert [found.attrs["cluster"], alone.attrs["cluster"]] == ["track", ""]
    np.testing.assert_array_equal(found.low, by_hand.low)
    # Of two tracks, every replicate has one of three figures: those of either track alone, or the whole.
    assert found.low[0].item() == pytest.approx(0.4)
    pairs = compare(board, replace(question, annotator=both), replicates=500)
    assert [pairs.arrays["n"][0, 1, 0], pairs.arrays["p"][0, 1, 0]] == [3, 0.5]
    with pytest.raises(QueryError, match="takes all tracks as independent"):
        compare(board, replace(question, annotator=both), test="t")
    assert friedman(board, replace(question, annotator=both)).ranks.n.tolist() == [2]


def test_listed_tracks_say_whose_annotation_it_is(group):
    board = from_dataset(group)
    found = extremes(board, Question("majmin", annotator=["A1", "A2"]), 2)
    table = extremes_table(found)
    assert table.columns[:4] == ("system", "rank", "track", "annotator")
    assert [row[:4] for row in table.rows[:2]] == [("S0", 1, "t2", "A2"), ("S0", 2, "t2", "A1")]
    assert found.to_dataset()["annotator"].sel(system="S0").values.tolist() == ["A2", "A1"]
    overall = extremes(board, Question("majmin", annotator=["A1", "A2"]), 1, overall=True)
    assert [row[:3] for row in extremes_table(overall).rows] == [(1, "t1", "A1")]
    assert overall.to_dataset()["annotator"].values.tolist() == ["A1"]
    assert overall.to_dataset()["n"].item() == 3
