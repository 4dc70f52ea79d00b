"""Commands ``serve`` and below it: a server of results, submissions and graders' pages."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import MirflowError, counted
from .common_options import Command, CommandFamily
from .output import choose_format, emit, output_options

if TYPE_CHECKING:
    from ..service.database import Session, User
    from ..service.service import Service

_START = "start"


class _Serve(CommandFamily):
    """Commands whose common name alone starts a server: ``mirflow serve STORE`` is ``mirflow serve start STORE``."""

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
    for name in ("httptools", "jinja2", "pyloudnorm", "python_multipart", "sqlalchemy", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise MirflowError(f"the server needs {name}: pip install 'mirflow[serve]', or '.[serve]' in a checkout")


@click.group("serve", cls=_Serve, place=8, short_help="Serve stores, or a campaign with submissions and grading.")
def serve_command() -> None:
    """Serve STORE..., or a campaign: mirflow serve STORE..., mirflow serve CAMPAIGN.yaml.

    Options of the server, such as --port, are those of `mirflow serve start`.
    """


@serve_command.command(_START, cls=Command)
@click.argument("paths", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True, metavar="STORE...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port to listen on.")
@click.option("--base-url", default="", help="Address by which people reach the server through a proxy.")
@click.option(
    "--trust-proxy", "proxies", multiple=True, metavar="ADDRESS", help="Address or network of a proxy; repeatable."
)
@click.option("--trust-proxy-user", "user_header", default="", metavar="HEADER", help="Where it names the account.")
@click.option("--without-references", is_flag=True, help="Withhold the references and what quotes them.")
@click.option("--only-aggregates", is_flag=True, help="Withhold all scores by track, with names and pages of tracks.")
@click.option(
    "--archive",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A table of years, as for `mirflow archive`. Default: the years of the systems, where stores have them.",
)
@click.option("--access-log", is_flag=True, help="Print a line for every request.")
@click.option("--no-worker", is_flag=True, help="Start no worker: another process or host checks and scores.")
def start_command(
    paths: tuple[Path, ...],
    host: str,
    port: int,
    base_url: str,
    proxies: tuple[str, ...],
    user_header: str,
    without_references: bool,
    only_aggregates: bool,
    archive: Path | None,
    access_log: bool,
    no_worker: bool,
) -> None:
    """Serve stores to be browsed, or a campaign, until interrupted.

    A proxy that is trusted says in X-Forwarded-For from where a request comes, and in the HEADER of --trust-proxy-user
    whom it has let in.
    """
    demand_packages()
    from ..pipeline.campaign import is_campaign
    from ..service.app import listen, local_address, serve
    from ..service.service import check_address
    from ..store.generations import resolve

    check_address(base_url)
    for path in paths:
        if not is_campaign(path):
            resolve(path)
    if user_header and not proxies:
        raise click.UsageError("--trust-proxy-user needs --trust-proxy: anybody could send the header")
    with listen(host, port) as listening, nullcontext() if no_worker else _worker(paths):
        port = listening[0].getsockname()[1]
        click.echo(base_url or local_address(host, port), err=True)
        serve(
            paths,
            host,
            port,
            base_url,
            listening=listening,
            proxies=proxies,
            user_header=user_header,
            without_references=without_references,
            only_aggregates=only_aggregates,
            archive=archive,
            access_log=access_log,
        )


def _worker(paths: tuple[Path, ...]) -> AbstractContextManager[object]:
    """A worker beside the server, if there is something that can be submitted."""
    from ..pipeline.campaign import is_campaign, load_campaign

    if not is_campaign(paths[0]) or not load_campaign(paths[0]).evaluations:
        return nullcontext()
    from ..service.submissions.worker import AttachedWorker

    return AttachedWorker(paths[0])


campaign_argument = click.argument("campaign", type=click.Path(exists=True, dir_okay=False, path_type=Path))


@serve_command.command("worker", cls=Command)
@campaign_argument
@click.option("--attached", is_flag=True, hidden=True)
def worker_command(campaign: Path, attached: bool) -> None:
    """Check and score the submissions to CAMPAIGN until interrupted; `mirflow serve` starts one by itself.

    A worker on another host needs the campaign file, its folder, its database and the references; the server needs no
    references.
    """
    demand_packages()
    import logging

    from ..service.service import open_service
    from ..service.submissions.worker import work

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    work(open_service([campaign]), attached=attached)


_role = click.option(
    "--role",
    type=click.Choice(("reader", "submitter", "grader", "organiser")),
    default="reader",
    show_default=True,
    help="What the account may do.",
)
_days = click.option(
    "--days", type=click.IntRange(1), default=365, show_default=True, help="Days until the link or token expires."
)
_base_url = click.option(
    "--base-url", default="http://127.0.0.1:8765", show_default=True, help="Address of the server, for the link."
)


@serve_command.group("users", cls=CommandFamily)
def users_command() -> None:
    """Accounts of a campaign: add, list and revoke them, and make links and tokens."""


@users_command.command("add")
@campaign_argument
@click.argument("name")
@_role
@click.option("--lab", default="", help="Where the person belongs.")
@click.option("--token", is_flag=True, help="Make a token for programs too.")
@click.option("--count", type=click.IntRange(1, 10_000), help="Add so many accounts: NAME1, NAME2, ...")
@_days
@_base_url
def add_command(
    campaign: Path, name: str, role: Any, lab: str, token: bool, count: int | None, days: int, base_url: str
) -> None:
    """Add an account; print its personal link, which is kept nowhere."""
    from ..service.accounts import add_user

    names = [name] if count is None else [f"{name}{number:0{len(str(count))}}" for number in range(1, count + 1)]
    with _accounts(campaign) as (service, session):
        for one in names:
            user = add_user(session, one, role, service.clock(), lab)
            _print_secrets(service, session, user, days, base_url, link=True, token=token)
            service.audit.record(operator(), "add account", account=one, role=role)


@users_command.command("link")
@campaign_argument
@click.argument("name")
@click.option("--token", is_flag=True, help="Make a token for programs instead; what there was stays.")
@_days
@_base_url
def link_command(campaign: Path, name: str, token: bool, days: int, base_url: str) -> None:
    """Print a new personal link of an account; the one before and its sessions are revoked."""
    from ..service.accounts import find_user

    with _accounts(campaign) as (service, session):
        user = find_user(session, name)
        _print_secrets(service, session, user, days, base_url, link=not token, token=token)
        service.audit.record(operator(), "make token" if token else "renew link", account=name)


@users_command.command("list")
@campaign_argument
@output_options
def list_command(campaign: Path, style: str | None, output: Path | None) -> None:
    """List accounts, with the number of links, sessions and tokens that are good."""
    from ..reports.tables import Table
    from ..service.accounts import users, valid_tokens

    rows: list[tuple[str | int | None, ...]] = []
    with _accounts(campaign) as (service, session):
        for user in users(session):
            good = [token.kind for token in valid_tokens(session, user.id, service.clock())]
            used = max((token.used for token in user.tokens if token.used), default=None)
            counts = [good.count(kind) for kind in ("link", "session", "token")]
            days = [None if time is None else time.date().isoformat() for time in (user.created, used, user.revoked)]
            rows.append((user.name, user.role, user.lab, *counts, *days))
    columns = ("name", "role", "lab", "links", "sessions", "tokens", "created", "used", "revoked")
    emit([Table(columns, tuple(rows))], choose_format(style, output), output)


@users_command.command("revoke")
@campaign_argument
@click.argument("name")
def revoke_command(campaign: Path, name: str) -> None:
    """Revoke an account with all its links, sessions and tokens; what it did stays."""
    from ..service.accounts import find_user, revoke

    with _accounts(campaign) as (service, session):
        revoke(session, find_user(session, name), service.clock())
        service.audit.record(operator(), "revoke account", account=name)
    click.echo(f"{name}: revoked", err=True)


@serve_command.command("backup")
@campaign_argument
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), required=True, help="A .tar.gz file.")
def backup_command(campaign: Path, output: Path) -> None:
    """Write a backup of accounts, submissions, judgements and stores, also while the server runs."""
    demand_packages()
    from ..service.backup import make_backup
    from ..service.service import open_service

    service = open_service([campaign])
    made = make_backup(service, output)
    service.audit.record(operator(), "back up", file=str(output))
    what = (counted(made.users, "account"), counted(made.submissions, "submission"), counted(len(made.stores), "store"))
    click.echo(f"{output}: {', '.join(what)}", err=True)


@serve_command.command("restore")
@click.argument("backup", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@campaign_argument
def restore_command(backup: Path, campaign: Path) -> None:
    """Put a backup in place of the folder of a campaign, which must not be there."""
    demand_packages()
    from ..pipeline.campaign import load_campaign
    from ..service.backup import restore_backup

    folder = campaign.resolve().parent / load_campaign(campaign).folder
    manifest = restore_backup(backup, folder)
    click.echo(f"{folder}: as of {manifest['date']}", err=True)


@contextmanager
def _accounts(campaign: Path) -> Iterator[tuple[Service, Session]]:
    """The campaign's service and a session that changes accounts."""
    demand_packages()
    from ..service.service import open_service

    service = open_service([campaign])
    if service.database is None:
        raise click.UsageError(f"{campaign}: is no campaign file, and stores have no accounts")
    with service.database.write() as session:
        yield service, session


def operator() -> str:
    """Name the user of this machine, for the audit log."""
    try:
        return f"{getpass.getuser()} at the command line"
    except (KeyError, OSError):
        return "the command line"


def _print_secrets(
    service: Service, session: Session, user: User, days: int, base_url: str, *, link: bool, token: bool
) -> None:
    from ..service.accounts import issue, renew_link

    now, lifetime = service.clock(), timedelta(days=days)
    if link:
        click.echo(f"{base_url.rstrip('/')}/login/{renew_link(session, user, now, lifetime)}")
    if token:
        click.echo(f"token {issue(session, user, 'token', now, lifetime)}")
    click.echo(f"for {user.name} ({user.role}), until {(now + lifetime).date()}; shown only now", err=True)
