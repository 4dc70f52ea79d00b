"""Plain objects of a block converted at once: the same annotations as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation, from_ragged
from mirflow.annotations.collection import join_rows
from mirflow.errors import AnnotationError
from mirflow.readers.blocks import read_objects
from mirflow.readers.objects import ObjectSource, kind_named

PAIRS, TIMES = np.array([[0.0, 1.0], [1.0, 2.5]]), np.array([0.5, 1.0])
NESTED = [[0.0, 1], (1, 2.5)]


def same(one: Annotation, other: Annotation) -> bool:
    columns = [{name: (held.dtype, held.tobytes()) for name, held in each.columns.items()} for each in (one, other)]
    rest = [(each.kind, each.labels, each.lines, each.attrs, each.files, len(each)) for each in (one, other)]
    return columns[0] == columns[1] and rest[0] == rest[1]


def converted(task: str, things: list[Any]) -> tuple[list[ObjectSource], dict[int, Annotation]]:
    """Sources of things, and the annotations of those that are converted at once."""
    sources = [ObjectSource(thing, task, f"estimate {place}") for place, thing in enumerate(things)]
    parts, found = read_objects(sources)
    rows = join_rows(kind_named(task), [part for _, part in parts])
    places = [place for places, _ in parts for place in places.tolist()]
    return sources, found | {place: from_ragged(kind_named(task).name, rows, row) for row, place in enumerate(places)}


@pytest.mark.parametrize(
    ("task", "things", "at_once"),
    [
        ("onset", [TIMES, np.zeros(0), np.array([np.nan, -1.0, 2.0])], "yyy"),
        ("beat", [np.array([1, 2]), np.array([0.5], dtype=np.float32), np.array([[0.5]]), [0.5, 1]], "yyny"),
        ("beat", [[0.5, "x"], [], [2**70], [np.float64(0.5), True], (0.5, 1.0), (TIMES, ["1", "2"])], "nyynny"),
        ("onset", [np.arange(6.0)[::2], TIMES == 1, [10**400], {"time": TIMES}, {"times": TIMES}], "ynnyn"),
        ("chord", [(PAIRS, ["C", "G:7"]), (NESTED, ["C", "N"]), (PAIRS, ["C"]), (PAIRS[:0], []), (PAIRS,)], "yynyn"),
        ("chord", [({"intervals": PAIRS, "label": ["C", "C"]}), (PAIRS, ["C", 7]), "a.lab", (PAIRS[0], ["C"])], "ynnn"),
        ("chord", [{"intervals": PAIRS, "start": TIMES, "label": ["C", "C"]}, {"start": TIMES, "end": TIMES}], "nn"),
        ("transcription", [(PAIRS, TIMES), (PAIRS, TIMES, TIMES), (PAIRS, [1.0, 2]), (PAIRS, TIMES, None)], "yyyy"),
        ("transcription", [(PAIRS, TIMES[:1]), (PAIRS, TIMES, TIMES, ["a", "b"], TIMES, TIMES), PAIRS, None], "nnnn"),
        ("melody", [(TIMES, TIMES), (TIMES[::-1], TIMES), (TIMES[::-1].copy(), TIMES[::-1]), (TIMES,)], "ynnn"),
        ("tempo", [TIMES, (TIMES, 0.5), (TIMES, 2.0), (TIMES[:1], 0.5), (TIMES, 1), [60, 120.0], 60.0], "yynnnyn"),
        ("drums", [(TIMES, ["36", "38"]), (TIMES, [36, 38]), (TIMES, ["36", "38"], TIMES)], "yny"),
        ("key", ["C major", "A  minor", "C major", "no key", "", ["C major"], None], "yyyyynn"),
        ("lyrics", ["oh my love", "a.txt"], "yn"),
        ("key", ["pyproject.toml.lab"], "y"),
        ("multipitch", [(TIMES, [TIMES, TIMES])], "n"),
    ],
)
def test_the_annotations_are_those_of_single_objects(task: str, things: list[Any], at_once: str) -> None:
    sources, found = converted(task, things)
    assert "".join("ny"[place in found] for place in range(len(things))) == at_once
    for place, annotation in found.items():
        alone, digest = sources[place].read()
        assert same(annotation, alone)
        assert digest == ""


def test_what_is_left_is_converted_by_itself_or_is_an_error_with_its_name() -> None:
    sources, found = converted("beat", [TIMES, ["x"]])
    assert list(found) == [0]
    with pytest.raises(AnnotationError, match="estimate 1: time is not a number: 'x'"):
        sources[1].read()


def test_arrays_are_not_shared_with_the_caller() -> None:
    for thing in (TIMES.copy(), (TIMES.copy(),)):
        _, found = converted("onset", [thing])
        (thing[0] if isinstance(thing, tuple) else thing)[0] = 0.0
        assert found[0].columns["time"].tolist() == [0.5, 1.0]


def test_annotations_in_memory_are_taken_as_they_are() -> None:
    held = Annotation("events", {"time": TIMES}, attrs={"annotator": "a"})
    _, found = converted("beat", [held, Annotation("key", {}, ["C major"])])
    assert found == {0: held}
