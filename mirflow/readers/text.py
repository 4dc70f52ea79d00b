"""Files of every kind, but for JAMS: the one place that knows which parser reads what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..ragged import Column
from .content import decode, demand_no_json
from .delimited import parse_delimited
from .fields import find_separator, parse_rows
from .listed import parse_listed
from .motifs import parse_motifs
from .options import TABLES, Reading
from .pitched import parse_multipitch, parse_pitched
from .positions import select_beats
from .rankings import parse_ranking
from .single import parse_key, parse_tempo
from .tags import demand_numbers, has_numbers

_LAYOUTS = {"all": "", "bar_start": "bars", "bar_end": "bars"}


def parse_file(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """An annotation from the bytes of a file of any format but JAMS.

    Raises
    ------
    UnreadableError
        If the bytes are not of the format.
    InvalidAnnotationError
        If they cannot be understood, or hold something else than what is to be read.
    """
    if format in TABLES:
        raise InvalidAnnotationError(f"{format} files hold many tracks: load_collection reads them", path=name)
    if format == "midi":
        from .midi import parse_midi

        return parse_midi(data, reading, name)
    if format == "svl":
        from .svl import parse_svl

        return parse_svl(data, reading, name)
    return parse_text(data, reading, format, name)


def parse_text(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """An annotation from the bytes of a text file.

    Parameters
    ----------
    data : bytes
    reading : Reading
    format : {"lab", "txt", "csv", "tsv"}
    name : path
        What to call the file in messages, and its ``source``.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        If they cannot be understood, with the line.
    """
    options = reading.delimited
    demand_no_json(data, name)
    if reading.kind == "intervals":
        return parse_delimited(data, "intervals", format, options, name, task=reading.task)
    if reading.kind == "events":
        layout = _LAYOUTS.get(reading.selection or "", "positions") if not options.columns else ""
        layout = "bars" if "bar" in dict(options.columns) else layout
        beats = parse_delimited(data, "events", format, options, name, layout=layout, task=reading.task)
        return select_beats(beats, reading.selection, name)
    if reading.kind in ("notes", "series"):
        return parse_pitched(data, reading.kind, format, options, name, task=reading.task)
    if reading.kind in ("judgements", "following"):
        return parse_listed(data, reading.kind, format, options, name)
    if reading.kind == "ranking":
        return parse_ranking(data, format, options, name)
    if reading.kind == "labels":
        text = decode(data, name, options.encoding)
        separator, attrs = find_separator(text, format, options), {"source": str(name)}
        numbered = has_numbers(reading)
        labels = parse_rows(text, "labels", separator, options, attrs, name, task=reading.task, numbered=numbered)
        return demand_numbers(labels, name)
    if reading.kind == "multipitch":
        return parse_multipitch(data, format, options, name)
    if reading.kind == "patterns":
        return parse_motifs(data, options, name)
    if reading.kind == "hierarchy":
        return stack_levels([parse_delimited(data, "intervals", format, options, name, task=reading.task)])
    return parse_key(data, options, name) if reading.kind == "key" else parse_tempo(data, options, name)


def stack_levels(levels: Sequence[Annotation], files: Sequence[str] = ()) -> Annotation:
    """Segmentations, from the coarsest to the finest, as one hierarchy; without any segment it has no levels either.

    Parameters
    ----------
    levels : sequence of Annotation
        At least one, of kind intervals.
    files : sequence of str
        What to call the file of each level in messages; empty: all are of one file.

    Examples
    --------
    >>> whole = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([2.0])}, ["A"])
    >>> parts = Annotation("intervals", {"start": np.array([0.0, 1.0]), "end": np.array([1.0, 2.0])}, ["a", "b"])
    >>> stack_levels([whole, parts]).inner_counts[0].tolist()
    [1, 2]
    """
    columns: dict[str, Column] = {
        name: np.concatenate([level.columns[name] for level in levels]) for name in ("start", "end")
    }
    labels = [label for level in levels for label in level.labels or ()]
    counts = np.array([len(level) for level in levels], dtype=np.int64)
    lines = [line for level in levels for line in level.lines or range(1, len(level) + 1)]
    if not counts.any():
        counts = counts[:0]
    return Annotation("hierarchy", columns, labels, (counts,), lines, levels[0].attrs, tuple(files))
