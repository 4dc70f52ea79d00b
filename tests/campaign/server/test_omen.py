"""References and recordings in a mount that only the worker has: scores come back, and no annotation crosses."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise
from pathlib import Path
from urllib.parse import urljoin

import numpy as np
import pytest
import soundfile
import zarr

from mirflow.campaign.server.accounts import add_user, issue
from mirflow.campaign.server.service import open_service
from mirflow.store.read import open_groups, read_group

from ...waiting import PATIENCE, until
from .campaigns import CAMPAIGN, TRACKS, estimates, write_campaign
from .processes import free_port

# Labels that the references alone have.
LABELS = {"dev": ("C:maj(9)", "G:7(#9)", "B:hdim7(*b3)"), "test": ("C:maj6(11)", "G:9(13)", "Eb:sus4(b9)")}
# Times of the references, in seconds, of which no difference and no sum is another one of them.
TIMES = {"dev": (0.37193, 10.04171, 20.73131, 30.29629), "test": (0.41413, 9.86557, 19.52347, 29.61139)}
AUDIO = 'audio: {pattern: "audio/{track}.wav", who: public}\n'


def annotate(folder: Path) -> None:
    """Give the references labels and times of their own, and lay recordings beside them."""
    for split, labels in LABELS.items():
        (folder / split / "audio").mkdir()
        soundfile.write(folder / split / "audio" / f"{split}0.wav", np.zeros(80), 8000)
        rows = zip(pairwise(TIMES[split]), labels, strict=True)
        text = "".join(f"{start} {end} {label}\n" for (start, end), label in rows)
        for path in (folder / split / "reference").iterdir():
            path.write_text(text)


def secrets_of_references() -> list[str]:
    """What must not cross, as text."""
    return [*(one for own in LABELS.values() for one in own), *(str(one) for own in TIMES.values() for one in own)]


class Mount:
    """A mount namespace with a folder of its own, empty for all other processes.

    Parameters
    ----------
    folder : Path
        Empty; within the namespace it is in memory, and gone with it.
    files : bytes
        What it holds there, as a tar archive.
    """

    def __init__(self, folder: Path, files: bytes) -> None:
        script = f"mount -t tmpfs tmpfs {folder} && tar -x -C {folder} && echo ready && exec sleep 3600 >/dev/null"
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--user", "--map-root-user", "--propagation", "private", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.holder.stdin is not None
        assert self.holder.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.holder.stdin.write(files)
            self.holder.stdin.close()
        if self.holder.stdout.readline() != b"ready\n":
            assert self.holder.stderr is not None
            reason = self.holder.stderr.read().decode().strip()
            self.close()
            pytest.skip(f"this system gives no mount of one's own: {reason}")

    @property
    def enter(self) -> list[str]:
        """What begins a command line in the namespace."""
        return ["nsenter", "--target", str(self.holder.pid), "--user", "--mount", "--preserve-credentials", "--wd=."]

    def close(self) -> None:
        """End it; what it held is gone."""
        self.holder.kill()
        self.holder.wait()
        for stream in (self.holder.stdout, self.holder.stderr):
            assert stream is not None
            stream.close()

    def __enter__(self) -> Mount:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def move_into_mount(folder: Path) -> Mount:
    """Move the files of a folder into a mount of its own; outside it is empty."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, ".")
    for one in folder.iterdir():
        one.unlink() if one.is_symlink() or one.is_file() else shutil.rmtree(one)
    return Mount(folder, packed.getvalue())


@contextlib.contextmanager
def process(*arguments: str, folder: Path, log: Path, enter: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a folder of its own, whose temporary files are beside it."""
    temporary = log.with_suffix(".tmp")
    temporary.mkdir()
    with log.open("wb") as out:
        started = subprocess.Popen(
            [*enter, sys.executable, "-m", *arguments],
            cwd=folder,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGTERM)
        try:
            started.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()


def get(address: str, token: str = "") -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=PATIENCE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def wait_for(address: str) -> None:
    def answers() -> bool:
        with contextlib.suppress(OSError):
            return get(address)[0] == 200
        return False

    until(answers, lambda: f"no answer from {address}", seconds=2 * PATIENCE)


def crawl(base: str, token: str) -> dict[str, bytes]:
    """Everything that links lead to, and the addresses of reports, tables and stores that scripts ask for."""
    pending = {f"{base}/", f"{base}/api/v1", f"{base}/api/v1/stores", f"{base}/submissions/"}
    for split in ("dev", "test"):
        pending |= {f"{base}/stores/{split}/report/contents.json", f"{base}/stores/{split}.zarr/zarr.json"}
        pending |= {f"{base}/stores/{split}/report/tracks/{split}{number}.json" for number in range(TRACKS)}
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


def assert_in_no_answer(answers: dict[str, bytes]) -> None:
    for secret in secrets_of_references():
        assert [one for one, body in answers.items() if secret.encode() in body] == []


def assert_in_no_file(folder: Path) -> None:
    """Nothing of the references is in a file below a folder, nor in the stores there."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any(path.name == "campaign.db" for path in files)
    for secret in secrets_of_references():
        assert [path for path, data in files.items() if secret.encode() in data] == []
    stores = [*folder.rglob("stores/*.zarr"), *folder.rglob("public/*.zarr")]
    assert {one.name for one in stores} == {"dev.zarr", "test.zarr"}
    times = np.array([one for own in TIMES.values() for one in own])
    for store in stores:
        for group in open_groups(store):
            messages = read_group(store, group).cells.message
            assert not any(secret in message for secret in secrets_of_references() for message in messages)
        for name, array in zarr.open_group(store, mode="r").members(max_depth=None):
            if isinstance(array, zarr.Array) and array.dtype.kind == "f":
                values = np.asarray(array[...]).ravel()
                assert not np.isclose(values[:, None], times, rtol=0, atol=1e-6).any(), f"{store}: {name}"


def assert_in_no_memory(pid: int) -> None:
    """Nothing of the references is in what a process has in memory."""
    secrets = [one.encode() for one in secrets_of_references()]
    seen = 0
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in maps:
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(one, 16) for one in place.split("-"))
            with contextlib.suppress(OSError, OverflowError):
                memory.seek(start)
                data = memory.read(end - start)
                seen += len(data)
                assert [one for one in secrets if one in data] == []
    assert seen > 2**20


def has(pid: int, path: Path) -> bool:
    """Whether a process finds a path, as it sees the disk."""
    return Path(f"/proc/{pid}/root{path}").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="mounts of one's own are Linux's")
@pytest.mark.parametrize("scheduler", ["serial", "dask"])
def test_scores_come_back_and_no_annotation_crosses(tmp_path, scheduler):
    owner, host, state, elsewhere = (tmp_path / name for name in ("owner", "host", "state", "elsewhere"))
    for folder in (owner, host, state, elsewhere):
        folder.mkdir()
    ports = free_port(), free_port()
    text = CAMPAIGN.replace("serial", f"tcp://127.0.0.1:{ports[1]}") if scheduler == "dask" else CAMPAIGN
    campaign = write_campaign(owner, text + AUDIO)
    annotate(owner)
    for folder in (owner, host):  # what is submitted is seen by both, and what is annotated by one
        (folder / "state").symlink_to(state)
    shutil.copy(campaign, host / "campaign.yaml")
    service = open_service([host / "campaign.yaml"])
    with service.database.write() as session:
        people = {role: add_user(session, f"a {role}", role, service.clock()) for role in ("submitter", "organiser")}
        tokens = {role: issue(session, user, "token", service.clock(), None) for role, user in people.items()}
    sent = tmp_path / "oak"
    sent.mkdir()
    for name, label in estimates(wrong=2).items():
        (sent / name).write_text(label)
    base = f"http://127.0.0.1:{ports[0]}"
    reference = owner / "dev" / "reference" / "dev0.lab"
    with contextlib.ExitStack() as stack:
        mount = stack.enter_context(move_into_mount(owner))
        outside = []
        if scheduler == "dask":
            begin = "from distributed.cli.dask_{0} import main; main({1!r})"
            for name, arguments, enter in (
                ("scheduler", ["--host", "127.0.0.1", "--port", str(ports[1]), "--no-dashboard"], ()),
                (
                    "worker",
                    [f"tcp://127.0.0.1:{ports[1]}", "--nthreads", "1", "--no-nanny", "--no-dashboard"],
                    mount.enter,
                ),
            ):
                (elsewhere / f"{name}.py").write_text(begin.format(name, arguments))
                started = stack.enter_context(
                    process(name, folder=elsewhere, log=tmp_path / f"dask-{name}.log", enter=enter)
                )
                if not enter:
                    outside.append(started.pid)
        serve = ("mirflow", "serve", "campaign.yaml", "--no-worker", "--port", str(ports[0]))
        server = stack.enter_context(process(*serve, folder=host, log=tmp_path / "server.log"))
        outside.append(server.pid)
        work = ("mirflow", "serve", "worker", str(owner / "campaign.yaml"))
        worker = stack.enter_context(process(*work, folder=state, log=tmp_path / "worker.log", enter=mount.enter))
        wait_for(f"{base}/health")
        command = [sys.executable, "-m", "mirflow", "submit", base, str(sent), "--token", tokens["submitter"]]
        done = subprocess.run(
            [*command, "--split", "dev", "--split", "test"], capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}{(tmp_path / 'worker.log').read_text()}"
        wait_for(f"{base}/stores/dev/chord/")  # the public copy is made after the scores
        assert has(worker.pid, reference)
        assert not any(has(pid, reference) for pid in outside)
        assert [*Path(f"/proc/{server.pid}/root{owner}").iterdir()] == []
        for token in ("", *tokens.values()):
            answers = crawl(base, token)
            pages = {address: body.decode() for address, body in answers.items() if body.startswith(b"<!")}
            assert "oak" in pages[f"{base}/stores/dev/chord/"]
            assert "oak" in pages[f"{base}/stores/test/chord/"]
            timeline = answers[f"{base}/stores/dev/report/tracks/dev0.json"]
            assert timeline.startswith(b'{"annotations":[]')
            assert b'"audio":""' in timeline
            assert_in_no_answer(answers)
        for pid in outside:
            assert_in_no_memory(pid)
        with pytest.raises(AssertionError):
            assert_in_no_memory(os.getpid())  # which knows them
    assert [*owner.iterdir()] == []
    assert_in_no_file(tmp_path)
