"""Short tables: contents and problems of a store or of files, headline metrics, extreme tracks, metrics of tasks.

The function `check` finds the problems of files. Problems of a store are grouped by cause, each with an example. The
scores of a single estimate have a table, and cells without a score, or with remarks, a line each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..analysis.dims import RUN
from ..analysis.queries import across_of, count_statuses
from ..analysis.query_options import UNDEFINED
from ..analysis.scores import Results, coordinate_columns, coords_of, names_of, show_span, tables_of
from ..analysis.selection import CellProblem, count_cells, count_scored, group_problems
from ..analysis.signatures import Signature
from ..errors import AnnotationError, counted, shorten_quotes
from ..metrics.aggregates import DECLARED, table_aggregates
from ..metrics.base import Convention
from ..metrics.measures import Metric, Parameter
from ..ragged import Float
from ..store.cells import EMPTY, FAILED, SCORED, Status, read_message
from ..store.format import list_cautions, told_patches, told_reading
from .captions import caution_notes, missing_note, nothing_note, titles_of
from .layout import (
    group_labels,
    interval_notes,
    mark_note,
    origin_names,
    runs_note,
    show_value,
    show_values,
    title_of,
    with_deviations,
)
from .results import axes_of, column_of, values_of
from .signed_numbers import EVALUATION, Names, Signing
from .tables import Entry, Table, Tabulation, table_of

if TYPE_CHECKING:
    import xarray as xr

    from ..evaluation.linter import FileCheck

_SOME = 12


def store_tables(boards: Mapping[str, xr.Dataset]) -> list[Table]:
    """Contents of a store: a row for each evaluation, with its numbers of systems, tracks, metrics and cells; then each
    evaluation, and its cells by status if some have no score."""
    rows: list[tuple[Entry, ...]] = []
    dims = ("with dims",) if any(map(tables_of, boards.values())) else ()
    for name, ds in boards.items():
        counts = count_statuses(ds).sum(axis=0)
        scored = sum(int(counts[index]) for index, status in enumerate(Status) if status in SCORED)
        rules = (str(ds.attrs.get(key, "")) or None for key in ("task", "convention"))
        sizes = (*(ds.sizes[dim] for dim in ("system", "track", "metric")), *(len(tables_of(ds)) for _ in dims))
        rows.append((name, *rules, *sizes, f"{scored} of {counts.sum()}"))
    tables = [
        Table(("group", "task", "convention", "systems", "tracks", "metrics", *dims, "cells scored"), tuple(rows))
    ]
    for name, ds in boards.items():
        tables += [contents_table(name, ds), *([] if all_scored(ds) else [coverage_table(name, ds)])]
    return tables


def contents_table(name: str, ds: xr.Dataset) -> Table:
    """Contents of one evaluation: systems, tracks, metrics, coordinates, other variables and provenance."""
    attrs = ds.attrs
    rows = [(key, str(attrs[key])) for key in ("task", "convention", "grid", "combine", "imported") if attrs.get(key)]
    rows += [("reading", told)] if (told := told_reading(attrs)) else []
    rows += [("patch", told) for told in told_patches(attrs)]
    for dim in ("system", "track", "metric"):
        labels = names_of(ds, dim)
        # All of a few names, the ends of many.
        ends = labels if len(labels) <= _SOME else [*labels[: _SOME // 2], "...", labels[-1]]
        rows.append((f"{dim}s ({len(labels)})", ", ".join(ends)))
        if coords_of(ds, dim) and dim != "metric":
            rows.append((f"{dim} coordinates", ", ".join(coords_of(ds, dim))))
    if tables_of(ds):
        named = (f"{key}({', '.join(map(str, one.dims))})" for key, one in tables_of(ds).items())
        rows.append(("more than scalars", ", ".join(named)))
    if all_scored(ds):
        rows.append(("cells", f"all {ds.sizes['system'] * ds.sizes['track']:,} are scored"))
    if created := str(attrs.get("created") or ""):
        with suppress(ValueError):  # text that is no time stays as it is
            moment = datetime.fromisoformat(created)
            created = f"{moment:%Y-%m-%d %H:%M} {moment.tzname() or ''}".rstrip()
        rows.append(("created", created))
    versions = attrs.get("versions")
    if isinstance(versions, Mapping):
        rows.append(("versions", ", ".join(f"{key} {value}" for key, value in versions.items())))
    rows += [("warning", text) for text in list_cautions(attrs)]
    return Table(("group", name), tuple(rows), folds=(name,))


def all_scored(ds: xr.Dataset) -> bool:
    """Whether every cell of an evaluation has a score, and none is of an empty file."""
    counts = count_statuses(ds)
    return bool(counts.sum() == counts[:, list(Status).index(Status.ok)].sum())


def coverage_table(name: str, ds: xr.Dataset) -> Table:
    """Numbers of cells of each system by status, without statuses that do not occur."""
    counts = count_statuses(ds)
    occurring = [(index, status.name) for index, status in enumerate(Status) if counts[:, index].any()]
    rows: list[tuple[Entry, ...]] = [
        (name, system, *(int(own[place]) for place, _ in occurring))
        for system, own in zip(names_of(ds, "system"), counts, strict=True)
    ]
    return Table(("group", "system", *(status for _, status in occurring)), tuple(rows))


_KINDS = 5


def problems_table(group: str, problems: Sequence[CellProblem]) -> Table:
    """A row for each remark on a cell; ``scored`` tells whether the cell has a score."""
    rows = tuple(
        (group, one.system, one.track, one.status.name, one.scored, one.kind, one.side, one.message) for one in problems
    )
    columns = ("group", "system", "track", "status", "scored", "kind", "side", "message")
    return Table(columns, rows, folds=("message",))


def causes_table(listed: Mapping[str, Sequence[CellProblem]], warned: Sequence[str]) -> Table:
    """For people: a row for each cause in each evaluation, with its number of cells and the first of them; below, how
    many of the cells have scores that count, and warnings."""
    every = [problem for cells in listed.values() for problem in cells]
    scored = count_scored(every)
    notes = ["every cell has a score"] if all(problem.scored == "yes" for problem in every) else []
    notes += [f"scored yes: {scored}, whose scores count"] if scored else []
    rows: list[tuple[Entry, ...]] = []
    for group, cells in listed.items():
        for alike in group_problems(cells):
            first, count = alike[0], count_cells(alike)
            row = (group, count, first.status.name, first.scored, first.kind, first.system, first.track)
            rows.append((*row, shorten_quotes(first.message)))
    columns = ("group", "cells", "status", "scored", "kind", "system", "track", "message") if rows else ()
    return Table(columns, tuple(rows), notes=(*notes, *warned), folds=("message",))


def problem_lines(group: str, problems: Sequence[CellProblem]) -> list[str]:
    """The most frequent reasons, each with its number of cells and an example; then what has a score.

    Notes and repairs of cells with scores are left out.
    """
    kinds = group_problems([one for one in problems if one.scored != "yes" and one.kind == "reason"])
    named = [("without some metrics" if own[0].status in SCORED else own[0].status.name, own) for own in kinds[:_KINDS]]
    doubtful = [one for one in problems if one.kind == "warning" and one.scored == "yes"]
    reasons = [one for one in problems if one.kind == "reason"]
    empty = [(state, [one for one in reasons if one.status == state]) for state in sorted(EMPTY)]
    with_score = [(f"{state.name}, with a score", own) for state, own in empty if own]
    with_score += [("with a score", own) for own in group_problems(doubtful)]
    lines = []
    for what, own in (*named, *with_score):
        example = "" if len({one.message for one in own}) == 1 else "such as "
        lines.append(f"{group}: {counted(count_cells(own), 'cell')}: {what}: {example}{shorten_quotes(own[0].message)}")
    if others := kinds[_KINDS:]:
        more = f"{counted(sum(map(count_cells, others)), 'more cell')} for {counted(len(others), 'other reason')}"
        lines.insert(len(named), f"{group}: {more}")
    return lines


_TITLE = "the headline metric of each evaluation"


def primary_table(
    results: Sequence[Results],
    *,
    percent: bool = False,
    left_out: Mapping[str, str] = MappingProxyType({}),
    signatures: Callable[[], Sequence[Signature]] | None = None,
) -> Table:
    """One row for each evaluation (and group of tracks), the systems of all of them across.

    `results`: those of queries about one metric each; grouped by the same coordinates. `percent`: ratios as
    percentages. `left_out`: evaluations that have no value, and what they are without. `signatures`: gives the
    signatures of all results, for files.
    """
    merged = [with_deviations(one, show_values(one, percent)) for one in results]
    results = [one for one, _ in merged]
    systems = list(dict.fromkeys(name for one in results for name in names_of(one, "system")))
    groupings = axes_of(results[0]).groupings if results else []
    lost = any(one["n_missing"].values.any() for one in results)
    rows: list[tuple[Entry, ...]] = []
    signed: list[tuple[Names, ...]] = []
    for one, cells in merged:
        place = {name: at for at, name in enumerate(names_of(one, "system"))}
        (metric,), (kind,), (unit,) = (column_of(one, name) for name in ("metric", "aggregate", "unit"))
        counts = [values_of(one, name) for name in ("n", *(["n_missing"] if lost else []))]
        for at, group in enumerate(axes_of(one).groups):
            shown = (cells[place[name], at, 0] if name in place else None for name in systems)
            named = (one.attrs.get("group", ""), f"{metric} [{unit}]" if unit else metric, kind)
            rows.append((*named, *group_labels(group), *shown, *(show_span(count[:, at, 0]) for count in counts)))
            own = zip(groupings, map(str, group), strict=True)
            signed.append((((EVALUATION, str(named[0])),), (("metric", metric),), (), *((pair,) for pair in own)))
    columns = ("evaluation", "metric", "aggregate", *groupings, *systems, "n", *(["missing"] if lost else []))
    kinds = dict.fromkeys(kind for one in results for kind in column_of(one, "aggregate"))
    notes = [f"{kind}: {DECLARED[kind].words}" for kind in kinds]
    notes += filter(None, dict.fromkeys(missing_note(one.attrs, complete=not lost) for one in results))
    if results and "low" in results[0]:
        value, low = (np.concatenate([values_of(one, name).ravel() for one in results]) for name in ("value", "low"))
        notes += interval_notes(value, low, results[0].attrs)
    if results and "like_best" in results[0]:
        notes.append(mark_note([one.attrs for one in results]))
    if percent:
        notes.append("ratios in percent")
    notes += dict.fromkeys(runs_note(result) for result in results if RUN in across_of(result.attrs))
    for one in results:
        notes += [f"{one.attrs.get('group', '')}: {note}" for note in caution_notes(one.attrs)]
    for lacking in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, one in left_out.items() if one == lacking)
        notes.append(f"left out, without {lacking}: {names}")

    signing = None
    if signatures is not None:
        signing = Signing(tuple(signed), tuple((("system", name),) for name in systems), signatures)
    keys, caption = 3 + len(groupings), f"{_TITLE.capitalize()}."
    metrics, titles = ([text for one in results for text in column_of(one, key)] for key in ("metric", "title"))
    about = partial(titles_of, metrics, titles)
    return Table(columns, tuple(rows), _TITLE, tuple(notes), ("metric",), lambda: caption, keys, about, signing)


_SCORE = ("score", "unit", "weight", "mean")
_OF_EXTREMES = ("metric", "order", "system", "rank", "track", *_SCORE, "n", "tied", "left_out", "missing", "undefined")
_OF_CHANGES = (
    *("metric", "order", "system", "baseline", "rank", "track", "gain", "score", "baseline_score", "unit"),
    *("n", "better", "worse", "missing", "undefined"),
)
"""Columns for programs of extreme scores, and of changes from a baseline."""
_TIES = 5
"""Systems whose ties are listed."""


def extremes_table(ds: xr.Dataset, *, percent: bool = False) -> Table:
    """For people: a row for each system and rank, or, over all systems, for each rank with every system's score."""
    metric, unit, systems = ds.attrs["metric"], ds.attrs["unit"], ds["system"].values.tolist()
    percent = percent and not unit
    overall = "score" in ds
    whose = ("annotator",) if "annotator" in ds.attrs else ()
    columns = ("rank", "track", *whose, "mean", *systems) if overall else ("system", "rank", "track", *whose, metric)
    track, value = np.atleast_2d(ds["track"].values), np.atleast_2d(ds["value"].values)
    named = [np.atleast_2d(ds[name].values) for name in whose]
    rows: list[tuple[Entry, ...]] = []
    for number in range(len(track)):
        for index, rank in enumerate(_ranks(value[number])):
            if not track[number, index]:
                break
            head: tuple[Entry, ...] = (rank, str(track[number, index]), *(str(one[number, index]) for one in named))
            shown = show_value(float(value[number, index]), percent)
            if overall:
                rows.append((*head, shown, *(show_value(float(one), percent) for one in ds["score"].values[:, index])))
            else:
                rows.append((systems[number], *head, shown, f"{float(ds['weight'].values[number, index]):g}"))
    attrs, n = ds.attrs, np.atleast_1d(ds["n"].values)
    tracks, left_out = f"{attrs['order']} tracks", int(attrs["left_out"])
    order = f"{tracks} first, by the mean over the systems" if overall else f"{tracks} of each system"
    ties = []  # as many tracks have the value of the last one that is listed, where some of them are not listed
    names = ["the mean over the systems"] if overall else systems
    for name, own, tied in zip(names, value, np.atleast_1d(ds["tied"].values), strict=True):
        last = own[~np.isnan(own)][-1:]
        listed = int((own == last).sum()) if len(last) else 0
        if tied > listed:
            ties.append(f"{name}: {tied} tracks at {show_value(float(last[0]), percent)}, of which {listed} are listed")
    more = f"; and {len(ties) - _TIES} more systems" if ties[_TIES:] else ""
    nothing = "no track has a score" if left_out else nothing_note(attrs)
    if attrs["missing"] == "common" and left_out:
        nothing = "no track has a score of every system; name fewer systems"
    notes = (
        f"{order}; {attrs['orientation']} is better",
        *(("ratios in percent",) if percent else ()),
        missing_note(attrs),
        f"undefined ({attrs['undefined']}): {UNDEFINED[attrs['undefined']]}",
        f"n: {show_span(n)} tracks; left out: {counted(left_out, 'score')}",
        *((f"ties, in the order of the tracks: {'; '.join(ties[:_TIES])}{more}",) if ties else ()),
        *(() if n.any() else (nothing,)),
        *caution_notes(attrs),
    )
    title = f"{title_of(attrs)}; {metric}{f' [{unit}]' if unit else ''}"
    columns = (*columns, *(() if overall else ("weight",)))
    titles = dict if overall else partial(titles_of, [metric], [attrs["title"]])
    return Table(columns, tuple(rows), title, notes, titles=titles)


def _ranks(value: Float) -> list[int]:
    """The rank of each track, which those of one value share."""
    equal = np.array([False, *(value[1:] == value[:-1])], dtype=np.bool_)[: len(value)]
    places = np.where(equal, 0, np.arange(1, len(value) + 1))
    return [int(one) for one in np.maximum.accumulate(places)]


def extremes_long_table(ds: xr.Dataset) -> Table:
    """For programs: a row for each score, or for each change from a baseline, with the tracks' coordinates."""
    overall, change, origin, value = "score" in ds, "gain" in ds, origin_names(ds.attrs), ds["value"]
    labels = ["system", "rank", "track", *(["baseline"] if change else [])]
    coords = [str(name) for name in ds.coords if name not in labels]
    fixed = _OF_CHANGES if change else _OF_EXTREMES
    named = coordinate_columns(coords, (*origin, *fixed))
    about = {**{name: ds.attrs.get(name, "") for name in (*origin, *fixed)}, "mean": None}
    renamed = {"value": "mean" if overall else "score", **dict(zip(coords, named, strict=True))}
    if change:
        renamed["baseline_value"] = "baseline_score"
    else:
        # Equal scores share a rank.
        ranks = np.array([_ranks(own) for own in np.atleast_2d(value.values)], dtype=np.int64).reshape(value.shape)
        ds, about["left_out"] = ds.assign(shared=(value.dims, ranks)), int(ds.attrs["left_out"])
    order = [name for name in ("system", "rank") if name in ds.dims]
    frame = ds.rename(renamed).to_dataframe(order).reset_index()
    if not change:
        frame["rank"] = frame.pop("shared")
    return table_of(frame[frame["track"] != ""], (*origin, *fixed, *named), about, named)


_UNDEFINED = "undefined"


def pair_table(ds: xr.Dataset, *, percent: bool = False, people: bool = True) -> Table:
    """The scores of one estimate of one track, a row a metric.

    `ds`: a group of scores with one system and one track. `percent`: ratios as percentages, for people. `people`:
    whether a score with nothing to measure is named as such, in place of its value.
    """
    percent = percent and people
    cell, columns = ds.isel(system=0, track=0), ("metric", "score", "weight", "weight_unit")
    rows: list[tuple[Entry, ...]] = []
    for name, score, weight, weight_unit, unit in zip(
        *(cell[one].values.tolist() for one in (*columns, "unit")), strict=True
    ):
        shown = f"{100 * score:.2f}" if percent and not unit and score == score else score
        nothing = people and weight == 0 and Status(int(cell["status"])) in SCORED
        rows.append((name, _UNDEFINED if nothing else shown, weight, weight_unit))
    origin = {name: ds.attrs.get(name) for name in ("task", "convention", "grid")}
    notes = ["ratios in percent"] if percent else []
    notes += [f"{_UNDEFINED}: there is nothing to measure"] if any(_UNDEFINED in row for row in rows) else []
    return Table(columns, tuple(rows), title_of(origin), tuple(notes))


def cell_remarks(ds: xr.Dataset) -> tuple[list[str], list[str]]:
    """Lines about cells: the reasons of those without a score; and each remark on those with one, on missing metrics,
    an empty side, doubts, repairs, what was not read."""
    failed: list[str] = []
    scored: list[str] = []
    part = ds[["status", "message"]].transpose("system", "track")
    for system, name in enumerate(part["system"].values.tolist()):
        for track, title in enumerate(part["track"].values.tolist()):
            both = f"system {name!r}, track {title!r}"
            where = f"track {title!r}" if part.sizes["system"] == 1 else both
            status = Status(int(part["status"].values[system, track]))
            remarks = read_message(str(part["message"].values[system, track]))
            if status in FAILED:
                texts = [one.text for one in remarks if one.kind == "reason"] or [""]
                failed += [f"{where}: {status.name}: {text.removeprefix(f'{both}: ')}" for text in texts]
            for one in remarks if status in SCORED else ():
                kind = "" if one.kind == "reason" else f"{one.kind}: "
                scored.append(f"{where}: {kind}{one.text.removeprefix(f'{both}: ')}")
    return failed, scored


def short_table(task: str, convention: Convention) -> Table:
    """The metrics of a convention for people; weights, parameters and sources are notes, each text once."""
    metrics = convention.metrics
    rows = []
    for metric in metrics:
        span = " to ".join(f"{end:g}" for end in metric.range) + (f" {metric.unit}" if metric.unit else "")
        better = metric.orientation.replace("none", "-")
        rows.append((metric.name, span, better, _standard(metric), metric.weight_unit, metric.summary))
    columns = ("metric", "range", "better", "aggregate", "weight", "what it measures")
    notes = [f"weight of {names}: {text}" for text, names in _share(metrics, lambda one: [one.weight])]
    parameters = _share(metrics, lambda one: [_parameter(parameter) for parameter in one.parameters])
    notes += [f"parameter of {names}: {text}" for text, names in parameters]
    notes += [f"source of {names}: {text}" for text, names in _share(metrics, lambda one: [one.source])]
    if also := [f"{', '.join(metric.aliases)} ({metric.name})" for metric in metrics if metric.aliases]:
        notes.append(f"also called: {'; '.join(also)}")
    notes += [f"from {origin}: {names}" for origin, names in _share(metrics, lambda one: [one.origin])]
    asked = [metric.name for metric in metrics if not metric.default]
    if asked and not convention.default_measures:
        notes.append(f"computed only when named: {', '.join(asked)}")
    title = f"task {task}, convention {convention.name}: {convention.summary}"
    return Table(columns, tuple(rows), title, tuple(notes), folds=("what it measures",), keys=1)


def _share(metrics: Sequence[Metric], texts: Callable[[Metric], Sequence[str]]) -> list[tuple[str, str]]:
    """Each text with the names of the metrics that share it."""
    names: dict[str, list[str]] = {}
    for metric in metrics:
        for text in filter(None, texts(metric)):
            names.setdefault(text, []).append(metric.name)
    return [(text, ", ".join(sharing)) for text, sharing in names.items()]


def full_table(task: str, convention: Convention) -> Table:
    """Everything in the records of a convention's metrics, one row a metric."""
    columns = (
        *("task", "convention", "metric", "title", "summary", "key", "aliases", "low", "high", "orientation", "unit"),
        *("weight", "weight_unit", "pooling", "standard_aggregate", "aggregates", "perfect", "perfect_exceptions"),
        *("parameters", "dims", "default", "literature", "version", "origin"),
    )
    rows = tuple(
        (
            *(task, convention.name, metric.name, metric.title, metric.summary, metric.key, " ".join(metric.aliases)),
            *(end if math.isfinite(end) else None for end in metric.range),
            *(metric.orientation, metric.unit, metric.weight, metric.weight_unit),
            *(metric.pooling, _standard(metric), " ".join(_aggregates(metric)), metric.perfect),
            *(metric.perfect_exceptions, "; ".join(map(_parameter, metric.parameters)), " ".join(metric.dims)),
            *(metric.default, metric.source, metric.version, metric.origin),
        )
        for metric in convention.metrics
    )
    return Table(columns, rows)


def _aggregates(metric: Metric) -> tuple[str, ...]:
    """The aggregates of a metric; those with extra dims have their own."""
    return tuple(table_aggregates(metric.orientation, metric.dims)) if metric.dims else metric.aggregates


def _standard(metric: Metric) -> str:
    counted = metric.dims and metric.orientation == "none"
    return _aggregates(metric)[0] if counted else metric.standard_aggregate


def _parameter(parameter: Parameter) -> str:
    others = f" (one of {', '.join(map(str, parameter.choices))})" if parameter.choices else ""
    if parameter.default in parameter.words:
        return f"{parameter.name}={parameter.default} (or a number{f' of {parameter.unit}' if parameter.unit else ''})"
    others += f" (or {' or '.join(parameter.words)})" if parameter.words else ""
    return f"{parameter.name}={parameter.default}{f' {parameter.unit}' if parameter.unit else ''}{others}"


def check(
    paths: str | Path | Sequence[str | Path],
    task: str | None = None,
    *,
    convention: str | None = None,
    schema: bool = True,
    annotator: str | int | None = None,
    reference: str | Path | None = None,
    role: Literal["reference", "estimate"] | None = None,
    beside: str | Path | None = None,
    beside_task: str | None = None,
    worst: int | None = None,
    **options: Any,
) -> Tabulation[FileCheck]:
    """List the problems of annotation files, and of those in folders, with file and line.

    Parameters
    ----------
    paths : path or sequence of paths
        One pipeline file (.yaml): the references of its evaluations, those of several evaluations beside each other.
    task, convention, schema, annotator, reference, role, beside, beside_task, **options
        See :func:`mirflow.evaluation.linter.check_paths`.
    worst : int or None
        List so many of the notes about probable mistakes in the tables, the strongest first, and nothing else.

    Returns
    -------
    Tabulation of FileCheck
        One for each file, those without problems too; the tables have a row for each problem.

    Raises
    ------
    AnnotationError
        If a path does not exist, a folder holds no annotation file, or a reference is given without a task.
    """
    from ..evaluation.linter import check_paths, check_pipeline, count_by_severity  # which imports all that reads

    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    words: dict[str, Any] = {"convention": convention, "schema": schema, "annotator": annotator, "beside": beside}
    words |= {"reference": reference, "role": role, "beside_task": beside_task}
    if len(listed) == 1 and Path(listed[0]).suffix.lower() in (".yaml", ".yml"):
        given = [name for name, value in {**words, **options}.items() if value is not None and name != "schema"]
        if given:
            raise AnnotationError(f"{given[0]} does not apply to a pipeline, which says how references are read")
        checks = list(check_pipeline(listed[0], task))
    else:
        checks = list(check_paths(listed, task, **words, **options))
    counts: tuple[Mapping[Any, int], ...] = (Counter(one.what for one in checks), count_by_severity(checks))
    summary = ": ".join(", ".join(counted(number, name) for name, number in one.items()) for one in counts)
    columns = ("file", "line", "severity", "rule", "message", "annotator", "track", "second", "strength")
    found = [(one, problem) for one in checks for problem in one.problems]
    if worst is not None:
        ranked = [(one, problem) for one, problem in found if problem.strength is not None]
        found = sorted(ranked, key=lambda pair: -(pair[1].strength or 0.0))[:worst]
    rows = tuple(
        (one.path, it.line, it.severity, it.rule, it.message, it.annotator, one.track, it.second, it.strength)
        for one, it in found
    )
    table = Table(columns, rows, folds=("message",))
    return Tabulation(checks, lambda width: [replace(table, notes=(summary,))], lambda: [table], (summary,))
