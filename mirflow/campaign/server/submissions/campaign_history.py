"""History of a campaign: submissions that were scored, refused or withdrawn, and versions of the rules."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from ....errors import counted
from ...file import Campaign
from ...site.front_page import NewsItem
from ...site.pages import show_number
from ..accounts import Viewer
from .entries import may_see
from .releases import NO_BETTER, decimals_of, is_final, show_score
from .submission_tables import CLOSED, Released, RulesVersion, Submission

LOOKED_AT = 200
"""Most submissions to search for news; a viewer may see few of them."""


def read_history(
    session: Session, campaign: Campaign, viewer: Viewer | None, most: int, now: dt.datetime
) -> list[NewsItem]:
    """Read the history of a campaign as the viewer may see it.

    Returns
    -------
    list of NewsItem
        Newest first.
    """
    newest = func.coalesce(Submission.withdrawn, Submission.finished, Submission.received).desc()
    ended = select(Submission).where(or_(Submission.state == "scored", Submission.state.in_((*CLOSED, "withdrawn"))))
    seen = [row for row in session.scalars(ended.order_by(newest).limit(LOOKED_AT)) if may_see(row, viewer)]
    scores: dict[int, list[Released]] = defaultdict(list)
    numbers = [submission.number for submission in seen]
    for row in session.scalars(select(Released).where(Released.submission_id.in_(numbers), Released.headline)):
        scores[row.submission_id].append(row)
    items = [item for sent in seen for item in _items(sent, scores[sent.number], campaign, viewer, now)]
    for name, split in campaign.splits.items():
        if split.final is not None and is_final(split, now):
            time = split.final.published.astimezone(dt.UTC).isoformat(timespec="seconds")
            items.append(NewsItem(time, f"Final ranking of {name}", page="store", parts={"store": name}))
    for rules in session.scalars(select(RulesVersion).order_by(RulesVersion.date.desc()).limit(most)):
        items.append(NewsItem(rules.date.isoformat(timespec="seconds"), f"Rules: version {rules.version}"))
    return sorted(items, key=lambda item: item.time, reverse=True)[:most]


def _items(
    submission: Submission, scores: list[Released], campaign: Campaign, viewer: Viewer | None, now: dt.datetime
) -> Iterator[NewsItem]:
    mine = viewer is not None and viewer.user == submission.user_id
    whose = f"Your {submission.name}" if mine else f"{submission.name} of {submission.user.name}"
    item = partial(NewsItem, page="submission", parts={"submission": submission.id})
    ended = (submission.finished or submission.received).isoformat(timespec="seconds")
    if submission.withdrawn is not None:
        done = "disqualified" if submission.disqualified else "withdrawn"
        yield item(submission.withdrawn.isoformat(timespec="seconds"), f"{whose} was {done}")
    if submission.state == "scored":
        rows = sorted(scores, key=lambda row: row.id)
        text = "; ".join(filter(None, (_score(row, campaign, now) for row in rows)))
        yield item(ended, f"{whose} was scored{f': {text}' if text else ''}")
    elif submission.state == "refused":
        yield item(ended, f"{whose} was refused: {counted(submission.errors, 'error')}")
    elif submission.state == "failed":
        yield item(ended, f"{whose} could not be scored")


def _score(row: Released, campaign: Campaign, now: dt.datetime) -> str:
    """Format a score that may be shown; empty for a withdrawn system on a hidden split."""
    split = campaign.splits.get(row.split)
    shown = show_score(row, split, now)
    if row.submission.withdrawn is not None and (split is None or split.hidden):
        return ""
    value = NO_BETTER if shown.kept_back else show_number(shown.value, decimals_of(split, now))
    return f"{row.split}, {row.evaluation} {value}"
