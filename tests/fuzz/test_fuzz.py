"""Whatever a file holds, it costs at most itself: a score, a status or an error of ours, in bounded time and memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirflow.metrics.base import get_task, tasks

from .campaign import Finding, draw, run
from .doors import doors_of, pass_through

CORPUS = Path(__file__).parent / "corpus"
PARTS = 10


def told(findings: list[Finding]) -> str:
    """What to read of findings; a case is drawn again by its seed and number."""
    return "\n".join(f"{one.case.name}\n    {one.place} {one.error[:300]}" for one in findings)


@pytest.mark.parametrize("part", range(PARTS))
def test_two_thousand_files(part: int, tmp_path: Path) -> None:
    findings = list(run(0, range(part * 200, (part + 1) * 200), tmp_path))
    assert not findings, told(findings)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_twenty_thousand_files(part: int, tmp_path: Path) -> None:
    findings = list(run(1, range(part * 2000, (part + 1) * 2000), tmp_path))
    assert not findings, told(findings)


def test_cases_are_drawn_again_from_their_seed() -> None:
    assert draw(3, 17) == draw(3, 17)
    assert draw(3, 17) != draw(4, 17)
    assert {draw(0, number).estimate.task for number in range(200)} == set(tasks())


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_was_found_once(path: Path) -> None:
    """Files are called ``task-what it is.suffix``; each goes through the doors as both sides of a pair."""
    task, _, _ = path.name.partition("-")
    for door in sorted({*doors_of(task, path.suffix[1:])} - {"explain"}):
        for convention in get_task(task).conventions if door == "run" else (None,):
            outcome = pass_through(door, task, convention, path, path)
            assert ": " in outcome  # what came of it, and why
