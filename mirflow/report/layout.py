"""Answers of a store as tables for people and as long tables for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Protocol

import numpy as np

from ..analysis.aggregation import COUNTS, EVERY, UNTESTED, VALUELESS, Answer, show_span
from ..analysis.combine import REFERENCES_DIFFER
from ..analysis.per_class import ExtraAnswer
from ..analysis.policies import MISSING, say_test, say_undefined
from ..analysis.queries import UNGROUPED, across_of, is_deviation, repeats
from ..errors import QueryError, counted
from ..metrics.aggregates import CLASS_AGGREGATES, DECLARED, RATIO_AGGREGATES
from ..ragged import Float, Int
from .captions import (
    NO_INTERVAL,
    caption_of,
    caution_notes,
    count_notes,
    few_notes,
    figures_caption,
    infinity_notes,
    matrix_caption,
    nothing_notes,
    plural,
    unit_notes,
)
from .tables import MARK, Entry, Figure, Table, fewest_blocks, full_width

ORIGIN = ("group", "task", "convention", "grid")
NARROWED = ("stores", REFERENCES_DIFFER, "where", "annotator", "param", "over", "across")
_NAMES = ("metric", "aggregate", "system")
_FIGURES = ("value", "unit", *COUNTS, "n_tracks", "missing", "undefined")
INTERVAL = ("low", "high", "level", "method", "replicates", "resampled")
MARKS = ("like_best", "test", "correction", "test_level")


def long_table(answer: Answer) -> Table:
    """One row for each value, with everything needed to read it alone; what csv and json hold.

    Parameters
    ----------
    answer : Answer
    """
    # Without a store there is no group, and no column for it.
    told = told_of(answer.attrs)
    origin = tuple(answer.attrs.get(name, "") for name in told)
    named = track_columns(answer.groupings, (*ORIGIN, *NARROWED, *_NAMES, *_FIGURES, *INTERVAL, *MARKS))
    ends = tuple(answer.ends.values())
    how = interval_columns(answer.attrs) if ends else ()
    marks = answer.like_best
    units, groups = answer.units, {group: tuple(map(plain_entry, answer.group(group))) for group in answer.filled}
    rows = tuple(
        (
            *(*origin, answer.metrics[cell[1]], answer.aggregates[cell[1]], answer.systems[cell[0]]),
            *groups[cell[2]],
            *(float(answer.value[cell]), units[cell[1]]),
            *(int(answer.counts[name][cell]) for name in COUNTS),
            *(int(answer.n_tracks[cell[2]]), answer.attrs["missing"], answer.attrs["undefined"]),
            *(float(end[cell]) for end in ends),
            *how,
            *(() if marks is None else (int(marks[cell]), *mark_columns(answer.attrs))),
        )
        for cell in answer.cells()
    )
    more = (*(INTERVAL if ends else ()), *(() if marks is None else MARKS))
    return Table((*told, *_NAMES, *named, *_FIGURES, *more), rows)


def interval_columns(attrs: Mapping[str, str]) -> tuple[Entry, ...]:
    """How intervals came about."""
    return float(attrs["level"]), attrs["method"], int(attrs["replicates"]), resampled(attrs)


def mark_columns(attrs: Mapping[str, str]) -> tuple[Entry, ...]:
    """How it was found which systems are like the best."""
    return attrs["test"], attrs["correction"], float(attrs["test_level"])


def told_of(attrs: Mapping[str, str]) -> list[str]:
    """What to say of where numbers come from: not the group where there is none, and what narrowed them down."""
    fixed = [name for name in ORIGIN if name != "group" or name in attrs]
    return [*fixed, *(name for name in NARROWED if name in attrs)]


def resampled(attrs: Mapping[str, str]) -> str:
    """What was drawn again: tracks, the values of a coordinate, or clusters of tracks."""
    return attrs.get("cluster") or attrs.get("unit") or attrs.get("unit_of_comparison", "track")


def track_columns(groupings: Iterable[str], taken: Sequence[str]) -> list[str]:
    """Columns for coordinates of tracks, whose names may be those of other columns."""
    return [f"track_{name}" if name in taken else name for name in groupings]


def plain_entry(value: object) -> Entry:
    """A coordinate's value for a table; years that are floats only because one is missing become integers again."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) else str(value)


_HEADS = {"n": "n", "n_missing": "missing", "n_undefined": "undefined"}


ACROSS = ("metric", "system", "group")
"""What can run across a table."""


def readable_table(
    answer: Answer, *, percent: bool = False, width: int = 120, notes: Sequence[str] = (), across: str | None = None
) -> Table:
    """A table for people: systems down and metrics across, or turned round where that is too wide.

    Where either is too wide, a terminal shows the one that breaks into fewer blocks of columns.

    Parameters
    ----------
    answer : Answer
    percent : bool
        Ratios as percentages with two decimals, instead of four decimals.
    width : int
        Columns of the terminal.
    notes : sequence of str
        More lines to stand below.
    across : {"metric", "system", "group"} or None
        What runs across; None: what fits.

    Raises
    ------
    QueryError
        If groups are to run across where nothing is grouped.
    """
    figures = ShownValues(answer, percent)
    if across is not None:
        if across == "group" and not answer.groupings:
            raise QueryError("pivot 'group': nothing is grouped; say by which coordinate (by, --by)")
        table = {"metric": _metrics_across, "system": _systems_across, "group": _groups_across}[across](answer, figures)
    else:
        wide = (_metrics_across(answer, figures), _systems_across(answer, figures))
        table = fewest_blocks(wide, width) or _one_value_a_row(answer, figures)
    below = (*_notes(answer, percent), *table.notes, *notes)
    return replace(table, title=title_of(answer.attrs), notes=below, caption=caption_of(answer, percent))


class ShownValues:
    """The figures of an answer as they are shown."""

    def __init__(self, one: Answer, percent: bool) -> None:
        self.one, self.percent = one, [percent and not unit for unit in one.units]
        self.orientations = [str(way) for way in one.metric_coords["orientation"].tolist()]

    def __getitem__(self, cell: tuple[int, int, int]) -> Figure:
        one, percent = self.one, self.percent[cell[1]]
        ends = show_interval([float(end[cell]) for end in one.ends.values()], percent, float(one.value[cell]))
        # A best system that differs from all others needs no mark: it is bold, or the largest number.
        like = None if one.like_best is None else one.like_best[:, cell[1], cell[2]]
        marked = like is not None and bool(like[cell[0]]) and int(like.sum()) > 1
        return Figure(self._show(cell), ends, self._is_best(cell), marked)

    def _show(self, cell: tuple[int, int, int]) -> str:
        return show_figure(float(self.one.value[cell]), self.percent[cell[1]])

    def _is_best(self, cell: tuple[int, int, int]) -> bool:
        """Whether no system has a better figure; what prints alike is equally good."""
        _, metric, group = cell
        values, orientation = self.one.value[:, metric, group], self.orientations[metric]
        where = dict(zip(self.one.groupings, self.one.group(group), strict=True))
        if orientation == "none" or is_deviation(self.one.attrs, where) or np.count_nonzero(~np.isnan(values)) < 2:
            return False
        best = np.nanargmin(values) if orientation == "lower" else np.nanargmax(values)
        return self._show(cell) == self._show((int(best), metric, group))


def show_figure(value: float, percent: bool) -> str:
    """A figure for people, ``-`` where there is none; what rounds to 0 has no sign."""
    if np.isnan(value):
        return "-"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{100 * value:z.2f}" if percent else f"{value:z.4f}"


def show_interval(ends: Sequence[float], percent: bool, value: float) -> str:
    """The ends of an interval for people; a mark where a figure has none, and nothing where none is asked for."""
    if not ends or not np.isfinite(value):
        return ""
    return NO_INTERVAL if np.isnan(ends).any() else f"[{', '.join(show_figure(end, percent) for end in ends)}]"


class Grouped(Protocol):
    """An answer over groups of tracks."""

    def group(self, group: int) -> tuple[object, ...]:
        """The values that make a group."""
        ...


def group_labels(one: Grouped, group: int) -> list[str]:
    """The values that make a group, for people."""
    plain = (plain_entry(value) for value in one.group(group))
    return ["(none)" if value in ("", None) or value != value else str(value) for value in plain]


def _metric_heads(one: Answer) -> list[str]:
    """Names of metrics, each with its aggregate where these differ."""
    if len(set(one.aggregates)) <= 1:
        return one.metrics
    return [f"{name} [{kind}]" for name, kind in zip(one.metrics, one.aggregates, strict=True)]


def _counted(one: Answer) -> list[str]:
    """The counts worth a column: how many tracks, and what was missing or undefined if anything was."""
    return [name for name in COUNTS if name == "n" or one.counts[name].any()]


def _metrics_across(one: Answer, figures: ShownValues) -> Table:
    counted, metrics = _counted(one), range(len(one.metrics))
    rows: list[tuple[Entry, ...]] = [
        (
            *(name, *group_labels(one, group)),
            *(figures[system, metric, group] for metric in metrics),
            *(show_span(one.counts[count][system, :, group]) for count in counted),
        )
        for system, name in enumerate(one.systems)
        for group in one.filled
    ]
    columns = ("system", *one.groupings, *_metric_heads(one), *(_HEADS[name] for name in counted))
    keys = 1 + len(one.groupings)
    return Table(columns, tuple(rows), notes=_count_notes(one, one.metrics, (0, 2, 1)), keys=keys)


def _systems_across(one: Answer, figures: ShownValues) -> Table:
    counted, systems = _counted(one), range(len(one.systems))
    rows: list[tuple[Entry, ...]] = [
        (
            *(name, *group_labels(one, group)),
            *(figures[system, metric, group] for system in systems),
            *(show_span(one.counts[count][:, metric, group]) for count in counted),
        )
        for metric, name in enumerate(_metric_heads(one))
        for group in one.filled
    ]
    columns = ("metric", *one.groupings, *one.systems, *(_HEADS[name] for name in counted))
    keys = 1 + len(one.groupings)
    return Table(columns, tuple(rows), notes=_count_notes(one, one.systems, (1, 2, 0)), keys=keys)


def _groups_across(one: Answer, figures: ShownValues) -> Table:
    counted, filled = _counted(one), one.filled
    rows: list[tuple[Entry, ...]] = [
        (
            *(name, system),
            *(figures[place, metric, group] for group in filled),
            *(show_span(one.counts[count][place, metric, filled]) for count in counted),
        )
        for metric, name in enumerate(_metric_heads(one))
        for place, system in enumerate(one.systems)
    ]
    heads = [" / ".join(group_labels(one, group)) for group in filled]
    columns = ("metric", "system", *heads, *(_HEADS[name] for name in counted))
    return Table(columns, tuple(rows), notes=_count_notes(one, heads, (1, 0, 2)), keys=2)


def _count_notes(one: Answer, heads: Sequence[str], order: tuple[int, int, int]) -> tuple[str, ...]:
    """What runs across comes last in the order of systems, metrics and groups."""
    counts = one.counts["n"][..., one.filled].transpose(order)
    return count_notes(heads, counts.reshape(-1, len(heads)))


def _one_value_a_row(one: Answer, figures: ShownValues) -> Table:
    counted, heads = _counted(one), _metric_heads(one)
    rows: list[tuple[Entry, ...]] = []
    for cell in one.cells():
        system, metric, group = cell
        counts = (int(one.counts[count][cell]) for count in counted)
        rows.append((heads[metric], one.systems[system], *group_labels(one, group), figures[cell], *counts))
    columns = ("metric", "system", *one.groupings, "value", *(_HEADS[name] for name in counted))
    return Table(columns, tuple(rows))


def title_of(attrs: Mapping[str, str]) -> str:
    """Where the numbers of an answer come from."""
    parts = ("task", "convention", "grid", "stores", "annotator", "param", "default", "over", "where", "across")
    described = ", ".join(f"{name} {attrs[name]}" for name in parts if attrs.get(name))
    return ": ".join(filter(None, (attrs.get("group", ""), described)))


def _notes(one: Answer, percent: bool) -> tuple[str, ...]:
    """What has to be known to read the numbers."""
    notes = [f"{kind}: {DECLARED[kind].words}" for kind in dict.fromkeys(one.aggregates)]
    notes += infinity_notes(one.value[..., one.filled], one.aggregates)
    notes += unit_notes(one.metrics, one.units)
    if one.ends:
        notes += interval_notes(one.value[..., one.filled], one.ends["low"][..., one.filled], one.attrs)
    if one.like_best is not None:
        notes.append(mark_note([one.attrs]))
    if percent:
        notes.append("ratios in percent")
    missing, undefined = one.attrs["missing"], one.attrs["undefined"]
    tracks = int(one.n_tracks.sum()) // repeats(one.attrs)
    cells = tracks * len(one.systems)
    lost, nothing = one.cells_with("missing"), one.cells_with("undefined")
    if lost:
        notes.append(f"missing ({missing}): {say_cells('missing', cells, one)}; {MISSING[missing]}")
    if nothing:
        said = say_undefined(undefined, one.attrs.get(VALUELESS, ""))
        notes.append(f"undefined ({undefined}): {say_cells('undefined', cells, one)}; {said}")
    bare = [name for name, least in zip(one.systems, _least_missing(one), strict=True) if least == one.n_tracks.sum()]
    if bare and missing == "common" and len(bare) < len(one.systems):
        notes.append(f"no score at all: {', '.join(bare)}; name the others, or choose missing skip (--missing)")
    if missing == "common" and len(one.systems) > 1 and lost and not one.counts["n"].any() and not bare:
        notes.append("no track has a score of every system; name fewer systems, or choose missing skip (--missing)")
    notes += nothing_notes(one.attrs, tracks)
    notes += caution_notes(one.attrs)
    if UNGROUPED in one.attrs:
        notes.append(one.attrs[UNGROUPED])
    if one.attrs["left_out"]:
        notes.append(f"not defined for: {one.attrs['left_out']}")
    return tuple(notes)


def interval_notes(value: Float, low: Float, attrs: Mapping[str, str]) -> tuple[str, ...]:
    """How intervals came about, with the unit where that is no track; and why some figures have none.

    Parameters
    ----------
    value, low : float64
        The figures, and the lower ends of their intervals.
    attrs : mapping of str to str
    """
    few = few_notes(value, low, attrs)
    if few and np.isnan(low).all():
        return few
    unit, cluster = attrs.get("unit", "track"), attrs.get("cluster", "")
    drawn = f"tracks, {together(cluster)}" if cluster else f"values of {unit}"
    figure = f"; each {unit} counts once" if unit != "track" else ""
    level, method, number = float(attrs["level"]), attrs["method"], attrs["replicates"]
    over = "tracks" if unit == "track" and not cluster else drawn
    told = f"[ ]: {100 * level:g} % confidence interval, bootstrap over {over} ({method}, {number} replicates){figure}"
    return (told, *few)


def together(cluster: str) -> str:
    """What is drawn or swapped as a whole."""
    return "all annotations of the same one together" if cluster == "track" else f"all of the same {cluster} together"


def mark_note(each: Sequence[Mapping[str, str]]) -> str:
    """What the mark of significance means, of one answer or of several evaluations; or why there is none.

    Parameters
    ----------
    each : sequence of mapping of str to str
        The attributes of each answer.
    """
    alpha = 1 - float(each[0]["test_level"])
    units = show_span(np.array([int(n) for attrs in each for n in attrs["tested_units"].split("-")]))
    tested = f"{say_test(each[0]['test'], each[0]['correction'])}, n = {units}"
    few = f"so few units cannot give a corrected p-value below {alpha:.3g}"
    if all(attrs.get(UNTESTED) == EVERY for attrs in each):
        return f"no {MARK}: {few} ({tested})"
    said = (
        f"{MARK}: not told apart from the best at {alpha:.3g} ({tested}); a best one without it differs from all others"
    )
    left = [name for attrs in each for name in _untested(attrs)]
    return f"{said}; no {MARK} for {', '.join(left)}: {few}" if left else said


def _untested(attrs: Mapping[str, str]) -> list[str]:
    """What has no mark for want of units: metrics, or the whole evaluation."""
    names = attrs.get(UNTESTED, "").splitlines()
    return [attrs.get("group", "")] if names == [EVERY] else names


def say_cells(policy: str, cells: int, one: Answer) -> str:
    """How many cells, pairs of a system and a track, a policy is about, and of which metrics if not of all."""
    count = one.cells_with(policy)
    said = f"{count} of {counted(cells, 'cell')} (system and track)"
    each = one.counts[f"n_{policy}"].sum(axis=(0, 2)) // repeats(one.attrs)
    return said if (each == count).all() else f"{said}, for one or more of {len(one.metrics)} metrics"


def _least_missing(one: Answer) -> list[int]:
    """For each system, how many cells the metric lacks that lacks fewest."""
    if not one.metrics:
        return [0] * len(one.systems)
    return [int(count) for count in one.counts["n_missing"].sum(axis=2).min(axis=1)]


Place = tuple[int, ...]


def scores_table(answer: ExtraAnswer, *, width: int = 120, percent: bool = False, across: str | None = None) -> Table:
    """A row for each system, group of tracks and label along all extra dims but the last, whose labels run across.

    Where that is too wide, systems run across; where both are, it breaks into blocks of columns, or has a row for each
    entry.

    Parameters
    ----------
    answer : ExtraAnswer
    width : int
        Columns of the terminal.
    percent : bool
        Ratios as percentages.
    across : {"metric", "system"} or None
        What runs across: the labels of the metric's last dim, or systems; None: what fits.

    Raises
    ------
    QueryError
        For groups of tracks, which do not run across such a table.
    """
    if across == "group":
        raise QueryError(f"pivot 'group': of {answer.metric} the labels run across, or the systems (pivot system)")
    percent = percent and not answer.unit
    if across is None:
        table = _that_fits(answer, percent, width)
    else:
        table = _entries_across(answer, percent) if across == "system" else _across(answer, percent)
    unit = f" [{answer.unit}]" if answer.unit else ""
    title = f"{title_of(answer.attrs)}; {answer.metric}{unit}"
    caption = figures_caption(answer, percent)
    return replace(table, title=title, notes=(*_entry_notes(answer, percent), *table.notes), caption=caption)


def _that_fits(answer: ExtraAnswer, percent: bool, width: int) -> Table:
    """Labels across, or systems; in blocks of columns, or an entry a row, where a terminal has no room for either."""
    labels_across = _across(answer, percent)
    if not answer.labels or full_width(labels_across) <= width:
        return labels_across
    if len(answer.systems) < 2:
        return _down(answer, percent)
    turned = [] if answer.groupings else [_entries_across(answer, percent)]
    return fewest_blocks([*turned, labels_across], width) or _down(answer, percent)


def _rows(answer: ExtraAnswer, dims: int) -> Iterator[tuple[tuple[str, ...], Place]]:
    """What stands at the left of each row, and where its entries are."""
    labels = list(answer.labels.values())[:dims]
    for place in product(range(len(answer.systems)), answer.filled, *(range(len(one)) for one in labels)):
        named = (one[at] for one, at in zip(labels, place[2:], strict=True))
        yield (answer.systems[place[0]], *group_labels(answer, place[1]), *named), place


def _across(answer: ExtraAnswer, percent: bool) -> Table:
    names, whole = list(answer.labels), is_whole(answer)
    rows: list[tuple[Entry, ...]] = []
    counts: list[Int] = []
    for head, place in _rows(answer, max(len(names) - 1, 0)):
        values, number = np.atleast_1d(answer.value[place]), np.atleast_1d(answer.n_values[place])
        places = [(*place, at) for at in range(len(values))] if names else [place]
        if names[1:] and not number.any():
            continue  # a frame that no track has, an instrument that does not occur
        span = str(number.max(initial=0)) if np.ptp(number) == 0 else f"{number.min()}-{number.max()}"
        rows.append((*head, *(_figure(answer, one, percent, whole) for one in places), span))
        counts.append(number)
    last = list(answer.labels[names[-1]]) if names else [_name(answer)]
    heads = _heads(answer, last)
    columns = ("system", *answer.groupings, *names[:-1], *heads, "n")
    notes = count_notes(heads, np.array(counts).reshape(-1, len(heads)))
    return Table(columns, tuple(rows), notes=notes, keys=len(columns) - len(heads) - 1)


def _heads(answer: ExtraAnswer, last: Sequence[str]) -> list[str]:
    """What stands above the labels of the last dim; a mean across classes says of what."""
    dim = ["", *answer.labels][-1]
    if dim not in across_of(answer.attrs):
        return [label or "(none)" for label in last]
    return [f"{_name(answer)}, {name} over {plural(dim)}" for name in last]


def _name(answer: ExtraAnswer) -> str:
    """What a single figure is called."""
    return answer.aggregate if answer.aggregate in CLASS_AGGREGATES else answer.metric


def _entries_across(answer: ExtraAnswer, percent: bool) -> Table:
    whole, systems = is_whole(answer), range(len(answer.systems))
    rows: list[tuple[Entry, ...]] = []
    counts: list[Int] = []
    for group, *place in product(answer.filled, *(range(len(one)) for one in answer.labels.values())):
        number = np.moveaxis(answer.n_values, 0, -1)[(group, *place)]
        if not number.any():
            continue
        named = (one[at] or "(none)" for one, at in zip(answer.labels.values(), place, strict=True))
        figures = (_figure(answer, (system, group, *place), percent, whole) for system in systems)
        rows.append((*group_labels(answer, group), *named, *figures, show_span(number)))
        counts.append(number)
    columns = (*answer.groupings, *answer.labels, *answer.systems, "n")
    each = np.array(counts, dtype=np.int64).reshape(-1, len(answer.systems))
    keys = len(answer.groupings) + len(answer.labels)
    return Table(columns, tuple(rows), notes=count_notes(answer.systems, each), keys=keys)


def _down(answer: ExtraAnswer, percent: bool) -> Table:
    whole = is_whole(answer)
    rows: list[tuple[Entry, ...]] = [
        (*head, _figure(answer, place, percent, whole), int(answer.n_values[place]))
        for head, place in _rows(answer, len(answer.labels))
        if answer.n_values[place]
    ]
    return Table(("system", *answer.groupings, *answer.labels, "value", "n"), tuple(rows))


def is_whole(answer: ExtraAnswer) -> bool:
    """Whether the entries are counts of things, or numbers that are names."""
    known = answer.value[np.isfinite(answer.value)]
    return answer.orientation == "none" and not answer.unit and bool((known == np.round(known)).all())


def _figure(answer: ExtraAnswer, place: Place, percent: bool, whole: bool) -> Figure:
    value = float(answer.value[place])
    if whole and np.isfinite(value):
        return Figure(f"{value:z.0f}")
    shown = show_figure(value, percent)
    ends = show_interval([float(end[place]) for end in (answer.low, answer.high) if end is not None], percent, value)
    values = np.moveaxis(answer.value, 0, -1)[place[1:]]
    if answer.orientation == "none" or np.count_nonzero(~np.isnan(values)) < 2 or _is_deviation(answer, place):
        return Figure(shown, ends)
    best = np.nanmin(values) if answer.orientation == "lower" else np.nanmax(values)
    # As in other tables: a best system that differs from all others needs no mark.
    like = None if answer.like_best is None else np.moveaxis(answer.like_best, 0, -1)[place[1:]]
    marked = like is not None and bool(like[place[0]]) and int(like.sum()) > 1
    return Figure(shown, ends, shown == show_figure(float(best), percent), marked)


def _is_deviation(answer: ExtraAnswer, place: Place) -> bool:
    """Whether a figure is a deviation across classes or groups."""
    labels = (own[at] for own, at in zip(answer.labels.values(), place[2:], strict=True))
    groups = zip(answer.groupings, answer.group(place[1]), strict=True)
    return is_deviation(answer.attrs, {**dict(groups), **dict(zip(answer.labels, labels, strict=True))})


def _entry_notes(answer: ExtraAnswer, percent: bool) -> tuple[str, ...]:
    missing, lost = answer.attrs["missing"], int(answer.n_missing.sum())
    tracks = int(answer.n_tracks.sum()) // repeats(answer.attrs)
    lost, cells = lost // repeats(answer.attrs), tracks * len(answer.systems)
    over = f"in each track {answer.attrs['over'].replace('=', ': ')}; then " if "over" in answer.attrs else ""
    notes = ["numbers are names" if answer.nominal else f"{over}{answer.aggregate}: {DECLARED[answer.aggregate].words}"]
    notes += infinity_notes(answer.value, [answer.aggregate])
    if answer.low is not None:
        notes += interval_notes(answer.value, answer.low, answer.attrs)
    if answer.like_best is not None:
        notes.append(mark_note([answer.attrs]))
    if percent:
        notes.append("ratios in percent")
    told = (f"missing ({missing}): {lost} of {counted(cells, 'cell')}; {MISSING[missing]}",) if lost else ()
    nothing = nothing_notes(answer.attrs, tracks)
    nothing += (answer.attrs[UNGROUPED],) if UNGROUPED in answer.attrs else ()
    nothing += caution_notes(answer.attrs)
    return (*notes, *told, *nothing, _n_note(answer))


def _n_note(answer: ExtraAnswer) -> str:
    """What is counted beside the figures."""
    if answer.aggregate not in RATIO_AGGREGATES:
        return "n: tracks with a value"
    left = [dim for dim in answer.labels if dim not in across_of(answer.attrs)]
    return "n: tracks that count" + (f", of which few may be of a single {' and '.join(left)}" if left else "")


REST = "(rest)"
_COUNTS = ("n", "n_missing", "n_tracks", "missing")


def entries_table(answer: ExtraAnswer) -> Table:
    """One row for each entry, with everything needed to read it alone; what csv and json hold.

    Of counts those that are not 0 have a row, of scores those with a value; their ``n`` is that of the entry.

    Parameters
    ----------
    answer : ExtraAnswer
    """
    origin = told_of(answer.attrs)
    more: tuple[str, ...] = () if answer.low is None else INTERVAL
    more += () if answer.like_best is None else MARKS
    fixed = (*origin, "metric", "aggregate", "system", *answer.labels, "value", "unit", *_COUNTS, *more)
    named = track_columns(answer.groupings, fixed)
    rows: list[tuple[Entry, ...]] = []
    for system, name in enumerate(answer.systems):
        for group in answer.filled:
            own = answer.value[system, group]
            head: tuple[Entry, ...] = (
                *(answer.attrs.get(key, "") for key in origin),
                answer.metric,
                answer.aggregate,
                name,
            )
            lost, many = int(answer.n_missing[system, group]), int(answer.n_tracks[group])
            values: tuple[Entry, ...] = tuple(map(plain_entry, answer.group(group)))
            there = ~np.isnan(own) if answer.is_score else np.nan_to_num(own) != 0
            for place in map(tuple, np.argwhere(there).tolist()):
                labels = (along[at] for along, at in zip(answer.labels.values(), place, strict=True))
                number = int(answer.n_values[system, group][place] if answer.is_score else answer.n[system, group])
                ends = [float(end[system, group][place]) for end in (answer.low, answer.high) if end is not None]
                how = interval_columns(answer.attrs) if ends else ()
                tail: tuple[Entry, ...] = (answer.unit, number, lost, many, answer.attrs["missing"], *ends, *how)
                if answer.like_best is not None:
                    tail += (int(answer.like_best[system, group][place]), *mark_columns(answer.attrs))
                rows.append((*head, *values, *map(str, labels), float(own[place]), *tail))
    return Table((*origin, "metric", "aggregate", "system", *named, *fixed[len(origin) + 3 :]), tuple(rows))


def matrix_tables(
    answer: ExtraAnswer, *, width: int = 120, percent: bool = False, across: str | None = None
) -> list[Table]:
    """Of counts a table for each system and group of tracks, the first extra dim down, the last one across.

    Of scores, and of what lies along one dim, one table, as :func:`mirflow.report.layout.scores_table` lays it out.

    Parameters
    ----------
    answer : ExtraAnswer
    width : int
        Columns of the terminal. What does not fit is added up as ``(rest)``, the largest labels stay.
    percent : bool
        Scores that are ratios as percentages, and counts as shares of their rows: of what the reference says.
    across : {"metric", "system"} or None
        What runs across a table of scores.

    Raises
    ------
    QueryError
        If something is to run across a table of counts, which has a place for each dim.
    """
    if answer.is_score or len(answer.labels) < 2:
        return [scores_table(answer, width=width, percent=percent, across=across)]
    if across is not None:
        raise QueryError(f"pivot {across!r}: {answer.metric} has a table for each system, one dim down and one across")
    places = product(range(len(answer.systems)), answer.filled)
    return [_matrix(answer, system, group, width, percent) for system, group in places]


def _matrix(answer: ExtraAnswer, system: int, group: int, width: int, percent: bool) -> Table:
    values, names = _flat(answer, system, group), list(answer.labels)
    down = _joined([answer.labels[name] for name in names[:-1]])
    across = answer.labels[names[-1]]
    same = down == across
    head = " / ".join(names[:-1]) + (" \\ " if names[1:] else "") + names[-1]
    many = max(len(down), len(across), 1)
    style = "percent" if percent else _style(answer)
    for most in range(many, 0, -1):
        rows, columns = choose_labels(values, most, same)
        table = _fold(values, rows, columns, down, across, head, style)
        if full_width(table) <= width:
            break
    notes = _matrix_notes(answer, system, group, rows, columns)
    if percent:
        notes = (*notes, f"in percent of what each row ({' / '.join(names[:-1])}) adds up to")
    caption = matrix_caption(answer, system, group, _made(answer, group), percent)
    return Table(table.columns, table.rows, _title(answer, system, group, percent), notes, caption=caption)


def _style(answer: ExtraAnswer) -> str:
    """How all entries of a matrix are written."""
    if answer.aggregate != "sum":
        return "figures"
    return "counts" if is_whole(answer) else "seconds"


def _flat(answer: ExtraAnswer, system: int, group: int) -> Float:
    """What is known of a system and a group: the last dim across, all others down."""
    own: Float = answer.value[system, group]
    return own.reshape(int(np.prod(own.shape[:-1])), own.shape[-1])  # which may hold nothing


def _joined(labels: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The labels of the rows: those of a dim, or of the product of several."""
    names: tuple[str, ...] = ("",)
    for along in labels:
        names = tuple(f"{name} / {label}".removeprefix(" / ") for name in names for label in along)
    return names


def choose_labels(values: Float, most: int, same: bool) -> tuple[Int, Int]:
    """The rows and columns to show, in their own order: those that occur, and of many the largest."""
    down, across = np.nan_to_num(values).sum(axis=1), np.nan_to_num(values).sum(axis=0)
    if same:  # the same classes on both sides, so that what is right stands on the diagonal
        down = across = down + across
    return _largest(down, most), _largest(across, most)


def _largest(total: Float, most: int) -> Int:
    first = np.argsort(-total, kind="stable")[:most]
    return np.sort(first[total[first] > 0]).astype(np.int64)


def _fold(
    values: Float, rows: Int, columns: Int, down: Sequence[str], across: Sequence[str], head: str, style: str
) -> Table:
    """The chosen rows and columns, and the sums of the others where these are not 0."""
    shown = with_others(with_others(values, columns).T, rows).T
    labels = [*(down[row] for row in rows.tolist()), REST]
    heads = [*(across[column] for column in columns.tolist()), REST]
    kept = [place for place in range(len(labels)) if labels[place] is not REST or np.nansum(np.abs(shown[place]))]
    used = [place for place in range(len(heads)) if heads[place] is not REST or np.nansum(np.abs(shown[:, place]))]
    if style == "percent":
        whole = np.nansum(shown, axis=1, keepdims=True)
        shown = np.divide(shown, whole, out=np.full_like(shown, np.nan), where=whole > 0)
    body = tuple((labels[row] or "-", *(_show(float(shown[row, column]), style) for column in used)) for row in kept)
    return Table((head, *(heads[place] for place in used)), body)


def with_others(values: Float, columns: Int) -> Float:
    """Some columns, and the sum of all others after them."""
    rest = np.delete(values, columns, axis=1).sum(axis=1, keepdims=True)
    return np.concatenate([values[:, columns], rest], axis=1)


def _show(value: float, style: str) -> str:
    if style in ("figures", "percent") or np.isnan(value):
        return show_figure(value, style == "percent")
    return f"{value:z.0f}" if style == "counts" else f"{value:z.1f}"


def _made(answer: ExtraAnswer, group: int) -> str:
    """What makes a group of tracks."""
    values = zip(answer.groupings, group_labels(answer, group), strict=True)
    return ", ".join(f"{name} {value}" for name, value in values)


def _title(answer: ExtraAnswer, system: int, group: int, percent: bool) -> str:
    made = _made(answer, group)
    unit = f" [{answer.unit}]" if answer.unit and not percent else ""
    whose = f"system {answer.systems[system]}" + (f", {made}" if made else "")
    return f"{title_of(answer.attrs)}, {answer.metric}{unit}, {whose}"


def _matrix_notes(answer: ExtraAnswer, system: int, group: int, rows: Int, columns: Int) -> tuple[str, ...]:
    missing, lost = answer.attrs["missing"], int(answer.n_missing[system, group])
    tracks = f"{answer.n[system, group]} of {counted(int(answer.n_tracks[group]), 'track')}"
    notes = [f"{answer.aggregate}: {DECLARED[answer.aggregate].words}; {tracks}"]
    notes += [f"missing ({missing}): {counted(lost, 'cell')}; {MISSING[missing]}"] if lost else []
    values = np.nan_to_num(_flat(answer, system, group))
    if np.count_nonzero(values.any(axis=1)) > len(rows) or np.count_nonzero(values.any(axis=0)) > len(columns):
        notes.append(f"{REST}: the sum of what does not fit; --format csv or json has every entry")
    return (*notes, *caution_notes(answer.attrs))
