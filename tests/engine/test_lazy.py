"""Lazy collections read files when they are computed, and only those that are needed."""

from __future__ import annotations

from pathlib import Path

import dask
import numpy as np
import pytest

import mirflow
from mirflow.annotations.collection import Collection
from mirflow.engine.lazy import LazyCollection
from mirflow.errors import AnnotationError, UnknownNameError
from tests.datasets import write_lab


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
    one, other = mirflow.align(eager, {"hop": 0.5}), mirflow.align(eager.to_dataset(), {"hop": 0.5})
    np.testing.assert_array_equal(one.code, other.code)


def test_a_collection_has_no_union_grid(lazy: LazyCollection) -> None:
    with pytest.raises(AnnotationError, match="is aligned on frames"):
        mirflow.align(lazy, "union")
