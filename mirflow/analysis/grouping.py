"""Groups of tracks, made of the values of coordinates along ``track``."""

from __future__ import annotations

from collections.abc import Sequence
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
        The distinct values of each coordinate, sorted; an empty text and NaN are values like others.
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
            values[name], inverse = np.unique(column, return_inverse=True)
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
