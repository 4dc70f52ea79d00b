"""Several stores as one whose tracks were scored against references of different files or durations: it is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import mirflow
from mirflow.analysis.combine import differing_references
from mirflow.cli import cli
from mirflow.errors import MirflowWarning, QueryError

from ..groups import random_group, write_store

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
def stores(tmp_path, years):
    return [write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in years.items()]


def opened(stores) -> xr.DataTree:
    with pytest.warns(MirflowWarning, match="different (files|durations)|another duration"):
        return mirflow.open_store(stores)


SHOWN = pytest.mark.filterwarnings("always::mirflow.errors.MirflowWarning")


class TestReferencesThatDiffer:
    def test_are_warned_of_once(self, stores):
        with pytest.warns(MirflowWarning) as caught:
            mirflow.open_store(stores)
        (one,) = caught
        assert str(one.message) == (
            f"group 'chord': {SAID} and may differ, so that systems of different stores may be held against "
            "references that differ there; where they differ, score them again with the same references, or ask the "
            "stores one by one"
        )

    def test_are_an_attribute_of_the_evaluation_and_of_every_answer(self, stores):
        tree = opened(stores)
        assert tree["chord"].attrs["references_differ"].startswith(SAID)
        answers = [tree.mirflow.query(), tree.mirflow.worst(), tree.mirflow.compare("majmin"), tree.mirflow.friedman()]
        assert all(one.attrs["references_differ"].startswith(SAID) for one in answers)

    def test_stand_below_a_table_in_a_notebook(self, stores):
        assert "references: the references of 2 of 3 shared tracks" in opened(stores).mirflow._repr_html_()

    @SHOWN
    @pytest.mark.parametrize(
        "question",
        [
            ["query"],
            ["query", "--primary"],
            ["query", "--worst", "2"],
            ["compare", "-m", "majmin"],
            ["compare", "-m", "majmin", "--friedman"],
        ],
    )
    def test_stand_below_every_table(self, stores, question):
        command, *options = question
        result = CliRunner().invoke(cli, [command, *map(str, stores), *options], catch_exceptions=False)
        assert result.stderr.startswith(f"warning: group 'chord': {SAID}")
        assert f"references: {SAID}" in " ".join(result.stdout.split())  # however wide the terminal is

    @SHOWN
    def test_stand_in_every_row_for_programs(self, stores):
        result = CliRunner().invoke(cli, ["query", *map(str, stores), "--format", "csv"], catch_exceptions=False)
        head, *rows = result.stdout.splitlines()
        assert "references_differ" in head.split(",")
        assert all(SAID in row for row in rows)

    def test_of_one_track_are_said_of_one(self, years):
        parts = {name: ds.sel(track=["t0", "t1"]) for name, ds in years.items()}
        assert differing_references(parts).startswith(
            "the reference of 1 of 2 shared tracks comes from different files in y2012 and y2013 (track 't1') and may"
        )

    def test_of_three_stores_those_are_named_that_hold_such_tracks(self, years):
        more = {**years, "y2014": scored({"t8": "b8", "t7": "c7"}, ["X"]), "y2015": scored({"t2": "c2"}, ["Y"])}
        assert differing_references(more).startswith(
            "the references of 2 of 4 shared tracks come from different files in y2012, y2013 and y2015 (the first"
        )


class TestDurationsThatDiffer:
    def test_are_warned_of_where_no_digest_is_known(self, years):
        longer = years["y2013"].assign(duration=("track", [100.0, 100.0, 101.0, 100.0]))
        parts = {name: ds.drop_vars("digest") for name, ds in {**years, "y2013": longer}.items()}
        assert differing_references(parts).startswith(
            "the reference of 1 of 3 shared tracks is of different durations in y2012 and y2013 (track 't1'), so that "
            "systems of different stores are held against references that differ there"
        )

    def test_are_told_from_files_that_may_say_the_same(self, years):
        longer = years["y2013"].assign(duration=("track", [100.0, 100.0, 101.0, 100.0]))
        assert differing_references({**years, "y2013": longer}).startswith(
            f"{SAID}, 1 of them of another duration, and the others may differ, so that systems of different stores are"
        )

    def test_are_not_known_in_the_whole(self, tmp_path, years):
        longer = years["y2013"].assign(duration=("track", [100.0, 100.0, 101.0, 100.0]))
        parts = {"y2012": years["y2012"], "y2013": longer}
        tree = opened([write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in parts.items()])
        known = tree["chord"]["duration"]
        assert known["track"].values[np.isnan(known.values)].tolist() == ["t1"]
        with pytest.raises(QueryError, match="durations of the references, and that of track 't1' is not known"):
            tree.mirflow.query("majmin", aggregate="wcsr_tn")
        assert (
            tree.mirflow.query("majmin", aggregate="wcsr_tn", tracks=["t0", "t2"])["n"].values.ravel().tolist()
            == [2] * 3
        )

    def test_a_reference_that_one_store_could_not_use_says_nothing(self, years):
        unusable = scored({"t0": ""}, ["CB3"], [0.0])
        assert differing_references({"y2012": years["y2012"], "y2013": unusable}) == ""


class TestReferencesThatAgree:
    def test_are_not_spoken_of(self, tmp_path, years):
        same = {name: ds.sel(track=["t0"]) for name, ds in years.items()}
        stores = [write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in same.items()]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = mirflow.open_store(stores)
        assert "references_differ" not in tree["chord"].attrs
        assert "references_differ" not in tree.mirflow.query().attrs

    def test_and_so_do_those_that_a_store_does_not_know(self, years):
        imported = years["y2013"].assign(digest=(("system", "track"), [[":1"] * 4]))
        imported["duration"][:] = np.nan
        assert differing_references({"y2012": years["y2012"], "y2013": imported}) == ""

    def test_one_system_that_was_not_run_leaves_it_to_the_next(self, years):
        late = years["y2012"].copy(deep=True)
        late["digest"][0, :] = ""
        assert differing_references({**years, "y2012": late}).startswith(SAID)

    def test_stores_without_a_track_in_common_are_not_compared(self, years):
        parts = {"y2012": years["y2012"].sel(track=["t9"]), "y2013": years["y2013"].sel(track=["t8"])}
        assert differing_references(parts) == ""


def test_what_was_really_scored_is_what_counts(tmp_path):
    from mirflow.engine.runs import run

    from ..datasets import write_dataset

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        pipeline = write_dataset(tmp_path / name)
        if name == "b":
            label = tmp_path / name / "ref" / "t01.lab"
            label.write_text(label.read_text().replace("N", "C"))
        run(pipeline)
    stores = {name: tmp_path / name / "store.zarr" for name in ("a", "b")}
    with pytest.warns(
        MirflowWarning, match=r"of 1 of 6 shared tracks comes from different files in a and b \(track 't01'\) and may"
    ):
        mirflow.open_store(stores)


def test_of_a_pack_it_is_only_claimed_that_it_is_another_file(tmp_path):
    from mirflow.engine.runs import run
    from mirflow.loading import pack

    from ..datasets import write_dataset

    pipeline = write_dataset(tmp_path, systems=("ada",))
    run(pipeline)
    pack(str(tmp_path / "ref/{track}.lab"), tmp_path / "ref.zarr", task="chord")
    other = pipeline.read_text().replace("ref/{track}.lab", "ref.zarr").replace("store.zarr", "packed.zarr")
    pipeline.write_text(other)
    run(pipeline)
    with pytest.warns(MirflowWarning) as caught:
        mirflow.open_store({"files": tmp_path / "store.zarr", "pack": tmp_path / "packed.zarr"})
    (one,) = caught
    assert "come from different files in files and pack (the first: track 't00') and may differ" in str(one.message)
    assert "different references" not in str(one.message)
