"""One self-contained HTML page about a result store: tables, distributions, tracks, and timelines with audio."""

from __future__ import annotations

from .html import PageReport, write_page

__all__ = [
    "PageReport",
    "write_page",
]
