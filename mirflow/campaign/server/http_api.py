"""The HTTP API: stores, tables, scores by track and leaderboards. Its OpenAPI description is generated."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from ...analysis.queries import choose, choose_one, count_statuses
from ...analysis.query_options import OPTIONS, Names, QueryOption
from ...analysis.scores import coords_of, names_of, scores_frame
from ...analysis.selection import find_labels, find_metrics, headline_metric, restrict
from ...errors import MirflowError, QueryError, StoreError, UnknownNameError, suggest
from ...pipeline.document import without_folders
from ...questions import SHARED, Question, find, names
from ...reports.leaderboard import json_schema, leaderboard, to_json
from ...reports.tables import Table, Tabulation, table_of, to_arrow
from ...reports.tables import to_csv as table_to_csv
from ...reports.tables import to_json as table_to_json
from ...store.cells import Status
from ...store.format import list_cautions, nested_attrs
from .accounts import Viewer
from .cache import Content, choose_kind
from .security import GuardedRoute
from .service import Service
from .snapshots import Snapshot
from .views import View, Views

if TYPE_CHECKING:
    import xarray as xr


BASE = "/api/v1"
LONGEST = 2_000
"""Longest value of a parameter, in characters."""
MANY = 200
"""Most values of a parameter that may be repeated."""
ROWS = MappingProxyType({"json": 200_000, "csv": 500_000, "arrow": 2_000_000, "parquet": 2_000_000})
"""Most rows of a response by format."""
_CHOOSE_TRACKS = frozenset({"annotator", "by", "cluster", "missing", "system", "track", "undefined", "unit", "where"})
"""Parameters that select, divide or list tracks."""
TRIALS = 5
"""Attempts at a response if stores are published meanwhile."""
SECONDS = 10.0
"""Longest computation in seconds, estimated beforehand."""

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
    if not option.pairs:
        values = [_read_value(name, option, text) for text in given]
        return values if option.many else values[0]
    pairs: dict[str, str] = {}
    for text in given:
        key, _, value = (part.strip() for part in text.partition("="))
        if not key or not value or key in pairs:
            raise ApiError(400, f"invalid {name} {text!r}: expected name=value, each name once")
        pairs[key] = value
    return pairs


def _read_value(name: str, option: QueryOption, text: str) -> Any:
    if option.choices is not None and text not in (names := [*option.choices()]):
        raise ApiError(400, f"{name}: unknown value {text!r}; {suggest(text, names)}")
    kind = _KINDS.get(option.kind)
    if kind is None:
        return text
    if kind == "boolean":
        if text not in ("true", "false"):
            raise ApiError(400, f"invalid {name} {text!r}: expected true or false")
        return text == "true"
    try:
        value: float = option.kind(text)
    except ValueError:
        raise ApiError(400, f"invalid {name} {text!r}: expected {kind}") from None
    low, high = _ends(option)
    if (low is not None and not value >= low) or (high is not None and not value <= high) or value != value:
        span = f"at least {low:g}" if high is None else f"at most {high:g}" if low is None else f"{low:g} to {high:g}"
        raise ApiError(400, f"invalid {name} {text!r}: expected {span}")
    return value


def _describe(name: str, option: QueryOption) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _KINDS.get(option.kind, "string")}
    if schema["type"] == "string":
        schema["maxLength"] = LONGEST
    if option.pairs:
        schema["pattern"] = "^[^=]+=.+$"
    if option.choices is not None:
        schema["enum"] = [*option.choices()]
    schema |= {key: end for key, end in zip(("minimum", "maximum"), _ends(option), strict=True) if end is not None}
    if option.many or option.pairs:
        schema = {"type": "array", "items": schema, "maxItems": MANY}
    described = {"name": name, "in": "query", "description": option.help, "schema": schema}
    return described | ({"required": True} if option.needed else {})


@dataclass(frozen=True)
class Operation:
    """An operation of the API."""

    path: str
    """Below the base path, with ``{store}`` and ``{evaluation}``."""
    answer: Callable[..., Any]
    """Takes the service, the snapshot of the store (`SeenStores` if the path names none) and the parameters; returns
    JSON data, or a table.
    """
    summary: str
    parameters: Mapping[str, QueryOption] = field(default_factory=dict)
    formats: tuple[str, ...] = ("json",)
    by_track: bool = False
    """Whether the response reveals single tracks."""

    @property
    def name(self) -> str:
        """Its name in OpenAPI: that of the function, or of the question."""
        if isinstance(self.answer, partial):
            return self.path.rpartition("/")[2]
        return self.answer.__name__.strip("_")


_FORMAT = {"format": QueryOption("Format of the table; default: chosen by the Accept header.", choices=lambda: _TABLES)}


def _parameters(options: Mapping[str, QueryOption]) -> dict[str, QueryOption]:
    return {option.parameter or name: option for name, option in options.items() if not option.local}


class ChangedError(MirflowError):
    """A store was published anew, or the viewer's permissions changed, while a response was made."""


@dataclass(frozen=True)
class SeenStores:
    """The stores as a request sees them."""

    views: Views
    viewer: Viewer | None
    """Who asks."""
    tokens: Mapping[str, str] | None
    """Cache key of the viewer's permissions, by store; None for anonymous viewers."""

    @property
    def view(self) -> str:
        """Cache key of the view; empty for anonymous viewers."""
        return "" if self.tokens is None else msgspec.json.encode(sorted(self.tokens.items())).decode()

    def ask(self, name: str, question: Callable[[Snapshot], Any]) -> Any:
        """Apply a function to the visible part of a store."""

        def check(snapshot: Snapshot) -> Any:
            if self.tokens is not None and snapshot.token != self.tokens.get(name):
                raise ChangedError(f"{name} or its visible systems changed: retry the request")
            return question(snapshot)

        return self.views.ask(name, self.viewer, check)


def _see(views: Views, viewer: Viewer, names: Sequence[str]) -> SeenStores:
    """Return the parts of some stores that a viewer sees now, or of all stores if no name is given."""
    tokens = {}
    for name in names or views.names(viewer):
        try:
            tokens[name] = views.token(name, viewer)
        except StoreError:
            if names:
                raise
    return SeenStores(views, viewer, tokens)


def _stores(service: Service, seen: SeenStores, asked: Mapping[str, Any]) -> Any:
    stores = []
    for name in seen.views.names(None) if seen.tokens is None else seen.tokens:
        try:
            stores.append(seen.ask(name, partial(_describe_store, service)))
        except StoreError:
            continue  # removed meanwhile, or damaged: list the other stores
    return {"title": service.title, "mirflow": version("mirflow"), "stores": stores}


def _describe_store(service: Service, snapshot: Snapshot) -> dict[str, Any]:
    at = quote(snapshot.name, safe="")
    pinned = quote(f"{snapshot.name}@{snapshot.token}", safe="@")
    # Chunks of a store contain all systems, so partial views have no Zarr address.
    has_zarr = not isinstance(snapshot, View) and service.disclosure(snapshot.name).everything
    evaluations = [
        {
            "name": name,
            **{key: str(ds.attrs.get(key, "")) for key in ("task", "convention", "grid")},
            "headline": headline_metric(ds),
            **{f"{dim}s": ds.sizes[dim] for dim in ("system", "track", "metric")},
        }
        for name, ds in snapshot.boards.items()
    ]
    attrs = snapshot.nodes[""].get("attributes", {})
    return {
        "name": snapshot.name,
        "generation": snapshot.token,
        "created": attrs.get("created", ""),
        "versions": attrs.get("versions", {}),
        "evaluations": evaluations,
        "self": f"{service.prefix}{BASE}/stores/{at}",
        "zarr": f"{service.prefix}/stores/{at}.zarr" if has_zarr else None,
        "zarr_of_generation": f"{service.prefix}/stores/{pinned}.zarr" if has_zarr else None,
    }


def _store(service: Service, snapshot: Snapshot, asked: Mapping[str, Any]) -> Any:
    by_track = service.disclosure(snapshot.name).by_track
    pipeline = str(snapshot.nodes[""].get("attributes", {}).get("pipeline", "")) if by_track else ""
    return {**_describe_store(service, snapshot), "pipeline": without_folders(pipeline)}


def _evaluation(service: Service, snapshot: Snapshot, asked: Mapping[str, Any]) -> Any:
    name, ds = choose_one(snapshot.boards, None, asked["evaluation"])
    shown = service.disclosure(snapshot.name)
    attrs = nested_attrs(ds.attrs)
    counts = count_statuses(ds).tolist()
    return {
        "store": snapshot.name,
        "generation": snapshot.token,
        "name": name,
        **{key: attrs.get(key, "") for key in ("task", "convention", "grid", "combine", "created")},
        "parameters": attrs.get("parameters", {}),
        "versions": attrs.get("versions", {}),
        "warnings": list_cautions(attrs) if shown.by_track else [],
        "headline": headline_metric(ds),
        "systems": _labels(ds, "system", cells=[_counts(row) for row in counts]),
        "tracks": _tracks(ds, durations=shown.references) if shown.by_track else None,
        "metrics": _labels(ds, "metric"),
    }


def _tracks(ds: xr.Dataset, *, durations: bool) -> list[dict[str, Any]]:
    timed = durations and "duration" in ds
    return _labels(ds, "track", duration=ds["duration"].values.tolist() if timed else None)


def _counts(row: Sequence[int]) -> dict[str, int]:
    return {state.name: count for state, count in zip(Status, row, strict=True) if count}


def _labels(ds: xr.Dataset, dim: str, **more: Sequence[Any] | None) -> list[dict[str, Any]]:
    """List the labels of a dim with their coordinates; missing values are null."""
    columns = {name: values.tolist() for name, values in coords_of(ds, dim).items()}
    columns |= {name: values for name, values in more.items() if values is not None}
    rows = zip(*columns.values(), strict=True) if columns else ((),) * ds.sizes[dim]
    return [
        {"name": label, **{key: _plain(value) for key, value in zip(columns, row, strict=True) if value != ""}}
        for label, row in zip(names_of(ds, dim), rows, strict=True)
    ]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _ask(question: Question, service: Service, snapshot: Snapshot, asked: Mapping[str, Any]) -> Tabulation[Any]:
    """Answer a question to scores, in the order of the store, unless that would take too long."""
    renamed = {one.parameter: name for name, one in {**OPTIONS, **SHARED}.items() if one.parameter}
    words = {renamed.get(name, name): value for name, value in asked.items()}
    words.pop("format", None)
    group = words.pop("group", None)
    if words.keys() & {"ci", "significance"} and {"track", "annotator"} & set(words.get("by", ())):
        raise ApiError(400, "ci and significance need several tracks: leave out by=track")
    boards = choose(snapshot.boards, words.get("metric"), group)
    sizes = [(*_size(ds, words, words.get("metric")), ds.sizes["track"]) for ds in boards.values()]
    assert question.cost is not None
    if sum(question.cost(*size, words) for size in sizes) > SECONDS:
        raise ApiError(413, "the computation would take too long: select fewer metrics or systems, or copy the store")
    return question.ask([boards], {"sort": "stored", **words} if question.best_first else words)


def _size(ds: xr.Dataset, words: Mapping[str, Any], metric: Names) -> tuple[int, int]:
    try:
        systems = len(find_labels(ds, "system", words.get("system")))
        tracks = len(find_labels(ds, "track", words.get("tracks")))
        return systems * tracks * len(find_metrics(ds, metric)), systems
    except MirflowError:
        return 0, 0  # the query itself will report the error


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
    return table_of(frame, list(frame.columns))


def _check_rows(count: int, style: str) -> None:
    if count > ROWS[style]:
        raise ApiError(
            413,
            f"{count} rows exceed the limit of {ROWS[style]} for {style}: select systems, tracks or metrics, "
            "another format (arrow, parquet), or open the store itself (zarr)",
        )


def _leaderboard(service: Service, snapshot: Snapshot, asked: Mapping[str, Any]) -> Any:
    group = asked.get("evaluation")
    return leaderboard_json(snapshot, group, intervals=asked.get("intervals", True))


def leaderboard_json(snapshot: Snapshot, evaluation: str | None = None, *, intervals: bool = True) -> bytes:
    """Return the leaderboard of a store, or of one evaluation, in the schema of ``mirflow export``."""
    boards = choose(snapshot.boards, None, evaluation)
    return to_json(leaderboard(boards, title=snapshot.name, level=0.95 if intervals else None)).encode()


def _index(service: Service, seen: SeenStores, asked: Mapping[str, Any]) -> Any:
    return {
        "title": service.title,
        "mirflow": version("mirflow"),
        "stores": f"{service.prefix}{BASE}/stores",
        "openapi": f"{service.prefix}{BASE}/openapi.json",
    }


def _openapi(service: Service, seen: SeenStores, asked: Mapping[str, Any]) -> Any:
    return openapi(service.title, service.prefix)


_OF_STORE, _OF_EVALUATION = "/stores/{store}", "/stores/{store}/evaluations/{evaluation}"
OPERATIONS = (
    Operation("", _index, "Version and entry points."),
    Operation("/openapi.json", _openapi, "This description."),
    Operation("/stores", _stores, "All stores, with their evaluations and generations."),
    Operation(_OF_STORE, _store, "A store: its evaluations, versions, pipeline, and addresses of its Zarr."),
    Operation(_OF_EVALUATION, _evaluation, "An evaluation: systems, tracks and metrics with their coordinates."),
    Operation(
        f"{_OF_EVALUATION}/scores",
        _scores,
        "Scores by track: one row per system, track and metric with a single value per track.",
        _parameters({name: OPTIONS[name] for name in ("metric", "system", "tracks", "where")}) | _FORMAT,
        _TABLES,
        by_track=True,
    ),
    *(
        Operation(
            f"{_OF_STORE}/{one.name}",
            partial(_ask, one),
            f"{one.brief[:-1]}: the rows of `mirflow {one.name}` for programs.",
            _parameters(one.takes) | _FORMAT,
            _TABLES,
            by_track=one.by_track,
        )
        for one in map(find, names())
        if one.cost is not None
    ),
    Operation(
        f"{_OF_STORE}/leaderboard",
        _leaderboard,
        "Systems ranked by the headline metric, in the schema of `mirflow export`.",
        {"evaluation": SHARED["group"], "intervals": QueryOption("false: omit intervals and comparisons.", kind=bool)},
    ),
)
"""All operations; routes and the OpenAPI description are generated from them."""


def openapi(title: str, root: str = "") -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the API."""
    problem = {"description": "A refusal.", "content": {"application/problem+json": {"schema": {"$ref": _PROBLEM}}}}
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
        inside = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
        rows = {"type": "array", "items": {"type": "object"}} if operation.formats == _TABLES else {"type": "object"}
        content = {_MEDIA[style]: {"schema": rows if style == "json" else {}} for style in operation.formats}
        paths[BASE + operation.path] = {
            "get": {
                "summary": operation.summary,
                "operationId": operation.name,
                "parameters": [*inside, *map(_describe, operation.parameters, operation.parameters.values())],
                "responses": {"200": {"description": "The answer.", "content": content}, "default": problem},
            }
        }
    ranked = paths[f"{BASE}{_OF_STORE}/leaderboard"]["get"]["responses"]["200"]["content"][_MEDIA["json"]]
    ranked["schema"] = {"$id": "mirflow-leaderboard", **json_schema()}
    schemas = {"Problem": _PROBLEM_SCHEMA}
    info = {"title": title, "version": version("mirflow"), "description": "Results of a mirflow server, read only."}
    return {
        "openapi": "3.1.0",
        "info": info,
        "servers": [{"url": root or "/"}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


_PROBLEM = "#/components/schemas/Problem"
_PROBLEM_SCHEMA = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {"title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"}},
    "description": "Problem details (RFC 9457).",
}


def routes(service: Service, views: Views) -> list[BaseRoute]:
    """Return the routes of the API."""
    found: list[BaseRoute] = [_route(service, views, operation) for operation in OPERATIONS]
    return [*found, GuardedRoute(f"{BASE}/{{rest:path}}", _nothing, role=None)]


async def _nothing(request: Request) -> Response:
    return _respond(_problem(404, f"unknown address; see {BASE}/openapi.json"))


def _route(service: Service, views: Views, operation: Operation) -> GuardedRoute:
    async def endpoint(request: Request) -> Response:
        viewer: Viewer | None = request.state.viewer
        try:
            style = _choose_format(operation, request)
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
                seen = SeenStores(views, None, None)
                if viewer is not None:
                    seen = await run_in_threadpool(_see, views, viewer, named)
                with suppress(ChangedError):
                    return await service.answers.answer(
                        request,
                        named or list(service.shelf),
                        partial(_answer, service, operation, named, asked, style, seen),
                        variant=style,
                        chosen=bool(operation.parameters),
                        view=seen.view,
                    )
        except MirflowError as error:
            return _respond(_content_of(error))
        return _respond(_problem(503, "the stores are changing too often at the moment: retry the request"))

    endpoint.__name__ = operation.name
    return GuardedRoute(BASE + operation.path, endpoint, role=None, rate="query" if operation.parameters else None)


def _answer(
    service: Service, operation: Operation, names: Sequence[str], asked: Mapping[str, Any], style: str, seen: SeenStores
) -> Content:
    """Compute the content of a response. Errors are cached too, as they take as long to find."""
    try:
        if names:
            _check_disclosed(service, names[0], operation, asked)
            found = seen.ask(names[0], lambda snapshot: operation.answer(service, snapshot, asked))
        else:
            found = operation.answer(service, seen, asked)
        return Content(_encode(found, style), _MEDIA[style])
    except ChangedError:
        raise
    except MirflowError as error:
        return _content_of(error)


def _check_disclosed(service: Service, store: str, operation: Operation, asked: Mapping[str, Any]) -> None:
    """Refuse a request that would reveal single tracks if only aggregates are public.

    Aggregates over a subset reveal the tracks left out, as do different treatments of missing scores, and systems used
    to select the tracks that all of them have.
    """
    if service.disclosure(store).by_track:
        return
    if operation.by_track:
        raise ApiError(403, f"scores by track of {store} are not public: use leaderboard, query or compare")
    refused = sorted(_CHOOSE_TRACKS & asked.keys())
    if refused:
        raise ApiError(403, f"only aggregates over all tracks of {store} are public: leave out {', '.join(refused)}")


def _encode(found: Any, style: str) -> bytes:
    if isinstance(found, bytes):
        return found
    if isinstance(found, Tabulation):
        _check_rows(sum(item["value"].size for item in found.items if "value" in getattr(item, "data_vars", ())), style)
        found = found.rows()
    if style in ("arrow", "parquet"):
        try:
            import pyarrow as arrow
            import pyarrow.parquet
        except ImportError:
            raise ApiError(
                501, f"{style} needs pyarrow, which is not installed on this server; choose json or csv"
            ) from None
        table = to_arrow(found) if isinstance(found, Table) else arrow.Table.from_pandas(found, preserve_index=False)
        written = io.BytesIO()
        if style == "parquet":
            pyarrow.parquet.write_table(table, written)
        else:
            with arrow.ipc.new_stream(written, table.schema) as stream:
                stream.write_table(table)
        return written.getvalue()
    if isinstance(found, Table):
        return (table_to_csv(found) if style == "csv" else table_to_json(found)).encode()
    return msgspec.json.encode(found)


def _choose_format(operation: Operation, request: Request) -> str:
    given = request.query_params.get("format")
    if given is not None and operation.formats == _TABLES and given in _TABLES:
        return given
    kinds = {_MEDIA[style].partition(";")[0]: style for style in operation.formats}
    kind = choose_kind(request.headers.get("accept", ""), list(kinds))
    if kind is None:
        raise ApiError(406, f"not acceptable: choose from {', '.join(kinds)}")
    return kinds[kind]


def _content_of(error: MirflowError) -> Content:
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
    return _problem(status, text)


def _respond(content: Content) -> Response:
    return Response(content.body, content.status, media_type=content.media_type)


def _problem(status: int, text: str) -> Content:
    problem = {"title": _TITLES.get(status, "Refused"), "status": status, "detail": text[:2_000]}
    return Content(msgspec.json.encode(problem), "application/problem+json", status=status)
