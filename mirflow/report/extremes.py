"""The tracks with the worst or the best scores, as tables."""

from __future__ import annotations

import numpy as np

from ..analysis.answer import show_span
from ..analysis.names import MISSING, UNDEFINED
from ..analysis.worst import Extremes
from ..ragged import Float
from .answers import plain_entry, told_of, track_columns
from .layouts import show_figure, title_of
from .notes import caution_notes, nothing_notes
from .tables import Entry, Table

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
