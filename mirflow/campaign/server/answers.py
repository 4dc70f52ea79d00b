"""Answers to readers: made once for each state of what they show, and kept as bytes."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ...errors import MirflowError
from .snapshots import Stores

MOST_BYTES = 64_000_000
"""Answers that are kept, all together."""
CORS = {"Access-Control-Allow-Origin": "*"}
"""Header of data that scripts of other sites may read; browsers send no cookie with such a request."""
LARGEST = 8_000_000
"""Bytes of an answer that is kept."""
AT_ONCE = 2
"""Answers that are made at the same time, and as many that somebody chose, for which nobody else has to wait."""
MOST_ADDRESSES = 20_000
"""Addresses of kept answers that are found at once."""
LONGEST_ADDRESS = 1_000
"""Bytes of such an address; what is longer goes the usual way."""
WAITING = 400
"""Requests that wait until answers are made; more are told to come again."""
_COMPRESSED = ("text/", "application/json", "application/problem+json", "application/atom+xml", "image/svg+xml")
_LEAST_COMPRESSED = 1_000


@dataclass(frozen=True)
class Content:
    """Contents of an address."""

    body: bytes
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Kept:
    """An answer as it goes out, plain and compressed."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    compressed: bytes | None
    etag: str


class Answers:
    """Answers by address, and by all else that they depend on: generations of stores, the reader, the database.

    Parameters
    ----------
    salt : str
        Whatever else answers depend on, such as the title of the site.
    cors : bool
        Whether scripts of other sites may read public data.
    """

    def __init__(self, stores: Stores, salt: str = "", most_bytes: int = MOST_BYTES, *, cors: bool = False) -> None:
        self.stores = stores
        self._shared = CORS if cors else {}
        self._salt = f"{version('mirflow')} {salt}"
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str], Kept] = OrderedDict()
        self._made: dict[tuple[str, str], asyncio.Future[Kept]] = {}
        self._front: dict[tuple[bytes, bytes], tuple[tuple[str, ...] | None, str]] = {}
        self._pools = [ThreadPoolExecutor(AT_ONCE, thread_name_prefix=name) for name in ("answers", "choices")]
        self._waiting = 0

    def generation(self, names: Sequence[str] | None) -> str:
        """Token that changes when one of the named stores (None: any store) is published, added or removed."""
        tokens = " ".join(f"{name}@{self.stores.current(name).token}" for name in names or self.stores)
        return digest(f"{self._salt} {tokens}")

    async def answer(
        self,
        request: Request,
        names: Sequence[str] | None,
        make: Callable[[], Content],
        *,
        variant: str = "",
        query: str | None = None,
        chosen: bool = False,
        view: str = "",
        state: str = "",
    ) -> Response:
        """The answer to a request: a kept one, or one that is made now, once for all who wait for it.

        Parameters
        ----------
        names : sequence of str or None
            Stores that the answer depends on, if it has neither a view nor a state; None: all.
        make : callable
            Makes it; runs in a thread.
        variant : str
            What the answer depends on beside the address, such as the format that was asked for.
        query : str or None
            What it depends on of the query, of which anybody may write any number; None: all of it.
        chosen : bool
            Whether it is one of many that somebody may choose from, such as a query.
        view : str
            What tells that which somebody sees after logging in from what all others see; whoever sees the same gets
            the same answer, and neither browsers nor proxies keep it. Empty: everybody sees it.
        state : str
            Changes with whatever else the answer depends on, read before it is made. The tag of such an answer is of
            its contents: that of the state would tell everybody of changes that the answer does not show.
        """
        changing = view or state
        generation = digest(f"{self._salt} seen as {view} in {state}") if changing else self.generation(names)
        target = f"{request.url.path}?{request.url.query if query is None else query} {variant}"
        etag = "" if state else digest(f"{generation} {target}")
        if etag and is_known(request.headers.get("if-none-match", ""), etag):
            keep = "private, no-store" if view else "no-cache"
            shared = {} if view else self._shared
            return Response(status_code=304, headers={"ETag": f'W/"{etag}"', "Cache-Control": keep, **shared})
        kept = await self._get((generation, target), etag, make, self._pools[chosen], private=bool(view))
        if not variant and not changing and kept.status == 200:
            self._set_front(request.scope, names, (generation, target))
        return KeptResponse(kept)

    async def _get(
        self,
        key: tuple[str, str],
        etag: str,
        make: Callable[[], Content],
        pool: ThreadPoolExecutor,
        *,
        private: bool = False,
    ) -> Kept:
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        under_way = self._made.get(key)
        if under_way is not None:
            return await asyncio.shield(under_way)
        if self._waiting >= WAITING:
            raise HTTPException(503, "Too many people ask at the moment. Try again.", headers={"Retry-After": "2"})
        future: asyncio.Future[Kept] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._made[key] = future
        self._waiting += 1
        try:
            shared = {} if private else self._shared
            kept = await asyncio.get_running_loop().run_in_executor(
                pool, lambda: _keep(make(), etag, private=private, shared=shared)
            )
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else HTTPException(503))
            raise
        finally:
            self._waiting -= 1
            del self._made[key]
        future.set_result(kept)
        if kept.status == 200:
            self._remember(key, kept)
        return kept

    def _remember(self, key: tuple[str, str], kept: Kept) -> None:
        """Keep an answer; those that nobody asked for longest make room."""
        if _size(key, kept) > LARGEST:
            return
        self._kept[key] = kept
        self._bytes += _size(key, kept)
        while self._bytes > self._most_bytes:
            self._bytes -= _size(*self._kept.popitem(last=False))

    def _set_front(self, scope: Scope, names: Sequence[str] | None, key: tuple[str, str]) -> None:
        """Let a kept answer be found by what a server knows of a request before any route is looked for."""
        address = scope["raw_path"], scope["query_string"]
        if key in self._kept and sum(map(len, address)) <= LONGEST_ADDRESS:
            if len(self._front) > MOST_ADDRESSES:
                self._front.clear()
            self._front[address] = None if names is None else tuple(names), key[1]

    def find(self, scope: Scope) -> Kept | None:
        """The kept answer to a request, if it shows the generations of now."""
        found = self._front.get((scope.get("raw_path", b""), scope["query_string"]))
        if found is None:
            return None
        names, target = found
        try:
            key = self.generation(names), target
        except MirflowError:
            return None
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept


class Front:
    """Middleware that gives kept answers to those who are not logged in, before a route is looked for."""

    def __init__(self, app: ASGIApp, answers: Answers) -> None:
        self.app = app
        self.answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["state"].get("viewer") is None:
            kept = self.answers.find(scope)
            if kept is not None:
                await KeptResponse(kept)(scope, receive, send)
                return
        await self.app(scope, receive, send)


class KeptResponse(Response):
    """A kept answer as a response: compressed for those who take that, and nothing where they have it already."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        super().__init__(status_code=kept.status)
        self.raw_headers = list(kept.headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        kept, known, packed = self.kept, False, False
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                packed = kept.compressed is not None and takes_gzip(value.decode("latin-1"))
            elif name == b"if-none-match":
                known = is_known(value.decode("latin-1"), kept.etag)
        headers, status, body = self.raw_headers, kept.status, kept.body
        if known:
            headers, status, body = [one for one in headers if one[0] != b"content-type"], 304, b""
        elif packed and kept.compressed is not None:
            body = kept.compressed
            headers = [*headers, (b"content-encoding", b"gzip"), (b"content-length", str(len(body)).encode())]
        else:
            headers = [*headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def takes_gzip(header: str) -> bool:
    """True if a browser takes gzip by its ``Accept-Encoding`` (RFC 9110, section 12.5.3).

    Examples
    --------
    >>> takes_gzip("br, gzip"), takes_gzip("gzip;q=0, br"), takes_gzip("*;q=0.5")
    (True, False, True)
    """
    weights = {"*": "0"}
    for entry in header.lower().split(","):
        coding, _, parameter = (part.strip() for part in entry.partition(";"))
        weights[coding] = parameter.removeprefix("q=") or "1"
    return weights.get("gzip", weights["*"]).strip("0.") != ""


def _size(key: tuple[str, str], kept: Kept) -> int:
    """Bytes that are kept of an answer; addresses may be longer than what is there."""
    return sum(map(len, key)) + len(kept.body) + len(kept.compressed or b"")


def digest(text: str) -> str:
    """A short digest of a text, for tags of answers."""
    return _digest(text.encode())


def _digest(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=8).hexdigest()


def is_known(given: str, etag: str) -> bool:
    """True if a browser names an answer among those that it has (``If-None-Match``)."""
    return given.strip() == "*" or any(one.strip().removeprefix("W/") == f'"{etag}"' for one in given.split(","))


def _keep(content: Content, etag: str, *, private: bool, shared: Mapping[str, str]) -> Kept:
    """An answer with its headers, compressed if that makes it smaller; without a tag it gets that of its contents."""
    kind, etag = content.media_type, etag or _digest(content.body)
    headers = [(b"content-type", kind.encode()), (b"vary", b"accept-encoding, accept, cookie, authorization")]
    if content.status == 200:
        # What everybody sees may be kept by browsers, which have to ask whether it still holds.
        headers += [
            (b"etag", f'W/"{etag}"'.encode()),
            (b"cache-control", b"private, no-store" if private else b"no-cache"),
        ]
    more = content.headers if kind.startswith("text/html") else {**content.headers, **shared}
    headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in more.items()]
    packed = None
    if kind.startswith(_COMPRESSED) and _LEAST_COMPRESSED <= len(content.body) <= LARGEST:
        packed = gzip.compress(content.body, 6, mtime=0)
    return Kept(content.status, headers, content.body, packed, etag)
