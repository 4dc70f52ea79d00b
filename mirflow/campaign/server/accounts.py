"""Accounts: roles, labs, personal links, sessions and tokens, whose secrets are stored as digests; and the audit log.

The log says who did what, and when. Lines are only appended; old personal data are masked in place.
"""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Literal

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from ...errors import MirflowError, shorten, suggest
from .database import Token, User

Role = Literal["reader", "submitter", "grader", "organiser"]
# The roles whose pages each role may see.
ROLES: dict[Role, frozenset[Role]] = {
    "reader": frozenset({"reader"}),
    "submitter": frozenset({"reader", "submitter"}),
    "grader": frozenset({"reader", "grader"}),
    "organiser": frozenset({"reader", "submitter", "grader", "organiser"}),
}
# Login methods: a personal link opens a session, programs use a token, and a proxy may authenticate users itself.
Kind = Literal["link", "token", "session", "proxy"]
BITS = 128
_LAB = "lab "  # prefix for the names of teams that are labs
DELETED = "deleted account "  # prefix for the names of deleted accounts
LIFETIMES: Mapping[Kind, dt.timedelta] = {
    "link": dt.timedelta(days=365),
    "token": dt.timedelta(days=365),
    "session": dt.timedelta(days=30),
}


class AccountError(MirflowError):
    """An account does not exist or lacks the required rights."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who requests a page."""

    user: int  # id of the account
    name: str
    role: Role
    token: int  # id of the token or session used; 0 for a viewer authenticated by a proxy
    team: str = ""  # name of the team, see :func:`team_of`

    def may(self, role: Role) -> bool:
        """True if the viewer has the rights of a role."""
        return role in ROLES[self.role]


def team_of(user: User) -> str:
    """Name the team that shares quota, ladder and systems: the lab, or the account itself if it has none."""
    return f"{_LAB}{user.lab.casefold()}" if user.lab else f"account {user.id}"


def has_lab(team: str) -> bool:
    """True if the name of a team (see :func:`team_of`) is that of a lab rather than of a single account."""
    return team.startswith(_LAB)


def digest(secret: str) -> str:
    """Digest of a secret. Secrets are random, so they need neither salt nor stretching."""
    return hashlib.sha256(secret.encode()).hexdigest()


def add_user(session: Session, name: str, role: Role, now: dt.datetime, lab: str = "") -> User:
    """Add an account."""
    if not name.strip() or not name.isprintable() or len(name) > 100:
        raise AccountError(f"invalid account name {name!r}: expected 1 to 100 printable characters")
    if name.startswith(DELETED):
        raise AccountError(f"invalid account name {name!r}: this prefix is reserved for deleted accounts")
    if session.scalar(select(User).where(User.name == name)) is not None:
        raise AccountError(f"account {name!r} already exists; choose another name, or revoke it")
    user = User(name=name, role=role, lab=lab_named(lab), created=now)
    session.add(user)
    session.flush()
    return user


def lab_named(text: str) -> str:
    """Normalise whitespace in the name of a lab."""
    lab = " ".join(text.split())
    if not lab.isprintable() or len(lab) > 100:
        raise AccountError(f"invalid lab name {text!r}: expected at most 100 printable characters")
    return lab


def issue(session: Session, user: User, kind: Kind, now: dt.datetime, lifetime: dt.timedelta | None) -> str:
    """Make a link, token or session for an account and return its secret, which is not stored."""
    secret = secrets.token_urlsafe(BITS // 8)
    expires = None if lifetime is None else now + lifetime
    session.add(Token(user_id=user.id, kind=kind, digest=digest(secret), created=now, expires=expires))
    session.flush()
    return secret


def find_viewer(session: Session, secret: str, kind: Kind, now: dt.datetime) -> Viewer | None:
    """Find the viewer with a secret, or for a proxy with a name; None if it is unknown, expired or revoked."""
    if kind == "proxy":
        user = session.scalar(select(User).where(User.name == secret, User.revoked.is_(None)))
        return None if user is None else Viewer(user.id, user.name, user.role, 0, team_of(user))  # type: ignore[arg-type]
    token = session.scalar(select(Token).where(Token.digest == digest(secret), Token.kind == kind))
    if token is None or token.revoked is not None or token.user.revoked is not None:
        return None
    if token.expires is not None and token.expires <= now:
        return None
    user = token.user
    return Viewer(user.id, user.name, user.role, token.id, team_of(user))  # type: ignore[arg-type]


def is_current(session: Session, viewer: Viewer, now: dt.datetime) -> bool:
    """True if a viewer's access is unchanged: neither revoked nor expired, with the same role and team."""
    user, token = session.get(User, viewer.user), session.get(Token, viewer.token)
    if user is None or user.revoked is not None or (user.role, team_of(user)) != (viewer.role, viewer.team):
        return False
    if not viewer.token:
        return True
    return token is not None and token.revoked is None and (token.expires is None or token.expires > now)


def mark_used(session: Session, viewer: Viewer, now: dt.datetime) -> None:
    """Record when a token or a session was last used."""
    session.execute(update(Token).where(Token.id == viewer.token).values(used=now))


def log_in(session: Session, secret: str, before: Viewer | None, now: dt.datetime) -> tuple[Viewer, str] | None:
    """Open a session from a personal link, replacing the browser's current session; None if the link is not valid.

    Returns: the viewer, and the session's secret.
    """
    viewer = find_viewer(session, secret, "link", now)
    if viewer is None:
        return None
    mark_used(session, viewer, now)
    old = (Token.user_id == viewer.user, Token.kind == "session", Token.expires < now - LIFETIMES["session"])
    session.execute(delete(Token).where(*old))
    if before is not None:
        revoke_token(session, before.user, before.token, now)
    user = session.get_one(User, viewer.user)
    return viewer, issue(session, user, "session", now, LIFETIMES["session"])


def valid_tokens(session: Session, user: int, now: dt.datetime) -> list[Token]:
    """List the valid links, tokens and sessions of an account, newest first."""
    chosen = select(Token).where(Token.user_id == user, Token.revoked.is_(None)).order_by(Token.id.desc())
    return [token for token in session.scalars(chosen) if token.expires is None or token.expires > now]


def revoke_token(session: Session, user: int, token: int, now: dt.datetime) -> bool:
    """Revoke a link, token or session of an account; False if the account has none with this id."""
    mine = (Token.id == token, Token.user_id == user, Token.revoked.is_(None))
    row = session.scalar(select(Token).where(*mine))
    if row is not None:
        row.revoked = now
    return row is not None


def renew_link(session: Session, user: User, now: dt.datetime, lifetime: dt.timedelta | None) -> str:
    """Make a new personal link for an account; revoke the old ones and the sessions that they opened."""
    for token in user.tokens:
        if token.kind in ("link", "session"):
            token.revoked = token.revoked or now
    return issue(session, user, "link", now, lifetime)


def users(session: Session) -> list[User]:
    """List all accounts by name, including revoked ones."""
    return list(session.scalars(select(User).order_by(User.name)))


def find_user(session: Session, name: str) -> User:
    """Find an account by name."""
    user = session.scalar(select(User).where(User.name == name))
    if user is None:
        names = session.scalars(select(User.name)).all()
        raise AccountError(f"unknown account {name!r}; {suggest(name, names)}")
    return user


def revoke(session: Session, user: User, now: dt.datetime) -> None:
    """Revoke an account and all its links, tokens and sessions; its submissions and judgements stay."""
    user.revoked = now
    for token in user.tokens:
        token.revoked = token.revoked or now


LONGEST = 300  # longest value in characters; longer ones are truncated


class AuditError(MirflowError):
    """The audit log cannot be written or read."""


def _parse(text: str | bytes) -> dict[str, str | int]:
    """Parse a line of the audit log; empty if a crash truncated it."""
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


@dataclass(eq=False)
class AuditLog:
    """A file of JSON lines with time, actor, action and object.

    Each line is a single write in append mode that reaches the disk before the action is confirmed, so several
    processes may share a log and a crash loses no line. A line truncated by a crash is skipped when reading.
    """

    path: Path
    clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    _lock: Lock = field(default_factory=Lock)

    def record(self, actor: str, action: str, **details: str | int | None) -> None:
        """Append a line; details must not contain secrets."""
        line: dict[str, str | int] = {"time": self.clock().isoformat(), "actor": actor, "action": action}
        for name, value in details.items():
            if value is not None:
                line[name] = value if isinstance(value, int) else shorten(value, LONGEST)
        text = (json.dumps(line) + "\n").encode()
        try:
            with self._lock:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    size = os.fstat(descriptor).st_size
                    cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                    whole = b"\n" + text if cut else text
                    if os.write(descriptor, whole) < len(whole):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise AuditError(f"{self.path}: cannot be written: {error.strerror}") from None

    def read(self) -> Iterator[Mapping[str, str | int]]:
        """Read the lines in order, skipping any that a crash truncated."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as lines:
            yield from filter(None, map(_parse, lines))

    def mask(self, keys: Callable[[Mapping[str, str | int]], Iterable[str]]) -> None:
        """Overwrite values with asterisks; the length of the file is kept, so lines may be appended meanwhile.

        `keys`: returns the keys of a line whose (string) values are to be masked.
        """
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as lines, self.path.open("rb+") as masked:
                at = 0
                for text in lines:
                    line = _parse(text)
                    for key in keys(line) if line else ():
                        value = line.get(key)
                        if isinstance(value, str) and value.strip("*"):
                            # From the first to the last byte of the value, without quotes.
                            name = f"{json.dumps(key)}: ".encode()
                            masked.seek(at + text.index(name) + len(name) + 1)
                            masked.write(b"*" * (len(json.dumps(value)) - 2))
                    at += len(text)
                masked.flush()
                os.fsync(masked.fileno())
        except OSError as error:
            raise AuditError(f"{self.path}: personal data cannot be masked: {error.strerror}") from None
