"""Score annotations in memory, in two files or in two folders, without a pipeline file.

`evaluate` scores one pair or collections of a single system, `score` one or several systems, streams of pairs, or lazy
collections, and `evaluate_paths` files, folders and packs. Options of reading are refused where nothing is read. Names
in lists, such as rankings, are matched with those of the references.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..annotations.annotation import Annotation, AnnotationLike
from ..annotations.classes import Classes, as_classes
from ..annotations.schema import kind_of
from ..annotations.source import Source
from ..causes.low_cells import LowCells, describe
from ..engine.block import BlockWork, TrackWork, block_size, score_block
from ..engine.runs import open_plan, raise_failure
from ..errors import (
    AnnotationError,
    InvalidAnnotationError,
    MetricError,
    MirflowError,
    RunError,
    ScoreError,
    ScoringInterrupted,
    UnknownNameError,
    counted,
    warn_caller,
)
from ..metrics.base import Convention, Grid, MetricLike, get_task
from ..metrics.edits import LOST
from ..metrics.measures import Measure
from ..pipeline.plan import EvaluationPlan
from ..progress import Progress, progress_of
from ..readers import read
from ..readers.audio_files import SUFFIXES as AUDIO
from ..readers.audio_files import audio_folders
from ..readers.beat_collections import without_positions
from ..readers.content import files_below, unreadable
from ..readers.formats import SUFFIXES, format_named, is_annotation_file
from ..readers.names import (
    NAMED,
    ReferenceNames,
    RenamedSource,
    call_tracks,
    describe_clash,
    describe_unpaired,
    nearest_names,
)
from ..readers.objects import VOCABULARY, ObjectSource, in_vocabulary, is_read
from ..readers.options import OPTIONS, SIDES, Reading, split_sides
from ..readers.sources import FileSource, FilesSource, has_parts, select_from, source_at
from ..readers.tables.table import RowKey, TableSource, is_table, open_table
from ..store.cells import SCORED, Caution, Cells, GroupContent, Status, concatenate_cells, no_cells, text_of
from ..store.format import kept_settings, metric_coords
from ..store.packs import PackSource, open_pack
from ..store.read import dataset_of
from ..store.write import software_versions
from ..theory.text_form import normal_form
from .result_warnings import describe_doubts, warn_of_results
from .sides import (
    ESTIMATE,
    EstimatesLike,
    Plain,
    TracksLike,
    are_lazy,
    demand_kind,
    grid_of,
    holds_tracks,
    sources_of,
    stream,
    systems_of,
    task_of,
    to_plain,
    work_of,
)

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class EvaluationRules:
    """Task, convention, grid, metrics and classes by which pairs in memory are scored."""

    task: str
    convention: Convention
    grid: Grid
    measures: tuple[Measure, ...]
    classes: Classes | None = None

    @classmethod
    def of(
        cls,
        task: str,
        metrics: MetricLike | Sequence[MetricLike] | None = None,
        convention: str | None = None,
        grid: Grid | None = None,
        classes: Classes | Sequence[str] | None = None,
    ) -> EvaluationRules:
        """Build the rules from the arguments of `evaluate`."""
        classes = as_classes(classes)
        rules = get_task(task).convention(convention, classes)
        measures = rules.select(metrics)
        rules.demand_classes(measures)
        chosen = rules.grid(grid)
        measures = rules.on_grid(measures, chosen, asked=metrics is not None)
        return cls(task, rules, chosen, measures, classes)

    def score(self, works: Sequence[TrackWork]) -> Cells:
        """Score the pairs of some tracks at once; each system of each track gives a cell, even if it fails."""
        if self.convention.reading:
            works = [work.map_sources(self.with_options, self.with_options) for work in works]
        rules = self.task, self.convention.name, self.grid, self.measures
        return score_block(BlockWork("evaluate", *rules, "", tuple(works), classes=self.classes))

    def low_cells(self) -> LowCells:
        """What notes the low cells of what is scored by the rules; none where kinds of errors say what is wrong."""
        measures = () if any(measure.metric.name == LOST for measure in self.measures) else self.measures
        return LowCells(self.task, self.convention.name, measures, self.grid, self.classes)

    def with_options(self, source: Source) -> Source:
        """Apply the convention's options of reading to a source, if it is an object in memory."""
        if not isinstance(source, ObjectSource):
            return source
        return replace(source, options={**self.convention.reading, **(source.options or {})})

    def dataset(
        self,
        parts: Iterable[Cells],
        systems: Sequence[str] | None = None,
        tracks: Sequence[str] | None = None,
        cautions: Iterable[Caution] = (),
    ) -> xr.Dataset:
        """Return the scores of blocks in the form of a group of a store. Names of systems and tracks are in the order
        of the dataset; None: in order of appearance. Cautions are warnings about the meaning of the scores."""
        scalars = tuple(str(measure) for measure in self.measures if not measure.metric.dims)
        cells = concatenate_cells([no_cells(scalars), *parts])
        rows = tuple(dict.fromkeys(cells.system) if systems is None else systems)
        columns = tuple(dict.fromkeys(cells.track) if tracks is None else tracks)
        settings = self.task, self.convention.name, self.grid, "", self.measures, self.classes, cautions
        attrs = kept_settings(*settings, {"versions": software_versions()})
        return dataset_of(GroupContent(self.task, rows, columns, cells, metric_coords(self.measures), attrs=attrs))

    def lazy_dataset(
        self, works: Sequence[TrackWork], cautions: Iterable[Caution], block: int | None = None
    ) -> xr.Dataset:
        """The same dataset of lazy arrays, in chunks of at most `block` tracks; None: 64, or 1 for audio."""
        systems, tracks = works[0].systems, tuple(work.track for work in works)
        plan = EvaluationPlan(
            name="evaluate",
            task=self.task,
            convention=self.convention.name,
            grid=self.grid,
            measures=self.measures,
            classes=self.classes,
            systems=systems,
            tracks=tracks,
            references=tuple(work.references for work in works),
            estimates=tuple(zip(*(work.estimates for work in works), strict=True)),
            combine="",
            track_meta={},
            system_meta={},
            stamps=np.zeros((len(systems), len(tracks)), dtype=np.int64),
            signatures={},
            max_block=block or block_size(self.task),
            allows_itself=True,
        )
        lazy = open_plan(plan)
        lazy.attrs = self.dataset([], works[0].systems, (), cautions).attrs
        return lazy


def evaluate(
    reference: AnnotationLike | TracksLike,
    estimate: AnnotationLike | TracksLike,
    task: str | None = None,
    *,
    metrics: MetricLike | Sequence[MetricLike] | None = None,
    convention: str | None = None,
    grid: Grid | None = None,
    classes: Classes | Sequence[str] | None = None,
    **options: Any,
) -> xr.Dataset:
    """Score an estimate against a reference, or a collection of estimates against references track by track.

    Parameters
    ----------
    reference, estimate : xr.Dataset, Annotation, Collection, LazyCollection, path or jams object
        Two annotations, in any form that :func:`mirflow.annotation` takes, or two collections, of which the union of
        the tracks is scored. Either may be on frames, as :func:`mirflow.align` returns them. The files of a lazy
        collection are read block by block; a file that cannot be read gives a track with that status. If both are
        lazy, so are the scores, whose ``status`` and ``message`` hold what would be warned of. Audio may also be
        a folder, a list of paths, or a path with ``{source}``: one file for each source.
    task : str or None
        None: the task passed to `load`, the one that JAMS names, or the only one with metrics for this kind.
    metrics : str, callable, sequence of these, or None
        Identities such as ``majmin`` or ``csr@root``, ``my_metrics.py:name``, or functions of one pair (see
        :func:`mirflow.pair_metric`); None: the defaults of the convention.
    convention : str or None
        None: the task's first convention, which is mir_eval's.
    grid : str, float or None
        ``union`` or the hop of frames in seconds; None: the convention's default, or the frames of what was aligned.
    classes : Classes, sequence of str, or None
        The classes or tags, for tasks that compare them.
    **options
        Options of reading files and jams objects, as for :func:`mirflow.load`: for both sides, or for one side with
        the prefix ``reference_`` or ``estimate_``, such as ``estimate_time_unit="ms"``.

    Returns
    -------
    xr.Dataset
        ``score`` and ``weight`` float64 over ``metric`` (and ``track``), ``status`` and ``message`` over ``track``,
        and a variable for each metric with extra dims.

    Raises
    ------
    AnnotationError
        If one of two single annotations cannot be scored; in collections, its track gets a status and a message. If an
        option of reading does not exist, or applies to a side that is not read. If two tracks of the estimate match
        the same track of the reference without folders and suffixes.

    Warns
    -----
    MirflowWarning
        As for :func:`mirflow.score`.

    Examples
    --------
    >>> import numpy as np
    >>> ref = Annotation("intervals", {"start": np.array([0.0, 3.0]), "end": np.array([3.0, 4.0])}, ["C:maj", "G:7"])
    >>> est = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([4.0])}, ["C:maj"])
    >>> scores = evaluate(ref, est, "chord", metrics=["majmin", "sevenths"])
    >>> scores.score.sel(metric="majmin").item(), scores.weight.sel(metric="majmin").item()
    (0.75, 4.0)
    """
    task = task_of(reference, estimate) if task is None else task
    grid = grid_of(grid, reference, estimate)
    left, right = plain_pair(reference, estimate, task, convention, options)
    single = isinstance(left, Annotation)
    if single != isinstance(right, Annotation):
        raise AnnotationError("evaluate two annotations or two collections, not one of each")
    rules = EvaluationRules.of(task, metrics, convention, grid, classes)
    for side, value in (("reference", left), ("estimate", right)):
        demand_kind(task, side, value.kind)
    if isinstance(left, Annotation) and isinstance(right, Annotation):
        sources = (ObjectSource(one, task, side) for one, side in ((left, "reference"), (right, "estimate")))
        works = [work_of("", next(sources), {ESTIMATE: next(sources)})]
    else:
        by_track = sources_of(left, task, "reference")
        systems, tracks = _tracks_of(by_track, {ESTIMATE: sources_of(right, task, "estimate")}, task)
        works = list(_pair_up(by_track, systems, tracks))
    if are_lazy(left, right) and works:
        lazy = rules.lazy_dataset(*_with_matched_names(rules, works, single=False))
        return lazy.drop_vars("digest").isel(system=0, drop=True)
    parts, cautions, causes = _score_at_once(rules, works, single=single)
    # Digests belong to files, which collections in memory no longer have.
    result = rules.dataset(parts, cautions=cautions).drop_vars("digest")
    result = result.isel(system=0, drop=True)
    if single:
        result = result.isel(track=0, drop=True)
        if Status(int(result.status)) not in SCORED:
            raise InvalidAnnotationError(text_of(str(result.message.item())))
    warn_of_results(concatenate_cells(parts), causes)
    return result


def _pair_up(
    references: Mapping[str, Source], systems: Mapping[str, Mapping[str, Source]], tracks: Iterable[str]
) -> Iterator[TrackWork]:
    """The work of each track, whose sources are only asked for when it is needed."""
    names, sides = tuple(systems), tuple(systems.values())
    for track in tracks:
        yield work_of(track, references.get(track), dict(zip(names, (side.get(track) for side in sides), strict=True)))


def _tracks_of(
    references: Mapping[str, Source], systems: Mapping[str, Mapping[str, Source]], task: str
) -> tuple[Mapping[str, Mapping[str, Source]], list[str]]:
    """The systems, with the tracks that they call otherwise under the names of the references, and all tracks."""
    if kind_of(task).name in NAMED:
        named = {system: call_tracks(estimates, references) for system, estimates in systems.items()}
        systems = {
            system: {named[system][track]: source for track, source in estimates.items()}
            for system, estimates in systems.items()
        }
    return systems, list(dict.fromkeys(chain(references, *systems.values())))


def plain_pair(
    reference: Any, estimate: Any, task: str | None, convention: str | None, options: Mapping[str, Any]
) -> tuple[Plain, Plain]:
    """Both sides; files are read with their options and those of the convention."""
    if task is not None:
        _refuse_parameters(options, get_task(task).convention(convention))
    by_side = split_sides(options)  # refuses unknown ones
    defaults = {} if task is None else get_task(task).convention(convention).reading
    read_now = [is_read(value, task) for value in (reference, estimate)]
    _demand_read([name for name in options if name not in _OF_LABELS], read_now)
    sides: list[Plain] = []
    for side, value, now, chosen in zip(SIDES, (reference, estimate), read_now, by_side, strict=True):
        try:
            if now and task is not None:
                sides.append(read(value, task=task, **{**defaults, **chosen}))
            else:
                plain = to_plain(value, task, defaults)
                if isinstance(plain, Annotation):
                    plain = in_vocabulary(plain, task, chosen)
                else:
                    _refuse_vocabulary(chosen)
                sides.append(plain)
        except InvalidAnnotationError as error:
            if error.path is not None:
                raise
            raise InvalidAnnotationError(error.message, path=side, line=error.line) from None
    return sides[0], sides[1]


_IN_MEMORY = {
    "columns": "rename the columns",
    "time_unit": "convert the times, as in times / 1000",
    "pitch_unit": "mirflow.metrics.util.midi_to_hz converts pitches",
    "hop": "the frames of scores are a grid, as in grid=0.01",
}
"""Alternatives to options of reading for annotations in memory."""
_OF_LABELS = frozenset(f"{side}{name}" for side in ("", *(f"{side}_" for side in SIDES)) for name in VOCABULARY)
"""Options that also apply to the labels of annotations in memory, of both sides or one."""


def _demand_read(names: Iterable[str], read: Sequence[bool]) -> None:
    """Refuse options of reading for sides that are not read."""
    for name in names:
        side = next((side for side in SIDES if name.startswith(f"{side}_")), None)
        if not (any(read) if side is None else read[SIDES.index(side)]):
            remedy = _IN_MEMORY.get(name.removeprefix(f"{side}_"), "")
            raise AnnotationError(
                f"{name} is an option of reading, but the {side or 'annotations'} in memory are not read"
                + (f": {remedy}" if remedy else "")
            )


def _refuse_parameters(options: Mapping[str, Any], convention: Convention) -> None:
    every = [(metric, parameter) for metric in convention.metrics for parameter in metric.parameters]
    for name, value in options.items():
        match = next((pair for pair in every if name in (pair[1].name, pair[1].mir_eval)), None)
        if name not in OPTIONS and match is not None:
            metric, parameter = match
            try:
                written = str(metric.measure(**{parameter.name: value}))
            except MirflowError:
                written = f"{metric.name}({parameter.name}=...)"
            raise MetricError(f"{name} is a parameter of metrics: write metrics=[{written!r}]")


def _refuse_vocabulary(options: Mapping[str, Any]) -> None:
    name = next((name for name in VOCABULARY if options.get(name) is not None), None)
    if name is not None:
        message = f"{name} applies to files and single annotations; give it to the function that reads the collection"
        raise AnnotationError(message)


def _score_at_once(
    rules: EvaluationRules, works: Sequence[TrackWork], *, single: bool
) -> tuple[list[Cells], list[Caution], LowCells]:
    """The results of one system, block by block, warnings about all of them, and the cells that are low."""
    works, cautions = _with_matched_names(rules, works, single=single)
    causes, parts = rules.low_cells(), []
    for block in _blocks(works, block_size(rules.task)):
        parts.append(rules.score(block))
        causes.add(block, parts[-1])
    return parts, cautions, causes


def _blocks(works: Iterable[TrackWork], size: int) -> Iterator[list[TrackWork]]:
    """Split the work into blocks; if reading fails, the work before the failure is yielded first."""
    block: list[TrackWork] = []
    try:
        for work in works:
            block.append(work)
            if len(block) == size:
                yield block
                block = []
    except ScoreError:
        if block:
            yield block
        raise
    if block:
        yield block


def _with_matched_names(
    rules: EvaluationRules, works: Sequence[TrackWork], *, single: bool
) -> tuple[Sequence[TrackWork], list[Caution]]:
    """Rename items as in the references if no name matches otherwise; and warn about names that match nowhere. A single
    pair keeps its names, so that its score does not depend on other pairs: a list without relevant items is suspicious
    only if names in the reference have other folders or suffixes."""
    kind = kind_of(rules.task).name
    if kind not in NAMED or rules.classes is not None or not works:
        return works, []
    references = ReferenceNames(
        kind, {work.track: [reference.source for reference in work.references] for work in works}
    )
    cautions: list[Caution] = []
    renamed = list(works)
    for index, system in enumerate(works[0].systems):
        estimates_of = {work.track: source for work in works if (source := work.estimates[index]) is not None}
        matched, warning = references.match(estimates_of, system)
        if single:
            pairs = [source.names[0] for source in matched.values() if isinstance(source, RenamedSource)]
            warning = "".join(
                f"no name matches: {listed!r} is listed, the reference has {true!r}; use the same names"
                for listed, true in pairs
            )
        else:
            for row, work in enumerate(renamed):
                estimates = *work.estimates[:index], matched.get(work.track), *work.estimates[index + 1 :]
                renamed[row] = replace(work, estimates=estimates)
        if warning:
            warn_caller(warning)
            cautions.append(Caution(warning, system))
    return renamed, cautions


def score(
    references: TracksLike | Iterable[tuple[Any, ...]],
    estimates: EstimatesLike | None = None,
    task: str | None = None,
    *,
    metrics: MetricLike | Sequence[MetricLike] | None = None,
    convention: str | None = None,
    grid: Grid | None = None,
    classes: Classes | Sequence[str] | None = None,
    on_error: Literal["keep", "raise"] = "keep",
    progress: bool | Progress | None = None,
    block: int | None = None,
    **options: Any,
) -> xr.Dataset:
    """Score data in memory: estimates of one or several systems against references.

    Parameters
    ----------
    references : mapping, collection, data frame or iterable
        Annotations by track: a mapping of tracks to annotations, a collection (lazy ones are read block by block, and
        if all sides are lazy, so are the scores) or its dataset, or a data frame with a column ``track`` and the
        columns of the kind. Without estimates, an iterable of (track, reference, estimate) or (track, system,
        reference, estimate), which is consumed block by block, so
        that names of items are not matched. An annotation is any argument of :func:`mirflow.annotation`: a tuple of
        arrays in mir_eval's order, a dict of columns, a dataset, an object of jams, pretty_midi or mirdata, or a path.
    estimates : the same, or None
        The estimates of one system, called ``estimate``; a mapping of systems to estimates; or a data frame with a
        column ``system``.
    task : str or None
        None: the task that a collection was loaded for, or the only one of its kind.
    metrics, convention, grid, classes
        As for :func:`mirflow.evaluate`.
    on_error : {"keep", "raise"}
        ``keep``: an annotation that cannot be scored, or is missing on one side, gives a cell with that status and a
        message. ``raise``: raise an error that names its track and system.
    progress : bool, Progress or None
        Whether to show the number of tracks; None: on a terminal or in a notebook.
    block : int or None
        Maximum number of tracks scored at once; None: 64, or 1 for audio. Scores do not depend on it.
    **options
        Options of reading files and jams objects, as for :func:`mirflow.evaluate`; ``labels`` and ``notation`` also
        apply to labels in memory.

    Returns
    -------
    xr.Dataset
        In the form of a group of a store, over (system, track, metric): ``score``, ``weight``, ``status``,
        ``message``, ``repairs``, ``duration`` [s], and a variable for each metric with extra dims. Query it with the
        accessor ``.mirflow``, and write it with :func:`mirflow.save`.

    Raises
    ------
    AnnotationError
        If there is nothing to score, or references or estimates have an unsupported form.
    ScoreError
        If a cell fails under ``on_error="raise"``, or an iterable raises, repeats a pair, or yields other items than
        pairs. Its attribute ``scores`` is the dataset of the scores computed before.
    ScoringInterrupted
        A KeyboardInterrupt, raised by Ctrl-C, whose attribute ``scores`` is the dataset of the scores computed before.

    Warns
    -----
    MirflowWarning
        Once for all annotations that cannot be scored, with their number and the first reason; for a system without
        tracks of the references; for pairs that seem to have different units or belong to different recordings; and for
        metrics that had nothing to measure in any cell (weight 0), whose score, mir_eval's 0, is not a measurement.

    Examples
    --------
    >>> import numpy as np
    >>> references = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.5, 1.5])}
    >>> estimates = {"ours": {"a": np.array([1.01, 2.0]), "b": np.array([0.5, 1.5])}, "theirs": {"a": np.array([2.0])}}
    >>> scores = score(references, estimates, "onset", metrics=["f_measure"])
    >>> scores.score.sel(metric="f_measure").values.round(3).tolist()
    [[0.8, 1.0], [0.5, nan]]
    >>> scores.mirflow.query("f_measure", "mean", missing="zero")["value"].values.ravel().tolist()
    [0.9, 0.25]
    """
    if on_error not in ("keep", "raise"):
        raise UnknownNameError("on_error", str(on_error), ("keep", "raise"))
    if block is not None and block < 1:
        raise AnnotationError(f"invalid block {block}: expected at least 1")
    task = task_of(references) if task is None else task
    grid = grid_of(grid, references, estimates)
    rules, kind = EvaluationRules.of(task, metrics, convention, grid, classes), kind_of(task)
    size = block_size(task) if block is None else block
    _refuse_parameters(options, rules.convention)
    read_by = partial(_read_by_options, sides=split_sides(options), names=list(options))
    if estimates is None:
        if holds_tracks(references, kind):
            raise AnnotationError("estimates are missing; otherwise, pass pairs of (track, reference, estimate)")
        pairs: Any = references
        total = len(pairs) if hasattr(pairs, "__len__") else None
        return _score_blocks(rules, map(read_by, stream(pairs, task)), size, on_error, progress_of(progress), total)
    by_track = sources_of(references, task, "reference")
    systems = systems_of(estimates, task, by_track)
    matched, tracks = _tracks_of(by_track, systems, task)
    if not tracks:
        raise AnnotationError("nothing to score: neither references nor estimates have a track")
    works: Iterable[TrackWork] = _pair_up(by_track, matched, tracks)
    if options:  # which are refused before anything is scored
        works = list(map(read_by, works))
    cautions: list[Caution] = []
    if kind.name in NAMED:
        works, cautions = _with_matched_names(rules, list(works), single=False)
    # Systems without tracks of the references, or with tracks that are nearly called as theirs.
    for system, side in systems.items() if by_track else ():
        apart = bool(side) and by_track.keys().isdisjoint(side)
        text = str(nearest_names(by_track, side)) if apart else describe_unpaired(by_track, side)
        if text:
            cautions.append(Caution(f"system {system!r}: {text}", system))
            warn_caller(cautions[-1].text)
    works = _refuse_bare_times(list(works)) if task == "downbeat" else works
    order = tuple(systems), tuple(tracks)
    if on_error == "keep" and are_lazy(references, estimates):
        return rules.lazy_dataset(list(works), cautions, block)
    return _score_blocks(rules, works, size, on_error, progress_of(progress), len(tracks), *order, cautions)


def _refuse_bare_times(works: Sequence[TrackWork]) -> list[TrackWork]:
    """The works with files of beats without positions that refuse to be read where others of a side have positions."""
    sides = [[(index, item.source) for index, work in enumerate(works) for item in work.references[:1]]]
    for system in range(len(works[0].systems)):
        estimates = [(index, work.estimates[system]) for index, work in enumerate(works)]
        sides.append([(index, source) for index, source in estimates if source is not None])
    of_references, *systems = map(without_positions, sides)
    return [
        replace(
            work,
            references=tuple(replace(item, source=of_references.get(index, item.source)) for item in work.references),
            estimates=tuple(bare.get(index, item) for bare, item in zip(systems, work.estimates, strict=True)),
        )
        for index, work in enumerate(works)
    ]


def _read_by_options(
    work: TrackWork, sides: tuple[Mapping[str, Any], Mapping[str, Any]], names: list[str]
) -> TrackWork:
    if not names:
        return work
    references = [reference.source for reference in work.references]
    estimates = [estimate for estimate in work.estimates if estimate is not None]
    objects = [[one for one in side if isinstance(one, ObjectSource)] for side in (references, estimates)]
    read = [any(is_read(one.thing, one.task) for one in side) for side in objects]
    names = [name for name in names if name not in _OF_LABELS]
    _demand_read(names, read if references and estimates else (any(read), any(read)))

    def with_reading(source: Source, options: Mapping[str, Any]) -> Source:
        if not isinstance(source, ObjectSource):
            _refuse_vocabulary(options)
            return source
        of_labels = {name: options[name] for name in VOCABULARY if name in options}
        return replace(source, options=options if is_read(source.thing, source.task) else of_labels)

    return work.map_sources(*(partial(with_reading, options=options) for options in sides))


def _score_blocks(
    rules: EvaluationRules,
    works: Iterable[TrackWork],
    size: int,
    on_error: str,
    progress: Progress,
    total: int | None,
    systems: Sequence[str] | None = None,
    tracks: Sequence[str] | None = None,
    cautions: Iterable[Caution] = (),
) -> xr.Dataset:
    """Score block by block; errors carry the scores computed before."""
    done: list[Cells] = []
    causes = rules.low_cells()
    with progress as shown:
        shown.start(total)
        try:
            for block in _blocks(works, size):
                done.append(rules.score(block))
                causes.add(block, done[-1])
                shown.advance(len(block))
                if on_error == "raise":
                    raise_failure(done[-1])
        except RunError as error:
            scores = rules.dataset(done, systems, tracks, cautions)
            raise ScoreError(str(error), scores) from error.__cause__
        except KeyboardInterrupt:
            count = sum(map(len, done))
            raise ScoringInterrupted(counted(count, "cell"), rules.dataset(done, systems, tracks, cautions)) from None
    if not done:
        raise AnnotationError("nothing to score: no pair was given")
    cells = concatenate_cells(done)
    warn_of_results(cells, causes)
    return rules.dataset([cells], systems, tracks, cautions)


Annotators = tuple[str | int | None, str | int | None]
Readings = tuple[Reading, Reading]
_SHOWN = 5


def annotation_files(folder: Path) -> list[Path]:
    """The annotation files in a folder and its subfolders, sorted, including broken links."""
    files = files_below(folder)
    annotations = [path for path in files if is_annotation_file(path.name)]
    if not annotations:
        suffixes = {path.suffix.lower() for path in files}
        hint = "; for its audio files, use --task separation" if suffixes & set(AUDIO) else ""
        hint += "; if its .json files are JAMS, rename them to .jams" if ".json" in suffixes else ""
        hint += "; unpack its .zip files" if ".zip" in suffixes else ""
        raise AnnotationError(
            f"no annotation files ({', '.join(SUFFIXES)}, or text with another suffix) in the folder{hint}", path=folder
        )
    return annotations


def evaluate_paths(
    reference: str | Path,
    estimate: str | Path,
    task: str | None,
    *,
    metrics: MetricLike | Sequence[MetricLike] | None = None,
    convention: str | None = None,
    grid: Grid | None = None,
    annotators: Annotators = (None, None),
    classes: Classes | Sequence[str] | None = None,
    **options: Any,
) -> xr.Dataset:
    """Score a file against a file, or the files of a folder against those with the same names in another.

    Parameters
    ----------
    reference, estimate : path
        Two files or two folders; folders are searched recursively, suffixes may differ, and hidden files are left out.
        A path with ``{level}`` names the files of one hierarchy, and a pack holds its tracks. For audio, each folder is
        a track, and its files are the sources.
    task : str or None
        None: the one that JAMS files name.
    metrics, convention, grid, classes
        As for :func:`mirflow.evaluate`.
    annotators : (str, int or None, str, int or None)
        Annotators of the reference and of the estimate, for JAMS files with several.
    **options
        Options of reading both sides, as for :func:`mirflow.load`, or one side with the prefix ``reference_`` or
        ``estimate_``.

    Returns
    -------
    xr.Dataset
        In the form of a group of a store, over (system, track, metric); the system is named by the estimate.

    Raises
    ------
    AnnotationError
        If a path does not exist, one is a file and the other a folder, or two tracks of a table match the same track
        of the reference without folders and suffixes.

    Examples
    --------
    >>> evaluate_paths("absent.lab", "absent.lab", "chord")
    Traceback (most recent call last):
    ...
    mirflow.errors.UnreadableError: absent.lab: no such file or folder
    """
    left, right = Path(reference), Path(estimate)
    left_options, right_options = split_sides(options)
    if task is None:  # the first JAMS file of a folder may name it
        files = [annotation_files(path) if path.is_dir() else () for path in (left, right)]
        jams = [next((file for file in each if format_named(file.name) == "jams"), None) for each in files]
        task = task_of(*(file or path for file, path in zip(jams, (left, right), strict=True)))
    rules = EvaluationRules.of(task, metrics, convention, grid, classes)
    defaults = rules.convention.reading
    readings = Reading.of(task, defaults=defaults, **left_options), Reading.of(task, defaults=defaults, **right_options)
    for path, reading in zip((left, right), readings, strict=True):
        if not path.exists() and not has_parts(str(path), reading):
            raise unreadable(path)
    if left.is_dir() != right.is_dir():
        raise AnnotationError("give two files or two folders, not one of each", path=right)
    tracks = list(_tracks(left, right, readings, annotators))
    if not tracks:
        raise AnnotationError("has nothing to score, and neither has the estimate", path=left)
    single = not (left.is_dir() or all(map(is_table, (left, right), readings)))
    parts, cautions, causes = _score_at_once(rules, tracks, single=single)
    lines = describe(causes.find(), doubts=describe_doubts(concatenate_cells(parts)).values())
    return rules.dataset(parts, cautions=[*cautions, *map(Caution, lines)])


def _tracks(reference: Path, estimate: Path, readings: Readings, annotators: Annotators) -> Iterator[TrackWork]:
    system = estimate.name if estimate.is_dir() else _name(estimate)
    if not reference.is_dir() and all(map(is_table, (reference, estimate), readings)):
        own_rows, other_rows = _rows(reference, readings[0]), _rows(estimate, readings[1])
        called = call_tracks(other_rows, own_rows, str(estimate))
        other_rows = {called[track]: source for track, source in other_rows.items()}
        for track in dict.fromkeys([*own_rows, *other_rows]):
            yield work_of(track, own_rows.get(track), {system: other_rows.get(track)})
        return
    if not reference.is_dir():
        first, second = (
            source_at(path, reading, who)
            for path, reading, who in zip((reference, estimate), readings, annotators, strict=True)
        )
        if first == second:  # a file may be compared with itself; the two must not count as one annotator
            name = f"reference {reference}"
            first = replace(first, path=name) if isinstance(first, FilesSource) else replace(first, name=name)
        yield work_of(_name(reference), first, {system: second})
        return
    references, estimates = (
        sources_by_track(folder, reading, who)
        for folder, reading, who in zip((reference, estimate), readings, annotators, strict=True)
    )
    wanted = set(references)
    below = {name.partition("/")[0] for name in estimates if name.partition("/")[2] in wanted}
    if below and wanted.isdisjoint(estimates):  # in a folder of systems the tracks are one folder further down
        names = sorted(below)
        some = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise AnnotationError(
            f"holds no file with the name of one in {reference}, but the folders {some}: if it is a folder of systems, "
            f"give one of them, such as {estimate / names[0]}, or write a pipeline with {{system}} in its path",
            path=estimate,
        )
    if wanted and wanted.isdisjoint(estimates):
        nearest = nearest_names(references, estimates)
        raise AnnotationError(
            f"{nearest}; give the files the same names, or write a pipeline with {{track}} in its paths", path=estimate
        )
    if unpaired := describe_unpaired(references, estimates):
        warn_caller(unpaired)
    for track in sorted({*references, *estimates}):
        name = reference.name if track == "." else track  # audio in the folder itself
        yield work_of(name, references.get(track), {system: estimates.get(track)})


def _rows(path: Path, reading: Reading) -> dict[str, TableSource]:
    sources: dict[str, TableSource] = {}
    for key in open_table(str(path), reading, str(path)).of_key:
        if key.track in sources:
            raise AnnotationError(f"holds several annotations of track {key.track!r}; write a pipeline", path=path)
        sources[key.track] = TableSource(str(path), RowKey(*key), reading, str(path))
    return sources


def _name(path: Path) -> str:
    """The name of the annotation at a path: that of its file, or of the folder with its sources."""
    return path.parent.name if "{" in path.stem else path.stem


def is_pack(path: Path) -> bool:
    """True for the path of a pack."""
    return path.suffix == ".zarr" and (path / "zarr.json").is_file()


def pack_sources(path: Path, kind: str) -> Mapping[str, PackSource]:
    """Sources in a pack, by track."""
    sources = open_pack(path, str(path))
    other = next((source.kind for source in sources.values() if source.kind != kind), None)
    if other is not None:
        raise AnnotationError(f"is a pack of {other}, not of {kind}", path=path)
    return sources


def sources_by_track(folder: Path, reading: Reading, annotator: str | int | None) -> Mapping[str, Source]:
    """The files of a folder by relative path without suffix; for audio, the folders of files by path."""
    if is_pack(folder):
        pack = pack_sources(folder, reading.kind)
        packed = {track: select_from(source, reading) for track, source in pack.items()}
        return {**packed, **without_positions(packed.items())}
    if reading.kind == "audio":
        return {inner.relative_to(folder).as_posix(): source_at(inner, reading) for inner in audio_folders(folder)}
    sources: dict[str, FileSource] = {}
    for path in annotation_files(folder):
        track = normal_form(path.relative_to(folder).with_suffix("").as_posix())
        if track in sources:
            both = describe_clash(Path(sources[track].path).name, path.name, "remove or rename one")
            raise AnnotationError(f"two files of track {track!r}: {both}", path=folder)
        sources[track] = FileSource(str(path), reading, annotator)
    return {**sources, **without_positions(sources.items())}
