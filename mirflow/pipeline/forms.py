"""What is wrong with the form of a pipeline file, in the words of the file and not of the validator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from ..errors import Problem, suggest
from .document import Document, Place

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


def form_problems(error: ValidationError, document: Document, model: type[BaseModel]) -> list[Problem]:
    """What pydantic found, in the words of the file; a missing key that was only misspelt counts once."""
    found = error.errors(include_url=False)
    misspelt: set[Place] = set()
    problems = []
    for one in found:
        if one["type"] == "extra_forbidden":
            place: Place = one["loc"]
            phrase = suggest(str(place[-1]), _model_at(place[:-1], model).model_fields)
            near = re.fullmatch(r"did you mean '(\w+)'\?", phrase)
            if near:
                misspelt.add((*place[:-1], near[1]))
            problems.append(document.problem(place, f"unknown key; {phrase}"))
    for one in found:
        if one["type"] == "missing" and one["loc"] not in misspelt:
            problems.append(document.problem(one["loc"], "is missing"))
        elif one["type"] not in ("missing", "extra_forbidden"):
            problems.append(document.problem(one["loc"], _words(one)))
    return problems


def _model_at(place: Place, model: type[BaseModel]) -> type[BaseModel]:
    """The model of what stands at a place: keys lead on to it, positions and names that people chose do not."""
    for step in place:
        field = model.model_fields.get(step) if isinstance(step, str) else None
        model = (field and _model_in(field.annotation)) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model in a type such as ``list[Evaluation]`` or ``Tracks | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _words(error: Mapping[str, Any]) -> str:
    if error["type"] in _KINDS:
        unquoted = error["type"] == "string_type" and isinstance(error["input"], (bool, int, float))
        hint = "; put it in quotes" if unquoted else ""
        return f"needs {_KINDS[error['type']]}, not {error['input']!r}{hint}"
    if error["type"] == "literal_error":
        return f"must be {error['ctx']['expected']}, not {error['input']!r}"
    if error["type"] == "too_short":
        return "is empty"
    return str(error["msg"]).removeprefix("Value error, ").replace("Input should", "should")
