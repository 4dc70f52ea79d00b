"""The page's own files as one page: scripts in one piece, and a policy under which nothing else can run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (\w+))", re.MULTILINE)
_ASSETS = "assets"
START = "main"


def read_asset(name: str) -> str:
    """The text of one of the page's own files."""
    return files(__package__).joinpath(_ASSETS, name).read_text(encoding="utf-8")


def order_modules(sources: Mapping[str, str], start: str = START) -> list[str]:
    """Names of the modules that a module needs, each after those that it needs itself.

    Raises
    ------
    ValueError
        If modules import each other in a circle.

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


def join_modules(sources: Mapping[str, str], start: str = START) -> str:
    """All modules as one script, each in a scope of its own.

    Examples
    --------
    >>> print(join_modules({"main": 'import { a } from "./b.js";\\na();', "b": "export function a() {}"}))
    const module_b = (() => {
    function a() {}
    return { a };
    })();
    const module_main = (() => {
    const { a } = module_b;
    a();
    return {  };
    })();
    """
    return "\n".join(_scoped(name, sources[name]) for name in order_modules(sources, start))


def _scoped(name: str, source: str) -> str:
    """A module as a function that runs at once and gives what it exports."""
    exported = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(r"const \1 = module_\2;", source)).strip("\n")
    return f"const module_{name} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();"


def script() -> str:
    """The page's script."""
    folder = files(__package__).joinpath(_ASSETS)
    names = sorted(one.name.removesuffix(".js") for one in folder.iterdir() if one.name.endswith(".js"))
    return join_modules({name: read_asset(f"{name}.js") for name in names})


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def assemble(title: str, contents: str, blocks: Sequence[str]) -> str:
    """The whole page.

    Parameters
    ----------
    title : str
        Plain text that was escaped for HTML.
    contents : str
        JSON that was made fit to stand in a page.
    blocks : sequence of str
        Base64.
    """
    own_script, own_style = script(), read_asset("page.css")
    policy = (
        f"default-src 'none'; script-src {_hash(own_script)}; style-src {_hash(own_style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    data = "\n".join(
        f'<script type="text/plain" id="block-{number}">{text}</script>' for number, text in enumerate(blocks)
    )
    parts = {"title": title, "policy": policy, "style": own_style, "contents": contents, "blocks": data}
    return Template(read_asset("page.html")).substitute(parts, script=own_script)
