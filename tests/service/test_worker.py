"""Submissions are checked and scored in the order of their arrival, once each, whatever happens meanwhile."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sqlalchemy import delete, func, select

import mirflow
from mirflow import plugins
from mirflow.errors import MirflowError, PipelineError
from mirflow.evaluation import evaluate_paths
from mirflow.pipeline.campaign import campaign_digest
from mirflow.service.backup import make_backup, restore_backup
from mirflow.service.service import Service, open_service
from mirflow.service.submissions import entries
from mirflow.service.submissions.claims import Claims
from mirflow.service.submissions.comparison import track_changes
from mirflow.service.submissions.confinement import Confinement, Confines, JobError, SystemTroubleError
from mirflow.service.submissions.entries import (
    SubmissionError,
    findings_csv,
    findings_of,
    queue_place,
    set_visibility,
    withdraw,
)
from mirflow.service.submissions.jobs import Jobs
from mirflow.service.submissions.publication import Publication
from mirflow.service.submissions.scoring import publish_job
from mirflow.service.submissions.submission_tables import Released, Scored, Submission, Trouble, Verdict
from mirflow.service.submissions.worker import Worker, work
from mirflow.service.views import Views
from mirflow.store.read import read_attrs, read_scores
from mirflow.store.write import StoreWriter

from ..waiting import PATIENCE
from .accounts import BASE, Browser
from .campaigns import CAMPAIGN, estimates, member, open_campaign, scores, state, submit
from .processes import free_port


@pytest.fixture(scope="module")
def confinement() -> Iterator[Confinement]:
    with Confinement(["chord"]) as one:
        yield one


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return open_campaign(tmp_path)


def worker_of(service: Service, confinement: Confinement, name: str = "") -> Worker:
    worker = Worker(service, name)
    worker.jobs.confinement = confinement
    return worker


def test_a_submission_is_scored_by_the_usual_run(service: Service, confinement: Confinement, tmp_path: Path) -> None:
    id = submit(service, "oak", estimates(wrong=2))
    assert worker_of(service, confinement).work_off() > 0
    found = state(service, id)
    assert (found.state, found.files, found.rules, found.mirflow) == ("scored", 12, "2027-01", mirflow.__version__)
    assert len(found.digest) == 64
    folder = service.systems_folder / "oak"
    (tmp_path / "same").mkdir()
    for path in folder.glob("dev*.lab"):
        shutil.copy(path, tmp_path / "same")
    expected = evaluate_paths(tmp_path / "dev" / "reference", tmp_path / "same", "chord")
    own = mirflow.open_store(service.stores_folder / "dev.zarr")["chord"].to_dataset()
    np.testing.assert_array_equal(
        own.score.sel(system="oak").values, expected.score.isel(system=0).sel(metric=own.metric.values).values
    )
    released = scores(service, id, "dev")
    assert released["majmin"].headline
    assert released["majmin"].low is not None
    assert released["majmin"].value == pytest.approx(
        float((own.score * own.weight).sel(metric="majmin").sum() / own.weight.sel(metric="majmin").sum())
    )
    assert scores(service, id, "test") == {}


def test_metrics_of_ones_own_lie_beside_the_campaign_file(tmp_path: Path, confinement: Confinement) -> None:
    service = open_campaign(tmp_path, CAMPAIGN.replace("root]", '"my_metrics.py:labels"]'))
    (tmp_path / "my_metrics.py").write_text(
        "def labels(reference, labels, estimate, others):\n    return len(others)\n"
    )
    id = submit(service, "oak", estimates(wrong=2))
    assert worker_of(service, confinement).work_off() > 0
    assert state(service, id).state == "scored"
    copy = service.public_folder / "dev.zarr"
    chord = mirflow.open_store(copy)["chord"].to_dataset()
    assert set(chord.score.sel(metric="labels").values.ravel()) == {3}
    assert chord.attrs["pipeline"].count("my_metrics.py:labels") == 1
    assert not [path for path in copy.rglob("*") if path.is_file() and str(tmp_path).encode() in path.read_bytes()]


TAPS = """\
import mirflow

@mirflow.declare_reader("ticks")
def read_ticks(data):
    return [float(one) / 1000 for one in data.decode().split()]

def missing(reference, estimate):
    return max(len(reference) - len(estimate), 0) / len(reference), len(reference)

mirflow.declare_task(mirflow.pair_task("ticks", kind="events", metrics=[missing], title="Ticks"))
"""
TICKS = """\
campaign: Ticks
plugins: [ticks.py]
evaluations:
  - task: ticks
    reference: {path: "reference/{track}.ticks", format: ticks}
    estimates: {path: "{track}.ticks", format: ticks}
splits: {dev: dev}
visibility: public
execution: {scheduler: serial}
"""


class TestTasksAndReadersOfOnesOwn:
    @pytest.fixture
    def service(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
        monkeypatch.setattr(plugins, "_declared", {group: dict(names) for group, names in plugins._declared.items()})
        (tmp_path / "ticks.py").write_text(TAPS)
        service = open_campaign(tmp_path, TICKS)
        for number in range(2):
            (tmp_path / "dev" / "reference" / f"t{number}.ticks").write_text("500 1000\n")
        return service

    def test_they_check_and_score_what_is_submitted(self, service: Service) -> None:
        worker = Worker(service)
        with worker.jobs.confinement:
            good = submit(service, "oak", {"t0.ticks": "500 1000", "t1.ticks": "500"})
            bad = submit(service, "elm", {"t0.ticks": "500 1000", "t1.ticks": "now"})
            worker.work_off()
        assert (state(service, good).state, scores(service, good, "dev")["missing"].value) == ("scored", 0.25)
        assert state(service, bad).state == "refused"
        copy = service.public_folder / "dev.zarr"
        assert not [
            path for path in copy.rglob("*") if path.is_file() and str(service.folder).encode() in path.read_bytes()
        ]

    def test_a_file_that_is_broken_later_stops_the_queue_and_refuses_nobody(self, service: Service) -> None:
        worker, path = Worker(service), service.path
        assert path is not None
        path.with_name("ticks.py").write_text(TAPS + "1 / 0\n")
        id = submit(service, "oak", {"t0.ticks": "500 1000", "t1.ticks": "500"})
        with worker.jobs.confinement, pytest.raises(SystemTroubleError, match=r"ZeroDivisionError.*ticks\.py:11"):
            worker.work_off()
        assert (state(service, id).state, state(service, id).tries) == ("received", 0)


def test_tracks_of_other_splits_are_not_in_a_store(service: Service, confinement: Confinement) -> None:
    submit(service, "oak", estimates())
    worker_of(service, confinement).work_off()
    tracks = read_scores(service.stores_folder / "dev.zarr")["chord"]["track"].values.tolist()
    assert tracks == [f"dev{number}" for number in range(6)]


def test_files_of_another_split_are_not_counted(
    tmp_path: Path, confinement: Confinement, caplog: pytest.LogCaptureFixture
) -> None:
    service = open_campaign(tmp_path, CAMPAIGN.replace("    tracks: tracks.csv\n", ""))
    caplog.set_level("INFO", "mirflow.worker")
    submit(service, "oak", estimates(), splits=["dev"])
    worker_of(service, confinement).work_off()
    assert "dev: tracks scored: {'chord': 6}" in caplog.text


def test_one_submission_never_computes_another_again(
    service: Service, confinement: Confinement, caplog: pytest.LogCaptureFixture
) -> None:
    submit(service, "oak", estimates())
    worker_of(service, confinement).work_off()
    before = read_scores(service.stores_folder / "dev.zarr")["chord"]
    # Even where its files are gone: nothing of it is read.
    shutil.rmtree(service.systems_folder / "oak")
    caplog.set_level("INFO", "mirflow.worker")
    submit(service, "elm", estimates(wrong=3, splits=["dev"]))
    worker_of(service, confinement).work_off()
    assert "dev: tracks scored: {'chord': 6}" in caplog.text
    after = read_scores(service.stores_folder / "dev.zarr")["chord"]
    assert after["system"].values.tolist() == ["oak", "elm"]
    np.testing.assert_array_equal(after.score.sel(system="oak").values, before.score.sel(system="oak").values)


def test_what_cannot_be_scored_is_refused_with_file_and_line(service: Service, confinement: Confinement) -> None:
    assert service.database is not None
    files = {**estimates(), "dev3.lab": "0 10 C\n10 20 H:moll\n", "dev4.lab": "", "more/other.lab": "0 10 C\n"}
    del files["more/other.lab"]
    id = submit(service, "oak", {**files, "unknown.lab": "0 10 C\n"})
    worker_of(service, confinement).work_off()
    found = state(service, id)
    assert (found.state, found.errors) == ("refused", 1)
    assert "mend the files" in found.reason
    with service.database.read() as session:
        rows = {(one.path, one.line, one.severity, one.rule) for one in findings_of(session, found)}
        table = findings_csv(findings_of(session, found))
    assert ("dev3.lab", 2, "error", "label") in rows
    assert ("dev4.lab", None, "warning", "empty") in rows
    assert ("unknown.lab", None, "warning", "unknown_track") in rows
    assert table.startswith("path,line,severity,rule,message\n")
    assert not (service.stores_folder / "dev.zarr").exists()
    assert list(service.submissions_folder.iterdir()) == []
    # The name is free, and the mended one is taken.
    again = submit(service, "oak", estimates())
    worker_of(service, confinement).work_off()
    assert state(service, again).state == "scored"


def test_missing_tracks_are_named_and_count_as_zero(service: Service, confinement: Confinement) -> None:
    assert service.database is not None
    files = estimates(splits=["dev"])
    whole = submit(service, "whole", files)
    del files["dev0.lab"]
    id = submit(service, "part", files)
    worker_of(service, confinement).work_off()
    with service.database.read() as session:
        (finding,) = findings_of(session, state(service, id))
    assert finding.message == "1 of 6 tracks of dev (chord) have no estimate: dev0; they count as zero"
    values = [scores(service, one, "dev")["root"].value for one in (whole, id)]
    assert values[1] == pytest.approx(5 / 6 * (values[0] or 0))


def test_files_of_no_track_are_refused_before_anything_is_scored(service: Service, confinement: Confinement) -> None:
    assert service.database is not None
    files = {name.title(): text for name, text in estimates(splits=["dev"]).items()}
    id = submit(service, "Capitals", {name.replace(".Lab", ".lab"): text for name, text in files.items()})
    worker_of(service, confinement).work_off()
    assert state(service, id).state == "refused"
    with service.database.read() as session:
        found = findings_of(session, state(service, id))
    assert found[0].message == (
        "6 of 6 tracks of dev (chord) have no estimate: dev0, dev1, dev2, dev3, dev4, dev5; files have the names of "
        "the tracks, case included"
    )
    assert "did you mean 'dev0'" in next(one.message for one in found if one.path == "Dev0.lab")


def test_names_are_given_once_and_quotas_kept(service: Service) -> None:
    submit(service, "oak", estimates())
    with pytest.raises(SubmissionError, match="there is a submission 'OAK'; submissions are never changed"):
        submit(service, "OAK", estimates())
    for name in ("", "a/b", "con", "nul.x", "-a", "a.", "é", "x" * 65):
        with pytest.raises(SubmissionError, match="not a name of a system"):
            submit(service, name, estimates())
    with pytest.raises(SubmissionError, match="unknown split 'tst'; did you mean 'test'"):
        submit(service, "elm", estimates(), splits=["tst"])
    for name in ("t1", "t2", "t3"):
        submit(service, name, estimates(), splits=["test"])
    with pytest.raises(SubmissionError, match=r"3 of 3 submissions to test in this month are used; .*2027-02-01"):
        submit(service, "t4", estimates(), splits=["test"])
    submit(service, "t4", estimates(), splits=["test"], who="bob")
    service.clock.advance(days=31)  # type: ignore[attr-defined]
    submit(service, "t5", estimates(), splits=["test"])


def test_one_account_does_not_fill_the_queue(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MOST_WAITING", 2)
    for name in ("a", "b"):
        submit(service, name, estimates())
    with pytest.raises(SubmissionError, match="2 of your submissions wait already"):
        submit(service, "c", estimates())
    submit(service, "c", estimates(), who="bob")


def test_refused_submissions_do_not_count(service: Service, confinement: Confinement) -> None:
    for number in range(4):
        submit(service, f"bad{number}", {"dev0.lab": "0 10 H:moll\n"}, splits=["test"])
        worker_of(service, confinement).work_off()
    submit(service, "good", estimates(), splits=["test"])


def test_submissions_have_their_days(tmp_path: Path) -> None:
    service = open_campaign(tmp_path, CAMPAIGN + "opens: 2027-01-02\ncloses: 2027-01-03\n")
    with pytest.raises(SubmissionError, match="submissions to dev open at 2027-01-02 00:00 UTC"):
        submit(service, "oak", estimates())
    service.clock.advance(days=2, hours=23)  # type: ignore[attr-defined]
    submit(service, "oak", estimates())
    service.clock.advance(hours=1)  # type: ignore[attr-defined]
    with pytest.raises(SubmissionError, match="submissions to dev closed at 2027-01-03 23:59 UTC"):
        submit(service, "elm", estimates())


def test_a_submission_is_compared_with_earlier_ones_and_the_leader(service: Service, confinement: Confinement) -> None:
    assert service.database is not None
    submit(service, "theirs", estimates(), who="bob")
    submit(service, "oak", estimates(wrong=6))
    id = submit(service, "oak-2", estimates())
    submit(service, "secret", estimates(), who="eve", visibility="private")
    worker_of(service, confinement).work_off()
    with service.database.read() as session:
        found = session.scalars(select(Verdict).where(Verdict.submission_id == state(service, id).number)).all()
        told = {one.relation: (one.other.name, one.outcome) for one in found}
    assert told == {"own": ("oak", "better"), "leader": ("theirs", "not told apart")}
    ds = read_scores(service.stores_folder / "dev.zarr")["chord"]
    changes = track_changes(ds, "oak-2", "oak", "majmin")
    assert (changes.better, changes.worse, changes.same) == (6, 0, 0)
    assert changes.changes[0].difference is not None
    assert changes.changes[0].difference > 0


def test_what_is_public_is_copied_and_nothing_else(service: Service, confinement: Confinement) -> None:
    assert service.database is not None
    worker, copy = worker_of(service, confinement), service.public_folder / "dev.zarr"
    ids = [submit(service, name, estimates(), visibility=seen) for name, seen in (("a", "public"), ("b", "private"))]
    worker.work_off()
    ds = read_scores(copy)["chord"]
    assert ds["system"].values.tolist() == ["a"]
    assert ds["submitted"].values.tolist() == ["2027-01-01"]
    for path in copy.resolve().rglob("zarr.json"):
        assert str(service.folder) not in path.read_text()
    viewer = member(service)
    with service.database.write() as session:
        for id in ids:
            row = session.scalars(select(Submission).where(Submission.id == id)).one()
            set_visibility(service.campaign, row, viewer, "public", service.clock())
            if row.name == "a":
                withdraw(row, viewer, service.clock())
    assert worker.work_off() == 1
    ds = read_scores(copy)["chord"]
    assert ds["system"].values.tolist() == ["a", "b"]
    assert ds["withdrawn"].values.tolist() == ["2027-01-01", ""]
    assert worker.work_off() == 0
    generation = copy.resolve()
    submit(service, "c", estimates(wrong=1), visibility="private")
    worker.work_off()
    assert copy.resolve() == generation  # nothing that readers see has changed


@pytest.mark.parametrize("name", ["lab #2", "lab: 2", "lab's"])
def test_no_copy_and_no_view_names_the_folder_of_the_campaign(
    tmp_path: Path, confinement: Confinement, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    service = open_campaign(folder)
    submit(service, "oak", estimates())
    submit(service, "elm", estimates(wrong=1), visibility="private")
    worker_of(service, confinement).work_off()
    held = [path.read_text() for path in (service.public_folder / "dev.zarr").resolve().rglob("zarr.json")]
    held.append(Views(service).ask("dev", member(service), lambda seen: json.dumps(seen.nodes)))
    assert len(held) > 1
    for text in held:
        assert json.dumps(str(tmp_path))[1:-1] not in text
        assert name not in text


def test_what_was_sent_is_parsed_in_confined_processes_alone(service: Service, confinement: Confinement) -> None:
    for name, wrong in (("oak", 2), ("elm", 0)):
        submit(service, name, estimates(wrong=wrong))
    worker_of(service, confinement).work_off()
    client, address = Browser(service), "/stores/dev/report/tracks/dev0.json"
    before = client.get(address).json()
    assert [place for _, one in before["evaluations"] for place in one["estimates"]] == [1, 2]
    assert next(len(one["evidence"][0]) for _, one in before["evaluations"]) == 2
    scores = read_scores(service.stores_folder / "dev.zarr")["chord"]["score"].values
    # From now on whatever opens a file that was sent fails, but for the confined process that reads it.
    for path in service.systems_folder.rglob("*.lab"):
        path.write_bytes(b"\x00")
    again = open_service([str(service.path)], BASE)
    assert Browser(again).get(address).json() == before
    (service.stores_folder / "dev.zarr").unlink()
    for one in ("oak", "elm"):
        rescored = [row.name for row in released_again(service, one)]
        assert rescored == [one]
    worker_of(again, confinement).work_off()
    assert read_scores(service.stores_folder / "dev.zarr")["chord"]["score"].values.tolist() == scores.tolist()


def released_again(service: Service, name: str) -> list[Submission]:
    """Let a submission be scored again as if it had just been checked."""
    assert service.database is not None
    with service.database.write() as session:
        rows = session.scalars(select(Submission).where(Submission.name == name)).all()
        for row in rows:
            for other in (Verdict, Released, Scored):
                session.execute(delete(other).where(other.submission_id == row.number))
            row.state = "accepted"
        return [*rows]


def test_what_was_scored_before_readings_were_kept_is_read_when_a_worker_begins(
    service: Service, confinement: Confinement
) -> None:
    submit(service, "oak", estimates(wrong=2))
    worker_of(service, confinement).work_off()
    address = "/stores/dev/report/tracks/dev0.json"
    before = Browser(service).get(address).json()
    shutil.rmtree(service.readings_folder / "oak")
    worker_of(service, confinement).work_off()
    assert (service.readings_folder / "oak" / "dev" / "chord.readings").is_file()
    assert Browser(open_service([str(service.path)], BASE)).get(address).json() == before


def test_what_is_no_longer_public_is_in_no_generation_of_the_copy(service: Service, confinement: Confinement) -> None:
    assert service.database is not None
    worker, client = worker_of(service, confinement), Browser(service)
    submit(service, "oak", estimates(wrong=2))
    id = submit(service, "elm", estimates())
    worker.work_off()
    token = client.get("/api/v1/stores/dev", headers={"Accept": "application/json"}).json()["generation"]
    pinned, viewer = f"/stores/dev@{token}.zarr/chord/zarr.json", member(service)
    assert client.get(pinned).status_code == 200
    assert "elm" in client.get("/feed.xml").text
    with service.database.write() as session:
        row = session.scalars(select(Submission).where(Submission.id == id)).one()
        set_visibility(service.campaign, row, viewer, "private", service.clock())
    worker.work_off()
    assert client.get(pinned).status_code == 410
    assert len([*(service.public_folder / ".dev.zarr.d").glob("generation-*")]) == 1
    assert "elm" not in client.get("/feed.xml").text


def test_the_feed_keeps_what_earlier_publications_changed(service: Service, confinement: Confinement) -> None:
    assert service.database is not None
    worker, client, viewer = worker_of(service, confinement), Browser(service), member(service)
    ids = {}

    def entries() -> dict[str, str]:
        root = ElementTree.fromstring(client.get("/feed.xml").text)
        atom = "{http://www.w3.org/2005/Atom}"
        return {
            one.findtext(f"{atom}id", ""): f"{one.findtext(f'{atom}title')}: {one.findtext(f'{atom}content')}"
            for one in root.iter(f"{atom}entry")
        }

    seen: dict[str, str] = {}
    for number, name in enumerate(("oak", "elm", "ash", "fir")):
        ids[name] = submit(service, name, estimates(wrong=number), visibility="public")
        worker.work_off()
        assert seen.items() <= entries().items(), "an entry stays what it was"
        seen = entries()
        assert len(seen) == number + 1
    told = list(seen.values())
    assert [sum(f"new: {name}" in one for one in told) for name in ids] == [0, 1, 1, 1]
    assert sum("new, 1 system on 6 tracks" in one and "leads: oak" in one for one in told) == 1
    for name, change in (("elm", withdraw), ("ash", partial(set_visibility, service.campaign, visibility="private"))):
        with service.database.write() as session:
            row = session.scalars(select(Submission).where(Submission.id == ids[name])).one()
            change(row, viewer=viewer, now=service.clock())
        worker.work_off()
        assert name not in " ".join(entries().values())
        assert name not in json.dumps(read_attrs(service.public_folder / "dev.zarr")["changes"])
    assert any("new: fir" in one for one in entries().values())
    assert entries().items() <= seen.items()


def test_messages_of_what_is_public_name_no_folder_of_the_server(service: Service, confinement: Confinement) -> None:
    submit(service, "a", estimates() | {"dev0.lab": ""}, visibility="public")
    worker_of(service, confinement).work_off()
    messages = read_scores(service.public_folder / "dev.zarr")["chord"]["message"].values.ravel().tolist()
    told = [one for one in messages if one]
    assert told
    for one in told:
        assert one.startswith("a/dev0.lab:")
        assert ".." not in one


def test_only_who_sent_a_submission_changes_it(service: Service) -> None:
    found = state(service, submit(service, "oak", estimates()))
    for viewer in (None, member(service, "eve")):
        with pytest.raises(SubmissionError, match="only who sent"):
            withdraw(found, viewer, service.clock())
        with pytest.raises(SubmissionError, match="only who sent"):
            set_visibility(service.campaign, found, viewer, "private", service.clock())
    with pytest.raises(SubmissionError, match="unknown visibility 'privat'"):
        set_visibility(service.campaign, found, member(service), "privat", service.clock())


def withdraw_now(service: Service, id: str) -> None:
    assert service.database is not None
    viewer = member(service)
    with service.database.write() as session:
        withdraw(session.scalars(select(Submission).where(Submission.id == id)).one(), viewer, service.clock())


def files_of(service: Service, id: str) -> list[Path]:
    """What is kept of what was sent, before and after its check."""
    places = (service.submissions_folder / id, service.systems_folder / state(service, id).name)
    return [place for place in places if place.exists()]


def test_a_submission_that_is_withdrawn_before_its_check_ends_as_withdrawn(
    service: Service, confinement: Confinement
) -> None:
    id, other = (submit(service, name, estimates()) for name in ("oak", "elm"))
    withdraw_now(service, id)
    worker_of(service, confinement).work_off()
    assert (state(service, id).state, files_of(service, id)) == ("withdrawn", [])
    assert state(service, other).state == "scored"
    assert "withdrawn" in [line["action"] for line in service.audit.read()]


def test_a_submission_that_is_withdrawn_between_check_and_scoring_ends_as_withdrawn(
    service: Service, confinement: Confinement
) -> None:
    id, other = (submit(service, name, estimates()) for name in ("oak", "elm"))
    worker = worker_of(service, confinement)
    worker.step()
    assert (state(service, id).state, len(files_of(service, id))) == ("accepted", 1)
    withdraw_now(service, id)
    worker.work_off()
    assert (state(service, id).state, files_of(service, id), scores(service, id, "dev")) == ("withdrawn", [], {})
    assert (state(service, other).state, len(files_of(service, other))) == ("scored", 1)


@pytest.mark.parametrize(
    ("part", "step", "end"), [(Jobs, "compute", "withdrawn"), (Publication, "_release_split", "scored")]
)
def test_a_submission_can_be_withdrawn_until_its_scores_are_released(
    service: Service, confinement: Confinement, monkeypatch: pytest.MonkeyPatch, part: type, step: str, end: str
) -> None:
    id, worker, real = submit(service, "oak", estimates()), worker_of(service, confinement), getattr(part, step)

    def withdraw_first(self: Jobs | Publication, row: Submission, name: str) -> Any:
        withdraw_now(service, id)
        assert not self.claims.give_up()
        return real(self, row, name)

    def abandoned(self: Claims, row: Submission, now: dt.datetime) -> bool:
        return row.lease is None  # as another worker sees it

    monkeypatch.setattr(part, step, withdraw_first)
    monkeypatch.setattr(Claims, "_abandoned", abandoned)
    worker.work_off()
    assert (state(service, id).state, len(files_of(service, id))) == (end, end == "scored")
    assert bool(scores(service, id, "dev")) == (end == "scored")


def test_what_a_worker_has_is_given_up_when_it_is_gone(
    service: Service, confinement: Confinement, tmp_path: Path
) -> None:
    assert service.database is not None
    id, waiting = (submit(service, name, estimates()) for name in ("a", "b"))
    worker = worker_of(service, confinement)
    with service.database.write() as session:
        taken = session.scalars(select(Submission).where(Submission.id == id)).one()
        taken.state, taken.worker, taken.lease = "checking", "elsewhere:1:x", service.clock() + worker.claims.lease
    withdraw_now(service, id)
    assert not worker.claims.give_up()
    made = make_backup(service, tmp_path / "a.tar.gz")
    assert made.submissions == 2
    restore_backup(tmp_path / "a.tar.gz", tmp_path / "there")
    assert [one.name for one in (tmp_path / "there" / "submissions").iterdir()] == [waiting]
    service.clock.advance(seconds=31)  # type: ignore[attr-defined]
    assert worker.claims.give_up()
    assert (state(service, id).state, files_of(service, id)) == ("withdrawn", [])


def test_claims_of_a_worker_that_is_gone_are_taken_back(service: Service, confinement: Confinement) -> None:
    assert service.database is not None
    ids = [submit(service, name, estimates()) for name in ("a", "b")]
    gone = worker_of(service, confinement, "elsewhere:1:x")
    assert gone.claims.take() is not None
    worker = worker_of(service, confinement)
    worker.work_off()
    # The first is still the other worker's: it may be checked for long, and its scores are released first.
    assert [state(service, id).state for id in ids] == ["checking", "computed"]
    assert scores(service, ids[1], "dev") == {}
    with service.database.read() as session:
        assert queue_place(session, state(service, ids[1])) == 1
    service.clock.advance(seconds=31)  # type: ignore[attr-defined]
    worker.work_off()
    assert [state(service, id).state for id in ids] == ["scored", "scored"]


def test_several_workers_score_at_once_and_release_in_order(
    tmp_path: Path, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = open_campaign(tmp_path)
    assert service.database is not None
    ids = [submit(service, name, estimates(wrong=6 - number), splits=["test"]) for number, name in enumerate("abc")]
    first, second = (worker_of(service, confinement, f"elsewhere:1:{name}") for name in "xy")
    real = Jobs.compute

    def compute(self: Jobs, row: Submission, name: str) -> str:
        if self is first.jobs and row.name == "a":
            # While the first is being scored, the second worker scores all that comes after it.
            second.work_off()
            assert [state(service, id).state for id in ids] == ["scoring", "computed", "computed"]
            assert [bool(scores(service, id, "test")) for id in ids] == [False] * 3
        return real(self, row, name)

    monkeypatch.setattr(Jobs, "compute", compute)
    for _ in ids:
        assert first.step()  # the checks
    first.step()
    second.work_off()
    assert [state(service, id).state for id in ids] == ["scored"] * 3
    with service.database.read() as session:
        released = session.execute(select(Released.submission_id, Released.improved).where(Released.headline)).all()
        compared = session.scalars(select(Verdict.submission_id)).all()
    numbers = [state(service, id).number for id in ids]
    assert released == [(number, True) for number in numbers]  # each is better than the one before
    assert compared == numbers[1:]


def test_scores_that_a_backup_lacks_are_computed_again(
    service: Service, confinement: Confinement, tmp_path: Path
) -> None:
    id, worker = submit(service, "oak", estimates()), worker_of(service, confinement)
    while state(service, id).state != "computed":
        assert worker.step()
    shutil.rmtree(service.submissions_folder / id)
    worker.work_off()
    assert state(service, id).state == "scored"


def test_a_killed_worker_scores_once(
    service: Service, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service.database is not None
    id = submit(service, "oak", estimates(), splits=["dev", "test"])
    worker = worker_of(service, confinement, "w")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mirflow.service.submissions.publication.release", killed)
        with pytest.raises(KeyboardInterrupt):
            worker.work_off()
    assert state(service, id).state == "releasing"
    assert read_scores(service.stores_folder / "dev.zarr")["chord"]["system"].values.tolist() == ["oak"]
    worker.work_off()
    assert state(service, id).state == "scored"
    assert read_scores(service.stores_folder / "dev.zarr")["chord"]["system"].values.tolist() == ["oak"]
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Scored)) == 2
        rows = session.execute(select(Released.split, Released.metric)).all()
    assert len(rows) == len(set(rows))


def test_new_rules_are_new_columns_and_old_scores_stay(
    service: Service, confinement: Confinement, tmp_path: Path
) -> None:
    service = open_campaign(tmp_path / "new")
    id = submit(service, "oak", estimates(wrong=1))
    worker_of(service, confinement).work_off()
    before = read_scores(service.stores_folder / "dev.zarr")["chord"].load()
    assert service.path is not None
    path = service.path
    path.write_text(path.read_text().replace("[majmin, root]", "[majmin, root, sevenths]"))
    with pytest.raises(MirflowError, match=r"the rules still have the version '2027-01'"):
        worker_of(open_service([path]), confinement).work_off()
    path.write_text(path.read_text().replace("2027-01", "2027-02"))
    again = open_service([path])
    worker_of(again, confinement).work_off()
    after = read_scores(service.stores_folder / "dev.zarr")["chord"]
    assert after["metric"].values.tolist() == ["majmin", "root", "sevenths"]
    np.testing.assert_array_equal(after.score.sel(metric=["majmin", "root"]).values, before.score.values)
    assert np.isfinite(after.score.sel(metric="sevenths").values).all()
    rows = scores(again, id, "dev")
    assert {name: row.rules for name, row in rows.items()} == {
        "majmin": "2027-01",
        "root": "2027-01",
        "sevenths": "2027-02",
    }
    assert state(again, id).rules == "2027-01"


def test_an_edited_campaign_stops_the_worker_until_it_is_put_back(
    service: Service, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = worker_of(service, confinement)
    id = submit(service, "oak", estimates())
    worker.prepare()
    assert worker.step()  # the check
    assert service.path is not None
    text = service.path.read_text()
    edited = text.replace("[majmin, root]", "[majmin]")
    service.path.write_text(edited)
    with pytest.raises(PipelineError, match="was edited since the worker began: start server and worker again"):
        worker.step()
    # Between the worker's look and the job's own.
    monkeypatch.setattr("mirflow.service.submissions.worker.demand_unedited", lambda **_: None)
    with pytest.raises(SystemTroubleError, match="was edited since the worker began"):
        worker.step()
    assert state(service, id).state == "accepted"
    assert not (service.stores_folder / "dev.zarr").exists()
    service.path.write_text(text)
    worker.work_off()
    assert set(scores(service, id, "dev")) == {"majmin", "root"}


def test_changed_references_stop_the_worker_until_they_are_back(
    service: Service, confinement: Confinement, tmp_path: Path
) -> None:
    worker = worker_of(service, confinement)
    submit(service, "oak", estimates())
    worker.work_off()
    reference = tmp_path / "dev" / "reference" / "dev0.lab"
    text = reference.read_text()
    reference.write_text("0 30 D\n")
    id = submit(service, "elm", estimates())
    with pytest.raises(SystemTroubleError, match="the reference of track 'dev0' is another one"):
        worker.work_off()
    assert state(service, id).state == "computed"
    reference.write_text(text)
    worker.work_off()
    assert state(service, id).state == "scored"


def test_a_reference_that_is_gone_stops_the_worker_until_it_is_back(
    service: Service, confinement: Confinement, tmp_path: Path
) -> None:
    worker = worker_of(service, confinement)
    submit(service, "oak", estimates())
    worker.work_off()
    reference, aside = tmp_path / "dev" / "reference" / "dev0.lab", tmp_path / "dev0.lab"
    reference.rename(aside)
    id = submit(service, "elm", estimates())
    with pytest.raises(SystemTroubleError, match=r"track 'dev0', with which others were scored, is gone"):
        worker.work_off()
    assert state(service, id).state == "computed"
    aside.rename(reference)
    worker.work_off()
    assert state(service, id).state == "scored"


@pytest.mark.slow  # ten seconds of trying
def test_a_cluster_that_does_not_answer_is_waited_for(confinement: Confinement, tmp_path: Path) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    service = open_campaign(tmp_path, CAMPAIGN.replace("serial", address))
    worker = worker_of(service, confinement)
    id = submit(service, "oak", estimates())
    with pytest.raises(SystemTroubleError, match=f"no dask scheduler answers at {address}"):
        worker.work_off()
    assert (state(service, id).state, state(service, id).tries) == ("accepted", 0)


def test_trouble_is_told_and_waited_out(
    service: Service, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service.database is not None
    worker = worker_of(service, confinement)
    submit(service, "oak", estimates())
    steps = iter([OSError(28, "No space left on device"), True])

    def step() -> bool:
        one = next(steps, None)
        if one is None:
            worker.stop()
            return False
        if isinstance(one, Exception):
            raise one
        with worker.database.read() as session:
            told.extend(session.scalars(select(Trouble.message)))
        return True

    told: list[str] = []
    monkeypatch.setattr(worker, "step", step)
    monkeypatch.setattr(worker.claims.stopped, "wait", lambda seconds: waits.append(seconds))
    waits: list[float] = []
    worker.run()
    assert "No space left" in told[0]
    assert waits[0] == 1.0
    with service.database.read() as session:
        assert session.scalars(select(Trouble)).all() == []


@pytest.mark.timeout(PATIENCE)
def test_a_signal_stops_a_worker_whatever_it_interrupts(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    def run(worker: Worker) -> None:
        with worker.claims.stopped._cond:  # type: ignore[attr-defined] # as a wait that begins or ends has it
            signal.raise_signal(signal.SIGTERM)
        told.append(worker.claims.stopped.wait(PATIENCE))

    monkeypatch.setattr(Worker, "run", run)
    usual = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        work(service)
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
    assert told == [True]


def test_a_copy_that_another_worker_writes_is_waited_for(service: Service, confinement: Confinement) -> None:
    submit(service, "oak", estimates())
    worker_of(service, confinement).work_off()
    assert service.path is not None
    copy = service.public_folder / "dev.zarr"
    task = {
        "path": str(service.path), "digest": campaign_digest(service.path), "split": "dev", "public": {"oak": {}},
        "systems": str(service.systems_folder), "readings": str(service.readings_folder),
        "store": str(service.stores_folder / "dev.zarr"), "copy": str(copy),
    }  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        with StoreWriter(copy):
            made = pool.submit(publish_job, task, lambda _: None)
            assert wait([made], timeout=1).not_done
        assert made.result() == {"systems": 1}


def test_the_trouble_of_a_worker_that_is_gone_ends_with_the_next_one(
    service: Service, confinement: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service.database is not None
    with service.database.write() as session:
        session.add(Trouble(id=1, message="no disk", since=service.clock()))
    worker = worker_of(service, confinement)
    monkeypatch.setattr(worker, "step", worker.stop)
    worker.run()
    with service.database.read() as session:
        assert session.scalars(select(Trouble)).all() == []


def test_a_submission_that_breaks_the_check_is_refused_in_the_end(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, other = (submit(service, name, estimates()) for name in ("bad", "good"))
    worker = Worker(service)
    run = worker.jobs.confinement.run

    def broken(job: str, task: dict[str, object], *rest: object, **more: object) -> object:
        if job == "check" and id in str(task["out"]):
            raise JobError("ended without a result")
        return run(job, task, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(worker.jobs.confinement, "run", broken)
    with worker.jobs.confinement:
        worker.work_off()
    assert (state(service, id).state, state(service, other).state) == ("refused", "scored")


def test_a_job_is_confined(confinement: Confinement, tmp_path: Path) -> None:
    task = {"path": str(tmp_path / "nothing.yaml"), "digest": "", "splits": []}
    with pytest.raises(SystemTroubleError, match="No such file"):
        confinement.run("tracks", task, Confines(10))
    held = confinement.run("hold", {"inside": str(tmp_path)}, Confines(10, 10**9, 10**6, writable=(str(tmp_path),)))
    assert {"files", "time", "memory", "sizes"} <= set(held["held"])
    if "network" in held["held"]:
        assert held["network"] != "connected"
    if "folders" in held["held"]:
        assert held["outside"] == "refused"
    assert held["inside"] == "written"
    assert held["environment"] == 0
    assert held["memory"] == "refused"


@pytest.mark.parametrize("lease", [dt.timedelta(seconds=30)])
def test_a_claim_that_is_lost_ends_quietly(
    service: Service, confinement: Confinement, lease: dt.timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    assert service.database is not None
    submit(service, "oak", estimates())
    worker = worker_of(service, confinement, "first:1:x")
    row = worker.claims.take()
    assert row is not None
    with service.database.write() as session:
        session.get_one(Submission, row.number).worker = "second:1:x"
    with worker.claims.held(row):
        worker.jobs.check(row)
    assert "was taken by another worker" in caplog.text
    assert state(service, row.id).state == "checking"


def test_organisers_alone_see_why_nothing_is_scored(service: Service) -> None:
    assert service.database is not None
    with service.database.write() as session:
        session.add(Trouble(id=1, message="test0.lab: <gone>", since=service.clock()))
    told = {
        role: Browser(service, f"a {role}", role).get("/submissions/").text  # type: ignore[arg-type]
        for role in ("organiser", "submitter")
    }
    assert (
        "Nothing is scored since 2027-01-01 00:00 (UTC), and it is tried again: test0.lab: &lt;gone&gt;"
        in told["organiser"]
    )
    assert "Nothing is scored" not in told["submitter"]


def test_an_upload_that_is_gone_or_cannot_be_written_does_not_stop_the_queue(
    service: Service, confinement: Confinement
) -> None:
    gone, odd, good = (submit(service, name, estimates()) for name in ("gone", "odd", "good"))
    shutil.rmtree(service.submissions_folder / gone)
    (service.submissions_folder / odd / "received" / "000000").unlink()
    worker_of(service, confinement).work_off()
    assert [state(service, id).state for id in (gone, odd, good)] == ["refused", "refused", "scored"]


def test_a_track_that_changed_leads_to_the_second_from_which_it_did(service: Service, confinement: Confinement) -> None:
    worker = worker_of(service, confinement)
    submit(service, "oak", estimates(wrong=2), visibility="private")
    worker.work_off()
    id = submit(service, "elm", estimates(), visibility="public")
    worker.work_off()
    ada = Browser(service, "ada", "submitter")
    page = ada.get(f"/submissions/{id}/").text
    links = re.findall(r'href="(/submissions/\w+/changes/[^"]*)"', page)
    assert [one.partition("/changes/")[2] for one in links] == ["dev/chord/dev0/oak", "dev/chord/dev1/oak"]
    answer = ada.get(links[0])
    assert answer.status_code == 303
    assert answer.headers["location"] == "/stores/dev/#evaluation=chord&metric=majmin&track=dev0&time=10&ear=elm"
    # The earlier one is private: nobody else learns when it differs, or that there is one.
    for other in (Browser(service, "bob", "submitter"), Browser(service)):
        assert "/changes/" not in other.get(f"/submissions/{id}/").text
        assert other.get(links[0]).status_code == 404
    for address in ("dev/chord/dev0/elm", "test/chord/test0/oak", "dev/chords/dev0/oak", "dev/chord/dev0/nobody"):
        assert ada.get(f"/submissions/{id}/changes/{address}").status_code == 404
    assert ada.get(f"/submissions/{id}/changes/dev/chord/nothing/oak").headers["location"].endswith("/tracks/nothing/")
    service.without_references = True
    again = Browser(service, "ada", "submitter").get(links[0])
    assert again.headers["location"] == "/stores/dev/chord/tracks/dev0/"
