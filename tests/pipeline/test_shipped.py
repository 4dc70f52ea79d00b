"""The shipped pipelines of times and labels over time: each runs, and gives the published or expected numbers."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.metrics.base import get_task
from mirflow.metrics.measures import Metric, find, parse

from ..groups import CODES, STATUSES


@pytest.fixture(scope="module")
def tree_of(shipped_store: Callable[[str], Path]) -> Callable[[str], xr.DataTree]:
    """A function that opens the store of a shipped pipeline."""
    return lambda name: mirflow.open_store(shipped_store(name))


def statuses(group: xr.DataTree) -> set[str]:
    return {STATUSES[value] for value in np.unique(group.status.values)}


@pytest.fixture(scope="module")
def harmonix(tree_of: Callable[[str], xr.DataTree]) -> xr.DataTree:
    return tree_of("harmonix")


def published(file: Path) -> dict[str, dict[str, float]]:
    """Columns of a published table, each a mapping from tracks to scores."""
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    columns = [name for name in rows[0] if name not in ("", "Track ID")]
    return {name: {row["Track ID"]: float(row[name]) for row in rows} for name in columns}


@pytest.mark.parametrize("system", ["Bock_1", "Ellis", "Krebs"])
def test_published_beat_scores_of_harmonix(harmonix: xr.DataTree, shared_data: Path, system: str) -> None:
    table = published(shared_data / "harmonix" / "published" / "beats" / f"{system}.csv")
    ours = {"F-Measure": "f_measure(trim=0.0)", "Max F-Measure": "f_measure_best(levels=harmonix,trim=0.0)"}
    for column, metric in ours.items():
        scores = harmonix["beat"].score.sel(system=system, metric=metric).to_series().to_dict()
        assert scores == pytest.approx(table[column], rel=0, abs=5e-7)
    assert harmonix["beat"].sizes["track"] == 250


@pytest.mark.parametrize(
    ("group", "system"), [("downbeat_published_bock", "Bock_1"), ("downbeat_published_durand", "Durand")]
)
def test_published_downbeat_scores_of_harmonix(
    harmonix: xr.DataTree, shared_data: Path, group: str, system: str
) -> None:
    table = published(shared_data / "harmonix" / "published" / "downbeats" / f"{system}.csv")["F-Measure"]
    scores = harmonix[group].score.sel(system=system, metric="f_measure(trim=0.0)")
    assert scores.dropna("track").to_series().to_dict() == pytest.approx(table, rel=0, abs=5e-7)


def test_what_harmonix_lacks_is_noted(harmonix: xr.DataTree) -> None:
    missing = harmonix["downbeat"].status.sel(system="Durand") == CODES["missing_estimate"]
    assert missing.track.values[missing.values].tolist() == [
        "0151_kingofdancehall",
        "0152_kingofrock",
        "0261_starships",
    ]
    assert statuses(harmonix["downbeat_published_bock"]) == {"ok"}


def test_harmonix_can_be_asked_by_genre(harmonix: xr.DataTree) -> None:
    answer = harmonix["beat"].to_dataset().mirflow.query(metric="f_measure(trim=0.0)", system="Krebs", by="Genre")
    assert "Hip-Hop" in answer.Genre.values
    assert harmonix["beat"].BPM.dtype.kind in "if"


@pytest.mark.parametrize(("text", "jams"), [("beat", "beat_jams"), ("downbeat", "downbeat_jams")])
def test_times_rounded_to_1_ms_move_the_scores_of_some_tracks(harmonix: xr.DataTree, text: str, jams: str) -> None:
    scores = [harmonix[group].score.sel(metric="f_measure(trim=0.0)").dropna("track") for group in (text, jams)]
    moved = np.abs(scores[0] - scores[1]) > 1e-9
    assert 0 < float(moved.mean()) < 0.33


@pytest.mark.slow
def test_salami_is_a_human_ceiling(tree_of: Callable[[str], xr.DataTree]) -> None:
    tree = tree_of("salami")
    assert list(tree.children) == ["functions", "hierarchy", "lowercase", "uppercase"]
    for group in tree.children.values():
        assert dict(group.sizes)["track"] == 120
        assert group.system.values.tolist() == ["annotator_2"]
        assert statuses(group) == {"ok"}
    # 87 repeated times in 720 files, of which each of the four groups reads its share; none is refused for them.
    assert int(sum(tree[layer].repairs.sum() for layer in ("functions", "uppercase", "lowercase"))) >= 87


def test_two_notations_of_a_key_score_1(tree_of: Callable[[str], xr.DataTree]) -> None:
    keys = tree_of("giantsteps-key")["key"]
    assert (keys.system.values.tolist(), keys.sizes["track"]) == (["key_files"], 150)
    assert keys.score.sel(metric="weighted_score").values.tolist() == [[1.0] * 150]
    assert keys.score.sel(metric=["fifth", "relative", "parallel", "other"]).values.max() == 0.0
    assert "techno" in keys.genre.values


def identity(key: str, group: str, metrics: tuple[Metric, ...]) -> str:
    """What mir_eval calls a score, as we call it."""
    if group == "transcription_velocity":
        return f"velocity_{find(key, metrics).name}"
    return str(parse(key, metrics)) if "@" in key or key in ("F", "P", "R") else find(key, metrics).name


def expected_outputs(folder: Path, group: str) -> Iterator[tuple[str, str, float]]:
    """Track, metric and score of every expected output of mir_eval's fixtures."""
    metrics = get_task(group.removesuffix("_velocity")).convention().metrics
    for file in sorted((folder / group).glob("output*.json")):
        name = file.stem.removeprefix("output")
        for key, value in json.loads(file.read_text()).items():
            # mir_eval misspells the threshold of these, and so computes them at 0.75.
            if key.endswith("_occ.5"):
                continue
            metric = identity(key, group, metrics)
            if name.startswith("_w=") and not metric.startswith("l_"):
                metric = str(parse(f"{metric}@{float(name.removeprefix('_w='))}", metrics))
            yield "track" if name.startswith("_w=") else name, metric, float(value)


def test_every_expected_output_of_mir_eval(tree_of: Callable[[str], xr.DataTree], shared_data: Path) -> None:
    tree = tree_of("mir_eval-fixtures")
    groups = [
        *("alignment", "beat", "chord", "hierarchy", "key", "melody", "multipitch", "onset", "pattern", "segment"),
        *("tempo", "transcription", "transcription_velocity"),
    ]
    assert list(tree.children) == groups
    for group in groups:
        rows = list(expected_outputs(shared_data / "mir_eval-fixtures", group))
        assert len(rows) >= 9
        for track, metric, value in rows:
            score = tree[group].score.sel(system="estimate", track=track, metric=metric).item()
            assert score == pytest.approx(value, rel=0, abs=1e-9), (group, track, metric)


def test_melodies_on_frames_of_10_ms_score_nearly_the_same(tree_of: Callable[[str], xr.DataTree]) -> None:
    tree = tree_of("adc2004-melody")
    means = {name: group.score.sel(metric="overall_accuracy").mean().item() for name, group in tree.children.items()}
    assert means["melody_mirex"] != means["melody_mirex_hold"]
    assert max(means.values()) - min(means.values()) < 0.01


@pytest.fixture(scope="module")
def mirex2015(tree_of: Callable[[str], xr.DataTree]) -> xr.DataTree:
    return tree_of("mirex2015-transcription")


def test_all_notes_of_mirex2015_are_scored(mirex2015: xr.DataTree) -> None:
    assert list(mirex2015.children) == [
        "chroma_mirex2015",
        "rounded_reference",
        "transcription",
        "transcription_mirex2015",
    ]
    for group in mirex2015.children.values():
        assert (group.sizes["system"], group.sizes["track"], statuses(group)) == (6, 10, {"ok"})
    pitches = mirex2015["transcription_mirex2015"].score.sel(metric="f_measure_no_offset")
    chroma = mirex2015["chroma_mirex2015"].score.sel(metric="f_measure_no_offset(chroma=true)")
    assert bool((chroma >= pitches).all())
