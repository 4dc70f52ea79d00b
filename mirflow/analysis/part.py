"""What a question is about: the scores of some systems, tracks and metrics, and how they are to be counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import QueryError, UnknownNameError, counted
from ..ragged import Bool, Float
from ..status import Status
from .choosing import choose_metrics, choose_tracks
from .derived import derive
from .names import AGGREGATES, CLASS_AGGREGATES, TABLE_AGGREGATES, table_aggregates
from .over import check_over
from .policies import Gaps, are_apart, check_policies, find_gaps, included_scores
from .question import BEST, NAME, ORDERS, STORED, Names, Question
from .reduction import reduce
from .scoreboard import Scoreboard, Status8
from .selection import as_names, find_labels, find_measures, find_metrics, find_single, spell_out, split_names

_SHOWN = 5


@dataclass(frozen=True)
class Part:
    """The scores that a question is about, and the policies under which they count.

    Parameters
    ----------
    board : Scoreboard
        Where they come from, with a row for each annotation where annotators are asked for.
    systems, tracks, metrics : list of int
        Positions on the board.
    kinds : list of str
        The aggregate of each metric.
    left_out : list of str
        Metrics that have no such aggregate, where none was named.
    missing, undefined : str
        The policies.
    score, weight : float64 (systems, tracks, metrics)
    status : int8 (systems, tracks)
    duration : float64 (tracks,), seconds
    gaps : Gaps
    """

    board: Scoreboard
    systems: list[int]
    tracks: list[int]
    metrics: list[int]
    kinds: list[str]
    left_out: list[str]
    missing: str
    undefined: str
    score: Float
    weight: Float
    status: Status8
    duration: Float
    gaps: Gaps

    @property
    def system_names(self) -> list[str]:
        """The systems."""
        return [self.board.systems[place] for place in self.systems]

    @property
    def track_names(self) -> list[str]:
        """The tracks."""
        return [self.board.tracks[place] for place in self.tracks]

    @property
    def metric_names(self) -> list[str]:
        """The metrics."""
        return [self.board.metrics[place] for place in self.metrics]

    def texts(self, name: str) -> list[str]:
        """A coordinate of the metrics as text."""
        every = self.board.texts(name)
        return [every[place] for place in self.metrics]

    @property
    def valueless(self) -> str:
        """Which scores with nothing to measure are NaN: ``some``, ``all``, or empty for none."""
        known = ~np.isnan(self.score[self.gaps.undefined])
        return "" if known.all() else "some" if known.any() else "all"

    def scores(self) -> tuple[Float, Bool]:
        """The scores to aggregate and which of them count, both (systems, tracks, metrics).

        Raises
        ------
        QueryError
            For an aggregate over seconds of references that are not known.
        """
        score, included = included_scores(self.score, self.weight, self.gaps, self.missing, self.undefined)
        for kind in {"wcsr_tn", "wcsr_total"}.intersection(self.kinds):
            unknown = np.isnan(self.duration) & included.any(axis=(0, 2))
            if unknown.any():
                track = self.track_names[int(np.flatnonzero(unknown)[0])]
                raise QueryError(
                    f"aggregate {kind!r} needs the durations of the references, and that of track {track!r} is not "
                    "known here; choose wcsr, or ask a store that holds `duration`"
                )
        return score, included


def select(board: Scoreboard, question: Question, *, single: bool = False) -> Part:
    """Read what a question needs, once.

    Parameters
    ----------
    board : Scoreboard
    question : Question
    single : bool
        Each name stands for one metric, as where systems are compared: of several parameters for the default ones.

    Raises
    ------
    QueryError
        If the question makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    best_first = question.sort == BEST
    over_sort = question.sort not in (None, *ORDERS) and bool(split_names(board, question.sort)[1])
    question = replace(question, system=sort_systems(board, question), sort=None)
    board, question = derive(board, question)
    systems = find_labels(board, "system", question.system)
    board, tracks = choose_tracks(board, question)
    board, places = _metrics(board, question, single)
    if not over_sort:
        check_over(", ".join(board.metrics[place] for place in places[:1]), {}, question.over or {})
    kinds, left_out = _kinds(board, places, question.aggregate, named=question.metric is not None)
    metrics = list(kinds)
    score, weight, status, duration = board.load(systems)
    score, weight, status, duration = score[:, tracks], weight[:, tracks], status[:, tracks], duration[tracks]
    missing = question.policy(len(systems), apart=are_apart(board.attrs, status))
    # Whether a track has a reference shows in the weights of all metrics, not only those of the question.
    gaps = find_gaps(score, weight, status, duration)
    gaps = Gaps(gaps.missing[..., metrics], gaps.undefined[..., metrics], gaps.without_reference)
    # Sums depend on the memory layout in their last bits; xarray's own come from contiguous arrays.
    score, weight = np.ascontiguousarray(score[..., metrics]), np.ascontiguousarray(weight[..., metrics])
    check_policies(missing, question.undefined)
    policies = (left_out, missing, question.undefined)
    part = Part(board, systems, tracks, metrics, list(kinds.values()), *policies, score, weight, status, duration, gaps)
    _check_missing(part)
    return _best_first(part) if best_first else part


def _best_first(part: Part) -> Part:
    """The systems in the order of the first metric of which high or low values are better."""
    places = [place for place, one in enumerate(part.texts("orientation")) if one != "none"][:1]
    if not places or len(part.systems) < 2:
        return part
    score, included = part.scores()
    three = (score[..., places], part.weight[..., places], included[..., places])
    value = reduce(three[0], three[1], part.duration, part.kinds[places[0]], three[2])[:, 0]
    order = _ranked(value, part.texts("orientation")[places[0]])
    gaps = Gaps(part.gaps.missing[order], part.gaps.undefined[order], part.gaps.without_reference)
    return replace(
        part,
        systems=[part.systems[place] for place in order],
        score=np.ascontiguousarray(part.score[order]),
        weight=np.ascontiguousarray(part.weight[order]),
        status=part.status[order],
        gaps=gaps,
    )


def _ranked(value: Float, orientation: str) -> list[int]:
    """The best first. The sort is stable: what is equal stays in order, and what has no figure comes last."""
    places: list[int] = np.argsort(value if orientation == "lower" else -value, kind="stable").tolist()
    return places


def _metrics(board: Scoreboard, question: Question, single: bool) -> tuple[Scoreboard, list[int]]:
    """The metrics of a question, on a board that says for which ones the default parameters were taken."""
    places = choose_metrics(board, find_metrics(board, question.metric, exact=question.exact), question.param)
    if not single or question.exact or question.metric is None:
        return board, places
    names = as_names(question.metric) or []
    left = [name for name in names if set(find_metrics(board, name)) & set(places)]
    found = list(dict.fromkeys(find_single(board, name, places) for name in left))
    if len(found) == len(places):
        return board, found
    several = [place for place in found if len({*find_metrics(board, board.metrics[place])}.intersection(places)) > 1]
    said = {"default": ", ".join(spell_out(board, place) for place in several)} if several else {}
    return replace(board, attrs={**board.attrs, **said}), found


def sort_systems(board: Scoreboard, question: Question) -> Names:
    """The systems of a question in the order that it asks for.

    Raises
    ------
    QueryError
        If the metric to sort by is several without default parameters, or none of its values is better than another.
    UnknownNameError
        For a metric that is not there, with a suggestion.
    """
    if question.sort is None or question.sort in (BEST, STORED):
        return question.system
    names = [board.systems[place] for place in find_labels(board, "system", question.system)]
    if question.sort == NAME:
        return sorted(names)
    over = question.over if split_names(board, question.sort)[1] else None
    by = replace(question, metric=question.sort, system=names, by=None, sort=None, over=over, exact=False)
    part = select(board, by, single=True)
    (orientation,), (kind,) = part.texts("orientation"), part.kinds
    if orientation == "none":
        raise QueryError(f"sort {question.sort!r}: neither high nor low values of it are better")
    score, included = part.scores()
    value = reduce(score, part.weight, part.duration, kind, included)[:, 0]
    return [names[place] for place in _ranked(value, orientation)]


def _kinds(board: Scoreboard, places: list[int], kind: str | None, *, named: bool) -> tuple[dict[int, str], list[str]]:
    """The aggregate of each metric, by its position, and the metrics left out."""
    if kind is not None and kind not in {**AGGREGATES, **TABLE_AGGREGATES, **CLASS_AGGREGATES}:
        raise UnknownNameError("aggregate", kind, AGGREGATES)
    if kind is None:
        standard = board.texts("standard_aggregate")
        return {place: standard[place] for place in places}, []
    allowed = [text.split() for text in board.texts("aggregates")]
    refused = [place for place in places if kind not in allowed[place]]
    if refused and (named or len(refused) == len(places)):
        name, has = board.metrics[refused[0]], ", ".join(allowed[refused[0]])
        others = _with_figures(board, kind) if kind in CLASS_AGGREGATES else []
        more = f"; {kind} is read off {', '.join(others)}, which is asked for alone (--metric)" if others else ""
        raise QueryError(f"aggregate {kind!r} is not defined for metric {name!r}; it has: {has}{more}")
    return {place: kind for place in places if kind in allowed[place]}, [board.metrics[place] for place in refused]


def _with_figures(board: Scoreboard, kind: str) -> list[str]:
    """The metrics with extra dims that have an aggregate."""
    measures = find_measures(board).values()
    return [str(one) for one in measures if kind in table_aggregates(one.metric.orientation, one.metric.dims)]


def _check_missing(part: Part) -> None:
    """Refuse a policy that what is missing does not allow."""
    if part.missing == "raise" and part.gaps.missing.any():
        missing = np.asarray(part.gaps.missing.any(axis=2))
        raise QueryError(list_missing(part.system_names, part.track_names, missing, part.status))
    if part.missing == "zero":
        if "stores" in part.board.attrs and (part.status == Status.not_computed).any():
            raise QueryError(
                "some systems and tracks are in different stores, so that what a missing score would count for is not "
                "known; choose missing skip or common (--missing)"
            )
        for column, orientation in enumerate(part.texts("orientation")):
            if orientation == "lower" and part.gaps.missing[..., column].any():
                raise QueryError(
                    f"metric {part.metric_names[column]!r}: lower is better, so a missing score cannot count as 0; "
                    "choose missing skip or common (--missing)"
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
    head = f"{len(cells)} of {counted(status.size, 'cell')} have no score; mend them"
    head += " or choose missing zero, skip or common (--missing)"
    return "\n".join([head, *lines])
