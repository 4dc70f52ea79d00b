from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mirflow.errors import StoreError
from mirflow.store import StoreWriter, read_group, read_tree, resolve

from .example import CREATED, all_pairs, assert_same_cells, files_of, make_cells, make_content


def publish(path: Path | str, **changes) -> Path:
    with StoreWriter(path) as writer:
        return writer.publish([make_content(**changes)], created=CREATED)


def kept(path: Path) -> list[str]:
    return sorted(entry.name for entry in (path.parent / f".{path.name}.d").glob("generation-*"))


def test_the_path_is_a_relative_link_to_the_generation_beside_it(tmp_path):
    path = tmp_path / "stores" / "x.zarr"
    generation = publish(path)
    assert path.readlink() == Path(".x.zarr.d/generation-000001")
    assert resolve(path) == generation == path.resolve()


def test_a_folder_with_stores_can_be_moved(tmp_path):
    publish(tmp_path / "a" / "x.zarr")
    (tmp_path / "a").rename(tmp_path / "b")
    assert read_group(tmp_path / "b" / "x.zarr", "chord").tracks == make_content().tracks


def test_the_previous_generation_is_kept_until_the_next_and_older_ones_are_removed(tmp_path):
    path = tmp_path / "x.zarr"
    publish(path)
    assert kept(path) == ["generation-000001"]
    publish(path)
    assert kept(path) == ["generation-000001", "generation-000002"]
    publish(path)
    assert kept(path) == ["generation-000002", "generation-000003"]


def test_a_generation_that_goes_while_it_is_looked_for_leads_to_the_current_one(tmp_path, monkeypatch):
    path = tmp_path / "x.zarr"
    publish(path)
    current, looks = publish(path), []
    going = tmp_path / ".x.zarr.d" / "generation-000000"
    going.mkdir()  # its files are gone already

    def look(named):
        looks.append(named)
        return str(going if len(looks) == 1 else current)

    monkeypatch.setattr(os.path, "realpath", look)
    assert resolve(path) == current


def test_what_nobody_is_to_read_any_more_is_forgotten(tmp_path):
    path = tmp_path / "x.zarr"
    publish(path)
    publish(path)
    with StoreWriter(path) as writer:
        assert [one.name for one in writer.earlier()] == ["generation-000001"]
        writer.forget()
        assert writer.earlier() == []
    assert kept(path) == ["generation-000002"]


def test_leftovers_of_killed_runs_are_removed(tmp_path):
    path = tmp_path / "x.zarr"
    publish(path)
    hidden = tmp_path / ".x.zarr.d"
    for name in ("building", "discarded-generation-000000", "generation-000007"):
        shutil.copytree(hidden / "generation-000001", hidden / name)
    (hidden / "link").symlink_to("generation-000007")
    with StoreWriter(path):
        pass
    assert {entry.name for entry in hidden.iterdir()} == {"generation-000001", "lock"}
    assert publish(path).name == "generation-000002"


@pytest.mark.parametrize("name", ["x.zarr", "x", "a store with blanks.zarr", "störe.zarr", "x.zarr/"])
def test_relative_and_absolute_paths_mean_the_same_store(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    publish(f"sub/{name}")
    generation = publish(tmp_path / "sub" / name)
    assert generation.name == "generation-000002"
    assert resolve(f"sub/{name}") == resolve(tmp_path / "sub" / name) == generation
    monkeypatch.chdir(tmp_path / "sub")
    assert resolve(name) == resolve(f"../sub/{name}") == generation


def test_the_parent_folder_may_be_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "stores").symlink_to("disk")
    publish(tmp_path / "stores" / "x.zarr")
    assert publish(tmp_path / "disk" / "x.zarr").name == "generation-000002"


def test_a_plain_copy_can_be_read_but_not_written(tmp_path):
    publish(tmp_path / "x.zarr")
    shutil.copytree(tmp_path / "x.zarr", tmp_path / "copy.zarr", symlinks=False)
    assert_same_cells(read_group(tmp_path / "copy.zarr", "chord").cells, make_content().cells)
    assert "chord" in read_tree(tmp_path / "copy.zarr").children
    before = files_of(tmp_path / "copy.zarr")
    with pytest.raises(
        StoreError, match=r"copy.zarr: is a folder that mirflow's runs did not make.*name another store"
    ):
        StoreWriter(tmp_path / "copy.zarr")
    assert files_of(tmp_path / "copy.zarr") == before
    assert not (tmp_path / ".copy.zarr.d").exists()


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "x.zarr").write_text("mine")
    with pytest.raises(StoreError, match=r"x.zarr: is a file that mirflow's runs did not make"):
        StoreWriter(tmp_path / "x.zarr")


def test_a_link_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "x.zarr").symlink_to("real")
    with pytest.raises(StoreError, match=r"x.zarr: is a link to real that mirflow did not make"):
        StoreWriter(tmp_path / "x.zarr")


def test_what_appears_at_the_path_while_a_store_is_built_is_not_overwritten(tmp_path):
    path = tmp_path / "x.zarr"
    with StoreWriter(path) as writer:
        path.write_text("mine")
        with pytest.raises(StoreError, match="is a file"):
            writer.publish([make_content()])
    assert path.read_text() == "mine"


def test_a_link_of_ours_to_a_store_can_be_read(tmp_path):
    publish(tmp_path / "x.zarr")
    (tmp_path / "latest").symlink_to("x.zarr")
    assert resolve(tmp_path / "latest") == resolve(tmp_path / "x.zarr")


def test_a_removed_link_starts_a_new_store_without_old_results(tmp_path):
    path = tmp_path / "x.zarr"
    publish(path)
    publish(path)
    path.unlink()
    with StoreWriter(path) as writer:
        assert writer.contents() == {}
        assert writer.contents() == {}
        assert [*writer.journal.read("chord", "v1")] == []
        writer.publish([])
    assert kept(path) == ["generation-000001"]


def test_a_link_without_its_generation_says_how_to_move_stores(tmp_path):
    publish(tmp_path / "x.zarr")
    shutil.move(tmp_path / ".x.zarr.d", tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"x.zarr: leads to .*generation-000001, which is gone.*cp -rL"):
        resolve(tmp_path / "x.zarr")


def test_reading_writes_nothing_and_needs_no_permission_to(tmp_path):
    publish(tmp_path / "x.zarr")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    read_group(tmp_path / "x.zarr", "chord")
    read_tree(tmp_path / "x.zarr").load()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_publishing_empties_the_journal_in_the_same_step(tmp_path):
    with StoreWriter(tmp_path / "x.zarr") as writer:
        writer.journal.append("chord", "v1", make_cells(all_pairs()))
        before = writer.journal
        writer.publish([make_content()])
        assert [*writer.journal.read("chord", "v1")] == []
        assert not before.folder.exists()


def test_a_journal_that_a_kill_left_after_its_publish_is_not_read_again(tmp_path):
    path = tmp_path / "x.zarr"
    with StoreWriter(path) as writer:
        writer.journal.append("chord", "v1", make_cells(all_pairs()))
        journal = writer.journal.folder
        shutil.copytree(journal, tmp_path / "kept")
        writer.publish([make_content()])
        shutil.copytree(tmp_path / "kept", journal)
    with StoreWriter(path) as writer:
        assert [*writer.journal.read("chord", "v1")] == []
    assert not journal.exists()


def test_the_journal_outlives_the_writer(tmp_path):
    for _ in range(2):
        with StoreWriter(tmp_path / "x.zarr") as writer:
            writer.journal.append("chord", "v1", make_cells(all_pairs()[:2]))
    with StoreWriter(tmp_path / "x.zarr") as writer:
        assert len([*writer.journal.read("chord", "v1")]) == 2


def test_a_publish_that_fails_leaves_the_store_and_the_journal(tmp_path, monkeypatch):
    path = tmp_path / "x.zarr"
    publish(path)
    before = files_of(resolve(path))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with StoreWriter(path) as writer:
        writer.journal.append("chord", "v1", make_cells(all_pairs()))
        other = [make_content(cells=make_cells(all_pairs(), offset=1.0))]
        with monkeypatch.context() as patch:
            patch.setattr("mirflow.store.generations.os.fsync", full)
            with pytest.raises(StoreError, match="No space left on device; the previous"):
                writer.publish(other)
        assert len([*writer.journal.read("chord", "v1")]) == 1
    assert files_of(resolve(path)) == before


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path):
    (tmp_path / "stores").write_text("a file")
    with pytest.raises(StoreError, match=r"x.zarr: cannot be written: (Not a directory|File exists)"):
        StoreWriter(tmp_path / "stores" / "x.zarr")


@pytest.mark.parametrize("function", [resolve, read_tree])
def test_a_missing_store_suggests_the_nearest_one(tmp_path, function):
    for name in ("mirex2013.zarr", ".mirex2012.zarr"):  # hidden stores are not suggested
        publish(tmp_path / name)
    with pytest.raises(StoreError, match=r"no such store; did you mean '.*/mirex2013.zarr'\?"):
        function(tmp_path / "mirex2012.zarr")
    with pytest.raises(StoreError, match=r"there are mirex2013.zarr$"):
        function(tmp_path / "q")
    with pytest.raises(StoreError, match=r"nor a folder .*nowhere$"):
        function(tmp_path / "nowhere" / "x.zarr")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"no other in .*empty; `mirflow run` makes one"):
        function(tmp_path / "empty" / "x.zarr")


def test_a_folder_without_zarr_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="is not a store of mirflow"):
        resolve(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="is not a store of mirflow"):
        resolve(tmp_path / "file")


def test_no_process_may_write_where_it_has_no_permission(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("permissions do not bind the superuser")
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Permission denied"):
        StoreWriter(tmp_path / "x.zarr")
