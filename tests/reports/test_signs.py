"""Every verdict of every task has the same sign in figures and in the page."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.schema import TASK_KINDS
from mirflow.errors import MirflowError
from mirflow.metrics.base import get_task, tasks
from mirflow.reports.drawing import SIGNS
from mirflow.reports.figures import lanes as verdicts
from mirflow.reports.page.data import describe_words

from ..samples import sample

WORDS = {word: sign for sign, words in SIGNS.items() for word in words}
EXPLAINED = [
    task
    for task in tasks()
    if TASK_KINDS[task] != "audio" and any(rules.explain is not None for rules in get_task(task).conventions.values())
]


def pairs_of(task: str) -> Iterator[tuple[Annotation, Annotation]]:
    """A few annotations, each against itself and against another."""
    rng = np.random.default_rng(3)
    for _ in range(2):
        reference = sample(task, rng)
        yield reference, reference
        yield reference, sample(task, rng)


@cache
def verdicts_of(task: str, name: str) -> tuple[set[str], set[str]]:
    """What the evidence for every metric that has any says of all pairs, and of annotations against themselves."""
    rules = get_task(task).conventions[name]
    assert rules.explain is not None
    said: set[str] = set()
    of_itself: set[str] = set()
    for metric in rules.metrics:
        (measure,) = rules.select([metric.name])
        for reference, estimate in pairs_of(task):
            try:
                columns = rules.explain(reference, estimate, measure)
            except MirflowError:  # this metric judges no items, or the pair has none in common
                continue
            words = set(map(str, columns.get("verdict", np.empty(0, dtype=str)).tolist()))
            said |= words
            # Of a metric of loud notes soft notes count on one side only.
            if reference is estimate and "loud" not in measure.parameters.values():
                of_itself |= words
    return said, of_itself


def explained(task: str) -> list[str]:
    return [name for name, rules in get_task(task).conventions.items() if rules.explain is not None]


@pytest.mark.parametrize("task", EXPLAINED)
def test_every_verdict_is_known(task: str) -> None:
    for convention in explained(task):
        said, _ = verdicts_of(task, convention)
        assert said <= set(WORDS), convention
        assert said or task == "key", convention  # whose evidence is a relation


@pytest.mark.parametrize("task", EXPLAINED)
def test_what_is_compared_with_itself_is_no_error(task: str) -> None:
    for convention in explained(task):
        _, of_itself = verdicts_of(task, convention)
        assert {WORDS[word] for word in of_itself} <= {"good", "none"}, convention


def test_every_verdict_means_one_thing() -> None:
    assert sum(map(len, SIGNS.values())) == len(WORDS)
    assert set(verdicts.TOO_MUCH) | set(verdicts.MISSED) == set(SIGNS["bad"])


def test_the_page_knows_the_same_verdicts() -> None:
    page = describe_words()["signs"]
    assert sorted(page["good"]) == sorted(SIGNS["good"])
    assert sorted(page["bad"]) == sorted([*SIGNS["half"], *SIGNS["bad"]])
    assert set(page) == {"good", "bad"}  # any other word is neither
