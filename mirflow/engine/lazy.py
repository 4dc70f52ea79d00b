"""Collections that are read when they are computed, and templates of the results with extra dims in lazy scores."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.account import ACCOUNT, read_account, warn_of_accounts
from ..annotations.annotation import empty_annotation, to_ragged
from ..annotations.collection import Collection, TrackMapping, collect, join_rows
from ..annotations.schema import kind_of
from ..annotations.source import Source
from ..metrics.base import Pairs, Scores, Sparse, get_task
from ..pipeline.plan import EvaluationPlan
from ..ragged import Bool, Column, Int
from ..store.cells import NUMERATOR, concatenate_cells, no_numerators
from .block import BLOCK
from .pair_scores import extras_by_annotator, name_extras
from .schedule import block_graph

if TYPE_CHECKING:
    import xarray as xr


def expected_extras(plan: EvaluationPlan) -> dict[str, Sparse]:
    """Results with extra dims of a block without any cell, as a template of those of a plan. If labels are known only
    from the files, such as classes that are not listed, the files are read now, and these results are made once to get
    the labels that a run would find."""
    convention = get_task(plan.task).convention(plan.convention, plan.classes)
    nothing = convention.clean(to_ragged([empty_annotation(kind_of(plan.task))])).rows
    tables = [measure for measure in plan.measures if measure.metric.dims]
    extras_of_tables = convention.score(Pairs.in_order(nothing, nothing)[:0], tables, plan.grid).extras
    unlabelled = {name for name, sparse in extras_of_tables.items() if not all(sparse.coords)}
    if unlabelled:
        measures = tuple(one for one in plan.measures if one.variable in unlabelled)
        of_tables, cells = replace(plan, measures=measures, max_block=BLOCK), np.ones(plan.shape, dtype=np.bool_)
        scored = concatenate_cells(task() for (task,) in block_graph(of_tables, cells, "").values()).extras
        known = {name: scored[name].coords for name in unlabelled & scored.keys()}
        extras_of_tables = {
            name: replace(sparse, coords=known.get(name, sparse.coords)) for name, sparse in extras_of_tables.items()
        }
    extras = name_extras(extras_of_tables, plan.measures)
    scalars = [measure for measure in plan.measures if not measure.metric.dims]
    if any(measure.metric.surplus for measure in scalars):
        extras[NUMERATOR] = no_numerators(tuple(map(str, scalars)))
    if plan.combine == "each":
        scores = Scores(*np.zeros((2, 0, len(scalars))))
        extras |= extras_by_annotator(scalars, plan.annotators, scores, np.zeros(0, dtype=np.int64), ())
    return extras


@dataclass(frozen=True, repr=False, eq=False)
class LazyCollection(TrackMapping):
    """A collection whose files are read when it is computed, at most `block` tracks by one task. ``lazy[track]`` reads
    one track, ``len``, ``in`` and ``sel`` read nothing. It is a collection of dask: ``dask.compute``, ``dask.persist``
    and ``dask.visualize`` take it, also together with others."""

    kind: str
    tracks: tuple[str, ...]
    sources: tuple[Source, ...]
    block: int = BLOCK
    metadata: Mapping[str, Column] = field(default_factory=dict)
    """Values per track that are known without reading."""
    read: Mapping[Any, Any] | None = None
    """The graph of the blocks if they have been read; a selection is read again."""

    def __getitem__(self, track: str) -> xr.Dataset:
        """One track, read now."""
        return self.sel(track=track).compute(scheduler="synchronous")[track]

    def sel(self, *, track: str | slice | Sequence[str] | Column) -> LazyCollection:
        """The named tracks, in the given order; nothing is read. ``slice("a", "c")``: from a to c."""
        return self.isel(track=self.rows_of(track))

    def isel(self, *, track: int | slice | Sequence[int] | Int | Bool) -> LazyCollection:
        """Tracks by position, or those where an array of a value for each track is True; nothing is read."""
        index = self.positions(track)
        return replace(
            self,
            tracks=tuple(self.tracks[i] for i in index),
            sources=tuple(self.sources[i] for i in index),
            metadata={name: values[index] for name, values in self.metadata.items()},
            read=None,
        )

    def compute(self, **how: Any) -> Collection:
        """The collection, read now; keywords go to ``dask.compute``. Warns once of the remarks of readers."""
        import dask

        parts = dask.compute(*self.blocks(), **how)
        collection = join_blocks(self.kind, self.tracks, self.metadata, parts)
        texts = collection.metadata.get(ACCOUNT, np.zeros(0, dtype=np.str_)).tolist()
        warn_of_accounts((track, read_account(text)) for track, text in zip(self.tracks, texts, strict=False))
        return collection

    def blocks(self) -> list[Any]:
        """One delayed Collection for each block of tracks."""
        from dask.delayed import Delayed

        return [Delayed(key, self._tasks) for key in self._tasks]

    def persist(self, **how: Any) -> LazyCollection:
        """The same, with blocks that have been read and are kept in memory, on a cluster in that of its workers."""
        import dask

        held: tuple[LazyCollection] = dask.persist(self, **how)
        return held[0]

    @cached_property
    def _tasks(self) -> Mapping[Any, Any]:
        if self.read is not None:
            return self.read
        name, size = f"{self.kind}-read-{uuid.uuid4().hex}", self.block
        # Bound, not passed: dask would search the sources for collections to compute first.
        return {
            (name, number): (functools.partial(read_block, self.tracks[a : a + size], self.sources[a : a + size]),)
            for number, a in enumerate(range(0, len(self), size))
        }

    def __dask_graph__(self) -> Mapping[Any, Any]:
        return self._tasks

    def __dask_keys__(self) -> list[Any]:
        return [*self._tasks]

    __dask_tokenize__ = __dask_keys__

    def __dask_postcompute__(self) -> tuple[Any, tuple[()]]:
        return functools.partial(join_blocks, self.kind, self.tracks, self.metadata), ()

    def __dask_postpersist__(self) -> tuple[Any, tuple[()]]:
        return self._with_read, ()

    @staticmethod
    def __dask_optimize__(graph: Any, keys: Any, **_: Any) -> Any:
        return graph

    @staticmethod
    def __dask_scheduler__(graph: Any, keys: Any, **how: Any) -> Any:
        from dask.threaded import get

        return get(graph, keys, **how)

    def _with_read(self, graph: Mapping[Any, Any], rename: Mapping[str, str] | None = None) -> LazyCollection:
        names = {key: (dict(rename or {}).get(key[0], key[0]), key[1]) for key in self._tasks}
        return replace(self, read={name: graph[name] for name in names.values()})


def join_blocks(
    kind: str, tracks: tuple[str, ...], metadata: Mapping[str, Column], parts: Sequence[Collection]
) -> Collection:
    """The collection of some blocks."""
    rows = join_rows(parts[0].schema, [part.rows for part in parts])
    names = dict.fromkeys(name for part in parts for name in part.metadata)
    joined = {}
    for name in names:  # a block that knows nothing of it has NaN or an empty text
        known = next(part.metadata[name] for part in parts if name in part.metadata)
        missing = np.nan if known.dtype.kind == "f" else ""
        joined[name] = np.concatenate([part.metadata.get(name, np.full(len(part), missing)) for part in parts])
    return Collection(kind, tracks, rows, {**joined, **metadata})


def read_block(tracks: Sequence[str], sources: Sequence[Source]) -> Collection:
    """Read some tracks."""
    return collect({track: source.open() for track, source in zip(tracks, sources, strict=True)})
