"""Pages of results, always those of the generation that is published now, and recordings to listen to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute

from ..errors import QueryError, StoreError, UnknownNameError
from ..reports.leaderboard import to_json
from ..reports.page import live
from ..site import contents
from ..site.contents import StoreContents
from .answers import Content, digest, is_known
from .pages import pages_of, viewer_of
from .recordings import TYPES as RECORDING_TYPES
from .security import GuardedRoute
from .service import Service
from .snapshots import Snapshot

if TYPE_CHECKING:
    import xarray as xr

_HTML = "text/html; charset=utf-8"
_FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable"}
_REPORT_BYTES = 32_000_000
"""Numbers and timelines of a report that are kept."""


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
        "/stores/{store:name}/": _report,
        "/stores/{store:name}/report/contents.json": _report_contents,
        "/stores/{store:name}/report/tracks/{track:name}.json": _report_track,
        "/stores/{store:name}.json": _store_json,
        "/stores/{store:name}/{evaluation:name}.json": _evaluation_json,
        "/stores/{store:name}/{evaluation:name}/": _evaluation,
        "/stores/{store:name}/{evaluation:name}/systems/{system:name}/": _system,
        "/stores/{store:name}/{evaluation:name}/tracks/": _tracks,
        "/stores/{store:name}/{evaluation:name}/tracks/{track:name}/": _track,
    }
    found = [_route(service, path, make) for path, make in pages.items()]
    return [
        *found,
        GuardedRoute("/stores/{store:name}/report/blocks/{address:path}", report_block, role=None),
        GuardedRoute("/static/{digest}/{name}", report_asset, role=None),
        GuardedRoute("/audio/{audio}", listen, role=None),
        GuardedRoute("/favicon.ico", no_icon, role=None),
    ]


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


def _report(service: Service, request: Request, store: str) -> Content:
    """The report of a store, which fetches what is looked at."""
    page = service.shelf.ask(store, partial(report_of, service))
    pages = pages_of(service)
    assets = {name: f"/static/{asset_digest(name)}/{name}" for name in live.ASSETS}
    links = [(service.title, pages.links.url("front"))]
    named = service.shelf.ask(store, lambda snapshot: [name for name, ds in snapshot.boards.items() if _is_ranked(ds)])
    links += [(name, pages.links.url("evaluation", store=store, evaluation=name)) for name in named]
    return Content(page.shell(assets, links=links).encode(), _HTML)


def _is_ranked(ds: xr.Dataset) -> bool:
    """True if an evaluation has a page of its own; see `contents.store`, which computes what is there."""
    return bool(ds.sizes["metric"] and ds.sizes["system"])


def report_of(service: Service, snapshot: Snapshot) -> live.LivePage:
    """The report of a snapshot; timelines are drawn where the server sees the annotations."""
    campaign, name, root = service.campaign, snapshot.name, None
    if campaign is not None and service.path is not None and name in campaign.splits:
        root = service.path.resolve().parent / campaign.root / campaign.splits[name].root

    def make() -> live.LivePage:
        # References may be where the worker alone sees them.
        seen = root is None or root.is_dir()
        return live.LivePage(snapshot.tree, snapshot.token, name=name, root=root, references=seen, cache=_REPORT_BYTES)

    found: live.LivePage = snapshot.once("report", make)
    return found


def _report_contents(service: Service, request: Request, store: str) -> Content:
    found = service.shelf.ask(store, lambda snapshot: report_of(service, snapshot).contents())
    return Content(found, "application/json")


def _report_track(service: Service, request: Request, store: str, track: str) -> Content:
    viewer = request.state.viewer
    own = service.campaign is not None and store in service.campaign.splits
    id = service.recordings.of_track(store, track, viewer) if own else None
    audio = pages_of(service).links.url("audio", audio=id) if id is not None else ""
    metric = request.query_params.get("metric", "")
    found = service.shelf.ask(
        store, lambda snapshot: report_of(service, snapshot).timeline(track, metric=metric, audio=audio)
    )
    if found is None:
        raise UnknownNameError("track", track, ())
    return Content(found, "application/json")


def report_block(request: Request) -> Response:
    """Scores and other numbers of a report, compressed, which are the same for good."""
    service: Service = request.app.state.service
    store, address = request.path_params["store"], request.path_params["address"]
    try:
        found = service.shelf.ask(store, lambda snapshot: report_of(service, snapshot).block(address))
    except (UnknownNameError, StoreError):
        found = None
    if found is None:
        raise HTTPException(404)
    return Response(found, media_type="application/octet-stream", headers=_FOR_GOOD)


@cache
def asset_digest(name: str) -> str:
    """The digest that stands in the address of a script or style of the report."""
    return digest(live.asset(name).decode())


def report_asset(request: Request) -> Response:
    """The script or the style of reports."""
    name = request.path_params["name"]
    if name not in live.ASSETS or request.path_params["digest"] != asset_digest(name):
        raise HTTPException(404)
    return Response(live.asset(name), media_type=f"{live.ASSETS[name]}; charset=utf-8", headers=_FOR_GOOD)


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


def no_icon(request: Request) -> Response:
    """Nothing, for browsers that look for a picture of the site without being told of one."""
    return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})


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
