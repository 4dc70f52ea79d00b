r"""Signed numbers in files: comments that tables carry, and the numbers that files with such tables hold.

In LaTeX, Markdown and HTML, comments before a table hold its signatures, and each row ends with a comment: before the
colon it has the names that the first cells give to the row, behind it those of the cells with numbers::

    % mirflow 1: chord/majmin+sevenths;agg=wcsr;miss=common;systems=3;n=4;ref=9a7f0c31d2e4;mirflow=0.1.0
    elm & 0.9036 & 0.6965 & 4 \\ % mirflow: system=elm : metric=majmin & metric=sevenths

Rows may be moved, printed names changed, and columns added behind the numbers. CSV and JSON have the signature in
``signature``, the number in ``value``, and the names in columns.
"""

from __future__ import annotations

import csv
import io
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

from ..analysis.signatures import Signature, quoted, unquoted
from ..errors import QueryError, SignatureError

Names = tuple[tuple[str, str], ...]
NOTHING, NUMBER = "-", "*"
VALUE, SIGNATURE = "value", "signature"
EVALUATION = "evaluation"
"""Names the evaluation of a number, in a table of several."""


@dataclass(frozen=True)
class Signing:
    """How the cells of a table are signed."""

    rows: tuple[tuple[Names, ...], ...]
    """For each row the names that each of its first columns gives."""
    columns: tuple[Names, ...]
    """For each further column the names that it gives; others behind them are not signed."""
    signatures: Callable[[], Sequence[Signature]]
    """Gives the signatures, of which each has other metrics."""

    def heads(self) -> list[str]:
        """The comments before the table."""
        return [f"mirflow {number}: {one}" for number, one in enumerate(self.signatures(), 1)]

    def comments(self) -> list[str]:
        """The comment of each row."""
        cells = " & ".join(_assigned(names) or NUMBER for names in self.columns)
        return [f"mirflow: {' & '.join(_assigned(names) or NOTHING for names in row)} : {cells}" for row in self.rows]


def _assigned(names: Names) -> str:
    return ",".join(f"{_unmarked(quoted(name))}={_unmarked(quoted(value))}" for name, value in names)


def _unmarked(text: str) -> str:
    """Text in which nothing ends a comment or a part of one."""
    return text.replace("=", "%3D").replace("*", "%2A")


@dataclass(frozen=True)
class SignedNumber:
    """A number in a file, with its signature."""

    place: str
    """File and line, or row."""
    printed: str
    """As it is printed; empty where the file has none."""
    signature: Signature | None
    """None: it cannot be read, for the reason `problem`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the number is about: ``metric``, ``system``, and values of groupings and dims."""
    problem: str = ""
    table: int = 0
    """The number of its table in the file."""


def read_signed(path: Path, most: int = 64 * 2**20) -> list[SignedNumber]:
    """Read the signed numbers of a file; its suffix says the format.

    Raises
    ------
    QueryError
        If the format is not known, or the file is too large or not text.
    """
    read = _FORMATS.get(path.suffix.lower())
    if read is None:
        raise QueryError(f"{path}: cannot look for signatures in {path.suffix or 'files without suffix'}; known: "
                         f"{', '.join(_FORMATS)}")  # fmt: skip
    if path.stat().st_size > most:
        raise QueryError(f"{path}: larger than {most // 2**20} MB")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise QueryError(f"{path}: not UTF-8 (byte {error.start})") from None
    return list(read(text, str(path)))


_COMMENT = re.compile(r"mirflow(?: (?P<number>[0-9]{1,4}))?: ?(?P<text>.*)", re.DOTALL)


class _Comments:
    """The comments of a file, in its order, and the numbers that those of rows sign."""

    def __init__(self) -> None:
        self._signatures: list[Signature | str] = []
        self._closed, self._table = True, 0

    def read(self, comment: str, cells: Callable[[], list[str]], place: str) -> Iterator[SignedNumber]:
        """The numbers of a row, if it is one's comment."""
        found = _COMMENT.fullmatch(comment.strip())
        if found is None:
            return
        if found["number"]:
            yield from self._head(found["text"], place)
            return
        self._closed = True
        rows, colon, columns = found["text"].partition(" : ")
        if not colon:
            yield SignedNumber(place, "", None, problem="the comment of this row is not one that mirflow writes")
            return
        try:
            keys, numbers = ([_names(one) for one in part.split(" & ")] for part in (rows, columns))
        except SignatureError as error:
            yield SignedNumber(place, "", None, problem=str(error))
            return
        shared, found_cells = {name: value for one in keys for name, value in one.items()}, cells()
        if len(found_cells) < len(keys) + len(numbers):
            lacking = f"the row has {len(found_cells)} cells, and its comment names {len(keys) + len(numbers)}"
            yield SignedNumber(place, "", None, shared, f"{lacking}: leave columns as mirflow wrote them")
            return
        for own, cell in zip(numbers, found_cells[len(keys) :], strict=False):
            names = {**shared, **own}
            signature = self._signature(names)
            problem = signature if isinstance(signature, str) else ""
            signed = None if isinstance(signature, str) else signature
            yield SignedNumber(place, _number(cell), signed, names, problem, self._table)

    def _head(self, text: str, place: str) -> Iterator[SignedNumber]:
        """Keep the signature of a comment before a table."""
        if self._closed:
            self._signatures, self._closed, self._table = [], False, self._table + 1
        try:
            self._signatures.append(Signature.parse(text.strip()))
        except SignatureError as error:
            self._signatures.append(str(error))
            yield SignedNumber(place, "", None, problem=str(error))

    def _signature(self, names: Mapping[str, str]) -> Signature | str:
        """The signature of a number: the only one of its table, or that of its metric."""
        if not self._signatures:
            return "no signature is above the table"
        if "metric" not in names and len(self._signatures) == 1:
            return self._signatures[0]
        group = names.get(EVALUATION)
        having = [
            one
            for one in self._signatures
            if isinstance(one, str) or (names.get("metric") in one.metrics and group in (None, one.group))
        ]
        if len(having) == 1:
            return having[0]
        whole = [one for one in having if isinstance(one, Signature)]
        return whole[0] if len(whole) == 1 else f"no signature of the table is about {names.get('metric', '')!r}"


def _names(text: str) -> dict[str, str]:
    """The assignments for a cell."""
    text = text.strip()
    if text in (NOTHING, NUMBER):
        return {}
    pairs = [one.partition("=") for one in text.split(",")]
    if not all(equals for _, equals, _ in pairs):
        raise SignatureError(f"invalid name {text[:80]!r} of a signed number: expected name=value")
    return {unquoted(name): unquoted(value) for name, _, value in pairs}


_MOST_CELL = 2000
"""Characters of a cell in which its number is looked for."""
_NUMBER = re.compile(r"[-\u2212]?(?:(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|inf\b)")


def _number(cell: str) -> str:
    """The first number of a cell; empty if there is none."""
    found = _NUMBER.search(cell)
    return found[0].replace("\u2212", "-") if found else ""


_LATEX_ENDS = re.compile(r"\\(?:toprule|midrule|hline|bottomrule)|^\s*\\begin\{tabular.*$")


def _read_latex(text: str, path: str) -> Iterator[SignedNumber]:
    """Numbers in LaTeX: a row is what stands between the comments of rows, or since a rule."""
    comments = _Comments()
    row: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        code, comment = _without_comment(line)
        parts = _LATEX_ENDS.split(code)
        if parts[1:]:
            row = []
        row.append(parts[-1])
        if comment.lstrip().startswith("mirflow"):
            yield from comments.read(comment, partial(_latex_cells, "\n".join(row)), f"{path}:{number}")
            row = []


_PERCENT = re.compile(r"\\.|%", re.DOTALL)


def _without_comment(line: str) -> tuple[str, str]:
    r"""A line of LaTeX before and behind the first percent sign that is not ``\%``."""
    for found in _PERCENT.finditer(line):
        if found[0] == "%":
            return line[: found.start()], line[found.end() :]
    return line, ""


_LATEX_PARTS = re.compile(r"\\begin\{tabular\}|\\end\{tabular\}|\\\\|\\.|[{}&]", re.DOTALL)


def _latex_cells(row: str) -> list[str]:
    """The cells of the last row of some LaTeX; ``&`` and ``\\\\`` inside of braces and tables separate nothing."""
    depth, start = 0, 0
    cells: list[str] = []
    ended: list[str] = []
    for found in _LATEX_PARTS.finditer(row):
        part = found[0]
        if part in ("{", r"\begin{tabular}"):
            depth += 1
        elif part in ("}", r"\end{tabular}"):
            depth = max(0, depth - 1)
        elif depth == 0 and part in ("&", r"\\"):
            cells.append(row[start : found.start()])
            start = found.end()
            if part == r"\\":
                ended, cells = cells, []
    return [_latex_text(cell[:_MOST_CELL]) for cell in ended or [*cells, row[start:]]]


_LATEX_COMMANDS = re.compile(
    r"\\(?:textcolor|color|cellcolor|rowcolor|phantom|hphantom|hspace\*?|multirow|vspace\*?)(?:\[[^\]]*\])?\{[^{}]*\}"
    r"|\\begin\{tabular\}\{(?:[^{}]|\{[^{}]*\})*\}|\\[a-zA-Z]+\*?|\\."
)


def _latex_text(cell: str) -> str:
    """The text of a cell, without commands."""
    return _LATEX_COMMANDS.sub(" ", cell.replace(r"\infty", "inf")).replace("$", "")


def _read_markdown(text: str, path: str) -> Iterator[SignedNumber]:
    """Numbers in tables of Markdown, and in those of HTML in between."""
    comments = _Comments()
    for number, line in enumerate(text.splitlines(), 1):
        start = line.find("<!-- mirflow")
        end = line.find("-->", start)
        if start < 0 or end < 0:
            continue
        place, row = f"{path}:{number}", line[:start]
        if row.lstrip().startswith("|"):
            yield from comments.read(line[start + 4 : end], partial(_pipe_cells, row), place)
        else:
            yield from _read_rows(line, comments, lambda _, place=place: place)  # type: ignore[misc]


def _pipe_cells(row: str) -> list[str]:
    r"""The cells of a row of Markdown; ``\|`` separates nothing."""
    cells = re.split(r"(?<!\\)\|", row.strip().removeprefix("|"))
    return [cell.replace("*", " ").replace("_", " ") for cell in cells]


def _read_html(text: str, path: str) -> Iterator[SignedNumber]:
    """Numbers in tables of HTML."""
    ends = [found.end() for found in re.finditer("\n", text)]
    return _read_rows(text, _Comments(), lambda begin: f"{path}:{bisect_right(ends, begin) + 1}")


_CELL = re.compile(r"<t[dh]\b[^<>]*>")
_TAG = re.compile(r"<[^<>]*>")


def _read_rows(text: str, comments: _Comments, place_of: Callable[[int], str]) -> Iterator[SignedNumber]:
    """Numbers in HTML, whose rows have their comment at the end."""
    start = 0
    while (begin := text.find("<!-- mirflow", start)) >= 0:
        end = text.find("-->", begin)
        if end < 0:
            return
        row = text[start:begin].rpartition("<tr")[2]
        yield from comments.read(text[begin + 4 : end], partial(_html_cells, row), place_of(begin))
        start = end


def _html_cells(row: str) -> list[str]:
    return [unescape(_TAG.sub(" ", cell[:_MOST_CELL])) for cell in _CELL.split(row)[1:]]


def _read_csv(text: str, path: str) -> Iterator[SignedNumber]:
    """Numbers in CSV with the columns that mirflow writes."""
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
            yield from _of_row({str(k): v for k, v in row.items() if isinstance(v, str)}, f"{path}:{number}")
    except csv.Error as error:
        raise QueryError(f"{path}: not a csv file: {error}") from None


def _read_json(text: str, path: str) -> Iterator[SignedNumber]:
    """Numbers in JSON: objects with a signature and a value, at any depth."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise QueryError(f"{path}: not JSON: {error}") from None
    queue: list[tuple[str, Any]] = [("", data)]
    while queue:
        place, one = queue.pop()
        if isinstance(one, list):
            queue += [(f"{place}[{index}]", item) for index, item in reversed([*enumerate(one)])]
        elif isinstance(one, dict) and isinstance(one.get(SIGNATURE), str) and VALUE in one:
            row = {name: str(value) for name, value in one.items()}
            yield from _of_row({**row, VALUE: _text_of(one[VALUE])}, f"{path}{place}")
        elif isinstance(one, dict) and isinstance(one.get("metrics"), list) and isinstance(one.get("systems"), list):
            yield from _of_board(one["metrics"], one["systems"], f"{path}{place}")
        elif isinstance(one, dict):
            queue += [(f"{place}.{key}", item) for key, item in reversed(one.items())]


def _of_board(metrics: list[Any], systems: list[Any], place: str) -> Iterator[SignedNumber]:
    """The numbers of an evaluation of a leaderboard."""
    signed = {one.get("name"): one.get(SIGNATURE) for one in metrics if isinstance(one, dict)}
    for number, system in enumerate(systems):
        scores = system.get("scores") if isinstance(system, dict) else None
        for metric, score in scores.items() if isinstance(scores, dict) else ():
            if isinstance(score, dict) and isinstance(signed.get(metric), str):
                row = {SIGNATURE: signed[metric], VALUE: _text_of(score.get(VALUE)), "metric": metric}
                yield from _of_row({**row, "system": str(system.get("name"))}, f"{place}.systems[{number}]")


def _text_of(value: Any) -> str:
    """A number of JSON as it is written."""
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _of_row(row: Mapping[str, str], place: str) -> Iterator[SignedNumber]:
    """The number of a row for programs."""
    if not row.get(SIGNATURE) or VALUE not in row:
        return
    try:
        signature = Signature.parse(row[SIGNATURE])
    except SignatureError as error:
        yield SignedNumber(place, row[VALUE], None, problem=str(error))
        return
    names = {name: row[name] for name in ("metric", "system") if name in row}
    for dim in row:
        if dim.removeprefix("track_") in signature["by"]:
            names[dim.removeprefix("track_")] = row[dim]
        elif dim not in _FIXED:
            names[dim] = row[dim]
    yield SignedNumber(place, row[VALUE], signature, names)


_FIXED = frozenset(
    (
        *("group", "task", "convention", "grid", "metric", "aggregate", "system", VALUE, "unit", SIGNATURE),
        *("n", "n_missing", "n_undefined", "n_tracks", "missing", "undefined", "low", "high", "level", "method"),
        *("replicates", "resampled", "like_best", "test", "correction", "test_level", "stores", "references_differ"),
        *("where", "annotator", "param", "over", "across"),
        *("benchmark", "this_run", "letters", "source"),
    )
)
"""Columns of rows for programs that name no group and no label."""
_FORMATS: Mapping[str, Callable[[str, str], Iterator[SignedNumber]]] = {
    **dict.fromkeys((".tex", ".ltx"), _read_latex),
    **dict.fromkeys((".md", ".markdown"), _read_markdown),
    **dict.fromkeys((".html", ".htm"), _read_html),
    ".csv": _read_csv,
    ".json": _read_json,
}
