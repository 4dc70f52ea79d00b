"""HTML, style and script of the page, put together for a page in one file and for one that is served; links into it.

Modules of JavaScript are joined to one script, also for other pages that import them. A page in one file has a security
policy (CSP) that allows no other script and style.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from urllib.parse import urlencode

from ..drawing import style_sheet

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (\w+))", re.MULTILINE)
_INDENT = re.compile(r"^ +", re.MULTILINE)
_COMMENT = re.compile(r"^ *(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
"""A comment that has its lines for itself: pages leave them out."""
_ASSETS = "assets"
START, _OTHER = "main", "other"


def read_asset(name: str) -> str:
    """Text of a file of the page."""
    return files(__package__).joinpath(_ASSETS, name).read_text(encoding="utf-8")


def order_modules(sources: Mapping[str, str], start: str = START) -> list[str]:
    """Order the modules that a module needs, each after those that it needs itself.

    Examples
    --------
    >>> order_modules({"main": 'import { a } from "./a.js";\\n', "a": ""})
    ['a', 'main']
    """
    ordered: list[str] = []
    pending: list[str] = []

    def visit(name: str) -> None:
        if name in ordered:
            return
        if name in pending:
            raise ValueError(f"modules import each other: {' -> '.join([*pending, name])}")
        pending.append(name)
        for _, needed in _IMPORT.findall(sources[name]):
            visit(needed)
        pending.pop()
        ordered.append(name)

    visit(start)
    return ordered


def script(start: str = START, other: str = "") -> str:
    """The page's script, from a module on: its modules joined, each in its own scope; `other`: a module that is not of
    the page."""
    folder = files(__package__).joinpath(_ASSETS)
    names = sorted(path.name.removesuffix(".js") for path in folder.iterdir() if path.name.endswith(".js"))
    sources = {name: _INDENT.sub("", _COMMENT.sub("", read_asset(f"{name}.js"))) for name in names} | {_OTHER: other}
    joined = []
    # Each is a function that runs at once, may wait, and gives what it exports.
    for name in order_modules(sources, start):
        exported = ", ".join(_EXPORT.findall(sources[name]))
        body = _EXPORT.sub("", _IMPORT.sub(r"const \1 = module_\2;", sources[name])).strip("\n")
        joined.append(f"const module_{name} = await (async () => {{\n{body}\nreturn {{ {exported} }};\n}})();")
    return "\n".join(joined)


def classic_script(source: str) -> str:
    """A script of another page, with those modules of the report that it imports; it needs not be a module itself.

    Examples
    --------
    >>> text = classic_script("const own = 1;")
    >>> text.splitlines()[:3]
    ['(async () => {', 'const module_other = await (async () => {', 'const own = 1;']
    """
    return f"(async () => {{\n{script(_OTHER, source)}\n}})();\n"


def assemble(
    title: str,
    contents: str,
    blocks: Sequence[str],
    links: Sequence[tuple[str, str]] = (),
    first: str = "",
    about: str = "",
    start: str = START,
) -> str:
    """Put the page in one file together.

    `blocks`: Base64. `links` (sequence of (str, str)): words and addresses of other pages, as plain text. `first`: HTML
    that stands there until the script has run. `about`: what previews of links say, as plain text.
    """
    own_script, own_style = script(start), style_sheet(read_asset("page.css"))
    digests = (hashlib.sha256(text.encode()).digest() for text in (own_script, own_style))
    allowed = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    sources = "; ".join(f"{what}-src {own}" for what, own in zip(("script", "style"), allowed, strict=True))
    policy = f"default-src 'none'; {sources}; media-src blob:; base-uri 'none'; form-action 'none'"
    data = [f'<script type="text/plain" id="block-{number}">{text}</script>' for number, text in enumerate(blocks)]
    head = [f'<meta http-equiv="Content-Security-Policy" content="{policy}">', f"<style>{own_style}</style>"]
    told = {'name="description"': html.escape(about), 'property="og:title"': title}
    told |= {'property="og:description"': html.escape(about), 'property="og:type"': "website"}
    head += [f'<meta {key} content="{text}">' for key, text in told.items() if text]
    tail = [
        f'<script type="application/json" id="contents">{contents}</script>',
        *data,
        f'<script type="module">{own_script}</script>',
    ]
    return fill_page(title, head, tail, links, first)


def fill_page(
    title: str, head: Sequence[str], tail: Sequence[str], links: Sequence[tuple[str, str]], first: str
) -> str:
    """The page with some elements in its head and at its end, and HTML that stands there until the script has run."""
    named = [f'<a href="{html.escape(address)}">{html.escape(words)}</a>' for words, address in links]
    bar = f'<nav class="site" aria-label="Other pages">{" ".join(named)}</nav>' if named else ""
    parts = {"title": title, "head": "\n".join(head), "links": bar, "tail": "\n".join(tail), "first": first}
    return Template(read_asset("page.html")).substitute(parts)


def report_link(evaluation: str = "", track: str = "", seconds: float | None = None, **fields: str) -> str:
    """The part of a report's address, from ``#`` on, that leads to an evaluation, a track, and a moment of it.

    `evaluation`, `track`: names as the report has them; empty: what the report shows at first. `seconds`: where the
    cursor of the track's timeline is. `**fields`: what else the address says, as the page names it: ``metric``,
    ``tab``, ``ear``, the system in the right ear.

    Examples
    --------
    >>> report_link("chord", "a/b c", 12.5)
    '#evaluation=chord&track=a%2Fb+c&time=12.5'
    >>> report_link()
    ''
    """
    if unknown := fields.keys() - set(_FIELDS):
        raise TypeError(f"unknown fields of a report's address: {', '.join(sorted(unknown))}")
    time = "" if seconds is None else f"{max(0.0, seconds):.3f}".rstrip("0").rstrip(".")
    named = {"time": time, **fields, "evaluation": evaluation, "track": track}
    # In the order in which the page writes them, so that it does not write its address anew.
    needless = () if track else ("time", "seen", "ear", "beside")
    written = urlencode({name: named[name] for name in _FIELDS if named.get(name) and name not in needless})
    return f"#{written}" if written else ""


_FIELDS = (
    *("evaluation", "metric", "gains", "against", "wrong", "tab", "track", "from", "error", "place", "time", "seen"),
    *("ear", "beside"),
)
