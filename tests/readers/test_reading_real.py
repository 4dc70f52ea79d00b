"""Real data sets: every file reads, and reads as mir_eval and jams read it."""

from __future__ import annotations

import json
from pathlib import Path

import mir_eval
import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import InvalidAnnotationError


def read_folder(folder: Path, pattern: str, count: int, **asked: object) -> list[xr.Dataset]:
    files = sorted(folder.glob(pattern))
    assert len(files) == count
    return [mirflow.load(file, **asked) for file in files]


@pytest.mark.slow
def test_every_chord_file_of_mirex_2013(shared_data: Path) -> None:
    annotations = read_folder(shared_data / "mirex2013-ace", "**/*.lab", 2170, task="chord")
    assert all(one.label.size and (one.label != "").all() for one in annotations)


def test_chord_files_read_as_mir_eval_reads_them(shared_data: Path) -> None:
    for file in sorted((shared_data / "mirex2013-ace").glob("**/*.lab"))[::40]:
        starts, ends, labels = mir_eval.io.load_delimited(str(file), [float, float, str])
        ours = mirflow.load(file, task="chord")
        assert ours.start.values.tolist() == starts
        assert ours.end.values.tolist() == ends
        assert ours.label.values.tolist() == labels


def test_every_annotator_of_casd_and_its_rounded_ends(shared_data: Path) -> None:
    for file in sorted((shared_data / "casd").glob("*.jams")):
        document = json.loads(file.read_bytes())
        annotations = mirflow.load(file, task="chord", annotator="all")
        assert [one.attrs["annotator"] for one in annotations] == ["A1", "A2", "A3", "A4"]
        for ours, theirs in zip(annotations, document["annotations"], strict=True):
            assert ours.label.values.tolist() == [row["value"] for row in theirs["data"]]
            assert ours.start.values.tolist() == [row["time"] for row in theirs["data"]]
            ends = [row["time"] + row["duration"] for row in theirs["data"]]
            assert ours.end.values.tolist() == pytest.approx(ends, rel=0, abs=1e-9)
            assert np.all(ours.start.values[1:] - ours.end.values[:-1] > -1e-3)


@pytest.mark.parametrize(("task", "kind"), [("beat", "events"), ("segment", "intervals"), ("onset", "events")])
def test_harmonix_in_jams(shared_data: Path, task: str, kind: str) -> None:
    annotations = read_folder(shared_data / "harmonix" / "reference" / "jams", "*.jams", 250, task=task)
    assert {one.attrs["kind"] for one in annotations} == {kind}
    assert all(all(one.sizes.values()) for one in annotations)


def test_harmonix_beats_are_the_same_in_text_and_jams(shared_data: Path) -> None:
    folder = shared_data / "harmonix" / "reference"
    annotations = read_folder(folder / "beats_and_downbeats", "*.txt", 250, task="beat")
    for text in annotations[::25]:
        name = Path(str(text.attrs["source"])).stem
        jams = mirflow.load(folder / "jams" / f"{name}.jams", task="beat")
        assert np.abs(text.time.values - jams.time.values).max() <= 0.00051
        assert text.label.values.tolist() == jams.label.values.tolist()


def test_harmonix_segments_start_where_their_text_says(shared_data: Path) -> None:
    folder = shared_data / "harmonix" / "reference"
    columns = {"start": 0, "label": 1}
    annotations = read_folder(folder / "segments", "*.txt", 250, task="segment", columns=columns)
    # Two files close with two rows called end; everywhere else the last row only gives an end.
    doubled = [Path(str(one.attrs["source"])).stem for one in annotations if "end" in one.label.values]
    assert doubled == ["0287_therewasatime", "0292_timeslikethese"]
    with pytest.raises(InvalidAnnotationError, match=r"0001_12step\.txt:1: end is not a number: 'intro'; .*declare"):
        mirflow.load(folder / "segments" / "0001_12step.txt", task="segment")


def test_beat_estimates_read_as_mir_eval_reads_them(shared_data: Path) -> None:
    for system in ("Bock_1", "Ellis", "Krebs"):
        estimates = read_folder(shared_data / "harmonix" / "estimates" / "beats" / system, "*.txt", 250, task="beat")
        for ours in estimates[::50]:
            assert np.array_equal(ours.time.values, mir_eval.io.load_events(str(ours.attrs["source"])))
