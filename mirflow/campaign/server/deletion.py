"""Deletion of personal data: accounts on request, and old addresses in the audit log."""

from __future__ import annotations

import datetime as dt
import logging
import threading
import time

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from .accounts import DELETED
from .audit import AuditError
from .database import Token, User
from .service import Service
from .submissions.notifications import announce, forget_mail
from .submissions.submission_tables import OPEN, Submission, SubmissionFinding

EVERY = 6 * 3600.0
"""Seconds between two searches for old addresses."""
_FORGOTTEN = "the reason was deleted with the account"
"""Text that replaces the reason for a disqualification; the disqualification itself stays."""
_LOG = logging.getLogger("mirflow.server")


def delete_account(service: Service, session: Session, user: User, actor: str = "") -> None:
    """Delete an account with its personal data in the database and in the audit log.

    This removes its name, mail address, links, sessions, tokens, findings and unsent mail, and the descriptions and
    reasons for disqualification of its submissions. Scored submissions that others can see are kept under an anonymous
    account; all others are withdrawn. Judgements are kept, as they do not name the grader, and so is the lab, which
    quotas need.

    `actor`: name for the audit log; empty: the owner of the account.
    """
    now, name = service.clock(), user.name
    user.mail = ""
    forget_mail(session, user.id)
    sent = session.scalars(select(Submission).where(Submission.user_id == user.id)).all()
    for submission in sent:
        unseen = submission.state in OPEN or (submission.state == "scored" and submission.visibility == "private")
        if unseen and submission.withdrawn is None:
            submission.withdrawn, submission.held = now, False
            if service.campaign is not None:
                announce(session, service.campaign, submission, "withdrawn", now, mail=False)
        submission.description = submission.paper = submission.code = ""
        if submission.state in ("refused", "failed"):
            submission.reason = ""
        if submission.disqualified:
            submission.disqualified = _FORGOTTEN
    ids = {submission.id for submission in sent}
    numbers = [submission.number for submission in sent]
    session.execute(delete(SubmissionFinding).where(SubmissionFinding.submission_id.in_(numbers)))
    session.execute(delete(Token).where(Token.user_id == user.id))
    session.expire(user, ["tokens"])
    user.name, user.revoked = f"{DELETED}{user.id}", user.revoked or now
    session.flush()
    service.audit.mask(
        lambda line: [
            *(["actor", "address"] if line.get("actor") == name else []),
            *(["account"] if line.get("account") == name else []),
            *(["reason"] if line.get("submission") in ids else []),
        ]
    )
    service.audit.record(actor or user.name, "delete account", account=user.name)


def forget_addresses(service: Service) -> None:
    """Mask addresses in the audit log that are older than the campaign allows."""
    if service.campaign is None:
        return
    oldest = service.clock() - dt.timedelta(days=service.campaign.keep_addresses)
    service.audit.mask(
        lambda line: ["address"] if "address" in line and dt.datetime.fromisoformat(str(line["time"])) < oldest else []
    )


def forget_addresses_daily(service: Service) -> None:
    """Mask old addresses now and then every few hours, in a daemon thread."""

    def forget() -> None:
        while True:
            try:
                forget_addresses(service)
            except AuditError as error:
                _LOG.error("%s", error)
            time.sleep(EVERY)

    threading.Thread(target=forget, name="addresses", daemon=True).start()
