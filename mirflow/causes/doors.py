"""Causes where scores are made: low cells are noted while blocks are scored, and a few lines say what was found."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.classes import Classes
from ..annotations.source import Source
from ..engine.block import TrackWork
from ..errors import AnnotationError, counted
from ..metrics.base import Grid
from ..metrics.measures import Measure
from ..pipeline.plan import EvaluationPlan
from ..store.cells import Cells, GroupContent
from .diagnosis import ALL, LOW, Board, Diagnosis, Finding, Judge, find_causes
from .transformations import REFERENCE, TRANSFORMATIONS

SHARE = 0.05
"""Share of the processor time of scoring after which no other low cell is looked at."""
LINES = 3
"""Lines of a summary."""
_KEPT = 200
"""Low cells that are kept while pairs are scored."""
_NAMED = 3
"""Tracks that a line names."""


def spent() -> float:
    """Processor time of this process and of those that it waited for, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Reader:
    """Reads annotations, the last ones of which are kept."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Source, Annotation | str]] = {}

    def __call__(self, source: Source) -> Annotation | str:
        """Give the annotation, or why there is none."""
        if id(source) not in self._read:
            if len(self._read) > _KEPT:
                self._read.clear()
            try:
                self._read[id(source)] = source, source.read()[0]
            except (AnnotationError, OSError) as error:
                self._read[id(source)] = source, str(error)
        return self._read[id(source)][1]


class LowCells:
    """The low cells of what is being scored.

    Parameters
    ----------
    task, convention : str
    measures : sequence of Measure
        The headline metric is looked at, or the first one whose best score is a number.
    grid : str or float
    classes : Classes or None
    """

    def __init__(
        self, task: str, convention: str, measures: Sequence[Measure], grid: Grid, classes: Classes | None = None
    ) -> None:
        scored = [one for one in measures if not one.metric.dims]
        self._judge = Judge.of(task, convention, None, grid, classes, scored)
        self._rows: list[tuple[str, str, Source, Source, float]] = []
        self._begin = spent()

    def add(self, works: Sequence[TrackWork], cells: Cells) -> None:
        """Note the low ones of cells that were scored."""
        if self._judge is None or len(self._rows) >= _KEPT or str(self._judge.measure) not in cells.measures:
            return
        scores = cells.score[:, cells.measures.index(str(self._judge.measure))]
        low = set(np.flatnonzero(scores < LOW).tolist())
        if not low:
            return
        place = -1
        for work in works:
            for system, estimate in zip(work.systems, work.estimates, strict=True):
                place += 1
                if place in low and estimate is not None and work.references:
                    row = work.track, system, work.references[0].source, estimate, float(scores[place])
                    self._rows.append(row)

    def find(self) -> list[Finding]:
        """The causes of the noted cells; of a few cells all, of more as many as the time allows."""
        if self._judge is None or not self._rows:
            return []
        tracks = list(dict.fromkeys(row[0] for row in self._rows))
        systems = list(dict.fromkeys(row[1] for row in self._rows))
        score = np.full((len(systems), len(tracks)), np.nan)
        references: dict[str, Source] = {}
        estimates: dict[str, dict[str, Source]] = {system: {} for system in systems}
        for track, system, reference, estimate, value in self._rows:
            score[systems.index(system), tracks.index(track)] = value
            references[track] = reference
            estimates[system][track] = estimate
        seconds = None if len(self._rows) <= 4 else SHARE * (spent() - self._begin)
        board = Board("", self._judge, tracks, systems, references, estimates, score)
        return find_causes(board, Reader(), seconds=seconds).findings


def causes_of_content(plan: EvaluationPlan, content: GroupContent, seconds: float | None) -> Diagnosis:
    """The causes of the low scores of a run's evaluation, within some seconds of processor time."""
    judge = Judge.of(plan.task, plan.convention, None, plan.grid, plan.classes)
    cells = content.cells
    if judge is None or str(judge.measure) not in cells.measures:
        return Diagnosis([], 0, 0)
    column = cells.score[:, cells.measures.index(str(judge.measure))]
    if not (column < 1 - LOW / 2).any():
        return Diagnosis([], 0, 0)
    rows = {name: row for row, name in enumerate(plan.systems)}
    places = {name: place for place, name in enumerate(plan.tracks)}
    score = np.full((len(rows), len(places)), np.nan)
    for system, track, value in zip(cells.system, cells.track, column.tolist(), strict=True):
        if system in rows and track in places:
            score[rows[system], places[track]] = value
    references = {track: own[0].source for track, own in zip(plan.tracks, plan.references, strict=True) if own}
    estimates = {
        system: _Estimates(plan.tracks, row, places) for system, row in zip(plan.systems, plan.estimates, strict=True)
    }
    board = Board(content.name, judge, plan.tracks, plan.systems, references, estimates, score)
    return find_causes(board, Reader(), seconds=seconds)


class _Estimates(Mapping[str, Source]):
    """The estimates of a system by track, without a copy."""

    def __init__(self, tracks: Sequence[str], sources: Sequence[Source | None], places: Mapping[str, int]) -> None:
        self._tracks, self._sources, self._places = tracks, sources, places

    def __getitem__(self, track: str) -> Source:
        source = self._sources[self._places[track]]
        if source is None:
            raise KeyError(track)
        return source

    def __iter__(self) -> Iterator[str]:
        return (track for track in self._tracks if track in self)

    def __contains__(self, track: object) -> bool:
        return track in self._places and self._sources[self._places[str(track)]] is not None

    def __len__(self) -> int:
        return sum(source is not None for source in self._sources)


def describe(findings: Sequence[Finding], most: int = LINES) -> list[str]:
    """A line for each cause, those of most cells first; the last one counts what is left out.

    Examples
    --------
    >>> describe([])
    []
    """
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for one in findings:
        whose = one.system if one.track == ALL else ""
        groups.setdefault((whose, one.change.side, one.change.cause), []).append(one)
    order = sorted(groups.values(), key=lambda some: -sum(one.tracks * one.systems for one in some))
    lines = []
    for some in order[:most]:
        first = some[0]
        if first.track == ALL or len(some) == 1:
            whose = ""
            if first.track == ALL:
                whose = f"{first.tracks} of {first.out_of} estimates of {first.system!r}: "
            elif first.track:
                system = "" if first.system in (ALL, "estimate", first.track) else f"{first.system!r}: "
                whose = f"track {first.track!r}: {system}"
            lines.append(f"{whose}{first.sentence} ({first.remedy or first.change.cause})")
        else:
            tracks = list(dict.fromkeys(one.track for one in some))
            named = ", ".join(map(repr, tracks[:_NAMED])) + (", ..." if len(tracks) > _NAMED else "")
            noun = "reference" if first.change.side == REFERENCE else "estimate"
            gain = float(np.mean([one.score for one in some])), float(np.mean([one.would_be for one in some]))
            what = TRANSFORMATIONS[first.change.cause].several
            lines.append(
                f"{counted(len(some), noun)} are {what}: {named}; {first.metric} {gain[0]:.2f} would be {gain[1]:.2f}"
            )
    if len(order) > most:
        lines[-1] += f" (and {counted(len(order) - most, 'more cause')})"
    return lines
