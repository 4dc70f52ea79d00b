"""Files that the commands of a page make, made again when the page is built, and shown.

``<!-- made: NAME WHAT IT SHOWS -->`` below a block of commands has them executed, in a folder that holds the pipelines
that come along and the files of the page. A picture is shown, an HTML page is linked to, other files are left alone.
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
    r"(?:\n+<!-- made: (?P<made>\S+)(?: (?P<caption>[^\n]*?))? -->$)?",
    re.MULTILINE | re.DOTALL,
)


def show_made(text: str, page: str, output: Path) -> str:
    """A page with what its commands make in place of the marks; files go below the folder of the built pages."""
    if "<!-- made: " not in text:
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
    for line in block["body"].replace("\\\n", "").splitlines():
        _run(line)
    made = Path(block["made"])
    if made.suffix not in (".svg", ".png", ".html"):
        return block[0]
    shutil.copy(made, output / _FOLDER / made.name)
    target, caption = f"{up}{_FOLDER}/{made.name}", html.escape(block["caption"])
    tag = (
        f'<p><a href="{target}">{caption}</a></p>'
        if made.suffix == ".html"
        else f'<p><img class="made" src="{target}" alt="{caption}"></p>'
    )
    return f"{block[0]}\n\n{tag}"


def _run(line: str) -> None:
    program, *arguments = shlex.split(line.removeprefix("$ "))
    if program != "mirflow":
        raise ValueError(f"only commands of mirflow are executed when pages are built: {line}")
    result = CliRunner().invoke(cli, arguments)
    if result.exit_code:
        raise ValueError(f"{line}\n{result.output}")
