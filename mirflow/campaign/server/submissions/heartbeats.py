"""Heartbeats of workers: rows that show the server, perhaps on another host, that a worker is running."""

from __future__ import annotations

import datetime as dt
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import delete, func, select
from sqlalchemy.exc import SQLAlchemyError

from ..database import Database
from ..service import Service
from .submission_tables import Submission, Trouble, WorkerReport

EVERY = 15.0
"""Seconds between two reports of a worker."""
FORGOTTEN = dt.timedelta(days=1)
"""Age at which the report of a worker is deleted."""
_WAIT = 1.0
_LOG = logging.getLogger("mirflow.worker")


@contextmanager
def reporting(service: Service, name: str, every: float = EVERY) -> Iterator[None]:
    """Report from a thread that a worker is running, until the block ends.

    Parameters
    ----------
    name : str
        Name of the worker.
    every : float
        Seconds between two reports.
    """
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


@dataclass(frozen=True, slots=True)
class WorkState:
    """The state of a campaign's workers."""

    reported: dt.datetime | None
    """Time of the last report of any worker; None without reports."""
    scoring: bool
    """Whether a worker is scoring a submission and renewing its claim."""
    troubled: dt.datetime | None
    """Time since which a worker cannot work, for example because the disk is full; None if all can."""


def work_state(database: Database, now: dt.datetime) -> WorkState:
    """Return the state of a campaign's workers, each with a separate connection."""
    claimed = select(Submission.number).where(Submission.state == "scoring", Submission.lease > now)
    with database.read() as session:
        reported = session.scalar(select(func.max(WorkerReport.seen)))
        scoring = session.scalar(claimed.limit(1)) is not None
        return WorkState(reported, scoring, session.scalar(select(func.min(Trouble.since))))


def last_report(database: Database) -> dt.datetime | None:
    """Return the time of the last report of any worker; None without reports."""
    with database.read() as session:
        return session.scalar(select(func.max(WorkerReport.seen)))
