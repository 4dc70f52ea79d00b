"""How commands are told to read files: the options that pipeline files have for it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def check_existing(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse paths that do not exist, but for those that stand for the files of several levels or sources."""
    for path in value if isinstance(value, tuple) else (value,):
        # Of a link that leads nowhere more can be said where it is read.
        if "{" not in str(path) and not path.exists() and not path.is_symlink():
            raise click.BadParameter(f"Path {str(path)!r} does not exist.")
    return value


def _columns(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, int | str] | None:
    """``start=0,label=chord`` as a mapping."""
    if value is None:
        return None
    pairs = [part.partition("=") for part in value.split(",")]
    if not all(name.strip() and place.strip() for name, _, place in pairs):
        raise click.BadParameter(f"write name=column,..., such as start=0,label=1, not {value!r}")
    places = {name.strip(): place.strip() for name, _, place in pairs}
    return {name: int(place) if place.isdecimal() else place for name, place in places.items()}


def _column(context: click.Context, parameter: click.Parameter, value: str | None) -> str | int | None:
    """A column's name, or its number counted from 0."""
    return int(value) if value is not None and value.isdecimal() else value


def _names(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    """``coarse,fine`` as a list."""
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"write names with commas between them, not {value!r}")
    return names


_OPTIONS: dict[str, dict[str, Any]] = {
    "input_format": {"help": "Of the files read: jams, csv, midi, ... Default: what their suffixes say."},
    "namespace": {"help": "The namespace to take from JAMS files."},
    "columns": {"callback": _columns, "help": "Which column of text holds what: start=0,label=1; or by the header."},
    "delimiter": {"help": "Of text: a character, or tab, comma, semicolon, whitespace. Default: found from the file."},
    "decimal": {"help": "What stands before decimals in text: . or ,. Default: a comma where semicolons part columns."},
    "header": {"flags": "--header/--no-header", "default": None, "help": "Whether text begins with names of columns."},
    "comment": {"help": "Lines of text that begin with it, by default with #, are left out."},
    "encoding": {"help": "Of text. Default: utf-8."},
    "time_unit": {"help": "Of text: s, ms, samples@44100 or frames@0.01."},
    "pitch_unit": {"type": click.Choice(("Hz", "MIDI")), "help": "Of text. Default: Hz."},
    "select": {"help": "Which beats of a file: all, downbeat, bar_start or bar_end."},
    "levels": {"callback": _names, "help": "Values of {level} in the path, the coarsest first: upper,lower."},
    "sources": {"callback": _names, "help": "Of sound: the sources to take, in this order: vocals,drums."},
    "exclude": {
        "type": click.Choice(("self", "none")),
        "help": "Of rankings: whether the query is left out of its own.",
    },
    "exclude_same": {"callback": _column, "help": "Of groups: the column whose agreement leaves items out: artist."},
    "last": {"help": "The last row of a list of boundaries: end (of the row above), or keep."},
    "drums": {"is_flag": True, "help": "Take the percussion of MIDI files too."},
    "instrument": {"help": "What labels the notes of MIDI files: program or track. Default: program."},
}
_RENAMED = {"input_format": "format"}  # --format is that of the output


def reading_options(command: Command, note: str = "") -> Command:
    """Options for how files are read; the command gets those that were given as one mapping, ``options``.

    Each one's help ends with the note.
    """

    @functools.wraps(command)
    def collect(*arguments: Any, **given: Any) -> Any:
        values = {name: given.pop(name) for name in _OPTIONS}
        options = {
            _RENAMED.get(name, name): value
            for name, value in values.items()
            if value is not None and not (_OPTIONS[name].get("is_flag") and value is False)
        }
        return command(*arguments, options=options, **given)

    collected: Any = collect
    for name, settings in reversed(_OPTIONS.items()):
        given = {key: value for key, value in settings.items() if key != "flags"}
        given["help"] = f"{given['help']} {note}".rstrip()
        flags = str(settings.get("flags", f"--{name.replace('_', '-')}"))
        collected = click.option(flags, name, **given)(collected)
    return cast(Command, collected)


def typed(options: Mapping[str, Any]) -> str:
    """Reading options as one types them.

    Examples
    --------
    >>> typed({"format": "csv", "columns": {"start": 0, "label": 1}, "header": False, "drums": True})
    '--input-format csv, --columns start=0,label=1, --no-header, --drums'
    """
    given = {name: options[_RENAMED.get(name, name)] for name in _OPTIONS if _RENAMED.get(name, name) in options}
    return ", ".join(_typed(name.replace("_", "-"), value) for name, value in given.items())


def _typed(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    if isinstance(value, Mapping):
        value = [f"{column}={place}" for column, place in value.items()]
    return f"--{name} {','.join(value) if isinstance(value, list) else value}"


def chosen_annotator(text: str | None) -> str | int | None:
    """An annotator as typed: a number counts from 0, everything else is an identifier."""
    return int(text) if text is not None and text.isdecimal() else text
