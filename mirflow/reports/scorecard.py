"""Scorecards of pages: systems by evaluations, with values, the best of each, and differences to the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul

from .standings import ALIKE, Node, Standings, node

SHADES = 4
"""Steps of colour."""


@dataclass(frozen=True)
class ScoredEvaluation:
    """An evaluation of a scorecard.

    `about`: what its values are: the task, the metric. `address`: of the page, or the part of it, to which the cells
    lead.
    """

    name: str
    about: str
    address: str
    standings: Standings


def scorecard(evaluations: Sequence[ScoredEvaluation]) -> list[Node]:
    """Write a table of all systems in all evaluations, as elements of a page that has the style of the report.

    The longer of both, systems or evaluations, is in the rows. The system with the most first places comes first. Each
    cell has the value, which leads to the evaluation, and the difference to the best one; its class gives the colour:
    ``worse1`` to ``worse4``, in quarters of the largest difference of the evaluation, and ``unsure`` where the two are
    not told apart or were not compared. Scripts find the system of a cell in ``data-system``, its value, if that is a
    ratio, in ``data-value``, and the evaluation of a column or a row in ``data-evaluation``.

    Returns nothing where no system is in two evaluations.

    Examples
    --------
    >>> from mirflow.reports.standings import MINUS, Standing, text_of
    >>> beat = [Standing("oak", 0.9, 0.88, 0.92, "leader", "a"), Standing("elm", 0.7, 0.6, 0.8, "worse", "b")]
    >>> key = [Standing("oak", 0.5, 0.4, 0.6, "not told apart", "a"), Standing("elm", 0.6, 0.5, 0.7, "leader", "a")]
    >>> columns = [("beat", beat), ("key", key)]
    >>> made = scorecard([ScoredEvaluation(name, "", "", Standings(rows, "", 1, 0.95, 9, 9)) for name, rows in columns])
    >>> text_of(made[0][2][1:]).replace(MINUS, "-")  # the caption comes first
    'Systembeatkeyoak0.900best0.500=(-0.100)elm0.700-0.2000.600best'
    """
    cells = {(own.name, row.system): row for own in evaluations for row in own.standings.rows}
    # The best value of several, by evaluation; NaN without one.
    best_of: dict[str, float] = {}
    wins: dict[str, int] = {}
    for own in evaluations:
        values, sign = [row.value for row in own.standings.rows if not math.isnan(row.value)], own.standings.sign
        best_of[own.name] = max(values, key=partial(mul, sign)) if values[1:] and sign else math.nan
        for row in own.standings.rows:
            wins[row.system] = wins.get(row.system, 0) + (row.value == best_of[own.name])
    systems = sorted(wins, key=lambda name: -wins[name])
    if len(evaluations) < 2 or all(sum((own.name, name) in cells for own in evaluations) < 2 for name in systems):
        return []
    # The class of each cell with a value, and its difference to the best one: NaN without one.
    shades: dict[tuple[str, str], tuple[str, float]] = {}
    for own in evaluations:
        known, best = [row for row in own.standings.rows if not math.isnan(row.value)], best_of[own.name]
        leader = next((row for row in known if row.value == best), None)
        gaps = [math.nan if leader is None else row.value - leader.value for row in known]
        widest = max((abs(gap) for gap in gaps if math.isfinite(gap)), default=0.0)
        for row, gap in zip(known, gaps, strict=True):
            step = math.ceil(SHADES * abs(gap) / widest - 1e-9) if widest and math.isfinite(gap) else 0
            step = SHADES if widest and math.isinf(gap) else step
            apart = leader is None or (row.letters and leader.letters and not set(row.letters) & set(leader.letters))
            kinds = [f"worse{step}" if step else "", "" if apart or not gap else "unsure"]
            shades[own.name, row.system] = " ".join(filter(None, kinds)), gap

    def cell(own: ScoredEvaluation, system: str) -> Node:
        row = cells.get((own.name, system))
        if row is None or math.isnan(row.value):
            return node("td", "", kind="number")
        board, (kind, gap) = own.standings, shades[own.name, system]
        best = row.value == best_of[own.name]
        number = {"data-value": f"{row.value:.10g}"} if math.isfinite(row.value) and not board.unit else {}
        value = node("data", board.show(row.value), kind="strong" if best else "", **number)
        alike = [node("span", "=", kind="mark", title="not told apart from the best")] if row.relation == ALIKE else []
        said = "best" if best and not gap else "" if math.isnan(gap) else board.show_signed(gap)
        said = f"({said})" if "unsure" in kind else said
        # The head of the evaluation is the stop for the keyboard.
        where = {"href": own.address, "title": f"{row.system}, {own.name}", "tabindex": "-1"}
        inside = node("a", value, **where), *alike, node("small", said)
        return node("td", *inside, kind=f"number {kind}".strip(), **{"data-system": row.system})

    if len(evaluations) > len(systems):
        names = [node("th", name, scope="col", kind="number", title=name) for name in systems]
        head = node("tr", node("th", "Evaluation", scope="col", kind="who"), *names)
        body = [
            node("tr", _head(own, "row"), *(cell(own, name) for name in systems), **{"data-evaluation": own.name})
            for own in evaluations
        ]
    else:
        columns = [_head(own, "col", **{"data-evaluation": own.name}) for own in evaluations]
        head = node("tr", node("th", "System", scope="col", kind="who"), *columns)
        body = [
            node("tr", node("th", name, scope="row", title=name), *(cell(own, name) for own in evaluations))
            for name in systems
        ]
    caption = node(
        "caption", "Bold is best. Small numbers are the gap to it; hatched gaps could be chance.", kind="note"
    )
    return [node("table", caption, node("thead", head), node("tbody", *body), kind="scorecard")]


def _head(own: ScoredEvaluation, scope: str, **facts: str) -> Node:
    name = node("a", own.name, href=own.address)
    kind, title = "number" if scope == "col" else "", f"{own.name}: {own.about}"
    return node("th", name, node("small", own.about), scope=scope, kind=kind, title=title, **facts)
