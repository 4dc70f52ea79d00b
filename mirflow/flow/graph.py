"""Blocks of work as a dask graph: one task a block, and lazy labelled arrays over all of them."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..annotations.annotation import to_ragged
from ..annotations.schema import kind_of
from ..cells import CELL_ATTRS, Cells
from ..errors import MetricError
from ..metrics.base import Sparse, get_task
from ..plan import EvaluationPlan
from ..ragged import Column, Int
from .block import score_block
from .combine import EACH_SCORE, EACH_WEIGHT, name_extras
from .side import empty_annotation
from .work import BlockWork

_CELL_TYPES: Mapping[str, Any] = {
    "score": np.float64,
    "weight": np.float64,
    "status": np.int8,
    "repairs": np.int32,
    "message": np.dtypes.StringDType(),
    "digest": np.dtypes.StringDType(),
    "stamp": np.int64,
    "duration": np.float64,
}


def lazy_blocks(works: Sequence[BlockWork]) -> list[Any]:
    """One delayed task for each block.

    Keys are unique to the call: two runs, on one cluster or in one expression, must never share a task, as their files
    may differ although their names do not.
    """
    import dask

    run = uuid.uuid4().hex
    # Bound, not passed: dask would search an argument, with all its sources, for collections to compute first.
    tasks = [dask.delayed(functools.partial(score_block, work), pure=False) for work in works]
    return [
        task(dask_key_name=f"{work.evaluation}-block-{number}-{run}")
        for number, (task, work) in enumerate(zip(tasks, works, strict=True))
    ]


def lazy_scores(
    works: Sequence[BlockWork], systems: Sequence[str], width: int, extras: Mapping[str, Sparse]
) -> dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]]:
    """Lazy arrays over all systems and the tracks of all blocks.

    Parameters
    ----------
    works : sequence of BlockWork
        Each with every system of its tracks.
    systems : sequence of str
    width : int
        Number of scalar measures.
    extras : mapping of str to Sparse
        What the results with extra dims will look like; only dims, coords, attrs and fill are used.

    Returns
    -------
    dict of str to (dims, dask array, attrs)
        What the group of a store has, all from one task a block, and the extras.
    """
    import dask
    import dask.array as da

    task = dask.delayed(to_arrays, pure=True)
    arrays = [task(block, tuple(systems), dict(extras)) for block in lazy_blocks(works)]
    cell = ("system", "track")
    layout: dict[str, tuple[tuple[str, ...], tuple[int, ...], Any, Mapping[str, Any]]] = {}
    for name, dtype in _CELL_TYPES.items():
        layout[name] = (cell, (), dtype, CELL_ATTRS[name])
    for name in ("score", "weight"):
        layout[name] = ((*cell, "metric"), (width,), np.float64, CELL_ATTRS[name])
    layout["duration"] = (("track",), (), np.float64, CELL_ATTRS["duration"])
    for name, sparse in extras.items():
        layout[name] = ((*cell, *sparse.dims), tuple(map(len, sparse.coords)), np.float64, sparse.attrs)
    lazy: dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]] = {}
    for name, (dims, tail, dtype, attrs) in layout.items():
        head = () if name == "duration" else (len(systems),)
        parts = [
            da.from_delayed(block[name], (*head, len(work.tracks), *tail), dtype)
            for block, work in zip(arrays, works, strict=True)
        ]
        lazy[name] = (dims, da.concatenate(parts, axis=len(head)), dict(attrs))
    return lazy


def to_arrays(cells: Cells, systems: Sequence[str], extras: Mapping[str, Sparse]) -> dict[str, Any]:
    """The cells of one block as dense arrays over (system, track of the block, ...)."""
    tracks = {name: place for place, name in enumerate(dict.fromkeys(cells.track))}
    rows = {name: place for place, name in enumerate(systems)}
    row = np.array([rows[name] for name in cells.system], dtype=np.int64)
    column = np.array([tracks[name] for name in cells.track], dtype=np.int64)
    shape = (len(systems), len(tracks))
    arrays: dict[str, Any] = {"duration": np.zeros(len(tracks))}
    arrays["duration"][column] = cells.duration
    for name, dtype in _CELL_TYPES.items():
        if name != "duration":
            values = np.asarray(getattr(cells, name), dtype=dtype)
            dense = np.full((*shape, *values.shape[1:]), np.nan if name == "score" else np.zeros(1, dtype)[0], dtype)
            dense[row, column] = values
            arrays[name] = dense
    for name, like in extras.items():
        dense = np.full((*shape, *map(len, like.coords)), like.fill)
        if name in cells.extras:
            _put(dense, cells.extras[name], like, row, column)
        arrays[name] = dense
    return arrays


def _put(dense: Column, sparse: Sparse, like: Sparse, row: Int, column: Int) -> None:
    """Write the entries of a block; its labels, such as annotators, may be fewer than those of the whole."""
    where = []
    for axis, (own, whole) in enumerate(zip(sparse.coords, like.coords, strict=True)):
        place = {label: number for number, label in enumerate(whole)}
        where.append(np.array([place[label] for label in own], dtype=np.int64)[sparse.index[:, 1 + axis]])
    cell = sparse.index[:, 0]
    dense[(row[cell], column[cell], *where)] = sparse.value


def expected_extras(plan: EvaluationPlan) -> dict[str, Sparse]:
    """What the results with extra dims of a plan will look like: those of a block without any cell."""
    convention = get_task(plan.task).convention(plan.convention, plan.classes)
    nothing = convention.clean(to_ragged([empty_annotation(kind_of(plan.task))])).rows
    none = np.zeros(0, dtype=np.int64)
    found = convention.score(nothing, nothing, none, none, plan.measures, plan.grid).extras
    extras = name_extras(found, plan.measures)
    for name, sparse in extras.items():
        for dim, labels in zip(sparse.dims, sparse.coords, strict=True):
            if not labels:
                raise MetricError(
                    f"{name}: its labels along {dim!r} are known only when all files have been read, so it cannot be "
                    "lazy; run the pipeline and open its store"
                )
    if plan.combine == "each":
        dims = ("annotator", "metric")
        coords = (plan.annotators, tuple(str(measure) for measure in plan.measures if not measure.metric.dims))
        index, value = np.zeros((0, 3), dtype=np.int64), np.zeros(0)
        extras[EACH_SCORE] = Sparse(dims, coords, index, value, {"long_name": "score by annotator"}, np.nan)
        extras[EACH_WEIGHT] = Sparse(dims, coords, index, value, {"long_name": "weight by annotator"})
    return extras
