"""Pipelines whose files are at URLs: what is found and scored, what is computed again, and what is never fetched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mirflow
from mirflow.errors import PipelineError
from mirflow.pipeline import find_files
from mirflow.pipeline.document import parse_document
from mirflow.pipeline.load import plan_evaluation
from mirflow.store import read_group
from mirflow.store.cells import Status

from ..datasets import write_dataset
from ..http_folder import Folder, serve_folder
from ..object_store import BUCKET, use_s3

pytest.importorskip("obstore", reason="the extra 'cloud' is not installed")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MIRFLOW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("mirflow.remote.RETRY_SECONDS", 0)


@pytest.fixture
def dataset(tmp_path) -> Path:
    """Three tracks and two systems, one of which lacks a track."""
    write_dataset(tmp_path / "data", tracks=3)
    (tmp_path / "data/est/bob/t01.lab").unlink()
    (tmp_path / "data/tracks.csv").write_text("track\nt00\nt01\nt02\nt03\n")
    return tmp_path / "data"


@pytest.fixture
def server(dataset) -> Iterator[Folder]:
    with serve_folder(dataset) as folder:
        yield folder


def write(folder: Path, reference: str, estimates: str, **more: object) -> Path:
    extra = "".join(f"    {key}: {value}\n" for key, value in more.items())
    path = folder / "urls.yaml"
    path.write_text(
        f"name: urls\nevaluations:\n  - task: chord\n    reference: {reference}\n    estimates: {estimates}\n{extra}"
        f"    on_error: ignore\nstore: urls.zarr\n"
    )
    return path


def run(path: Path, **options: Any) -> dict[str, int]:
    """Numbers of cells by the reason for which they were computed."""
    (report,) = mirflow.run(path, progress=False, **options).evaluations
    return {name: count for name, count in report.counts.items() if count}


def assert_same_scores(path: Path, dataset: Path) -> None:
    """The store of a pipeline has the scores of the same files on disk."""
    mirflow.run(dataset / "pipeline.yaml", progress=False)
    mine, theirs = (read_group(one, "chord") for one in (path.with_name("urls.zarr"), dataset / "store.zarr"))
    assert (mine.systems, mine.tracks) == (theirs.systems, theirs.tracks)
    assert mine.cells.digest == theirs.cells.digest
    assert mine.cells.score.tobytes() == theirs.cells.score.tobytes()
    assert mine.cells.status.tolist() == theirs.cells.status.tolist()


class TestServers:
    @pytest.mark.parametrize("scheduler", ["serial", pytest.param("processes", marks=pytest.mark.slow)])
    def test_references_of_the_tracks_on_disk(self, server, dataset, scheduler):
        (dataset / "ref/t02.lab").rename(dataset / "t02.lab")
        path = write(dataset, f"{server.url}/ref/{{track}}.lab", "est/{system}/{track}.lab")
        assert run(path, scheduler=scheduler, workers=2) == {"new": 6}
        assert_same_scores(path, dataset)
        assert read_group(dataset / "urls.zarr", "chord").cells.status.tolist()[2] == Status.missing_reference
        assert run(path) == {"reused": 6}

    def test_tracks_and_systems_that_the_pipeline_lists(self, server, dataset):
        more = {"tracks": "tracks.csv", "systems": "[ada, bob]"}
        path = write(dataset, f"{server.url}/ref/{{track}}.lab", f"{server.url}/est/{{system}}/{{track}}.lab", **more)
        run(path)
        assert_same_scores(path, dataset)

    def test_levels_that_the_pipeline_lists(self, server, dataset):
        for name in ("upper", "lower"):
            (dataset / f"t_{name}.lab").write_text("0 1 a\n1 2 b\n")
        side = {"path": f"{server.url}/{{track}}_{{level}}.lab", "levels": ["upper", "lower"]}
        (dataset / "one.csv").write_text("track\nt\nu\n")
        plan = plan_evaluation(
            {"task": "hierarchy", "reference": side, "estimates": side, "tracks": "one.csv", "systems": ["same"]},
            dataset,
        )
        assert plan.tracks == ("t",)
        assert plan.references[0][0].source.read()[0].kind == "hierarchy"
        with pytest.raises(PipelineError, match=r"nothing says which {level} there are: list them under levels of the"):
            plan_evaluation(
                {"task": "hierarchy", "reference": {"path": side["path"]}, "estimates": side, "tracks": "one.csv"},
                dataset,
            )

    def test_a_changed_file_is_scored_again(self, server, dataset):
        path = write(dataset, f"{server.url}/ref/{{track}}.lab", "est/{system}/{track}.lab")
        run(path)
        os.utime(dataset / "ref/t00.lab")  # its ETag stays
        assert run(path) == {"reused": 6}
        (dataset / "ref/t00.lab").write_text("0 9 C:maj\n")
        assert run(path) == {"changed": 2, "reused": 4}

    def test_a_file_that_fails_is_a_failed_cell_which_the_next_run_tries_again(self, server, dataset):
        path = write(dataset, f"{server.url}/ref/{{track}}.lab", "est/{system}/{track}.lab")
        server.failing = {"ref/t01.lab": 500}
        run(path)
        cells = read_group(dataset / "urls.zarr", "chord").cells
        assert cells.status.tolist()[1] == Status.unreadable
        message = f"{server.url}/ref/t01.lab: cannot be read: the server answers with status 500; try again later"
        assert cells.message[1] == f"reason (reference): {message}"
        server.failing = {}
        assert run(path) == {"changed": 2, "reused": 4}
        assert_same_scores(path, dataset)

    @pytest.mark.slow
    def test_a_file_that_only_its_head_failed_of_is_not_taken_for_unchanged(self, server, dataset):
        path = write(dataset, f"{server.url}/ref/{{track}}.lab", "est/{system}/{track}.lab")
        server.failing, server.times = {"ref/t01.lab": 500}, 1
        run(path)
        assert_same_scores(path, dataset)
        # Its bytes are read again, and are those of the stored score; that of the missing estimate has none.
        assert run(path) == {"changed": 1, "reused": 5}
        server.failing, server.times = {"ref/t01.lab": 500}, 1
        run(path)
        (dataset / "ref/t01.lab").write_text("0 9 N\n")
        assert run(path) == {"changed": 2, "reused": 4}
        assert_same_scores(path, dataset)

    @pytest.mark.parametrize(
        ("reference", "estimates", "message"),
        [
            ("{url}/ref/{{track}}.lab", "{url}/est/{{system}}/{{track}}.lab", r"which {track} .*: list them in a csv"),
            ("ref/{{track}}.lab", "{url}/est/{{system}}/{{track}}.lab", "which {system} there are: list them under sy"),
            ("{url}/{{fold}}/{{track}}.lab", "est/{{system}}/{{track}}.lab", "which {fold} there are: use an object"),
            ("{url}/none/{{track}}.lab", "est/{{system}}/{{track}}.lab", "matches nothing: .*among others for track"),
            ("{url}/none.lab", "est/ada/t00.lab", "matches nothing: .*; check the address"),
            ("http://a:secret@host/{{track}}.lab", "est/{{system}}/{{track}}.lab", r"has a user name .*//\.\.\.@host/"),
            ("{url}/{{track}}.lab?a=1", "est/{{system}}/{{track}}.lab", "has a query or a fragment"),
            (
                "http://127.0.0.1:1/{{track}}.lab",
                "est/{{system}}/{{track}}.lab",
                "http://127.0.0.1:1 cannot be read: no",
            ),
            ("{url}/refs.zarr", "est/{{system}}/{{track}}.lab", "is a URL, and packs are read from disk; download it"),
        ],
    )
    def test_mistakes(self, server, dataset, reference, estimates, message):
        path = write(dataset, reference.format(url=server.url), estimates.format(url=server.url))
        with pytest.raises(PipelineError, match=message) as caught:
            mirflow.run(path, progress=False)
        assert "secret@" not in str(caught.value)


class TestObjectStores:
    def test_a_bucket_is_listed(self, dataset, monkeypatch):
        client = use_s3(monkeypatch)
        for file in dataset.rglob("*.lab"):
            client.put_object(Bucket=BUCKET, Key=f"urls/{file.relative_to(dataset)}", Body=file.read_bytes())
        client.put_object(Bucket=BUCKET, Key="urls/ref/.hidden.lab", Body=b"")
        client.put_object(Bucket=BUCKET, Key="urls/ref/below/t09.lab", Body=b"")
        path = write(dataset, "s3://bucket/urls/ref/{track}.lab", "s3://bucket/urls/est/{system}/{track}.lab")
        assert run(path) == {"new": 6}
        assert_same_scores(path, dataset)
        assert run(path) == {"reused": 6}
        client.delete_object(Bucket=BUCKET, Key="urls/est/ada/t00.lab")
        client.put_object(Bucket=BUCKET, Key="urls/ref/t02.lab", Body=b"0 9 N\n")
        assert run(path, prune=True) == {"changed": 3, "reused": 3}
        stored = b"".join(file.read_bytes() for file in (dataset / ".urls.zarr.d").rglob("*") if file.is_file())
        assert b"secret" not in stored

    def test_odd_names(self, monkeypatch):
        client = use_s3(monkeypatch)
        names = ["a b", "é", "50%", "a#b", "a?b", "a+b&c", "a%20b"]
        for name in names:
            client.put_object(Bucket=BUCKET, Key=f"odd/{name}.lab", Body=f"0 1 C:maj\n# {name}".encode())
        sides = {"reference": "s3://bucket/odd/{track}.lab", "estimates": "s3://bucket/odd/{track}.lab"}
        plan = plan_evaluation({"task": "chord", **sides, "systems": ["same"]})
        assert sorted(plan.tracks) == sorted(names)
        for track, (reference,) in zip(plan.tracks, plan.references, strict=True):
            assert reference.source.label == f"s3://bucket/odd/{track}.lab"
            assert len(reference.source.read()[0]) == 1

    def test_a_file_of_many_tracks(self, dataset, monkeypatch):
        client = use_s3(monkeypatch)
        client.put_object(Bucket=BUCKET, Key="genres.tsv", Body=b"a\trock\nb\tpop\n")
        (dataset / "mine.tsv").write_text("a\trock\nb\trock\n")
        sides = {"reference": "s3://bucket/genres.tsv", "estimates": "mine.tsv"}
        plan = plan_evaluation({"task": "classification", **sides}, dataset)
        assert plan.tracks == ("a", "b")
        assert plan.references[1][0].source.read()[0].labels[0] == "pop"

    @pytest.mark.parametrize(
        ("reference", "message"),
        [
            ("s3://elsewhere/{track}.lab", "cannot be listed: there is no such bucket or container; check the address"),
            ("s3://bucket/none/{track}.lab", "matches nothing: 's3://bucket/none/{track}.lab'; check the address"),
            ("s3://{track}/x.lab", r"names no file; a URL has the form s3://BUCKET/PATH"),
        ],
    )
    def test_mistakes(self, dataset, monkeypatch, reference, message):
        use_s3(monkeypatch)
        with pytest.raises(PipelineError, match=message):
            mirflow.run(write(dataset, reference, "est/{system}/{track}.lab"), progress=False)


class TestConfinement:
    """The text of a pipeline in a store from elsewhere leads to no URL."""

    @pytest.mark.parametrize(
        "evaluation",
        [
            {"reference": "{url}/ref/{{track}}.lab", "estimates": "est/{{system}}/{{track}}.lab"},
            {"reference": "ref/{{track}}.lab", "estimates": "{url}/est/{{system}}/{{track}}.lab", "systems": "[ada]"},
            {
                "reference": "ref/{{track}}.lab",
                "estimates": "est/{{system}}/{{track}}.lab",
                "tracks": "{url}/tracks.csv",
            },
            {"reference": "ref/{{track}}.lab", "estimates": "est/{{system}}/{{track}}.lab", "classes": "{url}/x.csv"},
        ],
    )
    def test_urls_of_a_foreign_store_are_refused(self, server, dataset, evaluation):
        keys = {name: value.format(url=server.url) for name, value in evaluation.items()}
        more = {name: value for name, value in keys.items() if name not in ("reference", "estimates")}
        text = write(dataset, keys["reference"], keys["estimates"], **more).read_text()
        with pytest.raises(PipelineError, match="leads out of the root, where files are not read for a store from"):
            find_files(parse_document(text, foreign=True), dataset, confined=True)
        assert server.asked == []

    def test_paths_that_only_look_like_found_files_are_not_fetched(self, server, dataset):
        host = server.url.removeprefix("http://")
        path = f"http+{'0' * 16}://{host}/ref/{{track}}.lab"
        text = write(dataset, path, "est/{system}/{track}.lab").read_text()
        with pytest.raises(PipelineError, match="matches nothing"):
            find_files(parse_document(text, foreign=True), dataset, confined=True)
        assert server.asked == []

    def test_a_report_of_the_own_run_finds_its_files_again(self, server, dataset):
        from mirflow.reports.origins import read_origins

        path = write(dataset, f"{server.url}/ref/{{track}}.lab", "est/{system}/{track}.lab")
        run(path)
        _, (origin,) = read_origins(dataset / "urls.zarr")
        files = origin.files("chord")
        assert not isinstance(files, str)
        assert len(files.references["t00"][0].source.read()[0]) > 1
