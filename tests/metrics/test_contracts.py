"""What every metric of every task must obey, run over all records."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.schema import KINDS, TASK_KINDS
from mirflow.annotations.source import HeldSource
from mirflow.engine.block import BlockWork, TrackWork, score_block
from mirflow.errors import MetricError
from mirflow.evaluation.linter import _UNLIKE
from mirflow.metrics.base import FRAMES, Convention, Grid, Pairs, Scores, chosen_grid, get_task, tasks
from mirflow.metrics.measures import Measure, Parameter, describe, parse
from mirflow.pipeline.plan import Reference
from mirflow.ragged import Int, Ragged, concatenate
from mirflow.store.cells import SCORED, Cells, text_of
from tests.annotation_strategies import annotations
from tests.metrics.batches import Pair
from tests.samples import empty, sample_rows

GOLDEN = Path(__file__).parents[1] / "golden"
CONVENTIONS = [(task, name) for task in tasks() for name in get_task(task).conventions]


def unwrapped(function: Any) -> Any:
    """A function and the arguments that are bound to it, which compare by value."""
    if not isinstance(function, partial):
        return function
    keywords = frozenset((key, unwrapped(value)) for key, value in function.keywords.items())
    return unwrapped(function.func), tuple(map(unwrapped, function.args)), keywords


def kernels() -> list[tuple[str, str]]:
    """The first convention of every group whose members have all functions in common.

    The others of a group differ from it in the defaults of parameters alone.
    """
    first: dict[object, tuple[str, str]] = {}
    for task, name in CONVENTIONS:
        rules = get_task(task).convention(name)
        functions = {(metric.name, unwrapped(metric.read), unwrapped(metric.pair)) for metric in rules.metrics}
        key = (task, unwrapped(rules.clean), unwrapped(rules.score), rules.grids, frozenset(functions))
        first.setdefault(key, (task, name))
    return [*first.values()]


KERNELS = kernels()
each_convention = pytest.mark.parametrize(("task", "name"), CONVENTIONS)
each_kernel = pytest.mark.parametrize(("task", "name"), KERNELS)


def each_task(test: Callable[[str, str], None]) -> Callable[[str], None]:
    """The test of a convention for all conventions of a task, one task a case."""

    @pytest.mark.parametrize("task", tasks())
    def check(task: str) -> None:
        for name in get_task(task).conventions:
            try:
                test(task, name)
            except BaseException as error:
                error.add_note(f"convention {name}")
                raise

    check.__name__ = check.__qualname__ = test.__name__
    check.__module__, check.__doc__ = test.__module__, test.__doc__
    return check


def convention(task: str, name: str) -> Convention:
    return get_task(task).convention(name)


def all_measures(rules: Convention) -> tuple[Measure, ...]:
    """The default measures and one of every metric that is not among them."""
    defaults = rules.select()
    named = {measure.metric.name for measure in defaults}
    return (*defaults, *rules.select([metric.name for metric in rules.metrics if metric.name not in named]))


def score(rules: Convention, ref: Ragged, est: Ragged, pairs: list[tuple[int, int]]) -> Scores:
    rows: Int = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return rules.score(Pairs(ref, est, rows[:, 0], rows[:, 1]), all_measures(rules), rules.grids[0])


@cache
def sides(task: str, name: str) -> tuple[Ragged, Ragged]:
    """Six references and six estimates."""
    ref, est = (convention(task, name).clean(sample_rows(task, 6, seed)) for seed in (1, 2))
    assert not ref.flaws
    assert not est.flaws
    return ref.rows, est.rows


def sample_pairs(task: str) -> list[tuple[int, int]]:
    """Each reference with the estimate of its number, then with the others; few others where a pair takes long."""
    own = [(i, i) for i in range(6)]
    others = [(i, j) for i in range(6) for j in range(6) if i != j]
    return own + (others[::10] if task == "separation" else others)


@cache
def sample_scores(task: str, name: str) -> Scores:
    return score(convention(task, name), *sides(task, name), sample_pairs(task))


@each_task
def test_records_are_complete(task: str, name: str) -> None:
    rules = convention(task, name)
    names = [metric.name for metric in rules.metrics]
    assert len(set(names)) == len(names)
    assert rules.summary
    for metric in rules.metrics:
        assert metric.name.isidentifier()
        for field in ("title", "summary", "weight", "literature"):
            assert getattr(metric, field), f"metric {metric.name!r}: give its declaration a {field}"
        assert metric.range[0] < metric.range[1]
        assert metric.standard_aggregate in metric.aggregates, f"choose from {', '.join(metric.aggregates)}"
        others = {other for one in rules.metrics if one is not metric for other in (one.name, *one.aliases)}
        assert not others & {metric.name, *metric.aliases}
    for measure in all_measures(rules):
        assert parse(str(measure), rules.metrics) == measure
    describe(all_measures(rules))


@each_task
def test_scores_lie_in_their_range_and_weights_are_never_nan(task: str, name: str) -> None:
    scores = sample_scores(task, name)
    scalars = [measure for measure in all_measures(convention(task, name)) if not measure.metric.dims]
    assert scores.score.shape == scores.weight.shape == (len(sample_pairs(task)), len(scalars))
    assert np.isfinite(scores.weight).all()
    assert (scores.weight >= 0).all()
    for column, measure in enumerate(scalars):
        low, high = measure.metric.range
        values = scores.score[:, column]
        values = values[np.isfinite(values)]
        assert ((values >= low - 1e-12) & (values <= high + 1e-12)).all(), measure


@each_kernel
def test_a_pair_alone_gives_what_it_gives_in_any_batch_to_the_bit(task: str, name: str) -> None:
    rules = convention(task, name)
    ref, est = sides(task, name)
    pairs = sample_pairs(task)
    order = np.random.default_rng(0).permutation(len(pairs))
    together = sample_scores(task, name)
    shuffled = score(rules, ref, est, [pairs[i] for i in order])
    np.testing.assert_array_equal(shuffled.score, together.score[order])
    np.testing.assert_array_equal(shuffled.weight, together.weight[order])
    for number in (0, 4, len(pairs) - 1):
        row, column = pairs[number]
        alone = score(rules, ref.take([row]), est.take([column]), [(0, 0)])
        np.testing.assert_array_equal(alone.score[0], together.score[number])
        np.testing.assert_array_equal(alone.weight[0], together.weight[number])


@each_kernel
def test_a_measure_alone_gives_what_it_gives_among_others_to_the_bit(task: str, name: str) -> None:
    rules = convention(task, name)
    ref, est = sides(task, name)
    row = np.arange(1 if task == "separation" else 2)
    together = score(rules, ref, est, [(i, i) for i in row])
    scalars = [measure for measure in all_measures(rules) if not measure.metric.dims]
    for column, measure in enumerate(scalars):
        alone = rules.score(Pairs(ref, est, row, row), (measure,), rules.grids[0])
        assert alone.score[:, 0].tobytes() == together.score[:, column].tobytes()
        assert alone.weight[:, 0].tobytes() == together.weight[:, column].tobytes()


@each_task
def test_other_grids_are_refused(task: str, name: str) -> None:
    rules = convention(task, name)
    for grid in {"union", "reference", "frames", 0.1, 0.0, -1.0, float("nan"), float("inf")} - {*rules.grids}:
        if grid == 0.1 and "frames" in rules.grids:
            continue
        with pytest.raises(MetricError, match="is not scored on the grid"):
            rules.grid(grid)


@each_task
def test_only_curves_and_pitches_over_time_have_another_default_grid_than_the_union(task: str, name: str) -> None:
    assert (convention(task, name).grids[0] == "union") != KINDS[TASK_KINDS[task]].sampled
    for grid in {"union", *convention(task, name).grids}:
        shown = chosen_grid(task, name, 0.1 if grid == "frames" else grid)
        assert (shown == "") == (grid == convention(task, name).grids[0])


@each_task
def test_a_reference_against_itself_is_perfect(task: str, name: str) -> None:
    rules = convention(task, name)
    ref, _ = sides(task, name)
    scores = score(rules, ref, ref, [(i, i) for i in range(6)])
    scalars = [measure for measure in all_measures(rules) if not measure.metric.dims]
    for column, measure in enumerate(scalars):
        if measure.metric.perfect is None or measure.metric.perfect_exceptions:
            continue
        defined = scores.weight[:, column] > 0
        np.testing.assert_allclose(
            scores.score[defined, column], measure.metric.perfect, atol=1e-9, err_msg=str(measure)
        )


@each_task
def test_empty_sides_have_a_score_and_no_pairs_have_none(task: str, name: str) -> None:
    rules = convention(task, name)
    ref, est = sides(task, name)
    nothing = rules.clean(to_ragged([empty(task)])).rows
    ref, est = concatenate([ref, nothing]), concatenate([est, nothing])
    scores = score(rules, ref, est, [(6, 0), (0, 6), (6, 6)])
    assert np.isfinite(scores.weight).all()
    assert score(rules, ref, est, []).score.shape[0] == 0


@each_convention
def test_numbers_change_only_with_the_version(task: str, name: str) -> None:
    """The golden scores; where numbers change on purpose, raise the metric's version and write the file anew."""
    scores = sample_scores(task, name)
    scalars = [measure for measure in all_measures(convention(task, name)) if not measure.metric.dims]
    found = {
        str(measure): {
            "version": measure.metric.version,
            "score": scores.score[:6, column].tolist(),
            "weight": scores.weight[:6, column].tolist(),
        }
        for column, measure in enumerate(scalars)
    }
    path = GOLDEN / f"{task}-{name}.json"
    if not path.exists():  # a new convention: its first numbers are written, and count from the next run on
        path.write_text(json.dumps(found, indent=1) + "\n")
        pytest.fail(f"{path.name} was missing and has been written; look at it and commit it")
    golden = json.loads(path.read_text())
    difference = ", ".join(sorted(found.keys() ^ golden.keys()))
    assert not difference, f"{difference}: delete {path.name}, run this test twice and look at the difference"
    for identity, expected in golden.items():
        assert found[identity]["version"] == expected["version"], identity
        for key in ("score", "weight"):
            np.testing.assert_allclose(found[identity][key], expected[key], rtol=1e-12, atol=1e-12, err_msg=identity)


@each_task
def test_a_headline_ranks_systems_and_is_scored_by_default(task: str, name: str) -> None:
    rules, names = convention(task, name), get_task(task).headlines.get(name, get_task(task).headline)
    records = {metric.name: metric for metric in rules.metrics}
    assert names[0] in records
    for headline in set(names) & set(records):
        assert records[headline].orientation != "none"
        assert not records[headline].dims
        assert headline in map(str, rules.select([headline]))
    assert {measure.metric.name for measure in rules.select()} & set(names)


@each_task
def test_conventions_and_measures_travel_to_other_processes_as_themselves(task: str, name: str) -> None:
    rules = convention(task, name)
    measures = tuple(Measure(one, tuple(p.default for p in one.parameters)) for one in rules.metrics)
    assert pickle.loads(pickle.dumps(measures)) == measures
    assert pickle.loads(pickle.dumps(rules)).metrics == rules.metrics


def test_headlines_are_of_conventions_that_there_are() -> None:
    for task in map(get_task, tasks()):
        assert task.headline
        assert set(task.headlines) <= set(task.conventions)


SCALES = {
    ("information_gain", "normalise"),  # in bits
    ("weighted_score", "fifth"),  # points, as many as one likes
    ("weighted_score", "relative"),
    ("weighted_score", "parallel"),
    ("rank_of_first", "not_found"),
}
"""Parameters that scale scores, of which a record's range has the default."""


def altered(rules: Convention) -> list[str]:
    """Identities of all metrics with one parameter set to another value, at its limits too."""
    return [
        f"{metric.name}({parameter.name}={str(value).lower() if isinstance(value, bool) else value})"
        for metric in rules.metrics
        for parameter in metric.parameters
        if not metric.dims and metric.name not in rules.unbound and (metric.name, parameter.name) not in SCALES
        for value in _others(parameter)
    ]


def _others(parameter: Parameter) -> list[object]:
    if parameter.choices or isinstance(parameter.default, str):
        return [choice for choice in parameter.choices if choice != parameter.default]
    if isinstance(parameter.default, bool):
        return [not parameter.default]
    values = (1, 2, 7) if isinstance(parameter.default, int) else (0.0, 0.01, 0.1, 1.0, 2.0, 30.0)
    above, least = parameter.above, parameter.least
    # Seconds of many times the default are refused as milliseconds.
    most = 100 * parameter.default if parameter.unit == "s" and parameter.default else np.inf
    numbers = [
        value
        for value in values
        if (above is None or value > above) and (least is None or value >= least) and value <= most
    ]
    return [*numbers, *parameter.words]


def scored_pair(task: str, name: str, identities: list[str], reference: Annotation, estimate: Annotation) -> Cells:
    """A pair as every door scores it."""
    sides = HeldSource(reference, "reference"), HeldSource(estimate, "estimate")
    track = TrackWork("track", (Reference(sides[0]),), ("system",), (sides[1],), (0,))
    rules = convention(task, name)
    return score_block(BlockWork("contract", task, name, rules.grids[0], rules.select(identities), "", (track,)))


# Separation takes half a second a pair.
FEWER = settings(max_examples=4, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=20, suppress_health_check=list(HealthCheck))


@each_kernel
def test_whatever_is_scored_lies_in_the_range_of_its_record_or_is_undefined(task: str, name: str) -> None:
    rules = convention(task, name)
    plain = [str(measure) for measure in all_measures(rules) if measure.metric.name not in rules.unbound]
    others = altered(rules)
    some = st.lists(st.sampled_from(others), max_size=6) if others else st.just([])

    @(FEWER if task == "separation" else MANY)
    @given(annotations(task), annotations(task), some)
    def check(reference: Annotation, estimate: Annotation, chosen: list[str]) -> None:
        identities = list(dict.fromkeys(plain + [str(measure) for measure in rules.select(chosen or plain)]))
        for pair in ((reference, estimate), (reference, reference)):
            cells = scored_pair(task, name, identities, *pair)
            measures = [measure for measure in rules.select(identities) if not measure.metric.dims]
            score, weight = cells.score[0], cells.weight[0]
            assert np.isfinite(weight).all()
            assert (weight >= 0).all()
            if cells.status[0] not in SCORED:
                assert np.isnan(score).all()
                continue
            for measure, value, own in zip(measures, score.tolist(), weight.tolist(), strict=True):
                low, high = measure.metric.range
                if np.isnan(value):  # what cannot be compared weighs, as a missing estimate does, and is told
                    assert own == 0 or text_of(cells.message[0]), measure
                elif own > 0:
                    assert low - 1e-12 <= value <= high + 1e-12, (measure, value)

    check()


# Hierarchies and signals take long: their own tests have smaller ones.
@pytest.mark.parametrize(("task", "name"), [one for one in KERNELS if one[0] not in ("hierarchy", "separation")])
def test_odd_pairs_alone_give_what_they_give_in_any_batch_to_the_bit(task: str, name: str) -> None:
    rules = convention(task, name)
    others = altered(rules)
    some = st.lists(st.sampled_from(others), max_size=4) if others else st.just([])
    grids = st.sampled_from([0.3 if grid == FRAMES else grid for grid in rules.grids])

    @settings(MANY, max_examples=25)
    @given(st.lists(st.tuples(annotations(task), annotations(task)), min_size=2, max_size=5), some, grids, st.randoms())
    def check(pairs: list[Pair], chosen: list[str], grid: Grid, random: Random) -> None:
        random.shuffle(pairs)
        wanted = tuple(dict.fromkeys((*all_measures(rules), *rules.select(chosen))))
        reference, estimate = (rules.clean(to_ragged(side)).rows for side in zip(*pairs, strict=True))
        rows = np.arange(len(pairs))
        try:
            together = rules.score(Pairs(reference, estimate, rows, rows), wanted, grid)
        except MetricError:  # of a parameter beyond what its metric takes
            reject()
        for row in rows:
            alone = rules.score(Pairs(reference, estimate, rows[[row]], rows[[row]]), wanted, grid)
            assert alone.score[0].tobytes() == together.score[row].tobytes()
            assert alone.weight[0].tobytes() == together.weight[row].tobytes()
            assert alone.refused.get(0) == together.refused.get(row)
            for variable, sparse in together.extras.items():
                here = sparse.index[:, 0] == row
                assert alone.extras[variable].value.tobytes() == sparse.value[here].tobytes()

    check()


# Judgements are cleaned to numbers of their own.
@pytest.mark.parametrize(("task", "name"), [one for one in KERNELS if one[0] != "similarity"])
def test_what_is_clean_stays_as_it_is(task: str, name: str) -> None:
    rules = convention(task, name)

    @(FEWER if task == "separation" else MANY)
    @given(annotations(task), annotations(task))
    def check(one: Annotation, other: Annotation) -> None:
        once = rules.clean(to_ragged([one, other])).rows
        again = rules.clean(once)
        assert not again.flaws
        np.testing.assert_equal(again.rows.counts, once.counts)
        np.testing.assert_equal(again.rows.columns, once.columns)

    check()


# Where both sides hold the same kind of statement: a list of what was judged is no judgement.
@pytest.mark.parametrize(("task", "name"), [one for one in KERNELS if one[0] not in _UNLIKE])
def test_odd_references_against_themselves_are_perfect_or_the_record_says_when_not(task: str, name: str) -> None:
    rules = convention(task, name)
    known = [
        measure
        for measure in all_measures(rules)
        if not (measure.metric.dims or measure.metric.perfect is None or measure.metric.perfect_exceptions)
        and measure.metric.name not in rules.unbound
    ]

    @(FEWER if task == "separation" else MANY)
    @given(annotations(task))
    def check(reference: Annotation) -> None:
        if any(0 < np.abs(one.amplitude).max() < 1e-150 for one in reference.columns.get("signal", ())):
            return  # the energy of such a source is 0 as a number
        cells = scored_pair(task, name, list(map(str, known)), reference, reference)
        for measure, value, own in zip(known, cells.score[0].tolist(), cells.weight[0].tolist(), strict=True):
            if cells.status[0] in SCORED and own > 0 and not cells.message[0]:
                assert value == pytest.approx(measure.metric.perfect, abs=1e-9), measure

    if known:
        check()


@each_task
def test_help_of_a_task_names_its_conventions_and_default_metrics(task: str, name: str) -> None:
    introduction = import_module(f"mirflow.metrics.{task}").__doc__ or ""
    named = set(re.findall(r"``(\w+)``", introduction))
    expected = {name, *(metric.name for metric in convention(task, name).metrics if metric.default)}
    assert expected <= named, f"name in the docstring of metrics/{task}: {', '.join(sorted(expected - named))}"
    sections = re.findall(r"^(\w+)\n-+$", introduction, re.MULTILINE)
    assert sections == ["Conventions", "Metrics", "References"], "sections of the docstring of the task's module"
