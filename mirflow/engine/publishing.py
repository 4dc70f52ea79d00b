"""Publish a run that was computed in parts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import RunError, StoreError, counted, warn_caller
from ..pipeline.plan import EvaluationPlan, Stale
from ..progress import Progress, progress_of
from ..ragged import Int
from ..store.cells import Cells, cell_places, concatenate_cells, no_cells
from ..store.write import StoreWriter
from .parts import PartFolder, numbers_of_parts, parts_of
from .runs import (
    Job,
    Prune,
    RunReport,
    contents_of_runs,
    count_values,
    demand_leave,
    entries_of,
    name_some,
    of_measures,
    place_of_store,
    plan,
    publish_jobs,
    raise_failures,
    same_cells,
    start_job,
)


def publish(
    pipeline: str | Path,
    *,
    root: str | Path | None = None,
    store: str | Path | None = None,
    code: str | Path | None = None,
    incomplete: bool = False,
    prune: Prune = False,
    progress: bool | Progress | None = None,
) -> RunReport:
    """Join the parts of a run that were computed with ``run(..., part="3/50")``, and publish the store.

    Parameters
    ----------
    pipeline : path
    root, store, code : path or None
        As for :func:`run`.
    incomplete : bool
        Whether to publish although cells are missing; they are ``not_computed``, and a later run or publish adds them.
    prune : bool or callable
        As for :func:`run`.
    progress : bool, Progress or None
        Whether to show what is done; None: on a terminal or in a notebook.

    Returns
    -------
    RunReport

    Raises
    ------
    PipelineError
        If the file is invalid.
    StoreError
        If the store cannot be written, or parts are damaged, of other versions, of another pipeline, or contradict each
        other.
    PruneError
        If more than a tenth of the store would be removed without permission.
    RunError
        If parts are missing or unfinished. Nothing is published and nothing lost by any of these errors.
    """
    began = time.perf_counter()
    with progress_of(progress) as shown:
        shown.stage("looking for files")
        planned = plan(pipeline, root=root, code=code)
        with StoreWriter(place_of_store(planned, store)) as writer:
            shown.stage("joining the parts")
            before = contents_of_runs(writer)
            parts = parts_of(writer.folder, writer.path)
            flaws = [flaw for one in parts if (flaw := one.flaw(planned.text))]
            if flaws:
                raise StoreError(f"{writer.path}: not published: {name_some(flaws, '; ')}")
            jobs = [_join(start_job(one, before.get(one.name), writer.journal), parts) for one in planned.plans]
            _demand_whole(jobs, parts, writer.path, incomplete)
            demand_leave(jobs, before, writer.path, prune, shown)
            raise_failures(jobs)
            shown.stage("writing the store")
            joined = [replace(job, done=[*job.done, _not_computed(job)]) for job in jobs]
            reports, published = publish_jobs(joined, before, writer, planned)
            for one in parts:
                if not any((job.stale.cells & one.part.share(job.plan.shape)).any() for job in jobs):
                    one.remove()
    return RunReport(writer.path, reports, time.perf_counter() - began, f"{len(parts)} parts", published)


def _join(job: Job, parts: Iterable[PartFolder]) -> Job:
    """The job with what parts have of its stale cells; those of which none has a result stay stale.

    Raises a StoreError where two parts have different results of a cell.
    """
    plan = job.plan
    owner = np.full(plan.shape[0] * plan.shape[1], -1, dtype=np.int32)
    row = owner.copy()
    held: list[tuple[PartFolder, Cells]] = []
    done = [*job.done]
    for part in parts:
        cells, place = _written(plan, part)
        for other in np.unique(owner[place]).tolist():
            if other >= 0:
                own = np.flatnonzero(owner[place] == other)
                _demand_agreement((part, held[other][0]), (cells.take(own), held[other][1].take(row[place[own]])))
        first = np.flatnonzero(owner[place] < 0)
        owner[place[first]], row[place[first]] = len(held), first
        held.append((part, cells))
        done.append(cells.take(first[job.stale.cells.ravel()[place[first]]]))
    missing = job.stale.cells & (owner < 0).reshape(plan.shape)
    return replace(job, stale=Stale(missing, job.stale.counts), done=done)


def _written(plan: EvaluationPlan, part: PartFolder) -> tuple[Cells, Int]:
    """The results of a part that belong to the plan's files and measures, with their flat places."""
    written = part.journal.read(plan.name, plan.signature)
    if part.journal.torn:
        warn_caller(f"{part.name}: {counted(part.journal.torn, 'damaged block')} left out")
    scalars = tuple(str(measure) for measure in plan.measures if not measure.metric.dims)
    cells = concatenate_cells([no_cells(scalars), *(of_measures(plan, one) for one in written)])
    place = cell_places(cells, plan.systems, plan.tracks)
    valid = np.flatnonzero((place >= 0) & (cells.stamp == plan.stamps.ravel()[place]))
    return cells.take(valid), place[valid]


def _demand_agreement(parts: tuple[PartFolder, PartFolder], sides: tuple[Cells, Cells]) -> None:
    """Raise a StoreError where two parts have different results of the same cells."""
    if same_cells(*map(_filled, sides)):
        return
    for cell in range(len(sides[0])):
        alone = [_filled(side.take(np.array([cell]))) for side in sides]
        if not same_cells(*alone):
            break
    where = f"system {alone[0].system[0]!r}, track {alone[0].track[0]!r}"
    first, second = sorted(parts, key=lambda part: part.part)
    raise StoreError(
        f"{first.store}: not published: {first.name} and {second.name} have different results of {where}: "
        f"remove one of them ({first.path} or {second.path})"
    )


def _filled(cells: Cells) -> Cells:
    """The cells without results with extra dims of which none has an entry."""
    return replace(cells, extras={name: sparse for name, sparse in cells.extras.items() if entries_of(sparse)})


def _not_computed(job: Job) -> Cells:
    """Cells without results in place of those that are out of date in the store."""
    scalars = tuple(str(measure) for measure in job.plan.measures if not measure.metric.dims)
    cells = np.argwhere(job.stale.cells) if job.before is not None else np.empty((0, 2), dtype=np.int64)
    rows, columns = cells.T.tolist()
    nothing, none = np.full((len(cells), len(scalars)), np.nan), np.zeros(len(cells), dtype=np.int64)
    texts = ("",) * len(cells)
    return Cells(
        tuple(job.plan.systems[row] for row in rows),
        tuple(job.plan.tracks[column] for column in columns),
        *(scalars, nothing, np.zeros_like(nothing), none.astype(np.int8), none.astype(np.int32)),
        *(texts, texts, none, np.full(len(cells), np.nan)),
    )


def _demand_whole(jobs: Sequence[Job], parts: Sequence[PartFolder], path: Path, incomplete: bool) -> None:
    """Name what is missing: an error, or a warning if it may be."""
    if not any(len(job.stale) for job in jobs):
        return
    if not parts:
        raise RunError(f"{path}: not published: no part of it has been computed; `mirflow run --part 1/N` computes one")
    lacking = "; ".join(_lacking(jobs, parts))
    if not incomplete:
        remedy = "compute them, or publish without them (--incomplete, in Python incomplete=True)"
        raise RunError(f"{path}: not published: {lacking}; {remedy}")
    warn_caller(f"{path}: published without some cells: {lacking}")


def _lacking(jobs: Iterable[Job], parts: Sequence[PartFolder]) -> Iterator[str]:
    """Which parts are missing or unfinished, in words."""
    ((of, _),) = Counter(one.part.of for one in parts).most_common(1)
    begun = {one.part.number: one for one in parts if one.part.of == of}
    missing, sizes = Counter[int](), Counter[int]()
    for job in jobs:
        numbers = numbers_of_parts(job.plan.shape, of)
        sizes.update(count_values(numbers))
        missing.update(count_values(numbers[job.stale.cells]))
    absent = [f"{number}/{of}" for number in sorted(missing) if number not in begun]
    if absent:
        yield f"part{'s' if absent[1:] else ''} {name_some(absent)} {'are' if absent[1:] else 'is'} missing"
    unfinished = [
        f"{begun[number].holder() or begun[number].name} has {sizes[number] - missing[number]} of "
        f"{counted(sizes[number], 'cell')}"
        for number in sorted(missing)
        if number in begun
    ]
    if unfinished:
        yield name_some(unfinished)
