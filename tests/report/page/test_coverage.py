"""What the page says of cells that are not what one takes for granted, and of what a run warned about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mirflow
from mirflow.report.page import write_page
from tests.datasets import write_dataset
from tests.groups import random_group, write_store


def test_empty_files_are_listed_by_name_and_have_a_score(tmp_path: Path, visit: Any) -> None:
    pipeline = write_dataset(tmp_path, tracks=3)
    for name in ("est/ada/t01.lab", "ref/t02.lab"):
        (tmp_path / name).write_text("")
    (tmp_path / "est/bob/t00.lab").unlink()
    write_page(mirflow.run(pipeline, scheduler="serial").store, tmp_path / "p.html")
    page = visit(tmp_path / "p.html")
    said = page.locator("#coverage .note").first.inner_text()
    assert said.startswith("1 of 6 cells (systems \N{MULTIPLICATION SIGN} tracks) has no score.")
    assert said.endswith("3 of an empty estimate or reference have one and count.")
    rows = [row.split("\t") for row in page.locator("#problems tbody").inner_text().splitlines()]
    assert [(system, track, what) for system, track, what, _ in rows] == [
        ("ada", "t01", "empty estimate (with a score)"),
        ("ada", "t02", "empty reference (with a score)"),
        ("bob", "t00", "missing estimate"),
        ("bob", "t02", "empty reference (with a score)"),
    ]
    assert rows[0][3] == "est/ada/t01.lab: system 'ada' has an empty estimate of track 't01'"


def test_warnings_are_with_the_systems_and_with_coverage_as_text(tmp_path: Path, visit: Any) -> None:
    text = "no item of system 'S0' occurs in the reference: '<img src=x>' is listed, 'a' is true"
    group = random_group(2, 3, 1, warnings=[{"text": text, "system": "S0"}])
    write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "p.html")
    page = visit(tmp_path / "p.html")
    for section in ("leaderboard", "coverage"):
        assert page.locator(f"#{section} .warning").inner_text() == f"Warning: {text}."
