"""How figures are declared, drawn and written: kinds of figures, and the canvas with sizes, colours and captions.

Files (PDF, PNG, SVG) have the signatures of the numbers in their metadata, and are the same whenever they are written.
LaTeX with the caption can be written beside them. Within `off_screen`, figures are drawn without pyplot, by one thread
at a time.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from weakref import WeakKeyDictionary

from ...errors import FigureError, MirflowWarning, UnknownNameError
from ..drawing import CYCLE, cut
from ..tables import escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...analysis.queries import ScoresLike
    from ...analysis.signatures import Signature

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LINES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("-", (0, (4, 1.5)), (0, (1, 1)))
MOST_LOOKS = len(CYCLE) * len(_LINES)


Draw = Callable[..., "Axes"]
Signer = Callable[[], "Sequence[Signature]"]
KINDS: dict[str, FigureKind] = {}
"""What can be drawn of scores, by the name on the command line."""


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure."""

    name: str
    """On the command line."""
    words: str
    """Contents in a phrase."""
    draw: Draw
    """From scores, and options by keyword, to axes."""
    place: int
    """Place in lists."""


@dataclass(frozen=True, repr=False, eq=False)
class Plots:
    """The figures of :mod:`mirflow.reports.figures`, about a dataset or tree of scores."""

    scores: Any


Drawing = TypeVar("Drawing", bound=Draw)


_PARAMETERS = {
    "scores": "scores : path, mapping of labels to paths, xr.DataTree or xr.Dataset",
    "metric": "metric : str or None\n    None: the headline metric of the evaluation.",
    "aggregate": "aggregate : str or None\n    None: the metric's standard one.",
}
_OPTIONS = "**options\n    As for :func:`mirflow.reports.figures.distributions`."


def figure(words: str, *, place: int = 100) -> Callable[[Drawing], Drawing]:
    """Declare a function as a kind of figure: ``mirflow plot`` and ``.mirflow.plot`` have it under its name.

    To a docstring with a section of parameters is added what all figures have in common.

    Parameters
    ----------
    words : str
        Contents in a phrase.
    place : int
        Place in lists; by default behind those of the package.

    Returns
    -------
    callable
        A decorator of a function that takes scores, ``metric`` and the options of
        :class:`mirflow.reports.figures.track_scores.FigureOptions`, and gives axes.
    """

    def declare(draw: Drawing) -> Drawing:
        name = draw.__name__.replace("_", "-")
        KINDS[name] = FigureKind(name, words, draw, place)

        def method(self: Plots, /, *given: Any, **named: Any) -> Axes:
            return draw(self.scores, *given, **named)

        head, *parts = re.split(r"\n\n(?=[A-Z]\w+\n---)", inspect.cleandoc(draw.__doc__ or ""))
        sections = {part.partition("\n")[0]: part.split("\n")[2:] for part in parts}
        if "Parameters" in sections:
            written, parameters = "\n".join(sections["Parameters"]), inspect.signature(draw).parameters
            shared = [text for name, text in _PARAMETERS.items() if name in parameters and f"{name} :" not in written]
            options = [] if "**options" in written else [_OPTIONS]
            errors = sections.pop("Raises", [])
            if "FigureError" not in errors:
                errors = ["FigureError\n    If there is nothing to show.", *errors]
            if not any(line.startswith("QueryError") for line in errors):
                errors.append("QueryError, UnknownNameError\n    As for any query.")
            lines = [*shared, *sections.pop("Parameters"), *options]
            every = {"Parameters": lines, "Returns": ["matplotlib.axes.Axes"], "Raises": errors, **sections}
            texts = ("\n".join([name, "-" * len(name), *own]) for name, own in every.items())
            draw.__doc__ = "\n\n".join([head, *texts])
        setattr(Plots, draw.__name__, functools.update_wrapper(method, draw))
        return draw

    return declare


def kinds() -> list[FigureKind]:
    """All kinds of figures, in the order in which they are listed."""
    return sorted(KINDS.values(), key=lambda kind: kind.place)


def plot(scores: ScoresLike, kind: str, path: str | Path | None = None, **options: Any) -> Axes:
    """Draw a figure of scores, as the command ``mirflow plot`` does.

    Parameters
    ----------
    scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset
        As for :func:`mirflow.query`.
    kind : str
        ``distributions``, ``heatmap`` and the other functions of :mod:`mirflow.reports.figures`.
    path : path or None
        The file to write: .pdf, .png or .svg; None: nothing is written.
    **options
        ``metric`` and the other parameters of that function.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    UnknownNameError
        For another kind, with a suggestion.
    FigureError
        If there is nothing to show, or matplotlib is not installed.
    """
    known = {one.name: one for one in kinds()}
    name = kind.replace("_", "-")
    if name not in known:
        raise UnknownNameError("figure", kind, known)
    axes = known[name].draw(scores, **options)
    if path is not None:
        save(axes, path)
    return axes


@dataclass(frozen=True)
class Look:
    """Style of one of several items: no two share both colour and line, or colour and marker."""

    color: str
    marker: str
    line: str | tuple[int, tuple[float, ...]]


def looks(count: int) -> list[Look]:
    """So many looks, at most `MOST_LOOKS`."""
    if count > MOST_LOOKS:
        raise ValueError(f"there are {MOST_LOOKS} looks, not {count}")
    size = len(CYCLE)
    return [Look(CYCLE[i % size], _MARKERS[(i + i // size) % size], _LINES[i // size]) for i in range(count)]


WIDTHS = {"column": 3.5, "page": 7.16}
"""Inches: a column and the whole width of a paper in two columns."""
VENUES = {
    "ieee": WIDTHS,
    "ismir": {"column": 82 / 25.4, "page": 172 / 25.4},
    "tismir": {"column": 82 / 25.4, "page": 172 / 25.4},
}
"""The same for conferences and journals: ISMIR's has two columns of 82 mm, as TISMIR's A4 pages have room for."""
MOST_HIGH = 8.5
"""Inches: what a page has room for beside a caption."""
FORMATS = ("pdf", "png", "svg")
Width = str | float
_TITLE, _CAPTION = 8.5, 6.5
_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    **{f"{axis}tick.labelsize": 7 for axis in "xy"},
    **{f"{axis}tick.major.width": 0.6 for axis in "xy"},
    **{f"{axis}tick.major.size": 2.5 for axis in "xy"},
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "patch.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    "figure.dpi": 150,
}
# Text stays text in pdf; nothing in a file depends on when it was written.
_SAVING = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.hashsalt": "mirflow"}
_UNDATED = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
_SIGNED = {"pdf": "Subject", "svg": "Description", "png": "Description"}
"""The key of the metadata for signatures."""


@dataclass(frozen=True)
class Frame:
    """Axes and size of a figure."""

    ax: Axes | None = None
    """Axes of the user's own; None: a new figure."""
    width: Width = "column"
    """{"column", "page"} or float. Of a new figure: a column or the whole width of a paper, or inches."""
    height: float | None = None
    """Of a new figure, in inches, without the lines above; None: as much as its content needs."""
    caption: bool = True
    """Whether the title and the line that says what is shown are above."""
    venue: str = "ieee"
    """Whose columns and pages a new figure is made for: {"ieee", "ismir", "tismir"}."""

    @property
    def inches(self) -> float:
        """Width of a new figure, or of given axes."""
        if self.ax is not None:
            return float(self.ax.get_window_extent().width / figure_of(self.ax).dpi)
        if self.venue not in VENUES:
            raise FigureError(f"not a venue: {self.venue!r}; say {', '.join(VENUES)}")
        if isinstance(self.width, str):
            if self.width not in WIDTHS:
                raise FigureError(f"not a width: {self.width!r}; say {', '.join(WIDTHS)}, or a number of inches")
            return VENUES[self.venue][self.width]
        if not 1 <= self.width <= 100:
            raise FigureError(f"a figure cannot be {self.width:g} inches wide; say 1 to 100")
        return float(self.width)


def figure_of(ax: Axes) -> Figure:
    """The figure that holds some axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


HEADS: WeakKeyDictionary[Figure, tuple[str, str]] = WeakKeyDictionary()
"""Title and caption of each figure, shown or not."""


_SIGNERS: WeakKeyDictionary[Figure, Signer] = WeakKeyDictionary()
"""What gives the signatures of the numbers in each figure."""


class Sheet:
    """Axes to draw on, with room above for title and caption."""

    def __init__(self, frame: Frame, height: float) -> None:
        self.frame, self.inches = frame, frame.inches
        self._height = frame.height if frame.height is not None else min(height, MOST_HIGH)
        if not 0.3 <= self._height <= 200:
            raise FigureError(f"a figure cannot be {self._height:g} inches high; say 0.3 to 200")
        if frame.ax is not None:
            self.ax, self.figure = frame.ax, figure_of(frame.ax)
            return
        size = (self.inches, self._height)
        if _OFF_SCREEN.get():
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure

            self.figure = Figure(figsize=size, layout="constrained")
            FigureCanvasAgg(self.figure)
        else:
            from matplotlib import pyplot

            self.figure = pyplot.figure(figsize=size, layout="constrained")
        self.ax = self.figure.add_subplot()

    def grow(self, inches: float) -> None:
        """Make room for what turned out to be needed, unless the height or the axes are the user's."""
        if self.frame.ax is None and self.frame.height is None:
            self._height += inches
            self.figure.set_size_inches(self.inches, self._height)

    def name_rows(self, names: Sequence[str], top: float = -0.5, size: float | None = None) -> None:
        """Name the rows of a chart, from the top down, and rule lines of values; smaller where there are many."""
        self.ax.set_yticks(range(len(names)), names, fontsize=size or self.type_size(len(names)))
        self.ax.tick_params(axis="y", length=0)
        self.ax.set_ylim(len(names) - 0.5, top)
        self.ax.grid(axis="x")

    def legend_below(self, columns: int) -> None:
        """Write the legend below a new figure, or inside of axes of the user's own."""
        if self.frame.ax is None:
            self.figure.legend(loc="outside lower center", ncols=columns)
        else:
            self.ax.legend()

    def type_size(self, rows: int, most: float = 7) -> float:
        """Points of type at which the names of so many rows do not touch."""
        return max(3.0, min(most, 0.75 * 72 * self._height / max(rows, 1)))

    def head(self, title: str, caption: str, signed: Signer | None = None) -> None:
        """Write title and caption above the axes; `signed` gives the signatures of the numbers, for files."""
        if signed is not None:
            _SIGNERS[self.figure] = signed
        HEADS[self.figure] = title.replace("\\$", "$"), caption.replace("\\$", "$")
        if not self.frame.caption:
            return
        lines = wrapped(caption, self.inches, _CAPTION)
        if self.frame.ax is not None:
            self.ax.set_title("\n".join([title, *lines]), loc="left", fontsize=_CAPTION)
            return
        figure, line = self.figure, 1.3 / 72
        title = "\n".join(wrapped(title, self.inches, _TITLE * 1.1))
        first = 0.04 + _TITLE * line * (1 + title.count("\n"))
        above = first + _CAPTION * line * len(lines) + 0.04
        total = self._height + above
        figure.set_size_inches(self.inches, total)
        left = 0.05 / self.inches
        common: dict[str, Any] = {"ha": "left", "va": "top", "in_layout": False}
        figure.text(left, 1 - 0.04 / total, title, fontsize=_TITLE, fontweight="bold", **common)
        text = "\n".join(lines)
        figure.text(left, 1 - first / total, text, fontsize=_CAPTION, color="#444444", linespacing=1.25, **common)
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.set(rect=(0, 0, 1, self._height / total))  # type: ignore[call-arg]  # it is a constrained one


_OFF_SCREEN: ContextVar[bool] = ContextVar("_OFF_SCREEN", default=False)
_DRAWING = RLock()


@contextmanager
def off_screen() -> Iterator[None]:
    """Draw new figures for files only: pyplot does not know them, so nothing has to close them, and threads may draw.

    One thread draws at a time, as matplotlib's settings, fonts and layout of text are shared by all.
    """
    with _DRAWING:
        before = _OFF_SCREEN.set(True)
        try:
            yield
        finally:
            _OFF_SCREEN.reset(before)


@contextmanager
def sheet(frame: Frame, height: float) -> Iterator[Sheet]:
    """Axes for a figure, in our style where they are new; settings of matplotlib are as before afterwards.

    `height`: inches that the content of a new figure needs.
    """
    matplotlib = need_matplotlib()
    with matplotlib.rc_context(_STYLE if frame.ax is None else {}):
        yield Sheet(frame, height)


def need_matplotlib() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise FigureError(
            "figures need matplotlib: pip install 'mirflow[report]', or '.[report]' in a checkout"
        ) from error
    return matplotlib


def wrapped(text: str, inches: float, points: float) -> list[str]:
    """Text in lines for a width at a size of type; letters are about 0.56 times as wide as high."""
    return textwrap.wrap(text, max(20, int(inches * 72 / (0.56 * points)))) or [""]


def label(text: object, most: int = 24) -> str:
    r"""Untrusted text as matplotlib shall show it: on one line, not as a formula, long names cut in the middle."""
    shown = "".join(one if one.isprintable() else " " for one in str(text))
    shown = cut(shown, most)
    # A legend leaves out what begins with an underscore.
    return (" " if shown.startswith("_") else "") + shown.replace("$", "\\$")


def save(ax: Axes, path: str | Path) -> Path:
    """Write the figure of some axes; the same figure gives the same bytes.

    Its metadata hold the signatures of the numbers: the subject of PDF, the description of PNG and SVG.

    Parameters
    ----------
    ax : Axes
    path : path
        Its suffix says the format: ``.pdf``, ``.png`` (300 dots an inch) or ``.svg``.

    Returns
    -------
    Path

    Raises
    ------
    FigureError
        For another suffix.

    Warns
    -----
    MirflowWarning
        If no font has a character of the text.
    """
    path = Path(path)
    if not write_figure(ax, path, format_of(path)):
        warnings.warn(f"{path}: no font here has all characters of the text", MirflowWarning, stacklevel=2)
    return path


def write_figure(ax: Axes, target: Path | BinaryIO, kind: str, dots: float = 300, *, text: bool = False) -> bool:
    """Write the figure of some axes, and return whether a font has all characters of its text.

    `text`: whether SVG keeps its text as text, which makes it smaller, or draws the letters.
    """
    figure = figure_of(ax)
    signed = "\n".join(map(str, _SIGNERS.get(figure, list)()))
    metadata = {**_UNDATED[kind], **({_SIGNED[kind]: f"mirflow: {signed}"} if signed else {})}
    settings = {**_SAVING, "savefig.dpi": dots, "svg.fonttype": "none" if text else "path"}
    with need_matplotlib().rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(target, format=kind, metadata=metadata)
    foreign = [one for one in caught if "missing from font" not in str(one.message)]
    for one in foreign:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return len(foreign) == len(caught)


def save_caption(ax: Axes, path: str | Path) -> Path:
    r"""Write LaTeX that includes a figure, with its caption and a label, beside the figure's file.

    Parameters
    ----------
    ax : Axes
    path : path
        Of the figure: ``cd.pdf`` has its caption in ``cd.caption.tex``, for ``\input``, and the label ``fig:cd``.

    Returns
    -------
    Path
        Of the caption.
    """
    path = Path(path)
    texts = [text.replace("\u00a0", " ") for text in HEADS.get(figure_of(ax), ()) if text]
    sentences = [escape(f"{text[:1].upper()}{text[1:]}".rstrip(".") + ".") for text in texts]
    lines = [
        *(f"% mirflow: {one}" for one in _SIGNERS.get(figure_of(ax), list)()),
        r"\begin{figure}",
        r"\centering",
        rf"\includegraphics{{{path.name}}}",
        rf"\caption{{{' '.join(sentences)}}}",
        rf"\label{{fig:{path.stem}}}",
        r"\end{figure}",
    ]
    # Not figure.tex, which may be the paper that compiles to figure.pdf.
    beside = path.with_suffix(".caption.tex")
    beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return beside


def format_of(path: Path) -> str:
    """The format that a file's suffix says."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        hint = "; mirflow embed writes pages" if kind == "html" else ""
        raise FigureError(f"{path}: cannot write {path.suffix or 'a file without a suffix'}; known: {known}{hint}")
    return kind
