"""Scores against covariates of the tracks: correlations, their intervals, and what can be a covariate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr

import mirflow
from mirflow.analysis.inference.correlations import correlations
from mirflow.analysis.inference.resampling import Resampling
from mirflow.analysis.query_options import Query
from mirflow.errors import QueryError, UnknownNameError

from ...groups import CODES
from .worlds import group_of, random_world

FEW = 300


def with_tempo(tracks: int, seed: int = 0):
    tempo = np.random.default_rng(seed).uniform(60, 200, tracks)
    return random_world(3, tracks, seed=seed).assign_coords(tempo=("track", tempo))


class TestCorrelations:
    @settings(max_examples=20)
    @given(st.integers(3, 40), st.integers(0, 2**32 - 1))
    def test_are_those_of_scipy(self, tracks, seed) -> None:
        ds = with_tempo(tracks, seed)
        found = correlations(ds, "tempo", replicates=FEW)
        for system in range(3):
            score = ds.score.values[system, :, 0]
            assert found["r"].values[system, 0] == pytest.approx(pearsonr(score, ds.tempo)[0], abs=1e-12)
            assert found["tau"].values[system, 0] == pytest.approx(kendalltau(score, ds.tempo)[0], abs=1e-12)

    def test_have_the_intervals_of_a_plain_loop(self) -> None:
        ds = with_tempo(25, 3)
        found = correlations(ds, "tempo", method="percentile", replicates=FEW)
        drawn = [
            pearsonr(*(np.repeat(one, counts) for one in (ds.score.values[1, :, 0], ds.tempo.values)))[0]
            for counts in np.concatenate([*Resampling.of(0.95, "percentile", FEW, 0).counts(25)]).astype(int)
        ]
        ends = [found[name].values[1, 0] for name in ("low", "high")]
        np.testing.assert_allclose(ends, np.quantile(drawn, [0.025, 0.975]), atol=1e-12)

    def test_are_over_tracks_with_a_score_and_a_value(self) -> None:
        ds = with_tempo(20)
        ds.score[0, 2], ds.status[0, 2] = np.nan, CODES["missing_estimate"]
        ds.tempo[5] = np.nan
        found = correlations(ds, "tempo", Query(missing="skip"), replicates=FEW)
        assert found["n"].values.ravel().tolist() == [18, 19, 19]
        kept = np.delete(np.arange(20), [2, 5])
        expected = pearsonr(ds.score.values[0, kept, 0], ds.tempo.values[kept])[0]
        assert found["r"].values[0, 0] == pytest.approx(expected, abs=1e-12)

    def test_of_what_is_always_the_same_are_undefined(self) -> None:
        found = correlations(group_of(np.ones((2, 10, 1))), "others", replicates=FEW)
        assert np.isnan(found["r"].values).all()
        assert np.isnan(found["low"].values).all()

    def test_of_few_tracks_have_no_interval(self) -> None:
        found = correlations(with_tempo(5), "tempo", replicates=FEW)
        assert np.isfinite(found["r"].values).all()
        assert np.isnan(found["low"].values).all()

    def test_with_another_metric_hold_scores_of_the_same_system_against_each_other(self) -> None:
        ds = random_world(3, 20, 2)
        found = correlations(ds, "root", Query("majmin"), replicates=FEW)
        for system in range(3):
            own, beside = ds["score"].values[system].T
            assert found["r"].values[system, 0] == pytest.approx(pearsonr(own, beside)[0], abs=1e-12)

    def test_with_the_others_leave_out_the_system(self) -> None:
        ds = with_tempo(30, 5)
        found, score = correlations(ds, "others", replicates=FEW), ds.score.values[..., 0]
        expected = pearsonr(score[0], score[1:].mean(axis=0))[0]
        assert found["r"].values[0, 0] == pytest.approx(expected, abs=1e-12)


class TestRefusals:
    def test_of_text(self) -> None:
        ds = random_world(2, 10).assign_coords(genre=("track", list("ab" * 5)))
        with pytest.raises(QueryError, match=r"covariate 'genre' is text; group by it .* duration, others"):
            correlations(ds, "genre")

    def test_of_what_is_not_there(self) -> None:
        with pytest.raises(UnknownNameError, match="unknown covariate 'tmpo'"):
            correlations(with_tempo(10), "tmpo")

    def test_of_the_others_where_there_are_none(self) -> None:
        with pytest.raises(QueryError, match="there is one system"):
            correlations(random_world(1, 10), "others")


class TestDoors:
    @pytest.mark.slow
    def test_a_table_has_a_row_for_each_system(self, mirex2013_store) -> None:
        asked = {"metric": "majmin", "group": "chord_mirex2013", "system": ["CB3", "CB4"]}
        text = mirflow.correlate(mirex2013_store, against="duration", **asked).to_text()
        assert "majmin against duration" in text
        assert "CB4      -0.2000 [-0.3571, 0.0038]   -0.1876   217" in text
        assert len(mirflow.correlate(mirex2013_store, against="others", **asked).to_csv().splitlines()) == 3

    def test_a_method_of_intervals_is_looked_at(self, demo_store) -> None:
        asked = {"metric": "majmin", "group": "chord", "against": "tempo"}
        assert mirflow.correlate(demo_store, method="percentile", **asked).dataset.attrs["method"] == "percentile"
        with pytest.raises(QueryError, match="not for the correlation of 'tempo'; choose bca"):
            mirflow.correlate(demo_store, method="normal", **asked)
