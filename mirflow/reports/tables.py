"""Tables, the formats in which they are written (text, Markdown, HTML, LaTeX, data), and tabulations.

Formats of data are CSV, JSON and Parquet. A tabulation is datasets with their tables. In text, wide tables are broken
into blocks. In Markdown, HTML and LaTeX, comments can sign the numbers.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import shutil
import textwrap
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, overload

from ..errors import QueryError, UnknownNameError, clean_text, counted
from ..metrics.aggregates import AGGREGATES
from ..notebook import styled
from .printed_numbers import ESCAPES

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from .signed_numbers import Signing

MARK = "*"
"""Stands behind values that do not differ significantly from the best."""
BOUND = "<= "
"""Stands before numbers that are upper bounds."""


class ShownValue(str):
    """A formatted value, with the parts that LaTeX formats differently.

    `interval`: its confidence interval; empty where there is none. `best`: whether it is the best of those that it is
    compared with. `marked`: whether it does not differ significantly from the best one.
    """

    value: str
    interval: str
    best: bool
    marked: bool

    def __new__(cls, value: str, interval: str = "", best: bool = False, marked: bool = False) -> ShownValue:
        """The text that terminals and markdown show."""
        made = super().__new__(cls, " ".join(filter(None, (f"{value}{MARK if marked else ''}", interval))))
        made.value, made.interval, made.best, made.marked = value, interval, best, marked
        return made


Entry = str | int | float | None
Item = TypeVar("Item")


@dataclass(frozen=True)
class Table:
    """Rows under named columns, with title, notes and caption."""

    columns: tuple[str, ...]
    """Every row has an entry for each. Without columns there is only text: the title and the notes."""
    rows: tuple[tuple[Entry, ...], ...]
    """Text (values for people too), numbers, or None where there is nothing. NaN is written as nothing."""
    title: str = ""
    """One line above."""
    notes: tuple[str, ...] = field(default=())
    """Lines below: how the numbers came about."""
    folds: tuple[str, ...] = field(default=())
    """Columns of prose, which may break over lines."""
    caption: Callable[[], str] = str
    """Gives the sentences above the table in a paper, if there are others than the title."""
    keys: int = 0
    """How many of the first columns name a row: on a terminal that is too narrow the others break into blocks, each
    with these again. 0: the table stays whole."""
    titles: Callable[[], Mapping[str, str]] = dict
    """Gives the titles of metrics, which LaTeX shows, by their names in the column ``metric`` or, without one, in the
    headings."""
    signing: Signing | None = None
    """How its cells are signed, for files."""
    bare: bool = False
    """Whether the table goes without notes, also about its signatures; text without columns keeps them."""
    details: tuple[str, ...] = ()
    """Lines below `notes` that explain columns and methods: terminals show them where they are asked for."""
    sentence: str = ""
    """What a paper would quote of it: stands above the title."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} entries under {len(self.columns)} columns: {row}")
        if self.bare and self.columns:
            object.__setattr__(self, "notes", ())
            object.__setattr__(self, "details", ())


def table_of(
    frame: pd.DataFrame,
    columns: Sequence[str],
    fixed: Mapping[str, Entry] = MappingProxyType({}),
    plain: Container[str] = (),
) -> Table:
    """Make a table of columns of a frame.

    `fixed`: of the columns that the frame does not have, the value of all rows. `plain`: columns with values of
    coordinates, in which whole numbers lose their point.
    """
    found: list[list[Entry]] = []
    for name in columns:
        values: list[Any] = frame[name].tolist() if name in frame else [fixed[name]] * len(frame)
        if name in plain:
            values = list(map(plain_entry, values))
        elif values and isinstance(values[0], bool):
            values = list(map(int, values))
        found.append(values)
    return Table(tuple(columns), tuple(zip(*found, strict=True)))


def plain_entry(value: object) -> Entry:
    """A coordinate's value for a table; years that are floats only because one is missing become integers again."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) else str(value)


def merge(tables: Sequence[Table]) -> Table:
    """The rows of several tables under all of their columns; None where a table has no such column."""
    if len(tables) == 1:
        return Table(tables[0].columns, tables[0].rows)
    columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    rows = [dict(zip(table.columns, row, strict=True)) for table in tables for row in table.rows]
    return Table(columns, tuple(tuple(row.get(name) for name in columns) for row in rows))


def to_text(
    table: Table,
    width: int | None = None,
    *,
    bold: bool = False,
    signed: bool = False,
    charts: bool = False,
    short: bool = False,
    details: bool = False,
) -> str:
    """Write a table for a terminal.

    `width`: columns of the terminal, for the prose to fold into and for blocks of columns; None: as wide as needed.
    Numbers are never cut. `bold`: whether the best values, and those that are not told apart from them, are bold, in
    the codes of a terminal. `signed`: whether the signatures of the numbers are among the notes. `charts`: whether
    intervals are also drawn, where 120 columns or more have room for that. `short`: whether names of systems and tracks
    are cut where the table would be wider.
    """
    from .standings import bounded_values, text_charts  # needs numpy, which help does without

    if table.details and not details:
        table = replace(table, details=("columns and methods: --notes (details=True)",))
    if short and width and full_width(table) > width:
        table = _with_short_names(table)
    below = _signed(table)[2] if signed else (*table.notes, *table.details)
    if charts and width and width >= _WIDE:
        # The table with a chart behind each column of values with intervals, if all of that has room.
        drawn: list[tuple[str, Sequence[Entry]]] = []
        for place, name in enumerate(table.columns):
            entries = [row[place] for row in table.rows]
            values = bounded_values([show_entry(entry) for entry in entries])
            drawn += [(name, entries), *([("", text_charts(values))] if values else [])]
        columns, entries_of = zip(*drawn, strict=True) if drawn else ((), ())
        made = replace(table, columns=columns, rows=tuple(zip(*entries_of, strict=True)))
        table = made if full_width(made) <= width else table
    # A line over several, broken between words only: names and commands have hyphens and must stay whole.
    sentence, title, *notes = [
        textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        if width
        else line
        for line in (table.sentence, table.title, *below)
    ]
    blocks = [_grid(block, width, bold) for block in blocks_of(table, width)] if table.columns else []
    return "".join(f"{part}\n" for part in (sentence, title, "\n\n".join(blocks), *notes) if part)


def _with_short_names(table: Table) -> Table:
    """The same with names of systems and tracks, in columns and in heads, as charts and lanes have them."""
    from .drawing import short_names  # needs numpy, which help does without

    columns = list(map(list, zip(*table.rows, strict=True)))
    signed = table.signing.columns if table.signing and table.signing.rows else ()
    behind = len(table.signing.rows[0]) if table.signing and signed else 0
    heads = list(table.columns)
    for kind, called in (("system", ("system", "other")), ("track", ("track",))):
        named = [place for place, name in enumerate(table.columns) if name in called and columns]
        across = [behind + place for place, names in enumerate(signed) if [dim for dim, _ in names] == [kind]]
        entries = dict.fromkeys(entry for place in named for entry in columns[place] if isinstance(entry, str))
        names = list(entries | dict.fromkeys(heads[place] for place in across))
        short: dict[Entry, Entry] = dict(zip(names, short_names(names), strict=True))
        for place in named:
            columns[place] = [short.get(entry, entry) for entry in columns[place]]
        for place in across:
            heads[place] = str(short[heads[place]])
    return replace(table, columns=tuple(heads), rows=tuple(zip(*columns, strict=True)))


_WIDE = 120
"""Columns of a terminal from which on intervals are drawn."""


def blocks_of(table: Table, width: int | None) -> list[Table]:
    """Break a table into blocks of columns for which a terminal has room, each with the columns that name its rows."""
    widths, keys = _widths(table, width), table.keys
    if width is None or not keys or sum(widths) - _GAP <= width:
        return [table]
    starts, used = [keys], sum(widths[:keys]) - _GAP
    room = used
    for place in range(keys, len(widths)):
        if room + widths[place] > width and place > starts[-1]:
            starts.append(place)
            room = used
        room += widths[place]
    blocks = []
    for ends in pairwise([*starts, len(widths)]):
        places = (*range(keys), *range(*ends))
        columns, *rows = (tuple(row[place] for place in places) for row in (table.columns, *table.rows))
        blocks.append(replace(table, columns=columns, rows=tuple(rows)))
    return blocks


def _grid(table: Table, width: int | None, bold: bool) -> str:
    """The columns and rows of a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Column
    from rich.table import Table as Grid
    from rich.text import Text

    columns = [
        Column(Text(clean_text(name)), justify="right" if number else "left", no_wrap=name not in table.folds)
        for name, number in zip(table.columns, numeric_columns(table), strict=True)
    ]
    grid = Grid(*columns, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for row in table.rows:
        best = [bold and isinstance(entry, ShownValue) and (entry.best or entry.marked) for entry in row]
        shown = zip(map(show_entry, row), best, strict=True)
        grid.add_row(*(Text(clean_text(text), style="bold" if is_best else "") for text, is_best in shown))
    out = io.StringIO()
    # Wider than the terminal where numbers would be cut otherwise: a long line can be scrolled, a lost digit cannot.
    least = sum(_widths(table, width)) - _GAP
    styled: dict[str, Any] = {"force_terminal": True, "color_system": "standard"} if bold else {"color_system": None}
    # In a notebook rich would display the table there and write nothing to the file.
    Console(file=out, width=max(least, width or 0), legacy_windows=False, force_jupyter=False, **styled).print(grid)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def full_width(table: Table) -> int:
    """Columns of a terminal that are enough for a table without folding anything."""
    return max(sum(_widths(table, None)) - _GAP, 0)


_GAP = 3
"""Between two columns."""


def _widths(table: Table, width: int | None) -> list[int]:
    """Least width of each column, with the space before the next one."""
    from rich.cells import cell_len

    widths = []
    for index, name in enumerate(table.columns):
        texts = [name, *(clean_text(show_entry(row[index])) for row in table.rows)]
        widest = max((cell_len(line) for text in texts for line in text.splitlines()), default=0)
        widths.append((min(24, widest) if name in table.folds and width else widest) + _GAP)
    return widths


def to_markdown(table: Table) -> str:
    """Write a table for a README or an issue."""
    if not table.columns:
        return "".join(f"{line}  \n" for line in (table.title, *table.notes) if line)
    rows = [table.columns, *([show_entry(entry) for entry in row] for row in table.rows)]
    plain = [[clean_text(entry).replace("\\", "\\\\").replace("|", "\\|") for entry in row] for row in rows]
    heads, comments, notes = _signed(table)
    inside = ["", *(f" <!-- {one} -->" for one in comments)] if comments else [""] * len(plain)
    first, *others = (f"| {' | '.join(row)}{own} |" for row, own in zip(plain, inside, strict=True))
    head = [table.sentence, ""] if table.sentence else []
    head += [table.title, ""] if table.title else []
    head += [*(f"<!-- {one} -->" for one in heads), ""] if heads else []
    foot = ["", *(f"{note}  " for note in notes)] if notes else []
    return "".join(f"{line}\n" for line in [*head, first, "|" + "---|" * len(table.columns), *others, *foot])


def to_html(table: Table) -> str:
    """Write a table for a notebook: intervals also as charts, the notes folded unless they warn."""
    from . import standings  # needs numpy, which help does without
    from .standings import bounded_values  # needs numpy, which help does without

    heads, comments, below = _signed(table)
    title = "".join(f"<!-- {one} -->" for one in heads)
    title += "".join(f'<div class="title">{_plain(text)}</div>' for text in (table.sentence, table.title) if text)
    if not table.columns:
        return title + "".join(f'<div class="note">{_plain(note)}</div>' for note in below)
    body: list[list[str]] = [[] for _ in table.rows]
    columns = ""
    for place, (name, flush) in enumerate(zip(table.columns, numeric_columns(table), strict=True)):
        kind = "number" if flush else "prose" if name in table.folds else ""
        of = f' class="{kind}"' if kind else ""
        # Charts of the intervals in a column; none where it has none.
        values = bounded_values([show_entry(row[place]) for row in table.rows])
        charts = [standings.to_html([chart] if chart else []) for chart in standings.charts_of(values)]
        columns += f"<th{of}>{_plain(name)}</th>{'<td></td>' if charts else ''}"
        for index, (row, cells) in enumerate(zip(table.rows, body, strict=True)):
            entry = row[place]
            text = _plain(show_entry(entry))
            text = f"<b>{text}</b>" if isinstance(entry, ShownValue) and (entry.best or entry.marked) else text
            cells.append(f"<td{of}>{text}</td>")
            cells.append(f'<td class="chart">{charts[index]}</td>' if charts else "")
    endings = [f"<!-- {comment} -->" for comment in comments] or [""] * len(body)
    rows = "".join(f"<tr>{''.join(cells)}{end}</tr>" for cells, end in zip(body, endings, strict=True))
    grid = f"<table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"
    # Notes below a table: those that warn, and the others in an element that opens.
    shown = "".join(f'<div class="note">{_plain(note)}</div>' for note in below if _OPEN.match(note))
    others = "".join(f"<div>{_plain(note)}</div>" for note in below if not _OPEN.match(note))
    return title + grid + (shown + (f"<details><summary>Notes</summary>{others}</details>" if others else ""))


def _plain(text: str) -> str:
    """Text in HTML."""
    return html.escape(clean_text(text))


_OPEN = re.compile(r"warning: |references: |\d[\d,]* of \d[\d,]* ")
"""Begins notes that are never folded: doubts, and how many of what agree or count."""


_BRACKETS = re.compile(r" \[([^\]]*)\]$")
"""Behind a metric: its aggregate or its unit."""
_DASH = re.compile("-(?=-)")
_DIGITS = re.compile(r"-?(\d+(\.\d+)?|inf)")


def escape(text: str) -> str:
    """A name as LaTeX that prints it, whatever is in it."""
    # Two hyphens would be a dash.
    return _DASH.sub("-{}", "".join(ESCAPES.get(c, c) for c in clean_text(text)))


SIGNED = "signature: "
"""Begins the note with a signature."""


def _signed(table: Table) -> tuple[list[str], list[str], tuple[str, ...]]:
    """Comments with the signatures of a table and with the names of each row's numbers, and all notes."""
    notes = (*table.notes, *table.details)
    if table.signing is None:
        return [], [], notes
    signatures = list(map(str, table.signing.signatures()))
    heads, comments = table.signing.comments(signatures)
    return heads, comments, () if table.bare else (*notes, *(f"{SIGNED}{text}" for text in signatures))


NAMES = ("titles", "identifiers")
"""Names of metrics in papers: those of the literature, or identifiers."""


def to_latex(
    table: Table, *, stacked: bool = False, caption: str | None = None, label: str | None = None, names: str = "titles"
) -> str:
    """A table as a LaTeX float that needs ``booktabs`` and nothing else.

    The best values are bold, and those that do not differ significantly from the best have a star, as it has.
    Intervals are small, and the notes are below. `stacked`: intervals below their values instead of behind them.
    `caption`: LaTeX code instead of the table's caption; empty: none. `label`: to refer to the table by. `names`
    ({"titles", "identifiers"}): metrics as the literature calls them, ``F-measure (onset, pitch)``, or by their
    identifiers; raises `UnknownNameError` for other ones.
    """
    if names not in NAMES:
        raise UnknownNameError("names", names, NAMES)
    if not table.columns:
        return "".join(f"% {clean_text(line)}\n" for line in (table.title, *table.notes) if line)
    above = escape(table.caption() or table.title) if caption is None else caption
    columns = "".join("r" if number else "l" for number in numeric_columns(table))
    titles = table.titles() if names == "titles" else {}
    metric = table.columns.index("metric") if "metric" in table.columns else None
    heads = [_latex_head(name, titles if metric is None else {}) for name in table.columns]
    named = [titles if place == metric else {} for place in range(len(table.columns))]
    cells = ([_latex_entry(entry, stacked, own) for entry, own in zip(row, named, strict=True)] for row in table.rows)
    body = [" & ".join(row) + r" \\" for row in cells]
    heads_of_signatures, comments, below = _signed(table)
    # A signature has no blanks at which it could break over lines.
    breaks = {True: r";\allowbreak{}", False: ";"}
    escaped = [escape(note).replace(";", breaks[note.startswith(SIGNED)]) for note in below]
    notes = [rf"{note}\\" for note in escaped[:-1]] + escaped[-1:]
    if notes:
        notes = [r"\par\smallskip", r"\begin{minipage}{\linewidth}", r"\footnotesize", *notes, r"\end{minipage}"]
    body = [f"{row} % {comment}" for row, comment in zip(body, comments, strict=True)] if comments else body
    lines = [
        r"% needs \usepackage{booktabs}",
        *(f"% {one}" for one in heads_of_signatures),
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{above}}}"] if above else []),
        *([rf"\label{{{label}}}"] if label else []),
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *notes,
        r"\end{table}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _latex_head(text: str, titles: Mapping[str, str]) -> str:
    """A name, with the aggregate of a metric as papers write it: ``Major/minor (WCSR)``."""
    found = _BRACKETS.search(text)
    if found is None:
        return escape(titles.get(text, text))
    bare = text[: found.start()]
    behind = f" ({aggregate_in_words(found[1])})" if found[1] in AGGREGATES else found[0]
    return escape(titles.get(bare, bare) + behind)


def aggregate_in_words(kind: str) -> str:
    """An aggregate as papers write it."""
    return kind.replace("wcsr", "WCSR").replace("_", " ")


def _latex_entry(entry: Entry, stacked: bool, titles: Mapping[str, str]) -> str:
    if isinstance(entry, str) and entry.startswith(BOUND):
        return rf"$\leq$\,{_latex_number(entry.removeprefix(BOUND))}"
    if not isinstance(entry, ShownValue):
        shown = show_entry(entry)
        return _latex_number(shown) if isinstance(entry, float | None) else _latex_head(shown, titles)
    shown = _latex_number(entry.value)
    shown = rf"\textbf{{{shown}}}" if entry.best else shown
    shown += r"\textsuperscript{*}" if entry.marked else ""
    if not entry.interval:
        return shown
    ends = re.sub(_DIGITS, lambda found: _latex_number(found[0]), entry.interval)
    if stacked:
        return rf"\begin{{tabular}}{{@{{}}r@{{}}}}{shown}\\{{\scriptsize {ends}}}\end{{tabular}}"
    return rf"{shown}\,{{\scriptsize {ends}}}"


def _latex_number(text: str) -> str:
    """A figure with a true minus, and a dash where there is none."""
    if text == "-":
        return "--"
    text = text.replace("inf", r"$\infty$").replace(" ± ", r"\,$\pm$\,")
    return f"$-${text[1:]}" if text.startswith("-") else text


def bare_entry(entry: Entry) -> Entry:
    """An entry for programs, None for missing values."""
    return None if isinstance(entry, float) and math.isnan(entry) else entry


def rows_of(found: Sequence[xr.Dataset], attrs: Sequence[str], columns: Sequence[str]) -> Table:
    """For programs: the variables of datasets along one dim, behind attributes of each dataset."""
    rows = [
        (*(ds.attrs[name] for name in attrs), *row)
        for ds in found
        for row in zip(*(ds[name].values.tolist() for name in columns), strict=True)
    ]
    return Table((*attrs, *columns), tuple(rows))


def show_entry(entry: Entry) -> str:
    """An entry for people."""
    if entry is None or (isinstance(entry, float) and math.isnan(entry)):
        return "-"
    return f"{entry:z.4f}" if isinstance(entry, float) else str(entry)


# A number or a bound, or two that are the ends of a span, perhaps with a mark and an interval.
_NUMBER = re.compile(r"(<= )?-?(\d+(\.\d+)?(e[+-]?\d+)?|inf)(-\d+)?\**( \[.*\])?")


def numeric_columns(table: Table) -> list[bool]:
    """True if each column reads as numbers, which are set flush right."""
    numeric = []
    for place in range(len(table.columns)):
        shown = [text for text in (show_entry(row[place]) for row in table.rows) if text not in ("-", "undefined")]
        numeric.append(bool(shown) and all(map(_NUMBER.fullmatch, shown)))
    return numeric


def to_arrow(table: Table) -> Any:
    """Convert the rows of a table to pyarrow: text, whole numbers and float64, null for missing values."""
    try:
        import pyarrow as arrow
    except ImportError:
        install = "pip install 'mirflow[parquet]' ('.[parquet]' in a checkout)"
        raise QueryError(f"Parquet needs pyarrow: {install}, or choose csv or json") from None
    arrays = {}
    for index, name in enumerate(table.columns):
        entries = [bare_entry(row[index]) for row in table.rows]
        kinds = {type(entry) for entry in entries if entry is not None}
        if kinds in ({int}, {bool}):
            arrays[name] = arrow.array(entries, arrow.int64() if kinds == {int} else arrow.bool_())
        elif kinds and kinds <= {int, float}:
            numbers = [None if entry is None else float(entry) for entry in entries]
            arrays[name] = arrow.array(numbers, arrow.float64())
        else:
            texts = [None if entry is None else str(entry) for entry in entries]
            arrays[name] = arrow.array(texts, arrow.string())
    return arrow.table(arrays)


_TERMINAL = (120, 24)
"""Columns and lines where there is no terminal and COLUMNS is not set."""


class Tabulation(Generic[Item]):
    """Datasets, or other items, with the tables that show them: in a terminal, in a notebook, in files.

    Tables are laid out when they are shown. Text, Markdown, HTML and LaTeX have rounded values and notes below; CSV,
    JSON, Parquet and data frames have a row for each value, in full precision.

    `items`: ``result[0]`` is the first of them; of a single dataset, ``result["value"]`` is a variable. `readable`:
    from the columns of a terminal to the tables for people. `rows`: gives the tables for programs, whose rows are
    joined. `notes`: what the tables for people have in their notes, and those for programs have not. `failures`: what
    fails of something that was to be shown; commands end with an exit code if there are any.
    """

    def __init__(
        self,
        items: Sequence[Item],
        readable: Callable[[int], Sequence[Table]],
        rows: Callable[[], Sequence[Table]],
        notes: Sequence[str] = (),
        failures: Sequence[str] = (),
        text: str = "",
    ) -> None:
        self.items = tuple(items)
        self.text = text
        self.notes = tuple(notes)
        self.failures = tuple(failures)
        self._readable, self._rows = readable, rows

    @property
    def dataset(self) -> xr.Dataset:
        """The only dataset; raises `QueryError` if there are several, or none."""
        import xarray as xr

        found = [item for item in self.items if isinstance(item, xr.Dataset)]
        if len(found) != 1:
            names = ", ".join(filter(None, (str(ds.attrs.get("group", "")) for ds in found)))
            of = f" (of {names})" if names else ""
            raise QueryError(f"this result has {counted(len(found), 'dataset')}{of}, not one; choose one of its items")
        return found[0]

    def __getattr__(self, name: str) -> NoReturn:
        written = [one for one in dir(type(self)) if one.startswith("to_")]
        raise AttributeError(f"a result has no {name!r}; it has {', '.join(written)}, and datasets as items")

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @overload
    def __getitem__(self, key: int) -> Item: ...
    @overload
    def __getitem__(self, key: str) -> xr.DataArray: ...
    def __getitem__(self, key: int | str) -> Any:
        """An item by its position, or a variable of the only dataset by its name."""
        return self.dataset[key] if isinstance(key, str) else self.items[key]

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n") or f"<{counted(len(self.items), 'item')}, no table>"

    def tables(self, width: int | None = None) -> list[Table]:
        """Tables for people; None: as wide as the terminal."""
        return list(self._readable(shutil.get_terminal_size(_TERMINAL).columns if width is None else width))

    def rows(self) -> Table:
        """The rows for programs: full precision, a column for everything that is needed to read one alone."""
        return merge(self._rows())

    def to_text(self, width: int | None = None, **how: bool) -> str:
        """Text for a terminal of some columns; see :func:`mirflow.reports.tables.to_text`."""
        width = shutil.get_terminal_size(_TERMINAL).columns if width is None else width
        shown = (to_text(table, width, **how) for table in self._readable(width))
        return self.text or "\n".join(shown)

    def to_markdown(self) -> str:
        """Markdown, for a README or an issue."""
        return "\n".join(map(to_markdown, self.tables()))

    def to_html(self) -> str:
        """HTML as notebooks show it, in a style of its own."""
        return styled("".join(map(to_html, self.tables())))

    _repr_html_ = to_html

    def to_latex(
        self, *, stacked: bool = False, caption: str | None = None, label: str | None = None, names: str = "titles"
    ) -> str:
        """LaTeX for a paper; see :func:`mirflow.reports.tables.to_latex`. Labels after the first have a number."""
        made = []
        for index, table in enumerate(self.tables()):
            own = f"{label}-{index + 1}" if label and index else label
            made.append(to_latex(table, stacked=stacked, caption=caption, label=own, names=names))
        return "\n".join(made)

    def to_csv(self) -> str:
        """CSV of the rows for programs: full precision, empty fields for missing values; infinity is ``inf``."""
        table, out = self.rows(), io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows([bare_entry(entry) for entry in row] for row in table.rows)
        return out.getvalue()

    def to_json(self) -> str:
        """JSON of the rows for programs: a list of objects with full precision, null for missing values.

        JSON has no infinity: it is the text ``inf`` or ``-inf``, which Python, numpy and R read as the number again.
        """
        table = self.rows()
        rows = [
            {
                name: str(entry) if isinstance(entry, float) and math.isinf(entry) else bare_entry(entry)
                for name, entry in zip(table.columns, row, strict=True)
            }
            for row in table.rows
        ]
        return json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows for programs to a Parquet file; it takes pyarrow."""
        made = to_arrow(self.rows())
        import pyarrow.parquet

        pyarrow.parquet.write_table(made, path)

    def to_dataframe(self) -> pd.DataFrame:
        """The rows for programs as a data frame."""
        import pandas as pd

        table = self.rows()
        return pd.DataFrame(list(table.rows), columns=list(table.columns))
