"""Pipeline files: what they give, and everything that is wrong with them in one error."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from mirflow.annotations.annotation import Annotation
from mirflow.errors import PipelineError, StoreError
from mirflow.pipeline import find_files, json_schema, load_pipeline, plan_evaluation, plan_pipeline
from mirflow.pipeline.document import parse_document
from mirflow.pipeline.model import Pipeline
from mirflow.pipeline.plan import EvaluationPlan
from mirflow.readers import FileSource


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("0 1 C\n")


def jams(root: Path, name: str, *annotators: str) -> None:
    row = {"time": 0, "duration": 1, "value": "C", "confidence": None}
    annotations = [
        {"namespace": "chord", "data": [row], "annotation_metadata": {"annotator": {"id": annotator}}}
        for annotator in annotators
    ]
    (root / name).write_text(json.dumps({"annotations": annotations}))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    make(tmp_path, "ref/a.lab", "ref/b.lab", "est/S1/a.lab", "est/S1/b.lab", "est/S2/b.lab", "est/S2/c.lab")
    return tmp_path


EVALUATION: dict[str, Any] = {"task": "chord", "reference": "ref/{track}.lab", "estimates": "est/{system}/{track}.lab"}


def plan(root: Path, **changes: Any) -> EvaluationPlan:
    return plan_evaluation({**EVALUATION, **changes}, root)


def problems_of(root: Path, **changes: Any) -> list[str]:
    with pytest.raises(PipelineError) as caught:
        plan(root, **changes)
    return [str(problem) for problem in caught.value.problems]


def write(root: Path, text: str) -> Path:
    file = root / "p.yaml"
    file.write_text(text)
    return file


def labels(plan: EvaluationPlan) -> list[list[str | None]]:
    return [[None if source is None else source.label for source in row] for row in plan.estimates]


def test_a_whole_file(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "pipelines").mkdir()
    monkeypatch.setenv("BELOW", "..")
    text = yaml.safe_dump(
        {
            "name": "demo",
            "root": "${BELOW}",
            "evaluations": [EVALUATION, {**EVALUATION, "name": "again", "grid": {"hop": 0.1}, "metrics": ["root"]}],
            "store": "stores/demo.zarr",
            "execution": {"scheduler": "serial", "block": 3},
        }
    )
    planned = plan_pipeline(write(data / "pipelines", text))
    assert (planned.pipeline.name, planned.pipeline.store, planned.text) == ("demo", "stores/demo.zarr", text)
    assert planned.root == str(data)
    first, second = planned.plans
    assert (first.name, first.task, first.convention, first.grid, first.max_block) == (
        "chord",
        "chord",
        "mir_eval",
        "union",
        3,
    )
    assert (second.name, second.grid, [str(m) for m in second.measures]) == ("again", 0.1, ["root"])
    assert len(first.measures) == 15


def test_a_model_is_planned_as_its_file(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = {**EVALUATION, "metrics": ["root"], "grid": {"hop": 0.1}}
    path = write(data, yaml.safe_dump({"evaluations": [evaluation], "store": "x.zarr"}))
    monkeypatch.chdir(data)
    planned = plan_pipeline(load_pipeline(path))
    of_file = plan_pipeline(path)
    assert planned.plans[0].signatures == of_file.plans[0].signatures
    assert labels(planned.plans[0]) == labels(of_file.plans[0])
    assert (planned.root, planned.store) == (str(data), "x.zarr")
    assert load_pipeline(write(data, planned.text)) == planned.pipeline


def test_a_model_names_the_place_of_a_problem(data: Path) -> None:
    model = Pipeline.model_validate({"evaluations": [EVALUATION, EVALUATION], "store": "x.zarr"})
    with pytest.raises(PipelineError) as caught:
        plan_pipeline(model, root=data / "ref")
    assert [one.where for one in caught.value.problems] == [
        "evaluations[1].name",
        *(f"evaluations[{position}].{side}" for position in (0, 1) for side in ("reference", "estimates")),
    ]


def test_a_model_with_an_absolute_root_needs_no_working_directory(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> str:  # as to confined processes
        raise PermissionError(13, "Permission denied")

    model = Pipeline.model_validate({"evaluations": [EVALUATION], "store": "/x.zarr", "root": str(data)})
    monkeypatch.setattr("os.getcwd", refused)
    assert plan_pipeline(model, code=data).plans[0].tracks == ("a", "b", "c")


def test_the_root_can_be_given(data: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = yaml.safe_dump({"name": "x", "evaluations": [EVALUATION], "store": "x.zarr"})
    elsewhere = write(tmp_path_factory.mktemp("elsewhere"), text)
    assert plan_pipeline(elsewhere, root=data).plans[0].tracks == ("a", "b", "c")
    with pytest.raises(PipelineError, match=r"p\.yaml: 2 problems\n  evaluations\[0\]\.reference: matches nothing"):
        plan_pipeline(elsewhere)


def test_tracks_are_the_union_of_both_sides(data: Path) -> None:
    found = plan(data)
    assert (found.systems, found.tracks) == (("S1", "S2"), ("a", "b", "c"))
    assert [[reference.source.label for reference in one] for one in found.references] == [
        ["ref/a.lab"],
        ["ref/b.lab"],
        [],
    ]
    assert labels(found) == [["est/S1/a.lab", "est/S1/b.lab", None], [None, "est/S2/b.lab", "est/S2/c.lab"]]
    source = found.estimates[0][0]
    assert isinstance(source, FileSource)
    assert (source.path, source.found) == (str(data / "est/S1/a.lab"), source.stat())


def test_some_tracks_are_chosen(data: Path) -> None:
    found = plan(data, reference={"path": "ref/{track}.lab", "tracks": ["b"]})
    assert (found.tracks, found.systems) == (("b",), ("S1", "S2"))
    assert problems_of(data, reference={"path": "ref/{track}.lab", "tracks": ["b", "c"]}) == [
        "reference.tracks[1]: no reference of track 'c'; known: a, b"
    ]


def test_without_a_system_in_the_pattern_there_is_one(data: Path) -> None:
    assert plan(data, estimates="est/S1/{track}.lab").systems == ("estimate",)


def test_systems_are_chosen_ordered_and_described(data: Path) -> None:
    assert plan(data, systems=["S2"]).systems == ("S2",)
    assert plan(data, systems=["S2"]).tracks == ("a", "b", "c")
    described = plan(data, systems={"S2": {"year": 2013}, "S1": None})
    assert (described.systems, described.system_meta) == (("S2", "S1"), {"year": (2013, None)})
    assert problems_of(data, systems=["S1", "S3"]) == ["systems.S3: no estimates of this system; known: S1, S2"]
    assert problems_of(data, systems=["S1", False]) == [
        "systems: invalid name False: expected the name of a system; put it in quotes"
    ]
    assert problems_of(data, systems=["S1", "S1"]) == ["systems: names a system twice"]


def test_tracks_have_metadata(data: Path) -> None:
    (data / "meta.csv").write_text("track,genre,year\nb,rock,1970\n")
    assert plan(data, tracks="meta.csv").track_meta == {"genre": (None, "rock", None), "year": (None, 1970, None)}
    assert problems_of(data, tracks="mta.csv")[0].startswith("tracks: ")


def test_other_placeholders_become_metadata(tmp_path: Path) -> None:
    make(tmp_path, "ref/f1/a.lab", "ref/f2/b.lab", "est/2012/S1/f1/a.lab", "est/2013/S2/f2/b.lab")
    found = plan(tmp_path, reference="ref/{fold}/{track}.lab", estimates="est/{year}/{system}/{fold}/{track}.lab")
    assert (found.tracks, found.track_meta) == (("a", "b"), {"fold": ("f1", "f2")})
    assert (found.systems, found.system_meta) == (("S1", "S2"), {"year": ("2012", "2013")})


def test_other_placeholders_name_what_would_be_ambiguous(tmp_path: Path) -> None:
    make(tmp_path, "ref/f1/a.lab", "ref/f2/a.lab", "est/S1/r1/f1/a.lab", "est/S1/r2/f1/a.lab", "est/S1/r1/f2/a.lab")
    found = plan(tmp_path, reference="ref/{fold}/{track}.lab", estimates="est/{system}/{run}/{fold}/{track}.lab")
    assert (found.tracks, found.track_meta) == (("f1/a", "f2/a"), {"fold": ("f1", "f2")})
    assert (found.systems, found.system_meta) == (("S1/r1", "S1/r2"), {"run": ("r1", "r2"), "model": ("S1", "S1")})


def test_a_placeholder_that_tells_nothing_of_track_or_system_is_only_a_path(tmp_path: Path) -> None:
    make(tmp_path, "ref/a.lab", "est/S1/a.lab", "est/S1/b.csv", "est/S2/a.csv", "est/S2/b.csv")
    found = plan(tmp_path, estimates="est/{system}/{track}.{format}")
    assert (found.systems, found.system_meta, found.track_meta) == (("S1", "S2"), {}, {})
    assert found.estimates[0][1] is not None


def test_a_placeholder_may_name_the_annotator(tmp_path: Path) -> None:
    make(tmp_path, "ref/a_1.lab", "ref/a_2.lab", "ref/b_1.lab", "est/S1/a.lab")
    changes: dict[str, Any] = {"reference": {"path": "ref/{track}_{annotator}.lab", "combine": "mean"}}
    found = plan(tmp_path, **changes)
    assert [[reference.annotator for reference in one] for one in found.references] == [["1", "2"], ["1"]]
    assert (found.annotators, found.combine) == (("1", "2"), "mean")
    assert problems_of(tmp_path, reference="ref/{track}_{annotator}.lab") == [
        "reference.combine: tracks have several references: choose from mean, max, each"
    ]
    assert "two references for track 'a'" in problems_of(tmp_path, reference="ref/{track}_{who}.lab")[0]


def test_annotators_of_jams_files_are_systems_and_references(tmp_path: Path) -> None:
    jams(tmp_path, "x.jams", "A1", "A2")
    jams(tmp_path, "y.jams", "A2", "A3")
    (tmp_path / "z.jams").write_text("{")
    found = plan(
        tmp_path,
        reference={"path": "{track}.jams", "annotator": "all", "combine": "each"},
        estimates={"path": "{track}.jams", "annotator": "{system}"},
    )
    assert found.systems == found.annotators == ("A1", "A2", "A3")
    assert labels(found)[0] == ["x.jams [A1]", None, "z.jams [A1]"]
    assert [[one.annotator for one in own] for own in found.references[:2]] == [["A1", "A2"], ["A2", "A3"]]
    one = plan(tmp_path, reference={"path": "{track}.jams", "annotator": "A2"}, estimates="{track}.jams")
    assert [reference.source.label for reference in one.references[0]] == ["x.jams [A2]"]


class Packed:
    def __init__(self, label: str) -> None:
        self.label = label

    def stat(self) -> tuple[int, int]:
        return 1, 1

    def read(self) -> tuple[Annotation, str]:
        raise AssertionError("a plan reads nothing")


def test_packs_stand_where_patterns_may(data: Path) -> None:
    make(data, "refs.zarr/zarr.json", "packs/S1.zarr/zarr.json", "packs/S2.zarr/zarr.json")

    def open_pack(path: str, name: str) -> dict[str, Packed]:
        return {track: Packed(f"{Path(path).name} [{track}]") for track in ("a", "b")}

    changed = {**EVALUATION, "reference": "refs.zarr", "estimates": "packs/{system}.zarr"}
    found = plan_evaluation(changed, data, open_pack=open_pack)
    assert (found.systems, found.tracks) == (("S1", "S2"), ("a", "b"))
    assert labels(found)[1] == ["S2.zarr [a]", "S2.zarr [b]"]

    def refuse(path: str, name: str) -> dict[str, Packed]:
        raise StoreError(f"{Path(path).name}: not a pack")

    with pytest.raises(PipelineError, match=r"reference.path: refs\.zarr: not a pack"):
        plan_evaluation({**EVALUATION, "reference": "refs.zarr"}, data, open_pack=refuse)
    assert problems_of(data, reference="refs.zarr")[0].startswith(
        "reference.path: is a pack, and packs cannot be opened"
    )


def test_what_the_scores_depend_on_is_in_the_signatures(data: Path) -> None:
    base = plan(data, metrics=["majmin", "root"])
    assert base.signatures.keys() == {"majmin", "root"}
    assert plan(data, metrics=["root"]).signatures == {"root": base.signatures["root"]}
    for changes in (
        {"grid": {"hop": 0.1}},
        {"convention": "decibel", "metrics": None},
        {"reference": {"path": "ref/{track}.lab", "time_unit": "ms"}},
        {"estimates": {"path": "est/{system}/{track}.lab", "format": "lab"}},
    ):
        changed = plan(data, **{"metrics": ["majmin", "root"], **changes})
        assert not set(changed.signatures.values()) & set(base.signatures.values())
        assert changed.signature != base.signature


def test_parameters_are_set_for_the_metrics_that_have_them(data: Path) -> None:
    found = plan(data, metrics=["csr_framewise@root", "majmin"], parameters={"hop": 0.02})
    assert [str(measure) for measure in found.measures] == ["csr_framewise@root(hop=0.02)", "majmin"]
    assert problems_of(data, metrics=["majmin"], parameters={"hop": 0.02}) == [
        "parameters.hop: no metric asked for has it"
    ]
    assert "did you mean 'hop'?" in problems_of(data, parameters={"hopp": 0.02})[0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"task": "chrod"}, "task: unknown task 'chrod'; did you mean 'chord'?"),
        ({"convention": "mir-eval"}, "convention: unknown chord convention 'mir-eval'; did you mean 'mir_eval'?"),
        ({"metrics": ["majmim"]}, "metrics[0]: unknown metric 'majmim'; did you mean 'majmin'?"),
        ({"metrics": ["csr@"]}, "metrics[0]: not a metric: 'csr@'"),
        ({"metrics": []}, "metrics: names no metric; leave it out for the default ones"),
        ({"metrics": "majmin"}, "metrics: invalid value 'majmin': expected a list"),
        ({"grid": "reference"}, "grid: convention 'mir_eval' is not scored on the grid 'reference'; known: union"),
        ({"grid": {"hop": 0}}, "grid: invalid grid {'hop': 0}: expected union, reference or {hop: seconds}"),
        ({"on_error": "stop"}, "on_error: invalid value 'stop': expected 'record', 'ignore' or 'raise'"),
        ({"name": "aux"}, "name: invalid name 'aux': Windows has a device of that name"),
        ({"name": "my chords"}, "name: invalid name 'my chords': expected an identifier"),
        ({"name": 3}, "name: invalid value 3: expected text; put it in quotes"),
        ({"reference": {"path": "ref/{track}.lab", "namespace": "beat"}}, "reference: namespace 'beat' holds events"),
        (
            {"reference": {"path": "ref/{track}.lab", "delimitr": ","}},
            "reference.delimitr: unknown key; did you mean 'delimiter'?",
        ),
        (
            {"reference": {"path": "ref/{track}.lab", "columns": {"strat": 0}}},
            "reference: unknown column 'strat'; did you mean 'start'?",
        ),
        (
            {"reference": {"path": "ref/{track}.lab", "combine": "median"}},
            "reference.combine: invalid value 'median': expected 'mean', 'max' or 'each'",
        ),
        ({"estimates": {"path": "est/{system}/{track}.lab", "combine": "mean"}}, "estimates.combine: unknown key"),
        ({"classes": {"KD": ["KD"]}}, "classes.KD: unknown key; classes with members stand below tree, as in {tree:"),
        ({"reference": "ref/{track.lab"}, "reference: unbalanced braces"),
        ({"reference": "ref/a.lab"}, "reference.path: has no {track}: 'ref/a.lab'"),
        (
            {"reference": "rf/{track}.lab"},
            "reference.path: matches nothing: 'rf/{track}.lab'; the nearest folder that exists is",
        ),
        ({"estimates": 3}, "estimates: invalid value 3: expected a mapping"),
        ({"parameters": {"hop": [1]}}, "parameters.hop: invalid value [1]: expected text, a number, true or false"),
    ],
)
def test_one_thing_wrong(data: Path, changes: dict[str, Any], problem: str) -> None:
    found = problems_of(data, **changes)
    assert len(found) == 1
    assert problem in found[0]


def test_everything_wrong_comes_in_one_error(data: Path) -> None:
    text = """\
nme: x
evaluations:
  - tsk: chord
    reference: ref/{track}.lab
    estimates: est/{system}/{track}.lab
  - task: chord
    reference: reef/{track}.lab
    estimates: est/{system}/{track}.txt
    metrics: [majmim]
  - task: chord
    reference: reef/{track}.lab
    estimates: est/{system}/{track}.lab
execution: {scheduler: quick, block: 0}
store: a.zarr
store: b.zarr
"""
    with pytest.raises(PipelineError) as caught:
        plan_pipeline(write(data, text))
    found = [str(problem) for problem in caught.value.problems]
    assert [one.partition(" ")[0] for one in found] == [
        "store:",
        "evaluations[2].name:",
        "evaluations[0].tsk:",
        "nme:",
        "execution.scheduler:",
        "execution.block:",
        "evaluations[1].metrics[0]:",
        "evaluations[1].reference:",
        "evaluations[1].estimates:",
        "evaluations[2].reference:",
    ]
    assert "evaluations[0].tsk: unknown key; did you mean 'task'? (line 3)" in found
    assert "evaluations[1].metrics[0]: unknown metric 'majmim'; did you mean 'majmin'? (line 9)" in found
    assert caught.value.path == str(data / "p.yaml")


def test_a_key_in_a_wrong_place_is_told_its_own(data: Path) -> None:
    evaluation = "{task: chord, reference: 'ref/{track}.lab', estimates: '{system}/{track}.lab', store: a.zarr}"
    text = f"name: p\nsystems: [A]\nscheduler: threads\nevaluations:\n  - {evaluation}\nstore: a.zarr\n"
    with pytest.raises(PipelineError) as caught:
        plan_pipeline(write(data, text))
    assert [str(problem) for problem in caught.value.problems] == [
        "evaluations[0].store: unknown key; it is a key of the file itself (line 5)",
        "systems: unknown key; it is a key of 'evaluations' (line 2)",
        "scheduler: unknown key; it is a key of 'execution' (line 3)",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: expected evaluations and store"),
        ("- a\n", "is empty: expected evaluations and store"),
        ("name: x\nstore: y\n", "evaluations: is missing"),
        ("name: x\nstore: y\nevaluations: []\n", r"evaluations: is empty \(line 3\)"),
        ("name: x\nroot: ${NO_SUCH_FOLDER}\nstore: y\nevaluations: []\n", "NO_SUCH_FOLDER is not set"),
    ],
)
def test_files_without_the_main_things(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        load_pipeline(write(tmp_path, text))


@pytest.mark.parametrize("scheduler", ["auto", "serial", "processes", "threads", "tcp://10.0.0.1:8786"])
def test_schedulers(data: Path, scheduler: str) -> None:
    text = {"name": "x", "evaluations": [EVALUATION], "store": "x.zarr", "execution": {"scheduler": scheduler}}
    assert load_pipeline(write(data, yaml.safe_dump(text))).execution.scheduler == scheduler


def test_the_schema_accepts_what_is_accepted_and_names_every_key() -> None:
    import jsonschema

    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = {"name": "x", "evaluations": [{**EVALUATION, "grid": {"hop": 0.1}, "systems": ["a"]}], "store": "x.zarr"}
    validator.validate(good)
    for bad in ({**good, "nme": 1}, {**good, "evaluations": [{**EVALUATION, "grid": {"hop": 0}}]}, {"name": "x"}):
        assert not validator.is_valid(bad)
    assert schema["properties"]["store"]["description"]


def test_the_documented_file_has_the_right_form(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "pipeline.md").read_text()
    example = text.split("```yaml\n")[1].split("```")[0]
    loaded = load_pipeline(write(tmp_path, example))
    assert [evaluation.name for evaluation in loaded.evaluations] == ["chord", "casd"]


def test_the_text_of_a_file_finds_the_files_of_its_plan(data):
    text = yaml.safe_dump({"name": "x", "root": "elsewhere", "evaluations": [EVALUATION], "store": "s.zarr"})
    file = plan_pipeline(write(data, text), root=data)
    (kept,) = find_files(parse_document(text), data)
    assert all(getattr(kept, one.name) == getattr(file.plans[0], one.name) for one in fields(kept))
    evaluation = {**EVALUATION, "tracks": "gone.csv"}  # metadata are no files that a timeline shows
    other = parse_document(yaml.safe_dump({"name": "x", "evaluations": [evaluation], "store": "s.zarr"}))
    assert find_files(other, data) == (kept,)
    with pytest.raises(PipelineError, match="matches nothing"):
        find_files(parse_document(text), data / "ref")
