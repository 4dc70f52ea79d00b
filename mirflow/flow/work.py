"""What one task is told to do: plain data, small enough to send to a worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..annotations.classes import Classes
from ..annotations.schema import kind_of
from ..metrics.base import Grid
from ..plan import EvaluationPlan, Reference, Stale, blocks
from ..ragged import Int
from ..readers.sources import Source

BLOCK = 64
"""Tracks of a block where nobody says otherwise."""


def block_size(task: str, most: int = BLOCK) -> int:
    """Most tracks of a block: one of sound, which takes long enough, and of which several would hold memory.

    Examples
    --------
    >>> block_size("chord"), block_size("separation")
    (64, 1)
    """
    return 1 if kind_of(task).name == "audio" else most


Combine = str
"""What becomes of the scores against several references: ``mean``, ``max``, ``each``; empty where there is one."""


@dataclass(frozen=True)
class TrackWork:
    """What to score of one track: its references (several, where several annotators are combined) and some systems."""

    track: str
    references: tuple[Reference, ...]
    systems: tuple[str, ...]
    estimates: tuple[Source | None, ...]
    stamps: tuple[int, ...]


@dataclass(frozen=True)
class BlockWork:
    """The work of one task: some tracks of one evaluation.

    With `by_annotator` an estimate is not scored against a reference that is the same annotation. `classes` are those
    that there are, where the evaluation says so.
    """

    evaluation: str
    task: str
    convention: str
    grid: Grid
    measures: tuple[str, ...]
    combine: Combine
    tracks: tuple[TrackWork, ...]
    by_annotator: bool = False
    classes: Classes | None = None

    def __len__(self) -> int:
        return sum(len(track.systems) for track in self.tracks)

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Track and system of each cell, in the order of the results."""
        return [(track.track, system) for track in self.tracks for system in track.systems]


def works_of(plan: EvaluationPlan, stale: Stale) -> list[BlockWork]:
    """The stale cells of a plan as blocks of work, in the order of the tracks."""
    by_annotator = plan.by_annotator
    return [
        BlockWork(
            plan.name,
            plan.task,
            plan.convention,
            plan.grid,
            tuple(str(measure) for measure in plan.measures),
            plan.combine,
            tuple(_track_works(plan, block.system, block.track)),
            by_annotator,
            plan.classes,
        )
        for block in blocks(stale, block_size(plan.task, plan.max_block))
    ]


def _track_works(plan: EvaluationPlan, system: Int, track: Int) -> Iterator[TrackWork]:
    for column in dict.fromkeys(track.tolist()):
        rows = system[track == column].tolist()
        yield TrackWork(
            plan.tracks[column],
            plan.references[column],
            tuple(plan.systems[row] for row in rows),
            tuple(plan.estimates[row][column] for row in rows),
            tuple(plan.stamps[rows, column].tolist()),
        )
