"""Databases of older versions are upgraded to the tables of this one; others are refused by a sentence.

`schemas` has dumps of a small campaign, one for each kind of database and each revision that mirflow was released with.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import create_engine, inspect, select

from mirflow.campaign.server import migrations
from mirflow.campaign.server.backup import BackupError, make_backup, restore_backup
from mirflow.campaign.server.database import Base, Database, DatabaseError
from mirflow.campaign.server.service import open_service

from ...commands import invoke, refused
from .campaigns import CAMPAIGN
from .databases import new_database, postgres

SCHEMAS = Path(__file__).with_name("schemas")
OLD = [file.name.partition(".")[0] for file in sorted(SCHEMAS.glob("*.sqlite.sql"))]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


def load(url: str, revision: str) -> None:
    """Fill an empty database with a dump."""
    engine = create_engine(url)
    dump = (SCHEMAS / f"{revision}.{engine.dialect.name}.sql").read_text()
    with closing(engine.raw_connection()) as connection:
        if engine.dialect.name == "sqlite":
            connection.driver_connection.executescript(dump)  # type: ignore[union-attr]
        else:
            connection.driver_connection.execute(dump)  # type: ignore[union-attr]
            connection.commit()
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Addresses of two empty databases of a kind."""
    if request.param == "sqlite":
        return [f"sqlite:///{tmp_path / name}" for name in ("old.db", "new.db")]
    server = request.getfixturevalue("server")
    return [new_database(server) for _ in range(2)]


def form(url: str) -> dict[str, Any]:
    """Tables of a database: columns without their order, keys and indexes without their names."""
    engine = create_engine(url)
    seen = inspect(engine)
    tables = {}
    for name in seen.get_table_names():
        tables[name] = {
            "columns": {one["name"]: (str(one["type"]), one["nullable"]) for one in seen.get_columns(name)},
            "key": seen.get_pk_constraint(name)["constrained_columns"],
            "unique": sorted(one["column_names"] for one in seen.get_unique_constraints(name)),
            "foreign": sorted(
                (one["constrained_columns"], one["referred_table"], one["referred_columns"])
                for one in seen.get_foreign_keys(name)
            ),
            "indexes": {
                one["name"]: (one["column_names"], bool(one["unique"]), _words(one.get("dialect_options", {})))
                for one in seen.get_indexes(name)
            },
        }
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            counted = "SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'"
            tables["autoincrement"] = sorted(connection.scalars(sa.text(counted)))
    engine.dispose()
    return tables


def _words(options: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}


def rows(url: str) -> dict[str, int]:
    """Numbers of rows, each of which can be read."""
    database = Database(url)
    with database.read() as session:
        counts = {mapper.class_.__tablename__: len(session.scalars(select(mapper)).all()) for mapper in mappers()}
    database.close()
    return counts


def mappers() -> list[Any]:
    return list(Base.registry.mappers)


@pytest.mark.parametrize("revision", OLD)
def test_an_upgraded_database_is_like_a_new_one_and_keeps_its_rows(empty: list[str], revision: str) -> None:
    old, new = empty
    load(old, revision)
    engine = create_engine(old)
    with engine.connect() as connection:
        names = [name for name in inspect(engine).get_table_names() if name != "version"]
        before = {name: connection.scalar(sa.text(f'SELECT count(*) FROM "{name}"')) for name in names}
    engine.dispose()
    assert min(before.values()) > 0
    database = Database(old)
    with pytest.raises(DatabaseError, match=f"revision {revision}.* run mirflow serve upgrade CAMPAIGN"):
        database.create()
    assert database.upgrade() == migrations.revisions()[migrations.revisions().index(revision) + 1 :]
    database.create()
    assert database.upgrade() == []
    database.close()
    fresh = Database(new)
    fresh.create()
    fresh.close()
    assert form(old) == form(new)
    assert {name: count for name, count in rows(old).items() if name in before} == before


def test_what_was_told_of_scores_that_were_kept_back_is_taken_away(empty: list[str]) -> None:
    load(empty[0], "0001")
    engine = create_engine(empty[0])
    kept = "split = 'dev' AND evaluation = 'chord' AND metric = (SELECT min(metric) FROM verdict)"
    with engine.begin() as connection:
        # As if the dump's split were hidden, and its second system kept back.
        connection.execute(sa.text(f"UPDATE released SET improved = false WHERE {kept}"))
        judged = connection.execute(sa.text("SELECT id FROM verdict")).all()
    assert judged
    Database(empty[0]).upgrade()
    with engine.begin() as connection:
        assert connection.scalar(sa.text(f"SELECT count(value) FROM released WHERE {kept}")) == 0
        assert connection.scalar(sa.text("SELECT count(value) FROM released")) > 0
        assert connection.scalar(sa.text("SELECT count(*) FROM verdict")) < len(judged)
    engine.dispose()


def test_what_was_for_all_accounts_is_for_the_lab(empty: list[str]) -> None:
    load(empty[0], "0001")
    engine = create_engine(empty[0])
    seen = sa.text("SELECT name, team, visibility FROM submission ORDER BY number")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE submission SET visibility = 'lab' WHERE name IN ('oak', 'ash')"))
        connection.execute(sa.text("UPDATE \"user\" SET lab = ' Queen  Mary' WHERE name = 'ada'"))
    Database(empty[0]).upgrade()
    with engine.begin() as connection:
        found = [tuple(row) for row in connection.execute(seen)]
        assert connection.scalar(sa.text("SELECT lab FROM \"user\" WHERE name = 'ada'")) == "Queen Mary"
    engine.dispose()
    assert found == [
        ("oak", "lab queen mary", "lab"),
        ("elm", "account 2", "public"),
        ("ash", "account 2", "private"),
        ("fir", "account 2", "private"),
    ]


def test_a_refused_database_is_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'old.db'}"
    load(url, "0001")
    before = form(url)
    with pytest.raises(DatabaseError, match="0001"):
        Database(url).create()
    assert form(url) == before


def test_a_newer_database_is_refused(empty: list[str]) -> None:
    database = Database(empty[0])
    database.create()
    with database.write() as session:
        session.execute(sa.text("UPDATE version SET version_num = '9999'"))
    for refused_door in (database.create, database.upgrade):
        with pytest.raises(DatabaseError, match=r"revision 9999 from a newer mirflow; .* install the newer version"):
            refused_door()


def test_an_upgrade_that_fails_changes_nothing(empty: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    load(empty[0], "0001")
    before = form(empty[0])

    def fail(*_: object) -> None:
        raise sa.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))

    monkeypatch.setattr(migrations.MigrationContext, "stamp", fail)
    database = Database(empty[0])
    with pytest.raises(DatabaseError, match="cannot be upgraded: database or disk is full"):
        database.upgrade()
    assert form(empty[0]) == before
    assert database.revision() == "0001"


def test_rows_that_refer_to_nothing_are_not_taken_along(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'old.db'}"
    load(url, "0001")
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.execute("DELETE FROM user WHERE name = 'ada'")
        connection.commit()
    database = Database(url)
    with pytest.raises(DatabaseError, match=r"rows of .* refer to missing rows of user"):
        database.upgrade()
    assert database.revision() == "0001"


def test_there_is_one_newest_revision() -> None:
    known = migrations.revisions()
    assert known == sorted(known)
    assert (known[0], known[-1]) == (migrations.BASELINE, migrations.newest())
    files = sorted((Path(migrations.__file__).with_name("revisions")).glob("r[0-9]*.py"))
    assert [file.name[1:5] for file in files] == known


@pytest.fixture
def old_campaign(tmp_path: Path) -> Path:
    """A campaign whose database has the first tables."""
    state = tmp_path / "state"
    state.mkdir()
    load(f"sqlite:///{state / 'campaign.db'}", "0001")
    with closing(sqlite3.connect(state / "campaign.db")) as connection:
        for id, name, progress in connection.execute("SELECT id, name, state FROM submission").fetchall():
            folder = state / "submissions" / id if progress == "received" else state / "systems" / name
            folder.mkdir(parents=True)
            (folder / "names.json").write_text("[]")
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN)
    return path


def test_the_command_backs_up_and_upgrades(old_campaign: Path, tmp_path: Path) -> None:
    assert "run mirflow serve upgrade CAMPAIGN" in refused("serve", "users", "list", str(old_campaign))
    done = invoke("serve", "upgrade", str(old_campaign))
    kept = tmp_path / f"before-{migrations.newest()}.tar.gz"
    assert f"{kept}: backup of revision 0001" in done.stderr
    assert f"upgraded from revision 0001 to {migrations.newest()}" in done.stderr
    assert "gil" in invoke("serve", "users", "list", str(old_campaign)).stdout
    again = invoke("serve", "upgrade", str(old_campaign))
    assert "has the newest revision" in again.stderr


def test_postgresql_is_backed_up_by_its_own_command(server: str, tmp_path: Path) -> None:
    url = new_database(server)
    load(url, "0001")
    path = tmp_path / "campaign.yaml"
    path.write_text(f"{CAMPAIGN}database: {url!r}\n")
    assert "with pg_dump (docs/safety.md), then use --no-backup" in refused("serve", "upgrade", path)
    assert "upgraded from revision 0001" in invoke("serve", "upgrade", path, "--no-backup", code=0).stderr


def test_a_backup_that_is_there_is_not_overwritten(old_campaign: Path, tmp_path: Path) -> None:
    kept = tmp_path / f"before-{migrations.newest()}.tar.gz"
    kept.write_text("mine")
    assert "choose another file for the backup with --output" in refused("serve", "upgrade", str(old_campaign))
    assert kept.read_text() == "mine"
    assert open_service([old_campaign], any_revision=True).database.revision() == "0001"  # type: ignore[union-attr]


def test_a_backup_of_older_tables_is_restored_and_upgraded(old_campaign: Path, tmp_path: Path) -> None:
    make_backup(open_service([old_campaign], any_revision=True), tmp_path / "a.tar.gz")
    shutil.rmtree(tmp_path / "state")
    done = invoke("serve", "restore", str(tmp_path / "a.tar.gz"), str(old_campaign))
    assert f"run mirflow serve upgrade {old_campaign}" in done.stderr
    invoke("serve", "upgrade", str(old_campaign), "--no-backup")
    assert "gil" in invoke("serve", "users", "list", str(old_campaign)).stdout


def test_a_backup_of_newer_tables_is_refused(old_campaign: Path, tmp_path: Path) -> None:
    service = open_service([old_campaign], any_revision=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "revision", lambda self: "9999")
        make_backup(service, tmp_path / "a.tar.gz")
    with pytest.raises(BackupError, match=r"was made by mirflow .*, which is newer"):
        restore_backup(tmp_path / "a.tar.gz", tmp_path / "other")
