"""The key ``classes`` of an evaluation: the classes or tags that there are, and what errors are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, PlainValidator, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from ..annotations.classes import Classes
from ..errors import AnnotationError
from ..readers.classes import read_classes
from .strict import Strict


def _tree(value: Any) -> Any:
    """A tree of names: mappings, whose ends are lists or nothing."""
    if isinstance(value, dict):
        for name, below in value.items():
            if not isinstance(name, str):
                raise ValueError(f"needs names of classes, not {name!r}; put it in quotes")
            _tree(below)
    elif isinstance(value, list):
        for name in value:
            if not isinstance(name, str):
                raise ValueError(f"needs names of classes, not {name!r}; put it in quotes")
    elif value is not None:
        raise ValueError(f"needs a list of classes or a mapping, not {value!r}")
    return value


Tree = Annotated[dict[str, Any], PlainValidator(_tree), WithJsonSchema({"type": "object"})]


class ClassesKey(Strict):
    """The classes or tags that there are: a file, a list of names, or an object with more about them."""

    path: str | None = None
    """A csv or tsv file, relative to root: names; class,parent; or from,to,credit."""
    names: list[str] = Field(default_factory=list)
    """Names of classes or tags."""
    tree: Tree = Field(default_factory=dict)
    """Classes to what is below them; an error is worth the share of the levels that both classes have in common."""
    credit: dict[str, dict[str, float]] = Field(default_factory=dict)
    """The reference's class to the estimate's class to what the error is worth, 0 to 1."""

    @model_validator(mode="before")
    @classmethod
    def _from_short(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"path": data}
        return {"names": data} if isinstance(data, list) else data

    @model_validator(mode="after")
    def _check(self) -> ClassesKey:
        if self.path is not None and (self.names or self.tree or self.credit):
            raise ValueError("names a file, which says all: leave names, tree and credit out")
        if self.path is None:
            try:
                self._written()
            except AnnotationError as error:
                raise ValueError(str(error)) from None
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler.resolve_ref_schema(handler(schema))
        names = {"type": "array", "items": {"type": "string"}, "description": "Names of classes or tags."}
        return {"anyOf": [{"type": "string", "description": "A csv or tsv file."}, names, whole]}

    def read(self, root: str | Path) -> Classes:
        """The classes, from the file if they stand in one.

        Raises
        ------
        AnnotationError
            If the file cannot be read or understood.
        """
        return self._written() if self.path is None else read_classes(Path(root, self.path), self.path)

    def _written(self) -> Classes:
        return Classes.of(self.names, self.tree, self.credit)
