"""How small a difference can be shown: standard errors, the tests they are for, and numbers of tracks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import mirflow
from mirflow.errors import QueryError

from .worlds import group_of, random_world


def resolution(ds, **words):
    return mirflow.plan(ds, **words).dataset


class TestErrors:
    def test_of_means_are_those_of_the_tracks_differences(self) -> None:
        ds = random_world(3, 50, seed=2)
        found = resolution(ds, aggregate="mean")
        score = ds.score.values[..., 0]
        for one, other in ((0, 1), (0, 2), (1, 2)):
            expected = np.std(score[one] - score[other], ddof=1) / np.sqrt(50)
            assert found["error"].values[one, other, 0] == pytest.approx(expected, rel=0.03)

    def test_of_weighted_means_are_not_too_small_where_few_tracks_weigh_much(self) -> None:
        """Residuals of heavy tracks are small, as the values follow these: 0.83 of the variance is left."""
        score = np.random.default_rng(0).normal(0, 1, (2, 36, 1))
        weight = np.broadcast_to(np.repeat([1.0, 20.0], [30, 6])[:, np.newaxis], score.shape)
        error = resolution(group_of(score, weight), aggregate="wcsr", replicates=4_000)["error"].values[0, 1, 0]
        share, gap = weight[0, :, 0] / weight[0, :, 0].sum(), score[0, :, 0] - score[1, :, 0]
        part = 1 + (share**2).sum() - 2 * (share**3).sum() / (share**2).sum()
        assert part < 0.85
        assert error == pytest.approx(np.sqrt((share**2 * (gap - share @ gap) ** 2).sum() / part), rel=0.08)

    @settings(max_examples=10)
    @given(
        st.integers(2, 5), st.integers(10, 40), st.sampled_from(["mean", "wcsr", "median"]), st.integers(0, 2**32 - 1)
    )
    def test_do_not_depend_on_which_system_is_named_first(self, systems, tracks, kind, seed) -> None:
        found = resolution(random_world(systems, tracks, seed=seed), aggregate=kind, replicates=200)
        for name in ("error", "resolution", "needed"):
            values = found[name].values[..., 0]
            np.testing.assert_array_equal(values, values.T)
            assert np.isnan(values.diagonal()).all()
        assert (found["difference"].values == -found["difference"].values.transpose(1, 0, 2)).all()

    def test_of_clusters_count_clusters(self) -> None:
        ds = random_world(2, 30, seed=1).assign_coords(artist=("track", np.repeat(list("abcdefghij"), 3)))
        found = resolution(ds, cluster="artist")
        assert found["n"].item() == 10
        assert found.attrs["unit_of_comparison"] == "artist"


class TestCritical:
    def test_is_the_quantile_of_one_test_or_of_all_pairs(self) -> None:
        ds = random_world(4, 60, seed=3)
        none, holm, largest = (resolution(ds, correction=name)["critical"].item() for name in ("none", "holm", "max-t"))
        assert none == pytest.approx(norm.isf(0.025))
        assert holm == pytest.approx(norm.isf(0.025 / 6))
        assert none < largest < holm


class TestUnits:
    @settings(max_examples=10)
    @given(st.integers(20, 60), st.integers(0, 2**32 - 1))
    def test_the_resolution_takes_as_many_as_there_are(self, tracks, seed) -> None:
        ds = random_world(2, tracks, seed=seed)
        least = resolution(ds, replicates=300)["resolution"].values[0, 1, 0]
        needed = resolution(ds, difference=least * (1 + 1e-9), replicates=300)["needed"].values[0, 1, 0]
        assert needed == tracks

    def test_half_the_difference_takes_about_four_times_as_many(self) -> None:
        ds = random_world(2, 200, seed=4)
        one, half = (resolution(ds, difference=size)["needed"].values[0, 1, 0] for size in (0.02, 0.01))
        assert 3.9 < half / one < 4.1

    def test_equal_systems_are_never_told_apart(self) -> None:
        score = np.random.default_rng(0).uniform(size=(1, 20, 1))
        noise = np.zeros((1, 20, 1))
        noise[0, 0], noise[0, 1] = 0.1, -0.1
        found = resolution(group_of(np.concatenate([score, score + noise])), replicates=200)
        assert found["needed"].values[0, 1, 0] > 1e6


class TestRefusals:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ({"power": 1.0}, "power 1: a probability lies between 0 and 1"),
            ({"difference": -0.1}, "difference -0.1: a difference to be shown is larger than 0"),
        ],
    )
    def test_of_what_makes_no_sense(self, words, message) -> None:
        with pytest.raises(QueryError, match=message):
            resolution(random_world(2, 20), **words)

    def test_of_too_few_tracks(self) -> None:
        with pytest.raises(QueryError, match="4 tracks that all systems have do not say how much scores differ"):
            resolution(random_world(2, 4))


class TestDoors:
    def test_a_table_says_what_the_tracks_show_and_how_many_are_needed(self, mirex2013_store) -> None:
        asked = {"metric": "majmin", "group": "chord_mirex2013"}
        text = mirflow.plan(mirex2013_store, **asked, difference=0.01, percent=True).to_text()
        assert "system   other   difference   error   resolution   tracks" in text
        assert (
            "resolution: smallest true difference that these 217 tracks show at 0.05 with a probability of 0.8" in text
        )
        assert "tracks: so many show a difference of 1.00 with a probability of 0.8" in text
        rows = mirflow.plan(mirex2013_store, **asked).to_csv().splitlines()
        assert len(rows) == 1 + 9 * 8 // 2


@pytest.mark.slow
class TestBySimulation:
    """The planned numbers of tracks have the planned power: right to a tenth, which is 0.035 of the power."""

    @pytest.mark.parametrize(("tracks", "uneven"), [(40, 0.0), (60, 1.0)])
    def test_resolutions_of_small_pilots_are_shown_as_often_as_planned(self, tracks, uneven) -> None:
        """Two systems, each pilot beside new tracks on which they differ by its resolution."""
        rng, pilots = np.random.default_rng(8), 1_200
        weight = rng.lognormal(0, uneven, (2, tracks, pilots))
        score = rng.normal(0, 1, (2, tracks, pilots))
        names = [f"m{pilot}" for pilot in range(pilots)]
        board = group_of(score, np.broadcast_to(weight[0], score.shape), metrics=names)
        least = resolution(board, metric=names, aggregate="wcsr", replicates=300)["resolution"].values[0, 1]
        moves = weight[1] * (rng.normal(0, np.sqrt(2), (tracks, pilots)) + least)
        swapped = np.abs((rng.integers(0, 2, (999, tracks)) * 2.0 - 1) @ moves)
        p = (1 + (swapped >= np.abs(moves.sum(axis=0)) - 1e-12).sum(axis=0)) / 1_000
        assert abs((p <= 0.05).mean() - 0.8) < 0.03 + 0.012  # of which 0.012 is the chance of 1,200 pilots

    @pytest.mark.parametrize(
        ("systems", "kind", "correction"),
        [(2, "mean", "none"), (2, "wcsr", "max-t"), (4, "mean", "max-t"), (4, "wcsr", "holm")],
    )
    def test_needed_tracks_show_the_difference_as_often_as_planned(self, systems, kind, correction) -> None:
        rng = np.random.default_rng(7)

        def world(tracks: int, shift: float):
            score = rng.normal(0.6, 0.1, (1, tracks, 1)) + rng.normal(0, 0.08, (systems, tracks, 1))
            score[0] += shift
            return group_of(score, np.broadcast_to(rng.uniform(100, 300, (1, tracks, 1)), score.shape))

        size = 0.04
        planned = resolution(world(4_000, 0.0), aggregate=kind, difference=size, correction=correction)
        tracks = int(planned["needed"].values[0, 1, 0])
        shown = [
            world(tracks, size)
            .mirflow.compare(aggregate=kind, correction=correction, replicates=499)
            .significant.values[0, 1, 0]
            for _ in range(500)
        ]
        assert abs(np.mean(shown) - 0.8) < 0.035 + 3 * np.sqrt(0.8 * 0.2 / 500)


class TestComparisons:
    def test_end_with_the_differences_that_their_tracks_show(self, mirex2013_store) -> None:
        asked = {"metric": "majmin", "group": "chord_mirex2013", "system": ["CB3", "CB4", "NMSD1"]}
        compared, planned = mirflow.compare(mirex2013_store, **asked), mirflow.plan(mirex2013_store, **asked)
        np.testing.assert_array_equal(compared.dataset["resolution"], planned.dataset["resolution"])
        assert "with 217 units, true differences of 0.0127 to 0.0133 (by pair) or more" in compared.to_text(
            details=True
        )

    @pytest.mark.parametrize("words", [{"test": "wilcoxon", "aggregate": "mean"}, {"friedman": True}])
    def test_by_ranks_have_none(self, mirex2013_store, words) -> None:
        asked = {"metric": "majmin", "group": "chord_mirex2013", "system": ["CB3", "CB4"]}
        assert "resolution" not in mirflow.compare(mirex2013_store, **asked, **words).to_text()

    def test_of_too_few_tracks_have_none(self, demo_store) -> None:
        assert "resolution" not in mirflow.compare(demo_store, "majmin", group="chord").to_text()
