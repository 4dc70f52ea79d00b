"""The ``.mirflow`` accessor on datasets and trees: questions to a store from xarray."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ..annotations.collection import Collection, from_dataset
from ..errors import QueryError
from .extensions import extension
from .labelled import Inference
from .overview import Overview, dataset_overview, tree_overview
from .query import aggregate as aggregate_group
from .query import boards_of, choose_one, coverage, query
from .question import Names, Options
from .scoreboard import Scoreboard
from .scoreboard import from_dataset as board_of

if TYPE_CHECKING:
    import xarray as xr


class DatasetAccessor(Inference):
    """``ds.mirflow``: questions to one evaluation of a store, or a collection of annotations with its own selection.

    Raises
    ------
    AnnotationError
        For a collection that was cut so that its counts and its values do not fit.
    """

    def __init__(self, ds: xr.Dataset) -> None:
        self._ds = ds
        self._collection = from_dataset(ds) if "row_size" in ds.variables else None

    def _choose(self, metric: Names, group: str | None) -> tuple[str, Scoreboard]:
        if group is not None:
            raise QueryError(f"group {group!r}: this dataset is one evaluation; ask the tree for another")
        return "", board_of(self._ds)

    def __repr__(self) -> str:
        return self._overview().text()

    def _repr_html_(self) -> str:
        return self._overview().html()

    def _overview(self) -> Overview:
        return dataset_overview(self._ds, self._collection)

    @property
    def collection(self) -> Collection:
        """The collection of annotations that the dataset holds."""
        return from_dataset(self._ds) if self._collection is None else self._collection

    def sel(self, *, track: str | Sequence[str]) -> xr.Dataset:
        """The named tracks of a collection with their values, which xarray's own ``sel`` would leave behind."""
        return self.collection.sel(track=track).to_dataset()

    @property
    def plot(self) -> Any:
        """Figures: ``plot.distributions(...)`` and all others of :mod:`mirflow.report.figures`."""
        return extension("plot", self._ds)

    def query(
        self, metric: Names = None, aggregate: str | None = None, by: Names = None, **options: Unpack[Options]
    ) -> xr.Dataset:
        """Figures over the tracks; see :func:`mirflow.analysis.query.aggregate`."""
        return aggregate_group(self._ds, metric, aggregate, by, **options)

    def coverage(self) -> xr.Dataset:
        """How many cells of each system have each status; see :func:`mirflow.analysis.query.coverage`."""
        return coverage(self._ds)


class DataTreeAccessor(Inference):
    """``tree.mirflow``: questions to a whole store."""

    def __init__(self, tree: xr.DataTree) -> None:
        self._tree = tree

    def __repr__(self) -> str:
        return tree_overview(self._tree).text()

    def _repr_html_(self) -> str:
        return tree_overview(self._tree).html()

    def _choose(self, metric: Names, group: str | None) -> tuple[str, Scoreboard]:
        return choose_one(boards_of(self._tree), metric, group)

    @property
    def plot(self) -> Any:
        """Figures: ``plot.distributions(...)`` and all others of :mod:`mirflow.report.figures`."""
        return extension("plot", self._tree)

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


Stores = str | Path | Sequence[str | Path] | Mapping[str, str | Path]


def open_store(path: Stores) -> xr.DataTree:
    """A result store, or several as one, as a lazy tree whose ``.mirflow`` accessor answers questions.

    Parameters
    ----------
    path : str or path, sequence of these, or mapping of str to these
        The store, or a plain copy of one. Several stores, such as the campaigns of several years, are joined along
        systems and tracks where groups have the same name; the coordinate ``store`` along tracks says where each comes
        from. The keys of a mapping are put before the systems' names, ``2013/KO1``, so that the same system may be in
        several stores.

    Returns
    -------
    xarray.DataTree
        One group an evaluation, of the generation that is current now; see :func:`mirflow.store.open.open_store`.
        Values are read when they are asked for.

    Raises
    ------
    StoreError
        If nothing is there, or not a result store, or one of a later version, or a damaged one.
    QueryError
        If stores cannot be joined: their groups differ in settings, or two hold the same cell; see
        :func:`mirflow.analysis.joining.join_trees`.
    """
    from ..store.labelled import usable_tree
    from ..store.open import open_store as open_tree

    if isinstance(path, str | Path):
        return usable_tree(open_tree(path))
    from .joining import join_trees

    if isinstance(path, Mapping):
        return usable_tree(join_trees({name: open_tree(one) for name, one in path.items()}, label=True))
    return usable_tree(join_trees({name: open_tree(one) for name, one in name_stores(path).items()}))


def name_stores(paths: Sequence[str | Path]) -> dict[str, str | Path]:
    """Stores by the names of their folders, or by their paths where these are alike.

    Raises
    ------
    QueryError
        If there is none, or the same one twice.
    """
    if not paths:
        raise QueryError("no store to open")
    stems = [Path(one).name.removesuffix(".zarr") for one in paths]
    names = stems if len(set(stems)) == len(stems) else [str(one) for one in paths]
    if len(set(names)) < len(names):
        raise QueryError(f"the same store twice: {next(name for name in names if names.count(name) > 1)}")
    return dict(zip(names, paths, strict=True))
