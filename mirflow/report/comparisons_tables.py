"""Comparisons of systems, agreement of rankings and differences of evaluations as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..analysis.aggregation import VALUELESS
from ..analysis.differences import Difference
from ..analysis.inference import CORRECTIONS, TESTS, Comparison, Friedman
from ..analysis.inference.metric_agreement import BETWEEN, MetricAgreement
from ..analysis.policies import MISSING, say_undefined
from ..metrics.aggregates import DECLARED
from ..ragged import Int
from .captions import caution_notes, comparison_captions, few_notes, letters_note, ranks_captions
from .layout import NARROWED, ORIGIN, resampled, show_figure, show_interval, title_of, together
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


def _comparison_title(found: Comparison | Friedman, metric: int) -> str:
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
        f"{kind}: {DECLARED[kind].words}",
        *(("ratios in percent",) if shown else ()),
        f"group: {letters_note(found, metric)}",
    )
    caption = comparison_captions(found, metric)[0]
    return Table(
        ("system", found.metrics[metric], "group"), rows, _comparison_title(found, metric), notes, caption=caption
    )


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
        return Table(
            ("system", "low", "mean_rank", "high", "group"), tuple(rows), _comparison_title(found, metric), (told,)
        )
    notes = (
        f"Friedman: {test}, over {n} units ({unit}) that every system has",
        f"critical difference: {ranks.critical_difference[metric]:.4f} (Tukey-Kramer); systems whose intervals "
        "overlap are not told apart; rank 1 is the best",
        f"group: {letters_note(found, metric)}",
        *caution_notes(found.attrs),
    )
    columns, caption = ("system", "low", "mean_rank", "high", "group"), ranks_captions(found, metric)[0]
    return Table(columns, tuple(rows), _comparison_title(found, metric), notes, caption=caption)


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


def agreement_table(found: MetricAgreement) -> Table:
    """For people: tau of every two metrics, annotators or systems.

    Parameters
    ----------
    found : MetricAgreement
    """
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (name, *(show_figure(value, False) for value in row))
        for name, row in zip(found.names, found.tau.tolist(), strict=True)
    )
    ranked, between = BETWEEN[found.between], found.between
    pairs = found.n[np.triu_indices(len(found.names), 1)]
    counts = sorted({int(pairs.min()), int(pairs.max())}) if pairs.size else []
    of = "" if between == "metric" else f" by {found.metrics[0]}"
    of += f", {found.aggregates[0]}" if between == "annotator" else ""
    undefined = found.attrs["undefined"]
    notes = (
        f"Kendall's tau-b of the rankings of the {ranked}: 1 the same order, -1 the reverse one",
        *((f"n: {'-'.join(map(str, counts))} {ranked}",) if counts else ()),
        f"missing ({found.attrs['missing']}): {MISSING[found.attrs['missing']]}; "
        f"undefined ({undefined}): {say_undefined(undefined, found.attrs.get(VALUELESS, ''))}",
        *caution_notes(found.attrs),
    )
    title = f"{title_of(found.attrs)}; agreement of {between}s{of}"
    return Table((between, *found.names), rows, title, notes, keys=1)


def agreement_long_table(found: MetricAgreement) -> Table:
    """For programs: a row for every two metrics, annotators or systems.

    Parameters
    ----------
    found : MetricAgreement
    """
    told = [name for name in (*ORIGIN, *NARROWED) if name in found.attrs]
    about = () if found.between == "metric" else ("metric", "aggregate")
    of = (*(found.attrs[name] for name in told), *((found.metrics[0], found.aggregates[0]) if about else ()))
    how = ("missing", "undefined")
    rows: list[tuple[Entry, ...]] = []
    for one, other in zip(*np.triu_indices(len(found.names), 1), strict=True):
        values = (float(found.tau[one, other]), float(found.p[one, other]), int(found.n[one, other]))
        rows.append((*of, found.names[one], found.names[other], *values, *(found.attrs[name] for name in how)))
    return Table((*told, *about, found.between, "other", "tau", "p", "n", *how), tuple(rows))


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
    return Table((*columns, *counted), tuple(rows), _difference_title(one), (*_notes(one), *notes))


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
    return Table(columns, tuple(rows), f"{_difference_title(one)}; the cells that differ most")


def _difference_title(one: Difference) -> str:
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
        yield f"differs: {name}: {a or 'not given'} in a, {b or 'not given'} in b{of}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
