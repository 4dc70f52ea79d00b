"""Recorded signals, read piece by piece, and as one labelled array that reads samples when they are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from ..errors import AnnotationError
from ..ragged import Column, Float
from .annotation import Annotation, Attribute


@runtime_checkable
class Signal(Protocol):
    """One recorded source: a file, or an array that is held in memory. Immutable and picklable."""

    @property
    def rate(self) -> float:
        """Samples a second, Hz."""
        ...

    @property
    def channels(self) -> int:
        """Number of channels."""
        ...

    @property
    def frames(self) -> int:
        """Number of samples of each channel."""
        ...

    def read(self, start: int, stop: int) -> Float:
        """Samples `start` to `stop` of all channels, 0 <= start <= stop <= frames: float64 (channels, stop - start)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class HeldSignal:
    """A signal in memory.

    Parameters
    ----------
    amplitude : float (channels, frames)
    rate : float
        Hz.

    Examples
    --------
    >>> HeldSignal(np.array([[0.0, 0.5, 1.0]]), 8000.0).read(1, 3).tolist()
    [[0.5, 1.0]]
    """

    amplitude: Float
    rate: float

    def __post_init__(self) -> None:
        if self.amplitude.ndim != 2:
            raise AnnotationError(f"a signal has channels and samples, not {self.amplitude.ndim} dims")

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self.amplitude.shape[0])

    @property
    def frames(self) -> int:
        """Number of samples of each channel."""
        return int(self.amplitude.shape[1])

    def read(self, start: int, stop: int) -> Float:
        """Samples `start` to `stop` of all channels: float64 (channels, stop - start)."""
        return np.asarray(self.amplitude[:, start:stop], dtype=np.float64)


def signal_column(signals: Sequence[Signal]) -> Column:
    """Signals as a column of rows: an object array (signals,).

    Examples
    --------
    >>> signal_column([HeldSignal(np.zeros((1, 4)), 8000.0)]).shape
    (1,)
    """
    column = np.empty(len(signals), dtype=object)
    column[:] = list(signals)
    return column


def unlike(signals: Sequence[Signal], names: Sequence[str]) -> str | None:
    """In what signals differ that have to have one rate, length and number of channels; None where they do not.

    Examples
    --------
    >>> unlike([HeldSignal(np.zeros((1, 4)), 8000.0), HeldSignal(np.zeros((2, 4)), 8000.0)], ["bass", "voice"])
    'sources differ in their channels: bass has 1, voice has 2'
    """
    for what, unit, values in (
        ("rate", " Hz", [f"{signal.rate:g}" for signal in signals]),
        ("channels", "", [str(signal.channels) for signal in signals]),
        ("length", " samples", [str(signal.frames) for signal in signals]),
    ):
        for name, value in zip(names, values, strict=True):
            if value != values[0]:
                return f"sources differ in their {what}: {names[0]} has {values[0]}{unit}, {name} has {value}{unit}"
    return None


def seconds_of(signals: Sequence[Signal]) -> float:
    """Length of the longest of some signals in seconds; 0 where there is none."""
    return max((signal.frames / signal.rate for signal in signals), default=0.0)


PIECE = 2**18
"""Samples that are looked at together."""


def first_not_finite(signal: Signal) -> int | None:
    """The first sample that is no number, or infinite, in any channel; None where there is none.

    Examples
    --------
    >>> first_not_finite(HeldSignal(np.array([[0.0, np.nan, 1.0]]), 8000.0))
    1
    """
    for start in range(0, signal.frames, PIECE):
        piece = signal.read(start, min(start + PIECE, signal.frames))
        wrong = ~np.isfinite(piece).all(axis=0)
        if wrong.any():
            return start + int(wrong.argmax())
    return None


def is_silent(signal: Signal) -> bool:
    """Whether all samples are 0.

    Examples
    --------
    >>> is_silent(HeldSignal(np.zeros((2, 100)), 8000.0))
    True
    """
    pieces = (signal.read(start, min(start + PIECE, signal.frames)) for start in range(0, signal.frames, PIECE))
    return not any(piece.any() for piece in pieces)


AMPLITUDE = "amplitude"
RATE = "rate"
DIMS = ("source", "channel", "sample")


class _Samples(BackendArray):
    """The samples of several signals that are alike: (sources, channels, samples), read piece by piece."""

    def __init__(self, signals: Sequence[Signal]) -> None:
        self.signals = tuple(signals)
        self.shape = (len(signals), signals[0].channels, signals[0].frames)
        self.dtype = np.dtype(np.float64)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.BASIC
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[int | slice, ...]) -> Column:
        source, channel, sample = key
        chosen = self.signals[source] if isinstance(source, slice) else (self.signals[source],)
        span, within = _span(sample, self.shape[2])
        read = np.empty((len(chosen), self.shape[1], span.stop - span.start))
        for row, signal in zip(read, chosen, strict=True):
            row[...] = signal.read(span.start, span.stop)
        whole: Column = read[:, channel, ..., within]
        return whole if isinstance(source, slice) else whole[0]


def _span(key: int | slice, size: int) -> tuple[slice, int | slice]:
    """The one stretch of samples that holds all that are asked for, and where they are in it."""
    if not isinstance(key, slice):
        start = range(size)[key]
        return slice(start, start + 1), 0
    places = range(size)[key]
    if not len(places):
        return slice(0, 0), slice(0, 0)
    low, high = min(places[0], places[-1]), max(places[0], places[-1])
    return slice(low, high + 1), slice(None, None, places.step)


class LabelledSignal:
    """One source of a labelled array ``(channel, sample)`` as a signal; lazy arrays are computed piece by piece.

    Parameters
    ----------
    amplitude : xr.Variable
        Floating point, with the dim ``sample`` and perhaps ``channel``.
    rate : float
        Hz.
    """

    __slots__ = ("_amplitude", "_rate")

    def __init__(self, amplitude: xr.Variable, rate: float) -> None:
        self._amplitude, self._rate = amplitude, rate

    @property
    def rate(self) -> float:
        """Samples a second, Hz."""
        return self._rate

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self._amplitude.sizes.get("channel", 1))

    @property
    def frames(self) -> int:
        """Number of samples of each channel."""
        return int(self._amplitude.sizes["sample"])

    def read(self, start: int, stop: int) -> Float:
        """Samples `start` to `stop` of all channels: float64 (channels, stop - start)."""
        piece = self._amplitude.isel(sample=slice(start, stop)).transpose(..., "sample")
        return np.ascontiguousarray(np.atleast_2d(piece.to_numpy()), dtype=np.float64)


def audio_dataset(annotation: Annotation) -> xr.Dataset:
    """Signals as a dataset ``amplitude(source, channel, sample)``; no sample is read before it is looked at.

    Raises
    ------
    AnnotationError
        If there is no source, or they are not of one length, rate and number of channels.
    """
    signals: list[Signal] = list(annotation.columns["signal"])
    names = annotation.labels or [f"source {place}" for place in range(len(signals))]
    where = annotation.attrs.get("source")
    path = None if where is None else str(where)
    if not signals:
        raise AnnotationError("has no sources", path=path)
    why = unlike(signals, names)
    if why is not None:
        raise AnnotationError(why, path=path)
    attrs = {"long_name": AMPLITUDE, "units": "1"}
    lazy = xr.Variable(DIMS, indexing.LazilyIndexedArray(_Samples(signals)), attrs)
    coords = {} if annotation.labels is None else {"source": ("source", annotation.labels, {"long_name": "source"})}
    about = {"kind": annotation.kind, **annotation.attrs, RATE: signals[0].rate, f"{RATE}_units": "Hz"}
    return xr.Dataset({AMPLITUDE: lazy}, coords, about)


def audio_annotation(dataset: xr.Dataset) -> Annotation:
    """The signals of a dataset: that of a reader, or one of the user's own.

    Parameters
    ----------
    dataset : xr.Dataset
        ``amplitude`` over ``source``, ``sample`` and perhaps ``channel``, floating point, with the attribute ``rate``
        in Hz; the coordinate ``source``, if there is one, names the sources.

    Raises
    ------
    AnnotationError
        If that is not what it holds.
    """
    if AMPLITUDE not in dataset.data_vars:
        raise AnnotationError(f"sound needs a variable {AMPLITUDE!r} over {', '.join(DIMS)}")
    amplitude = dataset[AMPLITUDE].variable
    if not {"source", "sample"} <= set(amplitude.dims) <= set(DIMS):
        raise AnnotationError(f"{AMPLITUDE} lies over {', '.join(map(str, amplitude.dims))}, not {', '.join(DIMS)}")
    if amplitude.dtype.kind != "f":
        raise AnnotationError(f"{AMPLITUDE} has to be floating point, from -1 to 1, not {amplitude.dtype}")
    rate = _rate(dataset)
    signals = [LabelledSignal(amplitude.isel(source=place), rate) for place in range(amplitude.sizes["source"])]
    labels = [str(name) for name in dataset["source"].values] if "source" in dataset.coords else None
    own = ("kind", RATE, f"{RATE}_units")
    attrs: dict[str, Attribute] = {str(key): value for key, value in dataset.attrs.items() if key not in own}
    return Annotation("audio", {"signal": signal_column(signals)}, labels, lines=(), attrs=attrs)


def _rate(dataset: xr.Dataset) -> float:
    told = dataset.attrs.get(RATE, dataset[AMPLITUDE].attrs.get(RATE))
    try:
        rate = float(told)  # type: ignore[arg-type]  # None too: it is no number, as others are not
    except (TypeError, ValueError):
        rate = 0.0
    if not (np.isfinite(rate) and rate > 0):
        raise AnnotationError(f"sound needs the attribute {RATE!r}, samples a second in Hz, not {told!r}")
    return rate
