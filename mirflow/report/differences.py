"""Differences of two evaluations as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..analysis.comparison import Difference
from .tables import Entry, Table

_NAMED = 3
_SOME_CELLS = 5


def difference_table(one: Difference, notes: Sequence[str] = ()) -> Table:
    """A row a metric for people, with what has to be known to read it.

    Parameters
    ----------
    one : Difference
    notes : sequence of str
        More lines to stand below.
    """
    worst = {metric: (system, track) for system, track, metric in one.worst(1)}
    rows: list[tuple[Entry, ...]] = []
    alone = (one.missing[0] + one.missing[1]).any()
    for place, name in enumerate(one.metrics):
        system, track = worst.get(place, (None, None))
        at = "-" if system is None or track is None else f"{one.systems[system]}, {one.tracks[track]}"
        rows.append(
            (
                f"{name} [{one.units[place]}]" if one.units[place] else name,
                _percent(float(one.mean_relative[place])),
                _short(float(one.mean_absolute[place])),
                _short(float(one.largest[place])),
                at,
                int(one.n[place]),
                int(one.n_agreeing[place]),
                *((int(one.missing[0][place]), int(one.missing[1][place])) if alone else ()),
            )
        )
    columns = ("metric", "relative change [%]", "mean difference", "largest", "at", "cells", "agree")
    counted = ("missing in a", "missing in b") if alone else ()
    return Table((*columns, *counted), tuple(rows), _title(one), (*_notes(one), *notes))


def difference_long_table(one: Difference) -> Table:
    """A row a metric in full precision; what csv and json hold."""
    figures = ("relative_change", "mean_difference", "max_difference")
    columns = ("a", "b", "metric", "unit", *figures, "n", "n_agreeing", "tolerance", "missing_a", "missing_b")
    rows: list[tuple[Entry, ...]] = [
        (
            *(one.sides[0].label, one.sides[1].label, name, one.units[place]),
            *(float(figure[place]) for figure in (one.mean_relative, one.mean_absolute, one.largest)),
            *(int(one.n[place]), int(one.n_agreeing[place]), float(one.tolerance[place])),
            *(int(count[place]) for count in one.missing),
        )
        for place, name in enumerate(one.metrics)
    ]
    return Table(columns, tuple(rows))


def worst_table(one: Difference, most: int, *, long: bool = False) -> Table:
    """The cells of each metric that differ most among those that do not agree.

    Parameters
    ----------
    one : Difference
    most : int
        How many a metric.
    long : bool
        In full precision, with the two sides' names, as csv and json want it.
    """
    rows: list[tuple[Entry, ...]] = []
    for cell in one.worst(most):
        system, track, metric = cell
        figures = [float(values[cell]) for values in (*one.scores, one.change)]
        names = (one.metrics[metric], one.systems[system], one.tracks[track])
        if long:
            rows.append((one.sides[0].label, one.sides[1].label, *names, *figures))
        else:
            rows.append((*names, *(f"{figure:.6g}" for figure in figures)))
    columns = ("metric", "system", "track", "score_a", "score_b", "difference")
    if long:
        return Table(("a", "b", *columns), tuple(rows))
    return Table(columns, tuple(rows), f"{_title(one)}; the cells that differ most")


def _title(one: Difference) -> str:
    a, b = (side.label for side in one.sides)
    return f"a: {a}; b: {b}"


def _percent(value: float) -> str:
    """A ratio in percent with as many digits as matter, however small it is."""
    return "-" if np.isnan(value) else f"{100 * value:.{4 if value >= 5e-5 or value == 0 else 7}f}"


def _short(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3g}"


def _notes(one: Difference) -> Iterator[str]:
    """How the numbers came about, what is not compared, and what the two sides say differently of themselves."""
    yield "relative change: average of |a - b| / ((|a| + |b|) / 2), 0 where both are 0"
    low, high = float(one.tolerance.min()), float(one.tolerance.max())
    yield f"agree: |a - b| is at most {low:.3g}" + (f" to {high:.3g}, by metric" if high > low else "")
    for what, pair in one.only.items():
        for side, names in zip("ab", pair, strict=True):
            if names:
                yield f"{what} only in {side}: {_some(names)}"
    for mine, other, said in one.akin[:_NAMED]:
        yield f"not compared: {mine} in a and {other} in b differ in {said}; --pair '{mine}={other}' compares them"
    yield from _missing(one)
    yield from _settings(one)
    if one.inputs is not None and (one.inputs.reference or one.inputs.estimate):
        counts = f"references of {one.inputs.reference}, estimates of {one.inputs.estimate}"
        yield f"files with other contents: {counts} of {one.inputs.cells} cells"


def _missing(one: Difference) -> Iterator[str]:
    """Cells of which only one side has a score."""
    has = [~np.isnan(scores) for scores in one.scores]
    for side, lacking in zip("ab", (~has[0] & has[1], has[0] & ~has[1]), strict=True):
        cells = np.argwhere(lacking.any(axis=2))
        if len(cells):
            names = [f"{one.systems[system]}, {one.tracks[track]}" for system, track in cells[:_SOME_CELLS].tolist()]
            more = "; ..." if len(cells) > _SOME_CELLS else ""
            yield f"{len(cells)} cells without a score in {side} alone: {'; '.join(names)}{more}"


def _settings(one: Difference) -> Iterator[str]:
    """What differs; the same difference of several metrics in one line."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for setting in one.settings:
        name, _, metric = setting.name.partition(" of ")
        grouped.setdefault((name, setting.a, setting.b), []).append(metric)
    for (name, a, b), metrics in grouped.items():
        of = f" ({_some(metrics)})" if any(metrics) else ""
        yield f"differs: {name}: {a or 'not said'} in a, {b or 'not said'} in b{of}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
