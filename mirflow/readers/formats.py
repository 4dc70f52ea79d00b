"""Formats of annotation files: their suffixes and readers, and what of a file is read, reported or left out silently.

Names of files tell the format, sometimes the task, and whether a file in a folder is an annotation at all. To add a
format, write its reader and register it here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from .audio_files import SUFFIXES as AUDIO


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format with its suffixes and reader."""

    suffixes: tuple[str, ...] = ()
    """Suffixes other than its name."""
    unlisted: tuple[str, ...] = ()
    """Suffixes that are read if a file is named, but ignored in a folder."""
    ending: str = ""
    """Ending of file names that identify the format regardless of their suffix."""
    parser: str = ""
    """``module:function`` of this package: (bytes, reading, format, name in messages) -> annotation. Empty: delimited
    text, or the only layout of a kind."""
    by_kind: Mapping[str, str] = field(default_factory=dict)
    """Parsers for some kinds of annotation; empty: the layout of the kind."""
    notes: bool = False
    """Whether multiple pitches are read from its notes."""
    table: str = ""
    """``module:function`` that opens a file with annotations of many tracks. Formats with a parser, too, hold one track
    in files of patterns with ``{track}``."""
    whole: bool = False
    """Whether a file has rows of all items of a collection; only those on the other side are scored."""
    takes: str = ""
    """What of a file becomes the annotation, for the documentation."""
    silent: Mapping[str, str] = field(default_factory=dict)
    """Rules of the account about which readers of the format are silent, each with what is left out and why."""
    reports: tuple[str, ...] = ()
    """Rules of the account that readers of the format report."""


_LYRICS, _NOTATION = {"text": ".lyrics:parse_text"}, {"sheet_music": ".sheet_music:parse_notation"}
_OF_SCORES = "what the task does not need of a score; grace notes, repeats, dynamics, lyrics, layout"
FORMATS: Mapping[str, FileFormat] = MappingProxyType(
    {
        "jams": FileFormat(
            suffixes=(".jamz",),
            ending=".jams.gz",
            takes="one annotation: times, durations, values; the confidence of tempi and tags; title, artist, duration",
            silent={
                "layers": "annotations in namespaces of other tasks and by other annotators than the chosen one; "
                "sandbox, curators and other metadata; confidences that the task does not use"
            },
            reports=("durations", "namespaces", "columns", "text_form", "odd_columns", "positions", "unmapped"),
        ),
        **dict.fromkeys(
            ("lab", "txt", "csv", "tsv"),
            FileFormat(
                by_kind=_LYRICS,
                takes="the columns of the task, or those that are declared",
                silent={
                    "usual_columns": "row numbers, confidences, comments and colours, and what describes the track in "
                    "a table of tracks, as they do not affect scores; all other columns if `columns` is declared"
                },
                reports=(
                    *("content_columns", "columns", "text_form", "unmapped", "odd_columns", "positions", "unvoiced"),
                    *("repeated_rows", "leading_count"),
                ),
            ),
        ),
        "svl": FileFormat(
            unlisted=(".sv",),
            parser=".sonic_visualiser:parse_svl",
            takes="the only layer of notes, of values over time, or of instants, as the task needs",
            silent={"layers": "layers of other kinds, recordings and the display of a session; labels of values"},
            reports=("rows", "columns", "positions", "odd_columns"),
        ),
        "midi": FileFormat(
            suffixes=(".mid",),
            parser=".midi:parse_midi",
            by_kind={"sheet_music": ".sheet_music:parse_midi_score"},
            notes=True,
            takes="notes with velocity, program and name of track; the sustain pedal; tempi",
            silent={
                "events": "controllers other than pedals, aftertouch, texts, system-exclusive events, note-offs "
                "without a note, pitch bends that do not move a note's start by half a semitone; if a file has both, "
                "percussion in tasks of pitched notes without `drums: true`, and all other notes in the task drums"
            },
            reports=("unended", "bends", "percussion", "channels", "chunks", "pedal"),
        ),
        # The McGill Billboard project names its files so.
        "billboard": FileFormat(
            ending="salami_chords.txt",
            parser=".billboard:parse_billboard",
            takes="phrases with their chords, metres, letters or functions",
            silent={"layers": "title, artist, tonic and leading instruments"},
            reports=("repeated_rows", "positions"),
        ),
        "musicxml": FileFormat(
            suffixes=(".xml", ".mxl"),
            parser=".sheet_music:parse_score",
            by_kind=_NOTATION,
            takes="chord symbols, key signatures, or notes in their voices and meters; tempo marks",
            silent={"layers": _OF_SCORES},
        ),
        "kern": FileFormat(
            suffixes=(".krn",),
            parser=".sheet_music:parse_score",
            by_kind=_NOTATION,
            takes="harmonies, keys, or notes in their voices and meters; tempi",
            silent={"layers": _OF_SCORES},
        ),
        "lrc": FileFormat(
            parser=".lyrics:parse_timed",
            by_kind=_LYRICS,
            takes="lines, or words, with their times; the offset",
            silent={"layers": "tags, such as title and artist"},
            reports=("rows",),
        ),
        "srt": FileFormat(
            parser=".lyrics:parse_timed",
            by_kind=_LYRICS,
            takes="lines with their times",
            silent={"layers": "numbers, positions and markup of subtitles"},
        ),
        "textgrid": FileFormat(
            parser=".lyrics:parse_timed",
            by_kind=_LYRICS,
            takes="the intervals with text of one tier",
            silent={
                "layers": "other tiers than the one that is declared, called words or lyrics, or alone",
                "rows": "words outside of quotes, which are comments to Praat",
            },
        ),
        "match": FileFormat(
            parser=".match_files:parse_match",
            notes=True,
            takes="the alignment, or the notes or pedals of the performance",
            silent={
                "events": "events of pedals that change nothing",
                "layers": "lines about meters, sections and beats; attributes of notes of the score",
            },
            reports=("repeated_rows", "pedal"),
        ),
        "run": FileFormat(
            table=".tables.rankings:open_run",
            takes="items with their scores, which give the order",
            silent={"columns": "the second column, the rank and the name of the run, as in trec_eval"},
        ),
        "qrels": FileFormat(
            table=".tables.rankings:open_qrels",
            takes="items with their grades",
            silent={"columns": "the second column, as in trec_eval"},
        ),
        "lists": FileFormat(table=".tables.rankings:open_lists", takes="a query and its items in each line"),
        "groups": FileFormat(
            table=".tables.rankings:open_groups",
            takes="items with their group, and the column of `exclude_same`",
            silent={
                "rows": "items without a group, to which no item is relevant",
                "columns": "columns of a header that do not hold the item or its group",
            },
        ),
        "parquet": FileFormat(
            parser=".tables.parquet:parse_parquet",
            table=".tables.parquet:open_parquet",
            takes="the columns of the task, or those that are declared, of single values or lists",
            silent={
                "usual_columns": "row numbers, confidences and comments, and columns that describe the track of a row, "
                "such as audio beside lists of its chords; all other columns if `columns` is declared"
            },
            reports=("content_columns", "columns", "text_form", "odd_columns", "unmapped"),
        ),
        "matrix": FileFormat(
            unlisted=(".npy", ".npz"),
            table=".tables.matrices:open_matrix",
            whole=True,
            takes="distances, or similarities in an .npz, which give the order of the items of each row",
            silent={"rows": "the title of MIREX's layout; single values in an .npz"},
            reports=("layers",),
        ),
    }
)
"""Formats by name."""
if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[tuple(FORMATS)]
_MORE = tuple(suffix for one in FORMATS.values() for suffix in one.suffixes)
SUFFIXES = (*(f".{name}" for name in FORMATS), *_MORE, ".key")
"""Suffixes of annotation files; files with others may be delimited text."""
_DOCUMENTS = (
    "7z bak bib bz2 c cfg cff conf cpp css db doc docx dvc eps gif gz h5 hdf5 htm html ini ipynb jpeg jpg js json "
    "jsonl labels lock log ly m m4a mat md md5 mp4 mscx mscz odt orig pdf pickle pkl png pt pth py pyc r rar readings "
    "rej rst sh sha1 sha256 sql sqlite svg swp tar tex tgz tif tiff tmp toml wma xls xlsx xz yaml yml zarr zip zst"
)
_UNREAD = frozenset(
    (
        *(f".{name}" for name in _DOCUMENTS.split()),
        *AUDIO,
        *(suffix for one in FORMATS.values() for suffix in one.unlisted),
    )
)
"""Suffixes of files that are not annotations, though they may be beside them."""
_NAMES = frozenset(("readme", "license", "licence", "changelog", "copying", "authors", "citation", "requirements"))
TASK_OF_SUFFIX: Mapping[str, str] = MappingProxyType(
    {
        ".beats": "beat",
        ".bpm": "tempo",
        ".chords": "chord",
        ".key": "key",
        ".mirex": "tempo",
        ".onsets": "onset",
        ".mid": "transcription",
        ".midi": "transcription",
        ".match": "note_alignment",
        **dict.fromkeys((".lrc", ".srt", ".textgrid"), "lyrics"),
        **dict.fromkeys(AUDIO, "separation"),
    }
)
"""Tasks of files whose suffix says what they are."""


def is_annotation_file(name: str) -> bool:
    """True if a file in a folder may be an annotation by its name: any suffix that is not known for something else."""
    stem, _, suffix = name.rpartition(".")
    unread = f".{suffix.lower()}" in _UNREAD or suffix.endswith(("~", "#")) or stem.lower() in _NAMES
    return bool(stem) and not unread


def is_read(name: str) -> bool:
    """True if a pattern with ``{format}`` takes a file: text, audio and all formats, even if folders leave them out."""
    return name.rpartition(".")[2].lower() in _BY_SUFFIX or name.lower().endswith(AUDIO) or is_annotation_file(name)


TABLES: tuple[str, ...] = tuple(name for name, one in FORMATS.items() if one.table and not one.parser)
"""Formats whose files always hold many tracks: rankings and relevance judgements."""
WHOLE: tuple[str, ...] = tuple(name for name, one in FORMATS.items() if one.whole)
"""Formats with rows of all items of a collection; only those on the other side are scored."""
_BY_SUFFIX = {end[1:]: name for name, one in FORMATS.items() for end in (f".{name}", *one.suffixes, *one.unlisted)}
_BY_ENDING = tuple((one.ending, name) for name, one in FORMATS.items() if one.ending)


def format_named(path: str) -> str:
    """The format of a file by its name; text if the name is ambiguous."""
    for ending, name in _BY_ENDING:
        if path.endswith(ending):
            return name
    return _BY_SUFFIX.get(path.rpartition(".")[2].lower(), "txt")


LAYOUTS: Mapping[str, str] = MappingProxyType(
    {
        "key": ".single_layout:parse_key",
        "tempo": ".single_layout:parse_tempo",
        "multipitch": ".single_layout:parse_multipitch",
        "patterns": ".single_layout:parse_patterns",
        "sheet_music": ".single_layout:parse_sheet_music",
    }
)
"""``module:function`` that parses text of kinds with a fixed layout; all other kinds are tables of columns."""


def load_reader(address: str) -> Callable[..., Any]:
    """Import the function at ``module:function``, when the first file of its format is read."""
    module, _, function = address.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module, __package__), function)
    return found
