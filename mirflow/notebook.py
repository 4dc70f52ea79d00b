"""Output of notebooks: tables as HTML, and opened result stores."""

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


def show_stores() -> None:
    """Let a notebook show opened result stores by name and scores, and other trees as xarray does."""
    if in_notebook():
        from IPython import get_ipython

        formatter = get_ipython().display_formatter.formatters["text/html"]

        def to_html(tree: Any) -> str:
            is_store = any({"score", "status"} <= set(node.data_vars) for node in tree.children.values())
            return str((tree.mirflow if is_store else tree)._repr_html_())

        formatter.for_type_by_name("xarray.core.datatree", "DataTree", to_html)


def styled(html: str) -> str:
    """Output with the style of tables, which holds in it alone, on a light and on a dark ground."""
    return f'<div class="mirflow-output"><style>{_STYLE}</style>{html}</div>'


_STYLE = "".join(
    f".mirflow-output {rule}"
    for rule in (
        "{font: 13px/1.45 system-ui, sans-serif; margin: 4px 0 10px}",
        ".title {font-weight: 600; margin: 8px 0 2px}",
        "table {border-collapse: collapse; margin: 2px 0 4px; font-size: 13px}",
        "th, .mirflow-output td {text-align: left; padding: 2px 10px; border: 0; white-space: nowrap}",
        "thead th, .mirflow-output thead td {border-bottom: 1px solid rgb(128 128 128 / 0.6); vertical-align: bottom}",
        "tbody tr {border-bottom: 1px solid rgb(128 128 128 / 0.2); background: none}",
        "tbody th {font-weight: 400}",
        "th.number, .mirflow-output td.number {text-align: right; font-variant-numeric: tabular-nums}",
        "td.prose {white-space: normal; max-width: 48em}",
        "td.chart {padding: 0 10px; width: 150px; min-width: 150px}",
        "svg {display: block; overflow: visible}",
        ".rail {stroke: rgb(128 128 128 / 0.25)}",
        ".whisker {stroke: #0072b2; stroke-width: 2}",
        "circle {fill: #0072b2}",
        ".note, .mirflow-output details {font-size: 12px; opacity: 0.75; max-width: 72em}",
        "summary {cursor: pointer}",
    )
)


def html_table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], above: str = "", below: Sequence[str] = ()
) -> str:
    """A table with a line above it and notes below; all text is escaped, and numbers are flush right."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = ""
    for row in rows:
        cells = [(' class="number"' if isinstance(value, int | float) else "", escape(str(value))) for value in row]
        body += f"<tr>{''.join(f'<td{flush}>{text}</td>' for flush, text in cells)}</tr>"
    title = f'<div class="title">{escape(above)}</div>' if above else ""
    notes = "".join(f'<div class="note">{escape(note)}</div>' for note in below)
    return styled(f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}")
