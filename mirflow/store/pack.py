"""Packs: a collection of annotations as contiguous ragged arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..annotations.annotation import Attribute
from ..annotations.schema import Kind
from ..ragged import Int, Ragged, offsets_of
from .columns import Array
from .content import Coords

FORMAT = 1
FORMAT_KEY = "mirflow_pack"
DIGEST = "digest"


def size_name(kind: Kind, depth: int) -> str:
    """Name of the counts along the dim that lies above the kind's dim of that depth, counted from 0.

    Examples
    --------
    >>> from mirflow.annotations.schema import KINDS
    >>> [size_name(KINDS["patterns"], depth) for depth in range(3)]
    ['row_size', 'occurrence_size', 'note_size']
    """
    return "row_size" if depth == 0 else f"{kind.dims[depth]}_size"


@dataclass(frozen=True)
class Pack:
    """A collection of annotations of one kind, one per track.

    Parameters
    ----------
    kind : str
        A name of :data:`mirflow.annotations.schema.KINDS`.
    tracks : tuple of str
    rows : Ragged
        One row a track.
    attrs : mapping
        What holds for all of them: ``annotator`` or ``system``, ``namespace``, where they come from.
    track_attrs : mapping of str to sequence
        What is known of each track: ``title``, ``artist``, ``duration`` [s], ...
    digests : tuple of str
        Digest of each row's contents, equal for equal annotations whatever pack they are in.
    """

    kind: str
    tracks: tuple[str, ...]
    rows: Ragged
    attrs: Mapping[str, Attribute] = field(default_factory=dict)
    track_attrs: Coords = field(default_factory=dict)
    digests: tuple[str, ...] = ()

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each track."""
        return {track: row for row, track in enumerate(self.tracks)}

    @cached_property
    def bounds(self) -> tuple[Int, ...]:
        """Where each row starts, and the last one ends, at every depth: int64 (rows + 1,) each."""
        return row_bounds(self.rows)

    def row(self, row: int) -> Ragged:
        """One row, as views of the whole."""
        rows, bounds = self.rows, self.bounds
        outer = (np.arange(len(self.tracks) + 1, dtype=np.int64), *bounds)
        counts = tuple(c[b[row] : b[row + 1]] for c, b in zip(rows.counts, outer, strict=False))
        columns = {
            name: values[(b := bounds[rows.depth(name) - 1])[row] : b[row + 1]] for name, values in rows.columns.items()
        }
        return Ragged(columns, counts, rows.labels, rows.depths)


def row_bounds(rows: Ragged) -> tuple[Int, ...]:
    """Where each row starts, and the last one ends, at every depth: int64 (rows + 1,) each.

    Examples
    --------
    >>> [b.tolist() for b in row_bounds(Ragged({}, (np.array([2, 1]), np.array([1, 3, 5]))))]
    [[0, 2, 3], [0, 4, 9]]
    """
    bounds: list[Int] = []
    for counts in rows.counts:
        offsets = offsets_of(counts)
        bounds.append(offsets[bounds[-1]] if bounds else offsets)
    return tuple(bounds)


def row_digests(kind: str, rows: Ragged) -> tuple[str, ...]:
    """A digest of the contents of each row, whatever else the pack holds: 16 hexadecimal digits."""
    names = [
        hashlib.blake2b(label.encode("utf-8", "backslashreplace"), digest_size=8).digest() for label in rows.labels
    ]
    # The last one, which the code -1 finds, stands for no label.
    table = np.frombuffer(b"".join([*names, bytes(8)]), dtype="<u8")
    bounds = row_bounds(rows)
    parts: list[tuple[Array, Int]] = []
    for counts, bound in zip(rows.counts[1:], bounds, strict=False):
        parts.append((counts.astype("<i8"), bound))
    for name in sorted(rows.columns):
        values = rows.columns[name]
        if name == "label":
            values = table[values]
        elif values.dtype.kind in "OTU":
            values = np.array([hashlib.blake2b(str(v).encode(), digest_size=8).digest() for v in values], dtype="S8")
        parts.append(
            (np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))), bounds[rows.depth(name) - 1])
        )
    head = f"{kind} {' '.join(sorted(rows.columns))}".encode()
    flat = [(np.ascontiguousarray(v).view(np.uint8).data, (bound * v.itemsize).tolist()) for v, bound in parts]
    digests = []
    for row in range(len(rows)):
        state = hashlib.blake2b(head, digest_size=8)
        for data, bound in flat:
            state.update((bound[row + 1] - bound[row]).to_bytes(8, "little"))
            state.update(data[bound[row] : bound[row + 1]])
        digests.append(state.hexdigest())
    return tuple(digests)
