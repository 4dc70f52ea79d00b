"""A campaign with accounts, and browsers and programs that use it."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from mirflow.campaign.server.accounts import LIFETIMES, AccountError, Kind, Role, add_user, find_user, issue
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.database import User
from mirflow.campaign.server.service import Service

BEGIN = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)
BASE = "http://localhost:8765"


@dataclass
class Clock:
    """A clock that tests move."""

    now: dt.datetime = field(default=BEGIN)

    def __call__(self) -> dt.datetime:
        return self.now

    def advance(self, **time: float) -> None:
        """Move on by some time."""
        self.now += dt.timedelta(**time)


def find_or_add(service: Service, session: Session, name: str, role: Role, lab: str = "") -> User:
    """An account of a name, which is added if there is none."""
    try:
        return find_user(session, name)
    except AccountError:
        return add_user(session, name, role, service.clock(), lab)


def account(service: Service, name: str, role: Role, kind: Kind = "link") -> str:
    """Add an account, or take one that is there; the secret of a new link, session or token."""
    with service.database.write() as session:
        user = find_or_add(service, session, name, role)
        return issue(session, user, kind, service.clock(), LIFETIMES[kind])


class Browser(TestClient):
    """A browser: it keeps cookies, and sends forms with the token of the page."""

    def __init__(self, service: Service, name: str = "", role: Role = "reader") -> None:
        super().__init__(create_app(service), base_url=BASE, raise_server_exceptions=False, follow_redirects=False)
        self.headers["Accept"] = "text/html"
        self.headers["Origin"] = BASE
        if name:
            answer = self.post(f"/login/{account(service, name, role)}")
            assert answer.status_code == 303, answer.text

    def csrf(self, address: str = "/account") -> str:
        """The token in the forms of a page."""
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.get(address).text)
        assert found is not None
        return found[1]

    def submit(self, address: str, **fields: Any) -> Any:
        """Send a form."""
        return self.post(address, data={"csrf": self.csrf(), **fields})


def program(service: Service, name: str, role: Role = "submitter") -> TestClient:
    """A program with a token."""
    client = TestClient(create_app(service), base_url=BASE, raise_server_exceptions=False, follow_redirects=False)
    client.headers["Authorization"] = f"Bearer {account(service, name, role, 'token')}"
    client.headers["Accept"] = "application/json"
    return client
