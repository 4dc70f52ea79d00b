"""Melodies on one time grid, as the melody metrics read them between their samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.grids import GridSpec, grid_attr, hop_of, names_of
from ...errors import UnknownNameError
from ...kernels.frames import grid_frames
from ...ragged import Float, Ragged
from ..base.flaws import usable
from .cleaning import clean
from .frames import hop_counts, hop_times
from .series import RESAMPLINGS, Series, resample, series_of, to_cents

if TYPE_CHECKING:
    import xarray as xr

_BASE = 10.0
_DECIMALS = 10


def align_series(
    annotations: Sequence[Annotation],
    grid: GridSpec = "union",
    names: Sequence[str] | None = None,
    resampling: str = "linear",
) -> xr.Dataset:
    """A handful of melodies on one time grid.

    Parameters
    ----------
    annotations : sequence of Annotation
        Of kind ``series``; the first is the reference.
    grid : {"union", "reference"} or {"hop": seconds}
        ``union``: all distinct times. ``reference``: the first annotation's. ``hop``: frames at k * hop from 0 to the
        last time.
    names : sequence of str or None
        Values of the coordinate ``annotation``; None: the annotators, systems or file names, else numbers.
    resampling : {"linear", "nearest", "hold"}
        What holds between two samples: a straight line in cents, the nearest one, or the one before. A line leads
        neither into silence nor out of it.

    Returns
    -------
    xr.Dataset
        ``frequency(annotation, time)`` in Hz, 0 where there is no pitch, and ``voicing(annotation, time)`` from 0 to 1:
        a pitch that is only guessed has voicing 0. Behind its last sample a melody is silent; on the grid ``reference``
        its last sample holds as in mir_eval, so that this is what the melody metrics compare.

    Raises
    ------
    AnnotationError
        If a melody cannot be scored, or the grid has too many frames.
    UnknownNameError
        For another resampling.

    Examples
    --------
    >>> a = Annotation("series", {"time": np.array([0.0, 1.0, 2.0]), "frequency": np.array([200.0, 200.0, 0.0])})
    >>> b = Annotation("series", {"time": np.array([0.0, 1.5]), "frequency": np.array([400.0, -400.0])})
    >>> both = align_series([a, b], {"hop": 0.5}, resampling="hold")
    >>> both.frequency.values.tolist()
    [[200.0, 200.0, 200.0, 200.0, 0.0], [400.0, 400.0, 400.0, 400.0, 0.0]]
    >>> both.voicing.values[1].tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    import xarray as xr

    hop = hop_of(grid)
    if resampling not in RESAMPLINGS:
        raise UnknownNameError("resampling", resampling, RESAMPLINGS)
    labels = names_of(annotations) if names is None else list(names)
    rows = [usable(one, clean(to_ragged([one])), label) for one, label in zip(annotations, labels, strict=True)]
    times = _times(rows, grid, hop)
    frequency, voicing = np.zeros((2, len(rows), len(times)))
    for row, one in enumerate(rows):
        if len(one.columns["time"]):
            # Beside the reference's own times mir_eval lets the last sample hold; on a grid of its own nothing does.
            part = _reach(one, times, to_end=grid != "reference")
            frequency[row, part], voicing[row, part] = _sample(one, times[part], resampling)
    variables: dict[str, Any] = {
        "frequency": (("annotation", "time"), frequency, {"long_name": "fundamental frequency", "units": "Hz"}),
        "voicing": (("annotation", "time"), voicing, {"long_name": "degree of voicing"}),
    }
    coords: dict[str, Any] = {"annotation": labels, "time": ("time", times, {"long_name": "time", "units": "s"})}
    return xr.Dataset(variables, coords, {"kind": "series", "grid": grid_attr(grid), "resampling": resampling})


def _times(rows: Sequence[Ragged], grid: GridSpec, hop: float | None) -> Float:
    if hop is None:
        chosen = rows[:1] if grid == "reference" else rows
        return np.unique(np.concatenate([np.round(one.columns["time"], _DECIMALS) for one in chosen]))
    end = max((float(one.columns["time"].max(initial=0.0)) for one in rows), default=0.0)
    grid_frames(end, hop)  # refuses what is too long
    return hop_times(hop_counts(np.array([end]), hop), hop)


def _reach(row: Ragged, times: Float, *, to_end: bool) -> slice:
    """The times at which a melody says something: from its first sample, which also holds from 0 s on, to its last."""
    own = np.round(row.columns["time"], _DECIMALS)
    first = int(np.searchsorted(times, min(float(own[0]), 0.0)))
    return slice(first, int(np.searchsorted(times, own[-1], side="right")) if to_end else len(times))


def _sample(row: Ragged, times: Float, resampling: str) -> tuple[Float, Float]:
    """Frequencies, Hz, and voicing of one melody at some times."""
    if not len(times):
        return np.zeros(0), np.zeros(0)
    only, count = np.zeros(1, dtype=np.int64), np.array([len(times)], dtype=np.int64)
    series = series_of(row, only, _BASE)
    cents, voicing = resample(series, only, times, count, resampling)
    # The samples themselves, so that nothing is rounded by way of cents where nothing is interpolated.
    plain = Series(series.times, _hertz(row, series), series.voicing, series.counts, series.graded)
    held, _ = resample(plain, only, times, count, "hold" if resampling == "linear" else resampling)
    between = np.where(cents == 0, 0.0, _BASE * np.exp2(cents / 1200.0))
    return np.where(to_cents(held, _BASE) == cents, held, between), voicing


def _hertz(row: Ragged, series: Series) -> Float:
    """The frequencies of a series without their signs, laid out as its cents are."""
    own = np.abs(row.columns["frequency"])
    early = int(series.counts[0]) - len(own)  # one more at 0 s where the first is later
    return np.concatenate([own[:1]] * early + [own, np.zeros(1)])
