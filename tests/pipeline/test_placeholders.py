"""Placeholders that are nearly one with a meaning are told before anything is scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirflow.errors import PipelineError
from mirflow.pipeline import plan_pipeline
from mirflow.pipeline.side_files import find_slip
from mirflow.readers.patterns import Pattern


@pytest.mark.parametrize(
    ("path", "side", "kind", "meant"),
    [
        ("lists/{sytem}.txt", "estimates", "ranking", "system"),
        ("{Systems}/{track}.lab", "estimates", "intervals", "system"),
        ("refs/{trak}.lab", "reference", "intervals", "track"),
        ("refs/{annotater}/{track}.lab", "reference", "intervals", "annotator"),
        ("{track}_{levels}.lab", "reference", "hierarchy", "level"),
        ("{track}/{sources}.wav", "estimates", "audio", "source"),
    ],
)
def test_a_slip_is_reported(path: str, side: str, kind: str, meant: str) -> None:
    noted = find_slip(Pattern(path), side, kind)
    assert f"in {path!r}: did you mean {{{meant}}}?" in noted


@pytest.mark.parametrize(
    ("path", "side", "kind"),
    [
        ("{system}/{track}.lab", "estimates", "intervals"),
        ("{system}/{systems}/{track}.lab", "estimates", "intervals"),
        ("{year}/fold{fold}/{subsystem}/{system_run}/{track}.lab", "estimates", "intervals"),
        ("{track}_{sources}.lab", "estimates", "intervals"),
        ("{system}/{track:path}.lab", "reference", "intervals"),
    ],
)
def test_names_of_their_own_are_metadata(path: str, side: str, kind: str) -> None:
    assert find_slip(Pattern(path), side, kind) == ""


def test_a_pipeline_with_a_slip_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "ada.txt").write_text("a slow\n")
    (tmp_path / "truth.txt").write_text("a slow\n")
    path = tmp_path / "x.yaml"
    path.write_text(
        "name: x\nstore: x.zarr\nevaluations:\n"
        '  - {task: tagging, reference: truth.txt, estimates: "lists/{sytem}.txt"}\n'
    )
    with pytest.raises(PipelineError, match=r"unknown placeholder \{sytem\} in .*: did you mean \{system\}"):
        plan_pipeline(path)
