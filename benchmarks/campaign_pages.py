"""Pages of a campaign that depend on its database and on the reader, of this checkout and of others in turns.

    python benchmarks/campaign_pages.py [--beside CHECKOUT] [--systems 50] [--tracks 200] [--readers 20]
                                        [--seconds 4] [--rounds 3] [--changes]

Fills the same campaign for each checkout: systems on an open and on a hidden split, two in three of them public. Its
server runs while readers ask for the front page, the board of the hidden split and, logged in, for that of the open
one, as fast as they get them. With ``--changes`` the database is changed every second, as by a worker. The bodies of
all checkouts are compared first, without names of assets and times.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import os
import re
import secrets
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from service import Result, ask_by_sockets, free_port, large_store, process

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
CAMPAIGN = """\
campaign: Chords
evaluations: [{task: chord, reference: "reference/{track}.lab", estimates: "{track}.lab"}]
splits: {large: dev, test: {root: test, hidden: true}}
"""
PAGES = {
    "front": ("/", False),
    "hidden": ("/stores/test/chord/", False),
    "logged in": ("/stores/large/chord/", True),
    "front, logged in": ("/", True),
}
"""Addresses by what they are, and whether a reader is logged in."""


def fill(folder: Path, systems: int, tracks: int) -> None:
    """Make a campaign in which systems were scored; print the token of a reader."""
    from mirflow.campaign.server.accounts import add_user, issue, team_of
    from mirflow.campaign.server.service import open_service
    from mirflow.campaign.server.submissions.submission_tables import Released, Submission

    (folder / "campaign.yaml").write_text(CAMPAIGN)
    service = open_service([folder / "campaign.yaml"])
    assert service.database is not None
    large_store(service.folder_of("stores") / "large.zarr", systems, tracks)
    large_store(service.folder_of("public") / "large.zarr", systems * 2 // 3, tracks)
    with service.database.write() as session:
        user, reader = (add_user(session, name, "submitter", NOW) for name in ("ada", "bob"))
        for number in range(systems):
            name, time = f"system-{number:02d}", NOW + dt.timedelta(hours=number)
            about = {"splits": "large,test", "visibility": "public" if number < systems * 2 // 3 else "private"}
            about |= {"sent_digest": name, "rules": "1", "mirflow": "0", "state": "scored", "digest": name}
            times = {"received": time, "finished": time}
            row = Submission(user_id=user.id, team=team_of(user), name=name, key=name, size=1, **about, **times)
            session.add(row)
            session.flush()
            for split in ("large", "test"):
                for place, metric in enumerate(("majmin", "root", "sevenths", "mirex")):
                    told = {"split": split, "evaluation": "chord", "metric": metric, "rules": "1", "tracks": tracks}
                    value = round(0.5 + number / (3 * systems) + place / 100, 3)
                    told |= {"value": value, "headline": place == 0, "date": time}
                    session.add(Released(submission_id=row.number, **told))
        print(issue(session, reader, "token", dt.datetime.now(dt.UTC), None))


@contextmanager
def changed(folder: Path, environment: dict[str, str], every: float) -> Iterator[None]:
    """A process that changes a submission now and then, until the block ends."""
    script = (
        "import sys, time; from mirflow.campaign.server.service import open_service\n"
        "from mirflow.campaign.server.submissions.submission_tables import Submission\n"
        "service = open_service(['campaign.yaml'])\n"
        "while True:\n"
        "    with service.database.write() as session:\n"
        "        row = session.get(Submission, 1); row.tries += 1\n"
        f"    time.sleep({every})\n"
    )
    started = subprocess.Popen([sys.executable, "-c", script], cwd=folder, env=environment)
    try:
        yield
    finally:
        started.kill()
        started.wait()


def measure(asked: argparse.Namespace, folder: Path) -> None:
    """Serve each checkout, ask in turns, and print."""
    checkouts = {"this": Path(__file__).parents[1], **{one.name: one.resolve() for one in asked.beside}}
    with ExitStack() as stack:
        bases, headers, bodies = {}, {}, {}
        for name, checkout in checkouts.items():
            own = folder / secrets.token_hex(4)
            own.mkdir()
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(checkout), str(Path(__file__).parent)))}
            words = [sys.executable, __file__, "--fill", str(own)]
            words += ["--systems", str(asked.systems), "--tracks", str(asked.tracks)]
            token = subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout.strip()
            port = free_port()
            bases[name] = f"http://127.0.0.1:{port}"
            command = [sys.executable, "-m", "mirflow", "serve", "campaign.yaml", "--no-worker", "--port", str(port)]
            stack.enter_context(process(command, f"{bases[name]}/health", own, environment))
            if asked.changes:
                stack.enter_context(changed(own, environment, 1.0))
            headers[name] = f"Authorization: Bearer {token}\r\n"
            for page, (path, logged_in) in PAGES.items():
                given = {"Authorization": f"Bearer {token}"} if logged_in else {}
                with urllib.request.urlopen(urllib.request.Request(bases[name] + path, headers=given)) as answer:
                    text = re.sub(
                        r"/static/[^\"]*|/submissions/[0-9a-f]+/|datetime=\"[^\"]*\"", "", answer.read().decode()
                    )
                assert bodies.setdefault(page, text) == text, f"{page} differs"
        found: dict[tuple[str, str], list[Result]] = {}
        for turn in range(asked.rounds):
            for page, (path, logged_in) in PAGES.items():
                for name, base in bases.items():
                    given = headers[name] if logged_in else ""
                    result = asyncio.run(ask_by_sockets(base + path, asked.readers, asked.seconds, given))
                    found.setdefault((page, name), []).append(result)
                    line = f"{turn + 1}  {page:18s} {name:18s} {result[0]:8.0f}/s  p50 {result[1]:7.2f}"
                    print(f"{line}  p95 {result[2]:7.2f} ms  errors {result[4]}", flush=True)
        for (page, name), results in found.items():
            rate, high = (float(np.median([one[place] for one in results])) for place in (0, 2))
            print(f"{page:18s} {name:18s} {rate:8.0f}/s  p95 {high:7.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, action="append", default=[])
    parser.add_argument("--systems", type=int, default=50)
    parser.add_argument("--tracks", type=int, default=200)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--changes", action="store_true")
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fill:
        fill(asked.fill, asked.systems, asked.tracks)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(asked, Path(folder))


if __name__ == "__main__":
    main()
