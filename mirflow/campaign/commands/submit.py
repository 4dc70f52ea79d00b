"""The command ``submit``, which sends estimates to a server and prints the findings and scores.

Its client finds the token of an account, packs folders, follows no redirects, and polls until the scores are there.
"""

from __future__ import annotations

import json
import math
import netrc
import re
import secrets
import ssl
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import click

from ...cli.common_options import Command, LocalPath
from ...cli.output import FAILED, FOR_PEOPLE, choose_format, echo, emit, lines_of_checks, output_options
from ...errors import MirflowError, clean_text, counted, warn_caller

if TYPE_CHECKING:
    from ...reports.tables import Entry, Table

SECONDS = 60.0  # seconds without data after which a request fails
_PIECE = 256 * 1024
_LARGEST = 50_000_000
_PAUSES = (0.5, 1.0, 2.0, 3.0)  # seconds between requests while waiting; the last value repeats
_LOST = 300.0  # seconds that a server may be unavailable while waiting for a submission
_AWAY = {"open": True, "words": "the server does not answer", "done": 0, "total": 0, "before": 0}
_LOCAL = ("localhost", "127.0.0.1", "::1")
Advance = Callable[[int, int], None]


class ServerError(MirflowError):
    """A server cannot be reached or refuses a request. `status`: HTTP status of the response; 0 without a response."""

    def __init__(self, message: str, status: int = 0) -> None:
        self.status = status
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.status)


class _NoRedirect(HTTPRedirectHandler):
    """Follow no redirects: the token is meant for the given server only."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Treat any redirect as an error."""


@dataclass
class Client:
    """Requests to a server on behalf of an account."""

    url: str  # address of the server
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerError(f"invalid server address {self.url!r}: it must begin with https:// or http://")
        if not self.token.isascii() or not self.token.isprintable() or not self.token:
            raise ServerError("invalid token: it contains characters that tokens never have")
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            warn_caller(f"{self.url}: the token is sent without encryption; use https if the server supports it")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/"
        self._opener = build_opener(_NoRedirect)

    def terms(self) -> dict[str, Any]:
        """Return the terms of the campaign: splits with remaining quotas, limits, dates."""
        return self._ask("submissions/new")

    def submit(
        self,
        path: Path,
        name: str,
        splits: Sequence[str] = (),
        visibility: str = "",
        about: Mapping[str, str] = MappingProxyType({}),
        advance: Advance = lambda sent, total: None,
    ) -> dict[str, Any]:
        """Send a folder or an archive.

        `splits` empty: all splits that are not hidden.
        `visibility` empty: the default of the campaign.
        `about`: ``description``, the addresses of ``paper`` and ``code``, and ``runtime`` in seconds.
        `advance`: called with the number of bytes sent so far and in total.
        Returns: with ``id``, ``address`` and ``state``.
        Raises `ServerError`: if the server refuses it.
        """
        fields = [("name", name), *(("split", split) for split in splits), ("visibility", visibility), *about.items()]
        boundary = secrets.token_hex(16)
        with packed(path) as (file, filename):
            safe = filename.replace("\\", "_").replace('"', "_").replace("\r", "_").replace("\n", "_")
            head = "".join(
                f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
                for key, value in fields
                if value
            )
            head += f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{safe}"\r\n'
            head += "Content-Type: application/octet-stream\r\n\r\n"
            before, after = head.encode(), f"\r\n--{boundary}--\r\n".encode()
            size = file.seek(0, 2)
            file.seek(0)

            def body() -> Iterator[bytes]:
                sent = 0
                yield before
                while piece := file.read(_PIECE):
                    yield piece
                    sent += len(piece)
                    advance(sent, size)
                yield after

            headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
            headers["Content-Length"] = str(len(before) + size + len(after))
            try:
                return self._ask("submissions/new", body(), headers)
            except ServerError as error:
                if error.status:
                    raise
                # A server closes the connection on an upload that is too large, which would hide its message.
                try:
                    most = float(self.terms()["limits"]["size"])
                except (ServerError, KeyError, TypeError, ValueError):
                    most = math.inf
                if most >= size:
                    raise
                message = f"upload too large: {size:,} bytes, at most {most:,.0f} are allowed"
                raise ServerError(f"{self.url}: {message}", 413) from None

    def submission(self, id: str) -> dict[str, Any]:
        """Return a submission: state, findings, results."""
        return self._ask(f"submissions/{id}/")

    def wait(self, id: str, seen: Callable[[Mapping[str, Any]], None] = lambda progress: None) -> dict[str, Any]:
        """Poll until a submission is done, tolerating a server that is unavailable for some minutes. `seen`: called
        with the progress after each response; only ``words`` is informative while the server is unavailable.
        """
        number, lost = 0, None
        while True:
            try:
                progress = self._ask(f"submissions/{id}/progress")
                lost = None
                seen(progress)
                if not progress["open"]:
                    return self.submission(id)
            except ServerError as error:
                if error.status not in (0, 429, 502, 503, 504):
                    raise
                lost = time.monotonic() if lost is None else lost
                if time.monotonic() - lost > _LOST:
                    raise
                seen(_AWAY)
            time.sleep(_PAUSES[min(number, len(_PAUSES) - 1)])
            number += 1

    def _ask(
        self, address: str, body: Iterator[bytes] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        usual = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", "User-Agent": "mirflow"}
        target = urljoin(self.url, address)
        request = Request(target, data=body, headers={**usual, **(headers or {})})
        try:
            with self._opener.open(request, timeout=SECONDS) as answer:
                content = json.loads(answer.read(_LARGEST))
        except HTTPError as error:
            with error:
                try:
                    reason = json.loads(error.read(100_000)).get("error", "")
                except (ValueError, AttributeError, OSError, HTTPException):
                    reason = ""
            if 300 <= error.code < 400:
                to = error.headers.get("Location", "")
                reason = f"redirects to {to!r}; use that address, since tokens are not sent on"
            reason = reason or f"answers {error.code} {error.reason}"
            raise ServerError(f"{self.url}: {reason}", error.code) from None
        except ValueError:
            raise ServerError(f"{target}: the response is not JSON; is this a mirflow server?") from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, ssl.SSLCertVerificationError):
                reason = f"its certificate is not valid: {reason.verify_message}"
            raise ServerError(f"{self.url}: cannot be reached, or the connection was lost: {reason}") from None
        if not isinstance(content, dict):
            raise ServerError(f"{target}: the response is not a JSON object; is this a mirflow server?")
        return content


@contextmanager
def packed(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """Open a file, or a folder as a temporary zip file that is removed at the end; yield it with its name.

    Raises `ServerError`: without files.
    """
    if not path.is_dir():
        with path.open("rb") as file:
            yield file, path.name
        return
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    if not files:
        raise ServerError(f"{path}: no files to send")
    with tempfile.TemporaryFile() as made:
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for member in files:
                archive.write(member, member.relative_to(path).as_posix())
        yield made, f"{path.resolve().name}.zip"


def find_token(url: str, given: str | None) -> str:
    """Return the given token, or the one for the server in ``~/.netrc``. Raises `ServerError`: if no token is found."""
    if given:
        return given.strip()
    host = urlsplit(url).hostname or ""
    try:
        entry = netrc.netrc().authenticators(host)
    except FileNotFoundError:
        entry = None
    except (netrc.NetrcParseError, OSError) as error:
        raise ServerError(f"cannot read ~/.netrc: {error}") from None
    if entry is None or not entry[2]:
        raise ServerError(
            f"no token for {host}: give --token, set MIRFLOW_TOKEN, or write into ~/.netrc: "
            f"machine {host} login token password TOKEN"
        )
    return entry[2]


_LONG, _BETWEEN = 30.0, 180.0  # seconds of waiting before the first line in a log, and between further lines
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._+-]+")


@click.command(
    "submit", cls=Command, section="campaign", place=4, short_help="Send estimates to a server and wait for the scores."
)
@click.argument("url")
@click.argument("path", type=LocalPath(exists=True), metavar="FOLDER|FILE")
@click.option("--token", envvar="MIRFLOW_TOKEN", help="Token of your account. Default: MIRFLOW_TOKEN, else ~/.netrc.")
@click.option("--name", help="Name of the system. Default: name of the folder or file.")
@click.option("--split", "splits", multiple=True, help="Split; repeatable. Default: all that are not hidden.")
@click.option(
    "--visibility",
    type=click.Choice(("private", "lab", "public")),
    help="Visible to you, your lab, or all; always to organisers. Default: set by the campaign.",
)
@click.option("--description", default="", help="Description of the system, for all who see it.")
@click.option("--paper", default="", metavar="URL", help="Address of a paper about it.")
@click.option("--code", default="", metavar="URL", help="Address of its code.")
@click.option("--runtime", default="", metavar="SECONDS", help="Seconds that it took for all tracks.")
@click.option("--wait/--no-wait", default=True, help="Wait until it is scored.")
@output_options
def submit_command(url: str, path: Path, wait: bool, style: str | None, output: Path | None, **options: Any) -> None:
    """Submit the estimates in a folder, zip or tar file to the server at URL.

    Prints the findings in the files like `mirflow check`, and the scores when available.
    """
    from ...evaluation.linter import FileCheck, FileProblem

    style = choose_format(style, output)
    client = Client(url, find_token(url, options["token"]))
    chosen = options["name"] or _NOT_IN_NAMES.sub("-", path.resolve().name.partition(".")[0]).strip("-.")
    about = {name: options[name] for name in ("description", "paper", "code", "runtime")}
    upload = partial(client.submit, path, chosen, options["splits"], options["visibility"] or "", about)
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        columns = (TextColumn("send"), BarColumn(), DownloadColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("send", total=None)
            sent = upload(lambda done, total: bar.update(task, completed=done, total=total))
    else:
        sent = upload()
    echo(f"{chosen}: {client.url.rstrip('/')}{sent['address']}", err=True)
    if not wait:
        return
    began = time.monotonic()
    due = began + _LONG
    with Console(stderr=True).status("waiting") if sys.stderr.isatty() else nullcontext() as status:

        def show(progress: Mapping[str, Any]) -> None:
            """Show the state in a line on a terminal, or in an occasional line of a log."""
            nonlocal due
            done = f", {progress['done']} of {progress['total']}" if progress["total"] else ""
            before = f", {progress['before']} before it" if progress["before"] else ""
            words, now = f"{progress['words']}{done}{before}", time.monotonic()
            if status is not None:
                status.update(words)
            elif progress["open"] and now >= due:
                due = now + _BETWEEN
                minutes, seconds = divmod(int(now - began), 60)
                echo(f"waiting for {minutes}:{seconds:02d} min: {words}", err=True)

        submission = client.wait(str(sent["id"]), show)
    checks = []
    for row in submission["findings"]:
        problem = FileProblem(row["severity"], row["rule"], clean_text(row["message"]), row["line"])
        checks.append(FileCheck(clean_text(row["path"] or str(submission["name"])), (problem,)))
    for line in lines_of_checks(checks):
        click.echo(line, err=True)
    listed, counts = len(checks), submission["counts"]
    if sum(counts.values()) > listed:
        echo(f"{sum(counts.values()) - listed} more findings in the table on the page", err=True)
    if listed:
        echo(", ".join(counted(number, severity) for severity, number in counts.items()), err=True)
    if submission.get("same_as"):
        echo(f"{chosen}: identical to the files of {clean_text(submission['same_as'])}", err=True)
    if submission["state"] != "scored":
        reason = f": {submission['reason']}" if submission.get("reason") else ""
        echo(f"{chosen}: {submission['words']}{reason}", err=True)
        click.get_current_context().exit(FAILED)
    people = style in FOR_PEOPLE
    tables = _tables(submission, people)
    emit([table for table in tables if table.rows] if people else tables[:1], style, output)


def _tables(submission: Mapping[str, Any], people: bool) -> list[Table]:
    """Tables of the scores and of the comparisons with other systems."""
    from ...reports.tables import Table

    columns: tuple[str, ...] = ("split", "evaluation", "metric", "score", "low", "high", "tracks", "note")
    rows: list[tuple[Entry, ...]] = []
    for result in submission["results"]:
        for score in result["scores"]:
            decimals = result["decimals"] if people else None
            numbers = (_shown(score[key], decimals) for key in ("value", "low", "high"))
            what = (result["split"], score["evaluation"], score["metric"], *numbers, score["tracks"])
            rows.append((*what, "no better than your best" if score["kept_back"] else ""))
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    tables = [Table(columns, tuple(rows), title=clean_text(str(submission["name"])))]
    columns, rows = ("split", "evaluation", "metric", "against", "outcome", "difference", "p"), []
    for result in submission["results"]:
        for pair in result["comparisons"]:
            against = f"{'your' if pair['relation'] == 'own' else 'the leader,'} {pair['other']}"
            what = (pair["evaluation"], pair["metric"], against, pair["outcome"])
            difference = _shown(pair["difference"], result["comparison_decimals"] if people else None)
            rows.append((result["split"], *what, difference, _shown(pair["p"])))
    return [*tables, Table(columns, tuple(rows), title="comparisons")]


def _shown(value: float | None, decimals: int | None = None) -> Entry:
    """Format a score; a rounded one with as many digits as were released."""
    from ...reports.tables import ShownValue

    if value is None or decimals is None:
        return None if value is None else float(value)
    return ShownValue(f"{float(value):z.{decimals}f}")
