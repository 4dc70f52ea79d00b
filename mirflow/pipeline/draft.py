"""Draft a pipeline file from folders of references and estimates, detecting names, formats and tasks.

Except for audio, a few tracks of each evaluation are scored. Comments list what was found, doubts, unused files, and
the problems of evaluations that cannot be run.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from ..annotations.arrays import is_number
from ..errors import AnnotationError, MirflowWarning, PipelineError, counted
from ..metrics.base import get_task
from ..readers.content import files_below
from ..readers.formats import SUFFIXES, is_annotation_file
from ..theory.text_form import normal_form
from .document import parse_document
from .load import find_files
from .sides import ESTIMATES, MAYBE_REFERENCE, REFERENCE, TEXT, FoundFile, Series, Sides, SideWords, list_files, side_of
from .table_contents import hint, place_of_tracks, rows_of_table, try_evaluation, why_not

_BY_HAND = "write the pipeline by hand, with options of reading such as columns, header and time_unit"
_WORDS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
"""Texts that YAML takes for something else."""


def draft_pipeline(
    folder: str | Path,
    *,
    reference: Collection[str] = (),
    estimates: Collection[str] = (),
    place: str | Path | None = None,
) -> str:
    """Write the text of a pipeline file for the annotations in a folder, its root. The two sides are recognised by
    names of folders and files (``reference``, ``gt``, ``estimates``, ``systems``, ...) and by those given, tasks by the
    contents of files and names of folders. Comments name what was found and what is uncertain. `place` is the folder of
    the file; None: `folder`."""
    root = Path(folder)
    files = list_files(root)
    if not files:
        message = f"no annotation files ({', '.join(SUFFIXES[:6])}, ...) in the folder{_not_looked_at(root)}"
        raise AnnotationError(message, path=root)
    words = {
        "reference": SideWords.of(reference, REFERENCE, root, "--reference"),
        "estimates": SideWords.of(estimates, ESTIMATES, root, "--estimates"),
    }
    for name in (name for side in words.values() if side.asked for name in side.names):
        if not any(name in file.parts[:-1] or SideWords([name]).mark(file.parts[-1]) for file in files):
            folders = ", ".join(dict.fromkeys(file.parts[0] for file in files if len(file.parts) > 1))
            raise AnnotationError(f"no folder named {name!r} has annotations; those that have: {folders}", path=root)
    if not reference and not any(side_of(file, words) == "reference" for file in files):
        words["reference"] = SideWords(MAYBE_REFERENCE, others=ESTIMATES)
    sides = Sides.of(files, words, root)
    if not sides.references:
        raise _unrecognised(root, sides.files["reference"], "reference", "ref, reference, annotations, gt, ...")
    pairs = list(sides.pairs())
    if not pairs:
        count = counted(sum(len(series.files) for series in sides.references), "reference")
        if not sides.files["estimates"]:
            remedy = "name their folder estimates, systems, ..., or pass --estimates"
            why = f"but no estimates: {remedy}{_not_looked_at(root)}"
        elif not sides.estimates:
            raise _unrecognised(root, sides.files["estimates"], "estimate", "estimates, systems, ...")
        else:
            first = (
                f"{series.path} ({', '.join(series.tasks[:3])}; tracks as {next(iter(series.tracks))!r})"
                for series in (sides.references[0], sides.estimates[0])
            )
            why = f"but no estimates of the same tracks and task: {' and '.join(first)}"
        raise AnnotationError(f"{count} found, {why}", path=root)
    entries = _entries(root, pairs)
    head = [
        f"# Drafted by mirflow init for {root.resolve().name}; check the comments, then: mirflow run FILE",
        f"name: {_scalar(root.resolve().name)}",
    ]
    place = root if place is None else Path(place)
    if place.resolve() != root.resolve():
        head.append(f"root: {_scalar(os.path.relpath(root.resolve(), place.resolve()))}  # relative to this file")
    stem = re.sub(r"[^\w-]+", "-", root.resolve().name).strip("-") or "scores"
    used = {file for *both, _ in pairs for series in both for file in (*series.files.values(), *series.tables)}
    body = "\n".join(entries)
    unused = {file: side_of(file, words) for file in files if file not in used and str(file) not in body}
    left = _not_used(root, unused, [*sides.references, *sides.estimates])
    return "\n".join(
        [*head, "evaluations:", body, *left, f"store: {_scalar(f'stores/{stem}.zarr')}  # relative to this file", ""]
    )


def _unrecognised(root: Path, files: Sequence[FoundFile], side: str, names: str) -> AnnotationError:
    """Make the error about a side without annotations: it has no files, or no task reads them."""
    option = "--reference" if side == "reference" else "--estimates"
    if not files:
        remedy = f"name their folder or files {names}, or pass {option}"
        return AnnotationError(f"no {side}s found: {remedy}{_not_looked_at(root)}", path=root)
    most = Counter((file.parts[:-1], file.suffix) for file in files).most_common(1)[0][0]
    first = next(file for file in files if (file.parts[:-1], file.suffix) == most)
    reason = _unread(first, root)
    return AnnotationError(f"no task reads the {counted(len(files), side)}: {reason}; {_BY_HAND}", path=root)


def _not_looked_at(root: Path) -> str:
    """Count the files that are no annotations by their names, for messages; empty without any."""
    others = Counter(path.suffix for path in files_below(root) if not is_annotation_file(path.name))
    files = ", ".join(f"{counted(count, 'file')} {suffix}" for suffix, count in others.most_common(3))
    scores = "; scores in JSON files are read by mirflow import" if ".json" in others else ""
    return f"; not looked at: {files}{scores}" if others else ""


def _unread(file: FoundFile, root: Path) -> str:
    """The reason why a file cannot be read as what its name suggests."""
    rows = rows_of_table(file.path(root)) if file.suffix.lower() in TEXT else []
    if (
        rows
        and (track := place_of_tracks(rows[0])) is not None
        and len({row[track] for row in rows[1:] if len(row) > track}) > 1
    ):
        others = ", ".join(map(repr, rows[0][:track] + rows[0][track + 1 :]))
        table = f"{file} is a table of tracks, called {rows[0][track]!r}"
        return f"{table}, but no task reads its columns {others} as they are written"
    task = next(filter(None, (hint(part) for part in (file.suffix, *reversed(file.parts)))), "beat")
    reason = why_not(file.path(root), task).removeprefix(f"{root}{os.sep}")
    return reason or f"{file} may be of {task}, but does not show it by itself"


def _not_used(root: Path, files: Mapping[FoundFile, str], series: Sequence[Series]) -> list[str]:
    """Write comments about the files, by their sides, that no evaluation uses."""
    folders: dict[tuple[str, str], list[FoundFile]] = {}
    for file in files:
        folders.setdefault(("/".join(file.parts[:-1]) or ".", file.suffix), []).append(file)
    comments = []
    for (folder, suffix), unused in folders.items():
        of_task = next((candidate for candidate in series if unused[0] in candidate.files.values()), None)
        if of_task is not None:
            other = "estimates" if files[unused[0]] == "reference" else "references"
            reason = f"could be {' or '.join(of_task.tasks[:2])}, but no {other} are left for them"
        elif files[unused[0]]:
            reason = _unread(unused[0], root)
        else:
            reason = "neither their folder nor their names say that they are references or estimates"
        comments.append(f"# Not used: {folder} ({len(unused)}), files {suffix}: {reason}")
    return comments


def _entries(root: Path, pairs: Sequence[tuple[Series, Series, Sequence[str]]]) -> list[str]:
    """Write the evaluations of pairs of series, as the likeliest of their tasks that can be run."""
    taken: Counter[str] = Counter()
    lines: list[str] = []
    runs = False
    for reference, estimates, tasks in pairs:
        tried: list[tuple[list[str], bool]] = []
        for task in tasks:  # of files that cannot be read as the likeliest task, another one may be meant
            name = task if not taken[task] else f"{task}_{taken[task] + 1}"
            tried.append(_entry(root, reference, estimates, task, name))
            if tried[-1][1]:
                break
        entry, works = tried[-1] if tried[-1][1] else tried[0]
        taken[task if works else tasks[0]] += 1
        lines += entry
        runs |= works
    if not runs:
        problems = "; ".join(line.strip("# ") for line in lines if "# Problem: " in line)
        raise AnnotationError(f"{problems}; {_BY_HAND}", path=root)
    return lines


def _entry(root: Path, reference: Series, estimates: Series, task: str, name: str) -> tuple[list[str], bool]:
    """Write one evaluation with what a run of it finds, as comments if it cannot be run; and whether it can."""
    lines = [f"  - task: {task}"]
    if name != task:
        lines.append(f"    name: {name}")
    lines.append(f"    reference: {_side(reference, task, 'combine: mean' * ('{annotator}' in reference.pattern))}")
    lines.append(f"    estimates: {_side(estimates, task)}")
    if "{system}" not in estimates.pattern and "system" not in estimates.options.get(task, {}).get("columns", ()):
        lines.append("    systems: [estimate]  # one system: its name")
    elif estimates.listed and "{part" not in estimates.pattern:
        systems = dict.fromkeys(system for system, _ in estimates.files)
        lines.append(f"    systems: [{', '.join(map(_scalar, systems))}]")
    tables = {file.path(root) for one in (reference, estimates) for file in one.tables}
    metrics = {metric.name for metric in get_task(task).convention().metrics}
    table = _metadata(root, reference.tracks, tables, metrics)
    if table:
        lines.append(f"    tracks: {table}")
    notes = [*reference.notes, *estimates.notes]
    others = [one for one in estimates.tasks if one != task and one in reference.tasks]
    if others:
        notes.append(f"the files may also be for {' or '.join(others)}")
    for one, other, side in ((reference, estimates, "estimates"), (estimates, reference, "references")):
        if one.tasks[0] != task and one.tasks[0] not in other.tasks:
            reason = why_not(next(iter(other.files.values())).path(root), one.tasks[0]).removeprefix(f"{root}{os.sep}")
            notes.append(f"{one.path} may rather be {one.tasks[0]}, as which the {side} cannot be read: {reason}")
    found, problems = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MirflowWarning)
        try:
            text = "\n".join(["name: x", "evaluations:", *lines, "store: x.zarr", ""])
            (files,) = find_files(parse_document(text), root)
        except PipelineError as error:
            problems = [problem.message for problem in error.problems]
    if not problems:
        both = sum(bool(references) for references in files.references)
        cells = sum(source is not None for row in files.estimates for source in row)
        names = ", ".join(files.systems[:5]) + (", ..." if len(files.systems) > 5 else "")
        size = f"{counted(both, 'reference')}, {counted(cells, 'estimate')} of {counted(len(files.systems), 'system')}"
        problem, scores = try_evaluation(files)
        problems = [problem] if problem else []
        found = [f"Found: {size} ({names}).", *(f"Warning: {one.message}" for one in caught)]
        found += [f"Scores: {scores}"] if scores else []
    comments = [*found, *(f"Problem: {problem}" for problem in problems)]
    comments += [f"Uncertain: {note}." for note in dict.fromkeys(notes)]
    return [f"  # {text}" for text in comments] + [f"  # {line}" if problems else line for line in lines], not problems


def _side(series: Series, task: str, option: str = "") -> str:
    """Write the pattern of a side, with its options of reading and another one if there are any."""
    declared = dict(series.options.get(task, {}))
    columns = ", ".join(f"{name}: {_scalar(path)}" for name, path in declared.pop("columns", {}).items())
    options = [*filter(None, [option, columns and f"columns: {{{columns}}}"])]
    options += [f"{name}: {_scalar(value)}" for name, value in declared.items()]
    path = _scalar(series.path)
    return f"{{{', '.join([f'path: {path}', *options])}}}" if options else path


def _metadata(root: Path, tracks: Iterable[str], taken: Collection[Path], metrics: Collection[str]) -> str:
    """The value of the key `tracks` for a table in the folder or a folder in it; empty if there is none. Tables that
    are annotations, and those of scores, are none."""
    wanted = set(tracks)
    for path in sorted({*root.glob("*.csv"), *root.glob("*/*.csv")} - {*taken}):
        rows = [[normal_form(field) for field in row] for row in rows_of_table(path)]
        if not rows or any(map(is_number, rows[0])) or not {*rows[0]}.isdisjoint(metrics):
            continue
        for index, name in enumerate(rows[0]):
            values = [row[index] for row in rows[1:] if index < len(row)]
            # A table with a track twice, such as one of results, says more than one thing about it.
            if 2 * len(wanted & {*values}) > len(wanted) and len({*values}) == len(values):
                text = _scalar(path.relative_to(root).as_posix())
                return text if name == "track" else f"{{path: {text}, key: {_scalar(name)}}}"
    return ""


def _scalar(text: str | int) -> str:
    """Write a text, or the number of a column, as YAML, quoted if necessary."""
    if isinstance(text, int):
        return str(text)
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text) and text.lower() not in _WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)
