"""Repeated patterns from the text format of the MIREX task: ``pattern1``, ``occurrence1``, then ``onset, pitch`` lines.

The numbers only group. A pattern without notes, or an occurrence without notes, is left out, as mir_eval does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError
from ..ragged import Int
from .content import decode
from .options import DelimitedOptions

_SNIFFED = DelimitedOptions()


def parse_motifs(data: bytes, options: DelimitedOptions = _SNIFFED, name: str | Path = "<bytes>") -> Annotation:
    """Patterns from the bytes of a MIREX pattern file.

    Parameters
    ----------
    data : bytes
    options : DelimitedOptions
        Of which ``comment`` and ``encoding`` matter.
    name : path
        What to call the file in messages, and its ``source``.

    Returns
    -------
    Annotation
        Of kind ``patterns``: onsets in quarter notes (they may be negative), pitches as MIDI numbers.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a line that is none of the three, with its number.

    Examples
    --------
    >>> found = parse_motifs(b"pattern1\\noccurrence1\\n0, 60\\n1.5, 62\\noccurrence2\\n8, 60\\n")
    >>> found.columns["pitch"].tolist(), [counts.tolist() for counts in found.inner_counts]
    ([60.0, 62.0, 60.0], [[2], [2, 1]])
    """
    onsets: list[float] = []
    pitches: list[float] = []
    lines: list[int] = []
    # Where, counted in notes, each pattern and each occurrence starts; occurrences belong to the last pattern.
    occurrences: list[tuple[int, int]] = []
    pattern = -1
    for number, line in enumerate(decode(data, name, options.encoding).split("\n"), 1):
        text = line.strip()
        if not text or (options.comment and text.startswith(options.comment)):
            continue
        word = text[:10].lower()
        if word.startswith("pattern"):
            pattern += 1
            occurrences.append((pattern, len(onsets)))
        elif word.startswith("occurrence"):
            occurrences.append((max(pattern, 0), len(onsets)))
        else:
            onset, pitch = _note(text, bool(occurrences), name, number)
            onsets.append(onset)
            pitches.append(pitch)
            lines.append(number)
    columns = {"onset": np.array(onsets, dtype=np.float64), "pitch": np.array(pitches, dtype=np.float64)}
    counts = _counts(occurrences, len(onsets))
    attrs: dict[str, Attribute] = {"source": str(name)}
    return Annotation("patterns", columns, inner_counts=counts, lines=lines, attrs=attrs)


def _note(text: str, inside: bool, name: str | Path, line: int) -> tuple[float, float]:
    try:
        onset, pitch, *_ = text.replace(",", " ").split()
        note = float(onset), float(pitch)
    except ValueError:
        message = f"neither a pattern, an occurrence nor an onset and a pitch: {text!r}"
        raise InvalidAnnotationError(message, path=name, line=line) from None
    if not inside:
        raise InvalidAnnotationError(f"a note outside of any occurrence: {text!r}", path=name, line=line)
    return note


def _counts(occurrences: Sequence[tuple[int, int]], notes: int) -> tuple[Int, Int]:
    """Occurrences of each pattern and notes of each occurrence, without empty ones."""
    starts = np.array([start for _, start in occurrences] + [notes], dtype=np.int64)
    owner = np.array([pattern for pattern, _ in occurrences], dtype=np.int64)
    sizes = np.diff(starts)
    owner = owner[sizes > 0]
    _, per_pattern = np.unique(owner, return_counts=True)
    return per_pattern.astype(np.int64), sizes[sizes > 0]
