"""Options that commands share, those of reading files, and the classes of commands that have them.

Names of evaluations, metrics and systems are completed from the stores on the command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..analysis.query_options import OPTIONS, QueryOption
from ..errors import suggest
from ..questions import SHARED
from ..remote import as_given, is_url

if TYPE_CHECKING:
    from ..analysis.queries import Stores
    from ..readers.options import Option

    NameChoice = click.Choice[str]
else:
    NameChoice = click.Choice  # generic since click 8.2

_EQUALS = re.compile(r"=(?![^()]*[)])")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class LocalPath(click.Path):
    """A file or folder on this machine; URLs, of which there is no such file, are refused by name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert an argument to a path."""
        if is_url(value):
            self.fail(f"{as_given(value)} is a URL; name a file or folder on this machine", param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


LEVEL = click.FloatRange(0, 1, min_open=True, max_open=True)

store_argument = click.argument("store", type=click.Path(path_type=Path))
stores_argument = click.argument("stores", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="STORE...")
label_option = click.option(
    "--label", "labels", multiple=True, help="A name for each of several STOREs, as a prefix of its systems."
)


class Command(click.Command):
    """A command with its section of ``mirflow --help``, and its place there; commands without one are not listed."""

    def __init__(self, *arguments: Any, section: str = "", place: int = 99, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section
        self.place = place


class CommandFamily(Command, click.Group):
    """A group of commands, listed in the order of their declaration."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order in which they were declared."""
        return [*self.commands]


@dataclass(repr=False, eq=False)
class Declared(NameChoice):
    """Choices that are looked up on use: this includes names declared later, and keeps the import of commands fast."""

    names: Callable[[], Iterable[str]]
    case_sensitive: bool = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # looked up on use, never set
        """The current names."""
        return tuple(self.names())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse an unknown name with the nearest known ones."""
        if value not in self.choices and param is not None:
            known = suggest(str(value), self.choices)
            if isinstance(param, click.Argument) and Path(str(value)).exists():  # the last of the arguments is a path
                self.fail(f"no {param.name} follows {str(value)!r}; {known}", param, ctx)
            self.fail(f"unknown {param.name} {value!r}; {known}", param, ctx)
        return super().convert(value, param, ctx)


def _pairs(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Parse ``name=value``, in the given order; names may have parameters with equals signs in brackets."""
    pairs: dict[str, str] = {}
    for text in texts:
        parts = _EQUALS.split(text, maxsplit=1)
        name, value = (parts[0].strip(), parts[-1].strip())
        if len(parts) < 2 or not name or not value:
            raise click.BadParameter(f"expected {parameter.metavar}, not {text!r}")
        if name in pairs:
            raise click.BadParameter(f"{name} is given twice")
        pairs[name] = value
    return pairs


def number_or_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | int | None:
    """A number, counted from 0, or a name."""
    return int(value) if value is not None and value.isdecimal() else value


def number_or_word(context: click.Context, parameter: click.Parameter, value: str | None) -> str | float | None:
    """A number, or a word such as ``union`` or ``page``."""
    try:
        return value and float(value)
    except ValueError:
        return value


def _complete_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of evaluations, metrics or systems in the stores on the command line; none if these cannot be read."""
    chosen, names = context.params.get("group"), list[str]()
    with suppress(Exception):
        from ..store.read import open_groups

        for store in context.args:  # click reads no arguments where an option lacks its value
            if is_url(store):  # a shell does not wait for another machine
                continue
            groups = open_groups(store)
            content = [group for name, group in groups.items() if chosen in (None, name)]
            if parameter.name == "group":
                names += groups
            elif parameter.name == "system":
                names += [name for group in content for name in group.systems]
            else:
                names += [name for group in content for name in (*group.measures, *group.cells.extras)]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def settings_of(name: str, declared: QueryOption) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Flags and settings of ``click.option`` for a declared option."""
    usual = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    flags = declared.flag or usual, *declared.flags
    silent = declared.default is None or declared.default is False or "Default" in declared.help
    about = "" if silent else f" Default: {declared.default}."
    settings: dict[str, Any] = {"help": declared.help + about, "required": declared.needed}
    settings |= {"multiple": declared.many or declared.pairs, "metavar": declared.metavar}
    if name in ("group", "metric", "system"):
        settings["shell_complete"] = _complete_names
    if declared.values > 1:
        settings["nargs"] = declared.values
    if declared.pairs:
        settings["callback"] = _pairs
    elif declared.choices is not None:
        settings["type"] = Declared(declared.choices)
    elif declared.kind is bool:
        settings["is_flag"] = True
    elif declared.folder:
        settings["type"] = LocalPath(file_okay=False)
    elif declared.level:
        settings["type"] = LEVEL
        if declared.alone is not None:
            settings |= {"is_flag": False, "flag_value": declared.alone, "metavar": "[LEVEL]"}
            settings["help"] += f" Default level: {declared.alone}."
    elif declared.kind in (int, float):
        numbers: Any = click.IntRange if declared.kind is int else click.FloatRange
        settings["type"] = numbers(declared.least)
    return flags, settings


_SHARED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    **{name: settings_of(name, SHARED[name]) for name in ("group", "cluster", "percent")},
    "names": (
        ("--names",),
        {
            "type": Declared(lambda: import_module("..reports.tables", __package__).NAMES),
            "help": "Name metrics by titles, such as F-measure, or by identifiers, such as f_measure. In LaTeX; "
            "default: titles.",
        },
    ),
    "root": (("--root",), {"type": LocalPath(file_okay=False), "help": "Base folder of its patterns."}),
    "task": (("--task", "-t"), {"help": "Task of the annotations, for example chord."}),
    "convention": (("--convention", "-c"), {"help": "Default: mir_eval's."}),
    "annotator": (
        ("--annotator",),
        {"callback": number_or_name, "help": "For JAMS files with several annotators: a number or an identifier."},
    ),
}


def option(name: str, help: str | None = None, **changes: Any) -> Callable[[Decorated], Decorated]:
    """Add a shared option to a command; `help` and `changes` replace its usual settings of ``click.option``."""
    flags, settings = _SHARED[name]
    return click.option(*flags, **settings | ({} if help is None else {"help": help}) | changes)


def query_options(*names: str, **helps: str) -> Callable[[Decorated], Decorated]:
    """Add options of :class:`mirflow.analysis.query_options.Query`; `helps` replace the declared help texts."""

    def decorate(command: Decorated) -> Decorated:
        for name in reversed(names):
            declared = OPTIONS[name]
            flags, settings = settings_of(name, replace(declared, help=helps.get(name, declared.help)))
            command = click.option(*flags, name, **settings)(command)
        return command

    return decorate


def label_stores(stores: Sequence[Path], labels: Sequence[str]) -> Stores:
    """A store, or several that are opened as one, by label if they have labels."""
    if labels and len(labels) != len(stores):
        raise click.UsageError(f"{len(labels)} labels for {len(stores)} stores; give each store one, or none")
    if len(set(labels)) < len(labels):
        raise click.UsageError("two stores have the same label")
    if labels:
        return dict(zip(labels, stores, strict=True))
    return stores[0] if len(stores) == 1 else [*stores]


def check_existing(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse paths that do not exist, except patterns of the files of several levels or sources."""
    for path in value if isinstance(value, tuple) else (value,):
        # The reader has a better message for broken links.
        if "{" not in str(path) and not path.exists() and not path.is_symlink():
            raise click.BadParameter(f"Path {str(path)!r} does not exist.")
    return value


def _columns(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, int | str] | None:
    if value is None:
        return None
    pairs = [part.partition("=") for part in value.split(",")]
    if not all(name.strip() and column.strip() for name, _, column in pairs):
        raise click.BadParameter(f"expected name=column,..., such as start=0,label=1, not {value!r}")
    columns = {name.strip(): column.strip() for name, _, column in pairs}
    return {name: int(column) if column.isdecimal() else column for name, column in columns.items()}


def _names(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"expected names separated by commas, not {value!r}")
    return names


class ReadingCommand(Command):
    """A command with the options of reading, before those of its output; it receives those given as ``options``. They
    are looked up on use, as their declarations need numpy. Options of single `sides` have a prefix, such as
    ``--estimate-time-unit``; the help omits them, as the command's text names the prefix."""

    def __init__(self, *arguments: Any, sides: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._sides = sides
        self._names: tuple[str, ...] = ()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All parameters of the command."""
        if not self._names:
            options: list[click.Parameter] = []
            for side, declared in product(("", *self._sides), _reading_options()):
                spelling = declared.spelling or declared.name.replace("_", "-")
                spelling = f"{side}-{spelling}" if side else spelling
                flag = f"--{spelling}"
                settings: dict[str, Any] = {"default": None}
                settings |= {"hidden": True} if side else {"help": declared.help or declared.words}
                if declared.type is bool:
                    settings |= {"is_flag": True, "default": False}
                elif declared.type == bool | None:
                    flag = f"{flag}/--no-{spelling}"
                elif declared.is_mapping:
                    settings["callback"] = _columns
                elif declared.default == ():
                    settings["callback"] = _names
                elif declared.type == str | int | None:
                    settings["callback"] = number_or_name
                elif declared.listed:
                    settings["type"] = click.Choice(declared.choices)
                elif declared.type in (int, int | None):
                    settings["type"] = int
                elif declared.type in (float, float | None):
                    settings["type"] = float
                name = f"{side}_{declared.name}" if side else declared.name
                options.append(click.Option([flag, name], **settings))
            self._names = tuple(str(declaration.name) for declaration in options)
            names = [param.name for param in self.params]
            index = names.index("style") if "style" in names else len(names)
            self.params[index:index] = options
        return super().get_params(ctx)

    def reading_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options of reading."""
        return [param for param in self.get_params(ctx) if param.name in self._names]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command with the given options as one mapping."""
        values = {name: ctx.params.pop(name) for name in self._names}
        flags = {param.name for param in self.params if param.default is False}
        ctx.params["options"] = {
            name: value
            for name, value in values.items()
            if value is not None and not (value is False and name in flags)
        }
        return super().invoke(ctx)


def _reading_options() -> list[Option]:
    from ..readers.options import OPTIONS

    shown = [declared for declared in OPTIONS.values() if declared.help is not None]
    return sorted(shown, key=lambda declared: declared.place)


def typed(options: Mapping[str, Any]) -> str:
    """Options of reading as typed on the command line."""
    parts = []
    for declared in _reading_options():
        if declared.name not in options:
            continue
        name, value = declared.spelling or declared.name.replace("_", "-"), options[declared.name]
        if isinstance(value, bool):
            parts.append(f"--{name}" if value else f"--no-{name}")
            continue
        texts = [f"{column}={source}" for column, source in value.items()] if isinstance(value, Mapping) else value
        parts.append(f"--{name} {','.join(texts) if isinstance(texts, list) else texts}")
    return ", ".join(parts)
