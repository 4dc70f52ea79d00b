"""Objects of the jams package: annotations from them and to them, and the validation of JAMS files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..annotations.labelled import from_dataset
from ..errors import AnnotationError, Problem, UnreadableError
from ..ragged import Float, offsets_of, rows_of
from ..theory.pitch import hz_to_midi
from .content import read_bytes
from .jams import Observations, annotator_names, choose, file_attrs, list_choices, parse_whole
from .namespaces import NAMESPACES, default_namespace
from .options import MAX_BYTES, PITCHED, Reading
from .positions import select_beats

if TYPE_CHECKING:
    import jams
    import xarray as xr

Observation = tuple[float, float, Any, float | None]


def observations_of(annotation: Annotation, namespace: str, duration: float) -> list[Observation]:
    """The observations of an annotation.

    Parameters
    ----------
    duration : float, seconds
        Of the track, for what holds throughout: a key, a tempo.

    Examples
    --------
    >>> observations_of(Annotation("key", {}, ["C minor"]), "key_mode", 120.0)
    [(0.0, 120.0, 'C:minor', None)]
    """
    kind = annotation.kind
    if kind == "patterns":
        return list(_notes(annotation))
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
    times = annotation.columns["time" if kind == "events" else "start"]
    texts = annotation.labels if annotation.labels is not None else [""] * len(times)
    if kind == "events":
        values: list[Any] = list(map(_number, texts)) if NAMESPACES[namespace].value == "number" else list(texts)
        return [(time, 0.0, value, None) for time, value in zip(times.tolist(), values, strict=True)]
    lengths = (annotation.columns["end"] - times).tolist()
    rows = list(zip(times.tolist(), lengths, texts, strict=True))
    if kind == "hierarchy":
        levels = rows_of(annotation.inner_counts[0]).tolist()
        return [
            (start, length, {"label": text, "level": level}, None)
            for (start, length, text), level in zip(rows, levels, strict=True)
        ]
    return [(start, length, text, None) for start, length, text in rows]


def _pitches(annotation: Annotation, form: str) -> Iterator[Observation]:
    """Notes, or points of a pitch contour; a frame in which nothing sounds is a point that is not voiced."""
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


def _notes(annotation: Annotation) -> Iterator[Observation]:
    """Notes of patterns; what the namespace demands and we do not know, the morphetic pitch and the staff, is 0."""
    occurrences, notes = annotation.inner_counts
    pattern, owner = rows_of(occurrences), rows_of(notes)
    number = np.arange(len(notes)) - np.repeat(offsets_of(occurrences)[:-1], occurrences)
    onsets, pitches = annotation.columns["onset"].tolist(), annotation.columns["pitch"].tolist()
    for onset, pitch, p, o in zip(onsets, pitches, pattern[owner].tolist(), number[owner].tolist(), strict=True):
        ids = {"pattern_id": p + 1, "occurrence_id": o + 1}
        yield onset, 0.0, {"midi_pitch": pitch, "morph_pitch": 0, "staff": 0, **ids}, None


def _number(label: str) -> float | str | None:
    """A label as a number where it is one, null where it is empty."""
    if not label:
        return None
    try:
        number = float(label)
    except ValueError:
        return label
    return int(number) if number.is_integer() else number


def is_jams(thing: object) -> bool:
    """True if something is a ``jams.JAMS`` or ``jams.Annotation``, without importing jams.

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
    given = [float(one.attrs["duration"]) for one in annotations if "duration" in one.attrs]
    ends = [one.columns[name] for one in annotations for name in ("time", "end", "onset") if name in one.columns]
    return given[0] if given else max((float(end.max()) for end in ends if len(end)), default=0.0)


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


def schema_problems(path: str | Path, max_bytes: int = MAX_BYTES) -> list[Problem]:
    """Breaches of the JAMS schema, or of the schema of an annotation's namespace.

    Returns
    -------
    list of Problem
        Each with its place, such as ``annotations[0].data[12].value``; empty for a valid file.
    """
    data = read_bytes(path, max_bytes)
    try:
        document = json.loads(data, parse_int=parse_whole)
    except RecursionError:
        raise UnreadableError("is nested too deeply for JAMS", path=path) from None
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not JSON: {error}", path=path) from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg}", path=path, line=error.lineno) from None
    return list(_problems(document))


def _problems(document: Any) -> Iterator[Problem]:
    import jams

    annotations = document.get("annotations") if isinstance(document, Mapping) else None
    held = annotations if isinstance(annotations, list) else []
    # The observations are judged by their namespace below; in the frame they would all be listed in one message.
    frame = [{**one, "data": []} if isinstance(one, Mapping) and "data" in one else one for one in held]
    document = {**document, "annotations": frame} if held else document
    yield from _broken(document, jams.schema.JAMS_SCHEMA, "")
    for place, one in enumerate(held):
        if not isinstance(one, Mapping) or "data" not in one or not isinstance(one.get("namespace"), str):
            continue
        where = f"annotations[{place}].data"
        try:
            schema = jams.schema.namespace_array(one["namespace"])
        except jams.NamespaceError:
            yield Problem(f"annotations[{place}].namespace", f"unknown to JAMS: {one['namespace']!r}")
        else:
            yield from _broken(_rows(one["data"]), schema, where)


def _rows(data: Any) -> Any:
    """Observations as a list, also where an old file keeps them in columns."""
    if not isinstance(data, Mapping) or not all(isinstance(column, list) for column in data.values()):
        return data
    return [dict(zip(data, values, strict=False)) for values in zip(*data.values(), strict=False)]


def _broken(instance: Any, schema: Mapping[str, Any], where: str) -> Iterator[Problem]:
    import jams.schema

    for error in jams.schema.VALIDATOR.evolve(schema=schema).iter_errors(instance):
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        yield Problem((where + place).lstrip("."), _short(error))


def _short(error: Any) -> str:
    if error.validator == "pattern":
        return f"not a valid value: {error.instance!r}"
    return error.message if len(error.message) < 200 else f"breaks the rule {error.validator!r}"
