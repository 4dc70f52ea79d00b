"""Release of scores: as they are on an open split, rounded and after the ladder on a hidden one.

The ladder releases a score only where it is better than the account's best one before by at least a step, and says
otherwise that it is not. The error of the best released score then grows with the logarithm of the number of
submissions only, however they are chosen after those before them (A. Blum and M. Hardt: The Ladder: A Reliable
Leaderboard for Machine Learning Competitions, ICML 2015, section 3). Every metric has a ladder of its own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from ...pipeline.campaign import Split
from .submission_tables import Outcome, Relation, Released, Scored, Submission, Verdict

ROUND = 0.001
"""Step of released scores of a hidden split whose campaign names none."""
_TOLERANCE = 1e-9


def round_to(value: float, step: float) -> float:
    """The nearest multiple of a step.

    Examples
    --------
    >>> round_to(0.81549, 0.001), round_to(0.81549, 0.05)
    (0.815, 0.8)
    """
    return float(f"{round(value / step) * step:.12g}")


def decimals_of(split: Split | None) -> int | None:
    """Digits after the point that scores of a split are shown with; None where they are not rounded.

    Parameters
    ----------
    split : Split or None
        None: one that the campaign no longer has, of which nothing is shown that it would hide.

    Examples
    --------
    >>> decimals_of(Split(root="test", hidden=True, round=0.05)), decimals_of(Split(root="dev"))
    (2, None)
    """
    if split is not None and not split.hidden:
        return None
    step = Decimal(repr(ROUND if split is None or split.round is None else split.round)).normalize()
    return max(0, -int(step.as_tuple().exponent))


def climb(value: float, best: float | None, split: Split, *, lower_is_better: bool = False) -> tuple[float, bool]:
    """The released score on a hidden split, and whether it is better than the account's best before.

    Parameters
    ----------
    value : float
    best : float or None
        The account's best released score; None: there is none.
    split : Split
    lower_is_better : bool

    Examples
    --------
    >>> split = Split(root="test", hidden=True, round=0.001, ladder=0.005)
    >>> climb(0.8154, 0.812, split), climb(0.8174, 0.812, split)
    ((0.812, False), (0.817, True))
    """
    rounded = round_to(value, split.round or ROUND)
    if best is None or split.ladder is None:
        return rounded, True
    gain = best - value if lower_is_better else value - best
    return (rounded, True) if gain >= split.ladder - _TOLERANCE else (best, False)


def release(
    session: Session,
    submission: Submission,
    name: str,
    split: Split,
    values: Mapping[str, Iterable[Mapping[str, Any]]],
    rules: str,
    now: dt.datetime,
) -> None:
    """Write the scores of a submission that may be released; those that were released before stay as they are.

    Parameters
    ----------
    session : Session
    submission : Submission
    name : str
        Of the split.
    split : Split
    values : mapping
        By evaluation the fields of :class:`mirflow.service.submissions.scoring.Value`, the headline metric first.
    rules : str
    now : datetime
    """
    for evaluation, listed in values.items():
        for place, value in enumerate(listed):
            known = select(Released.id).where(
                Released.submission_id == submission.number,
                Released.split == name,
                Released.evaluation == evaluation,
                Released.metric == value["metric"],
            )
            # Counts of what a reference holds would tell of it, and nobody can be better at them.
            if session.scalar(known) is not None or (split.hidden and value["orientation"] == "none"):
                continue
            row = Released(
                submission_id=submission.number,
                split=name,
                evaluation=evaluation,
                metric=value["metric"],
                rules=rules,
                value=value["value"],
                # On how many of them a metric is defined depends on the references.
                tracks=value["asked"] if split.hidden else value["tracks"],
                lower_is_better=value["orientation"] == "lower",
                headline=place == 0,
                date=now,
            )
            if not split.hidden:
                row.low, row.high = value["low"], value["high"]
            elif row.value is not None:
                best = _best(session, submission, row)
                row.value, row.improved = climb(row.value, best, split, lower_is_better=row.lower_is_better)
            session.add(row)
    session.flush()
    if session.get(Scored, (submission.number, name, rules)) is None:
        session.add(Scored(submission_id=submission.number, split=name, rules=rules, date=now))


def _best(session: Session, submission: Submission, row: Released) -> float | None:
    """The account's best released score of the same metric."""
    own = (
        select(Released.value)
        .join(Submission)
        .where(
            Submission.user_id == submission.user_id,
            Released.split == row.split,
            Released.evaluation == row.evaluation,
            Released.metric == row.metric,
            Released.improved,
            Released.value.is_not(None),
        )
    )
    found = [value for value in session.scalars(own) if value is not None]
    if not found:
        return None
    return min(found) if row.lower_is_better else max(found)


def rivals(session: Session, submission: Submission, split: str) -> dict[str, dict[Relation, Submission]]:
    """Rivals of a submission by evaluation: the account's best before it, and the leader.

    The leader is the best of the others that the account may see; withdrawn submissions are no rivals.
    """
    rows = session.execute(
        select(Released, Submission)
        .join(Submission)
        .where(
            Released.split == split,
            Released.headline,
            Released.value.is_not(None),
            Submission.number != submission.number,
            Submission.state == "scored",
            Submission.withdrawn.is_(None),
        )
        .order_by(Submission.number)
    ).all()
    found: dict[str, dict[Relation, tuple[float, Submission]]] = {}
    for row, other in rows:
        relation: Relation = "own" if other.user_id == submission.user_id else "leader"
        if relation == "own" and (other.number > submission.number or not row.improved):
            continue
        if relation == "leader" and other.visibility == "private":
            continue
        value = row.value or 0.0
        gain = -value if row.lower_is_better else value
        known = found.setdefault(row.evaluation, {})
        if relation not in known or gain > known[relation][0]:
            known[relation] = gain, other
    return {name: {relation: one for relation, (_, one) in own.items()} for name, own in found.items()}


def judge(
    session: Session,
    submission: Submission,
    name: str,
    split: Split,
    against: Mapping[str, Mapping[Relation, int]],
    comparisons: Mapping[str, Mapping[str, Iterable[Mapping[str, Any]]]],
) -> None:
    """Write how a submission compares with its rivals; of a hidden split no more than the outcome.

    Where the ladder keeps a score back there is no outcome either: it would tell of that score.

    Parameters
    ----------
    session : Session
    submission : Submission
    name : str
        Of the split.
    split : Split
    against : mapping
        By evaluation and relation the numbers of the rivals.
    comparisons : mapping
        By evaluation and name of the rival the fields of
        :class:`mirflow.service.submissions.comparison.PairedComparison`.
    """
    for evaluation, relations in against.items():
        for relation, number in relations.items():
            other = session.get_one(Submission, number)
            for one in comparisons.get(evaluation, {}).get(other.name, ()):
                known = select(Verdict.id).where(
                    Verdict.submission_id == submission.number,
                    Verdict.split == name,
                    Verdict.evaluation == evaluation,
                    Verdict.metric == one["metric"],
                    Verdict.relation == relation,
                )
                kept_back = split.hidden and _is_kept_back(session, submission.number, name, evaluation, one["metric"])
                if kept_back or session.scalar(known) is not None:
                    continue
                row = Verdict(
                    submission_id=submission.number,
                    other_id=number,
                    relation=relation,
                    split=name,
                    evaluation=evaluation,
                    metric=one["metric"],
                    outcome=_outcome(one["outcome"]),
                    tracks=one["asked"] if split.hidden else one["tracks"],
                )
                if split.hidden:
                    row.difference = _released_difference(session, submission.number, number, row)
                else:
                    row.difference, row.low, row.high, row.p = (one[key] for key in ("difference", "low", "high", "p"))
                session.add(row)


def _is_kept_back(session: Session, number: int, split: str, evaluation: str, metric: str) -> bool:
    """True if the ladder keeps back the score of a submission."""
    told = select(Released.improved).where(
        Released.submission_id == number,
        Released.split == split,
        Released.evaluation == evaluation,
        Released.metric == metric,
    )
    return session.scalar(told) is False


def _outcome(text: str) -> Outcome:
    return "better" if text == "better" else "worse" if text == "worse" else "not told apart"


def _released_difference(session: Session, mine: int, theirs: int, row: Verdict) -> float | None:
    values = []
    for number in (mine, theirs):
        found = session.scalar(
            select(Released.value).where(
                Released.submission_id == number,
                Released.split == row.split,
                Released.evaluation == row.evaluation,
                Released.metric == row.metric,
            )
        )
        if found is None:
            return None
        values.append(found)
    return float(f"{values[0] - values[1]:.12g}")
