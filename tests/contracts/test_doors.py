"""Whatever a reader refuses or tells, each door refuses or tells: load, check, evaluate, runs, confined processes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.account import read_account
from mirflow.engine.block import BlockWork, TrackWork, score_block
from mirflow.errors import MirflowError, MirflowWarning
from mirflow.evaluation.linter import check_paths
from mirflow.metrics.base import get_task
from mirflow.pipeline.plan import Reference
from mirflow.readers.options import Reading
from mirflow.readers.readings import open_readings, write_readings
from mirflow.readers.sources import FileSource
from mirflow.store import open_pack
from mirflow.store.cells import SCORED, Status, read_message

from .changes import changes_of
from .documents import Example
from .examples import EXAMPLES
from .verdicts import Outcome, outcome_of

_SINGLE = [example for example in EXAMPLES if not example.keyed]
_FORMATS = sorted({example.format for example in _SINGLE})


def _name(example: Example, stem: str) -> str:
    return f"{stem}_{example.suffix}" if example.suffix else f"{stem}.{example.format}"


def _cells(example: Example, data: bytes, folder: Path, count: int) -> tuple[Status, str, np.ndarray]:
    """The first cell of a block of tracks, whose other estimates are valid files; more than a few are read at once."""
    rules = get_task(example.task).convention()
    reading = Reading.of(example.task, format=example.format, **example.reading)
    tracks = []
    for number in range(count):
        sides = []
        for side, content in (
            ("ref", example.document.data()),
            ("est", data if not number else example.document.data()),
        ):
            path = folder / _name(example, f"{side}{number}")
            path.write_bytes(content)
            sides.append(FileSource(str(path), reading, name=_name(example, side)))
        tracks.append(TrackWork(f"t{number}", (Reference(sides[0]),), ("s",), (sides[1],), (0,)))
    cells = score_block(BlockWork("e", example.task, rules.name, rules.grid(None), rules.select(), "", tuple(tracks)))
    return Status(int(cells.status[0])), cells.message[0], cells.score[0]


def _run(example: Example, data: bytes, folder: Path) -> list[str] | None:
    status, message, _ = _cells(example, data, folder, 1)
    told = [remark.text for remark in read_message(message)]
    return told if status in SCORED or status in (Status.invalid, Status.unreadable) else None


def _load(example: Example, data: bytes, folder: Path) -> list[str]:
    path = folder / _name(example, "a")
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        try:
            held = mirflow.load(path, task=example.task, format=example.format, **example.reading)
        except MirflowError as error:
            return [str(error)]
    return [remark.message for remark in read_account(held.attrs.get("account", ""))]


def _check(example: Example, data: bytes, folder: Path) -> list[str] | None:
    path = folder / _name(example, "a")
    path.write_bytes(data)
    if data.count(b'"namespace"') > 1:
        return None  # each annotation is checked, and none has to be chosen
    checked = list(check_paths([path], example.task, schema=False, format=example.format, **example.reading))
    told = [problem.message for file in checked for problem in file.problems]
    if not told and any(file.what == "track" for file in checked):
        return None  # it is right as a table of tracks, as which the other doors do not read it
    return told


def _evaluate(example: Example, data: bytes, folder: Path) -> list[str] | None:
    sides = []
    for side, content in (("ref", example.document.data()), ("est", data)):
        path = folder / _name(example, side)
        path.write_bytes(content)
        sides.append(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MirflowWarning)
        try:
            scores = mirflow.evaluate(*sides, example.task, format=example.format, **example.reading)
        except MirflowError as error:
            return [str(error)] if "est" in str(error) else None
    return [*(str(one.message) for one in caught), *(one.text for one in read_message(scores.message.item()))]


def _readings(example: Example, data: bytes, folder: Path) -> list[str]:
    """What a confined process reads and hands over."""
    path = folder / _name(example, "a")
    path.write_bytes(data)
    reading = Reading.of(example.task, format=example.format, **example.reading)
    (folder / "a.readings").unlink(missing_ok=True)
    write_readings(folder / "a.readings", reading.kind, [(FileSource(str(path), reading), {"track": "a"})])
    ((source, _),) = open_readings(folder / "a.readings").sources()
    try:
        return [remark.message for remark in source.read()[0].account]
    except MirflowError as error:
        return [str(error)]


def _pack(example: Example, data: bytes, folder: Path) -> list[str]:
    """What is told of an annotation in a pack, or when it is packed."""
    (folder / "packed").mkdir(exist_ok=True)
    (folder / "packed" / _name(example, "a")).write_bytes(data)
    pattern, out = folder / "packed" / _name(example, "{track}"), folder / "a.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        try:
            mirflow.pack(pattern, out, example.task, overwrite=True, format=example.format, **example.reading)
        except MirflowError as error:
            return [str(error)]
    return [remark.message for remark in open_pack(out)["a"].read()[0].account]


DOORS: dict[str, Callable[[Example, bytes, Path], list[str] | None]] = {
    "run": _run,
    "load": _load,
    "check": _check,
    "evaluate": _evaluate,
    "readings": _readings,
    "pack": _pack,
}
"""What each door tells of a file; None if it could not get as far."""


def _drawn(format: str, random: Random) -> tuple[Example, str, bytes | None]:
    example = random.choice([one for one in _SINGLE if one.format == format])
    change = random.choice(changes_of(example))
    return example, change.name, change.applied(example.document, random)


def _expected(outcome: Outcome) -> list[str]:
    return [outcome.error.message] if outcome.error is not None else [message for _, message in outcome.remarks]


_SETTINGS: dict[str, Any] = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate],
}


@pytest.mark.parametrize("format", _FORMATS)
def test_each_door_tells_what_the_reader_tells(format: str, tmp_path: Path) -> None:
    @settings(max_examples=2 if format in ("musicxml", "kern") else 6, **_SETTINGS)
    @given(random=st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        example, change, data = _drawn(format, random)
        if data is None:
            return
        outcome = outcome_of(example, data, tmp_path)
        expected = _expected(outcome)
        for name, door in DOORS.items():
            told = door(example, data, tmp_path)
            if name == "check" and outcome.error is not None and told:
                continue  # it tries tables as one track and as many, and gives the error of either
            lost = [message for message in expected if told is not None and not any(message in one for one in told)]
            assert not lost, f"{example.id}, {change}: {name} does not say {lost}, but {told}"

    check()


@pytest.mark.parametrize("format", _FORMATS)
def test_files_that_are_read_at_once_have_the_same_cells(format: str, tmp_path: Path) -> None:
    @settings(max_examples=2 if format in ("musicxml", "kern") else 5, **_SETTINGS)
    @given(random=st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        example, change, data = _drawn(format, random)
        if data is None:
            return
        (status, message, alone), among = _cells(example, data, tmp_path, 1), _cells(example, data, tmp_path, 6)
        assert (status, message) == among[:2], f"{example.id}, {change}"
        np.testing.assert_array_equal(alone, among[2], err_msg=f"{example.id}, {change}")

    check()
