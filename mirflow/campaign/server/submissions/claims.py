"""Claims of workers on submissions: leases by which each submission belongs to one worker at a time.

A claim is renewed while its worker lives. It is returned if a job is stopped or the system is in trouble, and ends with
the state that results from its job.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ....errors import MirflowError
from ....store.generations import is_alive, remove
from ...file import Campaign
from ..database import Database
from ..service import Service
from .confinement import JobError, StoppedError, SystemTroubleError
from .notifications import Event, announce
from .submission_tables import OPEN, Released, Scored, Submission, SubmissionProgress, WorkerReport

LEASE = dt.timedelta(seconds=30)
"""Time after which a claim that is not renewed expires."""
TRIES = 3
"""How often a job of a submission may end without a result."""
_BEFORE = {"checking": "received", "scoring": "accepted", "releasing": "computed"}
"""States to which an unfinished submission returns."""
_UNTOLD = "it could not be scored on {split}; the organiser finds the reason in the log"
_LOG = logging.getLogger("mirflow.worker")


class LostClaimError(MirflowError):
    """Another worker has claimed the submission."""


class Claims:
    """The claims of a worker. `name`: unique name of the worker; empty: host, process and a random part."""

    def __init__(self, service: Service, name: str = "", lease: dt.timedelta = LEASE) -> None:
        if service.campaign is None or service.database is None or service.path is None:
            raise MirflowError("a worker needs a campaign file, not stores")
        self.service = service
        self.campaign: Campaign = service.campaign
        self.database = service.database
        self.path = Path(os.path.abspath(service.path))  # noqa: PTH100 - like the other paths of a campaign, without resolving links
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self.lease = lease
        self.stopped = threading.Event()
        """Set when the worker has to return its current claim."""
        self._beaten = 0.0

    def take(self) -> Submission | None:
        """Claim the first open submission that can be released, else checked, else scored."""
        now = self.service.clock()
        with self.database.write() as session:
            for waiting, taken in (("computed", "releasing"), ("received", "checking"), ("accepted", "scoring")):
                opened = OPEN if taken == "releasing" else (waiting, taken)
                chosen = select(Submission).where(Submission.withdrawn.is_(None), Submission.state.in_(opened))
                for row in session.scalars(chosen.order_by(Submission.number)):
                    free = row.state == waiting or (row.state == taken and self._abandoned(row, now))
                    if not free and taken == "releasing":
                        break  # scores are released in the order of arrival
                    if not free:
                        continue
                    row.state, row.worker, row.lease = taken, self.name, now + self.lease
                    session.merge(
                        SubmissionProgress(submission_id=row.number, stage=taken, done=0, total=0, updated=now)
                    )
                    return row
        return None

    def give_up(self) -> bool:
        """End a submission that was withdrawn before scoring and remove its files; False if there is none."""
        now = self.service.clock()
        with self.database.read() as session:
            withdrawn = select(Submission).where(Submission.withdrawn.is_not(None), Submission.state.in_(OPEN))
            row = next((waiting for waiting in session.scalars(withdrawn) if self._abandoned(waiting, now)), None)
        if row is None:
            return False
        self._set_aside(row)  # no worker claims it any more, so this can safely run twice
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            mine.state, mine.finished, mine.worker, mine.lease = "withdrawn", now, "", None
            session.execute(delete(SubmissionProgress).where(SubmissionProgress.submission_id == row.number))
            self.service.audit.record(self.name, mine.state, submission=mine.id, system=mine.name)
        return True

    def _abandoned(self, row: Submission, now: dt.datetime) -> bool:
        if row.lease is None or row.lease <= now or row.worker == self.name:
            return True
        host, _, rest = row.worker.partition(":")
        pid = rest.partition(":")[0]
        return host == socket.gethostname() and pid.isdigit() and not is_alive(int(pid))

    @contextmanager
    def held(self, row: Submission) -> Iterator[None]:
        """Return a submission if the block ends without a result."""
        self._beaten = time.monotonic()
        try:
            yield
        except (StoppedError, SystemTroubleError, OSError, SQLAlchemyError):
            with self.database.write() as session:
                mine = session.get_one(Submission, row.number)
                if mine.worker == self.name and mine.state == row.state:
                    mine.state, mine.lease, mine.worker = _BEFORE.get(row.state, row.state), None, ""
            if not self.stopped.is_set():
                raise
        except LostClaimError:
            _LOG.warning("submission %s was claimed by another worker", row.id)
        except JobError as error:
            self._count_try(row, error)
        except Exception:
            _LOG.exception("submission %s", row.id)
            self._count_try(row, JobError("internal error of the server"))

    @contextmanager
    def retaken(self, row: Submission) -> Iterator[bool]:
        """Claim a scored submission exclusively; False if another worker has it."""
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            free = not mine.worker or self._abandoned(mine, self.service.clock())
            if free:
                mine.worker, mine.lease = self.name, self.service.clock() + self.lease
        if not free:
            yield False
            return
        row.worker = self.name
        with self.held(row):
            yield True
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker == self.name:
                mine.worker, mine.lease = "", None

    def _count_try(self, row: Submission, error: JobError) -> None:
        """Handle a job that ended without a result: retry a few times, since it may have been killed by chance."""
        _LOG.warning("submission %s: %s", row.id, error)
        if row.state == "scored":  # by earlier rules, which stays valid
            return
        last = row.tries + 1 >= TRIES
        with self.finishing(row) as (session, mine):
            mine.tries = row.tries + 1
            mine.state = _BEFORE[row.state]
            if last:
                event: Event = "refused" if row.state == "checking" else "failed"
                mine.state, mine.reason, mine.finished = event, f"it {error}", self.service.clock()
                announce(session, self.campaign, mine, event, mine.finished)
                self.service.audit.record(self.name, mine.state, submission=mine.id, system=mine.name)
        if last:
            self._set_aside(row)

    def beat(self, row: Submission) -> bool:
        """Renew the claim from time to time; False if the worker has to stop."""
        if time.monotonic() - self._beaten > self.lease.total_seconds() / 5:
            self._beaten = time.monotonic()
            with self.database.write() as session:
                mine = session.get_one(Submission, row.number)
                if mine.worker != self.name or mine.state != row.state:
                    raise LostClaimError(row.id)
                mine.lease = self.service.clock() + self.lease
        return not self.stopped.is_set()

    @contextmanager
    def finishing(self, row: Submission) -> Iterator[tuple[Session, Submission]]:
        """A transaction that ends a step, if this worker still holds the claim."""
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker != self.name or mine.state != row.state:
                raise LostClaimError(row.id)
            mine.worker, mine.lease = "", None
            yield session, mine
            if mine.state not in _BEFORE:
                session.execute(delete(SubmissionProgress).where(SubmissionProgress.submission_id == row.number))

    def progress(self, row: Submission) -> Callable[[Mapping[str, Any]], None]:
        """Return a function that writes the progress of a job, at most twice a second."""
        last = 0.0

        def write(message: Mapping[str, Any]) -> None:
            nonlocal last
            if time.monotonic() - last < 0.5:
                return
            last = time.monotonic()
            done, total = (int(message.get(key, 0)) for key in ("progress", "total"))
            with self.database.write() as session:
                now = self.service.clock()
                session.merge(
                    SubmissionProgress(submission_id=row.number, stage=row.state, done=done, total=total, updated=now)
                )

        return write

    def fail(self, row: Submission, name: str, error: str) -> None:
        """Record that a submission cannot be scored; without the reason if a reference may be quoted."""
        split = self.campaign.splits[name]
        _LOG.warning("submission %s cannot be scored on %s: %s", row.id, name, error)
        if row.state == "scored":  # by earlier rules, which stays valid
            with self.database.write() as session:
                session.add(
                    Scored(submission_id=row.number, split=name, rules=self.campaign.rules, date=self.service.clock())
                )
            return
        with self.finishing(row) as (session, mine):
            mine.state, mine.finished = "failed", self.service.clock()
            mine.reason = _UNTOLD.format(split=name) if split.hidden else f"{name}: {error}"
            announce(session, self.campaign, mine, "failed", mine.finished)
            self.service.audit.record(self.name, "failed", submission=mine.id, system=mine.name)
        self._set_aside(row)

    def _set_aside(self, row: Submission) -> None:
        """Remove the files of an unscored submission, unless it has scores on some split."""
        remove(self.service.folder_of("submissions") / row.id)
        with self.database.read() as session:
            scored = set(session.scalars(select(Submission.name).join(Released)))
        if row.name not in scored:
            remove(self.service.folder_of("systems") / row.name)
            remove(self.service.folder_of("readings") / row.name)


EVERY = 15.0
"""Seconds between two reports of a worker."""
FORGOTTEN = dt.timedelta(days=1)
"""Age at which the report of a worker is deleted."""
_WAIT = 1.0


@contextmanager
def reporting(service: Service, name: str, every: float = EVERY) -> Iterator[None]:
    """Report from a thread that a worker is running, until the block ends. `every`: seconds between two reports."""
    assert service.database is not None
    database, began, ended = service.database, service.clock(), threading.Event()

    def report() -> None:
        while True:
            now = service.clock()
            try:
                with database.write(_WAIT) as session:
                    session.merge(WorkerReport(name=name, began=began, seen=now))
                    session.execute(delete(WorkerReport).where(WorkerReport.seen < now - FORGOTTEN))
            except (SQLAlchemyError, OSError) as error:
                _LOG.warning("worker %s cannot report: %s", name, getattr(error, "orig", None) or error)
            if ended.wait(every):
                return

    thread = threading.Thread(target=report, name="reports", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def last_report(database: Database) -> dt.datetime | None:
    """Return the time of the last report of any worker; None without reports."""
    with database.read() as session:
        return session.scalar(select(func.max(WorkerReport.seen)))
