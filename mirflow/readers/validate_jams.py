"""JAMS files against the schemas of the jams package: thorough and slow, so only where it is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import Problem, UnreadableError
from .content import read_bytes
from .options import MAX_BYTES


def schema_problems(path: str | Path, max_bytes: int = MAX_BYTES) -> list[Problem]:
    """What breaks the JAMS schema, or the schema of an annotation's namespace.

    Parameters
    ----------
    path : path
    max_bytes : int

    Returns
    -------
    list of Problem
        Each with its place, such as ``annotations[0].data[12].value``; empty for a valid file.

    Raises
    ------
    UnreadableError
        If the file is not JSON.
    """
    data = read_bytes(path, max_bytes)
    try:
        document = json.loads(data)
    except RecursionError:
        raise UnreadableError("is nested too deeply for JAMS", path=path) from None
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not JSON: {error}", path=path) from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg}", path=path, line=error.lineno) from None
    return list(_problems(document))


def _problems(document: Any) -> Iterator[Problem]:
    import jams

    annotations = document.get("annotations") if isinstance(document, Mapping) else None
    held = annotations if isinstance(annotations, list) else []
    # The observations are judged by their namespace below; in the frame they would all be listed in one message.
    frame = [{**one, "data": []} if isinstance(one, Mapping) and "data" in one else one for one in held]
    document = {**document, "annotations": frame} if held else document
    yield from _broken(document, jams.schema.JAMS_SCHEMA, "")
    for place, one in enumerate(held):
        if not isinstance(one, Mapping) or "data" not in one or not isinstance(one.get("namespace"), str):
            continue
        where = f"annotations[{place}].data"
        try:
            schema = jams.schema.namespace_array(one["namespace"])
        except jams.NamespaceError:
            yield Problem(f"annotations[{place}].namespace", f"unknown to JAMS: {one['namespace']!r}")
        else:
            yield from _broken(_rows(one["data"]), schema, where)


def _rows(data: Any) -> Any:
    """Observations as a list, also where an old file keeps them in columns."""
    if not isinstance(data, Mapping) or not all(isinstance(column, list) for column in data.values()):
        return data
    return [dict(zip(data, values, strict=False)) for values in zip(*data.values(), strict=False)]


def _broken(instance: Any, schema: Mapping[str, Any], where: str) -> Iterator[Problem]:
    import jams.schema

    for error in jams.schema.VALIDATOR.evolve(schema=schema).iter_errors(instance):
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        yield Problem((where + place).lstrip("."), _short(error))


def _short(error: Any) -> str:
    if error.validator == "pattern":
        return f"not a valid value: {error.instance!r}"
    return error.message if len(error.message) < 200 else f"breaks the rule {error.validator!r}"
