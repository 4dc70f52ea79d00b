"""``mirflow query`` with all that narrows a question down and lays an answer out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from mirflow.cli import cli

from .groups import make_group, random_group, write_store

SCORES = [[[0.9], [0.1], [0.5], [0.4]], [[0.2], [0.8], [0.3], [0.6]]]
ABOUT = {"genre": ["Rock", "Pop", "Rock", "Pop"], "year": [1971, 1985, 1990, 1979]}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ds = make_group(SCORES, systems=["ada", "bob"], track_meta=ABOUT, standard=["mean"])
    return write_store(tmp_path / "x.zarr", {"chord": ds})


def invoke(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


def rows(*arguments: object) -> list[dict[str, object]]:
    return json.loads(invoke("query", *arguments, "--format", "json").stdout)


class TestChoosing:
    def test_where(self, store):
        (ada, bob) = rows(store, "--where", "genre == 'Rock' and year < 1980")
        assert (ada["value"], bob["value"], ada["n"]) == (0.9, 0.2, 1)
        assert ada["where"] == "genre == 'Rock' and year < 1980"

    def test_systems_and_tracks_by_their_other_names(self, store):
        for systems, tracks in [("--systems", "--tracks"), ("--system", "--track"), ("-s", "-t")]:
            (only,) = rows(store, systems, "a*", tracks, "t[01]")
            assert (only["system"], only["value"], only["n_tracks"]) == ("ada", 0.5, 2)

    def test_sort(self, store):
        assert [row["system"] for row in rows(store, "--sort", "majmin", "-t", "t1")] == ["bob", "ada"]

    def test_param(self, tmp_path):
        ds = random_group(1, 2, 2, metrics=["f_measure", "f_measure@0.1"], standard=["mean"] * 2)
        ds = ds.assign_coords(window=("metric", [0.05, 0.1]))
        path = write_store(tmp_path / "y.zarr", {"beat": ds})
        assert [row["metric"] for row in rows(path, "--param", "window=0.1")] == ["f_measure@0.1"]

    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("--param", "window", "write it as name=value, not 'window'"),
            ("--over", "frame=", "write it as name=value, not 'frame='"),
            ("--over", "frame=mean", "'majmin' is one number for each track, and has no dims to reduce"),
            ("--where", "genr == 'x'", "unknown coordinate 'genr'; did you mean 'genre'"),
            ("--where", "__import__('os')", "is a call; the only one is col('a name')"),
            ("--sort", "nmae", "unknown metric 'nmae'"),
        ],
    )
    def test_mistakes(self, store, option, value, message):
        assert message in invoke("query", store, "-m", "majmin", option, value, code=2).output

    def test_the_same_option_twice(self, store):
        assert (
            "frame is given twice"
            in invoke("query", store, "--over", "frame=mean", "--over", "frame=max", code=2).output
        )


class TestWorst:
    def test_of_each_system(self, store):
        assert [(row["system"], row["track"]) for row in rows(store, "--worst", 1)] == [("ada", "t1"), ("bob", "t0")]
        assert [(row["system"], row["track"]) for row in rows(store, "--best", 1)] == [("ada", "t0"), ("bob", "t1")]

    def test_over_all_systems(self, store):
        assert {(row["track"], row["mean"]) for row in rows(store, "--worst", 1, "--overall")} == {("t2", 0.4)}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--worst", 1, "--best", 1], "--worst or --best, not both"),
            (["--worst", 1, "--by", "genre"], "--worst lists single tracks and takes no --by"),
            (["--worst", 1, "--ci"], "--worst lists single tracks and takes no --ci"),
            (["--overall"], "--overall is about listed tracks; add --worst or --best"),
            (["--cluster", "genre"], "--cluster is about intervals; add --ci or --significance"),
            (["--stacked"], "--stacked is about LaTeX; add --format latex"),
            (["--pivot", "system", "--format", "csv"], "csv has a row for each value; --pivot is for tables"),
            (["--format", "parquet"], "parquet is no text: say which file to write, with --output"),
            (["--pivot", "group"], "nothing is grouped"),
        ],
    )
    def test_options_that_would_not_be_looked_at(self, store, options, message):
        assert message in invoke("query", store, *options, code=2).output


class TestLayouts:
    def head(self, store, *options):
        return invoke("query", store, "--by", "genre", *options).stdout.splitlines()[1].split()

    def test_pivot(self, store):
        assert self.head(store, "--pivot", "metric") == ["system", "genre", "majmin", "n"]
        assert self.head(store, "--pivot", "system") == ["metric", "genre", "ada", "bob", "n"]
        assert self.head(store, "--pivot", "group") == ["metric", "system", "Pop", "Rock", "n"]

    def test_latex_by_the_files_suffix(self, store, tmp_path):
        invoke("query", store, "--significance", "--ci", "--stacked", "-o", tmp_path / "x.tex")
        latex = (tmp_path / "x.tex").read_text()
        assert r"\begin{tabular}" in latex
        assert r"\scriptsize" in latex
        assert r"\textsuperscript{*}" in latex

    def test_significance_for_terminals_and_programs(self, store):
        assert "*: not significantly different from the best" in invoke("query", store, "--significance").stdout
        assert [row["like_best"] for row in rows(store, "--significance", 0.9)] == [1, 1]

    def test_parquet_holds_what_csv_holds(self, store, tmp_path):
        pytest.importorskip("pyarrow")
        for suffix in ("parquet", "csv"):
            invoke("query", store, "--by", "genre", "--where", "year > 1970", "-o", tmp_path / f"x.{suffix}")
        stored, text = pd.read_parquet(tmp_path / "x.parquet"), pd.read_csv(tmp_path / "x.csv")
        assert stored.columns.tolist() == text.columns.tolist()
        np.testing.assert_array_equal(stored["value"], text["value"])
        assert {"aggregate", "convention", "n", "missing", "where"} <= set(stored.columns)


class TestSeveralStores:
    @pytest.fixture
    def years(self, tmp_path):
        ds = make_group(SCORES, systems=["ada", "bob"], track_meta=ABOUT, standard=["mean"])
        parts = {"2013": ds.isel(system=[0]), "2014": ds.isel(system=[1])}
        return [write_store(tmp_path / f"{year}.zarr", {"chord": part}) for year, part in parts.items()]

    def test_answer_as_one(self, years, store):
        assert rows(*years) == rows(store)

    def test_labels(self, years):
        found = rows(*years, "--label", "a", "--label", "b")
        assert [row["system"] for row in found] == ["a/ada", "b/bob"]

    def test_the_same_system_twice_needs_labels(self, years):
        assert "the same store twice" in invoke("query", years[0], years[0], code=2).output
        one = rows(years[0], years[0], "--label", "a", "--label", "b")
        assert [row["value"] for row in one] == [one[0]["value"]] * 2

    def test_labels_that_do_not_fit(self, years):
        assert "1 labels for 2 stores" in invoke("query", *years, "--label", "a", code=2).output
        assert (
            "two stores have the same label" in invoke("query", *years, "--label", "a", "--label", "a", code=2).output
        )

    def test_compare_takes_them_too(self, years):
        output = invoke("compare", *years, "-m", "majmin", "--replicates", 50, "--where", "year > 1970").stdout
        assert "ada" in output
        assert "bob" in output


class TestInfinity:
    @pytest.fixture
    def perfect(self, tmp_path):
        scores = [[[np.inf], [3.0], [5.0]], [[np.inf], [-np.inf], [5.0]]]
        ds = make_group(scores, unit=["dB"], metrics=["sdr"], standard=["mean"], aggregates=["mean median pooled"])
        return write_store(tmp_path / "p.zarr", {"separation": ds})

    def test_the_mean_is_infinite_and_of_both_infinities_there_is_none(self, perfect):
        assert [row["value"] for row in rows(perfect)] == ["inf", None]
        text = invoke("query", perfect, "--format", "csv").stdout.splitlines()
        assert [row["value"] for row in csv.DictReader(text)] == ["inf", ""]

    def test_the_median_is_not(self, perfect):
        assert [row["value"] for row in rows(perfect, "-a", "median")] == [5.0, 5.0]

    def test_what_weighs_nothing_adds_nothing(self, tmp_path):
        weight = [[[0.0], [1.0], [1.0]]]
        ds = make_group([[[np.inf], [3.0], [5.0]]], weight, metrics=["sdr"], aggregates=["mean pooled"])
        path = write_store(tmp_path / "q.zarr", {"separation": ds})
        assert rows(path, "-a", "pooled")[0]["value"] == 4.0

    def test_intervals_do_not_fail(self, perfect):
        output = invoke("query", perfect, "--ci", "-a", "median").stdout
        assert "5.0000" in output
        invoke("query", perfect, "--ci")
        invoke("query", perfect, "--ci", "--format", "json")
