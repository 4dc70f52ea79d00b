"""Conversion of annotations to labelled datasets and back; samples of audio are read lazily."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import AnnotationError
from ..ragged import Column, Float, Int
from .account import ACCOUNT, read_account, write_account
from .annotation import DTYPES, Annotation, Attribute, as_items, texts_at
from .audio import Signal, unlike
from .schema import KINDS

if TYPE_CHECKING:
    import xarray as xr


def to_dataset(annotation: Annotation) -> xr.Dataset:
    """Convert an annotation to a labelled dataset with units; counts of nested kinds are variables ``<dim>_size``.

    The account of its reader, if it has remarks, is the attribute ``account``, with a line for each remark. Audio
    becomes ``amplitude(source, channel, sample)``, which is read lazily.
    """
    import xarray as xr

    if annotation.kind == "audio":
        signals: list[Signal] = list(annotation.columns["signal"])
        names = annotation.labels or [f"source {number}" for number in range(len(signals))]
        where = annotation.attrs.get("source")
        path = None if where is None else str(where)
        if not signals:
            raise AnnotationError("has no sources", path=path)
        why = unlike(signals, names)
        if why is not None:
            raise AnnotationError(why, path=path)

        from ..lazy_array import lazy_variable

        attrs = {"long_name": AMPLITUDE, "units": "1"}
        samples = _Samples(signals)
        lazy = lazy_variable(DIMS, samples.shape, np.float64, samples.read, attrs)
        coords = {} if annotation.labels is None else {"source": ("source", annotation.labels, {"long_name": "source"})}
        about = {"kind": annotation.kind, **annotation.attrs, RATE: signals[0].rate, f"{RATE}_units": "Hz"}
        return xr.Dataset({AMPLITUDE: lazy}, coords, about)

    kind = annotation.schema
    variables: dict[str, tuple[str, Any, dict[str, str]]] = {}
    for outer, inner, counts in zip(kind.dims, kind.dims[1:], annotation.inner_counts, strict=False):
        variables[f"{inner}_size"] = (outer, counts, {"long_name": f"number of {inner}s", "sample_dimension": inner})
    for variable in kind.variables:
        values: Any = annotation.columns.get(variable.name)
        if variable.name == "label" and annotation.labels is not None:
            values = texts_at(annotation.labels)
        if values is not None:
            dim = kind.dims[(variable.depth or len(kind.dims)) - 1]
            units = {} if variable.units is None else {"units": variable.units}
            variables[variable.name] = (dim, values, {"long_name": variable.long_name, **units})
    told = {ACCOUNT: write_account(annotation.account)} if annotation.account else {}
    return xr.Dataset(variables, attrs={"kind": kind.name, **annotation.attrs, **told})


def from_dataset(dataset: xr.Dataset) -> Annotation:
    """Convert a labelled dataset of a reader or of the user to plain columns.

    Audio has a floating point ``amplitude`` over ``source``, ``sample`` and optionally ``channel``, the attribute
    ``rate`` in Hz, and optionally names of the sources as coordinate ``source``.
    """
    if not hasattr(dataset, "data_vars"):
        raise AnnotationError(f"not an annotation: {type(dataset).__name__}; mirflow.annotation makes one")
    name = str(dataset.attrs.get("kind"))
    if name not in KINDS:
        raise AnnotationError(f"not an annotation: unknown kind {name!r}: choose from {', '.join(KINDS)}")
    if name == "audio":
        if AMPLITUDE not in dataset.data_vars:
            raise AnnotationError(f"audio needs a variable {AMPLITUDE!r} over {', '.join(DIMS)}")
        amplitude = dataset[AMPLITUDE].variable
        if not {"source", "sample"} <= set(amplitude.dims) <= set(DIMS):
            raise AnnotationError(
                f"{AMPLITUDE} has the dims {', '.join(map(str, amplitude.dims))}, not {', '.join(DIMS)}"
            )
        if amplitude.dtype.kind != "f":
            raise AnnotationError(
                f"invalid dtype {amplitude.dtype} of {AMPLITUDE}: expected floating point, from -1 to 1"
            )
        given = dataset.attrs.get(RATE, dataset[AMPLITUDE].attrs.get(RATE))
        try:
            rate = float(given)  # type: ignore[arg-type]  # raises for None, too
        except (TypeError, ValueError):
            rate = 0.0
        if not (np.isfinite(rate) and rate > 0):
            raise AnnotationError(f"invalid rate {given!r}: expected the sampling rate in Hz as attribute {RATE!r}")
        signals = [_LabelledSignal(amplitude.isel(source=number), rate) for number in range(amplitude.sizes["source"])]
        labels = [str(name) for name in dataset["source"].values] if "source" in dataset.coords else None
        known = ("kind", RATE, f"{RATE}_units")
        attrs: dict[str, Attribute] = {str(key): value for key, value in dataset.attrs.items() if key not in known}
        return Annotation("audio", {"signal": as_items(signals)}, labels, lines=(), attrs=attrs)
    kind = KINDS[name]
    sizes = [f"{dim}_size" for dim in kind.dims[1:]]
    missing = [variable for variable in (*kind.required, *sizes) if variable not in dataset.variables]
    if missing:
        raise AnnotationError(f"an annotation of kind {name!r} needs the variables {', '.join(missing)}")
    dtypes = {v.name: v.dtype for v in kind.variables if v.name != "label" and v.name in dataset.variables}
    columns: dict[str, Column] = {
        name: np.asarray(dataset[name].values, dtype=DTYPES[dtype]) for name, dtype in dtypes.items()
    }
    labels = [str(label) for label in dataset["label"].values] if "label" in dataset.variables else None
    inner: tuple[Int, ...] = ()
    for dim in kind.dims[1:]:
        held = dataset[f"{dim}_size"].values  # perhaps floats, after alignment or in files of other programs
        if held.dtype.kind not in "iuf" or not ((held >= 0) & (held < 2**53) & (held == np.floor(held))).all():
            raise AnnotationError(f"{dim}_size must contain whole numbers of at least 0")
        counts = held.astype(np.int64)
        inner += (counts,)
        if int(counts.sum()) != dataset.sizes[dim]:
            raise AnnotationError(f"{dim}_size counts {int(counts.sum())} {dim}s, but there are {dataset.sizes[dim]}")
    attrs = {str(key): value for key, value in dataset.attrs.items() if key not in ("kind", ACCOUNT)}
    account = read_account(str(dataset.attrs.get(ACCOUNT, "")))
    return Annotation(name, columns, labels, inner, attrs=attrs, account=account)


AMPLITUDE = "amplitude"
RATE = "rate"
DIMS = ("source", "channel", "sample")
Place = int | slice | Int


class _Samples:
    """Samples of several signals with equal shapes: (sources, channels, samples), read piece by piece."""

    def __init__(self, signals: Sequence[Signal]) -> None:
        self.signals = tuple(signals)
        self.shape = (len(signals), signals[0].channels, signals[0].frames)

    def read(self, key: tuple[Place, ...]) -> Column:
        """Read samples at an outer product of indices."""
        source, channel, sample = key
        chosen = [self.signals[index] for index in np.atleast_1d(np.arange(len(self.signals))[source])]
        # The smallest span of samples that contains all of the key, and their indices in it.
        within: Place
        if isinstance(sample, np.ndarray):
            low = int(sample.min(initial=self.shape[2]))
            end, within = int(sample.max(initial=low - 1)) + 1, sample - low
        elif isinstance(sample, slice):
            places = range(self.shape[2])[sample]
            low, end = (min(places[0], places[-1]), max(places[0], places[-1]) + 1) if places else (0, 0)
            within = slice(None, None, places.step)
        else:
            low = range(self.shape[2])[sample]
            end, within = low + 1, 0
        read = np.empty((len(chosen), self.shape[1], end - low))
        for row, signal in zip(read, chosen, strict=True):
            row[...] = signal.read(low, end)
        whole: Column = read[:, channel][..., within]
        return whole if isinstance(source, slice | np.ndarray) else whole[0]


class _LabelledSignal:
    """One source of a labelled array ``(channel, sample)`` as a signal; lazy arrays are computed piece by piece.

    `amplitude` is floating point, with the dim ``sample`` and optionally ``channel``.
    """

    __slots__ = ("_amplitude", "channels", "frames", "rate")

    def __init__(self, amplitude: xr.Variable, rate: float) -> None:
        self._amplitude, self.rate = amplitude, rate
        self.channels, self.frames = int(amplitude.sizes.get("channel", 1)), int(amplitude.sizes["sample"])

    def read(self, start: int, stop: int) -> Float:
        """Read samples `start` to `stop` of all channels: float64 (channels, stop - start)."""
        piece = self._amplitude.isel(sample=slice(start, stop)).transpose(..., "sample")
        return np.ascontiguousarray(np.atleast_2d(piece.to_numpy()), dtype=np.float64)
