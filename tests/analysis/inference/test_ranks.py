from __future__ import annotations

import numpy as np
import pytest
import scikit_posthocs
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mirflow.analysis.aggregation import ask
from mirflow.analysis.inference import agreement, friedman
from mirflow.analysis.inference.friedman import rank_systems
from mirflow.analysis.inference.metric_agreement import rank_correlations
from mirflow.analysis.scoreboard import from_dataset
from mirflow.analysis.selection import Question
from mirflow.errors import QueryError, UnknownNameError

from ...groups import random_group
from .worlds import board_of, random_board, random_scores

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
            (0.95, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
            (0.90, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
        ],
    )
    def test_critical_values_of_nemenyis_test(self, level, published):
        for systems, q in zip(range(2, 11), published, strict=True):
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
        score = np.random.default_rng(3).random((5, 20)) + np.arange(5)[:, np.newaxis] / 5
        expected = scikit_posthocs.posthoc_nemenyi_friedman(score.T).to_numpy()
        found = one(score).p_pair[..., 0]
        off = ~np.eye(5, dtype=bool)
        np.testing.assert_allclose(found[off], expected[off], atol=1e-9)
        assert np.isnan(np.diag(found)).all()

    def test_two_systems_are_compared_by_the_sign_test(self):
        score = np.random.default_rng(3).random((2, 20))
        found = one(score)
        expected = stats.chi2.sf((2 * (score[0] < score[1]).sum() - 20) ** 2 / 20, 1)
        assert found.p.item() == pytest.approx(expected)
        assert found.p_pair[0, 1, 0] == pytest.approx(expected)

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
        board = board_of(random_scores(3, 9, 2)[0], orientation=["higher", "none"])
        for ask_for in (friedman, agreement):
            with pytest.raises(QueryError, match="metric 'root' ranks nobody: neither high nor low values"):
                ask_for(board)
        assert friedman(board, Question("majmin")).ranks.n.tolist() == [9]

    def test_where_nothing_can_be_ranked_there_are_no_groups(self):
        assert friedman(random_board(3, 2), Question(tracks=[])).letters.ravel().tolist() == ["", "", ""]

    def test_rank_1_is_the_best_whichever_way_is_better(self):
        score = np.random.default_rng(0).random((3, 9, 1)).repeat(2, axis=2)
        found = friedman(board_of(score, orientation=["higher", "lower"])).ranks
        np.testing.assert_allclose(found.mean_rank[:, 0] + found.mean_rank[:, 1], 4)
        np.testing.assert_allclose(found.mean_rank[:, 0], stats.rankdata(-score[..., 0], axis=0).mean(axis=1))
        assert found.statistic[0] == pytest.approx(found.statistic[1])

    def test_only_units_that_every_system_has(self):
        score, _ = random_scores(3, 10)
        score[0, 2] = score[1, 5] = np.nan
        found, kept = friedman(board_of(score)), friedman(board_of(np.delete(score, [2, 5], axis=1)))
        assert found.ranks.n.tolist() == [8]
        assert found.ranks.statistic == pytest.approx(kept.ranks.statistic)
        assert friedman(board_of(score), Question(missing="zero")).ranks.n.tolist() == [10]
        with pytest.raises(QueryError, match="ranks need every system on a unit; choose missing common or zero"):
            friedman(board_of(score), Question(missing="skip"))

    def test_units_are_aggregated_before_they_are_ranked(self):
        board = random_board(4, 12, track_meta={"fold": list("aabbbbccccdd")})
        folds = ask(board, Question(by="fold")).value[:, 0]
        assert friedman(board, unit="fold").ranks.statistic.item() == pytest.approx(stats.friedmanchisquare(*folds)[0])

    def test_intervals_overlap_where_systems_do_not_differ(self):
        found = friedman(random_board(6, 40, seed=2))
        ds = found.to_dataset().isel(metric=0)
        overlap = (ds["low"].values[:, np.newaxis] <= ds["high"].values) & (
            ds["low"].values <= ds["high"].values[:, np.newaxis]
        )
        np.testing.assert_array_equal(overlap, ~ds["significant"].values)
        beyond = (ds["rank_low"].values > 0) | (ds["rank_high"].values < 0)
        np.testing.assert_array_equal(beyond, ds["significant"].values)

    def test_dataset(self):
        ds = friedman(random_board(3, 9, 2), group="chord").to_dataset()
        assert ds["statistic"].dims == ("metric",)
        assert ds["mean_rank"].dims == ds["letters"].dims == ("system", "metric")
        assert ds["p_pair"].dims == ("system", "other", "metric")
        assert {"group": "chord", "level": "0.95", "unit_of_comparison": "track"}.items() <= ds.attrs.items()

    def test_all_equal(self):
        found = friedman(board_of(np.full((3, 5, 1), 0.5)))
        ranks = found.ranks
        assert [ranks.statistic.item(), ranks.p.item(), ranks.critical_difference.item()] == [0, 1, 0]
        assert ranks.p_pair[0, 1, 0] == 1
        assert found.letters.ravel().tolist() == ["a", "a", "a"]

    def test_one_track_and_none(self):
        assert friedman(random_board(3, 1)).ranks.statistic.item() == pytest.approx(2)
        none = friedman(random_board(3, 2), Question(tracks=[])).ranks
        assert np.isnan([none.statistic, none.p, none.critical_difference]).all()
        assert none.n.tolist() == [0]

    def test_always_the_same_order(self):
        score = np.arange(3)[:, np.newaxis, np.newaxis] / 4 + np.zeros((3, 6, 1))
        found = friedman(board_of(score)).ranks
        assert found.concordance.item() == pytest.approx(1)
        assert found.f_p.item() == 0

    def test_one_system(self):
        with pytest.raises(QueryError, match="1 system to compare"):
            friedman(random_board(1, 3))

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
        board = board_of(np.concatenate([score, 1 - score], axis=2), weight, orientation=["higher", "lower"])
        found = agreement(board)
        np.testing.assert_allclose(found.tau, 1)
        np.testing.assert_allclose(found.p[0, 1], stats.kendalltau(np.arange(6), np.arange(6)).pvalue)

    def test_dataset(self):
        ds = agreement(random_board(5, 9, 3)).to_dataset()
        assert ds["tau"].dims == ("metric", "other")
        assert ds["tau"].sel(metric="root", other="seg") == ds["tau"].sel(metric="seg", other="root")
        assert ds["n"].values.tolist() == [[5] * 3] * 3
        assert ds.attrs["missing"] == "common"

    def test_equal_figures_have_no_order(self):
        assert np.isnan(agreement(board_of(np.full((3, 4, 1), 0.5))).tau).all()

    def test_between_systems_it_says_whether_they_find_the_same_tracks_hard(self):
        board = random_board(4, 9, 2)
        found = agreement(board, Question("root"), between="system").to_dataset()
        score = board.load(range(4))[0][..., board.metrics.index("root")]
        assert found["tau"].dims == ("system", "other")
        expected = stats.kendalltau(score[1], score[3])
        assert found["tau"].sel(system="S1", other="S3") == pytest.approx(expected.statistic, abs=1e-12)
        assert found["n"].sel(system="S1", other="S3") == 9

    def test_between_annotators_it_is_that_of_the_figures_against_each(self):
        group = random_group(5, 7, 1, standard=["mean"])
        each = np.random.default_rng(3).uniform(0, 1, (5, 7, 2, 1))
        dims = ("system", "track", "annotator", "metric")
        group = group.assign(score_by_annotator=(dims, each), weight_by_annotator=(dims, np.ones(each.shape)))
        found = agreement(
            from_dataset(group.assign_coords(annotator=["ann", "ben"])), Question("majmin"), between="annotator"
        )
        mean = each[..., 0].mean(axis=1)
        assert found.names == ["ann", "ben"]
        assert found.tau[0, 1] == pytest.approx(stats.kendalltau(*mean.T).statistic, abs=1e-12)
        with pytest.raises(QueryError, match="annotator"):
            agreement(random_board(3, 3), Question("root"), between="annotator")

    def test_what_makes_no_sense(self):
        with pytest.raises(QueryError, match="agreement between systems is that of one metric; name one of"):
            agreement(random_board(3, 3, 2), between="system")
        with pytest.raises(UnknownNameError, match="sytem"):
            agreement(random_board(3, 3), between="sytem")
        with pytest.raises(QueryError, match="1 system to rank"):
            agreement(random_board(1, 3))
        with pytest.raises(QueryError, match="metrics are compared over all tracks"):
            agreement(random_board(2, 3), Question(by="track"))
