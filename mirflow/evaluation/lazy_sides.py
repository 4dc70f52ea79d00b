"""Scores of two sides of which neither has been read: lazy, as those of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.block import TrackWork, block_size
from ..engine.lazy import LazyCollection
from ..engine.runs import open_plan
from ..pipeline.plan import EvaluationPlan

if TYPE_CHECKING:
    import xarray as xr


class PlanOfSides(EvaluationPlan):
    """The plan of an evaluation whose sides may be the same annotations."""

    @property
    def by_annotator(self) -> bool:
        """Annotators are not distinguished."""
        return False


def are_lazy(references: object, estimates: object) -> bool:
    """True if both sides are lazy collections, or the estimates lazy collections by system."""
    sides = [*estimates.values()] if isinstance(estimates, Mapping) and not _is_lazy(estimates) else [estimates]
    return bool(sides) and all(map(_is_lazy, [references, *sides]))


def _is_lazy(side: object) -> bool:
    return isinstance(side, LazyCollection)


def open_sides(works: Sequence[TrackWork], task: str, block: int | None, **rules: Any) -> xr.Dataset:
    """The scores of pairs of sources as lazy arrays, in chunks of tracks.

    Parameters
    ----------
    works : sequence of TrackWork, one for each track
    task : str
    block : int or None
        Number of tracks of a chunk; None: 64, or 1 for audio.
    **rules
        ``convention``, ``grid``, ``measures`` and ``classes`` of the plan.
    """
    systems, tracks = works[0].systems, tuple(work.track for work in works)
    plan = PlanOfSides(
        name="evaluate",
        task=task,
        systems=systems,
        tracks=tracks,
        references=tuple(work.references for work in works),
        estimates=tuple(zip(*(work.estimates for work in works), strict=True)),
        combine="",
        track_meta={},
        system_meta={},
        stamps=np.zeros((len(systems), len(tracks)), dtype=np.int64),
        signatures={},
        max_block=block or block_size(task),
        **rules,
    )
    return open_plan(plan)
