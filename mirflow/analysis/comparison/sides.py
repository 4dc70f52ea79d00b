"""What can be compared: an evaluation of a store, of a tree or dataset, or a table that a mapping file describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...errors import QueryError, UnknownNameError
from ..scoreboard import Loaded, Scoreboard, from_dataset, read_store

if TYPE_CHECKING:
    import xarray as xr

    from ...pipeline.published import PublishedScores

Comparable: TypeAlias = "str | Path | xr.Dataset | xr.DataTree"

IMPORTED = "imported"
"""Attribute of a group whose scores come from a table: what the mapping calls itself."""
PRINTED_STEP = "printed_step"
"""Attribute of a group: for each metric the smallest difference that the printed digits of a table show."""
MAPPING_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Side:
    """One of two evaluations that are compared.

    Parameters
    ----------
    label : str
        What messages and tables call it.
    group : str
        Name of the evaluation; empty for a dataset.
    board : Scoreboard
    """

    label: str
    group: str
    board: Scoreboard
    printed_step: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_table(self) -> bool:
        """Whether the scores come from a table, which says little about how they came about."""
        return IMPORTED in self.board.attrs


def sides_of(given: Comparable, root: str | Path | None = None) -> dict[str, Side]:
    """Every evaluation of a store, tree or mapping file, or the only one of a dataset, by name.

    Parameters
    ----------
    given : path, xr.DataTree or xr.Dataset
        A path may name a group behind a colon: ``stores/x.zarr:chord``.
    root : path or None
        Where the patterns of a mapping file start, instead of what it says.

    Raises
    ------
    UnknownNameError
        If it has no such group.
    QueryError
        If it has no scores at all.
    """
    label, boards, wanted = _boards(given, root)
    if wanted is not None:
        if wanted not in boards:
            raise UnknownNameError(f"group of {label}", wanted, boards)
        boards = {wanted: boards[wanted]}
    if not boards:
        raise QueryError(f"{label}: has no scores")
    return {
        name: Side(f"{label}:{name}" if name else label, name, board, _steps(board)) for name, board in boards.items()
    }


def _boards(given: Comparable, root: str | Path | None) -> tuple[str, dict[str, Scoreboard], str | None]:
    """What it is called, its evaluations, and the one that its name asks for."""
    if not isinstance(given, str | Path):
        return _labelled(given)
    path, group = split_group(given)
    if path.suffix.lower() in MAPPING_SUFFIXES:
        from ...pipeline.published import read_published

        published = read_published(path, root=root)
        return str(path), {one.name: board_of(one, published.name) for one in published.groups}, group
    return str(path), read_store(path), group


def split_group(given: str | Path) -> tuple[Path, str | None]:
    """A path, and the group behind its last colon, unless there is a file of the whole name.

    Examples
    --------
    >>> path, group = split_group("stores/x.zarr:chord")
    >>> path.as_posix(), group
    ('stores/x.zarr', 'chord')
    """
    text = str(given)
    before, colon, group = text.rpartition(":")
    if Path(text).exists() or not (colon and before and group.isidentifier()):
        return Path(text), None
    return Path(before), group


def _labelled(given: xr.Dataset | xr.DataTree) -> tuple[str, dict[str, Scoreboard], None]:
    import xarray as xr

    if isinstance(given, xr.Dataset):
        return "dataset", {"": from_dataset(given)}, None
    nodes = {node.path.strip("/"): node for node in given.subtree if "score" in node.data_vars}
    return str(given.name or "tree"), {name: from_dataset(node.to_dataset()) for name, node in nodes.items()}, None


def board_of(scores: PublishedScores, origin: str) -> Scoreboard:
    """The scores of a table as questions want them.

    Parameters
    ----------
    scores : PublishedScores
    origin : str
        What the mapping calls itself.
    """

    def load(systems: Sequence[int]) -> Loaded:
        chosen = list(systems)
        unknown = np.full(len(scores.tracks), np.nan)
        return scores.score[chosen], scores.weight[chosen], scores.status[chosen], unknown

    coords = {
        "system": {},
        "track": {name: np.array(values) for name, values in scores.track_coords.items()},
        "metric": {name: np.array(values) for name, values in scores.metric_coords.items()},
    }
    names = (list(scores.systems), list(scores.tracks), list(scores.measures))
    return Scoreboard(
        *names, coords, attrs_of(scores, origin), load, {}, lambda: np.array(scores.message, dtype=np.str_)
    )


def attrs_of(scores: PublishedScores, origin: str) -> dict[str, Any]:
    """What a group that holds the scores of a table says of itself."""
    told = {name: value for name, value in (("task", scores.task), ("convention", scores.convention)) if value}
    parameters = {name: dict(values) for name, values in scores.parameters.items() if values}
    return {**told, "parameters": parameters, IMPORTED: origin, PRINTED_STEP: dict(scores.printed_step)}


def _steps(board: Scoreboard) -> Mapping[str, float]:
    steps = board.attrs.get(PRINTED_STEP, {})
    return {str(name): float(step) for name, step in steps.items()} if isinstance(steps, Mapping) else {}
