"""The worker: takes submissions in the order of their arrival, checks them, scores them, and publishes what is public.

All its steps can be done twice: one that is killed at any moment is begun again, by this worker or another one, and
ends as if it had been done once. A submission counts as scored from the transaction on that writes its scores.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from sqlalchemy import delete, func, or_, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ...errors import MirflowError
from ...pipeline.campaign import Campaign, Split, campaign_digest, demand_unedited, plugin_addresses, split_root
from ...pipeline.document import read_document
from ...store.generations import is_alive, remove, sync_folder
from ..service import Service
from .checking import CheckAnswer, reading_options
from .confinement import (
    Confinement,
    Confines,
    JobError,
    JobMemoryError,
    JobRefusedError,
    JobTimeoutError,
    StoppedError,
    SystemTroubleError,
)
from .releases import judge, release, rivals
from .submission_tables import (
    OPEN,
    PublicCopy,
    Released,
    RulesVersion,
    Scored,
    Submission,
    SubmissionFinding,
    SubmissionProgress,
    Trouble,
)
from .uploads import NAMES, RECEIVED, sweep

LEASE = dt.timedelta(seconds=30)
"""How long a submission belongs to a worker that does not renew its claim."""
POLL = 0.5
"""Seconds between two looks for something to do."""
TRIES = 3
"""How often a job of a submission may end without a result."""
PATIENCE = 60.0
"""Longest time in seconds between two tries while something is wrong with the system."""
_SCORING = 10
"""Times the seconds of a check that scoring may take on a split."""
_PUBLISH = 10.0
"""Seconds after which public copies are looked at while there is other work."""
_LOG = logging.getLogger("mirflow.worker")
_BEFORE = {"checking": "received", "scoring": "accepted"}
"""States that a submission goes back to."""
_UNTOLD = "it could not be scored on {split}; the organiser finds the reason in the log"
_TRACKS_FOR = 300.0
"""Seconds for which lists of tracks are believed."""


class LostClaimError(MirflowError):
    """Another worker has taken the submission."""


class Worker:
    """A worker of a campaign.

    Parameters
    ----------
    service : Service
        With a campaign and its database.
    name : str
        Of this worker, unlike those of others; empty: host, process and a random part.
    lease : timedelta
    """

    def __init__(self, service: Service, name: str = "", lease: dt.timedelta = LEASE) -> None:
        if service.campaign is None or service.database is None or service.path is None:
            raise MirflowError("a worker needs a campaign file; stores alone have no submissions")
        self.service = service
        self.campaign: Campaign = service.campaign
        self.database = service.database
        self.path = Path(os.path.abspath(service.path))  # noqa: PTH100 - as the other paths of a campaign, without links
        self._file = {"path": str(self.path), "digest": campaign_digest(self.path)}
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self.lease = lease
        plugins = plugin_addresses(self.path, self.campaign)
        tasks = dict.fromkeys(one.task for one in self.campaign.evaluations)
        self.confinement = Confinement(tasks, plugins=plugins)
        self._stopped = threading.Event()
        self._tracks: tuple[float, dict[str, Any]] | None = None
        self._wait = 0.0
        self._troubled = True  # perhaps a worker before this one was
        self._beaten = 0.0
        self._looked = time.monotonic()

    def stop(self) -> None:
        """Give back what is being done, and end :meth:`run`."""
        self._stopped.set()

    def run(self) -> None:
        """Work until stopped."""
        self.prepare()
        limits = self.campaign.limits
        folder = str(self.service.submissions_folder)
        confines = Confines(limits.seconds, limits.memory, 10 * limits.size, writable=(folder,), readable=(folder,))
        held = self.confinement.run("hold", {"inside": folder}, confines)["held"]
        _LOG.info("worker %s has begun; checks are confined in %s", self.name, ", ".join(held))
        try:
            while not self._stopped.is_set():
                try:
                    if not self.step():
                        self._stopped.wait(POLL)
                    self._recover()
                except (MirflowError, OSError, SQLAlchemyError) as trouble:
                    self._back_off(trouble)
        finally:
            self.confinement.close()
            _LOG.info("worker %s has ended", self.name)

    def work_off(self) -> int:
        """Do everything that there is to do now; returns the number of steps."""
        self.prepare()
        steps = 0
        while self.step():
            steps += 1
        return steps

    def prepare(self) -> None:
        """Keep what the rules of the campaign mean, and remove what a killed server has left.

        Raises
        ------
        MirflowError
            If the evaluations changed while the version of the rules did not.
        """
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
        """Do one thing: give up a submission, check one, score one, or publish; False where there is nothing to do."""
        demand_unedited(**self._file)
        # A queue that never ends does not keep what is scored from being seen.
        if time.monotonic() - self._looked > _PUBLISH and self._publish():
            return True
        if self._give_up():
            return True
        claimed = self._claim()
        if claimed is not None:
            with self._claimed(claimed):
                (self._check if claimed.state == "checking" else self._score)(claimed)
            return True
        return self._publish() or self._rescore()

    # Claims

    def _claim(self) -> Submission | None:
        """Take the first submission that is to be checked, else the first that is to be scored."""
        now = self.service.clock()
        with self.database.write() as session:
            for waiting, taken in (("received", "checking"), ("accepted", "scoring")):
                rows = session.scalars(
                    select(Submission)
                    .where(
                        Submission.withdrawn.is_(None),
                        or_(Submission.state == waiting, Submission.state == taken),
                    )
                    .order_by(Submission.number)
                )
                unchecked = select(func.min(Submission.number)).where(
                    Submission.withdrawn.is_(None), Submission.state.in_(("received", "checking"))
                )
                first = session.scalar(unchecked) if taken == "scoring" else None
                for row in rows:
                    busy = row.state == taken and not self._abandoned(row, now)
                    # Scores are released in the order of arrival.
                    if taken == "scoring" and (busy or (first is not None and first < row.number)):
                        break
                    if busy:
                        continue
                    row.state, row.worker, row.lease = taken, self.name, now + self.lease
                    session.merge(
                        SubmissionProgress(submission_id=row.number, stage=taken, done=0, total=0, updated=now)
                    )
                    return row
        return None

    def _give_up(self) -> bool:
        """End a submission that was withdrawn before it was scored, and remove what was sent; False: there is none."""
        now = self.service.clock()
        with self.database.read() as session:
            withdrawn = select(Submission).where(Submission.withdrawn.is_not(None), Submission.state.in_(OPEN))
            row = next((one for one in session.scalars(withdrawn) if self._abandoned(one, now)), None)
        if row is None:
            return False
        self._set_aside(row)  # nobody takes it any more, so that this can be done twice
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            mine.state, mine.finished, mine.worker, mine.lease = "withdrawn", now, "", None
            session.execute(delete(SubmissionProgress).where(SubmissionProgress.submission_id == row.number))
            self.service.audit.record(self.name, mine.state, submission=mine.id, system=mine.name)
        return True

    def _abandoned(self, row: Submission, now: dt.datetime) -> bool:
        """True if the worker of a submission is gone."""
        if row.lease is None or row.lease <= now or row.worker == self.name:
            return True
        host, _, rest = row.worker.partition(":")
        pid = rest.partition(":")[0]
        return host == socket.gethostname() and pid.isdigit() and not is_alive(int(pid))

    @contextmanager
    def _claimed(self, row: Submission) -> Iterator[None]:
        """Give a submission back where nothing came of it."""
        self._beaten = time.monotonic()
        try:
            yield
        except (StoppedError, SystemTroubleError, OSError, SQLAlchemyError):
            with self.database.write() as session:
                mine = session.get_one(Submission, row.number)
                if mine.worker == self.name and mine.state == row.state:
                    mine.state, mine.lease, mine.worker = _BEFORE.get(row.state, row.state), None, ""
            if not self._stopped.is_set():
                raise
        except LostClaimError:
            _LOG.warning("submission %s was taken by another worker", row.id)
        except JobError as error:
            self._count_try(row, error)
        except Exception:
            _LOG.exception("submission %s", row.id)
            self._count_try(row, JobError("met an error of the server's own"))

    def _count_try(self, row: Submission, error: JobError) -> None:
        """A job ended without a result: try again a few times, as it may have been killed by chance."""
        _LOG.warning("submission %s: %s", row.id, error)
        if row.state == "scored":  # by earlier rules, and it stays so
            return
        last = row.tries + 1 >= TRIES
        with self._finishing(row) as (_, mine):
            mine.tries = row.tries + 1
            mine.state = _BEFORE[row.state]
            if last:
                mine.state = "refused" if row.state == "checking" else "failed"
                mine.reason, mine.finished = f"it {error}", self.service.clock()
                self.service.audit.record(self.name, mine.state, submission=mine.id, system=mine.name)
        if last:
            self._set_aside(row)

    def _beat(self, row: Submission) -> bool:
        """Renew the claim now and then; False where the worker has to stop."""
        if time.monotonic() - self._beaten > self.lease.total_seconds() / 5:
            self._beaten = time.monotonic()
            with self.database.write() as session:
                mine = session.get_one(Submission, row.number)
                if mine.worker != self.name or mine.state != row.state:
                    raise LostClaimError(row.id)
                mine.lease = self.service.clock() + self.lease
        return not self._stopped.is_set()

    @contextmanager
    def _finishing(self, row: Submission) -> Iterator[tuple[Session, Submission]]:
        """A transaction that ends a step, if the submission is still this worker's."""
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker != self.name or mine.state != row.state:
                raise LostClaimError(row.id)
            mine.worker, mine.lease = "", None
            yield session, mine
            if mine.state not in ("checking", "scoring"):
                session.execute(delete(SubmissionProgress).where(SubmissionProgress.submission_id == row.number))

    def _progress(self, row: Submission) -> Callable[[Mapping[str, Any]], None]:
        """Write how far a job is, twice a second at most."""
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

    # Checks

    def tracks(self) -> dict[str, Any]:
        """By split and evaluation the places of the references, as this host sees them."""
        if self._tracks is None or time.monotonic() - self._tracks[0] > _TRACKS_FOR:
            task = {**self._file, "splits": list(self.campaign.splits)}
            found = self.confinement.run("tracks", task, self._trusted())
            self._tracks = time.monotonic(), found["places"]
        return self._tracks[1]

    def _trusted(self) -> Confines:
        """Confines of jobs that read what the organiser has, and may ask a cluster."""
        seconds = _SCORING * self.campaign.limits.seconds
        return Confines(seconds, files=4096, network=True, alone=False, environment=dict(os.environ))

    def _check(self, row: Submission) -> None:
        place = self.service.submissions_folder / row.id
        files = place / "files"
        if not (place / NAMES).is_file():
            self._note_check(row, _nothing("what was sent is gone: send it again"), place)
            return
        remove(files)
        files.mkdir()
        names = json.loads((place / NAMES).read_text())
        sent = [[name, str(place / RECEIVED / f"{number:06d}")] for number, name in enumerate(names)]
        limits = self.campaign.limits
        task = {
            "sent": sent,
            "out": str(files),
            "limits": limits.model_dump(),
            "evaluations": read_document(self.path).data["evaluations"],
            "root": str(split_root(self.path, self.campaign, row.split_names[0])),
            "expected": self._expected(row),
        }
        confines = Confines(
            limits.seconds,
            memory=limits.memory,
            file_size=10 * limits.size,
            writable=(str(files),),
            readable=(str(place), *self._read_beside(row)),
        )
        try:
            answer = self.confinement.run("check", task, confines, self._progress(row), lambda: self._beat(row))
            found = CheckAnswer.of(answer)
        except (JobTimeoutError, JobMemoryError) as error:
            found = _nothing(f"the check {error}")
        except JobRefusedError as error:
            found = _nothing(str(error).replace(f"{files}/", ""))
        self._note_check(row, found, place)

    def _expected(self, row: Submission) -> list[dict[str, Any]]:
        named = {one.name: one.tracks is not None for one in self.campaign.evaluations}
        return [
            {
                "split": split,
                "evaluation": name,
                "places": places,
                "asked": split in row.split_names,
                "hidden": self.campaign.splits[split].hidden,
                "named": named[name] or not self.campaign.splits[split].hidden,
            }
            for split, found in self.tracks().items()
            for name, places in found.items()
        ]

    def _read_beside(self, row: Submission) -> Iterator[str]:
        """Files of classes and of maps of labels, which checks read."""
        root = split_root(self.path, self.campaign, row.split_names[0])
        for one in self.campaign.evaluations:
            labels = reading_options(one, str(root)).get("labels")
            if labels is not None:
                yield str(labels)
            if one.classes is not None and one.classes.path is not None:
                yield str(root / one.classes.path)

    def _note_check(self, row: Submission, found: CheckAnswer, place: Path) -> None:
        refused = found.errors > 0
        with self._finishing(row) as (session, mine):
            session.execute(delete(SubmissionFinding).where(SubmissionFinding.submission_id == row.number))
            for path, line, severity, rule, message in found.findings:
                session.add(
                    SubmissionFinding(
                        submission_id=row.number, path=path, line=line, severity=severity, rule=rule, message=message
                    )
                )
            mine.digest, mine.files = found.digest, found.files
            mine.errors, mine.warnings, mine.notes = found.errors, found.warnings, found.notes
            mine.tries = 0
            mine.state = "refused" if refused else "accepted"
            if refused:
                mine.reason, mine.finished = _refusal(mine.errors), self.service.clock()
            else:
                # The name is this submission's alone: what lies there is of a try that was killed. What was received
                # goes only after this is committed.
                target = self.service.systems_folder / row.name
                remove(target)
                (place / "files").rename(target)
                sync_folder(target.parent)
            self.service.audit.record(self.name, mine.state, submission=mine.id, system=mine.name, digest=mine.digest)
        remove(place)

    # Scores

    def _score(self, row: Submission) -> None:
        for split in row.split_names:
            with self.database.read() as session:
                done = session.get(Scored, (row.number, split, self.campaign.rules)) is not None
            if not done and not self._score_split(row, split):
                return
        with self._finishing(row) as (_, mine):
            mine.state, mine.finished, mine.tries = "scored", self.service.clock(), 0
            self.service.audit.record(self.name, "scored", submission=mine.id, system=mine.name)

    def _score_split(self, row: Submission, name: str) -> bool:
        """Score a submission on a split, and release its scores; False if it cannot be scored."""
        split = self.campaign.splits.get(name)
        if split is None:
            return True  # of earlier rules
        with self.database.read() as session:
            against = {
                evaluation: {relation: other.number for relation, other in found.items()}
                for evaluation, found in rivals(session, row, name).items()
            }
            names = {one.number: one.name for one in session.scalars(select(Submission))}
        task = {
            **self._file,
            "split": name,
            "system": row.name,
            "systems": str(self.service.systems_folder),
            "store": str(self.service.stores_folder / f"{name}.zarr"),
            "scratch": str(self.service.submissions_folder / row.id / "scoring"),
            "others": {one: [names[number] for number in found.values()] for one, found in against.items()},
        }
        # How long each track takes depends on its reference.
        progress = None if split.hidden else self._progress(row)
        try:
            result = self.confinement.run("score", task, self._trusted(), progress, lambda: self._beat(row))
        except (JobTimeoutError, JobMemoryError, JobRefusedError) as error:
            self._fail(row, name, split, error)
            return False
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker != self.name or mine.state != row.state:
                raise LostClaimError(row.id)
            now = self.service.clock()
            release(session, mine, name, split, result["values"], self.campaign.rules, now)
            session.flush()
            judge(session, mine, name, split, against, result["comparisons"])
        remove(self.service.submissions_folder / row.id)
        _LOG.info("submission %s: %s: cells computed: %s", row.id, name, result["cells"])
        return True

    def _fail(self, row: Submission, name: str, split: Split, error: JobError) -> None:
        """Note that a submission cannot be scored; of a hidden split not why, as that may quote a reference."""
        _LOG.warning("submission %s cannot be scored on %s: %s", row.id, name, error)
        if row.state == "scored":  # by earlier rules, and it stays so
            with self.database.write() as session:
                session.add(
                    Scored(submission_id=row.number, split=name, rules=self.campaign.rules, date=self.service.clock())
                )
            return
        with self._finishing(row) as (_, mine):
            mine.state, mine.finished = "failed", self.service.clock()
            mine.reason = _UNTOLD.format(split=name) if split.hidden else f"{name}: {error}"
            self.service.audit.record(self.name, "failed", submission=mine.id, system=mine.name)
        self._set_aside(row)

    def _set_aside(self, row: Submission) -> None:
        """Remove the files of a submission that is not scored, unless scores of some split are kept."""
        remove(self.service.submissions_folder / row.id)
        if row.name not in self._in_stores():
            remove(self.service.systems_folder / row.name)

    def _in_stores(self) -> frozenset[str]:
        with self.database.read() as session:
            return frozenset(session.scalars(select(Submission.name).join(Released)))

    def _rescore(self) -> bool:
        """Score one submission by rules that are newer than its own: their metrics are new columns."""
        rules = self.campaign.rules
        with self.database.read() as session:
            rows = session.scalars(
                select(Submission)
                .where(Submission.state == "scored", Submission.withdrawn.is_(None), Submission.rules != rules)
                .order_by(Submission.number)
            ).all()
            waiting = [
                (row, split)
                for row in rows
                for split in row.split_names
                if split in self.campaign.splits and session.get(Scored, (row.number, split, rules)) is None
            ]
        if not waiting:
            return False
        row, split = waiting[0]
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker and not self._abandoned(mine, self.service.clock()):
                return False
            mine.worker, mine.lease = self.name, self.service.clock() + self.lease
        row.worker = self.name
        with self._claimed(row):
            self._score_split(row, split)
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker == self.name:
                mine.worker, mine.lease = "", None
        return True

    # Public copies

    def _publish(self) -> bool:
        """Make the public copy of one split again, if what is public has changed."""
        self._looked = time.monotonic()
        for name, split in self.campaign.splits.items():
            store = self.service.stores_folder / f"{name}.zarr"
            if split.hidden or not store.is_symlink():
                continue
            with self.database.read() as session:
                public = {
                    one.name: one.marks
                    for one in session.scalars(
                        select(Submission)
                        .where(Submission.state == "scored", Submission.visibility == "public")
                        .order_by(Submission.number)
                    )
                    if name in one.split_names
                }
                known = session.get(PublicCopy, name)
            made_of = json.dumps([public, os.readlink(store)])  # noqa: PTH115 - the text of the link
            digest = hashlib.sha256(made_of.encode()).hexdigest()
            if known is not None and known.digest == digest:
                continue
            task = {
                **self._file,
                "split": name,
                "systems": str(self.service.systems_folder),
                "store": str(store),
                "copy": str(self.service.public_folder / f"{name}.zarr"),
                "public": public,
            }
            try:
                self.confinement.run("publish", task, self._trusted(), beat=lambda: not self._stopped.is_set())
            except StoppedError:
                return False
            except (JobTimeoutError, JobMemoryError, JobRefusedError) as error:
                raise SystemTroubleError(str(error)) from None
            with self.database.write() as session:
                session.merge(PublicCopy(split=name, digest=digest, date=self.service.clock()))
            return True
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
        self._stopped.wait(self._wait)

    def _recover(self) -> None:
        if self._troubled:
            self._wait, self._troubled = 0.0, False
            with self.database.write() as session:
                session.execute(delete(Trouble))


def _nothing(message: str) -> CheckAnswer:
    return CheckAnswer(0, "", [("", None, "error", "archive", message[:1000])], 1, 0, 0)


def _refusal(errors: int) -> str:
    what = "1 error" if errors == 1 else f"{errors} errors"
    return f"{what}: mend the files and send them again; the name is free, and the quota is as it was"


def work(service: Service, *, attached: bool = False) -> None:
    """Work on a campaign's submissions until a signal ends it; what is being done is given back.

    Parameters
    ----------
    service : Service
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


class AttachedWorker:
    """A worker in a process beside the server's: it ends with the server, and is started again if it ends before.

    Use it as a context manager.

    Parameters
    ----------
    path : path
        The campaign file.
    """

    def __init__(self, path: str | Path) -> None:
        self._command = [sys.executable, "-m", "mirflow", "serve", "worker", str(path), "--attached"]
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> AttachedWorker:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        self._thread.join()

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
