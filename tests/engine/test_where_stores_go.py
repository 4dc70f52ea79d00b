"""Where a run writes its store, and paths that a store cannot have."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest
import yaml

import mirflow
from mirflow.errors import MirflowWarning, PipelineError, StoreError
from tests.commands import invoke, refused
from tests.datasets import write_dataset


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline below the working directory whose store has a relative path."""
    path = write_dataset(tmp_path / "data", tracks=1, systems=("ada",))
    path.write_text(path.read_text().replace(f"store: {tmp_path / 'data' / 'store.zarr'}", "store: stores/x.zarr"))
    monkeypatch.chdir(tmp_path)
    return path


class TestOneRule:
    """The file's paths are relative to the file, those of commands to the working directory."""

    def test_the_store_of_the_file_is_relative_to_the_file(self, pipeline, monkeypatch):
        assert mirflow.run(pipeline).store == pipeline.parent / "stores" / "x.zarr"
        monkeypatch.chdir("/")
        assert mirflow.run(pipeline).store == pipeline.parent / "stores" / "x.zarr"
        assert "data/stores/x.zarr" in invoke("run", pipeline, "--dry-run", code=0).stdout

    def test_the_store_of_the_command_is_relative_to_the_working_directory(self, pipeline, tmp_path):
        invoke("run", pipeline, "--store", "y.zarr", "-q", code=0)
        assert (tmp_path / "y.zarr").is_symlink()
        assert not (pipeline.parent / "stores").exists()

    def test_a_store_that_is_left_in_the_working_directory_is_named(self, pipeline, tmp_path):
        mirflow.run(pipeline, store="stores/x.zarr")
        with pytest.warns(MirflowWarning, match=r"the store stores/x\.zarr in the working directory is not used"):
            assert mirflow.run(pipeline).store == pipeline.parent / "stores" / "x.zarr"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mirflow.run(pipeline)

    @pytest.mark.parametrize(
        "path", sorted(Path(__file__).parents[2].glob("pipelines/**/*.yaml")), ids=lambda one: one.stem
    )
    def test_shipped_pipelines_write_to_the_stores_of_the_checkout(self, path):
        data = yaml.safe_load(path.read_text())
        if "store" in data:
            # A store that was made already is a link to its newest generation.
            assert Path(os.path.normpath(path.parent / data["store"])).parent == Path(__file__).parents[2] / "stores"


URLS = ("https://host/x.zarr", "hdfs://node/x.zarr", "ftp://host/x.zarr")


class TestPathsThatNoStoreCanHave:
    @pytest.mark.parametrize("url", URLS)
    def test_urls_are_refused_by_every_door(self, pipeline, tmp_path, url):
        before = sorted(tmp_path.rglob("*"))
        why, is_read = "is a URL at which stores cannot be written", url.startswith("https")
        doors = [["run", pipeline, "--store", url], ["run", pipeline, "--store", url, "--dry-run"]]
        for words in doors if is_read else [*doors, ["query", url]]:
            result = invoke(*words)
            assert result.exit_code != 0
            assert f"{url}: {why}" in " ".join(result.output.split())
        for path in (url, Path(url)):
            if not is_read:
                with pytest.raises(StoreError, match=f"{url}: {why}"):
                    mirflow.open_store(path)
            with pytest.raises(StoreError, match=f"{url}: {why}"):
                mirflow.save(mirflow.score({"a": [1.0]}, {"a": [1.0]}, "onset"), path)
        assert sorted(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize(
        ("written", "why"),
        [
            (URLS[0], "is a URL"),
            ('"a\\0b"', "has a null character"),
            ('"a\\ud800b"', "has characters that paths cannot contain"),
            ("/", "is not the name of a store"),
            ("..", "is not the name of a store"),
        ],
    )
    def test_a_pipeline_that_names_one_is_refused_with_the_line(self, pipeline, written, why):
        pipeline.write_text(pipeline.read_text().replace("stores/x.zarr", written))
        with pytest.raises(PipelineError, match=rf"store: .*{why}.*\(line 6\)"):
            mirflow.run(pipeline)
        assert why in refused("run", pipeline)

    @pytest.mark.parametrize("path", ["a\0b", "a\ud800b", "/", ""])
    def test_so_is_one_in_python(self, path):
        with pytest.raises(StoreError, match="a store is a folder, such as"):
            mirflow.open_store(path)
