"""Rendering of pages for the viewer of a request, their assets, and error responses for people and programs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from ..file import Campaign
from ..site.pages import ADDRESSES, Pages, asset_name, asset_names, read_asset
from .accounts import Viewer
from .cache import weight_of, weights_of
from .database import Database
from .service import Service

PRIVATE = {"Cache-Control": "private, no-store"}  # header of responses that only the viewer's browser may use
_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}

_TITLES = {
    401: "Login required",
    403: "Access denied",
    404: "Page not found",
    405: "Method not supported",
    413: "Too large",
    429: "Too often",
}


def served(request: Request) -> tuple[Service, Campaign, Database, Any]:
    """Return the service that answers a request, its campaign and database, and the viewer."""
    service: Service = request.app.state.service
    return service, *service.demand_campaign(), request.state.viewer


def pages_of(service: Service, viewer: Viewer | None = None) -> Pages:
    """Return the templates, with the title of the server and the navigation for a viewer."""
    navigation = [("front", "Results"), *([("archive", "Archive")] if service.has_archive() else [])]
    if service.has_about:
        navigation.append(("about", "About"))
    if service.campaign is not None and service.campaign.splits:
        navigation.append(("submissions", "Submit"))
    grades = service.campaign is not None and (service.campaign.grading or service.campaign.planning)
    if grades and viewer is not None and viewer.may("grader"):
        navigation.append(("grading", "Grade"))
    home = service.base_url and f"{service.base_url.rstrip('/')}/"
    return Pages(service.links, service.title, live=True, navigation=navigation, home=home)


def page(request: Request, template: str, status: int = 200, *, here: str = "", **context: Any) -> HTMLResponse:
    """Render a page that only the viewer's browser may keep."""
    service, viewer = request.app.state.service, request.state.viewer
    waits = here == "submissions" and viewer is not None and viewer.may("submitter")
    text = pages_of(service, viewer).render(
        template,
        viewer=None if viewer is None else {"name": viewer.name, "role": viewer.role, "csrf": request.state.csrf},
        here=here,
        notice=request.app.state.monitoring.idle() if waits else "",
        **context,
    )
    return HTMLResponse(text, status, PRIVATE)


def asset(request: Request) -> Response:
    """Return a style sheet, script or picture; names contain a digest, so browsers never revalidate them."""
    name = next((name for name in asset_names() if asset_name(name) == request.path_params["name"]), None)
    if name is None:
        raise HTTPException(404)
    kind = _KINDS.get(name.rpartition(".")[2], "application/octet-stream")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(read_asset(name), headers=headers, media_type=kind)


def wants_json(request: Request) -> bool:
    """True if the client prefers JSON."""
    header = request.headers.get("accept", "")
    preferred = weight_of(header, "application/json") > weight_of(header, "text/html")
    return preferred or request.url.path.startswith("/api/")


def whole_number(text: Any, digits: int = 9) -> int:
    """Read a whole number from a field of a form or an address; 0 for anything else."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= digits else 0


def error_answer(request: Request, status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Respond with an error: a page for browsers, JSON for programs that accept it, else text."""
    headers = {**(headers or {}), "Cache-Control": "no-store"}
    if wants_json(request):
        return JSONResponse({"error": text}, status, headers)
    if not weights_of(request.headers.get("accept", "")).get("text/html"):
        return PlainTextResponse(f"{text}\n", status, headers)
    service, missing = request.app.state.service, status == 404
    guess = None
    if missing:  # perhaps the page of the navigation whose address or title is like it
        first = request.url.path.strip("/").partition("/")[0].casefold()
        links = pages_of(service, request.state.viewer).navigation
        names = {name.casefold(): link for link in links for name in (*link, ADDRESSES[link[0]].strip("/"))}
        guess = next((names[name] for name in difflib.get_close_matches(first, names, n=1)), None)
    heading = _TITLES.get(status, "Error")
    answer = page(request, "error.html", status, heading=heading, text=text, guess=guess, missing=missing)
    answer.headers.update(headers)
    return answer
