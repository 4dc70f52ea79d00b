"""The lines with which a run ends depend on the data, not on the machine or on where results wait."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.causes.low_cells import causes_of_run, describe
from mirflow.errors import MirflowWarning

CHORDS = ("C:maj", "G:maj", "A:min", "F:maj", "D:min", "E:7")


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """Three tracks of two systems; one system is four seconds late on two of them."""
    rng = np.random.default_rng(7)
    for track in "abc":
        times, labels = np.cumsum(rng.uniform(1, 3, 40)), rng.choice(CHORDS, 40)
        for side in ("ref", "est/ada", "est/bob"):
            off = 4.0 if side == "est/bob" and track != "c" else 0.0
            rows = zip(times[:-1] + off, times[1:] + off, labels, strict=False)
            file = tmp_path / side / f"{track}.lab"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"{start:.3f} {end:.3f} {label}\n" for start, end, label in rows))
    (tmp_path / "p.yaml").write_text(
        "evaluations:\n- task: chord\n  reference: ref/{track}.lab\n  estimates: est/{system}/{track}.lab\n"
        "  metrics: [majmin]\nstore: p.zarr\n"
    )
    return tmp_path / "p.yaml"


def lines(pipeline: Path, *, force: bool = False) -> list[str]:
    report = mirflow.run(pipeline, scheduler="serial", force=force)
    return describe(causes_of_run([(one.plan, one.content, 6) for one in report.evaluations]).findings)


def test_a_run_says_the_same_of_results_in_memory_on_disk_and_in_the_store(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory = lines(pipeline)
    assert in_memory[0].startswith("2 estimates are displaced: 'b', 'a'; majmin ")
    assert lines(pipeline) == in_memory
    monkeypatch.setattr("mirflow.engine.runs._MOST_IN_MEMORY", 0)
    assert lines(pipeline, force=True) == in_memory


def test_of_very_many_scores_those_of_some_tracks_are_compared(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirflow.causes.low_cells.MOST_SCORES", 4)
    assert lines(pipeline)[0].startswith("track 'a': 'bob': the estimate is 4 s late")


def test_the_findings_of_a_store_name_the_option_that_makes_it_right(pipeline: Path) -> None:
    for path in pipeline.parent.glob("est/ada/*.lab"):
        rows = [line.split(" ") for line in path.read_text().splitlines()]
        path.write_text("".join(f"{1000 * float(a):.0f} {1000 * float(b):.0f} {label}\n" for a, b, label in rows))
    (found,) = mirflow.diagnose(mirflow.run(pipeline, scheduler="serial").store)
    assert {"time_unit: ms", ""} == set(found["remedy"].values.tolist())
    assert found["sentence"].sel(finding=found["remedy"] != "").values[0].startswith("the times of the estimate have")


def test_distances_in_place_of_scores_are_a_cause() -> None:
    relevant = {f"q{query}": {f"d{query}": 1.0, f"d{query + 3}": 1.0} for query in range(6)}
    distances = {
        query: {f"d{item}": 0.1 if f"d{item}" in items else 0.5 + item / 100 for item in range(20)}
        for query, items in relevant.items()
    }
    with pytest.warns(MirflowWarning, match="'estimate': the estimate ranks the items the other way round, as by dist"):
        mirflow.score(relevant, distances, "retrieval", metrics=["average_precision"])
    scores = {query: {item: -value for item, value in items.items()} for query, items in distances.items()}
    assert mirflow.score(relevant, scores, "retrieval", metrics=["average_precision"]).score.values.mean() == 1.0
