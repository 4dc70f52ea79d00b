"""The database of a campaign, in SQLite or PostgreSQL: its transactions and revisions, and the tables of accounts.

Tables of submissions and of grading are declared beside the code that uses them.
"""

from __future__ import annotations

import datetime as dt
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

from ...errors import MirflowError

__all__ = ["UNSEEN", "Base", "Database", "DatabaseError", "PageState", "Session", "Token", "User", "revisions"]

WAIT = 30.0  # seconds to wait for another writer
SILENCE = 60.0  # seconds after which PostgreSQL aborts the transaction of an idle writer
_TABLES = (".submissions.submission_tables", ".graders.grading_tables")  # modules that declare tables
# Revisions of the tables, which Alembic applies without its command line; a changed table needs a new module there.
#
# ``tests/campaign/server/test_migrations.py`` compares the result with the declarations.
REVISIONS = Path(__file__).with_name("revisions")
# Arguments for tables that change often and whose rows are not shown on pages of results.
UNSEEN: dict[str, Any] = {"info": {"unseen": True}}
_WRITERS = 0x6D697266  # key of the advisory lock for writers on PostgreSQL
_EXAMPLE = "postgresql+psycopg://mirflow@localhost/chords"
_DRIVERS = {"psycopg": "psycopg[binary]"}  # requirement that installs a driver, where it differs from the driver's name


class DatabaseError(MirflowError):
    """The database cannot be opened, or its revision does not match."""


class UtcDateTime(TypeDecorator[dt.datetime]):
    """A time in UTC, regardless of how the database stores it."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """Drop the zone after converting to UTC."""
        return None if value is None else value.astimezone(dt.UTC).replace(tzinfo=None)

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """Add the zone."""
        return None if value is None else value.replace(tzinfo=dt.UTC)


class PlainText(TypeDecorator[str]):
    """Text of any length; NUL characters, which PostgreSQL cannot store, are replaced."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace zero characters."""
        return None if value is None else value.replace("\0", "\ufffd")


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {  # noqa: RUF012
        dt.datetime: UtcDateTime,
        # SQLite autoincrements INTEGER keys only; numbers of bytes exceed PostgreSQL's INTEGER.
        int: sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        # The accepted types differ between versions of SQLAlchemy.
        float: sa.Double,
        str: PlainText,
    }


class User(Base):
    """A person or a program with a role; ``mail`` is an optional address for notifications."""

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
    """A personal link, a token for programs, or a session; only its digest is stored."""

    __tablename__ = "token"
    __table_args__ = UNSEEN

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("user.id"), index=True)
    kind: Mapped[str]
    digest: Mapped[str] = mapped_column(unique=True)
    created: Mapped[dt.datetime]
    expires: Mapped[dt.datetime | None]
    revoked: Mapped[dt.datetime | None]
    used: Mapped[dt.datetime | None]
    user: Mapped[User] = relationship(back_populates="tokens")


class PageState(Base):
    """A token for the rows that pages of results show; every transaction that changes such a row replaces it."""

    __tablename__ = "page_state"

    id: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str]


class Database:
    """The database of a campaign.

    `url`: SQLAlchemy URL, such as ``sqlite:////srv/campaign/state/campaign.db`` or
    ``postgresql+psycopg://mirflow@localhost/chords``.

    Raises `DatabaseError`: if the URL is invalid, or the database driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        # Readers see a single state; a writer sees the state left by the previous writer, for which it waited.
        reading: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        writing: dict[str, Any] = {"isolation_level": "READ COMMITTED"}
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        if self.is_sqlite:
            reading, writing = {}, {}
        self._reading = self.engine.execution_options(**reading)
        self._writing = self.engine.execution_options(writes=True, **writing)
        self._turn = Lock()

    def create(self) -> None:
        """Create the tables of an empty database; leave existing ones unchanged."""
        for name in _TABLES:
            import_module(name, __package__)
        with self._opening(self._writing) as connection:
            # If several processes start at once, one of them creates the tables.
            context = _migration(connection)
            revision = context.get_current_revision()
            if revision is None:
                Base.metadata.create_all(connection)
                context.stamp(_scripts(), "head")
            elif revision != (newest := revisions()[-1]):
                self.demand_known(revision)
                raise DatabaseError(
                    f"{self.engine.url}: the tables have revision {revision}, but this mirflow needs {newest}: "
                    "stop the server and its workers, and run mirflow serve upgrade CAMPAIGN"
                )

    def revision(self) -> str | None:
        """Revision of the tables; None without tables."""
        with self._opening(self.engine) as connection:
            return _migration(connection).get_current_revision()

    def upgrade(self) -> list[str]:
        """Upgrade the tables to the newest revision in one transaction."""
        # SQLite tables are changed by recreating them, which foreign keys would prevent.
        engine = _engine(self.engine.url, foreign_keys=False)
        try:
            with self._opening(engine.execution_options(writes=True), "upgraded") as connection:
                context, scripts = _migration(connection), _scripts()
                before = context.get_current_revision()
                self.demand_known(before)
                steps = list(scripts.iterate_revisions("head", before))[::-1]
                with Operations.context(context):
                    for step in steps:
                        step.module.upgrade()
                context.stamp(scripts, "head")
                if self.is_sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").all()):
                    message = f"{self.engine.url}: rows of {broken[0][0]} refer to missing rows of {broken[0][2]}"
                    raise DatabaseError(message)
        finally:
            engine.dispose()
        return [step.revision for step in steps]

    def demand_known(self, revision: str | None) -> None:
        """Refuse a database without tables, and one upgraded by a newer version."""
        if revision is None:
            raise DatabaseError(f"{self.engine.url}: has no tables yet: start mirflow serve to create them")
        if revision not in revisions():
            raise DatabaseError(
                f"{self.engine.url}: the tables have revision {revision} from a newer mirflow; this one "
                f"knows revisions up to {revisions()[-1]}: install the newer version"
            )

    @contextmanager
    def _opening(self, engine: sa.Engine, done: str = "opened") -> Iterator[sa.Connection]:
        """A transaction whose database errors are reported with their reason."""
        try:
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip()
            raise DatabaseError(f"{self.engine.url}: cannot be {done}: {reason}") from None

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A read-only session with a consistent view of the database."""
        with Session(self._reading, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self, wait: float | None = None) -> Iterator[Session]:
        """A session whose changes are committed when the block ends, or rolled back after an error.

        Its transaction begins immediately, not with the first statement as in SQLAlchemy, so the whole block excludes
        other writers: values read in it (including the clock) stay valid until the commit. A thread must not begin a
        second one within the block, since it would wait for itself.

        Changes to any table that is not `UNSEEN` also change `page_state`.

        `wait`: seconds to wait for writers in this process, and again for those in other processes; None: `WAIT`.
        """
        wait = WAIT if wait is None else wait
        # Threads of this process take turns here: SQLite makes writers sleep and retry, some of them for seconds while
        # holding a connection. Longer waits are refused by the database.
        mine = self._turn.acquire(timeout=wait)
        try:
            changed: set[str] = set()
            writing = self._writing.execution_options(wait=wait, changed=changed)
            with Session(writing, expire_on_commit=False) as session, session.begin():
                session.connection()
                yield session
                session.flush()
                if changed:
                    # Random rather than counted: after restoring a backup, a counter would repeat earlier values.
                    session.merge(PageState(id=1, token=secrets.token_hex(8)))
        finally:
            if mine:
                self._turn.release()

    def page_state(self) -> str:
        """Token changed by every transaction, in any process, whose changes may show on pages of results.

        Anything read after the token is at least as recent as the token.
        """
        with self.read() as session:
            return session.scalar(sa.select(PageState.token)) or ""

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(REVISIONS, version_locations=[REVISIONS])


_migration = partial(MigrationContext.configure, opts={"version_table": "version"})


def revisions() -> list[str]:
    """List all revisions known to this version of mirflow; the last one is that of the declared tables."""
    return [script.revision for script in _scripts().walk_revisions()][::-1]


def _engine(address: str | sa.URL, *, foreign_keys: bool = True) -> sa.Engine:
    # Errors do not quote the URL, since it may contain a password.
    try:
        url = sa.make_url(address)
    except (ArgumentError, ValueError):
        raise DatabaseError(f"invalid URL of the database: expected a URL like {_EXAMPLE}") from None
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql", "postgres"):
        raise DatabaseError(f"unsupported database {backend}: use SQLite or PostgreSQL, such as {_EXAMPLE}")
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    sqlite = backend == "sqlite"
    settings: dict[str, Any] = {"connect_args": {"timeout": WAIT}} if sqlite else {"pool_pre_ping": True}
    try:
        engine = sa.create_engine(url, hide_parameters=True, **settings)
    except NoSuchModuleError:
        raise DatabaseError(f"{url}: unknown driver {url.drivername!r}; use postgresql+psycopg") from None
    except ModuleNotFoundError as error:
        driver = str(error.name)
        raise DatabaseError(f"{url}: needs {driver}: pip install '{_DRIVERS.get(driver, driver)}'") from None
    if sqlite:
        sa.event.listen(engine, "connect", lambda connection, _record: _configure(connection, foreign_keys))

    def begin(connection: Any) -> None:
        options = connection.get_execution_options()
        writes, wait = options.get("writes", False), options.get("wait", WAIT)
        if sqlite and writes:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={1000 * wait:.0f}")
        if sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
        elif writes:
            # A single lock for all writers; an idle writer, for example on a host that is down, loses it.
            connection.exec_driver_sql(
                f"SELECT set_config('lock_timeout', '{wait:g}s', true), "
                f"set_config('idle_in_transaction_session_timeout', '{SILENCE:g}s', true), "
                f"pg_advisory_xact_lock({_WRITERS})"
            )

    def note_change(connection: Any, _cursor: Any, _statement: str, _given: Any, context: Any, _many: bool) -> None:
        changed = connection.get_execution_options().get("changed")
        if changed is not None and (context.isinsert or context.isupdate or context.isdelete):
            table = context.compiled.statement.table
            if not table.info.get("unseen"):
                changed.add(table.name)

    sa.event.listen(engine, "begin", begin)
    sa.event.listen(engine, "before_cursor_execute", note_change)
    return engine


def _configure(connection: Any, foreign_keys: bool) -> None:
    # The driver would begin transactions itself, and too late: a writer must be exclusive before it reads.
    connection.isolation_level = None
    cursor = connection.cursor()
    # SQLite waits for other writers except while the journal mode of a new file is chosen: there it refuses the second
    # connection at once.
    end = time.monotonic() + WAIT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            # The low byte of a code is its class; the rest gives details, such as recovery by another process.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(0.01)
    for pragma in ("synchronous=FULL", f"foreign_keys={'ON' if foreign_keys else 'OFF'}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
