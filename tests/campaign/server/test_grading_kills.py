"""A server that is killed at any moment has kept every judgement that it called saved."""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Any

import httpx2
import pytest
from sqlalchemy import func, select

from mirflow.campaign.server.graders.grading_tables import Participation, StoredAssignment, StoredJudgement
from mirflow.campaign.server.graders.judging import JudgementChange, fold
from mirflow.campaign.server.service import Service, open_service

from ...waiting import PATIENCE
from .accounts import account
from .processes import Server
from .rounds import make_campaign

ROUND = "/grading/similarity/"
KILLS = int(os.environ.get("MIRFLOW_KILLS", "8"))  # how often the server is killed
GRADERS = 4


class Load(threading.Thread):
    """A grader who judges without a pause, and sends again what was not answered."""

    def __init__(self, server: Server, name: str, secret: str, over: threading.Event) -> None:
        super().__init__(name=name)
        self.server, self.over = server, over
        self.client = httpx2.Client(
            base_url=server.address, timeout=PATIENCE, headers={"Authorization": f"Bearer {secret}"}
        )
        self.saved: dict[int, list[dict[str, Any]]] = {}
        self.answers = 0
        self.wrong: list[str] = []

    def begin(self, version: str) -> list[int]:
        """Agree; the candidates that are to be judged."""
        answer = self.client.post(f"{ROUND}consent", data={"version": version})
        assert answer.status_code == 303, answer.text
        text = self.client.get(ROUND, headers={"Accept": "text/html"}).text
        self.asked = [int(part.split('"')[0]) for part in text.split('data-assignment="')[1:]]
        return self.asked

    def run(self) -> None:
        """Change judgements until it is over."""
        chance = random.Random(self.name)
        number = 0
        while not self.over.is_set():
            number += 1
            values = {"broad": chance.choice(["NS", "SS", "VS"]), "fine": chance.randrange(101) / 10}
            # A judgement is changed at most 2,000 times.
            change = {"assignment": chance.choice(self.asked), "client": f"load-{self.name}-{number // 1500}"}
            self.send({**change, "number": number, "values": values, "heard": 9.0})
            time.sleep(0.01)
        self.client.close()

    def send(self, change: dict[str, Any]) -> None:
        """Send a change until it is answered, or all is over."""
        while not self.over.is_set():
            try:
                answer = self.client.post(f"{ROUND}judgements", json=change, headers={"Accept": "application/json"})
            except httpx2.HTTPError:
                time.sleep(0.05)
                continue
            if answer.status_code == 429:
                time.sleep(0.5)
                continue
            if answer.status_code != 200 or not answer.json()["text"].startswith("saved"):
                self.wrong.append(f"{answer.status_code} {answer.text}")
                return
            self.answers += 1
            self.saved.setdefault(change["assignment"], []).append(change)
            return


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_judgement_that_was_answered_as_saved_is_lost(tmp_path):
    path = make_campaign(tmp_path, audio=False, each=6)
    chance, over = random.Random(7), threading.Event()
    with Server(path, tmp_path / "server.log") as server:
        service = open_service([path])
        graders = [
            Load(server, f"g{number}", account(service, f"g{number}", "grader", "token"), over)
            for number in range(GRADERS)
        ]
        version = _version(service)
        for grader in graders:
            grader.begin(version)
            grader.start()
        try:
            for _ in range(KILLS):
                time.sleep(chance.uniform(0.05, 1.0))
                server.kill()
                server.start()
            time.sleep(0.5)
        finally:
            over.set()
            for grader in graders:
                grader.join()
        log = server.log.read_text()
    assert "Traceback" not in log
    assert [grader.wrong for grader in graders] == [[]] * GRADERS
    answered = sum(grader.answers for grader in graders)
    assert answered > KILLS
    found = _stored(service)
    for grader in graders:
        for assignment, changes in grader.saved.items():
            stored = {(one.client, one.number): one.values for one in found[assignment]}
            for change in changes:
                assert stored[change["client"], change["number"]] == change["values"]
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Participation)) == GRADERS
        for one in session.scalars(select(StoredAssignment)):
            kept = [JudgementChange(row.client, row.number, row.values, row.heard) for row in found.get(one.id, [])]
            state = fold(kept)
            assert (one.broad, one.fine) == (state.broad, state.fine)
        [whole] = session.connection().exec_driver_sql("PRAGMA integrity_check").one()
    assert whole == "ok"
    print(f"{KILLS} kills, {answered} judgements answered as saved, all of them there")


def _version(service: Service) -> str:
    from mirflow.campaign.server.graders.rounds import open_rounds

    return open_rounds(service)["similarity"].version


def _stored(service: Service) -> dict[int, list[StoredJudgement]]:
    found: dict[int, list[StoredJudgement]] = {}
    with service.database.read() as session:
        for row in session.scalars(select(StoredJudgement).order_by(StoredJudgement.id)):
            found.setdefault(row.assignment_id, []).append(row)
    return found
