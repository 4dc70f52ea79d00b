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
        if isinstance(parameter, click.Option) and parameter.help:
            rows.append((_names(parameter, context), _meaning(parameter, context)))
        elif isinstance(parameter.type, click.Choice):  # an argument
            rows.append((code(parameter.human_readable_name), f"One of {_choices(parameter.type)}."))
    return table(("option", "meaning"), rows) if rows else ""


def _names(option: click.Option, context: click.Context) -> str:
    """The names with their metavars; choices are part of the meaning."""
    names = option.get_help_record(context)
    assert names is not None  # it has a help text
    text = names[0].replace(" RANGE", "")
    return code(re.sub(r" \[[^\]]*\|.*\]$", "", text) if isinstance(option.type, click.Choice) else text)


def _meaning(option: click.Option, context: click.Context) -> str:
    extra = option.get_help_extra(context)
    more = (
        f"One of {_choices(option.type)}." if isinstance(option.type, click.Choice) else "",
        "Needed." if "required" in extra else "",
        f"Default: {code(extra['default'])}." if "default" in extra and "Default: " not in (option.help or "") else "",
        _limits(extra["range"]) if "range" in extra else "",
    )
    return " ".join(filter(None, (plain(" ".join((option.help or "").split())), *more)))


def _choices(kind: click.Choice[object]) -> str:
    return ", ".join(map(code, kind.choices))


def _limits(text: str) -> str:
    """Click's ``x>=1``, ``x>0`` and ``0<x<1`` in words."""
    between = re.fullmatch(r"([\d.]+)<x<([\d.]+)", text)
    if between:
        return f"Between {between[1]} and {between[2]}."
    return f"{text.replace('x>=', 'At least ').replace('x>', 'More than ')}."
