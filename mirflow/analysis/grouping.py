"""Groups of tracks, made of the values of coordinates along ``track``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import QueryError, UnknownNameError
from ..ragged import Int

if TYPE_CHECKING:
    import xarray as xr


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
    def of(cls, ds: xr.Dataset, names: Sequence[str]) -> Grouping:
        """The groups that some coordinates make; without any, one group of all tracks.

        Raises
        ------
        QueryError
            For a coordinate along another dim.
        UnknownNameError
            For a name that is no coordinate.
        """
        codes = np.zeros(ds.sizes["track"], dtype=np.int64)
        values = {}
        for name in names:
            column = _track_coordinate(ds, name)
            values[name], inverse = np.unique(column, return_inverse=True)
            codes = codes * len(values[name]) + inverse
        return cls(values, codes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each coordinate has."""
        return tuple(len(values) for values in self.values.values())

    def members(self) -> dict[int, Int]:
        """Positions of the tracks of every group that has any."""
        order = np.argsort(self.codes, kind="stable")
        codes, starts = np.unique(self.codes[order], return_index=True)
        return dict(zip(codes.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}


def _track_coordinate(ds: xr.Dataset, name: str) -> npt.NDArray[Any]:
    along = sorted(str(coord) for coord in ds.coords if ds[coord].dims == ("track",))
    if name not in along:
        if name in ds.coords:
            place = ", ".join(map(str, ds[name].dims))
            raise QueryError(f"by {name!r}: it lies along {place}; tracks can be grouped by: {', '.join(along)}")
        raise UnknownNameError("track coordinate", name, along)
    column = ds[name].values
    return np.array([str(value) for value in column.tolist()]) if column.dtype.kind in "OT" else np.asarray(column)
