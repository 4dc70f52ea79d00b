from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from mirflow.analysis.aggregation import ask
from mirflow.analysis.inference import compare, correct, friedman, intervals, resampling
from mirflow.analysis.inference.paired import effects
from mirflow.analysis.selection import Question
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

    def test_by_default_the_test_is_of_permutations_with_simultaneous_p_values(self):
        board = random_board(4, 15, 2)
        found, named = compare(board, replicates=200), compare(board, correction="max-t", replicates=200)
        np.testing.assert_array_equal(found.arrays["p_adjusted"], named.arrays["p_adjusted"])
        assert found.attrs["correction"] == "max-t"
        assert found.tested(0) == "permutation test, max-T, n = 15"
        assert compare(board, Question(aggregate="mean"), test="t", replicates=9).attrs["correction"] == "holm"
        with pytest.raises(QueryError, match="'max-t' is read off permutations; choose test permutation"):
            compare(board, Question(aggregate="mean"), test="t", correction="max-t")

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


def stepped_down(score, signs):
    """Westfall and Young's step-down p-values of all pairs of systems, by Student's t, as they define it."""
    pairs = list(combinations(range(len(score)), 2))
    difference = np.stack([score[one] - score[other] for one, other in pairs])
    with np.errstate(divide="ignore"):
        t = np.stack([np.abs(stats.ttest_1samp(difference * one, 0, axis=1).statistic) for one in signs])
    observed = np.abs(stats.ttest_1samp(difference, 0, axis=1).statistic)
    adjusted, smallest = np.empty(len(pairs)), 0.0
    for place in np.argsort(-observed):
        left = observed <= observed[place] + 1e-9
        smallest = max(smallest, (t[:, left].max(axis=1) >= observed[place] - 1e-9).mean())
        adjusted[place] = smallest
    return adjusted


class TestMaxT:
    @pytest.mark.parametrize("seed", range(4))
    def test_equals_the_definition_by_students_t(self, seed):
        score = random_scores(4, 9, seed=seed)[0] + np.linspace(0, 0.3, 4)[:, np.newaxis, np.newaxis]
        found = compare(board_of(score, standard=["mean"]), sizes=False)
        signs = np.array(list(product([1, -1], repeat=9)))
        upper = np.triu_indices(4, 1)
        expected = stepped_down(score[..., 0], signs)
        np.testing.assert_allclose(found.arrays["p_adjusted"][upper][:, 0], expected, atol=1e-12)

    def test_two_systems_need_no_correction_and_have_scipys_p_value(self):
        score = random_scores(2, 10, seed=3)[0]
        found = compare(board_of(score, standard=["mean"])).arrays
        both = score[0, :, 0], score[1, :, 0]
        scipys = stats.permutation_test(
            both, lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
        )
        assert found["p_adjusted"][0, 1, 0] == found["p"][0, 1, 0] == pytest.approx(scipys.pvalue, abs=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_lies_between_the_p_value_and_bonferronis(self, kind):
        found = compare(random_board(5, 12, seed=2), Question(aggregate=kind), sizes=False).arrays
        upper = np.triu_indices(5, 1)
        p, adjusted = found["p"][upper], found["p_adjusted"][upper]
        assert (p <= adjusted).all()
        assert (adjusted <= np.minimum(10 * p, 1) + 1e-12).all()

    def test_the_same_however_the_replicates_are_cut(self, monkeypatch):
        board = random_board(4, 40)
        whole = compare(board, replicates=300, sizes=False).arrays["p_adjusted"]
        monkeypatch.setattr(resampling, "_CHUNK", 400)
        np.testing.assert_array_equal(compare(board, replicates=300, sizes=False).arrays["p_adjusted"], whole)

    def test_pairs_with_different_tracks_are_one_family(self):
        score = random_scores(4, 14, seed=5)[0]
        score[0, 0] = score[1, 3:5] = NAN
        found = compare(board_of(score), Question(missing="skip"), sizes=False).arrays
        upper = np.triu_indices(4, 1)
        p, adjusted = found["p"][upper][:, 0], found["p_adjusted"][upper][:, 0]
        assert (p <= adjusted).all()
        assert (adjusted <= np.minimum(6 * p, 1) + 0.02).all()
        assert adjusted.min() > p.min()

    @pytest.mark.parametrize(("units", "told"), [(5, False), (6, True)])
    def test_few_units_cannot_tell_any_systems_apart_and_have_no_letters(self, units, told):
        score = np.stack([np.linspace(0.1, 0.2, units), np.linspace(0.8, 0.95, units)])[..., np.newaxis]
        found = compare(board_of(score, standard=["mean"]))
        assert found.can_tell(0) == told
        assert found.least[0] == found.arrays["p_adjusted"][0, 1, 0] == 2.0 ** (1 - units)
        assert found.letters[:, 0].tolist() == (["b", "a"] if told else ["", ""])

    def test_holm_of_many_pairs_needs_more_units(self):
        board = random_board(6, 8)
        assert compare(board, sizes=False).can_tell(0)
        assert not compare(board, correction="holm", sizes=False).can_tell(0)

    @pytest.mark.slow
    @pytest.mark.parametrize(("kind", "skewed"), [("mean", False), ("mean", True), ("wcsr", True), ("median", False)])
    def test_without_a_difference_one_is_found_in_five_percent_of_the_cases(self, kind, skewed):
        rng, found = np.random.default_rng(11), 0
        for _ in range(400):
            hard = rng.normal(0, 1, (1, 40, 1))
            noise = rng.exponential(1, (6, 40, 1)) if skewed else rng.normal(0, 1, (6, 40, 1))
            weight = np.broadcast_to(rng.uniform(100, 300, (1, 40, 1)), noise.shape)
            board = board_of(hard + noise, weight)
            found += compare(board, Question(aggregate=kind), replicates=400, sizes=False).significant.any()
        # 0.05 within three standard errors of 400 draws; a median's swaps are few different ones, and so are its p.
        assert (0.018 if kind != "median" else 0.0) <= found / 400 <= 0.083

    @pytest.mark.slow
    def test_with_a_difference_the_pairs_without_one_are_still_in_five_percent(self):
        rng, found = np.random.default_rng(12), 0
        spread = np.array([0.3, 0.3, 0.3, 3.0, 3.0])[:, np.newaxis, np.newaxis]
        mean = np.array([0.0, 0.0, 0.0, 2.0, 2.0])[:, np.newaxis, np.newaxis]
        for _ in range(400):
            board = board_of(mean + spread * rng.normal(0, 1, (5, 40, 1)), standard=["mean"])
            told = compare(board, replicates=400, sizes=False).significant[..., 0]
            found += told[:3, :3].any() or told[3, 4]
        assert 0.018 <= found / 400 <= 0.083


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
