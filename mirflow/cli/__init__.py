"""The command line: the commands that the files of this folder declare, and those of entry points."""

from __future__ import annotations

import os
import pkgutil
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, TextIO

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
from ..plugins import COMMANDS, find, find_all
from ..questions import find as find_question
from ..questions import names
from . import output

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
_MEANT = {
    "--limit": ("--worst", "-n"),
    "--top": ("--best", "-n"),
    "--output-format": ("--format",),
    "-f": ("--format",),
    "-n": ("--worst",),
}
"""Options of other programs, and those that do the same here, of which a command has at most one."""
_STOPPED = (output.HUNG_UP, output.INTERRUPTED, output.TERMINATED)
_EXITS = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in output.MEANINGS.items())


def _files() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(__path__)]


class Commands(click.Group):
    """A group of commands that report users' errors as a message and an exit code, never as a traceback."""

    debug = False

    def list_commands(self, context: click.Context) -> list[str]:
        """Name the commands, by place."""
        for file in _files():
            self._add_file(file)
        for name in names():
            self._add_question(name)
        for name in find_all(COMMANDS):
            try:
                self._add_installed(name)
            except PluginError as error:
                warnings.warn(str(error), MirflowWarning, stacklevel=2)
        return sorted(self.commands, key=lambda name: (getattr(self.commands[name], "place", 99), name))

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each section, those of other packages last."""
        listed = [self.commands[name] for name in self.list_commands(context)]
        for section, title in {**SECTIONS, "": "Commands of other packages"}.items():
            own = [command for command in listed if getattr(command, "section", "") == section]
            if own:
                with formatter.section(title):
                    formatter.write_dl([(command.name or "", command.get_short_help_str(80)) for command in own])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Find a command: in the file whose name has it, among those of installed packages, in the other files."""
        if name in self.commands:
            return self.commands[name]
        files = _files()
        own = next((file for file in files if name in file.split("_")), None)
        if own is not None:
            self._add_file(own)
        elif name in names():
            self._add_question(name)
        elif not self._add_installed(name):
            for file in files:
                self._add_file(file)
        return self.commands.get(name)

    def _add_file(self, file: str) -> None:
        found = [one for one in vars(import_module(f"{__name__}.{file}")).values() if isinstance(one, click.Command)]
        members = [id(one) for group in found if isinstance(group, click.Group) for one in group.commands.values()]
        for command in found:
            if id(command) not in members:
                self.add_command(command)

    def _add_question(self, name: str) -> None:
        from .question_commands import question_command

        self.add_command(question_command(find_question(name)))

    def _add_installed(self, name: str) -> bool:
        command = find(COMMANDS, name)
        if isinstance(command, click.Command):
            self.add_command(command, name)
        elif command is not None:
            raise PluginError(f"{name!r} in the entry points {COMMANDS!r} is a {type(command).__name__}, not a command")
        return command is not None

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
                stream.reconfigure(errors=output.SIMPLER)
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
            _discard(sys.stderr)
        sys.exit(code if isinstance(code, int) else output.OK)

    def invoke(self, context: click.Context) -> Any:
        """Run the named command; click would exit with 1 if the output is closed."""
        self.debug |= context.params.pop("debug", False)
        try:
            return super().invoke(context)
        except BrokenPipeError as error:
            return context.exit(self._report(error))

    def _report(self, error: BaseException) -> int:
        if isinstance(error, BrokenPipeError):
            _discard(sys.stdout)
            return output.BROKEN_PIPE
        if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
            return _print_message("interrupted", output.INTERRUPTED)
        if isinstance(error, click.ClickException):
            message = error.message
            if isinstance(error, click.NoSuchOption) and error.ctx is not None:
                known = {name for option in error.ctx.command.params for name in option.opts}
                for near in known.intersection(_MEANT.get(error.option_name, ())):
                    message += f" Did you mean {near}?" if near not in message.split() else ""
            vars(error)["message"] = visible(message)
            error.show()
            return output.BAD_INPUT
        if self.debug:
            traceback.print_exception(error)
        if isinstance(error, MemoryError):
            return _print_message("error: out of memory: a file is too large for this process", output.BAD_INPUT)
        if not isinstance(error, MirflowError | OSError):  # a bug
            hint = "" if self.debug else "; please report it with the output of `mirflow --debug`"
            return _print_message(f"internal error: {type(error).__name__}: {error}{hint}", output.INTERNAL)
        message = shorten_quotes(str(error))
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.filename}: {error.strerror}"
        code = output.STORE if isinstance(error, StoreError) else output.BAD_INPUT
        if isinstance(error, RunError) and not isinstance(error, PruneError | SchedulerError):
            code = output.FAILED
        return _print_message(f"error: {message}", code)


def _print_message(message: str, code: int) -> int:
    red = code not in _STOPPED and output.shows_styles(sys.stderr)
    with suppress(OSError):  # the terminal may have been closed
        click.secho(visible(message), err=True, color=red, fg="red" if red else None)
    return code


def _discard(stream: TextIO) -> None:
    """Discard the rest of a buffer, so that the interpreter does not complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _show_warning(usual: Any, message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    if issubclass(category, MirflowWarning):
        output.echo(f"warning: {shorten_quotes(str(message))}", err=True)
    else:
        usual(message, category, *place, **more)


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=f"\b\nExit codes:\n{_EXITS}"
)
@click.version_option(package_name="mirflow")
@click.option("--debug", is_flag=True, help="Show tracebacks (as does MIRFLOW_DEBUG=1).")
def cli() -> None:
    """Score music information retrieval systems over whole datasets."""


main = cli.main
