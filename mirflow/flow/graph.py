"""Blocks of work as a dask graph: one task a block, and lazy labelled arrays over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..annotations.annotation import to_ragged
from ..annotations.schema import kind_of
from ..cells import Cells
from ..metrics.base import Sparse, get_task
from ..plan import EvaluationPlan
from ..status import Status
from .block import score_block
from .combine import EACH_SCORE, EACH_WEIGHT
from .side import empty_annotation
from .work import BlockWork


def lazy_blocks(works: Sequence[BlockWork]) -> list[Any]:
    """One delayed task for each block; its key names the evaluation and the block's number and first track."""
    import dask

    task = dask.delayed(score_block, pure=True)
    return [
        task(work, dask_key_name=f"{work.evaluation}-block-{number}-{work.tracks[0].track}")
        for number, work in enumerate(works)
    ]


def lazy_scores(
    works: Sequence[BlockWork], systems: Sequence[str], width: int, extras: Mapping[str, Sparse]
) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
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
        ``score`` and ``weight`` float64 and ``status`` int8, all from one task a block, and the extras.
    """
    import dask
    import dask.array as da

    blocks = lazy_blocks(works)
    task = dask.delayed(to_arrays, pure=True)
    arrays = [task(block, tuple(systems), dict(extras)) for block in blocks]
    cell, scores = ("system", "track"), ("system", "track", "metric")
    layout: dict[str, tuple[tuple[str, ...], tuple[int, ...], str, dict[str, str]]] = {
        "score": (scores, (width,), "float64", {"long_name": "score"}),
        "weight": (scores, (width,), "float64", {"long_name": "weight of the score"}),
        "status": (cell, (), "int8", {"long_name": "outcome"}),
    }
    for name, sparse in extras.items():
        layout[name] = ((*cell, *sparse.dims), tuple(map(len, sparse.coords)), "float64", dict(sparse.attrs))
    lazy = {}
    for name, (dims, shape, dtype, attrs) in layout.items():
        parts = [
            da.from_delayed(block[name], (len(systems), len(work.tracks), *shape), dtype)
            for block, work in zip(arrays, works, strict=True)
        ]
        lazy[name] = (dims, da.concatenate(parts, axis=1), attrs)
    return lazy


def to_arrays(cells: Cells, systems: Sequence[str], extras: Mapping[str, Sparse]) -> dict[str, Any]:
    """The cells of one block as dense arrays over (system, track of the block, ...)."""
    tracks = {name: place for place, name in enumerate(dict.fromkeys(cells.track))}
    row = np.array([systems.index(name) for name in cells.system], dtype=np.int64)
    column = np.array([tracks[name] for name in cells.track], dtype=np.int64)
    shape = (len(systems), len(tracks))
    arrays: dict[str, Any] = {
        "score": np.full((*shape, len(cells.measures)), np.nan),
        "weight": np.zeros((*shape, len(cells.measures))),
        "status": np.full(shape, Status.not_computed, dtype=np.int8),
    }
    arrays["score"][row, column] = cells.score
    arrays["weight"][row, column] = cells.weight
    arrays["status"][row, column] = cells.status
    for name, like in extras.items():
        dense = np.full((*shape, *map(len, like.coords)), like.fill)
        if name in cells.extras:
            sparse = cells.extras[name]
            # Annotators of a block may be fewer than those of the whole: match positions by label.
            places = [
                np.array([whole.index(label) for label in own], dtype=np.int64)
                for own, whole in zip(sparse.coords, like.coords, strict=True)
            ]
            where = [place[sparse.index[:, 1 + axis]] for axis, place in enumerate(places)]
            cell = sparse.index[:, 0]
            dense[(row[cell], column[cell], *where)] = sparse.value
        arrays[name] = dense
    return arrays


def expected_extras(plan: EvaluationPlan) -> dict[str, Sparse]:
    """What the results with extra dims of a plan will look like: those of a block without any cell."""
    convention = get_task(plan.task).convention(plan.convention)
    nothing = convention.clean(to_ragged([empty_annotation(kind_of(plan.task))])).rows
    none = np.zeros(0, dtype=np.int64)
    extras = dict(convention.score(nothing, nothing, none, none, plan.measures, plan.grid).extras)
    if plan.combine == "each":
        dims = ("annotator", "metric")
        coords = (plan.annotators, tuple(str(measure) for measure in plan.measures if not measure.metric.dims))
        index, value = np.zeros((0, 3), dtype=np.int64), np.zeros(0)
        extras[EACH_SCORE] = Sparse(dims, coords, index, value, {"long_name": "score by annotator"}, np.nan)
        extras[EACH_WEIGHT] = Sparse(dims, coords, index, value, {"long_name": "weight by annotator"})
    return extras
