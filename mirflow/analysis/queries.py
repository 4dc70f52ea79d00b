"""Queries to an evaluation or to a whole result store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ..cells import Status
from ..errors import QueryError, UnknownNameError, counted
from ..ragged import Float, Int
from .aggregation import Answer, ask
from .dims import REDUCTIONS
from .per_class import ExtraAnswer, ask_extra, explain_name
from .scores import ANNOTATOR, arrays_of, as_scores, coords_of, names_of, texts_of
from .selection import (
    Names,
    QueryOptions,
    Question,
    as_names,
    find_measures,
    find_metrics,
    find_tables,
    has_parameters,
    headline_metric,
    make_question,
    show_parameters,
    split_names,
)

if TYPE_CHECKING:
    import xarray as xr

Across = Mapping[str, str | Sequence[str]]


UNGROUPED = "ungrouped"
"""The attribute that says which tracks are in no group."""


def _deviation(values: Float) -> Float:
    """The standard deviation of a sample; NaN of fewer than two."""
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    with np.errstate(invalid="ignore"):  # of infinities there is no deviation, and NaN says so
        square = np.where(there, (values - mean) ** 2, 0.0).sum(axis=0)
    return np.where(count > 1, np.sqrt(square / np.maximum(count - 1, 1)), np.nan)


ACROSS: Mapping[str, Callable[[Float], Float]] = MappingProxyType({**REDUCTIONS, "std": _deviation})
"""What can be done across the figures of groups or classes; figures that are NaN are left out."""


def across(answer: Answer | ExtraAnswer, asked: Across) -> Answer | ExtraAnswer:
    """An answer in which dims of groups or classes are reduced, one after the other.

    Parameters
    ----------
    answer : Answer or ExtraAnswer
    asked : mapping of str to str or sequence of str
        A grouping, or a dim of the metric, to names of :data:`ACROSS`, perhaps several, with commas between.

    Returns
    -------
    Answer or ExtraAnswer
        With those names in the place of the groups or classes. Tracks without a value of a coordinate are in none of
        its groups and do not count; the attribute ``ungrouped`` says how many these are.

    Raises
    ------
    UnknownNameError
        For a dim that the answer does not have, or a reduction that there is not.
    """
    for dim in asked:
        if dim in answer.groupings:
            answer = _grouped(answer, dim)
    for dim, text in asked.items():
        names = _names(text)
        for name in names:
            if name not in ACROSS:
                raise UnknownNameError("reduction", name, ACROSS)
        known = [*answer.groupings, *(answer.labels if isinstance(answer, ExtraAnswer) else ())]
        if not known:
            raise QueryError(f"across {dim!r}: the answer has no groups and no classes; add by, --by")
        if dim not in known:
            raise UnknownNameError("dim of the answer", dim, known)
        answer = _reduced(answer, dim, names)
    # The same tracks stand in every one of several figures.
    times = int(np.prod([len(_names(text)) for dim, text in asked.items() if dim in answer.groupings]))
    said = "; ".join(f"{dim}={','.join(_names(text))}" for dim, text in asked.items())
    return replace(answer, attrs={**answer.attrs, "across": said, "repeats": str(times)})


def repeats(attrs: Mapping[str, str]) -> int:
    """How often every track stands in the groups of an answer."""
    return int(attrs.get("repeats", 1))


def _grouped(answer: Answer | ExtraAnswer, dim: str) -> Answer | ExtraAnswer:
    """An answer without the tracks that have no value of a coordinate: these are no fold."""
    values = answer.groupings[dim]
    kept = np.array([value == value and value != "" for value in values.tolist()], dtype=bool)
    if kept.all():
        return answer
    sizes = tuple(map(len, answer.groupings.values()))
    groups = np.arange(int(np.prod(sizes))).reshape(sizes)
    groups = groups.compress(kept, axis=list(answer.groupings).index(dim)).ravel()
    lost = int(answer.n_tracks.sum() - answer.n_tracks[groups].sum())
    said = f"{counted(lost, 'track')} without a value of {dim} {'is' if lost == 1 else 'are'} in no {dim}"
    said = "; ".join(filter(None, (answer.attrs.get(UNGROUPED, ""), said)))
    groupings, attrs = {**answer.groupings, dim: values[kept]}, {**answer.attrs, UNGROUPED: said}
    answer = replace(answer, groupings=groupings, attrs=attrs, n_tracks=answer.n_tracks[groups])
    if isinstance(answer, ExtraAnswer):
        n, missing, number = answer.n[:, groups], answer.n_missing[:, groups], answer.n_values[:, groups]
        return replace(answer, value=answer.value[:, groups], n=n, n_missing=missing, n_values=number)
    counts = {name: own[..., groups] for name, own in answer.counts.items()}
    return replace(answer, value=answer.value[..., groups], counts=counts)


def _names(text: str | Sequence[str]) -> list[str]:
    return [one.strip() for one in text.split(",")] if isinstance(text, str) else list(text)


def _reduced(answer: Answer | ExtraAnswer, dim: str, names: Sequence[str]) -> Answer | ExtraAnswer:
    if isinstance(answer, ExtraAnswer) and dim in answer.labels:
        axis = 2 + list(answer.labels).index(dim)
        number = np.repeat(np.max(answer.n_values, axis=axis, keepdims=True, initial=0), len(names), axis=axis)
        labels = {**answer.labels, dim: tuple(names)}
        return replace(answer, value=figures_across(answer.value, axis, names), n_values=number, labels=labels)
    groups = _Groups(tuple(map(len, answer.groupings.values())), list(answer.groupings).index(dim), names)
    groupings = {**answer.groupings, dim: np.array(names, dtype=str)}
    tracks = groups.counts(answer.n_tracks, 0)
    if isinstance(answer, ExtraAnswer):
        n, lost, number = (groups.counts(one, 1) for one in (answer.n, answer.n_missing, answer.n_values))
        value = groups.figures(answer.value, 1)
        return replace(answer, value=value, groupings=groupings, n_tracks=tracks, n=n, n_missing=lost, n_values=number)
    counts = {name: groups.counts(values, 2) for name, values in answer.counts.items()}
    value = groups.figures(answer.value, 2)
    return replace(answer, value=value, groupings=groupings, n_tracks=tracks, counts=counts)


@dataclass(frozen=True)
class _Groups:
    """Groups that are a product of coordinates, one of which is reduced.

    `sizes` are those of the coordinates, `place` is the one to reduce, `names` what to do.
    """

    sizes: tuple[int, ...]
    place: int
    names: Sequence[str]

    def figures(self, values: Float, axis: int) -> Float:
        """Reduced figures; `axis` holds the groups."""
        spread = values.reshape(*values.shape[:axis], *self.sizes, *values.shape[axis + 1 :])
        found = figures_across(spread, axis + self.place, self.names)
        return found.reshape(*values.shape[:axis], -1, *values.shape[axis + 1 :])

    def counts(self, values: Int, axis: int) -> Int:
        """Counts of all groups together, beside each figure."""
        spread = values.reshape(*values.shape[:axis], *self.sizes, *values.shape[axis + 1 :])
        total = np.repeat(spread.sum(axis=axis + self.place, keepdims=True), len(self.names), axis=axis + self.place)
        return total.reshape(*values.shape[:axis], -1, *values.shape[axis + 1 :])


def names_across(asked: Across | None) -> dict[str, list[str]]:
    """The reductions of each dim, as they are named."""
    return {dim: _names(text) for dim, text in (asked or {}).items()}


def across_of(attrs: Mapping[str, str]) -> dict[str, list[str]]:
    """What was done across the figures of an answer, from its attributes: names of :data:`ACROSS` for each dim.

    Examples
    --------
    >>> across_of({"across": "class=mean; fold=mean,std"})
    {'class': ['mean'], 'fold': ['mean', 'std']}
    """
    said = (one.partition("=") for one in attrs.get("across", "").split("; ") if one)
    return {dim: names.split(",") for dim, _, names in said}


def is_deviation(attrs: Mapping[str, str], place: Mapping[str, object]) -> bool:
    """Whether a figure is a deviation across others, of which neither a high nor a low one is better.

    Parameters
    ----------
    attrs : mapping of str to str
        Of the answer.
    place : mapping of str to label
        Where the figure stands along the groupings and dims of the answer.
    """
    return any("std" in names and place.get(dim) == "std" for dim, names in across_of(attrs).items())


def figures_across(values: Float, axis: int, names: Sequence[str]) -> Float:
    """Reductions along one axis, which then has one place for each of them."""
    moved = np.moveaxis(values, axis, 0)
    return np.moveaxis(np.stack([ACROSS[name](moved) for name in names]), 0, axis)


def boards_of(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """The evaluations of a store, by name; of a single node, that one."""
    found = {}
    for node in tree.subtree:
        if "score" in node.data_vars:
            name = node.path.strip("/") or str(node.name or "scores")
            found[name] = as_scores(node.to_dataset())
    return found


def choose(boards: Mapping[str, xr.Dataset], metric: Names = None, group: str | None = None) -> dict[str, xr.Dataset]:
    """The evaluations that a question is about: the one of that name, else all that have the metrics.

    Raises
    ------
    UnknownNameError
        For a group, or a metric that no group has.
    QueryError
        If there is no evaluation at all, or none has all of the metrics.
    """
    if not boards:
        raise QueryError("there are no scores in this store")
    every = boards
    if group is not None:
        if group not in boards:
            raise UnknownNameError("group", group, boards)
        boards = {group: boards[group]}
    wanted = as_names(metric) or []
    for name in wanted:
        if not any(_has(ds, [name]) for ds in boards.values()):
            elsewhere = [other for other, ds in every.items() if _has(ds, [name])]
            if elsewhere:
                raise QueryError(f"group {group!r} has no metric {name!r}; groups that have it: {', '.join(elsewhere)}")
            said = explain_name(name, boards.values())
            if said:
                raise QueryError(f"unknown metric {name!r}; {said}")
            raise UnknownNameError("metric", name, {label for ds in boards.values() for label in _known(ds)})
    chosen = {name: ds for name, ds in boards.items() if _has(ds, wanted)}
    if not chosen:
        raise QueryError(f"no group has all of these metrics: {', '.join(wanted)}; groups: {', '.join(boards)}")
    return chosen


def choose_one(
    boards: Mapping[str, xr.Dataset], metric: Names = None, group: str | None = None
) -> tuple[str, xr.Dataset]:
    """The only evaluation that a question can be about, with its name.

    Raises
    ------
    QueryError
        If several answer, and as :func:`choose`.
    UnknownNameError
        For a group, or a metric that no group has.
    """
    chosen = choose(boards, metric, group)
    if len(chosen) > 1:
        listed = ", ".join(f"{name!r} (convention {one.attrs.get('convention', '?')})" for name, one in chosen.items())
        raise QueryError(f"several groups answer this: {listed}; say one (group, --group)")
    return next(iter(chosen.items()))


def _has(ds: xr.Dataset, metrics: list[str]) -> bool:
    try:
        find_metrics(ds, split_names(ds, metrics)[0])
    except UnknownNameError:
        return False
    return True


def _known(ds: xr.Dataset) -> list[str]:
    return [*names_of(ds, "metric"), *find_tables(ds).values()]


def answers(ds: xr.Dataset, question: Question, group: str = "") -> list[Answer | ExtraAnswer]:
    """The figures of all metrics of a question: those that are one number together, others each alone.

    Without a metric those that are one number answer; where there is none, the others.
    """
    numbers, variables = split_names(ds, question.metric)
    if question.metric is None and not names_of(ds, "metric"):
        listed = "track" in (as_names(question.by) or [])
        variables = [name for name, one in find_measures(ds).items() if listed or not one.metric.nominal]
    if question.param and variables:
        measures = find_measures(ds)
        variables = [one for one in variables if has_parameters(measures[one], question.param)]
        if not numbers and not variables:
            raise QueryError(f"no metric of the question has {show_parameters(question.param)}")
    found: list[Answer | ExtraAnswer] = []
    if numbers or not variables:
        found.append(ask(ds, replace(question, metric=numbers or question.metric), group))
    found += [ask_extra(ds, variable, question, group) for variable in variables]
    return [across(one, question.across) for one in found] if question.across else found


def _answer(ds: xr.Dataset, question: Question, group: str = "") -> xr.Dataset:
    """The one answer to a question as a labelled dataset."""
    found = answers(ds, question, group)
    if len(found) > 1:
        names = ", ".join(one.metric for one in found if isinstance(one, ExtraAnswer))
        raise QueryError(f"each of these metrics has dims of its own; ask for it alone: {names}")
    return found[0].to_dataset()


def aggregate(
    ds: xr.Dataset,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    **options: Unpack[QueryOptions],
) -> xr.Dataset:
    """Figures over the tracks of one evaluation, one for each system, metric and group of tracks.

    Parameters
    ----------
    ds : xr.Dataset
        A group of a result store: ``score`` and ``weight`` over (system, track, metric), ``status`` over (system,
        track), ``duration`` over (track) in seconds, and the metrics' coordinates.
    metric, aggregate, by, **options
        What is asked: see :class:`mirflow.analysis.selection.Question`.

    Returns
    -------
    xr.Dataset
        ``value`` float64, ``n`` (scores that count), ``n_missing`` and ``n_undefined`` int64, all over (system, metric,
        groups), and ``n_tracks`` over the groups. The coordinate ``aggregate`` along ``metric`` names what was
        computed; the attributes ``missing`` and ``undefined`` name the policies, ``left_out`` the metrics that have no
        such aggregate. Of a metric with extra dims: ``value`` over (system, groups, extra dims), ``n`` and
        ``n_missing`` over (system, groups); metric and aggregate are attributes.

    Raises
    ------
    QueryError
        If the question makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``, durations that are not known.
    UnknownNameError
        For a name that is not there, with a suggestion.

    Examples
    --------
    >>> import xarray as xr
    >>> names = {"system": ["A"], "track": ["x", "y"], "metric": ["majmin"]}
    >>> about = {"aggregates": "mean wcsr", "standard_aggregate": "wcsr", "orientation": "higher", "unit": ""}
    >>> ds = xr.Dataset(
    ...     {
    ...         "score": (("system", "track", "metric"), [[[1.0], [0.5]]]),
    ...         "weight": (("system", "track", "metric"), [[[30.0], [10.0]]]),
    ...         "status": (("system", "track"), [[1, 1]]),
    ...     },
    ...     names | {name: ("metric", [value]) for name, value in about.items()},
    ... )
    >>> aggregate(ds)["value"].item(), aggregate(ds, "majmin", "mean")["value"].item()
    (0.875, 0.75)
    """
    return _answer(as_scores(ds), make_question("query", metric, aggregate, by, **options))


def query(
    tree: xr.DataTree,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    *,
    group: str | None = None,
    **options: Unpack[QueryOptions],
) -> xr.Dataset:
    """Figures over the tracks of one evaluation of a store.

    Parameters
    ----------
    tree : xr.DataTree
        An opened store.
    group : str or None
        Which evaluation; None: the only one that has the metrics.
    metric, aggregate, by, **options
        What is asked: see :class:`mirflow.analysis.selection.Question`.

    Returns
    -------
    xr.Dataset
        As :func:`aggregate`, with the attribute ``group``.

    Raises
    ------
    QueryError
        If several evaluations have the metrics and `group` is None, and as :func:`aggregate`.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    name, ds = choose_one(boards_of(tree), metric, group)
    return _answer(ds, make_question("query", metric, aggregate, by, **options), name)


def count_statuses(ds: xr.Dataset) -> Int:
    """How many cells of each system have each status: int64 (systems, statuses)."""
    _, _, status, _ = arrays_of(ds)
    return np.stack([(status == one).sum(axis=1) for one in Status], axis=1).astype(np.int64)


def coverage(ds: xr.Dataset) -> xr.Dataset:
    """What became of the cells of one evaluation.

    Parameters
    ----------
    ds : xr.Dataset
        A group of scores.

    Returns
    -------
    xr.Dataset
        ``cells`` int64 (system, status): how many cells of each system have each status.
    """
    import xarray as xr

    ds = as_scores(ds)
    cells = (("system", "status"), count_statuses(ds), {"long_name": "number of cells"})
    return xr.Dataset({"cells": cells}, {"system": names_of(ds, "system"), "status": [one.name for one in Status]})


def primary_answers(
    boards: Mapping[str, xr.Dataset], question: Question, ask_one: Callable[[xr.Dataset, Question, str], Answer] = ask
) -> tuple[list[Answer], dict[str, str]]:
    """The figures of the headline metric of each evaluation.

    Parameters
    ----------
    boards : mapping of str to xr.Dataset
    question : Question
        Its metric is not looked at.
    ask_one : callable
        What answers: figures, perhaps with intervals.

    Returns
    -------
    answers : list of Answer
    left_out : dict of str to str
        Evaluations that have no figure, and what they are without: a metric that is one number a track, or a
        coordinate to group by that others have.
    """
    known = {name: _groupings(ds) for name, ds in boards.items()}
    # What no evaluation has is a mistake, and is told as one.
    wanted = [one for one in as_names(question.by) or [] if any(one in names for names in known.values())]
    found: list[Answer] = []
    left_out: dict[str, str] = {}
    for name, ds in boards.items():
        lacking = [one for one in wanted if one not in known[name]]
        if not names_of(ds, "metric"):
            left_out[name] = "a metric that is one number a track"
        elif lacking:
            left_out[name] = lacking[0]
        else:
            found.append(ask_one(ds, replace(question, metric=headline_metric(ds), exact=True), name))
    return found, left_out


def _groupings(ds: xr.Dataset) -> set[str]:
    """What tracks can be grouped by, as far as it is known before the scores are looked at."""
    return {"track", ANNOTATOR, *coords_of(ds, "track")}


_RECALLS = ("root", "majmin", "majmin_inv", "sevenths", "sevenths_inv")
"""The chord recalls that campaigns publish since 2013."""


def headline_metrics(ds: xr.Dataset, most: int = 12) -> list[str]:
    """The metrics that a short table shows: the headline, and the recalls of the field, else all, of many the first."""
    standard = texts_of(ds, "standard_aggregate")
    recalls = [label for label, kind in zip(names_of(ds, "metric"), standard, strict=True) if kind == "wcsr"]
    found = recalls or names_of(ds, "metric")
    if len(found) > most or recalls:
        found = [label for label in found if "@" not in label and "(" not in label] or found
    if len(found) > most and set(_RECALLS) < set(found):
        found = [label for label in found if label in _RECALLS]
    first = headline_metric(ds)
    return list(dict.fromkeys([*([] if first is None else [first]), *found]))[:most]
