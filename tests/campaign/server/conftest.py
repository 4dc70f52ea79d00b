"""What all tests of the server need."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from mirflow.campaign.server import security
from mirflow.campaign.server.database import Database
from mirflow.campaign.server.submissions.confinement import Confinement

from .databases import drop_databases


@pytest.fixture(scope="session", autouse=True)
def _name_of_the_test_client() -> Iterator[None]:
    """The name under which Starlette's client asks where a test says none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(security, "LOCAL", security.LOCAL | {"testserver"})
        yield


@pytest.fixture(scope="session", autouse=True)
def _test_clients_share_an_event_loop() -> Iterator[None]:
    """As requests of a server do; a thread and a loop for each request take as long as most of the pages."""
    with start_blocking_portal() as portal, pytest.MonkeyPatch.context() as patch:
        patch.setattr(TestClient, "portal", portal)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_databases_are_left() -> Iterator[None]:
    yield
    drop_databases()


@pytest.fixture(scope="session", autouse=True)
def _databases() -> Iterator[list[Database]]:
    """All databases that tests have opened."""
    made: list[Database] = []
    begin = Database.__init__

    def begin_and_note(self: Database, url: str) -> None:
        begin(self, url)
        made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "__init__", begin_and_note)
        yield made


@pytest.fixture(autouse=True)
def _connections_are_closed(_databases: list[Database]) -> Iterator[None]:
    """Close what a test leaves open, of which PostgreSQL's driver warns."""
    yield
    for one in _databases:
        one.close()
    _databases[:] = [one for one in _databases if not one.is_sqlite]


@pytest.fixture(scope="session")
def confinement() -> Iterator[Confinement]:
    """The process in which workers of tests check and score: it imports once what each of its jobs begins with."""
    with Confinement(["chord"]) as one:
        yield one


@pytest.fixture
def folder_in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the system has one, for tests that wait for the disk all the time.

    Processes that are killed lose nothing that the system has taken from them, whether or not a disk has it.
    """
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < 10**9:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="mirflow-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
