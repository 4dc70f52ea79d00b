"""What is made of a store is made once for all requests, and answers are in a form that the client accepts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from mirflow.campaign.server.cache import Snapshot, Stores, choose_kind, weight_of, weights_of

from ...groups import random_group, write_store
from ...waiting import PATIENCE


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    return Stores({"demo": write_store(tmp_path / "demo.zarr", {"chord": random_group(2, 3, 1)})}).current("demo")


def test_a_thing_is_made_by_one_thread_for_all(snapshot):
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


def test_another_thing_is_made_meanwhile(snapshot):
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


def test_a_thing_may_need_another(snapshot):
    assert snapshot.once("report", lambda: snapshot.once("contents", lambda: "contents") + "!") == "contents!"
    assert snapshot.once("contents", lambda: "never") == "contents"


def test_what_cannot_be_made_is_tried_again(snapshot):
    with pytest.raises(ZeroDivisionError):
        snapshot.once("report", lambda: 1 // 0)
    assert snapshot.once("report", lambda: "report") == "report"


JSON, CSV, HTML = "application/json", "text/csv", "text/html"


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("", JSON),
        ("*/*", JSON),
        (CSV, CSV),
        (f"{JSON};q=0, {CSV}", CSV),
        (f"{JSON};q=0.1, {CSV}", CSV),
        (f"{CSV};q=0.1, */*", JSON),
        (f"*/*;q=0.1, {CSV};q=0.2", CSV),
        ("text/*, */*;q=0.5", CSV),
        (f"{CSV}, {JSON}", CSV),
        (f"{CSV}; charset=utf-8 ; q=0.5, {JSON};q=0.4", CSV),
        ("TEXT/CSV", CSV),
        (f"*/*, {JSON};q=0", CSV),
        (f'image/png;a="{JSON}, {JSON}", {CSV};q=0.5', CSV),
        ("image/png", None),
        ("*/*;q=0", None),
        (f"{JSON};q=0.000, {CSV};q=0.0", None),
    ],
)
def test_the_most_welcome_kind_is_chosen(header, kind):
    assert choose_kind(header, [JSON, CSV]) == kind


def test_the_example_of_the_standard():
    header = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, */*;q=0.5"
    kinds = ("text/plain", "text/html", "image/jpeg")
    assert [weight_of(header, kind) for kind in kinds] == [0.7, 0.3, 0.5]


@pytest.mark.parametrize(
    "element", ["json/", "a b/c", "text/csv;q=2", "text/csv;q=0.1234", "text/csv;q=", "/", "\x00/x", ";q=1"]
)
def test_what_is_not_well_formed_is_left_out(element):
    assert weights_of(f"{element}, {HTML}") == {HTML: 1.0}


def test_codings():
    accepted = ["gzip", "br, gzip;q=0.001", "*", "GZIP"]
    refused = ["", "br", "gzip;q=0", "*;q=0", "gzip;q=0.000, *", "identity"]
    assert [weight_of(header, "gzip") > 0 for header in accepted + refused] == [True] * 4 + [False] * 6


def test_what_follows_many_characters_is_not_looked_at():
    assert weights_of(f"{HTML}{' ' * 2000}, {JSON}") == {HTML: 1.0}
