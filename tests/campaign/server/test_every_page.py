"""Every page of the server, found by its routes, as everybody sees it: without barriers, on a phone, dark, on paper."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from sqlalchemy import select
from starlette.routing import Route

from mirflow.campaign.server.accounts import Role
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.limits import RATES, RateLimits
from mirflow.campaign.server.security import GuardedRoute, cookie_name
from mirflow.campaign.server.service import Service
from mirflow.campaign.server.submissions.submission_tables import Submission
from mirflow.errors import MirflowError

from ...accessibility import PAPER, PHONE, assert_accessible, assert_fits, assert_prints_whole
from ...waiting import MILLISECONDS, PATIENCE
from .accounts import account
from .busy_campaign import SENDER, make_busy
from .campaigns import open_campaign
from .databases import stored
from .running import running

pytestmark = pytest.mark.slow
# Accounts by name; one grader has judged, and the other has not begun.
VIEWERS: Mapping[str, Role | None] = {
    "nobody": None,
    "rita": "reader",
    SENDER: "submitter",
    "gil": "grader",
    "gus": "grader",
    "ada": "organiser",
}
# Addresses of what is no page by itself: assets, recordings, data for programs.
NO_PAGES = re.compile(r"^/(health|favicon\.ico|static/|api/|audio/)|\.zarr/|/report/|/audio/")
# What stands for the parameters of routes; those of submissions and secrets are made anew.
FILLED: Mapping[str, Sequence[str]] = {
    "store": ("dev", "test", "2013"),
    "evaluation": ("chord",),
    "system": ("oak", "KO1"),
    "track": ("dev0", "t0"),
    "round": ("similarity", "last_year", "begun", "ready", "opened"),
    "file": ("pool.csv",),
    "split": ("dev", "test"),
    "other": ("oak",),
}
PICTURES = os.environ.get("MIRFLOW_PICTURES", "")


def unlimited() -> RateLimits:
    return RateLimits(dict.fromkeys(RATES, (1e12, 1e12)))


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Service:
    service = make_busy(tmp_path_factory.mktemp("busy"))
    service.rates = unlimited()
    return service


@pytest.fixture(scope="module")
def server(busy: Service) -> Iterator[str]:
    with running(create_app(busy)) as address:
        yield address


def ask(address: str, cookies: Mapping[str, str]) -> tuple[int, str, str]:
    """The status, the type and, of a page, the text of an answer; streams are not waited for."""
    cookie = "; ".join(f"{key}={value}" for key, value in cookies.items())
    asked = Request(address, headers={"Accept": "text/html", "Cookie": cookie})
    try:
        answer = urlopen(asked, timeout=PATIENCE)
    except HTTPError as error:
        answer = error
    with answer:
        kind = answer.headers.get_content_type()
        return answer.status, kind, answer.read().decode() if kind == "text/html" else ""


def cookies_of(service: Service, name: str) -> dict[str, str]:
    """What the browser of a viewer sends: a session, or nothing."""
    role = VIEWERS[name]
    return {} if role is None else {cookie_name(service): account(service, name, role, "session")}


class Visitor:
    """Looks at pages with several eyes; what looked the same before is not looked at again."""

    def __init__(self, browser: Any, address: str, cookies: Mapping[str, str]) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.cookies = cookies
        self.context.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies.items()])
        self.address = address
        self.page = self.context.new_page()
        self.page.set_default_timeout(MILLISECONDS)
        self.troubles: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(f"{self.page.url}: {error}"))
        self.page.on("console", self._told)

    def _told(self, message: Any) -> None:
        # A browser tells of every page that is an error.
        if message.type in ("error", "warning") and message.location.get("url") != self.page.url:
            self.troubles.append(f"{self.page.url}: {message.text}")

    def kind(self, path: str) -> tuple[int, str, str]:
        return ask(self.address + path, self.cookies)

    def look(self, path: str = "", picture: str = "") -> None:
        """Go to a page, if a path is given, and check it."""
        page = self.page
        if path:
            page.goto(self.address + path)
        if page.locator("link[href*='report']").count() or page.locator("script[src*='report']").count():
            page.wait_for_selector("html[data-loaded]", state="attached")
        assert_accessible(page)
        assert_prints_whole(page)
        page.set_viewport_size(PHONE)
        assert_fits(page)
        page.set_viewport_size({"width": 1280, "height": 900})
        if PICTURES and picture:
            self._take(Path(PICTURES) / picture)

    def _take(self, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        page = self.page
        page.emulate_media(color_scheme="light")
        page.screenshot(path=f"{place}.png", full_page=True)
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)
        page.screenshot(path=f"{place}-phone.png", full_page=True)
        page.set_viewport_size(PAPER)
        page.emulate_media(media="print", color_scheme="light")
        page.screenshot(path=f"{place}-print.png", full_page=True)
        page.emulate_media(media="screen", color_scheme=None)
        page.set_viewport_size({"width": 1280, "height": 900})

    def leave(self) -> None:
        self.context.close()
        assert self.troubles == []


@pytest.fixture
def visitor(browser: Any) -> Iterator[Callable[..., Visitor]]:
    made: list[Visitor] = []

    def enter(address: str, service: Service | None = None, name: str = "nobody") -> Visitor:
        made.append(Visitor(browser, address, cookies_of(service, name) if service is not None else {}))
        return made[-1]

    yield enter
    for one in made:
        one.leave()


def addresses(service: Service) -> dict[str, list[str]]:
    """Addresses of every route that answers to GET and may be a page."""
    ids = stored(service.database, select(Submission.id).order_by(Submission.number))
    filled = {**FILLED, "submission": ids, "secret": [account(service, "rita", "reader")]}
    found: dict[str, list[str]] = {}
    for route in create_app(service).routes:
        assert isinstance(route, Route)
        if "GET" not in (route.methods or ()) or NO_PAGES.search(route.path):
            continue
        names = re.findall(r"\{(\w+)", route.path)
        unknown = [name for name in names if name not in filled]
        assert not unknown, f"{route.path}: say in FILLED what stands for {unknown}"
        found.setdefault(route.path, [])
        for values in product(*(filled[name] for name in names)):
            path = route.path
            for value in values:
                path = re.sub(r"\{\w+(:\w+)?\}", quote(value, safe=""), path, count=1)
            found[route.path].append(path)
    return found


@pytest.fixture(scope="module")
def seen() -> dict[str, str]:
    """Digests of pages that were looked at, with their addresses."""
    return {}


def fingerprint(text: str) -> str:
    """A digest of what a page says; tokens are left out, and the head, which the page of an account has, too."""
    text = re.sub(r'name="csrf" value="\w+"|<header class="top">.*?</header>|data-grader="\w+"', "", text, flags=re.S)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", VIEWERS)
def test_pages_as_somebody_sees_them(name, busy, server, visitor, seen):
    one = visitor(server, busy, name)
    for paths in addresses(busy).values():
        for path in paths:
            status, kind, text = one.kind(path)
            assert status < 500, path
            mark = fingerprint(text)
            if kind != "text/html" or mark in seen:
                continue
            seen[mark] = path
            picture = path.strip("/").replace("/", "_")[:60] or "front"
            if "/login/" in path:
                picture = "login"
            one.look(path, f"{name}/{status}-{picture}")


def test_no_route_is_left_out(busy, server):
    """Each answers somebody at one of its addresses, so that the pages of all are looked at."""
    left = addresses(busy)
    for name in VIEWERS:
        cookies = cookies_of(busy, name)
        left = {
            route: paths
            for route, paths in left.items()
            if not any(ask(server + path, cookies)[0] < 400 for path in paths)
        }
    assert sorted(left) == []


def crash(request: Any) -> Any:
    raise ZeroDivisionError


def fail(request: Any) -> Any:
    raise MirflowError("chord.zarr: is broken")


def often(request: Any) -> Any:
    raise AssertionError("this route is asked too often")


def test_errors_are_pages(tmp_path, visitor):
    service = open_campaign(tmp_path)
    app = create_app(service)
    service.rates = RateLimits(dict.fromkeys(RATES, (1.0, 1e-9)))
    service.rates.take("query", "127.0.0.1")
    for path, endpoint, rate in (("/crash", crash, None), ("/fail", fail, None), ("/often", often, "query")):
        app.router.routes.append(GuardedRoute(path, endpoint, role=None, rate=rate))
    with running(app) as address:
        one, rita = visitor(address), visitor(address, service, "rita")
        for path, status in {"/crash": 500, "/fail": 503, "/often": 429, "/nowhere": 404, "/account": 401}.items():
            assert one.kind(path)[:2] == (status, "text/html")
            one.look(path, f"errors/{status}")
        assert rita.kind("/submissions/new")[:2] == (403, "text/html")
        rita.look("/submissions/new", "errors/403")
        one.page.goto(f"{address}/login/none")
        one.page.evaluate(
            """() => {
              const field = Object.assign(document.createElement("textarea"), { name: "x", value: "x".repeat(1e6) });
              document.querySelector("form[method=post]").append(field);
            }"""
        )
        one.page.get_by_role("button", name="Log in").click()
        one.page.get_by_role("heading", name="Too large").wait_for()
        one.look(picture="errors/413")


def test_pages_of_a_campaign_in_which_nothing_has_happened(tmp_path, visitor):
    service = open_campaign(tmp_path)
    with running(create_app(service)) as address:
        for name in ("nobody", SENDER):
            for path in ("/", "/submissions/"):
                visitor(address, service, name).look(path, f"empty/{name}{path.replace('/', '_')}")
