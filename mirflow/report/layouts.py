"""Answers of a store as tables for people, which say what was computed, over what, and under which policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from ..analysis.across import UNGROUPED, is_deviation, repeats
from ..analysis.aggregate import VALUELESS
from ..analysis.answer import COUNTS, EVERY, UNTESTED, Answer, show_span
from ..analysis.names import AGGREGATES, MISSING, say_test, say_undefined
from ..errors import QueryError, counted
from ..ragged import Float
from .answers import plain_entry
from .captions import caption_of
from .notes import NO_INTERVAL, caution_notes, count_notes, few_notes, infinity_notes, nothing_notes, unit_notes
from .tables import MARK, Entry, Figure, Table, fewest_blocks

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
    figures = Figures(answer, percent)
    if across is not None:
        if across == "group" and not answer.groupings:
            raise QueryError("pivot 'group': nothing is grouped; say by which coordinate (by, --by)")
        table = {"metric": _metrics_across, "system": _systems_across, "group": _groups_across}[across](answer, figures)
    else:
        wide = (_metrics_across(answer, figures), _systems_across(answer, figures))
        table = fewest_blocks(wide, width) or _one_value_a_row(answer, figures)
    below = (*_notes(answer, percent), *table.notes, *notes)
    return replace(table, title=title_of(answer.attrs), notes=below, caption=caption_of(answer, percent))


class Figures:
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


def _metrics_across(one: Answer, figures: Figures) -> Table:
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


def _systems_across(one: Answer, figures: Figures) -> Table:
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


def _groups_across(one: Answer, figures: Figures) -> Table:
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


def _one_value_a_row(one: Answer, figures: Figures) -> Table:
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
    notes = [f"{kind}: {AGGREGATES[kind]}" for kind in dict.fromkeys(one.aggregates)]
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
