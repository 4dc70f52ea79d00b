"""Claims of workers: each submission has one worker at a time, and is given up, taken back or lost in order."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from mirflow.campaign.server.service import Service, make_backup, restore_backup
from mirflow.campaign.server.submission_pages import _status
from mirflow.campaign.server.submissions.entries import withdraw
from mirflow.campaign.server.submissions.jobs import Claims, Jobs
from mirflow.campaign.server.submissions.submission_tables import (
    Released,
    Scored,
    Submission,
    SubmissionProgress,
    Verdict,
)
from mirflow.campaign.server.submissions.worker import Worker
from mirflow.store.read import read_scores

from .campaigns import estimates, member, open_campaign, scores, state, submit, work_off, worker_of


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return open_campaign(tmp_path)


def withdraw_now(service: Service, id: str) -> None:
    viewer = member(service)
    with service.database.write() as session:
        withdraw(session.scalars(select(Submission).where(Submission.id == id)).one(), viewer, service.clock())


def files_of(service: Service, id: str) -> list[Path]:
    """What is kept of what was sent, before and after its check."""
    places = (service.folder_of("submissions") / id, service.folder_of("systems") / state(service, id).name)
    return [place for place in places if place.exists()]


def test_a_submission_that_is_withdrawn_before_its_check_ends_as_withdrawn(service, confinement):
    id, other = (submit(service, name, estimates()) for name in ("oak", "elm"))
    withdraw_now(service, id)
    work_off(worker_of(service, confinement))
    assert (state(service, id).state, files_of(service, id)) == ("withdrawn", [])
    assert state(service, other).state == "scored"
    assert "withdrawn" in [line["action"] for line in service.audit.read()]


def test_a_submission_that_is_withdrawn_between_check_and_scoring_ends_as_withdrawn(service, confinement):
    id, other = (submit(service, name, estimates()) for name in ("oak", "elm"))
    worker = worker_of(service, confinement)
    worker.step()
    assert (state(service, id).state, len(files_of(service, id))) == ("accepted", 1)
    withdraw_now(service, id)
    work_off(worker)
    assert (state(service, id).state, files_of(service, id), scores(service, id, "dev")) == ("withdrawn", [], {})
    assert (state(service, other).state, len(files_of(service, other))) == ("scored", 1)


@pytest.mark.parametrize(
    ("part", "step", "end"), [(Jobs, "compute", "withdrawn"), (Worker, "_release_split", "scored")]
)
def test_a_submission_can_be_withdrawn_until_its_scores_are_released(
    service, confinement, monkeypatch, part, step, end
):
    id, worker, real = submit(service, "oak", estimates()), worker_of(service, confinement), getattr(part, step)

    def withdraw_first(self: Jobs | Worker, row: Submission, name: str) -> Any:
        withdraw_now(service, id)
        assert not self.claims.give_up()
        return real(self, row, name)

    def abandoned(self: Claims, row: Submission, now: dt.datetime) -> bool:
        return row.lease is None  # as another worker sees it

    monkeypatch.setattr(part, step, withdraw_first)
    monkeypatch.setattr(Claims, "_abandoned", abandoned)
    work_off(worker)
    assert (state(service, id).state, len(files_of(service, id))) == (end, end == "scored")
    assert bool(scores(service, id, "dev")) == (end == "scored")


def test_what_a_worker_has_is_given_up_when_it_is_gone(service, confinement, tmp_path):
    id, waiting = (submit(service, name, estimates()) for name in ("a", "b"))
    worker = worker_of(service, confinement)
    with service.database.write() as session:
        taken = session.scalars(select(Submission).where(Submission.id == id)).one()
        taken.state, taken.worker, taken.lease = "checking", "elsewhere:1:x", service.clock() + worker.claims.lease
    withdraw_now(service, id)
    assert not worker.claims.give_up()
    made = make_backup(service, tmp_path / "a.tar.gz")
    assert made["submission"] == 2
    restore_backup(tmp_path / "a.tar.gz", tmp_path / "there")
    assert [one.name for one in (tmp_path / "there" / "submissions").iterdir()] == [waiting]
    service.clock.advance(seconds=31)
    assert worker.claims.give_up()
    assert (state(service, id).state, files_of(service, id)) == ("withdrawn", [])


def test_claims_of_a_worker_that_is_gone_are_taken_back(service, confinement):
    ids = [submit(service, name, estimates()) for name in ("a", "b")]
    gone = worker_of(service, confinement, "elsewhere:1:x")
    assert gone.claims.take() is not None
    worker = worker_of(service, confinement)
    work_off(worker)
    # The first is still the other worker's: it may be checked for long, and its scores are released first.
    assert [state(service, id).state for id in ids] == ["checking", "computed"]
    assert scores(service, ids[1], "dev") == {}
    with service.database.read() as session:
        assert _status(session, state(service, ids[1]))["before"] == 1
    service.clock.advance(seconds=31)
    work_off(worker)
    assert [state(service, id).state for id in ids] == ["scored", "scored"]


def test_a_scored_submission_is_taken_again_by_one_worker_at_a_time(service, confinement):
    row = state(service, submit(service, "oak", estimates()))
    first, second = (worker_of(service, confinement, f"elsewhere:1:{name}").claims for name in "xy")
    with first.retaken(row) as taken, second.retaken(row) as as_well:
        assert (taken, as_well) == (True, False)
        assert state(service, row.id).worker == first.name
    with second.retaken(row) as taken:
        assert taken
    assert state(service, row.id).worker == ""


def test_several_workers_score_at_once_and_release_in_order(tmp_path, confinement, monkeypatch):
    service = open_campaign(tmp_path)
    ids = [submit(service, name, estimates(wrong=6 - number), splits=["test"]) for number, name in enumerate("abc")]
    first, second = (worker_of(service, confinement, f"elsewhere:1:{name}") for name in "xy")
    real = Jobs.compute

    def compute(self: Jobs, row: Submission, name: str) -> str:
        if self is first.jobs and row.name == "a":
            # While the first is being scored, the second worker scores all that comes after it.
            work_off(second)
            assert [state(service, id).state for id in ids] == ["scoring", "computed", "computed"]
            assert [bool(scores(service, id, "test")) for id in ids] == [False] * 3
        return real(self, row, name)

    monkeypatch.setattr(Jobs, "compute", compute)
    for _ in ids:
        assert first.step()  # the checks
    first.step()
    work_off(second)
    assert [state(service, id).state for id in ids] == ["scored"] * 3
    with service.database.read() as session:
        released = session.execute(select(Released.submission_id, Released.improved).where(Released.headline)).all()
        compared = session.scalars(select(Verdict.submission_id)).all()
    numbers = [state(service, id).number for id in ids]
    assert released == [(number, True) for number in numbers]  # each is better than the one before
    assert compared == numbers[1:]


def test_scores_that_a_backup_lacks_are_computed_again(service, confinement, tmp_path):
    id, worker = submit(service, "oak", estimates()), worker_of(service, confinement)
    while state(service, id).state != "computed":
        assert worker.step()
    shutil.rmtree(service.folder_of("submissions") / id)
    work_off(worker)
    assert state(service, id).state == "scored"


def test_a_killed_worker_scores_once(service, confinement, monkeypatch):
    id = submit(service, "oak", estimates(), splits=["dev", "test"])
    worker = worker_of(service, confinement, "w")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mirflow.campaign.server.submissions.worker.release", killed)
        with pytest.raises(KeyboardInterrupt):
            work_off(worker)
    assert state(service, id).state == "releasing"
    assert read_scores(service.folder_of("stores") / "dev.zarr")["chord"]["system"].values.tolist() == ["oak"]
    work_off(worker)
    assert state(service, id).state == "scored"
    assert read_scores(service.folder_of("stores") / "dev.zarr")["chord"]["system"].values.tolist() == ["oak"]
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Scored)) == 2
        rows = session.execute(select(Released.split, Released.metric)).all()
    assert len(rows) == len(set(rows))


@pytest.mark.parametrize("lease", [dt.timedelta(seconds=30)])
def test_a_claim_that_is_lost_ends_quietly(service, confinement, lease, caplog):
    submit(service, "oak", estimates())
    worker = worker_of(service, confinement, "first:1:x")
    row = worker.claims.take()
    assert row is not None
    with service.database.write() as session:
        session.get_one(Submission, row.number).worker = "second:1:x"
    with worker.claims.held(row):
        worker.jobs.check(row)
    assert "was claimed by another worker" in caplog.text
    assert state(service, row.id).state == "checking"


def test_the_first_message_of_each_job_is_noted_at_once(service):
    claims, done = Claims(service), []
    submit(service, "oak", estimates())
    row = claims.take()
    for number in (1, 2):
        with claims.held(row):
            for message in (10 * number, 10 * number + 1):
                claims.progress(row, {"progress": message, "total": 30})
        with service.database.read() as session:
            done.append(session.get_one(SubmissionProgress, row.number).done)
    assert done == [10, 20]
