"""Nothing that a file holds passes in silence: files of every format and task, changed by a machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mirflow.annotations.account import RULES
from mirflow.annotations.schema import KINDS, TASK_KINDS
from mirflow.readers.formats import FORMATS

from .changes import changes_of
from .documents import Example
from .examples import EXAMPLES, SEPARATORS
from .verdicts import outcome_of, problem_of, vain_remedy

PAIRS: dict[tuple[str, str], list[Example]] = {}
for _example in EXAMPLES:
    PAIRS.setdefault((_example.format, _example.task), []).append(_example)
SLOW = ("musicxml", "kern")
"""Formats that are read by other libraries, which take a hundred times as long."""
_IDS = ["-".join(pair) for pair in PAIRS]
_COMMON = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("changed")


def demand_right(pair: tuple[str, str], random: Random, folder: Path) -> None:
    """Change one of the examples of a pair, and judge what becomes of it."""
    example = random.choice(PAIRS[pair])
    change = random.choice(changes_of(example))
    data = change.applied(example.document, random)
    if data is None:
        return
    before, after = (outcome_of(example, content, folder) for content in (example.document.data(), data))
    assert before.error is None, f"the example {example.id} is not valid: {before.error}"
    problem = problem_of(example, change, before, after)
    if after.error is not None and not problem:
        vain = vain_remedy(example, after.error, data, folder)
        problem = vain and f"a remedy that does not work: {vain}"
    assert not problem, f"{example.id}, {change.name}: {problem}\n{data.decode(errors='replace')[:2000]}"
    told = {rule for rule, _ in after.remarks} - {"text_form", *FORMATS[example.format].reports}
    assert not told, f"declare in `reports` of the format {example.format!r} what its reader tells: {told}"


@pytest.mark.parametrize("pair", PAIRS, ids=_IDS)
def test_each_change_is_taken_or_told(pair: tuple[str, str], folder: Path) -> None:
    @settings(max_examples=4 if pair[0] in SLOW else 15, **_COMMON)
    @given(random=st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        demand_right(pair, random, folder)

    check()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("pair", PAIRS, ids=_IDS)
def test_each_of_twenty_thousand_changes_is_taken_or_told(pair: tuple[str, str], folder: Path) -> None:
    @settings(max_examples=30 if pair[0] in SLOW else 150, **{**_COMMON, "derandomize": False})
    @given(random=st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        demand_right(pair, random, folder)

    check()


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_an_example_and_declares_what_it_takes(name: str) -> None:
    has_example = name == "parquet" or any(example.format == name for example in EXAMPLES)
    assert has_example, f"the format {name!r} has no example: add valid files to tests/contracts/examples.py"
    declared = FORMATS[name]
    assert declared.takes, f"say in `takes` of the format {name!r} what of a file becomes the annotation"
    unknown = {*declared.silent, *declared.reports} - set(RULES)
    assert not unknown, f"the format {name!r} declares rules that are not in RULES: {unknown}"


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_has_an_example(name: str) -> None:
    has_example = name == "audio" or any(TASK_KINDS[example.task] == name for example in EXAMPLES)
    assert has_example, f"the kind {name!r} has no example: add a table or text to tests/contracts/examples.py"


def _of_other_tasks() -> Iterator[tuple[str, str, Example]]:
    kinds = {(format, TASK_KINDS[task]) for format, task in PAIRS}
    for (format, _), (example, *_) in PAIRS.items():
        for task, kind in TASK_KINDS.items():
            if format not in SEPARATORS and kind != "audio" and (format, kind) not in kinds:
                yield format, task, example


def test_formats_refuse_the_tasks_that_they_have_no_example_of(folder: Path) -> None:
    """Otherwise what they read would not be tested."""
    for format, task, example in _of_other_tasks():
        other = Example(format, task, example.document, example.options, keyed=example.keyed, suffix=example.suffix)
        outcome = outcome_of(other, example.document.data(), folder)
        what = f"the format {format!r} is read as {task}: add an example to tests/contracts/examples.py"
        assert outcome.error is not None, what
