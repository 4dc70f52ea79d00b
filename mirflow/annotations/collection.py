"""A collection: the annotations of many tracks as one ragged, labelled whole, and its conversion to datasets and back.

Tracks of a collection are also sources for scoring, which are read at once.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import AnnotationError, UnknownNameError, counted
from ..notebook import html_table
from ..ragged import Bool, Column, Int, Ragged, concatenate, row_of_items, with_used_labels
from .account import ACCOUNT, Remark, read_account, write_account
from .annotation import DTYPES, Annotation, Attribute, absent, empty_annotation, from_ragged, texts_at, to_ragged
from .labelled import to_dataset
from .schema import KINDS, Kind
from .source import MemorySource, Source

if TYPE_CHECKING:
    import xarray as xr

VOCABULARY, CODE = "vocabulary", "code"
"""Variable with the texts of labels, and its dim, in datasets and packs."""
ORDER = "track_order"
Variables = dict[str, tuple[str, Any, dict[str, str]]]


_NAMED, _SHOWN = 4, 10
"""Largest number of tracks in the text and the HTML of a collection."""


class TrackMapping(Mapping[str, "xr.Dataset"]):
    """Mapping of track names to annotations as datasets.

    Subclasses have ``tracks``, the names, and ``metadata``, arrays with one value per track.
    """

    kind: str
    tracks: tuple[str, ...]
    metadata: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.tracks)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tracks)

    def __contains__(self, track: object) -> bool:
        return track in self._rows

    def get(self, track: str, default: Any = None) -> Any:
        """Return the annotation of a track, or the default if the track is unknown."""
        if track not in self:
            return default
        return self[track]

    # The methods of Mapping would compare arrays.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {track: row for row, track in enumerate(self.tracks)}

    def row_of(self, track: str) -> int:
        """The row of a track."""
        if track not in self._rows:
            raise UnknownNameError("track", track, self.tracks)
        return self._rows[track]

    def rows_of(self, track: str | slice | Sequence[str] | Column) -> Int:
        """Positions of one track, several tracks, or a slice of names, including its end."""
        if isinstance(track, slice):
            if track.step is not None:
                raise AnnotationError("tracks are sliced by the first and the last name, without a step")
            first = 0 if track.start is None else self.row_of(track.start)
            last = len(self) - 1 if track.stop is None else self.row_of(track.stop)
            return np.arange(first, last + 1)
        names = [track] if isinstance(track, str) else list(track)
        return np.array([self.row_of(name) for name in names], dtype=np.int64)

    def positions(self, track: int | slice | Sequence[int] | Int | Bool) -> Int:
        """Convert an array index (numbers, a slice, or a mask) to positions."""
        if not isinstance(track, int | slice):
            track = np.asarray(track)
            track = track if len(track) else np.empty(0, dtype=np.int64)  # an empty list would be an array of floats
        return np.atleast_1d(np.arange(len(self))[track])

    def _describe(self) -> str:
        sizes: Mapping[str, int] = getattr(self, "sizes", {})  # if all annotations are in memory
        inner = [counted(size, dim) for dim, size in sizes.items() if dim != "track"]
        return ", ".join([f"{type(self).__name__}: {counted(len(self), 'track')} of {self.kind}", *inner])

    def _listed(self) -> tuple[list[str], list[list[object]]]:
        """Headings, and a row with name and metadata for each of the first tracks."""
        rows = range(min(len(self), _SHOWN))
        values = [column[: len(rows)].tolist() for column in self.metadata.values()]
        return ["track", *self.metadata], [[self.tracks[row], *(column[row] for column in values)] for row in rows]

    def __repr__(self) -> str:
        some = ", ".join(map(repr, self.tracks[:_NAMED])) + (", ..." if len(self) > _NAMED else "")
        lines = [f"<mirflow.{self._describe()}", f"  tracks: {some or 'none'}"]
        if self.metadata:
            lines.append(f"  metadata: {', '.join(self.metadata)}")
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        more = len(self) - _SHOWN
        return html_table(*self._listed(), self._describe(), [f"and {counted(more, 'more track')}"] if more > 0 else [])


@dataclass(frozen=True, repr=False, eq=False)
class Collection(TrackMapping):
    """Annotations of one kind for many tracks: a mapping of track names to datasets.

    ``len``, ``in``, ``items()`` and iteration refer to tracks. ``sel`` and ``isel`` select tracks together with their
    values, so that both always stay consistent.

    Examples
    --------
    >>> one = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([2.0])}, ["G"])
    >>> two = Annotation("intervals", {"start": np.array([0.0, 1.0]), "end": np.array([1.0, 3.0])}, ["C", "G"])
    >>> songs = collect({"a": one, "b": two})
    >>> songs.sel(track="b").rows.columns["end"].tolist()
    [1.0, 3.0]
    >>> songs["b"].label.values.tolist()
    ['C', 'G']
    """

    kind: str
    """A name of :data:`mirflow.annotations.schema.KINDS`."""
    tracks: tuple[str, ...]
    """Distinct names, one per row."""
    rows: Ragged
    metadata: Mapping[str, Column] = field(default_factory=dict)
    """Values per track, such as ``artist`` or ``duration``."""
    attrs: Mapping[str, Attribute] = field(default_factory=dict)
    originals: Mapping[int, Annotation] = field(default_factory=dict)
    """Rows as their readers left them, with the lines of items and the remarks that messages need."""

    def __post_init__(self) -> None:
        if len(set(self.tracks)) != len(self.tracks):
            twice = Counter(self.tracks).most_common(1)[0][0]
            raise AnnotationError(f"track {twice!r} occurs twice in the collection")
        if len(self.tracks) != len(self.rows):
            raise AnnotationError(f"{len(self.tracks)} track names for {len(self.rows)} rows")
        for name, values in self.metadata.items():
            if len(values) != len(self.tracks):
                raise AnnotationError(f"metadata {name!r} has {len(values)} values for {len(self.tracks)} tracks")

    @property
    def schema(self) -> Kind:
        """The schema of its kind."""
        return KINDS[self.kind]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Number of tracks, and total number of items along each dim."""
        inner = zip(self.schema.dims, self.rows.counts, strict=True)
        return {"track": len(self), **{dim: int(counts.sum()) for dim, counts in inner}}

    def __getitem__(self, track: str) -> xr.Dataset:
        return to_dataset(self.annotation(track))

    def annotation(self, track: str) -> Annotation:
        """Return the annotation of a track as plain columns."""
        return self.at(self.row_of(track))

    def at(self, row: int) -> Annotation:
        """Return the annotation of a row as plain columns."""
        if row in self.originals:
            return self.originals[row]
        attrs = {name: values[row : row + 1].tolist()[0] for name, values in self.metadata.items()}
        return from_ragged(self.kind, self.rows, row, {**self.attrs, **attrs, "track": self.tracks[row]})

    def sel(self, *, track: str | slice | Sequence[str] | Column) -> Collection:
        """Select tracks by name, in the given order; ``slice("a", "c")`` selects from a to c."""
        return self.isel(track=self.rows_of(track))

    def isel(self, *, track: int | slice | Sequence[int] | Int | Bool) -> Collection:
        """Select tracks by position, or by a mask with one value per track."""
        index = self.positions(track)
        tracks = tuple(self.tracks[row] for row in index)
        metadata = {name: values[index] for name, values in self.metadata.items()}
        originals = {at: self.originals[row] for at, row in enumerate(index.tolist()) if row in self.originals}
        return Collection(self.kind, tracks, self.rows.take(index), metadata, self.attrs, originals)

    @cached_property
    def accounts(self) -> dict[int, tuple[Remark, ...]]:
        """The account of each row that has remarks."""
        texts = enumerate(self.metadata[ACCOUNT].tolist() if ACCOUNT in self.metadata else ())
        accounts = {row: read_account(text) for row, text in texts if text}
        return accounts | {row: one.account for row, one in self.originals.items() if one.account}

    def remarked(self, rule: str) -> Bool:
        """Mask of the annotations with a remark of a rule."""
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[[row for row, account in self.accounts.items() if any(one.rule == rule for one in account)]] = True
        return mask

    def holding(self, items: Bool) -> Bool:
        """Mask of the annotations that hold any of some innermost items."""
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[row_of_items(self.rows)[items]] = True
        return mask

    def _listed(self) -> tuple[list[str], list[list[object]]]:
        """Headings, and a row with name, number of items and metadata for each of the first tracks."""
        heads, rows = super()._listed()
        counts = self.rows.counts[0].tolist() if self.rows.counts else []
        if not counts:
            return heads, rows
        return [heads[0], f"{self.schema.dims[0]}s", *heads[1:]], [
            [row[0], count, *row[1:]] for row, count in zip(rows, counts, strict=False)
        ]

    @property
    def dataset(self) -> xr.Dataset:
        """The collection as a dataset of CF contiguous ragged arrays, which it shares: a view, not a copy.

        ``row_size(track)`` counts the items of each track, ``<dim>_size`` those of each item of nested kinds; variables
        have ``units`` and ``long_name``, and codes of labels a ``vocabulary``.

        Raises
        ------
        AnnotationError
            For audio, which stays in its files.
        """
        import xarray as xr

        if self.kind == "audio":
            raise AnnotationError("audio is not loaded at once: select one track at a time, as collection[track]")

        variables: Mapping[str, Any] = to_variables(self.schema, self.rows)
        # A variable with the name of its dim would have an index, which is a copy, of the values of all tracks.
        bare = {name: one for name, one in variables.items() if one[0] == name}
        metadata = {name: ("track", values) for name, values in self.metadata.items()}
        others = {name: one for name, one in variables.items() if name not in bare}
        attrs = {"kind": self.kind, ORDER: _order(self.tracks, self.rows), **self.attrs}
        dataset = xr.Dataset({**others, **metadata}, {"track": np.array(self.tracks, dtype=str)}, attrs)
        return dataset.assign_coords(xr.Coordinates(bare, indexes={})) if bare else dataset


PER_TRACK: Mapping[str, Any] = MappingProxyType({"title": "", "artist": "", "duration": np.nan})
"""Attributes of annotations that are metadata of collections, with the values that stand for none."""


def collect(annotations: Mapping[str, Annotation]) -> Collection:
    """Make a collection of annotations by track name.

    ``title``, ``artist`` and ``duration`` become metadata, as do accounts with remarks, as text: ``account``.
    """
    if not annotations:
        raise AnnotationError("a collection needs at least one annotation")
    values = list(annotations.values())
    kinds = {annotation.kind for annotation in values}
    if len(kinds) > 1:
        raise AnnotationError(f"annotations of a collection must be of one kind, not of {', '.join(sorted(kinds))}")
    metadata: dict[str, Column] = {}
    for name, missing in PER_TRACK.items():
        if any(name in annotation.attrs for annotation in values):
            metadata[name] = np.array([annotation.attrs.get(name, missing) for annotation in values])
    if any(annotation.account for annotation in values):
        metadata[ACCOUNT] = texts_at([write_account(annotation.account) for annotation in values])
    return Collection(values[0].kind, tuple(annotations), to_ragged(values), metadata)


def to_variables(kind: Kind, rows: Ragged) -> Variables:
    """Convert ragged rows to the named, labelled arrays of datasets and packs.

    ``row_size(track)`` counts along the outermost dim and ``<dim>_size`` along each inner one, with the CF attribute
    ``sample_dimension``; labels are codes into ``vocabulary``.
    """
    variables: Variables = {}
    for size, outer, dim, counts in zip(kind.sizes, ("track", *kind.dims[:-1]), kind.dims, rows.counts, strict=True):
        variables[size] = (outer, counts, {"long_name": f"number of {dim}s", "sample_dimension": dim})
    for name, column in rows.columns.items():
        variable = kind.variable(name)
        dim = kind.dims[rows.depth(name) - 1]
        attrs = {"long_name": variable.long_name} | ({"units": variable.units} if variable.units else {})
        if name == "label":
            attrs = {"long_name": "code of the label, -1 for none", "vocabulary": VOCABULARY}
        variables[name] = (dim, column, attrs)
    if "label" in rows.columns:
        variables[VOCABULARY] = (CODE, texts_at(rows.labels), {"long_name": "text of each label code"})
    return variables


def with_columns(kind: Kind, rows: Ragged, names: Iterable[str]) -> Ragged:
    """Add missing columns to rows, filled with NaN, empty text or no label."""
    columns = dict(rows.columns)
    for name in names:
        if name not in columns:
            size = int(rows.counts[kind.depths.get(name, len(kind.dims)) - 1].sum())
            columns[name] = absent(kind, name, size)
    return Ragged(columns, rows.counts, rows.labels, rows.depths)


def join_rows(kind: Kind, parts: Sequence[Ragged]) -> Ragged:
    """All rows under one vocabulary; columns that only some parts have are filled as by `with_columns`."""
    if not parts:
        return to_ragged([empty_annotation(kind)]).take([])
    names = dict.fromkeys(name for part in parts for name in part.columns)
    return parts[0] if len(parts) == 1 else concatenate(with_columns(kind, part, names) for part in parts)


@dataclass(frozen=True, slots=True, eq=False)
class RowSource(MemorySource):
    """One track of a collection in memory."""

    collection: Collection
    track: str
    name: str

    def read(self) -> tuple[Annotation, str]:
        """The annotation, without a digest."""
        return self.collection.annotation(self.track), ""


_PLAIN_ATTRS = frozenset({"title", "artist", "duration", "source", ACCOUNT})
"""Attributes of annotations on which no score and no message depends, apart from accounts with remarks."""


def read_rows(sources: Sequence[Source]) -> list[tuple[Int, Ragged]]:
    """Read the tracks of collections among sources at once, as their ``read`` would.

    Returns list of (int64 (rows,), Ragged): places of sources, and their annotations as rows of common columns.
    Collections whose annotations differ in their columns, or have attributes that matter, are left out, and so are
    annotations with remarks.
    """
    places: dict[int, list[int]] = {}
    for place, source in enumerate(sources):
        if type(source) is RowSource:
            places.setdefault(id(source.collection), []).append(place)
    parts: list[tuple[Int, Ragged]] = []
    for numbers in places.values():
        chosen = [source for place in numbers if isinstance(source := sources[place], RowSource)]
        collection = chosen[0].collection
        kind, columns = collection.schema, collection.rows.columns
        optional = columns.keys() - {*kind.required, "label"}
        if (
            len(kind.dims) < 2
            and kind.name != "audio"
            and _PLAIN_ATTRS.issuperset({*collection.attrs, *collection.metadata})
            and all(columns[name].dtype.kind == "f" for name in columns if name != "label")
            and not ("label" in columns and bool((columns["label"] < 0).any()))
            and not any(np.isnan(columns[name]).any() for name in optional)
        ):
            rows = np.array([collection.row_of(source.track) for source in chosen], dtype=np.int64)
            places_of_rows = np.array(numbers, dtype=np.int64)
            if ACCOUNT in collection.metadata:
                silent = collection.metadata[ACCOUNT][rows] == ""
                rows, places_of_rows = rows[silent], places_of_rows[silent]
            parts.append((places_of_rows, with_used_labels(collection.rows.take(rows))))
    return parts


def _order(tracks: Sequence[str], rows: Ragged) -> str:
    """Fingerprint of tracks and their numbers of items, in order, to detect reordered tracks."""
    text = "\0".join([*tracks, *map(str, rows.counts[0].tolist())])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def from_dataset(dataset: xr.Dataset) -> Collection:
    """Convert a dataset of contiguous ragged arrays to a collection, checking all lengths."""
    name = str(dataset.attrs.get("kind"))
    if name not in KINDS or "track" not in dataset.coords:
        raise AnnotationError("not a collection: it needs an attribute 'kind' and a coordinate 'track'")
    kind = KINDS[name]
    # A variable with the name of its dim, such as tempo, is a coordinate.
    variables = {str(key): value.values for key, value in dataset.variables.items()}
    missing = [key for key in (*kind.sizes, *kind.required) if key not in variables]
    if missing:
        raise AnnotationError(f"not a collection of kind {name!r}: no variable {', '.join(missing)}")
    counts = tuple(np.asarray(variables[size], dtype=np.int64) for size in kind.sizes)
    columns: dict[str, Column] = {}
    for variable in kind.variables:
        if variable.name in variables:
            dtype = np.int64 if variable.name == "label" else DTYPES[variable.dtype]
            columns[variable.name] = np.asarray(variables[variable.name], dtype=dtype)
    labels = tuple(str(label) for label in variables.get(VOCABULARY, ()))
    try:
        rows = Ragged(columns, counts, labels, kind.depths)
    except ValueError as error:
        message = f"{error}; select tracks with the collection's own sel(), which also selects their values"
        raise AnnotationError(message) from None
    known = to_variables(kind, rows)
    others = {key: value for key, value in dataset.data_vars.items() if key not in known}
    metadata = {str(key): value.values for key, value in others.items() if value.dims == ("track",)}
    tracks = tuple(str(track) for track in dataset["track"].values)
    if dataset.attrs.get(ORDER, _order(tracks, rows)) != _order(tracks, rows):
        raise AnnotationError(
            "tracks were reordered or renamed, but not their values; use the collection's own sel(), or drop the "
            f"attribute {ORDER!r} if you arranged both"
        )
    attrs = {str(key): value for key, value in dataset.attrs.items() if key not in ("kind", ORDER)}
    return Collection(name, tracks, rows, metadata, attrs)
