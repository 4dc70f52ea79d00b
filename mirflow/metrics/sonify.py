"""Sonify annotations for evaluation by ear, under mir_eval's names.

Beats become clicks, chords and chromagrams Shepard tones, pitch contours a gliding tone, and piano rolls one tone per
row. Each function returns a signal between -1 and 1, float64 (samples,). :func:`annotation` chooses by the kind of
annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import AnnotationError
from .pair import documented

if TYPE_CHECKING:
    import xarray as xr

    from ..annotations.annotation import Annotation
    from ..ragged import Float, Int

__all__ = ["annotation", "chords", "chroma", "clicks", "pitch_contour", "time_frequency"]

Waveform = Callable[[Any], Any]
"""A function of the phase in radians with a period of ``2 * pi``."""

_OCTAVES = 7
_LOWEST = 24  # MIDI: the C of the lowest octave of a Shepard tone
_CENTRE, _WIDTH = 72, 6  # MIDI numbers of the bell curve that weights the octaves


_documented = documented(
    """
    Parameters
    ----------
    fs : int, Hz
        Sampling rate.
    function : callable
        Waveform, a vectorised function of the phase.
    length : int or None, samples
        Length of the signal; None: until the last time.
    **kwargs
        Further arguments of :func:`time_frequency`.

    Returns
    -------
    float64 (samples,)
    """,
    strict=False,
)


def _blip(fs: int, frequency: float = 1000.0) -> Float:
    """Make a click: 100 ms of a decaying tone, by default of 1 kHz."""
    samples = np.arange(fs * 0.1)
    tone: Float = np.sin(2 * np.pi * samples * frequency / fs)
    return tone * np.exp(-samples / (fs * 0.01))


@_documented
def clicks(times: npt.ArrayLike, fs: int, click: npt.ArrayLike | None = None, length: int | None = None) -> Float:
    """Return a signal with a click at each time.

    A click replaces the rest of the previous one. The first click that reaches the end of the signal is the last one.

    Parameters
    ----------
    times : float (n,), seconds
    click : float (m,) or None
        Samples of the click; None: 100 ms of a decaying tone of 1 kHz.
    length : int or None, samples
        Length of the signal; None: until the last click has ended.

    Raises
    ------
    ValueError
        If there are neither times nor a length.

    Examples
    --------
    >>> clicks([0.0, 0.3], 10, click=[1.0, 0.5]).tolist()
    [1.0, 0.5, 0.0, 1.0, 0.5, 0.0]
    """
    times = np.asarray(times, dtype=np.float64)
    sound = _blip(fs) if click is None else np.asarray(click, dtype=np.float64)
    if length is None:
        if not times.size:
            raise ValueError("no times: the length of the signal in samples is required")
        length = int(times.max() * fs + len(sound) + 1)
    signal = np.zeros(length)
    for start in (times * fs).astype(np.int64).tolist():
        if start >= length:
            break
        end = start + len(sound)
        signal[start:end] = sound[: length - start]
        if end >= length:
            break
    return signal


@_documented
def time_frequency(
    gram: npt.ArrayLike,
    frequencies: npt.ArrayLike,
    times: npt.ArrayLike,
    fs: int,
    function: Waveform = np.sin,
    length: int | None = None,
    n_dec: int = 1,
    threshold: float = 0.01,
) -> Float:
    """Return a sum of tones whose magnitudes over time are given by a matrix, such as a piano roll.

    Each column lasts until the next one. Magnitudes are smoothed over two periods of their tone. The signal is scaled
    to a maximum of 1.

    Parameters
    ----------
    gram : float (n, m)
        Magnitude of each frequency in each column; negative values are silent.
    frequencies : float (n,), Hz
    times : float (m,) or (m, 2), seconds
        Start of each column, or its interval. If there are m + 1 starts, the last is the end of the last column.
    n_dec : int
        Decimals to which frequencies are rounded.
    threshold : float
        Frequencies whose magnitude never reaches this value are left out.

    Raises
    ------
    ValueError
        If the shapes do not match, or a frequency is not below the sampling rate.

    Examples
    --------
    >>> time_frequency([[1.0, 0.0]], [100.0], [[0.0, 0.1], [0.1, 0.2]], 8000).shape
    (1600,)
    """
    levels, tones = np.asarray(gram, dtype=np.float64), np.asarray(frequencies, dtype=np.float64)
    spans = np.asarray(times, dtype=np.float64)
    columns = spans.ndim == 1
    if columns:
        spans = np.stack([spans[:-1], spans[1:]], axis=1)
    if length is None:
        length = int(spans.max() * fs)
    seconds = length / fs
    if columns and len(spans) != levels.shape[1]:
        spans = np.vstack([spans, [spans.max(), seconds]])
    if len(spans) != levels.shape[1]:
        raise ValueError(f"{len(spans)} times are incompatible with the {levels.shape[1]} columns of gram")
    if len(tones) != len(levels):
        raise ValueError(f"{len(tones)} frequencies are incompatible with the {len(levels)} rows of gram")
    starts, levels = _steps(np.maximum(levels, 0.0), spans, seconds)
    signal = np.zeros(length)
    if not len(starts):
        return signal
    for row in np.flatnonzero(levels.max(axis=1) >= threshold).tolist():
        period = 2 * int(fs / tones[row])
        if not period:
            raise ValueError(f"{tones[row]:g} Hz is above the sampling rate of {fs} Hz")
        _add_tone(signal, _glide(levels[row], starts * fs, period, length), tones[row], n_dec, fs, function)
    loudest = np.abs(signal).max(initial=0.0)
    return signal / loudest if loudest >= np.finfo(np.float64).tiny else signal


def _steps(levels: Float, spans: Float, seconds: float) -> tuple[Float, Float]:
    """Sorted starts of the audible columns, and their levels; silent before the first and after the last."""
    first, last = spans.min(), spans.max()
    silences = (first > 0, [0.0, first]), (last < seconds, [last, seconds])
    before, after = ([span] if lacking else [] for lacking, span in silences)
    spans = np.array([*before, *spans.tolist(), *after])
    levels = np.pad(levels, ((0, 0), (len(before), len(after))))
    inside = (spans[:, 1] >= 0) & (spans[:, 0] <= seconds)
    starts, levels = np.clip(spans[inside, 0], 0, seconds), levels[:, inside]
    if not len(starts):
        return starts, levels
    # The first given column sounds before the first start, and the last given column after the last start.
    order = np.argsort(starts, kind="stable")
    around = np.concatenate([[0.0], starts[order], [np.nextafter(starts[order[-1]], np.inf)]])
    return around, levels[:, [0, *order, -1]]


def _glide(levels: Float, starts: Float, period: int, length: int) -> tuple[Int, Float, Float]:
    """Average a step function over a period around each sample; it is 0 outside of the signal.

    Starts are in samples, ascending, the first at most 0. The result is piecewise linear, so few numbers describe a
    signal of any length: edges of pieces in samples, the value at the first sample of each, and its increment per
    sample.
    """
    first = np.append(np.clip(np.ceil(starts), 0, length).astype(np.int64), length)
    first[0] = 0
    heard = np.diff(first) > 0
    first, levels = np.append(first[:-1][heard], length), levels[heard]
    jumps = np.diff(np.append(levels, 0.0), prepend=0.0)
    # The effect of a step begins half a period earlier, and is complete half a period later.
    rise = first - (period - 1) // 2 - 1
    order = np.argsort(np.concatenate([rise, rise + period]), kind="stable")
    knots = np.concatenate([rise, rise + period])[order]
    done = np.cumsum(order >= len(rise))
    flat = 2 * done == np.arange(1, len(order) + 1)
    slopes = np.where(flat, 0.0, np.cumsum((np.concatenate([jumps, -jumps]) / period)[order]))
    values = np.cumsum(np.append(0.0, slopes[:-1] * np.diff(knots)))
    values[flat] = np.concatenate([[0.0], levels, [0.0]])[done[flat]]
    edges = np.clip(np.append(knots, length), 0, length)
    values += slopes * (edges[:-1] - knots)
    kept = np.diff(edges) > 0
    return np.append(edges[:-1][kept], length), values[kept], slopes[kept]


def _add_tone(
    signal: Float, pieces: tuple[Int, Float, Float], frequency: float, n_dec: int, fs: int, function: Waveform
) -> None:
    """Add a tone to a signal while it sounds; its rounded frequency repeats after a number of samples."""
    edges, values, slopes = pieces
    stretch = int(10.0**n_dec * fs)
    wave = function(2.0 * np.pi * np.arange(min(stretch, len(signal))) * np.round(frequency, n_dec) / fs)
    changes = np.flatnonzero(np.diff((values != 0) | (slopes != 0), prepend=False, append=False))
    for low, high in changes.reshape(-1, 2).tolist():
        begin, lengths = int(edges[low]), np.diff(edges[low : high + 1])
        magnitude = np.repeat(values[low:high], lengths)
        for piece in (low + np.flatnonzero(slopes[low:high])).tolist():
            there = slice(edges[piece] - begin, edges[piece + 1] - begin)
            magnitude[there] += slopes[piece] * np.arange(there.stop - there.start)
        while len(magnitude):
            part = wave[begin % stretch :][: len(magnitude)]
            signal[begin : begin + len(part)] += part * magnitude[: len(part)]
            begin, magnitude = begin + len(part), magnitude[len(part) :]


@_documented
def pitch_contour(
    times: npt.ArrayLike,
    frequencies: npt.ArrayLike,
    fs: int,
    amplitudes: npt.ArrayLike | None = None,
    function: Waveform = np.sin,
    length: int | None = None,
    kind: str = "linear",
) -> Float:
    """Return a tone that follows a pitch contour.

    Unvoiced frames have frequency 0: the pitch glides to 0 and back, and the signal is constant.

    Parameters
    ----------
    times : float (n,), seconds
    frequencies : float (n,), Hz
        Frequencies; 0, negative or NaN: unvoiced.
    amplitudes : float (n,) or None
        Amplitudes; None: 1.
    kind : str
        Interpolation of frequencies and amplitudes, as in :class:`scipy.interpolate.interp1d`.

    Examples
    --------
    >>> pitch_contour([0.0, 0.5], [440.0, 220.0], 8000).shape
    (4000,)
    """
    at = np.asarray(times, dtype=np.float64)
    if length is None:
        length = int(at.max() * fs)
    voiced = np.nan_to_num(np.maximum(np.asarray(frequencies, dtype=np.float64), 0.0))
    samples = np.arange(length)
    tone: Float = function(np.cumsum(_interpolate(samples, at * float(fs), 2 * np.pi * voiced / float(fs), kind)))
    if amplitudes is None:
        return tone
    return _interpolate(samples, at * float(fs), np.asarray(amplitudes, dtype=np.float64), kind) * tone


def _interpolate(samples: npt.NDArray[np.int64], at: Float, values: Float, kind: str) -> Float:
    """Interpolate values between samples; 0 outside of them."""
    if not len(samples):
        return np.zeros(0)
    if kind == "linear":
        order = np.argsort(at, kind="stable")
        return np.interp(samples, at[order], values[order], left=0.0, right=0.0)
    from scipy.interpolate import interp1d

    interpolated: Float = interp1d(at, values, kind=kind, fill_value=0.0, bounds_error=False)(samples)
    return interpolated


@_documented
def chroma(chromagram: npt.ArrayLike, times: npt.ArrayLike, fs: int, **kwargs: Any) -> Float:
    """Return a chromagram as Shepard tones: each pitch class in seven octaves, loudest in the middle.

    Parameters
    ----------
    chromagram : float (12, m)
        Magnitude of each pitch class, starting at C, in each column.
    times : float (m,) or (m, 2), seconds
        See :func:`time_frequency`.

    Raises
    ------
    ValueError
        If the chromagram does not have 12 rows, and as in :func:`time_frequency`.

    Examples
    --------
    >>> chroma(np.eye(12)[:, :2], [0.0, 0.1, 0.2], 8000).shape
    (1600,)
    """
    magnitudes = np.asarray(chromagram, dtype=np.float64)
    if len(magnitudes) != 12:
        raise ValueError(f"a chromagram must have 12 rows, one per pitch class starting at C; got {len(magnitudes)}")
    notes = np.arange(12 * _OCTAVES) + _LOWEST
    bell = np.exp(-((notes - _CENTRE) ** 2.0) / (2.0 * _WIDTH**2.0))
    gram = np.tile(magnitudes, (_OCTAVES, 1)) * bell[:, np.newaxis]
    return time_frequency(gram, 440.0 * (2.0 ** ((notes - 69) / 12.0)), times, fs, **kwargs)


@_documented
def chords(chord_labels: Sequence[str], intervals: npt.ArrayLike, fs: int, **kwargs: Any) -> Float:
    """Return chords as Shepard tones; each chord lasts until the next one, and N and X are silent.

    Parameters
    ----------
    chord_labels : sequence of str (n,)
        Chords in Harte's notation.
    intervals : float (n, 2), seconds

    Raises
    ------
    InvalidChordException
        If a label is not a chord.
    ValueError
        If the intervals are invalid, and as in :func:`time_frequency`.

    Examples
    --------
    >>> chords(["C:maj", "N"], [[0.0, 0.1], [0.1, 0.2]], 8000).shape
    (1600,)
    """
    from .chord import encode_many
    from .util import validate_intervals

    spans = np.asarray(intervals, dtype=np.float64)
    validate_intervals(spans)
    roots, bitmaps, _ = encode_many(chord_labels)
    sounding = [np.roll(bitmap, root) for bitmap, root in zip(bitmaps, roots, strict=True)]
    return chroma(np.transpose(sounding), spans, fs, **kwargs)


_LONGEST = 6 * 3600.0
"""Longest signal of an annotation in seconds: 3.8 GB at 22,050 Hz."""
_TEMPO_SECONDS, _KEY_SECONDS = 20.0, 4.0


@_documented
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
    task : str or None
        ``chord`` distinguishes chords from other segments; None: the task with which a dataset was loaded.
    length : int or None, samples
        Length of the signal; None: until the annotation ends.
    click_frequency : float, Hz
        Pitch of clicks.

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
        return clicks(_clicks(given), fs, _blip(fs, click_frequency), length)
    return maker(given, fs, length)


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


def _chords(given: Annotation, fs: int, length: int | None) -> Float:
    spans = np.stack([given.columns["start"], given.columns["end"]], axis=1)
    sounding = np.flatnonzero(spans[:, 1] > spans[:, 0])
    labels = [given.labels[index] for index in sounding.tolist()] if given.labels else []
    return chords(labels, spans[sounding], fs, length=length) if labels else np.zeros(length or 0)


def _key(given: Annotation, fs: int, length: int | None) -> Float:
    from ..theory.keys import MODES, parse_key

    keys = [parse_key(label) for label in given.labels or []]
    named = [key for key in keys if key is not None and key.tonic < 12]
    bars = np.zeros((12, len(named)))
    for column, key in enumerate(named):
        bars[[(key.tonic + step) % 12 for step in _TRIADS.get(MODES[key.mode], (0, 4, 7))], column] = 1.0
    starts = np.arange(len(named)) * _KEY_SECONDS
    spans = np.stack([starts, starts + _KEY_SECONDS], axis=1)
    return chroma(bars, spans, fs, length=length) if named else np.zeros(length or 0)


_TRIADS = {**dict.fromkeys(("minor", "dorian", "phrygian"), (0, 3, 7)), "locrian": (0, 3, 6), "other": (0, 7)}
"""Semitones above the tonic of modes other than major."""


def _contour(given: Annotation, fs: int, length: int | None) -> Float:
    times, frequencies = given.columns["time"], np.maximum(given.columns["frequency"], 0.0)
    if not len(times):
        return np.zeros(length or 0)
    voicing = given.columns.get("voicing")
    loud = (frequencies > 0) if voicing is None else (frequencies > 0) * np.clip(voicing, 0.0, 1.0)
    return pitch_contour(times, frequencies, fs, amplitudes=loud.astype(np.float64), length=length)


def _notes(given: Annotation, fs: int, length: int | None) -> Float:
    """Sonify notes as a piano roll with a row per quarter of a semitone and a column per interval of boundaries."""
    start, end, pitch = (given.columns[name] for name in ("start", "end", "pitch"))
    velocity = given.columns.get("velocity")
    loud = np.ones(len(start)) if velocity is None else np.where(np.isnan(velocity), 127.0, velocity) / 127.0
    kept = (pitch > 0) & (end > start)
    edges = np.unique(np.concatenate([start[kept], end[kept]]))
    first, last = np.searchsorted(edges, start[kept]), np.searchsorted(edges, end[kept])
    return _roll(pitch[kept], loud[kept], first, last, edges, fs, length)


def _frames(given: Annotation, fs: int, length: int | None) -> Float:
    """Sonify the pitches of frames, each of which lasts until the next; the last one has the median length."""
    times = given.columns["time"]
    frame = np.repeat(np.arange(len(times)), given.inner_counts[0])
    pitch = given.columns["frequency"]
    hop = float(np.median(np.diff(times))) if len(times) > 1 else 0.01
    edges = np.append(times, times[-1] + hop) if len(times) else np.zeros(0)
    kept = pitch > 0
    return _roll(pitch[kept], np.ones(kept.sum()), frame[kept], frame[kept] + 1, edges, fs, length)


def _roll(pitch: Float, loud: Float, first: Int, last: Int, edges: Float, fs: int, length: int | None) -> Float:
    """Sonify tones between the edges with the given indices; pitches are rounded to quarters of a semitone."""
    if not len(pitch):
        return np.zeros(length or 0)
    steps, row = np.unique(np.round(4 * 12 * np.log2(pitch / 440.0)), return_inverse=True)
    gram = np.zeros((len(steps), len(edges)))
    np.add.at(gram, (row, first), loud)
    np.add.at(gram, (row, last), -loud)
    gram = np.clip(np.cumsum(gram, axis=1)[:, :-1], 0.0, 1.0)
    spans = np.stack([edges[:-1], edges[1:]], axis=1)
    return time_frequency(gram, 440.0 * 2.0 ** (steps / 48), spans, fs, length=length)


_MAKERS: dict[str, Callable[..., Float]] = {
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
