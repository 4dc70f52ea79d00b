"""The layout of stores, whose shards of scores are read by metric."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import mirflow
from mirflow.errors import DamagedError, StoreError
from mirflow.store import StoreWriter, read_group, read_tree, zarr_io
from mirflow.store.read import read_scores
from mirflow.store.zarr_io import GenerationStore

from ..groups import random_group, write_store
from .example import make_content

TRACKS, METRICS = 9000, 4


@pytest.fixture(scope="module")
def scores() -> xr.Dataset:
    """Scores of enough tracks for a chunk a metric."""
    return random_group(3, TRACKS, METRICS)


@pytest.fixture
def store(tmp_path: Path, scores: xr.Dataset) -> Path:
    return write_store(tmp_path / "x.zarr", {"chord": scores})


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes that were read of each array of a group, metadata left out, as if no array were small."""
    monkeypatch.setattr(zarr_io, "_SMALL", 0)
    counts: dict[str, int] = {}
    get = GenerationStore.get

    async def counting(self, key, prototype=None, byte_range=None):
        value = await get(self, key, prototype, byte_range)
        if value is not None and "/c." in key:
            name = key.split("/")[1]
            counts[name] = counts.get(name, 0) + len(value)
        return value

    monkeypatch.setattr(GenerationStore, "get", counting)
    return counts


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_a_shard_is_a_system_and_its_chunks_are_metrics(store):
    group = zarr.open_group(str(store), mode="r")["chord"]
    for name in ("score", "weight"):
        assert (group[name].chunks, group[name].shards) == ((1, TRACKS, 1), (1, TRACKS, METRICS))
        files = sorted(str(file.relative_to(store)) for file in (store / "chord" / name).glob("c.*.0.0"))
        assert files == [f"chord/{name}/c.{system}.0.0" for system in range(3)]
    assert group["status"].shards is None
    assert zarr.open_group(str(store), mode="r").attrs["mirflow_store"] == 2


@pytest.mark.parametrize(
    ("tracks", "metrics", "chunk", "shard"),
    [
        (7, 3, (1, 7, 3), None),
        (2000, 15, (1, 2000, 5), (1, 2000, 15)),
        (3000, 7, (1, 3000, 4), (1, 3000, 8)),
        (20_001, 2, (1, 20_000, 1), (1, 40_000, 2)),
        (100_001, 1, (1, 20_000, 1), (1, 100_000, 1)),
        (5, 0, (1, 5, 1), None),
    ],
)
def test_chunks_of_few_tracks_have_several_metrics(tmp_path, tracks, metrics, chunk, shard):
    names = tuple(f"{i}" for i in range(tracks))
    cells = mirflow.store.cells.no_cells(tuple(f"m{i}" for i in range(metrics)))
    with StoreWriter(tmp_path / "x") as writer:
        writer.publish([make_content(cells, tracks=names)])
    score = zarr.open_group(str(tmp_path / "x"), mode="r")["chord/score"]
    assert (score.chunks, score.shards) == (chunk, shard)
    assert score.shape == (3, tracks, metrics)
    assert np.isnan(score[...]).all()


def test_all_doors_read_the_scores_that_were_written(store, scores):
    cells = read_group(store, "chord").cells
    np.testing.assert_array_equal(cells.score, scores.score.values.reshape(-1, METRICS))
    for ds in (read_tree(store)["chord"].to_dataset(), read_scores(store)["chord"], xr.open_zarr(store, group="chord")):
        for name in ("score", "weight", "status", "duration"):
            np.testing.assert_array_equal(ds[name].values, scores[name].values, err_msg=name)
        np.testing.assert_array_equal(ds.score[1, 5:900:7, [2, 0]].values, scores.score[1, 5:900:7, [2, 0]].values)
        np.testing.assert_array_equal(ds.weight[:, ::-1, 3].values, scores.weight[:, ::-1, 3].values)


_PLAIN = """
import sys, xarray as xr
ds = xr.open_zarr(sys.argv[1], group="chord").load()
tree = xr.open_datatree(sys.argv[1], engine="zarr")
assert tree["chord"].to_dataset().load().identical(ds)
assert "mirflow" not in sys.modules
"""


@pytest.mark.slow
def test_plain_xarray_opens_it_without_a_warning(store):
    command = [sys.executable, "-I", "-W", "error", "-c", _PLAIN, str(store)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_metric_is_read_without_the_others(store, read_bytes):
    ds = read_scores(store)["chord"]
    assert read_bytes.keys().isdisjoint({"score", "weight", "message", "digest"})
    ds.score.isel(metric=[1]).load()
    assert 0 < read_bytes["score"] < size_of(store / "chord" / "score") / METRICS * 1.1
    assert "weight" not in read_bytes


def test_a_system_is_read_without_the_others(store, read_bytes):
    read_scores(store)["chord"].weight.sel(system=["S2"]).load()
    assert read_bytes["weight"] < size_of(store / "chord" / "weight") / 3 * 1.1


def test_scores_are_read_once_if_all_of_them_are(store, read_bytes):
    ds = read_scores(store)["chord"]
    part = ds[["score", "weight"]].compute()
    read = dict(read_bytes)
    assert ds.score.isel(metric=[1, 3], system=1).identical(part.score.isel(metric=[1, 3], system=1))
    assert np.shares_memory(ds.score.values, part.score.values)
    assert read_bytes == read


@pytest.mark.slow
@pytest.mark.parametrize("metrics", [[2], [0, 1, 2, 3]], ids=["part", "whole"])
def test_a_damaged_shard_is_an_error_and_never_a_number(store, scores, metrics):
    chance = random.Random(7)
    shard = store / "chord" / "score" / "c.1.0.0"
    whole = shard.read_bytes()
    for place in (0, 3, len(whole) - 1, len(whole) - 8, *(chance.randrange(len(whole)) for _ in range(60))):
        shard.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << chance.randrange(8)]) + whole[place + 1 :])
        try:
            values = read_tree(store)["chord"].score[:, :, metrics].values
        except DamagedError:
            continue
        np.testing.assert_array_equal(values, scores.score[:, :, metrics].values)
        assert len(metrics) == 1, f"byte {place} is not checked"


@pytest.mark.parametrize("size", [0, 10, 1000])
def test_a_shard_that_was_cut_off_is_an_error(store, size):
    shard = store / "chord" / "score" / "c.1.0.0"
    shard.write_bytes(shard.read_bytes()[:size])
    for metrics in ([1], [0, 1, 2, 3]):
        with pytest.raises(StoreError, match="is damaged"):
            read_tree(store)["chord"].score[:, :, metrics].load()


def test_a_lost_shard_is_an_error(store):
    (store / "chord" / "score" / "c.1.0.0").unlink()
    with pytest.raises(DamagedError, match="a chunk of 'chord/score' is lost"):
        read_scores(store)["chord"].score.isel(metric=[0]).load()
    with pytest.raises(DamagedError, match="chunks of 'score' are lost"):
        read_group(store, "chord")


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("20 05", 5),
        ("60 10 00", 272),  # sizes of two bytes begin at 256
        ("a0 70 11 01 00", 70_000),
        ("e0 00 00 00 00 01 00 00 00", 2**32),
        ("80 58 70 11 01 00", 70_000),  # after the size of the window
        ("a1 ff 70 11 01 00", 70_000),  # after the number of a dictionary, of one, two and four bytes
        ("a2 ff ff 70 11 01 00", 70_000),
        ("a3 ff ff ff ff 70 11 01 00", 70_000),
        ("00 58 00", None),
        ("a0 70 11 01", None),
    ],
)
def test_the_size_of_a_frame_is_read_as_the_standard_says(header: str, size: int | None) -> None:
    """RFC 8878, section 3.1.1.1."""
    assert zarr_io._content_size(memoryview(bytes.fromhex("28b52ffd" + header))) == size
