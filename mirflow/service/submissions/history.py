"""History of a campaign: submissions that were scored, refused or withdrawn, and versions of the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from ...errors import counted
from ...pipeline.campaign import Campaign
from ...site.front_page import NewsItem
from ...site.pages import show_number
from ..accounts import Viewer
from .entries import may_see
from .releases import decimals_of
from .submission_tables import CLOSED, Released, RulesVersion, Submission

LOOKED_AT = 200
"""Submissions that are looked at for news; a viewer may see few of them."""


def read_history(session: Session, campaign: Campaign, viewer: Viewer | None, most: int) -> list[NewsItem]:
    """Read the history of a campaign, as far as somebody may know it.

    Parameters
    ----------
    session : Session
    campaign : Campaign
    viewer : Viewer or None
    most : int

    Returns
    -------
    list of NewsItem
        The newest first.
    """
    newest = func.coalesce(Submission.withdrawn, Submission.finished, Submission.received).desc()
    ended = select(Submission).where(or_(Submission.state == "scored", Submission.state.in_((*CLOSED, "withdrawn"))))
    seen = [one for one in session.scalars(ended.order_by(newest).limit(LOOKED_AT)) if may_see(one, viewer)]
    scores: dict[int, list[Released]] = defaultdict(list)
    shown = [one.number for one in seen]
    for row in session.scalars(select(Released).where(Released.submission_id.in_(shown), Released.headline)):
        scores[row.submission_id].append(row)
    found = [item for one in seen for item in _items(one, scores[one.number], campaign, viewer)]
    for rules in session.scalars(select(RulesVersion).order_by(RulesVersion.date.desc()).limit(most)):
        found.append(NewsItem(rules.date.isoformat(timespec="seconds"), f"Rules: version {rules.version}"))
    return sorted(found, key=lambda item: item.time, reverse=True)[:most]


def _items(
    submission: Submission, scores: list[Released], campaign: Campaign, viewer: Viewer | None
) -> Iterator[NewsItem]:
    """The end of a submission, and its withdrawal."""
    own = viewer is not None and viewer.user == submission.user_id
    whose = f"Your {submission.name}" if own else f"{submission.name} of {submission.user.name}"
    item = partial(NewsItem, page="submission", parts={"submission": submission.id})
    ended = (submission.finished or submission.received).isoformat(timespec="seconds")
    if submission.withdrawn is not None:
        yield item(submission.withdrawn.isoformat(timespec="seconds"), f"{whose} was withdrawn")
    if submission.state == "scored":
        text = "; ".join(_score(row, campaign) for row in sorted(scores, key=lambda row: row.id))
        yield item(ended, f"{whose} was scored{f': {text}' if text else ''}")
    elif submission.state == "refused":
        yield item(ended, f"{whose} was refused: {counted(submission.errors, 'error')}")
    elif submission.state == "failed":
        yield item(ended, f"{whose} could not be scored")


def _score(row: Released, campaign: Campaign) -> str:
    """A released score; of a hidden split it was rounded, and has no more digits than that."""
    value = show_number(row.value, decimals_of(campaign.splits.get(row.split)))
    return f"{row.split}, {row.evaluation} {value}{'' if row.improved else ', the best before'}"
