"""The table of a campaign: one figure for each evaluation and system, as MIREX sums up its years."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..analysis.answer import Answer, show_span
from ..analysis.names import AGGREGATES, MISSING
from ..ragged import Float
from .layouts import Figures, group_labels, interval_notes, mark_note
from .notes import caution_notes
from .tables import Entry, Table

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
        f"{kind}: {AGGREGATES[kind]}" for kind in dict.fromkeys(kind for one in answers for kind in one.aggregates)
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
    figures, place = Figures(one, percent), {name: place for place, name in enumerate(one.systems)}
    unit = f" [{one.units[0]}]" if one.units[0] else ""
    rows: list[tuple[Entry, ...]] = []
    for group in one.filled:
        shown = (figures[place[name], 0, group] if name in place else None for name in systems)
        counted = (show_span(one.counts[name][:, 0, group]) for name in ("n", *(["n_missing"] if lost else [])))
        named = (one.attrs.get("group", ""), one.metrics[0] + unit, one.aggregates[0])
        rows.append((*named, *group_labels(one, group), *shown, *counted))
    return rows
