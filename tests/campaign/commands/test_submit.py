"""``mirflow submit`` prints what the server says of a submission."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ...commands import invoke

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

    def submit(self, path: Path, name: str, splits: Sequence[str], visibility: str, about: Any) -> dict[str, Any]:
        return {"id": "0123456789abcdef", "address": ADDRESS, "state": "received"}

    def wait(self, id: str, seen: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
        for progress in self.progress:
            seen(progress)
        return self.found


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda **found: monkeypatch.setattr("mirflow.campaign.commands.submit.Client", Answers(found))


def test_scores_that_the_ladder_keeps_back_are_marked(answer, tmp_path):
    rows = [
        {**SCORE, "metric": "majmin", "value": 0.5, "kept_back": False},
        {**SCORE, "metric": "root", "value": None, "kept_back": True},
    ]
    hidden = {"split": "test", "hidden": True, "decimals": 2, "comparison_decimals": 2, "comparisons": []}
    answer(state="scored", results=[{**hidden, "scores": rows}])
    given = ("submit", Answers.url, tmp_path, "--token", "x", "--format", "csv")
    assert invoke(*given, code=0).stdout.splitlines() == [
        "split,evaluation,metric,score,low,high,tracks,note",
        "test,chord,majmin,0.5,,,2,",
        "test,chord,root,,,,2,no better than your best",
    ]
    answer(state="scored", results=[{**hidden, "scores": rows[:1]}])
    assert invoke(*given, code=0).stdout.splitlines()[0] == "split,evaluation,metric,score,low,high,tracks"


def test_rounded_scores_have_the_digits_that_were_released(answer, tmp_path):
    one = {"evaluation": "chord", "metric": "majmin", "relation": "leader", "other": "elm", "outcome": "better"}
    result = {
        "split": "test",
        "hidden": True,
        "decimals": 3,
        "comparison_decimals": 3,
        "scores": [{**SCORE, "metric": "majmin", "value": 0.851, "kept_back": False}],
        "comparisons": [{**one, "difference": 0.01, "p": None}],
    }
    answer(state="scored", results=[result])
    given = ("submit", Answers.url, tmp_path, "--token", "x", "--format")
    shown = invoke(*given, "table", code=0).stdout
    assert re.search(r"majmin +0\.851 ", shown)
    assert re.search(r"better +0\.010 ", shown)
    assert "0.851," in invoke(*given, "csv", code=0).stdout


def test_findings_of_no_file_are_those_of_the_submission(answer, tmp_path):
    finding = {"path": "", "line": None, "severity": "error", "rule": "missing", "message": "1 track has no estimate"}
    counts = {"error": 1, "warning": 0, "note": 0}
    same = {"same_as": "draft-1"}
    answer(state="refused", words="refused", reason="mend it", findings=[finding], counts=counts, **same)
    shown = invoke("submit", Answers.url, tmp_path, "--token", "x", "--name", "oak", code=3).stderr
    assert "oak: error: 1 track has no estimate [missing]" in shown
    assert "oak: refused: mend it" in shown
    assert "oak: identical to the files of draft-1" in shown


def test_a_log_is_told_now_and_then_that_it_takes_long(monkeypatch, tmp_path):
    clock = [0.0]
    monkeypatch.setattr("mirflow.campaign.commands.submit.time.monotonic", lambda: clock[0])

    def progress() -> Iterator[Mapping[str, Any]]:
        for clock[0] in range(0, 301, 3):
            yield {"open": clock[0] < 300, "words": "is waiting", "done": 0, "total": 0, "before": 2}

    found = {"state": "failed", "words": "could not be scored"}
    monkeypatch.setattr("mirflow.campaign.commands.submit.Client", Answers(found, progress()))
    shown = invoke("submit", Answers.url, tmp_path, "--token", "x", "--name", "oak", code=3).stderr
    assert [line for line in shown.splitlines() if line.startswith("waiting")] == [
        "waiting for 0:30 min: is waiting, 2 before it",
        "waiting for 3:30 min: is waiting, 2 before it",
    ]
