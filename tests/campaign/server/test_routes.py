"""Every route says who may call it, and lets nobody else in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import BaseRoute, Mount, Route

from mirflow.campaign.server.accounts import ROLES
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.security import SAFE, GuardedRoute

from .accounts import Browser
from .requests import Target, make_target

FILLED = {"store": "dev", "evaluation": "chord", "round": "similarity", "system": "oak", "track": "dev0"}
OPEN_CHANGES = {("POST", "/login/{secret}")}  # what changes something, and may be called by anybody


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    return make_target(tmp_path_factory.mktemp("routes"))


def leaves(routes: list[BaseRoute]) -> Iterator[BaseRoute]:
    for route in routes:
        if isinstance(route, Mount):
            yield from leaves(list(route.routes))
        else:
            yield route


def unguarded(app: Any) -> list[str]:
    return [str(route) for route in leaves(list(app.routes)) if not isinstance(route, GuardedRoute)]


def guarded(target: Target) -> list[tuple[str, GuardedRoute]]:
    """Methods with routes that somebody may not call."""
    found = [route for route in leaves(list(target.app.routes)) if isinstance(route, GuardedRoute)]
    return [(method, route) for route in found if route.role for method in sorted(route.methods or ())]


def address(target: Target, route: GuardedRoute) -> str:
    words = {**FILLED, "submission": target.ids[0]}
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: words.get(match[1], "1"), route.path)


def test_every_route_is_guarded(target):
    assert unguarded(target.app) == []
    app = create_app(target.service)
    app.router.routes.append(Route("/new", lambda request: None))
    assert len(unguarded(app)) == 1


def test_changes_need_an_account(target):
    found = [route for route in leaves(list(target.app.routes)) if isinstance(route, GuardedRoute)]
    changes = {
        (method, route.path) for route in found if route.role is None for method in (route.methods or set()) - SAFE
    }
    assert changes == OPEN_CHANGES
    whole = [route.path for route in found if not route.form]
    plan = "/grading/{round}/plan/upload-"
    # These read their own bodies, and look for the token in them.
    assert whole == [f"{plan}pieces", f"{plan}lists", "/submissions/new"]


@pytest.mark.parametrize("role", [None, *ROLES])
def test_routes_refuse_lower_roles(target, role):
    browser = Browser(target.service, f"a {role}" if role else "", role or "reader")
    csrf = browser.csrf() if role else ""
    refused = 0
    for method, route in guarded(target):
        assert route.role is not None
        if role is not None and route.role in ROLES[role]:
            continue
        answer = browser.request(method, address(target, route), headers={"X-CSRF-Token": csrf})
        assert answer.status_code == (403 if role else 401), f"{method} {route.path}"
        refused += 1
    assert refused > 0 or role == "organiser"


def test_forms_of_other_sites_change_nothing(target):
    browser = Browser(target.service, "an organiser", "organiser")
    tried = 0
    for method, route in guarded(target):
        if method not in SAFE:
            assert browser.request(method, address(target, route)).status_code in (400, 403, 415), route.path
            tried += 1
    assert tried > 8
