"""Submissions are checked and scored in the order of their arrival, once each, whatever happens meanwhile."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import xarray as xr
from sqlalchemy import select

import mirflow
from mirflow import evaluate_paths, plugins
from mirflow.campaign.file import campaign_digest
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions import entries
from mirflow.campaign.server.submissions import worker as worker_module
from mirflow.campaign.server.submissions.confinement import Confinement, Confines, JobError, SystemTroubleError
from mirflow.campaign.server.submissions.entries import SubmissionError, findings_of, set_visibility, withdraw
from mirflow.campaign.server.submissions.releases import track_changes
from mirflow.campaign.server.submissions.scoring import publish_job
from mirflow.campaign.server.submissions.submission_tables import Submission, SubmissionProgress, Trouble, Verdict
from mirflow.campaign.server.submissions.worker import Worker, attached_workers, work
from mirflow.errors import MirflowError, PipelineError
from mirflow.store.read import read_scores
from mirflow.store.write import StoreWriter

from ...waiting import PATIENCE, until
from .accounts import Browser
from .campaigns import CAMPAIGN, estimates, member, open_campaign, scores, state, submit, work_off, worker_of
from .databases import stored
from .processes import free_port


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return open_campaign(tmp_path)


def test_a_submission_is_scored_by_the_usual_run(service, confinement, tmp_path):
    id = submit(service, "oak", estimates(wrong=2))
    assert work_off(worker_of(service, confinement)) > 0
    found = state(service, id)
    assert (found.state, found.files, found.rules, found.mirflow) == ("scored", 12, "2027-01", mirflow.__version__)
    assert len(found.digest) == 64
    folder = service.folder_of("systems") / "oak"
    (tmp_path / "same").mkdir()
    for path in folder.glob("dev*.lab"):
        shutil.copy(path, tmp_path / "same")
    expected = evaluate_paths(tmp_path / "dev" / "reference", tmp_path / "same", "chord")
    own = mirflow.open_store(service.folder_of("stores") / "dev.zarr")["chord"].to_dataset()
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


def test_the_progress_of_a_submission_ends_with_it(service, confinement):
    id = submit(service, "oak", estimates())
    with service.database.write() as session:
        number = session.scalars(select(Submission.number).where(Submission.id == id)).one()
        session.add(SubmissionProgress(submission_id=number, stage="check", done=1, total=2, updated=service.clock()))
    work_off(worker_of(service, confinement))
    assert stored(service.database, select(SubmissionProgress)) == []


def test_a_submission_may_have_files_for_some_of_the_evaluations(tmp_path, confinement):
    text = CAMPAIGN.replace(
        "splits:\n",
        "  - {name: segments, task: chord, reference: 'reference/{track}.lab', estimates: 'segments/{track}.lab',"
        " metrics: [seg]}\nsplits:\n",
    )
    service = open_campaign(tmp_path, text)
    id = submit(service, "oak", estimates())
    work_off(worker_of(service, confinement))
    assert state(service, id).state == "scored", state(service, id).reason
    assert set(read_scores(service.folder_of("stores") / "dev.zarr")) == {"chord"}


def test_scoring_tells_how_many_of_the_tracks_are_scored(service, confinement, monkeypatch):
    run, told = confinement.run, list[Mapping[str, Any]]()

    def watched(job: str, task: Any, confines: Confines, progress: Any = None, beat: Any = None) -> dict[str, Any]:
        return run(job, task, confines, told.append if job == "score" else progress, beat)

    monkeypatch.setattr(confinement, "run", watched)
    submit(service, "oak", estimates(splits=["dev"]), splits=["dev"])
    work_off(worker_of(service, confinement))
    assert told[0] == {"progress": 0, "total": 6}
    assert all(message["progress"] <= message["total"] == 6 for message in told)


@pytest.mark.slow
def test_findings_name_causes_by_public_references_alone(tmp_path, confinement):
    service = open_campaign(tmp_path, tracks=3)
    rows = [(10 * number, 10 * number + 10, label) for number, label in enumerate(("C", "G", "A:min", "F") * 4)]
    late = "".join(f"{start + 7} {end + 7} {label}\n" for start, end, label in rows)
    for split in ("dev", "test"):
        for number in range(3):
            text = "".join(f"{start} {end} {label}\n" for start, end, label in rows)
            (tmp_path / split / "reference" / f"{split}{number}.lab").write_text(text)
    files = {f"{split}{number}.lab": late for split in ("dev", "test") for number in range(3)}
    id = submit(service, "oak", files, splits=["dev", "test"])
    work_off(worker_of(service, confinement))
    with service.database.read() as session:
        found = [one for one in findings_of(session, state(service, id)) if one.rule == "cause"]
    (cause,) = [one.message for one in found]
    assert cause.startswith("dev: 3 of 3 estimates of 'oak': the estimate is 7 s late: majmin ")


def test_results_with_more_dims_are_joined_as_a_run_writes_them(tmp_path, confinement):
    service = open_campaign(tmp_path, CAMPAIGN.replace("root]", "root, confusion]"))
    for name, wrong in (("oak", 2), ("elm", 0)):
        submit(service, name, estimates(wrong=wrong))
        work_off(worker_of(service, confinement))
        for path in (service.folder_of("systems") / name).glob("dev*.lab"):
            (tmp_path / "same" / name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tmp_path / "same" / name)
    (tmp_path / "pipeline.yaml").write_text(
        "root: dev\nevaluations: [{task: chord, reference: 'reference/{track}.lab', tracks: tracks.csv,\n"
        "  estimates: '../same/{system}/{track}.lab', metrics: [majmin, root, confusion], systems: [oak, elm]}]\n"
        "store: same.zarr\n"
    )
    mirflow.run(tmp_path / "pipeline.yaml")
    expected = mirflow.open_store(tmp_path / "same.zarr")["chord"].to_dataset().load().drop_vars("digest")
    for store in (service.folder_of("stores") / "dev.zarr", service.folder_of("public") / "dev.zarr"):
        joined = mirflow.open_store(store)["chord"].to_dataset().load()
        xr.testing.assert_equal(
            joined[[*expected.data_vars]].drop_vars(joined.coords.keys() - expected.coords.keys()), expected
        )


def test_other_readers_do_not_see_where_the_references_of_a_public_copy_are(tmp_path, confinement):
    text = CAMPAIGN.replace("reference/{track}.lab", f"{tmp_path}/dev/reference/{{track}}.lab")
    service = open_campaign(tmp_path, text)
    submit(service, "oak", estimates(), splits=["dev"])
    work_off(worker_of(service, confinement))
    kept = mirflow.open_store(service.folder_of("public") / "dev.zarr")["chord"].attrs["pipeline"]
    assert "root: .\n" in kept
    assert "reference: '{track}.lab'\n" in kept
    assert str(tmp_path) not in kept


@pytest.mark.slow
def test_a_submission_is_written_once_and_linked_after_that(tmp_path, confinement):
    service = open_campaign(tmp_path)
    stores = service.folder_of("stores") / "dev.zarr", service.folder_of("public") / "dev.zarr"

    def files(store: Path, system: str) -> dict[str, int]:
        row = mirflow.open_store(store)["chord"].system.values.tolist().index(system)
        found = {file: file.relative_to(store) for file in (store / "chord").glob(f"*/c.{row}.*")}
        return {place.parts[1]: file.stat().st_ino for file, place in found.items()}

    for name, sent in (("oak", estimates()), ("elm", {**estimates(), "dev1.lab": ""})):
        submit(service, name, sent, splits=["dev"])
        work_off(worker_of(service, confinement))
    before = {(store, name): files(store, name) for store in stores for name in ("oak", "elm")}
    assert before[stores[0], "oak"] == before[stores[1], "oak"]
    messages = [mirflow.open_store(store)["chord"].message.sel(system="elm").values.tolist() for store in stores]
    assert messages[0] != messages[1], "the folders of this host are left out of the copy"
    submit(service, "fir", estimates(wrong=1), splits=["dev"])
    work_off(worker_of(service, confinement))
    assert before == {(store, name): files(store, name) for store, name in before}
    assert files(stores[0], "fir") == files(stores[1], "fir")


def test_metrics_of_ones_own_lie_beside_the_campaign_file(tmp_path, confinement):
    service = open_campaign(tmp_path, CAMPAIGN.replace("root]", '"my_metrics.py:labels"]'))
    (tmp_path / "my_metrics.py").write_text(
        "def labels(reference, labels, estimate, others):\n    return len(others)\n"
    )
    id = submit(service, "oak", estimates(wrong=2))
    assert work_off(worker_of(service, confinement)) > 0
    assert state(service, id).state == "scored"
    copy = service.folder_of("public") / "dev.zarr"
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

    @pytest.mark.slow
    def test_they_check_and_score_what_is_submitted(self, service):
        worker = Worker(service)
        with worker.jobs.confinement:
            good = submit(service, "oak", {"t0.ticks": "500 1000", "t1.ticks": "500"})
            bad = submit(service, "elm", {"t0.ticks": "500 1000", "t1.ticks": "now"})
            work_off(worker)
        assert (state(service, good).state, scores(service, good, "dev")["missing"].value) == ("scored", 0.25)
        assert state(service, bad).state == "refused"
        copy = service.folder_of("public") / "dev.zarr"
        assert not [
            path for path in copy.rglob("*") if path.is_file() and str(service.folder).encode() in path.read_bytes()
        ]

    @pytest.mark.slow
    def test_a_file_that_is_broken_later_stops_the_queue_and_refuses_nobody(self, service):
        worker, path = Worker(service), service.path
        assert path is not None
        path.with_name("ticks.py").write_text(TAPS + "1 / 0\n")
        id = submit(service, "oak", {"t0.ticks": "500 1000", "t1.ticks": "500"})
        with worker.jobs.confinement, pytest.raises(SystemTroubleError, match=r"ZeroDivisionError.*ticks\.py:11"):
            work_off(worker)
        assert (state(service, id).state, state(service, id).tries) == ("received", 0)


def test_tracks_of_other_splits_are_not_in_a_store(service, confinement):
    submit(service, "oak", estimates())
    work_off(worker_of(service, confinement))
    tracks = read_scores(service.folder_of("stores") / "dev.zarr")["chord"]["track"].values.tolist()
    assert tracks == [f"dev{number}" for number in range(6)]


def test_files_of_another_split_are_not_counted(tmp_path, confinement, caplog):
    service = open_campaign(tmp_path, CAMPAIGN.replace("    tracks: tracks.csv\n", ""))
    caplog.set_level("INFO", "mirflow.worker")
    submit(service, "oak", estimates(), splits=["dev"])
    work_off(worker_of(service, confinement))
    assert "dev: tracks scored: {'chord': 6}" in caplog.text


@pytest.mark.slow
def test_one_submission_never_computes_another_again(service, confinement, caplog):
    submit(service, "oak", estimates())
    work_off(worker_of(service, confinement))
    before = read_scores(service.folder_of("stores") / "dev.zarr")["chord"]
    # Even where its files are gone: nothing of it is read.
    shutil.rmtree(service.folder_of("systems") / "oak")
    caplog.set_level("INFO", "mirflow.worker")
    submit(service, "elm", estimates(wrong=3, splits=["dev"]))
    work_off(worker_of(service, confinement))
    assert "dev: tracks scored: {'chord': 6}" in caplog.text
    after = read_scores(service.folder_of("stores") / "dev.zarr")["chord"]
    assert after["system"].values.tolist() == ["oak", "elm"]
    np.testing.assert_array_equal(after.score.sel(system="oak").values, before.score.sel(system="oak").values)


def test_what_cannot_be_scored_is_refused_with_file_and_line(service, confinement):
    files = {**estimates(), "dev3.lab": "0 10 C\n10 20 H:moll\n", "dev4.lab": "", "more/other.lab": "0 10 C\n"}
    del files["more/other.lab"]
    id = submit(service, "oak", {**files, "unknown.lab": "0 10 C\n"})
    work_off(worker_of(service, confinement))
    found = state(service, id)
    assert (found.state, found.errors) == ("refused", 1)
    assert "correct the files" in found.reason
    with service.database.read() as session:
        rows = {(one.path, one.line, one.severity, one.rule) for one in findings_of(session, found)}
    assert ("dev3.lab", 2, "error", "label") in rows
    assert ("dev4.lab", None, "warning", "empty") in rows
    assert ("unknown.lab", None, "warning", "unknown_track") in rows
    assert not (service.folder_of("stores") / "dev.zarr").exists()
    assert list(service.folder_of("submissions").iterdir()) == []
    # The name is free, and the mended one is taken.
    again = submit(service, "oak", estimates())
    work_off(worker_of(service, confinement))
    assert state(service, again).state == "scored"


@pytest.mark.slow
def test_missing_tracks_are_named_and_count_as_zero(service, confinement):
    files = estimates(splits=["dev"])
    whole = submit(service, "whole", files)
    del files["dev0.lab"]
    id = submit(service, "part", files)
    work_off(worker_of(service, confinement))
    with service.database.read() as session:
        (finding,) = findings_of(session, state(service, id))
    assert finding.message == "1 of 6 tracks of dev (chord) have no estimate: dev0; they count as zero"
    values = [scores(service, one, "dev")["root"].value for one in (whole, id)]
    assert values[1] == pytest.approx(5 / 6 * (values[0] or 0))


def test_files_of_no_track_are_refused_before_anything_is_scored(service, confinement):
    files = {name.title(): text for name, text in estimates(splits=["dev"]).items()}
    id = submit(service, "Capitals", {name.replace(".Lab", ".lab"): text for name, text in files.items()})
    work_off(worker_of(service, confinement))
    assert state(service, id).state == "refused"
    with service.database.read() as session:
        found = findings_of(session, state(service, id))
    assert found[0].message == (
        "6 of 6 tracks of dev (chord) have no estimate: dev0, dev1, dev2, dev3, dev4, dev5; files must have the names "
        "of the tracks, including case"
    )
    assert "did you mean 'dev0'" in next(one.message for one in found if one.path == "Dev0.lab")


def test_names_are_given_once_and_quotas_kept(service):
    submit(service, "oak", estimates())
    with pytest.raises(SubmissionError, match="there is already a submission 'OAK', and submissions cannot be changed"):
        submit(service, "OAK", estimates())
    for name in ("", "a/b", "con", "nul.x", "-a", "a.", "é", "x" * 65):
        with pytest.raises(SubmissionError, match="invalid system name"):
            submit(service, name, estimates())
    with pytest.raises(SubmissionError, match="unknown split 'tst'; did you mean 'test'"):
        submit(service, "elm", estimates(), splits=["tst"])
    for name in ("t1", "t2", "t3"):
        submit(service, name, estimates(), splits=["test"])
    with pytest.raises(SubmissionError, match=r"3 of 3 submissions to test in this month are used; .*2027-02-01"):
        submit(service, "t4", estimates(), splits=["test"])
    submit(service, "t4", estimates(), splits=["test"], who="bob")
    service.clock.advance(days=31)
    submit(service, "t5", estimates(), splits=["test"])


def test_one_account_does_not_fill_the_queue(service, monkeypatch):
    monkeypatch.setattr(entries, "MOST_WAITING", 2)
    for name in ("a", "b"):
        submit(service, name, estimates())
    with pytest.raises(SubmissionError, match="2 of your submissions are waiting already"):
        submit(service, "c", estimates())
    submit(service, "c", estimates(), who="bob")


def test_refused_submissions_do_not_count(service, confinement):
    for number in range(4):
        submit(service, f"bad{number}", {"dev0.lab": "0 10 H:moll\n"}, splits=["test"])
        work_off(worker_of(service, confinement))
    submit(service, "good", estimates(), splits=["test"])


def test_submissions_have_their_days(tmp_path):
    service = open_campaign(tmp_path, CAMPAIGN + "opens: 2027-01-02\ncloses: 2027-01-03\n")
    with pytest.raises(SubmissionError, match="submissions to dev open at 2027-01-02 00:00 UTC"):
        submit(service, "oak", estimates())
    service.clock.advance(days=2, hours=23)
    submit(service, "oak", estimates())
    service.clock.advance(hours=1)
    with pytest.raises(SubmissionError, match="submissions to dev closed at 2027-01-03 23:59 UTC"):
        submit(service, "elm", estimates())


@pytest.mark.slow
def test_a_submission_is_compared_with_earlier_ones_and_the_leader(service, confinement):
    submit(service, "theirs", estimates(), who="bob")
    submit(service, "oak", estimates(wrong=6))
    id = submit(service, "oak-2", estimates())
    submit(service, "secret", estimates(), who="eve", visibility="private")
    work_off(worker_of(service, confinement))
    with service.database.read() as session:
        found = session.scalars(select(Verdict).where(Verdict.submission_id == state(service, id).number)).all()
        told = {one.relation: (one.other.name, one.outcome) for one in found}
    assert told == {"own": ("oak", "better"), "leader": ("theirs", "not told apart")}
    ds = read_scores(service.folder_of("stores") / "dev.zarr")["chord"]
    changes = track_changes(ds, "oak-2", "oak", "majmin")
    assert (changes["better"], changes["worse"], changes["same"]) == (6, 0, 0)
    assert changes["changes"][0]["difference"] is not None
    assert changes["changes"][0]["difference"] > 0


def test_only_who_sent_a_submission_changes_it(service):
    found = state(service, submit(service, "oak", estimates()))
    for viewer in (None, member(service, "eve")):
        with pytest.raises(SubmissionError, match="only the submitter may"):
            withdraw(found, viewer, service.clock())
        with pytest.raises(SubmissionError, match="only the submitter may"):
            set_visibility(service.campaign, found, viewer, "private", service.clock())
    with pytest.raises(SubmissionError, match="unknown visibility 'privat'"):
        set_visibility(service.campaign, found, member(service), "privat", service.clock())


def test_new_rules_are_new_columns_and_old_scores_stay(service, confinement, tmp_path):
    service = open_campaign(tmp_path / "new")
    id = submit(service, "oak", estimates(wrong=1))
    work_off(worker_of(service, confinement))
    before = read_scores(service.folder_of("stores") / "dev.zarr")["chord"].load()
    assert service.path is not None
    path = service.path
    path.write_text(path.read_text().replace("[majmin, root]", "[majmin, root, sevenths]"))
    with pytest.raises(MirflowError, match=r"the version of the rules is still '2027-01'"):
        work_off(worker_of(open_service([path]), confinement))
    path.write_text(path.read_text().replace("2027-01", "2027-02"))
    again = open_service([path])
    work_off(worker_of(again, confinement))
    after = read_scores(service.folder_of("stores") / "dev.zarr")["chord"]
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


def test_an_edited_campaign_stops_the_worker_until_it_is_put_back(service, confinement):
    worker = worker_of(service, confinement)
    id = submit(service, "oak", estimates())
    worker.prepare()
    assert worker.step()  # the check
    assert service.path is not None
    text = service.path.read_text()
    edited = text.replace("[majmin, root]", "[majmin]")
    service.path.write_text(edited)
    with pytest.raises(PipelineError, match="was edited since the worker started: restart server and worker"):
        worker.step()
    assert state(service, id).state == "accepted"
    assert not (service.folder_of("stores") / "dev.zarr").exists()
    service.path.write_text(text)
    work_off(worker)
    assert set(scores(service, id, "dev")) == {"majmin", "root"}


def test_scores_that_are_gone_before_their_release_are_computed_again(service, confinement):
    worker = worker_of(service, confinement)
    id = submit(service, "oak", estimates())
    worker.prepare()
    while state(service, id).state != "computed":
        assert worker.step()
    shutil.rmtree(service.folder_of("submissions") / id / "scoring" / "dev")
    with pytest.raises(SystemTroubleError, match="no scores of 'oak' are kept here"):
        worker.step()
    work_off(worker)
    assert state(service, id).state == "scored"
    assert set(scores(service, id, "dev")) == {"majmin", "root"}


def test_a_job_uses_the_campaign_that_the_worker_started_with(service, confinement, monkeypatch):
    worker = worker_of(service, confinement)
    id = submit(service, "oak", estimates())
    assert service.path is not None
    service.path.write_text(service.path.read_text().replace("[majmin, root]", "[majmin]"))
    # As if it were edited after the worker's look.
    monkeypatch.setitem(worker.jobs.file, "digest", campaign_digest(service.path))
    work_off(worker)
    assert set(scores(service, id, "dev")) == {"majmin", "root"}


@pytest.mark.slow
def test_changed_references_stop_the_worker_until_they_are_back(service, confinement, tmp_path):
    worker = worker_of(service, confinement)
    submit(service, "oak", estimates())
    work_off(worker)
    reference = tmp_path / "dev" / "reference" / "dev0.lab"
    text = reference.read_text()
    reference.write_text("0 30 D\n")
    id = submit(service, "elm", estimates())
    with pytest.raises(SystemTroubleError, match="the reference of track 'dev0' differs from the one used"):
        work_off(worker)
    assert state(service, id).state == "computed"
    reference.write_text(text)
    work_off(worker)
    assert state(service, id).state == "scored"


@pytest.mark.slow
def test_a_reference_that_is_gone_stops_the_worker_until_it_is_back(service, confinement, tmp_path):
    worker = worker_of(service, confinement)
    submit(service, "oak", estimates())
    work_off(worker)
    reference, aside = tmp_path / "dev" / "reference" / "dev0.lab", tmp_path / "dev0.lab"
    reference.rename(aside)
    id = submit(service, "elm", estimates())
    with pytest.raises(SystemTroubleError, match=r"track 'dev0', used for earlier submissions, is missing"):
        work_off(worker)
    assert state(service, id).state == "computed"
    aside.rename(reference)
    work_off(worker)
    assert state(service, id).state == "scored"


@pytest.mark.slow  # ten seconds of trying
def test_a_cluster_that_does_not_answer_is_waited_for(confinement, tmp_path):
    address = f"tcp://127.0.0.1:{free_port()}"
    service = open_campaign(tmp_path, CAMPAIGN.replace("serial", address))
    worker = worker_of(service, confinement)
    id = submit(service, "oak", estimates())
    with pytest.raises(SystemTroubleError, match=f"no dask scheduler answers at {address}"):
        work_off(worker)
    assert (state(service, id).state, state(service, id).tries) == ("accepted", 0)


def test_a_worker_that_begins_removes_uploads_that_were_never_entered(service, confinement):
    id = submit(service, "oak", estimates())
    for name in (id, "left"):
        (service.folder_of("submissions") / name).mkdir(exist_ok=True)
        os.utime(service.folder_of("submissions") / name, (0, 0))
    worker_of(service, confinement).prepare()
    assert [path.name for path in service.folder_of("submissions").iterdir()] == [id]


def test_public_copies_are_updated_from_time_to_time_even_if_submissions_wait(service, monkeypatch):
    submit(service, "oak", estimates())
    worker, published = worker_of(service, WithoutJobs()), list[bool]()
    worker.prepare()
    monkeypatch.setattr("mirflow.campaign.server.submissions.worker._PUBLISH", -1.0)
    monkeypatch.setattr(worker, "publish", lambda: not published.append(True))
    assert worker.step()
    assert published == [True]


class WithoutJobs(Confinement):
    """A process of jobs that is never started."""

    def run(self, *_: object, **__: object) -> dict[str, Any]:
        return {"held": []}


def test_a_worker_waits_twice_as_long_from_trouble_to_trouble_up_to_a_minute(service, monkeypatch):
    worker, waits = worker_of(service, WithoutJobs()), list[float]()
    trouble = OSError(28, "No space left on device")
    steps = iter([*[trouble] * 8, None, trouble])

    def step() -> bool:
        one = next(steps, None)
        if one is not None:
            raise one
        if len(waits) > 8:
            worker.stop()
        return True

    monkeypatch.setattr(worker, "step", step)
    monkeypatch.setattr(worker.claims.stopped, "wait", waits.append)
    worker.run()
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 1]


def test_lasting_trouble_is_recorded_with_its_begin_and_its_last_message(service, monkeypatch):
    worker, begin, troubles = worker_of(service, WithoutJobs()), service.clock(), iter(["no disk", "no network" * 1000])

    def step() -> bool:
        raise MirflowError(next(troubles))

    def wait(seconds: float) -> None:
        service.clock.advance(seconds=seconds)
        if seconds == 2:
            worker.stop()

    monkeypatch.setattr(worker, "step", step)
    monkeypatch.setattr(worker.claims.stopped, "wait", wait)
    worker.run()
    (recorded,) = stored(service.database, select(Trouble))
    assert recorded.since == begin
    assert recorded.message == ("no network" * 1000)[:2000]


Started: TypeAlias = Callable[[str], Callable[[], list[str]]]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """Replace the program of attached workers by lines of shell; returns a function that reads what they wrote."""
    log = tmp_path / "started"
    log.touch()

    def start(script: str) -> Callable[[], list[str]]:
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\nexec >> {log}\n{script}\n")
        program.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(program))
        return lambda: log.read_text().splitlines()

    return start


def test_attached_workers_end_with_their_server(started):
    written = started('echo "$@"; cat > /dev/null; echo ended')
    with attached_workers("a campaign.yaml", 2):
        until(lambda: len(written()) >= 2)
    assert written() == ["-m mirflow serve worker a campaign.yaml --attached"] * 2 + ["ended"] * 2


def test_an_attached_worker_that_fails_is_started_again(started, tmp_path):
    written = started(f"echo begun; mkdir {tmp_path / 'first'} && exit 3; cat > /dev/null; echo ended")
    with attached_workers("campaign.yaml"):
        until(lambda: len(written()) >= 2)
    assert written() == ["begun", "begun", "ended"]


@pytest.mark.parametrize(("patience", "pause"), [(60, "2 s"), (0.01, "1 s")], ids=["at once", "after a long time"])
def test_the_pause_before_an_attached_worker_is_started_again_grows_if_it_fails_at_once(
    started, monkeypatch, caplog, patience, pause
):
    monkeypatch.setattr(worker_module, "PATIENCE", patience)
    started("exit 3")
    with attached_workers("campaign.yaml"):
        until(lambda: f"ended with status 3; restarting in {pause}" in caplog.text)


def test_an_attached_worker_that_was_asked_to_stop_is_not_started_again(started):
    written = started("echo begun")
    with attached_workers("campaign.yaml") as threads:
        until(lambda: not any(thread.is_alive() for thread in threads))
    assert written() == ["begun"]


def test_an_attached_worker_that_does_not_end_is_killed(started, monkeypatch):
    wait = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, "wait", lambda process, timeout=None: wait(process, timeout and 0.1))
    written = started("echo begun; exec sleep 600")
    before = time.monotonic()
    with attached_workers("campaign.yaml"):
        until(written)
    assert time.monotonic() - before < PATIENCE


@pytest.mark.timeout(PATIENCE)
def test_a_signal_stops_a_worker_whatever_it_interrupts(service, monkeypatch):
    told = []

    def run(worker: Worker) -> None:
        with worker.claims.stopped._cond:  # as a wait that begins or ends has it
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


def test_a_signal_that_is_ignored_as_under_nohup_does_not_stop_a_worker(service, monkeypatch):
    handlers = []
    monkeypatch.setattr(Worker, "run", lambda _: handlers.append(signal.getsignal(signal.SIGHUP)))
    usual = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        work(service)
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
    assert handlers == [signal.SIG_IGN]


def test_a_worker_ends_its_process_of_jobs_when_it_ends(service, monkeypatch):
    worker, closed = worker_of(service, WithoutJobs()), list[bool]()
    monkeypatch.setattr(worker, "step", worker.stop)
    monkeypatch.setattr(worker.jobs.confinement, "close", lambda: closed.append(True))
    worker.run()
    assert closed == [True]


@pytest.mark.slow
def test_a_copy_that_another_worker_writes_is_waited_for(service, confinement):
    submit(service, "oak", estimates())
    worker = worker_of(service, confinement)
    work_off(worker)
    copy = service.folder_of("public") / "dev.zarr"
    task = {
        **worker.jobs.scoring, "split": "dev", "public": {"oak": {}},
        "systems": str(service.folder_of("systems")), "readings": str(service.folder_of("readings")),
        "store": str(service.folder_of("stores") / "dev.zarr"), "copy": str(copy),
    }  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        with StoreWriter(copy):
            made = pool.submit(publish_job, task, lambda _: None)
            assert wait([made], timeout=1).not_done
        assert made.result() == {"systems": 1}


@pytest.mark.slow
def test_the_trouble_of_a_worker_that_is_gone_ends_with_the_next_one(service, confinement, monkeypatch):
    with service.database.write() as session:
        session.add(Trouble(id=1, message="no disk", since=service.clock()))
    worker = worker_of(service, confinement)
    monkeypatch.setattr(worker, "step", worker.stop)
    worker.run()
    assert stored(service.database, select(Trouble)) == []


@pytest.mark.slow
def test_a_submission_that_breaks_the_check_is_refused_in_the_end(service, monkeypatch):
    id, other = (submit(service, name, estimates()) for name in ("bad", "good"))
    worker = Worker(service)
    run = worker.jobs.confinement.run

    def broken(job: str, task: dict[str, object], *rest: object, **more: object) -> object:
        if job == "check" and id in str(task["out"]):
            raise JobError("ended without a result")
        return run(job, task, *rest, **more)

    monkeypatch.setattr(worker.jobs.confinement, "run", broken)
    with worker.jobs.confinement:
        work_off(worker)
    assert (state(service, id).state, state(service, other).state) == ("refused", "scored")


def test_jobs_have_the_variables_of_the_campaign_and_those_of_a_cluster(confinement, tmp_path, monkeypatch):
    for name, value in (("PGPASSWORD", "secret"), ("DASK_X", "1"), ("DATA", "dev")):
        monkeypatch.setenv(name, value)
    for scheduler, names in (("serial", {"DATA"}), ("tcp://127.0.0.1:9", {"DATA", "DASK_X"})):
        text = CAMPAIGN.replace("dev: dev", "dev: ${DATA}").replace("scheduler: serial", f"scheduler: {scheduler}")
        (folder := tmp_path / str(len(names))).mkdir()
        environment = worker_of(open_campaign(folder, text), confinement).jobs.trusted.environment
        assert names == {"PGPASSWORD", "DASK_X", "DATA"} & {*environment}


@pytest.mark.slow
def test_a_job_is_confined(service, confinement, tmp_path):
    task = {
        "path": str(tmp_path / "nowhere/campaign.yaml"),
        "campaign": service.campaign.scoring_values,
        "splits": ["dev"],
    }
    with pytest.raises(SystemTroubleError, match=r"folder '.*dev' does not exist"):
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


def test_organisers_alone_see_why_nothing_is_scored(service):
    with service.database.write() as session:
        session.add(Trouble(id=1, message="test0.lab: <gone>", since=service.clock()))
    told = {role: Browser(service, f"a {role}", role).get("/submissions/").text for role in ("organiser", "submitter")}
    assert (
        "No submissions have been scored since 2027-01-01 00:00 (UTC); retrying: test0.lab: &lt;gone&gt;"
        in told["organiser"]
    )
    assert "No submissions have been scored" not in told["submitter"]


def test_an_upload_that_is_gone_or_cannot_be_written_does_not_stop_the_queue(service, confinement):
    gone, odd, good = (submit(service, name, estimates()) for name in ("gone", "odd", "good"))
    shutil.rmtree(service.folder_of("submissions") / gone)
    (service.folder_of("submissions") / odd / "received" / "000000").unlink()
    work_off(worker_of(service, confinement))
    assert [state(service, id).state for id in (gone, odd, good)] == ["refused", "refused", "scored"]


@pytest.mark.slow
def test_a_track_that_changed_leads_to_the_second_from_which_it_did(service, confinement):
    worker = worker_of(service, confinement)
    submit(service, "oak", estimates(wrong=2), visibility="private")
    work_off(worker)
    id = submit(service, "elm", estimates(), visibility="public")
    work_off(worker)
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
