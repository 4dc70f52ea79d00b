"""The HTTP API: stores, questions, scores by track and leaderboards; and stores as read-only Zarr, by generation.

Questions to scores are operations, which answer with a table in JSON, CSV, Arrow or Parquet, or with a problem in
JSON. The OpenAPI description of the API is generated.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from ...analysis.lookup import find_labels, find_metrics, headline_metric, restrict
from ...analysis.queries import choose, choose_one, count_statuses
from ...analysis.query_options import DEFAULT_LEVEL, OPTIONS, QueryOption
from ...analysis.scores import coords_of, names_of, scores_frame
from ...errors import DamagedError, MirflowError, QueryError, StoreError, UnknownNameError, suggest
from ...pipeline.document import without_folders
from ...questions import QUESTIONS, SHARED, Question, find
from ...reports.leaderboard import json_schema, leaderboard, to_json
from ...reports.tables import Tabulation, table_of, to_arrow
from ...store.cells import Status
from ...store.format import list_cautions, nested_attrs
from ...store.generations import chunk_key
from .accounts import Viewer
from .cache import CORS, Content, Snapshot, Stores, choose_kind, digest, is_known
from .security import GuardedRoute
from .service import Service
from .views import View, Views

if TYPE_CHECKING:
    import xarray as xr


BASE = "/api/v1"
LONGEST = 2_000  # longest value of a parameter, in characters
MANY = 200  # most values of a parameter that may be repeated
# Most rows of a response by format.
ROWS = MappingProxyType({"json": 200_000, "csv": 500_000, "arrow": 2_000_000, "parquet": 2_000_000})
# Parameters that select, divide or list tracks.
_CHOOSE_TRACKS = frozenset({"annotator", "by", "cluster", "missing", "system", "track", "undefined", "unit", "where"})
TRIALS = 5  # attempts at a response if stores are published meanwhile
SECONDS = 10.0  # longest computation in seconds, estimated beforehand

_MEDIA = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
_TABLES = ("json", "csv", "arrow", "parquet")
_TITLES = {
    400: "Bad request",
    403: "Not public",
    404: "Not found",
    406: "Not acceptable",
    413: "Too much",
    501: "Not installed",
}


class ApiError(MirflowError):
    """A request refused by the API."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


_KINDS = {int: "integer", float: "number", bool: "boolean"}


def _ends(option: QueryOption) -> tuple[float | None, float | None]:
    return (0.5, 0.999) if option.level else (option.least, 1000 if option.kind is int else None)


def _read(name: str, option: QueryOption, given: Sequence[str]) -> Any:
    repeated = option.many or option.pairs
    if len(given) > (MANY if repeated else 1):
        raise ApiError(400, f"{name} is given {len(given)} times: at most {MANY if repeated else 'once'} is allowed")
    if any(len(text) > LONGEST for text in given):
        raise ApiError(400, f"{name} is longer than {LONGEST} characters")
    if option.pairs:
        pairs: dict[str, str] = {}
        for text in given:
            key, _, word = (part.strip() for part in text.partition("="))
            if not key or not word or key in pairs:
                raise ApiError(400, f"invalid {name} {text!r}: expected name=value, each name once")
            pairs[key] = word
        return pairs
    values: list[Any] = []
    kind, (low, high) = _KINDS.get(option.kind), _ends(option)
    for text in given:
        if option.choices is not None and text not in (names := [*option.choices()]):
            raise ApiError(400, f"{name}: unknown value {text!r}; {suggest(text, names)}")
        if kind == "boolean" and text not in ("true", "false"):
            raise ApiError(400, f"invalid {name} {text!r}: expected true or false")
        if kind is None or kind == "boolean":
            values.append(text if kind is None else text == "true")
            continue
        try:
            value: float = option.kind(text)
        except ValueError:
            raise ApiError(400, f"invalid {name} {text!r}: expected {kind}") from None
        if (low is not None and not value >= low) or (high is not None and not value <= high) or value != value:
            span = (
                f"at least {low:g}" if high is None else f"at most {high:g}" if low is None else f"{low:g} to {high:g}"
            )
            raise ApiError(400, f"invalid {name} {text!r}: expected {span}")
        values.append(value)
    return values if option.many else values[0]


@dataclass(frozen=True)
class Operation:
    """An operation of the API."""

    name: str  # in OpenAPI; that of the question it answers, if it answers one
    path: str  # below the base path, with ``{store}`` and ``{evaluation}``
    # Takes the service, the snapshot of the store (`SeenStores` if the path names none) and the parameters; returns
    # JSON data, or a table.
    answer: Callable[..., Any]
    summary: str
    parameters: Mapping[str, QueryOption] = field(default_factory=dict)
    formats: tuple[str, ...] = ("json",)
    by_track: bool = False  # whether the response reveals single tracks


_FORMAT = {"format": QueryOption("Format of the table; default: chosen by the Accept header.", choices=lambda: _TABLES)}


class ChangedError(MirflowError):
    """A store was published anew, or the viewer's permissions changed, while a response was made."""


@dataclass(frozen=True)
class SeenStores:
    """The stores as a request sees them."""

    views: Views
    viewer: Viewer | None  # who asks
    tokens: Mapping[str, str] | None  # cache key of the viewer's permissions, by store; None for anonymous viewers

    def ask(self, name: str, question: Callable[[Snapshot], Any]) -> Any:
        """Apply a function to the visible part of a store."""

        def check(snapshot: Snapshot) -> Any:
            if self.tokens is not None and snapshot.token != self.tokens.get(name):
                raise ChangedError(f"{name} or its visible systems changed: retry the request")
            return question(snapshot)

        return self.views.ask(name, self.viewer, check)


def _stores(service: Service, seen: SeenStores, asked: Mapping[str, Any]) -> Any:
    stores = []
    for name in service.shelf if seen.tokens is None else seen.tokens:
        try:
            stores.append(seen.ask(name, partial(_store, service)))
        except StoreError:
            continue  # removed meanwhile, or damaged: list the other stores
    return {"title": service.title, "mirflow": version("mirflow"), "stores": stores}


def _store(service: Service, snapshot: Snapshot, asked: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Describe a store, as in the list of stores if nothing was asked."""
    at = quote(snapshot.name, safe="")
    pinned = quote(f"{snapshot.name}@{snapshot.token}", safe="@")
    # Chunks of a store contain all systems, so partial views have no Zarr address.
    has_zarr = not isinstance(snapshot, View) and all(service.disclosure(snapshot.name))
    evaluations = [
        {
            "name": name,
            **{key: str(ds.attrs.get(key, "")) for key in ("task", "convention", "grid")},
            "headline": headline_metric(ds),
            **{f"{dim}s": ds.sizes[dim] for dim in ("system", "track", "metric")},
        }
        for name, ds in snapshot.boards.items()
    ]
    attrs, stores = snapshot.nodes[""].get("attributes", {}), f"{service.prefix}/stores"
    answer: dict[str, Any] = {"name": snapshot.name, "generation": snapshot.token, "created": attrs.get("created", "")}
    answer |= {"versions": attrs.get("versions", {}), "evaluations": evaluations}
    answer["self"] = f"{service.prefix}{BASE}/stores/{at}"
    zarr = {"zarr": f"{stores}/{at}.zarr", "zarr_of_generation": f"{stores}/{pinned}.zarr"}
    answer |= {name: address if has_zarr else None for name, address in zarr.items()}
    if asked is None:
        return answer
    pipeline = str(attrs.get("pipeline", "")) if service.disclosure(snapshot.name).by_track else ""
    return {**answer, "pipeline": without_folders(pipeline)}


def _evaluation(service: Service, snapshot: Snapshot, asked: Mapping[str, Any]) -> Any:
    name, ds = choose_one(snapshot.boards, None, asked["evaluation"])
    shown = service.disclosure(snapshot.name)
    attrs = nested_attrs(ds.attrs)
    cells = [
        {state.name: count for state, count in zip(Status, row, strict=True) if count}
        for row in count_statuses(ds).tolist()
    ]
    durations = ds["duration"].values.tolist() if shown.references and "duration" in ds else None
    tracks = _labels(ds, "track", duration=durations) if shown.by_track else None
    answer: dict[str, Any] = {"store": snapshot.name, "generation": snapshot.token, "name": name}
    answer |= {key: attrs.get(key, "") for key in ("task", "convention", "grid", "combine", "created")}
    answer |= {key: attrs.get(key, {}) for key in ("parameters", "versions")}
    answer |= {"warnings": list_cautions(attrs) if shown.by_track else [], "headline": headline_metric(ds)}
    return {**answer, "systems": _labels(ds, "system", cells=cells), "tracks": tracks, "metrics": _labels(ds, "metric")}


def _labels(ds: xr.Dataset, dim: str, **more: Sequence[Any] | None) -> list[dict[str, Any]]:
    """List the labels of a dim with their coordinates; missing values are null."""
    columns = {name: values.tolist() for name, values in coords_of(ds, dim).items()}
    columns |= {name: values for name, values in more.items() if values is not None}
    columns = {
        name: [None if isinstance(value, float) and not np.isfinite(value) else value for value in values]
        for name, values in columns.items()
    }
    rows = zip(*columns.values(), strict=True) if columns else ((),) * ds.sizes[dim]
    return [
        {"name": label, **{key: value for key, value in zip(columns, row, strict=True) if value != ""}}
        for label, row in zip(names_of(ds, dim), rows, strict=True)
    ]


def _ask(question: Question, service: Service, snapshot: Snapshot, asked: Mapping[str, Any]) -> Tabulation[Any]:
    """Answer a question to scores, in the order of the store, unless that would take too long."""
    renamed = {one.parameter: name for name, one in {**OPTIONS, **SHARED}.items() if one.parameter}
    words = {renamed.get(name, name): value for name, value in asked.items()}
    words.pop("format", None)
    group = words.pop("group", None)
    if words.keys() & {"ci", "significance"} and {"track", "annotator"} & set(words.get("by", ())):
        raise ApiError(400, "ci and significance need several tracks: leave out by=track")
    boards = choose(snapshot.boards, words.get("metric"), group)
    assert question.cost is not None
    seconds = 0.0
    for ds in boards.values():
        try:
            systems = len(find_labels(ds, "system", words.get("system")))
            cells = systems * len(find_labels(ds, "track", words.get("tracks")))
            cells *= len(find_metrics(ds, words.get("metric")))
        except MirflowError:
            systems = cells = 0  # the question itself will report the error
        seconds += question.cost(cells, systems, ds.sizes["track"], words)
    if seconds > SECONDS:
        raise ApiError(413, "the computation would take too long: select fewer metrics or systems, or copy the store")
    return question.ask([boards], {"sort": "stored", **words} if question.best_first else words)


def _scores(service: Service, snapshot: Snapshot, asked: Mapping[str, Any]) -> Any:
    _, ds = choose_one(snapshot.boards, asked.get("metric"), asked["evaluation"])
    ds = ds.isel(
        system=find_labels(ds, "system", asked.get("system")),
        track=find_labels(ds, "track", asked.get("track")),
        metric=find_metrics(ds, asked.get("metric")),
    )
    if "where" in asked:
        ds = restrict(ds, asked["where"])
    _check_rows(ds["score"].size, asked["format"])
    frame = scores_frame(ds)
    if asked["format"] in ("arrow", "parquet"):
        return frame
    table = table_of(frame, list(frame.columns))
    return Tabulation[object]([], lambda width: [table], lambda: [table])


def _check_rows(count: int, style: str) -> None:
    if count > ROWS[style]:
        raise ApiError(
            413,
            f"{count} rows exceed the limit of {ROWS[style]} for {style}: select systems, tracks or metrics, "
            "another format (arrow, parquet), or open the store itself (zarr)",
        )


def _leaderboard(service: Service, snapshot: Snapshot, asked: Mapping[str, Any]) -> bytes:
    level = DEFAULT_LEVEL if asked.get("intervals", True) else None
    boards = choose(snapshot.boards, None, asked.get("evaluation"))
    return to_json(leaderboard(boards, title=snapshot.name, level=level)).encode()


_OF_STORE, _OF_EVALUATION = "/stores/{store}", "/stores/{store}/evaluations/{evaluation}"
# All operations; routes and the OpenAPI description are generated from them.
OPERATIONS = (
    Operation(
        "index",
        "",
        lambda service, seen, asked: {
            "title": service.title,
            "mirflow": version("mirflow"),
            "stores": f"{service.prefix}{BASE}/stores",
            "openapi": f"{service.prefix}{BASE}/openapi.json",
        },
        "Version and entry points.",
    ),
    Operation(
        "openapi",
        "/openapi.json",
        lambda service, seen, asked: openapi(service.title, service.prefix),
        "This description.",
    ),
    Operation("stores", "/stores", _stores, "All stores, with their evaluations and generations."),
    Operation("store", _OF_STORE, _store, "A store: its evaluations, versions, pipeline, and addresses of its Zarr."),
    Operation(
        "evaluation", _OF_EVALUATION, _evaluation, "An evaluation: systems, tracks and metrics with their coordinates."
    ),
    Operation(
        "scores",
        f"{_OF_EVALUATION}/scores",
        _scores,
        "Scores by track: one row per system, track and metric with a single value per track.",
        {OPTIONS[name].parameter or name: OPTIONS[name] for name in ("metric", "system", "tracks", "where")} | _FORMAT,
        _TABLES,
        by_track=True,
    ),
    *(
        Operation(
            one.name,
            f"{_OF_STORE}/{one.name}",
            partial(_ask, one),
            f"{one.brief[:-1]}: the rows of `mirflow {one.name}` for programs.",
            {option.parameter or name: option for name, option in one.takes.items() if not option.local} | _FORMAT,
            _TABLES,
            by_track=one.by_track,
        )
        for one in map(find, QUESTIONS)
        if one.cost is not None
    ),
    Operation(
        "leaderboard",
        f"{_OF_STORE}/leaderboard",
        _leaderboard,
        "Systems ranked by the headline metric, in the schema of `mirflow export`.",
        {"evaluation": SHARED["group"], "intervals": QueryOption("false: omit intervals and comparisons.", kind=bool)},
    ),
)


def openapi(title: str, root: str = "") -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the API."""
    problem = {"description": "A refusal.", "content": {"application/problem+json": {"schema": {"$ref": _PROBLEM}}}}
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
        inside = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
        rows = {"type": "array", "items": {"type": "object"}} if operation.formats == _TABLES else {"type": "object"}
        content = {_MEDIA[style]: {"schema": rows if style == "json" else {}} for style in operation.formats}
        described: list[dict[str, Any]] = [*inside]
        for name, option in operation.parameters.items():
            schema: dict[str, Any] = {"type": _KINDS.get(option.kind, "string")}
            schema |= {"maxLength": LONGEST} if schema["type"] == "string" else {}
            schema |= {"pattern": "^[^=]+=.+$"} if option.pairs else {}
            schema |= {"enum": [*option.choices()]} if option.choices is not None else {}
            ends = zip(("minimum", "maximum"), _ends(option), strict=True)
            schema |= {key: end for key, end in ends if end is not None}
            if option.many or option.pairs:
                schema = {"type": "array", "items": schema, "maxItems": MANY}
            about = {"name": name, "in": "query", "description": option.help, "schema": schema}
            described.append({**about, **({"required": True} if option.needed else {})})
        responses = {"200": {"description": "The answer.", "content": content}, "default": problem}
        get = {"summary": operation.summary, "operationId": operation.name, "parameters": described}
        paths[BASE + operation.path] = {"get": {**get, "responses": responses}}
    ranked = paths[f"{BASE}{_OF_STORE}/leaderboard"]["get"]["responses"]["200"]["content"][_MEDIA["json"]]
    ranked["schema"] = {"$id": "mirflow-leaderboard", **json_schema()}
    info = {"title": title, "version": version("mirflow"), "description": "Results of a mirflow server, read only."}
    description = {"openapi": "3.1.0", "info": info, "servers": [{"url": root or "/"}], "paths": paths}
    return {**description, "components": {"schemas": {"Problem": _PROBLEM_SCHEMA}}}


_PROBLEM = "#/components/schemas/Problem"
_PROBLEM_SCHEMA = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {"title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"}},
    "description": "Problem details (RFC 9457).",
}


def routes(service: Service, views: Views) -> list[BaseRoute]:
    """Return the routes of the API."""
    found: list[BaseRoute] = []
    for operation in OPERATIONS:
        respond, rate = partial(_respond, service, views, operation), "query" if operation.parameters else None
        found.append(GuardedRoute(BASE + operation.path, respond, role=None, rate=rate))
    unknown = _refuse(ApiError(404, f"unknown address; see {BASE}/openapi.json"))
    return [
        *found,
        GuardedRoute(
            f"{BASE}/{{rest:path}}",
            lambda _: Response(unknown.body, unknown.status, media_type=unknown.media_type),
            role=None,
        ),
        GuardedRoute(
            "/stores/{store}.zarr/{key:path}", partial(store_value, service, ZarrFiles(service.shelf)), role=None
        ),
    ]


async def _respond(service: Service, views: Views, operation: Operation, request: Request) -> ASGIApp:
    viewer: Viewer | None = request.state.viewer
    try:
        style = request.query_params.get("format")
        if style not in _TABLES or operation.formats != _TABLES:
            kinds = {_MEDIA[style].partition(";")[0]: style for style in operation.formats}
            kind = choose_kind(request.headers.get("accept", ""), list(kinds))
            if kind is None:
                raise ApiError(406, f"not acceptable: choose from {', '.join(kinds)}")
            style = kinds[kind]
        options = operation.parameters
        values_of: dict[str, list[str]] = {}
        for name, value in request.query_params.multi_items():
            if name not in options:
                raise ApiError(400, f"unknown parameter {name[:80]!r}; {suggest(name[:80], options)}")
            values_of.setdefault(name, []).append(value)
        for name, option in options.items():
            if option.needed and name not in values_of:
                raise ApiError(400, f"{name} is needed: {option.help}")
        asked = {name: _read(name, options[name], values) for name, values in values_of.items()}
        if operation.formats == _TABLES:
            asked["format"] = style
        named = [request.path_params["store"]] if "store" in request.path_params else []
        if "evaluation" in request.path_params:
            asked["evaluation"] = request.path_params["evaluation"]
        for _ in range(TRIALS):
            seen, view = SeenStores(views, None, None), ""
            if viewer is not None:
                tokens = await run_in_threadpool(views.tokens, viewer, named)
                seen, view = SeenStores(views, viewer, tokens), msgspec.json.encode(sorted(tokens.items())).decode()
            with suppress(ChangedError):
                return await service.answers.answer(
                    request,
                    named or list(service.shelf),
                    partial(_answer, service, operation, named, asked, style, seen),
                    variant=style,
                    chosen=bool(operation.parameters),
                    view=view,
                )
        raise ApiError(503, "the stores are changing too often at the moment: retry the request")
    except MirflowError as error:
        refusal = _refuse(error)
    return Response(refusal.body, refusal.status, media_type=refusal.media_type)


def _answer(
    service: Service, operation: Operation, names: Sequence[str], asked: Mapping[str, Any], style: str, seen: SeenStores
) -> Content:
    """Compute the content of a response. Errors are cached too, as they take as long to find."""
    try:
        if names:
            # If only aggregates are public, those over a subset reveal the tracks left out, as do other treatments of
            # missing scores, and systems used to select the tracks that all of them have.
            by_track, refused = service.disclosure(names[0]).by_track, sorted(_CHOOSE_TRACKS & asked.keys())
            if not by_track and operation.by_track:
                raise ApiError(403, f"scores by track of {names[0]} are not public: use leaderboard, query or compare")
            if not by_track and refused:
                only = f"only aggregates over all tracks of {names[0]} are public"
                raise ApiError(403, f"{only}: leave out {', '.join(refused)}")
            found = seen.ask(names[0], lambda snapshot: operation.answer(service, snapshot, asked))
        else:
            found = operation.answer(service, seen, asked)
        if isinstance(found, Tabulation):
            values = (item["value"] for item in found.items if "value" in getattr(item, "data_vars", ()))
            _check_rows(sum(value.size for value in values), style)
        if isinstance(found, bytes):
            data = found
        elif style in ("arrow", "parquet"):
            try:
                import pyarrow as arrow
                import pyarrow.parquet
            except ImportError:
                text = f"{style} needs pyarrow, which is not installed on this server; choose json or csv"
                raise ApiError(501, text) from None
            written = io.BytesIO()
            made = isinstance(found, Tabulation)
            table = to_arrow(found.rows()) if made else arrow.Table.from_pandas(found, preserve_index=False)
            if style == "parquet":
                pyarrow.parquet.write_table(table, written)
            else:
                with arrow.ipc.new_stream(written, table.schema) as stream:
                    stream.write_table(table)
            data = written.getvalue()
        elif isinstance(found, Tabulation):
            data = (found.to_csv() if style == "csv" else found.to_json()).encode()
        else:
            data = msgspec.json.encode(found)
        return Content(data, _MEDIA[style])
    except ChangedError:
        raise
    except MirflowError as error:
        return _refuse(error)


def _refuse(error: MirflowError) -> Content:
    """Make an error response; only messages about names and queries are shown."""
    if isinstance(error, ApiError):
        status, text = error.status, str(error)
    elif isinstance(error, UnknownNameError):
        status, text = (404 if error.what in ("store", "group") else 400), str(error)
    elif isinstance(error, QueryError):
        status, text = 400, str(error)
    elif isinstance(error, StoreError):
        status, text = 404, "the store cannot be read at the moment"
    else:
        status, text = 400, "the request cannot be answered"
    problem = {"title": _TITLES.get(status, "Refused"), "status": status, "detail": text[:2_000]}
    return Content(msgspec.json.encode(problem), "application/problem+json", status=status)


_METADATA = "zarr.json"
_MOST_DOCUMENTS = 2_000  # most documents of metadata in memory
_TOKEN = re.compile(r"\d{1,10}-[0-9a-f]{8}")
_PRIVATE = ("root",)  # attributes that are withheld: a path on the server
# Chunk key encodings, used by generations in turn.
#
# A client reads the metadata first and chunks later, by addresses that do not name a generation. Since three
# consecutive generations use different chunk keys, the key identifies the generation of the client's metadata: the
# client gets the chunk of that generation, or an error if it is gone, but never a chunk of another generation.
_ENCODINGS = (("default", "/"), ("default", "."), ("v2", "."))
_INDEX = r"(?:0|[1-9]\d{0,9})"
# Patterns of chunk keys in these encodings.
_NAMED = (
    re.compile(rf"(?P<array>.+)/c(?P<place>(?:/{_INDEX})*)"),
    re.compile(rf"(?P<array>.+)/c\.(?P<place>{_INDEX}(?:\.{_INDEX})*)"),
    re.compile(rf"(?P<array>.+)/(?P<place>{_INDEX}(?:\.{_INDEX})*)"),
)


class GoneError(StoreError):
    """The generation was removed by later runs."""


@dataclass(eq=False)
class ZarrFiles:
    """The values of stores by key, for plain Zarr clients."""

    stores: Stores
    _documents: OrderedDict[tuple[Snapshot, bool, str], bytes] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def find(self, name: str, key: str, token: str | None = None) -> tuple[Snapshot, bytes | Path] | None:
        """Find the value of a key. `key`: such as ``chord/score/c/0/0/0``; invalid keys have no value. `token`: token
        of a generation; None: the current one, or the previous one for a client with its metadata. Returns: metadata as
        bytes, chunks as files; None without a value.
        """
        current = snapshot = self.stores.current(name)
        if token is not None and token != snapshot.token:
            if not _TOKEN.fullmatch(token):
                return None
            try:
                current = snapshot = self.stores.pinned(name, token)
            except StoreError as error:
                raise GoneError(str(error)) from None
        parts = key.split("/")
        if any(not part or part.startswith(".") or not part.isprintable() or "\\" in part for part in parts):
            return None
        if key == _METADATA or key.endswith(f"/{_METADATA}"):
            document = self._document(snapshot, key, pinned=token is not None)
            return None if document is None else (snapshot, document)
        from ...store.zarr_io import is_lost

        for tag, pattern in enumerate(_NAMED if token is None else _NAMED[:1]):
            named = pattern.fullmatch(key)
            array = current.nodes.get(named["array"], {}) if named is not None else {}
            if named is None or array.get("node_type") != "array":
                continue
            place = [int(index) for index in re.findall(r"\d+", named["place"])]
            if len(place) != len(array["shape"]):
                return None
            if token is None and tag != current.number % len(_ENCODINGS):
                before = self.stores.generation(current, current.number - 1)
                if before is None or tag != before.number % len(_ENCODINGS):
                    raise GoneError(f"{current.name} was published anew while it was being read: open it again")
                snapshot = before
            stored = snapshot.nodes.get(named["array"], {})
            path = snapshot.folder / f"{named['array']}/{chunk_key(stored, place)}" if stored else None
            # A file outside of the folder is none.
            if path is not None and not (path.is_file() and os.path.realpath(path) == str(path)):
                path = None
            if path is None:
                if not (snapshot.folder / _METADATA).is_file():
                    raise GoneError(f"{snapshot.name} was published anew while it was being read: open it again")
                # A client would replace the chunk by fill values, although it was written.
                sizes = stored["chunk_grid"]["configuration"]["chunk_shape"] if stored else ()
                grid = zip(place, stored.get("shape", ()), sizes, strict=bool(stored))
                inside = all(index < math.ceil(length / size) for index, length, size in grid)
                if stored and inside and is_lost(snapshot.folder / named["array"]):
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
                described["chunk_key_encoding"] = {"name": name, "configuration": {"separator": separator}}
        text = json.dumps(content, ensure_ascii=False).encode()
        with self._lock:
            while len(self._documents) >= _MOST_DOCUMENTS:
                self._documents.popitem(last=False)
            self._documents[place] = text
        return text


def store_value(service: Service, files: ZarrFiles, request: Request) -> Response:
    """Return the value of a key of a store in Zarr."""
    name, _, token = request.path_params["store"].partition("@")
    value = None
    try:
        # An encoded slash would be part of a name, which never occurs.
        key = request.path_params["key"].replace("%2F", "\\").replace("%25", "%")
        if all(service.disclosure(name)):
            value = files.find(name, key, token or None)
    except GoneError as error:
        return PlainTextResponse(f"{error}\n", 410, headers={"Cache-Control": "no-store"})
    except DamagedError:
        return PlainTextResponse(f"{name}: a file of this store is missing\n", 503)
    except (UnknownNameError, StoreError):
        pass
    if value is None:
        return PlainTextResponse("Not found.\n", 404, headers={"Cache-Control": "no-store"})
    snapshot, content = value
    etag = f"{snapshot.token}-{digest(request.url.path)}"
    # The files of a generation never change.
    keep = "public, max-age=31536000, immutable" if token else "no-cache"
    headers = {"ETag": f'"{etag}"', "Cache-Control": keep, "Cross-Origin-Resource-Policy": "cross-origin"}
    headers |= CORS if service.cors else {}
    if is_known(request.headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=headers)
    if isinstance(content, bytes):
        return Response(content, headers=headers, media_type="application/json")
    try:
        status = content.stat()
    except FileNotFoundError:
        return PlainTextResponse("This generation was removed. Open the store again.\n", 410)
    return FileResponse(content, headers=headers, media_type="application/octet-stream", stat_result=status)
