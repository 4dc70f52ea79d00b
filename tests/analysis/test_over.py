"""Reductions within a track: against numpy's and pandas' own, and museval's published aggregate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mirflow.analysis.dims import REDUCTIONS, reduce_along, reduce_over
from mirflow.analysis.inference import intervals
from mirflow.analysis.per_class import ask_extra
from mirflow.analysis.queries import aggregate, query
from mirflow.analysis.scoreboard import from_dataset
from mirflow.analysis.selection import Question
from mirflow.cells import Status
from mirflow.cli.output import tables_of
from mirflow.errors import QueryError, UnknownNameError
from mirflow.report.layout import entries_table, matrix_tables, scores_table

from ..groups import make_group

SOURCES, FRAMES = ["vocals", "drums", "bass"], 7


def separated(systems: int = 2, tracks: int = 5, seed: int = 0) -> xr.Dataset:
    """Framewise SDR by source under museval's convention; tracks end early, and silent frames have none."""
    rng = np.random.default_rng(seed)
    frames = rng.normal(5, 4, (systems, tracks, len(SOURCES), FRAMES))
    for track in range(tracks):
        frames[:, track, :, FRAMES - track :] = np.nan
    frames[rng.random(frames.shape) < 0.1] = np.nan
    ds = make_group(
        rng.normal(5, 1, (systems, tracks, 1)),
        metrics=["sdr"],
        standard=["median"],
        aggregates=["mean median"],
        unit=["dB"],
        task="separation",
        convention="museval",
        track_meta={"genre": list("abab" * 9)[:tracks]},
    )
    dims = ("system", "track", "source", "frame")
    attrs = {"metric": "frame_sdr", "units": "dB"}
    coords = {"source": SOURCES, "frame": [f"{number}.0" for number in range(FRAMES)]}
    return ds.assign(**{"frame_sdr_1.0": (dims, frames, attrs)}).assign_coords(coords)


def frames_of(ds: xr.Dataset) -> pd.DataFrame:
    """One row a frame, as museval's own aggregation has them."""
    return ds["frame_sdr_1.0"].to_dataframe(name="score").reset_index()


@pytest.mark.parametrize("over", [None, {"frame": "median"}])
def test_best_first_goes_by_the_mean_of_the_values_of_metrics_with_dims(over):
    ds = separated(4)
    stored = ask_extra(from_dataset(ds), "frame_sdr_1.0", Question(over=over))
    mean = np.nanmean(stored.value.reshape(4, -1), axis=1)
    best = ask_extra(from_dataset(ds), "frame_sdr_1.0", Question(over=over, sort="best"))
    assert best.systems == [stored.systems[place] for place in np.argsort(-mean)] != stored.systems
    for place, name in enumerate(best.systems):
        np.testing.assert_array_equal(best.value[place], stored.value[stored.systems.index(name)])


class TestReductions:
    @pytest.mark.parametrize("how", list(REDUCTIONS))
    @given(arrays(np.float64, (3, 4), elements=st.sampled_from([np.nan, -2.0, 0.0, 1.5, 3.0])))
    def test_as_pandas(self, how, values):
        keep = {"min_count": 1} if how == "sum" else {}
        expected = getattr(pd.DataFrame(values), how)(axis=1, **keep).to_numpy()
        np.testing.assert_allclose(reduce_along(values, 1, how), expected, rtol=1e-12)

    @pytest.mark.parametrize("how", list(REDUCTIONS))
    def test_of_nothing_there_is_none(self, how):
        assert np.isnan(reduce_along(np.empty((2, 0)), 1, how)).all()

    def test_in_the_order_given(self):
        values = np.array([[[1.0, 2.0, 9.0], [4.0, 4.0, 4.0]]])
        dims = {"source": ["vocals", "drums"], "frame": ["0", "1", "2"]}
        assert reduce_over(values, dims, {"frame": "median", "source": "mean"}).tolist() == [3.0]
        assert reduce_over(values, dims, {"source": "mean", "frame": "median"}).tolist() == [3.0]
        assert reduce_over(values, dims, {"frame": "max", "source": "min"}).tolist() == [4.0]
        assert reduce_over(values, dims, {"source": "min", "frame": "max"}).tolist() == [4.0]

    def test_infinite_scores(self):
        values = np.array([[np.inf, 1.0, 2.0], [np.inf, -np.inf, 0.0]])
        assert reduce_along(values, 1, "median").tolist() == [2.0, 0.0]
        mean = reduce_along(values, 1, "mean")
        assert mean[0] == np.inf
        assert np.isnan(mean[1])


class TestMuseval:
    def test_the_median_over_frames_then_over_tracks_by_source(self):
        ds = separated()
        answer = aggregate(ds, "frame_sdr", over={"frame": "median"})
        assert answer.attrs["aggregate"] == "median"
        by_track = frames_of(ds).groupby(["system", "track", "source"])["score"].median()
        expected = by_track.groupby(["system", "source"]).median().unstack()[SOURCES]
        np.testing.assert_allclose(
            answer["value"].transpose("system", "source").values, expected.to_numpy(), rtol=1e-12
        )

    def test_then_the_mean_over_sources(self):
        ds = separated()
        answer = aggregate(ds, "frame_sdr", "mean", over={"frame": "median", "source": "mean"})
        by_track = frames_of(ds).groupby(["system", "track", "source"])["score"].median()
        expected = by_track.groupby(["system", "track"]).mean().groupby("system").mean()
        np.testing.assert_allclose(answer["value"].values, expected.to_numpy(), rtol=1e-12)
        assert answer.attrs["over"] == "frame=median, source=mean"

    def test_what_is_not_reduced_stays(self):
        ds = separated()
        answer = aggregate(ds, "frame_sdr", "mean")
        assert answer["value"].dims == ("system", "source", "frame")
        expected = frames_of(ds).groupby(["system", "source", "frame"])["score"].mean()
        np.testing.assert_allclose(
            answer["value"].to_series().reorder_levels(expected.index.names).reindex(expected.index),
            expected,
            rtol=1e-12,
        )
        counts = frames_of(ds).groupby(["system", "source", "frame"])["score"].count()
        np.testing.assert_array_equal(answer["n_values"].to_series().reindex(counts.index), counts)

    def test_groups_of_tracks(self):
        ds = separated()
        answer = aggregate(ds, "frame_sdr", by="genre", over={"frame": "median"})
        alone = aggregate(ds, "frame_sdr", over={"frame": "median"}, where="genre == 'b'")
        np.testing.assert_array_equal(answer["value"].sel(genre="b").values, alone["value"].values)

    def test_missing_cells_do_not_count(self):
        ds = separated()
        ds["status"][0, 2] = Status.failed
        ds["frame_sdr_1.0"][0, 2] = np.nan
        answer = aggregate(ds, "frame_sdr", over={"frame": "median"})
        np.testing.assert_array_equal(answer["n"].values, [4, 4])
        alone = aggregate(separated(), "frame_sdr", over={"frame": "median"}, tracks=["t0", "t1", "t3", "t4"])
        np.testing.assert_array_equal(answer["value"].values, alone["value"].values)
        with pytest.raises(QueryError, match="not known what missing scores count for; choose skip or common"):
            aggregate(ds, "frame_sdr", missing="zero")


class TestRefused:
    def test_a_dim_or_a_reduction_that_is_not_there(self):
        with pytest.raises(UnknownNameError, match="unknown dim of frame_sdr 'frme'; did you mean 'frame'"):
            aggregate(separated(), "frame_sdr", over={"frme": "median"})
        with pytest.raises(UnknownNameError, match="unknown reduction or frame 'medain'; did you mean 'median'"):
            aggregate(separated(), "frame_sdr", over={"frame": "medain"})

    def test_a_metric_without_dims(self):
        with pytest.raises(QueryError, match="'sdr' is one number for each track, and has no dims to reduce"):
            aggregate(separated(), "sdr", over={"frame": "median"})

    def test_inference_which_is_about_single_numbers(self):
        with pytest.raises(QueryError, match="'sdr' is one number for each track"):
            intervals(from_dataset(separated()), Question("sdr", over={"frame": "median"}))

    def test_scores_do_not_add_up(self):
        with pytest.raises(QueryError, match="'sum' is not defined for metric 'frame_sdr'; it has: mean, median"):
            aggregate(separated(), "frame_sdr", "sum")

    def test_annotators(self):
        with pytest.raises(QueryError, match=r"annotators: .* metric 'frame_sdr' has dims of its own"):
            aggregate(separated(), "frame_sdr", by="annotator")


class TestTables:
    def test_sources_run_across(self):
        board = from_dataset(separated())
        table = scores_table(ask_extra(board, "frame_sdr_1.0", Question(over={"frame": "median"})))
        assert table.columns == ("system", *SOURCES, "n")
        assert table.title.endswith("over frame=median; frame_sdr [dB]")
        assert table.notes[0] == "in each track frame: median; then median: median over the tracks"

    def test_nothing_is_left_but_one_number(self):
        board = from_dataset(separated())
        question = Question(over={"frame": "median", "source": "mean"})
        table = scores_table(ask_extra(board, "frame_sdr_1.0", question))
        assert table.columns == ("system", "frame_sdr", "n")
        assert [row[2] for row in table.rows] == ["5", "5"]

    def test_what_is_too_wide_has_systems_across_or_a_row_for_each_entry(self):
        answer = ask_extra(from_dataset(separated()), "frame_sdr_1.0", Question())
        assert scores_table(answer, width=200).columns[:2] == ("system", "source")
        assert scores_table(answer, width=60).columns == ("source", "frame", *answer.systems, "n")
        assert scores_table(answer, width=20).columns == ("system", "source", "frame", "value", "n")

    def test_programs_get_every_entry_that_has_a_value(self):
        answer = ask_extra(from_dataset(separated()), "frame_sdr_1.0", Question())
        table = entries_table(answer)
        assert len(table.rows) == int((answer.n_values > 0).sum())
        numbers = [row[table.columns.index("n")] for row in table.rows]
        assert sum(numbers) == int(answer.n_values.sum())

    def test_scores_are_no_matrices(self):
        answer = ask_extra(from_dataset(separated()), "frame_sdr_1.0", Question(over={"frame": "median"}))
        assert len(matrix_tables(answer)) == 1


def test_from_a_tree_too():
    ds = separated()
    tree = xr.DataTree.from_dict({"/separation": ds})
    expected = aggregate(ds, "frame_sdr", over={"frame": "median"})
    xr.testing.assert_equal(query(tree, "frame_sdr", over={"frame": "median"}), expected)


class TestSorted:
    def order(self, **words):
        return aggregate(separated(systems=4), "frame_sdr", over={"frame": "median", "source": "mean"}, **words)

    def test_by_its_own_figures_the_best_first(self):
        found = self.order(sort="frame_sdr")["value"].to_series()
        expected = self.order()["value"].to_series().sort_values(ascending=False)
        assert found.index.tolist() == expected.index.tolist()
        assert self.order(sort="frame_sdr", by="genre")["system"].values.tolist() == expected.index.tolist()

    def test_by_another_metric(self):
        ds = separated(systems=4)
        expected = aggregate(ds, "sdr", sort="sdr")["system"].values.tolist()
        assert self.order(sort="sdr")["system"].values.tolist() == expected

    def test_dims_that_are_left_have_no_order(self):
        with pytest.raises(QueryError, match=r"sort 'frame_sdr': it has dims of its own \(source\); reduce them"):
            aggregate(separated(), "frame_sdr", over={"frame": "median"}, sort="frame_sdr")
        with pytest.raises(
            QueryError,
            match="'frame_sdr' has the dims source and frame; this takes one number a track: --over source=mean",
        ):
            aggregate(separated(), "sdr", sort="frame_sdr")


def test_sources_that_differ_in_how_many_tracks_they_have():
    ds = separated()
    ds["frame_sdr_1.0"][:, 0, 1] = np.nan
    table = scores_table(ask_extra(from_dataset(ds), "frame_sdr_1.0", Question(over={"frame": "median"})))
    assert table.notes[-1] == "n by column: vocals: 5, drums: 4, bass: 5"
    ds["frame_sdr_1.0"][0, 1, 1] = np.nan
    table = scores_table(ask_extra(from_dataset(ds), "frame_sdr_1.0", Question(over={"frame": "median"})))
    assert table.notes[-1].startswith("n: the fewest and the most of a row")


def test_nothing_runs_across_but_what_the_metric_has():
    answer = ask_extra(from_dataset(separated()), "frame_sdr_1.0", Question(over={"frame": "median"}))
    with pytest.raises(QueryError, match="pivot 'group': of frame_sdr the labels run across, or the systems"):
        tables_of(answer, "table", across="group")
    (table,) = tables_of(answer, "table", across="system")
    assert table.columns == ("source", *answer.systems, "n")
