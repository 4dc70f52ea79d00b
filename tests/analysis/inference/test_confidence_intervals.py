"""Confidence intervals by bootstrap, against scipy and by brute force."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mirflow.analysis.inference import resampling
from mirflow.analysis.inference.resampling import OrderedScores, Resampling, bounds
from mirflow.errors import QueryError, UnknownNameError
from mirflow.metrics.aggregates import STATISTICS

from .worlds import KINDS, group_of, random_scores, random_world, value_of

ARTISTS = [*"aabbbcd", "", ""]


def replicates_of(ds, kind, cluster=None, replicates=300):
    """The aggregate of each drawn collection, computed from its tracks one by one."""
    score, weight = (ds[name].values[0, :, 0] for name in ("score", "weight"))
    cluster = np.arange(len(score)) if cluster is None else cluster
    counts = np.concatenate(list(Resampling.of(0.95, "bca", replicates, 7).counts(int(cluster.max()) + 1)))
    drawn = (np.repeat(np.arange(len(score)), count[cluster].astype(int)) for count in counts)
    return np.array([value_of(kind, score[one], weight[one], ds["duration"].values[one]) for one in drawn])


class TestLeavingOut:
    def test_a_cluster_leaves_the_statistic_of_the_others(self):
        ordered, order = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[0, 0, 1, 2]])
        left = OrderedScores(STATISTICS["median"], ordered, order, 3).left_out()
        # Medians of 3 and 4; of 1, 2 and 4; of 1, 2 and 3.
        assert left[:, 0].tolist() == [3.5, 2.0, 2.0]


class TestReplicates:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("cluster", "codes"),
        [(None, None), ("artist", np.array([0, 0, 1, 1, 1, 2, 3, 4, 5]))],
        ids=["tracks", "clusters, and tracks without one"],
    )
    def test_each_is_the_aggregate_of_a_collection_with_tracks_repeated(self, kind, cluster, codes):
        ds = random_world(1, 9, track_meta={"artist": ARTISTS})
        drawn = replicates_of(ds, kind, codes)
        for level in np.linspace(0.1, 0.9, 5):
            if len(np.unique(codes if codes is not None else np.arange(9))) < resampling.least_units(level):
                continue
            found = ds.mirflow.query(
                aggregate=kind, cluster=cluster, ci=level, method="percentile", replicates=300, rng=7
            )
            expected = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
            np.testing.assert_allclose([found["low"].item(), found["high"].item()], expected, rtol=1e-12)

    def test_samples_of_the_same_size_are_drawn_the_same_way(self):
        how = Resampling.of(0.95, "bca", 300, 7)
        first, again, other = (np.concatenate(list(how.counts(units))) for units in (9, 9, 8))
        np.testing.assert_array_equal(first, again)
        assert (first.sum(axis=1) == 9).all()
        assert other.shape == (300, 8)

    def test_evaluations_of_as_many_tracks_share_what_is_drawn(self, monkeypatch):
        drawn, draw = [], resampling._draw_counts
        monkeypatch.setattr(resampling, "_draw_counts", lambda *how: drawn.append(how) or draw(*how))
        for seed in range(2):
            random_world(2, 17, 1, seed=seed).mirflow.query(replicates=311, rng=5, ci=0.95)
        assert drawn
        assert len(drawn) == len(set(drawn))

    def test_chunks_do_not_change_what_is_drawn(self, monkeypatch):
        ds = random_world(3, 40, 2)
        whole = ds.mirflow.query(replicates=50, ci=0.95)
        monkeypatch.setattr(resampling, "_CHUNK", 100)
        np.testing.assert_allclose(ds.mirflow.query(replicates=50, ci=0.95)["low"], whole["low"], rtol=1e-13)


class TestAgainstScipy:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(("method", "theirs"), [("bca", "BCa"), ("percentile", "percentile")])
    def test_ends_of_the_interval_from_the_same_replicates(self, kind, method, theirs):
        ds = random_world(1, 30, seed=3)
        part = (ds["score"].values[0, :, 0], ds["weight"].values[0, :, 0], ds["duration"].values)
        drawn = SimpleNamespace(bootstrap_distribution=replicates_of(ds, kind, replicates=2000))
        same = {"paired": True, "vectorized": False, "n_resamples": 0, "bootstrap_result": drawn}
        expected = stats.bootstrap(
            part, lambda *one: value_of(kind, *one), method=theirs, confidence_level=0.9, **same
        ).confidence_interval
        found = ds.mirflow.query(aggregate=kind, method=method, ci=0.9, replicates=2000, rng=7)
        assert found["low"].item() == pytest.approx(expected.low, abs=1e-12)
        assert found["high"].item() == pytest.approx(expected.high, abs=1e-12)


class TestResult:
    def test_values_and_counts_are_those_of_a_query(self):
        ds = random_world(3, 18, 2, track_meta={"genre": list("aaaaaabbbbbbcccccc")})
        found, plain = ds.mirflow.query(by="genre", replicates=200, ci=0.95), ds.mirflow.query(by="genre")
        for name in ("value", "n"):
            np.testing.assert_array_equal(found[name], plain[name])
        assert (found["low"] <= found["value"]).all()
        assert (found["value"] <= found["high"]).all()

    def test_names_its_level_exactly(self):
        assert random_world(1, 6).mirflow.query(ci=0.9999999, replicates=50).attrs["level"] == "0.9999999"

    def test_dataset(self):
        ds = random_world(2, 6).mirflow.query(replicates=100, cluster="track", ci=0.95)
        assert ds["low"].dims == ds["value"].dims
        assert {"level": "0.95", "method": "bca", "replicates": "100", "unit": "track"}.items() <= ds.attrs.items()

    def test_groups_of_tracks_are_resampled_alone(self):
        board = random_world(2, 12, track_meta={"genre": list("aaaaaabbbbbb")})
        grouped = board.mirflow.query(by="genre", replicates=200, ci=0.95)
        alone = board.mirflow.query(tracks=[f"t{i}" for i in range(6)], replicates=200, ci=0.95)
        for end in ("low", "high"):
            np.testing.assert_array_equal(grouped[end][..., 0], alone[end])

    def test_an_interval_does_not_depend_on_what_else_is_asked(self):
        score, weight = random_scores(3, 20, 2)
        score[1, 4] = np.nan
        board = group_of(score, weight)
        whole = board.mirflow.query(missing="skip", replicates=200, ci=0.95)
        for system, name in enumerate(board["system"].values):
            alone = board.mirflow.query("root", system=name, missing="skip", replicates=200, ci=0.95)
            assert alone["low"].item() == pytest.approx(whole["low"].values[system, 1], abs=1e-14)

    def test_missing_ones_are_left_out_or_count_as_zero(self):
        score, weight = random_scores(1, 20)
        score[0, 5:8] = np.nan
        board = group_of(score, weight)
        rest = group_of(np.delete(score, range(5, 8), axis=1), np.delete(weight, range(5, 8), axis=1))
        assert board.mirflow.query(missing="skip", ci=0.95)["low"].values == pytest.approx(
            rest.mirflow.query(ci=0.95)["low"].values, abs=1e-14
        )
        zero = group_of(np.nan_to_num(score), weight).mirflow.query(ci=0.95)
        assert board.mirflow.query(missing="zero", ci=0.95)["low"].values == pytest.approx(
            zero["low"].values, abs=1e-14
        )

    def test_the_seed_decides(self):
        board = random_world(1, 20)
        first, again, other = (board.mirflow.query(rng=rng, replicates=200, ci=0.95)["low"].item() for rng in (1, 1, 2))
        assert first == again != other
        generators = [
            board.mirflow.query(rng=np.random.default_rng(5), replicates=200, ci=0.95)["low"].item() for _ in range(2)
        ]
        assert generators[0] == generators[1]


class TestUnits:
    def test_each_value_of_the_unit_counts_once(self):
        score, weight = random_scores(2, 9)
        board = group_of(score, weight, track_meta={"fold": list("aabbbbccc")})
        found = board.mirflow.query(aggregate="wcsr", unit="fold", ci=0.95)
        folds = [board.mirflow.query(aggregate="wcsr", by="fold")["value"].values[:, 0, place] for place in range(3)]
        np.testing.assert_allclose(found["value"].values[:, 0], np.mean(folds, axis=0), atol=1e-15)
        means = group_of(np.transpose(folds)[..., np.newaxis], standard=["mean"])
        np.testing.assert_allclose(found["low"], means.mirflow.query(ci=0.95)["low"], atol=1e-15)

    def test_a_track_without_a_value_is_an_error(self):
        board = random_world(2, 3, track_meta={"fold": ["a", "b", ""]})
        with pytest.raises(QueryError, match="unit 'fold': 1 track without a value of it, 't2' among them"):
            board.mirflow.query(unit="fold", ci=0.95)

    def test_units_and_clusters_exclude_each_other(self):
        with pytest.raises(QueryError, match="choose cluster 'artist' or unit 'fold', not both"):
            random_world(2, 3).mirflow.query(unit="fold", cluster="artist", ci=0.95)

    def test_unknown_ones(self):
        for words in ({"unit": "gnre"}, {"cluster": "gnre"}):
            with pytest.raises(UnknownNameError, match="unknown track coordinate 'gnre'; did you mean 'genre'"):
                random_world(2, 3, track_meta={"genre": list("aab")}).mirflow.query(**{"ci": 0.95, **words})


class TestDegenerate:
    def test_a_median_that_no_single_track_moves_has_an_interval_all_the_same(self):
        score = np.array([0, 0, 0.1, 0.5, 0.5, 0.5, 0.5, 0.9, 1, 1])
        found = group_of(score[np.newaxis, :, np.newaxis]).mirflow.query(
            aggregate="median", method="percentile", ci=0.95
        )
        expected = stats.bootstrap((score,), np.median, method="percentile", rng=0).confidence_interval
        assert (found["low"].item(), found["high"].item()) == (expected.low, expected.high) == (0.1, 0.9)

    def test_infinite_scores_have_a_median_but_no_interval_of_a_mean(self):
        score = np.random.default_rng(0).random((2, 9, 1))
        score[0, 3] = np.inf
        board = group_of(score)
        mean, median = (board.mirflow.query(aggregate=kind, replicates=500, ci=0.95) for kind in ("mean", "median"))
        assert mean["value"][0].item() == np.inf
        assert np.isnan([mean["low"][0].item(), mean["high"][0].item()]).all()
        assert mean["low"][1].item() < mean["value"][1].item() < mean["high"][1].item()
        assert median["low"][0].item() < median["value"][0].item() < median["high"][0].item() < np.inf
        none = group_of(score, np.isfinite(score) * 9.0)
        assert np.isfinite(none.mirflow.query(aggregate="pooled", replicates=500, ci=0.95)["high"]).all()

    def test_beyond_the_pole_of_the_acceleration_ends_stay_in_order(self):
        how = Resampling.of(0.9999, "bca", 2000, 0)
        replicates = np.random.default_rng(0).normal(0, 1, (2, 2000))
        low, high = bounds(replicates, np.array([9.0, -9.0]), np.array([0.4, -0.4]), how)
        assert (low <= high).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_track_has_no_interval(self, kind):
        found = random_world(2, 1).mirflow.query(aggregate=kind, ci=0.95)
        assert np.isnan([found["low"], found["high"]]).all()
        assert not np.isnan(found["value"]).any()

    def test_one_cluster_has_none_either(self):
        found = random_world(1, 4, track_meta={"artist": list("aaaa")}).mirflow.query(cluster="artist", ci=0.95)
        assert np.isnan([found["low"], found["high"]]).all()

    @pytest.mark.parametrize("kind", KINDS[:4])
    def test_equal_scores_have_an_interval_without_width(self, kind):
        score = np.full((1, 7, 1), 0.7)
        found = group_of(score, random_scores(1, 7)[1]).mirflow.query(aggregate=kind, ci=0.95)
        assert found["low"].item() == found["value"].item() == found["high"].item()

    def test_nothing_that_weighs(self):
        found = group_of(np.zeros((1, 4, 1)), 0.0).mirflow.query(ci=0.95)
        assert np.isnan([found["value"], found["low"], found["high"]]).all()

    def test_replicates_without_weight_are_left_out(self):
        weight = np.zeros((1, 6, 1))
        weight[0, :2] = 1.0
        found = group_of([[[0.2], [0.6], [0.0], [0.0], [0.0], [0.0]]], weight).mirflow.query(ci=0.95)
        assert [found["low"].item(), found["high"].item()] == pytest.approx([0.2, 0.6])

    @pytest.mark.parametrize(("level", "least"), [(0.9, 5), (0.95, 6), (0.99, 8)])
    def test_few_tracks_have_no_interval(self, level, least):
        few, enough = (random_world(1, n).mirflow.query(ci=level, replicates=200) for n in (least - 1, least))
        assert np.isnan([few["low"], few["high"]]).all()
        assert np.isfinite([few["value"], enough["low"], enough["high"]]).all()
        assert enough.attrs["least_units"] == str(least)
        artists = random_world(1, 40, track_meta={"artist": [str(n % (least - 1)) for n in range(40)]})
        assert np.isnan(artists.mirflow.query(ci=level, cluster="artist")["low"]).all()

    def test_true_asks_for_the_usual_level(self):
        board = random_world(2, 8)
        assert board.mirflow.query(ci=True).identical(board.mirflow.query(ci=0.95))
        assert board.mirflow.query(ci=False).identical(board.mirflow.query())

    def test_no_track_at_all(self):
        found = random_world(2, 3).mirflow.query(tracks=[], ci=0.95)
        assert np.isnan([found["value"], found["low"], found["high"]]).all()

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ({"ci": 95}, "level 95: a confidence level lies between 0 and 1"),
            ({"ci": float("nan")}, "level nan"),
            ({"replicates": 0}, "invalid replicates 0: expected at least one"),
            ({"rng": -1}, "rng -1: a seed is not negative"),
            ({"method": "bcaa"}, "unknown interval method 'bcaa'; did you mean 'bca'"),
        ],
    )
    def test_what_makes_no_sense(self, words, message):
        with pytest.raises((QueryError, UnknownNameError), match=message):
            random_world(2, 3).mirflow.query(**{"ci": 0.95, **words})

    @given(st.integers(1, 12), st.sampled_from(KINDS), st.integers(0, 2**32), st.sampled_from(["bca", "percentile"]))
    def test_whatever_the_scores_the_ends_lie_within_their_range(self, tracks, kind, seed, method):
        rng = np.random.default_rng(seed)
        score = rng.choice([0.0, 0.25, 1.0, np.nan], (2, tracks, 1), p=[0.3, 0.3, 0.3, 0.1])
        board = group_of(score, rng.choice([0.0, 1.0, 7.0], (2, tracks, 1)))
        found = board.mirflow.query(aggregate=kind, replicates=60, method=method, rng=seed, ci=0.95)
        known = ~np.isnan(found["low"].values)
        assert (known == ~np.isnan(found["high"].values)).all()
        assert (found["low"].values[known] >= -1e-15).all()
        assert (found["high"].values[known] <= 1 + 1e-15).all()
        assert (found["low"].values[known] <= found["high"].values[known]).all()


class TestCoverage:
    """Intervals of samples from a known population: each simulated sample is a system of one evaluation."""

    @staticmethod
    def share_that_hold(kind, method, samples, tracks, replicates):
        rng = np.random.default_rng(11)
        weight = rng.gamma(9.0, 25.0, (samples, tracks, 1))
        score = np.clip(rng.beta(6, 2, weight.shape), 0, 1)
        population = stats.beta(6, 2).median() if kind == "median" else 0.75
        found = group_of(score, weight, duration=1.0).mirflow.query(
            aggregate=kind, method=method, replicates=replicates, ci=0.95
        )
        return float(((found["low"] <= population) & (population <= found["high"])).mean())

    @pytest.mark.parametrize("method", ["bca", "percentile"])
    @pytest.mark.parametrize("kind", ["mean", "wcsr"])
    def test_nominal(self, kind, method):
        assert 0.925 < self.share_that_hold(kind, method, 800, 60, 1000) < 0.97

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mean", "wcsr", "median"])
    def test_nominal_more_closely(self, kind):
        assert 0.938 < self.share_that_hold(kind, "bca", 3000, 200, 2000) < 0.961

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mean", "wcsr", "median"])
    def test_clusters_are_needed_where_tracks_are_alike(self, kind):
        """Tracks of an artist share half of the variance: drawn one by one, intervals are too narrow."""
        samples, artists, each = 2000, 100, 4
        rng = np.random.default_rng(12)
        shared = np.repeat(rng.normal(0, 0.1, (samples, artists)), each, axis=1)
        score = 0.5 + shared + rng.normal(0, 0.1, shared.shape)
        weight = rng.gamma(9.0, 25.0, (samples, artists * each, 1))
        names = np.repeat([f"artist {place}" for place in range(artists)], each).tolist()
        board = group_of(score[..., np.newaxis], weight, track_meta={"artist": names})
        held = {}
        for cluster in (None, "artist"):
            found = board.mirflow.query(aggregate=kind, cluster=cluster, replicates=1000, ci=0.95)
            held[cluster] = float(((found["low"] <= 0.5) & (found["high"] >= 0.5)).mean())
        assert 0.93 < held["artist"] < 0.965
        assert held[None] < 0.9

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mean", "wcsr", "pooled"])
    def test_intervals_of_differences(self, kind):
        """Pairs of systems that find the same tracks hard, the second one better by 0.05, each with its own weights."""
        pairs, tracks = 800, 100
        rng = np.random.default_rng(13)
        hard = rng.normal(0, 0.15, (pairs, 1, tracks))
        score = 0.5 + hard + rng.normal(0, 0.1, (pairs, 2, tracks)) + np.array([[0.0], [0.05]])
        weight = rng.gamma(9.0, 25.0, (pairs, 1 if kind == "wcsr" else 2, tracks)) + np.zeros((pairs, 2, 1))
        held = []
        for place in range(pairs):
            board = group_of(score[place, ..., np.newaxis], weight[place, ..., np.newaxis])
            found = board.mirflow.compare(aggregate=kind, replicates=1000)
            held.append(found["low"].values[1, 0, 0] <= 0.05 <= found["high"].values[1, 0, 0])
        assert 0.925 < np.mean(held) < 0.97
