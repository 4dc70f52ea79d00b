"""Publish a run that was computed in parts: their results are joined, compared, and written to the store.

Nothing is published if parts are of another pipeline or version, or have different results of a cell; nor if cells are
missing, unless that is allowed. Parts that are published as a whole are removed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from ..errors import RunError, StoreError, counted, name_some, warn_caller
from ..pipeline.plan import Prune, Stale, demand_leave
from ..progress import Progress, progress_of
from ..store.cells import Cells
from ..store.write import StoreWriter
from .parts import PartFolder, PartResults, numbers_of_parts, parts_of, sorting_place
from .runs import (
    Job,
    RunReport,
    contents_of_runs,
    entries_of,
    place_of_store,
    plan,
    publish_jobs,
    raise_failures,
    same_cells,
    start_job,
    written_cells,
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
            flaws = [flaw for part in parts if (flaw := part.flaw(planned.text))]
            if flaws:
                raise StoreError(f"{writer.path}: not published: {name_some(flaws, '; ')}")
            with sorting_place(writer) as folder:
                started = [start_job(item, before.get(item.name), writer.journal) for item in planned.plans]
                jobs = [_join(job, parts, folder) for job in started]
                _demand_whole(jobs, parts, writer.path, incomplete)
                demand_leave([job.plan for job in jobs], before, writer.path, prune, shown)
                raise_failures(jobs)
                shown.stage("writing the store")
                reports, published = publish_jobs(jobs, before, writer, planned)
            for part in parts:
                if not any((job.stale.cells & part.part.share(job.plan.shape)).any() for job in jobs):
                    part.remove()
    return RunReport(writer.path, reports, time.perf_counter() - began, counted(len(parts), "part"), published)


def _join(job: Job, parts: Sequence[PartFolder], folder: Path) -> Job:
    """The job with what parts have of its stale cells; those of which none has a result stay stale. The results are
    sorted by system into files of the folder. Raises a StoreError where two parts have different results of a cell."""
    plan, results = job.plan, PartResults(job.plan, job.stale.cells, job.stays(), folder)
    owner = np.full(plan.shape[0] * plan.shape[1], -1, dtype=np.int32)
    contested: set[str] = set()
    for number, part in enumerate(parts):
        for cells, place in written_cells(plan, part.journal):
            stale = np.flatnonzero(job.stale.cells.ravel()[place])
            cells, place = cells.take(stale), place[stale]
            twice = place[(owner[place] >= 0) & (owner[place] != number)]
            contested |= {plan.systems[row] for row in np.unique(twice // max(1, len(plan.tracks))).tolist()}
            owner[place] = number
            results.add(number, cells, place)
        if part.journal.torn:
            warn_caller(f"{part.name}: {counted(part.journal.torn, 'damaged block')} left out")
    results.write()
    for by_part in results.by_part(contested):
        places = {number: plan.places.of(cells) for number, cells in by_part.items()}
        for one, other in combinations(by_part, 2):
            _, first, second = np.intersect1d(places[one], places[other], return_indices=True)
            sides = by_part[one].take(first), by_part[other].take(second)
            if same_cells(*map(_filled, sides)):
                continue
            for cell in range(len(sides[0])):
                alone = [_filled(side.take(np.array([cell]))) for side in sides]
                if not same_cells(*alone):
                    break
            where = f"system {alone[0].system[0]!r}, track {alone[0].track[0]!r}"
            mine, theirs = sorted((parts[one], parts[other]), key=lambda part: part.part)
            raise StoreError(
                f"{mine.store}: not published: {mine.name} and {theirs.name} have different results of {where}: "
                f"remove one of them ({mine.path} or {theirs.path})"
            )
    done = [*job.done, results.names]
    return replace(job, stale=Stale(results.missing, job.stale.counts), done=done, parts=results.stored())


def _filled(cells: Cells) -> Cells:
    """The cells without results with extra dims of which none has an entry."""
    return replace(cells, extras={name: sparse for name, sparse in cells.extras.items() if entries_of(sparse)})


def _demand_whole(jobs: Sequence[Job], parts: Sequence[PartFolder], path: Path, incomplete: bool) -> None:
    """Name what is missing: an error, or a warning if it may be."""
    if not any(job.stale.cells.any() for job in jobs):
        return
    if not parts:
        raise RunError(f"{path}: not published: no part of it has been computed; `mirflow run --part 1/N` computes one")
    ((of, _),) = Counter(part.part.of for part in parts).most_common(1)
    begun = {part.part.number: part for part in parts if part.part.of == of}
    missing, sizes = Counter[int](), Counter[int]()
    for job in jobs:
        numbers = numbers_of_parts(job.plan.shape, of)
        for counts, values in (sizes, numbers), (missing, numbers[job.stale.cells]):
            values, occurrences = np.unique(values, return_counts=True)
            counts.update(dict(zip(values.tolist(), occurrences.tolist(), strict=True)))
    absent = [f"{number}/{of}" for number in sorted(missing) if number not in begun]
    unfinished = [
        f"{begun[number].holder() or begun[number].name} has {sizes[number] - missing[number]} of "
        f"{counted(sizes[number], 'cell')}"
        for number in sorted(missing)
        if number in begun
    ]
    several = bool(absent[1:])
    missed = f"part{'s' * several} {name_some(absent)} {'are' if several else 'is'} missing" if absent else ""
    lacking = "; ".join(filter(None, (missed, name_some(unfinished) if unfinished else "")))
    if not incomplete:
        remedy = "compute them, or publish without them (--incomplete, in Python incomplete=True)"
        raise RunError(f"{path}: not published: {lacking}; {remedy}")
    warn_caller(f"{path}: published without some cells: {lacking}")
