"""Signatures of runs: a store is one's own where a run of the same user wrote it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from mirflow.store.generations import is_own_run, sign_run

RUNS = 8


def test_stores_of_first_runs_at_the_same_time_are_all_one_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"state{number}"))
        folders = [tmp_path / f"{number}.{run}" for run in range(RUNS)]
        started = Barrier(RUNS)

        def sign(folder: Path, started: Barrier = started) -> None:
            folder.mkdir()
            started.wait(60)
            sign_run(folder, "name: x", "/data")

        with ThreadPoolExecutor(RUNS) as pool:
            list(pool.map(sign, folders))
        assert all(is_own_run(folder, "name: x", "/data") for folder in folders)
        assert not is_own_run(folders[0], "name: y", "/data")
