"""Contents of pages about a store, an evaluation, a system and a track.

Each system is compared with the leader, and the leader with the second.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from ...analysis.inference.comparisons import compare
from ...analysis.queries import headline_metrics
from ...analysis.query_options import DEFAULT_LEVEL, MISSING, UNDEFINED, Query
from ...analysis.scores import arrays_of, coords_of, names_of
from ...analysis.selection import CellProblem, find_problems
from ...errors import QueryError, UnknownNameError, shorten
from ...metrics.constants import constants_that_win
from ...metrics.measures import SIGN_OF
from ...ragged import Float
from ...reports.captions import task_title
from ...reports.inference_tables import show_ranks
from ...reports.leaderboard import Leaderboard, RankedEvaluation, RankedMetric, leaderboard, standings_of
from ...reports.page.data import LONGEST_MESSAGE
from ...reports.standings import Standing, Standings, to_html
from ...reports.tables import plain_entry
from ...store.cells import QUOTES_NOTHING, Status
from ...store.format import list_cautions
from . import changes
from .archive import IS_YEAR, YEAR, years_of
from .pages import RUNTIME

if TYPE_CHECKING:
    import xarray as xr

K = TypeVar("K")
_TITLES, _ARTISTS = ("title", "name"), ("artist", "composer")  # coordinates of tracks that say what is heard
# Coordinates of systems that a profile begins with, in this order.
FACTS = ("title", "name", "authors", "team", "affiliation", "year", "description", "paper", "code", "license", RUNTIME)


MAIN = 7  # most metrics in the table of an evaluation
LEADERS = 12  # most systems of an evaluation on the front page, besides the viewer's own
WORST = 20  # most tracks on the page of a system


@dataclass(frozen=True)
class StoreContents:
    """A store as shown on its pages."""

    name: str  # in addresses
    board: Leaderboard  # leaderboard of the evaluations that have a metric with one value per track
    datasets: Mapping[str, xr.Dataset]  # scores by evaluation; empty if only aggregates may be shown
    references: bool = True  # whether to show messages that may quote a reference
    has_report: bool = True  # whether to link a report of the store
    by_track: bool = False  # whether there are pages of tracks
    timelines: frozenset[str] | None = None  # tracks with a timeline in the report; None: all of them
    decimals: int | None = None  # decimals of rounded scores; None: not rounded
    final: str = ""  # time since which the true scores of a hidden split are public, ISO 8601; else empty
    _scores: dict[str, TrackScores] = field(default_factory=dict, init=False, repr=False)
    _gaps: dict[str, dict[str, SimpleNamespace]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def ranked(self) -> dict[str, RankedEvaluation]:
        """The evaluations by name."""
        return {evaluation.name: evaluation for evaluation in self.board.evaluations}

    def gaps(self, name: str) -> dict[str, SimpleNamespace]:
        """Compare each system of an evaluation with the leader, and the leader with the second, by the headline metric.

        Returns: for each system its ``rank`` of so many ``systems``; the ``leader``, or the next one if it leads (empty
          without ranks); the ``difference`` of its ``value`` to that one's, with ``low`` and ``high`` over paired
          tracks (None if only aggregates may be shown); and the ``verdict`` in words (empty where that was not tested).
        """
        if name in self._gaps:
            return self._gaps[name]
        ranked, ds = self.evaluation(name), self.datasets.get(name)
        rows = {row.system: row for row in standings_of(ranked).rows}
        headline = next(metric for metric in ranked.metrics if metric.name == ranked.headline)
        placed = [system.name for system in ranked.systems if system.rank is not None]
        # The intervals of differences over paired tracks, and the place of each system in them.
        bounds, index = np.full((2, 0, 0), np.nan), dict[str, int]()
        if ds is not None and ranked.level is not None and len(ranked.systems) > 1:
            with suppress(QueryError):
                compared = compare(ds, Query(metric=ranked.headline, exact=True), level=ranked.level)
                bounds = np.stack([compared[end].values[..., 0] for end in ("low", "high")])
                index = {name: number for number, name in enumerate(names_of(compared, "system"))}
        gaps: dict[str, SimpleNamespace] = {}
        for system in ranked.systems:
            label, others = system.name, [other for other in placed if other != system.name]
            other = others[0] if others and system.rank is not None else ""
            ends = [rows[label].value - rows[other].value if other else math.nan, math.nan, math.nan]
            if index and other:
                ends[1:] = bounds[:, index[label], index[other]].tolist()
            # Where this system leads, the verdict on the second is that on the two.
            verdict = rows[other if system.rank == 1 and other else label].relation
            gap, low, high = (end if math.isfinite(end) else None for end in ends)
            beside = {"leader": other, "difference": gap, "low": low, "high": high, "verdict": verdict}
            value = system.scores[headline.name].value
            standing = {"rank": system.rank, "systems": len(ranked.systems), "value": value}
            gaps[label] = SimpleNamespace(evaluation=ranked.name, metric=headline, **standing, **beside)
        self._gaps[name] = gaps
        return gaps

    def evaluation(self, name: str) -> RankedEvaluation:
        """Return the ranking of an evaluation."""
        if name not in self.ranked:
            raise UnknownNameError("evaluation", name, self.ranked)
        return self.ranked[name]

    def board_of(self, name: str) -> Leaderboard:
        """Return the leaderboard of a single evaluation."""
        return msgspec.structs.replace(self.board, evaluations=[self.evaluation(name)])

    def scores(self, name: str) -> TrackScores:
        """Return the scores by track of an evaluation."""
        if name not in self.datasets:
            raise UnknownNameError("evaluation with scores by track", name, self.datasets)
        if name in self._scores:
            return self._scores[name]
        ds, headline = self.datasets[name], self.evaluation(name).headline
        score, _, status, _ = arrays_of(ds)
        metrics = names_of(ds, "metric")
        column = metrics.index(headline)
        values = score[..., column]
        scored = ~np.isnan(values)
        count = scored.sum(axis=0)
        with np.errstate(invalid="ignore"):  # for infinities
            mean = np.where(count > 0, np.where(scored, values, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)
            largest = np.where(scored, values, -np.inf).max(axis=0, initial=-np.inf)
            smallest = np.where(scored, values, np.inf).min(axis=0, initial=np.inf)
            spread = largest - smallest
        lower = names_of(ds, "orientation")[column] == "lower"
        spread, best = (np.where(count > 0, row, np.nan) for row in (spread, smallest if lower else largest))
        tracks = names_of(ds, "track")
        self._scores[name] = TrackScores(
            systems=names_of(ds, "system"),
            tracks=tracks,
            metrics=metrics,
            score=score,
            status=status,
            coords=coords_of(ds, "track"),
            headline=column,
            lower=lower,
            mean=mean,
            spread=spread,
            best=best,
            places={track: index for index, track in enumerate(tracks)},
        )
        return self._scores[name]


def store(
    name: str,
    evaluations: Mapping[str, xr.Dataset],
    *,
    level: float | None = DEFAULT_LEVEL,
    references: bool = True,
    only_aggregates: bool = False,
) -> StoreContents:
    """Rank the systems of every evaluation of a store for its pages.

    `name`: name in addresses.
    `evaluations`: result of :func:`mirflow.analysis.queries.evaluations_of`, possibly limited to some systems.
    `level`: level of intervals and comparisons; None: neither.
    `references`: whether to show messages that may quote a reference.
    `only_aggregates`: whether to hide everything about single tracks.
    """
    scored = changes.ranked(evaluations)
    if not scored:
        raise QueryError(f"{name}: no evaluation has systems and a metric with one number per track")
    board = leaderboard(scored, title=name, level=level)
    shown = {} if only_aggregates else scored
    return StoreContents(name, board, shown, references, by_track=not only_aggregates)


@dataclass(frozen=True)
class TrackScores:
    """Scores by track of an evaluation."""

    systems: list[str]
    tracks: list[str]
    metrics: list[str]
    score: Float
    status: Any
    coords: Mapping[str, Any]
    headline: int  # position of the headline metric
    lower: bool  # whether lower values of it are better
    mean: Float
    spread: Float
    best: Float  # mean, spread (best minus worst) and best of the headline metric over the systems; NaN without scores
    places: dict[str, int]  # positions of the tracks by name

    def order(self, values: Float) -> list[int]:
        """Sort tracks by a value of the headline metric, worst first and missing values last."""
        keys = np.where(np.isnan(values), np.inf, -values if self.lower else values)
        return [*np.argsort(keys, kind="stable").tolist()]


@dataclass(frozen=True)
class EvaluationPage:
    """The table of an evaluation."""

    store: StoreContents
    evaluation: RankedEvaluation
    task: str  # the task in words
    headline: RankedMetric
    # From the best system to the worst: each has the `system`, its `score` by the headline metric, and the `ranks` that
    # the comparison of the systems does not exclude, or the rank by the value alone.
    rows: list[SimpleNamespace]
    main: list[RankedMetric]  # metrics beside the headline in the table of systems
    facts: list[str]  # coordinates of systems that have values: the column of each
    like_best: list[str]  # systems that do not differ significantly from the leader, except the leader
    leader: SimpleNamespace | None  # the row of the best system; None if the systems are not ranked
    # Whether any system has an interval, letters of systems without significant differences, or missing scores.
    has: dict[str, bool]
    has_tracks: bool  # whether pages of tracks exist
    warnings: list[str]
    own: frozenset[str]  # the viewer's own systems
    heading: str  # the task, with the name of the evaluation if that is another
    policies: str  # the treatment of missing scores and of tracks without anything to measure
    command: str  # the command that prints the same table from the store; empty if the store is not public
    standings: Standings  # who leads, and who is not told apart from the leader
    # Who leads; and what follows: who is not told apart, who is worse, and which tracks count.
    sentences: tuple[str, str]

    def leaders(self, url: Callable[..., str]) -> str:
        """The chart of the best systems and the viewer's own, in HTML, whose names lead to the systems' pages."""
        standings = self.standings
        rows = [
            replace(row, note="yours") if row.system in self.own else row
            for index, row in enumerate(standings.rows)
            if index < LEADERS or row.system in self.own
        ]
        of_system = partial(url, "system", store=self.store.name, evaluation=self.evaluation.name)
        return to_html(replace(standings, rows=rows).nodes(lambda system, rival: of_system(system=system))[1:])


def evaluation(contents: StoreContents, name: str, own: Collection[str] = ()) -> EvaluationPage:
    """Make the table of an evaluation: systems by rank, with intervals and letters."""
    ranked, ds = contents.evaluation(name), contents.datasets.get(name)
    by_name = {metric.name: metric for metric in ranked.metrics}
    shown = headline_metrics(ds, MAIN) if ds is not None else [*by_name][:MAIN]
    listed = [key for key in dict.fromkeys([*shown, *by_name]) if key in by_name and key != ranked.headline]
    facts = [
        key
        for key in dict.fromkeys(key for system in ranked.systems for key in system.metadata)
        if any(system.metadata.get(key) not in ("", None) for system in ranked.systems)
    ]
    rows = []
    for system in ranked.systems:
        low, high = system.rank_low, system.rank_high
        ranks = str(system.rank or "-") if low is None or high is None else show_ranks(low, high)
        rows.append(SimpleNamespace(system=system, score=system.scores[ranked.headline], ranks=ranks))
    like_best = [row.system.name for row in rows[1:] if row.system.like_best]
    has = {"intervals": any(row.score.low is not None for row in rows)}
    has |= {"letters": any(row.system.letters for row in rows), "missing": any(row.score.n_missing for row in rows)}
    constants = constants_that_win(ranked.task, ranked.headline.partition("@")[0])
    ranked_by = f"systems are ranked by {ranked.headline}, by which"
    warnings = [f"{ranked_by} {constant} is within a tenth of perfect" for constant in constants]
    warnings += list_cautions(ds.attrs) if ds is not None and contents.references else []
    task = task_title(ranked.task)
    policies = MISSING.get(ranked.missing, ""), UNDEFINED.get(ranked.undefined, "")
    command = ["mirflow", "query", f"{contents.name}.zarr", "-g", name, "-m", ranked.headline]
    command += ["--ci", f"{ranked.level:g}", "--significance"] if ranked.level else []
    standings = standings_of(ranked, contents.decimals)
    lead = standings.sentence(brief=True)
    return EvaluationPage(
        store=contents,
        evaluation=ranked,
        task=task,
        headline=by_name[ranked.headline],
        rows=rows,
        main=[by_name[key] for key in listed[: MAIN - 1]],
        facts=facts,
        like_best=like_best,
        leader=rows[0] if rows and rows[0].system.rank else None,
        has=has,
        has_tracks=ds is not None,
        warnings=warnings,
        own=frozenset(own),
        heading=task if name == ranked.task else f"{task} ({name})",
        policies=". ".join(f"{text[:1].upper()}{text[1:]}" for text in policies if text),
        command=shlex.join(command) if contents.has_report else "",
        standings=standings,
        sentences=(lead, standings.sentence().removeprefix(lead).strip()),
    )


def ranks_of(gains: Mapping[K, float]) -> dict[K, int]:
    """Return the ranks of values, of which the largest is the first; equal ones share a rank."""
    return {key: 1 + sum(other > gain for other in gains.values()) for key, gain in gains.items()}


def system(contents: StoreContents, name: str, system: str) -> SimpleNamespace:
    """Scores of a system over all metrics of an evaluation, and its worst tracks. `name`: name of the evaluation."""
    ranked = contents.evaluation(name)
    by_name = {ranked_system.name: ranked_system for ranked_system in ranked.systems}
    if system not in by_name:
        raise UnknownNameError("system", system, by_name)
    metrics = []
    for metric in sorted(ranked.metrics, key=lambda metric: metric.name != ranked.headline):
        values = {key: other.scores[metric.name].value for key, other in by_name.items()}
        score, sign = by_name[system].scores[metric.name], SIGN_OF.get(metric.orientation, 0)
        gains = {key: sign * float(value) for key, value in values.items() if value is not None and sign}
        best = max(gains, key=gains.__getitem__, default="")
        best_score = by_name[best].scores[metric.name] if gains else None
        rank = ranks_of(gains).get(system)
        metrics.append(SimpleNamespace(metric=metric, score=score, rank=rank, best=best, best_score=best_score))
    tracks: list[SimpleNamespace] = []
    problems: list[CellProblem] = []
    if name in contents.datasets:
        scores = contents.scores(name)
        of_tracks = scores.score[scores.systems.index(system), :, scores.headline]
        worst = [index for index in scores.order(of_tracks) if not np.isnan(of_tracks[index])][:WORST]
        tracks = [list_track(scores, index, of_tracks) for index in worst]
        # Messages may quote a reference.
        for problem in find_problems(contents.datasets[name].sel(system=[system])):
            quotes = not contents.references and not (problem.kind == "reason" and problem.status in QUOTES_NOTHING)
            if problem.kind in ("reason", "warning"):
                text = "" if quotes else shorten(problem.message, LONGEST_MESSAGE)
                problems.append(replace(problem, message=text))
    # What is known of the system: who made it, when, where it is described, and the rest.
    order = {key: index for index, key in enumerate(FACTS)}
    facts = [(show_key(key), value) for key, value in by_name[system].metadata.items() if value not in ("", None)]
    facts.sort(key=lambda fact: order.get(fact[0].casefold(), len(order)))
    # Beside the leader of each evaluation of the store that has the system, this one first.
    gaps = [gaps[system] for gaps in map(contents.gaps, dict.fromkeys([name, *contents.ranked])) if system in gaps]
    about = {"store": contents, "evaluation": ranked, "task": task_title(ranked.task), "system": by_name[system]}
    listed = {"facts": facts, "metrics": metrics, "tracks": tracks, "problems": problems, "gaps": gaps}
    # The best of each year by the headline metric, with the system on the same scale.
    lines = years_of({contents.name: contents.board_of(name)}).lines()
    line, text = next(iter(lines), None), str(by_name[system].metadata.get(YEAR, ""))
    value, years = by_name[system].scores[ranked.headline].value, None
    if line is not None and isinstance(value, float) and IS_YEAR.fullmatch(text):
        year = int(float(text))
        x, y = line.scale.place(year, value)
        years = SimpleNamespace(line=line, year=year, x=x, y=y)
    return SimpleNamespace(**about, **listed, years=years)


def _known(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def list_track(scores: TrackScores, index: int, values: Float | None = None) -> SimpleNamespace:
    """Return the ``name`` of a track at a place of the scores, with one of some values as its ``score``.

    The ``mean`` and the ``spread`` (best minus worst) are those of the headline metric over the systems. What is
    missing is None.
    """
    score = None if values is None else _known(values[index])
    mean, spread = _known(scores.mean[index]), _known(scores.spread[index])
    return SimpleNamespace(name=scores.tracks[index], score=score, mean=mean, spread=spread)


def tracks(contents: StoreContents, name: str) -> dict[str, Any]:
    """List the tracks of an evaluation by the mean of the headline metric over the systems."""
    scores = contents.scores(name)
    listed = [list_track(scores, index) for index in scores.order(scores.mean)]
    return {"store": contents, "evaluation": contents.evaluation(name), "tracks": listed}


def show_key(key: str) -> str:
    """Return the name of a coordinate for people.

    Examples
    --------
    >>> show_key("meta_Title"), show_key("Time_Signature")
    ('Title', 'Time Signature')
    """
    return key.removeprefix("meta_").replace("_", " ")


def each_track(contents: StoreContents, page: EvaluationPage, wanted: str | None = None) -> Iterator[SimpleNamespace]:
    """Yield the scores of all systems on each track of an evaluation by the main metrics, the worst track first.

    `wanted`: the only track to yield; None: all.

    Yields: the ``store``, ``evaluation`` and ``track``; its ``facts`` (names and values), and title and artist of what
      is ``heard`` (empty if unknown); the ``metrics``, the headline first; ``rows`` with the ``system``, its ``scores``
      by these metrics and its ``status`` (empty for a normal score), the best first and those without a score last;
      whether any ``has_status``; the ``worst`` system (None without scores); the scores as a chart, ``forest`` in HTML;
      ``mean`` and ``spread`` of the headline over the systems; the ``place`` ``of`` so many tracks, the worst first,
      with the tracks ``before`` and ``after`` it; and the ``others`` among the store's evaluations that have the track.
    """
    ranked, scores = page.evaluation, contents.scores(page.evaluation.name)
    if wanted is not None and wanted not in scores.places:
        raise UnknownNameError("track", wanted, scores.places)
    order, metrics = scores.order(scores.mean), [page.headline, *page.main]
    columns = [scores.metrics.index(metric.name) for metric in metrics]
    for place, index in enumerate(order):
        if wanted not in (None, scores.tracks[index]):
            continue
        values = scores.score[:, index, columns]
        rows = []
        for row in scores.order(values[:, 0]):
            status = Status(scores.status[row, index])
            words = "" if status == Status.ok else status.name.replace("_", " ")
            numbers = [_known(value) for value in values[row].tolist()]
            rows.append(SimpleNamespace(system=scores.systems[row], scores=numbers, status=words))
        # The best first, and those without a score last.
        scored = [row for row in reversed(rows) if row.scores[0] is not None]
        rows = [*scored, *(row for row in rows if row.scores[0] is None)]
        coords = [(show_key(key), str(plain_entry(column[index]))) for key, column in scores.coords.items()]
        facts = [(key, text) for key, text in coords if text not in ("", "None", "nan")]
        by_key = {key.casefold(): text for key, text in facts}
        # Title and artist of the recording.
        heard = [next((by_key[key] for key in keys if key in by_key), "") for keys in (_TITLES, _ARTISTS)]
        nowhere, sign = math.nan, SIGN_OF.get(page.headline.orientation, 0)
        bars = [
            Standing(row.system, nowhere if row.scores[0] is None else row.scores[0], nowhere, nowhere, "")
            for row in rows
        ]
        standings = Standings(bars, page.headline.unit, sign, nowhere, 0, 0, tested=False)
        name, datasets = scores.tracks[index], contents.datasets
        others = [other for other in datasets if other != ranked.name and name in contents.scores(other).places]
        before = scores.tracks[order[place - 1]] if place else None
        after = scores.tracks[order[place + 1]] if place + 1 < len(order) else None
        page_of = {"store": contents, "evaluation": ranked, "track": name, "others": others}
        of_track = {
            "facts": facts,
            "heard": ", ".join(filter(None, heard)),
            "has_status": any(row.status for row in rows),
        }
        of_systems = {"metrics": metrics, "rows": rows, "worst": scored[-1].system if scored else None}
        mean, spread = _known(scores.mean[index]), _known(scores.spread[index])
        listed = {"place": place + 1, "of": len(scores.tracks), "before": before, "after": after}
        chart = {"forest": to_html(standings.nodes()[1:]), "mean": mean, "spread": spread}
        yield SimpleNamespace(**page_of, **of_track, **of_systems, **chart, **listed)
