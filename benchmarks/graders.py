"""Many graders who judge at the same moment: how long a judgement takes to be saved, and whether one is lost.

    python benchmarks/graders.py [--graders 50] [--changes 40] [--pause 0] [--rounds 3]

Makes a round, serves it in a process of its own, and lets so many graders change judgements, each as fast as the last
one is answered (or with a pause of so many seconds). Each answered change has to be in the database afterwards, and a
judgement has to be what its last changes say. The client shares the machine with the server.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from sqlalchemy import func, select

from mirflow.campaign.grading.pool import pool, write_pool
from mirflow.campaign.grading.query_draw import write_table
from mirflow.campaign.server.accounts import LIFETIMES, add_user, issue
from mirflow.campaign.server.graders.grading_tables import StoredAssignment, StoredJudgement
from mirflow.campaign.server.service import Service, open_service

ROUND = "/grading/similarity/"
QUERIES, EACH, SYSTEMS = 60, 5, 6
CAMPAIGN = """\
campaign: Load
grading:
  - {name: similarity, queries: queries.csv, candidates: pool.csv, audio: "{piece}.wav", listen: 0, graders_per_pair: 3}
"""


@dataclass
class Grader:
    """A grader, the candidates that were asked, and what was answered as saved."""

    client: httpx2.AsyncClient
    name: str
    asked: list[int] = field(default_factory=list)
    saved: list[dict[str, Any]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def make_round(folder: Path) -> Path:
    """Write a round of the size of AMS 2006: 60 queries, and the first five of six systems."""
    queries = [f"q{number}" for number in range(QUERIES)]
    rankings = {
        f"S{system}": {query: [f"{query}p{3 * system + rank}" for rank in range(EACH)] for query in queries}
        for system in range(SYSTEMS)
    }
    write_table(folder / "queries.csv", ("query",), [(query,) for query in queries])
    write_pool(pool(rankings, queries, EACH, "secret of the load"), folder / "pool.csv")
    path = folder / "campaign.yaml"
    path.write_text(CAMPAIGN)
    return path


def add_graders(service: Service, number: int) -> list[str]:
    """Tokens of so many new accounts."""
    assert service.database is not None
    with service.database.write() as session:
        now = service.clock()
        users = [add_user(session, f"g{one}", "grader", now) for one in range(number)]
        session.flush()
        return [issue(session, user, "token", now, LIFETIMES["token"]) for user in users]


async def begin(grader: Grader) -> None:
    """Agree, and look at the first page."""
    html = {"Accept": "text/html"}
    page = (await grader.client.get(ROUND, headers=html)).text
    version = re.search(r'name="version" value="(\w+)"', page)
    if version is not None:
        await grader.client.post(f"{ROUND}consent", data={"version": version[1]})
        page = (await grader.client.get(ROUND, headers=html)).text
    grader.asked = [int(one) for one in re.findall(r'data-assignment="(\d+)"', page)]


async def judge(grader: Grader, changes: int, client: str, pause: float) -> None:
    """Change judgements one after the other, each timed."""
    chance = random.Random(grader.name + client)
    for number in range(1, changes + 1):
        values = {"broad": chance.choice(("NS", "SS", "VS")), "fine": chance.randrange(101) / 10}
        change = {"assignment": chance.choice(grader.asked), "client": f"{grader.name:x>8}-{client}", "number": number}
        began = time.perf_counter()
        answer = await grader.client.post(f"{ROUND}judgements", json={**change, "values": values, "heard": 9.0})
        grader.seconds.append(time.perf_counter() - began)
        if answer.status_code == 200 and answer.json()["text"].startswith("saved"):
            grader.saved.append({**change, "values": values})
        else:
            grader.refused.append(f"{answer.status_code} {answer.text[:100]}")
        if pause:
            await asyncio.sleep(pause * chance.uniform(0.5, 1.5))


async def load(address: str, tokens: list[str], changes: int, pause: float, rounds: int) -> list[Grader]:
    """All graders at once, round after round; prints the latency of each."""
    graders = [
        Grader(
            httpx2.AsyncClient(
                base_url=address, timeout=60, headers={"Authorization": f"Bearer {token}", "Accept": "application/json"}
            ),
            f"g{number}",
        )
        for number, token in enumerate(tokens)
    ]
    began = time.perf_counter()
    await asyncio.gather(*map(begin, graders))
    print(f"{len(graders)} graders have agreed and have a page: {time.perf_counter() - began:.1f} s")
    for one in range(rounds):
        before = [len(grader.seconds) for grader in graders]
        began = time.perf_counter()
        await asyncio.gather(*(judge(grader, changes, f"round{one}", pause) for grader in graders))
        spent = time.perf_counter() - began
        times = 1000 * np.concatenate([grader.seconds[start:] for grader, start in zip(graders, before, strict=True)])
        p50, p95, p99 = np.quantile(times, [0.5, 0.95, 0.99])
        print(
            f"round {one + 1}: {len(times)} judgements in {spent:.1f} s, {len(times) / spent:.0f} a second; "
            f"saved after {p50:.0f} ms (median), {p95:.0f} ms (95 %), {p99:.0f} ms (99 %), {times.max():.0f} ms (most)"
        )
    await asyncio.gather(*(grader.client.aclose() for grader in graders))
    return graders


def count_lost(service: Service, graders: list[Grader]) -> int:
    """How many changes that were answered as saved are not in the database, or not in its newest state."""
    assert service.database is not None
    with service.database.read() as session:
        stored = {(one.assignment_id, one.client, one.number): one for one in session.scalars(select(StoredJudgement))}
        newest = {one.id: one for one in session.scalars(select(StoredAssignment))}
        number = session.scalar(select(func.count()).select_from(StoredJudgement))
    lost = 0
    last: dict[int, dict[str, Any]] = {}
    for grader in graders:
        for one in grader.saved:
            row = stored.get((one["assignment"], one["client"], one["number"]))
            lost += row is None or row.values != one["values"]
            last[one["assignment"]] = one["values"]
    lost += sum({"broad": newest[key].broad, "fine": newest[key].fine} != values for key, values in last.items())
    saved = sum(len(grader.saved) for grader in graders)
    print(f"answered as saved: {saved}; in the database: {number}; lost: {lost}")
    return lost


def main() -> None:
    """Serve, load, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graders", type=int, default=50)
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=8809)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mirflow-graders-") as place:
        path = make_round(Path(place))
        service = open_service([path])
        tokens = add_graders(service, given.graders)
        command = [sys.executable, "-m", "mirflow", "serve", str(path), "--port", str(given.port), "--no-worker"]
        address = f"http://127.0.0.1:{given.port}"
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                while True:
                    try:
                        httpx2.get(f"{address}/health").raise_for_status()
                        break
                    except httpx2.HTTPError:
                        time.sleep(0.1)
                graders = asyncio.run(load(address, tokens, given.changes, given.pause, given.rounds))
            finally:
                server.terminate()
        refused = [one for grader in graders for one in grader.refused]
        if refused:
            print(f"refused: {len(refused)}, such as {refused[0]}")
        sys.exit(bool(count_lost(service, graders) or refused))


if __name__ == "__main__":
    main()
