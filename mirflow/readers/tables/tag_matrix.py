"""Tables of tracks x tags in numpy files: binary references, and activations of a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...annotations.account import Remark
from ...annotations.annotation import Annotation
from ...errors import InvalidAnnotationError, UnreadableError
from ..content import digest_of
from ..delimited import finish
from ..options import Reading
from .distance_matrix import name_items
from .numpy_files import ArrayTable, NamedArray, Names, demand_distinct, load_array, read_names
from .table import RowKey, tag_name_files

_TRACKS = (
    *("tracks", "track", "track_ids", "track_id", "clips", "clip_ids", "clip_id", "songs", "song_ids", "files"),
    *("filenames", "paths", "ids", "items", "rows", "index", "names"),
)
_TAGS = ("tags", "tag", "tag_names", "tag_list", "labels", "label_names", "classes", "class_names", "columns")
"""Names of the lists of names in an archive; the first that exists is used."""


@dataclass(frozen=True)
class TagMatrix(ArrayTable):
    """An array with a row for each track and a column for each tag."""

    name: str
    reading: Reading
    tags: Names
    values: npt.NDArray[Any]
    of_key: Mapping[RowKey, int]
    head: bytes
    remarks: tuple[Remark, ...] = ()
    """Remarks about other arrays in the file."""

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """All tags of a track, with their values."""
        value = np.array(self.values[self.of_key[key]], dtype=np.float64)
        attrs = {"source": self.name}
        found = Annotation("labels", {"value": value}, list(self.tags), attrs=attrs, account=self.remarks)
        return finish(found, self.reading, self.name)


def open_tags(path: str, reading: Reading, name: str) -> TagMatrix:
    """Open an ``.npy`` or ``.npz`` file of tracks x tags.

    An archive holds the array and two lists of names, such as ``tracks`` and ``tags``. Missing lists, and both lists of
    an ``.npy``, are read from text files next to it: for ``x.npy`` from ``x.tracks.txt`` and ``x.tags.txt``, or from
    ``tracks.txt`` and ``tags.txt``, with one name per line, or from a ``.tsv`` with a column of tracks, such as a split
    of MTG-Jamendo.
    """
    if reading.task != "tagging":
        message = f"arrays hold values of tags, which {reading.task or reading.kind} does not have: write a text table"
        raise UnreadableError(message, path=name)
    array = load_array(path, reading, name, "fiub")
    files, axes = tag_name_files(path), enumerate((_TRACKS, _TAGS))
    if lacking := [
        axis for axis, keys in axes if array.named(keys) is None and not any(file.exists() for file in files[axis])
    ]:
        what = [("tracks", "tags")[axis] for axis in lacking]
        beside = [list(dict.fromkeys(one.name for one in files[axis])) for axis in lacking]
        texts = [f"the {one} to {', '.join(own[:-1])} or {own[-1]}" for one, own in zip(what, beside, strict=True)]
        inside = f" save {' and '.join(map(repr, what))} in it, or" if array.key else ""
        message = f"is {_shape(array)} and names no {' and no '.join(what)}:{inside} write {' and '.join(texts)} next "
        raise UnreadableError(f"{message}to it, one per line", path=name)
    tracks, of_tracks = _names(array, _TRACKS, 0, path, reading, name)
    tags, of_tags = _names(array, _TAGS, 1, path, reading, name)
    if array.values.shape != (len(tracks), len(tags)):
        lists = " and ".join(dict.fromkeys(one for one in (of_tracks, of_tags) if one != name)) or "its lists"
        message = f"is {_shape(array)}, but {lists} name {len(tracks)} tracks and {len(tags)} tags"
        turned = array.values.shape == (len(tags), len(tracks))
        raise InvalidAnnotationError(message + "; save its transpose" * turned, path=name)
    demand_distinct(tags, "tags", of_tags)
    demand_distinct(tracks, "tracks", of_tracks)
    plain = name_items(tracks) if any("/" in track or "\\" in track for track in tracks) else tracks
    places = {RowKey(track): index for index, track in enumerate(plain)}
    head = digest_of("\0".join([*tags, array.values.dtype.str]).encode()).encode()
    return TagMatrix(name, reading, tags, array.values, places, head, array.unread(_TRACKS, _TAGS))


def _shape(array: NamedArray) -> str:
    return " x ".join(map(str, array.values.shape)) or "one number"


def _names(
    array: NamedArray, keys: tuple[str, ...], axis: int, path: str, reading: Reading, name: str
) -> tuple[Names, str]:
    """The names along an axis, and the file or list that holds them."""
    found = array.named(keys)
    if found is not None:
        return found, name
    file = next(file for file in tag_name_files(path)[axis] if file.exists())
    return read_names(file, name, reading), str(Path(name).with_name(file.name))
