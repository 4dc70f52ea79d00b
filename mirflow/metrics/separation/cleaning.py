"""What can be scored as separated sources: up to a hundred, none of them silent."""

from __future__ import annotations

import numpy as np

from ...errors import AnnotationError
from ...ragged import Ragged, rows_of
from ..base.task import Cleaned, Flaw
from .pair import MAX_SOURCES
from .recording import Recording


def clean(rows: Ragged) -> Cleaned:
    """Find the rows that cannot be scored; nothing is mended.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: column signal, and perhaps label.

    Returns
    -------
    Cleaned
        Flaws are sources without samples or with silence alone, sources that cannot be read, and more than 100 of them.

    Examples
    --------
    >>> from mirflow.annotations.signal import HeldSignal
    >>> column = np.empty(1, dtype=object)
    >>> column[0] = HeldSignal(np.zeros((1, 100)), 8000.0)
    >>> clean(Ragged({"signal": column}, (np.array([1]),))).flaws[0].message
    'source 0 is silent: all its samples are 0'
    """
    flaws: dict[int, Flaw] = {}
    for row, (first, last) in enumerate(zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True)):
        if last - first > MAX_SOURCES:
            flaws[row] = Flaw(MAX_SOURCES, f"{last - first} sources are more than the {MAX_SOURCES} that are scored")
            continue
        for item in range(first, last):
            wrong = _trouble(rows, item)
            if wrong:
                flaws[row] = Flaw(item - first, f"{name_of(rows, item, first)} {wrong}")
                break
    sound = ~np.isin(rows_of(rows.counts[0]), list(flaws))
    return Cleaned(rows.keep(sound) if flaws else rows, np.zeros(len(rows), dtype=np.int64), flaws)


def name_of(rows: Ragged, item: int, first: int) -> str:
    """What to call a source in a message: its name, or its place in its row."""
    code = int(rows.columns["label"][item]) if "label" in rows.columns else -1
    return f"source {rows.labels[code]!r}" if code >= 0 else f"source {item - first}"


def _trouble(rows: Ragged, item: int) -> str:
    """What is wrong with a source, empty if nothing is."""
    signal = rows.columns["signal"][item]
    try:
        if signal.frames == 0:
            return "has no samples"
        if Recording((signal,), signal.channels, signal.frames).silent():
            alone = "all its samples are 0" if signal.channels == 1 else "all samples are 0 when its channels are added"
            return f"is silent: {alone}"
    except (AnnotationError, OSError) as error:
        return f"cannot be read: {error}"
    return ""
