"""Texts as codes into a vocabulary: a sequence of labels that is not written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

import numpy as np

from ..ragged import Int


class CodedLabels(Sequence[str]):
    """Labels by their codes, for annotations that share a large vocabulary, such as rankings of one collection.

    Parameters
    ----------
    vocabulary : tuple of str
        Distinct texts; the same object for all annotations that share it.
    codes : int64 (n,)
        Places in the vocabulary.

    Examples
    --------
    >>> labels = CodedLabels(("x", "y"), np.array([1, 0, 1]))
    >>> list(labels), labels[0], labels == ["y", "x", "y"]
    (['y', 'x', 'y'], 'y', True)
    """

    __slots__ = ("codes", "vocabulary")

    def __init__(self, vocabulary: tuple[str, ...], codes: Int) -> None:
        self.vocabulary = vocabulary
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> CodedLabels: ...
    def __getitem__(self, place: int | slice) -> str | CodedLabels:
        if isinstance(place, slice):
            return CodedLabels(self.vocabulary, self.codes[place])
        return self.vocabulary[int(self.codes[place])]

    def __iter__(self) -> Iterator[str]:
        return map(self.vocabulary.__getitem__, self.codes.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(list(self))


def encode(labels: Iterable[Sequence[str]], vocabulary: dict[str, int]) -> Int:
    """The codes of some sequences of labels, one after the other, under one vocabulary, which grows.

    Examples
    --------
    >>> vocabulary = {"y": 0}
    >>> encode([["x", "y"], CodedLabels(("z", "y"), np.array([1, 1]))], vocabulary).tolist(), list(vocabulary)
    ([1, 0, 0, 0], ['y', 'x', 'z'])
    """
    labels = list(labels)
    if not any(isinstance(one, CodedLabels) for one in labels):
        return _encode(list(chain.from_iterable(labels)), vocabulary)
    known: dict[int, Int] = {}
    parts: list[Int] = []
    for one in labels:
        if not isinstance(one, CodedLabels):
            parts.append(_encode(one, vocabulary))
            continue
        if id(one.vocabulary) not in known:
            known[id(one.vocabulary)] = _encode(one.vocabulary, vocabulary)
        parts.append(known[id(one.vocabulary)][one.codes])
    return np.concatenate(parts)


def _encode(flat: Sequence[str], vocabulary: dict[str, int]) -> Int:
    for label in dict.fromkeys(flat):
        vocabulary.setdefault(label, len(vocabulary))
    return np.fromiter(map(vocabulary.__getitem__, flat), dtype=np.int64, count=len(flat))
