"""Metrics with extra dims that ``over`` brings down to one number a track: everything works on them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from mirflow.analysis.dims import derive
from mirflow.analysis.inference import compare, friedman, intervals
from mirflow.analysis.inference.comparisons import mark_best
from mirflow.analysis.per_class import ask_extra
from mirflow.analysis.queries import aggregate, answers
from mirflow.analysis.scoreboard import from_dataset
from mirflow.analysis.selection import Question
from mirflow.analysis.worst import extremes
from mirflow.cells import Status
from mirflow.errors import QueryError, UnknownNameError
from mirflow.report import figures

from ..groups import make_group, random_group

SOURCES = ["bass", "mean", "vocals"]
VOCALS = {"source": "vocals"}


def separated(systems: int = 3, tracks: int = 9, seed: int = 0) -> xr.Dataset:
    """SDR by source, and the same numbers of the vocals as a plain metric beside it."""
    rng = np.random.default_rng(seed)
    values = rng.normal(5, 4, (systems, tracks, len(SOURCES)))
    values += np.arange(systems)[:, np.newaxis, np.newaxis]
    values[:, 0, 0] = np.nan  # a track without bass
    values[0, 1, 0] = np.nan  # one on which the first system alone has no score for it
    ds = make_group(
        values[..., 2:].copy(),
        weight=np.ones((systems, tracks, 1)),
        metrics=["sdr"],
        standard=["mean"],
        aggregates=["mean median"],
        unit=["dB"],
        task="separation",
        convention="mir_eval",
    )
    dims = ("system", "track", "source")
    variables = {
        "source_sdr_512": (dims, values, {"metric": "source_sdr", "units": "dB"}),
        "source_permutation_512": (
            dims,
            np.broadcast_to(np.arange(3.0), values.shape).copy(),
            {"metric": "source_permutation", "units": "1"},
        ),
    }
    return ds.assign(variables).assign_coords(source=SOURCES)


class TestTheSameAsAPlainMetric:
    def both(self, function, **words):
        board = from_dataset(separated())
        return function(board, Question("sdr", **words)), function(board, Question("source_sdr", over=VOCALS, **words))

    def test_intervals(self):
        plain, derived = self.both(lambda board, question: intervals(board, question, replicates=200))
        assert derived.metrics == ["source_sdr"]
        assert derived.attrs["over"] == "source=vocals"
        for name in ("value", "low", "high"):
            np.testing.assert_array_equal(getattr(derived, name), getattr(plain, name))

    def test_comparisons(self):
        plain, derived = self.both(lambda board, question: compare(board, question, replicates=200))
        for name, array in plain.arrays.items():
            np.testing.assert_array_equal(derived.arrays[name], array)

    def test_ranks(self):
        plain, derived = self.both(friedman)
        np.testing.assert_array_equal(derived.ranks.mean_rank, plain.ranks.mean_rank)

    def test_the_worst_tracks(self):
        plain, derived = self.both(lambda board, question: extremes(board, question, 3))
        assert derived.track == plain.track
        assert derived.unit == "dB"

    def test_which_systems_are_like_the_best(self):
        def marked(board, question):
            return mark_best(board, question, intervals(board, question, replicates=200))

        plain, derived = self.both(marked)
        np.testing.assert_array_equal(derived.like_best, plain.like_best)

    def test_figures(self):
        ds = separated()
        plain, derived = (figures.distributions(ds, "sdr"), figures.distributions(ds, "source_sdr", over=VOCALS))
        assert [one.get_text() for one in derived.get_yticklabels()] == [
            one.get_text() for one in plain.get_yticklabels()
        ]
        assert "over source=vocals" in " ".join(one.get_text() for one in derived.figure.texts + derived.texts)

    def test_from_xarray(self):
        found = separated().mirflow.compare("source_sdr", over=VOCALS, replicates=200)
        assert found["metric"].values.tolist() == ["source_sdr"]
        assert found.attrs["over"] == "source=vocals"


class TestOneLabel:
    def test_of_a_plain_question(self):
        ds = separated()
        answer = aggregate(ds, "source_sdr", over=VOCALS)
        assert answer["value"].dims == ("system",)
        np.testing.assert_allclose(answer["value"], aggregate(ds, "sdr")["value"].sel(metric="sdr"), rtol=1e-12)

    def test_a_reduction_comes_before_a_label_of_the_same_name(self):
        ds = separated()
        expected = ds["source_sdr_512"].mean("source").mean("track")
        np.testing.assert_allclose(aggregate(ds, "source_sdr", over={"source": "mean"})["value"], expected)

    def test_a_label_that_is_not_there(self):
        with pytest.raises(UnknownNameError, match="unknown reduction or source 'vocal'; did you mean 'vocals'"):
            aggregate(separated(), "source_sdr", over={"source": "vocal"})

    def test_what_no_system_has_is_nothing_to_measure_and_what_one_lacks_is_missing(self):
        board = from_dataset(separated())
        answer = intervals(board, Question("source_sdr", over={"source": "bass"}), replicates=100)
        assert answer.counts["n"][:, 0, 0].tolist() == [7, 7, 7]
        assert answer.counts["n_undefined"][:, 0, 0].tolist() == [1, 1, 1]
        assert answer.counts["n_missing"][:, 0, 0].tolist() == [1, 0, 0]

    def test_cells_that_failed_are_missing(self):
        ds = separated()
        ds["status"][1, 2] = Status.failed
        answer = intervals(from_dataset(ds), Question("source_sdr", over=VOCALS), replicates=100)
        assert answer.counts["n_missing"][:, 0, 0].tolist() == [0, 1, 0]
        assert answer.counts["n"][:, 0, 0].tolist() == [8, 8, 8]

    def test_beside_a_plain_metric(self):
        answer = intervals(from_dataset(separated()), Question(["source_sdr", "sdr"], over=VOCALS), replicates=100)
        assert answer.metrics == ["sdr", "source_sdr"]

    def test_the_order_of_the_systems(self):
        ds = separated()
        expected = aggregate(ds, "sdr", sort="sdr")["system"].values.tolist()
        assert aggregate(ds, "source_sdr", over=VOCALS, sort="source_sdr")["system"].values.tolist() == expected
        assert aggregate(ds, "sdr", over=VOCALS, sort="source_sdr")["system"].values.tolist() == expected


class TestRefused:
    def test_dims_that_are_left(self):
        board = from_dataset(separated())
        wanted = (
            "metric 'source_sdr' has the dim source; this takes one number a track: "
            "--over source=mean, or one alone: --over source=bass"
        )
        for function in (intervals, compare, friedman, extremes):
            with pytest.raises(QueryError, match=wanted):
                function(board, Question("source_sdr"))
        with pytest.raises(QueryError, match=wanted):
            figures.distributions(separated(), "source_sdr")

    def test_annotators(self):
        with pytest.raises(QueryError, match="metric 'source_sdr' has dims of its own"):
            intervals(from_dataset(separated()), Question("source_sdr", over=VOCALS, by="annotator"))

    def test_nothing_to_do(self):
        board, question = from_dataset(separated()), Question("sdr")
        assert derive(board, question) == (board, question)

    def test_order_of_sources_over_tracks(self):
        board = from_dataset(separated())
        with pytest.raises(QueryError, match=r"its numbers are names .* list them by track"):
            answers(board, Question("source_permutation"))
        (found,) = answers(board, Question("source_permutation", by="track"))
        assert found.nominal
        assert found.value[0, 0].tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(QueryError, match="its numbers are names"):
            intervals(board, Question("source_permutation", over=VOCALS))


class TestBareNames:
    METRICS = ("f_measure@0.02", "f_measure", "f_measure@0.1", "cemgil")

    def beats(self, metrics=METRICS) -> xr.Dataset:
        ds = random_group(2, 6, len(metrics), metrics=list(metrics), standard=["mean"] * len(metrics))
        return ds.assign_attrs(task="beat", convention="mir_eval").assign_coords(
            window=("metric", [0.02, 0.07, 0.1, np.nan][: len(metrics)])
        )

    def names(self, metric, **words):
        return aggregate(self.beats(), metric, **words)["metric"].values.tolist()

    def test_all_stored_parameters(self):
        assert self.names("f_measure") == ["f_measure@0.02", "f_measure", "f_measure@0.1"]
        assert self.names("F-Measure") == ["f_measure@0.02", "f_measure", "f_measure@0.1"]

    def test_the_default_alone_is_written_out(self):
        assert self.names("f_measure@0.07") == ["f_measure"]

    def test_narrowed_by_a_parameter(self):
        assert self.names("f_measure", param={"window": 0.1}) == ["f_measure@0.1"]

    def test_where_one_is_needed_the_default_answers_and_is_named(self):
        board = from_dataset(self.beats())
        found = compare(board, Question("f_measure"), replicates=100)
        assert found.metrics == ["f_measure"]
        assert found.attrs["default"] == "f_measure@0.07"
        assert extremes(board, Question("f_measure"), 1).metric == "f_measure"
        assert compare(board, Question("f_measure@0.1"), replicates=100).metrics == ["f_measure@0.1"]
        assert figures.distributions(self.beats(), "f_measure").get_xlabel() == "F_Measure"

    def test_without_the_default_one_has_to_be_named(self):
        board = from_dataset(self.beats(("f_measure@0.02", "f_measure@0.1")))
        with pytest.raises(QueryError, match=r"'f_measure' stands for 2 metrics; say one of: f_measure@0\.02, f_m"):
            compare(board, Question("f_measure"), replicates=100)

    def test_identities_as_they_are_stored(self):
        found = intervals(from_dataset(self.beats()), Question("f_measure", exact=True), replicates=100)
        assert found.metrics == ["f_measure"]


def test_a_plain_answer_does_not_change():
    board = from_dataset(separated())
    (found,) = answers(board, Question("source_sdr", over=VOCALS))
    np.testing.assert_array_equal(
        found.value, ask_extra(board, "source_sdr_512", Question(over={"source": "vocals"})).value
    )
