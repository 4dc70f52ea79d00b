"""JAMS namespaces: the kind of annotation that each holds, and the tasks that read it or are written in it.

Namespaces that no task reads are listed with what they hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from ..errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class Namespace:
    """One JAMS namespace."""

    name: str
    kind: str
    """Kind that it is read as by default."""
    tasks: tuple[str, ...] = ()
    """Tasks whose files may hold it; empty: it is read only if named."""
    value: str = "text"
    """The form of an observation's value: ``text``, ``tag`` (text whose confidence counts), ``number``, ``hz`` or
    ``midi``, or an object: ``position`` (in the bar), ``level`` (a label and its level), ``note`` (of an occurrence of
    a pattern), ``contour`` (a frequency and whether it is voiced), ``json`` (anything; the label is its JSON text)."""
    also: str | None = None
    """Another kind that it can be read as."""
    kinds: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Every kind that it can be read as."""
    meant: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The tasks that a file may mean that says nothing else: the one of this name, or all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", (self.kind,) if self.also is None else (self.kind, self.also))
        object.__setattr__(self, "meant", (self.name,) if self.name in self.tasks else self.tasks)


_TAGS = (
    *("open", "gtzan", "cal500", "cal10k", "medleydb_instruments", "msd_tagtraum_cd1", "msd_tagtraum_cd2"),
    *("fma_genre", "fma_subgenre", "urbansound", "audioset", "audioset_genre", "audioset_instruments"),
)
OTHERS = MappingProxyType(
    {
        "blob": "objects of any form",
        "chord_roman": "chords as degrees of a key",
        "lyrics_bow": "counts of words without their order",
        "mood_thayer": "pairs of valence and arousal",
        "pitch_class": "pitch classes as degrees of a tonic",
        "scaper": "events of synthesized soundscapes",
        "vector": "vectors of numbers",
    }
)
"""Namespaces that no task reads, and what they hold."""
NAMESPACES = MappingProxyType(
    {
        namespace.name: namespace
        for namespace in (
            Namespace("chord", "intervals", ("chord",)),
            Namespace("chord_harte", "intervals", ("chord",)),
            Namespace("beat", "events", ("beat", "downbeat"), "number"),
            Namespace("beat_position", "events", ("beat", "downbeat"), "position"),
            Namespace("onset", "events", ("onset",), "number"),
            Namespace("segment_open", "intervals", ("segment",)),
            Namespace("segment_salami_function", "intervals", ("segment",)),
            Namespace("segment_salami_upper", "intervals", ("segment",)),
            Namespace("segment_salami_lower", "intervals", ("segment",)),
            Namespace("segment_salami_tut", "intervals", ("segment",)),
            Namespace("segment_tut", "intervals", ("segment",)),
            Namespace("segment_isophonics", "intervals", ("segment",)),
            Namespace("multi_segment", "hierarchy", ("hierarchy",), "level"),
            Namespace("pattern_jku", "patterns", ("pattern",), "note"),
            Namespace("tempo", "tempo", ("tempo",), "number"),
            Namespace("pitch_contour", "series", ("melody", "multipitch"), "contour", also="multipitch"),
            Namespace("pitch_hz", "series", ("melody", "multipitch"), "hz", also="multipitch"),
            Namespace("pitch_midi", "series", ("melody", "multipitch"), "midi", also="multipitch"),
            Namespace("note_hz", "notes", ("transcription",), "hz"),
            Namespace("note_midi", "notes", ("transcription",), "midi"),
            Namespace("key_mode", "intervals", ("key", "local_key"), also="key"),
            Namespace("lyrics", "intervals", ("lyrics",), also="text"),
            *(Namespace(f"tag_{name}", "labels", ("classification", "tagging"), "tag") for name in _TAGS),
            *(Namespace(name, "intervals", value="json") for name in OTHERS),
        )
    }
)


def namespace_kind(name: str) -> str:
    """The kind of annotation that a namespace is read as."""
    if name not in NAMESPACES:
        raise UnknownNameError("namespace", name, NAMESPACES)
    return NAMESPACES[name].kind


@cache
def wanted_namespaces(kind: str, task: str | None, namespace: str | None) -> frozenset[str]:
    """The candidate namespaces: the given one, otherwise those of the task, otherwise all of the kind but
    those that no task reads."""
    if namespace is not None:
        return frozenset({namespace})
    if task is not None:
        return frozenset(n.name for n in NAMESPACES.values() if task in n.tasks and kind in n.kinds)
    return frozenset(n.name for n in NAMESPACES.values() if kind in n.kinds and n.value != "json")
