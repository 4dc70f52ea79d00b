"""Formats of annotation files: their suffixes, and what reads them.

To add a format is to write its reader and to name it here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format with its suffixes and reader.

    Parameters
    ----------
    suffixes : tuple of str
        Suffixes beside the one that is its name.
    unlisted : tuple of str
        Suffixes that are read where a file is named, and left alone in a folder.
    ending : str
        End of the names of files that are of the format whatever their suffix says.
    parser : str
        Module of this package and function: (bytes, reading, format, name of the file in messages) -> annotation.
        Empty: delimited text, or the layout of a kind that has one only.
    by_kind : mapping of str to str
        The same for some kinds of annotation; empty: their layout.
    notes : bool
        True if multiple pitches are read from its notes.
    table : str
        Module and function that open a file of the annotations of many tracks, in place of a parser.
    whole : bool
        True if a file has rows of all items of a collection, of which those count that the other side has.
    """

    suffixes: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    ending: str = ""
    parser: str = ""
    by_kind: Mapping[str, str] = field(default_factory=dict)
    notes: bool = False
    table: str = ""
    whole: bool = False


_LYRICS, _NOTATION = {"text": ".lyrics:parse_text"}, {"sheet_music": ".sheet_music:parse_notation"}
FORMATS: Mapping[str, FileFormat] = MappingProxyType(
    {
        "jams": FileFormat(),
        **dict.fromkeys(("lab", "txt", "csv", "tsv"), FileFormat(by_kind=_LYRICS)),
        "svl": FileFormat(unlisted=(".sv",), parser=".sonic_visualiser:parse_svl"),
        "midi": FileFormat(
            suffixes=(".mid",),
            parser=".midi:parse_midi",
            by_kind={"sheet_music": ".sheet_music:parse_midi_score"},
            notes=True,
        ),
        # The names of its files are those of the McGill Billboard project.
        "billboard": FileFormat(ending="salami_chords.txt", parser=".billboard:parse_billboard"),
        "musicxml": FileFormat(suffixes=(".xml", ".mxl"), parser=".harmonies:parse_score", by_kind=_NOTATION),
        "kern": FileFormat(suffixes=(".krn",), parser=".harmonies:parse_score", by_kind=_NOTATION),
        **dict.fromkeys(("lrc", "srt", "textgrid"), FileFormat(parser=".lyrics:parse_timed", by_kind=_LYRICS)),
        "run": FileFormat(table=".tables.rankings:open_run"),
        "qrels": FileFormat(table=".tables.rankings:open_qrels"),
        "lists": FileFormat(table=".tables.rankings:open_lists"),
        "groups": FileFormat(table=".tables.item_groups:open_groups"),
        "matrix": FileFormat(unlisted=(".npy", ".npz"), table=".tables.distance_matrix:open_matrix", whole=True),
    }
)
"""Formats by name."""
if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[tuple(FORMATS)]
_MORE = tuple(suffix for one in FORMATS.values() for suffix in one.suffixes)
SUFFIXES = (*(f".{name}" for name in FORMATS), *_MORE, ".key")
"""Suffixes of annotation files; in folders the others are left alone."""
TABLES: tuple[str, ...] = tuple(name for name, one in FORMATS.items() if one.table)
"""Formats whose files always hold many tracks: rankings and what is relevant for queries."""
WHOLE: tuple[str, ...] = tuple(name for name, one in FORMATS.items() if one.whole)
"""Formats that have rows of all items of a collection: those count that the other side has."""
_BY_SUFFIX = {
    suffix[1:]: name for name, one in FORMATS.items() for suffix in (f".{name}", *one.suffixes, *one.unlisted)
}
_BY_ENDING = tuple((one.ending, name) for name, one in FORMATS.items() if one.ending)


def format_named(path: str) -> str:
    """The format of a file by its name, text where that says nothing.

    Examples
    --------
    >>> format_named("refs/0001_salami_chords.txt"), format_named("a.MID"), format_named("a.beats")
    ('billboard', 'midi', 'txt')
    """
    for ending, name in _BY_ENDING:
        if path.endswith(ending):
            return name
    return _BY_SUFFIX.get(path.rpartition(".")[2].lower(), "txt")


def load_reader(address: str) -> Callable[..., Any]:
    """The function at ``module:function``, whose module is imported when a file of its format is read.

    Examples
    --------
    >>> load_reader(FORMATS["svl"].parser).__name__
    'parse_svl'
    """
    module, _, function = address.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module, __package__), function)
    return found
