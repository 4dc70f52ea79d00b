"""References of a hidden split stay hidden: no page, no file that is served, and no error tells of them."""

from __future__ import annotations

import io
import json
import tarfile
import urllib.parse
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from mirflow.campaign.file import Split
from mirflow.campaign.server.accounts import Role
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service
from mirflow.campaign.server.submissions.confinement import Confinement, JobRefusedError, JobTimeoutError
from mirflow.campaign.server.submissions.entries import SubmissionError, board, findings_of
from mirflow.campaign.server.submissions.releases import climb
from mirflow.campaign.server.submissions.scoring import join
from mirflow.campaign.server.submissions.submission_tables import Released, Submission, Verdict
from mirflow.campaign.server.submissions.worker import Worker
from mirflow.errors import AnnotationError, StoreError
from mirflow.store.read import content_of, read_scores

from .accounts import Browser, account, program
from .addresses import addresses
from .campaigns import (
    CAMPAIGN,
    SECRET,
    TRACKS,
    estimates,
    member,
    open_campaign,
    scores,
    state,
    submit,
    work_off,
    worker_of,
)

ROLES: tuple[Role | None, ...] = (None, "reader", "submitter", "organiser")


pytestmark = pytest.mark.slow


def work(service: Service, confinement: Confinement) -> None:
    work_off(worker_of(service, confinement))


def test_released_scores_are_rounded_and_have_no_interval(tmp_path, confinement):
    service = open_campaign(tmp_path, CAMPAIGN.replace("quota: 3", "quota: 3, round: 0.01"), tracks=7)
    id = submit(service, "oak", estimates(wrong=3, tracks=7), splits=["test"])
    work(service, confinement)
    row = scores(service, id, "test")["majmin"]
    assert row.value == pytest.approx(0.79)  # 11 of the 14 stretches that have a major or minor chord
    assert (row.low, row.high, row.improved) == (None, None, True)


def test_the_ladder_keeps_back_what_is_hardly_better():
    split = Split(root="test", hidden=True, ladder=0.005)
    assert climb(0.81249, None, split) == 0.812
    assert climb(0.8165, 0.812, split) is None
    assert climb(0.817, 0.812, split) == 0.817
    assert climb(0.7, 0.812, split) is None
    assert climb(0.19, 0.2, split, lower_is_better=True) == 0.19
    assert climb(0.199, 0.2, split, lower_is_better=True) is None
    assert climb(0.7, 0.812, Split(root="test", hidden=True)) == 0.7
    assert climb(0.12345, None, Split(root="test", hidden=True, round=0.005)) == 0.125


def test_each_account_climbs_by_itself(tmp_path, confinement):
    service = open_campaign(tmp_path, CAMPAIGN.replace("ladder: 0.005", "ladder: 0.2"))
    ids = [
        submit(service, name, estimates(wrong=wrong), splits=["test"], who=who)
        for name, wrong, who in (("a", 5, "ada"), ("b", 4, "ada"), ("c", 0, "ada"), ("d", 4, "bob"))
    ]
    work(service, confinement)
    told = [(scores(service, id, "test")["majmin"].value, scores(service, id, "test")["majmin"].improved) for id in ids]
    assert told == [(0.583, True), (None, False), (1.0, True), (0.667, True)]


def fail_scoring(monkeypatch: pytest.MonkeyPatch, confinement: Confinement, error: Exception, split: str = "") -> None:
    """Let jobs that score, on a split or on any, end with an error."""
    run = confinement.run

    def failing(job: str, task: Any, *arguments: Any, **more: Any) -> Any:
        if job == "score" and split in ("", task["split"]):
            raise error
        return run(job, task, *arguments, **more)

    monkeypatch.setattr(confinement, "run", failing)


def messages_of(service: Service, id: str) -> list[str]:
    with service.database.read() as session:
        found = session.scalars(select(Submission).where(Submission.id == id)).one()
        return [one.message for one in findings_of(session, found)]


def test_a_hidden_split_needs_all_tracks(tmp_path, confinement):
    service = open_campaign(tmp_path)
    files = estimates()
    del files["test3.lab"]
    id = submit(service, "oak", files, splits=["test"])
    work(service, confinement)
    assert state(service, id).state == "refused"
    lacking = "1 of 6 tracks of test (chord) have no estimate: test3; a hidden split requires all tracks"
    assert messages_of(service, id) == [lacking]


def test_a_complete_split_is_scored_beside_a_hidden_one_that_is_not(tmp_path, confinement):
    service = open_campaign(tmp_path, CAMPAIGN.replace("quota: 3", "quota: 1"))
    files = estimates()
    del files["test3.lab"]
    id = submit(service, "oak", files, splits=["dev", "test"])
    work(service, confinement)
    assert (state(service, id).state, state(service, id).split_names) == ("scored", ("dev",))
    assert scores(service, id, "dev")
    assert not scores(service, id, "test")
    assert messages_of(service, id) == [
        "1 of 6 tracks of test (chord) have no estimate: test3; a hidden split requires all tracks, so that the system "
        "is scored on dev alone; submit all under another name for test"
    ]
    again = submit(service, "oak-2", estimates(), splits=["test"])  # the quota was not used
    work(service, confinement)
    assert scores(service, again, "test")


def test_names_of_hidden_tracks_are_told_only_where_a_table_lists_them(tmp_path, confinement):
    service = open_campaign(tmp_path, CAMPAIGN.replace("    tracks: tracks.csv\n", ""))
    files = {**estimates(), "test33.lab": "0 1 C\n"}
    del files["test3.lab"]
    submit(service, "oak", files, splits=["test"])
    work(service, confinement)
    with service.database.read() as session:
        messages = " ".join(one.message for one in findings_of(session, session.scalars(select(Submission)).one()))
    assert "1 of 6 tracks of test (chord) have no estimate (the organisers' data have the names" in messages
    assert "test3" not in messages


def test_jobs_that_open_files_are_not_told_the_names_of_hidden_tracks(tmp_path, confinement, monkeypatch):
    service = open_campaign(tmp_path, CAMPAIGN.replace("    tracks: tracks.csv\n", ""))
    id = submit(service, "oak", estimates(), splits=["dev", "test"])
    run, told = confinement.run, {}

    def noting(job: str, task: Any, *arguments: Any, **more: Any) -> Any:
        told[job] = told.get(job, "") + json.dumps(task)
        return run(job, task, *arguments, **more)

    monkeypatch.setattr(confinement, "run", noting)
    work(service, confinement)
    assert state(service, id).state == "scored"
    assert {job: name in text for job, text in told.items() for name in ["test3"]} == {
        "tracks": False, "check": False, "names": True, "read": False, "score": False, "release": False,
        "publish": False,
    }  # fmt: skip


def test_comparisons_on_a_hidden_split_are_outcomes(tmp_path, confinement):
    service = open_campaign(tmp_path)
    for name, wrong in (("a", 6), ("b", 0)):
        submit(service, name, estimates(wrong=wrong), splits=["test"])
    work(service, confinement)
    with service.database.read() as session:
        (found,) = session.scalars(select(Verdict)).all()
        assert (found.outcome, found.low, found.high, found.p) == ("better", None, None, None)
        assert found.difference == pytest.approx(0.5)
        assert list(board(session, "test", None)) == ["chord"]
        assert [one.submission.name for one in board(session, "test", None)["chord"] if one.headline] == ["b", "a"]


def test_outcomes_do_not_tell_what_the_ladder_keeps_back(tmp_path, confinement):
    service = open_campaign(tmp_path)
    for name, wrong, who in (("a", 0, "ada"), ("leader", 1, "bob"), ("b", 6, "ada")):
        submit(service, name, estimates(wrong=wrong), splits=["test"], who=who)
    work(service, confinement)
    with service.database.read() as session:
        named = {one.submission_id: one.submission.name for one in session.scalars(select(Released))}
        held = [named[one.submission_id] for one in session.scalars(select(Released)) if not one.improved]
        judged = {named[one.submission_id] for one in session.scalars(select(Verdict))}
    assert set(held) == {"b"}
    assert judged == {"leader"}


def test_how_many_tracks_a_metric_is_defined_on_is_not_told(tmp_path, confinement, monkeypatch):
    """An empty estimate would tell of a track whether its reference is empty."""
    service = open_campaign(tmp_path)
    id = submit(service, "oak", estimates(), splits=["dev", "test"])
    run = confinement.run

    def fewer(job: str, *arguments: Any, **more: Any) -> Any:
        answer = run(job, *arguments, **more)
        for value in (value for listed in answer.get("values", {}).values() for value in listed):
            value["tracks"] = 2
        return answer

    monkeypatch.setattr(confinement, "run", fewer)
    work(service, confinement)
    assert {split: scores(service, id, split)["majmin"].tracks for split in ("dev", "test")} == {"dev": 2, "test": 6}


@pytest.mark.parametrize("splits", [["test", "dev"], ["dev", "test"]])
def test_what_fails_after_it_was_scored_on_a_hidden_split_counts(tmp_path, confinement, monkeypatch, splits):
    service = open_campaign(tmp_path, CAMPAIGN.replace("quota: 3", "quota: 1"))
    fail_scoring(monkeypatch, confinement, JobTimeoutError("took longer than 1200 seconds"), "dev")
    id = submit(service, "oak", estimates(), splits=splits)
    work(service, confinement)
    assert state(service, id).state == "failed"
    if splits[0] == "dev":  # it came no further
        assert not scores(service, id, "test")
        submit(service, "elm", estimates(), splits=["test"])
    else:
        assert scores(service, id, "test")
        with pytest.raises(SubmissionError, match="1 of 1 submissions to test in this month are used"):
            submit(service, "elm", estimates(), splits=["test"])
    submit(service, "ash", estimates(), splits=["dev"])


@pytest.mark.parametrize("splits", [["test", "dev"], ["dev", "test"]])
def test_files_of_no_track_of_an_open_split_are_refused_before_a_hidden_one_is_scored(tmp_path, confinement, splits):
    service = open_campaign(tmp_path, CAMPAIGN.replace("quota: 3", "quota: 1"))
    id = submit(service, "oak", estimates(splits=("test",)), splits=splits)
    work(service, confinement)
    assert state(service, id).state == "refused"
    assert not scores(service, id, "test")
    submit(service, "elm", estimates(), splits=["test"])


def test_a_failure_on_a_hidden_split_counts(tmp_path, confinement, monkeypatch):
    """Whether something fails may depend on a reference, and could be tried for ever."""
    service = open_campaign(tmp_path, CAMPAIGN.replace("quota: 3", "quota: 1"))
    submit(service, "oak", estimates(), splits=["test"])
    fail_scoring(monkeypatch, confinement, JobTimeoutError("took longer than 1200 seconds"))
    work(service, confinement)
    with pytest.raises(SubmissionError, match="1 of 1 submissions to test in this month are used"):
        submit(service, "elm", estimates(), splits=["test"])


def test_progress_tells_no_times_of_hidden_tracks(tmp_path, confinement, monkeypatch):
    service = open_campaign(tmp_path)
    submit(service, "oak", estimates(), splits=["dev", "test"])
    run, told = confinement.run, {}

    def watched(job: str, task: Any, confines: Any, progress: Any = None, beat: Any = None) -> Any:
        if job == "score":
            told[task["split"]] = progress is not None
        return run(job, task, confines, progress, beat)

    monkeypatch.setattr(confinement, "run", watched)
    work(service, confinement)
    assert told == {"dev": True, "test": False}


def test_a_failure_on_a_hidden_split_has_fixed_words(tmp_path, confinement, monkeypatch):
    service = open_campaign(tmp_path)
    id = submit(service, "oak", estimates(), splits=["test"])
    worker = Worker(service)
    worker.jobs.confinement = confinement
    fail_scoring(monkeypatch, confinement, JobRefusedError(f"test0.lab: not like the reference's {SECRET}"))
    work_off(worker)
    found = state(service, id)
    assert found.state == "failed"
    assert found.reason == "it could not be scored on test; the organiser finds the reason in the log"
    submit(service, "oak", estimates())  # nothing was scored: the name is free


def test_a_name_under_which_something_was_scored_is_not_given_again(tmp_path, confinement, monkeypatch):
    service = open_campaign(tmp_path)
    id = submit(service, "oak", estimates(), splits=["dev", "test"])
    worker = Worker(service)
    fail_scoring(monkeypatch, confinement, JobRefusedError("no"), "test")
    worker.jobs.confinement = confinement
    work_off(worker)
    assert state(service, id).state == "failed"
    with pytest.raises(SubmissionError, match="there is already a submission 'oak'"):
        submit(service, "oak", estimates(wrong=3))
    ds = read_scores(service.folder_of("stores") / "dev.zarr")["chord"]
    other = content_of(ds, "chord")
    changed = replace(other, cells=replace(other.cells, digest=tuple("x:y" for _ in other.cells.digest)))
    with pytest.raises(StoreError, match="the reference of track 'dev0' differs from the one used"):
        join(other, changed)
    kept = [one.partition(":")[0] for one in other.cells.digest]
    changed = replace(other, cells=replace(other.cells, digest=tuple(f"{one}:y" for one in kept)))
    with pytest.raises(AnnotationError, match="another submission was already scored as 'oak'"):
        join(other, changed)


# What the server tells


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, confinement: Confinement) -> Service:
    """A campaign in which much has happened: good submissions, private ones, refused and failed ones."""
    service = open_campaign(tmp_path_factory.mktemp("played"), CAMPAIGN + 'audio: {pattern: "audio/{track}.flac"}\n')
    both = ["dev", "test"]
    submit(service, "oak", estimates(wrong=2), splits=both)
    submit(service, "elm", estimates(wrong=4), splits=both, who="bob", visibility="private")
    submit(service, "ash", {**estimates(), "test2.lab": "0 10 X:y\n"}, splits=both, who="eve")
    submit(service, "fir", {**estimates(), "test2.lab": "0 10 C\n5 12 D\n", "test1.lab": ""}, splits=both, who="eve")
    submit(service, "yew", {**estimates(), "other.lab": "0 10 C\n"}, splits=["test"], who="eve")
    work(service, confinement)
    return service


def secrets_of(service: Service) -> list[str]:
    """What nobody may be told: labels of the references, and raw scores on the hidden split."""
    told = [SECRET, SECRET.replace("#", "%23"), "Eb:sus4", "sus4(b9)"]
    ds = read_scores(service.folder_of("stores") / "test.zarr")["chord"]
    raw = {float(value) for value in ds["score"].values.ravel() if value == value and 0 < value < 1}
    return [*told, *(f"{value:.6f}" for value in raw), "reference/test"]


@pytest.mark.parametrize("role", ROLES)
def test_no_route_tells_of_a_hidden_reference(played, role):
    kept = secrets_of(played)
    if role is None:
        clients: list[TestClient] = [Browser(played), TestClient(create_app(played), base_url="http://localhost:8765")]
    else:
        clients = [Browser(played, "bob" if role == "submitter" else f"a {role}", role)]
        clients.append(program(played, "bob" if role == "submitter" else f"a {role}", role))
    tried = 0
    for method, path in addresses(played):
        if "logout" in path or "/account" in path:
            continue
        for client in clients:
            query = "?metric=majmin&split=test&by=track&format=csv" if "/api/" in path else ""
            answer = client.request(method, path + query)
            tried += 1
            assert answer.status_code != 500, f"{method} {path}"
            text = answer.text + json.dumps(dict(answer.headers))
            leaks = [one for one in kept if one in text or one in urllib.parse.unquote(text)]
            assert not leaks, f"{method} {path} as {role}: {leaks}"
    assert tried > 100


def test_nothing_that_is_served_by_address_holds_the_hidden_split(played):
    names = {one.name for one in played.folder_of("public").iterdir() if not one.name.startswith(".")}
    assert names == {"dev.zarr"}
    client = Browser(played, "an organiser", "organiser")
    for address in ("/stores/test.zarr/zarr.json", "/stores/test/chord/tracks/", "/stores/test/chord/tracks/test0/"):
        assert client.get(address).status_code == 404, address
    # What was released is shown, and nothing about a track.
    for address in ("/stores/test/", "/stores/test/chord/", "/stores/test.json"):
        assert "test0" not in client.get(address).text
    for path in (played.folder_of("public") / "dev.zarr").resolve().rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def test_the_database_and_the_logs_hold_no_hidden_reference(played):
    assert played.folder is not None
    for name in ("campaign.db", "campaign.db-wal", "audit.jsonl"):
        path = played.folder / name
        if path.exists():
            data = path.read_bytes()
            assert SECRET.encode() not in data
            assert b"reference/test" not in data
    with played.database.read() as session:
        rows = session.scalars(select(Released).where(Released.split == "test")).all()
        assert rows
        assert all(one.value is None or one.value == round(one.value, 3) for one in rows)
        assert all(one.low is None and one.high is None for one in rows)


def probes() -> dict[str, dict[str, str | bytes]]:
    """Submissions that try to make an error quote a reference."""
    good = estimates()
    return {
        "another-label": {**good, "test0.lab": "0 10 C\n10 20 G:7\n20 30 not-a-chord\n"},
        "no-times": {**good, "test0.lab": "C\nG:7\n"},
        "beyond": {**good, "test0.lab": "0 1e9 C\n"},
        "backwards": {**good, "test0.lab": "30 20 C\n"},
        "empty": {**good, "test0.lab": ""},
        "binary": {**good, "test0.lab": b"\xff\xfe\x00"},
        "json": {**good, "test0.lab": '{"file": "../../test/reference/test0.lab"}'},
    }


@pytest.mark.parametrize("what", probes())
def test_no_error_quotes_a_hidden_reference(what, played, confinement):
    # An account for each: what is scored counts.
    id = submit(played, f"probe-{what}", probes()[what], splits=["test"], who=f"prober {what}", visibility="private")
    work(played, confinement)
    client = TestClient(create_app(played), base_url="http://localhost:8765")
    client.headers["Authorization"] = f"Bearer {account(played, f'prober {what}', 'submitter', 'token')}"
    for accept in ("text/html", "application/json"):
        for page in ("", "findings.csv", "progress"):
            answer = client.get(f"/submissions/{id}/{page}", headers={"Accept": accept})
            assert answer.status_code == 200
            assert "sus4" not in answer.text
            assert str(played.folder) not in answer.text
            assert "reference/" not in answer.text


def test_a_link_to_a_reference_is_not_followed(played, confinement):
    assert played.path is not None
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for number in range(TRACKS):
            info = tarfile.TarInfo(f"test{number}.lab")
            info.type, info.linkname = tarfile.SYMTYPE, str(played.path.parent / "test" / "reference" / info.name)
            archive.addfile(info)
    id = submit(played, "thief", data.getvalue(), splits=["test"], who="thief", filename="a.tar")
    work(played, confinement)
    found = state(played, id)
    assert found.state == "refused"
    assert member(played, "thief").role == "submitter"
