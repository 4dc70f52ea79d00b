"""Plain objects of a block converted at once: the same annotations as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.readers.objects import ObjectSource, read_objects


def same(one: Annotation, other: Annotation) -> bool:
    columns = [{name: (held.dtype, held.tobytes()) for name, held in each.columns.items()} for each in (one, other)]
    rest = [(each.kind, each.labels, each.lines, each.attrs, each.files, len(each)) for each in (one, other)]
    return columns[0] == columns[1] and rest[0] == rest[1]


@pytest.mark.parametrize(
    ("task", "things", "at_once"),
    [
        ("onset", [np.array([0.5, 1.0]), np.zeros(0), np.array([np.nan, -1.0, 2.0])], [True] * 3),
        ("beat", [np.array([1, 2]), np.array([0.5], dtype=np.float32), np.array([[0.5]]), [0.5, 1.0]], [False] * 4),
        ("onset", [np.arange(6.0)[::2], np.arange(3.0)], [True, True]),
        ("tempo", [np.array([60.0, 120.0])], [False]),
        ("key", ["C major", "A  minor", "C major", "no key", ""], [True] * 5),
        ("key", [["C major"], None], [False, False]),
        ("chord", ["a.lab"], [False]),
        ("lyrics", ["oh my love", "a.txt"], [True, False]),
        ("key", ["pyproject.toml.lab"], [True]),
    ],
)
def test_the_annotations_are_those_of_single_objects(task: str, things: list[Any], at_once: list[bool]) -> None:
    sources = [ObjectSource(thing, task, f"estimate {place}") for place, thing in enumerate(things)]
    found = read_objects(sources)
    assert [id(source) in found for source in sources] == at_once
    for source in sources:
        if id(source) in found:
            annotation, digest = found[id(source)]
            alone, own = source.read()
            assert same(annotation, alone)
            assert digest == own == ""


def test_arrays_are_not_shared_with_the_caller() -> None:
    times = np.array([0.5, 1.0])
    source = ObjectSource(times, "onset", "estimate")
    ((annotation, _),) = read_objects([source]).values()
    times[0] = 0.0
    assert annotation.columns["time"].tolist() == [0.5, 1.0]
