"""Cells of a store that a pipeline no longer names, which a run removes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import MirflowWarning, PruneError, counted, name_some, visible
from ..pipeline.plan import EvaluationPlan
from ..progress import Progress
from ..store.cells import GroupContent

Prune = bool | Callable[[str], bool]


@dataclass(frozen=True)
class Removal:
    """The cells of a store that its pipeline no longer names."""

    cells: int
    stored: int
    what: str

    @property
    def large(self) -> bool:
        """True if they are more than a tenth of the store."""
        return 10 * self.cells > self.stored

    def __str__(self) -> str:
        of = f"{self.cells} of {counted(self.stored, 'stored cell')}"
        return f"removes {of}, which the pipeline no longer names: {self.what}"


def find_removal(befores: Iterable[GroupContent], plans: Sequence[EvaluationPlan]) -> Removal:
    """The cells of stored groups that none of the plans has."""
    planned = {plan.name: plan for plan in plans}
    cells = stored = 0
    what: list[str] = []
    for before in befores:
        size = before.shape[0] * before.shape[1]
        stored += size
        if before.name not in planned:
            cells += size
            what.append(f"the evaluation {before.name}")
            continue
        plan = planned[before.name]
        sides = ("system", before.systems, set(plan.systems)), ("track", before.tracks, set(plan.tracks))
        gone = {noun: [name for name in names if name not in kept] for noun, names, kept in sides}
        left = (before.shape[0] - len(gone["system"])) * (before.shape[1] - len(gone["track"]))
        if size > left:
            cells += size - left
            lists = []
            for noun, names in gone.items():
                lists += [f"{noun}s {name_some([*map(repr, names)])}"] if names else []
            what.append(f"{before.name}: {', '.join(lists)}")
    return Removal(cells, stored, "; ".join(what))


def demand_leave(
    plans: Sequence[EvaluationPlan], before: Mapping[str, GroupContent], path: str | Path, prune: Prune, shown: Progress
) -> None:
    """Report the cells to be removed from the store; removing many needs permission."""
    names = dict.fromkeys([*(plan.name for plan in plans if plan.name in before), *before])
    removed = find_removal([before[name] for name in names], plans)
    if not removed.cells:
        return
    message = f"{path}: the run {removed}"
    shown.stage("")
    if prune is True:
        shown.message(visible(message))
    elif not removed.large:
        warnings.warn(message, MirflowWarning, stacklevel=3)
    elif prune is False or not prune(message):
        remedy = "--prune (in Python prune=True) lets them go; to keep them, name them again, or another store"
        raise PruneError(f"{message}; {remedy}")
