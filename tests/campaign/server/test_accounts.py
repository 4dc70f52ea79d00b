"""Accounts have names and labs, secrets expire and are revoked, and a log says who did what."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from mirflow.campaign.server.accounts import (
    AccountError,
    AuditError,
    AuditLog,
    Viewer,
    add_user,
    find_user,
    find_viewer,
    is_current,
    issue,
    mark_used,
    renew_link,
    revoke,
    revoke_token,
    users,
    valid_tokens,
)
from mirflow.campaign.server.database import Database, Token, User

from .accounts import BEGIN

DAY = dt.timedelta(days=1)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    database = Database(f"sqlite:///{tmp_path / 'campaign.db'}")
    database.create()
    with database.write() as session:
        yield session


@pytest.fixture
def ada(session: Session) -> User:
    return add_user(session, "ada", "submitter", BEGIN, lab="Queen Mary")


def come(session: Session, user: User) -> Viewer:
    """Come by a token that is valid for a day."""
    viewer = find_viewer(session, issue(session, user, "token", BEGIN, DAY), "token", BEGIN)
    assert viewer is not None
    return viewer


def test_a_secret_is_found_until_it_expires_or_is_revoked(session, ada):
    secret = issue(session, ada, "token", BEGIN, DAY)
    assert find_viewer(session, secret, "link", BEGIN) is None
    assert find_viewer(session, secret, "token", BEGIN + DAY) is None
    viewer = find_viewer(session, secret, "token", BEGIN)
    assert viewer is not None
    assert viewer.may("reader")
    assert not viewer.may("organiser")
    revoke(session, ada, BEGIN)
    session.flush()
    assert find_viewer(session, secret, "token", BEGIN) is None


def test_a_viewer_is_current_until_the_token_expires(session, ada):
    viewer = come(session, ada)
    assert is_current(session, viewer, BEGIN)
    assert not is_current(session, viewer, BEGIN + DAY)


def test_a_viewer_is_current_until_the_token_is_revoked(session, ada):
    viewer = come(session, ada)
    assert revoke_token(session, ada.id, viewer.token, BEGIN)
    assert not is_current(session, viewer, BEGIN)


@pytest.mark.parametrize("change", [{"role": "reader"}, {"lab": "IRCAM"}, {"revoked": BEGIN}])
def test_a_viewer_is_current_while_role_and_team_are_the_same(session, ada, change):
    viewer = come(session, ada)
    by_proxy = find_viewer(session, "ada", "proxy", BEGIN)
    assert by_proxy is not None
    assert is_current(session, by_proxy, BEGIN + 400 * DAY)
    for name, value in change.items():
        setattr(ada, name, value)
    assert not is_current(session, viewer, BEGIN)
    assert not is_current(session, by_proxy, BEGIN)


def test_a_viewer_of_a_deleted_account_or_token_is_not_current(session, ada):
    viewer = come(session, ada)
    assert not is_current(session, replace(viewer, user=99), BEGIN)
    assert not is_current(session, replace(viewer, token=99), BEGIN)


def test_tokens_are_listed_and_revoked_by_their_account_alone(session, ada):
    eve = add_user(session, "eve", "submitter", BEGIN)
    own, other = come(session, ada).token, come(session, eve).token
    assert [token.id for token in valid_tokens(session, eve.id, BEGIN)] == [other]
    assert not revoke_token(session, eve.id, own, BEGIN)
    assert [token.id for token in valid_tokens(session, ada.id, BEGIN)] == [own]
    assert valid_tokens(session, ada.id, BEGIN + DAY) == []


def test_the_use_of_a_token_is_kept_with_that_token(session, ada):
    first, second = come(session, ada), come(session, ada)
    mark_used(session, second, BEGIN + DAY)
    session.expire_all()
    assert session.get_one(Token, first.token).used is None
    assert session.get_one(Token, second.token).used == BEGIN + DAY


def test_a_new_link_revokes_old_links_and_sessions_and_leaves_tokens(session, ada):
    link, opened = (issue(session, ada, kind, BEGIN, DAY) for kind in ("link", "session"))
    token = issue(session, ada, "token", BEGIN, DAY)
    session.expire_all()  # so that the account knows its tokens
    renewed = renew_link(session, ada, BEGIN + DAY / 2, DAY)
    session.flush()
    assert find_viewer(session, link, "link", BEGIN) is None
    assert find_viewer(session, opened, "session", BEGIN) is None
    assert find_viewer(session, token, "token", BEGIN) is not None
    assert find_viewer(session, renewed, "link", BEGIN + DAY) is not None


def test_revoking_keeps_the_times_at_which_tokens_were_revoked(session, ada):
    first, second = come(session, ada).token, come(session, ada).token
    revoke_token(session, ada.id, first, BEGIN)
    session.flush()
    session.expire_all()  # so that the account knows its tokens
    revoke(session, ada, BEGIN + DAY)
    assert session.get_one(Token, first).revoked == BEGIN
    assert session.get_one(Token, second).revoked == BEGIN + DAY


@pytest.mark.parametrize("name", ["", "  ", "a\tb", "\u202eada", "a" * 101])
def test_names_are_1_to_100_printable_characters(session, name):
    with pytest.raises(AccountError, match="1 to 100 printable characters"):
        add_user(session, name, "reader", BEGIN)


def test_names_are_not_given_twice(session, ada):
    with pytest.raises(AccountError, match="choose another name, or revoke it"):
        add_user(session, "ada", "reader", BEGIN)
    with pytest.raises(AccountError, match="reserved for deleted accounts"):
        add_user(session, "deleted account 7", "reader", BEGIN)
    add_user(session, "a" * 100, "reader", BEGIN)
    assert [user.name for user in users(session)] == ["a" * 100, "ada"]


def test_a_misspelt_name_of_an_account_is_told_with_the_nearest_one(session, ada):
    assert find_user(session, "ada") is ada
    with pytest.raises(AccountError, match="unknown account 'adda'; did you mean 'ada'"):
        find_user(session, "adda")


def test_labs_are_printable_and_at_most_100_characters(session):
    assert add_user(session, "eve", "reader", BEGIN, lab=f"  {'a' * 49}\t {'b' * 50} ").lab == f"{'a' * 49} {'b' * 50}"
    for lab in ("a" * 101, "a\x1bb"):
        with pytest.raises(AccountError, match="at most 100 printable characters"):
            add_user(session, "max", "reader", BEGIN, lab=lab)


def test_lines_are_added_whole_by_many(tmp_path):
    logs = [AuditLog(tmp_path / "audit.jsonl") for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: logs[number % 4].record("ada", "submit", number=number), range(100)))
    assert sorted(int(line["number"]) for line in logs[0].read()) == list(range(100))
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_names_cannot_forge_lines(tmp_path):
    log = AuditLog(tmp_path / "audit.jsonl")
    log.record("ada", "submit", system='x"}\n{"actor": "eve"}', note="n" * 1000)
    (line,) = log.read()
    assert line["actor"] == "ada"
    assert len(str(line["note"])) == 300
    assert len((tmp_path / "audit.jsonl").read_text().splitlines()) == 1


def test_a_line_that_a_crash_has_cut_does_not_spoil_the_next(tmp_path):
    log = AuditLog(tmp_path / "audit.jsonl")
    (tmp_path / "audit.jsonl").write_text('{"actor": "ada"}\n{"act')
    log.record("bob", "submit")
    assert [line["actor"] for line in log.read()] == ["ada", "bob"]


def test_what_cannot_be_kept_is_an_error(tmp_path):
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(AuditError, match=r"audit\.jsonl: cannot be written: Is a directory"):
        AuditLog(tmp_path / "audit.jsonl").record("ada", "submit")
