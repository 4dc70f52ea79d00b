"""The first screen: who leads, the best two beside each other, what costs the best one most, and a track to listen to.

All of it are elements with links into the page, so that it is there without scripts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.aggregation import reduce
from ...analysis.inference.sample import differences
from ...analysis.query_options import say_level
from ...errors import counted
from ...metrics.aggregates import RATIOS
from ..standings import DECIMALS, LEADER, WORSE, Node, Standings, node, text_of, to_html
from .assembly import report_link
from .data import EvaluationNumbers

if TYPE_CHECKING:
    import xarray as xr

    from ...ragged import Float

MOST = 12
"""Systems of the chart: the table has the others."""
FEWEST = 6
"""Tracks from which on gains are drawn and counted."""
_COSTLIEST = 4
_MANY = 0.05
"""Share of the tracks from which on the system is named without which they would count."""
_AROUND = 4
"""Seconds that are seen before and after a place with errors."""
_SAME = re.compile(r"^(.+) → \1, ")
_EQUAL = 5e-11
"""Differences of scores that are rounding errors, as in compare.js."""
_COLUMNS, _HIGH, _WIDE = 160, 100, 200
"""Most columns of the chart of gains, its height, and the length of the longest bar."""


@dataclass(frozen=True)
class FirstScreen:
    """What the first screens of an evaluation are made of."""

    scores: xr.Dataset
    evaluation: Mapping[str, Any]
    """As the page describes it."""
    by_track: bool = True
    causes: Sequence[Sequence[Any]] = ()
    """As the page lists them."""
    errors: Sequence[Mapping[str, Any]] = ()
    """Of each metric that judges, as the page lists them, the usual one first."""
    timelines: Collection[str] = field(default_factory=frozenset)
    """Tracks that have one."""

    def draw(self, metric: int, found: Mapping[str, Any]) -> dict[str, Any]:
        """Put elements in place of the standings of a metric: the chart, and what is beside and below it."""
        if "standings" not in found:
            return dict(found)
        # The system without which most tracks more would count is named, if they are many.
        missing, lacking = self._numbers.of(metric).missing, ""
        count = missing.sum(axis=0)
        gains = (missing & (count == 1)).sum(axis=1)
        worst = int(gains.argmax())
        if len(gains) >= 3 and gains[worst] >= _MANY * missing.shape[1]:
            lacks, left = int(missing[worst].sum()), int((count == 0).sum() + gains[worst])
            name = list(self._short["systems"].values())[worst]
            lacking = f"{name} lacks {counted(lacks, 'track')}: without it {left} count."
        standings: Standings = replace(
            found["standings"],
            names=self._short["systems"],
            lacking=lacking,
            decimals=self.evaluation["metrics"][metric].get("decimals", DECIMALS),
        )
        leading = [row.system for row in standings.rows if not math.isnan(row.value)][:2]
        if not self.by_track or not standings.sign or len(leading) < 2:
            alone = self._costs(metric, *leading[:1]) if self.by_track and leading else []
            listen = self._listen(metric, standings) if self.by_track else []
            return {**found, "standings": standings.nodes(most=MOST), "beside": alone, "listen": listen}
        nodes = standings.nodes(
            lambda system, other: self._link(metric, "compare", gains=system, against=other, wrong=system), MOST
        )
        rivals = [row.system for row in standings.rows[1:] if not math.isnan(row.value)]
        pair = _Pair.of(self._numbers, self.scores, metric, standings, rivals[0])
        # Two that are equal everywhere are nothing to listen to.
        pairs = (_Pair.of(self._numbers, self.scores, metric, standings, rival) for rival in rivals)
        unlike = next((one for one in pairs if one.gains.any()), pair)
        beside = [*self._pair(metric, standings, pair), *self._costs(metric, leading[0])] if len(pair.gains) else []
        listen = self._listen(metric, standings, unlike, text_of(beside))
        return {**found, "standings": nodes, "beside": beside, "listen": listen}

    @cached_property
    def _numbers(self) -> EvaluationNumbers:
        return EvaluationNumbers(self.scores, [])

    @cached_property
    def _short(self) -> dict[str, dict[str, str]]:
        """Short names of the ``systems`` and the ``tracks``."""
        names = {kind: self.evaluation.get(kind, ()) for kind in ("systems", "tracks")}
        short = self.evaluation.get("short", {})
        return {kind: dict(zip(every, short.get(kind, every), strict=True)) for kind, every in names.items()}

    def _link(self, metric: int, tab: str = "", **more: str) -> str:
        name = self.evaluation["metrics"][metric]["name"]
        return report_link(self.evaluation["name"], more.pop("track", ""), None, metric=name, tab=tab, **more)

    def _why(self, track: str) -> list[Node | str]:
        """What is known of the low scores of a track in few words; the title has the sentence."""
        own = [row for row in self.causes if row[0] == track]
        if not own:
            return []
        _, system, _, words, score, better, *_ = own[0]
        alike = [row for row in own if row[3] == words]
        names = [self._short["systems"].get(name, name) for row in alike for name in row[8]]
        few = words.removeprefix("the estimate is ").replace("the reference (or the recording) is ", "reference ")
        short = few if system == "*" else f"{', '.join(names)}: {few}"
        gain = f" ({score:.2f}→{better:.2f})" if better > score and len(alike) == 1 else ""
        return [node("small", short.replace(" too ", " ") + gain, kind="cause", title=f"{', '.join(names)}: {words}")]

    def _pair(self, metric: int, standings: Standings, pair: _Pair) -> list[Node]:
        first, second, *_ = standings.rows
        compare = self._link(metric, "compare", gains=first.system, against=second.system)
        told = {LEADER: "equal", WORSE: "told apart"}.get(second.relation, second.relation)
        interval = ""
        if not math.isnan(second.gap_low):
            ends = sorted(-standings.sign * end for end in (second.gap_low, second.gap_high))
            words = " to ".join(standings.show_signed(end) for end in ends)
            interval = f"{say_level(standings.level)} interval of all systems together: {words}"
        verdict = f" {told}" if told else ""
        better, worse = int((pair.gains > 0).sum()), int((pair.gains < 0).sum())
        enough = len(pair.gains) >= FEWEST
        oracle: list[Node | str] = []
        if enough and not math.isnan(pair.oracle):
            score = standings.show(pair.oracle)
            words = f"Picking the best system for each track would score {score}."
            oracle = [" · ", node("span", f"each track's best: {score}", title=words)]
        gap = node("b", standings.show_signed(standings.sign * (first.value - second.value)))
        extremes = []
        for at, kind in ((0, "link good"), (-1, "link bad")) if len(pair.gains) > 1 else ():
            track, gain = pair.tracks[at], float(pair.gains[at])
            if gain > 0 if at == 0 else gain < 0:
                words = f"{self._short['tracks'][track]} {standings.show_signed(gain)}"
                link = node("a", words, href=self._track(metric, pair, at), kind=kind, title=track)
                extremes.append(node("span", link, *self._why(track)))
        names = [self._short["systems"][one.system] for one in (first, second)]
        sides = [
            node("span", node("i"), f"{names[0]} better on {counted(better, 'track')}", kind="good"),
            node("span", node("i"), f"{names[1]} better on {worse:,}", kind="bad"),
        ]
        return [
            node("h2", node("a", " against ".join(names), kind="link", href=compare)),
            node("p", gap, verdict, *oracle, kind="difference", **({"title": interval} if interval else {})),
            *([node("p", *sides, kind="sides"), pair.chart()] if enough else []),
            *([node("p", *extremes, kind="extremes")] if extremes else []),
        ]

    def _track(self, metric: int, pair: _Pair, at: int) -> str:
        worse, better = (pair.second, pair.first) if pair.gains[at] > 0 else (pair.first, pair.second)
        return self._link(metric, track=pair.tracks[at], ear=worse, beside=better)

    def _costs(self, metric: int, system: str) -> list[Node]:
        """The costliest kinds of errors of a system; each leads to its largest place."""
        name = self.evaluation["metrics"][metric]["name"]
        found = next((one for one in self.errors if one["rule"] == name), next(iter(self.errors), None))
        own = found["systems"][self.evaluation["systems"].index(system)] if found else None
        kinds = (
            sorted((one for one in own["kinds"] if one["amount"] > 0), key=lambda one: -one["amount"]) if own else []
        )
        if not found or not own or not kinds:
            return []
        few, many = own["tracks"], self.evaluation["trackCount"]
        hardest = "the " if self.evaluation["timeline"].get("sampled") else ""
        some = f"{hardest}{few:,}{' hardest' if hardest else ''} of {counted(many, 'track')}"
        extent = some if few < many else f"all {counted(many, 'track')}" if many > 1 else "the one track"
        rows: list[Node] = []
        # An error among chords of one kind is told by what sets them apart.
        short = [_SAME.sub("", kind["name"]) for kind in kinds[:_COSTLIEST]]
        for kind, words in zip(kinds, short, strict=False):
            wide = max(1.0, _WIDE * kind["amount"] / kinds[0]["amount"])
            bar = node("rect", x="0", y="3", width=f"{wide:.1f}", height="10")
            chart = {"viewBox": f"0 0 {_WIDE} 16", "preserveAspectRatio": "none", "aria-hidden": "true"}
            whole = kind["amount"] >= 100 or float(kind["amount"]).is_integer()
            amount = f"{kind['amount']:,.{0 if whole else 1}f}"
            # The largest place, as the address says it; nothing where the page lists none.
            place, sizes = {}, kind.get("count", kind.get("length", []))
            if sizes:
                at = max(range(len(sizes)), key=sizes.__getitem__)
                track = found["tracks"][sum(kind["track"][: at + 1])]
                place = {"track": track, "from": "errors", "error": kind["name"], "place": "1"}
            if sizes and "start" in kind:
                start, length = kind["start"][at] / 10, kind["length"][at] / 10
                seen = f"{max(0, start - _AROUND):g}-{start + length + _AROUND:g}"
                place |= {"time": f"{start:g}", "seen": seen}
            link = self._link(metric, **place, wrong=system, ear=system) if place else ""
            about = {"kind": "link", "href": link} if link else {}
            shown = words if short.count(words) == 1 else kind["name"]
            name = node("a" if link else "span", shown, title=kind["name"], **about)
            rows += [name, node("svg", bar, kind="amount", **chart)]
            unit = "" if rows[2:] else f" {found['unit']}"
            rows.append(node("span", f"{amount}{unit}", kind="number quiet"))
        title = f"What costs {self._short['systems'][system]} most"
        # A part of the tracks is never shown as the whole.
        return [
            node("h2", title if few == many else f"{title} on {extent}", title=f"On {extent}"),
            node("div", *rows, kind="costs"),
        ]

    def _listen(self, metric: int, standings: Standings, pair: _Pair | None = None, said: str = "") -> list[Node]:
        """The track with a timeline on which the best two differ most, or else the worst; a script adds its lanes.

        `said`: the text of the cards above, whose causes are not said again.
        """
        leader = next((row.system for row in standings.rows if not math.isnan(row.value)), None)
        able = (
            [at for at, track in enumerate(pair.tracks) if track in self.timelines and pair.gains[at]] if pair else []
        )
        if pair and able:
            at = max(able, key=lambda one: abs(pair.gains[one]))
            track, other, title = pair.tracks[at], pair.second, "Largest disagreement"
            link = self._track(metric, pair, at)
        elif leader is not None:
            own = self.scores["score"].isel(metric=metric).sel(system=leader).values * (standings.sign or 1)
            known = [
                at for at, name in enumerate(self._short["tracks"]) if name in self.timelines and own[at] == own[at]
            ]
            if not known:
                return []
            track, other, title = list(self._short["tracks"])[min(known, key=own.__getitem__)], "", "Worst track"
            link = self._link(metric, track=track, ear=leader)
        else:
            return []
        if self.evaluation["trackCount"] == 1:
            title = "The track"
        why = self._why(track)
        why = [] if text_of(why) in said else why
        count = len(self._short["systems"])
        words = node(
            "div",
            node("h2", title),
            node("p", self._short["tracks"][track], *([" ", *why] if why else []), kind="note", title=track),
            node("p", node("a", f"All {count} systems" if count > 1 else "Open", kind="link", href=link), kind="bar"),
        )
        data = {"data-track": track, "data-of": leader or "", "data-against": other}
        return [node("div", words, id="listen", **data)]


@dataclass(frozen=True)
class _Pair:
    """The best system and another one, track by track."""

    first: str
    second: str
    tracks: Sequence[str]
    """Those that both have, the largest gain of the first one first."""
    gains: Float
    oracle: float
    """The aggregate with the best system of each track; NaN where it is not of the metric, or all have too few."""

    @classmethod
    def of(
        cls, numbers: EvaluationNumbers, scores: xr.Dataset, metric: int, standings: Standings, second: str
    ) -> _Pair:
        first = standings.rows[0].system
        systems, names = (scores[name].values.tolist() for name in ("system", "track"))
        found = numbers.of(metric)
        value, included = found.usual
        rows = [systems.index(one) for one in (first, second)]
        tracks = np.flatnonzero(included[rows].all(axis=0))
        own = value[rows][:, tracks]
        gains = standings.sign * differences(*own)
        gains[np.abs(gains) < _EQUAL] = 0.0
        order = np.argsort(-gains, kind="stable")
        every = np.asarray(included.all(axis=0))
        kind = str(scores["standard_aggregate"].values[metric])
        oracle = math.nan
        if kind in RATIOS and every.any():
            chosen = np.flatnonzero(every)
            best = np.argmax(standings.sign * np.where(every, value, 0.0), axis=0)[chosen]
            score, weight = (one[best, chosen, :][np.newaxis] for one in (found.score, found.weight))
            duration, counted_cells = numbers.duration[chosen], np.ones(score.shape, dtype=bool)
            oracle = float(reduce(score, weight, duration, kind, counted_cells)[0, 0])
        return cls(first, second, [names[at] for at in tracks[order].tolist()], gains[order], oracle)

    def chart(self) -> Node:
        """The gain of every track as an upright line; of many tracks the largest of those that share one."""
        columns = np.array_split(self.gains, min(_COLUMNS, len(self.gains)))
        heights = np.array([part[np.argmax(np.abs(part))] for part in columns])
        most = np.abs(heights[np.isfinite(heights)]).max(initial=0.0) or 1.0
        heights = np.clip(np.nan_to_num(heights / most), -1, 1)
        up, down = max(heights.max(), 0.0), max(-heights.min(), 0.0)
        middle = _HIGH * up / ((up + down) or 1.0)
        tall = _HIGH / ((up + down) or 1.0)
        paths = []
        for kind, side in (("gain", heights > 0), ("loss", heights < 0)):
            drawn = "".join(
                f"M{at + 0.5:g} {middle:.0f}V{middle - tall * one:.0f}"
                for at, one in enumerate(heights.tolist())
                if side[at]
            )
            paths += [node("path", d=drawn, kind=kind)] if drawn else []
        axis = node("path", d=f"M0 {middle:.0f}H{len(heights)}", kind="zero")
        box = {"viewBox": f"0 0 {len(heights)} {_HIGH}", "preserveAspectRatio": "none", "role": "img"}
        words = f"{self.first} less {self.second} on each of {counted(len(self.gains), 'track')}, sorted"
        return node("svg", *paths, axis, kind="gains", **box, **{"aria-label": words})


def first_html(contents: Mapping[str, Any]) -> tuple[str, str]:
    """The first screen by the main metric as HTML that needs no script, and who leads as a sentence."""
    first = contents["evaluations"][0]
    found: Mapping[str, Any] = next((own for metric, own in first["inference"] if metric in first["main"][:1]), {})
    standings = found.get("standings", [])
    sentence = text_of(standings[:1])
    size = f"{counted(len(first['systems']), 'system')}, {counted(first['trackCount'], 'track')}"
    card = contents["scorecard"]
    boxes = [node("section", *card, id="overview")] if isinstance(card, list) and card else []
    suspect = first["causes"]["suspect"] if "causes" in first else 0
    doubted = f", {counted(suspect, 'reference')} suspect" if suspect else ""
    about = node("p", f"{contents['called']}: {size}{doubted}")
    if not standings:
        failed = first["lacking"] and first["lacking"] == len(first["systems"]) * first["trackCount"]
        return to_html([node("h1", "Nothing was scored" if failed else contents["title"]), about, *boxes]), size
    lead, *rest = standings[0][2]
    head = [node("h1", text_of([lead]).removesuffix(".")), about]
    beside = [node("div", *found["beside"], id="second")] if found["beside"] else []
    chart = node("div", node("p", *rest, kind="lead"), *standings[1:], id="standings")
    screen = node("div", chart, *beside, *found["listen"], id="ranking")
    return to_html([*head, screen, *boxes]), f"{sentence} {size}."
