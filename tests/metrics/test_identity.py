"""A metric's identity: one string that is read back as it was written, and errors that help."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.errors import MetricError, UnknownNameError
from mirflow.metrics.base import get_task
from mirflow.metrics.measures import Measure, Metric, Parameter, describe, parse, select

HIT = Metric(
    "f_measure",
    "F-measure",
    "hits",
    "events",
    key="F-measure",
    aliases=("F",),
    parameters=(
        Parameter("window", 0.05, "s", above=0),
        Parameter("trim", False),
        Parameter("matching", "optimal", choices=("optimal", "greedy")),
        Parameter("levels", 3, least=1),
    ),
)
PLAIN = Metric("majmin", "MajMin", "major and minor", "seconds", default=False)
METRICS = (HIT, PLAIN)


@given(st.floats(0.001, 10), st.booleans(), st.sampled_from(["optimal", "greedy"]), st.integers(1, 9))
def test_what_is_written_is_read_back(window: float, trim: bool, matching: str, levels: int) -> None:
    measure = Measure(HIT, (window, trim, matching, levels))
    assert parse(str(measure), METRICS) == measure


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("f_measure", "f_measure"),
        ("F", "f_measure"),
        ("F-measure", "f_measure"),
        ("f_measure@0.05", "f_measure"),
        ("f_measure@0.1", "f_measure@0.1"),
        ("f_measure@0.1(trim=true)", "f_measure@0.1(trim=true)"),
        ("f_measure(window=0.1, trim=True)", "f_measure@0.1(trim=true)"),
        ("f_measure(matching=greedy,levels=3)", "f_measure(matching=greedy)"),
        (" majmin ", "majmin"),
    ],
)
def test_an_identity_leaves_defaults_out(text: str, identity: str) -> None:
    assert str(parse(text, METRICS)) == identity


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("majmim", UnknownNameError, "unknown metric 'majmim'; did you mean 'majmin'"),
        ("f_measure(windwo=9)", UnknownNameError, "unknown parameter of f_measure 'windwo'; did you mean 'window'"),
        ("f_measure@wide", MetricError, "parameter 'window' needs a float, not 'wide'"),
        ("f_measure(trim=perhaps)", MetricError, "parameter 'trim' needs a bool"),
        ("f_measure(matching=best)", UnknownNameError, "value of 'matching'"),
        ("f_measure(0.1)", MetricError, "write parameters as name=value"),
        ("f_measure@nan", MetricError, "'window' needs a finite number, not 'nan'"),
        ("f_measure@-0.1", MetricError, "'window' must be greater than 0 s"),
        ("f_measure(levels=0)", MetricError, "'levels' must be at least 1"),
        ("f_measure@0.1(window=0.2)", MetricError, "gives a parameter twice"),
        ("f_measure(levels=2,levels=3)", MetricError, "gives a parameter twice"),
        ("majmin@3", MetricError, "majmin has no parameters"),
        ("f meazure", UnknownNameError, "unknown metric 'f meazure'; did you mean 'f_measure'"),
        ("", MetricError, "not a metric"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        parse(text, METRICS)


def test_no_choice_means_the_default_metrics_and_repetitions_count_once() -> None:
    own = replace(get_task("beat").convention(), metrics=METRICS, counted=False)
    assert [str(measure) for measure in own.select()] == ["f_measure"]
    assert [str(measure) for measure in select(["majmin", "F", "f_measure"], METRICS)] == ["majmin", "f_measure"]


def test_a_sweep_is_one_metric_for_each_value_with_both_ends() -> None:
    swept = select(["f_measure@[0.01:0.1:0.01](trim=true)", "f_measure@[0.025, 0.05]"], METRICS)
    assert len(swept) == 12
    assert [measure["window"] for measure in swept[:10]] == [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1]
    assert str(swept[2]) == "f_measure@0.03(trim=true)"
    np.testing.assert_array_equal(describe(swept)["window"][10:], [0.025, 0.05])


@pytest.mark.parametrize(
    "text", ["f_measure@[0.1]x", "f_measure@[1:0:1]", "f_measure@[0:1:0]", "f_measure@[a:b:c]", "f_measure@[0:1:1e-9]"]
)
def test_a_sweep_that_cannot_be_is_explained(text: str) -> None:
    with pytest.raises(MetricError, match=r"sweep|not a metric|needs a float"):
        select([text], METRICS)


def test_parameters_stand_as_coordinates_along_metric() -> None:
    coords = describe(select(["f_measure@0.1", "majmin"], METRICS))
    assert coords["metric"].tolist() == ["f_measure@0.1", "majmin"]
    np.testing.assert_equal(coords["window"], [0.1, np.nan])
    assert coords["matching"].tolist() == ["optimal", ""]
    assert coords["trim"].tolist() == ["False", ""]


def test_an_unknown_task_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown task 'chrod'; did you mean 'chord'"):
        get_task("chrod")


@pytest.mark.parametrize("text", ["F", "f", "F-measure", "f-MEASURE", "Velocity F (loud, @ 0.1)"])
def test_metrics_answer_to_alias_key_and_title_in_any_case(text: str) -> None:
    titled = Metric("velocity_f", "Velocity F (loud, @ 0.1)", "hits", "events")
    wanted = "velocity_f" if text.startswith("Velo") else "f_measure"
    assert str(parse(text, [*METRICS, titled])) == wanted


def test_the_spelling_decides_before_the_case() -> None:
    two = [Metric("p", "First", "a", "b"), Metric("P", "Second", "a", "b")]
    assert [str(parse(text, two)) for text in ("P", "p", "SECOND")] == ["P", "p", "P"]
