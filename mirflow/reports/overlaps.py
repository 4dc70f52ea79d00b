"""Overlaps of systems: the estimates of each, scored with those of each other one as the reference.

The files of the evaluation are read again; the result is a dataset of systems by other systems.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.aggregation import aggregate_query, origin_of, select_scores
from ..analysis.inference.sample import check_numbers
from ..analysis.query_options import Query
from ..annotations.annotation import Annotation
from ..annotations.source import HeldSource
from ..engine.block import block_size
from ..errors import QueryError
from ..evaluation.evaluate import EvaluationRules
from ..evaluation.sides import work_of
from ..metrics.base import get_task
from ..progress import Progress
from ..store.cells import text_of
from .origins import Shelf, find_plan

if TYPE_CHECKING:
    import xarray as xr


def overlaps(
    ds: xr.Dataset, query: Query, group: str = "", root: str | Path | None = None, progress: Progress | None = None
) -> xr.Dataset:
    """Score the estimates of every system with those of every other one as the reference.

    `ds`: an evaluation of a store that a pipeline made, whose files are read again. `query`: one metric, its aggregate,
    systems and tracks; each two systems are compared on the tracks that both have. `root`: present folder of the
    annotations; None: the original one. `progress`: shows the number of tracks, each once for each system. Returns over
    (system, other) ``value``, the score of the system's estimates with the other's as the reference, and ``n``, the
    number of tracks. Raises `QueryError` if the annotations are gone, or nothing can be scored, and for several
    metrics, or one with extra dims; `UnknownNameError` for a name that is not there.
    """
    import xarray as xr

    unused = [name for name in ("by", "over", "across", "annotator", "missing", "sort") if getattr(query, name)]
    if unused:
        raise QueryError(f"overlaps are scores of estimates of tracks that two systems have: leave out {unused[0]}")
    check_numbers(ds, query)
    selection = select_scores(ds, replace(query, missing="skip", sort=None), single=True)
    metrics = selection.names("metric")
    if len(metrics) != 1:
        raise QueryError(f"overlaps are those of one metric; name one of: {', '.join(metrics)}")
    systems, tracks = selection.names("system"), selection.names("track")
    plan = find_plan(ds, ds, group, root)
    if plan.task == "separation":
        raise QueryError("estimates of audio are no references of each other")
    grid = get_task(plan.task).convention(plan.convention, plan.classes).grid(ds.attrs.get("grid") or None)
    rules = EvaluationRules.of(plan.task, metrics, plan.convention, grid, plan.classes)
    # The estimates of each track by system, each read once; those that are there and can be read.
    shelf, rows = Shelf(), {name: row for row, name in enumerate(plan.systems)}
    columns = {track: column for column, track in enumerate(plan.tracks)}
    held: dict[str, dict[str, HeldSource | None]] = {track: dict.fromkeys(systems) for track in tracks}
    for track, own in held.items():
        for system in systems:
            known = system in rows and track in columns
            source = plan.estimates[rows[system]][columns[track]] if known else None
            read = None if source is None else shelf.read(source)
            own[system] = HeldSource(read, f"{system}, {track}") if isinstance(read, Annotation) else None
    shape = len(systems), len(systems)
    value, number = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    messages: list[str] = []
    asked = Query(metrics[0], selection.aggregates[0], missing="skip", undefined=query.undefined, exact=True)
    with progress or Progress() as shown:
        shown.start(len(systems) * len(tracks))
        for column, other in enumerate(systems):
            works = [work_of(track, own[other], own) for track, own in held.items() if own[other] is not None]
            if works:
                size = block_size(plan.task)
                blocks = [works[start : start + size] for start in range(0, len(works), size)]
                scores = rules.dataset(map(rules.score, blocks), systems, [work.track for work in works])
                found = aggregate_query(scores, asked)
                value[:, column], number[:, column] = found["value"].values[:, 0], found["n"].values[:, 0]
                messages += filter(None, map(text_of, scores["message"].values.ravel().tolist()))
            shown.advance(len(tracks))
    if not number.any():
        raise QueryError(f"nothing to compare: {messages[0] if messages else 'no two systems have a track in common'}")
    attrs = {**origin_of(ds, group), "metric": metrics[0], "aggregate": selection.aggregates[0], "missing": "skip"}
    attrs |= {name: selection.names(name)[0] for name in ("unit", "orientation")} | {"undefined": query.undefined}
    attrs |= {"title": selection.names("title")[0] if "title" in ds.coords else "", "n_tracks": str(len(tracks))}
    variables = {"value": (("system", "other"), value), "n": (("system", "other"), number)}
    return xr.Dataset(variables, {"system": systems, "other": systems}, attrs)
