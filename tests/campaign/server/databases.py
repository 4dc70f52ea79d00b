"""PostgreSQL for tests of the server: a cluster that is made for them, and a database for each campaign.

``MIRFLOW_TEST_DATABASE=postgresql+psycopg://... pytest tests/campaign/server`` runs the tests of the server with
databases that are made on that server, and removed at the end.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError

from mirflow.campaign.server.database import Database

from ...waiting import PATIENCE, until

VARIABLE = "MIRFLOW_TEST_DATABASE"
_MADE: list[tuple[str, str]] = []  # servers and names of the databases that were made


def _execute(server: str, *statements: str) -> None:
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for one in statements:
            connection.execute(text(one))
    engine.dispose()


def new_database(server: str) -> str:
    """Make an empty database; its address."""
    name = f"mirflow_test_{secrets.token_hex(6)}"
    _execute(server, f"CREATE DATABASE {name}")
    _MADE.append((server, name))
    return make_url(server).set(database=name).render_as_string(hide_password=False)


def drop_databases() -> None:
    """Remove the databases that were made, whoever still uses them."""
    for server, name in _MADE:
        _execute(server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    _MADE.clear()


def stored(database: Database, query: Any) -> list[Any]:
    """What a query finds in a database."""
    with database.read() as session:
        return list(session.scalars(query))


def with_database(campaign: str) -> str:
    """The text of a campaign, with a database of its own if the tests are to run with another one than SQLite."""
    server = os.environ.get(VARIABLE)
    return f"{campaign}database: {new_database(server)!r}\n" if server else campaign


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs, which Debian does not put into the path."""
    found = shutil.which(name) or next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))[-1:]), None)
    if found is None:
        pytest.skip(f"PostgreSQL is not installed: there is no {name}")
    return str(found)


def _owner() -> str | None:
    """The account that runs the server, which refuses to be root's."""
    if os.geteuid():
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no account postgres or nobody")


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server of its own, reached by a socket in a temporary folder; its address."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    initdb, server, owner = program("initdb"), program("postgres"), _owner()
    with tempfile.TemporaryDirectory(prefix="mirflow-postgres-") as made:
        folder = Path(made)
        if owner is not None:
            shutil.chown(folder, owner)
        words = ["--pgdata", str(folder / "data"), "--username", "postgres", "--auth", "trust", "--no-sync"]
        done = subprocess.run(
            [initdb, *words, "--encoding", "UTF8", "--locale", "C"], cwd="/", user=owner, capture_output=True, text=True
        )
        if done.returncode:
            pytest.skip(f"initdb does not run here: {done.stderr.strip()[-300:]}")
        settings = {"listen_addresses": "", "unix_socket_directories": made, "max_connections": 200, "fsync": "off"}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            command = [server, "-D", str(folder / "data"), *options]
            process = subprocess.Popen(command, cwd="/", user=owner, stdout=log, stderr=log)
        address = f"postgresql+psycopg://postgres@/postgres?host={made}"
        try:
            _wait_for(address, process, folder / "log")
            yield address
        finally:
            drop_databases()
            process.send_signal(signal.SIGINT)  # which waits for no client
            process.wait(PATIENCE)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            _execute(address)
        except OperationalError:
            return False
        return True

    until(answers, log.read_text)
