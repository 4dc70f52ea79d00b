"""References and recordings that only the worker sees: scores come back, and no annotation crosses to the server."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import numpy as np
import pytest
import soundfile

from mirflow.service.accounts import add_user, issue
from mirflow.service.service import open_service
from mirflow.store.read import group_names, read_group

from .campaigns import CAMPAIGN, SECRET, estimates, write_campaign

OPEN_SECRET = "B:hdim7(*b3)"
"""A label that the references of the open split alone have."""
AUDIO = 'audio: {pattern: "audio/{track}.wav", who: public}\n'


def labels_of(folder: Path) -> None:
    """Give the references of the open split a label of their own, and lay recordings beside both."""
    for split in ("dev", "test"):
        (folder / split / "audio").mkdir()
        soundfile.write(folder / split / "audio" / f"{split}0.wav", np.zeros(80), 8000)
    for path in (folder / "dev/reference").iterdir():
        path.write_text(f"0 10 C\n10 20 G:7\n20 30 {OPEN_SECRET}\n")


@contextlib.contextmanager
def process(*arguments: str, folder: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command of mirflow in a folder of its own."""
    with log.open("wb") as out:
        started = subprocess.Popen(
            [sys.executable, "-m", *arguments], cwd=folder, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGTERM)
        try:
            started.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def get(address: str, token: str = "") -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def wait_for(address: str) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError):
            if get(address)[0] == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"no answer from {address}")


def crawl(base: str, token: str) -> dict[str, bytes]:
    """Everything that links lead to, and the addresses of reports, tables and stores that scripts ask for."""
    pending = {f"{base}/", f"{base}/api/v1", f"{base}/api/v1/stores", f"{base}/submissions/"}
    for split in ("dev", "test"):
        pending |= {f"{base}/stores/{split}/report/contents.json", f"{base}/stores/{split}.zarr/zarr.json"}
        pending |= {f"{base}/stores/{split}/report/tracks/{split}{number}.json" for number in range(6)}
        pending |= {f"{base}/api/v1/stores/{split}/evaluations/chord/scores?format=csv"}
        pending |= {f"{base}/api/v1/stores/{split}/{what}" for what in ("query", "problems", "leaderboard")}
        pending |= {f"{base}/stores/{split}.zarr/chord/{name}/c.0" for name in ("track", "title", "duration")}
        pending |= {f"{base}/stores/{split}.zarr/chord/message/c.{system}.0" for system in range(2)}
    seen: dict[str, bytes] = {}
    while pending:
        address = pending.pop()
        status, body = get(address, token)
        assert status < 500, address
        seen[address] = body
        if body.startswith(b"<!"):
            found = (unescape(one) for one in re.findall(r'href="([^"#]*)', body.decode()))
            links = {urljoin(address, one).partition("#")[0] for one in found if one}
            pending |= {one for one in links if one.startswith(base)} - seen.keys()
    return seen


def assert_nowhere(secrets: Sequence[str], folder: Path, answers: dict[str, bytes]) -> None:
    """None of some texts is in an answer, in a file of a folder, or in the messages of the stores there."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any(path.name == "campaign.db" for path in files)
    for secret in secrets:
        assert [one for one, body in answers.items() if secret.encode() in body] == []
        assert [path for path, data in files.items() if secret.encode() in data] == []
        for store in [*folder.glob("stores/*.zarr"), *folder.glob("public/*.zarr")]:
            for group in group_names(store):
                assert not any(secret in message for message in read_group(store, group).cells.message)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["serial", "dask"])
def test_scores_come_back_and_no_annotation_crosses(tmp_path: Path, scheduler: str) -> None:
    owner, host, state = tmp_path / "owner", tmp_path / "host", tmp_path / "state"
    elsewhere = tmp_path / "elsewhere"
    for folder in (owner, host, state, elsewhere):
        folder.mkdir()
    ports = free_port(), free_port()
    text = CAMPAIGN.replace("serial", f"tcp://127.0.0.1:{ports[1]}") if scheduler == "dask" else CAMPAIGN
    campaign = write_campaign(owner, text + AUDIO)
    labels_of(owner)
    for folder in (owner, host):  # one mount for what is submitted, and none for what is annotated
        (folder / "state").symlink_to(state)
    shutil.copy(campaign, host / "campaign.yaml")
    service = open_service([host / "campaign.yaml"])
    assert service.database is not None
    with service.database.write() as session:
        people = {role: add_user(session, f"a {role}", role, service.clock()) for role in ("submitter", "organiser")}
        tokens = {role: issue(session, user, "token", service.clock(), None) for role, user in people.items()}
    sent = tmp_path / "oak"
    sent.mkdir()
    for name, label in estimates(wrong=2).items():
        (sent / name).write_text(label)
    base = f"http://127.0.0.1:{ports[0]}"
    with contextlib.ExitStack() as stack:
        if scheduler == "dask":
            begin = "from distributed.cli.dask_{0} import main; main({1!r})"
            for name, arguments in (
                ("scheduler", ["--host", "127.0.0.1", "--port", str(ports[1]), "--no-dashboard"]),
                ("worker", [f"tcp://127.0.0.1:{ports[1]}", "--nthreads", "1", "--no-nanny", "--no-dashboard"]),
            ):
                script = elsewhere / f"{name}.py"
                script.write_text(begin.format(name, arguments))
                stack.enter_context(process(f"{name}", folder=elsewhere, log=tmp_path / f"{name}.log"))
        serve = ("mirflow", "serve", "campaign.yaml", "--no-worker", "--port", str(ports[0]))
        stack.enter_context(process(*serve, folder=host, log=tmp_path / "server.log"))
        stack.enter_context(
            process("mirflow", "serve", "worker", "campaign.yaml", folder=owner, log=tmp_path / "worker.log")
        )
        wait_for(f"{base}/health")
        command = [sys.executable, "-m", "mirflow", "submit", base, str(sent), "--token", tokens["submitter"]]
        done = subprocess.run(
            [*command, "--split", "dev", "--split", "test"], capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}{(tmp_path / 'worker.log').read_text()}"
        wait_for(f"{base}/stores/dev/chord/")  # the public copy is made after the scores
        for token in ("", *tokens.values()):
            answers = crawl(base, token)
            pages = {address: body.decode() for address, body in answers.items() if body.startswith(b"<!")}
            assert "oak" in pages[f"{base}/stores/dev/chord/"]
            assert "oak" in pages[f"{base}/stores/test/chord/"]
            timeline = answers[f"{base}/stores/dev/report/tracks/dev0.json"]
            assert timeline.startswith(b'{"annotations":[]')
            assert b'"audio":""' in timeline
            assert_nowhere([SECRET, OPEN_SECRET], state, answers)
    assert not {"dev", "test"} & {path.name for path in host.iterdir()}
    logs = [path.read_text() for path in tmp_path.glob("*.log")]
    assert not any(SECRET in log or OPEN_SECRET in log for log in logs)
