"""The page about a campaign, from texts in a small subset of Markdown."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from .security import GuardedRoute
from .service import Service
from .viewer_pages import PRIVATE, page, wants_json

_SECTIONS = ("description", "data", "baseline", "terms", "licence", "contact")
_LINKS = ("https://", "http://", "mailto:")


def routes(service: Service) -> list[BaseRoute]:
    """Return the route, if the campaign describes itself."""
    return [GuardedRoute("about", about, role=None)] if service.has_about else []


def about(request: Request) -> Response:
    """Show the texts about the campaign."""
    service: Service = request.app.state.service
    assert service.campaign is not None
    texts = service.campaign.about.model_dump()
    if wants_json(request):
        return JSONResponse({"campaign": service.campaign.campaign, **texts}, headers=PRIVATE)
    titles = {name: name.capitalize() if name != "description" else "" for name in _SECTIONS}
    sections = [(title, html_of(texts[name])) for name, title in titles.items() if texts[name]]
    return page(request, "about.html", here="about", sections=sections)


def html_of(text: str) -> str:
    """Render a small subset of Markdown (paragraphs, lists, links, code, emphasis) and escape everything else.

    Examples
    --------
    >>> html_of("Ask <us> at [home](https://lab.org), not [here](javascript:x)")
    '<p>Ask &lt;us&gt; at <a href="https://lab.org">home</a>, not [here](javascript:x)</p>\\n'
    """
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("zero", {"html": False})
    markdown.enable(["list", "link", "autolink", "backticks", "emphasis", "newline", "escape", "entity"])
    markdown.validateLink = lambda url: url.lower().startswith(_LINKS)  # type: ignore[method-assign]
    return str(markdown.render(text))
