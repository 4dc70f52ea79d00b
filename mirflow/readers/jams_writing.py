"""JAMS: convert annotations to objects of the jams package."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.arrays import is_number
from ..annotations.labelled import from_dataset
from ..errors import AnnotationError
from ..ragged import Float, offsets_of, rows_of
from ..theory.pitch import hz_to_midi
from .namespaces import NAMESPACES
from .options import PITCHED

if TYPE_CHECKING:
    import jams
    import xarray as xr

Observation = tuple[float, float, Any, float | None]
"""Time, duration, value and confidence."""


def to_jams(
    annotations: Annotation | xr.Dataset | Sequence[Annotation | xr.Dataset],
    *,
    task: str | None = None,
    namespace: str | None = None,
) -> jams.JAMS:
    """Convert annotations to a ``jams.JAMS`` object.

    Parameters
    ----------
    annotations : Annotation, xr.Dataset, or a sequence of them
        Of a kind with a JAMS namespace: events, intervals, hierarchy, notes, series, multipitch, patterns, tempo, key
        or labels. JAMS cannot hold velocities and labels of notes or a continuous voicing; they are left out.
    task, namespace : str or None
        Task or namespace to write. By default, the namespace, otherwise the task, that each annotation was read as.
        ``beat_position`` is written as ``beat``, since only the position in the bar is read; the deprecated
        ``pitch_hz`` and ``pitch_midi`` are written as ``pitch_contour``.

    Returns
    -------
    jams.JAMS
        One annotation each, with the annotator as its id. Title, artist and duration are taken from the first
        annotation that has them; the duration defaults to the end of the last item.

    Raises
    ------
    AnnotationError
        If a namespace is required but unknown, or cannot hold annotations of the kind.

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
    known = [float(one.attrs["duration"]) for one in plain if "duration" in one.attrs]
    ends = [one.columns[name] for one in plain for name in ("time", "end", "onset") if name in one.columns]
    last = max((float(end.max()) for end in ends if len(end)), default=0.0)
    jam.file_metadata.duration = known[0] if known else last
    for key in ("title", "artist"):
        setattr(jam.file_metadata, key, next((str(one.attrs[key]) for one in plain if one.attrs.get(key)), ""))
    for one in plain:
        noted = None if one.attrs.get("namespace") else one.attrs.get("task")  # by load()
        wanted = task if task is not None or noted is None else str(noted)
        name = namespace or one.attrs.get("namespace")
        if not namespace and wanted is not None:
            name = next((space.name for space in NAMESPACES.values() if wanted in space.tasks), None)
        if name not in NAMESPACES:
            holding = [space.name for space in NAMESPACES.values() if one.kind in space.kinds]
            if not holding:
                raise AnnotationError(f"JAMS has no namespace for annotations of kind {one.kind}")
            what = "no JAMS namespace is given" if name is None else f"unknown JAMS namespace {name!r}"
            raise AnnotationError(f"{what}; {one.kind} can be written as {', '.join(holding)}")
        name = str(name)
        if NAMESPACES[name].value == "position" and one.kind == "events":
            name = "beat"
        elif one.kind in ("series", "multipitch") and name in ("pitch_hz", "pitch_midi"):
            name = "pitch_contour"
        elif one.kind not in NAMESPACES[name].kinds:
            raise AnnotationError(f"namespace {name!r} holds {NAMESPACES[name].kind}, not {one.kind}")
        written = jams.Annotation(name, time=0, duration=jam.file_metadata.duration)
        if one.attrs.get("annotator"):
            written.annotation_metadata.annotator = jams.JObject(id=str(one.attrs["annotator"]))
        for time, duration, value, confidence in observations_of(one, name, jam.file_metadata.duration):
            written.append(time=time, duration=duration, value=value, confidence=confidence)
        jam.annotations.append(written)
    return jam


def observations_of(annotation: Annotation, namespace: str, duration: float) -> list[Observation]:
    """Return the observations of an annotation; the duration of the track, in seconds, is that of a key or a tempo.

    Examples
    --------
    >>> observations_of(Annotation("key", {}, ["C minor"]), "key_mode", 120.0)
    [(0.0, 120.0, 'C:minor', None)]
    """
    kind = annotation.kind
    if kind == "patterns":
        occurrences, notes = annotation.inner_counts
        pattern, owner = rows_of(occurrences) + 1, rows_of(notes)
        number = np.arange(len(notes)) - np.repeat(offsets_of(occurrences)[:-1], occurrences) + 1
        columns = (annotation.columns["onset"], annotation.columns["pitch"], pattern[owner], number[owner])
        # The namespace requires the morphetic pitch and the staff, which are unknown.
        unknown, names = {"morph_pitch": 0, "staff": 0}, ("pattern_id", "occurrence_id")
        return [
            (onset, 0.0, {"midi_pitch": pitch, **unknown, **dict(zip(names, ids, strict=True))}, None)
            for onset, pitch, *ids in zip(*(column.tolist() for column in columns), strict=True)
        ]
    if kind == "tempo":
        tempi = annotation.columns["tempo"].tolist()
        strengths = annotation.columns.get("salience", np.full(len(tempi), np.nan)).tolist()
        return [(0.0, duration, tempo, None if x != x else x) for tempo, x in zip(tempi, strengths, strict=True)]
    if kind == "key":
        return [(0.0, duration, label.replace(" ", ":", 1), None) for label in annotation.labels or ()]
    if kind == "labels":
        texts = annotation.labels or []
        degrees = annotation.columns.get("value", np.full(len(texts), np.nan)).tolist()
        return [(0.0, duration, text, None if x != x else x) for text, x in zip(texts, degrees, strict=True)]
    if kind in PITCHED:
        return list(_pitches(annotation, NAMESPACES[namespace].value))
    if kind == "text" and not {"start", "end"} <= set(annotation.columns):
        raise AnnotationError("JAMS needs a time for each line or word of lyrics, and these have none")
    times = annotation.columns["time" if kind == "events" else "start"]
    texts = annotation.labels if annotation.labels is not None else [""] * len(times)
    if kind == "events":
        values: list[Any] = list(texts)
        if NAMESPACES[namespace].value == "number":
            values = [(float(text) if is_number(text) else text) if text else None for text in texts]
            values = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
        return [(time, 0.0, value, None) for time, value in zip(times.tolist(), values, strict=True)]
    rows = list(zip(times.tolist(), (annotation.columns["end"] - times).tolist(), texts, strict=True))
    if kind == "hierarchy":
        levels = rows_of(annotation.inner_counts[0]).tolist()
        return [
            (start, length, {"label": text, "level": level}, None)
            for (start, length, text), level in zip(rows, levels, strict=True)
        ]
    is_json = NAMESPACES[namespace].value == "json"
    return [(start, length, json.loads(text) if is_json else text, None) for start, length, text in rows]


def _pitches(annotation: Annotation, form: str) -> Iterator[Observation]:
    """Notes, or points of a pitch contour; a silent frame is an unvoiced point."""
    columns = annotation.columns
    if annotation.kind == "notes":
        pitch: Float = np.asarray(hz_to_midi(columns["pitch"])) if form == "midi" else columns["pitch"]
        lengths = columns["end"] - columns["start"]
        for start, length, value in zip(columns["start"].tolist(), lengths.tolist(), pitch.tolist(), strict=True):
            yield start, length, value, None
        return
    time, frequency = columns["time"], columns["frequency"]
    if annotation.kind == "multipitch":
        counts = annotation.inner_counts[0]
        held = np.zeros(int(np.maximum(counts, 1).sum()))
        held[np.repeat(counts > 0, np.maximum(counts, 1))] = frequency
        time, frequency = np.repeat(time, np.maximum(counts, 1)), held
    for moment, hertz in zip(time.tolist(), frequency.tolist(), strict=True):
        yield moment, 0.0, {"index": 0, "frequency": abs(hertz), "voiced": hertz > 0}, None
