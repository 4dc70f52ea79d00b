"""Results of queries as tables for people, with their notes, and as long or wide tables for programs.

Counts along two dims or more, such as a confusion, are a matrix for each system, in which labels without room are added
up. The formats of values and of intervals, and the notes on both, are used by other tables, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..analysis.aggregation import COUNTS, EVERY, UNTESTED
from ..analysis.dims import EACH, GROUPED, RUN, RUNS
from ..analysis.queries import UNGROUPED, across_of
from ..analysis.query_options import say_intervals, say_level, say_test
from ..analysis.scores import ResultInMemory, Results, coordinate_columns, names_of, show_span
from ..analysis.selection import EMPTY_COUNTED
from ..analysis.signatures import Signature
from ..errors import QueryError, counted
from ..kernels.ratios import divide
from ..metrics.aggregates import CLASS_AGGREGATES, DECLARED, RATIO_AGGREGATES
from ..metrics.base import chosen_grid
from ..ragged import Bool, Float, Int
from ..store.format import REFERENCES_DIFFER, WARNINGS
from .captions import (
    CHOSEN,
    NO_INTERVAL,
    caption_of,
    caution_notes,
    count_notes,
    few_notes,
    matrix_caption,
    missing_note,
    nothing_note,
    plural,
    titles_of,
    undefined_note,
)
from .results import INTERVAL, MARKS, NARROWED, ORIGIN, axes_of, column_of, is_whole, values_of
from .signed_numbers import SIGNATURE, Names, Signing
from .tables import MARK, Entry, ShownValue, Table, blocks_of, full_width, plain_entry, table_of

if TYPE_CHECKING:
    import xarray as xr

NOTHING_GROUPED = "pivot 'group': nothing is grouped; say by which coordinate (by, --by)"


def long_table(ds: xr.Dataset, signatures: Callable[[], Sequence[Signature]] | None = None) -> Table:
    """Give each value a row with everything needed to read it alone, as csv and json hold it.

    Of counts those that are not 0 have a row, of scores along extra dims those with a value. With `signatures`, a
    function that gives those of the result, each row has the signature of its metric.
    """
    attrs, has_dims = ds.attrs, "metric" in ds.attrs
    groupings = [str(dim) for dim in ds["n_tracks"].dims]
    labels = [str(dim) for dim in ds["value"].dims if dim not in ("system", "metric", *groupings)]
    adds_up = has_dims and attrs["orientation"] == "none" and "nominal" not in attrs
    if has_dims and not adds_up:
        ds = ds.drop_vars("n").rename(n_values="n")
    counts = [name for name in (*COUNTS, "n_empty", "n_tracks") if name in ds]
    policies = [name for name in ("missing", "undefined") if name in attrs]
    ends, marks = INTERVAL if "low" in ds else (), MARKS if "like_best" in ds else ()
    head = [*origin_names(attrs), "metric", "aggregate", "system"]
    tail = [*labels, "value", "unit", *counts, *policies, *ends, *marks]
    named = coordinate_columns(groupings, (*ORIGIN, *NARROWED, *head, *tail, *INTERVAL, *MARKS))
    fixed: dict[str, Entry] = {name: attrs.get(name, "") for name in (*head, *tail)}
    fixed |= {"unit": ds["value"].attrs.get("units", "")}
    fixed |= {"resampled": resampled(attrs), "replicates": int(attrs.get("replicates", 0))}
    fixed |= {name: float(attrs.get(name, "nan")) for name in ("level", "test_level")}
    ds = ds.rename(dict(zip(groupings, named, strict=True)))
    order = ["system", *named, *labels] if has_dims else ["metric", "system", *named]
    about = [] if has_dims else ["unit", "aggregate"]  # parameters of metrics may have the names of other columns
    kept = [*about, *(name for name in tail if name in ds.data_vars)]
    frame = ds.reset_coords(about)[kept].reset_coords(drop=True).to_dataframe(order).reset_index()
    there = frame["n_tracks"] > 0 if groupings else frame["n_tracks"] == frame["n_tracks"]
    if has_dims:
        there &= frame["value"].fillna(0) != 0 if adds_up else frame["value"].notna()
    table = table_of(frame[there], (*head, *named, *tail), fixed, named)
    if signatures is None:
        return table
    texts = {metric: str(one) for one in signatures() for metric in one.metrics}
    place = table.columns.index("metric")
    rows = tuple((*row, texts.get(str(row[place]), "")) for row in table.rows)
    return Table((*table.columns, SIGNATURE), rows)


def wide_table(ds: xr.Dataset, across: str) -> Table:
    """Give systems, metrics or groups a column each, in full precision, as statistical programs and spreadsheets read.

    `across` ({"system", "metric", "group"}): what runs across: of scores along extra dims ``metric`` are the labels of
    the last one.
    """
    long = long_table(ds)
    if {INTERVAL[0], MARKS[0]} & set(long.columns):
        raise QueryError(f"pivot {across!r}: intervals and marks already have columns; leave out one of both")
    before = long.columns[: long.columns.index("value")]
    labels = [str(dim) for dim in ds["value"].dims if dim not in ("system", "metric", *ds["n_tracks"].dims)]
    groupings = before[before.index("system") + 1 : len(before) - len(labels)]
    if across == "group" and not groupings:
        raise QueryError(NOTHING_GROUPED)
    spread = {"system": ["system"], "group": [*groupings], "metric": labels[-1:] or ["metric"]}[across]
    of_metrics = ["aggregate", "unit"] if spread == ["metric"] else []
    kept = [name for name in (*before, "unit") if name not in (*spread, *of_metrics)]
    rows: dict[tuple[Entry, ...], dict[str, Entry]] = {}
    for row in long.rows:
        entries = dict(zip(long.columns, row, strict=True))
        name = ", ".join(group_labels([entries[one] for one in spread]))
        rows.setdefault(tuple(entries[one] for one in kept), {})[name] = entries["value"]
    names = list(dict.fromkeys(name for own in rows.values() for name in own))
    twice = next((name for name in names if name in kept), None)
    if twice is not None:
        raise QueryError(f"pivot {across!r}: {twice!r} is the name of another column, too; leave out the pivot")
    return Table((*kept, *names), tuple((*key, *map(own.get, names)) for key, own in rows.items()))


def origin_names(attrs: Mapping[str, Any]) -> list[str]:
    """Names of the attributes that describe the origin of numbers: the group, if any, and the selections."""
    fixed = [name for name in ORIGIN if name != "group" or name in attrs]
    return [*fixed, *(name for name in NARROWED if name in attrs)]


def resampled(attrs: Mapping[str, Any]) -> str:
    """Units of resampling: tracks, the values of a coordinate, or clusters of tracks."""
    return str(attrs.get("cluster") or attrs.get("unit") or attrs.get("unit_of_comparison", "track"))


def readable_tables(
    ds: Results,
    *,
    percent: bool = False,
    width: int = 120,
    notes: Sequence[str] = (),
    across: str | None = None,
    signatures: Callable[[], Sequence[Signature]] | None = None,
) -> list[Table]:
    """Lay out the result of a query for people.

    Metrics with one number per track, and scores along extra dims, make one table: systems down, metrics or the
    labels of the last dim across; turned round where that is too wide, and with a row for each value where both are. Of
    counts each system and group of tracks has a table, the last dim across.

    `percent`: ratios as percentages with two decimals, instead of four decimals; counts as shares of their rows.
    `across` ({"metric", "system", "group"} or None): what runs across; None: what fits. `signatures`: gives the
    signatures of the result, for files.
    """
    attrs, has_dims, axes = ds.attrs, "metric" in ds.attrs, axes_of(ds)
    # Of counts and seconds, those that are 0 do not occur.
    if has_dims and len(axes.labels) > 1 and attrs["orientation"] == "none" and "nominal" not in attrs:
        if across is not None:
            whose = f"{attrs['metric']} has a table for each system, one dim down and one across"
            raise QueryError(f"pivot {across!r}: {whose}")
        places = product(range(len(names_of(ds, "system"))), range(len(axes.groups)))
        return [_matrix(ds, system, group, width, percent) for system, group in places]
    if across == "group" and has_dims:
        named = attrs["metric"]
        raise QueryError(f"pivot 'group': of {named} the labels run across, or the systems (pivot system)")
    if across == "group" and not ds["n_tracks"].dims:
        raise QueryError(NOTHING_GROUPED)
    unit = ds["value"].attrs.get("units", "") if has_dims else ""
    percent = percent and not unit
    cells, last = show_values(ds, percent), list(axes.labels)[-1]
    if "across" in attrs:
        ds, cells = with_deviations(ds, cells)
    table = _lay_out(ds, cells, last if across in ("metric", None) else across)
    # Metrics or labels across, or systems; a value a row where a terminal has no room for either.
    if across is None and (
        full_width(table) > width if has_dims and last else not has_dims and len(blocks_of(table, width)) > 1
    ):
        ways = [table] if not has_dims or len(cells) > 1 else []
        if ways and not (has_dims and ds["n_tracks"].dims):
            ways.insert(0 if has_dims else 1, _lay_out(ds, cells, "system"))
        # The one of the fewest blocks, then the fewest lines; none where every block would hold about one column.
        blocks = [len(blocks_of(way, width)) for way in ways]
        sizes = [(count, count * len(way.rows) * (count > 1)) for count, way in zip(blocks, ways, strict=True)]
        best = sizes.index(min(sizes)) if ways else 0
        fits = ways and blocks[best] <= max(2, (len(ways[best].columns) - ways[best].keys) / 2)
        table = ways[best] if fits else _lay_out(ds, cells, None)
    title = title_of(attrs)
    if has_dims:
        title += f"; {attrs['metric']}{f' [{unit}]' if unit else ''}"
    below = (*_notes(ds, percent), *table.notes, *notes)
    caption = partial(caption_of, ds, percent)
    assert table.signing is not None
    signing = None if signatures is None else replace(table.signing, signatures=signatures)
    titles = dict if has_dims else partial(titles_of, axes.metrics, column_of(ds, "title"))
    return [replace(table, title=title, notes=below, caption=caption, titles=titles, signing=signing)]


def show_values(ds: Results, percent: bool) -> npt.NDArray[Any]:
    """Format the values of a result: :class:`mirflow.reports.tables.ShownValue` (systems, groups, ...)."""
    value = values_of(ds)
    ends = [values_of(ds, name) for name in ("low", "high") if name in ds]
    cells = np.empty(value.shape, dtype=object)
    # The best value of all systems; none where there are not two, or neither high nor low ones are better.
    known, ways = ~np.isnan(value), np.array(column_of(ds, "orientation"))
    lowest = np.where(known, value, np.inf).min(axis=0, initial=np.inf)
    largest = np.where(known, value, -np.inf).max(axis=0, initial=-np.inf)
    best: Float = np.where(ways == "lower", lowest, largest)
    best[(known.sum(axis=0) < 2) | (ways == "none")] = np.nan
    if "across" in ds.attrs:  # no deviation across groups is the best one
        axes = axes_of(ds)
        for dim, names in across_of(ds.attrs).items():
            if "std" in names and dim in axes.groupings:
                best[[group[axes.groupings.index(dim)] == "std" for group in axes.groups]] = np.nan
            elif "std" in names:
                axis = 1 + list(axes.labels).index(dim)
                np.moveaxis(best, axis, 0)[[label == "std" for label in axes.labels[dim]]] = np.nan
    whole, best = "metric" in ds.attrs and is_whole(ds), np.broadcast_to(best, cells.shape)
    percents = np.broadcast_to([percent and not unit for unit in column_of(ds, "unit")], cells.shape)
    like = values_of(ds, "like_best") if "like_best" in ds else None
    if like is not None:  # a best system that differs from all others needs no mark: it is bold, or the largest number
        like = like & (like.sum(axis=0) > 1)
    for cell in np.ndindex(cells.shape):
        own, ratio = float(value[cell]), bool(percents[cell])
        if whole and np.isfinite(own):
            cells[cell] = ShownValue(f"{own:z.0f}")
            continue
        shown = show_value(own, ratio)
        interval = show_interval([float(end[cell]) for end in ends], ratio, own) if ends else ""
        # What prints alike is equally good.
        is_best = not np.isnan(best[cell]) and shown == show_value(float(best[cell]), ratio)
        cells[cell] = ShownValue(shown, interval, is_best, like is not None and bool(like[cell]))
    return cells


def with_deviations(ds: Results, cells: npt.NDArray[Any]) -> tuple[Results, npt.NDArray[Any]]:
    """Means across runs with their standard deviations, as mean ± std, where exactly these two were asked for."""
    axes = axes_of(ds)
    both = across_of(ds.attrs).get(RUN) == ["mean", "std"] and axes.groupings[:1] == [RUN]
    if isinstance(ds, ResultInMemory) or not both:
        return ds, cells
    groups = axes.groups
    means, deviations = ([index for index, group in enumerate(groups) if group[0] == name] for name in ("mean", "std"))
    merged = cells[:, means].copy()
    for place in np.ndindex(merged.shape):
        mean, deviation = merged.item(place), cells[:, deviations].item(place)
        text = f"{mean.value} ± {deviation.value}"
        merged[place] = ShownValue(text, mean.interval, mean.best, mean.marked)
    of_means = ds.isel({RUN: ds[RUN].values.tolist().index("mean")}, drop=True)
    repeats = int(ds.attrs.get("repeats", 1)) * len(means) // len(groups)
    return of_means.assign_attrs(repeats=str(repeats)), merged


def show_value(value: float, percent: bool) -> str:
    """Format a value, ``-`` if there is none; values that round to 0 have no sign."""
    if np.isnan(value):
        return "-"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{100 * value:z.2f}" if percent else f"{value:z.4f}"


def show_interval(ends: Sequence[float], percent: bool, value: float) -> str:
    """Format an interval for people; a mark where a value has none, and nothing where none is asked for.

    The end of an interval without 0 is not rounded to 0.

    Examples
    --------
    >>> show_interval((-0.00002, 0.31), False, 0.2), show_interval((0.00002, 0.31), False, 0.2)
    ('[0.0000, 0.3100]', '[2e-05, 0.3100]')
    """
    if not ends or not np.isfinite(value):
        return ""
    if np.isnan(ends).any():
        return NO_INTERVAL
    texts = [show_value(end, percent) for end in ends]
    if ends[0] > 0 or ends[1] < 0:
        exact = (f"{100 * end if percent else end:.0e}" for end in ends)
        texts = [text if text.strip("-0.") else other for text, other in zip(texts, exact, strict=True)]
    return f"[{', '.join(texts)}]"


def group_labels(group: Sequence[object]) -> list[str]:
    """The values that make a group of tracks, for people."""
    plain = map(plain_entry, group)
    return ["(none)" if value in ("", None) or value != value else str(value) for value in plain]


_COUNT_HEADS = {"n": "n", "n_missing": "missing", "n_undefined": "undefined"}


def _lay_out(ds: Results, cells: npt.NDArray[Any], across: str | None) -> Table:
    """Lay out cells with one axis across, all others down.

    `cells` (array of ShownValue (systems, groups, ...)), `across`: ``system``, ``group``, or an axis of the labels;
    None: a value a row.
    """
    has_dims, axes = "metric" in ds.attrs, axes_of(ds)
    labels, groupings = axes.labels, axes.groupings
    places = {name: place for place, name in enumerate(("system", "group", *labels))}
    order = list(places) if has_dims else ["metric", "system", "group"]
    down = [name for name in order if name != across]
    names: dict[str, list[list[str]]] = {"system": [[name] for name in names_of(ds, "system")]}
    names["group"] = [group_labels(group) for group in axes.groups] if groupings else [[]]
    names |= {name: [[label or "(none)"] for label in own] for name, own in labels.items()}
    metrics, kinds = axes.metrics, column_of(ds, "aggregate")
    if "metric" in names:
        several = len(set(kinds)) > 1
        names["metric"] = [[f"{m} [{kind}]" if several else m] for m, kind in zip(metrics, kinds, strict=True)]
    if "" in names and across != "":  # a metric with no dim left is named in the title
        names[""] = [[]]
    along = ["value"] if across is None else [" / ".join(own) for own in names[across]]
    if has_dims and across in across_of(ds.attrs):
        kind = ds.attrs["aggregate"]
        what = kind if kind in CLASS_AGGREGATES else ds.attrs["metric"]
        along = [f"{what}, {name} over {plural(across)}" for name in labels[across]]
    turn = [places[name] for name in ([*down, across] if across is not None else down)]
    body = cells.transpose(turn).reshape(-1, len(along))
    counted_as = {"n": "n_values"} if has_dims else dict(zip(COUNTS, COUNTS, strict=True))
    every_count = {name: values_of(ds, variable) for name, variable in counted_as.items()}
    counts = {name: count for name, count in every_count.items() if name == "n" or count.any()}
    beside = {name: count.transpose(turn).reshape(-1, len(along)) for name, count in counts.items()}
    rows: list[tuple[Entry, ...]] = []
    # What each place along an axis says of its cells, for each column that names it.
    signed: dict[str, list[tuple[Names, ...]]] = {dim: [(((dim, one),),) for one in own] for dim, own in labels.items()}
    if "" in signed:
        signed[""] = [()]
    signed["system"] = [((("system", name),),) for name in names_of(ds, "system")]
    signed["group"] = [tuple((pair,) for pair in zip(groupings, map(str, own), strict=True)) for own in axes.groups]
    if "metric" not in ds.attrs:
        signed["metric"] = [((("metric", name),),) for name in column_of(ds, "metric")]
    names_of_rows: list[tuple[Names, ...]] = []
    kept: Bool = np.ones(len(body), dtype=np.bool_)
    if has_dims and any(name in labels for name in down):  # a frame that no track has
        kept = np.asarray(beside["n"].any(axis=1))
    every = zip(product(*(names[name] for name in down)), product(*(signed[name] for name in down)), strict=True)
    for index, (own, about) in enumerate(every):
        if kept[index]:
            named = [label for one in own for label in one]
            names_of_rows.append(tuple(each for one in about for each in one))
            rows.append((*named, *body[index], *(show_span(count[index]) for count in beside.values())))
    heads = {"system": ["system"], "group": groupings}
    left = [head for name in down for head in heads.get(name, [name] if name else [])]
    columns = (*left, *along, *(_COUNT_HEADS[name] for name in beside))
    along_names = [()] if across is None else [sum(one, ()) for one in signed[across]]
    signing = Signing(tuple(names_of_rows), tuple(along_names), list)
    if across is None:
        return Table(columns, tuple(rows), signing=signing)
    notes = count_notes(metrics if across == "metric" else along, beside["n"][kept]) if len(along) > 1 else ()
    return Table(columns, tuple(rows), notes=notes, keys=len(left), signing=signing)


def title_of(attrs: Mapping[str, Any]) -> str:
    """Title of a result: its evaluation and selection."""
    task, convention, grid = (str(attrs.get(name) or "") for name in ("task", "convention", "grid"))
    parts = [f"task {task}" if task else "", f"convention {convention}" if convention else ""]
    parts.append(chosen_grid(task, convention, grid))
    parts += [f"{name} {attrs[name]}" for name in CHOSEN if attrs.get(name)]
    return ": ".join(filter(None, (attrs.get("group", ""), ", ".join(filter(None, parts)))))


def runs_note(ds: Results) -> str:
    """Note on a value over the runs of a system, and on their number."""
    shown = "mean ± standard deviation" if ds["n_tracks"].dims[:1] != (RUN,) else "statistics"
    return f"{shown} over the runs of each system: {ds.attrs[EACH]}"


def _notes(ds: Results, percent: bool) -> tuple[str, ...]:
    """Notes on the values."""
    attrs, axes, has_dims = ds.attrs, axes_of(ds), "metric" in ds.attrs
    kinds, units = dict.fromkeys(column_of(ds, "aggregate")), column_of(ds, "unit")
    over = f"in each track {attrs['over'].replace('=', ': ')}; then " if has_dims and "over" in attrs else ""
    notes = [f"{over}{kind}: {DECLARED[kind].words}" for kind in kinds]
    if "nominal" in attrs:
        notes = ["numbers are names"]
    value = values_of(ds)
    if np.isinf(value).any():
        hint = "medians (aggregate: median) are moved little by a few"
        means = f"inf: some scores are infinite, and so is their mean; {hint}"
        notes.append("inf: half of the scores or more are infinite" if set(kinds) == {"median"} else means)
    if any(units) and not has_dims:
        named: dict[str, list[str]] = {}
        for metric, unit in zip(axes.metrics, units, strict=True):
            named.setdefault(unit, []).append(metric)
        each = [f"in {unit}: {', '.join(metrics)}" for unit, metrics in named.items() if unit]
        notes += each if len(named) > 1 else [f"values in {units[0]}"]
    if "low" in ds:
        notes += interval_notes(value, values_of(ds, "low"), attrs)
    if "like_best" in ds:
        notes.append(mark_note([attrs]))
    if percent:
        notes.append("ratios in percent")
    if "across" in attrs and RUN in across_of(attrs):
        notes.append(runs_note(ds))
    elif GROUPED in attrs:
        notes.append(f"mean over the systems of each {attrs[GROUPED]}: {attrs[EACH]}")
    systems = names_of(ds, "system")
    cells = axes.tracks * int(attrs.get(RUNS, len(systems)))
    if not has_dims:
        notes += _policy_notes(ds, systems, cells)
    elif lost := int(values_of(ds, "n_missing").sum()) // int(attrs.get("repeats", 1)):
        notes.append(missing_note(attrs, f"{lost} of {counted(cells, 'cell')}"))
    notes += [] if axes.tracks else [nothing_note(attrs)]
    if WARNINGS in attrs or REFERENCES_DIFFER in attrs:
        notes += caution_notes(attrs)
    if UNGROUPED in attrs:
        notes.append(attrs[UNGROUPED])
    if attrs.get("left_out"):
        notes.append(f"not defined for: {attrs['left_out']}")
    if has_dims and attrs["aggregate"] not in RATIO_AGGREGATES:
        notes.append("n: tracks with a value")
    elif has_dims:
        left = [dim for dim in axes.labels if dim and dim not in across_of(attrs)]
        few = f", of which few may be of a single {' and '.join(left)}" if left else ""
        notes.append(f"n: tracks that count{few}")
    return tuple(notes)


def _policy_notes(ds: Results, systems: Sequence[str], cells: int) -> list[str]:
    """Notes on the numbers of missing and undefined cells, and their treatment."""
    attrs, missing = ds.attrs, values_of(ds, "n_missing")
    notes = []
    for policy in ("missing", "undefined"):
        if count := int(attrs[f"{policy}_cells"]):
            cells_of = f"{count} of {counted(cells, 'cell')} (system and track)"
            each = values_of(ds, f"n_{policy}").sum(axis=(0, 1)) // int(attrs.get("repeats", 1))
            cells_of += "" if (each == count).all() else f", for one or more of {len(each)} metrics"
            said = missing_note(attrs, cells_of) if policy == "missing" else undefined_note(attrs, cells_of)
            notes.append(said)
        elif policy == "missing" and EMPTY_COUNTED in attrs:
            notes.append(missing_note(attrs, complete=True))
    if attrs["missing"] != "common":
        return notes
    # Of each system the metric that lacks fewest cells.
    least = missing.sum(axis=1).min(axis=1) if missing.shape[2] else np.zeros(len(systems))
    whole = ds["n_tracks"].values.sum()
    bare = [name for name, own in zip(systems, least, strict=True) if own == whole]
    if bare and len(bare) < len(systems):
        notes.append(f"no score at all: {', '.join(bare)}; name the others, or choose missing skip (--missing)")
    if len(systems) > 1 and int(attrs["missing_cells"]) and not values_of(ds, "n").any() and not bare:
        notes.append("no track has a score of every system; name fewer systems, or choose missing skip (--missing)")
    return notes


def interval_notes(value: Float, low: Float, attrs: Mapping[str, Any]) -> tuple[str, ...]:
    """Notes on the computation of intervals, with the unit if it is not the track, and on values without one.

    `value`, `low` (float64): the values, and the lower ends of their intervals.
    """
    few = few_notes(value, low, attrs)
    if few and np.isnan(low).all():
        return few
    unit, cluster = attrs.get("unit", "track"), attrs.get("cluster", "")
    drawn = f"tracks, {together(cluster)}" if cluster else f"values of {unit}"
    once = f"; each {unit} counts once" if unit != "track" else ""
    level = float(attrs["level"])
    over = "tracks" if unit == "track" and not cluster else drawn
    note = f"[ ]: {say_level(level)} confidence interval, {say_intervals(attrs, over)}{once}"
    return (note, *few)


def together(cluster: str) -> str:
    """Unit that is drawn or swapped as a whole."""
    return "all annotations of the same one together" if cluster == "track" else f"all of the same {cluster} together"


def mark_note(each: Sequence[Mapping[str, Any]]) -> str:
    """Note on the mark of significance, of one result or of several evaluations; or on its absence."""
    alpha = 1 - float(each[0]["test_level"])
    units = show_span(np.array([int(n) for attrs in each for n in attrs["tested_units"].split("-")]))
    tested = f"{say_test(each[0]['test'], each[0]['correction'])}, n = {units}"
    few = f"so few units cannot give a corrected p-value below {alpha:.3g}"
    left: list[str] = []  # metrics, or whole evaluations, without a mark for want of units
    for attrs in each:
        names = attrs.get(UNTESTED, "").splitlines()
        left += [attrs.get("group", "")] if names == [EVERY] else names
    if all(attrs.get(UNTESTED) == EVERY for attrs in each):
        return f"no {MARK}: {few} ({tested})"
    note = (
        f"{MARK}: not told apart from the best at {alpha:.3g} ({tested}); a best one without it differs from all others"
    )
    return f"{note}; no {MARK} for {', '.join(left)}: {few}" if left else note


REST = "(rest)"


def _matrix(ds: Results, system: int, group: int, width: int, percent: bool) -> Table:
    """A table of the counts of one system, the last dim across, as many labels as there is room for."""
    attrs, axes = ds.attrs, axes_of(ds)
    labels = axes.labels
    own, dims = values_of(ds)[system, group], list(labels)
    values: Float = own.reshape(int(np.prod(own.shape[:-1])), own.shape[-1])  # which may hold nothing
    down = [" / ".join(filter(None, names)) for names in product(*(labels[dim] for dim in dims[:-1]))]
    across = labels[dims[-1]]
    head = f"{' / '.join(dims[:-1])} \\ {dims[-1]}"
    decimals = None if percent or attrs["aggregate"] != "sum" else 0 if is_whole(ds) else 1

    def show(value: float) -> str:
        return show_value(value, percent) if decimals is None or np.isnan(value) else f"{value:z.{decimals}f}"

    for most in range(max(len(down), len(across), 1), 0, -1):
        rows, columns = choose_labels(values, most, down == across)
        shown = with_others(with_others(values, columns).T, rows).T
        # The sums of the others have no row and column where they are 0.
        named = [*(down[row] or "-" for row in rows.tolist()), *([REST] if np.nansum(np.abs(shown[-1])) else [])]
        heads = [*(across[column] for column in columns.tolist()), *([REST] if np.nansum(np.abs(shown[:, -1])) else [])]
        shown = divide(shown, np.nansum(shown, axis=1, keepdims=True), np.nan) if percent else shown
        cells = shown[: len(named), : len(heads)].tolist()
        body = tuple((name, *map(show, row)) for name, row in zip(named, cells, strict=True))
        table = Table((head, *heads), body)
        if full_width(table) <= width:
            break
    made = ", ".join(map(" ".join, zip(axes.groupings, group_labels(axes.groups[group]), strict=True)))
    unit = "" if percent else ds["value"].attrs.get("units", "")
    whose = f"system {names_of(ds, 'system')[system]}" + (f", {made}" if made else "")
    kind = attrs["aggregate"]
    n, lost = (int(values_of(ds, name)[system, group, 0]) for name in ("n", "n_missing"))
    notes = [f"{kind}: {DECLARED[kind].words}; {n} of {counted(int(axes.sizes[group]), 'track')}"]
    notes += [missing_note(attrs, counted(lost, "cell"))] if lost else []
    there = np.nan_to_num(values) != 0
    if any(np.count_nonzero(there.any(axis=1 - axis)) > len(kept) for axis, kept in enumerate((rows, columns))):
        notes.append(f"{REST}: the sum of all others; --format csv or json has every entry")
    notes += caution_notes(attrs)
    if percent:
        notes.append(f"in percent of the sum of each row ({' / '.join(dims[:-1])})")
    return replace(
        table,
        title=f"{title_of(attrs)}, {attrs['metric']}{f' [{unit}]' if unit else ''}, {whose}",
        notes=tuple(notes),
        caption=partial(matrix_caption, ds, system, group, made, percent),
    )


def choose_labels(values: Float, most: int, same: bool) -> tuple[Int, Int]:
    """Choose the rows and columns to show, in the original order: those that occur, and of many the largest."""
    down, across = np.nan_to_num(values).sum(axis=1), np.nan_to_num(values).sum(axis=0)
    if same:  # the same classes on both sides, so that what is right stands on the diagonal
        down = across = down + across
    found = []
    for total in (down, across):
        first = np.argsort(-total, kind="stable")[:most]
        found.append(np.sort(first[total[first] > 0]).astype(np.int64))
    return found[0], found[1]


def with_others(values: Float, columns: Int) -> Float:
    """Some columns, and the sum of all others after them."""
    rest = np.delete(values, columns, axis=1).sum(axis=1, keepdims=True)
    return np.concatenate([values[:, columns], rest], axis=1)
