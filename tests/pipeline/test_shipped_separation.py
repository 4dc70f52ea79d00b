"""The shipped pipeline of separation: mir_eval's own sound files give mir_eval's own expected outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import xarray as xr

import mirflow

from ..groups import CODES

PIPELINE = Path(__file__).parents[2] / "pipelines" / "separation.yaml"
SOURCES = {"sdr": "Source to Distortion", "sir": "Source to Interference", "sar": "Source to Artifact"}
MONO = ("01", "02", "03", "05", "07", "08", "09")


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "mir_eval-fixtures"


@pytest.fixture(scope="module")
def group(shipped_store: Callable[[str], Path]) -> xr.Dataset:
    return mirflow.open_store(shipped_store("separation"))["separation"].to_dataset().load()


def test_every_track_is_scored(group: xr.Dataset) -> None:
    assert group.track.values.tolist() == ["01", "02", "03", "05", "06", "07", "08", "09"]
    assert set(group.status.values.ravel().tolist()) == {CODES["ok"]}
    assert group.duration.values.tolist() == [1.0] * 8


def test_the_expected_outputs_of_mir_eval(group: xr.Dataset, folder: Path) -> None:
    for track in MONO:
        expected = json.loads((folder / "separation" / f"output{track}.json").read_text())["Sources"]
        for metric, key in SOURCES.items():
            score = group.score.sel(system="estimate", track=track, metric=metric).item()
            assert score == pytest.approx(np.mean(expected[key]), rel=0, abs=1e-6), (track, metric)


def test_worker_processes_give_the_same_bits(group: xr.Dataset, folder: Path, tmp_path: Path) -> None:
    report = mirflow.run(PIPELINE, root=folder, store=tmp_path / "s.zarr", scheduler="processes", guarded=True)
    xr.testing.assert_identical(mirflow.open_store(report.store)["separation"].score.load(), group.score)


def load(folder: Path, side: str, track: str) -> np.ndarray:
    return np.stack([soundfile.read(path)[0] for path in sorted((folder / "separation" / f"{side}{track}").glob("*"))])
