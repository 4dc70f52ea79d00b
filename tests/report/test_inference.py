from __future__ import annotations

import csv
import json

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from mirflow.analysis.inference import agreement, compare, friedman, intervals
from mirflow.analysis.scoreboard import from_dataset
from mirflow.analysis.selection import Question
from mirflow.cli import cli
from mirflow.errors import QueryError
from mirflow.report.comparisons_tables import comparison_tables, friedman_tables, show_p

from ..groups import make_group, random_group, write_store


@pytest.fixture
def groups():
    meta = {"artist": list("aabbccddee"), "genre": list("ppppprrrrr")}
    return {
        "chord": random_group(3, 10, 2, track_meta=meta),
        "chord_mirex2013": random_group(3, 10, 2, metrics=["majmin", "only"], convention="mirex2013"),
    }


@pytest.fixture
def store(tmp_path, groups):
    return write_store(tmp_path / "x.zarr", groups)


def invoke(*arguments, code=0):
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], env={"COLUMNS": "160"})
    assert result.exit_code == code, result.output
    return result.output


class TestIntervals:
    def test_cells_hold_value_and_interval(self, store, groups):
        output = invoke("query", store, "-g", "chord", "-m", "majmin", "--ci", "--percent")
        answer = intervals(from_dataset(groups["chord"]), Question("majmin"))
        one = [f"{100 * float(array[0, 0, 0]):.2f}" for array in (answer.value, answer.low, answer.high)]
        assert f"{one[0]} [{one[1]}, {one[2]}]   10" in output
        assert "[ ]: 95 % confidence interval, bootstrap over tracks (bca, 10000 replicates)" in output

    def test_programs_get_columns(self, store, groups):
        output = invoke(
            "query", store, "-g", "chord", "-m", "majmin", "--ci", "0.9", "--cluster", "artist", "--format", "csv"
        )
        row = next(csv.DictReader(output.splitlines()))
        answer = intervals(from_dataset(groups["chord"]), Question("majmin"), level=0.9, cluster="artist")
        assert [float(row["low"]), float(row["high"])] == [answer.low[0, 0, 0], answer.high[0, 0, 0]]
        assert [row["level"], row["method"], row["resampled"]] == ["0.9", "bca", "artist"]

    def test_groups_of_tracks(self, store):
        output = invoke("query", store, "-g", "chord", "-m", "majmin", "--ci", "--by", "genre", "--format", "json")
        rows = json.loads(output)
        assert len(rows) == 6
        assert {row["n"] for row in rows} == {5}
        assert all(row["low"] is None for row in rows)  # no five tracks have an interval at 95 %
        output = invoke(
            "query", store, "-g", "chord", "-m", "majmin", "--ci", "0.9", "--by", "genre", "--format", "json"
        )
        assert all(row["low"] < row["value"] < row["high"] for row in json.loads(output))

    def test_an_interval_of_few_tracks_is_a_mark_and_a_sentence(self, store):
        output = invoke("query", store, "-g", "chord", "-m", "majmin", "--ci", "--by", "genre")
        assert output.count("[-]") == 6 + 1
        assert "[-]: no interval: at 95 % it takes 6 tracks or more" in output
        assert "[-]" not in invoke("query", store, "-g", "chord", "-m", "majmin", "--ci")

    def test_without_intervals_nothing_changes(self, store):
        header = invoke("query", store, "-g", "chord", "-m", "majmin", "--format", "csv").splitlines()[0]
        assert not {"low", "high", "level"} & set(header.split(","))

    def test_a_cluster_needs_intervals(self, store):
        assert "--cluster is about intervals; add --ci" in invoke("query", store, "--cluster", "artist", code=2)

    @pytest.mark.parametrize(
        ("before", "level"),
        [(["--ci"], "95 %"), (["--ci", "0.8"], "80 %"), (["--ci=0.8"], "80 %"), (["--ci", "--"], "95 %")],
    )
    def test_the_store_may_come_right_after(self, store, before, level):
        assert f"[ ]: {level} confidence interval" in invoke("query", "-g", "chord", "-m", "majmin", *before, store)

    def test_a_level_that_is_none(self, store):
        assert "0<x<1" in invoke("query", store, "--ci", "95", code=2)


class TestCompare:
    def test_policies_and_what_counts_as_better_are_said(self):
        ds = make_group(np.random.default_rng(0).random((2, 9, 1)), orientation=["none"])
        notes = " ".join(comparison_tables(compare(from_dataset(ds), replicates=50).to_dataset())[1].notes)
        assert "undefined (keep): scores with nothing to measure count as they are" in notes
        assert "units on which system has the larger value, equal, the smaller one" in notes
        assert "is better" not in notes

    def test_people_see_the_ranking_and_every_pair(self, store):
        output = invoke("compare", store, "-g", "chord", "-m", "majmin")
        assert "chord: task chord, convention mir_eval, grid union; majmin, wcsr" in output
        assert (
            "group: systems that share a letter are not told apart at 0.05 (permutation test, max-T, n = 10)" in output
        )
        assert "n: 10 units (track); missing (common): only the tracks that every system has" in output
        assert "p: permutation: the two systems' results swapped unit by unit" in output

    def test_the_better_system_of_a_pair_stands_first(self, groups):
        found = compare(from_dataset(groups["chord"]), replicates=100).to_dataset()
        for table in comparison_tables(found)[1::2]:
            assert all(not row[2].startswith("-") for row in table.rows)
            assert all(sum(row[5:]) == 10 for row in table.rows)

    def test_every_evaluation_that_has_the_metric_answers(self, store):
        output = invoke("compare", store, "-m", "majmin", "--replicates", "50", "--format", "json")
        assert [row["group"] for row in json.loads(output)] == ["chord"] * 3 + ["chord_mirex2013"] * 3

    def test_programs_get_everything(self, store, groups):
        words = ("-a", "mean", "--test", "wilcoxon", "--correction", "bh", "--unit", "artist", "--level", "0.9")
        output = invoke("compare", store, "-g", "chord", "-m", "root", *words, "--format", "json")
        row = json.loads(output)[1]
        question = Question("root", "mean")
        found = compare(
            from_dataset(groups["chord"]), question, test="wilcoxon", correction="bh", unit="artist", level=0.9
        )
        assert [row["system"], row["other"], row["n"]] == ["S0", "S2", 5]
        assert [row["value"], row["other_value"]] == found.value[[0, 2], 0].tolist()
        for name in ("difference", "low", "high", "p", "p_adjusted", "superiority", "dz", "rank_biserial"):
            assert row[name] == found.arrays[name][0, 2, 0], name
        said = [row[name] for name in ("test", "correction", "level", "resampled", "aggregate")]
        assert said == ["wilcoxon", "bh", 0.9, "artist", "mean"]

    def test_ratios_in_percent_and_nothing_else(self):
        ds = random_group(2, 6, 2, unit=["", "dB"])
        first, _, second, _ = comparison_tables(compare(from_dataset(ds), replicates=50).to_dataset(), percent=True)
        assert "ratios in percent" in first.notes
        assert "ratios in percent" not in second.notes

    def test_a_system_without_any_score(self):
        score = np.random.default_rng(0).random((2, 3, 1))
        score[1] = np.nan
        status = [[1, 1, 1], [2, 2, 2]]
        ranking, pairs = comparison_tables(compare(from_dataset(make_group(score, status=status))).to_dataset())
        assert [row[1] for row in ranking.rows] == ["-", "-"]
        assert pairs.rows[0][2:5] == ("-", "-", "-")

    def test_p_values(self):
        assert [show_p(p) for p in (0.04567, 0.00012, 0.00001234, 0.0, np.nan)] == [
            "0.0457", "0.0001", "1e-05", "0.0000", "-",
        ]  # fmt: skip


class TestFriedman:
    def test_people_see_mean_ranks_and_every_pair_as_mirex_shows_them(self, store, groups):
        output = invoke("compare", store, "-g", "chord", "-m", "majmin", "--friedman")
        found = friedman(from_dataset(groups["chord"]), Question("majmin"))
        assert f"Friedman: chi-square(2) = {found.ranks.statistic[0]:.4f}" in output
        assert "grid union; majmin, ranks on each track\n" in output
        _, pairs = friedman_tables(found.to_dataset())
        assert pairs.columns == ("system", "other", "low", "mean", "high", "p", "differ")
        for row in pairs.rows:
            assert row[3] >= 0
            assert (row[6] == "yes") == (row[2] > 0)

    def test_programs_get_everything(self, store, groups):
        output = invoke("compare", store, "-g", "chord", "-m", "majmin", "--friedman", "--format", "json")
        row = json.loads(output)[0]
        found = friedman(from_dataset(groups["chord"]), Question("majmin"))
        assert [row["mean_rank"], row["other_mean_rank"]] == found.ranks.mean_rank[[0, 1], 0].tolist()
        assert row["p_pair"] == found.ranks.p_pair[0, 1, 0]
        assert row["rank_high"] - row["rank_low"] == pytest.approx(2 * row["critical_difference"])

    def test_ranks_have_no_test_to_choose(self, store):
        output = invoke("compare", store, "-m", "majmin", "--friedman", "--test", "t", code=2)
        assert "--friedman goes by ranks alone and takes no --test" in output


class TestAccessor:
    def test_on_a_dataset(self, groups):
        ds, board = groups["chord"], from_dataset(groups["chord"])
        how = {"replicates": 50, "rng": 3, "cluster": "artist"}
        question = Question("majmin", "mean", system=["S0", "S1"])
        words = ("majmin", "mean")
        found = ds.mirflow.intervals(*words, system=["S0", "S1"], **how)
        xr.testing.assert_identical(found, intervals(board, question, **how).to_dataset())
        found = ds.mirflow.compare(*words, system=["S0", "S1"], correction="bh", **how)
        xr.testing.assert_identical(found, compare(board, question, correction="bh", **how).to_dataset())
        xr.testing.assert_identical(ds.mirflow.friedman("majmin"), friedman(board, Question("majmin")).to_dataset())
        xr.testing.assert_identical(ds.mirflow.agreement(), agreement(board).to_dataset())

    def test_on_a_tree(self, groups):
        tree = xr.DataTree.from_dict(groups)
        found = tree.mirflow.friedman("majmin", group="chord")
        assert found.attrs["group"] == "chord"
        assert tree.mirflow.intervals("only", replicates=50).attrs["group"] == "chord_mirex2013"
        assert tree["chord"].mirflow.compare("root", replicates=50).attrs["group"] == "chord"
        with pytest.raises(QueryError, match="several groups answer this"):
            tree.mirflow.compare("majmin")

    def test_a_dataset_is_one_group(self, groups):
        with pytest.raises(QueryError, match="group 'chord': this dataset is one evaluation"):
            groups["chord"].mirflow.agreement(group="chord")

    def test_unknown_words(self, groups):
        with pytest.raises(TypeError, match="replicats"):
            groups["chord"].mirflow.intervals(replicats=50)

    def test_metrics_that_are_no_numbers(self, groups):
        ds = groups["chord"]
        dims = ("system", "track", "ref_class", "est_class")
        ds = ds.assign(confusion_majmin=(dims, np.zeros((3, 10, 2, 2)))).assign_coords(
            ref_class=["a", "b"], est_class=["a", "b"]
        )
        with pytest.raises(
            QueryError, match="'confusion' has the dims ref_class and est_class; this takes one number a track"
        ):
            ds.mirflow.intervals("confusion@majmin")
