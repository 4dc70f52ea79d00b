"""Runs: what is computed, what is kept, and what a store says afterwards."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import mirflow
from mirflow.cli import cli
from mirflow.engine import schedule
from mirflow.engine.block import BlockWork, score_block
from mirflow.engine.runs import RunReport, preview
from mirflow.errors import (
    AnnotationError,
    InvalidAnnotationError,
    MirflowWarning,
    PipelineError,
    PruneError,
    RunError,
    StoreLockedError,
)
from mirflow.readers import blocks, sources
from mirflow.readers.content import read_bytes
from mirflow.store.cells import Cells, Status
from mirflow.store.read import dataset_of, read_scores
from mirflow.store.write import StoreWriter
from tests.datasets import write_dataset, write_lab, write_pipeline


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_dataset(tmp_path)
    return tmp_path


def run(folder: Path, **how: Any) -> RunReport:
    return mirflow.run(folder / "pipeline.yaml", **how)


def counts(report: RunReport) -> dict[str, int]:
    return {name: count for name, count in report.evaluations[0].counts.items() if count}


def scores(folder: Path) -> xr.Dataset:
    return mirflow.open_store(folder / "store.zarr")["chord"].to_dataset().load()


def test_a_first_run_scores_every_cell(folder: Path) -> None:
    report = run(folder)
    assert counts(report) == {"new": 12}
    assert report.evaluations[0].status == {Status.ok: 12}
    assert report.published
    assert report.failed == 0
    ds = scores(folder)
    assert ds.score.dims == ("system", "track", "metric")
    assert ds.sizes == {"system": 2, "track": 6, "metric": 15}
    assert not ds.score.isnull().any()


def test_the_store_holds_what_the_pair_function_gives(folder: Path) -> None:
    run(folder)
    ds = scores(folder)
    from mirflow.metrics import chord, io

    reference = io.load_labeled_intervals(str(folder / "ref" / "t03.lab"))
    estimate = io.load_labeled_intervals(str(folder / "est" / "bob" / "t03.lab"))
    expected = chord.evaluate(*reference, *estimate)
    found = ds.score.sel(system="bob", track="t03")
    np.testing.assert_array_equal(found.values, [expected[name] for name in found.metric.values])


def test_a_second_run_reuses_everything_and_writes_nothing(folder: Path) -> None:
    run(folder)
    before = (folder / "store.zarr").resolve()
    report = run(folder)
    assert counts(report) == {"reused": 12}
    assert not report.published
    assert (folder / "store.zarr").resolve() == before


def test_a_changed_estimate_recomputes_its_cell_only(folder: Path) -> None:
    run(folder)
    before = scores(folder)
    write_lab(folder / "est" / "ada" / "t02.lab", np.random.default_rng(99))
    report = run(folder)
    assert counts(report) == {"changed": 1, "reused": 11}
    after = scores(folder)
    differs = (before.score != after.score).any("metric")
    assert differs.values.nonzero() == (np.array([0]), np.array([2]))


def test_a_changed_reference_recomputes_its_track_only(folder: Path) -> None:
    run(folder)
    write_lab(folder / "ref" / "t02.lab", np.random.default_rng(99))
    assert counts(run(folder)) == {"changed": 2, "reused": 10}


def test_an_added_track_or_system_is_all_that_is_computed(folder: Path) -> None:
    run(folder)
    rng = np.random.default_rng(5)
    write_lab(folder / "ref" / "t0x.lab", rng)
    write_lab(folder / "est" / "ada" / "t0x.lab", rng)
    write_lab(folder / "est" / "bob" / "t0x.lab", rng)
    assert counts(run(folder)) == {"new": 2, "reused": 12}
    for track in sorted((folder / "ref").iterdir()):
        write_lab(folder / "est" / "cy" / track.name, rng)
    assert counts(run(folder)) == {"new": 7, "reused": 14}
    assert scores(folder).system.values.tolist() == ["ada", "bob", "cy"]


def file_numbers(folder: Path, row: int) -> set[int]:
    """Inodes of the files of a system."""
    chord = folder / "store.zarr" / "chord"
    return {file.stat().st_ino for file in chord.glob(f"*/c.{row}.*")}


def test_files_of_systems_without_new_results_stay_in_the_store(folder: Path) -> None:
    write_pipeline(folder, metrics="[majmin, confusion@majmin]")
    run(folder)
    before, (ada, bob) = scores(folder), (file_numbers(folder, row) for row in range(2))
    rng = np.random.default_rng(5)
    for track in sorted((folder / "ref").iterdir()):
        write_lab(folder / "est" / "abe" / track.name, rng)
    report = run(folder)
    assert counts(report) == {"new": 6, "reused": 12}
    assert scores(folder).system.values.tolist() == ["abe", "ada", "bob"]
    assert (file_numbers(folder, 1), file_numbers(folder, 2)) == (ada, bob)
    xr.testing.assert_equal(scores(folder).isel(system=[1, 2]), before)
    write_lab(folder / "est" / "ada" / "t02.lab", rng)
    assert counts(run(folder)) == {"changed": 1, "reused": 17}
    assert file_numbers(folder, 2) == bob
    assert not file_numbers(folder, 1) & ada
    xr.testing.assert_equal(scores(folder).isel(system=[2]), before.isel(system=[1]))
    assert report.evaluations[0].status == {Status.ok: 18}


def test_what_left_the_folder_leaves_the_store(folder: Path) -> None:
    run(folder)
    for path in [folder / "ref" / "t05.lab", *folder.glob("est/*/t05.lab")]:
        path.unlink()
    report = run(folder, prune=True)
    assert counts(report) == {"reused": 10, "removed": 2}
    assert report.published
    assert scores(folder).track.values.tolist() == ["t00", "t01", "t02", "t03", "t04"]


def test_fewer_metrics_are_a_selection_and_other_metrics_are_computed(folder: Path) -> None:
    run(folder)
    whole = scores(folder)
    write_pipeline(folder, metrics="[majmin, root]")
    assert counts(run(folder)) == {"reused": 12}
    fewer = scores(folder)
    assert fewer.metric.values.tolist() == ["majmin", "root"]
    np.testing.assert_array_equal(fewer.score.values, whole.score.sel(metric=["majmin", "root"]).values)
    write_pipeline(folder, metrics="[majmin, 'csr@root']")
    assert counts(run(folder)) == {"changed": 12}


def test_another_grid_or_convention_recomputes_everything(folder: Path) -> None:
    run(folder)
    write_pipeline(folder, grid="{hop: 0.1}", metrics="[majmin]")
    assert counts(run(folder)) == {"changed": 12}
    write_pipeline(folder, convention="mirex2013")
    assert counts(run(folder)) == {"changed": 12}


def test_force_recomputes_everything(folder: Path) -> None:
    run(folder)
    assert counts(run(folder, force=True)) == {"changed": 12}


def test_an_interrupted_run_goes_on_where_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = folder / "undisturbed.zarr"
    run(folder, store=undisturbed)
    original = schedule.score_block
    scored: list[int] = []

    def interrupted_on_the_third(work: Any) -> Cells:
        if len(scored) == 2:
            raise KeyboardInterrupt
        scored.append(len(work))
        return original(work)

    monkeypatch.setattr(schedule, "score_block", interrupted_on_the_third)
    with pytest.raises(KeyboardInterrupt):
        run(folder)
    assert not (folder / "store.zarr").exists()
    monkeypatch.undo()
    report = run(folder)
    assert report.evaluations[0].counts["resumed"] == 8
    again = scores(folder)
    xr.testing.assert_identical(
        again.drop_attrs(), mirflow.open_store(undisturbed)["chord"].to_dataset().load().drop_attrs()
    )


def test_a_failed_track_does_not_stop_the_run(folder: Path) -> None:
    (folder / "est" / "ada" / "t01.lab").write_text("0 1 C:maj\n1 2 C:major\n")
    (folder / "est" / "bob" / "t03.lab").unlink()
    report = run(folder)
    assert report.failed == 2
    assert report.evaluations[0].status == {Status.ok: 10, Status.invalid: 1, Status.missing_estimate: 1}
    ds = scores(folder)
    cell = ds.sel(system="ada", track="t01")
    assert cell.score.isnull().all()
    assert "est/ada/t01.lab:2: not a chord: 'C:major'" in cell.message.item()
    # As if the estimate had been empty: the cell can still be counted as zero. The sums are over other segments.
    np.testing.assert_allclose(cell.weight, ds.sel(system="bob", track="t01").weight, rtol=1e-12)


def test_on_error_raise_stops_and_keeps_what_was_done(folder: Path) -> None:
    (folder / "est" / "ada" / "t04.lab").write_text("0 1 nonsense\n")
    write_pipeline(folder, on_error="raise")
    with pytest.raises(
        RunError, match=r"system 'ada', track 't04': invalid: est/ada/t04\.lab:1: not a chord: 'nonsense'"
    ):
        run(folder)
    (folder / "est" / "ada" / "t04.lab").write_text("0 1 C:maj\n")
    assert run(folder).evaluations[0].counts["resumed"] == 11


def test_on_error_ignore_counts_no_failure(folder: Path) -> None:
    (folder / "est" / "ada" / "t04.lab").write_text("0 1 nonsense\n")
    write_pipeline(folder, on_error="ignore")
    report = run(folder)
    assert report.failed == 0
    assert report.evaluations[0].failed == 1


def test_a_missing_file_that_turns_up_is_scored(folder: Path) -> None:
    text = (folder / "est" / "bob" / "t03.lab").read_text()
    (folder / "est" / "bob" / "t03.lab").unlink()
    run(folder)
    (folder / "est" / "bob" / "t03.lab").write_text(text)
    assert counts(run(folder)) == {"changed": 1, "reused": 11}
    assert scores(folder).status.sel(system="bob", track="t03").item() == Status.ok


def test_a_file_that_could_not_be_read_is_tried_again(folder: Path) -> None:
    path = folder / "est" / "bob" / "t03.lab"
    path.unlink()
    path.symlink_to(folder / "nowhere.lab")
    assert run(folder).evaluations[0].status[Status.unreadable] == 1
    assert counts(run(folder)) == {"retried": 1, "reused": 11}


def test_one_writer_at_a_time(folder: Path) -> None:
    with StoreWriter(folder / "store.zarr"), pytest.raises(StoreLockedError, match=r"store\.zarr"):
        run(folder)


def test_a_wrong_pipeline_runs_nothing(folder: Path) -> None:
    write_pipeline(folder, convention="mirex2014")
    with pytest.raises(PipelineError, match="did you mean 'mirex2013'"):
        run(folder)
    assert not (folder / "store.zarr").exists()


def test_a_preview_says_what_would_be_done_and_does_nothing(folder: Path) -> None:
    assert "to compute 12 of 12 cells: 12 new" in preview(folder / "pipeline.yaml")
    assert not (folder / "store.zarr").exists()
    run(folder)
    write_lab(folder / "est" / "ada" / "t02.lab", np.random.default_rng(99))
    assert "to compute 1 of 12 cells" in preview(folder / "pipeline.yaml")


def test_a_lazy_tree_computes_nothing_until_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(folder)
    eager = scores(folder)
    tree = mirflow.open_pipeline(folder / "pipeline.yaml")
    lazy = tree["chord"].to_dataset()
    assert lazy.score.chunks == ((2,), (2, 2, 2), (15,))
    (folder / "ref" / "t00.lab").unlink()  # another block's file is never looked at
    part = lazy.score.sel(track="t04", metric="majmin").compute()
    np.testing.assert_array_equal(part, eager.score.sel(track="t04", metric="majmin"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened, as ``folder/track``."""
    opened: list[str] = []
    for module in (blocks, sources):
        monkeypatch.setattr(
            module,
            "read_bytes",
            lambda path, *more: (
                opened.append("/".join(Path(path).with_suffix("").parts[-2:])),
                read_bytes(path, *more),
            )[1],
        )
    return opened


@pytest.mark.parametrize("block", [None, 1, 4])
def test_a_lazy_cell_reads_its_reference_and_its_estimate_alone(
    folder: Path, block: int | None, read: list[str]
) -> None:
    ds = mirflow.open_pipeline(folder / "pipeline.yaml", block=block)["chord"].to_dataset()
    assert max(ds.score.chunks[1]) == (block or 2)  # as the file says
    for lazy in (
        ds.score.sel(system="ada", track="t05", metric="majmin"),
        ds.score.sel(metric=["thirds", "majmin"]).sel(track=["t05"]).isel(system=[0]),
        ds.isel(track=ds.track == "t05").sel(system="ada"),
    ):
        read.clear()
        lazy.compute(scheduler="synchronous")
        assert sorted(read) == ["ada/t05", "ref/t05"]
    read.clear()
    ds.sel(track="t03").duration.compute(scheduler="synchronous")
    assert read == ["ref/t03"]


@pytest.mark.filterwarnings("ignore:The data type", "ignore:Consolidated metadata")  # of zarr, about any dataset
@pytest.mark.parametrize(
    "take",
    [
        lambda tree, ds, path: tree.compute(),
        lambda tree, ds, path: ds.to_zarr(path),
        lambda tree, ds, path: mirflow.save(tree, path),
        lambda tree, ds, path: tree.mirflow.query("majmin"),
        lambda tree, ds, path: dask.compute(ds, ds.sel(system="ada"), ds.duration.max(), ds.isel(track=[4, 1]).message),
        lambda tree, ds, path: (ds.score.weighted(ds.weight).mean("track") - ds.score.isel(track=0)).compute(),
        lambda tree, ds, path: pickle.loads(pickle.dumps(ds)).compute(),
    ],
)
def test_a_lazy_tree_scores_each_cell_once(
    take: Callable[[Any, Any, Path], object], folder: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = mirflow.open_pipeline(folder / "pipeline.yaml")
    scored: list[tuple[str, str]] = []
    blocks: list[int] = []

    def score(work: BlockWork) -> Cells:
        scored.extend(work.cells)
        blocks.append(len(work))
        return score_block(work)

    monkeypatch.setattr(schedule, "score_block", score)
    read.clear()
    with dask.config.set(scheduler="synchronous"):
        take(tree, tree["chord"].to_dataset(), folder / "saved.zarr")
    assert sorted(scored) == [(f"t{track:02}", system) for track in range(6) for system in ("ada", "bob")]
    assert blocks == [4, 4, 4]  # those of a run
    assert sorted(read) == sorted(f"{side}/t{track:02}" for track in range(6) for side in ("ada", "bob", "ref"))


def test_a_chunk_without_tracks_is_refused(folder: Path) -> None:
    with pytest.raises(PipelineError, match="block: 0 is not a number of tracks, which is at least 1"):
        mirflow.open_pipeline(folder / "pipeline.yaml", block=0)


def test_a_lazy_tree_has_what_a_store_has(folder: Path) -> None:
    (folder / "est" / "bob" / "t03.lab").unlink()
    write_pipeline(folder, metrics="[majmin, 'csr@root', 'confusion@majmin']", on_error="ignore")
    run(folder)
    lazy = mirflow.open_pipeline(folder / "pipeline.yaml")["chord"].to_dataset()
    stored = mirflow.open_store(folder / "store.zarr")["chord"].to_dataset()
    assert set(lazy.data_vars) == set(stored.data_vars)
    assert set(lazy.coords) == set(stored.coords)
    for name in lazy.data_vars:
        assert lazy[name].dims == stored[name].dims
        np.testing.assert_array_equal(lazy[name].compute().values, stored[name].values, err_msg=str(name))


def test_two_lazy_trees_in_one_expression_keep_their_own_scores(folder: Path, tmp_path_factory: Any) -> None:
    other = write_dataset(tmp_path_factory.mktemp("other"), seed=5)
    one, two = (mirflow.open_pipeline(path)["chord"].score for path in (folder / "pipeline.yaml", other))
    together = abs(one - two).max().compute()
    apart = abs(one.compute() - two.compute()).max()
    assert together == apart
    assert apart > 0


def test_a_pack_is_not_written_if_files_are_bad_and_all_of_them_are_reported(folder: Path) -> None:
    (folder / "ref" / "t01.lab").write_text("0 1 C\n1 x C\n")
    (folder / "ref" / "t03.lab").write_bytes(b"\xff\x00")
    shown = CliRunner().invoke(
        cli, ["pack", str(folder / "ref" / "{track}.lab"), str(folder / "p.zarr"), "-t", "chord"]
    )
    assert shown.exit_code == 2
    told = shown.output.splitlines()
    assert told[0] == "error: 2 problems"
    assert told[1].startswith(f"  {folder / 'ref' / 't01.lab'}:2: end is not a number: 'x'")
    assert told[2].startswith(f"  {folder / 'ref' / 't03.lab'}: ")
    assert not (folder / "p.zarr").exists()
    (folder / "ref" / "t03.lab").write_text("0 1 C\n")
    with pytest.raises(InvalidAnnotationError, match=r"^[^\n]*t01\.lab:2: end is not a number: 'x'"):
        mirflow.load_collection(folder / "ref" / "{track}.lab", "chord")


def test_all_tables_that_a_pack_cannot_take_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("t1\tloud\tx\n")
    (tmp_path / "b.tsv").write_bytes(b"t2\t\xff\n")
    (tmp_path / "c.tsv").write_text("t3\tloud\t0.5\n")
    with pytest.raises(AnnotationError) as told:
        mirflow.pack(
            tmp_path / "{set}.tsv", tmp_path / "p.zarr", "tagging", columns={"track": 0, "label": 1, "value": 2}
        )
    lines = str(told.value).splitlines()
    assert lines[0] == "2 problems"
    assert any(line.startswith(f"  {tmp_path / 'a.tsv'}:1: value is not a number: 'x'") for line in lines)
    assert any(line.startswith(f"  {tmp_path / 'b.tsv'}: cannot be decoded") for line in lines)


def test_a_pack_stands_where_a_pattern_may_stand(folder: Path) -> None:
    run(folder)
    files = scores(folder)
    assert mirflow.pack(folder / "ref" / "{track}.lab", folder / "refs.zarr", task="chord") == 6
    (folder / "packs").mkdir()
    for system in ("ada", "bob"):
        mirflow.pack(folder / "est" / system / "{track}.lab", folder / "packs" / f"{system}.zarr", task="chord")
    text = (folder / "pipeline.yaml").read_text()
    text = text.replace("ref/{track}.lab", "refs.zarr").replace("est/{system}/{track}.lab", "'packs/{system}.zarr'")
    (folder / "pipeline.yaml").write_text(text)
    run(folder, store=folder / "packed.zarr")
    packed = mirflow.open_store(folder / "packed.zarr")["chord"].to_dataset().load()
    np.testing.assert_array_equal(packed.score, files.score)
    np.testing.assert_array_equal(packed.weight, files.weight)


def test_a_run_that_would_remove_much_of_the_store_does_not_begin_without_leave(folder: Path) -> None:
    run(folder)
    before = (folder / "store.zarr").resolve()
    write_pipeline(folder, systems="[bob]")
    message = r"the run removes 6 of 12 stored cells, which the pipeline no longer names: chord: systems 'ada'; --prune"
    for force in (False, True):
        with pytest.raises(PruneError, match=message):
            run(folder, force=force)
    assert (folder / "store.zarr").resolve() == before
    asked: list[str] = []
    with pytest.raises(PruneError):
        run(folder, prune=lambda said: bool(asked.append(said)))
    assert len(asked) == 1
    assert "6 of 12 stored cells" in asked[0]
    assert "it needs --prune" in preview(folder / "pipeline.yaml")
    assert counts(run(folder, prune=lambda said: True)) == {"reused": 6, "removed": 6}
    assert scores(folder).system.values.tolist() == ["bob"]


def test_an_evaluation_that_left_the_file_does_not_leave_the_store_without_leave(folder: Path) -> None:
    run(folder)
    write_pipeline(folder, name="other")
    with pytest.raises(PruneError, match=r"removes 12 of 12 stored cells, .*: the evaluation chord; --prune"):
        run(folder)
    run(folder, prune=True)
    assert list(mirflow.open_store(folder / "store.zarr").children) == ["other"]


def test_a_run_says_what_little_leaves_the_store_before_it_does(tmp_path: Path) -> None:
    write_dataset(tmp_path, tracks=12)
    run(tmp_path)
    for path in [tmp_path / "ref" / "t05.lab", *tmp_path.glob("est/*/t05.lab")]:
        path.unlink()
    with pytest.warns(MirflowWarning, match="removes 2 of 24 stored cells, .*: chord: tracks 't05'$"):
        assert counts(run(tmp_path)) == {"reused": 22, "removed": 2}


def test_the_command_asks_for_prune_and_says_what_leaves(folder: Path) -> None:
    run(folder)
    write_pipeline(folder, systems="[bob]")
    command = ["run", str(folder / "pipeline.yaml")]
    refused = CliRunner().invoke(cli, command)
    assert refused.exit_code == 2
    assert "6 of 12 stored cells" in refused.stderr
    done = CliRunner().invoke(cli, [*command, "--prune"])
    assert done.exit_code == 0
    assert done.stderr.splitlines()[0].endswith("which the pipeline no longer names: chord: systems 'ada'")


def test_a_run_prints_its_tables_without_reading_the_store_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["run", str(folder / "pipeline.yaml")]
    with monkeypatch.context() as patched:
        for name in ("read_scores", "read_group", "read_tree"):
            patched.setattr(f"mirflow.store.read.{name}", lambda *given: pytest.fail("the store is read"))
        shown = CliRunner().invoke(cli, command)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("chord: task chord, convention mir_eval")


def test_the_scores_of_a_run_in_memory_are_those_of_its_store(folder: Path) -> None:
    write_pipeline(folder, metrics=["majmin", "confusion@majmin"])
    report = run(folder)
    (stored,), (held,) = read_scores(report.store).values(), (dataset_of(one.content) for one in report.evaluations)
    xr.testing.assert_equal(held, stored)
    assert {name: one.dims for name, one in held.variables.items()} == {n: v.dims for n, v in stored.variables.items()}
    assert "confusion_majmin" in held.data_vars
    np.testing.assert_array_equal(held["confusion_majmin"][0, 1:].values, stored["confusion_majmin"][0, 1:].values)


def test_nothing_to_do_is_one_line(folder: Path) -> None:
    command = ["run", str(folder / "pipeline.yaml")]
    (folder / "est" / "ada" / "t01.lab").write_text("0 1 nonsense\n")
    first, again = (CliRunner().invoke(cli, command) for _ in range(2))
    assert (first.exit_code, again.exit_code) == (3, 3)
    assert len(first.output.splitlines()) > 5
    (line,) = again.output.splitlines()
    assert line.startswith("nothing to do: ")
    assert "store.zarr has all 12 cells (1 without a score: mirflow problems " in line


def test_folders_of_systems_without_estimates_are_named(folder: Path) -> None:
    (folder / "est" / "cy").mkdir()
    (folder / "est" / "dan").mkdir()
    (folder / "est" / "dan" / "t00.txt").write_text("0 1 C\n")
    (folder / "est" / ".hidden").mkdir()
    with pytest.warns(MirflowWarning, match="chord: left out, as nothing in their folders fits .*: 'cy', 'dan'; under"):
        run(folder)
    assert scores(folder).system.values.tolist() == ["ada", "bob"]
    write_pipeline(folder, systems="[ada, bob, cy]")
    assert run(folder).evaluations[0].status[Status.missing_estimate] == 6


@pytest.mark.parametrize(
    ("rename", "remedy"),
    [
        (lambda name: f"{name}_estimate", r"write estimates: est/\{system\}/\{track\}_estimate\.lab"),
        (lambda name: f"x-{name}.2", r"write estimates: est/\{system\}/x-\{track\}\.2\.lab"),
        (lambda name: f"{name[1:]}", r"write reference: ref/t\{track\}\.lab"),
        (lambda name: f"song{name[1:]}", "write reference: ref/t.track.*lab and estimates: est/.system./song.track"),
        (str.upper, "write reference: ref/t.track.*lab and estimates: est/.system./T.track"),
    ],
    ids=["behind", "around", "reference", "both", "case"],
)
def test_names_that_do_not_meet_are_reported_with_what_to_write(folder: Path, rename: Any, remedy: str) -> None:
    for path in folder.glob("est/*/*.lab"):
        path.rename(path.with_name(f"{rename(path.stem)}.lab"))
    reason = ", which differ in case" if rename("t00") == "T00" else ""
    message = (
        f"no track in common: the closest names are 't00' in the reference and '{rename('t00')}'{reason}; {remedy}"
    )
    with pytest.raises(PipelineError, match=message):
        run(folder)


def test_a_system_whose_names_do_not_meet_is_warned_of(folder: Path) -> None:
    for path in folder.glob("est/ada/*.lab"):
        path.rename(path.with_name(f"{path.stem}_estimate.lab"))
    with pytest.warns(
        MirflowWarning, match="system 'ada' has no track in common: the closest names are 't00' in the reference"
    ):
        run(folder)


def test_folders_without_a_track_in_common_are_reported_by_evaluate(folder: Path) -> None:
    (folder / "ref").rename(folder / "other")
    for path in folder.glob("other/*.lab"):
        path.rename(path.with_name(f"{path.stem}_ref.lab"))
    message = (
        "no track in common: the closest names are 't00_ref' in the reference and 't00'; give the files the same names"
    )
    with pytest.raises(AnnotationError, match=message):
        mirflow.evaluate_paths(folder / "other", folder / "est" / "ada", "chord")
