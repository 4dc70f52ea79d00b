"""Safety of all routes: who may call them, from where, and what every answer says to browsers."""

from __future__ import annotations

import hmac
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .accounts import Kind, Role, Viewer, find_viewer
from .service import Service

COOKIE = "mirflow_session"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "media-src 'self' blob:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""Of every answer that does not say otherwise."""

_LOG = logging.getLogger("mirflow.service")
Endpoint = Callable[[Request], Awaitable[Response] | Response]


class GuardedRoute(Route):
    """A route that says who may call it.

    Parameters
    ----------
    path : str
    endpoint : callable
        Takes a request, gives a response; a plain function runs in a thread.
    role : str or None
        Whose rights are needed; None: anybody may call it.
    methods : sequence of str
    form : bool
        Whether the token against forged requests may come as a field of a small form.
    """

    def __init__(
        self, path: str, endpoint: Endpoint, *, role: Role | None, methods: Sequence[str] = ("GET",), form: bool = True
    ) -> None:
        async def guarded(request: Request) -> Response:
            viewer = request.state.viewer
            if role is not None and (viewer is None or not viewer.may(role)):
                raise HTTPException(403 if viewer else 401)
            if request.method not in SAFE and viewer is not None and not request.state.bearer:
                await _check_forgery(request, form)
            found = endpoint(request) if _is_async(endpoint) else await run_in_threadpool(endpoint, request)
            return await found if isinstance(found, Awaitable) else found

        super().__init__(path, guarded, methods=list(methods), name=getattr(endpoint, "__name__", path))
        self.role = role


def _is_async(endpoint: Any) -> bool:
    return inspect.iscoroutinefunction(endpoint)


async def _check_forgery(request: Request, form: bool) -> None:
    """Refuse a request of a browser that does not carry the token of its session."""
    given = request.headers.get("x-csrf-token", "")
    kind = request.headers.get("content-type", "").partition(";")[0]
    if not given and form and kind == "application/x-www-form-urlencoded":
        given = str((await request.form()).get("csrf", ""))
    if not given and not form:
        return  # the endpoint reads its own body, and checks the token in it
    if not hmac.compare_digest(given.encode(), request.state.csrf.encode()):
        raise HTTPException(403, "The form is too old. Load the page again.")


def csrf_token(service: Service, session: str) -> str:
    """The token that forms of a session carry."""
    return hmac.new(service.secret, b"csrf " + session.encode(), sha256).hexdigest()


class Security:
    """Middleware around all routes: hosts, origins, sessions, headers, and errors without details.

    Parameters
    ----------
    app : ASGI application
    service : Service
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refuse(Headers(scope=scope), scope["method"])
        if refused is not None:
            await refused(scope, receive, guarded)
            return
        try:
            await self._find_viewer(scope)
            await self.app(scope, receive, guarded)
        except Exception:
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            if not started:
                await PlainTextResponse("Something went wrong here.", 500)(scope, receive, guarded)

    def _refuse(self, headers: Headers, method: str) -> Response | None:
        """Refuse requests for other hosts, and changes that pages of other sites ask for."""
        host = headers.get("host", "")
        known = urlsplit(self.service.base_url).netloc
        if host != known and urlsplit(f"//{host}").hostname not in ("localhost", "127.0.0.1", "::1", "testserver"):
            return PlainTextResponse("This server has another address.", 421)
        origin = headers.get("origin")
        if method not in SAFE and origin is not None and urlsplit(origin).netloc != host:
            return PlainTextResponse("Another site asked for this.", 403)
        return None

    async def _find_viewer(self, scope: Scope) -> None:
        state = scope.setdefault("state", {})
        state.update(viewer=None, csrf="", bearer=False)
        headers = Headers(scope=scope)
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        kind: Kind = "token"
        if scheme.lower() != "bearer":
            secret, kind = Request(scope).cookies.get(COOKIE, ""), "session"
        if not secret or self.service.database is None:
            return
        state["viewer"] = await run_in_threadpool(self._viewer, secret, kind)
        state["bearer"] = kind == "token"
        if kind == "session":
            state["csrf"] = csrf_token(self.service, secret)

    def _viewer(self, secret: str, kind: Kind) -> Viewer | None:
        assert self.service.database is not None
        with self.service.database.read() as session:
            return find_viewer(session, secret, kind, self.service.clock())
