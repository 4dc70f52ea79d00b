"""Scores that are not released change no answer: not to three decimals, and not as an order, a width or a colour.

A campaign is visited, its secret scores are changed in the database to others that are released alike, and it is
visited again. What differs tells of them, whatever its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from mirflow.campaign.server import submission_pages, views
from mirflow.campaign.server.limits import RATES, RateLimits
from mirflow.campaign.server.service import Service
from mirflow.campaign.server.submissions.releases import ShownScore
from mirflow.campaign.server.submissions.submission_tables import Released, Submission

from .accounts import Browser
from .addresses import addresses
from .campaigns import open_campaign
from .test_boards import FINAL, scored

# True scores, and others: those of the public system round alike, the private one keeps the last one back.
CHANGED = {"honest": (0.81749, 0.81652), "good": (0.91637, 0.93152), "junk": (0.54412, 0.61823)}
VOLATILE = re.compile(r'name="csrf" value="[0-9a-f]+"|nonce-?="?[\w-]+|"free_bytes":\d+')


@pytest.fixture
def service(tmp_path: Path) -> Service:
    service = open_campaign(tmp_path, FINAL)
    service.rates = RateLimits(dict.fromkeys(RATES, (1e12, 1e12)))
    scored(service, "honest", CHANGED["honest"][0], "bob")
    scored(service, "good", CHANGED["good"][0], "ada", "private")
    scored(service, "junk", CHANGED["junk"][0], "ada")
    return service


def visited(client: Browser, paths: Iterable[str]) -> dict[str, str]:
    """All that a visitor can read, by address."""
    found = {}
    for path in paths:
        for kind in ("text/html", "application/json"):
            address = f"{path}?metric=majmin&split=test&format=csv" if "/api/" in path else path
            answer = client.get(address, headers={"Accept": kind})
            found[f"{address} as {kind}"] = f"{answer.status_code} {VOLATILE.sub('', answer.text)}"
    return found


def change_secrets(service: Service) -> None:
    with service.database.write() as session:
        for row, submission in session.execute(select(Released, Submission).join(Submission)):
            before, after = CHANGED[submission.name]
            assert row.true_value == before
            row.true_value, row.true_low, row.true_high = after, after - 0.2, after + 0.05
            if submission.visibility == "private":
                row.value = round(after, 3)


def differing(service: Service, client: Browser, paths: Iterable[str]) -> list[str]:
    """The addresses whose answers depend on scores that the visitor must not know."""
    before = visited(client, paths)
    assert sum(text.startswith("200 ") for text in before.values()) > 20
    change_secrets(service)
    after = visited(client, paths)
    return [address for address, text in before.items() if text != after[address]]


@pytest.mark.parametrize("name", ["", pytest.param("bob", marks=pytest.mark.slow)])
def test_no_answer_depends_on_a_score_that_is_not_released(service, name):
    paths = [path for method, path in addresses(service) if method == "GET"]
    paths = [path for path in paths if path != "/metrics" and "logout" not in path]  # one counts requests
    assert differing(service, Browser(service, name, "submitter"), paths) == []


@pytest.mark.parametrize("module", [views, pytest.param(submission_pages, marks=pytest.mark.slow)])
def test_a_score_that_one_page_shows_to_three_decimals_is_seen(service, module, monkeypatch):
    def leak(row: Released, *_: Any) -> ShownScore:
        value = row.value if row.improved or row.true_value is None else round(row.true_value, 3)
        return ShownScore(value, None, None, kept_back=False)

    monkeypatch.setattr(module, "show_score", leak)
    paths = [path for _, path in addresses(service) if re.match(r"/$|/feed|/submissions/\w*/?$|/stores/test", path)]
    assert differing(service, Browser(service), paths) != []
