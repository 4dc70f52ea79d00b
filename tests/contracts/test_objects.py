"""Nothing that a table, a mapping of columns or a Parquet file holds passes in silence."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mirflow.annotations.schema import KINDS, TASK_KINDS

from .documents import Example, Tree
from .examples import TABLES
from .objects import CHANGES, FORMS, outcome_of_object, values_of
from .verdicts import problem_of

_COMMON = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate],
}
_FLAT = {name for name, kind in KINDS.items() if kind.columns}


def demand_right(form: str, task: str, random: Random, folder: Path) -> None:
    """Change the columns of a small annotation, and judge what becomes of them."""
    change = random.choice(CHANGES)
    values = change.make(values_of(task, form), random)
    before = outcome_of_object(form, task, values_of(task, form), folder)
    after = None if values is None else outcome_of_object(form, task, values, folder)
    if before is None or after is None or after.error is not None:
        return
    assert before.error is None, f"the columns of {task} are not valid as {form}: {before.error}"
    problem = problem_of(Example("parquet", task, Tree({})), change, before, after)
    assert not problem, f"{form}, {task}, {change.name}: {problem}\n{values}"


@pytest.mark.parametrize("task", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_each_change_of_columns_is_taken_or_told(form: str, task: str, tmp_path: Path) -> None:
    @settings(max_examples=10, **_COMMON)
    @given(random=st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        demand_right(form, task, random, tmp_path)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("task", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_each_of_many_changes_of_columns_is_taken_or_told(form: str, task: str, tmp_path: Path) -> None:
    @settings(max_examples=100, **{**_COMMON, "derandomize": False})
    @given(random=st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        demand_right(form, task, random, tmp_path)

    check()


@pytest.mark.parametrize("name", sorted(_FLAT))
def test_each_kind_with_columns_has_an_example(name: str) -> None:
    has_example = any(TASK_KINDS[task] == name for task in TABLES)
    assert has_example, f"the kind {name!r} has no columns: add them to TABLES in tests/contracts/examples.py"
