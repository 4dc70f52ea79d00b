"""Scores of tracks -> figures of a collection, which say how they came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..ragged import Bool, Float, Int
from ..status import Status
from .annotators import ANNOTATOR, by_annotator
from .answer import Answer
from .grouping import Grouping
from .names import AGGREGATES, TABLE_AGGREGATES
from .policies import Gaps, check_policies, find_gaps, included_scores
from .question import Question
from .reduction import reduce
from .scoreboard import Scoreboard, Status8
from .selection import as_names, find_labels, find_metrics

_SHOWN = 5
_ORIGIN = ("task", "convention", "grid")


def ask(board: Scoreboard, question: Question | None = None, group: str = "") -> Answer:
    """Figures over the tracks of one evaluation, one for each system, metric and group of tracks.

    Parameters
    ----------
    board : Scoreboard
    question : Question or None
        None: all metrics with their standard aggregates.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    Answer

    Raises
    ------
    QueryError
        If the question makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``, durations that are not known.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    question = question or Question()
    by, tracks = as_names(question.by) or [], find_labels(board, "track", question.tracks)
    missing = question.policy(len(find_labels(board, "system", question.system)))
    if ANNOTATOR in by and ANNOTATOR not in board.coords["track"]:
        if missing == "zero":
            raise QueryError(
                "by 'annotator': a missing score cannot count as 0, as the weights of empty estimates are not kept "
                "by annotator; choose missing: skip or common"
            )
        board = by_annotator(board, tracks)
        tracks = list(range(len(board.tracks)))
    places = find_metrics(board, question.metric)
    kinds, left_out = _kinds(board, places, question.aggregate, named=question.metric is not None)
    part = _Part.of(board, find_labels(board, "system", question.system), tracks, list(kinds))
    check_policies(missing, question.undefined)
    part.check_missing(missing)
    grouping = Grouping.of(board, part.tracks, by)
    value, counts, n_tracks = _compute(part, list(kinds.values()), grouping, missing, question.undefined)
    policies = {"missing": missing, "undefined": question.undefined, "left_out": " ".join(left_out)}
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
        {**origin_of(board, group), **policies},
    )


def origin_of(board: Scoreboard, group: str) -> dict[str, str]:
    """Where the numbers of an answer come from."""
    origin = {name: str(board.attrs[name]) for name in _ORIGIN if name in board.attrs}
    return {**({"group": group} if group else {}), **origin}


def _kinds(board: Scoreboard, places: list[int], kind: str | None, *, named: bool) -> tuple[dict[int, str], list[str]]:
    """The aggregate of each metric, by its position, and the metrics left out."""
    if kind is not None and kind not in {**AGGREGATES, **TABLE_AGGREGATES}:
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
            systems = [self.board.systems[place] for place in self.systems]
            tracks = [self.board.tracks[place] for place in self.tracks]
            raise QueryError(list_missing(systems, tracks, np.asarray(self.gaps.missing.any(axis=2)), self.status))
        if policy == "zero":
            orientations = self.board.texts("orientation")
            for column, place in enumerate(self.metrics):
                if orientations[place] == "lower" and self.gaps.missing[..., column].any():
                    raise QueryError(
                        f"metric {self.board.metrics[place]!r}: lower is better, so a missing score cannot count as 0; "
                        "choose missing: skip or common"
                    )

    def check_durations(self, kinds: Sequence[str], included: Bool) -> None:
        """Refuse an aggregate over seconds of references that are not known."""
        for kind in set(kinds) & {"wcsr_tn", "wcsr_total"}:
            unknown = np.isnan(self.duration) & included.any(axis=(0, 2))
            if unknown.any():
                track = self.board.tracks[self.tracks[int(np.flatnonzero(unknown)[0])]]
                raise QueryError(
                    f"aggregate {kind!r} needs the durations of the references, and that of track {track!r} is not "
                    "known here; choose wcsr, or ask a store that holds `duration`"
                )


def list_missing(systems: Sequence[str], tracks: Sequence[str], missing: Bool, status: Status8) -> str:
    """The cells (systems, tracks) without a score, as a message that says what to do."""
    cells = np.argwhere(missing)
    lines = [
        f"  system {systems[s]!r}, track {tracks[t]!r}: {Status(int(status[s, t])).name}"
        for s, t in cells[:_SHOWN].tolist()
    ]
    if len(cells) > _SHOWN:
        lines.append(f"  and {len(cells) - _SHOWN} more")
    head = f"{len(cells)} of {status.size} cells have no score; mend them or choose missing: zero, skip, common"
    return "\n".join([head, *lines])


def _compute(
    part: _Part, kinds: Sequence[str], grouping: Grouping, missing: str, undefined: str
) -> tuple[Float, dict[str, Int], Int]:
    """Values and counts (systems, metrics, groups), and tracks (groups,)."""
    score, included = included_scores(part.score, part.weight, part.gaps, missing, undefined)
    part.check_durations(kinds, included)
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
