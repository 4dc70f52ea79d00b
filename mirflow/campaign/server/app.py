"""The application: all routes behind the same middleware; how it is served; health and metrics of the server.

Middleware decodes names in paths and strips the path prefix of a proxy. The page about a campaign, in limited Markdown,
is here, too.
"""

from __future__ import annotations

import datetime as dt
import errno
import ipaddress
import logging
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from python_multipart.exceptions import FormParserError
from sqlalchemy import case, func, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ...errors import MetricError, MirflowError, QueryError, UnknownNameError
from ...reports.origins import root_of_each
from . import account_pages, http_api, result_pages, submission_pages
from .account_pages import forget_addresses_daily
from .accounts import AccountError
from .cache import Front
from .graders import grader_pages
from .graders.rounds import Rounds, open_rounds
from .limits import Network
from .security import LATER, GuardedRoute, Security, shown_path
from .service import HOST, PORT, Service, noting_address, open_service
from .submissions.entries import SubmissionError
from .submissions.jobs import last_report
from .submissions.notifications import sending
from .submissions.submission_tables import OPEN, Notification, Submission, Trouble, WorkerReport
from .viewer_pages import PRIVATE, asset, error_answer, page, served, wants_json
from .views import Views

__all__ = ["create_app", "listen", "local_address", "make_server", "serve"]

# Errors whose messages are shown to the client; others may name files and go to the server's log.
_SHOWN = (AccountError, MetricError, QueryError, SubmissionError, UnknownNameError)
_LOG = logging.getLogger("mirflow.server")
_WORDS = {404: "Page not found.", 405: "This page does not support the method."}
_SECTIONS = ("description", "data", "baseline", "terms", "licence", "contact")
_LINKS = ("https://", "http://", "mailto:")


class NameConvertor(Convertor[str]):
    """Convertor for names of stores, systems and tracks in routes: ``/stores/{store:name}``."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Decode a path segment."""
        return unquote(value)


register_url_convertor("name", NameConvertor())


@dataclass(eq=False)
class NamesInPaths:
    """Middleware that distinguishes slashes within names from those between segments.

    Servers decode ``%2F`` in a path before routing, which would split a track ``pop/x`` into two segments.
    Here the path is decoded segment by segment; within a segment, ``/`` and ``%`` stay encoded:
    ``/tracks/pop%2Fx%20y/`` becomes ``/tracks/pop%2Fx y/``.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its path decoded."""
        raw = scope.get("raw_path")
        if scope["type"] == "http" and raw is not None and b"%" in raw:
            segments = [unquote_to_bytes(segment).decode("utf-8", "replace") for segment in raw.split(b"/")]
            path = "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)
            scope = {**scope, "path": path}
        await self.app(scope, receive, send)


@dataclass(eq=False)
class BelowRoot:
    """Middleware that strips the path prefix added by a proxy or a mounting application."""

    app: ASGIApp
    service: Service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; redirect the prefix without its final slash."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        prefix = self.service.prefix
        for root in dict.fromkeys((scope.get("root_path", "").rstrip("/"), prefix)):
            if not root or not scope["path"].startswith(root):
                continue
            rest, raw = scope["path"][len(root) :], scope.get("raw_path")
            if not rest and scope["method"] in ("GET", "HEAD"):
                await RedirectResponse(f"{prefix}/", 308)(scope, receive, send)
                return
            if rest.startswith("/"):
                # The prefix consists of unreserved characters only, so it is never encoded.
                encoded = raw is not None and raw.startswith(f"{root}/".encode())
                raw = raw[len(root) :] if raw is not None and encoded else quote(rest).encode()
                scope = {**scope, "path": rest, "raw_path": raw}
        await self.app({**scope, "root_path": ""}, receive, send)


def create_app(service: Service) -> Starlette:
    """Make the application for a service."""
    monitoring, campaign = Monitoring(service), service.campaign
    metrics = GuardedRoute(
        "/metrics",
        lambda _: Response(generate_latest(monitoring.registry), headers=PRIVATE, media_type=CONTENT_TYPE_LATEST),
        role="reader",
        rate="query",
    )
    graded = campaign is not None and service.database is not None and (campaign.grading or campaign.planning)
    rounds = Rounds(service, open_rounds(service)) if graded else None
    views = Views(service, rounds)
    app = Starlette(
        routes=[
            GuardedRoute("/health", partial(_health, monitoring), role=None),
            *([] if service.database is None else [metrics]),
            GuardedRoute("asset", asset, role=None),
            *([GuardedRoute("about", about, role=None)] if service.has_about else []),
            *account_pages.routes(service),
            *http_api.routes(service, views),
            *result_pages.routes(service, views),
            *grader_pages.routes(service, rounds),
            *submission_pages.routes(service, views),
        ],
        middleware=[
            Middleware(NamesInPaths),
            Middleware(Security, service=service, requests=monitoring.requests),
            Middleware(BelowRoot, service=service),
            Middleware(Front, answers=service.answers),
        ],
        exception_handlers={
            HTTPException: _refuse,
            MirflowError: _refuse,
            FormParserError: lambda request, error: error_answer(request, 400, "Cannot read the form."),
            ClientDisconnect: lambda request, error: Response(status_code=400, headers={"Connection": "close"}),
        },
    )
    app.state.service = service
    app.state.monitoring = monitoring
    return app


def about(request: Request) -> Response:
    """Show the texts about the campaign."""
    _, campaign, _, _ = served(request)
    texts = campaign.about.model_dump()
    if wants_json(request):
        return JSONResponse({"campaign": campaign.campaign, **texts}, headers=PRIVATE)
    titles = {name: name.capitalize() if name != "description" else "" for name in _SECTIONS}
    sections = [(title, html_of(texts[name])) for name, title in titles.items() if texts[name]]
    return page(request, "about.html", here="about", sections=sections)


def html_of(text: str) -> str:
    """Render a small subset of Markdown (paragraphs, lists, links, code, emphasis) and escape everything else."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("zero", {"html": False})
    markdown.enable(["list", "link", "autolink", "backticks", "emphasis", "newline", "escape", "entity"])
    markdown.validateLink = lambda url: url.lower().startswith(_LINKS)  # type: ignore[method-assign]
    return str(markdown.render(text))


def _health(monitoring: Monitoring, request: Request) -> Response:
    fine, parts = monitoring.health()
    return JSONResponse(parts, 200 if fine else 503, {"Cache-Control": "no-store", **({} if fine else LATER)})


def _refuse(request: Request, error: Exception) -> Response:
    """Answer with a message meant for the client, or a generic text if the message may reveal files."""
    if isinstance(error, HTTPException):
        return error_answer(request, error.status_code, _WORDS.get(error.status_code, error.detail), error.headers)
    if isinstance(error, _SHOWN):
        return error_answer(request, 400, str(error))
    _LOG.error("%s %s: %s", request.method, shown_path(request.scope), error)
    return error_answer(request, 503, "The server cannot answer this request now; see its log.", LATER)


@contextmanager
def listen(host: str = HOST, port: int = PORT) -> Iterator[list[socket.socket]]:
    """Listen on a port at all addresses of a host name; the sockets are closed at the end. `port` 0: any free port."""
    with ExitStack() as stack:
        listening: list[socket.socket] = []
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            addresses.sort(key=lambda row: row[0] != socket.AF_INET)
            for family, _, _, _, address in dict.fromkeys(addresses):
                try:
                    opened = socket.create_server((address[0], port), family=family)
                except OSError as error:
                    # A name may have an IPv6 address although the machine does not support IPv6.
                    if not listening or error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                        raise
                    continue
                listening.append(stack.enter_context(opened))
                port = opened.getsockname()[1]
        except OSError as error:
            why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
            raise MirflowError(f"cannot listen on {host}:{port}: {why}; see --host and --port") from None
        yield listening


def local_address(host: str, port: int) -> str:
    """Return the address of a server without a proxy.

    Examples
    --------
    >>> local_address("::1", 8765)
    'http://[::1]:8765/'
    """
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(
    paths: Sequence[str | Path],
    host: str = HOST,
    port: int = PORT,
    base_url: str = "",
    *,
    listening: Sequence[socket.socket] | None = None,
    proxies: Sequence[str] = (),
    user_header: str = "",
    without_references: bool = False,
    only_aggregates: bool = False,
    archive: Path | None = None,
    access_log: bool = False,
    cors: bool = False,
    roots: Sequence[Path] = (),
) -> None:
    """Serve stores or a campaign until the process is stopped.

    `paths`: stores, or a single campaign file.
    `base_url`: public address of the server, if it is behind a proxy.
    `proxies`: addresses or networks of proxies that are trusted to report the client's address.
    `user_header`: header in which these proxies name the authenticated user.
    `without_references`, `only_aggregates`: restrictions for all stores, in addition to those of the campaign.
    `access_log`: whether to write a line for every request to standard error.
    `cors`: whether scripts on other sites may read public data, even if the campaign does not allow it.
    `roots`: folders with the annotations of the stores: one for all stores, or one for each.
    """
    service = open_service(paths, base_url)
    each = zip(service.stores, root_of_each(roots, len(service.stores)), strict=True)
    service.roots = {name: Path(root) for name, root in each if root is not None}
    service.base_url = service.base_url or local_address(host, port)
    service.proxies, service.user_header = networks(proxies), user_header
    service.without_references, service.only_aggregates = without_references, only_aggregates
    service.archive, service.cors = archive or service.archive, cors or service.cors
    if service.archive is not None:
        service.read_years()  # report its errors at the start
    # Messages of these logs contain no secrets.
    shown = logging.StreamHandler()
    shown.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # it logs every malformed form
    for name, level in (("mirflow.server", logging.WARNING), ("mirflow.access", logging.INFO)):
        log = logging.getLogger(name)
        log.propagate = False
        if name == "mirflow.server" or access_log:
            log.setLevel(level)
            log.addHandler(shown)
    threading.Thread(target=forget_addresses_daily, args=(service,), name="addresses", daemon=True).start()
    server = make_server(create_app(service), host, port)
    with noting_address(service), sending(service):
        server.run(sockets=None if listening is None else list(listening))


CONNECTIONS = 1000  # most connections at a time; requests of further ones are answered by 503
# Longest incomplete request line with headers, in bytes; one that arrives at once may be as long as a read.
HEAD_BYTES = 32 * 1024


def make_server(app: Starlette, host: str = HOST, port: int = PORT) -> uvicorn.Server:
    """Make a server with the settings that are relevant to security; streams ask it whether it is about to end."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        # Its parser bounds heads, which that of httptools does not.
        http="h11",
        h11_max_incomplete_event_size=HEAD_BYTES,
        limit_concurrency=CONNECTIONS,
        access_log=False,  # it would log personal links
        server_header=False,
        log_level="warning",
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=5,
        lifespan="off",
        ws="none",
    )
    server = app.state.server = uvicorn.Server(config)
    return server


def networks(texts: Sequence[str]) -> list[Network]:
    """Parse addresses and networks of proxies."""
    parsed: list[Network] = []
    for text in texts:
        try:
            parsed.append(ipaddress.ip_network(text))
        except ValueError as error:
            raise MirflowError(f"invalid address or network {text!r}: {error}") from None
    return parsed


SILENT = dt.timedelta(minutes=5)  # time without a report after which a worker counts as stopped
CHECKED = 5.0  # seconds for which the result of a health check is reused
_WAIT = 1.0


class Monitoring(Collector):
    """Health of a server, counts of its requests, and figures of its queue, worker and disk."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._began = service.clock()
        self._lock = threading.Lock()
        self._health: tuple[float, tuple[bool, dict[str, Any]]] | None = None
        self.registry = CollectorRegistry()
        self.requests = Counter("mirflow_requests", "Requests by class of status.", ["status"], registry=self.registry)
        self.registry.register(self)

    def idle(self) -> str:
        """Return a notice for submitters and organisers if no worker has reported for some time; else empty."""
        campaign, database = self._service.campaign, self._service.database
        if campaign is None or database is None or not campaign.evaluations:
            return ""
        last = last_report(database)
        # A worker that starts with the server gets as much time as a silent one.
        silent = self._service.clock() - max(self._began, last or self._began)
        if silent < SILENT:
            return ""
        minutes = int(silent.total_seconds() // 60)
        return (
            f"No worker has reported for {minutes} min: submissions are queued until an organiser starts one "
            "(mirflow serve worker)."
        )

    def health(self) -> tuple[bool, dict[str, Any]]:
        """Return whether all parts of the server work, and the state of each; checked every few seconds at most."""
        with self._lock:
            began, last = time.monotonic(), self._health
            if last is not None and began - last[0] <= CHECKED:
                return last[1]
            service, now, parts = self._service, self._service.clock(), dict[str, dict[str, Any]]()
            campaign, database = service.campaign, service.database
            if database is not None:
                try:
                    with database.write(_WAIT) as session:
                        session.connection()  # begins the transaction
                    parts["database"] = {"ok": True}
                except (SQLAlchemyError, OSError):
                    parts["database"] = {"ok": False}
            if campaign is not None and service.folder is not None:
                try:
                    free = shutil.disk_usage(service.folder).free
                    # Room to unpack one submission.
                    parts["disk"] = {"ok": free > 10 * campaign.limits.size, "free_bytes": free}
                except OSError:
                    parts["disk"] = {"ok": False}
            if campaign is not None and campaign.evaluations and database is not None:
                try:
                    claimed = select(Submission.number).where(Submission.state == "scoring", Submission.lease > now)
                    with database.read() as session:
                        times = [session.scalar(select(func.max(WorkerReport.seen)))]
                        scoring = session.scalar(claimed.limit(1)) is not None
                        times.append(session.scalar(select(func.min(Trouble.since))))
                    ages = [None if time is None else max(0.0, (now - time).total_seconds()) for time in times]
                    worker = {"ok": not self.idle(), "seconds_since_report": ages[0]}
                    parts["worker"] = {**worker, "scoring": scoring, "seconds_in_trouble": ages[1]}
                except (SQLAlchemyError, OSError):
                    parts["worker"] = {"ok": False}
            fine = all(part["ok"] for part in parts.values())
            self._health = began, (fine, {"ok": fine, **parts})
            return self._health[1]

    def collect(self) -> Iterator[Metric]:
        """Yield metrics of queue, worker and disk."""
        service, gauge = self._service, GaugeMetricFamily
        if service.folder is not None:
            free = shutil.disk_usage(service.folder).free
            yield gauge("mirflow_disk_free_bytes", "Free space on the disk of the campaign.", free)
        if service.database is None:
            return
        now = service.clock()
        count = gauge("mirflow_submissions", "Unfinished submissions.", labels=["state"])
        oldest = gauge("mirflow_submission_age_seconds", "Age of the oldest unfinished submission.", labels=["state"])
        with service.database.read() as session:
            is_open = Submission.state.in_(OPEN), Submission.withdrawn.is_(None)
            waiting = select(Submission.state, func.count(), func.min(Submission.received)).where(*is_open)
            rows = session.execute(waiting.group_by(Submission.state))
            queued = {state: (number, first) for state, number, first in rows}
            kind = case(
                (Notification.sent.is_not(None), "sent"),
                (Notification.lost.is_not(None), "lost"),
                (Notification.error != "", "failing"),
                else_="waiting",
            ).label("state")
            by = Notification.channel, kind
            messages = session.execute(select(*by, func.count()).group_by(*by)).all()
        for state in OPEN:
            number, first = queued.get(state, (0, now))
            count.add_metric([state], number)
            oldest.add_metric([state], (now - first).total_seconds())
        yield count
        yield oldest
        notifications = gauge("mirflow_notifications", "Notifications of the last days.", labels=["channel", "state"])
        for channel, name, number in messages:
            notifications.add_metric([channel, name], number)
        yield notifications
        last = last_report(service.database)
        if last is not None:
            age = (now - last).total_seconds()
            yield gauge("mirflow_worker_report_age_seconds", "Time since the last report of a worker.", age)
