"""Account pages: log in by a personal link, log out, manage links, sessions, tokens and the mail address; all accounts.

Personal data are deleted here too: accounts on request, and old addresses in the audit log.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from functools import partial
from typing import Any

from sqlalchemy import delete as delete_rows
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from . import accounts as logins
from .accounts import LIFETIMES, AccountError, AuditError
from .database import Token, User
from .security import GuardedRoute, cookie_name
from .service import Service
from .submissions.entries import quotas
from .submissions.notifications import announce, change_mail
from .submissions.submission_tables import OPEN, Submission, SubmissionFinding
from .viewer_pages import PRIVATE, error_answer, page, served, wants_json, whole_number

MOST_DAYS = 366  # longest lifetime of a token, in days
MOST_TOKENS = 50  # most links, sessions and tokens of an account at a time
_WHAT = {"link": "personal link", "session": "session", "token": "token"}


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes; empty without a database."""
    if service.database is None:
        return []
    campaign = service.campaign
    listing = [GuardedRoute("accounts", accounts, role="organiser")] if campaign and campaign.splits else []
    return [
        GuardedRoute("/login/{secret}", ask_to_log_in, role=None),
        GuardedRoute("/login/{secret}", log_in_by_link, role=None, methods=("POST",), rate="login"),
        GuardedRoute("logout", leave, role="reader", methods=("POST",)),
        GuardedRoute("account", account, role="reader"),
        GuardedRoute("set_mail", set_mail, role="reader", methods=("POST",)),
        GuardedRoute("new_token", new_token, role="reader", methods=("POST",)),
        GuardedRoute("revoke_token", revoke, role="reader", methods=("POST",)),
        GuardedRoute("delete_account", partial(leave, delete=True), role="reader", methods=("POST",)),
        *listing,
    ]


def ask_to_log_in(request: Request) -> Response:
    """Show a page with a button, so that link scanners of mail programs do not log in."""
    service, _, database, _ = served(request)
    with database.read() as session:
        viewer = logins.find_viewer(session, request.path_params["secret"], "link", service.clock())
    return page(request, "login.html", name=viewer.name if viewer else "", days=LIFETIMES["session"].days)


def log_in_by_link(request: Request) -> Response:
    """Begin a session."""
    service, _, database, _ = served(request)
    with database.write() as session:
        entered = logins.log_in(session, request.path_params["secret"], request.state.viewer, service.clock())
    if entered is None:
        text = "This link is unknown, expired or revoked. Ask the organisers for a new one."
        return error_answer(request, 401, text)
    viewer, secret = entered
    service.audit.record(viewer.name, "log in", address=request.state.address)
    answer = RedirectResponse(service.links.url("grading" if viewer.role == "grader" else "front"), 303)
    answer.set_cookie(
        cookie_name(service),
        secret,
        max_age=int(LIFETIMES["session"].total_seconds()),
        httponly=True,
        secure=service.secure,
        samesite="lax",
        path=f"{service.prefix}/",  # other programs on the same host do not receive it
    )
    return answer


def leave(request: Request, *, delete: bool = False) -> Response:
    """End the session, or delete the account after its name was typed to confirm.

    Judgements that a page has yet to send stay in the browser.
    """
    service, _, database, viewer = served(request)
    if delete and str(request.state.form.get("name", "")).strip() != viewer.name:
        raise HTTPException(400, f"Type {viewer.name} to delete the account. Nothing was deleted.")
    with database.write() as session:
        if delete:
            delete_account(service, session, session.get_one(User, viewer.user))
        else:
            logins.revoke_token(session, viewer.user, viewer.token, service.clock())
    if not delete:
        service.audit.record(viewer.name, "log out")
    answer = RedirectResponse(service.links.url("front"), 303)
    path = f"{service.prefix}/"
    answer.delete_cookie(cookie_name(service), path, httponly=True, secure=service.secure, samesite="lax")
    return answer


def new_token(request: Request) -> Response:
    """Make a token for programs, which is displayed only once."""
    service, _, database, viewer = served(request)
    days = whole_number(request.state.form.get("days"), 5)
    if not 1 <= days <= MOST_DAYS:
        raise HTTPException(400, f"Invalid lifetime: choose 1 to {MOST_DAYS} days.")
    now = service.clock()
    with database.write() as session:
        if len(logins.valid_tokens(session, viewer.user, now)) >= MOST_TOKENS:
            raise HTTPException(409, "Too many sessions and tokens. Revoke some first.")
        secret = logins.issue(session, session.get_one(User, viewer.user), "token", now, dt.timedelta(days=days))
    service.audit.record(viewer.name, "make token", days=days)
    return account(request, secret, now + dt.timedelta(days=days))


def set_mail(request: Request) -> Response:
    """Set or remove the address for mail; removing it also drops unsent mail."""
    service, campaign, database, viewer = served(request)
    address = str(request.state.form.get("mail", "")).strip()
    if address and (campaign.notifications is None or campaign.notifications.mail is None):
        raise HTTPException(400, "This campaign does not send mail.")
    try:
        with database.write() as session:
            change_mail(session, session.get_one(User, viewer.user), address)
    except AccountError as error:
        raise HTTPException(400, f"{error}. Nothing was changed.") from None
    service.audit.record(viewer.name, "set address" if address else "remove address")
    return RedirectResponse(service.links.url("account"), 303)


def revoke(request: Request) -> Response:
    """Revoke a link, session or token of the account."""
    service, _, database, viewer = served(request)
    token = whole_number(request.state.form.get("token"), 18)
    with database.write() as session:
        revoked = logins.revoke_token(session, viewer.user, token, service.clock())
    if not revoked:
        raise HTTPException(404)
    service.audit.record(viewer.name, "revoke token", token=token)
    return RedirectResponse(service.links.url("front" if token == viewer.token else "account"), 303)


def account(request: Request, secret: str = "", expires: dt.datetime | None = None) -> Response:
    """Show the viewer's account, with the secret of a token that was just made."""
    service, campaign, database, viewer = served(request)
    sends_mail = campaign.notifications is not None and campaign.notifications.mail is not None
    with database.read() as session:
        user = session.get_one(User, viewer.user)
        tokens = []
        for token in logins.valid_tokens(session, viewer.user, service.clock()):
            what = _WHAT[token.kind] + (" (this one)" if token.id == viewer.token else "")
            days = {"made": _day(token.created), "used": _day(token.used), "until": _day(token.expires)}
            tokens.append({"id": token.id, "what": what, **days})
    about: dict[str, Any] = {"lab": user.lab, "mail": user.mail, "sends_mail": sends_mail}
    about |= {"since": _day(user.created), "secret": secret, "expires": _day(expires), "most_days": MOST_DAYS}
    return page(request, "account.html", here="account", tokens=tokens, **about)


def accounts(request: Request) -> Response:
    """List all accounts for organisers, with their submissions and the quota used by their team."""
    service, campaign, database, _ = served(request)
    submit = {role for role, rights in logins.ROLES.items() if "submitter" in rights}
    with database.read() as session:
        counted = session.execute(select(Submission.user_id, func.count()).group_by(Submission.user_id))
        sent = {user: number for user, number in counted}  # noqa: C416 - mypy does not see rows as pairs
        listed = []
        for user in session.scalars(select(User).order_by(User.name)):
            left = quotas(session, campaign, user.id, service.clock()) if user.role in submit else {}
            revoked = "" if user.revoked is None else user.revoked.date().isoformat()
            row: dict[str, Any] = {"name": user.name, "role": user.role, "lab": user.lab}
            row |= {"created": user.created.date().isoformat(), "revoked": revoked}
            row |= {"mail": bool(user.mail), "submissions": sent.get(user.id, 0)}
            listed.append({**row, "used": {name: quota.used for name, quota in left.items()}})
    splits = {name: {"quota": split.quota, "per": split.per} for name, split in campaign.splits.items()}
    if wants_json(request):
        return JSONResponse({"splits": splits, "accounts": listed}, headers=PRIVATE)
    return page(request, "accounts.html", here="submissions", accounts=listed, splits=splits)


def _day(time: dt.datetime | None) -> str:
    return "-" if time is None else time.date().isoformat()


EVERY = 6 * 3600.0  # seconds between two searches for old addresses
# Text that replaces the reason for a disqualification; the disqualification itself stays.
_FORGOTTEN = "the reason was deleted with the account"
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
    change_mail(session, user, "")
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
    session.execute(delete_rows(SubmissionFinding).where(SubmissionFinding.submission_id.in_(numbers)))
    session.execute(delete_rows(Token).where(Token.user_id == user.id))
    session.expire(user, ["tokens"])
    user.name, user.revoked = f"{logins.DELETED}{user.id}", user.revoked or now
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
    """Mask old addresses now and then every few hours, for a daemon thread."""
    while True:
        try:
            forget_addresses(service)
        except AuditError as error:
            _LOG.error("%s", error)
        time.sleep(EVERY)
