"""Leaderboards: aggregates of a store as JSON with a versioned schema, in the forms of other platforms, and to embed.

The page to embed has no scripts: it shows who leads by the headline metric, with a chart. Sites make their standings
and scorecards from leaderboards, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from ..analysis.aggregation import COUNTS, aggregate_query
from ..analysis.inference import intervals
from ..analysis.inference.comparisons import compare_blocks, compared_blocks, gaps_to_best, like_best, tells_apart
from ..analysis.inference.rank_tests import first_shares, rank_bounds
from ..analysis.inference.resampling import Resampling
from ..analysis.lookup import headline_metric
from ..analysis.query_options import DEFAULT_LEVEL, Query
from ..analysis.scores import coords_of, names_of
from ..analysis.signatures import sign
from ..errors import QueryError
from ..metrics.measures import SIGN_OF
from .captions import letters_note, metric_title, task_title
from .drawing import small_page
from .inference_tables import show_ranks
from .results import COLUMNS, axes_of, column_of, values_of
from .scorecard import ScoredEvaluation
from .standings import ALIKE, LEADER, WORSE, Node, Standing, Standings, node, to_html
from .tables import aggregate_in_words

if TYPE_CHECKING:
    import xarray as xr

VERSION = 1
"""Version of the schema; a field that is added does not raise it, one that is removed or changes its meaning does."""

Value = float | Literal["inf", "-inf"] | None
"""A number; infinities, which JSON does not have, are text; null for a missing value."""


class AggregatedScore(msgspec.Struct, frozen=True):
    """The aggregate of one system by one metric."""

    value: Value
    """The aggregate over the tracks, in the metric's unit."""
    low: Value
    high: Value
    """Ends of its confidence interval; null where there is none."""
    n: int
    n_missing: int
    n_undefined: int
    """Tracks that count, tracks without a score, and tracks with nothing to measure."""


class RankedMetric(msgspec.Struct, frozen=True):
    """A metric of an evaluation."""

    name: str
    """Its identity, such as ``f_measure@window=0.05``."""
    title: str
    """What the literature calls it; empty where that is not known."""
    aggregate: str
    """How scores of tracks are aggregated, such as ``mean`` or ``wcsr``."""
    orientation: str
    """Which values are better: {"higher", "lower", "none"}."""
    unit: str
    """Empty for ratios."""
    signature: str = ""
    """How its values were computed; see docs/signatures.md. Empty where that is not known."""


class RankedSystem(msgspec.Struct, frozen=True):
    """A system of an evaluation."""

    name: str
    rank: int | None
    """1 for the best by the headline metric; equal values have the same rank. Null without a value."""
    rank_low: int | None
    rank_high: int | None
    """The best and the worst rank by the headline metric that the comparison of all systems does not exclude; null
    where they were not compared, or too few tracks tell any apart."""
    gap_low: Value
    gap_high: Value
    """Ends of the interval of its difference to the best system by the headline metric, which holds 0 where the two are
    not told apart; null where they were not compared, and of the best system itself."""
    first: float | None
    """The share of bootstrap replicates in which it is the best; null where none were drawn."""
    like_best: bool | None
    """Whether it does not differ significantly from the best by the headline metric; null where that was not tested."""
    letters: str
    """Systems that share a letter are not told apart by the headline metric; empty where that was not tested."""
    metadata: dict[str, str | int | float | bool | None]
    """The coordinates of the system in the store."""
    scores: dict[str, AggregatedScore]
    """By the names of the metrics."""


class RankedEvaluation(msgspec.Struct, frozen=True):
    """One evaluation, its systems from the best to the worst."""

    name: str
    task: str
    convention: str
    grid: str
    created: str
    """When it was scored, ISO 8601; empty where the store does not say."""
    tracks: int
    missing: str
    undefined: str
    """Treatment of tracks without a score, and of those with nothing to measure."""
    headline: str
    """The metric that ranks the systems."""
    level: float | None
    """Level of the intervals; null without intervals."""
    comparison: str
    """How the systems were compared by the headline metric, in words; empty where they were not."""
    metrics: list[RankedMetric]
    systems: list[RankedSystem]
    final: str | msgspec.UnsetType = msgspec.UNSET
    """Since when the true scores of a hidden split are public, ISO 8601; left out of all other rankings."""


class Leaderboard(msgspec.Struct, frozen=True):
    """The leaderboards of a store."""

    schema: Literal["mirflow-leaderboard"]
    version: int
    """Of the schema."""
    mirflow: str
    """Version of mirflow that wrote it."""
    title: str
    """Usually the name of the store."""
    evaluations: list[RankedEvaluation]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of leaderboards."""
    schema = msgspec.json.schema(Leaderboard)
    for one in schema["$defs"].values():
        one["description"] = one["description"].partition("\n")[0]
    return schema


def leaderboard(
    evaluations: Mapping[str, xr.Dataset],
    query: Query | None = None,
    *,
    title: str = "",
    level: float | None = DEFAULT_LEVEL,
) -> Leaderboard:
    """Rank the systems of every evaluation by its headline metric, with the aggregates of all scalar metrics.

    `evaluations`: the groups of a store, by name; one without a metric with one number per track is left out. `query`:
    metrics, systems, tracks and policies; None: all, by the usual policies. `level`: of the confidence intervals and of
    the comparison with the best system; None: neither is computed.
    """
    query = query or Query()
    if query.by or query.across:
        raise QueryError("a leaderboard ranks systems over all tracks; leave out by and across")
    found = [_ranked(name, ds, query, level) for name, ds in evaluations.items() if ds.sizes["metric"]]
    if not found:
        raise QueryError("no evaluation has a metric with one number per track, which a leaderboard needs")
    return Leaderboard("mirflow-leaderboard", VERSION, version("mirflow"), title, found)


def _ranked(name: str, ds: xr.Dataset, query: Query, level: float | None) -> RankedEvaluation:
    found = aggregate_query(ds, query, name) if level is None else intervals(ds, query, level=level, group=name)
    systems = names_of(found, "system")
    columns = {key: column_of(found, key) for key in COLUMNS}
    metrics = columns["metric"]
    signatures = {one: each for each in sign(ds, query, found) for one in each.metrics}
    signed = [str(replace(signatures[one], metrics=(one,))) for one in metrics]
    headline = headline_metric(ds) if query.metric is None else metrics[0]
    place = metrics.index(str(headline))
    like_the_best, letters, comparison = None, [""] * len(systems), ""
    low, high = [list[int | None]([None] * len(systems)) for _ in range(2)]
    first: list[float | None] = [None] * len(systems)
    gaps = np.full((2, len(systems)), np.nan)
    if level is not None and len(systems) > 1:
        own = replace(query, metric=[str(headline)], exact=True, system=systems, sort=None)
        blocks, value = compared_blocks(ds, own)
        how = Resampling.of(level)
        compared = compare_blocks(blocks, value, how)
        gaps = gaps_to_best(compared)
        marks, comparison = like_best(compared)[:, 0], letters_note(compared, 0)
        like_the_best = marks if marks.any() else None
        letters = compared["letters"].values[:, 0].tolist()
        if tells_apart(compared)[0]:
            low, high = ([None if np.isnan(one) else int(one) for one in end[:, 0]] for end in rank_bounds(compared))
        if columns["orientation"][place] != "none":
            first = [(share if math.isfinite(share) else None) for share in first_shares(blocks, how)[:, 0].tolist()]
    scores = {name: values_of(found, name)[:, 0] for name in _SCORE if name in found}
    value = scores["value"][:, place]
    gain = -value if columns["orientation"][place] == "lower" else value
    ranked = []
    for row, system in enumerate(systems):
        metadata: dict[str, Any] = {}
        for key in coords_of(found, "system"):
            entry = found[key].values[row]
            entry = entry.item() if isinstance(entry, np.generic) else entry
            metadata[key] = None if isinstance(entry, float) and not math.isfinite(entry) else entry
        of_metrics = {}
        for column, metric in enumerate(metrics):
            center, lower, upper = (_number(scores[key][row, column]) if key in scores else None for key in _SCORE[:3])
            n, lost, empty = (int(scores[key][row, column]) for key in COUNTS)
            of_metrics[metric] = AggregatedScore(center, lower, upper, n, lost, empty)
        # Equal values have the same rank.
        unranked = columns["orientation"][place] == "none" or np.isnan(gain[row])
        rank = None if unranked else 1 + int((gain > gain[row]).sum())
        gap_low, gap_high = (_number(float(end[row])) for end in gaps)
        like = None if like_the_best is None else bool(like_the_best[row])
        about = rank, low[row], high[row], gap_low, gap_high, first[row], like, letters[row]
        ranked.append(RankedSystem(system, *about, metadata, of_metrics))
    ranked.sort(key=lambda own: (own.rank is None, own.rank or 0))
    attrs = {key: str(found.attrs.get(key, "")) for key in ("task", "convention", "grid", "missing", "undefined")}
    return RankedEvaluation(
        name=name,
        **attrs,
        created=str(ds.attrs.get("created", "")),
        tracks=axes_of(found).tracks,
        headline=str(headline),
        level=level,
        comparison=comparison,
        metrics=[RankedMetric(*column) for column in zip(*columns.values(), signed, strict=True)],
        systems=ranked,
    )


_SCORE = ("value", "low", "high", *COUNTS)


def _number(value: float) -> Value:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


def standings_of(ranked: RankedEvaluation, decimals: int | None = None) -> Standings:
    """Who leads an evaluation by its headline metric, who is not told apart, and who is worse.

    With `decimals`, ratios are rounded to so many already.
    """
    headline = next(metric for metric in ranked.metrics if metric.name == ranked.headline)
    rows, counts = [], set()
    for system in ranked.systems:
        score, like_best = system.scores[headline.name], system.like_best
        if system.rank is not None:
            counts.add(score.n)
        relation = "" if like_best is None else LEADER if system.rank == 1 else ALIKE if like_best else WORSE
        value, low, high = (math.nan if end is None else float(end) for end in (score.value, score.low, score.high))
        gap, top = (math.nan if end is None else float(end) for end in (system.gap_low, system.gap_high))
        first, last = system.rank_low, system.rank_high
        ranks = "" if first is None or last is None else show_ranks(first, last)
        rows.append(Standing(system.name, value, low, high, relation, system.letters, gap, top, ranks=ranks))
    return Standings(
        rows,
        unit=headline.unit,
        sign=SIGN_OF.get(headline.orientation, 0),
        level=ranked.level or DEFAULT_LEVEL,
        n=counts.pop() if len(counts) == 1 and ranked.missing == "common" else 0,
        tracks=ranked.tracks,
        tested=bool(ranked.comparison),
        decimals=3 if decimals is None else decimals,
    )


def scored_evaluation(ranked: RankedEvaluation, address: str, decimals: int | None = None) -> ScoredEvaluation:
    """An evaluation as a column of a scorecard, whose cells lead to an address; `decimals` as for `standings_of`."""
    headline = next(metric for metric in ranked.metrics if metric.name == ranked.headline)
    about = f"{task_title(ranked.task)}: {metric_title(headline.name, headline.title)}"
    return ScoredEvaluation(ranked.name, about, address, standings_of(ranked, decimals))


def to_embed(board: Leaderboard) -> str:
    """Write leaderboards as one HTML page without scripts, for the inside of another one: who leads, and a chart."""
    parts: list[Node] = []
    for ranked in board.evaluations:
        headline = next(metric for metric in ranked.metrics if metric.name == ranked.headline)
        unit = f" [{headline.unit}]" if headline.unit else ""
        title, way = metric_title(headline.name, headline.title), aggregate_in_words(headline.aggregate)
        about = f"{task_title(ranked.task)}: {title}{unit}, {way}"
        parts += [node("h2", about), *standings_of(ranked).nodes()]
    return small_page(board.title, to_html(parts))


def to_json(board: Leaderboard) -> str:
    """Write a leaderboard as JSON, indented."""
    return msgspec.json.format(msgspec.json.encode(board), indent=1).decode() + "\n"


_UNUSUAL = re.compile(r"[^A-Za-z0-9_-]+")


def to_codabench(board: Leaderboard) -> tuple[str, list[str]]:
    """Write the ``scores.json`` of a scoring program for Codabench: the scores of one system under flat keys.

    Returns `text`: a JSON object; each key is the evaluation and the metric with ``_`` between, and in place of other
    characters than letters, digits, ``_`` and ``-``: ``chord_majmin``. `left_out`: keys without a finite value, which
    the platform does not take.
    """
    scores, left_out = _flat(board, "Codabench scores one submission at a time")
    values = {key: value for key, (_, value) in scores.items()}
    return msgspec.json.format(msgspec.json.encode(values), indent=1).decode() + "\n", left_out


def _flat(board: Leaderboard, why: str) -> tuple[dict[str, tuple[RankedMetric, float]], list[str]]:
    """The metrics and finite scores of the only system by flat keys, and the keys of other values."""
    scores: dict[str, tuple[RankedMetric, float]] = {}
    left_out: list[str] = []
    seen: dict[str, str] = {}
    for evaluation in board.evaluations:
        if len(evaluation.systems) != 1:
            names = ", ".join(system.name for system in evaluation.systems)
            raise QueryError(f"{why}: choose a system (--system) of {names}")
        for metric in evaluation.metrics:
            key = _UNUSUAL.sub("_", f"{evaluation.name}_{metric.name}").strip("_")
            if key in seen:
                raise QueryError(f"{seen[key]!r} and {metric.name!r} have the same key {key!r}: choose one (--metric)")
            seen[key] = metric.name
            value = evaluation.systems[0].scores[metric.name].value
            if isinstance(value, float):
                scores[key] = metric, value
            else:
                left_out.append(key)
    return scores, left_out


_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def to_eval_results(board: Leaderboard, dataset: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Arrange the scores of one system as a file of the folder ``.eval_results`` of a model on the Hugging Face Hub.

    `dataset`: name of the benchmark's data set on the Hub, such as ``mir/six-tunes``. Returns `results`: ``{"dataset":
    {"id": dataset, "task_id": key}, "value": ..., "notes": signature}`` for each metric, as specified at
    https://huggingface.co/docs/hub/eval-results; keys are those of `to_codabench`. `left_out`: keys without a finite
    value. Raises `QueryError` if there are several systems, or the data set has no name of the Hub.
    """
    if not _HUB_NAME.fullmatch(dataset):
        raise QueryError(f"invalid dataset {dataset!r}: expected a name on the Hub, such as mir/six-tunes (--dataset)")
    scores, left_out = _flat(board, "the file belongs to the repository of one model")
    results = []
    for key, (metric, value) in scores.items():
        notes = {"notes": metric.signature} if metric.signature else {}
        results.append({"dataset": {"id": dataset, "task_id": key}, "value": value, **notes})
    return results, left_out


def to_model_index(board: Leaderboard, dataset: str) -> dict[str, Any]:
    """Arrange a leaderboard as the ``model-index`` of model cards.

    Returns ``{"model-index": [{"name": system, "results": [...]}]}``: a result for each evaluation with its task, data
    set and metrics; values that are not finite are left out.
    """
    slug = _UNUSUAL.sub("-", dataset).strip("-").lower()
    results: dict[str, list[dict[str, Any]]] = {}
    for evaluation in board.evaluations:
        rules = {"type": evaluation.task, "name": f"{evaluation.name} ({evaluation.convention})"}
        for system in evaluation.systems:
            metrics = [
                {
                    "type": metric.name,
                    "name": ", ".join(filter(None, (metric.title or metric.name, metric.aggregate))),
                    "value": system.scores[metric.name].value,
                }
                for metric in evaluation.metrics
                if isinstance(system.scores[metric.name].value, float)
            ]
            own = {"task": rules, "dataset": {"type": slug, "name": dataset}, "metrics": metrics}
            results.setdefault(system.name, []).append(own)
    return {"model-index": [{"name": name, "results": own} for name, own in results.items()]}
