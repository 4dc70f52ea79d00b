"""The tree of a store, its datasets in types that all operations of xarray, pandas and netCDF take.

Zarr gives text as numpy's ``StringDType``, which has no common type with NaN, so that xarray can neither mask nor join
it; as objects it can. This module imports xarray, so that its arrays can be sent to other processes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import xarray as xr

from ..lazy_array import lazy_variable
from .format import Array, plain_attrs, usable_text

FINGERPRINTS = "stamp"
"""Of the files' sizes and times: read by the next run alone, and too long for the integers of netCDF 3."""


def usable_tree(tree: xr.DataTree) -> xr.DataTree:
    """A store's tree with text and attributes that everything takes; values are still read when they are asked for.

    Parameters
    ----------
    tree : xr.DataTree
    """
    return xr.DataTree.from_dict({node.path: _usable(node.to_dataset(inherit=False)) for node in tree.subtree})


def _usable(ds: xr.Dataset) -> xr.Dataset:
    ds = ds.drop_vars(FINGERPRINTS, errors="ignore")
    texts = [str(name) for name, variable in ds.variables.items() if variable.dtype.kind == "T"]
    labels = {name: (name, usable_text(ds[name].values)) for name in texts if name in ds.indexes}
    along = {name: _lazily(ds.variables[name]) for name in texts if name in ds.coords and name not in labels}
    cells = {name: _lazily(ds.variables[name]) for name in texts if name in ds.data_vars}
    used = ds.assign_coords({**labels, **along}).assign(cells)
    used.attrs = plain_attrs(ds.attrs)
    return used


def _lazily(stored: xr.Variable) -> xr.Variable:
    dims = tuple(map(str, stored.dims))
    return lazy_variable(dims, stored.shape, object, partial(_read_texts, stored), stored.attrs)


def _read_texts(stored: xr.Variable, key: tuple[Any, ...]) -> Array:
    return usable_text(stored[key].values)
