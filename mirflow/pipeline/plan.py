"""Plans of evaluations: the files that are compared, their fingerprints, and the cells that are out of date.

A plan reads no annotation. It knows the sizes and versions of the files, and what a store already holds. The cells that
a run would compute, or remove from the store, are counted here for messages; removing more than a tenth of the store
needs permission.
"""

from __future__ import annotations

import hashlib
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..annotations.classes import Classes
from ..annotations.source import Source
from ..errors import MirflowWarning, PruneError, counted, name_some, visible
from ..metrics.base import Grid, chosen_grid
from ..metrics.measures import Measure
from ..progress import Progress
from ..ragged import Bool, Int
from ..store.cells import Caution, CellPlaces, Entry, GroupContent, Status
from ..store.format import SIGNATURES, Array, dense_cells

Combine = Literal["", "mean", "max", "each"]
"""What becomes of the scores against several references; empty where there is one."""

Metadata = Mapping[str, tuple[Entry, ...]]

COUNTS = ("new", "changed", "retried", "reused", "removed")

# Outcomes that may be different next time although no file changed: reading failed, or a worker did.
_RETRIED = (Status.not_computed, Status.unreadable, Status.failed)
_MISSING = (Status.missing_reference, Status.missing_estimate)


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference of a track; `annotator` is empty where there is only one."""

    source: Source
    annotator: str = ""


@dataclass(frozen=True, kw_only=True)
class EvaluationFiles:
    """The files that one evaluation compares."""

    name: str
    task: str
    convention: str  # ``name`` is the group in the store
    systems: tuple[str, ...]
    tracks: tuple[str, ...]
    references: tuple[tuple[Reference, ...], ...]  # empty for a track without a reference
    estimates: tuple[Sequence[Source | None], ...]
    classes: Classes | None = None  # the classes or tags, if the evaluation declares them
    patches: tuple[Mapping[str, Any], ...] = ()
    """What patches have corrected in the references: file, tracks, authors, reasons and dates."""
    plugins: tuple[str, ...] = ()
    """Python files and modules that declare tasks and readers, which workers import."""


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan(EvaluationFiles):
    """Cells of one evaluation, and the settings on which their scores depend.

    Notes
    -----
    Cells are numbered as ``system * len(tracks) + track``, the order of a flattened ``(systems, tracks)`` array.
    """

    grid: Grid
    measures: tuple[Measure, ...]
    combine: Combine
    """Combination of the scores against several references of a track; empty if there is only one."""
    track_meta: Metadata
    system_meta: Metadata
    """Columns of metadata, one value per track or system: all of one type (str, int, float or bool), or None where
    a value is missing."""
    stamps: Int  # fingerprint of the input files of each cell
    signatures: Mapping[str, str]
    """For each measure, by its identity, a fingerprint of everything except the files that its scores depend on."""
    on_error: str = "record"
    max_block: int = 64  # most tracks in a block
    allows_itself: bool = False  # whether an annotation may be scored against itself, whoever made it
    cautions: tuple[Caution, ...] = ()  # warnings, which the store keeps
    reading: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of reading of each side for which the convention has defaults."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of systems and of tracks."""
        return len(self.systems), len(self.tracks)

    @cached_property
    def places(self) -> CellPlaces:
        """Where cells are in arrays of this shape."""
        return CellPlaces(self.systems, self.tracks)

    @property
    def signature(self) -> str:
        """Fingerprint of all measures together and of how annotators are combined."""
        return fingerprint(*sorted(self.signatures.values()))

    @property
    def annotators(self) -> tuple[str, ...]:
        """Names of all annotators of the references, sorted; empty where they have none."""
        names = {reference.annotator for references in self.references for reference in references}
        return tuple(sorted(names - {""}))


@dataclass(frozen=True)
class Stale:
    """Cells of a plan that have to be computed: bool (systems, tracks); with their numbers by :data:`COUNTS`. ``new``
    (not in the store), ``changed`` (a file or the measures), ``retried`` (failed last time), ``reused``, and
    ``removed`` (in the store, no longer in the plan)."""

    cells: Bool
    counts: Mapping[str, int] = field(default_factory=dict)


def fingerprint(*parts: str) -> str:
    """Return a short stable fingerprint of texts: 16 hexadecimal digits."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


NAME_BITS = np.uint64(2**64 - 2**40)  # those of a stamp that only depend on the names of the files


def cell_stamps(references: Sequence[Sequence[Reference]], estimates: Sequence[Sequence[Source | None]]) -> Int:
    """Fingerprints of all cells: int64 (systems, tracks), never 0; `estimates` by system and track. The first 24 bits
    change with the names of the files only, the others with their sizes and versions, too."""
    tracks = np.zeros((2, len(references)), dtype=np.uint64)
    for index, of_track in enumerate(references):
        several = [_stamp(reference.source) for reference in of_track]
        if len(several) > 1:
            joined = (",".join(map(str, values)).encode() for values in zip(*several, strict=True))
            whole, names = (hashlib.blake2b(text, digest_size=8).digest() for text in joined)
            several = [(int.from_bytes(whole, "little"), int.from_bytes(names, "little"))]
        if several:
            tracks[:, index] = several[0]
    stamps = np.zeros((2, len(estimates), len(references)), dtype=np.uint64)
    for row, sources in enumerate(estimates):
        both = [(0, 0) if source is None else _stamp(source) for source in sources]
        stamps[:, row] = np.array(both, dtype=np.uint64).reshape(-1, 2).T
    bits: np.ndarray[Any, np.dtype[np.uint64]] = np.zeros((2, 1, 1), dtype=np.uint64)
    for summand in (tracks[:, np.newaxis, :], stamps):
        # The finaliser of splitmix64 (Steele, Lea and Flood 2014) spreads every input bit over all output bits.
        bits = (bits ^ summand) + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    mixed: Int = (bits[1] & NAME_BITS | bits[0] & ~NAME_BITS).view(np.int64)
    mixed[mixed == 0] = 1
    return mixed


def _stamp(source: Source) -> tuple[int, int]:
    """Fingerprints of a source's name, size and version, and of its name alone."""
    size, version = source.stat()
    label = source.label
    whole = hashlib.blake2b(f"{label}\0{size}\0{version}".encode(), digest_size=8)
    return int.from_bytes(whole.digest(), "little"), zlib.crc32(label.encode())


def stale_cells(
    plan: EvaluationPlan, before: GroupContent | None, force: bool = False, share: Bool | None = None
) -> Stale:
    """Find the cells that have to be computed; all of them with `force`; only of a `share`, which removes none. A
    stored cell is reused if its files' stamps are the same, every measure of the plan is stored under the same
    signature, and its outcome is not one that another try may change. `before` is the content of the store; None:
    nothing."""
    shape = plan.shape
    selected = np.ones(shape, dtype=np.bool_) if share is None else share
    if before is None:
        return Stale(selected, dict.fromkeys(COUNTS, 0) | {"new": int(selected.sum())})
    sides = (plan.systems, set(before.systems)), (plan.tracks, set(before.tracks))
    known = np.logical_and.outer(*([name in held for name in names] for names, held in sides))
    stored = before.attrs.get(SIGNATURES, {})
    same_measures = all(stored.get(name) == text for name, text in plan.signatures.items())
    changed, retried, start = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_), 0
    for part in replace(before, systems=plan.systems, tracks=plan.tracks).blocks():
        rows = slice(start, start := start + len(part.systems))
        dense = dense_cells(part, ["stamp", "status"])
        changed[rows] = known[rows] & ((dense["stamp"] != plan.stamps[rows]) | (not same_measures) | force)
        retried[rows] = known[rows] & ~changed[rows] & worth_retrying(plan, dense["status"], rows.start)
    new = ~known
    cells = new | changed | retried
    removed = 0 if share is not None else len(before.systems) * len(before.tracks) - int(known.sum())
    masks = new, changed, retried, ~cells
    counts = dict(zip(COUNTS, (*(int((mask & selected).sum()) for mask in masks), removed), strict=True))
    return Stale(cells & selected, counts)


def worth_retrying(plan: EvaluationPlan, status: Array, first: int) -> Bool:
    """Select outcomes that may have been temporary; a missing file is tried again only if it exists now. `first` is the
    system of the first row of `status`."""
    retried: Bool = np.isin(status, _RETRIED)
    for system, track in zip(*np.nonzero(np.isin(status, _MISSING)), strict=True):
        complete = plan.estimates[first + system][track] is not None and plan.references[track]
        retried[system, track] = bool(complete)
    return retried


def describe(plan: EvaluationPlan, stale: Stale) -> str:
    """Describe the cells that a run would compute, in a few lines for one evaluation."""
    systems, tracks = plan.shape
    without_reference = [name for name, reference in zip(plan.tracks, plan.references, strict=True) if not reference]
    missing = sum(source is None for row in plan.estimates for source in row)
    rules = ", ".join(filter(None, (plan.convention, chosen_grid(plan.task, plan.convention, plan.grid))))
    lines = [
        f"{plan.name}: {plan.task} ({rules}), {counted(systems, 'system')} x "
        f"{counted(tracks, 'track')}, {counted(len(plan.measures), 'metric')}",
        f"  to compute {np.count_nonzero(stale.cells)} of {counted(systems * tracks, 'cell')}: "
        + ", ".join(f"{count} {reason}" for reason, count in stale.counts.items()),
    ]
    if plan.annotators:
        lines.append(
            f"  references by {len(plan.annotators)} annotators ({plan.combine}): {name_some(plan.annotators)}"
        )
    if without_reference:
        lines.append(f"  tracks without a reference: {len(without_reference)} ({name_some(without_reference)})")
    if missing:
        lines.append(f"  estimates missing: {missing}")
    return "\n".join(lines)


Prune = bool | Callable[[str], bool]


def find_removal(befores: Iterable[GroupContent], plans: Sequence[EvaluationPlan]) -> tuple[str, bool]:
    """What a run removes, the cells of stored groups that none of the plans has, for messages; empty if nothing. And
    whether it is more than a tenth of the store."""
    planned = {plan.name: plan for plan in plans}
    cells = stored = 0
    what: list[str] = []
    for before in befores:
        size = before.shape[0] * before.shape[1]
        stored += size
        if before.name not in planned:
            cells += size
            what.append(f"the evaluation {before.name}")
            continue
        plan = planned[before.name]
        sides = ("system", before.systems, set(plan.systems)), ("track", before.tracks, set(plan.tracks))
        gone = {noun: [name for name in names if name not in remaining] for noun, names, remaining in sides}
        left = (before.shape[0] - len(gone["system"])) * (before.shape[1] - len(gone["track"]))
        if size > left:
            cells += size - left
            lists = []
            for noun, names in gone.items():
                lists += [f"{noun}s {name_some([*map(repr, names)])}"] if names else []
            what.append(f"{before.name}: {', '.join(lists)}")
    of = f"{cells} of {counted(stored, 'stored cell')}"
    removal = f"removes {of}, which the pipeline no longer names: {'; '.join(what)}"
    return removal if cells else "", 10 * cells > stored


def demand_leave(
    plans: Sequence[EvaluationPlan], before: Mapping[str, GroupContent], path: str | Path, prune: Prune, shown: Progress
) -> None:
    """Report the cells to be removed from the store; removing many needs permission."""
    names = dict.fromkeys([*(plan.name for plan in plans if plan.name in before), *before])
    removal, is_large = find_removal([before[name] for name in names], plans)
    if not removal:
        return
    message = f"{path}: the run {removal}"
    shown.stage("")
    if prune is True:
        shown.message(visible(message))
    elif not is_large:
        warnings.warn(message, MirflowWarning, stacklevel=3)
    elif prune is False or not prune(message):
        remedy = "--prune (in Python prune=True) lets them go; to keep them, name them again, or another store"
        raise PruneError(f"{message}; {remedy}")
