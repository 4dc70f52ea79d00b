"""Data of the page about an evaluation: scores, missing cells with reasons, and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.aggregation import STORES, reduce
from ...analysis.combine import REFERENCES_DIFFER, told_cautions
from ...analysis.inference import compare, intervals
from ...analysis.missing import Gaps, are_apart, find_gaps, find_problems, included_scores
from ...analysis.per_class import ExtraAnswer, ask_extra
from ...analysis.policies import MISSING
from ...analysis.queries import headline_metrics
from ...analysis.scores import Array, arrays_of, coords_of, names_of, texts_of
from ...analysis.selection import Question, find_measures
from ...cells import EMPTY, SCORED, Status
from ...errors import QueryError
from ...metrics.aggregates import AGGREGATES, allowed_aggregates
from ...metrics.base import DESCRIBED
from ...ragged import Float
from ..captions import NO_INTERVAL, few_notes, letters_note
from ..figures.canvas import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, YELLOW
from ..figures.lanes import BAD, GOOD, HALF
from ..origins import Origin, shorten
from .embed import CompressedParts

if TYPE_CHECKING:
    import xarray as xr

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW)
"""Of systems and labels, in this order."""

VALUES = 1_000_000
"""Values of all systems together that one metric may have to be in the page."""
LABELS = {1: 2_000, 2: 400}
"""Labels along each extra dim that can be drawn, by the number of dims, without those that nobody has a value for."""


def describe_extras(ds: xr.Dataset, blocks: CompressedParts) -> list[dict[str, Any]]:
    """The metrics with extra dims of an evaluation; their numbers go to the blocks.

    Parameters
    ----------
    ds : xr.Dataset
    blocks : CompressedParts
        It grows.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``unit``, ``aggregate``, ``missing`` (the policy), ``score`` (whether values are scores,
        not counts), ``dims`` (names and labels, without those that nobody has a value for), ``value``: the number of
        a block, or why there is none.
    """
    described = []
    for variable, measure in find_measures(ds).items():
        about: dict[str, Any] = {"name": str(measure), "title": measure.metric.title, "dims": [], "unit": ""}
        sizes = list(ds[variable].shape[2:])
        if len(sizes) not in LABELS or ds.sizes["system"] * int(np.prod(sizes)) > VALUES:
            about["value"] = _too_many(sizes)
        else:
            try:
                about |= _figures(ask_extra(ds, variable, Question()), ds, blocks)
            except QueryError as error:
                about["value"] = str(error)
        described.append(about)
    return described


def _figures(answer: ExtraAnswer, ds: xr.Dataset, blocks: CompressedParts) -> dict[str, Any]:
    """One metric's figures, systems in the order of the evaluation."""
    value = answer.value[[answer.systems.index(name) for name in names_of(ds, "system")], 0]
    dims = []
    for axis, (name, labels) in enumerate(answer.labels.items(), start=1):
        others = tuple(one for one in range(value.ndim) if one != axis)
        told = ~np.isnan(value) if answer.is_score else np.nan_to_num(value) != 0
        kept = np.flatnonzero(told.any(axis=others))
        value = value.take(kept, axis=axis)
        dims.append([name, [labels[place] for place in kept.tolist()]])
    if max(value.shape[1:]) > LABELS[len(dims)]:
        return {"value": _too_many(value.shape[1:])}
    return {
        "dims": dims,
        "unit": answer.unit,
        "aggregate": answer.aggregate,
        "missing": answer.attrs["missing"],
        "score": answer.is_score,
        "value": blocks.add_floats(value),
    }


def _too_many(sizes: Sequence[int]) -> str:
    return f"It has {' x '.join(map(str, sizes))} values for each system, too many for this page."


INTERVALS = 20
"""Metrics of an evaluation that have intervals, the main ones first."""
REPLICATES = 2_000
"""Permutations of each test."""

_METHODS = {"bca": "BCa", "percentile": "percentiles"}


@dataclass(frozen=True)
class Standing:
    """What inference says of one metric's standard aggregate, over the tracks that all systems have.

    Parameters
    ----------
    aggregate : str
    low, high : tuple of float, one a system
        Ends of the 95 % intervals; NaN where there are too few tracks.
    letters : tuple of str, one a system
        Systems that share a letter are not told apart; empty where nothing was compared, or too few units were.
    how : str
        The methods, for people.
    """

    aggregate: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    letters: tuple[str, ...]
    how: str

    def as_json(self) -> dict[str, Any]:
        """For the page; JSON has no infinite numbers, so that these are words."""
        ends = {name: [_end(one) for one in getattr(self, name)] for name in ("low", "high")}
        return {**ends, **{name: getattr(self, name) for name in ("aggregate", "letters", "how")}}


def _end(value: float) -> float | str:
    return f"{'-' if value < 0 else ''}Infinity" if np.isinf(value) else value


def standings(ds: xr.Dataset, main: Sequence[int]) -> dict[int, Standing]:
    """What inference says of the metrics of an evaluation, by their positions.

    Parameters
    ----------
    ds : xr.Dataset
    main : sequence of int
        Positions of the main metrics.
    """
    chosen = list(dict.fromkeys([*main, *range(ds.sizes["metric"])]))[:INTERVALS]
    names = names_of(ds, "metric", chosen)
    if not names or not names_of(ds, "system"):
        return {}
    try:
        found = intervals(ds, Question(names, exact=True))
    except QueryError:
        return {}
    assert found.low is not None
    assert found.high is not None
    letters = _letters(ds, names_of(ds, "metric", main))
    standing = {}
    for at, place in enumerate(chosen):
        value, low, high = (values[:, at, 0] for values in (found.value, found.low, found.high))
        own, tested = letters.get(names_of(ds, "metric")[place], ((), ""))
        if not np.isnan(value).all():
            how = " ".join(filter(None, (_how(value, low, found.attrs), tested)))
            standing[place] = Standing(found.aggregates[at], tuple(low.tolist()), tuple(high.tolist()), own, how)
    return standing


def _how(value: Float, low: Float, attrs: Mapping[str, str]) -> str:
    """How intervals came about, or why there are none."""
    few = " ".join(f"{one.removeprefix(f'{NO_INTERVAL}: ').capitalize()}." for one in few_notes(value, low, attrs))
    if np.isnan(low).all():
        return few
    level = f"{float(attrs['level']):.0%}".replace("%", " %")
    method, replicates = _METHODS[attrs["method"]], attrs["replicates"]
    return f"{level} intervals: bootstrap over tracks ({method}, {replicates} replicates). {few}".strip()


def _letters(ds: xr.Dataset, names: Sequence[str]) -> dict[str, tuple[tuple[str, ...], str]]:
    """For each metric the letters of the systems, none where no two can be told apart, and what they mean."""
    if ds.sizes["system"] < 2:
        return {}
    try:
        found = compare(ds, Question(list(names), exact=True), replicates=REPLICATES, sizes=False).to_dataset()
    except QueryError:
        return {}
    said = (letters_note(found, metric) for metric in range(len(names)))
    columns = [tuple(column) if any(column) else () for column in found["letters"].values.T.tolist()]
    sentences = [f"{one[0].upper()}{one[1:]}." for one in said]
    return dict(zip(found["metric"].values.tolist(), zip(columns, sentences, strict=True), strict=True))


def order_tracks(ds: xr.Dataset, metric: int) -> list[int]:
    """Positions of all tracks: the worst, the one of the largest spread over the systems, the second worst, and so on.

    Parameters
    ----------
    ds : xr.Dataset
    metric : int
        Position of the metric that decides; without metrics the tracks keep their order.
    """
    if not names_of(ds, "metric"):
        return list(range(ds.sizes["track"]))
    score = arrays_of(ds)[0][..., metric]
    lower = texts_of(ds, "orientation")[metric] == "lower"
    worst = np.argsort(_mean(-score if lower else score), kind="stable")
    differing = np.argsort(-_spread(score), kind="stable")
    both = chain.from_iterable(zip(worst.tolist(), differing.tolist(), strict=True))
    return list(dict.fromkeys(both))


def _mean(score: Float) -> Float:
    """Mean over the systems that have a score; infinite, and so the last, where none has."""
    known = ~np.isnan(score)
    count = known.sum(axis=0)
    total = np.where(known, score, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.inf)


def _spread(score: Float) -> Float:
    """Best minus worst score of each track; 0 where there are none."""
    if not score.size:
        return np.zeros(score.shape[1])
    known = ~np.isnan(score)
    spread: Float = np.where(known, score, -np.inf).max(axis=0) - np.where(known, score, np.inf).min(axis=0)
    return np.where(np.isfinite(spread), spread, 0.0)


_MAIN = 7
GROUPS = 60
"""The most groups of tracks by one coordinate."""
LONGEST_MESSAGE = 2_000
"""Characters of a message that the page shows."""
_SILENT = EMPTY | {Status.missing_estimate, Status.missing_reference, Status.not_computed}
"""What becomes of a cell for reasons that quote nothing."""
_UNTOLD = "not shown here, as it may quote a reference"
_SCORED, _BARE = 1, 2
_ORIGIN = ("task", "convention", "grid", "combine")


def main_metrics(ds: xr.Dataset, asked: Sequence[str] = ()) -> list[int]:
    """Positions of the metrics that a table of systems shows: those that are asked for, the headline, and others."""
    shown = headline_metrics(ds, _MAIN)
    return [names_of(ds, "metric").index(name) for name in dict.fromkeys([*asked, *shown])][:_MAIN]


def describe_evaluation(
    name: str,
    ds: xr.Dataset,
    main: Sequence[int],
    standing: Mapping[int, Standing],
    blocks: CompressedParts,
    *,
    references: bool = True,
) -> dict[str, Any]:
    """One evaluation for the page, perhaps without what quotes its references; its numbers go to the blocks."""
    score, weight, status, duration = arrays_of(ds)
    gaps = find_gaps(score, weight, status, duration)
    bare = gaps.without_reference
    cells = np.where(np.isin(status, [int(one) for one in SCORED]), _SCORED, 0) + np.where(bare, _BARE, 0)
    policies, coords = _policies(ds, status), _coords(coords_of(ds, "track"))
    groupings = _groupings(coords)
    groups = [[*range(ds.sizes["track"])], *(one for own in groupings.values() for one in own)]
    statistics = _statistics(score, weight, gaps, policies, groups)
    return {
        "name": name,
        **{key: str(ds.attrs.get(key, "")) for key in _ORIGIN},
        "systems": names_of(ds, "system"),
        "systemCoords": _coords(coords_of(ds, "system")),
        "tracks": names_of(ds, "track"),
        "trackCoords": coords,
        "groupings": [[by, [own[0] for own in found]] for by, found in groupings.items()],
        "metrics": [_metric(ds, place, score, weight, statistics, blocks) for place in range(ds.sizes["metric"])],
        "main": list(main),
        "standing": [[place, one.as_json()] for place, one in standing.items()],
        "duration": blocks.add_floats(duration),
        "cells": blocks.add_bytes(cells.astype(np.uint8)),
        "statuses": _statuses(status),
        "problems": blocks.add_json(_problems(ds, references)),
        "extras": describe_extras(ds, blocks),
        "policies": policies,
        "references": str(ds.attrs.get(REFERENCES_DIFFER, "")),
        "warnings": told_cautions(ds.attrs),
    }


def describe_words() -> dict[str, Any]:
    """What the page shares with every other door: aggregates, policies, what verdicts mean, and colours."""
    return {
        "aggregates": {
            name: {"words": one.words, "above": one.above, "below": one.below} for name, one in AGGREGATES.items()
        },
        "missing": MISSING,
        # What is half right is not right.
        "leanings": {"good": GOOD, "bad": HALF + BAD},
        "colours": COLOURS,
    }


def describe_stores(name: str, origins: Sequence[Origin]) -> list[dict[str, Any]]:
    """Of each store that has an evaluation: its number, what it holds, when and with what it was scored."""
    described = []
    for number, origin in enumerate(origins):
        ds = origin.boards.get(name)
        if ds is not None:
            told = {"versions": dict(ds.attrs.get("versions", {})), "created": str(ds.attrs.get("created", ""))}
            described.append({"store": number, "systems": ds.sizes["system"], "tracks": ds.sizes["track"], **told})
    return described


def _policies(ds: xr.Dataset, status: Array) -> list[str]:
    """What can be done about missing scores, as in a query: what is done unless something is chosen comes first."""
    if STORES in ds.attrs and (status == Status.not_computed).any():
        # Nobody knows what scores would weigh that no store has.
        return ["skip", "common"] if are_apart(ds.attrs, status) else ["common", "skip"]
    return ["common", "skip", "zero"]


def _coords(coords: Mapping[str, Array]) -> list[list[Any]]:
    """Names and values of coordinates: numbers stay numbers, everything else becomes text."""
    found: list[list[Any]] = []
    for name, values in coords.items():
        numbers = values.dtype.kind in "if"
        found.append([name, [one if numbers else str(one) for one in values.tolist()]])
    return found


def _groupings(coords: Sequence[Sequence[Any]]) -> dict[str, list[list[int]]]:
    """The groups of tracks by each coordinate that can group them: with several values, not one for each track."""
    found = {}
    for name, values in coords:
        groups: dict[Any, list[int]] = {}
        for track, value in enumerate(values):
            groups.setdefault("" if value != value else value, []).append(track)
        if 1 < len(groups) <= GROUPS and len(groups) < len(values):
            found[name] = list(groups.values())
    return found


def _statistics(
    score: Float, weight: Float, gaps: Gaps, policies: Sequence[str], groups: Sequence[Sequence[int]]
) -> dict[str, Float]:
    """The aggregates that are no ratios of sums, which the page does not compute.

    Each is float64 (policies, groups of tracks, systems, metrics).
    """
    names = [name for name, one in AGGREGATES.items() if one.statistic is not None]
    shape = len(policies), len(groups), score.shape[0], score.shape[2]
    found: dict[str, Float] = {name: np.empty(shape) for name in names}
    for row, policy in enumerate(policies):
        counted, included = included_scores(score, weight, gaps, policy, "keep")
        for place, tracks in enumerate(groups):
            own = counted[:, tracks], weight[:, tracks], included[:, tracks]
            for name in names:
                found[name][row, place] = reduce(own[0], own[1], np.empty(0), name, own[2])
    return found


def _metric(
    ds: xr.Dataset,
    place: int,
    score: Float,
    weight: Float,
    statistics: Mapping[str, Float],
    blocks: CompressedParts,
) -> dict[str, Any]:
    coords = coords_of(ds, "metric")
    record = {name: _plain(coords[name][place]) for name in DESCRIBED if name in coords}
    others = [(name, _plain(values[place])) for name, values in coords.items() if name not in DESCRIBED]
    parameters = [[name, value] for name, value in others if value != "" and value == value]
    allowed = allowed_aggregates(str(record["aggregates"]))
    return {
        **record,
        "name": names_of(ds, "metric")[place],
        "aggregates": allowed,
        "parameters": parameters,
        "score": blocks.add_floats(score[..., place]),
        "weight": blocks.add_floats(weight[..., place]),
        "statistics": {name: blocks.add_floats(statistics[name][..., place]) for name in allowed if name in statistics},
    }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _statuses(status: Array) -> list[list[Any]]:
    """For each status that occurs its name and how many cells of each system have it."""
    counts = [(one.name, (status == one).sum(axis=1).tolist()) for one in Status]
    return [[name, many] for name, many in counts if any(many)]


def _problems(ds: xr.Dataset, references: bool) -> dict[str, Any]:
    """Cells without a score, or of what is empty.

    Each has the positions of system and track, status, whether there is a score, and the number of a message.
    Where stores are joined, tracks that a system's store does not have are no problems. A message about the contents of
    a file may quote a reference.
    """
    joined = STORES in ds.attrs
    systems = {name: place for place, name in enumerate(names_of(ds, "system"))}
    tracks = {name: place for place, name in enumerate(names_of(ds, "track"))}
    messages: dict[str, int] = {}
    rows = [
        [
            *(systems[one.system], tracks[one.track], one.status.name, one.scored),
            messages.setdefault(one.message if references or one.status in _SILENT else _UNTOLD, len(messages)),
        ]
        for one in find_problems(ds)
        if not (joined and one.status == Status.not_computed)
    ]
    return {"rows": rows, "messages": [shorten(message, LONGEST_MESSAGE) for message in messages]}
