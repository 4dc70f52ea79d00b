"""Marks beside the systems that do not differ from the best."""

from __future__ import annotations

import numpy as np
import pytest

import mirflow

from ...commands import printed, refused, rows
from ...groups import make_group, write_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two good systems that do not differ, and a bad one; the second metric is an error, of which less is better."""
    rng = np.random.default_rng(1)
    good = rng.uniform(0.7, 0.9, (1, 30))
    scores = np.concatenate([good, good + rng.normal(0, 0.01, (1, 30)), good - 0.3])
    both = np.stack([scores, 1 - scores], axis=2)
    group = make_group(both, standard=["mean", "mean"], orientation=["higher", "lower"])
    return write_store(tmp_path_factory.mktemp("marks") / "s.zarr", {"chord": group})


def marked(store, *words) -> dict[str, list[bool]]:
    """Whether each system is marked, by metric."""
    found: dict[str, list[bool]] = {}
    for row in rows("query", store, "--significance", *words):
        found.setdefault(row["metric"], []).append(bool(row["like_best"]))
    return found


def test_the_best_and_what_does_not_differ_from_it(store):
    assert marked(store) == {"majmin": [True, True, False], "root": [True, True, False]}


def test_marks_agree_with_the_comparison(store):
    chord = mirflow.open_store(store)["chord"]
    best = int(np.argmax(chord.mirflow.query("majmin")["value"].values))
    differs = chord.mirflow.compare("majmin")["significant"].values[best, :, 0]
    assert marked(store, "-m", "majmin")["majmin"] == (~differs).tolist()


def test_a_level_that_nothing_reaches(store):
    assert marked(store, 0.9995) == {"majmin": [True, True, False], "root": [True, True, False]}
    few = [word for track in range(5) for word in ("--track", f"t{track}")]
    for words in ([1 - 1e-9], few):
        assert not any(map(any, marked(store, *words).values()))
        assert "\nno *: so few units cannot give" in printed("query", store, "--significance", *words)


def test_neither_way_is_better(tmp_path):
    group = make_group(np.random.default_rng(0).random((2, 9, 1)), standard=["mean"], orientation=["none"])
    assert marked(write_store(tmp_path / "s.zarr", {"chord": group})) == {"majmin": [False, False]}


def test_groups_of_tracks_have_none(store):
    said = refused("query", store, "--significance", "--by", "track")
    assert "significance is that of values over all tracks" in said


def test_tables_have_a_star_and_a_note(store):
    lines = printed("query", store, "--significance").splitlines()
    assert [line.split()[1].endswith("*") for line in lines[3:6]] == [True, True, False]
    note = "*: not told apart from the best at 0.05 (permutation test, max-T, n = 30)"
    assert f"{note}; a best one without it differs from all others" in " ".join(lines)


def test_programs_have_a_column(store):
    found = rows("query", store, "--significance", "-m", "majmin")
    assert [row["like_best"] for row in found] == [1, 1, 0]
    assert {row["test"] for row in found} == {"permutation"}
