"""Aggregates over tracks, policies for missing and undefined scores, and groups of tracks."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mirflow.errors import QueryError, UnknownNameError

from ..groups import make_group, random_group

NAN = np.nan
GONE = "missing_estimate"


def one_system(**keywords):
    """Scores 1, 0 and 0.5 with 10, 30 and 40 evaluated seconds of 20, 60 and 80."""
    return make_group([[[1.0], [0.0], [0.5]]], [[[10], [30], [40]]], duration=[20, 60, 80], **keywords)


def two_systems(**keywords):
    """The second system lacks the first track."""
    score = [[[1.0], [0.0], [0.5]], [[NAN], [1.0], [1.0]]]
    weight = [[[10], [30], [40]]] * 2
    status = [[1, 1, 1], [GONE, 1, 1]]
    return make_group(score, weight, status=status, duration=[20, 60, 80], **keywords)


def values(answer: xr.Dataset) -> list[float]:
    return answer["value"].values.ravel().tolist()


class TestKinds:
    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("mean", 0.5),
            ("median", 0.5),
            ("pooled", 30 / 80),
            ("wcsr", 30 / 80),
            ("wcsr_tn", 60 / 160),
            ("wcsr_total", 30 / 160),
        ],
    )
    def test_each_is_what_it_says(self, kind, expected):
        assert values(one_system().mirflow.query("majmin", kind)) == [pytest.approx(expected, abs=1e-15)]

    def test_without_a_choice_it_is_each_metrics_own(self):
        ds = random_group(2, 7, 2, standard=["wcsr", "mean"])
        answer = ds.mirflow.query()
        assert answer["aggregate"].values.tolist() == ["wcsr", "mean"]
        np.testing.assert_allclose(
            answer["value"].sel(metric="root").values, ds["score"].sel(metric="root").mean("track").values, rtol=1e-15
        )

    @pytest.mark.parametrize("metrics", [1, 2, 4])
    @pytest.mark.parametrize("systems", [1, 3])
    def test_pooled_equals_xarrays_weighted_mean_to_the_bit(self, systems, metrics):
        ds = random_group(systems, 217, metrics)
        answer = ds.mirflow.query(aggregate="pooled")
        expected = ds["score"].weighted(ds["weight"]).mean("track").transpose("system", "metric")
        np.testing.assert_array_equal(answer["value"].values, expected.values)

    def test_pooled_skips_missing_cells_as_xarray_does(self):
        ds = two_systems()
        answer = ds.mirflow.query(aggregate="pooled", missing="skip")
        expected = ds["score"].weighted(ds["weight"]).mean("track")
        np.testing.assert_allclose(answer["value"].values, expected.values, rtol=1e-15)

    @given(
        arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 2)), elements=st.floats(0, 1))
    )
    def test_median_and_mean_equal_numpys(self, score):
        ds = make_group(score)
        np.testing.assert_allclose(
            ds.mirflow.query(aggregate="median")["value"].values, np.median(score, axis=1), rtol=1e-15, atol=0
        )
        np.testing.assert_allclose(
            ds.mirflow.query(aggregate="mean")["value"].values, np.mean(score, axis=1), rtol=1e-14, atol=1e-300
        )

    def test_the_median_of_two_is_between_them_where_their_sum_is_no_number(self):
        ds = make_group(np.array([[[1.5e308], [1.7e308]], [[-1.7e308], [1.0]]]))
        median = ds.mirflow.query(aggregate="median")["value"].values
        np.testing.assert_allclose(median, [[1.6e308], [-0.85e308]], rtol=1e-15)

    def test_an_aggregate_that_a_metric_does_not_define_is_refused(self):
        ds = random_group(1, 3, 2, aggregates=["mean median wcsr", "mean median"])
        with pytest.raises(QueryError, match=r"'wcsr' is not defined for metric 'root'; it has: mean, median"):
            ds.mirflow.query("root", "wcsr")

    def test_without_a_metric_those_answer_that_define_it(self):
        ds = random_group(1, 3, 2, aggregates=["mean median wcsr", "mean median"])
        answer = ds.mirflow.query(aggregate="wcsr")
        assert answer["metric"].values.tolist() == ["majmin"]
        assert answer.attrs["left_out"] == "root"

    @pytest.mark.parametrize("kind", ["wcsr_tn", "wcsr_total"])
    def test_durations_that_are_not_known_are_no_zeros(self, kind):
        with pytest.raises(QueryError, match=f"'{kind}' needs the durations of the references, and that of track 't0'"):
            one_system().drop_vars("duration").mirflow.query("majmin", kind)
        assert values(one_system().drop_vars("duration").mirflow.query("majmin", "wcsr")) == [0.375]

    def test_unknown_aggregate(self):
        with pytest.raises(UnknownNameError, match="unknown aggregate 'wcrs'; did you mean 'wcsr'"):
            one_system().mirflow.query(aggregate="wcrs")


class TestMissing:
    def test_one_system_skips_by_default_and_says_so(self):
        answer = two_systems().mirflow.query("majmin", "mean", system="S1")
        assert answer.attrs["missing"] == "skip"
        assert (values(answer), answer["n"].item(), answer["n_missing"].item()) == ([1.0], 2, 1)

    def test_several_systems_are_compared_on_common_tracks(self):
        answer = two_systems().mirflow.query("majmin", "mean")
        assert answer.attrs["missing"] == "common"
        assert values(answer) == [0.25, 1.0]
        assert answer["n"].values.tolist() == [[2], [2]]
        assert answer["n_missing"].values.tolist() == [[0], [1]]
        assert answer["n_tracks"].item() == 3

    def test_skip_takes_what_each_system_has(self):
        answer = two_systems().mirflow.query("majmin", "mean", missing="skip")
        assert values(answer) == [0.5, 1.0]
        assert answer["n"].values.ravel().tolist() == [3, 2]

    def test_zero_counts_with_the_stored_weight(self):
        assert values(two_systems().mirflow.query("majmin", "mean", missing="zero")) == [0.5, pytest.approx(2 / 3)]
        assert values(two_systems().mirflow.query("majmin", "wcsr", missing="zero")) == [0.375, 70 / 80]

    def test_zero_leaves_tracks_without_reference_out(self):
        ds = make_group([[[1.0], [NAN]]], [[[10], [0]]], status=[[1, "missing_reference"]], duration=[20, 0])
        answer = ds.mirflow.query("majmin", "mean", missing="zero")
        assert (values(answer), answer["n"].item(), answer["n_missing"].item()) == ([1.0], 1, 1)

    def test_zero_leaves_unusable_references_out(self):
        status = [[1, "invalid", "unreadable"]]
        ds = make_group([[[1.0], [NAN], [NAN]]], [[[10], [0], [0]]], status=status, duration=[20, 0, 0])
        answer = ds.mirflow.query("majmin", "mean", missing="zero")
        assert (values(answer), answer["n"].item(), answer["n_missing"].item()) == ([1.0], 1, 2)

    def test_zero_counts_an_unreadable_estimate_of_an_undefined_metric(self):
        ds = make_group([[[1.0], [NAN]]], [[[10], [0]]], status=[[1, "unreadable"]], duration=[20, 30])
        assert values(ds.mirflow.query("majmin", "mean", missing="zero")) == [0.5]

    def test_zero_is_refused_where_lower_is_better(self):
        ds = two_systems(orientation=["lower"])
        with pytest.raises(QueryError, match="metric 'majmin': lower is better, so a missing score cannot count as 0"):
            ds.mirflow.query(missing="zero")

    def test_raise_lists_the_cells(self):
        with pytest.raises(QueryError, match=r"1 of 6 cells have no score.*\n  system 'S1', track 't0': missing_est"):
            two_systems().mirflow.query(missing="raise")

    def test_the_list_of_cells_is_cut(self):
        ds = make_group(np.full((1, 9, 1), NAN), status="failed")
        with pytest.raises(QueryError, match="and 4 more"):
            ds.mirflow.query(missing="raise")

    def test_a_nan_among_scored_cells_is_missing_too(self):
        answer = make_group([[[1.0], [NAN]]]).mirflow.query("majmin", "mean")
        assert (values(answer), answer["n_missing"].item()) == ([1.0], 1)

    def test_nothing_in_common_gives_nan_and_counts(self):
        ds = make_group([[[1.0], [NAN]], [[NAN], [1.0]]], status=[[1, GONE], [GONE, 1]])
        answer = ds.mirflow.query()
        assert np.isnan(values(answer)).all()
        assert answer["n"].values.ravel().tolist() == [0, 0]

    def test_unknown_policies(self):
        with pytest.raises(UnknownNameError, match="policy for missing scores 'comon'; did you mean 'common'"):
            one_system().mirflow.query(missing="comon")
        for policy in ("drop", None):
            with pytest.raises(UnknownNameError, match=f"policy for undefined scores '{policy}'"):
                one_system().mirflow.query(undefined=policy)


class TestUndefined:
    def group(self):
        return make_group([[[1.0], [0.0]]], [[[10], [0]]], duration=[20, 20])

    def test_kept_by_default_and_counted(self):
        answer = self.group().mirflow.query("majmin", "mean")
        assert (values(answer), answer["n"].item(), answer["n_undefined"].item()) == ([0.5], 2, 1)
        assert answer.attrs["undefined"] == "keep"

    def test_skipped_when_asked(self):
        answer = self.group().mirflow.query("majmin", "mean", undefined="skip")
        assert (values(answer), answer["n"].item(), answer["n_undefined"].item()) == ([1.0], 1, 1)

    def test_skipping_takes_their_seconds_out_of_the_total(self):
        assert values(self.group().mirflow.query("majmin", "wcsr_total")) == [0.25]
        assert values(self.group().mirflow.query("majmin", "wcsr_total", undefined="skip")) == [0.5]

    def test_weighted_aggregates_do_not_see_them(self):
        assert values(self.group().mirflow.query("majmin", "wcsr")) == [1.0]

    def test_nothing_but_undefined_weighs_nothing(self):
        assert np.isnan(values(make_group([[[0.0]]], 0.0).mirflow.query("majmin", "pooled"))).all()

    def test_an_undefined_score_without_a_value_is_left_out(self):
        answer = make_group([[[1.0], [NAN]]], [[[10], [0]]]).mirflow.query("majmin", "mean")
        assert (values(answer), answer["n"].item(), answer["n_undefined"].item()) == ([1.0], 1, 1)


class TestGroups:
    def group(self):
        return make_group(
            [[[1.0], [0.0], [0.5], [0.7]]],
            [[[10], [30], [40], [5]]],
            track_meta={"genre": ["rock", "pop", "rock", ""], "year": [1963.0, 1963.0, NAN, 1970.0]},
        )

    def test_by_one_coordinate(self):
        answer = self.group().mirflow.query("majmin", "mean", "genre")
        assert answer["value"].dims == ("system", "metric", "genre")
        assert answer["genre"].values.tolist() == ["pop", "rock", ""]
        assert values(answer) == [0.0, 0.75, 0.7]
        assert answer["n_tracks"].values.tolist() == [1, 2, 1]

    def test_by_several_is_their_product(self):
        answer = self.group().mirflow.query("majmin", "mean", ["genre", "year"])
        assert answer["value"].shape == (1, 1, 3, 3)
        assert answer["value"].sel(genre="pop", year=1963).item() == 0.0
        assert answer["n_tracks"].sel(genre="pop", year=1970).item() == 0
        assert np.isnan(answer["value"].sel(genre="pop", year=1970).item())

    def test_tracks_without_a_number_are_a_group_of_their_own(self):
        answer = self.group().mirflow.query("majmin", "mean", "year")
        assert answer["n_tracks"].values.tolist() == [2, 1, 1]
        assert np.isnan(answer["year"].values[-1])

    def test_by_track_gives_the_scores_back(self):
        ds = random_group(2, 12, 3)
        answer = ds.mirflow.query(aggregate="wcsr", by="track")
        xr.testing.assert_allclose(
            answer["value"].sortby("track").drop_vars("aggregate"),
            ds["score"].sortby("track").transpose("system", "metric", "track"),
        )

    def test_a_group_equals_the_question_to_its_tracks_alone(self):
        ds = random_group(2, 20, 2, track_meta={"genre": ["a", "b"] * 10})
        grouped = ds.mirflow.query(aggregate="wcsr_tn", by="genre").sel(genre="b")
        alone = ds.mirflow.query(aggregate="wcsr_tn", tracks=ds["track"].values[1::2].tolist())
        np.testing.assert_allclose(grouped["value"].values, alone["value"].values, rtol=1e-15)

    def test_text_of_any_storage(self):
        ds = self.group()
        expected = ds.mirflow.query(by="genre")
        for dtype in (object, np.dtypes.StringDType()):
            xr.testing.assert_equal(
                ds.assign_coords(genre=ds["genre"].astype(dtype)).mirflow.query(by="genre"), expected
            )

    def test_unknown_and_misplaced_coordinates(self):
        with pytest.raises(UnknownNameError, match="unknown track coordinate 'gerne'; did you mean 'genre'"):
            self.group().mirflow.query(by="gerne")
        with pytest.raises(QueryError, match="by 'unit': it lies along metric; tracks can be grouped by: genre"):
            self.group().mirflow.query(by="unit")


class TestNames:
    def test_the_order_of_the_question_is_kept(self):
        answer = random_group(3, 4, 3).mirflow.query(["seg", "majmin", "seg"], "mean", system=["S2", "S0"])
        assert answer["metric"].values.tolist() == ["seg", "majmin"]
        assert answer["system"].values.tolist() == ["S2", "S0"]

    def test_coordinates_of_systems_and_metrics_come_along(self):
        ds = random_group(2, 4, 2).assign_coords(year=("system", [2012, 2013]))
        answer = ds.mirflow.query("root")
        assert answer["year"].values.tolist() == [2012, 2013]
        assert answer["title"].values.tolist() == ["Root"]

    @pytest.mark.parametrize(
        ("question", "message"),
        [
            ({"metric": "majmim"}, "unknown metric 'majmim'; did you mean 'majmin'"),
            ({"system": "KO1"}, "unknown system 'KO1'; known: S0, S1"),
            ({"tracks": ["t1", "x"]}, "unknown track 'x'"),
        ],
    )
    def test_unknown_names_get_a_suggestion(self, question, message):
        with pytest.raises(UnknownNameError, match=message):
            random_group(2, 3, 2).mirflow.query(**question)

    def test_a_bare_name_stands_for_all_its_parameters(self):
        ds = random_group(1, 3, 3, metrics=["right@root", "right@majmin(x=1)", "rightmost"])
        assert ds.mirflow.query("right")["metric"].values.tolist() == ["right@root", "right@majmin(x=1)"]

    def test_a_sweep_stands_for_its_parameters(self):
        ds = random_group(1, 3, 3, metrics=["right@root", "right@majmin", "right@sevenths"])
        found = ds.mirflow.query(["right@[root,sevenths]", "right@majmin"])["metric"].values.tolist()
        assert found == ["right@root", "right@sevenths", "right@majmin"]
        with pytest.raises(UnknownNameError, match="unknown metric 'right@roof'; did you mean 'right@root'"):
            ds.mirflow.query("right@[root,roof]")

    def test_other_spellings_of_an_identity(self):
        """An alias of the record, and a parameter that is the default."""
        ds = random_group(1, 3, 2, metrics=["majmin", "csr"])
        assert ds.mirflow.query(["MajMin", "csr@majmin"])["metric"].values.tolist() == ["majmin", "csr"]

    def test_a_task_that_is_not_known_here_is_no_obstacle(self):
        assert random_group(1, 3, 1, task="smell").mirflow.query("majmin")["n"].item() == 3

    def test_not_a_group(self):
        with pytest.raises(QueryError, match="not the scores of an evaluation: no score, weight, status"):
            xr.Dataset().mirflow.query()


def test_a_lazy_group_is_computed_once():
    computed = []

    def scores(block):
        computed.append(block.shape)
        return block

    ds = random_group(2, 6, 2)
    lazy = ds.assign(
        score=xr.apply_ufunc(scores, ds["score"].chunk(track=6), dask="parallelized", output_dtypes=[float])
    )
    lazy = lazy.assign(weight=lazy["score"] * 0 + ds["weight"])
    computed.clear()
    xr.testing.assert_allclose(lazy.mirflow.query(), ds.mirflow.query())
    assert len(computed) == 1
