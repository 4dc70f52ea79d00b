"""Metrics with extra dims, such as confusion matrices, over the tracks of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..ragged import Bool, Float, Int
from .aggregate import list_missing, origin_of
from .grouping import Grouping, filled_groups, group_values
from .names import AGGREGATES, TABLE_AGGREGATES
from .policies import check_policies, find_gaps, included_scores
from .question import Question
from .scoreboard import Array, Scoreboard, Sibling
from .selection import as_names, find_labels, find_tables

if TYPE_CHECKING:
    import xarray as xr

_TRACKS = 256


@dataclass(frozen=True)
class ExtraAnswer:
    """Figures over tracks of one metric with extra dims.

    Parameters
    ----------
    metric, aggregate, unit : str
    systems : list of str
    system_coords : mapping of str to array
    groupings : mapping of str to array
        As in :class:`mirflow.analysis.answer.Answer`.
    labels : mapping of str to tuple of str
        Labels along each extra dim.
    value : float64 (systems, groups, extra dims)
        NaN where no track counts.
    n, n_missing : int64 (systems, groups)
        Tracks that count, and tracks without a score.
    n_tracks : int64 (groups,)
    attrs : mapping of str to str
    """

    metric: str
    aggregate: str
    unit: str
    systems: list[str]
    system_coords: Mapping[str, Array]
    groupings: Mapping[str, Array]
    labels: Mapping[str, tuple[str, ...]]
    value: Float
    n: Int
    n_missing: Int
    n_tracks: Int
    attrs: Mapping[str, str]

    @property
    def filled(self) -> list[int]:
        """The groups that have tracks; the only one where nothing is grouped."""
        return filled_groups(self.groupings, self.n_tracks)

    def group(self, group: int) -> tuple[object, ...]:
        """The values that make a group."""
        return group_values(self.groupings, group)

    def to_dataset(self) -> xr.Dataset:
        """``value`` over (system, groupings, extra dims), ``n`` and ``n_missing`` over (system, groupings).

        Raises
        ------
        QueryError
            If a grouping has the name of another coordinate.
        """
        import xarray as xr

        for name in self.groupings:
            if name in self.labels or name in self.system_coords:
                raise QueryError(f"by {name!r}: the name is taken by a coordinate of the answer")
        sizes = tuple(len(values) for values in self.groupings.values())
        outer = ("system", *self.groupings)
        count = (len(self.systems), *sizes)
        value = self.value.reshape(*count, *self.value.shape[2:])
        variables = {
            "value": ((*outer, *self.labels), value, {"long_name": "aggregate over tracks", "units": self.unit}),
            "n": (outer, self.n.reshape(count), {"long_name": "number of tracks that count"}),
            "n_missing": (outer, self.n_missing.reshape(count), {"long_name": "number of cells without a score"}),
            "n_tracks": (outer[1:], self.n_tracks.reshape(sizes), {"long_name": "number of tracks asked for"}),
        }
        coords = {"system": np.array(self.systems, dtype=str), **self.groupings}
        coords |= {name: np.array(labels, dtype=str) for name, labels in self.labels.items()}
        along = {name: ("system", values) for name, values in self.system_coords.items()}
        said = {"metric": self.metric, "aggregate": self.aggregate}
        return xr.Dataset(variables, {**along, **coords}, {**self.attrs, **said})


def ask_extra(board: Scoreboard, variable: str, question: Question, group: str = "") -> ExtraAnswer:
    """A metric with extra dims over the tracks: the sum, or the mean of the tracks that count.

    Parameters
    ----------
    board : Scoreboard
    variable : str
        One of :func:`mirflow.analysis.selection.find_tables`.
    question : Question
        Its metric is not looked at. ``zero`` lets missing cells count as tracks without any time.
    group : str
        A name of the evaluation to carry along.

    Raises
    ------
    QueryError
        For an aggregate that such a metric does not have, or cells missing under ``raise``.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    metric, sibling = find_tables(board)[variable], board.siblings[variable]
    kind = _kind(question.aggregate, metric)
    systems, tracks = find_labels(board, "system", question.system), find_labels(board, "track", question.tracks)
    missing = question.policy(len(systems))
    check_policies(missing, question.undefined)
    included, lacking = _included(board, systems, tracks, missing)
    grouping = Grouping.of(board, tracks, as_names(question.by) or [])
    labels = dict(zip(sibling.dims[2:], sibling.labels(), strict=True))
    shape = (len(systems), grouping.count)
    value: Float = np.zeros((*shape, *map(len, labels.values())))
    counts: Int = np.zeros((2, *shape), dtype=np.int64)
    for row, system in enumerate(systems):
        for flag, count in zip((included, lacking), counts, strict=True):
            count[row] = np.bincount(grouping.codes[flag[row]], minlength=shape[1])
        _add_up(value[row], sibling, system, np.array(tracks)[included[row]], grouping.codes[included[row]])
    number = counts[0].reshape(*shape, *[1] * len(labels)).astype(np.float64)
    value = value / np.where(number > 0, number if kind == "mean" else 1.0, np.nan)
    return ExtraAnswer(
        metric,
        kind,
        str(sibling.attrs.get("units", "")),
        [board.systems[place] for place in systems],
        {name: values[systems] for name, values in board.coords["system"].items()},
        grouping.values,
        labels,
        value,
        counts[0],
        counts[1],
        np.bincount(grouping.codes, minlength=grouping.count).astype(np.int64),
        {**origin_of(board, group), "missing": missing},
    )


def _kind(kind: str | None, metric: str) -> str:
    if kind is None:
        return next(iter(TABLE_AGGREGATES))
    if kind not in TABLE_AGGREGATES:
        if kind not in AGGREGATES:
            raise UnknownNameError("aggregate", kind, TABLE_AGGREGATES)
        has = ", ".join(TABLE_AGGREGATES)
        raise QueryError(f"aggregate {kind!r} is not defined for metric {metric!r}; it has: {has}")
    return kind


def _included(board: Scoreboard, systems: list[int], tracks: list[int], missing: str) -> tuple[Bool, Bool]:
    """The cells that count, and those without a score: bool (systems, tracks) each."""
    _, _, status, duration = board.load(systems)
    status, duration = status[:, tracks], duration[tracks]
    # There is no weight here; what has a reference that lasts would have had one.
    weight = np.broadcast_to((duration > 0)[:, np.newaxis], (*status.shape, 1)).astype(np.float64)
    gaps = find_gaps(np.zeros_like(weight), weight, status, duration)
    if missing == "raise" and gaps.missing.any():
        names = [board.systems[place] for place in systems], [board.tracks[place] for place in tracks]
        raise QueryError(list_missing(*names, gaps.missing[..., 0], status))
    _, included = included_scores(np.zeros_like(weight), weight, gaps, missing, "keep")
    return included[..., 0], gaps.missing[..., 0]


def _add_up(total: Float, sibling: Sibling, system: int, tracks: Int, groups: Sequence[int] | Int) -> None:
    """Add the values of some tracks to the totals of their groups, a few chunks at a time: dense values are large."""
    groups = np.asarray(groups)
    for start in range(0, int(tracks.max(initial=-1)) + 1, _TRACKS):
        here = (tracks >= start) & (tracks < start + _TRACKS)
        if not here.any():
            continue
        values = np.nan_to_num(sibling.read(system, slice(start, start + _TRACKS))[tracks[here] - start])
        for group in np.unique(groups[here]).tolist():
            total[group] += values[groups[here] == group].sum(axis=0)
