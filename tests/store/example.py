"""Contents of stores for the tests, and how to compare what was written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mirflow.metrics.base import Sparse
from mirflow.store import GroupContent
from mirflow.store.cells import Cells, Status

CREATED = "2000-01-01T00:00:00+00:00"
MEASURES = ("root", "majmin", "seg@0.5")
SYSTEMS = ("KO1", "NG 1", "Ünï")
TRACKS = tuple(f"track {i:02d}" for i in range(7))


def value_of(system: str, track: str, measure: str) -> float:
    """A score that tells which cell it is."""
    return sum(ord(c) * 31**i % 997 for i, c in enumerate(f"{system}/{track}/{measure}")) / 997.0


def make_cells(
    pairs: Sequence[tuple[str, str]], measures: tuple[str, ...] = MEASURES, *, offset: float = 0.0, extras: bool = False
) -> Cells:
    """Scored cells of some (system, track) pairs, each with the value of `value_of`."""
    score = np.array([[value_of(s, t, m) + offset for m in measures] for s, t in pairs]).reshape(
        len(pairs), len(measures)
    )
    count = len(pairs)
    sparse: dict[str, Sparse] = {}
    if extras:
        index = np.array([[cell, (cell + k) % 3, k] for cell in range(0, count, 2) for k in range(2)], dtype=np.int64)
        values = np.arange(1.0, len(index) + 1)
        attrs = {"long_name": "time", "units": "s"}
        sparse["confusion"] = Sparse(("ref", "est"), (("A", "B", "N"), ("x", "y")), index.reshape(-1, 3), values, attrs)
    return Cells(
        tuple(s for s, _ in pairs),
        tuple(t for _, t in pairs),
        measures,
        score,
        score * 100,
        np.full(count, Status.ok, dtype=np.int8),
        np.arange(count, dtype=np.int32),
        ("",) * count,
        tuple(f"{s}:{t}" for s, t in pairs),
        np.arange(count, dtype=np.int64) + 2**60,
        np.array([float(len(t)) for _, t in pairs]),
        sparse,
    )


def all_pairs(systems: Sequence[str] = SYSTEMS, tracks: Sequence[str] = TRACKS) -> list[tuple[str, str]]:
    return [(system, track) for system in systems for track in tracks]


def make_content(cells: Cells | None = None, **changes: Any) -> GroupContent:
    cells = make_cells(all_pairs()) if cells is None else cells
    return GroupContent(**{"name": "chord", "systems": SYSTEMS, "tracks": TRACKS, "cells": cells, **changes})


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by their relative names."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_same_cells(actual: Cells, expected: Cells) -> None:
    """Equal to the bit, NaN equal to NaN."""
    for name in ("system", "track", "measures", "message", "digest"):
        assert getattr(actual, name) == getattr(expected, name), name
    for name in ("score", "weight", "status", "repairs", "stamp", "duration"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), err_msg=name, strict=True)
    assert set(actual.extras) == set(expected.extras)
    for name, sparse in expected.extras.items():
        other = actual.extras[name]
        assert (other.dims, other.coords, dict(other.attrs)) == (sparse.dims, sparse.coords, dict(sparse.attrs))
        np.testing.assert_array_equal(other.fill, sparse.fill)
        np.testing.assert_array_equal(other.index, sparse.index, strict=True)
        np.testing.assert_array_equal(other.value, sparse.value, strict=True)
