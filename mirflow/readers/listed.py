"""Judgements of candidates, ranked candidates and alignments of performances with scores, from delimited text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError
from ..ragged import Float
from .content import decode
from .fields import find_separator, parse_rows
from .options import DelimitedOptions

_SNIFFED = DelimitedOptions()


def parse_listed(
    data: bytes, kind: str, format: str, options: DelimitedOptions = _SNIFFED, name: str | Path = "<bytes>"
) -> Annotation:
    """The annotation in a file that is about one query or one performance.

    Parameters
    ----------
    data : bytes
    kind : {"judgements", "following"}
        Rows of candidate, grader, broad category and fine judgement, or of a candidate and perhaps a score; of onset,
        time of detection, position in the score and MIDI number, or without the time of detection; unless `options` or
        a header say otherwise.
    format : {"lab", "txt", "csv", "tsv"}
    options : DelimitedOptions
    name : path
        What to call the file in messages, and its ``source``.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a row with too few columns, a field that is not a number, or a rank that stands twice, with its line.

    Examples
    --------
    >>> judged = parse_listed(b"candidate,grader,broad,fine\\nb011647,g1,VS,9.5\\n", "judgements", "csv")
    >>> judged.labels, judged.columns["broad"].tolist(), judged.columns["value"].tolist()
    (['b011647'], ['VS'], [9.5])
    >>> heard = parse_listed(b"350 400 0 60\\n", "following", "txt", DelimitedOptions(time_unit="ms"))
    >>> {column: values.tolist() for column, values in heard.columns.items()}
    {'time': [0.35], 'detected': [0.4], 'position': [0.0], 'pitch': [60.0]}
    """
    text = decode(data, name, options.encoding)
    attrs: dict[str, Attribute] = {"source": str(name)}
    separator = find_separator(text, format, options)
    return check_listed(parse_rows(text, kind, separator, options, attrs, name), str(name))


def check_listed(annotation: Annotation, name: str) -> Annotation:
    """An annotation as it is, but in the order of its ranks where it has some.

    Raises
    ------
    InvalidAnnotationError
        For a rank that is no positive whole number or stands twice, and onsets without a position in the score.

    Examples
    --------
    >>> check_listed(Annotation("judgements", {"rank": np.array([2.0, 1.0])}, ["a", "b"]), "a.csv").labels
    ['b', 'a']
    """
    if annotation.kind == "following" and "position" not in annotation.columns:
        raise InvalidAnnotationError("no column holds 'position', the onset in the score; declare it", path=name)
    if "rank" not in annotation.columns:
        return annotation
    columns = dict(annotation.columns)
    rank: Float = columns.pop("rank")
    order = np.argsort(rank, kind="stable")
    _check_ranks(annotation, rank, order, name)
    labels = None if annotation.labels is None else [annotation.labels[item] for item in order.tolist()]
    lines = [annotation.line(item) or 0 for item in order.tolist()]
    moved = {column: values[order] for column, values in columns.items()}
    return Annotation(annotation.kind, moved, labels, lines=lines, attrs=annotation.attrs)


def _check_ranks(
    annotation: Annotation, rank: Float, order: np.ndarray[tuple[int], np.dtype[np.intp]], name: str
) -> None:
    for item in np.flatnonzero(~(rank >= 1) | (rank != np.floor(rank))).tolist():
        message = f"not a rank: {rank[item]:g}; ranks count from 1"
        raise InvalidAnnotationError(message, path=name, line=annotation.line(item))
    twice = np.flatnonzero(rank[order][1:] == rank[order][:-1])
    for place in twice[:1].tolist():
        item, first = int(order[place + 1]), int(order[place])
        message = f"rank {rank[item]:g} stands twice, first on line {annotation.line(first)}"
        raise InvalidAnnotationError(message, path=name, line=annotation.line(item))
