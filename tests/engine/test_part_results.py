"""Results of a large run wait on disk, sorted by system, and give the store that results in memory give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.errors import RunError
from tests.datasets import write_dataset, write_lab, write_pipeline
from tests.engine.test_kill import contents
from tests.engine.test_resuming import interrupt


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_dataset(tmp_path)
    (tmp_path / "est" / "ada" / "t03.lab").write_text("0 1 H:maj\n")
    write_pipeline(tmp_path, metrics="[majmin, sevenths, confusion@majmin]")
    return tmp_path


@pytest.fixture
def _on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell stays in memory, a file holds one system, and a few cells are written at a time."""
    monkeypatch.setattr("mirflow.engine.runs._MOST_IN_MEMORY", 0)
    monkeypatch.setattr("mirflow.engine.parts._PER_FILE", 6)
    monkeypatch.setattr("mirflow.engine.parts._MOST_WAITING", 3)


def assert_as_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is that of a new run in memory, byte for byte but for the time of creation, and no file is left."""
    with monkeypatch.context() as usual:
        usual.setattr("mirflow.engine.runs._MOST_IN_MEMORY", 10**6)
        whole = mirflow.run(folder / "pipeline.yaml", store=folder / "whole.zarr").store
    assert contents(folder / "store.zarr") == contents(whole)
    assert not (folder / ".store.zarr.d" / "sorting").exists()


@pytest.mark.usefixtures("_on_disk")
def test_a_run_on_disk_gives_the_store_of_one_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (report,) = mirflow.run(folder / "pipeline.yaml").evaluations
    assert report.outcomes == "11 ok, 1 invalid"
    assert_as_in_memory(folder, monkeypatch)
    assert not mirflow.run(folder / "pipeline.yaml", force=True).published


@pytest.mark.usefixtures("_on_disk")
def test_an_interrupted_run_goes_on_from_its_journal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(folder, monkeypatch, 2)
    assert (folder / ".store.zarr.d").exists()
    (report,) = mirflow.run(folder / "pipeline.yaml").evaluations
    assert report.counts["resumed"] == 8
    assert_as_in_memory(folder, monkeypatch)


@pytest.mark.usefixtures("_on_disk")
def test_results_that_stay_are_joined_with_those_of_changed_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirflow.run(folder / "pipeline.yaml")
    for track in ("t00", "t02"):
        write_lab(folder / "ref" / f"{track}.lab", np.random.default_rng(42))
    write_lab(folder / "ref" / "t04.lab", np.random.default_rng(43))
    interrupt(folder, monkeypatch, 1)
    (report,) = mirflow.run(folder / "pipeline.yaml").evaluations
    assert report.counts["changed"] == 6
    assert report.counts["resumed"] > 0
    assert_as_in_memory(folder, monkeypatch)


@pytest.mark.usefixtures("_on_disk")
def test_a_journaled_failure_stops_a_run_that_must_not_fail(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(folder, monkeypatch, 2)
    with pytest.raises(RunError, match=r"^system 'ada', track 't03': invalid: .* \(stopped, as on_error is raise;"):
        mirflow.run(folder / "pipeline.yaml", on_error="raise")
