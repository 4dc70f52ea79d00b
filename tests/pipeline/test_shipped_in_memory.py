"""Annotations of the shipped pipelines, read and scored in memory: the scores of their runs, to the bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.annotations.source import Source
from mirflow.engine.runs import plan
from mirflow.errors import AnnotationError, MirflowWarning
from mirflow.pipeline.plan import EvaluationPlan

from ..conftest import BUNDLED, FOLDERS, PIPELINES

SHIPPED = sorted(path.stem for path in PIPELINES.glob("*.yaml"))


def held(source: Source, task: str) -> Any:
    """The annotation as a labelled dataset; the source itself where it cannot be read."""
    try:
        return mirflow.annotation(task, source)
    except AnnotationError:
        return source


def references(planned: EvaluationPlan, annotator: str) -> dict[str, Any]:
    return {
        track: held(one.source, planned.task)
        for track, several in zip(planned.tracks, planned.references, strict=True)
        for one in several
        if one.annotator == annotator
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:transcription. the pitches are whole numbers")  # those of files of velocities
@pytest.mark.parametrize("name", SHIPPED)
def test_scores_in_memory_are_those_of_the_run(
    name: str, shipped_store: Callable[[str], Path], request: pytest.FixtureRequest
) -> None:
    store = mirflow.open_store(shipped_store(name))
    data = None if name in BUNDLED else request.getfixturevalue("shared_data") / FOLDERS.get(name, name)
    for planned in plan(PIPELINES / f"{name}.yaml", root=data).plans:
        if planned.combine:  # several references of a track
            continue
        estimates = {
            system: {
                track: held(one, planned.task)
                for track, one in zip(planned.tracks, row, strict=True)
                if one is not None
            }
            for system, row in zip(planned.systems, planned.estimates, strict=True)
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MirflowWarning)
            found = mirflow.score(
                references(planned, ""),
                estimates,
                planned.task,
                metrics=[str(measure) for measure in planned.measures],
                convention=planned.convention,
                grid=planned.grid,
                classes=planned.classes,
            )
        stored = store[planned.name].to_dataset()
        found = found.sel(system=stored.system, track=stored.track)
        assert set(found.data_vars) == set(stored.data_vars)
        for variable in set(stored.data_vars) - {"message", "digest"}:
            np.testing.assert_array_equal(found[variable].values, stored[variable].values, err_msg=variable)
        assert ((found.message == "") == (stored.message == "")).all()
        for attribute in ("task", "convention", "grid", "combine", "parameters", "versions"):
            assert str(found.attrs[attribute]) == str(stored.attrs[attribute])
