"""Inference reads a few systems at a time: blocks change no number, and memory follows them."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest
import xarray as xr

from mirflow.analysis import selection
from mirflow.analysis.inference import blocks, compare, intervals, paired, permutation
from mirflow.analysis.inference.noninferiority import noninferiority
from mirflow.analysis.query_options import Query
from mirflow.store.read import read_scores

from ...groups import random_group, write_store
from ..test_selection import incomplete_group
from .worlds import random_world

ARTISTS = {"artist": [f"artist {track % 20}" for track in range(40)]}


def same(found: xr.Dataset, whole: xr.Dataset) -> None:
    assert found.attrs == whole.attrs
    for name in whole.data_vars:
        check = np.testing.assert_allclose if whole[name].dtype.kind == "f" else np.testing.assert_array_equal
        check(
            found[name].values, whole[name].values, **({"rtol": 1e-12, "atol": 1e-12} if "f" in check.__name__ else {})
        )


@pytest.fixture
def small(monkeypatch):
    """A function that makes blocks as small as can be."""

    def shrink() -> None:
        monkeypatch.setattr(blocks, "_BLOCK", 1)
        monkeypatch.setattr(permutation, "_TERMS", 1)
        monkeypatch.setattr(paired, "_NUMBERS", 1)

    return shrink


WORDS = {"replicates": 90}
QUERIES = [Query(missing=missing) for missing in (None, "skip", "zero")] + [Query("root", "mean", sort="best")]


class TestBlocks:
    @pytest.mark.parametrize("query", QUERIES, ids=["common", "skip", "zero", "best first"])
    def test_change_no_number_where_scores_are_missing(self, query, small):
        ds = incomplete_group()
        asks = [
            lambda: intervals(ds, query, **WORDS),
            lambda: compare(ds, query, **WORDS),
            lambda: noninferiority(ds, query, "S1", **WORDS),
        ]
        whole = [ask() for ask in asks]
        small()
        for ask, expected in zip(asks, whole, strict=True):
            same(ask(), expected)

    @pytest.mark.parametrize(
        "words",
        [{"test": "t", "correction": "bh"}, {"correction": "holm"}, {"cluster": "artist"}, {"unit": "artist"}],
        ids=["t", "holm", "cluster", "unit"],
    )
    def test_change_no_comparison(self, words, small):
        ds = random_world(5, 40, track_meta=ARTISTS)
        query = Query(aggregate="mean")
        whole = compare(ds, query, **words, **WORDS)
        small()
        same(compare(ds, query, **words, **WORDS), whole)

    def test_of_systems_with_the_same_weights_share_one_denominator(self, small):
        ds = random_world(5, 40)
        ds["weight"][:] = ds["weight"][0]
        whole = compare(ds, **WORDS)
        small()
        same(compare(ds, **WORDS), whole)


@pytest.mark.slow
@pytest.mark.parametrize("ask", [intervals, partial(noninferiority, baseline="S1")], ids=["intervals", "gate"])
def test_memory_follows_the_block(tmp_path, ask, monkeypatch):
    """80 systems and 20,000 tracks, whose scores and weights take 26 MB."""
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 16)
    monkeypatch.setattr(selection, "_BLOCK", 1 << 16)
    monkeypatch.setattr(selection, "_LARGEST", 1 << 16)
    ds = random_group(80, 20_000, 1)
    path = write_store(tmp_path / "x.zarr", {"chord": ds})
    ask(read_scores(path)["chord"], query=Query(system=["S0", "S1", "S2"]))  # imports
    tracemalloc.start()
    try:
        ask(read_scores(path)["chord"], query=Query())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (ds["score"].nbytes + ds["weight"].nbytes) / 2
