"""Graders agree, judge, come and go, and withdraw; nothing that was answered as saved is lost."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from mirflow.campaign.server.graders.grader_pages import letter
from mirflow.campaign.server.graders.grading_tables import (
    ConsentText,
    Participation,
    Round,
    StoredAssignment,
    StoredEvent,
    StoredJudgement,
    StoredPair,
)
from mirflow.campaign.server.graders.rounds import is_closed, open_rounds
from mirflow.campaign.server.service import Service, open_service
from mirflow.errors import GradingError, InvalidAnnotationError

from ...commands import invoke, refused
from .accounts import BEGIN, Browser, Clock
from .databases import stored
from .rounds import CAMPAIGN, make_campaign, make_service, tone

ROUND = "/grading/similarity/"
CLIENT = "0123456789abcdef"


class Grader(Browser):
    """A grader's browser."""

    def __init__(self, service: Service, name: str = "ada", agree: bool = True) -> None:
        super().__init__(service, name, "grader")
        self.numbers: dict[str, int] = {}
        self.token = ""
        if agree:
            version = re.search(r'name="version" value="(\w+)"', self.get(ROUND).text)
            assert version is not None
            assert self.submit(f"{ROUND}consent", version=version[1]).status_code == 303

    def csrf(self, address: str = ROUND) -> str:
        self.token = self.token or super().csrf(address)
        return self.token

    def asked(self, page: int | None = None) -> list[int]:
        """Numbers of the candidates on a page."""
        text = self.get(ROUND, params={} if page is None else {"page": page}).text
        return [int(found) for found in re.findall(r'data-assignment="(\d+)"', text)]

    def judge(self, assignment: int, *, client: str = CLIENT, number: int = 0, heard: Any = 9.0, **values: Any) -> Any:
        """Send a change."""
        self.numbers[client] = number or self.numbers.get(client, 0) + 1
        change = {"assignment": assignment, "client": client, "number": self.numbers[client]}
        return self.post(
            f"{ROUND}judgements",
            json={**change, "values": values, "heard": heard},
            headers={"X-CSRF-Token": self.csrf(), "Accept": "application/json"},
        )

    def next(self, **fields: Any) -> Any:
        """Press the button below the candidates."""
        page = re.search(r'data-page="(\d+)"', self.get(ROUND).text)
        assert page is not None
        return self.submit(f"{ROUND}judgements", page=page[1], go="next", **fields)

    def finish_page(self, by: Callable[[int], dict[str, Any]] | None = None, **values: Any) -> list[int]:
        """Judge all candidates of the page, and go on; the numbers of the candidates."""
        page = re.search(r'data-page="(\d+)"', self.get(ROUND).text)
        asked = self.asked()
        for one in asked:
            own = by(one) if by is not None else values or {"broad": "NS", "fine": 1}
            assert self.judge(one, **own).status_code == 200
        if page is not None:
            self.submit(f"{ROUND}judgements", page=page[1], go="next")
        return asked

    def finish(self) -> int:
        """Judge all that there is; the number of candidates."""
        count = 0
        while asked := self.finish_page():
            count += len(asked)
        return count


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return make_service(tmp_path, audio=False)


def rows(service: Service, table: Any) -> list[Any]:
    return stored(service.database, select(table))


def test_nothing_is_asked_before_the_consent_and_its_version_is_kept(service):
    grader = Grader(service, agree=False)
    answer = grader.get(ROUND)
    assert "kept under a random number" in answer.text
    assert "data-assignment" not in answer.text
    assert grader.submit(f"{ROUND}consent", version="another").status_code == 409
    assert not rows(service, Participation)
    grader = Grader(service, "bob")
    [mine], [text] = rows(service, Participation), rows(service, ConsentText)
    assert (mine.consent, mine.consented) == (text.version, text.since) or mine.consent == text.version
    assert "data-assignment" in grader.get(ROUND).text


def test_a_round_is_checked_before_it_is_served(tmp_path):
    done = invoke("check", make_campaign(tmp_path), code=0)
    assert (done.stdout, done.stderr) == ("similarity: 16 pairs to judge\n", "")
    (tmp_path / "grading" / "audio" / "q1.wav").unlink()
    done = invoke("check", tmp_path / "campaign.yaml", code=0)
    assert done.stderr == "note: grading.similarity: 1 piece without a recording, such as q1\n"
    (tmp_path / "grading" / "queries.csv").write_text("query\nq2\n")
    assert "query 'q1' is not in grading/queries.csv" in refused("check", tmp_path / "campaign.yaml")
    assert not (tmp_path / "state").exists()


def test_a_new_text_is_asked_for_again(tmp_path):
    path = make_campaign(tmp_path, audio=False, more="    consent: consent.txt\n")
    (tmp_path / "consent.txt").write_text("The first <b>text</b>.\n\nSecond paragraph.")
    Grader(open_service([path]))
    (tmp_path / "consent.txt").write_text("Another text.")
    service = open_service([path])
    grader = Grader(service, agree=False)
    answer = grader.get(ROUND).text
    assert "the text has changed since you agreed" in answer
    assert "data-assignment" not in answer
    assert len(rows(service, ConsentText)) == 2
    Grader(service)
    assert len(rows(service, Participation)) == 1


def test_texts_of_organisers_are_no_markup(tmp_path):
    (tmp_path / "consent.txt").write_text("<script>alert(1)</script>")
    service = make_service(tmp_path, audio=False, more="    consent: consent.txt\n    title: <i>AMS</i>\n")
    text = Grader(service, agree=False).get(ROUND).text
    assert "<script>alert" not in text
    assert "&lt;i&gt;AMS" in text


def test_a_change_is_answered_with_the_time_after_it_is_kept(service):
    service.clock = Clock(dt.datetime(2027, 1, 1, 12, 3, 41, tzinfo=dt.UTC))
    grader = Grader(service)
    first = grader.asked()[0]
    answer = grader.judge(first, broad="SS")
    assert answer.status_code == 200
    told = answer.json()
    assert told["text"] == "saved 12:03"
    assert told["saved"] == "2027-01-01T12:03:41+00:00"
    assert told["state"] == {"broad": "SS", "fine": None, "unplayable": False, "known": False}
    assert told["progress"] == {"done": 0, "total": 4}
    assert grader.judge(first, fine=6.1).json()["progress"]["done"] == 1
    [kept] = [one for one in rows(service, StoredAssignment) if one.id == first]
    assert (kept.broad, kept.fine, kept.saved) == ("SS", 6.1, service.clock())
    assert 'value="6.1"' in grader.get(ROUND).text


def test_twice_is_once(service):
    grader = Grader(service)
    first = grader.asked()[0]
    for _ in range(3):
        assert grader.judge(first, number=1, broad="NS").json()["state"]["broad"] == "NS"
    assert len(rows(service, StoredJudgement)) == 1


def test_a_late_change_of_a_window_does_not_undo_its_newer_one(service):
    grader = Grader(service)
    first = grader.asked()[0]
    grader.judge(first, number=2, broad="VS")
    assert grader.judge(first, number=1, broad="NS", fine=3).json()["state"] == {
        "broad": "VS",
        "fine": 3.0,
        "unplayable": False,
        "known": False,
    }


def test_the_answer_tells_what_another_window_has_changed(service):
    grader = Grader(service)
    first = grader.asked()[0]
    grader.judge(first, client="windowone", broad="VS")
    state = grader.judge(first, client="windowtwo", fine=2).json()["state"]
    assert (state["broad"], state["fine"]) == ("VS", 2.0)


def test_what_is_no_judgement_is_answered_with_the_reason(service):
    grader = Grader(service)
    answer = grader.judge(grader.asked()[0], fine=11)
    assert answer.status_code == 400
    assert "from 0 to 10" in answer.json()["error"]
    assert not rows(service, StoredJudgement)


def test_nobody_judges_or_hears_for_another(service):
    ada, bob = Grader(service), Grader(service, "bob")
    first = ada.asked()[0]
    assert bob.judge(first, broad="NS").status_code == 404
    assert bob.get(f"{ROUND}audio/{first}").status_code == 404
    assert not rows(service, StoredJudgement)


@pytest.mark.parametrize("role", ["", "reader", "submitter"])
def test_pages_of_graders_are_for_graders(service, role):
    browser = Browser(service, "eve" if role else "", role or "reader")
    for address in ("/grading/", ROUND, f"{ROUND}audio/1", f"{ROUND}audio/query/1", f"{ROUND}withdraw"):
        assert browser.get(address).status_code in (401, 403)
    for address in ("consent", "judgements", "events", "withdraw"):
        assert browser.post(ROUND + address).status_code in (401, 403)


def test_a_change_without_the_token_of_the_page_is_refused(service):
    grader = Grader(service)
    first = grader.asked()[0]
    grader.token = "0" * 64
    assert grader.judge(first, broad="NS").status_code == 403
    assert not rows(service, StoredJudgement)


def test_a_page_tells_nothing_of_systems_or_pieces(tmp_path):
    grader = Grader(make_service(tmp_path))
    text = grader.get(ROUND).text
    pool = (tmp_path / "grading" / "pool.csv").read_text()
    for secret in ("S0", "S1", "q1", "q2", "q3", "q4", "p1", *re.findall(r",(\w{8})$", pool, re.MULTILINE)):
        assert not re.search(rf"\b\w*{secret}\b", text), secret
    answer = grader.get(f"{ROUND}audio/{grader.asked()[0]}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "audio/wav"
    assert "content-disposition" not in answer.headers


def test_recordings_are_sent_in_ranges(tmp_path):
    grader = Grader(make_service(tmp_path))
    answer = grader.get(f"{ROUND}audio/query/1", headers={"Range": "bytes=0-3"})
    assert answer.status_code == 206
    assert answer.content == b"RIFF"
    for number in ("query/9", "9" * 60):
        assert grader.get(f"{ROUND}audio/{number}").status_code == 404


def test_recordings_are_made_equally_loud(tmp_path):
    text = Grader(make_service(tmp_path)).get(ROUND).text
    gains = [float(gain) for gain in re.findall(r'data-gain="([\d.]+)"', text)]
    assert len(gains) == 5
    assert 0 < min(gains) < max(gains) <= 1


def test_a_query_follows_when_all_candidates_are_judged(service):
    grader = Grader(service)
    first = grader.asked()
    assert grader.next().headers["location"] == f"{ROUND}?page=1"
    assert grader.asked(1) == first
    for one in first:
        grader.judge(one, broad="NS", fine=1)
    answer = grader.submit(f"{ROUND}judgements", page=1, go="next")
    assert answer.headers["location"] == f"{ROUND}?page=2"
    assert not set(grader.asked()) & set(first)
    assert grader.asked(1) == first


def test_candidates_that_cannot_be_heard_are_done_and_count_for_nobody(service):
    grader = Grader(service)
    first = grader.finish_page(unplayable=True)
    assert grader.asked() != first
    # Somebody else is asked for them.
    Grader(service, "bob").finish()
    pairs = {one.id: one.pair_id for one in rows(service, StoredAssignment)}
    others = [pair for one, pair in pairs.items() if one not in first]
    assert all(pairs[one] in others for one in first)


def test_a_judgement_counts_after_listening(service):
    grader = Grader(service)
    first = grader.asked()[0]
    assert grader.judge(first, broad="NS", fine=1, heard=2.0).json()["progress"]["done"] == 0
    assert "counts when you have listened for 3 s more" in grader.get(ROUND).text
    assert grader.judge(first, heard=5.0).json()["progress"]["done"] == 1


def test_a_page_only_asks_whether_a_judgement_is_meant(tmp_path):
    grader = Grader(make_service(tmp_path, audio=False, each=8))
    asked = grader.asked()
    for one, broad, fine in zip(asked, ["NS"] * 3 + ["VS"] * 3, [0, 1, 2, 8, 9, 10], strict=False):
        assert grader.judge(one, broad=broad, fine=fine).json()["ask"] == ""
    answer = grader.judge(asked[6], broad="NS", fine=9).json()
    assert answer["ask"] == "You say not similar and 9, a value you have used for very similar. Is this intended?"
    assert answer["state"]["fine"] == 9.0
    assert answer["ask"] in grader.get(ROUND).text


def test_without_scripts_a_form_saves_a_page(service):
    grader = Grader(service)
    asked = grader.asked()
    fields = {f"broad-{one}": "SS" for one in asked} | {f"fine-{one}": "5.5" for one in asked}
    fields |= {f"known-{asked[0]}": "on", "plain": "yes"}
    assert grader.next(**fields).headers["location"] == f"{ROUND}?page=2"
    judged = [one for one in rows(service, StoredAssignment) if one.page == 1]
    assert [(one.broad, one.fine, one.heard) for one in judged] == [("SS", 5.5, None)] * 4
    assert [one.id for one in judged if one.known] == [asked[0]]
    # Sent again, it changes nothing; what was taken back is.
    before = len(rows(service, StoredJudgement))
    del fields[f"known-{asked[0]}"]
    fields[f"fine-{asked[1]}"] = ""
    answer = grader.submit(f"{ROUND}judgements", page=1, **fields)
    assert answer.headers["location"] == f"{ROUND}?page=1"
    assert len(rows(service, StoredJudgement)) == before + 2
    assert grader.submit(f"{ROUND}judgements", page=1, **{**fields, f"fine-{asked[0]}": "12"}).status_code == 400


def test_no_two_graders_are_given_the_same_pair(tmp_path):
    service = make_service(tmp_path, audio=False)
    graders = [Grader(service, name, agree=False) for name in "abcd"]
    version = open_rounds(service)["similarity"].version
    for grader in graders:
        grader.csrf()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: one.submit(f"{ROUND}consent", version=version), graders))
    pairs = [one.pair_id for one in rows(service, StoredAssignment)]
    assert len(pairs) == len(set(pairs)) == 16


@pytest.mark.slow
def test_each_pair_is_judged_by_as_many_as_the_round_asks_for(tmp_path):
    service = make_service(tmp_path, audio=False, graders_per_pair=2)
    ada, bob, cleo = Grader(service), Grader(service, "bob"), Grader(service, "cleo")
    # Each begins with a page of another query, which is kept for the one who was asked first.
    assert [ada.finish(), bob.finish(), cleo.finish()] == [16, 12, 4]
    pairs = [one.pair_id for one in rows(service, StoredAssignment)]
    assert {pairs.count(one) for one in pairs} == {2}
    assert "nothing more for you" in ada.get(ROUND).text
    assert "100 %" in ada.get("/grading/").text


def test_what_was_asked_and_not_judged_is_given_to_others_after_a_day(service):
    clock = service.clock = Clock()
    for name in "abcd":
        Grader(service, name)
    late = Grader(service, "late")
    assert late.asked() == []
    clock.advance(hours=25)
    assert "Continue with the next query" in late.get(ROUND).text
    late.submit(f"{ROUND}judgements", page=0, go="next")
    assert len(late.asked()) == 4


@pytest.mark.slow
def test_orders_of_candidates_differ_and_stay(tmp_path):
    service = make_service(tmp_path, audio=False, each=8, graders_per_pair=6)
    orders = set()
    for name in "abcdef":
        grader = Grader(service, name)
        places = [one.pair.candidate for one in _with_pairs(service) if one.id in grader.asked()]
        assert grader.asked() == Grader(service, name, agree=False).asked()
        orders.add(tuple(places))
    assert len(orders) > 1


def _with_pairs(service: Service) -> list[Any]:
    with service.database.read() as session:
        found = list(
            session.scalars(
                select(StoredAssignment).order_by(StoredAssignment.participation_id, StoredAssignment.place)
            )
        )
        for one in found:
            assert one.pair.candidate
        return found


def test_repeats_come_later_and_look_like_all_others(tmp_path):
    service = make_service(tmp_path, audio=False, repeats=0.25)
    grader = Grader(service)
    texts = []
    while grader.asked():
        texts.append(grader.get(ROUND).text)
        grader.finish_page()
    found = rows(service, StoredAssignment)
    assert sum(one.repeat for one in found) == 4
    assert not any("repeat" in text for text in texts)
    first = {one.pair_id: one.page for one in found if not one.repeat}
    assert all(first[one.pair_id] < one.page for one in found if one.repeat)


def test_training_comes_first_and_does_not_count(tmp_path):
    service = make_service(tmp_path, audio=False, training=True)
    grader = Grader(service)
    text = grader.get(ROUND).text
    assert "Training" in text
    assert "very similar, 9" in text
    grader.finish_page(broad="VS", fine=9)
    assert "0 % of the round" in grader.get(ROUND, params={"page": 1}).text
    assert "Training" not in grader.get(ROUND).text
    assert len(grader.asked()) == 4


def test_events_are_kept_once(service):
    clock = service.clock = Clock()
    grader = Grader(service)
    first = grader.asked()[0]
    played = {"number": 2, "kind": "played", "assignment": first, "position": 1.5, "ago": 30}
    batch = {"client": CLIENT, "page": 1, "events": [{"number": 1, "kind": "came", "ago": 40}, played]}
    for _ in range(2):
        answer = grader.post(f"{ROUND}events", json=batch, headers={"X-CSRF-Token": grader.csrf()})
        assert answer.status_code == 204
    came, heard = rows(service, StoredEvent)
    assert (came.kind, came.assignment_id, came.page) == ("came", None, 1)
    assert (heard.kind, heard.assignment_id, heard.position) == ("played", first, 1.5)
    assert heard.received == clock() - dt.timedelta(seconds=30)


@pytest.mark.parametrize(
    "events", [{}, [1], [{"number": 1, "kind": "hacked", "ago": 0}], [{"number": 1, "kind": "came"}], [{}] * 101]
)
def test_what_are_no_events_is_refused(service, events):
    grader = Grader(service)
    body = {"client": CLIENT, "page": 1, "events": events}
    answer = grader.post(f"{ROUND}events", json=body, headers={"X-CSRF-Token": grader.csrf()})
    assert answer.status_code == 400


def test_who_withdraws_is_asked_nothing_more_and_may_come_back(service):
    grader = Grader(service)
    first = grader.asked()[0]
    grader.judge(first, broad="NS", fine=1)
    assert "Delete them now" in grader.get(f"{ROUND}withdraw").text
    assert grader.submit(f"{ROUND}withdraw", what="").status_code == 400
    answer = grader.submit(f"{ROUND}withdraw", what="keep")
    assert answer.status_code == 303
    assert "You have withdrawn. Your judgements are kept" in grader.get(answer.headers["location"]).text
    assert grader.judge(first, broad="VS").status_code == 409
    assert len(rows(service, StoredJudgement)) == 1
    assert Grader(service).asked()[0] == first


def test_who_withdraws_may_have_all_deleted(service):
    grader, other = Grader(service), Grader(service, "bob")
    for one in (grader, other):
        one.judge(one.asked()[0], broad="NS", fine=1)
        body = {"client": CLIENT, "page": 1, "events": [{"number": 1, "kind": "came", "ago": 0}]}
        one.post(f"{ROUND}events", json=body, headers={"X-CSRF-Token": one.csrf()})
    answer = grader.submit(f"{ROUND}withdraw", what="delete")
    assert answer.status_code == 303
    assert "You have withdrawn. Your judgements are deleted." in grader.get(answer.headers["location"]).text
    assert [len(rows(service, table)) for table in (Participation, StoredAssignment, StoredJudgement, StoredEvent)] == [
        1,
        4,
        1,
        1,
    ]
    assert rows(service, Round)[0].deleted == 1
    assert "I agree" in grader.get(ROUND).text


@pytest.mark.parametrize("more", ["    opens: 2027-01-02\n", "    closes: 2026-12-31\n"])
def test_a_round_is_open_on_its_days_alone(tmp_path, more):
    service = make_service(tmp_path, audio=False, more=more)
    service.clock = Clock()
    grader = Grader(service, agree=False)
    assert "closed" in grader.get(ROUND).text
    version = open_rounds(service)["similarity"].version
    assert grader.post(f"{ROUND}consent", data={"csrf": grader.csrf("/account"), "version": version}).status_code == 409


@pytest.mark.parametrize(
    ("opens", "closes", "hours"),
    [
        ("2027-01-01 09:00 AoE", '"2027-01-02T00:00:00+01:00"', (21, 23)),
        ("2027-01-01T03:30:00+00:00", "2027-01-01", (3.5, 24)),  # a day ends where it always did
        ("2027-01-01", '"2027-01-01 12:00 AoE"', (0, 24)),
    ],
)
def test_a_round_opens_and_closes_at_times_with_a_zone(tmp_path, opens, closes, hours):
    service = make_service(tmp_path, audio=False, more=f"    opens: {opens}\n    closes: {closes}\n")
    opened = open_rounds(service)["similarity"]
    first, last = (BEGIN + dt.timedelta(hours=one) for one in hours)
    second = dt.timedelta(seconds=1)
    with service.database.read() as session:
        closed = [is_closed(session, opened, one) for one in (first - second, first, last - second, last)]
    assert closed == [True, False, False, True]


def test_rounds_are_loaded_again_without_a_change(tmp_path):
    path = make_campaign(tmp_path, audio=False)
    grader = Grader(open_service([path]))
    grader.judge(grader.asked()[0], broad="NS")
    service = open_service([path])
    open_rounds(service)
    assert len(rows(service, StoredPair)) == 16
    assert len(rows(service, StoredJudgement)) == 1
    # What nobody was asked about may leave the tables, and what was asked stays.
    pool = tmp_path / "grading" / "pool.csv"
    lines = pool.read_text().splitlines()
    pool.write_text("\n".join(lines[:1]))
    open_rounds(service)
    assert len(rows(service, StoredPair)) == 4


def test_another_pool_under_the_same_name_is_refused(tmp_path):
    path = make_campaign(tmp_path, audio=False)
    Grader(open_service([path]))
    key = tmp_path / "grading" / "pool.key.csv"
    key.write_text(re.sub(r"(q\dp)(\d)", r"other\1\2", key.read_text()))
    with pytest.raises(GradingError, match=r"was played as '\w+' but is now 'other\w+'"):
        open_rounds(open_service([path]))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("queries.csv", "query\nq1\n", r"pool\.csv: query 'q2' is not in grading/queries\.csv"),
        ("pool.key.csv", "query,candidate,piece,system,rank\n", "no piece for candidate"),
        ("training.csv", "query,candidate,broad,fine\nq1,q2,XX,1\n", r"training\.csv:2: invalid broad: choose from"),
        (
            "training.csv",
            "query,candidate,broad,fine\nq1,q2,NS,11\n",
            r"training\.csv:2: invalid fine: expected a number",
        ),
    ],
)
def test_tables_that_do_not_fit_are_named(tmp_path, file, text, message):
    path = make_campaign(tmp_path, audio=False, training=True)
    (tmp_path / "grading" / file).write_text(text)
    with pytest.raises((GradingError, InvalidAnnotationError), match=message):
        open_rounds(open_service([path]))


def test_names_of_pieces_do_not_lead_out_of_the_folder_of_recordings(tmp_path):
    path = make_campaign(tmp_path, audio=False)
    tone(tmp_path / "secret.wav", 440)
    key = tmp_path / "grading" / "pool.key.csv"
    key.write_text(re.sub(r"q1p0", "../../secret", key.read_text()))
    with pytest.raises(GradingError, match="invalid name of a recording in"):
        open_rounds(open_service([path]))


def test_an_audio_pattern_names_the_piece(tmp_path):
    text = CAMPAIGN.format(repeats=0, listen=5, graders_per_pair=1, more="").replace("{piece}", "{track}")
    (tmp_path / "campaign.yaml").write_text(text)
    with pytest.raises(Exception, match=r"expected \{piece\} in place"):
        open_service([tmp_path / "campaign.yaml"])


def test_candidates_have_letters():
    names = [letter(place) for place in range(800)]
    assert names[:3] == ["A", "B", "C"]
    assert names[701:703] == ["ZZ", "AAA"]
    assert len(set(names)) == 800


def test_grading_is_in_the_navigation_of_those_who_may_grade(service):
    people: dict[str, Any] = {"reader": False, "submitter": False, "grader": True, "organiser": True}
    for role, may in people.items():
        page = Browser(service, f"a {role}", role).get("/account").text
        assert ('<a href="/grading/">Grade</a>' in page) == may, role
    assert "Grade</a>" not in Browser(service).get("/").text


class TestProgressOnTheFrontPage:
    """How far the open rounds are, for those who may judge; for everybody of rounds that are public; and no names."""

    def front(self, service: Service, who: Browser | None = None) -> str:
        service.clock.advance(seconds=11)
        text = (who or Browser(service)).get("/").text
        found = re.search(r'<h2 id="grading">.*?</section>', text, re.DOTALL)
        return "" if found is None else " ".join(re.sub(r"<[^>]+>", " ", found[0]).split())

    def test_is_for_those_who_may_judge(self, tmp_path):
        service = make_service(tmp_path, more="    closes: 2027-12-31\n")
        service.clock = Clock()
        ada = Grader(service)
        shown = "Grading similarity : 0 of 16 pairs judged, until 2027-12-31 23:59 UTC"
        assert self.front(service, ada) == shown
        assert f'<a href="{ROUND}">similarity</a>' in ada.get("/").text
        assert self.front(service, Browser(service, "org", "organiser")) == shown
        for role in ("reader", "submitter"):
            assert self.front(service, Browser(service, role, role)) == ""
        assert self.front(service) == ""
        judged = len(ada.finish_page())
        assert self.front(service, ada) == shown.replace("0 of", f"{judged} of", 1)
        assert "ada" not in self.front(service, ada)

    @pytest.mark.slow
    def test_is_for_everybody_where_the_round_is_public_and_anew_where_it_changes(self, tmp_path):
        service = make_service(tmp_path, graders_per_pair=2, more="    public: true\n    title: Alike\n")
        service.clock = Clock()
        nobody, ada = Browser(service), Grader(service)
        assert self.front(service) == "Grading Alike: 0 of 16 pairs judged by 2 people each, 0 % of the judgements"
        assert "<a href" not in re.search(r'<h2 id="grading">.*?</section>', nobody.get("/").text, re.DOTALL)[0]
        before = nobody.get("/").headers["etag"]
        assert nobody.get("/", headers={"If-None-Match": before}).status_code == 304
        ada.finish()
        service.clock.advance(seconds=11)
        again = nobody.get("/", headers={"If-None-Match": before})
        assert again.status_code == 200
        assert self.front(service) == "Grading Alike: 0 of 16 pairs judged by 2 people each, 50 % of the judgements"
        Grader(service, "bob").finish()
        assert "16 of 16 pairs judged" in self.front(service)

    def test_ends_with_the_round(self, tmp_path):
        service = make_service(tmp_path, more="    public: true\n    closes: 2027-01-01\n")
        service.clock = Clock()
        assert "0 of 16 pairs judged, until 2027-01-01 23:59 UTC" in self.front(service)
        service.clock.advance(days=1)
        assert self.front(service) == ""

    def test_is_counted_now_and_then_but_a_round_that_is_closed_leaves_at_once(self, tmp_path):
        service = make_service(tmp_path, more="    public: true\n")
        service.clock = Clock()
        ada, nobody = Grader(service), Browser(service)
        before = nobody.get("/").text
        ada.finish_page()
        assert nobody.get("/").text == before
        service.clock.advance(seconds=10)
        assert nobody.get("/").text != before
        with service.database.write() as session:
            session.scalars(select(Round)).one().closed = service.clock()
        assert "judged" not in nobody.get("/").text
