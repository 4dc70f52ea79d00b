"""A backup that is made while a campaign goes on is whole, and is restored to what it was."""

from __future__ import annotations

import os
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import mirflow
from mirflow.campaign.server import service as services
from mirflow.campaign.server.limits import RATES, RateLimits
from mirflow.campaign.server.service import BackupError, Service, make_backup, open_service, restore_backup
from mirflow.campaign.server.submissions.submission_tables import Submission
from mirflow.store.read import open_groups

from ...commands import invoke, refused
from .accounts import Browser, account, program
from .databases import stored
from .test_submission_pages import CAMPAIGN as SUBMITTING
from .test_submission_pages import change, send

CAMPAIGN = SUBMITTING.replace("2027-12-31", "2099-12-31")


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    path = folder / "campaign.yaml"
    path.write_text(CAMPAIGN)
    return path


@pytest.fixture
def service(campaign: Path) -> Service:
    return open_service([campaign])


def scored(service: Service, name: str) -> None:
    """Do what a worker does with a submission that is scored."""
    (service.folder_of("systems") / name).mkdir(parents=True)
    (service.folder_of("systems") / name / "a.lab").write_text("0 1 C\n")
    (service.folder_of("readings") / name / "dev").mkdir(parents=True)
    (service.folder_of("readings") / name / "dev" / "chord.readings").write_bytes(b"kept")
    change(service, name, state="scored")


def store_scores(service: Service) -> None:
    one = {"a": mirflow.annotation("chord", [[0.0, 1.0]], ["C"])}
    scores = mirflow.score(one, {"draft-1": one}, "chord", metrics=["majmin"])
    mirflow.save(scores, service.folder_of("stores") / "dev.zarr", "chord", overwrite=True)


def submissions(service: Service) -> dict[str, str]:
    return {one.name: one.state for one in stored(service.database, select(Submission))}


def test_a_backup_is_restored_elsewhere(service, tmp_path):
    ada = program(service, "ada")
    send(ada, "draft-1")
    scored(service, "draft-1")
    waiting = send(ada, "draft-2").json()["id"]
    link = account(service, "bob", "submitter")
    store_scores(service)
    made = make_backup(service, tmp_path / "a.tar.gz")
    assert made == {"account": 2, "submission": 2, "store": 1}
    assert (tmp_path / "a.tar.gz").stat().st_mode & 0o777 == 0o600
    there = tmp_path / "there"
    there.mkdir()
    (there / "campaign.yaml").write_text(CAMPAIGN)
    restore_backup(tmp_path / "a.tar.gz", there / "state")
    again = open_service([there / "campaign.yaml"])
    assert submissions(again) == {"draft-1": "scored", "draft-2": "received"}
    assert (again.folder_of("systems") / "draft-1" / "a.lab").read_text() == "0 1 C\n"
    assert (again.folder_of("readings") / "draft-1" / "dev" / "chord.readings").read_bytes() == b"kept"
    sent = Path(waiting, "received", "000000")
    assert (again.folder_of("submissions") / sent).read_bytes() == (
        service.folder_of("submissions") / sent
    ).read_bytes()
    assert list(open_groups(again.folder_of("stores") / "dev.zarr")) == ["chord"]
    store_scores(again)  # and can be written
    assert Browser(again).post(f"/login/{link}").status_code == 303
    assert [line["action"] for line in again.audit.read()][:2] == ["submit", "submit"]


def test_a_backup_holds_no_secret(service, tmp_path):
    secrets = [account(service, "bob", "submitter", kind) for kind in ("link", "token", "session")]
    make_backup(service, tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "a.tar.gz") as made:
        held = [(one.name, made.extractfile(one).read()) for one in made if one.isfile()]
    assert "secret.key" not in dict(held)
    assert not [name for name, data in held for secret in secrets if secret.encode() in data]
    assert not [name for name, data in held if service.secret in data]


def test_what_goes_on_in_between_begins_it_anew(service, tmp_path, monkeypatch):
    id = send(program(service, "ada"), "draft-1").json()["id"]
    real, names = services._add_bytes, []

    def add_bytes(archive: tarfile.TarFile, name: str, *words: Any) -> None:
        names.append(name)
        if len(names) == 1:  # the worker refuses it just now
            services.shutil.rmtree(service.folder_of("submissions") / id)
            change(service, "draft-1", state="refused")
        real(archive, name, *words)

    monkeypatch.setattr(services, "_add_bytes", add_bytes)
    make_backup(service, tmp_path / "a.tar.gz")
    assert names.count("backup.json") == 2
    restore_backup(tmp_path / "a.tar.gz", tmp_path / "state")
    assert os.listdir(tmp_path / "state" / "submissions") == []  # noqa: PTH208


def test_what_waits_for_its_check_is_copied_first(service, tmp_path):
    """It goes when it is checked, and all else stays."""
    ada = program(service, "ada")
    send(ada, "draft-1")
    scored(service, "draft-1")
    waiting = send(ada, "draft-2").json()["id"]
    make_backup(service, tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "a.tar.gz") as made:
        names = made.getnames()
    assert names.index(f"submissions/{waiting}") < names.index("systems/draft-1")


def test_backups_of_a_campaign_that_goes_on(service, tmp_path):
    service.rates = RateLimits(dict.fromkeys(RATES, (1e12, 1e12)))  # as many as there are between two backups
    ada, stop = program(service, "ada"), threading.Event()

    def go_on() -> None:
        number = 0
        while not stop.wait(0.02):  # or there would be ever more to copy
            number += 1
            id = send(ada, f"draft-{number}").json()["id"]
            scored(service, f"draft-{number}")
            services.shutil.rmtree(service.folder_of("submissions") / id)
            if number % 5 == 0:
                store_scores(service)

    going = threading.Thread(target=go_on)
    going.start()
    try:
        number, held = 0, {}
        while number < 3 or len(held) <= 5:
            assert going.is_alive()
            number += 1
            file, folder = tmp_path / f"{number}.tar.gz", tmp_path / str(number) / "state"
            made = make_backup(service, file)
            restore_backup(file, folder)
            folder.with_name("campaign.yaml").write_text(CAMPAIGN)
            found = open_service([folder.with_name("campaign.yaml")])
            held = submissions(found)
            assert len(held) == made["submission"]
            for name, state in held.items():
                assert state == "received" or (found.folder_of("systems") / name / "a.lab").exists()
    finally:
        stop.set()
        going.join()


def test_what_cannot_be_restored(service, campaign, tmp_path):
    made = tmp_path / "a.tar.gz"
    invoke("serve", "backup", campaign, "-o", made, code=0)
    assert "is not empty" in refused("serve", "restore", made, campaign)
    elsewhere = tmp_path / "campaign.yaml"
    elsewhere.write_text(CAMPAIGN)
    (tmp_path / "cut.tar.gz").write_bytes(made.read_bytes()[:-200])
    assert "not a backup of a campaign, or damaged" in refused("serve", "restore", tmp_path / "cut.tar.gz", elsewhere)
    assert "not a backup" in refused("serve", "restore", campaign, elsewhere)
    assert not (tmp_path / "state").exists()
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []
    invoke("serve", "restore", made, elsewhere, code=0)
    assert (tmp_path / "state" / "campaign.db").exists()


def test_nothing_leaves_the_folder(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as made:
        manifest = b'{"format": 1, "schema": "0001", "mirflow": "0", "date": "", "stores": {}}'
        services._add_bytes(made, services.MANIFEST, manifest, Service("", {}).clock())
        services._add_bytes(made, "../../escaped", b"x", Service("", {}).clock())
    with pytest.raises(BackupError, match="outside the destination"):
        restore_backup(tmp_path / "a.tar.gz", tmp_path / "state")
    assert not (tmp_path / "escaped").exists()


def test_stores_are_copied_by_other_means(tmp_path):
    with pytest.raises(BackupError, match="cp -rL"):
        make_backup(Service("Results", {}), tmp_path / "a.tar.gz")
