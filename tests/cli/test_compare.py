"""Intervals and comparisons on the command line: ``mirflow query --ci`` and ``mirflow compare``."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from statsmodels.stats.contingency_tables import mcnemar

import mirflow
from mirflow.errors import QueryError

from ..commands import invoke, printed, refused, rows
from ..groups import make_group, random_group, write_store

MAJMIN = ("-g", "chord", "-m", "majmin")


@pytest.fixture(scope="module")
def groups():
    meta = {"artist": list("aabbccddee"), "genre": list("ppppprrrrr")}
    return {
        "chord": random_group(3, 10, 2, track_meta=meta),
        "chord_mirex2013": random_group(3, 10, 2, metrics=["majmin", "only"], convention="mirex2013"),
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory, groups):
    return write_store(tmp_path_factory.mktemp("inference") / "x.zarr", groups)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def stored(tmp_path):
    """A function that keeps one group as a store."""
    return lambda ds: write_store(tmp_path / "s.zarr", {"chord": ds})


def notes_of(*words):
    """The lines below the first table."""
    lines = printed(*words).split("\n\n")[0].splitlines()
    return lines[next(place for place, line in enumerate(lines) if line.startswith("─")) + 1 :]


class TestQuotable:
    """The first line names the best system, a worse one, the difference and its p-value."""

    @pytest.fixture
    def scores(self):
        rng = np.random.default_rng(4)
        base = rng.random((1, 20, 1))
        gap = np.array([0.01, -0.001, -0.3])[:, np.newaxis, np.newaxis] + rng.normal(0, 0.04, (3, 20, 1))
        return base + gap

    def sentence(self, stored, scores, *words, **group):
        names = {"systems": ["ann", "bob", "cat"][: len(scores)], "standard": ["mean"]}
        ds = make_group(scores, **names, **group)
        return printed("compare", stored(ds), "-m", "majmin", *words).splitlines()[0], ds.mirflow.compare("majmin")

    @pytest.mark.parametrize("percent", [False, True])
    def test_of_the_best_and_a_worse_one(self, stored, scores, percent):
        found, ds = self.sentence(stored, scores, *(["--percent"] if percent else []))
        gap, low, high, p = (ds[name].values[0, 2, 0] for name in ("difference", "low", "high", "p_corrected"))
        factor, digits, unit = (100, 2, " percentage points") if percent else (1, 4, "")
        size, *ends = (f"{factor * one:.{digits}f}" for one in (gap, low, high))
        quoted = f"ann is better than cat by {size}{unit} [{', '.join(ends)}], corrected p = {p:.4f}"
        floor = quoted.replace(f"= {p:.4f}", f"<= {p:.4f}")
        assert found in (f"{quoted}; it is not told apart from bob", f"{floor}; it is not told apart from bob")

    def test_of_two_systems_p_needs_no_correction(self, stored, scores):
        found, ds = self.sentence(stored, scores[:2])
        p = ds["p"].values[0, 1, 0]
        assert found.startswith("ann and bob are not told apart: ann leads by 0.0")
        assert found.endswith(f", p = {p:.4f}")

    def test_of_errors_the_smaller_ones_are_better(self, stored, scores):
        found, ds = self.sentence(stored, scores[::2], orientation=["lower"], unit=["s"])
        gap, low, high = (-ds[name].values[1, 0, 0] for name in ("difference", "low", "high"))
        assert found.startswith(f"bob is better than ann by {gap:.4f} s [{high:.4f}, {low:.4f}], p")

    def test_of_values_without_an_orientation(self, stored, scores):
        assert self.sentence(stored, scores[::2], orientation=["none"])[0].startswith("ann is larger than bob by ")

    def test_nothing_is_quoted_of_systems_without_common_tracks(self, stored, scores):
        status = np.full((2, 20), "ok", dtype=object)
        status[0, :10] = status[1, 10:] = "failed"
        assert self.sentence(stored, scores[:2], status=status.astype(str))[0].startswith("chord: ")


@pytest.mark.parametrize("command", [("query",), ("compare",), ("compare", "--friedman"), ("plan",), ("show",)])
def test_tables_without_notes(store, command):
    options = MAJMIN if command[0] != "show" else MAJMIN[:2]
    words = (command[0], store, *options, *command[1:], "--no-notes")
    with_notes = printed(*words[:-1]).splitlines()
    assert all(line in with_notes for line in printed(*words).splitlines())
    assert not any(
        line.startswith(("mean:", "wcsr:", "n:", "group:", "Friedman:")) for line in printed(*words).splitlines()
    )
    assert "<!-- mirflow 1:" in printed("query", store, *MAJMIN, "--no-notes", "--format", "markdown")
    assert "--no-notes is about tables: csv has no notes" in refused(*words, "--format", "csv")


class TestIntervals:
    def test_cells_hold_value_and_interval(self, store, groups):
        output = printed("query", store, *MAJMIN, "--ci", "--percent")
        found = groups["chord"].mirflow.query("majmin", ci=0.95).isel(system=0, metric=0)
        value, low, high = (f"{100 * found[name].item():.2f}" for name in ("value", "low", "high"))
        assert f"{value} [{low}, {high}]   10" in output
        assert "[ ]: 95 % confidence interval, bootstrap over tracks (bca, 10000 replicates)" in output

    def test_programs_get_columns(self, store, groups):
        row = rows("query", store, *MAJMIN, "--ci", "0.9", "--cluster", "artist")[0]
        found = groups["chord"].mirflow.query("majmin", ci=0.9, cluster="artist").isel(system=0, metric=0)
        assert [row["low"], row["high"]] == [found["low"].item(), found["high"].item()]
        assert [row["level"], row["method"], row["resampled"]] == [0.9, "bca", "artist"]

    def test_normal_ones_are_named(self, store):
        assert "95 % confidence interval, normal (delta method) over tracks" in printed(
            "query", store, *MAJMIN, "--ci", "--method", "normal"
        )
        row = rows("query", store, *MAJMIN, "--ci", "--method", "normal")[0]
        assert (row["method"], row["replicates"]) == ("normal", 0)
        assert "'method' is about intervals; add 'ci'" in refused("query", store, *MAJMIN, "--method", "bca")

    def test_groups_of_tracks(self, store):
        found = rows("query", store, *MAJMIN, "--ci", "--by", "genre")
        assert len(found) == 6
        assert {row["n"] for row in found} == {5}
        assert all(row["low"] is None for row in found)  # no five tracks have an interval at 95 %
        found = rows("query", store, *MAJMIN, "--ci", "0.9", "--by", "genre")
        assert all(row["low"] < row["value"] < row["high"] for row in found)

    def test_an_interval_of_few_tracks_is_a_mark_and_a_sentence(self, store):
        output = printed("query", store, *MAJMIN, "--ci", "--by", "genre")
        assert output.count("[-]") == 6 + 1
        assert "[-]: no interval: at 95 % it takes 6 tracks or more" in output
        assert "[-]" not in printed("query", store, *MAJMIN, "--ci")

    def test_without_intervals_nothing_changes(self, store):
        assert not {"low", "high", "level"} & set(rows("query", store, *MAJMIN)[0])

    def test_a_cluster_needs_intervals(self, store):
        assert "'cluster' is about intervals; add 'ci'" in refused("query", store, "--cluster", "artist")

    @pytest.mark.parametrize(
        ("before", "level"),
        [(["--ci"], "95 %"), (["--ci", "0.8"], "80 %"), (["--ci=0.8"], "80 %"), (["--ci", "--"], "95 %")],
    )
    def test_the_store_may_come_right_after(self, store, before, level):
        assert f"[ ]: {level} confidence interval" in printed("query", *MAJMIN, *before, store)

    def test_a_level_out_of_range(self, store):
        assert "0<x<1" in refused("query", store, "--ci", "95")


class TestCompare:
    def test_notes_name_the_policies_and_which_way_is_better(self, stored):
        ds = make_group(np.random.default_rng(0).random((2, 9, 1)), orientation=["none"])
        notes = printed("compare", stored(ds), "-m", "majmin", "--replicates", 50, "--notes")
        assert "undefined (keep): scores with nothing to measure count as they are" in notes
        assert "units on which system has the larger value, equal, the smaller one" in notes
        assert "is better" not in notes

    def test_the_test_of_right_and_wrong_answers_is_mcnemars(self, stored):
        answers = np.array([[1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1], [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0]])
        right, mean = stored(make_group(answers[..., np.newaxis].astype(float))), ("-m", "majmin", "-a", "mean")
        assert "(of right and wrong answers McNemar's test)" in printed("compare", right, *mean, "--notes")
        (row,) = rows("compare", right, *mean)
        both = [[int(((answers[0] == a) & (answers[1] == b)).sum()) for b in (1, 0)] for a in (1, 0)]
        assert row["p"] == pytest.approx(mcnemar(both, exact=True).pvalue, rel=1e-12)
        half = stored(make_group((answers[..., np.newaxis] / 2).astype(float)))
        assert "McNemar" not in printed("compare", half, *mean, "--notes")

    def test_people_see_the_ranking_and_its_notes(self, store):
        output = printed("compare", store, *MAJMIN)
        assert "chord: task chord, convention mir_eval; majmin, wcsr" in output
        note = "group: systems that share a letter are not told apart at 0.05 (permutation test, max-T, n = 10)"
        assert note in output
        assert "n: 10 units (track); missing (common): only the tracks that every system has" in output
        tables = mirflow.compare(store, group="chord", metric="majmin").tables()
        assert sum(len(table.notes) for table in tables) == 4
        assert "columns and methods: --notes (details=True)" in output
        explained = printed("compare", store, *MAJMIN, "--notes")
        assert "p: permutation: the two systems' results swapped unit by unit" in explained
        assert "columns and methods" not in explained

    def test_the_better_system_of_a_pair_is_named_first(self, store):
        for metric in ("majmin", "root"):
            output = printed(
                "compare", store, "-g", "chord", "-m", metric, "--replicates", 100, "--all-pairs", "--no-notes"
            )
            lines = [line.split() for line in output.replace(", ", ",").splitlines()[1:]]
            pairs = [words for words in lines if len(words) > 6 and words[0] in ("S0", "S1", "S2")]
            assert len(pairs) == 3
            assert all(not words[2].startswith("-") for words in pairs)
            assert all(sum(map(int, words[-1].split("/"))) == 10 for words in pairs)

    @pytest.mark.parametrize("how", [(), ("--friedman",)])
    def test_people_see_the_pairs_of_the_leader_unless_they_ask_for_all(self, store, how):
        every = printed("compare", store, *MAJMIN, *how, "--all-pairs", "--no-notes").splitlines()[1:]
        some = printed("compare", store, *MAJMIN, *how, "--no-notes").splitlines()[1:]
        ranking = [line.split()[0] for line in some if line[:2] in ("S0", "S1", "S2")][:3]
        pairs = [[line.split()[:2] for line in lines if line[:2] in ranking][3:] for lines in (some, every)]
        assert pairs[0] == [[ranking[0], other] for other in ranking[1:]]
        assert pairs[1] == [*pairs[0], ranking[1:]]
        assert f"pairs with {ranking[0]}, which leads; --all-pairs (all_pairs=True) lists all 3" in printed(
            "compare", store, *MAJMIN, *how
        )
        assert len(rows("compare", store, *MAJMIN, *how)) == 3

    def test_no_line_is_longer_than_a_terminal_of_80_columns(self, stored, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        scores = np.random.default_rng(0).random((4, 217, 1))
        store = stored(make_group(scores, systems=["NMSD1", "NMSD2", "CB4", "a system of a long name"]))
        for words in ((), ("--friedman",), ("--replicates", 50, "--percent", "--all-pairs")):
            assert max(map(len, printed("compare", store, "-m", "majmin", *words).splitlines())) <= 80

    def test_the_smallest_p_value_of_random_permutations_is_a_bound(self, stored):
        scores = np.random.default_rng(0).random((2, 40, 1)) + np.array([0, 2])[:, None, None]
        store = stored(make_group(scores))
        assert "<= 0.0001     <= 0.0001" in printed("compare", store, "-m", "majmin")
        assert "<= 0.0010" in printed("compare", store, "-m", "majmin", "--replicates", 999, "--correction", "holm")
        assert r"$\leq$\,0.0001" in printed("compare", store, "-m", "majmin", "--format", "latex")
        assert "<=" not in printed("compare", store, "-m", "majmin", "-a", "mean", "--test", "t")
        few = stored(make_group(scores[:, :8]))  # of which every permutation is counted: the p-value is exact
        assert "<=" not in printed("compare", few, "-m", "majmin")
        assert rows("compare", few, "-m", "majmin")[0]["p"] == 2**-7

    def test_every_evaluation_that_has_the_metric_answers(self, store):
        found = rows("compare", store, "-m", "majmin", "--replicates", 50)
        assert [row["group"] for row in found] == ["chord"] * 3 + ["chord_mirex2013"] * 3

    def test_programs_get_everything(self, store, groups):
        words = ("-a", "mean", "--test", "t", "--correction", "bh", "--unit", "artist", "--level", "0.9")
        row = rows("compare", store, "-g", "chord", "-m", "root", *words)[1]
        found = groups["chord"].mirflow.compare("root", "mean", test="t", correction="bh", unit="artist", level=0.9)
        assert [row["system"], row["other"], row["n"]] == ["S0", "S2", 5]
        assert [row["value"], row["other_value"]] == found["value"].values[[0, 2], 0].tolist()
        for name in ("difference", "low", "high", "p", "p_corrected", "superiority", "dz", "rank_biserial"):
            assert row[name] == found[name].values[0, 2, 0], name
        how = [row[name] for name in ("test", "correction", "level", "resampled", "aggregate")]
        assert how == ["t", "bh", 0.9, "artist", "mean"]

    def test_signed_ranks_have_no_interval_of_the_difference(self, store):
        row = rows("compare", store, "-g", "chord", "-m", "root", "-a", "mean", "--test", "wilcoxon")[1]
        assert (row["low"], row["high"]) == (None, None)
        assert "without an interval" in printed(
            "compare", store, "-m", "root", "-a", "mean", "--test", "wilcoxon", "--notes"
        )

    def test_ratios_in_percent_and_nothing_else(self, stored):
        path = stored(random_group(2, 6, 2, unit=["", "dB"]))
        for metric, count in (("majmin", 1), ("root", 0)):
            output = printed("compare", path, "-m", metric, "--percent", "--replicates", 50)
            assert ("ratios in percent" in output) == bool(count)

    def test_a_system_without_any_score(self, stored):
        score = np.random.default_rng(0).random((2, 3, 1))
        score[1] = np.nan
        path = stored(make_group(score, status=[["ok"] * 3, ["missing_estimate"] * 3]))
        lines = [line.split() for line in printed("compare", path, "-m", "majmin").splitlines()]
        ranking = [words for words in lines if words[:1] in (["S0"], ["S1"]) and words[1:2] == ["-"]]
        assert len(ranking) == 2
        pair = next(words for words in lines if words[:2] in (["S0", "S1"], ["S1", "S0"]))
        assert pair[2:5] == ["-", "-", "-"]


class TestFriedman:
    def test_people_see_mean_ranks_and_pairs_as_mirex_shows_them(self, store, groups):
        output = printed("compare", store, *MAJMIN, "--friedman")
        found = groups["chord"].mirflow.compare("majmin", friedman=True)
        assert f"Friedman: chi-square(2) = {found['statistic'].item():.4f}" in output
        assert "convention mir_eval; majmin, ranks on each track\n" in output
        lines = [line.split() for line in output.splitlines()]
        head = lines.index(["system", "other", "low", "mean", "high", "p", "differ"])
        first, second, low, gap, high, p, _ = lines[head + 2]
        quoted = f"{first} and {second} are not told apart: {first} leads by {gap} mean ranks [{low}, {high}], p = {p}"
        assert quoted in " ".join(output.split())
        for words in lines[head + 2 : head + 4]:
            assert float(words[3]) >= 0
            assert (words[6] == "yes") == (float(words[2]) > 0)

    def test_programs_get_everything(self, store, groups):
        row = rows("compare", store, *MAJMIN, "--friedman")[0]
        found = groups["chord"].mirflow.compare("majmin", friedman=True)
        assert [row["mean_rank"], row["other_mean_rank"]] == found["mean_rank"].values[[0, 1], 0].tolist()
        assert row["p_pair"] == found["p_pair"].values[0, 1, 0]
        assert row["rank_high"] - row["rank_low"] == pytest.approx(2 * row["critical_difference"])

    def test_ranks_have_no_test_to_choose(self, store):
        for name, value in (("test", "t"), ("rng", "1")):
            output = invoke("compare", store, "-m", "majmin", "--friedman", f"--{name}", value, code=2).output
            assert f"'friedman' compares ranks and takes no '{name}'" in output


class TestAccessor:
    def test_on_a_tree(self, groups):
        tree = xr.DataTree.from_dict(groups)
        assert tree.mirflow.compare("majmin", group="chord", friedman=True).attrs["group"] == "chord"
        assert tree.mirflow.query("only", replicates=50, ci=0.95).attrs["group"] == "chord_mirex2013"
        assert tree["chord"].mirflow.compare("root", replicates=50).attrs["group"] == "chord"
        with pytest.raises(QueryError, match="several groups match"):
            tree.mirflow.compare("majmin")

    def test_a_dataset_is_one_group(self, groups):
        with pytest.raises(QueryError, match="group 'chord': this dataset is a single evaluation"):
            groups["chord"].mirflow.agreement(group="chord")

    def test_unknown_words(self, groups):
        with pytest.raises(TypeError, match="replicats"):
            groups["chord"].mirflow.query(replicats=50, ci=0.95)

    def test_metrics_that_are_not_numbers(self, groups):
        dims = ("system", "track", "ref_class", "est_class")
        ds = groups["chord"].assign(confusion_majmin=(dims, np.zeros((3, 10, 2, 2))))
        ds = ds.assign_coords(ref_class=["a", "b"], est_class=["a", "b"])
        message = "'confusion' has the dims ref_class and est_class; this needs one number per track"
        with pytest.raises(QueryError, match=message):
            ds.mirflow.query("confusion@majmin", ci=0.95)


def test_of_many_systems_the_best_one_is_compared_with_each_other_one(tmp_path, monkeypatch):
    monkeypatch.setattr("mirflow.analysis.inference.comparisons.MOST_SYSTEMS", 3)
    store = write_store(tmp_path / "x.zarr", {"chord": random_group(5, 12, 1)})
    words = ("compare", store, *MAJMIN, "--replicates", "50")
    output = printed(*words)
    assert "no letters: of more than 100 systems, " in output
    assert "which leads; --all-pairs (all_pairs=True) compares all 10 of more than 100 systems" in output
    assert [len(rows(*words, *more)) for more in ((), ("--all-pairs",))] == [4, 10]
