"""Whatever is edited between runs and wherever they stop, a store ends as a fresh run's would."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.engine import schedule
from mirflow.engine.runs import run_plans, same_content
from mirflow.errors import MirflowWarning, RunError
from mirflow.pipeline import plan_pipeline
from mirflow.readers import patterns
from mirflow.readers.content import version_of
from mirflow.readers.sources import FileSource
from mirflow.store import Journal, open_pack
from mirflow.store.cells import Cells
from tests.datasets import write_dataset, write_lab, write_pipeline

original = schedule.score_block


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_dataset(tmp_path)
    return tmp_path


def interrupt(folder: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, **how: Any) -> None:
    """A run that is stopped after some blocks, if it has more."""
    done: list[int] = []

    def stop(work: Any) -> Cells:
        if len(done) == blocks:
            raise KeyboardInterrupt
        done.append(1)
        return original(work)

    monkeypatch.setattr(schedule, "score_block", stop)
    with pytest.raises(KeyboardInterrupt):
        mirflow.run(folder / "pipeline.yaml", **how)
    monkeypatch.setattr(schedule, "score_block", original)


def group(store: Path) -> xr.Dataset:
    return mirflow.open_store(store)["chord"].to_dataset().load().drop_attrs()


def assert_as_fresh(folder: Path) -> None:
    """The store equals one that a run from nothing makes."""
    fresh = folder / "fresh.zarr"
    mirflow.run(folder / "pipeline.yaml", store=fresh, force=True, prune=True)
    xr.testing.assert_identical(group(folder / "store.zarr"), group(fresh))


def test_plans_are_scored_without_a_store_and_resumed_from_a_journal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, journal = plan_pipeline(folder / "pipeline.yaml", open_pack=open_pack).plans, Journal(folder / "journal")
    done: list[int] = []

    def stop(work: Any) -> Cells:
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return original(work)

    monkeypatch.setattr(schedule, "score_block", stop)
    with pytest.raises(KeyboardInterrupt):
        run_plans(plans, journal, scheduler="serial")
    monkeypatch.setattr(schedule, "score_block", original)
    (found,) = run_plans(plans, Journal(folder / "journal"), scheduler="serial")
    assert found.counts["resumed"] > 0
    (expected,) = mirflow.run(folder / "pipeline.yaml", store=folder / "usual.zarr").evaluations
    assert same_content(replace(found.content, attrs={}), replace(expected.content, attrs={}))


def test_metrics_in_another_order_after_an_interruption(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pipeline(folder, metrics="[root, majmin, sevenths_inv]")
    interrupt(folder, monkeypatch, 2)
    write_pipeline(folder, metrics="[sevenths_inv, root, majmin]")
    assert mirflow.run(folder / "pipeline.yaml").evaluations[0].counts["resumed"] == 8
    assert_as_fresh(folder)


def test_a_file_that_was_put_back_keeps_its_stored_score(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirflow.run(folder / "pipeline.yaml")
    path = folder / "est" / "ada" / "t00.lab"
    text, stat = path.read_text(), path.stat()
    write_lab(path, np.random.default_rng(42))
    for track in ("t03", "t05"):
        write_lab(folder / "est" / "ada" / f"{track}.lab", np.random.default_rng(43))
    interrupt(folder, monkeypatch, 1)
    path.write_text(text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    mirflow.run(folder / "pipeline.yaml")
    assert_as_fresh(folder)


def coarse(status: os.stat_result) -> int:
    """The version of a file in a file system without times of status changes."""
    times = {"st_mtime_ns": status.st_mtime_ns, "st_ctime_ns": status.st_mtime_ns, "st_ino": status.st_ino}
    return version_of(cast(os.stat_result, SimpleNamespace(**times)))


def test_a_file_of_the_same_size_and_time_that_changed_is_computed_again(folder: Path) -> None:
    mirflow.run(folder / "pipeline.yaml")
    for path in (folder / "est" / "ada" / "t00.lab", folder / "ref" / "t03.lab"):
        text, stat = path.read_text(), path.stat()
        path.write_text(text.replace("maj", "min"))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert (path.read_text() != text, path.stat().st_size) == (True, stat.st_size)
    counts = mirflow.run(folder / "pipeline.yaml").evaluations[0].counts
    assert (counts["changed"], counts["reused"]) == (3, 9)
    assert_as_fresh(folder)


def test_files_that_change_places_are_computed_again(folder: Path) -> None:
    mirflow.run(folder / "pipeline.yaml")
    one, other = (folder / "est" / "ada" / f"{track}.lab" for track in ("t00", "t01"))
    for path in (one, other):
        os.utime(path, ns=(10**18, 10**18))
    other.write_text(other.read_text().ljust(one.stat().st_size, "\n"))
    one.rename(folder / "kept")
    other.rename(one)
    (folder / "kept").rename(other)
    mirflow.run(folder / "pipeline.yaml")
    assert_as_fresh(folder)


def test_scores_of_copies_are_kept_if_their_bytes_are_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirflow.run(folder / "pipeline.yaml")
    shutil.copytree(folder / "est", folder / "copy")
    shutil.rmtree(folder / "est")
    (folder / "copy").rename(folder / "est")
    for path in folder.glob("ref/*.lab"):
        path.touch()
    (folder / "est" / "ada" / "t00.lab").write_text("0 9 C\n")
    counts = mirflow.run(folder / "pipeline.yaml").evaluations[0].counts
    assert (counts["changed"], counts["reused"]) == (1, 11)
    assert_as_fresh(folder)
    monkeypatch.setattr(FileSource, "digest_now", pytest.fail)  # the new versions are stored
    assert mirflow.run(folder / "pipeline.yaml").evaluations[0].counts["reused"] == 12


def test_the_same_bytes_under_another_suffix_are_read_again(folder: Path) -> None:
    pipeline = write_pipeline(folder)
    pipeline.write_text(pipeline.read_text().replace("{track}.lab\nstore", "{track}.{format}\nstore"))
    mirflow.run(folder / "pipeline.yaml")
    path = folder / "est" / "ada" / "t00.lab"
    path.rename(path.with_suffix(".csv"))
    assert mirflow.run(folder / "pipeline.yaml").evaluations[0].counts["changed"] == 1
    assert_as_fresh(folder)


@pytest.mark.parametrize("seconds", [0.0, 0.9, 1.9])
def test_a_file_rewritten_within_the_clock_s_second_is_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    second = 1_600_000_000_000_000_000
    files = [*folder.glob("ref/*.lab"), *folder.glob("est/*/*.lab")]
    for path in files:
        os.utime(path, ns=(second, second))
    # The file system counts whole seconds, has no other times, and the run falls into the one of the files' writing.
    monkeypatch.setattr(patterns, "version_of", coarse)
    monkeypatch.setattr("mirflow.readers.content.time_ns", lambda: second + int(seconds * 1e9))
    mirflow.run(folder / "pipeline.yaml")
    path = folder / "est" / "ada" / "t00.lab"
    text = path.read_text()
    path.write_text(text.replace("maj", "min"))
    assert path.read_text() != text
    os.utime(path, ns=(second, second))
    assert path.stat().st_size == len(text)
    monkeypatch.setattr("mirflow.readers.content.time_ns", lambda: second + 60 * 10**9)
    counts = mirflow.run(folder / "pipeline.yaml").evaluations[0].counts
    assert (counts["changed"], counts["reused"]) == (1, 11)
    assert_as_fresh(folder)
    assert mirflow.run(folder / "pipeline.yaml").evaluations[0].counts["reused"] == 12


def test_a_file_of_a_fine_clock_is_read_once_its_tick_is_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "est" / "ada" / "t00.lab"
    waited: list[float] = []
    os.utime(path, ns=(1_600_000_000_123_456_789,) * 2)
    now = path.stat().st_ctime_ns
    monkeypatch.setattr("mirflow.readers.content.time_ns", lambda: now + 4_000_000)
    monkeypatch.setattr("mirflow.readers.content.sleep", waited.append)
    mirflow.run(folder / "pipeline.yaml")
    assert max(waited) == pytest.approx(0.006)
    assert mirflow.run(folder / "pipeline.yaml").evaluations[0].counts["reused"] == 12


def test_an_interrupted_force_does_not_count_cells_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirflow.run(folder / "pipeline.yaml")
    interrupt(folder, monkeypatch, 2, force=True)
    report = mirflow.run(folder / "pipeline.yaml")
    assert sum(report.evaluations[0].status.values()) == 12
    assert not report.published


def test_on_error_raise_stops_every_time(folder: Path) -> None:
    (folder / "est" / "ada" / "t00.lab").write_text("0 1 nonsense\n")
    write_pipeline(folder, on_error="raise")
    for _ in range(3):
        with pytest.raises(RunError, match="nonsense"):
            mirflow.run(folder / "pipeline.yaml")
    write_pipeline(folder, on_error="ignore")
    mirflow.run(folder / "pipeline.yaml")
    write_pipeline(folder, on_error="raise")
    with pytest.raises(RunError, match="nonsense"):
        mirflow.run(folder / "pipeline.yaml")


def test_what_stays_unreadable_is_tried_again_but_not_published_again(folder: Path) -> None:
    (folder / "est" / "ada" / "t00.lab").write_bytes(b"\x00\xff\x00")
    assert mirflow.run(folder / "pipeline.yaml").published
    for _ in range(2):
        report = mirflow.run(folder / "pipeline.yaml")
        assert report.evaluations[0].counts["retried"] == 1
        assert not report.published


def test_damaged_blocks_of_the_journal_are_reported_and_computed_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch, 2)
    for path in sorted(folder.glob(".store.zarr.d/journal-*/*.cells"))[:1]:
        path.write_bytes(path.read_bytes()[:-10])
    with pytest.warns(MirflowWarning, match="1 damaged blocks of an interrupted run are computed again"):
        report = mirflow.run(folder / "pipeline.yaml")
    assert report.evaluations[0].counts["resumed"] == 4
    assert_as_fresh(folder)


def write_annotators(folder: Path, names: str, tracks: int = 3) -> None:
    rng = np.random.default_rng(len(names))
    for number in range(tracks):
        for name in names:
            path = folder / "by" / name / f"t{number:02d}.lab"
            if not path.exists():
                write_lab(path, rng)


def annotator_pipeline(folder: Path, metrics: str = "[majmin, root]", combine: str = "each") -> None:
    path = write_pipeline(folder, metrics=metrics)
    text = path.read_text().replace(
        "ref/{track}.lab", f'{{path: "by/{{annotator}}/{{track}}.lab", combine: {combine}}}'
    )
    path.write_text(text.replace("est/{system}/", "./by/../by/{system}/"))


@pytest.mark.slow
def test_each_annotator_follows_the_pipeline(folder: Path) -> None:
    write_annotators(folder, "abcd")
    annotator_pipeline(folder)
    mirflow.run(folder / "pipeline.yaml")
    annotator_pipeline(folder, "[root]")
    assert mirflow.run(folder / "pipeline.yaml").evaluations[0].counts["reused"] == 12
    assert group(folder / "store.zarr").score_by_annotator.metric.values.tolist() == ["root"]
    assert_as_fresh(folder)
    annotator_pipeline(folder, "[root, majmin]")
    for path in sorted((folder / "by" / "d").iterdir()):
        path.unlink()
    mirflow.run(folder / "pipeline.yaml", prune=True)
    assert group(folder / "store.zarr").annotator.values.tolist() == ["a", "b", "c"]
    assert_as_fresh(folder)


def test_one_more_annotator_of_one_track_recomputes_that_track(folder: Path) -> None:
    write_annotators(folder, "ab")
    annotator_pipeline(folder)
    mirflow.run(folder / "pipeline.yaml")
    write_lab(folder / "by" / "c" / "t01.lab", np.random.default_rng(9))
    counts = mirflow.run(folder / "pipeline.yaml").evaluations[0].counts
    assert {name: count for name, count in counts.items() if count} == {"new": 3, "changed": 2, "reused": 4}


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_and_interruptions(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    metrics = ["root", "majmin", "sevenths_inv", "seg", "confusion@majmin", "csr@root"]
    kept: dict[Path, tuple[str, os.stat_result]] = {}
    for _ in range(8):
        files = sorted([*folder.glob("est/*/*.lab"), *folder.glob("ref/*.lab")])
        for path in chance.sample(files, 2):
            action = chance.choice(["rewrite", "remove", "restore"])
            if action == "restore" and kept:
                target = chance.choice(sorted(kept))
                target.write_text(kept[target][0])
                os.utime(target, ns=(kept[target][1].st_atime_ns, kept[target][1].st_mtime_ns))
            elif action == "remove" and len(files) > 12:
                kept[path] = path.read_text(), path.stat()
                path.unlink()
            else:
                kept[path] = path.read_text(), path.stat()
                write_lab(path, np.random.default_rng(chance.randrange(1000)))
        some = chance.sample(metrics, 3)
        write_pipeline(folder, metrics="[" + ", ".join(f"'{name}'" for name in some) + "]", on_error="ignore")
        if chance.random() < 0.6:
            try:
                interrupt(folder, monkeypatch, chance.randrange(3))
            except pytest.fail.Exception:
                monkeypatch.setattr(schedule, "score_block", original)
            continue
        mirflow.run(folder / "pipeline.yaml")
        assert_as_fresh(folder)
    mirflow.run(folder / "pipeline.yaml")
    assert_as_fresh(folder)
