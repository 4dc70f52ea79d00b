"""Pages of a request's viewer, and errors as people and programs read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from ..site.pages import Pages, PageViewer, asset_name, asset_names, read_asset
from .accounts import Viewer
from .service import Service

PRIVATE = {"Cache-Control": "private, no-store"}
"""Header of answers that only their viewer may keep, and nobody in between."""
_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}

_TITLES = {
    401: "Who are you?",
    403: "Not for you",
    404: "No such page",
    405: "Not in this way",
    413: "Too large",
    429: "Too often",
}


def pages_of(service: Service, viewer: Viewer | None = None) -> Pages:
    """The templates with the title of a server, and the navigation that a viewer has."""
    navigation = [("front", "Results"), *([("archive", "Archive")] if service.has_archive() else [])]
    if service.has_about:
        navigation.append(("about", "About"))
    if service.campaign is not None and service.campaign.splits:
        navigation.append(("submissions", "Submit"))
    grades = service.campaign is not None and (service.campaign.grading or service.campaign.planning)
    if grades and viewer is not None and viewer.may("grader"):
        navigation.append(("grading", "Grade"))
    return Pages(service.links, service.title, live=True, navigation=navigation)


def viewer_of(request: Request) -> PageViewer | None:
    """The viewer of a request, as templates take it."""
    viewer = request.state.viewer
    return None if viewer is None else PageViewer(viewer.name, viewer.role, request.state.csrf)


def page(request: Request, template: str, status: int = 200, *, here: str = "", **context: Any) -> HTMLResponse:
    """Answer with a page, which only its viewer may keep.

    Parameters
    ----------
    template : str
        Name of the template's file.
    here : str
        Name of the page in the navigation.
    **context
        What the template needs.
    """
    service, viewer = request.app.state.service, request.state.viewer
    waits = here == "submissions" and viewer is not None and viewer.may("submitter")
    text = pages_of(service, viewer).render(
        template,
        viewer=viewer_of(request),
        here=here,
        notice=request.app.state.monitoring.idle() if waits else "",
        **context,
    )
    return HTMLResponse(text, status, PRIVATE)


def asset(request: Request) -> Response:
    """A style sheet, script or picture; its name has its digest, so that browsers never ask again."""
    given = request.path_params["name"]
    name = next((name for name in asset_names() if asset_name(name) == given), None)
    if name is None:
        raise HTTPException(404)
    kind = _KINDS.get(name.rpartition(".")[2], "application/octet-stream")
    kept = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(read_asset(name), headers=kept, media_type=kind)


def wants_json(request: Request) -> bool:
    """True if a program asks, which reads JSON rather than a page."""
    accepted = request.headers.get("accept", "")
    return request.url.path.startswith("/api/") or ("application/json" in accepted and "text/html" not in accepted)


def error_answer(request: Request, status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with an error: a page for browsers, JSON for programs that ask for it, else text."""
    headers = {**(headers or {}), "Cache-Control": "no-store"}
    if wants_json(request):
        return JSONResponse({"error": text}, status, headers)
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(f"{text}\n", status, headers)
    title = _TITLES.get(status, "This did not work")
    answer = page(request, "error.html", status, heading=title, text=text)
    answer.headers.update(headers)
    return answer
