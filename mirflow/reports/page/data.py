"""Data of the page about an evaluation: scores, aggregates, intervals, values by class, missing cells with reasons.

Systems are compared by the main metrics, and tracks ordered by how much they are worth looking at.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.aggregation import reduce
from ...analysis.inference import compare, intervals
from ...analysis.inference.comparisons import compared_blocks, gaps_to_best
from ...analysis.inference.rank_tests import first_shares, rank_bounds
from ...analysis.inference.resampling import Resampling
from ...analysis.lookup import CLASS, find_measures
from ...analysis.per_class import COUNT, OUTCOME, SIDE, aggregate_table, select_table, tell_outcomes
from ...analysis.queries import headline_metrics
from ...analysis.query_options import DEFAULT_LEVEL, MISSING, Query, alpha_of, say_intervals, say_level
from ...analysis.scores import Array, computed, coords_of, names_of, numbers_of, numerators_of, states_of
from ...analysis.selection import (
    STORES,
    CellProblem,
    bare_cells,
    count_scores,
    find_problems,
    list_shown,
    warn_withheld,
    with_surplus,
)
from ...analysis.signatures import sign
from ...errors import QueryError, shorten
from ...kernels.outcomes import COUNTED
from ...metrics.aggregates import (
    AGGREGATES,
    DECLARED,
    ORDER_AGGREGATES,
    RATIOS,
    STATISTICS,
    allowed_aggregates,
    table_aggregates,
)
from ...metrics.measures import DESCRIBED, SIGN_OF, Measure
from ...ragged import Bool, Float
from ...store.cells import CellRemark, Status
from ...store.format import REFERENCES_DIFFER, WARNINGS, list_cautions
from ..captions import NO_INTERVAL, few_notes, letters_note, task_title
from ..drawing import BAD, BLUE, GOOD, GREEN, HALF, ORANGE, PURPLE, RED, SKY, YELLOW, short_names
from ..inference_tables import show_ranks
from ..standings import rank_result, settled_decimals
from ..tables import aggregate_in_words
from .embed import Parts, pack_floats, pack_json

if TYPE_CHECKING:
    import xarray as xr

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW)
"""Of systems and labels, in this order."""

VALUES = 1_000_000
"""Values of all systems together that one metric may have to be in the page."""
LABELS = {1: 2_000, 2: 400}
"""Labels along each extra dim that can be drawn, by the number of dims; labels without any value do not count."""


_RATIOS = ("f_measure", "recall", "precision")
"""Ratios that are shown, of those that a metric has."""
_MEAN = "mean"
_MOST_CELLS = 20_000_000
"""Systems times tracks times classes above which no intervals are computed for a page."""


def describe_classes(
    scores: xr.Dataset, variable: str, measure: Measure, parts: Parts, name: str, group: str
) -> list[list[Any]]:
    """Describe the tables of a metric with classes or tags; their numbers become separate parts.

    `name`: what the names of the parts begin with. Returns name, words and part of each aggregate; none for metrics
    without classes, or with other dims as well. A part has the ``labels``, one of each class, ``n`` (what the
    references have of it, or the tracks that are about it), over systems and classes ``value``, ``low`` and ``high``,
    as in a query with intervals; and ``how`` and ``count``, what intervals and `n` are.
    """
    dims = [dim for dim in measure.metric.dims if dim not in (OUTCOME, COUNT, SIDE)]
    table = scores[variable]
    known = table_aggregates(measure.metric.orientation, measure.metric.dims)
    kinds = [kind for kind in _RATIOS if kind in known] or [kind for kind in ORDER_AGGREGATES if kind in known][:2]
    if measure.metric.orientation != "none" and not measure.metric.nominal and len(dims) == 1:
        kinds = [_MEAN]
    confused = dims == ["ref_class", "est_class"]
    if not kinds or (len(dims) != 1 and not confused) or math.prod(table.shape) > _MOST_CELLS:
        return []
    return [
        [
            kind,
            (DECLARED.get(kind) or AGGREGATES[kind]).words,
            parts.put(f"{name}/{kind}", partial(_pack_classes, scores, variable, measure, kind, group)),
        ]
        for kind in kinds
    ]


def _pack_classes(scores: xr.Dataset, variable: str, measure: Measure, kind: str, group: str) -> bytes:
    asked = Query((str(measure),), exact=True, aggregate=None if kind == _MEAN else kind)
    try:
        found = intervals(scores, asked, group=group)
    except QueryError as error:
        return pack_json({"why": str(error)})
    value, low, high = (found[name].values for name in ("value", "low", "high"))
    (dim,) = found["value"].dims[1:]
    few = [f"{note[0].upper()}{note[1:]}." for note in few_notes(value, low, found.attrs)]
    level = say_level(found.attrs["level"])
    how = [] if np.isnan(low).all() else [f"{level} intervals: {say_intervals(found.attrs, 'tracks')}."]
    number, counted = found["n_values"].values.max(axis=0), "Tracks"
    if kind in _RATIOS:
        # What the references have of each class, summed over the tracks.
        sums = aggregate_table(select_table(scores, variable, Query()))
        names = {str(one): tuple(map(str, sums[one].values.tolist())) for one in sums["value"].dims[1:]}
        outcomes, left = tell_outcomes("recall", str(measure), np.nan_to_num(sums["value"].values), names)
        (known,) = left.values()
        support = (outcomes[..., COUNTED.index("hit")] + outcomes[..., COUNTED.index("miss")]).max(axis=0)
        number, counted = support[[known.index(str(label)) for label in found[dim].values]], "In references"
    order = [found["system"].values.tolist().index(name) for name in scores["system"].values.tolist()]
    labels = [str(label) for label in found[dim].values.tolist()]
    about = {"dim": "class" if dim == CLASS else str(dim), "labels": labels, "n": number.tolist(), "count": counted}
    numbers = {"value": value[order], "low": low[order], "high": high[order]}
    return pack_json({**about, "how": " ".join([*how, *few]), **numbers})


def describe_extras(scores: xr.Dataset, parts: Parts, name: str = "extra", group: str = "") -> list[dict[str, Any]]:
    """Describe the metrics with extra dims of an evaluation; their numbers become separate parts.

    `name`: what the names of the parts begin with. Returns ``name``, ``title``, ``unit``, ``aggregate``, ``missing``
    (the policy), ``score`` (whether values are scores, not counts), ``dims`` (names and labels, without those of no
    value), ``value``: the part, or ``why`` there is none; ``classes``, see `describe_classes`.
    """
    described = []
    for index, (variable, measure) in enumerate(find_measures(scores).items()):
        about: dict[str, Any] = {"name": str(measure), "title": measure.metric.title, "dims": [], "unit": ""}
        about["classes"] = describe_classes(scores, variable, measure, parts, f"{name}/{index}", group)
        sizes = list(scores[variable].shape[2:])
        if len(sizes) not in LABELS or scores.sizes["system"] * int(np.prod(sizes)) > VALUES:
            about["why"] = _TOO_MANY.format(" x ".join(map(str, sizes)))
        else:
            try:
                table = aggregate_table(select_table(scores, variable, Query()))
            except QueryError as error:
                about["why"] = str(error)
            else:
                place = {system: at for at, system in enumerate(table["system"].values.tolist())}
                value, dims = table["value"].values[[place[system] for system in names_of(scores, "system")]], []
                is_score = table.attrs["orientation"] != "none" or "nominal" in table.attrs
                for axis, dim in enumerate(table["value"].dims[1:], start=1):
                    others = tuple(one for one in range(value.ndim) if one != axis)
                    there = ~np.isnan(value) if is_score else np.nan_to_num(value) != 0
                    labels = np.flatnonzero(there.any(axis=others))
                    value = value.take(labels, axis=axis)
                    dims.append([dim, [str(label) for label in table[dim].values[labels].tolist()]])
                if max(value.shape[1:]) > LABELS[len(dims)]:
                    about["why"] = _TOO_MANY.format(" x ".join(map(str, value.shape[1:])))
                else:
                    about |= {key: table.attrs[key] for key in ("aggregate", "missing")}
                    about |= {"dims": dims, "unit": table["value"].attrs["units"], "score": is_score}
                    about["value"] = parts.put(f"{name}/{index}", partial(pack_floats, value))
        described.append(about)
    return described


_TOO_MANY = "It has {} values for each system, too many for this page."


INTERVALS = 20
"""Metrics of an evaluation that have intervals, the main ones first."""


def inferred_metrics(scores: xr.Dataset, main: Sequence[int]) -> list[int]:
    """Positions of the metrics that have intervals, the main ones first."""
    chosen = list(dict.fromkeys([*main, *range(scores.sizes["metric"])]))[:INTERVALS]
    return chosen if names_of(scores, "system") else []


def describe_inference(
    scores: xr.Dataset, metrics: Sequence[int], main: Sequence[int], name: str = ""
) -> list[tuple[int, dict[str, Any]]]:
    """Intervals and significance groups of metrics by their standard aggregates, over the tracks all systems have.

    `main`: positions of the main metrics, whose systems are compared. Returns list of (int, dict): position of a
    metric; ``aggregate``, ``low`` and ``high``, one a system (ends of the 95 % intervals; None where there are too few
    tracks, words where they are infinite), ``letters`` and ``ranks`` (none where nothing was compared, or too few units
    were), ``first`` and ``percent`` (of the first main metric the shares of bootstrap replicates in which each system
    is the best; else none), ``pairs`` (of each two systems, the one with the smaller position first, the difference,
    its interval and the corrected p-value; none of many systems), ``how``, the methods, with the ``signature`` of the
    values, and for main metrics ``standings``.
    """
    names = names_of(scores, "metric", metrics)
    if not names:
        return []
    asked = Query(names, exact=True)
    try:
        found = intervals(scores, asked, group=name)
    except QueryError:
        return []
    signed = {name: replace(one, metrics=(name,)) for one in sign(scores, asked, found) for name in one.metrics}
    first = names_of(scores, "metric", [place for place in metrics if place in main])
    groups = _compare_systems(scores, first, names_of(scores, "metric", main[:1])) if first else {}
    ends, aggregates = [found[name].values for name in ("value", "low", "high")], names_of(found, "aggregate")
    described = []
    for at, metric in enumerate(metrics):
        value, low, high = (values[:, at] for values in ends)
        compared = groups.get(names[at], _NOT_COMPARED)
        if np.isnan(value).all():
            continue
        few = [f"{one.removeprefix(f'{NO_INTERVAL}: ').capitalize()}." for one in few_notes(value, low, found.attrs)]
        level = say_level(found.attrs["level"])
        how = [] if np.isnan(low).all() else [f"{level} intervals: {say_intervals(found.attrs, 'tracks')}."]
        # JSON has no infinite numbers, so that these are words, and no NaN.
        words_of = {math.inf: "Infinity", -math.inf: "-Infinity"}
        both = {
            name: [None if math.isnan(one) else words_of.get(one, one) for one in end.tolist()]
            for name, end in (("low", low), ("high", high))
        }
        words = " ".join(filter(None, [*how, *few, compared["how"], f"Signature: {signed[names[at]]}"]))
        gaps = compared.get("gaps")
        about = {"aggregate": aggregates[at], **compared, "how": words, "signature": str(signed[names[at]])}
        if metric in main:
            tested = bool(compared["how"])
            known = compared["letters"], scores.sizes["track"], tested, gaps, compared["percent"]
            about["standings"] = rank_result(found, at, *known)
        about.pop("gaps", None)
        described.append((metric, {**both, **about}))
    return described


_NOT_COMPARED: Mapping[str, Any] = {"letters": [], "ranks": [], "first": [], "percent": [], "pairs": [], "how": ""}
_REPLICATES = 10_000
_PAIRED = 24
"""Most systems of which the page has the difference of each two."""


def _compare_systems(scores: xr.Dataset, names: Sequence[str], leading: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """For each metric letters and ranks of the systems, none where no two can be told apart, what they mean, and the
    differences of pairs."""
    systems = scores.sizes["system"]
    paired = systems <= _PAIRED
    try:
        ds = compare(scores, Query(list(names), exact=True))
    except QueryError:  # of one system
        return {}
    found: dict[str, Mapping[str, Any]] = {}
    bounds, upper = np.stack(rank_bounds(ds)), np.triu_indices(systems, 1)
    for metric, (name, letters) in enumerate(zip(ds["metric"].values, ds["letters"].values.T.tolist(), strict=True)):
        note = letters_note(ds, metric)
        columns = [ds[key].values[..., metric][upper] for key in ("difference", "low", "high", "p_corrected")]
        pairs = [[_rounded(one) for one in row] for row in zip(*columns, strict=True)] if paired else []
        about = {**_NOT_COMPARED, "pairs": pairs, "how": f"{note[0].upper()}{note[1:]}."}
        about["gaps"] = gaps_to_best(ds, metric)
        if any(letters):
            ranks = [show_ranks(*both) for both in zip(*bounds[..., metric], strict=True)]
            how = f"{about['how']} Ranks: all that the test leaves possible."
            about |= {"letters": letters, "ranks": ranks, "how": how}
            # How often each system is the best in bootstrap replicates, as in a query with ranks.
            if name in leading:
                blocks, _ = compared_blocks(scores, Query([str(name)], exact=True))
                shares = first_shares(blocks, Resampling.of(replicates=_REPLICATES))[:, 0]
                if not np.isnan(shares).all():
                    drawn = f"{_REPLICATES:,} bootstrap replicates over tracks in which a system is the best"
                    about["first"] = [_rounded(share) for share in shares.tolist()]
                    about["percent"] = np.rint(100 * np.nan_to_num(shares)).astype(int).tolist()
                    about["how"] = f"{how} First: share of {drawn}."
        found[str(name)] = about
    return found


def _rounded(value: float) -> float | None:
    """The digits that are shown; JSON has no other than finite numbers."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def order_tracks(scores: xr.Dataset, metric: int) -> list[int]:
    """Positions of all tracks: the worst, the one of the largest spread over the systems, the second worst, and so on.

    `metric`: position of the metric that decides; with none in the scores the tracks keep their order.
    """
    if not names_of(scores, "metric"):
        return list(range(scores.sizes["track"]))
    score = numbers_of(computed(scores), [metric])[0][..., 0]
    known, sign = ~np.isnan(score), -1 if names_of(scores, "orientation")[metric] == "lower" else 1
    count = known.sum(axis=0)
    total = np.where(known, sign * score, 0.0).sum(axis=0)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    largest = np.where(known, score, -np.inf).max(axis=0, initial=-np.inf)
    spread = largest - np.where(known, score, np.inf).min(axis=0, initial=np.inf)
    differing = np.argsort(-np.where(np.isfinite(spread), spread, 0.0), kind="stable")
    both = chain.from_iterable(zip(np.argsort(mean, kind="stable").tolist(), differing.tolist(), strict=True))
    return list(dict.fromkeys(both))


# Flags of a cell; the bits from number _POLICIES on say whether it counts under the first, second, ... policy.
_MISSING, _POLICIES = 1, 1
_OF_CELLS = ("score", "weight", "flags")


@dataclass(frozen=True)
class MetricNumbers:
    """Scores of one metric, all of (systems, tracks, 1), and which of them count."""

    score: Float
    weight: Float
    missing: Bool
    """Of those that can be: (systems, tracks)."""
    counted: Mapping[str, tuple[Float, Bool]]
    """All scores, and which of them count, by policy."""
    usual: tuple[Float, Bool]
    """Those of the usual policy: (systems, tracks)."""


class EvaluationNumbers:
    """Scores of an evaluation and the values derived from them, read and computed a metric at a time on first use.

    `groups`: positions of the tracks of each group whose statistics the page shows; all tracks come before them.
    """

    def __init__(self, scores: xr.Dataset, groups: Sequence[Sequence[int]]) -> None:
        self._scores = computed(scores)
        self.status, self.duration = states_of(self._scores)
        # As in a query, the default first.
        self.policies = ["common", "skip", "zero"]
        if STORES in scores.attrs and (self.status == Status.not_computed).any():
            # The weights of scores that no store has are not known.
            common = (self.status != Status.not_computed).all(axis=0).any()
            self.policies = ["common", "skip"] if common else ["skip", "common"]
        self._bare = bare_cells(self._scores, self.status, self.duration)
        # Numerators over a weight of 0, (systems, tracks, 1), of the metrics that have some.
        every = numerators_of(self._scores, range(scores.sizes["metric"]))
        having = [] if every is None else np.flatnonzero((every > 0).any(axis=(0, 1))).tolist()
        self._numerators = {at: every[..., at : at + 1] for at in having if every is not None}
        self._groups = len(groups) + 1
        self._alike: dict[int, list[tuple[int, Sequence[int]]]] = {}  # by size
        for number, tracks in enumerate([range(scores.sizes["track"]), *groups]):
            self._alike.setdefault(len(tracks), []).append((number, tracks))
        self._newest: tuple[tuple[int, str], MetricNumbers] | None = None

    def of(self, metric: int, kind: str = "") -> MetricNumbers:
        """The numbers of a metric, for an aggregate; the last ones are kept: parts are asked for one by one."""
        newest, wanted = self._newest, (metric, kind if metric in self._numerators else "")
        if newest is None or newest[0] != wanted:
            score, weight = map(np.ascontiguousarray, numbers_of(self._scores, [metric]))
            if wanted[1]:
                score, weight = with_surplus(score, weight, self._numerators[metric], [kind])
            each = {
                policy: count_scores(score, weight, self.status, policy, "keep", bare=self._bare)
                for policy in self.policies
            }
            counted = {policy: (cells["score"], cells["_included"]) for policy, cells in each.items()}
            usual = each[self.policies[0]]
            first = usual["score"][..., 0], usual["_included"][..., 0]
            numbers = MetricNumbers(score, weight, usual["_missing"][..., 0], counted, first)
            newest = self._newest = wanted, numbers
        return newest[1]

    def put_scores(self, parts: Parts, name: str, metric: int, kinds: Sequence[str]) -> dict[str, Any]:
        """Put the scores of a metric, its weights, flags, and the aggregates that are not ratios of sums.

        `name`: what the names of the parts begin with.
        """
        statistics = [kind for kind in kinds if kind in STATISTICS]
        own = {kind: parts.put(f"{name}/{kind}", partial(self._statistic, metric, kind)) for kind in statistics}
        pooled = next((kind for kind in kinds if getattr(AGGREGATES[kind], "above", "") == "weight"), "")
        put = [(f"{name}/pooled", pooled)] if pooled and metric in self._numerators else []
        *surplus, plain = (
            {what: parts.put(f"{prefix}/{what}", partial(self._pack, metric, kind, what)) for what in _OF_CELLS}
            for prefix, kind in (*put, (name, ""))
        )
        return {**plain, **({"pooled": surplus[0]} if surplus else {}), "statistics": own}

    def _pack(self, metric: int, kind: str, what: str) -> bytes:
        """Scores, weights, or flags of the cells: missing, and under which policies they count."""
        numbers = self.of(metric, kind)
        if what != "flags":
            return pack_floats(getattr(numbers, what))
        flags = _MISSING * numbers.missing
        for index, (_, included) in enumerate(numbers.counted.values()):
            flags = flags + (included[..., 0].astype(int) << (_POLICIES + index))
        return flags.astype(np.uint8).tobytes()

    def pack_aggregates(self, metric: int, kinds: Sequence[str], policy: str) -> bytes:
        """Pack how many scores of each system count and are missing, and then each aggregate over all tracks."""
        values = []
        for kind in kinds:
            numbers = self.of(metric, kind)
            score, included = numbers.counted[policy]
            values.append(reduce(score, numbers.weight, self.duration, kind, included)[:, 0])
        numbers = self.of(metric, names_of(self._scores, "standard_aggregate")[metric])
        counts = numbers.counted[policy][1][..., 0].sum(axis=1), numbers.missing.sum(axis=1)
        return pack_floats(np.array([*counts, *values], dtype=np.float64))

    def _statistic(self, metric: int, kind: str) -> bytes:
        """Pack an aggregate of all groups by each policy that is not a ratio of sums, which the page cannot compute."""
        counted = zip(*self.of(metric).counted.values(), strict=True)
        score, included = (np.concatenate([one[..., 0] for one in parts]) for parts in counted)
        found = np.empty((self._groups, len(score)))
        # The systems of all policies, and the groups of one size, at once: there may be many.
        for size, groups in self._alike.items():
            numbers, tracks = [number for number, _ in groups], np.array([own for _, own in groups], dtype=np.int64)
            rows = len(score) * len(groups), size, 1
            own, counts = score[:, tracks].reshape(rows), included[:, tracks].reshape(rows)
            found[numbers] = reduce(own, np.empty(0), np.empty(0), kind, counts).reshape(len(score), len(groups)).T
        return pack_floats(np.moveaxis(found.reshape(self._groups, len(self.policies), -1), 0, 1))


_MAIN = 7
GROUPS = 60
"""The most groups of tracks by one coordinate."""
LONGEST_MESSAGE = 2_000
"""Characters of a message that the page shows."""
_ORIGIN = ("task", "convention", "grid", "combine")


@dataclass(frozen=True)
class Shown:
    """The part of the evaluations that a page shows."""

    references: bool = True
    """Messages that may quote a reference."""
    by_track: bool = True
    """Names of tracks, their scores, and why some are missing."""
    aggregates: bool = False
    """Aggregates over all tracks, so that the first table needs no scores; with scores by track, intervals are parts of
    their own too."""
    folders: bool = True
    """Absolute paths of the pipeline file."""


ALL = Shown()


def main_metrics(scores: xr.Dataset, asked: Sequence[str] = ()) -> list[int]:
    """Positions of the metrics that a table of systems shows: those that are asked for, the headline, and others."""
    shown, names = headline_metrics(scores, _MAIN), names_of(scores, "metric")
    return [names.index(name) for name in dict.fromkeys([*asked, *shown])][:_MAIN]


def describe_evaluation(
    name: str, scores: xr.Dataset, main: Sequence[int], parts: Parts, shown: Shown = ALL, number: int = 0
) -> dict[str, Any]:
    """Describe an evaluation for the page; its numbers become separate parts.

    `number`: its place on the page, with which the names of its parts begin.
    """
    coords = _coords(coords_of(scores, "track")) if shown.by_track else []
    # The groups of tracks by each coordinate that can group them: with several values, not one for each track.
    groupings: dict[str, list[list[int]]] = {}
    for coord, values, *_ in coords:
        groups: dict[Any, list[int]] = {}
        for track, value in enumerate(values):
            groups.setdefault("" if value is None else value, []).append(track)
        if 1 < len(groups) <= GROUPS and len(groups) < len(values):
            groupings[coord] = list(groups.values())
    numbers = EvaluationNumbers(scores, [one for own in groupings.values() for one in own])
    metrics, columns = [], coords_of(scores, "metric")
    for index, metric in enumerate(names_of(scores, "metric")):
        described = _describe_metric({name: values[index] for name, values in columns.items()})
        allowed = [policy for policy in numbers.policies if policy != "zero" or described["sign"] >= 0]
        described |= {"name": metric, "policies": allowed if shown.by_track else allowed[:1]}
        if index in main and not described["unit"]:
            score, included = numbers.of(index).usual
            described["decimals"] = settled_decimals(np.where(included, score, np.nan))
        kinds, part = described["aggregates"], f"{number}/{index}"
        if shown.by_track:
            described |= numbers.put_scores(parts, part, index, kinds)
        if shown.aggregates:
            make = partial(numbers.pack_aggregates, index, kinds, allowed[0])
            described["values"] = parts.put(f"{part}/values", make)
        metrics.append(described)
    # Warnings of scoring may quote labels of references.
    warned = dict.fromkeys(one["system"] for one in scores.attrs.get(WARNINGS, ()))
    open_to_all = shown.references and shown.by_track
    warnings = list_cautions(scores.attrs) if open_to_all else [warn_withheld(system) for system in warned]
    counts = [(one.name, (numbers.status == one).sum(axis=1).tolist()) for one in Status]
    return {
        "name": name,
        "title": task_title(str(scores.attrs.get("task", ""))),
        **{key: str(scores.attrs.get(key, "")) for key in _ORIGIN},
        "systems": names_of(scores, "system"),
        "systemCoords": _coords(coords_of(scores, "system")),
        "tracks": names_of(scores, "track") if shown.by_track else [],
        "short": {
            f"{kind}s": short
            for kind in ("system", *(["track"] if shown.by_track else []))
            if (short := short_names(names_of(scores, kind))) != names_of(scores, kind)
        },
        "trackCount": scores.sizes["track"],
        "lacking": int(numbers.of(main[0]).missing.sum()) if main else 0,
        "trackCoords": coords,
        "groupings": [[by, [own[0] for own in grouping]] for by, grouping in groupings.items()],
        "metrics": metrics,
        "main": list(main),
        "duration": parts.put(f"{number}/duration", partial(pack_floats, numbers.duration)) if shown.by_track else None,
        "statuses": [[status_name, many] for status_name, many in counts if any(many)],
        "problems": parts.put(f"{number}/problems", lambda: pack_json(_problems(scores, shown))),
        "extras": describe_extras(scores, parts, f"{number}/extra", name),
        "policies": numbers.policies,
        "references": str(scores.attrs.get(REFERENCES_DIFFER, "")) if shown.by_track else "",
        "warnings": warnings,
    }


def describe_words() -> dict[str, Any]:
    """Facts that the page shares with commands and figures: levels, aggregates, policies, signs, and colours."""
    return {
        "level": say_level(DEFAULT_LEVEL),
        "significance": alpha_of({"level": str(DEFAULT_LEVEL)}),
        "aggregates": {
            name: {
                "title": aggregate_in_words(name),
                "words": aggregate.words,
                "above": RATIOS[name].above if name in RATIOS else "",
                "below": RATIOS[name].below if name in RATIOS else "",
            }
            for name, aggregate in AGGREGATES.items()
        },
        "missing": MISSING,
        # What is half right is not right.
        "signs": {"good": GOOD, "bad": HALF + BAD},
        "colours": COLOURS,
    }


def _coords(coords: Mapping[str, Array]) -> list[list[Any]]:
    """Names and values of coordinates: numbers stay numbers, NaN is None, everything else becomes text.

    Behind truth values, which become text too, is the word ``truth``.
    """
    columns = []
    for name, values in coords.items():
        known = (value if value == value else None for value in values.tolist())
        column = [name, [*known] if values.dtype.kind in "if" else [*map(str, values.tolist())]]
        columns.append([*column, "truth"] if values.dtype.kind == "b" else column)
    return columns


def _describe_metric(own: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a metric, its parameters, and its sign: 1 where high scores are good, -1 where low ones are."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in own.items()}
    record = {name: plain[name] for name in DESCRIBED if name in plain}
    parameters = [[name, value] for name, value in plain.items() if name not in DESCRIBED]
    return {
        **record,
        "sign": SIGN_OF.get(record["orientation"], 0),
        "aggregates": allowed_aggregates(str(record["aggregates"])),
        "parameters": [[name, value] for name, value in parameters if value != "" and value == value],
    }


def _problems(scores: xr.Dataset, shown: Shown) -> dict[str, Any]:
    """List cells without a score and empty ones, and count them by whether they have a score.

    Each has the positions of system and track, status, whether there is a score, and the number of a message.
    Tracks that the store of a system does not have are not problems of joined stores. A message about the contents of
    a file may quote a reference.
    """
    joined = STORES in scores.attrs
    cells: dict[tuple[str, str], list[CellProblem]] = {}
    for one in find_problems(scores):
        if one.kind in ("reason", "warning") and not (joined and one.status == Status.not_computed):
            cells.setdefault((one.system, one.track), []).append(one)
    counts = Counter(own[0].scored for own in cells.values())
    if not shown.by_track:
        return {"rows": [], "messages": [], "counts": counts}
    systems, tracks = (
        {name: index for index, name in enumerate(names)}
        for names in (names_of(scores, "system"), names_of(scores, "track"))
    )
    messages: dict[str, int] = {}
    rows = []
    for (system, track), own in cells.items():
        status, remarks = own[0].status, [CellRemark(one.kind, one.side, one.message) for one in own]
        told = remarks if shown.references else list_shown(status, remarks)
        place = messages.setdefault("; ".join(one.text for one in told), len(messages))
        rows.append([systems[system], tracks[track], status.name, own[0].scored, place])
    return {"rows": rows, "messages": [shorten(message, LONGEST_MESSAGE) for message in messages], "counts": counts}
