"""Server and worker are killed at random moments under load: no submission is lost or scored twice."""

from __future__ import annotations

import http.client
import json
import math
import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np
import pytest
from sqlalchemy import func, select

from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.submission_tables import OPEN, Released, Scored, Submission
from mirflow.store.read import read_scores

from ...waiting import PATIENCE
from .accounts import account
from .campaigns import CAMPAIGN, TRACKS, estimates, write_campaign, zipped
from .databases import stored
from .processes import Killer, Process, Server, free_port

ROOMY = CAMPAIGN.replace("quota: 3", "quota: 1000")
KILLS = int(os.environ.get("MIRFLOW_KILLS", "8"))  # 100 for the record
MANY = 48  # submissions at the same moment: more than the server has threads for them (40)
SENDERS = 4
DATA = zipped(estimates(wrong=1))


def send(address: str, token: str, name: str, splits: str = "dev") -> int:
    """Send a submission as programs do; the status, 0 where the server was gone."""
    request = Request(
        f"{address}/submissions/new?name={quote(name)}&split={splits}&filename=estimates.zip",
        DATA,
        {"Authorization": f"Bearer {token}", "Content-Type": "application/zip", "Accept": "application/json"},
    )
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            assert json.load(answer)["state"] == "received"
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except (URLError, http.client.HTTPException, ConnectionError, TimeoutError):
        return 0


def send_until_taken(address: str, token: str, name: str, splits: str = "dev") -> int:
    """Send a submission again until it is there; returns the number of times that it was tried."""
    for tries in range(1, 1000):
        status = send(address, token, name, splits)
        # A name that is taken: the answer to an earlier try was lost, and the submission was not.
        if status in (200, 201) or (status == 400 and tries > 1):
            return tries
        assert status in (0, 429, 503), status
        time.sleep(0.2)
    raise AssertionError(name)


def wait_for_scores(service: Service, seconds: float, left: int = 0) -> None:
    """Wait until so many submissions at most are not scored, as long as their number falls once in so many seconds."""
    least, end = math.inf, 0.0
    while True:
        with service.database.read() as session:
            still = session.scalar(select(func.count()).select_from(Submission).where(Submission.state.in_(OPEN))) or 0
        if still <= left:
            return
        if still < least:
            least, end = still, time.monotonic() + seconds
        assert time.monotonic() < end, f"{still} submissions are left"
        time.sleep(0.3)


def assert_all_scored_once(service: Service, names: set[str], splits: tuple[str, ...]) -> None:
    with service.database.read() as session:
        rows = session.scalars(select(Submission).order_by(Submission.number)).all()
        assert Counter(one.name for one in rows) == Counter(names)
        assert {one.state for one in rows} == {"scored"}
        assert Counter(session.execute(select(Scored.submission_id, Scored.split)).all()) == Counter(
            (one.number, split) for one in rows for split in splits
        )
        released = session.execute(
            select(Released.submission_id, Released.split, Released.metric, Released.value)
        ).all()
        assert len({one[:3] for one in released}) == len(released) == len(rows) * len(splits) * 2
        # The ladder shows the first of equal scores alone.
        shown = {(one.split, one.metric, one.value) for one in released if one.value is not None}
        assert len(shown) == len(splits) * 2
        arrival = [one.name for one in rows]
        finished = [one.finished for one in rows]
    assert finished == sorted(finished, key=lambda one: one or 0)
    for split in splits:
        ds = read_scores(service.folder_of("stores") / f"{split}.zarr")["chord"]
        # In the order of arrival, each once, every cell of it the same.
        assert ds["system"].values.tolist() == arrival
        assert ds.sizes["track"] == TRACKS
        scores = ds["score"].values
        np.testing.assert_array_equal(scores, np.broadcast_to(scores[:1], scores.shape))
    assert sorted(one.name for one in service.folder_of("systems").iterdir()) == sorted(names)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_submissions_at_the_same_moment_are_all_scored_once_in_order(folder_in_memory):
    path = write_campaign(folder_in_memory, ROOMY)
    service = open_service([path])
    tokens = [account(service, f"account {number}", "submitter", "token") for number in range(MANY)]
    server = Server(path, folder_in_memory / "server.log", "--no-worker")
    names = [f"system-{number}" for number in range(MANY)]
    with server, Process(["serve", "worker", str(path)], folder_in_memory / "worker.log"):
        start = threading.Barrier(MANY)

        def one(number: int) -> int:
            start.wait()
            return send_until_taken(server.address, tokens[number], names[number])

        began = time.monotonic()
        with ThreadPoolExecutor(MANY) as pool:
            tries = list(pool.map(one, range(MANY)))
        taken = time.monotonic() - began
        wait_for_scores(service, 300)
        print(f"taken in {taken:.1f} s ({max(tries)} tries at most), scored in {time.monotonic() - began:.1f} s")
    assert_all_scored_once(service, set(names), ("dev",))
    assert (
        "Traceback" not in (folder_in_memory / "server.log").read_text() + (folder_in_memory / "worker.log").read_text()
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_one_of_two_workers_of_a_cluster_is_killed_under_twelve_submissions(folder_in_memory):
    cluster = f"tcp://127.0.0.1:{free_port()}"
    path = write_campaign(folder_in_memory, ROOMY.replace("serial", cluster))
    service = open_service([path])
    token = account(service, "ada", "submitter", "token")
    words = ["--host", "127.0.0.1", "--port", cluster.rpartition(":")[2], "--no-dashboard"]
    scheduler = Process(words, folder_in_memory / "scheduler.log", "distributed.cli.dask_scheduler")
    words = [
        cluster,
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--local-directory",
        str(folder_in_memory / "dask"),
    ]
    first, second = (Process(words, folder_in_memory / f"{one}.log", "distributed.cli.dask_worker") for one in (1, 2))
    server = Server(path, folder_in_memory / "server.log", "--no-worker")
    worker = Process(["serve", "worker", str(path)], folder_in_memory / "worker.log")
    names = [f"system-{number}" for number in range(12)]
    with scheduler, first, second, server, worker:
        for name in names:
            send_until_taken(server.address, token, name, "dev&split=test")
        wait_for_scores(service, 300, left=8)
        first.kill()
        wait_for_scores(service, 300, left=4)
        # With none left the worker waits for another one.
        second.kill()
        time.sleep(3)
        first.start()
        wait_for_scores(service, 300)
    assert_all_scored_once(service, set(names), ("dev", "test"))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_at_random_moments_under_load_nothing_is_lost_or_done_twice(folder_in_memory):
    path = write_campaign(folder_in_memory, ROOMY)
    service = open_service([path])
    token = account(service, "ada", "submitter", "token")
    server = Server(path, folder_in_memory / "server.log", "--no-worker")
    workers = [Process(["serve", "worker", str(path)], folder_in_memory / f"worker-{number}.log") for number in (1, 2)]
    names: set[str] = set()

    def send_on(sender: int) -> None:
        while not killer.done and len(names) < 2 * KILLS:
            name = f"system-{sender}-{len(names)}"
            names.add(name)
            send_until_taken(server.address, token, name, "dev&split=test")
            time.sleep(1)

    with server, workers[0], workers[1]:
        with Killer([server, *workers], KILLS) as killer:
            with ThreadPoolExecutor(SENDERS) as pool:
                list(pool.map(send_on, range(SENDERS)))
            while not killer.done:
                time.sleep(0.1)
        assert killer.killed == KILLS
        wait_for_scores(service, 300)
    assert_all_scored_once(service, names, ("dev", "test"))
    assert not [log for log in folder_in_memory.glob("*.log") if "Traceback" in log.read_text()]
    print(f"{killer.killed} kills, {len(names)} submissions")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_worker_that_is_told_to_end_gives_back_what_it_does(folder_in_memory):
    path = write_campaign(folder_in_memory, ROOMY)
    service = open_service([path])
    token = account(service, "ada", "submitter", "token")
    server = Server(path, folder_in_memory / "server.log", "--no-worker")
    worker = Process(["serve", "worker", str(path)], folder_in_memory / "worker.log")
    with server, worker:
        for number in range(4):
            send_until_taken(server.address, token, f"system-{number}")
        for _ in range(200):
            states = _states(service)
            if {"checking", "scoring", "releasing"} & set(states):
                break
            time.sleep(0.05)
        worker.stop()
        assert worker.process is not None
        assert worker.process.returncode == 0
        assert not {"checking", "scoring", "releasing"} & set(_states(service))
        worker.start()
        wait_for_scores(service, 200)
    assert_all_scored_once(service, {f"system-{number}" for number in range(4)}, ("dev",))


def _states(service: Service) -> list[Any]:
    return stored(service.database, select(Submission.state))
