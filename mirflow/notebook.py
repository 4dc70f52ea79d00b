"""Output of notebooks: tables as HTML, and contents that change in place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from typing import Any


def in_notebook() -> bool:
    """True in a Jupyter kernel, whose frontends show what IPython displays."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


class Display:
    """One output below a cell, shown when it is first given and replaced afterwards."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __bool__(self) -> bool:
        return self._handle is not None

    def show(self, text: str, html: str) -> None:
        """Show text, or HTML where the frontend can."""
        from IPython.display import display

        content = {"text/plain": text, "text/html": html}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def html_table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], above: str = "", below: Sequence[str] = ()
) -> str:
    """A table with a line above it and notes below; all text is escaped, and numbers are flush right.

    Examples
    --------
    >>> html_table(["track"], [["<a>"], [1]], "2 tracks")
    '<div>2 tracks</div><table><thead><tr><th>track</th></tr></thead><tbody><tr><td>&lt;a&gt;</td></tr><tr><td \
style="text-align: right">1</td></tr></tbody></table>'
    """

    def cell(value: object) -> str:
        flush = ' style="text-align: right"' if isinstance(value, int | float) else ""
        return f"<td{flush}>{escape(str(value))}</td>"

    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    title = f"<div>{escape(above)}</div>" if above else ""
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in below)
    return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
