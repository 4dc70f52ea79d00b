"""Remedies in messages of readers: options and tasks that are tried as they are printed, or else not printed.

A message ends with clauses such as ``if the rows have a start and a label, declare columns: {start: 0, label: 1}`` and
``use task chord``. `advised` reads what they propose, reads the input again with it, and leaves out each clause that
does not give a plausible annotation.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.validation import SPACED, USUAL, extents
from ..errors import QUOTED, AnnotationError, MirflowError
from .layouts import spell
from .options import DELIMITED, OPTIONS, Reading

Read = Callable[[Reading], tuple[Annotation, object]]
"""Reads the input of a message in another way: the annotation, and what else it tells."""
T = TypeVar("T")
Error = TypeVar("Error", bound=AnnotationError)

_JOINT = re.compile(r"; |: (?=(?:if [^;]*)?(?:declare|use task) )|, (?=or (?:declare|use task) )")
"""What separates the clauses of a message."""
_TASKS = re.compile(r"(?<=use task )\w+(?: or (?:use task )?\w+)*")
_VALUE = r"""\{[^}]*\}|\[[^\]]*\]|'[^']*'|"[^"]*"|[^\s;,()]+"""
_PROPOSED = re.compile(rf"\b({'|'.join(map(re.escape, OPTIONS))}): ({_VALUE})")
_ITEM = re.compile(r"""(?:(\w+): )?('[^']*'|"[^"]*"|[^,\s][^,]*)""")
_FORM = "NAME"
"""Stands for a name that the user has to fill in, so that the remedy cannot be tried."""


def options_in(clause: str) -> dict[str, Any]:
    """The options of reading that a clause proposes."""
    if "declare " not in clause and "(--" not in clause:
        return {}
    options = {name: _value(text) for name, text in _PROPOSED.findall(clause)}
    return {name: value for name, value in options.items() if isinstance(value, dict) or not OPTIONS[name].is_mapping}


def _value(text: str) -> Any:
    if text[0] in "{[":
        items = [(name, _value(item.strip())) for name, item in _ITEM.findall(text[1:-1])]
        return dict(items) if text[0] == "{" else [str(item) for _, item in items]
    if text[0] in "'\"":
        with suppress(SyntaxError, ValueError):  # where a quote of the name itself ends the text
            return literal_eval(text)
    return {"true": True, "false": False}.get(text, int(text) if text.isdecimal() else text)


def advised(message: str, reading: Reading, read: Read) -> str:
    """A message without the clauses whose remedies do not give a plausible annotation.

    `read`: reads it in another way; raises a `MirflowError` if it cannot be read.
    """
    if "declare " not in message and "use task " not in message and "(--" not in message:
        return message
    text = ""
    for joint, clause in _clauses(message):
        if not joint:  # what is wrong
            text = clause
            continue
        tasks = _TASKS.search(clause)
        if tasks is not None:
            named = re.split(r" or (?:use task )?", tasks[0])
            works = [name for name in named if _works({"task": name}, reading, read)]
            text += f"{joint}{clause.replace(tasks[0], ' or '.join(works))}" if works else ""
            continue
        options = options_in(clause)
        if not options or _FORM in str(options) or _works(options, reading, read):
            text += joint + clause
            continue
        try:
            read(changed_reading(reading, options))
        except AnnotationError as error:  # it may propose other options beside these
            for _, other in _clauses(error.message):
                more = options_in(other) if "declare" in other else {}
                if more and not more.keys() & options.keys() and _works(options | more, reading, read):
                    text += f"{joint}{clause[: clause.index('declare ')]}declare {spell(options | more)}"
                    break
        except (MirflowError, OSError):
            pass
    return text


def _clauses(message: str) -> Iterator[tuple[str, str]]:
    """The clauses of a message, each with what precedes it; quoted values are not split."""
    masked = re.sub(QUOTED, lambda found: "x" * len(found[0]), message)
    before, start = "", 0
    for joint in _JOINT.finditer(masked):
        yield before, message[start : joint.start()]
        before, start = joint[0], joint.end()
    yield before, message[start:]


def _works(options: Mapping[str, Any], reading: Reading, read: Read) -> bool:
    try:
        changed = changed_reading(reading, options)
        return is_plausible(read(changed)[0], changed.task)
    except (MirflowError, OSError):
        return False


def changed_reading(reading: Reading, options: Mapping[str, Any]) -> Reading:
    """A reading with other options, or for another task."""
    kept = {name: getattr(reading, name) for name in OPTIONS.keys() - DELIMITED.keys()}
    meant = {"task": reading.task, "kind": None if "task" in options else reading.kind}
    return Reading.of(delimited=reading.delimited, **{**kept, **meant, **options})


def is_plausible(annotation: Annotation, task: str | None) -> bool:
    """True if an annotation has items, no doubt, no flaw by the task's default convention, and usual distances."""
    from ..metrics.base import get_task  # metrics of all tasks, which reading does not need otherwise

    if not len(annotation) or any(remark.severity == "warning" for remark in annotation.account):
        return False
    if task is None or annotation.kind == "audio":
        return True
    rows = to_ragged([annotation])
    cleaned = get_task(task).convention().clean(rows)
    if cleaned.flaws or 2 * int(cleaned.repairs[0]) > len(annotation):
        return False
    first, last, count = extents(annotation.schema, rows)[0].tolist()
    if task not in USUAL or not count >= SPACED:  # which NaN is not
        return True
    least, most, _ = USUAL[task]
    return bool(least <= (last - first) / (count - 1) <= most)


def with_advice(error: Error, reading: Reading, read: Read) -> Error:
    """An error with those of its remedies that work."""
    if "\n" in error.message:
        return error
    message = advised(error.message, reading, read)
    return error if message == error.message else type(error)(message, path=error.path, line=error.line)


def read_advised(read: Callable[[Reading], tuple[Annotation, T]], reading: Reading) -> tuple[Annotation, T]:
    """What a function reads, whose messages have those of their remedies that work."""
    try:
        annotation, other = read(reading)
    except AnnotationError as error:
        raise with_advice(error, reading, read) from None
    if annotation.account:
        remarks = annotation.account
        account = tuple(replace(remark, message=advised(remark.message, reading, read)) for remark in remarks)
        annotation = annotation if account == remarks else replace(annotation, account=account)
    return annotation, other
