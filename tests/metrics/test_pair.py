"""Functions over one pair of every task: complete docstrings, warnings at the caller's line."""

from __future__ import annotations

import inspect
import json
import re
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest

from mirflow.errors import MirflowWarning, warn_caller
from mirflow.metrics import io
from mirflow.metrics.base import get_task, tasks
from mirflow.metrics.pair import documented

MODULES = (*tasks(), "transcription_velocity", "transcription_programs")


def functions(task: str) -> list[Callable[..., Any]]:
    """The public functions of a task."""
    module = import_module(f"mirflow.metrics.{task}")
    made = [one.name for one in get_task(task).convention().metrics] if task in tasks() else []
    named = [getattr(module, name, None) for name in dict.fromkeys((*module.__all__, *made))]
    return [function for function in named if inspect.isfunction(function)]


def sections(function: Callable[..., Any]) -> dict[str, str]:
    _, *parts = re.split(r"^(\w+)\n-+$", inspect.getdoc(function) or "", flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("task", MODULES)
def test_docstrings_describe_every_argument_and_the_result(task: str) -> None:
    assert functions(task)
    for function in functions(task):
        found, signature = sections(function), inspect.signature(function)
        entries = re.findall(r"^(?! )(.+?)(?: : .*)?$", found["Parameters"], re.MULTILINE)
        described = {name.lstrip("*") for entry in entries for name in entry.split(", ")}
        assert set(signature.parameters) - {"parameters"} <= described, function
        assert list(found) == [
            name for name in ("Parameters", "Returns", "Raises", "Warns", "References", "Examples") if name in found
        ], function
        if signature.return_annotation not in ("None", None):
            assert found["Returns"].strip(), function
            # Those with "parameters" follow from records.
            assert "Examples" in found or "parameters" in signature.parameters, function


SHARED = [name for name in (*tasks(), "transcription_velocity", "io", "util") if hasattr(mir_eval, name)]
"""Modules that mir_eval has, too."""


@pytest.mark.parametrize("name", SHARED)
def test_arguments_have_mir_evals_names_order_and_defaults(name: str) -> None:
    ours, theirs = import_module(f"mirflow.metrics.{name}"), import_module(f"mir_eval.{name}")
    shared = [one for one in sorted({*ours.__all__} & {*vars(theirs)}) if inspect.isfunction(getattr(ours, one))]
    assert shared
    for function in shared:
        sides = (inspect.signature(getattr(module, function)).parameters.values() for module in (ours, theirs))
        found, expected = ([(one.name, one.default, one.kind) for one in side] for side in sides)
        if name == "key":  # has a parameter of mir_eval's development head
            found = [one for one in found if one in expected]
        assert found == expected, function


@pytest.mark.parametrize("name", [name for name in SHARED if hasattr(import_module(f"mir_eval.{name}"), "evaluate")])
def test_evaluate_refuses_misspelt_arguments_and_names_the_nearest(name: str) -> None:
    function = import_module(f"mirflow.metrics.{name}").evaluate
    parameters = inspect.signature(function).parameters.values()
    sides = [np.zeros(0) for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    known = [*re.findall(r"``(\w+)``", sections(function)["Parameters"]), *(one.name for one in parameters)][0]
    for wrong, hint in ((f"{known}_", f"did you mean {known!r}"), ("zzzzzz", "known: ")):
        with pytest.raises(TypeError, match=f"unexpected keyword argument {wrong!r}; {hint}"):
            function(*sides, **{wrong: 0.5})


@pytest.mark.parametrize("name", SHARED)
def test_constants_are_mir_evals(name: str) -> None:
    ours, theirs = import_module(f"mirflow.metrics.{name}"), import_module(f"mir_eval.{name}")
    constants = {one for one in {*ours.__all__} & {*vars(theirs)} if one.isupper()} - {
        "QUALITIES",
        "CHORD_RE",
        "STRICT_CHORD_RE",
    }
    assert constants >= {one for one in vars(theirs) if one.startswith(("MAX_", "MIN_", "N_DECIMALS"))}
    for constant in constants:
        np.testing.assert_equal(getattr(ours, constant), getattr(theirs, constant), err_msg=constant)


def read_tempo(path: Path) -> tuple[Any, ...]:
    tempi, weight = io.load_tempo(path)
    return (tempi, weight) if path.name.startswith("ref") else (tempi,)


def read_velocities(path: Path) -> tuple[Any, ...]:
    # The pitches are MIDI numbers, but mir_eval's expected scores are those of the same numbers taken as Hz.
    start, end, pitch, velocity = io.load_delimited(path, [float] * 4)
    return np.array([start, end]).T, np.array(pitch), np.array(velocity)


READERS: dict[str, Callable[[Path], tuple[Any, ...]]] = {
    "alignment": lambda path: (io.load_events(path),),
    "beat": lambda path: (io.load_events(path),),
    "chord": io.load_labeled_intervals,
    "key": lambda path: (io.load_key(path),),
    "melody": io.load_time_series,
    "multipitch": io.load_ragged_time_series,
    "onset": lambda path: (io.load_events(path),),
    "segment": io.load_labeled_intervals,
    "tempo": read_tempo,
    "transcription": io.load_valued_intervals,
    "transcription_velocity": read_velocities,
}


@pytest.mark.filterwarnings("ignore:No reference chords", "ignore:.*[Rr]esampl")
@pytest.mark.parametrize("task", READERS)
def test_scores_of_mir_evals_own_files_are_its_own_in_its_order(task: str, shared_data: Path) -> None:
    folder, evaluate = shared_data / "mir_eval-fixtures" / task, import_module(f"mirflow.metrics.{task}").evaluate
    references = [path for path in sorted(folder.glob("ref*.*")) if path.stem[3:].isdigit()]
    assert len(references) >= 3
    for path in references:
        sides = *READERS[task](path), *READERS[task](folder / path.name.replace("ref", "est"))
        before = deepcopy(sides)
        found = evaluate(*sides)
        np.testing.assert_equal(sides, before)
        output = (folder / path.name.replace("ref", "output")).with_suffix(".json")
        assert found == pytest.approx(json.loads(output.read_text("utf-8")), abs=1e-12)
    assert isinstance(found, OrderedDict)
    assert {type(value) for value in found.values()} <= {float, bool}
    assert list(found) == list(import_module(f"mir_eval.{task}").evaluate(*sides))
    if task in tasks():
        assert list(found) == keys(task)


def keys(task: str) -> list[str]:
    """The names that mir_eval gives to the default measures of a task."""
    measures = [one for one in get_task(task).convention("mir_eval").select() if one.metric.key]
    return [
        f"{one.metric.key}@{one['window']}" if task == "segment" and "window" in one.parameters else one.metric.key
        for one in measures
    ]


def test_own_entries_come_after_the_common_ones_and_records_describe_the_rest() -> None:
    @documented(
        """
        Parameters
        ----------
        left, right : str
            A side.
        other : str
            Not an argument.

        Raises
        ------
        ValueError
            For an empty side.
        """,
        get_task("beat").convention().metrics,
    )
    def f_measure(left: str, right: str, f_measure_threshold: float = 0.1, **kwargs: float) -> float:
        """Compare.

        Raises
        ------
        OSError
            For a lack of files.
        """
        return 0.0

    found = sections(f_measure)
    assert found["Parameters"].startswith(
        "\nleft, right : str\n    A side.\n"
        "f_measure_threshold : float, seconds, default 0.1\n    Largest distance of matched beats.\n"
        "**kwargs\n    Parameters of the other functions: ``f_measure_threshold``, ``cemgil_sigma``"
    )
    assert re.findall(r"^\w+$", found["Raises"], re.MULTILINE) == ["TypeError", "ValueError", "OSError"]
    assert found["References"].startswith("\nDixon, ")
    assert list(found) == ["Parameters", "Returns", "Raises", "References"]


def test_a_function_without_a_docstring_stays_as_it_is() -> None:
    def function() -> None:
        return None

    assert documented("Returns\n-------\nint")(function).__doc__ is None


def test_warnings_name_the_line_that_called_into_the_package() -> None:
    with pytest.warns(MirflowWarning, match="here") as seen:
        warn_caller("here")
    assert seen[0].filename == __file__
