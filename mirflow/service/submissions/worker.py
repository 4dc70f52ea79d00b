"""The worker: takes submissions, checks them, scores them, releases the scores, and publishes what is public.

Several workers check and score at the same time. Scores are released one by one in the order of arrival, on which the
ladder and the comparisons depend. All steps can be done twice: one that is killed at any moment is begun again, by this
worker or another one, and ends as if it had been done once. A submission counts as scored from the transaction on that
writes its scores.
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
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ...errors import MirflowError
from ...pipeline.campaign import Campaign, campaign_digest, demand_unedited, plugin_addresses, split_root
from ...pipeline.document import read_document, variables_of
from ...pipeline.model import SCHEDULERS
from ...store.generations import is_alive, remove, sync_folder
from ..service import Service
from .asked_files import keep_places, may_tell
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
    lacks,
)
from .heartbeats import reporting
from .releases import judge, keep_true_scores, lacks_true_scores, release, rivals
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
_READ = 100
"""Times the bytes of an upload that what is read of it may have: numbers take more room than text."""
_ENVIRONMENT = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TZ"})
"""Names of the environment variables that every job which reads references gets."""
_PUBLISH = 10.0
"""Seconds after which public copies are looked at while there is other work."""
_COPY_FORMAT = 3
"""Version of the contents of public copies: those of an earlier one are made again."""
_LOG = logging.getLogger("mirflow.worker")
_BEFORE = {"checking": "received", "scoring": "accepted", "releasing": "computed"}
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
        self._recalled: set[tuple[int, str]] = set()
        self._wait = 0.0
        self._earlier = True  # perhaps some were scored by a version that kept no readings
        self._troubled = True  # perhaps a worker before this one was
        self._beaten = 0.0
        self._looked = time.monotonic()

    def stop(self) -> None:
        """Give back what is being done, and end :meth:`run`."""
        self._stopped.set()

    def run(self) -> None:
        """Work until stopped."""
        self.prepare()
        try:
            held = demand_confinement(self.service, self.confinement)
            _LOG.info("worker %s has begun; checks are confined in %s", self.name, ", ".join(held))
            for why in lacks(held):
                _LOG.warning("checks are not confined as they should be: %s", why)

            with reporting(self.service, self.name):
                self._work()
        finally:
            self.confinement.close()
            _LOG.info("worker %s has ended", self.name)

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                if not self.step():
                    self._stopped.wait(POLL)
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
        """Do one thing: give up, release, check or score a submission, or publish; False if there is nothing to do."""
        demand_unedited(**self._file)
        # A queue that never ends does not keep what is scored from being seen.
        if time.monotonic() - self._looked > _PUBLISH and self._publish():
            return True
        if self._give_up():
            return True
        claimed = self._claim()
        if claimed is not None:
            with self._claimed(claimed):
                {"checking": self._check, "scoring": self._score, "releasing": self._release}[claimed.state](claimed)
            return True
        if self._lift() or self._read_earlier() or self._publish() or self._rescore() or self._recall():
            return True
        if self._tracks is None:
            self._references()  # which submitters read on the form, before anything is sent
        return False

    # Claims

    def _claim(self) -> Submission | None:
        """Take the first open submission if it can be released, else one to be checked, else one to be scored."""
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
            if mine.state not in _BEFORE:
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
        return dict(self._references()["places"])

    def _references(self) -> dict[str, Any]:
        if self._tracks is None or time.monotonic() - self._tracks[0] > _TRACKS_FOR:
            task = {**self._file, "splits": list(self.campaign.splits)}
            self._tracks = time.monotonic(), self.confinement.run("tracks", task, self._trusted())
            keep_places(self.service.state_folder, self.campaign, self.tracks())
        return self._tracks[1]

    def _trusted(self) -> Confines:
        """Confines of jobs that read what the organiser has and what was scored."""
        seconds = _SCORING * self.campaign.limits.seconds
        return Confines(seconds, files=4096, network=True, alone=False, environment=self._environment())

    def _scoring(self, row: Submission, split: str, temporary: str) -> Confines:
        """Confines of the job that scores: it sees references beside what was read, and a cluster if it asks one."""
        limits, scheduler = self.campaign.limits, self.campaign.execution.scheduler
        # A link that leads out of a folder is refused: where references are is known with links followed.
        beside = [*self._beside(split), *self._read_beside(split), *self._references()["folders"].get(split, ())]
        state = self.service.submissions_folder.parent.resolve()
        readable = [one for path in dict.fromkeys(beside) for one in _apart(Path(path), state)]
        return Confines(
            _SCORING * limits.seconds,
            memory=limits.scoring_memory,
            files=4096,
            network=scheduler not in SCHEDULERS,
            alone=scheduler != "processes",
            threads=True,
            links=True,
            writable=(str(self._scratch(row)), temporary),
            readable=(str(self.service.readings_folder / row.name), *readable),
            environment={**self._environment(), "TMPDIR": temporary},
        )

    def _beside(self, split: str) -> Iterator[str]:
        """What a campaign may read: the folders of its file and of the split, and what it names elsewhere."""
        folder, root = self.path.parent, split_root(self.path, self.campaign, split)
        yield from (str(folder), str(root))
        metrics = [one.partition(".py:")[0] for each in self.campaign.evaluations for one in each.metrics or ()]
        for code in (*plugin_addresses(self.path, self.campaign), *metrics):
            yield str(Path(folder, code).parent)
        for evaluation in self.campaign.evaluations:
            tables, reference = evaluation.tracks, evaluation.reference
            named = () if tables is None else (tables.path, *tables.files.values())
            for path in filter(None, (reference.path, reference.index, *named)):
                yield str(root / (path.partition("{")[0].rpartition("/")[0] if "{" in path else path))
            if reference.mirdata is not None:
                home = reference.data_home
                yield str(Path.home() / "mir_datasets" if home is None else root / Path(home).expanduser())

    def _environment(self) -> dict[str, str]:
        """The environment of jobs: what they need, and what the campaign file names; no password of a database."""
        named = variables_of(self.path.read_text(encoding="utf-8")) | _ENVIRONMENT
        asks = self.campaign.execution.scheduler not in SCHEDULERS
        return {key: value for key, value in os.environ.items() if key in named or (asks and key.startswith("DASK_"))}

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
            readable=(str(place), *self._read_beside(row.split_names[0])),
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
        known = {one.name: one for one in self.campaign.evaluations}
        return [
            {
                "split": split,
                "evaluation": name,
                "places": places,
                "asked": split in row.split_names,
                "hidden": self.campaign.splits[split].hidden,
                "named": may_tell(self.campaign, split, known[name]),
            }
            for split, found in self.tracks().items()
            for name, places in found.items()
        ]

    def _read_beside(self, split: str) -> Iterator[str]:
        """Files of classes and of maps of labels, with which what was sent is read."""
        root = split_root(self.path, self.campaign, split)
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
                remove(self.service.readings_folder / row.name)
                (place / "files").rename(target)
                sync_folder(target.parent)
            self.service.audit.record(self.name, mine.state, submission=mine.id, system=mine.name, digest=mine.digest)
        remove(place)

    # Readings

    def _read(self, row: Submission, split: str) -> None:
        """Read what was sent for a split in the confined process, unless it was read as it would be now."""
        place = self.service.readings_folder / row.name
        files, root = self.service.systems_folder / row.name, split_root(self.path, self.campaign, split)
        task = {
            "evaluations": read_document(self.path).data["evaluations"],
            "root": str(root),
            # Relative, as files are told apart by name and time: a folder that is moved as a whole stays what it was.
            "files": os.path.relpath(files, root).replace(os.sep, "/"),
            "split": split,
            "places": self.tracks().get(split, {}),
        }
        beside = [*self._read_beside(split)]
        digests = [campaign_digest(path) for path in (*beside, *plugin_addresses(self.path, self.campaign))]
        made_of = hashlib.sha256(json.dumps([version("mirflow"), task, digests]).encode()).hexdigest()
        mark = place / f"{split}.made_of"
        if mark.is_file() and mark.read_text() == made_of:
            return
        out = place / f".{split}.building"
        remove(out)
        out.mkdir(parents=True)
        limits = self.campaign.limits
        confines = Confines(
            limits.seconds,
            memory=limits.memory,
            file_size=_READ * limits.size,
            writable=(str(out),),
            readable=(str(files), *beside),
        )
        self.confinement.run("read", {**task, "out": str(out)}, confines, beat=lambda: self._beat(row))
        self._put_readings(place, split, made_of)

    def _put_readings(self, place: Path, split: str, made_of: str) -> None:
        """Put what was just read of a split in its place; the mark says that all of it is there."""
        mark, target, out = place / f"{split}.made_of", place / split, place / f".{split}.building"
        mark.unlink(missing_ok=True)
        remove(target)
        (out / split).mkdir(parents=True, exist_ok=True)  # also without any file: the system is there
        (out / split).rename(target)
        remove(out)
        mark.write_text(made_of)
        sync_folder(place)

    def _read_earlier(self) -> bool:
        """Read one submission of those that were scored when nothing was kept of them; False: there is none."""
        if not self._earlier:
            return False
        opened = [name for name, split in self.campaign.splits.items() if not split.hidden]
        with self.database.read() as session:
            rows = session.scalars(select(Submission).where(Submission.state == "scored")).all()
            kept = self.service.readings_folder
            lacking = (
                (row, split)
                for row in rows
                for split in row.split_names
                if split in opened and not (kept / row.name / f"{split}.made_of").is_file()
            )
            row, split = next(lacking, (None, ""))
        if row is None:
            self._earlier = False
            return False
        with self._taken(row) as taken:
            if not taken:
                return False
            try:
                self._read(row, split)
            except (SystemTroubleError, StoppedError):
                raise
            except JobError as error:
                _LOG.warning("submission %s: %s: has no timelines, as it %s", row.id, split, error)
                self._put_readings(self.service.readings_folder / row.name, split, "")
        return True

    # Scores

    def _scratch(self, row: Submission) -> Path:
        """The folder of the scores of a submission that are not released yet."""
        return self.service.submissions_folder / row.id / "scoring"

    def _left(self, row: Submission) -> list[str]:
        """The splits on which a submission is still to be scored; earlier rules may have had others."""
        with self.database.read() as session:
            return [
                split
                for split in row.split_names
                if split in self.campaign.splits
                and session.get(Scored, (row.number, split, self.campaign.rules)) is None
            ]

    def _outcome(self, row: Submission, split: str) -> str | None:
        """The error of scoring on a split, empty if there is none; None if it was not scored by this campaign file."""
        try:
            found = json.loads((self._scratch(row) / f"{split}.json").read_text())
        except (OSError, ValueError):
            return None
        return str(found["error"]) if found["digest"] == self._file["digest"] else None

    def _score(self, row: Submission) -> None:
        """Score a submission; its scores are released in turn, also if it fails on a later split."""
        left = self._left(row)
        for split in left:
            error = self._compute(row, split)
            if error and split == left[0]:
                self._fail(row, split, error)
                return
            if error:
                break
        with self._finishing(row) as (_, mine):
            mine.state, mine.tries = "computed", 0

    def _compute(self, row: Submission, name: str) -> str:
        """Score a submission on a split, into a store of its own; the error if it cannot be scored, or nothing."""
        known, split = self._outcome(row, name), self.campaign.splits[name]
        if known is not None:
            return known
        task = {
            **self._file,
            "split": name,
            "system": row.name,
            "readings": str(self.service.readings_folder),
            "scratch": str(self._scratch(row)),
        }
        # How long each track takes depends on its reference.
        progress = None if split.hidden else self._progress(row)
        error = ""
        try:
            self._read(row, name)
            self._scratch(row).mkdir(parents=True, exist_ok=True)
            # A folder of its own, and short: names of sockets have a hundred letters at most.
            with tempfile.TemporaryDirectory(prefix="mirflow-") as temporary:
                confines = self._scoring(row, name, temporary)
                result = self.confinement.run("score", task, confines, progress, lambda: self._beat(row))
            _LOG.info("submission %s: %s: tracks scored: %s", row.id, name, result["tracks"])
        except (JobTimeoutError, JobMemoryError, JobRefusedError) as refusal:
            error = str(refusal)
        self._scratch(row).mkdir(parents=True, exist_ok=True)
        outcome = {"digest": self._file["digest"], "error": error}
        (self._scratch(row) / f"{name}.json").write_text(json.dumps(outcome))
        return error

    def _release(self, row: Submission) -> None:
        """Release the scores of a submission, of which all earlier ones are released."""
        for split in self._left(row):
            error = self._outcome(row, split)
            if error is None:  # the campaign file was edited meanwhile, or a backup was restored
                with self._finishing(row) as (_, mine):
                    mine.state = "accepted"
                return
            if error:
                self._fail(row, split, error)
                return
            if not self._release_split(row, split):
                return
        with self._finishing(row) as (_, mine):
            mine.state, mine.finished, mine.tries = "scored", self.service.clock(), 0
            self.service.audit.record(self.name, "scored", submission=mine.id, system=mine.name)
        remove(self.service.submissions_folder / row.id)

    def _release_split(self, row: Submission, name: str) -> bool:
        """Join the scores of a submission to the store of a split, and release them; False if that is refused."""
        split = self.campaign.splits[name]
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
            "readings": str(self.service.readings_folder),
            "store": str(self.service.stores_folder / f"{name}.zarr"),
            "scratch": str(self._scratch(row)),
            "others": {one: [names[number] for number in found.values()] for one, found in against.items()},
        }
        try:
            result = self.confinement.run("release", task, self._trusted(), beat=lambda: self._beat(row))
        except (JobTimeoutError, JobMemoryError, JobRefusedError) as error:
            self._fail(row, name, str(error))
            return False
        except SystemTroubleError:
            # The scores may be of references that are not those of the others: they are computed again.
            (self._scratch(row) / f"{name}.json").unlink(missing_ok=True)
            raise
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker != self.name or mine.state != row.state:
                raise LostClaimError(row.id)
            now = self.service.clock()
            release(session, mine, name, split, result["values"], self.campaign.rules, now)
            session.flush()
            judge(session, mine, name, split, against, result["comparisons"])
        return True

    def _fail(self, row: Submission, name: str, error: str) -> None:
        """Note that a submission cannot be scored; of a hidden split not why, as that may quote a reference."""
        split = self.campaign.splits[name]
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
            remove(self.service.readings_folder / row.name)

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
        with self._taken(row) as taken:
            if taken:
                error = self._compute(row, split)
                if error:
                    self._fail(row, split, error)
                else:
                    self._release_split(row, split)
                remove(self.service.submissions_folder / row.id)
        return taken

    @contextmanager
    def _taken(self, row: Submission) -> Iterator[bool]:
        """Take a submission that is scored already, so that no other worker does; False where one has it."""
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            free = not mine.worker or self._abandoned(mine, self.service.clock())
            if free:
                mine.worker, mine.lease = self.name, self.service.clock() + self.lease
        if not free:
            yield False
            return
        row.worker = self.name
        with self._claimed(row):
            yield True
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker == self.name:
                mine.worker, mine.lease = "", None

    def _recall(self) -> bool:
        """Keep the true scores of one submission that was released before they were kept beside."""
        hidden = [name for name, split in self.campaign.splits.items() if split.hidden]
        lacking = lacks_true_scores(hidden)
        with self.database.read() as session:
            rows = session.scalars(select(Released).where(*lacking).order_by(Released.id))
            row = next((one for one in rows if (one.submission_id, one.split) not in self._recalled), None)
            name = "" if row is None else row.submission.name
        if row is None:
            return False
        self._recalled.add((row.submission_id, row.split))  # of what is not in the store there is nothing to try again
        task = {"store": str(self.service.stores_folder / f"{row.split}.zarr"), "system": name}
        values = self.confinement.run("recall", task, self._trusted(), beat=lambda: not self._stopped.is_set())[
            "values"
        ]
        with self.database.write() as session:
            keep_true_scores(session, row.submission_id, row.split, values)
        return True

    def _lift(self) -> bool:
        """Make submissions public that were held until an embargo ended; False: there are none."""
        now, held = self.service.clock(), select(Submission).where(Submission.held)
        with self.database.read() as session:
            ended = [one.number for one in session.scalars(held) if not self.campaign.embargo(one.split_names, now)]
        if not ended:
            return False
        with self.database.write() as session:
            for row in session.scalars(held.where(Submission.number.in_(ended))):
                row.visibility, row.held = "public", False
                self.service.audit.record(self.name, "end of embargo", submission=row.id, system=row.name)
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
                        .where(
                            Submission.state == "scored",
                            Submission.visibility == "public",
                            Submission.disqualified == "",
                        )
                        .order_by(Submission.number)
                    )
                    if name in one.split_names
                }
                known = session.get(PublicCopy, name)
            made_of = json.dumps([public, os.readlink(store), _COPY_FORMAT])  # noqa: PTH115 - the text of the link
            digest = hashlib.sha256(made_of.encode()).hexdigest()
            if known is not None and known.digest == digest:
                continue
            task = {
                **self._file,
                "split": name,
                "systems": str(self.service.systems_folder),
                "readings": str(self.service.readings_folder),
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


def _apart(path: Path, state: Path) -> Iterator[str]:
    """A path; of a folder that holds the state of a campaign all else that is in it, but for hidden files."""
    real = path.resolve()
    if not state.is_relative_to(real):
        yield str(path)
    elif real != state:
        for one in sorted(real.iterdir()):
            if not one.name.startswith("."):
                yield from _apart(one, state)


def demand_confinement(service: Service, confinement: Confinement) -> list[str]:
    """Look what confines the processes that read what strangers send.

    Raises
    ------
    MirflowError
        If something is missing, and the campaign requires it.
    """
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


class AttachedWorkers:
    """Workers in processes beside the server's: they end with it, and are started again if they end before.

    Use it as a context manager.

    Parameters
    ----------
    path : path
        The campaign file.
    number : int
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
