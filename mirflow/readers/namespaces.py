"""Which JAMS namespaces are read, what kind of annotation each holds, and which tasks it serves."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from ..errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class Namespace:
    """One JAMS namespace.

    Parameters
    ----------
    name, kind : str
    tasks : tuple of str
        The tasks whose files may hold it; empty: only read when it is asked for by name.
    value : str
        The form of an observation's value: ``text``, ``number`` or ``position`` (an object whose ``position`` counts).
    """

    name: str
    kind: str
    tasks: tuple[str, ...] = ()
    value: str = "text"


NAMESPACES = MappingProxyType(
    {
        namespace.name: namespace
        for namespace in (
            Namespace("chord", "intervals", ("chord",)),
            Namespace("chord_harte", "intervals", ("chord",)),
            Namespace("beat", "events", ("beat",), "number"),
            Namespace("beat_position", "events", ("beat",), "position"),
            Namespace("onset", "events", ("onset",), "number"),
            Namespace("segment_open", "intervals", ("segment",)),
            Namespace("segment_salami_function", "intervals", ("segment",)),
            Namespace("segment_salami_upper", "intervals", ("segment",)),
            Namespace("segment_salami_lower", "intervals", ("segment",)),
            Namespace("segment_salami_tut", "intervals", ("segment",)),
            Namespace("segment_tut", "intervals", ("segment",)),
            Namespace("segment_isophonics", "intervals", ("segment",)),
            Namespace("key_mode", "intervals"),
            Namespace("lyrics", "intervals"),
        )
    }
)


def namespace_kind(name: str) -> str:
    """The kind of annotation that a namespace holds.

    Raises
    ------
    UnknownNameError
        If the namespace is not one of those that are read.

    Examples
    --------
    >>> namespace_kind("beat_position")
    'events'
    """
    if name not in NAMESPACES:
        raise UnknownNameError("namespace", name, NAMESPACES)
    return NAMESPACES[name].kind


def wanted_namespaces(kind: str, task: str | None, namespace: str | None) -> frozenset[str]:
    """The namespaces that may be taken: the one named, else those of the task, else all of the kind."""
    if namespace is not None:
        return frozenset({namespace})
    if task is not None:
        return frozenset(n.name for n in NAMESPACES.values() if task in n.tasks and n.kind == kind)
    return frozenset(n.name for n in NAMESPACES.values() if n.kind == kind)


def default_namespace(task: str) -> str | None:
    """The namespace that an annotation of a task is written in; None where JAMS has none."""
    return next((n.name for n in NAMESPACES.values() if task in n.tasks), None)
