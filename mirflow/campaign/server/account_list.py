"""Page (and JSON) for organisers: all accounts with their submissions and the quota used by their team."""

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
    """An account with its submissions and the quota used by its team."""

    name: str
    role: str
    lab: str
    created: str
    revoked: str
    """Dates in ISO 8601; `revoked` is empty for a valid account."""
    mail: bool
    """Whether the account has an address for mail."""
    submissions: int
    """Number of submissions by this account, in any state."""
    used: dict[str, int]
    """Submissions of the team in the current period by split; empty if the account may not submit."""


def list_accounts(session: Session, campaign: Campaign, now: dt.datetime) -> list[ListedAccount]:
    """List all accounts by name."""
    counted = session.execute(select(Submission.user_id, func.count()).group_by(Submission.user_id))
    sent = {user: number for user, number in counted}  # noqa: C416 - mypy does not see rows as pairs
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
    """Return the route, if the campaign takes submissions."""
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
