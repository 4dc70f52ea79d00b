"""What is made of a store is made once for all requests, and keeps none of them waiting for something else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from mirflow.campaign.server.cache import Snapshot, Stores

from ...groups import random_group, write_store
from ...waiting import PATIENCE


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    return Stores({"demo": write_store(tmp_path / "demo.zarr", {"chord": random_group(2, 3, 1)})}).current("demo")


def test_a_thing_is_made_by_one_thread_for_all(snapshot: Snapshot) -> None:
    begun, go_on, made = Event(), Event(), []

    def make() -> int:
        begun.set()
        assert go_on.wait(PATIENCE)
        made.append(1)
        return len(made)

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(snapshot.once, "report", make) for _ in range(4)]
        assert begun.wait(PATIENCE)
        go_on.set()
        assert [one.result(PATIENCE) for one in waiting] == [1] * 4
    assert made == [1]


def test_another_thing_is_made_meanwhile(snapshot: Snapshot) -> None:
    begun, go_on = Event(), Event()

    def make() -> str:
        begun.set()
        assert go_on.wait(PATIENCE)
        return "report"

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(snapshot.once, "report", make)
        assert begun.wait(PATIENCE)
        assert pool.submit(snapshot.once, "contents", lambda: "contents").result(PATIENCE) == "contents"
        assert not slow.done()
        go_on.set()
        assert slow.result(PATIENCE) == "report"


def test_a_thing_may_need_another(snapshot: Snapshot) -> None:
    assert snapshot.once("report", lambda: snapshot.once("contents", lambda: "contents") + "!") == "contents!"
    assert snapshot.once("contents", lambda: "never") == "contents"


def test_what_cannot_be_made_is_tried_again(snapshot: Snapshot) -> None:
    with pytest.raises(ZeroDivisionError):
        snapshot.once("report", lambda: 1 // 0)
    assert snapshot.once("report", lambda: "report") == "report"
