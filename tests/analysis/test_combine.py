"""Several stores as one: what is joined, how lazily, and what is refused or warned of."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import MirflowWarning, QueryError

from ..commands import invoke, printed, rows
from ..datasets import write_dataset, write_pipeline
from ..groups import CODES, make_group, random_group, write_store, write_stores


@pytest.fixture
def whole() -> xr.Dataset:
    """Four systems on six tracks."""
    meta = {"genre": list("ababab"), "year": [1970, 1971, 1972, 1973, 1974, 1975]}
    return random_group(4, 6, 2, track_meta=meta, seed=3)


@pytest.fixture
def stores(tmp_path, whole):
    """Two of the systems in each of two stores."""
    return write_stores(tmp_path, {"one": whole.isel(system=[0, 1]), "two": whole.isel(system=[2, 3])})


def quiet_open(paths) -> xr.DataTree:
    """Stores as one, opened without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return mirflow.open_store(paths)


class TestSystemsOfSeveralStores:
    def test_are_as_if_they_were_in_one(self, stores, whole):
        ds = quiet_open(stores)["chord"].to_dataset()
        for name in ("score", "weight", "status", "repairs", "duration"):
            np.testing.assert_array_equal(ds[name].values, whole[name].values)
        for name in ("genre", "year", "title", "aggregates", "version"):
            np.testing.assert_array_equal(ds[name].values.astype(str), whole[name].values.astype(str))
        assert ds.attrs["stores"] == "one, two"

    def test_keep_the_attributes_that_all_have_alike(self, tmp_path, whole):
        parts = {name: whole.isel(system=[0]) for name in ("one", "two")}
        parts["two"] = whole.isel(system=[1]).assign_attrs(curator="bob")
        ds = quiet_open(write_stores(tmp_path, {**parts, "one": parts["one"].assign_attrs(curator="ada")}))["chord"]
        assert ds.attrs["convention"] == "mir_eval"
        assert "curator" not in ds.attrs

    def test_answer_as_if_they_were_in_one(self, stores, whole, tmp_path):
        joined = quiet_open(stores).mirflow.query(by="genre", where="year > 1970", sort="majmin")
        path = write_store(tmp_path / "whole.zarr", {"chord": whole})
        alone = mirflow.open_store(path).mirflow.query(by="genre", where="year > 1970", sort="majmin")
        xr.testing.assert_equal(joined["value"].drop_vars("group", errors="ignore"), alone["value"])

    def test_in_any_order_of_selection(self, stores, whole):
        ds = quiet_open(stores)["chord"].to_dataset()
        for key in [(1,), (slice(None), 2), ([3, 0], slice(4, 1, -1)), (-1, [0, 5, 0], 1), (slice(0, 0),)]:
            np.testing.assert_array_equal(ds["score"][key].values, whole["score"][key].values)

    def test_nothing_is_read_before_it_is_asked_for(self, stores):
        tree = quiet_open(stores)
        assert "[48 values with dtype=float64]" in repr(tree["chord"]["score"].variable)


class TestTracksOfSeveralStores:
    def test_are_groups(self, tmp_path, whole):
        parts = {"y2013": whole.isel(track=[0, 1, 2]), "y2014": whole.isel(track=[3, 4, 5])}
        tree = quiet_open(write_stores(tmp_path, parts))
        answer = tree.mirflow.query("majmin", by="store")
        assert answer["store"].values.tolist() == ["y2013", "y2014"]
        for name, ds in parts.items():
            np.testing.assert_array_equal(
                answer["value"].sel(store=name).values, ds["score"].weighted(ds["weight"]).mean("track").values[:, :1]
            )

    def test_what_no_store_has_was_not_computed(self, tmp_path, whole):
        parts = [whole.isel(system=[0, 1], track=[0, 1, 2]), whole.isel(system=[1, 2], track=[3, 4, 5])]
        paths = write_stores(tmp_path, dict(zip("01", parts, strict=True)))
        tree = quiet_open(paths)
        ds = tree["chord"].to_dataset()
        assert (ds["status"].sel(system="S0").values == [CODES["ok"]] * 3 + [CODES["not_computed"]] * 3).all()
        assert np.isnan(ds["score"].sel(system="S0").values[3:]).all()
        common = tree.mirflow.query("majmin", system=["S0", "S1"])
        assert common["n"].values.ravel().tolist() == [3, 3]
        assert tree.mirflow.query("majmin", missing="skip")["n"].values.ravel().tolist() == [3, 6, 3]
        with pytest.raises(QueryError, match="are in different stores, so the weights of missing scores"):
            tree.mirflow.query("majmin", missing="zero")

    def test_nothing_in_common_is_noted(self, tmp_path, whole):
        parts = [whole.isel(system=[0, 1], track=[0, 1, 2]), whole.isel(system=[1, 2], track=[3, 4, 5])]
        paths = write_stores(tmp_path, dict(zip("01", parts, strict=True)))
        note = printed("query", *paths, "--missing", "common").splitlines()[-1]
        assert note.startswith("no track has a score of every system")
        assert note.endswith("or choose missing skip (--missing)")

    def test_without_a_common_track_each_store_has_its_values(self, tmp_path, whole):
        parts = [whole.isel(system=[0, 1], track=[0, 1, 2]), whole.isel(system=[2, 3], track=[3, 4, 5])]
        paths = write_stores(tmp_path, dict(zip("01", parts, strict=True)))
        answer = quiet_open(paths).mirflow.query("majmin", by="store")
        assert answer.attrs["missing"] == "skip"
        for name, ds in zip("01", parts, strict=True):
            own = answer["value"].sel(store=name, metric="majmin")
            expected = ds["score"].weighted(ds["weight"]).mean("track").values[:, 0]
            np.testing.assert_array_equal(own.sel(system=ds["system"].values).values, expected)
            assert np.isnan(own.values).sum() == 2

    def test_ranks_need_common_tracks_all_the_same(self, tmp_path, whole):
        parts = [whole.isel(system=[0, 1], track=[0, 1, 2]), whole.isel(system=[2, 3], track=[3, 4, 5])]
        paths = write_stores(tmp_path, dict(zip("01", parts, strict=True)))
        assert quiet_open(paths).mirflow.compare("majmin", friedman=True).attrs["missing"] == "common"
        assert "\nno track has a score of every system" in printed("compare", *paths, "-m", "majmin", "--friedman")


class TestTheSameCellTwice:
    def test_is_refused(self, tmp_path, whole):
        paths = write_stores(tmp_path, {"a": whole, "b": whole})
        message = r"system 'S0', track 't0' is in a and in b \(24 such cells\).* as in --label a --label b or open"
        with pytest.raises(QueryError, match=message):
            mirflow.open_store(paths)

    def test_unless_the_stores_have_labels(self, tmp_path, whole):
        paths = dict(zip("ab", write_stores(tmp_path, {"a": whole, "b": whole}), strict=True))
        answer = mirflow.open_store(paths).mirflow.query("majmin", system=["a/S1", "b/S1"])
        assert answer["value"].values[0] == answer["value"].values[1]

    def test_or_only_one_of_them_has_it(self, tmp_path, whole):
        half = whole.copy(deep=True)
        half["status"][:, 3:] = CODES["not_computed"]
        half["score"][:, 3:] = np.nan
        rest = whole.copy(deep=True)
        rest["status"][:, :3] = CODES["not_computed"]
        rest["score"][:, :3] = np.nan
        paths = write_stores(tmp_path, {"a": half, "b": rest})
        np.testing.assert_array_equal(quiet_open(paths)["chord"]["score"].values, whole["score"].values)


class TestOtherMetricsOfTheSameCells:
    """Run times that were imported under the name of an evaluation that was computed."""

    @pytest.fixture
    def computed(self) -> xr.Dataset:
        return make_group([[[0.5], [0.25]], [[0.75], [np.nan]]], status=[["ok", "ok"], ["ok", "failed"]])

    @pytest.fixture
    def stores(self, tmp_path, computed) -> list[Path]:
        (tmp_path / "rt.csv").write_text("system,track,seconds\nS0,t0,3\nS0,t1,4\nS1,t0,1\nS1,t1,2\n")
        column = "runtime: {column: seconds, orientation: lower, unit: s}"
        table = f"{{path: rt.csv, system: system, track: track, metrics: {{{column}}}}}"
        (tmp_path / "rt.yaml").write_text(f"name: rt\ngroups: [{{task: chord, tables: [{table}]}}]\n")
        mirflow.import_scores(tmp_path / "rt.yaml", tmp_path / "rt.zarr")
        return [*write_stores(tmp_path, {"computed": computed}), tmp_path / "rt.zarr"]

    @pytest.mark.parametrize("order", [1, -1])
    def test_stand_beside_them(self, stores, order):
        tree = quiet_open(stores[::order])
        answer = tree.mirflow.query(["majmin", "runtime"], missing="skip", aggregate="mean")
        assert answer["value"].sel(system=["S0", "S1"]).values.tolist() == [
            [0.375, 3.5],
            [0.75, 1.0],
        ]  # S1 failed on t1
        assert answer["unit"].values.tolist() == ["", "s"]

    @pytest.mark.parametrize("order", [1, -1])
    def test_leave_what_became_of_the_computation(self, stores, order, computed):
        ds = quiet_open(stores[::order])["chord"].to_dataset()
        np.testing.assert_array_equal(ds["status"].values, computed["status"].values)
        assert (ds.attrs["task"], ds.attrs["convention"], ds.attrs["grid"]) == ("chord", "mir_eval", "union")

    def test_are_asked_for_from_the_command_line(self, stores):
        found = printed("query", *stores, "-m", "majmin", "-m", "runtime", "--missing", "skip", "-a", "mean")
        assert "S1       0.7500    1.0000" in found

    def test_are_missing_where_a_table_has_no_row(self, stores, tmp_path):
        (tmp_path / "rt.csv").write_text("system,track,seconds\nS0,t0,3\nS1,t0,1\n")
        mirflow.import_scores(tmp_path / "rt.yaml", tmp_path / "few.zarr")
        tree = quiet_open([stores[0], tmp_path / "few.zarr"])
        answer = tree.mirflow.query("runtime", missing="skip", aggregate="mean")
        assert answer["n_missing"].values.ravel().tolist() == [1, 1]
        assert answer["n_undefined"].values.ravel().tolist() == [0, 0]

    def test_without_a_convention_join_those_of_any(self, tmp_path):
        table = "{path: x.csv, system: system, track: track, metrics: {majmin: v}}"
        for system, convention in (("A", ""), ("B", "convention: mirex2013, ")):
            (tmp_path / "x.csv").write_text(f"system,track,v\n{system},t,0.5\n")
            (tmp_path / "x.yaml").write_text(f"name: x\ngroups: [{{task: chord, {convention}tables: [{table}]}}]\n")
            mirflow.import_scores(tmp_path / "x.yaml", tmp_path / f"{system}.zarr")
        for order in ("AB", "BA"):
            ds = quiet_open([tmp_path / f"{system}.zarr" for system in order])["chord"]
            assert ds["title"].values.tolist() == ["MirexMajMin"]
            assert ds.attrs["convention"] == "mirex2013"

    def test_may_have_dims(self, tmp_path):
        write_dataset(tmp_path, systems=("A",))
        paths = []
        for name, metrics in {"numbers": "[majmin]", "tables": "[root, confusion]"}.items():
            pipeline = write_pipeline(tmp_path, metrics=metrics)
            paths.append(tmp_path / f"{name}.zarr")
            mirflow.run(pipeline, store=paths[-1])
        tree = quiet_open(paths)
        assert sorted(tree["chord"]["metric"].values.tolist()) == ["majmin", "root"]
        own = mirflow.open_store(paths[1])["chord"]["confusion_majmin"]
        np.testing.assert_array_equal(tree["chord"]["confusion_majmin"].values, own.values)

    def test_are_refused_where_one_is_in_both(self, tmp_path, whole):
        paths = write_stores(tmp_path, {"a": whole, "b": whole.isel(metric=[1])})
        with pytest.raises(QueryError, match=r"system 'S0', track 't0' is in a and in b \(24 such cells\)"):
            mirflow.open_store(paths)

    def test_are_left_out_where_other_systems_would_lack_them(self, stores, tmp_path):
        other = write_store(tmp_path / "other.zarr", {"chord": make_group([[[0.5], [0.25]]], systems=["S2"])})
        with pytest.warns(MirflowWarning, match="not in all stores and left out: runtime$"):
            tree = mirflow.open_store([*stores, other])
        assert tree["chord"]["metric"].values.tolist() == ["majmin"]


class TestConflicts:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                lambda ds: ds.assign_attrs(convention="mirex2013"),
                "group 'chord': convention is 'mir_eval' in a and 'mirex2013' in b",
            ),
            (
                lambda ds: ds.assign_coords(version=("metric", [1, 2])),
                "metric 'root' has version 1 in a, 2 in b; run the older pipeline again",
            ),
            (
                lambda ds: ds.assign_coords(genre=("track", list("ababac"))),
                "track 't5' has genre 'b' in one store and 'c' in b",
            ),
        ],
        ids=["convention", "version", "genre"],
    )
    def test_of_settings_and_metadata(self, tmp_path, whole, change, message):
        parts = {"a": whole.isel(system=[0, 1]), "b": change(whole.isel(system=[2, 3]))}
        with pytest.raises(QueryError, match=message):
            mirflow.open_store(write_stores(tmp_path, parts))

    def test_the_same_store_twice(self, stores):
        with pytest.raises(QueryError, match="the same store twice"):
            mirflow.open_store([stores[0], stores[0]])

    def test_no_store(self):
        with pytest.raises(QueryError, match="no store to open"):
            mirflow.open_store([])


class TestWhatOnlySomeHave:
    def test_metrics_are_left_out_and_noted(self, tmp_path, whole):
        one, other = whole.isel(system=[0, 1]), whole.isel(system=[2, 3], metric=[0])
        paths = write_stores(tmp_path, {"a": one, "b": other})
        with pytest.warns(MirflowWarning, match="group 'chord': not in all stores and left out: root"):
            tree = mirflow.open_store(paths)
        assert tree["chord"]["metric"].values.tolist() == ["majmin"]

    def test_metrics_in_another_order(self, tmp_path, whole):
        one, other = whole.isel(system=[0, 1]), whole.isel(system=[2, 3], metric=[1, 0])
        paths = write_stores(tmp_path, {"a": one, "b": other})
        np.testing.assert_array_equal(quiet_open(paths)["chord"]["score"].values, whole["score"].values)

    def test_groups_stay(self, tmp_path, whole):
        paths = [
            write_store(tmp_path / "a.zarr", {"chord": whole}),
            write_store(tmp_path / "b.zarr", {"chord_mirex2013": whole.assign_attrs(convention="mirex2013")}),
        ]
        assert list(quiet_open(paths).children) == ["chord", "chord_mirex2013"]

    def test_coordinates_may_be_incomplete(self, tmp_path):
        one = make_group([[[1.0]]], tracks=["x"], systems=["A"], track_meta={"year": [1970], "genre": ["Pop"]})
        other = make_group([[[1.0]]], tracks=["y"], systems=["A"])
        paths = write_stores(tmp_path, {"a": one, "b": other})
        ds = quiet_open(paths)["chord"].to_dataset()
        assert ds["genre"].values.tolist() == ["Pop", ""]
        np.testing.assert_array_equal(ds["year"].values, [1970, np.nan])


SAID = "the references of 2 of 3 shared tracks come from different files in y2012 and y2013 (the first: track 't1')"


def scored(references: dict[str, str], systems: list[str], durations: list[float] | None = None, **given) -> xr.Dataset:
    """Systems on tracks whose references have such digests."""
    group = random_group(len(systems), len(references), 1, systems=systems, tracks=list(references), **given)
    digests = [[f"{digest}:{system}" for digest in references.values()] for system in systems]
    group["digest"] = (("system", "track"), np.array(digests, dtype=str))
    return group.assign(duration=("track", durations or [100.0] * len(references)))


@pytest.fixture
def years() -> dict[str, xr.Dataset]:
    """Two campaigns that share three tracks, of which two were annotated anew in between."""
    return {
        "y2012": scored({"t0": "a0", "t1": "a1", "t2": "a2", "t9": "a9"}, ["KO1", "KO2"]),
        "y2013": scored({"t8": "b8", "t2": "b2", "t1": "b1", "t0": "a0"}, ["CB3"]),
    }


@pytest.fixture
def campaigns(tmp_path, years):
    return write_stores(tmp_path, years)


def difference(folder: Path, parts: dict[str, xr.Dataset]) -> str:
    """What is said of the references of stores that are opened as one, if they differ."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        return mirflow.open_store(write_stores(folder, parts))["chord"].attrs.get("references_differ", "")


def opened(stores) -> xr.DataTree:
    with pytest.warns(MirflowWarning, match="different (files|durations)|another duration"):
        return mirflow.open_store(stores)


SHOWN = pytest.mark.filterwarnings("always::mirflow.errors.MirflowWarning")


class TestReferencesThatDiffer:
    def test_are_warned_of_once(self, campaigns):
        with pytest.warns(MirflowWarning) as caught:
            mirflow.open_store(campaigns)
        (one,) = caught
        assert str(one.message) == (
            f"group 'chord': {SAID} and may differ, so that systems of different stores may be held against "
            "references that differ there; where they differ, score them again with the same references, or query "
            "the stores separately"
        )

    def test_are_an_attribute_of_the_evaluation_and_of_every_answer(self, campaigns):
        tree = opened(campaigns)
        assert tree["chord"].attrs["references_differ"].startswith(SAID)
        answers = [
            tree.mirflow.query(),
            tree.mirflow.worst(),
            tree.mirflow.compare("majmin"),
            tree.mirflow.compare(friedman=True),
        ]
        assert all(one.attrs["references_differ"].startswith(SAID) for one in answers)

    @SHOWN
    @pytest.mark.parametrize(
        "question",
        [
            ["query"],
            ["query", "--primary"],
            ["worst", "-n", "2"],
            ["compare", "-m", "majmin"],
            ["compare", "-m", "majmin", "--friedman"],
        ],
    )
    def test_are_below_every_table(self, campaigns, question):
        command, *options = question
        result = invoke(command, *campaigns, *options)
        assert result.stderr.startswith(f"warning: group 'chord': {SAID}")
        assert f"references: {SAID}" in " ".join(result.stdout.split())  # however wide the terminal is

    @SHOWN
    def test_are_in_every_row_for_programs(self, campaigns):
        assert all(SAID in row["references_differ"] for row in rows("query", *campaigns))

    def test_of_one_track_are_noted_of_one(self, tmp_path, years):
        parts = {name: ds.sel(track=["t0", "t1"]) for name, ds in years.items()}
        assert difference(tmp_path, parts).startswith(
            "the reference of 1 of 2 shared tracks comes from different files in y2012 and y2013 (track 't1') and may"
        )

    def test_of_three_stores_those_are_named_that_hold_such_tracks(self, tmp_path, years):
        more = {**years, "y2014": scored({"t8": "b8", "t7": "c7"}, ["X"]), "y2015": scored({"t2": "c2"}, ["Y"])}
        assert difference(tmp_path, more).startswith(
            "the references of 2 of 4 shared tracks come from different files in y2012, y2013 and y2015 (the first"
        )


class TestDurationsThatDiffer:
    def test_are_warned_of_where_no_digest_is_known(self, tmp_path, years):
        longer = years["y2013"].assign(duration=("track", [100.0, 100.0, 101.0, 100.0]))
        parts = {name: ds.drop_vars("digest") for name, ds in {**years, "y2013": longer}.items()}
        assert difference(tmp_path, parts).startswith(
            "the reference of 1 of 3 shared tracks is of different durations in y2012 and y2013 (track 't1'), so that "
            "systems of different stores are held against references that differ there"
        )

    def test_are_distinguished_from_files_that_may_say_the_same(self, tmp_path, years):
        longer = years["y2013"].assign(duration=("track", [100.0, 100.0, 101.0, 100.0]))
        assert difference(tmp_path, {**years, "y2013": longer}).startswith(
            f"{SAID}, 1 of them of another duration, and the others may differ, so that systems of different stores are"
        )

    def test_are_not_known_in_the_whole(self, tmp_path, years):
        longer = years["y2013"].assign(duration=("track", [100.0, 100.0, 101.0, 100.0]))
        parts = {"y2012": years["y2012"], "y2013": longer}
        tree = opened(write_stores(tmp_path, parts))
        known = tree["chord"]["duration"]
        assert known["track"].values[np.isnan(known.values)].tolist() == ["t1"]
        with pytest.raises(QueryError, match="durations of the references, and that of track 't1' is not known"):
            tree.mirflow.query("majmin", aggregate="wcsr_tn")
        assert (
            tree.mirflow.query("majmin", aggregate="wcsr_tn", tracks=["t0", "t2"])["n"].values.ravel().tolist()
            == [2] * 3
        )

    def test_a_reference_that_one_store_could_not_use_says_nothing(self, tmp_path, years):
        unusable = scored({"t0": ""}, ["CB3"], [0.0])
        assert difference(tmp_path, {"y2012": years["y2012"], "y2013": unusable}) == ""


class TestReferencesThatAgree:
    def test_are_not_spoken_of(self, tmp_path, years):
        same = {name: ds.sel(track=["t0"]) for name, ds in years.items()}
        stores = write_stores(tmp_path, same)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = mirflow.open_store(stores)
        assert "references_differ" not in tree["chord"].attrs
        assert "references_differ" not in tree.mirflow.query().attrs

    def test_and_so_do_those_that_a_store_does_not_know(self, tmp_path, years):
        imported = years["y2013"].assign(digest=(("system", "track"), [[":1"] * 4]))
        imported["duration"][:] = np.nan
        assert difference(tmp_path, {"y2012": years["y2012"], "y2013": imported}) == ""

    def test_one_system_that_was_not_run_leaves_it_to_the_next(self, tmp_path, years):
        late = years["y2012"].copy(deep=True)
        late["digest"][0, :] = ""
        assert difference(tmp_path, {**years, "y2012": late}).startswith(SAID)

    def test_stores_without_a_track_in_common_are_not_compared(self, tmp_path, years):
        parts = {"y2012": years["y2012"].sel(track=["t9"]), "y2013": years["y2013"].sel(track=["t8"])}
        assert difference(tmp_path, parts) == ""


def test_what_was_really_scored_is_what_counts(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        pipeline = write_dataset(tmp_path / name)
        if name == "b":
            label = tmp_path / name / "ref" / "t01.lab"
            label.write_text(label.read_text().replace("N", "C"))
        mirflow.run(pipeline)
    stores = {name: tmp_path / name / "store.zarr" for name in ("a", "b")}
    with pytest.warns(
        MirflowWarning, match=r"of 1 of 6 shared tracks comes from different files in a and b \(track 't01'\) and may"
    ):
        mirflow.open_store(stores)


def test_of_a_pack_it_is_only_claimed_that_it_is_another_file(tmp_path):
    pipeline = write_dataset(tmp_path, systems=("ada",))
    mirflow.run(pipeline)
    mirflow.pack(str(tmp_path / "ref/{track}.lab"), tmp_path / "ref.zarr", task="chord")
    other = pipeline.read_text().replace("ref/{track}.lab", "ref.zarr").replace("store.zarr", "packed.zarr")
    pipeline.write_text(other)
    mirflow.run(pipeline)
    with pytest.warns(MirflowWarning) as caught:
        mirflow.open_store({"files": tmp_path / "store.zarr", "pack": tmp_path / "packed.zarr"})
    (one,) = caught
    assert "come from different files in files and pack (the first: track 't00') and may differ" in str(one.message)
    assert "different references" not in str(one.message)


UNDER_ROCK = {"tree": {"rock": ["jazz", "blues"], "root": None}}
APART = {"tree": {"root": ["jazz"], "rock": ["blues"]}}


def labelled(folder: Path, system: str, classes: Any, task: str = "classification") -> Path:
    """A store of one system, by such classes."""
    folder = folder / system
    folder.mkdir()
    labels, estimates = {"t0": "jazz", "t1": "rock"}, {"t0": "blues", "t1": "rock"}
    for name, column in (("reference", labels), (system, estimates)):
        (folder / f"{name}.tsv").write_text("".join(f"{track}\t{label}\n" for track, label in column.items()))
    evaluation = {"task": task, "reference": "reference.tsv", "estimates": "{system}.tsv", "systems": {system: {}}}
    known = {} if classes is None else {"classes": classes}
    pipeline = {"store": str(folder / f"{system}.zarr"), "evaluations": [{**evaluation, **known}]}
    (folder / "pipeline.yaml").write_text(json.dumps(pipeline))
    mirflow.run(folder / "pipeline.yaml")
    return folder / f"{system}.zarr"


class TestClassesThatDifferAreRefused:
    def test_whose_errors_are_worth_something_else(self, tmp_path):
        stores = labelled(tmp_path, "e", UNDER_ROCK), labelled(tmp_path, "f", APART)
        with pytest.raises(QueryError) as caught:
            quiet_open(stores)
        assert str(caught.value) == (
            "group 'classification': the credit for 'jazz' where 'rock' is right is 0.5 in e and 0 in f, so that they "
            "cannot be opened as one; score them again by the same classes, or query them separately"
        )

    def test_of_which_one_decides_on_more_tags(self, tmp_path):
        few, more = ["jazz", "rock", "blues"], ["jazz", "rock", "blues", "pop"]
        stores = labelled(tmp_path, "e", few, "tagging"), labelled(tmp_path, "f", more, "tagging")
        with pytest.raises(QueryError, match="'pop' is in the vocabulary of tags of f and not in that of e, so"):
            quiet_open(stores)

    def test_of_which_one_decides_only_on_tags_that_are_listed(self, tmp_path):
        stores = labelled(tmp_path, "e", ["jazz", "rock", "blues"], "tagging"), labelled(tmp_path, "f", None, "tagging")
        with pytest.raises(QueryError, match="the vocabulary of tags is named in e and not in f, so"):
            quiet_open(stores)


class TestClassesThatAgreeAreJoined:
    def test_by_the_same_tree_in_other_words(self, tmp_path):
        same = {"tree": {"root": None, "rock": ["blues", "jazz"]}}
        tree = quiet_open([labelled(tmp_path, "e", UNDER_ROCK), labelled(tmp_path, "f", same)])
        assert tree.mirflow.query("hierarchical_accuracy")["value"].values.ravel().tolist() == [0.75, 0.75]

    def test_whose_lists_of_classes_differ_as_no_score_depends_on_them(self, tmp_path):
        few, more = ["jazz", "rock", "blues"], ["jazz", "rock", "blues", "pop"]
        tree = quiet_open([labelled(tmp_path, "e", few), labelled(tmp_path, "f", more)])
        assert tree.mirflow.query("accuracy")["value"].values.ravel().tolist() == [0.5, 0.5]
        confusion = tree.mirflow.query("confusion")["value"]
        assert confusion.sel(ref_class="jazz", est_class="blues").values.ravel().tolist() == [1.0, 1.0]

    def test_if_one_of_them_does_not_say_which_classes_it_has(self, tmp_path):
        one, other = (make_group([[[1.0]]], systems=[name], task="tagging") for name in "ab")
        one.attrs["classes"] = {"names": ["slow", "loud"], "credits": []}
        assert quiet_open(write_stores(tmp_path, {"a": one, "b": other}))["chord"].sizes["system"] == 2


def test_a_store_keeps_the_classes_and_says_that_there_are_none(tmp_path):
    kept = [
        json.loads(mirflow.open_store(labelled(tmp_path, name, classes))["classification"].attrs["classes"])
        for name, classes in (("e", {"names": ["rock"], "credit": {"jazz": {"blues": 0.25}}}), ("f", None))
    ]
    assert kept == [
        {"names": ["rock", "jazz", "blues"], "credits": [["jazz", "blues", 0.25]]},
        {"names": [], "credits": []},
    ]


def test_stores_of_other_tasks_say_nothing_of_classes(tmp_path):
    mirflow.run(write_dataset(tmp_path, tracks=1))
    assert "classes" not in mirflow.open_store(tmp_path / "store.zarr")["chord"].attrs


ORDERS = pytest.mark.parametrize("order", [("one", "both"), ("both", "one")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one confusion matrix, and one with two, whose dims cannot be called the same."""
    folder = tmp_path_factory.mktemp("tables")
    for name, metrics in {
        "one": "[majmin, confusion@tetrads]",
        "both": "[majmin, confusion, confusion@tetrads]",
    }.items():
        (folder / name).mkdir()
        write_dataset(folder / name, systems=(name,))
        mirflow.run(write_pipeline(folder / name, metrics=metrics))
    return folder


def store(folder: Path, name: str) -> Path:
    return folder / name / "store.zarr"


def opened_tables(folder: Path, names: tuple[str, ...]) -> xr.DataTree:
    with pytest.warns(MirflowWarning, match="^group 'chord': not in all stores and left out: confusion$"):
        return mirflow.open_store([store(folder, f"{name}") for name in names])


@ORDERS
class TestTablesWhoseDimsAreCalledDifferently:
    """The names of stores are their folders' paths, as all of them are called alike."""

    def test_are_what_each_store_has(self, folder, order):
        ds = opened_tables(folder, order)["chord"].to_dataset()
        assert "confusion_majmin" not in ds
        assert ds["confusion_tetrads"].dims == ("system", "track", "ref_class", "est_class")
        assert "own_dims" not in ds["confusion_tetrads"].attrs
        for name in order:
            own = mirflow.open_store(store(folder, name))["chord"]["confusion_tetrads"]
            np.testing.assert_array_equal(ds["confusion_tetrads"].sel(system=[name]).values, own.values)

    def test_are_asked_for_by_their_own_dims(self, folder, order):
        tree = opened_tables(folder, order)
        question = {"over": {"ref_class": "sum", "est_class": "sum"}}
        answer = tree.mirflow.query("confusion@tetrads", **question)["value"]
        for name in order:
            own = mirflow.open_store(store(folder, name)).mirflow.query("confusion@tetrads", **question)["value"]
            assert answer.sel(system=name).item() == own.item() > 0


def test_dims_that_both_stores_had_to_rename_keep_their_own_names(folder, tmp_path):
    write_dataset(tmp_path, systems=("third",))
    mirflow.run(write_pipeline(tmp_path, metrics="[majmin, confusion, confusion@tetrads]"))
    tree = quiet_open([store(folder, "both"), tmp_path / "store.zarr"])
    table = tree["chord"]["confusion_tetrads"]
    assert table.dims[2:] == ("confusion_tetrads_ref_class", "confusion_tetrads_est_class")
    assert table.attrs["own_dims"] == ["ref_class", "est_class"]
    assert tree["chord"]["confusion_majmin"].dims[2:] == ("ref_class", "est_class")
    assert tree.mirflow.query("confusion@tetrads", over={"est_class": "sum"})["value"].sizes["system"] == 2
