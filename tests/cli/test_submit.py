"""``mirflow submit`` prints what the server says of a submission."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..commands import invoke

ADDRESS = "/submissions/0123456789abcdef/"
SCORE = {"evaluation": "chord", "low": None, "high": None, "tracks": 2, "headline": True, "rules": "1"}


class Answers:
    """A client of a server that answers to every submission alike."""

    url = "http://127.0.0.1:1/"

    def __init__(self, found: Mapping[str, Any], progress: Iterable[Mapping[str, Any]] = ()) -> None:
        self.progress = progress
        self.found = {"name": "oak", "findings": [], "counts": {}, "results": [], **found}

    def __call__(self, url: str, token: str) -> Answers:
        """The client of any address and token."""
        return self

    def submit(self, path: Path, name: str, splits: Sequence[str], visibility: str) -> dict[str, Any]:
        return {"id": "0123456789abcdef", "address": ADDRESS, "state": "received"}

    def wait(self, id: str, seen: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
        for progress in self.progress:
            seen(progress)
        return self.found


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda **found: monkeypatch.setattr("mirflow.service.client.Client", Answers(found))


def test_scores_that_the_ladder_keeps_back_are_marked(answer: Callable[..., None], tmp_path: Path) -> None:
    rows = [
        {**SCORE, "metric": "majmin", "value": 0.5, "improved": True},
        {**SCORE, "metric": "root", "value": 0.75, "improved": False},
    ]
    answer(state="scored", results=[{"split": "test", "hidden": True, "scores": rows, "comparisons": []}])
    given = ("submit", Answers.url, tmp_path, "--token", "x", "--format", "csv")
    assert invoke(*given, code=0).stdout.splitlines() == [
        "split,evaluation,metric,score,low,high,tracks,note",
        "test,chord,majmin,0.5,,,2,",
        "test,chord,root,0.75,,,2,your best before",
    ]
    answer(state="scored", results=[{"split": "test", "hidden": True, "scores": rows[:1], "comparisons": []}])
    assert invoke(*given, code=0).stdout.splitlines()[0] == "split,evaluation,metric,score,low,high,tracks"


def test_findings_of_no_file_are_those_of_the_submission(answer: Callable[..., None], tmp_path: Path) -> None:
    finding = {"path": "", "line": None, "severity": "error", "rule": "missing", "message": "1 track has no estimate"}
    counts = {"error": 1, "warning": 0, "note": 0}
    same = {"same_as": "draft-1"}
    answer(state="refused", words="refused", reason="mend it", findings=[finding], counts=counts, **same)
    shown = invoke("submit", Answers.url, tmp_path, "--token", "x", "--name", "oak", code=3).stderr
    assert "oak: error: 1 track has no estimate [missing]" in shown
    assert "oak: refused: mend it" in shown
    assert "oak: the same files as draft-1" in shown


def test_a_log_is_told_now_and_then_that_it_takes_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clock = [0.0]
    monkeypatch.setattr("mirflow.cli.submit.time.monotonic", lambda: clock[0])

    def progress() -> Iterator[Mapping[str, Any]]:
        for clock[0] in range(0, 301, 3):
            yield {"open": clock[0] < 300, "words": "is waiting", "done": 0, "total": 0, "before": 2}

    found = {"state": "failed", "words": "could not be scored"}
    monkeypatch.setattr("mirflow.service.client.Client", Answers(found, progress()))
    shown = invoke("submit", Answers.url, tmp_path, "--token", "x", "--name", "oak", code=3).stderr
    assert [line for line in shown.splitlines() if line.startswith("waiting")] == [
        "waiting for 0:30 min: is waiting, 2 before it",
        "waiting for 3:30 min: is waiting, 2 before it",
    ]
