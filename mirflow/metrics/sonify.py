"""Sonify annotations for evaluation by ear: the functions of `mir_eval.sonify`, and one for what mirflow loads.

:func:`annotation` chooses by the kind of an annotation: events, boundaries of segments and tempi become clicks, chords
and keys Shepard tones, melodies a gliding tone, and notes and multiple pitches one tone per pitch. The module needs
mir_eval (the extra ``mir_eval``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import AnnotationError, needs_mir_eval
from .chord.labels import encode_many

try:
    from mir_eval.sonify import chords, chroma, clicks, pitch_contour, time_frequency
except ModuleNotFoundError as error:
    raise needs_mir_eval("sounds of annotations", error) from None

if TYPE_CHECKING:
    import xarray as xr

    from ..annotations.annotation import Annotation
    from ..ragged import Float, Int

    Bars = tuple[Callable[..., Any], Float, Float]
    """A function of mir_eval that sonifies a gram, the gram, and the start and end of each of its columns."""

__all__ = ["annotation", "chords", "chroma", "clicks", "pitch_contour", "time_frequency"]

_LONGEST = 6 * 3600.0  # Longest signal of an annotation in seconds: 3.8 GB at 22,050 Hz
_TEMPO_SECONDS, _KEY_SECONDS = 20.0, 4.0


def annotation(
    given: xr.Dataset | Annotation,
    fs: int = 44100,
    task: str | None = None,
    *,
    length: int | None = None,
    click_frequency: float = 1000.0,
) -> Float:
    """Return an annotation as a signal, according to its kind.

    Events, the boundaries of segments and hierarchies, and tempi (for 20 s) become clicks; chords become Shepard tones,
    and keys their triad for 4 s; notes and multiple pitches become tones, and melodies a gliding tone.

    Parameters
    ----------
    given : xr.Dataset or Annotation
        Annotation, such as the result of ``mirflow.load``.
    fs : int, Hz
        Sampling rate.
    task : str or None
        ``chord`` distinguishes chords from other segments; None: the task with which a dataset was loaded.
    length : int or None, samples
        Length of the signal; None: until the annotation ends.
    click_frequency : float, Hz
        Pitch of clicks.

    Returns
    -------
    float64 (samples,), -1 to 1

    Raises
    ------
    AnnotationError
        For other kinds, such as rankings, and times after six hours.
    InvalidChordException
        If a label of task ``chord`` is not a chord.

    Examples
    --------
    >>> from mirflow.annotations.annotation import Annotation
    >>> beats = Annotation("events", {"time": np.array([0.0, 0.5, 1.0])})
    >>> annotation(beats, 8000).shape
    (8801,)
    """
    from ..annotations.annotation import Annotation
    from ..annotations.labelled import from_dataset

    if not isinstance(given, Annotation):
        task = task or getattr(given, "attrs", {}).get("task")
        given = from_dataset(given)
    form = "chords" if given.kind == "intervals" and task == "chord" else given.schema.drawn_as
    maker = _MAKERS.get(form if form != "text" else given.kind)
    if maker is None:
        raise AnnotationError(f"{given.kind} cannot be sonified; only events, segments, pitches, keys and tempi can")
    times = [given.columns[name] for name in ("time", "start", "end") if name in given.columns]
    latest = max((float(np.max(column)) for column in times if len(column)), default=0.0)
    if not latest <= _LONGEST:
        raise AnnotationError(f"ends at {latest:g} s: signals are at most {_LONGEST / 3600:g} hours long")
    if maker is _clicks:
        blip = np.arange(fs * 0.1)
        blip = np.sin(2 * np.pi * blip * click_frequency / fs) * np.exp(-blip / (fs * 0.01))
        events = _clicks(given)
        signal = clicks(events, fs, blip, length) if len(events) else np.zeros(length or 0)
    elif maker is _contour:
        signal = _contour(given, fs, length)
    elif (bars := maker(given, fs)) is None:
        signal = np.zeros(length or 0)
    else:
        synthesise, gram, spans = bars
        if len(spans) == 1:  # mir_eval fails for a single column, which is given in two halves
            (start, end), gram = spans[0], np.repeat(gram, 2, axis=1)
            spans = np.array([[start, (start + end) / 2], [(start + end) / 2, end]])
        signal = synthesise(gram, times=spans, fs=fs, length=length)
    return np.asarray(signal, dtype=np.float64)


def _clicks(given: Annotation) -> Float:
    """Times of events, of the boundaries of all levels, or of the beats of a tempo."""
    if given.kind == "tempo":
        tempi = given.columns["tempo"][given.columns["tempo"] > 0]
        if not len(tempi):
            return np.zeros(0)
        salience = given.columns.get("salience")
        strongest = int(np.argmax(salience[given.columns["tempo"] > 0])) if salience is not None else 0
        return np.arange(0.0, _TEMPO_SECONDS, 60.0 / float(tempi[strongest]))
    return np.unique(given.columns["time" if "time" in given.columns else "start"])


def _chords(given: Annotation, fs: int) -> Bars | None:
    spans = np.stack([given.columns["start"], given.columns["end"]], axis=1)
    sounding = np.flatnonzero(spans[:, 1] > spans[:, 0])
    labels = [given.labels[index] for index in sounding.tolist()] if given.labels else []
    if not labels:
        return None
    roots, bitmaps, _ = encode_many(labels)
    bars = np.transpose([np.roll(bitmap, root) for bitmap, root in zip(bitmaps, roots, strict=True)])
    return chroma, bars, spans[sounding]


def _key(given: Annotation, fs: int) -> Bars | None:
    from ..theory.keys import MODES, parse_key

    keys = [parse_key(label) for label in given.labels or []]
    named = [key for key in keys if key is not None and key.tonic < 12]
    bars = np.zeros((12, len(named)))
    for column, key in enumerate(named):
        bars[[(key.tonic + step) % 12 for step in _TRIADS.get(MODES[key.mode], (0, 4, 7))], column] = 1.0
    starts = np.arange(len(named)) * _KEY_SECONDS
    return (chroma, bars, np.stack([starts, starts + _KEY_SECONDS], axis=1)) if named else None


_TRIADS = {**dict.fromkeys(("minor", "dorian", "phrygian"), (0, 3, 7)), "locrian": (0, 3, 6), "other": (0, 7)}
"""Semitones above the tonic of modes other than major."""


def _contour(given: Annotation, fs: int, length: int | None) -> Float:
    times, frequencies = given.columns["time"], np.maximum(given.columns["frequency"], 0.0)
    if len(times) < 2:
        return np.zeros(length or 0)
    voicing = given.columns.get("voicing")
    loud = (frequencies > 0) if voicing is None else (frequencies > 0) * np.clip(voicing, 0.0, 1.0)
    return np.asarray(pitch_contour(times, frequencies, fs, amplitudes=loud.astype(np.float64), length=length))


def _notes(given: Annotation, fs: int) -> Bars | None:
    """Sonify notes as a piano roll with a row per quarter of a semitone and a column per interval of boundaries."""
    start, end, pitch = (given.columns[name] for name in ("start", "end", "pitch"))
    velocity = given.columns.get("velocity")
    loud = np.ones(len(start)) if velocity is None else np.where(np.isnan(velocity), 127.0, velocity) / 127.0
    mask = (pitch > 0) & (end > start)
    edges = np.unique(np.concatenate([start[mask], end[mask]]))
    first, last = np.searchsorted(edges, start[mask]), np.searchsorted(edges, end[mask])
    return _roll(pitch[mask], loud[mask], first, last, edges, fs)


def _frames(given: Annotation, fs: int) -> Bars | None:
    """Sonify the pitches of frames, each of which lasts until the next; the last one has the median length."""
    times = given.columns["time"]
    frame = np.repeat(np.arange(len(times)), given.inner_counts[0])
    pitch = given.columns["frequency"]
    hop = float(np.median(np.diff(times))) if len(times) > 1 else 0.01
    edges = np.append(times, times[-1] + hop) if len(times) else np.zeros(0)
    mask = pitch > 0
    return _roll(pitch[mask], np.ones(mask.sum()), frame[mask], frame[mask] + 1, edges, fs)


def _roll(pitch: Float, loud: Float, first: Int, last: Int, edges: Float, fs: int) -> Bars | None:
    """Sonify tones between the edges with the given indices; pitches are rounded to quarters of a semitone."""
    audible = pitch < fs / 2
    pitch, loud, first, last = pitch[audible], loud[audible], first[audible], last[audible]
    if not len(pitch):
        return None
    steps, row = np.unique(np.round(4 * 12 * np.log2(pitch / 440.0)), return_inverse=True)
    gram = np.zeros((len(steps), len(edges)))
    np.add.at(gram, (row, first), loud)
    np.add.at(gram, (row, last), -loud)
    gram = np.clip(np.cumsum(gram, axis=1)[:, :-1], 0.0, 1.0)
    tones = partial(time_frequency, frequencies=440.0 * 2.0 ** (steps / 48))
    return tones, gram, np.stack([edges[:-1], edges[1:]], axis=1)


_MAKERS: dict[str, Callable[..., Any]] = {
    "ticks": _clicks,
    "drums": _clicks,
    "segments": _clicks,
    "levels": _clicks,
    "tempo": _clicks,
    "chords": _chords,
    "key": _key,
    "curve": _contour,
    "notes": _notes,
    "frames": _frames,
}
