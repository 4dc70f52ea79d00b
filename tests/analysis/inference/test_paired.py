"""Comparisons of every two systems: tests, corrections, intervals of differences, effect sizes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from mirflow.analysis.inference import compare, comparisons, correct, paired, permutation, resampling
from mirflow.analysis.inference.comparisons import gaps_to_best
from mirflow.analysis.inference.paired import effects
from mirflow.analysis.inference.paired import test_pairs as pairs_tested
from mirflow.analysis.inference.permutation import count_extremes, swap_scores
from mirflow.analysis.inference.resampling import Resampling
from mirflow.analysis.inference.sample import Sample
from mirflow.errors import QueryError, UnknownNameError

from .worlds import KINDS, compared, group_of, random_scores, random_world, value_of

NAN = np.nan
ALL_PAIRS = list(combinations(range(3), 2))


def arrays_of(ds: xr.Dataset) -> dict[str, np.ndarray]:
    """The variables of a comparison, (system, other, metric), and its coordinates."""
    return {str(name): one.values for name, one in ds.variables.items()}


EFFECTS = ("wins", "ties", "superiority", "dz", "rank_biserial", "cliffs_delta")
PAIRS = ("difference", "low", "high", "p", "p_corrected", "n", *EFFECTS)


def p_of(ds: xr.Dataset, kind: str = "mean", pairs: list[tuple[int, int]] = ALL_PAIRS, **options) -> list[float]:
    """The p-values of pairs of systems; replicates are few, as few units are swapped in every way."""
    found = compared(ds, aggregate=kind, **{"replicates": 300, **options})["p"].values[..., 0]
    return [found[pair] for pair in pairs]


def moved_by_brute_force(score: np.ndarray) -> np.ndarray:
    """For each unit the chance that the median of swapped scores of two systems (2, units) lies between its two."""
    every = np.array(list(product([False, True], repeat=score.shape[1])))
    drawn = np.sort(np.where(every, score[1], score[0]), axis=1)
    middle = np.stack([drawn[:, (score.shape[1] - 1) // 2], drawn[:, score.shape[1] // 2]])
    return np.array([(np.sign(a - middle) - np.sign(b - middle)).mean() / 2 for a, b in score.T])


def swapped_by_brute_force(ds: xr.Dataset, kind: str, first: int, second: int, cluster: np.ndarray) -> float:
    """The p-value from every swap of two systems' clusters, each value computed anew."""
    if kind == "median":
        moved = np.bincount(cluster, moved_by_brute_force(ds["score"].values[[first, second], :, 0]))
        found = np.abs(np.array(list(product([-1, 1], repeat=len(moved)))) @ moved)
        return float(np.mean(found >= found[0] - 1e-12))
    swaps = np.array(list(product([False, True], repeat=int(cluster.max()) + 1)))[:, np.newaxis, cluster]
    both = (ds[name].values[[first, second], :, 0] for name in ("score", "weight"))
    score, weight = (np.where(swaps, values[::-1], values) for values in both)
    with np.errstate(invalid="ignore"):
        found = np.abs(np.subtract(*value_of(kind, score, weight, ds["duration"].values).T))
    known = found[~np.isnan(found)]
    return float(np.mean(known >= found[0] - 1e-12))


class TestPermutation:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("tracks", "seed", "options", "cluster"),
        [(7, 5, {}, np.arange(7)), (9, 6, {"cluster": "artist"}, np.array([0, 0, 1, 1, 1, 2, 3, 3, 4]))],
        ids=["tracks", "clusters"],
    )
    def test_few_units_are_swapped_in_every_way(self, kind, tracks, seed, options, cluster):
        ds = random_world(3, tracks, seed=seed, track_meta={"artist": list("aabbbcdde")[:tracks]})
        expected = [swapped_by_brute_force(ds, kind, *pair, cluster) for pair in ALL_PAIRS]
        np.testing.assert_allclose(p_of(ds, kind, **options), expected, atol=1e-12)

    @pytest.mark.parametrize("seed", range(5))
    def test_swaps_after_which_nothing_weighs_are_left_out(self, seed):
        rng = np.random.default_rng(seed)
        score, weight = rng.random((3, 6, 1)), rng.choice([0.0, 0.1, 0.7], (3, 6, 1), p=[0.8, 0.1, 0.1])
        weight[:, 0] = [[0.3], [0.0], [0.6]]
        weight[1, 1] = 0.2
        ds = group_of(score, weight)
        expected = [swapped_by_brute_force(ds, "pooled", *pair, np.arange(6)) for pair in ALL_PAIRS]
        np.testing.assert_allclose(p_of(ds, "pooled"), expected, atol=1e-12)

    def test_the_smallest_p_of_random_swaps_is_not_zero(self):
        ds = group_of(np.stack([np.full((60, 1), 0.9), np.full((60, 1), 0.1)]))
        assert p_of(ds, pairs=[(0, 1)], replicates=999) == [1 / 1000]


class TestByUnits:
    def test_wilcoxon_of_a_pair_does_not_depend_on_ties_of_others(self):
        score = np.random.default_rng(1).random((3, 30, 1))
        score[2] = score[0]
        score[2, :5] += 0.1
        found = p_of(group_of(score), test="wilcoxon")
        assert found[0] == stats.wilcoxon(score[0, :, 0], score[1, :, 0]).pvalue

    @pytest.mark.parametrize("tracks", [6, 30, 80])
    def test_wilcoxon_and_student_are_scipys(self, tracks):
        ds = random_world(3, tracks, seed=4)
        for test, theirs in (("wilcoxon", stats.wilcoxon), ("t", stats.ttest_rel)):
            expected = [theirs(*ds["score"].values[list(pair), :, 0]).pvalue for pair in ALL_PAIRS]
            np.testing.assert_allclose(p_of(ds, test=test), expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("test", ["wilcoxon", "t"])
    def test_without_a_track_there_is_no_test(self, test):
        found = compared(random_world(2, 3), aggregate="mean", tracks=[], test=test)
        assert np.isnan([found[name].values for name in ("p", "low", "high")]).all()

    def test_equal_tracks_are_left_out_as_wilcoxon_did(self):
        score = np.random.default_rng(0).integers(0, 4, (2, 40, 1)) / 4
        expected = stats.wilcoxon(score[0, :, 0], score[1, :, 0]).pvalue
        assert p_of(group_of(score), pairs=[(0, 1)], test="wilcoxon") == [pytest.approx(expected, abs=1e-12)]


class TestChoiceOfTest:
    def test_tests_of_single_tracks_are_refused_for_other_aggregates(self):
        ds = random_world(2, 9)
        for test, kind in (("wilcoxon", "wcsr"), ("t", "pooled"), ("t", "median")):
            with pytest.raises(QueryError, match=f"test '{test}' compares .* and not the {kind} of 'majmin'"):
                compared(ds, aggregate=kind, test=test)
        for kind in ("mean", "median"):
            assert compared(ds, aggregate=kind, test="wilcoxon", replicates=9)["test"].item() == "wilcoxon"

    def test_tests_of_independent_tracks_know_no_clusters(self):
        ds = random_world(2, 4, track_meta={"artist": list("aabb")})
        with pytest.raises(QueryError, match="takes all tracks as independent"):
            compared(ds, aggregate="mean", test="t", cluster="artist")

    def test_unknown(self):
        with pytest.raises(UnknownNameError, match="unknown test 'wilcoxn'; did you mean 'wilcoxon'"):
            compared(random_world(2, 4), test="wilcoxn")


@pytest.fixture(scope="module", autouse=True)
def _statsmodels_collects_no_garbage() -> Iterator[None]:
    """It does so in each correction by Holm: ten seconds of these tests, if all other tests are in memory, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", int)
        yield


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
            assert found["wins"][place] == (d > 0).sum()
            assert found["losses"][place] == (d < 0).sum()
            assert found["ties"][place] == (d == 0).sum()
            assert found["superiority"][place] == pytest.approx(((d > 0) + 0.5 * (d == 0)).mean())
            assert found["dz"][place] == pytest.approx(stats.ttest_rel(x, y).statistic / np.sqrt(25))
            rank = stats.rankdata(np.abs(d[d != 0]))
            assert found["rank_biserial"][place] == pytest.approx((np.sign(d[d != 0]) * rank).sum() / rank.sum())
            assert found["cliffs_delta"][place] == pytest.approx(np.sign(x[:, np.newaxis] - y).mean())

    def test_equal_always_the_same_and_none(self):
        three = np.array([[0.5, 0.5], [0.25, 0.25], [0.5, 0.5]])
        found = effects(three, np.array([[0, 2], [0, 1]]))
        assert found["dz"][0] == found["rank_biserial"][0] == found["cliffs_delta"][0] == 0
        assert np.isnan(found["dz"][1])
        assert found["rank_biserial"][1] == found["cliffs_delta"][1] == 1
        none = effects(np.empty((2, 0)), np.array([[0, 1]]))
        assert all(np.isnan(none[name]).all() for name in ("dz", "superiority", "rank_biserial", "cliffs_delta"))


@given(
    arrays(
        np.float64, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=st.sampled_from([0, 0.25, 1, np.inf, NAN])
    )
)
def test_midranks_are_those_of_scipy_to_the_bit(values):
    np.testing.assert_array_equal(paired._midranks(values), stats.rankdata(values, axis=0))


class TestCompare:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_difference_is_that_of_the_values(self, kind):
        board = random_world(3, 15, 2)
        found = arrays_of(compared(board, aggregate=kind, replicates=200))
        plain = board.mirflow.query(aggregate=kind)["value"].values
        np.testing.assert_allclose(found["value"], plain, atol=1e-15)
        upper = np.triu_indices(3, 1)
        expected = plain[upper[0]] - plain[upper[1]]
        np.testing.assert_allclose(found["difference"][upper], expected, atol=1e-14)

    def test_both_halves_tell_the_same(self):
        found = arrays_of(compared(random_world(4, 15, 2), replicates=200))
        one, other = np.tril_indices(4, -1)
        for name in ("difference", "dz", "rank_biserial", "cliffs_delta"):
            np.testing.assert_array_equal(found[name][one, other], -found[name][other, one])
        for name in ("p", "p_corrected", "n", "ties"):
            np.testing.assert_array_equal(found[name][one, other], found[name][other, one])
        np.testing.assert_array_equal(found["low"][one, other], -found["high"][other, one])
        np.testing.assert_array_equal(found["n"], found["wins"] + found["ties"] + found["wins"].transpose(1, 0, 2))
        np.testing.assert_array_equal(found["superiority"][one, other], 1 - found["superiority"][other, one])
        assert np.isnan(found["difference"][range(4), range(4)]).all()

    def test_corrections_are_over_the_pairs_of_a_metric(self):
        found = arrays_of(compared(random_world(4, 15, 2), correction="bh", replicates=200))
        upper = np.triu_indices(4, 1)
        for metric in range(2):
            expected = multipletests(found["p"][..., metric][upper], method="fdr_bh")[1]
            np.testing.assert_allclose(found["p_corrected"][..., metric][upper], expected, atol=1e-12)

    def test_by_default_the_test_is_of_permutations_with_simultaneous_p_values(self):
        board = random_world(4, 15, 2)
        found, named = (compared(board, correction=name, replicates=200) for name in ("auto", "max-t"))
        np.testing.assert_array_equal(found["p_corrected"], named["p_corrected"])
        assert found.attrs["correction"] == "max-t"
        assert found["test"].values.tolist() == ["permutation"] * 2
        assert compared(board, aggregate="mean", test="t", replicates=9).attrs["correction"] == "holm"
        with pytest.raises(QueryError, match="'max-t' is read off permutations; choose test permutation"):
            compared(board, aggregate="mean", test="t", correction="max-t")

    def test_pairs_that_other_systems_do_not_concern(self):
        board = random_world(4, 30, 2)
        whole = arrays_of(compared(board, correction="none", replicates=200))
        pair = arrays_of(compared(board, system=["S1", "S3"], correction="none", replicates=200))
        for name in PAIRS:
            np.testing.assert_allclose(pair[name][0, 1], whole[name][1, 3], rtol=1e-12, err_msg=name)

    def test_by_default_on_the_tracks_that_all_have_with_skip_on_those_of_each_pair(self):
        score, weight = random_scores(3, 10)
        score[0, 0] = score[1, 3:5] = NAN
        board = group_of(score, weight)
        assert compared(board, replicates=50)["n"].values[0, 1, 0] == 7
        skipping = arrays_of(compared(board, missing="skip", replicates=50))
        assert skipping["n"][..., 0].tolist() == [[0, 7, 9], [7, 0, 8], [9, 8, 0]]
        common = [f"t{i}" for i in range(1, 10)]
        alone = arrays_of(compared(board, system=["S0", "S2"], tracks=common, replicates=50))
        assert skipping["low"][0, 2, 0] < alone["low"][0, 1, 0]  # of three pairs together
        for name in ("difference", "p"):
            expected = alone[name][0, 1, 0]
            assert skipping[name][0, 2, 0] == pytest.approx(expected, abs=1e-14), name
        assert compared(board, missing="zero", replicates=50)["n"].values[0, 1, 0] == 10

    def test_units_are_compared_once_each(self):
        board = random_world(2, 12, track_meta={"fold": list("aabbbbccccdd")})
        found = arrays_of(compared(board, unit="fold", test="t", replicates=50))
        folds = board.mirflow.query(by="fold")["value"].values[:, 0]
        assert found["n"][0, 1, 0] == 4
        assert found["p"][0, 1, 0] == pytest.approx(stats.ttest_rel(*folds).pvalue, abs=1e-12)

    def test_the_better_comes_first_whichever_way_is_better(self):
        score = np.stack([np.full((9, 2), level) for level in (0.2, 0.8, 0.5)])
        score += np.random.default_rng(0).normal(0, 0.01, score.shape)
        found = arrays_of(compared(group_of(score, orientation=["higher", "lower"]), replicates=200))
        assert found["letters"].T.tolist() == [["c", "a", "b"], ["a", "c", "b"]]
        assert found["wins"][1, 0].tolist() == [9, 0]

    def test_dims_coordinates_and_attributes(self):
        tree = xr.DataTree.from_dict({"chord": random_world(3, 9, 2)})
        ds = tree.mirflow.compare(["majmin", "root"], replicates=50)
        assert ds["difference"].dims == ds["significant"].dims == ("system", "other", "metric")
        assert ds["letters"].dims == ds["value"].dims == ("system", "metric")
        assert ds["other"].values.tolist() == ds["system"].values.tolist()
        assert ds["test"].values.tolist() == ["permutation"] * 2
        assert {"group": "chord", "unit_of_comparison": "track"}.items() <= ds.attrs.items()
        picked = ds.sel(system="S0", other="S2", metric="root")
        assert picked["significant"].item() == (picked["p_corrected"].item() < 0.05)

    def test_what_makes_no_sense(self):
        board = random_world(2, 9, track_meta={"genre": list("aaabbbccc")})
        with pytest.raises(QueryError, match="1 system to compare; at least two are needed"):
            compared(board, system="S0")
        with pytest.raises(QueryError, match="systems are compared on all tracks of a question"):
            compared(board, by="genre")
        with pytest.raises(UnknownNameError, match="unknown correction 'bonferoni'"):
            compared(board, correction="bonferoni")


def by_the_largest(score, signs):
    """Westfall and Young's single-step p-values of all pairs of systems, by t of the swaps of scores and residuals."""
    pairs = list(combinations(range(len(score)), 2))
    difference = np.stack([score[one] - score[other] for one, other in pairs])
    observed = np.abs(difference.sum(axis=1)) / np.sqrt(np.square(difference).sum(axis=1))
    p = np.zeros(len(pairs))
    for own in (difference, difference - difference.mean(axis=1, keepdims=True)) if len(pairs) > 1 else (difference,):
        largest = (np.abs(signs @ own.T) / np.sqrt(np.square(own).sum(axis=1))).max(axis=1)
        p = np.maximum(p, [(largest >= one - 1e-9).mean() for one in observed])
    return p


class TestMaxT:
    @pytest.mark.parametrize("seed", range(4))
    def test_equals_its_definition(self, seed):
        score = random_scores(4, 9, seed=seed)[0] + np.linspace(0, 0.3, 4)[:, np.newaxis, np.newaxis]
        found = arrays_of(compared(group_of(score, standard=["mean"])))
        signs = np.array(list(product([1, -1], repeat=9)))
        upper = np.triu_indices(4, 1)
        expected = by_the_largest(score[..., 0], signs)
        np.testing.assert_allclose(found["p_corrected"][upper][:, 0], expected, atol=1e-12)

    def test_two_systems_need_no_correction_and_have_scipys_p_value(self):
        score = random_scores(2, 10, seed=3)[0]
        found = arrays_of(compared(group_of(score, standard=["mean"])))
        both = score[0, :, 0], score[1, :, 0]
        scipys = stats.permutation_test(
            both, lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
        )
        assert found["p_corrected"][0, 1, 0] == found["p"][0, 1, 0] == pytest.approx(scipys.pvalue, abs=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_lies_between_the_p_value_and_bonferronis(self, kind):
        found = arrays_of(compared(random_world(5, 12, seed=2), aggregate=kind))
        upper = np.triu_indices(5, 1)
        p, adjusted = found["p"][upper], found["p_corrected"][upper]
        assert (p <= adjusted).all()
        # Bonferroni's is the bound for each of the two sets of pairs, scores and residuals.
        assert (adjusted <= np.minimum(20 * p, 1) + 1e-12).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_same_where_differences_are_kept_and_where_few_are_in_the_cache(self, kind, monkeypatch):
        board = random_world(5, 40)
        whole = arrays_of(compared(board, aggregate=kind, replicates=300))
        monkeypatch.setattr(paired, "KEPT", 0)
        monkeypatch.setattr(permutation, "_CACHED", 1)
        for name, values in arrays_of(compared(board, aggregate=kind, replicates=300)).items():
            np.testing.assert_array_equal(values, whole[name])

    def test_the_same_however_the_replicates_are_cut(self, monkeypatch):
        board = random_world(4, 40)
        whole = compared(board, replicates=300)["p_corrected"]
        monkeypatch.setattr(resampling, "_CHUNK", 400)
        np.testing.assert_array_equal(compared(board, replicates=300)["p_corrected"], whole)

    def test_pairs_with_different_tracks_are_one_family(self):
        score = random_scores(4, 14, seed=5)[0]
        score[0, 0] = score[1, 3:5] = NAN
        found = arrays_of(compared(group_of(score), missing="skip"))
        upper = np.triu_indices(4, 1)
        p, adjusted = found["p"][upper][:, 0], found["p_corrected"][upper][:, 0]
        assert (p <= adjusted).all()
        assert (adjusted <= np.minimum(12 * p, 1) + 0.02).all()
        assert adjusted.min() > p.min()

    @pytest.mark.parametrize(("units", "enough"), [(5, False), (6, True)])
    def test_few_units_cannot_tell_any_systems_apart_and_have_no_letters(self, units, enough):
        score = np.stack([np.linspace(0.1, 0.2, units), np.linspace(0.8, 0.95, units)])[..., np.newaxis]
        found = arrays_of(compared(group_of(score, standard=["mean"])))
        assert (found["least_p_corrected"][0] < 0.05) == enough
        assert found["least_p_corrected"][0] == found["p_corrected"][0, 1, 0] == 2.0 ** (1 - units)
        assert found["letters"][:, 0].tolist() == (["b", "a"] if enough else ["", ""])

    @pytest.mark.slow
    @pytest.mark.parametrize(("kind", "skewed"), [("mean", False), ("mean", True), ("wcsr", True), ("median", False)])
    def test_without_a_difference_one_is_found_in_five_percent_of_the_cases(self, kind, skewed):
        rng, found = np.random.default_rng(11), 0
        for _ in range(400):
            hard = rng.normal(0, 1, (1, 40, 1))
            noise = rng.exponential(1, (6, 40, 1)) if skewed else rng.normal(0, 1, (6, 40, 1))
            weight = np.broadcast_to(rng.uniform(100, 300, (1, 40, 1)), noise.shape)
            board = group_of(hard + noise, weight)
            # Swaps of its own each time: 400 of them have a level of their own, 0.01 from the one of all swaps.
            found += compared(board, aggregate=kind, replicates=400, rng=rng)["significant"].values.any()
        # 0.05 within three standard errors of 400 draws.
        assert 0.018 <= found / 400 <= 0.083

    @pytest.mark.slow
    def test_with_a_difference_the_pairs_without_one_are_still_in_five_percent(self):
        rng, found = np.random.default_rng(12), 0
        spread = np.array([0.3, 0.3, 0.3, 3.0, 3.0])[:, np.newaxis, np.newaxis]
        mean = np.array([0.0, 0.0, 0.0, 2.0, 2.0])[:, np.newaxis, np.newaxis]
        for _ in range(400):
            board = group_of(mean + spread * rng.normal(0, 1, (5, 40, 1)), standard=["mean"])
            noted = compared(board, replicates=400).significant[..., 0]
            found += noted[:3, :3].any() or noted[3, 4]
        assert found / 400 <= 0.083


class TestIntervals:
    """An interval holds what the corrected test does not exclude."""

    @given(
        st.integers(5, 14),
        st.integers(2, 4),
        st.sampled_from(KINDS),
        st.sampled_from(["max-t", "holm", "bh", "none", "t", "anytime"]),
        st.integers(0, 2**32),
        st.booleans(),
    )
    @settings(max_examples=60)
    def test_zero_is_excluded_just_where_the_test_tells_apart(self, tracks, systems, kind, how, seed, coarse):
        rng = np.random.default_rng(seed)
        score, weight = rng.normal(0, 1, (systems, tracks, 1)), rng.choice([1.0, 2.0, 9.0], (systems, tracks, 1))
        score += rng.normal(0, 2, (1, tracks, 1)) + rng.choice([0.0, 0.5, 1.5, 9.0], (systems, 1, 1))
        words = {"correction": how}
        if how == "t":
            kind, words = "mean", {"test": "t", "correction": str(rng.choice(["holm", "bh", "none"]))}
        elif how == "anytime":
            kind, words = "mean" if kind == "median" else kind, {"anytime": 40}
            score, weight = np.repeat(score, 4, axis=1), np.repeat(weight, 4, axis=1)
        board = group_of(np.round(score) if coarse else score, weight)
        found = arrays_of(compared(board, aggregate=kind, replicates=199, **words))
        bounded = ~np.isnan(found["low"])
        apart = (found["low"] > 0) | (found["high"] < 0)
        np.testing.assert_array_equal(apart[bounded], found["significant"][bounded])
        assert not (found["significant"] & ~bounded).any()
        assert (found["low"] <= found["difference"] + 1e-9)[bounded].all()
        assert (found["high"] >= found["difference"] - 1e-9)[bounded].all()

    def test_of_a_mean_every_shift_in_it_is_one_that_the_test_does_not_exclude(self):
        score = np.random.default_rng(4).normal(0, 1, (2, 9, 1))
        found = arrays_of(compared(group_of(score, standard=["mean"])))
        for end, way in (("low", -1), ("high", 1)):
            for step, excluded in ((-0.1, False), (0.1, True)):
                moved = score.copy()
                moved[0] -= found[end][0, 1, 0] + way * step
                again = compared(group_of(moved, standard=["mean"]))
                assert again["significant"].values[0, 1, 0] == excluded

    @pytest.mark.parametrize("kind", ["mean", "median"])
    def test_systems_far_apart_have_narrow_ones_and_small_p_values(self, kind):
        rng = np.random.default_rng(1)
        offset = np.array([12, 10.5, 10, 5, 4.5, 4, 3.5, 3, 2.5, 2, 1, -3])[:, np.newaxis]
        noise = rng.normal(0, 0.3, (12, 50)) * np.where(np.arange(12) == 5, 20, 1)[:, np.newaxis]
        found = arrays_of(
            compared(
                group_of((rng.normal(0, 3, 50) + offset + noise)[..., np.newaxis]), aggregate=kind, replicates=2000
            )
        )
        wide = found["difference"][..., 0] > 8
        assert wide.sum() >= 10
        assert (found["p_corrected"][wide] == 1 / 2001).all()
        assert (found["high"] - found["low"])[0, 11, 0] < 4

    def test_a_larger_difference_with_as_many_wins_has_no_larger_p_value(self):
        rng = np.random.default_rng(2)
        base, others = rng.normal(0, 3, 30), rng.normal(0, 3, (4, 30))
        gain, found = np.abs(rng.normal(0.5, 0.2, 30)), []
        for times in (0.25, 0.5, 1, 2, 4, 8, 16, 32):
            score = np.stack([base, base + times * gain, *others])[..., np.newaxis]
            pair = compared(group_of(score), aggregate="median", replicates=999).isel(system=0, other=1, metric=0)
            found.append((pair["p"].item(), pair["significant"].item()))
        assert found == sorted(found, key=lambda one: (-one[0], one[1]))
        assert found[-1] == (0.001, True)

    @pytest.mark.parametrize("seed", range(3))
    def test_of_metrics_that_are_one_question_are_corrected_together(self, seed):
        rng = np.random.default_rng(seed)
        gains = np.array([1.0, 0.5, 0.4, 0.3, 0.3, 0.0])
        score = rng.normal(0, 1, (2, 30, 6))
        score[0] += gains
        board, names = group_of(score, metrics=[*"abcdef"]), [*"abcdef"]

        def at(level: float = 0.95) -> xr.Dataset:
            return compared(board, names, aggregate="mean", correction="none", level=level, replicates=999)

        family = np.arange(6) > 0
        found = paired.correct_metrics(at(), family, at)
        p, corrected, low, high = (found[name].values[0, 1] for name in ("p", "p_corrected", "low", "high"))
        assert corrected.tolist() == [p[0], *paired.correct(p[1:])]
        assert ((low > 0) | (high < 0)).tolist() == (corrected <= 0.05).tolist()
        assert found["significant"].values[1, 0].tolist() == (corrected <= 0.05).tolist()
        assert found["low"].values[1, 0].tolist() == (-high).tolist()


class TestDegenerate:
    def test_a_system_without_a_value_is_in_no_group(self):
        score = random_scores(3, 12)[0]
        score[1] = NAN
        found = arrays_of(compared(group_of(score), missing="skip", replicates=100))
        assert found["letters"].ravel().tolist() == ["a", "", "a"]

    def test_infinite_scores(self):
        score = random_scores(3, 12)[0]
        score[0, 3] = score[1, 3] = np.inf
        score[0, 4] = score[1, 4] + 0.5
        found = arrays_of(compared(group_of(score), aggregate="mean", replicates=100))
        assert [found["difference"][0, 2, 0], found["difference"][2, 0, 0]] == [np.inf, -np.inf]
        assert np.isnan([found[name][0, 1, 0] for name in ("difference", "low", "high", "p")]).all()
        assert found["ties"][0, 1, 0] == 1
        assert np.isfinite(found["rank_biserial"][0, 1:]).all()

    def test_one_track(self):
        found = arrays_of(compared(random_world(2, 1)))
        assert found["n"][0, 1, 0] == 1
        assert found["p"][0, 1, 0] == 1
        assert np.isnan(found["low"][0, 1, 0])
        assert not found["significant"].any()

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_track_in_common(self, kind):
        score = np.full((2, 4, 1), 0.5)
        score[0, :2] = score[1, 2:] = NAN
        found = arrays_of(compared(group_of(score), aggregate=kind))
        assert found["n"].sum() == 0
        assert np.isnan([found[name] for name in ("difference", "p", "p_corrected", "superiority")]).all()
        assert found["letters"].ravel().tolist() == ["", ""]

    @pytest.mark.parametrize("kind", KINDS[:4])
    def test_all_equal(self, kind):
        found = arrays_of(compared(group_of(np.full((3, 8, 1), 0.5), random_scores(1, 8)[1]), aggregate=kind))
        assert found["difference"][0, 1, 0] == 0
        assert found["low"][0, 1, 0] == found["high"][0, 1, 0] == 0
        assert found["p"][0, 1, 0] == 1
        assert found["letters"].ravel().tolist() == ["a", "a", "a"]

    @given(
        st.integers(1, 9), st.sampled_from(KINDS), st.integers(0, 2**32), st.sampled_from(["skip", "common", "zero"])
    )
    def test_whatever_the_scores(self, tracks, kind, seed, missing):
        rng = np.random.default_rng(seed)
        score = rng.choice([0.0, 0.25, 1.0, NAN], (3, tracks, 1), p=[0.3, 0.3, 0.3, 0.1])
        board = group_of(score, rng.choice([0.0, 1.0, 7.0], (3, tracks, 1)))
        found = arrays_of(compared(board, aggregate=kind, missing=missing, replicates=40))
        p = found["p"][~np.isnan(found["p"])]
        assert ((p > 0) & (p <= 1)).all()
        both = ~np.isnan(found["low"])
        assert (found["low"][both] <= found["high"][both]).all()

    def test_of_infinite_means_nothing_is_known(self):
        score = np.random.default_rng(0).random((3, 9, 1))
        score[:2, 3] = np.inf
        ds = group_of(score)
        assert np.isnan(p_of(ds)).all()
        assert np.isnan(p_of(ds, test="t")).tolist() == [False, True, True]
        ranks = np.clip(score, 0, 9)[..., 0]
        assert p_of(ds, test="wilcoxon")[1] == pytest.approx(stats.wilcoxon(ranks[0], ranks[2]).pvalue)
        assert np.isfinite(p_of(ds, "median")).all()

    def test_one_track_has_no_p_of_student(self):
        ds = group_of([[[0.1]], [[0.9]]])
        assert p_of(ds, pairs=[(0, 1)]) == [1]
        assert np.isnan(p_of(ds, pairs=[(0, 1)], test="t")).all()

    def test_a_difference_that_is_always_the_same_leaves_student_no_doubt(self):
        assert p_of(group_of([[[0.5]] * 4, [[0.25]] * 4]), pairs=[(0, 1)], test="t") == [0]

    def test_no_weight_at_all(self):
        assert np.isnan(p_of(group_of(np.random.default_rng(0).random((2, 5, 1)), 0.0), "wcsr", [(0, 1)])).all()


class TestTies:
    def test_the_same_seconds_added_up_in_another_order_are_a_tie(self):
        one, other = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
        assert one != other
        score = np.array([[[one], [other], [one]], [[other], [one], [one]], [[other], [other], [other]]])
        found = arrays_of(compared(group_of(score)))
        assert found["ties"][0, 1, 0] == 3
        assert found["superiority"][0, 1, 0] == 0.5
        assert found["rank_biserial"][0, 1, 0] == found["cliffs_delta"][0, 1, 0] == 0
        assert found["dz"][0, 1, 0] == 0
        for test in ("permutation", "wilcoxon", "t"):
            assert compared(group_of(score), aggregate="mean", test=test)["p"].values[0, 1, 0] == 1
        ranks = group_of(score).mirflow.compare(friedman=True)
        assert ranks["mean_rank"].values.ravel().tolist() == [2, 2, 2]
        assert ranks["statistic"].item() == 0


def p_values(test: str, sample: Sample, pairs: np.ndarray, how: Resampling) -> np.ndarray:
    """The p-values of pairs, each alone."""
    if test == "permutation":
        return count_extremes(swap_scores(sample, 0, pairs), how)[0][:, 0]
    return pairs_tested(test, sample, pairs, how).p


class TestSize:
    """How often tests find a difference where there is none: each simulated pair is two systems of one evaluation."""

    @staticmethod
    def sample_of(score, weight, kind, cluster=None):
        duration = np.full(score.shape[1], 100.0)
        cluster = np.arange(score.shape[1]) if cluster is None else cluster
        return Sample([kind], score, weight, np.ones(score.shape, dtype=bool), duration, cluster)

    @classmethod
    def share_rejected(cls, test, kind, pairs, tracks, replicates):
        rng = np.random.default_rng(2)
        weight = np.repeat(rng.gamma(4.0, 60.0, (pairs, tracks, 1)), 2, axis=0)
        common = np.repeat(rng.normal(0, 0.1, (pairs, tracks, 1)), 2, axis=0)
        score = 0.5 + common + rng.normal(0, 0.1, weight.shape)
        sample = cls.sample_of(score, weight, kind)
        two = np.arange(2 * pairs).reshape(-1, 2)
        found = p_values(test, sample, two, Resampling.of(0.95, "bca", replicates, 0))
        return float((found < 0.05).mean())

    @pytest.mark.parametrize(
        ("test", "kind"), [("permutation", "wcsr"), ("permutation", "mean"), ("wilcoxon", "mean"), ("t", "mean")]
    )
    def test_nominal(self, test, kind):
        assert 0.03 < self.share_rejected(test, kind, 1000, 40, 999) < 0.07

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["wcsr", "median"])
    def test_nominal_more_closely(self, kind):
        pairs = 1000 if kind == "median" else 4000
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
        artist = np.repeat(np.arange(artists), each)
        two = np.arange(2 * pairs)
        how = Resampling.of(0.95, "bca", 999, 0)
        rejected = {}
        for cluster in (None, "artist"):
            sample = self.sample_of(score[..., np.newaxis], weight, kind, artist if cluster else None)
            found = p_values("permutation", sample, two.reshape(-1, 2), how)
            rejected[cluster] = float((found < 0.05).mean())
        assert abs(rejected["artist"] - 0.05) < 3 * np.sqrt(0.05 * 0.95 / pairs)
        assert rejected[None] > 0.15


class TestManySystems:
    """Many systems are more than three here."""

    @pytest.fixture(autouse=True)
    def three(self, monkeypatch):
        monkeypatch.setattr(comparisons, "MOST_SYSTEMS", 3)

    @pytest.mark.parametrize("orientation", ["higher", "lower"])
    @pytest.mark.parametrize("kind", ["mean", "wcsr"])
    def test_the_best_one_is_compared_with_each_other_one(self, kind, orientation):
        board = random_world(6, 40, orientation=[orientation])
        found, every = (compared(board, aggregate=kind, replicates=300, all_pairs=every) for every in (False, True))
        value = found["value"].values[:, 0]
        best = int(value.argmax() if orientation == "higher" else value.argmin())
        assert found["compared_with"].values.tolist() == [f"S{best}"]
        assert set(found["letters"].values.ravel()) == {""}
        assert "compared_with" not in every.coords
        others = np.arange(6) != best
        for name in ("difference", "low", "high", "p", "n", "wins", "dz"):
            np.testing.assert_allclose(found[name].values[best, others], every[name].values[best, others], rtol=1e-12)
            unknown = found[name].values[others][:, others]
            assert not np.nan_to_num(unknown).any()

    def test_p_values_are_corrected_for_the_largest_difference_of_all_pairs(self):
        score = random_scores(5, 10, seed=1)[0] + np.linspace(0, 0.2, 5)[:, np.newaxis, np.newaxis]
        found = compared(group_of(score, standard=["mean"]))
        signs = np.array(list(product([1, -1], repeat=10)))
        best = found["system"].values.tolist().index(found["compared_with"].item())
        for pair, expected in zip(combinations(range(5), 2), by_the_largest(score[..., 0], signs), strict=True):
            if best in pair:
                assert found["p_corrected"].values[*pair, 0] == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(("test", "correction"), [("permutation", "holm"), ("t", "holm"), ("t", "bh")])
    def test_other_corrections_are_for_all_pairs_too(self, test, correction):
        board = random_world(6, 40)
        words = {"aggregate": "mean", "test": test, "correction": correction, "replicates": 300}
        found, every = (compared(board, **words, all_pairs=every)["p_corrected"].values for every in (False, True))
        known = ~np.isnan(found)
        assert known.sum() == 10
        assert (found[known] >= every[known] - 1e-12).all()

    def test_medians_and_other_units_are_compared_in_all_pairs(self):
        score, weight = random_scores(4, 20)
        score[1, 3] = np.nan
        gaps = group_of(score, weight)
        for words in ({"aggregate": "median"}, {"missing": "skip"}):
            assert "compared_with" not in compared(gaps, **words, replicates=50).coords
        assert "compared_with" in compared(gaps, replicates=50).coords

    @pytest.mark.slow
    def test_the_best_of_equal_systems_is_seldom_told_apart(self):
        """The leader of twelve equal systems: corrected for its own eleven pairs alone, in a fifth of the cases."""
        told = []
        for seed in range(300):
            score = np.random.default_rng(seed).normal(0.5, 0.1, (12, 40, 1))
            found = compare(group_of(score, standard=["mean"]), replicates=199, sizes=False)
            told.append(bool(found["significant"].any()))
        assert np.mean(told) < 0.08


def test_swaps_at_random_are_all_that_there_are() -> None:
    chunks, exact = Resampling.of(0.95, "percentile", 4000, 0).signs(13)
    signs = np.concatenate([*chunks])
    assert not exact
    assert len(np.unique(signs[:, :8], axis=0)) == 2**8


def test_where_nothing_can_be_told_apart_no_gap_has_ends() -> None:
    ds = compare(random_world(3, 3))
    assert np.isnan(gaps_to_best(ds)).all()
    assert gaps_to_best(ds).shape == (2, 3)
