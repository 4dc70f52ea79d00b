"""Monitoring of a server: health of database, disk and worker, and metrics for Prometheus."""

from __future__ import annotations

import datetime as dt
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from .service import Service
from .submissions.claims import last_report
from .submissions.notifications import counts
from .submissions.submission_tables import OPEN, Submission, Trouble, WorkerReport

SILENT = dt.timedelta(minutes=5)
"""Time without a report after which a worker counts as stopped."""
CHECKED = 5.0
"""Seconds for which the result of a health check is reused."""
_WAIT = 1.0


class Monitoring:
    """Health of a server, and counts of its requests."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._began = service.clock()
        self._lock = threading.Lock()
        self._health: tuple[float, tuple[bool, dict[str, Any]]] | None = None
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "mirflow_requests", "Requests by class of status.", ["status"], registry=self._registry
        )
        self._registry.register(_Figures(service))

    def count(self, status: int | None) -> None:
        """Count a request by the status of its response; None without a response."""
        self._requests.labels("none" if status is None else f"{status // 100}xx").inc()

    def metrics(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)

    def idle(self) -> str:
        """Return a notice for submitters and organisers if no worker has reported for some time; else empty."""
        campaign, database = self._service.campaign, self._service.database
        if campaign is None or database is None or not campaign.evaluations:
            return ""
        last = last_report(database)
        # A worker that starts with the server gets as much time as a silent one.
        silent = self._service.clock() - max(self._began, last or self._began)
        if silent < SILENT:
            return ""
        minutes = int(silent.total_seconds() // 60)
        return (
            f"No worker has reported for {minutes} min: submissions are queued until an organiser starts one "
            "(mirflow serve worker)."
        )

    def health(self) -> tuple[bool, dict[str, Any]]:
        """Return whether all parts of the server work, and the state of each; checked every few seconds at most."""
        with self._lock:
            if self._health is None or time.monotonic() - self._health[0] > CHECKED:
                self._health = time.monotonic(), self._check()
            return self._health[1]

    def _check(self) -> tuple[bool, dict[str, Any]]:
        service, parts = self._service, dict[str, dict[str, Any]]()
        if service.database is not None:
            try:
                with service.database.write(_WAIT) as session:
                    session.connection()  # begins the transaction
                parts["database"] = {"ok": True}
            except (SQLAlchemyError, OSError):
                parts["database"] = {"ok": False}
        if service.campaign is not None and service.folder is not None:
            try:
                free = shutil.disk_usage(service.folder).free
                # Room to unpack one submission.
                parts["disk"] = {"ok": free > 10 * service.campaign.limits.size, "free_bytes": free}
            except OSError:
                parts["disk"] = {"ok": False}
        if service.campaign is not None and service.campaign.evaluations and service.database is not None:
            try:
                now = service.clock()
                claimed = select(Submission.number).where(Submission.state == "scoring", Submission.lease > now)
                with service.database.read() as session:
                    reported = session.scalar(select(func.max(WorkerReport.seen)))
                    scoring = session.scalar(claimed.limit(1)) is not None
                    troubled = session.scalar(select(func.min(Trouble.since)))
                parts["worker"] = {
                    "ok": not self.idle(),
                    "seconds_since_report": _age(reported, now),
                    "scoring": scoring,
                    "seconds_in_trouble": _age(troubled, now),
                }
            except (SQLAlchemyError, OSError):
                parts["worker"] = {"ok": False}
        fine = all(part["ok"] for part in parts.values())
        return fine, {"ok": fine, **parts}


def _age(time: dt.datetime | None, now: dt.datetime) -> float | None:
    return None if time is None else max(0.0, (now - time).total_seconds())


class _Figures(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> list[Metric]:
        """Return nothing, so that the database is only read on request."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield metrics of queue, worker and disk."""
        service = self._service
        if service.folder is not None:
            free = shutil.disk_usage(service.folder).free
            yield GaugeMetricFamily("mirflow_disk_free_bytes", "Free space on the disk of the campaign.", free)
        if service.database is None:
            return
        now = service.clock()
        count = GaugeMetricFamily("mirflow_submissions", "Unfinished submissions.", labels=["state"])
        oldest = GaugeMetricFamily(
            "mirflow_submission_age_seconds", "Age of the oldest unfinished submission.", labels=["state"]
        )
        with service.database.read() as session:
            waiting = session.execute(
                select(Submission.state, func.count(), func.min(Submission.received))
                .where(Submission.state.in_(OPEN), Submission.withdrawn.is_(None))
                .group_by(Submission.state)
            )
            queued = {state: (number, first) for state, number, first in waiting}
            messages = counts(session)
        for state in OPEN:
            number, first = queued.get(state, (0, now))
            count.add_metric([state], number)
            oldest.add_metric([state], (now - first).total_seconds())
        yield count
        yield oldest
        notifications = GaugeMetricFamily(
            "mirflow_notifications", "Notifications of the last days.", labels=["channel", "state"]
        )
        for (channel, name), number in messages.items():
            notifications.add_metric([channel, name], number)
        yield notifications
        last = last_report(service.database)
        if last is not None:
            age = (now - last).total_seconds()
            yield GaugeMetricFamily("mirflow_worker_report_age_seconds", "Time since the last report of a worker.", age)
