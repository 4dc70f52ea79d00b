"""Blocks of work as dask tasks, and their cells as dense arrays."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..annotations.annotation import to_ragged
from ..annotations.schema import kind_of
from ..cells import Cells, concatenate_cells
from ..metrics.base import Sparse, get_task
from ..plan import EvaluationPlan, Stale
from ..ragged import Column, Int
from .block import score_block
from .combine import EACH_SCORE, EACH_WEIGHT, name_extras
from .side import empty_annotation
from .work import BLOCK, BlockWork, works_of

CELL_TYPES: Mapping[str, Any] = {
    "score": np.float64,
    "weight": np.float64,
    "status": np.int8,
    "repairs": np.int32,
    "message": object,
    "digest": object,
    "duration": np.float64,
}
_NOTHING: Mapping[str, Any] = {"score": np.nan, "message": "", "digest": ""}


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


def to_arrays(cells: Cells, systems: Sequence[str], extras: Mapping[str, Sparse]) -> dict[str, Any]:
    """The cells of one block as dense arrays over (system, track of the block, ...)."""
    tracks = {name: place for place, name in enumerate(dict.fromkeys(cells.track))}
    rows = {name: place for place, name in enumerate(systems)}
    row = np.array([rows[name] for name in cells.system], dtype=np.int64)
    column = np.array([tracks[name] for name in cells.track], dtype=np.int64)
    shape = (len(systems), len(tracks))
    arrays: dict[str, Any] = {"duration": np.zeros(len(tracks))}
    arrays["duration"][column] = cells.duration
    for name, dtype in CELL_TYPES.items():
        if name != "duration":
            values = np.asarray(getattr(cells, name), dtype=dtype)
            dense = np.full((*shape, *values.shape[1:]), _NOTHING.get(name, 0), dtype)
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
    """What the results with extra dims of a plan will look like: those of a block without any cell.

    Where labels are known only from the files, such as classes that nobody has listed, the files are read now, and
    these results are made once to get the labels that a run would find.
    """
    convention = get_task(plan.task).convention(plan.convention, plan.classes)
    nothing = convention.clean(to_ragged([empty_annotation(kind_of(plan.task))])).rows
    none = np.zeros(0, dtype=np.int64)
    found = convention.score(nothing, nothing, none, none, plan.measures, plan.grid).extras
    unlabelled = {name for name, sparse in found.items() if not all(sparse.coords)}
    if unlabelled:
        measures = tuple(one for one in plan.measures if one.variable in unlabelled)
        works = works_of(replace(plan, measures=measures, max_block=BLOCK), Stale(np.ones(plan.shape, dtype=np.bool_)))
        scored = concatenate_cells(map(score_block, works)).extras
        known = {name: scored[name].coords for name in unlabelled & scored.keys()}
        found = {name: replace(sparse, coords=known.get(name, sparse.coords)) for name, sparse in found.items()}
    extras = name_extras(found, plan.measures)
    if plan.combine == "each":
        dims = ("annotator", "metric")
        coords = (plan.annotators, tuple(str(measure) for measure in plan.measures if not measure.metric.dims))
        index, value = np.zeros((0, 3), dtype=np.int64), np.zeros(0)
        extras[EACH_SCORE] = Sparse(dims, coords, index, value, {"long_name": "score by annotator"}, np.nan)
        extras[EACH_WEIGHT] = Sparse(dims, coords, index, value, {"long_name": "weight by annotator"})
    return extras
