from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from mirflow.errors import AnnotationError, InvalidAnnotationError, PipelineError
from mirflow.published.score_tables import mapping_schema, read_published
from mirflow.store.cells import GroupContent, Status
from mirflow.store.format import PRINTED_STEP, dense_cells

LONG = "system,track,majmin,seconds,note\nKO1,a,50.00,10,x\nKO1,b,75.5,30,x\nNG1,a,NaN,10,x\n,Ave.,60,,x\n"
CHORDS: dict[str, Any] = {"path": "scores.csv", "system": "system", "track": "track", "leave_out": ["Ave."]}


def write(folder: Path, table: dict[str, Any] | list[dict[str, Any]], text: str = LONG, **group: Any) -> Path:
    """A mapping of one group beside its table."""
    (folder / "scores.csv").write_text(text)
    tables = table if isinstance(table, list) else [table]
    mapping = {"name": "test", "groups": [{"task": "chord", **group, "tables": tables}]}
    path = folder / "mapping.yaml"
    path.write_text(yaml.safe_dump(mapping, sort_keys=False))
    return path


def read(folder: Path, table: dict[str, Any] | list[dict[str, Any]], text: str = LONG, **group: Any) -> Any:
    return view(read_published(write(folder, table, text, **group)).groups[0])


def view(content: GroupContent) -> Any:
    """A group with its cells over (system, track) and with what its attributes say."""
    dense = {name: dense_cells(content)[name] for name in ("score", "weight", "status")}
    message = dense_cells(content)["message"].tolist()
    noted = {name: content.attrs.get(name, "") for name in ("task", "convention", PRINTED_STEP)}
    own = {name: getattr(content, name) for name in ("name", "systems", "tracks", "measures", "metric_coords")}
    return SimpleNamespace(**own, **dense, **noted, message=message, track_coords=content.track_coords)


def test_a_long_table(tmp_path: Path) -> None:
    found = read(tmp_path, {**CHORDS, "scale": "percent", "weight": "seconds", "metrics": {"majmin": "majmin"}})
    assert (found.name, found.task, found.convention) == ("chord", "chord", "")  # the mapping names none
    assert (found.systems, found.tracks, found.measures) == (("KO1", "NG1"), ("a", "b"), ("majmin",))
    np.testing.assert_array_equal(found.score[..., 0], [[0.5, 0.755], [np.nan, np.nan]])
    np.testing.assert_array_equal(found.weight[..., 0], [[10, 30], [10, 0]])
    assert found.status.tolist() == [[Status.ok] * 2, [Status.missing_estimate] * 2]
    assert found.message == [["", ""], ["reason (pair): the table has no score"] * 2]
    assert found.printed_step == {"majmin": 1e-4}


def test_percentages_are_divided_exactly(tmp_path: Path) -> None:
    rows = "".join(f"KO1,t{number},{number},1\n" for number in range(101))
    text = f"system,track,majmin,seconds\n{rows}"
    found = read(tmp_path, {**CHORDS, "scale": "percent", "metrics": {"majmin": "majmin"}}, text)
    by_track = dict(zip(found.tracks, found.score[0, :, 0].tolist(), strict=True))
    assert by_track == {f"t{number}": number / 100 for number in range(101)}


def test_what_can_be_done_with_scores_depends_on_their_weights(tmp_path: Path) -> None:
    weighted = read(tmp_path, {**CHORDS, "weight": "seconds", "metrics": {"majmin": "majmin"}})
    assert weighted.metric_coords["aggregates"] == ["mean median pooled wcsr"]
    assert weighted.metric_coords["standard_aggregate"] == ["wcsr"]
    plain = read(tmp_path, {**CHORDS, "metrics": {"majmin": "majmin"}})
    assert plain.metric_coords["aggregates"] == ["mean median"]
    assert plain.metric_coords["standard_aggregate"] == ["mean"]
    assert (plain.weight == 1).all()


def test_nan_may_mean_zero(tmp_path: Path) -> None:
    found = read(tmp_path, {**CHORDS, "nan": "zero", "metrics": {"majmin": "majmin"}})
    np.testing.assert_array_equal(found.score[1, :, 0], [0, np.nan])
    assert found.status[1].tolist() == [Status.ok, Status.missing_estimate]


def test_one_file_a_system_and_names_as_the_table_writes_them(tmp_path: Path) -> None:
    folder = tmp_path / "official" / "KO one"
    folder.mkdir(parents=True)
    (folder / "KO one.csv").write_text("File,F\na_tutti.mid,0.25\n,,\n")
    table = {
        "path": "official/{system}/{system}.csv",
        "system": {"rename": {"KO one": "KO1"}},
        "track": {"column": "File", "pattern": "{track}_tutti.mid", "rename": {"a": "A"}},
        "leave_out": [""],
        "metrics": {"majmin": "F"},
    }
    found = read(tmp_path, table)
    assert (found.systems, found.tracks, found.score.item()) == (("KO1",), ("A",), 0.25)


def test_a_column_for_each_system(tmp_path: Path) -> None:
    text = "track;KO1;B\na;0.5;0.25\nb;1;0\n"
    table: dict[str, Any] = {"path": "scores.csv", "delimiter": "semicolon", "track": "track"}
    every = read(tmp_path, {**table, "wide": {"metric": "majmin"}}, text)
    assert every.systems == ("B", "KO1")
    np.testing.assert_array_equal(every.score[..., 0], [[0.25, 0], [0.5, 1]])
    some = read(tmp_path, {**table, "wide": {"metric": "majmin", "systems": {"NG1": "B"}}}, text)
    assert (some.systems, some.score[..., 0].tolist()) == (("NG1",), [[0.25, 0.0]])


def test_rows_may_be_chosen(tmp_path: Path) -> None:
    text = "system,track,metric,value\nKO1,a,majmin,0.5\nKO1,a,root,0.75\n"
    tables = [{**CHORDS, "where": {"metric": name}, "metrics": {name: "value"}} for name in ("majmin", "root")]
    found = read(tmp_path, tables, text)
    assert (found.measures, found.score.tolist()) == (("majmin", "root"), [[[0.5, 0.75]]])


def test_a_metric_of_its_own_declares_itself(tmp_path: Path) -> None:
    runtime = {"column": "seconds", "orientation": "lower", "title": "Runtime", "unit": "s"}
    found = read(tmp_path, {**CHORDS, "metrics": {"runtime": runtime, "majmin": "majmin"}})
    coords = {name: values[0] for name, values in found.metric_coords.items()}
    expected = {"title": "Runtime", "unit": "s", "orientation": "lower", "aggregates": "mean median"}
    assert {name: coords[name] for name in expected} == expected


def test_scores_of_no_task(tmp_path: Path) -> None:
    cover = {"column": "majmin", "orientation": "higher"}
    mapping = write(tmp_path, {**CHORDS, "metrics": {"cover_map": cover}})
    mapping.write_text(mapping.read_text().replace("- task: chord\n  tables", "- name: covers\n  tables"))
    found = view(read_published(mapping).groups[0])
    assert (found.name, found.task, found.convention, found.measures) == ("covers", "", "", ("cover_map",))


def test_metadata_of_the_tracks(tmp_path: Path) -> None:
    (tmp_path / "tracks.csv").write_text("track,genre\na,rock\nb,folk\n")
    found = read(tmp_path, {**CHORDS, "metrics": {"majmin": "majmin"}}, tracks="tracks.csv")
    assert found.track_coords == {"genre": ("rock", "folk")}


def test_another_table_in_place_of_the_only_one(tmp_path: Path) -> None:
    mapping = write(tmp_path, {**CHORDS, "metrics": {"majmin": "majmin"}})
    other = tmp_path / "elsewhere" / "others.csv"
    other.parent.mkdir()
    other.write_text("system,track,majmin\nX,y,1\n")
    assert read_published(mapping, table=other).groups[0].systems == ("X",)


def test_another_table_has_to_tell_what_the_pattern_does(tmp_path: Path) -> None:
    table = {"path": "{system}.csv", "track": "track", "metrics": {"majmin": "majmin"}}
    mapping = write(tmp_path, table, "track,majmin\na,1\n")
    (tmp_path / "neighbour.csv").write_text("track,majmin\na,1\n")
    assert read_published(mapping, table=tmp_path / "scores.csv").groups[0].systems == ("scores",)
    (tmp_path / "x.txt").write_text(LONG)
    with pytest.raises(PipelineError, match=r"'x.txt' does not tell system, which '\{system\}.csv' takes"):
        read_published(mapping, table=tmp_path / "x.txt")


def test_all_problems_of_a_mapping_at_once(tmp_path: Path) -> None:
    mapping = tmp_path / "m.yaml"
    mapping.write_text(
        "name: x\ngroups:\n- task: chord\n  tabels: []\n- task: chord\n  tables:\n"
        "  - {path: a.csv, track: t, system: s, colums: 1, scale: per cent, metrics: {majmin: m}}\n"
    )
    with pytest.raises(PipelineError) as caught:
        read_published(mapping)
    problems = [str(problem) for problem in caught.value.problems]
    assert problems == [
        "groups[0].tabels: unknown key; did you mean 'tables'? (line 4)",
        "groups[1].tables[0].colums: unknown key; known: comment, delimiter, encoding, format, header, headings, key, "
        "leave_out, metrics, nan, path, rows, scale, skip, system, track, weight, where, wide (line 7)",
        "groups[1].tables[0].scale: invalid scale 'per cent': expected ratio, percent or a number above 0 (line 7)",
    ]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"metrics": {"majmim": "majmin"}},
            r"tables\[0\].metrics.majmim: unknown metric 'majmim'; did you mean 'majmin'",
        ),
        ({"metrics": {"majmim": "majmin"}}, "a metric that mirflow does not know declares its orientation"),
        (
            {"metrics": {"majmin": {"column": "majmin", "orientation": "lower"}}},
            "is known to mirflow; leave out orientation",
        ),
        ({"metrics": {"my runtime": {"column": "majmin", "orientation": "lower"}}}, "invalid metric name 'my runtime'"),
        ({"metrics": {"confusion": "majmin"}}, "is not one number for each track"),
        ({"metrics": {}}, "expected either metrics .* or wide"),
        ({"metrics": {"majmin": "majmin"}, "wide": {"metric": "root"}}, "expected either metrics"),
        (
            {"metrics": {"majmin": "majmin"}, "path": "none.csv"},
            r"no file 'none.csv'; .* it holds mapping.yaml, scores.csv",
        ),
        ({"metrics": {"majmin": "majmin"}, "path": "{system}.csv"}, "names its systems in two ways"),
        (
            {"metrics": {"majmin": "majmin"}, "track": {}},
            r"names its tracks nowhere: write \{track\} in path, headings or key",
        ),
        (
            {"metrics": {"majmin": "majmin"}, "path": "scores.json", "rows": "", "key": "", "track": {}},
            "names its tracks nowhere",
        ),
        ({"metrics": {"majmin": "majmin"}, "track": {"column": "track", "pattern": "x"}}, "expected one placeholder"),
        (
            {"metrics": {"majmin": "majmin"}, "track": {"column": "track", "name": "x"}},
            "expected either a column or a name",
        ),
        ({"metrics": {"majmin": "majmin"}, "delimiter": "||"}, "invalid delimiter '||': expected a character"),
        ({"metrics": {"majmin": "majmin"}, "path": "{sys tem}.csv"}, "invalid placeholder"),
    ],
)
def test_what_a_mapping_may_not_say(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    mapping = write(tmp_path, {**CHORDS, **changed})
    with pytest.raises(PipelineError, match=message):
        read_published(mapping)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"task": "chrod"}, r"groups\[0\].task: unknown task 'chrod'; did you mean 'chord'"),
        ({"convention": "mirex2031"}, "did you mean 'mirex2013'"),
        ({"name": "a group"}, "expected an identifier"),
    ],
)
def test_what_a_group_may_not_say(tmp_path: Path, group: dict[str, Any], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        read(tmp_path, {**CHORDS, "metrics": {"majmin": "majmin"}}, **group)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system,track\nKO1,a\n", r"scores.csv: no column 'majmin'"),
        ("system,track,majmin\nKO1,a,good\n", r"scores.csv:2: column 'majmin' is not a number: 'good'"),
        ("system,track,majmin\nKO1,a,1\nKO1,a,1\n", r"scores.csv:3: .* majmin is also in scores.csv:2"),
        ("system,track,majmin\nKO1,,1\n", r"scores.csv:2: the row has no track; leave_out: \[''\]"),
        ("system,track,majmin\n,a,1\n", r"scores.csv:2: the row has no system"),
        ("system,track,majmin\nKO1,Ave.,1\n", "no row of the tables is a score: scores.csv"),
    ],
)
def test_a_table_that_is_not_as_the_mapping_says(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        read(tmp_path, {**CHORDS, "metrics": {"majmin": "majmin"}}, text)


@pytest.mark.parametrize("weight", ["-1", "nan", "inf"])
def test_a_weight_is_a_number(tmp_path: Path, weight: str) -> None:
    text = f"system,track,majmin,seconds\nKO1,a,1,{weight}\n"
    with pytest.raises(InvalidAnnotationError, match=r"scores.csv:2: a weight must be a number that is not negative"):
        read(tmp_path, {**CHORDS, "weight": "seconds", "metrics": {"majmin": "majmin"}}, text)


def test_names_that_do_not_fit_their_pattern(tmp_path: Path) -> None:
    table = {**CHORDS, "track": {"column": "track", "pattern": "{track}.mid"}, "metrics": {"majmin": "majmin"}}
    with pytest.raises(InvalidAnnotationError, match=r"scores.csv:2: track 'a' is not written as '\{track\}.mid' says"):
        read(tmp_path, table)


def test_two_groups_need_two_names(tmp_path: Path) -> None:
    mapping = write(tmp_path, {**CHORDS, "metrics": {"majmin": "majmin"}})
    document = yaml.safe_load(mapping.read_text())
    document["groups"] += [{**document["groups"][0], "convention": "mirex2013"}]
    mapping.write_text(json.dumps(document))
    with pytest.raises(PipelineError, match=r"groups\[1\].name: another group has the name 'chord'"):
        read_published(mapping)


SHIPPED = sorted((Path(__file__).parents[2] / "pipelines" / "published").glob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_schema_takes_what_the_model_takes(path: Path) -> None:
    jsonschema.Draft202012Validator(mapping_schema()).validate(yaml.safe_load(path.read_text()))


def test_the_schema_refuses_what_the_model_refuses() -> None:
    schema = mapping_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError, match="tabels"):
        jsonschema.validate({"name": "x", "groups": [{"task": "chord", "tabels": []}]}, schema)


def test_a_pipeline_file_is_no_mapping(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("name: x\nevaluations: []\nstore: x.zarr\n")
    with pytest.raises(PipelineError, match="is a pipeline file; a mapping has groups"):
        read_published(tmp_path / "x.yaml")


JSON: dict[str, Any] = {"path": "scores.csv", "rows": "results/chord", "key": "{track}.{system}"}
JSON_TEXT = json.dumps(
    {
        "made": "by another program",
        "results": {"chord": {"a.KO1": {"rules": [0.5, "NaN"], "weight": 10}, "b.KO1": {"rules": [1, "Infinity"]}}},
    },
    indent=1,
)


def test_json_has_a_member_for_each_row_and_its_numbers_are_exact(tmp_path: Path) -> None:
    found = read(tmp_path, {**JSON, "metrics": {"majmin": "rules/0", "root": "rules/1"}}, JSON_TEXT)
    assert (found.systems, found.tracks, found.measures) == (("KO1",), ("a", "b"), ("majmin", "root"))
    np.testing.assert_array_equal(found.score[0], [[0.5, np.nan], [1, np.inf]])
    assert all(step < 1e-15 for step in found.printed_step.values())


def test_rows_of_json_are_left_out_by_their_keys(tmp_path: Path) -> None:
    document = json.loads(JSON_TEXT)
    document["results"]["chord"]["all"] = 1
    found = read(tmp_path, {**JSON, "metrics": {"majmin": "rules/0"}, "leave_out": ["al*"]}, json.dumps(document))
    assert found.tracks == ("a", "b")


def test_what_a_member_of_json_lacks_is_no_score(tmp_path: Path) -> None:
    found = read(tmp_path, {**JSON, "metrics": {"majmin": "weight"}}, JSON_TEXT)
    np.testing.assert_array_equal(found.score[0, :, 0], [10, np.nan])
    assert found.message == [["", "reason (pair): the table has no score"]]


def test_whole_documents_and_plain_numbers(tmp_path: Path) -> None:
    one = {"path": "scores.csv", "rows": "", "system": {"name": "KO1"}, "metrics": {"majmin": "value"}}
    found = read(tmp_path, one, '{"a": 0.25, "b": true}')
    assert found.tracks == ("a", "b")
    np.testing.assert_array_equal(found.score[0, :, 0], [0.25, 1])


@pytest.mark.parametrize(
    ("changed", "text", "message"),
    [
        ({}, "{", r"scores.csv: is not JSON: Expecting property name"),
        ({"rows": "results/beat"}, JSON_TEXT, r"scores.csv: no object at rows: 'results/beat'"),
        ({"key": "{system}_{track}"}, JSON_TEXT, r"scores.csv:5: key 'a.KO1' is not written as '\{system\}_\{track\}'"),
        ({"metrics": {"majmin": "rules/2"}}, JSON_TEXT, r"no column 'rules/2'"),
        ({"rows": None}, JSON_TEXT, r"key applies only to JSON: name the place of its rows under rows"),
    ],
)
def test_json_that_is_not_as_the_mapping_says(tmp_path: Path, changed: dict[str, Any], text: str, message: str) -> None:
    with pytest.raises((AnnotationError, PipelineError), match=message):
        read(tmp_path, {**JSON, "metrics": {"majmin": "rules/0"}, **changed}, text)
