"""The client keeps its token to the server that was named, and says what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from mirflow.campaign.commands.submit import Client, ServerError, find_token, packed
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service, open_service
from mirflow.errors import MirflowWarning

from .accounts import account
from .campaigns import member
from .running import running
from .test_submission_pages import CAMPAIGN, change


@pytest.fixture
def service(tmp_path: Path) -> Service:
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN.replace("2027-12-31", "2099-12-31"))
    return open_service([tmp_path / "campaign.yaml"])


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    with running(create_app(service)) as found:
        yield found


@pytest.fixture
def answers() -> Iterator[tuple[str, list[tuple[int, dict[str, str], bytes]], list[str]]]:
    """A server that answers with what is put on a list, and keeps the tokens that it gets."""
    given: list[tuple[int, dict[str, str], bytes]] = []
    tokens: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers.get("Authorization", ""))
            status, headers, body = given.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", given, tokens
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_folder_is_sent_with_its_progress(address, service, tmp_path):
    member(service, "ada", lab="oak")
    client, seen = Client(address, account(service, "ada", "submitter", "token")), []
    (tmp_path / "draft" / "a").mkdir(parents=True)
    (tmp_path / "draft" / "a" / "b.lab").write_text("0 1 C\n")
    found = client.submit(
        tmp_path / "draft",
        "draft-1",
        ["dev"],
        "lab",
        {"paper": "https://lab.org/"},
        lambda sent, total: seen.append((sent, total)),
    )
    assert seen[-1][0] == seen[-1][1] > 0
    change(service, "draft-1", state="failed", reason="no disk")
    done = client.wait(found["id"])
    assert (done["state"], done["visibility"], done["reason"]) == ("failed", "lab", "no disk")
    with pytest.raises(ServerError, match="Page not found") as refused:
        client.wait("0" * 16)
    assert refused.value.status == 404


def test_what_is_too_large_is_told_though_the_server_reads_none_of_it(address, service, tmp_path):
    (tmp_path / "draft.zip").write_bytes(bytes(8_000_000))
    client = Client(address, account(service, "ada", "submitter", "token"))
    with pytest.raises(ServerError, match=r"too large: (8,000,000 bytes, )?at most") as refused:
        client.submit(tmp_path / "draft.zip", "draft-1")
    assert refused.value.status == 413


def test_a_token_does_not_follow_to_another_server(answers):
    address, given, tokens = answers
    given.append((302, {"Location": f"{address}/elsewhere"}, b""))
    with pytest.raises(ServerError, match=r"redirects to .*elsewhere.*; use that address"):
        Client(address, "secret").terms()
    assert tokens == ["Bearer secret"]


def test_a_server_that_is_away_is_waited_for_with_a_word(answers, monkeypatch):
    address, given, _ = answers
    monkeypatch.setattr("mirflow.campaign.commands.submit._PAUSES", (0.0,))
    given += [(503, {}, b""), (200, {}, b'{"open": false, "words": "scored"}'), (200, {}, b'{"state": "scored"}')]
    said: list[str] = []
    assert Client(address, "secret").wait("1", lambda progress: said.append(progress["words"])) == {"state": "scored"}
    assert said == ["the server does not answer", "scored"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>", "the response is not JSON"),
        (200, b"[1]", "not a JSON object"),
        (502, b"<html>", "answers 502"),
        (400, b'{"error": "closed on Monday"}', "closed on Monday"),
        (400, b'["x"]', "answers 400"),
    ],
)
def test_servers_of_something_else(answers, status, body, said):
    address, given, _ = answers
    given.append((status, {}, body))
    with pytest.raises(ServerError, match=said):
        Client(address, "secret").terms()


def test_addresses_and_tokens_that_are_none():
    for url in ("ftp://a", "results.example", "https://"):
        with pytest.raises(ServerError, match="invalid server address"):
            Client(url, "secret")
    for token in ("", "a\nb", "ü"):
        with pytest.raises(ServerError, match="invalid token"):
            Client("https://a", token)
    with pytest.raises(ServerError, match="cannot be reached"):
        Client("http://127.0.0.1:9", "secret").terms()
    assert "secret" not in repr(Client("https://a", "secret"))


def test_a_token_is_not_sent_in_the_clear_without_a_word():
    with pytest.warns(MirflowWarning, match="without encryption"):
        Client("http://results.example", "secret")


def test_tokens_are_found_in_netrc(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ServerError, match=r"no token for results\.example: give --token"):
        find_token("https://results.example", None)
    (tmp_path / ".netrc").write_text("machine results.example login token password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    assert find_token("https://results.example/lab/", None) == "secret"
    assert find_token("https://results.example", "other\n") == "other"
    (tmp_path / ".netrc").write_text("machine\n")
    with pytest.raises(ServerError, match=r"cannot read ~/\.netrc"):
        find_token("https://results.example", None)


def test_nothing_to_send(tmp_path):
    with pytest.raises(ServerError, match="no files to send"), packed(tmp_path):
        pass
