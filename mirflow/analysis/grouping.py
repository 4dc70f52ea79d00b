"""Groups of tracks, made of the values of coordinates along ``track``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import QueryError, UnknownNameError
from ..ragged import Int
from .scoreboard import Scoreboard


@dataclass(frozen=True)
class Grouping:
    """The product of the values of some coordinates.

    Parameters
    ----------
    values : mapping of str to array
        The distinct values of each coordinate, sorted; an empty text and NaN are values like others, and the last.
    codes : int64 (tracks,)
        The group of each track, counted through the product with the last coordinate fastest.
    """

    values: dict[str, npt.NDArray[Any]]
    codes: Int

    @classmethod
    def of(cls, board: Scoreboard, tracks: Sequence[int], names: Sequence[str]) -> Grouping:
        """The groups that some coordinates make of some tracks; without any, one group of all.

        Raises
        ------
        QueryError
            For a coordinate along another dim.
        UnknownNameError
            For a name that is no coordinate.
        """
        codes = np.zeros(len(tracks), dtype=np.int64)
        values = {}
        for name in names:
            column = _track_coordinate(board, name)[list(tracks)]
            values[name], inverse = _distinct(column)
            codes = codes * len(values[name]) + inverse
        return cls(values, codes)

    @property
    def count(self) -> int:
        """How many groups the product has, those without tracks too."""
        return int(np.prod([len(values) for values in self.values.values()], dtype=np.int64))

    def members(self) -> dict[int, Int]:
        """Positions of the tracks of every group that has any."""
        order = np.argsort(self.codes, kind="stable")
        codes, starts = np.unique(self.codes[order], return_index=True)
        return dict(zip(codes.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}


def filled_groups(groupings: Mapping[str, npt.NDArray[Any]], n_tracks: Int) -> list[int]:
    """The groups that have tracks; the only one where nothing is grouped."""
    return np.flatnonzero(n_tracks).tolist() if groupings else [0]


def group_values(groupings: Mapping[str, npt.NDArray[Any]], group: int) -> tuple[object, ...]:
    """The values that make a group."""
    shape = [len(values) for values in groupings.values()]
    places = np.unravel_index(group, shape) if shape else ()
    return tuple(values[place].item() for values, place in zip(groupings.values(), places, strict=True))


def _distinct(column: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int]:
    """The values of a coordinate, sorted, what stands for no value last; and the place of each entry among them."""
    values, inverse = np.unique(column, return_inverse=True)
    places = inverse.astype(np.int64)
    if values.dtype.kind == "U" and len(values) and values[0] == "":
        return np.roll(values, -1), (places - 1) % len(values)
    return values, places


def _track_coordinate(board: Scoreboard, name: str) -> npt.NDArray[Any]:
    along = {"track": np.array(board.tracks, dtype=str), **board.coords["track"]}
    if name not in along:
        for dim in ("system", "metric"):
            if name == dim or name in board.coords[dim]:
                known = ", ".join(sorted(along))
                raise QueryError(f"by {name!r}: it lies along {dim}; tracks can be grouped by: {known}")
        raise UnknownNameError("track coordinate", name, along)
    column = along[name]
    return np.array([str(value) for value in column.tolist()]) if column.dtype.kind in "OT" else np.asarray(column)
