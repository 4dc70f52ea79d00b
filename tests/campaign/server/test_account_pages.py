"""People log in by a personal link, see what is open in their name, and close it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from mirflow.campaign.file import Campaign
from mirflow.campaign.server.accounts import LIFETIMES, find_user, revoke
from mirflow.campaign.server.database import Database, Token
from mirflow.campaign.server.limits import RateLimits
from mirflow.campaign.server.service import Service

from .accounts import BASE, Browser, Clock, account


@pytest.fixture
def service(tmp_path: Path) -> Service:
    database = Database(f"sqlite:///{tmp_path / 'campaign.db'}")
    database.create()
    campaign = Campaign(campaign="Chords <b>", stores=["x"])
    return Service(campaign.campaign, {}, campaign, folder=tmp_path, database=database, clock=Clock())


def actions(service: Service) -> list[str]:
    return [str(line["action"]) for line in service.audit.read()]


def test_a_link_shows_a_button_and_logs_nobody_in(service):
    browser, link = Browser(service), account(service, "ada", "submitter")
    answer = browser.get(f"/login/{link}")
    assert "<button" in answer.text
    assert "<h1>Log in as ada</h1>" in answer.text
    assert "<h1>Log in</h1>" in browser.get(f"/login/{link[1:]}").text
    assert "set-cookie" not in answer.headers
    assert link not in answer.text
    assert browser.get("/account").status_code == 401
    answer = browser.post(f"/login/{link}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert link not in cookie
    assert "<h1>ada</h1>" in browser.get("/account").text
    assert actions(service) == ["log in"]


def test_cookies_are_kept_to_https_where_there_is_https(service):
    service.base_url = "https://results.example"
    browser, link = Browser(service), account(service, "ada", "submitter")
    browser.headers["Origin"] = "https://results.example"
    cookie = browser.post(f"/login/{link}").headers["set-cookie"]
    assert cookie.startswith("__Host-mirflow=")
    assert "Secure" in cookie
    assert "Path=/" in cookie


def test_another_site_cannot_log_somebody_in(service):
    link = account(service, "eve", "submitter")
    browser = Browser(service)
    assert browser.post(f"/login/{link}", headers={"Origin": "https://eve.example"}).status_code == 403


@pytest.mark.parametrize("secret", ["x", "%00", "a%2Fb", "7Kx" * 500])
def test_unknown_links(service, secret):
    answer = Browser(service).post(f"/login/{secret}")
    assert answer.status_code in (401, 404)
    assert "7Kx" not in answer.text


def test_expired_and_revoked_links(service):
    link, clock = account(service, "ada", "reader"), service.clock
    assert isinstance(clock, Clock)
    clock.advance(days=365)
    assert Browser(service).post(f"/login/{link}").status_code == 401
    clock.advance(days=-1)
    assert Browser(service).post(f"/login/{link}").status_code == 303
    with service.database.write() as session:
        revoke(session, find_user(session, "ada"), clock())
    assert Browser(service).post(f"/login/{link}").status_code == 401


def test_logging_in_deletes_sessions_that_expired_a_session_length_ago(service):
    link, clock = account(service, "ada", "submitter"), service.clock
    assert isinstance(clock, Clock)
    half = LIFETIMES["session"] / 2

    def sessions() -> int:
        with service.database.read() as session:
            counted = select(func.count()).select_from(Token).where(Token.kind == "session")
            return session.scalar(counted) or 0

    Browser(service).post(f"/login/{link}")
    clock.now += 3 * half  # the session has expired, but is kept for a while
    link = account(service, "ada", "submitter")
    Browser(service).post(f"/login/{link}")
    assert sessions() == 2
    clock.now += 2 * half
    link = account(service, "ada", "submitter")
    Browser(service).post(f"/login/{link}")
    assert sessions() == 2


def test_guessing_is_slowed_down(service):
    service.rates = RateLimits(clock=lambda: 0.0)
    browser = Browser(service)
    codes = [browser.post(f"/login/{number}").status_code for number in range(30)]
    assert codes == [401] * 20 + [429] * 10


def test_sessions_end(service):
    browser = Browser(service, "ada", "submitter")
    cookie = dict(browser.cookies)
    assert browser.submit("/logout").status_code == 303
    assert not browser.cookies
    thief = TestClient(browser.app, base_url=BASE, cookies=cookie)
    assert thief.get("/account").status_code == 401
    late, clock = Browser(service, "ada"), service.clock
    assert isinstance(clock, Clock)
    clock.advance(days=30)
    assert late.get("/account").status_code == 401


def test_a_token_is_shown_once_and_is_good_until_it_is_revoked(service):
    browser = Browser(service, "ada", "submitter")
    made = browser.submit("/account/tokens", days="7").text
    found = re.search(r"<code>([\w-]{22})</code>", made)
    assert found is not None
    assert "until 2027-01-08" in made
    assert found[1] not in browser.get("/account").text
    program = TestClient(browser.app, base_url=BASE, headers={"Authorization": f"Bearer {found[1]}"})
    assert program.get("/account").status_code == 200
    number = re.search(r'value="(\d+)">Revoke<span class="unseen"> the token made', browser.get("/account").text)
    assert number is not None
    stranger = Browser(service, "eve", "submitter")
    assert stranger.submit("/account/revoke", token=number[1]).status_code == 404
    assert browser.submit("/account/revoke", token=number[1]).status_code == 303
    assert program.get("/account").status_code == 401
    assert actions(service)[-2:] == ["log in", "revoke token"]


@pytest.mark.parametrize("days", ["", "0", "367", "-1", "1e3", "²", "9" * 400])
def test_tokens_last_a_year_at_most(service, days):
    answer = Browser(service, "ada").submit("/account/tokens", days=days)
    assert answer.status_code == 400
    assert "1 to 366 days" in answer.text


def test_names_are_text(service):
    text = Browser(service, "<img src=x onerror=alert(1)>").get("/account").text
    assert "<img" not in text
    assert "Chords &lt;b&gt;" in text
    assert "private, no-store" in Browser(service, "ada").get("/account").headers["cache-control"]


def test_errors_are_pages_for_people(service):
    answer = Browser(service).get("/nowhere")
    assert answer.status_code == 404
    assert "<h1>Page not found</h1>" in answer.text


def test_assets_are_kept_for_good(service):
    browser = Browser(service)
    found = re.search(r'href="(/static/site\.[0-9a-f]+\.css)"', browser.get("/nowhere").text)
    assert found is not None
    answer = browser.get(found[1])
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert browser.get("/static/site.000000000000.css").status_code == 404
    assert browser.get("/static/..%2fpages.py").status_code == 404
