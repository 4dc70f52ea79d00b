from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait

import filelock
import pytest

from mirflow.errors import StoreLockedError
from mirflow.store import StoreWriter, read_tree

from ..waiting import PATIENCE
from .example import make_content

_HOLD = """
import sys, time
from mirflow.store import StoreWriter
with StoreWriter(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of x.zarr."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path / "x.zarr")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_writer_is_told_who_writes_and_what_to_do(tmp_path, holder):
    message = rf"x.zarr: process {holder.pid} on .* \(since .*\) is writing it; wait until it is done, or name another"
    with pytest.raises(StoreLockedError, match=message), StoreWriter(tmp_path / "x.zarr"):
        pass


def test_a_lock_without_a_name_says_which_file_may_have_been_left(tmp_path, monkeypatch):
    def acquire(lock):  # as on a file system without locks, where the file itself is one
        raise filelock.Timeout(lock.lock_file)

    monkeypatch.setattr(filelock.BaseFileLock, "acquire", acquire)
    message = r"x.zarr: another process is writing it; .*; if no process is, remove .*/\.x\.zarr\.d/lock$"
    with pytest.raises(StoreLockedError, match=message), StoreWriter(tmp_path / "x.zarr"):
        pass


def test_a_patient_writer_waits_for_the_other(tmp_path, holder):
    def write():
        with StoreWriter(tmp_path / "x.zarr", patience=PATIENCE) as writer:
            return writer.publish([make_content()])

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        assert wait([written], timeout=0.5).not_done
        holder.kill()
        assert written.result().name == "generation-000001"


def test_a_kill_releases_the_lock(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with StoreWriter(tmp_path / "x.zarr") as writer:
        writer.publish([make_content()])


def test_readers_need_no_lock(tmp_path):
    with StoreWriter(tmp_path / "x.zarr") as writer:
        writer.publish([make_content()])
        assert "chord" in read_tree(tmp_path / "x.zarr").children


def test_an_error_releases_the_lock(tmp_path):
    with pytest.raises(ZeroDivisionError), StoreWriter(tmp_path / "x.zarr"):
        raise ZeroDivisionError
    with StoreWriter(tmp_path / "x.zarr"):
        pass


def test_other_stores_of_the_folder_are_not_locked(tmp_path, holder):
    with StoreWriter(tmp_path / "y.zarr") as writer:
        writer.publish([make_content()])
    assert holder.poll() is None


def _race(path, start, results):
    start.wait()
    try:
        with StoreWriter(path):
            results.put(os.getpid())
            start.wait()
    except StoreLockedError:
        results.put(None)
        start.wait()


def test_of_two_writers_that_start_at_once_one_is_refused(tmp_path):
    context = multiprocessing.get_context("forkserver")
    for _ in range(3):
        start, results = context.Barrier(2), context.Queue()
        pair = [context.Process(target=_race, args=(tmp_path / "x.zarr", start, results)) for _ in range(2)]
        for process in pair:
            process.start()
        found = [results.get(timeout=PATIENCE) for _ in pair]
        for process in pair:
            process.join()
        assert found.count(None) == 1
