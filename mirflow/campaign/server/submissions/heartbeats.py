"""Heartbeats of workers: rows that show the server, perhaps on another host, that a worker is running."""

from __future__ import annotations

import datetime as dt
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import delete, func, select
from sqlalchemy.exc import SQLAlchemyError

from ..database import Database
from ..service import Service
from .submission_tables import WorkerReport

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


def last_report(database: Database) -> dt.datetime | None:
    """Return the time of the last report of any worker; None without reports."""
    with database.read() as session:
        return session.scalar(select(func.max(WorkerReport.seen)))
