"""The command line, light to import: the commands, and what becomes of errors."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import click

from ..errors import MirflowError, MirflowWarning, PruneError, RunError, SchedulerError, StoreError
from ..interruption import Interrupted, stop_answering
from ..report.tables import shorten
from . import output
from .check import check_command
from .compare import compare_command
from .diff import diff_command, import_command
from .graders import graders_command, workload_command
from .metrics import metrics_command, schema_command
from .output import shows_styles
from .query import query_command, show_command
from .report import plot_command, report_command
from .run import evaluate_command, pack_command, run_command

_STOPPED = (output.HUNG_UP, output.INTERRUPTED, output.TERMINATED)
_EXITS = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in output.MEANINGS.items())


class Commands(click.Group):
    """A group of commands in which the user's errors are one message and an exit code, never a traceback."""

    debug = False

    def list_commands(self, context: click.Context) -> list[str]:
        """The commands in the order in which they were added: the usual ones first."""
        return list(self.commands)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command; standalone, leave the process with its exit code."""
        start: Callable[..., Any] = super().main
        if not standalone_mode:
            return start(*args, standalone_mode=False, **extra)
        self.debug = bool(os.environ.get("MIRFLOW_DEBUG"))
        if os.environ.get("NO_COLOR"):
            extra["color"] = False
        try:
            with _plain_warnings():
                code = self._guard(start, *args, **extra)
        except Interrupted as stop:  # between the end of the command and this
            code = _say(str(stop), stop.code)
        # The code is known: a signal while the interpreter cleans up would only show where it was; and after a signal
        # it complains of what was under way.
        if stop_answering() and code in _STOPPED:
            _forget(sys.stderr)
        sys.exit(code)

    def invoke(self, context: click.Context) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(context)
        except BrokenPipeError:
            _forget(sys.stdout)
            return context.exit(output.BROKEN_PIPE)

    def _guard(self, start: Callable[..., Any], *args: Any, **extra: Any) -> int:
        """The exit code of a command, whatever it raises."""
        try:
            code = start(*args, standalone_mode=False, **extra)
            # What is still buffered may only now meet a closed pipe.
            sys.stdout.flush()
            return code if isinstance(code, int) else output.OK
        except BrokenPipeError:
            _forget(sys.stdout)
            return output.BROKEN_PIPE
        except Interrupted as stop:
            return _say(str(stop), stop.code)
        except (click.exceptions.Abort, KeyboardInterrupt):
            return _say("interrupted", output.INTERRUPTED)
        except click.ClickException as error:
            error.show()
            return output.BAD_INPUT
        except (MirflowError, OSError) as error:
            self._show_traceback()
            return _say(f"error: {_message(error)}", _code_of(error))
        # The last resort of a command line: anything else is our mistake, and is said to be one.
        except Exception as error:
            self._show_traceback()
            hint = "" if self.debug else "; please report it with what `mirflow --debug` prints"
            return _say(f"internal error: {type(error).__name__}: {error}{hint}", output.INTERNAL)

    def _show_traceback(self) -> None:
        if self.debug:
            traceback.print_exc()


def _code_of(error: MirflowError | OSError) -> int:
    if isinstance(error, StoreError):
        return output.STORE
    computed = isinstance(error, RunError) and not isinstance(error, PruneError | SchedulerError)
    return output.FAILED if computed else output.BAD_INPUT


def _message(error: MirflowError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return shorten(str(error))


def _say(message: str, code: int) -> int:
    red = code not in _STOPPED and shows_styles(sys.stderr)
    with suppress(OSError):  # the terminal may be what went away
        click.secho(message, err=True, color=red, fg="red" if red else None)
    return code


def _forget(stream: TextIO) -> None:
    """Give what is left to nobody, so that the interpreter does not complain when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Our own warnings as a line for people, without the place in our code."""
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, MirflowWarning):
            click.echo(f"warning: {shorten(str(message))}", err=True)
        else:
            usual(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and isinstance(context.command, Commands):
        context.command.debug = True


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\nExit codes:\n{_EXITS}",
)
@click.version_option(package_name="mirflow")
@click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_set_debug,
    help="Show tracebacks (as does MIRFLOW_DEBUG=1).",
)
def cli() -> None:
    """Score music information retrieval systems over whole datasets."""


for _command in (
    *(run_command, query_command, compare_command, diff_command, plot_command, report_command, evaluate_command),
    *(show_command, import_command, check_command, metrics_command, schema_command, pack_command),
    *(graders_command, workload_command),
):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the command ``mirflow``."""
    for stream in (sys.stdout, sys.stderr):
        # Names may hold characters that an old terminal cannot show; that must not end a command.
        if hasattr(stream, "reconfigure") and (stream.encoding or "").lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="replace")
    cli.main(args=None if arguments is None else list(arguments), prog_name="mirflow")


if __name__ == "__main__":
    main()
