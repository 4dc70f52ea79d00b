"""Answers about metrics with extra dims as tables: a matrix for people, one row an entry for programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from ..analysis.extra import ExtraAnswer
from ..analysis.names import MISSING, TABLE_AGGREGATES
from ..errors import QueryError, counted
from ..ragged import Float, Int
from .answers import INTERVAL, MARKS, interval_columns, mark_columns, plain_entry, told_of, track_columns
from .captions import matrix_caption
from .entries import is_whole, scores_table
from .layouts import group_labels, show_figure, title_of
from .notes import caution_notes
from .tables import Entry, Table, full_width

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

    Of scores, and of what lies along one dim, one table, as :func:`mirflow.report.entries.scores_table` lays it out.

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
    notes = _notes(answer, system, group, rows, columns)
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


def _notes(answer: ExtraAnswer, system: int, group: int, rows: Int, columns: Int) -> tuple[str, ...]:
    missing, lost = answer.attrs["missing"], int(answer.n_missing[system, group])
    tracks = f"{answer.n[system, group]} of {counted(int(answer.n_tracks[group]), 'track')}"
    notes = [f"{answer.aggregate}: {TABLE_AGGREGATES[answer.aggregate]}; {tracks}"]
    notes += [f"missing ({missing}): {counted(lost, 'cell')}; {MISSING[missing]}"] if lost else []
    values = np.nan_to_num(_flat(answer, system, group))
    if np.count_nonzero(values.any(axis=1)) > len(rows) or np.count_nonzero(values.any(axis=0)) > len(columns):
        notes.append(f"{REST}: the sum of what does not fit; --format csv or json has every entry")
    return (*notes, *caution_notes(answer.attrs))
