"""Each row of the page on safety has a test."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "safety.md"
TESTS = {
    "a request for another host": "security.test_names_that_lead_to_the_address_from_elsewhere_are_refused",
    "a form of another site": "security.test_changes_that_other_sites_ask_for_are_refused",
    "a link, session or token that is forged": "security.test_forged_expired_and_revoked_secrets",
    "a link or token that is guessed": "account_pages.test_guessing_is_slowed_down",
    "a session that was logged out": "account_pages.test_sessions_end",
    "a page for another role": "routes.test_routes_refuse_lower_roles",
    "a body larger than the route takes": "security.test_large_bodies_are_refused_before_they_are_read",
    "a form with more than 500 fields": "security.test_large_bodies_are_refused_before_they_are_read",
    "headers that do not arrive": "connections.test_heads_that_do_not_come",
    "a body that pauses": "connections.test_a_body_that_does_not_come",
    "an answer that is not taken": "connections.test_an_answer_that_is_not_taken",
    "more than 1,000 connections": "connections.test_only_so_many_connections",
    "more than 300 changes at once": "security.test_rates",
    "half an upload": "connections.test_half_an_upload_leaves_nothing",
    "bytes that are no request": "connections.test_what_is_no_request",
    "markup in names, labels, titles": "account_pages.test_names_are_text",
    "line breaks in headers, names and addresses": "security.test_logs_have_no_secrets",
    "anything that mirflow does not expect": "security.test_errors_tell_nothing_that_was_not_asked",
}


def test_every_row_has_a_test() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## What is refused")[2].partition("\n## ")[0]
    rows = [row[1] for row in re.finditer(r"^\| ([^|-][^|]*?) \|", table, re.MULTILINE)][1:]
    assert len(rows) == len(TESTS)
    for row, (begin, name) in zip(rows, TESTS.items(), strict=True):
        assert row.startswith(begin)
        module, _, function = name.partition(".")
        assert callable(getattr(import_module(f"tests.service.test_{module}"), function))
