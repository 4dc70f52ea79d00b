"""One block of work: read the annotations of some tracks and of their estimates, and score all pairs at once."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..annotations.annotation import DTYPES, Annotation, to_ragged
from ..annotations.audio import seconds_of
from ..annotations.classes import Classes
from ..annotations.schema import Kind, kind_of
from ..cells import SCORED, WARNING, Cells, Status
from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError
from ..metrics.base import LABELS, Cleaned, Convention, Grid, Measure, Scores, Sparse, get_task
from ..metrics.cleaning import emptied
from ..pipeline.plan import EvaluationPlan, Reference, Stale, blocks
from ..ragged import Bool, Column, Float, Int, Ragged, rows_of
from ..readers.sources import Source
from .plausibility import extents, implausible, unmatched_labels

BLOCK = 64
"""Tracks of a block where nobody says otherwise."""


def block_size(task: str, most: int = BLOCK) -> int:
    """Most tracks of a block: one of audio, which takes long enough, and of which several would hold memory.

    Examples
    --------
    >>> block_size("chord"), block_size("separation")
    (64, 1)
    """
    return 1 if kind_of(task).name == "audio" else most


Combine = str
"""What becomes of the scores against several references: ``mean``, ``max``, ``each``; empty where there is one."""


@dataclass(frozen=True)
class TrackWork:
    """What to score of one track: its references (several, where several annotators are combined) and some systems."""

    track: str
    references: tuple[Reference, ...]
    systems: tuple[str, ...]
    estimates: tuple[Source | None, ...]
    stamps: tuple[int, ...]


@dataclass(frozen=True)
class BlockWork:
    """The work of one task: some tracks of one evaluation.

    With `by_annotator` an estimate is not scored against a reference that is the same annotation. `classes` are those
    that there are, where the evaluation says so.
    """

    evaluation: str
    task: str
    convention: str
    grid: Grid
    measures: tuple[Measure, ...]
    combine: Combine
    tracks: tuple[TrackWork, ...]
    by_annotator: bool = False
    classes: Classes | None = None

    def __len__(self) -> int:
        return sum(len(track.systems) for track in self.tracks)

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Track and system of each cell, in the order of the results."""
        return [(track.track, system) for track in self.tracks for system in track.systems]


def works_of(plan: EvaluationPlan, stale: Stale) -> list[BlockWork]:
    """The stale cells of a plan as blocks of work, in the order of the tracks."""
    by_annotator = plan.by_annotator
    return [
        BlockWork(
            plan.name,
            plan.task,
            plan.convention,
            plan.grid,
            plan.measures,
            plan.combine,
            tuple(_track_works(plan, block.system, block.track)),
            by_annotator,
            plan.classes,
        )
        for block in blocks(stale, block_size(plan.task, plan.max_block))
    ]


def _track_works(plan: EvaluationPlan, system: Int, track: Int) -> Iterator[TrackWork]:
    for column in dict.fromkeys(track.tolist()):
        rows = system[track == column].tolist()
        yield TrackWork(
            plan.tracks[column],
            plan.references[column],
            tuple(plan.systems[row] for row in rows),
            tuple(plan.estimates[row][column] for row in rows),
            tuple(plan.stamps[rows, column].tolist()),
        )


_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it the linear algebra of this process runs in one thread.

    Scores that come out of large systems of equations are then the same to the bit under every scheduler. It also
    saves time: where cores are busy, threads of one product wait for each other longer than they work. Several threads
    may be within at a time; the last one to leave restores what was.
    """
    global _inside, _limit
    # Loaded first, as only libraries that are there already can be limited, and scipy has one of its own.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with _lock:
        if not _inside:
            _limit = threadpool_limits(1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limit.restore_original_limits()


@dataclass
class _Entry:
    """What became of one source: its row, or its trouble."""

    source: Source
    row: int
    digest: str
    trouble: tuple[Status, str] | None = None


@dataclass
class BlockSide:
    """One row per source that could be read, and what became of the others."""

    annotations: list[Annotation] = field(default_factory=list)
    # Rows that held something, of which nothing was left when they were cleaned.
    emptied: Bool = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    # By identity, not by value: the sources of a block are its own objects, and hashing their options takes time.
    _entries: dict[int, _Entry] = field(default_factory=dict)
    _labels: list[str] = field(default_factory=list)

    def read(self, source: Source) -> None:
        """Read a source, once."""
        if id(source) in self._entries:
            return
        entry = self._entries[id(source)] = _Entry(source, -1, "")
        try:
            annotation, entry.digest = source.read()
        except InvalidAnnotationError as error:
            entry.trouble = Status.invalid, str(error)
        except (AnnotationError, OSError) as error:
            entry.trouble = Status.unreadable, str(error)
        else:
            entry.row = len(self.annotations)
            self.annotations.append(annotation)
            self._labels.append(source.label)

    def row(self, source: Source) -> int:
        """The row of a source; -1 if it could not be read."""
        return self._entries[id(source)].row

    def label(self, row: int) -> str:
        """What to call the source of a row in messages; empty for the empty row."""
        return self._labels[row] if row < len(self._labels) else ""

    def trouble(self, source: Source) -> tuple[Status, str] | None:
        """Why a source cannot be scored; None if it can."""
        return self._entries[id(source)].trouble

    def digest(self, source: Source) -> str:
        """Digest of the bytes of a source; empty if there were none."""
        return self._entries[id(source)].digest

    def annotator(self, source: Source) -> str:
        """Who annotated: as the annotation itself says, else as was asked for."""
        entry = self._entries[id(source)]
        asked = getattr(source, "annotator", None)
        said = self.annotations[entry.row].attrs.get("annotator", asked) if entry.row >= 0 else asked
        return "" if said is None else str(said)

    def clean(self, kind: Kind, convention: Convention) -> Cleaned:
        """All rows made fit for the convention, and an empty row after the last: the empty annotation."""
        nothing = empty_annotation(kind, self.annotations)
        rows = to_ragged([*self.annotations, nothing])
        cleaned = convention.clean(rows)
        self.emptied = emptied(rows, cleaned.rows)
        read = [entry for entry in self._entries.values() if entry.row >= 0]
        for row, flaw in cleaned.flaws.items():
            entry, annotation = read[row], self.annotations[row]
            path = annotation.file(flaw.item) or entry.source.label
            error = AnnotationError(flaw.text(annotation), path=path, line=annotation.line(flaw.item))
            entry.trouble = Status.invalid, str(error)
        return cleaned

    @property
    def empty_row(self) -> int:
        """The row of the empty annotation."""
        return len(self.annotations)


def empty_annotation(kind: Kind, like: Sequence[Annotation] = ()) -> Annotation:
    """An annotation without any item, with the columns of the others."""
    names = like[0].columns if like else [name for name in kind.required if kind.variable(name).dtype != "str"]
    labels: list[str] | None = [] if (like and like[0].labels is not None) or "label" in kind.required else None
    no_counts = tuple(np.zeros(0, dtype=np.int64) for _ in kind.dims[1:])
    columns: dict[str, Column] = {name: np.zeros(0, DTYPES[kind.variable(name).dtype]) for name in names}
    return Annotation(kind.name, columns, labels, no_counts)


@dataclass
class Pairs:
    """Which reference row meets which estimate row, for which cell; and what is already known of each cell."""

    cell: Int
    reference: Int
    estimate: Int
    annotator: tuple[str, ...]
    status: list[Status]
    message: list[str]


def pair_up(work: BlockWork, references: BlockSide, estimates: BlockSide) -> Pairs:
    """All pairs of a block that can be scored; a cell without a usable estimate meets the empty one."""
    cells: list[int] = []
    reference_rows: list[int] = []
    estimate_rows: list[int] = []
    annotators: list[str] = []
    status: list[Status] = []
    messages: list[str] = []
    sides = references, estimates
    for track in work.tracks:
        for system, estimate in zip(track.systems, track.estimates, strict=True):
            own = [one for one in track.references if not work.by_annotator or not _same(one.source, estimate, sides)]
            state, message = _state(track, system, own, estimate, references, estimates)
            good = estimate is not None and estimates.trouble(estimate) is None
            row = estimates.row(estimate) if good and estimate is not None else estimates.empty_row
            for one in own:
                if references.trouble(one.source) is None:
                    cells.append(len(status))
                    reference_rows.append(references.row(one.source))
                    estimate_rows.append(row)
                    annotators.append(one.annotator)
            status.append(state)
            messages.append(message)
    columns = [np.array(values, dtype=np.int64) for values in (cells, reference_rows, estimate_rows)]
    return Pairs(columns[0], columns[1], columns[2], tuple(annotators), status, messages)


def _same(reference: Source, estimate: Source | None, sides: tuple[BlockSide, BlockSide]) -> bool:
    """Whether two sources are one annotation: the same files, by whatever path, and the same annotator in them."""
    if estimate is None or _files(reference) != _files(estimate):
        return False
    return sides[0].annotator(reference) == sides[1].annotator(estimate)


@lru_cache(maxsize=1 << 16)
def _real(path: str) -> str:
    return os.path.realpath(path)


def _files(source: Source) -> tuple[str, ...]:
    paths = getattr(source, "paths", None) or (getattr(source, "path", source.label),)
    return (*map(_real, paths), getattr(source, "track", ""))


def _state(
    track: TrackWork,
    system: str,
    own: Sequence[Reference],
    estimate: Source | None,
    references: BlockSide,
    estimates: BlockSide,
) -> tuple[Status, str]:
    """What is known of a cell before it is scored."""
    if not own and track.references:
        return Status.missing_reference, f"system {system!r} is the reference of track {track.track!r} itself"
    if not own:
        return Status.missing_reference, f"track {track.track!r} has no reference"
    for one in own:
        trouble = references.trouble(one.source)
        if trouble is not None:
            return trouble
    if estimate is None:
        return Status.missing_estimate, f"system {system!r} has no estimate of track {track.track!r}"
    trouble = estimates.trouble(estimate)
    if trouble is not None:
        return trouble
    for one in own:
        if len(references.annotations[references.row(one.source)]) == 0:
            return Status.empty_reference, f"{one.source.label}: track {track.track!r} has an empty reference"
    if len(estimates.annotations[estimates.row(estimate)]) == 0:
        told = f"system {system!r} has an empty estimate of track {track.track!r}"
        return Status.empty_estimate, f"{estimate.label}: {told}"
    return Status.ok, ""


EACH = EACH_SCORE, EACH_WEIGHT = "score_by_annotator", "weight_by_annotator"
"""Variables that keep every annotator's scores."""


def combine_references(
    how: Combine,
    measures: Sequence[Measure],
    scores: Scores,
    cell: Int,
    annotator: Sequence[str],
    count: int,
) -> tuple[Float, Float, dict[str, Sparse]]:
    """Scores of cells from the scores of their pairs.

    Parameters
    ----------
    how : {"", "mean", "max", "each"}
        ``mean``: the plain means of score and weight over the annotators whose references have something to measure
        (weight above 0; all, if none has). ``max``: the best score, by the metric's orientation, with its own weight.
        ``each``: as ``mean``, and every annotator's score and weight as well.
    measures : sequence of Measure
        The columns of the scores.
    scores : Scores
    cell : int64 (pairs,)
        The cell of each pair.
    annotator : sequence of str, one per pair
    count : int
        Number of cells; a cell without a pair gets score NaN and weight 0.

    Returns
    -------
    score, weight : float64 (cells, measures)
    extras : dict of str to Sparse
        Over cells; seconds and counts are means over the annotators, scores over those that have the entry.
    """
    single = len(cell) == count and bool((cell == np.arange(count)).all())
    pairs_per_cell = np.bincount(cell, minlength=count)
    extras = {name: _mean_extra(sparse, cell, pairs_per_cell) for name, sparse in scores.extras.items()}
    if how == "each":
        extras |= _each(measures, scores, cell, annotator)
    if single:
        return scores.score.copy(), scores.weight.copy(), extras
    score = np.full((count, len(measures)), np.nan)
    weight = np.zeros((count, len(measures)))
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(count))
    for one in np.flatnonzero(pairs_per_cell):
        rows = order[starts[one] : starts[one] + pairs_per_cell[one]]
        own = scores.score[rows], scores.weight[rows]
        score[one], weight[one] = _best(measures, *own) if how == "max" else _mean(*own)
    return score, weight, extras


def _mean(score: Float, weight: Float) -> tuple[Float, Float]:
    """Means over the annotators that have something to measure; over all where none has."""
    counted = (weight > 0) | ~(weight > 0).any(axis=0)
    # A reference without velocities gives no score where they are compared; the others do, and count.
    told = counted & ~np.isnan(score)
    counted = np.where(told.any(axis=0), told, counted)
    return np.mean(score, axis=0, where=counted), np.mean(weight, axis=0, where=counted)


def _best(measures: Sequence[Measure], score: Float, weight: Float) -> tuple[Float, Float]:
    """Score and weight of the annotator with the best score, for each measure; of the first on ties."""
    sign = np.array([-1.0 if measure.metric.orientation == "lower" else 1.0 for measure in measures])
    # An annotator with nothing to measure scores 0 by convention, which must not be the smallest error.
    usable = ~np.isnan(score) & ((weight > 0) | ~(weight > 0).any(axis=0))
    chosen = np.where(usable, score * sign, -np.inf).argmax(axis=0)
    columns = np.arange(len(measures))
    return score[chosen, columns], weight[chosen, columns]


def _mean_extra(sparse: Sparse, cell: Int, pairs_per_cell: Int) -> Sparse:
    """The mean over the pairs of a cell: of all of them where an absent entry is 0, else of those that have it."""
    index = sparse.index.copy()
    index[:, 0] = cell[index[:, 0]]
    if not (pairs_per_cell > 1).any():
        return replace(sparse, index=index)
    index, place = np.unique(index, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights=sparse.value, minlength=len(index))
    among = np.bincount(place.ravel(), minlength=len(index)) if np.isnan(sparse.fill) else pairs_per_cell[index[:, 0]]
    return replace(sparse, index=index, value=total / among)


def name_extras(extras: Mapping[str, Sparse], measures: Sequence[Measure]) -> dict[str, Sparse]:
    """Results with extra dims that carry the identity of their measure, so that a store can be asked for it."""
    identity = {measure.variable: str(measure) for measure in measures if measure.metric.dims}
    return {name: replace(sparse, attrs={**sparse.attrs, "metric": identity[name]}) for name, sparse in extras.items()}


def _each(measures: Sequence[Measure], scores: Scores, cell: Int, annotator: Sequence[str]) -> dict[str, Sparse]:
    names = tuple(sorted(set(annotator)))
    place = np.array([names.index(name) for name in annotator], dtype=np.int64)
    metric = tuple(str(measure) for measure in measures)
    columns = np.arange(len(metric), dtype=np.int64)
    index = np.column_stack(
        [np.repeat(cell, len(metric)), np.repeat(place, len(metric)), np.tile(columns, len(cell))]
    ).astype(np.int64)
    dims, coords = ("annotator", "metric"), (names, metric)
    return {
        EACH_SCORE: Sparse(dims, coords, index, scores.score.ravel(), {"long_name": "score by annotator"}, np.nan),
        EACH_WEIGHT: Sparse(dims, coords, index, scores.weight.ravel(), {"long_name": "weight by annotator"}),
    }


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
    references, estimates = BlockSide(), BlockSide()
    for track in work.tracks:
        for one in track.references:
            references.read(one.source)
        for estimate in track.estimates:
            if estimate is not None:
                estimates.read(estimate)
    clean_references = references.clean(kind, convention)
    clean_estimates = estimates.clean(kind, convention)
    pairs = pair_up(work, references, estimates)
    scores = _score(convention, clean_references.rows, clean_estimates.rows, pairs, work.measures, work.grid)
    return _to_cells(work, references, estimates, clean_references, clean_estimates, pairs, scores)


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
    references: BlockSide,
    estimates: BlockSide,
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
    scalars = [measure for measure in work.measures if not measure.metric.dims]
    scores = replace(scores, extras=name_extras(scores.extras, work.measures))
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


def _tell_emptied(work: BlockWork, pairs: Pairs, references: BlockSide, estimates: BlockSide) -> None:
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


def _tell_implausible(work: BlockWork, pairs: Pairs, references: BlockSide, estimates: BlockSide) -> None:
    """What is odd about cells that are scored all the same; about all of their references, where they have several."""
    sides = [
        np.vstack([extents(side.annotations), np.full((1, 3), np.nan)])[rows]
        for side, rows in ((references, pairs.reference), (estimates, pairs.estimate))
    ]
    told = implausible(kind_of(work.task).name, *sides)
    if any(measure.metric.needs == LABELS for measure in work.measures):
        for pair, (row, other) in enumerate(zip(pairs.reference.tolist(), pairs.estimate.tolist(), strict=True)):
            if pair not in told and 0 <= row < len(references.annotations) and 0 <= other < len(estimates.annotations):
                odd_labels = unmatched_labels(references.annotations[row], estimates.annotations[other])
                told |= {pair: odd_labels} if odd_labels else {}
    if not told:
        return
    odd = np.bincount(pairs.cell[list(told)], minlength=len(pairs.status))
    every = np.bincount(pairs.cell, minlength=len(pairs.status))
    for pair, message in told.items():
        cell = int(pairs.cell[pair])
        if pairs.status[cell] == Status.ok and not pairs.message[cell] and odd[cell] == every[cell]:
            pairs.message[cell] = f"{WARNING}{estimates.label(int(pairs.estimate[pair]))}: {message}"


def _told(message: str, pair: int, pairs: Pairs, references: BlockSide, estimates: BlockSide) -> str | None:
    """A message about one side of a pair with the name of its file; None if it is about both."""
    for name, side, rows in (("reference", references, pairs.reference), ("estimate", estimates, pairs.estimate)):
        label = side.label(int(rows[pair]))
        if label and message.startswith(f"{name}: "):
            return f"{label}: {message.removeprefix(f'{name}: ')}"
    return None


def _only(sparse: Sparse, cells: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Sparse:
    kept = cells[sparse.index[:, 0]]
    return replace(sparse, index=sparse.index[kept], value=sparse.value[kept])


def _digests(work: BlockWork, references: BlockSide, estimates: BlockSide) -> Iterable[str]:
    for track in work.tracks:
        reference = _merge_digests([references.digest(one.source) for one in track.references])
        for estimate in track.estimates:
            yield f"{reference}:{'' if estimate is None else estimates.digest(estimate)}"


def _merge_digests(digests: Sequence[str]) -> str:
    if len(digests) < 2:
        return "".join(digests)
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()


def _durations(work: BlockWork, references: BlockSide) -> Float:
    """Seconds from the first to the last time of each cell's reference, of audio its length.

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
