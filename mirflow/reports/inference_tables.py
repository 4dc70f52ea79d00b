"""Ranks, plans, oracles, overlaps of systems, correlations with covariates, and agreement of rankings as tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.aggregation import ranked
from ..analysis.inference.correlations import BETWEEN, OTHERS
from ..analysis.query_options import say_intervals, say_level, say_test
from ..errors import counted
from ..metrics.aggregates import DECLARED
from .captions import caution_notes, few_notes, missing_note, ranks_note, say_units, title_in, undefined_note
from .comparisons_tables import comparison_title, listed_pairs, pairs_note
from .layout import show_interval, show_value, title_of, together
from .tables import Table

if TYPE_CHECKING:
    import xarray as xr

_MATRIX = 12
"""Systems up to which a table lists the chances of each being better than each other one."""


def rank_tables(ds: xr.Dataset, *, percent: bool = False, ranked: bool = True) -> list[Table]:
    """For people: for each metric the systems, and how sure it is that each is better than each other one.

    `percent`: ratios as percentages. `ranked`: whether the best system comes first; else the systems have the order of
    the dataset.
    """
    tables, names, attrs = [], ds["system"].values.tolist(), ds.attrs
    for metric, unit in enumerate(ds["unit"].values.tolist()):
        rank, value, low, high, first = (
            ds[name].values[:, metric] for name in ("rank", "value", "rank_low", "rank_high", "first")
        )
        order = np.argsort(rank, kind="stable").tolist() if ranked else list(range(len(rank)))
        in_percent = percent and not unit
        rows = tuple(
            (names[at], show_value(value[at], in_percent), show_ranks(low[at], high[at]), share)
            for at, share in zip(order, show_shares(first[order].tolist()), strict=True)
        )
        kind, name = (str(ds[one].values[metric]) for one in ("aggregate", "metric"))
        clustered = f", {together(attrs['cluster'])}" if attrs["cluster"] else ""
        drawn = f"{attrs['replicates']} bootstrap replicates over {say_units(attrs['unit_of_comparison'])}{clustered}"
        notes = (
            f"{kind}: {DECLARED[kind].words}",
            *(("ratios in percent",) if in_percent else ()),
            f"rank: {ranks_note(ds, metric)}",
            f"first: share of {drawn} in which the system is the best",
            f"{missing_note(attrs)}; {undefined_note(attrs)}",
            *caution_notes(attrs),
        )
        columns, title = ("system", name, "rank", "first"), comparison_title(ds, metric)
        tables.append(Table(columns, rows, title, notes, titles=partial(dict, {name: title_in(ds, metric)})))
        if len(order) <= _MATRIX and not np.isnan(first).all():
            better = ds["better"].values[..., metric]
            shown = np.full(better.shape, "-", dtype=object)
            for index, at in enumerate(order):
                for other in order[index + 1 :]:
                    shown[at, other], shown[other, at] = show_shares([better[at, other], better[other, at]])
            rows = tuple((names[at], *(str(shown[at, other]) for other in order)) for at in order)
            note = "share of the replicates in which the system of the row is better than that of the column"
            tables.append(Table(("better", *(names[at] for at in order)), rows, notes=(note,), keys=1))
    return tables


def show_ranks(low: float, high: float) -> str:
    """Format an interval of ranks for people."""
    if np.isnan(low):
        return "-"
    return f"{low:.0f}" if low == high else f"{low:.0f}-{high:.0f}"


def show_shares(shares: Sequence[float]) -> list[str]:
    """Format shares of replicates for people, with the digits that thousands of them settle.

    Shares that sum to one are printed so: those that are rounded down by most are rounded up.

    Examples
    --------
    >>> show_shares([0.5849, 0.4151]), show_shares([0.585, 0.415]), show_shares([1 / 3, 1 / 3, 1 / 3])
    (['0.58', '0.42'], ['0.59', '0.41'], ['0.34', '0.33', '0.33'])
    >>> show_shares([float("nan"), 0.4])
    ['-', '0.40']
    """
    values = np.asarray(shares, dtype=np.float64)
    if np.isnan(values).any() or not np.isclose(values.sum(), 1.0, rtol=0, atol=1e-9):
        return ["-" if np.isnan(share) else f"{share:.2f}" for share in values]
    hundredths = np.round(100 * values, 9)  # 0.29 is 28.999999999999996 hundredths
    whole = np.floor(hundredths)
    order = np.argsort(whole - hundredths, kind="stable")
    whole[order[: round(100 - whole.sum())]] += 1
    return [f"{share / 100:.2f}" for share in whole]


def plan_table(ds: xr.Dataset, metric: int, *, percent: bool = False, all_pairs: bool = False) -> Table:
    """For people: what the tracks of a collection can show about every two systems, or the best and each other one.

    Where the effort was asked for, the variance components of the difference, and how many tracks are needed with so
    many annotators of each. `percent`: ratios as percentages.
    """
    attrs, names, effort = ds.attrs, ds["system"].values.tolist(), "needed_with" in ds
    in_percent = percent and not ds["unit"].values[metric]
    if effort:
        parts = [np.sqrt(ds[f"{part}_variance"].values[..., metric]) for part in _PARTS]
        needed, counts = ds["needed_with"].values[:, :, metric], list(map(str, ds["annotators"].values.tolist()))
    else:
        parts = [ds[name].values[..., metric] for name in ("error", "resolution")]
        needed = ds["needed"].values[..., metric, np.newaxis]
        counts = ["tracks" if attrs["unit_of_comparison"] == "track" else attrs["unit_of_comparison"]]
    order = ranked(ds["value"].values[:, metric], str(ds["orientation"].values[metric]))
    shown = [ds["difference"].values[..., metric], *parts]
    rows = tuple(
        (
            *(names[first], names[second]),
            *(show_value(float(one[first, second]), in_percent) for one in shown),
            *("-" if np.isnan(count) else f"{count:,.0f}" for count in needed[first, second].tolist()),
        )
        for first, second in listed_pairs(order, all_pairs)
    )
    test = f"{say_test(attrs['test'], attrs['correction'])}, {counted(len(names), 'system')}"
    chance, wanted = f"with a probability of {float(attrs['power']):g}", attrs["wanted"]
    show = f"a difference of {show_value(float(wanted), in_percent)}" if wanted else "this difference"
    if effort:
        about = [
            f"{', '.join(_PARTS)}: standard deviations of the difference on one track against one annotator",
            f"{', '.join(counts)}: so many tracks show {show} {chance}, if each has so many annotators, other ones "
            f"than other tracks ({test})",
        ]
    else:
        about = [
            f"error: standard error of the difference, by {attrs['replicates']} bootstrap replicates",
            f"resolution: smallest true difference that these {ds['n'].values[metric]} {counts[0]} show at "
            f"{1 - float(attrs['level']):.3g} {chance} ({test})",
            f"{counts[0]}: so many show {show}{'' if wanted else ', if it is the true one,'} {chance}",
        ]
    notes = (
        *about,
        *(("ratios in percent",) if in_percent else ()),
        *pairs_note(names, order, all_pairs),
        *caution_notes(attrs),
    )
    columns = ("system", "other", "difference", *(_PARTS if effort else ("error", "resolution")), *counts)
    return Table(columns, rows, comparison_title(ds, metric), notes, keys=2)


_PARTS = ("track", "annotator", "residual")
"""Variance components."""


def oracle_tables(ds: xr.Dataset, *, percent: bool = False) -> list[Table]:
    """For people: for each metric the systems in the order in which they add most, and the gain of them all."""
    attrs, tables, names = ds.attrs, [], ds["system"].values.tolist()
    clustered = f", {together(attrs['cluster'])}" if attrs["cluster"] else ""
    for metric, (name, kind) in enumerate(zip(ds["metric"].values, ds["aggregate"].values, strict=True)):
        in_percent = percent and not ds["unit"].values[metric]
        value, best_on, step, added = (ds[one].values[:, metric] for one in ("value", "best_on", "step", "together"))
        order = np.argsort(np.where(step == 0, len(names) + 1, step), kind="stable").tolist()
        rows = tuple(
            (
                int(step[at]) or "-",
                names[at],
                show_value(value[at], in_percent),
                "-" if np.isnan(best_on[at]) else f"{best_on[at]:.1f}",
                show_value(added[at], in_percent),
            )
            for at in order
        )
        gain, low, high = (float(ds[one].values[metric]) for one in ("gain", "low", "high"))
        shown = f"{show_value(gain, in_percent)} {show_interval((low, high), in_percent, gain)}".strip()
        notes = (
            f"{kind}: {DECLARED[kind].words}",
            *(("ratios in percent",) if in_percent else ()),
            f"oracle: the best of {len(names)} systems on each track, "
            f"{show_value(float(ds['oracle'].values[metric]), in_percent)}; better than {names[order[0]]} by {shown}",
            f"[ ]: {say_level(attrs['level'])} confidence interval, {say_intervals(attrs, 'tracks')}{clustered}",
            f"best on: so many of {ds['n'].values[metric]} tracks, ties in equal parts; together: the best, on each "
            "track, of the systems up to this row, the next one being that which adds most",
            f"{missing_note(attrs)}; {undefined_note(attrs)}",
            *caution_notes(attrs),
        )
        columns = ("step", "system", str(name), "best on", "together")
        title = f"{title_of(attrs)}; systems combined by {name}, {kind}"
        tables.append(Table(columns, rows, title, notes, titles=partial(dict, {str(name): title_in(ds, metric)})))
    return tables


def correlation_tables(ds: xr.Dataset) -> list[Table]:
    """For people: for each metric the correlation of each system's scores with a covariate of the tracks."""
    attrs, tables = ds.attrs, []
    covariate, level = attrs["covariate"], say_level(attrs["level"])
    what = "the mean score of all other systems" if covariate == OTHERS else covariate
    clustered = f", {together(attrs['cluster'])}" if attrs["cluster"] else ""
    for metric, name in enumerate(ds["metric"].values.tolist()):
        r, low, high, tau, n = (ds[one].values[:, metric] for one in ("r", "low", "high", "tau", "n"))
        rows = tuple(
            (
                system,
                f"{show_value(r[at], False)} {show_interval((low[at], high[at]), False, r[at])}".strip(),
                *(show_value(tau[at], False), int(n[at])),
            )
            for at, system in enumerate(ds["system"].values.tolist())
        )
        notes = (
            f"r: Pearson's correlation with {what}, each track counted once",
            f"[ ]: {level} confidence interval, {say_intervals(attrs, 'tracks')}{clustered}",
            "tau: Kendall's tau-b",
            *few_notes(r, low, attrs),
            f"{missing_note(attrs)}; {undefined_note(attrs)}",
            *caution_notes(attrs),
        )
        title = f"{title_of(attrs)}; {name} against {covariate}"
        tables.append(Table(("system", "r", "tau", "n"), rows, title, notes))
    return tables


def overlap_table(ds: xr.Dataset, *, percent: bool = False) -> Table:
    """For people: a row for the estimates of each system, a column for each one that is the reference."""
    attrs, names = ds.attrs, ds["system"].values.tolist()
    percent = percent and not attrs["unit"]
    rows = tuple(
        (name, *("-" if at == other else show_value(value, percent) for other, value in enumerate(row)))
        for at, (name, row) in enumerate(zip(names, ds["value"].values.tolist(), strict=True))
    )
    n = ds["n"].values[~np.eye(len(names), dtype=np.bool_)]
    counts = sorted({int(n.min()), int(n.max())}) if n.size else []
    notes = (
        "rows: the estimates of a system; columns: the system whose estimates are the reference",
        f"{attrs['aggregate']}: {DECLARED[attrs['aggregate']].words}",
        *(("ratios in percent",) if percent else ()),
        f"n: {'-'.join(map(str, counts))} tracks that both systems have",
        *caution_notes(attrs),
    )
    title = f"{title_of(attrs)}; overlaps of systems by {attrs['metric']}"
    return Table(("system", *names), rows, title, notes, keys=1)


def agreement_table(ds: xr.Dataset) -> Table:
    """For people: tau of every two metrics, annotators or systems."""
    between, attrs = str(ds["tau"].dims[0]), ds.attrs
    names, ranked = ds[between].values.tolist(), BETWEEN[between]
    ends = [ds[name].values for name in ("low", "high") if name in ds]
    shown = np.empty(ds["tau"].shape, dtype=object)
    for (row, column), value in np.ndenumerate(ds["tau"].values):
        interval = [float(end[row, column]) for end in ends] if row != column else []
        shown[row, column] = f"{show_value(value, False)} {show_interval(interval, False, value)}".strip()
    rows = tuple((name, *shown[row]) for row, name in enumerate(names))
    pairs = np.triu_indices(len(names), 1)
    numbers = ds["n"].values[pairs]
    counts = sorted({int(numbers.min()), int(numbers.max())}) if numbers.size else []
    of = "" if between == "metric" else f" by {attrs['metric']}"
    of += f", {attrs['aggregate']}" if between == "annotator" else ""
    notes = (
        f"Kendall's tau-b of the rankings of the {ranked}: 1 the same order, -1 the reverse one",
        *((f"n: {'-'.join(map(str, counts))} {ranked}",) if counts else ()),
        *((f"[ ]: {say_level(attrs['level'])} interval, {say_intervals(attrs, 'tracks')}",) if ends else ()),
        *(few_notes(ds["tau"].values[pairs], ends[0][pairs], attrs) if ends else ()),
        f"{missing_note(attrs)}; {undefined_note(attrs)}",
        *caution_notes(attrs),
    )
    title = f"{title_of(attrs)}; agreement of {between}s{of}"
    return Table((between, *names), rows, title, notes, keys=1)
