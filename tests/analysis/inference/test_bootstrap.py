from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mirflow.analysis.aggregation import ask, reduce
from mirflow.analysis.inference import compare, intervals
from mirflow.analysis.inference.confidence_intervals import draw, figures_of
from mirflow.analysis.inference.resampling import Resampling, bounds
from mirflow.analysis.inference.sample import sample_of, select_numbers
from mirflow.analysis.selection import Question
from mirflow.errors import QueryError, UnknownNameError

from .worlds import KINDS, board_of, random_board, random_scores

ARTISTS = [*"aabbbcd", "", ""]


def replicates_of(board, kind, cluster=None, replicates=300):
    """A sample, its replicates (replicates,), and the counts that they were made of."""
    how = Resampling.of(0.95, "bca", replicates, 7)
    sample = sample_of(select_numbers(board, Question(aggregate=kind)), cluster=cluster)
    figures = figures_of(sample, [(0, 0)])
    return sample, draw(figures, 1, how)[0], np.concatenate(list(how.counts(figures.clusters)))


class TestReplicates:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("cluster", [None, "artist"])
    def test_each_is_the_aggregate_of_a_collection_with_tracks_repeated(self, kind, cluster):
        board = random_board(1, 9, track_meta={"artist": ARTISTS})
        sample, found, counts = replicates_of(board, kind, cluster)
        for replicate, count in zip(found, counts, strict=True):
            tracks = np.repeat(np.arange(9), count[sample.cluster].astype(int))
            part = sample.take(tracks)
            expected = reduce(part.score, part.weight, part.duration, kind, part.included)
            np.testing.assert_allclose(replicate, expected.item(), rtol=1e-12)

    def test_tracks_of_a_cluster_come_together_and_those_without_one_alone(self):
        board = random_board(1, 9, track_meta={"artist": ARTISTS})
        sample, _, counts = replicates_of(board, "mean", "artist")
        assert sample.cluster.tolist() == [0, 0, 1, 1, 1, 2, 3, 4, 5]
        assert (counts.sum(axis=1) == 6).all()

    def test_samples_of_the_same_size_are_drawn_the_same_way(self):
        how = Resampling.of(0.95, "bca", 300, 7)
        first, again, other = (np.concatenate(list(how.counts(units))) for units in (9, 9, 8))
        np.testing.assert_array_equal(first, again)
        assert (first.sum(axis=1) == 9).all()
        assert other.shape == (300, 8)

    def test_chunks_do_not_change_what_is_drawn(self, monkeypatch):
        board = random_board(3, 40, 2)
        whole = intervals(board, replicates=50)
        monkeypatch.setattr("mirflow.analysis.inference.resampling._CHUNK", 100)
        parts = intervals(board, replicates=50)
        np.testing.assert_allclose(parts.low, whole.low, rtol=1e-13)


class TestAgainstScipy:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(("method", "theirs"), [("bca", "BCa"), ("percentile", "percentile")])
    def test_ends_of_the_interval_from_the_same_replicates(self, kind, method, theirs):
        board = random_board(1, 30, seed=3)
        sample, replicates, _ = replicates_of(board, kind, replicates=2000)
        part = (sample.score[0, :, 0], sample.weight[0, :, 0], sample.duration)

        def figure(score, weight, duration):
            above = {"mean": 1.0, "wcsr_tn": duration}.get(kind, weight)
            below = {"mean": np.ones_like(score), "pooled": weight, "wcsr": weight}.get(kind, duration)
            return np.median(score) if kind == "median" else (score * above).sum() / below.sum()

        drawn = SimpleNamespace(bootstrap_distribution=replicates)
        same = {"paired": True, "vectorized": False, "n_resamples": 0, "bootstrap_result": drawn}
        expected = stats.bootstrap(part, figure, method=theirs, confidence_level=0.9, **same).confidence_interval
        found = intervals(board, Question(aggregate=kind), method=method, level=0.9, replicates=2000, rng=7)
        assert found.low.item() == pytest.approx(expected.low, abs=1e-12)
        assert found.high.item() == pytest.approx(expected.high, abs=1e-12)


class TestAnswer:
    def test_values_and_counts_are_those_of_a_plain_question(self):
        board = random_board(3, 18, 2, track_meta={"genre": list("aaaaaabbbbbbcccccc")})
        question = Question(by="genre")
        found, plain = intervals(board, question, replicates=200), ask(board, question)
        np.testing.assert_array_equal(found.value, plain.value)
        np.testing.assert_array_equal(found.counts["n"], plain.counts["n"])
        assert (found.low <= found.value).all()
        assert (found.value <= found.high).all()

    def test_names_its_level_exactly(self):
        assert intervals(random_board(1, 6), level=0.9999999, replicates=50).attrs["level"] == "0.9999999"

    def test_dataset(self):
        ds = intervals(random_board(2, 6), Question(), replicates=100, cluster="track").to_dataset()
        assert ds["low"].dims == ds["value"].dims
        assert {"level": "0.95", "method": "bca", "replicates": "100", "unit": "track"}.items() <= ds.attrs.items()

    def test_groups_of_tracks_are_resampled_alone(self):
        board = random_board(2, 12, track_meta={"genre": list("aaaaaabbbbbb")})
        grouped = intervals(board, Question(by="genre"), replicates=200)
        alone = intervals(board, Question(tracks=[f"t{i}" for i in range(6)]), replicates=200)
        np.testing.assert_array_equal(grouped.low[..., 0], alone.low[..., 0])
        np.testing.assert_array_equal(grouped.high[..., 0], alone.high[..., 0])

    def test_an_interval_does_not_depend_on_what_else_is_asked(self):
        score, weight = random_scores(3, 20, 2)
        score[1, 4] = np.nan
        board = board_of(score, weight)
        whole = intervals(board, Question(missing="skip"), replicates=200)
        for system, name in enumerate(board.systems):
            alone = intervals(board, Question("root", system=name, missing="skip"), replicates=200)
            assert alone.low.item() == pytest.approx(whole.low[system, 1, 0], abs=1e-14)

    def test_missing_ones_are_left_out_or_count_as_zero(self):
        score, weight = random_scores(1, 20)
        score[0, 5:8] = np.nan
        board = board_of(score, weight)
        rest = board_of(np.delete(score, range(5, 8), axis=1), np.delete(weight, range(5, 8), axis=1))
        assert intervals(board, Question(missing="skip")).low == pytest.approx(intervals(rest).low, abs=1e-14)
        zero = intervals(board_of(np.nan_to_num(score), weight))
        assert intervals(board, Question(missing="zero")).low == pytest.approx(zero.low, abs=1e-14)

    def test_the_seed_decides(self):
        board = random_board(1, 20)
        first, again, other = (intervals(board, rng=rng, replicates=200).low.item() for rng in (1, 1, 2))
        assert first == again != other
        generators = [intervals(board, rng=np.random.default_rng(5), replicates=200).low.item() for _ in range(2)]
        assert generators[0] == generators[1]


class TestUnits:
    def test_each_value_of_the_unit_counts_once(self):
        score, weight = random_scores(2, 9)
        board = board_of(score, weight, track_meta={"fold": list("aabbbbccc")})
        found = intervals(board, Question(aggregate="wcsr"), unit="fold")
        folds = [ask(board, Question(aggregate="wcsr", by="fold")).value[:, 0, place] for place in range(3)]
        np.testing.assert_allclose(found.value[:, 0, 0], np.mean(folds, axis=0), atol=1e-15)
        means = board_of(np.transpose(folds)[..., np.newaxis], standard=["mean"])
        np.testing.assert_allclose(found.low, intervals(means).low, atol=1e-15)

    def test_a_track_without_a_value_is_an_error(self):
        board = random_board(2, 3, track_meta={"fold": ["a", "b", ""]})
        with pytest.raises(QueryError, match="unit 'fold': 1 track without a value of it, 't2' among them"):
            intervals(board, unit="fold")

    def test_units_and_clusters_exclude_each_other(self):
        with pytest.raises(QueryError, match="choose cluster 'artist' or unit 'fold', not both"):
            intervals(random_board(2, 3), unit="fold", cluster="artist")

    def test_unknown_ones(self):
        for words in ({"unit": "gnre"}, {"cluster": "gnre"}):
            with pytest.raises(UnknownNameError, match="unknown track coordinate 'gnre'; did you mean 'genre'"):
                intervals(random_board(2, 3, track_meta={"genre": list("aab")}), **words)


class TestDegenerate:
    def test_a_median_that_no_single_track_moves_has_an_interval_all_the_same(self):
        score = np.array([0, 0, 0.1, 0.5, 0.5, 0.5, 0.5, 0.9, 1, 1])
        found = intervals(board_of(score[np.newaxis, :, np.newaxis]), Question(aggregate="median"), method="percentile")
        expected = stats.bootstrap((score,), np.median, method="percentile", rng=0).confidence_interval
        assert (found.low.item(), found.high.item()) == (expected.low, expected.high) == (0.1, 0.9)

    def test_infinite_scores_have_a_median_but_no_interval_of_a_mean(self):
        score = np.random.default_rng(0).random((2, 9, 1))
        score[0, 3] = np.inf
        board = board_of(score)
        mean, median = (intervals(board, Question(aggregate=kind), replicates=500) for kind in ("mean", "median"))
        assert mean.value[0].item() == np.inf
        assert np.isnan([mean.low[0].item(), mean.high[0].item()]).all()
        assert mean.low[1].item() < mean.value[1].item() < mean.high[1].item()
        assert median.low[0].item() < median.value[0].item() < median.high[0].item() < np.inf
        none = board_of(score, np.isfinite(score) * 9.0)
        assert np.isfinite(intervals(none, Question(aggregate="pooled"), replicates=500).high).all()

    def test_beyond_the_pole_of_the_acceleration_ends_stay_in_order(self):
        how = Resampling.of(0.9999, "bca", 2000, 0)
        replicates = np.random.default_rng(0).normal(0, 1, (2, 2000))
        low, high = bounds(replicates, np.array([9.0, -9.0]), np.array([0.4, -0.4]), how)
        assert (low <= high).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_track_has_no_interval(self, kind):
        found = intervals(random_board(2, 1), Question(aggregate=kind))
        assert np.isnan([found.low, found.high]).all()
        assert not np.isnan(found.value).any()

    def test_one_cluster_has_none_either(self):
        found = intervals(random_board(1, 4, track_meta={"artist": list("aaaa")}), cluster="artist")
        assert np.isnan([found.low, found.high]).all()

    @pytest.mark.parametrize("kind", KINDS[:4])
    def test_equal_scores_have_an_interval_without_width(self, kind):
        score = np.full((1, 7, 1), 0.7)
        found = intervals(board_of(score, random_scores(1, 7)[1]), Question(aggregate=kind))
        assert found.low.item() == found.value.item() == found.high.item()

    def test_nothing_that_weighs(self):
        found = intervals(board_of(np.zeros((1, 4, 1)), 0.0))
        assert np.isnan([found.value, found.low, found.high]).all()

    def test_replicates_without_weight_are_left_out(self):
        weight = np.zeros((1, 6, 1))
        weight[0, :2] = 1.0
        found = intervals(board_of([[[0.2], [0.6], [0.0], [0.0], [0.0], [0.0]]], weight))
        assert [found.low.item(), found.high.item()] == pytest.approx([0.2, 0.6])

    @pytest.mark.parametrize(("level", "least"), [(0.9, 5), (0.95, 6), (0.99, 8)])
    def test_few_tracks_have_no_interval(self, level, least):
        few, enough = (intervals(random_board(1, n), level=level, replicates=200) for n in (least - 1, least))
        assert np.isnan([few.low, few.high]).all()
        assert np.isfinite([few.value, enough.low, enough.high]).all()
        assert enough.attrs["least_units"] == str(least)
        artists = random_board(1, 40, track_meta={"artist": [str(n % (least - 1)) for n in range(40)]})
        assert np.isnan(intervals(artists, level=level, cluster="artist").low).all()

    def test_no_track_at_all(self):
        found = intervals(random_board(2, 3), Question(tracks=[]))
        assert np.isnan([found.value, found.low, found.high]).all()

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ({"level": 95}, "level 95: a confidence level lies between 0 and 1"),
            ({"level": float("nan")}, "level nan"),
            ({"replicates": 0}, "replicates 0: at least one is needed"),
            ({"rng": -1}, "rng -1: a seed is not negative"),
            ({"method": "bcaa"}, "unknown interval method 'bcaa'; did you mean 'bca'"),
        ],
    )
    def test_what_makes_no_sense(self, words, message):
        with pytest.raises((QueryError, UnknownNameError), match=message):
            intervals(random_board(2, 3), **words)

    @given(st.integers(1, 12), st.sampled_from(KINDS), st.integers(0, 2**32), st.sampled_from(["bca", "percentile"]))
    def test_whatever_the_scores_the_ends_lie_within_their_range(self, tracks, kind, seed, method):
        rng = np.random.default_rng(seed)
        score = rng.choice([0.0, 0.25, 1.0, np.nan], (2, tracks, 1), p=[0.3, 0.3, 0.3, 0.1])
        board = board_of(score, rng.choice([0.0, 1.0, 7.0], (2, tracks, 1)))
        found = intervals(board, Question(aggregate=kind), replicates=60, method=method, rng=seed)
        known = ~np.isnan(found.low)
        assert (known == ~np.isnan(found.high)).all()
        assert (found.low[known] >= -1e-15).all()
        assert (found.high[known] <= 1 + 1e-15).all()
        assert (found.low[known] <= found.high[known]).all()


class TestCoverage:
    """Intervals of samples from a known population: each simulated sample is a system of one evaluation."""

    @staticmethod
    def share_that_hold(kind, method, samples, tracks, replicates):
        rng = np.random.default_rng(11)
        weight = rng.gamma(9.0, 25.0, (samples, tracks, 1))
        score = np.clip(rng.beta(6, 2, weight.shape), 0, 1)
        truth = stats.beta(6, 2).median() if kind == "median" else 0.75
        found = intervals(
            board_of(score, weight, duration=1.0), Question(aggregate=kind), method=method, replicates=replicates
        )
        return float(((found.low <= truth) & (truth <= found.high)).mean())

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
        board = board_of(score[..., np.newaxis], weight, track_meta={"artist": names})
        held = {}
        for cluster in (None, "artist"):
            found = intervals(board, Question(aggregate=kind), cluster=cluster, replicates=1000)
            held[cluster] = float(((found.low <= 0.5) & (found.high >= 0.5)).mean())
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
            board = board_of(score[place, ..., np.newaxis], weight[place, ..., np.newaxis])
            found = compare(board, Question(aggregate=kind), replicates=1000).arrays
            held.append(found["low"][1, 0, 0] <= 0.05 <= found["high"][1, 0, 0])
        assert 0.925 < np.mean(held) < 0.97
