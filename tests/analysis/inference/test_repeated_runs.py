"""Runs of models: means and deviations over runs, and intervals and tests that draw runs as well as tracks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mirflow.analysis.inference.repeated_runs import RunMeans

from ...commands import printed, refused, rows
from ...groups import make_group, write_store

TRACKS = 30


def group_of(score, models, **attrs):
    """Scores (systems, tracks) of runs that are numbered within their models."""
    runs = [models[:place].count(model) for place, model in enumerate(models)]
    systems = [f"{model}/{run}" for model, run in zip(models, runs, strict=True)]
    ds = make_group(np.asarray(score)[..., np.newaxis], systems=systems, metrics=["f"], standard=["mean"], **attrs)
    return ds.assign_coords(model=("system", models), run=("system", [str(run) for run in runs]))


def simulated(rng, *, runs=5, gain=0.0, of_runs=0.02, tracks=TRACKS):
    """Two models on the same tracks: effects of track, of run, and of both together."""
    track = rng.normal(0.5, 0.15, tracks)
    run = np.concatenate([rng.normal(0, of_runs, runs), rng.normal(gain, of_runs, runs)])
    return track + run[:, np.newaxis] + rng.normal(0, 0.1, (2 * runs, tracks))


SCORE = simulated(np.random.default_rng(5), gain=0.1)
MODELS = ["small"] * 5 + ["large"] * 5


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    genre = {"genre": ["pop", "rock"] * (TRACKS // 2)}
    group = group_of(SCORE, MODELS, track_meta=genre)
    return write_store(tmp_path_factory.mktemp("runs") / "s.zarr", {"beat": group})


class TestQueries:
    def test_means_and_deviations_are_those_of_the_runs(self, store):
        found = {(row["system"], row["run"]): row["value"] for row in rows("query", store, "--across", "run=mean,std")}
        means = SCORE.mean(axis=1).reshape(2, 5)
        for model, own in zip(("small", "large"), means, strict=True):
            assert found[model, "mean"] == pytest.approx(own.mean(), abs=1e-12)
            assert found[model, "std"] == pytest.approx(own.std(ddof=1), abs=1e-12)

    def test_tables_show_mean_and_deviation_in_one_cell_the_best_model_first(self, store):
        text = printed("query", store, "--across", "run=mean,std", "--by", "genre")
        lines = [line.split() for line in text.splitlines() if "±" in line and not line.startswith("mean")]
        assert [line[:2] for line in lines] == [
            [model, genre] for model in ("large", "small") for genre in ("pop", "rock")
        ]
        assert "mean ± standard deviation over the runs of each system: 5" in text
        latex = printed("query", store, "--across", "run=mean,std", "--format", "latex")
        assert latex.count(r"\,$\pm$\,") == 2

    def test_systems_are_averaged_by_their_metadata(self, store):
        found = {row["system"]: row["value"] for row in rows("query", store, "--by", "model")}
        assert found["small"] == pytest.approx(SCORE[:5].mean(), abs=1e-12)
        assert "mean over the systems of each model: 5" in printed("query", store, "--by", "model")
        assert "without intervals" in refused("query", store, "--by", "model", "--ci")

    def test_the_primary_table_of_several_evaluations_shows_them_too(self, tmp_path):
        group = group_of(SCORE, ["small"] * 5 + ["large"] * 5)
        groups = {"beat": group, "onset": group, "chord": make_group([[[0.5]]])}
        store = write_store(tmp_path / "s.zarr", groups)
        text = printed("query", store, "--primary", "--across", "run=mean,std")
        assert [line.split()[0] for line in text.splitlines() if "0.5534 ± 0.0174" in line] == ["beat", "onset"]
        assert "left out, without run: chord" in text
        assert "mean ± standard deviation over the runs of each system: 5" in text
        assert len(rows("query", store, "--primary", "--across", "run=mean,std")) == 8

    def test_a_misspelt_run_is_named(self, store):
        for words in ((), ("--by", "genre")):
            message = refused("query", store, "--across", "runs=mean", *words)
            assert "unknown dim of the answer 'runs'; did you mean 'run'?" in message

    def test_a_failed_run_is_missing_and_a_single_one_has_no_deviation(self, tmp_path):
        score = np.full((3, 8), 0.5)
        score[0, 3] = np.nan
        status = np.where(np.isnan(score), "invalid", "ok")
        store = write_store(tmp_path / "s.zarr", {"beat": group_of(score, ["a", "a", "b"], status=status)})
        found = {(row["system"], row["run"]): row for row in rows("query", store, "--across", "run=mean,std")}
        assert (found["a", "mean"]["n"], found["a", "mean"]["n_missing"]) == (7, 1)
        assert found["b", "std"]["value"] is None
        text = printed("query", store, "--across", "run=mean,std")
        assert "0.5000 ± -" in text
        assert "missing (common): 1 of 24 cells (system and track)" in text


class TestIntervals:
    def test_bounds_are_quantiles_widened_by_the_degrees_of_freedom(self):
        # 40 units that do not matter, and two models of five runs: 4 + 4 degrees of freedom for equal variances.
        drawn = np.linspace(-1.0, 1.0, 1001)
        means = RunMeans(np.zeros(2), np.stack([drawn, np.zeros(1001)]), np.zeros((40, 2)), np.ones(2), np.full(2, 5))
        assert means.spread(0, 1) == (2.0, 8.0)
        # Quantiles of Student's t and of the normal distribution from tables; those of the replicates are -0.9 and 0.9.
        assert means.test(0, 1, 0.1)[2] == pytest.approx(1.859548 * 2**0.5, rel=1e-6)
        assert means.spread(0) == (1.0, 4.0)
        low, high = means.bounds(0.9, 0)
        assert (low, high) == pytest.approx((-0.9 * 2.131847 / 1.644854, 0.9 * 2.131847 / 1.644854), rel=1e-6)

    def test_they_are_wider_than_those_of_fixed_runs(self, store):
        of_models = {row["system"]: row for row in rows("query", store, "--across", "run=mean", "--ci")}
        of_runs = rows("query", store, "--ci")
        for model in ("small", "large"):
            low, value, high = (of_models[model][name] for name in ("low", "value", "high"))
            widths = [row["high"] - row["low"] for row in of_runs if row["system"].startswith(model)]
            assert low < value < high
            assert high - low > 0.8 * np.mean(widths)

    def test_a_difference_has_the_variances_of_units_and_of_runs(self, store):
        (pair,) = rows("compare", store, "--across", "run=mean", "-m", "f")
        small, large = SCORE[:5], SCORE[5:]
        sign = 1 if pair["system"] == "large" else -1
        units = large.mean(axis=0) - small.mean(axis=0)
        parts = [
            (units.var(ddof=1) / TRACKS, TRACKS - 1),
            *((own.mean(axis=1).var(ddof=1) / 5, 4) for own in (small, large)),
        ]
        total = sum(part for part, _ in parts)
        free = total**2 / sum(part**2 / count for part, count in parts)
        assert pair["difference"] == pytest.approx(sign * units.mean(), abs=1e-12)
        expected = 2 * stats.t.sf(abs(units.mean()) / total**0.5, free)
        assert pair["p"] == pytest.approx(expected, rel=1e-6)
        assert (pair["wins"] + pair["ties"] + pair["losses"], pair["n"]) == (TRACKS, TRACKS)

    def test_an_interval_does_not_depend_on_the_order_of_the_models(self, store):
        words = ("compare", store, "--across", "run=mean", "-m", "f")
        (one,) = rows(*words, "-s", "large/*", "-s", "small/*")
        (other,) = rows(*words, "-s", "small/*", "-s", "large/*")
        assert (one["system"], one["other"]) == (other["other"], other["system"])
        for name, turned in (("difference", "difference"), ("low", "high"), ("high", "low")):
            assert one[name] == pytest.approx(-other[turned], abs=1e-12)
        assert "is a model with several runs" in refused("compare", store, "-m", "f", "--baseline", "small")

    def test_significance_marks_models(self, store):
        marked = {
            (row["system"], row["run"]): row["like_best"]
            for row in rows("query", store, "-m", "f", "--across", "run=mean,std", "--significance")
        }
        assert marked == {("large", "mean"): 1, ("large", "std"): 0, ("small", "mean"): 0, ("small", "std"): 0}

    def test_gates_compare_models_by_their_runs(self, store):
        words = ("-m", "f", "--across", "run=mean")
        (gate,) = rows("compare", store, *words, "--baseline", "small", "--not-worse", "0.01", "-s", "large/*")
        (pair,) = rows("compare", store, *words, "-s", "large/*", "-s", "small/*")
        sign = 1 if pair["system"] == gate["system"] else -1
        ends = sorted((sign * pair["low"], sign * pair["high"]))
        assert (gate["system"], gate["baseline"], gate["verdict"]) == ("large", "small", "better")
        assert [gate["gain"], gate["low"], gate["high"]] == [sign * pair["difference"], *ends]
        assert "unknown baseline 'small/0'; did you mean 'small'?" in refused(
            "compare", store, *words, "--baseline", "small/0"
        )

    def test_what_knows_no_runs_is_refused(self, store, tmp_path):
        assert "takes no account of runs" in refused(
            "compare", store, "-m", "f", "--across", "run=mean", "--test", "permutation"
        )
        assert "unknown reduction 'sd'" in refused("query", store, "--across", "run=mean,sd")
        assert "only one coordinate at a time" in refused("query", store, "--across", "run=mean", "--by", "model")
        lone = write_store(tmp_path / "s.zarr", {"beat": group_of(np.ones((3, 8)), ["a", "a", "b"])})
        assert "model 'b' has one run" in refused("compare", lone, "-m", "f", "--across", "run=mean")
        (row,) = [one for one in rows("query", lone, "--across", "run=mean", "--ci") if one["system"] == "b"]
        assert (row["low"], row["value"]) == (None, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("of_runs", [0.0, 0.02, 0.1])
def test_intervals_hold_the_true_difference_and_tests_keep_their_size(runs, of_runs):
    """Of 400 simulations at 95 %, intervals hold 0 in at least 90 %, and at most 10 % of tests are significant."""
    rng = np.random.default_rng(runs)
    held = rejected = 0
    for _ in range(400):
        group = group_of(simulated(rng, runs=runs, of_runs=of_runs), ["a"] * runs + ["b"] * runs)
        found = group.mirflow.compare("f", across={"run": "mean"}, replicates=500)
        low, high, p = (float(found[name].isel(system=0, other=1, metric=0)) for name in ("low", "high", "p"))
        held += low <= 0 <= high
        rejected += p < 0.05
    assert held >= 0.9 * 400
    assert rejected <= 0.1 * 400
