"""The last chunk of a large array on a server is asked for before work for all begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import zarr
from zarr.storage import MemoryStore

from mirflow.store import zarr_io
from mirflow.store.zarr_io import WRITTEN, demand_written


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(MemoryStore, "demand", lambda self, *words: found.append(words), raising=False)
    return found


def array(files: int, **attributes: Any) -> zarr.Array[Any]:
    root = zarr.create_group(MemoryStore())
    made = root.create_array("score", shape=(2 * files - 1,), chunks=(2,), dtype=np.float64)
    made.attrs.update(attributes)
    return made


def test_only_that_one_and_only_of_large_arrays_that_are_written_whole(asked: list[tuple[str, str]]) -> None:
    demand_written(array(zarr_io._MANY))
    demand_written(array(zarr_io._MANY + 1, **{WRITTEN: 3}))
    assert asked == []
    demand_written(array(zarr_io._MANY + 1))
    demand_written(zarr.create_array(MemoryStore(), name="weight", shape=(2002, 3), chunks=(2, 2), dtype="f8"))
    assert asked == [("score", "c/1000"), ("weight", "c/1000/1")]
