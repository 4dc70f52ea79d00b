"""Overlaps of systems: the estimates of each scored with those of each other one as the reference."""

from __future__ import annotations

import shutil
from pathlib import Path

import mir_eval
import numpy as np
import pytest

import mirflow
from mirflow.errors import QueryError

from ..commands import printed, refused, rows

TRACKS = ("greensleeves", "house-of-the-rising-sun")
FOLDER = Path(__file__).parents[2] / "pipelines" / "tunes" / "estimates"


def chords(system: str, track: str) -> tuple[np.ndarray, list[str]]:
    (path,) = (FOLDER / system).glob(f"{track}.*")
    ds = mirflow.load(path, task="chord")
    ds = ds.isel(segment=(ds.end > ds.start).values)  # mir_eval refuses intervals without a length
    return np.stack([ds.start.values, ds.end.values], axis=1), ds.label.values.tolist()


def test_each_is_mir_evals_score_of_two_estimates(demo_store):
    found = mirflow.overlap(demo_store, "majmin", "mean", group="chord", tracks=TRACKS)
    for system in ("oak", "elm", "ash"):
        for other in {"oak", "elm", "ash"} - {system}:
            scores = [
                mir_eval.chord.evaluate(*chords(other, track), *chords(system, track))["majmin"] for track in TRACKS
            ]
            own = found["value"].sel(system=system, other=other).item()
            assert own == pytest.approx(np.mean(scores), abs=1e-9)
    assert (found["n"].values == 2).all()


def test_each_two_are_compared_on_the_tracks_that_both_have(demo_store):
    found = mirflow.overlap(demo_store, "majmin", group="chord")["n"].to_pandas()
    assert found.loc["elm", "oak"] == found.loc["oak", "elm"] == 5
    assert found.loc["ash", "oak"] == 5


def test_beats_of_real_systems_overlap_as_mir_eval_says(shipped_store, shared_data):
    store, track = shipped_store("harmonix"), "0003_6foot7foot"
    found = mirflow.overlap(store, "f_measure", group="beat_trimmed", tracks=track)["value"]
    folder = shared_data / "harmonix" / "estimates" / "beats"
    beats = {name: np.loadtxt(folder / name / f"{track}.txt", usecols=0, ndmin=1) for name in found.system.values}
    for system, estimate in beats.items():
        for other, reference in beats.items():
            expected = mir_eval.beat.f_measure(*map(mir_eval.beat.trim_beats, (reference, estimate)))
            assert found.sel(system=system, other=other).item() == pytest.approx(expected, abs=1e-9)


def test_tables_for_people_and_programs(demo_store):
    words = ("overlap", demo_store, "-g", "chord", "-m", "majmin", "-s", "oak", "-s", "elm")
    listed = rows(*words)
    assert [(row["system"], row["other"], row["n"]) for row in listed] == [("oak", "elm", 5), ("elm", "oak", 5)]
    text = printed(*words, "--percent")
    assert "chord: task chord, convention mir_eval; overlaps of systems by majmin" in text
    assert f"{100 * listed[0]['value']:.2f}" in text


def test_the_metric_is_the_headline_and_annotations_may_have_moved(demo_store, tmp_path):
    shutil.copytree(FOLDER.parent, tmp_path / "moved")
    moved = mirflow.overlap(demo_store, group="chord", root=tmp_path / "moved")
    here = mirflow.overlap(demo_store, "majmin", group="chord")
    np.testing.assert_array_equal(moved["value"].values, here["value"].values)


def test_refusals(demo_store, tmp_path):
    assert "The folder of the annotations is gone" in refused("overlap", demo_store, "--root", tmp_path / "nowhere")
    with pytest.raises(QueryError, match="those of one metric; name one of: majmin, root"):
        mirflow.overlap(demo_store, ["majmin", "root"], group="chord")
    for name, value in (("over", {"system": "best"}), ("missing", "zero"), ("sort", "name")):
        with pytest.raises(QueryError, match=f"'overlap' takes no '{name}'; it takes metric"):
            mirflow.overlap(demo_store, "majmin", group="chord", **{name: value})
