"""The functions that give what the commands print."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import mirflow
from mirflow.errors import (
    DamagedError,
    InvalidAnnotationError,
    MissingPackageError,
    PipelineError,
    Problem,
    QueryError,
    UnknownNameError,
    needs_mir_eval,
)

from .commands import invoke
from .groups import make_group, random_group, write_store

CASES = [
    ("query STORE -m f --by genre --percent", {"metric": "f", "by": "genre", "percent": True}),
    ("query STORE -m f --ci=0.9 --significance", {"metric": "f", "ci": 0.9, "significance": 0.95}),
    ("query STORE --primary", {"primary": True}),
    ("worst STORE -m f -n 2 --overall", {"metric": "f", "n": 2, "overall": True}),
    ("agreement STORE --between system", {"between": "system"}),
    ("query STORE --where genre=='Pop' -s S1 -s S0", {"where": "genre=='Pop'", "system": ["S1", "S0"]}),
    ("compare STORE -m f --replicates 50", {"metric": "f", "replicates": 50}),
    ("compare STORE --friedman", {"friedman": True}),
    ("compare STORE -m f --baseline S0", {"metric": "f", "baseline": "S0"}),
    ("show STORE", {}),
    ("problems STORE -g onset", {"group": "onset"}),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    about = {"metrics": ["f", "g"], "standard": ["mean", "mean"], "track_meta": {"genre": ["Rock", "Pop"] * 6}}
    status = np.full((3, 12), "ok", dtype=object)
    status[1, 2] = "failed"
    groups = {
        "beat": random_group(3, 12, 2, **about),
        "onset": make_group(np.random.default_rng(3).random((3, 12, 2)), status=status, **about),
    }
    return write_store(tmp_path_factory.mktemp("stores") / "x.zarr", groups)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "options"), CASES, ids=[command for command, _ in CASES])
def test_functions_give_what_their_commands_print(store: Path, command: str, options: dict[str, Any]) -> None:
    words = [str(store) if word == "STORE" else word for word in command.split()]
    function = getattr(mirflow, words[0])
    for given in (store, mirflow.open_store(store)):
        people = function(given, **options)
        sorts = words[0] == "query"
        programs = function(given, **options, sort="stored") if sorts else people
        shown = {
            "table": people.to_text(),
            "markdown": people.to_markdown(),
            "latex": people.to_latex(),
            "csv": programs.to_csv(),
            "json": programs.to_json(),
        }
        for style, text in shown.items():
            assert invoke(*words, "--format", style, code=0).stdout == text
        assert repr(people) == shown["table"].rstrip("\n")
        assert programs.to_dataframe().columns.tolist() == shown["csv"].partition("\n")[0].split(",")
        assert people._repr_html_().count("<table>") == len(people.tables())


def test_one_dataset_is_that_of_the_accessor_and_several_are_items(store: Path) -> None:
    scores = xr.open_datatree(store, engine="zarr")["beat"].to_dataset()
    result = mirflow.query(scores, "f", sort="stored")
    xr.testing.assert_identical(result.dataset, scores.mirflow.query("f"))
    assert result["value"].identical(result[0]["value"])
    several = mirflow.query(store, "f")
    assert [ds.attrs["group"] for ds in several] == ["beat", "onset"]
    with pytest.raises(QueryError, match=r"2 datasets \(of beat, onset\), not one"):
        several.dataset  # noqa: B018
    with pytest.raises(QueryError, match="not scores: int"):
        mirflow.query(3)
    with pytest.raises(TypeError, match=r"query\(\) got an unexpected keyword argument 'wher'; did you mean 'where'"):
        mirflow.query(scores, wher="genre == 'Pop'")


def test_several_stores_are_one_by_their_labels(store: Path) -> None:
    labelled = mirflow.compare({"old": store, "new": store}, "f", baseline="old", group="beat")
    assert set(labelled["verdict"].values.ravel()) == {"not worse"}
    words = ("compare", store, store, "--label", "old", "--label", "new", "-m", "f", "--baseline", "old", "-g", "beat")
    assert invoke(*words, code=0).stdout == labelled.to_text()


def test_scores_in_memory_are_compared_with_a_store(scores: xr.Dataset, tmp_path: Path) -> None:
    mirflow.save(scores, tmp_path / "old.zarr")
    mixed, saved = (
        mirflow.compare({"old": tmp_path / "old.zarr", "new": new}, "f_measure", baseline="old", replicates=50)
        for new in (scores, tmp_path / "old.zarr")
    )
    xr.testing.assert_identical(mixed.dataset, saved.dataset)
    assert mirflow.report({"old": tmp_path / "old.zarr", "new": scores}, tmp_path / "p.html").tracks == 0
    with pytest.raises(QueryError, match="scores in memory have no names; give a mapping of labels"):
        mirflow.query([tmp_path / "old.zarr", scores])


def test_files_are_checked_as_by_the_command(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("2.0\n1.0\n")
    found = mirflow.check(path, "beat")
    result = invoke("check", path, "-t", "beat", "--format", "csv")
    assert (found.to_csv(), f"{found.notes[0]}\n") == (result.stdout, result.stderr)
    assert [one.rule for one in found[0].problems] == found.to_dataframe()["rule"].tolist()
    assert found.notes[0] in repr(found)


@pytest.fixture(scope="module")
def scores() -> xr.Dataset:
    rng = np.random.default_rng(0)
    references = {f"t{number}": np.sort(rng.random(20)) * 20 for number in range(8)}
    systems = {
        name: {track: times + rng.normal(0, spread, 20) for track, times in references.items()}
        for name, spread in (("near", 0.01), ("far", 0.1))
    }
    return mirflow.score(
        references, {name: {t: np.sort(np.abs(own)) for t, own in one.items()} for name, one in systems.items()},
        "onset", metrics=["f_measure"],
    )  # fmt: skip


def test_scores_are_compared_drawn_and_reported(scores: xr.Dataset, tmp_path: Path) -> None:
    assert mirflow.compare(scores, "f_measure")["significant"].sel(system="near", other="far").item()
    for kind in ("heatmap", "critical_difference"):
        picture = tmp_path / f"{kind}.svg"
        axes = mirflow.plot(scores, kind, picture, metric="f_measure", caption=False)
        assert axes.figure is not None
        assert picture.stat().st_size
    with pytest.raises(UnknownNameError, match="unknown figure 'heatmpa'; did you mean 'heatmap'"):
        mirflow.plot(scores, "heatmpa")
    tree = xr.DataTree.from_dict({"a": scores, "b": scores})
    for given in (scores, tree):
        page = given.mirflow.report(tmp_path / "page.html", metric="f_measure")
        assert "Onset detection: 2 systems, 8 tracks" in Path(page).read_text()
        assert page.notes == ("The scores are those of annotations in memory, or of several stores.",)


def test_a_frame_has_a_row_for_each_score(scores: xr.Dataset) -> None:
    named = scores.assign_coords(score_by=("track", list("abcdefgh")), unit_of=("track", range(8)))
    frame = named.mirflow.to_dataframe("f_measure").set_index(["system", "track"])
    assert len(frame) == 16
    pd.testing.assert_series_equal(
        frame["score"], scores["score"].sel(metric="f_measure").to_series(), check_index_type=False
    )
    assert frame.loc[("far", "t3"), ["status", "score_by", "unit_of"]].tolist() == ["ok", "d", 3]


@pytest.mark.slow
def test_timelines_of_a_tree_are_those_of_its_store(demo_store: Path, tmp_path: Path) -> None:
    named, opened = (mirflow.report(one, tmp_path / "p.html") for one in (demo_store, mirflow.open_store(demo_store)))
    assert named.tracks == opened.tracks > 0


PATHS = (
    "metrics.beat.f_measure", "annotations.annotation.Annotation", "annotations.collection.Collection",
    "analysis.inference.compare", "reports.figures.heatmap", "reports.page.write_page", "store.StoreWriter",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_documented_names_are_there_after_a_bare_import(path: str) -> None:
    subprocess.run([sys.executable, "-c", f"import mirflow; mirflow.{path}"], check=True)


def test_completion_lists_the_public_functions() -> None:
    names = [name for name in dir(mirflow) if not name.startswith("_")]
    assert names == sorted([*mirflow.__all__, "display", "errors", "metrics", "sonify"])
    assert all(callable(getattr(mirflow, name)) for name in mirflow.__all__)


@pytest.mark.parametrize("name", ["beat.f_measure", "chord.kernel", "os.path", "nothing"])
def test_packages_have_modules_alone_as_attributes(name: str) -> None:
    with pytest.raises(AttributeError, match=f"^module 'mirflow.metrics' has no attribute {name!r}$"):
        getattr(mirflow.metrics, name)


@pytest.mark.parametrize(
    "error",
    [
        needs_mir_eval("beats", ModuleNotFoundError("No module named 'mir_eval'", name="mir_eval")),
        MissingPackageError("no package", name="mir_eval", path="a/b"),
        InvalidAnnotationError("no chord", path="a.lab", line=3),
        UnknownNameError("metric", "majmim", ["majmin", "root"]),
        PipelineError([Problem("evaluations[0].task", "unknown")], "a.yaml"),
        DamagedError("x.zarr", "a chunk is lost"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_workers_arrive_whole(error: Exception) -> None:
    error.add_note("of a worker")
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), str(arrived), arrived.args) == (type(error), str(error), error.args)
    assert vars(arrived) == vars(error)
    for name in ("msg", "name", "path"):  # those of import errors are not among their `vars`
        assert getattr(arrived, name, None) == getattr(error, name, None)
