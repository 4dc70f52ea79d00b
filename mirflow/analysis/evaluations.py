"""The evaluations of result stores, opened trees and datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from ..errors import QueryError
from ..notebook import show_stores
from ..remote import as_given
from ..store.read import read_scores
from .queries import boards_of
from .scores import as_scores

if TYPE_CHECKING:
    import xarray as xr

Stores: TypeAlias = "str | Path | Sequence[str | Path] | Mapping[str, str | Path | xr.DataTree | xr.Dataset]"
Boards: TypeAlias = "Mapping[str, xr.Dataset]"
"""The scores of evaluations by name."""
ScoresLike: TypeAlias = "Stores | xr.DataTree | xr.Dataset"
"""Scores: stores by their paths, an opened tree, or the dataset of one evaluation."""


def evaluations_of(scores: ScoresLike) -> dict[str, xr.Dataset]:
    """The evaluations of scores in any form, by name; the name of a single dataset is empty.

    Raises `StoreError` if a path is not a result store. Raises `QueryError` for anything else, and if stores cannot be
    joined.
    """
    if isinstance(scores, str | Path):
        return read_scores(scores)
    import xarray as xr

    if isinstance(scores, xr.DataTree):
        return boards_of(scores)
    if isinstance(scores, xr.Dataset):
        return {"": as_scores(scores)}
    if not isinstance(scores, Sequence | Mapping):
        raise QueryError(f"not scores: {type(scores).__name__}; give a store's path, its tree or a dataset of it")
    return boards_of(open_store(cast(Stores, scores)))


def open_store(path: Stores) -> xr.DataTree:
    """A result store, or several as one, as a lazy tree whose ``.mirflow`` accessor answers queries.

    Parameters
    ----------
    path : str or path, sequence of these, or mapping of str to these, xr.DataTree or xr.Dataset
        The store, or a plain copy of one. Several stores, such as the campaigns of several years, are joined along
        systems and tracks where groups have the same name; the coordinate ``store`` along tracks says where each comes
        from. The keys of a mapping are put before the systems' names, ``2013/KO1``, so that the same system may be in
        several stores. Open trees and datasets in memory are joined in the same way; a single dataset is the group of
        its task, as :func:`mirflow.save` names it.

    Returns
    -------
    xarray.DataTree
        One group an evaluation, of the generation that is current now; see :func:`mirflow.store.read.read_tree`.
        Values are read when they are asked for.

    Raises
    ------
    StoreError
        If nothing is there, or not a result store, or one of a later version, or a damaged one.
    QueryError
        If stores cannot be joined: their groups differ in settings, or two hold the same cell; see
        :func:`mirflow.analysis.combine.join_trees`.
    """
    show_stores()
    if isinstance(path, str | Path):
        return _tree_of(path)
    from .combine import join_trees

    label = isinstance(path, Mapping)
    named = path if isinstance(path, Mapping) else name_stores(path)
    return join_trees({name: _tree_of(one) for name, one in named.items()}, label=label)


def _tree_of(scores: str | Path | xr.DataTree | xr.Dataset) -> xr.DataTree:
    """A store by its path, or what is open already, as a tree."""
    import xarray as xr

    from ..store.read import read_tree

    if isinstance(scores, xr.DataTree):
        return scores
    if isinstance(scores, xr.Dataset):
        return xr.DataTree.from_dict({f"/{scores.attrs.get('task') or 'scores'}": as_scores(scores)})
    return read_tree(scores)


def name_stores(paths: Sequence[str | Path]) -> dict[str, str | Path]:
    """Stores by the names of their folders, or by their paths where these are alike."""
    if not paths:
        raise QueryError("no store to open")
    if not all(isinstance(path, str | Path) for path in paths):
        raise QueryError("scores in memory have no names; give a mapping of labels to them and to stores")
    stems = [Path(path).name.removesuffix(".zarr") for path in paths]
    names = stems if len(set(stems)) == len(stems) else [as_given(path) for path in paths]
    if len(set(names)) < len(names):
        raise QueryError(f"the same store twice: {next(name for name in names if names.count(name) > 1)}")
    return dict(zip(names, paths, strict=True))
