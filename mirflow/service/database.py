"""The database of a campaign: people and what they have sent, in SQLite or any database that SQLAlchemy knows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from sqlalchemy import DateTime, Engine, ForeignKey, String, create_engine, event, inspect, select
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

from ..errors import MirflowError

__all__ = ["Base", "Database", "DatabaseError", "Session", "Token", "User", "UtcDateTime", "Version"]

SCHEMA = 1
"""Version of the tables; raised when they change."""
WAIT = 30.0
"""Seconds to wait for another writer."""
_TABLES = (".submissions.submission_tables", ".grading.grading_tables")
"""Modules that declare tables."""


class DatabaseError(MirflowError):
    """The database cannot be opened, or is of another version."""


class UtcDateTime(TypeDecorator[dt.datetime]):
    """A time in UTC, whatever the database keeps."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """Drop the zone after converting to UTC."""
        return None if value is None else value.astimezone(dt.UTC).replace(tzinfo=None)

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """Add the zone."""
        return None if value is None else value.replace(tzinfo=dt.UTC)


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {dt.datetime: UtcDateTime, str: String(1000)}  # noqa: RUF012


class Version(Base):
    """Version of the tables."""

    __tablename__ = "version"

    number: Mapped[int] = mapped_column(primary_key=True)


class User(Base):
    """A person or a program with a role."""

    __tablename__ = "user"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    lab: Mapped[str] = mapped_column(default="")
    created: Mapped[dt.datetime]
    revoked: Mapped[dt.datetime | None]
    tokens: Mapped[list[Token]] = relationship(back_populates="user")


class Token(Base):
    """A personal link, a token of the command line, or a session; only its digest is kept."""

    __tablename__ = "token"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id"), index=True)
    kind: Mapped[str]
    digest: Mapped[str] = mapped_column(unique=True)
    created: Mapped[dt.datetime]
    expires: Mapped[dt.datetime | None]
    revoked: Mapped[dt.datetime | None]
    used: Mapped[dt.datetime | None]
    user: Mapped[User] = relationship(back_populates="tokens")


class Database:
    """The database of a campaign.

    Parameters
    ----------
    url : str
        As SQLAlchemy has it, such as ``sqlite:////srv/campaign/state/campaign.db``.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _engine(url)

    def create(self) -> None:
        """Make the tables that are not there.

        Raises
        ------
        DatabaseError
            If it cannot be opened, or was made by another version.
        """
        for name in _TABLES:
            import_module(name, __package__)
        try:
            Base.metadata.create_all(self.engine)
        except OperationalError as error:
            # Another process may have made them in between.
            if not inspect(self.engine).has_table("version"):
                raise DatabaseError(f"{self.engine.url}: cannot be opened: {error.orig}") from None
        with self.write() as session:
            found = session.scalar(select(Version.number))
            if found is None:
                session.add(Version(number=SCHEMA))
            elif found != SCHEMA:
                raise DatabaseError(f"{self.engine.url}: has tables of version {found}, this mirflow of {SCHEMA}")

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one state of the database and changes nothing."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session whose changes are kept all at once when it ends, and not at all after an error.

        It excludes other writers from its beginning on, so that what is read in it stays true.
        """
        with Session(self.engine.execution_options(writes=True), expire_on_commit=False) as session, session.begin():
            yield session

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(url: str) -> Engine:
    sqlite = url.startswith("sqlite")
    engine = create_engine(
        url, connect_args={"timeout": WAIT} if sqlite else {}, pool_pre_ping=not sqlite, hide_parameters=True
    )
    if sqlite:
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: Any, _record: Any) -> None:
    # The driver would begin transactions by itself, and late: a writer has to be alone before it reads.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Any) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
