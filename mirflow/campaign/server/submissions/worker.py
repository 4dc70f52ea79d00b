"""The worker: takes submissions, checks them, scores them, releases the scores, and publishes what is public.

Several workers check and score at the same time. Scores are released one by one in the order of arrival, on which the
ladder and the comparisons depend. All steps can be done twice: one that is killed at any moment is begun again, by this
worker or another one, and ends as if it had been done once. A submission counts as scored from the transaction on that
writes its scores.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue

from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError

from ....errors import MirflowError
from ....pipeline.document import read_document
from ...file import demand_unedited
from ..service import Service
from .claims import LEASE, Claims
from .confinement import Confinement, Confines, lacks
from .heartbeats import reporting
from .jobs import Jobs
from .publication import Publication
from .submission_tables import RulesVersion, Submission, Trouble
from .uploads import sweep

POLL = 0.5
"""Seconds between two looks for something to do."""
PATIENCE = 60.0
"""Longest time in seconds between two tries while something is wrong with the system."""
_LOG = logging.getLogger("mirflow.worker")


class Worker:
    """A worker of a campaign.

    Parameters
    ----------
    service : Service
        With a campaign and its database.
    name : str
        Of this worker, unlike those of others; empty: host, process and a random part.
    """

    def __init__(self, service: Service, name: str = "", lease: dt.timedelta = LEASE) -> None:
        self.service = service
        self.claims = Claims(service, name, lease)
        self.jobs = Jobs(self.claims)
        self.publication = Publication(self.claims, self.jobs)
        self.campaign, self.database, self.path = self.claims.campaign, self.claims.database, self.claims.path
        self._wait = 0.0
        self._troubled = True  # perhaps a worker before this one was

    def stop(self) -> None:
        """Give back what is being done, and end :meth:`run`."""
        self.claims.stopped.set()

    def run(self) -> None:
        """Work until stopped."""
        self.prepare()
        try:
            held = demand_confinement(self.service, self.jobs.confinement)
            _LOG.info("worker %s has begun; checks are confined in %s", self.claims.name, ", ".join(held))
            for why in lacks(held):
                _LOG.warning("checks are not confined as they should be: %s", why)

            with reporting(self.service, self.claims.name):
                self._work()
        finally:
            self.jobs.confinement.close()
            _LOG.info("worker %s has ended", self.claims.name)

    def _work(self) -> None:
        while not self.claims.stopped.is_set():
            try:
                if not self.step():
                    self.claims.stopped.wait(POLL)
                self._recover()
            except (MirflowError, OSError, SQLAlchemyError) as trouble:
                self._back_off(trouble)

    def work_off(self) -> int:
        """Do everything that there is to do now; returns the number of steps."""
        self.prepare()
        steps = 0
        while self.step():
            steps += 1
        return steps

    def prepare(self) -> None:
        """Keep what the rules of the campaign mean, and remove what a killed server has left."""
        now = self.service.clock()
        evaluations = json.dumps(read_document(self.path).data.get("evaluations", []), sort_keys=True)
        with self.database.write() as session:
            known = session.get(RulesVersion, self.campaign.rules)
            if known is None:
                session.add(RulesVersion(version=self.campaign.rules, evaluations=evaluations, date=now))
            elif known.evaluations != evaluations:
                raise MirflowError(
                    f"{self.path}: the evaluations are not those of {known.date:%Y-%m-%d}, but the rules still have "
                    f"the version {self.campaign.rules!r}: give them a new one, and name what is scored otherwise anew"
                )
            ids = frozenset(session.scalars(select(Submission.id)))
        sweep(self.service.submissions_folder, ids)

    def step(self) -> bool:
        """Do one thing: give up, release, check or score a submission, or publish; False if there is nothing to do."""
        demand_unedited(**self.jobs.file)
        # A queue that never ends does not keep what is scored from being seen.
        if self.publication.is_due and self.publication.publish():
            return True
        if self.claims.give_up():
            return True
        claimed = self.claims.take()
        if claimed is not None:
            act = {"checking": self.jobs.check, "scoring": self.jobs.score, "releasing": self.publication.release}
            with self.claims.held(claimed):
                act[claimed.state](claimed)
            return True
        if self.publication.lift() or self.jobs.read_earlier() or self.publication.publish():
            return True
        if self.publication.rescore() or self.publication.recall():
            return True
        if not self.jobs.knows_tracks:
            self.jobs.references()  # which submitters read on the form, before anything is sent
        return False

    # Troubles

    def _back_off(self, trouble: Exception) -> None:
        """Say what is wrong, and wait: longer each time."""
        self._wait, self._troubled = min(PATIENCE, 2 * self._wait or 1.0), True
        _LOG.error("%s (next try in %g s)", trouble, self._wait)
        try:
            with self.database.write() as session:
                known = session.get(Trouble, 1)
                since = self.service.clock() if known is None else known.since
                session.merge(Trouble(id=1, message=str(trouble)[:2000], since=since))
        except (SQLAlchemyError, OSError) as error:
            _LOG.error("the trouble cannot be kept: %s", error)
        self.claims.stopped.wait(self._wait)

    def _recover(self) -> None:
        if self._troubled:
            self._wait, self._troubled = 0.0, False
            with self.database.write() as session:
                session.execute(delete(Trouble))


def demand_confinement(service: Service, confinement: Confinement) -> list[str]:
    """Look what confines the processes that read what strangers send."""
    assert service.campaign is not None
    limits, folder = service.campaign.limits, str(service.submissions_folder)
    confines = Confines(limits.seconds, limits.memory, 10 * limits.size, writable=(folder,), readable=(folder,))
    held: list[str] = confinement.run("hold", {"inside": folder}, confines)["held"]
    missing = lacks(held)
    if missing and limits.confinement == "required":
        raise MirflowError(
            f"{service.path}: limits.confinement is required, and this host lacks it: {'; '.join(missing)}. "
            "Use Linux 6.12 or newer with Landlock (docs/submissions.md), or write confinement: wanted"
        )
    return held


def work(service: Service, *, attached: bool = False) -> None:
    """Work on a campaign's submissions until a signal ends it; what is being done is given back.

    Parameters
    ----------
    attached : bool
        Whether to end with the standard input, too, which is closed when the process that began this one ends.
    """
    worker = Worker(service)
    told: SimpleQueue[int] = SimpleQueue()
    threading.Thread(target=_stop_when_told, args=(worker, told), daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            # By another thread: the one that a signal interrupts may hold the lock that stopping needs.
            signal.signal(number, lambda number, _: told.put(number))
    if attached:
        threading.Thread(target=_stop_at_end, args=(worker,), daemon=True).start()
    worker.run()


def _stop_when_told(worker: Worker, told: SimpleQueue[int]) -> None:
    told.get()
    worker.stop()


def _stop_at_end(worker: Worker) -> None:
    while os.read(0, 1):
        pass
    worker.stop()


class AttachedWorkers:
    """Workers in processes beside the server's: they end with it, and are started again if they end before.

    Use it as a context manager.

    Parameters
    ----------
    path : path
        The campaign file.
    """

    def __init__(self, path: str | Path, number: int = 1) -> None:
        self._command = [sys.executable, "-m", "mirflow", "serve", "worker", str(path), "--attached"]
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._keep, daemon=True) for _ in range(number)]

    def __enter__(self) -> AttachedWorkers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _keep(self) -> None:
        wait = 1.0
        while not self._ending.is_set():
            began = time.monotonic()
            with subprocess.Popen(self._command, stdin=subprocess.PIPE) as process:
                while process.poll() is None and not self._ending.wait(0.2):
                    pass
                assert process.stdin is not None
                process.stdin.close()
                if self._ending.is_set():
                    _end(process)
                    return
            if process.returncode == 0:
                return  # somebody told it to end
            wait = 1.0 if time.monotonic() - began > PATIENCE else min(PATIENCE, 2 * wait)
            _LOG.error("the worker has ended with status %s; the next begins in %g s", process.returncode, wait)
            self._ending.wait(wait)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
