"""Scores that museval wrote are imported with their sources and frames."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.errors import AnnotationError, PipelineError
from mirflow.published.score_tables import import_scores

NAMES = ("vocals", "bass")
MAPPING = """
name: sets
groups:
  - task: separation
    convention: museval
    tables: [{path: "{system}/{track}.json", format: museval}]
"""


def document(values: np.ndarray) -> str:
    """A file of museval, of values (sources, frames)."""
    frames = [
        [
            {"time": float(at), "duration": 1.0, "metrics": dict.fromkeys(("SDR", "ISR", "SIR", "SAR"), value)}
            for at, value in enumerate(row)
        ]
        for row in values.tolist()
    ]
    return json.dumps({"targets": [{"name": name, "frames": row} for name, row in zip(NAMES, frames, strict=True)]})


@pytest.fixture
def scores(tmp_path: Path) -> dict[tuple[str, str], np.ndarray]:
    rng = np.random.default_rng(3)
    values = {
        (system, track): rng.normal(5, 2, (2, 7 + number)) for system in "ab" for number, track in enumerate("xyz")
    }
    values["a", "x"][0, 2] = np.nan
    for (system, track), of_frames in values.items():
        (tmp_path / system).mkdir(exist_ok=True)
        (tmp_path / system / f"{track}.json").write_text(document(of_frames))
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    return values


def test_medians_over_frames_and_tracks_are_those_of_numpy(tmp_path: Path, scores: dict) -> None:
    import_scores(tmp_path / "mapping.yaml", tmp_path / "s.zarr")
    tree = mirflow.open_store(tmp_path / "s.zarr")
    medians = {cell: np.nanmedian(values, axis=1) for cell, values in scores.items()}
    by_source = tree.mirflow.query("source_sdr")
    for number, source in enumerate(NAMES):
        expected = np.median([medians["a", track][number] for track in "xyz"])
        assert by_source["value"].sel(system="a", source=source).item() == pytest.approx(expected, abs=1e-12)
    whole = tree.mirflow.query("sdr")
    assert whole["aggregate"].values.tolist() == ["median"]
    expected = np.median([medians["b", track].mean() for track in "xyz"])
    assert whole["value"].sel(system="b").item() == pytest.approx(expected, abs=1e-12)
    frames = tree["separation"]["frame_sdr_1.0"].sel(system="a", track="x", source="vocals").values
    np.testing.assert_array_equal(frames[:7], scores["a", "x"][0])
    assert np.isnan(frames[7:]).all()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", r"a/x.json: is not a file of museval"),
        ('{"targets": [{"name": "v", "frames": [{"metrics": {"SDR": "5"}}]}]}', "a score is not a number: '5'"),
        ('{"targets": []}', "the targets are none"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, scores: dict, text: str, why: str) -> None:
    (tmp_path / "a" / "x.json").write_text(text)
    with pytest.raises(AnnotationError, match=why):
        import_scores(tmp_path / "mapping.yaml", tmp_path / "s.zarr")


def test_a_mapping_of_museval_needs_nothing_but_a_path(tmp_path: Path, scores: dict) -> None:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(MAPPING.replace("format: museval", "format: museval, scale: percent"))
    with pytest.raises(PipelineError, match="need nothing but path: leave out scale"):
        import_scores(mapping, tmp_path / "s.zarr")
    mapping.write_text(MAPPING.replace("    convention: museval\n", ""))
    with pytest.raises(PipelineError, match="need task: separation and convention: museval"):
        import_scores(mapping, tmp_path / "s.zarr")
