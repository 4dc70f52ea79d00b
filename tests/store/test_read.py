"""Results of a store and of memory: what is read of those with more dims, and what comes back as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirflow.metrics.base import Sparse
from mirflow.store import GroupContent, StoreWriter
from mirflow.store.cells import Cells, Status
from mirflow.store.format import extra_entries, loaded
from mirflow.store.read import content_of, dataset_of, open_groups
from mirflow.store.stored import StoredGroup

SECONDS = np.array([[[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [4.0, 5.0], [6.0, 0.0]]])
"""Over 2 systems, 3 tracks and 2 classes; the second track of the first system has no result."""


def content(fill: float = 0.0) -> GroupContent:
    cells = [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)]
    index = [(row, label) for row, cell in enumerate(cells) for label in (0, 1) if SECONDS[(*cell, label)]]
    value = np.array([SECONDS[(*cells[row], label)] for row, label in index])
    count = len(cells)
    return GroupContent(
        "chord",
        ("a", "b"),
        ("x", "y", "z"),
        Cells(
            tuple("ab"[system] for system, _ in cells),
            tuple("xyz"[track] for _, track in cells),
            ("root",),
            np.arange(count, dtype=np.float64)[:, np.newaxis] / 8,
            np.ones((count, 1)),
            np.full(count, Status.ok, dtype=np.int8),
            np.zeros(count, dtype=np.int32),
            ("",) * count,
            ("",) * count,
            np.zeros(count, dtype=np.int64),
            np.full(count, 9.0),
            {"seconds": Sparse(("class",), (("maj", "min"),), np.array(index), value, {"units": "s"}, fill)},
        ),
    )


@pytest.mark.parametrize("fill", [0.0, np.nan])
@pytest.mark.parametrize(
    "key",
    [
        (slice(None), slice(None), slice(None)),
        (1, slice(None), 0),
        (slice(None), [2, 0], slice(None)),
        ([1, 0], 1, slice(1, 2)),
        ([1], [1, 1], [1, 0]),
        (0, 2, 1),
        (slice(0, 0), slice(None), slice(None)),
    ],
)
def test_any_part_is_that_of_the_whole(key: tuple[Any, ...], fill: float) -> None:
    whole = np.where(SECONDS == 0, fill, SECONDS)
    found = dataset_of(content(fill))["seconds"][key].values
    expected = whole[np.ix_(*(np.atleast_1d(np.arange(size)[one]) for size, one in zip(whole.shape, key, strict=True)))]
    np.testing.assert_array_equal(found, expected.reshape(found.shape))


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_it_comes_back_as_it_was(fill: float) -> None:
    made = content(fill)
    for again in (content_of(dataset_of(made)), loaded(made)):
        assert (again.cells.system, again.cells.track) == (made.cells.system, made.cells.track)
        np.testing.assert_array_equal(again.cells.extras["seconds"].index, made.cells.extras["seconds"].index)
        np.testing.assert_array_equal(again.cells.extras["seconds"].value, made.cells.extras["seconds"].value)
        np.testing.assert_array_equal(extra_entries(again, "seconds").index, [[0, 0], [2, 1], [4, 0], [4, 1], [5, 0]])


def test_entries_of_cells_without_a_status_are_left_out() -> None:
    made = content()
    made.cells.status[0] = made.cells.status[3] = 0
    for again in (content_of(dataset_of(made)), loaded(made)):
        assert again.cells.track == ("z", "x", "z")
        assert again.cells.extras["seconds"].index.tolist() == [[0, 1], [2, 0]]
        assert again.cells.extras["seconds"].value.tolist() == [2.0, 6.0]


def test_texts_are_blank_in_a_folder_and_where_files_are_not_at_hand(tmp_path: Path) -> None:
    made = content()
    cells = replace(made.cells, message=("", "late", "", "", ""))
    with StoreWriter(tmp_path / "s.zarr") as writer:
        writer.publish([replace(made, cells=cells)], {})
    stored = open_groups(tmp_path / "s.zarr")["chord"].stored["a"]
    assert isinstance(stored, StoredGroup)
    for folder in (stored.folder, None):
        stored.folder = folder
        assert [stored.is_blank("message", system) for system in ("a", "b")] == [False, True]
