"""Submissions as people see them: entering, listing, visibility, withdrawal, and quotas."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import get_args

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from ....errors import MirflowError, UnknownNameError
from ...file import Campaign, Split, Visibility, show_moment
from ...grading.csv_tables import FORMULA
from ...site.pages import is_web_address
from ..accounts import Viewer, has_lab, team_of
from ..database import User
from .submission_tables import CLOSED, OPEN, Released, Scored, Submission, SubmissionFinding, Verdict

LONGEST_NAME = 64
"""Characters of the name of a system."""
_NAME = re.compile(rf"[A-Za-z0-9](?:[A-Za-z0-9._+-]{{0,{LONGEST_NAME - 2}}}[A-Za-z0-9_+-])?")
RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps to itself, with or without a suffix."""
LONGEST_DESCRIPTION = 2000
"""Characters of the description of a system."""
LONGEST_LINK = 500
"""Characters of the address of its paper or code."""
LONGEST_REASON = 2000
"""Characters of the reason for which a submission is disqualified."""
_LINK = re.compile(r"[!-~]+")
MOST_WAITING = 200
"""Submissions of an account that wait at a time: others are in the queue, too, and the disk is finite."""


class SubmissionError(MirflowError):
    """A submission cannot be taken, or may not be changed so; the message is for who sent it."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Submissions of a team that are scored on a split in a period."""

    split: str
    most: int | None
    """None: any number."""
    used: int
    per: str
    renewed: dt.datetime | None
    """When the next period begins, UTC; None: never."""

    @property
    def left(self) -> int | None:
        """Submissions that may still be sent in this period; None: any number."""
        return None if self.most is None else max(0, self.most - self.used)


@dataclass(frozen=True, slots=True)
class SplitScores:
    """Scores on one split, as far as a submitter may know them."""

    split: str
    hidden: bool
    """Whether scores are rounded and rationed, without intervals."""
    scores: tuple[Released, ...]
    """By evaluation, the headline metric first."""
    verdicts: tuple[Verdict, ...]
    """Comparisons with the account's best earlier submission and with the leader, of the headline metrics."""


def period_of(per: str, now: dt.datetime) -> tuple[dt.datetime | None, dt.datetime | None]:
    """The beginning of the period that a time lies in, and of the next, UTC; None and None: there is only one.

    Examples
    --------
    >>> period_of("month", dt.datetime(2026, 12, 31, 23, 59, tzinfo=dt.UTC))[1].isoformat()
    '2027-01-01T00:00:00+00:00'
    """
    day = now.astimezone(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if per == "day":
        return day, day + dt.timedelta(days=1)
    if per == "week":
        monday = day - dt.timedelta(days=day.weekday())
        return monday, monday + dt.timedelta(days=7)
    if per == "month":
        first = day.replace(day=1)
        return first, (first + dt.timedelta(days=32)).replace(day=1)
    return None, None


def quota_of(session: Session, name: str, split: Split, user: int, now: dt.datetime) -> Quota:
    """The quota of an account's team on a split; submissions that were refused do not count.

    One that could not be scored counts where it was scored before, and on a hidden split also where it failed, as that
    may tell of a reference, too.
    """
    began, renewed = period_of(split.per, now)
    team = team_of(session.get_one(User, user))
    own = select(Submission).where(Submission.team == team, Submission.state != "refused")
    if began is not None:
        own = own.where(Submission.received >= began)
    used = sum(name in _counted_splits(session, one, hidden=split.hidden) for one in session.scalars(own))
    return Quota(name, split.quota, used, split.per, renewed)


def _counted_splits(session: Session, submission: Submission, *, hidden: bool) -> frozenset[str]:
    """The splits whose quota a submission uses, as far as they are hidden or not."""
    if submission.state != "failed":
        return frozenset(submission.split_names)
    done = frozenset(session.scalars(select(Scored.split).where(Scored.submission_id == submission.number)))
    tried = next((one for one in submission.split_names if one not in done), None)
    return done | {tried} if hidden and tried is not None else done


def quotas(session: Session, campaign: Campaign, user: int, now: dt.datetime) -> list[Quota]:
    """The quotas of an account's team on all splits."""
    return [quota_of(session, name, split, user, now) for name, split in campaign.splits.items()]


def demand_entry(
    session: Session, campaign: Campaign, user: int, name: str, splits: Sequence[str], now: dt.datetime
) -> tuple[str, ...]:
    """Refuse a submission that could not be entered, before anything of it is read; returns its splits.

    Parameters
    ----------
    name : str
        Of the system.
    splits : sequence of str
        Empty: those that are not hidden.
    """
    if not campaign.evaluations:
        raise SubmissionError("this campaign takes no submissions")
    if not _NAME.fullmatch(name) or RESERVED.fullmatch(name):
        raise SubmissionError(
            f"not a name of a system: {name[:80]!r}; it has 1 to {LONGEST_NAME} letters (a-z), digits and . _ + -, "
            "begins with a letter or digit, and does not end with a dot"
        )
    chosen = tuple(dict.fromkeys(splits)) or tuple(one for one, split in campaign.splits.items() if not split.hidden)
    for one in chosen:
        if one not in campaign.splits:
            raise SubmissionError(str(UnknownNameError("split", one[:80], campaign.splits)))
    if not chosen:
        raise SubmissionError(f"choose a split to be scored on: {', '.join(campaign.splits)}")
    for one in chosen:
        opens, closes = campaign.window(one)
        if opens is not None and now < opens:
            raise SubmissionError(f"submissions to {one} open at {show_moment(opens)}")
        if closes is not None and now >= closes:
            raise SubmissionError(f"submissions to {one} closed at {show_moment(closes)}")
    own = select(func.count()).where(Submission.user_id == user, Submission.state.in_(OPEN))
    waiting = session.scalar(own.where(Submission.withdrawn.is_(None))) or 0
    if waiting >= MOST_WAITING:
        raise SubmissionError(f"{waiting} of your submissions wait already; send this one when some are scored")
    for one in chosen:
        quota = quota_of(session, one, campaign.splits[one], user, now)
        if quota.left == 0:
            until = "" if quota.renewed is None else f"; the next can be sent on {quota.renewed:%Y-%m-%d} (UTC)"
            raise SubmissionError(
                f"{quota.used} of {quota.most} submissions to {one} in this {quota.per} are used{until}"
            )
    _demand_free(session, user, name)
    return chosen


def _demand_free(session: Session, user: int, name: str) -> None:
    """Refuse a name that another submission has; of one that the sender does not see this tells nothing else.

    It is looked at last, so that names can be tried only by accounts that could send a system just now.
    """
    # A name is free again where nothing was scored under it.
    known = select(Submission).outerjoin(Scored, Scored.submission_id == Submission.number)
    taken = known.where(
        Submission.key == name.casefold(),
        or_(Submission.state.not_in(CLOSED), Scored.submission_id.is_not(None)),
    )
    other = session.scalar(taken.limit(1))
    if other is None:
        return
    sender = session.get_one(User, user)
    suggestion = f"{name[: LONGEST_NAME - 2]}-2"
    if not may_see(other, Viewer(user, sender.name, sender.role, 0, team_of(sender))):  # type: ignore[arg-type]
        raise SubmissionError(f"the name {name!r} is not free; choose another one, such as {suggestion}")
    raise SubmissionError(
        f"there is a submission {name!r}; submissions are never changed: give this one a name of its own, as "
        f"{suggestion}"
    )


def demand_about(description: str, paper: str, code: str) -> None:
    """Refuse a description that is too long, and links that are not addresses of web pages."""
    if len(description) > LONGEST_DESCRIPTION:
        raise SubmissionError(f"the description has {len(description):,} characters; at most {LONGEST_DESCRIPTION:,}")
    for name, link in (("paper", paper), ("code", code)):
        if link and not (len(link) <= LONGEST_LINK and _LINK.fullmatch(link) and is_web_address(link)):
            raise SubmissionError(f"{name}: needs an address such as https://lab.org/{name}, not {link[:80]!r}")


def enter(
    session: Session,
    campaign: Campaign,
    *,
    id: str,
    user: int,
    name: str,
    splits: Sequence[str],
    visibility: str,
    size: int,
    sent_digest: str,
    now: dt.datetime,
    description: str = "",
    paper: str = "",
    code: str = "",
) -> Submission:
    """Enter a submission whose files lie in the folder of its id; the worker takes it from there.

    The session is one that writes, so that of two at the same moment only one takes a name or the last of a quota.
    """
    demand_about(description, paper, code)
    chosen = demand_entry(session, campaign, user, name, splits, now)
    team = team_of(session.get_one(User, user))
    visibility = _visibility(visibility, team) if visibility else usual_visibility(campaign, team)
    held = visibility == "public" and campaign.embargo(chosen, now) is not None
    submission = Submission(
        id=id,
        user_id=user,
        team=team,
        name=name,
        key=name.casefold(),
        splits=",".join(chosen),
        visibility="private" if held else visibility,
        held=held,
        description=description,
        paper=paper,
        code=code,
        received=now,
        sent_digest=sent_digest,
        size=size,
        rules=campaign.rules,
        mirflow=version("mirflow"),
    )
    session.add(submission)
    session.flush()
    return submission


def usual_visibility(campaign: Campaign, team: str) -> Visibility:
    """The campaign's visibility of new submissions; what would be for a lab is private where there is none."""
    return "private" if campaign.visibility == "lab" and not has_lab(team) else campaign.visibility


def _visibility(text: str, team: str) -> str:
    known = get_args(Visibility)
    if text not in known:
        raise SubmissionError(str(UnknownNameError("visibility", text[:80], known)))
    if text == "lab" and not has_lab(team):
        raise SubmissionError("the account has no lab: choose private or public, or ask the organisers to name the lab")
    return text


def may_change(submission: Submission, viewer: Viewer | None) -> bool:
    """True if somebody may withdraw a submission and choose who sees it: its submitter, and organisers."""
    return viewer is not None and (viewer.user == submission.user_id or viewer.may("organiser"))


def may_see(submission: Submission, viewer: Viewer | None) -> bool:
    """True if somebody may see a submission; before it is scored only its submitter and organisers may."""
    if may_change(submission, viewer):
        return True
    if submission.state != "scored" or submission.visibility == "private" or submission.disqualified:
        return False
    return submission.visibility == "public" or (viewer is not None and viewer.team == submission.team)


def find_submission(session: Session, id: str, viewer: Viewer | None) -> Submission:
    """Find a submission that somebody may see."""
    found = session.scalar(select(Submission).where(Submission.id == id))
    if found is None or not may_see(found, viewer):
        raise SubmissionError("there is no such submission, or it is not yours to see")
    return found


def submissions_of(session: Session, viewer: Viewer | None) -> list[Submission]:
    """The submissions that somebody may see, the latest first."""
    every = session.scalars(select(Submission).order_by(Submission.number.desc()))
    return [one for one in every if may_see(one, viewer)]


def visible_systems(session: Session, split: str, viewer: Viewer | None) -> dict[str, Submission]:
    """The scored systems on the board of a split as a viewer sees it, in order of arrival; withdrawn ones too."""
    scored = select(Submission).where(Submission.state == "scored", Submission.disqualified == "")
    scored = scored.order_by(Submission.number)
    return {one.name: one for one in session.scalars(scored) if split in one.split_names and may_see(one, viewer)}


def set_visibility(
    campaign: Campaign, submission: Submission, viewer: Viewer | None, visibility: str, now: dt.datetime
) -> None:
    """Say who may see a submission, once an embargo has ended; the worker makes the public copy again."""
    if not may_change(submission, viewer):
        raise SubmissionError("only who sent a submission says who may see it")
    chosen = _visibility(visibility, submission.team)
    submission.held = chosen == "public" and campaign.embargo(submission.split_names, now) is not None
    submission.visibility = "private" if submission.held else chosen


def withdraw(submission: Submission, viewer: Viewer | None, now: dt.datetime) -> None:
    """Withdraw a submission for good: it stays where it was seen, and is marked there."""
    if not may_change(submission, viewer):
        raise SubmissionError("only who sent a submission can withdraw it")
    submission.withdrawn = submission.withdrawn or now


def disqualify(submission: Submission, viewer: Viewer | None, reason: str, now: dt.datetime) -> None:
    """Take a submission off all boards for good; its sender and organisers still see it, and the reason."""
    if viewer is None or not viewer.may("organiser"):
        raise SubmissionError("only organisers disqualify a submission")
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise SubmissionError(f"write the reason, in at most {LONGEST_REASON:,} characters")
    submission.disqualified = reason.strip()
    submission.withdrawn = submission.withdrawn or now


def findings_of(session: Session, submission: Submission) -> list[SubmissionFinding]:
    """The findings in a submission, in the order of its files and lines."""
    return list(
        session.scalars(
            select(SubmissionFinding)
            .where(SubmissionFinding.submission_id == submission.number)
            .order_by(SubmissionFinding.id)
        )
    )


def twin_of(session: Session, submission: Submission, viewer: Viewer | None) -> Submission | None:
    """The account's first submission of the same files, before this one, that a viewer may see; None: there is none.

    Until the files are unpacked they are told by the bytes that were sent.
    """
    by = "digest" if submission.digest else "sent_digest"
    digest = getattr(submission, by)
    if not digest:
        return None
    earlier = select(Submission).where(
        Submission.user_id == submission.user_id,
        Submission.number < submission.number,
        getattr(Submission, by) == digest,
    )
    found = session.scalars(earlier.order_by(Submission.number))
    return next((one for one in found if may_see(one, viewer)), None)


def findings_csv(findings: Iterable[SubmissionFinding]) -> str:
    """A table of findings for spreadsheets, in which nothing that was sent is taken for a formula."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["path", "line", "severity", "rule", "message"])
    for one in findings:
        rows.writerow([plain_text(one.path), one.line or "", one.severity, one.rule, plain_text(one.message)])
    return text.getvalue()


def plain_text(value: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{value}" if value.startswith(FORMULA) else value


def results_of(session: Session, campaign: Campaign, submission: Submission) -> list[SplitScores]:
    """The released scores of a submission, by split."""
    results = []
    for split in submission.split_names:
        own = select(Released).where(Released.submission_id == submission.number, Released.split == split)
        scores = tuple(session.scalars(own.order_by(Released.id)))
        against = select(Verdict).where(Verdict.submission_id == submission.number, Verdict.split == split)
        verdicts = tuple(session.scalars(against.order_by(Verdict.id)))
        hidden = campaign.splits[split].hidden if split in campaign.splits else True
        results.append(SplitScores(split, hidden, scores, verdicts))
    return results


def board(session: Session, split: str, viewer: Viewer | None) -> dict[str, list[Released]]:
    """The released scores of a split that somebody may see, by evaluation, the best by its headline metric first.

    This is all that pages have of a hidden split, whose store the server never opens.
    """
    seen = {one.number for one in visible_systems(session, split, viewer).values()}
    rows = session.scalars(select(Released).where(Released.split == split).order_by(Released.id))
    found: dict[str, list[Released]] = {}
    for row in rows:
        if row.submission_id in seen:
            found.setdefault(row.evaluation, []).append(row)
    for evaluation, own in found.items():
        best = {row.submission_id: _gain(row) for row in own if row.headline}
        found[evaluation] = sorted(own, key=lambda row: -best.get(row.submission_id, -float("inf")))
    return found


def _gain(row: Released) -> float:
    if row.value is None:
        return -float("inf")
    return -row.value if row.lower_is_better else row.value


def queue_place(session: Session, submission: Submission) -> int:
    """Number of submissions that the worker takes before this one."""
    waiting = select(func.count()).where(
        Submission.state.in_(OPEN), Submission.withdrawn.is_(None), Submission.number < submission.number
    )
    return session.scalar(waiting) or 0
