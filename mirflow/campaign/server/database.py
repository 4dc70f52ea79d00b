"""The database of a campaign: people and what they have sent, in SQLite or PostgreSQL."""

from __future__ import annotations

import datetime as dt
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    Connection,
    DateTime,
    Double,
    Engine,
    ForeignKey,
    Integer,
    Text,
    create_engine,
    event,
    make_url,
    select,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

from ...errors import MirflowError
from . import migrations

__all__ = ["UNSEEN", "Base", "Database", "DatabaseError", "PageState", "Session", "Token", "User", "UtcDateTime"]

WAIT = 30.0
"""Seconds to wait for another writer."""
SILENCE = 60.0
"""Seconds after which a writer of PostgreSQL that says nothing loses its transaction."""
_TABLES = (".submissions.submission_tables", ".graders.grading_tables")
"""Modules that declare tables."""
UNSEEN: dict[str, Any] = {"info": {"unseen": True}}
"""Arguments of tables that change often, and whose rows no page of results shows."""
_WRITERS = 0x6D697266
"""Key of the lock that writers of PostgreSQL take."""
_EXAMPLE = "postgresql+psycopg://mirflow@localhost/chords"
_DRIVERS = {"psycopg": "psycopg[binary]"}
"""What installs a driver, where it is not the driver's name."""


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


class PlainText(TypeDecorator[str]):
    """A text of any length; zero characters, which PostgreSQL does not keep, are replaced."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace zero characters."""
        return None if value is None else value.replace("\0", "\ufffd")


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {  # noqa: RUF012
        dt.datetime: UtcDateTime,
        # SQLite counts rows in the one type alone; numbers of bytes are longer than PostgreSQL's.
        int: BigInteger().with_variant(Integer, "sqlite"),
        # Versions of SQLAlchemy differ in what they take.
        float: Double,
        str: PlainText,
    }


class User(Base):
    """A person or a program with a role; ``mail`` is the address that the owner has left, or empty."""

    __tablename__ = "user"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    lab: Mapped[str] = mapped_column(default="")
    mail: Mapped[str] = mapped_column(default="")
    created: Mapped[dt.datetime]
    revoked: Mapped[dt.datetime | None]
    tokens: Mapped[list[Token]] = relationship(back_populates="user")


class Token(Base):
    """A personal link, a token of the command line, or a session; only its digest is kept."""

    __tablename__ = "token"
    __table_args__ = UNSEEN

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id"), index=True)
    kind: Mapped[str]
    digest: Mapped[str] = mapped_column(unique=True)
    created: Mapped[dt.datetime]
    expires: Mapped[dt.datetime | None]
    revoked: Mapped[dt.datetime | None]
    used: Mapped[dt.datetime | None]
    user: Mapped[User] = relationship(back_populates="tokens")


class PageState(Base):
    """A token of the rows that pages of results show: each transaction that changes one of them draws another."""

    __tablename__ = "page_state"

    id: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str]


class Database:
    """The database of a campaign.

    Parameters
    ----------
    url : str
        As SQLAlchemy has it, such as ``sqlite:////srv/campaign/state/campaign.db`` and
        ``postgresql+psycopg://mirflow@localhost/chords``.

    Raises
    ------
    DatabaseError
        If it is no address of one of the two, or its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        # One state for whoever reads; for whoever writes the state after the writer before, whom it waited for.
        reading: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        writing: dict[str, Any] = {"isolation_level": "READ COMMITTED"}
        if self.is_sqlite:
            reading, writing = {}, {}
        self._reading = self.engine.execution_options(**reading)
        self._writing = self.engine.execution_options(writes=True, **writing)
        self._turn = Lock()

    @property
    def is_sqlite(self) -> bool:
        """True if it is a file of SQLite's."""
        return self.engine.dialect.name == "sqlite"

    def create(self) -> None:
        """Make the tables of an empty database; leave the others as they are."""
        for name in _TABLES:
            import_module(name, __package__)
        with self._opening(self._writing) as connection:
            # Of several processes that begin at once one makes them.
            revision = migrations.revision_of(connection)
            if revision is None:
                Base.metadata.create_all(connection)
                migrations.stamp(connection)
            elif revision != (newest := migrations.newest()):
                self.demand_known(revision)
                raise DatabaseError(
                    f"{self.engine.url}: its tables have revision {revision}, and this mirflow needs {newest}: "
                    "stop the server and its workers, and run mirflow serve upgrade CAMPAIGN"
                )

    def revision(self) -> str | None:
        """Revision of the tables; None if there are none."""
        with self._opening(self.engine) as connection:
            return migrations.revision_of(connection)

    def upgrade(self) -> list[str]:
        """Bring the tables to the newest revision, all steps or none.

        Returns
        -------
        list of str
            The revisions that were applied.
        """
        # Tables of SQLite are changed by making them anew, which foreign keys would not allow.
        engine = _engine(self.engine.url, foreign_keys=False)
        try:
            with self._opening(engine.execution_options(writes=True), "upgraded") as connection:
                self.demand_known(migrations.revision_of(connection))
                applied = migrations.upgrade(connection)
                if self.is_sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").all()):
                    raise DatabaseError(f"{self.engine.url}: rows of {broken[0][0]} refer to no row of {broken[0][2]}")
        finally:
            engine.dispose()
        return applied

    def demand_known(self, revision: str | None) -> None:
        """Refuse a database without tables, and one that a newer version has upgraded."""
        if revision is None:
            raise DatabaseError(f"{self.engine.url}: has no tables yet: mirflow serve makes them")
        if revision not in migrations.revisions():
            raise DatabaseError(
                f"{self.engine.url}: its tables have revision {revision}, which a newer mirflow has made; this one "
                f"knows revisions up to {migrations.newest()}: install the newer version"
            )

    @contextmanager
    def _opening(self, engine: Engine, done: str = "opened") -> Iterator[Connection]:
        """A transaction; an error of the database says why nothing can be done."""
        try:
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip()
            raise DatabaseError(f"{self.engine.url}: cannot be {done}: {reason}") from None

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one state of the database and changes nothing."""
        with Session(self._reading, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self, wait: float | None = None) -> Iterator[Session]:
        """A session whose changes are kept all at once when it ends, and not at all after an error.

        Its transaction begins at once, and not with its first statement as SQLAlchemy's do: all of the block excludes
        other writers, so that what is read in it, the clock included, stays true until its changes are kept. A thread
        must not begin another one within it, which would wait for itself.

        Changes of all tables but those that are `UNSEEN` change `page_state`, too.

        Parameters
        ----------
        wait : float or None
            Seconds to wait for writers of this process, and as long again for those of others; None: `WAIT`.
        """
        wait = WAIT if wait is None else wait
        # Threads of this process take turns here: SQLite has writers sleep and look again, the unlucky ones for
        # seconds, and each would hold a connection meanwhile. What takes longer is left to the database to refuse.
        mine = self._turn.acquire(timeout=wait)
        try:
            changed: set[str] = set()
            writing = self._writing.execution_options(wait=wait, changed=changed)
            with Session(writing, expire_on_commit=False) as session, session.begin():
                session.connection()
                yield session
                session.flush()
                if changed:
                    # Random rather than counted: a backup that is restored does not count to the same numbers again.
                    session.merge(PageState(id=1, token=secrets.token_hex(8)))
        finally:
            if mine:
                self._turn.release()

    def page_state(self) -> str:
        """A token that every transaction changes whose changes pages of results may show, in whichever process.

        What is read after it is at least as new as the token.
        """
        with self.read() as session:
            return session.scalar(select(PageState.token)) or ""

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(address: str | URL, *, foreign_keys: bool = True) -> Engine:
    url = _parse(address)
    sqlite = url.get_backend_name() == "sqlite"
    settings: dict[str, Any] = {"connect_args": {"timeout": WAIT}} if sqlite else {"pool_pre_ping": True}
    try:
        engine = create_engine(url, hide_parameters=True, **settings)
    except NoSuchModuleError:
        raise DatabaseError(f"{url}: there is no driver {url.drivername!r}; write postgresql+psycopg") from None
    except ModuleNotFoundError as error:
        driver = str(error.name)
        raise DatabaseError(f"{url}: needs {driver}: pip install '{_DRIVERS.get(driver, driver)}'") from None
    if sqlite:
        event.listen(engine, "connect", _configure if foreign_keys else _configure_for_upgrade)
    event.listen(engine, "begin", _begin_sqlite if sqlite else _begin_postgres)
    event.listen(engine, "before_cursor_execute", _note_change)
    return engine


def _parse(address: str | URL) -> URL:
    """The address of a database of a kind that is known; errors do not quote it, as it may hold a password."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise DatabaseError(f"database: is no address of a database; write it like {_EXAMPLE}") from None
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql", "postgres"):
        raise DatabaseError(f"database: is one of {backend}, and has to be SQLite or PostgreSQL, as {_EXAMPLE}")
    return url.set(drivername="postgresql+psycopg") if url.drivername in ("postgresql", "postgres") else url


def _configure(connection: Any, _record: Any, foreign_keys: str = "ON") -> None:
    # The driver would begin transactions by itself, and late: a writer has to be alone before it reads.
    connection.isolation_level = None
    cursor = connection.cursor()
    _write_ahead(cursor)
    for pragma in ("synchronous=FULL", f"foreign_keys={foreign_keys}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _configure_for_upgrade(connection: Any, record: Any) -> None:
    _configure(connection, record, "OFF")


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    # SQLite waits for other writers except where the journal of a new file is chosen: there it refuses at once
    # whoever comes second.
    end = time.monotonic() + WAIT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # The low byte of a code tells the kind; the rest tells why, such as that another mends what a crash left.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(0.01)


def _begin_sqlite(connection: Any) -> None:
    options = connection.get_execution_options()
    if options.get("writes", False):
        connection.exec_driver_sql(f"PRAGMA busy_timeout={1000 * options.get('wait', WAIT):.0f}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql("BEGIN")


def _note_change(connection: Any, _cursor: Any, _statement: str, _parameters: Any, context: Any, _many: bool) -> None:
    """Note the table that a statement changes, for the transaction that executes it."""
    changed = connection.get_execution_options().get("changed")
    if changed is not None and (context.isinsert or context.isupdate or context.isdelete):
        table = context.compiled.statement.table
        if not table.info.get("unseen"):
            changed.add(table.name)


def _begin_postgres(connection: Any) -> None:
    options = connection.get_execution_options()
    if options.get("writes", False):
        # One lock for all writers. Whoever has it and says nothing any more, as its host is gone, loses it.
        connection.exec_driver_sql(
            f"SELECT set_config('lock_timeout', '{options.get('wait', WAIT):g}s', true), "
            f"set_config('idle_in_transaction_session_timeout', '{SILENCE:g}s', true), "
            f"pg_advisory_xact_lock({_WRITERS})"
        )
