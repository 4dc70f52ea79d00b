r"""Signed numbers in files: comments that tables carry, and the numbers that files with such tables hold.

In LaTeX, Markdown and HTML, comments before a table hold its signatures, and each row ends with a comment: before the
colon it has the names that the first cells give to the row, behind it those of the cells with numbers::

    % mirflow 1: chord/majmin+sevenths;agg=wcsr;miss=common;systems=3;n=4;ref=9a7f0c31d2e4;mirflow=0.1.0
    elm & 0.9036 & 0.6965 & 4 \\ % mirflow: system=elm : metric=majmin & metric=sevenths

Rows may be moved, printed names changed, and columns added behind the numbers. CSV and JSON have the signature in
``signature``, the number in ``value``, and the names in columns. What a document does not show is no part of it:
comments, ``\iffalse``, what follows ``\end{document}``, scripts.
"""

from __future__ import annotations

import csv
import io
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any

from ..analysis.aggregation import COUNTS
from ..analysis.signatures import Signature, quoted, unquoted
from ..errors import QueryError, SignatureError, counted, name_some
from .printed_numbers import (
    ESCAPES,
    LOST,
    Printed,
    UnreadError,
    html_text,
    latex_text,
    markdown_text,
    read_plain,
    read_text,
)
from .results import INTERVAL, MARKS, NARROWED, ORIGIN

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

    def comments(self, signatures: Iterable[str]) -> tuple[list[str], list[str]]:
        """The comments before the table, one for each signature, and the comment of each row, with names in which
        nothing ends a comment or a part of one."""
        texts: dict[Names, str] = {}
        for names in {*self.columns, *chain.from_iterable(self.rows)}:
            escaped = [[quoted(text).replace("=", "%3D").replace("*", "%2A") for text in pair] for pair in names]
            texts[names] = ",".join(map("=".join, escaped))
        cells = " & ".join(texts[names] or NUMBER for names in self.columns)
        heads = [f"mirflow {number}: {signature}" for number, signature in enumerate(signatures, 1)]
        of_rows = (" & ".join(texts[names] or NOTHING for names in row) for row in self.rows)
        return heads, [f"mirflow: {row} : {cells}" for row in of_rows]


@dataclass(frozen=True)
class SignedNumber:
    """A number in a file, with its signature."""

    place: str
    """File and line, or row."""
    printed: str
    """As it is printed, with a decimal point; empty where the file has none. With a `problem`, whatever is there."""
    signature: Signature | None
    """None: it cannot be read, for the reason `problem`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the number is about: ``metric``, ``system``, and values of groupings and dims."""
    problem: str = ""
    """Why it cannot be compared; empty if it can."""
    table: int = 0
    """The number of its table in the file."""
    decimals: bool = True
    """Whether any number of its table has decimals."""


@dataclass(frozen=True)
class SignedDocument:
    """The numbers of a file."""

    numbers: Sequence[SignedNumber]
    """Those with a signature."""
    unsigned: Sequence[str] = ()
    """What has none, a sentence for the rows and one for the tables."""


def read_signed(path: Path, most: int = 64 * 2**20) -> SignedDocument:
    """Read the signed numbers of a file; its suffix says the format.

    Raises `QueryError` if the format is not known, or the file is too large or not text.
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
    document = _SignedDocument()
    read(text, str(path), document)
    return document.finished()


_COMMENT = re.compile(r"mirflow(?: (?P<number>[0-9]{1,4}))?: ?(?P<text>.*)", re.DOTALL)
_FOOT = re.compile(
    r"signature:\s{0,9}([\w%.~@()=*,'!+-]{1,200}/[\w%.~@()=*:,/'!+-]{1,2000}+;[\w%.~@()=*:,/'!+;-]{0,20000}\w)"
)
"""A signature that readers of a table see below it."""


@dataclass
class _Grid:
    """A table of the document that is being read."""

    place: str
    rows: int = 0
    signed: bool = False
    unsigned: list[str] = field(default_factory=list)


class _SignedDocument:
    """What is read of a file, in its order: its numbers, and the rows and tables without signatures."""

    def __init__(self) -> None:
        self._numbers: list[tuple[SignedNumber, Printed | None]] = []
        self._signatures: list[Signature | str] = []
        self._closed, self._table = True, 0
        self._feet: dict[int, str] = {}
        self._grid: _Grid | None = None
        self._rows: list[str] = []
        self._tables: list[str] = []

    def comment(
        self, comment: str, cells: Sequence[str], read: Callable[[str], str], place: str, problem: str = ""
    ) -> bool:
        """Read a comment, and the cells of its row if it is one's; True if it is."""
        found = _COMMENT.fullmatch(comment.strip())
        if found is None:
            return False
        if found["number"]:  # the signature before a table
            if self._closed:
                self._signatures, self._closed, self._table = [], False, self._table + 1
            try:
                self._signatures.append(Signature.parse(found["text"].strip()))
            except SignatureError as error:
                self._signatures.append(str(error))
                self.refuse(place, str(error))
            return False
        self._closed = True
        if self._grid is not None:
            self._grid.rows, self._grid.signed = self._grid.rows + 1, True
        rows, colon, columns = found["text"].partition(" : ")
        if not colon:
            self.refuse(place, "the comment of this row is not one that mirflow writes")
            return True
        try:
            keys, numbers = ([_names(one) for one in part.split(" & ")] for part in (rows, columns))
        except SignatureError as error:
            self.refuse(place, str(error))
            return True
        shared = {name: value for one in keys for name, value in one.items()}
        if len(cells) < len(keys) + len(numbers):
            lacking = f"the row has {len(cells)} cells, and its comment names {len(keys) + len(numbers)}"
            self.refuse(place, f"{lacking}: leave columns as mirflow wrote them", shared)
            return True
        for own, cell in zip(numbers, cells[len(keys) :], strict=False):
            names = {**shared, **own}
            signature = self._signature(names)
            if isinstance(signature, str):
                self.refuse(place, signature, names)
                continue
            try:
                if problem:
                    raise UnreadError(problem)
                printed = read_text(read(cell))
            except UnreadError as error:
                shown = " ".join(cell.replace(LOST, "").split())[:40]
                number = SignedNumber(place, shown, signature, names, str(error), self._table)
                self._numbers.append((number, None))
            else:
                self.add(SignedNumber(place, "", signature, names, "", self._table), printed)
        return True

    def add(self, number: SignedNumber, printed: Printed) -> None:
        """Add a number as it is printed."""
        assert number.signature is not None
        if printed.percent and number.signature["unit"] != "percent":
            number = replace(number, problem="a percent sign is behind it, and the signature is not of percentages")
        self._numbers.append((replace(number, printed=printed.text), printed))

    def refuse(self, place: str, problem: str, names: Mapping[str, str] | None = None) -> None:
        """Add what ought to be a number and cannot be read."""
        self._numbers.append((SignedNumber(place, "", None, names or {}, problem, self._table), None))

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

    def foot(self, text: str) -> None:
        """Compare the signatures that readers see below a table with those in its comments."""
        known = {str(one) for one in self._signatures}
        for found in _FOOT.finditer(text):
            try:
                shown = str(Signature.parse(found[1]))
            except SignatureError:
                shown = found[1]
            if self._signatures and shown not in known:
                self._feet.setdefault(self._table, shown)

    def end_table(self, following: str = "") -> None:
        """The table ends, if one is open, and perhaps another one follows at some place."""
        if self._grid is not None and self._grid.unsigned:
            if self._grid.signed:
                self._rows += self._grid.unsigned
            else:
                self._tables.append(self._grid.place)
        self._grid = _Grid(following) if following else None

    def row(self, place: str, cells: Sequence[str], read: Callable[[str], str]) -> None:
        """A row without a comment; the first one of a table is its head."""
        if self._grid is not None:
            self._grid.rows += 1
            if self._grid.rows == 1:
                return
        numbers = False
        for cell in cells[1:]:
            try:
                numbers |= bool(read_text(read(cell)).text)
            except UnreadError:  # perhaps it was one
                bare = re.sub(r"\\[a-zA-Z]+\*?|<[^<>]*>", "", cell[:200])
                numbers |= re.match(r"[^a-zA-Z]*[0-9]", bare) is not None
        if numbers:
            listed = self._rows if self._grid is None else self._grid.unsigned
            name = re.sub(r"\\[a-zA-Z]+|[{}$*|]", "", cells[0]).strip() if cells else ""
            listed.append(f"{place} {name[:40]!r}")

    def finished(self) -> SignedDocument:
        """All numbers, by the rules of their tables, and what is not signed."""
        self.end_table()
        marks: dict[int, Counter[str]] = {}
        decimals: set[int] = set()
        for number, printed in self._numbers:
            if printed is not None and printed.text:
                marks.setdefault(number.table, Counter()).update([printed.mark] if printed.mark else [])
                decimals |= {number.table} if "." in printed.text else set()
        made = []
        for number, printed in self._numbers:
            counts = marks.get(number.table)
            usual = counts.most_common(1)[0][0] if counts else ""
            problem = number.problem
            if not problem and printed is not None and printed.mark and printed.mark != usual:
                words = {".": "decimal point", ",": "decimal comma"}
                problem = f"it has a {words[printed.mark]}, and its table {words[usual]}s"
            if not problem and (shown := self._feet.get(number.table)):
                problem = f"the signature that is shown below the table is another one: {shown}"
            made.append(replace(number, problem=problem, decimals=number.table in decimals))
        unsigned = [
            f"not signed: {counted(len(places), what)} with numbers ({name_some(places)})"
            for what, places in (("row", self._rows), ("table", self._tables))
            if places
        ]
        return SignedDocument(made, unsigned)


def _names(text: str) -> dict[str, str]:
    """The assignments for a cell."""
    text = text.strip()
    if text in (NOTHING, NUMBER):
        return {}
    pairs = [one.partition("=") for one in text.split(",")]
    if not all(equals for _, equals, _ in pairs):
        raise SignatureError(f"invalid name {text[:80]!r} of a signed number: expected name=value")
    return {unquoted(name): unquoted(value) for name, _, value in pairs}


_LATEX_MARKS = re.compile(
    r"\\(?:toprule|midrule|hline|bottomrule|cmidrule(?:\([a-z]*\))?\{[^{}]*\}|cline\{[^{}]*\}|specialrule)"
    r"|\\begin\{(?P<begin>tabular[xy*]?|longtable|tabu|array|NiceTabular)\}(?:\[[^\[\]]*\])?"
    r"(?:\{(?:[^{}]|\{[^{}]*\})*\}){0,2}"
    r"|\\end\{(?P<end>tabular[xy*]?|longtable|tabu|array|NiceTabular)\}"
)


_REDEFINES = re.compile(
    r"\\(?:(?:re|provide)?newcommand|providecommand|DeclareRobustCommand|[gex]?def|let|definecolor|colorlet|providecolor)(?![a-zA-Z])"
    r"\*?\s*\{?\s*\\?([a-zA-Z]+)"
)
"""Finds the names of commands and colours that a document defines itself, so that they may say something else."""
_CODE = re.compile(r"((?:\\.|[^\\%])*\\?)(?:%(.*))?", re.DOTALL)
r"""What is before and behind the first percent sign that is not ``\%``."""


def _read_latex(text: str, path: str, document: _SignedDocument) -> None:
    """Numbers in LaTeX: a row is what stands between the comments of rows, or since a rule."""
    read = partial(latex_text, redefined=frozenset(_REDEFINES.findall(text)))
    text, branches = _shown(text)
    fragment = "\\begin{tabular" not in text
    row: list[str] = []
    first, depth = 1, 0

    def flush(code: str) -> None:
        """Rows without comments before some place."""
        if depth == 1 or fragment:
            for line, cells in _latex_rows("\n".join([*row, code]))[:-1]:
                document.row(f"{path}:{first + line}", cells, read)
        row.clear()

    for number, line in enumerate(text.splitlines(), 1):
        code, comment = _CODE.fullmatch(line).groups("")  # type: ignore[union-attr]  # fits any line
        start = 0
        for found in _LATEX_MARKS.finditer(code):
            depth += bool(found["begin"]) - bool(found["end"] and depth)
            if depth > 1 or (found["end"] and depth):
                continue
            if found["begin"]:
                depth -= 1
                flush(code[start : found.start()])
                depth += 1
                document.end_table(f"{path}:{number}")
            elif found["end"]:
                depth += 1
                flush(code[start : found.start()])
                depth -= 1
                document.end_table()
            else:
                flush(code[start : found.start()])
            start, first = found.end(), number
        if not row:
            first = number
        row.append(code[start:])
        if "signature:" in code:
            for shown, plain in _LATEX_CHARACTERS.items():
                code = code.replace(shown, plain)
            document.foot(re.sub(r"\\\\\s*$", "", re.sub(r"\\([_%&#${}])", r"\1", code)))
        if not comment.lstrip().startswith("mirflow"):
            continue
        rows = _latex_rows("\n".join(row))
        ended = rows[:-1] if any(cell.strip() for cell in rows[-1][1]) or len(rows) == 1 else rows[:-2]
        cells = rows[len(ended)][1]
        branch = next((name for begin, end, name in branches if begin <= number <= end), "")
        problem = f"it stands in {branch}, of which this does not know whether it is shown" if branch else ""
        if document.comment(comment, cells, read, f"{path}:{number}", problem):
            for place, own in ended if depth == 1 or fragment else ():
                document.row(f"{path}:{first + place}", own, read)
        row.clear()
        first = number + 1


_TOKENS = re.compile(
    r"%[^\n]*|\\(?:begin|end)\{(?:comment|verbatim\*?|lstlisting|filecontents\*?|document)\}|\\[a-zA-Z@]+|\\.",
    re.DOTALL,
)
_NO_BRANCHES = frozenset(
    (
        *(r"\iff", r"\ifthenelse", r"\ifdef", r"\ifundef", r"\ifcsdef", r"\ifstrequal", r"\ifblank", r"\iftoggle"),
        *(r"\ifboolexpr", r"\ifnumcomp", r"\ifstrempty", r"\ifbool", r"\ifcsundef", r"\ifempty"),
    )
)
"""Commands that look like conditionals, and have no ``\\fi``."""


def _shown(text: str) -> tuple[str, list[tuple[int, int, str]]]:
    r"""A document of LaTeX without what is never shown, and the lines of conditionals that are not evaluated.

    A mark, and as many lines, stand in place of what is taken out.
    """
    ends = [found.end() for found in re.finditer("\n", text)]
    parts: list[str] = []
    at, dead, level, closing = 0, -1, 0, ""  # where shown text begins, where hidden text began, open conditionals in it
    opened: list[tuple[str, int]] = []
    branches: list[tuple[int, int, str]] = []
    fresh = False  # behind \newif, which declares a conditional

    def revive(begin: int, end: int) -> None:
        nonlocal at, dead
        parts.append(text[at:begin] + LOST + "\n" * text.count("\n", begin, end))
        at, dead = end, -1

    for found in _TOKENS.finditer(text):
        token = found[0]
        if token.startswith("%"):
            continue
        branching = token.startswith(r"\if") and token not in _NO_BRANCHES and not fresh
        fresh = token == r"\newif"
        if dead >= 0:
            if closing:
                if token == closing:
                    revive(dead, found.end())
            elif branching:
                level += 1
            elif token == r"\fi" and level:
                level -= 1
            elif token in (r"\fi", r"\else") and not level:
                revive(dead, found.end())
                opened += [(r"\iftrue", found.start())] if token == r"\else" else []
        elif token == r"\end{document}":
            parts.append(text[at : found.start()])
            return "".join(parts), branches
        elif token == r"\iffalse" or (token == r"\else" and opened and opened[-1][0] == r"\iftrue"):
            dead, level, closing = found.start(), 0, ""
            opened = opened[:-1] if token == r"\else" else opened
        elif token.startswith(r"\begin{") and token != r"\begin{document}":
            dead, closing = found.start(), token.replace("begin", "end")
        elif branching:
            opened.append((token, found.start()))
        elif token == r"\fi" and opened:
            name, begin = opened.pop()
            if name != r"\iftrue":
                branches.append((bisect_right(ends, begin) + 1, bisect_right(ends, found.start()) + 1, name))
    parts.append(text[at : dead if dead >= 0 else len(text)])
    return "".join(parts), branches


_LATEX_PARTS = re.compile(r"\\begin\{tabular\}|\\end\{tabular\}|\\\\|\\.|[{}&\n]", re.DOTALL)


def _latex_rows(text: str) -> list[tuple[int, list[str]]]:
    """Rows of LaTeX with the lines on which they end; ``&`` and ``\\\\`` in braces and tables separate nothing."""
    depth, start, line = 0, 0, 0
    cells: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    for found in _LATEX_PARTS.finditer(text):
        part = found[0]
        line += part == "\n"
        if part in ("{", r"\begin{tabular}"):
            depth += 1
        elif part in ("}", r"\end{tabular}"):
            depth = max(0, depth - 1)
        elif depth == 0 and part in ("&", r"\\"):
            cells.append(text[start : found.start()])
            start = found.end()
            if part == r"\\":
                rows.append((line, cells))
                cells = []
    return [*rows, (line, [*cells, text[start:]])]


_LATEX_CHARACTERS = {latex: char for char, latex in ESCAPES.items() if len(latex) > 2}
_LATEX_CHARACTERS |= {r"\allowbreak{}": "", "-{}": "-"}


def _read_markdown(text: str, path: str, document: _SignedDocument) -> None:
    """Numbers in tables of Markdown, and in those of HTML in between."""
    fenced = inside = False
    for number, line in enumerate(_without_comments(text).splitlines(), 1):
        place, begins = f"{path}:{number}", line.lstrip().startswith("|")
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if fenced:
            continue
        if inside and not begins:
            document.end_table()
        elif begins and not inside:
            document.end_table(place)
        inside = begins
        start = line.find("<!-- mirflow")
        end = line.find("-->", start)
        if begins:
            cells = re.split(r"(?<!\\)\|", (line if start < 0 else line[:start]).strip().removeprefix("|"))
            cells = cells if start >= 0 else cells[:-1]
            if start >= 0 and end >= 0:
                document.comment(line[start + 4 : end], cells, markdown_text, place)
            elif not all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in cells):
                document.row(place, cells, markdown_text)
        elif "<table" in line or start >= 0:
            _read_html(line, path, document, number)
        if "signature:" in line and not begins:
            document.foot(line)


def _without_comments(text: str) -> str:
    """HTML without comments, but for signatures, and without elements that show nothing; lines stay."""
    parts: list[str] = []
    at = 0
    small = re.sub("[A-Z]", lambda letter: letter[0].lower(), text)  # as long as the text, in any alphabet
    opens = re.compile(r"<!--|<(template|script|style|noscript)\b", re.IGNORECASE)
    while (found := opens.search(text, at)) is not None:
        begin = found.start()
        closing = f"</{found[1].lower()}>" if found[1] else "-->"
        end = (small if found[1] else text).find(closing, begin)
        kept = not found[1] and re.match(r"<!-- ?mirflow", text[begin : begin + 13]) is not None
        stop = len(text) if end < 0 else end + len(closing)
        parts.append(text[at:begin])
        parts.append(text[begin:stop] if kept else LOST + "\n" * text.count("\n", begin, stop))
        at = stop
    return "".join([*parts, text[at:]])


_HTML_MARKS = re.compile(r"<!-- ?mirflow|<(/?)(table|tr)\b([^<>]*)>", re.IGNORECASE)
_CELL = re.compile(r"<t[dh]\b([^<>]*)>", re.IGNORECASE)
_HARMLESS = re.compile(r"\s*(?:(?:class|align|valign|scope|headers|id)\s*=\s*(?:\"[^\"]*\"|'[^']*'|[\w-]+)\s*)*")


def _read_html(text: str, path: str, document: _SignedDocument, first: int = 1) -> None:
    """Numbers in tables of HTML, whose rows have their comment at the end; `first`: the number of the first line."""
    text = _without_comments(text)
    ends = [found.end() for found in re.finditer("\n", text)]
    begin, problem, done = -1, "", True  # where a row begins, what may hide it, and whether it was read
    at = shown = 0

    def foot(begin: int, end: int) -> None:
        if "signature:" in text[begin:end]:
            document.foot(unescape(re.sub(r"<[^<>]*>", " ", text[begin:end])))

    while (found := _HTML_MARKS.search(text, at)) is not None:
        at, name, closes = found.end(), (found[2] or "").lower(), bool(found[1])
        place = f"{path}:{first + bisect_right(ends, found.start())}"
        if begin >= 0 and not done and name:
            cells, _ = _html_cells(text[begin : found.start()])
            document.row(place, cells, html_text)
            done = True
        if name == "tr":
            begin, done = (-1, True) if closes else (found.end(), False)
            problem = "" if _HARMLESS.fullmatch(found[3]) else f"its row has the attributes{found[3][:60]}"
        elif name == "table":
            foot(shown, found.start())
            shown, begin, done = found.end(), -1, True
            document.end_table("" if closes else place)
        elif not name:
            end = text.find("-->", found.start())
            if end < 0:
                return
            if begin < 0:
                foot(shown, found.start())
            cells, odd = _html_cells(text[begin : found.start()]) if begin >= 0 else ([], "")
            comment = text[found.start() + 4 : end]
            done |= document.comment(comment, cells, html_text, place, problem or odd)
            at = end
    foot(shown, len(text))


def _html_cells(row: str) -> tuple[list[str], str]:
    """The cells of a row, without charts, and an attribute of one that may hide it."""
    found = [*_CELL.finditer(row)]
    cells, odd = [], ""
    for index, one in enumerate(found):
        end = found[index + 1].start() if index + 1 < len(found) else len(row)
        text, _, behind = row[one.end() : end].partition("</t")
        if "chart" in one[1]:
            continue
        odd = odd if _HARMLESS.fullmatch(one[1]) else f"a cell has the attributes{one[1][:60]}"
        cells.append(text + (LOST if behind.partition(">")[2].strip().startswith(tuple("0123456789.,")) else ""))
    return cells, odd


def _read_csv(text: str, path: str, document: _SignedDocument) -> None:
    """Numbers in CSV with the columns that mirflow writes."""
    try:
        rows = csv.reader(io.StringIO(text), strict=True)
        head = next(rows, [])
        twice = [name for name, count in Counter(head).items() if count > 1]
        if SIGNATURE not in head or VALUE not in head:
            return
        if twice:
            raise QueryError(f"{path}: two columns are called {twice[0]!r}")
        for row in rows:
            place = f"{path}:{rows.line_num}"
            if len(row) == len(head):
                _add_row(dict(zip(head, row, strict=True)), place, document)
            elif row:
                document.refuse(place, f"the row has {counted(len(row), 'field')}, and the header {len(head)}")
    except csv.Error as error:
        raise QueryError(f"{path}: not a csv file: {error}") from None


class _Literal(str):
    """A number of JSON as it is written."""


_TWICE = object()
"""The value of a key that an object has twice."""


def _read_json(text: str, path: str, document: _SignedDocument) -> None:
    """Numbers in JSON: objects with a signature and a value, at any depth, and evaluations of leaderboards."""

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(name for name, _ in pairs)
        return {name: value if counts[name] == 1 else _TWICE for name, value in pairs}

    words: dict[str, Any] = dict.fromkeys(("parse_float", "parse_int", "parse_constant"), _Literal)
    try:
        data = json.loads(text, object_pairs_hook=collect, **words)
    except (ValueError, RecursionError) as error:
        raise QueryError(f"{path}: not JSON: {error}") from None
    queue: list[tuple[str, Any]] = [("", data)]
    while queue:
        place, one = queue.pop()
        if isinstance(one, list):
            queue += [(f"{place}[{index}]", item) for index, item in reversed([*enumerate(one)])]
        elif isinstance(one, dict) and SIGNATURE in one and VALUE in one:
            _add_row(one, f"{path}{place}", document)
        elif isinstance(one, dict) and isinstance(one.get("metrics"), list) and isinstance(one.get("systems"), list):
            signed = {
                metric.get("name"): metric.get(SIGNATURE) for metric in one["metrics"] if isinstance(metric, dict)
            }
            for number, system in enumerate(one["systems"]):
                scores = system.get("scores") if isinstance(system, dict) else None
                for metric, score in scores.items() if isinstance(scores, dict) else ():
                    if isinstance(score, dict):
                        about = {"metric": metric, "system": system.get("name")}
                        row = {SIGNATURE: signed.get(metric), VALUE: score.get(VALUE), **about}
                        _add_row(row, f"{path}{place}.systems[{number}]", document)
        elif isinstance(one, dict):
            if isinstance(one.get(VALUE), _Literal) and "metric" in one:
                document.row(f"{path}{place}", ["", one[VALUE]], str)
            queue += [(f"{place}.{key}", item) for key, item in reversed(one.items())]


def _add_row(row: Mapping[str, Any], place: str, document: _SignedDocument) -> None:
    """The number of a row for programs."""
    signed, value = row[SIGNATURE], row[VALUE]
    text = value if isinstance(value, str) else "" if value is None else None
    if not signed:
        document.row(place, [str(row.get("system", "")), text or ""], str)
        return
    texts = {name: str(one) for name, one in row.items() if one is not _TWICE}
    named: dict[str, str] = {name: texts[name] for name in ("metric", "system") if name in texts}
    try:
        signature = Signature.parse(signed if isinstance(signed, str) else "")
        if text is None:
            shown = "given twice" if value is _TWICE else f"{json.dumps(value, default=str)[:40]}, which is no number"
            raise UnreadError(f"its value is {shown}")
        printed = read_plain(text)
    except (SignatureError, UnreadError) as error:
        document.refuse(place, str(error), named)
        return
    names = dict(named)
    for dim in texts:
        if dim.removeprefix("track_") in signature["by"]:
            names[dim.removeprefix("track_")] = texts[dim]
        elif dim not in _FIXED:
            names[dim] = texts[dim]
    document.add(SignedNumber(place, text, signature, names), printed)


_FIXED = frozenset(
    (
        *(*ORIGIN, *NARROWED, *INTERVAL, *MARKS, *COUNTS, "n_empty", "n_tracks", "missing", "undefined"),
        *("metric", "aggregate", "system", VALUE, "unit", SIGNATURE, "benchmark", "this_run", "letters", "source"),
    )
)
"""Columns of rows for programs that name no group and no label."""
_FORMATS: Mapping[str, Callable[[str, str, _SignedDocument], None]] = {
    **dict.fromkeys((".tex", ".ltx"), _read_latex),
    **dict.fromkeys((".md", ".markdown"), _read_markdown),
    **dict.fromkeys((".html", ".htm"), _read_html),
    ".csv": _read_csv,
    ".json": _read_json,
}
