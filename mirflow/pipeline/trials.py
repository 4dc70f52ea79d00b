"""Trials of a drafted pipeline: what some files hold as which task, and what an evaluation gives on a few tracks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.schema import TASK_KINDS, kind_of
from ..annotations.source import Source
from ..errors import AnnotationError, MirflowError, UnknownNameError, counted
from ..metrics.base import Pairs, get_task
from ..readers import read
from ..readers.audio_files import SUFFIXES as AUDIO
from ..readers.content import decode, open_file
from ..readers.delimited import number_lines, sniff, split_line
from ..readers.formats import FORMATS, TASK_OF_SUFFIX, format_named
from ..readers.jams import open_jams
from ..readers.layouts import guess_task, heading, is_beside, is_number
from ..readers.namespaces import NAMESPACES
from ..readers.options import MAX_BYTES, Reading
from ..readers.remedies import options_in, with_advice
from ..readers.sources import parse_file
from ..theory.pitch import HIGHEST_MIDI
from .plan import EvaluationFiles

Item = TypeVar("Item")
_HINTS = {
    "section": "segment",
    "structure": "segment",
    "seg": "segment",
    "note": "transcription",
    "f0": "melody",
    "genre": "classification",
    "tag": "tagging",
    **{suffix[1:].removesuffix("s"): task for suffix, task in TASK_OF_SUFFIX.items() if suffix not in AUDIO},
    **{task: task for task in TASK_KINDS},
}
"""Words in names of folders and in suffixes, without a plural s, and the tasks that they mean."""
TRIED = ("chord", "segment", "beat", "transcription", "melody", "multipitch", "key", "tempo", "pattern")
"""Tasks as which text is read whose rows alone do not show what they are."""
_ALSO = {"onset": ("beat", "onset"), "beat": ("beat", "downbeat"), "melody": ("melody", "multipitch")}
_HEAD = 2**16  # bytes of a text that are enough to see what it is
SAMPLE = 3
_DISAGREEMENT = 0.4
"""Share of the perfect score that annotators of the same recording reach at least against each other."""


def hint(name: str) -> str:
    """The task that the name of a folder, or a suffix, suggests; empty if none."""
    for word in re.split(r"[^a-z0-9]+", name.lower()):
        for name in (word, word.removesuffix("s"), word.removesuffix("lab")):  # chordlab
            if name in _HINTS:
                return _HINTS[name]
    return ""


def sample(items: Sequence[Item]) -> Sequence[Item]:
    """A few items from all over a list."""
    return items[:: max(1, len(items) // SAMPLE)][:SAMPLE]


def tasks_of(path: Path, suffix: str) -> tuple[str, ...]:
    """The possible tasks of a file, the likeliest first; `suffix` may be one of several parts, as in ``.beats.txt``."""
    last = f".{suffix.rpartition('.')[2].lower()}"
    if last == ".parquet" or last in AUDIO:
        return tuple(task for task in TRIED if holds(path, task)) if last == ".parquet" else ("separation",)
    try:
        if format_named(f"x{last}") == "jams":
            names = dict.fromkeys(choice.namespace for choice in open_jams(str(path), MAX_BYTES, str(path)).choices)
            known = (NAMESPACES[name].tasks for name in names if name in NAMESPACES)
            return tuple(dict.fromkeys(tasks[0] for tasks in known if tasks))
        meant = hint(suffix)
        if meant and holds(path, meant):
            also = _ALSO.get(meant, (meant,)) if meant != "onset" else (meant,)
            return tuple(task for task in also if task == meant or holds(path, task))
        rows = number_lines(decode(_head(path), path), "#")[:200]
    except AnnotationError:
        return ()
    fields = [split_line(line, sniff(line)) for _, line in rows]
    task = guess_task(fields) or guess_task(fields[1:])  # the first row may be a header
    if task:
        return _ALSO.get(task, (task,))
    held = tuple(task for task in TRIED if holds(path, task))
    if "chord" in held:  # the labels of segments are any text
        return tuple(task for task in held if task != "segment")
    texts = [row for row in fields if any(not is_number(field) for field in row)]
    if held[:1] == ("beat",) and len(texts) == len(fields) and holds(path, "drums"):
        return ("drums",)
    words = [word for row in fields for field in row for word in field.split()]
    are_lyrics = not held and last == ".txt" and len(words) > 2 * len(fields) and not any(map(is_number, words))
    return ("lyrics",) if are_lyrics and not any("\t" in row for _, row in rows) else held


def holds(path: Path, task: str) -> bool:
    """True if a file, or the beginning of a long text, can be read as an annotation of a task that is not empty."""
    return not why_not(path, task)


def why_not(path: Path, task: str) -> str:
    """The reason why a file cannot be read as an annotation of a task; empty if it can."""
    reading = Reading.of(task)
    format = reading.format_of(str(path))
    try:
        is_text = format in FORMATS and not FORMATS[format].parser and not FORMATS[format].table and format != "jams"
        if not is_text or reading.kind == "audio" or path.stat().st_size <= _HEAD:
            annotation = read(path, task=task)
        else:
            head = _head(path)
            try:
                annotation = parse_file(head, reading, format, str(path))
            except AnnotationError as error:
                read_otherwise = lambda changed: parse_file(head, changed, format, str(path))  # noqa: E731
                raise with_advice(error, reading, read_otherwise) from None
        if not len(annotation):
            return f"{path} is empty"
        # Any text is read as a key, or as a class of drums.
        judged = reading.kind == "key" or task == "drums"
        flaws = get_task(task).convention().clean(to_ragged([annotation])).flaws if judged else {}
        return next((f"{path}: {flaw.text(annotation)}" for flaw in flaws.values()), "")
    except (AnnotationError, UnknownNameError, OSError) as error:
        return str(error)


def remedy(path: Path, task: str) -> dict[str, Any]:
    """The columns, and the unit of their times, with which a file can be read as a task, by the message without them.
    Empty unless they are all columns that a header names: a part of a table may be read as many tasks."""
    for clause in why_not(path, task).split("; ") if path.suffix.lower() in (".csv", ".tsv", ".txt", ".lab") else ():
        options = options_in(clause)
        columns = [*options.get("columns", {}).values()]
        if (
            columns
            and options.keys() <= {"columns", "time_unit", "pitch_unit"}
            and all(isinstance(one, str) for one in columns)
        ):
            header = re.split(r"[,;\t]", number_lines(decode(_head(path), path), "#")[0][1].replace('"', ""))
            # Alignments have no ends of words.
            ends = [name for name in header if task == "alignment" and "end" in heading(name).split("_")]
            left = [name.strip() for name in header if name not in ends]
            if {*columns} <= {*left} and all(name in columns or is_beside(heading(name)) for name in left):
                return options
    return {}


def in_midi(path: Path, task: str) -> bool:
    """True if the pitches of a file look like MIDI numbers, and can be read as such."""
    kind = kind_of(task)
    column = next((one.name for one in kind.variables if one.units == "Hz"), "")
    with suppress(MirflowError, OSError):
        pitches = read(path, task=task).columns[column] if kind.pitched and column else np.zeros(0)
        sounding = pitches[pitches > 0]
        return len(sounding) >= SAMPLE and bool((sounding <= HIGHEST_MIDI).all() and (sounding % 1 == 0).all())
    return False


def _head(path: Path) -> bytes:
    with open_file(path) as file:
        data = file.read(_HEAD)
    return data if len(data) < _HEAD else data[: data.rfind(b"\n") + 1] or data


def try_evaluation(found: EvaluationFiles) -> tuple[str, str]:
    """Score a few tracks of an evaluation; returns why it is none, and what the scores of the estimates are. References
    are also scored against themselves, and against other annotators of the same tracks."""
    if kind_of(found.task).name == "audio":
        return "", ""
    rules = get_task(found.task).convention(found.convention, found.classes)
    measures = {measure.metric.name: measure for measure in rules.select()}
    names = get_task(found.task).headline_of(rules.name)
    measure = next((measures[name] for name in names if name in measures), None)

    def opened(source: Source) -> Annotation | str:
        try:
            annotation = source.read()[0]
            flaws = rules.clean(to_ragged([annotation])).flaws
            return next((f"{source.label}: {flaw.text(annotation)}" for flaw in flaws.values()), annotation)
        except MirflowError as error:
            return str(error)

    def scored(pairs: Sequence[tuple[Annotation, Annotation]]) -> list[float]:
        scores: list[float] = []
        if measure is None:
            return scores
        for sides in pairs:
            with suppress(MirflowError, ValueError):  # the run reports what cannot be scored
                rows = (rules.clean(to_ragged([side])).rows for side in sides)
                result = rules.score(Pairs.in_order(*rows), [measure], rules.grids[0])
                if result.weight[0, 0]:
                    scores.append(float(result.score[0, 0]))
        return scores

    places = sample([place for place, own in enumerate(found.references) if own])
    references = [[opened(one.source) for one in found.references[place]] for place in places]
    readable = [[one for one in own if isinstance(one, Annotation)] for own in references]
    if places and not any(readable):
        return f"no reference of {len(places)} tried can be read: {references[0][0]}", ""
    perfect = None if measure is None else measure.metric.perfect
    own = scored([(one, one) for side in readable for one in side])
    if perfect and own and perfect not in own:
        scores = f"{measure} {max(own):.4g}, not {perfect:g}"
        return f"references against themselves have {scores}: are these files of {found.task}?", ""
    others = scored([pair for side in readable for pair in product(side, side) if pair[0] is not pair[1]])
    if perfect and others and sum(others) < _DISAGREEMENT * perfect * len(others):
        agreement = f"{measure} of one against another is {sum(others) / len(others):.2g} on a few tracks"
        return f"annotators hardly agree ({agreement}): are these folders of different recordings?", ""
    estimates = [
        (side, opened(source))
        for place, side in zip(places, readable, strict=True)
        for row in sample(found.estimates)
        if (source := row[place]) is not None
    ]
    errors = [one for _, one in estimates if isinstance(one, str)]
    if estimates and len(errors) == len(estimates):
        return f"no estimate of {len(errors)} tried can be read: {errors[0]}", ""
    values = scored([(side[0], one) for side, one in estimates if side and isinstance(one, Annotation)])
    unread = f"; {counted(len(errors), 'other')} cannot be read: {errors[0]}" if errors else ""
    if not values:
        return "", unread.removeprefix("; ")
    ends = dict.fromkeys(f"{value:.3g}" for value in (min(values), max(values)))
    return "", f"{measure} {' to '.join(ends)} for {counted(len(values), 'pair')} tried{unread}"
