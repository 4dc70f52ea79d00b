"""The ``.mirflow`` accessor on datasets and trees: questions to a store from xarray."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ..annotations.collection import Collection, from_dataset
from .query import aggregate as aggregate_group
from .query import coverage, query
from .question import Names, Options

if TYPE_CHECKING:
    import xarray as xr


class DatasetAccessor:
    """``ds.mirflow``: questions to one evaluation of a store, or a collection of annotations with its own selection.

    Raises
    ------
    AnnotationError
        For a collection that was cut so that its counts and its values do not fit.
    """

    def __init__(self, ds: xr.Dataset) -> None:
        self._ds = ds
        self._collection = from_dataset(ds) if "row_size" in ds.variables else None

    @property
    def collection(self) -> Collection:
        """The collection of annotations that the dataset holds."""
        return from_dataset(self._ds) if self._collection is None else self._collection

    def sel(self, *, track: str | Sequence[str]) -> xr.Dataset:
        """The named tracks of a collection with their values, which xarray's own ``sel`` would leave behind."""
        return self.collection.sel(track=track).to_dataset()

    def query(
        self, metric: Names = None, aggregate: str | None = None, by: Names = None, **options: Unpack[Options]
    ) -> xr.Dataset:
        """Figures over the tracks; see :func:`mirflow.analysis.query.aggregate`."""
        return aggregate_group(self._ds, metric, aggregate, by, **options)

    def coverage(self) -> xr.Dataset:
        """How many cells of each system have each status; see :func:`mirflow.analysis.query.coverage`."""
        return coverage(self._ds)


class DataTreeAccessor:
    """``tree.mirflow``: questions to a whole store."""

    def __init__(self, tree: xr.DataTree) -> None:
        self._tree = tree

    def query(
        self,
        metric: Names = None,
        aggregate: str | None = None,
        by: Names = None,
        *,
        group: str | None = None,
        **options: Unpack[Options],
    ) -> xr.Dataset:
        """Figures over the tracks of one evaluation; see :func:`mirflow.analysis.query.query`."""
        return query(self._tree, metric, aggregate, by, group=group, **options)

    def coverage(self) -> xr.DataTree:
        """How many cells of each system have each status, for every evaluation."""
        import xarray as xr

        nodes = {node.path: node for node in self._tree.subtree if "score" in node.data_vars}
        return xr.DataTree.from_dict({path: coverage(node.to_dataset()) for path, node in nodes.items()})


@functools.cache
def register() -> None:
    """Give xarray's datasets and trees the accessor; once a process, however often it is called."""
    import xarray as xr

    untyped: Any = xr  # these two functions of xarray have no annotations
    untyped.register_dataset_accessor("mirflow")(DatasetAccessor)
    untyped.register_datatree_accessor("mirflow")(DataTreeAccessor)


def open_store(path: str | Path) -> xr.DataTree:
    """A result store as a lazy tree whose ``.mirflow`` accessor answers questions.

    Parameters
    ----------
    path : str or path
        The store, or a plain copy of one.

    Returns
    -------
    xarray.DataTree
        One group an evaluation, of the generation that is current now; see :func:`mirflow.store.open.open_store`.

    Raises
    ------
    StoreError
        If nothing is there, or not a result store, or one of a later version, or a damaged one.
    """
    from ..store.open import open_store as open_tree

    register()
    return open_tree(path)
