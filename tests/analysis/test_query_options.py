"""Each option of a query is declared once, and every door has it."""

from __future__ import annotations

from typing import get_type_hints

import click
import pytest

from mirflow.analysis.query_options import OPTIONS, Query, QueryOptions
from mirflow.cli.query import query_command
from mirflow.service.http_api import OPERATIONS

POSITIONAL = {"metric", "aggregate", "by"}


def test_keywords_have_the_names_and_types_of_the_fields():
    fields = get_type_hints(Query)
    assert get_type_hints(QueryOptions) == {name: fields[name] for name in OPTIONS if name not in POSITIONAL}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_command_has_the_option(name):
    declared = OPTIONS[name]
    (found,) = [one for one in query_command.params if one.name == name]
    assert isinstance(found, click.Option)
    assert {f"--{name}", *declared.flags} == {*found.opts}
    assert found.multiple == (declared.many or declared.pairs)
    assert found.help is not None
    assert found.help.startswith(declared.help.split(".")[0])
    if declared.choices is not None:
        assert isinstance(found.type, click.Choice)
        assert [*found.type.choices] == [*declared.choices()]


@pytest.mark.parametrize("name", OPTIONS)
def test_the_http_api_has_the_parameter(name):
    (operation,) = [one for one in OPERATIONS if one.path.endswith("/query")]
    (found,) = [one for one in operation.parameters if one.name == (OPTIONS[name].parameter or name)]
    assert found.help == OPTIONS[name].help
    assert found.many == OPTIONS[name].many
    assert (found.kind == "pairs") == OPTIONS[name].pairs
