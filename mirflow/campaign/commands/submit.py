"""The command ``submit``, which sends estimates to a server and prints the findings and scores."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cli.check import lines_of_checks
from ...cli.common_options import Command, LocalPath
from ...cli.output import FAILED, choose_format, echo, emit, for_people, output_options
from ...errors import clean_text, counted

if TYPE_CHECKING:
    from ...reports.tables import Entry, Table
    from ..server.client import Client

_LONG, _BETWEEN = 30.0, 180.0
"""Seconds of waiting before the first line in a log, and between further lines."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._+-]+")


@click.command(
    "submit", cls=Command, section="campaign", place=4, short_help="Send estimates to a server and wait for the scores."
)
@click.argument("url")
@click.argument("path", type=LocalPath(exists=True), metavar="FOLDER|FILE")
@click.option("--token", envvar="MIRFLOW_TOKEN", help="Token of your account. Default: MIRFLOW_TOKEN, else ~/.netrc.")
@click.option("--name", help="Name of the system. Default: name of the folder or file.")
@click.option("--split", "splits", multiple=True, help="Split; repeatable. Default: all that are not hidden.")
@click.option(
    "--visibility",
    type=click.Choice(("private", "lab", "public")),
    help="Visible to you, your lab, or all; always to organisers. Default: set by the campaign.",
)
@click.option("--description", default="", help="Description of the system, for all who see it.")
@click.option("--paper", default="", metavar="URL", help="Address of a paper about it.")
@click.option("--code", default="", metavar="URL", help="Address of its code.")
@click.option("--runtime", default="", metavar="SECONDS", help="Seconds that it took for all tracks.")
@click.option("--wait/--no-wait", default=True, help="Wait until it is scored.")
@output_options
@click.pass_context
def submit_command(
    context: click.Context,
    url: str,
    path: Path,
    token: str | None,
    name: str | None,
    splits: tuple[str, ...],
    visibility: str | None,
    description: str,
    paper: str,
    code: str,
    runtime: str,
    wait: bool,
    style: str | None,
    output: Path | None,
) -> None:
    """Submit the estimates in a folder, zip or tar file to the server at URL.

    Prints the findings in the files like `mirflow check`, and the scores when available.
    """
    from ...evaluation.linter import FileCheck, FileProblem
    from ..server.client import Client, find_token

    style = choose_format(style, output)
    client = Client(url, find_token(url, token))
    chosen = name or _NOT_IN_NAMES.sub("-", path.resolve().name.partition(".")[0]).strip("-.")
    about = {"description": description, "paper": paper, "code": code, "runtime": runtime}
    sent = _send(client, path, chosen, splits, visibility or "", about)
    address = client.url.rstrip("/") + str(sent["address"])
    echo(f"{chosen}: {address}", err=True)
    if not wait:
        return
    submission = _wait(client, str(sent["id"]))
    checks = []
    for row in submission["findings"]:
        problem = FileProblem(row["severity"], row["rule"], clean_text(row["message"]), row["line"])
        checks.append(FileCheck(clean_text(row["path"] or str(submission["name"])), (problem,)))
    for line in lines_of_checks(checks):
        click.echo(line, err=True)
    listed, counts = len(checks), submission["counts"]
    if sum(counts.values()) > listed:
        echo(f"{sum(counts.values()) - listed} more findings in the table on the page", err=True)
    if listed:
        echo(", ".join(counted(number, severity) for severity, number in counts.items()), err=True)
    if submission.get("same_as"):
        echo(f"{chosen}: identical to the files of {clean_text(submission['same_as'])}", err=True)
    if submission["state"] != "scored":
        reason = f": {submission['reason']}" if submission.get("reason") else ""
        echo(f"{chosen}: {submission['words']}{reason}", err=True)
        context.exit(FAILED)
    people = for_people(style)
    tables = [_scores(submission, people), _comparisons(submission, people)]
    emit([table for table in tables if table.rows] if people else tables[:1], style, output)


def _send(
    client: Client, path: Path, name: str, splits: tuple[str, ...], visibility: str, about: Mapping[str, str]
) -> dict[str, Any]:
    if not sys.stderr.isatty():
        return client.submit(path, name, splits, visibility, about)
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("send"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("send", total=None)
        advance = lambda sent, total: bar.update(task, completed=sent, total=total)  # noqa: E731
        return client.submit(path, name, splits, visibility, about, advance)


def _wait(client: Client, id: str) -> dict[str, Any]:
    """Wait for a submission; show its state in a line on a terminal, and as occasional lines in a log."""
    if not sys.stderr.isatty():
        return client.wait(id, _WaitingLines())
    from rich.console import Console

    with Console(stderr=True).status("waiting") as status:
        return client.wait(id, lambda progress: status.update(_where(progress)))


def _where(progress: Mapping[str, Any]) -> str:
    done = f", {progress['done']} of {progress['total']}" if progress["total"] else ""
    before = f", {progress['before']} before it" if progress["before"] else ""
    return f"{progress['words']}{done}{before}"


class _WaitingLines:
    """Occasional lines for logs while waiting for a submission: the first one after some time."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._next = _LONG

    def __call__(self, progress: Mapping[str, Any]) -> None:
        """Print a line if it is time for one."""
        waited = time.monotonic() - self._began
        if progress["open"] and waited >= self._next:
            self._next = waited + _BETWEEN
            minutes, seconds = divmod(int(waited), 60)
            echo(f"waiting for {minutes}:{seconds:02d} min: {_where(progress)}", err=True)


def _scores(submission: Mapping[str, Any], people: bool) -> Table:
    from ...reports.tables import Table

    columns: tuple[str, ...] = ("split", "evaluation", "metric", "score", "low", "high", "tracks", "note")
    rows: list[tuple[Entry, ...]] = []
    for result in submission["results"]:
        for score in result["scores"]:
            decimals = result["decimals"] if people else None
            numbers = (_shown(score[key], decimals) for key in ("value", "low", "high"))
            what = (result["split"], score["evaluation"], score["metric"], *numbers, score["tracks"])
            rows.append((*what, "no better than your best" if score["kept_back"] else ""))
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table(columns, tuple(rows), title=clean_text(str(submission["name"])))


def _comparisons(submission: Mapping[str, Any], people: bool) -> Table:
    from ...reports.tables import Table

    columns = ("split", "evaluation", "metric", "against", "outcome", "difference", "p")
    rows: list[tuple[Entry, ...]] = []
    for result in submission["results"]:
        for pair in result["comparisons"]:
            against = f"{'your' if pair['relation'] == 'own' else 'the leader,'} {pair['other']}"
            what = (pair["evaluation"], pair["metric"], against, pair["outcome"])
            difference = _shown(pair["difference"], result["comparison_decimals"] if people else None)
            rows.append((result["split"], *what, difference, _shown(pair["p"])))
    return Table(columns, tuple(rows), title="comparisons")


def _shown(value: float | None, decimals: int | None = None) -> Entry:
    """Format a score; a rounded one with as many digits as were released."""
    from ...reports.tables import ShownValue

    if value is None or decimals is None:
        return None if value is None else float(value)
    return ShownValue(f"{float(value):z.{decimals}f}")
