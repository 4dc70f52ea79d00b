"""``mirflow query`` with all that narrows a question down and lays an answer out."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from ..commands import invoke, printed, refused
from ..commands import rows as table
from ..groups import make_group, random_group, write_store

SCORES = [[[0.9], [0.1], [0.5], [0.4]], [[0.2], [0.8], [0.3], [0.6]]]
ABOUT = {"genre": ["Rock", "Pop", "Rock", "Pop"], "year": [1971, 1985, 1990, 1979]}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ds = make_group(SCORES, systems=["ada", "bob"], track_meta=ABOUT, standard=["mean"])
    return write_store(tmp_path_factory.mktemp("query") / "x.zarr", {"chord": ds})


def rows(*words: object) -> list[dict[str, Any]]:
    """The rows that ``mirflow query`` prints for programs."""
    return table("query", *words)


class TestAgreement:
    def test_systems_agree_on_which_tracks_are_hard_as_in_python(self, store):
        (row,) = table("agreement", store, "--between", "system")
        with xr.open_datatree(store, engine="zarr", chunks=None) as tree:
            found = tree.mirflow.agreement("majmin", between="system")
            expected = found.tau.sel(system="ada", other="bob").item()
        assert (row["system"], row["other"], row["metric"], row["n"]) == ("ada", "bob", "majmin", 4)
        assert row["tau"] == expected == pytest.approx(-1)

    def test_people_see_a_matrix_that_says_what_it_is(self, store):
        shown = printed("agreement", store, "--between", "system")
        assert [line.split() for line in shown.splitlines()[1:5] if "─" not in line] == [
            ["system", "ada", "bob"],
            ["ada", "1.0000", "-1.0000"],
            ["bob", "-1.0000", "1.0000"],
        ]
        assert "agreement of systems by majmin" in shown
        assert "Kendall's tau-b of the rankings of the tracks: 1 the same order, -1 the reverse one" in shown
        assert "n: 4 tracks" in shown

    def test_metrics_and_annotators(self, tmp_path):
        scores = np.random.default_rng(0).random((3, 4, 3))
        ds = make_group(scores, standard=["mean"] * 3, orientation=["higher", "higher", "none"])
        path = write_store(tmp_path / "two.zarr", {"chord": ds})
        (row,) = table("agreement", path)
        assert (row["metric"], row["other"], row["n"]) == ("majmin", "root", 3)
        assert "annotator" in invoke("agreement", path, "--between", "annotator", code=2).stderr


class TestChoosing:
    def test_ties_are_noted_where_only_some_of_them_are_listed(self, tmp_path):
        scores = np.array([[0.0] * 15 + [0.5], [0.9] * 3 + [0.2] * 12 + [0.1]])[..., np.newaxis]
        path = write_store(tmp_path / "ties.zarr", {"key": make_group(scores, systems=["ada", "bob"])})
        shown = " ".join(printed("worst", path, "-n", 10).split())
        assert (
            "ada: 15 tracks at 0.0000, of which 10 are listed; bob: 12 tracks at 0.2000, of which 9 are listed" in shown
        )
        found = table("worst", path, "-n", 10)
        assert [row["rank"] for row in found] == [1] * 10 + [1] + [2] * 9
        assert {row["tied"] for row in found if row["system"] == "ada"} == {15}
        assert "ties" not in printed("worst", path, "-n", 1, "-s", "bob")
        assert "ties" not in printed("worst", path, "-n", 15, "-s", "ada")
        overall = " ".join(printed("worst", path, "-n", 2, "--overall").split())
        assert "the mean over the systems: 12 tracks at 0.1000, of which 2 are listed" in overall

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

    def test_tables_for_people_have_the_best_system_first_and_those_for_programs_the_stored_order(self, store):
        def order(*arguments: str) -> list[str]:
            lines = printed("query", store, "-t", "t1", *arguments).splitlines()
            return [name for line in lines for name in ("ada", "bob") if name in line.replace(",", " ").split()]

        assert order() == order("--format", "markdown") == ["bob", "ada"]
        assert order("--by", "genre") == ["bob", "ada"]
        assert (
            order("--sort", "stored") == order("--format", "csv") == order("-s", "ada", "-s", "bob") == ["ada", "bob"]
        )
        assert order("--format", "csv", "--sort", "best") == ["bob", "ada"]

    def test_best_first_goes_by_the_headline_where_no_metric_is_named(self, tmp_path):
        scores = [[[0.9, 0.1]], [[0.1, 0.9]]]  # of the first metric ada is better, of the headline bob
        about = {"metrics": ["root", "majmin"], "systems": ["ada", "bob"], "standard": ["mean", "mean"]}
        path = write_store(tmp_path / "h.zarr", {"chord": make_group(scores, **about, task="chord")})

        def order(*arguments: str) -> list[str]:
            lines = printed("query", path, *arguments).splitlines()
            return [name for line in lines for name in ("ada", "bob") if name in line.split()]

        assert order() == order("--sort", "best") == ["bob", "ada"]
        assert order("-m", "root", "-m", "majmin") == ["ada", "bob"]
        (head,) = [line for line in printed("query", path, "--primary").splitlines() if "ada" in line]
        assert head.index("bob") < head.index("ada")

    def test_marks_and_intervals_are_beside_their_systems_whatever_comes_first(self, store):
        asked = ("--significance", "--ci", "--format", "csv")
        first = {line.split(",")[5]: line for line in printed("query", store, *asked).splitlines()}
        again = {line.split(",")[5]: line for line in printed("query", store, *asked, "--sort", "best").splitlines()}
        assert first == again

    def test_param(self, tmp_path):
        ds = random_group(1, 2, 2, metrics=["f_measure", "f_measure@0.1"], standard=["mean"] * 2)
        ds = ds.assign_coords(window=("metric", [0.05, 0.1]))
        path = write_store(tmp_path / "y.zarr", {"beat": ds})
        assert [row["metric"] for row in rows(path, "--param", "window=0.1")] == ["f_measure@0.1"]

    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("--param", "window", "expected NAME=VALUE, not 'window'"),
            ("--over", "frame=", "expected DIM=HOW, not 'frame='"),
            ("--over", "frame=mean", "'majmin' is one number for each track, and has no dims to reduce"),
            ("--where", "genr == 'x'", "unknown coordinate 'genr'; did you mean 'genre'"),
            ("--where", "__import__('os')", "is a call; only col('a name') is allowed"),
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
        for command, tracks in (("worst", ["t1", "t0"]), ("best", ["t0", "t1"])):
            listed = [(row["system"], row["track"]) for row in table(command, store, "-n", 1)]
            assert listed == list(zip(["ada", "bob"], tracks, strict=True))

    def test_how_many_tracks_were_looked_at(self, store):
        listed = table("worst", store, "-n", 1, "--where", "year > 1975")
        assert {(row["n"], row["left_out"]) for row in listed} == {(3, 0)}
        assert "n: 4 tracks; left out: 0 scores" in printed("worst", store, "-n", 1)

    def test_over_all_systems(self, store):
        assert {(row["track"], row["mean"]) for row in table("worst", store, "-n", 1, "--overall")} == {("t2", 0.4)}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--cluster", "genre"], "'cluster' is about intervals; add 'ci' or 'significance'"),
            (["--method", "bca"], "'method' is about intervals; add 'ci'"),
            (["--stacked"], "--stacked needs --format latex"),
            (["--stacked", "--format", "latex"], "--stacked puts intervals below their values; add --ci"),
            (["--format", "parquet"], "parquet is a binary format: give a file with --output"),
            (["--pivot", "group"], "nothing is grouped"),
        ],
    )
    def test_options_that_would_not_be_looked_at(self, store, options, message):
        assert message in invoke("query", store, *options, code=2).output


class TestNothingLeft:
    def test_is_noted(self, store):
        for command, *options in [["query"], ["worst"], ["query", "--format", "latex"]]:
            assert "no track is left by where" in printed(command, store, "--where", "year > 2000", *options)

    def test_a_text_without_quotes_and_a_single_equals_sign(self, store):
        output = invoke("query", store, "--where", "genre == Rock", code=2).output
        assert "a text is quoted: 'Rock'" in output
        assert "equality is ==" in invoke("query", store, "--where", "genre = 'Rock'", code=2).output


class TestLayouts:
    def head(self, store, *options):
        return printed("query", store, "--by", "genre", *options).splitlines()[1].split()

    def test_pivot(self, store):
        assert self.head(store, "--pivot", "metric") == ["system", "genre", "majmin", "n"]
        assert self.head(store, "--pivot", "system") == ["metric", "genre", "ada", "bob", "n"]
        assert self.head(store, "--pivot", "group") == ["metric", "system", "Pop", "Rock", "n"]

    def test_pivot_for_programs(self, store):
        found = rows(store, "--by", "track", "--pivot", "system")
        single = rows(store, "--by", "track")
        assert {(row["track"], name): row[name] for row in found for name in ("ada", "bob")} == {
            (row["track"], row["system"]): row["value"] for row in single
        }

    def test_how_many_tracks_each_group_has(self, store):
        output = printed("query", store, "--by", "genre", "--pivot", "group", "--where", "year < 1990")
        assert "n by column: Pop: 2, Rock: 1" in output

    def test_units(self, tmp_path):
        ds = random_group(1, 2, 2, metrics=["sdr", "seg"], standard=["mean"] * 2, unit=["dB", ""])
        path = write_store(tmp_path / "u.zarr", {"separation": ds})
        assert "\nin dB: sdr\n" in printed("query", path)
        assert "\nvalues in dB\n" in printed("query", path, "-m", "sdr")

    @pytest.fixture
    def larger(self, tmp_path):
        ds = random_group(2, 12, 1, standard=["mean"])
        return write_store(tmp_path / "larger.zarr", {"chord": ds})

    def test_latex_by_the_files_suffix(self, larger, tmp_path):
        invoke("query", larger, "--significance", "--ci", "--stacked", "-o", tmp_path / "x.tex")
        latex = (tmp_path / "x.tex").read_text()
        assert r"\begin{tabular}" in latex
        assert r"\scriptsize" in latex
        assert r"\textsuperscript{*}" in latex

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

    def test_answer_as_one_and_say_so(self, years, store):
        found = rows(*years)
        assert {row.pop("stores") for row in found} == {"2013, 2014"}
        assert found == rows(store)
        assert "convention mir_eval, stores 2013, 2014" in printed("query", *years)

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
        output = printed("compare", *years, "-m", "majmin", "--replicates", 50, "--where", "year > 1970")
        assert "ada" in output
        assert "bob" in output


CLASSES = {"task": "classification", "convention": "mirex"}


class TestAcross:
    def test_tracks_without_a_value_are_in_no_fold(self, tmp_path):
        folds = ["1", "1", "2", "2", ""]
        ds = make_group([[[1.0], [0.0], [1.0], [1.0], [0.0]]], track_meta={"fold": folds}, standard=["mean"])
        path = write_store(tmp_path / "f.zarr", {"classification": ds})
        asked = ("--by", "fold", "--across", "fold=mean,max")
        assert [(row["fold"], row["value"], row["n"]) for row in rows(path, *asked)] == [
            ("mean", 0.75, 4),
            ("max", 1.0, 4),
        ]
        assert "1 track without a value of fold is in no fold" in printed("query", path, *asked)

    def test_of_matrices_too(self, tmp_path):
        ds = make_group(np.zeros((1, 4, 1)), track_meta={"fold": [1.0, 2.0, np.nan, np.nan]}, **CLASSES)
        ds["confusion"] = (("system", "track", "ref_class", "est_class"), np.arange(16.0).reshape(1, 4, 2, 2))
        ds = ds.assign_coords(ref_class=["a", "b"], est_class=["a", "b"])
        answer = ds.mirflow.query("confusion", by="fold", across={"fold": "mean"})
        np.testing.assert_array_equal(answer["value"].values.ravel(), [2, 3, 4, 5])
        assert answer.attrs["ungrouped"] == "2 tracks without a value of fold are in no fold"
        assert answer["n_tracks"].values.tolist() == [2]


class TestInfinity:
    @pytest.fixture
    def perfect(self, tmp_path):
        scores = [[[np.inf], [3.0], [5.0]], [[np.inf], [-np.inf], [5.0]]]
        ds = make_group(scores, unit=["dB"], metrics=["sdr"], standard=["mean"], aggregates=["mean median pooled"])
        return write_store(tmp_path / "p.zarr", {"separation": ds})

    def test_the_mean_is_infinite_and_of_both_infinities_there_is_none(self, perfect):
        assert [row["value"] for row in rows(perfect)] == ["inf", None]
        text = printed("query", perfect, "--format", "csv").splitlines()
        assert [row["value"] for row in csv.DictReader(text)] == ["inf", ""]

    def test_the_median_is_not(self, perfect):
        assert [row["value"] for row in rows(perfect, "-a", "median")] == [5.0, 5.0]

    def test_what_weighs_nothing_adds_nothing(self, tmp_path):
        weight = [[[0.0], [1.0], [1.0]]]
        ds = make_group([[[np.inf], [3.0], [5.0]]], weight, metrics=["sdr"], aggregates=["mean pooled"])
        path = write_store(tmp_path / "q.zarr", {"separation": ds})
        assert rows(path, "-a", "pooled")[0]["value"] == 4.0

    def test_people_are_reported(self, perfect):
        assert "inf: some scores are infinite, and so is their mean" in printed("query", perfect)
        assert "inf:" not in printed("query", perfect, "--aggregate", "median")

    def test_intervals_do_not_fail(self, perfect):
        output = printed("query", perfect, "--ci", "-a", "median")
        assert "5.0000" in output
        invoke("query", perfect, "--ci")
        invoke("query", perfect, "--ci", "--format", "json")


class TestPrimary:
    """One table: the first metric of each evaluation, the systems across."""

    @pytest.fixture
    def campaign(self, tmp_path: Path) -> Path:
        chord = make_group(SCORES, systems=["ada", "bob"], track_meta=ABOUT, standard=["wcsr"])
        metrics = ["f_measure@0.02", "f_measure"]
        beat = random_group(3, 4, 2, metrics=metrics, standard=["mean"] * 2, systems=["ada", "bob", "cyd"])
        return write_store(tmp_path / "c.zarr", {"chord": chord, "beat": beat})

    def test_a_row_for_each_evaluation(self, campaign):
        lines = printed("query", campaign, "--primary").splitlines()
        assert lines[0] == "the headline metric of each evaluation"
        assert lines[1].split() == ["evaluation", "metric", "aggregate", "ada", "bob", "cyd", "n"]
        heads = {line.split()[0]: line.split()[1:3] for line in lines[3:5]}
        assert heads == {"chord": ["majmin", "wcsr"], "beat": ["f_measure@0.02", "mean"]}
        assert next(line for line in lines if line.startswith("chord")).split()[-2:] == ["-", "4"]

    def test_of_some_tracks_in_groups(self, campaign):
        lines = printed("query", campaign, "--primary", "-g", "chord", "--by", "genre", "--where", "year > 1975")
        assert [line.split()[3] for line in lines.splitlines()[3:5]] == ["Pop", "Rock"]

    def test_evaluations_without_the_coordinate_are_left_out(self, campaign):
        output = printed("query", campaign, "--primary", "--by", "genre")
        assert output.splitlines()[-1] == "left out, without genre: beat"
        assert (
            "beat: left out, without genre"
            in invoke("query", campaign, "--primary", "-b", "genre", "--format", "csv").stderr
        )
        assert (
            "unknown track coordinate 'gerne'" in invoke("query", campaign, "--primary", "--by", "gerne", code=2).output
        )

    def test_compare_by_each_of_them(self, campaign):
        output = printed("compare", campaign, "--friedman")
        assert "f_measure@0.02" in output
        assert "majmin" in output

    def test_with_intervals_and_marks(self, campaign, tmp_path):
        output = printed("query", campaign, "--primary", "--ci", "--significance")
        assert "[-]: no interval: at 95 % it takes 6 tracks or more" in output
        assert "no *: so few units cannot give a corrected p-value below 0.05" in output
        groups = {"chord": random_group(2, 4, 1), "beat": random_group(2, 12, 1, metrics=["f_measure"])}
        path = write_store(tmp_path / "two.zarr", groups)
        output = printed("query", path, "--primary", "--ci", "--significance")
        assert "confidence interval, bootstrap over tracks" in output
        assert "*: not told apart from the best at 0.05 (permutation test, max-T, n = 4-12)" in output
        assert "no * for chord: so few units" in output

    def test_programs_get_the_rows_of_these_metrics(self, campaign):
        found = rows(campaign, "--primary")
        assert {(row["group"], row["metric"]) for row in found} == {("chord", "majmin"), ("beat", "f_measure@0.02")}
        assert len(found) == 5

    def test_systems_across_have_the_order_that_is_asked_for(self, campaign):
        assert "ada      bob      cyd" in printed("query", campaign, "--primary", "--sort", "name")

    def test_latex_gets_the_table(self, campaign):
        output = printed("query", campaign, "--primary", "--format", "latex")
        assert r"\caption{The headline metric of each evaluation.}" in output
        assert "evaluation & metric & aggregate & ada & bob & cyd & n" in output

    @pytest.mark.parametrize("option", [["-m", "majmin"], ["--pivot", "system"]])
    def test_takes_no_other_metrics_and_layouts(self, campaign, option):
        assert (
            "'primary' shows the headline metric of each evaluation"
            in invoke("query", campaign, "--primary", *option, code=2).output
        )


class TestLatex:
    def test_a_caption_in_sentences(self, store):
        output = printed("query", store, "--format", "latex", "--percent")
        assert r"\caption{Chord estimation: Majmin of 2 systems on 4 tracks, in percent." in output

    def test_another_caption_a_label_and_no_notes(self, store):
        words = ["--caption", r"All \emph{systems}.", "--tex-label", "tab:all", "--no-notes"]
        output = printed("query", store, "--format", "latex", *words)
        assert "\\caption{All \\emph{systems}.}\n\\label{tab:all}\n" in output
        assert "minipage" not in output

    @pytest.mark.parametrize("option", [["--caption", "x"], ["--tex-label", "x"], ["--names", "titles"]])
    def test_only_there(self, store, option):
        assert f"{option[0]} needs --format latex" in invoke("query", store, *option, code=2).output

    def test_the_worst_tracks_are_listed_under_the_title_of_the_metric(self, store):
        words = ("worst", store, "-m", "majmin", "-n", 1, "--format", "latex")
        assert "system & rank & track & Majmin & weight" in printed(*words)
        assert "system & rank & track & majmin & weight" in printed(*words, "--names", "identifiers")
        assert "this table has none with a title" in refused(*words, "--overall", "--names", "titles")

    def test_aggregates_that_differ_are_behind_the_metrics(self, tmp_path):
        ds = random_group(2, 3, 2, metrics=["majmin", "seg"], standard=["wcsr", "mean"])
        words = ("query", write_store(tmp_path / "z.zarr", {"chord": ds}), "--format", "latex")
        assert "system & Majmin (WCSR) & Seg (mean) & n" in printed(*words)
        assert "system & majmin (WCSR) & seg (mean) & n" in printed(*words, "--names", "identifiers")
        down = printed(*words, "--pivot", "system")
        assert [line for line in down.splitlines() if line.startswith(("Majmin (WCSR) & ", "Seg (mean) & "))][1:]

    def test_a_best_system_that_differs_from_all_has_no_star(self, tmp_path):
        rng = np.random.default_rng(0)
        scores = rng.random((3, 40, 1)) / 10 + np.array([0.8, 0.2, 0.2])[:, np.newaxis, np.newaxis]
        path = write_store(tmp_path / "z.zarr", {"chord": make_group(scores, standard=["mean"])})
        assert r"\textsuperscript{*} &" not in printed("query", path, "--significance", "--format", "latex")
        close = printed("query", path, "-s", "S1", "-s", "S2", "--significance", "--format", "latex")
        assert close.count(r"\textsuperscript{*} &") == 2


class TestNothingInCommon:
    @pytest.fixture
    def apart(self, tmp_path: Path) -> Path:
        status = [[1, 1, 2, 2], [2, 2, 1, 1]]
        ds = make_group(np.full((2, 4, 1), 0.5), status=status, standard=["mean"])
        return write_store(tmp_path / "apart.zarr", {"chord": ds})

    def test_compare_says_why_there_are_dashes(self, apart):
        output = printed("compare", apart, "-m", "majmin", "--replicates", 50)
        assert "no track has a score of two systems, so that nothing can be compared" in output
        output = printed("compare", apart, "-m", "majmin", "--friedman")
        assert "no track has a score of every system, so that nothing can be ranked" in output
        assert "nan" not in output


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good systems that do not differ, and a bad one; the second metric is an error, of which less is better."""
    rng = np.random.default_rng(1)
    good = rng.uniform(0.7, 0.9, (1, 30))
    scores = np.concatenate([good, good + rng.normal(0, 0.01, (1, 30)), good - 0.3])
    both = np.stack([scores, 1 - scores], axis=2)
    group = make_group(both, standard=["mean", "mean"], orientation=["higher", "lower"])
    return write_store(tmp_path_factory.mktemp("marks") / "s.zarr", {"chord": group})


def marked(store: Path, *words: object) -> dict[str, list[bool]]:
    """Whether each system is marked, by metric."""
    found: dict[str, list[bool]] = {}
    for row in rows(store, "--significance", *words):
        found.setdefault(row["metric"], []).append(bool(row["like_best"]))
    return found


def test_the_best_and_what_does_not_differ_from_it(three):
    assert marked(three) == {"majmin": [True, True, False], "root": [True, True, False]}


def test_a_level_that_nothing_reaches(three):
    assert marked(three, 0.9995) == {"majmin": [True, True, False], "root": [True, True, False]}
    few = [word for track in range(5) for word in ("--track", f"t{track}")]
    for words in ([1 - 1e-9], few):
        assert not any(map(any, marked(three, *words).values()))
        assert "\nno *: so few units cannot give" in printed("query", three, "--significance", *words)


def test_neither_way_is_better(tmp_path):
    group = make_group(np.random.default_rng(0).random((2, 9, 1)), standard=["mean"], orientation=["none"])
    assert marked(write_store(tmp_path / "s.zarr", {"chord": group})) == {"majmin": [False, False]}


def test_groups_of_tracks_have_none(three):
    message = refused("query", three, "--significance", "--by", "track")
    assert "significance is that of values over all tracks" in message


def test_tables_have_a_star_and_a_note(three):
    lines = printed("query", three, "--significance").splitlines()
    assert [line.split()[1].endswith("*") for line in lines[3:6]] == [True, True, False]
    note = "*: not told apart from the best at 0.05 (permutation test, max-T, n = 30)"
    assert f"{note}; a best one without it differs from all others" in " ".join(lines)
