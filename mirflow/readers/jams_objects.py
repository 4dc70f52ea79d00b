"""Annotations from objects of the jams package and back; the package itself is imported only to make new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.annotation import Annotation, Attribute, from_dataset
from ..errors import AnnotationError
from .jams import file_attrs
from .namespaces import NAMESPACES, default_namespace
from .observations import Observations
from .options import Reading
from .positions import select_beats
from .selection import annotator_names, choose, list_choices
from .writing import observations_of

if TYPE_CHECKING:
    import jams
    import xarray as xr


def is_jams(thing: object) -> bool:
    """Whether something is a ``jams.JAMS`` or ``jams.Annotation``, told without importing jams.

    Examples
    --------
    >>> is_jams("a.jams")
    False
    """
    return any(
        kind.__module__ == "jams.core" and kind.__name__ in ("JAMS", "Annotation") for kind in type(thing).__mro__
    )


def from_jams(thing: Any, reading: Reading, annotator: str | int | None = None) -> Annotation:
    """One annotation of a ``jams.JAMS`` object, or a ``jams.Annotation`` as it is.

    Raises
    ------
    InvalidAnnotationError
        If the object holds no such annotation, or more than one.
    """
    held = _held(thing)
    choices = annotator_names([one.namespace for one in held], [_metadata(one) for one in held])
    place = choose(choices, reading, annotator, "<jams>")
    return _annotation(held[place], choices[place].annotator, reading, _attrs(thing))


def all_from_jams(thing: Any, reading: Reading) -> list[Annotation]:
    """Every annotation of a ``jams.JAMS`` object that fits, in its order."""
    held = _held(thing)
    choices = annotator_names([one.namespace for one in held], [_metadata(one) for one in held])
    return [
        _annotation(held[place], choices[place].annotator, reading, _attrs(thing))
        for place in list_choices(choices, reading)
    ]


def _held(thing: Any) -> list[Any]:
    return [thing] if hasattr(thing, "namespace") else list(thing.annotations)


def _metadata(annotation: Any) -> dict[str, Any]:
    annotator = annotation.annotation_metadata.annotator
    return {"annotator": {key: annotator[key] for key in ("id", "name") if key in annotator}}


def _attrs(thing: Any) -> dict[str, Attribute]:
    metadata = getattr(thing, "file_metadata", None)
    return {} if metadata is None else file_attrs(vars(metadata))


def _annotation(annotation: Any, annotator: str, reading: Reading, attrs: Mapping[str, Attribute]) -> Annotation:
    rows = list(annotation.data)
    time = np.array([row.time for row in rows], dtype=np.float64)
    duration = np.array([row.duration for row in rows], dtype=np.float64)
    held = Observations(time, duration, [row.value for row in rows], [row.confidence for row in rows])
    attrs = {**attrs, "namespace": annotation.namespace, "annotator": annotator}
    plain = held.annotation(reading.kind, annotation.namespace, attrs, "<jams>")
    return select_beats(plain, reading.selection, "<jams>") if reading.kind == "events" else plain


def to_jams(
    annotations: Annotation | xr.Dataset | Sequence[Annotation | xr.Dataset],
    *,
    task: str | None = None,
    namespace: str | None = None,
) -> jams.JAMS:
    """Annotations as a ``jams.JAMS`` object.

    Parameters
    ----------
    annotations : Annotation, xr.Dataset, or a sequence of them
        Of a kind that JAMS has a namespace for: events, intervals, hierarchy, notes, series, multipitch, patterns,
        tempo, key or labels. Velocities and labels of notes and a voicing by degrees have no place in JAMS and are left
        out.
    task, namespace : str or None
        What they are written as. None: the namespace, else the task, that each was read as. Of ``beat_position`` only
        the position in the bar is kept when reading, so that it is written as ``beat``; ``pitch_hz`` and
        ``pitch_midi``, which JAMS has given up, are written as ``pitch_contour``.

    Returns
    -------
    jams.JAMS
        One annotation for each, with the annotator as its id; title, artist and duration of the first that has them,
        the duration otherwise being the end of the last item.

    Raises
    ------
    AnnotationError
        If a namespace is needed and not known, or cannot hold an annotation of that kind.

    Examples
    --------
    >>> chords = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([2.0])}, ["C:maj"])
    >>> to_jams(chords, task="chord").annotations[0].data[0].value
    'C:maj'
    """
    import jams

    several = annotations if isinstance(annotations, Sequence) else [annotations]
    plain = [one if isinstance(one, Annotation) else from_dataset(one) for one in several]
    jam = jams.JAMS()
    jam.file_metadata.duration = _duration(plain)
    for key in ("title", "artist"):
        setattr(jam.file_metadata, key, next((str(one.attrs[key]) for one in plain if one.attrs.get(key)), ""))
    for one in plain:
        name = _namespace(one, task, namespace)
        written = jams.Annotation(name, time=0, duration=jam.file_metadata.duration)
        if one.attrs.get("annotator"):
            written.annotation_metadata.annotator = jams.JObject(id=str(one.attrs["annotator"]))
        for time, duration, value, confidence in observations_of(one, name, jam.file_metadata.duration):
            written.append(time=time, duration=duration, value=value, confidence=confidence)
        jam.annotations.append(written)
    return jam


def _duration(annotations: Sequence[Annotation]) -> float:
    told = [float(one.attrs["duration"]) for one in annotations if "duration" in one.attrs]
    ends = [one.columns[name] for one in annotations for name in ("time", "end", "onset") if name in one.columns]
    return told[0] if told else max((float(end.max()) for end in ends if len(end)), default=0.0)


def _namespace(annotation: Annotation, task: str | None, namespace: str | None) -> str:
    if task is None and not annotation.attrs.get("namespace"):
        noted = annotation.attrs.get("task")  # by load()
        task = None if noted is None else str(noted)
    name = namespace or (default_namespace(task) if task is not None else annotation.attrs.get("namespace"))
    if name not in NAMESPACES:
        raise AnnotationError(f"which JAMS namespace is it, not {name!r}? name one of {', '.join(NAMESPACES)}")
    if NAMESPACES[str(name)].value == "position" and annotation.kind == "events":
        return "beat"
    if annotation.kind in ("series", "multipitch") and name in ("pitch_hz", "pitch_midi"):
        return "pitch_contour"
    if annotation.kind not in NAMESPACES[str(name)].kinds:
        raise AnnotationError(f"namespace {name!r} holds {NAMESPACES[str(name)].kind}, not {annotation.kind}")
    return str(name)
