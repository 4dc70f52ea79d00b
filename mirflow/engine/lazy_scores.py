"""The scores of a plan as lazy arrays: only what is asked for is read, each cell once for all variables.

One layer of a graph of dask scores the blocks of all that an expression needs; the arrays of all variables are cut from
it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import index as as_integer
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer

from ..metrics.base import Sparse
from ..pipeline.plan import EvaluationPlan
from ..ragged import Int
from ..store.cells import CELL_ATTRS, Cells, GroupContent, concatenate_cells, no_cells, relabel
from ..store.format import FINGERPRINTS, TEXTS, dense_cells, usable_text
from .block import block_size
from .schedule import block_graph

_CELL = ("system", "track")
_TEXT = np.dtype("O", metadata={"element_type": str})
"""Of texts that xarray writes without computing them first to see what they are."""

Arrays = Mapping[str, Any]
Pick: TypeAlias = "int | Int"  # what is selected along a dim: a place, which removes the dim, or places


def lazy_scores(
    plan: EvaluationPlan, width: int, extras: Mapping[str, Sparse], size: int | None = None
) -> dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]]:
    """Dims, dask array and attributes of each variable of a store's group, over all systems and tracks of a plan.
    `extras`: templates of the results with extra dims; only dims, coords, attrs and fill are used. `size`: number of
    tracks of a chunk; None: those of a block of a run."""
    layout: dict[str, tuple[tuple[str, ...], tuple[int, ...], Any, Mapping[str, Any]]] = {}
    for name, values in to_arrays(("",), (), {}, no_cells(("",) * width)).items():
        dims = ("track",) if name == "duration" else (*_CELL, "metric")[: values.ndim]
        layout[name] = dims, values.shape[2:], _TEXT if name in TEXTS else values.dtype, CELL_ATTRS[name]
    for name, sparse in extras.items():
        layout[name] = (*_CELL, *sparse.dims), tuple(map(len, sparse.coords)), np.dtype(np.float64), sparse.attrs
    cells = ScoredCells(plan, dict(extras), size or block_size(plan.task, plan.max_block), uuid.uuid4().hex)
    lazy = {}
    for name, (dims, tail, dtype, attrs) in layout.items():
        sizes = (*plan.shape[dims[0] == "track" :], *tail)
        lazy[name] = dims, ScoreArray.of(cells, name, dtype, tuple(map(np.arange, sizes))), dict(attrs)
    return lazy


def to_arrays(
    systems: Sequence[str], tracks: Sequence[str], extras: Mapping[str, Sparse], *blocks: Cells
) -> dict[str, Any]:
    """The cells of blocks as dense arrays over (system, track, ...), with text as objects; those of others are left
    out. Without systems, what the references alone say of the tracks. `extras` have the labels of the whole, of which
    those of some cells, such as annotators, may be fewer."""
    cells = concatenate_cells(blocks)
    if not systems:
        every = GroupContent("tracks", tuple(dict.fromkeys(cells.system)), tuple(tracks), cells)
        return dense_cells(every, ["duration"])
    block = GroupContent("block", tuple(systems), tuple(tracks), cells)
    arrays = {name: usable_text(values) for name, values in dense_cells(block).items() if name != FINGERPRINTS}
    cell = block.places
    for name, like in extras.items():
        dense = np.full((block.shape[0] * block.shape[1], *map(len, like.coords)), like.fill)
        if name in cells.extras:
            sparse = relabel(cells.extras[name], like.coords)
            held = cell[sparse.index[:, 0]] >= 0
            dense[(cell[sparse.index[held, 0]], *sparse.index[held, 1:].T)] = sparse.value[held]
        arrays[name] = dense.reshape(*block.shape, *dense.shape[1:])
    return arrays


@dataclass(frozen=True, eq=False)
class Selection:
    """Some systems, and some tracks in chunks; no system: what the references alone say of the tracks."""

    name: str
    rows: Int
    chunks: tuple[Int, ...]  # places of the tracks of each


class ScoredCells(Layer):  # type: ignore[misc]  # dask has no annotations
    """The part of a graph that scores: blocks of all cells that an expression needs, and chunks that are cut from them.
    One object serves all arrays of an evaluation. So blocks are made, as those of a run are, when dask knows everything
    that is needed: each cell is scored once, whatever is selected from how many variables, and with it only its own
    files are read. Keys are unique to the object."""

    has_legacy_tasks = True

    def __init__(self, plan: EvaluationPlan, extras: Mapping[str, Sparse], size: int, token: str) -> None:
        super().__init__()
        self.plan, self.extras, self.size, self.token = plan, extras, size, token
        self.name = f"{plan.name}-cells-{self.token}"
        # An array holds its own selection.
        self._selections: WeakValueDictionary[str, Selection] = WeakValueDictionary()

    def __reduce__(self) -> tuple[Any, ...]:
        return ScoredCells, (self.plan, self.extras, self.size, self.token), [*self._selections.values()]

    def __setstate__(self, selections: Sequence[Selection]) -> None:
        for selection in selections:
            self._selections[selection.name] = selection

    def select(self, rows: Int, columns: Int) -> Selection:
        """A selection of systems and tracks by their places, the same for all variables."""
        name = f"{self.plan.name}-chunk-{self.token}-{tokenize(rows, columns)}"
        chunks = tuple(columns[start : start + self.size] for start in range(0, len(columns), self.size))
        return self._selections.setdefault(name, Selection(name, rows, chunks))

    def cull(self, keys: set[Any], all_hlg_keys: Collection[Any]) -> tuple[Layer, Mapping[Any, set[Any]]]:
        """The tasks for the requested chunks, and their dependencies."""
        wanted = sorted(key for key in keys if isinstance(key, tuple) and key[0] in self._selections)
        tasks = self._tasks(wanted)
        return MaterializedLayer(tasks), {key: set(task[1:]) for key, task in tasks.items()}

    def _tasks(self, keys: Sequence[tuple[str, int]]) -> dict[Any, tuple[Any, ...]]:
        plan, token = self.plan, tokenize(self.token, keys)
        needed, measured = np.zeros(plan.shape, dtype=np.bool_), np.zeros(plan.shape, dtype=np.bool_)
        for name, number in keys:
            selection = self._selections[name]
            needed[np.ix_(selection.rows, selection.chunks[number])] = True
            measured[:1, selection.chunks[number]] |= not len(selection.rows)
        # Of tracks without a needed cell, only the references are read.
        measured &= ~needed.any(axis=0)
        plan = replace(plan, max_block=max(plan.max_block, self.size))
        without = replace(plan, estimates=((None,) * plan.shape[1],) * plan.shape[0])
        tasks: dict[Any, tuple[Any, ...]] = {}
        block_of: dict[int, Any] = {}
        for scored, cells, name in ((plan, needed, token), (without, measured, f"{token}-reference")):
            if not cells.any():
                continue
            graph = block_graph(scored, cells, name)
            tasks |= graph
            block_of |= {column: key for key, (task,) in graph.items() for column in task.columns.tolist()}
        for key in keys:
            selection = self._selections[key[0]]
            columns = selection.chunks[key[1]].tolist()
            labels = [plan.systems[row] for row in selection.rows], [plan.tracks[column] for column in columns]
            blocks = dict.fromkeys(block_of[column] for column in columns)
            tasks[key] = (partial(to_arrays, *labels, self.extras), *blocks)
        return tasks

    def get_output_keys(self) -> set[Any]:
        """One key per chunk."""
        return {
            (name, number) for name, selection in self._selections.items() for number in range(len(selection.chunks))
        }

    def is_materialized(self) -> bool:
        """Tasks are made anew for all that is selected."""
        return False

    def __getitem__(self, key: Any) -> Any:
        return self._tasks(sorted(self.get_output_keys()))[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tasks(sorted(self.get_output_keys())))

    def __len__(self) -> int:
        return len(self._tasks(sorted(self.get_output_keys())))


class ScoreArray(da.Array):  # type: ignore[misc]  # dask has no annotations
    """A variable of the scores, which selects cells before there is a graph. A chunk has all systems of its tracks; a
    selection has chunks of its own, of what is selected and nothing else. Any other operation gives a plain dask
    array."""

    cells: ScoredCells
    variable: str
    picks: tuple[Pick, ...]

    @classmethod
    def of(cls, cells: ScoredCells, variable: str, dtype: Any, picks: tuple[Pick, ...]) -> ScoreArray:
        """An array of what is picked along each dim of a variable: systems, unless it has none, tracks, and others."""
        (*system, track), others = picks[: 1 + (variable != "duration")], picks[1 + (variable != "duration") :]
        none = np.zeros(0, dtype=np.int64)
        selection = cells.select(np.atleast_1d(system[0]) if system else none, np.atleast_1d(track))
        key = f"{selection.name}-{variable}-{tokenize(picks)}"
        sizes: list[tuple[int, ...]] = [(len(pick),) for pick in (*system, *others) if not isinstance(pick, int)]
        axis = len(system) - (bool(system) and isinstance(system[0], int))
        index = tuple(0 if isinstance(pick, int) else slice(None) for pick in (*system, track))
        take = partial(_take, variable, index, others)
        chunks = range(len(selection.chunks))
        if isinstance(track, int):
            keys = {0: (key, *(0,) * len(sizes))}
        else:
            zeros = (0,) * axis, (0,) * (len(sizes) - axis)
            keys = {number: (key, *zeros[0], number, *zeros[1]) for number in chunks}
            sizes.insert(axis, tuple(map(len, selection.chunks)))
        layer = CulledLayer({keys[number]: (take, (selection.name, number)) for number in keys})
        layer.selection = selection
        graph = HighLevelGraph({cells.name: cells, key: layer}, {cells.name: set(), key: {cells.name}})
        array: ScoreArray = cls(graph, key, tuple(sizes), dtype)
        array.cells, array.variable, array.picks = cells, variable, picks
        return array

    def __getitem__(self, index: Any) -> Any:
        """What is selected by places, slices, and at most one array of distinct places."""
        indices = index if isinstance(index, tuple) else (index,)
        axes = [axis for axis, pick in enumerate(self.picks) if not isinstance(pick, int)]
        picks = [*self.picks]
        if len(indices) > len(axes) or sum(isinstance(part, np.ndarray | list) for part in indices) > 1:
            return super().__getitem__(index)
        for axis, part in zip(axes, indices, strict=False):
            try:
                key = np.asarray(part) if isinstance(part, list) else part
                pick = np.asarray(picks[axis])[key if isinstance(key, slice | np.ndarray) else as_integer(key)]
            except TypeError:  # an array that is computed, a new axis, all that is left
                return super().__getitem__(index)
            if np.ndim(pick) > 1 or not np.size(pick) or len(np.unique(pick)) < np.size(pick):
                return super().__getitem__(index)
            picks[axis] = pick if np.ndim(pick) else int(pick)
        return ScoreArray.of(self.cells, self.variable, self.dtype, tuple(picks))


class CulledLayer(MaterializedLayer):  # type: ignore[misc]  # dask has no annotations
    """Tasks that depend on at most one other task, their first argument, culled to the requested ones. Dask's own
    culling keeps all of them if the number of requested keys happens to be the same."""

    selection: Selection | None = None  # what the tasks take from, which lives as long as they do

    def cull(self, keys: set[Any], all_hlg_keys: Collection[Any]) -> tuple[Layer, Mapping[Any, set[Any]]]:
        """The requested chunks."""
        tasks = {key: self.mapping[key] for key in keys if key in self.mapping}
        return MaterializedLayer(tasks), {key: set(task[1:2]) for key, task in tasks.items()}


def _take(variable: str, index: tuple[Any, ...], others: tuple[Pick, ...], arrays: Arrays) -> Any:
    """A variable of a chunk, and of it what is picked along the dims after systems and tracks."""
    values, first = arrays[variable][index], sum(isinstance(part, slice) for part in index)
    for number in reversed(range(len(others))):
        values = values.take(others[number], axis=first + number)
    return values
