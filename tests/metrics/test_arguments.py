"""Rows of annotations as arguments of functions over one pair: mir_eval's functions take them and give mir_eval's
scores."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirflow import evaluate_paths
from mirflow.annotations.annotation import to_ragged
from mirflow.annotations.arrays import from_arguments
from mirflow.annotations.schema import kind_of
from mirflow.metrics.arguments import layouts_of
from mirflow.metrics.base import get_task, tasks
from mirflow.metrics.pair_metrics import pair_metric
from mirflow.readers import read

OPTIONS = {"transcription_velocity": {"columns": {"start": 0, "end": 1, "pitch": 2, "velocity": 3}}}
TASKS = ("alignment", "beat", "chord", "key", "melody", "multipitch", "onset", "pattern", "segment", "tempo")


@pytest.mark.parametrize("module", [*TASKS, "transcription", "transcription_velocity"])
def test_functions_of_mir_eval_give_the_scores_of_mir_eval(module: str, shared_data: Path) -> None:
    task = module.partition("_")[0]
    functions = importlib.import_module(f"mir_eval.{module}")
    velocity = module.endswith("velocity")
    key_of = {one.name: one.key for one in get_task(task).convention().metrics if one.key and not one.dims}
    names = [f"velocity_{name}" for name in key_of if not name.startswith("onset_") and "offset_" not in name]
    names = names if velocity else [*key_of]
    keys = [key_of[name.removeprefix("velocity_")] for name in names]

    @pair_metric(values=keys, name="by_mir_eval")
    def by_mir_eval(*arrays: Any) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {key.removesuffix("@0.5"): value for key, value in functions.evaluate(*arrays).items()}

    @pair_metric(values=keys, name="by_mir_eval")
    def with_velocities(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> dict[str, float]:
        return by_mir_eval(a, b, c, d, e, f)

    folder = shared_data / "mir_eval-fixtures" / module
    for reference in sorted(folder.glob("ref*"))[:4]:
        estimate = folder / reference.name.replace("ref", "est")
        asked = [with_velocities if velocity else by_mir_eval, *names]
        found = evaluate_paths(reference, estimate, task, metrics=asked, **OPTIONS.get(module, {}))
        score = found.score.values.ravel()
        np.testing.assert_allclose(score[: len(keys)], score[len(keys) :], rtol=0, atol=1e-9)
        assert found.metric.values[0] == f"by_mir_eval.{keys[0]}"


def test_forms_of_a_task_differ_in_the_number_of_arguments() -> None:
    for task in tasks():
        sizes = [len(layout.names) for layout in layouts_of(task)]
        assert len(set(sizes)) == len(sizes) > 0


@pytest.mark.parametrize("task", ["beat", "chord", "melody", "multipitch", "pattern", "key", "transcription"])
def test_arguments_make_the_annotation_that_they_come_from(task: str, shared_data: Path) -> None:
    path = sorted((shared_data / "mir_eval-fixtures" / task).glob("ref*"))[0]
    row = to_ragged([read(path, task=task)])
    layout = layouts_of(task)[0]
    again = to_ragged([from_arguments(kind_of(task), layout.arguments(row, row)[: len(layout.reference)])])
    assert [counts.tolist() for counts in again.counts] == [counts.tolist() for counts in row.counts]
    assert again.labels == row.labels
    for name, column in again.columns.items():
        np.testing.assert_array_equal(column, row.columns[name])
