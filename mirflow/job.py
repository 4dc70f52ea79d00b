"""One evaluation under way: what its plan, the store and the journal together leave to do, and what comes of it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .analysis.cautions import kept_cautions
from .analysis.classes import kept_classes
from .cells import WARNING, Cells, concatenate_cells
from .errors import MirflowWarning, counted
from .flow.combine import EACH
from .metrics.base import Sparse, describe, get_task
from .plan import EvaluationPlan, Previous, Stale, stale_cells
from .ragged import Bool, Int
from .status import FAILED, SCORED, Status
from .store.content import GroupContent
from .store.reading import group_names, read_group
from .store.writer import StoreWriter

SIGNATURES = "signatures"
_NAMED = 5


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
        written = [] if force else writer.journal.read(plan.name, plan.signature)
        journaled = [_chosen(cells, plan) for cells in written]
        if writer.journal.torn:
            message = f"{plan.name}: {writer.journal.torn} damaged blocks of an interrupted run are computed again"
            warnings.warn(message, MirflowWarning, stacklevel=2)
        if not journaled:
            return cls(plan, stale, {**stale.counts, "resumed": 0}, before)
        cells = concatenate_cells(journaled)
        # A journaled result counts only where the store's is stale and the files are still those that were scored.
        resumed = stale.cells & ~stale_cells(plan, _journaled(plan, cells)).cells
        counts = {**stale.counts, "resumed": int(resumed.sum())}
        return cls(plan, Stale(stale.cells & ~resumed, stale.counts), counts, before, [_within(plan, cells, resumed)])

    def known(self) -> Cells:
        """The cells that need no computing: those of the store that are still good, and those of the journal."""
        return _within(self.plan, concatenate_cells(self._parts()), ~self.stale.cells)

    def _parts(self) -> list[Cells]:
        """What the store has, where any of it is still good, and over it what the journal had and what came back."""
        scalars = tuple(str(measure) for measure in self.plan.measures if not measure.metric.dims)
        kept = [self.before.cells] if self.before is not None and self.counts["reused"] else []
        return [_no_cells(scalars), *(_chosen(cells, self.plan) for cells in (*kept, *self.done))]

    def content(self, attrs: Mapping[str, Any]) -> GroupContent:
        """The group as it shall stand in the store, with attributes beside the plan's own."""
        plan = self.plan
        scalars = [measure for measure in plan.measures if not measure.metric.dims]
        cells = _latest(plan, concatenate_cells(self._parts()))
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
        """Whether the store has exactly this already, also where cells were computed again to the same end."""
        if self.before is None or _heading(self.before) != _heading(content):
            return False
        return not self.done or _same(_latest(self.plan, self.before.cells), content.cells)


@dataclass(frozen=True)
class Removal:
    """The cells of a store that its pipeline no longer names.

    Parameters
    ----------
    cells, stored : int
        How many they are, of how many that the store has.
    what : str
        The systems, tracks and evaluations that they are of.
    """

    cells: int
    stored: int
    what: str

    @property
    def large(self) -> bool:
        """Whether they are more than a tenth of the store."""
        return 10 * self.cells > self.stored

    def __str__(self) -> str:
        of = f"{self.cells} of {counted(self.stored, 'stored cell')}"
        return f"removes {of}, which the pipeline no longer names: {self.what}"


def removal(befores: Mapping[str, GroupContent], plans: Sequence[EvaluationPlan]) -> Removal:
    """What a run removes from a store.

    Parameters
    ----------
    befores : mapping of str to GroupContent
        What the store has.
    plans : sequence of EvaluationPlan
        What it shall have.
    """
    planned = {plan.name: plan for plan in plans}
    cells = 0
    told: list[str] = []
    for name, before in befores.items():
        size = len(before.systems) * len(before.tracks)
        if name not in planned:
            cells, told = cells + size, [*told, f"the evaluation {name}"]
            continue
        plan = planned[name]
        gone = [
            [one for one in names if one not in kept]
            for names, kept in ((before.systems, set(plan.systems)), (before.tracks, set(plan.tracks)))
        ]
        left = (len(before.systems) - len(gone[0])) * (len(before.tracks) - len(gone[1]))
        if size > left:
            lists = [f"{noun}s {_few(names)}" for noun, names in zip(("system", "track"), gone, strict=True) if names]
            cells, told = cells + size - left, [*told, f"{name}: {', '.join(lists)}"]
    stored = sum(len(before.systems) * len(before.tracks) for before in befores.values())
    return Removal(cells, stored, "; ".join(told))


def _few(names: Sequence[str]) -> str:
    """Some of the names, and how many there are if there are more."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(repr, names[:_NAMED])) + more


def status_counts(content: GroupContent) -> dict[Status, int]:
    """Cells of a group by outcome."""
    counts = Counter(content.cells.status.tolist())
    return {status: counts[status] for status in Status if counts[status]}


def failures(content: GroupContent) -> list[str]:
    """Why cells have no score, each reason once."""
    failed = np.isin(content.cells.status, list(FAILED))
    return list(dict.fromkeys(content.cells.message[cell] for cell in np.flatnonzero(failed).tolist()))


def incomplete_counts(content: GroupContent) -> tuple[int, int]:
    """Scored cells of which some metrics have no score, and those where some metrics had nothing to measure."""
    cells = content.cells
    scored = np.isin(cells.status, list(SCORED))
    told = np.array([bool(message) for message in cells.message], dtype=np.bool_)
    # What is empty is told too, and what should be looked at; both have a score.
    partly = (cells.status == Status.ok) & told & ~_warned(cells)
    return int(partly.sum()), int((scored & (cells.weight == 0).any(axis=1)).sum())


def warned_count(content: GroupContent) -> int:
    """Scored cells whose two sides hardly belong together."""
    return int(_warned(content.cells).sum())


def _warned(cells: Cells) -> Bool:
    said: Bool = np.array([message.startswith(WARNING) for message in cells.message], dtype=np.bool_)
    ok: Bool = cells.status == Status.ok
    return said & ok


def _heading(content: GroupContent) -> list[Any]:
    """Everything of a group but its cells, in plain types that compare."""
    sides = (content.metric_coords, content.system_coords, content.track_coords)
    coords = [{key: [_plain(value) for value in values] for key, values in side.items()} for side in sides]
    return [content.systems, content.tracks, content.measures, coords, dict(content.attrs)]


def _plain(value: Any) -> Any:
    """A value that equals itself: missing numbers and missing texts are both None."""
    return None if value is None or value == "" or value != value else value


def stored_groups(path: Path) -> dict[str, GroupContent]:
    """What a store has, by evaluation; nothing where there is no store yet."""
    return {name: read_group(path, name) for name in group_names(path)} if path.exists() else {}


def previous_of(content: GroupContent) -> Previous:
    """A stored group as far as a plan needs it."""
    stamp, status = _place(content.cells, content.systems, content.tracks)
    return Previous(content.systems, content.tracks, stamp, status, content.attrs.get(SIGNATURES, {}))


def _journaled(plan: EvaluationPlan, cells: Cells) -> Previous:
    stamp, status = _place(cells, plan.systems, plan.tracks)
    return Previous(plan.systems, plan.tracks, stamp, status, plan.signatures)


def _positions(plan: EvaluationPlan, cells: Cells) -> Int:
    """Number of each cell in the plan; -1 for those of other systems and tracks."""
    row = {name: place for place, name in enumerate(plan.systems)}
    column = {name: place for place, name in enumerate(plan.tracks)}
    rows = np.array([row.get(name, -1) for name in cells.system], dtype=np.int64)
    columns = np.array([column.get(name, -1) for name in cells.track], dtype=np.int64)
    return np.where((rows < 0) | (columns < 0), -1, rows * len(plan.tracks) + columns)


def _latest(plan: EvaluationPlan, cells: Cells) -> Cells:
    """The plan's cells, each once, in the plan's order; of a cell that is given twice the later one counts."""
    place = _positions(plan, cells)
    last = np.full(plan.shape[0] * plan.shape[1], -1, dtype=np.int64)
    known = np.flatnonzero(place >= 0)
    last[place[known]] = known
    return cells.take(last[last >= 0])


def _within(plan: EvaluationPlan, cells: Cells, mask: Bool) -> Cells:
    """The cells of a mask over (systems, tracks)."""
    cells = _latest(plan, cells)
    return cells.take(np.flatnonzero(mask.ravel()[_positions(plan, cells)]))


def _same(some: Cells, others: Cells) -> bool:
    """Whether two lists of cells hold the same results."""
    texts = ("system", "track", "measures", "message", "digest")
    if any(getattr(some, name) != getattr(others, name) for name in texts):
        return False
    arrays = ("score", "weight", "status", "repairs", "stamp")
    if not all(np.array_equal(getattr(some, n), getattr(others, n), equal_nan=n == "score") for n in arrays):
        return False
    return some.extras.keys() == others.extras.keys() and all(
        _entries(sparse) == _entries(others.extras[name]) for name, sparse in some.extras.items()
    )


def _entries(sparse: Sparse) -> set[tuple[object, ...]]:
    """The entries of a result with extra dims; those that only repeat the fill value say nothing."""
    told = ~(np.isnan(sparse.value) if np.isnan(sparse.fill) else sparse.value == sparse.fill)
    names = [np.array(labels, dtype=object)[sparse.index[told, 1 + axis]] for axis, labels in enumerate(sparse.coords)]
    return set(zip(sparse.index[told, 0].tolist(), *names, sparse.value[told].tolist(), strict=True))


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
    extras = {name: sparse for name, sparse in cells.extras.items() if name in named}
    if plan.combine == "each":
        whole = (plan.annotators, scalars)
        extras |= {name: _over(sparse, whole) for name, sparse in cells.extras.items() if name in EACH}
    return replace(
        cells, measures=scalars, score=cells.score[:, columns], weight=cells.weight[:, columns], extras=extras
    )


def _over(sparse: Sparse, coords: tuple[tuple[str, ...], ...]) -> Sparse:
    """The entries of a result over other labels; those of labels that are gone are left out."""
    index = [sparse.index[:, 0]]
    for axis, (labels, whole) in enumerate(zip(sparse.coords, coords, strict=True)):
        place = {label: number for number, label in enumerate(whole)}
        index.append(np.array([place.get(label, -1) for label in labels], dtype=np.int64)[sparse.index[:, 1 + axis]])
    table = np.column_stack(index)
    kept = (table >= 0).all(axis=1)
    return replace(sparse, dims=("annotator", "metric"), coords=coords, index=table[kept], value=sparse.value[kept])


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
        **(kept_classes(plan.classes) if get_task(plan.task).convention(plan.convention).bind else {}),
        **kept_cautions(plan.cautions),
    }
