"""An evaluation's names against the records: its convention, metrics, parameters and grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..annotations.classes import Classes
from ..annotations.schema import kind_of
from ..errors import AnnotationError, MetricError, UnknownNameError
from ..metrics.base.identity import Measure, expand, parse
from ..metrics.base.record import Value
from ..metrics.base.task import Convention, Grid, get_task
from ..readers.options import Reading
from .document import Place
from .model import Evaluation

Trouble = tuple[Place, str]
"""A place within an evaluation and what is wrong there."""


@dataclass(frozen=True)
class Resolved:
    """An evaluation with the records that its names stand for."""

    convention: Convention
    grid: Grid
    measures: tuple[Measure, ...]
    reference: Reading
    estimates: Reading
    classes: Classes | None = None


def resolve(evaluation: Evaluation, root: str) -> Resolved | list[Trouble]:
    """The records that an evaluation names, or everything that is wrong with its names."""
    troubles: list[Trouble] = []
    try:
        kind_of(evaluation.task)
        task = get_task(evaluation.task)
    except UnknownNameError as error:
        return [(("task",), str(error))]
    readings = []
    for side in ("reference", "estimates"):
        try:
            readings.append(getattr(evaluation, side).reading(evaluation.task))
        except (AnnotationError, UnknownNameError) as error:
            troubles.append(((side,), str(error)))
    try:
        convention = task.convention(evaluation.convention)
    except UnknownNameError as error:
        return [*troubles, (("convention",), str(error))]
    classes = _classes(evaluation, root, troubles)
    try:
        convention = convention.with_classes(classes)
    except MetricError as error:
        troubles.append((("classes",), str(error)))
    grid: Grid | None = None
    try:
        grid = convention.grid(evaluation.grid)
    except MetricError as error:
        troubles.append((("grid",), str(error)))
    measures = list(_measures(evaluation, convention, troubles))
    # Classes whose file is broken are told already, and are not what is missing.
    if classes is not None or evaluation.classes is None:
        try:
            convention.demand_classes(measures)
        except MetricError as error:
            troubles.append((("metrics",), str(error)))
    if troubles or grid is None:
        return troubles
    return Resolved(convention, grid, tuple(dict.fromkeys(measures)), readings[0], readings[1], classes)


def _classes(evaluation: Evaluation, root: str, troubles: list[Trouble]) -> Classes | None:
    """The classes that an evaluation names."""
    if evaluation.classes is None:
        return None
    try:
        return evaluation.classes.read(root)
    except AnnotationError as error:
        troubles.append((("classes",), str(error)))
        return None


def _measures(evaluation: Evaluation, convention: Convention, troubles: list[Trouble]) -> Iterator[Measure]:
    unused = set(evaluation.parameters)
    texts = evaluation.metrics
    if texts is None:
        texts = [str(measure) for measure in convention.select()]
    if not texts:
        troubles.append((("metrics",), "names no metric; leave it out for the default ones"))
    for position, text in enumerate(texts):
        place: Place = ("metrics",) if evaluation.metrics is None else ("metrics", position)
        try:
            measures = [parse(one, convention.metrics) for one in expand(text)]
        except (MetricError, UnknownNameError) as error:
            troubles.append((place, str(error)))
            continue
        names = [p.name for p in measures[0].metric.parameters if p.name in evaluation.parameters]
        unused -= set(names)
        try:
            for measure in measures:
                yield _with_parameters(measure, {name: evaluation.parameters[name] for name in names}, convention)
        except (MetricError, UnknownNameError) as error:
            troubles.append((("parameters", names[0]), str(error)))
    known = {parameter.name for metric in convention.metrics for parameter in metric.parameters}
    for name in sorted(unused):
        why = "no metric asked for has it" if name in known else str(UnknownNameError("parameter", name, known))
        troubles.append((("parameters", name), why))


def _with_parameters(measure: Measure, parameters: Mapping[str, Value], convention: Convention) -> Measure:
    """A measure with parameters set that it does not itself set otherwise."""
    given = {
        parameter.name: value
        for parameter, value in zip(measure.metric.parameters, measure.values, strict=True)
        if value != parameter.default
    }
    values = {**parameters, **given}
    return parse(f"{measure.metric.name}({_listed(values)})", convention.metrics) if values else measure


def _listed(values: Mapping[str, Value]) -> str:
    return ",".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in values.items()
    )
