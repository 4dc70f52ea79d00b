"""Try transformations on cells with low scores, by the metric's own kernel, and say which side is probably wrong.

Causes that cells have in common are joined to one of their track or system.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.classes import Classes
from ..annotations.source import HeldSource, Source
from ..engine.block import BlockWork, TrackWork, score_block
from ..metrics.base import Grid, get_task
from ..metrics.measures import Measure
from ..pipeline.plan import Reference
from ..ragged import Bool, Float
from .transformations import ESTIMATE, PERIODIC, REFERENCE, SUDDEN, TRANSFORMATIONS, Correction, LowPair

ALL = "*"
"""Stands for all tracks, or all systems."""
GAIN = 0.25
"""Least gain of a finding."""
RESULT = 0.7
"""Least score after the transformation."""
LOW = 0.5
"""Scores below this are looked at, whatever the others have."""
BELOW = 0.25
"""Scores so far below the median of their track or of their system are looked at, too."""
MOST = 0.6
"""Share of a track's systems, or of a system's tracks, that makes a cause theirs."""
SHARED_GAIN, SHARED_RESULT = 0.1, 0.4
"""Least gain of a cell, and median result, where most systems of a track, `MANY` or more, would gain by the same."""
MANY = 3
"""Tracks with the same cause from which it may be the system's; systems from which weaker evidence counts."""
ITEMS, FRAMES = 8, 50
"""Events or segments, and frames of pitches, that each side must have; the weight of what is scored, too."""
SINGLE = ("key", "tempo", "classification", "tagging", "retrieval")
"""Tasks of single values."""
MOST_CELLS = 5000
"""Cells of an evaluation that are looked at."""
BATCH = 48
"""Cells that are scored at once."""
_ITEMS_OF_UNIT = 2000
"""Items of both sides for which a cell counts once more."""
_UNREAD = 0.125
"""What a cell counts that is only read, as it has too few items, or only tried with causes of other cells."""
_TRIED = 24
"""Other cells of a system on which a change is tried that made one of its cells right."""
_ALIKE = 0.02
"""Scores so near to the best one are as good: of these the transformation declared first is taken."""
_LEVEL = 0.1
"""Of beats so far below: half a beat later is another level, and a small displacement goes before one by beats."""
_BAR = 0.1
"""Seconds of a displacement of beats from which more is demanded: it may be that of another beat."""
_SECTIONS_RESULT = 0.8
"""Least score of sections that were moved: there are few of them."""
_FAR_RESULT = 0.9
"""Least score of beats moved so far: music repeats itself."""
_NEAR_ONE = 0.2
"""Logarithm of a factor of times from which nothing else can be seen."""
_NEIGHBOURS = 2
"""Tracks before and after, with whose references an estimate is compared."""
_EXCHANGED = 8
"""Other low cells of the system, with whose references it is compared, too."""

Read = Callable[[Source], "Annotation | str"]
"""Gives an annotation, or why there is none."""


@dataclass(frozen=True)
class Judge:
    """Scores pairs in memory under one metric, as a run does."""

    task: str
    convention: str
    measure: Measure
    grid: Grid
    classes: Classes | None = None

    @classmethod
    def of(
        cls,
        task: str,
        convention: str,
        metric: str | None = None,
        grid: Grid | None = None,
        classes: Classes | None = None,
        scored: Sequence[str] | None = None,
    ) -> Judge | None:
        """The judge by a metric, by default the headline, and only by those that were scored, if they are given.

        None where nothing is scored of which the best is a number.
        """
        rules = get_task(task).convention(convention or None, classes)
        measures = [rules.headline(), *rules.select(None)] if metric is None else list(rules.select([metric]))
        if metric is None and scored is not None:
            names = {rule.name for rule in rules.metrics}
            measures = list(rules.select([identity for identity in scored if identity.partition("(")[0] in names]))
            measures.sort(key=lambda measure: measure != rules.headline())
        for measure in measures:
            perfect = measure.metric.perfect
            if measure.metric.orientation == "higher" and perfect is not None and np.isfinite(perfect):
                return cls(task, rules.name, measure, rules.grid(grid), classes)
        return None

    def score(self, pairs: Sequence[LowPair]) -> Float:
        """Scores of pairs, float64 (pairs,); 0 where a pair cannot be scored, or few of its items count."""
        if not pairs:
            return np.zeros(0)
        works = tuple(
            TrackWork(
                str(number),
                (Reference(HeldSource(pair.reference, f"reference {number}")),),
                (ESTIMATE,),
                (HeldSource(pair.estimate, f"estimate {number}"),),
                (0,),
            )
            for number, pair in enumerate(pairs)
        )
        rules = self.task, self.convention, self.grid, (self.measure,)
        cells = score_block(BlockWork("diagnose", *rules, "", works, classes=self.classes))
        few = ~(cells.weight[:, 0] >= ITEMS) & (self.task not in SINGLE)
        return np.where(few, 0.0, np.nan_to_num(cells.score[:, 0]))


@dataclass(frozen=True)
class Board:
    """What is diagnosed: the files of an evaluation, and its scores."""

    evaluation: str
    judge: Judge
    tracks: Sequence[str]
    systems: Sequence[str]
    references: Mapping[str, Source]
    estimates: Mapping[str, Mapping[str, Source]]
    """By system and track."""
    score: Float
    """float64 (systems, tracks); NaN where there is none."""


@dataclass(frozen=True)
class Cause:
    """One cause: what to do to the named side of a cell, a track or a system to make it right."""

    evaluation: str
    track: str
    """`ALL`: most tracks of the system."""
    system: str
    """`ALL`: most systems of the track."""
    change: Correction
    metric: str
    score: float
    would_be: float
    systems: int
    """Systems with the cause."""
    of: int
    """Systems with an estimate of the track."""
    tracks: int = 1
    """Tracks with the cause."""
    out_of: int = 1
    """Tracks of which the system has an estimate."""
    sampled: bool = False
    """Whether `out_of` counts the estimates that were looked at alone."""
    affected: tuple[str, ...] = ()
    """Names of the systems with the cause."""

    @property
    def sentence(self) -> str:
        """The finding in English."""
        more = f": {self.metric} {self.score:.2f} would be {self.would_be:.2f}"
        return self.statement + (more if self.would_be > self.score else "")

    @property
    def statement(self) -> str:
        """The finding without its scores."""
        change, text = self.change, TRANSFORMATIONS[self.change.cause].sentence
        amount, unit = change.amount, change.unit
        if change.cause == "metrical_level":
            # Of those between the beats are as many, and of others the first is the first.
            text = text.replace("right are {amount:.3g} times as many, ", "") if amount == 1 else text
            text = text.replace(", {unit}", "") if unit == "factor" else text
        if unit == "s" and np.isnan(amount):
            text = f"the {{who}} is {TRANSFORMATIONS[change.cause].several}"
        who = "reference (or the recording)" if self.system == ALL and change.side == REFERENCE else change.side
        size, plural = abs(amount), "" if abs(amount) == 1 else "s"
        ways = ("late", "early") if change.cause == "displacement" else ("too high", "too low")
        way = ways[0] if amount < 0 else ways[1]
        return text.format(who=who, amount=amount, size=size, plural=plural, unit=unit, way=way)

    @property
    def remedy(self) -> str:
        """What makes it right: options of reading as YAML, or empty."""
        option = TRANSFORMATIONS[self.change.cause].option(self.change)
        return ", ".join(f"{name}: {value}" for name, value in option.items())


class Diagnosis(NamedTuple):
    """What was found, of how many cells."""

    findings: list[Cause]
    looked: int
    """Cells that were looked at."""
    left: int
    """Low cells of which not every transformation was tried, as there are too many."""


@dataclass
class Cell:
    """A cell that scores low, with the causes found."""

    track: str
    system: str
    pair: LowPair
    others: tuple[str, ...] = ()
    """Tracks to whose references the estimate may belong."""
    score: float = 0.0
    steps: list[tuple[Correction, float, float]] = field(default_factory=list)
    """Changes, one after the other, with the scores before and after each."""
    weak: bool = False
    """Whether the gain is below the bars, so that only other systems of the track can confirm it."""


@np.errstate(all="ignore")  # transformed times and pitches of any file may leave the range of floats
def find_causes(board: Board, read: Read, *, budget: float | None = None) -> Diagnosis:
    """Find the causes of the low scores of an evaluation.

    `read`: reads a source; texts are reasons why there is none. `budget`: cells to look at, where 2,000 items count as
    another cell; that with which it is spent is the last. None: all. What is found depends on the data and on this
    number only, not on the machine. The findings are those
    of systems, of tracks, of cells, by gain.
    """
    # A cell of each track in turn, the lowest scores first.
    mask = low_cells(board.score) | ~np.isfinite(board.score)
    system_of, track_of = np.nonzero(mask)
    order = np.argsort(np.nan_to_num(board.score[mask], nan=-1.0), kind="stable")
    by_track = order[np.argsort(track_of[order], kind="stable")]
    counts = np.bincount(track_of, minlength=board.score.shape[1])
    turn = np.empty(len(order), dtype=np.int64)
    turn[by_track] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    order = order[np.argsort(turn[order], kind="stable")]
    places = list(zip(system_of[order].tolist(), track_of[order].tolist(), strict=True))
    listed = places[:MOST_CELLS]
    low_by_system: dict[int, list[int]] = {}
    for system, track in listed:
        low_by_system.setdefault(system, []).append(track)
    cells: list[Cell] = []
    count, spent = 0, 0.0
    while count < len(listed) and (budget is None or spent < budget):
        batch: list[Cell] = []
        while count < len(listed) and len(batch) < BATCH and (budget is None or spent < budget):
            cell, cost = _read_cell(board, *listed[count], read, low_by_system[listed[count][0]])
            batch += [] if cell is None else [cell]
            spent, count = spent + cost, count + 1
        _diagnose_cells(board, batch, read)
        cells += batch
    sampled = count < len(listed)
    left = sum(bool(np.isfinite(board.score[place])) for place in listed[count:]) + len(places) - len(listed)
    if sampled:
        confirmed = _confirm(board, cells, listed[count:], read, budget or np.inf)
        left -= sum(bool(cell.steps) for cell in confirmed)  # of the others not everything was tried
        cells += confirmed
    low = {board.systems[system]: len(tracks) for system, tracks in low_by_system.items()}
    return Diagnosis(_findings(board, cells, low if sampled else None), len(cells), max(left, 0))


def low_cells(score: Float) -> Bool:
    """Cells whose score is low, by itself, for their track, or for their system.

    Examples
    --------
    >>> low_cells(np.array([[0.9, 0.8, 0.6], [0.9, 0.4, 0.9]])).astype(int).tolist()
    [[0, 0, 0], [0, 1, 0]]
    """
    with np.errstate(all="ignore"):
        filled = np.where(np.isfinite(score), score, np.nan)
        low = filled < LOW
        for axis in (0, 1):
            if score.shape[axis] > 2:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)  # of rows without any score
                    low |= filled < np.nanmedian(filled, axis=axis, keepdims=True) - BELOW
    return low


def _read_cell(board: Board, system: int, track: int, read: Read, low: Sequence[int] = ()) -> tuple[Cell | None, float]:
    """A cell to look at, or None, and what it counts; `low` are tracks whose references it may belong to."""
    name, of = board.tracks[track], board.systems[system]
    sources = board.references.get(name), board.estimates.get(of, {}).get(name)
    if sources[0] is None or sources[1] is None:
        return None, 0.0
    reference, estimate = read(sources[0]), read(sources[1])
    if not isinstance(reference, Annotation) or not isinstance(estimate, Annotation):
        return None, _UNREAD
    frames = FRAMES if reference.kind in ("series", "multipitch") else ITEMS
    least = 1 if board.judge.task in SINGLE else frames
    sizes = [max([len(side), *map(len, side.columns.values())]) for side in (reference, estimate)]
    if min(sizes) < least:
        return None, _UNREAD
    around = [*range(track - _NEIGHBOURS, track + _NEIGHBOURS + 1), *low[:_EXCHANGED]]
    others = tuple(board.tracks[at] for at in dict.fromkeys(around) if at != track and 0 <= at < len(board.tracks))
    return Cell(name, of, LowPair(board.judge.task, reference, estimate), others), 1 + sum(sizes) / _ITEMS_OF_UNIT


def _confirm(
    board: Board, cells: Sequence[Cell], rest: Sequence[tuple[int, int]], read: Read, budget: float
) -> list[Cell]:
    """Other low cells of the tracks and systems of what was found, with what makes them right: without a search."""
    wanted: dict[tuple[int, int], list[Correction]] = {}
    tries: dict[str, int] = {}
    for cell in cells:
        if len(cell.steps) != 1 or cell.weak or cell.steps[0][0].cause == "other_track":
            continue
        for system, track in rest:
            same = board.systems[system] == cell.system
            if board.tracks[track] == cell.track or (same and tries.get(cell.system, 0) < _TRIED):
                tries[cell.system] = tries.get(cell.system, 0) + same
                wanted.setdefault((system, track), []).append(cell.steps[0][0])
    made: list[Cell] = []
    options: list[list[tuple[Correction, ...]]] = []
    spent = 0.0
    for place, changes in wanted.items():
        if spent < budget:
            confirmed, cost = _read_cell(board, *place, read)
            spent += cost * _UNREAD
            if confirmed is not None:
                made.append(confirmed)
                options.append([(change,) for change in changes])
    for cell, some, values in zip(made, options, _try(board.judge, made, options), strict=True):
        _settle(cell, some, values)
    return made


def _diagnose_cells(board: Board, cells: Sequence[Cell], read: Read) -> None:
    """Find the causes of some cells: of one change, of two, and of another track at last."""
    judge = board.judge
    if not cells:
        return
    fitting = [one for one in TRANSFORMATIONS.values() if one.fits(judge.task, cells[0].pair.estimate.kind)]
    usual = [transformation for transformation in fitting if transformation.name != "other_track"]
    tried: list[list[tuple[Correction, ...]]] = [
        [(change,) for one in usual for change in one.search(cell.pair)] for cell in cells
    ]
    results = _try(judge, cells, tried)
    rest: list[Cell] = []
    alone: list[dict[Correction, float]] = []
    again: list[list[tuple[Correction, ...]]] = []
    for cell, options, values in zip(cells, tried, results, strict=True):
        if not _settle(cell, options, values):
            # Other causes cannot be seen before these are undone.
            firsts = [
                (change,)
                for (change,) in options
                if TRANSFORMATIONS[change.cause].first
                and not (change.cause == "time_scale" and abs(np.log(change.amount)) < _NEAR_ONE)
            ]
            rest.append(cell)
            alone.append({option[0]: float(value) for option, value in zip(options, values, strict=True)})
            again.append(
                [
                    (*option, change)
                    for option in firsts
                    for one in usual
                    if one.name in ("displacement", "transposition", "metrical_level", "tuning")
                    for change in one.search(option[0].apply(cell.pair))
                ]
            )
    left: list[Cell] = []
    for cell, options, values, first in zip(rest, again, _try(judge, rest, again), alone, strict=True):
        gained = [value - first[option[0]] >= GAIN for option, value in zip(options, values, strict=True)]
        if not _settle(cell, options, np.where(gained, values, 0.0)):
            left.append(cell)
        elif len(cell.steps) == 2:
            (change, before, _), (second, _, after) = cell.steps
            cell.steps = [(change, before, first[change]), (second, first[change], after)]
    others = TRANSFORMATIONS["other_track"]
    if left and others.fits(judge.task, left[0].pair.estimate.kind):
        for cell in left:
            annotations = {track: read(board.references[track]) for track in cell.others if track in board.references}
            near = {track: one for track, one in annotations.items() if isinstance(one, Annotation) and len(one)}
            cell.pair = replace(cell.pair, others=near)
        last: list[list[tuple[Correction, ...]]] = [[(change,) for change in others.search(cell.pair)] for cell in left]
        for cell, options, values in zip(left, last, _try(judge, left, last), strict=True):
            _settle(cell, options, values)
    for cell, options, values in zip(cells, tried, results, strict=True):
        if not cell.steps and len(values):
            best = int(np.argmax(values))
            change = options[best][0]
            if values[best] - cell.score >= SHARED_GAIN and not TRANSFORMATIONS[change.cause].shared:
                cell.steps, cell.weak = [(change, cell.score, float(values[best]))], True


def _try(judge: Judge, cells: Sequence[Cell], options: Sequence[Sequence[tuple[Correction, ...]]]) -> list[Float]:
    """Scores of each cell after each of its options; its score without any is noted."""
    pairs = []
    for cell, some in zip(cells, options, strict=True):
        pairs.append(cell.pair)
        for changes in some:
            pair = cell.pair
            for change in changes:
                pair = change.apply(pair)
            pairs.append(pair)
    scores = np.concatenate([judge.score(pairs[at : at + 200]) for at in range(0, len(pairs), 200)] or [np.zeros(0)])
    values = iter(np.nan_to_num(scores))
    made = []
    for cell, some in zip(cells, options, strict=True):
        cell.score = float(next(values))
        made.append(np.array([next(values) for _ in some]))
    return made


def _settle(cell: Cell, options: Sequence[tuple[Correction, ...]], values: Float) -> bool:
    """Note the best change of a cell, if it is above the bars."""
    task = cell.pair.task
    good: list[int] = []
    for place, changes in enumerate(options):
        least = max([RESULT, *(TRANSFORMATIONS[change.cause].result for change in changes)])
        # A displacement must lead to a higher score where few times decide, or where they repeat.
        moves = [abs(change.amount) for change in changes if change.cause == "displacement"]
        if moves and task in ("segment", "hierarchy"):
            least = max(least, _SECTIONS_RESULT)
        if task in PERIODIC and any(seconds > _BAR for seconds in moves):
            least = max(least, _FAR_RESULT)
        if values[place] - cell.score >= GAIN and values[place] >= least:
            good.append(place)
    if not good:
        return False
    for weakest in ("sides", "part"):  # a short part of anything may be right, and the whole as the reference of a part
        good = [at for at in good if options[at][-1].cause != weakest] or good
    best = max(float(values[place]) for place in good)
    names = list(TRANSFORMATIONS)
    repeated = {at for at in good if task in PERIODIC and options[at][-1].cause in ("metrical_level", "displacement")}
    distant = {at for at in repeated if options[at][-1].cause == "displacement" and abs(options[at][-1].amount) > _BAR}
    near = repeated - distant
    *_, chosen = min(
        (len(options[at]), names.index(options[at][-1].cause), at in distant, -float(values[at]), at)
        for at in good
        if values[at] >= best - (_LEVEL if at in near else _ALIKE)
    )
    cell.steps = [(change, cell.score, float(values[chosen])) for change in options[chosen]]
    return True


Step = tuple[Cell, Correction, float, float]
"""A change of a cell, with the scores before and after it."""


def _alike_steps(every: Sequence[Step], places: Iterable[int]) -> list[list[int]]:
    """Places of steps by the same change, the most frequent first."""
    groups: list[list[int]] = []
    for place in places:
        cell, change, *_ = every[place]
        near = TRANSFORMATIONS[change.cause].near
        near *= 0.15 if change.unit == "s" and cell.pair.estimate.kind in SUDDEN else 1.0
        near *= abs(change.amount) if change.unit == "factor" else 1.0
        for group in groups:
            other = every[group[0]][1]
            is_same = (change.cause, change.side, change.unit) == (other.cause, other.side, other.unit)
            if is_same and (np.isnan(change.amount) or abs(change.amount - other.amount) <= near):
                group.append(place)
                break
        else:
            groups.append([place])
    return sorted(groups, key=len, reverse=True)


def _middle(every: Sequence[Step], group: Sequence[int]) -> tuple[Correction, float, float]:
    """The change of a group by the median amount, and the mean scores before and after."""
    _, changes, before, after = zip(*(every[place] for place in group), strict=True)
    amounts = sorted(change.amount for change in changes)
    change = replace(changes[0], amount=amounts[len(amounts) // 2])
    if change.cause == "part" and amounts[-1] - amounts[0] > 1:  # each track has another length
        change = replace(change, amount=np.nan)
    return change, float(np.mean(before)), float(np.mean(after))


def _findings(board: Board, cells: Sequence[Cell], low: Mapping[str, int] | None) -> list[Cause]:
    """Join causes: first of tracks, then of systems; what remains are those of cells.

    `low` are the numbers of low cells of systems, of which `cells` are the lowest; None: all.
    """
    if not any(cell.steps for cell in cells):
        return []
    tracks_of_cells = {cell.track for cell in cells}
    systems_of = {track: sum(track in estimates for estimates in board.estimates.values()) for track in tracks_of_cells}
    metric = str(board.judge.measure)
    made: list[Cause] = []
    every = [(cell, *step) for cell in cells for step in cell.steps]
    left = set(range(len(every)))

    weak = {place for place in left if every[place][0].weak}
    shared: list[tuple[list[int], str, int]] = []
    for track, count in systems_of.items():
        for group in _alike_steps(every, sorted(place for place in left if every[place][0].track == track)):
            names = {every[place][0].system for place in group}
            results = np.median([every[place][3] for place in group])
            few = weak & set(group) and (len(names) < MANY or results < SHARED_RESULT)
            if len(names) >= max(2, MOST * count) and not few:
                shared.append((group, track, count))
    if len(shared) < max(MANY, MOST * len(board.tracks)):  # otherwise it is all systems that have the cause
        heads = [_middle(every, group) for group, _, _ in shared]
        # The reference is changed, if it can be, and all pairs of the track are scored again.
        undone = [change.inverse() for change, _, _ in heads]
        again = [
            [change.apply(every[place][0].pair) for place in group] if change is not None else []
            for (group, _, _), change in zip(shared, undone, strict=True)
        ]
        values = iter(np.nan_to_num(board.judge.score(list(chain.from_iterable(again)))).tolist())
        for (group, track, count), (change, score, would_be), other in zip(shared, heads, undone, strict=True):
            better = 0.0 if other is None else float(np.mean([next(values) for _ in group]))
            if other is not None and better - score >= SHARED_GAIN:
                change, would_be = other, better
            single = board.judge.task in ("key", "tempo")
            if not single or (change.cause == "transposition" and abs(change.amount) == 1):
                has_cause = {every[place][0].system for place in group}
                affected = tuple(system for system in board.systems if system in has_cause)
                counted = len(group), count, 1, 1, False, affected
                made.append(Cause(board.evaluation, track, ALL, change, metric, score, would_be, *counted))
            left -= set(group)
    for system, estimates in board.estimates.items():
        count = 0
        for group in _alike_steps(every, sorted(place for place in left if every[place][0].system == system)):
            tracks = len({every[place][0].track for place in set(group) - weak})
            if tracks < (MANY if low is None else 2 * MANY):
                continue
            count = count or sum(track in board.references for track in estimates)  # of a million files this takes time
            looked = sum(cell.system == system for cell in cells)
            enough = (tracks if low is None else low.get(system, 0)) >= MOST / 2 * count
            if enough and tracks >= MOST * max(min(count, looked), 1):
                out_of = count if low is None else looked
                change, score, would_be = _middle(every, group)
                number = len({every[place][0].track for place in group})
                counted = 1, 1, number, out_of, out_of < count, (system,)
                made.append(Cause(board.evaluation, ALL, system, change, metric, score, would_be, *counted))
                left -= set(group)
    for place in sorted(left - weak):
        cell, change, score, would_be = every[place]
        # One key or tempo alone is made right by some transformation.
        if not (TRANSFORMATIONS[change.cause].shared or board.judge.task in ("key", "tempo")):
            counted = 1, systems_of[cell.track], 1, 1, False, (cell.system,)
            made.append(Cause(board.evaluation, cell.track, cell.system, change, metric, score, would_be, *counted))
    order = {(True, False): 0, (False, True): 1, (False, False): 2}
    return sorted(
        made,
        key=lambda one: (order[one.track == ALL, one.system == ALL], one.score - one.would_be, one.track, one.system),
    )
