"""Answers of a store as tables for people, which say what was computed, over what, and under which policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ..analysis.answer import COUNTS, Answer
from ..analysis.names import AGGREGATES, MISSING, UNDEFINED
from ..ragged import Int
from .answers import plain_entry
from .tables import Entry, Table, text_width, to_text

_HEADS = {"n": "n", "n_missing": "missing", "n_undefined": "undefined"}


def readable_table(answer: Answer, *, percent: bool = False, width: int = 120, notes: Sequence[str] = ()) -> Table:
    """A table for people: systems down and metrics across, or turned round where that is too wide.

    Parameters
    ----------
    answer : Answer
    percent : bool
        Ratios as percentages with two decimals, instead of four decimals.
    width : int
        Columns of the terminal.
    notes : sequence of str
        More lines to stand below.
    """
    layouts = [_metrics_across, _metrics_down, _one_value_a_row]
    if answer.groupings:
        layouts.remove(_metrics_down)
    for layout in layouts:
        table = layout(answer, percent)
        if text_width(to_text(table)) <= width:
            break
    return Table(table.columns, table.rows, title_of(answer.attrs), (*_notes(answer, percent), *notes))


def _show(one: Answer, percent: bool, cell: tuple[int, int, int]) -> str:
    value = float(one.value[cell])
    if np.isnan(value):
        return "-"
    return f"{100 * value:.2f}" if percent and not one.units[cell[1]] else f"{value:.4f}"


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


def _span(counts: Int) -> str:
    low, high = int(counts.min(initial=counts.max(initial=0))), int(counts.max(initial=0))
    return str(low) if low == high else f"{low}-{high}"


def _metrics_across(one: Answer, percent: bool) -> Table:
    counted, metrics = _counted(one), range(len(one.metrics))
    rows = [
        (
            *(name, *group_labels(one, group)),
            *(_show(one, percent, (system, metric, group)) for metric in metrics),
            *(_span(one.counts[count][system, :, group]) for count in counted),
        )
        for system, name in enumerate(one.systems)
        for group in one.filled
    ]
    return Table(("system", *one.groupings, *_metric_heads(one), *(_HEADS[name] for name in counted)), tuple(rows))


def _metrics_down(one: Answer, percent: bool) -> Table:
    counted, systems = _counted(one), range(len(one.systems))
    rows = [
        (
            name,
            *(_show(one, percent, (system, metric, 0)) for system in systems),
            *(_span(one.counts[count][:, metric, 0]) for count in counted),
        )
        for metric, name in enumerate(_metric_heads(one))
    ]
    return Table(("metric", *one.systems, *(_HEADS[name] for name in counted)), tuple(rows))


def _one_value_a_row(one: Answer, percent: bool) -> Table:
    counted, heads = _counted(one), _metric_heads(one)
    rows: list[tuple[Entry, ...]] = []
    for cell in one.cells():
        system, metric, group = cell
        counts = (int(one.counts[count][cell]) for count in counted)
        rows.append((heads[metric], one.systems[system], *group_labels(one, group), _show(one, percent, cell), *counts))
    columns = ("metric", "system", *one.groupings, "value", *(_HEADS[name] for name in counted))
    return Table(columns, tuple(rows))


def title_of(attrs: Mapping[str, str]) -> str:
    """Where the numbers of an answer come from."""
    parts = ("task", "convention", "grid")
    described = ", ".join(f"{name} {attrs[name]}" for name in parts if attrs.get(name))
    return f"{attrs['group']}: {described}" if attrs.get("group") else described


def _notes(one: Answer, percent: bool) -> tuple[str, ...]:
    """What has to be known to read the numbers."""
    notes = [f"{kind}: {AGGREGATES[kind]}" for kind in dict.fromkeys(one.aggregates)]
    if percent:
        notes.append("ratios in percent")
    missing, undefined = one.attrs["missing"], one.attrs["undefined"]
    cells = int(one.n_tracks.sum()) * len(one.systems)
    lost, nothing = (_most(one, name) for name in ("n_missing", "n_undefined"))
    notes.append(f"missing ({missing}): {_of(lost, cells)}" + (f"; {MISSING[missing]}" if lost else ""))
    notes.append(f"undefined ({undefined}): {_of(nothing, cells)}" + (f"; {UNDEFINED[undefined]}" if nothing else ""))
    bare = [name for name, least in zip(one.systems, _least_missing(one), strict=True) if least == one.n_tracks.sum()]
    if bare and missing == "common" and len(bare) < len(one.systems):
        notes.append(f"no score at all: {', '.join(bare)}; leave it out with its name, or choose missing: skip")
    if one.attrs["left_out"]:
        notes.append(f"not defined for: {one.attrs['left_out']}")
    return tuple(notes)


def _of(count: int, cells: int) -> str:
    return f"{count} of {cells} cells" if count else f"none of {cells} cells"


def _most(one: Answer, name: str) -> int:
    """A count over the collection for the metric that has most; a sum over metrics would count a cell twice."""
    return int(one.counts[name].sum(axis=(0, 2)).max(initial=0))


def _least_missing(one: Answer) -> list[int]:
    """For each system, how many cells the metric lacks that lacks fewest."""
    if not one.metrics:
        return [0] * len(one.systems)
    return [int(count) for count in one.counts["n_missing"].sum(axis=2).min(axis=1)]
