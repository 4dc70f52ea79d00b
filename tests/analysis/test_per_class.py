"""Metrics with classes, tags and other extra dims: values, stars, captions, layouts, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import average_precision_score, roc_auc_score

import mirflow
from mirflow.errors import QueryError, UnknownNameError

from ..commands import printed, refused, rows
from ..datasets import score_files, write_dataset, write_pipeline
from ..groups import make_group, write_store

CHORDS = ["C:maj", "A:min", "N"]


def matrices(**keywords) -> xr.Dataset:
    """Two systems over four tracks with a confusion matrix of distinct numbers; S1 lacks t3."""
    score = np.full((2, 4, 1), 0.5)
    score[1, 3] = np.nan
    status = np.full((2, 4), "ok", dtype=object)
    status[1, 3] = "missing_estimate"
    status[0, 1] = "empty_estimate"
    ds = make_group(score, status=status, track_meta={"genre": ["rock", "", "pop", "rock"]}, **keywords)
    values = np.arange(2 * 4 * 9, dtype=float).reshape(2, 4, 3, 3)
    values[1, 3] = 0.0
    ds["confusion_majmin"] = (("system", "track", "ref_class", "est_class"), values, {"units": "s"})
    return ds.assign_coords(ref_class=CHORDS, est_class=CHORDS)


class TestMatrix:
    def test_tracks_are_added_up(self):
        ds = matrices()
        answer = ds.mirflow.query("confusion@majmin", missing="skip")
        assert answer["value"].dims == ("system", "ref_class", "est_class")
        np.testing.assert_array_equal(answer["value"], ds["confusion_majmin"].sum("track"))
        assert answer["n"].values.tolist() == [4, 3]
        assert (answer["n_missing"].values.tolist(), answer["n_empty"].values.tolist()) == ([0, 1], [1, 0])
        assert (answer.attrs["metric"], answer.attrs["aggregate"]) == ("confusion", "sum")
        assert answer["value"].attrs["units"] == "s"

    def test_systems_are_compared_on_common_tracks(self):
        ds = matrices()
        answer = ds.mirflow.query("confusion")
        assert answer.attrs["missing"] == "common"
        np.testing.assert_array_equal(answer["value"], ds["confusion_majmin"].isel(track=slice(3)).sum("track"))

    @pytest.mark.parametrize(("missing", "count"), [("skip", 3), ("zero", 4)])
    def test_the_mean_is_over_the_tracks_that_count(self, missing, count):
        ds = matrices()
        answer = ds.mirflow.query("confusion", "mean", missing=missing)
        expected = ds["confusion_majmin"].sel(system="S1").sum("track") / count
        np.testing.assert_allclose(answer["value"].sel(system="S1"), expected, rtol=1e-15)

    def test_groups_of_tracks_come_first_and_those_without_a_value_last(self):
        ds = matrices()
        answer = ds.mirflow.query("confusion", by="genre", system="S0")
        assert answer["value"].dims == ("system", "genre", "ref_class", "est_class")
        assert answer["genre"].values.tolist() == ["pop", "rock", ""]
        rock = ds["confusion_majmin"].sel(system=["S0"]).isel(track=[0, 3]).sum("track")
        np.testing.assert_array_equal(answer["value"].sel(genre="rock"), rock)

    def test_many_tracks_are_read_in_parts(self):
        values = np.random.default_rng(0).uniform(size=(1, 600, 2, 2))
        ds = make_group(np.zeros((1, 600, 1)))
        ds["confusion_root"] = (("system", "track", "ref_class", "est_class"), values)
        ds = ds.assign_coords(ref_class=["C", "N"], est_class=["C", "N"])
        tracks = [f"t{number}" for number in range(599, 0, -7)]
        np.testing.assert_allclose(
            ds.mirflow.query("confusion@root", tracks=tracks)["value"][0], values[0, 599:0:-7].sum(axis=0), rtol=1e-13
        )


class TestNames:
    @pytest.mark.parametrize("name", ["confusion", "confusion@majmin", "confusion_majmin"])
    def test_by_identity_or_variable(self, name):
        assert matrices().mirflow.query(name).attrs["metric"] == "confusion"

    def test_a_bare_name_stands_for_the_parameters_that_are_stored(self):
        ds = matrices().rename(confusion_majmin="confusion_sevenths")
        assert ds.mirflow.query("confusion").attrs["metric"] == "confusion@sevenths"
        with pytest.raises(UnknownNameError, match="unknown metric 'confusion@majmin'"):
            ds.mirflow.query("confusion@majmin")

    def test_unknown_names_are_reported_of_it(self):
        with pytest.raises(UnknownNameError, match="unknown metric 'confusoin'; did you mean 'confusion'"):
            matrices().mirflow.query("confusoin")
        with pytest.raises(UnknownNameError, match="unknown metric 'confusoin'; did you mean 'confusion'"):
            xr.DataTree.from_dict({"chord": matrices()}).mirflow.query("confusoin")

    def test_aggregates_that_it_does_not_have(self):
        with pytest.raises(QueryError, match="'wcsr' is not defined for metric 'confusion'; it has: sum, mean"):
            matrices().mirflow.query("confusion", "wcsr")
        with pytest.raises(UnknownNameError, match="unknown aggregate 'smu'; did you mean 'sum'"):
            matrices().mirflow.query("confusion", "smu")

    def test_it_is_asked_for_alone(self):
        with pytest.raises(QueryError, match="query one of them: confusion"):
            matrices().mirflow.query(["majmin", "confusion"])

    def test_the_command_shows_one_table_for_each(self, tmp_path):
        store = write_store(tmp_path / "s.zarr", {"chord": matrices()})
        found = printed("query", store, "-m", "majmin", "-m", "confusion", "-s", "S0")
        assert sum(line.startswith("chord: task chord") for line in found.splitlines()) == 2

    def test_without_a_name_the_numbers_answer(self):
        assert "metric" in matrices().mirflow.query().dims

    def test_a_name_of_another_answer(self):
        ds = matrices().assign_coords(system_year=("track", list("abcd"))).rename(genre="ref")
        assert ds.mirflow.query("confusion", by="ref")["value"].dims[1] == "ref"


class TestNothingButMatrices:
    """An evaluation without any metric that is one number."""

    @pytest.fixture
    def bare(self) -> xr.Dataset:
        return matrices().isel(metric=slice(0))

    def test_it_answers_without_a_name(self, bare):
        assert bare.mirflow.query().attrs["metric"] == "confusion"

    def test_from_a_store(self, tmp_path):
        write_dataset(tmp_path)
        report = mirflow.run(write_pipeline(tmp_path, metrics="[confusion@sevenths]"))
        tree = mirflow.open_store(report.store)
        answer = tree.mirflow.query()
        np.testing.assert_allclose(answer["value"], tree["chord"]["confusion_sevenths"].sum("track"), rtol=1e-13)
        total = sum(row["value"] for row in rows("query", report.store))
        assert total == pytest.approx(answer["value"].values.sum(), rel=1e-13)


TRACKS = 60
CLASSES = np.array(["blues", "jazz", "rock"])
SHARES = {"ada": 0.9, "bob": 0.85, "cyd": 0.3}
PIPELINE = """name: labels
store: {store}
evaluations:
  - task: classification
    name: genres
    reference: genres/reference.tsv
    estimates: "genres/{{system}}.tsv"
    systems: [ada, bob, cyd]
    tracks: folds.csv
  - task: tagging
    name: tags
    reference: tags/reference.tsv
    estimates: "tags/{{system}}.tsv"
    systems: [ada, bob, cyd]
    metrics: [f_measure, outcomes, affinities]
"""
RECALL = ("-g", "genres", "-m", "confusion", "-a", "recall")
MEAN = (*RECALL, "--across", "class=mean")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good systems and a bad one, on classes and on tags."""
    folder, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(4)
    labels, has = rng.choice(CLASSES, TRACKS), rng.random((TRACKS, len(CLASSES))) < 0.5
    write_genres(folder / "genres/reference.tsv", labels)
    write_tags(folder / "tags/reference.tsv", has.astype(float))
    for system, share in SHARES.items():
        right = rng.random(TRACKS) < share
        write_genres(folder / f"genres/{system}.tsv", np.where(right, labels, rng.choice(CLASSES, TRACKS)))
        kept = rng.random(has.shape) < share
        write_tags(
            folder / f"tags/{system}.tsv", np.where(kept, 0.6 * has + 0.2, 0.5) + rng.uniform(-0.2, 0.2, has.shape)
        )
    folds = [f"t{track},{track % 4}" for track in range(TRACKS)]
    (folder / "folds.csv").write_text("\n".join(["track,fold", *folds]) + "\n")
    path = folder / "labels.zarr"
    (folder / "pipeline.yaml").write_text(PIPELINE.format(store=path))
    mirflow.run(folder / "pipeline.yaml")
    return path


def write_genres(path: Path, labels: np.ndarray) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"t{track}\t{label}\n" for track, label in enumerate(labels)))


def write_tags(path: Path, degrees: np.ndarray) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = (f"t{track}\t{CLASSES[tag]}\t{degree:.6f}\n" for (track, tag), degree in np.ndenumerate(degrees))
    path.write_text("".join(rows))


class TestStars:
    def test_each_class_has_its_own_best_system(self, store: Path) -> None:
        listed = rows("query", store, *RECALL, "--significance")
        compared = rows("compare", store, *RECALL)
        for place in ("blues", "jazz", "rock"):
            own = {row["system"]: row for row in listed if row["class"] == place}
            best = max(own, key=lambda system: own[system]["value"])
            pairs = [row for row in compared if row["metric"] == f"confusion, {place}"]
            differ = {
                *(row["other"] for row in pairs if row["system"] == best and row["significant"]),
                *(row["system"] for row in pairs if row["other"] == best and row["significant"]),
            }
            assert {system for system, row in own.items() if not row["like_best"]} == differ
        assert any(not row["like_best"] for row in listed)

    def test_with_intervals_and_in_a_mean_over_classes(self, store: Path) -> None:
        lines = printed("query", store, *MEAN, "--ci", "--significance").splitlines()
        assert ["*" in line for line in lines[3:6]] == [True, True, False]
        assert all("[" in line for line in lines[3:6])
        assert any(line.startswith("*: not told apart from the best") for line in lines)

    def test_a_deviation_has_no_best_one(self, store: Path) -> None:
        text = printed("query", store, *RECALL, "--across", "class=mean,std", "--significance", "--format", "latex")
        values = [line.split(" & ")[1:3] for line in text.splitlines() if line.startswith(tuple(SHARES))]
        assert any(r"\textbf" in mean for mean, _ in values)
        assert not any(r"\textbf" in std or "superscript" in std for _, std in values)

    def test_groups_have_none(self, store: Path) -> None:
        message = refused("query", store, *MEAN, "--by", "fold", "--significance")
        assert "significance is that of values over all tracks" in message

    def test_affinities_are_not_swapped(self, store: Path) -> None:
        message = refused("query", store, "-m", "affinities", "--significance")
        assert "affinities of two systems have different scales" in message

    def test_programs_learn_how_it_was_found(self, store: Path) -> None:
        found = rows("query", store, *MEAN, "--significance", 0.9)
        assert {(row["test"], row["correction"], row["test_level"]) for row in found} == {("permutation", "max-t", 0.9)}


class TestAffinities:
    def test_intervals_are_those_of_the_area_that_is_asked_for_without_them(self, store: Path) -> None:
        plain = rows("query", store, "-m", "affinities")
        sure = rows("query", store, "-m", "affinities", "--ci")
        assert [row["value"] for row in sure] == [row["value"] for row in plain]
        assert {row["aggregate"] for row in sure} == {"roc_auc"}
        assert all(row["low"] <= row["value"] <= row["high"] for row in sure)

    def test_across_tags(self, store: Path) -> None:
        assert "roc_auc, mean over tags" in printed("query", store, "-m", "affinities", "--ci", "--across", "tag=mean")

    @pytest.mark.parametrize(
        ("kind", "oracle"), [("roc_auc", roc_auc_score), ("average_precision", average_precision_score)]
    )
    def test_micro_areas_are_those_of_scikit_learn(self, store: Path, kind: str, oracle: Any) -> None:
        tags = mirflow.open_store(store)["tags"].to_dataset()
        (variable,) = (name for name in tags.data_vars if name.startswith("affinities"))
        values = tags[variable].sortby("system").transpose("system", "track", "tag", "side").values
        found = rows("query", store, "-m", "affinities", "-a", kind, "--over", "tag=sum", "--sort", "name", "--ci")
        for row, side in zip(found, np.moveaxis(values, -1, 0).transpose(1, 0, 2, 3), strict=True):
            relevance, affinity = side.reshape(2, -1)
            known = ~np.isnan(relevance)
            assert row["value"] == pytest.approx(oracle(relevance[known] > 0, affinity[known]), abs=1e-12)
            assert row["low"] <= row["value"] <= row["high"]

    def test_other_reductions_within_a_track_are_refused(self, store: Path) -> None:
        message = refused("query", store, "-m", "affinities", "-a", "roc_auc", "--over", "tag=mean")
        assert "over tag=sum puts the decisions of all tags into one order (micro)" in message

    def test_comparisons_say_why_there_are_none(self, store: Path) -> None:
        with pytest.raises(QueryError, match="rank the systems on each tag instead"):
            mirflow.open_store(store).mirflow.compare("affinities")

    def test_nobody_is_reported_to_take_means_of_relevance_and_affinity(self, store: Path) -> None:
        message = refused("worst", store, "-m", "affinities", "-n", 3)
        assert "--aggregate roc_auc, average_precision" in message
        assert "=mean" not in message


class TestOverClasses:
    """Ratios of the sums over the classes of a confusion, and of one class alone."""

    def test_of_one_class_a_track_all_ratios_are_the_accuracy(self, store: Path) -> None:
        ds = mirflow.open_store(store).mirflow
        accuracy = ds.query("accuracy")["value"].squeeze("metric").values
        for kind in ("precision", "recall", "f_measure"):
            found = ds.query("confusion", kind, over={"class": "sum"})["value"]
            assert found.dims == ("system",)
            np.testing.assert_allclose(found.values, accuracy, rtol=1e-12)
        low = ds.query("confusion", "recall", over={"class": "sum"}, ci=0.95)["low"].values
        np.testing.assert_allclose(low, ds.query("accuracy", ci=0.95)["low"].squeeze("metric").values, rtol=1e-12)

    def test_one_class_alone_is_that_of_all(self, store: Path) -> None:
        ds = mirflow.open_store(store).mirflow
        each = ds.query("confusion", "f_measure")["value"]
        for name in CLASSES:
            alone = ds.query("confusion", "f_measure", over={"class": name})["value"]
            np.testing.assert_array_equal(alone.values, each.sel({"class": name}).values)

    @pytest.mark.parametrize(
        ("how", "message"),
        [
            ("class=mean", "counts of classes are summed (over class=sum); for the mean of their"),
            ("class=jaz", "unknown reduction or class 'jaz'"),
        ],
    )
    def test_what_else_is_refused(self, store: Path, how: str, message: str) -> None:
        assert message in refused("query", store, "-g", "genres", *RECALL, "--over", how)

    def test_class_is_whatever_the_classes_are_called(self, store: Path) -> None:
        asked = ("query", store, "-g", "tags", "-m", "outcomes", "-a", "f_measure", "--format", "csv")
        for option, how in (("--across", "mean"), ("--over", "sum")):
            assert printed(*asked, option, f"class={how}") == printed(*asked, option, f"tag={how}")


class TestOwnNames:
    """Dims that a store had to rename, as two metrics have other labels along them."""

    def test_dims_are_called_as_the_metric_calls_them(self, tmp_path: Path) -> None:
        row = "0.0,1.0,60,80,{},0\n"
        for place, program in (("ref", 40), ("est/a", 41)):
            (tmp_path / place).mkdir(parents=True)
            for track in ("s", "t"):
                text = "start,end,pitch,velocity,program,is_drum\n" + row.format(program) + row.format(0)
                (tmp_path / place / f"{track}.csv").write_text(text)
        path = score_files(
            tmp_path,
            "transcription",
            {"path": "ref/{track}.csv", "pitch_unit": "MIDI"},
            "est/{system}/{track}.csv",
            metrics=["by_program", "by_program@midi_class"],
        )
        ds = mirflow.open_store(path).mirflow
        for identity, labels in (
            ("by_program@full", ["Acoustic Grand Piano", "Violin", "Viola"]),
            ("by_program@midi_class", ["Piano", "Strings"]),
        ):
            found = ds.query(identity, "recall")["value"]
            assert found["instrument"].values.tolist() == labels
            for dim in ("instrument", "class"):
                assert ds.query(identity, "recall", across={dim: "mean"})["value"].sizes["instrument"] == 1
                assert ds.query(identity, "recall", over={dim: "sum"})["value"].dims == ("system",)
        assert "by_program_midi_class_instrument" not in printed("query", path, "-m", "by_program@midi_class")


class TestWhatToSay:
    @pytest.mark.parametrize("metric", ["confusion", "outcomes"])
    def test_counts_by_class_have_no_number_a_track(self, store: Path, metric: str) -> None:
        message = refused("query", store, "-m", metric, "--ci")
        assert "its statistics are those of all tracks together, by one of --aggregate" in message
        assert "recall" in message
        assert "=mean" not in message

    @pytest.mark.parametrize(
        ("group", "metric", "unit"), [("genres", "confusion", "class"), ("tags", "outcomes", "tag")]
    )
    def test_ranks_of_counts_want_an_aggregate(self, store: Path, group: str, metric: str, unit: str) -> None:
        message = refused("compare", store, "-g", group, "-m", metric, "--friedman", "--unit", unit)
        assert f"what is ranked is a value of each {unit}; choose an aggregate: precision, recall" in message
        assert f"(--aggregate recall --unit {unit})" in message

    def test_the_unit_of_a_confusion_is_the_class(self, store: Path) -> None:
        message = refused("compare", store, "-g", "genres", "-m", "confusion", "--friedman", "--unit", "ref_class")
        assert "(--aggregate recall --unit class)" in message

    @pytest.mark.parametrize(
        ("group", "name", "message"),
        [
            ("genres", "normalised_accuracy", "-m confusion -a recall --across class=mean"),
            ("genres", "balanced-accuracy", "-m confusion -a recall --across class=mean"),
            ("genres", "Macro F1", "-m confusion -a f_measure --across class=mean"),
            ("tags", "macro_f", "-m outcomes -a f_measure --across tag=mean"),
            ("tags", "micro_f", "-m outcomes -a f_measure --over tag=sum"),
            ("tags", "f1_micro", "-m outcomes -a f_measure --over tag=sum"),
            ("genres", "micro_f1", "-m confusion -a f_measure --over class=sum"),
            ("tags", "micro_auc", "-m affinities -a roc_auc --over tag=sum"),
            ("tags", "macro_auc", "-m affinities -a roc_auc --across tag=mean"),
        ],
    )
    def test_what_others_call_it(self, store: Path, group: str, name: str, message: str) -> None:
        noted = refused("compare", store, "-g", group, "-m", name)
        assert f"unknown metric '{name}'; it is read off all tracks together: {message}" in noted

    @pytest.mark.parametrize("name", ["macro_loudness", "micro_macro_f1", "accuracies"])
    def test_other_names_are_unknown(self, store: Path, name: str) -> None:
        assert "read off" not in refused("query", store, "-g", "genres", "-m", name)

    def test_a_table_and_a_number_are_asked_for_one_by_one(self, store: Path) -> None:
        message = refused("query", store, "-g", "genres", "-m", "accuracy", *RECALL[2:])
        assert "recall is read off confusion, which is asked for alone" in message


class TestTables:
    def test_what_a_mean_over_classes_is(self, store: Path) -> None:
        assert printed("query", store, *MEAN).splitlines()[1].split("   ") == [
            "system",
            "recall, mean over classes",
            " n",
        ]

    def test_systems_across(self, store: Path) -> None:
        lines = printed("query", store, *RECALL, "--pivot", "system").splitlines()
        assert lines[1].split() == ["class", "ada", "bob", "cyd", "n"]
        assert [line.split()[0] for line in lines[3:6]] == ["blues", "jazz", "rock"]

    def test_wide_tables_have_systems_across_before_they_break_into_blocks(
        self, store: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "120")
        wide = printed("query", store, *RECALL, "--ci", "-s", "ada", "-s", "bob").splitlines()
        assert wide[1].split() == ["system", "blues", "jazz", "rock", "n"]
        monkeypatch.setenv("COLUMNS", "80")
        narrow = printed("query", store, *RECALL, "--ci", "-s", "ada", "-s", "bob").splitlines()
        assert narrow[1].split() == ["class", "ada", "bob", "n"]
        monkeypatch.setenv("COLUMNS", "60")
        heads = [
            line.split() for line in printed("query", store, *RECALL, "--ci", "-s", "ada", "-s", "bob").splitlines()
        ]
        assert heads.index(["system", "blues", "jazz"]) < heads.index(["system", "rock", "n"])

    def test_groups_and_counts_do_not_turn(self, store: Path) -> None:
        assert "the labels run across, or the systems" in refused("query", store, *RECALL, "--pivot", "group")
        assert "one dim down and one across" in refused("query", store, *RECALL[:4], "--pivot", "system")

    def test_captions_are_sentences(self, store: Path) -> None:
        rules = "The rules are those of mirex."
        text = printed("query", store, *RECALL, "--ci", "--format", "latex")
        over = "3 systems on 60 tracks, with 95 \\% confidence intervals."
        assert rf"\caption{{Classification: recall of each class of {over} {rules} The best values are bold.}}" in text
        text = printed("query", store, *MEAN, "--percent", "--format", "latex")
        assert "Classification: recall, mean over classes, of 3 systems on 60 tracks, in percent." in text

    def test_captions_of_matrices(self, store: Path) -> None:
        text = printed("query", store, *RECALL[:4], "-s", "ada", "--format", "latex")
        assert r"\caption{Classification: confusion of ada on 60 tracks; ref class down, est class across." in text

    def test_captions_of_ranks_and_comparisons(self, store: Path) -> None:
        text = printed("compare", store, *RECALL, "--friedman", "--unit", "class", "--format", "latex")
        assert "Classification: mean ranks of 3 systems by recall on 3 classes." in text
        text = printed("compare", store, *RECALL, "--friedman", "--unit", "class", "--format", "latex", "--all-pairs")
        assert "Classification: differences in mean rank between every two of 3 systems by recall on 3 classes" in text
        text = printed("compare", store, *RECALL, "--format", "latex", "--replicates", 50)
        assert "Classification: recall of jazz of 3 systems." in text
        text = printed("compare", store, *MEAN, "--format", "latex", "--replicates", 50, "--all-pairs")
        assert "differences in recall, mean over classes, between every two of 3 systems, with 95" in text

    def test_n_says_that_it_is_no_support(self, store: Path) -> None:
        assert "n: tracks that count, of which few may be of a single class" in printed("query", store, *RECALL)
        assert "n: tracks that count\n" in printed("query", store, *MEAN)
