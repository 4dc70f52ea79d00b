"""Stores over HTTP open with plain xarray, are always of one generation, and give away nothing else."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from starlette.testclient import TestClient

import mirflow
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service
from mirflow.errors import StoreError
from tests.datasets import write_dataset

from .running import running


def publish(path: Path, *systems: str) -> None:
    """Publish scores of onsets anew: the first system is the best."""
    references = {"a": [1.0, 2.0], "b": [3.0, 4.0], "pop/x": [5.0]}
    estimates = {
        name: {track: times[: 1 + (place == 0)] for track, times in references.items()}
        for place, name in enumerate(systems)
    }
    mirflow.save(mirflow.score(references, estimates, "onset"), path, overwrite=True)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "onsets.zarr"
    publish(path, "ada", "bob")
    return path


@pytest.fixture
def client(store: Path) -> TestClient:
    return TestClient(create_app(Service("Onsets", {"onsets": store})))


@pytest.fixture
def address(store: Path) -> Iterator[str]:
    with running(create_app(Service("Onsets", {"onsets": store}))) as found:
        yield found


def test_plain_xarray_opens_a_store(address, store):
    remote = xr.open_zarr(f"{address}/stores/onsets.zarr", group="onset")
    local = xr.open_zarr(store, group="onset")
    xr.testing.assert_equal(remote.load(), local.load())
    tree = xr.open_datatree(f"{address}/stores/onsets.zarr", engine="zarr")
    xr.testing.assert_equal(tree["onset"].to_dataset().load(), local)


def test_a_lazy_dataset_goes_on_reading_the_generation_that_it_was_opened_on(address, store):
    lazy = xr.open_zarr(f"{address}/stores/onsets.zarr", group="onset")
    before = xr.open_zarr(store, group="onset").load()
    publish(store, "zoe", "ada", "bob")
    xr.testing.assert_equal(lazy.score.load(), before.score)
    assert xr.open_zarr(f"{address}/stores/onsets.zarr", group="onset").sizes["system"] == 3


def test_a_lazy_dataset_of_a_generation_that_is_gone_raises_and_reads_no_other(address, store):
    lazy = xr.open_zarr(f"{address}/stores/onsets.zarr", group="onset")
    publish(store, "zoe", "ada")
    publish(store, "ada", "zoe")
    with pytest.raises(Exception, match="410"):
        lazy.score.load()


def test_mirflow_reads_the_generation_that_it_opened_until_that_is_gone(address, store):
    pytest.importorskip("obstore", reason="the extra 'cloud' is not installed")
    url = f"{address}/stores/onsets.zarr"
    tree, before = mirflow.open_store(url), mirflow.open_store(store)["onset"].to_dataset().load()
    publish(store, "zoe", "ada", "bob")
    xr.testing.assert_equal(tree["onset"].to_dataset().load(), before)
    tree = mirflow.open_store(url)
    assert mirflow.query(url)["value"].sizes["system"] == 3
    publish(store, "zoe", "ada")
    publish(store, "ada", "zoe")
    with pytest.raises(StoreError, match=r"onsets.zarr: cannot be read: it was replaced while it was read; try again"):
        tree["onset"].score.load()


def test_a_pinned_generation_is_always_the_same(address, client, store):
    pinned = client.get("/api/v1/stores/onsets").json()["zarr_of_generation"]
    lazy = xr.open_zarr(address + pinned, group="onset")
    publish(store, "zoe", "ada", "bob")
    assert lazy.score.load().sizes["system"] == 2
    for _ in range(2):
        publish(store, "zoe")
    assert client.get(f"{pinned}/onset/score/c/0/0/0").status_code == 410
    assert client.get(f"{pinned}/zarr.json").status_code == 410
    assert client.get("/stores/onsets@1.zarr/zarr.json").status_code == 404


def test_chunks_come_whole_in_part_or_as_headers_alone(client, store):
    address = "/stores/onsets.zarr/onset/score/c.0.0.0"
    data = (store / "onset/score/c.0.0.0").read_bytes()
    answer = client.get(address)
    assert answer.content == data
    assert client.head(address).headers["content-length"] == str(len(data))
    part = client.get(address, headers={"Range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, data[2:6])
    assert client.get(address, headers={"Range": f"bytes={len(data)}-"}).status_code == 416
    assert client.get(address, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    stale = client.get(address, headers={"Range": "bytes=2-5", "If-Range": '"another"'})
    assert stale.content == data


def test_metadata_do_not_tell_where_files_are_on_the_server(demo_store):
    client = TestClient(create_app(Service("Demo", {"tunes": demo_store})))
    root = json.loads((demo_store / "zarr.json").read_text())["attributes"]["root"]
    for key in ("zarr.json", "chord/zarr.json"):
        answer = client.get(f"/stores/tunes.zarr/{key}")
        assert "chord" in answer.text
        assert root not in answer.text


def test_metadata_do_not_tell_folders_that_its_pipeline_names(tmp_path):
    store = mirflow.run(write_dataset(tmp_path)).store
    assert str(tmp_path) in (store / "zarr.json").read_text()
    client = TestClient(create_app(Service("Test", {"own": store})))
    for address in ("/stores/own.zarr/zarr.json", "/api/v1/stores/own", "/stores/own/report/contents.json"):
        answer = client.get(address)
        assert "est/{system}/{track}.lab" in answer.text
        assert str(tmp_path) not in answer.text


@pytest.mark.parametrize(
    "key",
    [
        "",
        "onset",
        "onset/",
        "onset/score",
        "onset/score/c",
        "%2e%2e/secret",
        "..%2Fsecret",
        "onset%2Fzarr.json",
        "onset//zarr.json",
        "onset/score/c/0/0/0/zarr.json",
        "onset/score/c.9.9.9",
        "onset/score/c.0",
        "onset/score/c.00000000000000000000000000000000001.0.0",
        "onset/none/c.0",
        ".zattrs",
        "/etc/passwd",
        "%00",
        "C:%5Cwindows",
    ],
)
def test_whatever_is_no_value_of_the_store_is_not_found(client, store, key):
    (store.parent / "secret").write_text("canary")
    answer = client.get(f"/stores/onsets.zarr/{key}")
    assert answer.status_code == 404
    assert "canary" not in answer.text


@pytest.mark.skipif(sys.platform == "win32", reason="makes links")
def test_a_link_inside_a_store_leads_nowhere(client, store):
    secret = store.parent / "secret"
    secret.write_text("canary")
    chunk = store / "onset/score/c.0.0.0"
    chunk.unlink()
    chunk.symlink_to(secret)
    answer = client.get("/stores/onsets.zarr/onset/score/c.0.0.0")
    assert answer.status_code in (404, 503)
    assert "canary" not in answer.text


def test_a_lost_chunk_is_an_error_and_not_read_as_missing_scores(client, store):
    (store / "onset/score/c.1.0.0").unlink()
    assert client.get("/stores/onsets.zarr/onset/score/c.1.0.0").status_code == 503


def test_a_store_that_is_removed_is_not_found_and_comes_back(client, store):
    first = client.get("/api/v1/stores/onsets").json()["generation"]
    store.rename(store.with_name("away"))
    assert client.get("/stores/onsets.zarr/zarr.json").status_code == 404
    assert client.get("/api/v1/stores").json()["stores"] == []
    shutil.rmtree(store.parent / ".onsets.zarr.d")
    store.with_name("away").unlink()
    publish(store, "eve")
    second = client.get("/api/v1/stores/onsets").json()["generation"]
    assert first.split("-")[0] == second.split("-")[0]
    assert first != second


def test_a_plain_copy_of_a_store_is_served_too(tmp_path, store):
    shutil.copytree(store, tmp_path / "copy.zarr")
    client = TestClient(create_app(Service("Copy", {"copy": tmp_path / "copy.zarr"})))
    assert client.get("/stores/copy.zarr/onset/score/c/0/0/0").status_code == 200
    with running(client.app) as address:
        remote = xr.open_zarr(f"{address}/stores/copy.zarr", group="onset").load()
    np.testing.assert_array_equal(remote.score, xr.open_zarr(store, group="onset").score)
