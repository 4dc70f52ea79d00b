"""Stores at addresses: versions, concurrent writers, conflicts, and messages where nothing can be read or written."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import PruneError, QueryError, StoreError
from mirflow.progress import Progress
from mirflow.store import StoreWriter, history, read_group, read_pack, read_tree, repositories, tag_version
from mirflow.store.cells import Status, concatenate_cells
from mirflow.store.format import SIGNATURES
from mirflow.store.repositories import RepositoryWriter, join_systems

from ..commands import invoke, printed
from ..network import network_to
from ..object_store import use_s3
from ..waiting import PATIENCE
from .example import MEASURES, SYSTEMS, TRACKS, all_pairs, assert_same_cells, make_cells, make_content, value_of

pytest.importorskip("icechunk", reason="the extra 'cloud' is not installed")


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def address(tmp_path) -> str:
    return f"icechunk:{tmp_path / 'repository'}"


def content_of(*systems: str, offset: float = 0.0, **changes):
    return make_content(make_cells(all_pairs(systems), offset=offset), systems=systems, **changes)


def publish(address: str, *contents) -> None:
    with RepositoryWriter(address) as writer:
        writer.publish(contents, {"name": "demo", "versions": {"mirflow": "1"}})


class TestPublishing:
    def test_it_holds_the_same_as_a_store_in_a_folder(self, tmp_path, address):
        extras = make_content(
            make_cells(all_pairs(), extras=True),
            track_coords={"genre": ("rock", None) * 3 + ("pop",)},
            system_coords={"label": ("a", None, "c")},
            attrs={"task": "chord"},
        )
        contents = [extras, make_content(name="other")]
        publish(address, *contents)
        with StoreWriter(tmp_path / "x.zarr") as writer:
            writer.publish(contents, {"name": "demo"})
        for name in ("chord", "other"):
            mine, theirs = read_group(address, name), read_group(tmp_path / "x.zarr", name)
            assert_same_cells(mine.cells, theirs.cells)
            assert replace(mine, cells=theirs.cells) == theirs
            one, other = (read_tree(path)[name].to_dataset().load() for path in (address, tmp_path / "x.zarr"))
            xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())

    def test_plain_xarray_opens_it(self, address):
        import icechunk

        publish(address, content_of(*SYSTEMS))
        storage = icechunk.local_filesystem_storage(address.removeprefix("icechunk:"))
        session = icechunk.Repository.open(storage).readonly_session("main")
        ds = xr.open_zarr(session.store, group="chord", consolidated=False)
        assert ds.score.sel(system="KO1", track=TRACKS[0], metric="root").values == value_of("KO1", TRACKS[0], "root")

    def test_rows_of_systems_that_stay_are_not_written(self, address):
        import icechunk

        publish(address, content_of("A", "B"))
        with RepositoryWriter(address) as writer:
            before = writer.contents()["chord"]
            cells = replace(make_cells(all_pairs(["C"])))
            writer.publish([replace(before, systems=("A", "B", "C"), cells=cells)])
        repository = icechunk.Repository.open(icechunk.local_filesystem_storage(address.removeprefix("icechunk:")))
        first, second = (commit.id for commit in reversed(history(address)))
        changed = repository.diff(from_snapshot_id=first, to_snapshot_id=second).updated_chunks
        assert changed["/chord/score"] == [[2, 0, 0]]
        whole = read_group(address, "chord")
        assert whole.systems == ("A", "B", "C")
        np.testing.assert_array_equal(whole.cells.score, make_cells(all_pairs(["A", "B", "C"])).score)

    @pytest.mark.parametrize("change", ["tracks", "measures", "fewer", "extras"])
    def test_other_labels_are_written_anew(self, tmp_path, address, change):
        publish(address, content_of("A", "B", "C"))
        changed = {
            "tracks": make_content(make_cells(all_pairs(["A"], TRACKS[:4])), systems=("A",), tracks=TRACKS[:4]),
            "measures": make_content(make_cells(all_pairs(["A"]), MEASURES[:2]), systems=("A",)),
            "fewer": content_of("A", "C"),
            "extras": make_content(make_cells(all_pairs(["A"]), extras=True), systems=("A",)),
        }[change]
        publish(address, changed)
        with StoreWriter(tmp_path / "x.zarr") as writer:
            writer.publish([changed])
        found, changed = read_group(address, "chord"), read_group(tmp_path / "x.zarr", "chord")
        assert (found.systems, found.tracks, found.measures) == (changed.systems, changed.tracks, changed.measures)
        assert_same_cells(found.cells, changed.cells)

    def test_groups_that_are_not_named_go(self, address):
        publish(address, content_of("A"), content_of("A", name="beat"))
        publish(address, content_of("A", name="beat"))
        assert sorted(read_tree(address).children) == ["beat"]


class TestHostileRepositories:
    def test_what_unpacks_to_more_than_a_chunk_is_not_unpacked(self, address):
        """Icechunk returns what somebody else wrote, who may have written a bomb."""
        import icechunk
        from numcodecs.zstd import Zstd
        from zarr.buffer.cpu import Buffer

        publish(address, content_of("A"))
        session = icechunk.Repository.open(
            icechunk.local_filesystem_storage(address.removeprefix("icechunk:"))
        ).writable_session("main")
        bomb = Buffer.from_bytes(Zstd(checksum=True).encode(bytes(10**8)))
        asyncio.run(session.store.set("chord/status/c/0/0", bomb))
        session.commit("bomb")
        with pytest.raises(
            StoreError, match=r"a chunk of 'chord/status' is not what was written \(100000000 bytes inst"
        ):
            read_group(address, "chord")


class TestVersions:
    def test_a_tag_a_commit_and_a_date_name_a_version(self, address):
        publish(address, content_of("A"))
        assert str(tag_version(address, "first")) == f"{address}@first"
        (commit,) = (one.id for one in history(address))
        time.sleep(0.01)
        after = history(address)[0].time
        publish(address, content_of("A", "B"))
        for name in ("first", commit, after.isoformat()):
            assert read_group(f"{address}@{name}", "chord").systems == ("A",), name
        assert read_group(address, "chord").systems == ("A", "B")
        assert [one.tags for one in history(address)] == [(), ("first",)]
        assert [one.id for one in history(f"{address}@first")] == [commit]

    def test_versions_are_read_and_not_written(self, address):
        publish(address, content_of("A"))
        with pytest.raises(StoreError, match="names a version, which cannot be written; leave out '@x'"):
            RepositoryWriter(f"{address}@x")

    def test_tags_stay_with_their_commits(self, address):
        publish(address, content_of("A"))
        tag_version(address, "x")
        with pytest.raises(StoreError, match="tag exists already"):
            tag_version(address, "x")
        with pytest.raises(StoreError, match="invalid tag 'a/b'"):
            tag_version(address, "a/b")

    @pytest.mark.parametrize(
        ("version", "message"),
        [
            ("2026", "no such tag, commit or date"),
            ("0123456789ABCDEFGHJK", "no such"),
            ("2001-01-01", "no commit is that old"),
        ],
    )
    def test_unknown_versions_are_named(self, address, version, message):
        publish(address, content_of("A"))
        with pytest.raises(StoreError, match=message):
            read_group(f"{address}@{version}", "chord")

    def test_a_folder_has_no_history(self, tmp_path):
        with pytest.raises(StoreError, match="is a folder, which has no history"):
            history(tmp_path / "x.zarr")

    def test_the_command_lists_versions_and_gives_tags(self, address):
        publish(address, content_of("A"))
        assert printed("history", address, "--tag", "v1") == f"{address}@v1\n"
        publish(address, content_of("A", "B"))
        table = printed("history", address, "--format", "csv").splitlines()
        assert table[0] == "commit,time,pipeline,written,tags,mirflow"
        assert table[1].endswith(",demo,chord: 14 cells of 2 of 2 systems,,1")
        assert table[2].endswith(",demo,chord: 7 cells of 1 of 1 systems,v1,1")


class TestTwoWriters:
    def test_systems_of_both_are_kept(self, address):
        with RepositoryWriter(address) as one, RepositoryWriter(address) as other:
            other.publish([content_of("B", system_coords={"label": ("b",)}), content_of("B", name="beat")])
            one.publish([content_of("A")])
        found = read_group(address, "chord")
        assert (found.systems, found.system_coords) == (("B", "A"), {"label": ("b", "")})
        expected = concatenate_cells([make_cells(all_pairs([one])) for one in ("B", "A")])
        assert_same_cells(found.cells, expected)
        assert sorted(read_tree(address).children) == ["beat", "chord"]

    def test_equal_results_of_the_same_cells_are_no_conflict(self, address):
        with RepositoryWriter(address) as one, RepositoryWriter(address) as other:
            other.publish([content_of("A", "B")])
            one.publish([content_of("A")])
        assert read_group(address, "chord").systems == ("A", "B")

    def test_other_results_of_the_same_cells_are_a_conflict(self, address):
        with RepositoryWriter(address) as one, RepositoryWriter(address) as other:
            other.publish([content_of("A", "B")])
            one.journal.append("chord", "", make_cells(all_pairs(["A"])))
            with pytest.raises(StoreError, match="another run committed other results of system 'A' of 'chord'"):
                one.publish([content_of("A", offset=0.5)])
            assert len([*one.journal.read("chord", "")]) == 1
        np.testing.assert_array_equal(
            read_group(address, "chord").cells.score[0], make_cells(all_pairs(["A"])).score[0]
        )

    def test_what_one_replaced_counts_for_the_other(self, address):
        publish(address, content_of("A", "B"))
        with RepositoryWriter(address) as one, RepositoryWriter(address) as other:
            before = one.contents()["chord"]
            other.publish([content_of("A", "B", offset=0.5)])
            one.publish([replace(before, systems=("A", "B", "C"), cells=make_cells(all_pairs(["C"])))])
        expected = concatenate_cells([make_cells(all_pairs(["A", "B"]), offset=0.5), make_cells(all_pairs(["C"]))])
        np.testing.assert_array_equal(read_group(address, "chord").cells.score, expected.score)

    def test_groups_that_one_leaves_alone_are_those_of_the_other(self, address):
        publish(address, content_of("A"), content_of("A", name="beat"), content_of("A", name="key"))
        beat = make_content(make_cells(all_pairs(["A"], TRACKS[:2]), MEASURES[:1]), name="beat", systems=("A",))
        with RepositoryWriter(address) as one, RepositoryWriter(address) as other:
            mine, theirs = one.contents(), other.contents()
            other.publish([theirs["chord"], beat])
            one.publish([content_of("A", "B"), mine["beat"], mine["key"]])
        assert sorted(read_tree(address).children) == ["beat", "chord"]
        assert read_group(address, "beat").measures == MEASURES[:1]
        assert read_group(address, "chord").systems == ("A", "B")

    def test_systems_that_one_removes_do_not_come_back(self, address):
        publish(address, content_of("A", "B"))
        with RepositoryWriter(address) as one, RepositoryWriter(address) as other:
            before, theirs = one.contents()["chord"], other.contents()["chord"]
            cells = make_cells(all_pairs(["C"]))
            other.publish([replace(theirs, systems=("A", "B", "C"), cells=cells)])
            one.publish([replace(before, systems=("B",), stored={"B": before.stored["B"]})])
        found = read_group(address, "chord")
        assert found.systems == ("B", "C")
        np.testing.assert_array_equal(found.cells.score, make_cells(all_pairs(["B", "C"])).score)

    @pytest.mark.slow
    def test_a_repository_that_both_make_at_once_is_one(self, tmp_path):
        started, addresses = Barrier(2), [f"icechunk:{tmp_path / str(number)}" for number in range(10)]

        def write(system: str) -> None:
            for address in addresses:
                started.wait(60)
                with RepositoryWriter(address) as writer:
                    started.wait(60)
                    writer.publish([content_of(system)])

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(write, "AB"))
        assert [sorted(read_group(address, "chord").systems) for address in addresses] == [["A", "B"]] * 10

    def test_a_place_that_holds_something_else_is_left_alone(self, tmp_path, monkeypatch):
        monkeypatch.setattr(repositories, "_PATIENCE", 0.2)
        (tmp_path / "snapshots").mkdir()
        (tmp_path / "snapshots" / "notes").write_text("mine")
        with pytest.raises(StoreError, match="holds something else than a store, or one whose making was stopped; rem"):
            publish(f"icechunk:{tmp_path}", content_of("A"))
        assert (tmp_path / "snapshots" / "notes").read_text() == "mine"

    def test_a_repository_whose_maker_was_killed_is_to_be_removed(self, address, monkeypatch):
        """Its maker wrote the empty first version, and not the branch."""
        monkeypatch.setattr(repositories, "_PATIENCE", 0.2)
        publish(address, content_of("A"))
        folder = Path(address.removeprefix("icechunk:"))
        for file in folder.rglob("*"):
            if file.is_file() and file.name != "1CECHNKREP0F1RSTCMT0":
                file.unlink()
        assert len([file for file in folder.rglob("*") if file.is_file()]) == 1
        with pytest.raises(StoreError, match="one whose making was stopped; remove it, or name another address"):
            publish(address, content_of("B"))
        shutil.rmtree(folder)
        publish(address, content_of("B"))
        assert read_group(address, "chord").systems == ("B",)

    @pytest.mark.slow
    def test_the_form_of_a_later_icechunk_is_refused_with_both_versions(self, tmp_path):
        header = "ICE\U0001f9caCHUNK".encode() + b"ic-9.0.0".ljust(24)
        (tmp_path / "repo").write_bytes(header + bytes([9, 6, 1]))
        message = rf"has the form of Icechunk 9, and Icechunk {version('icechunk')} here reads forms up to .: install"
        for ask in (read_tree, lambda address: publish(address, content_of("A"))):
            with pytest.raises(StoreError, match=message):
                ask(f"icechunk:{tmp_path}")

    def test_other_tracks_are_refused(self):
        one = make_content(make_cells(all_pairs(["A"], TRACKS[:4])), systems=("A",), tracks=TRACKS[:4])
        message = (
            r"'chord' has systems there .* \('B'\), with the track 'track 04', which the pipeline lacks; name these"
        )
        with pytest.raises(StoreError, match=message):
            join_systems(one, content_of("B"), "s3://bucket/x")

    def test_results_by_other_settings_are_refused(self):
        def signed(system: str, signature: str):
            measure = content_of(system).measures[0]
            return replace(content_of(system), attrs={"task": "chord", SIGNATURES: {measure: signature}})

        assert join_systems(signed("A", "x"), signed("B", "x"), "s3://bucket/x").systems == ("B", "A")
        with pytest.raises(StoreError, match=r"'chord' has .* by other settings or another version"):
            join_systems(signed("A", "x"), signed("B", "y"), "s3://bucket/x")

    def test_an_interrupted_run_finds_its_journal(self, address):
        with RepositoryWriter(address) as one:
            with RepositoryWriter(address) as other:
                other.journal.append("chord", "", make_cells(all_pairs(["A"])))
            place = other.folder
            assert place != one.folder
        with RepositoryWriter(address) as again:
            assert again.folder == place
            assert len([*again.journal.read("chord", "")]) == 1


class TestAddresses:
    @pytest.mark.parametrize(
        ("address", "message"),
        [
            ("s3://bucket", "names no path; an address has the form s3://BUCKET/PATH"),
            ("az:/", "names no path"),
            ("icechunk:", "an address has the form icechunk:PATH"),
        ],
    )
    def test_incomplete_ones_are_refused(self, address, message):
        with pytest.raises(StoreError, match=message):
            read_tree(address)

    def test_nothing_there(self, tmp_path):
        with pytest.raises(StoreError, match="no such store; `mirflow run` makes one"):
            read_tree(f"icechunk:{tmp_path / 'nothing'}")

    def test_a_group_behind_a_colon(self, address):
        mirflow.save(mirflow.score({"a": [1.0, 2.0]}, {"a": [1.0]}, "onset"), address)
        assert "agree" in printed("diff", address, f"{address}:onset")

    def test_packs_are_folders(self):
        with pytest.raises(StoreError, match="s3://bucket/x: is the address of a repository; here only a folder"):
            read_pack("s3://bucket/x")

    def test_scores_in_memory_are_saved(self, address):
        scores = mirflow.score({"a": [1.0, 2.0]}, {"a": [1.0]}, "onset")
        assert mirflow.save(scores, address) == address
        assert mirflow.open_store(address)["onset"].score.sel(metric="recall").item() == 0.5
        with pytest.raises(StoreError, match="holds group 'onset' already"):
            mirflow.save(scores, address)
        with pytest.raises(QueryError, match="the same store twice"):
            mirflow.open_store([address, address])


_PIPELINE = """
name: two
root: {root}
store: {store}
evaluations:
  - task: onset
    reference: ref/{{track}}.csv
    estimates: {systems}/{{system}}/{{track}}.csv
"""


@pytest.fixture
def pipelines(tmp_path, request) -> tuple[Path, Path, str]:
    """Two pipelines of the same tracks, which name other systems and the same store."""
    store = getattr(request, "param", f"icechunk:{tmp_path / 'repository'}")
    for number, folder in enumerate(["ref", "one/A", "one/B", "two/C", "two/D"]):
        (tmp_path / folder).mkdir(parents=True)
        for track in range(5):
            (tmp_path / folder / f"{track}.csv").write_text(f"1.0\n{2 + 0.02 * number * track:.2f}\n")
    paths = []
    for name in ("one", "two"):
        paths.append(tmp_path / f"{name}.yaml")
        paths[-1].write_text(_PIPELINE.format(root=tmp_path, store=store, systems=name))
    return paths[0], paths[1], store


class TestRuns:
    def test_runs_of_several_pipelines_keep_the_systems_of_each_other(self, pipelines):
        one, two, store = pipelines
        mirflow.run(one, progress=False)
        assert mirflow.run(two, progress=False).published
        assert not mirflow.run(one, progress=False).published
        assert read_group(store, "onset").systems == ("A", "B", "C", "D")
        assert len(history(store)) == 2

    def test_pruning_removes_what_the_pipeline_does_not_name(self, pipelines):
        one, two, store = pipelines
        mirflow.run(one, progress=False)
        mirflow.run(two, progress=False, prune=True)
        assert read_group(store, "onset").systems == ("C", "D")

    def test_other_tracks_than_in_the_repository_are_refused(self, pipelines, tmp_path):
        one, two, _ = pipelines
        mirflow.run(one, progress=False)
        (tmp_path / "ref" / "9.csv").write_text("1.0\n")
        message = (
            r"'onset' has systems there .* \('A', 'B'\), without the track '9'; name these .* --prune .* removes them"
        )
        with pytest.raises(StoreError, match=message):
            mirflow.run(two, progress=False)
        mirflow.run(one, progress=False)  # whose systems are all that are there

    @pytest.mark.parametrize("metrics", ["[precision, f_measure]", "[f_measure]", "[recall, precision, f_measure]"])
    def test_edits_of_the_metrics_are_taken_as_by_a_folder(self, pipelines, tmp_path, metrics):
        one, two, store = pipelines
        pipeline = one.read_text()
        one.write_text(f"{pipeline}    metrics: [f_measure, precision]\n")
        mirflow.run(one, progress=False)
        one.write_text(f"{pipeline}    metrics: {metrics}\n")
        mirflow.run(one, progress=False)
        mirflow.run(one, store=tmp_path / "folder.zarr", progress=False)
        xr.testing.assert_equal(
            mirflow.open_store(store)["onset"].ds, mirflow.open_store(tmp_path / "folder.zarr")["onset"].ds
        )
        two.write_text(f"{two.read_text()}    metrics: [f_measure, precision]\n")
        with pytest.raises(StoreError, match=r"has systems there that the pipeline does not name \('A', 'B'\), with"):
            mirflow.run(two, progress=False)

    def test_tracks_that_the_pipeline_no_longer_names_need_permission(self, pipelines, tmp_path):
        one = pipelines[0]
        mirflow.run(one, progress=False)
        for folder in ("ref", "one/A", "one/B"):
            (tmp_path / folder / "4.csv").unlink()
        with pytest.raises(PruneError, match=r"removes 2 of 10 stored cells, .* onset: tracks '4'"):
            mirflow.run(one, progress=False)

    def test_a_preview_reads_the_repository(self, pipelines):
        one, _, _ = pipelines
        mirflow.run(one, progress=False)
        assert "10 reused" in invoke("run", one, "--dry-run", code=0).output

    def test_queries_are_those_of_a_folder(self, pipelines, tmp_path):
        one, _, store = pipelines
        mirflow.run(one, progress=False)
        mirflow.run(one, progress=False, store=tmp_path / "x.zarr")
        for words in (["query"], ["query", "--ci"], ["compare", "-m", "f_measure"]):
            mine, theirs = (printed(*words, path) for path in (store, tmp_path / "x.zarr"))
            assert mine == theirs


def _kill_before(written: int, writes: Iterator[int], runs: list[subprocess.Popen[bytes]], data: bytes) -> None:
    """Kill a run that sends the request of a write after so many others; that request is lost."""
    if data.startswith(b"PUT ") and next(writes) >= written:
        os.kill(runs[0].pid, signal.SIGKILL)
        time.sleep(60)


@pytest.fixture
def _at_service(monkeypatch):
    use_s3(monkeypatch)


@pytest.mark.usefixtures("_at_service")
class TestObjectStore:
    @pytest.mark.slow
    def test_a_run_and_its_queries(self, pipelines):
        one, two, _ = pipelines
        store = "s3://bucket/stores/runs"
        printed("run", one, "--store", store)
        printed("run", two, "--store", store)
        assert read_group(Path(store), "onset").systems == ("A", "B", "C", "D")
        assert "s3://bucket/stores/runs" in invoke("run", one, "--store", store, code=0).output
        assert len(history(store)) == 2

    @pytest.mark.parametrize(
        ("address", "message"),
        [
            ("s3://elsewhere/x", "s3://elsewhere/x: there is no such bucket; make it, or name another one"),
            ("s3://bucket/none", "s3://bucket/none: no such store; `mirflow run` makes one"),
        ],
    )
    def test_what_is_not_there(self, address, message):
        with pytest.raises(StoreError, match=message):
            read_tree(address)

    def test_without_credentials(self, monkeypatch, tmp_path):
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        with pytest.raises(StoreError, match="there are no credentials; set AWS_ACCESS_KEY_ID"):
            read_tree("s3://bucket/x")

    @pytest.mark.slow
    @pytest.mark.parametrize("what", ["a run", "a reader"])
    def test_a_network_that_is_unplugged_in_the_middle(self, pipelines, monkeypatch, what):
        monkeypatch.setattr(repositories, "_LOOK_AFTER", 0.3)
        monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)
        one, two, _ = pipelines
        store = f"s3://bucket/stores/{what[2:]}"
        with network_to(int(os.environ["AWS_ENDPOINT_URL"].rpartition(":")[2])) as network:

            def unplug() -> None:
                monkeypatch.setattr("mirflow.remote.SILENT_SECONDS", 0.8)  # a busy machine answers later than that
                network.unplug()

            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{network.port}")
            mirflow.run(one, store=store, progress=False)
            silent = f"{store}: the server does not answer; check the network, and try again"
            if what == "a reader":
                tree = read_tree(store)
                unplug()
                with pytest.raises(StoreError, match=silent):
                    tree["onset"].score.load()
                return

            class Unplugging(Progress):
                def stage(self, name: str) -> None:
                    if name == "writing the store":
                        unplug()

            with pytest.raises(StoreError, match=silent):
                mirflow.run(two, store=store, progress=Unplugging())
            network.plug_in()
            monkeypatch.setattr("mirflow.remote.SILENT_SECONDS", PATIENCE)
            (report,) = mirflow.run(two, store=store, progress=False).evaluations
            assert (report.counts["resumed"], report.counts["new"]) == (10, 10)
            assert read_group(store, "onset").systems == ("A", "B", "C", "D")
            assert read_group(store, "onset").cells.status.tolist() == [Status.ok] * 20

    @pytest.mark.slow
    def test_where_nothing_answers_a_message_comes_within_some_seconds(self, monkeypatch):
        with socket.create_server(("127.0.0.1", 0), backlog=64) as silent, socket.socket() as refusing:
            refusing.bind(("127.0.0.1", 0))
            ports = {silent: "the server does not answer", refusing: "no server answers there"}
            for service, message in ports.items():
                monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{service.getsockname()[1]}")
                began = time.monotonic()
                with pytest.raises(StoreError, match=f"s3://bucket/x: {message}; check"):
                    read_tree("s3://bucket/x")
                assert time.monotonic() - began < 20

    @pytest.mark.slow
    def test_a_run_killed_before_any_of_its_writes_is_run_again(self, pipelines, monkeypatch):
        """From the first file of the repository to the branch of the first commit."""
        one, _, _ = pipelines
        port, refusals = int(os.environ["AWS_ENDPOINT_URL"].rpartition(":")[2]), list[str]()
        for written in range(100):
            store, runs = f"s3://bucket/stores/begun{written}", []
            with network_to(port, partial(_kill_before, written, count(), runs)) as network:
                monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{network.port}")
                runs.append(
                    subprocess.Popen([sys.executable, "-m", "mirflow", "run", "--store", store, "--quiet", str(one)])
                )
                code = runs[0].wait(60)
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            if code == 0:
                break
            try:
                mirflow.run(one, store=store, progress=False)
            except StoreError as error:  # killed while it made the repository, which has to be removed then
                refusals.append(str(error))
                continue
            assert read_group(store, "onset").systems == ("A", "B"), written
            assert len(history(store)) == 1
        assert written > 5
        assert len(refusals) <= 2
        assert all("making was stopped; remove it" in refusal for refusal in refusals)

    @pytest.mark.slow
    def test_two_runs_at_once_one_of_which_is_killed(self, pipelines):
        """Both results are there after the killed one was run again, and the history is whole."""
        one, two, _ = pipelines
        rng = np.random.default_rng(7)
        for trial in range(20):
            store = f"s3://bucket/stores/killed{trial}"
            command = [sys.executable, "-m", "mirflow", "run", "--store", store, "--quiet"]
            runs = [
                subprocess.Popen([*command, str(path)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
                for path in (one, two)
            ]
            time.sleep(rng.uniform(0.3, 2.5))
            os.kill(runs[0].pid, signal.SIGKILL)
            runs[0].communicate(timeout=120)
            message = runs[1].communicate(timeout=120)[1]
            assert runs[1].returncode == 0, message
            subprocess.run([*command, str(one)], check=True, capture_output=True, timeout=120)
            assert sorted(read_group(store, "onset").systems) == ["A", "B", "C", "D"]
            assert len(history(store)) in (2, 3)
            assert read_group(store, "onset").cells.status.tolist() == [1] * 20
