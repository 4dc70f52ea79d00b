"""The command line as tests call it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from click.testing import CliRunner, Result

from mirflow.cli import cli


def invoke(*words: object, code: int | None = None, **environment: str) -> Result:
    """The result of a command, which ends with this exit code (None: with any)."""
    result = CliRunner().invoke(cli, [str(word) for word in words], env=environment, catch_exceptions=False)
    assert code is None or result.exit_code == code, result.output
    return result


def printed(*words: object) -> str:
    """What a command that succeeds prints."""
    return invoke(*words, code=0).stdout


def refused(*words: object) -> str:
    """What a command says that ends with exit code 2, in one line."""
    return " ".join(invoke(*words, code=2).output.split())


def rows(*words: object) -> list[dict[str, Any]]:
    """The rows of a table for programs."""
    found: list[dict[str, Any]] = json.loads(printed(*words, "--format", "json"))
    return found


@cache
def listed_tasks() -> list[str]:
    """The tasks that ``mirflow metrics`` lists."""
    return sorted({row["task"] for row in rows("metrics")})


def problems(*words: object) -> list[dict[str, Any]]:
    """The problems that ``mirflow check`` lists, whatever its exit code."""
    found: list[dict[str, Any]] = json.loads(invoke("check", *words, "--format", "json").stdout)
    return found
