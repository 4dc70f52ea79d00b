"""Every argument of a query changes what a question answers, or is refused."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mirflow
from mirflow.analysis.query_options import OPTIONS
from mirflow.api import QUESTIONS
from mirflow.errors import QueryError

from .groups import make_group

METRIC = {"metric": "f@0.05"}
ASKED = {
    "oracle": {"oracle": True, **METRIC},
    "agreement": {"agreement": "system", **METRIC},
    "against": {"against": "tempo", **METRIC},
    "ranks": {"ranks": 0.9, **METRIC},
    "worst": {"worst": 2, **METRIC},
    "best": {"best": 2, **METRIC},
    "primary": {"primary": True},
}
WORDS = {
    "metric": "g",
    "aggregate": "median",
    "by": "genre",
    "system": ["b", "a", "c"],
    "tracks": ["t1*", "t2*"],
    "where": "genre == 'x'",
    "annotator": "A1",
    "param": {"window": 0.1},
    "over": {"system": "best"},
    "across": {"genre": "mean"},
    "missing": "zero",
    "undefined": "skip",
    "sort": "name",
    "ci": 0.8,
    "significance": 0.8,
    "cluster": "genre",
    "method": "percentile",
    "overall": True,
    "pivot": "metric",
    "percent": True,
    "ranks": 0.8,
    "against": "duration",
    "oracle": True,
    "agreement": "metric",
    "primary": True,
    "worst": 1,
    "best": 1,
}


@pytest.fixture(scope="module")
def scores():
    """Scores in which every argument matters: gaps, nothing to measure, groups, annotators, parameters."""
    rng = np.random.default_rng(0)
    systems, tracks = 4, 30
    shape = systems, tracks, 3
    score, weight = rng.random(shape), rng.uniform(1, 9, shape)
    status = np.full((systems, tracks), "ok", dtype=object)
    status[1, 5], status[2, 7] = "missing_estimate", "invalid"
    score[status != "ok"] = weight[status != "ok"] = np.nan
    score[0, 3] = score[1, 4] = 0.0
    weight[0, 3] = weight[1, 4] = 0.0
    ds = make_group(
        score,
        weight,
        status=status.astype(str),
        systems=["b", "d", "a", "c"],
        metrics=["f@0.05", "f@0.1", "g"],
        track_meta={"genre": ["x", "y", "z"] * 10, "tempo": rng.random(tracks).tolist()},
        duration=rng.uniform(10, 20, tracks),
    )
    dims = "system", "track", "annotator", "metric"
    ds["score_by_annotator"] = dims, np.stack([rng.random(shape), rng.random(shape)], axis=2)
    ds["weight_by_annotator"] = dims, np.stack([weight, weight / 2], axis=2)
    return ds.assign_coords(annotator=["A1", "A2"], window=("metric", [0.05, 0.1, np.nan]))


def answer(scores, **options):
    """What is printed and written; None if it is refused."""
    try:
        found = mirflow.query(scores, **options)
    except QueryError:
        return None
    return str(found), found.to_csv()


def test_every_argument_has_an_example():
    words = set(inspect.signature(mirflow.query).parameters) - {"scores", "group", "options", "main"}
    assert words | set(OPTIONS) == set(WORDS)
    assert set(ASKED) == set(QUESTIONS)


@pytest.mark.parametrize("name", ASKED)
def test_what_a_question_would_not_look_at_is_refused(scores, name):
    plain = answer(scores, **ASKED[name])
    assert plain is not None
    ignored = []
    listed = {"undefined": "keep"} if name in ("worst", "best") else {}  # skip is their default
    for word, value in {**WORDS, **listed}.items():
        if word == name:
            continue
        changed = answer(scores, **{**ASKED[name], word: value})
        if changed == plain:
            ignored.append(word)
        if word not in QUESTIONS[name].words and word not in ASKED[name]:
            assert changed is None, word
    assert ignored == []
