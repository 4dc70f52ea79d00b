"""The commands as Markdown, from the click objects that parse them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from mirflow.cli import cli

from .markdown import code, plain, table


def commands_text() -> str:
    """A section for each command, in the order of ``mirflow --help``."""
    context = click.Context(cli, info_name="mirflow")
    parts = [f"## Options of every command\n\n{_options(context, cli.params)}"]
    for name in cli.list_commands(context):
        command = cli.commands[name]
        inner = click.Context(command, info_name=name, parent=context)
        usage = " ".join([inner.command_path, *command.collect_usage_pieces(inner)])
        parts.append(f"## {name}\n\n```text\n{usage}\n```\n\n{_help(command)}\n\n{_options(inner, command.params)}")
    return "\n".join(parts)


def _help(command: click.Command) -> str:
    """The help as paragraphs; what click must not wrap (after ``\\b``) stays as it is laid out."""
    paragraphs = (command.help or "").replace("\f", "").split("\n\n")
    return "\n\n".join(
        f"```text\n{text[2:]}\n```" if text.startswith("\b\n") else plain(" ".join(text.split())) for text in paragraphs
    )


def _options(context: click.Context, parameters: Iterable[click.Parameter]) -> str:
    rows = []
    for parameter in parameters:
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            names, text = record
            said = re.sub(r" {2,}", " ", text)
            rows.append((code(names), plain(said)))
    return table(("option", "meaning"), rows) if rows else ""
