"""Short tables: what a store holds, its problems, primary metrics, worst tracks, single pairs, records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.aggregation import Answer, show_span
from ..analysis.combine import told_cautions
from ..analysis.missing import CellProblem, group_problems
from ..analysis.policies import MISSING, UNDEFINED
from ..analysis.queries import count_statuses
from ..analysis.scoreboard import Scoreboard
from ..analysis.worst import Extremes
from ..cells import EMPTY, FAILED, Status
from ..errors import counted
from ..metrics.aggregates import DECLARED, table_aggregates
from ..metrics.base import Convention, Metric, Parameter
from ..ragged import Float
from .captions import caution_notes, nothing_notes
from .layout import (
    ShownValues,
    group_labels,
    interval_notes,
    mark_note,
    plain_entry,
    show_figure,
    title_of,
    told_of,
    track_columns,
)
from .tables import Entry, Table, shorten

if TYPE_CHECKING:
    import xarray as xr

_SOME = 12


def store_overview_table(boards: Mapping[str, Scoreboard]) -> Table:
    """What a store holds: a row for each evaluation, with its numbers of systems, tracks, metrics and cells.

    Parameters
    ----------
    boards : mapping of str to Scoreboard
        By the names of their groups.
    """
    rows: list[tuple[Entry, ...]] = []
    for name, board in boards.items():
        counts = count_statuses(board).sum(axis=0)
        scored = sum(int(counts[place]) for place, status in enumerate(Status) if status.scored)
        told = (str(board.attrs.get(key, "")) or None for key in ("task", "convention"))
        more = (len(board.siblings),) if any(one.siblings for one in boards.values()) else ()
        sizes = (*map(len, (board.systems, board.tracks, board.metrics)), *more)
        rows.append((name, *told, *sizes, f"{scored} of {counts.sum()}"))
    dims = ("with dims",) if any(one.siblings for one in boards.values()) else ()
    columns = ("group", "task", "convention", "systems", "tracks", "metrics", *dims, "cells scored")
    return Table(columns, tuple(rows))


def contents_table(name: str, board: Scoreboard) -> Table:
    """What one evaluation is: its systems, tracks, metrics, coordinates, siblings and provenance.

    Parameters
    ----------
    name : str
        Of the group.
    board : Scoreboard
    """
    attrs = board.attrs
    rows = [(key, str(attrs[key])) for key in ("task", "convention", "grid", "combine", "imported") if attrs.get(key)]
    for dim in ("system", "track", "metric"):
        labels = board.names(dim)
        rows.append((f"{dim}s ({len(labels)})", _some(labels)))
        if board.coords[dim] and dim != "metric":
            rows.append((f"{dim} coordinates", ", ".join(board.coords[dim])))
    if board.siblings:
        named = (f"{key}({', '.join(one.dims)})" for key, one in board.siblings.items())
        rows.append(("more than scalars", ", ".join(named)))
    if attrs.get("created"):
        rows.append(("created", str(attrs["created"])))
    versions = attrs.get("versions")
    if isinstance(versions, Mapping):
        rows.append(("versions", ", ".join(f"{key} {value}" for key, value in versions.items())))
    rows += [("warning", text) for text in told_cautions(attrs)]
    return Table(("group", name), tuple(rows), folds=(name,))


def coverage_table(name: str, board: Scoreboard) -> Table:
    """How many cells of each system have each status, without the statuses that do not occur."""
    counts = count_statuses(board)
    occurring = [(place, status.name) for place, status in enumerate(Status) if counts[:, place].any()]
    rows: list[tuple[Entry, ...]] = [
        (name, system, *(int(own[place]) for place, _ in occurring))
        for system, own in zip(board.systems, counts, strict=True)
    ]
    return Table(("group", "system", *(status for _, status in occurring)), tuple(rows))


def _some(names: Sequence[str]) -> str:
    """All of a few names, the ends of many."""
    if len(names) <= _SOME:
        return ", ".join(names)
    return f"{', '.join(names[: _SOME // 2])}, ..., {names[-1]}"


_KINDS = 5


def problems_table(group: str, problems: Sequence[CellProblem], *, cut: bool = False) -> Table:
    """A row for each cell without a score, with that of an empty file, or with a warning; ``scored`` tells them apart.

    Parameters
    ----------
    group : str
        Name of the evaluation.
    problems : sequence of CellProblem
    cut : bool
        Whether long values in messages are cut, for people.
    """
    rows = tuple(
        (group, one.system, one.track, one.status.name, one.scored, shorten(one.message) if cut else one.message)
        for one in problems
    )
    return Table(("group", "system", "track", "status", "scored", "message"), rows, folds=("message",))


def problem_lines(group: str, problems: Sequence[CellProblem]) -> list[str]:
    """The most frequent kinds of reasons, each with its number of cells and an example; behind them what has a score.

    Parameters
    ----------
    group : str
        Name of the evaluation.
    problems : sequence of CellProblem
    """
    kinds = group_problems([one for one in problems if one.scored != "yes"])
    lines = []
    for kind in kinds[:_KINDS]:
        status = "without some metrics" if kind[0].status.scored else kind[0].status.name
        lines.append(_line(group, status, kind))
    if len(kinds) > _KINDS:
        rest = sum(map(len, kinds[_KINDS:]))
        kind_count = len(kinds) - _KINDS
        lines.append(f"{group}: {rest} more cells for {kind_count} other reason{'s' if kind_count != 1 else ''}")
    for state in sorted(EMPTY):
        kind = [one for one in problems if one.status == state]
        if kind:
            lines.append(_line(group, f"{state.name}, with a score", kind))
    for kind in group_problems([one for one in problems if one.warned]):
        lines.append(_line(group, "with a score", kind))
    return lines


def _line(group: str, what: str, kind: Sequence[CellProblem]) -> str:
    """One kind of reason, with an example where cells differ."""
    example = "" if len({one.message for one in kind}) == 1 else "such as "
    return f"{group}: {counted(len(kind), 'cell')}: {what}: {example}{shorten(kind[0].message)}"


_TITLE = "the headline metric of each evaluation"


def primary_table(
    answers: Sequence[Answer], *, percent: bool = False, left_out: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """One row for each evaluation (and group of tracks), the systems of all of them across.

    Parameters
    ----------
    answers : sequence of Answer
        Of one metric each; grouped by the same coordinates.
    percent : bool
        Ratios as percentages.
    left_out : mapping of str to str
        Evaluations that have no figure, and what they are without.
    """
    systems = list(dict.fromkeys(name for one in answers for name in one.systems))
    groupings = tuple(answers[0].groupings) if answers else ()
    lost = any(one.counts["n_missing"].any() for one in answers)
    rows = [row for one in answers for row in _rows(one, systems, percent, lost)]
    columns = ("evaluation", "metric", "aggregate", *groupings, *systems, "n", *(["missing"] if lost else []))
    notes = [
        f"{kind}: {DECLARED[kind].words}" for kind in dict.fromkeys(kind for one in answers for kind in one.aggregates)
    ]
    for policy in dict.fromkeys(one.attrs["missing"] for one in answers):
        notes += [f"missing ({policy}): {MISSING[policy]}"] if lost else []
    first = answers[0] if answers else None
    if first is not None and first.ends:
        value, low = (np.concatenate([end.ravel() for end in ends]) for ends in zip(*map(_ends, answers), strict=True))
        notes += interval_notes(value, low, first.attrs)
    if first is not None and first.like_best is not None:
        notes.append(mark_note([one.attrs for one in answers]))
    if percent:
        notes.append("ratios in percent")
    for one in answers:
        notes += [f"{one.attrs.get('group', '')}: {said}" for said in caution_notes(one.attrs)]
    for lacking in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, one in left_out.items() if one == lacking)
        notes.append(f"left out, without {lacking}: {names}")
    caption = f"{_TITLE.capitalize()}."
    return Table(columns, tuple(rows), _TITLE, tuple(notes), ("metric",), caption, keys=3 + len(groupings))


def _ends(one: Answer) -> tuple[Float, Float]:
    """The figures of an answer and the lower ends of their intervals."""
    return one.value[..., one.filled], one.ends["low"][..., one.filled]


def _rows(one: Answer, systems: Sequence[str], percent: bool, lost: bool) -> list[tuple[Entry, ...]]:
    figures, place = ShownValues(one, percent), {name: place for place, name in enumerate(one.systems)}
    unit = f" [{one.units[0]}]" if one.units[0] else ""
    rows: list[tuple[Entry, ...]] = []
    for group in one.filled:
        shown = (figures[place[name], 0, group] if name in place else None for name in systems)
        counted = (show_span(one.counts[name][:, 0, group]) for name in ("n", *(["n_missing"] if lost else [])))
        named = (one.attrs.get("group", ""), one.metrics[0] + unit, one.aggregates[0])
        rows.append((*named, *group_labels(one, group), *shown, *counted))
    return rows


_SCORE = ("score", "unit", "weight", "mean")
_TOLD = 5


def extremes_table(found: Extremes, *, percent: bool = False) -> Table:
    """For people: a row for each system and rank, or, over all systems, for each rank with every system's score.

    Parameters
    ----------
    found : Extremes
    percent : bool
        Ratios as percentages.
    """
    percent = percent and not found.unit
    annotator = ("annotator",) if "annotator" in found.attrs else ()
    rows: list[tuple[Entry, ...]] = []
    if found.overall:
        columns = ("rank", "track", *annotator, "mean", *found.systems)
        ranks = _ranks(found.value[0])
        for place, track in enumerate(found.track[0]):
            scores = (show_figure(float(score), percent) for score in found.score[0][:, place])
            whose = (str(found.coords[name][0][place]) for name in annotator)
            rows.append((ranks[place], track, *whose, show_figure(float(found.value[0][place]), percent), *scores))
    else:
        columns = ("system", "rank", "track", *annotator, found.metric, "weight")
        for number, system in enumerate(found.systems):
            value, weight, ranks = found.value[number], found.weight[number], _ranks(found.value[number])
            for place, track in enumerate(found.track[number]):
                whose = (str(found.coords[name][number][place]) for name in annotator)
                figures = show_figure(float(value[place]), percent), f"{float(weight[0, place]):g}"
                rows.append((system, ranks[place], track, *whose, *figures))
    unit = f" [{found.unit}]" if found.unit else ""
    return Table(columns, tuple(rows), f"{title_of(found.attrs)}; {found.metric}{unit}", _notes(found, percent))


def _notes(found: Extremes, percent: bool) -> tuple[str, ...]:
    missing, undefined = found.attrs["missing"], found.attrs["undefined"]
    which = "best" if found.best else "worst"
    order = f"{which} tracks first, by the mean over the systems" if found.overall else f"{which} tracks of each system"
    return (
        f"{order}; {found.orientation} is better",
        *(("ratios in percent",) if percent else ()),
        f"missing ({missing}): {MISSING[missing]}",
        f"undefined ({undefined}): {UNDEFINED[undefined]}",
        f"n: {show_span(np.array(found.n, dtype=np.int64))} tracks; left out: {found.left_out} scores",
        *_ties(found, percent),
        *_nothing(found),
        *caution_notes(found.attrs),
    )


def _ties(found: Extremes, percent: bool) -> tuple[str, ...]:
    """How many tracks are as good as the last one that is listed, where some of them are not."""
    names = ["the mean over the systems"] if found.overall else found.systems
    told = []
    for name, value, tied in zip(names, found.value, found.tied, strict=True):
        listed = int((value == value[-1]).sum()) if len(value) else 0
        if tied > listed:
            told.append(
                f"{name}: {tied} tracks at {show_figure(float(value[-1]), percent)}, of which {listed} are listed"
            )
    said = f"ties, in the order of the tracks: {'; '.join(told[:_TOLD])}"
    return (said + (f"; and {len(told) - _TOLD} more systems" if told[_TOLD:] else ""),) if told else ()


def _ranks(value: Float) -> list[int]:
    """The rank of each track, which those of one value share."""
    equal = np.array([False, *(value[1:] == value[:-1])], dtype=np.bool_)[: len(value)]
    places = np.where(equal, 0, np.arange(1, len(value) + 1))
    return [int(one) for one in np.maximum.accumulate(places)]


def _nothing(found: Extremes) -> tuple[str, ...]:
    """Why no track is listed."""
    if any(found.n):
        return ()
    if found.attrs["missing"] == "common" and found.left_out:
        return ("no track has a score of every system; name fewer systems",)
    return ("no track has a score",) if found.left_out else nothing_notes(found.attrs, 0)


def extremes_long_table(found: Extremes) -> Table:
    """For programs: a row for each score, with the tracks' coordinates.

    Parameters
    ----------
    found : Extremes
    """
    told = told_of(found.attrs)
    fixed = ("metric", "order", "system", "rank", "track", *_SCORE, "n", "tied", "left_out", "missing", "undefined")
    named = track_columns(found.coords, (*told, *fixed))
    origin = tuple(found.attrs.get(name, "") for name in told)
    rows: list[tuple[Entry, ...]] = []
    for number, system in enumerate(found.systems):
        own, row = (0, number) if found.overall else (number, 0)
        counted = (found.n[own], found.tied[own], found.left_out)
        ranks = _ranks(found.value[own])
        for place, track in enumerate(found.track[own]):
            about = (plain_entry(values[own].tolist()[place]) for values in found.coords.values())
            score, weight = (float(each[own][row, place]) for each in (found.score, found.weight))
            mean = float(found.value[own][place]) if found.overall else None
            head = (
                *origin,
                found.metric,
                found.attrs["order"],
                system,
                ranks[place],
                track,
                score,
                found.unit,
                weight,
                mean,
            )
            rows.append((*head, *counted, found.attrs["missing"], found.attrs["undefined"], *about))
    return Table((*told, *fixed, *named), tuple(rows))


def pair_table(ds: xr.Dataset, *, percent: bool = False) -> Table:
    """The scores of one estimate of one track, a row a metric.

    Parameters
    ----------
    ds : xr.Dataset
        A group of scores with one system and one track.
    percent : bool
        Ratios as percentages.
    """
    cell = ds.isel(system=0, track=0)
    names, units, weight_units = ([str(v) for v in cell[c].values.tolist()] for c in ("metric", "unit", "weight_unit"))
    rows: list[tuple[Entry, ...]] = []
    for place, name in enumerate(names):
        score, weight = float(cell["score"].values[place]), float(cell["weight"].values[place])
        shown = f"{100 * score:.2f}" if percent and not units[place] and score == score else score
        rows.append((name, shown, weight, weight_units[place]))
    attrs = ds.attrs
    parts = ("task", "convention", "grid")
    title = ", ".join(f"{part} {attrs[part]}" for part in parts if attrs.get(part))
    return Table(("metric", "score", "weight", "weight_unit"), tuple(rows), title, ("ratios in percent",) * percent)


def failed_cells(ds: xr.Dataset) -> list[str]:
    """A line for each cell without a score: which, what, why."""
    told = _told(ds)
    return [f"{where}: {status.name}: {message}" for where, status, message in told if status in FAILED]


def partial_cells(ds: xr.Dataset) -> list[str]:
    """A line for each scored cell without that of some metrics, with something empty, or with a warning: which, why."""
    return [f"{where}: {message}" for where, status, message in _told(ds) if status.scored and message]


def _told(ds: xr.Dataset) -> Iterator[tuple[str, Status, str]]:
    """Name, status and message of each cell; a message does not repeat the name."""
    part = ds[["status", "message"]].transpose("system", "track")
    for system, name in enumerate(part["system"].values.tolist()):
        for track, title in enumerate(part["track"].values.tolist()):
            both = f"system {name!r}, track {title!r}"
            where = f"track {title!r}" if part.sizes["system"] == 1 else both
            message = str(part["message"].values[system, track]).removeprefix(f"{both}: ")
            yield where, Status(int(part["status"].values[system, track])), message


_BETTER = {"higher": "higher", "lower": "lower", "none": "-"}


def tasks_overview_table(conventions: Sequence[tuple[str, Convention]]) -> Table:
    """What there is to choose from: a row for each task and convention, and how many metrics it has.

    Parameters
    ----------
    conventions : sequence of (str, Convention)
        Each with its task.

    Examples
    --------
    >>> from ..metrics.base import get_task
    >>> tempo = get_task("tempo")
    >>> print(tasks_overview_table([("tempo", tempo.convention("mir_eval"))]).columns)
    ('task', 'convention', 'metrics', 'rules')
    """
    rows = tuple((task, rules.name, len(rules.metrics), rules.summary) for task, rules in conventions)
    return Table(("task", "convention", "metrics", "rules"), rows, folds=("rules",))


def short_table(task: str, convention: Convention) -> Table:
    """The metrics of a convention for people; weights, parameters and sources stand below, each text once.

    Parameters
    ----------
    task : str
    convention : Convention
    """
    metrics = convention.metrics
    rows = [
        (
            metric.name,
            _span(metric),
            _BETTER[metric.orientation],
            _standard(metric),
            metric.weight_unit,
            metric.summary,
        )
        for metric in metrics
    ]
    columns = ("metric", "range", "better", "aggregate", "weight", "what it measures")
    notes = [f"weight of {names}: {text}" for text, names in _share(metrics, lambda one: [one.weight])]
    parameters = _share(metrics, lambda one: [_parameter(parameter) for parameter in one.parameters])
    notes += [f"parameter of {names}: {text}" for text, names in parameters]
    notes += [f"source of {names}: {text}" for text, names in _share(metrics, lambda one: [one.literature])]
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
        *("parameters", "dims", "default", "literature", "version"),
    )
    rows = tuple(
        (
            *(task, convention.name, metric.name, metric.title, metric.summary, metric.key, " ".join(metric.aliases)),
            *(*map(_end, metric.range), metric.orientation, metric.unit, metric.weight, metric.weight_unit),
            *(metric.pooling, _standard(metric), " ".join(_aggregates(metric)), metric.perfect),
            *(metric.perfect_exceptions, "; ".join(map(_parameter, metric.parameters)), " ".join(metric.dims)),
            *(metric.default, metric.literature, metric.version),
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


def _end(value: float) -> float | None:
    """An end of a range for programs; None where there is none."""
    return value if math.isfinite(value) else None


def _span(metric: Metric) -> str:
    low, high = (f"{end:g}" for end in metric.range)
    return f"{low} to {high}{f' {metric.unit}' if metric.unit else ''}"


def _parameter(parameter: Parameter) -> str:
    choices = f" (one of {', '.join(map(str, parameter.choices))})" if parameter.choices else ""
    return f"{parameter.name}={parameter.default}{f' {parameter.unit}' if parameter.unit else ''}{choices}"
