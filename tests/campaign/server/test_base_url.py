"""A server below a path of its host: links, redirections, cookies and programs, whatever the proxy does with it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from mirflow.campaign.commands.submit import Client
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service, open_service
from mirflow.errors import MirflowError

from .accounts import Clock, account
from .campaigns import estimates, write_campaign
from .running import running
from .test_stores_http import publish

ROOT = "/mirflow"
BASE = f"https://localhost{ROOT}"


class Stripping:
    """A proxy that takes the path off."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["path"].startswith(ROOT)
        cut = {"path": scope["path"][len(ROOT) :], "raw_path": scope["raw_path"][len(ROOT) :]}
        await self.app({**scope, **cut}, receive, send)


def mounted(app: Any) -> Any:
    """The application below a path of another one."""
    return Starlette(routes=[Mount(ROOT, app=app)])


PROXIES = {"keeps the path": lambda app: app, "takes it off": Stripping, "mounts it": mounted}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    publish(tmp_path / "onsets.zarr", "ada", "50% b/c <b>")
    path = write_campaign(tmp_path)
    path.write_text(path.read_text() + "stores: [onsets.zarr]\n")
    service = open_service([path], f"{BASE}/")
    service.clock = Clock()
    return service


def browser(service: Service, proxy: str) -> TestClient:
    """A browser behind a kind of proxy."""
    client = TestClient(PROXIES[proxy](create_app(service)), base_url="https://localhost", follow_redirects=False)
    client.headers.update({"Accept": "text/html, */*", "Origin": "https://localhost"})
    return client


@pytest.mark.parametrize("proxy", PROXIES)
def test_every_link_leads_somewhere_below_the_path(service, proxy):
    client = browser(service, proxy)
    seen, pending = set(), {f"{ROOT}/", f"{ROOT}/feed.xml", f"{ROOT}/api/v1"}
    while pending:
        address = pending.pop()
        seen.add(address)
        assert address.startswith(f"{ROOT}/"), address
        answer = client.get(address)
        assert answer.status_code == 200, address
        named = set()
        if answer.headers["content-type"].startswith("text/html"):
            named = set(re.findall(r'(?:href|src|action)="([^"]*)"', answer.text))
        elif "xml" in answer.headers["content-type"]:
            found = re.findall(r'href="([^"]*)"', answer.text)
            assert all(one.startswith(f"{BASE}/") and one.count(ROOT) == 1 for one in found)
            named = {urlsplit(one).path for one in found}
        elif "/api/v1" in address:
            named = {one for one in re.findall(r'"(/[^"]*)"', answer.text) if one != f"{ROOT}/stores/onsets.zarr"}
            named = {f"{one}/zarr.json" if one.endswith(".zarr") else one for one in named}
            assert named or address.endswith("openapi.json")
            named = set() if address.endswith("openapi.json") else named
        pending |= {urljoin(address, one.partition("#")[0]) for one in named} - seen - {address}
    assert f"{ROOT}/stores/onsets/onset/systems/50%25%20b%2Fc%20%3Cb%3E/" in seen
    assert f"{ROOT}/stores/onsets/onset/tracks/pop%2Fx/" in seen
    assert any("/static/" in one for one in seen)
    assert client.get(f"{ROOT}/api/v1/openapi.json").json()["servers"] == [{"url": ROOT}]


@pytest.mark.parametrize("proxy", PROXIES)
def test_people_log_in_and_out_below_the_path(service, proxy):
    client = browser(service, proxy)
    link = account(service, "ada", "submitter")
    page = client.get(f"{ROOT}/login/{link}")
    assert page.status_code == 200
    answer = client.post(f"{ROOT}/login/{link}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{ROOT}/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Secure-mirflow=")
    assert {"Path=/mirflow/", "Secure", "HttpOnly", "SameSite=lax"} <= set(cookie.split("; "))
    page = client.get(f"{ROOT}/account").text
    assert set(re.findall(r'action="([^"]*)"', page)) >= {f"{ROOT}/logout", f"{ROOT}/account/tokens"}
    csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', page)
    assert csrf is not None
    answer = client.post(f"{ROOT}/logout", data={"csrf": csrf[1]})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{ROOT}/")
    assert "Path=/mirflow/" in answer.headers["set-cookie"]
    assert client.get(f"{ROOT}/account").status_code == 401


@pytest.mark.parametrize("proxy", ["keeps the path", "mounts it"])
def test_the_path_alone_leads_to_the_front_page(service, proxy):
    answer = browser(service, proxy).get(ROOT)
    assert answer.status_code in (307, 308)
    assert urlsplit(answer.headers["location"]).path == f"{ROOT}/"
    if proxy == "keeps the path":
        assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("path", ["/mirflows/", "/other/", "/mirflow/mirflow/", "/mirflow//"])
def test_other_paths_are_not_there(service, path):
    assert browser(service, "keeps the path").get(path).status_code in (404, 308)
    assert browser(service, "keeps the path").get("https://evil.example/mirflow/").status_code == 421


def test_the_client_submits_below_the_path(service, tmp_path):
    token = account(service, "ada", "submitter", "token")
    for name, text in estimates(splits=["dev"]).items():
        (tmp_path / "sent").mkdir(exist_ok=True)
        (tmp_path / "sent" / name).write_text(text)
    with running(create_app(service)) as address:
        for url in (f"{address}{ROOT}", f"{address}{ROOT}/"):
            client = Client(url, token)
            assert [one["name"] for one in client.terms()["splits"]] == ["dev", "test"]
        made = client.submit(tmp_path / "sent", "oak", ["dev"])
        assert made["address"] == f"{ROOT}/submissions/{made['id']}/"
        assert client.submission(made["id"])["state"] == "received"


def test_a_server_that_uvicorn_gives_a_path_answers_below_it(service):
    with (
        running(create_app(service), root=ROOT) as address,
        urlopen(f"{address}/stores/onsets/onset/tracks/pop%2Fx/") as page,
    ):
        assert f'href="{ROOT}/stores/onsets/onset/"' in page.read().decode()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("lab.org", "expected a full URL such as https://lab.org/mirflow/"),
        ("https:///x", "expected a full URL"),
        ("https://lab.org/x?y", "expected a full URL"),
        ("https://lab.org/stores/", "/stores/ is a path of the server's own pages; choose another path"),
        ("https://lab.org/api", "/api/ is a path of the server's own pages"),
        ("https://lab.org/a b", "letters, digits"),
        ("https://lab.org/a//b", "between single slashes"),
    ],
)
def test_addresses_that_pages_cannot_have_are_refused(tmp_path, url, why):
    with pytest.raises(MirflowError, match=why):
        open_service([tmp_path / "s.zarr"], url)


@pytest.mark.parametrize("url", ["https://lab.org", "http://127.0.0.1:8765/", "https://lab.org/tools/mir-flow_2/"])
def test_addresses_with_and_without_a_path_are_taken(tmp_path, url):
    service = open_service([tmp_path / "s.zarr"], url)
    assert service.origin + service.links.url("front") == url.rstrip("/") + "/"
