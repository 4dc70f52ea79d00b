"""Each row of the tables of what is refused has a test."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
REQUESTS = {
    "a request for another host": "security.test_names_that_lead_to_the_address_from_elsewhere_are_refused",
    "a form of another site": "security.test_changes_that_other_sites_ask_for_are_refused",
    "a link, session or token that is forged": "security.test_forged_expired_and_revoked_secrets",
    "a guessed link or token": "account_pages.test_guessing_is_slowed_down",
    "logged out": "account_pages.test_sessions_end",
    "a page for another role": "routes.test_routes_refuse_lower_roles",
    "a body larger than the route takes": "security.test_large_bodies_are_refused_before_they_are_read",
    "a form with more than 500 fields": "security.test_large_bodies_are_refused_before_they_are_read",
    "headers longer than": "connections.test_a_long_head_is_refused",
    "a body that pauses": "connections.test_a_body_that_does_not_come",
    "more than 1,000 connections": "connections.test_further_connections_are_answered_by_503",
    "more than 300 changes at once": "security.test_rates",
    "bytes that are not HTTP": "connections.test_what_is_no_request",
    "markup": "account_pages.test_names_are_text",
    "line breaks": "security.test_logs_have_no_secrets",
    "an unexpected error": "security.test_errors_tell_nothing_that_was_not_asked",
}


SUBMISSIONS = {
    "a file that is not an archive": "uploads.test_bad_archives_are_refused_by_name",
    "zip bombs": "uploads.test_bad_archives_are_refused_by_name",
    "false sizes": "uploads.test_a_million_files_are_refused_before_their_directory_is_read",
    "archives within archives": "uploads.test_bad_archives_are_refused_by_name",
    "no file with the name": "worker.test_files_of_no_track_are_refused_before_anything_is_scored",
    "`..`, absolute paths": "uploads.test_bad_archives_are_refused_by_name",
    "control characters": "uploads.test_bad_archives_are_refused_by_name",
    "names that are not UTF-8": "uploads.test_bad_archives_are_refused_by_name",
    "reserved on Windows": "uploads.test_bad_archives_are_refused_by_name",
    "differ only in case": "uploads.test_bad_archives_are_refused_by_name",
    "links, devices": "uploads.test_bad_archives_are_refused_by_name",
    "audio, pickles": "uploads.test_bad_archives_are_refused_by_name",
    "files that no evaluation expects": "uploads.test_bad_archives_are_refused_by_name",
    "`.DS_Store`": "uploads.test_what_file_managers_add_is_left_out_and_one_folder_around_all_too",
    "wrong encodings": "uploads.test_wrong_encodings_are_findings_with_their_file",
    "what needs more memory or time": "uploads.test_a_check_ends_within_its_memory",
    "half an upload": "uploads.test_half_an_upload_leaves_nothing",
    "too many bytes, files or fields": "uploads.test_bad_bodies_leave_nothing",
    "too slow a client": "uploads.test_slow_clients_are_cut_off",
    "a name that is taken": "submission_pages.test_what_cannot_be_taken_is_said_in_the_form",
    "findings that a spreadsheet": "submission_pages.test_findings_are_a_table_and_csv_for_their_owner",
}


@pytest.mark.parametrize(("page", "tests"), [("safety", REQUESTS), ("campaign", SUBMISSIONS)])
def test_every_row_has_a_test(page, tests):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    table = text.partition("## What is refused")[2].partition("\n## ")[0]
    rows = [row[1] for row in re.finditer(r"^\| ([^|-][^|]*?) \|", table, re.MULTILINE)][1:]
    assert [row for row in rows if not any(phrase in row for phrase in tests)] == []
    for phrase, name in tests.items():
        assert any(phrase in row for row in rows), phrase
        module, _, function = name.partition(".")
        assert callable(getattr(import_module(f"tests.campaign.server.test_{module}"), function))
