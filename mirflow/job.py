"""One evaluation under way: what its plan, the store and the journal together leave to do, and what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .cells import Cells, concatenate_cells
from .errors import UnknownNameError
from .flow.combine import EACH
from .metrics.base import describe
from .plan import EvaluationPlan, Previous, Stale, stale_cells
from .ragged import Int
from .status import FAILED, Status
from .store.content import GroupContent
from .store.reading import read_group
from .store.writer import StoreWriter

SIGNATURES = "signatures"


@dataclass
class Job:
    """One evaluation of a run.

    Parameters
    ----------
    plan : EvaluationPlan
    stale : Stale
        The cells that have to be computed.
    counts : mapping of str to int
        Cells by why they are computed or not: ``new``, ``changed``, ``retried``, ``resumed`` (an interrupted run had
        computed them), ``reused``, ``removed``.
    before : GroupContent or None
        The group as the store has it.
    done : list of Cells
        What the journal held, and what has come back.
    """

    plan: EvaluationPlan
    stale: Stale
    counts: Mapping[str, int]
    before: GroupContent | None
    done: list[Cells] = field(default_factory=list)

    @classmethod
    def start(cls, plan: EvaluationPlan, writer: StoreWriter, force: bool) -> Job:
        """Compare a plan with what the store and the journal hold."""
        before = writer.previous(plan.name)
        stale = stale_cells(plan, None if before is None else previous_of(before), force)
        journaled = writer.journal.read(plan.name, plan.signature)
        counts = {**stale.counts, "resumed": 0}
        if journaled:
            again = stale_cells(plan, _journaled(plan, concatenate_cells(journaled)))
            counts["resumed"] = int((stale.cells & ~again.cells).sum())
            stale = Stale(stale.cells & again.cells, stale.counts)
        return cls(plan, stale, counts, before, journaled)

    def content(self, attrs: Mapping[str, Any]) -> GroupContent:
        """The group as it shall stand in the store, with attributes beside the plan's own."""
        plan = self.plan
        scalars = [measure for measure in plan.measures if not measure.metric.dims]
        kept = [] if self.before is None or not self.counts["reused"] else [_chosen(self.before.cells, plan)]
        parts = [*kept, *self.done]
        cells = concatenate_cells(parts) if parts else _no_cells(tuple(map(str, scalars)))
        metric_coords = {name: values.tolist() for name, values in describe(scalars).items() if name != "metric"}
        return GroupContent(
            plan.name,
            plan.systems,
            plan.tracks,
            cells,
            metric_coords,
            dict(plan.system_meta),
            dict(plan.track_meta),
            {**_plan_attrs(plan), **attrs},
        )

    def unchanged(self, content: GroupContent) -> bool:
        """Whether the store has exactly this already."""
        if self.before is None or self.done or len(self.stale) or self.counts["removed"]:
            return False
        return _heading(self.before) == _heading(content)


def status_counts(content: GroupContent) -> dict[Status, int]:
    """Cells of a group by outcome."""
    counts = Counter(content.cells.status.tolist())
    return {status: counts[status] for status in Status if counts[status]}


def failures(content: GroupContent) -> list[str]:
    """Why cells have no score, each reason once."""
    failed = np.isin(content.cells.status, list(FAILED))
    return list(dict.fromkeys(content.cells.message[cell] for cell in np.flatnonzero(failed).tolist()))


def _heading(content: GroupContent) -> list[Any]:
    """Everything of a group but its cells, in plain types that compare."""
    sides = (content.metric_coords, content.system_coords, content.track_coords)
    coords = [{key: [_plain(value) for value in values] for key, values in side.items()} for side in sides]
    return [content.systems, content.tracks, content.measures, coords, dict(content.attrs)]


def _plain(value: Any) -> Any:
    """A value that equals itself: missing numbers and missing texts are both None."""
    return None if value is None or value == "" or value != value else value


def stored_group(path: Path, name: str) -> GroupContent | None:
    """What a store has of an evaluation; None where there is no such store or group."""
    if not path.exists():
        return None
    try:
        return read_group(path, name)
    except UnknownNameError:
        return None


def previous_of(content: GroupContent) -> Previous:
    """A stored group as far as a plan needs it."""
    stamp, status = _place(content.cells, content.systems, content.tracks)
    return Previous(content.systems, content.tracks, stamp, status, content.attrs.get(SIGNATURES, {}))


def _journaled(plan: EvaluationPlan, cells: Cells) -> Previous:
    stamp, status = _place(cells, plan.systems, plan.tracks)
    return Previous(plan.systems, plan.tracks, stamp, status, plan.signatures)


def _place(
    cells: Cells, systems: Sequence[str], tracks: Sequence[str]
) -> tuple[Int, np.ndarray[tuple[int, ...], np.dtype[np.int8]]]:
    """Stamps and statuses of cells over (systems, tracks); of a cell that is given twice the later one counts."""
    row = {name: place for place, name in enumerate(systems)}
    column = {name: place for place, name in enumerate(tracks)}
    stamp = np.zeros((len(systems), len(tracks)), dtype=np.int64)
    status = np.zeros(stamp.shape, dtype=np.int8)
    rows = np.array([row.get(name, -1) for name in cells.system], dtype=np.int64)
    columns = np.array([column.get(name, -1) for name in cells.track], dtype=np.int64)
    known = (rows >= 0) & (columns >= 0)
    stamp[rows[known], columns[known]] = cells.stamp[known]
    status[rows[known], columns[known]] = cells.status[known]
    return stamp, status


def _chosen(cells: Cells, plan: EvaluationPlan) -> Cells:
    """Cells with only the plan's measures, in the plan's order."""
    scalars = tuple(str(measure) for measure in plan.measures if not measure.metric.dims)
    column = {name: place for place, name in enumerate(cells.measures)}
    columns = [column[name] for name in scalars]
    named = {measure.variable for measure in plan.measures if measure.metric.dims}
    named |= set(EACH) if plan.combine == "each" else set()
    extras = {name: sparse for name, sparse in cells.extras.items() if name in named}
    return replace(
        cells, measures=scalars, score=cells.score[:, columns], weight=cells.weight[:, columns], extras=extras
    )


def _no_cells(measures: tuple[str, ...]) -> Cells:
    nothing = np.zeros((0, len(measures)))
    none = np.zeros(0, dtype=np.int64)
    return Cells(
        (), (), measures, nothing, nothing, none.astype(np.int8), none.astype(np.int32), (), (), none, np.zeros(0)
    )


def _plan_attrs(plan: EvaluationPlan) -> dict[str, Any]:
    return {
        "task": plan.task,
        "convention": plan.convention,
        "grid": plan.grid,
        "combine": plan.combine,
        "parameters": {str(measure): dict(measure.parameters) for measure in plan.measures if measure.parameters},
        SIGNATURES: dict(plan.signatures),
    }
