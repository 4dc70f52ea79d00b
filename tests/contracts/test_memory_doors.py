"""What is in memory has the same verdict at each door: evaluate, accumulators, and many objects at once."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.errors import MirflowError, MirflowWarning
from mirflow.store.cells import read_message

from .examples import TABLES
from .objects import CHANGES, FORMS, values_of

_SETTINGS: dict[str, Any] = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate],
}


def _accumulated(task: str, reference: Any, estimates: list[Any]) -> tuple[list[str], np.ndarray]:
    """What is said of the first of several estimates, and its scores."""
    accumulator = mirflow.Accumulator(task)
    names = [f"t{number}" for number in range(len(estimates))]
    accumulator.update([reference] * len(estimates), estimates, tracks=names)
    cells = accumulator.dataset().isel(track=0)
    return [remark.text for remark in read_message(str(cells.message.item()))], cells.score.values.ravel()


@pytest.mark.parametrize("form", [name for name in FORMS if name != "parquet"])
def test_accumulators_say_what_evaluate_says(form: str, tmp_path: Path) -> None:
    @settings(max_examples=15, **_SETTINGS)
    @given(random=st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        task, change = random.choice(list(TABLES)), random.choice(CHANGES)
        values = change.make(values_of(task, form), random)
        if values is None:
            return
        try:
            reference, estimate, other = (
                FORMS[form].make(held, tmp_path) for held in (values_of(task, form), values, values_of(task, form))
            )
        except (TypeError, ValueError):  # the library of the form cannot hold it
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MirflowWarning)
            error, scores = "", np.zeros(0)
            try:
                scores = mirflow.evaluate(reference, estimate, task=task).score.values.ravel()
            except MirflowError as caught:
                error = str(caught)
            said, alone = _accumulated(task, reference, [estimate])
            said_among, among = _accumulated(task, reference, [estimate, *[other] * 5])
        what = f"{form}, {task}, {change.name}: {values}"
        assert (said, alone.tolist()) == (said_among, among.tolist()) or np.isnan(alone).any(), what
        if error:
            assert np.isnan(alone).all(), what
            assert any(text.partition(": ")[2] in error for text in said), f"{what}: {error!r} is not in {said}"
        else:
            np.testing.assert_array_equal(alone, scores, err_msg=what)

    check()
