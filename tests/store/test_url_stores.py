"""Plain Zarr on HTTP servers: what is read, how much of it, and messages where it cannot be read."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

import mirflow
from mirflow import remote
from mirflow.errors import StoreError
from mirflow.store import StoreWriter, history, read_group, read_tree, zarr_io
from mirflow.store.format import TYPES

from ..commands import invoke, printed
from ..http_folder import Folder, serve_folder
from .example import SYSTEMS, all_pairs, assert_same_cells, make_cells, make_content

pytest.importorskip("obstore", reason="the extra 'cloud' is not installed")


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    with StoreWriter(folder / "x.zarr") as writer:
        writer.publish([make_content(make_cells(all_pairs(), extras=True), attrs={"task": "chord"})], {"name": "demo"})
    scores = mirflow.score({"a": [1.0, 2.0], "b": [3.0]}, {"ada": {"a": [1.0], "b": [3.0]}}, "onset")
    mirflow.save(scores, folder / "onsets.zarr")
    return folder


@pytest.fixture
def server(tmp_path, published) -> Iterator[Folder]:
    """A copy of the stores, which tests may damage."""
    shutil.copytree(published / "x.zarr", tmp_path / "My stores" / "x.zarr")
    shutil.copytree(published / "onsets.zarr", tmp_path / "onsets.zarr")
    with serve_folder(tmp_path) as folder:
        yield folder


@pytest.fixture
def url(server: Folder) -> str:
    return f"{server.url}/My%20stores/x.zarr"


class TestReading:
    @pytest.mark.parametrize("ranges", [True, False])
    def test_it_is_the_same_as_the_folder(self, server, url, published, ranges):
        server.ranges = ranges
        mine, theirs = read_group(url, "chord"), read_group(published / "x.zarr", "chord")
        assert_same_cells(mine.cells, theirs.cells)
        one, other = (read_tree(path)["chord"].to_dataset().load() for path in (url, published / "x.zarr"))
        xr.testing.assert_identical(one, other)

    def test_nothing_but_metadata_and_labels_is_read_before_values_are_asked_for(self, server, url):
        tree = read_tree(url)
        read = {path.removeprefix("/My%20stores/x.zarr/chord/").partition("/")[0] for _, path in server.asked}
        assert not read & (set(TYPES) | {"confusion"})
        before = len(server.asked)
        tree["chord"].score.sel(system=SYSTEMS[0]).load()
        assert {path.rpartition("/c.")[2] for _, path in server.asked[before:]} == {"0.0.0"}

    @pytest.mark.parametrize("ranges", [True, False])
    def test_parts_of_files(self, server, url, tmp_path, ranges):
        server.ranges = ranges
        store = zarr_io.open_url(url).store
        data = (tmp_path / "My stores/x.zarr/chord/score/c.0.0.0").read_bytes()
        before = len(server.asked)
        parts = (
            (RangeByteRequest(2, 9), data[2:9]),
            (OffsetByteRequest(5), data[5:]),
            (SuffixByteRequest(7), data[-7:]),
            (SuffixByteRequest(10**6), data),
        )
        for asked, expected in parts:
            assert bytes(asyncio.run(store._read("chord/score/c.0.0.0", asked))) == expected
        # A server without parts sends the file once, after the first request shows that there are none.
        assert len(server.asked) - before == (4 if ranges else 2)

    @pytest.mark.slow
    def test_commands_print_what_they_print_of_the_folder(self, server, published):
        url, local = f"{server.url}/onsets.zarr", published / "onsets.zarr"
        assert printed("query", url) == printed("query", local)
        assert "agree" in printed("diff", f"{url}:onset", local)
        assert mirflow.open_store({"a": url, "b": local})["onset"].sizes["system"] == 2


class TestMessages:
    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("{url}/none.zarr", r"/none.zarr: no store there \(it has no zarr.json\); check the address"),
            ("{url}", "names no path; an address has the form http://HOST/PATH"),
            ("http:///x.zarr", "names no path"),
            ("http://ada:secret@host/x.zarr", r"http://...@host/x.zarr: has a user name or a password.*; leave it out"),
            ("{url}/onsets.zarr?token=1", "has a query or a fragment"),
            ("http://no-such-host.invalid/x.zarr", "there is no such host; check the address and the network"),
            ("http://127.0.0.1:{free}/x.zarr", "no server answers there; check the address"),
        ],
    )
    def test_nothing_there(self, server, url, message, monkeypatch):
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = url.format(url=server.url, free=taken.getsockname()[1])
            with pytest.raises(StoreError, match=message):
                read_tree(url)

    @pytest.mark.parametrize(
        ("status", "message"), [(403, "access is denied"), (410, "was replaced while it was read; try again")]
    )
    def test_statuses(self, server, url, status, message):
        server.failing["zarr.json"] = status
        with pytest.raises(StoreError, match=f"x.zarr: cannot be read: .*{message}"):
            read_tree(url)

    def test_a_busy_server_is_asked_again(self, server, url):
        server.failing, server.times = {"/0/0/0": 503}, 1
        assert np.isfinite(read_tree(url)["chord"].score.load()).all()

    def test_a_server_that_stops(self, tmp_path, published, monkeypatch):
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        with serve_folder(published) as folder:
            tree = read_tree(f"{folder.url}/x.zarr")
        with pytest.raises(StoreError, match=r"x.zarr: cannot be read: no server answers there"):
            tree["chord"].score.load()

    def test_an_answer_that_breaks_off(self, server, url, monkeypatch):
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        tree = read_tree(url)
        server.broken = ".0.0"
        with pytest.raises(StoreError, match=r"cannot be read: the connection broke off; check the network"):
            tree["chord"].status.load()

    def test_something_else_than_a_store(self, server, tmp_path):
        (tmp_path / "onsets.zarr" / "zarr.json").write_text("<html>")
        with pytest.raises(StoreError, match=r"onsets.zarr: is not a store: its zarr.json is not metadata of Zarr"):
            read_tree(f"{server.url}/onsets.zarr")
        with pytest.raises(StoreError, match="no store there"):
            read_tree(f"{server.url}/onsets.zarr/onset/score/c")

    def test_metadata_that_are_not_consolidated(self, server, tmp_path):
        metadata = json.loads((tmp_path / "onsets.zarr" / "zarr.json").read_text())
        del metadata["consolidated_metadata"]
        (tmp_path / "onsets.zarr" / "zarr.json").write_text(json.dumps(metadata))
        with pytest.raises(StoreError, match="its metadata are not consolidated, and folders on servers cannot be li"):
            read_tree(f"{server.url}/onsets.zarr")

    def test_lost_and_damaged_chunks(self, server, url, tmp_path):
        tree = read_tree(url)
        chunk = tmp_path / "My stores/x.zarr/chord/status/c.0.0"
        chunk.write_bytes(b"(\xb5/\xfd\xa4\xff\xff\xff\x7f" + b"\0" * 10)
        with pytest.raises(StoreError, match=r"a chunk of 'chord/status' is not what was written \(2147483647 bytes"):
            tree["chord"].status.load()
        chunk.unlink()
        with pytest.raises(StoreError, match="a chunk of 'chord/status' is lost; report it to the publisher"):
            tree["chord"].status.load()

    def test_more_chunks_than_there_are(self, server, tmp_path):
        path = tmp_path / "onsets.zarr" / "zarr.json"
        metadata = json.loads(path.read_text())
        for name, array in metadata["consolidated_metadata"]["metadata"].items():
            if name in ("onset/score", "onset/status", "onset/system"):
                array["shape"][0] = 10**7
        path.write_text(json.dumps(metadata))
        url = f"{server.url}/onsets.zarr"
        with pytest.raises(StoreError, match="a chunk of 'onset/status' is lost"):
            mirflow.query(url)
        with pytest.raises(StoreError, match=r"a chunk of 'onset/.*' is lost"):
            read_group(url, "onset")

    def test_a_file_too_large_for_a_store(self, server, url, monkeypatch):
        monkeypatch.setattr(zarr_io, "_MOST_OF_FILE", 10)
        with pytest.raises(StoreError, match=r"'zarr.json' has \d+ MB, more than files of stores have"):
            read_tree(url)

    def test_a_server_that_sends_more_than_was_asked_for(self, server, url):
        store = zarr_io.open_url(url).store
        server.surplus = 10**7
        with pytest.raises(StoreError, match=r"x.zarr: the server sends more of 'chord/score/c.0.0.0' than there is"):
            asyncio.run(store._read("chord/score/c.0.0.0", RangeByteRequest(2, 9)))

    @pytest.mark.parametrize("file", ["zarr.json", "score/c.0.0.0"])
    def test_a_server_that_drips_is_not_waited_for(self, server, url, file, monkeypatch):
        monkeypatch.setattr(remote, "PATIENCE", 0.4)
        server.dripping = file
        with pytest.raises(StoreError, match="the server sends less than 8 kB a second; try again later"):
            read_tree(url)["chord"].score.load()

    def test_redirects_to_other_hosts_are_not_followed(self, server, url, tmp_path, monkeypatch):
        monkeypatch.setattr(remote, "RETRY_SECONDS", 0)
        remote._client.cache_clear()
        server.elsewhere = server.url.replace("127.0.0.1", "localhost")
        with pytest.raises(StoreError, match="the server leads to another host, which is not followed"):
            read_tree(url)
        with serve_folder(tmp_path) as other:
            server.elsewhere = other.url  # another port of the same host
            assert read_tree(url)["chord"].score.load().size
        remote._client.cache_clear()

    @pytest.mark.slow
    def test_python_ends_well_while_the_answers_of_other_reads_come(self, server, tmp_path):
        """The answers that nobody waits for any more made the process crash at its end, in a third of the cases."""
        chunk = min((tmp_path / "onsets.zarr/onset/status").glob("c.*"))
        chunk.write_bytes(b"(\xb5/\xfd\xa4\xff\xff\xff\x7f" + bytes(10))
        command = [sys.executable, "-m", "mirflow", "query", f"{server.url}/onsets.zarr"]
        assert [subprocess.run(command, capture_output=True).returncode for _ in range(10)] == [4] * 10

    def test_without_the_package(self, url, monkeypatch):
        monkeypatch.setattr(zarr_io, "client_of", lambda *_, **__: __import__("no_such_package"))
        with pytest.raises(StoreError, match=r"needs the package obstore: pip install 'mirflow\[cloud\]'"):
            read_tree(url)


class TestWriting:
    def test_urls_are_not_written(self, url):
        scores = mirflow.score({"a": [1.0, 2.0]}, {"a": [1.0]}, "onset")
        with pytest.raises(
            StoreError, match=r"x.zarr: is a URL at which stores cannot be written; a store is a folder"
        ):
            mirflow.save(scores, url)
        with pytest.raises(StoreError, match="is plain Zarr, which has no history"):
            history(url)

    @pytest.mark.parametrize("words", [["run"], ["run", "--dry-run"], ["run", "--part", "1/2"], ["publish"]])
    def test_writing_commands_refuse_them(self, url, words):
        output = invoke(*words, "pipelines/tunes.yaml", "--store", url, code=4).output
        assert "is a URL at which stores cannot be written" in output
