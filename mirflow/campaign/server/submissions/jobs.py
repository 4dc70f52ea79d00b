"""Jobs of a worker: what confined processes are asked for, what they may read and write, and what comes of it.

One checks what was sent, one reads it, one scores it. The functions that run in those processes are in `checking.py`,
`reading.py` and `scoring.py`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select

from ....pipeline.document import read_document, variables_of
from ....pipeline.model import SCHEDULERS
from ....store.generations import remove, sync_folder
from ...file import campaign_digest, plugin_addresses, split_root
from .asked_files import keep_places, may_tell
from .checking import CheckAnswer, reading_options
from .claims import Claims
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
from .notifications import announce
from .submission_tables import Scored, Submission, SubmissionFinding
from .uploads import NAMES, RECEIVED

_SCORING = 10
"""Times the seconds of a check that scoring may take on a split."""
_READ = 100
"""Times the bytes of an upload that what is read of it may have: numbers take more room than text."""
_ENVIRONMENT = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TZ"})
"""Names of the environment variables that every job which reads references gets."""
_TRACKS_FOR = 300.0
"""Seconds for which lists of tracks are believed."""
_LOG = logging.getLogger("mirflow.worker")


class Jobs:
    """The jobs of a worker.

    Parameters
    ----------
    claims : Claims
        Of the worker.
    """

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self.service, self.campaign, self.database = claims.service, claims.campaign, claims.database
        self.path = claims.path
        self.file = {"path": str(self.path), "digest": campaign_digest(self.path)}
        tasks = dict.fromkeys(one.task for one in self.campaign.evaluations)
        self.confinement = Confinement(tasks, plugins=plugin_addresses(self.path, self.campaign))
        self._tracks: tuple[float, dict[str, Any]] | None = None
        self._earlier = True  # perhaps some were scored by a version that kept no readings

    @property
    def knows_tracks(self) -> bool:
        """True once the references were asked for."""
        return self._tracks is not None

    def tracks(self) -> dict[str, Any]:
        """By split and evaluation the places of the references, as this host sees them."""
        return dict(self.references()["places"])

    def references(self) -> dict[str, Any]:
        """Places of the references, and the folders that they are in; listed again after a while."""
        if self._tracks is None or time.monotonic() - self._tracks[0] > _TRACKS_FOR:
            task = {**self.file, "splits": list(self.campaign.splits)}
            self._tracks = time.monotonic(), self.confinement.run("tracks", task, self.trusted())
            keep_places(self.service.state_folder, self.campaign, self.tracks())
        return self._tracks[1]

    def trusted(self) -> Confines:
        """Confines of jobs that read what the organiser has and what was scored."""
        seconds = _SCORING * self.campaign.limits.seconds
        return Confines(seconds, files=4096, network=True, alone=False, environment=self._environment())

    def _scoring(self, row: Submission, split: str, temporary: str) -> Confines:
        """Confines of the job that scores: it sees references beside what was read, and a cluster if it asks one."""
        limits, scheduler = self.campaign.limits, self.campaign.execution.scheduler
        # A link that leads out of a folder is refused: where references are is known with links followed.
        beside = [*self._beside(split), *self._read_beside(split), *self.references()["folders"].get(split, ())]
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
            writable=(str(self.scratch(row)), temporary),
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

    def check(self, row: Submission) -> None:
        """Check a submission: it is accepted with what was sent in its place, or refused with findings."""
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
            answer = self.confinement.run(
                "check", task, confines, self.claims.progress(row), lambda: self.claims.beat(row)
            )
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
        with self.claims.finishing(row) as (session, mine):
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
            announce(session, self.campaign, mine, "refused" if refused else "accepted", self.service.clock())
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
            self.service.audit.record(
                self.claims.name, mine.state, submission=mine.id, system=mine.name, digest=mine.digest
            )
        remove(place)

    def read(self, row: Submission, split: str) -> None:
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
        self.confinement.run("read", {**task, "out": str(out)}, confines, beat=lambda: self.claims.beat(row))
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

    def read_earlier(self) -> bool:
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
        with self.claims.retaken(row) as taken:
            if not taken:
                return False
            try:
                self.read(row, split)
            except (SystemTroubleError, StoppedError):
                raise
            except JobError as error:
                _LOG.warning("submission %s: %s: has no timelines, as it %s", row.id, split, error)
                self._put_readings(self.service.readings_folder / row.name, split, "")
        return True

    def scratch(self, row: Submission) -> Path:
        """The folder of the scores of a submission that are not released yet."""
        return self.service.submissions_folder / row.id / "scoring"

    def left(self, row: Submission) -> list[str]:
        """The splits on which a submission is still to be scored; earlier rules may have had others."""
        with self.database.read() as session:
            return [
                split
                for split in row.split_names
                if split in self.campaign.splits
                and session.get(Scored, (row.number, split, self.campaign.rules)) is None
            ]

    def outcome(self, row: Submission, split: str) -> str | None:
        """The error of scoring on a split, empty if there is none; None if it was not scored by this campaign file."""
        try:
            found = json.loads((self.scratch(row) / f"{split}.json").read_text())
        except (OSError, ValueError):
            return None
        return str(found["error"]) if found["digest"] == self.file["digest"] else None

    def score(self, row: Submission) -> None:
        """Score a submission; its scores are released in turn, also if it fails on a later split."""
        left = self.left(row)
        for split in left:
            error = self.compute(row, split)
            if error and split == left[0]:
                self.claims.fail(row, split, error)
                return
            if error:
                break
        with self.claims.finishing(row) as (_, mine):
            mine.state, mine.tries = "computed", 0

    def compute(self, row: Submission, name: str) -> str:
        """Score a submission on a split, into a store of its own; the error if it cannot be scored, or nothing."""
        known, split = self.outcome(row, name), self.campaign.splits[name]
        if known is not None:
            return known
        task = {
            **self.file,
            "split": name,
            "system": row.name,
            "readings": str(self.service.readings_folder),
            "scratch": str(self.scratch(row)),
        }
        # How long each track takes depends on its reference.
        progress = None if split.hidden else self.claims.progress(row)
        error = ""
        try:
            self.read(row, name)
            self.scratch(row).mkdir(parents=True, exist_ok=True)
            # A folder of its own, and short: names of sockets have a hundred letters at most.
            with tempfile.TemporaryDirectory(prefix="mirflow-") as temporary:
                confines = self._scoring(row, name, temporary)
                result = self.confinement.run("score", task, confines, progress, lambda: self.claims.beat(row))
            _LOG.info("submission %s: %s: tracks scored: %s", row.id, name, result["tracks"])
        except (JobTimeoutError, JobMemoryError, JobRefusedError) as refusal:
            error = str(refusal)
        self.scratch(row).mkdir(parents=True, exist_ok=True)
        outcome = {"digest": self.file["digest"], "error": error}
        (self.scratch(row) / f"{name}.json").write_text(json.dumps(outcome))
        return error


def _apart(path: Path, state: Path) -> Iterator[str]:
    """A path; of a folder that holds the state of a campaign all else that is in it, but for hidden files."""
    real = path.resolve()
    if not state.is_relative_to(real):
        yield str(path)
    elif real != state:
        for one in sorted(real.iterdir()):
            if not one.name.startswith("."):
                yield from _apart(one, state)


def _nothing(message: str) -> CheckAnswer:
    return CheckAnswer(0, "", [("", None, "error", "archive", message[:1000])], 1, 0, 0)


def _refusal(errors: int) -> str:
    what = "1 error" if errors == 1 else f"{errors} errors"
    return f"{what}: mend the files and send them again; the name is free, and the quota is as it was"
