"""Variables of xarray that are read on access, and of numpy arrays that are made without importing ``dask.array``.

Importing this module imports xarray.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.conventions import decode_cf_variable

Read = Callable[[tuple[Any, ...]], np.ndarray[Any, Any]]
"""(for each dim an int, a slice or int64 places) -> values of the product of them, without the dims of ints."""


@dataclass(eq=False)
class _Unread(BackendArray):
    shape: tuple[int, ...]
    read: Read
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def __getitem__(self, key: Any) -> Any:
        if type(key).__name__ != "VectorizedIndexer":
            return self.read(key.tuple)
        # Vectorized indexing: read the product of the positions, then select the points.
        places, at = zip(*(np.unique(one, return_inverse=True) for one in key.tuple), strict=True)
        return self.read(places)[at]


def lazy_variable(
    dims: Sequence[str], shape: tuple[int, ...], dtype: Any, read: Read, attrs: Mapping[Any, Any] | None = None
) -> xr.Variable:
    """A variable that is read on access; only the selection is read. `read` reads a product of places."""
    array = _Unread(shape, read)
    # With nothing to decode, it only makes arrays lazy.
    without = {"concat_characters": False, "mask_and_scale": False, "decode_times": False, "decode_timedelta": False}
    variable: xr.Variable = decode_cf_variable("values", plain_variable(dims, array), **without)
    array.dtype = np.dtype(dtype)  # set last: xarray would read objects to look for dates
    variable.attrs, variable.encoding = dict(attrs or {}), {}
    return variable


def plain_variable(dims: Sequence[Hashable], values: Any, attrs: Mapping[Any, Any] | None = None) -> xr.Variable:
    """A variable of a numpy array, made without importing ``dask.array``. ``xr.Variable(dims, values)``, or a tuple
    passed to a dataset, imports ``dask.array`` to check the type of the values, which takes as long as importing
    xarray. Dates are converted as usual."""
    return xr.Variable(dims, values, dict(attrs or {}), fastpath=values.dtype.kind not in "mM")


def plain_dataset(
    variables: Mapping[str, Sequence[Any]], coords: Mapping[str, Any], attrs: Mapping[Any, Any] | None = None
) -> xr.Dataset:
    """Make a dataset of numpy arrays without importing ``dask.array``; a coordinate alone lies along the dim of its
    name."""
    along = {name: coord if isinstance(coord, tuple) else (name, coord) for name, coord in coords.items()}
    plain = {name: plain_variable((dim,), values) for name, (dim, values) in along.items()}
    return xr.Dataset({name: plain_variable(*variable) for name, variable in variables.items()}, plain, attrs)
