"""Every question is the same through every door, and looks at each word that it takes; all others are refused."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.analysis.query_options import OPTIONS
from mirflow.errors import QueryError
from mirflow.questions import QUESTIONS, Question, QuestionWords, find

from .commands import invoke
from .groups import make_group

DECLARED = [find(name) for name in QUESTIONS]
NEEDED = {"against": "tempo", "baseline": "elm"}
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
    "level": 0.8,
    "cluster": "genre",
    "method": "percentile",
    "correction": "none",
    "unit": "genre",
    "replicates": 100,
    "rng": 1,
    "percent": True,
    "primary": True,
    "main": True,
    "pivot": "system",
    "against": "duration",
    "between": "metric",
    "n": 2,
    "overall": True,
    "baseline": "d",
    "gains": True,
    "test": "t",
    "friedman": True,
    "margin": 0.1,
    "anytime": 20,
    "least": 0.6,
    "shortest": 1.0,
    "worst": 2,
    "difference": 0.2,
    "power": 0.9,
    "annotations": 2,
    "all_pairs": True,
    "root": "nowhere",
    "patch": "patch.json",
    "progress": False,
    "tolerance": 0.5,
    "pair": {"f": "g"},
    "every": True,
    "fail_above": 0.5,
    "worse": True,
    "pipeline": True,
    "compare": ["a", "b"],
    "save": "saved.zarr",
    "guarded": True,
}
"""An example of each word that a question may take."""
each_question = pytest.mark.parametrize("question", DECLARED, ids=QUESTIONS)


@pytest.fixture(scope="module")
def client(demo_store: Path) -> Any:
    """A client of the HTTP door; None without the extra `serve`, where the other doors are tested alone."""
    if find_spec("starlette") is None:
        return None
    from starlette.testclient import TestClient

    from mirflow.campaign.server.app import create_app
    from mirflow.campaign.server.service import Service

    return TestClient(create_app(Service("Demo", {"tunes": demo_store})), base_url="http://127.0.0.1")


def needed(question: Question) -> dict[str, Any]:
    """What must be asked of the demo."""
    some = {"missing": "zero"} if question.name == "plan" else {}  # of four tracks nothing is known
    some |= {"metric": "majmin"} if "metric" in question.words else {}
    return {**some, **{name: NEEDED[name] for name, one in question.takes.items() if one.needed}}


@each_question
def test_every_door_gives_the_same_rows(demo_store: Path, client: Any, question: Question) -> None:
    words, tree = needed(question), mirflow.open_store(demo_store)
    order = {"sort": "stored"} if question.best_first else {}
    others, group = [demo_store] * len(question.subjects[1:]), {"group": "chord"} if "group" in question.takes else {}
    found = getattr(mirflow, question.name)(demo_store, *others, **group, **words, **order)
    doors = [(tree, {**group, **words}), (tree["chord"].to_dataset(), words)]
    for scores, asked in doors[:1] if question.subjects else doors:
        answer = getattr(scores.mirflow, question.name)(*others, **asked)
        if isinstance(answer, xr.Dataset):
            assert answer.drop_attrs().identical(found.dataset.drop_attrs())
        elif scores is tree:
            both = (table.to_dataframe().drop(columns="a", errors="ignore") for table in (answer, found))
            assert next(both).equals(next(both))  # a tree has another label than its path
    flags = [part for name, value in {**group, **words}.items() for part in (f"--{name}", value)]
    printed = invoke(question.name, demo_store, *others, *flags, "--format", "json", code=0).stdout
    assert printed == found.to_json()
    if question.cost is None or client is None:
        return
    served = client.get(f"/api/v1/stores/tunes/{question.name}", params={"evaluation": "chord", **words})
    assert served.json() == json.loads(printed)


@each_question
def test_every_door_refuses_what_the_question_does_not_take(demo_store: Path, client: Any, question: Question) -> None:
    words, tree = needed(question), mirflow.open_store(demo_store)
    others = [demo_store] * len(question.subjects[1:])
    strange = [name for name in WORDS if name not in question.takes]
    assert strange
    for name in strange:
        for ask in (getattr(mirflow, question.name), lambda scores, *others, **asked: getattr(
            scores.mirflow, question.name)(*others, **asked)):  # fmt: skip
            with pytest.raises(QueryError, match=f"'{question.name}' takes no '{name}'; it takes "):
                ask(tree, *others, **words, **{name: WORDS[name]})
    name = strange[0]
    flags = [part for key, value in words.items() for part in (f"--{key}", value)]
    assert "No such option" in invoke(question.name, demo_store, *others, *flags, f"--{name}", code=2).stderr
    if question.cost is not None and client is not None:
        served = client.get(f"/api/v1/stores/tunes/{question.name}", params={**words, name: "x"})
        assert (served.status_code, served.json()["detail"][:19]) == (400, "unknown parameter '")


def test_every_word_has_an_example_and_a_type() -> None:
    taken = {name for one in DECLARED for name in one.takes} - {"group"}
    assert taken | set(OPTIONS) == set(WORDS)
    assert taken - {"metric", "aggregate", "by"} <= set(QuestionWords.__annotations__)


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


def answer(question: Question, scores: xr.Dataset, words: dict[str, Any]) -> tuple[str, str] | None:
    """What is printed and written; None if it is refused."""
    try:
        found = question(scores, **words)
    except QueryError:
        return None
    return str(found), found.to_csv()


@pytest.mark.parametrize("question", [one for one in DECLARED if one.cost and one.words], ids=lambda one: one.name)
def test_every_word_changes_the_answer_or_is_refused(scores: xr.Dataset, question: Question) -> None:
    asked = {name: value for name, value in needed(question).items() if name != "missing"} | {"metric": "f@0.05"}
    if "baseline" in asked:
        asked["baseline"] = "a"
    if question.name == "agreement":  # of a single metric
        asked["between"] = "system"
    listed = {"undefined": "keep"} if question.defaults else {}  # skip is their default
    plain = answer(question, scores, asked)
    assert plain is not None
    ignored = [
        word
        for word in question.takes
        # Of a named metric these choose nothing.
        if word not in ("group", "main")
        if answer(question, scores, {**asked, word: {**WORDS, **listed}[word]}) == plain
    ]
    assert ignored == []
