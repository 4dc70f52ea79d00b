"""Read YAML as plain values with the line of each, check them by a pydantic model, and describe problems of their form.

Sizes and depths are limited, and ``${NAME}`` is replaced from the environment, except in text from elsewhere. For other
readers, absolute paths are shown without the folders of this machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from ..errors import Problem, UnreadableError, suggest
from ..readers.content import read_within

MAX_BYTES = 2**20
"""Bytes of a file, and characters of a text from elsewhere: a megabyte, even of comments, takes a second."""
MAX_VALUES = 20_000
MAX_DEPTH = 40
_NESTED_BRACES = re.compile(r"\{[^}\"']*\{\w+(:path)?\}")

Place = tuple[str | int, ...]  # keys and positions that lead to a value

_PLAIN = "tag:yaml.org,2002:"
_NO_VALUE = (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError, yaml.YAMLError)
"""What PyYAML raises where a tag and a text do not fit, as in ``!!bool x``."""
_SCALARS = frozenset({"str", "int", "float", "bool", "null"})
VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
"""A reference to an environment variable; its only group is the name."""


@dataclass
class Document:
    """A YAML file as plain values."""

    data: Any = None
    lines: dict[Place, int] = field(default_factory=dict)  # line of each key or item, counted from 1
    problems: list[Problem] = field(default_factory=list)  # problems of its YAML
    text: str = ""  # the file's text

    def problem(self, place: Place, message: str, line: int | None = None) -> Problem:
        """Make a problem at a place, such as ``evaluations[0].task``, with its line if that is known."""
        above = (place[:end] for end in range(len(place), 0, -1))
        line = line or next((self.lines[part] for part in above if part in self.lines), None)
        shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).lstrip(".")
        return Problem(shown, message if line is None else f"{message} (line {line})")


def read_document(path: str | Path) -> Document:
    """Read a YAML file; everything that is wrong with it is among the problems."""
    try:
        data, size = read_within(path, MAX_BYTES)
    except UnreadableError as error:
        return Document(problems=[Problem("", error.message)])
    if size > MAX_BYTES:
        return Document(problems=[Problem("", f"is larger than {MAX_BYTES // 2**20} MB: not a pipeline file")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Document(problems=[Problem("", f"is not UTF-8 (byte {error.start})")])
    return parse_document(text)


def dump_document(data: Any) -> str:
    """Write plain values as YAML, keys in their order."""
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))


def values_without_folders(values: Any, key: str = "") -> Any:
    """A pipeline's values for other readers: absolute paths are cut to the part without folders of this machine."""
    if isinstance(values, Mapping):
        return {name: values_without_folders(value, str(name)) for name, value in values.items()}
    if isinstance(values, list):
        return [values_without_folders(value, key) for value in values]
    shown = _shown_path(values, key) if isinstance(values, str) else None
    return values if shown is None else shown


def _shown_path(path: str, key: str) -> str | None:
    """An absolute path from the step with its first placeholder on, or its last step; of a root ``.``. None for texts
    that are no absolute paths."""
    if not (Path(path).is_absolute() or path.startswith("~")):
        return None
    if key == "root":
        return "."
    parts = re.split(r"[/\\]", path)
    first = next((index for index, part in enumerate(parts) if "{" in part), len(parts) - 1)
    return "/".join(parts[first:])


def without_folders(text: str) -> str:
    """A pipeline's text as :func:`values_without_folders` shows its values; everything else is unchanged."""
    if len(text) > MAX_BYTES:
        return ""
    try:
        paths = [*_absolute(yaml.compose(text, Loader=_Loader))]
    except (yaml.YAMLError, _ExplodedError, RecursionError):
        return ""
    for shown, node in reversed(paths):
        quoted = json.dumps(shown, ensure_ascii=False)
        text = text[: node.start_mark.index] + quoted + text[node.end_mark.index :]
    return text


def _absolute(node: yaml.Node | None, key: str = "") -> Iterator[tuple[str, yaml.ScalarNode]]:
    """The absolute paths in a document, in their order, each as it is shown."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _absolute(value, str(name.value))
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _absolute(value, key)
    elif isinstance(node, yaml.ScalarNode) and (shown := _shown_path(node.value, key)) is not None:
        yield shown, node


def parse_document(text: str, *, foreign: bool = False) -> Document:
    """Parse the contents of YAML text, with values of ``${NAME}`` from the environment. Text that is `foreign` came
    from elsewhere and sees no environment."""
    document = Document(text=text)
    if len(text) > MAX_BYTES:
        document.problems.append(Problem("", f"has more than {MAX_BYTES} characters: not a pipeline"))
        return document
    try:
        node = yaml.compose(text, Loader=_Loader)
        if node is not None:
            document.data = _Builder(document, foreign).build(node, ())
    except yaml.MarkedYAMLError as error:
        mark, reason = error.problem_mark, f"is not YAML: {error.problem or error.context}"
        if mark is not None:
            line = text.splitlines()[mark.line] if mark.line < len(text.splitlines()) else ""
            # The commonest slip: {path: refs/{track}.lab} reads as a mapping within a mapping.
            hint = "; within { } put values that have braces in quotes" if _NESTED_BRACES.search(line) else ""
            reason += f"{hint} (line {mark.line + 1})"
        document.problems.append(Problem("", reason))
    except yaml.YAMLError as error:
        document.problems.append(Problem("", f"is not YAML: {' '.join(str(error).split())}"))
    except RecursionError:
        document.problems.append(Problem("", "is nested too deeply"))
    except _ExplodedError as error:
        document.problems.append(Problem("", str(error)))
    return document


class _ExplodedError(Exception):
    """A small document expands to too many values."""


class _Loader(yaml.SafeLoader):
    """Composes documents up to a number of values; a megabyte of more would take half a minute."""

    nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a value or a key."""
        self.nodes += 1
        if self.nodes > 2 * MAX_VALUES:
            raise _ExplodedError(f"has more than {MAX_VALUES} values: too many for a file of this kind")
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


@dataclass
class _Builder:
    document: Document
    foreign: bool
    scalars: yaml.constructor.SafeConstructor = field(default_factory=yaml.constructor.SafeConstructor)
    count: int = 0

    def build(self, node: yaml.Node, place: Place) -> Any:
        """Return the value of a node."""
        self.count += 1
        if self.count > MAX_VALUES:
            raise _ExplodedError(f"expands to more than {MAX_VALUES} values: do its aliases multiply?")
        if len(place) > MAX_DEPTH:
            raise _ExplodedError(f"is nested more than {MAX_DEPTH} levels deep: does an alias contain itself?")
        self.document.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_PLAIN}seq":
            return [self.build(item, (*place, position)) for position, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            kind = node.tag.removeprefix(_PLAIN)
            if kind in ("timestamp", "value"):
                return node.value
            if kind not in _SCALARS or not node.tag.startswith(_PLAIN):
                self._add(place, f"YAML tags are not allowed: {node.tag}")
                return None
            try:
                value = self.scalars.construct_object(node)
            except _NO_VALUE:
                self._add(place, f"not a value: {node.value!r}")
                return None
            if not isinstance(value, str):
                return value
            environment: Mapping[str, str] = {} if self.foreign else os.environ
            for name in VARIABLE.findall(value):
                if name not in environment:
                    why = "is not looked up for a store from elsewhere" if self.foreign else "is not set"
                    self._add(place, f"the environment variable {name} {why}")
            return VARIABLE.sub(lambda match: environment.get(match[1], match[0]), value)
        if not isinstance(node, yaml.MappingNode) or node.tag != f"{_PLAIN}map":
            self._add(place, f"YAML tags are not allowed: {node.tag}")
            return None
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_PLAIN}merge":
                for source in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                    more = self.build(source, place)
                    if not isinstance(more, dict):
                        self._add((*place, "<<"), "expected a mapping", source)
                        continue
                    merged |= {key: value for key, value in more.items() if key not in merged}
                continue
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                self._add(place, "a key must be text", key_node)
                continue
            if key in values:
                self._add((*place, key), "occurs twice", key_node)
                continue
            self.document.lines[*place, key] = key_node.start_mark.line + 1
            values[key] = self.build(value_node, (*place, key))
        return {**merged, **values}

    def _add(self, place: Place, message: str, node: yaml.Node | None = None) -> None:
        line = None if node is None else node.start_mark.line + 1
        self.document.problems.append(self.document.problem(place, message, line))


_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


Model = TypeVar("Model", bound=BaseModel)


def validate(document: Document, model: type[Model], needs: str) -> tuple[Model | None, list[Problem]]:
    """Return the model of a document if its form is valid, and all its problems; `needs` are its keys."""
    problems = list(document.problems)
    if not isinstance(document.data, Mapping):
        return None, problems or [Problem("", f"is empty: expected {needs}")]
    try:
        return model.model_validate(document.data), problems
    except ValidationError as error:
        return None, problems + form_problems(error, document, model)


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of files, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}


def form_problems(error: ValidationError, document: Document, model: type[BaseModel]) -> list[Problem]:
    """Translate the errors of pydantic; a misspelt key counts once, and not as missing, too."""
    errors = error.errors(include_url=False)
    misspelt: set[Place] = set()
    problems = []
    for detail in errors:
        if detail["type"] == "extra_forbidden":
            place: Place = detail["loc"]
            inner = model  # to which keys lead, but not positions and chosen names
            for step in place[:-1]:
                field = inner.model_fields.get(step) if isinstance(step, str) else None
                inner = (field and _model_in(field.annotation)) or inner
            phrase = suggest(str(place[-1]), inner.model_fields)
            near = re.fullmatch(r"did you mean '(\w+)'\?", phrase)
            if near:
                misspelt.add((*place[:-1], near[1]))
            parts = ((name, _model_in(field.annotation)) for name, field in model.model_fields.items())
            owners = [repr(name) for name, part in parts if part is not None and place[-1] in part.model_fields]
            owners = ["the file itself"] if place[-1] in model.model_fields else owners
            phrase = f"it is a key of {' and '.join(owners)}" if owners and near is None else phrase
            if place[-2:-1] == ("classes",) and near is None:
                phrase = f"classes with members stand below tree, as in {{tree: {{{place[-1]}: [...]}}}}"
            problems.append(document.problem(place, f"unknown key; {phrase}"))
    for detail in errors:
        if detail["type"] == "missing" and detail["loc"] not in misspelt:
            problems.append(document.problem(detail["loc"], "is missing"))
        elif detail["type"] not in ("missing", "extra_forbidden"):
            where = detail["loc"]
            place = where[:-1] if where[-1:] == ("[key]",) else where  # without pydantic's step to a key itself
            expected = _KINDS.get(detail["type"]) or detail.get("ctx", {}).get("expected")
            words = str(detail["msg"]).removeprefix("Value error, ").replace("Input should", "should")
            if detail["type"] in _KINDS or detail["type"] == "literal_error":
                unquoted = detail["type"] == "string_type" and isinstance(detail["input"], (bool, int, float))
                hint = "; put it in quotes" if unquoted else ""
                words = f"invalid value {detail['input']!r}: expected {expected}{hint}"
            problems.append(document.problem(place, "is empty" if detail["type"] == "too_short" else words))
    return problems


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the first model in a type such as ``list[Evaluation]`` or ``Tracks | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
