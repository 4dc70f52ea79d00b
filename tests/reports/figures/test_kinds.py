from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes

from mirflow.errors import FigureError, QueryError, UnknownNameError
from mirflow.reports import figures

from ...groups import CODES, make_group, random_group
from .looking import cut_off, overlapping, words

NAN = np.nan
MISSING = {
    "common": "only the tracks that every system has",
    "zero": "missing ones count as 0 with the weight of an empty estimate",
}
KINDS = ("distributions", "heatmap", "scatter", "critical_difference", "groups")


def world(systems: int, tracks: int, /, *, lacking: float = 0.0, seed: int = 0, **keywords: Any) -> xr.Dataset:
    """Scores as they are: some systems better, some tracks harder, some cells missing."""
    rng = np.random.default_rng(seed)
    score = rng.normal(0.7, 0.08, (systems, 1)) + rng.normal(0, 0.12, tracks) + rng.normal(0, 0.06, (systems, tracks))
    missing = rng.random((systems, tracks)) < lacking
    score = np.where(missing, NAN, np.clip(score, 0, 1))[..., np.newaxis]
    status = np.where(missing, "missing_estimate", "ok")
    meta = {"genre": ["a genre with quite a long name", "b"] * (tracks // 2) + ["b"] * (tracks % 2)}
    return make_group(score, rng.uniform(50, 300, score.shape), status=status, track_meta=meta, **keywords)


def groups_of(found: xr.Dataset) -> list[set[int]]:
    """Systems that share a letter, from the best to the worst; none of a single one."""
    letters = found["letters"].values
    shared = [{place for place, own in enumerate(letters) if letter in own} for letter in sorted(set("".join(letters)))]
    return [members for members in shared if len(members) > 1]


class TestEveryFigure:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("finite", [True, False])
    def test_infinite_scores_as_of_perfect_separation_are_left_out_and_reported(self, kind: str, finite: bool) -> None:
        score = np.random.default_rng(0).normal(5, 3, (3, 12, 1))
        score[0, 2] = score[1, 5] = np.inf
        ds = make_group(score if finite else np.full_like(score, np.inf), unit=["dB"], standard=["mean"])
        if kind == "scatter" and not finite:
            with pytest.raises(FigureError, match="no track has a finite score of both"):
                figures.scatter(ds)
            return
        if kind == "critical_difference" and not finite:
            with pytest.raises(FigureError, match="nothing to compare: all are infinite"):
                figures.critical_difference(ds)
            return
        ax = getattr(figures, kind)(ds)
        ax.figure.canvas.draw()
        assert ("not shown" in words(ax)) == (kind != "heatmap")

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("missing", MISSING)
    def test_says_what_it_shows(self, kind: str, missing: str) -> None:
        shown = words(getattr(figures, kind)(world(4, 20, lacking=0.1), "majmin", missing=missing))
        assert "Majmin" in shown
        assert "track" in shown
        # Of the two systems that a scatter plot shows by default none lacks a score that counts as zero.
        whole = kind == "scatter" and missing == "zero"
        assert ("no score is missing" if whole else MISSING[missing]) in shown.replace("\n", " ")
        assert "WCSR" in shown
        assert "Chord estimation, rules of mir_eval" in shown.replace("\n", " ")
        assert "grid" not in shown
        by_identifier = words(getattr(figures, kind)(world(4, 20), "majmin", names="identifiers"))
        assert "majmin" in by_identifier
        assert "Majmin" not in by_identifier

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("systems", "tracks", "names"),
        [(2, 1, "short"), (9, 30, "short"), (9, 30, "long"), pytest.param(50, 2000, "long", marks=pytest.mark.slow)],
    )
    def test_shows_all_its_text_and_none_on_another(self, kind: str, systems: int, tracks: int, names: str) -> None:
        long = [f"a system with a very long name, number {number} of $x_{number}$" for number in range(systems)]
        ds = world(systems, tracks, systems=long if names == "long" else None)
        more = {"by": "genre", "level": None} if kind == "groups" else {}
        ax = getattr(figures, kind)(ds, **more)
        assert cut_off(ax) == []
        assert overlapping(ax) == []

    @pytest.mark.parametrize("kind", KINDS)
    def test_cells_without_a_score_do_no_harm(self, kind: str) -> None:
        ds = world(4, 20, lacking=0.3)
        ds["score"][0] = NAN  # a system without any score
        ds["status"][0] = CODES["missing_estimate"]
        policy = "zero" if kind == "critical_difference" else "skip"
        system = ["S0", "S1"] if kind == "heatmap" else ["S1", "S2"] if kind == "scatter" else None
        assert cut_off(getattr(figures, kind)(ds, "majmin", missing=policy, system=system)) == []

    @pytest.mark.parametrize("kind", ["distributions", "heatmap", "groups"])
    def test_one_system_and_one_track_are_enough(self, kind: str) -> None:
        assert "1 track;" in words(getattr(figures, kind)(world(1, 1)))

    @pytest.mark.parametrize("kind", KINDS)
    def test_misspelt_names_are_errors_with_a_suggestion(self, kind: str) -> None:
        for options, message in (
            ({"metric": "majmim"}, "unknown metric 'majmim'; did you mean 'majmin'"),
            ({"system": ["S0", "S9x"]}, "unknown system 'S9x'"),
            ({"missing": "comon"}, "did you mean 'common'"),
        ):
            with pytest.raises(UnknownNameError, match=message):
                getattr(figures, kind)(world(3, 5), **options)

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_is_no_store_is_refused(self, kind: str) -> None:
        with pytest.raises(QueryError, match="not scores: int; give a store's path, its tree or a dataset of it"):
            getattr(figures, kind)(3)

    def test_a_tree_with_several_evaluations_asks_which(self) -> None:
        tree = xr.DataTree.from_dict({"chord": world(2, 4), "other": world(2, 4)})
        with pytest.raises(QueryError, match="several groups match: 'chord'"):
            figures.distributions(tree)
        assert "Chord estimation" in words(figures.distributions(tree, group="other"))

    def test_a_name_of_several_metrics_asks_which(self) -> None:
        ds = make_group(np.ones((1, 2, 2)), metrics=["f_measure@0.01", "f_measure@0.02"])
        with pytest.raises(FigureError, match=r"'f_measure' matches 2 metrics; choose one of: f_measure@0\.01"):
            figures.distributions(ds, "f_measure")
        with pytest.raises(FigureError, match="this figure shows one metric, not 2"):
            figures.distributions(ds, ["f_measure@0.01", "f_measure@0.02"])


class TestDistributions:
    def test_rows_are_systems_from_the_best_down_with_every_track(self) -> None:
        ds = world(5, 40)
        ax = figures.distributions(ds, "majmin", "mean")
        value = ds.mirflow.query("majmin", "mean")["value"].squeeze()
        best = [str(name) for name in value.system.values[np.argsort(-value.values)]]
        assert [one.get_text() for one in ax.get_yticklabels()] == best
        points = [one for one in ax.collections if one.get_offsets().shape[0] == 40]
        for name, drawn in zip(best, points, strict=True):
            x = np.asarray(drawn.get_offsets())[:, 0]
            np.testing.assert_array_equal(np.sort(x), np.sort(ds.score.sel(system=name).values.ravel()))
        diamonds = [line.get_xdata()[0] for line in ax.lines]
        np.testing.assert_allclose(diamonds, value.sel(system=best))

    def test_lower_is_better_turns_the_order_round(self) -> None:
        ds = make_group([[[1.0]], [[3.0]], [[2.0]]], orientation=["lower"], unit=["s"], standard=["mean"])
        ax = figures.distributions(ds)
        assert [one.get_text() for one in ax.get_yticklabels()] == ["S0", "S2", "S1"]
        assert ax.get_xlabel() == "Majmin [s]"

    def test_systems_with_different_tracks_say_how_many(self) -> None:
        ds = make_group([[[1.0], [0.5]], [[NAN], [0.25]]], status=[[1, 1], [2, 1]])
        ax = figures.distributions(ds, missing="skip")
        assert [one.get_text() for one in ax.get_yticklabels()] == ["S0 (2)", "S1 (1)"]

    def test_boxes_hold_the_quartiles(self) -> None:
        ds = make_group(np.arange(9.0).reshape(1, 9, 1) / 8)
        (box,) = figures.distributions(ds, style="box").patches
        assert (box.get_x(), box.get_x() + box.get_width()) == (0.25, 0.75)
        with pytest.raises(FigureError, match="not a style of distributions: 'bee'; say violin or box"):
            figures.distributions(ds, style="bee")

    def test_scores_that_are_all_the_same_have_a_place(self) -> None:
        assert figures.distributions(make_group(np.full((2, 5, 1), 0.5)))


class TestHeatmap:
    def test_holds_every_score_the_hardest_track_first(self) -> None:
        ds = world(3, 12)
        image = figures.heatmap(ds, "majmin").images[0].get_array()
        score = ds.score.values[..., 0]
        value = ds.mirflow.query("majmin")["value"].values.ravel()
        expected = score[np.argsort(-value)][:, np.argsort(score.mean(axis=0), kind="stable")]
        np.testing.assert_array_equal(image, expected)

    def test_missing_scores_are_masked_and_ratios_reach_from_0_to_1(self) -> None:
        ds = make_group([[[0.5], [0.6]], [[NAN], [0.7]]], status=[[1, 1], [2, 1]])
        ax = figures.heatmap(ds, order="stored")
        assert ax.images[0].get_array().mask.tolist() == [[True, False], [False, False]]
        assert ax.images[0].get_clim() == (0, 1)
        assert "hatched: no score" in words(ax)

    def test_few_scores_do_not_take_the_colours_of_many(self) -> None:
        score = np.append(np.linspace(0.8, 0.9, 300), [0.0, 1.0])
        ax = figures.heatmap(make_group(score.reshape(2, -1, 1)))
        assert ax.images[0].get_clim() == pytest.approx(np.quantile(score, [0.05, 0.95]))
        assert "colours end at the 5 % lowest and highest scores" in words(ax)

    def test_names_tracks_where_there_is_room(self) -> None:
        assert "t3" in words(figures.heatmap(world(2, 10), width="page"))
        assert "100 tracks, the hardest first" in words(figures.heatmap(world(2, 100), width="page"))
        with pytest.raises(FigureError, match="not an order of tracks: 'hard'; say difficulty or stored"):
            figures.heatmap(world(2, 3), order="hard")


class TestScatter:
    DS = make_group([[[0.1], [0.5], [0.9], [0.4]], [[0.3], [0.5], [0.8], [NAN]]], status=[[1, 1, 1, 1], [1, 1, 1, 2]])

    def counts(self, **options: Any) -> dict[str, int]:
        ax = figures.scatter(self.DS, **options)
        labels = ax.get_legend_handles_labels()[1]
        return {one.rpartition(":")[0]: int(one.rpartition(":")[2]) for one in labels}

    def test_counts_wins_losses_and_ties_of_common_tracks(self) -> None:
        assert self.counts() == {"S1 better": 1, "S0 better": 1, "tie": 1}
        assert self.counts(system=["S1", "S0"]) == {"S0 better": 1, "S1 better": 1, "tie": 1}
        assert self.counts(tie=0.11) == {"S1 better": 1, "S0 better": 0, "tie": 2}

    def test_lower_is_better_turns_wins_round(self) -> None:
        ds = make_group([[[1.0]], [[3.0]]], orientation=["lower"], standard=["mean"])
        labels = figures.scatter(ds).get_legend_handles_labels()[1]
        assert labels == ["S1 better: 0", "S0 better: 1"]

    def test_the_same_seconds_added_up_in_another_order_are_a_tie(self) -> None:
        ds = make_group([[[0.1 + 0.2 + 0.3]], [[0.3 + 0.2 + 0.1]]])
        assert figures.scatter(ds).get_legend_handles_labels()[1] == ["S1 better: 0", "S0 better: 0", "tie: 1"]

    def test_points_lie_where_the_scores_are(self) -> None:
        ax = figures.scatter(self.DS, system=["S0", "S1"])
        points = np.vstack([np.asarray(one.get_offsets()) for one in ax.collections])
        np.testing.assert_array_equal(points[np.argsort(points[:, 0])], [[0.1, 0.3], [0.5, 0.5], [0.9, 0.8]])
        assert ax.get_xlim() == ax.get_ylim()

    def test_of_many_systems_the_two_best_are_taken(self) -> None:
        ds = world(6, 30)
        value = ds.mirflow.query("majmin")["value"].values.ravel()
        best = sorted(np.argsort(-value)[:2].tolist())
        ax = figures.scatter(ds)
        assert (ax.get_xlabel()[:2], ax.get_ylabel()[:2]) == tuple(f"S{place}" for place in best)

    def test_the_three_tracks_on_which_two_systems_differ_most_have_names(self) -> None:
        scores = np.array([[[0.1], [0.2], [0.5], [0.6], [0.9]], [[0.9], [0.9], [0.55], [0.1], [0.91]]])
        ax = figures.scatter(make_group(scores))
        assert [text.get_text() for text in ax.texts] == ["t0", "t1", "t3"]

    def test_two_metrics_are_drawn_against_each_other_with_a_point_for_each_system_and_track(self) -> None:
        scores = [[[0.1, 0.2], [0.5, 0.4]], [[0.3, 0.9], [0.6, NAN]]]
        ds = make_group(scores, status=[[1, 1], [1, 1]], metrics=["majmin", "root"])
        ax = figures.scatter(ds, ["root", "majmin"], missing="skip", caption=True)
        points = {str(one.get_label()): np.asarray(one.get_offsets()).tolist() for one in ax.collections}
        assert points == {"S0": [[0.2, 0.1], [0.4, 0.5]], "S1": [[0.9, 0.3]]}
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("Root", "Majmin")
        assert "Root against Majmin" in words(ax)
        assert "3 scores of a system and a track" in words(ax).replace("\n", " ")

    def test_of_many_systems_by_two_metrics_the_best_seven_are_taken_unless_they_are_named(self) -> None:
        ds = make_group(np.random.default_rng(0).random((9, 5, 2)), metrics=["majmin", "root"])
        ax = figures.scatter(ds, ["majmin", "root"])
        assert len(ax.collections) == 7
        assert "the best 7 of 9 systems by Majmin" in words(ax).replace("\n", " ")
        named = [f"S{place}" for place in range(9)]
        assert len(figures.scatter(ds, ["majmin", "root"], system=named).collections) == 9

    def test_what_makes_no_scatter(self) -> None:
        for system, message in ((["S0"], "this figure compares two systems, not 1"), ("S1", "not 1")):
            with pytest.raises(FigureError, match=message):
                figures.scatter(self.DS, system=system)
        with pytest.raises(FigureError, match="and the scores have one"):
            figures.scatter(world(1, 3))
        with pytest.raises(FigureError, match="ties cannot be differences up to -1"):
            figures.scatter(self.DS, tie=-1)
        with pytest.raises(FigureError, match="no track has a finite score of both 'S0' and 'S1'"):
            figures.scatter(self.DS, tracks=["t3"])


class TestCriticalDifference:
    def test_shows_mean_ranks_and_groups_of_the_test(self) -> None:
        ds = world(7, 25, seed=3)
        ax = figures.critical_difference(ds, "majmin", test="friedman")
        found = ds.mirflow.compare("majmin", friedman=True).isel(metric=0)
        shown = words(ax)
        for name, rank in zip(found["system"].values, found["mean_rank"].values.tolist(), strict=True):
            assert name in shown
            assert f"{rank:.2f}" in shown
        assert f"critical difference {found['critical_difference'].item():.3f}" in shown
        # The axis has its name also without a title above the figure.
        assert "Mean ranks by Majmin" in [text.get_text() for text in ax.texts]
        assert f"chi-square(6) = {found['statistic'].item():.2f}" in shown
        bars = [line for line in ax.lines if line.get_linewidth() > 2]
        mean = found["mean_rank"].values
        groups = groups_of(found)
        assert len(bars) == len(groups) > 0
        for bar, members in zip(bars, groups, strict=True):
            ends = bar.get_xdata()
            inside = set(np.flatnonzero((mean >= ends[0]) & (mean <= ends[1])).tolist())
            assert inside == members

    def test_by_default_the_bars_are_the_letters_of_the_comparison(self) -> None:
        ds = world(7, 25, seed=3)
        ax = figures.critical_difference(ds, "majmin")
        found, shown = ds.mirflow.compare("majmin").isel(metric=0), words(ax)
        for name in found["system"].values:
            assert name in shown
        assert "not told apart at 0.05 (permutation test, max-T, n = 25)" in shown
        groups = groups_of(found)
        bars = [line for line in ax.lines if line.get_linewidth() > 2]
        assert len(bars) == len(groups) > 0
        value = found["value"].values
        for bar, members in zip(bars, groups, strict=True):
            low, high = bar.get_xdata()
            assert members <= set(np.flatnonzero((value >= low) & (value <= high)).tolist())

    def test_the_best_system_is_on_the_left_whichever_way_is_better(self) -> None:
        score = np.random.default_rng(1).normal(0, 0.1, (3, 30, 1)) + np.array([0.2, 0.5, 0.8])[:, None, None]
        for way, first in (("higher", 0.8), ("lower", 0.2)):
            ax = figures.critical_difference(make_group(score, standard=["mean"], orientation=[way]))
            left, right = ax.get_xlim()
            assert abs(left - first) < abs(right - first)

    def test_few_tracks_have_no_bars_and_a_sentence(self) -> None:
        ax = figures.critical_difference(world(3, 5), "majmin")
        assert not [line for line in ax.lines if line.get_linewidth() > 2]
        assert "No bars: so few units cannot give a corrected p-value below 0.05" in words(ax)

    @pytest.mark.parametrize("test", ["auto", "friedman"])
    def test_bars_at_one_height_do_not_touch(self, test: str) -> None:
        ax = figures.critical_difference(world(30, 40, seed=1), test=test)
        bars = sorted((line.get_ydata()[0], *line.get_xdata()) for line in ax.lines if line.get_linewidth() > 2)
        assert len(bars) > 5
        for (height, _, end), (other, start, _) in pairwise(bars):
            assert height != other or end < start

    def test_ranks_may_be_within_other_units_than_tracks(self) -> None:
        assert "ranks within 2 values of genre that all systems have (WCSR within them)" in words(
            figures.critical_difference(world(4, 30), test="friedman", unit="genre")
        )

    def test_ranks_need_something_to_rank(self) -> None:
        with pytest.raises(QueryError, match="at least two are needed"):
            figures.critical_difference(world(1, 4))
        ds = world(2, 4)
        ds["score"][0], ds["status"][0] = NAN, CODES["failed"]
        with pytest.raises(FigureError, match="no track has a score of every system"):
            figures.critical_difference(ds)
        with pytest.raises(FigureError, match="no track has a score of every system"):
            figures.critical_difference(ds, test="friedman")
        with pytest.raises(UnknownNameError, match="unknown test 'fridman'; did you mean 'friedman'"):
            figures.critical_difference(world(3, 9), test="fridman")


class TestGroups:
    @staticmethod
    def drawn(ax: Axes) -> tuple[np.ndarray, np.ndarray]:
        """Values of the dots, and ends of their intervals: (systems, groups) and (systems, groups, 2)."""
        ends = [[segment[:, 0] for segment in lines.get_segments()] for lines in ax.collections]
        return np.array([dots.get_xdata() for dots in ax.lines]), np.array(ends)

    def test_dots_are_the_answers_and_whiskers_their_intervals(self) -> None:
        ds = world(3, 40)
        ax = figures.groups(ds, "majmin", by="genre", replicates=500)
        answer = ds.mirflow.query("majmin", by="genre", replicates=500, ci=0.95).isel(metric=0)
        order = np.argsort(-answer["value"].values.mean(axis=1))
        dots, ends = self.drawn(ax)
        np.testing.assert_allclose(dots, answer["value"].values[order])
        np.testing.assert_allclose(ends[..., 0], answer["low"].values[order])
        np.testing.assert_allclose(ends[..., 1], answer["high"].values[order])
        assert [one.get_text() for one in ax.get_yticklabels()] == ["a genre with…a long name (20)", "b (20)"]

    @pytest.mark.parametrize("missing", ["common", "skip"])
    def test_of_many_systems_the_best_are_shown_over_the_tracks_common_to_all(self, missing: str) -> None:
        ds = world(12, 60, lacking=0.02)
        ax = figures.groups(ds, "majmin", by="genre", missing=missing, replicates=200)
        answer = ds.mirflow.query("majmin", by="genre", missing=missing, replicates=200, ci=0.95).isel(metric=0)
        best = np.argsort(-answer["value"].values.mean(axis=1))[:7]
        assert "the best 7 of 12 systems" in words(ax)
        dots, ends = self.drawn(ax)
        np.testing.assert_allclose(dots, answer["value"].values[best])
        np.testing.assert_allclose(ends[..., 0], answer["low"].values[best])
        np.testing.assert_allclose(ends[..., 1], answer["high"].values[best])

    def test_a_system_without_a_value_is_not_among_the_best_where_lower_is_better(self) -> None:
        score = np.linspace(1, 2, 9)[:, np.newaxis, np.newaxis] + np.zeros((9, 4, 1))
        score[8] = NAN
        status = np.where(np.isnan(score[..., 0]), "missing_estimate", "ok")
        meta = {"genre": ["a", "a", "b", "b"]}
        ds = make_group(score, status=status, track_meta=meta, orientation=["lower"], standard=["mean"])
        ax = figures.groups(ds, by="genre", missing="skip", level=None)
        assert ax.get_legend_handles_labels()[1] == [f"S{place}" for place in range(7)]

    def test_the_largest_groups_are_first_and_the_small_ones_are_together(self) -> None:
        genres = ["rare", "jazz", "jazz", "rock", "rock", "rock", "odd"]
        ds = make_group(np.arange(7.0).reshape(1, 7, 1), track_meta={"genre": genres}, standard=["mean"])
        ax = figures.groups(ds, by="genre", least=2, level=None)
        assert [one.get_text() for one in ax.get_yticklabels()] == ["rock (3)", "jazz (2)", "other (2)"]
        np.testing.assert_array_equal(self.drawn(ax)[0], [[4.0, 1.5, 3.0]])

    def test_groups_by_numbers_keep_their_order(self) -> None:
        ds = make_group(np.ones((1, 6, 1)), track_meta={"year": [1990, 1970, 1980, 1980, 1980, 1980]})
        ax = figures.groups(ds, by="year", least=2, level=None)
        assert [one.get_text() for one in ax.get_yticklabels()] == ["1970 (1)", "1980 (4)", "1990 (1)"]

    def test_without_groups_there_is_one_of_all_tracks(self) -> None:
        ax = figures.groups(world(2, 6), level=None)
        assert [one.get_text() for one in ax.get_yticklabels()] == ["all tracks (6)"]
        assert "interval" not in words(ax)

    def test_far_too_many_groups_are_refused(self) -> None:
        with pytest.raises(FigureError, match="300 groups are too many for a figure"):
            figures.groups(world(3, 300), by="track")


class TestTolerance:
    IDENTITIES = ("f_measure@0.02", "f_measure@0.1", "f_measure", "f_measure@0.02(trim=0.0)", "cemgil")

    def beats(self, systems: int = 3) -> xr.Dataset:
        ds = random_group(systems, 8, 5, metrics=list(self.IDENTITIES), standard=["mean"] * 5)
        return ds.assign_attrs(task="beat")

    def test_lines_are_the_answers_in_the_order_of_the_parameter(self) -> None:
        ds = self.beats()
        ax = figures.tolerance(ds)
        expected = ds.mirflow.query(["f_measure@0.02", "f_measure@0.07", "f_measure@0.1"])["value"].values
        for line in ax.lines:
            np.testing.assert_allclose(line.get_xdata(), [0.02, 0.07, 0.1])
        drawn = sorted(line.get_ydata().tolist() for line in ax.lines)
        np.testing.assert_allclose(drawn, sorted(expected.tolist()))
        assert ax.get_xlabel() == "window [s]"

    def test_another_parameter_may_be_swept(self) -> None:
        ax = figures.tolerance(self.beats(), "f_measure@0.02", parameter="trim")
        assert ax.lines[0].get_xdata().tolist() == [0.0, 5.0]

    def test_the_parameter_is_named_in_words(self) -> None:
        names = ["f_measure_no_offset@0.02", "f_measure_no_offset"]
        ds = random_group(3, 8, 2, metrics=names, standard=["mean"] * 2).assign_attrs(task="transcription")
        ax = figures.tolerance(ds, caption=True)
        assert ax.get_xlabel() == "onset tolerance [s]"
        assert "at several values of onset tolerance" in words(ax)

    def test_of_many_systems_the_best_have_colours(self) -> None:
        ax = figures.tolerance(self.beats(20))
        assert len(ax.lines) == 20
        assert len(ax.get_legend().get_texts()) == 7
        assert "grey: the other 13 systems" in words(ax)
        assert cut_off(ax) == overlapping(ax) == []

    def test_what_was_not_swept_has_no_curve(self) -> None:
        for metric, message in (
            ("f_measure(trim=0.0)", r"one value of 'window' of f_measure; compute several in the pipeline"),
            ("cemgil", "one value of 'sigma' of cemgil"),
        ):
            with pytest.raises(FigureError, match=message):
                figures.tolerance(self.beats(), metric)
        with pytest.raises(FigureError, match="no metric here has a number for a parameter"):
            figures.tolerance(world(2, 3))
        with pytest.raises(FigureError, match="the parameters of these metrics are not known here"):
            figures.tolerance(self.beats().assign_attrs(task="none"))
