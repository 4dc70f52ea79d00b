"""Tables of tracks x tags in numpy files: binary references, and activations of a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from .numpy_files import ArrayTable, NamedArray, Names, demand_distinct, load_array, names_along
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
    files, held = tag_name_files(path), [array.named(keys) for keys in (_TRACKS, _TAGS)]
    lacking = [axis for axis in (0, 1) if held[axis] is None and not any(file.exists() for file in files[axis])]
    if lacking:
        what = [("tracks", "tags")[axis] for axis in lacking]
        beside = [list(dict.fromkeys(one.name for one in files[axis])) for axis in lacking]
        texts = [f"the {one} to {', '.join(own[:-1])} or {own[-1]}" for one, own in zip(what, beside, strict=True)]
        inside = f" save {' and '.join(map(repr, what))} in it, or" if array.key else ""
        message = f"is {_shape(array)} and names no {' and no '.join(what)}:{inside} write {' and '.join(texts)} next "
        raise UnreadableError(f"{message}to it, one per line", path=name)
    along = (names_along(array, keys, own, reading, name) for keys, own in zip((_TRACKS, _TAGS), files, strict=True))
    (tracks, of_tracks), (tags, of_tags) = filter(None, along)
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
