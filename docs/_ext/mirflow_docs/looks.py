"""Appearance of pages beyond Markdown and the theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


def tidy(_: Sphinx, page: nodes.document) -> None:
    """Colour commands; separate parameters from their descriptions by a dash instead of two hyphens."""
    from docutils import nodes  # comes with sphinx, without which the other modules are of use to the tests

    for block in page.findall(nodes.literal_block):
        if block.get("language") in (None, "text") and block.astext().startswith("$ "):
            block["language"] = "console"
    for text in list(page.findall(nodes.Text)):
        if text.astext().startswith(" -- "):
            text.parent.replace(text, nodes.Text(f" \N{EN DASH} {text.astext()[4:]}"))
