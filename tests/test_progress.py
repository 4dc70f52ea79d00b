"""Progress: a stage that takes time is told, one that does not is silent."""

from __future__ import annotations

import io

import pytest

from mirflow.progress import Bar, Lines, Progress

from .waiting import PATIENCE, until


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", [Bar, Lines])
def test_a_run_that_looks_for_files_for_long_says_so(kind: type[Bar | Lines], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "stage_seconds", 0.01)
    stream = Terminal()
    with kind(stream) as progress:
        progress.stage("looking for files")
        until(lambda: "looking for files ..." in stream.getvalue())
        progress.start(3)


@pytest.mark.parametrize("kind", [Bar, Lines])
def test_a_stage_that_is_over_at_once_is_silent(kind: type[Bar | Lines], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "stage_seconds", PATIENCE)
    stream = Terminal()
    with kind(stream) as progress:
        progress.stage("looking for files")
        progress.start(3)
        progress.advance(3)
    assert stream.getvalue() == ""


def test_several_parts_are_counted_one_after_the_other() -> None:
    with Progress() as progress:
        for tracks in (3, 5):
            progress.start(tracks)
            progress.advance(2)
            assert (progress.total, progress.done) == (tracks, 2)
