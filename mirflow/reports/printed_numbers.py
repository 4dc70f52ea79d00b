r"""Numbers as tables print them: a cell of LaTeX, Markdown or HTML is read to its last character, or not at all.

A cell is a number, perhaps with marks (``*``, a dagger, letters above the line), a percent sign, a deviation behind
``±`` and an interval in brackets, which are numbers of their own. Markup that changes how a cell looks, and not what it
says, is known by name; any other is refused, as is whatever could hide a digit or add one: grouped digits, groups
within a number, digits above the line, moved, struck, white or reserved text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from html import unescape

BORDER, NEUTRAL, LOST, SPACE = "\ue000", "\ue001", "\ue002", "\ue003"
"""The border of a group; a decimal mark that a package chooses; text that was taken out of a document; room for digits
that are not printed, which only stands before a number. No text has
these characters, which Unicode leaves to private use."""
_MOST = 2000
"""Characters of a cell."""


class UnreadError(ValueError):
    """A cell is no number that can be compared; the message says why."""


@dataclass(frozen=True)
class Printed:
    """A number as it is printed."""

    text: str
    """Sign, digits and exponent, with a decimal point; empty where no number is printed."""
    mark: str = ""
    """The decimal mark: a point or a comma; empty where there is none, or where a package chooses it."""
    percent: bool = False
    """Whether a percent sign is behind it."""


_SKIP = rf"[ {BORDER}]*"
_DIGITS = rf"(?:(?:0|[1-9][0-9]*)(?:[.,{NEUTRAL}][0-9]+)?|[.,{NEUTRAL}][0-9]+)(?:[eE][-+]?[0-9]{{1,3}})?"
_NUMBER = rf"[-+\u2212]?(?:{_DIGITS}|inf)"
_MARKS = rf"(?:{_SKIP}[*\u2020\u2021\u00a7\u00b6\u2191\u2193\u2713\u22c6\u2217]+)*"
_END = rf"(?:{_NUMBER}|[-\u2212\u2013])"
_CELL = re.compile(
    rf"(?:{_SKIP}{SPACE})*{_MARKS}{_SKIP}(?P<number>{_NUMBER})(?:{_SKIP}(?P<percent>%))?{_MARKS}"
    rf"(?:{_SKIP}(?:\u00b1|\+/-){_SKIP}{_NUMBER}(?:{_SKIP}%)?)?{_MARKS}"
    rf"(?:[ {BORDER}]{_SKIP}[\[(]{_SKIP}{_END}(?:{_SKIP}[,;]{_SKIP}{_END})?{_SKIP}[\])](?:{_SKIP}%)?)?{_MARKS}{_SKIP}"
)
_NOTHING = re.compile(
    rf"{_SKIP}(?:-{{1,3}}|\u2212|\u2013|\u2014|n/a|nan|undefined|)(?:{_SKIP}\[-\])?{_SKIP}", re.IGNORECASE
)
_PLAIN = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?|-?inf")


def read_text(text: str) -> Printed:
    """Read the text of a cell; raises `UnreadError` if it is neither a number nor a sign that there is none."""
    text = re.sub(r"\s+", " ", text.replace("\xa0", " ").replace("\u202f", " "))
    if _NOTHING.fullmatch(text):
        return Printed("")
    found = _CELL.fullmatch(text)
    if found is None:
        shown = re.sub(f"[{BORDER}{SPACE}]", "", text).replace(NEUTRAL, ".").replace(LOST, "...").strip()
        raise UnreadError(f"{shown[:80]!r} is not one number")
    number = found["number"].replace("\u2212", "-").removeprefix("+")
    mark = next((one for one in ".," if one in number), "")
    return Printed(number.replace(",", ".").replace(NEUTRAL, "."), mark, bool(found["percent"]))


def read_plain(text: str) -> Printed:
    """Read a value of CSV or JSON, which has a decimal point and nothing beside it.

    Raises `UnreadError` for any other text.
    """
    if text and (len(text) > _MOST or not _PLAIN.fullmatch(text)):
        raise UnreadError(f"{text[:80]!r} is no number")
    if text and "inf" not in text and abs(float(text)) == float("inf"):
        raise UnreadError(f"{text[:80]!r} is larger than any score")
    return Printed(text, "." if "." in text else "")


def _check_size(cell: str) -> None:
    if len(cell) > _MOST:
        raise UnreadError(f"the cell has more than {_MOST} characters")
    if re.search("[\ue000-\uf8ff]", cell.replace(LOST, "")):
        raise UnreadError("the cell has characters of private use")


_SPACES = frozenset((" ", ",", ";", ":", "quad", "qquad", "enspace", "thinspace", "hfill", "space", "\\", "newline"))
_SWITCHES = frozenset(
    (
        *("bfseries", "itshape", "slshape", "upshape", "mdseries", "rmfamily", "sffamily", "ttfamily", "normalfont"),
        *("bf", "it", "rm", "sf", "tt", "em", "tiny", "scriptsize", "footnotesize", "small", "normalsize", "large"),
        *("centering", "raggedleft", "raggedright", "boldmath", "displaystyle", "textstyle", "relax", "leavevmode"),
    )
)
_WRAPPERS = {
    **dict.fromkeys(
        (
            *("textbf", "textit", "textsl", "textrm", "textsf", "texttt", "textup", "textmd", "textnormal", "emph"),
            *("underline", "uline", "uuline", "mathbf", "mathit", "mathrm", "mathsf", "boldsymbol", "bm", "text"),
            *("mbox", "ensuremath", "fbox", "makecell", "shortstack"),
        ),
        0,
    ),
    "multicolumn": 2,
    "multirow": 2,
}
"""Commands that show their last argument, by the number of arguments before it."""
_SIGNS = {
    **dict.fromkeys(("pm", "textpm"), "\u00b1"),
    **dict.fromkeys(("dagger", "dag", "textdagger"), "\u2020"),
    **dict.fromkeys(("ddagger", "ddag", "textdaggerdbl"), "\u2021"),
    **dict.fromkeys(("ast", "star", "textasteriskcentered"), "*"),
    "infty": "inf",
    "textminus": "-",
    "textendash": "\u2013",
    "textemdash": "\u2014",
    "%": "%",
    "uparrow": "\u2191",
    "downarrow": "\u2193",
    "checkmark": "\u2713",
    "S": "\u00a7",
    "P": "\u00b6",
}
ESCAPES = {
    "\\": r"\textbackslash{}",
    **{char: f"\\{char}" for char in "{}_%&#$"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    # After the end of a row these would be its options.
    **{char: f"{{{char}}}" for char in "[]*"},
}
"""Characters in LaTeX that prints them."""
_COLORS = "red green blue black gray grey darkgray orange purple violet brown cyan magenta teal olive"
_TEXT_COLOR = re.compile(rf"(?:{_COLORS.replace(' ', '|')})(?:!(?:[3-9][0-9]|100))?(?:!black)?")
_BEHIND = re.compile(
    rf"(?:{_COLORS.replace(' ', '|')})!(?:[1-4]?[0-9])|lightgray|yellow(?:![0-9]{{1,2}})?|white|pink|lime"
)
_UNITS = {r"\percent": "%", "%": "%", r"\%": "%", r"\second": "", r"\s": "", "s": "", r"\hertz": "", "Hz": ""}
_COMMAND = re.compile(r"\\(?:([a-zA-Z]+)\*?\s*|(.))", re.DOTALL)


def latex_text(cell: str, redefined: Collection[str] = ()) -> str:
    r"""The text of a cell of LaTeX, with borders where groups begin and end.

    Raises `UnreadError` for a command that is not known to leave numbers as they are.
    """
    _check_size(cell)
    return _Latex(cell, redefined).text()


class _Latex:
    """A reader of a cell of LaTeX."""

    def __init__(self, source: str, redefined: Collection[str], depth: int = 0) -> None:
        if depth > 20:
            raise UnreadError("the cell has groups in more than 20 groups")
        self._source, self._at = source, 0
        self._redefined, self._depth = redefined, depth

    def text(self) -> str:
        parts = []
        while self._at < len(self._source):
            char = self._source[self._at]
            if char == "\\":
                parts.append(self._command())
            elif char == "{":
                inner = self._group()
                parts.append(inner if inner in (",", ".") else f"{BORDER}{self._read(inner)}{BORDER}")
            elif char in "^_":
                self._at += 1
                parts.append(self._note(self._argument()))
            elif char in "}&#%":
                raise UnreadError(f"{char!r} is not known in a number")
            else:
                parts.append("" if char == "$" else " " if char == "~" else char)
                self._at += 1
        return "".join(parts)

    def _read(self, source: str) -> str:
        return _Latex(source, self._redefined, self._depth + 1).text()

    def _group(self) -> str:
        """The content of the group that begins here."""
        depth, start = 0, self._at
        for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(self._source, start):
            depth += (found[0] == "{") - (found[0] == "}")
            if depth == 0 and found[0] == "}":
                self._at = found.end()
                return self._source[start + 1 : found.start()]
        raise UnreadError("a brace is not closed in the cell")

    def _argument(self) -> str:
        """The next argument: a group, a command or a character."""
        while self._source[self._at : self._at + 1].isspace():
            self._at += 1
        if self._source.startswith("{", self._at):
            return self._group()
        found = _COMMAND.match(self._source, self._at)
        text = found[0] if found else self._source[self._at : self._at + 1]
        self._at += len(text)
        return text.strip()

    def _option(self) -> str | None:
        """An optional argument; None if there is none."""
        end = self._source.find("]", self._at)
        if not self._source.startswith("[", self._at) or end < 0:
            return None
        text, self._at = self._source[self._at + 1 : end], end + 1
        return text

    def _note(self, source: str) -> str:
        """A mark above or below the line, which has no digits."""
        text = self._read(source).replace(BORDER, "").strip()
        if not re.fullmatch(r"[*\u2020\u2021\u00a7\u00b6\u2191\u2193\u22c6\u2217a-z, ]{1,12}", text) or "inf" in text:
            raise UnreadError(f"{text[:20]!r} stands above or below the line")
        return f"{BORDER}*{BORDER}"

    def _command(self) -> str:
        found = _COMMAND.match(self._source, self._at)
        if found is None:
            raise UnreadError("a backslash ends the cell")
        name, self._at = found[1] or found[2], found.end()
        if name in self._redefined:
            raise UnreadError(f"\\{name} is defined anew in the document")
        if name in _SPACES or name.isspace():
            return " "
        if name in _SWITCHES:
            return BORDER
        if name in _SIGNS:
            return _SIGNS[name]
        if name in _WRAPPERS:
            self._option()
            before = [self._argument() for _ in range(_WRAPPERS[name])]
            if name == "multicolumn" and before[0] != "1":
                raise UnreadError("the cell spans several columns")
            return f"{BORDER}{self._read(self._argument())}{BORDER}"
        # Commands with a rule of their own.
        if name in ("textcolor", "color", "cellcolor", "rowcolor"):
            behind = name in ("cellcolor", "rowcolor")
            model, colour = self._option(), self._argument()
            seen = (_BEHIND if behind else _TEXT_COLOR).fullmatch(colour)
            if model is not None or not seen or colour.partition("!")[0] in self._redefined:
                raise UnreadError(f"whether the colour {colour[:40]!r} can be seen is not known")
            return f"{BORDER}{self._read(self._argument())}{BORDER}" if name == "textcolor" else BORDER
        if name in ("phantom", "hphantom"):
            reserved = self._argument()
            if re.search("[1-9]", reserved):
                raise UnreadError(f"\\{name} holds digits that are not shown")
            return SPACE if re.search("[0-9.,]", reserved) else BORDER
        if name in ("textsuperscript", "textsubscript", "tnote"):
            return self._note(self._argument())
        if name in ("num", "SI", "qty"):
            if self._option() is not None:
                raise UnreadError(f"\\{name} has options, which may change the number")
            number = self._argument().strip()
            unit = "" if name == "num" else self._argument().strip()
            if not re.fullmatch(_NUMBER, number) or (unit and unit not in _UNITS):
                raise UnreadError(f"\\{name}{{{number[:40]}}}{unit and f'{{{unit[:20]}}}'} is not one number")
            return f"{BORDER}{number.replace(',', NEUTRAL).replace('.', NEUTRAL)}{BORDER}{_UNITS.get(unit, '')}"
        if name in ("begin", "end"):
            if self._argument() != "tabular":
                raise UnreadError(f"\\{name} is not known in a number")
            if name == "begin":
                self._option()
                self._argument()
            return BORDER
        raise UnreadError(f"\\{name} is not known in a number")


_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)\s*(/?)([^<>]*)>")
_TAGS = frozenset(("b", "strong", "i", "em", "u", "small", "span", "p", "div", "code", "nobr"))
_NOTE = re.compile(r"<(sup|sub)>([^<>]*)</\1>", re.IGNORECASE)


def html_text(cell: str) -> str:
    """The text of a cell of HTML, with borders where elements begin and end.

    Raises `UnreadError` for an element that is not known to leave numbers as they are, and for any attribute of one.
    """
    _check_size(cell)
    return _html(cell)


def _html(cell: str) -> str:
    if "<!--" in cell:
        raise UnreadError("a comment stands in the cell")

    def note(found: re.Match[str]) -> str:
        text = unescape(found[2]).strip()
        if not re.fullmatch(r"[*\u2020\u2021\u00a7\u00b6a-z, ]{1,12}", text) or "inf" in text:
            raise UnreadError(f"{text[:20]!r} stands above or below the line")
        return f"{BORDER}*{BORDER}"

    def border(found: re.Match[str]) -> str:
        name = found[2].lower()
        if name == "br":
            return " "
        if name not in _TAGS or found[4].strip(" /"):
            raise UnreadError(f"{found[0][:60]} is not known in a number")
        return BORDER

    return unescape(_TAG.sub(border, _NOTE.sub(note, cell)))


_EMPHASIS = re.compile(r"(\*\*\*|\*\*|\*|___|__|_|`)(?=[^*_`\s])([^*_`]*)(?<=[^*_`\s])\1")


def markdown_text(cell: str) -> str:
    r"""The text of a cell of Markdown, which may have elements of HTML.

    Raises `UnreadError`: as for :func:`html_text`.
    """
    _check_size(cell)
    escaped = re.sub(r"\\([*_|\\`\[\]()+.~-])", lambda found: f"&#{ord(found[1])};", cell)
    return _html(_EMPHASIS.sub(rf"{BORDER}\2{BORDER}", escaped))
