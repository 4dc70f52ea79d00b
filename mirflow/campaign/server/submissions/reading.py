"""Reading of submitted files for scores and timelines, in a child process; no other code parses them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....errors import PipelineError, Problem
from ....pipeline.discovery import find_estimates
from ....pipeline.model import Evaluation, Trouble, resolve
from ....readers.patterns import Pattern
from ....readers.readings import write_readings
from ...file import reading_name, with_estimates
from .confinement import SendMessage


def read_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Read a system's files for the evaluations of a split, and store the annotations.

    Parameters
    ----------
    task : mapping
        ``evaluations`` (as in the campaign file), ``root`` (of the split), ``files`` (of the system, relative to it),
        ``split``, ``places`` (of the references, by evaluation), ``out`` (an empty folder).

    Returns
    -------
    dict
        ``evaluations``: names of those with files.
    """
    root, files = str(task["root"]), str(task["files"])
    kept = []
    for given in task["evaluations"]:
        path = Evaluation.model_validate(given).estimates.path
        if not Pattern(path).find(Path(root, files)):
            continue
        evaluation = Evaluation.model_validate(with_estimates(given, f"{files}/{path}"))
        resolved = resolve(evaluation, root, None)
        if isinstance(resolved, list):
            raise PipelineError([Problem(".".join(map(str, place)), why) for place, why in resolved])
        troubles: list[Trouble] = []
        found = find_estimates(evaluation, resolved, root, task["places"].get(evaluation.name, ()), troubles)
        target = Path(task["out"], reading_name(task["split"], evaluation.name))
        target.parent.mkdir(exist_ok=True)
        problems = [([str(step) for step in place], why) for place, why in troubles]
        write_readings(target, resolved.estimates.kind, found, problems)
        kept.append(evaluation.name)
    return {"evaluations": kept}
