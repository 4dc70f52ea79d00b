"""Figures of groups or classes to one figure of all: the mean over folds and its deviation, the mean over classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from ..errors import QueryError, UnknownNameError, counted
from ..ragged import Float, Int
from .answer import Answer
from .extra import ExtraAnswer
from .over import REDUCTIONS

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
