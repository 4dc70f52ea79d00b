"""The commands as Markdown, from the click objects that parse them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from mirflow.cli import cli
from mirflow.cli.common_options import ReadingCommand

from .markdown import code, plain, table


def commands_text() -> str:
    """A section for each command, in the order of ``mirflow --help``, and one for the options of reading files."""
    context = click.Context(cli, info_name="mirflow")
    parts = [f"## Options of every command\n\n{_options(context, cli.params)}"]
    reading: list[click.Parameter] = []
    for name in cli.list_commands(context):
        inner = click.Context(cli.commands[name], info_name=name, parent=context)
        parts += _sections(inner, name)
        if isinstance(inner.command, ReadingCommand):
            reading = inner.command.reading_params(inner)
    parts.append(f"## {_READING}\n\n{_options(context, reading)}")
    return "\n".join(parts)


_READING = "Options of reading files"


def _sections(context: click.Context, title: str) -> Iterator[str]:
    """The usage, the help and the options of a command and those below it; it refers to the options of reading."""
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    level = "#" * (1 + len(title.split()))
    parts = [f"{level} {title}", f"```text\n{usage}\n```", _help(command)]
    parameters = command.get_params(context)
    if isinstance(command, ReadingCommand):
        shared = command.reading_params(context)
        parameters = [one for one in parameters if one not in shared]
        parts.append(f"It takes the [options of reading files](#{_READING.lower().replace(' ', '-')}) as well.")
    parts.append(_options(context, parameters))
    yield "\n\n".join(filter(None, parts)) + "\n"
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _sections(click.Context(below, info_name=name, parent=context), f"{title} {name}")


def _help(command: click.Command) -> str:
    """The help as paragraphs; what click must not wrap (after ``\\b``) stays as it is laid out."""
    paragraphs = (command.help or "").replace("\f", "").split("\n\n")
    return "\n\n".join(
        f"```text\n{text[2:]}\n```" if text.startswith("\b\n") else plain(" ".join(text.split())) for text in paragraphs
    )


def _options(context: click.Context, parameters: Iterable[click.Parameter]) -> str:
    rows = []
    for parameter in parameters:
        if "--help" in parameter.opts:
            continue
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
