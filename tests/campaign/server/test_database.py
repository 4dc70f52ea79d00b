"""What the service asks of a database, of SQLite and of PostgreSQL."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import pytest
from sqlalchemy import func, make_url, select, text, update
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from mirflow.campaign.server.accounts import add_user, issue
from mirflow.campaign.server.database import Database, DatabaseError, User, _configure, revisions
from mirflow.campaign.server.graders.grading_tables import Participation, StoredAssignment, StoredJudgement, StoredPair
from mirflow.campaign.server.graders.judging import JudgementChange, record
from mirflow.campaign.server.graders.rounds import open_rounds
from mirflow.campaign.server.service import BackupError, make_backup, open_service
from mirflow.campaign.server.submissions.entries import SubmissionError
from mirflow.campaign.server.submissions.submission_tables import Submission, WorkerReport
from mirflow.campaign.server.submissions.worker import Worker

from .accounts import BEGIN
from .campaigns import CAMPAIGN, estimates, open_campaign, state, submit, work_off
from .databases import VARIABLE, new_database, postgres, program, stored
from .rounds import make_campaign

T = TypeVar("T")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kind of database; campaigns of a test get one of it."""
    monkeypatch.delenv(VARIABLE, raising=False)
    if request.param == "postgresql":
        monkeypatch.setenv(VARIABLE, request.getfixturevalue("server"))
    return str(request.param)


@pytest.fixture
def url(kind: str, tmp_path: Path) -> str:
    """The address of a database that is not there yet, or empty."""
    return f"sqlite:///{tmp_path / 'campaign.db'}" if kind == "sqlite" else new_database(os.environ[VARIABLE])


def at_once(number: int, do: Callable[[int], T]) -> list[T]:
    """What a function returns in several threads that begin at the same moment."""
    start = threading.Barrier(number)

    def one(which: int) -> T:
        start.wait()
        return do(which)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(one, range(number)))


def test_one_of_several_that_begin_at_once_makes_the_tables(url):
    made = at_once(6, lambda _: Database(url))
    at_once(6, lambda number: made[number].create())
    with made[0].read() as session:
        assert session.scalars(text("SELECT version_num FROM version")).all() == [revisions()[-1]]


def test_whoever_begins_while_another_makes_the_file_waits_for_it(tmp_path):
    path = tmp_path / "campaign.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other, ThreadPoolExecutor(1) as pool:
        # As long as this transaction is open, nobody can choose the journal of the file.
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE begun (number INTEGER)")
        created = pool.submit(Database(f"sqlite:///{path}").create)
        assert wait([created], timeout=0.5).not_done
        other.execute("COMMIT")
        created.result()
        assert other.execute("SELECT version_num FROM version").fetchall() == [(revisions()[-1],)]
        assert other.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_whoever_begins_while_another_mends_what_a_crash_left_waits_for_it():
    answers: list[int | None] = [sqlite3.SQLITE_BUSY_RECOVERY, sqlite3.SQLITE_BUSY, None, None, None]

    class Cursor:
        def execute(self, _statement: str) -> None:
            code = answers.pop(0)
            if code is not None:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = code
                raise error

        def close(self) -> None:
            pass

    _configure(SimpleNamespace(cursor=Cursor), foreign_keys=True)
    assert answers == []


def test_a_writer_excludes_others_from_its_beginning_on(url):
    database = Database(url)
    database.create()
    with database.write() as session:
        add_user(session, "ada", "reader", BEGIN)

    def count(_: int) -> None:
        for _ in range(10):
            with database.write() as session:
                user = session.scalars(select(User)).one()
                user.lab = str(int(user.lab or "0") + 1)

    at_once(6, count)
    assert stored(database, select(User.lab))[0] == "60"


def test_a_writer_that_has_not_said_anything_excludes_others_too(url):
    first, second = Database(url), Database(url)  # as two processes have
    first.create()
    with first.write(), pytest.raises(OperationalError, match="lock"), second.write(0.1):
        pass
    with second.write(0.1) as session:
        add_user(session, "ada", "reader", BEGIN)
    with first.read() as session:
        assert session.scalar(select(User.name)) == "ada"


def test_a_reader_sees_one_state_and_is_not_kept_waiting(url):
    database = Database(url)
    database.create()
    with database.read() as reading:
        assert reading.scalar(select(func.count()).select_from(User)) == 0
        with database.write() as session:
            add_user(session, "ada", "reader", BEGIN)
            assert reading.scalar(select(func.count()).select_from(User)) == 0
        assert reading.scalar(select(func.count()).select_from(User)) == 0
    with database.read() as reading:
        assert reading.scalar(select(User.name)) == "ada"


def test_writers_who_wait_for_their_turn_hold_no_connection(url):
    database = Database(url)
    database.create()
    number = 40
    came = threading.Barrier(number + 1)

    def write(one: int) -> None:
        came.wait()
        with database.write() as session:
            add_user(session, f"writer {one}", "reader", BEGIN)

    with ThreadPoolExecutor(number) as threads:
        with database.write() as session:
            add_user(session, "first", "reader", BEGIN)
            session.flush()
            waiting = [threads.submit(write, one) for one in range(number)]
            came.wait()
            with database.read() as reading:  # connections are fewer than the writers who wait
                assert reading.scalar(select(func.count()).select_from(User)) == 0
            assert database.engine.pool.checkedout() == 1
        for one in waiting:
            one.result()
    assert stored(database, select(func.count()).select_from(User))[0] == number + 1


def test_an_error_leaves_nothing(url):
    database = Database(url)
    database.create()

    def add_and_fail() -> None:
        with database.write() as session:
            add_user(session, "ada", "reader", BEGIN)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        add_and_fail()
    assert stored(database, select(func.count()).select_from(User))[0] == 0


def test_a_writer_that_is_killed_holds_nobody_up(url):
    database = Database(url)
    database.create()
    hold = "import sys, time; from mirflow.campaign.server.database import *; from sqlalchemy import text\n"
    hold += "with Database(sys.argv[1]).write() as session:\n"
    hold += "    session.execute(text('DELETE FROM version')); print('holds', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", hold, url], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holds\n"
        holder.kill()
    with database.write() as session:
        assert session.scalars(text("SELECT version_num FROM version")).all() == [revisions()[-1]]


def test_texts_of_any_length_large_numbers_and_times_are_kept(url):
    database = Database(url)
    database.create()
    text = "<b>\u00e9\u202e" * 1000
    with database.write() as session:
        user = add_user(session, "ada", "reader", BEGIN)
        user.lab = text
        session.add(
            Submission(
                user_id=user.id, team="", name="oak\0", key="oak", splits="dev", visibility="public", received=BEGIN,
                sent_digest="", size=2**40, rules="1", mirflow="0",
            )
        )  # fmt: skip
    with database.read() as session:
        one = session.scalars(select(Submission)).one()
        assert (one.user.lab, one.size, one.received, one.name) == (text, 2**40, BEGIN, "oak\ufffd")
        assert session.scalar(select(Submission).where(Submission.id == "\0")) is None


def test_each_submission_is_claimed_by_one_of_several_workers(kind, tmp_path):
    service = open_campaign(tmp_path, CAMPAIGN.replace("quota: 3", "quota: 100"))
    assert service.path is not None
    ids = [submit(service, f"system-{number}", estimates()) for number in range(8)]
    workers = [Worker(open_service([service.path]), f"worker:{number}") for number in range(4)]

    def claim_all(number: int) -> list[str]:
        claimed = []
        while (one := workers[number].claims.take()) is not None:
            # A worker claims one at a time; what it has would be its own again.
            with service.database.write() as session:
                session.execute(update(Submission).where(Submission.id == one.id).values(state="accepted"))
                session.execute(update(Submission).where(Submission.id == one.id).values(withdrawn=BEGIN))
            claimed.append(one.id)
        return claimed

    claimed = at_once(4, claim_all)
    assert Counter(one for own in claimed for one in own) == Counter(ids)
    # Each took the first that was left.
    assert all(own == sorted(own, key=ids.index) for own in claimed)


def test_of_two_at_the_same_moment_one_takes_a_name_and_the_last_of_a_quota(kind, tmp_path):
    service = open_campaign(tmp_path)

    def enter(number: int) -> str:
        try:
            return submit(service, ["oak", f"elm-{number}"][number % 2], estimates(), splits=["test"])
        except SubmissionError as error:
            return str(error)

    submit(service, "ash", estimates(), splits=["test"])
    told = at_once(8, enter)
    assert len([one for one in told if " " not in one]) == 2
    assert all("there is already a submission 'oak'" in one or "are used" in one for one in told if " " in one)
    names = stored(service.database, select(Submission.name))
    assert len(names) == len(set(names)) == 3


def test_a_judgement_that_is_sent_again_at_the_same_moment_is_kept_once(kind, tmp_path):
    service = open_service([make_campaign(tmp_path, audio=False)])
    database = service.database
    round_id = open_rounds(service)["similarity"].id
    with database.write() as session:
        user = add_user(session, "g", "grader", BEGIN)
        grader = Participation(round_id=round_id, user_id=user.id, seed=2**62, code=2**62, consent="", consented=BEGIN)
        pair = session.scalars(select(StoredPair).limit(1)).one()
        grader.assignments.append(StoredAssignment(pair_id=pair.id, page=1, place=0, made=BEGIN))
        session.add(grader)

    def judge(number: int) -> list[bool]:
        new = []
        for change in range(5):
            with database.write() as session:
                asked = session.scalars(select(StoredAssignment)).one()
                values = {"broad": "SS", "fine": change / 10}
                new.append(record(session, asked, JudgementChange("window", change, values), BEGIN))
        return new

    new = at_once(6, judge)
    assert sum(map(sum, new)) == 5
    with database.read() as session:
        kept = session.scalars(select(StoredJudgement).order_by(StoredJudgement.number)).all()
        assert [(one.number, one.values) for one in kept] == [(n, {"broad": "SS", "fine": n / 10}) for n in range(5)]
        asked = session.scalars(select(StoredAssignment)).one()
        assert (asked.broad, asked.fine) == ("SS", 0.4)


def test_addresses_that_are_none(server):
    for wrong in ("campaign.db", "postgresql+psycopg://ada:pass word@[::1/x"):
        with pytest.raises(DatabaseError, match="invalid URL of the database: expected a URL like postgresql") as told:
            Database(wrong)
        assert "pass word" not in str(told.value)
    with pytest.raises(DatabaseError, match="unsupported database mysql: use SQLite or PostgreSQL"):
        Database("mysql+pymysql://ada@localhost/chords")
    with pytest.raises(DatabaseError, match=r"unknown driver 'postgresql\+nothing'; use postgresql\+psycopg"):
        Database("postgresql+nothing://ada@localhost/chords")
    assert Database("postgresql://ada@localhost/chords").engine.driver == "psycopg"


def test_a_driver_that_is_not_installed_is_named(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseError, match=r"ada:\*\*\*@.* needs psycopg: pip install 'psycopg\[binary\]'"):
        Database("postgresql+psycopg://ada:secret@localhost/chords")


def test_a_server_that_cannot_be_reached_or_has_no_such_database(server):
    with pytest.raises(DatabaseError, match=r"cannot be opened: .*database .nothing. does not exist"):
        Database(server.replace("/postgres?", "/nothing?")).create()
    with pytest.raises(DatabaseError, match="cannot be opened: ") as told:
        Database("postgresql+psycopg://ada:secret@127.0.0.1:1/chords").create()
    assert "secret" not in str(told.value)


def test_a_writer_that_waits_too_long_is_told(server, monkeypatch):
    monkeypatch.setattr("mirflow.campaign.server.database.WAIT", 0.2)
    database = Database(new_database(server))
    database.create()
    with database.write() as first:
        add_user(first, "ada", "reader", BEGIN)
        with pytest.raises(SQLAlchemyError, match="lock timeout"), database.write() as second:
            add_user(second, "bea", "reader", BEGIN)
    with database.write() as session:
        assert session.scalars(text("SELECT version_num FROM version")).all() == [revisions()[-1]]


@pytest.mark.slow
def test_backups_of_postgresql_are_its_own(server, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, server)
    service = open_campaign(tmp_path / "old")
    id = submit(service, "oak", estimates())
    with pytest.raises(BackupError, match=r"keep the database by pg_dump .*then .*state by tar"):
        make_backup(service, tmp_path / "a.tar.gz")
    old, new = (make_url(one) for one in (service.database.engine.url, new_database(server)))
    where = ["--host", str(old.query["host"]), "--username", "postgres"]
    dump = [program("pg_dump"), *where, "--format", "custom", "--file", str(tmp_path / "dump"), str(old.database)]
    subprocess.run(dump, check=True)
    subprocess.run([program("pg_restore"), *where, "--dbname", str(new.database), str(tmp_path / "dump")], check=True)
    shutil.copytree(tmp_path / "old", tmp_path / "new", symlinks=True)
    path = tmp_path / "new" / "campaign.yaml"
    path.write_text(path.read_text().replace(str(old.database), str(new.database)))
    restored = open_service([path])
    worker = Worker(restored)
    with worker.jobs.confinement:
        work_off(worker)
    assert state(restored, id).state == "scored"
    assert state(service, id).state == "received"


def change_and_fail(database: Database) -> None:
    with database.write() as session:
        session.execute(update(User).values(lab="elm"))
        raise DatabaseError("not kept")


@pytest.mark.slow
def test_the_state_of_pages_changes_with_what_is_changed_and_seen(url):
    database, other = Database(url), Database(url)
    database.create()
    states = [other.page_state()]

    def changed() -> bool:
        """Whether another process sees a state that there never was."""
        states.append(other.page_state())
        assert database.page_state() == states[-1]
        return states[-1] not in states[:-1]

    with database.write() as session:
        ada = add_user(session, "ada", "reader", BEGIN)
        assert not changed()
    assert changed()
    with database.write() as session:
        session.merge(User(id=ada.id, role="submitter"))
    assert changed()
    with database.write() as session:
        session.execute(update(User).values(lab="oak"))
    assert changed()
    with database.write() as session:
        issue(session, ada, "token", BEGIN, None)  # which no page of results shows
        session.merge(WorkerReport(name="host:1:a", began=BEGIN, seen=BEGIN))
        assert session.scalars(select(User.name)).all() == ["ada"]
    assert not changed()
    with database.write():
        pass
    with pytest.raises(DatabaseError, match="not kept"):
        change_and_fail(database)
    assert not changed()
    with database.write() as session:
        session.delete(session.get_one(User, add_user(session, "bob", "reader", BEGIN).id))
    assert changed()
    other.close()
    database.close()
