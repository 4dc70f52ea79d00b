"""Parts of pages that are made from the code when the documentation is built.

A comment such as ``<!-- generated: metrics onset -->`` in a page is replaced by Markdown:

========================  ==========================================================================================
``metrics TASK``          the records of the task's metrics, a section for each convention
``overview TASK``         a table of the metrics of the task's default convention, or of ``TASK.CONVENTION``
``introduction MODULE``   the docstring of a module
``functions MODULE``      the functions of a module, from their docstrings
``tasks``                 the tasks, with the numbers of their metrics, and links to their pages
``conventions``           the conventions of all tasks with their rules; ``conventions TASK``: of one
``constants TASK``        the constant estimates that win metrics of a task
``causes``                the causes of low scores that are looked for
``doubts``                the signs of mistakes that runs warn of
``rules``                 the rules by which references are searched for mistakes
``errors``                the kinds of errors of the tasks
``pipeline``              the keys of pipeline files, from the model that checks them
``mapping``, ``campaign``  likewise, the keys of mapping files and of campaign files
``kinds``, ``headings``   the kinds of annotations; the names of columns in headers
``formats``, ``remarks``   what readers take of each format; the reasons for which they report the rest
``namespaces``, ``exits``  the JAMS namespaces of the tasks; the exit codes of commands
``suffixes``              the symbols of lead sheets; ``drum_maps``: the classes of drums
``commands``              the commands and their options
``buttons``               links of the first page
``figures``               tiles of the figures that the page about figures makes
``public``                the public names of the package
========================  ==========================================================================================

The pages of the tasks in ``reference/tasks`` are written when the build begins. ``<!-- made: FILE CAPTION -->`` below
commands shows the files that they make: see ``pictures``; ``looks`` has the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer

from mirflow.metrics.base import tasks

from .api import functions_text, introduction_text, public_text
from .commands import commands_text
from .keys import benchmark_text, campaign_text, mapping_text, pipeline_text
from .looks import tidy
from .pictures import buttons_text, figures_text, show_made
from .records import (
    causes_text,
    constants_text,
    conventions_text,
    doubts_text,
    errors_text,
    keys_text,
    metrics_text,
    overview_text,
    rules_text,
    task_page,
    tasks_text,
)
from .vocabularies import (
    drum_maps_text,
    exits_text,
    formats_text,
    headings_text,
    kinds_text,
    namespaces_text,
    remarks_text,
    signatures_text,
    suffixes_text,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_MARK = re.compile(r"^<!-- generated: (\w+)(?: ([\w.]+))? -->$", re.MULTILINE)
_MAKERS: dict[str, Callable[..., str]] = {
    "metrics": metrics_text,
    "overview": overview_text,
    "introduction": introduction_text,
    "functions": functions_text,
    "tasks": tasks_text,
    "conventions": conventions_text,
    "constants": constants_text,
    "doubts": doubts_text,
    "causes": causes_text,
    "rules": rules_text,
    "errors": errors_text,
    "keys": keys_text,
    "pipeline": pipeline_text,
    "mapping": mapping_text,
    "benchmark": benchmark_text,
    "campaign": campaign_text,
    "kinds": kinds_text,
    "headings": headings_text,
    "namespaces": namespaces_text,
    "formats": formats_text,
    "remarks": remarks_text,
    "exits": exits_text,
    "signatures": signatures_text,
    "suffixes": suffixes_text,
    "drum_maps": drum_maps_text,
    "commands": commands_text,
    "figures": figures_text,
    "buttons": buttons_text,
    "public": public_text,
}


def fill(text: str) -> str:
    """A page with its marks replaced."""

    def make(mark: re.Match[str]) -> str:
        maker, subject = _MAKERS[mark[1]], mark[2]
        return maker(subject) if subject else maker()

    return _MARK.sub(make, text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by sphinx."""
    app.add_lexer("mermaid", TextLexer)  # GitHub draws it, sphinx shows the text

    def write(app: Sphinx) -> None:
        folder = Path(app.srcdir) / "reference" / "tasks"
        folder.mkdir(exist_ok=True)
        for name in tasks():
            (folder / f"{name}.md").write_text(task_page(name, Path(app.srcdir)), encoding="utf-8")

    def read(_: Sphinx, page: str, source: list[str]) -> None:
        source[0] = show_made(fill(source[0]), page, Path(app.outdir))

    app.connect("builder-inited", write)
    app.connect("source-read", read)
    app.connect("doctree-read", tidy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
