"""Publication of scores: released in the order of arrival, scored anew by later rules, and copied where public.

Scores are released one by one, as the ladder and the comparisons depend on their order. Public copies hold the public
systems of a split, and are made again as soon as other systems are public.
"""

from __future__ import annotations

import hashlib
import json
import os
import time

from sqlalchemy import select

from ....store.generations import remove
from .claims import Claims, LostClaimError
from .confinement import JobMemoryError, JobRefusedError, JobTimeoutError, StoppedError, SystemTroubleError
from .jobs import Jobs
from .notifications import announce
from .releases import judge, keep_true_scores, lacks_true_scores, release, rivals
from .submission_tables import PublicCopy, Released, Scored, Submission

_PUBLISH = 10.0
"""Seconds after which public copies are looked at while there is other work."""
_COPY_FORMAT = 3
"""Version of the contents of public copies: those of an earlier one are made again."""


class Publication:
    """What a worker does with scores that are computed.

    Parameters
    ----------
    claims : Claims
        Of the worker.
    jobs : Jobs
        Of the same worker.
    """

    def __init__(self, claims: Claims, jobs: Jobs) -> None:
        self.claims, self.jobs = claims, jobs
        self.service, self.campaign, self.database = claims.service, claims.campaign, claims.database
        self._recalled: set[tuple[int, str]] = set()
        self._looked = time.monotonic()

    @property
    def is_due(self) -> bool:
        """True if nobody has looked for a while at what is public."""
        return time.monotonic() - self._looked > _PUBLISH

    def release(self, row: Submission) -> None:
        """Release the scores of a submission, of which all earlier ones are released."""
        for split in self.jobs.left(row):
            error = self.jobs.outcome(row, split)
            if error is None:  # the campaign file was edited meanwhile, or a backup was restored
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
        """Join the scores of a submission to the store of a split, and release them; False if that is refused."""
        split = self.campaign.splits[name]
        with self.database.read() as session:
            against = {
                evaluation: {relation: other.number for relation, other in found.items()}
                for evaluation, found in rivals(session, row, name).items()
            }
            names = {one.number: one.name for one in session.scalars(select(Submission))}
        task = {
            **self.jobs.file,
            "split": name,
            "system": row.name,
            "readings": str(self.service.readings_folder),
            "store": str(self.service.stores_folder / f"{name}.zarr"),
            "scratch": str(self.jobs.scratch(row)),
            "others": {one: [names[number] for number in found.values()] for one, found in against.items()},
        }
        try:
            result = self.jobs.confinement.run("release", task, self.jobs.trusted(), beat=lambda: self.claims.beat(row))
        except (JobTimeoutError, JobMemoryError, JobRefusedError) as error:
            self.claims.fail(row, name, str(error))
            return False
        except SystemTroubleError:
            # The scores may be of references that are not those of the others: they are computed again.
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
        with self.claims.retaken(row) as taken:
            if taken:
                error = self.jobs.compute(row, split)
                if error:
                    self.claims.fail(row, split, error)
                else:
                    self._release_split(row, split)
                remove(self.service.submissions_folder / row.id)
        return taken

    def recall(self) -> bool:
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
        values = self.jobs.confinement.run(
            "recall", task, self.jobs.trusted(), beat=lambda: not self.claims.stopped.is_set()
        )["values"]
        with self.database.write() as session:
            keep_true_scores(session, row.submission_id, row.split, values)
        return True

    def lift(self) -> bool:
        """Make submissions public that were held until an embargo ended; False: there are none."""
        now, held = self.service.clock(), select(Submission).where(Submission.held)
        with self.database.read() as session:
            ended = [one.number for one in session.scalars(held) if not self.campaign.embargo(one.split_names, now)]
        if not ended:
            return False
        with self.database.write() as session:
            for row in session.scalars(held.where(Submission.number.in_(ended))):
                row.visibility, row.held = "public", False
                self.service.audit.record(self.claims.name, "end of embargo", submission=row.id, system=row.name)
        return True

    def publish(self) -> bool:
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
                **self.jobs.file,
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
            except (JobTimeoutError, JobMemoryError, JobRefusedError) as error:
                raise SystemTroubleError(str(error)) from None
            with self.database.write() as session:
                session.merge(PublicCopy(split=name, digest=digest, date=self.service.clock()))
            return True
        return False
