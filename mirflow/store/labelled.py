"""The datasets of a store in types that all operations of xarray, pandas and netCDF take.

Zarr gives text as numpy's ``StringDType``, which has no common type with NaN, so that xarray can neither mask nor join
it; as objects it can. This module imports xarray, so that its arrays can be sent to other processes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from .format import Array, plain_attrs, usable_text

FINGERPRINTS = "stamp"
"""Of the files' sizes and times: read by the next run alone, and too long for the integers of netCDF 3."""


class Texts(BackendArray):
    """Text of a store that is read when it is asked for.

    Parameters
    ----------
    stored : xr.Variable
    """

    def __init__(self, stored: xr.Variable) -> None:
        self.stored = stored
        self.shape = stored.shape
        self.dtype = np.dtype(object)

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> Array:
        return usable_text(self.stored[key].values)


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
    return xr.Variable(stored.dims, indexing.LazilyIndexedArray(Texts(stored)), stored.attrs)
