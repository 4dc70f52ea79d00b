"""Error budgets: what systems lose by each kind of errors, as scores that queries, tests and figures read.

Annotations, or the files of a store or a pipeline, are scored for this, unless the store holds the losses already. A
budget is a dataset with the metric and its loss by each kind, which can be joined to other scores of the same cells.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..analysis.lookup import CHOSEN, choose_tracks, headline_metric
from ..analysis.queries import ScoresLike, boards_of, choose, name_stores
from ..analysis.query_options import Names, Query
from ..analysis.scores import cell_texts, names_of
from ..annotations.annotation import AnnotationLike
from ..annotations.schema import kind_of
from ..engine.block import block_size
from ..engine.pair_scores import ROUNDING
from ..engine.runs import plan as plan_files
from ..engine.schedule import Key, block_graph, choose_scheduler, execute
from ..errors import MetricError, MirflowError, QueryError, UnknownNameError, counted, warn_caller
from ..evaluation.evaluate import evaluate, score
from ..evaluation.sides import TracksLike, holds_tracks, task_of
from ..metrics.base import Convention, get_task
from ..metrics.edits import KIND, OF
from ..metrics.measures import Measure
from ..pipeline.plan import EvaluationFiles, EvaluationPlan
from ..progress import Progress, progress_of
from ..store.cells import Cells, GroupContent, concatenate_cells, no_cells
from ..store.format import DECLARED_METRICS, PATCHES, kept_settings, metric_coords, nested_attrs
from ..store.read import dataset_of
from ..store.write import software_versions
from .origins import Origin, Roots, read_origins, root_of_each

if TYPE_CHECKING:
    import xarray as xr

_PIPELINES = (".yaml", ".yml")
"""Suffixes of pipeline files."""
TRACKS = 16
"""Most tracks of a block: each pair is scored many times."""


def losses(
    references: ScoresLike | AnnotationLike | TracksLike,
    estimates: Any = None,
    task: str | None = None,
    *,
    metric: str | None = None,
    convention: str | None = None,
    group: str | None = None,
    root: Roots = None,
    progress: bool | Progress | None = None,
    **options: Any,
) -> xr.Dataset:
    """Split the loss of each score among the kinds of errors that the estimate has.

    A loss is the score of the reference by itself less the score of the estimate. The share of a kind is its Shapley
    value: the gain of the score by mending all errors of the kind, averaged over all orders in which the kinds may be
    mended. Shares sum to the loss. :attr:`mirflow.metrics.base.Convention.errors` has the kinds.

    Parameters
    ----------
    references : path of a store or a pipeline, xr.DataTree or xr.Dataset of scores; or annotations
        A result store, or an evaluation of one, whose annotations are read again; or a pipeline file (``.yaml``). Or
        references as for :func:`mirflow.score` or, for a single one, :func:`mirflow.evaluate`.
    estimates : annotations or None
        None only for a store or a pipeline.
    task, convention, **options
        Of annotations: as for :func:`mirflow.score`.
    metric : str or None
        The metric whose loss is split; None: the headline metric. The reference scored by itself must have the best
        value of the metric.
    group : str or None
        The evaluation of a store or a pipeline; None: the only one that has kinds of errors.
    root : path or None
        The folder of the annotations of a store, if they are no longer where they were.
    progress : bool, Progress or None
        Whether to show the number of tracks; None: on a terminal or in a notebook.

    Returns
    -------
    xr.Dataset
        In the form of :func:`mirflow.score`, over (system, track, metric): the metric, and ``lost@KIND`` for each kind.
        Coordinates ``kind`` and ``of`` along ``metric`` name the kind (empty for the metric itself) and the metric that
        is split. Weights are those of the metric, so that all means and intervals of shares are those of scores.

    Raises
    ------
    MetricError
        If the task has no kinds of errors, or the metric has no best value that the reference reaches.
    QueryError
        If the annotations of a store cannot be found.

    References
    ----------
    L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games II, 1953.

    Examples
    --------
    >>> import numpy as np
    >>> beats = np.arange(5.0, 20.0, 0.5)
    >>> found = losses({"x": beats}, {"ours": {"x": beats[::2]}}, "beat")
    >>> found.score.sel(metric=["f_measure", "lost@half_tempo", "lost@missing"]).values.round(3).tolist()
    [[[0.667, 0.333, 0.0]]]
    """
    if estimates is None:
        if options or task or convention:
            raise QueryError("losses of a store take no task, convention and options of reading")
        found = budgets(cast(ScoresLike, references), metric, group=group, root=root, progress=progress)
        if len(found) > 1:
            raise QueryError(f"group is needed: one of {', '.join(found)}")
        return next(iter(found.values()))
    if group is not None or root is not None:
        raise QueryError("'group' and 'root' are about stores")
    task = task_of(references, estimates) if task is None else task
    chosen = get_task(task).convention(convention, options.get("classes"))
    measures = split_measures(chosen, metric)
    how: dict[str, Any] = {"metrics": measures, "convention": convention, **options}
    if holds_tracks(references, kind_of(task)):
        return score(cast(TracksLike, references), estimates, task, progress=progress, **how)
    return evaluate(cast(AnnotationLike, references), estimates, task, **how)


def split_measures(
    convention: Convention, metric: str | None, known: Sequence[Measure] = (), combine: str = ""
) -> tuple[Measure, ...]:
    """The metric whose loss is split, by default the first headline metric of those known, and its losses."""
    if combine == "max":
        raise MetricError("scores are those of the best annotator of each track (combine: max), which cannot be split")
    whole, *others = [convention.headline(known)] if metric is None else convention.select([metric])
    if others:
        raise MetricError(f"{metric} names {1 + len(others)} metrics; one loss is split at a time")
    return whole, *convention.losses(whole)


def budgets(
    scores: ScoresLike,
    metric: str | None = None,
    *,
    group: str | None = None,
    tracks: Names = None,
    where: str | None = None,
    root: Roots = None,
    progress: bool | Progress | None = None,
    guarded: bool = False,
) -> dict[str, xr.Dataset]:
    """Error budgets of the evaluations of a store or a pipeline, or of several as one, by name; see :func:`losses`.

    Only `tracks`, and those for which `where` holds, are scored; with `guarded`, perhaps in worker processes.
    Of evaluations that hold the losses, nothing is scored. Of several, those that cannot be split are left out.
    """
    import xarray as xr

    how: dict[str, Any] = {"group": group, "tracks": tracks, "where": where, "progress": progress, "guarded": guarded}
    if not isinstance(scores, str | Path | xr.Dataset | xr.DataTree):
        from ..analysis.combine import join_trees

        given: Any = scores
        named: dict[str, Any] = dict(given) if isinstance(given, Mapping) else name_stores(given)
        each = zip(named.items(), root_of_each(root, len(named)), strict=True)
        parts = {name: budgets(one, metric, root=own, **how) for (name, one), own in each}
        trees = {name: xr.DataTree.from_dict(dict(boards)) for name, boards in parts.items()}
        # The names of stores stand before those of systems if they are given.
        return boards_of(join_trees(trees, label=isinstance(scores, Mapping)))
    if isinstance(scores, str | Path) and Path(scores).suffix in _PIPELINES:
        boards = _budgets_of_plans(scores, metric, group, root, progress_of(progress), guarded)
        return {name: choose_tracks(ds, Query(tracks=tracks, where=where)) for name, ds in boards.items()}
    boards, origins = read_origins(scores, root)
    found: dict[str, xr.Dataset] = {}
    refused: list[MirflowError] = []
    for name, ds in choose(boards, None, group).items():
        whole, scored = metric or headline_metric(ds), names_of(ds, "metric")
        of = names_of(ds, OF) if OF in ds.coords and ds[OF].dims == ("metric",) else []
        losses = [place for place, metric_of in enumerate(of) if metric_of and metric_of == whole]
        errors = get_task(ds.attrs["task"]).convention(ds.attrs["convention"]).errors if losses else None
        chosen = Query(tracks=tracks, where=where)
        if whole in scored and errors is not None and len(losses) == len(errors.kinds):
            found[name] = choose_tracks(ds.isel(metric=[scored.index(whole), *losses]), chosen)
            continue
        try:
            task, convention, combine = (str(ds.attrs.get(one, "")) for one in ("task", "convention", "combine"))
            if not task or not convention:
                raise MetricError(f"{name}: imported scores that name no task and convention have no kinds of errors")
            measures = split_measures(get_task(task).convention(convention), whole, combine=combine)
        except (MetricError, UnknownNameError) as error:
            refused.append(error)
            continue
        part = choose_tracks(ds, chosen)
        found[name] = _split_stored(name, part, measures, origins[0], progress_of(progress), guarded)
    if not found:
        raise refused[0]
    return found


def costly(ds: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """Leave out the kinds of errors of a budget that cost nothing anywhere, and name them."""
    kinds, loss = names_of(ds, KIND), np.nan_to_num(ds["score"].values)
    idle = [place for place, kind in enumerate(kinds) if kind and np.abs(loss[..., place]).max(initial=0) < ROUNDING]
    kept = [place for place in range(len(kinds)) if place not in idle]
    return ds.isel(metric=kept), [kinds[place] for place in idle]


def with_losses(ds: xr.Dataset, budget: xr.Dataset) -> xr.Dataset:
    """Add the losses of an error budget to the scores of the same cells, as further metrics."""
    import xarray as xr

    losses = budget.isel(metric=[place for place, kind in enumerate(names_of(budget, KIND)) if kind])
    both = [ds, losses.sel(system=ds["system"], track=ds["track"])]
    about = {name: coord for one in both for name, coord in one.coords.items() if coord.dims == ("metric",)}
    filled = []
    for one in both:
        numbers = one[["score", "weight"]].reset_coords(drop=True)
        blank = {
            name: ("metric", np.full(one.sizes["metric"], np.nan if coord.dtype.kind == "f" else "", dtype=object))
            for name, coord in about.items()
            if name not in one.coords
        }
        own = {name: ("metric", one[name].values) for name in about if name in one.coords}
        filled.append(numbers.assign_coords(own | blank))
    joined = xr.concat(filled, "metric")
    attrs, declared = (nested_attrs(one.attrs) for one in both)
    attrs[DECLARED_METRICS] = {**attrs.get(DECLARED_METRICS, {}), **declared[DECLARED_METRICS]}
    found = ds.drop_dims("metric").merge(joined)
    found.attrs = attrs
    return found


def _split_stored(
    name: str, ds: xr.Dataset, measures: tuple[Measure, ...], origin: Origin, progress: Progress, guarded: bool
) -> xr.Dataset:
    """Score the files of a stored evaluation again, for the losses."""
    files = origin.files(name)
    if isinstance(files, str):
        raise QueryError(files or f"{name}: its annotations are not known")
    plan, attrs = files.plan, nested_attrs(ds.attrs)
    systems, tracks = names_of(ds, "system"), names_of(ds, "track")
    lost = [*(one for one in systems if one not in plan.systems), *(one for one in tracks if one not in plan.tracks)]
    if lost:
        raise QueryError(f"{name}: the pipeline no longer has {lost[0]!r}; run it again")
    rows, columns = [plan.systems.index(one) for one in systems], [plan.tracks.index(one) for one in tracks]
    own: dict[str, Any] = {one.name: getattr(plan, one.name) for one in fields(EvaluationFiles)}
    own |= {"name": name, "systems": tuple(systems), "tracks": tuple(tracks)}
    own["references"] = tuple(plan.references[column] for column in columns)
    own["estimates"] = tuple(tuple(plan.estimates[row][column] for column in columns) for row in rows)
    own |= {"grid": attrs.get("grid", "union"), "measures": measures, "combine": attrs.get("combine", "")}
    own |= {"track_meta": {}, "system_meta": {}, "signatures": {}}
    again = EvaluationPlan(**own, stamps=np.zeros((len(systems), len(tracks)), dtype=np.int64))
    found = _split_plan(again, progress, guarded)
    before, now = cell_texts(ds, "digest"), cell_texts(found, "digest")
    changed = int(((before != now) & (before != "") & (before != ":")).sum())
    if changed:
        warn_caller(f"{name}: the files of {counted(changed, 'cell')} have changed since they were scored; run again")
    named = {one: coord for one, coord in ds.coords.items() if coord.dims in (("track",), ("system",))}
    return found.assign_coords(named).assign_attrs({one: ds.attrs[one] for one in CHOSEN if one in ds.attrs})


def _split_plan(plan: EvaluationPlan, progress: Progress, guarded: bool) -> xr.Dataset:
    """Score all files of a plan, whose measures are a metric and its losses."""
    blocks = replace(plan, max_block=block_size(plan.task, TRACKS))
    graph = block_graph(blocks, np.ones(plan.shape, dtype=np.bool_), uuid.uuid4().hex)
    done: dict[Key, Cells] = {}
    with progress as shown:
        shown.start(len(plan.tracks))

        def finish(key: Key, cells: Cells) -> None:
            done[key] = cells
            shown.advance(len(graph[key][0].columns))

        execute(graph, choose_scheduler("auto", graph, guarded), finish)
    empty = no_cells(tuple(map(str, plan.measures)))
    cells = concatenate_cells([empty, *(done[key] for key in graph)])
    rules = plan.task, plan.convention, plan.grid, plan.combine, plan.measures, plan.classes, plan.cautions
    kept = kept_settings(*rules, {PATCHES: list(plan.patches), "versions": software_versions()})
    coords = metric_coords(plan.measures), dict(plan.system_meta), dict(plan.track_meta)
    return dataset_of(GroupContent(plan.name, plan.systems, plan.tracks, cells, *coords, attrs=kept))


def _budgets_of_plans(
    path: str | Path, metric: str | None, group: str | None, root: Roots, progress: Progress, guarded: bool
) -> dict[str, xr.Dataset]:
    """Error budgets of the evaluations of a pipeline, which need no store."""
    planned = {one.name: one for one in plan_files(path, root=cast("str | Path | None", root)).plans}
    if group is not None and group not in planned:
        raise UnknownNameError("group", group, planned)
    found, refused = {}, []
    for name, plan in planned.items() if group is None else [(group, planned[group])]:
        try:
            rules = get_task(plan.task).convention(plan.convention)
            measures = split_measures(rules, metric, plan.measures, plan.combine)
        except (MetricError, UnknownNameError) as error:
            refused.append(error)
            continue
        found[name] = _split_plan(replace(plan, measures=measures), progress, guarded)
    if not found:
        raise refused[0]
    return found
