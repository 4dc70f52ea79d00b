"""Loudness of recordings, so that graders hear all of them at the same level."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from sqlalchemy import select

from ....errors import AnnotationError
from ....readers.audio_files import FileSignal
from ..database import Database
from .grading_tables import Loudness

TARGET = -23.0
"""Target in LUFS, as in EBU R 128."""
_SHORTEST = 0.4
"""Length of a block in seconds, the minimum for a measurement."""
_MOST_BYTES = 500 * 2**20


def measure_loudness(path: Path) -> float | None:
    """Measure the integrated loudness of a recording in LUFS (ITU-R BS.1770-4, as in EBU R 128).

    Parameters
    ----------
    path : Path
        A file in a format that libsndfile reads.

    Returns
    -------
    float or None
        None for silence, for less than 0.4 s, for more than five channels, and if the file cannot be decoded.
    """
    from pyloudnorm import Meter

    try:
        signal = FileSignal(str(path), max_bytes=_MOST_BYTES)
        samples = signal.read(0, signal.frames).T
        rate = signal.rate
        signal.close()
    except AnnotationError:
        return None
    if len(samples) < math.ceil(_SHORTEST * rate) or samples.shape[1] > 5:
        return None
    lufs = float(Meter(int(rate)).integrated_loudness(samples))
    return lufs if math.isfinite(lufs) else None


def gain_of(lufs: float | None) -> float:
    """Return the factor from 0 to 1 that attenuates a recording to `TARGET`; softer recordings keep their level.

    Examples
    --------
    >>> round(gain_of(-17.0), 3), gain_of(-30.0), gain_of(None)
    (0.501, 1.0, 1.0)
    """
    return 1.0 if lufs is None else float(min(1.0, np.power(10.0, (TARGET - lufs) / 20)))


def find_gains(database: Database, paths: list[Path]) -> dict[Path, float]:
    """Return the gains of recordings, measuring and storing those that are new or have changed.

    Parameters
    ----------
    paths : list of Path
        Missing files have gain 1.
    """
    with database.read() as session:
        rows = session.scalars(select(Loudness).where(Loudness.path.in_([str(path) for path in paths])))
        stored = {row.path: row for row in rows}
    gains, fresh = {}, []
    for path in dict.fromkeys(paths):
        try:
            stat = path.stat()
        except OSError:
            gains[path] = 1.0
            continue
        row = stored.get(str(path))
        if row is None or (row.size, row.modified) != (stat.st_size, stat.st_mtime_ns):
            row = Loudness(path=str(path), size=stat.st_size, modified=stat.st_mtime_ns, lufs=measure_loudness(path))
            fresh.append(row)
        gains[path] = gain_of(row.lufs)
    if fresh:
        with database.write() as session:
            for row in fresh:
                session.merge(row)
    return gains
