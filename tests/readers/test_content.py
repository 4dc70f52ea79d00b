"""Files that are called as text or JAMS and are something else: what to do about them."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import mirflow
from mirflow.cli import cli
from mirflow.errors import AnnotationError, UnreadableError

JAMS = json.dumps(
    {"annotations": [{"namespace": "chord", "data": [{"time": 0, "duration": 1, "value": "C", "confidence": 1}]}]}
)


@pytest.mark.parametrize("suffix", ["lab", "jams", "csv", "mid", "svl"])
def test_an_archive_is_to_be_unpacked(tmp_path: Path, suffix: str) -> None:
    task = {"mid": "transcription", "svl": "melody"}.get(suffix, "chord")
    file = tmp_path / f"a.{suffix}"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.lab", "0 1 C\n")
    with pytest.raises(UnreadableError, match=rf"a\.{suffix}: is a zip archive; unpack it"):
        mirflow.load(file, task=task)
    file.write_bytes(gzip.compress(b"0 1 C\n"))
    with pytest.raises(UnreadableError, match="is compressed with gzip; unpack it"):
        mirflow.load(file, task=task)


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.csv", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    with pytest.raises(UnreadableError, match="is a spreadsheet, not text; save it as csv"):
        mirflow.load(tmp_path / "a.csv", task="chord")


@pytest.mark.parametrize("task", ["chord", "beat", "melody", "multipitch", "key", "tempo", "pattern", "tagging"])
def test_jams_in_a_json_file_names_the_format_to_declare(tmp_path: Path, task: str) -> None:
    (tmp_path / "a.json").write_text(JAMS)
    with pytest.raises(UnreadableError, match=r"a\.json: is JSON; .* rename it to \.jams, or declare format: jams"):
        mirflow.load(tmp_path / "a.json", task=task)
    assert mirflow.load(tmp_path / "a.json", task="chord", format="jams").label.values.tolist() == ["C"]


def test_a_table_that_is_jams_names_the_format_too(tmp_path: Path) -> None:
    (tmp_path / "genres.json").write_text(JAMS)
    with pytest.raises(UnreadableError, match=r"genres\.json: is JSON; .*format: jams"):
        mirflow.load_collection(tmp_path / "genres.json", "classification")


def test_folders_of_json_and_of_archives_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(JAMS)
    with pytest.raises(AnnotationError, match=r"if its \.json files are JAMS, rename them to \.jams"):
        mirflow.evaluate_paths(tmp_path, tmp_path, "chord")
    (tmp_path / "b.zip").write_bytes(b"PK")
    shown = CliRunner().invoke(cli, ["check", str(tmp_path), "--task", "chord"])
    assert shown.exit_code == 2
    assert "unpack its .zip files" in shown.output
