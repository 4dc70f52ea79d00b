from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from mirflow.analysis.aggregation import reduce
from mirflow.analysis.inference.paired import choose_tests, p_values
from mirflow.analysis.inference.resampling import Resampling
from mirflow.analysis.inference.sample import sample_of, select_numbers
from mirflow.analysis.selection import Question
from mirflow.errors import QueryError, UnknownNameError

from .worlds import KINDS, board_of, random_board

EXACT = Resampling.of(0.95, "bca", 10_000, 0)
ALL_PAIRS = np.array(list(combinations(range(3), 2)))


def sample_from(board, kind="mean", cluster=None):
    return sample_of(select_numbers(board, Question(aggregate=kind)), cluster=cluster)


def swapped_by_brute_force(sample, kind, first, second):
    """The p-value from every swap of two systems' clusters, each figure computed anew."""
    found = []
    for swaps in product([False, True], repeat=int(sample.cluster.max()) + 1):
        swap = np.array(swaps)[sample.cluster][:, np.newaxis]
        sides = []
        for one, other in ((first, second), (second, first)):
            score = np.where(swap, sample.score[other], sample.score[one])
            weight = np.where(swap, sample.weight[other], sample.weight[one])
            every = np.ones((1, *score.shape), dtype=bool)
            sides.append(reduce(score[np.newaxis], weight[np.newaxis], sample.duration, kind, every).item())
        found.append(abs(sides[0] - sides[1]))
    known = np.array(found)[~np.isnan(found)]
    return np.mean(known >= found[0] - 1e-12)


class TestPermutation:
    @pytest.mark.parametrize("kind", KINDS)
    def test_few_units_are_swapped_in_every_way(self, kind):
        sample = sample_from(random_board(3, 7, seed=5), kind)
        found = p_values("permutation", sample, 0, ALL_PAIRS, EXACT)
        expected = [swapped_by_brute_force(sample, kind, *pair) for pair in ALL_PAIRS]
        np.testing.assert_allclose(found, expected, atol=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_clusters_are_swapped_as_a_whole(self, kind):
        board = random_board(3, 9, seed=6, track_meta={"artist": list("aabbbcdde")})
        sample = sample_from(board, kind, "artist")
        found = p_values("permutation", sample, 0, ALL_PAIRS, EXACT)
        expected = [swapped_by_brute_force(sample, kind, *pair) for pair in ALL_PAIRS]
        np.testing.assert_allclose(found, expected, atol=1e-12)

    @pytest.mark.parametrize("seed", range(5))
    def test_swaps_after_which_nothing_weighs_are_left_out(self, seed):
        rng = np.random.default_rng(seed)
        score, weight = rng.random((3, 6, 1)), rng.choice([0.0, 0.1, 0.7], (3, 6, 1), p=[0.8, 0.1, 0.1])
        weight[:, 0] = [[0.3], [0.0], [0.6]]
        weight[1, 1] = 0.2
        sample = sample_from(board_of(score, weight), "pooled")
        found = p_values("permutation", sample, 0, ALL_PAIRS, EXACT)
        expected = [swapped_by_brute_force(sample, "pooled", *pair) for pair in ALL_PAIRS]
        np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_the_mean_is_scipys_sign_flip_test(self):
        sample = sample_from(random_board(2, 12, seed=8))
        difference = sample.score[0, :, 0] - sample.score[1, :, 0]
        theirs = stats.permutation_test((difference,), np.mean, permutation_type="samples", n_resamples=np.inf)
        ours = p_values("permutation", sample, 0, np.array([[0, 1]]), EXACT)
        assert ours.item() == pytest.approx(theirs.pvalue, abs=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_random_swaps_come_near_to_all_swaps(self, kind):
        sample = sample_from(random_board(3, 13, seed=9), kind)
        exact = p_values("permutation", sample, 0, ALL_PAIRS, EXACT)
        few = Resampling.of(0.95, "bca", 4000, 3)
        random = p_values("permutation", sample, 0, ALL_PAIRS, few)
        assert not np.array_equal(random, exact)
        np.testing.assert_allclose(random, exact, atol=4 * np.sqrt(0.25 / 4000))

    def test_the_smallest_p_of_random_swaps_is_not_zero(self):
        score = np.stack([np.full((60, 1), 0.9), np.full((60, 1), 0.1)])
        found = p_values("permutation", sample_from(board_of(score)), 0, np.array([[0, 1]]), EXACT)
        assert found.item() == 1 / 10_001

    def test_chunks_do_not_change_what_is_swapped(self, monkeypatch):
        sample = sample_from(random_board(3, 45), "wcsr")
        few = Resampling.of(0.95, "bca", 200, 3)
        whole = p_values("permutation", sample, 0, ALL_PAIRS, few)
        monkeypatch.setattr("mirflow.analysis.inference.resampling._CHUNK", 300)
        np.testing.assert_array_equal(p_values("permutation", sample, 0, ALL_PAIRS, few), whole)

    def test_other_pairs_do_not_matter(self):
        sample = sample_from(random_board(4, 40), "wcsr")
        pairs = np.array(list(combinations(range(4), 2)))
        whole = p_values("permutation", sample, 0, pairs, EXACT)
        alone = [p_values("permutation", sample, 0, pairs[[place]], EXACT).item() for place in range(6)]
        np.testing.assert_array_equal(whole, alone)


class TestByUnits:
    def test_wilcoxon_of_a_pair_does_not_depend_on_ties_of_others(self):
        score = np.random.default_rng(1).random((3, 30, 1))
        score[2] = score[0]
        score[2, :5] += 0.1
        found = p_values("wilcoxon", sample_from(board_of(score)), 0, ALL_PAIRS, EXACT)
        assert found[0] == stats.wilcoxon(score[0, :, 0], score[1, :, 0]).pvalue

    @pytest.mark.parametrize("tracks", [6, 30, 80])
    def test_wilcoxon_and_student_are_scipys(self, tracks):
        sample = sample_from(random_board(3, tracks, seed=4))
        for place, (first, second) in enumerate(ALL_PAIRS):
            pair = sample.score[first, :, 0], sample.score[second, :, 0]
            found = {test: p_values(test, sample, 0, ALL_PAIRS, EXACT)[place] for test in ("wilcoxon", "t")}
            assert found["wilcoxon"] == pytest.approx(stats.wilcoxon(*pair).pvalue, abs=1e-12)
            assert found["t"] == pytest.approx(stats.ttest_rel(*pair).pvalue, abs=1e-12)

    def test_equal_tracks_are_left_out_as_wilcoxon_did(self):
        score = np.random.default_rng(0).integers(0, 4, (2, 40, 1)) / 4
        found = p_values("wilcoxon", sample_from(board_of(score)), 0, np.array([[0, 1]]), EXACT)
        assert found.item() == pytest.approx(stats.wilcoxon(score[0, :, 0], score[1, :, 0]).pvalue, abs=1e-12)


class TestDegenerate:
    def test_of_infinite_means_nothing_can_be_said(self):
        score = np.random.default_rng(0).random((3, 9, 1))
        score[:2, 3] = np.inf
        sample = sample_from(board_of(score))
        found = {test: p_values(test, sample, 0, ALL_PAIRS, EXACT) for test in ("permutation", "t", "wilcoxon")}
        assert np.isnan(found["permutation"]).all()
        assert np.isnan(found["t"]).tolist() == [False, True, True]
        ranks = np.clip(score, 0, 9)[..., 0]
        assert found["wilcoxon"][1] == pytest.approx(stats.wilcoxon(ranks[0], ranks[2]).pvalue)
        median = p_values("permutation", sample_from(board_of(score), "median"), 0, ALL_PAIRS, EXACT)
        assert np.isfinite(median).all()

    @pytest.mark.parametrize("test", ["permutation", "wilcoxon", "t"])
    def test_equal_systems_do_not_differ(self, test):
        score = np.repeat(np.random.default_rng(0).random((1, 20, 1)), 2, axis=0)
        assert p_values(test, sample_from(board_of(score)), 0, np.array([[0, 1]]), EXACT).item() == 1

    def test_one_track(self):
        sample = sample_from(board_of([[[0.1]], [[0.9]]]))
        found = {test: p_values(test, sample, 0, np.array([[0, 1]]), EXACT).item() for test in ("permutation", "t")}
        assert found["permutation"] == 1
        assert np.isnan(found["t"])

    def test_a_difference_that_is_always_the_same_leaves_student_no_doubt(self):
        sample = sample_from(board_of([[[0.5]] * 4, [[0.25]] * 4]))
        assert p_values("t", sample, 0, np.array([[0, 1]]), EXACT).item() == 0

    def test_no_weight_at_all(self):
        sample = sample_from(board_of(np.random.default_rng(0).random((2, 5, 1)), 0.0), "wcsr")
        assert np.isnan(p_values("permutation", sample, 0, np.array([[0, 1]]), EXACT)).all()


class TestChoice:
    def test_auto_is_the_test_of_the_figure_itself(self):
        assert choose_tests("auto", ["wcsr", "median"], ["majmin", "f"], "artist") == ["permutation"] * 2

    def test_tests_of_single_tracks_are_refused_for_other_figures(self):
        for test, kind in (("wilcoxon", "wcsr"), ("t", "pooled"), ("t", "median")):
            with pytest.raises(QueryError, match=f"test '{test}' compares .* and not the {kind} of 'majmin'"):
                choose_tests(test, [kind], ["majmin"], None)
        assert choose_tests("wilcoxon", ["mean", "median"], ["a", "b"], None) == ["wilcoxon"] * 2

    def test_tests_of_independent_tracks_know_no_clusters(self):
        with pytest.raises(QueryError, match="takes all tracks as independent"):
            choose_tests("t", ["mean"], ["majmin"], "artist")

    def test_unknown(self):
        with pytest.raises(UnknownNameError, match="unknown test 'wilcoxn'; did you mean 'wilcoxon'"):
            choose_tests("wilcoxn", ["mean"], ["majmin"], None)


class TestSize:
    """How often tests find a difference where there is none: each simulated pair is two systems of one evaluation."""

    @staticmethod
    def share_rejected(test, kind, pairs, tracks, replicates):
        rng = np.random.default_rng(2)
        weight = np.repeat(rng.gamma(4.0, 60.0, (pairs, tracks, 1)), 2, axis=0)
        common = np.repeat(rng.normal(0, 0.1, (pairs, tracks, 1)), 2, axis=0)
        score = 0.5 + common + rng.normal(0, 0.1, weight.shape)
        sample = sample_from(board_of(score, weight), kind)
        two = np.arange(2 * pairs).reshape(-1, 2)
        found = p_values(test, sample, 0, two, Resampling.of(0.95, "bca", replicates, 0))
        return float((found < 0.05).mean())

    @pytest.mark.parametrize(
        ("test", "kind"), [("permutation", "wcsr"), ("permutation", "mean"), ("wilcoxon", "mean"), ("t", "mean")]
    )
    def test_nominal(self, test, kind):
        assert 0.03 < self.share_rejected(test, kind, 1000, 40, 999) < 0.07

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["wcsr", "median"])
    def test_nominal_more_closely(self, kind):
        pairs = 1000 if kind == "median" else 8000
        slack = 3 * np.sqrt(0.05 * 0.95 / pairs)
        assert abs(self.share_rejected("permutation", kind, pairs, 60, 1999) - 0.05) < slack

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["wcsr", "mean"])
    def test_clusters_keep_it_where_tracks_are_alike(self, kind):
        """Better on one track of an artist is better on all of them: swapped one by one, far too many differ."""
        pairs, artists, each = 1500, 30, 4
        rng = np.random.default_rng(4)
        taste = np.repeat(rng.normal(0, 0.1, (2 * pairs, artists)), each, axis=1)
        score = 0.5 + taste + rng.normal(0, 0.1, taste.shape)
        weight = np.repeat(rng.gamma(9.0, 25.0, (pairs, artists * each, 1)), 2, axis=0)
        names = np.repeat([f"artist {place}" for place in range(artists)], each).tolist()
        board, two = board_of(score[..., np.newaxis], weight, track_meta={"artist": names}), np.arange(2 * pairs)
        how = Resampling.of(0.95, "bca", 999, 0)
        rejected = {}
        for cluster in (None, "artist"):
            found = p_values("permutation", sample_from(board, kind, cluster), 0, two.reshape(-1, 2), how)
            rejected[cluster] = float((found < 0.05).mean())
        assert abs(rejected["artist"] - 0.05) < 3 * np.sqrt(0.05 * 0.95 / pairs)
        assert rejected[None] > 0.15
