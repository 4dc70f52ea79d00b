"""Names in addresses: each is one segment of a path, whatever it holds."""

from __future__ import annotations

from urllib.parse import quote, unquote, unquote_to_bytes

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send


class NameConvertor(Convertor[str]):
    """A name of a store, system or track in a route: ``/stores/{store:name}``."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The name of a segment."""
        return unquote(value)

    def to_string(self, value: str) -> str:
        """The segment of a name."""
        return quote(value, safe="")


register_url_convertor("name", NameConvertor())


class NamesInPaths:
    """Middleware that keeps slashes within names apart from those between segments.

    Servers decode ``%2F`` in a path before they look for a route, so that a track ``pop/x`` would be two segments.
    Here the path is decoded segment by segment; within one, ``/`` and ``%`` stay encoded.

    Parameters
    ----------
    app : ASGI application
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        raw = scope.get("raw_path")
        if scope["type"] == "http" and raw is not None and b"%" in raw:
            scope = {**scope, "path": decode_path(raw)}
        await self.app(scope, receive, send)


def decode_path(raw: bytes) -> str:
    """Decode a path segment by segment.

    Examples
    --------
    >>> decode_path(b"/tracks/pop%2Fx%20y/")
    '/tracks/pop%2Fx y/'
    """
    segments = [unquote_to_bytes(segment).decode("utf-8", "replace") for segment in raw.split(b"/")]
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)
