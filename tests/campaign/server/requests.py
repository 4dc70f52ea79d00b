"""Hostile requests over all routes of a server, drawn from a seed, and what must not come of them."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import string
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlencode

from sqlalchemy import select
from starlette.routing import Route

from mirflow.campaign.server.accounts import Kind, Role
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.graders.planning import begin_plan
from mirflow.campaign.server.limits import RATES, RateLimits
from mirflow.campaign.server.security import HEADERS, csrf_token
from mirflow.campaign.server.service import Service
from mirflow.campaign.server.submissions.submission_tables import (
    Released,
    Submission,
    SubmissionFinding,
    SubmissionProgress,
)

from ...waiting import PATIENCE
from .accounts import BASE, BEGIN, Clock, account
from .campaigns import CAMPAIGN, SECRET, estimates, submit, write_campaign, zipped
from .rounds import make_campaign

ROLES: tuple[Role, ...] = ("reader", "submitter", "grader", "organiser")
PLANNING = 'planning: {audio: "grading/audio/{piece}.wav", pieces: [grading/queries.csv], lists: ["x/{system}.csv"]}\n'
METHODS = (
    ("GET",) * 8 + ("POST",) * 6 + ("HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "get")
)
HOSTILE = (
    "", " ", ".", "..", "../..", "../../../../etc/passwd", "..%2f..%2fcampaign.db", "%00", "\x00",
    "a\r\nSet-Cookie: x=y",
    "<script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>", "{{7*7}}", "${jndi:ldap://x}",
    "%s%n", "'; DROP TABLE user--",
    "' OR '1'='1", "\\\\host\\share", "C:\\", "/etc/passwd", "file:///etc/passwd", "-1", "0", "1e309", "NaN", "9" * 400,
    "٣", "²", "\ud800", "\u202e", "ß" * 100, "a" * 5000, "__import__('os').system('x')",
    "year < " * 500, "(" * 3000, "a.b.c",
    "null", "true", "[]", "{}", "--", "*", "zarr.json", ".zarr", "state/secret.key", "chord.json",
    "pool.key.csv", "round.json",
    "//evil.example", "\t", "con",
)  # fmt: skip
WORDS = (
    "dev", "test", "chord", "majmin", "root", "oak", "elm", "dev0", "test0", "similarity", "q1", "title", "json", "csv",
    "arrow", "parquet", "track", "system", "mean", "dev0 Blues", "private", "public", "1", "2", "0.5", "site.css",
)  # fmt: skip
FIELDS = (
    "csrf", "name", "split", "visibility", "days", "token", "assignment", "broad", "fine", "seq",
    "client", "metric", "by",
    "where", "aggregate", "missing", "undefined", "format", "level", "sort", "over", "across",
    "system", "files", "page",
    "table", "number", "seed", "lists", "top", "same", "secret", "graders", "per_pair", "repeats", "minutes", "what",
)  # fmt: skip
KINDS = (
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data", "application/json",
    "application/zip", "text/plain", "application/octet-stream", "a" * 2000,
    "multipart/form-data; boundary=" + "y" * 300,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A request; its number and the seed tell all of it."""

    number: int
    method: str
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def __str__(self) -> str:
        return f"case {self.number}: {self.method} {self.target[:200]!r} {self.headers!r:.300} {self.body[:100]!r}"


@dataclass
class Answer:
    """What came back."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)


@dataclass
class Target:
    """A campaign in which something has happened, with secrets that no answer may hold."""

    service: Service
    app: Any
    ids: list[str]
    secrets: dict[tuple[str, Kind], str] = field(default_factory=dict)

    @property
    def kept(self) -> list[bytes]:
        """What no answer may hold."""
        given = [secret.encode() for (_, kind), secret in self.secrets.items() if kind != "session"]
        own = [self.service.secret, self.service.secret.hex().encode(), str(self.service.folder).encode()]
        return [SECRET.encode(), b"sus4(b9)", *given, *own, b"Traceback (most recent", b'File "/', b"root:x:0:0"]

    def renew(self) -> None:
        """Make accounts and sessions anew: requests log out and revoke."""
        for role in ROLES:
            for kind in ("session", "token", "link"):
                self.secrets[role, kind] = account(self.service, f"a {role}", role, kind)


def make_target(folder: Path) -> Target:
    """A campaign with splits, grading, submissions in all states, and a public store."""
    write_campaign(folder)
    more = 'audio: {pattern: "audio/{track}.flac", who: public}\n' + PLANNING
    make_campaign(folder, more=CAMPAIGN.partition("\n")[2] + more)
    from mirflow.campaign.server.service import open_service

    service = open_service([folder / "campaign.yaml"], BASE)
    service.clock = Clock(BEGIN)
    service.rates = RateLimits(dict.fromkeys(RATES, (1e12, 1e12)))
    names = ("oak", "elm", "ash", "fir")
    ids = [submit(service, name, estimates(), splits=["dev", "test"], who=name) for name in names[:3]]
    ids.append(submit(service, "fir", estimates(), splits=["dev"], who="a submitter", visibility="private"))
    with service.database.write() as session:
        rows = list(session.scalars(select(Submission).order_by(Submission.number)))
        for row, state in zip(rows, ("scored", "scored", "refused", "scoring"), strict=True):
            row.state = state
        for row in rows[:2]:
            for split in ("dev", "test"):
                fixed = {"evaluation": "chord", "rules": "1", "tracks": 6, "date": BEGIN, "headline": True}
                session.add(Released(submission_id=row.number, split=split, metric="majmin", value=0.8, **fixed))
        bad = {"severity": "error", "rule": "label", "message": "not a chord: '<b>'", "line": 3}
        session.add(SubmissionFinding(submission_id=rows[2].number, path="=x.lab", **bad))
        session.add(SubmissionProgress(submission_id=rows[3].number, stage="score", done=1, total=3, updated=BEGIN))
    store_public(service)
    begin_plan(service, "planned")
    target = Target(service, create_app(service), ids)
    target.renew()
    return target


def store_public(service: Service) -> None:
    """A public copy of the open split, and a full store of the hidden one, whose messages hold a reference."""
    import mirflow

    one = {f"dev{number}": mirflow.annotation("chord", [[0.0, 1.0]], ["C"]) for number in range(3)}
    for place, labels in (
        (service.folder_of("public") / "dev.zarr", ("oak", "elm")),
        (service.folder_of("stores") / "dev.zarr", ("oak",)),
    ):
        scores = mirflow.score(one, dict.fromkeys(labels, one), "chord", metrics=["majmin", "root"])
        mirflow.save(scores, place, "chord")
    hidden = {f"{SECRET} {number}": each for number, each in enumerate(one.values())}
    scores = mirflow.score(hidden, {"oak": hidden}, "chord", metrics=["majmin"])
    mirflow.save(scores, service.folder_of("stores") / "test.zarr", "chord")


def draw(target: Target, seed: int, number: int) -> Case:
    """Draw a request."""
    chance = random.Random(f"{seed} {number}")
    routes = [route for route in target.app.routes if isinstance(route, Route)]
    route = chance.choice(routes)

    def text() -> str:
        return chance.choice(
            (
                chance.choice(HOSTILE),
                chance.choice(WORDS),
                chance.choice(WORDS),
                "".join(chance.choices(string.printable, k=9)),
            )
        )

    def fill(match: re.Match[str]) -> str:
        good = {
            "submission": target.ids,
            "store": ["dev", "test"],
            "evaluation": ["chord"],
            "round": ["similarity", "planned"],
        }
        good |= {"system": ["oak"], "track": ["dev0"], "secret": [target.secrets["submitter", "link"]]}
        good |= {"assignment": ["1"], "page": ["1"], "key": ["zarr.json", "chord/score/c/0/0/0"]}
        if chance.random() < 0.6 and match[1] in good:
            return quote(chance.choice(good[match[1]]), safe="/")
        return quote(text().encode("utf-8", "surrogatepass"), safe=chance.choice(("", "/%")))

    path = re.sub(r"\{(\w+)(?::\w+)?\}", fill, route.path)
    if chance.random() < 0.1:
        path = "/" + "/".join(
            quote(text().encode("utf-8", "surrogatepass"), safe="%") for _ in range(chance.randrange(5))
        )
    query = b""
    if chance.random() < 0.5:
        pairs = [(chance.choice(FIELDS), text()) for _ in range(chance.randrange(1, 6))]
        query = b"?" + urlencode(pairs, errors="surrogatepass").encode()
        if chance.random() < 0.1:
            query = b"?" + bytes(chance.choices(range(33, 127), k=60))
    method = chance.choice(sorted(route.methods or ())) if chance.random() < 0.5 else chance.choice(METHODS)
    headers, session = _headers(target, chance, text)
    body = _body(target, chance, text, session) if method not in ("GET", "HEAD") or chance.random() < 0.05 else b""
    return Case(number, method, path.encode("ascii", "ignore") + query, tuple(headers), body)


def _headers(target: Target, chance: random.Random, text: Any) -> tuple[list[tuple[bytes, bytes]], str]:
    found: list[tuple[str, str]] = [("host", "localhost:8765" if chance.random() < 0.95 else text())]
    role, session = chance.choice(ROLES), ""
    way = chance.random()
    if way < 0.45:
        session = target.secrets[role, "session"]
        found.append(("cookie", f"mirflow_session={session}"))
    elif way < 0.7:
        found.append(("authorization", f"Bearer {target.secrets[role, 'token']}"))
    elif way < 0.8:
        found.append(
            chance.choice((("cookie", text()), ("authorization", text()), ("authorization", f"Bearer {text()}")))
        )
    if session and chance.random() < 0.6:
        found.append(("x-csrf-token", csrf_token(target.service, session)))
    if chance.random() < 0.5:
        found.append(("content-type", chance.choice(KINDS)))
    more = {
        "accept": ("text/html", "application/json", "text/event-stream", "*/*", "application/vnd.apache.arrow.stream"),
        "range": ("bytes=0-10", "bytes=-5", "bytes=5-", "bytes=9-1", "bytes=0-1,3-4," * 200, "bytes=" + "9" * 30 + "-"),
        "if-none-match": ("*", '"x"', 'W/"x", ' * 300),
        "if-range": ('"x"', "Wed, 21 Oct 2015 07:28:00 GMT"),
        "origin": (BASE, "null", "https://evil.example", "http://["),
        "sec-fetch-site": ("same-origin", "cross-site", "none"),
        "x-forwarded-for": ("192.0.2.1", "x" * 500),
        "last-event-id": ("scored--0-0",),
        "accept-encoding": ("gzip", "br;q=x"),
        "content-length": ("0", "-1", "9" * 50, "x"),
        "x-http-method-override": ("DELETE",),
        "expect": ("100-continue",),
    }
    for name, values in more.items():
        if chance.random() < 0.15:
            found.append((name, chance.choice(values) if chance.random() < 0.8 else text()))
    return [
        (name.encode(), re.sub(rb"[\r\n\0]", b"", value.encode("utf-8", "replace"))) for name, value in found
    ], session


def _body(target: Target, chance: random.Random, text: Any, session: str) -> bytes:
    csrf = csrf_token(target.service, session) if session else text()
    pairs = [("csrf", csrf), *((chance.choice(FIELDS), text()) for _ in range(chance.randrange(6)))]
    chance.shuffle(pairs)

    def multipart() -> bytes:
        parts = [
            f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode("utf-8", "replace")
            for name, value in pairs
        ]
        name = text().replace('"', "").replace("\r", "").replace("\n", "")
        head = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
        data = chance.choice((zipped(estimates(1)), b"PK\x03\x04", b"", chance.randbytes(300)))
        return b"".join(parts) + head.encode("utf-8", "replace") + data + b"\r\n--x--\r\n"

    makers = (
        lambda: urlencode(pairs, errors="surrogatepass").encode(),
        lambda: json.dumps(dict(pairs)).encode(),
        lambda: json.dumps({"assignment": 1, "seq": 1, "client": "x", "fine": text(), "broad": text()}).encode(),
        multipart,
        lambda: multipart()[: chance.randrange(200)],
        lambda: b"[" * 20_000,
        lambda: chance.randbytes(chance.randrange(500)),
        lambda: b"a=1&" * 30_000,
        lambda: b"x" * 70_000,
        lambda: zipped({"x" + text()[:100]: "0 1 C\n"}),
    )
    try:
        return chance.choice(makers)()
    except (UnicodeEncodeError, ValueError):
        return b""


async def ask(app: Any, case: Case, seconds: float = PATIENCE) -> Answer:
    """Send a request, whose client goes away when it has all that there is at once."""
    raw, _, query = case.target.partition(b"?")
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "http",
        "method": case.method, "raw_path": raw, "path": unquote_to_bytes(raw).decode("utf-8",
        "replace"), "root_path": "",
        "query_string": query, "headers": list(case.headers), "client": ("127.0.0.1", 4711),
        "server": ("127.0.0.1", 8765),
    }  # fmt: skip
    answer, sent = Answer(), False

    async def receive() -> Any:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": case.body, "more_body": False}
        await asyncio.sleep(0.05)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = message["status"], list(message["headers"])
        else:
            answer.body += message.get("body", b"")

    async with asyncio.timeout(seconds):
        await app(scope, receive, send)
    return answer


def wrong(target: Target, case: Case, answer: Answer) -> Iterator[str]:
    """What must not be in an answer."""
    if answer.status == 500 or answer.status < 200:
        yield f"status {answer.status}"
    names = {name.lower() for name, _ in answer.headers}
    lacking = [name for name in HEADERS if name.lower().encode() not in names]
    if lacking:
        yield f"lacks {lacking}"
    head = b"\n".join(name + b": " + value for name, value in answer.headers)
    if any(b"\r" in value or b"\n" in value for _, value in answer.headers) or b"set-cookie" in names & {b"x"}:
        yield "a header with a line break"
    for kept in target.kept:
        if kept in answer.body or kept in head:
            yield f"tells {kept!r}"
    kind = dict(answer.headers).get(b"content-type", b"")
    if kind.startswith(b"text/html") and any(b in answer.body for b in (b"<script>alert", b"<img src=x")):
        yield "markup from a request"


@dataclass
class Outcome:
    """What came of a campaign of requests."""

    findings: list[str]
    statuses: Counter[int]
    slowest: float
    megabytes: list[float]


def resident() -> float:
    """Megabytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * 4096 / 1e6


def run(target: Target, seed: int, numbers: Sequence[int]) -> Outcome:
    """Send requests one after the other."""
    outcome = Outcome([], Counter(), 0.0, [resident()])
    logged: list[str] = []
    watch = logging.Handler(logging.ERROR)
    watch.emit = lambda record: logged.append(record.getMessage()) if record.exc_info else None
    logging.getLogger("mirflow.server").addHandler(watch)

    async def send_all() -> None:
        for count, number in enumerate(numbers):
            if count % 200 == 199:
                target.renew()
                outcome.megabytes.append(resident())
            case = draw(target, seed, number)
            began = time.process_time()  # whatever else the machine does
            try:
                answer = await ask(target.app, case)
                found = list(wrong(target, case, answer))
                outcome.statuses[answer.status] += 1
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            outcome.slowest = max(outcome.slowest, time.process_time() - began)
            found += [f"logged {line}" for line in logged]
            logged.clear()
            outcome.findings += [f"{case}\n    {one}" for one in found]

    try:
        asyncio.run(send_all())
    finally:
        logging.getLogger("mirflow.server").removeHandler(watch)
    outcome.megabytes.append(resident())
    return outcome
