"""Files that the commands of a page make, made again when the page is built, and shown.

``<!-- made: NAME WHAT IT SHOWS -->`` below a block of commands has them executed, in a folder that holds the pipelines
that come along and the files of the page. A picture is shown, an HTML page is linked to, other files are left alone.

``<!-- tile: NAME TITLE -->`` makes a tile of a gallery of them: the picture, or a small view of the page (with the
other files of its folder, if it has one), above the command. The name ``terminal`` shows what the command prints.

``<!-- frame: NAME CAPTION -->`` shows an HTML page alive, with the caption below; ``NAME#PLACE`` opens it at a place.
"""

from __future__ import annotations

import contextlib
import html
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from click.testing import CliRunner

from mirflow.cli import cli

_FOLDER = "_made"
_BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n+)?^```[^\n`]*\n(?P<body>.*?)^```$"
    r"(?:\n+<!-- (?P<kind>made|tile|frame): (?P<made>[^\s#]+)(?P<place>#\S+)?(?: (?P<caption>[^\n]*?))? -->$)?",
    re.MULTILINE | re.DOTALL,
)


def show_made(text: str, page: str, output: Path) -> str:
    """A page with what its commands make in place of the marks; files go below the folder of the built pages."""
    if not re.search("<!-- (made|tile|frame): ", text):
        return text
    (output / _FOLDER).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(Path(__file__).parents[3] / "pipelines", "pipelines")
        return _BLOCK.sub(lambda block: _shown(block, "../" * page.count("/"), output), text)


def _shown(block: re.Match[str], up: str, output: Path) -> str:
    if block["file"]:
        Path(block["file"]).write_text(block["body"])
    if not block["made"]:
        return block[0]
    lines = block["body"].replace("\\\n", "").splitlines()
    printed = [_run(line) for line in lines]
    if block["kind"] == "tile":
        command = re.sub(r"\s+", " ", lines[-1])
        return tile(block["caption"], command, _view(Path(block["made"]), up, output, printed[-1]))
    made = Path(block["made"])
    if made.suffix not in (".svg", ".png", ".html"):
        return block[0]
    shutil.copy(made, output / _FOLDER / made.name)
    target, caption = f"{up}{_FOLDER}/{made.name}{block['place'] or ''}", html.escape(block["caption"])
    if block["kind"] == "frame":
        frame = f'<iframe src="{html.escape(target)}" title="{caption}" loading="lazy"></iframe>'
        full = f'<a href="{html.escape(target)}">Open the page</a>'
        tag = f'<figure class="live"><div>{frame}</div><figcaption>{caption} {full}</figcaption></figure>'
        return f"{tag}\n\n{block[0]}"  # first what is seen, then how it is made
    tag = (
        f'<p><a href="{target}">{caption}</a></p>'
        if made.suffix == ".html"
        else f'<p><img class="made" src="{target}" alt="{caption}"></p>'
    )
    return f"{block[0]}\n\n{tag}"


def _view(made: Path, up: str, output: Path, printed: str) -> tuple[str, str]:
    """Address of what a tile shows, and the picture of it."""
    if made.name == "terminal":
        return "", f'<pre tabindex="0">{html.escape(printed.rstrip())}</pre>'
    if made.parent == Path():
        shutil.copy(made, output / _FOLDER / made.name)
    else:
        shutil.copytree(made.parent, output / _FOLDER / made.parent, dirs_exist_ok=True)
    address = f"{up}{_FOLDER}/{made}"
    if made.suffix == ".html":
        return address, f'<iframe src="{address}" loading="lazy" tabindex="-1" aria-hidden="true"></iframe>'
    return address, f'<img src="{address}" alt="" loading="lazy">'


def tile(title: str, command: str, view: tuple[str, str]) -> str:
    """A tile of a gallery, in one line of HTML, as Markdown wants it."""
    address, picture = view
    kind, name = re.match(r"<(\w+)", picture), html.escape(title)
    named = f'<a href="{address}">{name}</a>' if address else f"<b>{name}</b>"
    shown = html.escape(command.removeprefix("$ ")).replace("\n", "&#10;")
    below = f"<figcaption>{named}<code>{shown}</code></figcaption>"
    return f'<figure class="tile"><div class="view {kind[1] if kind else ""}">{picture}</div>{below}</figure>'


def buttons_text() -> str:
    """Where to go from the first page."""
    ways = {"tutorial.html": "Tutorial", "gallery.html": "Gallery", "from-python.html": "From Python"}
    links = " ".join(f'<a href="{address}">{words}</a>' for address, words in ways.items())
    return f'<p class="buttons">{links}</p>'


_EXAMPLE = re.compile(
    r"^### (?P<name>[^\n]+)\n+```\n(?P<command>mirflow plot [^`]*?)\n```\n+"
    r"<!-- made: (?P<made>\S+) (?P<caption>[^\n]*?) -->$",
    re.MULTILINE,
)


def figures_text() -> str:
    """The figures of the page about figures, which makes them, as tiles that lead to it."""
    page = (Path(__file__).parents[2] / "figures.md").read_text(encoding="utf-8")
    tiles = []
    for found in _EXAMPLE.finditer(page):
        picture = f'<img src="{_FOLDER}/{found["made"]}" alt="{html.escape(found["caption"])}" loading="lazy">'
        anchor = re.sub(r"[^\w-]+", "-", found["name"].lower())
        tiles.append(tile(found["name"], found["command"], (f"figures.html#{anchor}", picture)))
    return "\n\n".join(tiles)


def _run(line: str) -> str:
    program, *arguments = shlex.split(line.removeprefix("$ "))
    if program != "mirflow":
        raise ValueError(f"only commands of mirflow are executed when pages are built: {line}")
    result = CliRunner().invoke(cli, arguments, env={"COLUMNS": "80"})
    if result.exit_code not in (0, 3):
        raise ValueError(f"{line}\n{result.output}")
    return result.output
