"""Chord labels in notations other than Harte's, translated when text or JAMS files are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..theory.harte import InvalidChordException
from ..theory.leadsheet import leadsheet_to_harte
from .options import Reading


def in_harte(annotation: Annotation, reading: Reading, name: str | Path) -> Annotation:
    """Translate chord symbols in the notation that the reading declares to Harte's syntax.

    Examples
    --------
    >>> import numpy as np
    >>> found = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([2.0])}, ["Am7"])
    >>> in_harte(found, Reading.of("chord", notation="leadsheet"), "a.txt").labels
    ['A:min7']
    """
    if annotation.labels is None:
        return annotation
    translated: dict[str, str] = {}
    for item, label in enumerate(annotation.labels):
        if label not in translated:
            try:
                translated[label] = leadsheet_to_harte(label)
            except InvalidChordException as error:
                line = annotation.line(item)
                at = f" at {annotation.columns['start'][item]:g} s" if line is None else ""
                message = f"{error.message}{at}; see the documentation of chord labels for supported symbols"
                raise InvalidAnnotationError(message, path=name, line=line) from None
    return replace(annotation, labels=[translated[label] for label in annotation.labels])
