"""What organisers do beside scoring: disqualify a submission, and look at accounts and quotas."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import select

import mirflow
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.submission_tables import Released

from .accounts import Browser, program
from .campaigns import CAMPAIGN, estimates, member, open_campaign, scores, state, submit, work_off, worker_of
from .databases import stored

FORM = "/submissions/new"
REASON = "It was trained on the <test> split."


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return open_campaign(tmp_path)


@pytest.mark.slow
def test_a_disqualified_system_is_off_all_boards_and_kept_for_the_record(service, confinement):
    worker = worker_of(service, confinement)
    cheat = submit(service, "cheat", estimates(), splits=["dev", "test"], who="eve")
    honest = submit(service, "honest", estimates(wrong=3), splits=["dev", "test"], who="bob")
    work_off(worker)
    nobody, gil, eve = Browser(service), Browser(service, "gil", "organiser"), Browser(service, "eve", "submitter")
    boards = ("/", "/stores/dev/chord/", "/stores/test/chord/", "/feed.xml", "/stores/test.json", "/submissions/")
    assert all("cheat" in nobody.get(board).text for board in boards)
    address = f"/submissions/{cheat}/"
    assert gil.submit(f"{address}disqualify", reason=" ").status_code == 400
    assert eve.submit(f"{address}disqualify", reason=REASON).status_code == 403
    assert gil.submit(f"{address}disqualify", reason=REASON).status_code == 303
    work_off(worker)
    for board in boards:
        assert "cheat" not in nobody.get(board).text, board
    assert nobody.get(address).status_code == 404
    assert "honest" in nobody.get("/stores/test/chord/").text
    for who in (eve, gil):
        assert "Disqualified by the organisers: It was trained on the &lt;test&gt; split." in who.get(address).text
        assert "cheat" not in who.get("/stores/test/chord/").text
    copy = mirflow.open_store(service.folder_of("public") / "dev.zarr")["chord"].to_dataset()
    assert copy.system.values.tolist() == ["honest"]
    assert not [
        file for file in service.folder_of("public").rglob("*") if file.is_file() and b"cheat" in file.read_bytes()
    ]
    # The record: files, store, name, true scores, and who did it.
    assert (service.folder_of("systems") / "cheat").is_dir()
    assert state(service, cheat).state == "scored"
    rows = program(service, "gil", "organiser").get("/true-scores/test/").json()["scores"]
    kept = {one["system"]: (one["rank"], one["disqualified"]) for one in rows if one["metric"] == "majmin"}
    assert kept == {"cheat": (None, REASON), "honest": (1, "")}
    logged = [line for line in service.audit.read() if line["action"] == "disqualify"]
    assert [(line["actor"], line["submission"], line["reason"]) for line in logged] == [("gil", cheat, REASON)]
    assert state(service, honest).disqualified == ""


def test_one_that_waits_is_never_scored(service, confinement):
    id = submit(service, "cheat", estimates(), who="eve")
    Browser(service, "gil", "organiser").submit(f"/submissions/{id}/disqualify", reason=REASON)
    work_off(worker_of(service, confinement))
    assert (state(service, id).state, state(service, id).disqualified) == ("withdrawn", REASON)


def test_organisers_see_all_accounts_with_the_quota_used(service):
    for name in ("zoe", "yan"):
        member(service, name, lab="Oak")
    member(service, "rita", role="reader")
    submit(service, "a", estimates(), who="zoe", splits=["test"])
    submit(service, "b", estimates(), who="yan", splits=["dev", "test"])
    found = program(service, "gil", "organiser").get("/accounts/").json()
    used = {one["name"]: (one["lab"], one["submissions"], one["used"]) for one in found["accounts"]}
    assert used["zoe"] == ("Oak", 1, {"dev": 1, "test": 2})
    assert used["rita"] == ("", 0, {})
    assert found["splits"]["test"] == {"quota": 3, "per": "month"}
    gil = Browser(service, "gil", "organiser")
    assert "2 of 3" in gil.get("/accounts/").text
    assert 'href="/accounts/"' in gil.get("/submissions/").text
    zoe = Browser(service, "zoe", "submitter")
    assert zoe.get("/accounts/").status_code == 403
    assert 'href="/accounts/"' not in zoe.get("/submissions/").text


@pytest.mark.slow
def test_an_embargo_holds_public_systems_until_its_time(tmp_path, confinement):
    text = CAMPAIGN.replace("dev: dev", 'dev: {root: dev, embargo: "2027-01-10 12:00 AoE"}')
    service = open_campaign(tmp_path, text)
    bob, nobody = Browser(service, "bob", "submitter"), Browser(service)
    assert "dev: unlimited submissions. No system is public before 2027-01-10 12:00 UTC-12:00" in bob.get(FORM).text
    oak = submit(service, "oak", estimates(wrong=1), who="bob", visibility="public")
    ids = {name: submit(service, name, estimates(), who="ada", visibility="private") for name in ("elm", "ash")}
    worker = worker_of(service, confinement)
    work_off(worker)
    ada = Browser(service, "ada", "submitter")
    assert ada.submit(f"/submissions/{ids['elm']}/visibility", visibility="public").status_code == 303
    work_off(worker)
    for address in ("/submissions/", "/", f"/submissions/{oak}/", f"/submissions/{ids['elm']}/"):
        assert "oak" not in nobody.get(address).text
        assert "elm" not in nobody.get(address).text
    # No comparison with a leader tells of it either.
    assert "the leader, oak" not in ada.get(f"/submissions/{ids['elm']}/").text
    assert "private until then and public afterwards" in bob.get(f"/submissions/{oak}/").text
    assert program(service, "bob").get(f"/submissions/{oak}/").json()["held"] is True
    service.clock.advance(days=9, hours=23, minutes=59)
    work_off(worker)
    assert state(service, oak).visibility == "private"
    service.clock.advance(minutes=1)
    work_off(worker)
    assert {name: state(service, id).visibility for name, id in ids.items()} == {"elm": "public", "ash": "private"}
    assert "oak" in nobody.get("/stores/dev/chord/").text
    assert "elm" in nobody.get("/stores/dev/chord/").text
    assert "ash" not in nobody.get("/submissions/").text
    assert [line["system"] for line in service.audit.read() if line["action"] == "end of embargo"] == ["oak", "elm"]


@pytest.mark.slow
def test_mended_references_are_one_change_of_the_file(tmp_path, confinement):
    service = open_campaign(tmp_path)
    id = submit(service, "oak", estimates(), splits=["dev"])
    worker = worker_of(service, confinement)
    work_off(worker)
    before = scores(service, id, "dev")["majmin"].value
    shutil.copytree(tmp_path / "dev/reference", tmp_path / "dev/mended")
    shutil.copytree(tmp_path / "test/reference", tmp_path / "test/mended")
    (tmp_path / "dev/mended/dev0.lab").write_text("0 10 D\n10 20 G:7\n20 30 A:min\n")
    file = tmp_path / "campaign.yaml"
    text = file.read_text().replace('"2027-01"', '"2027-02"').replace("reference/{track}", "mended/{track}")
    file.write_text(text.replace("task: chord", "task: chord\n    name: chord_mended"))
    again = open_service([file])
    again.clock = service.clock
    worker = worker_of(again, confinement)
    work_off(worker)
    rows = stored(again.database, select(Released).where(Released.metric == "majmin").order_by(Released.id))
    assert [(row.evaluation, row.rules) for row in rows] == [("chord", "2027-01"), ("chord_mended", "2027-02")]
    assert rows[0].value == before == 1.0
    assert rows[1].value == pytest.approx(17 / 18)
