"""Running a pipeline: plan, compute what is stale, journal it, publish the store; or the same as a lazy tree."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .analysis.cautions import kept_cautions
from .analysis.comparison.sides import IMPORTED
from .cells import Cells
from .errors import MirflowWarning, PipelineError, Problem, PruneError, RunError, StoreError
from .flow.execute import choose_scheduler, execute
from .flow.work import BlockWork, works_of
from .job import (
    Job,
    failures,
    incomplete_counts,
    previous_of,
    removal,
    status_counts,
    stored_groups,
    warned_count,
)
from .metrics.base import describe
from .pipeline import PlannedPipeline, plan_pipeline
from .plan import EvaluationPlan, Stale, stale_cells
from .plan import describe as describe_plan
from .progress import Progress
from .status import EMPTY, FAILED, Status
from .store.columns import column, plain_attrs, usable_text
from .store.packs import open_pack
from .store.writer import StoreWriter

if TYPE_CHECKING:
    import xarray as xr

Prune = bool | Callable[[str], bool]
_VERSIONED = ("mirflow", "numpy", "zarr")


@dataclass(frozen=True)
class EvaluationReport:
    """What a run did for one evaluation.

    Parameters
    ----------
    plan : EvaluationPlan
    counts : mapping of str to int
        Cells by why they were computed or not: ``new``, ``changed``, ``retried``, ``resumed``, ``reused``, ``removed``.
    status : mapping of Status to int
        All cells by outcome.
    messages : tuple of str
        Why cells have no score, each reason once.
    partly : int
        Cells of which some metrics have no score.
    undefined : int
        Cells that were scored although some metrics had nothing to measure (weight 0).
    warnings : tuple of str
        What was warned of as it concerns the meaning of the scores; the store keeps it.
    warned : int
        Cells that were scored although reference and estimate hardly belong together: their messages say why.
    """

    plan: EvaluationPlan = field(repr=False)  # thousands of files: too much for the last line of a notebook's cell
    counts: Mapping[str, int]
    status: Mapping[Status, int]
    messages: tuple[str, ...]
    partly: int = 0
    undefined: int = 0
    warnings: tuple[str, ...] = ()
    warned: int = 0

    @property
    def empty(self) -> int:
        """Number of cells with a score whose reference or estimate is empty."""
        return sum(count for status, count in self.status.items() if status in EMPTY)

    @property
    def failed(self) -> int:
        """Number of cells without a score."""
        return sum(count for status, count in self.status.items() if status in FAILED)


@dataclass(frozen=True)
class RunReport:
    """What a run did.

    Parameters
    ----------
    store : Path
    evaluations : tuple of EvaluationReport
    seconds : float
        Wall time.
    scheduler : str
        The one that was used.
    published : bool
        Whether the store changed.
    """

    store: Path
    evaluations: tuple[EvaluationReport, ...]
    seconds: float
    scheduler: str
    published: bool

    @property
    def failed(self) -> int:
        """Number of failed cells in the evaluations that do not ignore failures."""
        return sum(report.failed for report in self.evaluations if report.plan.on_error != "ignore")


def plan(pipeline: str | Path, *, root: str | Path | None = None, on_error: str | None = None) -> PlannedPipeline:
    """What a pipeline compares: files are listed, and few are read.

    Those are read whose annotators count, and of rankings and labels as many as show that the two sides meet by name.

    Parameters
    ----------
    pipeline : path
    root : path or None
        Instead of that of the file.
    on_error : {"record", "ignore", "raise"} or None
        Instead of that of the evaluations.

    Raises
    ------
    PipelineError
        If the file is wrong, or a pattern matches nothing.
    """
    planned = plan_pipeline(pipeline, root=root, open_pack=open_pack)
    if on_error is None:
        return planned
    return replace(planned, plans=tuple(replace(one, on_error=on_error) for one in planned.plans))


def run(
    pipeline: str | Path,
    *,
    root: str | Path | None = None,
    store: str | Path | None = None,
    scheduler: Any = None,
    workers: int | None = None,
    force: bool = False,
    on_error: str | None = None,
    prune: Prune = False,
    progress: Progress | None = None,
    guarded: bool = False,
) -> RunReport:
    """Run a pipeline and publish its store.

    Parameters
    ----------
    pipeline : path
    root, store : path or None
        Instead of those of the file.
    scheduler : str, distributed.Client or None
        Instead of that of the file: ``auto``, ``serial``, ``threads``, ``processes``, ``tcp://host:port`` or a client.
    workers : int or None
        How many threads or processes; None: one a core.
    force : bool
        Compute everything again.
    on_error : {"record", "ignore", "raise"} or None
        Instead of that of the evaluations.
    prune : bool or callable
        Whether cells of the store that the pipeline no longer names may go, also where they are more than a tenth of
        the store; or who answers that when told how many and which they are.
    progress : Progress or None
    guarded : bool
        Whether ``auto`` may start worker processes; a script that says True needs an ``if __name__ == "__main__"``.

    Returns
    -------
    RunReport

    Raises
    ------
    PipelineError
        If the file is wrong; nothing is run.
    StoreError
        If the store cannot be written.
    PruneError
        If more than a tenth of the store would go, and may not; nothing is run.
    RunError
        If a cell fails under ``on_error: raise``, or workers die again and again. What was computed is kept.
    """
    began = time.perf_counter()
    with progress or Progress() as shown:
        shown.stage("looking for files")
        planned = plan(pipeline, root=root, on_error=on_error)
        asked = planned.pipeline
        with StoreWriter(asked.store if store is None else store) as writer:
            shown.stage("comparing with the store")
            if IMPORTED in writer.attrs():
                raise StoreError(f"{writer.path}: holds imported scores, which a run would remove; name another store")
            jobs = [Job.start(one, writer, force) for one in planned.plans]
            _demand_leave(jobs, writer, prune, shown)
            if force:
                writer.journal.clear()
            for job in jobs:
                _raise_known_failure(job)
            works = [(job, work) for job in jobs for work in works_of(job.plan, job.stale)]
            chosen = choose_scheduler(scheduler or asked.execution.scheduler, [work for _, work in works], guarded)
            _compute(works, writer, chosen, workers, shown)
            shown.stage("writing the store")
            reports, published = _publish(jobs, writer, planned)
    return RunReport(writer.path, reports, time.perf_counter() - began, str(chosen), published)


def _demand_leave(jobs: Sequence[Job], writer: StoreWriter, prune: Prune, shown: Progress) -> None:
    """Say what leaves the store before it does; much of it needs somebody's leave."""
    befores = {job.plan.name: job.before for job in jobs if job.before is not None}
    others = {name: writer.previous(name) for name in writer.groups() if name not in befores}
    befores |= {name: before for name, before in others.items() if before is not None}
    removed = removal(befores, [job.plan for job in jobs])
    if not removed.cells:
        return
    said = f"{writer.path}: the run {removed}"
    shown.stage("")
    if prune is True:
        shown.say(said)
    elif not removed.large:
        warnings.warn(said, MirflowWarning, stacklevel=3)
    elif prune is False or not prune(said):
        remedy = "--prune (in Python prune=True) lets them go; to keep them, name them again, or another store"
        raise PruneError(f"{said}; {remedy}")


def _compute(
    works: Sequence[tuple[Job, BlockWork]], writer: StoreWriter, scheduler: Any, workers: int | None, progress: Progress
) -> None:
    """Score all blocks; each is in the journal before it counts as done."""
    if not works:
        return
    progress.start(sum(len(work.tracks) for _, work in works))

    def done(number: int, cells: Cells) -> None:
        job, work = works[number]
        writer.journal.append(job.plan.name, job.plan.signature, cells)
        job.done.append(cells)
        progress.advance(len(work.tracks))
        if job.plan.on_error == "raise":
            _raise_failure(cells)

    execute([work for _, work in works], scheduler, done, workers)


def _raise_known_failure(job: Job) -> None:
    """Under ``on_error: raise`` a failure that the store or the journal knows stops a run before it starts."""
    if job.plan.on_error == "raise":
        _raise_failure(job.known())


def _raise_failure(cells: Cells) -> None:
    failed = np.flatnonzero(np.isin(cells.status, list(FAILED)))
    if len(failed):
        first = int(failed[0])
        status = Status(int(cells.status[first])).name
        raise RunError(
            f"system {cells.system[first]!r}, track {cells.track[first]!r}: {status}: {cells.message[first]} "
            "(stopped, as on_error is raise; what was computed is kept)"
        )


def _publish(
    jobs: Sequence[Job], writer: StoreWriter, planned: PlannedPipeline
) -> tuple[tuple[EvaluationReport, ...], bool]:
    """Put the new store in place, unless it would equal the one that is there."""
    versions = {name: version(name) for name in _VERSIONED} | {"python": platform.python_version()}
    # The root too, as the pipeline's own may be relative to where its file was: reports show the annotations again.
    attrs = {"versions": versions, "pipeline": planned.text, "root": planned.root}
    contents = [job.content(attrs) for job in jobs]
    same = all(job.unchanged(content) for job, content in zip(jobs, contents, strict=True))
    published = not same or set(writer.groups()) != {content.name for content in contents}
    if published:
        writer.publish(contents, {"name": planned.pipeline.name, **attrs})
    else:
        writer.journal.clear()
    reports = [
        EvaluationReport(
            *(job.plan, job.counts, status_counts(content), tuple(failures(content))),
            *incomplete_counts(content),
            tuple(caution.text for caution in job.plan.cautions),
            warned_count(content),
        )
        for job, content in zip(jobs, contents, strict=True)
    ]
    return tuple(reports), published


def open_pipeline(pipeline: str | Path, *, root: str | Path | None = None, block: int | None = None) -> xr.DataTree:
    """A pipeline's scores as a lazy tree: nothing is computed until it is asked for.

    Parameters
    ----------
    pipeline : path
    root : path or None
        Instead of that of the file.
    block : int or None
        Tracks of a chunk. None: the file's ``execution.block`` if it has one, else 1. Of a chunk that is asked for all
        systems are read, and no other track; chunks that are asked for together are scored together, so that small
        ones cost little. With more than 10,000 tracks larger ones spare dask work.

    Returns
    -------
    xr.DataTree
        One group an evaluation, with the variables and coordinates of a store's group but for ``stamp``, as dask
        arrays with a chunk for each block of tracks. Where the labels of a metric are known only from the files, as
        those of a confusion of classes that the pipeline does not list, the evaluation's files are read now.

    Raises
    ------
    PipelineError
        If the file is wrong, or the block is.
    """
    import xarray as xr

    if block is not None and block < 1:
        raise PipelineError([Problem("block", f"{block} is not a number of tracks, which is at least 1")], pipeline)
    planned = plan(pipeline, root=root)
    execution = planned.pipeline.execution
    size = block or (execution.block if "block" in execution.model_fields_set else 1)
    return xr.DataTree.from_dict({one.name: _lazy(replace(one, max_block=size)) for one in planned.plans})


def _lazy(plan: EvaluationPlan) -> xr.Dataset:
    import xarray as xr

    from .flow.chunks import lazy_scores
    from .flow.graph import expected_extras

    scalars = [measure for measure in plan.measures if not measure.metric.dims]
    works = works_of(plan, Stale(np.ones(plan.shape, dtype=np.bool_)))
    extras = expected_extras(plan)
    variables = lazy_scores(works, plan.systems, len(scalars), extras)
    coords: dict[str, Any] = {"system": list(plan.systems), "track": list(plan.tracks)}
    coords |= {name: ("metric", values) for name, values in describe(scalars).items()}
    for dim, named in (("track", plan.track_meta), ("system", plan.system_meta)):
        coords |= {name: (dim, usable_text(column(values))) for name, values in named.items()}
    for sparse in extras.values():
        coords |= {dim: list(labels) for dim, labels in zip(sparse.dims, sparse.coords, strict=True)}
    attrs = {"task": plan.task, "convention": plan.convention, "grid": plan.grid, **kept_cautions(plan.cautions)}
    return xr.Dataset(variables, coords, plain_attrs(attrs))


def preview(
    pipeline: str | Path,
    *,
    root: str | Path | None = None,
    store: str | Path | None = None,
    force: bool = False,
    on_error: str | None = None,
) -> str:
    """What `run` would do, for people; nothing is computed or written."""
    planned = plan(pipeline, root=root, on_error=on_error)
    path = Path(planned.pipeline.store if store is None else store)
    befores = stored_groups(path)
    described = []
    for one in planned.plans:
        before = befores.get(one.name)
        stale = stale_cells(one, None if before is None else previous_of(before), force)
        described.append(describe_plan(one, stale))
    removed = removal(befores, planned.plans)
    leave = [f"the run {removed}{'; it needs --prune' if removed.large else ''}"] if removed.cells else []
    return "\n".join([*described, *leave, f"store: {path}"])
