"""Leaderboards: what `mirflow export` writes says what queries say, in documented forms."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
import yaml

import mirflow

from ..commands import invoke, printed, refused, rows
from ..groups import make_group, random_group, write_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    groups = {
        "chord": random_group(4, 12, 3, track_meta={"genre": list("pppppprrrrrr")}),
        "beat": make_group([[[0.5, 3.0]], [[0.75, 3.0]], [[0.75, 1.0]]], orientation=["higher", "lower"]),
    }
    return write_store(tmp_path_factory.mktemp("leaderboard") / "campaign.zarr", groups)


def exported(*words):
    return json.loads(printed("export", *words))


def test_values_intervals_and_counts_are_those_of_queries(store):
    board = exported(store, "-")
    assert [one["name"] for one in board["evaluations"]] == ["beat", "chord"]
    for evaluation in board["evaluations"]:
        found = {
            (row["system"], row["metric"]): {key: row[key] for key in ("value", "low", "high", "n", "n_missing")}
            for row in rows("query", store, "-g", evaluation["name"], "--ci")
        }
        written = {
            (system["name"], metric): {key: score[key] for key in ("value", "low", "high", "n", "n_missing")}
            for system in evaluation["systems"]
            for metric, score in system["scores"].items()
        }
        assert written == found


def test_the_form_is_that_of_the_schema(store):
    schema = json.loads(printed("schema", "--leaderboard"))
    board = exported(store, "-", "--title", "Campaign")
    jsonschema.validate(board, schema)
    assert (board["schema"], board["version"], board["title"]) == ("mirflow-leaderboard", 1, "Campaign")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(board | {"schema": "another"}, schema)


def test_systems_are_ranked_by_the_headline_and_equal_values_alike(store):
    (beat,) = exported(store, "-", "-g", "beat", "--no-intervals")["evaluations"]
    assert beat["headline"] == "majmin"
    assert [(one["name"], one["rank"]) for one in beat["systems"]] == [("S1", 1), ("S2", 1), ("S0", 3)]
    (beat,) = exported(store, "-", "-g", "beat", "-m", "root", "--no-intervals")["evaluations"]
    assert [(one["name"], one["rank"]) for one in beat["systems"]] == [("S2", 1), ("S0", 2), ("S1", 2)]
    assert beat["level"] is None
    assert {one["like_best"] for one in beat["systems"]} == {None}


def test_systems_like_the_best_are_those_that_queries_mark(store):
    (chord,) = exported(store, "-", "-g", "chord", "-m", "majmin")["evaluations"]
    marked = rows("query", store, "-g", "chord", "-m", "majmin", "--significance")
    assert {one["name"]: one["like_best"] for one in chord["systems"]} == {
        row["system"]: row["like_best"] for row in marked
    }


def test_letters_are_those_of_comparisons(store):
    (chord,) = exported(store, "-", "-g", "chord", "-m", "majmin")["evaluations"]
    compared = mirflow.compare(store, "majmin", group="chord").dataset
    letters = dict(zip(compared["system"].values.tolist(), compared["letters"].values[:, 0].tolist(), strict=True))
    assert {one["name"]: one["letters"] for one in chord["systems"]} == letters
    assert set(letters.values()) != {""}
    assert chord["comparison"].startswith("systems that share a letter are not told apart at 0.05")


def test_infinite_values_of_which_neither_is_better_have_no_rank(tmp_path):
    group = make_group([[[float("inf")]], [[1.0]]], orientation=["none"], standard=["mean"])
    store = write_store(tmp_path / "s.zarr", {"beat": group})
    (evaluation,) = exported(store, "-", "--no-intervals")["evaluations"]
    assert [one["rank"] for one in evaluation["systems"]] == [None, None]


def test_what_is_no_number_is_null_and_infinities_are_text(tmp_path):
    score = [[[float("inf"), float("nan")]], [[1.0, 2.0]], [[float("nan"), 1.0]]]
    store = write_store(tmp_path / "s.zarr", {"separation": make_group(score, standard=["mean", "mean"])})
    words = (store, "-", "--no-intervals", "--missing", "skip")
    (evaluation,) = exported(*words)["evaluations"]
    values = {
        one["name"]: [one["scores"][name]["value"] for name in ("majmin", "root")] for one in evaluation["systems"]
    }
    assert values == {"S0": ["inf", None], "S1": [1.0, 2.0], "S2": [None, 1.0]}
    assert [one["rank"] for one in evaluation["systems"]] == [1, 2, None]
    result = invoke("export", *words, "--format", "codabench", "-s", "S0", code=0)
    assert json.loads(result.stdout) == {}
    assert "separation_majmin: skipped, as it has no finite value" in result.stderr


def test_selections_are_those_of_queries(store):
    (evaluation,) = exported(store, "-", "-g", "chord", "-w", "genre == 'p'", "-s", "S1", "-m", "root")["evaluations"]
    (row,) = rows("query", store, "-g", "chord", "-w", "genre == 'p'", "-s", "S1", "-m", "root")
    assert evaluation["tracks"] == 6
    assert evaluation["systems"][0]["scores"]["root"]["value"] == row["value"]


def test_codabench_takes_the_scores_of_one_system(store, tmp_path):
    path = tmp_path / "scores.json"
    printed("export", store, path, "--format", "codabench", "--system", "S1")
    scores = json.loads(path.read_text(encoding="utf-8"))
    assert scores == {f"{row['group']}_{row['metric']}": row["value"] for row in rows("query", store, "-s", "S1")}
    assert "choose a system (--system) of" in refused("export", store, "-", "--format", "codabench")


def test_model_cards_get_a_result_for_each_evaluation(store):
    text = printed(
        "export", store, "-", "--format", "model-index", "--dataset", "Six Tunes", "-s", "S0", "-m", "majmin"
    )
    (model,) = yaml.safe_load(text)["model-index"]
    assert model["name"] == "S0"
    for result, row in zip(model["results"], rows("query", store, "-s", "S0", "-m", "majmin"), strict=True):
        assert result["task"]["type"] == row["task"]
        assert result["dataset"] == {"type": "six-tunes", "name": "Six Tunes"}
        assert [(one["type"], one["value"]) for one in result["metrics"]] == [("majmin", row["value"])]
    assert "--dataset needs --format model-index or eval-results" in refused("export", store, "-", "--dataset", "x")


def test_models_on_the_hub_get_a_result_for_each_task_of_a_benchmark(store):
    words = ("export", store, "-", "--format", "eval-results")
    results = yaml.safe_load(printed(*words, "--dataset", "cais/hle", "-s", "S0"))
    expected = [
        # As specified: dataset with id and task_id, and value, are required; notes are text.
        {
            "dataset": {"id": "cais/hle", "task_id": f"{evaluation['name']}_{metric['name']}"},
            "value": evaluation["systems"][0]["scores"][metric["name"]]["value"],
            "notes": metric["signature"],
        }
        for evaluation in exported(store, "-", "-s", "S0")["evaluations"]
        for metric in evaluation["metrics"]
    ]
    assert results == [one for one in expected if isinstance(one["value"], float)]
    assert "choose a system (--system) of" in refused(*words, "--dataset", "cais/hle")
    assert "expected a name on the Hub" in refused(*words, "--dataset", "Six Tunes", "-s", "S0")
    assert "needs --dataset" in refused(*words, "-s", "S0")


def test_an_evaluation_without_single_numbers_is_no_leaderboard(tmp_path):
    store = write_store(tmp_path / "s.zarr", {"chord": make_group([[[1.0]]]).isel(metric=[])})
    assert "a leaderboard needs" in refused("export", store, "-")


def test_the_file_is_said_and_named_as_its_form(store, tmp_path):
    path = tmp_path / "board.json"
    assert f"{path} written" in invoke("export", store, path, code=0).stderr
    for words, message in (
        ((store,), "Missing argument 'OUTPUT' after"),
        ((path,), "Missing argument 'STORE...' before"),
        ((store, tmp_path / "board.txt"), "the suffix for leaderboard must be .json"),
        ((store, path, "--format", "model-index"), "the suffix for model-index must be .yaml or .yml or .md"),
    ):
        assert message in refused("export", *words)


def test_a_chart_to_embed_has_the_values_and_no_script(store, tmp_path):
    printed("embed", store, "standings", "-o", tmp_path / "chart.html")
    text, board = (tmp_path / "chart.html").read_text(), json.loads(printed("export", store, "-"))
    shown = [float(value) for value in re.findall(r'<td class="number strong"><data data-value="([^"]*)"', text)]
    ratios = [one for one in board["evaluations"] if not unit_of(one)]
    scores = [system["scores"][one["headline"]]["value"] for one in ratios for system in one["systems"]]
    scores = [value for value in scores if isinstance(value, float)]
    assert shown == pytest.approx(scores, abs=1e-9)
    assert "<script" not in text
    assert "default-src 'none'" in text
    assert "must be .html" in refused("embed", store, "standings", "-o", tmp_path / "chart.json")
    assert "standings has no option --bins" in refused("embed", store, "standings", "-o", "-", "--bins", 9)


@pytest.mark.parametrize(("kind", "form"), [("critical-difference", "svg+xml,"), ("distributions", "png;base64,")])
def test_a_figure_to_embed_is_a_small_picture_with_its_caption_as_text(tmp_path, kind, form):
    made = write_store(tmp_path / "s.zarr", {"chord": random_group(9, 200, 1)})
    text = printed("embed", made, kind, "-o", "-")
    assert len(text) < 64_000
    assert f'<img src="data:image/{form}' in text
    title, caption = re.search(r"<h2>(.*)</h2><figcaption>(.*)</figcaption>", text).groups()
    assert f'alt="{title}: {caption}"' in text
    assert "Chord estimation, rules of mir_eval; WCSR over" in caption
    assert "<script" not in text


def unit_of(ranked):
    return next(metric["unit"] for metric in ranked["metrics"] if metric["name"] == ranked["headline"])
