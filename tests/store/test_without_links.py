"""Stores where the system makes no symbolic links, as Windows outside of its developer mode, simulated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mirflow
from mirflow.errors import StoreError
from mirflow.readers.patterns import Pattern
from tests.commands import invoke
from tests.datasets import write_dataset, write_pipeline


@pytest.fixture(autouse=True)
def _no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: str | Path, target_is_directory: bool = False) -> None:
        raise OSError("a required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    return write_dataset(tmp_path)


def test_a_small_file_leads_to_the_newest_generation(pipeline: Path) -> None:
    store = mirflow.run(pipeline).store
    assert store.read_text() == "mirflow store: .store.zarr.d/generation-000001\n"
    before = mirflow.query(store, "majmin")["value"].values.tolist()
    write_pipeline(pipeline.parent, metrics="[majmin, root]")
    mirflow.run(pipeline)
    assert store.read_text() == "mirflow store: .store.zarr.d/generation-000002\n"
    assert mirflow.query(store, "majmin")["value"].values.tolist() == before
    assert mirflow.run(pipeline).evaluations[0].counts["reused"] == 12


def test_commands_find_it(pipeline: Path) -> None:
    store = mirflow.run(pipeline).store
    assert invoke("query", store, "-m", "majmin").exit_code == 0
    missed = invoke("query", store.with_name("stoer.zarr"))
    assert f"did you mean {str(store)!r}?" in missed.stderr


def test_other_files_and_stores_of_others_are_not_replaced(pipeline: Path) -> None:
    store = pipeline.parent / "store.zarr"
    store.write_text("notes")
    with pytest.raises(StoreError, match=r"store\.zarr: is a file that mirflow's runs did not make"):
        mirflow.run(pipeline)
    store.write_text("mirflow store: ../elsewhere\n")
    with pytest.raises(StoreError, match=r"is a link to \.\./elsewhere that mirflow did not make"):
        mirflow.run(pipeline)


def test_a_store_that_is_being_read_is_replaced_as_soon_as_possible(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows replaces no file that another process has open."""
    refused, replace = [], Path.replace

    def busy(self: Path, target: str | Path) -> Path:
        if Path(target).name == "store.zarr" and len(refused) < 3:
            refused.append(target)
            raise PermissionError("used by another process")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", busy)
    with pytest.raises(StoreError, match="used by another process; the previous contents are untouched"):
        mirflow.run(pipeline)
    monkeypatch.setattr("mirflow.store.generations.WINDOWS", True)
    store = mirflow.run(pipeline).store
    assert len(refused) == 3
    assert mirflow.query(store, "majmin")["value"].size


def test_patterns_may_be_written_with_the_separators_of_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "est/oak").mkdir(parents=True)
    (tmp_path / "est/oak/a.lab").write_text("0 1 C\n")
    monkeypatch.setattr("os.sep", "\\")
    (found,) = Pattern(r"est\{system}\{track}.lab").find(tmp_path)
    assert (found.name, found.values) == ("est/oak/a.lab", ("oak", "a"))


_WINDOWS = """
import multiprocessing, signal, sys
from pathlib import Path
del signal.SIGHUP, signal.pthread_sigmask
multiprocessing.get_all_start_methods = lambda: ["spawn"]
def refuse(*given): raise OSError("no links")
Path.symlink_to = refuse
import os
os.link = refuse
from mirflow.store import generations
generations.WINDOWS = True
if __name__ == "__main__":
    from mirflow.__main__ import main
    main()
"""


@pytest.mark.slow
def test_a_run_with_workers_needs_none_of_what_windows_lacks(pipeline: Path, tmp_path: Path) -> None:
    script = tmp_path / "windows.py"
    script.write_text(_WINDOWS)
    for words in (["run", str(pipeline), "--scheduler", "processes"], ["query", str(tmp_path / "store.zarr")]):
        own = {**os.environ, "PYTHONIOENCODING": "cp1252"}  # of an output that is not a terminal
        done = subprocess.run(
            [sys.executable, str(script), *words], env=own, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "\n----" in done.stdout
    assert (tmp_path / "store.zarr").is_file()
