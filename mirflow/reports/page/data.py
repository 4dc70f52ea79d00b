"""Data of the page about an evaluation: scores, missing cells with reasons, and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.aggregation import STORES, reduce
from ...analysis.inference import compare, intervals
from ...analysis.missing import are_apart, find_gaps, find_problems, included_scores
from ...analysis.per_class import aggregate_table, select_table
from ...analysis.policies import MISSING
from ...analysis.queries import headline_metrics
from ...analysis.scores import Array, arrays_of, coords_of, names_of
from ...analysis.selection import Query, find_measures
from ...cells import EMPTY, Status
from ...errors import QueryError
from ...metrics.aggregates import AGGREGATES, allowed_aggregates
from ...metrics.measures import DESCRIBED
from ...ragged import Bool, Float
from ...store.format import REFERENCES_DIFFER, list_cautions
from ..captions import NO_INTERVAL, few_notes, letters_note
from ..figures.canvas import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, YELLOW
from ..figures.lanes import BAD, GOOD, HALF
from ..origins import Origin, shorten
from ..results import Result
from .embed import CompressedParts

if TYPE_CHECKING:
    import xarray as xr

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW)
"""Of systems and labels, in this order."""

VALUES = 1_000_000
"""Values of all systems together that one metric may have to be in the page."""
LABELS = {1: 2_000, 2: 400}
"""Labels along each extra dim that can be drawn, by the number of dims, without those that nobody has a value for."""


def describe_extras(scores: xr.Dataset, blocks: CompressedParts) -> list[dict[str, Any]]:
    """The metrics with extra dims of an evaluation; their numbers go to the blocks.

    Parameters
    ----------
    scores : xr.Dataset
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
    for variable, measure in find_measures(scores).items():
        about: dict[str, Any] = {"name": str(measure), "title": measure.metric.title, "dims": [], "unit": ""}
        sizes = list(scores[variable].shape[2:])
        if len(sizes) not in LABELS or scores.sizes["system"] * int(np.prod(sizes)) > VALUES:
            about["value"] = _too_many(sizes)
        else:
            try:
                about |= _values(
                    aggregate_table(select_table(scores, variable, Query())), names_of(scores, "system"), blocks
                )
            except QueryError as error:
                about["value"] = str(error)
        described.append(about)
    return described


def _values(ds: xr.Dataset, systems: Sequence[str], blocks: CompressedParts) -> dict[str, Any]:
    place = {name: at for at, name in enumerate(ds["system"].values.tolist())}
    value, dims = ds["value"].values[[place[name] for name in systems]], []
    is_score = ds.attrs["orientation"] != "none" or "nominal" in ds.attrs
    for axis, name in enumerate(ds["value"].dims[1:], start=1):
        others = tuple(one for one in range(value.ndim) if one != axis)
        there = ~np.isnan(value) if is_score else np.nan_to_num(value) != 0
        kept = np.flatnonzero(there.any(axis=others))
        value = value.take(kept, axis=axis)
        dims.append([name, [str(label) for label in ds[name].values[kept].tolist()]])
    if max(value.shape[1:]) > LABELS[len(dims)]:
        return {"value": _too_many(value.shape[1:])}
    about = {name: ds.attrs[name] for name in ("aggregate", "missing")}
    return {
        **about,
        "dims": dims,
        "unit": ds["value"].attrs["units"],
        "score": is_score,
        "value": blocks.add_floats(value),
    }


def _too_many(sizes: Sequence[int]) -> str:
    return f"It has {' x '.join(map(str, sizes))} values for each system, too many for this page."


INTERVALS = 20
"""Metrics of an evaluation that have intervals, the main ones first."""
REPLICATES = 2_000
"""Permutations of each test."""
_METHODS = {"bca": "BCa", "percentile": "percentiles"}


def describe_inference(scores: xr.Dataset, main: Sequence[int]) -> list[tuple[int, dict[str, Any]]]:
    """Intervals and significance groups of metrics by their standard aggregates, over the tracks all systems have.

    Parameters
    ----------
    scores : xr.Dataset
    main : sequence of int
        Positions of the main metrics, whose systems are compared.

    Returns
    -------
    list of (int, dict)
        Position of a metric; ``aggregate``, ``low`` and ``high``, one a system (ends of the 95 % intervals; NaN where
        there are too few tracks, words where they are infinite), ``letters`` (none where nothing was compared, or too
        few units were) and ``how``, the methods for people.
    """
    chosen = list(dict.fromkeys([*main, *range(scores.sizes["metric"])]))[:INTERVALS]
    names = names_of(scores, "metric", chosen)
    if not names or not names_of(scores, "system"):
        return []
    try:
        found = Result.of(intervals(scores, Query(names, exact=True)))
    except QueryError:
        return []
    groups = _significance_groups(scores, names_of(scores, "metric", main))
    described = []
    for at, place in enumerate(chosen):
        value, low, high = (values[:, 0, at] for values in (found.value, *found.ends))
        letters, tested = groups.get(names[at], ([], ""))
        if np.isnan(value).all():
            continue
        few = [f"{one.removeprefix(f'{NO_INTERVAL}: ').capitalize()}." for one in few_notes(value, low, found.attrs)]
        level = f"{float(found.attrs['level']):.0%}".replace("%", " %")
        drawn = f"{_METHODS[found.attrs['method']]}, {found.attrs['replicates']} replicates"
        how = [] if np.isnan(low).all() else [f"{level} intervals: bootstrap over tracks ({drawn})."]
        ends = {name: list(map(_end, end.tolist())) for name, end in (("low", low), ("high", high))}
        words = " ".join(filter(None, [*how, *few, tested]))
        described.append((place, {**ends, "aggregate": found.aggregates[at], "letters": letters, "how": words}))
    return described


def _end(value: float) -> float | str:
    """JSON has no infinite numbers, so that these are words."""
    return f"{'-' if value < 0 else ''}Infinity" if np.isinf(value) else value


def _significance_groups(scores: xr.Dataset, names: Sequence[str]) -> dict[str, tuple[list[str], str]]:
    """For each metric the letters of the systems, none where no two can be told apart, and what they mean."""
    try:
        ds = compare(scores, Query(list(names), exact=True), replicates=REPLICATES, sizes=False)
    except QueryError:  # of one system
        return {}
    found = {}
    for metric, (name, letters) in enumerate(zip(ds["metric"].values, ds["letters"].values.T.tolist(), strict=True)):
        note = letters_note(ds, metric)
        found[str(name)] = letters if any(letters) else [], f"{note[0].upper()}{note[1:]}."
    return found


def order_tracks(scores: xr.Dataset, metric: int) -> list[int]:
    """Positions of all tracks: the worst, the one of the largest spread over the systems, the second worst, and so on.

    Parameters
    ----------
    scores : xr.Dataset
    metric : int
        Position of the metric that decides; with none in the scores the tracks keep their order.
    """
    if not names_of(scores, "metric"):
        return list(range(scores.sizes["track"]))
    score = arrays_of(scores)[0][..., metric]
    known, sign = ~np.isnan(score), -1 if names_of(scores, "orientation")[metric] == "lower" else 1
    count = known.sum(axis=0)
    total = np.where(known, sign * score, 0.0).sum(axis=0)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    largest = np.where(known, score, -np.inf).max(axis=0, initial=-np.inf)
    spread = largest - np.where(known, score, np.inf).min(axis=0, initial=np.inf)
    differing = np.argsort(-np.where(np.isfinite(spread), spread, 0.0), kind="stable")
    both = chain.from_iterable(zip(np.argsort(mean, kind="stable").tolist(), differing.tolist(), strict=True))
    return list(dict.fromkeys(both))


_MAIN = 7
GROUPS = 60
"""The most groups of tracks by one coordinate."""
LONGEST_MESSAGE = 2_000
"""Characters of a message that the page shows."""
_WITHOUT_QUOTES = EMPTY | {Status.missing_estimate, Status.missing_reference, Status.not_computed}
"""Statuses whose messages quote nothing."""
_WITHHELD = "not shown here, as it may quote a reference"
_MISSING, _UNDEFINED, _POLICIES = 1, 2, 2
"""Bits of a cell's flags; from the third one on it counts under the first, second, ... policy."""
_ORIGIN = ("task", "convention", "grid", "combine")


def main_metrics(scores: xr.Dataset, asked: Sequence[str] = ()) -> list[int]:
    """Positions of the metrics that a table of systems shows: those that are asked for, the headline, and others."""
    shown, names = headline_metrics(scores, _MAIN), names_of(scores, "metric")
    return [names.index(name) for name in dict.fromkeys([*asked, *shown])][:_MAIN]


def describe_evaluation(
    name: str,
    scores: xr.Dataset,
    main: Sequence[int],
    blocks: CompressedParts,
    *,
    inference: bool = True,
    references: bool = True,
) -> dict[str, Any]:
    """One evaluation for the page, perhaps without what quotes its references; its numbers go to the blocks."""
    score, weight, status, duration = arrays_of(scores)
    gaps = find_gaps(score, weight, status, duration)
    policies, coords = _policies(scores, status), _coords(coords_of(scores, "track"))
    counted = [included_scores(score, weight, gaps, policy, "keep") for policy in policies]
    flags = _MISSING * gaps.missing + _UNDEFINED * gaps.undefined
    flags += sum((included.astype(int) << (_POLICIES + at) for at, (_, included) in enumerate(counted)), start=0)
    groupings = _groupings(coords)
    groups = [[*range(scores.sizes["track"])], *(one for own in groupings.values() for one in own)]
    statistics = _statistics(counted, weight, groups)
    metrics = []
    for place, metric in enumerate(names_of(scores, "metric")):
        described = _describe_metric(scores, place)
        numbers = {"score": blocks.add_floats(score[..., place]), "weight": blocks.add_floats(weight[..., place])}
        numbers["flags"] = blocks.add_bytes(flags[..., place].astype(np.uint8))
        own = {
            kind: blocks.add_floats(statistics[kind][..., place])
            for kind in described["aggregates"]
            if kind in statistics
        }
        allowed = [policy for policy in policies if policy != "zero" or described["sign"] >= 0]
        metrics.append({**described, "name": metric, "policies": allowed, **numbers, "statistics": own})
    counts = [(one.name, (status == one).sum(axis=1).tolist()) for one in Status]
    return {
        "name": name,
        **{key: str(scores.attrs.get(key, "")) for key in _ORIGIN},
        "systems": names_of(scores, "system"),
        "systemCoords": _coords(coords_of(scores, "system")),
        "tracks": names_of(scores, "track"),
        "trackCoords": coords,
        "groupings": [[by, [own[0] for own in found]] for by, found in groupings.items()],
        "metrics": metrics,
        "main": list(main),
        "inference": describe_inference(scores, main) if inference else [],
        "duration": blocks.add_floats(duration),
        "statuses": [[status_name, many] for status_name, many in counts if any(many)],
        "problems": blocks.add_json(_problems(scores, references)),
        "extras": describe_extras(scores, blocks),
        "policies": policies,
        "references": str(scores.attrs.get(REFERENCES_DIFFER, "")),
        "warnings": list_cautions(scores.attrs),
    }


def describe_words() -> dict[str, Any]:
    """Facts that the page shares with commands and figures: aggregates, policies, signs of verdicts, and colours."""
    return {
        "aggregates": {
            name: {"words": one.words, "above": one.above, "below": one.below} for name, one in AGGREGATES.items()
        },
        "missing": MISSING,
        # What is half right is not right.
        "signs": {"good": GOOD, "bad": HALF + BAD},
        "colours": COLOURS,
    }


def describe_stores(name: str, origins: Sequence[Origin]) -> list[dict[str, Any]]:
    """Of each store that has an evaluation: its number, what it holds, when and with what it was scored."""
    described = []
    for number, origin in enumerate(origins):
        ds = origin.boards.get(name)
        if ds is not None:
            scored = {"versions": dict(ds.attrs.get("versions", {})), "created": str(ds.attrs.get("created", ""))}
            described.append({"store": number, "systems": ds.sizes["system"], "tracks": ds.sizes["track"], **scored})
    return described


def _policies(scores: xr.Dataset, status: Array) -> list[str]:
    """Policies for missing scores, as in a query, the default first."""
    if STORES in scores.attrs and (status == Status.not_computed).any():
        # Nobody knows what scores would weigh that no store has.
        return ["skip", "common"] if are_apart(scores.attrs, status) else ["common", "skip"]
    return ["common", "skip", "zero"]


def _coords(coords: Mapping[str, Array]) -> list[list[Any]]:
    """Names and values of coordinates: numbers stay numbers, everything else becomes text."""
    numbers = {name: values.dtype.kind in "if" for name, values in coords.items()}
    return [[name, [one if numbers[name] else str(one) for one in own.tolist()]] for name, own in coords.items()]


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
    counted: Sequence[tuple[Float, Bool]], weight: Float, groups: Sequence[Sequence[int]]
) -> dict[str, Float]:
    """The aggregates that are no ratios of sums, which the page does not compute.

    Each is float64 (policies, groups of tracks, systems, metrics).
    """
    names = [name for name, one in AGGREGATES.items() if one.statistic is not None]
    shape = len(counted), len(groups), weight.shape[0], weight.shape[2]
    found: dict[str, Float] = {name: np.empty(shape) for name in names}
    for row, (score, included) in enumerate(counted):
        for place, tracks in enumerate(groups):
            own = score[:, tracks], weight[:, tracks], included[:, tracks]
            for name in names:
                found[name][row, place] = reduce(own[0], own[1], np.empty(0), name, own[2])
    return found


def _describe_metric(scores: xr.Dataset, place: int) -> dict[str, Any]:
    """The record of a metric, its parameters, and its sign: 1 where high scores are good, -1 where low ones are."""
    own = {name: values[place] for name, values in coords_of(scores, "metric").items()}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in own.items()}
    record = {name: plain[name] for name in DESCRIBED if name in plain}
    parameters = [[name, value] for name, value in plain.items() if name not in DESCRIBED]
    return {
        **record,
        "sign": {"higher": 1, "lower": -1}.get(record["orientation"], 0),
        "aggregates": allowed_aggregates(str(record["aggregates"])),
        "parameters": [[name, value] for name, value in parameters if value != "" and value == value],
    }


def _problems(scores: xr.Dataset, references: bool) -> dict[str, Any]:
    """Cells without a score, or of what is empty.

    Each has the positions of system and track, status, whether there is a score, and the number of a message.
    Where stores are joined, tracks that a system's store does not have are no problems. A message about the contents of
    a file may quote a reference.
    """
    joined = STORES in scores.attrs
    systems, tracks = (
        {name: place for place, name in enumerate(names)}
        for names in (names_of(scores, "system"), names_of(scores, "track"))
    )
    messages: dict[str, int] = {}
    rows = [
        [
            *(systems[one.system], tracks[one.track], one.status.name, one.scored),
            messages.setdefault(
                one.message if references or one.status in _WITHOUT_QUOTES else _WITHHELD, len(messages)
            ),
        ]
        for one in find_problems(scores)
        if not (joined and one.status == Status.not_computed)
    ]
    return {"rows": rows, "messages": [shorten(message, LONGEST_MESSAGE) for message in messages]}
