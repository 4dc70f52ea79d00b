"""Run a pipeline or a part of it: find stale cells, resume from the journal, compute, compare, and publish the store.

A store is published only if its contents differ from those before; cells of copied or touched files keep their results.
Evaluations can also be scored without a store. With ``on_error: raise``, a run stops at the first failed cell. Here are
also the preview of a run, the report of each evaluation, and the pipeline opened as a lazy tree.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MirflowError, MirflowWarning, PipelineError, Problem, RunError, StoreError, warn_caller
from ..metrics.base import Sparse
from ..notebook import html_table
from ..pipeline import Pipeline, PlannedPipeline, plan_pipeline
from ..pipeline.plan import (
    NAME_BITS,
    EvaluationPlan,
    Prune,
    Stale,
    demand_leave,
    find_removal,
    stale_cells,
    worth_retrying,
)
from ..pipeline.plan import describe as describe_plan
from ..progress import Progress, progress_of
from ..ragged import Bool, Int
from ..readers.content import join_digests
from ..remote import as_given, parse_address, store_flaw
from ..store.cells import (
    EMPTY,
    FAILED,
    FAILED_METRIC,
    FAILED_METRICS,
    NUMERATOR,
    SCORED,
    Cells,
    GroupContent,
    Status,
    StoredResults,
    concatenate_cells,
    no_cells,
    read_message,
    relabel,
    text_of,
    with_measures,
)
from ..store.format import (
    IMPORTED,
    PATCHES,
    READING,
    SIGNATURES,
    dense_cells,
    extra_entries,
    kept_settings,
    layout,
    loaded,
    metric_coords,
    plain_attrs,
    usable_text,
)
from ..store.generations import demand_path, sign_run, target_of
from ..store.journal import Journal
from ..store.packs import open_pack
from ..store.read import open_groups
from ..store.repositories import join_systems
from ..store.write import StoreWriter, Writer, open_writer, software_versions
from .pair_scores import EACH
from .parts import Part, PartFolder, PartResults, sorting_place
from .schedule import BlockTask, Key, block_graph, choose_scheduler, execute, start_forkserver

if TYPE_CHECKING:
    import xarray as xr


@dataclass
class Job:
    """One evaluation of a run: its plan, the stale cells, the contents of the store, and the computed cells. Those of
    the store stay there, and are read a few systems at a time. `counts` are cells by reason: ``new``, ``changed``,
    ``retried``, ``resumed`` (computed by an interrupted run), ``reused``, ``removed``."""

    plan: EvaluationPlan
    stale: Stale
    counts: Mapping[str, int]
    before: GroupContent | None
    done: list[Cells] = field(default_factory=list)
    parts: Mapping[str, StoredResults] | None = None
    """Where the results of each system are, if they are on disk."""
    results: PartResults | None = None  # takes the computed cells to the disk; None: they stay in memory

    def stays(self) -> GroupContent | None:
        """What the store has of the plan's systems and measures; None if nothing of it stays."""
        if self.before is None or not self.counts["reused"]:
            return None
        stored = {name: self.before.stored[name] for name in self.plan.systems if name in self.before.stored}
        return replace(self.before, cells=of_measures(self.plan, self.before.cells), stored=stored)

    def add(self, cells: Cells, place: Int) -> None:
        """Take computed cells and their flat places."""
        if self.results is None:
            self.done.append(cells)
        else:
            self.results.add(0, of_measures(self.plan, cells), place)


_MOST_IN_MEMORY = 2**17
"""Cells of an evaluation that a run computes and keeps in memory until the store is written; of more, none."""


def start_job(
    plan: EvaluationPlan,
    before: GroupContent | None,
    journal: Journal,
    force: bool = False,
    share: Bool | None = None,
    folder: Path | None = None,
) -> Job:
    """Find what a run of a plan, or of a share of its cells, has to compute, and take from the journal what it has.
    Many results go to files in the `folder`."""
    stale = stale_cells(plan, before, force, share)
    job = Job(plan, stale, {**stale.counts, "resumed": 0}, before)
    if folder is not None and np.count_nonzero(stale.cells) > _MOST_IN_MEMORY:
        job.results = PartResults(plan, stale.cells, job.stays(), folder)
    if force:
        return job
    unchanged = np.zeros(plan.shape, dtype=np.bool_)
    for cells, cell in same_bytes(plan, before, stale) if before is not None else ():
        job.add(cells, cell)
        unchanged.ravel()[cell] = True
    if unchanged.any():
        count = int(unchanged.sum())
        counts = {**stale.counts, "changed": stale.counts["changed"] - count, "reused": stale.counts["reused"] + count}
        stale = job.stale = Stale(stale.cells & ~unchanged, counts)
        job.counts = {**counts, "resumed": 0}
    # A journaled result counts only if the stored one is stale and the scored files have not changed.
    status = np.full(plan.shape, Status.not_computed, dtype=np.int8)
    for cells, cell in written_cells(plan, journal):
        status.ravel()[cell] = cells.status
    if journal.torn:
        warn_caller(f"{plan.name}: {journal.torn} damaged blocks of an interrupted run are computed again")
    resumed = stale.cells & (status != Status.not_computed)
    resumed &= ~worth_retrying(plan, np.where(resumed, status, Status.ok), 0)
    if resumed.any():
        for cells, cell in written_cells(plan, journal):
            indices = np.flatnonzero(resumed.ravel()[cell])
            job.add(cells.take(indices), cell[indices])
        job.stale = Stale(stale.cells & ~resumed, stale.counts)
        job.counts = {**stale.counts, "resumed": int(resumed.sum())}
    return job


def same_bytes(plan: EvaluationPlan, before: GroupContent, stale: Stale) -> Iterator[tuple[Cells, Int]]:
    """Stored results of cells whose files were copied, restored or touched, but have the names and bytes as scored.
    They have the plan's stamps, and come with their flat places, system by system."""
    if not plan.signatures.items() <= before.attrs.get(SIGNATURES, {}).items():
        return
    references: dict[int, str] = {}
    for row in np.flatnonzero(stale.cells.any(axis=1)).tolist():
        system = plan.systems[row]
        if system not in before.systems:
            continue
        cells = of_measures(plan, loaded(before.part([system])).cells)
        cell = plan.places.of(cells)
        candidates = (cell >= 0) & stale.cells.ravel()[cell] & (cells.status == Status.ok)
        candidates &= (cells.stamp ^ plan.stamps.ravel()[cell]).view(np.uint64) & NAME_BITS == 0
        same: list[int] = []
        for index in np.flatnonzero(candidates).tolist():
            column = int(cell[index]) % plan.shape[1]
            estimate = plan.estimates[row][column]
            if estimate is None or len(cells.digest[index]) <= 1:
                continue
            with suppress(MirflowError):  # which is told where the cell is computed
                if column not in references:
                    references[column] = join_digests([item.source.digest_now() for item in plan.references[column]])
                if cells.digest[index] == f"{references[column]}:{estimate.digest_now()}":
                    same.append(index)
        if same:
            chosen = np.array(same, dtype=np.int64)
            yield replace(cells.take(chosen), stamp=plan.stamps.ravel()[cell[chosen]]), cell[chosen]


def written_cells(plan: EvaluationPlan, journal: Journal) -> Iterator[tuple[Cells, Int]]:
    """The results of a journal that belong to the plan's files and measures, with their flat places, block by block."""
    for block in journal.read(plan.name, plan.signature):
        cells = of_measures(plan, block)
        cell = plan.places.of(cells)
        valid = np.flatnonzero(cell >= 0)
        valid = valid[cells.stamp[valid] == plan.stamps.ravel()[cell[valid]]]
        yield cells.take(valid), cell[valid]


def of_measures(plan: EvaluationPlan, cells: Cells) -> Cells:
    """Cells with the measures of a plan and no others."""
    scalars = tuple(str(measure) for measure in plan.measures if not measure.metric.dims)
    named = {measure.variable for measure in plan.measures if measure.metric.dims}
    extras = {name: sparse for name, sparse in cells.extras.items() if name in named}
    if plan.combine == "each":
        each = {name: relabel(cells.extras[name], (plan.annotators, scalars)) for name in EACH if name in cells.extras}
        # A store may have had to rename the dims.
        extras |= {name: replace(sparse, dims=("annotator", "metric")) for name, sparse in each.items()}
    if NUMERATOR in cells.extras:
        extras |= {NUMERATOR: replace(relabel(cells.extras[NUMERATOR], (scalars,)), dims=("metric",))}
    if FAILED_METRICS in cells.extras:
        failed = relabel(cells.extras[FAILED_METRICS], (tuple(map(str, plan.measures)),))
        extras |= {FAILED_METRICS: replace(failed, dims=(FAILED_METRIC,))}
    return replace(with_measures(cells, scalars), extras=extras)


def _settings(plan: EvaluationPlan) -> dict[str, Any]:
    """The attributes that keep how an evaluation is scored."""
    rules = plan.task, plan.convention, plan.grid, plan.combine, plan.measures, plan.classes, plan.cautions
    reading = {side: dict(options) for side, options in plan.reading.items()}
    return kept_settings(*rules, {READING: reading, PATCHES: list(plan.patches)})


def _content(job: Job, attrs: Mapping[str, Any]) -> GroupContent:
    """The group to store, with attributes in addition to the plan's."""
    plan = job.plan
    if job.results is not None:  # on disk, from where they are read
        job.results.write()
        job = replace(job, done=[job.results.names], parts=job.results.stored())
    columns = tuple(str(measure) for measure in plan.measures if not measure.metric.dims)
    before, done = job.stays(), [of_measures(plan, cells) for cells in job.done]
    # The computed cells, and the names of results with extra dims.
    cells = concatenate_cells([no_cells(columns), *([] if before is None else [before.cells]), *done])
    stored = job.parts if job.parts is not None else {} if before is None else before.stored
    settings = {**_settings(plan), SIGNATURES: dict(plan.signatures)}
    coords = metric_coords(plan.measures), dict(plan.system_meta), dict(plan.track_meta)
    content = GroupContent(plan.name, plan.systems, plan.tracks, cells, *coords, {**settings, **attrs}, stored)
    extras = content.cells.extras
    if FAILED_METRICS in extras and not len(extra_entries(content, FAILED_METRICS).index):
        without = {name: sparse for name, sparse in extras.items() if name != FAILED_METRICS}
        return replace(content, cells=replace(content.cells, extras=without))
    return content


def same_content(one: GroupContent, other: GroupContent, ignored: Collection[str] = ()) -> bool:
    """True if two groups hold the same systems, tracks, metrics, metadata and results, even if cells were computed
    again; some attributes may be `ignored`. Results that are the same files are not read."""
    headings: list[list[Any]] = []
    for content in (one, other):
        # Everything except the cells in comparable plain types; missing numbers and texts are None.
        sides = (content.metric_coords, content.system_coords, content.track_coords)
        coords = [
            {key: [None if value in (None, "") or value != value else value for value in side[key]] for key in side}
            for side in sides
        ]
        attrs = {name: value for name, value in content.attrs.items() if name not in ignored}
        headings.append([content.systems, content.tracks, content.measures, coords, attrs])
    if headings[0] != headings[1]:
        return False
    computed = {*one.cells.system, *other.cells.system}
    computed |= {system for system in one.systems if one.stored.get(system) is not other.stored.get(system)}
    return all(same_results(one, other, system) for system in one.systems if system in computed)


def same_results(one: GroupContent, other: GroupContent, system: str) -> bool:
    """True if two groups of the same tracks and metrics hold the same results of a system."""
    places = one.stored.get(system), other.stored.get(system)
    computed = system in one.cells.system or system in other.cells.system
    if places[0] is not None and places[1] is not None and not computed and places[0].shares(places[1], system):
        return True
    return same_cells(*(loaded(content.part([system])).cells for content in (one, other)))


def same_cells(some: Cells, others: Cells) -> bool:
    """True if two selections hold the same cells in the same order, with the same results."""
    texts = ("system", "track", "measures", "message", "digest")
    if any(getattr(some, name) != getattr(others, name) for name in texts):
        return False
    arrays = ("score", "weight", "status", "repairs", "stamp")
    if not all(np.array_equal(getattr(some, n), getattr(others, n), equal_nan=n == "score") for n in arrays):
        return False
    return some.extras.keys() == others.extras.keys() and all(
        entries_of(sparse) == entries_of(others.extras[name]) for name, sparse in some.extras.items()
    )


def entries_of(sparse: Sparse) -> set[tuple[object, ...]]:
    """The entries of a result with extra dims, except those equal to the fill value."""
    filled = ~(np.isnan(sparse.value) if np.isnan(sparse.fill) else sparse.value == sparse.fill)
    rows, *columns = sparse.index[filled].T
    names = [np.array(labels, dtype=object)[column] for labels, column in zip(sparse.coords, columns, strict=True)]
    return set(zip(rows.tolist(), *names, sparse.value[filled].tolist(), strict=True))


@dataclass(frozen=True, repr=False)
class EvaluationReport:
    """Result of a run for one evaluation."""

    plan: EvaluationPlan
    content: GroupContent  # contents of its group of the store
    counts: Mapping[str, int]
    """Cells by reason: ``new``, ``changed``, ``retried``, ``resumed``, ``reused``, ``removed``."""
    computed: str  # the same in words
    status: Mapping[Status, int]  # all cells by outcome
    outcomes: str  # the same in words
    messages: tuple[str, ...]  # reasons for missing scores, each once
    partly: int = 0  # number of cells without a score of some metrics
    warnings: tuple[str, ...] = ()  # warnings about the meaning of the scores, which are stored
    warned: int = 0
    """Number of scored cells whose reference and estimate hardly belong together; their messages give the reason."""
    noted: int = 0
    """Number of files of scored cells that hold something that is not read, which their messages tell."""
    repairs: int = 0  # number of repairs of all cells
    broken: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Failed user-defined metrics: the number of cells that have other scores, and an example with its message."""
    failed: int = 0  # number of cells without a score
    empty: int = 0  # number of cells with a score whose reference or estimate is empty

    def __repr__(self) -> str:
        return f"{self.plan.name}: cells: {self.computed}; now: {self.outcomes}"


@dataclass(frozen=True, repr=False)
class RunReport:
    """Result of a run: its store, evaluations, wall time, scheduler, and whether the store changed. Displayed as a line
    for the store and one for each evaluation, with the numbers of cells by status."""

    store: str | Path
    evaluations: tuple[EvaluationReport, ...]
    seconds: float
    scheduler: str
    published: bool
    part: str = ""
    """The computed part, such as ``3/50``; empty for a whole run, and for parts that are published."""

    @property
    def failed(self) -> int:
        """Number of failed cells, and of failures of metrics, in the evaluations that do not ignore failures."""
        reports = [report for report in self.evaluations if report.plan.on_error != "ignore"]
        return sum(report.failed + sum(count for count, _ in report.broken.values()) for report in reports)

    @property
    def _lines(self) -> tuple[str, str]:
        state = "written" if self.published else "unchanged"
        if self.part:
            computed = f"{self.store}: part {self.part} computed ({self.seconds:.1f} s, {self.scheduler})"
            return computed, "mirflow.publish(...) joins the parts"
        if any(report.failed for report in self.evaluations):
            more = f"mirflow.problems({str(self.store)!r}) lists the cells without a score"
        else:
            more = f"mirflow.query({str(self.store)!r}) shows the scores"
        return f"{self.store} {state} ({self.seconds:.1f} s, {self.scheduler})", more

    def __repr__(self) -> str:
        head, more = self._lines
        return "\n".join([head, *(f"  {report}" for report in self.evaluations), f"  {more}"])

    def _repr_html_(self) -> str:
        head, more = self._lines
        rows = [(report.plan.name, report.computed, report.outcomes) for report in self.evaluations]
        return html_table(("evaluation", "cells", "now"), rows, head, [more])


def plan(
    pipeline: str | Path | Pipeline,
    *,
    root: str | Path | None = None,
    code: str | Path | None = None,
    on_error: str | None = None,
) -> PlannedPipeline:
    """Plan a pipeline: list its files, reading only a few.

    Files are read if their annotators matter; of rankings and labels, enough to show that both sides share names.

    Parameters
    ----------
    pipeline : path
    root : path or None
        Overrides the root of the file.
    code : path or None
        Base folder of paths of Python files; None: the folder of the pipeline file.
    on_error : {"record", "ignore", "raise"} or None
        Overrides that of the evaluations.
    """
    planned = plan_pipeline(pipeline, root=root, code=code, open_pack=open_pack)
    if on_error is None:
        return planned
    return replace(planned, plans=tuple(replace(evaluation, on_error=on_error) for evaluation in planned.plans))


def run(
    pipeline: str | Path | Pipeline,
    *,
    root: str | Path | None = None,
    store: str | Path | None = None,
    code: str | Path | None = None,
    scheduler: Any = None,
    workers: int | None = None,
    force: bool = False,
    on_error: str | None = None,
    prune: Prune = False,
    progress: bool | Progress | None = None,
    guarded: bool = False,
    part: str | None = None,
) -> RunReport:
    """Run a pipeline and publish its store; or compute a part of it.

    Parameters
    ----------
    pipeline : path or Pipeline
        A file, or a model, whose paths are relative to the working directory.
    root, store : path or None
        Override those of the file.
    code : path or None
        Base folder of paths of Python files; None: the folder of the pipeline file.
    scheduler : str, distributed.Client or None
        Overrides that of the file: ``auto``, ``serial``, ``threads``, ``processes``, ``tcp://host:port`` or a client.
    workers : int or None
        Number of threads or processes; None: one per core.
    force : bool
        Compute everything again.
    on_error : {"record", "ignore", "raise"} or None
        Overrides that of the evaluations.
    prune : bool or callable
        Whether to remove cells that the pipeline no longer names even if they are more than a tenth of the store; or a
        function that decides, given a message that lists them.
    progress : bool, Progress or None
        Whether to show the number of tracks; None: on a terminal or in a notebook.
    guarded : bool
        Whether ``auto`` may start worker processes; scripts that pass True need an ``if __name__ == "__main__"``.
    part : str or None
        ``3/50``: only compute the third of 50 parts of the cells, beside the store, which :func:`publish` writes.

    Returns
    -------
    RunReport

    Raises
    ------
    PipelineError
        If the file is invalid; nothing is run.
    StoreError
        If the store cannot be written, or another process computes the part.
    PruneError
        If more than a tenth of the store would be removed without permission; nothing is run.
    RunError
        If a cell fails under ``on_error: raise``, or workers die repeatedly. Computed scores are kept.
    """
    began = time.perf_counter()
    chosen_part = None if part is None else Part.parse(part)
    if chosen_part is not None and (force or prune):
        raise RunError("a part computes what the store lacks and removes nothing: force and prune do not apply to it")
    if scheduler == "processes":
        start_forkserver()
    with progress_of(progress) as shown:
        shown.stage("looking for files")
        planned = plan(pipeline, root=root, code=code, on_error=on_error)
        model = planned.pipeline
        path = place_of_store(planned, store)
        if chosen_part is not None:
            beside = StoreWriter(path)
            how = scheduler or model.execution.scheduler, workers, shown, guarded
            reports, chosen = _compute_part(chosen_part, planned, beside, *how)
            return RunReport(beside.path, reports, time.perf_counter() - began, str(chosen), False, str(chosen_part))
        with open_writer(path) as writer, sorting_place(writer) as sorting:
            shown.stage("comparing with the store")
            before = contents_of_runs(writer)
            # Writers that others share only take results in memory.
            folder = None if writer.shared else sorting
            jobs = [
                start_job(evaluation, before.get(evaluation.name), writer.journal, force, folder=folder)
                for evaluation in planned.plans
            ]
            keep = writer.shared and prune is not True
            # In a store that others share, all but the tracks of the pipeline's own systems stays.
            plans = {job.plan.name: job.plan for job in jobs}
            owned = {
                name: content.part([system for system in content.systems if system in plans[name].systems])
                for name, content in before.items()
                if name in plans
            }
            demand_leave([*plans.values()], owned if keep else before, writer.path, prune, shown)
            if force:
                writer.journal.clear()
            raise_failures(jobs)
            chosen = _compute(jobs, writer.journal, scheduler or model.execution.scheduler, workers, shown, guarded)
            shown.stage("writing the store")
            reports, published = publish_jobs(jobs, before, writer, planned, keep=keep)
    return RunReport(writer.path, reports, time.perf_counter() - began, str(chosen), published)


def contents_of_runs(writer: Writer) -> dict[str, GroupContent]:
    """The contents of a store, which runs may replace; raises a StoreError if imports made it."""
    if IMPORTED in writer.attrs():
        raise StoreError(f"{writer.path}: holds imported scores, which a run would remove; name another store")
    return writer.contents()


def _compute_part(
    part: Part,
    planned: PlannedPipeline,
    store: StoreWriter,
    scheduler: Any,
    workers: int | None,
    shown: Progress,
    guarded: bool,
) -> tuple[tuple[EvaluationReport, ...], Any]:
    """Compute a part into its folder; the store is only read. Returns the reports and the scheduler."""
    with PartFolder(store.folder, store.path, part).computing(planned.text) as journal:
        shown.stage("comparing with the store")
        before = contents_of_runs(store)
        jobs = [start_job(item, before.get(item.name), journal, share=part.share(item.shape)) for item in planned.plans]
        chosen = _compute(jobs, journal, scheduler, workers, shown, guarded)
    outcomes = frozenset(Status) - {Status.not_computed}  # of other parts
    return tuple(_report(job, _content(replace(job, before=None), {}), outcomes) for job in jobs), chosen


def raise_failures(jobs: Iterable[Job]) -> None:
    """Raise a RunError for the first failed cell of the store, the journal or the parts, where plans ask for it."""
    for job in jobs:
        if job.plan.on_error == "raise":
            for part in _content(job, {}).blocks():
                raise_failure(job.plan.places.each_once(loaded(part).cells, ~job.stale.cells))


def run_plans(
    plans: Iterable[EvaluationPlan], journal: Journal, *, scheduler: Any = "auto", progress: Progress | None = None
) -> tuple[EvaluationReport, ...]:
    """Score evaluations without a store; results of an interrupted run are taken from the journal."""
    jobs = [start_job(plan, None, journal) for plan in plans]
    with progress_of(progress) as shown:
        _compute(jobs, journal, scheduler, None, shown)
    return tuple(_report(job, _content(job, {})) for job in jobs)


def place_of_store(planned: PlannedPipeline, store: str | Path | None) -> str | Path:
    """The path of the store; warns if a store at the path relative to the working directory would be ignored."""
    if store is not None:
        if flaw := store_flaw(store):
            raise StoreError(f"{as_given(store)}: {flaw}")
        return store
    if parse_address(planned.store) is not None:
        return planned.store
    path, earlier = Path(planned.store), Path(planned.pipeline.store)
    if target_of(earlier) and not target_of(path) and earlier.absolute() != path.absolute():
        warnings.warn(
            f"the results go to {path}, as the pipeline's `store` is relative to its file; the store {earlier} in the "
            f"working directory is not used; --store {earlier} continues it",
            MirflowWarning,
            stacklevel=3,
        )
    return path


def _compute(
    jobs: Iterable[Job],
    journal: Journal,
    scheduler: Any,
    workers: int | None,
    progress: Progress,
    guarded: bool = False,
) -> Any:
    """Execute the graph of all stale blocks; each is journaled before it counts as done. Returns the scheduler."""
    graph: dict[Key, tuple[BlockTask]] = {}
    owners: dict[Key, Job] = {}
    token = uuid.uuid4().hex
    for job in jobs:
        blocks = block_graph(job.plan, job.stale.cells, token)
        graph |= blocks
        owners |= dict.fromkeys(blocks, job)
    chosen = choose_scheduler(scheduler, graph, guarded, workers)
    progress.start(sum(len(task.columns) for (task,) in graph.values()))

    def done(key: Key, cells: Cells) -> None:
        job = owners[key]
        journal.append(job.plan.name, job.plan.signature, cells)
        job.add(cells, job.plan.places.of(cells))
        progress.advance(len(graph[key][0].columns))
        if job.plan.on_error == "raise":
            raise_failure(cells)

    execute(graph, chosen, done, workers, progress.stage)
    return chosen


def raise_failure(cells: Cells) -> None:
    """Raise a RunError for the first cell without a score or with a failed metric, if any."""
    partly = cells.failed_metrics
    first = min([*np.flatnonzero(np.isin(cells.status, list(FAILED))).tolist(), *partly], default=None)
    if first is None:
        return
    where = f"system {cells.system[first]!r}, track {cells.track[first]!r}"
    if names := partly.get(first, ()):
        where += f", metric{'s' if names[1:] else ''} {', '.join(map(repr, names))}"
    else:
        where += f": {Status(int(cells.status[first])).name}"
    raise RunError(
        f"{where}: {text_of(cells.message[first])} (stopped, as on_error is raise; computed scores are kept)"
    )


def publish_jobs(
    jobs: Sequence[Job],
    before: Mapping[str, GroupContent],
    writer: Writer,
    planned: PlannedPipeline,
    keep: bool = False,
) -> tuple[tuple[EvaluationReport, ...], bool]:
    """Publish the new store, unless it equals the existing one, which has the groups `before`. To `keep` is to leave
    systems and groups in the store that the pipeline does not name."""
    # Includes the root, which may be relative to the pipeline file: reports read the annotations again.
    attrs = {"versions": software_versions(), "pipeline": planned.text, "root": planned.root}
    contents = [_content(job, attrs) for job in jobs]
    if keep:
        contents = [join_systems(one, before[one.name], writer.path) if one.name in before else one for one in contents]
        contents += [one for name, one in before.items() if name not in {content.name for content in contents}]
    # Of a store of several pipelines, the one that wrote last is not a change of the results.
    ignored = ("pipeline", "root") if keep else ()
    same = all(
        job.before is not None and same_content(job.before, content, ignored)
        for job, content in zip(jobs, contents, strict=False)
    )
    published = not same or set(before) != {content.name for content in contents}
    if published:
        writer.publish(contents, {"name": planned.pipeline.name, **attrs})
    else:
        writer.journal.clear()
    if published or any(job.parts or job.results for job in jobs):
        # Stored results are those of the generation that holds them now.
        now = writer.contents() if any(content.stored for content in contents) else {}
        contents = [
            replace(content, stored={system: now[content.name].stored[system] for system in content.stored})
            for content in contents
        ]
    if not writer.shared:
        sign_run(writer.folder, planned.text, planned.root)
    if keep:  # without the systems of other pipelines
        contents = [content.part(job.plan.systems) for job, content in zip(jobs, contents, strict=False)]
    return tuple(map(_report, jobs, contents)), published


def _report(job: Job, content: GroupContent, outcomes: Collection[Status] = tuple(Status)) -> EvaluationReport:
    counts = dict.fromkeys(Status, 0)
    messages: dict[str, None] = {}
    partly = warned = repairs = 0
    noted = set[tuple[str, str]]()
    for part in content.blocks():
        whole = dense_cells(part, ["status", "repairs"])
        counts = {status: count + int((whole["status"] == status).sum()) for status, count in counts.items()}
        repairs += int(whole["repairs"].sum())
        spoken = part.part([system for system in part.systems if system not in part.silent])
        dense = dense_cells(spoken, ["status", "message"])
        status, has_message = dense["status"], dense["message"] != ""
        messages |= dict.fromkeys(map(text_of, dense["message"][np.isin(status, list(FAILED))].tolist()))
        # Cells with empty sides have messages, too, but also scores.
        for system, track in np.argwhere(has_message & np.isin(status, list(SCORED))).tolist():
            remarks, ok = read_message(str(dense["message"][system, track])), status[system, track] == Status.ok
            partly += ok and any(remark.kind == "reason" for remark in remarks)
            warned += ok and any(remark.kind == "warning" for remark in remarks)
            for remark in remarks:
                if remark.kind == "note":
                    owner = "" if remark.side == "reference" else spoken.systems[system]
                    noted.add((owner, part.tracks[track]))
    broken: dict[str, tuple[int, str]] = {}
    if FAILED_METRICS in content.cells.extras:  # metrics that failed on cells with other scores
        rows = np.unique(extra_entries(content, FAILED_METRICS).index[:, 0] // max(1, len(content.tracks)))
        cells = loaded(content.part(tuple(content.systems[row] for row in rows.tolist()))).cells
        # A function of several values counts once per cell.
        measures = {str(measure): measure.metric for measure in job.plan.measures}
        names = {identity: metric.name.removesuffix(f".{metric.value}") for identity, metric in measures.items()}
        failed = {cell: {names[identity] for identity in of_cell} for cell, of_cell in cells.failed_metrics.items()}
        for name in sorted(set().union(*failed.values())):
            failing = [cell for cell, metrics in failed.items() if name in metrics]
            example = min(failing, key=lambda cell: len(failed[cell]))  # its message names few others
            where = f"system {cells.system[example]!r}, track {cells.track[example]!r}"
            broken[name] = len(failing), f"{where}: {text_of(cells.message[example])}"
    named = {status: count for status, count in counts.items() if count and status in outcomes}
    return EvaluationReport(
        job.plan,
        content,
        job.counts,
        computed=", ".join(f"{count} {name}" for name, count in job.counts.items() if count) or "none",
        status=named,
        outcomes=", ".join(f"{count} {status.name}" for status, count in named.items()) or "none",
        messages=tuple(messages),
        partly=partly,
        warnings=tuple(caution.text for caution in job.plan.cautions),
        warned=warned,
        noted=len(noted),
        repairs=repairs,
        broken=broken,
        failed=sum(counts[status] for status in FAILED),
        empty=sum(counts[status] for status in EMPTY),
    )


def open_pipeline(pipeline: str | Path, *, root: str | Path | None = None, block: int | None = None) -> xr.DataTree:
    """Open the scores of a pipeline as a lazy tree; they are computed on access.

    Parameters
    ----------
    pipeline : path
    root : path or None
        Overrides the root of the file.
    block : int or None
        Tracks per chunk. None: those of a block of a run. What is selected first, with ``sel`` or ``isel``, is all that
        is read: of one cell, its reference and its estimate.

    Returns
    -------
    xr.DataTree
        One group per evaluation, with the variables and coordinates of a store's group except ``stamp``, as dask
        arrays with a chunk for each block of tracks. If the labels of a metric are known only from the files, such as
        classes that the pipeline does not list, the evaluation's files are read now.

    Raises
    ------
    PipelineError
        If the file or the block is invalid.
    """
    import xarray as xr

    if block is not None and block < 1:
        raise PipelineError([Problem("block", f"{block} is not a number of tracks, which is at least 1")], pipeline)
    planned = plan(pipeline, root=root)
    return xr.DataTree.from_dict({evaluation.name: open_plan(evaluation, block) for evaluation in planned.plans})


def open_plan(plan: EvaluationPlan, block: int | None = None) -> xr.Dataset:
    """The scores of an evaluation, computed on access, as a group of the tree of `open_pipeline`."""
    import xarray as xr

    from ..lazy_array import plain_variable
    from .lazy import expected_extras
    from .lazy_scores import lazy_scores

    scalars = tuple(str(measure) for measure in plan.measures if not measure.metric.dims)
    nothing = replace(no_cells(scalars), extras=expected_extras(plan))
    sides = dict(plan.system_meta), dict(plan.track_meta)
    content = GroupContent(plan.name, plan.systems, plan.tracks, nothing, metric_coords(plan.measures), *sides)
    coords, tables = layout(content)
    named: dict[str, tuple[tuple[str, ...], Mapping[str, Any]]] = {
        variable.name: (variable.dims, variable.attrs) for variable in tables
    }
    variables = {}
    for name, (dims, array, attrs) in lazy_scores(plan, len(scalars), nothing.extras, block).items():
        stored = named.get(name, (dims, attrs))
        variables[name] = stored[0], array, dict(stored[1])
    labels = {
        variable.name: plain_variable(variable.dims, usable_text(np.asarray(variable.values)), variable.attrs)
        for variable in coords
    }
    return xr.Dataset(variables, labels, plain_attrs(_settings(plan)))


def preview(
    pipeline: str | Path,
    *,
    root: str | Path | None = None,
    store: str | Path | None = None,
    force: bool = False,
    on_error: str | None = None,
    part: str | None = None,
) -> str:
    """Describe the work of a `run` without computing or writing anything."""
    planned = plan(pipeline, root=root, on_error=on_error)
    path = place_of_store(planned, store)
    befores = open_groups(path) if parse_address(path) is not None or demand_path(path).exists() else {}
    described = []
    for evaluation in planned.plans:
        share = None if part is None else Part.parse(part).share(evaluation.shape)
        stale = stale_cells(evaluation, befores.get(evaluation.name), force and part is None, share)
        described.append(describe_plan(evaluation, stale))
    if part is not None:
        return "\n".join([*described, f"store: {path}, part {part}"])
    removal, is_large = find_removal(befores.values(), planned.plans)
    leave = [f"the run {removal}{'; it needs --prune' if is_large else ''}"] if removal else []
    return "\n".join([*described, *leave, f"store: {path}"])
