"""Lazy collections read files when they are computed, and only those that are needed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import mirflow
from mirflow.annotations.collection import Collection, collect
from mirflow.annotations.schema import TASK_KINDS
from mirflow.annotations.source import HeldSource
from mirflow.engine import time_grids
from mirflow.engine.lazy import LazyCollection
from mirflow.errors import AnnotationError, UnknownNameError
from tests.datasets import write_lab
from tests.samples import empty, sample


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    for number in range(5):
        write_lab(tmp_path / f"t{number}.lab", rng, segments=number + 1)
    return tmp_path


@pytest.fixture
def lazy(folder: Path) -> LazyCollection:
    collection = mirflow.load_collection(folder / "{track}.lab", task="chord", lazy=True, block=2)
    assert isinstance(collection, LazyCollection)
    return collection


def test_an_eager_collection_is_a_computed_lazy_one(folder: Path, lazy: LazyCollection) -> None:
    eager = mirflow.load_collection(folder / "{track}.lab", task="chord")
    assert isinstance(eager, Collection)
    computed = lazy.compute()
    assert eager.tracks == computed.tracks == ("t0", "t1", "t2", "t3", "t4")
    for track in eager.tracks:
        assert eager[track].equals(computed[track])
    assert eager.rows.counts[0].tolist() == [1, 2, 3, 4, 5]


def test_nothing_is_read_before_it_is_computed(folder: Path, lazy: LazyCollection) -> None:
    (folder / "t0.lab").unlink()
    some = lazy.sel(track=["t4", "t2"])
    assert some.compute().tracks == ("t4", "t2")
    with pytest.raises(AnnotationError, match=r"t0\.lab"):
        lazy.compute(scheduler="synchronous")


def test_a_lazy_collection_is_a_mapping_whose_tracks_are_read_one_by_one(lazy: LazyCollection) -> None:
    track = lazy.tracks[0]
    assert track in lazy
    assert lazy[track].identical(lazy.compute(scheduler="synchronous")[track])
    assert lazy.isel(track=[name == track for name in lazy]).tracks == (track,)
    assert "array(" not in repr(lazy)


def test_a_lazy_collection_is_a_collection_of_dask(folder: Path, lazy: LazyCollection) -> None:
    assert dask.is_dask_collection(lazy)
    assert len(lazy.__dask_keys__()) == 3
    both = dask.compute(lazy, lazy.sel(track="t3"))
    assert [one.tracks for one in both] == [("t0", "t1", "t2", "t3", "t4"), ("t3",)]
    (held,) = dask.persist(lazy)
    mine = lazy.persist(scheduler="synchronous")
    for path in folder.iterdir():
        path.unlink()
    for one in (held, mine, pickle.loads(pickle.dumps(held))):
        assert one.compute()["t4"].identical(both[0]["t4"])
    with pytest.raises(AnnotationError, match=r"t\d\.lab"):
        dask.compute(lazy)


def test_scoring_reads_a_lazy_collection_in_blocks(lazy: LazyCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(LazyCollection, "__getitem__")
    assert (mirflow.score(lazy, lazy, "chord", metrics=["majmin"]).score == 1).all()


def test_unknown_tracks_and_patterns_are_errors(folder: Path, lazy: LazyCollection) -> None:
    with pytest.raises(UnknownNameError, match="unknown track 't9'"):
        lazy.sel(track="t9")
    with pytest.raises(AnnotationError, match="matches nothing"):
        mirflow.load_collection(folder / "{track}.jams", task="chord")
    with pytest.raises(AnnotationError, match="and no other placeholder"):
        mirflow.load_collection(folder / "{track}.{suffix}", task="chord")


def test_a_collection_is_aligned_lazily_on_frames(lazy: LazyCollection) -> None:
    eager = lazy.compute()
    frames = mirflow.align(lazy, {"hop": 0.1})
    assert dask.is_dask_collection(frames.code.data)
    assert frames.code.dtype == np.int32
    assert frames.code.chunks[0] == (2, 2, 1)
    for track in eager.tracks:
        alone = mirflow.align([eager.annotation(track)], {"hop": 0.1})
        row = frames.sel(track=track).compute()
        labels = np.array([*frames.vocabulary.values, ""])[row.code.values]
        count = alone.sizes["time"]
        np.testing.assert_array_equal(labels[:count], alone.label.values[0])
        np.testing.assert_array_equal(row.valid.values, np.arange(frames.sizes["time"]) < count)
        assert (row.code.values[count:] == -1).all()


def test_an_eager_collection_and_its_dataset_align_alike(lazy: LazyCollection) -> None:
    eager = lazy.compute()
    one, other = mirflow.align(eager, {"hop": 0.5}), mirflow.align(eager.dataset, {"hop": 0.5})
    np.testing.assert_array_equal(one.code, other.code)


def test_a_collection_has_no_union_grid(lazy: LazyCollection) -> None:
    with pytest.raises(AnnotationError, match="is aligned on frames"):
        mirflow.align(lazy, "union")


@pytest.mark.parametrize("task", ["chord", "beat", "hierarchy", "transcription", "melody", "multipitch"])
@pytest.mark.parametrize("grid", [{"hop": 0.1}, np.arange(2.0, 5.0, 0.3)])
def test_every_kind_is_a_lazy_array_of_what_each_track_is_alone(
    task: str, grid: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    tracks = {f"t{number}": sample(task, rng) for number in range(5)}
    tracks["t5"] = empty(task)
    monkeypatch.setattr(time_grids, "_CHUNK_VALUES", 50_000)
    sources = tuple(HeldSource(one, name) for name, one in tracks.items())
    lazy = LazyCollection(TASK_KINDS[task], tuple(tracks), sources, block=2)
    frames, eager = mirflow.align(lazy, grid), mirflow.align(collect(tracks), grid)
    assert all(dask.is_dask_collection(one.data) for one in frames.data_vars.values())
    computed = pickle.loads(pickle.dumps(frames)).compute()
    assert computed.identical(eager.compute())
    for name, one in tracks.items():
        row, alone = computed.sel(track=name), mirflow.align(one, grid)
        count = min(alone.sizes["time"], row.sizes["time"])
        for variable in ("count", "active", "onset", "velocity", "frequency", "voicing", "valid"):
            if variable in row:
                own = row[variable][..., : alone.sizes.get("voice")] if variable == "frequency" else row[variable]
                np.testing.assert_array_equal(own[:count], alone[variable][:count])
                assert not row[variable][count:].any()
        if "code" in row:
            texts = np.array([*row.vocabulary.values, ""])
            levels = slice(0, alone.sizes.get("level"))
            codes = row.code.values if row.code.ndim == 1 else row.code.values[levels]
            np.testing.assert_array_equal(texts[codes][..., :count], alone.label.values[..., :count])


def test_only_the_tracks_of_a_batch_are_read(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"t{number}.txt").write_text(f"0.0 {number + 1} 440.0\n")
    lazy = mirflow.load_collection(tmp_path / "{track}.txt", task="transcription", lazy=True, block=1)
    rolls = mirflow.align(lazy, {"hop": 0.5})
    (tmp_path / "t0.txt").unlink()
    batch = rolls.isel(track=[3, 1])
    assert batch.active.to_numpy().sum(axis=(1, 2)).tolist() == [8, 4]
    with pytest.raises(AnnotationError, match=r"t0\.txt"):
        rolls.active.compute()
