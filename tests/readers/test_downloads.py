"""Copies of files at URLs: one for each contents, whole or absent, and not too many; and messages without them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mirflow.errors import UnreadableError
from mirflow.readers import downloads
from mirflow.readers.content import file_stat, read_bytes
from mirflow.readers.downloads import RemoteFile, download, local_path, parse_url, stamp_of
from mirflow.readers.patterns import Candidates, Match, Pattern, find_remote

from ..http_folder import Folder, serve_folder

pytest.importorskip("obstore", reason="the extra 'cloud' is not installed")


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("MIRFLOW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server(tmp_path, cache) -> Iterator[Folder]:
    (tmp_path / "www" / "ref").mkdir(parents=True)
    for name in "abc":
        (tmp_path / "www" / "ref" / f"{name}.lab").write_text(f"0 1 {name.upper()}:maj\n")
    with serve_folder(tmp_path / "www") as folder:
        yield folder


def find(server: Folder, pattern: str = "ref/{track}.lab", tracks: str = "abc") -> Sequence[Match]:
    return find_remote(Pattern(f"{server.url}/{pattern}"), Candidates({"track": [*tracks]}, {}))


def kept(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


class TestCopies:
    def test_contents_are_downloaded_once(self, server, cache):
        matches = find(server)
        for _ in range(2):
            download(match.path for match in matches)
            assert [read_bytes(match.path, 99) for match in matches] == [b"0 1 A:maj\n", b"0 1 B:maj\n", b"0 1 C:maj\n"]
        assert [method for method, _ in server.asked].count("GET") == 3
        assert len(kept(cache)) == 3
        assert file_stat(matches[0].path)[0] == 10
        assert cache.stat().st_mode & 0o777 == 0o700

    def test_changed_contents_have_another_copy(self, server, tmp_path):
        (before,) = find(server, tracks="a")
        read_bytes(before.path, 99)
        (tmp_path / "www/ref/a.lab").write_text("0 1 N\n")
        (after,) = find(server, tracks="a")
        assert (before.size, before.version) != (after.size, after.version)
        assert (read_bytes(before.path, 99), read_bytes(after.path, 99)) == (b"0 1 A:maj\n", b"0 1 N\n")

    def test_what_changed_since_it_was_found_is_not_taken_for_what_was_found(self, server, tmp_path, cache):
        (found,) = find(server, tracks="a")
        (tmp_path / "www/ref/a.lab").write_text("0 1 N\n")
        assert read_bytes(found.path, 99) == b"0 1 N\n"
        (tmp_path / "www/ref/a.lab").write_text("0 1 A:maj\n")
        assert read_bytes(find(server, tracks="a")[0].path, 99) == b"0 1 A:maj\n"

    def test_a_file_of_which_nobody_says_whether_it_has_changed_is_downloaded_once(self, server, tmp_path):
        server.tags = False
        (found,) = find(server, tracks="a")
        assert [read_bytes(found.path, 99) for _ in range(3)] == [b"0 1 A:maj\n"] * 3
        assert [method for method, _ in server.asked].count("GET") == 1

    def test_without_an_etag_the_time_counts(self, server, tmp_path):
        server.tags = False
        file = tmp_path / "www/ref/a.lab"
        os.utime(file, (1e9, 1e9))
        assert find(server, tracks="a") == find(server, tracks="a")
        os.utime(file, (2e9, 1e9 + 1))
        after = find(server, tracks="a")
        os.utime(file)  # so new that it may change within the same second
        assert len({find(server, tracks="a")[0].path, find(server, tracks="a")[0].path, after[0].path}) == 3

    def test_stamps_of_equal_tags_and_other_sizes_differ(self):
        def meta(tag: str | None, size: int) -> dict[str, object]:
            return {"e_tag": tag, "size": size, "last_modified": datetime(2001, 1, 1, tzinfo=UTC)}

        stamps = [stamp_of(meta(*one)) for one in (('"x"', 1), ('"x"', 2), ('W/"x"', 1), (None, 1))]
        assert len(set(stamps)) == 4
        assert stamp_of(meta(None, 1)) == stamps[3]

    def test_those_that_were_not_read_for_longest_are_removed(self, server, cache):
        paths = [match.path for match in find(server)]
        copies = [Path(local_path(path)) for path in paths]
        for age, copy in enumerate(copies, 2):
            os.utime(copy, (time.time() - age * 1e5,) * 2)
        (left := copies[0].with_name("x.part")).write_text("of a killed process")
        os.utime(left, (0, time.time() - 1e6))
        local_path(paths[2])  # a copy that is read counts as new
        downloads._sweep(cache / "files", 20)
        assert set(kept(cache)) == {copies[0], copies[2]}

    def test_paths_of_this_machine_are_left_alone(self, tmp_path):
        for path in ("a.lab", tmp_path, "s3://bucket/a.lab", "https://host/a.lab", "s3+00112233445566ff:/bucket/a"):
            assert local_path(path) is path


class TestFailures:
    def test_a_file_that_is_gone(self, server, tmp_path):
        (found,) = find(server, tracks="a")
        (tmp_path / "www/ref/a.lab").unlink()
        with pytest.raises(UnreadableError, match=rf"^{server.url}/ref/a.lab: cannot be read: it is gone$"):
            read_bytes(found.path, 99)

    def test_a_server_that_is_down(self, server, monkeypatch):
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        file = RemoteFile("http", "127.0.0.1:1", "a.lab", "0" * 16)
        with pytest.raises(UnreadableError, match=r"^ref/a.lab: cannot be read: no server answers there; check the"):
            read_bytes(file.path, 99, "ref/a.lab")

    def test_what_has_just_failed_is_not_waited_for_again(self, server, monkeypatch):
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        server.failing = {"a.lab": 500}
        paths = [match.path for match in find(server, tracks="bc")]
        paths.append(paths[0].replace("b.lab", "a.lab"))
        download(paths)
        before = len(server.asked)
        with pytest.raises(UnreadableError, match=r"a.lab: cannot be read: the server answers with status 500"):
            read_bytes(paths[2], 99)
        assert len(server.asked) == before
        server.failing = {}
        find(server)  # a new run
        assert read_bytes(paths[2], 99) == b"0 1 A:maj\n"

    def test_of_a_host_without_an_answer_no_other_file_is_waited_for(self, cache, monkeypatch):
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        monkeypatch.setattr(downloads, "failures", {})
        asked = []
        monkeypatch.setattr(downloads, "patiently", lambda ask: asked.append(1) or ask())
        for name in "ab":
            file = RemoteFile("http", "127.0.0.1:1", f"{name}.lab", "0" * 16)
            with pytest.raises(UnreadableError, match=rf"{name}.lab: cannot be read: no server answers there"):
                read_bytes(file.path, 99)
        assert len(asked) == 1

    def test_an_interrupted_run_does_not_wait_for_files_that_were_not_begun(self, cache, monkeypatch):
        begun = []

        def interrupt(path):
            begun.append(path)
            time.sleep(0.01)
            raise KeyboardInterrupt

        monkeypatch.setattr(downloads, "local_path", interrupt)
        files = [RemoteFile("http", "127.0.0.1:1", f"{number}.lab", "0" * 16) for number in range(1000)]
        with pytest.raises(KeyboardInterrupt):
            download(file.path for file in files)
        assert len(begun) < 500

    def test_a_download_that_breaks_off_leaves_nothing(self, server, cache, monkeypatch):
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        (found,) = find(server, tracks="a")
        server.broken = "a.lab"
        with pytest.raises(
            UnreadableError, match=r"a.lab: cannot be read: the connection broke off; check the network"
        ):
            read_bytes(found.path, 99)
        assert kept(cache) == []

    def test_a_server_that_drips_is_not_waited_for(self, server, cache, monkeypatch):
        (found,) = find(server, tracks="a")
        monkeypatch.setattr("mirflow.remote.PATIENCE", 0.2)
        server.dripping = "a.lab"
        with pytest.raises(UnreadableError, match=r"a.lab: cannot be read: the server sends less than 8 kB a second"):
            read_bytes(found.path, 99)
        assert kept(cache) == []

    def test_a_service_that_throttles_is_asked_again(self, server, monkeypatch):
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        monkeypatch.setattr(downloads, "_WAITS", (0.01,) * 4)
        (found,) = find(server, tracks="a")
        server.failing, server.times = {"a.lab": 429}, 3
        assert read_bytes(found.path, 99) == b"0 1 A:maj\n"
        server.failing, server.times = {"b.lab": 429}, 99
        with pytest.raises(UnreadableError, match=r"b.lab: cannot be read: too many requests; try again later"):
            read_bytes(found.path.replace("a.lab", "b.lab"), 99)

    def test_a_folder_that_cannot_be_written(self, server, monkeypatch, tmp_path):
        (tmp_path / "taken").write_text("")
        monkeypatch.setenv("MIRFLOW_CACHE", str(tmp_path / "taken"))
        (found,) = find(server, tracks="a")
        with pytest.raises(UnreadableError, match=r"cannot be kept in the folder of copies \(.*\); set MIRFLOW_CACHE"):
            read_bytes(found.path, 99)

    def test_without_the_package(self, server, monkeypatch):
        (found,) = find(server, tracks="a")
        monkeypatch.setattr(downloads, "client_of", lambda *_: __import__("no_such_package"))
        with pytest.raises(UnreadableError, match=r"a.lab: needs the package obstore: pip install 'mirflow\[cloud\]'"):
            read_bytes(found.path, 99)


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "~/.cache/mirflow"),
        ("linux", {"XDG_CACHE_HOME": "/scratch"}, "/scratch/mirflow"),
        ("linux", {"XDG_CACHE_HOME": "/scratch", "MIRFLOW_CACHE": "/own"}, "/own"),
        ("darwin", {}, "~/Library/Caches/mirflow"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/mirflow/Cache"),
    ],
)
def test_the_folder_is_where_the_system_keeps_such_copies(monkeypatch, platform, environment, expected):
    for name in ("XDG_CACHE_HOME", "MIRFLOW_CACHE", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert downloads.cache_folder() == Path(expected).expanduser()


def test_urls_need_both_slashes():
    assert parse_url("s3:/bucket/{track}.lab") is None
    assert parse_url("HTTPS://host/a%20b/{track}.lab") == ("https", "host", "a b/{track}.lab", "")
    assert parse_url("s3://bucket/a%20b.lab") == ("s3", "bucket", "a%20b.lab", "")
