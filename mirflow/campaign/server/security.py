"""Security of all routes: permissions, hosts, origins, CSRF tokens, limits of requests, and headers of responses.

The middleware finds the viewer of a request, hides the details of errors, and writes the access log.
"""

from __future__ import annotations

import errno
import hmac
import inspect
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import IPv6Address, ip_network
from typing import Any
from urllib.parse import quote, urlsplit

from prometheus_client import Counter
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..site.pages import ADDRESSES
from .accounts import Kind, Role, Viewer, find_viewer, mark_used
from .limits import SMALL, BoundedBody, lies_in, read_address
from .service import Service
from .viewer_pages import error_answer

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})  # host names of a server on the local machine
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "media-src 'self' blob:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# Default headers of every response.
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    # Not no-referrer: browsers would send forms of our own pages with the origin "null", as for other sites.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_RAW_HEADERS = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())
LATER = {"Retry-After": "10"}  # header of responses when the disk or the database is temporarily unavailable
FIELDS = 500  # most fields of a form

# Convertors of placeholders in addresses.
_CONVERTORS: Mapping[str, str] = {
    **dict.fromkeys(("store", "evaluation", "system", "track", "split", "other"), "name"),
    **dict.fromkeys(("page", "assignment"), "int"),
}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_LOG = logging.getLogger("mirflow.server")
_ACCESS = logging.getLogger("mirflow.access")
_USED_SECONDS = 3600.0
_USED_WAIT = 0.2  # seconds that a request waits to record when its token was used
_USED_KEPT = 10_000
Endpoint = Callable[[Request], Awaitable[ASGIApp] | ASGIApp]


_LARGEST = 2**63 - 1  # largest number that databases hold


class GuardedRoute(Route):
    """A route with the required role and limits on its requests.

    `page`: name of a page among :data:`.pages.ADDRESSES`, or the path of an address that no page links.
    `endpoint`: takes a request and returns a response; plain functions run in a thread. The fields of a small form are
      in ``request.state.form``, and its bytes or those of another small body in ``request.state.body``.
    `role`: required role; None: public.
    `form`: whether the CSRF token may be a field of a small form. If not, the endpoint reads the body and passes the
      token in it to `check_forgery` before anything else.
    `body`: limit of the body in bytes.
    `rate`: name of the rate limit per account or address. Default: "change" for methods that change something.
    """

    def __init__(
        self,
        page: str,
        endpoint: Endpoint,
        *,
        role: Role | None,
        methods: Sequence[str] = ("GET",),
        form: bool = True,
        body: int = SMALL,
        rate: str | None = None,
    ) -> None:
        path = _PLACEHOLDER.sub(
            lambda match: f"{{{match[1]}:{_CONVERTORS[match[1]]}}}" if match[1] in _CONVERTORS else match[0],
            ADDRESSES.get(page, page),
        )
        super().__init__(path, self._guarded, methods=list(methods), name=getattr(endpoint, "__name__", path))
        self.role, self.form, self.body, self.rate = role, form, body, rate
        self.guards = endpoint
        self._is_async = inspect.iscoroutinefunction(endpoint)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose body is limited."""
        await super().handle(scope, BoundedBody(scope, receive, self.body), send)

    async def _guarded(self, request: Request) -> ASGIApp:
        viewer: Viewer | None = request.state.viewer
        if viewer is None and request.state.bearer:
            request.app.state.service.rates.take("login", who_asks(request))
        if self.role is not None and (viewer is None or not viewer.may(self.role)):
            if viewer is not None:
                raise HTTPException(403, "Your account may not do this.")
            text = "Open the personal link that the organisers sent you, and ask them if you have lost it."
            text = "This token is unknown, expired or revoked." if request.state.bearer else text
            raise HTTPException(401, text, {"WWW-Authenticate": "Bearer"})
        changes = request.method not in SAFE
        rate = self.rate or ("change" if changes else None)
        if rate is not None:
            request.app.state.service.rates.take(rate, who_asks(request))
        request.state.form = {}
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if changes and self.form and kind == "application/x-www-form-urlencoded":
            await request.body()  # cached by the request
            request.state.form = await request.form(max_fields=FIELDS)
        if changes and viewer is not None and not request.state.bearer and self.form:
            check_forgery(request, str(request.state.form.get("csrf", "")))
        if changes and self.form:
            request.state.body = await request.body()  # other bodies are not read before the token is checked
        if any(isinstance(value, int) and value > _LARGEST for value in request.path_params.values()):
            raise HTTPException(404)
        answer = self.guards(request) if self._is_async else await run_in_threadpool(self.guards, request)
        return await answer if isinstance(answer, Awaitable) else answer


def who_asks(request: Request) -> str:
    """Return the account, or else the address, whose rate limit a request uses.

    Of an address of IPv6, it is the /64 network, which one customer owns.
    """
    viewer: Viewer | None = request.state.viewer
    if viewer is not None:
        return f"user {viewer.user}"
    address = read_address(request.state.address)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return request.state.address if address is None else str(address)


def check_forgery(request: Request, given: str = "") -> None:
    """Refuse a browser's request without the CSRF token of its session, taken from a header or from `given`."""
    if request.state.bearer:
        return
    given = request.headers.get("x-csrf-token", "") or given
    if not request.state.csrf or not hmac.compare_digest(given.encode(), request.state.csrf.encode()):
        raise HTTPException(403, "The page has expired, or the request came from another site. Reload the page.")


def csrf_token(service: Service, session: str) -> str:
    """Return the CSRF token of a session."""
    return hmac.new(service.secret, b"csrf " + session.encode(), sha256).hexdigest()


def cookie_name(service: Service) -> str:
    """Return the name of the session cookie; its prefix makes browsers accept it over https only.

    The prefix ``__Host-`` also prevents other hosts from setting it, but is not available for a cookie with a path.
    """
    if not service.secure:
        return "mirflow_session"
    return "__Secure-mirflow" if service.prefix else "__Host-mirflow"


@dataclass(eq=False)
class Security:
    """Middleware around all routes: checks hosts, origins and sessions; adds headers; hides details of errors."""

    app: ASGIApp
    service: Service
    requests: Counter  # of requests by class of status
    _used: OrderedDict[int, float] = field(default_factory=OrderedDict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state.update(viewer=None, csrf="", bearer=False, form={}, address=self._address(scope))
        answer = _GuardedAnswer(state, send)
        began = time.monotonic()
        received = Headers(scope=scope)
        host, origin, refused = received.get("host", "").lower(), received.get("origin"), None
        if self.service.secure and host == _netloc(self.service.base_url):
            scope["scheme"] = "https"  # for redirects; the proxy terminates TLS
        if not self._is_ours(host) or len(received.getlist("host")) > 1:
            text = "Unknown host: set the address of this server by the option --base-url of mirflow serve.\n"
            refused = PlainTextResponse(text, 421)
        elif scope["method"] not in SAFE:
            foreign = origin is not None and not self._is_ours(_netloc(origin))
            if foreign or received.get("sec-fetch-site", "none") not in ("same-origin", "none"):
                refused = PlainTextResponse("Cross-site request refused.\n", 403)
        try:
            if refused is not None:
                await refused(scope, receive, answer)
            else:
                await self._find_viewer(scope)
                await self.app(scope, receive, answer)
        except Exception as error:
            response = _answer_trouble(scope, error)
            if answer.status is not None:
                raise
            await response(scope, receive, answer)
        finally:
            self.requests.labels("none" if answer.status is None else f"{answer.status // 100}xx").inc()
            if _ACCESS.isEnabledFor(logging.INFO):
                viewer, spent = state["viewer"], 1000 * (time.monotonic() - began)
                who = f"user {viewer.user}" if viewer else "-"
                shown = (state["address"], who, scope["method"], shown_path(scope), answer.status, spent)
                _ACCESS.info("%s %s %s %s %s %.0f ms", *shown)

    def _is_ours(self, host: str) -> bool:
        """True for a host name of this server, as opposed to a foreign name that resolves to its address."""
        if not host:
            return False
        if host == _netloc(self.service.base_url):
            return True
        try:
            return urlsplit(f"//{host}").hostname in LOCAL
        except ValueError:
            return False

    def _address(self, scope: Scope) -> str:
        address = str(scope["client"][0]) if scope.get("client") else "unknown"
        if not lies_in(address, self.service.proxies):
            return address
        forwarded = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
        for named in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
            if read_address(named) is None:
                return address
            address = named
            if not lies_in(named, self.service.proxies):
                break
        return address

    async def _find_viewer(self, scope: Scope) -> None:
        if self.service.database is None:
            return
        state, headers = scope["state"], Headers(scope=scope)
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        peer, header = str(scope["client"][0]) if scope.get("client") else "", self.service.user_header
        # The header is ignored if it comes from anyone but a proxy.
        named = headers.get(header, "") if header and lies_in(peer, self.service.proxies) else ""
        kind: Kind = "session"
        if scheme.lower() == "bearer":
            kind, secret, state["bearer"] = "token", secret.strip(), True
        elif named:
            kind, secret, state["csrf"] = "proxy", named, csrf_token(self.service, f"proxy {named}")
        elif secret := Request(scope).cookies.get(cookie_name(self.service), ""):
            state["csrf"] = csrf_token(self.service, secret)
        else:
            return
        state["viewer"] = await run_in_threadpool(self._viewer, secret, kind)

    def _viewer(self, secret: str, kind: Kind) -> Viewer | None:
        now = self.service.clock()
        _, database = self.service.demand_campaign()
        with database.read() as session:
            viewer = find_viewer(session, secret, kind, now)
        if viewer is not None and viewer.token:
            last = self._used.get(viewer.token)
            if last is None or now.timestamp() - last > _USED_SECONDS:
                self._used[viewer.token] = now.timestamp()
                if len(self._used) > _USED_KEPT:
                    self._used.popitem(last=False)
                try:
                    with database.write(_USED_WAIT) as session:
                        mark_used(session, viewer, now)
                except DBAPIError as error:  # no reason to refuse the page
                    _LOG.warning("cannot record when a token was used: %s", error.orig)
        return viewer


def _answer_trouble(scope: Scope, error: Exception) -> Response:
    """Log an error, and make the response to its request, which may be to come again."""
    reason = ""  # in a line, if the disk is full, or the database busy, full or unreachable
    if isinstance(error, OperationalError | InterfaceError):
        reason = " ".join(f"the database cannot be used now: {error.orig}".split())
    elif isinstance(error, PoolTimeoutError):
        reason = "the database cannot be used now: all connections are in use"
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = f"the disk is full: {error.filename or error.strerror}"
    if reason:
        _LOG.error("%s %s: %s", scope["method"], shown_path(scope), reason)
        status, text = 503, "The server cannot read or save data at the moment. Try again in a minute."
        # A response that asks to retry does not wait for the rest of the body.
        headers = {**LATER, **({} if scope["method"] in SAFE else {"Connection": "close"})}
    else:
        _LOG.exception("%s %s failed", scope["method"], shown_path(scope))
        status, text, headers = 500, "Internal error; see the server's log.", {}
    try:
        return error_answer(Request(scope), status, text, headers)
    except Exception:  # the templates themselves may be at fault
        _LOG.exception("the page of an error failed")
        return PlainTextResponse(f"{text}\n", status, headers)


@dataclass(eq=False)
class _GuardedAnswer:
    """Sends a response with the default headers."""

    state: dict[str, Any]
    send: Send
    status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            named = {name.lower() for name, _ in headers}
            headers += [raw_header for raw_header in _RAW_HEADERS if raw_header[0] not in named]
            if self.state["viewer"] is not None and b"cache-control" not in named:
                headers.append((b"cache-control", b"private, no-store"))
            message = {**message, "headers": headers}
        await self.send(message)


def _netloc(address: str) -> str:
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return ""


def shown_path(scope: Scope) -> str:
    """Return the path of a request for logs: encoded, without query, and without the secret of a personal link.

    Examples
    --------
    >>> shown_path({"path": "/login/7Kx", "raw_path": b"/login/7Kx"}), shown_path({"path": "/a b", "raw_path": None})
    ('/login/...', '/a%20b')
    >>> shown_path({"path": "/mirflow/login/7Kx", "raw_path": b"/mirflow/login/7Kx"})
    '/mirflow/login/...'
    """
    raw = scope.get("raw_path")
    path = quote(raw.decode("latin-1") if raw else scope["path"], safe="/%")
    before, login, _ = scope["path"].lower().partition("login")
    return f"{quote(before[:100])}login/..." if login and before.endswith("/") else path[:300]
