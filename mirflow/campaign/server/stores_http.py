"""Stores as read-only Zarr over HTTP, one generation at a time."""

from __future__ import annotations

import json
import math
import os
import re
from collections import OrderedDict
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
    """The values of stores by key, for plain Zarr clients."""

    def __init__(self, stores: Stores, most: int = 2_000) -> None:
        self._stores = stores
        self._most = most
        self._documents: OrderedDict[tuple[Snapshot, bool, str], bytes] = OrderedDict()
        self._lock = Lock()

    def find(self, name: str, key: str, token: str | None = None) -> tuple[Snapshot, bytes | Path] | None:
        """Find the value of a key.

        `key`: such as ``chord/score/c/0/0/0``; invalid keys have no value.
        `token`: token of a generation; None: the current one, or the previous one for a client with its metadata.
        Returns: metadata as bytes, chunks as files; None without a value.
        """
        snapshot = self._stores.current(name)
        if token is not None and token != snapshot.token:
            if not _TOKEN.fullmatch(token):
                return None
            try:
                snapshot = self._stores.pinned(name, token)
            except StoreError as error:
                raise GoneError(str(error)) from None
        parts = key.split("/")
        if any(not part or part.startswith(".") or not part.isprintable() or "\\" in part for part in parts):
            return None
        if key == _METADATA or key.endswith(f"/{_METADATA}"):
            document = self._document(snapshot, key, pinned=token is not None)
            return None if document is None else (snapshot, document)
        return self._chunk(snapshot, key, pinned=token is not None)

    def _chunk(self, current: Snapshot, key: str, *, pinned: bool) -> tuple[Snapshot, Path] | None:
        from ...store.zarr_io import is_lost

        for tag, pattern in enumerate(_NAMED[:1] if pinned else _NAMED):
            named = pattern.fullmatch(key)
            array = current.nodes.get(named["array"], {}) if named is not None else {}
            if named is None or array.get("node_type") != "array":
                continue
            place = [int(index) for index in re.findall(r"\d+", named["place"])]
            if len(place) != len(array["shape"]):
                return None
            snapshot = current
            if not pinned and tag != current.number % len(_ENCODINGS):
                before = self._stores.before(current)
                if before is None or tag != before.number % len(_ENCODINGS):
                    raise GoneError(f"{current.name} was published anew while it was being read: open it again")
                snapshot = before
            stored = snapshot.nodes.get(named["array"], {})
            path = _file(snapshot.folder, f"{named['array']}/{chunk_key(stored, place)}") if stored else None
            if path is None:
                if snapshot.is_gone():
                    raise GoneError(f"{snapshot.name} was published anew while it was being read: open it again")
                # A client would replace the chunk by fill values, although it was written.
                if stored and _is_in_grid(place, stored) and is_lost(snapshot.folder / named["array"]):
                    raise DamagedError(snapshot.name, f"a chunk of {named['array']!r} is missing")
            return None if path is None else (snapshot, path)
        return None

    def _document(self, snapshot: Snapshot, key: str, *, pinned: bool) -> bytes | None:
        place = snapshot, pinned, key
        with self._lock:
            cached = self._documents.get(place)
        if cached is not None:
            return cached
        node = key.removesuffix(_METADATA).rstrip("/")
        if node not in snapshot.nodes:
            return None
        content = deepcopy(snapshot.nodes[node])
        below = {}
        if content["node_type"] == "group":
            start = f"{node}/" if node else ""
            inner = [name for name in snapshot.nodes if name and name.startswith(start)]
            below = {name.removeprefix(start): deepcopy(snapshot.nodes[name]) for name in inner}
            content["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": below}
        name, separator = _ENCODINGS[0 if pinned else snapshot.number % len(_ENCODINGS)]
        for described in (content, *below.values()):
            attributes = described.get("attributes", {})
            for private in _PRIVATE:
                attributes.pop(private, None)
            if "pipeline" in attributes:
                attributes["pipeline"] = without_folders(str(attributes["pipeline"]))
            if described.get("node_type") == "array":
                described["chunk_key_encoding"] = {**chunk_encoding(separator), "name": name}
        text = json.dumps(content, ensure_ascii=False).encode()
        with self._lock:
            while len(self._documents) >= self._most:
                self._documents.popitem(last=False)
            self._documents[place] = text
        return text


def zarr_routes(service: Service) -> list[BaseRoute]:
    """Return the zarr_routes of the stores' Zarr."""
    files = ZarrFiles(service.shelf)

    def store_value(request: Request) -> Response:
        name, _, token = request.path_params["store"].partition("@")
        if not service.disclosure(name).everything:
            return PlainTextResponse("Not found.\n", 404, headers={"Cache-Control": "no-store"})
        try:
            # An encoded slash would be part of a name, which never occurs.
            key = request.path_params["key"].replace("%2F", "\\").replace("%25", "%")
            value = files.find(name, key, token or None)
        except GoneError as error:
            return PlainTextResponse(f"{error}\n", 410, headers={"Cache-Control": "no-store"})
        except DamagedError:
            return PlainTextResponse(f"{name}: a file of this store is missing\n", 503)
        except (UnknownNameError, StoreError):
            value = None
        if value is None:
            return PlainTextResponse("Not found.\n", 404, headers={"Cache-Control": "no-store"})
        snapshot, content = value
        etag = f"{snapshot.token}-{digest(request.url.path)}"
        # The files of a generation never change.
        keep = "public, max-age=31536000, immutable" if token else "no-cache"
        headers = {
            "ETag": f'"{etag}"',
            "Cache-Control": keep,
            "Cross-Origin-Resource-Policy": "cross-origin",
            **(CORS if service.cors else {}),
        }
        if is_known(request.headers.get("if-none-match", ""), etag):
            return Response(status_code=304, headers=headers)
        if isinstance(content, bytes):
            return Response(content, headers=headers, media_type="application/json")
        try:
            status = content.stat()
        except FileNotFoundError:
            return PlainTextResponse("This generation was removed. Open the store again.\n", 410)
        return FileResponse(content, headers=headers, media_type="application/octet-stream", stat_result=status)

    return [GuardedRoute("/stores/{store}.zarr/{key:path}", store_value, role=None)]


def _file(folder: Path, key: str) -> Path | None:
    """Return the file of a key; None if it is missing or outside of the folder."""
    path = folder / key
    try:
        return path if path.is_file() and os.path.realpath(path) == str(path) else None
    except (OSError, ValueError):
        return None


def _is_in_grid(place: list[int], array: dict[str, Any]) -> bool:
    sizes = array["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [math.ceil(length / size) for length, size in zip(array["shape"], sizes, strict=True)]
    return len(place) == len(counts) and all(index < count for index, count in zip(place, counts, strict=True))
