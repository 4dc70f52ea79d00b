"""Warnings about scored cells, and their sentences: what has no score, is doubtful or low, was repaired or not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

import numpy as np

from ..causes.low_cells import LowCells, describe
from ..errors import counted, warn_caller
from ..store.cells import FAILED, MISSING, SCORED, Cells, Status, read_message, text_of

_SHOWN = 5


def warn_of_results(cells: Cells, causes: LowCells | None = None) -> None:
    """Warn once about annotations that could not be scored, once about doubtful scores, and once about low ones of
    which the cause is found."""
    if failures := describe_failures(cells, "cell", FAILED - MISSING):
        warn_caller(f"{failures}; status and message list them all")
    ok = cells.status == Status.ok
    if gaps := describe_gaps(cells if ok.all() else cells.take(np.flatnonzero(ok)), "scored cell"):
        warn_caller(f"{gaps}; message has all reasons")
    doubts = describe_doubts(cells)
    for text in (doubts | describe_remarks(cells)).values():
        warn_caller(text)
    if causes is not None and "odd" not in doubts and (lines := describe(causes.find())):
        warn_caller("; ".join(lines))


def describe_remarks(cells: Cells) -> dict[str, str]:
    """Describe what was repaired, or not read, of the annotations of scored cells without a doubt."""
    remarks = [
        (index, remark)
        for index, message in enumerate(cells.message)
        if message and not text_of(message, "warning")
        for remark in read_message(message)
        if remark.kind in ("repair", "note")
    ]
    texts = list(dict.fromkeys(remark.text for _, remark in remarks))
    if not texts:
        return {}
    more = f" (and {counted(len(texts) - 1, 'more remark')}, see message)" if texts[1:] else ""
    track = f"track {cells.track[remarks[0][0]]!r}: " if cells.track[remarks[0][0]] else ""
    return {"remarks": f"{track}{texts[0]}{more}"}


def describe_failures(cells: Cells, noun: str, statuses: AbstractSet[Status] = FAILED) -> str:
    """Count the cells of some statuses without a score, with the reason of the first; empty if all have one."""
    failed = np.flatnonzero(np.isin(cells.status, list(statuses)))
    if not len(failed):
        return ""
    first, numbers = int(failed[0]), Counter(cells.status[failed].tolist())
    kinds = ", ".join(f"{count} {Status(status).name}" for status, count in numbers.items())
    where = f"system {cells.system[first]!r}, track {cells.track[first]!r}"
    reason = text_of(cells.message[first]).removeprefix(f"{where}: ")
    if len(set(cells.system)) == 1:
        where = f"track {cells.track[first]!r}"
    have = "has" if len(failed) == 1 else "have"
    return f"{len(failed)} of {counted(len(cells), noun)} {have} no score ({kinds}), the first being {where}: {reason}"


def describe_gaps(cells: Cells, noun: str) -> str:
    """Count the cells that lack a score of some metrics, with the reason of the first; empty if none does."""
    gaps = np.isnan(cells.score) & (cells.weight != 0)
    why = {row: text_of(cells.message[row]) for row in np.flatnonzero(gaps.any(axis=1)).tolist()}
    rows = [row for row, text in why.items() if text]
    if not rows:
        return ""
    names = [name for name, gap in zip(cells.measures, gaps[rows].any(axis=0).tolist(), strict=True) if gap]
    shown = f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
    where = f"track {cells.track[rows[0]]!r}: " if cells.track[rows[0]] else ""
    return f"some metrics ({shown}) have no score of {len(rows)} of {counted(len(cells), noun)}: {where}{why[rows[0]]}"


def describe_doubts(cells: Cells) -> dict[str, str]:
    """Describe doubtful scores, and metrics that had nothing to measure in any cell, by the kind of doubt."""
    odd = [
        index
        for index, message in enumerate(cells.message)
        if message and cells.status[index] == Status.ok and text_of(message, "warning")
    ]
    if odd:
        more = f" (and {len(odd) - 1} more, see message)" if len(odd) > 1 else ""
        track = f"track {cells.track[odd[0]]!r}: " if cells.track[odd[0]] else ""
        return {"odd": f"{track}{text_of(cells.message[odd[0]], 'warning')}{more}"}
    nothing = unmeasured(cells)
    if not nothing:
        return {}
    names = f"{', '.join(nothing[:_SHOWN])}{', ...' if len(nothing) > _SHOWN else ''}"
    where = "" if len(cells) == 1 else f" in any of {counted(len(cells), 'cell')}"
    return {"nothing": f"nothing to measure for {names}{where}: the weight is 0, and the score is not a measurement"}


def unmeasured(cells: Cells) -> list[str]:
    """The metrics that have a value but no weight in all scored cells."""
    scored = np.isin(cells.status, list(SCORED))
    nothing = (cells.weight[scored] == 0).all(axis=0) & ~np.isnan(cells.score[scored]).all(axis=0)
    return [name for name, is_so in zip(cells.measures, nothing.tolist(), strict=True) if is_so]
