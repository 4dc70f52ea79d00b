"""Colours and rules of style that reports, sites, campaigns and figures share.

A page has the colours as custom properties of CSS; figures take them from the scheme of paper. Text has a contrast of
at least 4.5 to 1 with every ground (WCAG 2.2, 1.4.3), and verdicts differ for colour-blind readers.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

_GROUNDS = {
    "paper": ("#fcfcfa", "#14171a", "#fff"),
    "card": ("#ffffff", "#1b1f23", "#fff"),
    "ink": ("#1c2126", "#e6e9ec", "#000"),
    "quiet": ("#5c6670", "#9ba6b0", "#444"),
    "faint": ("#b9c0c7", "#59636c", "#999"),
    "line": ("#e3e6e9", "#2c3238", "#ccc"),
    "accent": ("#0067a3", "#6bb8ea", "#00507f"),
    "curve": ("#0067a3", "#6bb8ea", "#0067a3"),
    "good": ("#0072b2", "#56b4e9", "#0072b2"),
    "bad": ("#b84508", "#f08a4b", "#b84508"),
    "none": ("#66707a", "#8a949d", "#66707a"),
    "nothing": ("#d9d9de", "#3a3f45", "#ddd"),
    "row-hover": ("#eef4f8", "#222a31", "#eef4f8"),
    "shape": ("#cfe1ee", "#24445a", "#cfe1ee"),
    "edge": ("rgb(28 33 38 / 0.22)", "rgb(0 0 0 / 0.65)", "rgb(28 33 38 / 0.22)"),
}
"""Colours on a light ground, on a dark one, and on paper: the ground, that of controls, text, text beside it, faint
lines, lines of tables, what can be clicked, curves; right, wrong and unjudged; no score; rows under the pointer,
shapes, and shadows."""
LIGHT, DARK, PAPER = (
    MappingProxyType({name: colours[ground] for name, colours in _GROUNDS.items()}) for ground in range(3)
)


def style_sheet(own: str) -> str:
    """The style of a page: the colours, the shared rules, and those of its own."""
    shared = files(__package__).joinpath("page", "assets", "shared.css").read_text(encoding="utf-8")
    dark = f"@media (prefers-color-scheme: dark) {{ {_properties(DARK, 'light dark')} }}"
    paper = f"@media print {{ {_properties(PAPER, 'light')} }}"
    return "\n".join([_properties(LIGHT, "light dark"), dark, paper, shared.rstrip("\n"), own])


def small_page(title: str, main: str) -> str:
    """A page without scripts, to be shown inside of another one.

    `main`: its contents, in HTML; pictures are part of it as ``data:``.
    """
    style = style_sheet(_SMALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<main>{main}</main>\n</body>\n</html>\n"
    )


_SMALL = """body { padding: 4px 12px; } h2 { font-size: 1rem; margin: 10px 0 4px; } figure { margin: 0; }
img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
figcaption { font-size: 0.9rem; color: var(--quiet); margin: 0 0 8px; max-width: 54em; }
"""


def _properties(colours: Mapping[str, str], scheme: str) -> str:
    named = " ".join(f"--{name}: {value};" for name, value in colours.items())
    return f":root {{ {named} color-scheme: {scheme}; }}"
