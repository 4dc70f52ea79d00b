"""Ranks with intervals: what the test excludes, and how often each system is the best of the tracks drawn again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

import mirflow
from mirflow.analysis.inference import blocks, compare, ranks
from mirflow.analysis.inference.resampling import Resampling
from mirflow.analysis.query_options import Query
from mirflow.errors import QueryError

from ...groups import CODES
from .worlds import group_of, random_world, value_of

FEW = 500


class TestRanks:
    @settings(max_examples=15)
    @given(
        st.integers(2, 6),
        st.integers(6, 30),
        st.sampled_from(["mean", "median", "wcsr"]),
        st.booleans(),
        st.integers(0),
    )
    def test_are_those_that_a_comparison_does_not_exclude(self, systems, tracks, kind, lower, seed) -> None:
        ds = random_world(systems, tracks, seed=seed % 2**32, orientation=["lower" if lower else "higher"])
        asked = Query(aggregate=kind)
        found, compared = ranks(ds, asked, replicates=FEW), compare(ds, asked, replicates=FEW, sizes=False)
        gain = found["value"].values[:, 0] * (-1 if lower else 1)
        rank, low, high = (found[name].values[:, 0] for name in ("rank", "rank_low", "rank_high"))
        np.testing.assert_array_equal(rank, rankdata(-gain, "min"))
        for one in range(systems):
            differ = [other for other in range(systems) if compared["significant"].values[one, other, 0]]
            assert low[one] == 1 + sum(gain[other] > gain[one] for other in differ)
            assert high[one] == systems - sum(gain[other] < gain[one] for other in differ)
            assert low[one] <= rank[one] <= high[one]

    def test_of_many_tracks_are_certain(self) -> None:
        noise = np.random.default_rng(0).normal(0, 0.01, (3, 100, 1))
        found = ranks(group_of(np.array([0.2, 0.9, 0.5]).reshape(3, 1, 1) + noise))
        for name in ("rank", "rank_low", "rank_high"):
            assert found[name].values.ravel().tolist() == [3, 1, 2]
        assert found["first"].values.ravel().tolist() == [0, 1, 0]

    def test_of_few_tracks_are_all_possible_and_without_shares(self) -> None:
        found = ranks(random_world(3, 4))
        assert found["rank_low"].values.ravel().tolist() == [1, 1, 1]
        assert found["rank_high"].values.ravel().tolist() == [3, 3, 3]
        assert np.isnan(found["first"].values).all()

    def test_equal_systems_share_the_first_rank_in_equal_parts(self) -> None:
        # All scores are 0.1; ratios of sums with other weights differ in the last bits, and nobody is better by them.
        weight = np.random.default_rng(3).uniform(1, 300, (2, 20, 1))
        found = ranks(group_of(np.full((2, 20, 1), 0.1), weight), replicates=FEW)
        assert found["first"].values.ravel().tolist() == [0.5, 0.5]
        assert found["better"].values[[0, 1], [1, 0], 0].tolist() == [0.5, 0.5]

    def test_a_system_without_scores_has_none(self) -> None:
        score = np.random.default_rng(1).uniform(size=(3, 20, 1))
        score[1] = np.nan
        found = ranks(group_of(score), Query(missing="skip"), replicates=FEW)
        assert np.isnan([found[name].values[1, 0] for name in ("rank", "rank_low", "rank_high", "first")]).all()
        assert found["rank_high"].values[[0, 2], 0].max() == 2
        assert found["first"].values[[0, 2], 0].sum() == pytest.approx(1)

    def test_need_a_metric_that_can_be_better(self) -> None:
        with pytest.raises(QueryError, match="cannot rank systems: neither high nor low"):
            ranks(random_world(3, 10, orientation=["none"]))

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mean", "wcsr"])
    def test_all_true_ranks_are_held_together_as_often_as_the_level_says(self, kind: str) -> None:
        truth, held = np.array([0.50, 0.50, 0.53, 0.60, 0.75]), []
        best = 1 + (truth > truth[:, np.newaxis]).sum(axis=1)
        worst = len(truth) - (truth < truth[:, np.newaxis]).sum(axis=1)
        rng = np.random.default_rng(20260)
        for _ in range(400):
            hard = rng.normal(0, 0.1, (1, 40, 1))
            score = truth.reshape(-1, 1, 1) + hard + rng.normal(0, 0.1, (5, 40, 1))
            weight = np.broadcast_to(rng.uniform(100, 300, (1, 40, 1)), score.shape)
            found = ranks(group_of(score, weight), Query(aggregate=kind), replicates=399)
            low, high = (found[name].values[:, 0] for name in ("rank_low", "rank_high"))
            held.append(((low <= best) & (worst <= high)).all())
        assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400) <= np.mean(held)


class TestShares:
    @pytest.mark.parametrize("kind", ["mean", "median", "wcsr"])
    def test_are_those_of_a_plain_loop_over_replicates(self, kind: str) -> None:
        ds = random_world(4, 12, seed=7)
        found = ranks(ds, Query(aggregate=kind), replicates=FEW)
        score, weight, first, better = ds.score.values[..., 0], ds.weight.values[..., 0], np.zeros(4), np.zeros((4, 4))
        for counts in np.concatenate([*Resampling.of(0.95, "percentile", FEW, 0).counts(12)]).astype(int):
            drawn = np.repeat(np.arange(12), counts)
            value = value_of(kind, score[:, drawn], weight[:, drawn], ds.duration.values[drawn])
            best = np.isclose(value, value.max(), rtol=0, atol=1e-13)
            first += best / best.sum()
            better += (value[:, np.newaxis] > value + 1e-13) + (np.abs(value[:, np.newaxis] - value) <= 1e-13) / 2
        np.testing.assert_allclose(found["first"].values[:, 0], first / FEW, atol=1e-12)
        apart = ~np.eye(4, dtype=bool)
        np.testing.assert_allclose(found["better"].values[..., 0][apart], (better / FEW)[apart], atol=1e-12)
        assert np.isnan(found["better"].values[..., 0][~apart]).all()

    def test_are_divided_where_systems_are_equal(self) -> None:
        score = np.random.default_rng(3).uniform(size=(1, 20, 1))
        found = ranks(group_of(np.concatenate([score, score, score - 1])), replicates=FEW)
        np.testing.assert_allclose(found["first"].values.ravel(), [0.5, 0.5, 0])
        assert found["better"].values[0, 1, 0] == 0.5
        assert found["rank"].values.ravel().tolist() == [1, 1, 3]

    def test_clusters_are_drawn_together(self) -> None:
        ds = random_world(2, 12, seed=5).assign_coords(artist=("track", list("aabbccddeeff")))
        alone, together = (ranks(ds, replicates=FEW, cluster=name)["first"].values for name in (None, "artist"))
        assert (alone != together).any()

    @pytest.mark.parametrize("missing", ["common", "skip"])
    def test_do_not_depend_on_how_many_systems_are_in_memory(self, missing, monkeypatch) -> None:
        ds = random_world(5, 20, seed=9)
        ds.score[1, 3] = ds.score[4, 7] = np.nan
        ds.status[1, 3] = ds.status[4, 7] = CODES["missing_estimate"]
        asked = Query(missing=missing)
        whole = ranks(ds, asked, replicates=FEW)
        monkeypatch.setattr(blocks, "_BLOCK", 40)
        for name in ("first", "better"):
            np.testing.assert_array_equal(ranks(ds, asked, replicates=FEW)[name], whole[name])


class TestDoors:
    def test_the_table_says_how_sure_ranks_are(self, mirex2013_store) -> None:
        asked = {"metric": "majmin", "group": "chord_mirex2013", "system": ["CB3", "CB4", "CF2", "KO1"]}
        found = mirflow.ranks(mirex2013_store, **asked)
        assert "CB4      0.8226    1-3    0.48" in found.to_text()
        assert "they hold all true ranks with 95 % confidence" in found.to_text()
        rows = found.to_csv().splitlines()
        assert len(rows) == 1 + 4 * 3
        names = rows[0].split(",")
        first = dict(zip(names, rows[1].split(","), strict=True))
        assert (first["system"], first["other"], first["rank_low"], first["n"]) == ("CB3", "CB4", "1.0", "217")

    def test_without_a_metric_the_headline_ranks(self, demo_store) -> None:
        found = mirflow.ranks(demo_store, group="chord")
        assert found.dataset["metric"].values.tolist() == ["majmin"]
        assert "every rank is possible: so few units tell no systems apart" in found.to_text()
