"""Accumulate scores of pairs that arrive one by one, as in the validation of a model; merge and aggregate them.

Annotations are copied when they are added. The state is plain data, which is checked when it is loaded or merged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from ..analysis.query_options import DEFAULT_LEVEL, MISSING
from ..annotations.annotation import Annotation, AnnotationLike, SupportsArray
from ..annotations.classes import Classes
from ..annotations.schema import kind_of
from ..annotations.source import MemorySource, Source
from ..causes.low_cells import describe
from ..engine.block import BLOCK, TrackWork, block_size
from ..engine.runs import raise_failure
from ..errors import AnnotationError, MetricError, RunError, ScoreError, UnknownNameError, counted, warn_caller
from ..metrics.base import Grid, MetricLike, Sparse
from ..metrics.measures import Measure
from ..ragged import Float, Int
from ..readers.objects import TRACK, ObjectSource, is_object, name_keys, to_annotation
from ..store.cells import FAILED_METRIC, FAILED_METRICS, NUMERATOR, Cells, Status, concatenate_cells, no_cells
from ..store.format import kept_settings, metric_coords
from .evaluate import EvaluationRules
from .result_warnings import describe_doubts, describe_failures, describe_gaps, describe_remarks, unmeasured
from .sides import ESTIMATE, TracksLike, grid_of, holds_tracks, is_aligned, sources_of, to_plain, work_of

if TYPE_CHECKING:
    import xarray as xr

State = dict[str, Any]  # what `Accumulator.state` returns: dicts, lists, text and numbers
_MOST_KNOWN = 4096  # maximum number of pairs of labels whose results are cached
_MOST_SMALL = 512  # size of the buffer for pairs of a few words or numbers
_ONE_NAME = frozenset({"key", "classification"})
"""Tasks with one name per track, so that a list of names holds several tracks."""
_ARRAYS = frozenset({str, tuple, list, np.ndarray})  # types that always hold one annotation
LAYOUT = 1  # the version of the layout of states


@dataclass(frozen=True, slots=True, eq=False)
class CopiedSource(MemorySource):
    """A copy of an annotation, or the error of reading it."""

    name: str
    annotation: Annotation | None = None
    digest: str = ""
    error: Exception | None = None

    @classmethod
    def of(cls, value: Any, rules: EvaluationRules, name: str) -> CopiedSource:
        """Read an annotation in any form, or its source, at once: the object may change later."""
        if type(value) in _ARRAYS:  # the usual case: arrays are copied when they are read
            try:
                return cls(name, to_annotation(value, rules.task, **rules.convention.reading))
            except AnnotationError:
                pass  # the source reports it with its name
        if is_aligned(value):
            grid_of(rules.grid, value)
            value = to_plain(value, rules.task)
        source = value if isinstance(value, Source) else ObjectSource(value, rules.task, name)
        try:
            annotation, digest = rules.with_options(source).read()
        except (AnnotationError, OSError) as error:
            return cls(source.label, error=error)
        thing = source.thing if isinstance(source, ObjectSource) else annotation
        # The columns of other types may be views of the object.
        if not isinstance(thing, tuple | list | dict | np.ndarray | str):
            columns = {name: column.copy() for name, column in annotation.columns.items()}
            labels = None if annotation.labels is None else annotation.labels[:]
            annotation = replace(annotation, columns=columns, labels=labels)
        return cls(source.label, annotation, digest)

    def read(self) -> tuple[Annotation, str]:
        """The annotation; raises the error of reading it."""
        if self.annotation is None:
            assert self.error is not None
            raise self.error
        return self.annotation, self.digest


_Number = float | None  # a number in a state; None: NaN, as some JSON writers encode it


class _CellColumns(msgspec.Struct, forbid_unknown_fields=True):
    track: list[str]
    score: list[list[_Number]]
    weight: list[list[_Number]]
    status: list[int]
    repairs: list[int]
    message: list[str]
    digest: list[str]
    stamp: list[int]
    duration: list[_Number]


class _SparseColumns(msgspec.Struct, forbid_unknown_fields=True):
    dims: list[str]
    coords: list[list[str]]
    index: list[list[int]]
    value: list[_Number]
    attrs: dict[str, str]
    fill: _Number

    def sparse(self, name: str, dims: tuple[str, ...], pairs: int) -> Sparse:
        """The results of a variable; raise a ValueError if they are invalid."""
        index = np.array(self.index, dtype=np.int64).reshape(-1, 1 + len(dims))
        sizes = [pairs, *map(len, self.coords)]
        fits = tuple(self.dims) == dims and len(sizes) == 1 + len(dims) and len(index) == len(self.value)
        if not fits or ((index < 0) | (index >= sizes)).any():
            raise ValueError(f"{name} does not fit its dims and labels")
        value, fill = np.array(self.value, dtype=np.float64), np.nan if self.fill is None else self.fill
        return Sparse(dims, tuple(map(tuple, self.coords)), index, value, self.attrs, fill)


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """The return value of :meth:`Accumulator.state`."""

    layout: int
    rules: dict[str, Any]
    named: bool | None
    cells: _CellColumns
    extras: dict[str, _SparseColumns]

    def results(self, scalars: tuple[str, ...], dims: Mapping[str, tuple[str, ...]]) -> Cells:
        """The results of pairs; raise a ValueError if they do not fit the metrics."""
        count = len(self.cells.track)
        if len(set(self.cells.track)) < count:
            raise ValueError("a track is there twice")
        if not set(self.cells.status) <= set(Status):
            raise ValueError(f"unknown status {min(set(self.cells.status) - set(Status))}")
        like = no_cells(scalars)
        columns: dict[str, Any] = {"system": (ESTIMATE,) * count, "measures": scalars}
        for name in _CellColumns.__struct_fields__:
            values, empty = getattr(self.cells, name), getattr(like, name)
            if len(values) != count:
                raise ValueError(f"{name} has {len(values)} items, and there are {count} tracks")
            whole = not isinstance(empty, tuple)
            shape = (count, *empty.shape[1:]) if whole else ()
            columns[name] = np.array(values, dtype=empty.dtype).reshape(shape) if whole else tuple(values)
        if np.isnan(columns["weight"]).any():
            raise ValueError("a weight is not a number")
        if not self.extras.keys() <= dims.keys():
            raise ValueError(f"unknown metric {min(self.extras.keys() - dims.keys())!r}")
        extras = {name: extra.sparse(name, dims[name], count) for name, extra in self.extras.items()}
        return Cells(**columns, extras=extras)


class Accumulator:
    """Accumulate scores of pairs of a reference and an estimate that arrive one by one.

    Pairs are buffered and scored together, so that an update costs little more than copying its arrays. The scores of
    each pair are kept, not their sums: merged accumulators give bit-identical results to a single one that received all
    pairs, in any order.

    Parameters
    ----------
    task : str
    metrics, convention, grid, classes
        As for :func:`mirflow.evaluate`.
    on_error : {"keep", "raise"}
        ``keep``: a pair that cannot be scored has a status and a message in `dataset`, and `compute` warns about it.
        ``raise``: `update` raises an error and discards its pairs. Each update is then scored at once, which is slower.

    Raises
    ------
    MetricError, UnknownNameError
        If the task, a metric or the convention does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> scores = Accumulator("onset", metrics=["f_measure"])
    >>> scores.update(np.array([1.0, 2.0, 3.0]), np.array([1.01, 2.0]), "a")
    >>> scores.update([0.5, 1.5], [0.5, 1.5], "b")
    >>> scores.compute()
    {'onset/f_measure': 0.9}
    """

    def __init__(
        self,
        task: str,
        *,
        metrics: MetricLike | Sequence[MetricLike] | None = None,
        convention: str | None = None,
        grid: Grid | None = None,
        classes: Classes | Sequence[str] | None = None,
        on_error: Literal["keep", "raise"] = "keep",
    ) -> None:
        if on_error not in ("keep", "raise"):
            raise UnknownNameError("on_error", str(on_error), ("keep", "raise"))
        self._rules = EvaluationRules.of(task, metrics, convention, grid, classes)
        self._kind = kind_of(task)
        self._on_error = on_error
        # Text, or a few numbers without times, are so small that many pairs can be buffered.
        self._size = (
            1 if on_error == "raise" else block_size(task, _MOST_SMALL if self._kind.drawn_as == "text" else BLOCK)
        )
        # Few distinct pairs of labels occur, and looking one up is faster than scoring it.
        self._looked_up = self._kind.written and self._kind.name != "text" and on_error == "keep"
        self._looked_up &= not any(measure.metric.dims for measure in self._rules.measures)
        self._known: dict[tuple[str, str], Cells] = {}
        self._warned: set[str] = set()
        self.reset()

    def reset(self) -> None:
        """Discard all pairs."""
        self._tracks: dict[str, None] = {}
        self._named: bool | None = None
        self._buffer: list[TrackWork] = []
        self._parts: list[Cells] = []
        self._low = self._rules.low_cells()
        self._labels: dict[str, tuple[str, str]] = {}
        self._repeated: list[tuple[str, tuple[str, str]]] = []

    def __len__(self) -> int:
        return len(self._tracks)

    def __repr__(self) -> str:
        return f"<mirflow.Accumulator: {self._rules.task}, {counted(len(self), 'pair')}>"

    def update(
        self,
        references: AnnotationLike | TracksLike | None,
        estimates: AnnotationLike | TracksLike | None,
        tracks: str | int | Sequence[str | int] | SupportsArray | None = None,
    ) -> None:
        """Add a pair, or many.

        Parameters
        ----------
        references, estimates : annotation, mapping, collection, data frame or sequence
            One annotation each, in any form that :func:`mirflow.annotation` takes, or None if it is missing. Or those
            of many tracks: in any form that :func:`mirflow.score` takes, as a sequence with as many names in `tracks`,
            or without names as a list of arrays, tuples, dicts or objects (of str in tasks with one name per track,
            such as keys and classes). A list of numbers is one annotation. Arrays are copied.
        tracks : str, int, sequence of these, or None
            Name of the track, or of each track. None: pairs are numbered, unless mappings, collections or tables name
            their tracks.

        Raises
        ------
        AnnotationError
            If a track was given before, only some pairs are named, or the numbers of names and annotations differ.
        ScoreError
            If a pair cannot be scored, under ``on_error="raise"``.
        """
        named = tracks is not None
        named_as: Any = tracks
        named_as = named_as.tolist() if hasattr(named_as, "tolist") else named_as
        left: Any = references
        right: Any = estimates
        if named and not isinstance(named_as, str) and hasattr(named_as, "__len__"):
            names = name_keys(list(named_as), TRACK)
            for side, many in (("reference", left), (ESTIMATE, right)):
                if isinstance(many, str | Mapping) or not hasattr(many, "__len__"):
                    raise AnnotationError(f"the {side}s must be a sequence with one annotation for each track")
                if len(many) != len(names):
                    counts = f"{counted(len(names), 'track')} and {counted(len(many), side)}"
                    raise AnnotationError(f"{counts}: the numbers must agree")
                if len(set(names)) < len(names):
                    twice = next(name for name in names if names.count(name) > 1)
                    raise AnnotationError(f"track {twice!r} is named twice")
            left, right = (dict(zip(names, many, strict=True)) for many in (left, right))
        elif not named and (type(left) is list or type(right) is list) and self._are_many(left, right):
            pairs = enumerate(zip(left, right, strict=True), len(self._tracks))
            self._add({str(number): pair for number, pair in pairs}, named)
            return
        elif named or type(left) in _ARRAYS or not holds_tracks(left, self._kind):
            name = name_keys([named_as], TRACK)[0] if named else str(len(self._tracks))
            self._add({name: (left, right)}, named)
            return
        else:
            grid_of(self._rules.grid, left, right)
        left, right = sources_of(left, self._rules.task, "reference"), sources_of(right, self._rules.task, ESTIMATE)
        self._add({name: (left.get(name), right.get(name)) for name in dict.fromkeys([*left, *right])}, named=True)

    def _are_many(self, references: Any, estimates: Any) -> bool:
        """True for lists whose items are annotations by their types."""
        kind = self._kind.name

        def is_annotation(item: Any) -> bool:
            # Not part of one: rows of notes and parts of patterns and of audio may be arrays or tuples themselves.
            if type(item) is tuple:
                return kind != "patterns"
            if type(item) in (str, list, int, float, bool) or (kind == "audio" and isinstance(item, os.PathLike)):
                return False
            if isinstance(item, Mapping | os.PathLike) or is_object(item):
                return True
            return kind not in ("patterns", "audio") and int(np.ndim(item)) > (kind == "following")

        sides = {"references": references, "estimates": estimates}
        named = type(references) is type(estimates) is list and self._rules.task in _ONE_NAME
        tests: dict[str, Callable[[Any], bool]] = {"text": lambda item: type(item) is str} if named else {}
        tests["annotations"] = is_annotation
        for what, test in tests.items():
            items = [[one for one in side if one is not None] for side in sides.values() if type(side) is list]
            if not any(side and all(map(test, side)) for side in items):
                continue
            for name, side in sides.items():
                if type(side) is not list or not all(one is None or test(one) for one in side):
                    raise AnnotationError(f"the {name} must be a list of {what}, as the other side is")
            if len(references) != len(estimates):
                counts = f"{counted(len(references), 'reference')} and {counted(len(estimates), 'estimate')}"
                raise AnnotationError(f"{counts}: the numbers must agree; use None for a missing one")
            return True
        return False

    def _add(self, pairs: Mapping[str, tuple[Any, Any]], named: bool) -> None:
        """Add pairs of annotations or sources, of which either side may be None."""
        if self._named not in (None, named):
            raise AnnotationError("some pairs are named and others are numbered: name the tracks of all, or of none")
        if (known := next((name for name in pairs if name in self._tracks), None)) is not None:
            raise AnnotationError(f"track {known!r} was given before; reset forgets all of them")
        rules, works = self._rules, []
        for name, (reference, estimate) in pairs.items():
            if self._looked_up and type(reference) is type(estimate) is str:
                if (reference, estimate) in self._known:
                    self._tracks[name], self._named = None, named
                    self._repeated.append((name, (reference, estimate)))
                    continue
                self._labels[name] = reference, estimate
            left = None if reference is None else CopiedSource.of(reference, rules, f"reference {name}")
            right = None if estimate is None else CopiedSource.of(estimate, rules, f"{ESTIMATE} {name}")
            works.append(work_of(name, left, {ESTIMATE: right}))
            if self._on_error == "keep":
                self._tracks[name], self._named = None, named
                self._buffer.append(works[-1])
                if len(self._buffer) >= self._size:
                    self._flush()
        if self._on_error == "raise" and works:
            cells = self._rules.score(works)
            try:
                raise_failure(cells)
            except RunError as error:
                raise ScoreError(str(error)) from None
            self._named = named
            self._tracks |= dict.fromkeys(pairs)
            self._parts.append(cells)
            self._low.add(works, cells)

    def _flush(self) -> None:
        works, self._buffer = self._buffer, []
        if works:
            self._parts.append(self._rules.score(works))
            self._low.add(works, self._parts[-1])
            cells, labels, self._labels = self._parts[-1], self._labels, {}
            # The results of pairs of labels are kept, unless a message names their track.
            for index, name in enumerate(cells.track if labels else ()):
                if name in labels and not cells.message[index] and len(self._known) < _MOST_KNOWN:
                    self._known[labels[name]] = cells.take(np.array([index], dtype=np.int64))
        if self._repeated:
            repeated, self._repeated = self._repeated, []
            places = {pair: index for index, pair in enumerate(dict.fromkeys(pair for _, pair in repeated))}
            rows = np.array([places[pair] for _, pair in repeated], dtype=np.int64)
            cells = concatenate_cells([self._known[pair] for pair in places]).take(rows)
            self._parts.append(replace(cells, track=tuple(name for name, _ in repeated)))

    def _cells(self) -> Cells:
        self._flush()
        scalars = tuple(str(measure) for measure in self._rules.measures if not measure.metric.dims)
        self._parts = [concatenate_cells([no_cells(scalars), *self._parts])]
        return self._parts[0]

    def dataset(self) -> xr.Dataset:
        """The scores of all pairs, as :func:`mirflow.score` gives them.

        Returns
        -------
        xr.Dataset
            Over (system, track, metric), with one system, ``estimate``, and tracks in the order of their names or
            numbers.
        """
        return self._dataset(sorted(self._tracks, key=_natural))

    def _dataset(self, tracks: Sequence[str]) -> xr.Dataset:
        if not tracks:
            raise AnnotationError("nothing to score: no pair was given; update adds some")
        return self._rules.dataset([self._cells()], (ESTIMATE,), tracks)

    def compute(
        self, aggregate: str | None = None, *, missing: str | None = None, ci: bool | float = False
    ) -> dict[str, float]:
        """Aggregate all metrics over the tracks, with names for experiment loggers.

        Parameters
        ----------
        aggregate : str or None
            ``mean``, ``median``, ``pooled``, ...: see the page on queries; metrics without it are skipped. None: the
            standard aggregate of each metric.
        missing : {"skip", "zero", "raise"} or None
            Skip pairs without a score (None: with a warning), count them as 0, or raise an error.
        ci : bool or float
            Whether to add bootstrap intervals over the tracks, or their level; True: that of :func:`mirflow.compare`.

        Returns
        -------
        dict of str to float
            Aggregates by ``task/metric``, NaN for a metric that had nothing to measure in any pair. With `ci`, also the
            ends of intervals by ``task/metric_low`` and ``task/metric_high``, those of
            :func:`mirflow.analysis.inference.confidence_intervals.intervals`: NaN for fewer than 6 tracks. They do not
            depend on the order of updates and merges: scores are summed in the order of track names or, for numbered
            pairs, of their values.

        Raises
        ------
        QueryError
            If the level is not between 0 and 1.

        Warns
        -----
        MirflowWarning
            If pairs have no score, or no score of some metrics, and `missing` is None. Once, if a reference and its
            estimate hardly belong together, or a metric had nothing to measure in any pair.
        """
        from ..analysis.queries import aggregate as aggregate_over_tracks

        if missing is not None and missing not in MISSING:
            raise UnknownNameError("missing", missing, MISSING)
        if not any(not measure.metric.dims for measure in self._rules.measures):
            raise MetricError("compute returns metrics with one number per pair; query the dataset for the others")
        cells = self._cells()
        if missing is None and (failures := describe_failures(cells, "pair")):
            warn_caller(f"{failures}; dataset() lists them all, missing='skip' leaves them out without a warning")
        elif missing is None and (gaps := describe_gaps(cells, "pair")):
            warn_caller(f"{gaps}; missing='skip' gives no warning")
        doubts = describe_doubts(cells)  # as of `score`, but of each kind once
        if "odd" not in doubts and "causes" not in self._warned and (lines := describe(self._low.find())):
            doubts["causes"] = "; ".join(lines)
        for kind, text in (doubts | describe_remarks(cells)).items():
            if kind not in self._warned:
                self._warned.add(kind)
                warn_caller(text)
        # It depends only on the pairs, as sums depend on the order in their last bits.
        if self._named:
            order: Int = np.array(sorted(range(len(cells)), key=lambda one: _natural(cells.track[one])), dtype=np.int64)
        else:
            rows = np.column_stack([cells.status.astype(np.float64), cells.duration, cells.score, cells.weight])
            rows[np.isnan(rows)] = np.nan  # of one sign
            order = np.lexsort(rows.view(np.int64).T[::-1]).astype(np.int64)
        if aggregate is None and missing in (None, "skip") and len(cells):
            values, names = _standard(cells.take(order), self._rules.measures), list(cells.measures)
        else:
            part = self._dataset([cells.track[index] for index in order.tolist()])
            result = aggregate_over_tracks(part, aggregate=aggregate, missing=missing)
            values, names = result["value"].values[0], result["metric"].values.tolist()
        if missing != "zero":
            nothing = set(unmeasured(cells))
            values = np.array([np.nan if name in nothing else one for name, one in zip(names, values, strict=True)])
        named = {f"{self._rules.task}/{name}": float(value) for name, value in zip(names, values, strict=True)}
        if not ci:
            return named
        from ..analysis.inference.confidence_intervals import intervals
        from ..analysis.query_options import Query

        part = self._dataset([cells.track[index] for index in order.tolist()])
        result = intervals(part, Query(aggregate=aggregate, missing=missing), level=DEFAULT_LEVEL if ci is True else ci)
        metrics, ends = result["metric"].values.tolist(), {}
        for name, value in named.items():
            index = metrics.index(name.removeprefix(f"{self._rules.task}/"))
            for end in ("low", "high"):
                ends[f"{name}_{end}"] = float(result[end].values[0, index]) if value == value else np.nan
        return named | ends

    def state(self) -> State:
        """All scores as dicts, lists, text and numbers, which pickle, JSON and msgpack preserve exactly."""
        cells = self._cells()
        columns: State = {
            column.name: _listed(getattr(cells, column.name))
            for column in fields(Cells)
            if column.name not in ("measures", "system", "extras")
        }
        extras = {
            name: {field.name: _listed(getattr(sparse, field.name)) for field in fields(Sparse)}
            for name, sparse in cells.extras.items()
        }
        return {"layout": LAYOUT, "rules": self._settings(), "named": self._named, "cells": columns, "extras": extras}

    def _settings(self) -> State:
        """The rules by which pairs are scored, with the versions of the metrics."""
        rules = self._rules
        settings = kept_settings(rules.task, rules.convention.name, rules.grid, "", rules.measures, rules.classes)
        versions = {str(measure): measure.metric.version for measure in rules.measures}
        plain: State = json.loads(json.dumps({"task": rules.task, "metrics": versions, **settings}))
        return plain

    def load_state(self, state: State) -> None:
        """Restore the accumulator from a state.

        Parameters
        ----------
        state : dict
            Return value of `state`, possibly through JSON or msgpack.

        Raises
        ------
        AnnotationError
            If the state is invalid, damaged, or from pairs scored by other rules.
        """
        cells, named = self._cells_of(state)
        self.reset()
        self._append(cells, named)

    def _cells_of(self, state: State) -> tuple[Cells, bool | None]:
        layout = state.get("layout") if isinstance(state, Mapping) else None
        if type(layout) is not int or layout != LAYOUT:  # an array could not be compared
            raise AnnotationError("this is not a state of an accumulator, or it is from another version of mirflow")
        try:
            decoded = msgspec.convert(state, _State)
            other = msgspec.to_builtins(decoded.rules)  # arrays could not be compared
        except (msgspec.ValidationError, ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            raise AnnotationError(f"the state is damaged: {error}") from None
        settings = self._settings()
        for name in {**settings, **other}:
            if settings.get(name) != other.get(name):
                raise AnnotationError(
                    f"different {name}: {other.get(name)!r} in the state, {settings.get(name)!r} here; "
                    "only scores by the same rules can be merged"
                )
        scalars = tuple(str(measure) for measure in self._rules.measures if not measure.metric.dims)
        dims = {measure.variable: measure.metric.dims for measure in self._rules.measures if measure.metric.dims}
        dims |= {FAILED_METRICS: (FAILED_METRIC,), NUMERATOR: ("metric",)}
        try:
            return decoded.results(scalars, dims), decoded.named
        except (ValueError, OverflowError) as error:
            raise AnnotationError(f"the state is damaged: {error}") from None

    def merge(self, other: Accumulator | State) -> Accumulator:
        """Add the pairs of another accumulator, or of its state.

        A named track in both counts once if its results are the same, such as samples repeated by a distributed
        sampler. Numbered pairs get the next numbers.

        Parameters
        ----------
        other : Accumulator or dict

        Returns
        -------
        Accumulator
            This one.

        Raises
        ------
        AnnotationError
            If the rules differ, only one of them has named tracks, or a track has different results in both.
        """
        state = other.state() if isinstance(other, Accumulator) else other
        cells, named = self._cells_of(state)
        if None not in (named, self._named) and named != self._named:
            raise AnnotationError("some pairs are named and others are numbered: name the tracks of all, or of none")
        if named:
            twice = [place for place, name in enumerate(cells.track) if name in self._tracks]
            cells_here = self._cells() if twice else cells
            places = {name: index for index, name in enumerate(cells_here.track)}
            for place in twice:
                name = cells.track[place]
                if _results(cells_here, places[name]) != _results(cells, place):
                    raise AnnotationError(f"track {name!r} has different results in both; give each track another name")
            cells = cells.take(np.setdiff1d(np.arange(len(cells)), twice)) if twice else cells
        else:
            cells = replace(cells, track=tuple(str(len(self) + place) for place in range(len(cells))))
        self._append(cells, named)
        return self

    def _append(self, cells: Cells, named: bool | None) -> None:
        self._flush()
        self._tracks |= dict.fromkeys(cells.track)
        self._named = self._named if named is None else named
        self._parts.append(cells)

    def __add__(self, other: Accumulator) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        return copy(self).merge(other)

    def __getstate__(self) -> dict[str, Any]:
        self._flush()
        return {**vars(self), "_tracks": dict(self._tracks), "_parts": list(self._parts), "_buffer": []}


def _standard(cells: Cells, measures: Sequence[Measure]) -> Float:
    """The standard aggregate of each metric; equal to a query of the dataset, but without building it."""
    from ..analysis.aggregation import aggregate_cells
    from ..analysis.selection import count_scores, with_surplus

    score, weight = cells.score[np.newaxis], cells.weight[np.newaxis]
    kinds = metric_coords(measures)["standard_aggregate"]
    if NUMERATOR in cells.extras:
        numerator = np.zeros_like(score)
        numerator[0][tuple(cells.extras[NUMERATOR].index.T)] = cells.extras[NUMERATOR].value
        score, weight = with_surplus(score, weight, numerator, list(map(str, kinds)))
    counted_cells = count_scores(score, weight, cells.status[np.newaxis], "skip", "keep")
    codes = np.zeros(len(cells), dtype=np.int64)
    values: Float = aggregate_cells(counted_cells, cells.status[np.newaxis], cells.duration, kinds, codes)["value"][
        0, :, 0
    ]
    return values


def _natural(name: str) -> tuple[bool, int, str]:
    """Numbers in their order, before other names."""
    number = name.isdecimal()
    return not number, int(name) if number else 0, name


def _listed(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return values.tolist()
    if isinstance(values, tuple):
        return [list(value) if isinstance(value, tuple) else value for value in values]
    return dict(values) if isinstance(values, Mapping) else values


def _results(cells: Cells, index: int) -> tuple[Any, ...]:
    cell = cells.take(np.array([index], dtype=np.int64))
    extras = []
    for name, sparse in sorted(cell.extras.items()):
        for entry, value in zip(sparse.index[:, 1:].tolist(), sparse.value.tolist(), strict=True):
            labels = [coords[at] for coords, at in zip(sparse.coords, entry, strict=True)]
            extras.append((name, labels, repr(value)))
    return (
        cell.message,
        cell.status.tolist(),
        repr((cell.score.tolist(), cell.weight.tolist(), cell.duration.tolist())),
        extras,
    )
