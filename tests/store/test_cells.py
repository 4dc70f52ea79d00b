"""Cells: taking and joining results keeps every value with its cell."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.metrics.base import Sparse
from mirflow.store.cells import Cells, concatenate_cells


def cells(system: str, tracks: str, annotators: tuple[str, ...] = ("a", "b")) -> Cells:
    count = len(tracks)
    place = np.arange(count, dtype=np.int64)
    extra = Sparse(("annotator",), (annotators,), np.column_stack([place, place % 2]), place + 0.5, {"units": "s"})
    return Cells(
        (system,) * count,
        tuple(tracks),
        ("root",),
        place[:, None] * 0.1,
        place[:, None] + 1.0,
        np.ones(count, dtype=np.int8),
        np.zeros(count, dtype=np.int32),
        ("",) * count,
        tuple(f"{track}:{system}" for track in tracks),
        place,
        place * 10.0,
        {"seconds": extra},
    )


def entries(some: Cells) -> dict[tuple[str, str, str], float]:
    sparse = some.extras["seconds"]
    return {
        (some.system[cell], some.track[cell], sparse.coords[0][place]): value
        for (cell, place), value in zip(sparse.index.tolist(), sparse.value.tolist(), strict=True)
    }


def test_taking_cells_takes_their_extras_along() -> None:
    some = cells("KO1", "abc").take(np.array([2, 0]))
    assert some.track == ("c", "a")
    assert some.digest == ("c:KO1", "a:KO1")
    assert entries(some) == {("KO1", "c", "a"): 2.5, ("KO1", "a", "a"): 0.5}


def test_joined_cells_keep_their_extras_even_if_their_labels_differ() -> None:
    joined = concatenate_cells([cells("KO1", "ab"), cells("NG1", "ab", ("b", "c"))])
    assert joined.score.ravel().tolist() == [0.0, 0.1, 0.0, 0.1]
    assert joined.extras["seconds"].coords == (("a", "b", "c"),)
    assert entries(joined) == {
        ("KO1", "a", "a"): 0.5,
        ("KO1", "b", "b"): 1.5,
        ("NG1", "a", "b"): 0.5,
        ("NG1", "b", "c"): 1.5,
    }


def test_nothing_cannot_be_joined() -> None:
    with pytest.raises(ValueError, match="nothing to concatenate"):
        concatenate_cells([])
