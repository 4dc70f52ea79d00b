"""Evidence of several estimates together is that of each alone, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError
from mirflow.metrics.base import Convention, get_task

LABELS = ["C", "A:min", "G:7", "N", "X", "F:maj7", "D:min/b3", "E:sus4"]
RULES = {"mir_eval": ["majmin", "sevenths_inv", "csr@root"], "mirex2013": ["root", "majmin", "sevenths_inv"]}


def chords(rng: np.random.Generator, size: int) -> Annotation:
    bounds = np.round(np.cumsum(rng.uniform(0, 2, size + 1)), 2)
    return Annotation("intervals", {"start": bounds[:-1], "end": bounds[1:]}, rng.choice(LABELS, size).tolist())


def functions(name: str) -> tuple[Convention, Any, Any]:
    convention = get_task("chord").convention(name)
    assert convention.explain is not None
    assert convention.explain_many is not None
    return convention, convention.explain, convention.explain_many


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name, rules in RULES.items() for rule in rules])
def test_many_are_as_one_and_one(name, rule):
    convention, evidence, evidences = functions(name)
    rng = np.random.default_rng(3)
    (measure,) = convention.select([rule])
    for _ in range(20):
        reference = chords(rng, 12)
        estimates = [chords(rng, size) for size in rng.integers(0, 30, 5).tolist()]
        for estimate, found in zip(estimates, evidences(reference, estimates, measure), strict=True):
            alone = evidence(reference, estimate, measure)
            assert not isinstance(found, AnnotationError)
            assert alone.keys() == found.keys()
            assert all(np.array_equal(alone[name], found[name]) for name in alone)


@pytest.mark.parametrize("name", RULES)
def test_an_estimate_that_cannot_be_scored_leaves_the_others_alone(name):
    convention, evidence, evidences = functions(name)
    rng = np.random.default_rng(4)
    (measure,) = convention.select(["majmin"])
    reference, good = chords(rng, 6), chords(rng, 6)
    wrong = Annotation("intervals", {"start": np.zeros(1), "end": np.ones(1)}, ["H:moll"], attrs={"source": "a.lab"})
    first, flawed, last = evidences(reference, [good, wrong, good], measure)
    assert isinstance(flawed, AnnotationError)
    assert str(flawed).startswith("a.lab:1: estimate: ")
    alone = evidence(reference, good, measure)
    for found in (first, last):
        assert not isinstance(found, AnnotationError)
        assert all(np.array_equal(alone[name], found[name]) for name in alone)
    with pytest.raises(AnnotationError, match="H:moll"):
        evidence(reference, wrong, measure)
