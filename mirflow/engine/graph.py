"""The dask graph of a plan: a task for each block, which runs execute and lazy trees show."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

from ..ragged import Int
from ..store.cells import Cells
from .block import BlockWork, Works, score_block

Key: TypeAlias = str
"""Of a block: its evaluation and number, and what tells one graph from all others: ``chord-block-7-...``."""


class BlockTask:
    """The task of a block: it makes its work where it is called or sent, so that a graph holds a plan and no work."""

    def __init__(self, works: Works, place: int) -> None:
        self._works, self.place = works, place

    @property
    def work(self) -> BlockWork:
        """What is read and scored."""
        return self._works[self.place]

    @property
    def columns(self) -> Int:
        """Places of its tracks in the plan."""
        return self._works.columns_of(self.place)

    def __call__(self) -> Cells:
        """Read and score the block."""
        return score_block(self.work)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial, (score_block, self.work)


Graph: TypeAlias = Mapping[Key, tuple[BlockTask]]


def block_graph(works: Works, token: str) -> dict[Key, tuple[BlockTask]]:
    """A dask graph with a task for each block of some cells of a plan. Two graphs, on one cluster or in one expression,
    must never share a task, as their files may differ although their names do not: the `token` tells them apart."""
    name = f"{works.plan.name}-block"
    # A task is called without arguments: dask would search them, with all their sources, for keys.
    return {f"{name}-{place}-{token}": (BlockTask(works, place),) for place in range(len(works))}


def graph_of_one(work: BlockWork) -> dict[Key, tuple[Any]]:
    """A dask graph of one block that is scored alone."""
    return {f"{work.evaluation}-alone-{uuid.uuid4().hex}": (partial(score_block, work),)}
