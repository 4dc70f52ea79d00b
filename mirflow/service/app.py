"""The application: routes of all rooms behind the same middleware."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute

from ..errors import MirflowError
from .security import GuardedRoute, Security
from .service import HOST, PORT, Service, open_service

__all__ = ["create_app", "serve"]


def create_app(service: Service) -> Starlette:
    """Make the application of a server.

    Parameters
    ----------
    service : Service
    """
    app = Starlette(
        routes=_routes(service),
        middleware=[Middleware(Security, service=service)],
        exception_handlers={HTTPException: _refusal, MirflowError: _error},
    )
    app.state.service = service
    return app


def _routes(service: Service) -> list[BaseRoute]:
    return [GuardedRoute("/health", _health, role=None)]


def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n", headers={"Cache-Control": "no-store"})


def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(f"{error.detail}\n", error.status_code, headers=error.headers)


def _error(request: Request, error: Exception) -> Response:
    """A message that mirflow wrote for the person who asks."""
    return PlainTextResponse(f"{error}\n", 400)


def serve(paths: Sequence[str | Path], host: str = HOST, port: int = PORT, base_url: str = "") -> None:
    """Serve stores or a campaign until the process is told to stop.

    Parameters
    ----------
    paths : sequence of path
        Stores, or one campaign file.
    host : str
    port : int
    base_url : str
        Address by which people reach the server, if a proxy stands before it.
    """
    service = open_service(paths, base_url or f"http://{host}:{port}")
    config = uvicorn.Config(
        create_app(service),
        host=host,
        port=port,
        access_log=False,
        server_header=False,
        log_level="warning",
        proxy_headers=False,
        timeout_keep_alive=15,
        h11_max_incomplete_event_size=2**16,
        lifespan="off",
        ws="none",
        workers=int(os.environ.get("MIRFLOW_WEB_WORKERS", "1")),
    )
    uvicorn.Server(config).run()
