"""Tables for papers: LaTeX with booktabs."""

from __future__ import annotations

import re

from ..metrics.aggregates import AGGREGATES
from .tables import Entry, ShownValue, Table, clean_text, numeric_columns, show_entry

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After the end of a row these would be its options.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_KIND = re.compile(r" \[(\w+)\]$")
"""Behind a metric: its aggregate."""
_DASH = re.compile("-(?=-)")
_NUMBER = re.compile(r"-?(\d+(\.\d+)?|inf)")


def escape(text: str) -> str:
    """A name as LaTeX that prints it, whatever is in it.

    Examples
    --------
    >>> escape("50% of R&B_#1 {x} ~ ^")
    '50\\\\% of R\\\\&B\\\\_\\\\#1 \\\\{x\\\\} \\\\textasciitilde{} \\\\textasciicircum{}'
    """
    # Two hyphens would be a dash.
    return _DASH.sub("-{}", "".join(_ESCAPES.get(c, c) for c in clean_text(text)))


def to_latex(
    table: Table, *, stacked: bool = False, caption: str | None = None, label: str | None = None, notes: bool = True
) -> str:
    """A table as a LaTeX float that needs ``booktabs`` and nothing else.

    The best values are bold, and those that do not differ significantly from the best have a star, as it has.
    Intervals are small, and the notes are below.

    Parameters
    ----------
    table : Table
    stacked : bool
        Intervals below their values instead of behind them.
    caption : str or None
        LaTeX, as it is, instead of the table's own; without text there is no caption.
    label : str or None
        To refer to the table by.
    notes : bool
        Whether the notes are wanted.
    """
    above = escape(table.caption or table.title) if caption is None else caption
    columns = "".join("r" if number else "l" for number in numeric_columns(table))
    body = [" & ".join(_entry(entry, stacked) for entry in row) + r" \\" for row in table.rows]
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{above}}}"] if above else []),
        *([rf"\label{{{label}}}"] if label else []),
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        " & ".join(map(_head, table.columns)) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *_notes(table.notes if notes else ()),
        r"\end{table}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _notes(notes: tuple[str, ...]) -> list[str]:
    """The notes, a line each, small and as wide as the text."""
    if not notes:
        return []
    lines = [rf"{escape(note)}\\" for note in notes[:-1]] + [escape(notes[-1])]
    return [r"\par\smallskip", r"\begin{minipage}{\linewidth}", r"\footnotesize", *lines, r"\end{minipage}"]


def _head(text: str) -> str:
    """A name, with the aggregate of a metric as papers write it: ``majmin (WCSR)``."""
    found = _KIND.search(text)
    if found is None or found[1] not in AGGREGATES:
        return escape(text)
    return escape(f"{text[: found.start()]} ({found[1].replace('wcsr', 'WCSR')})")


def _entry(entry: Entry, stacked: bool) -> str:
    if not isinstance(entry, ShownValue):
        return _number(show_entry(entry)) if isinstance(entry, float | None) else _head(show_entry(entry))
    shown = _number(entry.value)
    shown = rf"\textbf{{{shown}}}" if entry.best else shown
    shown += r"\textsuperscript{*}" if entry.marked else ""
    if not entry.interval:
        return shown
    ends = re.sub(_NUMBER, lambda found: _number(found[0]), entry.interval)
    if stacked:
        return rf"\begin{{tabular}}{{@{{}}r@{{}}}}{shown}\\{{\scriptsize {ends}}}\end{{tabular}}"
    return rf"{shown}\,{{\scriptsize {ends}}}"


def _number(text: str) -> str:
    """A figure with a true minus, and a dash where there is none."""
    if text == "-":
        return "--"
    text = text.replace("inf", r"$\infty$")
    return f"$-${text[1:]}" if text.startswith("-") else text
