"""Sentences above and below tables: what is measured, on how many tracks, and what values mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.aggregation import show_span
from ..analysis.combine import REFERENCES_DIFFER
from ..analysis.queries import across_of, repeats
from ..errors import counted
from ..metrics.aggregates import CLASS_AGGREGATES, DECLARED
from ..metrics.base import get_task, tasks
from ..ragged import Float, Int
from ..store.format import WARNINGS

if TYPE_CHECKING:
    from ..analysis.aggregation import Answer
    from ..analysis.inference import Comparison, Friedman
    from ..analysis.per_class import ExtraAnswer


def count_notes(heads: Sequence[str], counts: Int) -> tuple[str, ...]:
    """How many scores count in each column, where a row shows only the fewest and the most of its columns.

    Parameters
    ----------
    heads : sequence of str
        What stands above the columns.
    counts : int64 (rows, columns)

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
        told = (f"{head}: {count}" for head, count in zip(heads, counts[0].tolist(), strict=True))
        return (f"n by column: {', '.join(told)}",)
    return ("n: the fewest and the most of a row; --format csv or json says that of each value",)


def unit_notes(metrics: Sequence[str], units: Sequence[str]) -> tuple[str, ...]:
    """What is no plain ratio or number.

    Examples
    --------
    >>> unit_notes(["sdr", "sir"], ["dB", "dB"]), unit_notes(["seg", "deviation"], ["", "s"])
    (('values in dB',), ('in s: deviation',))
    """
    told: dict[str, list[str]] = {}
    for metric, unit in zip(metrics, units, strict=True):
        told.setdefault(unit, []).append(metric)
    if len(told) == 1 and any(told):
        return (f"values in {units[0]}",)
    return tuple(f"in {unit}: {', '.join(own)}" for unit, own in told.items() if unit)


def infinity_notes(value: Float, aggregates: Sequence[str]) -> tuple[str, ...]:
    """Why a figure is infinite.

    Parameters
    ----------
    value : float64
    aggregates : sequence of str

    Examples
    --------
    >>> infinity_notes(np.array([1.0, np.inf]), ["mean"])
    ('inf: some scores are infinite, and so is their mean; medians (aggregate: median) are moved little by a few',)
    """
    if not np.isinf(value).any():
        return ()
    if set(aggregates) == {"median"}:
        return ("inf: half of the scores or more are infinite",)
    hint = "medians (aggregate: median) are moved little by a few"
    return (f"inf: some scores are infinite, and so is their mean; {hint}",)


def reference_notes(attrs: Mapping[str, str]) -> tuple[str, ...]:
    """That stores which are asked as one do not have the same references."""
    said = attrs.get(REFERENCES_DIFFER, "")
    return (f"references: {said}",) if said else ()


NO_INTERVAL = "[-]"
"""Stands where so few units have no interval."""


def few_notes(value: Float, low: Float, attrs: Mapping[str, str]) -> tuple[str, ...]:
    """Why some figures have no interval.

    Parameters
    ----------
    value, low : float64
        Figures and the lower ends of their intervals.
    attrs : mapping of str to str
        What an answer says of its intervals.

    Examples
    --------
    >>> few_notes(np.array([0.5]), np.array([np.nan]), {"level": "0.95", "least_units": "6", "cluster": "artist"})
    ('[-]: no interval: at 95 % it takes 6 values of artist or more',)
    """
    if not (np.isnan(low) & np.isfinite(value)).any():
        return ()
    level, unit = float(attrs["level"]), attrs.get("unit") or attrs.get("unit_of_comparison", "track")
    drawn = attrs.get("cluster") or unit
    units = "tracks" if drawn == "track" else f"values of {drawn}"
    return (f"{NO_INTERVAL}: no interval: at {100 * level:g} % it takes {attrs['least_units']} {units} or more",)


def letters_note(found: Comparison | Friedman, metric: int) -> str:
    """What the letters of systems mean, as the end of a sentence; or why there are none."""
    alpha, tested = 1 - float(found.attrs["level"]), found.tested(metric)
    if not found.can_tell(metric):
        return f"no letters: so few units cannot give a corrected p-value below {alpha:.3g} ({tested})"
    return f"systems that share a letter are not told apart at {alpha:.3g} ({tested})"


def caution_notes(attrs: Mapping[str, str]) -> tuple[str, ...]:
    """What was warned of when the systems that are shown were scored; and that references differ.

    Examples
    --------
    >>> caution_notes({"warnings": "no item of system 'bob' occurs in the reference"})
    ("warning: no item of system 'bob' occurs in the reference",)
    """
    return (*reference_notes(attrs), *(f"warning: {said}" for said in attrs.get(WARNINGS, "").splitlines()))


def nothing_notes(attrs: Mapping[str, str], tracks: int) -> tuple[str, ...]:
    """Why there is no figure at all."""
    if tracks:
        return ()
    narrowed = [name for name in ("where", "annotator") if attrs.get(name)]
    return (f"no track is left{' by ' if narrowed else ''}{' and '.join(narrowed)}",)


_NAMED = 5
"""So many metrics are not named in a caption."""


def caption_of(one: Answer, percent: bool) -> str:
    """What stands above figures of metrics that are one number a track."""
    metrics = [name.replace("_", " ") for name in one.metrics]
    named = _listed(metrics) if 0 < len(metrics) < _NAMED else ""
    by = f" by {' and '.join(one.groupings)}" if one.groupings else ""
    over = f"{_of(one)}{_where(one.attrs)}{by}{_way(one.attrs, percent, one.low is not None)}"
    about = f": {named} of" if named else ", of"
    return f"{_task(one.attrs)}{about} {over}.{_rules(one.attrs)}{_bold(one.systems)}"


def figures_caption(one: ExtraAnswer, percent: bool) -> str:
    """What stands above figures along extra dims: those of each class, tag, source or frame."""
    by = f" by {' and '.join(one.groupings)}" if one.groupings else ""
    over = f"{_of(one)}{_where(one.attrs)}{by}{_way(one.attrs, percent, one.low is not None)}"
    bold = _bold(one.systems) if one.orientation != "none" else ""
    return f"{_task(one.attrs)}: {what_of(one)} of {over}.{_rules(one.attrs)}{bold}"


def matrix_caption(one: ExtraAnswer, system: int, group: int, made: str, percent: bool) -> str:
    """What stands above the counts of one system, of which the last dim runs across.

    Parameters
    ----------
    one : ExtraAnswer
    system, group : int
        Which of them.
    made : str
        What makes the group; empty where nothing is grouped.
    percent : bool
        Whether shares of the rows are shown.
    """
    dims = [dim.replace("_", " ") for dim in one.labels]
    tracks = counted(int(one.n[system, group]), "track")
    of = f"{one.metric.replace('_', ' ')} of {one.systems[system]} on {tracks}{_where(one.attrs)}"
    way = ", in percent of each row" if percent else f" [{one.unit}]" if one.unit else ""
    laid = f"{' and '.join(dims[:-1])} down, {dims[-1]} across."
    return f"{_task(one.attrs)}: {of}{f', {made}' if made else ''}{way}; {laid}{_rules(one.attrs)}"


def what_of(one: ExtraAnswer) -> str:
    """What the figures of an answer are, with what they are one for each of: ``recall of each class``."""
    across = across_of(one.attrs)
    left = [dim for dim in one.labels if dim not in across]
    rated = one.aggregate in CLASS_AGGREGATES
    what = DECLARED[one.aggregate].written if rated else one.metric.replace("_", " ")
    if rated and not one.metric.isidentifier():
        what += f" by {one.metric}"  # of several confusions, that of one comparison of chords
    said = [f", {_listed(across[dim])} over {plural(dim)}," for dim in one.labels if dim in across]
    told = f" (in each track {one.attrs['over'].replace('=', ': ')})" if "over" in one.attrs else ""
    return f"{what}{f' of each {_listed(left)}' if left else ''}{''.join(said)}{told}"


def comparison_captions(found: Comparison, metric: int) -> tuple[str, str]:
    """What stands above the systems from the best to the worst, and above every two of them."""
    kind = found.aggregates[metric]
    what = found.metrics[metric].replace("_", " ")
    if kind in CLASS_AGGREGATES:
        what = _of_label(found, metric)
    over = f"{counted(len(found.systems), 'system')}{_where(found.attrs)}"
    task, rules = _task(found.attrs), _rules(found.attrs)
    level = f"{100 * float(found.attrs['level']):g} % confidence intervals"
    return (
        f"{task}: {what} of {over}. {_sentence(letters_note(found, metric))}{rules}",
        f"{task}: differences in {what} between every two of {over}, with {level}.{rules}",
    )


def _of_label(found: Comparison, metric: int) -> str:
    """A figure of a class or tag, or of several, of which the metric's name holds the label behind a comma."""
    what, label = DECLARED[found.aggregates[metric]].written, found.metrics[metric].partition(", ")[2]
    across = across_of(found.attrs)
    if not label:
        return what
    return f"{what}, {label} over {_listed([*map(plural, across)])}," if across else f"{what} of {label}"


def ranks_captions(found: Friedman, metric: int) -> tuple[str, str]:
    """What stands above mean ranks, and above every two systems."""
    unit, number = found.attrs["unit_of_comparison"], int(found.ranks.n[metric])
    kind, name = found.aggregates[metric], found.metrics[metric].replace("_", " ")
    what = DECLARED[kind].written if kind in CLASS_AGGREGATES else name
    across = across_of(found.attrs)
    what += "".join(f", {_listed(names)} over {plural(dim)}," for dim, names in across.items())
    units = counted(number, unit) if number == 1 else f"{number} {plural(unit)}"
    over = f"{counted(len(found.systems), 'system')} by {what} on {units}{_where(found.attrs)}"
    task, rules = _task(found.attrs), _rules(found.attrs)
    return (
        f"{task}: mean ranks of {over}. {_sentence(letters_note(found, metric))}{rules}",
        f"{task}: differences in mean rank between every two of {over}, with simultaneous confidence intervals.{rules}",
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def plural(dim: str) -> str:
    """Several of what lies along a dim.

    Examples
    --------
    >>> plural("class"), plural("tag")
    ('classes', 'tags')
    """
    return f"{dim}es" if dim.endswith("s") else f"{dim}s"


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _task(attrs: Mapping[str, str]) -> str:
    task = attrs.get("task", "")
    return get_task(task).title if task in tasks() else task


def _of(one: Answer | ExtraAnswer) -> str:
    """Systems, and the tracks that count: not those that a policy leaves out."""
    tracks = int(one.n_tracks.sum()) // repeats(one.attrs)
    n = one.n_counted // repeats(one.attrs)
    on = counted(tracks, "track") if (n == tracks).all() else f"{show_span(n)} of {counted(tracks, 'track')}"
    return f"{counted(len(one.systems), 'system')} on {on}"


def _where(attrs: Mapping[str, str]) -> str:
    return f", where {attrs['where']}" if "where" in attrs else ""


def _way(attrs: Mapping[str, str], percent: bool, intervals: bool) -> str:
    """How the figures are written."""
    way = " in percent" if percent else ""
    way += f" with {100 * float(attrs['level']):g} % confidence intervals" if intervals else ""
    return f",{way}" if way else ""


def _rules(attrs: Mapping[str, str]) -> str:
    convention = attrs.get("convention", "")
    return f" The rules are those of {convention}." if convention else ""


def _bold(systems: Sequence[str]) -> str:
    return " The best values are bold." if len(systems) > 1 else ""
