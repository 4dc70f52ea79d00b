"""Scores as lazy arrays in chunks of tracks: only requested chunks are read, and they are scored together.

Scoring a block of tracks costs little more than scoring one track. Therefore, chunks may be single tracks: the number
of chunks per task is chosen when dask knows which are needed.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, chain
from operator import getitem
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer

from ..metrics.base import Sparse
from ..store.cells import CELL_ATTRS, no_cells
from .block import BLOCK, BlockWork, block_size, score_block
from .lazy import to_arrays

_CELL = ("system", "track")
Arrays = Mapping[str, Any]


def lazy_scores(
    works: Sequence[BlockWork], systems: Sequence[str], width: int, extras: Mapping[str, Sparse]
) -> dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]]:
    """Dims, dask array and attributes of each variable of a store's group, over all systems and tracks of the works.

    Parameters
    ----------
    works : sequence of BlockWork
        One per chunk, each with all systems of its tracks.
    systems : sequence of str
    width : int
        Number of scalar measures.
    extras : mapping of str to Sparse
        Templates of the results with extra dims; only dims, coords, attrs and fill are used.
    """
    layout: dict[str, tuple[tuple[str, ...], tuple[int, ...], Any, Mapping[str, Any]]] = {}
    for name, values in to_arrays(no_cells(("",) * width), (), {}).items():
        dims = ("track",) if name == "duration" else (*_CELL, "metric")[: values.ndim]
        layout[name] = dims, values.shape[2:], values.dtype, CELL_ATTRS[name]
    for name, sparse in extras.items():
        layout[name] = ((*_CELL, *sparse.dims), tuple(map(len, sparse.coords)), np.float64, sparse.attrs)
    chunks = ScoredChunks(works, systems, extras)
    sizes = tuple(len(work.tracks) for work in works)
    lazy: dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]] = {}
    for name, (dims, tail, dtype, attrs) in layout.items():
        head = (len(systems),) * (dims[0] == "system")
        key, rest = f"{chunks.name}-{name}", (0,) * len(tail)
        picked = {
            (key, *(0,) * len(head), number, *rest): (getitem, (chunks.name, number), name)
            for number in range(len(works))
        }
        graph = HighLevelGraph(
            {chunks.name: chunks, key: CulledLayer(picked)}, {chunks.name: set(), key: {chunks.name}}
        )
        shape = (*((size,) for size in head), sizes, *((size,) for size in tail))
        lazy[name] = (dims, da.Array(graph, key, shape, dtype), dict(attrs))
    return lazy


class ScoredChunks(Layer):  # type: ignore[misc]  # dask has no annotations
    """The scoring layer of a graph: a dict of arrays for each chunk.

    Keys are unique to the object: two objects in one expression must never share a task, as their files may differ
    even if their names do not.

    Parameters
    ----------
    works : sequence of BlockWork, one a chunk
    systems : sequence of str
    extras : mapping of str to Sparse
    """

    def __init__(self, works: Sequence[BlockWork], systems: Sequence[str], extras: Mapping[str, Sparse]) -> None:
        super().__init__()
        self.name = f"{works[0].evaluation if works else 'none'}-{uuid.uuid4().hex}"
        self.works = tuple(works)
        self.arrange = partial(to_arrays, systems=tuple(systems), extras=dict(extras))

    def cull(self, keys: set[Any], all_hlg_keys: Collection[Any]) -> tuple[Layer, Mapping[Any, set[Any]]]:
        """The tasks for the requested chunks, and their dependencies."""
        asked = sorted(key[1] for key in keys if isinstance(key, tuple) and len(key) == 2 and key[0] == self.name)
        tasks = self._tasks(asked)
        return MaterializedLayer(tasks), {key: set(task[1:]) for key, task in tasks.items()}

    def _tasks(self, asked: Sequence[int]) -> dict[Any, tuple[Any, ...]]:
        """One task for each block of chunks, and one to extract each chunk from it."""
        if not asked:
            return {}
        most = block_size(self.works[0].task, BLOCK)
        together = max(1, most // max(len(self.works[number].tracks) for number in asked))
        tasks: dict[Any, tuple[Any, ...]] = {}
        for start in range(0, len(asked), together):
            numbers = asked[start : start + together]
            works = [self.works[number] for number in numbers]
            block = f"{self.name}-block-{tokenize(numbers)}"
            # Bound, not passed: dask would search an argument, with all its sources, for keys.
            tasks[block] = (partial(_score_together, works, self.arrange),)
            ends = accumulate(len(work.tracks) for work in works)
            for number, work, end in zip(numbers, works, ends, strict=True):
                tasks[self.name, number] = (partial(_take_chunk, end - len(work.tracks), end), block)
        return tasks

    @cached_property
    def _whole(self) -> dict[Any, tuple[Any, ...]]:
        return self._tasks(range(len(self.works)))

    def is_materialized(self) -> bool:
        """True if the tasks have been made."""
        return "_whole" in self.__dict__

    def get_output_keys(self) -> set[Any]:
        """One key per chunk."""
        return {(self.name, number) for number in range(len(self.works))}

    def __getitem__(self, key: Any) -> Any:
        return self._whole[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


class CulledLayer(MaterializedLayer):  # type: ignore[misc]  # dask has no annotations
    """Tasks that depend on at most one other task, their first argument, culled to the requested ones.

    Dask's own culling keeps all of them if the number of requested keys happens to be the same.
    """

    def cull(self, keys: set[Any], all_hlg_keys: Collection[Any]) -> tuple[Layer, Mapping[Any, set[Any]]]:
        """The requested chunks."""
        tasks = {key: self.mapping[key] for key in keys if key in self.mapping}
        return MaterializedLayer(tasks), {key: set(task[1:2]) for key, task in tasks.items()}


def _score_together(works: Sequence[BlockWork], arrange: Any) -> Arrays:
    tracks = tuple(chain.from_iterable(work.tracks for work in works))
    arrays: Arrays = arrange(score_block(replace(works[0], tracks=tracks)))
    return arrays


def _take_chunk(start: int, stop: int, arrays: Arrays) -> Arrays:
    """Select the tracks of a chunk: along the first dim of variables of tracks, along the second of cells."""
    tracks = slice(start, stop)
    return {name: values[tracks] if name == "duration" else values[:, tracks] for name, values in arrays.items()}
