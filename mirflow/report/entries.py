"""Figures along extra dims as one table for people: systems down and the last dim across, or as it fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from ..analysis.across import UNGROUPED, across_of, is_deviation, repeats
from ..analysis.answer import show_span
from ..analysis.extra import ExtraAnswer
from ..analysis.names import AGGREGATES, CLASS_AGGREGATES, MISSING, RATIO_AGGREGATES, TABLE_AGGREGATES
from ..errors import QueryError, counted
from ..ragged import Int
from .captions import figures_caption, plural
from .layouts import group_labels, interval_notes, mark_note, show_figure, show_interval, title_of
from .notes import caution_notes, count_notes, infinity_notes, nothing_notes
from .tables import Entry, Figure, Table, fewest_blocks, full_width

Place = tuple[int, ...]

SAID = {**TABLE_AGGREGATES, **AGGREGATES, **CLASS_AGGREGATES}
"""What each aggregate is, for people."""


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
        table = _systems_across(answer, percent) if across == "system" else _across(answer, percent)
    unit = f" [{answer.unit}]" if answer.unit else ""
    title = f"{title_of(answer.attrs)}; {answer.metric}{unit}"
    caption = figures_caption(answer, percent)
    return replace(table, title=title, notes=(*_notes(answer, percent), *table.notes), caption=caption)


def _that_fits(answer: ExtraAnswer, percent: bool, width: int) -> Table:
    """Labels across, or systems; in blocks of columns, or an entry a row, where a terminal has no room for either."""
    labels_across = _across(answer, percent)
    if not answer.labels or full_width(labels_across) <= width:
        return labels_across
    if len(answer.systems) < 2:
        return _down(answer, percent)
    turned = [] if answer.groupings else [_systems_across(answer, percent)]
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


def _systems_across(answer: ExtraAnswer, percent: bool) -> Table:
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


def _notes(answer: ExtraAnswer, percent: bool) -> tuple[str, ...]:
    missing, lost = answer.attrs["missing"], int(answer.n_missing.sum())
    tracks = int(answer.n_tracks.sum()) // repeats(answer.attrs)
    lost, cells = lost // repeats(answer.attrs), tracks * len(answer.systems)
    over = f"in each track {answer.attrs['over'].replace('=', ': ')}; then " if "over" in answer.attrs else ""
    notes = ["numbers are names" if answer.nominal else f"{over}{answer.aggregate}: {SAID[answer.aggregate]}"]
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
