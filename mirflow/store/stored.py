"""An evaluation in a generation of a store or in a repository, whose results are read system by system.

The attributes of stores and evaluations are checked here, as others may have written them.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
import numpy as np

from ..metrics.base import Sparse
from ..ragged import Float
from .cells import Entry, GroupContent, StoredResults, no_cells
from .format import DIMS, OWN_DIMS, TYPES, Array
from .generations import chunk_files, reading

if TYPE_CHECKING:
    import zarr

CREATED = "created"
FORMAT = 2
"""Version of the layout that is written. Earlier ones are read: 1 had the scores of all metrics in one chunk."""
FORMAT_KEY = "mirflow_store"


_Text = Annotated[str, msgspec.Meta(max_length=2**20)]
"""No longer than a pipeline file, as readers parse these texts and pages show them."""


class _Warning(msgspec.Struct):
    text: _Text
    system: _Text


class _Classes(msgspec.Struct):
    names: list[_Text]
    credits: list[tuple[_Text, _Text, float]] = []


class _Attributes(msgspec.Struct):
    """What mirflow reads among the attributes of a store and of an evaluation; a stranger may have written them."""

    name: _Text | None = None
    task: _Text | None = None
    convention: _Text | None = None
    grid: (
        Annotated[str, msgspec.Meta(pattern=r"^(?![0-9])|^[0-9]{1,9}(\.[0-9]{1,20})?(e-?[0-9]{1,2})?$")] | float | None
    ) = None
    combine: _Text | None = None
    pipeline: _Text | None = None
    root: _Text | None = None
    created: _Text | None = None
    imported: _Text | list[_Text] | None = None
    mapping: _Text | None = None
    parameters: dict[str, dict[str, Any]] = {}
    signatures: dict[_Text, _Text] = {}
    versions: dict[_Text, _Text] = {}
    printed_step: dict[str, float] = {}
    warnings: list[_Warning] = []
    classes: _Classes | None = None
    reading: dict[str, dict[str, Any]] = {}
    declared_metrics: dict[str, dict[str, Any]] = {}


def check_attributes(attrs: dict[str, Any], arrays: Container[str] | None = None) -> list[str]:
    """Check the attributes of a store, or of an evaluation with some arrays, and take the names of its coordinates out.

    These are one text, as xarray expects it. Raises a ValueError if an attribute has another type than mirflow writes,
    or an array of a coordinate is lacking.
    """
    try:
        msgspec.convert(attrs, _Attributes)
    except msgspec.ValidationError as error:
        raise ValueError(f"its attributes are not those of scores: {error}") from None
    if arrays is None:
        return []
    listed = attrs.pop("coordinates", "")
    names = listed.split() if isinstance(listed, str) else [repr(listed)]
    for name in names:
        if name not in arrays:
            raise ValueError(f"it lacks the variable {name[:80]!r}")
    return names


class StoredGroup(StoredResults):
    """An evaluation in a generation of a store."""

    def __init__(self, root: zarr.Group, name: str, path: str | Path) -> None:
        from .zarr_io import WRITTEN

        self._group = cast(Any, root[name])
        self._path = path
        self.name = name
        place: Path | None = getattr(root.store, "root", None)
        self.folder = None if place is None else place / name  # the folder of the group; None in a repository
        self.systems, self.tracks, self.measures = (tuple(self._whole(dim).tolist()) for dim in DIMS)
        self._dims: dict[str, Any] = {key: array.metadata.dimension_names for key, array in self._group.arrays()}
        self._complete: set[str] = set()
        self._blank: set[bytes] = set()
        self.rows = {system: row for row, system in enumerate(self.systems)}
        self.extras: dict[str, Sparse] = {}
        """Results with extra dims, without their entries."""
        for key, dims in sorted(self._dims.items()):
            if dims[:2] == DIMS[:2] and len(dims) > 2 and dims != DIMS:
                array, inner = self._group[key], dims[2:]
                attrs = {about: value for about, value in array.attrs.items() if about not in (WRITTEN, OWN_DIMS)}
                labels = tuple(tuple(self._whole(dim).tolist()) for dim in inner)
                nowhere, own = np.empty((0, 1 + len(inner)), np.int64), tuple(array.attrs.get(OWN_DIMS, inner))
                self.extras[key] = Sparse(own, labels, nowhere, np.empty(0), attrs, float(array.fill_value))

    @property
    def content(self) -> GroupContent:
        """The evaluation, with all its results where they are."""
        coords: dict[str, dict[str, tuple[Entry, ...]]] = {dim: {} for dim in DIMS}
        attrs = dict(self._group.attrs)
        for key in check_attributes(attrs, self._dims):
            dim = self._dims[key][0]
            coords[dim][self._group[key].attrs["long_name"]] = tuple(self._whole(key).tolist())
        attrs.pop(CREATED, None)
        cells = no_cells(self.measures)
        cells.extras.update(self.extras)  # type: ignore[attr-defined]  # a dict of its own
        stored = dict.fromkeys(self.systems, self)
        sides = coords["metric"], coords["system"], coords["track"]
        return GroupContent(self.name, self.systems, self.tracks, cells, *sides, attrs, stored)

    @cached_property
    def durations(self) -> Float:  # type: ignore[override]  # read when it is needed
        """Duration of the reference of each track."""
        values: Float = self._whole("duration")
        return values

    def read(self, name: str, systems: Sequence[str], measures: Sequence[int] | None = None) -> Array:
        """Values of a variable: (systems, tracks), of scores and weights with the measures, all or at some places."""
        from .zarr_io import read_values

        with reading(self._path):
            return read_values(self._group, name, [self.rows[system] for system in systems], measures)

    def entries(self, name: str, system: str) -> Sparse | None:
        """A result with extra dims of one system, the first index column being the track; None if there is none."""
        whole, row = self.extras.get(name), self.rows[system]
        if whole is None:
            return None
        with reading(self._path):
            array = self._group[name]
            if self.folder is not None and row not in self.files(name):
                return whole
            per_chunk, indices, values = array.chunks[1], [whole.index], [whole.value]
            for start in range(0, len(self.tracks), per_chunk):
                block = np.asarray(array[row, start : start + per_chunk])
                at = np.nonzero(~np.isnan(block) if np.isnan(whole.fill) else block != whole.fill)
                indices.append(np.column_stack([start + at[0], *at[1:]]).astype(np.int64))
                values.append(block[at])
        index, value = np.concatenate(indices), np.concatenate(values)
        return Sparse(whole.dims, whole.coords, index, value, whole.attrs, whole.fill)

    def is_blank(self, name: str, system: str) -> bool:
        """True if the texts of a system are all empty; of equal files, one is read."""
        if self.folder is None:
            return super().is_blank(name, system)
        with reading(self._path):
            files = self.files(name).get(self.rows[system], {})
            data = b"".join(Path(files[rest]).read_bytes() for rest in sorted(files))
        if data not in self._blank:
            if not super().is_blank(name, system):  # not kept, as texts may be long
                return False
            self._blank.add(data)
        return True

    def shares(self, other: StoredResults, system: str) -> bool:
        """True if all results of a system are the same files in both; labels may differ."""
        if other is self:
            return True
        if not isinstance(other, StoredGroup) or self.folder is None or other.folder is None:
            return False
        if self.extras.keys() != other.extras.keys():
            return False
        for name in (*TYPES, *self.extras):
            inodes: list[dict[str, tuple[int, int]]] = []
            for folder, row in ((self.folder, self.rows[system]), (other.folder, other.rows[system])):
                files = chunk_files(folder / name).get(row, {})
                statuses = {rest: os.stat(path) for rest, path in files.items()}  # noqa: PTH116 - of many systems
                inodes.append({rest: (status.st_dev, status.st_ino) for rest, status in statuses.items()})
            if inodes[0] != inodes[1]:
                return False
        return True

    def files(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """The files of a variable in a folder, by row, then by the places of chunks along the other dims. Raises a
        StoreError if one is lost."""
        if name not in self._complete:
            from .zarr_io import demand_written

            with reading(self._path):
                demand_written(self._group[name])
            self._complete.add(name)
        return chunk_files(cast(Path, self.folder) / name)

    def _whole(self, name: str) -> Array:
        from .zarr_io import read_values

        with reading(self._path):
            return read_values(self._group, name)
