"""Organisers see how a round goes, without names, and close it into tables that are scored."""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mirflow.campaign.server.graders.grading_tables import Participation, StoredAssignment, StoredPair
from mirflow.campaign.server.graders.organiser_pages import close_round
from mirflow.campaign.server.service import Service, open_service
from mirflow.errors import GradingError

from ...commands import invoke, printed, refused
from ...commands import rows as table_rows
from .accounts import Browser
from .rounds import make_campaign, make_service
from .test_grading import ROUND, Grader, rows

WORDS: Sequence[tuple[str, float]] = (("NS", 1.0), ("SS", 5.0), ("VS", 9.0), ("VS", 8.0))


def judge_all(service: Service, name: str, shift: float = 0.0) -> Grader:
    """A grader who judges all candidates; the words go by the pairs, so that graders agree in them."""
    grader = Grader(service, name)

    def by_pair(assignment: int) -> dict[str, Any]:
        pair = next(row.pair_id for row in rows(service, StoredAssignment) if row.id == assignment)
        broad, fine = WORDS[pair % 4]
        return {"broad": broad, "fine": round(fine + shift, 1)}

    while grader.finish_page(by_pair):
        pass
    return grader


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return make_service(tmp_path, audio=False, graders_per_pair=2)


def overview(service: Service) -> dict[str, Any]:
    found = Browser(service, "olga", "organiser").get(f"{ROUND}overview.json")
    assert found.status_code == 200
    return dict(found.json())


def test_a_round_without_judgements_has_an_overview(service):
    found = overview(service)
    assert found["quantities"]["pairs"] == 16
    assert found["agreement"] == found["boxes"] == found["graders"] == found["schemes"] == []
    assert found["forecast"]["complete"] is None
    page = Browser(service, "olga", "organiser").get(f"{ROUND}overview").text
    assert "cannot be estimated: there were no judgements in the last 7 days" in page
    assert "0 of 32 judgements made, 0 %" in page
    assert re.findall(r"<h2>(.*)</h2>", page) == ["Pieces without a recording"], "no heading without contents"
    assert "<dd>0</dd>" not in page


@pytest.mark.slow
def test_graders_who_agree_have_a_kappa_of_one(service):
    judge_all(service, "ada")
    judge_all(service, "bob", shift=0.4)
    found = overview(service)
    assert found["counts"] == [{"judgements": 2, "pairs": 16}]
    assert found["quantities"]["judgements that are made"] == 32
    values = {one["measure"]: one["value"] for one in found["agreement"]}
    assert values["kappa, 3-level"] == values["weighted_kappa"] == values["alpha_ordinal"] == 1
    assert 0.9 < values["icc1"] < 1
    boxes = {one["broad"]: one["median"] for one in found["boxes"]}
    assert boxes == {"NS": 1.2, "SS": 5.2, "VS": 8.7}
    assert [one["judgements"] for one in found["graders"]] == [16, 16]
    assert found["schemes"][0]["tau"] == 1
    page = Browser(service, "olga", "organiser").get(f"{ROUND}overview").text
    assert page.count('class="box"') == 3
    for text in (page, json.dumps(found)):
        assert not re.search(r"\b(ada|bob)\b", text)


def test_a_round_has_a_day_on_which_it_will_be_complete(service):
    judge_all(service, "ada")
    began = service.clock()
    service.clock = lambda: began + dt.timedelta(days=2)
    found = overview(service)["forecast"]
    assert found["per_day"] == pytest.approx(8, rel=0.01), "16 judgements in two days"
    left = dt.datetime.fromisoformat(found["complete"]) - (began + dt.timedelta(days=2))
    assert left / dt.timedelta(days=1) == pytest.approx(2, rel=0.01)
    assert "At 8 judgements a day, as in the last 2 days, it will be complete about " in found["words"]


def test_overviews_are_for_organisers(service):
    for name, role in (("ada", "grader"), ("sam", "submitter")):
        browser = Browser(service, name, role)
        assert browser.get(f"{ROUND}overview").status_code == 403
        assert browser.get(f"{ROUND}overview.json").status_code == 403


def test_graders_have_numbers_in_no_order_of_time(service):
    for name in "abcdefgh":
        Grader(service, name)
    came = [one.code for one in sorted(rows(service, Participation), key=lambda one: one.id)]
    assert len(set(came)) == 8
    assert {one["grader"] for one in overview(service)["graders"]} == {f"grader {number}" for number in range(1, 9)}


def test_repeats_tell_how_far_a_grader_agrees_with_the_own_judgements(tmp_path):
    service = make_service(tmp_path, audio=False, repeats=0.25)
    judge_all(service, "ada")
    [grader] = overview(service)["graders"]
    assert (grader["repeats"], grader["same word"], grader["difference of numbers"]) == (4, 1.0, 0.0)


def test_what_was_not_listened_to_is_no_judgement_yet(service):
    grader = Grader(service)
    first, second = grader.asked()[:2]
    grader.judge(first, broad="NS", fine=1, heard=1.0)
    grader.judge(second, broad="NS", fine=1)
    found = overview(service)["quantities"]
    assert (found["judgements that are made"], found["asked and not judged yet"]) == (1, 3)


def test_organisers_see_how_much_of_the_recordings_was_heard(tmp_path):
    service = make_service(tmp_path, listen=1)  # recordings of 8 s
    grader = Grader(service)
    first, second, third, fourth = grader.asked()
    grader.judge(first, broad="NS", fine=1, heard=2.0)
    grader.judge(second, broad="NS", fine=1, heard=2.0)
    grader.judge(second, heard=4.0)
    grader.judge(third, broad="NS", fine=1, heard=9.5)
    grader.judge(fourth, broad="NS", fine=1, heard=0.5)  # does not count yet
    [row] = overview(service)["graders"]
    assert row["share heard"] == 0.5
    assert '<td class="number">0.5</td>' in Browser(service, "olga", "organiser").get(f"{ROUND}overview").text
    close_round(service, "similarity", tmp_path / "now", interim=True, unjudged="skip")
    made = list(csv.DictReader((tmp_path / "now" / "made.csv").read_text().splitlines()))
    assert sorted(one["heard"] for one in made) == ["0.0625", "0.25", "0.5", "1.0"]
    key = tmp_path / "grading" / "pool.key.csv"
    lines = printed("grading", "overview", tmp_path / "now" / "made.csv", "--key", key).splitlines()
    (shown,) = (line for line in lines if line.startswith("all "))
    assert shown.split()[-1] == "0.5000"


def test_a_share_that_is_not_known_is_none(tmp_path):
    service = make_service(tmp_path, listen=1)
    grader = Grader(service)
    piece = next(one.piece for one in rows(service, StoredPair) if one.id == rows(service, StoredAssignment)[0].pair_id)
    (tmp_path / "grading" / "audio" / f"{piece}.wav").write_bytes(b"no recording")
    grader.judge(grader.asked()[0], broad="NS", fine=1, heard=2.0)
    grader.judge(grader.asked()[1], broad="NS", fine=1, heard=None)  # a page without scripts
    [row] = overview(service)["graders"]
    assert (row["judgements"], row["share heard"]) == (2, None)


@pytest.mark.slow
def test_a_closed_round_is_scored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = make_campaign(tmp_path, audio=False, graders_per_pair=2)
    service = open_service([path])
    ada = judge_all(service, "ada")
    judge_all(service, "bob", shift=0.4)
    body = {"client": "0123456789", "page": 1, "events": [{"number": 1, "kind": "came", "ago": 0}]}
    ada.post(f"{ROUND}events", json=body, headers={"X-CSRF-Token": ada.csrf()})
    out = tmp_path / "closed"
    told = invoke("grading", "close", path, "similarity", "-o", out, code=0)
    assert "mirflow run" in told.stderr
    judged = list(csv.DictReader((out / "judgements.csv").read_text().splitlines()))
    assert len(judged) == 32
    assert {one["grader"] for one in judged} == {"grader 1", "grader 2"}
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    assert {one["event"] for one in events} == {"judged", "came"}
    assert not re.search(r"\b(ada|bob)\b", "".join(file.read_text() for file in out.glob("*.*")))
    printed("run", out / "similarity.yaml", "--quiet")
    assert {row["system"] for row in table_rows("query", "closed.zarr", "--metric", "fine@3")} == {"S0", "S1"}
    assert "closed" in ada.get(ROUND).text
    assert ada.judge(1, broad="NS").status_code == 409
    assert "close round" in (tmp_path / "state" / "audit.jsonl").read_text()


def test_interim_tables_leave_a_round_open(service, tmp_path):
    grader = Grader(service)
    grader.judge(grader.asked()[0], broad="NS", fine=1)
    closed, _ = close_round(service, "similarity", tmp_path / "now", interim=True, unjudged="skip")
    assert len(closed.judgements) == 1
    arguments = ("similarity", "--interim", "--unjudged", "skip", "-o", tmp_path / "later")
    told = invoke("grading", "close", tmp_path / "campaign.yaml", *arguments, code=0).stderr
    assert "current tables, grading continues" in told
    assert "round closed" not in told
    assert grader.judge(grader.asked()[1], broad="NS").status_code == 200


def test_a_round_that_is_not_there_is_named(service, tmp_path):
    with pytest.raises(GradingError, match="unknown round of grading 'similarty'; did you mean 'similarity'"):
        close_round(service, "similarty", tmp_path / "out")


def test_a_round_that_nobody_judged_is_not_closed(service, tmp_path):
    grader = Grader(service)
    with pytest.raises(GradingError, match="no judgements are left"):
        close_round(service, "similarity", tmp_path / "out")
    assert grader.judge(grader.asked()[0], broad="NS").status_code == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("campaign.yaml",), "name the round of campaign.yaml"),
        (("campaign.yaml", "similarity", "--names"), "--names is for a table of judgements"),
        (("grading/pool.csv", "similarity"), "need a campaign file"),
    ],
)
def test_closing_takes_a_campaign_with_a_round_or_a_table(tmp_path, arguments, message):
    make_campaign(tmp_path, audio=False)
    told = refused("grading", "close", tmp_path / arguments[0], *arguments[1:], "-o", tmp_path / "out")
    assert message in told
