"""Safety of all routes: who may call them, from where, and what every answer says to browsers."""

from __future__ import annotations

import errno
import hmac
import inspect
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlsplit

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .accounts import Kind, Role, Viewer, find_named, find_viewer, mark_used
from .limits import SMALL, BoundedBody, bucket_of, lies_in, read_address
from .service import Service
from .viewer_pages import error_answer

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names by which a server on one's own machine is called."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "media-src 'self' blob:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    # Not no-referrer: browsers would send forms of our own pages with the origin "null", like those of other sites.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""Of every answer that does not say otherwise."""
_RAW_HEADERS = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())
LATER = {"Retry-After": "10"}
"""Header of answers that the disk or the database cannot give now."""
FIELDS = 500
"""Fields of a form at most."""

_LOG = logging.getLogger("mirflow.server")
_ACCESS = logging.getLogger("mirflow.access")
_USED_SECONDS = 3600.0
_USED_WAIT = 0.2
"""Seconds that a reader waits for the note of when a token was used."""
_USED_KEPT = 10_000
Endpoint = Callable[[Request], Awaitable[Response] | Response]


class GuardedRoute(Route):
    """A route that says who may call it, and how much may be sent to it.

    Parameters
    ----------
    endpoint : callable
        Takes a request, gives a response; a plain function runs in a thread. Fields of a small form are in
        ``request.state.form``.
    role : str or None
        Whose rights are needed; None: anybody may call it.
    form : bool
        Whether the token against forged requests may come as a field of a small form. If not, the endpoint reads the
        body, and gives the token in it to `check_forgery` before anything else.
    body : int or callable
        Bytes of a body at most; a function takes the service.
    rate : str or None
        Name of the rate that limits an account or an address. By default "change" where something is changed.
    """

    def __init__(
        self,
        path: str,
        endpoint: Endpoint,
        *,
        role: Role | None,
        methods: Sequence[str] = ("GET",),
        form: bool = True,
        body: int | Callable[[Service], int] = SMALL,
        rate: str | None = None,
    ) -> None:
        super().__init__(path, self._guarded, methods=list(methods), name=getattr(endpoint, "__name__", path))
        self.role, self.form, self.body, self.rate = role, form, body, rate
        self.guards = endpoint
        self._is_async = inspect.iscoroutinefunction(endpoint)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose body is bounded."""
        most = self.body if isinstance(self.body, int) else self.body(scope["app"].state.service)
        await super().handle(scope, BoundedBody(scope, receive, most), send)

    async def _guarded(self, request: Request) -> Response:
        viewer: Viewer | None = request.state.viewer
        if viewer is None and request.state.bearer:
            request.app.state.service.rates.take("login", who_asks(request))
        if self.role is not None and (viewer is None or not viewer.may(self.role)):
            raise HTTPException(403, "Your account may not do this.") if viewer else _unknown(request)
        changes = request.method not in SAFE
        rate = self.rate or ("change" if changes else None)
        if rate is not None:
            request.app.state.service.rates.take(rate, who_asks(request))
        request.state.form = await _small_form(request) if changes and self.form else {}
        if changes and viewer is not None and not request.state.bearer and self.form:
            check_forgery(request, str(request.state.form.get("csrf", "")))
        found = self.guards(request) if self._is_async else await run_in_threadpool(self.guards, request)
        return await found if isinstance(found, Awaitable) else found


def _unknown(request: Request) -> HTTPException:
    text = "This token is unknown, expired or revoked." if request.state.bearer else "Open your personal link first."
    return HTTPException(401, text, {"WWW-Authenticate": "Bearer"})


def who_asks(request: Request) -> str:
    """The account, or else the address, whose rates a request uses."""
    viewer: Viewer | None = request.state.viewer
    return f"user {viewer.user}" if viewer else bucket_of(request.state.address)


async def _small_form(request: Request) -> Mapping[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return {}
    await request.body()  # which endpoints may read again, as the form does
    return await request.form(max_fields=FIELDS)


def check_forgery(request: Request, given: str = "") -> None:
    """Refuse a request of a browser that does not carry the token of its session, in a header or as given."""
    if request.state.bearer:
        return
    given = request.headers.get("x-csrf-token", "") or given
    if not request.state.csrf or not hmac.compare_digest(given.encode(), request.state.csrf.encode()):
        raise HTTPException(403, "The page is too old, or another site asked for this. Load the page again.")


def csrf_token(service: Service, session: str) -> str:
    """The token that forms of a session carry."""
    return hmac.new(service.secret, b"csrf " + session.encode(), sha256).hexdigest()


def cookie_name(service: Service) -> str:
    """Name of the session's cookie, whose prefix makes browsers take it by https alone.

    That of the whole host lets no other host set it; a cookie of a path cannot have it.
    """
    if not service.secure:
        return "mirflow_session"
    return "__Secure-mirflow" if service.prefix else "__Host-mirflow"


def cookie_path(service: Service) -> str:
    """Path of the session's cookie: other programs on the same host, below other paths, do not get it."""
    return f"{service.prefix}/"


class Security:
    """Middleware around all routes: hosts, origins, sessions, headers, and errors without details.

    Parameters
    ----------
    count : callable
        Takes the status of each answer; None where there was none.
    """

    def __init__(self, app: ASGIApp, service: Service, count: Callable[[int | None], object]) -> None:
        self.app = app
        self._count = count
        self.service = service
        self._used: OrderedDict[int, float] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state.update(viewer=None, csrf="", bearer=False, form={}, address=self._address(scope))
        answer = _GuardedAnswer(state, send)
        began = time.monotonic()
        headers = Headers(scope=scope)
        if self.service.secure and headers.get("host", "").lower() == _netloc(self.service.base_url):
            scope["scheme"] = "https"  # which redirections lead to; the proxy before the server ended it
        refused = self._refuse(headers, scope["method"])
        try:
            if refused is not None:
                await refused(scope, receive, answer)
            else:
                await self._find_viewer(scope)
                await self.app(scope, receive, answer)
        except Exception as error:
            reason = _passing_trouble(error)
            if reason:
                _LOG.error("%s %s: %s", scope["method"], shown_path(scope), reason)
            else:
                _LOG.exception("%s %s failed", scope["method"], shown_path(scope))
            if answer.status is not None:
                raise
            await (_unavailable(scope) if reason else _crashed(scope))(scope, receive, answer)
        finally:
            self._count(answer.status)
            if _ACCESS.isEnabledFor(logging.INFO):
                viewer, spent = state["viewer"], 1000 * (time.monotonic() - began)
                who = f"user {viewer.user}" if viewer else "-"
                shown = (state["address"], who, scope["method"], shown_path(scope), answer.status, spent)
                _ACCESS.info("%s %s %s %s %s %.0f ms", *shown)

    def _refuse(self, headers: Headers, method: str) -> Response | None:
        """Refuse requests for other hosts, and changes that pages of other sites ask for."""
        host = headers.get("host", "").lower()
        if not self._is_ours(host) or len(headers.getlist("host")) > 1:
            text = "This server has another address; the option --base-url of mirflow serve names it.\n"
            return PlainTextResponse(text, 421)
        if method in SAFE:
            return None
        origin = headers.get("origin")
        foreign = origin is not None and not self._is_ours(_netloc(origin))
        if foreign or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return PlainTextResponse("Another site asked for this.\n", 403)
        return None

    def _is_ours(self, host: str) -> bool:
        """True if a host is this server's, and no name that somebody else has led to its address."""
        if not host:
            return False
        if host == _netloc(self.service.base_url):
            return True
        try:
            return urlsplit(f"//{host}").hostname in LOCAL
        except ValueError:
            return False

    def _address(self, scope: Scope) -> str:
        """The client's address, as the proxy before the server says if there is one."""
        address = str(scope["client"][0]) if scope.get("client") else "unknown"
        if not self._is_proxy(address):
            return address
        forwarded = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
        for one in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
            if read_address(one) is None:
                return address
            address = one
            if not self._is_proxy(one):
                break
        return address

    def _is_proxy(self, address: str) -> bool:
        return lies_in(address, self.service.proxies)

    async def _find_viewer(self, scope: Scope) -> None:
        if self.service.database is None:
            return
        state, headers = scope["state"], Headers(scope=scope)
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        named = self._named_by_proxy(scope, headers)
        if scheme.lower() == "bearer":
            state["bearer"] = True
            state["viewer"] = await run_in_threadpool(self._viewer, secret.strip(), "token")
        elif named:
            state["viewer"] = await run_in_threadpool(self._viewer, named, "proxy")
            state["csrf"] = csrf_token(self.service, f"proxy {named}")
        elif secret := Request(scope).cookies.get(cookie_name(self.service), ""):
            state["viewer"] = await run_in_threadpool(self._viewer, secret, "session")
            state["csrf"] = csrf_token(self.service, secret)

    def _named_by_proxy(self, scope: Scope, headers: Headers) -> str:
        """The account that a proxy has let in; what anybody else writes into the header is not read."""
        peer = str(scope["client"][0]) if scope.get("client") else ""
        header = self.service.user_header
        return headers.get(header, "") if header and self._is_proxy(peer) else ""

    def _viewer(self, secret: str, kind: Kind) -> Viewer | None:
        assert self.service.database is not None
        now = self.service.clock()
        with self.service.database.read() as session:
            viewer = find_named(session, secret) if kind == "proxy" else find_viewer(session, secret, kind, now)
        if viewer is not None and viewer.token:
            last = self._used.get(viewer.token)
            if last is None or now.timestamp() - last > _USED_SECONDS:
                self._used[viewer.token] = now.timestamp()
                if len(self._used) > _USED_KEPT:
                    self._used.popitem(last=False)
                try:
                    with self.service.database.write(_USED_WAIT) as session:
                        mark_used(session, viewer, now)
                except DBAPIError as error:  # nobody is refused a page for it
                    _LOG.warning("when a token was used is not kept: %s", error.orig)
        return viewer


def _passing_trouble(error: Exception) -> str:
    """The reason in one line if the disk is full, or the database busy, full or away; else empty."""
    if isinstance(error, OperationalError | InterfaceError):
        return " ".join(f"the database cannot be used now: {error.orig}".split())
    if isinstance(error, PoolTimeoutError):
        return "the database cannot be used now: all connections are taken"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full: {error.filename or error.strerror}"
    return ""


def _unavailable(scope: Scope) -> Response:
    """An answer that asks to come again, and does not wait for what is left of a body."""
    text = "The server cannot save or look up anything at the moment. Try again in a minute."
    return _answer_error(scope, 503, text, {**LATER, **({} if scope["method"] in SAFE else {"Connection": "close"})})


def _crashed(scope: Scope) -> Response:
    """An answer that tells nothing of what went wrong."""
    return _answer_error(scope, 500, "Something went wrong here. The server's log has the reason.", {})


def _answer_error(scope: Scope, status: int, text: str, headers: Mapping[str, str]) -> Response:
    try:
        return error_answer(Request(scope), status, text, headers)
    except Exception:  # what went wrong may be the pages
        _LOG.exception("the page of an error failed")
        return PlainTextResponse(f"{text}\n", status, dict(headers))


class _GuardedAnswer:
    """Sends an answer with the headers of every answer.

    Parameters
    ----------
    state : dict
        Of the request.
    """

    def __init__(self, state: dict[str, Any], send: Send) -> None:
        self._state, self._send = state, send
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            named = {name.lower() for name, _ in headers}
            headers += [one for one in _RAW_HEADERS if one[0] not in named]
            if self._state["viewer"] is not None and b"cache-control" not in named:
                headers.append((b"cache-control", b"private, no-store"))
            message = {**message, "headers": headers}
        await self._send(message)


def _netloc(address: str) -> str:
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return ""


def shown_path(scope: Scope) -> str:
    """The path of a request as logs show it: encoded, without a query, and without the secret of a personal link.

    Examples
    --------
    >>> shown_path({"path": "/login/7Kx", "raw_path": b"/login/7Kx"}), shown_path({"path": "/a b", "raw_path": None})
    ('/login/...', '/a%20b')
    >>> shown_path({"path": "/mirflow/login/7Kx", "raw_path": b"/mirflow/login/7Kx"})
    '/mirflow/login/...'
    """
    raw = scope.get("raw_path")
    path = quote(raw.decode("latin-1") if raw else scope["path"], safe="/%")
    before, found, _ = scope["path"].lower().partition("login")
    return f"{quote(before[:100])}login/..." if found and before.endswith("/") else path[:300]
