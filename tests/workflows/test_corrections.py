"""Patches of references: made of corrected copies, applied to the right files only, and seen in scores and ranks."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.cli import cli
from mirflow.errors import AnnotationError, PipelineError

ABOUT: dict[str, Any] = {"author": "Ada", "reason": "by ear", "date": "2026-11-27"}
LABELS = st.sampled_from(["C:maj", "A:min", "N", "G:7"])


@st.composite
def chords(draw: st.DrawFn) -> tuple[np.ndarray, list[str]]:
    """Intervals in any order of time, of which no two are the same."""
    bounds = draw(st.lists(st.integers(0, 40), min_size=2, max_size=9, unique=True))
    bounds = sorted(bounds) if draw(st.booleans()) else bounds
    starts = np.array(bounds[:-1], dtype=float)
    labels = draw(st.lists(LABELS, min_size=len(starts), max_size=len(starts)))
    return np.stack([starts, starts + 1.25], axis=1), labels


def rows(annotation: Any) -> list[tuple[float, float, str]]:
    return list(zip(*(annotation[name].values.tolist() for name in ("start", "end", "label")), strict=True))


@settings(max_examples=40)
@given(chords(), chords())
def test_a_patch_turns_one_annotation_into_the_other_and_back(one: Any, other: Any) -> None:
    wanted = [rows(mirflow.annotation("chord", *side)) for side in (one, other)]
    if wanted[0] == wanted[1]:
        with pytest.raises(AnnotationError, match="there is nothing to patch"):
            mirflow.make_patch(one, other, "chord", track="a", **ABOUT)
        return
    there = mirflow.make_patch(one, other, "chord", track="a", **ABOUT)
    back = mirflow.make_patch(other, one, "chord", track="a", **ABOUT)
    changed = mirflow.apply_patch(one, there)
    assert rows(changed) == wanted[1]
    assert rows(mirflow.apply_patch(changed, back)) == wanted[0]


REFERENCES = {"a": "0 2 C:maj\n2 4 G:maj\n4 6 C:maj\n", "b": "0 3 D:min\n3 6 A:min\n"}
EDITED = "0 2 C:maj\n2 4 G:min\n4 6 C:maj\n"
ESTIMATES = {
    "plain": {"a": "0 2 C:maj\n2 4 G:maj\n4 6 C:maj\n", "b": "0 3 D:min\n3 6 C:maj\n"},
    "clever": {"a": "0 2 C:maj\n2 4 G:min\n4 6 C:maj\n", "b": "0 3 D:min\n3 6 A:min\n"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pipeline of two systems and two tracks; one system is right about a chord that the reference has wrong."""
    for side, files in {"ref": REFERENCES, **{f"est/{name}": own for name, own in ESTIMATES.items()}}.items():
        (tmp_path / side).mkdir(parents=True)
        for track, text in files.items():
            (tmp_path / side / f"{track}.lab").write_text(text)
    (tmp_path / "edited").mkdir()
    (tmp_path / "edited" / "a.lab").write_text(EDITED)
    write_pipeline(tmp_path, "ref/{track}.lab")
    return tmp_path


def write_pipeline(folder: Path, reference: str) -> None:
    (folder / "p.yaml").write_text(
        f"evaluations:\n- task: chord\n  reference: {reference}\n  estimates: 'est/{{system}}/{{track}}.lab'\n"
        "  metrics: [majmin]\nstore: p.zarr\n"
    )


PATCHED = "{path: 'ref/{track}.lab', patch: fix.json}"


def write_patch(folder: Path, **changes: Any) -> dict[str, Any]:
    """Write the patch of track a; the changes are of its only correction."""
    patch = mirflow.make_patch(folder / "ref", folder / "edited", "chord", **ABOUT)
    patch["tracks"][0] |= changes
    (folder / "fix.json").write_text(json.dumps(patch))
    return patch


def invoke(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.split())


def test_a_run_scores_patched_tracks_anew_and_keeps_who_patched_them(folder: Path) -> None:
    mirflow.run(folder / "p.yaml")
    write_patch(folder)
    write_pipeline(folder, PATCHED)
    report = mirflow.run(folder / "p.yaml")
    assert {name: count for name, count in report.evaluations[0].counts.items() if count} == {"changed": 2, "reused": 2}
    ds = mirflow.open_store(folder / "p.zarr")["chord"]
    assert ds.score.sel(track="a", metric="majmin").values.tolist() == [1.0, pytest.approx(2 / 3)]
    ((kept,),) = [ds.attrs["patches"]] if isinstance(ds.attrs["patches"], list) else [json.loads(ds.attrs["patches"])]
    assert (kept["file"], kept["changes"][0]["author"], kept["changes"][0]["reason"]) == ("fix.json", "Ada", "by ear")
    assert "fix.json" in invoke("show", folder / "p.zarr", "--group", "chord")[1]
    (folder / "ref" / "a.lab").write_text(EDITED)
    write_pipeline(folder, "ref/{track}.lab")
    assert mirflow.run(folder / "p.yaml").failed == 0
    assert mirflow.open_store(folder / "p.zarr")["chord"].score.identical(ds.score)


def test_effects_are_the_differences_of_two_runs(folder: Path) -> None:
    before = mirflow.query(mirflow.run(folder / "p.yaml").store, "majmin")
    write_patch(folder)
    effects = mirflow.patch_effects(folder / "p.yaml", [folder / "fix.json"])
    code, shown = invoke("patch", folder / "p.yaml", folder / "fix.json")
    assert (code, "2 ranks changed" in shown, "2 -> 1" in shown) == (0, False, False)
    write_pipeline(folder, PATCHED)
    after = mirflow.query(mirflow.run(folder / "p.yaml").store, "majmin")
    for name, result in (("before", before), ("after", after)):
        for system in ESTIMATES:
            expected = float(result["value"].sel(system=system, metric="majmin"))
            assert float(effects[name].sel(system=system, metric="majmin")) == pytest.approx(expected, abs=1e-12)
    again = mirflow.patch_effects(folder / "p.yaml")
    assert again["before"].sel(system="clever").item() == effects["before"].sel(system="clever").item()


def test_ranks_that_change_are_counted(folder: Path) -> None:
    (folder / "est" / "plain" / "b.lab").write_text(REFERENCES["b"])
    write_patch(folder)
    effects = mirflow.patch_effects(folder / "p.yaml", [folder / "fix.json"])  # without a store
    ranks = {name: effects[name].sel(metric="majmin").to_series().to_dict() for name in ("rank_before", "rank_after")}
    assert ranks == {"rank_before": {"plain": 1.0, "clever": 2.0}, "rank_after": {"plain": 2.0, "clever": 1.0}}
    assert "2 ranks changed" in invoke("patch", folder / "p.yaml", folder / "fix.json")[1]
    code, rows = invoke("patch", folder / "p.yaml", folder / "fix.json", "--format", "json")
    assert (code, json.loads(rows)[0]["patch"]) == (0, str(folder / "fix.json"))


def test_a_patch_is_refused_where_it_does_not_belong(folder: Path) -> None:
    write_pipeline(folder, PATCHED)
    row = {"start": 2.0, "end": 4.0, "label": "G:maj"}
    for changes, message in (
        ({"digest": "0" * 16}, "for a reference with the digest 0000000000000000, but this one has"),
        ({"track": "aa"}, "the patch is for track 'aa', which has no reference"),
        ({"annotator": "Bea"}, "names annotator 'Bea'"),
        ({"rows": [{"old": [{**row, "label": "G"}]}]}, 'has no row {"start":2.0,"end":4.0,"label":"G"}'),
        ({"rows": [{"old": [{"label": "C:maj"}]}]}, "has 2 rows"),
        ({"rows": [{"old": [{"line": 7}]}]}, 'has no row {"line":7'),
        ({"rows": [{"old": [{"line": 1}, {"line": 3}]}]}, "are not next to each other"),
        ({"rows": [{"new": [{"start": 1, "end": 2}]}]}, "lacks label"),
    ):
        write_patch(folder, **changes)
        with pytest.raises(PipelineError, match=r"reference\.patch"):
            mirflow.run(folder / "p.yaml")
        code, shown = invoke("run", folder / "p.yaml")
        assert (code, message in shown) == (2, True), shown
    assert not (folder / "p.zarr").exists()


ROW = {"start": 0, "end": 1, "label": "N"}
HOSTILE: dict[str, tuple[Any, str]] = {
    "nothing": (b"", "truncated"),
    "binary": (b"\xff\xfe\x00", "not a patch"),
    "nested": (b"[" * 200_000, "not a patch"),
    "a list": ([], "Expected `object`, got `array`"),
    "an unknown key": ({"run": "rm", "task": "chord", "tracks": []}, "unknown field `run`"),
    "an unknown task": ({"task": "dance", "tracks": None}, "Expected `array`, got `null`"),
    "a newer version": ({"version": 2, "task": "chord", "tracks": []}, "Invalid enum value 2"),
    "no author": ("author", None, "missing required field `author`"),
    "an empty reason": ("reason", "", "Expected `str` of length >= 1 - at `$.tracks[0].reason`"),
    "an impossible day": ("date", "2026-02-30", "invalid date '2026-02-30' - at `$.tracks[0].date`"),
    "a digest that is none": ("digest", "../../etc/pass", "matching regex"),
    "no rows": ("rows", [], "Expected `array` of length >= 1"),
    "an edit of nothing": ("rows", [{}], "has neither old nor new rows - at `$.tracks[0].rows[0]`"),
    "another column": ("rows", [{"new": [{**ROW, "pitch": 1}]}], "unknown column 'pitch'"),
    "a label that is a number": ("rows", [{"new": [{**ROW, "label": 7}]}], "invalid label 7.0: expected text"),
    "a time that is text": ("rows", [{"new": [{**ROW, "start": "0"}]}], "invalid start '0': expected a number"),
    "a nested value": ("rows", [{"new": [{**ROW, "label": ["N"]}]}], "got `array`"),
    "a line of half": ("rows", [{"old": [{"line": 1.5}]}], "invalid line 1.5"),
    "an empty row": ("rows", [{"old": [{}]}], "names no column - at `$.tracks[0].rows[0].old[0]`"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_patch_files_are_refused_in_a_sentence(folder: Path, case: str) -> None:
    write_pipeline(folder, PATCHED)
    given, *rest = HOSTILE[case]
    if len(rest) == 2:
        patch = copy.deepcopy(write_patch(folder))
        track = {name: value for name, value in patch["tracks"][0].items() if name != given}
        given = {**patch, "tracks": [{**track, **({given: rest[0]} if rest[0] is not None else {})}]}
    (folder / "fix.json").write_bytes(given if isinstance(given, bytes) else json.dumps(given).encode())
    code, shown = invoke("run", folder / "p.yaml")
    assert (code, "fix.json: not a patch: " in shown and rest[-1] in shown) == (2, True), shown


def test_numbers_that_json_does_not_have_are_refused(folder: Path) -> None:
    write_pipeline(folder, PATCHED)
    write_patch(folder)
    text = (folder / "fix.json").read_text()
    for number in ("NaN", "Infinity", "1e999"):
        (folder / "fix.json").write_text(text.replace("2.0", number))
        assert "not a patch" in invoke("run", folder / "p.yaml")[1]


def test_patches_of_jams_and_of_the_command_line(folder: Path) -> None:
    wrong, right = (mirflow.load(folder / side / "a.lab", "chord") for side in ("ref", "edited"))
    for name, annotation in (("wrong", wrong), ("right", right)):
        (folder / f"{name}.jams").write_text(mirflow.to_jams(annotation, task="chord").dumps())
    words = ["--task", "chord", "--author", "Ada", "--reason", "by ear", "--track", "a"]
    code, shown = invoke("patch", folder / "wrong.jams", folder / "right.jams", *words, "--output", folder / "fix.json")
    assert (code, shown) == (0, "")
    fixed = mirflow.apply_patch(folder / "wrong.jams", folder / "fix.json")
    assert rows(fixed) == rows(right)
    assert "nothing to patch" in invoke("patch", folder / "right.jams", folder / "right.jams", *words)[1]
    assert invoke("patch", folder / "wrong.jams")[0] == 2
    schema = json.loads(CliRunner().invoke(cli, ["schema", "--patch"]).stdout)
    assert set(schema["$defs"]) == {"ReferencePatch", "PatchedTrack", "RowEdit"}


def test_the_patch_on_the_page_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "references.md").read_text()
    patch = json.loads(page.partition("```json")[2].partition("```")[0])
    with pytest.raises(AnnotationError, match=r'has no row ."line":12'):
        mirflow.apply_patch(([[2.0, 4.143]], ["G:maj"]), patch)
