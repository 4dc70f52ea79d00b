"""Accounts: roles, personal links and tokens, of which only digests are kept."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..errors import MirflowError, suggest
from .database import Token, User

Role = Literal["reader", "submitter", "grader", "organiser"]
ROLES: dict[Role, frozenset[Role]] = {
    "reader": frozenset({"reader"}),
    "submitter": frozenset({"reader", "submitter"}),
    "grader": frozenset({"reader", "grader"}),
    "organiser": frozenset({"reader", "submitter", "grader", "organiser"}),
}
"""Roles, with those whose pages they may see."""
Kind = Literal["link", "token", "session"]
BITS = 128


class AccountError(MirflowError):
    """An account is not there, or may not do this."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at a page.

    Parameters
    ----------
    user : int
        Id of the account.
    name : str
    role : str
    token : int
        Id of the link, token or session by which the viewer came.
    """

    user: int
    name: str
    role: Role
    token: int

    def may(self, role: Role) -> bool:
        """Whether the viewer has the rights of a role."""
        return role in ROLES[self.role]


def digest(secret: str) -> str:
    """Digest of a secret; secrets are random, so that neither salt nor stretching is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def add_user(session: Session, name: str, role: Role, now: dt.datetime, lab: str = "") -> User:
    """Add an account.

    Raises
    ------
    AccountError
        If the name is taken, or is not printable text of at most 100 characters.
    """
    if not name.strip() or not name.isprintable() or len(name) > 100:
        raise AccountError(f"{name!r}: a name has 1 to 100 printable characters")
    if session.scalar(select(User).where(User.name == name)) is not None:
        raise AccountError(f"there is an account {name!r}; choose another name, or revoke it")
    user = User(name=name, role=role, lab=lab, created=now)
    session.add(user)
    session.flush()
    return user


def issue(session: Session, user: User, kind: Kind, now: dt.datetime, lifetime: dt.timedelta | None) -> str:
    """Make a link, token or session of an account; returns the secret, which is not kept."""
    secret = secrets.token_urlsafe(BITS // 8)
    expires = None if lifetime is None else now + lifetime
    session.add(Token(user_id=user.id, kind=kind, digest=digest(secret), created=now, expires=expires))
    session.flush()
    return secret


def find_viewer(session: Session, secret: str, kind: Kind, now: dt.datetime) -> Viewer | None:
    """The viewer who has a secret; None if it is unknown, expired or revoked."""
    token = session.scalar(select(Token).where(Token.digest == digest(secret), Token.kind == kind))
    if token is None or token.revoked is not None or token.user.revoked is not None:
        return None
    if token.expires is not None and token.expires <= now:
        return None
    return Viewer(token.user_id, token.user.name, token.user.role, token.id)  # type: ignore[arg-type]


def find_user(session: Session, name: str) -> User:
    """Find an account by name.

    Raises
    ------
    AccountError
        If there is none.
    """
    user = session.scalar(select(User).where(User.name == name))
    if user is None:
        known = session.scalars(select(User.name)).all()
        raise AccountError(f"there is no account {name!r}; {suggest(name, known)}")
    return user


def revoke(session: Session, user: User, now: dt.datetime) -> None:
    """Revoke an account with all its links, tokens and sessions; what it did stays."""
    user.revoked = now
    for token in user.tokens:
        token.revoked = token.revoked or now
