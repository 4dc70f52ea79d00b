"""Claims of a worker on submissions, its jobs that check, read and score them, and its reports that it is running.

Claims are leases by which each submission belongs to one worker at a time. A claim is renewed while its worker lives.
It is returned if a job is stopped or the system is in trouble, and ends with the state that results from its job.

Jobs are confined processes, with inputs, permissions and results: one checks an upload, one reads it, and one scores
it. Their functions are in `checking.py` and `scoring.py`.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ....causes.low_cells import LINES
from ....errors import MirflowError, clean_text, counted
from ....pipeline.discovery import language_column
from ....pipeline.document import VARIABLE
from ....pipeline.model import SCHEDULERS
from ....readers.patterns import Pattern
from ....store.generations import is_alive, remove, sync_folder
from ...file import Campaign, Limits, campaign_digest, plugin_addresses, split_root
from ..database import Database
from ..service import NAMES, Service
from . import confinement
from .checking import CheckAnswer, Row, keep_places, may_tell, reading_options
from .confinement import Confines, JobError, JobLimitError, JobRefusedError
from .notifications import Event, announce
from .submission_tables import OPEN, Released, Scored, Submission, SubmissionFinding, SubmissionProgress, WorkerReport
from .uploads import sent_files

LEASE = dt.timedelta(seconds=30)  # time after which a claim that is not renewed expires
TRIES = 3  # how often a job of a submission may end without a result
# States to which an unfinished submission returns.
_BEFORE = {"checking": "received", "scoring": "accepted", "releasing": "computed"}
_UNTOLD = "it could not be scored on {split}; the organiser finds the reason in the log"


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
        self.stopped = threading.Event()  # set when the worker has to return its current claim
        self._beaten = self._noted = 0.0

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
                    number = row.number
                    session.merge(SubmissionProgress(submission_id=number, stage=taken, done=0, total=0, updated=now))
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
        self._beaten, self._noted = time.monotonic(), 0.0  # the first message of a job is noted at once
        try:
            yield
        except (confinement.StoppedError, confinement.SystemTroubleError, OSError, SQLAlchemyError):
            with self.database.write() as session:
                mine = session.get_one(Submission, row.number)
                if mine.worker == self.name and mine.state == row.state:
                    mine.state, mine.lease, mine.worker = _BEFORE.get(row.state, row.state), None, ""
            if not self.stopped.is_set():
                raise
        except LostClaimError:
            _LOG.warning("submission %s was claimed by another worker", row.id)
        except Exception as failure:
            error = failure
            if not isinstance(failure, JobError):
                _LOG.exception("submission %s", row.id)
                error = JobError("internal error of the server")
            _LOG.warning("submission %s: %s", row.id, error)
            if row.state == "scored":  # by earlier rules, which stays valid
                return
            # A job without a result is retried a few times, since it may have been killed by chance.
            last = row.tries + 1 >= TRIES
            with self.finishing(row) as (session, mine):
                mine.tries, mine.state = row.tries + 1, _BEFORE[row.state]
                if last:
                    self.end(session, mine, "refused" if row.state == "checking" else "failed", f"it {error}")
            if last:
                self._set_aside(row)

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

    def end(self, session: Session, mine: Submission, event: Event, reason: str = "") -> None:
        """Set the last state of a submission, and announce it."""
        mine.state, mine.reason, mine.finished = event, reason, self.service.clock()
        announce(session, self.campaign, mine, event, mine.finished)
        self.service.audit.record(self.name, event, submission=mine.id, system=mine.name)

    def claimed(self, session: Session, row: Submission) -> Submission:
        """Return the stored row of a submission, if this worker still holds the claim."""
        mine = session.get_one(Submission, row.number)
        if mine.worker != self.name or mine.state != row.state:
            raise LostClaimError(row.id)
        return mine

    def beat(self, row: Submission) -> bool:
        """Renew the claim from time to time; False if the worker has to stop."""
        if time.monotonic() - self._beaten > self.lease.total_seconds() / 5:
            self._beaten = time.monotonic()
            with self.database.write() as session:
                self.claimed(session, row).lease = self.service.clock() + self.lease
        return not self.stopped.is_set()

    @contextmanager
    def finishing(self, row: Submission) -> Iterator[tuple[Session, Submission]]:
        """A transaction that ends a step, if this worker still holds the claim."""
        with self.database.write() as session:
            mine = self.claimed(session, row)
            mine.worker, mine.lease = "", None
            yield session, mine
            if mine.state not in _BEFORE:
                session.execute(delete(SubmissionProgress).where(SubmissionProgress.submission_id == row.number))

    def progress(self, row: Submission, message: Mapping[str, Any]) -> None:
        """Write the progress of a job, at most twice a second."""
        if time.monotonic() - self._noted < 0.5:
            return
        self._noted = time.monotonic()
        done, total = (int(message.get(key, 0)) for key in ("progress", "total"))
        with self.database.write() as session:
            columns = {"stage": row.state, "done": done, "total": total, "updated": self.service.clock()}
            session.merge(SubmissionProgress(submission_id=row.number, **columns))

    def fail(self, row: Submission, name: str, error: str) -> None:
        """Record that a submission cannot be scored; without the reason if a reference may be quoted."""
        split = self.campaign.splits[name]
        _LOG.warning("submission %s cannot be scored on %s: %s", row.id, name, error)
        if row.state == "scored":  # by earlier rules, which stays valid
            with self.database.write() as session:
                rules, now = self.campaign.rules, self.service.clock()
                session.add(Scored(submission_id=row.number, split=name, rules=rules, date=now))
            return
        with self.finishing(row) as (session, mine):
            self.end(session, mine, "failed", _UNTOLD.format(split=name) if split.hidden else f"{name}: {error}")
        self._set_aside(row)

    def _set_aside(self, row: Submission) -> None:
        """Remove the files of an unscored submission, unless it has scores on some split."""
        remove(self.service.folder_of("submissions") / row.id)
        with self.database.read() as session:
            scored = set(session.scalars(select(Submission.name).join(Released)))
        if row.name not in scored:
            remove(self.service.folder_of("systems") / row.name)
            remove(self.service.folder_of("readings") / row.name)


EVERY = 15.0  # seconds between two reports of a worker
FORGOTTEN = dt.timedelta(days=1)  # age at which the report of a worker is deleted
_WAIT = 1.0


@contextmanager
def reporting(service: Service, name: str, every: float = EVERY) -> Iterator[None]:
    """Report from a thread that a worker is running, until the block ends. `every`: seconds between two reports."""
    _, database = service.demand_campaign()
    began, ended = service.clock(), threading.Event()

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


_UNPACKED = 10  # size of an unpacked upload, as a multiple of its size
_BLOCK = 2**13
_SCORING = 10  # time limit for scoring a split, as a multiple of that for a check
# Size limit for annotations read from an upload, as a multiple of its size: numbers take more space than text.
_READ = 100
# Environment variables passed to every job that reads references.
_ENVIRONMENT = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TZ"})
_LONGEST = 1000  # characters of a line about causes
_TRACKS_FOR = 300.0  # seconds for which a list of tracks is reused
_LOG = logging.getLogger("mirflow.worker")


class Jobs:
    """The jobs of a worker."""

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self.service, self.campaign, self.database = claims.service, claims.campaign, claims.database
        self.path = claims.path
        self.file = {"path": str(self.path), "digest": campaign_digest(self.path)}
        # The campaign as jobs that score take it.
        self.scoring = {"path": str(self.path), "campaign": self.campaign.scoring_values}
        # Environment of jobs: required variables and those named by the campaign file; never the database password.
        named = {*VARIABLE.findall(self.path.read_text(encoding="utf-8")), *_ENVIRONMENT}
        asks = self.campaign.execution.scheduler not in SCHEDULERS
        self.environment = {
            key: value for key, value in os.environ.items() if key in named or (asks and key.startswith("DASK_"))
        }
        tasks = dict.fromkeys(evaluation.task for evaluation in self.campaign.evaluations)
        self.plugins = plugin_addresses(self.path, self.campaign)
        self.confinement = confinement.Confinement(tasks, plugins=self.plugins)
        # Limits for jobs that read the organiser's and already scored files.
        seconds, environment = _SCORING * self.campaign.limits.seconds, self.environment
        self.trusted = Confines(seconds, files=4096, network=True, alone=False, environment=environment)
        # When the references were listed, and their places; None before the first time.
        self.listed: tuple[float, dict[str, Any]] | None = None

    def references(self) -> dict[str, Any]:
        """``places`` of the references by split and evaluation, and their ``folders``; listed again after some time."""
        if self.listed is None or time.monotonic() - self.listed[0] > _TRACKS_FOR:
            task = {**self.scoring, "splits": list(self.campaign.splits)}
            self.listed = time.monotonic(), self.confinement.run("tracks", task, self.trusted)
            keep_places(self.service.state_folder, self.campaign, self.listed[1]["places"])
        return self.listed[1]

    def check(self, row: Submission) -> None:
        """Check a submission: accept it with its unpacked files, or refuse it with findings."""
        upload = self.service.folder_of("submissions") / row.id
        files = upload / "files"
        limits, values = self.campaign.limits, self.campaign.evaluation_values
        try:
            if not (upload / NAMES).is_file():
                raise JobRefusedError("the upload is lost: submit it again")
            remove(files)
            files.mkdir()
            sent = [(name, str(path)) for name, path in sent_files(upload)]
            task: dict[str, Any] = {"sent": sent, "out": str(files), "limits": limits.model_dump()}
            root = split_root(self.path, self.campaign, row.split_names[0])
            task |= {"evaluations": values, "root": str(root)}
            confines = check_confines(limits, upload, files, read_beside(self.path, self.campaign, row.split_names[0]))
            progress, beat = partial(self.claims.progress, row), partial(self.claims.beat, row)
            message = self.confinement.run("check", task, confines, progress, beat)
            answer = CheckAnswer.of(message)
            if answer.files:
                by_name = {evaluation.name: evaluation for evaluation in self.campaign.evaluations}
                expected = []
                for split, evaluations in self.references()["places"].items():
                    terms = {"asked": split in row.split_names, "hidden": self.campaign.splits[split].hidden}
                    for name, places in evaluations.items():
                        named = may_tell(self.campaign, split, by_name[name])
                        expected.append({"split": split, "evaluation": name, "places": places, **terms, "named": named})
                task = {"names": answer.names, "evaluations": values, "expected": expected}
                with tempfile.TemporaryDirectory(prefix="mirflow-") as nothing:
                    confines = Confines(limits.seconds, limits.memory, file_size=0, writable=(nothing,))
                    message = self.confinement.run("names", task, confines, beat=beat)
                answer = answer.with_findings(CheckAnswer.of(message))
        except (JobLimitError, JobRefusedError) as error:
            why = f"the check {error}" if isinstance(error, JobLimitError) else str(error).replace(f"{files}/", "")
            finding: Row = "", None, "error", "archive", why[:1000]
            answer = CheckAnswer(0, "", [finding], errors=1, warnings=0, notes=0, names=[], without=[])
        self._note_check(row, answer, upload)

    def _note_check(self, row: Submission, answer: CheckAnswer, upload: Path) -> None:
        refused = answer.errors > 0
        with self.claims.finishing(row) as (session, mine):
            session.execute(delete(SubmissionFinding).where(SubmissionFinding.submission_id == row.number))
            for path, line, severity, rule, message in answer.findings:
                columns = {"path": path, "line": line, "severity": severity, "rule": rule, "message": message}
                session.add(SubmissionFinding(submission_id=row.number, **columns))
            mine.digest, mine.files = answer.digest, answer.files
            mine.errors, mine.warnings, mine.notes = answer.errors, answer.warnings, answer.notes
            mine.tries = 0
            if not refused:
                mine.splits = ",".join(split for split in mine.split_names if split not in answer.without)
            mine.state = "refused" if refused else "accepted"
            announce(session, self.campaign, mine, "refused" if refused else "accepted", self.service.clock())
            if refused:
                advice = "correct the files and submit them again; the name is free and the quota unchanged"
                mine.reason, mine.finished = f"{counted(mine.errors, 'error')}: {advice}", self.service.clock()
            else:
                # Only this submission uses the name: anything there is left from a job that was killed. The upload is
                # removed only after the commit.
                target = self.service.folder_of("systems") / row.name
                remove(target)
                remove(self.service.folder_of("readings") / row.name)
                (upload / "files").rename(target)
                sync_folder(target.parent)
            named = {"submission": mine.id, "system": mine.name, "digest": mine.digest}
            self.service.audit.record(self.claims.name, mine.state, **named)
        remove(upload)

    def read(self, row: Submission, split: str) -> None:
        """Read the files for a split in the confined process, unless an up-to-date reading exists."""
        folder = self.service.folder_of("readings") / row.name
        files, root = self.service.folder_of("systems") / row.name, split_root(self.path, self.campaign, split)
        # Files with many tracks are searched for their names, and languages are looked up by them.
        named = {
            evaluation.name
            for evaluation in self.campaign.evaluations
            if may_tell(self.campaign, split, evaluation)
            or "track" not in Pattern(evaluation.estimates.path).names
            or language_column(evaluation.estimates.reading(evaluation.task))
        }
        task = {
            "evaluations": self.campaign.evaluation_values,
            "root": str(root),
            # Relative, so that the signature by name and time survives moving the whole folder.
            "files": os.path.relpath(files, root).replace(os.sep, "/"),
            "split": split,
            "places": {
                name: rows for name, rows in self.references()["places"].get(split, {}).items() if name in named
            },
        }
        beside = [*read_beside(self.path, self.campaign, split)]
        digests = [campaign_digest(path) for path in (*beside, *self.plugins)]
        made_of = hashlib.sha256(json.dumps([version("mirflow"), task, digests]).encode()).hexdigest()
        mark = folder / f"{split}.made_of"
        if mark.is_file() and mark.read_text() == made_of:
            return
        out = folder / f".{split}.building"
        remove(out)
        out.mkdir(parents=True)
        limits = self.campaign.limits
        confines = Confines(
            limits.seconds,
            memory=limits.memory,
            file_size=_READ * limits.size,
            written=_READ * limits.size * len(self.campaign.evaluations),
            writable=(str(out),),
            readable=(str(files), *beside),
        )
        self.confinement.run("read", {**task, "out": str(out)}, confines, beat=partial(self.claims.beat, row))
        # The mark shows that the readings are complete.
        mark.unlink(missing_ok=True)
        target = folder / split
        remove(target)
        (out / split).mkdir(parents=True, exist_ok=True)  # even without files, to record the system
        (out / split).rename(target)
        remove(out)
        mark.write_text(made_of)
        sync_folder(folder)

    def task(self, split: str, **values: Any) -> dict[str, Any]:
        """Return the input of a job about the scores of a split."""
        return {**self.scoring, "split": split, "readings": str(self.service.folder_of("readings")), **values}

    def scratch(self, row: Submission) -> Path:
        """Folder for the unreleased scores of a submission."""
        return self.service.folder_of("submissions") / row.id / "scoring"

    def left(self, row: Submission) -> list[str]:
        """List the splits that a submission has yet to be scored on; earlier rules may have had other splits."""
        with self.database.read() as session:
            return [
                split
                for split in row.split_names
                if split in self.campaign.splits
                and session.get(Scored, (row.number, split, self.campaign.rules)) is None
            ]

    def outcome(self, row: Submission, split: str) -> dict[str, Any]:
        """What scoring on a split by this campaign file gave: ``error`` and ``causes``; empty if it was not done."""
        try:
            outcome: dict[str, Any] = json.loads((self.scratch(row) / f"{split}.json").read_text())
        except (OSError, ValueError):
            return {}
        return outcome if outcome["digest"] == self.file["digest"] else {}

    def score(self, row: Submission) -> None:
        """Score a submission; even if a later split fails, the others are released in turn."""
        left = self.left(row)
        for split in left:
            error = self.compute(row, split)
            if error and split == left[0]:
                self.claims.fail(row, split, error)
                return
            if error:
                break
        with self.claims.finishing(row) as (session, mine):
            mine.state, mine.tries = "computed", 0
            of_causes = SubmissionFinding.submission_id == row.number, SubmissionFinding.rule == "cause"
            mine.warnings -= len(session.scalars(select(SubmissionFinding.id).where(*of_causes)).all())
            session.execute(delete(SubmissionFinding).where(*of_causes))
            for split in left:
                for message in self.outcome(row, split).get("causes", ()):
                    columns = {"path": "", "severity": "warning", "rule": "cause", "message": f"{split}: {message}"}
                    session.add(SubmissionFinding(submission_id=row.number, **columns))
                    mine.warnings += 1

    def compute(self, row: Submission, name: str) -> str:
        """Score a submission on a split, and keep its scores; returns an error message, or an empty string."""
        done, split = self.outcome(row, name), self.campaign.splits[name]
        if done:
            return str(done["error"])
        scratch, folder = self.scratch(row), self.path.parent
        task = self.task(name, system=row.name, scratch=str(scratch))
        limits, scheduler = self.campaign.limits, self.campaign.execution.scheduler
        code = [*self.plugins]
        for evaluation in self.campaign.evaluations:
            code += [metric.partition(".py:")[0] for metric in evaluation.metrics or ()]
        # The time per track depends on its reference.
        progress = None if split.hidden else partial(self.claims.progress, row)
        error, causes = "", []
        try:
            self.read(row, name)
            # Links out of a folder are refused, so the folders of references are resolved first.
            beside = [
                str(folder),
                str(split_root(self.path, self.campaign, name)),
                *(str(Path(folder, file).parent) for file in code),
                *(str(path) for _, path in references_of(self.path, self.campaign, name)),
                *read_beside(self.path, self.campaign, name),
                *self.references()["folders"].get(name, ()),
            ]
            state = self.service.folder_of("submissions").parent.resolve()
            readable = [inner for path in dict.fromkeys(beside) for inner in _apart(Path(path), state)]
            scratch.mkdir(parents=True, exist_ok=True)
            # A separate folder with a short path, since names of sockets are limited to about 100 characters.
            with tempfile.TemporaryDirectory(prefix="mirflow-") as temporary:
                confines = Confines(
                    _SCORING * limits.seconds,
                    memory=limits.scoring_memory,
                    files=4096,
                    network=scheduler not in SCHEDULERS,
                    alone=scheduler != "processes",
                    threads=True,
                    writable=(str(scratch), temporary),
                    readable=(str(self.service.folder_of("readings") / row.name), *readable),
                    environment={**self.environment, "TMPDIR": temporary},
                )
                result = self.confinement.run("score", task, confines, progress, partial(self.claims.beat, row))
            _LOG.info("submission %s: %s: tracks scored: %s", row.id, name, result["tracks"])
            if not split.hidden:
                causes = [clean_text(str(message))[:_LONGEST] for message in result["causes"][:LINES]]
        except (JobLimitError, JobRefusedError) as refusal:
            error = str(refusal)
        scratch.mkdir(parents=True, exist_ok=True)
        outcome = {"digest": self.file["digest"], "error": error, "causes": causes}
        (scratch / f"{name}.json").write_text(json.dumps(outcome))
        return error


def check_confines(limits: Limits, upload: Path, files: Path, beside: Iterable[str]) -> Confines:
    """Return the limits of a check, which unpacks an `upload` into the folder `files` within it."""
    return Confines(
        limits.seconds,
        memory=limits.memory,
        file_size=_UNPACKED * limits.size,
        # Each file and each folder takes a whole number of blocks.
        written=_UNPACKED * limits.size + _BLOCK * limits.files * (1 + limits.depth),
        writable=(str(files),),
        readable=(str(upload), *beside),
    )


def read_beside(path: Path, campaign: Campaign, split: str) -> Iterator[str]:
    """Yield the files of classes and label maps that are needed to read submissions."""
    root = split_root(path, campaign, split)
    for evaluation in campaign.evaluations:
        labels = reading_options(evaluation, str(root)).get("labels")
        if labels is not None:
            yield str(labels)
        if evaluation.classes is not None and evaluation.classes.path is not None:
            yield str(root / evaluation.classes.path)


def references_of(path: Path, campaign: Campaign, split: str) -> Iterator[tuple[str, Path]]:
    """Yield the folders and files of a split's references and tables, each with words for it."""
    root = split_root(path, campaign, split)
    for evaluation in campaign.evaluations:
        tables, reference = evaluation.tracks, evaluation.reference
        named = () if tables is None else (tables.path, *tables.files.values())
        for text in filter(None, (reference.path, reference.index, *named)):
            words = f"{'the table of tracks' if text in named else 'the references'} of split {split}"
            yield words, root / (text.partition("{")[0].rpartition("/")[0] if "{" in text else text)
        if reference.mirdata is not None:
            home = reference.data_home
            folder = Path.home() / "mir_datasets" if home is None else root / Path(home).expanduser()
            yield f"the references of split {split}", folder


def _apart(path: Path, state: Path) -> Iterator[str]:
    """Yield a path, or for a folder that contains the campaign's state everything else in it except hidden files."""
    real = path.resolve()
    if not state.is_relative_to(real):
        yield str(path)
    elif real != state:
        for inner in sorted(real.iterdir()):
            if not inner.name.startswith("."):
                yield from _apart(inner, state)
