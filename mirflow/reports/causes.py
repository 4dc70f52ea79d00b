"""Causes of low scores in stores: files are read again; causes become datasets, tables and patches of references.

For pages, causes and references that systems contradict may be found in a worker process beside other work; they are
found in this process where the worker fails.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from pickle import PickleError
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ..analysis.lookup import find_labels
from ..analysis.queries import ScoresLike
from ..analysis.query_options import Query, as_names
from ..analysis.scores import names_of
from ..annotations.source import Source
from ..causes.diagnosis import ALL, Board, Cause, Diagnosis, Judge, Read, find_causes, low_cells
from ..causes.transformations import REFERENCE, LowPair
from ..engine.schedule import start_forkserver, worker_pool
from ..errors import QueryError, counted
from ..readers.patches import PatchedTrack, ReferencePatch, edits_between, parse_patch
from .doubted_references import Disagreements
from .origins import Files, Roots, Shelf, evaluations_with_files
from .tables import Table, Tabulation, rows_of

if TYPE_CHECKING:
    import xarray as xr

COLUMNS = (
    *("track", "system", "side", "cause", "amount", "unit", "metric", "score", "would_be", "systems"),
    *("of", "tracks", "sentence", "remedy"),
)
"""Variables of the datasets of findings."""


def board_of_files(
    name: str,
    ds: xr.Dataset,
    files: Sequence[Files],
    metric: str | None = None,
    systems: Sequence[str] | None = None,
    tracks: Sequence[str] | None = None,
) -> Board | None:
    """The scores and sources of an evaluation whose files are known; None where no metric is one to judge by."""
    from ..analysis.lookup import headline_metric

    plan = files[0].plan
    scored = names_of(ds, "metric")
    judge = Judge.of(plan.task, plan.convention, metric, ds.attrs.get("grid") or None, plan.classes, scored)
    if judge is None:
        return None
    headline = str(judge.measure) if str(judge.measure) in scored else headline_metric(ds)
    rows = find_labels(ds, "system", systems)
    columns = find_labels(ds, "track", tracks)
    own = [names_of(ds, "system")[row] for row in rows]
    listed = [names_of(ds, "track")[column] for column in columns]
    values = np.full((len(own), len(listed)), np.nan)
    if headline == str(judge.measure):
        found = ds["score"].variable.isel(metric=scored.index(headline)).transpose("system", "track")
        values = np.asarray(found.values, dtype=np.float64)[np.ix_(rows, columns)]
    references: dict[str, Source] = {}
    estimates: dict[str, dict[str, Source]] = {system: {} for system in own}
    for file in files:
        for track in listed:
            some = file.references.get(track) or ()
            if some and track not in references:
                references[track] = some[0].source
            for system in own:
                source = file.estimates.get(system, {}).get(track)
                if source is not None and not any(one.source.label == source.label for one in some):
                    estimates[system][track] = source
    return Board(name, judge, listed, own, references, estimates, values)


_FEW = 40
"""Low cells of which the causes are found before a worker process has started."""


CausesAndDoubts = tuple[list[Diagnosis], list[Disagreements]]


@contextmanager
def find_beside(
    boards: Sequence[Board | None], doubts: Sequence[Callable[[Shelf], Disagreements]], shelf: Shelf, guarded: bool
) -> Iterator[Callable[[], CausesAndDoubts]]:
    """Give a function that returns the causes of the low scores of evaluations, and what makers of doubts make.

    They are found beside other work where there are many low scores and several cores. `shelf`: annotations that this
    process reads. `guarded`: whether a worker process may be started, as by :func:`mirflow.run`.
    """

    find_here = partial(_find_causes_and_doubts, boards, doubts, shelf)
    count = sum(int(low_cells(board.score).sum()) for board in boards if board is not None)
    if not guarded or count < _FEW or (os.cpu_count() or 1) < 2:
        yield find_here
        return
    start_forkserver()
    with worker_pool(1) as pool:
        found: Future[CausesAndDoubts] = pool.submit(_find_causes_and_doubts, boards, doubts, Shelf())

        def wait() -> CausesAndDoubts:
            # What a plugin declares, a worker may not have.
            with suppress(BrokenProcessPool, PickleError, AttributeError, TypeError):
                return found.result()
            return find_here()

        yield wait


def _find_causes_and_doubts(
    boards: Sequence[Board | None], doubts: Sequence[Callable[[Shelf], Disagreements]], shelf: Shelf
) -> CausesAndDoubts:
    return diagnose_boards(boards, shelf.read), [make(shelf) for make in doubts]


def diagnose_boards(boards: Sequence[Board | None], read: Read, budget: float | None = None) -> list[Diagnosis]:
    """The causes of the low scores of evaluations; none of those that cannot be judged. `budget`: see `find_causes`."""
    return [Diagnosis([], 0, 0) if board is None else find_causes(board, read, budget=budget) for board in boards]


def diagnose_scores(
    store: ScoresLike, query: Query, *, group: str | None, root: Roots, patch: str | Path | None
) -> Tabulation[xr.Dataset]:
    """Find the causes of the low scores of a store; see :func:`mirflow.diagnose`."""
    evaluations, reasons = evaluations_with_files(store, root, group)
    metrics = as_names(query.metric)
    if metrics is not None and len(metrics) != 1:
        raise QueryError("causes are looked for by one metric; name one")
    made: list[xr.Dataset] = []
    shelf = Shelf()
    corrections: list[tuple[list[Files], Cause]] = []
    asked = metrics[0] if metrics else None, as_names(query.system), as_names(query.tracks)
    for name, ds, files in evaluations:
        board = board_of_files(name, ds, files, *asked)
        diagnosis = Diagnosis([], 0, 0) if board is None else find_causes(board, shelf.read)
        corrections += [(files, one) for one in diagnosis.findings if one.change.side == REFERENCE and one.track != ALL]
        made.append(to_dataset(diagnosis, name, files[0].plan.task))
    if not made:
        raise QueryError("; ".join(dict.fromkeys(reasons)) or "there is nothing to diagnose")
    if patch is not None:
        write_patch(patch, corrections)
    return Tabulation(
        made,
        lambda width: [*map(_readable, made), *([Table((), (), notes=tuple(reasons))] if reasons else [])],
        lambda: [rows_of(made, ("evaluation",), COLUMNS)],
        reasons,
    )


def write_patch(path: str | Path, corrections: Sequence[tuple[Sequence[Files], Cause]]) -> None:
    """Write a patch file in which references have what findings say.

    Raises `QueryError` if no finding is about a reference whose rows can be patched, or those found are of several
    tasks.
    """
    shelf, tracks = Shelf(), {}
    tasks = {files[0].plan.task for files, _ in corrections}
    if len(tasks) != 1:
        what = f"references of several tasks ({', '.join(sorted(tasks))}): name one with --group" if tasks else ""
        raise QueryError(f"cannot write a patch: {what or 'no reference was found wrong'}")
    (task,) = tasks
    for files, one in corrections:
        references = next(own for file in files if (own := file.references.get(one.track)))
        reference = shelf.read(references[0].source)
        if isinstance(reference, str) or one.track in tracks:
            continue
        edited = one.change.apply(LowPair(task, reference, reference)).reference
        edits = edits_between(reference, edited)
        if edits:
            digest, today = shelf.digest(references[0].source, original=True), datetime.date.today().isoformat()
            reason = f"{one.sentence} (mirflow diagnose, {one.systems} of {one.of} systems)"
            tracks[one.track] = PatchedTrack(
                one.track, digest, edits, "mirflow diagnose", reason, today, references[0].annotator
            )
    made = msgspec.json.encode(ReferencePatch(task, tuple(tracks.values())))
    parse_patch(made)
    Path(path).write_bytes(msgspec.json.format(made, indent=1) + b"\n")


def to_dataset(diagnosis: Diagnosis, group: str, task: str) -> xr.Dataset:
    """Findings as a dataset along ``finding``, with the numbers of cells that were looked at, and that were not."""
    import xarray as xr

    columns: dict[str, Any] = {}
    for name in COLUMNS:
        values = [
            getattr(one.change, name) if name in ("side", "cause", "amount", "unit") else getattr(one, name)
            for one in diagnosis.findings
        ]
        dtype: Any = (
            float if name in ("amount", "score", "would_be") else int if name in ("systems", "of", "tracks") else str
        )
        columns[name] = ("finding", np.array(values, dtype=dtype))
    return xr.Dataset(
        columns, attrs={"evaluation": group, "task": task, "cells": diagnosis.looked, "left": diagnosis.left}
    )


def _readable(ds: xr.Dataset) -> Table:
    """The findings of an evaluation, for people."""
    unread = ("sentence", "of", "tracks", *(() if (ds["remedy"] != "").any() else ("remedy",)))
    shown = [name for name in COLUMNS if name not in unread]
    rows = []
    for place in range(ds.sizes["finding"]):
        one = {name: ds[name].values[place].item() for name in COLUMNS}
        one["systems"] = f"{one['systems']} of {one['of']}" if one["track"] != ALL else f"{one['tracks']} tracks"
        one["amount"] = None if np.isnan(one["amount"]) else float(f"{one['amount']:.6g}")
        rows.append(tuple(one[name] for name in shown))
    count = counted(ds.sizes["finding"], "cause")
    looked = counted(int(ds.attrs["cells"]), "cell")
    left = f", {ds.attrs['left']} not" if ds.attrs["left"] else ""
    note = f"{count} found" if rows else "no cause found"
    note += f"; {looked} with low scores looked at{left}"
    return Table(tuple(shown), tuple(rows), f"{ds.attrs['evaluation']}: what would make scores right", (note,))
