"""What a pipeline file says of its files - levels, selections, boundary lists - and of its tracks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mirflow.errors import PipelineError
from mirflow.pipeline import plan_evaluation
from mirflow.pipeline.plan import EvaluationPlan
from mirflow.readers import FilesSource


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def problems_of(root: Path, evaluation: dict[str, Any]) -> list[str]:
    with pytest.raises(PipelineError) as caught:
        plan_evaluation(evaluation, root)
    return [str(problem) for problem in caught.value.problems]


@pytest.fixture
def songs(tmp_path: Path) -> Path:
    for track in ("a", "b"):
        for level in ("upper", "lower", "words"):
            write(tmp_path, {f"{track}/1_{level}.txt": "0\tA\n8\tEnd\n", f"{track}/2_{level}.txt": "0\tA\n8\tEnd\n"})
    return tmp_path


def side(number: int, **more: Any) -> dict[str, Any]:
    return {"path": f"{{track}}/{number}_{{level}}.txt", "columns": {"start": 0, "label": 1}, **more}


def hierarchy(**more: Any) -> dict[str, Any]:
    levels = {"levels": ["upper", "lower"]}
    return {"task": "hierarchy", "reference": side(1, **levels), "estimates": side(2, **levels), **more}


def stamps(plan: EvaluationPlan) -> list[int]:
    return [int(stamp) for stamp in plan.stamps.ravel()]


def test_a_hierarchy_has_one_source_for_the_files_of_its_levels(songs: Path) -> None:
    plan = plan_evaluation(hierarchy(), songs)
    assert plan.tracks == ("a", "b")
    source = plan.references[0][0].source
    assert isinstance(source, FilesSource)
    assert source.label == "a/1_{level}.txt"
    assert [file and file.label for file in source.files] == ["a/1_upper.txt", "a/1_lower.txt"]
    assert plan.track_meta == {}


def test_a_change_of_one_level_makes_its_track_stale(songs: Path) -> None:
    before = stamps(plan_evaluation(hierarchy(), songs))
    write(songs, {"b/2_words.txt": "0\tB\n9\tEnd\n"})
    assert stamps(plan_evaluation(hierarchy(), songs)) == before
    write(songs, {"b/2_lower.txt": "0\tB\n9.5\tEnd\n"})
    after = stamps(plan_evaluation(hierarchy(), songs))
    assert [new == old for new, old in zip(after, before, strict=True)] == [True, False]


def test_levels_are_declared_and_there(songs: Path) -> None:
    assert problems_of(songs, hierarchy(estimates=side(2))) == [
        "estimates.levels: declare the levels, from the coarsest to the finest: lower, upper, words"
    ]
    assert problems_of(songs, hierarchy(reference=side(1, levels=["upper", "middle"]))) == [
        "reference.levels: no file for the level 'middle'; found: lower, upper, words"
    ]


def test_the_one_system_of_a_pattern_without_system_gets_its_name_from_the_file(songs: Path) -> None:
    plan = plan_evaluation(hierarchy(systems={"listener": {"age": 30}}), songs)
    assert (plan.systems, plan.system_meta) == (("listener",), {"age": (30,)})
    assert all(source is not None for source in plan.estimates[0])
    problems = problems_of(songs, hierarchy(systems=["one", "two"]))
    assert problems == [f"systems.{name}: no estimates of this system; known: estimate" for name in ("one", "two")]


def test_without_a_track_on_either_side_there_is_one(tmp_path: Path) -> None:
    write(tmp_path, {"ref.lab": "0 1 C\n", "est/S1.lab": "0 1 C\n", "est/S2.lab": "0 1 C\n"})
    plan = plan_evaluation({"task": "chord", "reference": "ref.lab", "estimates": "est/{system}.lab"}, tmp_path)
    assert (plan.tracks, plan.systems) == (("track",), ("S1", "S2"))
    assert problems_of(tmp_path, {"task": "chord", "reference": "ref.lab", "estimates": "est/{track}.lab"}) == [
        "reference.path: has no {track}: 'ref.lab'"
    ]


@pytest.mark.parametrize(
    ("task", "first", "second"),
    [
        ("beat", {"select": "all"}, {"select": "downbeat"}),
        ("segment", {"columns": {"start": 0, "label": 1}}, {"columns": {"start": 0, "label": 1}, "last": "keep"}),
    ],
)
def test_the_way_of_reading_is_part_of_what_scores_depend_on(
    tmp_path: Path, task: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    write(tmp_path, {"ref/a.txt": "0\t1\n1\t2\n", "est/a.txt": "0\t1\n1\t2\n"})
    plans = [
        plan_evaluation(
            {"task": task, "reference": {"path": "ref/{track}.txt", **how}, "estimates": "est/{track}.txt"}, tmp_path
        )
        for how in (first, second)
    ]
    assert plans[0].signature != plans[1].signature


def test_wrong_ways_of_reading_are_problems(tmp_path: Path) -> None:
    write(tmp_path, {"ref/a.txt": "0\n", "est/a.txt": "0\n"})

    def problem(task: str, **how: Any) -> str:
        reference = {"path": "ref/{track}.txt", **how}
        (found,) = problems_of(tmp_path, {"task": task, "reference": reference, "estimates": "est/{track}.txt"})
        return found

    assert problem("beat", select="upbeat") == (
        "reference.select: invalid value 'upbeat': expected 'all', 'downbeat', 'bar_start' or 'bar_end'"
    )
    assert problem("segment", select="downbeat") == ("reference: select applies to beats, not to intervals")
    assert problem("segment", last="drop") == "reference.last: invalid value 'drop': expected 'end' or 'keep'"
    assert problem("beat", levels=["a"]) == "reference: levels apply to hierarchies, which beat does not have"
    assert problem("pattern", columns={"time": 0}) == (
        "reference: files of kind 'patterns' have a fixed layout: omit columns"
    )
    assert problem("tempo", columns={"time": 0}) == (
        "reference: tempo has no column 'time'; known: annotator, second, strength, system, tempo, track"
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path, {"ref/a.lab": "0 1 C\n", "ref/b.lab": "0 1 C\n", "est/S1/a.lab": "0 1 C\n"})
    write(tmp_path, {"meta.csv": "File,Genre\nb,rock\n", "genre/a.txt": "deep  house\n", "year/a.txt": "1970"})
    return tmp_path


def chords(**more: Any) -> dict[str, Any]:
    return {"task": "chord", "reference": "ref/{track}.lab", "estimates": "est/{system}/{track}.lab", **more}


def test_metadata_is_in_a_table_whose_key_is_named_otherwise(data: Path) -> None:
    plan = plan_evaluation(chords(tracks={"path": "meta.csv", "key": "File"}), data)
    assert plan.track_meta == {"Genre": (None, "rock")}
    (problem,) = problems_of(data, chords(tracks="meta.csv"))
    assert "has no column 'track'" in problem


def test_metadata_is_in_one_file_for_each_track(data: Path) -> None:
    files = {"genre": "genre/{track}.txt", "year": "year/{track}.txt"}
    plan = plan_evaluation(chords(tracks={"files": files}), data)
    assert plan.track_meta == {"genre": ("deep house", None), "year": (1970, None)}
    files["style"] = files.pop("genre")
    both = plan_evaluation(chords(tracks={"path": "meta.csv", "key": "File", "files": files}), data)
    assert list(both.track_meta) == ["Genre", "year", "style"]


@pytest.mark.parametrize(
    ("tracks", "problem"),
    [
        ({}, "tracks: expected a table (path) or files"),
        (
            {"files": {"genre": "genre/x.txt"}},
            "tracks: invalid pattern 'genre/x.txt' of files.genre: expected {track} and no other placeholder",
        ),
        ({"files": {"genre": "{track"}}, "tracks: unbalanced braces in '{track'"),
        ({"pth": "meta.csv"}, "tracks.pth: unknown key; did you mean 'path'?"),
        (
            {"files": {"genre": "gnre/{track}.txt"}},
            "tracks: no track has a file 'gnre/{track}.txt'; the nearest folder",
        ),
        (3, "tracks: invalid value 3: expected a mapping"),
    ],
)
def test_metadata_that_is_not_there(data: Path, tracks: Any, problem: str) -> None:
    found = problems_of(data, chords(tracks=tracks))
    assert len(found) == 1
    assert problem in found[0]


def test_the_file_of_a_value_must_be_small_text(data: Path) -> None:
    tracks = {"files": {"genre": "genre/{track}.txt"}}
    (data / "genre/a.txt").write_bytes(b"\0")
    assert "genre/a.txt: is binary, not text" in problems_of(data, chords(tracks=tracks))[0]
    (data / "genre/a.txt").write_text("x" * 5000)
    assert "genre/a.txt: too large" in problems_of(data, chords(tracks=tracks))[0]
