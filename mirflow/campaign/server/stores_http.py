"""Stores as read-only Zarr over HTTP, one generation at a time."""

from __future__ import annotations

import json
import math
import os
import re
from collections import OrderedDict
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute

from ...errors import DamagedError, StoreError, UnknownNameError
from ...pipeline.document import without_folders
from ...store.chunk_files import chunk_encoding, chunk_key
from .cache import CORS, digest, is_known
from .security import GuardedRoute
from .service import Service
from .snapshots import Snapshot, Stores

_METADATA = "zarr.json"
_TOKEN = re.compile(r"\d{1,10}-[0-9a-f]{8}")
_PRIVATE = ("root",)
"""Attributes that are withheld: a path on the server."""
_ENCODINGS = (("default", "/"), ("default", "."), ("v2", "."))
"""Chunk key encodings, used by generations in turn.

A client reads the metadata first and chunks later, by addresses that do not name a generation. Since three consecutive
generations use different chunk keys, the key identifies the generation of the client's metadata: the client gets the
chunk of that generation, or an error if it is gone, but never a chunk of another generation.
"""
_INDEX = r"(?:0|[1-9]\d{0,9})"
_NAMED = (
    re.compile(rf"(?P<array>.+)/c(?P<place>(?:/{_INDEX})*)"),
    re.compile(rf"(?P<array>.+)/c\.(?P<place>{_INDEX}(?:\.{_INDEX})*)"),
    re.compile(rf"(?P<array>.+)/(?P<place>{_INDEX}(?:\.{_INDEX})*)"),
)
"""Patterns of chunk keys in these encodings."""


class GoneError(StoreError):
    """The generation was removed by later runs."""


class ZarrFiles:
    """The values of stores by key, for plain Zarr clients.

    Parameters
    ----------
    most : int
        Number of metadata documents to cache.
    """

    def __init__(self, stores: Stores, most: int = 2_000) -> None:
        self._stores = stores
        self._most = most
        self._documents: OrderedDict[tuple[Snapshot, bool, str], bytes] = OrderedDict()
        self._lock = Lock()

    def find(self, name: str, key: str, token: str | None = None) -> tuple[Snapshot, bytes | Path] | None:
        """Find the value of a key.

        Parameters
        ----------
        name : str
            Name of the store.
        key : str
            Such as ``chord/score/c/0/0/0``; invalid keys have no value.
        token : str or None
            Token of a generation; None: the current one, or the previous one for a client with its metadata.

        Returns
        -------
        tuple of Snapshot and bytes or path, or None
            Metadata as bytes, chunks as files; None without a value.
        """
        snapshot = self._stores.current(name)
        if token is not None and token != snapshot.token:
            if not _TOKEN.fullmatch(token):
                return None
            try:
                snapshot = self._stores.pinned(name, token)
            except StoreError as error:
                raise GoneError(str(error)) from None
        if not all(map(_is_name, key.split("/"))):
            return None
        if key == _METADATA or key.endswith(f"/{_METADATA}"):
            found = self._document(snapshot, key, pinned=token is not None)
            return None if found is None else (snapshot, found)
        return self._chunk(snapshot, key, pinned=token is not None)

    def _chunk(self, current: Snapshot, key: str, *, pinned: bool) -> tuple[Snapshot, Path] | None:
        """Find a chunk in the generation identified by its key."""
        for tag, pattern in enumerate(_NAMED[:1] if pinned else _NAMED):
            named = pattern.fullmatch(key)
            array = current.nodes.get(named["array"], {}) if named is not None else {}
            if named is None or array.get("node_type") != "array":
                continue
            place = [int(one) for one in re.findall(r"\d+", named["place"])]
            if len(place) != len(array["shape"]):
                return None
            snapshot = current if pinned else self._generation(current, tag)
            stored = snapshot.nodes.get(named["array"], {})
            path = _file(snapshot.folder, f"{named['array']}/{chunk_key(stored, place)}") if stored else None
            if path is None:
                _check_missing(snapshot, named["array"], place)
            return None if path is None else (snapshot, path)
        return None

    def _generation(self, current: Snapshot, tag: int) -> Snapshot:
        """Return the generation that uses an encoding: the current or the previous one."""
        if tag == current.number % len(_ENCODINGS):
            return current
        before = self._stores.before(current)
        if before is None or tag != before.number % len(_ENCODINGS):
            raise GoneError(f"{current.name} was published anew while it was being read: open it again")
        return before

    def _document(self, snapshot: Snapshot, key: str, *, pinned: bool) -> bytes | None:
        """Return the metadata of a group or an array, consolidated for a group."""
        place = snapshot, pinned, key
        with self._lock:
            known = self._documents.get(place)
        if known is not None:
            return known
        node = key.removesuffix(_METADATA).rstrip("/")
        if node not in snapshot.nodes:
            return None
        content = deepcopy(snapshot.nodes[node])
        below = {}
        if content["node_type"] == "group":
            start = f"{node}/" if node else ""
            own = [name for name in snapshot.nodes if name and name.startswith(start)]
            below = {name.removeprefix(start): deepcopy(snapshot.nodes[name]) for name in own}
            content["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": below}
        encoding = _ENCODINGS[0 if pinned else snapshot.number % len(_ENCODINGS)]
        for one in (content, *below.values()):
            _rewrite(one, encoding)
        made = json.dumps(content, ensure_ascii=False).encode()
        with self._lock:
            while len(self._documents) >= self._most:
                self._documents.popitem(last=False)
            self._documents[place] = made
        return made


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of the stores' Zarr."""
    files = ZarrFiles(service.shelf)

    def value(request: Request) -> Response:
        name, _, token = request.path_params["store"].partition("@")
        if not service.disclosure(name).everything:
            return PlainTextResponse("Not found.\n", 404, headers={"Cache-Control": "no-store"})
        try:
            found = files.find(name, _key(request), token or None)
        except GoneError as error:
            return PlainTextResponse(f"{error}\n", 410, headers={"Cache-Control": "no-store"})
        except DamagedError:
            return PlainTextResponse(f"{name}: a file of this store is missing\n", 503)
        except (UnknownNameError, StoreError):
            found = None
        if found is None:
            return PlainTextResponse("Not found.\n", 404, headers={"Cache-Control": "no-store"})
        snapshot, content = found
        etag = f"{snapshot.token}-{digest(request.url.path)}"
        return _answer(request, content, etag, CORS if service.cors else {}, is_pinned=bool(token))

    return [GuardedRoute("/stores/{store}.zarr/{key:path}", value, role=None)]


def _key(request: Request) -> str:
    """Return the key in an address; an encoded slash would be part of a name, which never occurs."""
    return str(request.path_params["key"]).replace("%2F", "\\").replace("%25", "%")


def _answer(
    request: Request, content: bytes | Path, etag: str, shared: Mapping[str, str], *, is_pinned: bool
) -> Response:
    # The files of a generation never change.
    keep = "public, max-age=31536000, immutable" if is_pinned else "no-cache"
    headers = {"ETag": f'"{etag}"', "Cache-Control": keep, "Cross-Origin-Resource-Policy": "cross-origin", **shared}
    if is_known(request.headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=headers)
    if isinstance(content, bytes):
        return Response(content, headers=headers, media_type="application/json")
    try:
        status = content.stat()
    except FileNotFoundError:
        return PlainTextResponse("This generation was removed. Open the store again.\n", 410)
    return FileResponse(content, headers=headers, media_type="application/octet-stream", stat_result=status)


def _is_name(part: str) -> bool:
    """True if a part of a key is a valid name within a store."""
    return bool(part) and not part.startswith(".") and part.isprintable() and "\\" not in part


def _file(folder: Path, key: str) -> Path | None:
    """Return the file of a key; None if it is missing or outside of the folder."""
    path = folder / key
    try:
        return path if path.is_file() and os.path.realpath(path) == str(path) else None
    except (OSError, ValueError):
        return None


def _check_missing(snapshot: Snapshot, name: str, place: list[int]) -> None:
    """Raise an error for a missing chunk that was written, which a client would replace by fill values."""
    from ...store.zarr_io import is_lost

    if snapshot.is_gone():
        raise GoneError(f"{snapshot.name} was published anew while it was being read: open it again")
    array = snapshot.nodes.get(name)
    if array is not None and _is_in_grid(place, array) and is_lost(snapshot.folder / name):
        raise DamagedError(snapshot.name, f"a chunk of {name!r} is missing")


def _is_in_grid(place: list[int], array: dict[str, Any]) -> bool:
    """True if a chunk index is inside the array."""
    sizes = array["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [math.ceil(length / size) for length, size in zip(array["shape"], sizes, strict=True)]
    return len(place) == len(counts) and all(one < count for one, count in zip(place, counts, strict=True))


def _rewrite(node: dict[str, Any], encoding: tuple[str, str]) -> None:
    """Remove private attributes from metadata, and set the chunk key encoding."""
    attributes = node.get("attributes", {})
    for name in _PRIVATE:
        attributes.pop(name, None)
    if "pipeline" in attributes:
        attributes["pipeline"] = without_folders(str(attributes["pipeline"]))
    if node.get("node_type") == "array":
        name, separator = encoding
        node["chunk_key_encoding"] = {**chunk_encoding(separator), "name": name}
