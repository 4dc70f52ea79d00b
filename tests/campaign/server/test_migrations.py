"""A database of an older revision is upgraded in one transaction; one of a newer revision is refused.

There is one revision yet, so a second one is made here, as a change of the tables would add it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from mirflow.campaign.server import database as tables
from mirflow.campaign.server.database import Base, Database, DatabaseError
from mirflow.campaign.server.service import BackupError, make_backup, open_service, restore_backup

from ...commands import invoke, refused
from .campaigns import CAMPAIGN
from .databases import new_database, postgres

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    sqlite = op.get_bind().dialect.name == "sqlite"
    with op.batch_alter_table("user", recreate="always" if sqlite else "never") as table:
        table.add_column(sa.Column("phone", sa.Text, nullable=False, server_default="none"))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """A new database with a user, of each kind."""
    if request.param == "sqlite":
        return _with_user(f"sqlite:///{tmp_path / 'campaign.db'}")
    return _with_user(new_database(request.getfixturevalue("server")))


def _with_user(url: str) -> Database:
    database = Database(url)
    database.create()
    with database.write() as session:
        session.execute(sa.text("INSERT INTO \"user\" VALUES (1, 'ada', 'submitter', '', '', '2026-01-01', NULL)"))
        session.execute(sa.text("INSERT INTO token VALUES (1, 1, 'link', 'x', '2026-01-01', NULL, NULL, NULL)"))
    return database


@pytest.fixture
def next_version(tmp_path: Path) -> Iterator[None]:
    """mirflow knows one revision more from here on."""
    folder = tmp_path / "revisions"
    shutil.copytree(tables.REVISIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "r0002_phones.py").write_text(NEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "REVISIONS", folder)
        yield


def user_columns(database: Database) -> list[str]:
    return [column["name"] for column in sa.inspect(database.engine).get_columns("user")]


def test_the_revisions_are_one_line_of_files():
    known = tables.revisions()
    assert known == sorted(known)
    assert [file.name[1:5] for file in sorted(tables.REVISIONS.glob("r[0-9]*.py"))] == known


def test_an_upgrade_keeps_rows_and_what_refers_to_them(database, request):
    request.getfixturevalue("next_version")
    with pytest.raises(DatabaseError, match=r"revision 0001.* needs 0002: .* run mirflow serve upgrade CAMPAIGN"):
        database.create()
    assert database.upgrade() == ["0002"]
    assert database.upgrade() == []
    database.create()
    with database.read() as session:
        assert session.execute(sa.text('SELECT name, phone FROM "user"')).all() == [("ada", "none")]
        assert session.scalar(sa.text('SELECT count(*) FROM token JOIN "user" ON "user".id = user_id')) == 1
    assert set(sa.inspect(database.engine).get_table_names()) == {*Base.metadata.tables, "version"}


def test_a_database_without_tables_is_not_upgraded(tmp_path):
    with pytest.raises(DatabaseError, match="has no tables yet: start mirflow serve to create them"):
        Database(f"sqlite:///{tmp_path / 'new.db'}").upgrade()


def test_a_newer_database_is_refused(database):
    with database.write() as session:
        session.execute(sa.text("UPDATE version SET version_num = '9999'"))
    for refused_door in (database.create, database.upgrade):
        with pytest.raises(DatabaseError, match=r"revision 9999 from a newer mirflow; .* install the newer version"):
            refused_door()


def test_an_upgrade_that_fails_changes_nothing(database, request, monkeypatch):
    request.getfixturevalue("next_version")
    before = user_columns(database)

    def fail(*_: object) -> None:
        raise sa.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))

    monkeypatch.setattr(tables.MigrationContext, "stamp", fail)
    with pytest.raises(DatabaseError, match="cannot be upgraded: database or disk is full"):
        database.upgrade()
    assert user_columns(database) == before
    assert database.revision() == "0001"


def test_rows_that_refer_to_nothing_are_not_taken_along(tmp_path, request):
    database = _with_user(f"sqlite:///{tmp_path / 'campaign.db'}")
    request.getfixturevalue("next_version")
    with closing(sqlite3.connect(tmp_path / "campaign.db")) as connection:
        connection.execute("DELETE FROM user")
        connection.commit()
    with pytest.raises(DatabaseError, match="rows of token refer to missing rows of user"):
        database.upgrade()
    assert database.revision() == "0001"


@pytest.fixture
def old_campaign(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A campaign whose database is one revision behind."""
    (tmp_path / "state").mkdir()
    _with_user(f"sqlite:///{tmp_path / 'state' / 'campaign.db'}").close()
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN)
    request.getfixturevalue("next_version")
    return path


def test_the_command_backs_up_and_upgrades(old_campaign, tmp_path):
    assert "run mirflow serve upgrade CAMPAIGN" in refused("serve", "users", "list", str(old_campaign))
    done = invoke("serve", "upgrade", str(old_campaign))
    assert f"{tmp_path / 'before-0002.tar.gz'}: backup of revision 0001" in done.stderr
    assert "upgraded from revision 0001 to 0002" in done.stderr
    assert "ada" in invoke("serve", "users", "list", str(old_campaign)).stdout
    assert "has the newest revision" in invoke("serve", "upgrade", str(old_campaign)).stderr


def test_postgresql_is_backed_up_by_its_own_command(server, tmp_path, request):
    url = new_database(server)
    _with_user(url).close()
    request.getfixturevalue("next_version")
    path = tmp_path / "campaign.yaml"
    path.write_text(f"{CAMPAIGN}database: {url!r}\n")
    assert "with pg_dump (docs/safety.md), then use --no-backup" in refused("serve", "upgrade", path)
    assert "upgraded from revision 0001" in invoke("serve", "upgrade", path, "--no-backup", code=0).stderr


def test_a_backup_that_is_there_is_not_overwritten(old_campaign, tmp_path):
    backup = tmp_path / "before-0002.tar.gz"
    backup.write_text("mine")
    assert "choose another file for the backup with --output" in refused("serve", "upgrade", str(old_campaign))
    assert backup.read_text() == "mine"
    assert open_service([old_campaign], any_revision=True).database.revision() == "0001"


def test_a_backup_of_older_tables_is_restored_and_upgraded(old_campaign, tmp_path):
    make_backup(open_service([old_campaign], any_revision=True), tmp_path / "a.tar.gz")
    shutil.rmtree(tmp_path / "state")
    done = invoke("serve", "restore", str(tmp_path / "a.tar.gz"), str(old_campaign))
    assert f"run mirflow serve upgrade {old_campaign}" in done.stderr
    invoke("serve", "upgrade", str(old_campaign), "--no-backup")
    assert "ada" in invoke("serve", "users", "list", str(old_campaign)).stdout


@pytest.mark.slow
def test_a_backup_of_newer_tables_is_refused(old_campaign, tmp_path):
    service = open_service([old_campaign], any_revision=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "revision", lambda self: "9999")
        make_backup(service, tmp_path / "a.tar.gz")
    with pytest.raises(BackupError, match=r"was made by mirflow .*, which is newer"):
        restore_backup(tmp_path / "a.tar.gz", tmp_path / "other")
