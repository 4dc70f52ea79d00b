"""Scores of tracks -> figures of a collection, which say how they came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..ragged import Bool, Float, Int
from ..status import Status
from .answer import Answer
from .grouping import Grouping
from .policies import Gaps, check_policies, find_gaps, included_scores
from .reduction import AGGREGATES, reduce
from .scoreboard import Scoreboard, Status8, from_dataset
from .selection import Names, as_names, find_labels, find_metrics

if TYPE_CHECKING:
    import xarray as xr

_SHOWN = 5
_ORIGIN = ("task", "convention", "grid")


def aggregate(
    ds: xr.Dataset,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    *,
    system: Names = None,
    tracks: Names = None,
    missing: str | None = None,
    undefined: str = "keep",
) -> xr.Dataset:
    """Figures over the tracks of one evaluation, one for each system, metric and group of tracks.

    Parameters
    ----------
    ds : xr.Dataset
        A group of a result store: ``score`` and ``weight`` over (system, track, metric), ``status`` over (system,
        track), ``duration`` over (track) in seconds, and the metrics' coordinates.
    metric : str, sequence of str or None
        Identities, aliases or bare names of metrics; None: all.
    aggregate : {"mean", "median", "pooled", "wcsr", "wcsr_tn", "wcsr_total"} or None
        None: each metric's standard one. Without a `metric`, those metrics answer for which it is defined.
    by : str, sequence of str or None
        Coordinates along ``track`` whose values make groups; each becomes a dim of the answer. ``track`` itself gives
        the single tracks.
    system, tracks : str, sequence of str or None
        Which ones; None: all.
    missing : {"raise", "zero", "skip", "common"} or None
        What is done about cells without a score. ``zero`` counts them as 0 with the weight of an empty estimate
        (tracks without a reference are left out all the same); ``common`` takes only tracks that every system of the
        question has. None: ``common`` where several systems are compared, else ``skip``.
    undefined : {"keep", "skip"}
        Whether scores with nothing to measure (weight 0) count with their stored value, usually 0.

    Returns
    -------
    xr.Dataset
        ``value`` float64, ``n`` (scores that count), ``n_missing`` and ``n_undefined`` int64, all over (system, metric,
        groups), and ``n_tracks`` over the groups. The coordinate ``aggregate`` along ``metric`` names what was
        computed; the attributes ``missing`` and ``undefined`` name the policies, ``left_out`` the metrics that have no
        such aggregate.

    Raises
    ------
    QueryError
        If the question makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``.
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
    board = from_dataset(ds)
    return ask(
        board, metric, aggregate, by, system=system, tracks=tracks, missing=missing, undefined=undefined
    ).to_dataset()


def ask(
    board: Scoreboard,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    *,
    system: Names = None,
    tracks: Names = None,
    missing: str | None = None,
    undefined: str = "keep",
    group: str = "",
) -> Answer:
    """The same for scores as plain arrays; see :func:`aggregate`. `group` is a name to carry along."""
    places = find_metrics(board, metric)
    kinds, left_out = _kinds(board, places, aggregate, named=metric is not None)
    part = _Part.of(board, find_labels(board, "system", system), find_labels(board, "track", tracks), list(kinds))
    missing = missing or ("common" if len(part.systems) > 1 else "skip")
    check_policies(missing, undefined)
    part.check_missing(missing)
    grouping = Grouping.of(board, part.tracks, as_names(by) or [])
    value, counts, n_tracks = _compute(part, list(kinds.values()), grouping, missing, undefined)
    origin = {name: str(board.attrs[name]) for name in _ORIGIN if name in board.attrs}
    policies = {"missing": missing, "undefined": undefined, "left_out": " ".join(left_out)}
    return Answer(
        [board.systems[place] for place in part.systems],
        [board.metrics[place] for place in part.metrics],
        list(kinds.values()),
        {name: values[part.systems] for name, values in board.coords["system"].items()},
        {name: values[part.metrics] for name, values in board.coords["metric"].items()},
        grouping.values,
        value,
        counts,
        n_tracks,
        {**({"group": group} if group else {}), **origin, **policies},
    )


def _kinds(board: Scoreboard, places: list[int], kind: str | None, *, named: bool) -> tuple[dict[int, str], list[str]]:
    """The aggregate of each metric, by its position, and the metrics left out."""
    if kind is not None and kind not in AGGREGATES:
        raise UnknownNameError("aggregate", kind, AGGREGATES)
    if kind is None:
        standard = board.texts("standard_aggregate")
        return {place: standard[place] for place in places}, []
    allowed = [text.split() for text in board.texts("aggregates")]
    refused = [place for place in places if kind not in allowed[place]]
    if refused and (named or len(refused) == len(places)):
        name, has = board.metrics[refused[0]], ", ".join(allowed[refused[0]])
        raise QueryError(f"aggregate {kind!r} is not defined for metric {name!r}; it has: {has}")
    return {place: kind for place in places if kind in allowed[place]}, [board.metrics[place] for place in refused]


@dataclass(frozen=True)
class _Part:
    """What a question is about: positions of systems, tracks and metrics, and the arrays over them."""

    board: Scoreboard
    systems: list[int]
    tracks: list[int]
    metrics: list[int]
    score: Float
    weight: Float
    status: Status8
    duration: Float
    gaps: Gaps

    @classmethod
    def of(cls, board: Scoreboard, systems: list[int], tracks: list[int], metrics: list[int]) -> _Part:
        """Read what the question needs, once."""
        score, weight, status, duration = board.load(systems)
        score, weight, status, duration = score[:, tracks], weight[:, tracks], status[:, tracks], duration[tracks]
        # Whether a track has a reference shows in the weights of all metrics, not only those of the question.
        gaps = find_gaps(score, weight, status, duration)
        gaps = Gaps(gaps.missing[..., metrics], gaps.undefined[..., metrics], gaps.without_reference)
        # Sums depend on the memory layout in their last bits; xarray's own come from contiguous arrays.
        score, weight = np.ascontiguousarray(score[..., metrics]), np.ascontiguousarray(weight[..., metrics])
        return cls(board, systems, tracks, metrics, score, weight, status, duration, gaps)

    def check_missing(self, policy: str) -> None:
        """Refuse a policy that what is missing does not allow."""
        if policy == "raise" and self.gaps.missing.any():
            raise QueryError(self._list_missing())
        if policy == "zero":
            orientations = self.board.texts("orientation")
            for column, place in enumerate(self.metrics):
                if orientations[place] == "lower" and self.gaps.missing[..., column].any():
                    raise QueryError(
                        f"metric {self.board.metrics[place]!r}: lower is better, so a missing score cannot count as 0; "
                        "choose missing: skip or common"
                    )

    def _list_missing(self) -> str:
        cells = np.argwhere(self.gaps.missing.any(axis=2))
        lines = [
            f"  system {self.board.systems[self.systems[s]]!r}, track {self.board.tracks[self.tracks[t]]!r}: "
            f"{Status(int(self.status[s, t])).name}"
            for s, t in cells[:_SHOWN].tolist()
        ]
        if len(cells) > _SHOWN:
            lines.append(f"  and {len(cells) - _SHOWN} more")
        head = (
            f"{len(cells)} of {self.status.size} cells have no score; mend them or choose missing: zero, skip, common"
        )
        return "\n".join([head, *lines])


def _compute(
    part: _Part, kinds: Sequence[str], grouping: Grouping, missing: str, undefined: str
) -> tuple[Float, dict[str, Int], Int]:
    """Values and counts (systems, metrics, groups), and tracks (groups,)."""
    score, included = included_scores(part.score, part.weight, part.gaps, missing, undefined)
    flags = {"n": included, "n_missing": part.gaps.missing, "n_undefined": part.gaps.undefined}
    shape = (len(part.systems), len(part.metrics), grouping.count)
    value: Float = np.full(shape, np.nan)
    counts: dict[str, Int] = {name: np.zeros(shape, dtype=np.int64) for name in flags}
    n_tracks: Int = np.zeros(grouping.count, dtype=np.int64)
    columns = {kind: [place for place, one in enumerate(kinds) if one == kind] for kind in dict.fromkeys(kinds)}
    for group, members in grouping.members().items():
        whole = len(members) == len(part.tracks)
        three = (score, part.weight, included)
        inside = three if whole else (score[:, members], part.weight[:, members], included[:, members])
        for kind, chosen in columns.items():
            scores, weights, counted = inside if len(columns) == 1 else _columns(inside, chosen)
            value[:, chosen, group] = reduce(scores, weights, part.duration[members], kind, counted)
        for name, flag in flags.items():
            counts[name][..., group] = flag[:, members].sum(axis=1)
        n_tracks[group] = len(members)
    return value, counts, n_tracks


def _columns(arrays: tuple[Float, Float, Bool], chosen: list[int]) -> tuple[Float, Float, Bool]:
    """Some metrics of scores, weights and what is included, contiguous like the whole."""
    score, weight, included = arrays
    return np.ascontiguousarray(score[..., chosen]), np.ascontiguousarray(weight[..., chosen]), included[..., chosen]
