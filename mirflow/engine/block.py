"""Blocks of work: read the references and estimates of some tracks, clean both sides, and score all pairs at once.

Files that cannot be used, and failures of scoring, give cells with a status and a reason; doubtful scores get a
warning. A block for which memory runs out is scored in halves. Linear algebra for audio is limited to one thread.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.classes import Classes
from ..annotations.collection import Collection, join_rows, read_rows, with_columns
from ..annotations.schema import Kind, kind_of
from ..annotations.source import Source
from ..annotations.validation import extents
from ..errors import AnnotationError, InvalidAnnotationError, counted, place_of
from ..interruption import recognized_interrupts
from ..metrics.base import Convention, Grid, Pairs, Scores, get_task
from ..metrics.cleaning import Cleaned
from ..metrics.measures import Measure
from ..pipeline.plan import Combine, Reference
from ..plugins import import_module
from ..ragged import Bool, Float, Int, Ragged, offsets_of, ranges, row_of_items
from ..readers.blocks import read_files, read_objects
from ..readers.content import join_digests
from ..store.cells import (
    NUMERATOR,
    SCORED,
    CellRemark,
    Cells,
    RemarkSide,
    Status,
    concatenate_cells,
    mark_failed_metrics,
    no_cells,
    no_numerators,
    write_message,
)
from .pair_scores import BROKEN, LOST, combine_references, name_extras, score_pairs
from .plausibility import doubts_of, odd_sides, suspects

BLOCK = 64  # default number of tracks of a block


def block_size(task: str, most: int = BLOCK) -> int:
    """Maximum number of tracks of a block; one for audio, which takes time and memory."""
    return 1 if kind_of(task).name == "audio" else most


@dataclass(frozen=True)
class TrackWork:
    """Sources of one track: its references (several if annotators are combined) and some systems."""

    track: str
    references: tuple[Reference, ...]
    systems: tuple[str, ...]
    estimates: tuple[Source | None, ...]
    stamps: tuple[int, ...]

    def map_sources(self, reference: Callable[[Source], Source], estimate: Callable[[Source], Source]) -> TrackWork:
        """The same with other sources, which two functions make of those of the references and of the estimates."""
        references = tuple(replace(item, source=reference(item.source)) for item in self.references)
        return replace(
            self,
            references=references,
            estimates=tuple(None if item is None else estimate(item) for item in self.estimates),
        )


@dataclass(frozen=True)
class BlockWork:
    """The work of one task: some tracks of one evaluation. With `by_annotator`, an estimate is not scored against a
    reference that is the same annotation. `classes` are declared by the evaluation, if at all."""

    evaluation: str
    task: str
    convention: str
    grid: Grid
    measures: tuple[Measure, ...]
    combine: Combine
    tracks: tuple[TrackWork, ...]
    by_annotator: bool = False
    classes: Classes | None = None
    plugins: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(len(track.systems) for track in self.tracks)

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Track and system of each cell, in the order of the results."""
        return [(track.track, system) for track in self.tracks for system in track.systems]

    def halves(self) -> tuple[BlockWork, BlockWork]:
        """Split into two blocks, by tracks or, for a single track, by systems."""
        middle = len(self.tracks) // 2
        if middle:
            return replace(self, tracks=self.tracks[:middle]), replace(self, tracks=self.tracks[middle:])
        (track,) = self.tracks
        middle = len(track.systems) // 2
        first, second = (
            replace(track, systems=track.systems[part], estimates=track.estimates[part], stamps=track.stamps[part])
            for part in (slice(middle), slice(middle, None))
        )
        return replace(self, tracks=(first,)), replace(self, tracks=(second,))

    def without_estimates(self) -> BlockWork:
        """The same cells without estimates: their weights depend on the references alone."""
        return replace(
            self, tracks=tuple(replace(track, estimates=(None,) * len(track.systems)) for track in self.tracks)
        )


_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the linear algebra of this process to one thread. Scores from large systems of equations are then
    bit-identical under every scheduler. It is also faster if all cores are busy, as threads of one product would mostly
    wait for each other. Several threads may enter the context; the last one to leave restores the limits."""
    global _inside, _limit
    # Imported first, as only loaded libraries can be limited, and scipy bundles a separate one.
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


Trouble = tuple[Status, str]  # why an annotation cannot be scored


class BlockSide:
    """One side of a block: its distinct sources, numbered in order, and a row for each annotation that could be read.
    Sources of equal texts share a row. An empty row follows those of the annotations."""

    def __init__(self, given: Iterable[Source | None], kind: Kind) -> None:
        # By identity, not by value: the sources of a block are its own objects, and hashing their options takes time.
        numbers: dict[int, int] = {}
        self.sources: list[Source] = []
        numbered: list[int] = []
        for source in given:
            number = -1 if source is None else numbers.setdefault(id(source), len(self.sources))
            if source is not None and number == len(self.sources):
                self.sources.append(source)
            numbered.append(number)
        self.labels = [*(source.label for source in self.sources), ""]  # their names in messages; without one, empty
        self.given: Int = np.array(numbered, dtype=np.int64)  # number of each given source; -1: none
        self.row: Int = np.full(len(self.sources), -1, dtype=np.int64)
        """Row of each source; -1 if it could not be read."""
        self.troubles: dict[int, Trouble] = {}  # sources that cannot be scored
        parts, single = read_objects(self.sources)
        parts += read_rows(self.sources)
        files, others_of_files, self.digests = read_files(self.sources)
        parts += files
        single |= others_of_files
        first = 0
        for places, part in parts:
            self.row[places] = np.arange(first, first + len(part))
            first += len(part)
        others: list[Annotation] = []
        known: dict[int, int] = {}
        rest = [number for number in np.flatnonzero(self.row < 0).tolist() if number not in single]
        for number in rest:
            source = self.sources[number]
            try:
                single[number], digest = source.read()
            except InvalidAnnotationError as error:
                self.troubles[number] = Status.invalid, str(error)
            except (AnnotationError, OSError) as error:
                self.troubles[number] = Status.unreadable, str(error)
            except MemoryError:
                text = f"{source.label}: too large: memory ran out while it was read"
                self.troubles[number] = Status.unreadable, text
            else:
                if digest:
                    self.digests[number] = digest
        for number, annotation in single.items():
            row = known.setdefault(id(annotation), first + len(others))
            if row == first + len(others):
                others.append(annotation)
            self.row[number] = row
        names = [""] * (first + len(others))
        for number, row in reversed([*enumerate(self.row.tolist())]):
            if row >= 0:
                names[row] = self.labels[number]
        several = Counter(names)
        names = [name if several[name] == 1 else f"{name} #{row}" for row, name in enumerate(names)]
        rows = [part for _, part in parts] + ([to_ragged(others)] if others else [])
        originals = dict(enumerate(others, first))
        self.annotations = Collection(kind.name, tuple(names), join_rows(kind, rows), originals=originals)
        """As given, by the names of their sources, of which those of equal texts share one."""

    def __repr__(self) -> str:
        return f"<one side of a block: {self.annotations!r}, {counted(len(self.troubles), 'source')} in trouble>"

    def clean(self, convention: Convention) -> Cleaned:
        """Clean all rows by the convention; sources of flawed ones are in trouble. Afterwards it is known which sources
        are `usable`, that is can be scored, and which of these are `filled`, that is have items as given; False at the
        end, for no source."""
        kind, rows = self.annotations.schema, self.annotations.rows
        rows = Ragged(rows.columns, (np.append(rows.counts[0], 0), *rows.counts[1:]), rows.labels, rows.depths)
        rows = with_columns(kind, rows, ["label"]) if "label" in kind.required else rows
        self.spans = extents(kind, rows)  # of each row, as given
        cleaned = convention.clean(rows)
        before, left = (np.bincount(row_of_items(each), minlength=len(each)) for each in (rows, cleaned.rows))
        self.emptied = (before > 0) & (left == 0)
        for row, account in self.annotations.accounts.items():
            cleaned.repairs[row] += sum(remark.count for remark in account if remark.severity == "repair")
        for row, flaw in cleaned.flaws.items():
            annotation = self.annotations.at(row)
            for number in np.flatnonzero(self.row == row).tolist():
                path = annotation.file(flaw.item) or self.labels[number]
                error = AnnotationError(flaw.text(annotation), path=path, line=annotation.line(flaw.item))
                self.troubles[number] = Status.invalid, str(error)
        self.usable = np.ones(len(self.sources) + 1, dtype=np.bool_)
        self.usable[[*self.troubles, -1]] = False
        self.filled: Bool = self.usable & np.append(rows.counts[0][self.row] > 0, False)
        return cleaned

    def remarks(self, number: int, name: RemarkSide) -> list[CellRemark]:
        """What the reader of a source remarked, as remarks on the cells of this side of a pair."""
        return [
            CellRemark(remark.severity, name, f"{place_of(self.labels[number], remark.line)}: {remark.message}")
            for remark in self.annotations.accounts.get(int(self.row[number]), ())
        ]


PairTest = Callable[[Sequence[Measure], Annotation, Annotation], str | None]


class PairSide(NamedTuple):
    """One side of the pairs of a block: the rows and the numbers of the sources; of estimates the empty row and -1 for
    cells without a usable one."""

    name: RemarkSide
    side: BlockSide
    rows: Int
    sources: Int

    def label(self, pair: int) -> str:
        """Name of the source of a pair in messages."""
        return self.side.labels[int(self.sources[pair])]


@dataclass
class BlockPairs:
    """The pairs of a block that are scored, with their cells, and status and remarks of each cell."""

    block: BlockSides
    cell: Int
    reference: PairSide
    estimate: PairSide
    annotator: tuple[str, ...]
    status: npt.NDArray[np.int8]
    remarks: dict[int, list[CellRemark]]  # of the cells that have any

    def add(self, cell: int, remark: CellRemark) -> None:
        """Add a remark about a cell, unless it has the same one."""
        known = self.remarks.setdefault(cell, [])
        if remark not in known:
            known.append(remark)


def pair_up(block: BlockSides) -> BlockPairs:
    """All pairs of a block that can be scored; cells without a usable estimate are paired with the empty one."""
    work, references, estimates = block.work, block.references, block.estimates
    widths = [len(track.systems) for track in work.tracks]
    track, count = np.repeat(np.arange(len(widths)), widths), sum(widths)
    several = np.array([len(track.references) for track in work.tracks], dtype=np.int64)
    cell = np.repeat(np.arange(count), several[track])
    source = ranges(offsets_of(several)[track], several[track])
    left, right = references.given[source], estimates.given[cell]
    if work.by_annotator:
        other = [
            estimate < 0 or not _same(references, reference, estimates, estimate)
            for reference, estimate in zip(left.tolist(), right.tolist(), strict=True)
        ]
        cell, source, left, right = (values[np.array(other, dtype=np.bool_)] for values in (cell, source, left, right))
    status, remarks = np.full(count, Status.ok, dtype=np.int8), dict[int, list[CellRemark]]()
    lacking = np.bincount(cell[~references.filled[left]], minlength=count) > 0
    lacking |= (np.bincount(cell, minlength=count) == 0) | ~estimates.filled[estimates.given]
    lacking_references: dict[int, list[int]] = {index: [] for index in np.flatnonzero(lacking).tolist()}
    for pair in np.flatnonzero(lacking[cell]).tolist():
        lacking_references[int(cell[pair])].append(int(left[pair]))
    for index, sources in lacking_references.items():
        row = int(track[index])
        system = work.tracks[row].systems[index - sum(widths[:row])]
        estimate = int(estimates.given[index])
        status[index], reason = _state(work.tracks[row], system, sources, estimate, references, estimates)
        remarks[index] = [reason]
    usable = references.usable[left]
    cell, source, left, right = cell[usable], source[usable], left[usable], right[usable]
    right = np.where(estimates.usable[right], right, -1)
    names = [reference.annotator for track in work.tracks for reference in track.references]
    annotators = tuple(names[index] for index in source.tolist()) if any(names) else ("",) * len(source)
    rows = np.append(estimates.row, len(estimates.annotations))[right]
    sides = PairSide("reference", references, references.row[left], left), PairSide("estimate", estimates, rows, right)
    return BlockPairs(block, cell, *sides, annotators, status, remarks)


_real_path = lru_cache(maxsize=1 << 16)(os.path.realpath)


def _same(references: BlockSide, reference: int, estimates: BlockSide, estimate: int) -> bool:
    """True if two sources are the same annotation: the same files, under any path, and the same annotator."""
    files, names = [], []
    for side, number in ((references, reference), (estimates, estimate)):
        source, row = side.sources[number], int(side.row[number])
        annotator: Any = getattr(source, "annotator", None)  # as was asked for, unless the annotation itself says one
        annotator = side.annotations.at(row).attrs.get("annotator", annotator) if row >= 0 else annotator
        files.append((*map(_real_path, source.paths), getattr(source, "track", "")))
        names.append("" if annotator is None else str(annotator))
    return files[0] == files[1] and names[0] == names[1]


def _state(
    track: TrackWork, system: str, compared: Sequence[int], estimate: int, references: BlockSide, estimates: BlockSide
) -> tuple[Status, CellRemark]:
    """Status of a cell that lacks something, and the reason; `compared`: the references that it is scored against."""
    side: RemarkSide = "reference"
    troubles = [references.troubles[reference] for reference in compared if reference in references.troubles]
    empty = [reference for reference in compared if not references.filled[reference]]
    if not compared and track.references:
        side, status = "pair", Status.missing_reference
        text = f"system {system!r} is the reference of track {track.track!r} itself"
    elif not compared:
        status, text = Status.missing_reference, f"track {track.track!r} has no reference"
    elif troubles:
        status, text = troubles[0]
    elif estimate < 0:
        side, status = "estimate", Status.missing_estimate
        text = f"system {system!r} has no estimate of track {track.track!r}"
    elif estimate in estimates.troubles:
        side, (status, text) = "estimate", estimates.troubles[estimate]
    elif empty:
        status = Status.empty_reference
        text = f"{references.labels[empty[0]]}: track {track.track!r} has an empty reference"
    else:
        side, status = "estimate", Status.empty_estimate
        text = f"{estimates.labels[estimate]}: system {system!r} has an empty estimate of track {track.track!r}"
    return status, CellRemark("reason", side, text)


def score_block(work: BlockWork) -> Cells:
    """Read and score one block; each system of each track gives a cell. Problems of files do not raise; if memory runs
    out, the block is scored in halves."""
    with recognized_interrupts():
        try:
            with one_thread() if kind_of(work.task).name == "audio" else nullcontext():
                return score_sides(clean_sides(read_sides(work)))
        except MemoryError:
            pass  # only outside of this clause is the memory of its frames free again
    if len(work) > 1:
        return concatenate_cells(map(score_block, work.halves()))
    try:
        with one_thread() if kind_of(work.task).name == "audio" else nullcontext():
            blank = score_sides(clean_sides(read_sides(work.without_estimates())))
    except MemoryError:
        blank = None
    return failed_cells(work, "memory ran out while the cell was scored", blank)


def failed_cells(work: BlockWork, why: str, blank: Cells | None = None) -> Cells:
    """The cells of a block with the status ``failed``. `why`: the reason, to which messages add system, track and file.
    `blank`: results of the block without its estimates, whose weights count; None: the weights are 0."""
    scalars = tuple(str(measure) for measure in work.measures if not measure.metric.dims)
    count = len(work)
    reasons = [
        f"{'' if estimate is None else f'{estimate.label}: '}system {system!r}, track {track.track!r}: {why}"
        for track in work.tracks
        for system, estimate in zip(track.systems, track.estimates, strict=True)
    ]
    messages = tuple(write_message([CellRemark("reason", "pair", reason)]) for reason in reasons)
    cells = blank
    if cells is None:
        stamps = np.array([stamp for track in work.tracks for stamp in track.stamps], dtype=np.int64)
        systems, tracks = tuple(system for _, system in work.cells), tuple(track for track, _ in work.cells)
        cells = no_cells(scalars, systems, tracks)
        cells = replace(cells, digest=(":",) * count, stamp=stamps, duration=np.zeros(count))
    return replace(
        cells,
        score=np.full_like(cells.score, np.nan),
        status=np.full(count, Status.failed, dtype=np.int8),
        message=messages,
        extras={},
    )


@dataclass
class BlockSides:
    """A block on its way: what was read, and, once it is cleaned, the rows to score."""

    work: BlockWork
    convention: Convention
    references: BlockSide
    estimates: BlockSide
    cleaned: tuple[Cleaned, ...] = ()  # of references and estimates


def read_sides(work: BlockWork) -> BlockSides:
    """The first step of a block: read its references and estimates."""
    for module in work.plugins:
        import_module(module)
    kind = kind_of(work.task)
    convention = get_task(work.task).convention(work.convention, work.classes)
    references = BlockSide((reference.source for track in work.tracks for reference in track.references), kind)
    estimates = BlockSide(chain.from_iterable(track.estimates for track in work.tracks), kind)
    return BlockSides(work, convention, references, estimates)


def clean_sides(sides: BlockSides) -> BlockSides:
    """The second step of a block: clean the rows of both sides by the rules of the convention."""
    convention = sides.convention
    return replace(sides, cleaned=(sides.references.clean(convention), sides.estimates.clean(convention)))


def score_sides(sides: BlockSides) -> Cells:
    """The third step of a block: pair the rows, score them, and note what is doubtful."""
    work, pairs = sides.work, pair_up(sides)
    both = pairs.reference, pairs.estimate
    rows = Pairs(sides.cleaned[0].rows, sides.cleaned[1].rows, pairs.reference.rows, pairs.estimate.rows)
    scores = score_pairs(sides.convention, rows, work.measures, work.grid)
    for pair, message in (*scores.refused.items(), *scores.partly.items()):  # no score, or none of some measures
        cell = int(pairs.cell[pair])
        if pairs.status[cell] != Status.ok:
            continue
        reason: CellRemark | None = None
        for side in both:
            label = side.label(pair)
            if label and message.startswith(f"{side.name}: "):
                reason = CellRemark("reason", side.name, f"{label}: {message.removeprefix(f'{side.name}: ')}")
        if pair in scores.refused:
            lost = Status.unreadable if message.startswith(LOST) else Status.invalid
            pairs.status[cell] = Status.failed if message.startswith(BROKEN) else lost
            track, system = work.cells[cell]
            message = f"system {system!r}, track {track!r}: {message}"
        pairs.remarks[cell] = [reason or CellRemark("reason", "pair", message)]
    gone = [side.side.emptied[side.rows] for side in both]
    for pair in np.flatnonzero(gone[0] | gone[1]).tolist():
        cell = int(pairs.cell[pair])
        if pairs.status[cell] == Status.ok:  # cleaning left nothing of a side, as in an empty file
            track, system = work.cells[cell]
            side = pairs.reference if gone[0][pair] else pairs.estimate
            what = f"system {system!r} has an empty estimate of track {track!r}"
            what = f"track {track!r} has an empty reference" if gone[0][pair] else what
            pairs.status[cell] = Status.empty_reference if gone[0][pair] else Status.empty_estimate
            text = f"{side.label(pair)}: {what}: nothing is left of its rows after repairs"
            pairs.remarks[cell] = [CellRemark("reason", side.name, text)]
    for (pair, _), message in scores.broken.items():  # of user-defined metrics, for cells with other scores
        cell = int(pairs.cell[pair])
        if pairs.status[cell] in SCORED and not any(message in one.text for one in pairs.remarks.get(cell, ())):
            pairs.add(cell, CellRemark("reason", "pair", message))
    for side in both:  # what the readers remarked on cells that were scored
        if not side.side.annotations.accounts:
            continue
        remarks: dict[int, list[CellRemark]] = {}
        scored = np.isin(pairs.status[pairs.cell], list(SCORED))
        for pair in np.flatnonzero((side.sources >= 0) & scored).tolist():
            number = int(side.sources[pair])
            if number not in remarks:
                remarks[number] = side.side.remarks(number, side.name)
            for remark in remarks[number]:
                pairs.add(int(pairs.cell[pair]), remark)
    _note_implausible(pairs)
    return _to_cells(pairs, scores)


def _to_cells(pairs: BlockPairs, scores: Scores) -> Cells:
    work, cleaned, status, count = pairs.block.work, pairs.block.cleaned, pairs.status, len(pairs.status)
    scored = np.isin(status, list(SCORED))
    # Scores without a value weigh nothing: they are undefined, and the same in all tasks. What could not be compared,
    # which its message says, keeps its weight, as does what was not scored: both are missing.
    undefined = np.isnan(scores.score) & scored[pairs.cell][:, np.newaxis]
    undefined[list(scores.partly)] = False
    scalars = [measure for measure in work.measures if not measure.metric.dims]
    column = {measure: index for index, measure in enumerate(scalars)}
    for pair, place in scores.broken:
        if work.measures[place] in column:
            undefined[pair, column[work.measures[place]]] = False
    named = name_extras(scores.extras, work.measures)
    scores = replace(scores, weight=np.where(undefined, 0.0, scores.weight), extras=named)
    if any(measure.metric.surplus for measure in scalars):
        numerator = scores.numerator if len(scores.numerator) else np.zeros((0, len(scalars)))
        index = np.argwhere(numerator > 0).astype(np.int64)
        surplus = replace(no_numerators(tuple(map(str, scalars))), index=index, value=numerator[numerator > 0])
        scores = replace(scores, extras={**scores.extras, NUMERATOR: surplus})
    score, weight, extras = combine_references(work.combine, scalars, scores, pairs.cell, pairs.annotator, count)
    score[~scored] = np.nan
    failures = [(int(pairs.cell[pair]), place) for pair, place in scores.broken]
    if failures:
        extras |= mark_failed_metrics(
            (failure for failure in failures if scored[failure[0]]), tuple(map(str, work.measures))
        )
    for name, sparse in extras.items():
        mask = scored[sparse.index[:, 0]]
        if name == NUMERATOR:
            # With several annotators, those whose references have something to measure decide.
            mask &= weight[tuple(sparse.index.T)] == 0
        extras[name] = replace(sparse, index=sparse.index[mask], value=sparse.value[mask])
    repairs = np.zeros(count, dtype=np.int64)
    per_pair = cleaned[0].repairs[pairs.reference.rows] + cleaned[1].repairs[pairs.estimate.rows]
    np.add.at(repairs, pairs.cell, per_pair + scores.repairs if len(scores.repairs) else per_pair)
    digests, durations = _digests_and_durations(pairs.block)
    return Cells(
        tuple(chain.from_iterable(track.systems for track in work.tracks)),
        tuple(chain.from_iterable(repeat(track.track, len(track.systems)) for track in work.tracks)),
        tuple(str(measure) for measure in scalars),
        score,
        weight,
        status,
        repairs.astype(np.int32),
        tuple(write_message(pairs.remarks[cell]) if cell in pairs.remarks else "" for cell in range(count)),
        digests,
        np.array(list(chain.from_iterable(track.stamps for track in work.tracks)), dtype=np.int64),
        durations,
        extras,
    )


def _note_implausible(pairs: BlockPairs) -> None:
    """Note doubts about scored cells; with several references, only doubts about all of them."""
    work, sides = pairs.block.work, (pairs.reference, pairs.estimate)
    (references, estimates), (left, right) = (side.side.annotations for side in sides), (side.rows for side in sides)
    doubts = doubts_of(pairs.block.convention, work.measures)
    odd_pairs: dict[int, tuple[RemarkSide, str]] = {}
    odd: list[dict[int, str]] = []
    suspicious, usable = np.zeros(len(pairs.cell), dtype=np.bool_), pairs.estimate.sources >= 0
    for side in sides:
        annotations = side.side.annotations
        odd.append(odd_sides(doubts, work.measures, work.task, annotations, side.side.spans))
        if odd[-1]:
            suspicious |= np.isin(side.rows, list(odd[-1]))
        if annotations.accounts:  # other doubts follow from columns that are not what they are taken for
            usable &= ~np.append(annotations.remarked("odd_columns"), False)[side.rows]
    compared = np.flatnonzero(usable)
    tests: list[tuple[PairTest, Bool]] = []
    for doubt in doubts:
        if doubt.of_pair is None:
            continue
        suspected = np.zeros(len(pairs.cell), dtype=np.bool_)
        suspected[compared] = suspects(doubt, work.measures, references)[left[compared]]
        suspected[compared] |= suspects(doubt, work.measures, estimates)[right[compared]]
        if doubt.suspect_pairs is not None and suspected.any():
            some = np.flatnonzero(suspected)
            suspected[some] = doubt.suspect_pairs(references, estimates, left[some], right[some])
        tests.append((doubt.of_pair, suspected))
        suspicious |= suspected
    for pair in compared[suspicious[compared]].tolist():
        row, column = int(left[pair]), int(right[pair])
        if row in odd[0] or column in odd[1]:
            odd_pairs[pair] = ("reference", odd[0][row]) if row in odd[0] else ("estimate", odd[1][column])
            continue
        of_pair = references.at(row), estimates.at(column)
        texts_of_pair = (test(work.measures, *of_pair) for test, suspected in tests if suspected[pair])
        if doubtful := next(filter(None, texts_of_pair), None):
            odd_pairs[pair] = "pair", doubtful
    if not odd_pairs:
        return
    doubted = np.bincount(pairs.cell[list(odd_pairs)], minlength=len(pairs.status))
    every = np.bincount(pairs.cell, minlength=len(pairs.status))
    noted = set[int]()
    for pair, (name, text) in odd_pairs.items():
        cell = int(pairs.cell[pair])
        if pairs.status[cell] == Status.ok and cell not in noted and doubted[cell] == every[cell]:
            noted.add(cell)
            label = sides[name != "reference"].label(pair)  # of both that of the estimate
            pairs.add(cell, CellRemark("warning", name, f"{label}: {text}"))


def _digests_and_durations(block: BlockSides) -> tuple[tuple[str, ...], Float]:
    """For each cell ``reference:estimate`` digests, and the mean duration of its usable references; 0 without any."""
    work, references, estimates = block.work, block.references, block.estimates
    widths, several = [len(track.systems) for track in work.tracks], [len(track.references) for track in work.tracks]
    usable, rows = references.usable[references.given], references.row[references.given]
    # From the first to the last time, or the length of audio.
    if references.annotations.kind == "audio":
        read = (references.annotations.at(row) if row >= 0 else None for row in rows.tolist())
        signals = [[] if annotation is None else annotation.columns["signal"].tolist() for annotation in read]
        lengths = [max((one.frames / one.rate for one in sources), default=0.0) for sources in signals]
        seconds = np.array(lengths, dtype=np.float64)
    else:
        begin, end, _ = references.spans[rows].T
        seconds = np.where(np.isnan(end - begin), 0.0, end - begin)
    durations: list[float] = []
    ends = offsets_of(np.array(several, dtype=np.int64)).tolist()
    for first, end in pairwise(ends):
        spans = seconds[first:end][usable[first:end]]
        # Of one, as nearly always, without numpy's mean, which takes longer than scoring a pair of keys.
        durations.append(float(spans[0]) if len(spans) == 1 else float(np.mean(spans)) if len(spans) else 0.0)
    if not references.digests and not estimates.digests:
        return (":",) * sum(widths), np.repeat(durations, widths)
    known = [references.digests.get(source, "") for source in references.given.tolist()]
    joined = np.repeat([join_digests(known[first:end]) for first, end in pairwise(ends)], widths).tolist()
    others = [estimates.digests.get(source, "") for source in estimates.given.tolist()]
    both = zip(joined, others, strict=True)
    return tuple(f"{left}:{right}" for left, right in both), np.repeat(durations, widths)
