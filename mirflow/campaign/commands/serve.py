"""Commands of ``mirflow serve``: a server for results, submissions and grading, its worker, accounts and backups.

Others send a test message and upgrade the database. The check and the JSON Schema of campaign files are here, too,
for `mirflow check` and `mirflow schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cli.common_options import Command, CommandFamily, LocalPath
from ...cli.output import choose_format, echo, emit, output_options
from ...errors import MirflowError, counted
from . import default_option, demand_packages, operator

if TYPE_CHECKING:
    from ..server.database import Session, User
    from ..server.service import Service

_START = "start"


class _Serve(CommandFamily):
    """Command group that starts a server by default: ``mirflow serve STORE`` is ``mirflow serve start STORE``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the name of the default command."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args.insert(0, _START)
        return super().parse_args(ctx, args)


@click.group(
    "serve",
    cls=_Serve,
    section="campaign",
    place=3,
    short_help="Serve stores, or a campaign with submissions and grading.",
)
def serve_command() -> None:
    """Serve STORE..., or a campaign: mirflow serve STORE..., mirflow serve CAMPAIGN.yaml.

    The options of the server, such as --port, are those of `mirflow serve start`.
    """


@serve_command.command(_START, cls=Command)
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="STORE...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@default_option("--port", default=8765, type=click.IntRange(0, 65535), help="Port to listen on.")
@click.option("--base-url", default="", help="Public address of the server, if it is behind a proxy.")
@click.option(
    "--trust-proxy", "proxies", multiple=True, metavar="ADDRESS", help="Address or network of a proxy; repeatable."
)
@click.option(
    "--trust-proxy-user", "user_header", default="", metavar="HEADER", help="Header in which it names the account."
)
@click.option("--without-references", is_flag=True, help="Withhold references and messages that may quote them.")
@click.option("--only-aggregates", is_flag=True, help="Withhold scores by track, and names and pages of tracks.")
@click.option(
    "--archive",
    type=LocalPath(exists=True, dir_okay=False),
    help="A table of years, as for `mirflow archive`. Default: the years of the systems, if stores have them.",
)
@click.option(
    "--root",
    "roots",
    type=LocalPath(exists=True, file_okay=False),
    multiple=True,
    help="Folder of the annotations, if they were moved or the store comes from elsewhere. One for all "
    "stores, or one for each.",
)
@click.option("--cors", is_flag=True, help="Let scripts on other sites read public data.")
@click.option("--access-log", is_flag=True, help="Print a line for every request.")
@default_option("--workers", default=1, type=click.IntRange(1), help="Number of workers that check and score.")
@click.option("--no-worker", is_flag=True, help="Start no worker, if another process or host checks and scores.")
def start_command(
    paths: tuple[Path, ...], host: str, port: int, base_url: str, workers: int, no_worker: bool, **options: Any
) -> None:
    """Serve stores or a campaign until interrupted.

    A trusted proxy reports the address of the client in X-Forwarded-For, and the name of the authenticated account in
    the HEADER of --trust-proxy-user.
    """
    demand_packages()
    from ...store.generations import resolve
    from ..file import is_campaign, load_campaign
    from ..server.app import listen, local_address, serve
    from ..server.service import check_address

    check_address(base_url)
    for path in paths:
        if not is_campaign(path):
            resolve(path)
    if options["user_header"] and not options["proxies"]:
        raise click.UsageError("--trust-proxy-user needs --trust-proxy, or anyone could send the header")
    campaign = load_campaign(paths[0]) if is_campaign(paths[0]) else None
    with listen(host, port) as listening, ExitStack() as stack:
        if campaign is not None and campaign.evaluations and not no_worker:
            from ..server.service import open_service
            from ..server.submissions.confinement import Confinement
            from ..server.submissions.worker import attached_workers, demand_confinement

            if campaign.limits.confinement == "required":
                with Confinement(modules=()) as confinement:
                    demand_confinement(open_service(paths), confinement)
            stack.enter_context(attached_workers(paths[0], workers))
        port = listening[0].getsockname()[1]
        public = "" if campaign is None else campaign.url
        echo(base_url or public or local_address(host, port), err=True)
        serve(paths, host, port, base_url, listening=listening, **options)


campaign_argument = click.argument("campaign", type=LocalPath(exists=True, dir_okay=False))


def _open(campaign: Path, *, any_revision: bool = False) -> Service:
    demand_packages()
    from ..server.service import open_service

    return open_service([campaign], any_revision=any_revision)


@serve_command.command("worker", cls=Command)
@campaign_argument
@click.option("--attached", is_flag=True, hidden=True)
def worker_command(campaign: Path, attached: bool) -> None:
    """Check and score the submissions to CAMPAIGN until interrupted; `mirflow serve` starts a worker by default.

    A worker on another host needs the campaign file, its folder, its database and the references; the server needs no
    references.
    """
    import logging

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    service = _open(campaign)
    from ..server.submissions.worker import work

    work(service, attached=attached)


_role = default_option(
    "--role",
    default="reader",
    type=click.Choice(("reader", "submitter", "grader", "organiser")),
    help="Role of the account.",
)
_days = default_option("--days", default=365, type=click.IntRange(1), help="Days until the link or token expires.")
_base_url = click.option(
    "--base-url",
    default="",
    help="Address of the server for the link. Default: `url` of the campaign file, or the running server.",
)


@serve_command.group("users", cls=CommandFamily)
def users_command() -> None:
    """Manage accounts of a campaign: add, list and revoke them, and make links and tokens."""


def _of_account(command: str) -> Callable[[Callable[..., None]], click.Command]:
    """Declare a command about an account: of a campaign, with the account's name."""
    return lambda run: users_command.command(command)(campaign_argument(click.argument("name")(run)))


@_of_account("add")
@_role
@click.option("--lab", default="", help="Lab or team, whose members share quota, ladder and systems. Default: none.")
@click.option("--token", is_flag=True, help="Also make a token for programs.")
@click.option("--count", type=click.IntRange(1, 10_000), help="Add several accounts: NAME1, NAME2, ...")
@click.option("--mail", default="", help="Address for mail about the account's submissions. Default: none.")
@_days
@_base_url
def add_command(
    campaign: Path, name: str, role: Any, lab: str, token: bool, count: int | None, mail: str, days: int, base_url: str
) -> None:
    """Add an account and print its personal link, which is not stored."""
    from ..server.accounts import add_user
    from ..server.submissions.notifications import change_mail

    if mail and count is not None:
        raise click.UsageError("--mail applies to a single account: leave out --count")
    names = [name] if count is None else [f"{name}{number:0{len(str(count))}}" for number in range(1, count + 1)]
    with _accounts(campaign) as (service, session):
        for account in names:
            user = add_user(session, account, role, service.clock(), lab)
            change_mail(session, user, mail)
            _print_secrets(service, session, user, days, base_url, link=True, token=token)
            service.audit.record(operator(), "add account", account=account, role=role)


@_of_account("link")
@click.option("--token", is_flag=True, help="Make a token for programs instead, without revoking anything.")
@_days
@_base_url
def link_command(campaign: Path, name: str, token: bool, days: int, base_url: str) -> None:
    """Print a new personal link for an account, and revoke the previous link with its sessions."""
    from ..server.accounts import find_user

    with _accounts(campaign) as (service, session):
        user = find_user(session, name)
        _print_secrets(service, session, user, days, base_url, link=not token, token=token)
        service.audit.record(operator(), "make token" if token else "renew link", account=name)


@_of_account("lab")
@click.argument("lab")
def lab_command(campaign: Path, name: str, lab: str) -> None:
    """Set the LAB of an account ("" for none); earlier submissions stay with the lab that it had then."""
    from ..server.accounts import find_user, lab_named

    with _accounts(campaign) as (service, session):
        find_user(session, name).lab = lab_named(lab)
        service.audit.record(operator(), "name lab", account=name, lab=lab_named(lab))


@_of_account("mail")
@click.argument("address")
def mail_command(campaign: Path, name: str, address: str) -> None:
    """Set the ADDRESS for mail about an account's submissions ("" for none)."""
    from ..server.accounts import find_user
    from ..server.submissions.notifications import change_mail

    with _accounts(campaign) as (service, session):
        change_mail(session, find_user(session, name), address)
        service.audit.record(operator(), "set address" if address else "remove address", account=name)


@users_command.command("list")
@campaign_argument
@output_options
def list_command(campaign: Path, style: str | None, output: Path | None) -> None:
    """List accounts with their numbers of valid links, sessions and tokens."""
    from ...reports.tables import Table
    from ..server.accounts import users, valid_tokens

    rows: list[tuple[str | int | None, ...]] = []
    with _accounts(campaign) as (service, session):
        for user in users(session):
            kinds = [token.kind for token in valid_tokens(session, user.id, service.clock())]
            used = max((token.used for token in user.tokens if token.used), default=None)
            counts = [kinds.count(kind) for kind in ("link", "session", "token")]
            days = [None if time is None else time.date().isoformat() for time in (user.created, used, user.revoked)]
            rows.append((user.name, user.role, user.lab, *counts, *days, "yes" if user.mail else None))
    columns = ("name", "role", "lab", "links", "sessions", "tokens", "created", "used", "revoked", "mail")
    emit([Table(columns, tuple(rows))], choose_format(style, output), output)


@_of_account("revoke")
def revoke_command(campaign: Path, name: str) -> None:
    """Revoke an account with all its links, sessions and tokens; its submissions and judgements stay."""
    from ..server.accounts import find_user, revoke

    with _accounts(campaign) as (service, session):
        revoke(session, find_user(session, name), service.clock())
        service.audit.record(operator(), "revoke account", account=name)
    echo(f"{name}: revoked", err=True)


@_of_account("delete")
@click.confirmation_option(prompt="Delete the account and its personal data?")
def delete_command(campaign: Path, name: str) -> None:
    """Delete an account and its personal data; scored submissions that others can see stay, without its name."""
    from ..server.account_pages import delete_account
    from ..server.accounts import find_user

    with _accounts(campaign) as (service, session):
        delete_account(service, session, find_user(session, name), operator())
    echo(f"{name}: deleted", err=True)


@serve_command.command("notify")
@campaign_argument
@click.option("--mail", default="", metavar="ADDRESS", help="Send mail to this address as well.")
def notify_command(campaign: Path, mail: str) -> None:
    """Send a test message to the webhook of CAMPAIGN, with the secrets of this environment."""
    service = _open(campaign)
    from ..server.submissions.notifications import send_test

    settings = None if service.campaign is None else service.campaign.notifications
    if settings is None:
        raise click.UsageError(f"{campaign}: no notifications are configured")
    if mail and settings.mail is None:
        raise click.UsageError(f"{campaign}: no mail server is configured for notifications")
    if not mail and settings.webhook is None:
        raise click.UsageError(f"{campaign}: no webhook is configured for notifications: give --mail")
    errors = send_test(service, mail)
    for channel, error in errors.items():
        echo(f"{channel}: {error or 'delivered'}", err=True)
    if any(errors.values()):
        raise MirflowError("the test message was not delivered")


@serve_command.command("backup")
@campaign_argument
@click.option("--output", "-o", type=LocalPath(dir_okay=False), required=True, help="A .tar.gz file.")
def backup_command(campaign: Path, output: Path) -> None:
    """Back up accounts, submissions, judgements and stores, even while the server is running."""
    service = _open(campaign)
    from ..server.service import make_backup

    backup = make_backup(service, output)
    service.audit.record(operator(), "back up", file=str(output))
    echo(f"{output}: {', '.join(counted(number, kind) for kind, number in backup.items())}", err=True)


@serve_command.command("restore")
@click.argument("backup", type=LocalPath(exists=True, dir_okay=False))
@campaign_argument
def restore_command(backup: Path, campaign: Path) -> None:
    """Restore a backup to the folder of a campaign, which must not exist."""
    demand_packages()
    from ..file import load_campaign
    from ..server.database import revisions
    from ..server.service import restore_backup

    folder = campaign.resolve().parent / load_campaign(campaign).folder
    manifest = restore_backup(backup, folder)
    echo(f"{folder}: restored as of {manifest['date']}", err=True)
    if manifest["schema"] != revisions()[-1]:
        echo(f"the tables have an older revision: run mirflow serve upgrade {campaign}", err=True)


@serve_command.command("upgrade")
@campaign_argument
@click.option(
    "--output",
    "-o",
    type=LocalPath(dir_okay=False),
    help="Backup to write first. Default: before-REVISION.tar.gz beside the campaign file.",
)
@click.option("--no-backup", is_flag=True, help="Skip the backup, if there is another one, for example by pg_dump.")
def upgrade_command(campaign: Path, output: Path | None, no_backup: bool) -> None:
    """Upgrade the database of a campaign to this version of mirflow, after a backup; stop server and workers first.

    A failed upgrade changes nothing.
    """
    service = _open(campaign, any_revision=True)
    from ..server.database import revisions
    from ..server.service import make_backup

    if service.database is None:
        raise click.UsageError(f"{campaign}: is not a campaign file, and stores have no database")
    before, after = service.database.revision(), revisions()[-1]
    if before == after:
        echo(f"{campaign}: the database has the newest revision, {after}", err=True)
        return
    service.database.demand_known(before)
    if not no_backup:
        if not service.database.is_sqlite:
            message = f"{campaign}: back up a PostgreSQL database with pg_dump (docs/safety.md), then use --no-backup"
            raise MirflowError(message)
        output = output or campaign.with_name(f"before-{after}.tar.gz")
        if output.exists():
            raise MirflowError(f"{output}: file exists; choose another file for the backup with --output")
        make_backup(service, output)
        echo(f"{output}: backup of revision {before}", err=True)
    service.database.upgrade()
    service.audit.record(operator(), "upgrade", before=before, after=after)
    echo(f"{campaign}: upgraded from revision {before} to {after}", err=True)


@contextmanager
def _accounts(campaign: Path) -> Iterator[tuple[Service, Session]]:
    service = _open(campaign)
    if service.database is None:
        raise click.UsageError(f"{campaign}: is not a campaign file, and stores have no accounts")
    with service.database.write() as session:
        yield service, session


def _print_secrets(
    service: Service, session: Session, user: User, days: int, base_url: str, *, link: bool, token: bool
) -> None:
    from ..server.accounts import issue, renew_link
    from ..server.service import address_of

    now, lifetime = service.clock(), timedelta(days=days)
    if link:
        base_url = base_url or address_of(service)
        echo(f"{base_url.rstrip('/')}/login/{renew_link(session, user, now, lifetime)}")
    if token:
        echo(f"token {issue(session, user, 'token', now, lifetime)}")
    echo(f"for {user.name} ({user.role}), until {(now + lifetime).date()}; it will not be shown again", err=True)


def check(path: Path) -> None:
    """Print the contents of a campaign file, for `mirflow check`."""
    from ...store.packs import open_pack
    from ..file import check_campaign

    campaign, counts, notes = check_campaign(path, open_pack)
    for split, evaluations in counts.items():
        for name, tracks in evaluations.items():
            echo(f"{split}: {name}: {counted(tracks, 'track')}")
    if campaign.grading:
        demand_packages()
        from ..server.graders.rounds import read_round_files
    for judged in campaign.grading:
        _, pairs, _, note = read_round_files(judged, path.resolve().parent / campaign.root)
        echo(f"{judged.name}: {counted(sum(not pair.training for pair in pairs), 'pair')} to judge")
        notes += [f"grading.{judged.name}: {note}"] if note else []
    for note in notes:
        echo(f"note: {note}", err=True)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of campaign files, for `mirflow schema --campaign`."""
    from ...pipeline.document import schema_of
    from ..file import Campaign

    return schema_of(Campaign)
