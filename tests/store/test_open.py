from __future__ import annotations

import random
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
import zarr

from mirflow.errors import DamagedError, StoreError
from mirflow.ragged import Ragged
from mirflow.store import StoreWriter, read_group, read_tree, write_pack, zarr_io

from ..groups import random_group, write_store
from .example import MEASURES, SYSTEMS, TRACKS, all_pairs, make_cells, make_content, value_of


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "x y.zarr"
    cells = make_cells(all_pairs(), extras=True)
    content = make_content(
        replace(cells, message=("late",) * len(cells)),
        track_coords={"genre": ("rock", None) * 3 + ("pop",), "year": (1964, None) + (1970,) * 5},
        system_coords={"label": ("a", "b", "c")},
        attrs={"task": "chord"},
    )
    with StoreWriter(path) as writer:
        writer.publish([content, make_content(name="chord_mirex2013")], {"name": "demo"})
    return path


_PLAIN = """
import sys, xarray as xr
path = sys.argv[1]
ds = xr.open_zarr(path, group="chord")
tree = xr.open_datatree(path, engine="zarr")
assert sorted(tree.children) == ["chord", "chord_mirex2013"], tree
loaded = tree["chord"].to_dataset().load()
assert loaded.identical(ds.load())
pooled = ds.score.weighted(ds.weight).mean("track")
assert pooled.sel(system="KO1", metric="majmin").item() > 0
assert ds.score.groupby("genre").mean("track").sizes["genre"] == 3
assert "mirflow" not in sys.modules and "year" in ds.coords and "label" in ds.coords
"""


@pytest.mark.slow
def test_plain_xarray_opens_it_without_mirflow_and_without_a_warning(store):
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", _PLAIN, str(store)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_tree_has_a_group_for_each_evaluation_with_labels(store):
    tree = read_tree(store)
    assert sorted(tree.children) == ["chord", "chord_mirex2013"]
    assert tree.attrs["name"] == "demo"
    chord = tree["chord"].to_dataset()
    assert chord.score.sel(system="NG 1", track="track 03", metric="root").item() == value_of(
        "NG 1", "track 03", "root"
    )
    assert chord.score.sizes == {"system": len(SYSTEMS), "track": len(TRACKS), "metric": len(MEASURES)}
    assert {"genre", "year", "label"} <= set(chord.coords)
    assert chord.attrs["task"] == "chord"
    assert chord.confusion.dims == ("system", "track", "ref", "est")
    texts = [chord.message, chord.genre, chord.system]
    assert [text.dtype.kind for text in texts] == [text.values.dtype.kind for text in texts] == ["O"] * 3


def test_nothing_is_read_before_it_is_asked_for(store):
    chunk = store / "chord" / "score" / "c.0.0.0"
    chunk.write_bytes(b"garbage")
    tree = read_tree(store)
    assert tree["chord"].weight.sel(system="KO1").sum() > 0
    with pytest.raises(StoreError, match=r"is damaged: a chunk of 'chord/score' is not what was written"):
        tree["chord"].score.sel(system="KO1").load()
    assert not tree["chord"].score.chunks


def test_an_open_tree_keeps_its_generation(store):
    tree = read_tree(store)
    with StoreWriter(store) as writer:
        writer.publish([make_content(make_cells(all_pairs(), offset=1000.0))])
    assert tree["chord"].score.max() < 1000
    assert read_tree(store)["chord"].score.min() >= 1000


def test_a_tree_whose_generation_is_gone_raises_instead_of_reading_fill_values(store):
    tree = read_tree(store)
    for _ in range(2):
        with StoreWriter(store) as writer:
            writer.publish([make_content(make_cells(all_pairs(), offset=1000.0))])
    with pytest.raises(StoreError, match="was replaced by later runs while it was open; open the store again"):
        tree["chord"].score.load()
    with pytest.raises(StoreError, match="open the store again"):
        tree["chord"].confusion.load()


def test_a_generation_that_goes_while_a_chunk_is_read_is_named_so(store, monkeypatch):
    tree, chunk_files = read_tree(store), zarr_io.chunk_files

    def remove_first(array):
        shutil.rmtree(store.resolve())
        return chunk_files(array)

    monkeypatch.setattr(zarr_io, "chunk_files", remove_first)
    with pytest.raises(StoreError, match="was replaced by later runs while it was open; open the store again"):
        tree["chord"].score.load()


@pytest.mark.parametrize(("name", "step", "answer"), [("score", "chunk_files", {}), ("confusion", "is_lost", True)])
def test_chunks_that_go_with_their_generation_while_they_are_looked_for_are_not_lost(
    store, monkeypatch, name, step, answer
):
    tree, generation = read_tree(store), store.resolve()
    next((generation / "chord" / name).glob("c.*")).unlink()

    def answer_after_removal(array):
        if generation.exists():
            generation.rename(store.with_name("discarded"))
        return answer

    monkeypatch.setattr(zarr_io, step, answer_after_removal)
    with pytest.raises(StoreError, match="was replaced by later runs while it was open; open the store again"):
        tree["chord"][name].load()


def test_a_chunk_that_was_never_written_reads_as_its_fill(store):
    assert read_tree(store)["chord_mirex2013"].status.sum() == len(SYSTEMS) * len(TRACKS)
    with StoreWriter(store) as writer:
        writer.publish([make_content(make_cells([("KO1", TRACKS[0])], extras=True))])
    confusion = read_tree(store)["chord"].confusion
    np.testing.assert_array_equal(confusion.sel(system=list(SYSTEMS[1:])), 0.0)


@pytest.mark.parametrize("name", ["score", "weight", "status", "message", "duration"])
def test_a_lost_chunk_raises_instead_of_reading_fill_values(store, name):
    chunk = min((store / "chord" / name).glob("c.*"))
    chunk.unlink()
    tree = read_tree(store)
    with pytest.raises(StoreError, match=rf"is damaged: a chunk of 'chord/{name}' is lost; remove it and make it"):
        tree["chord"][name].load()


def test_a_lost_chunk_of_a_sparse_result_raises_too(store):
    chunks = sorted((store / "chord" / "confusion").glob("c.*"))
    chunks[0].unlink()
    with pytest.raises(StoreError, match="a chunk of 'chord/confusion' is lost"):
        read_tree(store)["chord"].confusion.load()


def test_a_single_cell_of_text_is_read_on_access(store):
    whole = read_tree(store)["chord"].to_dataset().message.load()
    for system, track in ((0, 0), (1, 3), (-1, -1)):
        single = read_tree(store)["chord"].to_dataset().message.isel(system=system, track=track)
        assert single.shape == ()
        assert single.item() == whole.values[system, track]


@pytest.mark.slow
def test_a_damaged_chunk_raises_the_store_s_own_error_however_lazily_it_is_read(store):
    chance = random.Random(26)
    whole = read_tree(store)["chord"].to_dataset().load()
    chunks = sorted(path for path in store.rglob("*") if path.is_file() and path.name != "zarr.json")
    damaged = 0
    for _ in range(120):
        chunk = chance.choice(chunks)
        written = bytearray(chunk.read_bytes())
        written[chance.randrange(len(written))] ^= 1 << chance.randrange(8)
        before = chunk.read_bytes()
        chunk.write_bytes(written)
        group = chunk.relative_to(store).parts[0]
        try:
            if "stamp" in chunk.parts:  # which the next run alone reads
                read_group(store, group)
            values = read_tree(store)[group].to_dataset().load()
        except DamagedError:
            damaged += 1
        else:  # a bit that means nothing
            assert group != "chord" or values.identical(whole)
        chunk.write_bytes(before)
    assert damaged > 115


def test_a_tree_can_be_sent_to_another_process(store):
    import pickle

    tree = pickle.loads(pickle.dumps(read_tree(store)))
    assert tree["chord"].score.sel(system="KO1", track=TRACKS[0], metric="root") == value_of("KO1", TRACKS[0], "root")


def test_other_zarr_and_packs_are_refused_by_name(tmp_path):
    zarr.create_group(str(tmp_path / "other.zarr"))
    with pytest.raises(
        StoreError, match=r"other.zarr: is Zarr, but not a result store of mirflow; `mirflow run` makes"
    ):
        read_tree(tmp_path / "other.zarr")
    write_pack(tmp_path / "pack.zarr", "events", ["a"], Ragged({"time": np.zeros(1)}, (np.array([1]),)))
    with pytest.raises(StoreError, match=r"pack.zarr: is a pack of annotations"):
        read_tree(tmp_path / "pack.zarr")


def test_a_store_of_a_later_format_is_refused(tmp_path):
    zarr.create_group(str(tmp_path / "x.zarr"), attributes={"mirflow_store": 3})
    with pytest.raises(StoreError, match=r"has format 3, this mirflow reads format 2; upgrade mirflow"):
        read_tree(tmp_path / "x.zarr")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"zarr_format": 3}', '{"zarr_format": 2, "node_type": "group"}'])
def test_a_store_with_broken_metadata_is_damaged(store, text):
    (store / "zarr.json").write_text(text)
    with pytest.raises(StoreError, match=r"x y.zarr: is"):
        read_tree(store)


def test_one_chunk_a_system_so_that_dask_can_open_it(store):
    lazy = xr.open_zarr(store, group="chord")
    assert lazy.score.chunks == ((1, 1, 1), (7,), (3,))


def test_a_store_that_is_made_anew_at_the_same_path_is_read_as_it_is(tmp_path):
    # A file system may give the inodes of the removed one to the new one, whose chunks have other sizes.
    for tracks in (3, 11, 5, 8, 3, 11, 5, 8):
        path = write_store(tmp_path / "s.zarr", {"chord": random_group(2, tracks, 1)})
        with read_tree(path) as tree:
            assert tree["chord"].to_dataset().load().sizes["track"] == tracks
        path.unlink()
        shutil.rmtree(tmp_path / ".s.zarr.d")
