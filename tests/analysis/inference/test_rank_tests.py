"""Friedman's ranks, the groups that they give, and agreement of rankings: against published values and scipy."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import rankdata

import mirflow
from mirflow.analysis.inference import agreement, blocks, compare, letters, ranks, significance_groups
from mirflow.analysis.inference.correlations import rank_correlations
from mirflow.analysis.inference.rank_tests import rank_systems
from mirflow.analysis.inference.resampling import Resampling
from mirflow.analysis.query_options import Query
from mirflow.errors import QueryError, UnknownNameError

from ...commands import printed, refused, rows
from ...groups import CODES, random_group, write_store
from .worlds import group_of, random_scores, random_world, value_of

DEMSAR = np.array(
    [
        [4, 1, 4, 4, 4, 1, 3, 2.5, 4, 2.5, 4, 3, 4, 3],
        [3, 2, 1, 1, 2, 2.5, 2, 2.5, 3, 2.5, 2.5, 2, 1, 1],
        [2, 3, 2, 3, 3, 4, 4, 4, 2, 2.5, 1, 4, 2, 4],
        [1, 4, 3, 2, 1, 2.5, 1, 1, 1, 2.5, 2.5, 1, 3, 2],
    ]
)
"""Ranks of four classifiers on 14 data sets: Demsar 2006, table 6."""


def demsar(level: float = 0.95):
    return rank_systems(DEMSAR[..., np.newaxis], np.ones((14, 1), dtype=bool), level)


def one(score: np.ndarray):
    """The ranks of score (systems, units), the lowest the best."""
    return rank_systems(score[..., np.newaxis], np.ones((score.shape[1], 1), dtype=bool))


class TestPublished:
    def test_demsars_example(self):
        found = demsar()
        assert found.mean_rank.ravel().round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
        # He does not correct for ties, of which there are three pairs and one of all four.
        ties = 1 - (3 * (2**3 - 2) + (4**3 - 4)) / (14 * 4 * (4**2 - 1))
        plain = found.statistic.item() * ties
        assert plain == pytest.approx(9.28, abs=0.005)
        assert 13 * plain / (14 * 3 - plain) == pytest.approx(3.69, abs=0.005)
        assert found.critical_difference.item() / np.sqrt(ties) == pytest.approx(1.25, abs=0.005)
        assert demsar(0.9).critical_difference.item() / np.sqrt(ties) == pytest.approx(1.12, abs=0.005)

    @pytest.mark.parametrize(
        ("level", "published"),
        [
            (0.95, [2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
            (0.90, [2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
        ],
    )
    def test_critical_values_of_nemenyis_test(self, level, published):
        for systems, q in zip(range(3, 11), published, strict=True):
            score = np.random.default_rng(systems).random((systems, 30, 1))
            found = rank_systems(score, np.ones((30, 1), dtype=bool), level)
            scale = np.sqrt(systems * (systems + 1) / (6 * 30))
            # The table's last digit is cut off in places.
            assert found.critical_difference.item() / scale == pytest.approx(q, abs=0.0011)


class TestAgainstLibraries:
    @given(st.integers(3, 8), st.integers(2, 25), st.integers(0, 2**32), st.booleans())
    def test_friedman_is_scipys_with_and_without_ties(self, systems, units, seed, ties):
        rng = np.random.default_rng(seed)
        score = rng.integers(0, 4, (systems, units)) / 4 if ties else rng.random((systems, units))
        if (score == score[0]).all():
            score[0, 0] += 1
        found, expected = one(score), stats.friedmanchisquare(*score)
        assert found.statistic.item() == pytest.approx(expected.statistic, rel=1e-9)
        assert found.p.item() == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300)

    def test_pairs_without_ties_are_nemenyis(self):
        import scikit_posthocs  # takes a second, as it draws figures

        score = np.random.default_rng(3).random((5, 20)) + np.arange(5)[:, np.newaxis] / 5
        expected = scikit_posthocs.posthoc_nemenyi_friedman(score.T).to_numpy()
        found = one(score).p_pair[..., 0]
        off = ~np.eye(5, dtype=bool)
        np.testing.assert_allclose(found[off], expected[off], atol=1e-9)
        assert np.isnan(np.diag(found)).all()

    @pytest.mark.parametrize("units", [1, 5, 6, 8, 25])
    def test_two_systems_are_compared_by_the_exact_sign_test(self, units):
        for losses in range(units + 1):
            for ties in (0, 3):
                score = np.stack(
                    [np.repeat([0.0, 1.0, 0.5], [units - losses, losses, ties]), np.full(units + ties, 0.5)]
                )
                found, expected = one(score), stats.binomtest(losses, units).pvalue
                np.testing.assert_allclose([found.p.item(), *found.p_pair[[0, 1], [1, 0], 0]], expected, atol=1e-12)
                apart = np.abs(np.diff(found.mean_rank[:, 0])).item() > found.critical_difference.item()
                assert apart == (expected < 0.05)

    def test_concordance_is_the_mean_rank_correlation_in_disguise(self):
        score = np.random.default_rng(4).random((6, 9))
        between = np.corrcoef(stats.rankdata(score, axis=0).T)[np.triu_indices(9, 1)].mean()
        assert one(score).concordance.item() == pytest.approx((between * 8 + 1) / 9)

    @given(st.integers(2, 9), st.integers(2, 5), st.integers(0, 2**32))
    def test_agreement_is_scipys_tau_b(self, systems, metrics, seed):
        value = np.random.default_rng(seed).integers(0, 4, (systems, metrics)) / 4
        tau, _, n = rank_correlations(value)
        for first in range(metrics):
            for second in range(metrics):
                expected = stats.kendalltau(value[:, first], value[:, second]).statistic
                np.testing.assert_allclose(tau[first, second], expected, atol=1e-12)
        assert (n == systems).all()


class TestFriedman:
    def test_a_metric_of_which_no_way_is_better_ranks_nobody(self):
        board = group_of(random_scores(3, 9, 2)[0], orientation=["higher", "none"])
        for ask in (partial(board.mirflow.compare, friedman=True), board.mirflow.agreement):
            with pytest.raises(QueryError, match="metric 'root' cannot rank systems: neither high nor low values"):
                ask(["majmin", "root"])
        assert board.mirflow.compare("majmin", friedman=True)["n"].values.tolist() == [9]

    def test_where_nothing_can_be_ranked_there_are_no_groups(self):
        found = random_world(3, 2).mirflow.compare(tracks=[], friedman=True)
        assert found["letters"].values.ravel().tolist() == [""] * 3

    def test_rank_1_is_the_best_whichever_way_is_better(self):
        score = np.random.default_rng(0).random((3, 9, 1)).repeat(2, axis=2)
        found = group_of(score, orientation=["higher", "lower"]).mirflow.compare(["majmin", "root"], friedman=True)
        np.testing.assert_allclose(found["mean_rank"].values[:, 0] + found["mean_rank"].values[:, 1], 4)
        np.testing.assert_allclose(found["mean_rank"].values[:, 0], stats.rankdata(-score[..., 0], axis=0).mean(axis=1))
        assert found["statistic"].values[0] == pytest.approx(found["statistic"].values[1])

    def test_only_units_that_every_system_has(self):
        score, _ = random_scores(3, 10)
        score[0, 2] = score[1, 5] = np.nan
        found, kept = (
            group_of(score).mirflow.compare(friedman=True),
            group_of(np.delete(score, [2, 5], axis=1)).mirflow.compare(friedman=True),
        )
        assert found["n"].values.tolist() == [8]
        assert found["statistic"].values == pytest.approx(kept["statistic"].values)
        assert group_of(score).mirflow.compare(missing="zero", friedman=True)["n"].values.tolist() == [10]
        with pytest.raises(QueryError, match="ranks need every system on a unit; choose missing common or zero"):
            group_of(score).mirflow.compare(missing="skip", friedman=True)

    def test_units_are_aggregated_before_they_are_ranked(self):
        board = random_world(4, 12, track_meta={"fold": list("aabbbbccccdd")})
        folds = board.mirflow.query(by="fold")["value"].values[:, 0]
        assert board.mirflow.compare(unit="fold", friedman=True)["statistic"].item() == pytest.approx(
            stats.friedmanchisquare(*folds)[0]
        )

    def test_intervals_overlap_where_systems_do_not_differ(self):
        ds = random_world(6, 40, seed=2).mirflow.compare(friedman=True).isel(metric=0)
        overlap = (ds["low"].values[:, np.newaxis] <= ds["high"].values) & (
            ds["low"].values <= ds["high"].values[:, np.newaxis]
        )
        np.testing.assert_array_equal(overlap, ~ds["significant"].values)
        beyond = (ds["rank_low"].values > 0) | (ds["rank_high"].values < 0)
        np.testing.assert_array_equal(beyond, ds["significant"].values)

    def test_dataset(self):
        ds = xr.DataTree.from_dict({"chord": random_world(3, 9, 2)}).mirflow.compare(friedman=True)
        assert ds["statistic"].dims == ("metric",)
        assert ds["mean_rank"].dims == ds["letters"].dims == ("system", "metric")
        assert ds["p_pair"].dims == ("system", "other", "metric")
        assert {"group": "chord", "level": "0.95", "unit_of_comparison": "track"}.items() <= ds.attrs.items()

    def test_all_equal(self):
        found = group_of(np.full((3, 5, 1), 0.5)).mirflow.compare(friedman=True)
        assert [found[name].item() for name in ("statistic", "p", "critical_difference")] == [0, 1, 0]
        assert found["p_pair"].values[0, 1, 0] == 1
        assert found["letters"].values.ravel().tolist() == ["a", "a", "a"]

    def test_one_track_and_none(self):
        assert random_world(3, 1).mirflow.compare(friedman=True)["statistic"].item() == pytest.approx(2)
        none = random_world(3, 2).mirflow.compare(tracks=[], friedman=True)
        assert np.isnan([none["statistic"].values, none["p"].values, none["critical_difference"].values]).all()
        assert none["n"].values.tolist() == [0]

    def test_always_the_same_order(self):
        score = np.arange(3)[:, np.newaxis, np.newaxis] / 4 + np.zeros((3, 6, 1))
        found = group_of(score).mirflow.compare(friedman=True)
        assert found["concordance"].item() == pytest.approx(1)
        assert found["f_p"].item() == 0

    def test_one_system(self):
        with pytest.raises(QueryError, match="1 system to compare"):
            random_world(1, 3).mirflow.compare(friedman=True)

    @pytest.mark.slow
    def test_size(self):
        """Without a difference, Friedman's test and the largest of Tukey and Kramer's find one in 5 % of the cases."""
        score = np.random.default_rng(5).random((6, 40, 2000))
        found = rank_systems(score, np.ones((40, 2000), dtype=bool))
        assert 0.035 < (found.p < 0.05).mean() < 0.062
        largest = np.ptp(found.mean_rank, axis=0)
        assert 0.035 < (largest > found.critical_difference).mean() < 0.062


class TestAgreement:
    def test_a_metric_of_which_lower_is_better_ranks_the_other_way_round(self):
        score, weight = random_scores(6, 9)
        board = group_of(np.concatenate([score, 1 - score], axis=2), weight, orientation=["higher", "lower"])
        found = board.mirflow.agreement()
        np.testing.assert_allclose(found["tau"].values, 1)
        np.testing.assert_allclose(found["p"].values[0, 1], stats.kendalltau(np.arange(6), np.arange(6)).pvalue)

    def test_dataset(self):
        ds = random_world(5, 9, 3).mirflow.agreement()
        assert ds["tau"].dims == ("metric", "other")
        assert ds["tau"].sel(metric="root", other="seg") == ds["tau"].sel(metric="seg", other="root")
        assert ds["n"].values.tolist() == [[5] * 3] * 3
        assert ds.attrs["missing"] == "common"

    @pytest.mark.parametrize("aggregate", ["mean", "median"])
    def test_has_the_intervals_of_a_plain_loop(self, aggregate):
        ds, few = random_world(5, 12, 2), 200
        found = agreement(ds, Query(aggregate=aggregate), level=0.9, replicates=few)
        drawn = np.concatenate([*Resampling.of(0.9, "percentile", few, 0).counts(12)]).astype(int)
        reduce = {"mean": np.mean, "median": np.median}[aggregate]
        taus = []
        for counts in drawn:
            value = reduce(np.repeat(ds.score.values, counts, axis=1), axis=1).round(10)
            taus.append(stats.kendalltau(*value.T).statistic)
        ends = [found[name].values[0, 1] for name in ("low", "high")]
        np.testing.assert_allclose(ends, np.quantile(taus, [0.05, 0.95]), atol=1e-12)
        assert (found["high"].values[1, 0], found.attrs["level"]) == (ends[1], "0.9")

    def test_of_few_tracks_has_no_intervals(self):
        found = random_world(5, 5, 2).mirflow.agreement(level=0.95)
        assert np.isfinite(found["tau"].values).all()
        assert np.isnan(found["low"].values).all()

    def test_is_drawn_on_the_tracks_that_count(self):
        ds = random_world(4, 12, 2)
        lacking = ds.copy(deep=True)
        lacking.score[0, 8:], lacking.status[0, 8:] = np.nan, CODES["missing_estimate"]
        found, expected = (one.mirflow.agreement(level=0.9) for one in (lacking, ds.isel(track=slice(8))))
        np.testing.assert_allclose(found["low"].values, expected["low"].values, atol=1e-12)

    def test_its_intervals_are_printed_and_given_to_programs(self, tmp_path):
        ds = random_group(4, 30, 2, track_meta={"artist": list("abcdefghij") * 3})
        store = write_store(tmp_path / "s.zarr", {"chord": ds})
        words = ("agreement", store, "--level", "0.9", "--cluster", "artist")
        (row,) = rows(*words)
        found = ds.mirflow.agreement(level=0.9, cluster="artist")
        assert [row["low"], row["high"]] == [found[name].values[0, 1] for name in ("low", "high")]
        assert (row["level"], row["resampled"]) == (0.9, "artist")
        assert f"{row['tau']:.4f} [{row['low']:.4f}, {row['high']:.4f}]" in printed(*words)
        assert "agreement between systems has no intervals" in refused(
            "agreement", store, "-m", "majmin", "--between", "system", "--level", "0.9"
        )

    def test_equal_values_have_no_order(self):
        assert np.isnan(group_of(np.full((3, 4, 1), 0.5)).mirflow.agreement()["tau"]).all()

    def test_between_systems_it_says_whether_they_find_the_same_tracks_hard(self):
        board = random_world(4, 9, 2)
        found = board.mirflow.agreement("root", between="system")
        score = board["score"].sel(metric="root").values
        assert found["tau"].dims == ("system", "other")
        expected = stats.kendalltau(score[1], score[3])
        assert found["tau"].sel(system="S1", other="S3") == pytest.approx(expected.statistic, abs=1e-12)
        assert found["n"].sel(system="S1", other="S3") == 9

    def test_between_annotators_it_is_that_of_the_values_against_each(self):
        group = random_group(5, 7, 1, standard=["mean"])
        each = np.random.default_rng(3).uniform(0, 1, (5, 7, 2, 1))
        dims = ("system", "track", "annotator", "metric")
        group = group.assign(score_by_annotator=(dims, each), weight_by_annotator=(dims, np.ones(each.shape)))
        found = group.assign_coords(annotator=["ann", "ben"]).mirflow.agreement("majmin", between="annotator")
        mean = each[..., 0].mean(axis=1)
        assert found["annotator"].values.tolist() == ["ann", "ben"]
        assert found["tau"].values[0, 1] == pytest.approx(stats.kendalltau(*mean.T).statistic, abs=1e-12)
        with pytest.raises(QueryError, match="annotator"):
            random_world(3, 3).mirflow.agreement("root", between="annotator")

    def test_what_makes_no_sense(self):
        with pytest.raises(QueryError, match="agreement between systems is that of one metric; name one of"):
            random_world(3, 3, 2).mirflow.agreement(["root", "majmin"], between="system")
        with pytest.raises(UnknownNameError, match="sytem"):
            random_world(3, 3).mirflow.agreement(between="sytem")
        with pytest.raises(QueryError, match="1 system to rank"):
            random_world(1, 3).mirflow.agreement()


@st.composite
def relations(draw) -> np.ndarray:
    """Any symmetric relation of up to 9 systems."""
    count = draw(st.integers(1, 9))
    different = np.zeros((count, count), dtype=bool)
    for first, second in combinations(range(count), 2):
        different[first, second] = different[second, first] = draw(st.booleans())
    return different


def maximal_sets(different: np.ndarray) -> set[tuple[int, ...]]:
    """All of them, by looking at every set."""
    count = len(different)
    alike = [
        members
        for size in range(1, count + 1)
        for members in combinations(range(count), size)
        if not any(different[first, second] for first, second in combinations(members, 2))
    ]
    return {one for one in alike if not any(set(one) < set(other) for other in alike)}


@given(relations())
def test_sets_are_maximal_and_tell_exactly_who_differs(different):
    groups = significance_groups(different)
    assert {tuple(members) for members in groups} <= maximal_sets(different)
    assert len({tuple(members) for members in groups}) == len(groups)
    named = letters(groups, len(different))
    for first, second in combinations(range(len(different)), 2):
        assert bool(set(named[first]) & set(named[second])) == (not different[first, second])
    assert all(named)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9), st.integers(1, 12))
def test_after_a_test_on_ranks_these_are_all_sets(ranks, critical):
    place = np.array(ranks)
    different = np.abs(place[:, np.newaxis] - place) > critical
    order = np.argsort(place, kind="stable")
    groups = significance_groups(different, order)
    assert {tuple(sorted(members)) for members in groups} == maximal_sets(different)
    best = [place[members].min() for members in groups]
    assert best == sorted(best)


def test_letters_run_on():
    groups = [[place] for place in range(54)]
    assert letters(groups, 54)[25:28] == ["z", "A", "B"]
    assert letters(groups, 54)[51:] == ["Z", "(53)", "(54)"]


def test_two_systems_are_enough_to_rank():
    found = agreement(random_world(2, 12, 2, seed=5))
    assert abs(found["tau"].values[0, 1]) == 1.0


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
