"""The judgements of a whole collection, checked."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from ...annotations.collection import Collection
from ...errors import AnnotationError, InvalidAnnotationError
from ...metrics.similarity.cleaning import clean
from ...ragged import Float, Int, rows_of

Judgements = Collection | str | os.PathLike[str]
"""A collection of judgements, or the file that holds them."""
SOURCE = "judged_file"


@dataclass(frozen=True, slots=True)
class AllJudged:
    """Every judgement of a collection.

    Parameters
    ----------
    pair : int64 (judgements,)
        Numbers of the pairs of a query and a candidate, from 0.
    level : float64 (judgements,)
        0 for NS, 1 for SS, 2 for VS; NaN without a broad category.
    fine : float64 (judgements,)
        NaN without a fine judgement.
    source : str
        What they were read from; empty: a collection.
    """

    pair: Int
    level: Float
    fine: Float
    source: str


def read_judgements(path: str | os.PathLike[str]) -> Collection:
    """The judgements in a file, by query; the attribute ``judged_file`` says which file."""
    from ...loading import load_collection

    found = load_collection(path, "similarity")
    assert isinstance(found, Collection)  # not a lazy one, as none was asked for
    return replace(found, attrs={**found.attrs, SOURCE: os.fspath(path)})


def all_judged(judgements: Judgements) -> AllJudged:
    """The judgements of all queries.

    Parameters
    ----------
    judgements : Collection or path
        Of kind judgements. A file holds query, candidate, grader, broad and fine.

    Raises
    ------
    AnnotationError
        For another kind, and for judgements that contradict themselves, with the query, and with file and line if they
        were read by `read_judgements`.
    """
    if not isinstance(judgements, Collection):
        judgements = read_judgements(judgements)
    if judgements.kind != "judgements":
        raise AnnotationError(f"needs judgements of candidates, not {judgements.kind}")
    source = str(judgements.attrs.get(SOURCE, ""))
    cleaned = clean(judgements.rows)
    for row, flaw in cleaned.flaws.items():
        query = judgements.tracks[row]
        line = _line(source, query, flaw.item) if source else None
        raise InvalidAnnotationError(f"query {query!r}: {flaw.message}", path=source or None, line=line)
    rows = cleaned.rows
    key = rows_of(rows.counts[0]) * max(len(rows.labels), 1) + rows.columns["label"]
    _, pair = np.unique(key, return_inverse=True)
    return AllJudged(pair, rows.columns["level"], rows.columns["value"], source)


def _line(path: str, query: str, item: int) -> int | None:
    """Where a judgement stands in its file, which is read again: a collection has no lines."""
    from ...loading import load_collection

    lazy = load_collection(path, "similarity", lazy=True)
    assert not isinstance(lazy, Collection)
    annotation, _ = lazy.sources[lazy.tracks.index(query)].read()
    return annotation.line(item)
