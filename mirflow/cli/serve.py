"""Commands ``serve`` and below it: a server of results, submissions and graders' pages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ..errors import MirflowError
from .common_options import Command

_START = "start"


class _Serve(click.Group):
    """A group whose name alone starts a server: ``mirflow serve STORE`` is ``mirflow serve start STORE``."""

    def __init__(self, *arguments: Any, place: int = 99, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.place = place

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the command that starts a server where none is named."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args.insert(0, _START)
        return super().parse_args(ctx, args)


def demand_packages() -> None:
    """Refuse to go on without the packages of the server.

    Raises
    ------
    MirflowError
        If the extra is not installed.
    """
    for name in ("itsdangerous", "jinja2", "python_multipart", "sqlalchemy", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise MirflowError(f"this needs {name}: pip install 'mirflow[serve]', or '.[serve]' in a checkout")


@click.group("serve", cls=_Serve, place=8, short_help="Serve stores, or a campaign with submissions and grading.")
def serve_command() -> None:
    """Serve STORE..., or a campaign: mirflow serve STORE..., mirflow serve CAMPAIGN.yaml."""


@serve_command.command(_START, cls=Command)
@click.argument("paths", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True, metavar="STORE...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port to listen on.")
@click.option("--base-url", default="", help="Address by which people reach the server through a proxy.")
def start_command(paths: tuple[Path, ...], host: str, port: int, base_url: str) -> None:
    """Serve stores to be browsed, or a campaign, until interrupted."""
    demand_packages()
    from ..service.app import serve

    click.echo(f"http://{host}:{port}/", err=True)
    serve(paths, host, port, base_url)
