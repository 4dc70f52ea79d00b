"""Pages of results, always those of the generation that is published now, and recordings to listen to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute

from ..errors import QueryError, StoreError, UnknownNameError
from ..reports.leaderboard import to_json
from ..site import contents
from ..site.contents import StoreContents
from .answers import Content, is_known
from .pages import pages_of, viewer_of
from .recordings import TYPES as RECORDING_TYPES
from .security import GuardedRoute
from .service import Service
from .snapshots import Snapshot

_HTML = "text/html; charset=utf-8"


def store_contents(snapshot: Snapshot) -> StoreContents:
    """What the pages of a store show, computed once for each generation.

    Raises
    ------
    QueryError
        If no evaluation has systems and a metric that is one number a track.
    """
    found: StoreContents = snapshot.once("contents", lambda: contents.store(snapshot.name, snapshot.boards))
    return found


def all_contents(service: Service) -> list[StoreContents]:
    """Contents of all stores that have something to show."""
    found = []
    for name in service.shelf:
        try:
            found.append(service.shelf.ask(name, store_contents))
        except (QueryError, StoreError):
            continue  # without systems yet, or just removed
    return found


def routes(service: Service) -> list[BaseRoute]:
    """Routes of the pages of results."""
    pages: dict[str, Callable[..., Content]] = {
        "/": _front,
        "/stores/{store:name}/": _store,
        "/stores/{store:name}.json": _store_json,
        "/stores/{store:name}/{evaluation:name}.json": _evaluation_json,
        "/stores/{store:name}/{evaluation:name}/": _evaluation,
        "/stores/{store:name}/{evaluation:name}/systems/{system:name}/": _system,
        "/stores/{store:name}/{evaluation:name}/tracks/": _tracks,
        "/stores/{store:name}/{evaluation:name}/tracks/{track:name}/": _track,
    }
    found = [_route(service, path, make) for path, make in pages.items()]
    return [*found, GuardedRoute("/audio/{audio}", listen, role=None)]


def _route(service: Service, path: str, make: Callable[..., Content]) -> GuardedRoute:
    async def endpoint(request: Request) -> Response:
        parts = request.path_params
        names = [parts["store"]] if "store" in parts else list(service.shelf)
        try:
            if request.state.viewer is not None:
                found = await run_in_threadpool(make, service, request, **parts)
                return Response(found.body, media_type=found.media_type)
            return await service.answers.answer(request, names, partial(make, service, request, **parts))
        except (UnknownNameError, StoreError) as error:
            raise HTTPException(404) from error

    endpoint.__name__ = make.__name__.strip("_")
    return GuardedRoute(path, endpoint, role=None)


def _front(service: Service, request: Request) -> Content:
    page = contents.front(all_contents(service))
    return _render(service, request, "front.html", page=page, here="front")


def _store(service: Service, request: Request, store: str) -> Content:
    page = contents.front([_of(service, store)])
    return _render(service, request, "front.html", page=page)


def _evaluation(service: Service, request: Request, store: str, evaluation: str) -> Content:
    return _render(service, request, "evaluation.html", page=contents.evaluation(_of(service, store), evaluation))


def _system(service: Service, request: Request, store: str, evaluation: str, system: str) -> Content:
    page = contents.system(_of(service, store), evaluation, system)
    return _render(service, request, "system.html", page=page)


def _tracks(service: Service, request: Request, store: str, evaluation: str) -> Content:
    return _render(service, request, "tracks.html", page=contents.tracks(_of(service, store), evaluation))


def _track(service: Service, request: Request, store: str, evaluation: str, track: str) -> Content:
    return _render(service, request, "track.html", page=contents.track(_of(service, store), evaluation, track))


def _store_json(service: Service, request: Request, store: str) -> Content:
    return Content(to_json(_of(service, store).board).encode(), "application/json")


def _evaluation_json(service: Service, request: Request, store: str, evaluation: str) -> Content:
    found = _of(service, store)
    board = msgspec.structs.replace(found.board, evaluations=[found.evaluation(evaluation)])
    return Content(to_json(board).encode(), "application/json")


def _of(service: Service, store: str) -> StoreContents:
    try:
        return service.shelf.ask(store, store_contents)
    except QueryError as error:
        raise StoreError(str(error)) from error


def _render(service: Service, request: Request, template: str, **context: Any) -> Content:
    text = pages_of(service).render(template, viewer=viewer_of(request), **context)
    return Content(text.encode(), _HTML)


def listen(request: Request) -> Response:
    """A recording, or a range of its bytes."""
    service: Service = request.app.state.service
    found = service.recordings.find(request.path_params["audio"])
    if found is None:
        raise HTTPException(404)
    if not found.may_hear(request.state.viewer):
        raise HTTPException(403 if request.state.viewer else 401, "This recording is not for everybody.")
    try:
        status = found.path.stat()
    except OSError:
        raise HTTPException(404) from None
    keep = "public, max-age=3600" if found.role is None else "private, max-age=3600"
    kind = RECORDING_TYPES[found.path.suffix.lower()]
    answer = FileResponse(found.path, headers={"Cache-Control": keep}, media_type=kind, stat_result=status)
    if is_known(request.headers.get("if-none-match", ""), answer.headers["etag"].strip('"')):
        return Response(status_code=304, headers={"ETag": answer.headers["etag"], "Cache-Control": keep})
    return answer
