from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from mirflow.analysis.aggregate import ask
from mirflow.analysis.inference import compare, correct, friedman, intervals
from mirflow.analysis.inference.effects import effects
from mirflow.analysis.question import Question
from mirflow.errors import QueryError, UnknownNameError

from .worlds import KINDS, board_of, random_board, random_scores

NAN = np.nan


class TestCorrections:
    @pytest.mark.parametrize(("ours", "theirs"), [("holm", "holm"), ("bh", "fdr_bh")])
    @settings(max_examples=20)
    @given(p=arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)))
    def test_equal_those_of_statsmodels(self, ours, theirs, p):
        np.testing.assert_allclose(correct(p, ours), multipletests(p, method=theirs)[1], atol=1e-12)

    @pytest.mark.parametrize("method", ["holm", "bh", "none"])
    def test_what_is_no_comparison_does_not_count(self, method):
        p = np.array([NAN, 0.01, 0.04, NAN])
        found = correct(p, method)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(p))
        np.testing.assert_array_equal(found[1:3], correct(p[1:3], method))
        assert np.isnan(correct(np.array([NAN]), method)).all()

    def test_unknown(self):
        with pytest.raises(UnknownNameError, match="unknown correction 'hom'; did you mean 'holm'"):
            correct(np.zeros(2), "hom")


class TestEffects:
    score = np.random.default_rng(1).integers(0, 5, (3, 25)) / 4
    pairs = np.array([[0, 1], [2, 0]])

    def test_each_by_its_definition(self):
        found = effects(self.score, self.pairs)
        for place, (first, second) in enumerate(self.pairs):
            x, y = self.score[first], self.score[second]
            d = x - y
            assert found.wins[place] == (d > 0).sum()
            assert found.losses[place] == (d < 0).sum()
            assert found.ties[place] == (d == 0).sum()
            assert found.superiority[place] == pytest.approx(((d > 0) + 0.5 * (d == 0)).mean())
            assert found.dz[place] == pytest.approx(stats.ttest_rel(x, y).statistic / np.sqrt(25))
            rank = stats.rankdata(np.abs(d[d != 0]))
            assert found.rank_biserial[place] == pytest.approx((np.sign(d[d != 0]) * rank).sum() / rank.sum())
            assert found.cliffs_delta[place] == pytest.approx(np.sign(x[:, np.newaxis] - y).mean())

    def test_cliffs_delta_is_that_of_mann_and_whitneys_u(self):
        x, y = self.score[0], self.score[1]
        u = stats.mannwhitneyu(x, y).statistic
        assert effects(self.score, self.pairs).cliffs_delta[0] == pytest.approx(2 * u / 25**2 - 1)

    def test_where_lower_is_better_the_smaller_wins(self):
        usual, turned = effects(self.score, self.pairs), effects(self.score, self.pairs, lower_is_better=True)
        np.testing.assert_array_equal(usual.wins, turned.losses)
        np.testing.assert_array_equal(usual.dz, turned.dz)

    def test_equal_always_the_same_and_none(self):
        three = np.array([[0.5, 0.5], [0.25, 0.25], [0.5, 0.5]])
        found = effects(three, np.array([[0, 2], [0, 1]]))
        assert found.dz[0] == found.rank_biserial[0] == found.cliffs_delta[0] == 0
        assert np.isnan(found.dz[1])
        assert found.rank_biserial[1] == found.cliffs_delta[1] == 1
        none = effects(np.empty((2, 0)), np.array([[0, 1]]))
        assert np.isnan([none.dz, none.superiority, none.rank_biserial, none.cliffs_delta]).all()


class TestCompare:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_difference_is_that_of_the_figures(self, kind):
        board = random_board(3, 15, 2)
        found = compare(board, Question(aggregate=kind), replicates=200)
        plain = ask(board, Question(aggregate=kind)).value[..., 0]
        np.testing.assert_allclose(found.value, plain, atol=1e-15)
        upper = np.triu_indices(3, 1)
        expected = plain[upper[0]] - plain[upper[1]]
        np.testing.assert_allclose(found.arrays["difference"][upper], expected, atol=1e-14)

    def test_the_interval_is_that_of_paired_tracks(self):
        score, weight = random_scores(2, 20)
        weight[1] = weight[0]
        found = compare(board_of(score, weight))
        alone = intervals(board_of(score[:1] - score[1:], weight[:1]))
        assert found.arrays["low"][0, 1, 0] == pytest.approx(alone.low.item(), abs=1e-13)
        assert found.arrays["high"][0, 1, 0] == pytest.approx(alone.high.item(), abs=1e-13)

    def test_both_halves_tell_the_same(self):
        found = compare(random_board(4, 15, 2), replicates=200)
        one, other = np.tril_indices(4, -1)
        a = found.arrays
        for name in ("difference", "dz", "rank_biserial", "cliffs_delta"):
            np.testing.assert_array_equal(a[name][one, other], -a[name][other, one])
        for name in ("p", "p_adjusted", "n", "ties"):
            np.testing.assert_array_equal(a[name][one, other], a[name][other, one])
        np.testing.assert_array_equal(a["low"][one, other], -a["high"][other, one])
        np.testing.assert_array_equal(a["n"], a["wins"] + a["ties"] + a["wins"].transpose(1, 0, 2))
        np.testing.assert_array_equal(a["superiority"][one, other], 1 - a["superiority"][other, one])
        assert np.isnan(a["difference"][range(4), range(4)]).all()

    def test_corrections_are_over_the_pairs_of_a_metric(self):
        found = compare(random_board(4, 15, 2), correction="bh", replicates=200)
        upper = np.triu_indices(4, 1)
        for metric in range(2):
            expected = multipletests(found.arrays["p"][..., metric][upper], method="fdr_bh")[1]
            np.testing.assert_allclose(found.arrays["p_adjusted"][..., metric][upper], expected, atol=1e-12)

    def test_pairs_that_other_systems_do_not_concern(self):
        board = random_board(4, 30, 2)
        whole = compare(board, correction="none", replicates=200)
        pair = compare(board, Question(system=["S1", "S3"]), correction="none", replicates=200)
        for name, array in pair.arrays.items():
            np.testing.assert_allclose(array[0, 1], whole.arrays[name][1, 3], rtol=1e-12, err_msg=name)

    def test_by_default_on_the_tracks_that_all_have_with_skip_on_those_of_each_pair(self):
        score, weight = random_scores(3, 10)
        score[0, 0] = score[1, 3:5] = NAN
        board = board_of(score, weight)
        assert compare(board, replicates=50).arrays["n"][0, 1, 0] == 7
        skipping = compare(board, Question(missing="skip"), replicates=50)
        assert skipping.arrays["n"][..., 0].tolist() == [[0, 7, 9], [7, 0, 8], [9, 8, 0]]
        common = [f"t{i}" for i in range(1, 10)]
        alone = compare(board, Question(system=["S0", "S2"], tracks=common), replicates=50)
        for name in ("difference", "low", "high", "p"):
            expected = alone.arrays[name][0, 1, 0]
            assert skipping.arrays[name][0, 2, 0] == pytest.approx(expected, abs=1e-14), name
        assert compare(board, Question(missing="zero"), replicates=50).arrays["n"][0, 1, 0] == 10

    def test_units_are_compared_once_each(self):
        board = random_board(2, 12, track_meta={"fold": list("aabbbbccccdd")})
        found = compare(board, unit="fold", test="t", replicates=50)
        folds = ask(board, Question(by="fold")).value[:, 0]
        assert found.arrays["n"][0, 1, 0] == 4
        assert found.arrays["p"][0, 1, 0] == pytest.approx(stats.ttest_rel(*folds).pvalue, abs=1e-12)

    def test_the_better_comes_first_whichever_way_is_better(self):
        score = np.stack([np.full((9, 2), level) for level in (0.2, 0.8, 0.5)])
        score += np.random.default_rng(0).normal(0, 0.01, score.shape)
        found = compare(board_of(score, orientation=["higher", "lower"]), replicates=200)
        assert [found.ranked(metric) for metric in range(2)] == [[1, 2, 0], [0, 2, 1]]
        assert found.letters.T.tolist() == [["c", "a", "b"], ["a", "c", "b"]]
        assert found.arrays["wins"][1, 0].tolist() == [9, 0]

    def test_dataset(self):
        ds = compare(random_board(3, 9, 2), replicates=50, group="chord").to_dataset()
        assert ds["difference"].dims == ds["significant"].dims == ("system", "other", "metric")
        assert ds["letters"].dims == ds["value"].dims == ("system", "metric")
        assert ds["other"].values.tolist() == ds["system"].values.tolist()
        assert ds["test"].values.tolist() == ["permutation"] * 2
        assert ds.attrs["group"] == "chord"
        assert ds.attrs["unit_of_comparison"] == "track"
        picked = ds.sel(system="S0", other="S2", metric="root")
        assert picked["significant"].item() == (picked["p_adjusted"].item() < 0.05)

    def test_what_makes_no_sense(self):
        board = random_board(2, 9, track_meta={"genre": list("aaabbbccc")})
        with pytest.raises(QueryError, match="1 system to compare; at least two are needed"):
            compare(board, Question(system="S0"))
        with pytest.raises(QueryError, match="systems are compared on all tracks of a question"):
            compare(board, Question(by="genre"))
        with pytest.raises(UnknownNameError, match="unknown correction 'bonferoni'"):
            compare(board, correction="bonferoni")


class TestDegenerate:
    def test_a_system_without_a_figure_is_in_no_group(self):
        score = random_scores(3, 12)[0]
        score[1] = NAN
        found = compare(board_of(score), Question(missing="skip"), replicates=100)
        assert found.letters.ravel().tolist() == ["a", "", "a"]

    def test_infinite_scores(self):
        score = random_scores(3, 12)[0]
        score[0, 3] = score[1, 3] = np.inf
        score[0, 4] = score[1, 4] + 0.5
        found = compare(board_of(score), Question(aggregate="mean"), replicates=100).arrays
        assert [found["difference"][0, 2, 0], found["difference"][2, 0, 0]] == [np.inf, -np.inf]
        assert np.isnan([found[name][0, 1, 0] for name in ("difference", "low", "high", "p")]).all()
        assert found["ties"][0, 1, 0] == 1
        assert np.isfinite(found["rank_biserial"][0, 1:]).all()

    def test_one_track(self):
        found = compare(random_board(2, 1))
        assert found.arrays["n"][0, 1, 0] == 1
        assert found.arrays["p"][0, 1, 0] == 1
        assert np.isnan(found.arrays["low"][0, 1, 0])
        assert not found.significant.any()

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_track_in_common(self, kind):
        score = np.full((2, 4, 1), 0.5)
        score[0, :2] = score[1, 2:] = NAN
        found = compare(board_of(score), Question(aggregate=kind))
        assert found.arrays["n"].sum() == 0
        assert np.isnan([found.arrays[name] for name in ("difference", "p", "p_adjusted", "superiority")]).all()
        assert found.letters.ravel().tolist() == ["", ""]

    @pytest.mark.parametrize("kind", KINDS[:4])
    def test_all_equal(self, kind):
        found = compare(board_of(np.full((3, 8, 1), 0.5), random_scores(1, 8)[1]), Question(aggregate=kind))
        assert found.arrays["difference"][0, 1, 0] == 0
        assert found.arrays["low"][0, 1, 0] == found.arrays["high"][0, 1, 0] == 0
        assert found.arrays["p"][0, 1, 0] == 1
        assert found.letters.ravel().tolist() == ["a", "a", "a"]

    @given(
        st.integers(1, 9), st.sampled_from(KINDS), st.integers(0, 2**32), st.sampled_from(["skip", "common", "zero"])
    )
    def test_whatever_the_scores(self, tracks, kind, seed, missing):
        rng = np.random.default_rng(seed)
        score = rng.choice([0.0, 0.25, 1.0, NAN], (3, tracks, 1), p=[0.3, 0.3, 0.3, 0.1])
        board = board_of(score, rng.choice([0.0, 1.0, 7.0], (3, tracks, 1)))
        found = compare(board, Question(aggregate=kind, missing=missing), replicates=40).arrays
        p = found["p"][~np.isnan(found["p"])]
        assert ((p > 0) & (p <= 1)).all()
        both = ~np.isnan(found["low"])
        assert (found["low"][both] <= found["high"][both]).all()


class TestTies:
    def test_the_same_seconds_added_up_in_another_order_are_a_tie(self):
        one, other = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
        assert one != other
        score = np.array([[[one], [other], [one]], [[other], [one], [one]], [[other], [other], [other]]])
        found = compare(board_of(score))
        assert found.arrays["ties"][0, 1, 0] == 3
        assert found.arrays["superiority"][0, 1, 0] == 0.5
        assert found.arrays["rank_biserial"][0, 1, 0] == found.arrays["cliffs_delta"][0, 1, 0] == 0
        assert found.arrays["dz"][0, 1, 0] == 0
        for test in ("permutation", "wilcoxon", "t"):
            assert compare(board_of(score), Question(aggregate="mean"), test=test).arrays["p"][0, 1, 0] == 1
        ranks = friedman(board_of(score)).ranks
        assert ranks.mean_rank.ravel().tolist() == [2, 2, 2]
        assert ranks.statistic.item() == 0
