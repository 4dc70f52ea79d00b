"""Snapshots of stores, read once for all requests; cached responses and pictures; and what clients accept.

A snapshot is a store at one generation. Responses are keyed by all they depend on and stored as bytes.

Starlette does not parse ``Accept`` and ``Accept-Encoding`` (RFC 9110, sections 12.4.2 and 12.5), and another web
framework for this alone would be a dependency of every server.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import re
import shutil
import tempfile
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ...analysis.selection import without_quotes
from ...errors import MirflowError, StoreError, UnknownNameError
from ...store.generations import generation_number, resolve
from ...store.read import read_scores

if TYPE_CHECKING:
    import xarray as xr

T = TypeVar("T")

_ROOT = "zarr.json"
# Variables kept in memory for each evaluation; a later run may remove the files of the others.
_LOADED = ("score", "weight", "status", "duration", "message")
SCORES_BYTES = 1_000_000_000  # limit for the scores in memory, all stores together


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A store at one generation."""

    name: str  # name of the store in addresses
    folder: Path  # folder of the generation, or of a store without generations
    number: int  # number of the generation; 0 without generations
    token: str  # identifies the generation, even if the store was removed and created again: ``12-9f3c01ab``
    quotes: bool = True  # whether messages and warnings may quote references; otherwise they are replaced
    _making: defaultdict[str, RLock] = field(default_factory=lambda: defaultdict(RLock), repr=False)
    _made: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def boards(self) -> dict[str, xr.Dataset]:
        """The evaluations by name, with scores, weights, statuses, durations and messages loaded."""
        boards = read_scores(self.folder)
        for ds in boards.values():
            for name in _LOADED:
                if name in ds.variables:
                    ds.variables[name].load()
        return boards if self.quotes else {name: without_quotes(ds) for name, ds in boards.items()}

    @cached_property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """Zarr metadata of groups and arrays by path; the path of the root is empty."""
        try:
            root = json.loads((self.folder / _ROOT).read_bytes())
        except OSError:
            raise StoreError(f"generation {self.token} of {self.name} is gone") from None
        return {"": root, **root.pop("consolidated_metadata", {}).get("metadata", {})}

    def once(self, what: str, make: Callable[[], T]) -> T:
        """Compute a value from the snapshot once, in one thread for all requests."""
        with self._making[what]:
            if what not in self._made:
                self._made[what] = make()
            value: T = self._made[what]
            return value


class Stores:
    """The stores of a server by name.

    `paths`: stores, each of which may appear, be published anew or be removed at any time.
    `most_bytes`: limit for the scores in memory, all stores together; at least those of one store are kept.
    `quoteless`: names of the stores whose messages and warnings must not quote references.
    """

    def __init__(
        self, paths: Mapping[str, str | Path], most_bytes: int = SCORES_BYTES, quoteless: Collection[str] = ()
    ) -> None:
        self.paths = {name: Path(path) for name, path in paths.items()}
        # As text: joining a Path anew takes longer than the access to the disk.
        self._places = {name: os.path.join(path, _ROOT) for name, path in self.paths.items()}  # noqa: PTH118
        self._most_bytes = most_bytes
        self._quoteless = frozenset(quoteless)
        self._current: dict[str, tuple[tuple[int, ...], Snapshot]] = {}
        self._read: OrderedDict[Snapshot, int] = OrderedDict()
        self._lock, self._finding = Lock(), Lock()

    def __iter__(self) -> Iterator[str]:
        """Names of the stores that currently exist."""
        return (name for name, path in self.paths.items() if (path / _ROOT).is_file())

    def current(self, name: str) -> Snapshot:
        """Return the snapshot of the current generation."""
        path = self.paths.get(name)
        if path is None:
            raise UnknownNameError("store", name, self.paths)
        signature = _signature(self._places[name])
        current = self._current.get(name)
        if signature is not None and current is not None and current[0] == signature:
            return current[1]
        with self._finding:
            while True:
                folder = resolve(path)
                signature = _signature(folder / _ROOT)
                if signature is not None:
                    break
            current = self._current.get(name)
            if current is None or current[0] != signature:
                current = self._current[name] = signature, self._snapshot(name, folder, signature)
        return current[1]

    def pinned(self, name: str, token: str) -> Snapshot:
        """Return the snapshot of a generation that still exists."""
        current = self.current(name)
        if current.token == token:
            return current
        number = token.partition("-")[0]
        if current.number and number.isdecimal():
            earlier = self.generation(current, int(number))
            if earlier is not None and earlier.token == token:
                return earlier
        raise StoreError(f"generation {token} of {name} is gone; the current one is {current.token}")

    def generation(self, snapshot: Snapshot, number: int) -> Snapshot | None:
        """Return another generation of a store, if it still exists."""
        folder = snapshot.folder.with_name(f"generation-{number:06d}")
        signature = _signature(folder / _ROOT) if number > 0 else None
        return None if signature is None else self._snapshot(snapshot.name, folder, signature)

    def _snapshot(self, name: str, folder: Path, signature: tuple[int, ...]) -> Snapshot:
        number = generation_number(folder) or 0
        digest = hashlib.blake2b(repr(signature).encode(), digest_size=4).hexdigest()
        return Snapshot(name, folder, number, f"{number}-{digest}", name not in self._quoteless)

    def ask(self, name: str, question: Callable[[Snapshot], T]) -> T:
        """Apply a function to the current snapshot; retry once if its generation was removed meanwhile.

        Its scores are loaded, and those that were least recently used are evicted.
        """
        while True:
            snapshot = self.current(name)
            try:
                with self._lock:
                    if snapshot not in self._read:
                        loaded = (ds.variables.get(name) for ds in snapshot.boards.values() for name in _LOADED)
                        self._read[snapshot] = sum(variable.nbytes for variable in loaded if variable is not None)
                    self._read.move_to_end(snapshot)
                    outdated = [read for read in self._read if read.name == name and read is not snapshot]
                    while outdated or (sum(self._read.values()) > self._most_bytes and len(self._read) > 1):
                        old = outdated.pop() if outdated else next(iter(self._read))
                        del self._read[old]
                        old._made.clear()
                        old.__dict__.pop("boards", None)
                return question(snapshot)
            except StoreError:
                if (snapshot.folder / _ROOT).is_file() or self.current(name) is snapshot:
                    raise


def _signature(file: str | Path) -> tuple[int, ...] | None:
    """Return a value that differs between generations, from a single stat call; None without a store."""
    try:
        stat = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size


MOST_BYTES = 64_000_000  # size of all cached responses together, in bytes
# Header for data that scripts on other sites may read; browsers send no cookies with such requests.
CORS = {"Access-Control-Allow-Origin": "*"}
LARGEST = 8_000_000  # largest response that is cached, in bytes
AT_ONCE = 2  # responses computed concurrently; as many again to freely chosen queries
MOST_ADDRESSES = 20_000  # addresses for which the cached response is looked up before routing
LONGEST_ADDRESS = 1_000  # longest such address, in bytes; longer ones are routed first
WAITING = 400  # requests that may wait for a response to be computed; further ones are refused
_COMPRESSED = ("text/", "application/json", "application/problem+json", "application/atom+xml", "image/svg+xml")
_LEAST_COMPRESSED = 1_000


@dataclass(frozen=True)
class Content:
    """Contents of a response."""

    body: bytes
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Kept:
    """A response as sent, plain and compressed."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    compressed: bytes | None
    etag: str
    size: int  # bytes that it occupies, including its address, which may be long

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response: compressed if the client accepts it, and 304 if the client already has it."""
        known = packed = False
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                packed = self.compressed is not None and weight_of(value.decode("latin-1"), "gzip") > 0
            elif name == b"if-none-match":
                known = is_known(value.decode("latin-1"), self.etag)
        headers, status, body = self.headers, self.status, self.body
        if known:
            headers, status, body = [header for header in headers if header[0] != b"content-type"], 304, b""
        else:
            if packed and self.compressed is not None:
                headers, body = [*headers, (b"content-encoding", b"gzip")], self.compressed
            headers = [*headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


@dataclass(eq=False)
class Answers:
    """Responses by address and everything else they depend on: generations of stores, viewer, database."""

    stores: Stores
    salt: str = ""  # anything else that responses depend on, such as the title of the site
    shared: Mapping[str, str] = field(default_factory=dict)  # headers of public data, such as `CORS`
    _most_bytes: int = MOST_BYTES
    _bytes: int = 0
    kept: OrderedDict[tuple[str, str], Kept] = field(default_factory=OrderedDict)
    _made: dict[tuple[str, str], asyncio.Future[Kept]] = field(default_factory=dict)
    front: dict[tuple[bytes, bytes], tuple[tuple[str, ...] | None, str]] = field(default_factory=dict)
    _pools: Sequence[ThreadPoolExecutor] = field(
        default_factory=lambda: [ThreadPoolExecutor(AT_ONCE, name) for name in ("answers", "choices")]
    )
    _waiting: int = 0

    def generation(self, names: Sequence[str] | None) -> str:
        """Token that changes when one of the named stores (None: any store) is published, added or removed."""
        tokens = " ".join(f"{name}@{self.stores.current(name).token}" for name in names or self.stores)
        return digest(f"{self.salt} {tokens}")

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
    ) -> ASGIApp:
        """Return the cached response to a request, or compute it once for all who wait for it.

        `names`: stores that the response depends on if neither `view` nor `state` is given; None: all.
        `make`: computes the response, in a thread.
        `variant`: everything but the address that the response depends on, such as the requested format.
        `query`: the part of the query string that the response depends on; None: all of it.
        `chosen`: whether the response is one of an unlimited number, such as those to queries.
        `view`: cache key of the viewer's permissions; empty for anonymous. Viewers with the same permissions share a
          response, which neither browsers nor proxies may store.
        `state`: token that changes with anything else the response depends on, read before it is computed. The ETag of
          such a response is made from its contents, since the token would reveal changes that the response does not
          show.
        """
        changing = view or state
        generation = digest(f"{self.salt} seen as {view} in {state}") if changing else self.generation(names)
        target = f"{request.url.path}?{request.url.query if query is None else query} {variant}"
        etag = "" if state else digest(f"{generation} {target}")
        if etag and is_known(request.headers.get("if-none-match", ""), etag):
            keep = "private, no-store" if view else "no-cache"
            shared = {} if view else self.shared
            return Response(status_code=304, headers={"ETag": f'W/"{etag}"', "Cache-Control": keep, **shared})
        kept = await self._get((generation, target), etag, make, self._pools[chosen], private=bool(view))
        if not variant and not changing and kept.status == 200:
            # The response can then be found before routing.
            key, address = (generation, target), (request.scope["raw_path"], request.scope["query_string"])
            if key in self.kept and sum(map(len, address)) <= LONGEST_ADDRESS:
                if len(self.front) > MOST_ADDRESSES:
                    self.front.clear()
                self.front[address] = None if names is None else tuple(names), target
        return kept

    async def _get(
        self, key: tuple[str, str], etag: str, make: Callable[[], Content], pool: ThreadPoolExecutor, *, private: bool
    ) -> Kept:
        kept = self.kept.get(key)
        if kept is not None:
            self.kept.move_to_end(key)
            return kept
        under_way = self._made.get(key)
        if under_way is not None:
            return await asyncio.shield(under_way)
        if self._waiting >= WAITING:
            raise HTTPException(503, "The server is busy. Try again in a moment.", headers={"Retry-After": "2"})

        def keep() -> Kept:
            content = make()
            kind, tag = content.media_type, etag or hashlib.blake2b(content.body, digest_size=8).hexdigest()
            headers = [(b"content-type", kind.encode()), (b"vary", b"accept-encoding, accept, cookie, authorization")]
            if content.status == 200:
                # Browsers may store public responses, but have to revalidate them.
                storing = b"private, no-store" if private else b"no-cache"
                headers += [(b"etag", f'W/"{tag}"'.encode()), (b"cache-control", storing)]
            shared = {} if private or kind.startswith("text/html") else self.shared
            more = {**content.headers, **shared}.items()
            headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in more]
            packed = None
            if kind.startswith(_COMPRESSED) and _LEAST_COMPRESSED <= len(content.body) <= LARGEST:
                packed = gzip.compress(content.body, 6, mtime=0)
            size = sum(map(len, key)) + len(content.body) + len(packed or b"")
            return Kept(content.status, headers, content.body, compressed=packed, etag=tag, size=size)

        future: asyncio.Future[Kept] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._made[key] = future
        self._waiting += 1
        try:
            kept = await asyncio.get_running_loop().run_in_executor(pool, keep)
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else HTTPException(503))
            raise
        finally:
            self._waiting -= 1
            del self._made[key]
        future.set_result(kept)
        if kept.status == 200 and kept.size <= LARGEST:
            self.kept[key] = kept
            self._bytes += kept.size
            while self._bytes > self._most_bytes:  # those used least recently go first
                self._bytes -= self.kept.popitem(last=False)[1].size
        return kept


@dataclass(eq=False)
class Front:
    """Middleware that answers anonymous requests from the cache before routing."""

    app: ASGIApp
    answers: Answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request from the cache, or pass it on."""
        address = scope.get("raw_path", b""), scope.get("query_string", b"")
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if is_read and address in self.answers.front and scope["state"].get("viewer") is None:
            names, target = self.answers.front[address]
            kept = None
            with suppress(MirflowError):  # a store is gone
                key = self.answers.generation(names), target
                kept = self.answers.kept.get(key)
            if kept is not None:
                self.answers.kept.move_to_end(key)
                await kept(scope, receive, send)
                return
        await self.app(scope, receive, send)


def digest(text: str, size: int = 8) -> str:
    """Digest of a text, for ETags: so many bytes in hexadecimal."""
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=size).hexdigest()


def is_known(given: str, etag: str) -> bool:
    """True if a client already has a response by its ``If-None-Match``."""
    return given.strip() == "*" or any(part.strip().removeprefix("W/") == f'"{etag}"' for part in given.split(","))


PICTURE_BYTES = 200_000_000  # size of all pictures that are kept, in bytes
WAITING_PICTURES = 20  # pictures that may wait to be drawn; further ones are refused


class Pictures:
    """Pictures by keys that name all that a picture depends on.

    One picture is drawn at a time, and one that several requests wait for is drawn once. They are kept until the
    server ends, and never beside a campaign, so that no file there shows a system that was withdrawn since.

    `most_bytes`: pictures that were asked for least recently are removed beyond this size.
    """

    def __init__(self, most_bytes: int = PICTURE_BYTES) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mirflow-pictures-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._most_bytes = most_bytes
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._lock = Lock()
        self._drawing = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._under_way: dict[str, asyncio.Future[bytes | None]] = {}

    def find(self, key: str) -> bytes | None:
        """Read a picture that is kept; None if there is none."""
        with self._lock:
            if key not in self._sizes:
                return None
            self._sizes.move_to_end(key)
        try:
            return (self._folder / f"{key}.png").read_bytes()
        except OSError:  # just removed
            return None

    async def draw(self, key: str, make: Callable[[], bytes | None]) -> bytes | None:
        """Draw a picture and keep it; None if there is nothing to draw.

        Raises `HTTPException`: 503, if too many pictures are waiting.
        """
        under_way = self._under_way.get(key)
        if under_way is None:
            if len(self._under_way) >= WAITING_PICTURES:
                raise HTTPException(503, "The server is busy. Try again in a moment.", {"Retry-After": "5"})
            drawn = asyncio.get_running_loop().run_in_executor(self._drawing, self._make, key, make)
            under_way = self._under_way[key] = asyncio.ensure_future(drawn)
            under_way.add_done_callback(lambda done: self._under_way.pop(key, None))
            # Noted, even if all who waited have left.
            under_way.add_done_callback(lambda done: done.cancelled() or done.exception())
        # A visitor who leaves must not stop what others wait for.
        return await asyncio.shield(under_way)

    def _make(self, key: str, make: Callable[[], bytes | None]) -> bytes | None:
        data = make()
        if data is not None:
            with suppress(OSError):  # a full disk is no reason to refuse a picture
                (self._folder / f"{key}.png").write_bytes(data)
                with self._lock:
                    self._sizes[key] = len(data)
                    while sum(self._sizes.values()) > self._most_bytes and len(self._sizes) > 1:
                        old, _ = self._sizes.popitem(last=False)
                        (self._folder / f"{old}.png").unlink(missing_ok=True)
        return data


_ELEMENT = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
# Parts of a header between commas, and of such a part between semicolons; both may stand in quotes.
_PART = re.compile(r'(?:[^;"]|"(?:[^"\\]|\\.)*")+')
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE = re.compile(rf"{_TOKEN}(?:/{_TOKEN})?")
_MOST = 2000  # characters of a header that are looked at: quotes that do not close take time
_WEIGHT = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")


def weights_of(header: str) -> dict[str, float]:
    """Return the weight of each range in a header, in its order; elements that are not well-formed are left out."""
    weights: dict[str, float] = {}
    for element in _ELEMENT.findall(header[:_MOST].lower()):
        name, *parameters = (part.strip() for part in _PART.findall(element))
        weight = "1"
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                weight = value.strip()
                break  # what follows is not about the range
        if _RANGE.fullmatch(name) and _WEIGHT.fullmatch(weight):
            weights.setdefault(name, float(weight))
    return weights


def weight_of(header: str, kind: str) -> float:
    """Return how welcome a media type or a coding is: the weight of the most specific range, 0 if it is refused."""
    weights = weights_of(header)
    return next((weights[name] for name in _ranges(kind) if name in weights), 0.0)


def choose_kind(header: str, kinds: Sequence[str]) -> str | None:
    """Return the most welcome of some media types; of equal ones the first that the client names; None if all are
    refused. Without a header everything is welcome.

    Examples
    --------
    >>> choose_kind("application/json;q=0, text/csv", ["application/json", "text/csv"])
    'text/csv'
    >>> choose_kind("text/csv;q=0.1, */*", ["application/json", "text/csv"]), choose_kind("image/png", ["text/csv"])
    ('application/json', None)
    """
    weights = weights_of(header)
    if not weights:
        return kinds[0]
    names = list(weights)
    ranked = []
    for kind in kinds:
        name = next((name for name in _ranges(kind) if name in weights), None)
        if name is not None and weights[name] > 0:
            ranked.append((-weights[name], names.index(name), kind))
    return min(ranked, key=lambda row: row[:2])[2] if ranked else None


def _ranges(kind: str) -> list[str]:
    """The ranges that a media type or a coding is in, the most specific one first."""
    main, slash, _ = kind.partition("/")
    return [kind, f"{main}/*", "*/*"] if slash else [kind, "*"]
