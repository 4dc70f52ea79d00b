"""Submissions as users see them: entry, quotas, visibility, withdrawal, disqualification, findings, released scores.

Tables are formatted as CSV for spreadsheets here.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, get_args

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from ....errors import MirflowError, UnknownNameError
from ....store.cells import is_device
from ...file import Campaign, Visibility, show_moment
from ...grading.query_draw import FORMULA
from ...site.pages import is_web_address, seconds_of
from ..accounts import Viewer, has_lab, team_of
from ..database import User
from .submission_tables import CLOSED, OPEN, Released, Scored, Submission, SubmissionFinding, Verdict

LONGEST_NAME = 64  # longest name of a system, in characters
_NAME = re.compile(rf"[A-Za-z0-9](?:[A-Za-z0-9._+-]{{0,{LONGEST_NAME - 2}}}[A-Za-z0-9_+-])?")
LONGEST_DESCRIPTION = 2000  # longest description of a system, in characters
LONGEST_LINK = 500  # longest link to a paper or code, in characters
LONGEST_REASON = 2000  # longest reason for a disqualification, in characters
LONGEST_RUNTIME = 1e9  # longest run time of a system in seconds, 32 years
_LINK = re.compile(r"[!-~]+")
_SECONDS = re.compile(r"[0-9]{1,10}(\.[0-9]{1,10})?")
MOST_WAITING = 200  # most submissions of an account that wait at a time, since queue and disk are shared


class SubmissionError(MirflowError):
    """A submission is invalid, or must not be changed this way; the message is shown to the submitter."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Submissions of a team to a split that count in the current period."""

    split: str
    most: int | None  # None: unlimited
    used: int
    left: int | None  # remaining submissions in this period; None: unlimited
    per: str
    renewed: dt.datetime | None  # start of the next period, UTC; None: never


def period_of(per: str, now: dt.datetime) -> tuple[dt.datetime | None, dt.datetime | None]:
    """Return the start of the current period and of the next one, UTC; None and None if there is a single period.

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


def quotas(session: Session, campaign: Campaign, user: int, now: dt.datetime) -> dict[str, Quota]:
    """Return the quota of an account's team on each split; refused submissions do not count. A failed submission counts
    if it was scored before, and if it failed on a hidden split, which may reveal something about a reference.
    """
    team, by_split = team_of(session.get_one(User, user)), dict[str, Quota]()
    for name, split in campaign.splits.items():
        began, renewed = period_of(split.per, now)
        entered = select(Submission).where(Submission.team == team, Submission.state != "refused")
        if began is not None:
            entered = entered.where(Submission.received >= began)
        used = 0
        for row in session.scalars(entered):
            counted = set(row.split_names)
            if row.state == "failed":
                counted = set(session.scalars(select(Scored.split).where(Scored.submission_id == row.number)))
                failed = next((key for key in row.split_names if key not in counted), None)
                if split.hidden and failed is not None:
                    counted.add(failed)
            used += name in counted
        left = None if split.quota is None else max(0, split.quota - used)
        by_split[name] = Quota(split=name, most=split.quota, used=used, left=left, per=split.per, renewed=renewed)
    return by_split


def demand_entry(
    session: Session, campaign: Campaign, user: int, name: str, splits: Sequence[str], now: dt.datetime
) -> tuple[str, ...]:
    """Check that a submission may be entered, before reading its files; returns its splits.

    `splits` empty: all splits that are not hidden.
    """
    if not campaign.evaluations:
        raise SubmissionError("this campaign does not take submissions")
    if not _NAME.fullmatch(name) or is_device(name):
        raise SubmissionError(
            f"invalid system name {name[:80]!r}: expected 1 to {LONGEST_NAME} letters (a-z), digits and . _ + -, "
            "beginning with a letter or digit and not ending with a dot"
        )
    chosen = tuple(dict.fromkeys(splits)) or tuple(key for key, split in campaign.splits.items() if not split.hidden)
    for key in chosen:
        if key not in campaign.splits:
            raise SubmissionError(str(UnknownNameError("split", key[:80], campaign.splits)))
    if not chosen:
        raise SubmissionError(f"choose a split: {', '.join(campaign.splits)}")
    for key in chosen:
        opens, closes = campaign.window(key)
        if opens is not None and now < opens:
            raise SubmissionError(f"submissions to {key} open at {show_moment(opens)}")
        if closes is not None and now >= closes:
            raise SubmissionError(f"submissions to {key} closed at {show_moment(closes)}")
    unscored = select(func.count()).where(Submission.user_id == user, Submission.state.in_(OPEN))
    waiting = session.scalar(unscored.where(Submission.withdrawn.is_(None))) or 0
    if waiting >= MOST_WAITING:
        raise SubmissionError(f"{waiting} of your submissions are waiting already: submit again when some are scored")
    left = quotas(session, campaign, user, now)
    for quota in map(left.__getitem__, chosen):
        if quota.left == 0:
            until = "" if quota.renewed is None else f"; you can submit again on {quota.renewed:%Y-%m-%d} (UTC)"
            message = f"{quota.used} of {quota.most} submissions to {quota.split} in this {quota.per} are used{until}"
            raise SubmissionError(message)
    # The last check, so that only accounts that could submit now can probe names. They are free again if nothing was
    # scored under them.
    entered = select(Submission).outerjoin(Scored, Scored.submission_id == Submission.number)
    taken = entered.where(
        Submission.key == name.casefold(), or_(Submission.state.not_in(CLOSED), Scored.submission_id.is_not(None))
    )
    other = session.scalar(taken.limit(1))
    if other is not None:
        sender = session.get_one(User, user)
        suggestion = f"{name[: LONGEST_NAME - 2]}-2"
        if not may_see(other, Viewer(user, sender.name, sender.role, 0, team_of(sender))):  # type: ignore[arg-type]
            raise SubmissionError(f"the name {name!r} is taken; choose another one, such as {suggestion}")
        raise SubmissionError(
            f"there is already a submission {name!r}, and submissions cannot be changed: choose another name, such "
            f"as {suggestion}"
        )
    return chosen


def demand_about(description: str, paper: str, code: str, runtime: str = "") -> float | None:
    """Check the length of a description, the form of links, and a run time in seconds, which is returned."""
    if len(description) > LONGEST_DESCRIPTION:
        message = f"the description has {len(description):,} characters: at most {LONGEST_DESCRIPTION:,} are allowed"
        raise SubmissionError(message)
    for name, link in (("paper", paper), ("code", code)):
        if link and not (len(link) <= LONGEST_LINK and _LINK.fullmatch(link) and is_web_address(link)):
            message = f"{name}: invalid link {link[:80]!r}: expected an address such as https://lab.org/{name}"
            raise SubmissionError(message)
    seconds = seconds_of(runtime) if _SECONDS.fullmatch(runtime) else None
    if runtime and (seconds is None or seconds > LONGEST_RUNTIME):
        raise SubmissionError(f"runtime: invalid time {runtime[:80]!r}: expected seconds above 0, such as 412 or 0.8")
    return seconds


def enter(
    session: Session,
    campaign: Campaign,
    *,
    id: str,
    user: int,
    name: str,
    splits: Sequence[str],
    visibility: str,
    now: dt.datetime,
    runtime: str = "",
    **sent: Any,
) -> Submission:
    """Enter a submission whose files are in the folder of its id; the worker continues from there.

    The session must be a write session, so that concurrent submissions cannot share a name or the last of a quota.
    `sent` has the ``size`` and ``sent_digest`` of the upload, and what its sender says about it.
    """
    about = {key: str(sent.get(key, "")) for key in ("description", "paper", "code")}
    seconds = demand_about(**about, runtime=runtime)
    chosen = demand_entry(session, campaign, user, name, splits, now)
    team = team_of(session.get_one(User, user))
    visibility = visibility_of(campaign, team, visibility or None)
    held = visibility == "public" and campaign.embargo(chosen, now) is not None
    named = {"id": id, "user_id": user, "team": team, "name": name, "key": name.casefold()}
    terms = {"splits": ",".join(chosen), "visibility": "private" if held else visibility, "held": held}
    versions = {"rules": campaign.rules, "mirflow": version("mirflow"), "received": now, "runtime": seconds}
    submission = Submission(**named, **terms, **versions, **{**sent, **about})
    session.add(submission)
    session.flush()
    return submission


def visibility_of(campaign: Campaign, team: str, text: str | None = None) -> str:
    """Return a visibility that was asked for; by default that of the campaign, and private instead of lab without one.

    Raises `SubmissionError`: if it is unknown, or the account has no lab.
    """
    if text is None:
        return "private" if campaign.visibility == "lab" and not has_lab(team) else campaign.visibility
    if text not in get_args(Visibility):
        raise SubmissionError(str(UnknownNameError("visibility", text[:80], get_args(Visibility))))
    if text == "lab" and not has_lab(team):
        raise SubmissionError("the account has no lab: choose private or public, or ask the organisers to set the lab")
    return text


def may_change(submission: Submission, viewer: Viewer | None) -> bool:
    """True if a viewer may withdraw a submission and set its visibility: its submitter, and organisers."""
    return viewer is not None and (viewer.user == submission.user_id or viewer.may("organiser"))


def may_see(submission: Submission, viewer: Viewer | None) -> bool:
    """True if a viewer may see a submission; before scoring, only its submitter and organisers may."""
    if may_change(submission, viewer):
        return True
    if submission.state != "scored" or submission.visibility == "private" or submission.disqualified:
        return False
    return submission.visibility == "public" or (viewer is not None and viewer.team == submission.team)


def visible_systems(session: Session, split: str, viewer: Viewer | None) -> dict[str, Submission]:
    """Return the scored systems of a split that the viewer sees, in order of arrival, including withdrawn ones."""
    scored = select(Submission).where(Submission.state == "scored", Submission.disqualified == "")
    scored = scored.order_by(Submission.number)
    return {row.name: row for row in session.scalars(scored) if split in row.split_names and may_see(row, viewer)}


def set_visibility(
    campaign: Campaign, submission: Submission, viewer: Viewer | None, visibility: str, now: dt.datetime
) -> None:
    """Set the visibility of a submission from the end of an embargo on; the worker then updates the public copy."""
    if not may_change(submission, viewer):
        raise SubmissionError("only the submitter may change the visibility of a submission")
    chosen = visibility_of(campaign, submission.team, visibility)
    submission.held = chosen == "public" and campaign.embargo(submission.split_names, now) is not None
    submission.visibility = "private" if submission.held else chosen


def withdraw(submission: Submission, viewer: Viewer | None, now: dt.datetime) -> None:
    """Withdraw a submission permanently; it stays listed and marked wherever it was visible."""
    if not may_change(submission, viewer):
        raise SubmissionError("only the submitter may withdraw a submission")
    submission.withdrawn = submission.withdrawn or now


def disqualify(submission: Submission, viewer: Viewer | None, reason: str, now: dt.datetime) -> None:
    """Remove a submission from all leaderboards; its submitter and organisers still see it, with the reason."""
    if viewer is None or not viewer.may("organiser"):
        raise SubmissionError("only organisers may disqualify a submission")
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise SubmissionError(f"give a reason of at most {LONGEST_REASON:,} characters")
    submission.disqualified = reason.strip()
    submission.withdrawn = submission.withdrawn or now


def findings_of(session: Session, submission: Submission) -> list[SubmissionFinding]:
    """Return the findings of a submission, ordered by file and line."""
    rows = select(SubmissionFinding).where(SubmissionFinding.submission_id == submission.number)
    return list(session.scalars(rows.order_by(SubmissionFinding.id)))


def twin_of(session: Session, submission: Submission, viewer: Viewer | None) -> Submission | None:
    """Find the account's first earlier submission of the same files that a viewer may see; None if there is none.

    Before the files are unpacked, they are compared by the bytes of the upload.
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
    rows = session.scalars(earlier.order_by(Submission.number))
    return next((row for row in rows if may_see(row, viewer)), None)


def spreadsheet(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Format rows as CSV for spreadsheets; no cell is interpreted as a formula."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    for row in rows:
        table.writerow([f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in row])
    return text.getvalue()


@dataclass(frozen=True, slots=True)
class SplitResult:
    """The released scores of a submission on a split, as far as its submitter may see them."""

    split: str
    hidden: bool  # whether scores are rounded and limited, without intervals
    scores: Sequence[Released]  # by evaluation, headline metric first
    # Comparisons with the account's best earlier submission and with the leader, by the headline metrics.
    verdicts: Sequence[Verdict]


def results_of(session: Session, campaign: Campaign, submission: Submission) -> list[SplitResult]:
    """Return the results of a submission on each of its splits."""
    results = []
    for split in submission.split_names:
        released = select(Released).where(Released.submission_id == submission.number, Released.split == split)
        scores = session.scalars(released.order_by(Released.id)).all()
        against = select(Verdict).where(Verdict.submission_id == submission.number, Verdict.split == split)
        verdicts = session.scalars(against.order_by(Verdict.id)).all()
        hidden = campaign.splits[split].hidden if split in campaign.splits else True
        results.append(SplitResult(split, hidden, scores, verdicts))
    return results


def board(session: Session, split: str, viewer: Viewer | None) -> dict[str, list[Released]]:
    """Return the released scores of a split that the viewer may see, by evaluation, best headline score first.

    Pages of a hidden split show only these: the server never opens its store.
    """
    seen = {row.number for row in visible_systems(session, split, viewer).values()}
    rows = session.scalars(select(Released).where(Released.split == split).order_by(Released.id))
    released: dict[str, list[Released]] = {}
    for row in rows:
        if row.submission_id in seen:
            released.setdefault(row.evaluation, []).append(row)
    for evaluation, listed in released.items():
        best = {
            row.submission_id: -row.value if row.lower_is_better else row.value
            for row in listed
            if row.headline and row.value is not None
        }
        released[evaluation] = sorted(listed, key=lambda row: -best.get(row.submission_id, -float("inf")))
    return released
