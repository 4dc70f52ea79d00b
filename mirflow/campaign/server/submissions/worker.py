"""The worker: checks and scores submissions, releases their scores, and updates public copies.

Several workers check and score concurrently, but scores are released one by one in the order of arrival, on which the
ladder and the comparisons depend. All steps are idempotent: an interrupted step is started again, by this or another
worker, with the same result. A submission counts as scored from the transaction that writes its scores.

A worker first checks from the inside that the confinement of its jobs holds. A server restarts the workers that belong
to it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from queue import SimpleQueue

from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError

from ....errors import MirflowError, PipelineError, Problem
from ....store.generations import remove, target_of
from ...file import campaign_digest, split_root
from ..service import Service
from .confinement import Confinement, JobLimitError, JobRefusedError, StoppedError, SystemTroubleError, lacks
from .jobs import Claims, Jobs, check_confines, read_beside, references_of, reporting
from .releases import judge, release, rivals
from .submission_tables import PublicCopy, RulesVersion, Scored, Submission, Trouble
from .uploads import sweep

POLL = 0.5  # seconds between two looks for work
PATIENCE = 60.0  # longest pause in seconds between two attempts during system trouble
_PUBLISH = 10.0  # seconds after which public copies are checked even while other work is waiting
_TRIED = 50  # files of a folder that a process that reads submissions tries to open, to show that it cannot
_LOG = logging.getLogger("mirflow.worker")


class Worker:
    """A worker of a campaign. `name`: unique name of this worker; empty: host, process and a random part."""

    def __init__(self, service: Service, name: str = "") -> None:
        self.service = service
        self.claims = Claims(service, name)
        self.jobs = Jobs(self.claims)
        self.campaign, self.database, self.path = self.claims.campaign, self.claims.database, self.claims.path
        self._wait = 0.0
        self._troubled = True  # an earlier worker may have been
        self._looked = time.monotonic()  # when it was last looked whether public copies are up to date
        self.stop = self.claims.stopped.set  # returns the current claim, and ends :meth:`run`

    def run(self) -> None:
        """Work until stopped."""
        self.prepare()
        try:
            held, missing = demand_confinement(self.service, self.jobs.confinement)
            _LOG.info("worker %s started; checks are confined in %s", self.claims.name, ", ".join(held))
            for why in missing:
                _LOG.warning("checks are not fully confined: %s", why)

            with reporting(self.service, self.claims.name):
                while not self.claims.stopped.is_set():
                    try:
                        if not self.step():
                            self.claims.stopped.wait(POLL)
                        if self._troubled:
                            self._wait, self._troubled = 0.0, False
                            with self.database.write() as session:
                                session.execute(delete(Trouble))
                    except (MirflowError, OSError, SQLAlchemyError) as trouble:
                        self._wait, self._troubled = min(PATIENCE, 2 * self._wait or 1.0), True
                        _LOG.error("%s (next try in %g s)", trouble, self._wait)
                        try:
                            with self.database.write() as session:
                                row = session.get(Trouble, 1)
                                since = self.service.clock() if row is None else row.since
                                session.merge(Trouble(id=1, message=str(trouble)[:2000], since=since))
                        except (SQLAlchemyError, OSError) as error:
                            _LOG.error("cannot record the trouble: %s", error)
                        self.claims.stopped.wait(self._wait)
        finally:
            self.jobs.confinement.close()
            _LOG.info("worker %s has ended", self.claims.name)

    def prepare(self) -> None:
        """Record the evaluations of the campaign's rules, and remove leftovers of a killed server."""
        now = self.service.clock()
        evaluations = json.dumps(self.campaign.evaluation_values, sort_keys=True)
        with self.database.write() as session:
            row = session.get(RulesVersion, self.campaign.rules)
            if row is None:
                session.add(RulesVersion(version=self.campaign.rules, evaluations=evaluations, date=now))
            elif row.evaluations != evaluations:
                raise MirflowError(
                    f"{self.path}: the evaluations differ from those of {row.date:%Y-%m-%d} although the version "
                    f"of the rules is still {self.campaign.rules!r}: change the version, and rename evaluations that "
                    "score differently"
                )
            ids = frozenset(session.scalars(select(Submission.id)))
        sweep(self.service.folder_of("submissions"), ids)

    def step(self) -> bool:
        """Do one step: give up, release, check or score a submission, or publish; False if there is no work."""
        if campaign_digest(self.path) != self.jobs.file["digest"]:
            why = "was edited since the worker started: restart server and worker to apply the changes, "
            raise PipelineError([Problem("", f"{why}or restore the file")], self.path)
        # Publish from time to time even if the queue is never empty.
        if self._looked < time.monotonic() - _PUBLISH and self.publish():
            return True
        if self.claims.give_up():
            return True
        claimed = self.claims.take()
        if claimed is not None:
            act = {"checking": self.jobs.check, "scoring": self.jobs.score, "releasing": self.release}
            with self.claims.held(claimed):
                act[claimed.state](claimed)
            return True
        if self.lift() or self.publish() or self.rescore():
            return True
        if self.jobs.listed is None:
            self.jobs.references()  # shown to submitters on the form
        return False

    def release(self, row: Submission) -> None:
        """Release the scores of a submission once all earlier ones are released."""
        for split in self.jobs.left(row):
            outcome = self.jobs.outcome(row, split)
            if not outcome:  # the campaign file was edited, or a backup restored, meanwhile
                with self.claims.finishing(row) as (_, mine):
                    mine.state = "accepted"
                return
            if outcome["error"]:
                self.claims.fail(row, split, str(outcome["error"]))
                return
            if not self._release_split(row, split):
                return
        with self.claims.finishing(row) as (session, mine):
            mine.tries = 0
            self.claims.end(session, mine, "scored")
        remove(self.service.folder_of("submissions") / row.id)

    def _release_split(self, row: Submission, name: str) -> bool:
        split = self.campaign.splits[name]
        with self.database.read() as session:
            against = {
                evaluation: {relation: other.number for relation, other in rival.items()}
                for evaluation, rival in rivals(session, row, name).items()
            }
            names = {other.number: other.name for other in session.scalars(select(Submission))}
        store, scratch = self.service.folder_of("stores") / f"{name}.zarr", self.jobs.scratch(row)
        others = {key: [names[number] for number in rival.values()] for key, rival in against.items()}
        task = self.jobs.task(name, system=row.name, store=str(store), scratch=str(scratch), others=others)
        try:
            result = self.jobs.confinement.run("release", task, self.jobs.trusted, beat=lambda: self.claims.beat(row))
        except (JobLimitError, JobRefusedError) as error:
            self.claims.fail(row, name, str(error))
            return False
        except SystemTroubleError:
            # The scores may be based on different references than the others: compute them again.
            (scratch / f"{name}.json").unlink(missing_ok=True)
            raise
        with self.database.write() as session:
            mine, now = self.claims.claimed(session, row), self.service.clock()
            release(session, mine, name, split, result["values"], self.campaign.rules, now)
            session.flush()
            judge(session, mine, name, split, against, result["comparisons"])
        return True

    def rescore(self) -> bool:
        """Score one submission by newer rules; their metrics become new columns."""
        rules = self.campaign.rules
        with self.database.read() as session:
            older = Submission.state == "scored", Submission.withdrawn.is_(None), Submission.rules != rules
            rows = session.scalars(select(Submission).where(*older).order_by(Submission.number)).all()
            waiting = [
                (row, split)
                for row in rows
                for split in row.split_names
                if split in self.campaign.splits and session.get(Scored, (row.number, split, rules)) is None
            ]
        if not waiting:
            return False
        row, split = waiting[0]
        with self.claims.retaken(row) as taken:
            if taken:
                error = self.jobs.compute(row, split)
                if error:
                    self.claims.fail(row, split, error)
                else:
                    self._release_split(row, split)
                remove(self.service.folder_of("submissions") / row.id)
        return taken

    def lift(self) -> bool:
        """Publish submissions whose embargo has ended; False if there are none."""
        now, held = self.service.clock(), select(Submission).where(Submission.held)
        with self.database.read() as session:
            ended = [row.number for row in session.scalars(held) if not self.campaign.embargo(row.split_names, now)]
        if not ended:
            return False
        with self.database.write() as session:
            for row in session.scalars(held.where(Submission.number.in_(ended))):
                row.visibility, row.held = "public", False
                self.service.audit.record(self.claims.name, "end of embargo", submission=row.id, system=row.name)
        return True

    def publish(self) -> bool:
        """Update the public copy of one split, if the set of public systems has changed."""
        self._looked = time.monotonic()
        for name, split in self.campaign.splits.items():
            store = self.service.folder_of("stores") / f"{name}.zarr"
            target = target_of(store)
            if split.hidden or target is None:
                continue
            with self.database.read() as session:
                is_public = Submission.visibility == "public", Submission.disqualified == ""
                shown = select(Submission).where(Submission.state == "scored", *is_public).order_by(Submission.number)
                public = {row.name: row.marks for row in session.scalars(shown) if name in row.split_names}
                copied = session.get(PublicCopy, name)
            digest = hashlib.sha256(json.dumps([public, target.as_posix()]).encode()).hexdigest()
            if copied is not None and copied.digest == digest:
                continue
            systems, copy = self.service.folder_of("systems"), self.service.folder_of("public") / f"{name}.zarr"
            task = self.jobs.task(name, systems=str(systems), store=str(store), copy=str(copy), public=public)
            go_on = lambda: not self.claims.stopped.is_set()  # noqa: E731
            try:
                self.jobs.confinement.run("publish", task, self.jobs.trusted, beat=go_on)
            except StoppedError:
                return False
            except (JobLimitError, JobRefusedError) as error:
                raise SystemTroubleError(str(error)) from None
            with self.database.write() as session:
                session.merge(PublicCopy(split=name, digest=digest, date=self.service.clock()))
            return True
        return False


def demand_confinement(service: Service, confinement: Confinement) -> tuple[list[str], list[str]]:
    """Check the confinement of the processes that read submissions, from the inside.

    Returns: the restrictions in force, and what is missing.
    """
    campaign, database = service.demand_campaign()
    assert service.path is not None
    path = service.path.absolute()
    # What no process that reads submissions may open, each with words for it.
    secrets: list[tuple[str, Path]] = [("the campaign file", path)]
    for split in campaign.splits:
        secrets.append((f"the folder of split {split}", split_root(path, campaign, split)))
        for words, place in references_of(path, campaign, split):
            # Files may be links to elsewhere.
            inner = (Path(parent, name) for parent, _, names in os.walk(place) for name in names)
            secrets += [(words, place), *((words, file) for file in islice(inner, _TRIED))]
    if database.is_sqlite and database.engine.url.database:
        secrets.append(("the database", Path(database.engine.url.database)))
    folder = service.state_folder
    service.folder_of("submissions").mkdir(parents=True, exist_ok=True)
    secrets += [("the state of the campaign", file) for file in (folder, *sorted(folder.iterdir()))]
    with tempfile.TemporaryDirectory(dir=service.folder_of("submissions"), ignore_cleanup_errors=True) as upload:
        files = Path(upload, "files")
        files.mkdir()
        task = {"inside": str(files), "secrets": [[words, str(secret)] for words, secret in secrets]}
        beside = (file for split in campaign.splits for file in read_beside(path, campaign, split))
        confines = check_confines(campaign.limits, Path(upload), files, dict.fromkeys(beside))
        answer = confinement.run("hold", task, confines)
    held, missing = list(answer["held"]), lacks(answer["held"])
    required = f"{service.path}: limits.confinement is required, but"
    strict = campaign.limits.confinement == "required"
    if missing and strict:
        raise MirflowError(
            f"{required} this host does not support it: {'; '.join(missing)}. Use Linux 6.12 or newer with Landlock "
            "(docs/campaign.md), or write confinement: wanted"
        )
    if "folders" in held and answer["opened"]:
        held.remove("folders")
        words, secret, around = answer["opened"][0]
        others = f" and {len(answer['opened']) - 1} more" if len(answer["opened"]) > 1 else ""
        why = f"the processes that read submissions can open {words} ({secret}{others}), since Python loads packages"
        why += f" from {around}: move the campaign and its data out of that folder"
        if strict:
            raise MirflowError(f"{required} {why}, or write confinement: wanted")
        missing.append(why)
    return held, missing


def work(service: Service, *, attached: bool = False) -> None:
    """Process a campaign's submissions until a signal; the current claim is returned.

    `attached`: whether to end when standard input is closed, as happens when the parent process ends.
    """
    worker = Worker(service)
    signals: SimpleQueue[int] = SimpleQueue()

    def stop_after(wait: Callable[[], object]) -> None:
        wait()
        worker.stop()

    threading.Thread(target=stop_after, args=(signals.get,), daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            # Stop from another thread: the interrupted one may hold a lock that stopping needs.
            signal.signal(number, lambda number, _: signals.put(number))
    if attached:
        to_the_end = os.fdopen(0, "rb", 0, closefd=False).read
        threading.Thread(target=stop_after, args=(to_the_end,), daemon=True).start()
    worker.run()


@contextmanager
def attached_workers(path: str | Path, number: int = 1) -> Iterator[list[threading.Thread]]:
    """Worker processes of a server: they end with the block, and are restarted if they end before.

    Yields: the threads that watch over them.
    """
    command = [sys.executable, "-m", "mirflow", "serve", "worker", str(path), "--attached"]
    ending = threading.Event()

    def keep() -> None:
        wait = 1.0
        while not ending.is_set():
            began = time.monotonic()
            with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
                while process.poll() is None and not ending.wait(0.2):
                    pass
                assert process.stdin is not None
                process.stdin.close()
                if ending.is_set():
                    try:
                        process.wait(10)
                    except subprocess.TimeoutExpired:
                        process.kill()
                    return
            if process.returncode == 0:
                return  # it was asked to stop
            wait = 1.0 if time.monotonic() - began > PATIENCE else min(PATIENCE, 2 * wait)
            _LOG.error("the worker ended with status %s; restarting in %g s", process.returncode, wait)
            ending.wait(wait)

    threads = [threading.Thread(target=keep, daemon=True) for _ in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield threads
    finally:
        ending.set()
        for thread in threads:
            thread.join()
