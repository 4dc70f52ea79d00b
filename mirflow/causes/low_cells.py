"""Causes of the low scores of pairs and of runs, and the few lines that say what was found.

Without a pipeline, low cells are noted while blocks are scored; those of a run are taken from its results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.classes import Classes
from ..annotations.source import Source
from ..engine.block import TrackWork
from ..errors import AnnotationError, counted
from ..metrics.base import Grid
from ..metrics.measures import Measure
from ..pipeline.plan import EvaluationPlan
from ..store.cells import Cells, GroupContent, with_measures
from ..store.format import dense_cells
from .diagnosis import ALL, LOW, Board, Cause, Diagnosis, Judge, find_causes
from .transformations import REFERENCE, TRANSFORMATIONS

FREE = 6
"""Cells that any run looks at, or a third so many for each of its evaluations if that is more."""
FREE_IN_MEMORY = 4
"""Cells that are looked at whenever pairs in memory are scored."""
SCORED = 2000
"""Scored cells for which another cell is looked at: about a twentieth of the time of scoring."""
MOST_SCORES = 2**22
"""Scores of an evaluation that are compared with each other; of more, those of tracks at equal distances."""
_DOUBTED = {
    "pitch_unit": re.compile(r"are they (MIDI numbers|in cents)\?"),
    "time_scale": re.compile(r"are the times in beats\?"),
}
"""Causes, and the doubts that say the same."""
LINES = 3
"""Lines of a summary."""
_KEPT = 200
"""Low cells that are kept while pairs are scored."""
_NAMED = 3
"""Tracks that a line names."""


@dataclass
class Reader:
    """Reads annotations, the last ones of which are kept."""

    _read: dict[int, tuple[Source, Annotation | str]] = field(default_factory=dict)

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

    `measures`: the headline metric is looked at, or the first one whose best score is a number.
    """

    def __init__(
        self, task: str, convention: str, measures: Sequence[Measure], grid: Grid, classes: Classes | None = None
    ) -> None:
        scored = [str(measure) for measure in measures if not measure.metric.dims]
        self._judge = Judge.of(task, convention, None, grid, classes, scored)
        self._rows: list[tuple[str, str, Source, Source, float]] = []
        self._scored = 0

    def add(self, works: Sequence[TrackWork], cells: Cells) -> None:
        """Note the low ones of cells that were scored."""
        self._scored += len(cells)
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

    def find(self) -> list[Cause]:
        """The causes of the noted cells: of a few all, of more those of a share of the scored cells."""
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
        board = Board("", self._judge, tracks, systems, references, estimates, score)
        return find_causes(board, Reader(), budget=FREE_IN_MEMORY + self._scored / SCORED).findings


def causes_of_run(
    evaluations: Sequence[tuple[EvaluationPlan, GroupContent, int]], *, everything: bool = False
) -> Diagnosis:
    """The causes of the low scores of a run: of each set of files once.

    `evaluations` (sequence of (EvaluationPlan, GroupContent, int)): plans and results of the evaluations, and the
    numbers of cells that were computed, by which is bounded how many low ones are looked at.
    """
    sets: list[tuple[EvaluationPlan, GroupContent]] = []
    for plan, content, _ in evaluations:
        files = plan.task, plan.references, plan.estimates
        if all(files != (other.task, other.references, other.estimates) for other, _ in sets):
            sets.append((plan, content))
    budget = max(FREE, len(sets) * FREE / 3) + sum(count for _, _, count in evaluations) / SCORED
    every: list[Diagnosis] = []
    for number, (plan, content) in enumerate(sets):
        judge = Judge.of(plan.task, plan.convention, None, plan.grid, plan.classes, content.measures)
        if judge is None:
            continue
        step = max(1, -(-len(plan.systems) * len(plan.tracks) // MOST_SCORES))
        tracks, cells = plan.tracks[::step], with_measures(content.cells, (str(judge.measure),))
        some = replace(content, systems=plan.systems, tracks=tracks, cells=cells)
        score = dense_cells(some, ["score"])["score"][..., 0]
        if not (score < 1 - LOW / 2).any():
            continue
        references = {
            track: files[0].source for track, files in zip(plan.tracks, plan.references, strict=True) if files
        }
        places = {name: place for place, name in enumerate(plan.tracks)}
        rows = zip(plan.systems, plan.estimates, strict=True)
        estimates = {system: _Estimates(places, sources) for system, sources in rows}
        board = Board(content.name, judge, tracks, plan.systems, references, estimates, score)
        share = budget / (len(sets) - number)
        every.append(find_causes(board, Reader(), budget=None if everything else share))
        budget -= min(share, every[-1].looked)
    findings = [finding for diagnosis in every for finding in diagnosis.findings]
    return Diagnosis(findings, sum(one.looked for one in every), sum(one.left for one in every))


@dataclass(eq=False)
class _Estimates(Mapping[str, Source]):
    """The estimates of a system by track, without a copy."""

    places: Mapping[str, int]
    sources: Sequence[Source | None]

    def __getitem__(self, track: str) -> Source:
        source = self.sources[self.places[track]]
        if source is None:
            raise KeyError(track)
        return source

    def __iter__(self) -> Iterator[str]:
        return (track for track, source in zip(self.places, self.sources, strict=True) if source is not None)

    def __len__(self) -> int:
        return sum(source is not None for source in self.sources)


def describe(findings: Sequence[Cause], most: int = LINES, *, doubts: Iterable[str] = ()) -> list[str]:
    """A line for each cause, those of most cells first; the last one counts what is left out.

    Causes that the `doubts` printed beside them name are left out.
    """
    groups: dict[tuple[str, str, str], list[Cause]] = {}
    printed = "\n".join(doubts)
    for finding in findings:
        change = finding.change
        if change.cause in _DOUBTED and _DOUBTED[change.cause].search(printed):
            continue
        whose = finding.system if finding.track == ALL else ""
        groups.setdefault((whose, change.side, change.cause), []).append(finding)
    order = sorted(groups.values(), key=lambda some: -sum(one.tracks * one.systems for one in some))
    lines = []
    for some in order[:most]:
        first = some[0]
        if first.track == ALL or len(some) == 1:
            whose = ""
            if first.track == ALL:
                some_of = " that were looked at" if first.sampled else ""
                whose = f"{first.tracks} of {first.out_of} estimates of {first.system!r}{some_of}: "
            elif first.track:
                system = "" if first.system in (ALL, "estimate", first.track) else f"{first.system!r}: "
                whose = f"track {first.track!r}: {system}"
            side = "reference" if first.change.side == REFERENCE else "estimate"
            option = TRANSFORMATIONS[first.change.cause].option(first.change)
            typed = [f"--{side}-{name.replace('_', '-')} {value}" for name, value in option.items()]
            cure = f"; {first.remedy} ({', '.join(typed)})" if typed else f" ({first.change.cause})"
            lines.append(f"{whose}{first.sentence}{cure}")
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
