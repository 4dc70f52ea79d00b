"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def plain(text: str) -> str:
    """Text in which nothing is markup, such as ``C#:maj*`` or ``P_k``."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#$" else letter for letter in text)


def code(text: object) -> str:
    """Text as code; nothing for no text."""
    return f"`{text}`" if str(text) else ""
