"""Notifications tell organisers and submitters what happened to submissions: once each, signed, and without scores."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
from pathlib import Path

import pytest
import trustme
from sqlalchemy import select

from mirflow.campaign.file import load_campaign
from mirflow.campaign.server.database import User
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.confinement import JobError
from mirflow.campaign.server.submissions.jobs import TRIES, Claims
from mirflow.campaign.server.submissions.notifications import (
    GIVEN_UP,
    KEPT,
    LEASE,
    LONGEST_WAIT,
    Sender,
    couriers_of,
    one_line,
    sending,
)
from mirflow.campaign.server.submissions.submission_tables import Notification
from mirflow.errors import MirflowError, PipelineError

from ...commands import invoke, refused
from ...waiting import until
from .accounts import BASE, Browser, Clock, program
from .campaigns import CAMPAIGN, estimates, open_campaign, submit, work_off, worker_of, write_bare_campaign
from .databases import stored, with_database
from .processes import Server
from .receivers import SECRET, Hook, Post
from .test_submission_pages import change

ADDRESS = "ada@lab.example"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def hook() -> Hook:
    return Hook()


@pytest.fixture
def post(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Post:
    trusted = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(trusted))
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    return Post(authority)


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setenv("MAIL_PASSWORD", "sesame")


def with_webhook(hook: Hook) -> str:
    return f"notifications:\n  webhook: {{url: '{hook.url}', secret: HOOK_SECRET}}\n"


def with_mail(post: Post, more: str = "user: mirflow, password: MAIL_PASSWORD") -> str:
    server = f"server: 127.0.0.1, port: {post.port}, sender: chords@lab.example"
    return f"notifications:\n  mail: {{{server}, {more}}}\n"


def bare(folder: Path, notifications: str, campaign: str = CAMPAIGN) -> Service:
    """A campaign without references, whose clock stands still."""
    service = open_service([write_bare_campaign(folder, with_database(campaign + notifications))], BASE)
    service.clock = Clock()
    return service


def advance(service: Service, **time: float) -> None:
    assert isinstance(service.clock, Clock)
    service.clock.advance(**time)


def sender(service: Service) -> Sender:
    """The sender of the only channel."""
    ((channel, courier),) = couriers_of(service).items()
    return Sender(service, channel, courier)


def send_all(service: Service) -> int:
    """Send what is due on all channels; returns the number of tries."""
    senders = [Sender(service, channel, courier) for channel, courier in couriers_of(service).items()]
    return sum(1 for one in senders for _ in iter(one.step, False))


def leave_address(service: Service, name: str = "ada", address: str = ADDRESS) -> Browser:
    """An account whose owner leaves an address on its page."""
    browser = Browser(service, name, "submitter")
    assert browser.submit("/account/mail", mail=address).status_code == 303
    return browser


def rows(service: Service) -> list[Notification]:
    return stored(service.database, select(Notification).order_by(Notification.id))


def disqualify(service: Service, name: str = "oak", *, who: str = "ada") -> str:
    """An event on a new submission; returns its id."""
    id = submit(service, name, estimates(), who=who)
    organiser = Browser(service, "olga", "organiser")
    address = f"/submissions/{id}/"
    answer = organiser.post(f"{address}disqualify", data={"csrf": organiser.csrf(address), "reason": "copied"})
    assert answer.status_code == 303, answer.text
    return id


# Messages


def test_the_webhook_hears_of_all_submissions_and_of_no_score(tmp_path, hook, confinement):
    service = open_campaign(
        tmp_path, CAMPAIGN.replace("visibility: public", "visibility: private") + with_webhook(hook)
    )
    good = submit(service, "oak", estimates(), splits=["dev", "test"])
    bad = submit(service, "elm", {"dev0.lab": "0 10 H:moll\n"}, splits=["dev"])
    work_off(worker_of(service, confinement))
    with hook.running():
        assert send_all(service) == 3
    assert [(one["type"], one["data"]["submission"]) for one in hook.got] == [
        ("submission.accepted", good),
        ("submission.refused", bad),
        ("submission.scored", good),
    ]
    assert hook.got[2] == {
        "type": "submission.scored",
        "timestamp": "2027-01-01T00:00:00+00:00",
        "data": {
            "campaign": "Chords",
            "submission": good,
            "system": "oak",
            "account": "ada",
            "splits": ["dev", "test"],
            "url": f"{BASE}/submissions/{good}/",
        },
    }
    assert len(set(hook.keys)) == 3
    assert send_all(service) == 0


def test_failures_are_announced_when_they_are_final(tmp_path, hook):
    service = bare(tmp_path, with_webhook(hook))
    broken, killed, unread = (submit(service, name, estimates(), splits=["dev"]) for name in ("oak", "elm", "ash"))
    change(service, "oak", state="accepted")
    change(service, "elm", state="accepted", tries=TRIES - 2)
    change(service, "ash", tries=TRIES - 1)
    claims = Claims(service)
    for error in (JobError("was killed"), None, JobError("was killed"), JobError("was killed")):
        claimed = claims.take()
        assert claimed is not None
        with claims.held(claimed):
            if error is None:
                claims.fail(claimed, "dev", "no chord")
            else:
                raise error
    assert claims.take() is None
    with hook.running():
        send_all(service)
    assert [(one["type"], one["data"]["submission"]) for one in hook.got] == [
        ("submission.refused", unread),
        ("submission.failed", broken),
        ("submission.failed", killed),
    ]


@pytest.mark.slow
def test_mail_goes_to_the_sender_of_a_submission_who_left_an_address(tmp_path, post, confinement):
    service = open_campaign(tmp_path, CAMPAIGN + with_mail(post))
    leave_address(service)
    mine = submit(service, "oak", estimates(), splits=["dev"])
    submit(service, "elm", estimates(), who="bob", splits=["dev"])
    work_off(worker_of(service, confinement))
    with post.running():
        assert send_all(service) == 2
    assert [to for to, _ in post.got] == [[ADDRESS]] * 2
    first, second = (mail for _, mail in post.got)
    assert first["Subject"] == "Chords: oak passed the check and is waiting to be scored"
    assert second["Subject"] == "Chords: oak was scored"
    assert (second["From"], second["To"]) == ("chords@lab.example", ADDRESS)
    assert re.fullmatch(r"<msg_\w{32}@lab\.example>", second["Message-ID"])
    assert second["Auto-Submitted"] == "auto-generated"
    text = second.get_content()
    assert text.splitlines()[:2] == [
        "oak was scored; its page shows the released scores.",
        f"{BASE}/submissions/{mine}/",
    ]
    assert f"{BASE}/account" in text
    assert not re.search(r"\d\.\d", text.replace(BASE, ""))


def test_organisers_announce_what_they_do(tmp_path, post):
    service = bare(tmp_path, with_mail(post))
    ada = leave_address(service)
    disqualify(service)
    withdrawn, own = (submit(service, name, estimates()) for name in ("elm", "ash"))
    organiser = Browser(service, "olga", "organiser")
    for browser, id in ((organiser, withdrawn), (organiser, withdrawn), (ada, own)):
        data = {"csrf": browser.csrf(f"/submissions/{own}/")}
        assert browser.post(f"/submissions/{id}/withdraw", data=data).status_code == 303
    with post.running():
        send_all(service)
    # Once, and not of what she did herself.
    assert [mail["Subject"] for _, mail in post.got] == ["Chords: oak was disqualified", "Chords: elm was withdrawn"]


def test_a_title_adds_no_header(tmp_path, post):
    title = json.dumps("Chörds\r\nBcc: eve@lab.example\x1b[2J")
    service = bare(tmp_path, with_mail(post), CAMPAIGN.replace("campaign: Chords", f"campaign: {title}"))
    leave_address(service)
    disqualify(service)
    with post.running():
        send_all(service)
    ((to, mail),) = post.got
    assert to == [ADDRESS]
    assert mail["Bcc"] is None
    assert mail["Subject"] == "Chörds Bcc: eve@lab.example [2J: oak was disqualified"
    assert "\x1b" not in mail.get_content()
    assert one_line("a\u2028b\u202ec\0") == "a b c"


def test_nothing_is_written_where_nothing_is_asked_for(tmp_path):
    service = bare(tmp_path, "")
    disqualify(service)
    assert rows(service) == []
    assert couriers_of(service) == {}


def test_an_event_that_does_not_happen_is_not_announced(tmp_path, hook, monkeypatch):
    service = bare(tmp_path, with_webhook(hook))

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk is full")

    id = submit(service, "oak", estimates())
    organiser = Browser(service, "olga", "organiser")
    data = {"csrf": organiser.csrf(f"/submissions/{id}/"), "reason": "copied"}
    monkeypatch.setattr(service.audit, "record", fail)
    assert organiser.post(f"/submissions/{id}/disqualify", data=data).status_code >= 500
    assert rows(service) == []


# Delivery


def test_a_webhook_that_was_away_gets_all_once_it_is_back(tmp_path, hook, caplog):
    service = bare(tmp_path, with_webhook(hook))
    ids = [disqualify(service, name) for name in ("oak", "elm")]
    with hook.running():
        pass  # it was there, and ends
    with caplog.at_level(logging.WARNING, "mirflow.server"):
        assert send_all(service) == 2
    assert send_all(service) == 0
    assert len(caplog.records) == 2
    assert re.fullmatch(
        rf"notification msg_\w+ \(submission\.disqualified of {ids[0]}\) is tried again: 127\.0\.0\.1: cannot be "
        r"reached, or the connection was lost: .*refused",
        caplog.messages[0],
    )
    assert "in-the-address" not in caplog.text
    advance(service, seconds=9)
    with hook.running():
        assert send_all(service) == 0
        advance(service, seconds=1)
        assert send_all(service) == 2
    assert [one["data"]["submission"] for one in hook.got] == ids


@pytest.mark.parametrize("status", [301, 307, 400, 410, 500])
def test_other_answers_than_2xx_are_tried_again_under_the_same_identifier(tmp_path, hook, status):
    service = bare(tmp_path, with_webhook(hook))
    disqualify(service)
    hook.status = status
    with hook.running():
        assert send_all(service) == 1
        assert rows(service)[0].error == f"127.0.0.1: answers {status}"
        hook.status = 200
        advance(service, seconds=10)
        assert send_all(service) == 1
    assert len(hook.keys) == 2  # a redirection is not followed
    assert len(set(hook.keys)) == 1
    assert len(hook.got) == 1


def test_waits_grow_until_a_message_is_given_up(tmp_path, hook, caplog):
    service = bare(tmp_path, with_webhook(hook))
    disqualify(service)
    began, waits, one = service.clock(), [], sender(service)
    while one.step():
        (row,) = rows(service)
        waits.append((row.due - service.clock()).total_seconds())
        advance(service, seconds=waits[-1])
    assert waits[:4] == [10, 40, 160, 640]
    assert max(waits) == LONGEST_WAIT.total_seconds()
    assert row.lost is not None
    assert GIVEN_UP <= row.lost - began < GIVEN_UP + LONGEST_WAIT
    assert "is given up" in caplog.messages[-1]
    with hook.running():
        assert not one.step()
        # What is old is forgotten with the next that arrives.
        advance(service, days=KEPT.days)
        disqualify(service, "elm")
        assert one.step()
    assert [row.event for row in rows(service)] == ["disqualified"]


def test_two_senders_do_not_send_the_same_message(tmp_path, hook):
    service = bare(tmp_path, with_webhook(hook))
    ids = [disqualify(service, name) for name in ("oak", "elm")]
    hook.may_answer.clear()
    one, other = sender(service), sender(service)
    with hook.running():
        threads = [threading.Thread(target=each.step) for each in (one, other)]
        for number, thread in enumerate(threads):
            thread.start()
            until(lambda number=number: len(hook.keys) == number + 1)
        assert not one.step()
        hook.may_answer.set()
        for thread in threads:
            thread.join()
        assert not one.step()
    assert sorted(one["data"]["submission"] for one in hook.got) == sorted(ids)


def test_a_sender_that_dies_within_a_request_leaves_the_message_to_the_next(tmp_path, hook):
    service = bare(tmp_path, with_webhook(hook))
    disqualify(service)
    dying = sender(service)

    class Death(BaseException):
        pass

    class Dies:
        def send(self, *_: object) -> None:
            raise Death

    dying.courier = Dies()
    with pytest.raises(Death):
        dying.step()
    with hook.running():
        assert send_all(service) == 0
        advance(service, seconds=LEASE.total_seconds())
        assert send_all(service) == 1
    assert len(hook.got) == 1


@pytest.mark.slow
def test_a_server_that_is_killed_within_a_request_sends_again(folder_in_memory, hook, monkeypatch):
    path = write_bare_campaign(folder_in_memory, with_database(CAMPAIGN + with_webhook(hook)))
    service = open_service([path], BASE)
    hook.may_answer.clear()
    server = Server(path, folder_in_memory / "log", "--no-worker")
    with hook.running():
        with server:
            id = disqualify(service)
            until(lambda: hook.keys, lambda: (folder_in_memory / "log").read_text())
            server.kill()
        with service.database.write() as session:  # as if the time had passed
            (row,) = session.scalars(select(Notification))
            assert row.sent is None
            row.due = service.clock()
        hook.may_answer.set()
        with server:
            until(lambda: rows(service)[0].sent, lambda: (folder_in_memory / "log").read_text())
    assert hook.keys == [hook.keys[0]] * 2
    assert hook.got[-1]["data"]["url"] == f"{server.address}/submissions/{id}/"


def test_a_webhook_that_sends_a_letter_now_and_then_is_cut(tmp_path, hook, monkeypatch):
    monkeypatch.setattr("mirflow.campaign.server.submissions.notifications.MOST_SECONDS", 0.3)
    service = bare(tmp_path, with_webhook(hook))
    disqualify(service)
    ended = threading.Event()

    def trickle(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            try:
                while not ended.wait(0.02):
                    connection.sendall(b"H")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", hook.port)) as listening:
        thread = threading.Thread(target=trickle, args=(listening,))
        thread.start()
        try:
            assert send_all(service) == 1
        finally:
            ended.set()
            thread.join()
    assert "connection was lost" in rows(service)[0].error


def test_scoring_does_not_wait_for_a_webhook(tmp_path, hook, confinement):
    service = open_campaign(tmp_path, CAMPAIGN + with_webhook(hook))
    submit(service, "oak", estimates(), splits=["dev"])
    hook.may_answer.clear()
    worker = worker_of(service, confinement)
    with hook.running(), sending(service):
        worker.prepare()
        until(lambda: (worker.step(), hook.keys)[1])  # a request is held
        work_off(worker)
        assert [row.event for row in rows(service)] == ["accepted", "scored"]
        assert [row.sent for row in rows(service)] == [None, None]
        hook.may_answer.set()
        until(lambda: len(hook.got) == 2)


@pytest.mark.parametrize(
    ("encryption", "login"),
    [
        ("starttls", "user: mirflow, password: MAIL_PASSWORD"),
        ("tls", "user: mirflow, password: MAIL_PASSWORD"),
        ("none", ""),
    ],
)
def test_mail_by_each_kind_of_connection(tmp_path, post, encryption, login):
    service = bare(tmp_path, with_mail(post, f"encryption: {encryption}, {login}".removesuffix(", ")))
    leave_address(service)
    disqualify(service)
    with post.running(encryption=encryption):
        assert send_all(service) == 1
    assert len(post.got) == 1
    assert post.logins == (["mirflow"] if login else [])
    assert rows(service)[0].sent is not None


def test_a_mail_server_that_was_away_gets_all_once_it_is_back(tmp_path, post):
    service = bare(tmp_path, with_mail(post))
    leave_address(service)
    disqualify(service)
    assert send_all(service) == 1
    assert "127.0.0.1: cannot be reached" in rows(service)[0].error
    advance(service, seconds=10)
    with post.running():
        assert send_all(service) == 1
    assert len(post.got) == 1


def test_no_password_is_sent_to_a_server_without_a_valid_certificate(tmp_path, authority, post):
    other = Post(authority, "mail.example")
    service = bare(tmp_path, with_mail(other))
    leave_address(service)
    disqualify(service)
    with other.running():
        assert send_all(service) == 1
    assert other.got == []
    assert "its certificate is not valid: IP address mismatch" in rows(service)[0].error


def test_a_wrong_password_is_shown_to_organisers(tmp_path, post, monkeypatch):
    monkeypatch.setenv("MAIL_PASSWORD", "guess")
    service = bare(tmp_path, with_mail(post))
    leave_address(service)
    disqualify(service)
    with post.running():
        send_all(service)
    assert "127.0.0.1: answers 535" in rows(service)[0].error
    text = Browser(service, "olga", "organiser").get("/submissions/").text
    assert "Notifications by mail fail: 1 message to be tried again, 0 messages given up in the last 7 days." in text
    assert "answers 535" in text
    assert "Notifications" not in Browser(service, "ada").get("/submissions/").text
    assert "guess" not in text


@pytest.mark.parametrize(("answer", "given_up"), [("550 5.1.1", True), ("450 4.2.1", False)])
def test_an_address_that_is_refused_is_not_quoted(tmp_path, post, caplog, answer, given_up):
    service = bare(tmp_path, with_mail(post))
    leave_address(service)
    disqualify(service)
    post.refuses = answer
    with post.running():
        send_all(service)
    (row,) = rows(service)
    assert row.error == f"127.0.0.1: refuses the account's address ({answer[:3]})"
    assert (row.lost is not None) == given_up
    page = Browser(service, "olga", "organiser").get("/submissions/").text
    assert "refuses the account&#39;s address" in page
    assert "lab.example" not in caplog.text + page


def test_figures_count_messages_by_state(tmp_path, hook):
    service = bare(tmp_path, with_webhook(hook))
    for name in ("oak", "elm"):
        disqualify(service, name)
    one = sender(service)
    one.step()
    client = program(service, "prometheus", "reader")
    figures = client.get("/metrics").text
    assert 'mirflow_notifications{channel="webhook",state="failing"} 1.0' in figures
    assert 'mirflow_notifications{channel="webhook",state="waiting"} 1.0' in figures
    with hook.running():
        one.step()
    assert 'mirflow_notifications{channel="webhook",state="sent"} 1.0' in client.get("/metrics").text


# Addresses


def test_an_address_is_set_and_removed_by_its_owner(tmp_path, post):
    service = bare(tmp_path, with_mail(post))
    ada = leave_address(service)
    assert f'value="{ADDRESS}"' in ada.get("/account").text
    disqualify(service)
    organiser = Browser(service, "olga", "organiser")
    listed = program(service, "olga", "organiser").get("/accounts/")
    assert [(one["name"], one["mail"]) for one in listed.json()["accounts"]] == [("ada", True), ("olga", False)]
    assert ADDRESS not in listed.text + organiser.get("/accounts/").text + organiser.get("/submissions/").text
    assert ada.submit("/account/mail", mail="").status_code == 303
    assert ADDRESS not in ada.get("/account").text
    assert rows(service) == []
    assert ADDRESS not in service.audit.path.read_text()
    actions = [line["action"] for line in service.audit.read() if line["actor"] == "ada"]
    assert actions == ["log in", "set address", "remove address"]


@pytest.mark.parametrize(
    "address",
    [
        "ada",
        "ada@",
        "@lab.org",
        "a@b@c",
        "ada@lab.org\r\nBcc: eve@lab.org",
        "ada@lab.org, eve@lab.org",
        "ä@lab.org",
        "Ada <ada@lab.org>",
        "a@" + "b" * 300,
    ],
)
def test_what_is_no_address_is_refused(tmp_path, post, address):
    service = bare(tmp_path, with_mail(post))
    answer = Browser(service, "ada", "submitter").submit("/account/mail", mail=address)
    assert answer.status_code == 400
    assert "expected one such as ada@lab.org" in answer.text


def test_no_address_is_asked_for_where_no_mail_is_sent(tmp_path, hook):
    service = bare(tmp_path, with_webhook(hook))
    ada = Browser(service, "ada", "submitter")
    assert "/account/mail" not in ada.get("/account").text
    assert ada.submit("/account/mail", mail=ADDRESS).status_code == 400


def test_a_deleted_account_gets_no_mail_and_leaves_no_address(tmp_path, post):
    service = bare(tmp_path, with_mail(post))
    ada = leave_address(service)
    disqualify(service)
    (row,) = rows(service)
    number = row.user_id
    assert ada.submit("/account/delete", name="ada").status_code == 303
    assert rows(service) == []
    assert stored(service.database, select(User.mail).where(User.id == number)) == [""]


def test_a_revoked_account_gets_no_mail(tmp_path, post):
    service = bare(tmp_path, with_mail(post))
    leave_address(service)
    leave_address(service, "bob", "bob@lab.example")
    disqualify(service)
    disqualify(service, "elm", who="bob")
    invoke("serve", "users", "revoke", str(service.path), "ada", code=0)
    with post.running():
        assert send_all(service) == 1
    assert [to for to, _ in post.got] == [["bob@lab.example"]]


def test_organisers_set_addresses_by_commands(tmp_path, post):
    service = bare(tmp_path, with_mail(post))
    path = str(service.path)
    invoke("serve", "users", "add", path, "ada", "--mail", ADDRESS, code=0)
    listed = invoke("serve", "users", "list", path, "--format", "csv", code=0).stdout
    assert listed.splitlines()[1].startswith("ada,reader,")
    assert listed.splitlines()[1].endswith(",yes")
    assert ADDRESS not in listed
    invoke("serve", "users", "mail", path, "ada", "", code=0)
    assert not invoke("serve", "users", "list", path, "--format", "csv", code=0).stdout.rstrip().endswith("yes")
    assert "expected one such as" in refused("serve", "users", "mail", path, "ada", "nowhere")
    assert "--mail applies to a single account" in refused(
        "serve", "users", "add", path, "x", "--count", "2", "--mail", ADDRESS
    )


# The campaign file and its secrets


def test_a_test_is_sent_by_a_command(tmp_path, hook, post):
    both = with_webhook(hook) + with_mail(post).removeprefix("notifications:\n")
    path = write_bare_campaign(tmp_path, with_database(CAMPAIGN + both + "url: https://chords.example/\n"))
    with hook.running(), post.running():
        done = invoke("serve", "notify", str(path), "--mail", ADDRESS, code=0)
    assert done.stderr.splitlines() == ["webhook: delivered", "mail: delivered"]
    assert hook.got[0]["type"] == "test"
    ((to, mail),) = post.got
    assert to == [ADDRESS]
    assert mail["Subject"] == "Chords: test notifications of this campaign arrive"
    with post.running():
        text = refused("serve", "notify", path)
    assert "webhook: 127.0.0.1: cannot be reached" in text
    assert "the test message was not delivered" in text


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("", "the environment variable HOOK_SECRET is not set"),
        ("whsec_short", "HOOK_SECRET: invalid secret: expected whsec_ followed by 24 to 64 random bytes in base64"),
        ("not base64 at all, but longer than that", "HOOK_SECRET: invalid secret"),
    ],
)
def test_a_server_without_its_secret_does_not_begin(tmp_path, hook, secret, why):
    service = bare(tmp_path, with_webhook(hook))
    with pytest.raises(MirflowError, match=why) as error:
        couriers_of(service, {"HOOK_SECRET": secret})
    assert not secret or secret not in str(error.value)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("{}", "expected webhook, mail, or both"),
        ("{webhook: {url: 'ftp://lab.org/', secret: A}}", "expected one such as https://lab.org/hook"),
        ("{webhook: {url: 'https://lab.org/ x', secret: A}}", "expected one such as https://lab.org/hook"),
        ("{webhook: {url: 'https://lab.org/', secret: 'whsec_a/b='}}", "expected the name of an environment variable"),
        ("{mail: {server: a.org, sender: ada}}", "expected one such as ada@lab.org"),
        ("{mail: {server: a.org, sender: a@b.org, user: x}}", "expected user and password, or neither"),
        (
            "{mail: {server: a.org, sender: a@b.org, user: x, password: P, encryption: none}}",
            "the password would be sent without encryption",
        ),
    ],
)
def test_wrong_settings_are_refused(tmp_path, given, why):
    path = write_bare_campaign(tmp_path, CAMPAIGN + f"notifications: {given}\n")
    with pytest.raises(PipelineError, match=why) as error:
        load_campaign(path)
    assert "a/b=" not in str(error.value)
