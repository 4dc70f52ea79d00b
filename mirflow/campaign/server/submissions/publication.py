"""Publication of scores: release in the order of arrival, rescoring by later rules, and public copies.

Scores are released one by one, since the ladder and the comparisons depend on their order. Public copies contain the
public systems of a split and are updated when the set of public systems changes.
"""

from __future__ import annotations

import hashlib
import json
import time

from sqlalchemy import select

from ....store.generations import remove, target_of
from .claims import Claims, LostClaimError
from .confinement import JobLimitError, JobRefusedError, StoppedError, SystemTroubleError
from .jobs import Jobs
from .notifications import announce
from .releases import judge, release, rivals
from .submission_tables import PublicCopy, Scored, Submission

_PUBLISH = 10.0
"""Seconds after which public copies are checked even while other work is waiting."""


class Publication:
    """Releases and publishes the scores computed by a worker."""

    def __init__(self, claims: Claims, jobs: Jobs) -> None:
        self.claims, self.jobs = claims, jobs
        self.service, self.campaign, self.database = claims.service, claims.campaign, claims.database
        self._looked = time.monotonic()

    @property
    def is_due(self) -> bool:
        """True if public copies have not been checked for some time."""
        return time.monotonic() - self._looked > _PUBLISH

    def release(self, row: Submission) -> None:
        """Release the scores of a submission once all earlier ones are released."""
        for split in self.jobs.left(row):
            error = self.jobs.outcome(row, split)
            if error is None:  # the campaign file was edited, or a backup restored, meanwhile
                with self.claims.finishing(row) as (_, mine):
                    mine.state = "accepted"
                return
            if error:
                self.claims.fail(row, split, error)
                return
            if not self._release_split(row, split):
                return
        with self.claims.finishing(row) as (session, mine):
            mine.state, mine.finished, mine.tries = "scored", self.service.clock(), 0
            announce(session, self.campaign, mine, "scored", mine.finished)
            self.service.audit.record(self.claims.name, "scored", submission=mine.id, system=mine.name)
        remove(self.service.submissions_folder / row.id)

    def _release_split(self, row: Submission, name: str) -> bool:
        split = self.campaign.splits[name]
        with self.database.read() as session:
            against = {
                evaluation: {relation: other.number for relation, other in rival.items()}
                for evaluation, rival in rivals(session, row, name).items()
            }
            names = {other.number: other.name for other in session.scalars(select(Submission))}
        task = {
            **self.jobs.scoring,
            "split": name,
            "system": row.name,
            "readings": str(self.service.readings_folder),
            "store": str(self.service.stores_folder / f"{name}.zarr"),
            "scratch": str(self.jobs.scratch(row)),
            "others": {name: [names[number] for number in rival.values()] for name, rival in against.items()},
        }
        try:
            result = self.jobs.confinement.run("release", task, self.jobs.trusted(), beat=lambda: self.claims.beat(row))
        except (JobLimitError, JobRefusedError) as error:
            self.claims.fail(row, name, str(error))
            return False
        except SystemTroubleError:
            # The scores may be based on different references than the others: compute them again.
            (self.jobs.scratch(row) / f"{name}.json").unlink(missing_ok=True)
            raise
        with self.database.write() as session:
            mine = session.get_one(Submission, row.number)
            if mine.worker != self.claims.name or mine.state != row.state:
                raise LostClaimError(row.id)
            now = self.service.clock()
            release(session, mine, name, split, result["values"], self.campaign.rules, now)
            session.flush()
            judge(session, mine, name, split, against, result["comparisons"])
        return True

    def rescore(self) -> bool:
        """Score one submission by newer rules; their metrics become new columns."""
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
        with self.claims.retaken(row) as taken:
            if taken:
                error = self.jobs.compute(row, split)
                if error:
                    self.claims.fail(row, split, error)
                else:
                    self._release_split(row, split)
                remove(self.service.submissions_folder / row.id)
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
            store = self.service.stores_folder / f"{name}.zarr"
            target = target_of(store)
            if split.hidden or target is None:
                continue
            with self.database.read() as session:
                public = {
                    row.name: row.marks
                    for row in session.scalars(
                        select(Submission)
                        .where(
                            Submission.state == "scored",
                            Submission.visibility == "public",
                            Submission.disqualified == "",
                        )
                        .order_by(Submission.number)
                    )
                    if name in row.split_names
                }
                copied = session.get(PublicCopy, name)
            digest = hashlib.sha256(json.dumps([public, target.as_posix()]).encode()).hexdigest()
            if copied is not None and copied.digest == digest:
                continue
            task = {
                **self.jobs.scoring,
                "split": name,
                "systems": str(self.service.systems_folder),
                "readings": str(self.service.readings_folder),
                "store": str(store),
                "copy": str(self.service.public_folder / f"{name}.zarr"),
                "public": public,
            }
            try:
                self.jobs.confinement.run(
                    "publish", task, self.jobs.trusted(), beat=lambda: not self.claims.stopped.is_set()
                )
            except StoppedError:
                return False
            except (JobLimitError, JobRefusedError) as error:
                raise SystemTroubleError(str(error)) from None
            with self.database.write() as session:
                session.merge(PublicCopy(split=name, digest=digest, date=self.service.clock()))
            return True
        return False
