"""Captions and notes of tables: numbers of tracks, missing scores, meaning of values; titles of metrics and tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.queries import across_of
from ..analysis.query_options import COMPARED_WITH, MISSING, MOST_SYSTEMS, alpha_of, say_level, say_test, say_undefined
from ..analysis.scores import Results, names_of, show_span
from ..analysis.selection import COSTLIEST, EMPTY_COUNTED, UNCOUNTED, VALUELESS
from ..errors import counted
from ..metrics.aggregates import CLASS_AGGREGATES, DECLARED
from ..metrics.base import chosen_grid, get_task, has_task
from ..ragged import Float, Int
from ..store.format import REFERENCES_DIFFER, WARNINGS
from .results import axes_of, column_of, values_of

if TYPE_CHECKING:
    import xarray as xr


def count_notes(heads: Sequence[str], counts: Int) -> tuple[str, ...]:
    """Count the scores of each column, where a row shows only the fewest and the most of its columns.

    `counts` (int64 (rows, columns)).

    Examples
    --------
    >>> count_notes(["Pop", "Rock"], np.array([[60, 22], [60, 22]]))
    ('n by column: Pop: 60, Rock: 22',)
    >>> count_notes(["Pop", "Rock"], np.array([[60, 60], [22, 22]]))
    ()
    """
    if counts.size == 0 or not (counts != counts[:, :1]).any():
        return ()
    if (counts == counts[:1]).all():
        each = (f"{head}: {count}" for head, count in zip(heads, counts[0].tolist(), strict=True))
        return (f"n by column: {', '.join(each)}",)
    return ("n: the fewest and the most of a row; --format csv or json says that of each value",)


def reference_notes(attrs: Mapping[str, Any]) -> tuple[str, ...]:
    """Note that joined stores do not have the same references."""
    difference = attrs.get(REFERENCES_DIFFER, "")
    return (f"references: {difference}",) if difference else ()


NO_INTERVAL = "[-]"
"""Stands where so few units have no interval."""


def say_units(unit: str) -> str:
    """What is counted or drawn: tracks, or values of one of their coordinates."""
    return "tracks" if unit == "track" else f"values of {unit}"


def few_notes(value: Float, low: Float, attrs: Mapping[str, Any]) -> tuple[str, ...]:
    """Say why some values have no interval.

    `value`, `low` (float64): values and the lower ends of their intervals.
    """
    if not (np.isnan(low) & np.isfinite(value)).any():
        return ()
    level, unit = float(attrs["level"]), attrs.get("unit") or attrs.get("unit_of_comparison", "track")
    drawn = attrs.get("cluster") or unit
    least = f"{attrs['least_units']} {say_units(drawn)}"
    return (f"{NO_INTERVAL}: no interval: at {say_level(level)} it takes {least} or more",)


def letters_note(ds: xr.Dataset, metric: int) -> str:
    """Meaning of the letters of systems, as the end of a sentence; or the reason why there are none."""
    alpha = 1 - float(ds.attrs["level"])
    if "mean_rank" in ds:
        compared = "exact sign test" if ds.sizes["system"] == 2 else "Friedman, Tukey-Kramer"
        tested = f"{compared}, n = {ds['n'].values[metric]}"
        separable = bool(ds["critical_difference"].values[metric] <= ds.sizes["system"] - 1)
    else:
        test = say_test(str(ds["test"].values[metric]), ds.attrs["correction"])
        tested = f"{test}, n = {pairs_span(ds, metric)}"
        separable = bool(ds["least_p_corrected"].values[metric] <= alpha_of(ds.attrs))
    if not separable:
        return f"no letters: so few units cannot give a corrected p-value below {alpha:.3g} ({tested})"
    if COMPARED_WITH in ds.coords and (leader := str(ds[COMPARED_WITH].values[metric])):
        led = f"of more than {MOST_SYSTEMS} systems, {leader}, which leads, is compared with each other one"
        return f"no letters: {led} ({tested})"
    return f"systems that share a letter are not told apart at {alpha:.3g} ({tested})"


def ranks_note(ds: xr.Dataset, metric: int) -> str:
    """Meaning of intervals of ranks, as the end of a sentence; and why they exclude none where they do not."""
    level, correction = float(ds.attrs["level"]), ds.attrs["correction"]
    tested = f"{say_test(str(ds['test'].values[metric]), correction)}, n = {pairs_span(ds, metric)}"
    if not ds["least_p_corrected"].values[metric] <= alpha_of(ds.attrs):
        return f"every rank is possible: so few units tell no systems apart ({tested})"
    together = "" if correction in ("bh", "none") else f"; they hold all true ranks with {say_level(level)} confidence"
    return f"ranks not excluded at {1 - level:.3g} ({tested}){together}"


def pairs_span(ds: xr.Dataset, metric: int) -> str:
    """Number of units that two compared systems have in common: a number, or the fewest and the most of all pairs."""
    from ..analysis.inference.paired import compared_pairs

    return show_span(ds["n"].values[..., metric][tuple(compared_pairs(ds, metric).T)])


def caution_notes(attrs: Mapping[str, Any]) -> tuple[str, ...]:
    """Repeat the warnings of when the systems were scored; and note that references differ."""
    return (*reference_notes(attrs), *(f"warning: {text}" for text in attrs.get(WARNINGS, "").splitlines()))


def missing_note(attrs: Mapping[str, Any], lost: str = "", *, complete: bool = False) -> str:
    """Say how missing scores and empty estimates were treated, from what was counted.

    `lost`: the number of missing cells; empty: it is not named. `complete`: whether none are missing, so that there is
    only to say that empty estimates count, as they are scored: mostly 0; nothing without any.
    """
    count = int(attrs.get(EMPTY_COUNTED, 0))
    empty = f"{counted(count, 'empty estimate')} {'is' if count == 1 else 'are'} scored" if count else ""
    if complete:
        return empty
    words = MISSING[attrs["missing"]]
    if UNCOUNTED in attrs:
        words += f", but for {attrs[UNCOUNTED]} without a usable reference"
    if COSTLIEST in attrs:
        words += f" ({attrs[COSTLIEST]})"
    words = "; ".join(filter(None, (lost, words, empty)))
    return f"missing ({attrs['missing']}): {words}"


def undefined_note(attrs: Mapping[str, Any], lost: str = "") -> str:
    """Note on the treatment of scores with nothing to measure, and on their number if it is given."""
    words = say_undefined(attrs["undefined"], attrs.get(VALUELESS, ""))
    return f"undefined ({attrs['undefined']}): {'; '.join(filter(None, (lost, words)))}"


def nothing_note(attrs: Mapping[str, Any]) -> str:
    """Say why no track is left."""
    narrowed = [name for name in ("where", "annotator") if attrs.get(name)]
    return f"no track is left{' by ' if narrowed else ''}{' and '.join(narrowed)}"


_NAMED = 5
"""Number of metrics from which on a caption does not name them."""
CHOSEN = ("stores", "annotator", "param", "default", "over", "where", "across")
"""Attributes of choices that titles and captions name."""


def caption_of(ds: Results, percent: bool) -> str:
    """The caption of a table of values.

    `percent`: whether ratios are percentages.
    """
    attrs, has_dims, axes = ds.attrs, "metric" in ds.attrs, axes_of(ds)
    systems = len(names_of(ds, "system"))
    task, where, rules = _frame(attrs)
    names = list(titles_of(axes.metrics, column_of(ds, "title")).values())
    what = listed(names) if 0 < len(names) < _NAMED else ""
    if has_dims:  # the values of a metric, with the dims that they lie along: ``recall of each class``
        across, metric, kind = across_of(attrs), str(attrs["metric"]), attrs["aggregate"]
        dims = [dim for dim in axes.labels if dim]
        left = [dim for dim in dims if dim not in across]
        what = DECLARED[kind].written if kind in CLASS_AGGREGATES else metric.replace("_", " ")
        if kind in CLASS_AGGREGATES and not metric.isidentifier():
            what += f" by {metric}"  # of several confusions, that of one comparison of chords
        what += f" of each {listed(left)}" if left else ""
        what += "".join(f", {listed(across[dim])} over {plural(dim)}," for dim in dims if dim in across)
        reduced = attrs.get("over", "").replace("=", ": ")
        what += f" (in each track {reduced})" if reduced else ""
    counts = values_of(ds, "n").sum(axis=1) // int(attrs.get("repeats", 1))
    on = counted(axes.tracks, "track")
    on = on if (counts == axes.tracks).all() else f"{show_span(counts)} of {on}"
    by = f" by {' and '.join(axes.groupings)}" if axes.groupings else ""
    way = " in percent" if percent else ""
    way += f" with {say_level(attrs['level'])} confidence intervals" if "low" in ds else ""
    over = f"{counted(systems, 'system')} on {on}{where}{by}{f',{way}' if way else ''}"
    is_better = not has_dims or attrs["orientation"] != "none"
    bold = " The best values are bold." if is_better and systems > 1 else ""
    return f"{task}{f': {what}' if what else ','} of {over}.{rules}{bold}"


def matrix_caption(ds: Results, system: int, group: int, made: str, percent: bool) -> str:
    """The caption of the counts of one system, of which the last dim runs across.

    `made`: what makes the group; empty where nothing is grouped.
    """
    dims = [dim.replace("_", " ") for dim in axes_of(ds).labels]
    tracks = counted(int(values_of(ds, "n")[system, group, 0]), "track")
    name, (unit,) = str(ds.attrs["metric"]).replace("_", " "), column_of(ds, "unit")
    task, where, rules = _frame(ds.attrs)
    of = f"{name} of {names_of(ds, 'system')[system]} on {tracks}{where}"
    way = ", in percent of each row" if percent else f" [{unit}]" if unit else ""
    laid = f"{' and '.join(dims[:-1])} down, {dims[-1]} across."
    return f"{task}: {of}{f', {made}' if made else ''}{way}; {laid}{rules}"


EVERY_TWO, WITH_THE_BEST = "every two", "the best and each other one"
"""Pairs of systems that a table of differences lists."""


def comparison_caption(ds: xr.Dataset, metric: int, pairs: str = "") -> str:
    """The caption of systems from the best to the worst, or of the differences of pairs of them."""
    attrs, kind = ds.attrs, str(ds["aggregate"].values[metric])
    name, by_ranks = str(ds["metric"].values[metric]), "mean_rank" in ds
    what, across = title_in(ds, metric), across_of(attrs)
    task, where, rules = _frame(attrs)
    over = counted(ds.sizes["system"], "system")
    if by_ranks:
        what = DECLARED[kind].written if kind in CLASS_AGGREGATES else what
        what += "".join(f", {listed(names)} over {plural(dim)}," for dim, names in across.items())
        number, unit = int(ds["n"].values[metric]), attrs["unit_of_comparison"]
        over += f" by {what} on {counted(number, unit) if number == 1 else f'{number} {plural(unit)}'}"
        what = "mean rank" if pairs else "mean ranks"
    elif kind in CLASS_AGGREGATES:  # of which the metric's name holds the label behind a comma
        what, label = DECLARED[kind].written, name.partition(", ")[2]
        every = listed([*map(plural, across)]) if across else ""
        what += f", {label} over {every}," if label and every else f" of {label}" if label else ""
    over += where
    if not pairs:
        letters = letters_note(ds, metric)
        return f"{task}: {what} of {over}. {letters[:1].upper()}{letters[1:]}.{rules}"
    level = "simultaneous" if by_ranks else say_level(attrs["level"])
    return f"{task}: differences in {what} between {pairs} of {over}, with {level} confidence intervals.{rules}"


def metric_title(name: str, title: str) -> str:
    """A metric as the literature calls it, with its parameters; its name where it has no title."""
    if not title:
        return name
    rest = name[len(re.match(r"[^@(]*", name)[0]) :]  # type: ignore[index]  # fits any text
    return f"{title}{rest.replace('(', ' (', 1).replace('_', ' ')}"


def task_title(task: str) -> str:
    """Title of a task, or its name where it is not declared here."""
    return get_task(task).title if has_task(task) else task


def titles_of(metrics: Sequence[str], titles: Sequence[str]) -> dict[str, str]:
    """The titles of metrics, by their names."""
    return {name: metric_title(name, title) for name, title in zip(metrics, titles, strict=True)}


def title_in(ds: xr.Dataset, metric: int = 0) -> str:
    """The title of a metric of a dataset, with its parameters."""
    title = str(ds["title"].values[metric]) if "title" in ds.coords else ""
    return metric_title(str(ds["metric"].values[metric]), title)


def origin_in_words(attrs: Mapping[str, Any]) -> str:
    """The task, the rules and other choices as the beginning of a sentence: ``Chord estimation, rules of mir_eval``."""
    task, convention, grid = (str(attrs.get(name, "")) for name in ("task", "convention", "grid"))
    parts = [task_title(task), f"rules of {convention}" if convention else ""]
    parts.append(chosen_grid(task, convention, grid))
    parts += [f"{name} {attrs[name]}" for name in CHOSEN if attrs.get(name)]
    return ", ".join(filter(None, parts))


def plural(dim: str) -> str:
    """The plural of the name of a dim."""
    return f"{dim}es" if dim.endswith("s") else f"{dim}s"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _frame(attrs: Mapping[str, Any]) -> tuple[str, str, str]:
    """The task, or without one the evaluation, which tracks, and whose rules, as captions name them."""
    task, convention = attrs.get("task", "") or attrs.get("group", ""), attrs.get("convention", "")
    where = f", where {attrs['where']}" if "where" in attrs else ""
    return task_title(task), where, f" The rules are those of {convention}." if convention else ""
