"""Who leads by a metric, who is not told apart from the leader, and who is worse: in a sentence and in a chart.

Columns of tables get charts of values with intervals as well, in HTML or in the characters of a terminal. Elements that
become HTML or text, for other parts of pages as well, are made here.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..analysis.query_options import MOST_SYSTEMS, say_level
from ..analysis.scores import Results, names_of
from ..errors import counted
from ..metrics.measures import SIGN_OF
from ..ragged import Float
from .captions import listed

_SHOWN = re.compile(r"(-?[\d.]+)\** \[(-?[\d.]+), (-?[\d.]+)\]")
WIDTH = 24
"""Characters of a chart on a terminal."""


Bounded = tuple[float, float, float]
"""A value with the ends of its interval."""


def bounded_values(texts: Sequence[str]) -> list[Bounded | None]:
    """Read the finite values of a column that have intervals; empty where fewer than two rows have one.

    Examples
    --------
    >>> bounded_values(["0.8 [0.7, 0.9]", "0.5 [-]", "0.6* [0.5, 0.7]"])
    [(0.8, 0.7, 0.9), None, (0.6, 0.5, 0.7)]
    >>> bounded_values(["0.8", "0.7"])
    []
    """
    matches = [_SHOWN.fullmatch(text) for text in texts]
    found = [(float(match[1]), float(match[2]), float(match[3])) if match else None for match in matches]
    return found if len(found) - found.count(None) > 1 else []


def text_charts(values: Sequence[Bounded | None]) -> list[str]:
    """Draw values and intervals on one scale in the characters of a terminal.

    Examples
    --------
    >>> print(*text_charts([(0.8, 0.7, 0.9), None, (0.5, 0.5, 0.7)]), sep="\\n")
               ├─────●─────┤
    <BLANKLINE>
    ●──────────┤
    """
    _, lows, highs = zip(*(one for one in values if one is not None), strict=True)
    low, high = min(lows), max(highs)
    step = (high - low) / (WIDTH - 1) or math.inf
    charts = []
    for one in values:
        line = [" "] * WIDTH
        if one is not None:
            dot, left, right = (round((end - low) / step) for end in one)
            line[left : right + 1] = "─" * (right + 1 - left)
            line[left], line[right] = "├", "┤"
            line[min(max(dot, 0), WIDTH - 1)] = "●"
        charts.append("".join(line).rstrip())
    return charts


LEADER, ALIKE, WORSE = "leader", "not told apart", "worse"
"""What a test says of a system beside the best one."""
MINUS = "\N{MINUS SIGN}"
DECIMALS = 3
"""Of ratios on pages, where no interval says how many it settles."""
_FEWEST, _NORMAL = 6, 1.96
"""Tracks from which on a mean has an interval, and its ends in standard errors."""
_NAMED = 4
"""Systems that a sentence names; of more it gives the number."""
_ROW = 27
"""Height of a row of the chart in pixels."""
_ROOM = 0.06
"""Share of the scale that stays free beyond the farthest interval."""


def settled_decimals(scores: Float) -> int:
    """The decimals of means of ratios that their tracks settle: to the second digit of the usual 95 % interval.

    `scores` (float64 (systems, tracks)): NaN where one does not count. Two to four decimals; three where few count.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [settled_decimals(rng.normal(0.8, spread, (2, 100))) for spread in (0.3, 0.1, 0.01)]
    [2, 3, 4]
    """
    n = np.isfinite(scores).sum(axis=1)
    known, n = np.where(np.isfinite(scores), scores, np.nan)[n >= _FEWEST], n[n >= _FEWEST]
    usual = float(np.median(2 * _NORMAL * np.nanstd(known, axis=1, ddof=1) / np.sqrt(n))) if n.size else 0.0
    return DECIMALS if usual <= 0 else int(np.clip(1 - math.floor(math.log10(usual)), 2, 4))


@dataclass(frozen=True)
class Standing:
    """A system by a metric."""

    system: str
    value: float
    """NaN without a score."""
    low: float
    high: float
    """Ends of the interval; NaN without one."""
    relation: str
    """`LEADER`, `ALIKE`, `WORSE`; empty where that was not tested."""
    letters: str = ""
    """Systems that share one are not told apart; empty where that was not tested."""
    gap_low: float = math.nan
    gap_high: float = math.nan
    """Ends of the interval of its difference to the leader, which holds 0 where the two are not told apart; NaN where
    that was not tested, and of the leader."""
    first: int | None = None
    """Percent of bootstrap replicates over tracks in which it is the best."""
    ranks: str = ""
    """The ranks that tests do not exclude; empty: its place by the value."""
    note: str = ""
    """Stands behind the name of a system of the reader's own."""


@dataclass(frozen=True)
class Standings:
    """The systems by a metric.

    `rows`: from the best to the worst; in any order where neither high nor low values are better. `sign`: 1 where high
    values are better, -1 where low ones are, otherwise 0. `n`, `tracks`: tracks that count, if they are the same for
    all systems (otherwise 0), and all tracks. `tested`: whether the systems were compared, perhaps in vain.
    """

    rows: Sequence[Standing]
    unit: str
    sign: int
    level: float
    n: int
    tracks: int
    tested: bool = True
    decimals: int = DECIMALS
    names: Mapping[str, str] = field(default_factory=dict)
    """Systems whose names are written shorter."""
    lacking: str = ""
    """Which system takes most tracks from all others, as a sentence."""

    def called(self, rows: Sequence[Standing]) -> str:
        """The names of some systems in a sentence, or how many they are."""
        names = [self.names.get(row.system, row.system) for row in rows]
        return listed(names) if len(names) <= _NAMED else f"{len(names)} systems"

    def show(self, value: float) -> str:
        """Format a value: ratios with the chosen decimals, others with four digits."""
        if math.isnan(value):
            return "\N{EN DASH}"
        if math.isinf(value):
            return f"{'' if value > 0 else MINUS}\N{INFINITY}"
        if not self.unit:
            return f"{value:z.{self.decimals}f}"
        return f"{value:z.0f}" if abs(value) >= 1000 else f"{value:.4g}"

    def show_signed(self, value: float) -> str:
        """Format a difference."""
        return f"{'+' if value > 0 else MINUS if value < 0 else ''}{self.show(abs(value))}"

    def words(self) -> tuple[list[str | float], str, str]:
        """The sentences: who leads, with numbers as such; who is not told apart and who is worse; which tracks count.

        The second one says what the chart says, too.
        """
        unit = f" {self.unit}" if self.unit else ""
        known = [row for row in self.rows if not math.isnan(row.value)]
        related = any(row.relation for row in self.rows)
        leaders, alike, worse = ([row for row in self.rows if row.relation == one] for one in (LEADER, ALIKE, WORSE))
        best = [row for row in known if row.value == known[0].value]
        lead: list[str | float] = ["No system has a score."]
        if known and not self.sign and len(known) > 1:
            low, high = (end(row.value for row in known) for end in (min, max))
            lead = ["The systems have ", low, unit, " to ", high, unit, "; neither high nor low is better."]
        elif known and len(self.rows) == 1:
            (row,) = known
            lead = [f"{self.called(known)} reaches ", row.value, unit, "."]
            if not math.isnan(row.low):
                lead[-1:] = [f" ({say_level(self.level)} interval ", row.low, " to ", row.high, ")."]
        elif known:
            leads, has = ("leads", "has") if len(best) == 1 else ("lead", "have")
            verb = f"{leads} with" if related else f"{has} the best value,"
            lead = [f"{self.called(best)} {verb} ", known[0].value, unit, "."]
        them = "it" if len(leaders) == 1 else "them"
        parts = (
            [f"{self.called(alike)} {'is' if len(alike) == 1 else 'are'} not told apart from {them}"] if alike else []
        )
        parts += [f"{self.called(worse)} {'is' if len(worse) == 1 else 'are'} worse"] if worse else []
        told, sentences = f"{'; '.join(parts)}." if parts else "", []
        if alike and not worse and len(alike) == len(known) - len(leaders) > 1:
            told = f"No other system is told apart from {them}."
        if 1 < len(self.rows) <= MOST_SYSTEMS and not related and self.sign and self.tested:
            many = counted(self.n or self.tracks, "track")
            sentences.append(f"{many} {'is' if many.startswith('1 ') else 'are'} too few to rank systems.")
        if 0 < self.n < self.tracks:
            sentences.append(f"{self.n} of {counted(self.tracks, 'track')} count: those that every system has.")
            sentences += filter(None, [self.lacking])
        without = [row for row in self.rows if math.isnan(row.value)]
        if without and known:
            sentences.append(f"{self.called(without)} {'has' if len(without) == 1 else 'have'} no score.")
        return lead, told, " ".join(sentences)

    def sentence(self, *, brief: bool = False) -> str:
        """Who leads, who is not told apart, who is worse, and which tracks count; `brief`: only the first of these."""
        first, *others = self.words()
        lead = "".join(part if isinstance(part, str) else self.show(part) for part in first)
        return lead if brief else " ".join(filter(None, (lead, *others)))

    def nodes(self, link: Callable[[str, str], str] | None = None, most: int | None = None) -> list[Node]:
        """The sentence and the chart, as elements of a page that has the style of the report.

        Ratios have an attribute ``data-value``, and the numbers of the scale ``data-tick``, so that a script can write
        them as percentages.

        `link`: gives the address that compares two systems: each with the leader, the leader with the one behind it.
        `most`: systems whose rows are shown at first; a row says how many there are besides, whose rows, of class
        ``over``, a script shows for whoever asks for them.
        """
        scale, (first_words, told, rest) = _Scale.of(replace(self, rows=self.rows[:most])), self.words()
        bounded = scale.leader is not None or any(not math.isnan(row.low) for row in self.rows)
        ends = "Difference to the leader" if scale.leader is not None else f"{say_level(self.level)} interval"
        about = ""
        if bounded:
            gap = " of the difference to the leader, of all systems together" if scale.leader is not None else ""
            about = f"Lines: {say_level(self.level)} intervals{gap}."
        words = "How often it is the best of all where the tracks are drawn anew"
        known = any(row.first and row.relation in (LEADER, ALIKE) for row in self.rows[:most])
        first = [node("span", "Chance to lead", kind="often", title=words)] if known else []
        heads = [
            node("th", node("span", "#", kind="unseen"), scope="col", kind="number rank"),
            node("th", node("span", "System", kind="unseen"), scope="col", kind="who"),
            node("th", node("span", "Chart", kind="unseen"), scale.axis(), scope="col", kind="chart", title=about),
            node("th", node("span", "Value", kind="unseen"), scope="col", kind="number"),
            *([node("th", ends, scope="col", kind="ends")] if bounded else []),
            node("th", node("span", "Test", kind="unseen"), *first, scope="col", kind="test"),
        ]
        rivals = [row.system for row in self.rows[1:2]] + [self.rows[0].system] * (len(self.rows) - 1)
        links = [link(row.system, rival) if link else "" for row, rival in zip(self.rows, rivals, strict=False)]
        links += [""] * (len(self.rows) - len(links))
        rows = [self._row(row, scale, bounded, to) for row, to in zip(self.rows, links, strict=True)]
        for _, about_row, _ in rows[most:] if most is not None else ():
            about_row["class"] += " over"
        if most is not None and len(self.rows) > most:
            least, last = (self._number(self.rows[at].value) for at in (most, -1))
            text: list[Node | str] = [f"{len(self.rows) - most} more: ", least, " to ", last]
            left = node("th", *text, scope="row", colspan="4", kind="quiet")
            rows.append(node("tr", node("td", kind="number quiet rank"), left, kind="rest"))
        table = [node("thead", node("tr", *heads)), node("tbody", *rows)]
        # What the rows say, too, a first screen only says aloud.
        parts = [node("span", f" {told}", kind="told") if told else "", f" {rest}" if rest else ""]
        named = (part if isinstance(part, str) else self._number(part) for part in first_words)
        lead = node("p", node("strong", *named), *parts, kind="lead")
        caption = [node("caption", about, kind="note")] if about else []
        return [lead, node("table", *caption, *table, kind="forest")]

    def _row(self, row: Standing, scale: _Scale, bounded: bool, link: str) -> Node:
        better = sum(self.sign * one.value > self.sign * row.value for one in self.rows)
        rank = "" if math.isnan(row.value) or not self.sign else str(better + 1)
        plain = "plain first" if rank == "1" else "plain"
        kind = {LEADER: "first", ALIKE: "alike", WORSE: "worse"}.get(row.relation, plain)
        low, high = (row.gap_low, row.gap_high) if scale.leader is not None else (row.low, row.high)
        inside = not math.isfinite(row.value) or scale.low <= row.value <= scale.high
        interval = "" if math.isnan(low) else f"[{self.show(low)}, {self.show(high)}]"
        ends = {f"data-{name}": f"{end:.10g}" for name, end in (("low", low), ("high", high)) if interval}
        leads = row.first and row.relation in (LEADER, ALIKE)
        often = [node("small", node("span", " first in", kind="told"), f" {row.first} %")] if leads else []
        shown = self.names.get(row.system, row.system)
        name = node("a", shown, kind="link", href=link) if link else shown
        about = {"title": row.system, **({"data-name": row.system} if shown != row.system else {})}
        return node(
            "tr",
            node("td", row.ranks or rank, kind="number quiet rank"),
            node("th", name, *([node("small", f" {row.note}")] if row.note else []), scope="row", **about),
            node("td", *([scale.chart(row)] if inside else []), kind="chart"),
            node("td", self._number(row.value), kind="number strong"),
            *([node("td", interval, kind="ends quiet", **ends)] if bounded else []),
            node("td", node("span", row.relation, kind="told" if often else "relation"), *often, kind="test quiet"),
            kind=f"{kind} own" if row.note else kind,
        )

    def _number(self, value: float) -> Node:
        exact = {"data-value": f"{value:.10g}"} if math.isfinite(value) and not self.unit else {}
        return node("data", self.show(value), **exact)


def charts_of(values: Sequence[Bounded | None]) -> list[Node | None]:
    """Charts of values and intervals on one scale, as of the standings; None where there is no interval."""
    rows = [Standing("", *one, "") for one in values if one is not None]
    scale = _Scale.of(Standings(rows, "", 0, math.nan, 0, 0))
    charts = map(scale.chart, rows)
    return [None if one is None else next(charts) for one in values]


def rank_result(
    result: Results,
    metric: int = 0,
    letters: Sequence[str] = (),
    tracks: int = 0,
    tested: bool = False,
    gaps: Float | None = None,
    first: Sequence[int] = (),
) -> Standings:
    """The systems of the result of a query by one of its metrics, the best first.

    `letters`: of each system; none where nothing is told apart. `gaps` (float64 (2, systems) or None): ends of the
    intervals of their differences to the best one, as :func:`mirflow.analysis.inference.comparisons.gaps_to_best` gives
    them. `first`: of each system the percent of replicates in which it is the best, if that is known.
    """
    value, n = (result[name].values[:, metric] for name in ("value", "n"))
    nowhere = np.full(len(value), np.nan)
    low, high = (result[name].values[:, metric] if name in result else nowhere for name in ("low", "high"))
    sign = SIGN_OF.get(names_of(result, "orientation")[metric], 0)
    columns = [one.tolist() for one in (value, low, high)]
    known = [sign * one for one in columns[0] if not math.isnan(one)]
    relations = [""] * len(value)
    if letters and sign and known:
        # What the letters of a comparison say of each system beside the best ones.
        best = max(known)
        leads = [sign * one == best for one in columns[0]]
        shared, *others = (set(text) for text, is_best in zip(letters, leads, strict=True) if is_best)
        shared.intersection_update(*others)
        for place, text in enumerate(letters):
            if text and not math.isnan(columns[0][place]):
                relation = WORSE if shared.isdisjoint(text) else ALIKE
                relations[place] = LEADER if leads[place] else relation
    ends = np.full((2, len(value)), np.nan) if gaps is None or not any(relations) else gaps
    named = names_of(result, "system"), *columns, relations, letters or [""] * len(relations), *ends.tolist()
    named = *named, first or [None] * len(relations)
    rows = [Standing(*row) for row in zip(*named, strict=True)]
    order = np.argsort(-sign * value, kind="stable").tolist()  # NaN comes last
    common = len(set(n.tolist())) == 1 and result.attrs.get("missing") == "common"
    return Standings(
        [rows[row] for row in order],
        unit=names_of(result, "unit")[metric],
        sign=sign,
        level=float(result.attrs.get("level", "nan")),
        n=int(n[0]) if common else 0,
        tracks=tracks,
        tested=tested,
    )


@dataclass(frozen=True)
class _Scale:
    """The scale of a chart, in percent of its width."""

    low: float
    high: float
    leader: float | None
    """The value of the leader, where differences to it have intervals."""

    @classmethod
    def of(cls, standings: Standings) -> _Scale:
        gapped = any(not math.isnan(row.gap_low) for row in standings.rows)
        leader = next((row.value for row in standings.rows if row.relation == LEADER), None) if gapped else None
        drawn = [
            (row.value, row.low, row.high)
            if leader is None
            else (row.value, leader + row.gap_low, leader + row.gap_high)
            for row in standings.rows
        ]
        ends = [end for row in drawn for end in row if math.isfinite(end)]
        low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
        room, inside = (high - low) * _ROOM or abs(high) * 0.1 or 1.0, low >= 0 and high <= 1
        if not any(math.isfinite(end) for row in drawn for end in row[1:]):
            # Without intervals nobody knows which differences are large.
            room = 1.0 if inside and not standings.unit else max(room, 4.5 * (high - low))
        low, high = low - room, high + room
        if not standings.unit and inside:
            low, high = max(low, 0.0), min(high, 1.0)
        return cls(low, high, leader)

    def place(self, value: float) -> str:
        """Where a value is; what is infinite is at the edge."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return f"{100 * share:.2f}%"

    def axis(self) -> Node:
        """The scale with its numbers."""
        marks = ticks(self.low, self.high, 5)
        decimals = next((n for n in range(7) if all(abs(round(one, n) - one) < 1e-9 for one in marks)), 6)
        words = [
            (f"{mark:.{decimals}f}", {"x": self.place(mark), "y": "12", "data-tick": repr(mark)}) for mark in marks
        ]
        texts = [node("text", text, **attributes) for text, attributes in words]
        return node("svg", *texts, kind="forestaxis", width="100%", height="16", **{"aria-hidden": "true"})

    def chart(self, row: Standing) -> Node:
        """The dot and the interval of a system."""
        lines = [("rail", tick, tick, 0, _ROW) for tick in ticks(self.low, self.high, 5)]
        if self.leader is not None:
            lines.append(("best", self.leader, self.leader, 0, _ROW))
        # The interval of the value, or of the difference to the leader, from the leader on.
        low, high = row.low, row.high
        if self.leader is not None:
            low, high = self.leader + row.gap_low, self.leader + row.gap_high
        if not math.isnan(low):
            lines.append(("whisker", low, high, _ROW // 2, _ROW // 2))
        parts = [
            node("line", kind=kind, x1=self.place(left), x2=self.place(right), y1=str(top), y2=str(bottom))
            for kind, left, right, top, bottom in lines
        ]
        if not math.isnan(row.value):
            parts.append(node("circle", cx=self.place(row.value), cy=str(_ROW // 2), r="5"))
        return node("svg", *parts, width="100%", height=str(_ROW), **{"aria-hidden": "true"})


Node = tuple[str, dict[str, str], list[Any]]
"""An element: its name, its attributes, and what is in it, elements and text. The page makes elements of them."""


def node(name: str, *inside: Node | str, kind: str = "", **attributes: str) -> Node:
    """An element; `kind` is its class."""
    return name, {**({"class": kind} if kind else {}), **attributes}, [one for one in inside if one != ""]


def to_html(nodes: Sequence[Node | str]) -> str:
    """Elements as HTML, in which text is only ever text."""
    written = []
    for one in nodes:
        if isinstance(one, str):
            written.append(html.escape(one))
            continue
        name, attributes, inside = one
        told = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
        written.append(f"<{name}{told}>{to_html(inside)}</{name}>")
    return "".join(written)


def text_of(nodes: Sequence[Node | str]) -> str:
    """The text in elements."""
    return "".join(one if isinstance(one, str) else text_of(one[2]) for one in nodes)


def ticks(least: float, most: float, fewest: int = 3) -> list[float]:
    """Return some round values between two others, as few as there can be above a number."""
    power = 10.0 ** math.floor(math.log10((most - least) / (fewest - 1)))
    for step in (5.0 * power, 2.0 * power, power):
        numbers = range(math.ceil(least / step), math.floor(most / step) + 1)
        found = [float(f"{number * step:.12g}") for number in numbers]
        if len(found) >= fewest:
            break
    return found
