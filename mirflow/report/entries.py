"""Scores along extra dims as one table for people: systems down, the last dim across."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from ..analysis.across import UNGROUPED, repeats
from ..analysis.extra import ExtraAnswer
from ..analysis.names import AGGREGATES, CLASS_AGGREGATES, MISSING, TABLE_AGGREGATES
from ..errors import counted
from ..ragged import Int
from .layouts import group_labels, interval_note, show_figure, show_interval, title_of
from .notes import count_notes, infinity_notes, nothing_notes, reference_notes
from .tables import Entry, Figure, Table, full_width

Place = tuple[int, ...]

SAID = {**TABLE_AGGREGATES, **AGGREGATES, **CLASS_AGGREGATES}
"""What each aggregate is, for people."""


def scores_table(answer: ExtraAnswer, *, width: int = 120, percent: bool = False) -> Table:
    """A row for each system, group of tracks and label along all extra dims but the last, whose labels run across.

    Parameters
    ----------
    answer : ExtraAnswer
    width : int
        Columns of the terminal; what is wider has a row for each entry instead.
    percent : bool
        Ratios as percentages.
    """
    percent = percent and not answer.unit
    table = _across(answer, percent)
    if len(answer.labels) and full_width(table) > width:
        table = _down(answer, percent)
    unit = f" [{answer.unit}]" if answer.unit else ""
    title = f"{title_of(answer.attrs)}; {answer.metric}{unit}"
    return Table(table.columns, table.rows, title, (*_notes(answer, percent), *table.notes))


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
    last = list(answer.labels[names[-1]]) if names else [answer.metric]
    heads = [label or "(none)" for label in last]
    columns = ("system", *answer.groupings, *names[:-1], *heads, "n")
    return Table(columns, tuple(rows), notes=count_notes(heads, np.array(counts).reshape(-1, len(heads))))


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
        return Figure(f"{value:.0f}")
    shown = show_figure(value, percent)
    ends = show_interval([float(end[place]) for end in (answer.low, answer.high) if end is not None], percent)
    values = np.moveaxis(answer.value, 0, -1)[place[1:]]
    if answer.orientation == "none" or np.count_nonzero(~np.isnan(values)) < 2:
        return Figure(shown, ends)
    best = np.nanmin(values) if answer.orientation == "lower" else np.nanmax(values)
    return Figure(shown, ends, best=shown == show_figure(float(best), percent))


def _notes(answer: ExtraAnswer, percent: bool) -> tuple[str, ...]:
    missing, lost = answer.attrs["missing"], int(answer.n_missing.sum())
    tracks = int(answer.n_tracks.sum()) // repeats(answer.attrs)
    lost, cells = lost // repeats(answer.attrs), tracks * len(answer.systems)
    over = f"in each track {answer.attrs['over'].replace('=', ': ')}; then " if "over" in answer.attrs else ""
    notes = ["numbers are names" if answer.nominal else f"{over}{answer.aggregate}: {SAID[answer.aggregate]}"]
    notes += infinity_notes(answer.value, [answer.aggregate])
    if answer.low is not None:
        notes.append(interval_note(answer.attrs))
    if percent:
        notes.append("ratios in percent")
    told = f"{lost or 'none'} of {counted(cells, 'cell')}" + (f"; {MISSING[missing]}" if lost else "")
    nothing = nothing_notes(answer.attrs, tracks)
    nothing += (answer.attrs[UNGROUPED],) if UNGROUPED in answer.attrs else ()
    nothing += reference_notes(answer.attrs)
    return (*notes, f"missing ({missing}): {told}", *nothing, "n: tracks with a value")
