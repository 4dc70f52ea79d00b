"""What strangers, other sites and expired secrets ask for is refused, and no answer or log tells a secret."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import Counter
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.testclient import TestClient

from mirflow.campaign.file import Campaign
from mirflow.campaign.server.accounts import Kind, Role, add_user, find_user, find_viewer, issue, log_in, revoke
from mirflow.campaign.server.app import create_app, networks
from mirflow.campaign.server.database import Database
from mirflow.campaign.server.limits import SMALL, RateLimits
from mirflow.campaign.server.security import HEADERS, GuardedRoute, Security, cookie_name, csrf_token, who_asks
from mirflow.campaign.server.service import Service
from mirflow.errors import QueryError, StoreError

from .accounts import BEGIN, Clock


def _say(request: Request) -> Response:
    viewer = request.state.viewer
    return PlainTextResponse(f"{viewer.name if viewer else 'nobody'} from {request.state.address}")


def _fail(request: Request) -> Response:
    raise StoreError("/srv/secret/test.zarr: a reference says N:canary")


def _crash(request: Request) -> Response:
    raise ZeroDivisionError("canary")


def _refuse(request: Request) -> Response:
    raise QueryError("unknown metric '<b>majmim</b>'; did you mean 'majmin'?")


ROUTES = [
    GuardedRoute("/open", _say, role=None, methods=("GET", "POST")),
    GuardedRoute("/read", _say, role="reader"),
    GuardedRoute("/submit", _say, role="submitter", methods=("GET", "POST")),
    GuardedRoute("/grade", _say, role="grader", methods=("POST",)),
    GuardedRoute("/organise", _say, role="organiser"),
    GuardedRoute("/login/{secret}", _say, role=None),
    GuardedRoute("/fail", _fail, role=None),
    GuardedRoute("/crash", _crash, role=None),
    GuardedRoute("/refuse", _refuse, role=None),
]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    database = Database(f"sqlite:///{tmp_path / 'campaign.db'}")
    database.create()
    campaign = Campaign(campaign="Chords", stores=["x"])
    return Service("Chords", {}, campaign, folder=tmp_path, database=database, clock=Clock())


@pytest.fixture
def client(service: Service) -> TestClient:
    app = create_app(service)
    app.router.routes[:] = ROUTES
    return TestClient(app, base_url="http://localhost:8765", raise_server_exceptions=False)


@pytest.fixture
def enter(service: Service) -> Callable[..., str]:
    """Makes an account with a secret."""

    def make(role: Role = "submitter", kind: Kind = "session", name: str = "ada", days: float = 1) -> str:
        with service.database.write() as session:
            user = add_user(session, name, role, service.clock())
            return issue(session, user, kind, service.clock(), dt.timedelta(days=days))

    return make


def as_session(service: Service, secret: str, **headers: Any) -> dict[str, Any]:
    return {"headers": {"Cookie": f"{cookie_name(service)}={secret}", **headers}}


def as_token(secret: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {secret}"}}


@pytest.mark.parametrize("address", ["/open", "/nowhere", "/read", "/crash", "/fail", "/refuse"])
def test_every_answer_has_the_headers(client, address):
    for answer in (client.get(address), client.request("BREW", address), client.post(address, content=b"x" * 70_000)):
        assert {name: answer.headers.get(name) for name in HEADERS} == dict(HEADERS)


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("/open", ["reader", "submitter", "grader", "organiser"]),
        ("/read", ["reader", "submitter", "grader", "organiser"]),
        ("/submit", ["submitter", "organiser"]),
        ("/organise", ["organiser"]),
    ],
)
@pytest.mark.parametrize("role", ["reader", "submitter", "grader", "organiser"])
def test_roles(client, enter, service, address, may, role):
    answer = client.get(address, **as_session(service, enter(role)))
    assert answer.status_code == (200 if role in may else 403)


def test_strangers_are_told_to_open_their_link(client):
    answer = client.get("/read")
    assert answer.status_code == 401
    assert answer.text == "Open the personal link that the organisers sent you, and ask them if you have lost it.\n"


@pytest.mark.parametrize(
    "host", ["attacker.example", "attacker.example:8765", "localhost.attacker.example", "", "[", "@"]
)
def test_names_that_lead_to_the_address_from_elsewhere_are_refused(client, host):
    assert client.get("/open", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "[::1]:80", "results.example"])
def test_names_of_the_server(client, service, host):
    service.base_url = "https://results.example"
    assert client.get("/open", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Origin": "https://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_changes_that_other_sites_ask_for_are_refused(client, enter, service, headers):
    secret = enter()
    given = as_session(service, secret, **headers)
    right = {"csrf": csrf_token(service, secret)}
    assert client.post("/submit", data=right, **given).status_code == 403
    assert client.post("/open", headers=headers).status_code == 403
    assert client.get("/submit", **given).status_code == 200


def test_changes_need_the_token_of_the_session(client, enter, service):
    secret, other = enter(), enter(name="eve")
    given = as_session(service, secret)
    for forged in ("", "x", "ü", csrf_token(service, other)):
        assert client.post("/submit", data={"csrf": forged}, **given).status_code == 403
        header = as_session(service, secret, **{"X-CSRF-Token": forged.encode()})
        assert client.post("/submit", **header).status_code == 403
    assert client.post("/submit", data={"csrf": csrf_token(service, secret)}, **given).status_code == 200
    header = as_session(service, secret, **{"X-CSRF-Token": csrf_token(service, secret)})
    assert client.post("/submit", json={}, **header).status_code == 200


def test_tokens_of_programs_need_no_other_token(client, enter):
    assert client.post("/submit", **as_token(enter(kind="token"))).text == "ada from testclient"


@pytest.mark.parametrize("kind", ["session", "token"])
def test_forged_expired_and_revoked_secrets(client, enter, service, kind):
    secret = enter(kind=kind)
    assert isinstance(service.clock, Clock)

    def status(secret: str) -> int:
        given = as_token(secret) if kind == "token" else as_session(service, secret)
        return client.get("/read", **given).status_code

    assert status(secret) == 200
    assert [status(forged) for forged in (secret[:-1], f"{secret}A", secret.swapcase(), "", "%00")] == [401] * 5
    service.clock.now += dt.timedelta(days=1)
    assert status(secret) == 401
    service.clock.now = BEGIN
    with service.database.write() as session:
        revoke(session, find_user(session, "ada"), BEGIN)
    assert status(secret) == 401


def test_a_link_is_no_session_and_no_token(client, enter, service):
    link = enter(kind="link")
    assert client.get("/read", **as_token(link)).status_code == 401
    assert client.get("/read", **as_session(service, link)).status_code == 401


def test_a_login_ends_the_session_before(enter, service, client):
    link = enter(kind="link")
    with service.database.write() as session:
        first = log_in(session, link, None, BEGIN)
        assert first is not None
        before = find_viewer(session, first[1], "session", BEGIN)
        second = log_in(session, link, before, BEGIN)
        assert second is not None
        assert log_in(session, first[1], None, BEGIN) is None
    assert client.get("/read", **as_session(service, first[1])).status_code == 401
    assert client.get("/read", **as_session(service, second[1])).status_code == 200


def test_errors_tell_nothing_that_was_not_asked(client, caplog):
    crash = client.get("/crash")
    assert crash.status_code == 500
    assert crash.text == "Internal error; see the server's log.\n"
    page = client.get("/crash", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "Internal error" in page.text
    assert "ZeroDivisionError" not in page.text
    assert "ZeroDivisionError" in caplog.text
    fail = client.get("/fail")
    assert fail.status_code == 503
    assert "canary" not in fail.text
    assert "zarr" not in fail.text
    asked = client.get("/refuse")
    assert (asked.status_code, asked.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert client.get("/nowhere<script>").text == "Page not found.\n"
    assert client.get("/refuse", headers={"Accept": "application/json"}).json()["error"].endswith("'majmin'?")


def test_logs_have_no_secrets(client, enter, service, caplog):
    caplog.set_level(logging.INFO, "mirflow.access")
    secret = enter()
    client.get("/login/7KxSecret", **as_session(service, secret))
    client.get("/LOGIN/7KxSecret", **as_token(secret))
    client.get("/open?token=7KxSecret")
    client.get("/a%0d%0aforged line")
    told = caplog.text
    assert "testclient user 1 GET /login/... 200" in told
    assert "7KxSecret" not in told
    assert secret not in told
    assert "\nforged" not in told


def test_large_bodies_are_refused_before_they_are_read(client):
    assert client.post("/open", content=b"x" * SMALL).status_code == 200
    assert client.post("/open", content=b"x" * (SMALL + 1)).status_code == 413
    parts = (b"x" * 1000 for _ in range(100))
    assert client.post("/grade", content=parts).status_code in (401, 413)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    parts = (b"x" * 1000 for _ in range(100))
    assert client.post("/open", content=parts, headers=form).status_code == 413
    assert client.post("/open", content=b"&".join([b"a=1"] * 600), headers=form).status_code == 400


def test_the_token_is_checked_before_a_body_that_cannot_have_it_is_read(client, enter, service):
    parts = (b"x" * 1000 for _ in range(100))
    assert client.post("/submit", content=parts, **as_session(service, enter())).status_code == 403


def test_rates(client, service, enter):
    service.rates = RateLimits(clock=lambda: 0.0)
    codes = [client.post("/open").status_code for _ in range(400)]
    assert codes[:300] == [200] * 300
    assert codes[-1] == 429
    answer = client.post("/open")
    assert answer.headers["retry-after"] == "1"
    assert client.post("/submit", **as_token(enter(kind="token"))).status_code == 200  # has a bucket of its own


def test_tokens_that_are_tried_have_a_rate(client):
    def codes(address: str) -> list[int]:
        return [client.get(address, headers={"Authorization": f"Bearer {number}"}).status_code for number in range(15)]

    assert codes("/read") == [401] * 15
    assert codes("/open")[-1] == 429
    assert client.get("/open").status_code == 200


def test_clients_of_ipv4_have_their_own_rates_on_a_socket_of_ipv6(service, client):
    states = [SimpleNamespace(viewer=None, address=f"::ffff:192.0.2.{number}") for number in (7, 8)]
    assert [who_asks(SimpleNamespace(state=state)) for state in states] == ["192.0.2.7", "192.0.2.8"]
    service.proxies = networks(["10.0.0.0/8"])
    behind = TestClient(client.app, base_url="http://localhost", client=("::ffff:10.1.2.3", 4711))
    assert behind.get("/open", headers={"X-Forwarded-For": "192.0.2.7"}).text == "nobody from 192.0.2.7"


@pytest.mark.parametrize(("host", "scheme"), [("results.example", "https"), ("localhost:8765", "http")])
def test_redirections_do_not_lead_out_of_https(service, client, host, scheme):
    service.base_url = "https://results.example"
    answer = client.get("/open/", headers={"Host": host}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, f"{scheme}://{host}/open")


def test_a_proxy_is_believed_only_if_told_so(client, service, enter, monkeypatch):
    enter()
    said = {"headers": {"X-Forwarded-For": "198.51.100.9, 192.0.2.7", "Remote-User": "ada"}}
    assert client.get("/open", **said).text == "nobody from testclient"
    service.proxies, service.user_header = networks(["10.0.0.0/8"]), "remote-user"
    assert client.get("/open", **said).text == "nobody from testclient"
    behind = TestClient(client.app, base_url="http://localhost", client=("10.1.2.3", 4711))
    assert behind.get("/open", **said).text == "ada from 192.0.2.7"
    assert behind.post("/submit", **said).status_code == 403
    said["headers"]["X-CSRF-Token"] = csrf_token(service, "proxy ada")
    assert behind.post("/submit", **said).status_code == 200
    assert behind.get("/open", headers={"X-Forwarded-For": "no address"}).text == "nobody from 10.1.2.3"
    assert behind.get("/open", headers={"X-Forwarded-For": "192.0.2.7, ,"}).text == "nobody from 192.0.2.7"
    assert behind.get("/read", headers={"Remote-User": "eve"}).status_code == 401
    assert networks(["::1"]) == [ip_network("::1/128")]


def test_a_server_without_accounts_lets_nobody_in(monkeypatch):
    app = Starlette(
        routes=ROUTES,
        middleware=[
            Middleware(
                Security, service=Service("Results", {}), requests=Counter("requests", "", ["status"], registry=None)
            )
        ],
    )
    app.state.service = Service("Results", {})
    assert TestClient(app, base_url="http://localhost").get("/read", **as_token("x")).status_code == 401
