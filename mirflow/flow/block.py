"""One block of work: read the annotations of some tracks and of their estimates, and score all pairs at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.schema import kind_of
from ..annotations.signal import seconds_of
from ..cells import WARNING, Cells
from ..errors import UnreadableError
from ..metrics.base import Cleaned, Convention, Grid, Measure, Scores, Sparse, get_task
from ..ragged import Bool, Float, Int, Ragged, rows_of
from ..status import SCORED, Status
from .combine import combine_references, name_extras
from .pairing import Pairs, pair_up
from .plausibility import extents, implausible
from .side import Side
from .threads import one_thread
from .work import BlockWork


def score_block(work: BlockWork) -> Cells:
    """Read and score one block.

    Parameters
    ----------
    work : BlockWork

    Returns
    -------
    Cells
        One per system of each track, whatever became of it: nothing that is wrong with a file raises.
    """
    with one_thread() if kind_of(work.task).name == "audio" else nullcontext():
        return _score_block(work)


def _score_block(work: BlockWork) -> Cells:
    kind = kind_of(work.task)
    convention = get_task(work.task).convention(work.convention, work.classes)
    measures = convention.select(work.measures)
    references, estimates = Side(), Side()
    for track in work.tracks:
        for one in track.references:
            references.read(one.source)
        for estimate in track.estimates:
            if estimate is not None:
                estimates.read(estimate)
    clean_references = references.clean(kind, convention)
    clean_estimates = estimates.clean(kind, convention)
    pairs = pair_up(work, references, estimates)
    scores = _score(convention, clean_references.rows, clean_estimates.rows, pairs, measures, work.grid)
    return _to_cells(work, measures, references, estimates, clean_references, clean_estimates, pairs, scores)


def _score(
    convention: Convention,
    references: Ragged,
    estimates: Ragged,
    pairs: Pairs,
    measures: Sequence[Measure],
    grid: Grid,
) -> Scores:
    """Score all pairs at once; if the kernel breaks on one, find it by scoring them one by one."""

    def score(chosen: Int) -> Scores:
        return convention.score(references, estimates, pairs.reference[chosen], pairs.estimate[chosen], measures, grid)

    every = np.arange(len(pairs.cell))
    # A kernel must never break on rows that passed `clean`. If it does, that is a defect of ours, and it may cost the
    # pair that shows it, not the run: hence the broad catch, here and only here.
    try:
        return score(every)
    except Exception:
        return _one_by_one(score, every, [measure for measure in measures if not measure.metric.dims])


def _one_by_one(score: Callable[[Int], Scores], every: Int, scalars: Sequence[Measure]) -> Scores:
    scored = Scores(np.full((len(every), len(scalars)), np.nan), np.zeros((len(every), len(scalars))))
    refused: dict[int, str] = {}
    partly: dict[int, str] = {}
    repairs = np.zeros(len(every), dtype=np.int64)
    extras: dict[str, list[Sparse]] = {}
    for pair in every:
        try:
            one = score(every[pair : pair + 1])
        except UnreadableError as error:  # a signal, whose samples are read only now
            refused[int(pair)] = f"{LOST}{error}"
            continue
        except Exception as error:
            refused[int(pair)] = f"{BROKEN}{type(error).__name__}: {error}"
            continue
        scored.score[pair], scored.weight[pair] = one.score[0], one.weight[0]
        refused |= {int(pair): message for message in one.refused.values()}
        partly |= {int(pair): message for message in one.partly.values()}
        repairs[pair] = one.repairs.sum()
        for name, sparse in one.extras.items():
            index = sparse.index.copy()
            index[:, 0] = pair
            extras.setdefault(name, []).append(replace(sparse, index=index))
    joined = {name: _join(parts) for name, parts in extras.items()}
    return Scores(scored.score, scored.weight, joined, refused, repairs, partly)


BROKEN = "the metric failed: "
LOST = "lost while it was read: "


def _join(parts: Sequence[Sparse]) -> Sparse:
    first = parts[0]
    index = np.concatenate([part.index for part in parts])
    return replace(first, index=index, value=np.concatenate([part.value for part in parts]))


def _to_cells(
    work: BlockWork,
    measures: Sequence[Measure],
    references: Side,
    estimates: Side,
    clean_references: Cleaned,
    clean_estimates: Cleaned,
    pairs: Pairs,
    scores: Scores,
) -> Cells:
    for pair, message in scores.refused.items():
        cell = int(pairs.cell[pair])
        if pairs.status[cell] == Status.ok:
            track, system = work.cells[cell]
            lost = message.startswith(LOST)
            pairs.status[cell] = Status.unreadable if lost else Status.invalid
            if message.startswith(BROKEN):
                pairs.status[cell] = Status.failed
            pairs.message[cell] = _told(message, pair, pairs, references, estimates) or (
                f"system {system!r}, track {track!r}: {message}"
            )
    for pair, message in scores.partly.items():
        cell = int(pairs.cell[pair])
        if pairs.status[cell] == Status.ok:
            pairs.message[cell] = _told(message, pair, pairs, references, estimates) or message
    _tell_emptied(work, pairs, references, estimates)
    _tell_implausible(work, pairs, references, estimates)
    status = np.array(pairs.status, dtype=np.int8)
    count = len(status)
    names = work.cells
    scores = _without_value(scores, np.isin(status, list(SCORED))[pairs.cell])
    scalars = [measure for measure in measures if not measure.metric.dims]
    scores = replace(scores, extras=name_extras(scores.extras, measures))
    score, weight, extras = combine_references(work.combine, scalars, scores, pairs.cell, pairs.annotator, count)
    unscored = ~np.isin(status, list(SCORED))
    score[unscored] = np.nan
    extras = {name: _only(sparse, ~unscored) for name, sparse in extras.items()}
    repairs = np.zeros(count, dtype=np.int64)
    pair_repairs = scores.repairs if len(scores.repairs) else np.zeros(len(pairs.cell), dtype=np.int64)
    per_pair = clean_references.repairs[pairs.reference] + clean_estimates.repairs[pairs.estimate] + pair_repairs
    np.add.at(repairs, pairs.cell, per_pair)
    return Cells(
        tuple(system for _, system in names),
        tuple(track for track, _ in names),
        tuple(str(measure) for measure in scalars),
        score,
        weight,
        status,
        repairs.astype(np.int32),
        tuple(pairs.message),
        tuple(_digests(work, references, estimates)),
        np.array([stamp for track in work.tracks for stamp in track.stamps], dtype=np.int64),
        _durations(work, references),
        extras,
    )


def _without_value(scores: Scores, scored: Bool) -> Scores:
    """Scores of which those without a value weigh nothing: they are undefined, and the same in all tasks.

    What could not be compared, and is told so, keeps its weight, and so does what was not scored: both are missing.
    """
    undefined = np.isnan(scores.score) & scored[:, np.newaxis]
    undefined[list(scores.partly)] = False
    return replace(scores, weight=np.where(undefined, 0.0, scores.weight)) if undefined.any() else scores


def _tell_emptied(work: BlockWork, pairs: Pairs, references: Side, estimates: Side) -> None:
    """Cells of which cleaning left nothing on a side are as those of empty files, and say so."""
    gone = references.emptied[pairs.reference], estimates.emptied[pairs.estimate]
    for pair in np.flatnonzero(gone[0] | gone[1]).tolist():
        cell = int(pairs.cell[pair])
        if pairs.status[cell] != Status.ok:
            continue
        track, system = work.cells[cell]
        side, row, told = estimates, pairs.estimate[pair], f"system {system!r} has an empty estimate of track {track!r}"
        pairs.status[cell] = Status.empty_estimate
        if gone[0][pair]:
            side, row, told = references, pairs.reference[pair], f"track {track!r} has an empty reference"
            pairs.status[cell] = Status.empty_reference
        pairs.message[cell] = f"{side.label(int(row))}: {told}: nothing is left of its rows after repairs"


def _tell_implausible(work: BlockWork, pairs: Pairs, references: Side, estimates: Side) -> None:
    """What is odd about cells that are scored all the same; about all of their references, where they have several."""
    sides = [
        np.vstack([extents(side.annotations), np.full((1, 3), np.nan)])[rows]
        for side, rows in ((references, pairs.reference), (estimates, pairs.estimate))
    ]
    told = implausible(kind_of(work.task).name, *sides)
    if not told:
        return
    odd = np.bincount(pairs.cell[list(told)], minlength=len(pairs.status))
    every = np.bincount(pairs.cell, minlength=len(pairs.status))
    for pair, message in told.items():
        cell = int(pairs.cell[pair])
        if pairs.status[cell] == Status.ok and not pairs.message[cell] and odd[cell] == every[cell]:
            pairs.message[cell] = f"{WARNING}{estimates.label(int(pairs.estimate[pair]))}: {message}"


def _told(message: str, pair: int, pairs: Pairs, references: Side, estimates: Side) -> str | None:
    """A message about one side of a pair with the name of its file; None if it is about both."""
    for name, side, rows in (("reference", references, pairs.reference), ("estimate", estimates, pairs.estimate)):
        label = side.label(int(rows[pair]))
        if label and message.startswith(f"{name}: "):
            return f"{label}: {message.removeprefix(f'{name}: ')}"
    return None


def _only(sparse: Sparse, cells: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Sparse:
    kept = cells[sparse.index[:, 0]]
    return replace(sparse, index=sparse.index[kept], value=sparse.value[kept])


def _digests(work: BlockWork, references: Side, estimates: Side) -> Iterable[str]:
    for track in work.tracks:
        reference = _merge_digests([references.digest(one.source) for one in track.references])
        for estimate in track.estimates:
            yield f"{reference}:{'' if estimate is None else estimates.digest(estimate)}"


def _merge_digests(digests: Sequence[str]) -> str:
    if len(digests) < 2:
        return "".join(digests)
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()


def _durations(work: BlockWork, references: Side) -> Float:
    """Seconds from the first to the last time of each cell's reference, of sound its length.

    The mean of several references; 0 if none is usable.
    """
    spans = [_span(annotation) for annotation in references.annotations]
    durations = []
    for track in work.tracks:
        usable = [one.source for one in track.references if references.trouble(one.source) is None]
        own = [spans[references.row(source)] for source in usable]
        durations.append(float(np.mean(own)) if own else 0.0)
    return np.array(durations)[rows_of(np.array([len(track.systems) for track in work.tracks], dtype=np.int64))]


def _span(annotation: Annotation) -> float:
    if annotation.kind == "audio":
        return seconds_of(annotation.columns["signal"].tolist())
    first = annotation.columns.get("start", annotation.columns.get("time"))
    last = annotation.columns.get("end", annotation.columns.get("time"))
    if first is None or last is None or not len(first) or not (np.isfinite(first).all() and np.isfinite(last).all()):
        return 0.0
    return float(last.max() - first.min())
