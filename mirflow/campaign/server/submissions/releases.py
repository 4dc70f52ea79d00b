"""Release of scores: exact on an open split, rounded and limited by the ladder on a hidden one.

The ladder releases a score only if it exceeds the team's best so far by at least a step. Otherwise no value is shown,
only that it is no better: tables of systems never show a score under the name of another system. The error of the best
released score then grows only with the logarithm of the number of submissions, however these are adapted to earlier
results (A. Blum and M. Hardt: The Ladder: A Reliable Leaderboard for Machine Learning Competitions, ICML 2015,
section 3). Every metric has a separate ladder.

A submission is compared with the leader and with the best earlier one of its team, also track by track.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from ....analysis.inference.comparisons import compare
from ....analysis.query_options import Query
from ....analysis.scores import names_of
from ....annotations.annotation import Annotation
from ....errors import QueryError
from ...file import Split
from .submission_tables import Outcome, Relation, Released, Scored, Submission, Verdict

if TYPE_CHECKING:
    import xarray as xr

NO_BETTER = "no better than the sender's best"  # note that replaces a score withheld by the ladder
BEST_OF_TEAM = "its team's best"  # note on a system in a final ranking
ROUND = 0.001  # default step of released scores on a hidden split
_TOLERANCE = 1e-9


def is_final(split: Split | None, now: dt.datetime) -> bool:
    """True once the final ranking of a hidden split is published."""
    return split is not None and split.final is not None and now >= split.final.published


def decimals_of(split: Split | None, now: dt.datetime) -> int | None:
    """Number of decimals of scores on a split; None if they are not rounded.

    `split` None: the campaign no longer has the split, so scores are treated as hidden.
    """
    if (split is not None and not split.hidden) or is_final(split, now):
        return None
    step = Decimal(repr(ROUND if split is None or split.round is None else split.round)).normalize()
    return max(0, -int(step.as_tuple().exponent))


def best_of_teams(rows: Iterable[Released]) -> frozenset[str]:
    """Return the names of the systems that are the best public ones of their teams; empty if no team has several.

    `rows`: scores by one metric; the earlier submission wins a tie.
    """
    teams: dict[str, list[Released]] = {}
    for row in rows:
        sent = row.submission
        if row.true_value is not None and sent.visibility == "public" and sent.withdrawn is None:
            teams.setdefault(sent.team, []).append(row)
    if all(len(scores) == 1 for scores in teams.values()):
        return frozenset()
    best = []
    for scores in teams.values():
        sign = 1 if scores[0].lower_is_better else -1
        best.append(min(scores, key=lambda row: (sign * (row.true_value or 0.0), row.submission_id)))
    return frozenset(row.submission.name for row in best)


@dataclass(frozen=True, slots=True)
class ShownScore:
    """A score as currently shown."""

    value: float | None
    low: float | None
    high: float | None
    kept_back: bool  # whether the ladder withholds the value


def show_score(row: Released, split: Split | None, now: dt.datetime) -> ShownScore:
    """Return the part of a score that may be shown: the exact value only after the final ranking is published."""
    if is_final(split, now):
        return ShownScore(row.true_value, row.true_low, row.true_high, kept_back=False)
    return ShownScore(row.value, row.low, row.high, kept_back=not row.improved)


def climb(value: float, best: float | None, split: Split, *, lower_is_better: bool = False) -> float | None:
    """Return the released score on a hidden split; None if it does not exceed the team's best by the step.

    `best`: the team's best released score; None: the team has none.
    """
    step = split.round or ROUND
    rounded = float(f"{round(value / step) * step:.12g}")
    if best is None or split.ladder is None:
        return rounded
    gain = best - value if lower_is_better else value - best
    return rounded if gain >= split.ladder - _TOLERANCE else None


def release(
    session: Session,
    submission: Submission,
    name: str,
    split: Split,
    values: Mapping[str, Iterable[Mapping[str, Any]]],
    rules: str,
    now: dt.datetime,
) -> None:
    """Write the scores of a submission that may be released; earlier releases never change. `name`: name of the split.
    `values`: the fields of :class:`.scoring.Value` by evaluation, headline metric first.
    """
    for evaluation, listed in values.items():
        for index, value in enumerate(listed):
            earlier = select(Released.id).where(*_same(Released, submission.number, name, evaluation, value["metric"]))
            # Counts of reference contents would reveal them, and no system can be better by them.
            if session.scalar(earlier) is not None or (split.hidden and value["orientation"] == "none"):
                continue
            where = {"submission_id": submission.number, "split": name, "evaluation": evaluation, "rules": rules}
            # The number of tracks on which a metric is defined depends on the references.
            tracks, lower = value["asked" if split.hidden else "tracks"], value["orientation"] == "lower"
            of_metric = {"metric": value["metric"], "lower_is_better": lower, "headline": index == 0}
            row = Released(**where, **of_metric, tracks=tracks, date=now)
            exact = value["value"], value["low"], value["high"]
            if not split.hidden:
                row.value, row.low, row.high = exact
            elif value["value"] is not None:
                row.true_value, row.true_low, row.true_high = exact
                # Private and withdrawn submissions count: the team knows their scores and could otherwise exploit them.
                same = Released.split == name, Released.evaluation == evaluation, Released.metric == row.metric
                of_team = select(Released.value).join(Submission).where(Submission.team == submission.team, *same)
                released = [score for score in session.scalars(of_team) if score is not None]
                best = (min if row.lower_is_better else max)(released, default=None)
                row.value = climb(value["value"], best, split, lower_is_better=row.lower_is_better)
                row.improved = row.value is not None
            session.add(row)
    session.flush()
    if session.get(Scored, (submission.number, name, rules)) is None:
        session.add(Scored(submission_id=submission.number, split=name, rules=rules, date=now))


def _same(
    table: type[Released | Verdict], number: int, split: str, evaluation: str, metric: str
) -> tuple[ColumnElement[bool], ...]:
    """Conditions for what a submission has on a split by a metric."""
    place = table.split == split, table.evaluation == evaluation, table.metric == metric
    return (table.submission_id == number, *place)


def rivals(session: Session, submission: Submission, split: str) -> dict[str, dict[Relation, Submission]]:
    """Find the rivals of a submission by evaluation: the leader, and the best earlier one of the team its sender sees.

    The leader is the best public system of other teams; withdrawn submissions are excluded.
    """
    valued = Released.split == split, Released.headline, Released.value.is_not(None)
    others = Submission.number != submission.number, Submission.state == "scored", Submission.withdrawn.is_(None)
    chosen = select(Released, Submission).join(Submission).where(*valued, *others).order_by(Submission.number)
    rows = session.execute(chosen).all()
    best: dict[str, dict[Relation, tuple[float, Submission]]] = {}
    for row, other in rows:
        relation: Relation = "own" if other.team == submission.team else "leader"
        later = other.number > submission.number
        unseen = other.user_id != submission.user_id and other.visibility == "private"
        if (later or unseen) if relation == "own" else other.visibility != "public":
            continue
        value = row.value or 0.0
        gain = -value if row.lower_is_better else value
        leaders = best.setdefault(row.evaluation, {})
        if relation not in leaders or gain > leaders[relation][0]:
            leaders[relation] = gain, other
    return {name: {relation: other for relation, (_, other) in row.items()} for name, row in best.items()}


def judge(
    session: Session,
    submission: Submission,
    name: str,
    split: Split,
    against: Mapping[str, Mapping[Relation, int]],
    comparisons: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> None:
    """Write how a submission compares with its rivals; on a hidden split only the outcome.

    If the ladder withholds a score, the outcome is withheld as well, since it would reveal the score.

    `name`: name of the split.
    `against`: numbers of the rivals, by evaluation and relation.
    `comparisons`: the results of :func:`mirflow.campaign.server.submissions.releases.compare_pair`, with the number
      of tracks (``asked``), by evaluation and name of the rival.
    """
    for evaluation, relations in against.items():
        for relation, number in relations.items():
            other = session.get_one(Submission, number)
            compared = comparisons.get(evaluation, {}).get(other.name)
            if compared is None:
                continue
            what = submission.number, name, evaluation, compared["metric"]
            judged = select(Verdict.id).where(*_same(Verdict, *what), Verdict.relation == relation)
            improved = select(Released.improved).where(*_same(Released, *what))
            kept_back = split.hidden and session.scalar(improved) is False
            if kept_back or session.scalar(judged) is not None:
                continue
            both = {"submission_id": submission.number, "other_id": number, "relation": relation}
            where = {"split": name, "evaluation": evaluation, "metric": compared["metric"]}
            tracks = compared["asked" if split.hidden else "tracks"]
            row = Verdict(**both, **where, outcome=compared["outcome"], tracks=tracks)
            if split.hidden:
                mine, theirs = (
                    session.scalar(select(Released.value).where(*_same(Released, of, *what[1:])))
                    for of in (submission.number, number)
                )
                if mine is not None and theirs is not None:
                    row.difference = float(f"{mine - theirs:.12g}")
            else:
                row.difference, row.low, row.high, row.p = (compared[key] for key in ("difference", "low", "high", "p"))
            session.add(row)


MISSING = "zero"  # treatment of missing estimates: a submission cannot choose its tracks


def compare_pair(ds: xr.Dataset, system: str, other: str, metric: str) -> dict[str, Any] | None:
    """Compare two systems by a metric, without correction since each test answers a separate question.

    `metric`: its stored identity.
    Returns: ``metric``, ``outcome`` (for the system, at the level of 0.05), ``difference`` (the system's value minus
      the other's), ``low`` and ``high`` (95 % interval over paired tracks; None for fewer than six), ``p`` (of the
      permutation test, or of the metric's own test) and ``tracks``. None if there is no test, as for a single track.
    """
    try:
        query = Query(metric=metric, exact=True, missing=MISSING)
        compared = compare(ds.sel(system=[system, other]), query, correction="none")
    except QueryError:
        return None
    cell = {name: compared[name].values[0, 1, 0] for name in ("difference", "low", "high", "p", "significant", "n")}
    numbers = {name: finite_or_none(cell[name]) for name in ("difference", "low", "high", "p")}
    outcome: Outcome = "not told apart"
    if bool(cell["significant"]) and numbers["difference"]:
        lower = names_of(compared, "orientation")[0] == "lower"
        outcome = "better" if (numbers["difference"] > 0) != lower else "worse"
    return {"metric": metric, "outcome": outcome, **numbers, "tracks": int(cell["n"])}


_MOST_TRACKS = 20  # changes of tracks that are listed
_NO_CHANGE = 1e-9  # smaller differences of scores are none


def track_changes(ds: xr.Dataset, system: str, other: str, metric: str) -> dict[str, Any]:
    """List the tracks on which two systems differ most, by the stored identity of a metric.

    Only for splits whose references are not hidden. Returns numbers of tracks that are ``better``, ``worse`` and the
    ``same``, and the largest ``changes`` in descending order: the ``score`` of the system and of the ``other`` (None if
    missing), and their ``difference``.
    """
    scores = ds["score"].sel(metric=metric, system=[system, other]).transpose("system", "track").values
    lower = str(ds["orientation"].sel(metric=metric).item()) == "lower"
    gain = (scores[1] - scores[0]) if lower else (scores[0] - scores[1])
    better, worse = int(np.sum(gain > _NO_CHANGE)), int(np.sum(gain < -_NO_CHANGE))
    size = np.where(np.isfinite(gain), np.abs(gain), -1.0)
    order = [row for row in np.argsort(-size, kind="stable")[:_MOST_TRACKS].tolist() if size[row] > _NO_CHANGE]
    names = ds["track"].values.tolist()
    changes = []
    for row in order:
        score, against = map(finite_or_none, scores[:, row])
        difference = None if score is None or against is None else score - against
        changes.append({"track": str(names[row]), "score": score, "other": against, "difference": difference})
    same = int(np.isfinite(gain).sum()) - better - worse
    counts = {"better": better, "worse": worse, "same": same}
    return {"metric": metric, "system": system, "other": other, **counts, "changes": changes}


def first_difference(one: Annotation, other: Annotation) -> float | None:
    """Return the time in seconds at which two estimates of a track first differ; None if they never do."""
    mine, theirs = Counter(_items(one)), Counter(_items(other))
    lone = sorted((mine - theirs).elements()), sorted((theirs - mine).elements())
    first = [rows[0] for rows in lone if rows]
    if not first:
        return None
    begins = [start for start, _, _ in first]
    if len(first) == 2 and begins[0] == begins[1] and first[0][2] == first[1][2]:
        return min(end for _, end, _ in first)  # the same item ends at different times
    return min(begins)


def _items(annotation: Annotation) -> list[tuple[float, float, str]]:
    columns = annotation.columns
    start = columns.get("start", columns.get("time"))
    if start is None:
        return []
    size, depths = len(start), {variable.name: variable.depth for variable in annotation.schema.variables}
    end, counts = columns.get("end", start), annotation.inner_counts
    others: list[Sequence[Any]] = []
    if annotation.labels is not None and len(annotation.labels) == size:
        others.append(annotation.labels)
    for name, column in columns.items():
        if name in ("start", "end", "time"):
            continue
        if depths.get("time") is not None and depths.get(name) is None:
            # Several values per time, such as the pitches of a frame.
            others.append([part.tolist() for part in np.split(column, np.cumsum(counts[-1])[:-1])] if size else [])
        elif len(column) == size:
            others.append(column.tolist())
    rest = map(repr, zip(*others, strict=True)) if others else [""] * size
    return [*zip(start.tolist(), end.tolist(), rest, strict=True)]


def finite_or_none(value: float) -> float | None:
    """Return a number for a table of the database; None if it is NaN or infinite."""
    return float(value) if np.isfinite(value) else None
