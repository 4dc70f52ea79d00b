"""Every verdict of every task has the same sign in figures and in the page."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.schema import TASK_KINDS
from mirflow.errors import MirflowError
from mirflow.metrics.base import Convention, get_task, tasks
from mirflow.reports.figures import lanes as verdicts
from mirflow.reports.figures.lanes import SIGNS
from mirflow.reports.page.data import describe_words

from ..samples import sample

WORDS = {word: sign for sign, words in SIGNS.items() for word in words}
EXPLAINED = [
    (task, name)
    for task in tasks()
    for name, rules in get_task(task).conventions.items()
    if rules.explain is not None and TASK_KINDS[task] != "audio"
]


def pairs_of(task: str) -> Iterator[tuple[Annotation, Annotation]]:
    """A few annotations, each against itself and against another."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        reference = sample(task, rng)
        yield reference, reference
        yield reference, sample(task, rng)


def verdicts_of(rules: Convention, task: str) -> set[str]:
    """What the evidence for every metric that has any says of them."""
    found: set[str] = set()
    assert rules.explain is not None
    for metric in rules.metrics:
        (measure,) = rules.select([metric.name])
        for reference, estimate in pairs_of(task):
            try:
                columns = rules.explain(reference, estimate, measure)
            except MirflowError:  # this metric judges no items, or the pair has none in common
                continue
            found |= set(map(str, columns.get("verdict", np.empty(0, dtype=str)).tolist()))
    return found


@pytest.mark.parametrize(("task", "convention"), EXPLAINED)
def test_every_verdict_is_known(task: str, convention: str) -> None:
    message = verdicts_of(get_task(task).conventions[convention], task)
    assert message <= set(WORDS)
    if task != "key":  # whose evidence is a relation
        assert message


@pytest.mark.parametrize(("task", "convention"), EXPLAINED)
def test_what_is_compared_with_itself_is_no_error(task: str, convention: str) -> None:
    rules = get_task(task).conventions[convention]
    assert rules.explain is not None
    for reference, estimate in pairs_of(task):
        if reference is not estimate:
            continue
        for metric in rules.metrics:
            if "loud" in metric.measure().parameters.values():  # soft notes count on one side only
                continue
            try:
                columns = rules.explain(reference, estimate, *rules.select([metric.name]))
            except MirflowError:  # as above
                continue
            message = columns.get("verdict", np.empty(0, dtype=str)).tolist()
            assert {WORDS[word] for word in message} <= {"good", "none"}


def test_every_verdict_means_one_thing() -> None:
    assert sum(map(len, SIGNS.values())) == len(WORDS)
    assert set(verdicts.TOO_MUCH) | set(verdicts.MISSED) == set(SIGNS["bad"])


def test_the_page_knows_the_same_verdicts() -> None:
    page = describe_words()["signs"]
    assert sorted(page["good"]) == sorted(SIGNS["good"])
    assert sorted(page["bad"]) == sorted([*SIGNS["half"], *SIGNS["bad"]])
    assert set(page) == {"good", "bad"}  # any other word is neither
