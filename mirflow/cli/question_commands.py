"""The commands of questions to scores, made from their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from ..questions import Question
from .common_options import Command, label_stores, option, settings_of, stores_argument
from .output import FAILED, choose_format, echo, emit, for_people, given_options, output_options

_PAPER = {
    "stacked": click.option("--stacked", is_flag=True, help="In LaTeX: intervals below their values."),
    "caption": click.option("--caption", help="In LaTeX: the caption, as LaTeX. Default: the contents of the table."),
    "tex_label": click.option("--tex-label", help="In LaTeX: the label of the table."),
    "names": option("names"),
}
"""Options of tables in papers."""


class QuestionCommand(Command):
    """A command whose options may have an optional number; other values after them are arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the defaults of such options if no number follows."""
        defaults = {
            flag: str(param.flag_value)
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag and isinstance(param.flag_value, float)
            for flag in param.opts
        }
        end = args.index("--") if "--" in args else len(args)
        given = [
            f"{arg}={defaults[arg]}" if arg in defaults and not _is_number(after) else arg
            for arg, after in zip_longest(args[:end], args[1:end], fillvalue="")
        ]
        return super().parse_args(ctx, [*given, *args[end:]])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def question_command(question: Question) -> click.Command:
    """The command that asks a question of stores."""
    options = [
        click.option(*flags, name, **settings)
        for name, declared in question.takes.items()
        if not declared.unlisted
        for flags, settings in [settings_of(name, declared)]
    ]
    if "main" in question.options:
        about = "All metrics. Default without --metric: the main ones; in other formats all."
        options.append(click.option("--all", "every", is_flag=True, help=about))
    options += [_PAPER[name] for name in _PAPER if name != "stacked" or "ci" in question.options]
    several = question.subjects[1:]
    subjects = [click.argument(name) for name in question.subjects] if several else [stores_argument]
    options += [] if several else [option("label")]
    if "ci" in question.options:
        about = "Print the signatures of the numbers below a table (see verify)."
        options.append(click.option("--signatures", is_flag=True, help=about))
    run: Any = output_options(partial(_answer, question))
    for decorate in reversed([*subjects, *options]):
        run = decorate(run)
    return click.command(
        question.name,
        cls=QuestionCommand,
        section=question.section,
        place=question.place,
        short_help=question.brief,
        help=question.help.replace("``", ""),
    )(run)


def _answer(
    question: Question, *, style: str | None, output: Path | None, signatures: bool = False, **options: Any
) -> None:
    style = choose_format(style, output)
    named = options["names"]
    if question.subjects[1:]:
        scores: list[Any] = [options.pop(name) for name in question.subjects]
    else:
        scores = [label_stores(options.pop("stores"), options.pop("labels"))]
    latex = _latex({name: options.pop(name) for name in _PAPER if name in options}, style)
    words = given_options(options)
    if "main" in question.options:
        words["main"] = style == "table" and not words.pop("every", False)
    words |= {name: True for name in ("progress", "guarded") if name in question.options}
    if question.best_first and not for_people(style):  # programs rely on the store's order
        words = {"sort": "stored", **words}
    if latex.get("stacked") and "ci" not in words:
        raise click.UsageError("--stacked puts intervals below their values; add --ci")
    result = question(*scores, **words)
    if named is not None and not any(table.titles() for table in result.tables()):
        raise click.UsageError("--names is about names of metrics, and this table has none with a title")
    for note in () if for_people(style) else result.notes:
        echo(note, err=True)
    emit(result, style, output, latex, signed=signatures)
    for failure in result.failures:
        echo(failure, err=True)
    if result.failures:
        click.get_current_context().exit(FAILED)


def _latex(given: Mapping[str, Any], style: str) -> dict[str, Any]:
    from ..reports.tables import NAMES

    for name, value in given.items():
        if value not in (None, False) and style != "latex":
            raise click.UsageError(f"--{name.replace('_', '-')} needs --format latex")
    renamed = {"label" if name == "tex_label" else name: value for name, value in given.items()}
    return renamed | {"names": given["names"] or NAMES[0]}
