"""Comparisons of systems as tables."""

from __future__ import annotations

import numpy as np

from ..analysis.aggregate import VALUELESS
from ..analysis.inference import CORRECTIONS, TESTS, Comparison, Friedman
from ..analysis.names import MISSING, say_undefined
from ..ragged import Int
from .answers import NARROWED, ORIGIN, resampled
from .captions import comparison_captions, ranks_captions
from .entries import SAID
from .layouts import show_figure, show_interval, title_of, together
from .notes import caution_notes, few_notes, letters_note
from .tables import Entry, Table

_PAIR = ("difference", "low", "high", "p", "p_adjusted")
_SIZES = ("superiority", "dz", "rank_biserial", "cliffs_delta")


def show_p(p: float) -> str:
    """A p-value for people: four decimals, or its power of ten where these would be zeros."""
    if np.isnan(p):
        return "-"
    return f"{p:.4f}" if p >= 0.0001 or p == 0 else f"{p:.0e}"


def comparison_tables(found: Comparison, *, percent: bool = False) -> list[Table]:
    """For people: for each metric the systems from the best to the worst, and every two of them.

    Parameters
    ----------
    found : Comparison
    percent : bool
        Ratios as percentages.
    """
    return [
        table
        for metric in range(len(found.metrics))
        for table in (_ranking(found, metric, percent), _pairs(found, metric, percent))
    ]


def _title(found: Comparison | Friedman, metric: int) -> str:
    what, unit = f"{found.metrics[metric]}, {found.aggregates[metric]}", found.attrs["unit_of_comparison"]
    if isinstance(found, Friedman):
        # Ranks of single tracks know nothing of the aggregate, and of weights.
        what = f"{found.metrics[metric]}, ranks on each track" if unit == "track" else f"{what} of each {unit}, ranked"
    return f"{title_of(found.attrs)}; {what}"


def _unit(found: Comparison, metric: int) -> str:
    return str(found.metric_coords["unit"][metric])


def _ranking(found: Comparison, metric: int, percent: bool) -> Table:
    names, shown = found.letters[:, metric], percent and not _unit(found, metric)
    rows = tuple(
        (found.systems[place], show_figure(float(found.value[place, metric]), shown), str(names[place]) or "-")
        for place in found.ranked(metric)
    )
    kind = found.aggregates[metric]
    notes = (
        f"{kind}: {SAID[kind]}",
        *(("ratios in percent",) if shown else ()),
        f"group: {letters_note(found, metric)}",
    )
    caption = comparison_captions(found, metric)[0]
    return Table(("system", found.metrics[metric], "group"), rows, _title(found, metric), notes, caption=caption)


def _pairs(found: Comparison, metric: int, percent: bool) -> Table:
    rows: list[tuple[Entry, ...]] = []
    order, arrays, shown = found.ranked(metric), found.arrays, percent and not _unit(found, metric)
    for place, first in enumerate(order):
        for second in order[place + 1 :]:
            cell = (first, second, metric)
            gap = float(arrays["difference"][cell])
            ends = show_interval([float(arrays[end][cell]) for end in ("low", "high")], shown, gap)
            difference = f"{show_figure(gap, shown)} {ends}".strip()
            wins, ties, n = (int(arrays[name][cell]) for name in ("wins", "ties", "n"))
            p = (show_p(float(arrays[name][cell])) for name in ("p", "p_adjusted"))
            counts = (wins, ties, n - wins - ties) if found.unitwise else ()
            rows.append((found.systems[first], found.systems[second], difference, *p, *counts))
    more = ("wins", "ties", "losses") if found.unitwise else ()
    columns = ("system", "other", "difference", "p", "p_corrected", *more)
    caption = comparison_captions(found, metric)[1]
    return Table(columns, tuple(rows), notes=_pair_notes(found, metric), caption=caption)


def _pair_notes(found: Comparison, metric: int) -> tuple[str, ...]:
    attrs, test = found.attrs, found.tests[metric]
    upper = np.triu_indices(len(found.systems), 1)
    counts = found.arrays["n"][..., metric][upper]
    span = found.n_units(metric)
    unit, neither = attrs["unit_of_comparison"], found.orientations[metric] == "none"
    clustered = f", {together(attrs['cluster'])}" if attrs["cluster"] else ""
    level = f"{100 * float(attrs['level']):g} %"
    few = few_notes(found.arrays["difference"][..., metric][upper], found.arrays["low"][..., metric][upper], attrs)
    drawn = f"bootstrap, {attrs['method']}, {attrs['replicates']} replicates"
    undefined = attrs["undefined"]
    policies = f"missing ({attrs['missing']}): {MISSING[attrs['missing']]}"
    if found.unitwise:
        policies += f"; undefined ({undefined}): {say_undefined(undefined, attrs.get(VALUELESS, ''))}"
    better = "has the larger value, equal, the smaller one" if neither else "is better than other, equal, worse"
    return (
        *_nothing(counts),
        f"n: {span} units ({unit}{clustered}); {policies}",
        f"difference: system minus other, with its {level} confidence interval ({drawn})",
        *few,
        f"p: {test}: {TESTS[test]}; corrected: {attrs['correction']}: {CORRECTIONS[attrs['correction']]}",
        *((f"wins, ties, losses: units on which system {better}",) if found.unitwise else ()),
        *caution_notes(attrs),
    )


def _nothing(counts: Int) -> tuple[str, ...]:
    """Why there are dashes only."""
    if counts.any():
        return ()
    return ("no track has a score of two systems, so that nothing can be compared; are the tracks called alike?",)


def comparison_long_table(found: Comparison) -> Table:
    """For programs: a row for every two systems and each metric.

    Parameters
    ----------
    found : Comparison
    """
    told = [name for name in (*ORIGIN, *NARROWED) if name in found.attrs]
    origin = tuple(found.attrs[name] for name in told)
    how = ("method", "correction", "missing", "undefined")
    said: list[Entry] = [float(found.attrs["level"]), *(found.attrs[name] for name in how), resampled(found.attrs)]
    significant = found.significant
    rows: list[tuple[Entry, ...]] = []
    for metric, name in enumerate(found.metrics):
        for first, second in zip(*np.triu_indices(len(found.systems), 1), strict=True):
            cell = (first, second, metric)
            named = (name, found.aggregates[metric], found.systems[first], found.systems[second])
            values = (float(found.value[place, metric]) for place in (first, second))
            floats = {one: float(found.arrays[one][cell]) for one in (*_PAIR, *_SIZES)}
            n, wins, ties = (int(found.arrays[one][cell]) for one in ("n", "wins", "ties"))
            counts: list[Entry] = [n, wins, ties, n - wins - ties] if found.unitwise else [n, None, None, None]
            pair: list[Entry] = [*(floats[one] for one in _PAIR), int(significant[cell]), found.tests[metric]]
            rows.append((*origin, *named, *values, *pair, *counts, *(floats[one] for one in _SIZES), *said))
    columns = (
        *(*told, "metric", "aggregate", "system", "other", "value", "other_value"),
        *(*_PAIR, "significant", "test", "n", "wins", "ties", "losses", *_SIZES, "level", *how, "resampled"),
    )
    return Table(columns, tuple(rows))


def friedman_tables(found: Friedman) -> list[Table]:
    """For people: for each metric the mean ranks, and every two systems as MIREX shows them.

    Parameters
    ----------
    found : Friedman
    """
    tables = []
    for metric in range(len(found.metrics)):
        tables += [_mean_ranks(found, metric), _rank_pairs(found, metric)]
    return tables


def _mean_ranks(found: Friedman, metric: int) -> Table:
    ranks, names = found.ranks, found.letters[:, metric]
    half = float(ranks.critical_difference[metric]) / 2
    rows: list[tuple[Entry, ...]] = []
    for place in found.ranked(metric):
        rank = float(ranks.mean_rank[place, metric])
        rows.append((found.systems[place], rank - half, rank, rank + half, str(names[place]) or "-"))
    n, unit = int(ranks.n[metric]), found.attrs["unit_of_comparison"]
    test = f"chi-square({ranks.dof[metric]}) = {ranks.statistic[metric]:.4f}, p = {show_p(float(ranks.p[metric]))}"
    if not n:
        told = f"no {unit} has a score of every system, so that nothing can be ranked; name fewer systems"
        return Table(("system", "low", "mean_rank", "high", "group"), tuple(rows), _title(found, metric), (told,))
    notes = (
        f"Friedman: {test}, over {n} units ({unit}) that every system has",
        f"critical difference: {ranks.critical_difference[metric]:.4f} (Tukey-Kramer); systems whose intervals "
        "overlap are not told apart; rank 1 is the best",
        f"group: {letters_note(found, metric)}",
        *caution_notes(found.attrs),
    )
    columns, caption = ("system", "low", "mean_rank", "high", "group"), ranks_captions(found, metric)[0]
    return Table(columns, tuple(rows), _title(found, metric), notes, caption=caption)


def _rank_pairs(found: Friedman, metric: int) -> Table:
    order, difference = found.ranked(metric), found.rank_difference
    critical, significant = float(found.ranks.critical_difference[metric]), found.significant
    rows: list[tuple[Entry, ...]] = []
    for place, first in enumerate(order):
        for second in order[place + 1 :]:
            gap = float(difference[second, first, metric])
            p = show_p(float(found.ranks.p_pair[first, second, metric]))
            differs = "yes" if significant[first, second, metric] else "no"
            rows.append((found.systems[first], found.systems[second], gap - critical, gap, gap + critical, p, differs))
    columns = ("system", "other", "low", "mean", "high", "p", "differ")
    return Table(columns, tuple(rows), caption=ranks_captions(found, metric)[1])


def friedman_long_table(found: Friedman) -> Table:
    """For programs: a row for every two systems and each metric.

    Parameters
    ----------
    found : Friedman
    """
    told = [name for name in (*ORIGIN, *NARROWED) if name in found.attrs]
    origin, ranks = tuple(found.attrs[name] for name in told), found.ranks
    difference, significant = found.rank_difference, found.significant
    alone = ("statistic", "p", "f_statistic", "f_p", "concordance", "critical_difference")
    how = ("missing", "undefined", "unit_of_comparison")
    said: list[Entry] = [float(found.attrs["level"]), *(found.attrs[one] for one in how)]
    rows: list[tuple[Entry, ...]] = []
    for metric, name in enumerate(found.metrics):
        whole = (*(float(getattr(ranks, one)[metric]) for one in alone), int(ranks.dof[metric]), int(ranks.n[metric]))
        critical = float(ranks.critical_difference[metric])
        for first, second in zip(*np.triu_indices(len(found.systems), 1), strict=True):
            gap = float(difference[first, second, metric])
            means = (float(ranks.mean_rank[place, metric]) for place in (first, second))
            named = (name, found.aggregates[metric], found.systems[first], found.systems[second])
            pair = (gap, gap - critical, gap + critical, float(ranks.p_pair[first, second, metric]))
            rows.append((*origin, *named, *means, *pair, int(significant[first, second, metric]), *whole, *said))
    pair_columns = ("rank_difference", "rank_low", "rank_high", "p_pair", "significant")
    columns = (
        *(*told, "metric", "aggregate", "system", "other", "mean_rank", "other_mean_rank"),
        *(*pair_columns, *alone, "dof", "n", "level", *how),
    )
    return Table(columns, tuple(rows))
