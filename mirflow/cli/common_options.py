"""Options that commands share: those of queries, and those of reading files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..analysis.policies import MISSING, UNDEFINED
from ..metrics.aggregates import DECLARED
from .output import output_options

if TYPE_CHECKING:
    from ..readers.options import Option

Command = TypeVar("Command", bound=Callable[..., Any])

store_argument = click.argument("store", type=click.Path(path_type=Path))
stores_argument = click.argument("stores", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="STORE...")
label_option = click.option(
    "--label", "labels", multiple=True, help="A name for each of several STOREs, put before its systems."
)


class Declared(click.Choice[str]):
    """Names that are looked up when they are needed, so that those declared after the commands are among them.

    Parameters
    ----------
    names : callable
        Gives the names.
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        """The names as they are now."""
        return tuple(self._names())

    @choices.setter
    def choices(self, given: tuple[str, ...]) -> None:
        """Leave what click sets at first: the names are looked up."""


def label_stores(stores: Sequence[Path], labels: Sequence[str]) -> dict[str, str | Path] | list[str | Path]:
    """Several stores to be opened as one, by their labels if they have some."""
    if labels and len(labels) != len(stores):
        raise click.UsageError(f"{len(labels)} labels for {len(stores)} stores; give each store one, or none")
    if len(set(labels)) < len(labels):
        raise click.UsageError("two stores have the same label")
    return dict(zip(labels, stores, strict=True)) if labels else [*stores]


def _pairs(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """``name=value``, in the order given."""
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise click.BadParameter(f"write it as name=value, not {text!r}")
        if name in pairs:
            raise click.BadParameter(f"{name} is given twice")
        pairs[name] = value
    return pairs


param_option = click.option(
    "--param", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="Only metrics with this parameter."
)
over_option = click.option(
    "--over",
    multiple=True,
    callback=_pairs,
    metavar="DIM=HOW",
    help="Of metrics with extra dims, in each track: mean, median, sum, min, max, or one label. In the order given.",
)


across_option = click.option(
    "--across",
    multiple=True,
    callback=_pairs,
    metavar="DIM=HOW",
    help="Across the values of groups or classes: mean, std, median, min, max. fold=mean,std gives both.",
)
aggregate_option = click.option(
    "--aggregate",
    "-a",
    type=Declared(lambda: DECLARED),
    help="Default: the one that the field reports for each metric.",
)


where_option = click.option(
    "--where", "-w", help="Only tracks for which it holds: \"genre == 'Rock' and year < 1980\". See the docs."
)


def choosing_options(command: Command) -> Command:
    """What a question is about: metrics, systems, tracks, annotators, parameters, policies."""
    options = [
        click.option("--metric", "-m", multiple=True, help="Repeat for several. Default: all."),
        aggregate_option,
        click.option(
            "--systems", "--system", "-s", "system", multiple=True, help="Names or patterns (*). Repeat for several."
        ),
        click.option(
            "--tracks", "--track", "-t", "tracks", multiple=True, help="Names or patterns (*). Repeat for several."
        ),
        where_option,
        click.option("--annotator", multiple=True, help="Only scores against this annotator. Repeat for several."),
        param_option,
        click.option(
            "--by",
            "-b",
            multiple=True,
            help="Group tracks by a coordinate (genre, ...) or by annotator, or list each: track.",
        ),
        over_option,
        click.option(
            "--missing",
            type=click.Choice(tuple(MISSING)),
            help="Cells without a score. Default: common (tracks that all systems have) for several, else skip.",
        ),
        click.option(
            "--undefined",
            type=click.Choice(tuple(UNDEFINED)),
            help="Scores with nothing to measure. Default: keep; of --worst and --best: skip.",
        ),
        click.option("--group", "-g", help="Which evaluation. Default: every one that has the metrics."),
        click.option(
            "--sort",
            metavar="METRIC|best|name|stored",
            help="Order of systems. Default: best (by the headline or first metric) in tables for people, else stored.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


class OptionalLevels(click.Command):
    """A command of which some options may have a number: what follows them and is none is left to the arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write out the defaults of such options where no number follows."""
        defaults = {
            flag: str(one.flag_value)
            for one in self.params
            if isinstance(one, click.Option) and not one.is_flag and isinstance(one.flag_value, float)
            for flag in one.opts
        }
        end = args.index("--") if "--" in args else len(args)
        given = [
            f"{arg}={defaults[arg]}" if arg in defaults and not _is_number(after) else arg
            for arg, after in zip(args[:end], [*args[1:end], ""], strict=True)
        ]
        return super().parse_args(ctx, [*given, *args[end:]])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def showing_options(command: Command) -> Command:
    """What stands beside the figures, and how they are laid out."""
    options = [
        across_option,
        click.option(
            "--primary", is_flag=True, help="One table: the headline metric of each evaluation, systems across."
        ),
        click.option("--worst", type=click.IntRange(1), metavar="N", help="List the N worst tracks of each system."),
        click.option("--best", type=click.IntRange(1), metavar="N", help="List the N best tracks of each system."),
        click.option(
            "--agreement",
            type=click.Choice(("metric", "annotator", "system")),
            help="How much alike metrics or annotators rank the systems, or systems the tracks: Kendall's tau.",
        ),
        click.option("--overall", is_flag=True, help="For --worst and --best: by the mean over the systems."),
        click.option(
            "--ci",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            is_flag=False,
            flag_value=0.95,
            metavar="[LEVEL]",
            help="Confidence intervals by bootstrap over the tracks. Default level: 0.95.",
        ),
        click.option(
            "--cluster", help="For --ci, --significance: a coordinate (artist) whose tracks are drawn together."
        ),
        click.option(
            "--significance",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            is_flag=False,
            flag_value=0.95,
            metavar="[LEVEL]",
            help="Mark the systems that are not told apart from the best. Default level: 0.95.",
        ),
        click.option(
            "--pivot", type=click.Choice(("metric", "system", "group")), help="What runs across tables for people."
        ),
        click.option("--stacked", is_flag=True, help="In LaTeX: intervals below their values."),
        click.option("--caption", help="In LaTeX: the caption, as LaTeX. Default: what the table holds."),
        click.option("--tex-label", help="In LaTeX: the label to refer to the table by."),
        click.option("--no-notes", is_flag=True, help="In LaTeX: nothing below the table."),
        click.option("--percent", is_flag=True, help="Ratios as percentages, in tables for people."),
    ]
    for option in reversed(options):
        command = option(command)
    return output_options(command)


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


class ReadingCommand(click.Command):
    """A command with the options of reading, above those of its output; those that were given are its ``options``.

    They are looked up when the command is used, as their declarations need numpy.

    Parameters
    ----------
    note : str
        What each one's help ends with.
    """

    def __init__(self, *arguments: Any, note: str = "", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._note = note
        self._names: tuple[str, ...] = ()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All parameters of the command."""
        if not self._names:
            declared = _reading_options()
            self._names = tuple(one.name for one in declared)
            names = [one.name for one in self.params]
            place = names.index("style") if "style" in names else len(names)
            self.params[place:place] = [_parameter(one, self._note) for one in declared]
        return super().get_params(ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command with the options that were given as one mapping."""
        given = {name: ctx.params.pop(name) for name in self._names}
        flags = {one.name for one in self.params if one.default is False}
        ctx.params["options"] = {
            name: value for name, value in given.items() if value is not None and not (value is False and name in flags)
        }
        return super().invoke(ctx)


def _reading_options() -> list[Option]:
    """The options of reading that commands have, in the order of their help."""
    from ..readers.options import OPTIONS

    return sorted((one for one in OPTIONS.values() if one.help is not None), key=lambda one: one.places[1])


def _parameter(option: Option, note: str) -> click.Option:
    """An option of reading on the command line."""
    settings: dict[str, Any] = {"help": f"{option.help or option.words} {note}".rstrip(), "default": None}
    flag = f"--{_spelling(option)}"
    if option.type is bool:
        settings |= {"is_flag": True, "default": False}
    elif option.type == bool | None:
        flag = f"{flag}/--no-{_spelling(option)}"
    elif option.is_mapping:
        settings["callback"] = _columns
    elif option.default == ():
        settings["callback"] = _names
    elif option.type == str | int | None:
        settings["callback"] = _column
    elif option.listed:
        settings["type"] = click.Choice(option.choices)
    elif option.type in (int, float):
        settings["type"] = option.type
    return click.Option([flag, option.name], **settings)


def _spelling(option: Option) -> str:
    return option.spelling or option.name.replace("_", "-")


def typed(options: Mapping[str, Any]) -> str:
    """Reading options as one types them.

    Examples
    --------
    >>> typed({"format": "csv", "columns": {"start": 0, "label": 1}, "header": False, "drums": True})
    '--input-format csv, --columns start=0,label=1, --no-header, --drums'
    """
    given = [(_spelling(one), options[one.name]) for one in _reading_options() if one.name in options]
    return ", ".join(_typed(spelling, value) for spelling, value in given)


def _typed(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    if isinstance(value, Mapping):
        value = [f"{column}={place}" for column, place in value.items()]
    return f"--{name} {','.join(value) if isinstance(value, list) else value}"


def chosen_annotator(text: str | None) -> str | int | None:
    """An annotator as typed: a number counts from 0, everything else is an identifier."""
    return int(text) if text is not None and text.isdecimal() else text
