"""The API gives what commands give, refuses what it does not know, and describes itself."""

from __future__ import annotations

import builtins
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as arrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

import mirflow
from mirflow.campaign.server import http_api
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service
from mirflow.reports.leaderboard import leaderboard, to_json

from .test_stores_http import publish

DEMO = "/api/v1/stores/tunes"
NEEDED = {"against": "tempo", "baseline": "elm"}


@pytest.fixture(scope="module")
def client(demo_store: Path) -> TestClient:
    return TestClient(create_app(Service("Demo", {"tunes": demo_store})))


def test_stores_are_listed_with_evaluations_and_addresses(client):
    (store,) = client.get("/api/v1/stores").json()["stores"]
    assert store["name"] == "tunes"
    assert [one["name"] for one in store["evaluations"]] == ["chord", "chord_mirex2013"]
    assert store["evaluations"][0]["headline"] == "majmin"
    assert client.get(f"{store['zarr']}/zarr.json").status_code == 200
    assert client.get(f"{store['zarr_of_generation']}/zarr.json").status_code == 200
    assert client.get(store["self"]).json()["pipeline"].startswith("# Six traditional tunes")


def test_scripts_of_other_sites_read_data_where_that_is_allowed(client, demo_store):
    service = Service("Demo", {"tunes": demo_store}, cors=True)
    shared = TestClient(create_app(service))
    for address in (DEMO, "/stores/tunes.json", "/stores/tunes.zarr/zarr.json", "/feed.xml"):
        for _ in range(2):  # made, and kept
            assert shared.get(address).headers["access-control-allow-origin"] == "*", address
        assert "access-control-allow-origin" not in client.get(address).headers
    etag = shared.get(DEMO).headers["etag"]
    known = shared.get(DEMO, headers={"If-None-Match": etag})
    assert (known.status_code, known.headers["access-control-allow-origin"]) == (304, "*")
    assert "access-control-allow-origin" not in shared.get("/").headers


def test_an_evaluation_has_its_systems_tracks_and_metrics(client):
    found = client.get(f"{DEMO}/evaluations/chord").json()
    assert [one["name"] for one in found["systems"]] == ["oak", "elm", "ash"]
    assert found["systems"][2]["cells"] == {"ok": 4, "missing_reference": 1, "empty_estimate": 1, "invalid": 1}
    assert found["tracks"][0]["meter"] == "3/4"
    assert found["tracks"][2]["tempo"] is None
    metric = next(one for one in found["metrics"] if one["name"] == "majmin")
    assert metric["standard_aggregate"] == "wcsr"


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("metric=majmin&aggregate=mean&by=meter", {"metric": "majmin", "aggregate": "mean", "by": "meter"}),
        ("metric=seg&where=tempo < 110&missing=skip", {"metric": "seg", "where": "tempo < 110", "missing": "skip"}),
        (
            "metric=majmin&system=o*&ci=0.9&method=normal",
            {"metric": "majmin", "system": "o*", "ci": 0.9, "method": "normal"},
        ),
        ("metric=majmin&over=system=worst,best", {"metric": "majmin", "over": {"system": "worst,best"}}),
        ("metric=majmin&by=meter&across=meter=mean", {"metric": "majmin", "by": "meter", "across": {"meter": "mean"}}),
    ],
)
def test_a_query_gives_the_rows_of_the_command(client, demo_store, address, options):
    found = client.get(f"{DEMO}/query?evaluation=chord&{address}").json()
    assert found == json.loads(mirflow.query(demo_store, group="chord", sort="stored", **options).to_json())


@pytest.mark.parametrize("style", ["json", "csv", "arrow", "parquet"])
def test_scores_by_track_are_the_same_in_every_format(client, demo_store, style):
    answer = client.get(f"{DEMO}/evaluations/chord/scores?metric=majmin&track=a*&format={style}")
    read = {
        "json": lambda data: pd.DataFrame(json.loads(data)),
        "csv": lambda data: pyarrow.csv.read_csv(io.BytesIO(data)).to_pandas(),
        "arrow": lambda data: arrow.ipc.open_stream(data).read_all().to_pandas(),
        "parquet": lambda data: pyarrow.parquet.read_table(io.BytesIO(data)).to_pandas(),
    }
    frame = read[style](answer.content).pivot(index="system", columns="track", values="score")
    expected = mirflow.open_store(demo_store)["chord"].score.sel(metric="majmin", track=list(frame.columns))
    assert list(frame.columns) == ["amazing-grace", "auld-lang-syne"]
    np.testing.assert_array_equal(frame.loc[expected["system"].values].to_numpy(float), expected.values)


def test_the_header_accept_chooses_a_format(client):
    address = f"{DEMO}/query?evaluation=chord&metric=majmin"
    for accept, kind in (
        ("text/csv", "text/csv"),
        ("application/xml;q=0.9, application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("*/*", "application/json"),
        ("application/json;q=0, text/csv", "text/csv"),
        ("application/json;q=0.1, text/csv", "text/csv"),
    ):
        assert client.get(address, headers={"Accept": accept}).headers["content-type"].startswith(kind)
    refused = client.get(address, headers={"Accept": "image/png"})
    assert refused.status_code == 406
    assert "text/csv" in refused.json()["detail"]


def test_without_pyarrow_its_formats_are_refused_with_a_reason(client, monkeypatch):
    known = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return known(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    answer = client.get(f"{DEMO}/query?evaluation=chord&metric=root&format=parquet")
    assert answer.status_code == 501
    assert "needs pyarrow" in answer.json()["detail"]


def test_the_leaderboard_is_that_of_export(client, demo_store):
    evaluations = mirflow.open_store(demo_store)
    boards = {name: node.to_dataset() for name, node in evaluations.children.items()}
    assert client.get(f"{DEMO}/leaderboard").text == to_json(leaderboard(boards, title="tunes"))
    short = client.get(f"{DEMO}/leaderboard?evaluation=chord&intervals=false").json()
    assert [one["level"] for one in short["evaluations"]] == [None]


@pytest.mark.parametrize(
    ("address", "status", "detail"),
    [
        ("/stores/tunez", 404, "unknown store 'tunez'; did you mean 'tunes'?"),
        ("/stores/tunes/evaluations/cord", 404, "did you mean 'chord'?"),
        ("/stores/tunes/query?metrik=majmin", 400, "unknown parameter 'metrik'; did you mean 'metric'?"),
        ("/stores/tunes/query?metric=majmim", 400, "unknown metric 'majmim'; did you mean 'majmin'?"),
        ("/stores/tunes/query?aggregate=meen", 400, "did you mean 'mean'?"),
        ("/stores/tunes/query?missing=skip&missing=zero", 400, "missing is given 2 times: at most once is allowed"),
        ("/stores/tunes/query?ci=1.5", 400, "invalid ci '1.5': expected 0.5 to 0.999"),
        ("/stores/tunes/query?ci=nan", 400, "invalid ci 'nan': expected 0.5 to 0.999"),
        ("/stores/tunes/query?ci=0.9&by=track", 400, "leave out by=track"),
        ("/stores/tunes/query?param=window", 400, "invalid param 'window': expected name=value"),
        ("/stores/tunes/query?where=__import__('os').system('id')", 400, "only col"),
        ("/stores/tunes/query?where=" + "(" * 1500, 400, "where: not an expression"),
        ("/stores/tunes/query?where=" + "-" * 1900 + "1<tempo", 400, "where"),
        ("/stores/tunes/query?where=" + "x" * 3000, 400, "where is longer than 2000 characters"),
        ("/stores/tunes/query?system=" + "*a" * 900 + "b", 400, "no system matches"),
        ("/stores/tunes/leaderboard?intervals=perhaps", 400, "invalid intervals 'perhaps': expected true or false"),
        ("/stores/tunes/query?format=xlsx", 400, "format: unknown value 'xlsx'"),
        ("/nothing", 404, "unknown address; see /api/v1/openapi.json"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(client, address, status, detail):
    answer = client.get(f"/api/v1{address}")
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert detail in answer.json()["detail"]


def test_costs_are_bounded(client, monkeypatch):
    monkeypatch.setattr(http_api, "ROWS", {**http_api.ROWS, "json": 10})
    answer = client.get(f"{DEMO}/evaluations/chord/scores?metric=majmin")
    assert (answer.status_code, answer.json()["detail"][:25]) == (413, "21 rows exceed the limit ")
    assert client.get(f"{DEMO}/query?metric=triads&by=track").status_code == 413
    monkeypatch.setattr(http_api, "SECONDS", 1e-9)
    for question in ("compare?metric=root", "query?metric=root&ci=0.9", "query?metric=root&significance=0.9"):
        answer = client.get(f"{DEMO}/{question}&evaluation=chord")
        assert "the computation would take too long" in answer.json()["detail"]


def test_messages_do_not_tell_where_files_are(tmp_path):
    store = tmp_path / "onsets.zarr"
    publish(store, "ada")
    (store / "zarr.json").write_text("{")
    answer = TestClient(create_app(Service("Onsets", {"onsets": store}))).get("/api/v1/stores/onsets")
    assert answer.json()["detail"] == "the store cannot be read at the moment"


def test_a_tag_saves_what_has_not_changed_and_a_publish_is_seen_at_once(tmp_path):
    store = tmp_path / "onsets.zarr"
    publish(store, "ada")
    client = TestClient(create_app(Service("Onsets", {"onsets": store})))
    address = "/api/v1/stores/onsets/query?metric=f_measure"
    first = client.get(address)
    tag = first.headers["etag"]
    assert client.get(address, headers={"If-None-Match": f'"x", {tag}'}).status_code == 304
    publish(store, "ada", "bob")
    second = client.get(address, headers={"If-None-Match": tag})
    assert second.status_code == 200
    assert [row["system"] for row in second.json()] == ["ada", "bob"]
    publish(store, "bob")
    assert [row["system"] for row in client.get(address).json()] == ["bob"]


class TestDescription:
    """The OpenAPI description and the operations are one."""

    @pytest.fixture
    def paths(self, client: TestClient) -> dict[str, Any]:
        described = client.get("/api/v1/openapi.json").json()
        assert described["openapi"].startswith("3.1")
        paths: dict[str, Any] = described["paths"]
        return paths

    @pytest.mark.slow
    def test_every_operation_is_described_and_answers(self, client, paths):
        assert set(paths) == {http_api.BASE + one.path for one in http_api.OPERATIONS}
        for path, operations in paths.items():
            address = path.format(store="tunes", evaluation="chord")
            content = operations["get"]["responses"]["200"]["content"]
            for kind in content:
                params = {one["name"]: NEEDED[one["name"]] for one in operations["get"]["parameters"]
                          if one["in"] == "query" and one.get("required")}  # fmt: skip
                if path.endswith("/plan"):
                    params["missing"] = "zero"  # of four tracks nothing is known
                answer = client.get(address, headers={"Accept": kind}, params=params)
                assert answer.status_code == 200, address
                assert answer.headers["content-type"].startswith(kind.partition(";")[0])

    def test_values_outside_of_what_is_described_are_refused(self):
        gets = [path["get"]["parameters"] for path in http_api.openapi("Results")["paths"].values()]
        schemas = {row["name"]: row["schema"] for rows in gets for row in rows if row["in"] == "query"}
        for parameter, option in {
            name: one for operation in http_api.OPERATIONS for name, one in operation.parameters.items()
        }.items():
            described = schemas[parameter]
            schema = described.get("items", described)
            wrong = ["x" * (schema["maxLength"] + 1)] if "maxLength" in schema else []
            wrong += ["no such thing"] if "enum" in schema or "pattern" in schema else []
            wrong += [str(schema["minimum"] - 1)] if "minimum" in schema else []
            wrong += [str(schema["maximum"] + 1)] if "maximum" in schema else []
            wrong += ["perhaps"] if schema["type"] == "boolean" else []
            assert wrong, parameter
            for value in wrong:
                with pytest.raises(http_api.ApiError, match=parameter):
                    http_api._read(parameter, option, [value])
