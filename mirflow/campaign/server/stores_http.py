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
from .answers import CORS, digest, is_known
from .security import GuardedRoute
from .service import Service
from .snapshots import Snapshot, Stores

_METADATA = "zarr.json"
_TOKEN = re.compile(r"\d{1,10}-[0-9a-f]{8}")
_PRIVATE = ("root",)
"""Attributes that are not given away: a path of the server's disk."""
_ENCODINGS = (("default", "/"), ("default", "."), ("v2", "."))
"""Ways to name chunks, which generations take in turns.

A client reads the metadata once and chunks later, by an address that says nothing about a generation. As three
generations in a row name their chunks differently, the name of a chunk tells which of them the client has the metadata
of: it gets the chunk of that one, or an error where that one is gone, and never the chunk of another.
"""
_INDEX = r"(?:0|[1-9]\d{0,9})"
_NAMED = (
    re.compile(rf"(?P<array>.+)/c(?P<place>(?:/{_INDEX})*)"),
    re.compile(rf"(?P<array>.+)/c\.(?P<place>{_INDEX}(?:\.{_INDEX})*)"),
    re.compile(rf"(?P<array>.+)/(?P<place>{_INDEX}(?:\.{_INDEX})*)"),
)
"""Keys of chunks under these ways."""


class GoneError(StoreError):
    """A generation that later runs removed."""


class ZarrFiles:
    """The values of a store by their keys, as a plain Zarr client asks for them.

    Parameters
    ----------
    most : int
        Documents of metadata that are kept.
    """

    def __init__(self, stores: Stores, most: int = 2_000) -> None:
        self._stores = stores
        self._most = most
        self._documents: OrderedDict[tuple[Snapshot, bool, str], bytes] = OrderedDict()
        self._lock = Lock()

    def find(self, name: str, key: str, token: str | None = None) -> tuple[Snapshot, bytes | Path] | None:
        """The contents of a key.

        Parameters
        ----------
        name : str
            Of a store.
        key : str
            As in ``chord/score/c/0/0/0``; whatever is no key of a store has no value.
        token : str or None
            Of a generation; None: the current one, or the one before for a client that has its metadata.

        Returns
        -------
        tuple of Snapshot and bytes or path, or None
            Metadata as bytes, chunks as files; None where there is no value.
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
        """A chunk of the generation that its name tells."""
        for tag, pattern in enumerate(_NAMED[:1] if pinned else _NAMED):
            named = pattern.fullmatch(key)
            array = current.nodes.get(named["array"], {}) if named is not None else {}
            if named is None or array.get("node_type") != "array":
                continue
            place = [int(one) for one in re.findall(r"\d+", named["place"])]
            if len(place) != len(array["shape"]):
                return None
            snapshot = current if pinned else self._generation(current, tag)
            path = _file(snapshot.folder, "/".join([named["array"], "c", *map(str, place)]))
            if path is None:
                _check_missing(snapshot, named["array"], place)
            return None if path is None else (snapshot, path)
        return None

    def _generation(self, current: Snapshot, tag: int) -> Snapshot:
        """The generation whose chunks are named in a way: the current one, or the one before."""
        if tag == current.number % len(_ENCODINGS):
            return current
        before = self._stores.before(current)
        if before is None or tag != before.number % len(_ENCODINGS):
            raise GoneError(f"{current.name} was published anew while it was open: open it again")
        return before

    def _document(self, snapshot: Snapshot, key: str, *, pinned: bool) -> bytes | None:
        """Metadata of a group or an array, with those of all that is below it."""
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
    """Routes of the stores' Zarr."""
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
            return PlainTextResponse(f"{name}: a file of this store is lost\n", 503)
        except (UnknownNameError, StoreError):
            found = None
        if found is None:
            return PlainTextResponse("Not found.\n", 404, headers={"Cache-Control": "no-store"})
        snapshot, content = found
        etag = f"{snapshot.token}-{digest(request.url.path)}"
        return _answer(request, content, etag, CORS if service.cors else {}, is_pinned=bool(token))

    return [GuardedRoute("/stores/{store:name}.zarr/{key:path}", value, role=None)]


def _key(request: Request) -> str:
    """The key in an address; an encoded slash is part of a name, which no store has."""
    return str(request.path_params["key"]).replace("%2F", "\\").replace("%25", "%")


def _answer(
    request: Request, content: bytes | Path, etag: str, shared: Mapping[str, str], *, is_pinned: bool
) -> Response:
    # What belongs to one generation never changes.
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
    """True if a part of a key can be the name of something in a store."""
    return bool(part) and not part.startswith(".") and part.isprintable() and "\\" not in part


def _file(folder: Path, key: str) -> Path | None:
    """The file of a key; None where there is none, or where a link would lead elsewhere."""
    path = folder / key
    try:
        return path if path.is_file() and os.path.realpath(path) == str(path) else None
    except (OSError, ValueError):
        return None


def _check_missing(snapshot: Snapshot, name: str, place: list[int]) -> None:
    """Raise where a chunk is missing that was written, which a client would take for fill values."""
    from ...store.zarr_io import is_lost

    if snapshot.is_gone():
        raise GoneError(f"{snapshot.name} was published anew while it was open: open it again")
    array = snapshot.nodes.get(name)
    if array is not None and _is_in_grid(place, array) and is_lost(snapshot.folder / name):
        raise DamagedError(snapshot.name, f"a chunk of {name!r} is lost")


def _is_in_grid(place: list[int], array: dict[str, Any]) -> bool:
    """True if an array has a chunk at a place."""
    sizes = array["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [math.ceil(length / size) for length, size in zip(array["shape"], sizes, strict=True)]
    return len(place) == len(counts) and all(one < count for one, count in zip(place, counts, strict=True))


def _rewrite(node: dict[str, Any], encoding: tuple[str, str]) -> None:
    """Metadata without private attributes, and with a way to name chunks."""
    attributes = node.get("attributes", {})
    for name in _PRIVATE:
        attributes.pop(name, None)
    if "pipeline" in attributes:
        attributes["pipeline"] = without_folders(str(attributes["pipeline"]))
    if node.get("node_type") == "array":
        name, separator = encoding
        node["chunk_key_encoding"] = {"name": name, "configuration": {"separator": separator}}
