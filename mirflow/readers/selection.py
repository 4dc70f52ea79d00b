"""Which of the annotations in a JAMS file or object is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidAnnotationError, suggest
from .namespaces import NAMESPACES, wanted_namespaces
from .options import Reading

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """One annotation that may be chosen: its namespace, and the name of its annotator, unique in the namespace."""

    namespace: str
    annotator: str

    def __str__(self) -> str:
        return f"{self.namespace} by {self.annotator}"


def annotator_names(namespaces: Sequence[str], metadata: Sequence[Any]) -> tuple[Choice, ...]:
    """A name for the annotator of every annotation: the id, else the name, else the position in its namespace.

    Names that would stand twice in a namespace get a number, from the second on.

    Examples
    --------
    >>> [str(c) for c in annotator_names(["chord"] * 3, [{"annotator": {"id": "A1"}}] * 2 + [None])]
    ['chord by A1', 'chord by A1 (2)', 'chord by 2']
    """
    positions: Counter[str] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    choices = []
    for namespace, one in zip(namespaces, metadata, strict=True):
        name = _annotator(one) or str(positions[namespace])
        positions[namespace] += 1
        seen[namespace, name] += 1
        count = seen[namespace, name]
        choices.append(Choice(namespace, name if count == 1 else f"{name} ({count})"))
    return tuple(choices)


def _annotator(metadata: Any) -> str:
    annotator = metadata.get("annotator") if isinstance(metadata, Mapping) else None
    if isinstance(annotator, Mapping):
        annotator = next((annotator[key] for key in ("id", "name") if annotator.get(key) not in (None, "")), "")
    return str(annotator).strip() if isinstance(annotator, (str, int)) else ""


def list_choices(choices: Sequence[Choice], reading: Reading) -> list[int]:
    """Positions of the annotations that fit what is to be read."""
    wanted = wanted_namespaces(reading.kind, reading.task, reading.namespace)
    return [place for place, choice in enumerate(choices) if choice.namespace in wanted]


def tell_absent(choices: Sequence[Choice], what: str) -> str:
    """What to do about a file without an annotation of a namespace, or for a task.

    Examples
    --------
    >>> tell_absent([Choice("chord", "A1")], "beat")
    "holds no annotation for 'beat'; it holds chord by A1: say task chord"
    """
    message = f"holds no annotation for {what!r}; it holds {', '.join(map(str, choices)) or 'no annotation at all'}"
    known = [NAMESPACES[choice.namespace] for choice in choices if choice.namespace in NAMESPACES]
    tasks = dict.fromkeys(task for namespace in known for task in namespace.tasks[:1] if task != what)
    if tasks:
        return f"{message}: say task {' or '.join(tasks)}"
    if known:
        names = dict.fromkeys(namespace.name for namespace in known)
        return f"{message}: declare namespace: {' or '.join(names)}"
    return f"{message}; {what!r} is read from {', '.join(_read_for(what))}" if choices else message


def _read_for(what: str) -> Iterable[str]:
    names = [one.name for one in NAMESPACES.values() if what in (*one.tasks, *one.kinds)] or [what]
    return [*names[:_SHOWN], "..."] if len(names) > _SHOWN else names


def choose(choices: Sequence[Choice], reading: Reading, annotator: str | int | None, name: str) -> int:
    """The position of the one annotation that is meant.

    Parameters
    ----------
    choices : sequence of Choice
    reading : Reading
    annotator : str, int or None
        A name, a position among those that fit, or None where only one fits.
    name : str
        What to call the file in messages.

    Raises
    ------
    InvalidAnnotationError
        If none fits, or more than one; the message lists what is there.
    """
    fitting = list_choices(choices, reading)
    what = reading.namespace or reading.task or reading.kind
    if not fitting:
        raise InvalidAnnotationError(tell_absent(choices, what), path=name)
    held = ", ".join(str(choices[place]) for place in fitting)
    if isinstance(annotator, int):
        if not 0 <= annotator < len(fitting):
            raise InvalidAnnotationError(f"holds no annotation number {annotator}; it holds {held}", path=name)
        return fitting[annotator]
    if annotator is not None:
        known = [choices[place].annotator for place in fitting]
        fitting = [place for place in fitting if choices[place].annotator == annotator]
        if not fitting:
            message = f"has no annotator {annotator!r} for {what!r}; {suggest(annotator, known)}"
            stop = "" if message.endswith("?") else "."
            raise InvalidAnnotationError(f"{message}{stop} It holds {held}", path=name)
    if len(fitting) > 1:
        way = "a namespace" if annotator is not None else "an annotator or a namespace"
        held = ", ".join(str(choices[place]) for place in fitting)
        raise InvalidAnnotationError(f"holds {len(fitting)} annotations for {what!r}: {held}; choose {way}", path=name)
    return fitting[0]
