"""Opening a result store for questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .generations import from_current
from .reading import open_checked, reading

if TYPE_CHECKING:
    import xarray as xr


def open_store(path: str | Path) -> xr.DataTree:
    """A result store as a lazy tree, one group an evaluation.

    The tree belongs to the generation that is current now: a run that publishes meanwhile does not change it, and
    opening again shows the new one. A tree that is still held after two such runs raises when it is read.

    Parameters
    ----------
    path : str or path
        The store, or a plain copy of one.

    Returns
    -------
    xarray.DataTree
        Values are read when they are asked for; no dask.

    Raises
    ------
    StoreError
        If nothing is there, or not a result store, or one of a later version, or a damaged one.

    Examples
    --------
    >>> import tempfile
    >>> from mirflow.store.writer import StoreWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(Path(folder) / "x.zarr") as writer:
    ...         _ = writer.publish([], {"name": "demo"})
    ...     open_store(Path(folder) / "x.zarr").attrs["name"]
    'demo'
    """
    return from_current(path, lambda folder: _open(folder, path))


def _open(folder: Path, path: str | Path) -> xr.DataTree:
    with reading(path):
        open_checked(folder, path)
        import xarray as xr

        from .backends import GenerationStore

        # xarray takes any Zarr store, though its types say paths and files.
        store: Any = GenerationStore(folder)
        return xr.open_datatree(store, engine="zarr", chunks=None)
