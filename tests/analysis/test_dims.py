"""Metrics with extra dims: reductions within a track, against numpy's, pandas' and museval's aggregates."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mirflow
from mirflow.analysis.dims import REDUCTIONS
from mirflow.errors import QueryError, UnknownNameError

from ..commands import invoke, printed, refused, rows
from ..groups import CODES, make_group, random_group, write_store

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


class TestEqualToAPlainMetric:
    @staticmethod
    def both(name: str, *words, **options) -> tuple[xr.Dataset, xr.Dataset]:
        """Results of one method for the plain metric and for the reduced one."""
        ask = getattr(separated().mirflow, name)
        return ask("sdr", *words, **options), ask("source_sdr", *words, over=VOCALS, **options)

    @pytest.mark.parametrize(
        ("name", "words", "options"),
        [
            ("query", (), {"ci": 0.9, "replicates": 200}),
            ("compare", (), {"replicates": 200}),
            ("compare", (), {"friedman": True}),
            ("worst", (), {"n": 3}),
        ],
    )
    def test_values(self, name, words, options):
        plain, derived = self.both(name, *words, **options)
        assert set(derived.data_vars) == set(plain.data_vars)
        for variable in plain.data_vars:
            np.testing.assert_array_equal(derived[variable].values, plain[variable].values)
        assert derived.attrs["over"] == "source=vocals"
        assert (derived.attrs["metric"] if name == "worst" else derived["metric"].item()) == "source_sdr"

    def test_plots(self):
        plot = separated().mirflow.plot
        plain, derived = plot.distributions("sdr"), plot.distributions("source_sdr", over=VOCALS)
        labels = [[one.get_text() for one in axes.get_yticklabels()] for axes in (plain, derived)]
        assert labels[0] == labels[1]
        assert "over source=vocals" in " ".join(one.get_text() for one in derived.figure.texts + derived.texts)

    def test_marks_beside_the_best(self, tmp_path):
        ds = separated()
        store = write_store(tmp_path / "s.zarr", {"separation": ds})
        marked = ("query", store, "--ci", "--significance")
        plain, derived = rows(*marked, "-m", "sdr"), rows(*marked, "-m", "source_sdr", "--over", "source=vocals")
        assert [row["like_best"] for row in derived] == [row["like_best"] for row in plain]


class TestOneLabel:
    def test_of_a_plain_question(self):
        ds = separated()
        answer = ds.mirflow.query("source_sdr", over=VOCALS)
        assert answer["value"].dims == ("system",)
        np.testing.assert_allclose(answer["value"], ds.mirflow.query("sdr")["value"].sel(metric="sdr"), rtol=1e-12)

    def test_a_reduction_comes_before_a_label_of_the_same_name(self):
        ds = separated()
        expected = ds["source_sdr_512"].mean("source").mean("track")
        np.testing.assert_allclose(ds.mirflow.query("source_sdr", over={"source": "mean"})["value"], expected)

    def test_a_label_that_is_not_there(self):
        with pytest.raises(UnknownNameError, match="unknown reduction or source 'vocal'; did you mean 'vocals'"):
            separated().mirflow.query("source_sdr", over={"source": "vocal"})

    def test_what_no_system_has_is_nothing_to_measure_and_what_one_lacks_is_missing(self):
        answer = separated().mirflow.query("source_sdr", over={"source": "bass"}, replicates=100, ci=0.95)
        assert answer["n"].values[:, 0].tolist() == [7, 7, 7]
        assert answer["n_undefined"].values[:, 0].tolist() == [1, 1, 1]
        assert answer["n_missing"].values[:, 0].tolist() == [1, 0, 0]

    def test_cells_that_failed_are_missing(self):
        ds = separated()
        ds["status"][1, 2] = CODES["failed"]
        answer = ds.mirflow.query("source_sdr", over=VOCALS, replicates=100, ci=0.95)
        assert answer["n_missing"].values[:, 0].tolist() == [0, 1, 0]
        assert answer["n"].values[:, 0].tolist() == [8, 8, 8]

    def test_beside_a_plain_metric(self):
        answer = separated().mirflow.query(["source_sdr", "sdr"], over=VOCALS, replicates=100, ci=0.95)
        assert answer["metric"].values.tolist() == ["sdr", "source_sdr"]

    def test_the_order_of_the_systems(self):
        ds = separated()
        expected = ds.mirflow.query("sdr", sort="sdr")["system"].values.tolist()
        assert ds.mirflow.query("source_sdr", over=VOCALS, sort="source_sdr")["system"].values.tolist() == expected
        assert ds.mirflow.query("sdr", over=VOCALS, sort="source_sdr")["system"].values.tolist() == expected


class TestAlongDims:
    """Intervals and tests of the means along dims that are left: those of each label alone."""

    def test_intervals_are_those_of_each_label(self):
        ds = separated()
        found, alone = ds.mirflow.query("source_sdr", ci=0.95), ds.mirflow.query("source_sdr", over=VOCALS, ci=0.95)
        for name in ("value", "low", "high"):
            expected = alone[name].squeeze("metric").values
            np.testing.assert_allclose(found[name].sel(source="vocals").values, expected, rtol=1e-12)

    def test_statistics_across_labels_have_intervals(self):
        ds = separated().isel(track=slice(2, None))  # all have all sources
        found = ds.mirflow.query("source_sdr", across={"source": "mean"}, ci=0.95)
        within = ds.mirflow.query("source_sdr", over={"source": "mean"}, ci=0.95)
        for name in ("value", "low", "high"):
            np.testing.assert_allclose(found[name].values, within[name].values, rtol=1e-10)

    def test_comparisons_are_those_of_each_label(self):
        ds = separated()
        found = ds.mirflow.compare("source_sdr").sel(metric="source_sdr, vocals")
        alone = ds.mirflow.compare("source_sdr", over=VOCALS).squeeze("metric")
        for name in ("difference", "low", "high", "p", "p_corrected"):
            np.testing.assert_allclose(found[name].values, alone[name].values, rtol=1e-12)

    def test_an_infinite_score_is_in_no_interval(self):
        ds = separated()
        ds["source_sdr_512"][0, 4, 2] = np.inf
        found = ds.mirflow.query("source_sdr", ci=0.95)
        assert np.isnan(found["low"].sel(source="vocals").values).tolist() == [True, False, False]
        assert np.isinf(found["value"].sel(source="vocals").values).tolist() == [True, False, False]

    def test_stars_and_tables(self, tmp_path):
        store = write_store(tmp_path / "s.zarr", {"separation": separated()})
        shown = printed("query", store, "-m", "source_sdr", "--ci", "--significance")
        assert "confidence interval, bootstrap over tracks" in shown
        assert "wins" not in printed("compare", store, "-m", "source_sdr", "--across", "source=mean")


class TestRefused:
    @pytest.mark.parametrize("name", ["compare", "worst", "plot.distributions"])
    def test_dims_that_are_left(self, name):
        wanted = (
            "metric 'source_sdr' has the dim source; this needs one number per track: "
            "--over source=mean, or one alone: --over source=bass"
        )
        with pytest.raises(QueryError, match=wanted):
            attrgetter(name)(separated().mirflow)("source_sdr", **({"friedman": True} if name == "compare" else {}))

    def test_other_statistics_than_the_mean_along_dims(self):
        wanted = "metric 'source_sdr' has the dim source; this needs one number per track"
        with pytest.raises(QueryError, match=wanted):
            separated().mirflow.query("source_sdr", "median", ci=0.95)
        with pytest.raises(QueryError, match="test 't' needs one number per track, and metric 'source_sdr' has dims"):
            separated().mirflow.compare("source_sdr", test="t")

    def test_annotators(self):
        with pytest.raises(QueryError, match="metric 'source_sdr' has extra dims"):
            separated().mirflow.query("source_sdr", over=VOCALS, by="annotator", ci=0.95)

    def test_order_of_sources_over_tracks(self):
        ds = separated()
        with pytest.raises(QueryError, match=r"its numbers are names .* list them by track"):
            ds.mirflow.query("source_permutation")
        found = ds.mirflow.query("source_permutation", by="track")
        assert found["value"].values[0, 0].tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(QueryError, match="its numbers are names"):
            ds.mirflow.query("source_permutation", over=VOCALS, ci=0.95)


class TestBareNames:
    METRICS = ("f_measure@0.02", "f_measure", "f_measure@0.1", "cemgil")

    def beats(self, metrics=METRICS) -> xr.Dataset:
        ds = random_group(2, 6, len(metrics), metrics=list(metrics), standard=["mean"] * len(metrics))
        return ds.assign_attrs(task="beat", convention="mir_eval").assign_coords(
            window=("metric", [0.02, 0.07, 0.1, np.nan][: len(metrics)])
        )

    def names(self, metric, **words):
        return self.beats().mirflow.query(metric, **words)["metric"].values.tolist()

    def test_all_stored_parameters(self):
        assert self.names("f_measure") == ["f_measure@0.02", "f_measure", "f_measure@0.1"]
        assert self.names("F-Measure") == ["f_measure@0.02", "f_measure", "f_measure@0.1"]

    def test_the_default_alone_is_written_out(self):
        assert self.names("f_measure@0.07") == ["f_measure"]

    def test_narrowed_by_a_parameter(self):
        assert self.names("f_measure", param={"window": 0.1}) == ["f_measure@0.1"]

    def test_where_one_is_needed_the_default_answers_and_is_named(self):
        ds = self.beats()
        found = ds.mirflow.compare("f_measure", replicates=100)
        assert found["metric"].values.tolist() == ["f_measure"]
        assert found.attrs["default"] == "f_measure@0.07"
        assert ds.mirflow.worst("f_measure", n=1).attrs["metric"] == "f_measure"
        assert ds.mirflow.compare("f_measure@0.1", replicates=100)["metric"].values.tolist() == ["f_measure@0.1"]
        assert ds.mirflow.plot.distributions("f_measure").get_xlabel() == "F_Measure"

    def test_without_the_default_one_has_to_be_named(self):
        with pytest.raises(QueryError, match=r"'f_measure' matches 2 metrics; choose one of: f_measure@0\.02, f_m"):
            self.beats(("f_measure@0.02", "f_measure@0.1")).mirflow.compare("f_measure", replicates=100)

    def test_the_primary_metric_is_the_stored_identity(self, tmp_path):
        store = write_store(tmp_path / "s.zarr", {"beat": self.beats()})
        assert {row["metric"] for row in rows("query", store, "--primary")} == {"f_measure"}


STEMS, FRAMES = ["vocals", "drums", "bass"], 7


def framewise(systems: int = 2, tracks: int = 5, seed: int = 0) -> xr.Dataset:
    """Framewise SDR by source under museval's convention; tracks end early, and silent frames have none."""
    rng = np.random.default_rng(seed)
    frames = rng.normal(5, 4, (systems, tracks, len(STEMS), FRAMES))
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
    coords = {"source": STEMS, "frame": [f"{number}.0" for number in range(FRAMES)]}
    return ds.assign(**{"frame_sdr_1.0": (dims, frames, attrs)}).assign_coords(coords)


def frames_of(ds: xr.Dataset) -> pd.DataFrame:
    """One row a frame, as museval's own aggregation has them."""
    return ds["frame_sdr_1.0"].to_dataframe(name="score").reset_index()


@pytest.mark.parametrize("over", [None, {"frame": "median"}])
def test_best_first_goes_by_the_mean_of_the_values_of_metrics_with_dims(over):
    ds = framewise(4)
    stored = ds.mirflow.query("frame_sdr", over=over)
    mean = np.nanmean(stored["value"].values.reshape(4, -1), axis=1)
    best = ds.mirflow.query("frame_sdr", over=over, sort="best")
    names = stored["system"].values
    assert best["system"].values.tolist() == names[np.argsort(-mean)].tolist() != names.tolist()
    np.testing.assert_array_equal(best["value"], stored["value"].sel(system=best["system"]))


class TestReductions:
    @pytest.mark.parametrize("how", list(REDUCTIONS))
    @given(arrays(np.float64, (3, 4), elements=st.sampled_from([np.nan, -2.0, 0.0, 1.5, 3.0])))
    def test_as_pandas(self, how, values):
        keep = {"min_count": 1} if how == "sum" else {}
        expected = getattr(pd.DataFrame(values), how)(axis=1, **keep).to_numpy()
        np.testing.assert_allclose(REDUCTIONS[how](np.moveaxis(values, 1, 0)), expected, rtol=1e-12)

    @pytest.mark.parametrize("how", list(REDUCTIONS))
    def test_of_nothing_there_is_none(self, how):
        assert np.isnan(REDUCTIONS[how](np.empty((0, 2)))).all()

    def test_infinite_scores(self):
        values = np.array([[np.inf, 1.0, 2.0], [np.inf, -np.inf, 0.0]])
        assert REDUCTIONS["median"](np.moveaxis(values, 1, 0)).tolist() == [2.0, 0.0]
        mean = REDUCTIONS["mean"](np.moveaxis(values, 1, 0))
        assert mean[0] == np.inf
        assert np.isnan(mean[1])


class TestMuseval:
    def test_the_median_over_frames_then_over_tracks_by_source(self):
        ds = framewise()
        answer = ds.mirflow.query("frame_sdr", over={"frame": "median"})
        assert answer.attrs["aggregate"] == "median"
        by_track = frames_of(ds).groupby(["system", "track", "source"])["score"].median()
        expected = by_track.groupby(["system", "source"]).median().unstack()[STEMS]
        np.testing.assert_allclose(
            answer["value"].transpose("system", "source").values, expected.to_numpy(), rtol=1e-12
        )

    def test_then_the_mean_over_sources(self):
        ds = framewise()
        answer = ds.mirflow.query("frame_sdr", "mean", over={"frame": "median", "source": "mean"})
        by_track = frames_of(ds).groupby(["system", "track", "source"])["score"].median()
        expected = by_track.groupby(["system", "track"]).mean().groupby("system").mean()
        np.testing.assert_allclose(answer["value"].values, expected.to_numpy(), rtol=1e-12)
        assert answer.attrs["over"] == "frame=median, source=mean"

    def test_what_is_not_reduced_stays(self):
        ds = framewise()
        answer = ds.mirflow.query("frame_sdr", "mean")
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
        ds = framewise()
        answer = ds.mirflow.query("frame_sdr", by="genre", over={"frame": "median"})
        alone = ds.mirflow.query("frame_sdr", over={"frame": "median"}, where="genre == 'b'")
        np.testing.assert_array_equal(answer["value"].sel(genre="b").values, alone["value"].values)

    def test_missing_cells_do_not_count(self):
        ds = framewise()
        ds["status"][0, 2] = CODES["failed"]
        ds["frame_sdr_1.0"][0, 2] = np.nan
        answer = ds.mirflow.query("frame_sdr", over={"frame": "median"})
        np.testing.assert_array_equal(answer["n"].values, [4, 4])
        alone = framewise().mirflow.query("frame_sdr", over={"frame": "median"}, tracks=["t0", "t1", "t3", "t4"])
        np.testing.assert_array_equal(answer["value"].values, alone["value"].values)
        with pytest.raises(QueryError, match="weights of missing scores are unknown; choose skip or common"):
            ds.mirflow.query("frame_sdr", missing="zero")


class TestRefusedReductions:
    def test_a_dim_or_a_reduction_that_is_not_there(self):
        with pytest.raises(UnknownNameError, match="unknown dim of frame_sdr 'frme'; did you mean 'frame'"):
            framewise().mirflow.query("frame_sdr", over={"frme": "median"})
        with pytest.raises(UnknownNameError, match="unknown reduction or frame 'medain'; did you mean 'median'"):
            framewise().mirflow.query("frame_sdr", over={"frame": "medain"})

    def test_a_metric_without_dims(self):
        with pytest.raises(QueryError, match="'sdr' is one number for each track, and has no dims to reduce"):
            framewise().mirflow.query("sdr", over={"frame": "median"})

    def test_scores_do_not_add_up(self):
        with pytest.raises(QueryError, match="'sum' is not defined for metric 'frame_sdr'; it has: mean, median"):
            framewise().mirflow.query("frame_sdr", "sum")


class TestTables:
    """A store that the command prints."""

    @pytest.fixture
    def show(self, tmp_path, monkeypatch):
        def show(*words, ds=None, width=120, function=printed):
            ds = framewise() if ds is None else ds
            path = tmp_path / "s.zarr"
            if not path.exists():
                write_store(path, {"separation": ds})
            monkeypatch.setenv("COLUMNS", str(width))
            return function("query", path, "-m", "frame_sdr", *words)

        return show

    def test_sources_run_across(self, show):
        lines = show("--over", "frame=median").splitlines()
        assert lines[0].endswith("over frame=median; frame_sdr [dB]")
        assert lines[1].split() == ["system", *STEMS, "n"]
        assert "in each track frame: median; then median: median over the tracks" in lines

    def test_nothing_is_left_but_one_number(self, show):
        lines = show("--over", "frame=median", "--over", "source=mean").splitlines()
        assert lines[1].split() == ["system", "frame_sdr", "n"]
        assert [line.split()[2] for line in lines[3:5]] == ["5", "5"]

    @pytest.mark.parametrize(
        ("width", "columns"),
        [
            (200, ["system", "source"]),
            (60, ["source", "frame", "S1", "S0", "n"]),
            (20, ["system", "source", "frame", "value", "n"]),
        ],
    )
    def test_what_is_too_wide_has_systems_across_or_a_row_for_each_entry(self, show, width, columns):
        assert columns in [line.split()[: len(columns)] for line in show(width=width).splitlines()[:9]]

    def test_programs_get_every_entry_that_has_a_value(self, show):
        number = framewise().mirflow.query("frame_sdr")["n_values"].values
        listed = show(function=rows)
        assert (len(listed), sum(row["n"] for row in listed)) == ((number > 0).sum(), number.sum())

    def test_sources_that_differ_in_how_many_tracks_they_have(self, show, tmp_path):
        ds = framewise()
        ds["frame_sdr_1.0"][:, 0, 1] = np.nan
        assert show("--over", "frame=median", ds=ds).splitlines()[-1] == "n by column: vocals: 5, drums: 4, bass: 5"

    def test_systems_that_differ_in_how_many_tracks_they_have(self, show):
        ds = framewise()
        ds["frame_sdr_1.0"][:, 0, 1] = np.nan
        ds["frame_sdr_1.0"][0, 1, 1] = np.nan
        last = show("--over", "frame=median", ds=ds).splitlines()[-1]
        assert last.startswith("n: the fewest and the most of a row")

    def test_nothing_runs_across_but_what_the_metric_has(self, show):
        message = show("--over", "frame=median", "--pivot", "group", function=refused)
        assert "pivot 'group': of frame_sdr the labels run across, or the systems" in message
        lines = show("--over", "frame=median", "--pivot", "system").splitlines()
        assert lines[1].split() == ["source", "S1", "S0", "n"]


class TestSorted:
    def order(self, **words):
        return framewise(systems=4).mirflow.query("frame_sdr", over={"frame": "median", "source": "mean"}, **words)

    def test_by_its_values_the_best_first(self):
        found = self.order(sort="frame_sdr")["value"].to_series()
        expected = self.order()["value"].to_series().sort_values(ascending=False)
        assert found.index.tolist() == expected.index.tolist()
        assert self.order(sort="frame_sdr", by="genre")["system"].values.tolist() == expected.index.tolist()

    def test_dims_that_are_left_have_no_order(self):
        with pytest.raises(QueryError, match=r"sort 'frame_sdr': it has extra dims \(source\); reduce them"):
            framewise().mirflow.query("frame_sdr", over={"frame": "median"}, sort="frame_sdr")
        with pytest.raises(
            QueryError,
            match="'frame_sdr' has the dims source and frame; this needs one number per track: --over source=mean",
        ):
            framewise().mirflow.query("sdr", sort="frame_sdr")


def values(ds, how: str, **options) -> dict[str, float]:
    found = ds.mirflow.query("majmin", over={"system": how}, **options)["value"]
    return dict(zip(found["system"].values.tolist(), found.values[:, 0].tolist(), strict=True))


@settings(max_examples=20)
@given(st.sampled_from(["higher", "lower"]), st.sampled_from(["mean", "wcsr", "wcsr_tn", "median"]), st.integers(0, 9))
def test_each_track_is_that_of_a_plain_loop(way, aggregate, seed):
    ds = random_group(4, 9, 2, seed=seed, orientation=[way, "lower"])
    score, weight, judge = (ds[name].values[..., place] for name, place in (("score", 0), ("weight", 0), ("score", 1)))
    best, worst = (np.max, np.min) if way == "higher" else (np.min, np.max)
    rules = {
        "best of 4": lambda track: score[:, track].tolist().index(best(score[:, track])),
        "worst of 4": lambda track: score[:, track].tolist().index(worst(score[:, track])),
        "by root": lambda track: judge[:, track].tolist().index(min(judge[:, track])),
    }
    found = values(ds, "best,worst,root,mean", aggregate=aggregate)
    duration, tracks = ds.duration.values, range(9)
    for name, rule in rules.items():
        chosen = [rule(track) for track in tracks]
        picked = np.array([score[row, track] for track, row in enumerate(chosen)])
        own = np.array([weight[row, track] for track, row in enumerate(chosen)])
        expected = {
            "mean": picked.mean(),
            "median": np.median(picked),
            "wcsr": np.average(picked, weights=own),
            "wcsr_tn": np.average(picked, weights=duration),
        }[aggregate]
        assert found[name] == pytest.approx(expected, abs=1e-12)
    if aggregate in ("mean", "wcsr_tn"):
        average = np.average(score.mean(axis=0), weights=None if aggregate == "mean" else duration)
        assert found["mean of 4"] == pytest.approx(average, abs=1e-12)


class TestMissingEstimates:
    """Two tracks have three and two estimates, and one has none."""

    SCORES = np.array([[0.2, 0.9, np.nan], [0.6, np.nan, np.nan], [0.4, 0.1, np.nan]])[..., np.newaxis]
    STATUS = np.where(np.isnan(SCORES[..., 0]), "missing_estimate", "ok")

    def group(self):
        return make_group(self.SCORES, 10.0, status=self.STATUS, standard=["mean"])

    def test_are_left_out_of_their_track(self):
        found = values(self.group(), "worst,mean,best")
        assert found == pytest.approx({"worst of 3": 0.15, "mean of 3": 0.45, "best of 3": 0.75})

    def test_can_count_as_zero(self):
        found = values(self.group(), "worst,mean,best", missing="zero")
        assert found == pytest.approx({"worst of 3": 0.2 / 3, "mean of 3": (0.4 + 1 / 3) / 3, "best of 3": 0.5})

    def test_can_leave_out_the_track(self):
        assert values(self.group(), "worst,best", missing="common") == {"worst of 3": 0.2, "best of 3": 0.6}

    def test_that_another_score_chooses_leave_their_track_without_a_score(self):
        both = np.concatenate([self.SCORES, [[[1.0], [0.0], [0.0]], [[2.0], [3.0], [0.0]], [[3.0], [2.0], [0.0]]]], 2)
        ds = make_group(both, status="ok", metrics=["majmin", "likelihood"], standard=["mean"] * 2)
        found = ds.mirflow.query("majmin", over={"system": "likelihood"}, missing="skip")
        assert (found["value"].item(), found["n"].item()) == (0.4, 1)


def test_only_the_tracks_on_which_another_score_is_best_may_be_kept():
    ds = random_group(3, 10, 2, orientation=["higher", "lower"], standard=["mean"] * 2)
    judge = ds.score.values[..., 1]
    kept = np.argsort(judge.min(axis=0))[:4]
    picked = [ds.score.values[judge[:, track].argmin(), track, 0] for track in kept]
    options = {"by": "track", "across": {"track": "mean,std,min,max"}}
    found = ds.mirflow.query("majmin", over={"system": "root:4"}, **options)["value"]
    assert found["system"].item() == "by root:4"
    expected = [np.mean(picked), np.std(picked, ddof=1), min(picked), max(picked)]
    assert found.values.ravel() == pytest.approx(expected, abs=1e-12)


def test_real_beats_are_chosen_by_a_metric_with_parameters(shipped_store, shared_data):
    ds = mirflow.open_store(shipped_store("harmonix"))["beat"].to_dataset()
    metric, other = ds.metric.values.tolist()
    assert "," in other
    found = ds.mirflow.query(metric, over={"system": f"best,{other},worst"})["value"]
    score, judge = (ds.score.sel(metric=name).values for name in (metric, other))
    chosen = np.take_along_axis(score, judge.argmax(axis=0)[np.newaxis], axis=0)
    expected = [score.max(axis=0).mean(), chosen.mean(), score.min(axis=0).mean()]
    assert found.values.ravel() == pytest.approx(expected, abs=1e-12)


def test_runs_are_reduced_for_each_model():
    names = {"model": ("system", ["a", "a", "b"]), "run": ("system", ["1", "2", "1"])}
    ds = random_group(3, 5, 1, standard=["mean"]).assign_coords(names)
    found = ds.mirflow.query("majmin", over={"run": "best"})
    assert found["system"].values.tolist() == ["a", "b"]
    expected = [ds.score.values[:2, :, 0].max(axis=0).mean(), ds.score.values[2, :, 0].mean()]
    assert found["value"].values[:, 0] == pytest.approx(expected, abs=1e-12)


def test_questions_about_systems_are_about_the_reduced_ones(tmp_path):
    ds = random_group(3, 20, 2)
    found = ds.mirflow.compare("majmin", over={"system": "best,worst"})
    assert found["system"].values.tolist() == ["best of 3", "worst of 3"]
    assert found["wins"].values[0, 1].item() == 20
    store = write_store(tmp_path / "s.zarr", {"chord": ds})
    listed = rows("query", store, "-m", "majmin", "--over", "system=best", "--by", "track", "-a", "mean")
    best = ds.score.isel(metric=0).max("system").to_series().to_dict()
    assert {row["track"]: row["value"] for row in listed} == best
    words = ("-m", "majmin", "--over", "system=best")
    assert "'significance' is about stored systems" in refused("query", store, *words, "--significance")
    assert "'baseline' is about stored systems" in refused("compare", store, *words, "--baseline", "S0")


def test_signed_numbers_are_computed_again(demo_store, tmp_path):
    words = ("-g", "chord", "-m", "majmin", "--over", "system=worst,best")
    invoke("query", demo_store, *words, "-o", tmp_path / "t.tex", code=0)
    assert "2 signed numbers: 2 equal" in printed("verify", tmp_path / "t.tex", "--store", demo_store)


@pytest.mark.parametrize(
    ("over", "error", "message"),
    [
        ({"system": "bset"}, UnknownNameError, "unknown word or metric for system 'bset'; did you mean 'best'"),
        ({"system": "best", "run": "mean"}, QueryError, "over 'system' or over 'run', not over both"),
        ({"run": "best"}, QueryError, "the systems have no coordinate 'model'"),
        ({"system": "majmin:0"}, QueryError, "'majmin:0' keeps no track; expected at least one"),
        ({"system": "root"}, QueryError, "neither high nor low values of 'root' are better"),
    ],
)
def test_refusals(over, error, message):
    with pytest.raises(error, match=message):
        random_group(2, 4, 2, orientation=["higher", "none"]).mirflow.query("majmin", over=over)
