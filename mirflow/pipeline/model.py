"""The model of pipeline files, with names checked against the records of metrics.

`resolve` finds the convention, grid, metrics, classes and options of reading that an evaluation names. Unknown keys and
values of other types are errors; some parts may be written in short. Docstrings of keys become descriptions in the JSON
Schema.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from ..annotations.classes import Classes
from ..annotations.schema import kind_of
from ..errors import AnnotationError, MetricError, PluginError, UnknownNameError
from ..metrics.base import FRAMES, Convention, Grid, get_task, refuse_namesakes
from ..metrics.measures import Measure, parse
from ..readers.class_tables import read_classes
from ..readers.label_maps import anchored
from ..readers.options import DELIMITED, OPTIONS, DelimitedOptions, Reading
from ..readers.patterns import Pattern
from ..remote import store_flaw
from ..store.cells import MAX_NAME, is_device
from ..theory.text_form import normal_form
from .document import Place


class Strict(BaseModel):
    """A part of a file: unknown keys are errors, and nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe keys by their docstrings, which pydantic's own option would read from the source at each start."""
        whole = handler.resolve_ref_schema(handler(schema))
        for base in cls.__mro__[: cls.__mro__.index(Strict)]:
            with suppress(OSError):  # a class that was made of options has no source
                (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
                for key, text in pairwise(getattr(tree, "body", ())):
                    match key, text:
                        case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                            whole["properties"].get(name, {}).setdefault("description", inspect.cleandoc(words))
        return whole


class Shorthand(Strict):
    """A part that may be written as the value of a single key."""

    short: ClassVar[Sequence[tuple[type | tuple[type, ...], str, Mapping[str, Any]]]] = ()
    """Types of such a value, the key that it is of, and its JSON Schema."""

    @model_validator(mode="before")
    @classmethod
    def _from_short(cls, data: Any) -> Any:
        keys = [key for types, key, _ in cls.short if isinstance(data, types) and not isinstance(data, bool)]
        return {keys[0]: data} if keys else data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = super().__get_pydantic_json_schema__(schema, handler)
        return {"anyOf": [*(dict(short) for _, _, short in cls.short), whole]}


def _tree(value: Any) -> Any:
    """Check a tree of names: mappings, whose ends are lists or nothing."""
    if value is not None and not isinstance(value, dict | list):
        raise ValueError(f"invalid classes {value!r}: expected a list or a mapping")
    for name in value or ():
        if not isinstance(name, str):
            raise ValueError(f"invalid name {name!r}: expected the name of a class; put it in quotes")
        if isinstance(value, dict):
            _tree(value[name])
    return value


Tree = Annotated[dict[str, Any], PlainValidator(_tree), WithJsonSchema({"type": "object"})]


class ClassesKey(Shorthand):
    """The classes or tags: a file, a list of names, or an object with more about them."""

    short = (
        (str, "path", {"type": "string", "description": "A csv or tsv file."}),
        (list, "names", {"type": "array", "items": {"type": "string"}, "description": "Names of classes or tags."}),
    )

    path: str | None = None
    """A csv or tsv file, relative to root: names; class,parent; or from,to,credit."""
    names: list[str] = Field(default_factory=list)
    """Names of classes or tags."""
    tree: Tree = Field(default_factory=dict)
    """Classes to what is below them; an error is worth the share of the levels that both classes have in common."""
    credit: dict[str, dict[str, float]] = Field(default_factory=dict)
    """The reference's class to the estimate's class to what the error is worth, 0 to 1."""

    @model_validator(mode="after")
    def _check(self) -> ClassesKey:
        if self.path is not None and (self.names or self.tree or self.credit):
            raise ValueError("names a file: leave out names, tree and credit")
        if self.path is None:
            Classes.of(self.names, self.tree, self.credit)
        return self

    def read(self, root: str | Path) -> Classes:
        """Read the classes, from the file if one is named."""
        if self.path is None:
            return Classes.of(self.names, self.tree, self.credit)
        return read_classes(Path(root, self.path), self.path)


SCHEDULERS = ("auto", "serial", "processes", "threads")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://\S+")


def identifier(name: str) -> str:
    """Check that a name can be that of a group in a store."""
    if not name.isidentifier() or not name.isascii() or len(name) > MAX_NAME:
        expected = f"an identifier (letters, digits, underscores; at most {MAX_NAME})"
        raise ValueError(f"invalid name {name[:80]!r}: expected {expected}")
    if is_device(name):
        raise ValueError(f"invalid name {name!r}: Windows has a device of that name, and could not read the store")
    return name


def _demand_type(types: tuple[type, ...], expected: str, value: Any) -> Any:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"invalid value {value!r}: expected {expected}")
    return value


def _grid(value: Any) -> str | float:
    if isinstance(value, str):
        return value
    hop = value.get("hop") if isinstance(value, dict) and set(value) == {"hop"} else None
    if isinstance(hop, bool) or not isinstance(hop, (int, float)) or not 0 < hop < 3600:
        raise ValueError(f"invalid grid {value!r}: expected union, reference or {{hop: seconds}}")
    return float(hop)


Scalar = Annotated[
    str | int | float | bool,
    PlainValidator(partial(_demand_type, (str, int, float, bool), "text, a number, true or false")),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
IndexOrName = Annotated[
    str | int,
    PlainValidator(partial(_demand_type, (str, int), "text or a whole number")),
    WithJsonSchema({"type": ["string", "integer"]}),
]
GridChoice = Annotated[
    str | float,
    PlainValidator(_grid),
    PlainSerializer(lambda grid: {"hop": grid} if isinstance(grid, float) else grid),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["union", "reference"]},
                {
                    "type": "object",
                    "properties": {"hop": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds."}},
                    "required": ["hop"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
Systems = Annotated[
    dict[str, dict[str, Scalar]],
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                {"type": "object", "additionalProperties": {"type": ["object", "null"]}},
            ]
        }
    ),
]


if TYPE_CHECKING:

    class _Options(Shorthand):
        columns: dict[str, str | int]
else:
    _keys = {}
    for _name, _option in OPTIONS.items():
        _type, _default = _option.type, {"default": _option.default}
        if _option.default == ():
            _type = dict[str, IndexOrName] if _option.is_mapping else list[str]
            _default = {"default_factory": dict if _option.is_mapping else list}
        elif _type == str | int | None:
            _type = IndexOrName | None
        elif _type is int:
            _type = Annotated[int, Field(gt=0)]
        _keys[_name] = _type, Field(**_default, description=_option.words)
    _Options = create_model("_Options", __base__=Shorthand, **_keys)


class Estimates(_Options):
    """Path and options of reading of one side's annotations: a pattern, or an object with options."""

    short = ((str, "path", {"type": "string", "description": "A pattern."}),)

    path: str
    """Pattern with {track}, {system}, ..., relative to root, or a URL; one ending in .zarr names a pack."""
    annotator: IndexOrName | None = None
    """Which annotation of a JAMS file: an id, a position, or '{system}'; for references also 'all'."""

    @model_validator(mode="after")
    def _check(self) -> Estimates:
        Pattern(self.path)
        DelimitedOptions(**{name: one.keep(getattr(self, name)) for name, one in DELIMITED.items()})
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        short, whole = super().__get_pydantic_json_schema__(schema, handler)["anyOf"]
        first = dict.fromkeys(["path", "format", "namespace", "annotator"])
        whole["properties"] = {name: whole["properties"][name] for name in first | whole["properties"]}
        return {"anyOf": [short, whole]}

    def reading(
        self, task: str, defaults: Mapping[str, Any] = MappingProxyType({}), root: str | None = None
    ) -> Reading:
        """Options of reading for a task; the `defaults` are those of a convention, for options that are not given. Maps
        of labels are read where the folder `root` of their files is given, and left out otherwise."""
        options = {name: getattr(self, name) for name in OPTIONS if name in self.model_fields_set}
        labels = options.pop("labels", None)
        if labels is not None and root is not None:
            options["labels"] = anchored(labels, root)
        return Reading.of(task, defaults=defaults, **options)


Patches = Annotated[
    list[str],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class References(Estimates):
    """As estimates; several annotators of a track are combined. Or a data set of mirdata."""

    path: str = ""
    """Pattern with {track}, ..., relative to root, or a URL; one ending in .zarr names a pack."""
    patch: Patches = Field(default_factory=list)
    """Patch files with corrections of references, relative to root: one, or a list, applied in this order."""
    combine: Literal["mean", "max", "each"] | None = None
    """What becomes of the scores against several references of a track; each keeps them along a dim annotator."""
    mirdata: str | None = None
    """A data set of mirdata, such as beatles, in place of a path; its data have to be downloaded before."""
    annotation: str | None = None
    """Of mirdata: the attribute of its tracks, such as chords."""
    data_home: str | None = None
    """Of mirdata: the folder of the data, relative to root; default: that of mirdata."""
    version: str = "default"
    """Of mirdata: the version of the data set."""
    index: str | None = None
    """Of mirdata: the path of an index file, relative to root; default: that of the version."""
    split: str | None = None
    """Of mirdata: one of the splits of the data set; default: all of its tracks."""
    tracks: list[str] | None = None
    """Names of some tracks; default: all. Estimates of other tracks are left out, too."""

    @model_validator(mode="after")
    def _check_mirdata(self) -> References:
        keys = ("annotation", "data_home", "version", "index", "split")
        if self.mirdata is None:
            used = [name for name in keys if getattr(self, name) != type(self).model_fields[name].default]
            if used:
                raise ValueError(f"{used[0]} applies only to data sets of mirdata: name one, such as mirdata: beatles")
            if not self.path:
                raise ValueError("needs a path, or a data set of mirdata")
            return self
        if self.path or self.annotation is None:
            needed = "an annotation, as annotation: chords" if self.annotation is None else "no path"
            raise ValueError(f"a data set of mirdata needs {needed}")
        for name, option in OPTIONS.items():
            if name not in ("select", "labels") and option.keep(getattr(self, name)) != option.default:
                raise ValueError(f"mirdata reads its own files: leave {name} out")
        return self


class Tracks(Shorthand):
    """Metadata of the tracks: a table, small files, or both."""

    short = ((str, "path", {"type": "string", "description": "A csv file with a column track."}),)

    path: str | None = None
    """A csv file, relative to root."""
    key: str = "track"
    """The table's column that holds the tracks' names."""
    files: dict[str, str] = Field(default_factory=dict)
    """Columns whose values are in one small text file for each track: name to pattern with {track}."""

    @model_validator(mode="after")
    def _check(self) -> Tracks:
        if self.path is None and not self.files:
            raise ValueError("expected a table (path) or files")
        for name, pattern in self.files.items():
            if Pattern(pattern).names != ("track",):
                raise ValueError(
                    f"invalid pattern {pattern!r} of files.{name}: expected {{track}} and no other placeholder"
                )
        return self


class Evaluation(Strict):
    """One comparison of references and estimates: one group in the store."""

    task: str
    """Name of the task: chord, ..."""
    name: Annotated[str, AfterValidator(identifier)] = ""
    """Name of the group in the store; default: the task."""
    convention: str | None = None
    """Rules and parameters; default: those of mir_eval."""
    grid: GridChoice | None = None
    """Common time axis; default: the convention's."""
    metrics: list[str] | None = None
    """Identity strings, or functions of Python files or modules; default: the convention's default metrics."""
    parameters: dict[str, Scalar] = Field(default_factory=dict)
    """Set for all metrics that have them."""
    classes: ClassesKey | None = None
    """The classes or tags: a file, a list, or an object; others are then invalid."""
    reference: References
    """Where the references are."""
    estimates: Estimates
    """Where the estimates are."""
    systems: Systems | None = None
    """The systems to score, in this order, perhaps with metadata; default: all that are found, sorted."""
    tracks: Tracks | None = None
    """Metadata of the tracks: a csv file with a column track, relative to root, or an object with more about it."""
    on_error: Literal["record", "ignore", "raise"] = "record"
    """Effect of a track that fails: exit status 3 at the end, nothing, or an immediate stop."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if isinstance(data, dict) and "name" not in data and isinstance(data.get("task"), str):
            return {**data, "name": data["task"]}
        return data

    @field_validator("systems", mode="before")
    @classmethod
    def _with_metadata(cls, value: Any) -> Any:
        """Systems with their metadata, which a list lacks."""
        if not isinstance(value, list | dict):
            return value
        wrong = [name for name in value if not isinstance(name, str)] if isinstance(value, list) else []
        if wrong:
            raise ValueError(f"invalid name {wrong[0]!r}: expected the name of a system; put it in quotes")
        names = [normal_form(name) if isinstance(name, str) else name for name in value]
        if len(set(names)) < len(names):
            raise ValueError("names a system twice")
        metadata = value.values() if isinstance(value, dict) else [None] * len(names)
        return {name: {} if meta is None else meta for name, meta in zip(names, metadata, strict=True)}


class Execution(Strict):
    """Execution of the run."""

    scheduler: str = "auto"
    """auto, serial, processes, threads, or the address of a dask scheduler, tcp://host:port."""
    block: int = Field(default=64, gt=0, le=100_000)
    """Tracks that one task computes."""

    @field_validator("scheduler")
    @classmethod
    def _check_scheduler(cls, name: str) -> str:
        if name not in SCHEDULERS and not _ADDRESS.fullmatch(name):
            raise ValueError(f"unknown scheduler {name!r}: choose from {', '.join(SCHEDULERS)}, tcp://host:port")
        return name


class Pipeline(Strict):
    """A pipeline file: evaluations, and the store of their results."""

    name: str = ""
    """Displayed title; default: the file's name without its suffix."""
    root: str = "."
    """Folder that the paths below are relative to, itself relative to the file's folder."""
    plugins: list[str] = Field(default_factory=list)
    """Python files, relative to this file, or modules that declare tasks and readers: they are run."""
    evaluations: list[Evaluation] = Field(min_length=1)
    """Comparisons of references and estimates."""
    store: str
    """The Zarr store for the results, relative to the file's folder."""
    execution: Execution = Field(default_factory=Execution)
    """Execution of the run."""

    @field_validator("store")
    @classmethod
    def _check_store(cls, path: str) -> str:
        if flaw := store_flaw(path):
            raise ValueError(f"{path!r} {flaw}")
        return path


Trouble = tuple[Place, str]
"""A place within an evaluation and the problem there."""


@dataclass(frozen=True)
class Resolved:
    """An evaluation with the records that it names."""

    convention: Convention
    grid: Grid
    measures: tuple[Measure, ...]
    reference: Reading
    estimates: Reading
    classes: Classes | None = None


def resolve(evaluation: Evaluation, root: str, folder: str | None) -> Resolved | list[Trouble]:
    """Return the records that an evaluation names, or everything that is wrong with its names.

    Paths of annotations are relative to `root`, those of Python files to `folder`; None: grid and measures, on which
    the files do not depend, are left out.
    """
    troubles: list[Trouble] = []
    try:
        kind_of(evaluation.task)
        task = get_task(evaluation.task)
    except (UnknownNameError, PluginError) as error:
        return [(("task",), str(error))]
    known = task.conventions.get(evaluation.convention or next(iter(task.conventions)))
    readings = []
    for side in ("reference", "estimates"):
        try:
            readings.append(getattr(evaluation, side).reading(evaluation.task, known.reading if known else {}, root))
        except (AnnotationError, UnknownNameError, PluginError) as error:
            troubles.append(((side,), str(error)))
    try:
        convention = task.convention(evaluation.convention)
    except UnknownNameError as error:
        return [*troubles, (("convention",), str(error))]
    classes = None
    try:
        if evaluation.classes is not None:
            classes = evaluation.classes.read(root)
            convention = convention.with_classes(classes)
    except (AnnotationError, MetricError) as error:
        troubles.append((("classes",), str(error)))
    if folder is None:
        return troubles or Resolved(convention, convention.grids[0], (), readings[0], readings[1], classes)
    grid: Grid | None = None
    try:
        grid = convention.grid(evaluation.grid)
    except MetricError as error:
        troubles.append((("grid",), str(error)))
    measures = list(_measures(evaluation, convention, folder, troubles))
    # Classes whose file is broken are reported already, and are not what is missing.
    if classes is not None or evaluation.classes is None:
        try:
            if convention.unbound:
                convention.demand_classes(measures)
            if any(measure.metric.origin for measure in measures):
                refuse_namesakes(measures)
            if grid is not None:
                measures = list(convention.on_grid(measures, grid, asked=evaluation.metrics is not None))
        except MetricError as error:
            troubles.append((("metrics",), str(error)))
    if evaluation.reference.combine == "max" and any(measure.metric.error for measure in measures):
        troubles.append((("metrics",), "the loss of the best annotator of each track (combine: max) cannot be split"))
    if troubles or grid is None:
        return troubles
    return Resolved(convention, grid, tuple(dict.fromkeys(measures)), readings[0], readings[1], classes)


def _measures(
    evaluation: Evaluation, convention: Convention, folder: str, troubles: list[Trouble]
) -> Iterator[Measure]:
    unused = set(evaluation.parameters)
    chosen: list[Sequence[Measure]] = []
    if evaluation.metrics is None:
        chosen = [[measure] for measure in convention.select()]
    elif not evaluation.metrics:
        troubles.append((("metrics",), "names no metric; leave it out for the default ones"))
    for position, text in enumerate(evaluation.metrics or ()):
        try:
            chosen.append(convention.measures_of(text, folder))
        except (MetricError, UnknownNameError, PluginError) as error:
            troubles.append((("metrics", position), str(error)))
    for measures in chosen:
        names = [p.name for p in measures[0].metric.parameters if p.name in evaluation.parameters]
        unused -= set(names)
        try:
            for measure in measures:
                assigned = zip(measure.metric.parameters, measure.values, strict=True)
                changed = {parameter.name: value for parameter, value in assigned if value != parameter.default}
                values = {**{name: evaluation.parameters[name] for name in names}, **changed}
                texts = (str(value).lower() if isinstance(value, bool) else value for value in values.values())
                listed = ",".join(f"{name}={text}" for name, text in zip(values, texts, strict=True))
                yield parse(f"{measure.metric.name}({listed})", [measure.metric]) if names else measure
        except (MetricError, UnknownNameError) as error:
            troubles.append((("parameters", names[0]), str(error)))
    metrics = [*convention.metrics, *(measure.metric for measures in chosen for measure in measures)]
    known = {parameter.name for metric in metrics for parameter in metric.parameters}
    for name in sorted(unused):
        why = "no metric asked for has it" if name in known else str(UnknownNameError("parameter", name, known))
        if name == "hop" and name not in known and FRAMES in convention.grids:
            why += "; frames are declared by grid: {hop: SECONDS}"
        troubles.append((("parameters", name), why))
