"""The linter: every problem of every file, with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.check import FileCheck, check_paths
from mirflow.cli import cli
from mirflow.errors import AnnotationError


def problems(path: Path, **how: str) -> list[tuple[str, str, int | None]]:
    (check,) = check_paths([path], **how)
    return [(found.severity, found.rule, found.line) for found in check.problems]


def write(folder: Path, text: str, name: str = "a.lab") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_clean_file_has_no_problem(tmp_path: Path) -> None:
    path = write(tmp_path, "0 1 C:maj\n1 2 N\n")
    assert list(check_paths([path])) == [FileCheck(str(path))]


def test_every_problem_is_found_on_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "# chords\n0 1 C:maj\n1 1 N\n1.5 2 H:maj\n1.8 3 G\n3 4 Gmaj\n5 4 C\n")
    assert problems(path) == [
        ("error", "reversed", 7),
        ("warning", "zero_length", 3),
        ("error", "overlap", 5),
        ("note", "gap", 4),
        ("note", "gap", 7),
        ("error", "label", 4),
        ("error", "label", 6),
    ]


def test_a_reference_that_cannot_be_perfect_is_explained(tmp_path: Path) -> None:
    path = write(tmp_path, "0 1 C:sus4\n1 2 G:sus4\n")
    (check,) = check_paths([path])
    assert {found.severity for found in check.problems} == {"note"}
    assert "against itself it scores 0 on majmin, not 1" in check.problems[0].message


def test_unreadable_empty_and_unknown_files_are_problems(tmp_path: Path) -> None:
    assert problems(write(tmp_path, "0 1 C\nx y z\n")) == [("error", "unreadable", 2)]
    assert problems(write(tmp_path, "")) == [("warning", "empty", None)]
    assert problems(write(tmp_path, "0 1 C\n", "a.txt")) == [("note", "skipped", None)]
    assert problems(write(tmp_path, "0 1 C\n", "a.txt"), task="chord") == []


def test_jams_files_are_checked_against_their_schema_too(tmp_path: Path) -> None:
    good = Annotation("intervals", {"start": np.zeros(1), "end": np.ones(1)}, ["C:maj"])
    path = tmp_path / "a.jams"
    path.write_text(mirflow.to_jams(good, task="chord").dumps())
    assert problems(path) == []
    path.write_text(path.read_text().replace('"C:maj"', '"C:major"'))
    found = problems(path)
    assert ("error", "schema", None) in found
    assert any(rule == "label" for _, rule, _ in found)


def test_the_command_names_file_and_line_and_ends_with_3(tmp_path: Path) -> None:
    write(tmp_path, "0 1 C:maj\n1 2 H\n")
    write(tmp_path, "0 1 C:maj\n", "b.lab")
    result = CliRunner().invoke(cli, ["check", str(tmp_path)])
    assert result.exit_code == 3
    assert f"{tmp_path}/a.lab:2: error: not a chord: 'H'" in result.output
    assert "2 files: 1 error" in result.output
    assert CliRunner().invoke(cli, ["check", str(tmp_path / "b.lab")]).exit_code == 0


def test_a_path_without_annotations_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match="no annotation files"):
        list(check_paths([tmp_path]))
    with pytest.raises(AnnotationError, match="no such file or folder"):
        list(check_paths([tmp_path / "absent"]))


def test_real_references_have_the_problems_that_are_known(shared_data: Path) -> None:
    checks = list(check_paths([shared_data / "mirex2013-ace" / "reference"]))
    rules = {(Path(check.path).stem[-6:], found.rule): found.line for check in checks for found in check.problems}
    assert len(checks) == 217
    assert rules["000120", "zero_length"] == 149
    assert rules["000061", "gap"] == 10
    assert not [found for check in checks for found in check.problems if found.severity == "error"]
