"""All accounts with their submissions and the quota that their team has used, for organisers: a page and JSON."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from ..file import Campaign
from .accounts import ROLES
from .database import User
from .security import GuardedRoute
from .service import Service
from .submissions.entries import quotas
from .submissions.submission_tables import Submission
from .viewer_pages import PRIVATE, page, wants_json


@dataclass(frozen=True, slots=True)
class ListedAccount:
    """An account, with its submissions and the quota of its team."""

    name: str
    role: str
    lab: str
    created: str
    revoked: str
    """Days, ISO 8601; empty if it is not revoked."""
    mail: bool
    """Whether the account has left an address for mail."""
    submissions: int
    """Of the account itself, in all states."""
    used: dict[str, int]
    """By split the submissions of the team in the present period; empty where the account may not submit."""


def list_accounts(session: Session, campaign: Campaign, now: dt.datetime) -> list[ListedAccount]:
    """List all accounts by name."""
    counted = session.execute(select(Submission.user_id, func.count()).group_by(Submission.user_id))
    sent = {user: number for user, number in counted}  # noqa: C416 - rows are no pairs to mypy
    return [
        ListedAccount(
            user.name,
            user.role,
            user.lab,
            user.created.date().isoformat(),
            "" if user.revoked is None else user.revoked.date().isoformat(),
            bool(user.mail),
            sent.get(user.id, 0),
            {one.split: one.used for one in quotas(session, campaign, user.id, now)} if _submits(user) else {},
        )
        for user in session.scalars(select(User).order_by(User.name))
    ]


def _submits(user: User) -> bool:
    return any(role == user.role and "submitter" in rights for role, rights in ROLES.items())


def routes(service: Service) -> list[BaseRoute]:
    """The route; none where nothing can be submitted."""
    if service.database is None or service.campaign is None or not service.campaign.splits:
        return []
    return [GuardedRoute("/accounts/", accounts, role="organiser")]


def accounts(request: Request) -> Response:
    """All accounts."""
    service: Service = request.app.state.service
    assert service.campaign is not None
    assert service.database is not None
    with service.database.read() as session:
        listed = list_accounts(session, service.campaign, service.clock())
    splits = {name: {"quota": one.quota, "per": one.per} for name, one in service.campaign.splits.items()}
    if wants_json(request):
        return JSONResponse({"splits": splits, "accounts": [asdict(one) for one in listed]}, headers=PRIVATE)
    return page(request, "accounts.html", here="submissions", accounts=listed, splits=splits)
