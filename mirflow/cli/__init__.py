"""The command line: commands of the files of this folder, of questions to scores, and of entry points.

Users' errors and warnings are printed as messages, with an exit code and without a traceback.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import click

from ..errors import (
    MirflowError,
    MirflowWarning,
    PluginError,
    PruneError,
    RunError,
    SchedulerError,
    StoreError,
    shorten_quotes,
    visible,
)
from ..interruption import Interrupted, stop_answering
from ..plugins import COMMANDS, declared, find, find_all
from ..questions import QUESTIONS, Question
from ..questions import find as find_question
from . import output as exits
from .common_options import Command, label_option, label_stores, option, settings_of, stores_argument
from .output import FOR_PEOPLE, SIMPLER, choose_format, echo, emit, given_options, output_options, shows_styles

SECTIONS = {
    "first": "Begin with",
    "score": "Score",
    "systems": "Ask about systems",
    "tracks": "Ask about tracks",
    "stores": "Ask about stores",
    "show": "Show",
    "campaign": "Campaigns",
    "tools": "Tools",
}
"""The sections of ``mirflow --help``."""
FILES = {
    "annotation_files": ("check", "evaluate", "pack", "patch"),
    "pipelines": ("demo", "init", "publish", "run", "schema"),
    "presentation": ("embed", "plot", "report", "sonify"),
    "publications": ("bench", "cite", "metrics", "verify"),
    "stores": ("export", "history", "import"),
}
"""Files of this folder, imported on use, and the commands that each declares: `NAME_command` is the command NAME."""
_MEANT = {
    "--limit": ("--worst", "-n"),
    "--top": ("--best", "-n"),
    "--output-format": ("--format",),
    "-f": ("--format",),
    "-n": ("--worst",),
}
"""Options of other programs, and those that do the same here, of which a command has at most one."""
_STOPPED = (exits.HUNG_UP, exits.INTERRUPTED, exits.TERMINATED)
_EXITS = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in exits.MEANINGS.items())


class Commands(click.Group):
    """A group of commands that report users' errors as a message and an exit code, never as a traceback."""

    debug = False

    def list_commands(self, context: click.Context) -> list[str]:
        """Name the commands, by place."""
        for name in (*chain.from_iterable(FILES.values()), *QUESTIONS, *find_all(COMMANDS)):
            try:
                self.get_command(context, name)
            except PluginError as error:
                warnings.warn(str(error), MirflowWarning, stacklevel=2)
        return sorted(self.commands, key=lambda name: (getattr(self.commands[name], "place", 99), name))

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each section, those of other packages last."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(context):
            command = self.commands[name]
            rows.setdefault(getattr(command, "section", ""), []).append((name, command.get_short_help_str(80)))
        for section, title in {**SECTIONS, "": "Commands of other packages"}.items():
            if section in rows:
                with formatter.section(title):
                    formatter.write_dl(rows[section])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Find a command: among those of files, of questions, of installed packages."""
        if name in self.commands:
            return self.commands[name]
        file = next((file for file, commands in FILES.items() if name in commands), None)
        if file is not None:
            self.add_command(getattr(import_module(f"{__name__}.{file}"), f"{name}_command"), name)
        elif name in QUESTIONS:
            self.add_command(question_command(find_question(name)))
        else:
            command = find(COMMANDS, name)
            if isinstance(command, click.Command):
                self.add_command(command, name)
            elif command is not None:
                kind = type(command).__name__
                raise PluginError(f"{name!r} in the entry points {COMMANDS!r} is a {kind}, not a command")
            elif name not in declared(COMMANDS):  # click proposes the nearest of the commands that were imported
                self.list_commands(context)
        return self.commands.get(name)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command; in standalone mode, exit with its exit code, even after an error."""
        start: Callable[..., Any] = partial(
            super().main, *args, **{"prog_name": "mirflow"} | extra, standalone_mode=False
        )
        if not standalone_mode:
            return start()
        self.debug = bool(os.environ.get("MIRFLOW_DEBUG"))
        for stream in (sys.stdout, sys.stderr):
            # Names may contain characters that a terminal cannot show; commands must not fail because of them.
            if hasattr(stream, "reconfigure") and (stream.encoding or "").lower().replace("-", "") != "utf8":
                stream.reconfigure(errors=SIMPLER)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = partial(_show_warning, warnings.showwarning)
                try:
                    code = start(**{"color": False} if os.environ.get("NO_COLOR") else {})
                    # Flushing the buffer may reveal a closed pipe.
                    sys.stdout.flush()
                except (Exception, KeyboardInterrupt) as error:
                    code = self._report(error)
        except Interrupted as stop:
            code = _print_message(str(stop), stop.code)
        # Exit at once: a signal during the interpreter's clean-up would print a traceback, and after a signal the
        # clean-up complains about unfinished work.
        if stop_answering() and code in _STOPPED:
            # What is left in the buffer would be complained about when the interpreter flushes it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        sys.exit(code if isinstance(code, int) else exits.OK)

    def invoke(self, context: click.Context) -> Any:
        """Run the named command; click would exit with 1 if the output is closed."""
        self.debug |= context.params.pop("debug", False)
        try:
            return super().invoke(context)
        except BrokenPipeError as error:
            return context.exit(self._report(error))

    def _report(self, error: BaseException) -> int:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the buffer, which nothing can write
            return exits.BROKEN_PIPE
        if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
            return _print_message("interrupted", exits.INTERRUPTED)
        if isinstance(error, click.ClickException):
            message = error.message
            if isinstance(error, click.NoSuchOption) and error.ctx is not None:
                known = {name for option in error.ctx.command.params for name in option.opts}
                for near in known.intersection(_MEANT.get(error.option_name, ())):
                    message += f" Did you mean {near}?" if near not in message.split() else ""
            vars(error)["message"] = visible(message)
            error.show()
            return exits.BAD_INPUT
        if self.debug:
            traceback.print_exception(error)
        if isinstance(error, MemoryError):
            return _print_message("error: out of memory: a file is too large for this process", exits.BAD_INPUT)
        if not isinstance(error, MirflowError | OSError):  # a bug
            hint = "" if self.debug else "; please report it with the output of `mirflow --debug`"
            return _print_message(f"internal error: {type(error).__name__}: {error}{hint}", exits.INTERNAL)
        message = shorten_quotes(str(error))
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.filename}: {error.strerror}"
        code = exits.STORE if isinstance(error, StoreError) else exits.BAD_INPUT
        if isinstance(error, RunError) and not isinstance(error, PruneError | SchedulerError):
            code = exits.FAILED
        return _print_message(f"error: {message}", code)


def _print_message(message: str, code: int) -> int:
    red = code not in _STOPPED and shows_styles(sys.stderr)
    with suppress(OSError):  # the terminal may have been closed
        click.secho(visible(message), err=True, color=red, fg="red" if red else None)
    return code


def _show_warning(usual: Any, message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    if issubclass(category, MirflowWarning):
        echo(f"warning: {shorten_quotes(str(message))}", err=True)
    else:
        usual(message, category, *place, **more)


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
        completed: list[str] = []
        for arg, after in zip_longest(args[:end], args[1:end], fillvalue=""):
            completed.append(f"{arg}={defaults[arg]}" if arg in defaults else arg)
            with suppress(ValueError):
                float(after)
                completed[-1] = arg
        return super().parse_args(ctx, [*completed, *args[end:]])


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
    options += [] if several else [label_option]
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
    from ..reports.tables import NAMES

    style = choose_format(style, output)
    named = options["names"]
    if question.subjects[1:]:
        scores: list[Any] = [options.pop(name) for name in question.subjects]
    else:
        scores = [label_stores(options.pop("stores"), options.pop("labels"))]
    paper = {name: options.pop(name) for name in _PAPER if name in options}
    for name, value in paper.items():
        if value not in (None, False) and style != "latex":
            raise click.UsageError(f"--{name.replace('_', '-')} needs --format latex")
    latex = {"label" if name == "tex_label" else name: value for name, value in paper.items()}
    latex["names"] = named or NAMES[0]
    words = given_options(options)
    if "main" in question.options:
        words["main"] = style == "table" and not words.pop("every", False)
    words |= {name: True for name in ("progress", "guarded") if name in question.options}
    if question.best_first and style not in FOR_PEOPLE:  # programs rely on the store's order
        words = {"sort": "stored", **words}
    if latex.get("stacked") and "ci" not in words:
        raise click.UsageError("--stacked puts intervals below their values; add --ci")
    result = question(*scores, **words)
    if named is not None and not any(table.titles() for table in result.tables()):
        raise click.UsageError("--names is about names of metrics, and this table has none with a title")
    for note in () if style in FOR_PEOPLE else result.notes:
        echo(note, err=True)
    emit(result, style, output, latex, signed=signatures)
    for failure in result.failures:
        echo(failure, err=True)
    if result.failures:
        click.get_current_context().exit(exits.FAILED)


cli = Commands(
    "cli",
    help="Score music information retrieval systems over whole datasets.",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\nExit codes:\n{_EXITS}",
)
click.version_option(package_name="mirflow")(cli)
click.option("--debug", is_flag=True, help="Show tracebacks (as does MIRFLOW_DEBUG=1).")(cli)

main = cli.main
