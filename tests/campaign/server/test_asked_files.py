"""The submission form says what to send: patterns, names of the tracks, an example, and until when."""

from __future__ import annotations

import json

import pytest

from mirflow.campaign.server.submissions.checking import asked_files, keep_places

from .accounts import Browser, program
from .campaigns import CAMPAIGN, open_campaign, work_off, worker_of

UNTOLD = CAMPAIGN.replace("    tracks: tracks.csv\n", "")


@pytest.mark.parametrize("told", [True, False])
def test_a_worker_lists_the_tracks_before_anything_is_sent(tmp_path, confinement, told):
    service = open_campaign(tmp_path, CAMPAIGN if told else UNTOLD)
    ada = Browser(service, "ada", "submitter")
    form = ada.get("/submissions/new").text
    assert "named <code>{track}.lab</code>." in form
    assert "listed here once a worker has read" in form
    work_off(worker_of(service, confinement))
    form = ada.get("/submissions/new").text
    assert "such as <code>dev0.lab</code>" in form
    assert "6 files" in form
    # A hidden split names its tracks only where submitters have a table of them.
    assert ("test0" in form) is told
    assert ("names of the tracks are those in the data" in form) is not told
    terms = program(service, "ada").get("/submissions/new").json()
    assert [(one["split"], len(one["names"])) for one in terms["files"]] == [("dev", 6), ("test", 6 if told else 0)]
    assert ada.get("/submissions/tracks/dev/chord.txt").text.splitlines() == [f"dev{number}.lab" for number in range(6)]
    assert ada.get("/submissions/tracks/test/chord.txt").status_code == (200 if told else 404)
    assert ada.get("/submissions/tracks/nope/chord.txt").status_code == 404
    assert ("test0" in (service.state_folder / "tracks.json").read_text()) is told


@pytest.mark.parametrize(
    ("reference", "estimates", "place", "example"),
    [
        ("reference/{track}.jams", "{track}.{format}", {"track": "a"}, "a.jams"),
        ("reference/{track}.{format}", "{track}.{format}", {"track": "a", "format": "lab"}, "a.lab"),
        ("by/{album}/{track}.lab", "{album}/{track}.txt", {"album": "x", "track": "a"}, "x/a.txt"),
        ("reference/{track}.lab", "{track}/{part}.lab", {"track": "a"}, "a/{part}.lab"),
    ],
)
def test_an_example_is_a_name_that_fits(tmp_path, reference, estimates, place, example):
    text = CAMPAIGN.replace("reference/{track}.lab", reference).replace('"{track}.lab"', f'"{estimates}"')
    campaign = open_campaign(tmp_path, text).campaign
    assert asked_files(tmp_path, campaign)[0]["example"] == estimates
    keep_places(tmp_path, campaign, {"dev": {"chord": [place]}, "test": {}})
    assert asked_files(tmp_path, campaign)[0]["example"] == example


def test_a_list_that_cannot_be_read_is_as_if_it_were_not_there(tmp_path):
    service = open_campaign(tmp_path)
    (tmp_path / "tracks.json").write_text(json.dumps({"dev": 3}))
    assert not any(one["names"] for one in asked_files(tmp_path, service.campaign))


def test_the_form_tells_the_times_of_each_split(tmp_path):
    times = 'opens: "2027-01-02 09:00 AoE", closes: "2027-02-01T12:00:00+01:00", hidden: true'
    service = open_campaign(tmp_path, CAMPAIGN.replace("hidden: true", times) + "closes: 2027-03-01\n")
    ada = Browser(service, "ada", "submitter")
    form = ada.get("/submissions/new").text
    assert (
        "test: 3 of 3 left in this month. Opens 2027-01-02 09:00 UTC-12:00. Closes 2027-02-01 12:00 UTC+01:00" in form
    )
    assert "dev: unlimited submissions. Closes 2027-03-01 23:59 UTC" in form
    split = 'name="split" value="test"'
    assert "disabled" in form.partition(split)[2].partition(">")[0]
    service.clock.advance(days=10)
    assert "disabled" not in ada.get("/submissions/new").text.partition(split)[2].partition(">")[0]
    service.clock.advance(days=50)
    ada = Browser(service, "ada", "submitter")
    assert "Closed 2027-03-01 23:59 UTC" in ada.get("/submissions/new").text
